"""Arrays within plain Python programs: views of buffers, and arrays that are worked out where they are stored.

Both are functions from indices to elements. What loops over the indices is for the statement that stores them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ir.nodes import Buffer, Cast, Const, Expr
from ir.presburger.polynomials import Polynomial, polynomial, summed, written
from ir.script.plain.promotion import Number, Numbers, Weak, expr_of, interval_of
from ir.script.scope import Source
from ir.traverse import map_expr

Indices = tuple[Number, ...]
Proof = Callable[[Number, Number], bool]  # whether the first number is known to be at most the second


class View(Struct, frozen=True, eq=False):
    """Elements of a buffer: `place` gives for indices of the view those of the buffer."""

    buffer: Buffer
    shape: tuple[Number, ...]
    place: Callable[[Indices], Indices]
    whole: bool = False


class Elementwise(Struct, frozen=True, eq=False):
    """An array that is nowhere stored: `element` gives its elements; `None` for what `np.empty` leaves open. In Python
    it may be one of those of which it was `chosen`.
    """

    shape: tuple[Number, ...]
    element: Callable[[Indices], Number]
    undefined: bool = False
    chosen: tuple[View, ...] = ()


MOST_ITEMS = 2**26  # of an array or list of which data say how long it is


class Selection(Struct, frozen=True, eq=False):
    """The items of an array where another one is true, which has the first of its dimensions."""

    array: View | Elementwise
    truths: View | Elementwise
    key: tuple[tuple[int, ...], str] | None = None  # of where it got a name


Array = View | Elementwise
_Part = TypeVar("_Part", View, Elementwise)


def whole(buffer: Buffer, shape: tuple[Number, ...]) -> View:
    """All of a buffer."""
    return View(buffer, shape, lambda indices: indices, True)


def same(a: Number, b: Number) -> bool:
    """Whether two numbers are known to be equal, as sums of products of the same terms."""
    x, y = expr_of(a), expr_of(b)
    if x is None or y is None:
        return x is y and bool(a == b)
    return x.same(y) or (x.dtype.is_integer and y.dtype.is_integer and _summed(x) == _summed(y))


def difference(a: Number, b: Number) -> int | None:
    """By how much one integer is more than another one, if that is known."""
    x, y = (_summed(e) if (e := expr_of(n)) is not None else {(): int(n)} for n in (a, b))  # pyright: ignore
    found = summed((*x.items(), *((k, -v) for k, v in y.items())))
    return found.get((), 0) if not found.keys() - {()} else None


def _summed(expr: Expr) -> Polynomial:
    """A sum of products whose terms do not tell in which width they are worked out."""
    return polynomial(map_expr(expr, lambda e: e.operand if isinstance(e, Cast) and _widens(e) else e))


def _widens(cast: Cast) -> bool:
    source, dtype = cast.operand.dtype, cast.dtype
    return source.is_signed and dtype.is_signed and source.bits <= dtype.bits


class Slicing(Struct):
    """Subscripts of arrays."""

    source: Source
    numbers: Numbers
    at_most: Proof

    def cut(self, shape: Sequence[Number], items: Sequence[Number | slice | None], node: ast.AST) -> _Cut:
        """What is left of axes under indices, slices and `None`; axes without an item stay."""
        axes: list[_Axis] = []
        kept: list[Number] = []
        k = 0
        for item in items:
            if item is None:
                kept.append(1)
                continue
            extent = shape[k]
            k += 1
            if isinstance(item, slice):
                start, step, length = self._range(item, extent, node)
                axes.append(_Axis(start, step, len(kept)))
                kept.append(length)
            else:
                axes.append(_Axis(item, 0, None))
        for extent in shape[k:]:
            axes.append(_Axis(0, 1, len(kept)))
            kept.append(extent)
        return _Cut(tuple(kept), tuple(axes), self.numbers, node)

    def _range(self, item: slice, extent: Number, node: ast.AST) -> tuple[Number, Number, Number]:
        """Start, step and length of a slice of an axis."""
        step = 1 if item.step is None else item.step
        if not isinstance(step, int) and not self.at_most(1, step):
            hint = "say that it is, as in loopsat.assume(k >= 1), or loop over the elements"
            raise self.source.error("slice", "the step of a slice may not be positive", node, help=hint)
        if isinstance(step, int) and step == 0:
            raise self.source.error("slice", "the step of a slice must be a number other than zero", node)
        bounds = (item.start, item.stop)
        if isinstance(extent, int) and isinstance(step, int) and all(b is None or isinstance(b, int) for b in bounds):
            found = range(extent)[slice(item.start, item.stop, step)]
            return found.start, step, len(found)
        if isinstance(step, int) and step < 0 and item.start is None and item.stop is None:
            last = self.numbers.binary("sub", extent, 1, node)
            up = self.numbers.binary("add", extent, -step - 1, node) if step < -1 else extent
            return last, step, up if step == -1 else self.numbers.binary("floordiv", up, -step, node)
        if isinstance(step, int) and step < 0:
            raise self.source.error("slice", "a slice of negative step must have bounds that are numbers", node)
        start = 0 if item.start is None else self._bound(item.start, extent, node)
        stop = extent if item.stop is None else self._bound(item.stop, extent, node)
        length = self._length(item, start, stop, extent, node)
        if not same(step, 1):
            up = self.numbers.binary("add", length, self.numbers.binary("sub", step, 1, node), node)
            length = self.numbers.binary("floordiv", up, step, node)
        return start, step, length

    def _length(self, item: slice, start: Number, stop: Number, extent: Number, node: ast.AST) -> Number:
        """How many places there are from a bound to another, of which the second may come first."""
        left, right = (0 if bound is None else bound for bound in (item.start, item.stop))
        to_end = item.stop is None or (isinstance(right, int) and right < 0)
        if to_end and isinstance(left, int) and isinstance(right, int) and left >= 0:
            found = self.numbers.binary("sub", extent, left - right, node)
            return found if self.at_most(0, found) else self.numbers.binary("max", found, 0, node)
        found = stop if same(start, 0) else self._difference(stop, start, node)
        if isinstance(found, int):
            return max(found, 0)
        return found if self.at_most(start, stop) else self.numbers.binary("max", found, 0, node)

    def _difference(self, stop: Number, start: Number, node: ast.AST) -> Number:
        """The length of a slice from one bound to another, without what both have in common."""
        found = self.numbers.binary("sub", stop, start, node)
        expr = expr_of(found)
        if expr is None or not expr.dtype.is_integer:
            return found
        least = written(polynomial(expr), expr)
        return int(least.value) if isinstance(least, Const) else self.numbers.number(least, True, *interval_of(found))

    def _bound(self, bound: Number, extent: Number, node: ast.AST) -> Number:
        if isinstance(bound, int) and bound < 0:
            found = self.numbers.binary("add", extent, bound, node)
            return found if self.at_most(0, found) else self.numbers.binary("max", found, 0, node)
        if not isinstance(bound, int) and self.at_most(bound, -1):
            found = self._difference(extent, self.numbers.unary("neg", bound, node), node)
            return found if self.at_most(0, found) else self.numbers.binary("max", found, 0, node)
        if not self.at_most(0, bound):
            from_end = self.numbers.binary("max", self.numbers.binary("add", bound, extent, node), 0, node)
            bound = self.numbers.select(self.numbers.binary("lt", bound, 0, node), from_end, bound, node)
            bound = replace(bound, low=0) if isinstance(bound, Weak) else bound
        return bound if self.at_most(bound, extent) else self.numbers.binary("min", bound, extent, node)


class _Axis(Struct, frozen=True):
    start: Number
    step: Number
    source: int | None  # which index of the result it follows


class _Cut(Struct, frozen=True):
    shape: tuple[Number, ...]
    axes: tuple[_Axis, ...]
    numbers: Numbers
    node: ast.AST

    def place(self, indices: Indices) -> Indices:
        """Indices of what is cut, for those of the result."""
        found: list[Number] = []
        for axis in self.axes:
            if axis.source is None:
                found.append(axis.start)
                continue
            back = isinstance(axis.step, int) and axis.step < 0
            size = self.numbers.unary("neg", axis.step, self.node) if back else axis.step
            moved = indices[axis.source]
            moved = moved if same(size, 1) else self.numbers.binary("mul", moved, size, self.node)
            if back:
                moved = self.numbers.binary("sub", axis.start, moved, self.node)
            elif not same(axis.start, 0):
                moved = self.numbers.binary("add", axis.start, moved, self.node)
            found.append(moved)
        return tuple(found)

    def of(self, array: _Part) -> _Part:
        """The part of an array."""
        return viewed(array, self.shape, self.place)  # pyright: ignore[reportReturnType] - of the same kind


def viewed(array: Array, shape: tuple[Number, ...], place: Callable[[Indices], Indices]) -> Array:
    """An array of a shape whose elements are those of another one at the places that `place` gives."""
    if isinstance(array, Elementwise):
        return Elementwise(shape, lambda i: array.element(place(i)), array.undefined)
    return View(array.buffer, shape, lambda i: array.place(place(i)))


def strides_of(view: View) -> tuple[int, ...] | None:
    """How many elements of its buffer each axis of a view goes on by, where all sizes and places are known."""
    steps: list[int] = []
    sizes = [e.value for e in view.buffer.shape if isinstance(e, Const)]
    rank = len(view.shape)
    origin = tuple(0 for _ in range(rank))
    if len(sizes) != len(view.buffer.shape) or not all(isinstance(n, int) for n in view.shape):
        return None
    for places in (origin, *(tuple(int(k == axis) for k in range(rank)) for axis in range(rank))):
        found = view.place(places)
        if not all(isinstance(i, int) for i in found):
            return None
        steps.append(sum(int(cast(int, i)) * int(prod(sizes[k + 1 :])) for k, i in enumerate(found)))
    return tuple(step - steps[0] for step in steps[1:])


def runs_of(view: View) -> tuple[list[int], bool] | None:
    """How many elements lie in a row of an even step, in all rows of a view, and whether those of all follow each other
    in memory; None where that is not known."""
    strides = strides_of(view)
    if strides is None:
        return None
    runs: list[int] = []
    last = 0
    for extent, stride in zip(cast("tuple[int, ...]", view.shape), strides, strict=True):
        if extent == 1:
            continue
        if runs and last == extent * stride:
            runs[-1] *= extent
        else:
            runs.append(extent)
        last = stride
    return runs, not runs or (len(runs) == 1 and last == 1)


def transposed(array: Array, order: Sequence[int]) -> Array:
    """An array with its axes in another order."""

    def back(indices: Indices) -> Indices:
        found: list[Number] = [0] * len(order)
        for index, k in zip(indices, order, strict=True):
            found[k] = index
        return tuple(found)

    return viewed(array, tuple(array.shape[k] for k in order), back)


def broadcast_shape(shapes: Sequence[tuple[Number, ...]], source: Source, node: ast.AST) -> tuple[Number, ...]:
    """The shape that arrays have together.

    Raises:
        ParseError: shapes differ, or are not known to agree.
    """
    rank = max(len(s) for s in shapes)
    found: list[Number] = []
    for k in range(rank):
        extents = [s[k - rank] for s in shapes if k - rank >= -len(s)]
        wide = [e for e in extents if not same(e, 1)]
        extent = wide[0] if wide else 1
        if not all(same(e, extent) for e in wide):
            shown = " and ".join(shown_shape(s) for s in shapes)
            raise source.error("shape", f"arrays of shapes {shown} do not fit each other", node)
        found.append(extent)
    return tuple(found)


def broadcast_index(shape: tuple[Number, ...], indices: Indices) -> Indices:
    """Indices of an array of this shape, for those of one that it is broadcast to."""
    own = indices[len(indices) - len(shape) :]
    return tuple(0 if same(extent, 1) else index for extent, index in zip(shape, own, strict=True))


def shown_shape(shape: tuple[Number, ...]) -> str:
    """A shape for a message."""
    extents = ", ".join(str(e if isinstance(e, int) else expr_of(e)) for e in shape)
    return f"({extents}{',' if len(shape) == 1 else ''})"


def is_number(value: object) -> bool:
    """Whether a value is a single number."""
    return isinstance(value, (bool, int, float, Weak, Expr))
