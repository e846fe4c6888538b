"""Updates put off: loops that read what their own steps update become products and triangular systems."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from ir.semantics.interpret import interpret
from lower.emission.function import emit_function
from lower.restructure import reschedule
from lowered import kernel_of
from profiles import few, some

# Puts off in short loops too, which the interpreter can run: products are cheap.
EAGER = replace(CPU, launch=0.0, step=300.0, contraction=0.001)
HEAD = "import numpy as np\nfrom ir import script as T\n\n@T.prim_func\n"


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reschedule, "LEAST", 12)


def read(shapes: Mapping[str, tuple[int, ...]], body: str, dtype: str = "float64") -> PrimFunc:
    lines = "\n".join("    " + line for line in body.split("\n"))
    params = ", ".join(f"{n}: T.Buffer({shape}, '{dtype}')" for n, shape in shapes.items())
    return parse(f"{HEAD}def f({params}):\n{lines}\n").funcs[0]


def inputs(func: PrimFunc, seed: int = 3) -> dict[str, np.ndarray]:
    """Well-conditioned matrices, whose columns and rows are far from each other's directions; steps are small."""
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for b in func.buffers:
        shape = tuple(int(d.value) for d in b.shape)  # pyright: ignore[reportAttributeAccessIssue]
        values = rng.uniform(-1, 1, shape)
        values = values + 3 * np.eye(*shape) if len(shape) == 2 else values / 4 + 1
        found[b.name] = values.astype(b.dtype.value) if b.dtype.is_float else rng.integers(-3, 4, shape).astype("int32")
    return found


def results(func: PrimFunc, given_: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    kernel = kernel_of(func, EAGER)
    return tuple(np.asarray(r) for r in kernel(**given_))


def agree(func: PrimFunc, given_: Mapping[str, np.ndarray] | None = None, tolerance: float = 1e-11) -> None:
    """Compare with the interpreter, NaN where it has NaN."""
    given_ = inputs(func) if given_ is None else given_
    expected = interpret(func, **{k: v.copy() for k, v in given_.items()})
    for want, have in zip(expected, results(func, given_), strict=True):
        scale = max(1.0, float(np.nanmax(np.abs(want), initial=0)))
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance * scale)


def systems(func: PrimFunc) -> int:
    return sum("triangular system" in line for line in emit_function(func, target=EAGER).report)


COLUMNS = """norm = T.alloc_buffer((1,), "float64")
for k in range({n}):
    norm[0] = 0.0
    for i in range({m}):
        norm[0] = norm[0] + A[i, k] * A[i, k]
    R[k, k] = T.sqrt(norm[0])
    for i in range({m}):
        Q[i, k] = A[i, k] / R[k, k]
    for j in T.serial(k + 1, {n}):
        R[k, j] = 0.0
        for i in range({m}):
            R[k, j] = R[k, j] + Q[i, k] * A[i, j]
        for i in range({m}):
            A[i, j] = A[i, j] - Q[i, k] * R[k, j]"""
ROWS = """for k in range({n}):
    R[k, k] = 0.0
    for i in range({m}):
        R[k, k] = R[k, k] + A[k, i] * A[k, i]
    R[k, k] = T.sqrt(R[k, k])
    for i in range({m}):
        A[k, i] = A[k, i] / R[k, k]
    for j in T.serial(k + 1, {n}):
        R[j, k] = 0.0
        for i in range({m}):
            R[j, k] = R[j, k] + A[k, i] * A[j, i]
        for i in range({m}):
            A[j, i] = A[j, i] - R[j, k] * A[k, i]"""
LEFT = """for j in range({n}):
    for k in range(j):
        R[k, j] = 0.0
        for i in range({m}):
            R[k, j] = R[k, j] + A[k, i] * A[j, i]
        for i in range({m}):
            A[j, i] = A[j, i] - R[k, j] * A[k, i]
    R[j, j] = 0.0
    for i in range({m}):
        R[j, j] = R[j, j] + A[j, i] * A[j, i]
    R[j, j] = T.sqrt(R[j, j])
    for i in range({m}):
        A[j, i] = A[j, i] / R[j, j]"""
