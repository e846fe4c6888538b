"""What the statements of a function that calls others do to its buffers, and what these hold before each of them.

Data flow from top to bottom over whole statements: regions read and written, contents, and elements that are not
arbitrary. Contents are numbers and functions of the place, which may read other buffers, and bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import islpy as isl
from msgspec import Struct, field

from ir.analysis import contents as held
from ir.analysis.contents import Contents, Regions, Value
from ir.analysis.definedness import claimed_arbitrary, writes_defined
from ir.analysis.effects import EffectAnalysis, Effects, get
from ir.analysis.invariants import keeps
from ir.dtypes import DType
from ir.floats import Floats
from ir.instructions import is_instruction
from ir.nodes import (
    Alloc,
    Binary,
    Buffer,
    CallStmt,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    const,
)
from ir.presburger import sets as pb
from ir.presburger.facts import learned, promised
from ir.program.blocks import lower_blocks, lower_statement
from ir.program.calls import calls_in, size_arguments, without_calls
from ir.program.forms import with_buffers_in
from ir.program.scopes import used
from ir.sections import passed
from ir.traverse import (
    all_exprs,
    bound_var,
    buffers_written,
    free_vars,
    has_loads,
    has_undef,
    loads,
    reads,
    shape_vars,
    stmt_exprs,
    substitute_expr,
    walk,
    walk_expr,
)

_INSIDE = "'"  # marks names of callees


def items(stmt: Stmt) -> Iterator[Stmt]:
    """The statements of a function in order, without the names and allocations around them."""
    match stmt:
        case Seq(stmts=stmts):
            for inner in stmts:
                yield from items(inner)
        case Alloc(body=body):
            yield from items(body)
        case Let(value=value, body=body):
            yield Evaluate(value)
            yield from items(body)
        case _:
            yield stmt


class Use(Struct, frozen=True):
    """What one statement does to one buffer: regions read, written possibly and certainly."""

    reads: isl.Set
    may: isl.Set
    must: isl.Set


class Done(Struct, frozen=True):
    """What one statement does: to each buffer, what it leaves in them, and whether that is not arbitrary if nothing
    is that it reads."""

    uses: dict[Buffer, Use]
    leaves: Contents = field(default_factory=lambda: dict[tuple[Buffer, Value], isl.Set]())
    defines: bool = False


class Names(Struct, frozen=True):
    """What the scalars and sizes of a callee are at a call, where that is a function of names that stay what they are
    in the caller, of which `known` holds."""

    given: Mapping[Var, Expr]
    known: isl.Set

    def outward(self, region: isl.Set) -> isl.Set:
        """A region of a callee in names of the caller; names that stand for nothing there have a mark."""
        if not pb.variables(region):
            return region
        region = pb.rename(region, {name: name + _INSIDE for name in pb.dimensions(region)})
        return pb.forget(region.intersect_params(self._meaning()), {v.name + _INSIDE for v in self._meant()})

    def inward(self, region: isl.Set) -> isl.Set:
        """What is in a region of the caller whatever its names are, in names of the callee."""
        if not pb.variables(region):
            return region
        outside = region.complement().intersect_params(self._meaning().intersect(self.known))
        outside = pb.forget(outside, {n for n in pb.dimensions(outside) if not n.endswith(_INSIDE)})
        return pb.rename(outside.complement(), {v.name + _INSIDE: v.name for v in self.given})

    def _meant(self) -> dict[Var, isl.PwAff]:
        meanings = {v: pb.affine(e) for v, e in self.given.items() if v.dtype.is_integer}
        return {v: meaning for v, meaning in meanings.items() if meaning is not None}

    def _meaning(self) -> isl.Set:
        found = pb.always()
        for var, meaning in self._meant().items():
            found = found.intersect(pb.symbol(var.name + _INSIDE).eq_set(meaning))
        return found


class Flow(Struct):
    """Statements in order, those of a function or inside of one of these, what each does, and what buffers hold, and
    which elements are not arbitrary, `before` each."""

    entry: PrimFunc
    floats: Floats
    body: Stmt
    items: Sequence[Stmt] = ()
    done: list[Done] = field(default_factory=lambda: list[Done]())
    before: list[Contents] = field(default_factory=lambda: list[Contents]())
    defined: list[Regions] = field(default_factory=lambda: list[Regions]())
    effects: dict[int, tuple[Effects, bool]] = field(default_factory=lambda: dict[int, tuple[Effects, bool]]())
    decided: dict[int, tuple[PrimFunc, frozenset[Buffer]]] = field(
        default_factory=lambda: dict[int, tuple[PrimFunc, frozenset[Buffer]]]()
    )
    followed: bool = False
    steady: frozenset[Var] = frozenset()  # names that stay what they are
    known: isl.Set = field(default_factory=pb.always)  # what is promised of these

    @staticmethod
    def of_function(entry: PrimFunc, floats: Floats) -> Flow:
        """The statements of a function."""
        bound = {v.name for s in walk(entry.body) for v in bound_var(s)}
        names = frozenset(v for v in (*entry.scalars, *shape_vars(entry)) if v.name not in bound)
        flow = Flow(entry, floats, entry.body, steady=names, known=promised(entry))
        # as functions contents are worth knowing where they decide something
        flow.followed = any(flow.deciding(call.callee) for call in calls_in(entry.body))
        flow._follow({}, flow._given())
        return flow

    def inside(self, at: int, part: Stmt) -> Flow:
        """What runs inside of a statement: in a loop for one iteration, before which others may have run."""
        item = self.items[at]
        changing = buffers_written(item) if isinstance(item, For) else set[Buffer]()
        bound = {v.name for s in walk(part) for v in bound_var(s)}
        steady = self.steady | ({item.var} if isinstance(item, For) and item.var.name not in bound else set[Var]())
        known = self.known.intersect(learned(item, part))
        flow = Flow(
            self.entry, self.floats, part, effects=self.effects, decided=self.decided, followed=self.followed,
            steady=frozenset(steady), known=known,
        )  # fmt: skip
        start = {
            (b, v): r for (b, v), r in self.before[at].items()
            if b not in changing and held.reads(v).isdisjoint(changing)
        }  # fmt: skip
        flow._follow(start, {b: r for b, r in self.defined[at].items() if b not in changing})
        return flow

    def _follow(self, known: Contents, defined: Regions) -> None:
        """Go through the statements, before which this is known."""
        self.items = [*items(self.body)]
        self.done = [self.of(s) for s in self.items]
        for done in self.done:
            self.before.append(known)
            self.defined.append(defined)
            sound = done.defines and all(
                _within(use.reads.intersect(pb.box(b.shape)), get(defined, b)) for b, use in done.uses.items()
            )
            known = self._after(known, done, sound=sound)
            changed = {b: _changed(get(defined, b), use, sound=sound) for b, use in done.uses.items()}
            defined = {**defined, **changed}

    def _given(self) -> Regions:
        """The elements of parameters that callers do not leave arbitrary, and say so."""
        claimed = claimed_arbitrary(without_calls(self.entry).body)
        return {b: pb.box(b.shape) for b in self.entry.buffers if b not in claimed}

    def _after(self, known: Contents, done: Done, *, sound: bool) -> Contents:
        """What is known after a statement. Where what it reads may be arbitrary, so may be what it leaves that is no
        number."""

        def new() -> Contents:
            written = {b: use.may for b, use in done.uses.items() if not is_nothing(use.may)}
            left = {(b, v): r for (b, v), r in done.leaves.items() if sound or b not in written or isinstance(v, Const)}
            return held.joined(held.without(known, written), left, *(bounds_of(left) if self.followed else ()))

        return pb.within_budget(new, dict[tuple[Buffer, Value], isl.Set]())

    # What statements do ----------------------------------------------------------------------------------------------

    def of(self, stmt: Stmt) -> Done:
        """What a statement does."""
        if isinstance(stmt, CallStmt):
            pairs = [(param, section.buffer) for param, section in passed(stmt)]
            plain = all(s.is_whole for _, s in passed(stmt)) and not any(map(has_loads, stmt_exprs(stmt)))
            if plain and len({b for _, b in pairs}) == len(pairs):
                return self._called(stmt, dict(pairs))
            whole = {b: pb.whole(len(b.shape)) for b in used(stmt)}
            return Done({b: Use(all, all, pb.nothing(len(b.shape))) for b, all in whole.items()})
        if next(calls_in(stmt), None) is None and all(not isinstance(s, If) for s in walk(stmt)):
            found = EffectAnalysis(floats=self.floats).of(lower_statement(stmt))
            left = held.constants(found.established)
            numbers: Contents = {(b, v): r for b, v, r in left if v.value == v.value and not self.strange(r)}
            return Done({b: self._use(found, b) for b in used(stmt)}, numbers, writes_defined(stmt))
        return Done({b: self.within(stmt, b) for b in used(stmt)})

    def deciding(self, func: PrimFunc) -> frozenset[Buffer]:
        """Parameters on whose elements it hangs what a function does: in conditions, in places, between limits."""
        if id(func) not in self.decided:
            self.decided[id(func)] = func, _deciding(func)  # held, so that no other one gets its number
        return self.decided[id(func)][1]

    def _called(self, call: CallStmt, places: Mapping[Buffer, Buffer]) -> Done:
        """What a call does that takes all of each of some buffers."""
        effects, defines = self._effects(call.callee)
        names = self.names(call)
        uses = {buffer: self._use(effects, param, names.outward) for param, buffer in places.items()}
        leaves: Contents = {}
        for (param, value), inside in effects.established.items():
            if param in places and self._is_telling(param, value):
                region = names.outward(inside)
                value = substitute_expr(with_buffers_in(value, places), names.given)
                steady = all(v in self.steady or v.name.startswith("$") for v in free_vars(value))
                if steady and not self.strange(region):
                    leaves[places[param], value] = region
        return Done(uses, leaves, defines and not any(has_undef(a) for a in call.args if isinstance(a, Expr)))

    def _use(self, effects: Effects, buffer: Buffer, outward: Callable[[isl.Set], isl.Set] = lambda r: r) -> Use:
        """What effects say of a buffer, in names that stay what they are, whatever others are."""

        def known() -> Use:
            reads, may, must = (outward(get(r, buffer)) for r in (effects.reads, effects.may, effects.must))
            reads, may = (pb.forget(region, self.strange(region)) for region in (reads, may))
            return Use(reads, may, pb.nothing(len(buffer.shape)) if self.strange(must) else must)

        everything, nothing = pb.whole(len(buffer.shape)), pb.nothing(len(buffer.shape))
        return pb.within_budget(known, Use(everything, everything, nothing))

    def strange(self, region: isl.Set) -> set[str]:
        """The names that a region depends on and that do not stay what they are in the function."""
        return pb.variables(region) - {v.name for v in self.steady}

    def _effects(self, func: PrimFunc) -> tuple[Effects, bool]:
        """Effects of a function, and whether what it leaves is not arbitrary if nothing is that it reads."""
        if id(func) not in self.effects:
            plain = lower_blocks(func)
            inside = EffectAnalysis()
            local = [s for s in walk(plain.body) if isinstance(s, Alloc)]
            defines = writes_defined(plain.body) and all(
                is_nothing(get(inside.of(s.body).reads, s.buffer)) for s in local
            )
            followed = func.buffers if self.followed and not is_instruction(func) else ()
            defined = [*func.buffers, *(s.buffer for s in local)] if defines else ()
            self.effects[id(func)] = (
                EffectAnalysis(followed=followed, defined=defined, floats=self.floats).of(plain.body),
                defines,
            )
        return self.effects[id(func)]

    def names(self, call: CallStmt) -> Names:
        """What a callee's scalars and sizes are at a call."""
        given = {
            v: e for v, e in size_arguments(call).items()
            if free_vars(e) <= self.steady and not (has_loads(e) or has_undef(e))
        }  # fmt: skip
        return Names(given, self.known)

    def _is_telling(self, buffer: Buffer, value: Value) -> bool:
        """Whether a value is a number, a condition, or a function that equals itself: no float that may be NaN."""
        if held.says_defined(buffer, value) or has_undef(value):
            return False
        if isinstance(value, Const):
            return not (isinstance(value.value, float) and math.isnan(value.value))
        return held.is_condition(buffer, value) or not buffer.dtype.is_float or Floats.FINITE in self.floats

    def within(self, stmt: Stmt, buffer: Buffer) -> Use:
        """What all parts of a loop or branch do to a buffer, which perhaps none of them does."""
        rank = len(buffer.shape)
        read = may = pb.nothing(rank)
        for inner in walk(stmt):
            if isinstance(inner, CallStmt):
                use = self.of(inner).uses.get(buffer)
                if use is not None:
                    read, may = read.union(use.reads), may.union(use.may)
            elif reads(buffer, *stmt_exprs(inner)):
                read = pb.whole(rank)
            if isinstance(inner, Store) and inner.buffer == buffer:
                may = pb.whole(rank)
        return Use(read, may, pb.nothing(rank))


