"""Pallas forms against the interpreter, their refusals, and what the TPU compiler and a GPU make of them."""

from __future__ import annotations

from unittest.mock import patch

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import parse
from ir.errors import LoopsatError
from ir.nodes import PrimFunc
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.semantics.retype import in_float64
from lower.pallas import padded_reduction, stencil_stages
from lower.pallas.forms import emit_pallas, find_form, gain, pallas_job
from lower.runtime.kernel import pallas_kernel
from lower.tpu.compiler import TpuReport, compile_jobs, tpu_available
from profiles import few, some


def func(text: str) -> PrimFunc:
    return parse("from ir import script as T\n@T.prim_func\n" + text).funcs[0]


def assert_agrees(program: PrimFunc, target: str = "tpu", interpret: bool = True, seed: int = 0) -> str:
    """The Pallas kernel gives what the interpreter gives, wherever that is defined; returns its source."""
    inputs = random_inputs(program, np.random.default_rng(seed))
    kernel = pallas_kernel(program, target, interpret)
    found = kernel(*inputs.values())
    expected = interpret_with_undef(program, *inputs.values())
    assert len(found) == len(expected) > 0
    for got, (want, undef) in zip(found, expected, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        have, need = np.asarray(got)[~undef].astype(float), want[~undef].astype(float)
        scale = max(1.0, float(np.abs(need).max(initial=0.0)))
        loose = {"float32": 1e-4, "bfloat16": 1e-1}.get(str(want.dtype), 0.0)
        assert np.abs(have - need).max(initial=0.0) <= loose * scale, f"{kernel.source}\n{got}\n{want}"
    return kernel.source


def assert_sums_agree(program: PrimFunc, target: str, seed: int) -> None:
    """A kernel that sums bfloat16 gives the sum in float64, but for rounding errors.

    The interpreter's own sum, one after the other in bfloat16, stops growing at 256 times a term. Kernels sum in
    float32, and round each term and the result once (Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
    4.2).
    """
    inputs = random_inputs(program, np.random.default_rng(seed))
    kernel = pallas_kernel(program, target, interpret=True)
    wide = in_float64(program)
    exactly = {name: np.asarray(value).astype(np.float64) for name, value in inputs.items()}
    (found,), ((wanted, undef),) = kernel(*inputs.values()), interpret_with_undef(wide, *exactly.values())
    alone = ([np.abs(v) * (n == name) for n, v in exactly.items()] for name in exactly)
    terms = sum(np.abs(interpret_with_undef(wide, *given)[0][0].astype(float)) for given in alone)
    assert found.dtype == program.buffers[1].dtype.numpy
    bound = 2**-7 * (terms + 1)
    error = np.abs(np.asarray(found).astype(float) - wanted.astype(float))
    assert (error <= bound)[~undef].all(), f"{kernel.source}\n{found}\n{wanted}"


# Padded reductions

JOINS = {"add": "{0} + {1}", "sub": "{0} - {1}", "min": "T.min({0}, {1})", "max": "T.max({0}, {1})"}


@st.composite
def reductions(draw: st.DrawFn) -> tuple[str, bool]:
    """A reduction over a part of padded rows: rank, shape, dtype, layout, guard, operator, start and operands vary; and
    whether it is a sum of bfloat16."""
    dtype = draw(st.sampled_from(["float32", "int32", "bfloat16"]))
    kept = draw(st.lists(st.integers(1, 9), max_size=2))
    inner = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3).filter(lambda sizes: np.prod(sizes) > 1))
    names = [f"p{n}" for n in range(len(kept))], [f"r{n}" for n in range(len(inner))]
    first = draw(st.booleans())  # reduced dimensions before the others
    order, sizes = (names[1] + names[0], inner + kept) if first else (names[0] + names[1], kept + inner)
    flat = names[1][0]
    for name, size in zip(names[1][1:], inner[1:], strict=True):
        flat = f"({flat}) * {size} + {name}"
    total = int(np.prod(inner))
    low, high = sorted((draw(st.integers(0, total)), draw(st.integers(0, total + 3))))
    guard = draw(
        st.sampled_from(["", f"{flat} < {high}", f"{flat} >= {low}", f"{names[1][-1]} < {max(1, inner[-1] - 1)}"])
    )
    if draw(st.booleans()) and dtype != "bfloat16":
        guard = " and ".join(g for g in (guard, f"A[{', '.join(order)}] > {'0.0' if dtype == 'float32' else '0'}") if g)
    value = f"A[{', '.join(order)}]"
    weighted = draw(st.booleans())
    value += f" + W[{names[1][-1]}]" if weighted else ""
    op = draw(st.sampled_from(sorted(JOINS)))
    shape, place = (f"{tuple(kept)}", ", ".join(names[0])) if kept else ("(1,)", "0")
    params = [f"A: T.Buffer({tuple(sizes)}, '{dtype}')", f"B: T.Buffer({shape}, '{dtype}')"]
    params += [f"W: T.Buffer(({inner[-1]},), '{dtype}')"] if weighted else []
    literal = "3" if dtype == "int32" else f"T.{dtype}(0.5)"

    def loops(variables: list[str], extents: list[int], indent: str) -> tuple[str, str]:
        lines = ""
        for v, n in zip(variables, extents, strict=True):
            lines += f"{indent}for {v} in T.serial({n}):\n"
            indent += "    "
        return lines, indent

    text, indent = loops(names[0], kept, "    ")
    if draw(st.booleans()):
        text += f"{indent}B[{place}] = {literal}\n"
    more, indent = loops(names[1], inner, indent)
    text += more
    if guard:
        text += f"{indent}if {guard}:\n"
        indent += "    "
    text += f"{indent}B[{place}] = {JOINS[op].format(f'B[{place}]', value)}\n"
    return f"def f({', '.join(params)}):\n{text}", dtype == "bfloat16" and op in ("add", "sub")


