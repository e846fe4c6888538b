"""A result as one self-contained page: nothing of it comes from a network, and it can be read without scripts.

Source and result side by side, decisions with fact and price, the steps behind a slider, variants, padding as grids,
and the e-graph of a statement in the viewer that egglog brings. The look is in the files of `page/`.
"""

from __future__ import annotations

import base64
import difflib
import gzip
import html
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from string import Template

from msgspec import Struct

from egraph_rules.explain.decisions import Decision
from egraph_rules.explain.derivation import Step
from egraph_rules.explain.graphs import Graph
from ir.nodes import PrimFunc
from ir.printing.printer import to_script
from ir.schedule.paddings import Padding, paddings

_CELL = 16  # pixels
_TITLES = {
    "programs": "Source and result",
    "decisions": "Decisions",
    "steps": "Steps",
    "variants": "Variants",
    "padding": "Padding",
    "egraph": "E-graph of a statement",
}


class Panel(Struct, frozen=True):
    """A section of the page: a short name for links, a title, and HTML."""

    name: str
    title: str
    content: str


class Found(Struct, frozen=True):
    """What a page tells of a search."""

    func: PrimFunc
    variants: Sequence[tuple[PrimFunc, float]]
    cost_before: float
    decisions: Sequence[Decision]
    remarks: Sequence[str]
    steps: Sequence[Step]
    graphs: Sequence[Graph]


def page(found: Found, target: str, more: Iterable[Panel] = ()) -> str:
    """The page, with panels of others after those on the search itself."""
    best, cost = found.variants[0]
    panels = [
        _panel("programs", side_by_side(found.func, best, ("as written", "cheapest equivalent program"))),
        _panel("decisions", _decisions(found.decisions, found.remarks)),
    ]
    panels += [_panel("steps", _steps(found.steps))] if found.steps else []
    panels += [_panel("variants", _variants(found.variants, found.cost_before))]
    padded = paddings(found.func)
    panels += [_panel("padding", _grids(padded))] if padded else []
    panels += [*more]
    panels += [_panel("egraph", _egraph(found.graphs))] if found.graphs else []
    title = f"{found.func.name}, target {target}"
    summary = f"Cost {cost:,.0f}, was {found.cost_before:,.0f}, in elements loaded."
    here = files("egraph_rules.explain") / "page"
    texts = {name: (here / f"page.{name}").read_text(encoding="utf-8") for name in ("html", "css", "js")}
    return Template(texts["html"]).substitute(
        title=html.escape(title),
        summary=html.escape(summary),
        style=texts["css"],
        script=texts["js"],
        contents=" ".join(f'<a href="#{p.name}">{html.escape(p.title)}</a>' for p in panels),
        sections="\n".join(_section(p) for p in panels),
    )


def _panel(name: str, content: str) -> Panel:
    return Panel(name, _TITLES[name], content)


