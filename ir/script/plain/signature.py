"""What a plain Python function is called with: the dtypes and shapes that its program is made for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from msgspec import Struct

from ir.dtypes import DType
from ir.naming import fresh
from ir.script.plain.library.ragged import Ragged
from ir.script.plain.library.records import fields_of, is_kind


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


class Form(Struct, frozen=True):
    """An argument that is made of others: a tuple, a record of a class, a dictionary of these keys, or a list.

    A list whose one part is not in a tuple is one of numbers, or of such lists or tuples, which is given as an array;
    the keys of one of tuples say so, and which dtypes their items have.
    Lists of different lengths in a list are `Ragged`: their items, and where each of them starts.
    """

    kind: type
    parts: tuple[str | Form, ...] | str
    keys: tuple[object, ...] = ()

    @property
    def leaves(self) -> tuple[str, ...]:
        """The names of all that it is made of."""
        if isinstance(self.parts, str):
            return (self.parts,)
        return tuple(name for part in self.parts for name in ((part,) if isinstance(part, str) else part.leaves))


def apart(name: str, value: object, leaves: dict[str, object], taken: set[str]) -> str | Form:
    """How an argument is made of arrays, numbers and what is known, which `leaves` has under names of their own."""
    if isinstance(value, list) and (array := _of_numbers(value)) is not None:
        leaves[name] = array
        return Form(list, name, ("tuples", *_columns(value, array)) if isinstance(value[0], tuple) else ())
    if isinstance(value, list) and (items := _flattened(value)):
        ends = np.cumsum([0, *map(len, value)])
        inner = apart(fresh(f"{name}_items", taken), items, leaves, taken)
        leaves[starts := fresh(f"{name}_starts", taken)] = ends
        return Form(Ragged, (inner, starts))
    items = _items(value)
    if items is None:
        leaves[name] = value
        return name
    parts: list[str | Form] = []
    for key, item in items.items():
        text = str(key)
        parts.append(apart(fresh(f"{name}_{text if text.isidentifier() or text.isdigit() else len(parts)}", taken),
                           item, leaves, taken))  # fmt: skip
    return Form(type(value), tuple(parts), tuple(items) if isinstance(value, dict) else ())


def _columns(rows: list[Any], array: np.ndarray) -> tuple[str, ...]:
    """The dtypes of the items of tuples in a list, where an array of floats has integers of Python too."""
    if array.ndim != 2 or array.dtype.kind != "f":
        return ()
    kinds = [{type(item) for item in column} for column in zip(*rows, strict=True)]
    return tuple("int64" if found == {int} else array.dtype.name for found in kinds)


def _items(value: Any) -> Mapping[object, object] | None:
    """The parts of an argument by their names; None for what is no whole of several, or known as a whole."""
    if is_kind(type(value)):
        found: Mapping[object, object] = {name: getattr(value, name) for name in fields_of(type(value))}
    elif isinstance(value, dict) and value:
        return cast("Mapping[object, object]", value)
    elif type(value) in (tuple, list):
        found = dict(enumerate(value))
    else:
        return None
    return found if type(value) is list or any(map(_given, found.values())) else None


def _given(value: object) -> bool:
    """Whether a value, or one in it, is an array, or can change."""
    return hasattr(value, "__array__") or isinstance(value, (list, dict)) or _items(value) is not None


def _flattened(value: list[Any]) -> list[Any] | None:
    """The items of lists in a list, if they are numbers or tuples of as many numbers each; None for other lists."""
    if not all(isinstance(row, list) for row in value):
        return None
    items = [item for row in value for item in row]
    array = _of_numbers(items)
    return items if array is not None and not any(isinstance(item, list) for item in items) else None


def _of_numbers(value: list[Any]) -> np.ndarray | None:
    """The array of a list of numbers, or of lists or tuples of as many numbers each; None for other lists."""
    first: Any = value
    while isinstance(first, (list, tuple)) and first and not is_kind(type(first)):
        first = first[0]
    if not isinstance(first, (bool, int, float, np.number, np.bool_)):
        return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # of different lengths, or with arrays that JAX traces
        return None
    return array if array.dtype.kind in "biufc" else None
