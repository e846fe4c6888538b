"""What a plan costs on a target, in the units of its price table: sequential steps against array work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target, instruction_cost
from ir.analysis.dependence import Loop, Statement, Tile
from ir.nodes import Binary, Buffer, Const, Expr, Load, const
from ir.traverse import children, free_vars, has_loads, loads, with_children
from lower.instructions import scans
from lower.instructions.sorted_insertion import as_floats
from lower.nest.element_prices import element, extent, gathered, work
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Factor,
    Filter,
    Node,
    Pick,
    Recurrence,
    SequentialLoop,
    Solve,
    Span,
    Versions,
    inner_statements,
)
from lower.restructure.unrolling import factor, in_one_go, is_one_function


def estimate(
    nodes: Iterable[Node],
    boxes: Mapping[Loop, Box],
    target: Target,
    steps: float = 1.0,
    cut: Mapping[ArrayStatement, Mapping[Loop, Box]] = MappingProxyType({}),
    depth: Mapping[Buffer, int] = MappingProxyType({}),
) -> float:
    """The price of nodes that run `steps` times; statements that are `cut` have tighter boxes for their axes, and
    locals are within as many loops as `depth` tells."""
    total, before, nodes = 0.0, None, list(nodes)
    several = len(nodes) > 1
    for node in nodes:
        own = _elementwise(node, depth)
        # a GPU's compiler makes what a step hands on one by one
        places = _elementwise(node, {}) if target.results_together else own
        fused, before = _is_free(node, own) or (places is not None and places == before), places
        if isinstance(node, SequentialLoop):
            total += _loop(node, boxes, target, steps, cut, depth)
        elif isinstance(node, Versions):  # data for which it is not right are rare, or it would not be worth its test
            total += steps * target.launch + estimate(node.fast, boxes, target, steps, depth=depth)
        else:
            tight = {**boxes, **cut[node]} if node in cut else boxes
            total += steps * _statement(node, tight, target, depth, fused=fused, several=several)
    return total


def _loop(
    node: SequentialLoop,
    boxes: Mapping[Loop, Box],
    target: Target,
    steps: float,
    cut: Mapping[ArrayStatement, Mapping[Loop, Box]],
    depth: Mapping[Buffer, int],
) -> float:
    """The price of a loop that runs `steps` times."""
    times = steps * extent(boxes.get(node.loop), target)
    if in_one_go(node, boxes, depth, target):
        body = _in_registers(node.body)
        return steps * target.launch + estimate(body, boxes, operations.as_one(target), times, cut, depth)
    together = factor(node, boxes, target)
    inside = operations.in_function(target) if is_one_function(node, boxes, target) else target
    each = operations.steps(target, times / together, 0.0) + times * _copies(node.body, boxes, target)
    each += times * _copies_of_masked(node, boxes, target, depth)
    return each + estimate(node.body, boxes, inside, times, cut, depth)


def _in_registers(nodes: Sequence[Node]) -> list[Node]:
    """Nodes without reads of what they store themselves, which steps that are compiled as one hand on in registers."""
    stored = {n.statement.buffer for n in inner_statements(nodes)}

    def read(e: Expr) -> Expr:
        if isinstance(e, Load):  # where it depends on what is stored, it is looked up as ever
            return const(0, e.dtype) if e.buffer in stored else e
        return with_children(e, tuple(map(read, children(e))))

    def one(node: Node) -> Node:
        if isinstance(node, SequentialLoop):
            return replace(node, body=tuple(map(one, node.body)))
        if not isinstance(node, ArrayStatement):
            return node
        s = node.statement
        store = replace(s.store, value=read(s.store.value))
        update = None if s.update is None else (s.update[0], read(s.update[1]))
        guards = tuple(map(read, s.guards))
        return replace(node, statement=replace(s, store=store, guards=guards, update=update))

    return [one(n) for n in nodes]


def _statement(
    node: ArrayStatement,
    boxes: Mapping[Loop, Box],
    target: Target,
    depth: Mapping[Buffer, int],
    *,
    fused: bool,
    several: bool,
) -> float:
    """The price of a statement each time; `fused` with the one before it, or one of `several` in a step."""
    match node.scan:
        case _ if node.statement.tile is not None:
            return _instances(node, node.statement.tile, boxes, target)
        case Solve() as system:
            return _system(system, node.axes, boxes, target)
        case Factor() as factors:
            return _factor(factors, node.axes, boxes, target)
        case Span() as span:
            return _ranges(node, span, boxes, target)
        case Pick(rank=Loop()) as pick:
            return _ranked(node, pick, boxes, target)
        case _ if not node.axes:
            work = element(node.statement, target)
            return 0.0 if fused else operations.single(target, work, several=several)
        case scan:
            further = _continued(node, scan, boxes, target) if isinstance(scan, Recurrence | Filter) else 0.0
            elements, library = _elements(node, boxes, target, depth), _matrices(node)
            each = operations.statement(target, elements, library=library, scatters=_scatters(node), fused=fused)
            return further + each


def _copies(body: Iterable[Node], boxes: Mapping[Loop, Box], target: Target) -> float:
    """The price of copies of arrays to parts of which a step stores twice, where the second part is made of another."""
    total, stored = 0.0, set[Buffer]()
    for node in body if target.stores_copy else ():
        if not isinstance(node, ArrayStatement) or not node.axes or node.scan is not None:
            continue
        statement, buffer = node.statement, node.statement.buffer
        if not {o.var for o in node.axes} <= free_vars(*statement.store.indices):
            continue  # sums are stored before
        size = _size(buffer, target)
        if prod(extent(boxes.get(o), target) for o in node.axes) >= size:
            continue
        if buffer in stored and any(r.buffer == buffer for r in statement.reads()):
            total += operations.moved(target, size)
        stored.add(buffer)
    return total


def _copies_of_masked(
    loop: SequentialLoop, boxes: Mapping[Loop, Box], target: Target, depth: Mapping[Buffer, int]
) -> float:
    """The price of copies of arrays to parts of which a step, that is no function, stores where a condition holds, in
    each of the steps of a loop inside that are written out: the second holds what the first one left."""
    if not target.stores_copy or target.function == 0 or is_one_function(loop, boxes, target):
        return 0.0
    inner = [n for n in loop.body if isinstance(n, SequentialLoop) and in_one_go(n, boxes, depth, target, inside=True)]
    total = 0.0
    for node in inner_statements(inner):
        statement, buffer = node.statement, node.statement.buffer
        copied = [o for o in statement.loops[: depth.get(buffer, 0)] if o in node.axes]
        size = _size(buffer, target) * prod(extent(boxes.get(o), target) for o in copied)
        if statement.guards and prod(extent(boxes.get(o), target) for o in node.axes) < size:
            total += operations.moved(target, size)
    return total


def _size(buffer: Buffer, target: Target) -> float:
    """About how many elements an array has."""
    return prod(float(e.value) if isinstance(e, Const) else target.default_extent for e in buffer.shape)


def _elementwise(node: Node, depth: Mapping[Buffer, int]) -> tuple[tuple[Expr, Expr], ...] | None:
    """The ranges over which a statement stores an element at each place; None if it is of another kind. Of a local,
    which is within as many loops as `depth` tells, there is an element for each of their iterations."""
    if (
        not isinstance(node, ArrayStatement)
        or not node.axes
        or node.scan is not None
        or node.statement.tile is not None
    ):
        return None
    indices, copied = node.statement.store.indices, node.statement.loops[: depth.get(node.statement.buffer, 0)]
    kept = [
        *(o for o in copied if o in node.axes),
        *(next((o for o in node.axes if i == o.var), None) for i in indices),
    ]
    over = tuple((o.start, o.extent) for o in kept if o is not None)
    return over if len(over) == len(node.axes) else None


def _is_free(node: Node, places: tuple[tuple[Expr, Expr], ...] | None) -> bool:
    """Whether what a statement stores, at `places` if these are known, is worked out where it is read: it reads
    nothing, or renames a single value."""
    if not isinstance(node, ArrayStatement) or node.statement.guards:
        return False
    store = node.statement.store
    if node.axes or store.indices:
        return places is not None and not has_loads(store.value)
    return not has_loads(store.value) or (isinstance(store.value, Load) and not store.value.indices)


def _instances(node: ArrayStatement, tile: Tile, boxes: Mapping[Loop, Box], target: Target) -> float:
    """The price of an instruction at all positions of its axes, and of moving what it reads and stores."""
    calls = prod(extent(boxes.get(loop), target) for loop in node.axes)
    read = sum(_positions(windows, target) for windows in tile.read.values())
    sizes = {v.name: float(e.value) for v, e in tile.sizes.items() if isinstance(e, Const)}
    cost = instruction_cost(target, tile.instruction, sizes)
    return operations.instances(target, calls, read, _positions(tile.stored, target), cost)


def _positions(windows: Iterable[Loop], target: Target) -> int:
    """How many elements windows have."""
    return prod(int(w.extent.value) if isinstance(w.extent, Const) else target.default_extent for w in windows)


def _matrices(node: ArrayStatement) -> bool:
    """Whether a statement sums up products of matrices: each factor has an axis that the other one has not."""
    match node.statement.update:
        case ("add" | "sub", Binary(op="mul", lhs=a, rhs=b)):
            axes = {loop.var for loop in node.axes}
            kept = free_vars(*node.statement.store.indices) & axes
            mine, other = free_vars(a) & axes, free_vars(b) & axes
            return bool(kept & mine - other and kept & other - mine and mine & other - kept)
        case _:
            return False


def _continued(node: ArrayStatement, scan: Recurrence | Filter, boxes: Mapping[Loop, Box], target: Target) -> float:
    """The price of a scan besides that of its terms."""
    size = scans.scan_size(node, scan, boxes, target)
    if isinstance(scan, Filter):
        return operations.filter_in_blocks(target, size)
    return min(scans.forms(scan, size, target).values())


def _scatters(node: ArrayStatement) -> bool:
    """Whether the places of a statement are data along one of its axes."""
    axes = {loop.var for loop in node.axes}
    read = (load for i in node.statement.store.indices for load in loads(i))
    return any(free_vars(load) & axes for load in read)


def in_one_pass(
    group: Sequence[Statement], level: int, pending: Collection[Loop], boxes: Mapping[Loop, Box], target: Target
) -> float:
    """The least that loops of a group from a level on take in order: steps that are compiled as one, with all that they
    read in registers or near. `pending` loops around are axes."""
    around = [o for o in group[0].loops[:level] if o in pending]
    rows = prod(extent(boxes.get(o), target) for o in around)
    near = replace(target, load=0.0)
    total = 0.0
    for s in group:
        each = sum(work(e, near) for e in (s.store.value, *s.guards))
        total += each * prod(extent(boxes.get(o), target) for o in s.loops[level:])
    launch = target.launch if around else target.least_launch
    steps = prod(extent(boxes.get(o), target) for o in group[0].loops[level : min(len(s.loops) for s in group)])
    return steps * (target.step + launch) + rows * total


def _ranked(node: ArrayStatement, pick: Pick, boxes: Mapping[Loop, Box], target: Target) -> float:
    """The price of finding the best iterations, and of the values that are compared."""
    length = prod(extent(boxes.get(o), target) for o in pick.loops)
    rows = prod(extent(boxes.get(o), target) for o in node.axes if o not in pick.loops and o is not pick.rank)
    count = 1.0 if pick.rank is None else extent(boxes.get(pick.rank), target)
    values = rows * length * element(node.statement, target)
    return values + operations.largest(target, rows, length, count, floats=as_floats(pick.value.dtype))


def _ranges(node: ArrayStatement, span: Span, boxes: Mapping[Loop, Box], target: Target) -> float:
    """The price of a statement that combines ranges along an axis."""
    rows = prod(extent(boxes.get(o), target) for o in node.axes if o.var in span.deciding)
    wide = prod(extent(boxes.get(o), target) for o in node.axes if o.var not in span.deciding and o is not span.loop)
    length, work = extent(boxes.get(span.loop), target), element(node.statement, target)
    return operations.ranges_by_prefixes(target, length, rows, wide, work, by_row=span.by_row)


def _elements(node: ArrayStatement, boxes: Mapping[Loop, Box], target: Target, depth: Mapping[Buffer, int]) -> float:
    """The price of an array statement's elements; in a sum of products only results are moved, unless data say which
    products count: those are stored first, which takes as much as to combine them term by term."""
    statement = node.statement
    used = free_vars(*statement.store.indices)
    inner = {loop.var for loop in node.axes} - used
    kept = reduced = 1.0
    for loop in node.axes:
        if loop.var in used:
            kept *= extent(boxes.get(loop), target)
        else:
            reduced *= extent(boxes.get(loop), target)
    masked = any(map(has_loads, statement.guards))
    match statement.update:
        case ("add" | "sub", Binary(op="mul") as product) if reduced > 1.0 and not masked:
            moved = sum(_touched(load, node.axes, boxes, target) for load in loads(product)) * target.load
            moved += kept * reduced * gathered(statement, node.axes, target, depth)
            return kept * element(statement, target) + operations.contraction(target, kept * reduced) + moved
        case _:  # what guards a result is not asked of each of its terms
            outer = tuple(g for g in statement.guards if inner and not free_vars(g) & inner)
            terms = replace(statement, guards=tuple(g for g in statement.guards if g not in outer))
            asked = sum(work(g, target) for g in outer)
            each = element(terms, target) + gathered(terms, node.axes, target, depth)
            return kept * (reduced * each + asked)


def _system(solve: Solve, axes: Iterable[Loop], boxes: Mapping[Loop, Box], target: Target) -> float:
    """The price of a triangular system."""
    rows = extent(boxes.get(solve.loop), target)
    columns = prod(extent(boxes.get(a), target) for a in axes if a is not solve.loop)
    return operations.triangular_system(target, rows, columns)


def _factor(factor: Factor, axes: Iterable[Loop], boxes: Mapping[Loop, Box], target: Target) -> float:
    """The price of factorizations."""
    rows = extent(boxes.get(factor.row), target)
    times = prod(extent(boxes.get(a), target) for a in axes if a not in (factor.row, factor.column))
    return operations.factorization(target, rows, times)


def _touched(load: Load, axes: Iterable[Loop], boxes: Mapping[Loop, Box], target: Target) -> float:
    """How many elements a load reads over axes."""
    used = free_vars(*load.indices)
    return prod(extent(boxes.get(loop), target) for loop in axes if loop.var in used)
