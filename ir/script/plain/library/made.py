"""Arrays of NumPy that are made of numbers: filled, counted, spaced, written out."""

from __future__ import annotations

import ast
import math
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ir.dtypes import DType
from ir.script.plain.arrays import Array, Elementwise, Indices, View, is_number
from ir.script.plain.frames import Named, Value, shown
from ir.script.plain.library import names as library
from ir.script.plain.library.arguments import arguments, keyword
from ir.script.plain.promotion import Number, Weak, interval_of

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator


def _spelled(value: object) -> object:
    """What is named by a text such as "f4" or "<i8", which is as NumPy takes it; other values as they are."""
    try:
        return np.dtype(value) if isinstance(value, str) and not value.startswith(">") else value
    except TypeError:
        return value


def dtype_at(read: Evaluator, node: ast.expr) -> DType:
    value = read.value(node)
    value = _spelled(value.value) if isinstance(value, Named) else None
    found = None if value is None else library.dtype_named(value)
    if found is None:
        raise read.error("unknown-dtype", f"`{shown(node)}` is not a dtype", node, "as in np.float32")
    return found


def filled(read: Evaluator, name: str, function: object, node: ast.Call) -> Array:
    """`np.zeros(shape, dtype)` and the like."""
    like = name in library.FILLED_LIKE
    full = name.startswith("np.full")
    args = arguments(read, node, name, 1, 3 if full else 2, ("dtype", "fill_value"), function)
    first = read.value(args[0])
    stated = keyword(node, "dtype") or (args[1 + full] if len(args) > 1 + full else None)
    dtype = None if stated is None else dtype_at(read, stated)
    if like:
        if not isinstance(first, (View, Elementwise)):
            raise read.error("not-an-array", f"`{shown(args[0])}` is no array", args[0])
        shape = first.shape
        dtype = read.dtype_of(first, node) if dtype is None else dtype
    else:
        items = first if isinstance(first, tuple) else (first,)
        shape = tuple(read.as_number(v, args[0]) for v in items)
        for extent in shape:
            read.needs_value(extent)
    known = (library.FILLED_LIKE if like else library.FILLED)[name]
    value: Number = 0 if known is None else known
    if full:
        given = keyword(node, "fill_value") or (args[1] if len(args) > 1 else None)
        if given is None:
            raise read.error("arguments", f"{name} needs a value", node)
        value = read.number(given)
        dtype = _default(read, value) if dtype is None else dtype
    kind = DType.FLOAT64 if dtype is None else dtype
    filling = read.numbers.convert(value, kind, node)
    return Elementwise(shape, lambda _: filling, undefined=known is None and not full)


def made(read: Evaluator, name: str, function: object, node: ast.Call) -> Array:
    """`np.arange`, `linspace`, `eye` and `identity`."""
    numbers, (least, most) = (
        read.numbers,
        {"np.arange": (1, 3), "np.linspace": (2, 3), "np.eye": (1, 2)}.get(name, (1, 1)),
    )
    args = [read.number(a) for a in arguments(read, node, name, least, most, ("dtype", "num", "endpoint"), function)]
    stated = keyword(node, "dtype")
    dtype = None if stated is None else dtype_at(read, stated)
    if name == "np.arange":
        return _range(read, args, dtype, node)
    if name == "np.linspace":
        given = keyword(node, "num")
        args = args if given is None else [*args[:2], read.number(given)]
        closed = keyword(node, "endpoint")
        closed = closed is None or read.condition(closed) is True
        return _spaced(read, args, DType.FLOAT64 if dtype is None else dtype, closed, node)
    for extent in args:
        read.needs_value(extent)
    kind = DType.FLOAT64 if dtype is None else dtype
    one, zero = (numbers.convert(v, kind, node) for v in (1, 0))
    shape = (args[0], args[-1])
    return Elementwise(shape, lambda i: numbers.select(numbers.binary("eq", i[0], i[1], node), one, zero, node))


def grids(read: Evaluator, function: object, node: ast.Call) -> Value:
    """`np.meshgrid`: each vector along an axis of its own; the first two are exchanged unless it is told otherwise."""
    vectors = [read.array(a) for a in arguments(read, node, "np.meshgrid", 1, 9, ("indexing",), function)]
    stated = keyword(node, "indexing")
    order = [*range(len(vectors))]
    value = Named("xy") if stated is None else read.value(stated)
    if len(order) > 1 and not (isinstance(value, Named) and value.value == "ij"):
        order[:2] = [1, 0]
    shape = tuple(vectors[k].shape[0] for k in order)

    def grid(k: int) -> Elementwise:
        return Elementwise(shape, lambda i: read.element(vectors[k], (i[order.index(k)],), node))

    return tuple(grid(k) for k in range(len(vectors)))


