"""Tuples and lists of plain Python programs: items by place, values that are taken apart, and what they refuse."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ir.arith import shortest
from ir.dtypes import DType, array_dtype
from ir.nodes import Expr, Var, const
from ir.printing.printer import to_script
from ir.script.plain.arrays import Elementwise, View, is_number, same, shown_shape, whole
from ir.script.plain.frames import Value, shown
from ir.script.plain.program import Stands, columns_of, kept_in
from ir.script.plain.promotion import Number, Weak, interval_of
from ir.script.plain.syntax.lists import OF_LISTS

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

MAX_ITEMS = 64  # of a tuple that a loop runs over, written out one after the other


class Items(tuple[Value, ...]):
    """A list that is written out: also without items it is another object than the next one."""

    arms: tuple[Value, ...] = ()  # the lists that it may be one of


class Record(tuple[Value, ...]):
    """A tuple whose items have names, as those of a class of Python have."""

    kind: type


def of_kind(kind: type | None, items: Iterable[Value]) -> tuple[Value, ...]:
    """A record of a class, or where there is none, a tuple."""
    if kind is None:
        return tuple(items)
    found = Record(items)
    found.kind = kind
    return found


def kind_of(read: Evaluator, value: Value) -> type | None:
    """The class of a record; None for other values."""
    if isinstance(value, Record):
        return value.kind
    return items_kind(read, value) if of_tuple(read, value) else None


def items_kind(read: Evaluator, value: Value) -> type | None:
    """The class of the records in a list; None for other values."""
    stands = read.program.listed.get(value.buffer) if isinstance(value, View) else None
    return None if stands is None else stands.kind


def alike_list(value: tuple[Value, ...], items: tuple[Value, ...]) -> tuple[Value, ...]:
    """Items in place of those of a tuple or list, as one of the same kind."""
    if isinstance(value, Record):
        return of_kind(value.kind, items)
    if not isinstance(value, Items):
        return items
    found = Items(items)
    found.arms = value.arms
    return found


def stands_for_list(read: Evaluator, value: Value) -> bool:
    """Whether a value is a list, or a list in one, of which there is an array."""
    return depth_of(read, value) > 0


def depth_of(read: Evaluator, value: Value) -> int:
    """How many dimensions of a value are those of lists, or of lists in lists, of which there is an array."""
    stands = read.program.listed.get(value.buffer) if isinstance(value, View) else None
    if stands is None or not isinstance(value, View):
        return 0
    return max(0, min(len(value.shape), stands.depth - (len(value.buffer.shape) - len(value.shape))))


def nested(read: Evaluator, node: ast.Call) -> View | None:
    """The list of lists that `tolist` makes of an array of several dimensions."""
    array = read.value(node.args[0]) if getattr(node, OF_LISTS, False) else None
    if not isinstance(array, (View, Elementwise)) or len(array.shape) < 2:
        return None
    return read.caller.as_list([array], node, len(array.shape))


def of_tuple(read: Evaluator, value: Value) -> int:
    """How many numbers a value is, if it is a tuple in a list, the place of which other items may take; else 0."""
    stands = read.program.listed.get(value.buffer) if isinstance(value, View) else None
    if stands is None or not stands.of_tuples or not isinstance(value, View):
        return 0
    return value.shape[0] if len(value.shape) == 1 and isinstance(value.shape[0], int) else 0


def check_no_list(read: Evaluator, values: Sequence[Value], node: ast.AST) -> None:
    """Refuse operators of lists, which mean other things than those of arrays."""
    if any(stands_for_list(read, value) for value in values):
        hint = "make arrays of lists first, as in np.array(x), or loop over the items"
        raise read.error("dtype-mismatch", "an operator of a list", node, hint)


def lists_in(read: Evaluator, value: Value) -> bool:
    """Whether a value is a list of lists."""
    return depth_of(read, value) > 1


def check_own_rows(read: Evaluator, value: Value, node: ast.AST) -> None:
    """Refuse another list of the same lists: what is stored to a row of one would change the other's.

    Nobody stores to tuples.
    """
    stands = read.program.listed.get(value.buffer) if isinstance(value, View) else None
    if lists_in(read, value) and not (stands is not None and stands.of_tuples and stands.depth == 2):
        hint = "copy the rows too, as in [row[:] for row in x]"
        raise read.error("unsupported", "rows of a copy of a list of lists are the same lists", node, hint)


def check_new_item(read: Evaluator, value: Value, node: ast.AST) -> None:
    """Refuse an item of a list that is a list or array with another name: what is stored to one would change both."""
    bindings = read.frame.bindings.values()
    if not isinstance(value, View) or not value.shape:
        return
    if not value.whole or any(isinstance(b, View) and b.buffer == value.buffer for b in bindings):
        hint = "copy it, as in x[:], or swap items one by one"
        raise read.error("unsupported", "an item that is a list, and has another name too", node, hint)


def check_alone(read: Evaluator, name: str, items: tuple[Value, ...], node: ast.AST) -> None:
    """Refuse to change a list that is written out where it has another name, or is in a list or tuple: they stand for
    the items that there were."""
    others = [b for n, b in read.frame.bindings.items() if n != name]
    lists = [v for v in _lists_of(items) if v or isinstance(v, Items)]
    if any(_holds(other, one) for other in (*others, *read.frame.given) for one in lists):
        hint = f"write {name} = {name} + ... for a tuple, or a list of its own; copy it first where it is a list"
        raise read.error("unsupported", f"`{name}` changes in place, and has another name", node, hint)


def _lists_of(items: Value) -> tuple[Value, ...]:
    """A list with those that it may be one of."""
    return (items, *(v for arm in items.arms for v in _lists_of(arm))) if isinstance(items, Items) else (items,)


def _holds(value: object, items: Value) -> bool:
    if value is items:
        return True
    arms = value.arms if isinstance(value, Items) else ()
    return isinstance(value, tuple) and any(_holds(v, items) for v in (*value, *arms))  # pyright: ignore[reportUnknownVariableType]


def check_item(read: Evaluator, row: View, value: Value, node: ast.Subscript, stmt: ast.AST) -> None:
    """Refuse an item of a list that has another name, and one in the place of an item that a name, which is read later,
    stands for."""
    if not row.shape or row.buffer not in read.program.listed or isinstance(node.slice, ast.Slice):
        return
    check_new_item(read, value, node)
    for name, bound in read.frame.bindings.items():
        if not isinstance(bound, View) or bound.buffer != row.buffer or bound.whole or not bound.shape:
            continue
        other = len(bound.shape) == len(row.shape) and read.program.differ(_place(read, bound), _place(read, row))
        if not other and _read_after(read.frame.nodes, name, node, stmt):
            hint = f"copy it first, as in {name} = x[i][:]"
            raise read.error("unsupported", f"`{name}` stands for the item that is replaced here", node, hint)


def _read_after(nodes: Sequence[ast.stmt], name: str, node: ast.expr, stmt: ast.AST) -> bool:
    """Whether a name may be read after a place in a statement, and before it is given another value.

    Loops around the place that give it no value may read it in their next step.
    """
    last = stmt if isinstance(stmt, (ast.stmt, ast.expr)) else node
    end = (last.end_lineno or last.lineno, last.end_col_offset or last.col_offset)
    parts = [part for stmt in nodes for part in ast.walk(stmt)]
    names = [p for p in parts if isinstance(p, ast.Name) and p.id == name]
    loads = [p for p in names if isinstance(p.ctx, ast.Load)]
    around = [p for p in parts if isinstance(p, (ast.For, ast.While)) and _within(node, p)]
    steady = [p for p in around if all(n in loads or not _within(n, p) for n in names)]
    return any((p.lineno, p.col_offset) >= end or any(_within(p, loop) for loop in steady) for p in loads)


def _within(part: ast.expr, loop: ast.For | ast.While) -> bool:
    return (loop.lineno, loop.col_offset) <= (part.lineno, part.col_offset) <= (loop.end_lineno or 0, 1 << 30)


def traded(read: Evaluator, targets: Sequence[View | None], items: Sequence[Value], node: ast.AST) -> list[Value]:
    """Items that take each other's places in lists, copied before any of them is stored; others as they are."""
    there = [k for k, (t, v) in enumerate(zip(targets, items, strict=True)) if t is not None and isinstance(v, View)]
    old = [_spelled(read, items[k]) for k in there]
    new = [_spelled(read, targets[k]) for k in there]
    if sorted(old) != sorted(new):
        return [*items]
    return [read.caller.copied(v, node) if k in there and isinstance(v, View) else v for k, v in enumerate(items)]


