"""Branches and searches in terms of values: choices, extremes, and questions whether there is something.

What is stored then depends on values alone, and iterations that waited for each other may run in any order. Statements
are looked at from the outside in, as what says more stands outside: a search over a branch over stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from ir.dtypes import DType
from ir.nodes import Block, Buffer, For, If, Seq, Stmt, seq
from ir.program.edit import with_children
from ir.transform.branches.best_of_groups import as_extremes
from ir.transform.branches.existence import as_existence
from ir.transform.branches.if_convert import Change, as_choices, as_exchange, chosen_by_data, overwritten
from ir.traverse import stmt_children


class Converter(Struct, frozen=True):
    """What may become of branches and searches: which forms are taken, for which dtypes, and where `extreme` takes a
    choice for the smaller or larger of two numbers. `names` are taken; `temporary` locals hold nothing for later."""

    names: set[str]
    temporary: frozenset[Buffer]
    extreme: Change
    choices: bool
    exchanges: bool
    existence: bool
    best: Callable[[DType], bool]

    def convert(self, stmt: Stmt) -> Stmt:
        """A statement in these terms; instances of instructions stay as they are."""
        found = self._whole(stmt)
        if found is not None:
            return self.convert(found)
        match stmt:
            case Block():
                return stmt
            case Seq(stmts=stmts):
                return seq(*map(self.convert, _joined(stmts) if self.choices else stmts), span=stmt.span)
            case _:
                return with_children(stmt, [self.convert(s) for s in stmt_children(stmt)])

    def _whole(self, stmt: Stmt) -> Stmt | None:
        """What a statement as a whole becomes; None if it stays."""
        found = as_exchange(stmt, self.temporary, self.extreme) if self.exchanges else None
        if found is None and self.choices:
            found = as_choices(stmt, self.extreme)
        match stmt:
            case If() if found is None and self.choices:
                one = chosen_by_data(stmt)
                return None if one is stmt else one
            case For() if found is None:
                asked = as_existence(stmt, self.names) if self.existence else None
                return as_extremes(stmt, self.best, self.names) if asked is None else asked
            case _:
                return found


def _joined(stmts: Sequence[Stmt]) -> list[Stmt]:
    """Statements in order, with one store for each that the next one replaces where data say so."""
    found: list[Stmt] = []
    for s in stmts:
        one = overwritten(found[-1], s) if found else None
        if one is None:
            found.append(s)
        else:
            found[-1] = one
    return found
