"""In which order the dimensions of local arrays lie in memory: what a step takes at once lies together.

A loop over the columns of an array touches a line of memory for each element. Nobody sees how a local is laid out, so
the dimension goes last that array statements run along, where that makes up for those that run along another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.nodes import Buffer, Expr, Var
from ir.traverse import free_vars, loads
from lower.analysis.deciding import cheapest
from lower.analysis.freedoms import Form
from lower.nest.element_prices import extent
from lower.nest.nodes import ArrayStatement, Box, Node, Plan, inner_statements, relocated_node
from lower.nest.normalize import Program, read_by_bounds, relocate

DIMENSION_ORDER = Form(
    "structure.dimension_order",
    "A[i, j]  =  A[j, i]   for all accesses to a local",
    "nobody sees how a local lies in memory",
)

_LINE = 2.0  # times the price of a transposition is that of taking one element from each line of memory
GAIN = 0.8  # part of the price below which another order is worth its change


def laid_out(program: Program, plan: Plan, target: Target) -> Plan:
    """The plan with the locals of a program in the cheapest order of their dimensions; changes the program alike."""
    nodes = plan.nodes
    fixed = read_by_bounds(program.statements)
    locals_ = [b for b in program.depth if not plan.expanded.get(b) and b not in fixed]
    for buffer in [b for b in locals_ if len(b.shape) > 1]:
        order = _best(buffer, nodes, plan.boxes, target)
        if order is None:
            continue
        new = replace(buffer, shape=ordered(order, buffer.shape))
        nodes = tuple(relocated_node(n, buffer, new, partial(ordered, order)) for n in nodes)
        relocate(program, buffer, new, partial(ordered, order))
    expanded = {b: _as_others_lie(b, loops, plan.nodes) for b, loops in plan.expanded.items()}
    return replace(plan, nodes=nodes, expanded=expanded)


def _as_others_lie(buffer: Buffer, loops: tuple[Loop, ...], nodes: Sequence[Node]) -> tuple[Loop, ...]:
    """The loops of whose iterations each has its own copy of a local, in the order in which all arrays have them that
    are accessed with it, where that is one, and all of them are taken at once. Sums lie as their terms do."""
    users = [n for n in inner_statements(nodes) if buffer in n.statement.buffers()] if len(loops) > 1 else []
    summed = any(n.statement.update is not None for n in users if n.statement.buffer == buffer)
    if summed or not all(loop in n.axes for n in users for loop in loops):
        return loops
    found: set[tuple[Loop, ...]] = set()
    for statement in (n.statement for n in users):
        others = (load for load in statement.reads() if load.buffer != buffer)
        stored = [] if statement.buffer == buffer else [statement.store.indices]
        for indices in (*stored, *(load.indices for load in others)):
            places = {o: [k for k, i in enumerate(indices) if o.var in free_vars(i)] for o in loops}
            if all(places.values()):
                found.add(tuple(sorted(loops, key=lambda o, at=places: at[o][0])))
    return found.pop() if len(found) == 1 else loops


def _best(buffer: Buffer, nodes: Sequence[Node], boxes: Mapping[Loop, Box], target: Target) -> tuple[int, ...] | None:
    """The order that is cheaper by far than the one as written."""
    found = taken_one_by_one(buffer, nodes, boxes, target)
    as_written = tuple(range(len(buffer.shape)))
    best = cheapest(
        "layout", {as_written: GAIN * found[as_written], **{o: p for o, p in found.items() if o != as_written}}
    )
    return None if best == as_written else best


def taken_one_by_one(
    buffer: Buffer, nodes: Sequence[Node], boxes: Mapping[Loop, Box], target: Target
) -> dict[tuple[int, ...], float]:
    """How many elements nodes take one by one, for each order of the dimensions of an array."""
    rank = len(buffer.shape)
    uses = [use for n in inner_statements(nodes) for use in _uses(n, buffer, boxes, target)]
    orders = [tuple(sorted(range(rank), key=lambda d, last=last: (d == last, d))) for last in range(rank)]
    return {order: sum(weight * _apart(places, order) for places, weight in uses) for order in orders}


_Places = tuple[int, ...]  # for each dimension which of a statement's axes it has, -1 for none


def _uses(
    node: ArrayStatement, buffer: Buffer, boxes: Mapping[Loop, Box], target: Target
) -> Iterator[tuple[_Places, float]]:
    """The accesses of a statement to a buffer, with the elements they move."""
    statement, store = node.statement, node.statement.store
    if buffer not in statement.buffers():
        return
    found = [load.indices for load in statement.reads() if load.buffer == buffer]
    several = len(set(found)) > 1  # one access goes with any order, if nothing else does not
    others = [store.indices, *(load.indices for load in statement.reads() if several or load.buffer != buffer)]
    if store.buffer == buffer:
        found.append(store.indices)
        others = [load.indices for load in loads(store.value) if load.buffer != buffer]
    axes = [loop.var for loop in node.axes]
    along = [[v for i in indices for v in axes if v in free_vars(i)] for indices in others]
    leading = dict.fromkeys(v for names in along if len(names) > 1 for v in names)  # a vector goes with any order
    ranks = {v: k for k, v in enumerate(dict.fromkeys([*leading, *axes]))} if leading else dict.fromkeys(axes, 0)
    steps = prod(extent(boxes.get(o), target) for o in statement.loops if o not in node.axes)
    sizes = {loop.var: extent(boxes.get(loop), target) for loop in node.axes}
    kept = free_vars(*store.indices)
    for places, used in (_places(indices, ranks, kept) for indices in dict.fromkeys(found)):
        if used:
            yield places, steps * prod(sizes[v] for v in used)


def _places(indices: Iterable[Expr], ranks: Mapping[Var, int], kept: Collection[Var]) -> tuple[_Places, frozenset[Var]]:
    """Which axes dimensions have: of a window the one along which it is moved, which the result keeps."""
    along = [[v for v in free_vars(i) if v in ranks] for i in indices]
    moved = [[v for v in names if v in kept] or names for names in along]
    return tuple(max((ranks[v] for v in names), default=-1) for names in moved), frozenset(v for n in along for v in n)


def _apart(places: _Places, order: Sequence[int]) -> float:
    """How dear it is for a statement that runs along dimensions that its elements lie in this order."""
    if places[order[-1]] < 0:
        return _LINE
    axes = [places[d] for d in order if places[d] >= 0]
    return 0.0 if axes == sorted(axes) else 1.0


def ordered(order: Sequence[int], items: Sequence[Expr]) -> tuple[Expr, ...]:
    """Sizes or indices in another order of the dimensions."""
    return tuple(items[d] for d in order)
