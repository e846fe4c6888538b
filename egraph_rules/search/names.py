"""The names that authors gave to what statements bind, for statements that rules make of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from ir.functions import functions_in
from ir.naming import unused
from ir.nodes import Alloc, Binary, Block, Expr, For, If, Let, Load, PrimFunc, Seq, Stmt, Store, Var
from ir.presburger.polynomials import polynomial
from ir.traverse import accessed, has_kind, map_stmt, shape_vars, stores_in, substitute_expr, walk

_Trace = frozenset[tuple[object, tuple[Expr, ...]]]


class AuthorNames(Struct, frozen=True):
    """Names by canonical variable. Several loops of one depth have one: each keeps the name of what it works on."""

    found: dict[str, list[tuple[Stmt, str]]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(bindings: Iterable[tuple[Var, Stmt, str]]) -> AuthorNames:
        """Names of variables bound around bodies."""
        names = AuthorNames()
        for var, body, name in bindings:
            names.found[var.name].append((body, name))
        return names

    def of_binding(self, var: Var, body: Stmt) -> str:
        """What to call a variable that a rule binds; what it makes of `%0` it calls `%0.o`, `%0.i` and so on."""
        base, *made = var.name.split(".")
        suffix = "".join(made)
        known = self.found.get(base, ())
        if len({name for _, name in known}) <= 1:
            return (known[0][1] if known else base) + suffix
        stores = _stores(body)  # of a body that has none of theirs, the last loop may be an earlier form
        return max(reversed(known), key=lambda pair: len(stores & _stores(pair[0])))[1] + suffix


def _stores(body: Stmt) -> _Trace:
    """What a body stores to: enough to know it again when other statements have joined it."""
    return frozenset((s.buffer, (*s.indices, s.value)) for s in stores_in(body))


def reserved_names(func: PrimFunc) -> frozenset[str]:
    """Names that nothing inside a function may have."""
    return frozenset(p.name for p in (*func.params, *shape_vars(func), *functions_in(func)))


def restored(body: Stmt, func: PrimFunc) -> Stmt:
    """A program whose loops have the names that a function gave to loops along the same axes of the same buffers.

    Searches know loops by their depth, so a loop that merged with others, or took the place of one, may have the name
    of another. Sums that commute begin with what they add to, as people write them, if the function has none that ends
    with it.
    """
    if has_kind(body, Block):
        return body  # axes of blocks have names of their own
    uses: dict[_Axis, set[str]] = defaultdict(set)
    for loop in (s for s in walk(func.body) if isinstance(s, For)):
        for axis in (*_axes(loop.body, loop.var), *_axes(loop.body, loop.var, alone=False)):
            uses[axis].add(loop.var.name)
    own = {s.buffer.name for s in walk(body) if isinstance(s, Alloc)}
    named = _Restored(uses, own | reserved_names(func)).stmt(body, {})
    ends = any(_begun(s) != s for s in walk(func.body))
    return named if ends else map_stmt(named, on_stmt=_begun)


_Axis = tuple[str, int, bool]  # of a buffer by its name: a local may have become smaller


def _axes(body: Stmt, var: Var, *, alone: bool = True) -> set[_Axis]:
    """The axes of buffers that a variable goes along; those where it is a term of the index count apart."""
    found = ((b.name, k, i) for b, indices in accessed(body) for k, i in enumerate(indices))
    return {(name, k, alone) for name, k, i in found if (i == var if alone else (var,) in polynomial(i))}


class _Restored(Struct, frozen=True):
    uses: dict[_Axis, set[str]]
    reserved: set[str]

    def stmt(self, stmt: Stmt, names: dict[Var, Expr]) -> Stmt:
        match stmt:
            case For(var=var, body=body) as loop:
                new = Var(self._name(loop, names), var.dtype)
                start, extent = (substitute_expr(e, names) for e in (loop.start, loop.extent))
                return replace(loop, var=new, start=start, extent=extent, body=self.stmt(body, {**names, var: new}))
            case Let(var=var, value=value, body=body) as let:
                new = Var(unused(var.name, self._taken(names)), var.dtype)
                inside = self.stmt(body, {**names, var: new})
                return replace(let, var=new, value=substitute_expr(value, names), body=inside)
            case Seq(stmts=stmts):
                return replace(stmt, stmts=tuple(self.stmt(s, names) for s in stmts))
            case If(cond=cond, then=yes, other=no):
                return replace(
                    stmt, cond=substitute_expr(cond, names), then=self.stmt(yes, names), other=self.stmt(no, names)
                )
            case Alloc(body=body):
                return replace(stmt, body=self.stmt(body, names))
            case _:
                return map_stmt(stmt, lambda e: substitute_expr(e, names))

    def _taken(self, names: dict[Var, Expr]) -> set[str]:
        return {v.name for v in names.values() if isinstance(v, Var)} | self.reserved

    def _name(self, loop: For, names: dict[Var, Expr]) -> str:
        """The name that most axes along which a loop goes had in the source; its own where that has as many."""
        axes = _axes(loop.body, loop.var)
        if not axes and any(loop.var.name in names for names in self.uses.values()):  # it may have another one's name
            axes = _axes(loop.body, loop.var, alone=False)
        counts = Counter(name for axis in axes for name in self.uses.get(axis, ()))
        taken, own = self._taken(names), loop.var.name
        free = [name for name in sorted(counts) if name not in taken]
        best = max(free, key=lambda name: (counts[name], name == own), default=own)
        return best if best in free and counts[best] > counts[own] * (own not in taken) else unused(own, taken)


def _begun(stmt: Stmt) -> Stmt:
    """A store that adds to an element, or the like, with the element first."""
    match stmt:
        case Store(buffer=buffer, indices=indices, value=Binary(op="add" | "mul" as op, lhs=a, rhs=b)):
            own = Load(buffer, indices)
            return replace(stmt, value=Binary(op, b, a)) if b.same(own) and not a.same(own) else stmt
        case _:
            return stmt
