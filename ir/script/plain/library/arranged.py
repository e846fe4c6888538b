"""Functions of NumPy that arrange the elements of arrays: nothing is stored, but what they give may be."""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate, chain
from operator import mul
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from msgspec.structs import replace

from ir.script.plain.arrays import (
    Array,
    Elementwise,
    Indices,
    View,
    broadcast_index,
    broadcast_shape,
    is_number,
    runs_of,
    same,
    shown_shape,
    transposed,
    viewed,
)
from ir.script.plain.frames import Named, Value
from ir.script.plain.library.arguments import ABSENT
from ir.script.plain.promotion import Number, Numbers
from ir.script.plain.syntax.cells import is_none

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

Arranged = Callable[["Evaluator", list[Value], ast.Call], Value]


def _array(read: Evaluator, value: Value, node: ast.Call) -> Array:
    if isinstance(value, (View, Elementwise)):
        return value
    if isinstance(value, tuple) and value:
        return read.caller.table(value, None, node)
    raise read.error("not-an-array", "an array is expected", node)


def _is_row(value: Value) -> TypeGuard[tuple[Value, ...]]:
    """Whether a value is some numbers that are written out."""
    return isinstance(value, tuple) and bool(value) and all(map(is_number, value))


def _arrays(read: Evaluator, value: Value, node: ast.Call) -> list[Array]:
    """The arrays of a tuple or list, at least one."""
    if isinstance(value, tuple) and value:
        return [_array(read, read.caller.table(v, None, node) if _is_row(v) else v, node) for v in value]
    if isinstance(value, (View, Elementwise)) and value.shape and isinstance(value.shape[0], int):
        return [read.at_row(value, k, node) for k in range(value.shape[0])]
    raise read.error("not-an-array", "a tuple of arrays is expected", node, "as in (A, B)")


def extents_of(read: Evaluator, shape: Sequence[Number], node: ast.AST) -> tuple[Number, ...]:
    """What Python says that a shape is: nothing is left between bounds that pass each other."""

    def least(extent: Number) -> Number:
        known = read.program.at_most(0, extent, read.numbers.typer)
        return extent if known else read.numbers.binary("max", extent, 0, node)

    return tuple(map(least, shape))


def size_of(read: Evaluator, shape: Sequence[Number], node: ast.AST) -> Number:
    total: Number = 1
    for extent in extents_of(read, shape, node):
        total = extent if same(total, 1) else read.numbers.binary("mul", total, extent, node)
    return total


def _flat(read: Evaluator, shape: Sequence[Number], indices: Indices, node: ast.AST) -> Number:
    """The place of an element in the order of rows."""
    found: Number = 0
    for extent, index in zip(shape, indices, strict=True):
        found = read.numbers.binary("add", read.numbers.binary("mul", found, extent, node), index, node)
    return found


def unflat(read: Evaluator, shape: Sequence[Number], place: Number, node: ast.AST) -> Indices:
    """The indices of the element at a place in the order of rows."""
    found: list[Number] = []
    for extent in reversed(shape[1:]):
        found.insert(0, read.numbers.binary("floormod", place, extent, node))
        place = read.numbers.binary("floordiv", place, extent, node)
    return (place, *found)[: len(shape)]


def reshaped(read: Evaluator, array: Array, shape: tuple[Number, ...], node: ast.AST) -> Array:
    """An array of another shape with the same elements in the order of rows; a view where NumPy gives one.

    It does so where an axis of the array, or several that lie in a row of even step, become whole axes.

    Raises:
        ParseError: the shape has another number of elements, or that is not known.
    """
    shape = _without_gap(read, array, shape, node)
    for extent in shape:
        read.needs_value(extent)
    if not same(size_of(read, shape, node), size_of(read, array.shape, node)):
        message = f"an array of shape {shown_shape(array.shape)} has no shape {shown_shape(shape)}"
        raise read.error("shape", message, node)

    def place(indices: Indices) -> Indices:
        return unflat(read, array.shape, _flat(read, shape, indices, node), node)

    if len(shape) == len(array.shape) and all(map(same, shape, array.shape)):
        return array
    if isinstance(array, View) and (array.whole or _stays_in_place(array, shape)):
        return View(array.buffer, shape, lambda i: array.place(place(i)))
    return Elementwise(shape, lambda i: read.element(array, place(i)))


