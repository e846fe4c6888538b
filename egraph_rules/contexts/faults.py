"""What cannot fault where: statements and expressions that may run though the program does not run them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never, cast

from msgspec.structs import replace

from egraph_rules.contexts.facts import IMPOSSIBLE, NO_PERMISSION
from egraph_rules.contexts.values import Value, Values
from ir.functions import inlined
from ir.nodes import (
    BIT_COUNTS,
    Alloc,
    AnyExpr,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Call,
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
    Undef,
    Var,
)  # fmt: skip
from ir.operators import admits
from ir.traverse import is_fixed

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts


class Faults:
    """Answers for all contexts of one search."""

    def __init__(self, contexts: Contexts, values: Values) -> None:
        self._contexts = contexts
        self._values = values
        self._harmless_stmts: dict[tuple[int, int], tuple[Stmt, bool]] = {}  # by id, so that they must live as long
        self._total_exprs: dict[tuple[int, Expr], bool] = {}

    def harmless(self, facts: int, stmt: Stmt) -> bool:
        """Whether running a statement cannot fault, so that it may run where it did not run before."""
        if facts == IMPOSSIBLE:
            return True
        key = facts, id(stmt)
        if key not in self._harmless_stmts:
            self._harmless_stmts[key] = stmt, self._harmless(facts, stmt)
        return self._harmless_stmts[key][1]

    def _harmless(self, facts: int, stmt: Stmt) -> bool:
        match cast(AnyStmt, stmt):
            case Store(buffer=buffer, indices=indices, value=value):
                addressable = all(self.decided(facts, i) for i in indices) and self._contexts.in_bounds(
                    facts, buffer, indices
                )
                return addressable and self.total(facts, value)
            case Seq(stmts=()):
                return True
            case Seq(stmts=(first, second)):
                between = self._contexts.sequence(facts, NO_PERMISSION, first, second)[0]
                return self.harmless(facts, first) and self.harmless(between, second)
            case Seq():
                return False  # canonical sequences have two parts
            case If(cond=cond, then=yes, other=no):
                return (
                    self.decided(facts, cond)
                    and self.harmless(self._contexts.assume(facts, cond, True), yes)
                    and self.harmless(self._contexts.assume(facts, cond, False), no)
                )
            case For() as loop:
                inside = self._contexts.loop(facts, NO_PERMISSION, loop)[0]
                bounds = self.decided(facts, loop.start) and self.decided(facts, loop.extent)
                return bounds and self.harmless(inside, loop.body)
            case Let() as let:
                return self.total(facts, let.value) and self.harmless(self._contexts.let(facts, let), let.body)
            case Alloc() as alloc:
                return self.harmless(self._contexts.alloc(facts, NO_PERMISSION, alloc)[0], alloc.body)
            case Assume(cond=cond):
                return self._contexts.truth(facts, cond) is True
            case Assert(cond=cond):
                return self.decided(facts, cond) and self._contexts.truth(facts, cond) is True
            case Evaluate(value=value):
                return self.total(facts, value)
            case Block(body=body):
                return self.harmless(facts, body)
            case other:
                assert_never(other)

    def decided(self, facts: int, expr: Expr) -> bool:
        """Whether an expression cannot fault and cannot be undef: what indices, extents and conditions need."""
        return self.total(facts, expr) and self._values.defined(facts, expr)

    def total(self, facts: int, expr: Expr) -> bool:
        """Whether evaluating an expression cannot fault."""
        if not isinstance(expr, Binary):
            return self._is_total(facts, expr)
        key = facts, expr  # of a chain, every part is asked about for itself
        if key not in self._total_exprs:
            self._total_exprs[key] = self._is_total(facts, expr)
        return self._total_exprs[key]

    def _is_total(self, facts: int, expr: Expr) -> bool:
        match cast(AnyExpr, expr):
            case Const() | Var() | Undef():
                return True
            case Load(indices=indices):
                return all(self.decided(facts, i) for i in indices)
            case Call() as call:
                body = inlined(_for_any_data(call, [self._values.of(facts, a) for a in call.args]))
                return all(self.total(facts, a) for a in call.args) and self.total(facts, body)
            case Select(cond=c, then=a, other=b):
                arms = ((self._contexts.assume(facts, c, truth), arm) for truth, arm in ((True, a), (False, b)))
                return self.decided(facts, c) and all(p == IMPOSSIBLE or self.total(p, arm) for p, arm in arms)
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                # Where the left operand is undef the right one is evaluated too, without knowing anything of it.
                known = self._values.defined(facts, a)
                inside = self._contexts.assume(facts, a, op == "and") if known else facts
                return self.total(facts, a) and (inside == IMPOSSIBLE or self.total(inside, b))
            case Cast(dtype=dtype, operand=a):
                fits = dtype.is_float or not a.dtype.is_float or isinstance(self._values.of(facts, expr), Const)
                return fits and self.total(facts, a)
            case Unary(op=op, operand=a):
                exact = (
                    expr.dtype.is_float
                    or op in ("not", "bitnot", *BIT_COUNTS)
                    or isinstance(self._values.of(facts, expr), Const)
                )
                return (exact or self._contexts.fits(facts, expr)) and self.total(facts, a)
            case Binary() as node:
                parts = self.total(facts, node.lhs) and self.total(facts, node.rhs)
                return parts and self._operator_total(facts, node)
            case other:
                assert_never(other)

    def _operator_total(self, facts: int, expr: Binary) -> bool:
        a, b = expr.lhs, expr.rhs
        if (
            a.dtype.is_float
            or expr.dtype.kind.value == "bool"
            or expr.op in ("min", "max", "bitand", "bitor", "bitxor")
        ):
            return True
        if self._operand_decides(facts, expr):
            return True
        needed = admits(expr)
        if needed is not None and self._contexts.truth(facts, needed) is not True:
            return False
        if expr.op in ("floordiv", "truncdiv"):
            return self._cannot_be(facts, b, -1)
        if expr.op in ("floormod", "truncmod", "shr"):
            return True
        return not expr.dtype.is_signed or self._contexts.fits(facts, expr)  # unsigned arithmetic wraps

    def _cannot_be(self, facts: int, expr: Expr, value: int) -> bool:
        return not expr.dtype.is_signed or self._contexts.truth(facts, expr != value) is True

    def _operand_decides(self, facts: int, expr: Binary) -> bool:
        """Whether known operands leave no fault: all are known, one is neutral or absorbing, one of a sum is undef.

        An undef operand makes an undef result, which cannot overflow.
        """
        if isinstance(self._values.of(facts, expr), Const):
            return True
        operands = self._values.of(facts, expr.lhs), self._values.of(facts, expr.rhs)
        if expr.op in ("add", "sub", "mul") and any(isinstance(v, Undef) for v in operands):
            return True
        return any(s.role == "neutral" for s, _ in self._values.special(expr, operands))


def _for_any_data(call: Call, values: Sequence[Value | None]) -> Call:
    """A call with variables of any value for what comes from data and is not known to have one of `values`.

    Undef makes it do what all values do, or less.
    """
    args = (
        value if isinstance(value, Const) else a if is_fixed(a) else Var(f"?{k}", a.dtype)
        for k, (a, value) in enumerate(zip(call.args, values, strict=True))
    )
    return replace(call, args=tuple(args))
