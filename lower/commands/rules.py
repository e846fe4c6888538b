"""`loopsat rules`: every rule, of the search and on tensor terms, and every form of lowering, with law, reason and the
float freedoms it takes; of rules besides how they were checked."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence

from egraph_rules.authoring.instructions import FAMILY, all_library_rules
from egraph_rules.authoring.rule import Rule
from egraph_rules.check.record import verdict_on
from egraph_rules.rules import FAMILIES as RULE_FAMILIES
from egraph_rules.rules import all_rules, search_rules
from egraph_rules.rules.registry import registered_rules
from ir.errors import RuleError, suggest
from ir.floats import Floats
from ir.nodes import PrimFunc
from ir.page import say
from lower.analysis.freedoms import FAMILIES as FORM_FAMILIES
from lower.analysis.freedoms import Form
from lower.commands.console import console as page_console
from lower.runtime.switches import FORMS

Listed = Rule | Form
_ABOUT = {
    **RULE_FAMILIES,
    **{name: f"{about}; chosen by price when a program is lowered" for name, about in FORM_FAMILIES.items()},
}


def run(options: argparse.Namespace) -> None:
    """Print rules and forms, family by family.

    Raises:
        RuleError: there is no such family.
    """
    family: str | None = options.family
    library = all_library_rules() if family == FAMILY or options.json else ()
    listed: tuple[Listed, ...] = (*all_rules(), *registered_rules(), *FORMS, *library)
    families = dict.fromkeys(one.family for one in listed)
    if family is not None and family not in families:
        help = suggest(family, families) or f"the families are {', '.join(families)}"
        raise RuleError("unknown-family", f"there is no family of rules `{family}`", help=help)
    shown = [one for one in listed if family in (None, one.family)]
    if options.json:
        print(json.dumps([_fields(one) for one in shown], indent=1))
        return
    console = page_console()
    default = {r.name for r in search_rules()}
    for name in families if family is None else (family,):
        title = f"{name}: {_ABOUT.get(name, 'rules of users')}"
        say(console, f"\n{title}", style="bold")
        for one in (o for o in shown if o.family == name and o not in library):
            freedoms = f"  [needs {freedom_names(one.floats)}]" if one.floats else ""
            searched = one.name in default or (isinstance(one, Rule) and one.instruction is not None)
            beside = isinstance(one, Rule) and one.terms is None and not searched
            use = "  (not in the default search)" if beside else ""
            say(console, f"  {one.name}: {one.law}{freedoms}{use}")
            say(console, f"      because {one.reason}")
            if isinstance(one, Rule):
                say(console, f"      {_checked(one)}")
        if name == FAMILY and family is None:
            count = len(all_library_rules())
            say(console, f"  and {count} rules of the library, which `loopsat rules {FAMILY}` lists")
        elif name == FAMILY:
            for line in _ways(library):
                say(console, line)


def _ways(library: Sequence[Rule]) -> Iterator[str]:
    """The instructions of the library, each with the ways to write it."""
    ways: dict[PrimFunc, list[Rule]] = {}
    for rule in library:
        if rule.instruction is not None:
            ways.setdefault(rule.instruction, []).append(rule)
    for instruction, rules in ways.items():
        freedoms = freedom_names(rules[0].floats)
        yield f"  {instruction.signature}{f'  [needs {freedoms}]' if freedoms else ''}"
        names = ", ".join(r.name.partition(".")[2] for r in rules)
        yield f"      because each nest is proven to do the same, written as {names}"


def _checked(rule: Rule) -> str:
    if rule.instruction is not None:
        return "each nest is proven to be its body; its text is compared with that when it is first emitted"
    return str(verdict_on(rule) or "not checked since it was changed")


def _fields(one: Listed) -> dict[str, object]:
    verdict = verdict_on(one) if isinstance(one, Rule) else None
    return {
        "name": one.name,
        "family": one.family,
        "law": one.law,
        "reason": one.reason,
        "floats": freedom_names(one.floats),
        "checked": None if verdict is None else str(verdict),
    }


def freedom_names(floats: Floats) -> str:
    """Freedoms in words."""
    return ", ".join(str(f.name).lower().replace("_", " ") for f in floats)
