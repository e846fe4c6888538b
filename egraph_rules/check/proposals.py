"""Random programs for the rules that are Python functions, each rewritten at one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.rule import Rule
from egraph_rules.check.places import Answers, Prepared, Rewritten, ways
from egraph_rules.check.programs.inputs import inputs_for
from egraph_rules.check.programs.pool import Pool
from egraph_rules.check.shrink import Retested
from egraph_rules.check.trial import Trial, run_trial
from egraph_rules.contexts.facts import Priority
from ir.errors import LoopsatError, RuleError
from ir.nodes import PrimFunc
from ir.printing.printer import to_script
from ir.semantics.inputs import Inputs
from ir.testing.draw import Source

_MAX_SCOUTED = 500  # programs that are looked at for such as the rule applies to
_PLACES = 4  # applications of one program that are tested
_RUNS = 5
_TRIES = 3  # programs to which the rule may not apply, until one is given up


def applied(rule: Rule, given: Prepared, priority: Priority, answers: Answers | None = None) -> list[Rewritten]:
    """What a rule makes of a program; `answers` counts what it asks of its places.

    Raises:
        RuleError: the rule's function fails.
    """
    try:
        return list(given.applications(rule, priority, answers))
    except LoopsatError:
        raise
    except Exception as error:  # whatever a user's function raises
        message = f"rule {rule.name} fails: {type(error).__name__}: {error}"
        help = "the function must yield statements, or nothing"
        raise RuleError("rule-fails", message, notes=[f"on the program\n{to_script(given.func)}"], help=help) from error


class Proposals(Struct, dict=True):
    """Makes programs to which one rule applies."""

    rule: Rule
    seed: int
    examples: int
    answers: Answers = field(default_factory=dict[tuple[str, int], set[bool]])
    tested: set[int] = field(default_factory=set[int])  # lines of the rule's function that were put to a test

    def __post_init__(self) -> None:
        scouted = min(2 * self.examples, _MAX_SCOUTED)
        self.pool: Pool = Pool(self._applies, self.seed, scouted, self.examples)

    def _applies(self, given: Prepared) -> bool:
        return bool(applied(self.rule, given, Priority.FACTS, self.answers))

    def make(self, source: Source) -> list[Trial]:
        """A program, and some of what the rule makes of it; nothing if it does not apply."""
        for _ in range(_TRIES):
            priority = source.pick(*Priority)
            given = self.pool.draw(source)
            found = applied(self.rule, given, priority, self.answers)
            if found:
                return self._trials(source, given.func, found, priority)
        return []

    def _trials(self, source: Source, func: PrimFunc, found: list[Rewritten], priority: Priority) -> list[Trial]:
        def again(func: PrimFunc, inputs: Inputs) -> Retested:
            return self.retest(func, inputs, priority)

        return [
            replace(self._trial(each, inputs), again=again, on_test=self._on_test(func, each))
            for each in some(source, found)
            for inputs in [inputs_for(source, each.original, self.rule.floats) for _ in range(_RUNS)]
        ]

    def _on_test(self, func: PrimFunc, each: Rewritten) -> Callable[[], None]:
        def tested() -> None:
            self.pool.keep(func)
            self.tested.add(each.way)

        return tested

    def idle(self) -> str | None:
        """What of the rule made no difference in the examples; None if everything did.

        Every line at which the rule's function yields must have been put to a test, and every condition that it asks
        its place for must have held at some place and not at another.
        """
        left = sorted(ways(self.rule) - self.tested)
        if left:
            return f"what its function yields in {_lines(left)} was never put to a test"
        same = sorted(line for (_, line), found in self.answers.items() if len(found) == 1)
        return f"what is asked of the place in {_lines(same)} never made a difference" if same else None

    def _trial(self, each: Rewritten, inputs: Inputs) -> Trial:
        return Trial(each.original, each.rewritten, inputs, self.rule.floats, equal=True, probe=each.probe)

    def retest(self, func: PrimFunc, inputs: Inputs, priority: Priority) -> Retested:
        """What comes of the rule on one program and its inputs."""
        tested = False
        for each in applied(self.rule, Prepared(func), priority):
            failed, ran = run_trial(self._trial(each, inputs))
            tested |= ran
            if failed is not None:
                return Retested(tested=True, failed=failed)
        return Retested(tested)


def _lines(lines: Sequence[int]) -> str:
    return f"line{'' if len(lines) == 1 else 's'} {', '.join(map(str, lines))}"


def some(source: Source, found: Sequence[Rewritten]) -> list[Rewritten]:
    """A few of many, neighbours by a random distance."""
    if len(found) <= _PLACES:
        return list(found)
    first, step = source.integer(0, len(found) - 1), source.integer(1, len(found) - 1)
    chosen = dict.fromkeys((first + k * step) % len(found) for k in range(_PLACES))
    return [found[k] for k in chosen]
