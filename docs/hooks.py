"""Pages of the site that are made from the code: rules, the Python interface, the command line; and from the README."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import loopsat
from egraph_rules.check.record import verdict_on
from egraph_rules.rules import FAMILIES, all_rules, search_rules
from ir.floats import freedom_names
from loopsat import testing
from lower.analysis.freedoms import FAMILIES as FORM_FAMILIES
from lower.commands.cli import command_parsers
from lower.runtime.switches import FORMS

ROOT = Path(__file__).parent.parent
MORE = {  # public names that are not in `loopsat` itself
    "Rules and directed steps": ("egraph_rules", ("Result", "Report", "register", "rewrite", "rewrite_expr")),
    "Budgets and targets": ("egraph_rules.engine.phases", ("Budget",)),
    "Programs": ("ir", ("Module", "PrimFunc", "parse_expr", "specialize", "to_script", "verify")),
    "Bounds and layouts": ("ir", ("bounds.infer_bounds", "schedule.layout.Layout", "schedule.layout.layout_of")),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated."""
    pages = {
        "rule-list.md": rules(),
        "api.md": interface(),
        "commands.md": commands(),
        "limits.md": limits(),
        "changes.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def rules() -> str:
    """Every rule and form with its law, reason, freedoms and how it was checked, by family."""
    default = {rule.name for rule in search_rules()}
    lines = [
        "# Rules",
        "",
        "Those of the search, and forms of lowering; `loopsat rules` prints the same.",
        "",
    ]
    for family in dict.fromkeys(rule.family for rule in all_rules()):
        lines += [f"## {family}", "", FAMILIES[family], ""]
        for rule in (r for r in all_rules() if r.family == family):
            lines += [f"### `{rule.name}`", "", *_law(rule.law), f"Because {rule.reason}."]
            if rule.floats:
                lines.append(f"Needs the float freedoms {', '.join(freedom_names(rule.floats))}.")
            if rule.name not in default and rule.terms is None:
                lines.append("Not in the default search.")
            lines += [f"Checked: {verdict_on(rule) or 'not since it was changed'}.", ""]
    for family, about in FORM_FAMILIES.items():
        lines += [f"## {family}", "", f"{about[0].upper()}{about[1:]}. Chosen by price when a program is lowered.", ""]
        for form in (f for f in FORMS if f.family == family):
            lines += [f"### `{form.name}`", "", *_law(form.law), f"Because {form.reason}."]
            if form.floats:
                lines.append(f"Needs the float freedoms {', '.join(freedom_names(form.floats))}.")
            lines.append("")
    return "\n".join(lines)


def _law(law: str) -> list[str]:
    return ["```text", law, "```", ""]


def interface() -> str:
    """The public names, from their docstrings."""
    lines = ["# Python interface", "", "What `import loopsat` gives, and what else programs use.", ""]
    for title, found in _public():
        lines += [f"## {title}", ""]
        for name in found:
            lines += [
                f"::: {name}",
                *(["    options:", "      members: true"] if name.rpartition(".")[2] in _CLASSES else []),
                "",
            ]
    return "\n".join(lines)


_CLASSES = {"Schedule", "Result", "Layout"}  # whose methods are the interface


def _public() -> Iterator[tuple[str, list[str]]]:
    """Titles, and the names under them, as programs import them."""
    yield "loopsat", [f"loopsat.{n}" for n in loopsat.__all__ if n not in ("T", "__version__", "testing")]
    yield "loopsat.testing", [f"lower.check.testing.{name}" for name in testing.__all__]
    for title, (module, names) in MORE.items():
        yield title, [f"{module}.{name}" for name in names]


def commands() -> str:
    """The help of every command."""
    lines = ["# Command line", ""]
    for name, parser in command_parsers().items():
        lines += [f"## loopsat {name}", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def limits() -> str:
    """The limits that the README names."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return "# Known limits\n" + text.partition("## Limits and known gaps\n")[2]