def _spelled(read: Evaluator, value: Value | None) -> str:
    assert isinstance(value, View)
    return f"{value.buffer.name}[{', '.join(map(to_script, _place(read, value)))}]"


def _place(read: Evaluator, view: View) -> tuple[Expr, ...]:
    """Where elements of a view are, in the same names for all views of as many dimensions."""
    axes = (Var(f"_{k}", DType.INT32) for k in range(len(view.shape)))
    return read.place(view, tuple(Weak(axis, 0, DType.INT32.max >> 1) for axis in axes))


def item_of(read: Evaluator, items: tuple[Value, ...], index: ast.expr, node: ast.AST) -> Value:
    """The item, or items, of a tuple that a subscript names; numbers may be looked up at any place.

    Raises:
        ParseError: the place is not known, or none of the tuple.
    """
    if isinstance(index, ast.Slice):
        parts = [None if p is None else read.number(p) for p in (index.lower, index.upper, index.step)]
        if all(p is None or isinstance(p, int) for p in parts):
            return (*items[slice(*parts)],)  # pyright: ignore[reportArgumentType, reportCallIssue] - a list of its own
        hint = "make an array of it, as in np.array([...])"
        raise read.error("rank", f"the bounds of `{shown(node)}` must be numbers that are known", node, hint)
    return item_at(read, items, read.number(index), node)


