"""A mesh as coordinates of its devices, and which block of each dimension of a buffer a device owns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import prod

import islpy as isl
from msgspec import Struct

from ir.dtypes import DType
from ir.nodes import Assume, Binary, Buffer, Cast, Const, Expr, Stmt, Var, const
from ir.presburger import sets as pb
from lower.analysis.linear_forms import linear, to_expr

Axes = tuple[str, ...]  # of a mesh, the outermost first


class Cut(Struct, frozen=True):
    """A dimension in blocks of equal size, one for each coordinate along some mesh axes."""

    axes: Axes
    block: int


Placement = tuple[Cut | None, ...]  # of each dimension of a buffer; None where each device has all of it


class Grid(Struct, frozen=True):
    """How many devices there are along each mesh axis, and the variables that say which one this is."""

    sizes: Mapping[str, int]
    variables: Mapping[str, Var]

    def count(self, axes: Axes) -> int:
        """How many blocks mesh axes make."""
        return prod(self.sizes[axis] for axis in axes)

    def coordinate(self, axes: Axes, dtype: DType = DType.INT32) -> Expr:
        """Which block of those that mesh axes make is that of this device."""
        if not axes:
            return const(0, dtype)
        first, *others = axes
        place: Expr = self.variables[first]
        for axis in others:
            place = Binary("add", Binary("mul", place, const(self.sizes[axis], DType.INT32)), self.variables[axis])
        return place if dtype is DType.INT32 else Cast(dtype, place)

    def first(self, cut: Cut, dtype: DType) -> Expr:
        """The first position of a cut dimension that is this device's own."""
        return Binary("mul", self.coordinate(cut.axes, dtype), const(cut.block, dtype))

    def known(self) -> isl.Set:
        """What holds of coordinates, as a params set."""
        return reduce(isl.Set.intersect, (pb.loop_domain(*span).may for span in self._spans()), pb.always())

    def claims(self, used: set[Var]) -> list[Stmt]:
        """What holds of coordinates that are used, as assumptions."""
        return [
            Assume(Binary("and", Binary("ge", v, low), Binary("lt", v, size)))
            for v, low, size in self._spans()
            if v in used
        ]

    def _spans(self) -> list[tuple[Var, Const, Const]]:
        return [(v, const(0, v.dtype), const(self.sizes[a], v.dtype)) for a, v in self.variables.items()]


def local_shape(buffer: Buffer, placement: Placement) -> tuple[Expr, ...]:
    """The shape of a device's own part of a buffer."""
    pairs = zip(buffer.shape, placement, strict=True)
    return tuple(extent if cut is None else const(cut.block, extent.dtype) for extent, cut in pairs)


def tidied(expr: Expr) -> Expr:
    """An integer expression as a sum of its terms, without what cancels."""
    return to_expr(linear(expr), expr) if expr.dtype.is_integer else expr
