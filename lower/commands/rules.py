"""`loopsat rules`: every rule with its law, its reason, the float freedoms it takes, and how it was checked."""

from __future__ import annotations

import argparse
import json

from egraph_rules.authoring.rule import Rule
from egraph_rules.check.record import verdict_on
from egraph_rules.rules import FAMILIES, all_rules, search_rules
from egraph_rules.rules.registry import registered_rules
from ir.errors import RuleError, suggest
from ir.floats import Floats
from lower.commands.console import console as page_console
from lower.tensor.rules import TensorRule, tensor_rules

TENSOR = "tensor"
_ABOUT_TENSORS = "what a sum over array axes may be instead, when a program is lowered; tested on random tensors"


def run(options: argparse.Namespace) -> None:
    """Print the rules, family by family.

    Raises:
        RuleError: there is no such family.
    """
    rules = (*all_rules(), *registered_rules())
    family: str | None = options.family
    families = dict.fromkeys((*(r.family for r in rules), TENSOR))
    if family is not None and family not in families:
        help = suggest(family, families) or f"the families are {', '.join(families)}"
        raise RuleError("unknown-family", f"there is no family of rules `{family}`", help=help)
    if options.json:
        shown = [
            *(r for r in rules if family in (None, r.family)),
            *(tensor_rules() if family in (None, TENSOR) else ()),
        ]
        print(json.dumps([_fields(rule) for rule in shown], indent=1))
        return
    console = page_console()
    default = {r.name for r in search_rules()}
    for name in families if family is None else (family,):
        title = f"{name}: {_ABOUT_TENSORS if name == TENSOR else FAMILIES.get(name, 'rules of users')}"
        console.print(f"\n[bold]{title}[/bold]" if console.is_terminal else f"\n{title}")
        for rule in (r for r in rules if r.family == name):
            freedoms = f"  [needs {freedom_names(rule.floats)}]" if rule.floats else ""
            use = "" if rule.name in default else "  (not in the default search)"
            console.print(f"  {rule.name}: {rule.law}{freedoms}{use}", markup=False)
            console.print(f"      because {rule.reason}", markup=False)
            console.print(f"      {verdict_on(rule) or 'not checked since it was changed'}", markup=False)
        for idiom in tensor_rules() if name == TENSOR else ():
            freedoms = f"  [needs {freedom_names(idiom.floats)}]" if idiom.floats else ""
            console.print(f"  {idiom.name}: {idiom.law}{freedoms}", markup=False)
            console.print(f"      because {idiom.reason}", markup=False)


def _fields(rule: Rule | TensorRule) -> dict[str, object]:
    verdict = verdict_on(rule) if isinstance(rule, Rule) else None
    return {
        "name": rule.name,
        "family": rule.family if isinstance(rule, Rule) else TENSOR,
        "law": rule.law,
        "reason": rule.reason,
        "floats": freedom_names(rule.floats),
        "checked": None if verdict is None else str(verdict),
    }


def freedom_names(floats: Floats) -> str:
    """Freedoms in words."""
    return ", ".join(str(f.name).lower().replace("_", " ") for f in floats)
