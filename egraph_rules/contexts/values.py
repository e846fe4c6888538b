"""What values expressions have where: an operation on known values is what the interpreter computes."""

from __future__ import annotations

import math
from collections.abc import Generator, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, assert_never, cast

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

import egraph_rules.contexts.intervals as intervals
from egraph_rules.contexts.elements import pinned
from egraph_rules.contexts.facts import IMPOSSIBLE, Facts
from ir.analysis.contents import MAX_FOLLOWED, Contents, is_condition, is_function, says_defined
from ir.dtypes import DType
from ir.floats import Floats
from ir.fold import computed
from ir.functions import inlined
from ir.nodes import AnyExpr, Binary, Buffer, Call, Cast, Const, Expr, Load, Select, Store, Unary, Undef, Var
from ir.operators import SPECIAL, Special, admits, special
from ir.shown import text_order
from ir.traverse import buffers_read, has_load, has_loads, has_undef, loads, map_expr

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts

Value = Const | Undef
_MOST_PARTS = 4  # of a place, in each of which the same is asked
_ABSORB = frozenset(law.op for law in SPECIAL if law.role == "absorbing")
_CASES = 1  # how many elements are followed to where both arms of a choice are asked about
# How many are followed in all from one on, and how often elements of the same buffer on the way to one: what a
# recurrence over three elements makes of each would reach thousands.
_MOST_FOLLOWED = 40
_MOST_OF_ONE = 2


class Trail:
    """From which elements to the next an expression came, each of which is known to hold what the next one is in."""

    def __init__(self) -> None:
        self._holders: list[Buffer | Var] = []
        self._follows = 0  # how many were followed since the one that it began with

    @property
    def length(self) -> int:
        """How many elements it led through."""
        return len(self._holders)

    @contextmanager
    def through(self, holder: Buffer | Var) -> Generator[bool]:
        """Go on with what an element is known to hold, if that leads on."""
        self._follows = self._follows + 1 if self._holders else 0
        many = len(self._holders) >= MAX_FOLLOWED or self._follows > _MOST_FOLLOWED
        self._holders.append(holder)
        try:
            yield not many and self._holders.count(holder) <= _MOST_OF_ONE
        finally:
            self._holders.pop()


class _Prospects(Struct, frozen=True):
    """Buffers of which elements may be known to be numbers, and those that may be undef or infinite.

    What a recurrence adds to its own elements is seldom known, and with it no sum, however far it is followed.
    """

    numbers: set[Buffer]
    decisive: set[Buffer]

    @staticmethod
    def under(f: Facts, conditions: Iterable[_Prospects]) -> _Prospects:
        """Those under some facts, with conditions that say this much: the least that what is known of each buffer
        lets be."""
        left = [(b, v) for b, v in f.known if not says_defined(b, v)]
        told = [(b, v) for b, v in left if is_condition(b, v)]
        found = _Prospects({b for b, _ in told}, {b for b, cond in told if not _is_limit(cond)})
        for one in conditions:
            found.numbers.update(one.numbers)
            found.decisive.update(one.decisive)
        left = [(b, v) for b, v in left if not is_condition(b, v)]
        while left:
            said = [(b, found.of(v)) for b, v in left]
            more = {b for b, (n, _) in said if n} - found.numbers, {b for b, (_, d) in said if d} - found.decisive
            found.numbers.update(more[0])
            found.decisive.update(more[1])
            left = left if any(more) else []
        return found

    @staticmethod
    def where(cond: Expr) -> _Prospects:
        """Those that a condition tells something of."""
        named = buffers_read(cond)
        return _Prospects(named, set() if _is_limit(cond) else named)

    def of(self, expr: Expr) -> tuple[bool, bool]:
        """Whether a number may be known that an expression is, and whether it may be undef or infinite."""
        match expr:
            case Const(value=value):
                return True, not math.isfinite(value)
            case Load(buffer=buffer):
                return buffer in self.numbers, buffer in self.decisive
            case Binary(op="add" | "sub" as op, lhs=a, rhs=b) if op == "add" or expr.dtype.is_float:
                (left, most), (right, other) = self.of(a), self.of(b)
                both = left and right  # which may overflow
                return both or most or other, both or most or other
            case _:
                return True, True


