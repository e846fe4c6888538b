"""Element types of the loop IR. Owns names, widths and ranges; does no arithmetic on values."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, EnumMeta
from functools import cache
from typing import TypeVar

import ml_dtypes
import numpy as np

_T = TypeVar("_T")


class Kind(Enum):
    """What a dtype's values are."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    COMPLEX = "complex"


class _OfPrograms(EnumMeta):
    """Lists the dtypes that programs have, which are all but the complex ones."""

    def __iter__(cls: type[_T]) -> Iterator[_T]:
        return (member for member in EnumMeta.__iter__(cls) if not str(member).startswith("complex"))


class DType(Enum, metaclass=_OfPrograms):
    """The dtypes of the language; the value is the name that programs use.

    Complex ones are those of plain functions while they are read: of each number, programs have two floats.
    """

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"

    __hash__ = object.__hash__  # members are singletons, and Enum's own hash is slow where nodes are keys

    def __str__(self) -> str:
        return self.value

    @property
    def kind(self) -> Kind:
        return _KIND[self]

    @property
    def bits(self) -> int:
        """Width in bits; a bool counts as 1."""
        return _BITS[self]

    @property
    def is_integer(self) -> bool:
        """Whether values are integers, signed or not; bool is not."""
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def is_signed(self) -> bool:
        """Whether it is a signed integer type."""
        return self.kind is Kind.INT

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_complex(self) -> bool:
        return self.kind is Kind.COMPLEX

    @property
    def part(self) -> DType:
        """The dtype of the real and the imaginary part of complex numbers; other dtypes are their own."""
        return {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}.get(self, self)

    @property
    def min(self) -> int:
        """Smallest value of an integer or bool dtype."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def epsilon(self) -> float:
        """The distance from 1.0 to the next float."""
        return float(ml_dtypes.finfo(self.numpy).eps)

    @property
    def max(self) -> int:
        """Largest value of an integer or bool dtype."""
        return (1 << (self.bits - 1)) - 1 if self.is_signed else (1 << self.bits) - 1

    @property
    def numpy(self) -> np.dtype[np.generic]:
        return _numpy_dtype(self)


@cache
def float_max(dtype: DType) -> float:
    """The largest finite value of a float dtype."""
    return float(ml_dtypes.finfo(dtype.numpy).max)


@cache
def float_tiny(dtype: DType) -> float:
    """The smallest positive normal value of a float dtype."""
    return float(ml_dtypes.finfo(dtype.numpy).smallest_normal)


_KIND_OF_NAME = {"bool": Kind.BOOL, "int": Kind.INT, "uint": Kind.UINT, "float": Kind.FLOAT, "bfloat": Kind.FLOAT,
                 "complex": Kind.COMPLEX}  # fmt: skip
_KIND = {dtype: _KIND_OF_NAME[dtype.value.rstrip("0123456789")] for dtype in DType.__members__.values()}
_BITS = {dtype: int(dtype.value.lstrip("abcdefghijklmnopqrstuvwxyz") or 1) for dtype in DType.__members__.values()}


@cache
def _numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    return np.dtype(ml_dtypes.bfloat16) if dtype is DType.BFLOAT16 else np.dtype(dtype.value)


def from_name(name: str) -> DType | None:
    """The dtype that a program calls `name`, or None."""
    return next((d for d in DType if d.value == name), None)


def array_dtype(name: str) -> DType | None:
    """The dtype that NumPy calls `name`, as plain functions may have it: complex ones too."""
    return next((d for d in DType.__members__.values() if d.value == name), None)
