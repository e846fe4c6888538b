"""Terms of indices, each computed at the outermost loop that has its variables, whatever its range.

Where no partial sum can be shown to stay in its range (`index_terms` does that), it is computed in wrapping arithmetic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import reduce

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite
from egraph_rules.rules.algebra import Atoms, Monomial, Polynomial
from ir.dtypes import DType
from ir.naming import fresh, unused
from ir.nodes import Binary, Cast, Const, Expr, For, Let, Stmt, Store, Var, const
from ir.presburger import sets as pb
from ir.program.calls import names_mentioned
from ir.traverse import (
    free_vars,
    has_loads,
    is_fixed,
    is_lazy,
    loads,
    map_expr,
    map_stmt,
    stmt_exprs,
    walk,
)

_LAW = "for i: for j: s[a(i) + b(i, j)]  =  for i: let t = a(i): for j: s[t + b(i, j)]"
_REASON = "t is what the index is in the first iteration of j; where t leaves its range no iteration runs"


@rewrite(law=_LAW + "   for products of unknowns", because=_REASON, family="hoist")
def symbolic_terms(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Compute terms of indices that are no affine functions at the outermost loop that has their variables."""
    if isinstance(stmt, For) and not here.in_loop:
        yield from _hoisted(stmt, symbolic=True)


@rewrite(law=_LAW, because=_REASON, family="hoist")
def wrapping_terms(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Compute each term of the indices in a nest of loops at the outermost loop that has its variables."""
    if isinstance(stmt, For) and not here.in_loop:
        yield from _hoisted(stmt, symbolic=False)


def _hoisted(stmt: For, *, symbolic: bool) -> Iterator[Stmt]:
    """The nest with hoisted terms, and that with the whole index bound too where it is used more than once."""
    loops, body = _nest(stmt)
    if len(loops) < 2 or not _is_plain(loops, body):
        return
    indices = [index for s in flat(body) for access in _accesses(s) for index in access]
    work = _Hoisting(tuple(loop.var for loop in loops), names_mentioned(stmt))
    new: dict[Expr, Expr] = {}
    for index in dict.fromkeys(indices):
        if index.dtype is stmt.var.dtype and index.dtype.is_signed and not (symbolic and pb.affine(index) is not None):
            form = work.hoisted(index)
            if not form.same(index):
                new[index] = form
    if not new:
        return
    replaced = _replaced(body, new)
    yield work.around(loops, replaced)
    uses = Counter(new[index] for index in indices if index in new)
    for form, count in uses.items():
        if count > 1:
            name = Var(unused("index", work.taken, first=2), form.dtype)
            yield work.around(loops, Let(name, form, _replaced(replaced, {form: name})))
            return


def _replaced(stmt: Stmt, new: Mapping[Expr, Expr]) -> Stmt:
    return map_stmt(stmt, lambda root: map_expr(root, lambda e: new.get(e, e)))


def _nest(loop: For) -> tuple[list[For], Stmt]:
    loops = [loop]
    while isinstance(loops[-1].body, For):
        loops.append(loops[-1].body)
    return loops, loops[-1].body


def _is_plain(loops: list[For], body: Stmt) -> bool:
    """Whether every iteration runs, from zero on, does nothing but store, and evaluates all of its expressions."""
    start = all(isinstance(loop.start, Const) and loop.start.value == 0 for loop in loops)
    names = {loop.var for loop in loops}
    box = all(names.isdisjoint(free_vars(loop.extent)) and not has_loads(loop.extent) for loop in loops)
    stores = all(isinstance(s, Store) for s in flat(body))
    return start and box and stores and not any(is_lazy(e) for s in walk(body) for e in stmt_exprs(s))


def _accesses(stmt: Stmt) -> Iterator[tuple[Expr, ...]]:
    assert isinstance(stmt, Store)
    yield stmt.indices
    for root in (*stmt.indices, stmt.value):
        for load in loads(root):
            yield load.indices


class _Hoisting(Struct):
    """Bindings for each level of a nest: level 0 is before it, level k inside of its k-th loop."""

    loops: tuple[Var, ...]
    taken: set[str]  # names that the nest mentions, and those of bindings
    bindings: dict[int, list[tuple[Var, Expr]]] = field(default_factory=lambda: dict[int, list[tuple[Var, Expr]]]())

    def hoisted(self, index: Expr) -> Expr:
        """An index with its outer terms bound; the index itself if there is nothing to gain."""
        atoms = Atoms()
        terms = atoms.polynomial(index)
        if terms is None or not is_fixed(index):
            return index
        levels = [self._level(m, atoms) for m in terms]
        last = max(levels, default=0)
        outer = [m for m, level in zip(terms, levels, strict=True) if level < last]
        moves = any(len(m) + (abs(terms[m]) != 1) > 1 for m in outer)
        if last == 0 or not moves or not all(isinstance(a, Var) for a in atoms.exprs):
            return index
        total: Expr | None = None
        for level in range(last):
            part = {m: c for (m, c), at in zip(terms.items(), levels, strict=True) if at == level}
            if part:
                total = self._bind(level, self._sum(part, atoms, index.dtype, total), "term", _unsigned(index.dtype))
        assert total is not None
        inner = {m: c for (m, c), at in zip(terms.items(), levels, strict=True) if at == last}
        level = max(at for at in levels if at < last)
        start = self._bind(level, Cast(index.dtype, total), "first", index.dtype)
        return Binary("add", start, atoms.total(inner, index.dtype))

    def _level(self, monomial: Monomial, atoms: Atoms) -> int:
        names = {atoms.exprs[a] for a in monomial}
        return max((k + 1 for k, v in enumerate(self.loops) if v in names), default=0)

    def _sum(self, terms: Polynomial, atoms: Atoms, dtype: DType, before: Expr | None) -> Expr:
        """A sum of products in wrapping arithmetic, in which nothing faults; strides are bound before the nest."""
        wide = _unsigned(dtype)
        out = [] if before is None else [before]
        for monomial, factor in terms.items():
            steps = [atoms.exprs[a] for a in monomial]
            moving: list[Expr] = [Cast(wide, e) for e in steps if e in self.loops]
            factors: list[Expr] = [Cast(wide, e) for e in steps if e not in self.loops]
            if factor != 1 or not steps:
                factors.append(const(factor % (wide.max + 1), wide))
            if moving and len(factors) > 1:
                factors = [self._bind(0, _product(factors), "stride", wide)]
            out.append(_product([*moving, *factors]))
        return reduce(lambda a, b: Binary("add", a, b), out)

    def _bind(self, level: int, value: Expr, stem: str, dtype: DType) -> Expr:
        """The name of a value at a level; equal values share one."""
        bound = self.bindings.setdefault(level, [])
        for name, known in bound:
            if known.same(value):
                return name
        bound.append((Var(fresh(stem, self.taken, first=2), dtype), value))
        return bound[-1][0]

    def around(self, loops: list[For], body: Stmt) -> Stmt:
        """The nest with its bindings."""
        for level in range(len(loops), -1, -1):
            for name, value in reversed(self.bindings.get(level, [])):
                body = Let(name, value, body)
            if level > 0:
                body = replace(loops[level - 1], body=body)
        return body


def _product(factors: list[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("mul", a, b), factors)


def _unsigned(dtype: DType) -> DType:
    return DType[f"U{dtype.name}"]


WRAPPING_RULES = (symbolic_terms, wrapping_terms)
