"""Arrays without the dimensions that a loop around all their users makes needless (array contraction, Gao et al. 1992).

Another order needs a place for each iteration of a loop in each local, until the order is found. Where that keeps the
loop outermost around all users of a local, an iteration finds only what it wrote itself, and one place serves all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from math import prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.nodes import Buffer, Const, Expr, Load, Var, const
from ir.traverse import all_same, free_vars, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, linear, same_range, unbounded
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Node,
    Plan,
    SequentialLoop,
    extreme,
    inner_statements,
    relocated_node,
    users_by_buffer,
)
from lower.nest.normalize import Program, mapped, read_by_bounds

CONTRACTION = Form(
    "structure.contraction",
    "a[i, j] in one loop over i  =  a[j]",
    "an iteration reads of the array only what it wrote itself (Gao et al. 1992)",
)


_REST = 8  # a dimension that is this many times as long as its end that is never accessed stays: sizes are often alike


def contracted(
    nodes: Sequence[Node], arrays: Iterable[Buffer], boxes: Mapping[Loop, Box], target: Target
) -> tuple[tuple[Node, ...], list[Buffer]]:
    """Nodes and arrays that nothing outside of them accesses, which every iteration of the loops that were around
    their users writes before it reads, without needless dimensions."""
    changed: dict[Buffer, tuple[Buffer, tuple[int, ...]]] = {}
    result, arrays = tuple(nodes), list(arrays)
    fixed = read_by_bounds(n.statement for n in inner_statements(result))
    for array in (a for a in arrays if a not in fixed):
        result, dims = _narrowed(result, array, boxes, target)
        if dims:
            changed[array] = replace(array, shape=_without(array.shape, dims)), dims
    if changed:
        result = tuple(_node(n, changed) for n in result)
    return result, [changed[a][0] if a in changed else a for a in arrays]


def shortened(program: Program, plan: Plan) -> Plan:
    """The plan with locals that end where the last of their elements is that some statement accesses."""
    leaves, nodes = [*inner_statements(plan.nodes)], plan.nodes
    seen_by_loops = read_by_bounds(n.statement for n in leaves)
    accessing = users_by_buffer(leaves)
    for local in [*program.depth]:
        users = accessing[local]
        if not users or local in seen_by_loops:
            continue
        shape = tuple(_used(users, local, d, plan) for d in range(len(local.shape)))
        if not all_same(shape, local.shape):
            small = replace(local, shape=shape)
            nodes = tuple(relocated_node(n, local, small, lambda place: place) for n in nodes)
            program.depth = {small if b == local else b: depth for b, depth in program.depth.items()}
            plan.expanded |= {small: plan.expanded.pop(local)} if local in plan.expanded else {}
    return replace(plan, nodes=nodes)


def _used(users: Sequence[ArrayStatement], local: Buffer, dimension: int, plan: Plan) -> Expr:
    """The size of a dimension up to the last element that is accessed, or all of it where that is not known."""
    last, size = -1, local.shape[dimension]
    for n in users:
        around = {o.var: plan.boxes[o] for o in n.statement.loops if o in plan.boxes}
        for place in n.statement.places(local):
            high = extreme(linear(place[dimension]), around, frozenset(), unbounded, upper=True)
            if high is None or not high.is_const:
                return size
            last = max(last, high.const)
    fewer = isinstance(size, Const) and 0 <= last < size.value - 1 - size.value // _REST
    return const(last + 1, size.dtype) if fewer else size


def _narrowed(
    nodes: tuple[Node, ...], array: Buffer, boxes: Mapping[Loop, Box], target: Target, known: tuple[int, ...] = ()
) -> tuple[tuple[Node, ...], tuple[int, ...]]:
    """Nodes, with the array filled where it is used, and the dimensions that it then does not need besides those known.

    In a loop that it has no place for, an iteration may read what another wrote, unless it fills all of it.
    """
    sunk = _sunk(nodes, array, boxes, target)
    dims = _needless(sunk, array)
    found = sunk if dims else nodes
    users = [n for n in found if array in _buffers(n)]
    if len(users) == 1 and isinstance(around := users[0], SequentialLoop):
        outer = (*known, *dims)
        if _is_filled(around.body, array, boxes, outer):
            body, more = _narrowed(around.body, array, boxes, target, outer)
            found = tuple(replace(around, body=body) if n is around else n for n in found)
            dims += tuple(d for d in more if d not in dims)
    return found, dims


def _is_filled(nodes: Sequence[Node], array: Buffer, boxes: Mapping[Loop, Box], known: Collection[int]) -> bool:
    """Whether the first of some nodes that uses an array stores all of it, in other than the known dimensions."""
    first = next(n for n in nodes if array in _buffers(n))
    if not isinstance(first, ArrayStatement) or first.statement.guards or first.statement.update is not None:
        return False
    if first.statement.buffer != array:  # it reads what an earlier iteration left
        return False
    whole = {a.var: boxes[a].extent for a in first.axes if boxes[a].exact and boxes[a].low.equals(0)}
    for d, (index, extent) in enumerate(zip(first.statement.store.indices, array.shape, strict=True)):
        if d not in known and not (isinstance(index, Var) and index in whole and whole[index].equals(linear(extent))):
            return False
    return array not in {o.buffer for o in first.statement.reads()}


def _sunk(nodes: tuple[Node, ...], array: Buffer, boxes: Mapping[Loop, Box], target: Target) -> tuple[Node, ...]:
    """Nodes in which statements that fill an array before a loop do so in it, a part in each iteration, where an array
    as large as such a part is worth that."""
    users = [n for n in nodes if array in _buffers(n)]
    if len(users) < 2 or not isinstance(users[-1], SequentialLoop):
        return nodes
    around, fills = users[-1], users[:-1]
    written = {n.statement.buffer for n in inner_statements(nodes)} - {array}
    inside: list[Node] = []
    for fill in fills:
        if not isinstance(fill, ArrayStatement) or fill.scan is not None or fill.statement.buffer != array:
            return nodes
        part = None if fill.statement.buffers() & written else _part(fill, around.loop, boxes, target)
        if part is None:
            return nodes
        inside.append(part)
    loop = replace(around, body=(*inside, *around.body))
    return tuple(loop if n is around else n for n in nodes if n not in fills)


def _part(fill: ArrayStatement, around: Loop, boxes: Mapping[Loop, Box], target: Target) -> ArrayStatement | None:
    """What one iteration of a loop has of a statement with an axis for just its iterations, along which it stores."""
    statement = fill.statement
    box = boxes.get(around)
    for axis in fill.axes:
        own = boxes.get(axis)
        captured = any(o.var == around.var for o in statement.loops if o is not axis)
        if captured or box is None or own is None or not own.exact or not same_range(own, box):
            continue
        sizes = [
            linear(e) for e, i in zip(statement.buffer.shape, statement.store.indices, strict=True) if i != axis.var
        ]
        size = prod(form.about(target.default_extent) for form in sizes)
        cheap = isinstance(statement.store.value, (Const, Load))  # what reads it reads that
        if len(sizes) == len(statement.store.indices):
            continue
        if operations.moved(target, size) < target.launch and not cheap:
            continue
        axes = tuple(o for o in fill.axes if o is not axis)
        outer = tuple(o for o in statement.loops if o not in fill.axes)
        new = mapped(statement, partial(substitute_expr, values={axis.var: around.var}))
        return ArrayStatement(replace(new, loops=(*outer, around, *axes)), axes)
    return None


def _needless(nodes: Sequence[Node], array: Buffer) -> tuple[int, ...]:
    """Dimensions at which all accesses have the same place in each iteration of the outermost loops around them."""
    around: list[Var] = []
    users = [n for n in nodes if array in _buffers(n)]
    while len(users) == 1 and isinstance(users[0], SequentialLoop):
        around.append(users[0].loop.var)
        users = [n for n in users[0].body if array in _buffers(n)]
    places = [tuple(map(linear, p)) for n in inner_statements(users) for p in n.statement.places(array)]
    found: list[int] = []
    for var in around:
        own = [d for d in range(len(array.shape)) if _steps(places, d, var)]
        if not own:
            break
        found += own[:1]
    return tuple(found)


def _steps(places: Sequence[tuple[Linear, ...]], dimension: int, var: Var) -> bool:
    """Whether a dimension has a place for each value of a variable, at all accesses the same."""
    first = places[0][dimension]
    return free_vars(var) == free_vars(*first.terms) and all(p[dimension].equals(first) for p in places)


def _buffers(node: Node) -> set[Buffer]:
    return {b for n in inner_statements((node,)) for b in n.statement.buffers()}


def _node(node: Node, changed: Mapping[Buffer, tuple[Buffer, tuple[int, ...]]]) -> Node:
    for old, (new, dims) in changed.items():
        node = relocated_node(node, old, new, partial(_without, dims=dims))
    return node


def _without(items: tuple[Expr, ...], dims: Sequence[int]) -> tuple[Expr, ...]:
    return tuple(e for d, e in enumerate(items) if d not in dims)