REFLECTORS = """w = T.alloc_buffer(({p},), "float64")
for k in range({n}):
    for j in range({p}):
        w[j] = 0.0
        for i in range({m}):
            w[j] = w[j] + V[k, i] * C[i, j]
        for i in range({m}):
            C[i, j] = C[i, j] - tau[k] * V[k, i] * w[j]"""
STORED_REFLECTORS = """w = T.alloc_buffer(({p},), "float64")
for k in range({n}):
    for j in range({p}):
        w[j] = C[k, j]
        for i in T.serial(k + 1, {m}):
            w[j] = w[j] + V[i, k] * C[i, j]
        w[j] = w[j] * tau[k]
        C[k, j] = C[k, j] - w[j]
        for i in T.serial(k + 1, {m}):
            C[i, j] = C[i, j] - V[i, k] * w[j]"""
KACZMARZ = """r = T.alloc_buffer((1,), "float64")
for k in range({n}):
    r[0] = 0.0
    for i in range({m}):
        r[0] = r[0] + A[k, i] * x[i]
    for i in range({m}):
        x[i] = x[i] - (r[0] - b[k]) / s[k] * A[k, i]"""
KACZMARZ_FOR_MANY = """r = T.alloc_buffer(({p},), "float64")
for t in range(2):
    for k in range({n}):
        for c in range({p}):
            r[c] = 0.0
            for i in range({m}):
                r[c] = r[c] + A[k, i] * x[i, c]
            for i in range({m}):
                x[i, c] = x[i, c] - (r[c] - b[k, c]) / s[k] * A[k, i]"""
PROGRAMS: dict[str, tuple[dict[str, str], str]] = {
    "columns": ({"A": "mn", "R": "nn", "Q": "mn"}, COLUMNS),
    "rows, in place": ({"A": "nm", "R": "nn"}, ROWS),
    "row by row, in place": ({"A": "nm", "R": "nn"}, LEFT),
    "reflectors": ({"V": "nm", "tau": "n", "C": "mp"}, REFLECTORS),
    "reflectors as stored": ({"V": "mn", "tau": "n", "C": "mp"}, STORED_REFLECTORS),
    "kaczmarz": ({"A": "nm", "b": "n", "s": "n", "x": "m"}, KACZMARZ),
    "kaczmarz twice, for many": ({"A": "nm", "b": "np", "s": "n", "x": "mp"}, KACZMARZ_FOR_MANY),
}


def program(name: str, dtype: str = "float64", **sizes: int) -> PrimFunc:
    shapes, body = PROGRAMS[name]
    found = {b: tuple(sizes[d] for d in dims) for b, dims in shapes.items()}
    return read(found, body.format(**sizes).replace("float64", dtype), dtype)