def _changed(defined: isl.Set, use: Use, *, sound: bool) -> isl.Set:
    """The elements of a buffer that are not arbitrary after a statement."""

    def after() -> isl.Set:
        left = defined.subtract(use.may)
        return defined.union(use.must) if sound else left

    return pb.within_budget(after, pb.nothing(defined.dim(isl.dim_type.set)))


def _within(reads: isl.Set, defined: isl.Set) -> bool:
    return pb.within_budget(lambda: reads.is_subset(defined), False)


def is_nothing(region: isl.Set) -> bool:
    """Whether a region is known to be empty."""
    return pb.within_budget(region.is_empty, False)


# Bounds and conditions -----------------------------------------------------------------------------------------------


def bounds_of(left: Contents) -> Iterator[Contents]:
    """Numbers that values lie above or below by their form: of `max(A[i], 0)` that it is not negative.

    What the values read must not be arbitrary.
    """
    for (buffer, value), region in left.items():
        if held.is_function(value) and not held.is_condition(buffer, value) and has_loads(value):
            place = tuple(held.coordinate(k, DType.INT32) for k in range(len(buffer.shape)))
            store, element = Store(buffer, place, value), Load(buffer, place)
            for number in _numbers_in(value):
                for side in ("ge", "le"):
                    if keeps(store, buffer, side, number, held.reads(value)):
                        yield {(buffer, Binary(side, element, number)): region}


