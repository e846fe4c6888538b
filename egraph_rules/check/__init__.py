"""Checking of rules: proofs by z3, random instances, and random programs against the interpreter."""

from egraph_rules.check.checker import check_rule
from egraph_rules.check.verdict import Counterexample, Verdict, refuse

__all__ = ["Counterexample", "Verdict", "check_rule", "refuse"]
