"""What people see of programs, results and kernels: text, one line, notebooks, and tracebacks."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from rich.console import Console
from traitlets.config import Config

import loopsat
from egraph_rules import Result, Rule, check_rule
from egraph_rules.rules import search_rules
from ir import Module, PrimFunc, to_script
from ir.nodes import Binary, Const, For, Load, Var
from ir.page import say
from ir.shown import Shown, text_order

TEXT = """
@T.prim_func
def guarded(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(10):
        if i < 8:
            B[i] = A[i] + 3.0
"""
MODULE = loopsat.parse(TEXT)
FUNC = MODULE["guarded"]
LOOP = FUNC.body
RULES = search_rules()


@pytest.fixture(scope="module")
def result() -> Result:
    return loopsat.optimize(FUNC, k=2)


def test_nodes_print_as_one_writes_them() -> None:
    assert str(FUNC) == to_script(FUNC).rstrip()
    assert str(MODULE) == to_script(MODULE).rstrip()
    assert str(LOOP).startswith("for i in T.serial(10):\n    if i < 8:")
    x = loopsat.T.int32("x")
    assert str((x + 1) * 2) == "(x + 1) * 2"
    assert str(FUNC.buffers[0]) == "A: float32[8]"


def test_repr_is_one_short_line() -> None:
    x = loopsat.T.int32("x")
    assert repr(FUNC) == "<PrimFunc guarded(A: float32[8], B: float32[8], n: int32)>"
    assert repr(MODULE) == "<Module: guarded>"
    assert repr(LOOP) == "<For: for i in T.serial(10): … 2 more>"
    assert repr(x + 1) == "<int32 x + 1>"
    long = x
    for _ in range(400):
        long = long + x
    assert len(repr(long)) <= 102
    assert str(long).count("x") == 401


def test_repr_of_what_is_nested_too_deeply_says_so() -> None:
    deep = loopsat.T.int32("x")
    for _ in range(100_000):
        deep = Binary("add", deep, loopsat.T.int32("x"))
    assert "nested too deeply" in repr(deep)


def test_results_show_programs_costs_and_decisions(result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    text = str(result)
    assert len(text) < 3000
    assert str(result.best) in text and str(FUNC) in text
    assert "cheapest equivalent program: cost 73, was 83" in text
    assert "- branch.true: if i < 8: (<string>:5:9)\n    the condition is always true here" in text
    assert repr(result) == "<Result guarded for cpu: cost 73, was 83; 2 decisions>"
    assert repr(result.report).startswith("<Report: 2 decisions; search: ")
    assert str(result.report) in text.replace("decisions that lead to the cheapest", "decisions")
    result.show()
    assert capsys.readouterr().out.strip() == text.strip()
    (first, *_) = result.derivation()
    assert "\n-    for i in T.serial(10):\n+    for i in T.serial(8):\n" in str(first)
    assert len(repr(result.settings)) < 2000


def test_a_program_that_stays_as_it_is_is_printed_once() -> None:
    func = loopsat.parse(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    for i in range(4):\n        A[i] = 1.0\n'
    )["f"]
    text = str(loopsat.optimize(func))
    assert text.count(str(func)) == 1 and "cheapest equivalent program: as it was given, cost " in text


def test_kernels_schedules_and_jit_functions_print(result: Result) -> None:
    kernel = loopsat.compile(result.best)
    assert repr(kernel).startswith("<Kernel guarded(A: float32[8], B: float32[8], n: int32) -> (B) on ")
    assert kernel.source.rstrip() in str(kernel) and kernel.report[0] in str(kernel)
    schedule = loopsat.Schedule(FUNC)
    schedule.split("i", [5, None])
    assert repr(schedule) == "<Schedule of guarded: 1 step>"
    assert str(schedule.func) in str(schedule) and "sch.split('i', factors=[5, None])" in str(schedule)
    assert repr(schedule.trace) == "<Trace: 1 step>"
    with_call = loopsat.jit(doubled)
    assert repr(with_call) == "<loopsat.jit doubled(A)>"
    with_call(np.ones(4, np.float32))
    assert str(with_call.specialization.func) in str(with_call) and with_call.source.rstrip() in str(with_call)
    assert repr(with_call.specialization).startswith("<Specialization doubled(A: float32[4],")


def doubled(A):  # pyright: ignore
    B = np.zeros(len(A), A.dtype)
    for i in range(len(A)):
        B[i] = A[i] * 2
    return B


def test_rules_and_verdicts_print() -> None:
    rule = next(r for r in RULES if r.name == "integer.add_commutes")
    assert repr(rule) == "<Rule integer.add_commutes: (x + y) = (y + x)>"
    assert str(rule).splitlines() == ["integer.add_commutes", "  (x + y) = (y + x)", "  since addition commutes"]
    verdict = check_rule(rule, examples=2)
    assert repr(verdict) == "<Verdict integer.add_commutes: proven>"
    assert str(verdict).startswith("integer.add_commutes: proven: ")


def shown(result: Result) -> list[Shown]:
    rule: Rule = RULES[0]
    func: PrimFunc = FUNC
    module: Module = MODULE
    kernel = loopsat.compile(result.best)
    return [func, module, func.body, func.buffers[0], result, result.report, kernel, rule, loopsat.Schedule(func)]


def test_notebooks_show_all_of_it_in_colours(result: Result) -> None:
    for value in shown(result):
        data, _ = DisplayFormatter().format(value)
        assert data["text/plain"] == str(value)
        assert data["text/html"].startswith("<div>") and data["text/html"].count("<div") == data["text/html"].count(
            "</div>"
        )
    assert "i &lt; 8" not in to_script(FUNC)
    assert "<script" not in DisplayFormatter().format(loopsat.T.int32("x"))[0]["text/html"]


def test_html_escapes_what_programs_say() -> None:
    func = loopsat.parse(
        """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    for i in range(8):
        assert i < 8, "<script>alert(1)</script>"
        A[i] = i
"""
    )["f"]
    assert "<script" not in DisplayFormatter().format(func)[0]["text/html"]


def test_text_order_tells_dtypes_of_one_text_by_kind_only() -> None:
    x = Var("x", FUNC.scalars[0].dtype)
    assert isinstance(LOOP, For)
    assert text_order(x) == ("Var", "x")
    nodes = [x + 1, x, Const(3, x.dtype), Load(FUNC.buffers[0], (x,))]
    assert [type(n).__name__ for n in sorted(nodes, key=text_order)] == ["Binary", "Const", "Load", "Var"]


CELL = """
from ir import script as T

@T.prim_func
def kernel(A: T.Buffer((4,), "int32")):
    for i in T.serial(5):
        A[i] = 0
"""


def test_tracebacks_in_notebooks_show_the_users_line_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings = Config()
    settings.HistoryManager.enabled = False
    ran = InteractiveShell(ipython_dir=str(tmp_path), config=settings).run_cell(CELL)
    printed = capsys.readouterr().out
    assert isinstance(ran.error_in_exec, loopsat.LoopsatError)
    assert "A[i] = 0\n" in printed and "error[store-out-of-bounds]" in printed and "^^^^" in printed
    assert "@T.prim_func" in printed
    for file in ("dialect.py", "verify.py", "interactiveshell.py"):
        assert file not in printed


def test_prose_goes_on_below_where_a_terminal_is_narrow() -> None:
    wide, narrow = io.StringIO(), io.StringIO()
    text = "  - one two three four five six seven eight nine ten eleven\nlast"
    say(Console(file=wide, soft_wrap=True), text, style="bold")
    say(Console(file=narrow, width=30, force_terminal=True, color_system=None, soft_wrap=True), text)
    assert wide.getvalue() == text + "\n"
    lines = narrow.getvalue().splitlines()
    assert max(map(len, lines)) <= 30 and lines[0].startswith("  - one") and lines[1].startswith("    ")
    assert "".join(narrow.getvalue().split()) == "".join(text.split())
