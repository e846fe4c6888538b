"""What checking a rule found, as users read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from ir.errors import RuleError
from ir.page import Section
from ir.shown import Shown
from ir.testing.counterexample import Counterexample

Status = Literal["proven", "tested", "not checked", "refuted"]


class Verdict(Shown, Struct, frozen=True):
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
    if verdict.refuted and verdict.counterexample is None:
        help = "add the side condition that excludes this; or register it with `unchecked=True` if you know better"
        return RuleError("rule-refuted", f"rule {verdict.rule} does not hold", notes=[verdict.how], help=help)
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
