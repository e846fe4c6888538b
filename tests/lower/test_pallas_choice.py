"""Pallas kernels where their price is much lower: stages and steps on a TPU, nothing that XLA fuses, never for cpu."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, GPU, TPU
from ir import interpret, parse
from ir.nodes import PrimFunc
from lower import compile, emit
from lower.commands.cli import main
from lower.pallas.choice import pallas_price, preferred, xla_price
from lower.pallas.forms import MARGIN, PallasForm, find_form
from lower.runtime.kernel import pallas_kernel
from lower.tpu.compiler import TpuReport, compile_jobs, tpu_available, tpu_job

NO_TPU = pytest.mark.skipif(any(d.platform == "tpu" for d in jax.devices()), reason="kernels run on the TPU here")


def jacobi(rows: int, columns: int, steps: int) -> PrimFunc:
    def stage(to: str, of: str) -> str:
        near = f"{of}[i + 1, j] + {of}[i + 1, j + 2] + {of}[i, j + 1] + {of}[i + 2, j + 1]"
        return f"""        for i, j in T.grid({rows - 2}, {columns - 2}):
            {to}[i + 1, j + 1] = 0.2 * ({of}[i + 1, j + 1] + {near})
"""

    shape = f'T.Buffer(({rows}, {columns}), "float32")'
    head = f"@T.prim_func\ndef jacobi(A: {shape}, B: {shape}):\n    for t in T.serial({steps}):\n"
    return parse(head + stage("B", "A") + stage("A", "B")).funcs[0]


def row_max() -> PrimFunc:
    return parse("""
@T.prim_func
def row_max(A: T.Buffer((4096, 1024), "float32"), B: T.Buffer((4096,), "float32")):
    for i in T.serial(4096):
        B[i] = 0.0
        for j in T.serial(1024):
            if j < 1022:
                B[i] = T.max(B[i], A[i, j])
""").funcs[0]


def form(func: PrimFunc, target: str = "tpu") -> PallasForm:
    found = find_form(func, target)
    assert not isinstance(found, str), found
    return found


def test_steps_of_a_stencil_become_a_pallas_kernel() -> None:
    program = jacobi(512, 512, 20)
    chosen, why = preferred(program, TPU)
    assert chosen is not None
    assert chosen.source == form(program).source
    assert why.startswith("a Pallas kernel: its price is")
    assert "pallas_call" in emit(program, "tpu")
    assert "pallas" not in emit(program, "tpu", pallas=False)
    assert "pallas" not in emit(program, "cpu")
    assert "pallas" not in emit(program, "tpu", donate=True)  # in place, it is XLA's form


def test_what_is_chosen_computes_what_it_should() -> None:
    program = jacobi(40, 24, 4)
    assert preferred(program, TPU)[0] is not None
    A, B = (np.random.default_rng(k).standard_normal((40, 24), np.float32) for k in (0, 1))
    for found, expected in zip(pallas_kernel(program, interpret=True)(A, B), interpret(program, A, B), strict=True):
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("program", [jacobi(2000, 2000, 1), row_max()], ids=["one step", "padded reduction"])
def test_what_is_not_much_cheaper_stays(program: PrimFunc) -> None:
    chosen, why = preferred(program, TPU)
    assert chosen is None
    assert f"must be below {MARGIN} of that" in why
    assert "pallas" not in emit(program, "tpu")


def test_reductions_on_a_gpu_stay() -> None:
    assert pallas_price(form(row_max(), "gpu"), GPU) >= MARGIN * xla_price(form(row_max(), "gpu"), GPU)
    assert "pallas" not in emit(row_max(), "gpu")


def test_a_launch_more_or_less_decides_small_programs() -> None:
    """Prices follow the target: with launches for nothing, a small program gains less by having fewer."""
    small = form(jacobi(16, 16, 4))
    free = replace(TPU, kernel=0.0, launch=0.0)
    assert pallas_price(small, TPU) / xla_price(small, TPU) < pallas_price(small, free) / xla_price(small, free)


def test_there_is_no_such_choice_for_cpu() -> None:
    assert preferred(jacobi(512, 512, 20), CPU) == (None, "")
    assert not any("Pallas" in line for line in compile(jacobi(16, 16, 2)).report)


def test_programs_without_a_form_say_why() -> None:
    scale = parse("""
@T.prim_func
def scale(n: T.int32, A: T.Buffer((64,), "float32")):
    for i in T.serial(n):
        A[i] = A[i] * 2.0
""").funcs[0]
    chosen, why = preferred(scale, TPU)
    assert chosen is None
    assert why.startswith("no Pallas kernel: sizes are parameters")


@NO_TPU
def test_without_a_tpu_the_report_says_what_would_be_chosen() -> None:
    kernel = compile(jacobi(512, 512, 20), "tpu")
    assert "pallas" not in kernel.source
    (line,) = [line for line in kernel.report if "a Pallas kernel" in line]
    assert line.endswith("but not on cpu")
    assert not any("Pallas" in line for line in compile(jacobi(512, 512, 20), "tpu", pallas=False).report)


def test_the_command_has_a_switch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "jacobi.py"
    text = (Path(__file__).parents[2] / "examples/polybench/jacobi_2d.py").read_text()
    script.write_text(text)
    command = ["optimize", str(script), "--sizes", "tsteps=20,n=512", "--target", "tpu", "--emit", "jax"]
    assert main(command) == 0
    assert "pallas_call" in capsys.readouterr().out
    assert main([*command, "--no-pallas"]) == 0
    assert "pallas" not in capsys.readouterr().out


@pytest.mark.tpu
@pytest.mark.skipif(not tpu_available(), reason="libtpu is not installed")
def test_prices_are_near_what_the_compiler_estimates() -> None:
    programs = [jacobi(512, 512, 20), jacobi(2000, 2000, 1), jacobi(250, 250, 100)]
    for program, steps, found in zip(programs, (20, 1, 100), compile_jobs([*map(tpu_job, programs)]), strict=True):
        assert isinstance(found, TpuReport)
        cycles = found.estimated_cycles * (steps if found.loops else 1)
        assert 0.7 < cycles / (xla_price(form(program), TPU) * 39_164 / (4096 * 1024)) < 1.4
