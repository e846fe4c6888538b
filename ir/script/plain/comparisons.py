"""Comparisons in plain Python programs: of numbers, of arrays element by element, and of what is only looked at."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ir.nodes import Expr
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
    named = isinstance(a, (Named, tuple)), isinstance(b, (Named, tuple))
    if name in ("eq", "ne") and any(named) and (all(named) or is_number(a) or is_number(b)):
        return _same_objects(read, a, b, node) is (name == "eq")
    check_no_list(read, (a, b), node)
    return read.lifted(lambda v: read.numbers.binary(name, v[0], v[1], node), [a, b], node)


def _membership(read: Evaluator, a: Value, b: Value, wanted: bool, node: ast.expr) -> Value:
    """Whether a number is one of those in a tuple or array."""
    if isinstance(b, (View, Elementwise)) and is_number(a):
        equal = read.lifted(lambda v: read.numbers.binary("eq", v[0], v[1], node), [a, b], node)
        assert isinstance(equal, Elementwise)
        there = read.as_number(read.caller.reduce("any", equal, None, node), node)
        return there if wanted else read.numbers.typer.unary("not", read.numbers.truth(there, node), node)
    if not isinstance(b, tuple) or not all(map(is_number, (a, *b))):
        hint = "compare with each, as in `x == 1 or x == 2`, or loop over the elements"
        raise read.error("unsupported", f"the comparison `{shown(node)}`", node, hint)
    found: Number = False
    for item in b:
        equal = read.numbers.binary("eq", read.as_number(a, node), read.as_number(item, node), node)
        found = equal if found is False else read.numbers.binary("bitor", found, equal, node)
    if isinstance(found, bool):
        return found is wanted
    return found if wanted else read.numbers.typer.unary("not", read.numbers.truth(found, node), node)


def _same_objects(read: Evaluator, a: Value, b: Value, node: ast.expr) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        plain = (bool, int, float)
        if all(isinstance(v, plain) for v in (*a, *b)):
            return a == b
        raise read.error("unsupported", f"the comparison `{shown(node)}`", node, "compare item by item")
    if isinstance(a, Named) and isinstance(b, Named):
        kinds = library.dtype_named(a.value), library.dtype_named(b.value)
        return kinds[0] is kinds[1] if None not in kinds else bool(a.value == b.value)
    return False
