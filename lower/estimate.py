"""What a plan costs on a target, in the units of its price table: sequential steps against array work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from egraph_rules.cost import Target, operator_cost
from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Load, Unary, Var
from ir.traverse import free_vars, loads, walk_expr
from lower.linear import Linear
from lower.nest import ArrayStatement, BlockedLoop, Box, Node, Recurrence, SequentialLoop, Solve

_NOTHING: Mapping[Var, int] = {}


def estimate(
    nodes: Iterable[Node],
    boxes: Mapping[Loop, Box],
    target: Target,
    steps: float = 1.0,
    typical: Mapping[Var, int] = _NOTHING,
) -> float:
    """The price of nodes that run `steps` times; `typical` are values of what is a number while tracing."""
    total = 0.0
    for node in nodes:
        if isinstance(node, SequentialLoop):
            times = steps * extent(boxes.get(node.loop), target, typical)
            total += times * target.step + estimate(node.body, boxes, target, times, typical)
        elif isinstance(node, BlockedLoop):
            count = extent(boxes.get(node.loop), target, typical)
            low = boxes[node.loop].low
            inside = {**typical, **middle(node.low, node.high, low, int(count), node.width)}
            total += estimate(node.body, boxes, target, steps * math.ceil(count / node.width), inside)
        elif isinstance(node.scan, Solve):
            total += steps * (target.launch + _system(node.scan, node.axes, boxes, target, typical))
        elif node.axes:
            scan = target.scan if isinstance(node.scan, Recurrence) else 1.0
            total += steps * (target.launch + scan * _elements(node, boxes, target, typical))
        else:
            total += steps * target.scalar * _work(node.statement, target)
    return total


def middle(low: Var, high: Var, start: Linear, extent: int, width: int) -> dict[Var, int]:
    """The bounds of a block in the middle of a loop."""
    first = start.const + max(extent - width, 0) // 2
    return {low: first, high: first + width}


def _elements(node: ArrayStatement, boxes: Mapping[Loop, Box], target: Target, typical: Mapping[Var, int]) -> float:
    """The price of an array statement's elements; in a sum of products only results are moved."""
    statement = node.statement
    used = {v for i in statement.store.indices for v in free_vars(i)}
    kept = reduced = 1.0
    for loop in node.axes:
        if loop.var in used:
            kept *= extent(boxes.get(loop), target, typical)
        else:
            reduced *= extent(boxes.get(loop), target, typical)
    match statement.update:
        case ("add" | "sub", Binary(op="mul") as product) if reduced > 1.0:
            moved = sum(_touched(load, node.axes, boxes, target, typical) for load in loads(product)) * target.load
            return kept * (_work(statement, target) + reduced * target.contraction) + moved
        case _:
            return kept * reduced * _work(statement, target)


def _system(
    solve: Solve, axes: Iterable[Loop], boxes: Mapping[Loop, Box], target: Target, typical: Mapping[Var, int]
) -> float:
    """The price of a triangular system: half a product with the matrix, which is read once."""
    rows = extent(boxes.get(solve.loop), target, typical)
    columns = math.prod(extent(boxes.get(a), target, typical) for a in axes if a is not solve.loop)
    return rows * (rows + 2 * columns) * target.load + rows * rows * columns * target.contraction


def _touched(
    load: Load, axes: Iterable[Loop], boxes: Mapping[Loop, Box], target: Target, typical: Mapping[Var, int]
) -> float:
    """How many elements a load reads over axes."""
    used = {v for i in load.indices for v in free_vars(i)}
    return math.prod(extent(boxes.get(loop), target, typical) for loop in axes if loop.var in used)


def extent(box: Box | None, target: Target, typical: Mapping[Var, int] = _NOTHING) -> float:
    """About how many iterations a loop has."""
    return float(max(_number(box.extent, target, typical), 0)) if box is not None else float(target.default_extent)


def _number(form: Linear, target: Target, typical: Mapping[Var, int]) -> int:
    total = form.const
    for term, c in form.terms.items():
        if not isinstance(term, Var) or term not in typical:
            return target.default_extent
        total += c * typical[term]
    return total


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