def _range(read: Evaluator, args: list[Number], dtype: DType | None, node: ast.Call) -> Array:
    """`np.arange` of whole numbers."""
    numbers = read.numbers
    if any(numbers.dtype_of(a).is_float for a in args):
        return _float_range(read, args, dtype, node)
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else 1
    if not isinstance(step, int) or step == 0:
        raise read.error("unsupported", "the step of np.arange must be a number other than zero", node)
    low, high = (start, stop) if step > 0 else (stop, start)
    count = high if isinstance(low, int) and low == 0 else numbers.binary("sub", high, low, node)
    if abs(step) > 1:
        count = numbers.binary("floordiv", numbers.binary("add", count, abs(step) - 1, node), abs(step), node)
    least = interval_of(count)[0]
    if least is None or least < 0:
        count = numbers.builtin_extremum("max", count, 0, node)
    for bound in (count, start):
        read.needs_value(bound)
    kind = DType.INT64 if dtype is None else dtype

    def element(indices: Indices) -> Number:
        value = numbers.binary("add", start, numbers.binary("mul", indices[0], step, node), node)
        return numbers.convert(value, kind, node)

    return Elementwise((count,), element)


def _float_range(read: Evaluator, args: list[Number], dtype: DType | None, node: ast.Call) -> Array:
    """`np.arange` of floats that are known: as many as there are before the end, by the distance of the first two."""
    numbers = read.numbers
    for bound in args:
        read.needs_value(bound)
    known = [float(a) for a in args if isinstance(a, (int, float))]
    if len(known) < len(args):
        hint = "write np.linspace, or number * np.arange(count)"
        raise read.error("unsupported", "np.arange of floats that are not known", node, hint)
    start, stop = (0.0, known[0]) if len(known) == 1 else known[:2]
    step = known[2] if len(known) == 3 else 1.0
    if not step:
        raise read.error("unsupported", "the step of np.arange must be a number other than zero", node)
    by, kind = start + step - start, DType.FLOAT64 if dtype is None else dtype

    def element(indices: Indices) -> Number:
        value = numbers.binary("add", start, numbers.binary("mul", indices[0], by, node), node)
        return numbers.convert(value, kind, node)

    return Elementwise((max(math.ceil((stop - start) / step), 0),), element)


def _spaced(read: Evaluator, args: list[Number], dtype: DType, closed: bool, node: ast.Call) -> Array:
    """`np.linspace`: the last element is the end itself, if it is `closed`."""
    numbers = read.numbers
    start, stop = args[:2]
    count = args[2] if len(args) == 3 else 50
    read.needs_value(count)
    if not isinstance(count, int) or count < 0:
        raise read.error("unsupported", "the count of np.linspace must be a number from 0 up", node)
    first, last = (numbers.convert(v, DType.FLOAT64, node) for v in (start, stop))
    step = numbers.binary("div", numbers.binary("sub", last, first, node), max(count - closed, 1), node)

    def element(indices: Indices) -> Number:
        value = numbers.binary("add", numbers.binary("mul", indices[0], step, node), first, node)
        at_end = numbers.binary("eq", indices[0], count - 1, node) if closed and count > 1 else False
        return numbers.convert(numbers.select(at_end, last, value, node), dtype, node)

    return Elementwise((count,), element)


def _default(read: Evaluator, value: Number) -> DType:
    """The dtype that NumPy gives an array of a number."""
    dtype = read.numbers.dtype_of(value)
    weak = isinstance(value, (int, Weak)) and not isinstance(value, bool)
    return DType.INT64 if weak and dtype.is_integer else dtype


def _of_rows(read: Evaluator, rows: tuple[Value, ...], node: ast.Call) -> DType | None:
    """The dtype that NumPy gives an array of rows, in which numbers of Python count as arrays of them do; None for rows
    that are not of numbers."""
    found: set[DType] = set()
    left: list[Value] = [rows]
    while left:
        value = left.pop()
        if isinstance(value, tuple):
            left += value
        elif is_number(value):
            found.add(_default(read, read.as_number(value, node)))
        else:
            return None
    return reduce(lambda a, b: read.numbers.promoted(a, b, node), sorted(found, key=str)) if found else None


def array(read: Evaluator, name: str, function: object, node: ast.Call) -> Array:
    """`np.array` of an array, or of rows of numbers that are written out."""
    args = arguments(read, node, name, 1, 2, ("dtype",), function)
    stated = keyword(node, "dtype") or (args[1] if len(args) > 1 else None)
    dtype = None if stated is None else dtype_at(read, stated)
    value = read.array_or(args[0])
    if isinstance(value, tuple):
        return read.caller.table(value, _of_rows(read, value, node) if dtype is None else dtype, node)
    if is_number(value):
        given = read.as_number(value, node)
        number = read.numbers.convert(given, _default(read, given) if dtype is None else dtype, node)
        return Elementwise((), lambda _: number)
    if not isinstance(value, (View, Elementwise)):
        raise read.error("not-an-array", f"`{shown(args[0])}` is neither an array nor a list", node)
    kind = read.dtype_of(value, node) if dtype is None else dtype
    if name == "np.asarray" and kind is read.dtype_of(value, node):
        return value  # what is stored to it is stored to the array itself
    return Elementwise(value.shape, lambda i: read.numbers.convert(read.element(value, i), kind, node))