def _numbers_in(value: Expr) -> set[Const]:
    """Numbers that may bound a value: those in it, and zero."""
    return {const(0, value.dtype), *(e for e in walk_expr(value) if isinstance(e, Const) and e.dtype is value.dtype)}


def is_guarded(func: PrimFunc) -> bool:
    """Whether a function has branches or choices."""
    return any(isinstance(s, If) for s in walk(func.body)) or any(isinstance(e, Select) for e in all_exprs(func.body))


def _deciding(func: PrimFunc) -> frozenset[Buffer]:
    stmts = (e for s in walk(func.body) for e in _deciding_in(s))
    exprs = (part for e in all_exprs(func.body) for part in _in_question(e))
    return frozenset(load.buffer for e in (*stmts, *exprs) for load in loads(e)).intersection(func.buffers)


def _deciding_in(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement that decide whether, where or how often it runs."""
    match stmt:
        case If(cond=cond):
            return (cond,)
        case For(start=start, extent=extent):
            return start, extent
        case Store(indices=indices):
            return indices
        case _:
            return ()


def _in_question(expr: Expr) -> tuple[Expr, ...]:
    """The operands whose value decides which one, or what place, is taken."""
    match expr:
        case Select(cond=cond):
            return (cond,)
        case Load(indices=indices):
            return indices
        case Binary(op="min" | "max", lhs=a, rhs=b):
            return a, b
        case Unary(op="abs", operand=a):
            return (a,)
        case _:
            return ()
