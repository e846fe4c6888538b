"""Programs priced by the TPU compiler, and what is said and done where it is not installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules import Result, optimize
from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import CPU, TPU
from ir import parse
from ir.errors import LoopsatError, LowerError
from ir.nodes import PrimFunc
from lower import compile
from lower.commands import optimize as command
from lower.commands.cli import main
from lower.emission.function import emit_function
from lower.tpu import compiler
from lower.tpu.compiler import (
    TpuJob,
    TpuReport,
    choose,
    compile_for_tpu,
    compile_jobs,
    describe,
    tpu_available,
    tpu_job,
)

SMALL = Path(__file__).parents[2] / "examples" / "padded_row_sum_small.py"
REPORT = TpuReport({"A": "f32[16]{0:T(128)}"}, ("f32[16]{0:T(128)}",), 512, 512, 0, 1000, 0, 0, 0, "HloModule f")


def with_compiler(test):
    """Run a test where the TPU compiler is installed."""
    return pytest.mark.tpu(pytest.mark.skipif(not tpu_available(), reason="libtpu is not installed")(test))


def func(text: str) -> PrimFunc:
    return parse("from __future__ import annotations\nfrom ir import script as T\n@T.prim_func\n" + text).funcs[0]


def masked(condition: str, other: str = "") -> PrimFunc:
    return func(f"""
def f(A: T.Buffer((4096, 1024), "float32"), B: T.Buffer((4096, 1024), "float32")):
    for i, j in T.grid(4096, 1024):
        if {condition}:
            B[i, j] = A[i, j] + 1.0
{other}
""")


def variants(count: int) -> Result:
    """A result with so many variants, of costs 1, 2, ..."""
    result = optimize(parse(SMALL.read_text()).funcs[0], target="tpu", k=3)
    programs = [replace(result.best, name=f"f{n}") for n in range(count)]
    return replace(result, best=programs[0], variants=[(p, n + 1.0) for n, p in enumerate(programs)])


def choice_among(monkeypatch: pytest.MonkeyPatch, *found: TpuReport | LowerError) -> tuple[str, str]:
    """The name of the program that is chosen when the compiler says this of the variants, and the reason."""

    def answer(jobs: Sequence[TpuJob]) -> list[TpuReport | LowerError]:
        assert len(jobs) == len(found)
        return list(found)

    monkeypatch.setattr(compiler, "compile_jobs", answer)
    choice = choose(variants(len(found)))
    assert [c.found for c in choice.candidates] == list(found)
    return choice.best.name, choice.reason


def test_fewest_cycles_win_against_static_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    name, reason = choice_among(monkeypatch, REPORT, replace(REPORT, estimated_cycles=500))
    assert name == "f1"
    assert "500" in reason


def test_equal_cycles_are_decided_by_memory_then_by_static_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    spilling = replace(REPORT, temp_bytes=4096, estimated_cycles=999)
    assert choice_among(monkeypatch, spilling, REPORT, REPORT)[0] == "f1"


def test_static_cost_decides_where_an_estimate_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    name, reason = choice_among(monkeypatch, REPORT, replace(REPORT, estimated_cycles=5, loops=1))
    assert name == "f0"
    assert "static cost decides" in reason
    assert "loop counts once" in reason


def test_refused_programs_are_out(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = LowerError("tpu-compiler", "the TPU compiler refuses the program", notes=["too large"])
    assert choice_among(monkeypatch, refused, REPORT)[0] == "f1"
    name, reason = choice_among(monkeypatch, refused, refused)
    assert name == "f0"
    assert "refuses all" in reason


def test_caveats_name_what_the_estimate_cannot_see() -> None:
    assert REPORT.caveats == ()
    assert len(replace(REPORT, scatters=1, opaque=2).caveats) == 2


def test_command_line_says_that_the_static_table_was_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "tpu_available", lambda: False)
    assert main(["optimize", str(SMALL), "--target", "tpu", "--no-run"]) == 0
    out = capsys.readouterr().out
    assert "static cost table" in out
    assert "pip install 'loopsat[tpu]'" in out
    assert main(["optimize", str(SMALL), "--target", "tpu", "--emit", "ir"]) == 0
    captured = capsys.readouterr()
    assert "static cost table" in captured.err
    assert "static" not in captured.out


def test_command_line_follows_the_compiler(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The second variant is chosen, with decisions of its own."""

    def answer(jobs: Sequence[TpuJob]) -> list[TpuReport | LowerError]:
        return [replace(REPORT, estimated_cycles=9000 if n != 1 else 100) for n in range(len(jobs))]

    monkeypatch.setattr(command, "tpu_available", lambda: True)
    monkeypatch.setattr(compiler, "compile_jobs", answer)
    assert main(["optimize", str(SMALL), "--target", "tpu", "--no-run"]) == 0
    out = capsys.readouterr().out
    assert "chosen by the TPU compiler: program 2, the fewest estimated cycles (100)" in out
    assert "T(128)" in out
    assert "decisions that lead to the cheapest" in out  # the second is shown besides it
    assert "if 4 * jo + ji < 14" in out.split("variant 2")[1].split("decisions")[0]
    assert "jnp.where" in out.split("JAX source")[1]


