"""Loops over arrays that remember more than a total: places of extrema, running totals, variances."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ir.dtypes import DType
from ir.nodes import SKIP, Binary, Expr, If, Load, Store, const, seq
from ir.script.plain.arrays import Array, Elementwise, Indices, View, same, whole
from ir.script.plain.frames import Value
from ir.script.plain.library import complexes
from ir.script.plain.library.arranged import flattened
from ir.script.plain.promotion import Number

if TYPE_CHECKING:
    from ir.script.plain.stores import ArrayStores


def scanned(stores: ArrayStores, name: str, array: Array, axis: int | None, node: ast.Call) -> Value:
    """`argmax`, `argmin`, `cumsum`, `cumprod`, `var` or `std` of an array, along an axis if one is given.

    Raises:
        ParseError: the place of an extremum, or the variance, of nothing.
    """
    if name in ("var", "std"):
        return _spread(stores, name, array, axis, node)
    if axis is None and len(array.shape) != 1:
        array = flattened(stores.read, array, node)
    axis = axis or 0
    if name in ("argmax", "argmin"):
        return _place(stores, name, array, axis, node)
    return _running(stores, "add" if name == "cumsum" else "mul", array, axis, node)


def _fixed(indices: Indices, axis: int, index: Number) -> Indices:
    """Indices of an array for those without an axis, and one of that axis."""
    return (*indices[:axis], index, *indices[axis:])


def _without(array: Array, axis: int) -> tuple[Number, ...]:
    return tuple(e for k, e in enumerate(array.shape) if k != axis)


def _place(stores: ArrayStores, name: str, array: Array, axis: int, node: ast.Call) -> Value:
    """Where the first of the extreme elements is; with exact floats, the first NaN if there is one."""
    read, numbers, span = stores.read, stores.read.numbers, stores.read.source.span(node)
    if same(array.shape[axis], 0):
        raise read.error("shape", f"{name} of an empty array", node)
    shape, dtype = _without(array, axis), read.dtype_of(array, node)
    best, place = (stores.allocate(n, shape, d, node) for n, d in (("best", dtype), ("place", DType.INT64)))

    def one(fixed: Indices) -> None:
        at = tuple(numbers.natural(i, node) for i in fixed)
        start = numbers.convert(read.element(array, _fixed(fixed, axis, 0), node), dtype, node)
        read.program.emit(Store(best, at, start, span))
        read.program.emit(Store(place, at, const(0, DType.INT64), span))

        def look(loop: Indices) -> None:
            value = numbers.convert(read.element(array, _fixed(fixed, axis, loop[0]), node), dtype, node)
            known = Load(best, at)
            better: Expr = _wider(numbers.binary("gt" if name == "argmax" else "lt", value, known, node))
            if numbers.exact and dtype.is_float:
                none = Binary("and", Binary("ne", value, value), Binary("eq", known, known))
                better = Binary("or", better, none)
            found = (Store(best, at, value, span), Store(place, at, numbers.convert(loop[0], DType.INT64, node), span))
            read.program.emit(If(better, seq(*found), SKIP, span))

        stores.over((array.shape[axis],), look, node)

    with read.program.guarded(span):
        stores.over(shape, one, node)
    return whole(place, shape) if shape else Load(place, ())


def _wider(cond: Number) -> Expr:
    assert isinstance(cond, Expr)
    return cond


def _running(stores: ArrayStores, op: str, array: Array, axis: int, node: ast.Call) -> View:
    """Each element with all before it, along an axis."""
    read, numbers, span = stores.read, stores.read.numbers, stores.read.source.span(node)
    dtype = stores.total_dtype(read.dtype_of(array, node))
    found = stores.array("running", array.shape, dtype, node)
    total, now = found.buffer, stores.allocate("total", (), dtype, node)

    def one(fixed: Indices) -> None:
        read.program.emit(Store(now, (), const(0 if op == "add" else 1, dtype), span))

        def add(loop: Indices) -> None:
            indices = _fixed(fixed, axis, loop[0])
            value = numbers.convert(read.element(array, indices, node), dtype, node)
            read.program.emit(Store(now, (), Binary(op, Load(now, ()), value, span), span))  # pyright: ignore[reportArgumentType]
            read.program.emit(Store(total, tuple(numbers.natural(i, node) for i in indices), Load(now, ()), span))

        stores.over((array.shape[axis],), add, node)

    with read.program.guarded(span):
        stores.over(_without(array, axis), one, node)
    return found


def _spread(stores: ArrayStores, name: str, array: Array, axis: int | None, node: ast.Call) -> Value:
    """The mean of the squares of what is left without the mean, or its root."""
    read, numbers = stores.read, stores.read.numbers
    axes = None if axis is None else (axis,)
    mean = stores.reduce("mean", array, axes, node)
    kept = stores.kept("mean", mean, node) if isinstance(mean, (View, Elementwise)) else None
    middle = read.program.frozen("mean", read.as_number(mean, node), read.source.span(node)) if kept is None else 0

    def square(indices: Indices) -> Number:
        here = middle if kept is None else read.element(kept, _dropped(indices, axis), node)
        left = numbers.binary("sub", read.element(array, indices, node), here, node)
        return complexes.squared(numbers, left, node)

    count: Number = 1
    for extent in array.shape if axis is None else (array.shape[axis],):
        count = numbers.binary("mul", count, extent, node)
    freedom = next((read.number(k.value) for k in node.keywords if k.arg == "ddof"), 0)
    count = count if same(freedom, 0) else numbers.binary("sub", count, freedom, node)
    total = stores.reduce("sum", Elementwise(array.shape, square), axes, node)
    found = read.lifted(lambda v: numbers.binary("div", v[0], count, node), [total], node)
    if name == "var":
        return found
    return read.lifted(lambda v: numbers.of_floats("sqrt", v[0], True, node), [found], node)


def _dropped(indices: Indices, axis: int | None) -> Indices:
    return tuple(i for k, i in enumerate(indices) if k != axis)
