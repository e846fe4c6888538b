"""Filters: elements that continue several before them, `X[i] = a * X[i-1] + b * X[i-2] + term`.

Composing such steps needs products of matrices, which may leave the numbers where a run in order would not. Within a
block of positions, though, they are one product with the responses to a single term, which can be looked at first: as
long as they stay small, a block costs as much as a sum, and only the last elements of blocks go one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Buffer, Expr, Load, Var, const
from ir.traverse import has_loads, loads, reads, substitute_expr
from lower.analysis.freedoms import ORDER, Form
from lower.analysis.linear_forms import atom, to_expr
from lower.instructions.recurrence import continues_besides, line, moves, same_place, steps_alike
from lower.nest.nodes import Filter
from lower.storage.array_expansion import depends_on

FILTERS = Form(
    "instructions.filter",
    "X[i] = a * X[i - 1] + b * X[i - 2] + e(i)  =  blocks by responses to single terms",
    "the recurrence is linear",
    ORDER,
)

LONGEST = 4  # how far back filters look

FILTERED = '''
def filtered(factors, before, terms, axis=0):
    """y[i] = factors[0] * y[i - 1] + factors[1] * y[i - 2] + ... + terms[i] along an axis, from y[-1], y[-2], ..."""

    def step(last, term):
        new = term + sum(factor * y for factor, y in zip(factors, last))
        return (new, *last[:-1]), new

    terms = jnp.moveaxis(terms, axis, 0)
    first = tuple(jnp.broadcast_to(jnp.asarray(y, terms.dtype), terms.shape[1:]) for y in before)
    return jnp.moveaxis(lax.scan(step, first, terms, unroll=1 if terms.ndim > 1 else 8)[1], 0, axis)
'''

DIFFERENCES = '''
def differences(ys, sign):
    """The first of some values, its difference from the second, the difference of such differences, and so on; sums
    where the sign is -1."""
    found = []
    while ys:
        found.append(ys[0])
        ys = [y - sign * before for y, before in zip(ys, ys[1:])]
    return found


def from_differences(order, sign):
    """What each of so many values is in terms of these."""
    found = [[1] + [0] * (order - 1)]
    while len(found) < order:
        found.append([sign * (a - b) for a, b in zip(found[-1], [0, *found[-1]])])
    return found
'''

RESPONSE = '''
def response(factors, width, dtype, largest):
    """What y[i] = factors[0] * y[i - 1] + ... makes of each of the `differences` of the y before it: in `width`
    positions, and as differences of the last of these. Numbers of a dtype and what rounding to them leaves, the sign
    for differences, and whether no number is large.

    The factors are Python numbers, and all this is worked out while tracing.
    """

    def rounded(x):
        return Fraction(float(dtype.type(x)))

    def parts(rows):
        numbers = [[float(rounded(y)) for y in row] for row in zip(*rows)]
        missing = [[float(y - rounded(y)) for y in row] for row in zip(*rows)]
        return jnp.array(numbers, dtype), jnp.array(missing, dtype)

    factors, sign, ys = [rounded(factor) for factor in factors], -1 if factors[0] < 0 else 1, []
    last = from_differences(len(factors), sign)
    for _ in range(width):
        last = [[sum(f * y for f, y in zip(factors, column)) for column in zip(*last)], *last[:-1]]
        ys.append(last[0])
        if max(map(abs, ys[-1])) > largest:
            return None, None, sign, False
    return parts(ys), parts([*zip(*(differences(column, sign) for column in zip(*last)))]), sign, True
'''

RESPONSE_IN_PARTS = '''
def response_in_parts(factors, width, dtype, largest):
    """As `response`, of any factors: sums and products with what rounding takes from them (Dekker, A floating-point
    technique for extending the available precision, 1971)."""
    kind = jnp.finfo(dtype)

    def halves(x):  # whose products are exact
        high = lax.reduce_precision(x, kind.nexp, (kind.nmant - 1) // 2)
        return high, x - high

    def plus(x, y, missing):
        total = x + y
        taken = total - x
        return total, (x - (total - taken)) + (y - taken) + missing

    def step(last, _):
        total = rest = jnp.zeros(len(factors), dtype)
        for factor, (y, missing) in zip(factors, last):
            (a, b), (c, d) = halves(jnp.asarray(factor, dtype)), halves(y)
            small = a * d + b * c + b * d
            product = a * c + small
            total, rest = plus(total, product, rest + (small - (product - a * c)) + factor * missing)
        pair = plus(total, rest, 0)
        return (pair, *last[:-1]), pair

    sign = jnp.where(factors[0] < 0, -1, 1).astype(dtype)
    last = [jnp.stack([jnp.asarray(x, dtype) for x in row]) for row in from_differences(len(factors), sign)]
    last, ys = lax.scan(step, tuple((row, 0 * row) for row in last), length=width, unroll=4)
    ends = []
    while last:
        ends.append(plus(*last[0], 0))
        last = [plus(y, -sign * a, missing - sign * b) for (y, missing), (a, b) in zip(last, last[1:])]
    small = jnp.all(jnp.abs(ys[0]) <= largest)
    return tuple(y.T for y in ys), tuple(jnp.stack(e, -1) for e in zip(*ends)), sign, small
'''

FILTERED_IN_BLOCKS = '''
def filtered_in_blocks(respond, factors, before, terms, axis=0, width=32, largest=1024.0):
    """As `filtered`, by products with the responses to single terms, as long as none of these is large.

    What a block takes over has been through such a product for each block before. If its factors were rounded, they
    would be off by the same every time; near a limit values cancel in it, of which `differences` are small and exact.
    """
    order, dtype = len(factors), terms.dtype
    taken_over, ends, sign, small = respond(factors, width, dtype, largest)

    def in_turn(x):
        return filtered(factors, before, x, -1)

    def blocks(x):
        (rounded, missing), (main, rest) = taken_over, ends
        single = jnp.concatenate([jnp.ones(1, dtype), sum(rounded) + sum(missing)])
        apart = jnp.arange(width)[:, None] - jnp.arange(width)
        inside = jnp.where(apart >= 0, single[jnp.maximum(apart, 0)], 0)
        n = x.shape[-1]
        rows = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -n % width)]).reshape(*x.shape[:-1], -1, width)
        alone = jnp.dot(rows, inside.T, precision="highest")

        def step(last, own):
            more = [own[k] + sum(rest[m, k] * last[m] for m in range(order)) for k in range(order)]
            return tuple(more[k] + sum(main[m, k] * last[m] for m in range(order)) for k in range(order)), last

        own = differences([jnp.moveaxis(alone[..., -1 - k], -1, 0) for k in range(order)], sign)
        first = differences([jnp.broadcast_to(jnp.asarray(y, dtype), x.shape[:-1]) for y in before], sign)
        last = lax.scan(step, tuple(first), tuple(own), unroll=1 if x.ndim > 1 else 8)[1]
        last = jnp.moveaxis(jnp.stack([*last, *last]), (0, 1), (-1, -2))
        from_last = jnp.dot(last, jnp.concatenate([rounded, missing]), precision="highest")
        return (alone + from_last).reshape(*x.shape[:-1], -1)[..., :n]

    x = jnp.moveaxis(terms, axis, -1)
    if isinstance(small, bool):
        return jnp.moveaxis(blocks(x) if small else in_turn(x), -1, axis)
    return jnp.moveaxis(lax.cond(small, blocks, in_turn, x), -1, axis)
'''

FILTER_HELPERS = {
    "filtered": FILTERED,
    "differences": DIFFERENCES,
    "response": RESPONSE,
    "response_in_parts": RESPONSE_IN_PARTS,
    "filtered_in_blocks": FILTERED_IN_BLOCKS,
}


def filtering(statement: Statement, loop: Loop, axes: Collection[Var], private: Mapping[Buffer, int]) -> Filter | None:
    """How a statement continues what its last iterations of a loop stored, by factors that are the same for all `axes`.

    `private[b]` is the number of outer loops each iteration of which has its own copy of buffer b.
    """
    store = statement.store
    around = (*store.indices, *statement.guards)
    if not store.value.dtype.is_float or statement.guards or any(map(has_loads, around)):
        return None
    if not any(moves(i, loop.var) for i in store.indices) or not steps_alike(statement, loop, private):
        return None
    places = [_back(store.indices, loop.var, lag) for lag in range(1, LONGEST + 1)]
    own = [load for load in loads(store.value) if load.buffer == store.buffer]
    found = {lag: load for lag, p in enumerate(places, 1) for load in own if same_place(load.indices, p)}
    if not found or continues_besides(statement, loop, list(found.values()), private):
        return None
    taken = _factors(store.value, found)
    if taken is None or reads(store.buffer, *taken[0]):
        return None
    if any(depends_on(f, statement.loops, private) & {loop.var, *axes} for f in taken[0]):
        return None
    factors, term = taken
    previous = tuple(Load(store.buffer, p) for p in places[: len(factors)])
    return Filter(loop, factors, term, previous)


def _back(indices: Sequence[Expr], var: Var, lag: int) -> tuple[Expr, ...]:
    earlier = to_expr(atom(var) - lag, var)
    return tuple(substitute_expr(i, {var: earlier}) for i in indices)


def _factors(value: Expr, previous: Mapping[int, Load]) -> tuple[tuple[Expr, ...], Expr] | None:
    """A value as a sum of earlier elements times factors, and the rest."""
    zero = const(0, value.dtype)
    rest: Expr | None = value
    factors: list[Expr] = []
    for lag in range(1, max(previous) + 1):
        form = (None, rest) if lag not in previous or rest is None else line(rest, previous[lag])
        if form is None:
            return None
        factors.append(zero if form[0] is None else form[0])
        rest = form[1]
    return tuple(factors), zero if rest is None else rest
