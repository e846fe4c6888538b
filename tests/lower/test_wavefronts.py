"""Wavefronts: tables whose loops all carry dependences become steps over independent diagonals."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse, specialize
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from lower import emit
from lower.runtime.kernel import Kernel
from lowered import assert_agrees, kernel_of, small_numbers, unwrapped
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, launch=50.0, gather=0.0)  # any array statement is worth it


def read(params: str, body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    text = f"from __future__ import annotations\n@T.prim_func\ndef f({params}):\n{lines}\n"
    return parse(text).funcs[0]


def check(func: PrimFunc, seed: int = 0) -> Kernel:
    """Compare with the interpreter."""
    inputs = random_inputs(func, np.random.default_rng(seed))
    kernel = kernel_of(func, EAGER)
    assert_agrees(func, kernel, inputs, 1e-4)
    return kernel


def is_wavefront(kernel: Kernel, form: str) -> bool:
    """Whether one loop is left (in a loop over r), over the diagonals of a form."""
    loops = [line for line in kernel.report if "stays a loop" in line and "loop r " not in line]
    return len(loops) == 1 and f"all elements of one {form}," in loops[0]


TABLE = 'A: T.Buffer((9, 12), "float32")'
WORDS = 'a: T.Buffer((8,), "int32"), b: T.Buffer((11,), "int32")'
INTS = f'{WORDS}, D: T.Buffer((9, 12), "int32")'


@pytest.mark.parametrize(
    ("params", "body", "form"),
    some(
        [
            pytest.param(
                INTS,
                """
for i in T.serial(9):
    D[i, 0] = i
for j in T.serial(12):
    D[0, j] = j
for i, j in T.grid(8, 11):
    D[i + 1, j + 1] = T.min(
        T.min(D[i, j + 1], D[i + 1, j]) + 1, D[i, j] + T.Select(a[i] % 4 == b[j] % 4, 0, 1)
    )
""",
                "i + j",
                id="edit distance",
            ),
            pytest.param(
                INTS,
                """
for i in T.serial(1, 9):
    for j in T.serial(1, 12):
        if a[i - 1] % 3 == b[j - 1] % 3:
            D[i, j] = D[i - 1, j - 1] + 1
        else:
            D[i, j] = T.max(D[i - 1, j], D[i, j - 1])
""",
                "i + j",
                id="guards that are data",
            ),
            pytest.param(
                f"{WORDS}, {TABLE.replace('A', 'H')}, {TABLE.replace('A', 'E')}, {TABLE.replace('A', 'F')}",
                """
for i in T.serial(1, 9):
    for j in T.serial(1, 12):
        E[i, j] = T.max(E[i, j - 1] - 0.5, H[i, j - 1] - 2.0)
        F[i, j] = T.max(F[i - 1, j] - 0.5, H[i - 1, j] - 2.0)
        H[i, j] = T.max(
            T.max(0.0, H[i - 1, j - 1] + T.Select(a[i - 1] % 4 == b[j - 1] % 4, 3.0, -1.0)),
            T.max(E[i, j], F[i, j]),
        )
""",
                "i + j",
                id="several tables",
            ),
            pytest.param(
                f'x: T.Buffer((9,), "float32"), y: T.Buffer((12,), "float32"), {TABLE}',
                """
for i, j in T.grid(9, 12):
    if i > 0 and j > 0:
        A[i, j] = T.abs(x[i] - y[j]) + T.min(T.min(A[i - 1, j], A[i, j - 1]), A[i - 1, j - 1])
""",
                "i + j",
                id="guarded borders",
            ),
            pytest.param(
                f'{TABLE}, R: T.Buffer((12, 9), "float32")',
                """
for i in T.serial(1, 8):
    for j in T.serial(1, 11):
        A[i, j] = 0.25 * (T.max(A[i - 1, j], A[i, j - 1] * A[i, j + 1]) + A[i + 1, j] + A[i, j] * R[j, i])
