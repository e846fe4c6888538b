"""Functions of NumPy that arrange the elements of arrays: nothing is stored, but what they give may be."""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ir.dtypes import DType
from ir.nodes import BinaryOp
from ir.script.plain.arrays import Array, Elementwise, Indices, View, same, shown_shape
from ir.script.plain.frames import Named, Value
from ir.script.plain.promotion import Number

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

Arranged = Callable[["Evaluator", list[Value], ast.Call], Value]
_ABSENT = Named(None)  # an argument that is not given


def _array(read: Evaluator, value: Value, node: ast.Call) -> Array:
    if isinstance(value, (View, Elementwise)):
        return value
    raise read.error("not-an-array", "an array is expected", node)


def _arrays(read: Evaluator, value: Value, node: ast.Call) -> list[Array]:
    """The arrays of a tuple or list, at least one."""
    if isinstance(value, tuple) and value:
        return [_array(read, v, node) for v in value]
    raise read.error("not-an-array", "a tuple of arrays is expected", node, "as in (A, B)")


def size_of(read: Evaluator, shape: Sequence[Number], node: ast.AST) -> Number:
    total: Number = 1
    for extent in shape:
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
    """An array of another shape with the same elements in the order of rows; a view where the array is all of one.

    Raises:
        ParseError: the shape has another number of elements, or that is not known.
    """
    shape = _without_gap(read, array, shape, node)
    if not same(size_of(read, shape, node), size_of(read, array.shape, node)):
        message = f"an array of shape {shown_shape(array.shape)} has no shape {shown_shape(shape)}"
        raise read.error("shape", message, node)

    def place(indices: Indices) -> Indices:
        return unflat(read, array.shape, _flat(read, shape, indices, node), node)

    if isinstance(array, View) and array.whole:
        return View(array.buffer, shape, lambda i: array.place(place(i)))
    return Elementwise(shape, lambda i: read.element(array, place(i)))


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


def one_of(read: Evaluator, cond: Number, arms: Sequence[Value], node: ast.AST) -> Value:
    """`A if cond else B` of arrays of one shape.

    Raises:
        ParseError: their shapes differ, or are not known to be the same.
    """
    then, other = (arm.shape for arm in arms if isinstance(arm, (View, Elementwise)))
    if len(then) != len(other) or not all(map(same, then, other)):
        message = f"one of two arrays of shapes {shown_shape(then)} and {shown_shape(other)}"
        raise read.error("shape", message, node, "write an `if` with two stores")
    return read.lifted(lambda v: read.numbers.select(cond, v[0], v[1], node), arms, node)


