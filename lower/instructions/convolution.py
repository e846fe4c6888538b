"""Convolutions: sums of products of an image and a filter, where positions of the filter only shift the image.

Any rank, stride, dilation and direction; batches and channels are any axes of the image alone, of the filter alone, and
of both. Owns how one is recognised and what its forms cost, not how they are written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from functools import reduce
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.floats import Floats
from ir.nodes import Binary, Expr, Load, Select, Var, const
from ir.traverse import children, free_vars, loads, substitute_expr
from lower.analysis import freedoms
from lower.analysis.deciding import cheapest
from lower.analysis.linear_forms import to_expr
from lower.array.access import Bounds
from lower.array.job import MAX_SLICES, UNROLLED_STEPS, Job
from lower.array.views import Axis
from lower.instructions.sliding_windows import Sliding, joined, sliding_tap
from lower.program.build import ALL, NEW_AXIS
from lower.program.nodes import JaxExpr, Subscript
from lower.tensor.exact import EXACT, magnitude

CONVOLUTION = freedoms.Form(
    "instructions.convolution",
    "sum of f(X[s * y + d * r, c]) * g(W[r, c, k]) over r, c  =  conv_general_dilated(f(X), g(W))",
    "that is its definition",
    Floats.REASSOCIATE | Floats.NO_SIGNED_ZEROS,
)


class Form(Enum):
    """How a convolution is computed."""

    LIBRARY = "convolution"
    PRODUCTS = "products"  # a contraction over channels for each position of the filter
    SLICES = "slices"  # all positions and channels one by one


class Convolution(Struct, frozen=True):
    """`sum of image * filter`; `image` is over batch, channels and the joint axes of `windows`, `kernel` over outs,
    channels and taps. Both are functions of one element; `exact` are integers whose sums float32 has exactly."""

    image: Expr
    kernel: Expr
    batch: tuple[Axis, ...]
    outs: tuple[Axis, ...]
    channels: tuple[Axis, ...]
    windows: tuple[Sliding, ...]
    floats: bool
    exact: bool

    @property
    def image_axes(self) -> tuple[Axis, ...]:
        return (*self.batch, *self.channels, *(w.joint for w in self.windows))

    @property
    def kernel_axes(self) -> tuple[Axis, ...]:
        return (*self.outs, *self.channels, *(w.tap for w in self.windows))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Axes of the result."""
        return (*self.batch, *self.outs, *(w.kept for w in self.windows))

    def masked(self, guards: Sequence[Expr]) -> Convolution | None:
        """The convolution of what guards let count, which tell channels apart; None if they tell other axes apart."""
        channels = {a.var for a in self.channels}
        others = {a.var for a in (*self.image_axes, *self.kernel_axes, *self.axes)} - channels
        if any(free_vars(g) & others for g in guards):
            return None
        parts = (self.image, self.kernel)
        image, kernel = (reduce(lambda e, g: Select(g, e, const(0, e.dtype)), guards, part) for part in parts)
        return replace(self, image=image, kernel=kernel)

    @property
    def lies_in_rows(self) -> bool:
        """Whether elements under one tap lie side by side, for results that follow each other."""
        last = [free_vars(load.indices[-1]) for load in loads(self.image) if load.indices]
        along = {*(a.var for a in self.batch), *(w.joint.var for w in self.windows if w.stride == 1)}
        return all(names & along for names in last)

    def form(self, target: Target, library: bool) -> Form:
        """The cheapest form on a target; `library` says whether the library's function may be called."""
        prices = self.prices(target)
        if not library:
            prices.pop(Form.LIBRARY, None)
        return cheapest("convolution", prices)

    def prices(self, target: Target) -> dict[Form, float]:
        """What each form costs; the library's functions are made for floats."""
        t = target
        n, o, c = (_positions(axes, t) for axes in (self.batch, self.outs, self.channels))
        places = n * _positions([w.kept for w in self.windows], t)
        taps = _positions([w.tap for w in self.windows], t)
        work, contracts = places * o * c * taps, self.floats or self.exact
        by_taps = operations.convolution_by_taps(t, work, taps, places * (o + c), contracts=contracts)
        result = {Form.PRODUCTS: by_taps}
        if contracts:
            along = [_positions([w.tap], t) for w in self.windows]
            result[Form.LIBRARY] = operations.convolution(t, places, o, c, along) + t.kernel
        if c * taps <= MAX_SLICES or c == 1:
            turns = None if c * taps <= MAX_SLICES else taps / UNROLLED_STEPS
            rows = self.lies_in_rows
            result[Form.SLICES] = operations.convolution_of_slices(t, places * o, work, turns, in_rows=rows)
        return result