""",
                "i + j",
                id="old neighbours ahead",
            ),
            pytest.param(
                TABLE,
                """
for i in T.serial(8):
    for j in T.serial(11):
        A[7 - i, 10 - j] = T.max(A[8 - i, 10 - j] * 0.5, A[7 - i, 11 - j] * A[8 - i, 11 - j])
""",
                "i + j",
                id="running down",
            ),
            pytest.param(
                TABLE,
                """
for i in T.serial(8):
    for j in T.serial(11):
        A[i + 1, 10 - j] = T.max(A[i, 10 - j], T.min(A[i + 1, 11 - j], A[i, 11 - j] + 0.5))
""",
                "i + j",
                id="one loop running down",
            ),
            pytest.param(
                TABLE,
                """
for i in T.serial(1, 9):
    for j in T.serial(1, 11):
        A[i, j] = T.max(A[i, j - 1] * A[i - 1, j + 1], A[i - 1, j] * 0.5)
""",
                "2 * i + j",
                id="a steeper time",
            ),
            pytest.param(
                'A: T.Buffer((12, 9), "float32")',
                """
for i in T.serial(1, 12):
    for j in T.serial(2, 9):
        A[i, j] = T.max(A[i - 1, j] * A[i, j - 1], T.min(A[i, j - 2], A[i - 1, j - 2]))
""",
                "i + j",
                id="longer distances",
            ),
            pytest.param(
                'A: T.Buffer((10, 10), "int32")',
                """
for i in T.serial(1, 10):
    for j in T.serial(1, i + 1):
        A[i, j] = T.max(A[i - 1, j] + 1, T.min(A[i, j - 1], A[i - 1, j - 1] + 2))
""",
                "i + j",
                id="triangle",
            ),
            pytest.param(
                'A: T.Buffer((10, 10), "int32"), s: T.Buffer((10,), "int32")',
                """
for i in T.serial(10):
    for j in T.serial(10 - i, 10):
        A[9 - i, j] = T.max(A[9 - i, j], T.max(A[9 - i, j - 1], A[10 - i, j]))
        if j > 10 - i:
            A[9 - i, j] = T.max(A[9 - i, j], A[10 - i, j - 1] + T.Select(s[9 - i] % 4 + s[j] % 4 == 3, 1, 0))
        for k in T.serial(10 - i, j):
            A[9 - i, j] = T.max(A[9 - i, j], A[9 - i, k] + A[k + 1, j])
""",
                "i + j",
                id="all splits of an interval",
            ),
            pytest.param(
                'A: T.Buffer((9, 9), "float32"), p: T.Buffer((10,), "float32")',
                """
for i in T.serial(9):
    for j in T.serial(9 - i, 9):
        for k in T.serial(8 - i, j):
            A[8 - i, j] = T.min(A[8 - i, j], A[8 - i, k] + A[k + 1, j] + p[8 - i] * p[k + 1] * p[j + 1])
""",
                "i + j",
                id="splits with a price",
            ),
            pytest.param(
                'A: T.Buffer((9, 9), "float32")',
                """
for i in T.serial(9):
    for j in T.serial(9 - i, 9):
        A[8 - i, j] = 0.0
        for k in T.serial(9 - i, j):
            A[8 - i, j] = A[8 - i, j] + 0.25 * A[8 - i, k] * A[k + 1, j]
""",
                "i + j",
                id="sums over splits",
            ),
            pytest.param(
                'A: T.Buffer((9, 9), "float32"), p: T.Buffer((24,), "float32")',
                """
for i in T.serial(1, 9):
    for j in T.serial(1, 9):
        A[i, j] = T.min(A[i - 1, j], A[i, j - 1])
        for k in T.serial(3):
            A[i, j] = T.max(A[i, j], p[2 * j + k] - A[i - 1, j - 1])
""",
                "i + j",
                id="windows of another array",
            ),
            pytest.param(
                'A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "int32")',
                """
