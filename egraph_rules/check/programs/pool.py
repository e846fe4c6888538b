"""Programs to which a rule applies, found once, then varied and tied: patterns that are rare among random programs.

Programs are made by seeded dice: one that fails is made smaller by leaving parts of it out
(`egraph_rules.check.shrink`), which goes further than taking its decisions anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from egraph_rules.check.places import Prepared
from egraph_rules.check.programs.idioms import IDIOMS, Idiom, program
from egraph_rules.check.programs.tangled import FOLLOWING, TANGLED
from egraph_rules.check.programs.tying import tied
from ir.nodes import PrimFunc
from ir.testing.draw import Dice, Source
from ir.traverse import all_exprs

_PATIENCE = 4  # how many times as many programs are looked at for a rule that applies to few
_ENOUGH = 12  # programs that are no longer few
_KEPT = 200  # programs made of others that are tied in turn
_SMALL = 50  # expressions of a program that is worth being tied: contexts of larger ones take long
_FOLLOWING = 14  # of so many programs one uses what the statement before says; no divisor of the numbers of kinds
_VARIED = (30, 15, 6)  # one in so many decisions of a known program is taken anew


@lru_cache(maxsize=2048)
def prepared(idiom: Idiom, decisions: int) -> Prepared:
    """A program by its seed; kept, since contexts cost more than what a rule does with them."""
    return Prepared(program(Dice(decisions), idiom))


def _kind(k: int) -> Idiom:
    """Programs of all kinds in turn, every other one of those whose parts meet."""
    if k % _FOLLOWING == _FOLLOWING - 1:
        return FOLLOWING[k // _FOLLOWING % len(FOLLOWING)]
    kinds = TANGLED if k % 2 else IDIOMS
    return kinds[k // 2 % len(kinds)]


class Pool:
    """Programs of all kinds, most of them such as a rule applies to, or near them."""

    def __init__(self, applies: Callable[[Prepared], bool], seed: int, limit: int, most: int) -> None:
        """Look at `limit` programs, kind by kind, for `most` that a rule applies to; at more where they are few."""
        self.found: list[tuple[PrimFunc, Idiom, int]] = []  # programs, and how they were made
        self._derived: list[PrimFunc] = []
        self._known: set[int] = set()
        self._applies = applies
        self._ahead = self._scout(seed, limit, most)

    def _scout(self, seed: int, limit: int, most: int) -> Iterator[Prepared]:
        for k in range(_PATIENCE * limit):
            if len(self.found) >= (most if k < limit else min(most, _ENOUGH)):
                return
            idiom, decisions = _kind(k), seed * _PATIENCE * limit + k
            known = prepared(idiom, decisions)
            if self._applies(known):
                self._known.add(hash(known.func))
                self.found.append((known.func, idiom, decisions))
                yield known

    def keep(self, func: PrimFunc) -> None:
        """Remember a program on which the rule was put to a test; what is made of it is further from the others."""
        if _size(func) <= _SMALL and len(self._derived) < _KEPT and hash(func) not in self._known:
            self._known.add(hash(func))
            self._derived.append(func)

    def draw(self, source: Source) -> Prepared:
        """A program: one that the rule is now found to apply to, as it is, or one like those found before."""
        known = next(self._ahead, None) if not self.found or source.flag() else None
        if known is not None:
            return known
        if not self.found or source.flag(12):
            return Prepared(program(source, source.pick(*IDIOMS, *TANGLED)))
        func, idiom, base = min((source.pick(*self.found) for _ in range(2)), key=lambda found: _size(found[0]))
        match source.pick("tied", "tied", "tied", "derived", "derived", "varied", "varied", "anew"):
            case "varied":
                return Prepared(program(_Varied(Dice(base), source), idiom))
            case "anew":
                return Prepared(program(source, idiom))
            case "derived" if self._derived:
                return Prepared(tied(source, min((source.pick(*self._derived) for _ in range(2)), key=_size)))
            case _:
                return Prepared(tied(source, func))


def _size(func: PrimFunc) -> int:
    """How many expressions a program has."""
    return sum(1 for _ in all_exprs(func.body))


class _Varied(Source):
    """The decisions of one source, some of which another takes anew."""

    def __init__(self, base: Source, other: Source) -> None:
        self._base = base
        self._other = other
        self._rate = other.pick(*_VARIED)

    def integer(self, low: int, high: int) -> int:
        known = self._base.integer(low, high)
        return self._other.integer(low, high) if self._other.flag(self._rate) else known
