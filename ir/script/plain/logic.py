"""`and` and `or` in plain Python programs: of conditions, and of numbers, of which Python gives one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ir.dtypes import DType
from ir.nodes import Binary, Expr, const
from ir.script.plain.frames import Named, Value

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator


class _NoTruthError(Exception):
    """An operand of `and` or `or` is a number, and no truth."""


def logical(read: Evaluator, node: ast.BoolOp, part: Callable[[ast.expr], bool | Expr]) -> bool | Expr:
    """`and` or `or` of conditions; later ones are looked at where earlier ones have not decided."""
    is_and = isinstance(node.op, ast.And)
    found: Expr | None = None
    facts = len(read.program.facts)
    read.deeper(len(node.values), node)
    try:
        for operand in node.values:
            one = read.under(found, is_and, lambda operand=operand: part(operand), node)
            if isinstance(one, bool):
                if one is not is_and:
                    return one if found is None else _joined(read, is_and, found, one, node)
                continue
            found = one if found is None else Binary("and" if is_and else "or", found, one, read.source.span(node))
            read.grant(one, is_and)
    finally:
        del read.program.facts[facts:]
        read.depth -= len(node.values)
    return is_and if found is None else found


def _joined(read: Evaluator, is_and: bool, found: Expr, one: bool, node: ast.AST) -> Expr:
    return Binary("and" if is_and else "or", found, const(one, DType.BOOL), read.source.span(node))


def deciding(read: Evaluator, node: ast.BoolOp) -> Value:
    """`and` or `or` whose result is used: a truth, or the operand that decides, which Python gives."""
    conditions = len(read.program.conditions)
    try:
        return logical(read, node, lambda operand: _truth_value(read, operand))
    except _NoTruthError:
        del read.program.conditions[conditions:]
        return _first_deciding(read, node, node.values)


def _truth_value(read: Evaluator, node: ast.expr) -> bool | Expr:
    found = read.value(node)
    if not isinstance(found, (Named, tuple)):
        found = read.as_number(found, node)
    if isinstance(found, bool) or (isinstance(found, Expr) and found.dtype is DType.BOOL):
        return found
    raise _NoTruthError


def _first_deciding(read: Evaluator, node: ast.BoolOp, values: Sequence[ast.expr]) -> Value:
    """The first operand that decides, or the last one."""
    is_and, found = isinstance(node.op, ast.And), read.value(values[0])
    if len(values) == 1:
        return found
    if isinstance(found, tuple) or (isinstance(found, Named) and (found.value is None or isinstance(found.value, str))):
        known = bool(found) if isinstance(found, tuple) else bool(found.value)
        return _first_deciding(read, node, values[1:]) if known is is_and else found
    first = read.as_number(found, values[0])
    if isinstance(first, (bool, int, float)):
        return _first_deciding(read, node, values[1:]) if bool(first) is is_and else first
    cond = read.numbers.truth(first, values[0])
    rest = read.under(cond, is_and, lambda: read.as_number(_first_deciding(read, node, values[1:]), node), node)
    return read.numbers.select(cond, *((rest, first) if is_and else (first, rest)), node)