def test_missing_compiler_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "tpu_available", lambda: False)
    with pytest.raises(LowerError, match="not installed") as caught:
        compile_for_tpu(masked("j < 1022"))
    assert "loopsat[tpu]" in caught.value.help


SYMBOLIC = """
def f(n: T.int32, Z: T.Buffer((n, 128), "float32"), A: T.Buffer((n,), "float32"), B: T.Buffer((n, 128), "float32")):
    for i, j in T.grid(n, 128):
        B[i, j] = Z[i, j] * 2.0 + A[i]
"""


def test_sizes_must_be_known() -> None:
    with pytest.raises(LoopsatError, match="needs values for n"):
        tpu_job(func(SYMBOLIC))
    with pytest.raises(LoopsatError, match="no size `m`"):
        tpu_job(func(SYMBOLIC), {"m": 3})
    assert tpu_job(func(SYMBOLIC), {"n": 16}).arguments == {"Z": ((16, 128), "float32"), "A": ((16,), "float32")}


def test_storing_to_a_part_of_rows_is_dear_on_a_tpu() -> None:
    rows = func("""
def f(A: T.Buffer((4096, 1024), "float32"), B: T.Buffer((4096, 1024), "float32")):
    for i, j in T.grid(4096, 1024):
        B[i, j] = A[i, j] + 1.0
""")
    shorter = func("""
def f(A: T.Buffer((4096, 1024), "float32"), B: T.Buffer((4096, 1024), "float32")):
    for i, j in T.grid(4096, 1000):
        B[i, j] = A[i, j] + 1.0
""")
    for prices, dear in ((Prices(TPU), True), (Prices(CPU), False)):
        assert (prices.program(shorter.body) > prices.program(rows.body)) == dear


@with_compiler
def test_report_of_a_kernel() -> None:
    before, report = dict(os.environ), compile_for_tpu(compile(func(SYMBOLIC)), {"n": 512})
    assert report.parameters.keys() == {"A", "Z"}
    assert report.parameters["Z"].startswith("f32[512,128]{1,0:T(8,128)")
    assert report.parameters["A"].startswith("f32[512]{0:T(512)")
    assert report.results[0].startswith("f32[512,128]{1,0:T(8,128)")
    assert "T(8,128)" in report.tiles
    assert report.argument_bytes >= 4 * 512 * 129
    assert report.output_bytes == 4 * 512 * 128
    assert report.estimated_cycles > 0
    assert report.caveats == ()
    assert report.hlo.startswith("HloModule")
    assert dict(os.environ) == before
    assert jnp.arange(3).sum() == 3  # the caller's backend is as it was
    assert "tpu" not in {d.platform for d in jax.devices()}


@with_compiler
def test_argument_that_is_not_used_and_wide_types() -> None:
    kernel = func("""
def f(Z: T.Buffer((64,), "int64"), A: T.Buffer((8, 128), "int64"), B: T.Buffer((8, 128), "int64")):
    for i, j in T.grid(8, 128):
        B[i, j] = A[i, j] + T.int64(1)
""")
    report = compile_for_tpu(kernel)
    assert report.parameters.keys() == {"A", "Z"}
    assert "[64]" in report.parameters["Z"]
    assert "[8,128]" in report.parameters["A"]


@with_compiler
def test_loops_and_refusals_do_not_disturb_others() -> None:
    loop = func("""
def f(A: T.Buffer((64, 128), "float32")):
    for i, j in T.grid(63, 128):
        A[i + 1, j] = T.tanh(A[i, j])
""")
    huge = func("""
def f(A: T.Buffer((1048576, 65536), "float32"), B: T.Buffer((1048576, 65536), "float32")):
    for i, j in T.grid(1048576, 65536):
        B[i, j] = A[i, j] + 1.0
""")
    abort = TpuJob("import os\nos._exit(3)", "f", {})
    looping, refused, fine, ended, never = compile_jobs(
        [tpu_job(loop), tpu_job(huge), tpu_job(masked("i < 4096")), abort, tpu_job(loop)]
    )
    assert isinstance(looping, TpuReport) and looping.loops == 1 and looping.caveats
    assert isinstance(refused, LowerError) and "refuses" in refused.message
    assert isinstance(fine, TpuReport) and not fine.caveats
    for error in (ended, never):
        assert isinstance(error, LowerError) and "ended before" in error.message and "exit status 3" in error.notes[0]


