"""`loopsat explain`: what it prints for two small kernels, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from lower.commands.cli import main

SMALL = Path(__file__).parent.parent / "examples" / "padded_row_sum_small.py"

DEAD_STORE = """from ir import script as T


@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in T.serial(4):
        B[i] = 7
        B[i] = A[i]
"""


def explained(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["explain", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_padded_reduction(capsys: pytest.CaptureFixture[str]) -> None:
    out = explained(capsys, SMALL)
    golden = (
        "overcompute.then: if 4 * jo + ji < 14:",
        "fact: where `4 * jo + ji < 14` does not hold, A[i, jo, ji] is 0.0",
        "-            if 4 * jo + ji < 14:",
        "+            B[i] = B[i] + A[i, jo, ji]",
        "erase: row_sum",
        "-        T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 0.0)",
    )
    at = [out.find(part) for part in golden]
    assert -1 not in at, out
    assert at == sorted(at), out


def test_laws_fit_into_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = explained(capsys, SMALL)
    assert "   law:  if c: s else: t  =  s   if, where c is false, s cannot fault and equals\n         t\n" in out
    texts = out.splitlines()
    laws = [k for k, line in enumerate(texts) if line.startswith("   law:  ")]
    assert max(len(line) for k in laws for line in texts[k : k + 2]) <= 80


def test_a_dead_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(DEAD_STORE)
    out = explained(capsys, f"{path}:f")
    assert "1 steps" not in out
    assert "noop.dead: B[i] = 7" in out
    assert "fact: what it writes is overwritten, arbitrary or unused afterwards" in out
    assert "-        B[i] = 7" in out
    search, _, run = out.partition("how it will run: 1 pass of lowering")
    assert "+" not in [line[:1] for line in search.splitlines() if not line.startswith("+++")]
    assert "+    for i in T.parallel(4):" in run


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / "none.py")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main(["explain", f"{SMALL}:row_sun"]) == 2
    assert "did you mean `row_sum`?" in capsys.readouterr().err
