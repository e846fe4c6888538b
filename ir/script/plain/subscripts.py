"""Subscripts of plain Python programs: elements and parts of arrays, items of tuples, and what an index must be."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from ir.dtypes import DType
from ir.errors import ParseError
from ir.nodes import Binary, Expr, Select, const
from ir.presburger.polynomials import polynomial
from ir.script.plain import hints
from ir.script.plain.arrays import (
    Array,
    Elementwise,
    Indices,
    Selection,
    Slicing,
    View,
    broadcast_index,
    broadcast_shape,
    is_number,
    viewed,
)
from ir.script.plain.frames import Named, Value, shown
from ir.script.plain.library import selected
from ir.script.plain.library.dictionaries import dictionary_of, looked_up
from ir.script.plain.library.ragged import ragged_of
from ir.script.plain.library.ragged import row as ragged_row
from ir.script.plain.program import NeedsRange, NeedsValue
from ir.script.plain.promotion import Number, Weak, expr_of, interval_of
from ir.script.plain.tuples import item_of, kind_of, of_kind, of_tuple, stands_for_list
from ir.traverse import free_vars

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

_Part = TypeVar("_Part", bound=Array)


def subscript(read: Evaluator, owner: Value, index: ast.expr, node: ast.AST) -> Value:
    """An item of a tuple, or an element or part of an array."""
    if isinstance(owner, tuple):
        return item_of(read, owner, index, node)
    if (lists := ragged_of(owner)) is not None:
        return ragged_row(read, lists, read.number(index), node)
    owner = selected.compacted(read, owner, node) if isinstance(owner, Selection) else owner
    if isinstance(owner, (View, Elementwise)):
        if stands_for_list(read, owner) and isinstance(index, ast.Slice):
            return read.caller.copied(part(read, owner, index, node), node)
        if (parts := selected.rows_first(read, index)) is not None:
            return subscript(read, part(read, owner, parts[0], node), parts[1], node)
        if isinstance(index, ast.Tuple) and (truths := selected.truths_first(read, index)) is not None:
            return selected.chosen(read, selected.beside(read, owner, index, truths, node), truths, node)
        known = None if isinstance(index, ast.Tuple) or _is_axis(index) else _place(read, index)
        if isinstance(known, (View, Elementwise)) and known.shape and read.dtype_of(known, index) is DType.BOOL:
            return selected.chosen(read, owner, known, node)
        found = part(read, owner, index, node, known)
        if of_tuple(read, found):
            items = [read.as_number(at_row(read, found, k, node), node) for k in range(of_tuple(read, found))]
            frozen = (n if read.program.conditional else read.program.frozen("item", n, None) for n in items)
            return of_kind(kind_of(read, found), frozen)
        return found if found.shape else read.element(found, (), node)
    if is_number(owner) and (_is_ellipsis(index) or (isinstance(index, ast.Tuple) and not index.elts)):
        return owner  # an array without dimensions
    if (keyed := dictionary_of(owner)) is not None:
        return looked_up(read, keyed, index, node)
    if isinstance(owner, Named) and isinstance(owner.value, str):
        try:
            found = item_of(read, tuple(map(Named, owner.value)), index, node)
        except ParseError as error:
            raise read.error(error.code, error.message, node, hints.of_text(owner.value)) from error
        return (
            Named("".join(str(c.value) for c in found if isinstance(c, Named))) if isinstance(found, tuple) else found
        )
    hint = hints.of_text(owner.value) if isinstance(owner, Named) else ""
    raise read.error("not-an-array", f"`{shown(node)}`: only arrays and tuples have elements", node, hint)


def part(
    read: Evaluator, array: Array, index: ast.expr, node: ast.AST, known: Value | None = None, *, stored: bool = False
) -> Array:
    """The part of an array that a subscript names, whose value may be known; an element has no dimensions.

    Elements at places in arrays of indices are a view only where they are `stored` to.
    """
    places = _places(read, index, known, len(array.shape), node)
    if any(isinstance(v, (View, Elementwise)) and v.shape for _, v in places):
        found = _gathered(read, array, places, node)
        return found if stored else Elementwise(found.shape, lambda i: read.element(found, i, node))
    items: list[Number | slice | None] = []
    for part, value in places:
        if isinstance(value, slice):
            items.append(value)
        elif isinstance(value, Named) and value.value is None:
            items.append(None)
        else:
            axis = sum(1 for i in items if i is not None)
            items.append(_index(read, _whole_number(read, value, part), array.shape[axis], part))
    if len(items) < len(array.shape) or any(isinstance(i, slice) for i in items):
        items = [i if i is None or isinstance(i, slice) else _settled(read, i, node) for i in items]
    return _cut(read, array, items, node)


def _places(
    read: Evaluator, index: ast.expr, known: Value | None, rank: int, node: ast.AST
) -> list[tuple[ast.expr, Value | slice]]:
    """The items of a subscript, with whole axes for what `...` stands for."""
    found: list[tuple[ast.expr, Value | slice]] = []
    nodes = index.elts if isinstance(index, ast.Tuple) else [index]
    rest = next((part for part in nodes if _is_ellipsis(part)), None)
    for part in nodes:
        if isinstance(part, ast.Slice):
            ends = [
                None if p is None else _whole_number(read, read.value(p), p)
                for p in (part.lower, part.upper, part.step)
            ]
            found.append((part, slice(*(None if end is None else _settled(read, end, part) for end in ends))))
        elif _is_none(part):
            found.append((part, Named(None)))
        elif part is not rest:
            value = _place(read, part) if known is None else known
            found += [(part, v) for v in value] if isinstance(value, tuple) else [(part, value)]
    taken = sum(1 for _, v in found if not (isinstance(v, Named) and v.value is None))
    if taken > rank:
        message = f"`{shown(node)}` has {taken} indices for {rank} dimensions"
        raise read.error("rank", message, node, "give at most one index for each dimension")
    if rest is not None:
        k = nodes.index(rest)
        found[k:k] = [(rest, slice(None))] * (rank - taken)
    return found


def _place(read: Evaluator, node: ast.expr) -> Value:
    """An item of a subscript; a list that is written there is an array of indices."""
    value = read.value(node)
    return read.caller.table(value, None, node) if isinstance(node, ast.List) and isinstance(value, tuple) else value


def row(read: Evaluator, array: Array, index: Number, node: ast.AST) -> Value:
    """The element or part of an array at an index of its first dimension."""
    part = at_row(read, array, index, node)
    return part if part.shape else read.element(part, (), node)


def at_row(read: Evaluator, array: _Part, index: Number, node: ast.AST) -> _Part:
    """The part of an array at an index of its first dimension, also where that is an element."""
    index = _index(read, index, array.shape[0], node)
    return _cut(read, array, [index if len(array.shape) == 1 else _settled(read, index, node)], node)


def _cut(read: Evaluator, array: _Part, items: Sequence[Number | slice | None], node: ast.AST) -> _Part:
    slicing = Slicing(read.source, read.numbers, lambda a, b: read.program.at_most(a, b, read.numbers.typer))
    return slicing.cut(array.shape, items, node).of(array)


def _settled(read: Evaluator, value: Number, node: ast.AST) -> Number:
    """An index or bound of a view, which later stores do not change."""
    needs_value(read, value)
    return value if read.program.conditional else read.program.frozen("at", value, read.source.span(node))


def _gathered(read: Evaluator, array: Array, places: Sequence[tuple[ast.expr, Value | slice]], node: ast.AST) -> Array:
    """`A[rows]`, `A[rows, columns]`, `A[:, columns]`: elements at places in arrays that are broadcast together."""
    own = [k for k, (_, v) in enumerate(places) if not isinstance(v, slice)]
    if own != [*range(own[0], own[-1] + 1)] or any(isinstance(v, Named) for _, v in places):
        hint = "loop over its elements"
        raise read.error("unsupported", f"`{shown(node)}` has arrays and parts in turns as indices", node, hint)
    items = [(part, v) for part, v in places if not isinstance(v, slice)]
    for part, value in items:
        dtype = read.dtype_of(value, part) if isinstance(value, (View, Elementwise)) else None
        if dtype is DType.BOOL:
            hint = "select along the first dimensions alone, as in A[truths] or A.T[truths]"
            raise read.error("unsupported", f"`{shown(part)}` is an array of truths, which is no index", part, hint)
    shape = broadcast_shape([v.shape for _, v in items if isinstance(v, (View, Elementwise))], read.source, node)
    kept = _cut(read, array, [v if isinstance(v, slice) else slice(None) for _, v in places], node)
    first, after = own[0], own[0] + len(shape)

    def place(indices: Indices) -> Indices:
        found: list[Number] = []
        for k, (part, value) in enumerate(items, first):
            if isinstance(value, (View, Elementwise)):
                value = read.element(value, broadcast_index(value.shape, indices[first:after]), part)
            found.append(_index(read, _whole_number(read, value, part), kept.shape[k], part))
        return (*indices[:first], *found, *indices[after:])

    return viewed(kept, (*kept.shape[:first], *shape, *kept.shape[first + len(items) :]), place)


def _is_axis(node: ast.expr) -> bool:
    """Whether an item of a subscript is no index."""
    return _is_ellipsis(node) or _is_none(node) or isinstance(node, ast.Slice)


def _is_none(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    return isinstance(node, ast.Attribute) and node.attr == "newaxis"


def _whole_number(read: Evaluator, value: Value, node: ast.expr) -> Number:
    number = read.as_number(value, node)
    kind = read.numbers.dtype_of(number)
    if not kind.is_integer:
        hint = "compare and branch instead" if kind is DType.BOOL else "convert it with int(...)"
        raise read.error("dtype-mismatch", f"an index must be an integer, found {kind}", node, hint)
    return number


def needs_value(read: Evaluator, value: Number) -> None:
    """Start again with the numbers of parameters in a value, where it decides about shapes and loops."""
    expr = expr_of(value)
    given, used = read.program.given, free_vars(expr) if expr is not None else ()
    names = frozenset(given[v.name] for v in used if v.name in given)
    if names:
        raise NeedsValue(names)


def _needs_range(read: Evaluator, index: Number, extent: Number, node: ast.AST) -> None:
    """Start again with what an index needs of a parameter: that it is known to be on one side of each of the ends
    of a dimension, from either end, or, where that is not all, its value."""
    typer = read.numbers.typer
    last, least = (read.numbers.binary("sub", *pair, node) for pair in ((extent, 1), (0, extent)))
    for low, high in ((0, last), (least, -1)):
        if read.program.at_most(low, index, typer) and read.program.at_most(index, high, typer):
            return
    expr = expr_of(index)
    given = read.program.given
    terms = {} if expr is None else polynomial(expr)
    for var, (lowest, most) in read.program.ranges.items():
        if isinstance(extent, int) and var.name in given and terms.keys() <= {(), (var,)} and terms.get((var,)) == 1:
            cuts = tuple(c - terms.get((), 0) for c in (-extent, 0, extent))
            if any(lowest < c <= most for c in cuts):
                raise NeedsRange(given[var.name], cuts)
    needs_value(read, index)


def _index(read: Evaluator, value: Number, extent: Number, node: ast.AST) -> Number:
    """An index as the loop IR has it: Python counts negative ones from the end."""
    if isinstance(value, int):
        if isinstance(extent, int) and not -extent <= value < extent:
            message = f"index {value} is outside of a dimension of size {extent}"
            raise read.error("out-of-bounds", message, node)
        return read.numbers.binary("add", extent, value, node) if value < 0 else value
    _needs_range(read, value, extent, node)
    if read.program.at_most(0, value, read.numbers.typer):
        return value
    if isinstance(value, Expr) and not value.dtype.is_signed:
        return value
    moved = read.numbers.binary("add", value, extent, node)
    if read.program.at_most(value, -1, read.numbers.typer):
        return moved
    index, other = expr_of(value), expr_of(moved)
    assert index is not None and other is not None
    if index.dtype is not other.dtype:
        index = read.numbers.convert(index, DType.INT64, node)
        other = read.numbers.convert(other, DType.INT64, node)
    negative = Binary("lt", index, const(0, index.dtype), read.source.span(node))
    high = interval_of(value)[1]
    chosen = Select(negative, other, index, read.source.span(node))
    return Weak(chosen, 0, high) if isinstance(value, Weak) and high is not None else chosen


def place(read: Evaluator, view: View, indices: Indices) -> tuple[Expr, ...]:
    """The indices of the buffer for those of a view."""
    node = ast.Pass()
    found = [read.numbers.natural(i, node) for i in view.place(indices)]
    return tuple(found)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
