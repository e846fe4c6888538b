"""A nest of loops that indexes a buffer, and the loops over the buffer that replace them: the inversion of indices.

Owns which loops are replaced, what they are in terms of the new ones, and how many new loops say when the statements
between the old ones run. Builds no program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import islpy as isl
from msgspec import Struct

from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import SKIP, Buffer, Const, Expr, For, PrimFunc, Stmt, Var, const
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.calls import of_dtype
from ir.program.edit import names_in, path_to, refuse, scope_of
from ir.traverse import free_vars, is_const, stores_in, walk

_STEM = re.compile(r"_\d+$")  # what tells names apart that were the same


class Nest(Struct, frozen=True):
    """A nest of loops, and what replaces them.

    `spine` are the old loops down to the innermost one that indexes the buffer, `paths` lead from the body of each to
    the next (of the last: to its body), `axes` are the loops over the buffer, `kept` the old loops that remain, inside
    those. The axes are the `looped` ones of the buffer, at which its indices are `indices`. `context` holds around the
    nest.
    """

    func: PrimFunc
    root: For
    spine: tuple[For, ...]
    paths: tuple[tuple[Stmt, ...], ...]
    axes: tuple[For, ...]
    looped: tuple[int, ...]
    indices: tuple[Expr, ...]
    kept: tuple[For, ...]
    replaced: tuple[Var, ...]
    context: isl.Set
    scope: Mapping[str, Expr]
    buffer: Buffer

    @staticmethod
    def of(func: PrimFunc, path: tuple[Stmt, ...], buffer: Buffer, indices: tuple[Expr, ...]) -> Nest | None:
        """The nest of the loop at the end of `path`; None if it runs in storage order already, or never."""
        root = path[-1]
        assert isinstance(root, For)
        spine, paths = _spine(root, free_vars(*indices))
        moving = {loop.var for loop in spine}
        looped = [k for k, index in enumerate(indices) if free_vars(index) & moving]
        if _in_order(spine, buffer, indices, looped):
            return None
        context = facts_at(func, path)
        domain = domain_of(spine, context, buffer)
        if domain.is_empty():
            return None
        for index in indices:
            if pb.affine(index) is None:
                message = f"index {to_script(index)} of {buffer.name} is not affine, so that it cannot be inverted"
                refuse("not-affine", message, root.span)
        replaced = _replaced(root, spine, [indices[k] for k in looped], domain)
        names = _names(buffer, indices, looped, replaced, names_in(func))
        dtype = _dtype(root, spine, buffer, looped)
        axes = tuple(
            For(Var(name, dtype), const(0, dtype), of_dtype(buffer.shape[k], dtype), SKIP)
            for name, k in zip(names, looped, strict=True)
        )
        kept = tuple(loop for loop in spine if loop.var not in replaced)
        scope = scope_of(func, path[:-1]) | {a.var.name: a.var for a in axes} | {k.var.name: k.var for k in kept}
        places = tuple(looped)
        used = tuple(indices[k] for k in looped)
        return Nest(func, root, spine, paths, axes, places, used, kept, replaced, context, scope, buffer)

    def relation(self, level: int, depth: int) -> isl.Set:
        """What relates the outer `level` old loops to the outer `depth` new ones."""
        related = domain_of(self.spine[:level], self.context, self.buffer)
        for axis, index in zip(self.axes[:depth], self.indices, strict=False):
            place = pb.affine(index)
            assert place is not None
            related = related.intersect(pb.symbol(axis.var.name).eq_set(place))
        return related

    def in_order(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices of the buffer in the new nest, where the loops run over it."""
        new = list(indices)
        for place, axis in zip(self.looped, self.axes, strict=True):
            new[place] = axis.var
        return tuple(new)

    @property
    def order(self) -> list[Var]:
        """Variables from the outermost new loop to the innermost, for sums."""
        outer = [loop.var for loop in (*self.axes, *self.kept)]
        return [*outer, *(s.var for s in walk(self.root) if isinstance(s, For) and s.var not in outer)]

    def gone(self, level: int) -> list[Var]:
        """Variables of the outer `level` old loops that no new loop has taken over as it was."""
        taken = {axis.var for axis in self.axes}
        return [loop.var for loop in self.spine[:level] if loop.var in self.replaced and loop.var not in taken]

    def depth(self, level: int) -> int | None:
        """How many new loops say exactly when statements under `level` old ones run; None if no number of them does."""
        old = {loop.var for loop in self.spine[:level]}
        inner = {loop.var for loop in self.spine[level:]}
        new = (*self.axes, *self.kept)
        needed = [k for k, loop in enumerate(new) if loop.var in old]
        gone = self.gone(level)
        for depth in range(max(needed, default=-1) + 1, len(new) + 1):
            if any(free_vars(i) & inner for i in self.indices[:depth]):
                return None
            if any(loop.var not in old for loop in new[len(self.axes) : depth]):
                return None
            if _single(self.relation(level, depth), gone):
                return depth
        return None


