"""What one element of a statement costs on a target, and about how many iterations a loop has."""

from __future__ import annotations

from egraph_rules.cost.target import Target, operator_cost
from ir.analysis.dependence import Statement
from ir.nodes import Binary, Expr, Load, Unary
from ir.traverse import children
from lower.analysis.linear_forms import Linear
from lower.nest.nodes import Box


def extent(box: Box | None, target: Target) -> float:
    """About how many iterations a loop has."""
    return float(max(_number(box.extent, target), 0)) if box is not None else float(target.default_extent)


def _number(form: Linear, target: Target) -> int:
    return form.const if form.is_const else target.default_extent


def element(statement: Statement, target: Target) -> float:
    """The price of one element."""
    return target.store + sum(work(e, target) for e in (statement.store.value, *statement.guards))


def work(expr: Expr, target: Target) -> float:
    """The price of an expression for one element."""
    match expr:
        case Load(indices=indices):
            return target.load + target.index * sum(work(i, target) for i in indices)
        case Binary() | Unary():
            own = operator_cost(target, expr.op)
        case _:
            own = 0.0
    return own + sum(work(e, target) for e in children(expr))
