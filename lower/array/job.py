"""One statement over its axes, brought into its best shape before source is written.

Guards on one axis shrink its range, axes of one iteration disappear, quotients split axes, full rows fuse to one
reduction axis, and small overlapping windows (filter taps) are unrolled. Nothing here writes source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise, product
from math import gcd, prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import UpdateOp
from ir.fold import chosen as left_of_choice
from ir.fold import computed
from ir.nodes import Binary, Buffer, Call, Const, Expr, Load, Select, Unary, Var, const
from ir.operators import is_library
from ir.presburger import sets as presburger
from ir.transform.loops.coalesce import digits_of
from ir.traverse import (
    children,
    factors,
    free_vars,
    has_loads,
    is_const,
    loads,
    map_expr,
    reads,
    substitute_expr,
    walk_expr,
    with_children,
)
from lower.analysis.deciding import cheaper
from lower.analysis.linear_forms import AT_MOST_ZERO, Linear, atom, linear, number, residue, to_expr
from lower.array.access import Bounds, find_view, unbordered_view
from lower.array.finiteness import positions
from lower.array.views import Axis, split_terms

# A window is unrolled into shifted slices up to this many taps: fastest for few, and the source stays readable.
MAX_TAPS = 32
MAX_SLICES = 256  # taps that are traced one by one: XLA takes some milliseconds for each
UNROLLED_STEPS = 8  # of a loop over further taps that are compiled as one
_LONGER = 8  # times as many taps that are reduced are preferred to few of which some are not
_MAX_CANDIDATES = 6  # axes of which all combinations are tried
WORTH = 16  # in loops, a guard over several axes cuts one if that leaves out more than its size over this number
MAX_CUTS = 64  # of the axes of a statement by its guards; those of a program that does something need a few
MIN_PART = 8  # positions of the parts of which long windows are made
MAX_SHORT = 16  # terms of a product of small matrices that are written out
MIN_ROWS = 16  # rows of few elements that are worth writing out
MANY_ROWS = 1024  # and in a loop
THIN = 8  # columns of a matrix of few rows, with which products are written out,
SHALLOW = 8  # if they are fewer than so many,
FEW_RESULTS = 256  # and results are no fewer: with fewer either takes as long as a call
MAX_WINDOW = 4  # positions of a window that is no shifted slice up to which it is unrolled


class Job(Struct, frozen=True):
    """`buffer[indices] = value`, or `op=` when it updates, for all positions of `axes` where the guards hold.

    Nobody asks for the value where one of the conditions `asked` does not hold.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    op: UpdateOp | None
    guards: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    asked: tuple[Expr, ...] = ()

    def exprs(self) -> Iterator[Expr]:
        yield from self.indices
        yield self.value
        yield from self.guards
        yield from self.asked

    def substitute(self, var: Var, value: Expr) -> Job:
        """The job without the axis of `var`, which takes one value."""
        values = {var: value}
        return Job(
            self.buffer,
            tuple(substitute_expr(i, values) for i in self.indices),
            substitute_expr(self.value, values),
            self.op,
            tuple(substitute_expr(g, values) for g in self.guards),
            tuple(a for a in self.axes if a.var != var),
            tuple(substitute_expr(g, values) for g in self.asked),
        )

    def with_axis(self, old: Axis, *new: Axis) -> Job:
        """The job with an axis replaced."""
        axes: list[Axis] = []
        for axis in self.axes:
            axes += new if axis.var == old.var else [axis]
        return replace(self, axes=tuple(axes))

    def reduced(self) -> tuple[Axis, ...]:
        """Axes that the place of an update does not depend on."""
        if self.op is None:
            return ()
        used = free_vars(*self.indices)
        return tuple(a for a in self.axes if a.var not in used)


