"""Comparisons in plain Python programs: of numbers, of arrays element by element, and of what is only looked at."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ir.nodes import Binary, BinaryOp, Expr
from ir.script.expressions import COMPARE
from ir.script.plain.arrays import View, is_number
from ir.script.plain.frames import Maybe, Named, Value, shown
from ir.script.plain.library import names as library
from ir.script.plain.library.dictionaries import dictionary_of, is_key
from ir.script.plain.library.ordered import equal, same_items
from ir.script.plain.promotion import Number
from ir.script.plain.tuples import alike_list, check_no_list

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator


def compared(read: Evaluator, node: ast.Compare) -> Value:
    """A comparison, or several in a row."""
    first = read.value(node.left)
    found: Value | None = None
    facts = len(read.program.facts)
    for op, right in zip(node.ops, node.comparators, strict=True):
        cond = found if isinstance(found, Expr) else None
        ends = _ends_of_range(read, right) if isinstance(op, (ast.In, ast.NotIn)) and is_number(first) else None
        if ends is not None and read.numbers.dtype_of(read.as_number(first, node)).is_integer:
            second, part = first, _in_range(read, read.as_number(first, node), ends, isinstance(op, ast.In), node)
        else:
            second = read.under(cond, True, lambda right=right: read.value(right), node)
            part = _comparison(read, op, first, second, node)
        if found is None:
            found = part
        elif isinstance(found, bool):
            found = part if found else False
        else:
            found = read.lifted(lambda v: read.numbers.binary("bitand", v[0], v[1], node), [found, part], node)
        if isinstance(part, Expr):
            read.grant(part, True)
        first = second
    del read.program.facts[facts:]
    assert found is not None
    return found


def _ends_of_range(read: Evaluator, node: ast.expr) -> tuple[Number, Number, int] | None:
    """Start, stop and step of a range that is written out, whose step is known."""
    if not isinstance(node, ast.Call) or node.keywords or not 1 <= len(node.args) <= 3:
        return None
    called = read.value(node.func) if isinstance(node.func, ast.Name) else None
    if not isinstance(called, Named) or called.value is not range:
        return None
    parts = [read.number(a) for a in node.args]
    start, stop, *step = (0, *parts) if len(parts) == 1 else parts
    known = step[0] if step else 1
    whole = all(read.numbers.dtype_of(p).is_integer for p in parts)
    return (start, stop, known) if whole and isinstance(known, int) and known else None


def _in_range(read: Evaluator, x: Number, ends: tuple[Number, Number, int], wanted: bool, node: ast.expr) -> Value:
    """Whether an integer is in a range."""
    start, stop, step = ends
    two = read.numbers.binary
    low, high = ("ge", "lt") if step > 0 else ("le", "gt")
    found = two("bitand", two(low, x, start, node), two(high, x, stop, node), node)
    if abs(step) > 1:
        by = two("floormod", two("sub", read.numbers.integer(x, node), start, node), step, node)
        found = two("bitand", found, two("eq", by, 0, node), node)
    return found if wanted else _negated(read, found, node)


def _comparison(read: Evaluator, op: ast.cmpop, a: Value, b: Value, node: ast.expr) -> Value:
    if isinstance(op, (ast.Is, ast.IsNot)):
        if isinstance(b, Named) and b.value is None:
            if isinstance(a, Named) and isinstance(a.value, Maybe):
                return a.value.absent if isinstance(op, ast.Is) else _negated(read, a.value.absent, node)
            absent = isinstance(a, Named) and a.value is None
            return absent is isinstance(op, ast.Is)
        raise read.error("unsupported", f"the comparison `{shown(node)}`", node, "write == or !=")
    if isinstance(op, (ast.In, ast.NotIn)):
        return _membership(read, a, b, isinstance(op, ast.In), node)
    name = COMPARE[type(op)]
    if isinstance(a, tuple) and isinstance(b, tuple):
        return ordered_tuples(read, name, a, b, node)
    a, b = (read.as_number(v, node) if isinstance(v, Named) and isinstance(v.value, Maybe) else v for v in (a, b))
    named = isinstance(a, (Named, tuple)), isinstance(b, (Named, tuple))
    if name in ("eq", "ne") and any(named) and (all(named) or is_number(a) or is_number(b)):
        return _same_objects(a, b) is (name == "eq")
    if name in ("eq", "ne") and (same := equal(read, a, b, node)) is not None:
        return same if name == "eq" else _negated(read, same, node)
    check_no_list(read, (a, b), node)
    return read.lifted(lambda v: read.numbers.binary(name, v[0], v[1], node), [a, b], node)


def ordered_tuples(
    read: Evaluator, name: BinaryOp, a: tuple[Value, ...], b: tuple[Value, ...], node: ast.expr
) -> bool | Expr:
    """A comparison of tuples: by the first items that differ, else by their lengths."""
    found = read.numbers.binary(name, len(a), len(b), node) is True
    pairs = [*zip(a, b, strict=False)]
    if name in ("eq", "ne"):
        pairs = pairs if len(a) == len(b) else []
        for x, y in reversed(pairs):
            found = _both("and" if name == "eq" else "or", _of_items(read, name, x, y, node), found, node, read)
        return found
    strict: BinaryOp = "lt" if name in ("lt", "le") else "gt"
    for x, y in reversed(pairs):
        rest = _both("and", _of_items(read, "eq", x, y, node), found, node, read)
        found = _both("or", _of_items(read, strict, x, y, node), rest, node, read)
    return found


def greatest(read: Evaluator, better: Literal["lt", "gt"], tuples: Sequence[Value], node: ast.expr) -> Value:
    """The first of several tuples of numbers than which no other one is `better`."""
    found, *others = (t for t in tuples if isinstance(t, tuple))
    for other in others:
        if len(other) != len(found):
            hint = "compare them by `if` and `else`"
            raise read.error("unsupported", "tuples of different lengths, of which data choose one", node, hint)
        take = ordered_tuples(read, better, other, found, node)
        pairs = [(read.as_number(x, node), read.as_number(y, node)) for x, y in zip(other, found, strict=True)]
        found = alike_list(found, tuple(read.numbers.select(take, x, y, node) for x, y in pairs))
    return found


def _of_items(read: Evaluator, name: BinaryOp, a: Value, b: Value, node: ast.expr) -> bool | Expr:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return ordered_tuples(read, name, a, b, node)
    if is_number(a) and is_number(b):
        found = read.numbers.binary(name, read.as_number(a, node), read.as_number(b, node), node)
        return found if isinstance(found, bool) else read.numbers.truth(found, node)
    if name in ("eq", "ne") and isinstance(a, (Named, tuple)) | isinstance(b, (Named, tuple)):
        return _same_objects(a, b) is (name == "eq")
    raise read.error("unsupported", f"the comparison `{shown(node)}`", node, "compare item by item")


def _both(op: Literal["and", "or"], a: bool | Expr, b: bool | Expr, node: ast.expr, read: Evaluator) -> bool | Expr:
    """`and` or `or` of truths, of which some are known."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, bool):
            return other if one is (op == "and") else one
    assert isinstance(a, Expr) and isinstance(b, Expr)
    return Binary(op, a, b, read.source.span(node))


