"""Programs to which a rule applies, found once and varied: patterns that are rare among random programs.

Programs are made by seeded dice, of which hypothesis draws the seeds: a program that fails is made smaller by leaving
parts of it out (`egraph_rules.check.shrink`), which goes further than taking its decisions anew.
"""

from __future__ import annotations

from collections.abc import Callable

from egraph_rules.check.draw import Dice, Source
from egraph_rules.check.idioms import IDIOMS, Idiom, program
from ir.nodes import PrimFunc

_PATIENCE = 3  # how many times as many programs are looked at to find one at all
_SEEDS = 1 << 20
_VARIED = (20, 6, 3)  # one in so many decisions of a known program is taken anew


class Pool:
    """Programs of all kinds, most of them near ones to which a rule applies."""

    def __init__(self, applies: Callable[[PrimFunc], bool], seed: int, wanted: int, limit: int) -> None:
        """Look at up to `limit` programs, kind by kind, for so many to which the rule applies; at more to find one."""
        self.found: dict[Idiom, list[int]] = {}
        left = wanted
        for k in range(_PATIENCE * limit):
            if left == 0 or (k >= limit and self.found):
                break
            idiom, decisions = IDIOMS[k % len(IDIOMS)], seed * limit + k
            if applies(program(Dice(decisions), idiom)):
                self.found.setdefault(idiom, []).append(decisions)
                left -= 1

    def draw(self, source: Source) -> PrimFunc:
        """A program."""
        dice = Dice(source.integer(0, _SEEDS))
        if not self.found or dice.flag(4):
            return program(dice, dice.pick(*(self.found if dice.flag() and self.found else IDIOMS)))
        idiom = dice.pick(*self.found)
        return program(_Varied(Dice(dice.pick(*self.found[idiom])), dice), idiom)


class _Varied(Source):
    """The decisions of one source, some of which another takes anew."""

    def __init__(self, base: Source, other: Source) -> None:
        self._base = base
        self._other = other
        self._rate = other.pick(*_VARIED)

    def integer(self, low: int, high: int) -> int:
        known = self._base.integer(low, high)
        return self._other.integer(low, high) if self._other.flag(self._rate) else known