def inequalities(guard: Expr, bounds: Bounds) -> list[Linear] | None:
    """Linear forms that are all <= 0 exactly where an integer comparison holds."""
    if not isinstance(guard, Binary) or guard.op not in (*AT_MOST_ZERO, "ne") or not guard.lhs.dtype.is_integer:
        return None
    difference = bounds.linear(guard.lhs) - bounds.linear(guard.rhs)
    if guard.op == "ne":  # what is not 0 is at least 1 where it is never less than 0
        ends = ((bounds.at_least(difference), -1), (bounds.at_most(difference), 1))
        return next(([difference * sign + 1] for end, sign in ends if end == 0), None)
    return [difference * sign + slack for sign, slack in AT_MOST_ZERO[guard.op]]


def verdict(guard: Expr, bounds: Bounds) -> bool | None:
    """Whether a guard holds at all positions, at none, or that is not known."""
    if isinstance(guard, Const):
        return bool(guard.value)
    if isinstance(guard, Binary) and guard.op in ("and", "or"):
        parts = (verdict(guard.lhs, bounds), verdict(guard.rhs, bounds))
        decisive = guard.op == "or"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(guard, Binary) and guard.op == "ne":
        same = verdict(Binary("eq", guard.lhs, guard.rhs), bounds)
        return None if same is None else not same
    forms = inequalities(guard, bounds)
    if forms is None:
        return None
    highs = [bounds.at_most(f) for f in forms]
    if all(h is not None and h <= 0 for h in highs):
        return True
    lows = [bounds.at_least(f) for f in forms]
    return False if any(low is not None and low > 0 for low in lows) else None


def settle(job: Job, around: Bounds, forms: list[str]) -> Job | None:
    """Shrink axes by guards, drop guards that always hold; None when nothing is ever executed.

    Guards that contradict each other would shrink axes of symbolic extents for ever, and long ones for very long. After
    so many cuts that others are through, isl says whether anything is left, and axes stay as they are, as `forms` says.
    """
    cuts = 0
    while True:
        bounds = around.with_axes(job.axes)
        for axis in job.axes:
            extent = bounds.at_most(axis.extent)
            if extent is not None and extent <= 0:
                return None
            if axis.extent.equals(1):
                job = job.substitute(axis.var, to_expr(axis.low, axis.var))
                break
        else:
            guards: list[Expr] = []
            for guard in job.guards:
                holds = verdict(guard, bounds)
                if holds is False:
                    return None
                if holds is None:
                    guards.append(guard)
            job = replace(job, guards=tuple(guards))
            smaller = _pinned(job, bounds) or (_shrink(job, bounds) if cuts < MAX_CUTS else None)
            if smaller is not None:
                job, cuts = smaller, cuts + 1
            elif cuts < MAX_CUTS:
                return job
            elif _empty(job, around):
                return None
            else:
                forms.append(f"guards cut its axes {MAX_CUTS} times, and may cut them further")
                return job


def _empty(job: Job, around: Bounds) -> bool:
    """Whether it is proven that the guards hold nowhere."""

    def question() -> bool:
        where = positions(job.axes, around.boxes)
        for guard in job.guards:
            where = where.intersect(presburger.condition(guard).may)
        return where.is_empty()

    return presburger.within_budget(question, False)


def _pinned(job: Job, bounds: Bounds) -> Job | None:
    """The job without an axis of which a guard allows one value, which may be known only as it runs; or None."""
    for guard in job.guards:
        if not (isinstance(guard, Binary) and guard.op == "eq" and guard.lhs.dtype.is_integer):
            continue
        parts = split_terms(bounds.linear(guard.lhs) - bounds.linear(guard.rhs), job.axes)
        if parts is None or len(parts[0]) != 1 or abs(parts[0][0][1]) != 1 or parts[1].has_loads():
            continue
        ((axis, c),), rest = parts
        value = rest * -c
        if bounds.within(value - axis.low, axis.extent):
            return job.substitute(axis.var, to_expr(value, axis.var))
    return None


