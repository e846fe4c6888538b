"""`import loopsat`: the names it gives, and that programs are priced as they will run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import egraph_rules
import ir
import loopsat
import lower
import typed_dialect
from egraph_rules.cost.whole import NEAR
from ir import script
from ir.errors import VerifyError
from ir.schedule import Schedule
from loopsat import T
from lower.price.program import program_price
from profiles import some

ROOT = Path(__file__).parent.parent
PROGRAMS = loopsat.parse((ROOT / "benchmarks" / "small_programs.py").read_text())


def test_names_are_those_of_their_homes() -> None:
    homes = {
        ir: ["LoopsatError", "interpret", "parse"],
        egraph_rules: ["check_rule", "prove", "rule", "simplify"],
        lower: ["compile", "emit", "export"],
    }
    for home, names in homes.items():
        assert all(getattr(loopsat, name) is getattr(home, name) for name in names)
    assert loopsat.Schedule is Schedule
    assert T.Buffer is script.Buffer
    assert loopsat.__version__
    assert all(hasattr(loopsat, name) for name in loopsat.__all__)


def test_programs_are_priced_as_they_will_run() -> None:
    func = PROGRAMS["unused_padding"]
    alone, priced = loopsat.optimize(func, whole=None), loopsat.optimize(func)
    assert not alone.report.priced
    assert priced.report.priced
    assert alone.best != priced.best
    assert program_price(priced.best) < program_price(alone.best)
    assert program_price(priced.best) <= NEAR * program_price(func)


def test_a_price_may_be_given() -> None:
    seen: list[ir.PrimFunc] = []

    def price(func: ir.PrimFunc) -> float:
        seen.append(func)
        return 1.0

    loopsat.optimize(PROGRAMS["unused_padding"], whole=price)
    assert seen


def test_a_program_without_a_meaning_is_refused_before_it_is_priced() -> None:
    func = loopsat.parse('@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    for i in range(5):\n        A[i] = i\n')
    with pytest.raises(VerifyError, match="A may leave its shape"):
        loopsat.optimize(func["f"])


@pytest.mark.parametrize("module", some(["loopsat", "lower.commands.cli"], 1))
def test_the_command_line_is_a_module(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == f"loopsat {loopsat.__version__}\n", done.stderr


def test_the_exit_status_is_that_of_the_command() -> None:
    command = [sys.executable, "-m", "lower.commands.cli", "rules", "no such family"]
    assert subprocess.run(command, capture_output=True, text=True, cwd=ROOT).returncode == 2


def test_names_of_kernels_are_there_to_look_up() -> None:
    for name in ("grid", "serial", "assume", "alloc_buffer", "block", "axis", "match_buffer"):
        assert getattr(T, name).__doc__
    with pytest.raises(loopsat.LoopsatError, match="read and not run"):
        T.assume(True)


@pytest.mark.parametrize("package", ["ir", "egraph_rules", "lower"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


def test_dtypes_are_types_of_parameters() -> None:
    assert str(typed_dialect.VALUE) == 'T.if_then_else(b and n < 8, T.cast(n, "int64") + 3, -9223372036854775808)'
    assert typed_dialect.scaled.signature == "scaled(x: float32, by: int32)"
    assert "T.assume" not in str(typed_dialect.BEST)


def test_a_search_imports_no_more_than_it_needs() -> None:
    code = """
import sys
import loopsat
func = loopsat.parse(open("examples/padded_row_sum_small.py").read())["row_sum"]
loopsat.optimize(func)
print([m for m in ("egglog", "ir.schedule.schedule", "egraph_rules.explain.web", "z3") if m in sys.modules])
from egraph_rules.engine import engine
import egglog
print(egglog.bindings.EGraph is engine.egglog.EGraph)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.split("\n")[:2] == ["[]", "True"]  # the engine is compiled, and its package goes on using it