def _membership(read: Evaluator, a: Value, b: Value, wanted: bool, node: ast.expr) -> Value:
    """Whether a number is one of those in a tuple or array, or of the keys of a dictionary."""
    if (keyed := dictionary_of(b)) is not None:
        known = is_key(read, a, keyed, node)
        return known if wanted else _negated(read, known, node)
    if isinstance(b, View) and b.shape and b.shape[0] == 0:
        return not wanted
    equal = same_items(read, a, b, node)
    if equal is not None:
        there: Number = read.as_number(read.caller.reduce("any", equal, None, node), node)
        return there if wanted else _negated(read, there, node)
    if isinstance(a, Named) and isinstance(b, Named) and isinstance(a.value, str) and isinstance(b.value, str):
        return (a.value in b.value) is wanted
    if isinstance(b, tuple) and not all(map(is_number, (a, *b))):
        known: bool | Expr = False
        for item in b:
            known = _both("or", known, _of_items(read, "eq", a, item, node), node, read)
        return known if wanted else _negated(read, known, node)
    if not isinstance(b, tuple):
        hint = "compare with each, as in `x == 1 or x == 2`, or loop over the elements"
        raise read.error("unsupported", f"the comparison `{shown(node)}`", node, hint)
    found: Number = False
    for item in b:
        equal = read.numbers.binary("eq", read.as_number(a, node), read.as_number(item, node), node)
        found = equal if found is False else read.numbers.binary("bitor", found, equal, node)
    return found if wanted else _negated(read, found, node)


def _negated(read: Evaluator, found: Number, node: ast.expr) -> Number:
    return (
        not found if isinstance(found, bool) else read.numbers.typer.unary("not", read.numbers.truth(found, node), node)
    )


def _same_objects(a: Value, b: Value) -> bool:
    if isinstance(a, Named) and isinstance(b, Named):
        kinds = library.dtype_named(a.value), library.dtype_named(b.value)
        return kinds[0] is kinds[1] if None not in kinds else bool(a.value == b.value)
    return False
