"""The verdicts on built-in rules, kept beside them: `loopsat rules` shows them without checking anew.

A verdict counts for the rule as it was checked. A rule that runs in Python is told apart by what its module does: by
its text without imports, comments and layout, so that to move files is not to change rules.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import cast

from egraph_rules.authoring.rule import Rule
from egraph_rules.check.verdict import Verdict
from ir.files import replace_file
from ir.syntax import python_syntax

PATH = Path(__file__).with_name("verdicts.json")


def fingerprint(rule: Rule) -> str:
    """What a verdict holds for: the rule's law, program and code."""
    function = rule.propose or rule.propose_expr
    code = "" if function is None else _source(function.__module__)
    return hashlib.sha256("\0".join((rule.name, rule.law, str(rule.floats), rule.program, code)).encode()).hexdigest()[
        :16
    ]


@cache
def _source(module: str) -> str:
    file = sys.modules[module].__file__
    if file is None:
        return ""
    tree = python_syntax(Path(file).read_text(encoding="utf-8"))
    return ast.unparse(ast.Module([n for n in tree.body if not isinstance(n, (ast.Import, ast.ImportFrom))], []))


def record(rules: Iterable[Rule], rule: Rule, verdict: Verdict) -> None:
    """Keep the verdict on one of all `rules` beside those that still hold; rules that are gone are forgotten.

    Raises:
        OSError: the file beside the package cannot be written.
    """
    found = {r.name: _known()[r.name] for r in rules if verdict_on(r) is not None}
    said = ": ".join(filter(None, (verdict.status, verdict.idle, verdict.how)))
    found[rule.name] = {"fingerprint": fingerprint(rule), "checked": said}
    replace_file(PATH, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())
    _known.cache_clear()


def verdict_on(rule: Rule) -> str | None:
    """How a rule was checked, in words; None if it was not, or has changed since."""
    entry = _known().get(rule.name)
    return entry["checked"] if entry is not None and entry["fingerprint"] == fingerprint(rule) else None


@cache
def _known() -> dict[str, dict[str, str]]:
    if not PATH.exists():
        return {}
    return cast("dict[str, dict[str, str]]", json.loads(PATH.read_text(encoding="utf-8")))
