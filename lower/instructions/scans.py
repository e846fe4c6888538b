"""The forms of a statement that continues itself along an axis, what each costs, and the functions they call.

Measured on two cores: a loop whose body is a vector over the other axes takes 45 ns a step and 0.15 ns an element, or
0.5 ns an element where these are up to 32, and 0.4 ns more where they do not lie side by side; with a scalar body 2 ns.
An associative scan takes 1 to 2 ns an element and 3 us for each of its levels, a tenth of that where it stands in a
loop and threads take no part; with a constant factor it carries one array, not two. Where steps of a loop would have a
loop each, sums over windows that double in length are fused passes, of which a factor that fades needs few.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from egraph_rules.cost import operations
from egraph_rules.cost.operations import ScanForm, ScanSize
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.later import later
from ir.nodes import Const
from ir.traverse import free_vars
from lower.analysis.deciding import cheapest
from lower.nest.element_prices import extent
from lower.nest.nodes import EXTREMES, ArrayStatement, Box, Filter, Recurrence

if TYPE_CHECKING:
    import jax.numpy as jnp
else:  # rules and forms are listed without it
    jnp = later("jax.numpy")

CUMULATIVE = {"add": "lax.cumsum", "mul": "lax.cumprod", "min": "lax.cummin", "max": "lax.cummax"}
LONG = 1024  # positions from which blocks are worth their padding

PREFIX_SUMS = '''
def prefix_sums(x):
    """Sums of all prefixes along the last axis: by triangles of ones within blocks of 32, then over the blocks."""
    n, width = x.shape[-1], 32
    if n <= 2 * width:
        return jnp.dot(x, jnp.triu(jnp.ones((n, n), x.dtype)), precision="highest")
    outer = [(0, 0)] * (x.ndim - 1)
    rows = jnp.pad(x, [*outer, (0, -n % width)]).reshape(*x.shape[:-1], -1, width)
    inside = jnp.dot(rows, jnp.triu(jnp.ones((width, width), x.dtype)), precision="highest")
    before = prefix_sums(inside[..., -1])[..., :-1, None]
    sums = jnp.concatenate([inside[..., :1, :], inside[..., 1:, :] + before], axis=-2)
    return sums.reshape(*x.shape[:-1], -1)[..., :n]
'''

LINEAR_SCAN = '''
def linear_scan(factors, terms, axis=0, add=jnp.add, multiply=jnp.multiply):
    """Products and sums p, s such that p[i] * x + s[i] is what the steps x = factors[i] * x + terms[i] make of x, in
    any semiring."""

    def compose(first, second):
        return multiply(second[0], first[0]), add(multiply(second[0], first[1]), second[1])

    return lax.associative_scan(compose, (factors, terms), axis=axis)
'''

SATURATED_SUM = '''
def saturated_sum(x, y):
    """x + y, or the integer of their type that is nearest to it."""
    type_ = jnp.iinfo(x.dtype)
    return jnp.clip(x, type_.min - jnp.minimum(y, 0), type_.max - jnp.maximum(y, 0)) + y
'''

RESTARTED_SCAN = '''
def restarted_scan(combine, restarts, terms, axis=0):
    """What `combine` makes of all terms since the last restart, and whether there was one (Blelloch 1990)."""

    def compose(first, second):
        joined = combine(first[1], second[1])
        return first[0] | second[0], jax.tree.map(lambda new, old: jnp.where(second[0], new, old), second[1], joined)

    return lax.associative_scan(compose, (restarts, terms), axis=axis)
'''

PAIRWISE_SUMS = '''
def pairwise_sums(x, factor, first, axis=0):
    """y[i] = factor * y[i - 1] + x[i] along an axis, from `first` before it: of pairs, then what lies between them."""

    def sums(x, power):
        n = x.shape[0]
        if n == 1:
            return x
        pairs = jnp.pad(x, [(0, n % 2)] + [(0, 0)] * (x.ndim - 1)).reshape(-1, 2, *x.shape[1:])
        odd = sums(power * pairs[:, 0] + pairs[:, 1], power * power)
        even = jnp.concatenate([x[:1], power * odd[:-1] + pairs[1:, 0]])
        return jnp.stack([even, odd], 1).reshape(-1, *x.shape[1:])[:n]

    x = jnp.moveaxis(x, axis, 0)
    factor = float(x.dtype.type(factor))  # powers of the number that the program has, each rounded once
    x = jnp.concatenate([x[:1] + factor * first, x[1:]])
    return jnp.moveaxis(sums(x, factor), 0, axis)
'''

DOUBLING_SUMS = '''
def doubling_sums(x, factor, first, axis=0):
    """y[i] = factor * y[i - 1] + x[i] along an axis, from `first` before it: sums over 2, 4, 8... positions."""
    n, length, least = x.shape[axis], 1, float(jnp.finfo(x.dtype).smallest_subnormal)
    factor = float(x.dtype.type(factor))  # powers of the number that the program has, each rounded once
    begin = lax.slice_in_dim(x, 0, 1, axis=axis) + factor * jnp.expand_dims(first, axis)
    x = jnp.concatenate([begin, lax.slice_in_dim(x, 1, n, axis=axis)], axis)
    while length < n and abs(factor) ** length >= least:
        before = [(length if k == axis else 0, 0) for k in range(x.ndim)]
        x = x + factor**length * jnp.pad(lax.slice_in_dim(x, 0, n - length, axis=axis), before)
        length *= 2
        if length in (8, 64, 512, 4096):  # fused passes compute some elements again: not more than three at once
            x = kept(x)
    return x
'''

IN_TURN = '''
def in_turn(combine, first, terms, axis=0):
    """What `combine` makes of the last result and the next terms, one position of an axis after the other.

    Steps in a group of eight take half as long. Those that are left over would be no loop, for which XLA:CPU copies
    what a loop around stores to; they go one by one with the group before them.
    """

    def step(last, here):
        new = combine(last, *here)
        return new, new

    terms = [jnp.moveaxis(t, axis, 0) for t in terms]
    first, size = jnp.broadcast_to(first, terms[0].shape[1:]), len(terms[0])
    if first.ndim or size < 16:
        return jnp.moveaxis(lax.scan(step, first, terms)[1], 0, axis)
    groups = size // 8 * 8 - 8 * (size % 8 > 0)
    last, results = lax.scan(step, first, [t[:groups] for t in terms], unroll=8)
    if groups < size:
        results = jnp.concatenate((results, lax.scan(step, last, [t[groups:] for t in terms])[1]))
    return jnp.moveaxis(results, 0, axis)
'''

HELPERS = {
    "prefix_sums": PREFIX_SUMS,
    "linear_scan": LINEAR_SCAN,
    "saturated_sum": SATURATED_SUM,
    "restarted_scan": RESTARTED_SCAN,
    "pairwise_sums": PAIRWISE_SUMS,
    "doubling_sums": DOUBLING_SUMS,
    "in_turn": IN_TURN,
}


def scan_size(node: ArrayStatement, scan: Recurrence | Filter, boxes: Mapping[Loop, Box], target: Target) -> ScanSize:
    """How long the scan of a statement is, and how many it has side by side."""
    rows = prod(extent(boxes.get(loop), target) for loop in node.axes if loop is not scan.loop)
    indices = node.statement.store.indices
    innermost = bool(indices) and scan.loop.var in free_vars(indices[-1])
    inside = len(node.axes) < len(node.statement.loops)
    return ScanSize(extent(boxes.get(scan.loop), target), rows, innermost, inside)


def form_of(scan: Recurrence, size: ScanSize, target: Target) -> ScanForm:
    """The form to write a scan in."""
    return cheapest("scan", forms(scan, size, target))


def goes_in_turn(node: ArrayStatement, scan: Recurrence, boxes: Mapping[Loop, Box], target: Target) -> bool:
    """Whether the scan of a statement is best a loop of its own, which may be part of a function."""
    prices = forms(scan, scan_size(node, scan, boxes, target), target)
    return scan.restart is None and min(prices, key=prices.__getitem__) == "in turn"


def forms(scan: Recurrence, size: ScanSize, target: Target) -> dict[ScanForm, float]:
    """The forms that are sound for a scan, with what each costs besides its terms."""
    floats, plain = scan.term.dtype.is_float, scan.factor is None and scan.restart is None
    constant = floats and isinstance(scan.factor, Const) and scan.op not in EXTREMES
    factor = scan.factor if isinstance(scan.factor, Const) and constant and scan.restart is None else None
    arrays = 1.0 if scan.factor is None else 2.0 if factor is None else 1.5
    found = operations.scan_forms(
        target,
        size,
        arrays=arrays + (scan.restart is not None),
        blocks=plain and scan.op == "add" and floats and size.innermost and size.length >= LONG,
        doublings=None if factor is None else passes(factor, size.length),
        cumulative=plain and scan.op in CUMULATIVE,
    )
    return found if scan.tame else {"in turn": found["in turn"]}


def passes(factor: Const, length: float) -> int:
    """How often windows double before they are as long as an axis, or what comes from further away is nothing."""
    count, value = 0, abs(float(factor.value))
    nothing = float(jnp.finfo(factor.dtype.numpy).smallest_subnormal)
    while 2**count < length and value >= nothing:
        count, value = count + 1, value * value
    return count
