"""Programs of tests, from text."""

from __future__ import annotations

from ir import PrimFunc, parse


def read(text: str) -> PrimFunc:
    """The function of a text without its decorator."""
    return parse("@T.prim_func\n" + text.strip("\n")).funcs[0]
