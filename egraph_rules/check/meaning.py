"""What a pattern means to z3: its value, whether it is undef, whether it faults.

A second account of `ir.interpret`. Integers are mathematical ones; `bounds` says where leaving a range is a
fault (signed) or wraps (unsigned). It shares nothing with the prover that rules are applied with, so that a mistake
there does not prove a wrong rule.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from egraph_rules.authoring.rule import Number, Own, Term, Truth
from ir.dtypes import DType
from ir.nodes import COMPARE_OPS, Binary, Const, Expr, Select, Unary, Undef, Var

Formula = Any  # z3 ships without types


class Untranslatable(Exception):
    """An operator that has no translation."""


@lru_cache(maxsize=1)
def z3() -> Any:
    """The library, loaded when the first rule is proven."""
    return importlib.import_module("z3")


class Meaning(Struct, frozen=True):
    """Of an expression: its value where it has one, whether it is undef, and whether evaluating it faults."""

    value: Formula
    undef: Formula
    fault: Formula


class Bounds(Struct, frozen=True):
    """The range of a dtype: from `low` to `high`; a result outside faults, or wraps if `modulus` is given."""

    low: Formula
    high: Formula
    modulus: int | None = None


class Translator(Struct, frozen=True):
    """Translates expressions over pattern variables; without `bounds`, no result leaves its range.

    `context` is z3's: a fresh one for each rule, so that answers do not depend on what was asked before. `facts`
    collects what defines the quotients and remainders that occur. Without `annihilates`, zero times an undef real is
    undef.
    """

    context: Formula
    bounds: Bounds | None = None
    real: bool = False
    annihilates: bool = True
    facts: list[Formula] = field(default_factory=list[Formula])

    def variable(self, var: Var) -> Meaning:
        """A pattern variable; a term stands for any expression, which may be undef or fault, a constant is neither."""
        lib = z3()
        boolean = isinstance(var, Truth) or var.dtype is DType.BOOL
        value = (lib.Bool if boolean else lib.Real if self.real else lib.Int)(var.name, self.context)
        if isinstance(var, Number):
            return Meaning(value, lib.BoolVal(False, self.context), lib.BoolVal(False, self.context))
        return Meaning(value, lib.Bool(undef_name(var), self.context), lib.Bool(fault_name(var), self.context))

    def meaning(self, expr: Expr) -> Meaning:
        """What an expression means.

        Raises:
            Untranslatable: an operator has no translation.
        """
        lib = z3()
        no = lib.BoolVal(False, self.context)
        match expr:
            case Own():
                return Meaning(self._own(expr), no, no)
            case Const(value=value, dtype=dtype):
                return Meaning(self._literal(value, dtype), no, no)
            case Term() | Number() | Truth():
                return self.variable(expr)
            case Undef(dtype=DType.BOOL):
                return Meaning(no, lib.BoolVal(True, self.context), no)
            case Undef():
                return Meaning(
                    lib.RealVal(0, self.context) if self.real else lib.IntVal(0, self.context),
                    lib.BoolVal(True, self.context),
                    no,
                )
            case Unary(op=op, operand=a):
                return self._unary(op, self.meaning(a))
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                return self._logic(op, self.meaning(a), self.meaning(b))
            case Binary(op=op, lhs=a, rhs=b):
                return self._binary(op, self.meaning(a), self.meaning(b), boolean=a.dtype is DType.BOOL)
            case Select(cond=c, then=a, other=b):
                test, yes, no_arm = self.meaning(c), self.meaning(a), self.meaning(b)
                return Meaning(
                    lib.If(test.value, yes.value, no_arm.value),
                    lib.If(test.value, yes.undef, no_arm.undef),
                    lib.Or(test.fault, test.undef, lib.If(test.value, yes.fault, no_arm.fault)),
                )
            case _:
                raise Untranslatable(type(expr).__name__)

    def _own(self, expr: Own) -> Formula:
        """A number that each dtype has of its own."""
        if self.bounds is None or expr.name not in ("least", "greatest"):
            raise Untranslatable(f"number called {expr.name}")
        bound = self.bounds.low if expr.name == "least" else self.bounds.high
        return z3().IntVal(bound, self.context) if isinstance(bound, int) else bound

    def _literal(self, value: float, dtype: DType) -> Formula:
        lib = z3()
        if dtype is DType.BOOL:
            return lib.BoolVal(bool(value), self.context)
        if not self.real:
            return lib.IntVal(int(value), self.context)
        if value - value != 0:
            raise Untranslatable("infinity")
        return lib.RealVal(str(value), self.context)

    def _unary(self, op: str, a: Meaning) -> Meaning:
        lib = z3()
        match op:
            case "not":
                return Meaning(lib.Not(a.value), a.undef, a.fault)
            case "neg":
                return self._ranged(-a.value, a.undef, a.fault)
            case "abs":
                return self._ranged(lib.If(a.value < 0, -a.value, a.value), a.undef, a.fault)
            case _:
                raise Untranslatable(op)

    def _logic(self, op: str, a: Meaning, b: Meaning) -> Meaning:
        """The right operand is evaluated only where the left one does not decide."""
        lib = z3()
        decisive = lib.BoolVal(op == "or", self.context)
        left = lib.And(lib.Not(a.undef), a.value == decisive)
        right = lib.And(lib.Not(b.undef), b.value == decisive)
        value = lib.And(a.value, b.value) if op == "and" else lib.Or(a.value, b.value)
        undef = lib.And(lib.Not(left), lib.Or(b.undef, lib.And(a.undef, lib.Not(right))))
        return Meaning(
            lib.If(lib.Or(left, right), decisive, value), undef, lib.Or(a.fault, lib.And(lib.Not(left), b.fault))
        )

    def _binary(self, op: str, a: Meaning, b: Meaning, *, boolean: bool) -> Meaning:
        lib = z3()
        fault, undef = lib.Or(a.fault, b.fault), lib.Or(a.undef, b.undef)
        x, y = a.value, b.value
        if op in COMPARE_OPS:
            if boolean and op not in ("eq", "ne"):
                raise Untranslatable(f"{op} of booleans")
            relations = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
            return Meaning(getattr(x, relations[op])(y), undef, fault)
        match op:
            case "add":
                return self._ranged(x + y, undef, fault)
            case "sub":
                return self._ranged(x - y, undef, fault)
            case "mul" if self.real and not self.annihilates:
                return self._ranged(x * y, undef, fault)
            case "mul":  # a factor zero annihilates undef
                zero = lib.Or(lib.And(lib.Not(a.undef), x == 0), lib.And(lib.Not(b.undef), y == 0))
                product = self._ranged(x * y, undef, fault)
                return Meaning(
                    lib.If(
                        lib.And(undef, zero),
                        lib.RealVal(0, self.context) if self.real else lib.IntVal(0, self.context),
                        product.value,
                    ),
                    lib.And(undef, lib.Not(zero)),
                    product.fault,
                )
            case "min":
                return Meaning(lib.If(x <= y, x, y), undef, fault)
            case "max":
                return Meaning(lib.If(x >= y, x, y), undef, fault)
            case "div" if self.real:  # a quotient by zero is not finite, of which nothing is claimed
                return Meaning(x / y, undef, lib.Or(fault, lib.And(lib.Not(undef), y == 0)))
            case "floordiv" | "floormod" | "truncdiv" | "truncmod":
                none = lib.Or(fault, lib.And(lib.Not(undef), y == 0))
                result = self._division(op, x, y)
                return self._ranged(result, undef, none) if op.endswith("div") else Meaning(result, undef, none)
            case _:
                raise Untranslatable(op)

    def _division(self, op: str, x: Formula, y: Formula) -> Formula:
        """A quotient or remainder by its definition, which z3 reasons about better than about its own operators."""
        lib = z3()
        kind = op[:5]
        name = f"{kind} {x.sexpr()} by {y.sexpr()}"
        quotient, rest = lib.Int(f"quotient of {name}", self.context), lib.Int(f"rest of {name}", self.context)
        size = lib.If(y < 0, -y, y)
        if kind == "floor":
            small = lib.If(y > 0, lib.And(rest >= 0, rest < size), lib.And(rest <= 0, -rest < size))
        else:
            small = lib.If(x >= 0, lib.And(rest >= 0, rest < size), lib.And(rest <= 0, -rest < size))
        self.facts.append(lib.Implies(y != 0, lib.And(x == quotient * y + rest, small)))
        return quotient if op.endswith("div") else rest

    def _ranged(self, value: Formula, undef: Formula, fault: Formula) -> Meaning:
        """A result that wraps, or faults outside its range where it is defined."""
        lib = z3()
        bounds = self.bounds
        if bounds is None:
            return Meaning(value, undef, fault)
        if bounds.modulus is not None:
            return Meaning(value % bounds.modulus, undef, fault)
        outside = lib.Or(value < bounds.low, value > bounds.high)
        return Meaning(value, undef, lib.Or(fault, lib.And(lib.Not(undef), outside)))


def undef_name(var: Var) -> str:
    """The name of what says that a variable is undef."""
    return f"{var.name} is undef"


def fault_name(var: Var) -> str:
    """The name of what says that evaluating a variable's expression faults."""
    return f"{var.name} faults"
