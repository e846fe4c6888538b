"""What whole buffers hold, as tensor terms: a later statement takes the term in place of the buffer if that is cheaper.

Products of several matrices, written one after the other, are multiplied in the cheaper order that way. Leaves are
code, which says the same later only if no name in it was given another value.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ir.nodes import Var
from lower.array.values import Value
from lower.array.views import Axis
from lower.program.nodes import Name, names_read, substituted
from lower.tensor.terms import NUMBERED, Term


class Known(Struct, frozen=True):
    """A term over the axes in `order`, of which `kept` are those of the buffer's dimensions, since statement `at`.

    `best` is how it was written. `only`: no other statement than the next one that uses the buffer looks at it.
    """

    term: Term
    best: Term
    values: tuple[Value, ...]
    finite: tuple[bool, ...]
    order: tuple[Axis, ...]
    kept: tuple[Axis, ...]
    rows: int
    at: int = 0
    only: bool = False
    number: int = 0  # of the store that is held back, if it is

    def words(self) -> set[str]:
        """All names in its leaves."""
        return {name for v in self.values for name in names_read(v.code)}

    def with_name(self, old: str, new: str) -> Known:
        """The same with a name in its leaves replaced."""
        names = {old: Name(new)}

        def one(value: Value) -> Value:
            plain = None if value.plain is None else (substituted(value.plain[0], names), value.plain[1])
            return replace(value, code=substituted(value.code, names), plain=plain)

        return replace(self, values=tuple(map(one, self.values)))


def renamed(value: Value, axes: Mapping[Var, Axis]) -> Value:
    """A value with other axes for its dimensions."""
    plain = None if value.plain is None else (value.plain[0], tuple(axes[a.var] for a in value.plain[1]))
    return replace(value, axes=tuple(axes[a.var] for a in value.axes), plain=plain)


def rebuilt(term: Term, leaves: Mapping[int, int], places: Mapping[int, int]) -> Term:
    """A term with other numbers for its leaves and axes."""
    number = term.number
    if term.op == "Leaf":
        number = leaves[number]
    elif term.op in NUMBERED:
        number = sum(1 << new for old, new in places.items() if number >> old & 1)
    return Term(term.op, tuple(rebuilt(a, leaves, places) for a in term.args), number)


def named(term: Term, names: Mapping[Term, int]) -> Term:
    """A term with leaves for the parts that have one."""
    if term in names:
        return Term("Leaf", number=names[term])
    return Term(term.op, tuple(named(a, names) for a in term.args), term.number)
