"""Dictionaries of plain Python programs: their keys are known, and stay; data may say which one is looked up.

Where what they stand for changes, it is kept in an array: of integer keys by their distance to the least.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ir.nodes import Expr
from ir.script.plain.arrays import Elementwise, View, is_number
from ir.script.plain.frames import Named, Value, shown
from ir.script.plain.library.arguments import arguments
from ir.script.plain.program import Stands
from ir.script.plain.promotion import Number, Weak
from ir.script.plain.syntax.lists import CHANGES
from ir.script.plain.tuples import alike_list, item_at

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

METHODS = ("keys", "values", "items", "get")
_WIDEST = 256  # from the least to the greatest integer key, where data say which one is looked up
_UNKNOWN = "keys are numbers, text or tuples of them that are known; begin with a name for {} where data say which"


class Dictionary(Struct, frozen=True, eq=False):
    """What known keys stand for, or stood for at first if an array has it."""

    items: Mapping[object, Value]
    array: View | None = None

    @property
    def reach(self) -> tuple[int, int] | None:
        """The least and the greatest of integer keys; None if there are others."""
        keys = [k for k in self.items if type(k) is int]
        return (min(keys), max(keys)) if keys and len(keys) == len(self.items) else None

    def place(self, key: object) -> int:
        """Where the array has what a key stands for."""
        return key - self.reach[0] if self.reach is not None and isinstance(key, int) else [*self.items].index(key)

    def values(self) -> tuple[Value, ...]:
        """What is at each place; anything where there is no key."""
        if self.reach is None:
            return tuple(self.items.values())
        low, high = self.reach
        return tuple(self.items.get(k, self.items[low]) for k in range(low, high + 1))


def dictionary_of(value: Value) -> Dictionary | None:
    """The dictionary that a value is, if it is one."""
    return value.value if isinstance(value, Named) and isinstance(value.value, Dictionary) else None


def written_out(read: Evaluator, node: ast.Dict) -> Value:
    """A dictionary that stands in the program; its values are those of now."""
    items: dict[object, Value] = {}
    if not node.keys:
        raise read.error("unsupported", "a dictionary that is filled later", node, _UNKNOWN)
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = dictionary_of(read.value(value))
            if inner is None:
                raise read.error("unsupported", f"`**{shown(value)}` is no dictionary", node, "write its items out")
            items.update(inner.items)
            continue
        known = _key(read.value(key))
        if known is None:
            raise read.error("unsupported", f"`{shown(key)}` is no key that is known", key, _UNKNOWN)
        items[known[0]] = _kept(read, read.value(value), value)
    found = Dictionary(items)
    return Named(Dictionary(items, _array(read, found, node)) if getattr(node, CHANGES, False) else found)


def _array(read: Evaluator, found: Dictionary, node: ast.Dict) -> View:
    """The array of what keys stand for, which are numbers."""
    span = read.source.span(node)
    stands = Stands((read.frame.path, f"items at {span}"), 1)
    _check_width(read, found, node)
    if not all(map(is_number, found.items.values())):
        raise read.error("unsupported", "items of a dictionary that change and are no numbers", node, _UNKNOWN)
    array = read.caller.table(found.values(), None, node, stands)
    assert isinstance(array, View)
    return array


def _check_width(read: Evaluator, found: Dictionary, node: ast.AST) -> None:
    if found.reach is not None and found.reach[1] - found.reach[0] >= _WIDEST:
        hint = f"keys may be integers of which the greatest is less than {_WIDEST} above the least"
        raise read.error("unsupported", "keys that are far apart", node, hint)


def _kept(read: Evaluator, value: Value, node: ast.AST) -> Value:
    """A value that later stores do not change."""
    match value:
        case tuple():
            return alike_list(value, tuple(_kept(read, v, node) for v in value))
        case Elementwise():
            return read.caller.copied(value, node)
        case _ if is_number(value):
            return read.program.frozen("value", read.as_number(value, node), read.source.span(node))
        case _:
            return value


def _key(value: Value) -> tuple[object] | None:
    """The Python object that a key is, in a tuple; None where data say it."""
    match value:
        case bool() | int() | float():
            return (value,)
        case Named(value=str() | None as text):
            return (text,)
        case tuple():
            parts = [_key(v) for v in value]
            return None if None in parts else (tuple(p[0] for p in parts if p is not None),)
        case _:
            return None


def looked_up(read: Evaluator, owner: Dictionary, index: ast.expr, node: ast.AST) -> Value:
    """`d[key]`."""
    key = read.value(index)
    known = _key(key)
    if known is None:
        return _by_data(read, owner, read.as_number(key, index), node)[0]
    if known[0] not in owner.items:
        keys = ", ".join(map(repr, [*owner.items][:8]))
        raise read.error("key", f"`{shown(node)}`: there is no such key", node, f"its keys are {keys}")
    return item_of_key(read, owner, known[0], node)


def item_of_key(read: Evaluator, owner: Dictionary, key: object, node: ast.AST) -> Value:
    """What a key stands for that is there."""
    return owner.items[key] if owner.array is None else read.row(owner.array, owner.place(key), node)


def stored_at(read: Evaluator, owner: Dictionary, index: ast.expr, node: ast.AST) -> View:
    """Where `d[key] = value` stores."""
    key = read.value(index)
    known = _key(key)
    if owner.array is None or (known is not None and known[0] not in owner.items):
        hint = "give the dictionary all of its keys in the function, where it is first assigned"
        raise read.error("not-a-buffer", f"`{shown(node)}` is not there to be stored to", node, hint)
    place = owner.place(known[0]) if known is not None else _place(read, owner, read.as_number(key, index), node)[0]
    return read.at_row(owner.array, place, node)


def _by_data(read: Evaluator, owner: Dictionary, key: Number, node: ast.AST) -> tuple[Value, Number]:
    """What a key stands for that data say, and whether it is there; elsewhere, it may be anything."""
    place, present = _place(read, owner, key, node)
    if owner.array is not None:
        return read.row(owner.array, place, node), present
    return item_at(read, owner.values(), place, node), present


def _place(read: Evaluator, owner: Dictionary, key: Number, node: ast.AST) -> tuple[Number, Number]:
    """The place of a key that data say, and whether it is there."""
    if owner.reach is None or not read.numbers.dtype_of(key).is_integer:
        hint = "all keys must be integers for that"
        raise read.error("unsupported", f"data say which key of `{shown(node)}` is looked up", node, hint)
    _check_width(read, owner, node)
    low, high = owner.reach
    there = tuple(k in owner.items for k in range(low, high + 1))
    two = read.numbers.binary
    present = two("bitand", two("ge", key, low, node), two("le", key, high, node), node)
    place = two("min", two("max", two("sub", key, low, node), 0, node), high - low, node)
    place = Weak(place.expr, 0, high - low) if isinstance(place, Weak) else place
    if not all(there):
        present = two("bitand", present, read.as_number(item_at(read, there, place, node), node), node)
    return place, present


def called(read: Evaluator, owner: Dictionary, node: ast.Call, name: str) -> Value:
    """A method of a dictionary."""
    match name:
        case "keys" | "values" | "items":
            arguments(read, node, name, 0, 0)
            keys = keys_of(read, owner, node)
            values = tuple(item_of_key(read, owner, key, node) for key in owner.items)
            return keys if name == "keys" else values if name == "values" else tuple(zip(keys, values, strict=True))
        case "get":
            given = arguments(read, node, name, 1, 2)
            default = read.value(given[1]) if len(given) > 1 else Named(None)
            key = read.value(given[0])
            known = _key(key)
            if known is not None:
                return item_of_key(read, owner, known[0], node) if known[0] in owner.items else default
            found, there = _by_data(read, owner, read.as_number(key, node), node)
            number, other = read.as_number(found, node), read.as_number(default, node)
            return read.numbers.select(there, number, other, node)
        case _:
            hint = "a dictionary is looked up here, and looped over; store into an array, with a number for each key"
            raise read.error("unsupported", f"`{shown(node)}` is not supported", node, hint)


def keys_of(read: Evaluator, owner: Dictionary, node: ast.AST) -> tuple[Value, ...]:
    """The keys of a dictionary, in their order."""
    return tuple(read.known(key, node) for key in owner.items)


def is_key(read: Evaluator, key: Value, owner: Dictionary, node: ast.AST) -> bool | Expr:
    """`key in d`."""
    known = _key(key)
    if known is not None:
        return known[0] in owner.items
    there = _by_data(read, owner, read.as_number(key, node), node)[1]
    return there if isinstance(there, bool) else read.numbers.truth(there, node)


def of_outside(read: Evaluator, value: Mapping[object, object], node: ast.AST) -> Value:
    """A dictionary of outside, as it is now."""
    return Named(Dictionary({key: read.known(item, node) for key, item in value.items()}))
