"""The page of a result: well-formed, self-contained, complete; and that decisions tell the whole way to a result."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from egraph_rules import Result, optimize
from egraph_rules.cost.target import CPU
from ir import parse
from ir.schedule import Schedule
from ir.schedule.paddings import paddings
from lower import compile, structure
from lower.commands.cli import main
from lower.commands.report import panels
from lower.runtime.calibration import Machine
from lower.tune.measure import Profile, Timing
from profiles import some

ROOT = Path(__file__).parent.parent
SMALL = ROOT / "examples" / "padded_row_sum_small.py"
PROGRAMS = parse((ROOT / "benchmarks" / "small_programs.py").read_text())
VOID = {"meta", "input", "br", "img", "hr", "link"}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def result() -> Result:
    return optimize(PROGRAMS["padded_local"], k=2)


@pytest.fixture(scope="module")
def text(result: Result) -> str:
    return result.to_html()


class Checker(HTMLParser):
    """Notes elements that are not closed in order, doubled ids, links to nothing, and what would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.wrong: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [str(given["id"])] if "id" in given else []
        self.links += [str(given["href"])] if "href" in given else []
        if "src" in given or tag in ("link", "iframe", "img", "object"):
            self.wrong.append(f"<{tag}> loads something")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


def checked(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.wrong == []
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    for link in checker.links:
        assert link.startswith("#") and link[1:] in checker.ids
    return checker


def test_the_page_is_well_formed_and_fetches_nothing(text: str) -> None:
    checked(text)
    styles = "".join(re.findall(r"<style>(.*?)</style>", text, re.S))
    assert "url(" not in styles and "@import" not in styles
    assert "prefers-color-scheme: dark" in styles


def test_the_page_has_all_that_was_found(result: Result, text: str) -> None:
    words = "".join(checked(text).words)
    for decision in result.report.decisions:
        for part in (decision.rule, decision.place, decision.fact, f"{decision.saved:,.0f}"):
            assert part in words
    assert text.count('<div class="step">') == len(result.derivation())
    assert words.count("variant ") == 2
    for func, cost in result.variants:
        assert f"{cost:,.0f}" in words
        assert all(line in words for line in str(func).splitlines())
    assert {"egraphs", "viewer", "viewer-style", "statement", "slider"} <= set(checked(text).ids)


def test_text_of_users_is_no_markup() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((9,), "int32")):\n    if A[1] < 3:\n        A[0] = 1\n'
    page = optimize(parse(text)["f"]).to_html(egraph=False)
    checked(page)
    assert "A[1] &lt; 3" in page


def test_a_page_without_anything_cheaper() -> None:
    result = optimize(PROGRAMS["transposed"])
    assert "No rule found anything cheaper." in "".join(checked(result.to_html(egraph=False)).words)


@pytest.mark.parametrize("known", [True, False])
def test_what_is_measured_goes_with_it(result: Result, known: bool) -> None:
    kernel = compile(result.best)
    timing = Timing(2e-3, 1e-3, 3e-3, 9)
    profiles = [Profile(n, 5.0, timing, 0.1, 1e-3, 0.5, 4096, 0, 1e4, 1e6 if known else None) for n in ("slow", "fast")]
    machine = Machine(((1 << 20, 2e10),), 1e11, 1e-5, 1e-8) if known else None
    page = result.to_html(panels(kernel, structure(kernel.func), None, profiles, machine), egraph=False)
    words = "".join(checked(page).words)
    assert "roofline" in page
    assert "How it will run" in words
    assert unescape(kernel.source) in words
    assert ("100 GFLOP/s" in words) is known
    assert ("loopsat calibrate" in words) is not known
    assert page.count('class="point"') == 2 * known


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["optimize", str(SMALL), "--no-run", "--html", str(page)]) == 0
    assert f"written: {page}" in capsys.readouterr().out
    words = "".join(checked(page.read_text()).words)
    assert "coloured elements are padding, assumed to be 0.0" in words
    assert "import jax" in words
    assert main(["optimize", str(SMALL), "--html", str(page), "--emit", "ir"]) == 2


