"""Why forms of lowering are not taken: what is told of them, and that every decision belongs to a form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import loopsat
from ir import parse
from ir.errors import LoopsatError
from lower.commands.cli import main
from lower.runtime.why_not import DECISIONS, LOOP, OTHERS, WAYS

ROOT = Path(__file__).parent.parent.parent
TEXT = """
@T.prim_func
def f(A: T.Buffer((512,), "float32"), C: T.Buffer((512,), "float32")):
    C[0] = A[0]
    for i in T.serial(511):
        C[i + 1] = C[i] * 0.9 + A[i]
"""
FUNC = parse(TEXT).funcs[0]


def test_what_is_taken_has_its_price() -> None:
    answer = loopsat.why_not(FUNC, "instructions.scan")
    assert re.search(r"taken: without it the program would cost [\d,]+ in place of [\d,]+", answer)


def test_what_is_dearer_has_its_prices_and_place() -> None:
    answer = loopsat.why_not(FUNC, "structure.index_set_splitting", without="instructions.scan")
    assert re.search(r"considered \(phases\), and not taken: price [\d,]+ against 0", answer)
    with_place = loopsat.why_not(FUNC, "instructions.scan", target="tpu")
    assert "taken" in with_place or "loop i around line" in with_place


def test_what_has_no_place_is_told_with_the_loops_that_stay() -> None:
    answer = loopsat.why_not(FUNC, "instructions.convolution", without="instructions.scan")
    assert "not considered" in answer
    assert "loop i stays a loop" in answer
    plain = parse("@T.prim_func\ndef g(A: T.Buffer((4,), 'int32')):\n    for i in range(4):\n        A[i] = i\n").funcs[
        0
    ]
    assert "no loop stays one" in loopsat.why_not(plain, "structure.skewing")


def test_freedoms_that_are_missing_are_named() -> None:
    answer = loopsat.why_not(FUNC, "instructions.scan", floats="strict")
    assert "withheld: it needs freedoms of floats that are not granted (reassociate, finite)" in answer


def test_families_and_switches() -> None:
    meshes = "3 forms: mesh.owner_computes, mesh.partial_results, mesh.lookups\n   only for kernels on a mesh"
    assert meshes in loopsat.why_not(FUNC, "mesh")
    assert "switched off" in loopsat.why_not(FUNC, "structure.skewing", without=["structure"])


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("structure.skewin", "did you mean `structure.skewing`"),
        ("overcompute.then", "a rule of the search"),
        ("x", "the families are"),
    ],
)
def test_names_of_nothing_are_refused(name: str, help: str) -> None:
    with pytest.raises(LoopsatError, match="no form of lowering") as error:
        loopsat.why_not(FUNC, name)
    assert help in str(error.value)


def test_the_command_answers_for_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.py"
    path.write_text(f"from ir import script as T\n{TEXT}")
    assert main(["explain", str(path), "--why-not", "structure.strip_mining"]) == 0
    assert capsys.readouterr().out.startswith("structure.strip_mining\n   law:  ")
    assert main(["explain", str(path), "--why-not", "structure.strips"]) == 2
    assert "forms of lowering" in capsys.readouterr().err


def test_every_decision_is_about_a_form() -> None:
    named = re.compile(r'\bcheape(?:st|r)\(\s*"([a-z -]+)"')
    found = {name for path in (ROOT / "lower").rglob("*.py") for name in named.findall(path.read_text())}
    assert found == {*DECISIONS, *OTHERS, LOOP}


def test_a_loop_that_stays_one_has_all_its_forms_weighed() -> None:
    table = parse("""
@T.prim_func
def g(A: T.Buffer((60, 60), "float32")):
    for i in T.serial(1, 60):
        for j in T.serial(1, 60):
            A[i, j] = T.max(A[i - 1, j], A[i, j - 1]) + A[i, j]
""").funcs[0]
    answers = [loopsat.why_not(table, form.name) for form in WAYS.values()]
    assert any(re.search(r"loop i around line 6: considered \(.+\), and not taken: price", a) for a in answers)
