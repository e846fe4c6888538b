"""A recurrence along a cut dimension in parts: the elements that it goes over, and where what it gives is stored.

`X[i] = X[i - 1] op t[i]` is a scan of `..., X[a - 1], t[a], t[a + 1], ...` that is stored from `a` on. Each device
scans its own part; what those before it come to is put before all of that (Blelloch, Prefix sums and their
applications, 1990).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ir.nodes import SKIP, Binary, Buffer, Const, Expr, For, Load, Select, Stmt, Store, Var, const, seq
from ir.operators import COMMUTATIVE, combines, neutral
from ir.program.edit import with_children
from ir.traverse import free_vars, has_loads, loads, stmt_children, substitute_expr
from lower.analysis.linear_forms import Linear, linear
from lower.distribute.grid import tidied
from lower.distribute.stages import Node, Stage, Steps
from lower.instructions.recurrence import tame


class Going(Struct, frozen=True):
    """A recurrence `previous op term`, or `factor * previous + term`, by which `store` goes on along `dim` by `loop`.

    It stores `first <= index < stop`.
    """

    stage: Stage
    store: Store
    loop: For
    dim: int
    op: str
    term: Expr
    factor: Expr | None
    first: int
    stop: int

    def elements(self, values: Buffer, factors: Buffer | None, name: Callable[[str], str]) -> list[Stage]:
        """Stages that store all elements that are gone over, and factors, which are zero before the first step."""
        dtype, place = self.store.buffer.dtype, self.store.indices[self.dim]
        var = Var(name(self.loop.var.name), place.dtype)
        here = tuple(var if d == self.dim else i for d, i in enumerate(self.store.indices))
        offset = (linear(place) - Linear({self.loop.var: 1})).const
        at: dict[Var, Expr] = {self.loop.var: tidied(Binary("sub", var, const(offset, var.dtype)))}
        start = Binary("eq", var, const(self.first - 1, var.dtype))
        inside = Binary(
            "and",
            Binary("ge", var, const(self.first, var.dtype)),
            Binary("lt", var, const(self.stop, var.dtype)),
        )
        none = neutral(self.op, dtype) if self.factor is None else 0
        assert none is not None
        rest = Select(inside, substitute_expr(self.term, at), const(none, dtype))
        stores = [Store(values, here, Select(start, Load(self.store.buffer, here), rest))]
        if factors is not None and self.factor is not None:
            factor = Select(inside, substitute_expr(self.factor, at), const(0, dtype))
            stores.append(Store(factors, here, factor))
        extent = self.store.buffer.shape[self.dim]
        loop = For(var, const(0, var.dtype), extent, SKIP, "parallel")
        return [Stage(self._nest(loop, store)) for store in stores]

    def kept(self, values: Buffer) -> Stage:
        """The stage that stores what it gives."""
        store = replace(self.store, value=Load(values, self.store.indices))
        return Stage(self._nest(replace(self.loop, kind="parallel", annotations=()), store))

    def _nest(self, loop: For, store: Store) -> Stmt:
        def visit(stmt: Stmt) -> Stmt:
            if stmt is self.store:
                return store
            new = with_children(stmt, [visit(s) for s in stmt_children(stmt)])
            return replace(loop, body=new.body) if stmt is self.loop and isinstance(new, For) else new

        return visit(self.stage.body)


def with_recurrences(nodes: Iterable[Node]) -> Iterator[Node]:
    """Stages, to which a loop around them belongs where it goes on from element to element."""
    for node in nodes:
        if isinstance(node, Stage):
            yield node
            continue
        if len(node.body) == 1 and isinstance(node.body[0], Stage):
            loop = replace(node.loop, body=node.body[0].body, annotations=(("axis", "recurrence"),))
            stage = Stage(loop)
            if len(stage.stores) == 1 and all(s.kind != "serial" for s in node.body[0].loops):
                at = [d for d, i in enumerate(stage.stores[0].indices) if linear(i).terms.get(loop.var) == 1]
                if len(at) == 1 and going(stage, loop, at[0]) is not None:
                    yield stage
                    continue
        yield Steps(node.loop, tuple(with_recurrences(node.body)))


def going(stage: Stage, loop: For, dim: int) -> Going | None:
    """A recurrence whose steps can be put together; None where it has another form."""
    (store,) = stage.stores
    if any(not isinstance(s, (For, Store)) for s in _chain(stage.body)):
        return None
    if not all(isinstance(s.start, Const) and isinstance(s.extent, Const) for s in stage.loops):
        return None
    offset = linear(store.indices[dim]) - Linear({loop.var: 1})
    if not offset.is_const:
        return None
    parts = _parts(store, dim, {s.var for s in stage.loops})
    if parts is None:
        return None
    op, term, factor = parts
    if factor is not None and not tame(factor, loop):
        return None
    first = linear(loop.start).const + offset.const
    return Going(stage, store, loop, dim, op, term, factor, first, first + linear(loop.extent).const)


def _chain(stmt: Stmt) -> list[Stmt]:
    return [stmt, *(s for child in stmt_children(stmt) for s in _chain(child))]


def _parts(store: Store, dim: int, loops: set[Var]) -> tuple[str, Expr, Expr | None] | None:
    """The operator, the term and the factor of a step, which read nothing that another step stores."""

    def previous(expr: Expr) -> bool:
        if not isinstance(expr, Load) or expr.buffer != store.buffer:
            return False
        steps = [linear(i) - linear(j) for i, j in zip(store.indices, expr.indices, strict=True)]
        return all(s.is_const and s.const == (d == dim) for d, s in enumerate(steps))

    def free(expr: Expr) -> bool:
        return not any(e.buffer == store.buffer and not _left(store, e, loops) for e in loads(expr))

    match store.value:
        case Binary(op=op, lhs=lhs, rhs=rhs) if previous(lhs) and free(rhs) and combines(op, store.buffer.dtype):
            return op, rhs, None
        case Binary(op=op, lhs=lhs, rhs=rhs) if previous(rhs) and free(lhs) and op in _COMMUTE:
            return op, lhs, None
        case Binary(op="add", lhs=one, rhs=other):
            for product, rest in ((one, other), (other, one)):
                if isinstance(product, Binary) and product.op == "mul" and free(rest):
                    for factor, last in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
                        if previous(last) and free(factor):
                            return "add", rest, factor
        case _:
            pass
    return None


def _left(store: Store, load: Load, loops: set[Var]) -> bool:
    """Whether a load is of what no earlier step stores: the element as it was, or one in another row or plane."""
    steps = [linear(i) - linear(j) for i, j in zip(store.indices, load.indices, strict=True)]
    if all(s.is_const and s.const == 0 for s in steps):
        return True
    fixed = [not free_vars(i) & loops and not has_loads(i) for i in store.indices]
    return any(same and s.is_const and s.const != 0 for same, s in zip(fixed, steps, strict=True))


_COMMUTE = {law.op for law in COMMUTATIVE}


def gone_along(values: Buffer, factors: Buffer | None, dim: int, op: str, name: Callable[[str], str]) -> Stmt:
    """The recurrence over a device's own part: of values, and of factors, of which it takes the products."""
    loops = [Var(name(f"k{d}"), e.dtype) for d, e in enumerate(values.shape)]
    before = tuple(Binary("sub", v, const(1, v.dtype)) if d == dim else v for d, v in enumerate(loops))
    previous, here = Load(values, before), Load(values, tuple(loops))

    def over(store: Store) -> Stmt:
        stmt: Stmt = store
        order = [dim, *(d for d in range(len(loops)) if d != dim)]
        for d in reversed(order):
            var, extent = loops[d], values.shape[d]
            low = const(int(d == dim), var.dtype)
            stmt = For(var, low, tidied(Binary("sub", extent, low)), stmt)
        return stmt

    if factors is None:
        return over(Store(values, here.indices, Binary(op, previous, here)))  # pyright: ignore[reportArgumentType]
    factor = Load(factors, here.indices)
    value = Binary("add", Binary("mul", factor, previous), here)
    both = Binary("mul", Load(factors, before), factor)
    return seq(over(Store(values, here.indices, value)), over(Store(factors, here.indices, both)))
