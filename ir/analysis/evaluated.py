"""What a program evaluates for certain, whatever the data: what it reads of what it is given, and what it computes.

The freedom `finite` speaks of these values and of no others: an element that the program never looks at may hold NaN,
and a quotient that it computes only under a guard may have no result elsewhere. Nor does it speak of elements that an
assumption says are infinite, as padding of a softmax is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.assumptions import assumed_values
from ir.analysis.coverage import evaluated_parts, first_read
from ir.analysis.dependence import Loop, Statement, domain
from ir.dtypes import DType
from ir.interning import Interned
from ir.nodes import (
    COMPARE_OPS,
    TRUE,
    Assert,
    Assume,
    Binary,
    Buffer,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Stmt,
    Store,
    Unary,
    Var,
    const,
)
from ir.operators import is_singular
from ir.presburger import sets as pb
from ir.traverse import (
    all_exprs,
    always_evaluated,
    buffers_read,
    buffers_written,
    children,
    conjuncts_of,
    free_vars,
    has_loads,
    has_undef,
    loads,
    node_count,
    stmt_children,
    stores_in,
    substitute_expr,
    walk_expr,
    with_children,
)

_NOWHERE = Buffer("", (), DType.BOOL, "local")  # where conditions are stored to as far as this file is concerned
MOST_NODES = 100  # of a statement with what names are bound to in their place
MOST_WRITERS = 8  # statements that store to a buffer: each of its reads has to be told from all of them


class _Site(Struct, frozen=True):
    """Where an operation stands: its pattern, the places of its operands, and when it is evaluated for certain."""

    pattern: Expr
    places: isl.Set
    loops: tuple[Var, ...]
    where: isl.Set
    statement: Statement | None = None


class Reader(Struct, frozen=True):
    """Where an element is read whenever some conditions hold of the variables of the loops around."""

    loops: tuple[Loop, ...]
    guards: tuple[Expr, ...]
    load: Load

    def witness(self, place: Sequence[Expr]) -> tuple[Expr, ...]:
        """Conditions that all have to hold for some iteration to read the element at a place: the one in which the
        variables that its indices are have the place's values, and all others their first ones."""
        values: dict[Var, Expr] = {}
        variables = {loop.var for loop in self.loops}
        for index, value in zip(self.load.indices, place, strict=True):
            if isinstance(index, Var) and index in variables and index.dtype is value.dtype:
                values.setdefault(index, value)
        asked: list[Expr] = []
        for loop in self.loops:
            start, extent = substitute_expr(loop.start, values), substitute_expr(loop.extent, values)
            now = values.setdefault(loop.var, start)
            asked += [start <= now, now - start < extent]
        asked += [substitute_expr(index, values) == at for index, at in zip(self.load.indices, place, strict=True)]
        return (*asked, *(substitute_expr(guard, values) for guard in self.guards))


