"""What a device does, in order: its own programs over the parts that it has, and what it exchanges with others."""

from __future__ import annotations

from msgspec import Struct

from ir.nodes import Buffer, Expr, PrimFunc, Var
from lower.distribute.grid import Axes, Placement
from lower.distribute.lookups import OWN
from lower.distribute.views import View


class Run(Struct, frozen=True):
    """A program over the parts that a device has; it stores to some of them."""

    func: PrimFunc


class Exchange(Struct, frozen=True):
    """Have a view of a buffer, of which a device has its own part."""

    source: Buffer
    placement: Placement
    view: View
    target: Buffer


class Combine(Struct, frozen=True):
    """Combine partial results along mesh axes with what a device had; `scattered` dimensions were whole in them.

    Those of `own` have each element on one device and zero on others, and are what it has afterwards.
    """

    op: str
    target: Buffer
    partial: Buffer
    axes: Axes
    scattered: tuple[tuple[int, Axes], ...] = ()

    @property
    def is_scattered(self) -> bool:
        """Whether it is one sum of which each device has its part."""
        return self.op in ("add", OWN) and len(self.scattered) == 1 and self.scattered[0][1] == self.axes


class Carry(Struct, frozen=True):
    """Go on along a cut dimension from device to device, where each has gone along its own part from nothing.

    With `factors`, values are multiplied by these and added to; else `op` combines them.
    """

    values: Buffer
    dim: int
    axes: Axes
    op: str
    factors: Buffer | None = None


class Repeat(Struct, frozen=True):
    """A loop around steps; `carried` are the buffers that they change."""

    var: Var
    start: Expr
    extent: Expr
    body: tuple[Step, ...]
    carried: tuple[Buffer, ...]


Step = Run | Exchange | Combine | Carry | Repeat
