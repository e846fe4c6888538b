"""What a plain Python function is called with: the dtypes and shapes that its program is made for."""

from __future__ import annotations

from msgspec import Struct

from ir.dtypes import DType


class ArrayType(Struct, frozen=True):
    """An array; a size that may differ from call to call has a name instead of a number."""

    shape: tuple[int | str, ...]
    dtype: DType


class ScalarType(Struct, frozen=True):
    """A number that the kernel is given at each call; a `weak` one is a Python number, whose dtype gives way.

    An integer may be known to be `low` at least, and less than `stop`.
    """

    dtype: DType
    weak: bool = False
    low: int | None = None
    stop: int | None = None


class Known(Struct, frozen=True):
    """A value that is part of the program: another value makes another program."""

    value: object


ArgumentType = ArrayType | ScalarType | Known
