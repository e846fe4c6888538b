"""Proofs of rules over integers and booleans by z3, for all values."""

from __future__ import annotations

from dataclasses import dataclass

from egraph_rules.rule import Rule


@dataclass(frozen=True, slots=True)
class Attempt:
    """What trying to prove a rule came to, in words."""

    proven: bool = False
    how: str = ""


def attempt(rule: Rule) -> Attempt:
    """Try to prove a rule for all values of its variables."""
    del rule
    return Attempt()
