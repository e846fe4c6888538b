"""`loopsat rules`: every built-in rule with its law, its reason and the float freedoms it takes."""

from __future__ import annotations

import argparse

from rich.console import Console

from egraph_rules.rule import Floats
from egraph_rules.rules import all_rules


def run(options: argparse.Namespace) -> None:
    """Print the rules, family by family."""
    del options
    console = Console(highlight=False, soft_wrap=True)
    family = ""
    for rule in all_rules():
        if rule.family != family:
            family = rule.family
            console.print(f"\n[bold]{family}[/bold]" if console.is_terminal else f"\n{family}")
        freedoms = f"  [needs {freedom_names(rule.floats)}]" if rule.floats else ""
        console.print(f"  {rule.name}: {rule.law}{freedoms}", markup=False)
        console.print(f"      because {rule.reason}", markup=False)


def freedom_names(floats: Floats) -> str:
    """Freedoms in words."""
    return ", ".join(str(f.name).lower().replace("_", " ") for f in floats)
