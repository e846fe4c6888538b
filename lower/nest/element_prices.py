"""What one element of a statement costs on a target, and about how many iterations a loop has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from egraph_rules.cost.operations import width
from egraph_rules.cost.target import Target, operator_cost
from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Buffer, Expr, Load, Unary, Var
from ir.traverse import children, free_vars, loads
from lower.nest.nodes import Box


def extent(box: Box | None, target: Target) -> float:
    """About how many iterations a loop has."""
    return float(max(box.extent.about(target.default_extent), 0)) if box is not None else float(target.default_extent)


def element(statement: Statement, target: Target) -> float:
    """The price of one element."""
    stored = target.store * width(statement.buffer.dtype.bits)
    return stored + sum(work(e, target) for e in (statement.store.value, *statement.guards))


def work(expr: Expr, target: Target) -> float:
    """The price of an expression for one element."""
    match expr:
        case Load(buffer=buffer, indices=indices):
            return target.load * width(buffer.dtype.bits) + target.index * sum(work(i, target) for i in indices)
        case Binary() | Unary():
            own = operator_cost(target, expr.op) * max(width(e.dtype.bits) for e in children(expr))
        case _:
            own = 0.0
    return own + sum(work(e, target) for e in children(expr))


def gathered(statement: Statement, axes: Iterable[Loop], target: Target, depth: Mapping[Buffer, int]) -> float:
    """What an element costs besides because it is read at a place that no slice gives.

    Along one dimension that is a quotient or remainder of axes beside another axis, as in `X[2 * i + k // 2]`, or what
    data say: locals are within as many loops as `depth` tells.
    """
    axes = [*axes]
    along = {loop.var for loop in axes}

    def by_data(load: Load) -> bool:
        keys = [key for i in load.indices for key in loads(i)]
        copied = [o for key in keys for o in statement.loops[: depth.get(key.buffer, 0)]]
        return bool(free_vars(*keys) & along) or any(o in axes for o in copied)

    store = statement.store
    own = Load(store.buffer, store.indices)  # which an update changes
    read = [load for e in (store.value, *statement.guards) for load in loads(e) if not load.same(own)]
    jumps = target.gather * sum(any(_jumps(i, along) for i in load.indices) for load in read)
    return jumps + (target.read_by_data - target.load) * sum(map(by_data, read))


def _jumps(index: Expr, axes: Collection[Var]) -> bool:
    inside, beside = set[Var](), set[Var]()

    def visit(part: Expr) -> None:
        match part:
            case Var():
                beside.add(part)
            case Binary(op="floordiv" | "floormod"):
                inside.update(free_vars(part))
            case _:
                for child in children(part):
                    visit(child)

    visit(index)
    return not inside.isdisjoint(axes) and not beside.isdisjoint(axes)
