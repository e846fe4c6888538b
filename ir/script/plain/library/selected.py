"""Parts of arrays where other arrays are true: data says how large they are, so that only totals have a place."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ir.dtypes import DType
from ir.nodes import Assert, Const, Expr, Var, const
from ir.script.plain.arrays import Array, Elementwise, Indices, Selection, View, is_number, same, shown_shape
from ir.script.plain.frames import Named
from ir.script.plain.program import Again
from ir.script.plain.promotion import Number, Weak

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator
    from ir.script.plain.frames import Value

_EMPTY = {"sum": 0, "mean": 0, "prod": 1, "any": False, "all": True, "var": 0, "std": 0}
TOTALS = (*_EMPTY, "min", "max")
HINT = "take its sum, mean, min, max or count, store it where the same array is true, or loop over all with `if`"


def truths_first(read: Evaluator, index: ast.Tuple) -> Array | None:
    """The array of truths that an index begins with, if it does."""
    first = index.elts[0] if index.elts else None
    if not isinstance(first, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name)):
        return None
    value = read.value(first)
    if not isinstance(value, (View, Elementwise)) or not value.shape:
        return None
    return value if read.dtype_of(value, first) is DType.BOOL else None


def rows_first(read: Evaluator, index: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The places and the rest of an index such as `i, truths`, which is that of `A[i][truths]`; None for others."""
    parts = index.elts if isinstance(index, ast.Tuple) else []
    for k, part in enumerate(parts):
        rest = ast.copy_location(ast.Tuple(parts[k:], ast.Load()), index)
        if isinstance(part, (ast.Slice, ast.Constant)) and not (
            isinstance(part, ast.Constant) and type(part.value) is int
        ):
            return None
        if truths_first(read, rest) is not None:
            before = ast.copy_location(ast.Tuple(parts[:k], ast.Load()), index)
            return (before, rest if len(rest.elts) > 1 else part) if k else None
        if not is_number(read.value(part)):
            return None
    return None


def beside(read: Evaluator, array: Array, index: ast.Tuple, truths: Array, node: ast.AST) -> Array:
    """The part of an array that an index names after truths."""
    everything: list[ast.expr] = [ast.copy_location(ast.Slice(), index) for _ in truths.shape]
    others = ast.copy_location(ast.Tuple([*everything, *index.elts[1:]], ast.Load()), index)
    return read.part(array, others, node, stored=True)


def counted(read: Evaluator, part: Selection, node: ast.AST) -> Number:
    """How many items a selection has."""

    def one(i: Indices) -> Number:
        return read.numbers.convert(read.element(part.truths, i, node), DType.INT64, node)

    found = read.as_number(read.caller.reduce("sum", Elementwise(part.truths.shape, one), None, node), node)
    expr = read.numbers.natural(found, node)
    return Weak(expr, 0)


def attribute(read: Evaluator, part: Selection, node: ast.Attribute) -> Value:
    """`A[truths].shape` and the like."""
    items = part.array.shape[len(part.truths.shape) :]
    match node.attr:
        case "ndim":
            return 1 + len(items)
        case "dtype":
            return Named(read.dtype_of(part.array, node))
        case "shape":
            return (counted(read, part, node), *items)
        case _:
            return reduce(lambda a, b: read.numbers.binary("mul", a, b, node), (counted(read, part, node), *items))


def total(read: Evaluator, name: str, part: Selection, axes: tuple[int, ...] | None, node: ast.AST) -> Value:
    """A reduction over all of a selection, or over its items.

    Raises:
        ParseError: another axis, or a function that is none of `TOTALS`.
    """
    numbers, rank = read.numbers, len(part.truths.shape)
    if name not in TOTALS or (axes is not None and axes != (0,)):
        what = f"{name} of a selection" if name not in TOTALS else f"{name} along other axes than the first"
        raise read.error("unsupported", f"{what} is not supported", node, HINT)
    inner = None if axes is None else tuple(range(rank))
    if name in ("var", "std"):
        return _spread(read, name, part, axes, node)
    dtype = read.dtype_of(part.array, node)
    nothing: Number = _worst(name, dtype) if name in ("min", "max") else _EMPTY[name]

    def element(i: Indices) -> Number:
        test = read.element(part.truths, i[:rank], node)
        value = read.element(part.array, i, node)
        return numbers.select(test, value, numbers.convert(nothing, dtype, node), node)

    every = Elementwise(part.array.shape, element)
    if name in ("min", "max"):
        count = counted(read, part, node)
        some = numbers.binary("gt", count, 0, node)
        assert isinstance(some, Expr)
        with read.program.guarded(read.source.span(node)):
            read.program.emit(Assert(some, f"{name} of nothing", read.source.span(node)))
    if name != "mean":
        return read.caller.reduce(name, every, inner, node)
    sums = read.caller.reduce("sum", every, inner, node)
    count = _count_of(read, part, axes, node)
    return read.lifted(lambda v: numbers.binary("div", v[0], count, node), [sums], node)