@pytest.mark.parametrize("target", ["tpu", "gpu"])
@few(3)
@given(drawn=reductions(), tile=st.sampled_from([8192, 1 << 19]), seed=st.integers(0, 9))
def test_reductions_over_a_part_of_rows(target: str, drawn: tuple[str, bool], tile: int, seed: int) -> None:
    text, narrow = drawn
    program = func(text)
    with patch.multiple(padded_reduction, TILE_BYTES=tile, GPU_TILE=tile >> 7, _SUBLANES=2, _LANES=4):
        form = find_form(program, target)
        if isinstance(form, str):  # empty reductions, and those of one value, are none
            assert "no reduction" in form
        else:
            assert form.kind in ("reduction", "stages")
            if narrow and form.kind == "reduction":
                assert_sums_agree(program, target, seed)
            else:
                assert_agrees(program, target, seed=seed)


LONG_SUM = """
def f(A: T.Buffer((9, 9, 9), "bfloat16"), B: T.Buffer((1,), "bfloat16")):
    for i, j, k in T.grid(9, 9, 9):
        B[0] = B[0] + A[i, j, k]
"""


@pytest.mark.parametrize("target", ["tpu", "gpu"])
def test_long_sums_of_narrow_floats(target: str) -> None:
    program = func(LONG_SUM)
    assert_sums_agree(program, target, 0)
    ones, zero = (np.full(shape, n, program.buffers[0].dtype.numpy) for shape, n in (((9, 9, 9), 1), ((1,), 0)))
    (found,) = pallas_kernel(program, target, interpret=True)(ones, zero)
    assert float(found[0]) == 728.0  # of 729, which bfloat16 does not hold; one after the other it is 256


ROWS = """
def f(A: T.Buffer((40, 30, 4), "float32"), B: T.Buffer((40,), "float32")):
    for i in T.serial(40):
        B[i] = 0.0
        for jo, ji in T.grid(30, 4):
            if 4 * jo + ji < 118:
                B[i] = B[i] + A[i, jo, ji] * 2.0
"""


@pytest.mark.parametrize("target", ["tpu", "gpu"])
def test_tiles_run_over_whole_rows_and_the_mask_is_one_comparison(target: str) -> None:
    source = assert_agrees(func(ROWS), target)
    assert "jnp.reshape(A, (40, 120))" in source
    assert "< 118" in source
    assert "//" not in source.split("def reduced")[0]


