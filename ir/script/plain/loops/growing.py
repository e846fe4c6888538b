"""Lists that grow: how many items each step of a loop appends is known, so that each item has its place.

What one translation counts is where the next one stores items, and how large the array is.
"""

from __future__ import annotations

import ast
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ir.script.plain import hints
from ir.script.plain.arrays import Elementwise, View
from ir.script.plain.frames import Growing, Value
from ir.script.plain.program import Again, Grown, Stands, kept_in
from ir.script.plain.promotion import Number
from ir.script.plain.syntax.lists import Listed

if TYPE_CHECKING:
    from ir.script.plain.statements import Body


def opened(body: Body, node: Listed) -> Growing:
    """A list that is to grow, with the items that it begins with."""
    key = (body.frame.path, f"list {node.group}")
    known = body.program.learned.grown.setdefault(key, Grown())
    kind = body.program.learned.cells.get(key)
    buffer = None
    if kind is not None and known.shape is not None:
        shape = (known.size, *known.shape)
        buffer = body.arrays.array(node.group, shape, kept_in(kind), node).buffer
        body.program.listed[buffer] = Stands(key, known.depth)
    growing = Growing(key, buffer, body.program.depth, body.program.branches)
    assert isinstance(node.value, ast.List)
    for item in node.value.elts:
        append(body, growing, body.read.value(item), item)
    return growing


def append(body: Body, growing: Growing, item: Value, node: ast.expr) -> None:
    """Store an item at the end of a list.

    Raises:
        ParseError: whether that is done depends on data, or the item is no number and no row of a known length.
        Again: there is more to know of the list than so far.
    """
    if body.program.branches != growing.branches:
        raise body.read.error("shape", "how long the list becomes depends on data", node, hints.SIZED)
    learned = body.program.learned
    known = learned.grown[growing.key]
    rows = isinstance(item, tuple)
    if isinstance(item, tuple):
        item = body.read.caller.table(item, None, node)
    elif isinstance(item, View) and item.shape:
        hint = f"append a copy, as in {growing.key[1].removeprefix('list ')}.append(x.copy())"
        raise body.read.error("unsupported", "an array that changes later would change in the list too", node, hint)
    array = item if isinstance(item, (View, Elementwise)) and item.shape else None
    shape = tuple(n for n in array.shape if isinstance(n, int)) if array is not None else ()
    if array is not None and len(shape) < len(array.shape):
        raise body.read.error("shape", "the length of an item depends on loops or data", node, hints.SIZED)
    if growing.buffer is None or known.shape != shape:
        if known.shape not in (None, shape):
            raise body.read.error("shape", "items of the list have different shapes", node, hints.SIZED)
        first = body.read.element(array, tuple(0 for _ in shape), node) if array is not None else item
        learned.assign(growing.key, body.read.as_number(first, node), body.frame.numbers, node)
        known.shape, known.depth = shape, 1 + rows
        raise Again
    buffer, at = growing.buffer, growing.size
    body.store(View(buffer, shape, lambda i: (at, *i)), item, node)
    _more(body, growing, 1, body.program.depth, node)


def appended(body: Body, node: ast.Call) -> bool:
    """Whether a statement appends an item to a list that grows, which is then done."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item], keywords=[]):
            growing = body.frame.bindings.get(name)
            if isinstance(growing, Growing):
                append(body, growing, body.read.array_or(item), item)
                return True
            return False
        case _:
            return False


def check_steady(body: Body, node: ast.For) -> None:
    """Refuse a loop whose steps are written out in turn, and in which a list grows."""
    if any(body.key_of(node) in known.steps for known in body.program.learned.grown.values()):
        message = "names stand for other arrays after each step of a loop in which a list grows"
        raise body.read.error("rebinding", message, node, "copy elements instead, as in A[:] = B")


def _more(body: Body, growing: Growing, items: int, depth: int, node: ast.AST) -> None:
    """As many items more in a list of statements of some depth: the list is that long from here on."""
    growing.size = body.frame.numbers.binary("add", growing.size, items, node)
    growing.items += items
    known = body.program.learned.grown[growing.key]
    if growing.depth == depth and growing.items > known.size:
        known.size = growing.items
        raise Again


@contextmanager
def steps_of(body: Body, node: ast.For, count: Number | None, step: Number) -> Generator[None]:
    """The steps of a loop, of which this one is written: lists are as long as the steps before it have made them.

    How many steps there are is a `count`, or not known yet.
    """
    lists = [g for g in body.frame.bindings.values() if isinstance(g, Growing)]
    numbers, learned, key = body.frame.numbers, body.program.learned, body.key_of(node)
    before = [(g.size, g.items) for g in lists]
    for growing in lists:
        each = learned.grown[growing.key].steps.get(key, 0)
        since = step if each == 1 else numbers.binary("mul", step, each, node)
        empty = isinstance(growing.size, int) and growing.size == 0
        growing.size = since if empty else numbers.binary("add", growing.size, since, node)
    yield
    for growing, (size, items) in zip(lists, before, strict=True):
        added = growing.items - items
        if added and not isinstance(count, int):
            message = "how long the list becomes is not known before the loop runs"
            raise body.read.error("shape", message, node, hints.SIZED)
        if added != learned.grown[growing.key].steps.get(key, 0):
            learned.grown[growing.key].steps[key] = added
            raise Again
        growing.size, growing.items = size, items
        if added and isinstance(count, int):
            _more(body, growing, added * count, body.program.depth - 1, node)
