"""Windows that slide along axes: `max over r of e(s*x + d*r)`, a window of each axis after the other.

A window over several axes is one of windows along each. A long window is put together from shorter ones of which each
serves several (`WINDOWS`). Which is cheaper than to combine all its positions is a question of prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.nodes import COMPARE_OPS, Binary, Expr, Load, Var, const
from ir.traverse import free_vars, loads, map_expr
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, to_expr
from lower.array.access import Bounds
from lower.array.job import Job, is_view, short_reductions
from lower.array.views import Axis
from lower.nest.element_prices import work

WINDOWED = Form(
    "instructions.sliding_window",
    "max of e(s * x + d * r) over r  =  windows(max, e), an axis after the other",
    "a long window is put together from shorter ones",
)

WINDOWS = '''
def windows(combine, x, size, axis, dilation=1, stride=1):
    """All windows of `size` elements along an axis, combined: each of four shorter ones, and what these leave."""
    quarter = size // 4
    parts = [(x, k) for k in range(4 * quarter, size)]
    if quarter:
        shorter = windows(combine, x, quarter, axis, dilation) if quarter > 1 else x
        parts = [(shorter, k * quarter) for k in range(4)] + parts
    last = x.shape[axis] - dilation * (size - 1)
    slices = [lax.slice_in_dim(a, dilation * k, dilation * k + last, stride, axis) for a, k in parts]
    return kept(functools.reduce(combine, slices))
'''


class Sliding(Struct, frozen=True):
    """A tap axis whose positions only shift a kept one: all accesses depend on `stride * kept + dilation * tap`."""

    tap: Axis
    kept: Axis
    stride: int
    dilation: int
    joint: Axis  # of the positions stride * kept + dilation * tap


class Separated(Struct, frozen=True):
    """A job over joint axes, whose values are then combined in windows, one axis after the other."""

    job: Job
    windows: tuple[Sliding, ...]


def separated(job: Job, chosen: Sequence[Axis], bounds: Bounds, target: Target) -> Separated | None:
    """The job as windows along single axes, if that is cheaper than all positions of the chosen axes: where none are
    chosen, of short reductions over what has to be gathered."""
    found: list[Sliding] = []
    result = job
    apart = [load for e in job.exprs() for load in loads(e) if not is_view(load.buffer, load.indices, job.axes, bounds)]
    if not chosen:
        chosen = short_reductions(job) if apart else ()
    for tap in chosen:
        sliding = sliding_tap(result, tap, bounds)
        shorter = None if sliding is None else joined(result, sliding, bounds)
        if sliding is not None and shorter is not None:
            found.append(sliding)
            result = shorter
    alone = {w.tap for w in found}
    inside = free_vars(*loads(result.value))
    if not found or any(w.joint.var not in inside for w in found):
        return None
    taps = prod(_count(a, target) for a in chosen)
    bits = job.buffer.dtype.bits
    term = sum(work(e, target) for e in job.exprs()) + target.gather * len(apart)
    together = operations.windows_together(target, taps, _count_all(job, target), term, bits)
    others = prod(_count(a, target) for a in chosen if a not in alone)
    one_by_one = _passes(result, found, others, term, target)
    return Separated(result, tuple(found)) if cheaper("windows one by one", one_by_one, together) else None


def _count(axis: Axis, target: Target) -> float:
    return float(axis.extent.about(target.default_extent))


def _count_all(job: Job, target: Target) -> float:
    """Positions of the axes that are kept."""
    reduced = job.reduced()
    return prod(_count(a, target) for a in job.axes if a not in reduced)


def _passes(job: Job, found: Sequence[Sliding], others: float, term: float, target: Target) -> float:
    """The price of windows along one axis after the other, each of which shortens its axis."""
    joints = {w.joint for w in found}
    reduced = job.reduced()
    kept = prod(_count(a, target) for a in job.axes if a not in joints and a not in reduced)
    lengths = [_count(w.joint, target) for w in found]
    bits, total = job.buffer.dtype.bits, 0.0
    if others > 1:
        total = operations.windows_together(target, others, kept * prod(lengths), term, bits)
        term = target.load * operations.width(bits)
    for k, window in enumerate(found):
        before, lengths[k] = kept * prod(lengths), _count(window.kept, target)
        taps = int(_count(window.tap, target))
        total += operations.window_alone(target, before, kept * prod(lengths), taps, term, bits)
        term = target.load * operations.width(bits)
    return total


def sliding_tap(job: Job, tap: Axis, bounds: Bounds) -> Sliding | None:
    """How a tap shifts one kept axis wherever it occurs, or None. Other axes may be in the same indices."""
    kept = {a.var: a for a in job.axes if a not in job.reduced()}
    found: set[tuple[Var, int, int]] | None = None  # axes, and by how much they and the tap move what is read
    for load in (load for e in (job.value, *job.guards) for load in loads(e)):
        for form in map(bounds.linear, load.indices):
            d = form.terms.get(tap.var, 0)
            if d:
                steps = ((v, abs(c), gcd(c, d)) for v, c in form.terms.items() if v in kept and c * d > 0)
                here = {(v, s // g, abs(d) // g) for v, s, g in steps if isinstance(v, Var)}
                found = here if found is None else found & here
    for axis in kept.values():
        for var, stride, dilation in found or ():
            if var == axis.var:
                low = axis.low * stride + tap.low * dilation
                extent = (axis.extent - 1) * stride + (tap.extent - 1) * dilation + 1
                joint = Axis(Var(f"{axis.var.name}_{tap.var.name}", axis.var.dtype), low, extent)
                taken = joint.var in bounds.boxes or any(a.var == joint.var for a in job.axes)
                return None if taken else Sliding(tap, axis, stride, dilation, joint)
    return None


def joined(job: Job, sliding: Sliding, bounds: Bounds) -> Job | None:
    """The job over the joint axis in place of the kept one and the tap; None where it depends on them otherwise."""

    def form(old: Linear) -> Linear | None:
        s, d = old.terms.get(sliding.kept.var, 0), old.terms.get(sliding.tap.var, 0)
        if s * sliding.dilation != d * sliding.stride or s % sliding.stride:
            return None
        rest = old.without((sliding.kept.var, sliding.tap.var))
        return rest + atom(sliding.joint.var) * (s // sliding.stride) if s else rest

    def one(e: Expr) -> Expr:
        if isinstance(e, Load):
            forms = [form(bounds.linear(i)) for i in e.indices]
            indices = [i if f is None else to_expr(f, i) for f, i in zip(forms, e.indices, strict=True)]
            return Load(e.buffer, tuple(indices), e.span)
        if isinstance(e, Binary) and e.op in COMPARE_OPS and e.lhs.dtype.is_signed:
            difference = form(bounds.linear(e.lhs) - bounds.linear(e.rhs))
            if difference is not None:
                return Binary(e.op, to_expr(difference, e.lhs), const(0, e.lhs.dtype))
        return e

    value, guards = map_expr(job.value, one), tuple(map_expr(g, one) for g in job.guards)
    both = {sliding.kept.var, sliding.tap.var}
    if any(free_vars(e) & both for e in (value, *guards)):
        return None
    axes = tuple(sliding.joint if a is sliding.kept else a for a in job.axes if a is not sliding.tap)
    # The place of the store says which axes are kept, and the joint one is.
    indices = tuple(map_expr(i, lambda e: sliding.joint.var if e == sliding.kept.var else e) for i in job.indices)
    return replace(job, value=value, guards=guards, axes=axes, indices=indices)
