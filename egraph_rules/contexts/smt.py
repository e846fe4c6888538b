"""Proofs by z3 about integer and boolean expressions that isl cannot express or takes too long for.

That signed arithmetic stays in its range is part of what is given, since leaving it is a fault; that no divisor is zero
is part of what is to be proven. Budgets are z3's own steps (`rlimit`), which are the same on every machine. The checker
of rules translates on its own account, so that a mistake in one does not prove itself right in the other.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from typing import Any, cast

from msgspec import Struct, field

from egraph_rules.contexts.sampled import Open, refuted
from ir.dtypes import DType
from ir.functions import inline_calls
from ir.nodes import AnyExpr, Binary, Call, Cast, Const, Expr, Load, Select, Unary, Undef, Var
from ir.presburger.polynomials import Polynomial, divided, polynomial, summed
from ir.printing.printer import to_script
from ir.traverse import children, free_vars

Formula = Any  # z3 has no types of its own
STEPS = 200_000  # a tenth of a second

# z3 expands products of sums between two looks at its steps. Products that are larger stand for themselves.
_MAX_MONOMIALS = 24
_MAX_DEGREE = 4
_MAX_BIT_OPERANDS = 4  # of one operation on bits
_ALIKE = 3  # quotients by the same unknown that are related to each other


class _NoFormulaError(Exception):
    """The expression depends on data or floats, or has an operator without a formula."""


@cache
def _z3() -> Any:
    """The library, loaded when the first question comes."""
    return importlib.import_module("z3")


class Session:
    """z3 for one run of questions: their formulas share a context, and steps are counted over all of them.

    What was asked before changes the steps that a question takes; what must not depend on it has one of its own.
    """

    def __init__(self) -> None:
        self.steps = 0  # taken so far

    @cached_property
    def context(self) -> Any:
        """Where formulas live, made when the first question comes."""
        return _z3().Context()

    def check(self, formulas: Iterable[Formula], steps: int) -> tuple[Any, Any]:
        """Whether formulas can all be true, with a solver that gives up after so many steps; and that solver."""
        solver = _z3().SimpleSolver(ctx=self.context)
        solver.set("rlimit", max(steps, 1))
        solver.set("random_seed", 0)
        solver.set("ctrl_c", False)  # it would take an interrupt for an answer
        solver.add(*formulas)
        found = solver.check()
        self.steps = solver.statistics().get_key_value("rlimit count")
        return found, solver


def decide(
    cond: Expr,
    given: Iterable[tuple[Expr, bool]],
    steps: int = STEPS,
    truths: Sequence[bool] = (True, False),
    session: Session | None = None,
    *,
    ranges: bool = True,
) -> bool | Open:
    """Whether a condition always (True) or never (False) holds where the given ones have the given truth.

    It must have a value there: a divisor that may be zero leaves it open. Where neither is proven, it says whether that
    is all there is to say. Without `ranges` it holds of numbers that fit no dtype too. Only some `truths` are asked for
    where the others are known to be no answer.
    """
    lib, assumed = _z3(), list(given)
    meaning = _Meaning(session or Session())
    try:
        claim = meaning.condition(inline_calls(cond))
    except _NoFormulaError:
        return Open.UNKNOWN
    duties, known = meaning.duties, meaning.facts(assumed)
    left = list(truths)
    # Ranges of dtypes are seldom needed and hide what matters in products; they may rule out a counterexample.
    for bounds in ([], meaning.bounds) if ranges else ([],):
        unknown = False
        for truth in tuple(left):
            value = claim if truth else lib.Not(claim)
            facts = (*known, *meaning.sides, *bounds, lib.Not(lib.And(value, *duties)))
            found, solver = meaning.session.check(facts, steps)
            if found == lib.unsat:
                return truth
            if found == lib.unknown:
                unknown = True
            elif _is_refuted(solver.model(), cond, truth, assumed):
                left.remove(truth)
        if unknown or not left:
            return Open.UNKNOWN if unknown else Open.DEPENDS
    # where a duty may be violated, a form of the condition without the divisor may still be decided
    return Open.DEPENDS if meaning.exact and not duties else Open.UNKNOWN


def _is_refuted(model: Any, cond: Expr, truth: bool, given: Sequence[tuple[Expr, bool]]) -> bool:
    """Whether a condition does not have a truth at the values that a model has for variables, dtypes considered."""
    lib, context = _z3(), model.ctx
    point: dict[Var, int] = {}
    for var in free_vars(cond, *(c for c, _ in given)):
        if var.dtype is DType.BOOL:
            point[var] = int(lib.is_true(model.eval(lib.Bool(var.name, context))))
        else:
            value = model.eval(lib.Int(var.name, context))
            point[var] = value.as_long() if lib.is_int_value(value) else 0  # any will do where nothing is said
    return refuted(point, cond, truth, given)


def refines(
    new: Expr, old: Expr, given: Iterable[tuple[Expr, bool]], steps: int = STEPS, session: Session | None = None
) -> bool:
    """Whether `new` provably has the value of `old`, and none of its parts faults, where `old` does not fault.

    Where a divisor of `old` is zero or a shift leaves its width, `new` must have such a part, too: it is no form that
    hides the fault.
    """
    lib = _z3()
    meaning = _Meaning(session or Session())
    try:
        before = meaning.value(inline_calls(old))
        owed = meaning.take_duties()
        meaning.owed = True
        claim = before == meaning.value(inline_calls(new))
    except _NoFormulaError:
        return False
    meaning.owed = False
    fits, duties, known = meaning.fits, meaning.take_duties(), meaning.facts(given)
    known = [*known, *meaning.sides]
    bounded = [*known, *meaning.bounds]

    def follows(facts: list[Formula], *claims: Formula) -> bool | None:
        found, _ = meaning.session.check((*facts, lib.Not(lib.And(*claims))), steps)
        return None if found == lib.unknown else found == lib.unsat

    # Ranges of dtypes are seldom needed for the values to be equal, and hide what matters there.
    same = follows([*known, *owed], claim)
    same = follows([*bounded, *owed], claim) if same is False else same
    total = same and (not (duties or fits) or follows([*bounded, *owed], *duties, *fits))
    return bool(total and (not owed or follows([*bounded, *duties], *owed)))


# which kind, the terms of the dividend, and the divisor
_Division = tuple[str, frozenset[tuple[tuple[Expr, ...], int]], Expr]


class _Meaning(Struct):
    """Formulas for expressions.

    `sides` holds what else is true, such as what quotients are, and `bounds` that signed values fit their dtypes;
    `duties` what must be true for the expressions to have values.
    """

    session: Session
    owed: bool = False  # whether that values fit is a duty
    exact: bool = True  # whether formulas say all there is to say
    duties: list[Formula] = field(default_factory=lambda: list[Formula]())
    fits: list[Formula] = field(default_factory=lambda: list[Formula]())  # that values fit, where that is owed
    sides: list[Formula] = field(default_factory=lambda: list[Formula]())
    bounds: list[Formula] = field(default_factory=lambda: list[Formula]())
    _known: dict[Expr, Formula] = field(default_factory=lambda: dict[Expr, Formula]())
    _divisions: dict[_Division, tuple[Formula, Formula]] = field(
        default_factory=lambda: dict[_Division, tuple[Formula, Formula]]()
    )
    _sizes: dict[Expr, tuple[int, int]] = field(default_factory=lambda: dict[Expr, tuple[int, int]]())
    _reached: list[Formula] = field(default_factory=lambda: list[Formula]())

    @property
    def context(self) -> Any:
        return self.session.context

    def condition(self, expr: Expr) -> Formula:
        """The formula of a boolean expression.

        Raises:
            _NoFormulaError: there is none.
        """
        if expr.dtype is not DType.BOOL:
            raise _NoFormulaError
        return self._value(expr)

    def value(self, expr: Expr) -> Formula:
        """The formula of an integer or boolean expression.

        Raises:
            _NoFormulaError: there is none.
        """
        return self._value(expr)

    def take_duties(self) -> list[Formula]:
        """What must be true for the expressions so far to have values; those after this have duties of their own."""
        found, self.duties, self._known = self.duties, list[Formula](), dict[Expr, Formula]()
        return found

    def facts(self, given: Iterable[tuple[Expr, bool]]) -> list[Formula]:
        """What is given, as far as it has formulas. It was evaluated, so its divisors are not zero."""
        duties, self.duties = self.duties, list[Formula]()
        for expr, truth in given:
            try:
                value = self.condition(inline_calls(expr))
                self.duties.append(value if truth else _z3().Not(value))
            except _NoFormulaError:  # then less is known
                self.exact = False
        known, self.duties = self.duties, duties
        return known

    def _here(self, fact: Formula) -> Formula:
        """A fact about where the current part is evaluated."""
        lib = _z3()
        return lib.Implies(lib.And(*self._reached), fact) if self._reached else fact

    def _side(self, fact: Formula) -> None:
        self.sides.append(self._here(fact))

    def _under(self, cond: Formula, expr: Expr) -> Formula:
        """The value of a part that is evaluated only where a condition holds."""
        self._reached.append(cond)
        try:
            return self._value(expr)
        finally:
            self._reached.pop()

    def _value(self, expr: Expr) -> Formula:
        if self._reached:
            return self._translate(expr)  # its sides hold here only
        if expr not in self._known:
            self._known[expr] = self._translate(expr)
        return self._known[expr]

    def _translate(self, expr: Expr) -> Formula:
        lib = _z3()
        if expr.dtype.is_float:
            raise _NoFormulaError
        match cast(AnyExpr, expr):
            case Const(value=value, dtype=dtype):
                return self._number(int(value)) if dtype.is_integer else lib.BoolVal(bool(value), self.context)
            case Var(name=name, dtype=DType.BOOL):
                return lib.Bool(name, self.context)
            case Var(name=name):
                return self._variable(lib.Int(name, self.context), expr.dtype)
            case Select(cond=c, then=a, other=b):
                test = self._value(c)
                return lib.If(test, self._under(test, a), self._under(lib.Not(test), b))
            case Unary(op="bitnot") | Binary(op="bitand" | "bitor" | "bitxor"):
                return self._bitwise(expr)
            case Unary(op=op, operand=a):
                return self._unary(op, self._value(a), expr.dtype)
            case Cast(dtype=dtype, operand=a):
                return self._cast(self._value(a), a.dtype, dtype)
            case Binary(op="and", lhs=a, rhs=b):
                left = self._value(a)
                return lib.And(left, self._under(left, b))
            case Binary(op="or", lhs=a, rhs=b):
                left = self._value(a)
                return lib.Or(left, self._under(lib.Not(left), b))
            case Binary(op=op, lhs=a, rhs=b):
                return self._binary(op, a, b, expr.dtype)
            case Load() | Undef() | Call():
                raise _NoFormulaError  # two readings need not agree

    def _variable(self, value: Formula, dtype: DType) -> Formula:
        known = self.bounds if dtype.is_signed else self.sides
        known += [value >= dtype.min, value <= dtype.max]
        return value

    def _fitting(self, value: Formula, dtype: DType) -> Formula:
        known = self.fits if self.owed else self.bounds
        known += [self._here(value >= dtype.min), self._here(value <= dtype.max)]
        return value

    def _result(self, value: Formula, dtype: DType) -> Formula:
        """What arithmetic gives: wrapped if unsigned, within the range if signed, since all else is a fault."""
        return self._fitting(value, dtype) if dtype.is_signed else value % (dtype.max + 1)

    def _unary(self, op: str, a: Formula, dtype: DType) -> Formula:
        lib = _z3()
        match op:
            case "not":
                return lib.Not(a)
            case "neg":
                return self._result(-a, dtype)
            case "abs":
                return self._result(lib.If(a < 0, -a, a), dtype)
            case "popcount" | "clz":  # no more is said of them than how large they are
                integers = lib.IntSort(self.context)
                count = lib.Function(f"{op} of {dtype}", integers, integers)(a)
                self.sides += [count >= 0, count <= dtype.bits]
                return count
            case _:
                raise _NoFormulaError

    def _cast(self, a: Formula, source: DType, dtype: DType) -> Formula:
        lib = _z3()
        if source.is_float:
            raise _NoFormulaError
        if dtype is DType.BOOL:
            return a if source is DType.BOOL else a != 0
        if source is DType.BOOL:
            return lib.If(a, self._number(1), self._number(0))
        if dtype.min <= source.min and source.max <= dtype.max:
            return a
        return (a - dtype.min) % (dtype.max - dtype.min + 1) + dtype.min

    def _binary(self, op: str, lhs: Expr, rhs: Expr, dtype: DType) -> Formula:
        lib = _z3()
        if lhs.dtype.is_float:
            raise _NoFormulaError
        a, b = self._value(lhs), self._value(rhs)
        match op:
            case "eq":
                return a == b
            case "ne":
                return a != b
            case "lt" | "le" | "gt" | "ge" if lhs.dtype is DType.BOOL:
                raise _NoFormulaError
            case "lt":
                return a < b
            case "le":
                return a <= b
            case "gt":
                return a > b
            case "ge":
                return a >= b
            case "min":
                return lib.If(a <= b, a, b)
            case "max":
                return lib.If(a >= b, a, b)
            case "add":
                return self._result(a + b, dtype)
            case "sub":
                return self._result(a - b, dtype)
            case "mul":
                return self._result(self._product(lhs, rhs, a, b), dtype)
            case "floordiv" | "floormod" | "truncdiv" | "truncmod":
                return self._divide(op, lhs, rhs, a, b)
            case "shl" | "shr":
                return self._shifted(op, a, b, rhs, dtype)
            case _:
                raise _NoFormulaError

    def _product(self, lhs: Expr, rhs: Expr, a: Formula, b: Formula) -> Formula:
        (few, low), (many, high) = sorted((self._expanded(lhs), self._expanded(rhs)))
        if few * many <= _MAX_MONOMIALS and low + high <= _MAX_DEGREE:
            return a * b
        return self._unknown("product", a, b)

    def _number(self, value: int) -> Formula:
        return _z3().IntVal(value, self.context)

    def _unknown(self, name: str, *operands: Formula) -> Formula:
        """The number that a function gives, of which nothing is said."""
        self.exact = False
        number = _z3().IntSort(self.context)
        return _z3().Function(f"{name} of {len(operands)}", *[number] * (len(operands) + 1))(*operands)

    def _expanded(self, expr: Expr) -> tuple[int, int]:
        """How many monomials, of which degree, the sum of products has that an expression is; what is none is one."""
        if expr not in self._sizes:
            match expr:
                case Const():
                    self._sizes[expr] = (1, 0)
                case Unary(op="neg", operand=a):
                    self._sizes[expr] = self._expanded(a)
                case Binary(op="add" | "sub" | "mul" as op, lhs=a, rhs=b) if expr.dtype.is_signed:
                    (n, d), (m, e) = self._expanded(a), self._expanded(b)
                    whole = (n * m, d + e) if op == "mul" else (n + m, max(d, e))
                    large = op == "mul" and (whole[0] > _MAX_MONOMIALS or whole[1] > _MAX_DEGREE)
                    self._sizes[expr] = (1, 1) if large else whole
                case _:
                    self._sizes[expr] = (1, 1)
        return self._sizes[expr]

    def _divide(self, op: str, lhs: Expr, rhs: Expr, a: Formula, b: Formula) -> Formula:
        """Quotient or remainder: a = q * b + r, with r on the divisor's side of zero, or on the dividend's."""
        if isinstance(rhs, Const) and int(rhs.value) > 0 and op.startswith("floor"):
            return a / b if op == "floordiv" else a % b  # z3 rounds down where the divisor is positive
        self.duties.append(self._here(b != 0))
        if op.startswith("floor"):
            quotient, rest = self._floored(lhs, rhs, b)
        else:
            quotient, rest = self._unknown_quotient("trunc", frozenset({((lhs,), 1)}), rhs, a, b)
        return self._fitting(quotient, lhs.dtype) if op.endswith("div") else rest

    def _floored(self, lhs: Expr, rhs: Expr, b: Formula) -> tuple[Formula, Formula]:
        """Quotient and remainder that floor; multiples of the divisor, and remainders by it, add no unknowns."""
        whole, left, inner = self._taken_out(lhs, rhs)
        quotient, rest = self._number(0), self._number(0)
        if left:
            quotient, rest = self._unknown_quotient("floor", frozenset(left.items()), rhs, self._sum(left), b)
        for dividend, count in inner:  # nothing computes these quotients, so none need fit a dtype
            quotient = quotient - count * self._floored(dividend, rhs, b)[0]
        return (quotient + self._sum(whole) if whole else quotient), rest

    def _taken_out(self, lhs: Expr, rhs: Expr) -> tuple[Polynomial, Polynomial, list[tuple[Expr, int]]]:
        """What multiples of a divisor in a dividend add to the quotient, and the other terms of the dividend.

        A term `x % m` stands there as x, which is more by the quotient of x: these x, and how often, come third.
        """
        divisor, terms = polynomial(rhs), polynomial(lhs)
        whole: Polynomial = {}
        inner: list[tuple[Expr, int]] = []
        if len(divisor) != 1 or not lhs.dtype.is_signed:
            return {}, {(lhs,): 1}, []
        for _ in range(_MAX_DEGREE):
            more, terms = divided(terms, divisor)
            whole = summed((*whole.items(), *more.items()))
            alone = [(m[0], c) for m, c in terms.items() if len(m) == 1]
            rests = [(e, c) for e, c in alone if isinstance(e, Binary) and e.op == "floormod" and e.rhs.same(rhs)]
            if not rests:
                break
            inner += [(e.lhs, c) for e, c in rests]
            plain = [(k, c * d) for e, c in rests for k, d in polynomial(e.lhs).items()]
            terms = summed((*terms.items(), *(((e,), -c) for e, c in rests), *plain))
        fits = max(map(len, (*whole, *terms)), default=0) <= _MAX_DEGREE
        return (whole, terms, inner) if fits else ({}, {(lhs,): 1}, [])

    def _sum(self, terms: Polynomial) -> Formula:
        """The formula of a sum of products."""
        total = self._number(0)
        for factors, count in terms.items():
            total = total + reduce(lambda x, e: x * self._value(e), factors, self._number(count))
        return total

    def _unknown_quotient(
        self, op: str, terms: frozenset[tuple[tuple[Expr, ...], int]], rhs: Expr, a: Formula, b: Formula
    ) -> tuple[Formula, Formula]:
        lib = _z3()
        key = (op, terms, rhs)
        if key not in self._divisions:
            alike = [q for (_, _, other), (q, _) in self._divisions.items() if other.same(rhs)][:_ALIKE]
            self._divisions[key] = tuple(
                lib.Int(f"{what} {len(self._divisions)}", self.context) for what in ("quotient", "rest")
            )
            self._apart(b, self._divisions[key][0], alike)
        quotient, rest = self._divisions[key]
        side = b if op == "floor" else a
        signs = lib.If(side >= 0, rest >= 0, rest <= 0)
        below = lib.If(b > 0, lib.And(rest < b, rest > -b), lib.And(rest > b, rest < -b))
        self._side(lib.Implies(b != 0, lib.And(a == quotient * b + rest, signs, below)))
        return quotient, rest

    def _apart(self, b: Formula, quotient: Formula, others: Iterable[Formula]) -> None:
        """Say that quotients that differ are a divisor apart, which z3 does not see in products of unknowns.

        So are one and the negative of another one, as in rounding up, `x + -x % n`.
        """
        lib = _z3()
        for other in (o for found in others for o in (found, -found)):
            for more, less in ((quotient, other), (other, quotient)):
                apart = lib.If(b > 0, more * b >= less * b + b, more * b <= less * b + b)
                self.sides.append(lib.Implies(lib.And(b != 0, more > less), apart))

    def _shifted(self, op: str, a: Formula, b: Formula, by: Expr, dtype: DType) -> Formula:
        if not isinstance(by, Const):
            return self._shift(op, a, b, dtype)
        if not 0 <= int(by.value) < dtype.bits:
            raise _NoFormulaError
        factor = 2 ** int(by.value)
        return a / factor if op == "shr" else self._result(a * factor, dtype)

    def _bitwise(self, expr: Expr) -> Formula:
        """Bit by bit, operations of `and`, `or`, `xor` and complement are sums of multiples of bits in common.

        (As for mixed Boolean arithmetic, Zhou, Main, Gu, Johnson, "Information Hiding in Software with Mixed
        Boolean-Arithmetic Transforms", WISA 2007.)
        """
        atoms = sorted(dict.fromkeys(_bit_operands(expr)), key=to_script)
        if len(atoms) > _MAX_BIT_OPERANDS:
            atoms = list(dict.fromkeys(children(expr)))
        values = [self._value(e) for e in atoms]
        sets = range(1 << len(atoms))
        factors = [_bit(expr, {e: k >> n & 1 for n, e in enumerate(atoms)}) for k in sets]
        for n in range(len(atoms)):  # what a set of operands adds to its subsets (Moebius)
            factors = [f - factors[k ^ 1 << n] if k >> n & 1 else f for k, f in zip(sets, factors, strict=True)]
        total: Formula = self._number(factors[0] * (-1 if expr.dtype.is_signed else expr.dtype.max))
        for k in (k for k in sets[1:] if factors[k]):
            chosen = [n for n in range(len(atoms)) if k >> n & 1]
            total = total + factors[k] * self._common([atoms[n] for n in chosen], [values[n] for n in chosen])
        if isinstance(expr, Binary) and expr.op != "bitand" and not any(isinstance(e, Const) for e in atoms):
            a, b = self._value(expr.lhs), self._value(expr.rhs)
            self._no_new_bits(a, b, total, expr.dtype)
        return total if expr.dtype.is_signed else self._bounded(total, expr.dtype)

    def _common(self, exprs: list[Expr], values: list[Formula]) -> Formula:
        """The bits that numbers have in common: a mask of one, or a number of which little is said."""
        lib = _z3()
        masks = [int(e.value) for e in exprs if isinstance(e, Const)]
        rest = [v for e, v in zip(exprs, values, strict=True) if not isinstance(e, Const)]
        mask = reduce(lambda a, b: a & b, masks, -1)
        if not rest:
            return self._number(mask)
        if len(rest) == 1:
            return self._and_mask(rest[0], mask, exprs[0].dtype)
        if masks:
            rest.append(self._number(mask))
        found = self._unknown("bits in common", *rest)
        self._side(found == self._unknown("bits in common", *reversed(rest)))
        for value in rest:
            self._side(lib.Implies(value >= 0, lib.And(found >= 0, found <= value)))
        self._side(lib.Implies(lib.And(*(v < 0 for v in rest)), lib.And(found < 0, *(found <= v for v in rest))))
        self._side(lib.Implies(lib.And(*(v == rest[0] for v in rest[1:])), found == rest[0]))
        return found

    def _no_new_bits(self, a: Formula, b: Formula, union: Formula, dtype: DType) -> None:
        """Say that no bit is set that neither of two numbers has room for."""
        lib = _z3()
        for bits in range(1, dtype.bits):  # in the dtype itself is said of unsigned ones anyway
            small = lib.And(a >= 0, b >= 0, a < 2**bits, b < 2**bits)
            self._side(lib.Implies(small, union < 2**bits))

    def _shift(self, op: str, a: Formula, b: Formula, dtype: DType) -> Formula:
        """A shift by an unknown: a number of which little is said; outside of the width it is a fault."""
        lib = _z3()
        found = self._unknown(f"{op} of {dtype}", a, b)
        self.duties.append(self._here(lib.And(b >= 0, b < dtype.bits)))
        near, far = (found, a) if op == "shr" else (a, found)  # the one that is nearer to zero
        if op == "shr" or dtype.is_signed:
            self._side(lib.Implies(a >= 0, lib.And(near >= 0, near <= far)))
            self._side(lib.Implies(a < 0, lib.And(near < 0, near >= far)))
            for by in range(dtype.bits):
                value = a / 2**by if op == "shr" else a * 2**by
                self._side(lib.Implies(b == by, found == value))
        return self._fitting(found, dtype) if dtype.is_signed else self._bounded(found, dtype)

    def _bounded(self, value: Formula, dtype: DType) -> Formula:
        self.sides += [value >= 0, value <= dtype.max]
        return value

    def _and_mask(self, a: Formula, mask: int, dtype: DType) -> Formula:
        """`a & mask`, run of ones by run of ones; a negative mask leaves what its complement takes."""
        if mask < 0:
            return a - self._and_mask(a, -mask - 1, dtype)
        total: Formula = self._number(0)
        bit = 0
        while mask >> bit:
            if mask >> bit & 1:
                end = bit
                while mask >> end & 1:
                    end += 1
                total = total + (a / 2**bit) % 2 ** (end - bit) * 2**bit
                bit = end
            bit += 1
        return total


_BITWISE = ("bitand", "bitor", "bitxor", "bitnot")


def _bit_operands(expr: Expr) -> Iterator[Expr]:
    """What operations on bits are made of."""
    if isinstance(expr, (Unary, Binary)) and expr.op in _BITWISE:
        for part in children(expr):
            yield from _bit_operands(part)
    else:
        yield expr


def _bit(expr: Expr, bits: Mapping[Expr, int]) -> int:
    """A bit of an operation on bits, by those of its operands."""
    if expr in bits:
        return bits[expr]
    a, *rest = (_bit(part, bits) for part in children(expr))
    match expr:
        case Unary():
            return 1 - a
        case Binary(op="bitand"):
            return a & rest[0]
        case Binary(op="bitor"):
            return a | rest[0]
        case _:
            return a ^ rest[0]