def _is_limit(cond: Expr) -> bool:
    """Whether a condition says no more of an element than on which side of a finite number it is."""
    if not (isinstance(cond, Binary) and cond.op in ("ge", "le", "gt", "lt")):
        return False
    return isinstance(cond.rhs, Const) and math.isfinite(cond.rhs.value)


class Values:
    """Answers for all contexts of one search, under its policy on floats."""

    def __init__(self, contexts: Contexts, floats: Floats) -> None:
        self._contexts = contexts
        self._floats = floats
        self._known: dict[tuple[int, Expr, bool], Value | None] = {}
        self._open: set[tuple[int, Expr, bool]] = set()
        self._trail = Trail()
        self._hoped: dict[Hashable, tuple[Contents, _Prospects]] = {}
        self._told: dict[Expr, _Prospects] = {}

    def computed(self, expr: Expr) -> Const | None:
        """What an operation on numbers gives, as far as the policy on floats lets it be computed beforehand."""
        return computed(expr, library=Floats.REASSOCIATE in self._floats)

    def of(self, facts: int, expr: Expr) -> Value | None:
        """The number that an expression is wherever evaluating it does not fault, or `Undef` if it is arbitrary.

        An operation on known values is what the interpreter computes. None where nothing is known, where the value is
        NaN, and of booleans where it takes a proof (`truth`).
        """
        match expr:
            case Const(value=value):
                return expr if value == value else None
            case Undef():
                return expr
            case _:
                pass
        if facts == IMPOSSIBLE:
            return None
        key = facts, expr, self._trail.length > _CASES
        if key in self._known:
            return self._known[key]
        if key in self._open:  # two elements may be known to equal each other
            return None
        self._open.add(key)
        found = self._value(facts, expr)
        if found is None and expr.dtype.is_float and isinstance(expr, (Binary, Unary)):
            found = self._contexts.one_number(facts, expr)
        self._open.remove(key)
        if found is not None or not self._contexts.over():
            self._known[key] = found
        return found

    def _value(self, facts: int, expr: Expr) -> Value | None:
        match cast(AnyExpr, expr):
            case Var() as var:
                number = self._contexts.constant(facts, var) if var.dtype.is_integer else None
                bound = self._contexts.bound(facts, var) if number is None else None
                return self._following(facts, var, bound) if number is None else Const(number, var.dtype)
            case Load(buffer=buffer, indices=indices) as load:
                found = self._following(facts, buffer, self._contexts.contents(facts, buffer, indices))
                return self._pinned(facts, load) if found is None else found
            case Select(cond=cond, then=a, other=b):
                return self._value_of_arm(facts, cond, a, b)
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                return self._value_of_logic(facts, op, a, b)
            case Binary() as node:
                operands = self.of(facts, node.lhs), self.of(facts, node.rhs)
                return self._value_of_operation(facts, node, operands)
            case (Unary(operand=a) | Cast(operand=a)) as node:
                operand = self.of(facts, a)
                truth = self._contexts.truth(facts, a) if operand is None and a.dtype is DType.BOOL else None
                operand = operand if truth is None else Const(truth, DType.BOOL)
                if isinstance(operand, Const):
                    return self.computed(replace(node, operand=operand))
                return None if operand is None else Undef(expr.dtype)
            case Call(args=args) as call:
                values = [v for v in (self.of(facts, a) for a in args) if isinstance(v, Const)]
                return self.of(facts, inlined(replace(call, args=tuple(values)))) if len(values) == len(args) else None
            case (Const() | Undef()) as known:
                return known
            case other:
                assert_never(other)

    def _pinned(self, facts: int, load: Load) -> Value | None:
        """The number that conditions on data leave an element."""
        f = self._contexts.facts(facts)
        ask = load.dtype.is_integer and any(has_load(c, load) for c, _ in f.conditions)
        number = self._contexts.ask(("pinned", facts, load), lambda: pinned(f, load), None) if ask else None
        return None if number is None else Const(cast(int, number), load.dtype)

    def _following(self, facts: int, holder: Buffer | Var, held: Expr | None) -> Value | None:
        """The value of what an element of a buffer is known to hold, or a name to be bound to."""
        if held is None or (is_function(held) and not any(self._prospects(facts).of(held))):
            return None
        with self._trail.through(holder) as goes_on:
            return self.of(facts, held) if goes_on else None

    def _prospects(self, facts: int) -> _Prospects:
        """Of which buffers a value may be known; places in one sequence often know the same."""
        f = self._contexts.facts(facts)
        key = id(f.known), f.conditions
        if key not in self._hoped:
            told = (self._where(cond) for cond, _ in f.conditions)
            self._hoped[key] = f.known, _Prospects.under(f, told)  # which keeps what has the number
        return self._hoped[key][1]

    def _where(self, cond: Expr) -> _Prospects:
        if cond not in self._told:
            self._told[cond] = _Prospects.where(cond)
        return self._told[cond]

    def _value_of_operation(
        self, facts: int, expr: Binary, operands: tuple[Value | None, Value | None]
    ) -> Value | None:
        a, b = operands
        if isinstance(a, Const) and isinstance(b, Const):
            return self.computed(replace(expr, lhs=a, rhs=b))
        for law, number in self.special(expr, operands):
            other = expr.lhs if number is b else expr.rhs
            decides = law.role == "absorbing" and (law.annihilates or self.defined(facts, other))
            if decides and self._has_result(facts, expr if law.partial else other, law):
                return number
        if expr.op in ("sub", "bitxor") and self._is_twice(facts, expr):
            return Const(0, expr.dtype)
        found = self._by_cases(facts, expr) if expr.op in _ABSORB else None
        if found is not None:
            return found
        undef = isinstance(a, Undef) or isinstance(b, Undef)
        # An unknown factor may be zero, which annihilates undef.
        strict = undef and (expr.op != "mul" or (a is not None and b is not None))
        return Undef(expr.dtype) if strict else None

    def _by_cases(self, facts: int, expr: Binary) -> Value | None:
        """The value that is the same in all parts of a place, of which another operand is known in each."""
        if not (has_loads(expr.lhs) and has_loads(expr.rhs)) or not any(self._prospects(facts).of(expr)):
            return None
        values = [self.of(part, expr) for part in self._parts(facts)]
        first = values[0] if values else None
        return first if first is not None and all(v is not None and v.same(first) for v in values) else None

    def _parts(self, facts: int) -> list[int]:
        """Facts in the few parts that values of variables fall into, as where a conjunction fails; none for one."""

        def cut() -> list[int]:
            f = self._contexts.facts(facts)
            parts = f.domain.coalesce().get_basic_sets()
            asked = parts if 1 < len(parts) <= _MOST_PARTS else []
            return [self._contexts.add_facts(replace(f, domain=isl.Set.from_basic_set(part))) for part in asked]

        return cast("list[int]", self._contexts.ask(("parts", facts), cut, []))

    def _is_twice(self, facts: int, expr: Binary) -> bool:
        """Whether integer operands are one number, by what elements are known to hold (a symbolic zero point)."""
        a, b = expr.lhs, expr.rhs
        if not (expr.dtype.is_integer and has_loads(expr) and all(self.defined(facts, e) for e in (a, b))):
            return False
        one, other = self.with_held(facts, a), self.with_held(facts, b)
        return one.same(other) or one.same(b) or other.same(a)

    def with_held(self, facts: int, expr: Expr) -> Expr:
        """An expression with what elements are known to hold in their place; of two that tell each other, with one."""

        def known(part: Expr) -> Expr:
            if isinstance(part, Cast) and isinstance(part.operand, Cast):
                return self._through(facts, part, part.operand)
            held = self._contexts.contents(facts, part.buffer, part.indices) if isinstance(part, Load) else None
            if held is None or isinstance(held, Undef):
                return part
            back = self._contexts.contents(facts, held.buffer, held.indices) if isinstance(held, Load) else None
            return part if back is not None and back.same(part) and text_order(part) < text_order(held) else held

        return map_expr(expr, known)

    def _has_result(self, facts: int, expr: Expr, law: Special) -> bool:
        """Whether what an absorbing number decides about has a result: a law about finite numbers is about no other."""
        if Floats.FINITE in law.floats:
            return self._contexts.regular(facts, expr)
        needed = admits(cast(Binary, expr)) if law.partial else None
        return needed is None or self._contexts.truth(facts, needed) is True

    def _value_of_arm(self, facts: int, cond: Expr, then: Expr, other: Expr) -> Value | None:
        """The value of the arm that is chosen, or of both; a condition that is undef is a fault."""
        truth = self._contexts.truth(facts, cond)
        if truth is not None:
            return self.of(facts, then if truth else other)
        if self._trail.length > _CASES:  # of a recurrence, each element would be asked about in all cases of others
            return None
        first = self.of(self._contexts.assume(facts, cond, True), then)
        second = None if first is None else self.of(self._contexts.assume(facts, cond, False), other)
        return first if first is not None and second is not None and first.same(second) else None

    def _value_of_logic(self, facts: int, op: str, left: Expr, right: Expr) -> Value | None:
        """The right operand is evaluated only where the left one does not decide."""
        decisive = op == "or"
        if isinstance(self.of(facts, left), Undef):
            return None
        truth = self._contexts.truth(facts, left)
        if truth is decisive:
            return Const(decisive, DType.BOOL)
        # Where the left operand is undef the right one is evaluated too, without knowing anything of it.
        inside = self._contexts.assume(facts, left, not decisive) if self.defined(facts, left) else facts
        known = None if inside == IMPOSSIBLE else self._contexts.truth(inside, right)
        if known is None or (known is not decisive and truth is None):
            return None
        return Const(known, DType.BOOL)

    def special(self, expr: Binary, operands: tuple[Value | None, Value | None]) -> Iterator[tuple[Special, Const]]:
        """Neutral and absorbing operands that an operator has here, by what is known of its operands."""
        for side, value in (("right", operands[1]), ("left", operands[0])):
            if isinstance(value, Const):
                for law, number in special(expr.op, value.dtype, self._floats):
                    if side in law.sides and value.value == number:
                        yield law, value

    def adds_nothing(self, facts: int, store: Store) -> bool:
        """Whether `A[i] = A[i] op e` leaves A as it is, since e is neutral to op."""
        step, element = store.value, Load(store.buffer, store.indices)
        if not isinstance(step, Binary):
            return False
        for operands, kept in (((None, step.rhs), step.lhs), ((step.lhs, None), step.rhs)):
            if kept.same(element):
                values = tuple(None if e is None else self.of(facts, e) for e in operands)
                if any(law.role == "neutral" for law, _ in self.special(step, (values[0], values[1]))):
                    return True
        return False

    def defined(self, facts: int, expr: Expr) -> bool:
        """Whether an expression has a value that is not arbitrary, as far as it does not fault."""
        return not has_undef(expr) and all(self._is_defined(facts, load) for load in loads(expr))

    def _is_defined(self, facts: int, load: Load) -> bool:
        return isinstance(self.of(facts, load), Const) or self._contexts.is_defined(facts, load)

    def located(self, facts: int, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices with the numbers that elements are known to hold for those elements, if data give a place."""
        if not any(map(has_loads, indices)):
            return indices
        return tuple(self.put_in(facts, index) for index in indices)

    def put_in(self, facts: int, expr: Expr) -> Expr:
        """An integer expression with what they hold for elements of buffers whose contents are known."""
        if not has_loads(expr):
            return expr

        def known(part: Expr) -> Expr:
            if isinstance(part, Cast) and isinstance(part.operand, Cast):
                return self._through(facts, part, part.operand)
            if not (isinstance(part, Load) and part.dtype.is_integer):
                return part
            value = self.of(facts, part)
            if isinstance(value, Const):
                return value
            held = self._contexts.contents(facts, part.buffer, part.indices)
            return part if held is None or isinstance(held, Undef) or has_loads(held) else held

        return map_expr(expr, known)

    def _through(self, facts: int, outer: Cast, inner: Cast) -> Expr:
        """A cast of a cast without the inner one, where that keeps the number."""
        given, dtype = inner.operand, inner.dtype
        if not (given.dtype.is_integer and dtype.is_integer):
            return outer
        low, high = intervals.bounds(given, self._contexts.facts(facts).domain)
        keeps = dtype.min <= low and high <= dtype.max
        if not keeps and has_loads(given):  # bounds of elements are conditions that are known of them
            keeps = self._contexts.truth(facts, intervals.is_value_of(given, dtype))
        return outer if not keeps else given if given.dtype is outer.dtype else Cast(outer.dtype, given)