@pytest.mark.parametrize("name", some(PROGRAMS, len(PROGRAMS) // 3))
@pytest.mark.parametrize("n", some([23, 20], 1))
def test_updates_wait_for_the_end_of_a_block(name: str, n: int) -> None:
    func = program(name, n=n, m=26, p=9)
    assert systems(func) >= 1
    agree(func)


def test_prices_of_library_calls_decide() -> None:
    func = program("reflectors", n=20, m=26, p=9)
    dear = replace(EAGER, launch=1.0, library=1e9)
    assert not any("triangular system" in line for line in emit_function(func, target=dear).report)


def test_tiles_of_columns_are_carried_as_rows_and_masked_stores_are_to_whole_arrays() -> None:
    source = emit_function(program("columns", n=40, m=26), target=EAGER).source
    assert re.search(r"A_tile = lax.optimization_barrier\(lax.dynamic_slice\(A, .*\)\.T\)$", source, re.MULTILINE)
    assert "Q_tile = jnp.zeros(" in source  # each step stores to its row before anyone reads it
    assert re.search(r"^ *A = jnp.where\(\s*j >= ", source, re.MULTILINE)


def test_single_precision() -> None:
    agree(program("columns", dtype="float32", n=20, m=26), tolerance=2e-5)


def test_columns_are_as_orthogonal_as_by_steps() -> None:
    func = program("columns", n=24, m=30)
    A = np.random.default_rng(0).uniform(-1, 1, (30, 24)) @ np.diag(np.logspace(0, -4, 24))
    given_ = {"A": A, "R": np.zeros((24, 24)), "Q": np.zeros((30, 24))}
    loss = [
        float(np.abs(q.T @ q - np.eye(24)).max())
        for _, _, q in (results(func, given_), interpret(func, **{k: v.copy() for k, v in given_.items()}))
    ]
    assert loss[0] < 4 * max(loss[1], 1e-15)


def test_what_no_step_reads_stays_out() -> None:
    """Garbage below the diagonals of reflectors' matrix, and in results before they are stored, changes nothing."""
    func = program("columns", n=20, m=26)
    given_ = inputs(func) | {"R": np.full((20, 20), np.nan), "Q": np.full((26, 20), np.nan)}
    agree(func, given_)
    func = program("reflectors as stored", n=20, m=26, p=9)
    given_ = inputs(func)
    given_["V"] = np.where(np.arange(26)[:, None] > np.arange(20), given_["V"], np.nan)
    agree(func, given_)


def test_steps_without_a_result_have_no_part_in_a_system() -> None:
    """Left of the diagonal no result is stored or read: what is there stays as it is, and out of all others."""
    body = """for j in range(20):
    for k in range(j):
        for i in range(26):
            R[k, j] = R[k, j] + V[k, i] * C[i, j]
        for i in range(26):
            C[i, j] = C[i, j] - V[k, i] * R[k, j]"""
    func = read({"V": (20, 26), "C": (26, 20), "R": (20, 20)}, body)
    given_ = inputs(func)
    given_["R"][np.tril_indices(20, -4)] = np.nan
    agree(func, given_)


def test_a_step_that_divides_by_zero_spoils_what_it_spoils_by_steps() -> None:
    func = program("columns", n=20, m=26)
    given_ = inputs(func)
    given_["A"][:, 13] = 0.0
    agree(func, given_)


def test_results_that_follow_are_right_as_well() -> None:
    """What is between the sum and the update is stored for others to see: it takes part in the correction."""
    body = """for k in range({n}):
    for j in range({p}):
        for i in range({m}):
            W[k, j] = W[k, j] + V[k, i] * C[i, j]
        Z[j, k] = (B[k, j] - W[k, j]) * tau[k]
        for i in range({m}):
            C[i, j] = C[i, j] + (Z[j, k] - 0.5 * B[k, j]) * -V[k, i]"""
    shapes = {"V": (20, 15), "tau": (20,), "B": (20, 9), "C": (15, 9), "W": (20, 9), "Z": (9, 20)}
    func = read(shapes, body.format(n=20, m=15, p=9))
    assert systems(func) >= 1
    agree(func)


MISSES = {
    "the factor changes": (
        "W[k, j] = W[k, j] + V[k, i] * C[i, j]",
        "C[i, j] = C[i, j] - V[k, i] * W[k, j]\n            V[k + 1, i] = V[k + 1, i] + 0.01 * C[i, 0]",
    ),
    "a square is read": ("W[k, j] = W[k, j] + V[k, i] * C[i, j] * C[i, j]", "C[i, j] = C[i, j] - V[k, i] * W[k, j]"),
    "a square is added": ("W[k, j] = W[k, j] + V[k, i] * C[i, j]", "C[i, j] = C[i, j] - V[k, i] * W[k, j] * W[k, j]"),
    "two columns are read": (
        "W[k, j] = W[k, j] + V[k, i] * (C[i, j] + C[i, 8 - j])",
        "C[i, j] = C[i, j] - V[k, i] * W[k, j]",
    ),
    "factors differ by column": (
        "W[k, j] = W[k, j] + V[k, i] * B[k, j] * C[i, j]",
        "C[i, j] = C[i, j] - V[k, i] * W[k, j]",
    ),
    "a result of another step": (
        "W[k + 1, j] = W[k + 1, j] + V[k, i] * C[i, j]",
        "C[i, j] = C[i, j] - V[k, i] * W[k, j]",
    ),
    "it is no sum": ("W[k, j] = W[k, j] + V[k, i] * C[i, j]", "C[i, j] = 0.5 * C[i, j] - V[k, i] * W[k, j]"),
    "one place for all steps": ("W[0, j] = W[0, j] + V[k, i] * C[i, j]", "C[i, j] = C[i, j] - V[k, i] * W[0, j]"),
}


@pytest.mark.parametrize("name", some(MISSES, 2))
def test_steps_of_another_kind_stay_steps(name: str) -> None:
    sums, update = MISSES[name]
    body = f"""for k in range(20):
    for j in range(9):
        for i in range(15):
            {sums}
        for i in range(15):
            {update}"""
    func = read({"V": (21, 15), "B": (21, 9), "C": (15, 9), "W": (21, 9)}, body)
    given_ = {k: v * 0.05 for k, v in inputs(func).items()}
    assert systems(func) == 0
    agree(func, given_, tolerance=1e-9)


def test_integers_stay_exact() -> None:
    body = """for k in range(20):
    for j in range(9):
        for i in range(5):
            W[k, j] = W[k, j] + V[k, i] * C[i, j]
        for i in range(5):
            C[i, j] = C[i, j] - (W[k, j] + V[k, i]) % 5"""
    func = read({"V": (20, 5), "C": (5, 9), "W": (20, 9)}, body, "int32")
    assert systems(func) == 0
    agree(func, tolerance=0.0)


@pytest.mark.fuzz
@few(5)
@given(data=st.data())
def test_sweeps_of_many_kinds(data: st.DataObject) -> None:
    """Signs, ranges that follow the step, offsets, a value that a result begins with."""
    n, m, p = data.draw(st.integers(12, 17)), data.draw(st.integers(4, 20)), data.draw(st.integers(1, 4))
    start = data.draw(st.sampled_from(["0", f"T.min(k, {m})", f"T.max(0, {m} - 2 - k)", "1"]))
    stop = data.draw(st.sampled_from([f"{m}", f"T.min(k + 2, {m})"]))
    signs = [data.draw(st.sampled_from("+-")) for _ in range(2)]
    row = data.draw(st.sampled_from(["k", f"{n - 1} - k"]))
    begin = data.draw(st.sampled_from(["0.0", "B[k, j]", f"B[k, j] - 2.0 * C[{m - 1}, j]"]))
    place = f"W[{row}, j]"
    follow = data.draw(st.sampled_from([f"{place} * 0.5", f"B[k, j] - {place} / s[k]", f"-{place}"]))
    other = data.draw(st.sampled_from(["V", "U"]))
    body = f"""for k in range({n}):
    for j in range({p}):
        W[{row}, j] = {begin}
        for i in T.serial({start}, {stop}):
            W[{row}, j] = W[{row}, j] {signs[0]} V[k, i] * C[i, j]
        {place} = {follow}
        for i in range({m}):
            if i % 3 != 1:
                C[i, j] = C[i, j] {signs[1]} {other}[k, i] * W[{row}, j] / s[k]"""
    shapes = {"V": (n, m), "U": (n, m), "B": (n, p), "s": (n,), "C": (m, p), "W": (n, p)}
    func = read(shapes, body)
    given_ = inputs(func, seed=n)
    given_ = given_ | {"V": given_["V"] * 0.2, "U": given_["U"] * 0.2}
    agree(func, given_, tolerance=1e-9)
