"""Sums over all positions up to one, or from one on, as sums of prefixes: each is the one beside it and a term."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.floats import Floats
from ir.nodes import Binary, Expr
from ir.traverse import free_vars
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import NUMBERS, Form
from lower.analysis.linear_forms import Linear, linear
from lower.array.access import indexed
from lower.array.values import Value
from lower.array.views import Axis
from lower.program.build import ALL, between, call
from lower.program.nodes import JaxExpr

PREFIXES = Form(
    "instructions.prefix_sum",
    "B[i] = sum of e(k) over k <= i + c  =  cumulative sum of e",
    "each sum is the one before it and a term",
    Floats.REASSOCIATE | NUMBERS,
)


class Prefixes(Struct, frozen=True):
    """Sums of terms over `axis` for each position of `result`: of the first `fewest` terms at its first position and
    one more at each other one, up to `most`; `backward`: of so many of the last terms, most at its first position."""

    axis: Axis
    result: Axis
    fewest: int
    most: int
    backward: bool

    def written(self, terms: Value) -> Value:
        """Code of the sums of terms that have the axis as their last one."""
        before = [ALL] * (len(terms.axes) - 1)
        code, rest = terms.code, self.axis.extent.const - self.most
        if rest:  # what nobody adds up may be no number
            code = indexed(code, [*before, between(rest, None) if self.backward else between(None, self.most)])
        sums: JaxExpr = call("prefix_sums", call("jnp.flip", code, -1) if self.backward else code)
        if self.fewest > 1:
            sums = indexed(sums, [*before, between(self.fewest - 1, None)])
        elif not self.fewest:
            sums = call("jnp.pad", sums, (*[(0, 0)] * len(before), (1, 0)))
        return Value(call("jnp.flip", sums, -1) if self.backward else sums, (*terms.axes[:-1], self.result))


def prefixes(
    cond: Expr, terms: Sequence[Axis], reduced: Sequence[Axis], order: Sequence[Axis], target: Target
) -> Prefixes | None:
    """How a sum of terms over axes where a condition holds is one of prefixes, if it is and that is cheaper."""
    results = [a for a in order if a.var in free_vars(cond) and a not in reduced]
    axes = (*reduced, *results)
    if len(axes) != 2 or results[0] in terms or reduced[0] not in terms:
        return None
    if not all(a.is_fixed for a in (*axes, *terms)):
        return None
    form, (axis, result) = _no_less_than_zero(cond), axes
    sign = 0 if form is None else form.terms.get(axis.var, 0)
    if form is None or abs(sign) != 1 or form.terms.get(result.var) != -sign or len(form.terms) != 2:
        return None
    backward, length = sign > 0, axis.extent.const
    first, last = result.low.const, result.low.const + result.extent.const - 1
    if backward:  # of the terms from `place - form.const` on
        fewest, most = (axis.low.const + length + form.const - place for place in (last, first))
    else:
        fewest, most = (place + form.const + 1 - axis.low.const for place in (first, last))
    if fewest < 0 or most > length:
        return None
    rows = prod(a.extent.const for a in terms) / length
    found = operations.prefixes(target, length, rows)
    masked = operations.prefixes_by_masks(target, length, result.extent.const, rows)
    return Prefixes(axis, result, fewest, most, backward) if cheaper("prefix sums", found, masked) else None


def _no_less_than_zero(cond: Expr) -> Linear | None:
    """What is not negative just where a comparison of integers holds."""
    match cond:
        case Binary(op="lt" | "le" | "gt" | "ge" as op, lhs=a, rhs=b) if a.dtype.is_integer and a.dtype.is_signed:
            less, more = (a, b) if op in ("lt", "le") else (b, a)
            return linear(more) - linear(less) - (1 if op in ("lt", "gt") else 0)
        case _:
            return None
