"""Names that nothing has yet. Owns how a wish is varied: by numbers behind it, or by underscores where it is a word."""

from __future__ import annotations

from collections.abc import Container
from itertools import chain, count


def unused(name: str, taken: Container[str], first: int = 1) -> str:
    """`name` if it is not taken, else the first of `name_1`, `name_2` and so on that is not, from a `first` number."""
    return next(n for n in chain((name,), (f"{name}_{k}" for k in count(first))) if n not in taken)


def fresh(name: str, taken: set[str], first: int = 1) -> str:
    """An `unused` name, which is taken afterwards."""
    found = unused(name, taken, first)
    taken.add(found)
    return found


def lengthened(name: str, taken: Container[str]) -> str:
    """`name` with as many underscores behind it as it takes for it not to be taken."""
    return next(n for n in (name + "_" * k for k in count()) if n not in taken)
