"""Emitted source is as `ruff format` leaves it, with lines of at most 120 characters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ir import parse
from lower import emit

EXAMPLES = Path(__file__).parents[2] / "examples"
KERNELS = ("kernels/edit_distance.py", "polybench/heat_3d.py", "polybench/cholesky.py", "padded_row_sum.py")


def test_emitted_source_is_formatted(tmp_path: Path) -> None:
    for name in KERNELS:
        func = parse((EXAMPLES / name).read_text()).funcs[0]
        (tmp_path / f"{func.name}.py").write_text(emit(func))
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--check", "--line-length", "120", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    assert len(list(tmp_path.iterdir())) == len(KERNELS)


def test_what_the_formatter_may_have_no_stack_for_stays_as_it_is() -> None:
    terms = " + ".join(f"A[{k}] * {k + 2}" for k in range(900))
    source = emit(
        parse(
            f'@T.prim_func\ndef f(A: T.Buffer((900,), "int32"), C: T.Buffer((1,), "int32")):\n    C[0] = {terms}'
        ).funcs[0]
    )
    compile(source, "kernel.py", "exec")
