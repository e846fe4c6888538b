"""What a statement reads and writes, and what it establishes, as exact regions with their predicate.

Regions are isl sets over buffer coordinates whose parameters are the variables free in the statement. `reads` and `may`
over-approximate, `must` and `established` under-approximate, so every use errs on the safe side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import assert_never, cast

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis import contents as held
from ir.analysis.assumptions import Spared, assumed_values, beyond_sets, open_bounds, spared, unconditional
from ir.analysis.conditions import negate
from ir.analysis.contents import Contents, Regions, Value
from ir.analysis.definedness import is_defined
from ir.floats import Floats
from ir.interning import Interned
from ir.nodes import (
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
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
    Undef,
    Var,
)
from ir.presburger import sets as pb
from ir.program.forms import Form, Forms, with_buffers_in
from ir.traverse import (
    all_exprs,
    buffers_written,
    children,
    free_vars,
    has_undef,
    loads,
    node_count,
    stmt_children,
    substitute_expr,
    walk,
)

_MAX_PIECES = 32  # regions with more pieces make every later question slow


class Effects(Struct):
    """Effects of one statement.

    `reads`: locations whose value on entry may matter. `may`, `must`: locations written possibly, certainly.
    `established`: contents that hold on exit whatever held on entry; an `Undef` value says "arbitrary".
    `holds`: a params set that holds on exit because an assumption or assertion inside said so.
    """

    reads: Regions = field(default_factory=dict)
    may: Regions = field(default_factory=dict)
    must: Regions = field(default_factory=dict)
    established: Contents = field(default_factory=dict)
    holds: isl.Set = field(default_factory=pb.always)

    @property
    def size(self) -> int:
        """How many regions these are."""
        return len(self.reads) + len(self.may) + len(self.must) + len(self.established)

    def renamed(self, named: Mapping[Buffer, Buffer]) -> Effects:
        """Those of the same statement with other buffers."""
        reads, may, must = ({named[b]: r for b, r in rs.items()} for rs in (self.reads, self.may, self.must))
        told = {(named[b], with_buffers_in(v, named)): r for (b, v), r in self.established.items()}
        return Effects(reads, may, must, told, self.holds)


def get(regions: Regions, buffer: Buffer) -> isl.Set:
    """The region of a buffer, empty if absent."""
    found = regions.get(buffer)
    return pb.nothing(len(buffer.shape)) if found is None else found


def unite(*parts: Regions) -> Regions:
    """Union, buffer by buffer."""
    out: Regions = {}
    for part in parts:
        for buffer, region in part.items():
            out[buffer] = out[buffer].union(region) if buffer in out else region
    return out


def subtract(left: Regions, right: Regions) -> Regions:
    """Difference, buffer by buffer."""
    return {b: r.subtract(right[b]) if b in right else r for b, r in left.items()}


def overlapping(left: Regions, right: Regions) -> Regions:
    """Those that have some location in common with the other one of their buffer."""
    return {b: r for b, r in left.items() if b in right and not r.is_disjoint(right[b])}


def restrict(regions: Regions, params: isl.Set) -> Regions:
    """Regions where a condition on variables holds."""
    return {b: r.intersect_params(params) for b, r in regions.items()}


def meeting(one: Regions, other: Regions) -> isl.Set:
    """Where two have some location in common, as a params set."""
    result = pb.never()
    for buffer, region in one.items():
        if buffer in other:
            result = result.union(region.intersect(other[buffer]).params())
    return result


def clash(a: Effects, b: Effects) -> isl.Set:
    """Where two statements may not change places: one touches what the other writes. A params set."""
    return meeting(a.may, b.may).union(meeting(a.may, b.reads)).union(meeting(a.reads, b.may))


class Touching(Struct):
    """Statements that touch a buffer, by the first dimension in which all that they touch has one index, -1 where there
    is none, and by that index."""

    _found: dict[int, dict[int, list[Stmt]]] = field(default_factory=dict[int, dict[int, list[Stmt]]])

    def add(self, stmt: Stmt, region: isl.Set) -> None:
        """Take note of a statement and what it touches."""
        dimension, index = pb.one_index(region)
        self._found.setdefault(dimension, {}).setdefault(index, []).append(stmt)

    def meeting(self, region: isl.Set) -> Iterator[Stmt]:
        """Those that may touch something in a region: of many that touch a row each, one."""
        dimension, index = pb.one_index(region)
        for other, by_index in self._found.items():
            for stmts in (by_index.get(index, ()),) if other == dimension else by_index.values():
                yield from stmts


def _apply(regions: Regions, fn: Callable[[isl.Set], isl.Set]) -> Regions:
    return {b: fn(r) for b, r in regions.items()}


def read_regions(expr: Expr, where: isl.Set | None = None) -> Regions:
    """Locations an expression may load, with the conditions of the selections around each load."""
    reach = pb.always() if where is None else where
    match expr:
        case Load(buffer=buffer, indices=indices):
            spot = pb.point(indices)
            here = pb.whole(len(indices)) if spot is None else spot
            parts = [read_regions(i, reach) for i in indices]
            return unite(*parts, {buffer: here.intersect_params(reach)})
        case Select(cond=c, then=a, other=b):
            cond = pb.condition(c)
            yes, no = reach.intersect(cond.may), reach.intersect(cond.negated().may)
            return unite(read_regions(c, reach), read_regions(a, yes), read_regions(b, no))
        case Binary(op="and" | "or" as op, lhs=a, rhs=b):
            cond = pb.condition(a) if op == "and" else pb.condition(a).negated()
            return unite(read_regions(a, reach), read_regions(b, reach.intersect(cond.may)))
        case Binary(op="eq", lhs=Load(), rhs=Undef()) | Binary(op="eq", lhs=Undef(), rhs=Load()):
            return {}  # `A[i] == undef` permits reading A[i]; it does not look at the value
        case _:
            return unite(*(read_regions(c, reach) for c in children(expr)))


class EffectAnalysis:
    """Effects by statement, those of equal statements worked out once."""

    def __init__(
        self,
        over: Callable[[], bool] = lambda: False,
        followed: Collection[Buffer] = (),
        defined: Collection[Buffer] = (),
        floats: Floats = Floats.STRICT,
    ) -> None:
        """Once there is no time left (`over`), what has not been worked out yet may do anything.

        Of `followed` buffers, contents are known as functions of the place; of others, as constants only. `defined`
        ones hold nothing arbitrary. By the policy on `floats` they are numbers, so that they have bounds, and equal
        ones are one value, so that assumptions on them say which.
        """
        self._over = over
        self._followed = frozenset(b.name for b in followed)  # as rules change the shape of some
        self._defined = frozenset(defined)
        self._floats = floats
        self._scope: dict[str, Var] = {}  # variables by name; a name of two dtypes is left out
        self.interned = Interned()
        self._known: dict[int, Effects] = {}
        self._spared: dict[int, dict[Buffer, Spared]] = {}
        self._forms = Forms()
        self._firsts: dict[Hashable, tuple[Stmt, tuple[Buffer, ...]]] = {}  # loops, of each form one

    def of(self, stmt: Stmt) -> Effects:
        """Effects of a statement without blocks."""
        stmt = self.interned.of(stmt)
        found = self._known.get(id(stmt))
        if found is None:
            if self._over():
                return _unknown(stmt)
            found = self._as_another(stmt) if isinstance(stmt, For) else None
            self._known[id(stmt)] = found = self._worked_out(stmt) if found is None else found
        return found

    def _worked_out(self, stmt: Stmt) -> Effects:
        regions = sum(self.of(part).size for part in stmt_children(stmt))  # the parts have budgets of their own
        operations = pb.MAX_OPERATIONS + regions * pb.REGION_OPERATIONS
        effects = pb.within_budget(lambda: _simple(self._compute(stmt)), None, operations)
        return _unknown(stmt) if effects is None else effects

    def form(self, stmt: Stmt) -> Form:
        """What a statement is up to its buffers."""
        return self._forms.of(self.interned.of(stmt))

    def _as_another(self, stmt: Stmt) -> Effects | None:
        """Effects of a loop that is equal to an earlier one but for its buffers."""
        form = self.form(stmt)
        alike = tuple((self.follows(b), b in self._defined) for b in form.buffers)
        first, buffers = self._firsts.setdefault((form.key, alike), (stmt, form.buffers))
        if first is stmt:
            return None
        return self.of(first).renamed(dict(zip(buffers, form.buffers, strict=True)))

    def _compute(self, stmt: Stmt) -> Effects:
        match cast(AnyStmt, stmt):
            case Store() as store:
                self._meet(*store.indices, store.value)
                return self._store(store)
            case Seq(stmts=stmts):
                result = Effects()
                for part in stmts:
                    kept = self.kept(result.established, part, pb.always())
                    result = then(result, self.of(part))
                    result.established = held.joined(result.established, kept)
                return result
            case If(cond=cond, then=a, other=b) as branch:
                self._meet(cond)
                promise = unconditional(branch)
                if promise is not None:
                    return self.of(promise)
                found = _branch(cond, self.of(a), self.of(b))
                if beyond_sets(cond):
                    arms = ((negate(cond), a), (cond, b))
                    told = (self._told(held.unless(c, self.of(arm).established, arm)) for c, arm in arms)
                    found.established = held.joined(found.established, *told)
                return found
            case For() as loop:
                self._meet(loop.var, loop.start, loop.extent)
                promise = unconditional(loop)
                if promise is not None:
                    return self.of(promise)
                found = _loop(loop, self.of(loop.body), self._scope)
                cond = open_bounds(loop)
                if cond is not None:
                    told = self._in_any_iteration(loop, cond)
                    found.established = held.joined(found.established, told)
                flat = held.flattened(loop)
                if flat is not None:
                    found.established = held.joined(found.established, self.of(flat).established)
                return found
            case Let(var=var, value=value, body=body):
                return _let(var, value, self.of(body), self._defined)
            case Alloc(buffer=buffer, body=body):
                return _alloc(buffer, self.of(body))
            case Assume(cond=cond):
                self._meet(cond)
                return Effects(reads=read_regions(cond), established=self.assumed(cond), holds=pb.condition(cond).may)
            case Assert(cond=cond):
                return Effects(reads=read_regions(cond), holds=pb.condition(cond).may)
            case Evaluate(value=value):
                return Effects(reads=read_regions(value))
            case Block(axes=(), init=None, body=body):
                return self.of(body)
            case Block():
                raise ValueError("axes of blocks are lowered before effects are analysed")
            case other:
                assert_never(other)

    def follows(self, buffer: Buffer) -> bool:
        """Whether contents of a buffer are known as functions of the place."""
        return buffer.name in self._followed

    def bounded(self, known: Contents, stmt: Stmt, domain: isl.Set) -> Contents:
        """Bounds that a statement keeps, of numbers that were known before, where variables are in a domain."""
        numbers = Floats.FINITE in self._floats
        written = {b for b in self.of(stmt).may if b.name in self._followed and (numbers or not b.dtype.is_float)}
        return held.bounded(known, stmt, written, self._defined, domain)

    def kept(self, known: Contents, stmt: Stmt, domain: isl.Set) -> Contents:
        """What a statement leaves true of what it writes, of what was known before: bounds, and values of elements
        that it stores to under conditions on data."""
        told = [self.bounded(known, stmt, domain)]
        written = self.of(stmt).may
        for (buffer, value), region in known.items():
            if buffer not in written or held.is_condition(buffer, value) or has_undef(value):
                continue
            gate = self._gates(stmt).get(buffer)
            if gate is None or (isinstance(value, Const) and value.value != value.value):
                continue
            promise = gate.promise(value) if written.keys() & held.reads(value) <= {buffer} else None
            if promise is not None:
                claims = self.of(promise).established
                told.append({(b, v): r.intersect(region) for (b, v), r in claims.items() if b == buffer})
        return held.joined(*told)

    def _gates(self, stmt: Stmt) -> dict[Buffer, Spared]:
        stmt = self.interned.of(stmt)
        if id(stmt) not in self._spared:
            self._spared[id(stmt)] = spared(stmt)
        return self._spared[id(stmt)]

    def assumed(self, cond: Expr) -> Contents:
        """Buffer contents that a true condition fixes."""
        return held.joined(*({(b, v): r} for (b, v), r in assumed_values(cond) if self._tells(b, v)))

    def _in_any_iteration(self, loop: For, cond: Expr) -> Contents:
        """What a loop leaves of which sets do not say which iterations run: for all that may, unless they do not."""
        body, sets = self.of(loop.body), LoopSets.of(loop)
        told = self._told(held.unless(negate(cond), body.established, loop.body))
        return established_by_loop(replace(sets, must=sets.may), loop.var, body.may, told, self._scope)

    def _told(self, contents: Contents) -> Contents:
        """Contents, as far as functions of the place are known of the buffers."""
        return {(b, v): r for (b, v), r in contents.items() if b.name in self._followed or not held.is_function(v)}

    def _tells(self, buffer: Buffer, value: Value) -> bool:
        """Whether to know that an element equals a value is to know the element: zeros are equal and have signs."""
        exact = buffer.dtype.is_float and Floats.NO_SIGNED_ZEROS not in self._floats
        if exact and not held.is_condition(buffer, value):
            return isinstance(value, Undef) or (isinstance(value, Const) and value.value != 0.0)
        return buffer.name in self._followed or not held.is_function(value)

    @property
    def scalars(self) -> Iterator[Var]:
        """The variables that no loop and no binding of a search gives a value, of all that was looked at so far."""
        return (var for name, var in self._scope.items() if var.name == name and not name.startswith("%"))

    def _meet(self, *exprs: Expr) -> None:
        """Remember the variables of expressions by name."""
        for var in (v for e in exprs for v in free_vars(e)):
            known = self._scope.setdefault(var.name, var)
            if known.dtype is not var.dtype:
                self._scope[var.name] = Var("", var.dtype)

    def _store(self, stmt: Store) -> Effects:
        spot = pb.point(stmt.indices)
        reads = unite(*(read_regions(e) for e in (*stmt.indices, stmt.value)))
        if spot is None:
            return Effects(reads=reads, may={stmt.buffer: pb.whole(len(stmt.indices))})
        told = stmt.buffer.name in self._followed or not held.is_function(stmt.value)
        known = held.of_store(stmt, spot) if told else {}
        if isinstance(stmt.value, Select):
            known = known | held.of_choice(stmt, spot)
        return Effects(reads=reads, may={stmt.buffer: spot}, must={stmt.buffer: spot}, established=known)


def _simple(effects: Effects) -> Effects:
    """Effects whose regions have few pieces: hulls of those that over-approximate, nothing for the others."""

    def hull(region: isl.Set) -> isl.Set:
        if 1 < region.n_basic_set() <= _MAX_PIECES:  # such as even and odd columns
            around = pb.hull(region)
            return around if around.is_subset(region) else region
        if region.n_basic_set() <= _MAX_PIECES:
            return region
        region = region.coalesce()
        return region if region.n_basic_set() <= _MAX_PIECES else pb.hull(region)

    def few(region: isl.Set) -> isl.Set:
        region = region if region.n_basic_set() <= _MAX_PIECES else region.coalesce()
        return region if region.n_basic_set() <= _MAX_PIECES else pb.nothing(region.dim(isl.dim_type.set))

    holds = effects.holds if effects.holds.n_basic_set() <= _MAX_PIECES else pb.always()
    established = {key: few(region) for key, region in effects.established.items()}
    return Effects(
        _apply(effects.reads, hull), _apply(effects.may, hull), _apply(effects.must, few), established, holds
    )


def _unknown(stmt: Stmt) -> Effects:
    """Effects of which only the buffers are known."""
    reads = {e.buffer: pb.whole(len(e.indices)) for e in all_exprs(stmt) if isinstance(e, Load)}
    local = {s.buffer for s in walk(stmt) if isinstance(s, Alloc)}
    may = {b: pb.whole(len(b.shape)) for b in buffers_written(stmt)}
    seen, written = ({b: r for b, r in regions.items() if b not in local} for regions in (reads, may))
    return Effects(reads=seen, may=written)


def then(first: Effects, second: Effects) -> Effects:
    """Effects of `first; second`."""
    return Effects(
        reads=unite(first.reads, subtract(second.reads, first.must)),
        may=unite(first.may, second.may),
        must=unite(first.must, second.must),
        established=after(first.established, second),
        holds=first.holds.intersect(second.holds),
    )


def after(values: Contents, effects: Effects) -> Contents:
    """What is known of buffers once a statement has run: what it leaves alone, and what it establishes."""
    return held.joined(held.without(values, effects.may), effects.established)


def _branch(cond: Expr, yes: Effects, no: Effects) -> Effects:
    holds = pb.condition(cond)
    fails = holds.negated()
    must = unite(restrict(yes.must, holds.must), restrict(no.must, fails.must))
    both = {b: yes.must[b].intersect(no.must[b]) for b in yes.must if b in no.must}
    established = held.joined(
        *(
            {key: region.intersect_params(where) for key, region in part.established.items()}
            for part, where in ((yes, holds.must), (no, fails.must))
        )
    )
    return Effects(
        reads=unite(read_regions(cond), restrict(yes.reads, holds.may), restrict(no.reads, fails.may)),
        may=unite(restrict(yes.may, holds.may), restrict(no.may, fails.may)),
        must=unite(must, both),
        established=established,
        holds=_either_holds(yes.holds, fails.may).intersect(_either_holds(no.holds, holds.may)),
    )


def _either_holds(promise: isl.Set, otherwise: isl.Set) -> isl.Set:
    """Union, with nothing promised kept as the universe: isl would keep its pieces, and nests multiply them."""
    return promise if promise.plain_is_universe() else promise.union(otherwise)


class LoopSets(Struct, frozen=True, dict=True):
    """Sets that relate iterations of a loop. `may`/`must` are the domain of `name`; fresh names stand for others.

    What other iterations touch is remembered: it is asked wherever the loop, or one over the same range, is met.
    """

    name: str
    may: isl.Set
    must: isl.Set

    @cached_property
    def _known(self) -> dict[Hashable, tuple[Callable[[isl.Set], isl.Set], isl.Set, isl.Set]]:
        """By the identity of sets, which are kept."""
        return {}

    @staticmethod
    def of(loop: For) -> LoopSets:
        return _loop_sets(loop.var, loop.start, loop.extent)

    def whole(self, regions: Regions, domain: isl.Set) -> Regions:
        """Union over all iterations."""
        return _apply(restrict(regions, domain), lambda r: pb.forget(r, (self.name,)))

    def anywhere(self, regions: Regions, buffers: Collection[Buffer]) -> Regions:
        """Regions, those of some buffers as if the conditions in each iteration held that hold in any of them."""

        def all_alike(region: isl.Set) -> isl.Set:
            return pb.forget(region.intersect_params(self.may), (self.name,))

        return {b: all_alike(r) if b in buffers and pb.depends(r, self.name) else r for b, r in regions.items()}

    def other(self, region: isl.Set, order: isl.Set, domain: isl.Set, stand_in: str) -> isl.Set:
        """Union over the iterations `stand_in` that `order` relates to this one."""
        return self._elsewhere(order, domain, stand_in)(region)

    def others(self, regions: Regions, order: isl.Set, domain: isl.Set, stand_in: str) -> Regions:
        """`other`, buffer by buffer."""
        return _apply(regions, self._elsewhere(order, domain, stand_in)) if regions else {}

    def _elsewhere(self, order: isl.Set, domain: isl.Set, stand_in: str) -> Callable[[isl.Set], isl.Set]:
        key = id(order), id(domain), stand_in
        if key not in self._known:
            self._known[key] = self._union(order, domain, stand_in), order, domain
        return self._known[key][0]

    def _union(self, order: isl.Set, domain: isl.Set, stand_in: str) -> Callable[[isl.Set], isl.Set]:
        related = pb.rename(domain, {self.name: stand_in}).intersect(order)
        known: dict[int, tuple[isl.Set, isl.Set]] = {}

        @cache
        def exist() -> isl.Set:
            return pb.forget(related, (stand_in,))

        def union(region: isl.Set) -> isl.Set:
            if id(region) not in known:
                known[id(region)] = region, computed(region)
            return known[id(region)][1]

        def computed(region: isl.Set) -> isl.Set:
            if not pb.depends(region, self.name):  # all of them say the same: there is one, or none
                return region.intersect_params(exist())
            return pb.forget(pb.rename(region, {self.name: stand_in}).intersect_params(related), (stand_in,))

        return union


@pb.remembered
def _loop_sets(var: Var, start: Expr, extent: Expr) -> LoopSets:
    domain = pb.loop_domain(var, start, extent)
    return LoopSets(var.name, domain.may, domain.must)


def stored_places(stmt: Stmt) -> dict[Buffer, set[tuple[Expr, ...]]]:
    """Of each buffer that a statement stores to, the indices by which it does, if nothing bound inside is in them."""
    bound = {s.var.name for s in walk(stmt) if isinstance(s, (For, Let))}
    found: dict[Buffer, set[tuple[Expr, ...]]] = defaultdict(set)
    for store in walk(stmt):
        if isinstance(store, Store):
            found[store.buffer].add(store.indices)
    return {b: places for b, places in found.items() if not any(_mentions(i, bound) for i in places)}


def within_reach(stmt: Stmt) -> Regions:
    """Where a statement can store, whatever conditions and ranges of loops inside of it are: these may be changed."""
    bound = {s.var.name for s in walk(stmt) if isinstance(s, (For, Let))}
    found: Regions = {}
    for store in walk(stmt):
        if isinstance(store, Store):
            spot = pb.point(store.indices)
            spot = pb.whole(len(store.indices)) if spot is None else pb.forget(spot, bound)
            found[store.buffer] = found[store.buffer].union(spot) if store.buffer in found else spot
    return found


def steady_buffers(loop: For) -> set[Buffer]:
    """The buffers of which each access in a loop names the same element in all iterations, such as accumulators.

    Which iterations come to write one may hang on conditions: to say which have by now takes many pieces.
    """
    bound = {s.var.name for s in walk(loop) if isinstance(s, (For, Let))}
    read = {(e.buffer, e.indices) for e in all_exprs(loop.body) if isinstance(e, Load)}
    return set(stored_places(loop)) - {b for b, indices in read if _mentions(indices, bound)}


def _mentions(indices: Iterable[Expr], names: Collection[str]) -> bool:
    return any(v.name in names for i in indices for v in free_vars(i))


@cache
def before(first: str, second: str) -> isl.Set:
    """`first < second`, as a params set."""
    return pb.symbol(first).lt_set(pb.symbol(second))


@cache
def between(first: str, name: str, last: str) -> isl.Set:
    """`first < name < last`, as a params set."""
    return before(first, name).intersect(before(name, last))


@cache
def later_by(name: str, first: str, steps: int) -> isl.Set:
    """`name = first + steps`, as a params set."""
    return pb.symbol(name).eq_set(pb.symbol(first).add(pb.number(steps)))


def _loop(loop: For, body: Effects, scope: Mapping[str, Var]) -> Effects:
    sets = LoopSets.of(loop)
    name, early = loop.var.name, f"{loop.var.name}'"
    read = {b: r for b, r in body.must.items() if b in body.reads}
    written_before = sets.others(read, before(early, name), sets.must, early)
    entry_reads = unite(read_regions(loop.start), read_regions(loop.extent))
    promised = not body.holds.plain_is_universe()
    holds = pb.forget(sets.must.subtract(body.holds), (name,)).complement() if promised else body.holds
    return Effects(
        reads=unite(entry_reads, sets.whole(subtract(body.reads, written_before), sets.may)),
        may=sets.whole(body.may, sets.may),
        must=sets.whole(body.must, sets.must),
        established=established_by_loop(sets, loop.var, body.may, body.established, scope),
        holds=holds,
    )


def established_by_loop(
    sets: LoopSets, var: Var, may: Regions, established: Contents, scope: Mapping[str, Var]
) -> Contents:
    """Values that some iteration leaves and no later one overwrites with something else.

    First the loop's variable leaves the values, then they are compared: two iterations that store the same expression
    in that variable store different values.
    """
    order = before(sets.name, late := f"{sets.name}'")
    left: list[Contents] = []
    for (buffer, value), region in established.items():
        here = region.intersect_params(sets.must)
        whole = held.closed(value, here, var, scope)
        if whole is not None:
            left.append({(buffer, whole): here})
    out: Contents = {}
    for (buffer, value), region in held.joined(*left).items():
        changed = get(may, buffer).intersect_params(sets.may).subtract(region)
        kept = region.subtract(sets.other(changed, order, sets.may, late))
        read = {b: may[b] for b in held.reads(value) if b in may} if held.is_function(value) else {}
        spoiled = held.touching(value, len(buffer.shape), sets.others(read, order, sets.may, late)) if read else None
        out[buffer, value] = pb.forget(kept if spoiled is None else kept.subtract(spoiled), (sets.name,))
    return out


def _let(var: Var, value: Expr, body: Effects, defined: Collection[Buffer]) -> Effects:
    meaning = pb.affine(value) if var.dtype.is_integer else None
    names = (var.name,)

    def union(region: isl.Set) -> isl.Set:
        if meaning is not None:
            region = region.intersect_params(pb.symbol(var.name).eq_set(meaning))
        return pb.forget(region, names)

    def common(region: isl.Set) -> isl.Set:
        return union(region) if meaning is not None else pb.forget(region.complement(), names).complement()

    return Effects(
        reads=unite(read_regions(value), _apply(body.reads, union)),
        may=_apply(body.may, union),
        must=_apply(body.must, common),
        established=held.joined(*_named(var, value, body, defined, common)),
        holds=union(body.holds),
    )


def _named(
    var: Var, value: Expr, body: Effects, defined: Collection[Buffer], common: Callable[[isl.Set], isl.Set]
) -> Iterator[Contents]:
    """What a body establishes, without the name that was bound around it.

    A name is one value where what it was bound to may be undef, and two readings of that are not: elements are put in
    its place only where they are `defined`, in buffers that the body leaves alone.
    """
    one_value = is_defined(value, defined) and all(load.buffer not in body.may for load in loads(value))
    for (buffer, held_value), region in body.established.items():
        whole = held_value
        if any(v.name == var.name for v in free_vars(held_value)):
            if not one_value:
                continue
            whole = substitute_expr(held_value, {var: value})
            region = region.intersect_params(_inside(value))
            if node_count(whole) > held.MAX_NODES:
                continue
        yield {(buffer, whole): common(region)}


def _inside(value: Expr) -> isl.Set:
    """Where all elements that a value reads are in their buffers, as a params set."""
    result = pb.always()
    for load in loads(value):
        spot = pb.point(load.indices)
        outside = pb.always() if spot is None else spot.subtract(pb.box(load.buffer.shape)).params()
        result = result.subtract(outside)
    return result


def _alloc(buffer: Buffer, body: Effects) -> Effects:
    def drop(regions: Regions) -> Regions:
        if buffer in regions:
            regions = {**regions}
            del regions[buffer]
        return regions

    return Effects(
        reads=drop(body.reads),
        may=drop(body.may),
        must=drop(body.must),
        established={
            (b, v): r for (b, v), r in body.established.items() if b != buffer and buffer not in held.reads(v)
        },
        holds=body.holds,
    )
