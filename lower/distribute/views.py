"""What a stage reads of a buffer of which a device owns a block, and what that costs to exchange.

For each cut dimension: the own block with some elements of its neighbours, a window that is the same for all devices
or goes along or against their order, or all of it. The distances are the extremes of indices over the iterations of a
device, found by isl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import islpy as isl
from msgspec import Struct

from ir.nodes import Binary, Buffer, Const, Expr, Load, Var, const
from ir.presburger import sets as pb
from ir.traverse import free_vars, has_loads
from lower.analysis.linear_forms import Linear, linear, to_expr
from lower.distribute.grid import Axes, Cut, Grid, Placement, tidied


class Near(Struct, frozen=True):
    """A block of a dimension along the mesh axes that are `kept` (none: all of it), and elements around the block."""

    kept: Axes
    block: int
    before: int = 0
    after: int = 0


class Window(Struct, frozen=True):
    """`width` elements of a dimension from `first` on, which is the same position on all devices."""

    first: Expr
    width: int


class Afar(Struct, frozen=True):
    """Elements from `low` to `high` of a dimension, counted from where block `step * d` starts, for block `d` along
    mesh axes: those of a window far from its own block, or where a dimension is gone through the other way round."""

    axes: Axes
    block: int
    step: int
    low: int
    high: int

    @property
    def width(self) -> int:
        """How many elements they are."""
        return self.high - self.low + 1


class Turned(Struct, frozen=True):
    """A block of a dimension that is not cut, for which the dimension `instead` is whole on each device."""

    axes: Axes
    block: int
    instead: int


Part = Near | Window | Afar | Turned | None  # of a dimension; None where devices have all of it anyway
View = tuple[Part, ...]


class Span(Struct, frozen=True):
    """The least and greatest of a difference, over all iterations."""

    low: int
    high: int


def span(expr: Expr, known: isl.Set) -> Span | None:
    """The extremes of an integer expression where `known` holds; None where they are not known."""

    def question() -> Span | None:
        value = pb.affine(expr)
        if value is None:
            return None
        region = pb.forget(known.intersect(pb.symbol(_NAME).eq_set(value)), pb.variables(known))
        line = pb.only(region, _NAME)
        if line.is_empty():
            return Span(0, -1)
        low, high = pb.bounds(line)
        return None if low is None or high is None else Span(low, high)

    return pb.within_budget(question, None)


_NAME = "the value"


class Reading(Struct, frozen=True):
    """How stages read: where devices stand, which loops stay around stages, and extents of dimensions on the mesh."""

    grid: Grid
    steady: frozenset[Var]
    around: tuple[tuple[Var, int, frozenset[Buffer]], ...] = ()  # loops, how often they run, and what they change

    @property
    def iterations(self) -> int:
        """How often a stage runs."""
        return prod(count for _, count, _ in self.around)

    def times(self, buffer: Buffer, view: View) -> int:
        """How often a view is exchanged: once for all iterations of loops that neither change it nor move it."""
        used = variables_in(view)
        moving = [k for k, (var, _, written) in enumerate(self.around) if var in used or buffer in written]
        return prod(count for _, count, _ in self.around[: moving[-1] + 1]) if moving else 1

    def view(self, load: Load, placement: Placement, known: isl.Set, blocks: Mapping[Axes, set[int]]) -> View:
        """The parts of a buffer that a load reads, the cheapest of those that serve.

        `blocks` are sizes of blocks by which loops of the stage are spread over axes.
        """
        parts: list[Part] = [
            None if cut is None else self._part(load.buffer, index, cut, known)
            for index, cut in zip(load.indices, placement, strict=True)
        ]
        return self._turned(load, placement, parts, known, blocks)

    def _part(self, buffer: Buffer, index: Expr, cut: Cut, known: isl.Set) -> Part:
        total = self.grid.count(cut.axes) * cut.block
        best: Part = Near((), total)
        price: float = total - cut.block
        for k in range(len(cut.axes), 0, -1):
            kept = cut.axes[:k]
            block = cut.block * self.grid.count(cut.axes[k:])
            start = self.grid.first(Cut(kept, block), index.dtype)
            found = span(Binary("sub", _unwrapped(index, total), start), known)
            if found is not None:
                before, after = max(0, -found.low), max(0, found.high - block + 1)
                if before + after > (total - block) // 2:
                    continue  # from so many devices that all of it is no more
                if block - cut.block + before + after < price:
                    best, price = Near(kept, block, before, after), block - cut.block + before + after
        for step in (1, -1):
            start = Binary("mul", self.grid.first(cut, index.dtype), const(step, index.dtype))
            found = span(Binary("sub", _unwrapped(index, total), start), known)
            if found is not None and found.low <= found.high:
                afar = Afar(cut.axes, cut.block, step, found.low, found.high)
                if afar.width < price and 2 * afar.width <= total - cut.block:
                    best, price = afar, afar.width
        first = self._common(index)
        found = span(Binary("sub", index, first), known) if first is not None else None
        if first is not None and found is not None and found.high >= found.low:
            width = found.high - found.low + 1
            window = Window(tidied(Binary("add", first, const(found.low, index.dtype))), width)
            if 2 * width * self.times(buffer, (window,)) < price * self.times(buffer, (best,)):
                best = window
        return best

    def _common(self, index: Expr) -> Expr | None:
        """The part of an index that is the same for all iterations of a stage."""
        terms = linear(index).terms
        alike = self.steady - {*self.grid.variables.values()}
        same = {e: c for e, c in terms.items() if free_vars(e) <= alike and not has_loads(e)}
        return to_expr(Linear(same), index)

    def _turned(
        self,
        load: Load,
        placement: Placement,
        parts: list[Part],
        known: isl.Set,
        blocks: Mapping[Axes, set[int]],
    ) -> View:
        """Parts, where a dimension that is not cut takes the place of one that is needed whole."""
        for d, part in enumerate(parts):
            cut = placement[d]
            if cut is None or not isinstance(part, Near) or part.kept:
                continue
            for other, index in enumerate(load.indices):
                if parts[other] is not None or placement[other] is not None:
                    continue
                for block in sorted(blocks.get(cut.axes, ())):
                    found = span(Binary("sub", index, self.grid.first(Cut(cut.axes, block), index.dtype)), known)
                    if found is not None and found.low >= 0 and found.high < block:
                        parts[other] = Turned(cut.axes, block, d)
                        return tuple(parts)
        return tuple(parts)

    def position(self, index: Expr, part: Part) -> Expr:
        """An index counted from the start of a part."""
        match part:
            case None:
                return index
            case Near(kept=kept, block=block, before=before):
                if not kept:
                    return index
                start = Binary("sub", self.grid.first(Cut(kept, block), index.dtype), const(before, index.dtype))
                index = _unwrapped(index, block * self.grid.count(kept))
            case Window(first=first):
                start = first
            case Afar(axes=axes, block=block, step=step, low=low):
                start = Binary("mul", self.grid.first(Cut(axes, block), index.dtype), const(step, index.dtype))
                start = Binary("add", start, const(low, index.dtype))
                index = _unwrapped(index, block * self.grid.count(axes))
            case Turned(axes=axes, block=block):
                start = self.grid.first(Cut(axes, block), index.dtype)
        return tidied(Binary("sub", index, start))


def _unwrapped(index: Expr, size: int) -> Expr:
    """An index of a dimension that is a ring, as that of a place before or behind; its ends are neighbours."""
    match index:
        case Binary(op="floormod", lhs=lhs, rhs=Const(value=value)) if value == size:
            return lhs
        case _:
            return index


def own(placement: Placement) -> View:
    """What a device has of a buffer without any exchange."""
    return tuple(None if cut is None else Near(cut.axes, cut.block) for cut in placement)


def view_shape(buffer: Buffer, view: View) -> tuple[Expr, ...]:
    """The shape of what a device has of a buffer by a view."""

    def extent(size: Expr, part: Part) -> Expr:
        match part:
            case None:
                return size
            case Near(block=block, before=before, after=after):
                return const(block + before + after, size.dtype)
            case Window() | Afar():
                return const(part.width, size.dtype)
            case Turned(block=block):
                return const(block, size.dtype)

    return tuple(map(extent, buffer.shape, view))


def joined(views: Sequence[View]) -> list[View]:
    """Views of a buffer, those that differ in how much of neighbours they have put together."""
    found: dict[tuple[object, ...], View] = {}
    for view in views:
        key = tuple((p.kept, p.block) if isinstance(p, Near) else p for p in view)
        found[key] = tuple(map(_wider, found.get(key, view), view))
    return list(found.values())


def serves(wide: View, view: View) -> bool:
    """Whether a view has all that another one has, at most more of the neighbours."""
    return tuple(map(_wider, wide, view)) == wide and joined([wide, view]) == [wide]


def _wider(one: Part, other: Part) -> Part:
    if isinstance(one, Near) and isinstance(other, Near) and (one.kept, one.block) == (other.kept, other.block):
        return Near(one.kept, one.block, max(one.before, other.before), max(one.after, other.after))
    return one


def volume(buffer: Buffer, placement: Placement, view: View, grid: Grid) -> float:
    """About how many elements a device receives to have a view."""
    row = 1.0
    for size, cut in zip(buffer.shape, placement, strict=True):
        value = linear(size).const if cut is None else cut.block
        row *= max(value, 1)
    total = 0.0
    turned = {p.instead for p in view if isinstance(p, Turned)}
    for d, (part, cut) in enumerate(zip(view, placement, strict=True)):
        if cut is not None and d not in turned:
            match part:
                case Near(block=block, before=before, after=after):
                    total += row * (block - cut.block + before + after) / cut.block
                case Window(width=width):
                    total += 2 * row * width / cut.block
                case Afar():
                    total += row * part.width / cut.block
                case _:
                    pass
    return total + (row if turned else 0)


def variables_in(view: View) -> set[Var]:
    """Variables that say where a view is."""
    return {v for part in view if isinstance(part, Window) for v in free_vars(part.first)}


def exchanged(view: View, placement: Placement) -> bool:
    """Whether a device needs others for a view."""
    return view != own(placement)


def in_words(view: View, placement: Placement) -> str:
    """What is exchanged for a view."""
    parts: list[str] = []
    for d, (part, cut) in enumerate(zip(view, placement, strict=True)):
        match part:
            case Near(kept=()) if cut is not None:
                parts.append(f"all of dimension {d}")
            case Near(before=before, after=after) if before or after:
                parts.append(f"{before} before and {after} after the block in dimension {d}")
            case Near() if cut is not None and part.block != cut.block:
                parts.append(f"blocks of dimension {d} that lie together")
            case Window(first=first, width=width):
                parts.append(f"{width} of dimension {d} from {first} on")
            case Afar(step=step, width=width):
                turned = ", which the devices go through the other way round" if step < 0 else ""
                parts.append(f"{width} of dimension {d} from other devices{turned}")
            case Turned():
                parts.append(f"a block of dimension {d}")
            case _:
                pass
    return ", ".join(parts)


def names_of(view: View) -> Iterator[str]:
    """Words for what a view is, for the name of a buffer that has it."""
    for part in view:
        match part:
            case Near(kept=(), block=_):
                yield "whole"
            case Near(before=before, after=after) if before or after:
                yield "near"
            case Window() | Afar():
                yield "window"
            case Turned():
                yield "turned"
            case _:
                pass
