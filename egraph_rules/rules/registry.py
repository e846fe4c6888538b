"""Which rules a search uses: the built-in ones and those that users have registered, by family."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from egraph_rules.authoring.instructions import all_library_rules
from egraph_rules.authoring.rule import Rule
from egraph_rules.rules import FAMILIES, all_rules, search_rules
from egraph_rules.rules.tensor import TENSOR_RULES
from ir.errors import RuleError, suggest

_registered: dict[str, Rule] = {}


def add(rule: Rule) -> None:
    """Make a rule part of all later searches, in place of a registered one of the same name.

    Raises:
        RuleError: a built-in rule has this name.
    """
    if any(r.name == rule.name for r in all_rules()):
        raise RuleError("rule", f"there is a built-in rule `{rule.name}`", help="give the rule another name or family")
    _registered[rule.name] = rule


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


def known_rules() -> tuple[str, ...]:
    """Families and names of the rules that a search or lowering may use, families first."""
    rules = (*search_rules(), *TENSOR_RULES, *registered_rules(), *all_library_rules())
    return (*dict.fromkeys((*FAMILIES, *(r.family for r in rules))), *(r.name for r in rules))


def is_rule(name: str) -> bool:
    """Whether a family or a rule is called so."""
    return name in known_rules()


def named(without: Iterable[str]) -> tuple[str, ...]:
    """Names of families and rules; one may be given as it is."""
    return (without,) if isinstance(without, str) else tuple(without)


def active_rules(without: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules of a search: the built-in ones and those registered, except some by family or name.

    Raises:
        RuleError: there is no such family or rule.
    """
    excluded = named(without)
    known = known_rules() if excluded else ()
    for name in excluded:
        if name not in known:
            families = sorted(name for name in known if "." not in name)
            help = suggest(name, known) or f"the families are {', '.join(families)}"
            raise RuleError("rule", f"there is no family of rules `{name}`, nor a rule", help=help)
    rules = (*search_rules(), *(r for r in registered_rules() if r.terms is None))
    return kept_rules(rules, excluded)


def active_tensor_rules(without: Collection[str] = ()) -> tuple[Rule, ...]:
    """The rules over tensor terms, built-in and registered, except some by family or name."""
    rules = (*TENSOR_RULES, *(r for r in registered_rules() if r.terms is not None))
    return kept_rules(rules, without)


def kept_rules(rules: Iterable[Rule], without: Collection[str]) -> tuple[Rule, ...]:
    """Rules except some by family or name."""
    return tuple(r for r in rules if r.family not in without and r.name not in without)
