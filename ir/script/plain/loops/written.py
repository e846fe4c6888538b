"""Loops of plain Python programs as loops of a program: over items, steps that a condition bounds, or written out."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import For, Stmt, seq
from ir.script.plain.loops.counting import HINT, Counting, Ending
from ir.script.plain.loops.growing import check_steady, counted_after, counted_before, marked_in, steps_of
from ir.script.plain.loops.iterables import Items, named_by
from ir.script.plain.loops.turns import at_step, carry_in, resized_step, rotated, states_of
from ir.script.plain.program import Again
from ir.script.plain.promotion import Number, Weak, interval_of
from ir.script.plain.tuples import MAX_ITEMS
from ir.traverse import buffers_written

if TYPE_CHECKING:
    from ir.script.plain.statements import Body


def written(body: Body, node: ast.For) -> None:
    """Write a loop of a function; one over few items that are known is written out."""
    if isinstance(node.iter, Ending):
        _while(body, node, node.iter)
        return
    items = body.iterables.of(node.iter)
    if items.listed or body.key_of(node) in body.program.learned.each:
        assert isinstance(items.count, int)
        for k in range(items.count):
            body.open_cells(node.body)
            body.assign(node.target, body.iterables.step(items, k, node.iter), node.target)
            body.statements(node.body)
        return
    before = len(body.program.lines.done)
    _loop(body, node, items)
    if isinstance(node.iter, Counting) and buffers_written(seq(*body.program.lines.done[before:])) & items.fixed:
        message = f"`{node.iter.text}` is not supported: its body changes what it counts to"
        raise body.read.error("unsupported", message, node.iter, HINT)


def _while(body: Body, node: ast.For, ending: Ending) -> None:
    """A loop that states no bound: step by step where its condition is known, else as often as is found."""
    key = body.key_of(node)
    if key not in body.program.learned.measured and body.whiles.decided(ending):
        for k in range(MAX_ITEMS):
            body.open_cells(node.body)
            body.assign(node.target, k, node.target)
            body.statements(node.body)
            left = body.whiles.left(ending)
            if left is True:
                return
            if left is None or not body.whiles.decided(ending):
                break  # before a step that may not run, of numbers that it would be refused for
        body.program.learned.measured.add(key)
        raise Again
    entry = body.whiles.entry()
    _loop(
        body,
        node,
        body.whiles.items(),
        lambda step: body.whiles.steps(ending, step, entry, lambda: marked_in(body, step)),
    )


def _loop(body: Body, node: ast.For, items: Items, steps: Callable[[Stmt], Number] | None = None) -> None:
    """A loop over items, or over as many `steps` as its body turns out to need."""
    numbers, span = body.frame.numbers, body.source.span(node.iter)
    count, first = items.count, items.first
    if isinstance(count, int) and count <= 0:
        return
    runs = (interval_of(count)[0] or 0) > 0
    dtype = max((numbers.dtype_of(v) for v in (first, count)), key=lambda d: d.bits)
    dtype = DType.INT64 if not dtype.is_signed else dtype
    name = named_by(node.target, items.variable)
    entry = body.frame.assigned
    fixed = count if steps is None else None
    at_step(body, node, fixed, 0)
    carry_in(body, node)
    before = counted_before(body)
    with body.program.nested():
        begin, extent = numbers.convert(first, dtype, node.iter), numbers.convert(count, dtype, node.iter)
        head = body.program.loop(name, begin, extent, span)
        index = Weak(head.var, *items.reach)
        since = index if isinstance(first, int) and first == 0 else numbers.binary("sub", index, first, node.iter)
        at_step(body, node, fixed, since)
        given, there = body.bound_arrays(), [*body.frame.bindings.values()]
        with steps_of(body, node, fixed, since):
            step = resized_step(body, node, lambda: items.item(index))
        moved = states_of(body, node, lambda: items.item(index), given, there)
    if steps is not None:
        items = replace(items, count=steps(step))
        head = replace(head, extent=numbers.convert(items.count, dtype, node.iter))
    appends = any(growing.appended for growing, _ in before)
    counted_after(body, before, items.count, node, step)
    if moved is not None:
        check_steady(body, node, appends)
        rotated(body, node, items, name, moved)
        return
    at_step(body, node, fixed, count)
    if not runs:
        body.frame.assigned = entry
    body.program.emit(For(head.var, head.start, head.extent, step, span=span))
