"""Python's `sorted`, and operators of lists that arrays stand for."""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ir.nodes import Expr
from ir.script.plain.arrays import Array, Elementwise, Indices, View, is_number
from ir.script.plain.frames import Value
from ir.script.plain.library.arguments import arguments, keyword
from ir.script.plain.program import Again
from ir.script.plain.promotion import Number
from ir.script.plain.tuples import Items, items_kind, lists_in, stands_for_list

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

_ITEM = "_item"
_TUPLES = ("zip", "enumerate")  # which give tuples
_PLACES = "sort the places, as in `for k in sorted(range(len(x)), key=lambda k: x[k]):`"


def ordered(read: Evaluator, call: ast.Call, node: ast.Call) -> Value:
    """`sorted(items, key=f, reverse=True)`: a list; equal items keep their order."""
    (given,) = arguments(read, call, "sorted", 1, 1, ("key", "reverse"))
    rank, reverse = keyword(call, "key"), keyword(call, "reverse")
    falls = reverse is not None and read.condition(reverse)
    if not isinstance(falls, bool):
        raise read.error("unsupported", "whether the order is reversed depends on data", node, "write `if` and `else`")
    items, of_tuples = _items(read, given, node)
    if rank is None and len(items.shape) == 1:
        return read.caller.as_list([_array(read.caller.of_library("sorted", [items, falls], node))], node)
    if rank is None and not (of_tuples and len(items.shape) == 2):
        raise read.error("unsupported", "the order of rows", node, f"give a key, or {_PLACES}")
    ranks = items
    if rank is not None:
        ranks = _listed(read, ast.Call(rank, [ast.Name(_ITEM, ast.Load())], []), given, rank)
    order = _array(_order(read, ranks, falls, node))

    def element(indices: Indices) -> Number:
        return read.item(items, (read.element(order, indices[:1], node), *indices[1:]), node)

    found = Elementwise(items.shape, element)
    kind = items_kind(read, items) or (tuple if of_tuples else None)
    return read.caller.as_list([found], node, 1 + of_tuples, kind)


def in_order(read: Evaluator, items: View, given: ast.expr, node: ast.Call) -> Array:
    """What `x.sort(key=f, reverse=True)` makes of a list: as many items as there are, also where data say how many."""
    found = _array(ordered(read, ast.Call(ast.Name("sorted"), [given], node.keywords), node))
    return replace(found, shape=items.shape)


def _order(read: Evaluator, ranks: Array, falls: bool, node: ast.Call) -> Value:
    """The order of items by numbers, or by tuples of numbers."""
    if len(ranks.shape) == 1:
        return read.caller.of_library("sorted.reverse" if falls else "np.argsort", [ranks], node)
    count = ranks.shape[1]
    assert len(ranks.shape) == 2 and isinstance(count, int)

    def column(k: int) -> Elementwise:
        return Elementwise(ranks.shape[:1], lambda i: read.element(ranks, (*i, k), node))

    keys = tuple(column(k) for k in reversed(range(count)))
    return read.caller.of_library("sorted.rows" if falls else "np.lexsort", [keys], node)


def _items(read: Evaluator, given: ast.expr, node: ast.AST) -> tuple[Array, bool]:
    """What is to be sorted, as an array, and whether items are tuples, each of which is a row."""
    tuples = isinstance(given, ast.ListComp) and isinstance(given.elt, ast.Tuple)
    called = given.func.id if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) else None
    if called is not None:
        return _listed(read, ast.Name(_ITEM, ast.Load()), given, given), called in _TUPLES
    if isinstance(given, ast.ListComp):
        found = read.caller.listed(given, items=True)
        return read.array(given) if isinstance(found, tuple) else _array(found), tuples or lists_in(read, found)
    found = read.value(given)
    if isinstance(found, tuple):
        return read.caller.table(found, None, node), all(isinstance(v, tuple) for v in found)
    return read.array(given), lists_in(read, found)


def _listed(read: Evaluator, item: ast.expr, over: ast.expr, node: ast.AST) -> Array:
    """The array of something of each item."""
    head = ast.comprehension(ast.Name(_ITEM, ast.Store()), over, [], 0)
    made = ast.ListComp(item, [head])
    for part in ast.walk(made):
        if "lineno" not in part.__dict__:
            ast.copy_location(part, node)
    return _array(read.caller.listed(made))


def _array(value: Value) -> Array:
    assert isinstance(value, (View, Elementwise))
    return value


def is_searched(read: Evaluator, owner: Value) -> bool:
    """Whether a value is a list or tuple of numbers, or a list of tuples of numbers."""
    numbers = isinstance(owner, tuple) and all(map(is_number, owner))
    return numbers or is_list(read, owner) or (stands_for_list(read, owner) and len(_array(owner).shape) == 2)


