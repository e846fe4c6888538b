"""Arguments of schedule steps, as primitives take them, and what is said of those that cannot be."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import cast

from ir.errors import ScheduleError
from ir.nodes import Buffer, Expr
from ir.schedule.trace import BlockRef, LoopRef


def plain(value: object) -> object:
    """Arguments as primitives take them: names instead of references."""
    if isinstance(value, tuple):
        return tuple(plain(v) for v in cast("tuple[object, ...]", value))
    return value.name if isinstance(value, (BlockRef, LoopRef)) else value


def buffer_name(buffer: object) -> str:
    """A buffer's name.

    Raises:
        ScheduleError: it is neither a buffer nor a name.
    """
    if isinstance(buffer, (str, Buffer)):
        return buffer if isinstance(buffer, str) else buffer.name
    raise ScheduleError("reference", f"{buffer!r} is no buffer", help="give a name, or what get_buffer returned")


def scope_name(scope: object) -> str:
    if isinstance(scope, str) and scope.replace(".", "_").isidentifier():
        return scope
    raise ScheduleError("scope", f"{scope!r} is no storage scope", help='give a name such as "global" or "local"')


def number(what: str, value: object) -> int | Expr:
    """A whole number or an expression, as primitives take them.

    Raises:
        ScheduleError: it is neither.
    """
    if isinstance(value, Expr):
        return value
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        pass
    raise ScheduleError("argument", f"{what} must be whole numbers or expressions, not {value!r}")


def numbers(what: str, values: object, *, open: bool = False) -> tuple[int | Expr | None, ...]:
    """A list of numbers; with `open`, None may stand for one that is to be found.

    Raises:
        ScheduleError: it is no list, or holds something else.
    """
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ScheduleError("argument", f"{what} must be a list, not {values!r}", help=f"write {what}=[...]")
    items = cast("Sequence[object]", values)
    return tuple(None if open and v is None else number(what, v) for v in items)


def integer(what: str, value: object) -> int:
    """A whole number.

    Raises:
        ScheduleError: it is none.
    """
    found = number(what, value)
    if isinstance(found, int):
        return found
    raise ScheduleError("argument", f"{what} must be a whole number, not `{found}`")
