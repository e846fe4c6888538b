"""The one printer of array programs: nodes as Python text. Precedence is known here only; layout is the formatter's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import assert_never

from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    Comprehension,
    Conditional,
    Do,
    For,
    Function,
    Infix,
    JaxExpr,
    JaxStmt,
    Lambda,
    List,
    Literal,
    Name,
    Parameter,
    Return,
    Slice,
    Starred,
    Subscript,
    Tuple,
    Unary,
    With,
)

INDENT = "    "
# How strongly what stands outermost in an expression binds.
ATOM, POSTFIX, POWER, UNARY, PRODUCT, SUM, SHIFT, BITAND, BITXOR, BITOR, COMPARE, NOT, AND, OR, CHOICE, LOOSE = range(
    16, 0, -1
)
_STRENGTH = {
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "@": PRODUCT, "**": POWER,
    "&": BITAND, "|": BITOR, "^": BITXOR, "<<": SHIFT, ">>": SHIFT, "and": AND, "or": OR,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"), COMPARE),
}  # fmt: skip


def text_of(node: JaxExpr) -> str:
    """An expression as text."""
    return _written(node)[0]


def print_jax(body: Iterable[JaxStmt], indent: str = "") -> list[str]:
    """Statements as lines of text."""
    return [line for stmt in body for line in _lines(stmt, indent)]


# Statements ----------------------------------------------------------------------------------------------------------


def _lines(stmt: JaxStmt, indent: str) -> Iterator[str]:
    inner = indent + INDENT
    match stmt:
        case Assign(target=target, value=value):
            yield f"{indent}{_bare(target)} = {text_of(value)}"
        case Return(value=value):
            yield f"{indent}return {_bare(value)}"
        case Do(value=value):
            yield f"{indent}{text_of(value)}"
        case For(names=names, values=values, body=body):
            yield f"{indent}for {', '.join(names)} in {text_of(values)}:"
            yield from print_jax(body, inner)
        case With(context=context, body=body):
            yield f"{indent}with {text_of(context)}:"
            yield from print_jax(body, inner)
        case Function(name=name, params=params, body=body, decorators=decorators, doc=doc):
            yield from (f"{indent}@{text_of(d)}" for d in decorators)
            yield f"{indent}def {name}({', '.join(map(_parameter, params))}):"
            yield from (f"{inner}{line}" if line else "" for line in doc)
            yield from print_jax(body, inner)
            yield ""
        case other:
            assert_never(other)


def _parameter(param: Parameter) -> str:
    return param.name if param.default is None else f"{param.name}={text_of(param.default)}"


def _bare(target: JaxExpr) -> str:
    """A target or a result, several without parentheses."""
    if isinstance(target, Tuple) and len(target.items) > 1:
        return ", ".join(map(text_of, target.items))
    return text_of(target)


# Expressions ---------------------------------------------------------------------------------------------------------


def _at(node: JaxExpr, strength: int) -> str:
    """An expression for a place that binds with some strength."""
    text, own = _written(node)
    return text if own >= strength else f"({text})"


def _written(node: JaxExpr) -> tuple[str, int]:
    match node:
        case Name(id=name):
            return name, ATOM
        case Literal(value=value):
            return _literal(value), ATOM
        case Attribute(value=value, attr=attr):
            base = _at(value, POSTFIX)
            whole = isinstance(value, Literal) and isinstance(value.value, int)  # `1.real` is no attribute of 1
            return f"({base}).{attr}" if whole else f"{base}.{attr}", POSTFIX
        case Call(function=function, args=args, keywords=keywords):
            if len(args) == 1 and not keywords and isinstance(args[0], Comprehension) and not args[0].is_list:
                return f"{_at(function, POSTFIX)}{text_of(args[0])}", POSTFIX
            given = [*map(text_of, args), *(f"{name}={text_of(value)}" for name, value in keywords)]
            return f"{_at(function, POSTFIX)}({', '.join(given)})", POSTFIX
        case Subscript(value=value, items=items):
            return f"{_at(value, POSTFIX)}[{', '.join(map(text_of, items)) or '()'}]", POSTFIX
        case Slice(low=low, stop=stop, step=step):
            ends = [("" if e is None else _at(e, CHOICE)) for e in (low, stop)]
            return ":".join([*ends, *([] if step is None else [_at(step, CHOICE)])]), LOOSE
        case Tuple(items=items):
            return f"({', '.join(map(text_of, items))}{',' * (len(items) == 1)})", ATOM
        case List(items=items):
            return f"[{', '.join(map(text_of, items))}]", ATOM
        case Unary(sign="not", operand=operand):
            return f"not {_at(operand, NOT)}", NOT
        case Unary(sign=sign, operand=operand):
            return f"{sign}{_at(operand, UNARY)}", UNARY
        case Infix(sign=sign, left=left, right=right):
            strength = _STRENGTH[sign]
            if sign == "**":
                return f"{_at(left, POSTFIX)}**{_at(right, UNARY)}", POWER
            before = strength + 1 if strength == COMPARE else strength
            return f"{_at(left, before)} {sign} {_at(right, strength + 1)}", strength
        case Conditional(test=test, then=then, other=other):
            return f"{_at(then, OR)} if {_at(test, OR)} else {_at(other, CHOICE)}", CHOICE
        case Lambda(params=params, body=body):
            return f"lambda {', '.join(params)}: {_at(body, CHOICE)}" if params else f"lambda: {text_of(body)}", LOOSE
        case Comprehension(element=element, clauses=clauses, is_list=is_list):
            loops = " ".join(f"for {', '.join(c.names)} in {_at(c.values, OR)}" for c in clauses)
            text = f"{text_of(element)} {loops}"
            return f"[{text}]" if is_list else f"({text})", ATOM
        case Starred(value=value):
            return f"*{_at(value, BITOR)}", LOOSE
        case other:
            assert_never(other)


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "..." if value is ... else repr(value)
