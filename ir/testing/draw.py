"""Random decisions, and the search for the smallest example that fails. Owns the use of hypothesis."""

from __future__ import annotations

import importlib
import random
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from ir.errors import LoopsatError

T = TypeVar("T")
E = TypeVar("E")
_SHRINKING = 250  # examples tried to make a counterexample smaller


class Source(ABC):
    """Where a generator takes its decisions from; the smallest number and the first option are the simplest."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""

    def pick(self, *options: T) -> T:
        """One of the options."""
        return options[self.integer(0, len(options) - 1)]

    def flag(self, one_in: int = 2) -> bool:
        """True in one of so many cases."""
        return self.integer(0, one_in - 1) == one_in - 1


class Dice(Source):
    """Decisions by a seeded generator, for examples that are made smaller by other means."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class _Drawn(Source):
    """Decisions by hypothesis, which can take them again, smaller."""

    def __init__(self, draw: Callable[[Any], Any], integers: Callable[[int, int], Any]) -> None:
        self._draw = draw
        self._integers = integers

    def integer(self, low: int, high: int) -> int:
        return int(self._draw(_range(low, high, self._integers)))


_RANGES: dict[tuple[int, int], Any] = {}


def _range(low: int, high: int, integers: Callable[[int, int], Any]) -> Any:
    """A strategy for a range; kept, since making one costs more than drawing from it."""
    key = low, high
    if key not in _RANGES:
        _RANGES[key] = integers(low, high)
    return _RANGES[key]


class Sized(Protocol):
    """What a failed test tells."""

    @property
    def size(self) -> int: ...


F = TypeVar("F", bound=Sized)


class _Failed(Exception):
    """An example failed."""


class _Enough(BaseException):
    """The search has done its share; hypothesis lets what is no `Exception` pass."""


class Search(Generic[E, F]):
    """One search: examples that `make` makes from decisions, and the smallest failure that `test` finds.

    With a hypothesis `strategy` the examples are what that draws.
    """

    def __init__(
        self, make: Callable[[Source], E] | None, test: Callable[[E], F | None], *, strategy: Any = None
    ) -> None:
        self.make = make
        self.test = test
        self.strategy = strategy
        self.tried = 0
        self.smallest: F | None = None
        self._error: Exception | None = None
        self._left = _SHRINKING

    def run(self, examples: int, seed: int) -> F | None:
        """Try so many examples; after the first failure, smaller ones.

        Raises:
            LoopsatError: an example cannot be made.
        """
        if examples < 1:
            return None
        quiet = "hypothesis" not in sys.modules
        hypothesis = importlib.import_module("hypothesis")
        if quiet:  # no test run of its own: leave no folder where the user works
            folder = Path(tempfile.gettempdir()) / "loopsat-hypothesis"
            importlib.import_module("hypothesis.configuration").set_hypothesis_home_dir(folder)
        settings = hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            derandomize=False,
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        )

        def once(example: E) -> None:
            self._once(example)

        with suppress(_Failed, _Enough):
            hypothesis.seed(seed)(settings(hypothesis.given(self._examples())(once)))()
        if self._error is not None:
            raise self._error
        return self.smallest

    def _examples(self) -> Any:
        """The strategy of examples."""
        make = self.make
        if make is None:
            return self.strategy
        strategies = importlib.import_module("hypothesis.strategies")

        @strategies.composite
        def example(draw: Callable[[Any], Any]) -> E:
            return self._made(make, _Drawn(draw, strategies.integers))

        return example()

    def _made(self, make: Callable[[Source], E], source: Source) -> E:
        """An example; what is raised while it is made ends the search, since hypothesis would search for its like."""
        try:
            return make(source)
        except LoopsatError as error:
            self._error = error
            raise _Enough from error

    def _once(self, example: E) -> None:
        self.tried += 1
        if self.smallest is not None:
            self._left -= 1
            if self._left < 0:
                raise _Enough
        found = self.test(example)
        if found is None:
            return
        if self.smallest is None or found.size < self.smallest.size:
            self.smallest = found
        raise _Failed