def test_padding_that_is_not_finite_stays_out() -> None:
    program = func(ROWS)
    A = np.ones((40, 30, 4), np.float32)
    A.reshape(40, 120)[:, 118:] = np.nan
    (found,) = pallas_kernel(program, "tpu", interpret=True)(A)
    assert (np.asarray(found) == 236.0).all()


def test_blocks_that_hang_over_the_end() -> None:
    text = ROWS.replace("40", "37").replace("30, 4", "33, 3").replace("4 * jo", "3 * jo").replace("118", "98")
    with patch.multiple(padded_reduction, TILE_BYTES=2048, _SUBLANES=8, _LANES=16):
        source = assert_agrees(func(text))
    assert "grid=(5, " in source


# Stencils


@st.composite
def stencils(draw: st.DrawFn) -> str:
    """Stages with shifted reads in the inside of arrays, borders kept or not, in a loop over time or not."""
    rank = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(7, 12 if rank == 3 else 24), min_size=rank, max_size=rank))
    variables = [f"i{d}" for d in range(rank)]
    names = ["A", "B", "C"][: draw(st.integers(2, 3))]
    weights = draw(st.booleans())

    def stage(target: str, source: str) -> str:
        border = draw(st.integers(0, 2))
        taps = []
        for _ in range(draw(st.integers(1, 4))):
            shifts = [draw(st.integers(0, 2 * border)) for _ in range(rank)]
            taps.append(f"{source}[{', '.join(f'{v} + {s}' for v, s in zip(variables, shifts, strict=True))}]")
        value = " + ".join(taps)
        if weights and draw(st.booleans()):
            value = f"({value}) * W[{draw(st.integers(0, 2))}]"
        where = ", ".join(f"{v} + {border}" for v in variables)
        guard = draw(st.sampled_from(["", f"{variables[0]} < {sizes[0] - 2 * border - 1}", f"{source}[{where}] > 0.0"]))
        text = f"for {', '.join(variables)} in T.grid({', '.join(str(n - 2 * border) for n in sizes)}):\n"
        inner = "    "
        if guard:
            text += f"    if {guard}:\n"
            inner += "    "
        if draw(st.booleans()):
            value = f"{value} + {target}[{where}]"
        return text + f"{inner}{target}[{where}] = ({value}) * 0.3\n"

    count = draw(st.integers(1, 3))
    stages = [stage(names[(n + 1) % len(names)], names[n % len(names)]) for n in range(count)]
    steps = draw(st.sampled_from([0, 1, 2, 5, 6]))
    body = "".join(stages)
    if steps:
        body = f"for t in T.serial({steps}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    params = [f"{n}: T.Buffer({tuple(sizes)}, 'float32')" for n in names]
    params += ["W: T.Buffer((3,), 'float32')"] if weights else []
    return f"def f({', '.join(params)}):\n" + "".join(f"    {line}\n" for line in body.splitlines())


@few(5)
@given(text=stencils(), unit=st.sampled_from([1, 2, 4]), seed=st.integers(0, 9))
def test_stencils_in_stages_and_steps(text: str, unit: int, seed: int) -> None:
    program = func(text)
    with (
        patch.object(stencil_stages, "row_unit", lambda one: unit),
        patch.object(stencil_stages, "TILE_BYTES", 100_000),
    ):
        form = find_form(program, "tpu")
        if isinstance(form, str):
            # Blocks as small as these may reach too far; a stage may read what it writes, in order.
            assert any(why in form for why in ("reach", "fit", "stays one", "among other", "no `loop", "rows and as a"))
        else:
            assert form.kind == "stages"
            assert_agrees(program, seed=seed)


