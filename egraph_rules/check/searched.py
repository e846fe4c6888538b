"""Random programs searched with one rule, alone or beside the built-in ones, at random prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.rule import Rule
from egraph_rules.check.places import Prepared
from egraph_rules.check.programs.inputs import inputs_for
from egraph_rules.check.programs.pool import Pool
from egraph_rules.check.shrink import Retested
from egraph_rules.check.trial import Trial, run_trial
from egraph_rules.cost.target import CPU, SEARCH_PRICES, Target
from egraph_rules.engine.phases import Budget
from egraph_rules.optimization import optimize, search_within
from egraph_rules.rules.statements import STATEMENT_RULES
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import Block, PrimFunc
from ir.semantics.inputs import Inputs
from ir.testing.draw import Source
from ir.testing.refinement import compare
from ir.traverse import walk

_BUDGET = Budget(rounds=8, nodes=6_000, seconds=1e9, restarts=0)  # steps, not seconds: the same on every machine
_VARIANTS = 3
_SCOUTED = 144  # programs that are looked at for such as the rule applies to
_TRIES = 2  # programs to which the rule may not apply, until one is given up

Instance = Callable[[Source], list[Trial]]
Probe = Callable[[], PrimFunc]


class _Used(Struct, frozen=True):
    """How a search is done."""

    target: Target
    floats: Floats
    others: tuple[Rule, ...]


class Searched(Struct, dict=True):
    """Makes programs in which a search finds uses of one rule.

    `instance` makes programs that contain the rule's pattern, where it has one.
    """

    rule: Rule
    seed: int
    examples: int
    instance: Instance | None = None

    def __post_init__(self) -> None:
        scouted = min(_SCOUTED, 4 * self.examples) if self.instance is None else 0
        self.pool: Pool = Pool(self._applies, self.seed, scouted, max(2, self.examples // 5))

    def _applies(self, given: Prepared) -> bool:
        used = _Used(CPU, DEFAULT_FLOATS, self._others())
        return self.rule.name in _matched(given, self._rules(used)) or self._in_blocks(given.func, used) is not None

    def _rules(self, used: _Used) -> tuple[Rule, ...]:
        """The rules of a search; a built-in one beside the others always gives the same, whose engine is kept."""
        together = used.others and any(r.name == self.rule.name for r in STATEMENT_RULES)
        return STATEMENT_RULES if together else (self.rule, *used.others)

    def _others(self) -> tuple[Rule, ...]:
        return tuple(r for r in STATEMENT_RULES if r.name != self.rule.name)

    def make(self, source: Source) -> list[Trial]:
        """A program, and what a search makes of it; nothing if the rule does not apply."""
        for _ in range(_TRIES):
            found = self._trials(source)
            if found:
                return found
        return []

    def _trials(self, source: Source) -> list[Trial]:
        func, inputs, probe = self._program(source)
        if func is None:
            return []
        target, floats = prices(source), source.pick(DEFAULT_FLOATS, self.rule.floats)
        beside = not source.flag(3)  # most rules over statements need others to come to anything
        used = _Used(target, floats, self._others() if beside else ())
        return self._variants(used, func, inputs_for(source, func, floats) if inputs is None else inputs, probe)

    def _variants(self, used: _Used, func: PrimFunc, inputs: Inputs, probe: Probe | None = None) -> list[Trial]:
        """What a search makes of a program; nothing if the rule does not apply."""
        variants = self._search(func, used)
        if variants is None:
            return []

        def blameless() -> bool:
            """Whether the same happens without the rule: erasing undef stores may uncover a fault."""
            return any(
                compare(func, f, inputs, used.floats, equal=False).difference is not None
                for f in search(func, used.others, used)[0]
            )

        def again(smaller: PrimFunc, values: Inputs) -> Retested:
            runs = [run_trial(trial) for trial in self._variants(used, smaller, values)]
            failed = next((found for found, _ in runs if found is not None), None)
            return Retested(any(tested for _, tested in runs), failed)

        return [
            Trial(func, variant, inputs, used.floats, equal=False, blameless=blameless, again=again, probe=probe)
            for variant in variants
            if variant != func
        ]

    def _search(self, func: PrimFunc, used: _Used) -> list[PrimFunc] | None:
        """What a search finds with the rule; None if the rule does not apply."""
        named = self._in_blocks(func, used)
        if named is not None:
            return [named]
        variants, matches = search(func, self._rules(used), used)
        return variants if matches[self.rule.name] else None

    def _in_blocks(self, func: PrimFunc, used: _Used) -> PrimFunc | None:
        """What a search that keeps the names of blocks finds by the rule; `optimize` drops them."""
        if not any(isinstance(s, Block) for s in walk(func.body)):
            return None
        rules = self._rules(used), used.others
        found, without = (search_within(func, None, r, used.target, used.floats) for r in rules)
        return found if found != without else None

    def _program(self, source: Source) -> tuple[PrimFunc | None, Inputs | None, Probe | None]:
        """A program, inputs if they come with it, and what tells whether the rule's pattern is reached."""
        if self.instance is not None and not source.flag(4):
            trials = self.instance(source)
            return (trials[0].original, trials[0].inputs, trials[0].probe) if trials else (None, None, None)
        return self.pool.draw(source).func, None, None


def search(func: PrimFunc, rules: tuple[Rule, ...], used: _Used) -> tuple[list[PrimFunc], Counter[str]]:
    """What a search with these rules finds, and how often each matched; names of blocks are lost.

    Raises:
        KeyboardInterrupt: there was a Ctrl-C, which is not meant for this search alone.
    """
    result = optimize(func, used.target, _VARIANTS, _BUDGET, used.floats, rules, verify=False)
    if result.report.interrupted:
        raise KeyboardInterrupt
    return [variant for variant, _ in result.variants], result.report.matches


@lru_cache(maxsize=4096)
def _matched(given: Prepared, rules: tuple[Rule, ...]) -> frozenset[str]:
    """The rules that match in a search; kept for rules that are checked one after the other."""
    matches = search(given.func, rules, _Used(CPU, DEFAULT_FLOATS, ()))[1]
    return frozenset(name for name, count in matches.items() if count)


def prices(source: Source) -> Target:
    """A target that finds other things dear than a real one does; what costs nothing could be nested without end."""
    factors = {name: getattr(CPU, name) * source.pick(1.0, 0.001, 0.1, 30.0) for name in SEARCH_PRICES}
    return replace(CPU, name="random prices", **factors)
