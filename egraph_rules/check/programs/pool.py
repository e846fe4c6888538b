"""Programs to which a rule applies, found once, then varied and tied: patterns that are rare among random programs.

Programs are made by seeded dice: one that fails is made smaller by leaving parts of it out
(`egraph_rules.check.shrink`), which goes further than taking its decisions anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from egraph_rules.check.draw import Dice, Source
from egraph_rules.check.places import Prepared
from egraph_rules.check.programs.idioms import IDIOMS, Idiom, program
from egraph_rules.check.programs.tangled import TANGLED
from egraph_rules.check.programs.tying import tied

_PATIENCE = 2  # how many times as many programs are looked at to find one at all
_FEW = 200  # where fewer programs than that are known, most examples are others
_VARIED = (30, 15, 6)  # one in so many decisions of a known program is taken anew


@lru_cache(maxsize=2048)
def prepared(idiom: Idiom, decisions: int) -> Prepared:
    """A program by its seed; kept, since contexts cost more than what a rule does with them."""
    return Prepared(program(Dice(decisions), idiom))


def _kind(k: int) -> Idiom:
    """Programs of all kinds in turn, every other one of those whose parts meet."""
    kinds = TANGLED if k % 2 else IDIOMS
    return kinds[k // 2 % len(kinds)]


class Pool:
    """Programs of all kinds, most of them such as a rule applies to, or near them."""

    def __init__(self, applies: Callable[[Prepared], bool], seed: int, limit: int, wanted: int) -> None:
        """Look at `limit` programs, kind by kind, for so many that a rule applies to; at more for the first one."""
        self.found: list[tuple[Idiom, int]] = []
        self._applies = applies
        self._wanted = wanted
        self._ahead = self._scout(seed, limit)

    def _scout(self, seed: int, limit: int) -> Iterator[tuple[Idiom, int]]:
        for k in range(_PATIENCE * limit):
            if len(self.found) == self._wanted or (k >= limit and self.found):
                return
            known = _kind(k), seed * _PATIENCE * limit + k
            if self._applies(prepared(*known)):
                self.found.append(known)
                yield known

    def draw(self, source: Source) -> Prepared:
        """A program: one that the rule is now found to apply to, as it is, or one like those found before."""
        known = next(self._ahead, None) if not self.found or source.flag() else None
        if known is not None:
            return prepared(*known)
        if not self.found or source.flag(12):
            return Prepared(program(source, source.pick(*IDIOMS, *TANGLED)))
        idiom, base = source.pick(*self.found)
        if source.integer(0, _FEW) < len(self.found) and source.flag():
            return prepared(idiom, base)
        if source.flag():
            return Prepared(tied(source, program(Dice(base), idiom)))
        return Prepared(program(_Varied(Dice(base), source) if source.flag() else source, idiom))


class _Varied(Source):
    """The decisions of one source, some of which another takes anew."""

    def __init__(self, base: Source, other: Source) -> None:
        self._base = base
        self._other = other
        self._rate = other.pick(*_VARIED)

    def integer(self, low: int, high: int) -> int:
        known = self._base.integer(low, high)
        return self._other.integer(low, high) if self._other.flag(self._rate) else known
