"""What a program rests on, in words: its assumptions and assertions with the loops and conditions around them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import cast

from ir.blocks import lower_blocks
from ir.nodes import AnyStmt, Assert, Assume, Const, For, If, Let, PrimFunc, Stmt, Unary
from ir.script.printer import to_script
from ir.traverse import has_undef, stmt_children


def assumptions_of(func: PrimFunc) -> tuple[str, ...]:
    """A line for each assumption and assertion of the program as it was written, in order."""
    return tuple(_found(lower_blocks(func.as_written).body, (), ()))


def _found(stmt: Stmt, ranges: tuple[str, ...], under: tuple[str, ...]) -> Iterator[str]:
    match cast(AnyStmt, stmt):
        case Assume(cond=cond) if has_undef(cond):
            return  # a permission, which asks nothing of the caller
        case Assume(cond=cond, span=span) | Assert(cond=cond, span=span):
            all_ = f" for all {', '.join(ranges)}" if ranges else ""
            where = f", where {' and '.join(under)}" if under else ""
            place = "" if span is None else f" ({PurePath(span.file).name}:{span.line})"
            yield f"{to_script(cond)}{all_}{where}{place}"
        case For(var=var, start=start, extent=extent, body=body):
            stop = extent if isinstance(start, Const) and start.value == 0 else start + extent
            yield from _found(body, (*ranges, f"{to_script(start)} <= {var.name} < {to_script(stop)}"), under)
        case Let(var=var, value=value, body=body):
            yield from _found(body, ranges, (*under, f"{var.name} = {to_script(value)}"))
        case If(cond=cond, then=then, other=other):
            yield from _found(then, ranges, (*under, to_script(cond)))
            yield from _found(other, ranges, (*under, to_script(Unary("not", cond))))
        case _:
            for child in stmt_children(stmt):
                yield from _found(child, ranges, under)
