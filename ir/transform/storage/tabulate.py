"""Terms computed once for each element, in a local buffer before the loops that would do so more often.

    for i, k: y[i] = y[i] + tanh(x[i + k])   =   for p: t[p] = tanh(x[p]); for i, k: y[i] = y[i] + t[i + k]

A term reads floats that the loops do not write, and is evaluated for all coordinates in a box: of windows, of columns
of a triangle, of loops that run in turn. Terms of rows that arrays are broadcast from are left alone: they are computed
once for each row anyhow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.legality import update_of
from ir.fold import shortened
from ir.naming import fresh
from ir.nodes import (
    Alloc,
    Binary,
    Block,
    Buffer,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    const,
    seq,
)
from ir.operators import is_library
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import bound_to
from ir.program.calls import of_dtype
from ir.program.edit import with_children as with_parts
from ir.traverse import (
    all_exprs,
    bound_var,
    children,
    free_vars,
    has_loads,
    is_const,
    loads,
    rebuilt,
    stmt_children,
    stmt_exprs,
    stores_in,
    substitute_expr,
    walk,
    walk_expr,
    with_children,
)


def tabulated(stmt: Stmt, domain: isl.Set, taken: set[str]) -> Stmt:
    """A statement in which each nest has its costly terms computed before it; the same object where there are none.

    `domain`: the values that variables can have there, a params set. `taken`: names around the statement and in it.
    """
    if not any(_has_library(e) for e in all_exprs(stmt)):
        return stmt
    match stmt:
        case For(var=var, start=start, extent=extent):
            tables = pb.within_budget(lambda: _Terms(stmt, domain).tables(taken), [])
            whole = _Reader(stmt, domain, tables).visit(stmt) if tables else stmt
            assert isinstance(whole, For)
            body = tabulated(whole.body, domain.intersect(pb.loop_domain(var, start, extent).may), taken)
            whole = whole if body is whole.body else replace(whole, body=body)
            new: Stmt = whole
            for table in reversed(tables):
                new = Alloc(table.buffer, seq(table.filled(taken), new))
            return new
        case _:
            return with_parts(stmt, [tabulated(part, domain, taken) for part in stmt_children(stmt)])


class _Table(Struct, frozen=True):
    """A local buffer for the values of a term, whose coordinates run from `first` on."""

    term: Expr
    coordinates: tuple[Var, ...]
    first: tuple[Expr, ...]
    buffer: Buffer

    def filled(self, taken: set[str]) -> Stmt:
        """The loops that compute all of it."""
        loops = tuple(Var(fresh("element", taken, first=2), v.dtype) for v in self.coordinates)
        places = {v: _offset("add", i, n) for v, i, n in zip(self.coordinates, loops, self.first, strict=True)}
        body: Stmt = Store(self.buffer, loops, substitute_expr(self.term, places))
        for i, extent in reversed(list(zip(loops, self.buffer.shape, strict=True))):
            body = For(i, const(0, i.dtype), extent, body)
        return body

    def at(self, places: Sequence[Expr]) -> Load:
        """The value of the term where its coordinates have some values."""
        indices = (_offset("sub", p, n) for p, n in zip(places, self.first, strict=True))
        return Load(self.buffer, tuple(indices))


def _offset(op: Literal["add", "sub"], place: Expr, first: Expr) -> Expr:
    return place if is_const(first, 0) else shortened(Binary(op, place, first))


class _Visitor:
    """Looks at what a nest always evaluates, and where; `part` gives what stands for an expression, or None."""

    def __init__(self, nest: For, domain: isl.Set) -> None:
        self.nest = nest
        self.bound = {v.name for s in walk(nest) for v in bound_var(s)}
        self.written = {s.buffer for s in walk(nest) if isinstance(s, (Store, Alloc))}
        self.in_turn = _carries(nest)
        self.loops: tuple[Var, ...] = ()
        self.domain: isl.Set | None = domain  # the iterations that run; None if it is not known which

    def part(self, expr: Expr) -> Expr | None:
        raise NotImplementedError

    def visit(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For(var=var, start=start, extent=extent, body=body):
                runs = pb.loop_domain(var, start, extent)
                bounds = self._expr(start), self._expr(extent)
                self.loops = (*self.loops, var)
                inner = self._under(runs, body)
                self.loops = self.loops[:-1]
                return replace(stmt, start=bounds[0], extent=bounds[1], body=inner)
            case If(cond=cond, then=yes, other=no):
                holds = pb.condition(cond)
                arms = self._under(holds, yes), self._under(holds.negated(), no)
                return replace(stmt, cond=self._expr(cond), then=arms[0], other=arms[1])
            case Store() | Evaluate() | Let() | Seq() | Alloc():
                return rebuilt(stmt, self._expr, self.visit)
            case Block(body=body, predicate=predicate):
                return replace(stmt, body=self._under(pb.condition(predicate), body))
            case _:
                return stmt

    def _under(self, holds: pb.Condition, stmt: Stmt) -> Stmt:
        around = self.domain
        self.domain = around.intersect(holds.must) if around is not None and holds.exact else None
        new = self.visit(stmt)
        self.domain = around
        return new

    def _expr(self, expr: Expr) -> Expr:
        return expr if self.domain is None else self._within(expr)

    def _within(self, expr: Expr) -> Expr:
        found = self.part(expr)
        if found is not None:
            return found
        lazy = isinstance(expr, Select) or (isinstance(expr, Binary) and expr.op in ("and", "or"))
        first, rest = (1, children(expr)[1:]) if lazy else (None, ())
        return with_children(expr, (*map(self._within, children(expr)[:first]), *rest))

    def term(self, expr: Expr) -> tuple[Expr, tuple[Expr, ...]] | None:
        """A costly expression over fewer coordinates than there are loops: in terms of these, and what they are."""
        if len(self.loops) < 2 or not _is_costly(expr) or any(s.buffer in self.written for s in loads(expr)):
            return None
        own = [v for v in dict.fromkeys(e for e in walk_expr(expr) if isinstance(e, Var)) if v.name in self.bound]
        if not own or any(v not in self.loops for v in own):
            return None
        places: Sequence[Expr] = list(dict.fromkeys(i for e in loads(expr) for i in e.indices if _uses(i, own)))
        named = _at(expr, places)
        if _uses(named, own) or len(places) > len(own):
            places = own
            named = _at(expr, places)
        return (named, tuple(places)) if len(places) < len(self.loops) else None

    def image(self, places: Sequence[Expr], domain: isl.Set) -> tuple[tuple[Var, ...], isl.Set]:
        """Coordinates, and the values that they have at some places in a domain."""
        coordinates = tuple(map(_coordinate, range(len(places)), places))
        for var, place in zip(coordinates, places, strict=True):
            domain = domain.intersect(bound_to(var, place))
        return coordinates, pb.forget(domain, self.bound)


class _Terms(_Visitor):
    """Collects the terms of a nest, and for which coordinates each is evaluated."""

    def __init__(self, nest: For, domain: isl.Set) -> None:
        super().__init__(nest, domain)
        self.around = self.domain = domain
        self.images: dict[Expr, tuple[tuple[Var, ...], isl.Set]] = {}
        self.visit(nest)

    def part(self, expr: Expr) -> Expr | None:
        found = self.term(expr)
        if found is None or self.domain is None:
            return None
        term, places = found
        if not self.in_turn and self._is_axes(places, self.domain):
            return expr
        coordinates, image = self.image(places, self.domain)
        if term in self.images:
            image = image.union(self.images[term][1])
        self.images[term] = coordinates, image
        return expr

    def _is_axes(self, places: Sequence[Expr], domain: isl.Set) -> bool:
        """Whether coordinates are loops that run alike in each iteration of the others, as axes of arrays do."""
        own = {p.name for p in places if isinstance(p, Var)}
        others = self.bound - own
        apart = pb.forget(domain, own).intersect(pb.forget(domain, others))
        return len(own) == len(places) and apart.is_subset(domain)

    def tables(self, taken: set[str]) -> list[_Table]:
        """Buffers for the terms that are evaluated for all coordinates in a box, once or more often."""
        found = (self._table(term, *where, taken) for term, where in self.images.items())
        return [t for t in found if t is not None]

    def _table(self, term: Expr, coordinates: tuple[Var, ...], image: isl.Set, taken: set[str]) -> _Table | None:
        image = image.coalesce()
        own = [v.name for v in coordinates]
        some = pb.forget(image, own)  # where the nest evaluates the term at all
        scope = {v.name: v for e in all_exprs(self.nest) for v in free_vars(e) if v.name not in self.bound}
        first: list[Expr] = []
        shape: list[Expr] = []
        box = self.around.intersect(some)
        for var in coordinates:
            line = pb.line(pb.forget(image, [n for n in own if n != var.name]), var.name)
            ends = None if line is None else [readback.coordinate(line, 0, upper=upper) for upper in (False, True)]
            if ends is None or ends[0] is None or ends[1] is None:
                return None
            extent = ends[1].sub(ends[0]).add(pb.number(1)).coalesce()
            if extent.n_piece() != 1 or ends[0].coalesce().n_piece() != 1:
                return None
            first.append(of_dtype(readback.expression(ends[0].coalesce(), scope, some), var.dtype))
            shape.append(of_dtype(readback.expression(extent, scope, some), var.dtype))
            box = box.intersect(pb.loop_domain(var, first[-1], shape[-1]).may)
        if not box.is_subset(image) or not self.around.is_subset(some):
            return None
        stem = next(iter(loads(term))).buffer.name if has_loads(term) else "term"
        buffer = Buffer(fresh(f"{stem}_term", taken, first=2), tuple(shape), term.dtype)
        return _Table(term, coordinates, tuple(first), buffer)


class _Reader(_Visitor):
    """Puts reads of tables in place of the terms that they hold.

    A table has the values for which its term was collected; a term within a larger one, which was not, may ask for
    others.
    """

    def __init__(self, nest: For, domain: isl.Set, tables: Sequence[_Table]) -> None:
        super().__init__(nest, domain)
        self.around = domain
        self.tables = {t.term: t for t in tables}

    def part(self, expr: Expr) -> Expr | None:
        found = self.term(expr)
        table = None if found is None else self.tables.get(found[0])
        if found is None or table is None or self.domain is None or not self._holds(table, found[1], self.domain):
            return None
        return table.at(found[1])

    def _holds(self, table: _Table, places: Sequence[Expr], domain: isl.Set) -> bool:
        """Whether a table has the values of its term at all places in a domain."""
        box = self.around
        for var, first, extent in zip(table.coordinates, table.first, table.buffer.shape, strict=True):
            box = box.intersect(pb.loop_domain(var, first, extent).must)
        return pb.within_budget(lambda: self.image(places, domain)[1].is_subset(box), False)


def _coordinate(k: int, place: Expr) -> Var:
    return Var(f"<{k}>", place.dtype)  # no name of a program


def _at(expr: Expr, places: Sequence[Expr]) -> Expr:
    """An expression with coordinates in place of what they are."""
    known = {place: _coordinate(k, place) for k, place in enumerate(places)}

    def go(part: Expr) -> Expr:
        return known[part] if part in known else with_children(part, tuple(map(go, children(part))))

    return go(expr)


def _carries(nest: For) -> bool:
    """Whether iterations hand values to each other, other than those of sums and the like."""
    stores = [*stores_in(nest)]
    steps = Counter(s.buffer for s in stores if update_of(s) is not None)
    read = Counter(load.buffer for s in walk(nest) for e in stmt_exprs(s) for load in loads(e))
    return any(read[s.buffer] > steps[s.buffer] for s in stores)


def _has_library(expr: Expr) -> bool:
    """Whether an expression is itself that of a library function, which is what costs."""
    return isinstance(expr, (Unary, Binary)) and is_library(expr.op, expr.dtype)


def _is_costly(expr: Expr) -> bool:
    """Whether an expression of floats has a library function in it, and nothing that may fault."""
    parts = list(walk_expr(expr))
    if not any(map(_has_library, parts)):
        return False
    kinds = (Unary, Binary, Cast, Const, Load, Var)
    return all(isinstance(e, kinds) and (e.dtype.is_float or pb.affine(e) is not None) for e in parts)


def _uses(expr: Expr, variables: Sequence[Var]) -> bool:
    return not free_vars(expr).isdisjoint(variables)
