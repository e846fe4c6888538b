"""What an iteration of a loop does with values of which only their order is known, for all orders that they may have.

Comparisons, minima, maxima and choices of values that are only handed on depend on nothing else. So an iteration that
keeps some values in order, and inserts one of its own, is known by what it does for each weak order of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, product

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Statement, UpdateOp
from ir.dtypes import DType
from ir.fold import chosen, fold
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Unary, Var, const
from ir.presburger.polynomials import are_apart
from ir.traverse import free_vars, has_loads, loads, map_expr, substitute_expr
from lower.analysis.linear_forms import linear
from lower.nest.normalize import mapped

_MOST = 8  # values that are kept: an iteration runs for twice as many orders with each
_TRIES = 64  # runs to find which place holds the best
_CONDITIONS = 3
_STATEMENTS = 200
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip

Token = tuple[bool, int]  # a value of the iteration's own, or what a place held before, by number
Held = Token | bool


class Insertion(Struct, frozen=True):
    """An iteration that inserts `value` where `conditions` hold: `keys` are the places of what is kept, best first, the
    largest if `op` is max; of equal values, the `last` one comes first."""

    keys: tuple[Load, ...]
    op: UpdateOp
    value: Expr
    last: bool
    conditions: tuple[Expr, ...]


class _UnknownError(Exception):
    """What an iteration does depends on more than an order, or on that of two values whose order is not given."""

    def __init__(self, pair: tuple[Token, Token] | None = None) -> None:
        super().__init__()
        self.pair = pair


class _Order(Struct):
    """An order of values: how good each is by its `rank`; without that, whether the first of some `pairs` is better."""

    better: int  # 1 if larger values are, or -1
    rank: Mapping[Token, int]
    pairs: Mapping[tuple[Token, Token], bool]

    def compare(self, a: Token, b: Token) -> int:
        """Below 0 if the first value is less, 0 if they are equal, above if it is more."""
        if a == b:
            return 0
        if a in self.rank and b in self.rank:
            return self.better * ((self.rank[a] > self.rank[b]) - (self.rank[a] < self.rank[b]))
        if a[0] or b[0]:  # a value of the iteration is the best of all
            if self.rank or (a[0] and b[0]):
                raise _UnknownError
            return self.better if a[0] else -self.better
        if (a, b) in self.pairs:
            return self.better if self.pairs[a, b] else -self.better
        raise _UnknownError((a, b))


def insertion_of(
    step: Sequence[Statement], level: int, state: Iterable[Buffer], loops: frozenset[Var]
) -> Insertion | None:
    """What an iteration inserts into the elements of `state` that it keeps in order; None if it is no such.

    Loops of its statements from a level on are its own.
    """
    written = _written_out(step, level)
    iteration = None if written is None else _Iteration.of(written, frozenset(state), loops)
    if iteration is None:
        return None
    ops: tuple[tuple[UpdateOp, int], ...] = ("max", 1), ("min", -1)
    for op, better in ops:
        for chains in iteration.chains(better):
            last = iteration.inserts(chains, better)
            if last is not None:
                keys = tuple(iteration.places[c] for c in chains[0])
                return Insertion(keys, op, iteration.leaves[iteration.compared[0]], last, iteration.conditions)
    return None


def _written_out(step: Sequence[Statement], level: int) -> list[Statement] | None:
    """The statements of an iteration, with loops of their own from a level on written out; None if these do not say how
    long they are, or there are too many."""
    result: list[Statement] = []
    for loop, part in groupby(step, lambda s: s.loops[level] if len(s.loops) > level else None):
        own = [*part]
        if loop is None:
            result += own
            continue
        low, size = linear(loop.start), linear(loop.extent)
        if not (low.is_const and size.is_const) or size.const > 2 * _MOST:
            return None
        for k in range(size.const):
            written = _written_out(_instances(own, level, {loop.var: const(low.const + k, loop.var.dtype)}), level)
            if written is None or len(result) + len(written) > _STATEMENTS:
                return None
            result += written
    return result


def _instances(part: Sequence[Statement], level: int, at: Mapping[Var, Expr]) -> list[Statement]:
    """Statements of a loop at a level in one of its iterations."""

    def here(e: Expr) -> Expr:
        return map_expr(substitute_expr(e, at), lambda x: chosen(fold(x)))

    inner = dict.fromkeys(o for s in part for o in s.loops[level + 1 :])
    made = {o: replace(o, start=here(o.start), extent=here(o.extent)) for o in inner}
    return [replace(mapped(s, here), loops=(*s.loops[:level], *(made[o] for o in s.loops[level + 1 :]))) for s in part]


class _Iteration:
    """The statements of an iteration, the places of what they leave to the next, and values of its own."""

    def __init__(self, step: Sequence[Statement], state: frozenset[Buffer], places: list[Load]) -> None:
        self.step = step
        self.state = state
        self.stored = {s.buffer for s in step}
        self.places = places
        self.leaves: list[Expr] = []
        self.compared: list[int] = []  # the one of them that is compared with what is kept
        self.tests: list[int] = []  # those that are conditions
        self.begins: list[Held] = []  # what the best place of each chain gets

    @classmethod
    def of(cls, step: Sequence[Statement], state: frozenset[Buffer], loops: frozenset[Var]) -> _Iteration | None:
        """The statements, if all elements that outlive an iteration are known apart."""
        found: list[Load] = []
        for s in step:
            own = [Load(s.buffer, s.store.indices)] if s.buffer in state else []
            for load in (*own, *(r for r in s.reads() if r.buffer in state)):
                if any(has_loads(i) or free_vars(i) & loops for i in load.indices):
                    return None
                found += [] if any(load.same(f) for f in found) else [load]
        apart = all(
            are_apart(a.indices, b.indices) for k, a in enumerate(found) for b in found[:k] if a.buffer == b.buffer
        )
        return cls(step, state, found) if found and apart else None

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """Values that decide whether an iteration does anything."""
        return tuple(self.leaves[t] for t in self.tests)

    def run(self, order: _Order, truth: Mapping[int, bool]) -> list[Held]:
        """What the places hold after an iteration.

        Raises:
            _UnknownError: this depends on more than the order of values.
        """
        held: dict[Load, Held] = {}
        for s in self.step:
            asked = [self._value(g, held, order, truth) for g in s.guards]
            if any(not isinstance(g, bool) for g in asked):
                raise _UnknownError
            if all(asked):
                place = Load(s.buffer, s.store.indices)
                held[self._known(place) if s.buffer in self.state else place] = self._value(
                    s.store.value, held, order, truth
                )
        return [held.get(p, (False, k)) for k, p in enumerate(self.places)]

    def _known(self, load: Load) -> Load:
        return next(p for p in self.places if p.same(load))

    def _value(self, e: Expr, held: Mapping[Load, Held], order: _Order, truth: Mapping[int, bool]) -> Held:
        if not any(load.buffer in self.stored for load in loads(e)):
            return bool(e.value) if isinstance(e, Const) and e.dtype is DType.BOOL else self._leaf(e, truth)

        def value(x: Expr) -> Held:
            return self._value(x, held, order, truth)

        match e:
            case Load():
                return self._load(e, held, truth)
            case Unary(op="not"):
                return not self._test(value(e.operand))
            case Binary(op="and"):
                return self._test(value(e.lhs)) & self._test(value(e.rhs))
            case Binary(op="or"):
                return self._test(value(e.lhs)) | self._test(value(e.rhs))
            case Select():
                return value(e.then if self._test(value(e.cond)) else e.other)
            case Binary(op="min" | "max" as op):
                a, b = value(e.lhs), value(e.rhs)
                return a if (self._compare(a, b, order) > 0) == (op == "max") else b
            case Binary(op=op) if op in _HOLDS:
                return _HOLDS[op](self._compare(value(e.lhs), value(e.rhs), order), 0)
            case _:
                return self._leaf(map_expr(e, lambda x: self._own(x, held, truth)), truth)

    def _load(self, e: Load, held: Mapping[Load, Held], truth: Mapping[int, bool]) -> Held:
        if e.buffer in self.state:
            place = self._known(e)
            return held.get(place, (False, self.places.index(place)))
        found = held.get(e)
        return self._leaf(e, truth) if found is None else found  # what was stored before anything of the state was read

    def _own(self, e: Expr, held: Mapping[Load, Held], truth: Mapping[int, bool]) -> Expr:
        """A load of what is a value of the iteration's own, as this value."""
        if not isinstance(e, Load) or e.buffer not in self.stored:
            return e
        found = self._load(e, held, truth)
        if isinstance(found, bool) or not found[0]:
            raise _UnknownError
        return self.leaves[found[1]]

    def _leaf(self, e: Expr, truth: Mapping[int, bool]) -> Held:
        k = next((k for k, leaf in enumerate(self.leaves) if leaf.same(e)), len(self.leaves))
        self.leaves += [] if k < len(self.leaves) else [e]
        if e.dtype is not DType.BOOL:
            return True, k
        self.tests += [] if k in self.tests else [k]
        return truth.get(k, True)

    @staticmethod
    def _test(held: Held) -> bool:
        if not isinstance(held, bool):
            raise _UnknownError
        return held

    def _compare(self, a: Held, b: Held, order: _Order) -> int:
        if isinstance(a, bool) or isinstance(b, bool):
            raise _UnknownError
        self.compared += [k for own, k in (a, b) if own and k not in self.compared]
        if len(self.compared) > 1:
            raise _UnknownError
        return order.compare(a, b)

    def chains(self, better: int) -> Iterator[list[list[int]]]:
        """The places in the order in which an iteration with the best value moves on what they hold: first those of
        what is compared, then those of what goes with it."""
        open_ = [dict[tuple[Token, Token], bool]()]
        for _ in range(_TRIES):
            if not open_:
                return
            pairs = open_.pop()
            try:
                found = self._chains(self.run(_Order(better, {}, pairs), {}))
            except _UnknownError as e:
                if e.pair is not None:
                    (a, b), seen = e.pair, {p for pair in pairs for p in pair}
                    likely = b not in seen or a in seen  # what is looked at first is the better one in most programs
                    open_ += [{**pairs, (a, b): way, (b, a): not way} for way in (not likely, likely)]
                continue
            if found is not None:
                yield found

    def _chains(self, after: Sequence[Held]) -> list[list[int]] | None:
        """All places in chains of one length, each of which begins with a value of the iteration's own."""
        follows: dict[Held, int] = {}
        starts: list[tuple[bool, int]] = []
        for k, held in enumerate(after):
            if isinstance(held, bool) or held == (False, k) or (not held[0] and held in follows):
                return None
            starts += [(held[1] not in self.compared, k)] if held[0] else []
            follows[held] = k
        chains: list[list[int]] = []
        for _, start in sorted(starts):
            chain = [start]
            while (further := follows.get((False, chain[-1]))) is not None:
                chain.append(further)
            chains.append(chain)
        self.begins = [after[c[0]] for c in chains]
        size = len(chains[0]) if chains else 0
        whole = sum(map(len, chains)) == len(after) and all(len(c) == size for c in chains)
        return chains if whole and 2 <= size <= _MOST and self.compared else None

    def inserts(self, chains: Sequence[Sequence[int]], better: int) -> bool | None:
        """Whether an iteration inserts its value before those that are equal to it; None if it is no insertion."""
        begins, new = self.begins, (True, self.compared[0])
        ways = [False, True]  # without more that is kept, both are the same
        all_orders = [*_orders(chains[0], new)]
        try:
            for rank in all_orders:
                after = self.run(_Order(better, rank, {}), {})
                ways = [w for w in ways if _holds(after, chains, rank, _inserted(chains, begins, rank, new, last=w))]
                if not ways:
                    return None
            tests = [*self.tests]
            kept = [[(False, c) for c in chain] for chain in chains]
            for answers in product((False, True), repeat=min(len(tests), _CONDITIONS)):
                for rank in () if all(answers) else all_orders:
                    after = self.run(_Order(better, rank, {}), dict(zip(tests, answers, strict=False)))
                    if not _holds(after, chains, rank, kept):
                        return None
        except _UnknownError:
            return None
        return ways[0] if self.tests == tests and len(tests) <= _CONDITIONS else None


