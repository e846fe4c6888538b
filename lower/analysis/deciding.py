"""Decisions among forms that mean the same: the cheapest is taken, and whoever asks for it is told of each.

All choices by price that a program's lowering depends on are made by `cheapest` and `cheaper`. What prices rank last at
the sizes of a test is then emitted and compared there too: `deciding` gives a part of a program another decider, for
this thread or task alone. Owns no prices.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import isinf
from typing import TypeVar

from msgspec import Struct

_Form = TypeVar("_Form")

Decider = Callable[[str, Sequence[float]], int]  # from the name of a decision and the prices: which one is taken


def least(_: str, prices: Sequence[float]) -> int:
    """The first of the cheapest."""
    return min(range(len(prices)), key=prices.__getitem__)


_DECIDER: ContextVar[Decider] = ContextVar("decider", default=least)
_PLACE: ContextVar[str] = ContextVar("place", default="")


@contextmanager
def placed(place: str) -> Generator[None]:
    """Say of decisions meanwhile what part of the program they are about."""
    before = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(before)


@contextmanager
def deciding(decider: Decider) -> Generator[None]:
    """Leave decisions to a decider meanwhile."""
    before = _DECIDER.set(decider)
    try:
        yield
    finally:
        _DECIDER.reset(before)


class Taken(Struct, frozen=True):
    """A decision: its name, the prices of the forms, which one was taken, what part of the program it is about, and
    what the forms are called, where they have names."""

    decision: str
    prices: tuple[float, ...]
    form: int
    place: str = ""
    ways: tuple[str, ...] = ()

    def __str__(self) -> str:
        others = [price for k, price in enumerate(self.prices) if k != self.form]
        what = f"{self.decision} ({self.ways[self.form]})" if self.ways else self.decision
        return f"{what}: price {self.prices[self.form]:,.0f} in place of {min(others):,.0f}"


_NOTES: ContextVar[list[Taken] | None] = ContextVar("notes", default=None)


def settled() -> bool:
    """Whether prices decide, and nobody wants to be told."""
    return _DECIDER.get() is least and _NOTES.get() is None


@contextmanager
def noted() -> Generator[list[Taken]]:
    """Note the decisions that are taken meanwhile."""
    found: list[Taken] = []
    before = _NOTES.get()
    token = _NOTES.set(found)
    try:
        yield found
    finally:
        _NOTES.reset(token)
        if before is not None:
            before += found


def cheapest(decision: str, prices: Mapping[_Form, float]) -> _Form:
    """The form to take among those with prices, of which there is one at least; what costs infinitely much is none."""
    forms = [form for form, price in prices.items() if not isinf(price)] or list(prices)
    if len(forms) == 1:
        return forms[0]
    listed = tuple(prices[form] for form in forms)
    taken, notes = _DECIDER.get()(decision, listed), _NOTES.get()
    if notes is not None:
        ways = tuple(form for form in forms if isinstance(form, str))
        notes.append(Taken(decision, listed, taken, _PLACE.get(), ways if len(ways) == len(forms) else ()))
    return forms[taken]


def cheaper(decision: str, new: float, old: float) -> bool:
    """Whether a form is taken in place of another one, which stays where both cost the same."""
    return cheapest(decision, {False: old, True: new})
