"""Functions of NumPy that arrange the elements of arrays: nothing is stored, but what they give may be."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ir.script.plain.arrays import Array, Elementwise, Indices, View, same, shown_shape
from ir.script.plain.frames import Value
from ir.script.plain.promotion import Number

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

Arranged = Callable[["Evaluator", list[Value], ast.Call], Value]


def _array(read: Evaluator, value: Value, node: ast.Call) -> Array:
    if isinstance(value, (View, Elementwise)):
        return value
    raise read.error("not-an-array", "an array is expected", node)


def _arrays(read: Evaluator, value: Value, node: ast.Call) -> list[Array]:
    """The arrays of a tuple or list, at least one."""
    if isinstance(value, tuple) and value:
        return [_array(read, v, node) for v in value]
    raise read.error("not-an-array", "a tuple of arrays is expected", node, "as in (A, B)")


def _size(read: Evaluator, shape: Sequence[Number], node: ast.AST) -> Number:
    total: Number = 1
    for extent in shape:
        total = read.numbers.binary("mul", total, extent, node)
    return total


def _flat(read: Evaluator, shape: Sequence[Number], indices: Indices, node: ast.AST) -> Number:
    """The place of an element in the order of rows."""
    found: Number = 0
    for extent, index in zip(shape, indices, strict=True):
        found = read.numbers.binary("add", read.numbers.binary("mul", found, extent, node), index, node)
    return found


def _unflat(read: Evaluator, shape: Sequence[Number], place: Number, node: ast.AST) -> Indices:
    """The indices of the element at a place in the order of rows."""
    found: list[Number] = []
    for extent in reversed(shape[1:]):
        found.insert(0, read.numbers.binary("floormod", place, extent, node))
        place = read.numbers.binary("floordiv", place, extent, node)
    return (place, *found)[: len(shape)]


def reshaped(read: Evaluator, array: Array, shape: tuple[Number, ...], node: ast.Call) -> Array:
    """An array of another shape with the same elements in the order of rows; a view where the array is all of one.

    Raises:
        ParseError: the shape has another number of elements, or that is not known.
    """
    shape = _without_gap(read, array, shape, node)
    if not same(_size(read, shape, node), _size(read, array.shape, node)):
        message = f"an array of shape {shown_shape(array.shape)} has no shape {shown_shape(shape)}"
        raise read.error("shape", message, node)

    def place(indices: Indices) -> Indices:
        return _unflat(read, array.shape, _flat(read, shape, indices, node), node)

    if isinstance(array, View) and array.whole:
        return View(array.buffer, shape, lambda i: array.place(place(i)))
    return Elementwise(shape, lambda i: read.element(array, place(i)))


def _without_gap(read: Evaluator, array: Array, shape: tuple[Number, ...], node: ast.Call) -> tuple[Number, ...]:
    """A shape with a number for -1."""
    rest = _size(read, [e for e in shape if not (isinstance(e, int) and e == -1)], node)
    total = _size(read, array.shape, node)
    if len([e for e in shape if isinstance(e, int) and e == -1]) != 1:
        return shape
    if isinstance(rest, int) and rest == 0:
        raise read.error("shape", "what -1 stands for is not known where another extent is 0", node)
    count = total if same(rest, 1) else read.numbers.binary("floordiv", total, rest, node)
    return tuple(count if isinstance(e, int) and e == -1 else e for e in shape)


def _reshape(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    shape = values[1] if isinstance(values[1], tuple) else tuple(values[1:])
    return reshaped(read, _array(read, values[0], node), tuple(read.as_number(v, node) for v in shape), node)


def flattened(read: Evaluator, array: Array, node: ast.Call) -> Array:
    """All elements in the order of rows."""
    return reshaped(read, array, (_size(read, array.shape, node),), node)


def _ravel(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    return flattened(read, _array(read, values[0], node), node)


def _flatten(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    flat = flattened(read, _array(read, values[0], node), node)
    return Elementwise(flat.shape, lambda i: read.element(flat, i))


def _choice(
    read: Evaluator, cond: Number, then: Callable[[], Number], other: Callable[[], Number], node: ast.AST
) -> Number:
    """One of two elements, of which the other one may not be there."""
    if isinstance(cond, bool):
        return then() if cond else other()
    return read.numbers.select(cond, then(), other(), node)


def _concatenate(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    arrays = _arrays(read, values[0], node)
    axis = _axis(read, values[1] if len(values) > 1 else 0, len(arrays[0].shape), node)
    total: Number = 0
    starts: list[Number] = []
    for array in arrays:
        others = [e for k, e in enumerate(array.shape) if k != axis]
        wanted = [e for k, e in enumerate(arrays[0].shape) if k != axis]
        if len(others) != len(wanted) or not all(map(same, others, wanted)):
            shapes = " and ".join(shown_shape(a.shape) for a in arrays)
            raise read.error("shape", f"arrays of shapes {shapes} do not fit each other", node)
        starts.append(total)
        total = array.shape[axis] if same(total, 0) else read.numbers.binary("add", total, array.shape[axis], node)

    def element(indices: Indices) -> Number:
        def at(k: int) -> Number:
            back = read.numbers.binary("sub", indices[axis], starts[k], node) if k else indices[axis]
            return read.element(arrays[k], (*indices[:axis], back, *indices[axis + 1 :]), node)

        def rest(k: int) -> Number:
            if k == len(arrays) - 1:
                return at(k)
            before = read.numbers.binary("lt", indices[axis], starts[k + 1], node)
            return _choice(read, before, lambda: at(k), lambda: rest(k + 1), node)

        return rest(0)

    return Elementwise((*arrays[0].shape[:axis], total, *arrays[0].shape[axis + 1 :]), element)


def _stack(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    arrays = _arrays(read, values[0], node)
    axis = _axis(read, values[1] if len(values) > 1 else 0, len(arrays[0].shape) + 1, node)

    def layered(array: Array) -> Array:
        shape = (*array.shape[:axis], 1, *array.shape[axis:])
        return Elementwise(shape, lambda i: read.element(array, (*i[:axis], *i[axis + 1 :]), node))

    return _concatenate(read, [tuple(map(layered, arrays)), axis], node)


def _axis(read: Evaluator, value: Value, rank: int, node: ast.Call) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and -rank <= value < rank:
        return value % rank
    raise read.error("arguments", f"an axis must be a number below {rank}", node)


def _outer(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    a, b = (flattened(read, _array(read, v, node), node) for v in values)

    def element(i: Indices) -> Number:
        return read.numbers.binary("mul", read.element(a, i[:1], node), read.element(b, i[1:], node), node)

    return Elementwise((a.shape[0], b.shape[0]), element)


def _diag(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """The diagonal of a matrix, or the matrix with a diagonal."""
    array = _array(read, values[0], node)
    if len(array.shape) == 1:
        zero = read.numbers.convert(0, read.dtype_of(array, node), node)
        shape = (array.shape[0], array.shape[0])

        def element(i: Indices) -> Number:
            on = read.numbers.binary("eq", i[0], i[1], node)
            return _choice(read, on, lambda: read.element(array, i[:1], node), lambda: zero, node)

        return Elementwise(shape, element)
    if len(array.shape) != 2:
        raise read.error("shape", "np.diag is of vectors and matrices", node)
    count = array.shape[0] if same(*array.shape) else read.numbers.builtin_extremum("min", *array.shape, node)
    return Elementwise((count,), lambda i: read.element(array, (i[0], i[0]), node))


def _trace(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    diagonal = _array(read, _diag(read, values, node), node)
    if len(diagonal.shape) != 1:
        raise read.error("shape", "np.trace is of matrices", node)
    return read.caller.reduce("sum", diagonal, None, node)


def _norm(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """The root of the sum of all squares."""
    array = _array(read, values[0], node)
    numbers = read.numbers

    def square(indices: Indices) -> Number:
        x = numbers.of_floats("abs", read.element(array, indices, node), True, node)
        return numbers.binary("mul", x, x, node)

    total = read.caller.reduce("sum", Elementwise(array.shape, square), None, node)
    return numbers.of_floats("sqrt", read.as_number(total, node), True, node)


def _divmod(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    a, b = values
    return tuple(
        read.lifted(lambda v, op=op: read.numbers.binary(op, v[0], v[1], node), [a, b], node)
        for op in ("floordiv", "floormod")
    )


ARRANGED: dict[str, tuple[int, int, Arranged]] = {  # least and most arguments
    "np.reshape": (2, 2, _reshape), "np.ravel": (1, 1, _ravel), "np.concatenate": (1, 2, _concatenate),
    "np.stack": (1, 2, _stack), "np.outer": (2, 2, _outer), "np.diag": (1, 1, _diag), "np.trace": (1, 1, _trace),
    "np.linalg.norm": (1, 1, _norm),
    "divmod": (2, 2, _divmod),
}  # fmt: skip
METHODS: dict[str, tuple[int, int, Arranged]] = {  # of arguments besides the array
    "reshape": (1, 8, _reshape), "ravel": (0, 0, _ravel), "flatten": (0, 0, _flatten),
}  # fmt: skip