def _concatenate(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    arrays = _arrays(read, values[0], node)
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
    axis = _axis(read, values[1], len(arrays[0].shape) + 1, node, 0)

    def layered(array: Array) -> Array:
        shape = (*array.shape[:axis], 1, *array.shape[axis:])
        return Elementwise(shape, lambda i: read.element(array, (*i[:axis], *i[axis + 1 :]), node))

    return _concatenate(read, [tuple(map(layered, arrays)), axis], node)


def _axis(read: Evaluator, value: Value, rank: int, node: ast.Call, default: int) -> int:
    if value is _ABSENT:
        value = default
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
    """The root of the sum of all squares, or of those along an axis."""
    array = _array(read, values[0], node)
    axes = None if values[1] is _ABSENT else (_axis(read, values[1], len(array.shape), node, 0),)
    numbers = read.numbers

    def square(indices: Indices) -> Number:
        x = numbers.of_floats("abs", read.element(array, indices, node), True, node)
        return numbers.binary("mul", x, x, node)

    total = read.caller.reduce("sum", Elementwise(array.shape, square), axes, node)
    return read.lifted(lambda v: numbers.of_floats("sqrt", v[0], True, node), [total], node)


def _repeated(op: BinaryOp) -> Arranged:
    """`np.repeat` and `np.tile`: the place of an element, divided by or modulo how many there are."""

    def repeated(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
        array, times = flattened(read, _array(read, values[0], node), node), read.as_number(values[1], node)
        read.needs_value(times)
        if not isinstance(times, int) or times < 0:
            raise read.error("arguments", "how often elements are repeated must be a number from 0 up", node)
        count = read.numbers.binary("mul", array.shape[0], times, node)
        by = times if op == "floordiv" else array.shape[0]
        return _along(array, 0, count, lambda k: read.numbers.binary(op, k, by, node), read)

    return repeated


def _einsum(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """A sum of products over the letters that the result does not have."""
    text = values[0].value if isinstance(values[0], Named) else None
    arrays = [_array(read, v, node) for v in values[1:] if v is not _ABSENT]
    inputs, arrow, output = text.replace(" ", "").partition("->") if isinstance(text, str) else ("", "", "")
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
    return read.caller.reduce("sum", whole, tuple(range(len(output), len(every))), node) if summed else whole


def _tensordot(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """Products of elements, summed over the last axes of one array and the first ones of the other."""
    a, b = (_array(read, v, node) for v in values[:2])
    count = 2 if values[2] is _ABSENT else values[2]
    if not isinstance(count, int) or not 0 <= count <= min(len(a.shape), len(b.shape)):
        hint = "write np.einsum with a letter for each axis"
        raise read.error("unsupported", "np.tensordot sums over a number of axes here", node, hint)
    letters = string.ascii_letters
    one = letters[: len(a.shape)]
    other = one[len(one) - count :] + letters[len(one) : len(one) + len(b.shape) - count]
    text = f"{one},{other}->{one[: len(one) - count]}{other[count:]}"
    return _einsum(read, [Named(text), a, b], node)


def _divmod(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    a, b = values
    return tuple(
        read.lifted(lambda v, op=op: read.numbers.binary(op, v[0], v[1], node), [a, b], node)
        for op in ("floordiv", "floormod")
    )


def _rows(axis: int) -> Arranged:
    """`np.vstack` and `np.hstack`, of which the first makes rows of vectors."""

    def joined(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
        arrays = _arrays(read, values[0], node)
        if axis == 0:
            arrays = [_with_axis(a, 0) if len(a.shape) == 1 else a for a in arrays]
        return _concatenate(read, [tuple(arrays), 0 if len(arrays[0].shape) == 1 else axis], node)

    return joined


def _with_axis(array: Array, axis: int) -> Array:
    shape = (*array.shape[:axis], 1, *array.shape[axis:])
    if isinstance(array, View):
        return View(array.buffer, shape, lambda i: array.place((*i[:axis], *i[axis + 1 :])))
    return Elementwise(shape, lambda i: array.element((*i[:axis], *i[axis + 1 :])))


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
    shift = read.as_number(values[1], node)
    read.needs_value(shift)
    if not numbers.dtype_of(shift).is_integer:
        raise read.error("dtype-mismatch", "np.roll moves elements by a whole number of places", node)
    if values[2] is _ABSENT and len(array.shape) != 1:
        return reshaped(read, _array(read, _roll(read, [flattened(read, array, node), shift, 0], node), node),
                        array.shape, node)  # fmt: skip
    axis = _axis(read, values[2], len(array.shape), node, 0)
    extent = array.shape[axis]

    def place(k: Number) -> Number:
        return numbers.binary("floormod", numbers.binary("sub", k, shift, node), extent, node)

    return array if same(extent, 0) else _along(array, axis, extent, place, read)


def _turned(read: Evaluator, array: Array, axis: int, node: ast.Call) -> Array:
    last = read.numbers.binary("sub", array.shape[axis], 1, node)
    return _along(array, axis, array.shape[axis], lambda k: read.numbers.binary("sub", last, k, node), read)


def _flip(axes: tuple[int, ...] | None) -> Arranged:
    def flipped(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
        array = _array(read, values[0], node)
        rank = len(array.shape)
        given = values[1] if len(values) > 1 else _ABSENT
        own = axes or (tuple(range(rank)) if given is _ABSENT else (_axis(read, given, rank, node, 0),))
        for axis in own:
            if axis >= rank:
                raise read.error("shape", f"an array of {rank} dimensions has no axis {axis}", node)
            array = _turned(read, array, axis, node)
        return array

    return flipped


def _diff(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    array, numbers = _array(read, values[0], node), read.numbers
    if not isinstance(values[1], Named) and not same(read.as_number(values[1], node), 1):
        raise read.error("unsupported", "np.diff takes one difference here", node, "call it several times")
    axis = _axis(read, values[2], len(array.shape), node, -1 % len(array.shape))
    count = numbers.binary("sub", array.shape[axis], 1, node)
    count = count if not isinstance(count, int) else max(count, 0)
    after = _along(array, axis, count, lambda k: numbers.binary("add", k, 1, node), read)
    return read.lifted(
        lambda v: numbers.binary("sub", v[0], v[1], node), [after, _along(array, axis, count, lambda k: k, read)], node
    )


def _pad(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """`np.pad` with a number, or with the elements at the edges."""
    array = _array(read, values[0], node)
    mode = values[2].value if isinstance(values[2], Named) and values[2] is not _ABSENT else "constant"
    if mode not in ("constant", "edge"):
        hint = "pad with a number or the edge, or store into a larger array"
        raise read.error("unsupported", f"np.pad has no mode {mode!r} here", node, hint)
    fill = 0 if values[3] is _ABSENT else read.as_number(values[3], node)
    filling = read.numbers.convert(fill, read.dtype_of(array, node), node)
    for axis, (before, after) in enumerate(_widths(read, values[1], len(array.shape), node)):
        array = _padded(read, array, axis, before, after, None if mode == "edge" else filling, node)
    return array


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
    read: Evaluator, array: Array, axis: int, before: Number, after: Number, filling: Number | None, node: ast.Call
) -> Array:
    numbers, extent = read.numbers, array.shape[axis]
    wide = numbers.binary("add", numbers.binary("add", extent, before, node), after, node)

    def inner(k: Number) -> Number:
        return k if same(before, 0) else numbers.binary("sub", k, before, node)

    def edge(k: Number) -> Number:
        last = numbers.binary("sub", extent, 1, node)
        return numbers.builtin_extremum("min", numbers.builtin_extremum("max", inner(k), 0, node), last, node)

    if filling is None:
        return _along(array, axis, wide, edge, read)
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


def _triangle(upper: bool) -> Arranged:
    """`np.triu` and `np.tril`: zero on one side of a diagonal."""

    def kept(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
        array, numbers = _array(read, values[0], node), read.numbers
        if len(array.shape) < 2:
            raise read.error("shape", f"np.{'triu' if upper else 'tril'} is of matrices", node)
        offset = 0 if values[1] is _ABSENT else read.as_number(values[1], node)
        zero = numbers.convert(0, read.dtype_of(array, node), node)

        def element(i: Indices) -> Number:
            diagonal = i[-2] if same(offset, 0) else numbers.binary("add", i[-2], offset, node)
            inside = numbers.binary("ge" if upper else "le", i[-1], diagonal, node)
            return _choice(read, inside, lambda: read.element(array, i), lambda: zero, node)

        return Elementwise(array.shape, element)

    return kept


def _count(read: Evaluator, values: list[Value], node: ast.Call) -> Value:
    """`np.count_nonzero`."""
    array = _array(read, values[0], node)

    def one(i: Indices) -> Number:
        return read.numbers.convert(read.numbers.truth(read.element(array, i), node), DType.INT64, node)

    axes = None if values[1] is _ABSENT else (_axis(read, values[1], len(array.shape), node, 0),)
    return read.caller.reduce("sum", Elementwise(array.shape, one), axes, node)


ARRANGED: dict[str, tuple[int, tuple[str, ...], Arranged]] = {  # how many arguments there must be, and all their names
    "np.reshape": (2, ("a", "shape"), _reshape), "np.ravel": (1, ("a",), _ravel),
    "np.concatenate": (1, ("arrays", "axis"), _concatenate), "np.stack": (1, ("arrays", "axis"), _stack),
    "np.vstack": (1, ("tup",), _rows(0)), "np.hstack": (1, ("tup",), _rows(1)),
    "np.expand_dims": (2, ("a", "axis"), _expand), "np.roll": (2, ("a", "shift", "axis"), _roll),
    "np.flip": (1, ("m", "axis"), _flip(None)), "np.flipud": (1, ("m",), _flip((0,))),
    "np.fliplr": (1, ("m",), _flip((1,))), "np.diff": (1, ("a", "n", "axis"), _diff),
    "np.pad": (2, ("array", "pad_width", "mode", "constant_values"), _pad),
    "np.triu": (1, ("m", "k"), _triangle(True)), "np.tril": (1, ("m", "k"), _triangle(False)),
    "np.count_nonzero": (1, ("a", "axis"), _count),
    "np.outer": (2, ("a", "b"), _outer), "np.diag": (1, ("v",), _diag), "np.trace": (1, ("a",), _trace),
    "np.linalg.norm": (1, ("x", "axis"), _norm), "np.repeat": (2, ("a", "repeats"), _repeated("floordiv")),
    "np.tile": (2, ("A", "reps"), _repeated("floormod")), "np.einsum": (2, ("subscripts", "a", "b", "c"), _einsum),
    "np.tensordot": (2, ("a", "b", "axes"), _tensordot),
    "divmod": (2, ("x", "y"), _divmod),
}  # fmt: skip


def arguments(read: Evaluator, name: str, node: ast.Call) -> list[Value]:
    """The arguments of one of these functions in order, those that are given by name too."""
    least, names, _ = ARRANGED[name]
    found: dict[str, Value] = {}
    for key, part in [*zip(names, node.args), *((k.arg, k.value) for k in node.keywords)]:  # noqa: B905 - see below
        if key is None or key not in names or key in found:
            raise read.error("arguments", f"the option `{key or '**'}` of {name} is not supported", node)
        found[key] = read.array_or(part)
    if not least <= len(node.args) + len(node.keywords) or len(node.args) > len(names):
        wanted = str(least) if least == len(names) else f"{least} to {len(names)}"
        raise read.error("arguments", f"{name} takes {wanted} arguments here, {len(node.args)} given", node)
    if any(isinstance(a, ast.Starred) for a in node.args) or not all(n in found for n in names[:least]):
        raise read.error("arguments", f"{name} needs {' and '.join(names[:least])}", node)
    return [found.get(n, _ABSENT) for n in names]


METHODS: dict[str, tuple[int, int, Arranged]] = {  # of arguments besides the array
    "trace": (0, 0, _trace),
    "diagonal": (0, 0, _diag), "repeat": (1, 1, _repeated("floordiv")),
    "reshape": (1, 8, _reshape), "ravel": (0, 0, _ravel), "flatten": (0, 0, _flatten),
}  # fmt: skip
