"""Reductions that start from an element of their own: `m = x[0]`, then the largest of m and all x[j].

Array code takes the element out for itself, which costs a pass of its own. A start that is among the elements changes
nothing where the operator is idempotent; one that stands just before or behind them becomes one of them.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from ir.nodes import Binary, Call, Cast, Expr, Load, Select, Unary, Var
from ir.traverse import children, free_vars, has_loads
from lower.analysis.linear_forms import Linear
from lower.array.access import Bounds
from lower.array.job import Job
from lower.array.reduce import IDEMPOTENT_OPS
from lower.array.views import Axis

_COMMUTATIVE = frozenset((*IDEMPOTENT_OPS, "add", "mul", "bitxor"))


class Start(Struct, frozen=True):
    """What a buffer was last set to, by the line before `at` or a store held back since then."""

    job: Job
    at: int
    number: int


def with_start(job: Job, start: Job, bounds: Bounds) -> Job | None:
    """A job that does what it does after another has set what it updates, without looking at that; None if none."""
    reduced = job.reduced()
    if job.op not in _COMMUTATIVE or job.guards or start.guards or not reduced:
        return None
    found: dict[Var, Linear] = {}
    if not _found(job.value, start.value, {a.var for a in reduced}, bounds, found):
        return None
    if job.op in IDEMPOTENT_OPS and all(_inside(a, found.get(a.var, a.low), bounds) for a in reduced):
        return job
    if len(reduced) == 1 and reduced[0].var in found:
        (axis,) = reduced
        at = found[axis.var]
        if at.equals(axis.low - 1):
            return job.with_axis(axis, replace(axis, low=at, extent=axis.extent + 1))
        if at.equals(axis.low + axis.extent):
            return job.with_axis(axis, replace(axis, extent=axis.extent + 1))
    return None


def _inside(axis: Axis, at: Linear, bounds: Bounds) -> bool:
    return bounds.within(at - axis.low, axis.extent)


def _found(expr: Expr, other: Expr, names: Collection[Var], bounds: Bounds, found: dict[Var, Linear]) -> bool:
    """Whether an expression is another one where variables have certain values, which are added to `found`."""
    if expr.dtype is not other.dtype:
        return False
    if not free_vars(expr) & set(names):
        return expr.same(other)
    if expr.dtype.is_integer and not has_loads(expr):
        return _solved(bounds.linear(expr) - bounds.linear(other), names, found)
    parts, others = children(expr), children(other)
    return (
        _same_node(expr, other)
        and len(parts) == len(others)
        and all(_found(a, b, names, bounds, found) for a, b in zip(parts, others, strict=True))
    )


def _same_node(expr: Expr, other: Expr) -> bool:
    match expr, other:
        case (Load(buffer=a), Load(buffer=b)):
            return a == b
        case (Binary(op=a), Binary(op=b)) | (Unary(op=a), Unary(op=b)):
            return a == b
        case (Call(function=a), Call(function=b)):
            return a is b
        case (Cast(), Cast()) | (Select(), Select()):
            return True
        case _:
            return False


def _solved(difference: Linear, names: Collection[Var], found: dict[Var, Linear]) -> bool:
    """Whether a difference vanishes for one value of the variables in it, given those that are known."""
    inside = [t for t in difference.terms if free_vars(t) & set(names)]
    if len(inside) != 1 or not isinstance(inside[0], Var) or abs(difference.terms[inside[0]]) != 1:
        return False
    var = inside[0]
    value = difference.without([var]) * -difference.terms[var]
    return found.setdefault(var, value).equals(value)
