"""Programs to which a rule applies, found once and varied: patterns that are rare among random programs.

Programs are made by seeded dice, of which hypothesis draws the seeds: a program that fails is made smaller by leaving
parts of it out (`egraph_rules.check.shrink`), which goes further than taking its decisions anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from egraph_rules.check.draw import Dice, Source
from egraph_rules.check.idioms import IDIOMS, Idiom, program
from egraph_rules.check.places import Prepared

_PATIENCE = 2  # how many times as many programs are looked at to find one at all
_SEEDS = 1 << 20
_FEW = 200  # where fewer programs than that are known, most examples are others
_VARIED = (30, 15, 6)  # one in so many decisions of a known program is taken anew


@lru_cache(maxsize=1024)
def prepared(idiom: Idiom, decisions: int) -> Prepared:
    """A program by its seed; kept, since contexts cost more than what a rule does with them."""
    return Prepared(program(Dice(decisions), idiom))


class Pool:
    """Programs of all kinds, most of them such as a rule applies to, or near them."""

    def __init__(self, applies: Callable[[Prepared], bool], seed: int, limit: int, wanted: int) -> None:
        """Look at `limit` programs, kind by kind, for so many that a rule applies to; at more for the first one."""
        self.found: list[tuple[Idiom, int]] = []
        for k in range(_PATIENCE * limit):
            if len(self.found) == wanted or (k >= limit and self.found):
                break
            idiom, decisions = IDIOMS[k % len(IDIOMS)], seed * _PATIENCE * limit + k
            if applies(prepared(idiom, decisions)):
                self.found.append((idiom, decisions))

    def draw(self, source: Source) -> Prepared:
        """A program."""
        dice = Dice(source.integer(0, _SEEDS))
        if not self.found or dice.flag(12):
            return Prepared(program(dice, dice.pick(*IDIOMS)))
        idiom, base = dice.pick(*self.found)
        if dice.integer(0, _FEW) < len(self.found):
            return prepared(idiom, base)
        return Prepared(program(_Varied(Dice(base), dice) if dice.flag() else dice, idiom))


class _Varied(Source):
    """The decisions of one source, some of which another takes anew."""

    def __init__(self, base: Source, other: Source) -> None:
        self._base = base
        self._other = other
        self._rate = other.pick(*_VARIED)

    def integer(self, low: int, high: int) -> int:
        known = self._base.integer(low, high)
        return self._other.integer(low, high) if self._other.flag(self._rate) else known