def _section(panel: Panel) -> str:
    return f'<section id="{panel.name}"><h2>{html.escape(panel.title)}</h2>\n{panel.content}\n</section>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of cells that are HTML; columns of `numbers` are aligned on the right.

    Each cell knows the head of its column, which stands beside it where a page is narrow.
    """
    right = set(numbers)

    def cells(kind: str, values: Sequence[str]) -> str:
        found: list[str] = []
        for k, (head, value) in enumerate(zip(heads, values, strict=True)):
            number = ' class="number"' if k in right else ""
            named = f' data-head="{html.escape(head)}"' if kind == "td" else ""
            found.append(f"<{kind}{number}{named}>{f'<div>{value}</div>' if kind == 'td' else value}</{kind}>")
        return "".join(found)

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{cells("th", heads)}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
    )


# Programs ------------------------------------------------------------------------------------------------------------


def side_by_side(before: PrimFunc, after: PrimFunc, titles: tuple[str, str]) -> str:
    """Two programs, the lines that changed marked."""
    old, new = (to_script(f).rstrip("\n").split("\n") for f in (before, after))
    gone: set[int] = set()
    come: set[int] = set()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            gone |= set(range(i1, i2))
            come |= set(range(j1, j2))
    parts = (
        f"<div><h3>{html.escape(title)}</h3>{_lines(text, marked, kind)}</div>"
        for title, text, marked, kind in zip(titles, (old, new), (gone, come), ("gone", "new"), strict=True)
    )
    return f'<div class="pair">{"".join(parts)}</div>'


def _lines(lines: Sequence[str], marked: set[int], kind: str) -> str:
    shown = (
        f'<span class="{kind}">{html.escape(line)}</span>' if k in marked else f"<span>{html.escape(line)}</span>"
        for k, line in enumerate(lines)
    )
    return f"<pre>{''.join(shown)}</pre>"


def _decisions(decisions: Sequence[Decision], remarks: Sequence[str]) -> str:
    rows = [
        (
            f'<code>{html.escape(d.rule)}</code><br><span class="faint">{html.escape(d.law)}</span>',
            f"<code>{html.escape(d.place)}</code>",
            html.escape(d.fact),
            f"{d.before:,.0f}",
            f"{d.after:,.0f}",
            f"{d.saved:,.0f}",
        )
        for d in decisions
    ]
    shown = table(("rule", "place", "fact", "cost before", "after", "saved"), rows, (3, 4, 5)) if rows else ""
    return shown + "".join(f"<p>{html.escape(r)}</p>" for r in remarks)


def _steps(steps: Sequence[Step]) -> str:
    shown: list[str] = []
    for number, step in enumerate(steps, 1):
        rule, place = (f"<code>{html.escape(text)}</code>" for text in (step.rule, step.place))
        head = f"{number} of {len(steps)}: {rule} at {place}"
        law = f'<p class="faint">{html.escape(step.law)}</p>' if step.law else ""
        programs = side_by_side(step.before, step.after, ("before", "after"))
        shown.append(f'<div class="step"><p>{head}<br>{html.escape(step.fact)}</p>{law}{programs}</div>')
    top = f'max="{len(steps) - 1}" value="0" aria-label="step"'
    return f'<input type="range" id="slider" min="0" {top} hidden>\n' + "\n".join(shown)


def _variants(variants: Sequence[tuple[PrimFunc, float]], before: float) -> str:
    shown: list[str] = []
    for rank, (func, cost) in enumerate(variants, 1):
        text = to_script(func).rstrip("\n").split("\n")
        head = f"variant {rank}: cost {cost:,.0f}, was {before:,.0f}"
        shown.append(f"<details><summary>{head}</summary>{_lines(text, set(), '')}</details>")
    return "".join(shown)


# Padding -------------------------------------------------------------------------------------------------------------


def _grids(padded: Sequence[Padding]) -> str:
    shown = "".join(f"<figure>{_grid(p)}<figcaption>{html.escape(_caption(p))}</figcaption></figure>" for p in padded)
    return f'<div class="grids">{shown}</div>'


def _caption(padding: Padding) -> str:
    rest = "" if padding.whole else "; its first elements"
    return f"{padding.buffer}: coloured elements are padding, {padding.why}{rest}"


def _grid(padding: Padding) -> str:
    rows, columns = padding.is_padding.shape
    cells = (
        f'<rect x="{c * _CELL}" y="{r * _CELL}" width="{_CELL}" height="{_CELL}" '
        f'class="{"pad" if padding.is_padding[r, c] else "cell"}"/>'
        for r in range(rows)
        for c in range(columns)
    )
    size = f'width="{columns * _CELL}" height="{rows * _CELL}" viewBox="0 0 {columns * _CELL} {rows * _CELL}"'
    return f'<svg class="drawn" {size} role="img" aria-label="padding">{"".join(cells)}</svg>'


# E-graphs ------------------------------------------------------------------------------------------------------------


def _egraph(graphs: Sequence[Graph]) -> str:
    options = "".join(f'<option value="{k}">{html.escape(g.title)}</option>' for k, g in enumerate(graphs))
    stored = json.dumps([g.content for g in graphs]).replace("<", "\\u003c")
    about = "boxes are classes of what is equal at the place; loop variables are numbered by depth"
    chosen = f'<label>statement <select id="statement">{options}</select></label>'
    return "\n".join(
        [
            f'<p>{chosen} <span class="faint">{about}</span></p>',
            '<div id="graph"></div>',
            f'<script type="application/json" id="egraphs">{stored}</script>',
            *_viewer(),
        ]
    )


def _viewer() -> Iterator[str]:
    """egglog's viewer, compressed: it is some megabytes of JavaScript."""
    for name, file in (("viewer", "visualizer.js"), ("viewer-style", "visualizer.css")):
        data = gzip.compress((files("egglog") / file).read_bytes(), mtime=0)
        yield f'<script type="text/plain" id="{name}">{base64.b64encode(data).decode()}</script>'
