"""Which elements of a buffer are padding, for small arrays: by its layout, or since assumptions say what they hold."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from ir.errors import LoopsatError
from ir.nodes import Assume, Binary, Buffer, Const, Expr, For, If, Load, PrimFunc, Stmt, binary, const
from ir.printing.printer import to_script
from ir.schedule.layout import layout_of
from ir.semantics.inputs import leading_assumptions
from ir.semantics.machine import Machine
from ir.traverse import has_loads, map_stmt

LARGEST = 24  # iterations of a loop, and elements along an axis, that are drawn
_WORK = 200_000  # statements


class Padding(Struct, frozen=True):
    """The first elements of a buffer, in the order of storage: `is_padding` has two axes (the leading ones are rows).

    `why` says what makes them padding, and `whole` whether these are all.
    """

    buffer: Buffer
    is_padding: npt.NDArray[np.bool_]
    why: str
    whole: bool


def paddings(func: PrimFunc) -> list[Padding]:
    """The buffers with padding of a function whose sizes are numbers, as far as it fits on a page."""
    found: list[Padding] = []
    marks, values = _assumed(func)
    for buffer in func.buffers:
        shape = _shape(buffer)
        if shape is None:
            continue
        mask, why = _by_layout(func, buffer, shape)
        if (mask is None or not mask.any()) and marks[buffer.name].any():
            mask = marks[buffer.name]
            why = f"assumed to be {', '.join(sorted(values[buffer.name]))}"
        if mask is not None and mask.any():
            kept = tuple(min(n, LARGEST) for n in shape)
            whole = kept == shape
            rows = mask.reshape(prod(mask.shape[:-1]), mask.shape[-1])[:LARGEST]
            found.append(Padding(buffer, rows, why, whole and prod(shape[:-1]) <= LARGEST))
    return found


def _shape(buffer: Buffer) -> tuple[int, ...] | None:
    """The extents of a buffer with two axes or more, all numbers."""
    extents = [int(e.value) for e in buffer.shape if isinstance(e, Const)]
    return tuple(extents) if len(extents) == len(buffer.shape) > 0 and prod(extents) > 0 else None


def _by_layout(func: PrimFunc, buffer: Buffer, shape: tuple[int, ...]) -> tuple[npt.NDArray[np.bool_] | None, str]:
    """The places of the first elements at which a layout puts none."""
    try:
        layout = layout_of(func, buffer.name)
    except LoopsatError:
        return None, ""
    machine = Machine(False, np.random.default_rng(0))
    mask = np.zeros(tuple(min(n, LARGEST) for n in shape), np.bool_)
    if mask.size > _WORK:
        return None, ""
    for index in np.ndindex(mask.shape):
        machine.scalars.update(zip(layout.indices, index, strict=True))
        mask[index] = machine.holds(layout.padding)
    return mask, str(layout)


class _Noted(Machine):
    """Runs assumptions, and notes which elements they give a value."""

    marks: dict[str, npt.NDArray[np.bool_]] = field(default_factory=dict[str, npt.NDArray[np.bool_]])
    values: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def assume(self, stmt: Assume) -> None:
        self._note(stmt.cond)

    def _note(self, cond: Expr) -> None:
        match cond:
            case Binary(op="and", lhs=a, rhs=b):
                self._note(a)
                self._note(b)
            case Binary(op="or", lhs=a, rhs=b):
                for known, other in ((a, b), (b, a)):
                    if not has_loads(known) and not self.holds(known):
                        self._note(other)
            case Binary(op="eq", lhs=Load() as load, rhs=value) | Binary(op="eq", lhs=value, rhs=Load() as load):
                self._mark(load, value)
            case _:
                return

    def _mark(self, load: Load, value: Expr) -> None:
        index = tuple(int(self.integer(i, "an index")) for i in load.indices if not has_loads(i))
        mask = self.marks.get(load.buffer.name)
        if (
            mask is not None
            and len(index) == mask.ndim
            and all(0 <= i < n for i, n in zip(index, mask.shape, strict=True))
        ):
            mask[index] = True
            self.values[load.buffer.name].add(to_script(value))


def _assumed(func: PrimFunc) -> tuple[dict[str, npt.NDArray[np.bool_]], dict[str, set[str]]]:
    """Which of the first elements of each buffer an assumption gives a value, and which values these are."""
    machine = _Noted(False, np.random.default_rng(0), _WORK)
    shapes = {b.name: s for b in func.buffers if (s := _shape(b)) is not None}
    machine.marks = {n: np.zeros(tuple(min(k, LARGEST) for k in s), np.bool_) for n, s in shapes.items()}
    machine.values = {name: set() for name in shapes}
    for claim in leading_assumptions(func.as_written.body):
        try:
            machine.run(map_stmt(claim, on_stmt=_shortened))
        except LoopsatError:  # it hangs on sizes or data
            continue
    return machine.marks, machine.values


def _shortened(stmt: Stmt) -> Stmt:
    """A loop with the first iterations only, and a branch on data without its arms."""
    match stmt:
        case For(extent=extent):
            return replace(stmt, extent=binary("min", extent, const(LARGEST, extent.dtype)))
        case If(cond=cond) if has_loads(cond):
            return replace(stmt, cond=const(False, cond.dtype))
        case _:
            return stmt