def _stays_in_place(array: View, shape: tuple[Number, ...]) -> bool:
    """Whether a view has another shape without a copy: rows of even step end where axes of the shape do."""
    found = runs_of(array)
    if found is None or not all(isinstance(n, int) for n in shape):
        return False
    return {*accumulate(found[0], mul)} <= {1, *accumulate((n for n in shape if isinstance(n, int)), mul)}


def _without_gap(read: Evaluator, array: Array, shape: tuple[Number, ...], node: ast.AST) -> tuple[Number, ...]:
    """A shape with a number for -1."""
    rest = size_of(read, [e for e in shape if not (isinstance(e, int) and e == -1)], node)
    total = size_of(read, array.shape, node)
    if len([e for e in shape if isinstance(e, int) and e == -1]) != 1:
        return shape
    if isinstance(rest, int) and rest == 0:
        raise read.error("shape", "what -1 stands for is not known where another extent is 0", node)
    count = total if same(rest, 1) else read.numbers.binary("floordiv", total, rest, node)
    return tuple(count if isinstance(e, int) and e == -1 else e for e in shape)


def _reshape(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    shape = values[1] if isinstance(values[1], tuple) else tuple(values[1:])
    return reshaped(read, _array(read, values[0], node), tuple(read.as_number(v, node) for v in shape), node)


def flattened(read: Evaluator, array: Array, node: ast.AST) -> Array:
    """All elements in the order of rows."""
    return reshaped(read, array, (size_of(read, array.shape, node),), node)


def _ravel(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """All elements in the order of rows: a copy of those that do not follow each other in memory."""
    array = _array(read, values[0], node)
    found, runs = flattened(read, array, node), runs_of(array) if isinstance(array, View) else None
    return found if runs is None or runs[1] else copied(read, found)


def copied(read: Evaluator, array: Array) -> Array:
    """An array with the elements of another one, that is none of its views."""
    return Elementwise(array.shape, lambda i: read.element(array, i)) if isinstance(array, View) else array


def _choice(
    read: Evaluator, cond: Number, then: Callable[[], Number], other: Callable[[], Number], node: ast.AST
) -> Number:
    """One of two elements, of which the other one may not be there."""
    if isinstance(cond, bool):
        return then() if cond else other()
    return read.numbers.select(cond, then(), other(), node)


def one_of(read: Evaluator, cond: Number, arms: Sequence[Value], node: ast.AST) -> Value:
    """`A if cond else B` of arrays of one shape.

    Raises:
        ParseError: their shapes differ, or are not known to be the same.
    """
    then, other = (arm.shape for arm in arms if isinstance(arm, (View, Elementwise)))
    if len(then) != len(other) or not all(map(same, then, other)):
        message = f"one of two arrays of shapes {shown_shape(then)} and {shown_shape(other)}"
        raise read.error("shape", message, node, "write an `if` with two stores")
    found = read.lifted(lambda v: read.numbers.select(cond, v[0], v[1], node), arms, node)
    views = (((arm,) if isinstance(arm, View) else arm.chosen) for arm in arms if isinstance(arm, (View, Elementwise)))
    return replace(found, chosen=tuple(chain(*views))) if isinstance(found, Elementwise) else found


def _concatenate(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    arrays = _arrays(read, values[0], node)
    if values[1] is ABSENT and any(map(is_none, (*node.args[1:], *(k.value for k in node.keywords)))):
        arrays = [flattened(read, array, node) for array in arrays]
    axis = _axis(read, values[1], len(arrays[0].shape), node, 0)
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
    dtypes = [read.dtype_of(array, node) for array in arrays]
    dtype = reduce(lambda a, b: read.numbers.promoted(a, b, node), dtypes)

    def element(indices: Indices) -> Number:
        def at(k: int) -> Number:
            back = read.numbers.binary("sub", indices[axis], starts[k], node) if k else indices[axis]
            found = read.element(arrays[k], (*indices[:axis], back, *indices[axis + 1 :]), node)
            return found if dtypes[k] is dtype else read.numbers.convert(found, dtype, node)

        def rest(k: int) -> Number:
            if k == len(arrays) - 1:
                return at(k)
            before = read.numbers.binary("lt", indices[axis], starts[k + 1], node)
            return _choice(read, before, lambda: at(k), lambda: rest(k + 1), node)

        return rest(0)

    return Elementwise((*arrays[0].shape[:axis], total, *arrays[0].shape[axis + 1 :]), element)


def _stack(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    arrays = _arrays(read, values[0], node)
    axis = _axis(read, values[1], len(arrays[0].shape) + 1, node, 0)

    def layered(array: Array) -> Array:
        shape = (*array.shape[:axis], 1, *array.shape[axis:])
        return Elementwise(shape, lambda i: read.element(array, (*i[:axis], *i[axis + 1 :]), node))

    return _concatenate(read, [tuple(map(layered, arrays)), axis], node)


def _axis(read: Evaluator, value: Value, rank: int, node: ast.Call, default: int) -> int:
    if value is ABSENT:
        value = default
    if isinstance(value, int) and not isinstance(value, bool) and -rank <= value < rank:
        return value % rank
    raise read.error("arguments", f"an axis must be a number below {rank}", node)


def _diag(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """A diagonal of a matrix, or the matrix with a diagonal."""
    array, numbers = _array(read, values[0], node), read.numbers
    k = _count(read, 0 if values[1] is ABSENT else values[1], node)
    right, down = max(k, 0), max(-k, 0)

    def moved(index: Number, by: int) -> Number:
        return numbers.binary("add", index, by, node) if by else index

    if len(array.shape) == 1:
        zero = numbers.convert(0, read.dtype_of(array, node), node)
        extent = moved(array.shape[0], abs(k))

        def element(i: Indices) -> Number:
            on = numbers.binary("eq", moved(i[0], right), moved(i[1], down), node)
            return _choice(read, on, lambda: read.element(array, (moved(i[0], -down),), node), lambda: zero, node)

        return Elementwise((extent, extent), element)
    if len(array.shape) != 2:
        raise read.error("shape", "a diagonal is of vectors and matrices", node)
    n, m = moved(array.shape[0], -down), moved(array.shape[1], -right)
    count = n if same(n, m) else numbers.builtin_extremum("min", n, m, node)
    return viewed(array, (count,), lambda i: (moved(i[0], down), moved(i[0], right)))


def _count(read: Evaluator, value: Value, node: ast.Call) -> int:
    """A whole number that is known."""
    number = read.as_number(value, node)
    read.needs_value(number)
    if not isinstance(number, int):
        raise read.error("arguments", "a number of places must be known", node, "write a number, or loop over them")
    return number


def _repeat(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    array, times = _array(read, values[0], node), _count(read, values[1], node)
    array = flattened(read, array, node) if values[2] is ABSENT else array
    axis = _axis(read, values[2], len(array.shape), node, 0)
    return _copies(read, array, axis, times, lambda k: read.numbers.binary("floordiv", k, times, node), node)


def _copies(
    read: Evaluator, array: Array, axis: int, times: int, place: Callable[[Number], Number], node: ast.Call
) -> Array:
    """An array with an axis that is several times as long."""
    if times < 0:
        raise read.error("arguments", "how often elements are repeated must be a number from 0 up", node)
    return _along(array, axis, read.numbers.binary("mul", array.shape[axis], times, node), place, read)


def _tile(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    array = _array(read, values[0], node)
    reps = values[1] if isinstance(values[1], tuple) else (values[1],)
    while len(array.shape) < len(reps):
        array = _with_axis(array, 0)
    for axis, times in enumerate(reps, len(array.shape) - len(reps)):
        extent, count = array.shape[axis], _count(read, times, node)
        if count != 1:
            array = _copies(read, array, axis, count, lambda k, n=extent: _modulo(read, k, n, node), node)
    return copied(read, array)


def _modulo(read: Evaluator, index: Number, extent: Number, node: ast.Call) -> Number:
    return 0 if same(extent, 1) else read.numbers.binary("floormod", index, extent, node)


def _permuted(function: Callable[..., np.ndarray]) -> Arranged:
    """A function of NumPy that only changes the order of axes: it is asked for it, of an array whose sizes differ."""

    def permuted(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
        array = _array(read, values[0], node)
        example = np.broadcast_to(0, range(2, 2 + len(array.shape)))
        try:
            found = function(example, *(v for v in values[1:] if v is not ABSENT))
        except (TypeError, ValueError) as error:
            raise read.error("arguments", str(error), node) from error
        return transposed(array, [extent - 2 for extent in found.shape])

    return permuted


def _squeeze(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    array, given = _array(read, values[0], node), values[1]
    rank = len(array.shape)
    if given is ABSENT:
        axes = {k for k, extent in enumerate(array.shape) if same(extent, 1)}
    else:
        axes = {_axis(read, v, rank, node, 0) for v in (given if isinstance(given, tuple) else (given,))}
    if not all(same(array.shape[k], 1) for k in axes):
        raise read.error("shape", f"axes to be left out of shape {shown_shape(array.shape)} have one element", node)
    kept = [k for k in range(rank) if k not in axes]

    def place(indices: Indices) -> Indices:
        found = dict(zip(kept, indices, strict=True))
        return tuple(found.get(k, 0) for k in range(rank))

    return viewed(array, tuple(array.shape[k] for k in kept), place)


def _broadcast(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """`np.broadcast_to`."""
    array = _array(read, values[0], node)
    given = values[1] if isinstance(values[1], tuple) else (values[1],)
    shape = tuple(read.as_number(v, node) for v in given)
    for extent in shape:
        read.needs_value(extent)
    found = broadcast_shape([shape, array.shape], read.source, node)
    if len(found) != len(shape) or not all(map(same, found, shape)):
        message = f"an array of shape {shown_shape(array.shape)} has no shape {shown_shape(shape)}"
        raise read.error("shape", message, node)
    return viewed(array, shape, lambda i: broadcast_index(array.shape, i))


def _einsum(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """A sum of products over the letters that the result does not have."""
    text = values[0].value if isinstance(values[0], Named) else None
    arrays = [_array(read, v, node) for v in values[1:] if v is not ABSENT]
    inputs, arrow, output = text.replace(" ", "").partition("->") if isinstance(text, str) else ("", "", "")
    inputs, output = _without_dots(inputs, output, arrow, [len(a.shape) for a in arrays])
    terms = inputs.split(",")
    letters = "".join(sorted({c for c in inputs if c != ","}))
    if not arrow:
        output = "".join(c for c in letters if inputs.count(c) == 1)
    lengths = [len(a.shape) for a in arrays]
    if not letters.isalpha() or not set(output) <= set(letters) or [*map(len, terms)] != lengths:
        raise read.error(
            "arguments", f"{text!r} is no product of arrays of {lengths} dimensions", node, "as in 'ij,jk->ik'"
        )
    extents: dict[str, Number] = {}
    for term, array in zip(terms, arrays, strict=True):
        for letter, extent in zip(term, array.shape, strict=True):
            if not same(extents.setdefault(letter, extent), extent):
                raise read.error("shape", f"the extents of `{letter}` differ", node)
    summed = "".join(c for c in letters if c not in output)
    every = output + summed

    def product(indices: Indices) -> Number:
        at = dict(zip(every, indices, strict=True))
        found: Number | None = None
        for term, array in zip(terms, arrays, strict=True):
            value = read.element(array, tuple(at[c] for c in term), node)
            found = value if found is None else read.numbers.binary("mul", found, value, node)
        assert found is not None
        return found

    whole = Elementwise(tuple(extents[c] for c in every), product)
    if not summed:
        return whole
    found = read.caller.reduce("sum", whole, tuple(range(len(output), len(every))), node)
    dtype = read.dtype_of(whole, node)  # in which sums of products are, where others are in a wider one
    return read.lifted(lambda v: read.numbers.convert(v[0], dtype, node), [found], node)


def _without_dots(inputs: str, output: str, arrow: str, ranks: list[int]) -> tuple[str, str]:
    """The letters of a product with some more in place of dots, which stand for the dimensions that have none."""
    terms = inputs.split(",")
    if "..." not in inputs or len(terms) != len(ranks):
        return inputs, output
    free = [c for c in string.ascii_uppercase if c not in inputs][::-1]
    many = [rank - len(term) + 3 if "..." in term else 0 for term, rank in zip(terms, ranks, strict=True)]
    if not 0 <= min(many) <= max(many) <= len(free):
        return inputs, output
    terms = [t.replace("...", "".join(free[:n][::-1])) for t, n in zip(terms, many, strict=True)]
    return ",".join(terms), output.replace("...", "".join(free[: max(many)][::-1])) if arrow else output


def _tensordot(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """Products of elements, summed over axes of one array and as many of the other."""
    a, b = (_array(read, v, node) for v in values[:2])
    axes = 2 if values[2] is ABSENT else values[2]
    if isinstance(axes, int):
        axes = (tuple(range(-axes, 0)), tuple(range(axes)))
    pairs = [v if isinstance(v, tuple) else (v,) for v in axes] if isinstance(axes, tuple) and len(axes) == 2 else []
    if not pairs or len(pairs[0]) != len(pairs[1]):
        hint = "write np.einsum with a letter for each axis"
        raise read.error("arguments", "np.tensordot sums over a number of axes, or two lists of them", node, hint)
    one, other = ([_axis(read, v, len(x.shape), node, 0) for v in p] for x, p in zip((a, b), pairs, strict=True))
    letters = string.ascii_letters
    first = letters[: len(a.shape)]
    second = [*letters[len(first) : len(first) + len(b.shape)]]
    for k, axis in zip(one, other, strict=True):
        second[axis] = first[k]
    summed = {first[k] for k in one}
    left = "".join(c for c in (*first, *second) if c not in summed)
    return _einsum(read, [Named(f"{first},{''.join(second)}->{left}"), a, b], node)


def _divmod(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    a, b = values
    return tuple(
        read.lifted(lambda v, op=op: read.numbers.binary(op, v[0], v[1], node), [a, b], node)
        for op in ("floordiv", "floormod")
    )


def _with_axis(array: Array, axis: int) -> Array:
    return viewed(array, (*array.shape[:axis], 1, *array.shape[axis:]), lambda i: (*i[:axis], *i[axis + 1 :]))


def _expand(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    array = _array(read, values[0], node)
    return _with_axis(array, _axis(read, values[1], len(array.shape) + 1, node, 0))


def _along(array: Array, axis: int, extent: Number, place: Callable[[Number], Number], read: Evaluator) -> Elementwise:
    """An array with an axis of another extent, whose elements are those at other places along it."""

    def element(i: Indices) -> Number:
        return read.element(array, (*i[:axis], place(i[axis]), *i[axis + 1 :]))

    return Elementwise((*array.shape[:axis], extent, *array.shape[axis + 1 :]), element)


def _roll(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    array, numbers = _array(read, values[0], node), read.numbers
    if isinstance(values[1], tuple):
        axes = values[2] if isinstance(values[2], tuple) else (values[2],) * len(values[1])
        for pair in zip(values[1], axes, strict=True):
            array = _array(read, _roll(read, [array, *pair], node), node)
        return array
    shift = read.as_number(values[1], node)
    read.needs_value(shift)
    if not numbers.dtype_of(shift).is_integer:
        raise read.error("dtype-mismatch", "np.roll moves elements by a whole number of places", node)
    if values[2] is ABSENT and len(array.shape) != 1:
        return reshaped(read, _array(read, _roll(read, [flattened(read, array, node), shift, 0], node), node),
                        array.shape, node)  # fmt: skip
    axis = _axis(read, values[2], len(array.shape), node, 0)
    extent = array.shape[axis]

    def place(k: Number) -> Number:
        return numbers.binary("floormod", numbers.binary("sub", k, shift, node), extent, node)

    return array if same(extent, 0) else _along(array, axis, extent, place, read)


def _turned(read: Evaluator, array: Array, axis: int, node: ast.Call) -> Array:
    """A view with an axis in the other direction."""
    last = read.numbers.binary("sub", array.shape[axis], 1, node)

    def place(i: Indices) -> Indices:
        return (*i[:axis], read.numbers.binary("sub", last, i[axis], node), *i[axis + 1 :])

    return viewed(array, array.shape, place)


def _flip(axes: tuple[int, ...] | None) -> Arranged:
    def flipped(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
        array = _array(read, values[0], node)
        rank = len(array.shape)
        given = values[1] if len(values) > 1 else ABSENT
        named = given if isinstance(given, tuple) else (given,)
        own = axes or (range(rank) if given is ABSENT else [_axis(read, v, rank, node, 0) for v in named])
        for axis in own:
            if axis >= rank:
                raise read.error("shape", f"an array of {rank} dimensions has no axis {axis}", node)
            array = _turned(read, array, axis, node)
        return array

    return flipped


def _pad(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """`np.pad` with a number, or with the elements at the edges."""
    array = _array(read, values[0], node)
    mode = str(values[2].value) if isinstance(values[2], Named) and values[2] is not ABSENT else "constant"
    if mode not in ("constant", *_MODES):
        hint = "pad with a number, the edge, or by reflection, or store into a larger array"
        raise read.error("unsupported", f"np.pad has no mode {mode!r} here", node, hint)
    fill = 0 if values[3] is ABSENT else read.as_number(values[3], node)
    filling = read.numbers.convert(fill, read.dtype_of(array, node), node)
    for axis, (before, after) in enumerate(_widths(read, values[1], len(array.shape), node)):
        if mode == "constant":
            array = _padded(read, array, axis, before, after, filling, node)
        else:
            array = _repeated(read, array, axis, before, after, _MODES[mode], node)
    return array


def _at_edge(numbers: Numbers, k: Number, extent: Number, node: ast.AST) -> Number:
    last = numbers.binary("sub", extent, 1, node)
    return numbers.builtin_extremum("min", numbers.builtin_extremum("max", k, 0, node), last, node)


def _around(numbers: Numbers, k: Number, extent: Number, node: ast.AST) -> Number:
    return numbers.binary("floormod", k, extent, node)


def _reflected(by: int) -> Callable[[Numbers, Number, Number, ast.AST], Number]:
    """Places beyond an edge as those before it, where the one at the edge itself counts once or (`by` 1) twice."""

    def place(numbers: Numbers, k: Number, extent: Number, node: ast.AST) -> Number:
        turn = numbers.binary("add", numbers.binary("sub", extent, 1, node), by, node)
        period = numbers.builtin_extremum("max", numbers.binary("mul", 2, turn, node), 1, node)
        there = numbers.binary("floormod", k, period, node)
        back = numbers.binary("sub", numbers.binary("sub", period, by, node), there, node)
        return numbers.builtin_extremum("min", there, numbers.builtin_extremum("max", back, 0, node), node)

    return place


_MODES = {"edge": _at_edge, "wrap": _around, "reflect": _reflected(0), "symmetric": _reflected(1)}


def _repeated(
    read: Evaluator,
    array: Array,
    axis: int,
    before: Number,
    after: Number,
    place: Callable[[Numbers, Number, Number, ast.AST], Number],
    node: ast.Call,
) -> Array:
    """An array with some of its elements again before and after it."""
    numbers, extent = read.numbers, array.shape[axis]
    wide = numbers.binary("add", numbers.binary("add", extent, before, node), after, node)

    def inner(k: Number) -> Number:
        return place(numbers, k if same(before, 0) else numbers.binary("sub", k, before, node), extent, node)

    return _along(array, axis, wide, inner, read)


def _widths(read: Evaluator, value: Value, rank: int, node: ast.Call) -> list[tuple[Number, Number]]:
    """How much is added before and after each axis."""
    items = value if isinstance(value, tuple) else (value, value)
    if len(items) == rank and all(isinstance(v, tuple) and len(v) == 2 for v in items):
        found = [tuple(read.as_number(n, node) for n in v) for v in items if isinstance(v, tuple)]
    elif len(items) == 2 and not any(isinstance(v, tuple) for v in items):
        found = [tuple(read.as_number(n, node) for n in items)] * rank
    else:
        message = f"the widths of np.pad are no pairs of numbers for {rank} dimensions"
        raise read.error("arguments", message, node, "as in ((1, 1), (0, 2))")
    for pair in found:
        for width in pair:
            read.needs_value(width)
            if not isinstance(width, int) or width < 0:
                raise read.error("arguments", "the widths of np.pad must be numbers from 0 up", node)
    return [(pair[0], pair[1]) for pair in found]


def _padded(
    read: Evaluator, array: Array, axis: int, before: Number, after: Number, filling: Number, node: ast.Call
) -> Array:
    numbers, extent = read.numbers, array.shape[axis]
    wide = numbers.binary("add", numbers.binary("add", extent, before, node), after, node)

    def inner(k: Number) -> Number:
        return k if same(before, 0) else numbers.binary("sub", k, before, node)

    moved = _along(array, axis, wide, inner, read)

    def element(i: Indices) -> Number:
        tests = [numbers.binary("ge", i[axis], before, node)] if not same(before, 0) else []
        if not same(after, 0):
            tests.append(numbers.binary("lt", i[axis], numbers.binary("add", extent, before, node), node))
        inside: Number = True
        for test in tests:
            inside = test if inside is True else numbers.binary("bitand", inside, test, node)
        return _choice(read, inside, lambda: moved.element(i), lambda: filling, node)

    return Elementwise(moved.shape, element)


ARRANGED: dict[str, tuple[int, tuple[str, ...], Arranged]] = {  # how many arguments there must be, and all their names
    "np.reshape": (2, ("a", "shape"), _reshape), "np.ravel": (1, ("a",), _ravel),
    "np.concatenate": (1, ("arrays", "axis"), _concatenate), "np.stack": (1, ("arrays", "axis"), _stack),
    "np.expand_dims": (2, ("a", "axis"), _expand), "np.squeeze": (1, ("a", "axis"), _squeeze),
    "np.broadcast_to": (2, ("array", "shape"), _broadcast),
    "np.swapaxes": (3, ("a", "axis1", "axis2"), _permuted(np.swapaxes)),
    "np.moveaxis": (3, ("a", "source", "destination"), _permuted(np.moveaxis)),
    "np.rollaxis": (2, ("a", "axis", "start"), _permuted(np.rollaxis)),
    "np.transpose": (1, ("a", "axes"), _permuted(np.transpose)),
    "np.permute_dims": (1, ("a", "axes"), _permuted(np.transpose)),
    "np.matrix_transpose": (1, ("x",), _permuted(np.matrix_transpose)),
    "np.roll": (2, ("a", "shift", "axis"), _roll), "np.flip": (1, ("m", "axis"), _flip(None)),
    "np.flipud": (1, ("m",), _flip((0,))), "np.fliplr": (1, ("m",), _flip((1,))),
    "np.pad": (2, ("array", "pad_width", "mode", "constant_values"), _pad),
    "np.diag": (1, ("v", "k"), _diag), "np.diagonal": (1, ("a", "offset"), _diag),
    "np.repeat": (2, ("a", "repeats", "axis"), _repeat), "np.tile": (2, ("A", "reps"), _tile),
    "np.einsum": (2, ("subscripts", "a", "b", "c"), _einsum), "np.tensordot": (2, ("a", "b", "axes"), _tensordot),
    "divmod": (2, ("x", "y"), _divmod), "np.divmod": (2, ("x1", "x2"), _divmod),
}  # fmt: skip