MATMUL = """
def f(A: T.Buffer(({n}, 64), "float32"), B: T.Buffer((64, {n}), "float32"), C: T.Buffer(({n}, {n}), "float32")):
    for i, j in T.grid({n}, {n}):
        C[i, j] = 0.0
        for k in range(64):
            C[i, j] += A[i, k] * B[k, j]
"""
IMAGE = """
def f(X: T.Buffer(({c}, {n}, {n}), "float32"), W: T.Buffer(({o}, {c}, 3, 3), "float32"),
      Y: T.Buffer(({o}, {m}, {m}), "float32")):
    for o, i, j in T.grid({o}, {m}, {m}):
        Y[o, i, j] = 0.0
        for c, u, v in T.grid({c}, 3, 3):
            Y[o, i, j] += W[o, c, u, v] * X[c, i + u, j + v]
"""


def image(c: int, o: int, n: int) -> PrimFunc:
    return func(IMAGE.format(c=c, o=o, n=n, m=n - 2))


@pytest.mark.parametrize(
    ("program", "product"),
    [(func(MATMUL.format(n=8)), False), (func(MATMUL.format(n=197)), True), (image(3, 30, 112), True),
     (image(1, 1, 128), False), (image(30, 30, 112), True)],
    ids=["small", "large", "three channels", "one channel", "thirty channels"],
)  # fmt: skip
def test_products_go_through_the_matrix_unit_and_few_channels_not_through_a_convolution(
    program: PrimFunc, product: bool
) -> None:
    """Cycles of the compiler for the other form: 35,484 for 4,506 (large), 188,152 for 110,479 (three channels),
    1,913,808 for 5,242 (one channel), 302,356 for 62,821 (thirty channels)."""
    source = emit_function(program, target=TPU).source
    assert ("einsum" in source) == product
    assert "conv_general_dilated" not in source


@with_compiler
def test_choice_by_the_compiler() -> None:
    kernel = func("""
def f(A: T.Buffer((2048, 256, 4), "float32"), B: T.Buffer((2048,), "float32")):
    for i, jo, ji in T.grid(2048, 256, 4):
        T.assume(4 * jo + ji < 1022 or A[i, jo, ji] == 0.0)
    for i in T.serial(2048):
        B[i] = 0.0
        for jo, ji in T.grid(256, 4):
            if 4 * jo + ji < 1022:
                B[i] = B[i] + A[i, jo, ji]
""")
    choice = choose(optimize(kernel, target="tpu", k=3))
    reports = {c.func: c.found for c in choice.candidates}
    assert len(choice.candidates) > 1
    assert all(isinstance(r, TpuReport) for r in reports.values())
    least = min(r.estimated_cycles for r in reports.values() if isinstance(r, TpuReport))
    best = reports[choice.best]
    assert isinstance(best, TpuReport) and best.estimated_cycles <= 1.01 * least
    assert all("estimated cycles" in line for line in describe(choice.candidates))
    A = np.random.default_rng(0).standard_normal((2048, 256, 4), dtype=np.float32)
    A.reshape(2048, 1024)[:, 1022:] = 0.0
    (found,) = compile(choice.best)(A)
    np.testing.assert_allclose(found, A.sum((1, 2), dtype=np.float64), rtol=1e-4, atol=1e-3)


FORMS = {
    "rows": masked("j < 1024"),
    "a part of each row": masked("j < 1022"),
    "a select": func("""
def f(A: T.Buffer((4096, 1024), "float32"), B: T.Buffer((4096, 1024), "float32")):
    for i, j in T.grid(4096, 1024):
        B[i, j] = T.Select(j < 1022, A[i, j] + 1.0, 0.0)
"""),
    "many operations": func("""
def f(A: T.Buffer((4096, 1024), "float32"), B: T.Buffer((4096, 1024), "float32")):
    for i, j in T.grid(4096, 1024):
        B[i, j] = """ + "T.tanh(" * 16 + "A[i, j]" + ")" * 16 + "\n"),
}  # fmt: skip


@with_compiler
def test_static_prices_order_programs_as_the_compiler_does() -> None:
    plain = [optimize(f, target="tpu").best for f in FORMS.values()]
    costs = [Prices(TPU).program(f.body) for f in plain]
    reports = compile_jobs([tpu_job(f) for f in plain])
    assert all(isinstance(r, TpuReport) for r in reports)
    cycles = [r.estimated_cycles for r in reports if isinstance(r, TpuReport)]
    compared = 0
    for a, x in zip(costs, cycles, strict=True):
        for b, y in zip(costs, cycles, strict=True):
            if x < 0.9 * y:
                assert a < b
                compared += 1
    assert compared >= 3