def test_cells_of_tables_know_their_heads(text: str) -> None:
    """Where a page is narrow, rows are lists of heads and cells."""
    (heads,) = set(re.findall(r"<thead><tr>(.*?)</tr></thead>", text)[:1])
    names = re.findall(r"<th[^>]*>(.*?)</th>", heads)
    assert re.findall(r'data-head="(.*?)"', text)[: len(names)] == names


@pytest.mark.skipif(BROWSER is None, reason="needs a browser")
def test_a_browser_draws_it(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(text)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]
    command = [str(BROWSER), *options, f"--user-data-dir={tmp_path}", page.as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert 'data-ready="yes"' in drawn  # the viewer of e-graphs has started
    assert drawn.count('<div class="step">') == 1
    assert drawn.count('<div class="step" hidden="">') == text.count('<div class="step">') - 1


# Padding ------------------------------------------------------------------------------------------------------------


def test_padding_by_assumptions_and_by_layout() -> None:
    func = parse(SMALL.read_text())["row_sum"]
    (found,) = paddings(func)
    assert found.buffer.name == "A"
    assert not found.whole
    assert found.is_padding.tolist() == ([[False] * 4] * 3 + [[False, False, True, True]]) * 6
    text = '@T.prim_func\ndef f(A: T.Buffer((5,), "int32")):\n    for i in T.serial(5):\n        A[i] = A[i] + 1'
    schedule = Schedule(parse(text))
    schedule.transform_layout("root", "A", lambda i: [i // 4, i % 4])
    (found,) = paddings(schedule.func)
    assert found.whole
    assert found.is_padding.tolist() == [[False] * 4, [False, True, True, True]]
    assert paddings(parse(text)["f"]) == []


def test_padding_that_hangs_on_data_or_sizes_is_left_out() -> None:
    text = """
@T.prim_func
def f(n: T.int32, A: T.Buffer((n,), "int32"), B: T.Buffer((4,), "int32")):
    for i in T.serial(n):
        T.assume(A[i] == 0)
    for i in T.serial(4):
        T.assume(B[i] > 2 or B[i] == 1)
    B[0] = 0
"""
    assert paddings(parse(text)["f"]) == []


# Decisions ----------------------------------------------------------------------------------------------------------

NAMES = (
    "quotient_of_power", "blocked_sum", "few_of_padded", "padded_local", "unused_padding", "clamped", "masked_total",
    "transposed", "tiled_scale",
)  # fmt: skip


@pytest.mark.parametrize("name", some(NAMES, 0.37))
def test_decisions_lead_from_the_first_price_to_the_last(name: str) -> None:
    result = optimize(PROGRAMS[name])
    decisions, (_, cost) = result.report.decisions, result.variants[0]
    prices = [result.cost_before, *(d.after for d in decisions)]
    assert [d.before for d in decisions] == pytest.approx(prices[:-1])
    assert prices[-1] == pytest.approx(cost)
    assert ("no rule found anything cheaper" in str(result)) is (not decisions)
    assert bool(decisions) is (cost < result.cost_before)
    assert sum(d.saved for d in decisions) == pytest.approx(result.cost_before - cost)


def test_loops_that_no_rule_touches_keep_their_names() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32"), C: T.Buffer((9,), "int32")):
    for row in T.serial(8):
        for column in T.serial(8):
            B[row, column] = A[column, row]
    for k in T.serial(9):
        if k < 20:
            C[k] = 1
    for x in T.serial(8):
        for y in T.serial(8):
            A[x, y] = A[x, y] + B[y, x]
"""
    for step in optimize(parse(text)["f"], target=CPU).derivation():
        for line in ("for row, column in T.grid(8, 8):", "for x, y in T.grid(8, 8):"):
            assert line in str(step.before) and line in str(step.after)