for i in T.serial(7):
    for j in T.serial(1, 12):
        if B[6 - i, j - 1] % 3 > 0:
            A[6 - i, j] = T.max(A[7 - i, j], A[6 - i, j - 1] * 0.5)
        B[6 - i, j] = B[7 - i, j] // 2 + B[6 - i, j - 1] % 5 + T.Select(A[7 - i, j - 1] > 0.5, 2, 0)
""",
                "i + j",
                id="tables of several kinds",
            ),
            pytest.param(
                'A: T.Buffer((10, 10), "int32"), best: T.Buffer((1,), "int32")',
                """
for i in T.serial(1, 10):
    for j in T.serial(1, 10):
        A[i, j] = T.max(A[i - 1, j], A[i, j - 1] - 1) + A[i, j]
        best[0] = T.max(best[0], A[i, j])
""",
                "i + j",
                id="the best of all elements",
            ),
            pytest.param(
                'A: T.Buffer((2, 10, 14), "float32")',
                """
for b in T.serial(2):
    for i in T.serial(1, 10):
        for j in T.serial(1, 14):
            A[b, i, j] = T.max(A[b, i - 1, j] * 0.5, A[b, i, j - 1] * A[b, i - 1, j - 1])
""",
                "i + j",
                id="a batch of tables",
            ),
            pytest.param(
                'A: T.Buffer((9, 10), "float32")',
                """
for r in T.serial(3):
    for i in T.serial(1, 9):
        for j in T.serial(1, 9):
            A[i, j] = T.max(A[i - 1, j] * A[i, j - 1], A[i, j + 1] * 0.5 + A[i - 1, j - 1])
""",
                "i + j",
                id="sweeps",
            ),
        ],
        2,
    ),
)
def test_tables_become_steps_over_diagonals(params: str, body: str, form: str) -> None:
    kernel = check(read(params, body))
    assert is_wavefront(kernel, form), f"{kernel.report}\n{kernel.source}"


def test_borders_may_be_stored_at_places_that_wrap_around() -> None:
    table = """
for i in T.serial(9):
    D[i, 0] = i
for j in T.serial(13):
    D[0, (j + 11) % 12] = 4
for i in T.serial(1, 9):
    for j in T.serial(1, 12):
        D[i, j] = T.max(D[i - 1, j], D[i, j - 1]) + D[i - 1, j - 1]
"""
    check(read(INTS, table))


def test_a_value_that_belongs_to_one_element_has_a_place_in_its_diagonal() -> None:
    body = """
for i in T.serial(1, 9):
    for j in T.serial(1, 12):
        best = T.max(A[i - 1, j], A[i, j - 1] * 0.5)
        A[i, j] = best * best - A[i - 1, j - 1]
"""
    func = read(TABLE, body)
    kernel = check(func)
    assert is_wavefront(kernel, "i + j"), kernel.source


def test_sizes_may_be_symbolic() -> None:
    params = (
        'n: T.int32, m: T.int32, a: T.Buffer((n,), "int32"), b: T.Buffer((m,), "int32"), D: T.Buffer((n, m), "int32")'
    )
    body = """
for i in T.serial(1, n):
    for j in T.serial(1, m):
        D[i, j] = T.min(T.min(D[i - 1, j], D[i, j - 1]) + 1, D[i - 1, j - 1] + T.Select(a[i] % 3 == b[j] % 3, 0, 1))