def place_of(read: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
    """`x.index(item)` and `x.count(item)`."""
    item = read.value(arguments(read, node, name, 1, 1)[0])
    same = None if is_number(item) else same_items(read, item, owner, node)
    if same is not None:
        return read.caller.of_library(f"list.{name}", [same, True], node)
    return read.caller.of_library(f"list.{name}", [owner, read.as_number(item, node)], node)


def same_items(read: Evaluator, item: Value, owner: Value, node: ast.AST) -> Elementwise | None:
    """Which elements of an array are a number, or which items of a list of tuples are a tuple; None for others."""
    if not isinstance(owner, (View, Elementwise)):
        return None
    if is_number(item):
        found = read.lifted(lambda v: read.numbers.binary("eq", v[0], v[1], node), [item, owner], node)
        assert isinstance(found, Elementwise)
        return found
    if isinstance(item, (View, Elementwise)) and lists_in(read, owner):  # an item of a list of tuples
        row = item
        if len(row.shape) == 1 and isinstance(length := row.shape[0], int):
            item = tuple(read.element(row, (k,), node) for k in range(length))
    if not (isinstance(item, tuple) and item and all(map(is_number, item))):
        return None
    _guess_tuples(read, owner, len(item))
    if not lists_in(read, owner):
        return None
    if len(owner.shape) != 2 or owner.shape[1] != len(item):
        return None
    wanted = [read.as_number(v, node) for v in item]

    def agree(indices: Indices) -> Number:
        same = [read.numbers.binary("eq", read.element(owner, (*indices, k), node), v, node)
                for k, v in enumerate(wanted)]  # fmt: skip
        return reduce(lambda a, b: read.numbers.binary("bitand", a, b, node), same)

    return Elementwise(owner.shape[:1], agree)


def _guess_tuples(read: Evaluator, owner: Array, items: int) -> None:
    """Take what a list has no item of so far to be a list of tuples, which it is compared with.

    Raises:
        Again: that is new.
    """
    stands = read.program.listed.get(owner.buffer) if isinstance(owner, View) else None
    known = read.program.learned.grown.get(stands.key) if stands is not None else None
    if known is not None and known.guessed and known.shape == ():
        known.shape, known.depth = (items,), 2
        raise Again


def is_list(read: Evaluator, value: Value) -> bool:
    """Whether a value is a list of numbers."""
    if isinstance(value, Items):
        return all(map(is_number, value))
    return stands_for_list(read, value) and not lists_in(read, value)


def joined(read: Evaluator, a: Value, b: Value, node: ast.AST) -> Value | None:
    """`a + b` of two lists, of which one is an array; None for others."""
    if not (is_list(read, a) and is_list(read, b)) or (isinstance(a, tuple) and isinstance(b, tuple)):
        return None
    parts = [read.caller.table(v, None, node) if isinstance(v, tuple) else _array(v) for v in (a, b) if v != ()]
    return read.caller.as_list(parts, node)


def repeated(read: Evaluator, a: Value, b: Value, node: ast.AST) -> Value | None:
    """`x * n` of a list of numbers that an array stands for; None for others."""
    items, times = (a, b) if stands_for_list(read, a) else (b, a)
    if isinstance(items, tuple) or not is_list(read, items) or not is_number(times):
        return None
    array, numbers, count = _array(items), read.numbers, read.as_number(times, node)
    read.needs_value(count)
    whole = numbers.binary("max", numbers.binary("mul", array.shape[0], count, node), 0, node)

    def element(i: Indices) -> Number:
        return read.element(array, (numbers.binary("floormod", i[0], array.shape[0], node), *i[1:]), node)

    return read.caller.as_list([Elementwise((whole, *array.shape[1:]), element)], node)


def equal(read: Evaluator, a: Value, b: Value, node: ast.AST) -> bool | Expr | None:
    """Whether two lists have the same items; None for what are no two lists."""
    if not (is_list(read, a) and is_list(read, b)):
        return None
    one, other = (read.caller.table(v, None, node) if isinstance(v, tuple) and v else v for v in (a, b))
    sizes = [0 if isinstance(v, tuple) else _array(v).shape[0] for v in (one, other)]
    as_long = read.numbers.binary("eq", sizes[0], sizes[1], node)
    if as_long is False or one == () or other == ():
        return as_long if isinstance(as_long, bool) else read.numbers.truth(as_long, node)
    least = sizes[0] if as_long is True else read.numbers.binary("min", sizes[0], sizes[1], node)

    def agree(i: Indices) -> Number:
        x, y = (read.element(_array(v), i, node) for v in (one, other))
        return read.numbers.binary("eq", x, y, node)

    found = read.as_number(read.caller.reduce("all", Elementwise((least,), agree), None, node), node)
    both = found if as_long is True else read.numbers.binary("bitand", as_long, found, node)
    return both if isinstance(both, bool) else read.numbers.truth(both, node)