class Evaluated:
    """Answers for one program, without blocks and calls. What bindings are about is left out: they are as of a time."""

    def __init__(self, body: Stmt) -> None:
        self.written = frozenset(buffers_written(body))
        self.matters = _deciding(body)
        self.compared = _compared(body)
        self._statements: list[Statement] = []
        self._interned = Interned()
        self._certain: dict[Statement, isl.Set] = {}
        self._infinite: dict[Buffer, isl.Set] = {}
        self._runs: dict[int, list[Statement]] = {}  # by identity, where a statement stands: as a store there would
        self._collect(body, (), ())
        self._reads: dict[Buffer, isl.Set] = {}
        self._readers: dict[Buffer, list[Reader]] = {}
        self._sites: list[_Site] | None = None

    def reads(self, buffer: Buffer) -> isl.Set:
        """Elements of a buffer of which the initial contents are read for certain."""
        if buffer not in self._reads:
            writers = sum(s.buffer == buffer for s in self._statements)
            few = writers <= MOST_WRITERS
            found = first_read(self._statements, buffer) if few else pb.nothing(len(buffer.shape))
            self._reads[buffer] = found.subtract(self._infinite[buffer]) if buffer in self._infinite else found
        return self._reads[buffer]

    def readers(self, buffer: Buffer) -> list[Reader]:
        """Where initial contents of a buffer are read under conditions on data that nobody changes."""
        if buffer not in self._readers:
            here = self._statements if buffer not in self.written else ()
            on_data = (s for s in here if any(map(has_loads, s.guards)) and self._steady(s))
            self._readers[buffer] = [
                Reader(s.loops, tuple(c for g in s.guards for c in conjuncts_of(g)), load)
                for s in on_data
                for e in (s.store.value, *s.store.indices)
                for load in always_evaluated(e)
                if isinstance(load, Load) and load.buffer == buffer
            ]
        return self._readers[buffer]

    def _steady(self, statement: Statement) -> bool:
        """Whether it depends on initial contents alone whether a statement runs."""
        asked = (*statement.guards, *(e for loop in statement.loops for e in (loop.start, loop.extent)))
        return not any(load.buffer in self.written for e in asked for load in loads(e))

    def runs(self, stmt: Stmt, loops: Sequence[Expr], where: isl.Set) -> bool:
        """Whether a statement is run for certain wherever it stands in the program, for all values in a domain.

        `loops` are the variables of the loops around.
        """
        found = self._runs.get(id(self._interned.of(stmt)), [])
        names = [tuple(loop.var for loop in place.loops) for place in found]
        if not found or any(n != tuple(loops) for n in names):
            return False
        return pb.within_budget(lambda: all(where.is_subset(self._when(s)) for s in found), False)

    def _when(self, statement: Statement) -> isl.Set:
        """The iterations in which a statement runs for certain."""
        if statement not in self._certain:
            self._certain[statement] = domain(statement, {}, must=True)
        return self._certain[statement]

    def computes(self, expr: Expr, loops: Sequence[Expr] | None, where: isl.Set) -> bool:
        """Whether an operation is evaluated for certain, for all values of variables in a domain.

        What reads elements that are written has to be that in the same iteration of all loops, `loops` are the values
        of their variables if that is known, and nowhere else in the program.
        """
        asked = _site(expr, (), where)
        return asked is not None and pb.within_budget(lambda: self._covers(asked, loops, where), False)

    def conditions(self, expr: Expr, loops: Sequence[Expr]) -> tuple[Expr, ...] | None:
        """Conditions on data that nobody changes under which an operation is evaluated, in that iteration of all loops
        around it; None where it may not be, or stands in several places."""
        sites = self._alike(pattern_of(expr, []))
        found = sites[0].statement if len(sites) == 1 else None
        if found is None or not self._steady(found) or len(found.loops) != len(loops):
            return None
        values: dict[Var, Expr] = {}
        asked: list[Expr] = []
        for loop, now in zip(found.loops, loops, strict=True):
            if loop.var.dtype is not now.dtype:
                return None
            start, extent = substitute_expr(loop.start, values), substitute_expr(loop.extent, values)
            asked += [start <= now, now - start < extent]
            values[loop.var] = now
        done = [substitute_expr(e, values) for e in always_evaluated(found.store.value)]
        done += [r for e in done for r in _divisors(e)]
        if not any(e.same(expr) for e in done):
            return None
        return (*asked, *(substitute_expr(c, values) for g in found.guards for c in conjuncts_of(g)))

    def _alike(self, pattern: Expr) -> list[_Site]:
        """Where operations of a pattern stand."""
        if self._sites is None:
            self._sites = list(self._all_sites())
        return [s for s in self._sites if s.pattern.same(pattern)]

    def _covers(self, asked: _Site, loops: Sequence[Expr] | None, where: isl.Set) -> bool:
        sites = self._alike(asked.pattern)
        if all(load.buffer not in self.written for load in loads(asked.pattern)):
            found = [pb.forget(s.places.intersect_params(s.where), [v.name for v in s.loops]) for s in sites]
            names = pb.variables(asked.places) - pb.variables(where)
            covered = found[0] if found else asked.places.subtract(asked.places)
            for region in found[1:]:
                covered = covered.union(region)
            return not names and asked.places.is_subset(covered)
        if loops is None or len(sites) != 1 or len(sites[0].loops) != len(loops):
            return False
        (site,) = sites
        now, then = pb.point(loops), pb.point(site.loops)
        if now is None or then is None:
            return False
        both = asked.places.flat_product(now.intersect_params(where))
        names = [v.name for v in site.loops]
        return both.is_subset(pb.forget(site.places.flat_product(then).intersect_params(site.where), names))

    def _all_sites(self) -> Iterator[_Site]:
        for statement in self._statements:
            loops = tuple(loop.var for loop in statement.loops)
            for expr in (statement.store.value, *statement.store.indices):
                for part, where in evaluated_parts(expr, self._when(statement)):
                    for asked in (part, *_divisors(part)):
                        site = _site(asked, loops, where) if may_fail(part) else None
                        if site is not None:
                            yield replace(site, statement=statement)

    def _collect(self, stmt: Stmt, loops: tuple[Loop, ...], guards: tuple[Expr, ...]) -> None:
        place = Statement(len(self._statements), loops, guards, Store(_NOWHERE, (), TRUE))
        self._runs.setdefault(id(self._interned.of(stmt)), []).append(place)
        match stmt:
            case Store():
                self._add(stmt, loops, guards)
            case If(cond=cond, then=then, other=other):
                self._add(Store(_NOWHERE, (), cond), loops, guards)
                self._collect(then, loops, (*guards, cond))
                self._collect(other, loops, (*guards, Unary("not", cond)))
            case For(body=body):
                self._collect(body, (*loops, Loop.of(stmt)), guards)
            case Assume(cond=cond) | Assert(cond=cond) if not has_undef(cond):
                self._note_infinite(cond, place)
                for part in conjuncts_of(cond):  # all of which hold, so that all are evaluated
                    self._add(Store(_NOWHERE, (), part), loops, guards)
            case Evaluate(value=value) if not has_undef(value):
                self._add(Store(_NOWHERE, (), value), loops, guards)
            case Let(var=var, value=value, body=body):
                self._add(Store(_NOWHERE, (), value), loops, guards)
                before = len(self._statements)
                self._collect(body, loops, guards)
                steady = buffers_read(value).isdisjoint(buffers_written(body))
                inside = (_unnamed(s, var, value, steady) for s in self._statements[before:])
                self._statements[before:] = [s for s in inside if s is not None]
            case _:
                for part in stmt_children(stmt):
                    self._collect(part, loops, guards)

    def _note_infinite(self, cond: Expr, place: Statement) -> None:
        """Remember the elements that a condition says are infinite, or may be."""
        names = [loop.var.name for loop in place.loops]
        for (buffer, value), region in assumed_values(cond):
            if buffer.dtype.is_float and any(isinstance(e, Const) and not _is_finite(e) for e in walk_expr(value)):
                here = pb.forget(region.intersect_params(domain(place, {}, must=False)), names)
                self._infinite[buffer] = self._infinite[buffer].union(here) if buffer in self._infinite else here

    def _add(self, store: Store, loops: tuple[Loop, ...], guards: tuple[Expr, ...]) -> None:
        self._statements.append(Statement(len(self._statements), loops, guards, store))


