"""Text of the engine as lists. Owns nothing but the notation."""

from __future__ import annotations

import re

SExpr = str | list["SExpr"]

_TOKEN = re.compile(r'"[^"]*"|[()]|[^\s()"]+')


def parse_sexprs(text: str) -> list[SExpr]:
    """The s-expressions in a text; strings keep their quotes."""
    stack: list[list[SExpr]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0]


def sexpr_text(form: SExpr) -> str:
    """The text of an s-expression."""
    return form if isinstance(form, str) else f"({' '.join(map(sexpr_text, form))})"
