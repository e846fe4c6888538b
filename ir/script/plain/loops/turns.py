"""Names of arrays that stand for others after each step of a loop, until they stand for what they did before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ir.script.plain.frames import Binding


@dataclass(frozen=True, slots=True)
class Cycle:
    """After how many steps names stand for what they will again, and after how many more they do."""

    before: int
    period: int


def alike(one: Mapping[str, Binding], other: Mapping[str, Binding]) -> bool:
    """Whether the names of one stand for the same arrays in the other."""
    return all(one[name] is array for name, array in other.items())


def place_of(states: Sequence[Mapping[str, Binding]], state: Mapping[str, Binding]) -> int | None:
    """Which of some states a state is; None if it is none of them."""
    return next((k for k, known in enumerate(states) if alike(state, known)), None)