def _deciding(body: Stmt) -> frozenset[Buffer]:
    """Buffers of which it may decide what becomes of an operation whether they hold numbers, and what these are made
    from: an operand that may be zero, or the greatest number, makes it superfluous where the other one is a number."""
    stores = [*stores_in(body)]
    found = {load.buffer for e in all_exprs(body) for operand in _in_question(e) for load in loads(operand)}
    while True:
        new = {load.buffer for s in stores if s.buffer in found for load in loads(s.value)} - found
        if not new:
            return frozenset(found)
        found |= new


def _compared(body: Stmt) -> frozenset[Buffer]:
    """Buffers whose elements are compared with anything but elements of the same one, so that bounds may decide."""
    found: set[Buffer] = set()
    for expr in all_exprs(body):
        if isinstance(expr, Binary) and expr.op in ("max", "min", *COMPARE_OPS):
            one, other = buffers_read(expr.lhs), buffers_read(expr.rhs)
            found |= one | other if len(one) != 1 or one != other else set()
    return frozenset(found)


def _in_question(expr: Expr) -> tuple[Expr, ...]:
    """The operands of which it may matter to an operation whether they are numbers."""
    match expr:
        case Binary(op="mul" | "div" | "min" | "max", lhs=a, rhs=b) if expr.dtype.is_float:
            return tuple(x for x, y in ((a, b), (b, a)) if not isinstance(y, Const))
        case Binary(op="lt" | "le" | "gt" | "ge" | "eq" | "ne", lhs=a, rhs=b) if a.dtype.is_float:
            return a, b
        case Binary(op="sub", lhs=a, rhs=b) if expr.dtype.is_float:
            return (a, b) if any(x.same(y) for x in loads(a) for y in loads(b)) else ()
        case _:
            return (expr,) if may_fail(expr) else ()


