"""Tuples and lists of plain Python programs: items by place, values that are taken apart, and what they refuse."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ir.script.plain.arrays import Elementwise, View, is_number, same, shown_shape
from ir.script.plain.frames import Value, shown
from ir.script.plain.promotion import Number, interval_of

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

MAX_ITEMS = 64  # of a tuple that a loop runs over, written out one after the other


def stands_for_list(read: Evaluator, value: Value) -> bool:
    """Whether a value is a list, or a list in one, of which there is an array."""
    stands = read.program.listed.get(value.buffer) if isinstance(value, View) else None
    if stands is None or not isinstance(value, View):
        return False
    return bool(value.shape) and len(value.buffer.shape) - len(value.shape) < stands.depth


def check_no_list(read: Evaluator, values: Sequence[Value], node: ast.AST) -> None:
    """Refuse operators of lists, which mean other things than those of arrays."""
    if any(stands_for_list(read, value) for value in values):
        hint = "make arrays of lists first, as in np.array(x), or loop over the items"
        raise read.error("dtype-mismatch", "an operator of a list", node, hint)


def item_of(read: Evaluator, items: tuple[Value, ...], index: ast.expr, node: ast.AST) -> Value:
    """The item, or items, of a tuple that a subscript names; numbers may be looked up at any place.

    Raises:
        ParseError: the place is not known, or none of the tuple.
    """
    if isinstance(index, ast.Slice):
        parts = [None if p is None else read.number(p) for p in (index.lower, index.upper, index.step)]
        if all(p is None or isinstance(p, int) for p in parts):
            return items[slice(parts[0], parts[1], parts[2])]  # pyright: ignore[reportArgumentType, reportCallIssue]
    else:
        k = read.number(index)
        if isinstance(k, int) and -len(items) <= k < len(items):
            return items[k]
        if items and not isinstance(k, (int, float)) and all(map(is_number, items)):
            return _looked_up(read, items, k, node)
    hint = "make an array of it, as in np.array([...])"
    raise read.error("rank", f"the index of `{shown(node)}` must be a number below {len(items)}", node, hint)


def _looked_up(read: Evaluator, items: tuple[Value, ...], index: Number, node: ast.AST) -> Number:
    """The item of a tuple of numbers at a place that is known as the program runs."""
    known = [read.as_number(item, node) for item in items]
    _, weak = read.numbers.common(known, node)
    found = read.as_number(read.row(read.caller.table(items, None, node), index, node), node)
    ends = [interval_of(item) for item in known]
    lows, highs = [low for low, _ in ends if low is not None], [high for _, high in ends if high is not None]
    reach = (min(lows), max(highs)) if len(lows) == len(highs) == len(ends) else (None, None)
    return read.numbers.number(read.numbers.natural(found, node), weak, *reach)


def taken_apart(read: Evaluator, value: Value, parts: Sequence[ast.expr], node: ast.AST) -> tuple[Value, ...]:
    """As many values as there are parts of a target; one with a star gets all that are left.

    Raises:
        ParseError: there are more or fewer.
    """
    star = next((k for k, p in enumerate(parts) if isinstance(p, ast.Starred)), None)
    count = len(parts)
    size = value.shape[0] if isinstance(value, (View, Elementwise)) and value.shape else None
    if isinstance(value, (View, Elementwise)) and size is not None:
        if star is not None and isinstance(size, int) and count - 1 <= size <= MAX_ITEMS:
            value = tuple(read.row(value, k, node) for k in range(size))
        elif same(size, count):
            value = tuple(read.row(value, k, node) for k in range(count))
    if star is not None and isinstance(value, tuple) and len(value) >= count - 1:
        rest = star + 1 + len(value) - count
        value = (*value[:star], value[star:rest], *value[rest:])
    if isinstance(value, tuple) and len(value) == count:
        return value
    found = f"{len(value)} values" if isinstance(value, tuple) else "one value"
    if isinstance(value, (View, Elementwise)):
        found = f"an array of shape {shown_shape(value.shape)}"
    raise read.error("arguments", f"{count} names for {found}", node)