def _spine(root: For, used: set[Var]) -> tuple[tuple[For, ...], tuple[tuple[Stmt, ...], ...]]:
    """Loops from `root` to the innermost one in `used`, and the ways between their bodies."""
    deepest = [s for s in walk(root) if isinstance(s, For) and s.var in used][-1]
    path = path_to(root, lambda s: s is deepest)
    assert path is not None
    places = [k for k, s in enumerate(path) if isinstance(s, For)]
    ways = [path[a + 1 : b + 1] for a, b in pairwise(places)]
    return tuple(s for s in path if isinstance(s, For)), (*ways, (deepest.body,))


def _in_order(spine: Sequence[For], buffer: Buffer, indices: Sequence[Expr], looped: Sequence[int]) -> bool:
    if len(spine) < len(looped):
        return False
    for loop, k in zip(spine, looped, strict=False):
        if not indices[k].same(loop.var) or not is_const(loop.start, 0) or not loop.extent.same(buffer.shape[k]):
            return False
    return True


def _dtype(root: For, spine: Sequence[For], buffer: Buffer, looped: Sequence[int]) -> DType:
    """The dtype of all loops in a nest.

    Raises:
        ScheduleError: they differ, or are narrower than the extents of the buffer.
    """
    dtypes = {loop.var.dtype for loop in spine}
    dtype = root.var.dtype
    wide = [e for e in (buffer.shape[k] for k in looped) if not isinstance(e, Const) and e.dtype.bits > dtype.bits]
    if len(dtypes) > 1 or wide or not dtype.is_signed:
        names = sorted({str(d) for d in (*dtypes, *(e.dtype for e in wide))})
        message = f"the loops and the extents of {buffer.name} have the dtypes {', '.join(names)}"
        refuse("dtype", message, root.span, help="give the loops one signed dtype, as wide as the extents")
    return dtype


def domain_of(loops: Iterable[For], context: isl.Set, buffer: Buffer) -> isl.Set:
    """Iterations of loops.

    Raises:
        ScheduleError: the bounds of one are not affine.
    """
    domain = context
    for loop in loops:
        bounds = pb.loop_domain(loop.var, loop.start, loop.extent)
        if not bounds.exact:
            message = f"the bounds of loop {loop.var.name} are not affine, so that indices of {buffer.name} cannot be"
            refuse("not-affine", f"{message} inverted", loop.span)
        domain = domain.intersect(bounds.must)
    return domain


def _single(related: isl.Set, gone: Sequence[Var]) -> bool:
    """Whether the other variables fix the values of `gone`."""
    return pb.within_budget(lambda: isl.Map.from_range(points_of(related, gone)).is_single_valued(), False)


def points_of(related: isl.Set, gone: Sequence[Var]) -> isl.Set:
    point = pb.point(gone)
    assert point is not None
    return pb.forget(point.intersect_params(related), [v.name for v in gone])


def _replaced(root: For, spine: Sequence[For], indices: Sequence[Expr], domain: isl.Set) -> tuple[Var, ...]:
    """Loop variables that the indices determine, given the other loops; loops over results before reductions.

    Raises:
        ScheduleError: there are none.
    """
    related = domain
    for k, index in enumerate(indices):
        place = pb.affine(index)
        assert place is not None
        related = related.intersect(pb.symbol(f"?{k}").eq_set(place))
    stored = {v for s in stores_in(root) for i in s.indices for v in free_vars(i)}
    used = free_vars(*indices)
    candidates = [loop.var for loop in spine if loop.var in used]
    gone: list[Var] = []
    for var in sorted(candidates, key=lambda v: v not in stored):
        if _single(related, [*gone, var]):
            gone.append(var)
    if not gone:
        shown = ", ".join(map(to_script, indices))
        names = ", ".join(v.name for v in candidates)
        message = f"the indices {shown} do not determine any of the loops {names}"
        help = "make the loop that shares elements the inner one of a nest over the rest"
        refuse("not-invertible", message, root.span, notes=_meeting(candidates[0], related), help=help)
    return tuple(v for v in candidates if v in gone)


def _meeting(var: Var, related: isl.Set) -> list[str]:
    """Two iterations that differ in one loop only and access one element."""
    other = Var(var.name + "'", var.dtype)
    pairs = related.intersect(pb.rename(related, {var.name: other.name}))
    found = pb.sample(pairs.intersect(pb.symbol(var.name).lt_set(pb.symbol(other.name))))
    if found is None:
        return []
    first, second = (found[0][name] for name in (var.name, other.name))
    return [f"for example {var.name} = {first} and {var.name} = {second} access the same element"]


def _names(
    buffer: Buffer, indices: Sequence[Expr], looped: Sequence[int], replaced: Sequence[Var], taken: set[str]
) -> list[str]:
    """Names of the loops over axes: `i` where the index is `i`, `io` and `ii` where `i` is spread over two axes."""
    axes_of = {v: [k for k in looped if v in free_vars(indices[k])] for v in replaced}
    out: list[str] = []
    for k in looped:
        mine = [v for v in replaced if k in axes_of[v]]
        if len(mine) == 1 and indices[k].same(mine[0]):
            out.append(mine[0].name)
            continue
        name = f"{buffer.name.lower()}{k}"
        if len(mine) == 1:
            axes = axes_of[mine[0]]
            part = axes.index(k)
            name = _STEM.sub("", mine[0].name) + ("", "oi"[part : part + 1], str(part))[min(len(axes), 3) - 1]
        out.append(fresh(name, taken))
    return out
