"""Which masks stores of a wavefront need, once its table is a copy with room around it.

Elements of a copy that stand for none of the table may hold anything, so a step that also stores to those needs no
mask. Where it also covers a border, it chooses the border's element, of which an array is kept outside of the loop: no
step reads the row that it overwrites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Statement
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Unary, Var, const
from ir.presburger import sets as presburger
from ir.traverse import reads, walk_expr
from lower.analysis.linear_forms import linear, to_expr
from lower.nest.nodes import Fresh
from lower.storage.live_in import Borders, whole

Set = presburger.isl.Set
_TAME = {"add", "sub", "min", "max", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"}


class Bare(Struct, frozen=True):
    """What is left of the guards of a statement, and what it stores where one of the others does not hold: a condition
    each with the position in a dimension that is meant there."""

    guards: tuple[Expr, ...]
    choices: tuple[tuple[Expr, int, Expr], ...]


def bare(s: Statement, time: Var, borders: Borders | None) -> Bare:
    """The guards that a store of a wavefront needs, where it may change elements that stand for none of its table.

    `borders` of the table are None where none are kept: then guards only go that hide no element of it.
    """
    kept = Bare(s.guards, ())
    if not _tame(s) or any(presburger.point((i,)) is None for i in s.store.indices):
        return kept
    return presburger.within_budget(partial(_bare, s, time, borders), kept)


def _bare(s: Statement, time: Var, borders: Borders | None) -> Bare:
    counting = whole(s.buffer) if borders is None else borders.counting
    guards = list(s.guards)
    for guard in s.guards:
        rest = [g for g in guards if g is not guard]
        if _hidden(s, guard, rest).intersect(counting).is_empty():
            guards = rest
    if borders is None:
        return Bare(tuple(guards), ())
    choices: list[tuple[Expr, int, Expr]] = []
    for k, guard in enumerate(guards):
        at = _line(s, _hidden(s, guard, guards[:k]).intersect(counting), time, borders)
        if at is None:
            return Bare(tuple(guards), ())
        choices.append((guard, *at))
    return Bare((), tuple(choices))


def _hidden(s: Statement, guard: Expr, rest: Sequence[Expr]) -> Set:
    """Where a statement stores if one of its guards does not hold, and the `rest` of them does."""
    away = replace(s, guards=tuple(rest)).domain.intersect(presburger.condition(guard).negated().may)
    place = presburger.point(s.store.indices)
    assert place is not None
    return presburger.forget(place.intersect_params(away), [o.var.name for o in s.loops])


def _line(s: Statement, hidden: Set, time: Var, borders: Borders) -> tuple[int, Expr] | None:
    """The first or last position in a dimension that is that of all of some elements, none of which change, if the
    others of their indices are the same in all steps."""
    table = s.buffer
    if not hidden.intersect(borders.written).is_empty():
        return None
    for d, size in enumerate(table.shape):
        others = [linear(i) for e, i in enumerate(s.store.indices) if e != d]
        if any(time in form.vars() for form in others):
            continue
        for at in (const(0, size.dtype), to_expr(linear(size) - 1, size)):
            variables = tuple(Var(f"{table.name}[{e}]", n.dtype) for e, n in enumerate(table.shape))
            line = presburger.point((*variables[:d], at, *variables[d + 1 :]))
            if line is not None and hidden.is_subset(presburger.forget(line, [v.name for v in variables])):
                return d, at
    return None


def _tame(s: Statement) -> bool:
    """Whether values that nobody looks at stay harmless: they might become infinite, or NaN, and with them derivatives
    of what they are made of."""
    if not s.buffer.dtype.is_float:
        return True
    return all(_is_tame(e) for e in walk_expr(s.store.value) if reads(s.buffer, e))


def _is_tame(e: Expr) -> bool:
    """Whether an operator takes finite numbers to finite ones, but for their size, and so do its derivatives."""
    match e:
        case Binary(op="mul" | "div", rhs=Const()) | Binary(op="mul", lhs=Const()):
            return True
        case Binary(op=op) | Unary(op=op):
            return op in _TAME
        case _:
            return isinstance(e, Load | Select)


def lines(table: Buffer, dimension: int, new: Fresh) -> Buffer:
    """An array for the elements of a table at one position of a dimension."""
    shape = tuple(n for d, n in enumerate(table.shape) if d != dimension)
    return replace(table, name=new.name(f"{table.name}_border"), shape=shape, scope="local")


def chosen(s: Statement, left: Bare, kept: Mapping[tuple[int, Expr], Buffer], place: Sequence[Expr]) -> Statement:
    """A statement that chooses what it stores; `place` is where it stored in its table."""
    value = s.store.value
    for guard, d, at in reversed(left.choices):
        line = kept[d, at]
        value = Select(guard, value, Load(line, tuple(i for e, i in enumerate(place) if e != d)))
    update = s.update if not left.choices else None
    return replace(s, store=replace(s.store, value=value), update=update)