JACOBI = """
def f(A: T.Buffer((20, 12), "float32"), B: T.Buffer((20, 12), "float32")):
    for t in T.serial(9):
        for i, j in T.grid(18, 10):
            B[i + 1, j + 1] = (A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2] + A[i + 1, j + 1]) * 0.2
        for i, j in T.grid(18, 10):
            A[i + 1, j + 1] = (B[i, j + 1] + B[i + 2, j + 1] + B[i + 1, j] + B[i + 1, j + 2] + B[i + 1, j + 1]) * 0.2
"""
CONVOLUTION = """
def f(A: T.Buffer((1500,), "float32"), F: T.Buffer((3,), "float32"), c: T.float32, B: T.Buffer((1500,), "float32")):
    for i in T.serial(1500):
        B[i] = c
        for k in T.serial(3):
            if 0 <= i + k - 1 and i + k - 1 < 1500:
                B[i] = B[i] + F[k] * A[i + k - 1]
"""
LOCAL = """
def f(A: T.Buffer((50, 40), "float32"), B: T.Buffer((48, 38), "float32")):
    C = T.alloc_buffer((50, 40), "float32")
    for i, j in T.grid(50, 40):
        C[i, j] = T.tanh(A[i, j])
    for i, j in T.grid(48, 38):
        B[i, j] = C[i, j] + C[i + 2, j + 2]
"""
PROGRAMS = {"rows": ROWS, "jacobi": JACOBI, "convolution": CONVOLUTION, "local": LOCAL}


@pytest.mark.parametrize("name", some(["jacobi", "convolution", "local"], 0.23))
def test_stages(name: str) -> None:
    report: list[str] = []
    program = func(PROGRAMS[name])
    assert emit_pallas(program, "tpu", report) is not None
    assert "in one pass over blocks" in report[0]
    source = assert_agrees(program)
    assert source.count("pl.pallas_call(") == (2 if name == "jacobi" else 1)  # 9 steps are two of 4 and one


def test_intermediate_arrays_are_not_written() -> None:
    form = find_form(func(LOCAL))
    assert not isinstance(form, str)
    assert form.moved < 4 * (50 * 40 * 1.5 + 48 * 38)


def test_names_of_the_user_do_not_collide_with_ours() -> None:
    text = LOCAL.replace("A", "pl").replace("B", "state").replace("C[", "r[").replace("C =", "r =")
    assert_agrees(func(text.replace("T.pluffer", "T.Buffer").replace("T.stateuffer", "T.Buffer")))


# Refusals

