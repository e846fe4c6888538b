"""Random programs searched with one rule, alone or beside the built-in ones, at random prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

from egraph_rules.check.draw import Source
from egraph_rules.check.inputs import inputs_for
from egraph_rules.check.places import Prepared
from egraph_rules.check.pool import Pool
from egraph_rules.check.run import compare
from egraph_rules.check.trial import Trial, refutation
from egraph_rules.check.verdict import Counterexample
from egraph_rules.cost import CPU, Target
from egraph_rules.optimize import Result, optimize
from egraph_rules.phases import Budget
from egraph_rules.rule import DEFAULT_FLOATS, Floats, Rule
from egraph_rules.rules.statements import STATEMENT_RULES
from ir.inputs import Inputs
from ir.nodes import PrimFunc

_BUDGET = Budget(rounds=8, nodes=6_000, seconds=1e9, restarts=0)  # steps, not seconds: the same on every machine
_VARIANTS = 3
_SCOUTED, _WANTED = 60, 8  # programs that are looked at for such as the rule applies to, until so many are found
_TRIES = 2  # programs to which the rule may not apply, until one is given up

Instance = Callable[[Source], list[Trial]]


@dataclass(frozen=True, slots=True)
class _Used:
    """How a search is done."""

    target: Target
    floats: Floats
    others: tuple[Rule, ...]


@dataclass(slots=True)
class Searched:
    """Makes programs in which a search finds uses of one rule.

    `instance` makes programs that contain the rule's pattern, where it has one.
    """

    rule: Rule
    seed: int
    instance: Instance | None = None
    pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        self.pool = Pool(self._applies, self.seed, _SCOUTED if self.instance is None else 0, _WANTED)

    def _applies(self, given: Prepared) -> bool:
        result = search(given.func, (self.rule, *self._others()), CPU, DEFAULT_FLOATS)
        return result.report.matches[self.rule.name] > 0

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
        func, inputs = self._program(source)
        if func is None:
            return []
        target, floats = prices(source), source.pick(DEFAULT_FLOATS, self.rule.floats)
        beside = not source.flag(3)  # most rules over statements need others to come to anything
        used = _Used(target, floats, self._others() if beside else ())
        return self._variants(used, func, inputs_for(source, func, floats) if inputs is None else inputs)

    def _variants(self, used: _Used, func: PrimFunc, inputs: Inputs) -> list[Trial]:
        """What a search makes of a program; nothing if the rule does not apply."""
        result = search(func, (self.rule, *used.others), used.target, used.floats)
        if not result.report.matches[self.rule.name]:
            return []

        def blameless() -> bool:
            """Whether the same happens without the rule: erasing undef stores may uncover a fault."""
            return any(
                compare(func, f, inputs, used.floats, equal=False).difference is not None
                for f, _ in search(func, used.others, used.target, used.floats).variants
            )

        def again(smaller: PrimFunc, values: Inputs) -> Counterexample | None:
            trials = self._variants(used, smaller, values)
            return next((r for r in map(refutation, trials) if r is not None), None)

        return [
            Trial(func, variant, inputs, used.floats, equal=False, blameless=blameless, again=again)
            for variant, _ in result.variants
            if variant != func
        ]

    def _program(self, source: Source) -> tuple[PrimFunc | None, Inputs | None]:
        if self.instance is not None and not source.flag(4):
            trials = self.instance(source)
            return (trials[0].original, trials[0].inputs) if trials else (None, None)
        return self.pool.draw(source).func, None


def search(func: PrimFunc, rules: tuple[Rule, ...], target: Target, floats: Floats) -> Result:
    """What `optimize` finds with these rules only."""
    return optimize(func, target, _VARIANTS, _BUDGET, floats, rules)


def prices(source: Source) -> Target:
    """A target that finds other things dear than a real one does."""
    factors = {
        f.name: getattr(CPU, f.name) * source.pick(1.0, 0.0, 0.1, 30.0) for f in fields(Target) if f.type == "float"
    }
    return replace(CPU, name="random prices", **factors)
