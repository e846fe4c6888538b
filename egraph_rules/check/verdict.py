"""What checking a rule found, and counterexamples as users read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from egraph_rules.check.run import Difference, Outcome, compare
from ir.errors import RuleError
from ir.floats import Floats
from ir.inputs import Inputs
from ir.machine import Array
from ir.nodes import PrimFunc
from ir.page import Section
from ir.script.printer import to_script
from ir.shown import Shown
from ir.traverse import stmt_exprs, walk, walk_expr

Status = Literal["proven", "tested", "not checked", "refuted"]


@dataclass(frozen=True, slots=True, repr=False)
class Counterexample(Shown):
    """A program, what the rule makes of it, and inputs on which the two differ.

    `equal` says that the rule claims an equality: with it the original must not be less defined either.
    """

    original: PrimFunc
    rewritten: PrimFunc
    inputs: Inputs
    floats: Floats
    equal: bool
    difference: Difference

    @property
    def size(self) -> int:
        """How much there is to read: statements, expressions and elements."""
        stmts = list(walk(self.original.body))
        exprs = sum(1 for s in stmts for e in stmt_exprs(s) for _ in walk_expr(e))
        return 4 * len(stmts) + exprs + sum(np.size(v) for v in self.inputs.values()) + len(self.original.params)

    def again(self) -> Difference | None:
        """How the two programs differ when they are run again."""
        return compare(self.original, self.rewritten, self.inputs, self.floats, equal=self.equal).difference

    def holds(self) -> bool:
        """Whether the two programs still differ when they are run again."""
        return self.again() is not None

    def brief(self) -> str:
        """How the two differ."""
        return f"Counterexample: {self.difference.what}"

    def sections(self) -> Iterator[Section]:
        """The two programs, the inputs and what they give."""
        yield Section(lines=(str(self),))

    def __str__(self) -> str:
        values = "\n".join(f"    {name} = {_shown(v)}" for name, v in self.inputs.items())
        given = f"with\n{values}" if values else "without inputs"
        found = self.difference
        return (
            f"{found.what}\n"
            f"the program\n{_indented(to_script(self.original))}\n"
            f"becomes\n{_indented(to_script(self.rewritten))}\n"
            f"{given}\n"
            f"the original gives\n{_results(found.original)}\n"
            f"the rewritten one gives\n{_results(found.rewritten)}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Shown):
    """Whether a rule holds: proven for all values, tested on examples, not checked, or refuted by a counterexample.

    `how` says in one line what was done; `matched` is how often the rule was put to a test, and `idle` what of it never
    was, for which it counts as not checked. `missing` names the side condition that a refuted rule lacks, if known.
    """

    rule: str
    status: Status
    how: str
    matched: int = 0
    counterexample: Counterexample | None = None
    idle: str | None = None
    missing: str | None = None

    @property
    def refuted(self) -> bool:
        return self.status == "refuted"

    @property
    def proven(self) -> bool:
        return self.status == "proven"

    @property
    def ok(self) -> bool:
        """Whether the rule may be relied on: proven, or tested on examples that could have shown it wrong."""
        return self.status in ("proven", "tested")

    def __bool__(self) -> bool:
        return self.ok

    def brief(self) -> str:
        """The rule and what was found."""
        return f"Verdict {self.rule}: {self.status}"

    def sections(self) -> Iterator[Section]:
        """What was found, with the counterexample of a refuted rule."""
        yield Section(lines=(str(self),))

    def __str__(self) -> str:
        head = f"{self.rule}: {self.status}: {self.how}"
        if self.idle is not None:
            head += f"; {self.idle}"
        if self.missing is not None:
            head += f"\nwhat seems to be missing: {self.missing}"
        return head if self.counterexample is None else f"{head}\n{self.counterexample}"


def refuse(verdict: Verdict) -> RuleError:
    """The error for a rule that may not be relied on: refuted, or not checked."""
    if verdict.counterexample is None:
        message = f"rule {verdict.rule} could not be checked: {verdict.how}"
        help = "register it with `unchecked=True` if you know that it holds"
        return RuleError("rule-unchecked", message, notes=[] if verdict.idle is None else [verdict.idle], help=help)
    missing = "the side condition that excludes this" if verdict.missing is None else f"a condition: {verdict.missing}"
    return RuleError(
        "rule-refuted",
        f"rule {verdict.rule} does not hold",
        notes=[str(verdict.counterexample)],
        help=f"add {missing}; or register it with `unchecked=True` if you know better",
    )


def _results(outcome: Outcome) -> str:
    if outcome.fault is not None:
        notes = "".join(f" ({note})" for note in outcome.fault.notes)
        return f"    {outcome.fault.code}: {outcome.fault.message}{notes}"
    lines = [f"    {name} = {_shown(v, undef)}" for name, (v, undef) in outcome.results.items()]
    return "\n".join(lines) if lines else "    no fault"


def _shown(value: object, undef: npt.NDArray[np.bool_] | None = None) -> str:
    """An array as nested lists, with undef elements named."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    return _nested(value, undef)


def _nested(values: Array, undef: npt.NDArray[np.bool_] | None) -> str:
    if values.ndim == 0:
        return "undef" if undef is not None and undef[()] else repr(_plain(values[()]))
    parts = (
        _nested(np.asarray(values[k]), None if undef is None else np.asarray(undef[k])) for k in range(len(values))
    )
    return f"[{', '.join(parts)}]"


def _plain(value: object) -> object:
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    return float(value) if isinstance(value, np.generic) else value


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip("\n").split("\n"))
