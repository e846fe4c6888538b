"""Whether a new order of a program's statement instances means the same. Owns the check; builds no program.

A primitive that moves work gives the old and the new statement, and says for each old loop variable which value it has
in terms of the new ones. Then two questions decide, both put to isl: does every old instance run exactly once, and do
every two instances that touch one element, at least one of them writing it, keep their order (Feautrier, "Dataflow
Analysis of Array and Scalar References", 1991; Kelly and Pugh, "A Unifying Framework for Iteration Reordering
Transformations", 1995). What is not quasi-affine widens the answer to the safe side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import assert_never, cast

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.nodes import (
    COMPARE_OPS,
    LOGICAL_OPS,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Cast,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from ir.presburger import sets as pb
from ir.printing.printer import to_script
from ir.program.blocks import lower_statement
from ir.traverse import has_loads, loads, reads, substitute_expr, walk_expr

Time = tuple[Expr | int, ...]
_OPERATIONS = 2_000_000  # a whole check; hand-written programs need some ten thousand


class Event(Struct, frozen=True, eq=False):
    """One place that reads or writes, under its loops and guards; `time` orders its instances in the program."""

    loops: tuple[For, ...]
    guards: tuple[Expr, ...]
    time: Time
    reads: tuple[Load, ...]
    store: Store | None
    private: Mapping[Buffer, int]
    text: str

    @property
    def names(self) -> tuple[Var, ...]:
        """Loop variables, outermost first."""
        return tuple(loop.var for loop in self.loops)


class Violation(Struct, frozen=True):
    """Why an order is refused: what happens, and values of the loop variables for which it does."""

    message: str
    notes: tuple[str, ...]


def events(stmt: Stmt) -> list[Event]:
    """Everything in a statement that touches memory or can fail, in program order."""
    return list(_Collector().visit(lower_statement(stmt), _Place()))


class _Place(Struct, frozen=True):
    loops: tuple[For, ...] = ()
    guards: tuple[Expr, ...] = ()
    time: Time = ()
    values: Mapping[Var, Expr] = field(default_factory=lambda: dict[Var, Expr]())
    private: Mapping[Buffer, int] = field(default_factory=lambda: dict[Buffer, int]())

    def expr(self, expr: Expr) -> Expr:
        """An expression with let-bound names replaced by what they stand for."""
        return substitute_expr(expr, self.values)


class _Collector:
    """One walk. A let that loads is an event of its own: that is when the load happens."""

    def visit(self, stmt: Stmt, at: _Place) -> Iterator[Event]:
        match cast(AnyStmt, stmt):
            case Store(indices=indices, value=value) as store:
                new = replace(store, indices=tuple(map(at.expr, indices)), value=at.expr(value))
                yield self._event(at, (*new.indices, new.value), stmt, new)
            case Seq(stmts=stmts):
                for k, inner in enumerate(stmts):
                    yield from self.visit(inner, replace(at, time=(*at.time, k)))
            case If(cond=cond, then=then, other=other):
                test = at.expr(cond)
                if has_loads(test):
                    yield self._event(replace(at, time=(*at.time, 0)), (test,), stmt)
                for k, (arm, guard) in enumerate(((then, test), (other, Unary("not", test)))):
                    inner = replace(at, guards=(*at.guards, guard), time=(*at.time, k + 1))
                    yield from self.visit(arm, inner)
            case For(start=start, extent=extent) as loop:
                first, count = at.expr(start), at.expr(extent)
                if has_loads(first) or has_loads(count):
                    yield self._event(replace(at, time=(*at.time, 0)), (first, count), stmt)
                loops = (*at.loops, replace(loop, start=first, extent=count))
                yield from self.visit(loop.body, replace(at, loops=loops, time=(*at.time, 1, loop.var)))
            case Let(var=var, value=value, body=body):
                meaning = at.expr(value)
                if has_loads(meaning):
                    yield self._event(replace(at, time=(*at.time, 0)), (meaning,), stmt)
                inner = replace(at, values={**at.values, var: meaning}, time=(*at.time, 1))
                yield from self.visit(body, inner)
            case Alloc(buffer=buffer, body=body):
                yield from self.visit(body, replace(at, private={**at.private, buffer: len(at.loops)}))
            case Assume(cond=e) | Assert(cond=e) | Evaluate(value=e):
                yield self._event(at, (at.expr(e),), stmt)
            case Block():
                raise ValueError("blocks are lowered before events are collected")
            case other:
                assert_never(other)

    def _event(self, at: _Place, exprs: Sequence[Expr], stmt: Stmt, store: Store | None = None) -> Event:
        found = dict.fromkeys(load for e in (*exprs, *at.guards) for load in loads(e))
        text = to_script(stmt).splitlines()[0]
        return Event(at.loops, at.guards, at.time, tuple(found), store, at.private, text)


def check_order(
    old: Stmt,
    new: Stmt,
    back: Mapping[Var, Expr],
    known: isl.Set,
    *,
    reassociate: bool = True,
) -> Violation | None:
    """Why `new` may not replace `old`, or None if it may.

    Both hold the same places in the same textual order (loops around them differ). `back` gives each loop variable of
    `old` that is no loop variable around the place in `new` its value there. `known` holds where the statement stands.
    Updates of one element by one commutative operator may change places if `reassociate` (floats) allows.
    """
    before, after = events(old), events(new)
    if len(before) != len(after):  # conditions or bounds that load are evaluated at other times than before
        return Violation("conditions or loop bounds that read buffers would be evaluated at other times", ())
    budget = Violation("the proof that the order may change needs too many steps", ())
    return pb.within_budget(lambda: _check(before, after, back, known, reassociate), budget, _OPERATIONS)


def _check(
    before: Sequence[Event], after: Sequence[Event], back: Mapping[Var, Expr], known: isl.Set, reassociate: bool
) -> Violation | None:
    moved = [_Moved.of(old, new, back, known) for old, new in zip(before, after, strict=True)]
    for event in moved:
        if (found := event.instances()) is not None:
            return found
    for k, first in enumerate(moved):
        for second in moved[k:]:
            if (found := _kept(first, second, reassociate)) is not None:
                return found
    return None


class _Moved(Struct, frozen=True, eq=False):
    """An event in its new place; `back` gives every old loop variable in terms of the new ones."""

    old: Event
    new: Event
    back: Mapping[Var, Expr]
    known: isl.Set

    @staticmethod
    def of(old: Event, new: Event, back: Mapping[Var, Expr], known: isl.Set) -> _Moved:
        here = set(new.names)
        values = {v: v if v in here else back[v] for v in old.names if v in here or v in back}
        return _Moved(old, new, values, known)

    @property
    def unchanged(self) -> bool:
        """Whether loops (but for their order) and guards are as they were."""
        same = {v: (a.start, a.extent) for v, a in zip(self.old.names, self.old.loops, strict=True)}
        other = {v: (a.start, a.extent) for v, a in zip(self.new.names, self.new.loops, strict=True)}
        return same == other and self.old.guards == self.new.guards

    def instances(self) -> Violation | None:
        """Why this place runs other instances than before."""
        if self.unchanged:
            return None
        if any(v not in self.back for v in self.old.names):
            lost = next(v for v in self.old.names if v not in self.back)
            return Violation(f"`{self.new.text}` depends on loop {lost.name}, which is no longer around it", ())
        if any(pb.affine(e) is None for e in self.back.values()):
            return Violation(f"the new order of `{self.new.text}` is not affine", ())
        domain, image = self._domain(self.new), self._image()
        if domain is None or image is None:
            return Violation(f"the iterations of `{self.new.text}` cannot be described by affine conditions", ())
        lost, added = image[0].subtract(image[1]), image[1].subtract(image[0])
        for which, what in ((lost, "no longer runs"), (added, "runs where it did not run before")):
            if (found := pb.sample(which.lexmin())) is not None:
                at = ", ".join(f"{v.name} = {x}" for v, x in zip(self.old.names, found[1], strict=True))
                return Violation(f"`{self.old.text}` {what}", (f"for example at {at}",))
        return self._twice(domain)

    def _domain(self, event: Event, primed: bool = False) -> isl.Set | None:
        """Iterations of an event as a params set; None when it is not exactly known."""
        found = domain_of(event, _primes(event) if primed else {}, self._data_guards())
        return None if not found.exact else found.must.intersect(self.known)

    def _data_guards(self) -> tuple[Expr, ...]:
        """Guards that depend on run-time data and stand around both places: they decide alike."""
        before = [substitute_expr(g, self.back) for g in self.old.guards]
        return tuple(g for g in before if not pb.condition(g).exact and any(g.same(h) for h in self.new.guards))

    def _image(self) -> tuple[isl.Set, isl.Set] | None:
        """Old iterations as they were, and those that the new iterations stand for, as sets of points."""
        ignored = self._data_guards()
        opaque = tuple(g for g in self.old.guards if any(substitute_expr(g, self.back).same(h) for h in ignored))
        was = domain_of(self.old, {}, opaque)
        now = self._domain(self.new)
        if not was.exact or now is None:
            return None
        place = pb.point([self.back[v] for v in self.old.names])
        assert place is not None
        here = pb.point(self.old.names)
        assert here is not None
        old = pb.forget(here.intersect_params(was.must.intersect(self.known)), [v.name for v in self.old.names])
        fresh = pb.forget(place.intersect_params(now), [v.name for v in self.new.names])
        return old, fresh

    def _twice(self, domain: isl.Set) -> Violation | None:
        """Whether two new iterations stand for one old one."""
        primes = _primes(self.new)
        other = self._domain(self.new, primed=True)
        assert other is not None
        pairs = domain.intersect(other)
        for value in self.back.values():
            x, y = pb.affine(value), pb.affine(substitute_expr(value, primes))
            assert x is not None and y is not None
            pairs = pairs.intersect(x.eq_set(y))
        differ = pb.never()
        for var in self.new.names:
            differ = differ.union(pb.symbol(var.name).ne_set(pb.symbol(var.name + "'")))
        twice = pairs.intersect(differ)
        if twice.is_empty():
            return None
        at = _witness(twice, self.new.names)
        return Violation(f"`{self.old.text}` runs twice for one iteration", (f"for example at {at}",))


def _primes(event: Event) -> dict[Var, Expr]:
    return {v: Var(v.name + "'", v.dtype) for v in event.names}


class Domain(Struct, frozen=True, eq=False):
    """Iterations of a place: certainly (`must`) and possibly (`may`), as params sets."""

    must: isl.Set
    may: isl.Set
    exact: bool


def domain_of(event: Event, renamed: Mapping[Var, Expr], ignored: Sequence[Expr] = ()) -> Domain:
    """The iteration domain of an event, loop variables renamed; guards in `ignored` are taken to hold."""
    must, may, exact = pb.always(), pb.always(), True
    for loop in event.loops:
        var = renamed.get(loop.var, loop.var)
        assert isinstance(var, Var)
        bounds = pb.loop_domain(var, substitute_expr(loop.start, renamed), substitute_expr(loop.extent, renamed))
        must, may, exact = must.intersect(bounds.must), may.intersect(bounds.may), exact and bounds.exact
    for guard in event.guards:
        if any(guard.same(g) for g in ignored):
            continue
        cond = pb.condition(substitute_expr(guard, renamed))
        must, may, exact = must.intersect(cond.must), may.intersect(cond.may), exact and cond.exact
    return Domain(must, may, exact)


# Order ---------------------------------------------------------------------------------------------------------------


class _Access(Struct, frozen=True):
    load: Load
    write: bool
    accumulating: bool


def _accesses(event: Event) -> list[_Access]:
    own = update_of(event.store)
    found = [_Access(load, False, own is not None and load.same(own[1])) for load in event.reads]
    if event.store is not None:
        found.append(_Access(Load(event.store.buffer, event.store.indices), True, own is not None))
    return found


def update_of(store: Store | None) -> tuple[str, Load] | None:
    """The operator and the element of `B[i] = B[i] op v`, where `v` does not read B."""
    if store is None:
        return None
    own = Load(store.buffer, store.indices)
    match store.value:
        case Binary(op="add" | "mul" | "min" | "max" | "and" | "or" | "sub" as op, lhs=a, rhs=b):
            rest = b if a.same(own) else a if b.same(own) and op != "sub" else None
            if rest is None or reads(store.buffer, rest, *own.indices):
                return None
            return ("add" if op == "sub" else op), own
        case _:
            return None


def _commute(first: Event, second: Event, reassociate: bool) -> bool:
    """Whether two updates may change places: no partial result differs, or float policy allows it."""
    a, b = update_of(first.store), update_of(second.store)
    if a is None or b is None or a[0] != b[0]:
        return False
    dtype = a[1].dtype
    if a[0] in ("and", "or"):  # evaluated only until it is decided: what comes later must not be able to fail
        return all(_cannot_fail(e.store.value) for e in (first, second) if e.store is not None)
    if a[0] in ("min", "max"):
        return True
    # sums of signed integers might leave their width on the way in one order and not in the other
    return reassociate if dtype.is_float else not dtype.is_signed


def _cannot_fail(expr: Expr) -> bool:
    """Whether no part of an expression can leave a range or divide by zero."""
    harmless = (*COMPARE_OPS, *LOGICAL_OPS, "min", "max")
    for part in walk_expr(expr):
        if isinstance(part, Binary) and not part.dtype.is_float and part.op not in harmless:
            return False
        if isinstance(part, Unary) and part.dtype.is_integer:
            return False
        if isinstance(part, Cast) and part.operand.dtype.is_float and not part.dtype.is_float:
            return False
    return True


def _kept(first: _Moved, second: _Moved, reassociate: bool) -> Violation | None:
    """A pair of instances of two places that touch one element and change their order, if there is one."""
    commuting = _commute(first.new, second.new, reassociate)
    for x in _accesses(first.new):
        for y in _accesses(second.new):
            if x.load.buffer != y.load.buffer or not (x.write or y.write):
                continue
            if commuting and x.accumulating and y.accumulating:
                continue
            if (found := _reversed(first, second, x, y)) is not None:
                return found
    return None


def carried(loop: For, known: isl.Set) -> Violation | None:
    """Two iterations of a loop that touch one element, at least one of them writing it, if there are such."""
    found = [_Moved.of(event, event, {}, known) for event in events(loop)]
    budget = Violation("the proof that iterations are independent needs too many steps", ())
    by_buffer: dict[Buffer, list[tuple[int, _Access]]] = defaultdict(list)
    for k, moved in enumerate(found):
        for access in _accesses(moved.new):
            by_buffer[access.load.buffer].append((k, access))

    def question() -> Violation | None:
        for accesses in by_buffer.values():
            for (first, x), (second, y) in product(accesses, accesses if any(a.write for _, a in accesses) else ()):
                if first <= second and (x.write or y.write) and not _at_its_own(loop.var, x, y):
                    meeting = _meeting(loop, found[first], found[second], x, y)
                    if meeting is not None:
                        return meeting
        return None

    return pb.within_budget(question, budget, _OPERATIONS)


def _at_its_own(var: Var, x: _Access, y: _Access) -> bool:
    """Whether both accesses name the iteration of a loop on one axis, so that no two iterations touch one element."""
    return any(var.same(a) and var.same(b) for a, b in zip(x.load.indices, y.load.indices, strict=True))


def _meeting(loop: For, first: _Moved, second: _Moved, x: _Access, y: _Access) -> Violation | None:
    pairs, primes = _pairs(first, second, x, y)
    other = primes[loop.var]
    assert isinstance(other, Var)
    pairs = pairs.intersect(pb.symbol(loop.var.name).ne_set(pb.symbol(other.name)))
    if pairs.is_empty():
        return None
    values = dict(_point(pairs, [*first.new.names, *(Var(v.name + "'", v.dtype) for v in second.new.names)]))
    element, name = _element(x.load, values), loop.var.name
    message = f"iterations of `{first.new.text}` and `{second.new.text}` touch one element"
    note = f"for example {name} = {values.get(name)} and {name} = {values.get(other.name)} touch {element}"
    return Violation(message, (note,))


def _pairs(first: _Moved, second: _Moved, x: _Access, y: _Access) -> tuple[isl.Set, dict[Var, Expr]]:
    """Pairs of instances that may touch one element, and the names of the second one's loop variables."""
    primes = _primes(second.new)
    pairs = domain_of(first.new, {}).may.intersect(domain_of(second.new, primes).may).intersect(first.known)
    there = [substitute_expr(i, primes) for i in y.load.indices]
    for a, b in zip(x.load.indices, there, strict=True):
        pa, pc = pb.affine(a), pb.affine(b)
        if pa is not None and pc is not None:
            pairs = pairs.intersect(pa.eq_set(pc))
    return pairs.intersect(_shared(first, second, x.load.buffer, primes)), primes