def _positions(axes: Sequence[Axis], target: Target) -> float:
    return prod(float(a.extent.about(target.default_extent)) for a in axes)


def convolution(job: Job, chosen: Sequence[Axis], bounds: Bounds) -> Convolution | None:
    """A sum over the chosen axes, which are windows, and other reduced ones as a convolution, or None."""
    value = job.value
    if not (isinstance(value, Binary) and value.op == "mul" and job.op in ("add", "sub")):
        return None
    variables = {a.var for a in job.axes}
    if not (_of_one_element(value.lhs, variables) and _of_one_element(value.rhs, variables)):
        return None
    for image, kernel in ((value.rhs, value.lhs), (value.lhs, value.rhs)):
        found = _recognised(job, image, kernel, chosen, bounds)
        if found is not None:
            return found
    return None


def _of_one_element(expr: Expr, variables: Collection[Var]) -> bool:
    """Whether an expression depends on its place by one element only."""
    if isinstance(expr, Load):
        return True
    below = children(expr)
    return not (isinstance(expr, Var) and expr in variables) and (
        len({*loads(expr)}) <= 1 and all(_of_one_element(e, variables) for e in below)
    )


def _is_exact(job: Job, image: Expr, kernel: Expr, reduced: Sequence[Axis]) -> bool:
    """Whether float32 has all sums of products of integers."""
    most = [magnitude(e) for e in (image, kernel)]
    if not job.value.dtype.is_signed or None in most or not all(a.extent.is_const for a in reduced):
        return False
    return prod(m for m in (*most, *(a.extent.const for a in reduced)) if m is not None) <= EXACT


def _recognised(job: Job, image: Expr, kernel: Expr, chosen: Sequence[Axis], bounds: Bounds) -> Convolution | None:
    reduced = job.reduced()
    kept = [a for a in job.axes if a not in reduced]
    windows: list[Sliding] = []
    part = replace(job, value=image, guards=())
    for tap in chosen:
        if _backward(part, tap, bounds):
            backward = {tap.var: to_expr(tap.low * 2 + tap.extent - 1, tap.var)}
            backward = {tap.var: Binary("sub", backward[tap.var], tap.var)}
            part = replace(part, value=substitute_expr(part.value, backward))
            kernel = substitute_expr(kernel, backward)
        sliding = sliding_tap(part, tap, bounds)
        next_part = None if sliding is None else joined(part, sliding, bounds)
        if sliding is None or next_part is None:
            return None
        windows.append(sliding)
        part = next_part
    shifted = part.value
    inside, weights = free_vars(shifted), free_vars(kernel)
    partners = [w.kept for w in windows]
    others = [a for a in kept if a not in partners]
    batch = tuple(a for a in others if a.var in inside)
    outs = tuple(a for a in others if a.var in weights)
    channels = tuple(a for a in reduced if a not in chosen)
    taps_there = all(w.tap.var in weights and w.kept.var not in weights for w in windows)
    joints_there = all(w.joint.var in inside for w in windows) and not any(
        a.var in inside for a in (*chosen, *partners)
    )
    shared = all(a.var in inside and a.var in weights for a in channels)
    if any(len(group) > 1 and not all(a.extent.is_const for a in group) for group in (batch, outs, channels)):
        return None  # they are merged to one axis
    if not (taps_there and joints_there and shared) or len(batch) + len(outs) != len(others) or set(batch) & set(outs):
        return None
    floats, exact = job.value.dtype.is_float, _is_exact(job, image, kernel, reduced)
    return Convolution(shifted, kernel, batch, outs, channels, tuple(windows), floats, exact)


def _backward(job: Job, tap: Axis, bounds: Bounds) -> bool:
    """Whether an image is read backward as a tap goes forward."""
    forms = (bounds.linear(index) for load in loads(job.value) for index in load.indices)
    return any(form.terms.get(tap.var, 0) < 0 for form in forms)


def leading(code: JaxExpr, before: int, after: int) -> JaxExpr:
    """An array with one axis for its batches and one for its channels, if it has no more than one of each."""
    marks = (ALL if before else NEW_AXIS, ALL if after else NEW_AXIS)
    return code if before and after else Subscript(code, marks if not after else marks[:1])
