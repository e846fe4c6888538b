"""`loopsat check-rules`: check the built-in rules, or those that a Python file defines, and print each verdict."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from egraph_rules.authoring.rule import Rule
from egraph_rules.check import Verdict, check_rule
from egraph_rules.check.record import record, verdict_on
from egraph_rules.rules import all_rules
from ir.errors import LoopsatError, RuleError, suggest
from lower.commands.console import console as page_console
from lower.commands.scripts import execute

_STYLES = {"proven": "green", "tested": "green", "not checked": "bold yellow", "refuted": "bold red"}
FAILED = 1


def run(options: argparse.Namespace) -> int:
    """Check rules and print what came of it; the exit status is 1 if one is refuted or not checked.

    Raises:
        LoopsatError: the file fails or defines no rule, or there is no rule of that name.
    """
    path: Path | None = options.script
    if options.record and (path is not None or options.rule is not None):
        raise LoopsatError("record", "only a check of all built-in rules is recorded", help="leave out FILE and --rule")
    rules = all_rules() if path is None else rules_of(execute(path), path)
    chosen = named(rules, options.rule)
    if options.record:  # what was recorded of rules that are as they were stands
        chosen = tuple(r for r in chosen if verdict_on(r) is None)
    console = page_console()
    verdicts: list[Verdict] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("checking", total=len(chosen))
        for rule in chosen:
            progress.update(task, description=rule.name)
            verdict = check_rule(rule, examples=options.examples, seed=options.seed)
            verdicts.append(verdict)
            if options.record:  # one by one: an interrupt loses none of those before it
                record(rules, rule, verdict)
            progress.advance(task)
            console.print(Text(str(verdict), style=_STYLES[verdict.status] if console.is_terminal else ""))
    console.print(Text(summary(verdicts)))
    return 0 if all(v.ok for v in verdicts) else FAILED


def rules_of(names: Mapping[str, object], path: Path) -> tuple[Rule, ...]:
    """The rules among a script's global names, those in lists and tuples included, each once.

    Raises:
        RuleError: there are none.
    """
    found: dict[int, Rule] = {}
    for value in names.values():
        parts = cast("Iterable[object]", value) if isinstance(value, (list, tuple)) else (value,)
        for part in parts:
            if isinstance(part, Rule):
                found[id(part)] = part
    if not found:
        help = "decorate a function with @rule, @rewrite or @rewrite_expr, at the top level of the file"
        raise RuleError("no-rule", f"{path} defines no rule", help=help)
    return tuple(found.values())


def named(rules: tuple[Rule, ...], name: str | None) -> tuple[Rule, ...]:
    """The rules of one name or family, or all.

    Raises:
        LoopsatError: there is none.
    """
    if name is None:
        return rules
    chosen = tuple(r for r in rules if name in (r.name, r.family))
    if not chosen:
        known = [*(r.name for r in rules), *{r.family: None for r in rules}]
        raise LoopsatError("unknown-rule", f"there is no rule `{name}`", help=suggest(name, known))
    return chosen


def summary(verdicts: list[Verdict]) -> str:
    """One line on all of them."""
    counts = {status: sum(v.status == status for v in verdicts) for status in _STYLES}
    return f"{len(verdicts)} rules: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count)