def _reversed(first: _Moved, second: _Moved, x: _Access, y: _Access) -> Violation | None:
    pairs, primes = _pairs(first, second, x, y)
    if pairs.is_empty():
        return None
    old = (_times(first.old.time, first.back), _times(second.old.time, _then(second.back, primes)))
    new = (_times(first.new.time, {}), _times(second.new.time, primes))
    was_first, _ = pb.in_order(zip(*old, strict=False))
    was_second, _ = pb.in_order(zip(old[1], old[0], strict=False))
    now_first, at_once = pb.in_order(zip(*new, strict=False))
    now_second, _ = pb.in_order(zip(new[1], new[0], strict=False))
    bad = was_first.intersect(now_second.union(at_once))
    bad = bad.union(was_second.intersect(now_first.union(at_once))).intersect(pairs)
    if bad.is_empty():
        return None
    return _order_violation(first, second, x, bad)


def _order_violation(first: _Moved, second: _Moved, x: _Access, bad: isl.Set) -> Violation:
    names = [*first.new.names, *(Var(v.name + "'", v.dtype) for v in second.new.names)]
    values = dict(_point(bad, names))
    mine = ", ".join(f"{v.name} = {values[v.name]}" for v in first.new.names if v.name in values)
    theirs = ", ".join(f"{v.name} = {values[v.name + chr(39)]}" for v in second.new.names if v.name + "'" in values)
    element = _element(x.load, values)
    message = f"`{first.new.text}` and `{second.new.text}` would touch {element} in the other order"
    note = f"for example at {mine or 'its one instance'} and at {theirs or 'its one instance'}"
    return Violation(message, (note,))