REFUSED = {
    "symbolic": ("n: T.int32, A: T.Buffer((n,), 'float32')", "for i in T.serial(n):\n    A[i] = 0.0", "specialize"),
    "wide": ("A: T.Buffer((8,), 'float64')", "for i in T.serial(8):\n    A[i] = 0.0", "float64"),
    "gather": (
        "A: T.Buffer((8,), 'float32'), I: T.Buffer((8,), 'int32'), B: T.Buffer((8,), 'float32')",
        "for i in T.serial(8):\n    if 0 <= I[i] < 8:\n        B[i] = A[I[i]]", "loop variable + constant",
    ),
    "transposed": (
        "A: T.Buffer((8, 8), 'float32'), B: T.Buffer((8, 8), 'float32')",
        "for i, j in T.grid(8, 8):\n    B[i, j] = A[j, i]", "another order",
    ),
    "scan": (
        "A: T.Buffer((8,), 'float32')", "for i in T.serial(7):\n    A[i + 1] = A[i + 1] + A[i]",
        "is a scan",
    ),
    "long taps": (
        "A: T.Buffer((140,), 'float32'), B: T.Buffer((100,), 'float32')",
        "for i in T.serial(100):\n    B[i] = 0.0\n    for k in T.serial(40):\n        B[i] = B[i] + A[i + k]", "taps",
    ),
    "long rows": (
        "A: T.Buffer((64, 1000000), 'float32'), B: T.Buffer((64, 1000000), 'float32')",
        "for i, j in T.grid(62, 1000000):\n    B[i, j] = A[i, j] + A[i + 2, j]", "VMEM",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why(name: str) -> None:
    params, body, why = REFUSED[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    program = parse(
        f"from __future__ import annotations\nfrom ir import script as T\n@T.prim_func\ndef f({params}):\n{lines}"
    ).funcs[0]
    report: list[str] = []
    assert emit_pallas(program, "tpu", report) is None
    assert any(part in report[0] for part in why.split("|")), report
    with pytest.raises(LoopsatError, match="no Pallas form"):
        pallas_kernel(program)


def test_targets_without_pallas() -> None:
    report: list[str] = []
    assert emit_pallas(func(ROWS), "cpu", report) is None
    assert "not for cpu" in report[0]
    assert "Triton" in str(find_form(func(JACOBI), "gpu"))


# Worth it?


def test_bytes_decide() -> None:
    """Steps of a stencil are worth a kernel; a mask that XLA fuses into its reduction is not."""
    steps, rows = (gain(func(text), ask_compiler=False) for text in (JACOBI, ROWS))
    assert not isinstance(steps, str) and not isinstance(rows, str)
    assert steps.worth and steps.unit == "bytes"
    assert steps.xla == 9 * 3 * 4 * 20 * 12  # reads of A, and of B's border; writes of both, which hold the state
    assert not rows.worth


def with_compiler(test):
    return pytest.mark.tpu(pytest.mark.skipif(not tpu_available(), reason="libtpu is not installed")(test))


@with_compiler
def test_tpu_compiler_takes_the_kernels() -> None:
    forms = [find_form(func(text)) for text in PROGRAMS.values()]
    reports = compile_jobs([pallas_job(form) for form in forms if not isinstance(form, str)])
    assert len(reports) == len(PROGRAMS)
    for report in reports:
        assert isinstance(report, TpuReport), str(report)
        assert report.opaque > 0
        assert any("custom calls" in c for c in report.caveats)


@with_compiler
def test_the_compiler_is_asked_for_cycles() -> None:
    found = gain(func(JACOBI))
    assert not isinstance(found, str)
    assert found.unit == "estimated cycles"
    assert found.worth == (found.pallas < 0.7 * found.xla)


@few(20)
@given(reductions())
def test_reductions_lower_for_a_gpu(drawn: tuple[str, bool]) -> None:
    assert_lowers(func(drawn[0]))


def test_tiles_along_two_axes_lower_for_a_gpu() -> None:
    assert_lowers(func(ROWS.replace("40", "130").replace("30, 4", "500, 4").replace("118", "1990")))


def assert_lowers(program: PrimFunc) -> None:
    """Triton takes the kernel that a program has, if it has one; that needs no GPU."""
    if isinstance(find_form(program, "gpu"), str):
        return
    kernel = pallas_kernel(program, "gpu", interpret=False)
    inputs = random_inputs(program, np.random.default_rng(0))
    assert kernel.jitted.trace(*inputs.values()).lower(lowering_platforms=("cuda",)).as_text().count("triton")


@pytest.mark.gpu
@pytest.mark.skipif(jax.default_backend() != "gpu", reason="there is no GPU")
def test_reduction_on_a_gpu() -> None:
    assert_agrees(func(ROWS), "gpu", interpret=False)
    wide = ROWS.replace("40", "130").replace("30, 4", "500, 4").replace("118", "1990")
    assert_agrees(func(wide), "gpu", interpret=False)


def test_a_column_is_no_vector_of_rows() -> None:
    text = (
        "def f(A: T.Buffer((2, 2), 'float32'), B: T.Buffer((2,), 'float32')):\n"
        "    for i in T.serial(2):\n        B[i] = B[i] + A[i, 0]\n"
    )
    assert isinstance(find_form(func(text), "tpu"), str)


def test_a_program_that_only_its_locals_see_has_no_stages() -> None:
    program = func(
        """def f(A: T.Buffer((16, 128), "float32")):
    L = T.alloc_buffer((16, 128), "float32")
    for i, j in T.grid(16, 128):
        L[i, j] = A[i, j]
"""
    )
    assert "nothing that callers see" in str(find_form(program))
    assert emit_pallas(program) is None


def test_stages_keep_a_result_that_nothing_is_stored_to() -> None:
    program = func(
        """def f(A: T.Buffer((16, 128)), B: T.Buffer((16, 128)), C: T.Buffer((16, 128))):
    for i, j in T.grid(16, 128):
        if i > i:
            B[i, j] = A[i, j]
        C[i, j] = A[i, j] + 1.0
"""
    )
    inputs = random_inputs(program, np.random.default_rng(0))
    for (want, undef), have in zip(
        interpret_with_undef(program, **inputs), pallas_kernel(program, interpret=True)(**inputs), strict=True
    ):
        np.testing.assert_allclose(np.asarray(have)[~undef], want[~undef], rtol=1e-6)
