"""Loop reversal: axes along which a statement stores from the last element to the first run the other way.

What runs along an axis is calculated at once, in any order. Arrays that are read and stored backward would be reversed
in memory, each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Expr, Var
from ir.traverse import free_vars, map_expr, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, linear, to_expr
from lower.nest.nodes import ArrayStatement, Box, Node, Plan, SequentialLoop, Versions
from lower.nest.normalize import Program, mapped

LOOP_REVERSAL = Form(
    "structure.loop_reversal",
    "for i in n: A[n - 1 - i] = f(B[n - 1 - i])  =  for i in n: A[i] = f(B[i])",
    "the iterations do not depend on each other, so that they may run in any order",
)


def forward(program: Program, plan: Plan, target: Target) -> Plan:
    """The plan with axes that run along what is stored, where fewer arrays are reversed then."""
    boxes, turned, mirrors = dict(plan.boxes), dict[Loop, Loop](), dict[Loop, Linear]()
    copied = {loop for loops in plan.expanded.values() for loop in loops}

    def changed(node: Node) -> Node:
        match node:
            case SequentialLoop():
                return node if node.phases else replace(node, body=tuple(map(changed, node.body)))
            case Versions():
                return replace(node, fast=tuple(map(changed, node.fast)), exact=tuple(map(changed, node.exact)))
            case ArrayStatement():
                backward = (
                    [] if node.scan is not None or node.statement.tile is not None else _backward(node, copied, boxes)
                )
                for axis in backward:
                    if axis not in turned:
                        turned[axis], mirrors[axis] = _reversed(axis, boxes[axis], node.statement.store.indices)
                        boxes[turned[axis]] = boxes[axis]
                    node = _turned(node, axis, turned[axis], mirrors[axis])
                return node

    return replace(plan, nodes=tuple(map(changed, plan.nodes)), boxes=boxes)


def _backward(node: ArrayStatement, copied: Collection[Loop], boxes: Mapping[Loop, Box]) -> list[Loop]:
    """The axes that a statement stores backward along, and reads more arrays backward along than forward."""
    statement = node.statement
    bounds = free_vars(*(e for o in statement.loops for e in (o.start, o.extent)))
    read = {load.indices for load in statement.operands()}
    if statement.guards or any(not boxes[a].exact for a in node.axes if a in boxes):
        read.add(statement.store.indices)  # where it is not stored to, it stays
    return [
        axis
        for axis in node.axes
        if axis in boxes
        and axis not in copied
        and axis.var not in bounds
        and _direction(statement.store.indices, axis.var) == -1
        and sum(_direction(indices, axis.var) for indices in read) <= 0
        and any(_direction(indices, axis.var) < 0 for indices in read)
    ]


def _direction(indices: Collection[Expr], var: Var) -> int:
    """1 or -1 where a variable moves the place in one dimension by one element forward or backward, else 0."""
    forms = [form for form in map(linear, indices) if any(var in free_vars(term) for term in form.terms)]
    step = forms[0].slope(var) if len(forms) == 1 else 0
    return step if abs(step) == 1 else 0


def _reversed(axis: Loop, box: Box, stored: Collection[Expr]) -> tuple[Loop, Linear]:
    """A loop over the same values in the mirrored order, and what a value and its mirror image add up to.

    A loop that ends elsewhere in each step is mirrored in its own range where what it stores then stays in place, as in
    `A[k - i]` for i up to k, else in the box around all of them.
    """
    whole = box.low * 2 + box.extent - 1
    if box.exact:
        return replace(axis), whole
    own = linear(axis.start) * 2 + linear(axis.extent) - 1
    along = [form for form in map(linear, stored) if form.slope(axis.var) == -1]
    if not own.has_loads() and all((form + linear(axis.var) - own).is_const for form in along):
        return replace(axis), own
    last = linear(axis.start) + linear(axis.extent) - 1
    return replace(axis, start=to_expr(whole - last, axis.var)), whole


def _turned(node: ArrayStatement, old: Loop, new: Loop, both: Linear) -> ArrayStatement:
    """A statement along an axis that runs the other way; `both` is the sum of a value and its mirror image."""
    place = to_expr(both - linear(old.var), old.var)

    def short(e: Expr) -> Expr:
        counts = isinstance(e, Binary) and e.op in ("add", "sub") and e.dtype.is_signed and not e.dtype.is_float
        return to_expr(linear(e), e) if counts and old.var in free_vars(e) else e

    statement: Statement = mapped(node.statement, lambda e: map_expr(substitute_expr(e, {old.var: place}), short))
    loops = tuple(new if o is old else o for o in statement.loops)
    return replace(
        node, statement=replace(statement, loops=loops), axes=tuple(new if o is old else o for o in node.axes)
    )