def _orders(keys: Sequence[int], new: Token) -> Iterator[dict[Token, int]]:
    """All orders of a value and what is kept, best first: how good each of them is."""
    for equal in product((False, True), repeat=len(keys) - 1):
        steps = [0, *(0 if e else -2 for e in equal)]
        ranks = [*accumulate(steps)]
        for own in range(ranks[-1] - 1, 2):
            yield {new: own, **{(False, k): r for k, r in zip(keys, ranks, strict=True)}}


def _inserted(
    chains: Sequence[Sequence[int]], begins: Sequence[Held], rank: Mapping[Token, int], new: Token, *, last: bool
) -> list[list[Held]]:
    """What the places of chains hold after a value is inserted into the first of them, and what goes with it."""
    ranks = [rank[False, c] for c in chains[0]]
    at = sum(r > rank[new] or (r == rank[new] and not last) for r in ranks)
    return [
        [*((False, c) for c in chain[:at]), begin, *((False, c) for c in chain[at:])][: len(chain)]
        for chain, begin in zip(chains, begins, strict=True)
    ]


def _holds(
    after: Sequence[Held], chains: Sequence[Sequence[int]], rank: Mapping[Token, int], wanted: Sequence[Sequence[Held]]
) -> bool:
    """Whether places hold what is wanted; of equal values it may be any, but not of what goes with them."""
    keys, *beside = ([after[c] for c in chain] for chain in chains)

    def known(held: Sequence[Held]) -> list[int | None]:
        return [None if isinstance(h, bool) else rank.get(h) for h in held]

    return None not in known(keys) and known(keys) == known(wanted[0]) and beside == [*map(list, wanted[1:])]