"""
    func = read(params, body)
    compiled = kernel_of(func, EAGER)
    assert is_wavefront(compiled, "i + j"), compiled.source
    for n, m in ((7, 10), (10, 4), (2, 2)):
        fixed = specialize(func, {"n": n, "m": m})
        inputs = random_inputs(fixed, np.random.default_rng(n))
        ((want, undef),) = interpret_with_undef(fixed, **inputs)
        assert not undef.any()
        np.testing.assert_array_equal(np.asarray(compiled(n=n, m=m, **inputs)[0]), want)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("A[i, j] = T.max(A[i - 1, j + 3] - 1, A[i, j - 1] % 5)", id="no short time is legal"),
        pytest.param("A[i, j] = T.min(A[i, j - 1] % 7, A[i - 1, A[i, 0] % 12])", id="which element is data"),
        pytest.param("A[i % 2, j] = T.max(A[i % 2, j - 1], A[(i + 1) % 2, j - 1])", id="a row for two"),
    ],
)
def test_what_has_no_wavefront_stays_as_it_is(body: str) -> None:
    kernel = check(
        read('A: T.Buffer((8, 12), "int32")', f"for i in T.serial(1, 8):\n    for j in T.serial(1, 9):\n        {body}")
    )
    assert not any("all elements of one" in line for line in kernel.report)


def test_a_nest_that_keeps_the_best_in_single_elements_is_lowered() -> None:
    params = 'p: T.Buffer((4,), "float32"), best: T.Buffer((), "float32"), at: T.Buffer((2,), "int32")'
    body = """
best[()] = 99.0
at[0] = -1
at[1] = -1
first = T.alloc_buffer((), "int32")
second = T.alloc_buffer((), "int32")
first[()] = -1
second[()] = -1
for i in T.serial(4):
    for j in T.serial(i + 1, 4):
        d = T.abs(p[i] - p[j])
        if d < best[()]:
            best[()] = d
            first[()] = i
            second[()] = j
at[0] = first[()]
at[1] = second[()]
"""
    check(read(params, body))


EDIT = """
for i in T.serial(1, N):
    for j in T.serial(1, N):
        D[i, j] = T.min(T.min(D[i - 1, j], D[i, j - 1]) + 1, D[i - 1, j - 1] + T.Select(a[i] == b[j], 0, 1))
"""


def edit_distance(n: int) -> PrimFunc:
    sizes = f'a: T.Buffer(({n},), "int32"), b: T.Buffer(({n},), "int32"), D: T.Buffer(({n}, {n}), "int32")'
    return read(sizes, EDIT.replace("N", str(n)))


def test_prices_decide() -> None:
    assert "lax.fori_loop(2, 1999, diagonal_step" in emit(edit_distance(1000))
    assert "diagonal" not in emit(edit_distance(4))


def test_a_sweep_with_a_scan_along_each_row_keeps_it() -> None:
    body = """
for i in T.serial(1, 399):
    for j in T.serial(1, 399):
        A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5.0
"""
    source = emit(read('A: T.Buffer((400, 400), "float32")', body))
    assert "doubling_sums" in source and "diagonal" not in source


def test_a_diagonal_is_a_row_that_is_stored_in_place() -> None:
    source = unwrapped(emit(edit_distance(1000)))
    assert re.search(r"(D_skewed\w*) = lax.dynamic_update_slice\(\1, .*\1\[diagonal - 1, ", source)
    assert source.count(".get(") + source.count("= windows_at(") == 1  # only back
    args = [jax.ShapeDtypeStruct((1000,), np.int32)] * 2 + [jax.ShapeDtypeStruct((1000, 1000), np.int32)]
    scope: dict[str, object] = {}
    exec(source, scope)
    function = scope["f"]
    assert hasattr(function, "lower")
    compiled = function.lower(*args).compile().as_text()
    assert "s32[1999,1000]{1,0} copy(" not in compiled


def test_several_tables_hand_their_rows_on() -> None:
    n = 600
    params = ", ".join(f'{t}: T.Buffer(({n}, {n}), "float32")' for t in "GH")
    body = f"""
for i in T.serial(1, {n}):
    for j in T.serial(1, {n}):
        G[i, j] = T.max(G[i, j - 1], H[i - 1, j - 1] * G[i - 1, j])
        H[i, j] = T.max(H[i - 1, j] * G[i - 1, j - 1], H[i, j - 1]) + G[i, j]
