"""The command line as a user meets it: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lower.commands.cli import main

ROOT = Path(__file__).parent.parent
SMALL = ROOT / "examples" / "padded_row_sum_small.py"

KERNEL = """from ir import script as T


@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        B[i, j] = A[i, j] + 1.0
"""


def script(tmp_path: Path, body: str, params: str = 'A: T.Buffer((4,), "float32"), n: T.int32') -> Path:
    path = tmp_path / "kernel.py"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    path.write_text(f"from ir import script as T\n\n\n@T.prim_func\ndef f({params}):\n{lines}\n")
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail with a message of ours; returns the message."""
    assert main([str(a) for a in arguments]) == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.err.startswith("error["), captured.err
    return captured.err


def test_optimize_shows_the_whole_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(SMALL)]) == 0
    out = capsys.readouterr().out
    for part in (
        "kernel row_sum", "if 4 * jo + ji < 14", "cheapest equivalent program", "overcompute.then",
        "A[i, jo, ji] is 0.0", "JAX source", "import jax", "compared with the reference interpreter", "equal",
        "times as fast", "1 assumption",
    ):  # fmt: skip
        assert part in out, f"{part!r} is missing in\n{out}"
    assert out.index("kernel row_sum") < out.index("decisions") < out.index("JAX source") < out.index("time on this")


def test_emitted_source_runs_with_jax_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "row_sum.py"
    assert main(["optimize", str(SMALL), "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "import row_sum, numpy as np\n"
        "A = np.arange(256, dtype=np.float32).reshape(16, 4, 4); A[:, 3, 2:] = 0\n"
        "(B,) = row_sum.row_sum(A)\n"
        "assert np.allclose(B, A.sum((1, 2))), B\n"
        "assert not any(m.split('.')[0] in ('ir', 'lower', 'egraph_rules') for m in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize(("form", "marker"), [("ir", "@T.prim_func"), ("jax", "import jax"), ("stablehlo", "module @")])
def test_emit_prints_one_artefact(form: str, marker: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(SMALL), "--emit", form]) == 0
    out = capsys.readouterr().out
    assert marker in out
    assert "decisions" not in out


@pytest.mark.parametrize("target", ["cpu", "gpu", "tpu"])
def test_targets(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(SMALL), "--target", target, "--no-run"]) == 0
    assert f"target {target}" in capsys.readouterr().out


def test_pick_one_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    module = ROOT / "examples" / "module_producer_consumer.py"
    assert "consumer" in refused(capsys, "optimize", module)
    assert main(["optimize", f"{module}:consumer", "--emit", "ir"]) == 0
    assert "if " not in capsys.readouterr().out.split("def consumer")[1]
    assert "did you mean `consumer`?" in refused(capsys, "optimize", f"{module}:consumr")


def test_rules_lists_laws_reasons_and_freedoms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    out = capsys.readouterr().out
    assert "overcompute.then" in out
    assert "needs no signed zeros" in out
    assert out.count("because ") > 60


def test_rules_of_one_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "loops"]) == 0
    out = capsys.readouterr().out
    assert "loops.merged" in out
    assert "overcompute" not in out
    assert "random programs agree" in out
    assert "did you mean `loops`?" in refused(capsys, "rules", "loop")


def test_rules_from_a_file_and_without_families(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = script(tmp_path, "for i in range(4):\n    if i < 9:\n        A[i] = A[i] + 1.0")
    assert main(["optimize", str(kernel), "--emit", "ir"]) == 0
    assert "if " not in capsys.readouterr().out
    assert main(["optimize", str(kernel), "--emit", "ir", "--without", "branch", "--without", "loops"]) == 0
    assert "if True" in capsys.readouterr().out
    assert "did you mean `loops`?" in refused(capsys, "optimize", kernel, "--without", "loop")
    rules = tmp_path / "rules.py"
    rules.write_text("x = 1\n")
    assert "registers no rule" in refused(capsys, "optimize", kernel, "--rules", rules)
    assert "no-such.py" in refused(capsys, "optimize", kernel, "--rules", tmp_path / "no-such.py")


def test_help_and_rules_do_not_wait_for_jax() -> None:
    code = "import sys, lower.commands.cli; lower.commands.cli.main(['rules']); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


# Bad input ----------------------------------------------------------------------------------------------------------


def test_unreadable_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot read" in refused(capsys, "optimize", tmp_path / "none.py")
    assert "cannot read" in refused(capsys, "optimize", tmp_path)
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    assert "not UTF-8" in refused(capsys, "optimize", binary)
    empty = tmp_path / "empty.py"
    empty.write_text("")
    assert "is empty" in refused(capsys, "optimize", empty)
    huge = tmp_path / "huge.py"
    huge.write_text("x = 1\n" * 1_000_000)
    assert "at most" in refused(capsys, "optimize", huge)
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n")
    assert "line 1" in refused(capsys, "optimize", broken)
    plain = tmp_path / "plain.py"
    plain.write_text("x = 1\n")
    assert "no kernel" in refused(capsys, "optimize", plain)


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("A[0] = C[0]", "unknown-name", 6),
        ("A[0, 1] = 1.0", "rank", 6),
        ("A[0] = A[0] + n", "dtype-mismatch", 6),
        ("A[T.undef()] = 1.0", "undef-misuse", 6),
        ("for i in T.serial(5):\n    A[i] = 1.0", "store-out-of-bounds", 7),
        ("T.assume(n > 3)\nT.assume(n < 2)\nA[0] = 1.0", "assumption-false", 7),
        ("while n: pass", "unsupported", 6),
    ],
)
def test_faulty_kernels(body: str, code: str, line: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script(tmp_path, body)
    message = refused(capsys, "optimize", path)
    assert f"error[{code}]" in message
    assert f"{path}:{line}:" in message


@pytest.mark.parametrize("command", ["optimize", "run", "bench"])
def test_inputs_that_do_not_fit_are_refused_before_anything_is_done(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script(tmp_path, "A[0, 0] = 1.0", 'A: T.Buffer((2000000, 1000000), "float32")')
    assert main([command, str(path)]) == 2
    printed = capsys.readouterr()
    assert "error[too-large]" in printed.err and "7,451 GiB" in printed.err and "kernel f" not in printed.out
    assert main(["optimize", str(path), "--no-run"]) == 0


def test_unknown_target_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["optimize", str(SMALL), "--target", "npu"])
    assert stop.value.code == 2


def test_output_is_never_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    assert "the script itself" in refused(capsys, "optimize", path, "-o", path)
    assert path.read_text() == KERNEL
    assert "folder" in refused(capsys, "optimize", path, "-o", tmp_path)
    assert "cannot write" in refused(capsys, "optimize", path, "-o", tmp_path / "none" / "out.py")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kernel.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write read-only files")
def test_read_only_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    kept = tmp_path / "kept.py"
    kept.write_text("keep me")
    kept.chmod(0o444)
    assert "read-only" in refused(capsys, "optimize", path, "-o", kept)
    assert kept.read_text() == "keep me"


def test_a_refused_kernel_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.py"
    out.write_text("keep me")
    refused(capsys, "optimize", script(tmp_path, "A[0] = C[0]"), "-o", out)
    assert out.read_text() == "keep me"
