"""Makes assumptions true element by element: the interpreter with another meaning of `assume`."""

from __future__ import annotations

import operator

from msgspec import field

from ir.arith import ArithmeticFault, Scalar, fold_cast, rounded
from ir.dtypes import DType
from ir.errors import InterpretError
from ir.functions import inlined
from ir.nodes import COMPARE_OPS, MIRRORED, NEGATED, Assume, Binary, Call, Cast, Expr, Load, Select, Unary, Undef, Var
from ir.semantics.machine import Machine, Undefined
from ir.traverse import has_loads

_ATTEMPT = 3  # what it takes to try to make a relation hold, in statements: both sides and the whole are evaluated


class Satisfier(Machine):
    """Runs assumptions by setting the buffer elements, and the `free` scalars, that they speak of.

    `free` maps scalars that may be changed to their smallest value. `backward` tries the right side of a relation
    first: loops over neighbours (`A[i] <= A[i + 1]`) come to rest only if they change the element they meet again.
    `tight` makes inequalities hold by as little as possible, so that several of them meet, and with `backward` tries
    the right side of a disjunction first, as in `p < n[i] or A[i, p] == 0` where n has bounds; `pressing` makes
    equalities of them, for about half of the places, also where they held already. What cannot be made true is left
    for a later check.
    """

    free: dict[Var, int] = field(default_factory=lambda: dict[Var, int]())
    backward: bool = False
    tight: bool = False
    pressing: bool = False

    def assume(self, stmt: Assume) -> None:
        if self.pressing and self.rng.integers(2):
            self._press(stmt.cond)
        self._require(stmt.cond, True)

    def _press(self, cond: Expr) -> None:
        """Make the inequalities of a condition equalities, where that can be done."""
        match cond:
            case Binary(op="and" | "or", lhs=a, rhs=b):
                self._press(a)
                self._press(b)
            case Binary(op="lt" | "le" | "gt" | "ge" as op, lhs=a, rhs=b):
                bounded, bound = (a, b) if has_loads(a) else (b, a)
                value = self._known(bound)
                if has_loads(bounded) and value is not None:
                    strictly = 0 if op in ("le", "ge") else 1 if (op == "gt") is (bounded is a) else -1
                    self._set(bounded, value + strictly)
            case _:
                return

    def _is(self, cond: Expr, wanted: bool) -> bool:
        try:
            return self.holds(cond) is wanted
        except InterpretError:
            return False

    def _require(self, cond: Expr, wanted: bool) -> bool:
        """Try to give a condition a truth value; whether it has it now."""
        if self._is(cond, wanted):
            return True
        match cond:
            case Unary(op="not", operand=a):
                return self._require(a, not wanted)
            case Binary(op=("and" | "or") as op, lhs=a, rhs=b):
                if (op == "and") is wanted:
                    first, second = self._require(a, wanted), self._require(b, wanted)
                    return first and second
                return any(self._require(part, wanted) for part in ((b, a) if self.backward and self.tight else (a, b)))
            case Binary(op=op, lhs=a, rhs=b) if op in COMPARE_OPS and a.dtype is not DType.BOOL:
                relation = op if wanted else NEGATED[op]
                ways = [(relation, a, b), (MIRRORED[relation], b, a)]
                return any(self._relate(*way, cond, wanted) for way in (reversed(ways) if self.backward else ways))
            case Binary(op=("eq" | "ne") as op, lhs=a, rhs=b) if not isinstance(a, Undef) and not isinstance(b, Undef):
                same = (op == "eq") is wanted
                return self._require(a, self._is(b, True) is same) or self._require(b, self._is(a, True) is same)
            case Select(cond=c, then=a, other=b):
                return self._require(a if self._is(c, True) else b, wanted)
            case Load() | Var():
                return self._set(cond, wanted) and self._is(cond, wanted)
            case _:
                return False

    def _relate(self, relation: str, target: Expr, other: Expr, cond: Expr, wanted: bool) -> bool:
        """Try to make `target relation other` hold by changing the target."""
        if self.steps is not None:
            self.steps = max(self.steps - _ATTEMPT, 0)
        value = self._known(other)
        if value is None:
            return False
        step = 0 if self.tight else int(self.rng.integers(3))
        match relation:
            case "eq":
                aim = value
            case "ne" | "gt":
                aim = value + 1 + step
            case "ge":
                aim = value + step
            case "lt":
                aim = value - 1 - step
            case _:
                aim = value - step
        return self._set(target, aim) and self._is(cond, wanted)

    def _known(self, expr: Expr) -> Scalar | None:
        try:
            value = self.value(expr)
        except InterpretError:
            return None
        return None if isinstance(value, Undefined) else value

    def _set(self, target: Expr, value: Scalar) -> bool:
        """Change what an expression reads so that it has a value; whether something was changed.

        Only the simple inverses are known; the caller checks what came of it.
        """
        match target:
            case Load() as load:
                return self._poke(load, value)
            case Var() as var:
                if var not in self.free or (var.dtype.is_integer and value < self.free[var]):
                    return False
                return self._convert(value, var.dtype) is not None and self._assign(var, value)
            case Cast(operand=a):
                inner = self._convert(value, a.dtype)
                return inner is not None and self._set(a, inner)
            case Unary(op="neg", operand=a):
                return self._set(a, -value)
            case Call() as call:
                return self._set(inlined(call), value)
            case Select(cond=c, then=a, other=b):
                return self._set(a if self._is(c, True) else b, value)
            case Binary(op=op, lhs=a, rhs=b):
                return self._invert(op, a, b, value)
            case _:
                return False

    def _invert(self, op: str, a: Expr, b: Expr, value: Scalar) -> bool:
        x, y = self._known(a), self._known(b)
        if x is None or y is None:
            return False
        match op:
            case "add":
                return self._set(a, value - y) or self._set(b, value - x)
            case "sub":
                return self._set(a, value + y) or self._set(b, x - value)
            case "mul":
                return (y != 0 and self._set(a, _quotient(value, y))) or (x != 0 and self._set(b, _quotient(value, x)))
            case "floordiv" | "truncdiv":
                return y != 0 and self._set(a, value * y + x % y)
            case "floormod" | "truncmod":
                return y != 0 and self._set(a, x - x % y + value)
            case _:
                return False

    def _assign(self, var: Var, value: Scalar) -> bool:
        self.scalars[var] = value
        return True

    def _poke(self, load: Load, value: Scalar) -> bool:
        memory = self.memory[load.buffer.name]
        index: list[int] = []
        for expr, extent in zip(load.indices, memory.values.shape, strict=True):
            found = self._known(expr)
            if found is None or not 0 <= found < extent:
                return False
            index.append(int(found))
        converted = self._convert(value, load.buffer.dtype)
        if converted is None:
            return False
        memory.values[tuple(index)] = converted
        return True

    def _convert(self, value: Scalar, dtype: DType) -> Scalar | None:
        """A value as one of `dtype`, None if it has none that equals it (floats are rounded)."""
        if dtype.is_float:
            return rounded(float(value), dtype)
        try:
            whole = operator.index(int(value))
            return fold_cast(whole, DType.INT64, dtype) if whole == value and dtype.min <= whole <= dtype.max else None
        except (ValueError, OverflowError, ArithmeticFault):
            return None


def _quotient(value: Scalar, by: Scalar) -> Scalar:
    return value / by if isinstance(value, float) or isinstance(by, float) else value // by