def _count_of(read: Evaluator, part: Selection, axes: tuple[int, ...] | None, node: ast.AST) -> Number:
    """How many elements go into each total."""
    count = counted(read, part, node)
    for extent in () if axes is not None else part.array.shape[len(part.truths.shape) :]:
        count = read.numbers.binary("mul", count, extent, node)
    return count


def _spread(read: Evaluator, name: str, part: Selection, axes: tuple[int, ...] | None, node: ast.AST) -> Value:
    numbers, rank = read.numbers, len(part.truths.shape)
    mean = total(read, "mean", part, axes, node)

    def square(i: Indices) -> Number:
        middle = read.element(mean, i[rank:], node) if isinstance(mean, (View, Elementwise)) else mean
        left = numbers.binary("sub", read.element(part.array, i, node), read.as_number(middle, node), node)
        return numbers.binary("mul", left, left, node)

    variance = total(read, "mean", Selection(Elementwise(part.array.shape, square), part.truths), axes, node)
    if name == "var":
        return variance
    return read.lifted(lambda v: numbers.of_floats("sqrt", v[0], True, node), [variance], node)


def _worst(name: str, dtype: DType) -> Expr:
    """A number of this dtype that is no less than any, or no greater."""
    if dtype is DType.BOOL:
        return const(name == "min", dtype)
    if dtype.is_float:
        return Const(math.inf if name == "min" else -math.inf, dtype)
    return const(dtype.max if name == "min" else dtype.min, dtype)


def alike(read: Evaluator, one: Array, other: Array, node: ast.AST) -> bool:
    """Whether two arrays of truths are the same here, element by element."""
    if one is other:
        return True
    if len(one.shape) != len(other.shape) or not all(map(same, one.shape, other.shape)):
        return False
    indices = tuple(Weak(Var(f"_{k}", DType.INT32), 0, DType.INT32.max >> 1) for k in range(len(one.shape)))
    a, b = (read.numbers.natural(read.element(x, indices), node) for x in (one, other))
    return a.same(b)


def lifted(
    read: Evaluator, function: Callable[[list[Number]], Number], values: Sequence[Value], node: ast.AST
) -> Selection:
    """A function of numbers, item by item of selections where the same array is true.

    Raises:
        ParseError: the selections are of different arrays, or stand beside an array that is no item.
    """
    chosen = [v for v in values if isinstance(v, Selection)]
    truths = chosen[0].truths
    inner = len(chosen[0].array.shape) - len(truths.shape)
    if not all(alike(read, truths, c.truths, node) and len(c.array.shape) == inner + len(truths.shape) for c in chosen):
        raise read.error("unsupported", "selections where different arrays are true", node, HINT)
    if any(isinstance(v, (View, Elementwise)) and len(v.shape) > inner for v in values):
        raise read.error("shape", "a selection beside an array, whose sizes may differ", node, HINT)
    found = read.lifted(function, [v.array if isinstance(v, Selection) else v for v in values], node)
    assert isinstance(found, (View, Elementwise))
    return Selection(found, truths)


def chosen(read: Evaluator, array: Array, truths: Array, node: ast.AST) -> Selection:
    """`A[truths]`.

    Raises:
        ParseError: the shapes do not fit each other.
    """
    own = array.shape[: len(truths.shape)]
    if len(own) < len(truths.shape) or not all(map(same, own, truths.shape)):
        message = f"truths of shape {shown_shape(truths.shape)} select nothing of shape {shown_shape(array.shape)}"
        raise read.error("shape", message, node)
    return Selection(array, truths)


def given_name(
    read: Evaluator, selection: Selection, kept: Callable[[Array], Array], name: str, node: ast.AST
) -> Selection | Array:
    """What a name stands for that is given a selection: copies of its parts, or where that is wanted its items."""
    key = read.frame.path, f"{name}:{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
    if key in read.program.learned.compact:
        return compacted(read, selection, node)
    return Selection(kept(selection.array), kept(selection.truths), key)


def compacted(read: Evaluator, selection: Selection, node: ast.AST) -> Array:
    """The items of a selection one after the other, in an array with room for all.

    Raises:
        Again: it has a name, which stands for the array from where it is given the selection.
    """
    if selection.key is not None and selection.key not in read.program.learned.compact:
        read.program.learned.compact.add(selection.key)
        raise Again
    place = ast.copy_location(ast.Call(ast.Name("A[m]", ast.Load()), [], []), node)
    found = read.caller.of_library("A[m]", [selection.array, selection.truths], place)
    assert isinstance(found, (View, Elementwise))
    return found