def _unnamed(statement: Statement, var: Var, value: Expr, steady: bool) -> Statement | None:
    """A statement in the scope of a name without it, by what it is bound to if that is `steady`; None if it stays."""
    uses = sum(part.same(var) for e in statement.exprs() for part in walk_expr(e))
    if not uses:
        return statement
    size = sum(map(node_count, statement.exprs())) + uses * (node_count(value) - 1)
    if not steady or size > MOST_NODES:
        return None
    names, store = {var: value}, statement.store
    guards = tuple(substitute_expr(g, names) for g in statement.guards)
    indices = tuple(substitute_expr(i, names) for i in store.indices)
    new = replace(store, indices=indices, value=substitute_expr(store.value, names))
    found = replace(statement, guards=guards, store=new)
    return found if not any(var in free_vars(e) for e in found.exprs()) else None


def _is_finite(number: Const) -> bool:
    return not number.dtype.is_float or isfinite(number.value)


def may_fail(expr: Expr) -> bool:
    """Whether an operation may have no finite result although its operands are finite."""
    return isinstance(expr, (Binary, Unary)) and is_singular(expr.op, expr.dtype)


def divides(divisor: Expr) -> Expr:
    """What a quotient with a finite result tells of its divisor. Other quotients by it need not have one."""
    return Binary("ne", divisor, const(0.0, divisor.dtype))


def _divisors(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Binary) and expr.op == "div" and expr.dtype.is_float:
        yield divides(expr.rhs)


def _site(expr: Expr, loops: tuple[Var, ...], where: isl.Set) -> _Site | None:
    """An operation by its pattern and the places of its operands; None where a place is not quasi-affine."""
    places: list[Expr] = []
    pattern = pattern_of(expr, places)
    spot = pb.point(places)
    return None if spot is None else _Site(pattern, spot.intersect_params(where), loops, where)


def pattern_of(expr: Expr, places: list[Expr], *, indirect: bool = False) -> Expr:
    """An expression with numbered variables in place of indices and integer variables, which `places` gets in order.

    If `indirect`, of an index that data decide it is the indices of these.
    """

    def slot(index: Expr) -> Expr:
        places.append(index)
        return Var(f"${len(places)}", index.dtype)

    def inner(part: Expr) -> Expr:
        return pattern_of(part, places, indirect=indirect)

    match expr:
        case Load():
            indices = (inner(i) if indirect and has_loads(i) else slot(i) for i in expr.indices)
            return with_children(expr, tuple(indices))
        case Var(dtype=dtype) if dtype.is_integer:
            return slot(expr)
        case _:
            return with_children(expr, tuple(map(inner, children(expr))))