def _element(load: Load, values: Mapping[str, int]) -> str:
    region = pb.point(load.indices)
    if region is None:
        return f"an element of {load.buffer.name}"
    for name, value in values.items():
        region = region.intersect_params(pb.symbol(name).eq_set(pb.number(value)))
    found = pb.sample(region)
    return load.buffer.name if found is None else f"{load.buffer.name}[{', '.join(map(str, found[1]))}]"


def _point(region: isl.Set, names: Sequence[Var]) -> Iterator[tuple[str, int]]:
    """Values of variables at one member of a params set."""
    found = pb.sample(region)
    assert found is not None
    for var in names:
        if var.name in found[0]:
            yield var.name, found[0][var.name]


def _witness(region: isl.Set, names: Sequence[Var]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in _point(region, names))


def _shared(first: _Moved, second: _Moved, buffer: Buffer, primes: Mapping[Var, Expr]) -> isl.Set:
    """Pairs of instances that see one copy of a buffer, in the old program or in the new one."""
    if buffer not in first.new.private and buffer not in first.old.private:
        return pb.always()
    old = _agree(first.old, buffer, first.back, _then(second.back, primes))
    return old.union(_agree(first.new, buffer, {}, primes))


def _agree(event: Event, buffer: Buffer, left: Mapping[Var, Expr], right: Mapping[Var, Expr]) -> isl.Set:
    result = pb.always()
    for var in event.names[: event.private.get(buffer, 0)]:
        x, y = pb.affine(substitute_expr(var, left)), pb.affine(substitute_expr(var, right))
        if x is not None and y is not None:
            result = result.intersect(x.eq_set(y))
    return result


def _then(back: Mapping[Var, Expr], primes: Mapping[Var, Expr]) -> dict[Var, Expr]:
    return {var: substitute_expr(value, primes) for var, value in back.items()}


def _times(time: Time, values: Mapping[Var, Expr]) -> list[isl.PwAff]:
    out: list[isl.PwAff] = []
    for part in time:
        value = pb.number(part) if isinstance(part, int) else pb.affine(substitute_expr(part, values))
        assert value is not None, "loop variables in terms of others are affine here"
        out.append(value)
    return out
