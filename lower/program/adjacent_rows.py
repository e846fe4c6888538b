"""Rows next to each other that a step stores one after the other, stored at once.

The second row reads the array as it was before the first one is stored, which so could not be in place. Measured on
CPU: rotations of two rows of 64 elements take 0.24 us a step, with a register for each row 0.52 us.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from lower.program.build import assign, call
from lower.program.nodes import Assign, Call, JaxExpr, JaxStmt, Literal, Name, Tuple, path_of
from lower.program.registers import offset, places_of, reads, surely_differ


class _Rows(Struct, frozen=True):
    """`array = lax.dynamic_update_slice(array, values, starts)`, of one or more rows."""

    array: str
    values: tuple[JaxExpr, ...]
    places: tuple[JaxExpr, ...]
    starts: tuple[JaxExpr, ...]

    def stmt(self) -> Assign:
        values = self.values[0] if len(self.values) == 1 else call("jnp.concatenate", Tuple(self.values))
        return assign(self.array, call("lax.dynamic_update_slice", self.array, values, Tuple(self.starts)))


def rows_at_once(body: Sequence[JaxStmt]) -> tuple[JaxStmt, ...]:
    """The statements of a step, of which those are one that store to rows next to each other."""
    done: list[JaxStmt] = []
    last: _Rows | None = None
    for stmt in body:
        rows = _rows(stmt)
        joint = None if last is None or rows is None else _joint(last, rows)
        if joint is not None:
            done[-1:] = [joint.stmt()]
        else:
            done.append(stmt)
        last = joint or rows
    return tuple(done)


def _rows(stmt: JaxStmt) -> _Rows | None:
    """A store to one row of an array of two dimensions or more."""
    match stmt:
        case Assign(target=Name(id=array), value=Call(args=(held, value, Tuple(items=starts))) as store) if (
            held == Name(array) and path_of(store.function) == "lax.dynamic_update_slice"
        ):
            whole = all(s == Literal(0) for s in starts[1:])
            return _Rows(array, (value,), starts[:1], starts) if whole and len(places_of(store)) == 1 else None
        case _:
            return None


def _joint(first: _Rows, second: _Rows) -> _Rows | None:
    """Two stores as one, where they are side by side and the second reads nothing of what the first stores."""
    found = [part for value in second.values for part in reads(value, first.array)]
    apart = all(
        part is not None and part.items and all(surely_differ(part.items[0], p) for p in first.places) for part in found
    )
    if first.array != second.array or not apart:
        return None
    (row,) = second.places
    places = (*first.places, row)
    if _are_side_by_side(places):
        return _Rows(first.array, (*first.values, *second.values), places, first.starts)
    if _are_side_by_side((row, *first.places)):
        return _Rows(first.array, (*second.values, *first.values), (row, *first.places), second.starts)
    return None


def _are_side_by_side(rows: Sequence[JaxExpr]) -> bool:
    base, first = offset(rows[0])
    return all(offset(row) == (base, first + k) for k, row in enumerate(rows))
