"""Loops whose bounds are data: sparse rows, padded rows, lists with a count.

What such a loop may touch is bounded by the buffers that it indexes: outside of them it would read nothing that is
defined. Within these bounds it can be an axis like any other, with its own bounds as a mask. Where what it adds up does
not depend on which of many ranges it is in (`for p in range(row[i], row[i + 1]): y[i] += val[p] * x[col[p]]`), all
ranges are combined from blocks of 2**k neighbours instead, each range from its own blocks only: no sum is a difference
of others, and ranges may overlap, be empty or run in any order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from math import inf, prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Dependence, Loop, Statement
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Var
from ir.traverse import children, factors, free_vars, reads
from lower.analysis.deciding import cheapest
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, linear, to_expr
from lower.nest.element_prices import element, extent
from lower.nest.nodes import Box, Span
from lower.storage.array_expansion import depends_on

SEGMENTS = Form(
    "instructions.segmented_reduction",
    "for i: for k in row[i]..row[i + 1]: y[i] += e(k)  =  reduce_ranges(e, row)",
    "each range is put together from its own blocks of 2**k neighbours",
)

REDUCE_RANGES = '''
def reduce_ranges(op, x, first, stop, nothing):
    """x[first] op ... op x[stop - 1] along axis 0 for arrays of bounds: each from at most two blocks of every size."""
    first, stop = (jnp.clip(bound, 0, x.shape[0]) for bound in jnp.broadcast_arrays(first, stop))
    levels, rest = 4, (1,) * (x.ndim - 1)
    size = 2 ** (levels + 1) * max(1, -(-x.shape[0] // 2 ** (levels + 1)))

    def climb(state):
        x, low, high, total = state
        for odd, at in ((low, low), (high, high - 1)):
            here = ((odd & 1 == 1) & (low < high)).reshape(*low.shape, *rest)
            total = op(total, jnp.where(here, x.at[at].get(mode="clip"), nothing))
        return op(x[0::2], x[1::2]), (low + 1) >> 1, high >> 1, total

    def climb_on(state):
        blocks, *others = climb(state)
        return jnp.concatenate([blocks, jnp.full_like(blocks, nothing)]), *others

    pad = [(0, size - x.shape[0]), *[(0, 0)] * (x.ndim - 1)]
    total = jnp.full(first.shape + x.shape[1:], nothing, x.dtype)
    state = kept(jnp.pad(x, pad, constant_values=nothing)), first, stop, total
    for _ in range(levels):
        state = climb(state)
    longest = jnp.maximum(jnp.max(state[2] - state[1], initial=0), 0)
    more = jnp.iinfo(longest.dtype).bits - lax.clz(longest)  # blocks of so many doublings hold more than any range
    return loop_between(0, more, (0, size.bit_length() - levels), lambda _, state: climb_on(state), state)[3]
'''

IN_RANGES = '''
def in_ranges(first, stop, size):
    """Whether each of some positions is in one of some ranges."""
    first, stop = (jnp.clip(bound, 0, size).ravel() for bound in jnp.broadcast_arrays(first, stop))
    some = (first < stop).astype(jnp.int32)
    return jnp.cumsum(jnp.zeros(size + 1, jnp.int32).at[first].add(some).at[stop].add(-some))[:size] > 0
'''

REDUCE_ROWS = '''
def reduce_rows(op, term, first, stop, size, nothing):
    """term(i, p) for first[i] <= p < stop[i] combined by op, for each i: all p at once unless two ranges overlap.

    Where p is in no range, it is taken at a place that is in one, so that its derivative is a number.
    """
    first, stop = (jnp.clip(bound, 0, size) for bound in jnp.broadcast_arrays(first, stop))
    total = jnp.full(first.shape, nothing)
    if total.size == 0 or size == 0:
        return total
    rows, stop = jnp.arange(total.size, dtype=jnp.int32), jnp.maximum(first, stop)
    some = jnp.argmax(first < stop).astype(jnp.int32)

    def at(inside, row, p):
        return term(jnp.where(inside, row, some), jnp.where(inside, p, jnp.minimum(first[some], size - 1)))

    def at_once():
        p = jnp.arange(size, dtype=jnp.int32)
        begun = prefix_sums(jnp.zeros(size + 1, jnp.float32).at[first].add(1.0))[:size].astype(jnp.int32)
        row = jnp.maximum(begun - 1, 0)
        return reduce_ranges(op, at((first[row] <= p) & (p < stop[row]), row, p), first, stop, nothing)

    def one_by_one():
        def step(k, total):
            p = first + k
            return op(total, jnp.where(p < stop, at(p < stop, rows, p), nothing))

        return loop_between(0, jnp.max(stop - first), (0, size), step, total)

    apart = jnp.all(stop[:-1] <= first[1:]) & (total.size < 2**24)  # then float32 counts the rows exactly
    return lax.cond(apart, at_once, one_by_one)
'''


# Where a loop may touch anything --------------------------------------------------------------------------------------


def reach(statement: Statement, loop: Loop, static: Collection[Var]) -> Box | None:
    """Values of a loop's variable outside of which a statement does nothing that is defined; None if any may count.

    There it would read or store outside of a buffer, and what it stores is undefined. A guard that is false there only
    means that it does nothing, and one that is undefined that the program is wrong.
    """
    if loop.var.dtype not in (DType.INT32, DType.INT64):  # one past the last might be no number of a narrow type
        return None
    store = statement.store
    op, term = statement.update or ("", store.value)
    value = _idle(op, term, loop.var, static)
    place = _outside(Load(store.buffer, store.indices), loop.var, static)
    return reduce(_both, (_strict(g, loop.var, static) for g in statement.guards), _both(value, place))


_VOID = {"add": "mul", "sub": "mul", "or": "and", "and": "or"}  # with one operand alone they give what changes nothing


def _idle(op: str, expr: Expr, var: Var, static: Collection[Var]) -> Box | None:
    """Where combining a value by `op` may change something: outside it is undefined, or what changes nothing."""
    if isinstance(expr, Binary) and expr.op == _VOID.get(op):
        return _both(_idle(op, expr.lhs, var, static), _idle(op, expr.rhs, var, static))
    return _strict(expr, var, static)


def _strict(expr: Expr, var: Var, static: Collection[Var]) -> Box | None:
    """Where a value may be defined. An operand that is undefined may be dropped where another decides alone."""
    match expr:
        case Load():
            return _outside(expr, var, static)
        case Binary(op="mul", lhs=arg, rhs=Const(value=value)) | Binary(op="mul", lhs=Const(value=value), rhs=arg) if (
            value
        ):
            return _strict(arg, var, static)
        case Binary(op="mul" | "and" | "or", lhs=lhs, rhs=rhs):
            return _either(_strict(lhs, var, static), _strict(rhs, var, static))
        case Select(cond=cond, then=then, other=other):
            arms = _either(_strict(then, var, static), _strict(other, var, static))
            return _both(_strict(cond, var, static), arms)
        case _:
            return reduce(_both, (_strict(e, var, static) for e in children(expr)), None)


def _outside(load: Load, var: Var, static: Collection[Var]) -> Box | None:
    """Where a load is inside of its buffer, and of those that its indices read."""
    found: Box | None = None
    for index, size in zip(load.indices, load.buffer.shape, strict=True):
        found = _both(found, _strict(index, var, static))
        form, extent = linear(index), linear(size)
        c = form.terms.get(var, 0)
        rest = form.without([var])
        if abs(c) != 1 or not rest.vars() <= set(static) or rest.has_loads() or not extent.vars() <= set(static):
            continue
        low = rest * -1 if c == 1 else rest - extent + 1
        found = _both(found, Box(low, extent, exact=False))
    return found


def _both(a: Box | None, b: Box | None) -> Box | None:
    """Bounds that hold where two do: the tighter ones, as far as they can be compared."""
    if a is None or b is None:
        return a or b
    low = _larger(a.low, b.low)
    stop = _larger((a.low + a.extent) * -1, (b.low + b.extent) * -1)
    return a if low is None or stop is None else Box(low, stop * -1 - low, exact=False)


def _either(a: Box | None, b: Box | None) -> Box | None:
    """Bounds that hold where one of two does."""
    if a is None or b is None:
        return None
    low = _larger(a.low * -1, b.low * -1)
    stop = _larger(a.low + a.extent, b.low + b.extent)
    return None if low is None or stop is None else Box(low * -1, stop + low, exact=False)


def _larger(a: Linear, b: Linear) -> Linear | None:
    difference = a - b
    return (a if difference.const >= 0 else b) if difference.is_const else None


# Sums over ranges -----------------------------------------------------------------------------------------------------


def ranges(
    statements: Sequence[Statement],
    boxes: Mapping[Loop, Box],
    deps: Iterable[Dependence],
    static: Collection[Var],
    depth: Mapping[Buffer, int],
) -> dict[Loop, Box]:
    """Loops over ranges that the iterations of loops around them give, each with all that it may touch."""
    under: dict[Loop, list[Statement]] = {}
    for s in statements:
        for loop in s.loops:
            if loop not in boxes:
                under.setdefault(loop, []).append(s)
    held = {(d.source, d.level) for d in deps if d.source == d.sink and not d.commuting and d.level is not None}
    found: dict[Loop, Box] = {}
    for loop, inside in under.items():
        if len(inside) == 1:
            (s,) = inside
            level = s.loops.index(loop)
            box = reach(s, loop, static)
            free = not any((s.position, k) in held for k in range(level, len(s.loops)))
            if box is not None and free and span(s, loop, boxes, depth) is not None:
                found[loop] = box
    return found


def span(statement: Statement, loop: Loop, boxes: Mapping[Loop, Box], depth: Mapping[Buffer, int]) -> Span | None:
    """How an update combines what it finds in ranges along `loop`; None if other loops stand in the way.

    Factors of a sum that depend on the range only are left out of it, and conditions on it too. `depth` is how many
    loops around a local have a copy of it for each iteration.
    """
    if statement.update is None:
        return None
    others = [o for o in statement.loops if o is not loop]
    bounds = free_vars(loop.start, loop.extent)
    deciding = {o.var for o in others if o.var in bounds}
    around = (*statement.store.indices, *(e for o in others for e in (o.start, o.extent)))
    op, value = statement.update
    if (
        not deciding
        or any(o not in boxes or not boxes[o].exact for o in others)
        or loop.var not in free_vars(value)
        or any(loop.var in free_vars(e) for e in around)
        or reads(statement.buffer, value, *statement.guards, *around)
    ):
        return None
    inner = {loop.var, *(o.var for o in others if o.var not in deciding)}

    def on(expr: Expr) -> set[Var]:
        return depends_on(expr, statement.loops, depth)

    inside = [g for g in statement.guards if on(g) & inner]
    outer: list[Expr] = []
    if op in ("add", "sub") and not inside:
        outer = [f for f in factors(value) if not on(f) & inner and on(f) & deciding]
    kept = [f for f in factors(value) if not any(f is o for o in outer)]
    term = reduce(lambda a, b: Binary("mul", a, b), kept) if outer else value
    by_row = any(on(e) & deciding for e in (term, *inside))
    if by_row and len(statement.loops) > 2:
        return None
    stop = to_expr(linear(Binary("add", loop.start, loop.extent)), loop.var)
    if by_row:
        return Span(loop, loop.start, stop, value, (), frozenset(deciding), by_row=True)
    return Span(loop, loop.start, stop, term, tuple(outer), frozenset(deciding))


# Prices ---------------------------------------------------------------------------------------------------------------


def bounded(
    statements: Sequence[Statement],
    boxes: Mapping[Loop, Box],
    deps: Iterable[Dependence],
    static: Collection[Var],
    depth: Mapping[Buffer, int],
    flat: Mapping[Loop, float],
    target: Target,
    segments: bool = True,
) -> tuple[dict[Loop, Box], dict[Loop, Box], set[Loop]]:
    """Loops without static bounds that are cheaper otherwise: as axes under masks, as axes over ranges (`span`), and
    made one with the loop around, which `flat` has the prices of. Ranges are combined as such if `segments` may be."""
    over = ranges(statements, boxes, deps, static, depth) if segments else {}
    masked: dict[Loop, Box] = {}
    one: set[Loop] = set()
    for loop, box in padded(statements, boxes, static).items():
        inside = [s for s in statements if loop in s.loops]
        deciding = free_vars(loop.start, loop.extent)
        rows = prod(extent(boxes.get(o), target) for o in inside[0].loops if o.var in deciding)
        length, work = extent(box, target), sum(element(s, target) for s in inside)
        visited = length * (rows if any(_roomy(s, loop, deciding, depth) for s in inside) else 1.0)
        as_loop = operations.ranges_in_turn(target, rows, visited, work)
        as_mask = operations.ranges_under_masks(target, len(inside), rows * length, work)
        found = span(inside[0], loop, boxes, depth) if loop in over else None
        as_ranges = inf
        if found is not None:
            as_ranges = operations.ranges_by_prefixes(target, length, rows, 1.0, work, by_row=found.by_row)
        in_one = flat.get(loop, inf)
        if not free_vars(loop.start) & deciding and rows > 1:  # all ranges begin at one place, so none are apart
            as_ranges = as_loop if found is not None and found.by_row else as_ranges
            in_one = inf
        prices = {"loop": as_loop, "ranges": as_ranges, "mask": as_mask, "one": in_one}
        choice = cheapest("ranges", prices)
        if choice != "ranges":
            over.pop(loop, None)
        if choice == "mask":
            masked[loop] = replace(box, effects=True)
        elif choice == "one":
            one.add(loop)
    kept = {o for s in statements for k in s.loops if k not in {*boxes, *masked, *over, *one} for o in s.loops}
    # where another loop without static bounds stays, so does the one around it
    return masked, over, {loop for loop in one if not any(loop in s.loops and kept & {*s.loops} for s in statements)}


def _roomy(statement: Statement, loop: Loop, deciding: Collection[Var], depth: Mapping[Buffer, int]) -> bool:
    """Whether each range has elements of its own, up to the bounds of the loop: then there may be that many."""
    for load in (*statement.reads(), Load(statement.buffer, statement.store.indices)):
        if loop.var in free_vars(*load.indices) and depends_on(load, statement.loops, depth) >= {
            o.var for o in statement.loops if o.var in deciding
        }:
            return True
    return False


def padded(statements: Sequence[Statement], boxes: Mapping[Loop, Box], static: Collection[Var]) -> dict[Loop, Box]:
    """Static bounds for loops that have none of their own, where every statement in them is bounded by its accesses."""
    found: dict[Loop, list[Box | None]] = {}
    for s in statements:
        for loop in s.loops:
            if loop not in boxes:
                found.setdefault(loop, []).append(reach(s, loop, static))
    bounds = {loop: reduce(_either, parts) for loop, parts in found.items()}
    return {loop: box for loop, box in bounds.items() if box is not None}