def _shrink(job: Job, bounds: Bounds) -> Job | None:
    """The job with one axis restricted by one of its guards, or None."""
    for guard in job.guards:
        for form in inequalities(guard, bounds) or ():
            parts = split_terms(form, job.axes)
            if parts is None:
                continue
            for axis, c in parts[0]:
                rest = parts[1]
                if len(parts[0]) > 1:  # what the other axes allow somewhere
                    least = bounds.at_least(form - atom(axis.var) * c)
                    if least is None:
                        continue
                    rest = number(least)
                if rest.has_loads() or not rest.vars() <= bounds.static:
                    continue
                smaller = restrict(axis, c, rest)
                # in a loop a slice is a copy each time: where the guard stays anyway, a row less is not worth it
                anyway = len(parts[0]) == 1 or bounds.boxes.keys() <= {a.var for a in job.axes}
                if smaller is not None and (anyway or _much_smaller(smaller, axis)):
                    return job.with_axis(axis, smaller)
    return None


def _much_smaller(smaller: Axis, axis: Axis) -> bool:
    less = axis.extent - smaller.extent
    return less.is_const and axis.extent.is_const and less.const * WORTH > axis.extent.const


def restrict(axis: Axis, c: int, rest: Linear) -> Axis | None:
    """The axis within `c * var + rest <= 0`, when that is smaller for certain."""
    if not rest.is_const and abs(c) != 1:
        return None
    if c > 0:  # var <= floor(-rest / c)
        limit = number(-rest.const // c) if rest.is_const else rest * -1
        less = axis.low + axis.extent - (limit + 1)
        return Axis(axis.var, axis.low, axis.extent - less) if less.is_const and less.const > 0 else None
    low = number(-(-rest.const // -c)) if rest.is_const else rest  # var >= ceil(rest / -c)
    less = low - axis.low
    return Axis(axis.var, low, axis.extent - less) if less.is_const and less.const > 0 else None


def split_quotients(job: Job, bounds: Bounds) -> Job:
    """Split axes where indices that are no views divide them: `A[i // 2]` becomes an outer and an inner axis.

    What is a view stays one, also where an index reads data: of `A[page[i // 16], i % 16]` rows are left to gather.
    """
    better: Job | None = job
    while better is not None:
        job, better = better, next(_better_splits(better, bounds), None)
    return job


def _better_splits(job: Job, bounds: Bounds) -> Iterator[Job]:
    """The job with one axis split, where no access is more awkward for it and one is less."""
    before = _awkward(job, bounds)
    for axis in job.axes:
        if not axis.is_fixed:
            continue
        for c in sorted(_divisors(job, axis, bounds.with_axes(job.axes)), reverse=True):
            if axis.low.const % c or axis.extent.const % c:
                continue
            candidate, _ = _strip_mined(job, axis, c)
            after = _awkward(candidate, bounds)
            if all(b <= a for a, b in zip(before, after, strict=True)) and after != before:
                yield _canonical(candidate, bounds.with_axes(candidate.axes))


def _strip_mined(job: Job, axis: Axis, c: int) -> tuple[Job, Axis]:
    """The job with an axis of constant bounds as two, of which the inner one has `c` positions, and the outer one."""
    outer = Axis(_derived(axis.var, "o"), number(axis.low.const // c), number(axis.extent.const // c))
    inner = Axis(_derived(axis.var, "i"), number(0), number(c))
    joined = Binary("add", Binary("mul", outer.var, const(c, axis.var.dtype)), inner.var)
    axes = job.with_axis(axis, outer, inner).axes
    return replace(job.substitute(axis.var, joined), axes=axes), outer


def turn(job: Job, bounds: Bounds) -> Job:
    """Count axes from where a store wraps around: `B[(q + 3) % 4] = A[q]` is `B[p] = A[(p + 1) % 4]`, a slice.

    What is read in turn wraps around, which takes a few slices in place of an index for each element.
    """
    around = bounds.with_axes(job.axes)
    for axis in job.axes:
        if not axis.is_fixed or axis.var in free_vars(*job.guards, *job.asked):
            continue
        size = axis.extent.const
        uses = [e for i in job.indices for e in _outermost(i, axis.var)]
        by = None if len(uses) != 1 else residue(uses[0], axis.var)
        if by is None or not is_const(by[1], size) or _is_slice(job, around):
            continue
        position = Axis(axis.var, number(0), axis.extent)
        turned = _turned(job.with_axis(axis, position), axis, by[0] + axis.low.const, size)
        inside = bounds.with_axes(turned.axes)
        turned = _canonical(turned, inside)
        if _is_slice(turned, inside):
            return turn(turned, bounds)
    return job


def _is_slice(job: Job, bounds: Bounds) -> bool:
    """Whether all that is stored to is a view, no part of which wraps around."""
    return find_view([linear(n) for n in job.buffer.shape], job.indices, job.axes, bounds) is not None


def _outermost(expr: Expr, var: Var) -> Iterator[Expr]:
    """The remainders in an expression that a variable is in, and the variable wherever it is in none."""
    if expr == var or (isinstance(expr, Binary) and expr.op == "floormod" and var in free_vars(expr)):
        yield expr
    elif not isinstance(expr, Load):
        for child in children(expr):
            yield from _outermost(child, var)
    elif var in free_vars(expr):
        yield var


def _turned(job: Job, axis: Axis, by: int, size: int) -> Job:
    """A job in terms of positions p of an axis, whose variable is `low + (p - by) % size` there."""
    var = axis.var
    position = to_expr(atom(var) - by, var)
    value = to_expr(atom(Binary("floormod", position, const(size, var.dtype))) + axis.low, var)

    def one(e: Expr) -> Expr:
        match e:
            case Binary(op="floormod", lhs=at, rhs=Const(value=n)) if n == size and linear(at).slope(var) in (1, -1):
                moved = linear(at).without([var]) + (atom(var) - by + axis.low) * linear(at).slope(var)
                return replace(e, lhs=to_expr(replace(moved, const=moved.const % size), var))
            case Var() if e == var:
                return value
            case _ if children(e) and var in free_vars(e):
                return with_children(e, tuple(map(one, children(e))))
            case _:
                return e

    return replace(job, indices=tuple(map(one, job.indices)), value=one(job.value))


def split_overlaps(job: Job, bounds: Bounds) -> Job:
    """Split an axis of long windows that overlap by whole parts: `A[64 * f + k]` with k < 256 is four windows of 64
    that do not, each of them a view."""
    if job.op is None or not all(a.is_fixed for a in job.axes):
        return job
    inside = bounds.with_axes(job.axes)
    windows = [indices for b, indices in accesses(job) if not is_view(b, indices, job.axes, inside)]
    forms = [inside.linear(index).terms for indices in windows for index in indices]
    for axis in job.axes:
        hops = [c for terms in forms if terms.get(axis.var) == 1 for c in terms.values()]
        parts = {gcd(c, axis.extent.const) for c in hops if 1 < c < axis.extent.const}
        for part in sorted(parts, reverse=True):
            if part < MIN_PART or axis.low.const % part or axis.extent.const > MAX_TAPS * part:
                continue
            found, outer = _strip_mined(job, axis, part)
            pieces = replace(found, axes=tuple(a for a in found.axes if a is not outer))
            if all_views(pieces, bounds.with_axes(found.axes)):
                return found
    return job


def _awkward(job: Job, bounds: Bounds) -> list[int]:
    """Of each access, 0 if it is a view, or how many quotients its indices are made of, and one."""
    inside = bounds.with_axes(job.axes)
    return [
        0 if is_view(buffer, indices, job.axes, inside) else 1 + len(_quotients(indices, job, inside))
        for buffer, indices in accesses(job)
    ]


def _quotients(indices: Iterable[Expr], job: Job, bounds: Bounds) -> list[Binary]:
    """Quotients of axes by numbers, which indices are sums of."""
    own = {a.var for a in job.axes}
    atoms = [a for index in indices for a in bounds.linear(index).terms]
    return [a for a in atoms if isinstance(a, Binary) and a.op == "floordiv" and _by_number(a) and free_vars(a) & own]


def _by_number(quotient: Binary) -> bool:
    return isinstance(quotient.rhs, Const) and quotient.rhs.value > 0


def _canonical(job: Job, bounds: Bounds) -> Job:
    """The job with the place of its store in linear form, so that axes it does not depend on are gone from it, and
    without the quotients and rests that are none.
    """

    def plain(expr: Expr) -> Expr:
        if not (isinstance(expr, Binary) and expr.op in ("floordiv", "floormod") and _by_number(expr)):
            return expr
        form = bounds.linear(expr)
        return to_expr(form, expr) if all(isinstance(a, Var) for a in form.terms) else expr

    indices = tuple(to_expr(bounds.linear(i), i) for i in job.indices)
    guards = tuple(map_expr(g, plain) for g in job.guards)
    return replace(job, indices=indices, guards=guards, value=map_expr(job.value, plain))


def _divisors(job: Job, axis: Axis, bounds: Bounds) -> set[int]:
    found: set[int] = set()
    for buffer, indices in accesses(job):
        if not is_view(buffer, indices, job.axes, bounds):
            quotients = [q for q in _quotients(indices, job, bounds) if axis.var in free_vars(q)]
            found |= {int(q.rhs.value) for q in quotients if isinstance(q.rhs, Const)}
    return found


def _derived(var: Var, suffix: str) -> Var:
    return Var(f"{var.name}_{suffix}", var.dtype)


def accesses(job: Job) -> list[tuple[Buffer, tuple[Expr, ...]]]:
    """Buffers and indices of the store and of all loads."""
    found = [(job.buffer, job.indices)]
    found += [(load.buffer, load.indices) for e in job.exprs() for load in loads(e)]
    return found


def all_views(job: Job, bounds: Bounds) -> bool:
    """Whether every access of the job is a view."""
    return all(is_view(b, i, job.axes, bounds) for b, i in accesses(job))


def is_view(buffer: Buffer, indices: Sequence[Expr], axes: Sequence[Axis], bounds: Bounds) -> bool:
    """Whether an access is a view of a buffer, or of one that goes on beyond its borders."""
    shape = [bounds.linear(d) for d in buffer.shape]
    return unbordered_view(shape, indices, axes, bounds) is not None


def fuse_reductions(job: Job, bounds: Bounds) -> Job:
    """Fuse neighbouring reduction axes that run through whole rows: one long axis reduces fastest."""
    if job.guards:
        return job
    changed = True
    while changed:
        changed = False
        reduced = job.reduced()
        for outer, inner in pairwise(reduced):
            fused = _fuse(job, outer, inner, bounds)
            if fused is not None:
                job, changed = fused, True
                break
    return job


def _fuse(job: Job, outer: Axis, inner: Axis, bounds: Bounds) -> Job | None:
    if not (inner.extent.is_const and inner.low.equals(0) and outer.low.equals(0)):
        return None
    used = [load for e in job.exprs() for load in loads(e) if {outer.var, inner.var} & free_vars(load)]
    outside = {v for e in job.exprs() for v in _vars_outside_loads(e)}
    if not used or {outer.var, inner.var} & outside:
        return None
    joint = Axis(
        Var(f"{outer.var.name}_{inner.var.name}", outer.var.dtype), number(0), outer.extent * inner.extent.const
    )
    width = const(inner.extent.const, outer.var.dtype)
    first, second = digits_of(joint.var, (width,))
    fused = job.substitute(outer.var, first).substitute(inner.var, second)
    fused = replace(fused, axes=tuple(joint if a is outer else a for a in job.axes if a is not inner))
    return fused if all_views(fused, bounds.with_axes(fused.axes)) else None


def _vars_outside_loads(expr: Expr) -> Iterator[Var]:
    if isinstance(expr, Var):
        yield expr
    if not isinstance(expr, Load):
        for child in children(expr):
            yield from _vars_outside_loads(child)


def taps(job: Job, bounds: Bounds) -> tuple[Axis, ...]:
    """Fewest constant reduction axes whose unrolling turns all accesses that are no views into views.

    Windows that do not overlap are views, of which a reduction over short innermost axes is slower than slices. Where
    no few positions do, reduction axes of any length are taken.
    """
    inside = bounds.with_axes(job.axes)
    awkward = [
        (b, i)
        for b, i in accesses(job)
        if (not is_view(b, i, job.axes, inside) or _windows(b, i, job, inside)) and _affine(i, job.axes, inside)
    ]
    reads_own = reads(job.buffer, *job.exprs())
    if not awkward or job.op is None or reads_own:  # what one piece writes another must not read
        return ()
    few = _few_taps(job, awkward, inside)
    if few and set(few) <= set(job.reduced()):
        return few
    long = _long_taps(job, [(b, i) for b, i in awkward if not is_view(b, i, job.axes, inside)], inside)
    found = few if few and not (long and _count(long) <= _LONGER * _count(few)) else long
    return found or _deciding(job, awkward)


def _deciding(job: Job, awkward: Accesses) -> tuple[Axis, ...]:
    """The reduction axes of few positions that choose among places, as neighbours of a cell are numbered."""
    chosen = [e.cond for _, indices in awkward for i in indices for e in walk_expr(i) if isinstance(e, Select)]
    found = tuple(a for a in short_reductions(job) if a.var in free_vars(*chosen))
    return found if _count(found) <= MAX_TAPS else ()


def short_reductions(job: Job) -> tuple[Axis, ...]:
    """The reduction axes, if there are few positions along them."""
    reduced = job.reduced()
    constant = job.op is not None and all(a.is_fixed for a in reduced)
    return reduced if constant and _count(reduced) <= MAX_TAPS else ()


def short_products(job: Job, target: Target) -> tuple[Axis, ...]:
    """The reduction axes of a batch of products of small matrices, where these are cheaper written out term by term."""
    reduced = job.reduced()
    varying = [{a for a in job.axes if a.var in free_vars(f)} for f in factors(job.value)]
    summed = [axes for axes in varying if axes & set(reduced)]
    if job.op is None or update_class(job.op) != "add" or len(summed) < 2:
        return ()
    batch = set[Axis].intersection(*summed) - set(reduced)
    matrix = set[Axis].union(*summed) - batch
    constant = all(a.extent.is_const for a in job.axes) and all(a.low.is_const for a in reduced)
    if not (constant and batch and all(axes < batch | matrix for axes in summed) and _count(reduced) <= MAX_SHORT):
        return ()
    whole = operations.contraction(target, _count(batch | matrix), _count(batch))
    terms = operations.contraction_by_terms(target, _count(batch | matrix))
    return reduced if cheaper("products term by term", terms, whole) else ()


def short_rows(job: Job, bounds: Bounds, target: Target, inside: bool) -> tuple[Axis, ...]:
    """The reduction axes of rows of few floats that are combined one by one, which lie next to each other in memory or
    are looked up. Products of matrices are left to the library.

    `inside` of a loop few results are kept in memory by a reduction, where others are worked out for each reader.
    """
    reduced = job.reduced()
    kept = [a for a in job.axes if a not in reduced]
    if job.op is None or not reduced or not job.buffer.dtype.is_float or reads(job.buffer, *job.exprs()):
        return ()
    if not all(a.is_fixed for a in reduced) or any(a.var in bounds.cut for a in reduced):
        return ()
    rows = _count(a for a in kept if a.extent.is_const)
    if not 1 < _count(reduced) <= target.short_reduction or rows < (MANY_ROWS if inside else MIN_ROWS):
        return ()
    names, own = {a.var for a in reduced}, {a.var for a in kept}
    places = [
        e.indices for e in loads(job.value) if any(map(has_loads, e.indices)) or free_vars(*e.indices[-1:]) & names
    ]
    looked_up = any(has_loads(i) for place in places for i in place)
    summed = update_class(job.op) == "add" and not looked_up
    masked = any(free_vars(g) & own and free_vars(g) & names for g in job.guards)  # whose sums are of whole arrays
    if summed and not masked and any(_is_contraction(t, kept, reduced) for t in _terms(job.value)):
        return ()
    whole = any(_lacking(f, kept) <= THIN for f in factors(job.value))
    shared = any(own - (v := free_vars(e)) and v & names for e in walk_expr(job.value) if _is_dear(e))
    return reduced if whole and not shared and any(free_vars(*i) & names for i in places) else ()


def _is_contraction(term: Expr, kept: Sequence[Axis], reduced: Sequence[Axis]) -> bool:
    """Whether a term is a product of factors along reduced axes which is left to the library: a batch of products, with
    `SHALLOW` terms or few results, or where each factor lacks an axis that is kept, and more than `THIN` positions.

    Measured on CPU for products of 16,384 rows of k elements with matrices of up to 8 columns, of one to seven as many
    sums of products take 0.06 to 0.6 times as long as the library does, of eight 0.5 to 1.2 times.
    """
    names, own = {a.var for a in reduced}, {a.var for a in kept}
    along = {frozenset(v & (own | names)): f for f in factors(term) if (v := free_vars(f)) & names}
    few = (
        _count(reduced) < SHALLOW
        and _count(kept) >= FEW_RESULTS
        and min((_lacking(f, kept) for f in along.values()), default=0) <= THIN
    )
    batch = frozenset.intersection(*along) - names if along else frozenset[Var]()
    return len(along) > 1 and not (few and not batch)


def _lacking(factor: Expr, kept: Iterable[Axis]) -> int:
    """How many positions the axes have that are kept and a factor does not depend on."""
    names = free_vars(factor)
    return _count(a for a in kept if a.var not in names and a.extent.is_const)


def _terms(expr: Expr) -> Iterator[Expr]:
    """What a value is the sum of, but for factors."""
    match expr:
        case Binary(op="add" | "sub", lhs=a, rhs=b):
            yield from _terms(a)
            yield from _terms(b)
        case Binary(op="mul", lhs=Const(), rhs=e) | Binary(op="mul", lhs=e, rhs=Const()):
            yield from _terms(e)
        case _:
            yield expr


def _is_dear(expr: Expr) -> bool:
    """Whether an operation on floats takes as long as many others, so that it is done once for all that need it."""
    if isinstance(expr, Unary | Binary):
        return is_library(expr.op, expr.dtype) or (expr.op == "div" and expr.dtype.is_float)
    return isinstance(expr, Call)


def _count(axes: Iterable[Axis]) -> int:
    return prod(a.extent.const for a in axes)


Accesses = Sequence[tuple[Buffer, tuple[Expr, ...]]]


def _few_taps(job: Job, awkward: Accesses, bounds: Bounds) -> tuple[Axis, ...]:
    """The first axes of few positions, reduction axes before others, without which all accesses are views."""
    candidates = [a for a in job.axes if a.is_fixed and a.extent.const <= MAX_TAPS]
    candidates.sort(key=lambda a: (a not in job.reduced(), a.extent.const))
    for count in range(1, len(candidates) + 1):
        for chosen in combinations(candidates, count):
            rest = [a for a in job.axes if a not in chosen]
            if _count(chosen) <= MAX_TAPS and all(
                is_view(b, i, rest, bounds) and not _windows(b, i, replace(job, axes=tuple(rest)), bounds)
                for b, i in awkward
            ):
                return chosen
    return ()


def _long_taps(job: Job, awkward: Accesses, bounds: Bounds) -> tuple[Axis, ...]:
    """The reduction axes with the fewest positions without which all accesses are views."""
    found: list[tuple[int, tuple[Axis, ...]]] = []
    candidates = [a for a in job.reduced() if a.is_fixed][:_MAX_CANDIDATES]
    for count in range(1, len(candidates) + 1):
        for chosen in combinations(candidates, count):
            rest = [a for a in job.axes if a not in chosen]
            if awkward and rest and all(is_view(b, i, rest, bounds) for b, i in awkward):
                found.append((_count(chosen), chosen))
    return min(found, key=lambda f: f[0], default=(0, ()))[1]


def _windows(buffer: Buffer, indices: Sequence[Expr], job: Job, bounds: Bounds) -> bool:
    """Whether a dimension is walked by axes of which one is kept and a short one reduced."""
    view = unbordered_view([bounds.linear(d) for d in buffer.shape], indices, job.axes, bounds)
    reduced = {a.var for a in job.reduced()}
    short = {a.var for a in job.reduced() if a.extent.is_const and a.extent.const <= MAX_WINDOW}
    return any({a.var for a in g.axes} & short and {a.var for a in g.axes} - reduced for g in view or ())


def _affine(indices: Iterable[Expr], axes: Sequence[Axis], bounds: Bounds) -> bool:
    """Whether indices depend on axes without reading data."""
    return not any(bounds.linear(i).has_loads() for i in indices) and bool(axes)


def unrolled(job: Job, chosen: Sequence[Axis]) -> Iterator[Job]:
    """One job for each position of the chosen axes, in order."""
    for point in product(*(range(a.low.const, a.low.const + a.extent.const) for a in chosen)):
        piece = job
        for axis, value in zip(chosen, point, strict=True):
            piece = piece.substitute(axis.var, const(value, axis.var.dtype))
        yield piece if piece is job else _with_numbers(piece)


def passing(
    guards: Sequence[Expr], taps: Sequence[Axis], bounds: Bounds
) -> tuple[tuple[tuple[int, ...], ...] | None, Sequence[Expr]]:
    """The positions of a window at which its own guards hold, if they leave any out, and the guards of other axes."""
    names = {a.var for a in taps}
    own = [g for g in guards if free_vars(g) and free_vars(g) <= names and not has_loads(g)]
    places: list[tuple[int, ...]] = []
    for point in product(*(range(a.low.const, a.low.const + a.extent.const) for a in taps)) if own else ():
        at: dict[Var, Expr] = {a.var: const(value, a.var.dtype) for a, value in zip(taps, point, strict=True)}
        verdicts = [verdict(map_expr(substitute_expr(g, at), _number), bounds) for g in own]
        if None in verdicts:
            return None, guards
        places += [point] if all(verdicts) else []
    return (tuple(places), [g for g in guards if g not in own]) if places else (None, guards)


def _with_numbers(job: Job) -> Job:
    """A job with what operations on numbers give, and without choices that these decide."""
    guards = tuple(map_expr(g, _number) for g in job.guards)
    return replace(job, value=map_expr(job.value, _number), guards=guards)


def _number(expr: Expr) -> Expr:
    found = computed(expr, library=False)
    return left_of_choice(expr) if found is None else found


def outer_steps(chosen: Sequence[Axis], limit: int) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The chosen axes as outer ones that are looped over, and others, which have `limit` positions at most."""
    steps, taps = list[Axis](), list(chosen)
    while _count(taps) > limit:
        steps.append(taps.pop(0))
    return tuple(steps), tuple(taps)


def update_class(op: UpdateOp) -> UpdateOp:
    return "add" if op == "sub" else op


def axis_names(axes: Sequence[Axis]) -> str:
    return ", ".join(a.var.name for a in axes)
