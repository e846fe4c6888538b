"""A choice between padded operands as the padding of the choice.

Where XLA:CPU fuses a padding, it asks for each element whether it lies inside. Measured: a choice by a mask between 200
x 200 elements and a number, then the maxima of windows, take 2.3 times as long with mask and elements padded apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from lower.program.build import call, dotted
from lower.program.nodes import (
    Assign,
    Call,
    Do,
    For,
    Function,
    JaxExpr,
    JaxStmt,
    Literal,
    Return,
    Unary,
    With,
    children,
    with_children,
)

_PAD, _WHERE = dotted("jnp.pad"), dotted("jnp.where")


def padded_outside(body: Sequence[JaxStmt]) -> tuple[JaxStmt, ...]:
    """Statements in which `where(pad(mask), pad(x), number)` is `where(mask, x, number)`, padded with the number."""
    return tuple(map(_statement, body))


def _statement(stmt: JaxStmt) -> JaxStmt:
    match stmt:
        case Function(body=body) | For(body=body) | With(body=body):
            return replace(stmt, body=padded_outside(body))
        case Assign(value=value) | Return(value=value) | Do(value=value):
            return replace(stmt, value=_expression(value))


def _expression(node: JaxExpr) -> JaxExpr:
    """An expression with its choices, the inner ones first, inside of their padding."""
    old = [cast(JaxExpr, e) for e in children(node)]
    new = list(map(_expression, old))
    if any(a is not b for a, b in zip(old, new, strict=True)):
        node = cast(JaxExpr, with_children(node, new))
    match node:
        case Call(function=function, args=(Call() as mask, Call() as value, other), keywords=()) if (
            function == _WHERE
            and value.function == mask.function == _PAD
            and value.args[1:] == mask.args[1:]
            and not mask.keywords
            and _is_number(other)
        ):
            inner = call(_WHERE, mask.args[0], value.args[0], other)
            number = () if other in (Literal(0), Literal(0.0)) else (("constant_values", other),)
            return Call(_PAD, (inner, *mask.args[1:]), number)
        case _:
            pass
    return node


def _is_number(node: JaxExpr) -> bool:
    match node:
        case Literal(value=int() | float()):
            return True
        case Unary(operand=operand):
            return _is_number(operand)
        case _:
            return node == dotted("jnp.inf")