"""
    source = emit(read(params, body), target=replace(CPU, scalar=20.0))
    assert "G_skewed_past" in source and "H_skewed_past_2" in source
    scope: dict[str, object] = {}
    exec(source, scope)
    function = scope["f"]
    assert hasattr(function, "lower")
    compiled = function.lower(*[jax.ShapeDtypeStruct((n, n), np.float32)] * 2).compile().as_text()
    assert f"f32[{2 * n - 1},{n}]{{1,0}} copy(" not in compiled


def test_what_is_never_read_may_hold_anything() -> None:
    body = """
for i in T.serial(9):
    for j in T.serial(9 - i, 9):
        for k in T.serial(9 - i, j):
            A[8 - i, j] = A[8 - i, j] + 0.25 * A[8 - i, k] * A[k + 1, j]
"""
    func = read('A: T.Buffer((9, 9), "float32")', body)
    given = np.random.default_rng(0).uniform(-1, 1, (9, 9)).astype(np.float32)
    given[np.tril_indices(9, -1)] = np.nan
    kernel = kernel_of(func, EAGER)
    assert is_wavefront(kernel, "i + j"), kernel.source
    ((want, _),) = interpret_with_undef(func, given)
    np.testing.assert_allclose(np.asarray(kernel(given)[0]), want, rtol=1e-5)


def test_extremes_run_along_arrays_as_they_lie() -> None:
    func = read(
        'X: T.Buffer((40, 30), "float32"), Z: T.Buffer((40, 30), "float32"), Y: T.Buffer((30,), "float32")',
        "for j, i in T.grid(30, 40):\n    Y[j] = T.max(Y[j], X[i, j] + Z[i, j])",
    )
    assert "jnp.max(X + Z, axis=0)" in check(func).source


@pytest.mark.parametrize("dtype", some(["int64", "float64", "int8", "float16"], 1))
def test_a_row_in_place_has_the_type_of_its_buffer(dtype: str) -> None:
    """A literal row, and a product, in a loop that stays one."""
    body = """
for t in T.serial(1, 5):
    for i in T.serial(1, 8):
        A[t, i] = 2
        B[t, i] = T.max(B[t - 1, i - 1] + A[t - 1, i], 1) // 2
        A[t - 1, i] = B[t, i]
"""
    body = body if dtype.startswith("int") else body.replace(", 1) // 2", ", 1.0) * 0.5").replace("= 2", "= 2.0")
    kernel = check(read(f'A: T.Buffer((5, 8), "{dtype}"), B: T.Buffer((5, 8), "{dtype}")', body))
    assert "lax.dynamic_update_slice" in kernel.source


ECHOES = {
    "an echo": (True, "for t in T.serial(60):\n    Y[t] = X[t]\n    if t >= 17:\n        Y[t] = Y[t] + Y[t - 17] // 2"),
    "two delays": (True, "for t in T.serial(20, 60):\n    Y[t] = X[t] + Y[t - 20] // 2 - Y[t - 11]"),
    "backwards": (True, "for t in T.serial(45):\n    Y[t] = X[t] - Y[t + 13] + Y[44 - t] * 0"),
    "a buffer that goes around": (True, "for t in T.serial(60):\n    Y[t % 12] = Y[t % 12] // 2 + X[t]"),
    "the step before": (False, "for t in T.serial(20, 60):\n    Y[t] = X[t] + Y[t - 20] // 2 - Y[t - 1] // 3"),
    "a place that data say": (False, "for t in T.serial(20, 60):\n    Y[t] = Y[t - 20] // 2 + Y[X[t] % 60]"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(ECHOES, 0.5))
def test_steps_that_wait_for_distant_ones_are_taken_together(name: str) -> None:
    together, body = ECHOES[name]
    func = read('X: T.Buffer((60,), "int32"), Y: T.Buffer((60,), "int32")', body)
    for target in (CPU, EAGER):
        kernel = kernel_of(func, target)
        assert_agrees(func, kernel, small_numbers(func, 1))
    assert together or "_strip" not in kernel.source
