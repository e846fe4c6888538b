"""Buffers that a caller gives away, so that XLA updates them in place: which they may be, and what calls then owe."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ir.errors import LowerError, suggest
from ir.later import later
from ir.nodes import Buffer, PrimFunc

if TYPE_CHECKING:
    import jax
else:  # rules and forms are listed without it
    jax = later("jax")

Donate = bool | str | Iterable[str]


def donated_buffers(
    func: PrimFunc, written: Collection[Buffer], fresh: Collection[Buffer], donate: Donate
) -> tuple[Buffer, ...]:
    """The parameters to donate, in their order: those named, or for True all that are read and overwritten.

    `written` are the buffers that the function writes; `fresh` those of them that it never reads before.

    Raises:
        LowerError: a name is no parameter that the function writes.
    """
    if isinstance(donate, bool):
        given = {*written} - {*fresh} if donate else ()
        return tuple(b for b in func.buffers if b in given)
    names = [donate] if isinstance(donate, str) else list(donate)
    for name in names:
        _check(func, name, [b.name for b in written])
    return tuple(b for b in func.buffers if b.name in names)


def _check(func: PrimFunc, name: str, written: list[str]) -> None:
    if name in written:
        return
    params = [p.name for p in func.params]
    near = suggest(name, params) if name not in params else ""
    all_ = f"{func.name} writes {', '.join(written)}" if written else f"{func.name} writes no buffer"
    kind = "is no parameter of" if name not in params else "is not written by"
    message = f"`{name}` cannot be donated: it {kind} {func.name}"
    help = near or f"{all_}; only an array that becomes a result can be updated in place"
    raise LowerError("donation", message, func.span, help=help)


def check_given_away(arrays: Mapping[str, Any], donated: Collection[str]) -> None:
    """Refuse arrays that an earlier call was given, and one that is given away and used by another parameter too.

    Raises:
        LowerError: there is one such.
    """
    for name in donated:
        array = arrays.get(name)
        if not isinstance(array, jax.Array):
            continue
        if array.is_deleted():
            message = f"the array for {name} is gone: an earlier call was given it"
            raise LowerError("donated-array", message, help="use the results of that call, or pass a copy")
        for other, value in arrays.items():
            if other != name and value is array:
                message = f"one array for {name} and {other}: {name} is donated, so nothing else may use its array"
                raise LowerError("donated-array", message, help=f"pass a copy for {name}")