def item_at(read: Evaluator, items: tuple[Value, ...], k: Number, node: ast.AST) -> Value:
    """The item of a tuple at a place."""
    if isinstance(k, int) and -len(items) <= k < len(items):
        return items[k]
    if items and not isinstance(k, (int, float)) and (table := _constants(read, items, node)) is not None:
        return read.row(table, k, node)
    if items and not isinstance(k, (int, float)) and all(map(is_number, items)):
        return _looked_up(read, items, k, node)
    hint = "make an array of it, as in np.array([...])"
    raise read.error("rank", f"the index of `{shown(node)}` must be a number below {len(items)}", node, hint)


def _constants(read: Evaluator, items: tuple[Value, ...], node: ast.AST) -> View | None:
    """A table of Python numbers that are known, or of rows of such, which are of one length; None for others."""
    flat: list[tuple[tuple[int, ...], Number]] = []
    shape = collected(items, (), flat)
    numbers = [v for _, v in flat if isinstance(v, (bool, int, float))]
    if shape is None or len(numbers) < len(flat) or len({isinstance(v, bool) for v in numbers}) > 1:
        return None
    told = columns_of(shape) != (None,)
    held = f"{shape} {numbers}"
    key = (read.frame.path, held)
    columns = [place[-1] if told else None for place, _ in flat]
    kinds = [read.program.learned.assign(key, v, read.numbers, node, k) for v, k in zip(numbers, columns, strict=True)]
    kind = kinds[-1]
    dtype = kept_in(kind)
    values = [const(float(v) if dtype.is_float else v, dtype) for v in numbers]
    buffer = read.program.table(held, shape, dtype, values)
    read.program.listed[buffer] = Stands(key, len(shape))
    return whole(buffer, shape)


def outer_table(read: Evaluator, array: np.ndarray, node: ast.AST) -> View | None:
    """A table of what a small array of outside holds; None for other arrays."""
    dtype = array_dtype(array.dtype.name)
    if dtype is None or dtype.is_complex or not 0 < array.size <= MAX_ITEMS or not array.ndim:
        return None
    values = [const(shortest(v, dtype) if dtype.is_float else v, dtype) for v in array.ravel().tolist()]
    return whole(read.program.table(f"{dtype} {array.tolist()}", array.shape, dtype, values), array.shape)


def collected(
    value: Value, place: tuple[int, ...], found: list[tuple[tuple[int, ...], Number]]
) -> tuple[int, ...] | None:
    """The shape of nested rows, whose numbers are added to `found`; None where rows differ."""
    if is_number(value):
        found.append((place, value))  # pyright: ignore[reportArgumentType]
        return ()
    if not isinstance(value, tuple) or not value:
        return None
    shapes = {collected(item, (*place, k), found) for k, item in enumerate(value)}
    inner = shapes.pop()
    return None if shapes or inner is None else (len(value), *inner)


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
