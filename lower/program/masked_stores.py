"""Stores under masks to one part of an array, one after the other, as one store of a nested choice.

Each such store is a pass over the part, and one more over the array where XLA cannot make it in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from lower.program.build import assign, dotted, updated
from lower.program.nodes import (
    Assign,
    Call,
    For,
    Function,
    JaxExpr,
    JaxStmt,
    Literal,
    Name,
    Slice,
    Subscript,
    With,
    names_bound,
    names_read,
)

_DEEP = 16  # choices within each other: Python reads 200 brackets
_Items = tuple[JaxExpr, ...]


def as_one_choice(body: Sequence[JaxStmt]) -> tuple[JaxStmt, ...]:
    """Statements of which stores under masks to the same part, with none between that looks at it, are the last one.

    Values that are stored have the dtype of the array, so that a choice between them has it too.
    """
    kept: list[JaxStmt | None] = []
    for stmt in body:
        match stmt:
            case Function(body=inner) | For(body=inner) | With(body=inner):
                stmt = replace(stmt, body=as_one_choice(inner))
            case Assign():
                stmt = _with_earlier(kept, stmt)
            case _:
                pass
        kept.append(stmt)
    return tuple(s for s in kept if s is not None)


def _with_earlier(kept: list[JaxStmt | None], stmt: Assign) -> Assign:
    """A store with the choice of the one before it to its part, which then goes; any other statement as it is."""
    store = _masked(stmt)
    if store is None:
        return stmt
    name, items, choice = store
    bound: set[str] = set()
    for k in reversed(range(len(kept))):
        earlier = kept[k]
        if earlier is None:
            continue
        found = _masked(earlier)
        if found is not None and found[0] == name:
            if found[1] == items:
                if names_read(earlier) & (bound - {name}) or _depth(found[2]) + _depth(choice) > _DEEP:
                    return stmt
                kept[k] = None
                return assign(name, updated(Name(name), items, "set", _after(choice, found[2])))
            if not _apart(found[1], items):
                return stmt
        elif name in names_read(earlier) or name in names_bound(earlier):
            return stmt
        bound |= names_bound(earlier)
    return stmt


def _masked(stmt: JaxStmt) -> tuple[str, _Items, Call] | None:
    """The array, part and choice of `X = X.at[part].set(jnp.where(mask, value, old))`, where old is `X[part]`, or such
    a choice again, and nothing else reads X."""
    if not (isinstance(stmt, Assign) and isinstance(stmt.target, Name) and isinstance(stmt.value, Call)):
        return None
    name, value = stmt.target.id, stmt.value
    match value.args:
        case (Call() as choice,):
            pass
        case _:
            return None
    old: JaxExpr = choice
    while isinstance(old, Call) and old.function == dotted("jnp.where") and len(old.args) == 3 and not old.keywords:
        if any(name in names_read(e) for e in old.args[:2]):
            return None
        old = old.args[2]
    if not isinstance(old, Subscript) or old.value != Name(name):
        return None
    items = old.items
    stored = value == updated(Name(name), items, "set", choice)
    return (name, items, choice) if stored and not any(name in names_read(i) for i in items) else None


def _after(choice: JaxExpr, old: JaxExpr) -> JaxExpr:
    """A choice, maybe nested, that leaves another value than the array's where no mask holds."""
    return replace(choice, args=(*choice.args[:2], _after(choice.args[2], old))) if isinstance(choice, Call) else old


def _depth(choice: JaxExpr) -> int:
    return 1 + _depth(choice.args[2]) if isinstance(choice, Call) else 0


def _apart(one: _Items, other: _Items) -> bool:
    """Whether two parts differ in a dimension by numbers. Before that one each item stands for one dimension."""
    for a, b in zip(one, other, strict=False):
        spans = positions(a), positions(b)
        if any(item in (Literal(...), Literal(None)) for item in (a, b)):
            return False
        if None not in spans and _disjoint(spans):
            return True
    return False


def positions(item: JaxExpr) -> tuple[int, float] | None:
    """The positions from a number up to another one that a subscript takes at most; None if that is not known."""
    match item:
        case Literal(value=int(at)) if not isinstance(at, bool) and at >= 0:
            return at, at + 1
        case Slice(
            low=Literal(value=int(low)) | (None as low),
            stop=Literal(value=int(stop)) | (None as stop),
            step=Literal(value=int(step)) | (None as step),
        ) if min(low or 0, stop or 0, step or 0) >= 0:  # others count from the end
            return low or 0, float("inf") if stop is None else stop
        case _:
            return None


def _disjoint(spans: tuple[tuple[int, float] | None, tuple[int, float] | None]) -> bool:
    (low, stop), (other_low, other_stop) = (s or (0, float("inf")) for s in spans)
    return stop <= other_low or other_stop <= low
