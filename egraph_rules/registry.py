"""Rules of users beside the built-in ones: registered once checked, and then part of every search."""

from __future__ import annotations

from collections.abc import Iterable

from egraph_rules.rule import Rule
from egraph_rules.rules import FAMILIES, all_rules, search_rules
from ir.errors import RuleError, suggest

_registered: dict[str, Rule] = {}


def register(rule: Rule, *, unchecked: bool = False) -> Rule:
    """Add a rule to all later searches, after checking it; gives the rule back.

    A rule that is registered already is replaced if it has the same name. `unchecked=True` skips the check.

    Raises:
        RuleError: the check refutes the rule; the error shows the smallest counterexample found. Or a built-in rule has
            this name.
    """
    if any(r.name == rule.name for r in all_rules()):
        raise RuleError("rule", f"there is a built-in rule `{rule.name}`", help="give the rule another name or family")
    if not unchecked:
        from egraph_rules.check import check_rule, refuse  # costs hypothesis and z3: only who registers rules pays

        verdict = check_rule(rule)
        if not verdict.ok:
            raise refuse(verdict)
    _registered[rule.name] = rule
    return rule


def unregister(name: str) -> None:
    """Take a registered rule out of later searches.

    Raises:
        RuleError: there is none of this name.
    """
    if name not in _registered:
        help = suggest(name, _registered) or "only rules that were registered can be taken out"
        raise RuleError("rule", f"no rule `{name}` is registered", help=help)
    del _registered[name]


def registered_rules() -> tuple[Rule, ...]:
    """Rules that users have registered, in order."""
    return tuple(_registered.values())


def active_rules(without: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules of a search: the built-in ones and those registered, except some families.

    Raises:
        RuleError: there is no such family.
    """
    rules = (*search_rules(), *registered_rules())
    families = {*FAMILIES, *(r.family for r in rules)}
    excluded = (without,) if isinstance(without, str) else tuple(without)
    for name in excluded:
        if name not in families:
            help = suggest(name, families) or f"the families are {', '.join(sorted(families))}"
            raise RuleError("rule", f"there is no family of rules `{name}`", help=help)
    return tuple(r for r in rules if r.family not in excluded)
