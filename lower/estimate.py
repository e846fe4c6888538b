"""What a plan costs on a target, in the units of its price table: sequential steps against array work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from egraph_rules.cost import Target, operator_cost
from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Load, Unary
from ir.traverse import walk_expr
from lower.linear import Linear
from lower.nest import Box, Node, SequentialLoop


def estimate(nodes: Iterable[Node], boxes: Mapping[Loop, Box], target: Target, steps: float = 1.0) -> float:
    """The price of nodes that run `steps` times."""
    total = 0.0
    for node in nodes:
        if isinstance(node, SequentialLoop):
            times = steps * extent(boxes.get(node.loop), target)
            total += times * target.step + estimate(node.body, boxes, target, times)
        elif node.axes:
            volume = 1.0
            for loop in node.axes:
                volume *= extent(boxes.get(loop), target)
            total += steps * (target.launch + volume * _work(node.statement, target))
        else:
            total += steps * target.scalar * _work(node.statement, target)
    return total


def extent(box: Box | None, target: Target) -> float:
    """About how many iterations a loop has."""
    return float(max(_number(box.extent, target), 0)) if box is not None else float(target.default_extent)


def _number(form: Linear, target: Target) -> int:
    return form.const if form.is_const else target.default_extent


def _work(statement: Statement, target: Target) -> float:
    """The price of one element."""
    total = target.store
    for expr in (statement.store.value, *statement.guards):
        for e in walk_expr(expr):
            if isinstance(e, Load):
                total += target.load
            elif isinstance(e, Binary | Unary):
                total += operator_cost(target, e.op)
    return total
