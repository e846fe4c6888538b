"""Names of the dialect that have a meaning in the text of a kernel only: for completion, help and type checkers.

Kernels are read and never run, so that each of these refuses to be called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from ir.errors import ParseError
from ir.nodes import Expr, Operand
from ir.script.dialect import Dtype


def _not_here(name: str) -> NoReturn:
    message = f"T.{name} is part of a kernel's text, which is read and not run"
    raise ParseError("not-in-a-kernel", message, help="use it in a function under @T.prim_func, or parse it as text")


def grid(*extents: Operand) -> Iterator[Any]:
    """Loop over all indices below the extents: `for i, j in T.grid(4, n)`."""
    _not_here("grid")


def serial(
    start: Operand, stop: Operand | None = None, *, annotations: dict[str, object] | None = None
) -> Iterator[Expr]:
    """Loop over `[0, start)`, or `[start, stop)`."""
    _not_here("serial")


def parallel(
    start: Operand, stop: Operand | None = None, *, annotations: dict[str, object] | None = None
) -> Iterator[Expr]:
    """Loop whose iterations, as the author promises, do not depend on each other."""
    _not_here("parallel")


def vectorized(
    start: Operand, stop: Operand | None = None, *, annotations: dict[str, object] | None = None
) -> Iterator[Expr]:
    """Loop that the author would like to see vectorized."""
    _not_here("vectorized")


def unroll(
    start: Operand, stop: Operand | None = None, *, annotations: dict[str, object] | None = None
) -> Iterator[Expr]:
    """Loop that the author would like to see unrolled."""
    _not_here("unroll")


def thread_binding(start: Operand, stop: Operand | None = None, *, thread: str) -> Iterator[Expr]:
    """Loop over the threads of a device: the same loop as `parallel`."""
    _not_here("thread_binding")


def assume(condition: Operand) -> None:
    """Grant a condition: where it is false, the program has no obligations. `A[i] == T.undef()` allows all values."""
    _not_here("assume")


def evaluate(value: Operand | None) -> None:
    """Evaluate an expression and drop its value."""
    _not_here("evaluate")


def func_attr(attributes: dict[str, object]) -> None:
    """Keep attributes of the kernel, without a meaning."""
    _not_here("func_attr")


def alloc_buffer(shape: Operand | Sequence[Operand], dtype: Dtype = "float32", scope: str = "global") -> Any:
    """Allocate a local buffer, undef at first."""
    _not_here("alloc_buffer")


def match_buffer(handle: Any, shape: Operand | Sequence[Operand], dtype: Dtype = "float32") -> Any:
    """Give a `T.handle` parameter its shape and dtype."""
    _not_here("match_buffer")


def block(name: str = "") -> AbstractContextManager[None]:
    """Open a block, with its axes at the head: `with T.block("sum"):`."""
    _not_here("block")


def init() -> AbstractContextManager[None]:
    """Open what a block does where all its reduce axes are at their start: `with T.init():`."""
    _not_here("init")


def reads(*regions: Any) -> None:
    """Note the regions that a block reads, without a meaning."""
    _not_here("reads")


def writes(*regions: Any) -> None:
    """Note the regions that a block writes, without a meaning."""
    _not_here("writes")


def where(condition: Operand) -> None:
    """Guard the init and body of a block."""
    _not_here("where")


def block_attr(attributes: dict[str, object]) -> None:
    """Keep attributes of a block, without a meaning."""
    _not_here("block_attr")


class axis:
    """Axes of a block: names for values, with the domain that they lie in."""

    @staticmethod
    def spatial(extent: Operand | tuple[Operand, Operand], value: Operand) -> Expr:
        """An axis whose iterations are independent."""
        _not_here("axis.spatial")

    @staticmethod
    def reduce(extent: Operand | tuple[Operand, Operand], value: Operand) -> Expr:
        """An axis that a reduction runs over."""
        _not_here("axis.reduce")

    @staticmethod
    def opaque(extent: Operand | tuple[Operand, Operand], value: Operand) -> Expr:
        """An axis of which nothing is said."""
        _not_here("axis.opaque")

    @staticmethod
    def remap(kinds: str, values: Sequence[Operand]) -> Any:
        """Axes for the loops around the block: `vi, vj = T.axis.remap("SR", [i, j])`."""
        _not_here("axis.remap")
