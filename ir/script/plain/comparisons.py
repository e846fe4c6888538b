"""Comparisons in plain Python programs: of numbers, of arrays element by element, and of what is only looked at."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from ir.nodes import Binary, BinaryOp, Expr
from ir.script.expressions import COMPARE
from ir.script.plain.arrays import Elementwise, View, is_number
from ir.script.plain.frames import Named, Value, shown
from ir.script.plain.library import names as library
from ir.script.plain.promotion import Number
from ir.script.plain.tuples import check_no_list

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator


def compared(read: Evaluator, node: ast.Compare) -> Value:
    """A comparison, or several in a row."""
    first = read.value(node.left)
    found: Value | None = None
    facts = len(read.program.facts)
    for op, right in zip(node.ops, node.comparators, strict=True):
        cond = found if isinstance(found, Expr) else None
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


def _comparison(read: Evaluator, op: ast.cmpop, a: Value, b: Value, node: ast.expr) -> Value:
    if isinstance(op, (ast.Is, ast.IsNot)):
        if isinstance(b, Named) and b.value is None:
            absent = isinstance(a, Named) and a.value is None
            return absent is isinstance(op, ast.Is)
        raise read.error("unsupported", f"the comparison `{shown(node)}`", node, "write == or !=")
    if isinstance(op, (ast.In, ast.NotIn)):
        return _membership(read, a, b, isinstance(op, ast.In), node)
    name = COMPARE[type(op)]
    if isinstance(a, tuple) and isinstance(b, tuple):
        return _of_tuples(read, name, a, b, node)
    named = isinstance(a, (Named, tuple)), isinstance(b, (Named, tuple))
    if name in ("eq", "ne") and any(named) and (all(named) or is_number(a) or is_number(b)):
        return _same_objects(a, b) is (name == "eq")
    check_no_list(read, (a, b), node)
    return read.lifted(lambda v: read.numbers.binary(name, v[0], v[1], node), [a, b], node)


def _of_tuples(
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


def _of_items(read: Evaluator, name: BinaryOp, a: Value, b: Value, node: ast.expr) -> bool | Expr:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return _of_tuples(read, name, a, b, node)
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
    """Whether a number is one of those in a tuple or array."""
    if isinstance(b, (View, Elementwise)) and is_number(a):
        equal = read.lifted(lambda v: read.numbers.binary("eq", v[0], v[1], node), [a, b], node)
        assert isinstance(equal, Elementwise)
        there: Number = read.as_number(read.caller.reduce("any", equal, None, node), node)
        return there if wanted else _negated(read, there, node)
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
