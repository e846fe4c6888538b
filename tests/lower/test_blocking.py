"""Loops in blocks and triangular systems: what follows a bound is cut at blocks, and what the result is."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from ir.semantics.interpret import interpret
from lower.emission.function import emit_function
from lower.restructure import reschedule
from lower.restructure.blocking import width
from lower.runtime.kernel import Kernel
from lowered import kernel_of
from profiles import few, some
from symbolic import with_numbers_and_with_symbols

EAGER = replace(CPU, launch=0.0, step=300.0)  # cuts short loops too, which the interpreter can run
HEAD = "import numpy as np\nfrom ir import script as T\n\n@T.prim_func\n"


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reschedule, "LEAST", 12)


def read(params: str, body: str) -> PrimFunc:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return parse(f"{HEAD}def f({params}):\n{lines}\n").funcs[0]


def matrix(name: str, n: int, dtype: str = "float32") -> str:
    return f"{name}: T.Buffer(({n}, {n}), '{dtype}')"


def vector(name: str, n: int, dtype: str = "float32") -> str:
    return f"{name}: T.Buffer(({n},), '{dtype}')"


def inputs(func: PrimFunc, seed: int = 3) -> dict[str, np.ndarray]:
    """Values for which factorizations and solutions are tame: square matrices have a large diagonal."""
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for b in func.buffers:
        shape = tuple(int(d.value) for d in b.shape)  # pyright: ignore[reportAttributeAccessIssue]
        values = rng.uniform(-1, 1, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            values = values + values.T + 2 * shape[0] * np.eye(shape[0])
        found[b.name] = (
            values.astype(b.dtype.value) if b.dtype.is_float else rng.integers(-3, 4, shape).astype(b.dtype.value)
        )
    return found


def eager(func: PrimFunc) -> Kernel:
    return kernel_of(func, EAGER)


def agree(func: PrimFunc, tolerance: float = 1e-4) -> tuple[str, ...]:
    """Compare with the interpreter; returns the report of lowering."""
    given_ = inputs(func)
    expected = interpret(func, **{k: v.copy() for k, v in given_.items()})
    for want, have in zip(expected, eager(func)(**given_), strict=True):
        scale = max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(np.asarray(have), want, rtol=tolerance, atol=tolerance * scale)
    return emit_function(func, target=EAGER).report


def in_blocks(report: tuple[str, ...]) -> int:
    return sum("its blocks of" in line for line in report)


def systems(report: tuple[str, ...]) -> int:
    return sum("triangular system" in line for line in report)


LU = """for i in range({n}):
    for j in range(i):
        for k in range(j):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]
        A[i, j] = A[i, j] / A[j, j]
    for j in T.serial(i, {n}):
        for k in range(i):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]"""
LU_BY_STEPS = """for k in range({n}):
    for i in T.serial(k + 1, {n}):
        A[i, k] = A[i, k] / A[k, k]
        for j in T.serial(k + 1, {n}):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]"""
CHOLESKY = """for i in range({n}):
    for j in range(i):
        for k in range(j):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
        A[i, j] = A[i, j] / A[j, j]
    for k in range(i):
        A[i, i] = A[i, i] - A[i, k] * A[i, k]
    A[i, i] = T.sqrt(T.abs(A[i, i]))"""  # whatever the pivots: no library does that
FORWARD = """for i in range({n}):
    for j in range(i):
        x[i] = x[i] - A[i, j] * x[j]
    x[i] = x[i] / A[i, i]"""
BACKWARD = """for s in range({n}):
    for j in T.serial({n} - s, {n}):
        x[{n} - 1 - s] = x[{n} - 1 - s] - A[{n} - 1 - s, j] * x[j]
    x[{n} - 1 - s] = x[{n} - 1 - s] / A[{n} - 1 - s, {n} - 1 - s]"""


@pytest.mark.parametrize("n", some([25, 24, 29], 1))
@pytest.mark.parametrize("body", some([LU, LU_BY_STEPS, CHOLESKY], 2), ids=["lu", "lu by steps", "cholesky"])
def test_factorizations_run_in_blocks(body: str, n: int) -> None:
    report = agree(read(matrix("A", n), body.format(n=n)))
    assert in_blocks(report) == 1


def test_panels_of_a_factorization_are_triangular_systems() -> None:
    report = agree(read(matrix("A", 25), LU.format(n=25)))
    assert systems(report) == 2


@pytest.mark.parametrize("body", [FORWARD, BACKWARD], ids=["forward", "backward"])
@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
def test_systems(body: str, dtype: str) -> None:
    func = read(f"{matrix('A', 20, dtype)}, {vector('x', 20, dtype)}", body.format(n=20))
    assert systems(agree(func)) == 1


SYSTEMS = {
    "many right-hand sides": (
        f"{matrix('A', 18)}, X: T.Buffer((18, 7), 'float32')",
        ("for i in range(18):\n    for c in range(7):\n        for j in range(i):\n"
        "            X[i, c] = X[i, c] - A[i, j] * X[j, c]\n        X[i, c] = X[i, c] / A[i, i]"),
    ),
    "from the right": (
        f"{matrix('A', 18)}, X: T.Buffer((7, 18), 'float32')",
        ("for c in range(7):\n    for i in range(18):\n        for j in range(i):\n"
        "            X[c, i] = X[c, i] - A[j, i] * X[c, j]\n        X[c, i] = X[c, i] / A[i, i]"),
    ),
    "ones on the diagonal": (
        f"{matrix('A', 18)}, {vector('x', 18)}",
        "for i in range(18):\n    for j in range(i):\n        x[i] = x[i] - A[i, j] * x[j]",
    ),
    "three axes": (
        f"{matrix('A', 18)}, X: T.Buffer((3, 18, 4), 'float32')",
        ("for b in range(3):\n    for i in range(18):\n        for c in range(4):\n            for j in range(i):\n"
        "                X[b, i, c] = X[b, i, c] - A[i, j] * X[b, j, c]\n"
        "            X[b, i, c] = X[b, i, c] / A[i, i]"),
    ),
    "some columns": (
        f"{matrix('A', 18)}, X: T.Buffer((18, 9), 'float32'), {vector('w', 9, 'int32')}",
        ("for i in range(18):\n    for c in range(9):\n        if w[c] > 0:\n            for j in range(i):\n"
        "                X[i, c] = X[i, c] - A[i, j] * X[j, c]\n            X[i, c] = X[i, c] / A[i, i]"),
    ),
    "by columns": (
        f"{matrix('A', 18)}, {vector('x', 18)}",
        ("for j in range(18):\n    x[j] = x[j] / A[j, j]\n    for i in T.serial(j + 1, 18):\n"
        "        x[i] = x[i] - A[i, j] * x[j]"),
    ),
}  # fmt: skip
NO_SYSTEMS = {
    "a band": (
        f"{matrix('A', 18)}, {vector('x', 18)}",
        "for i in range(18):\n    for j in T.serial(T.max(i - 4, 0), i):\n        x[i] = x[i] - A[i, j] * x[j]",
    ),
    "another diagonal": (
        f"{matrix('A', 18)}, {vector('x', 18)}",
        ("for i in range(17):\n    for j in range(i):\n        x[i] = x[i] - A[i, j] * x[j]\n"
        "    x[i] = x[i] / A[i, i + 1]"),
    ),
    "a matrix that changes": (
        matrix("A", 18),
        ("for i in T.serial(1, 18):\n    for j in T.serial(1, i):\n"
        "        A[i, i - 1] = A[i, i - 1] - A[i, j] * A[j, j - 1] * 0.01"),
    ),
    "integers": (
        f"{matrix('A', 12, 'int32')}, {vector('x', 12, 'int32')}",
        "for i in range(12):\n    for j in range(i):\n        x[i] = x[i] - (A[i, j] % 2) * x[j]",
    ),
    "the same in all rows": (
        f"{vector('w', 18)}, {vector('x', 18)}",
        "for i in range(18):\n    for j in range(i):\n        x[i] = x[i] - w[j] * x[j]",
    ),
    "the same in all columns": (
        f"{vector('w', 18)}, {vector('x', 18)}",
        "for i in range(18):\n    for j in range(i):\n        x[i] = x[i] - w[i] * x[j]",
    ),
    "some steps": (
        f"{matrix('A', 18)}, {vector('x', 18)}",
        ("for i in range(18):\n    for j in range(i):\n        x[i] = x[i] - A[i, j] * x[j]\n"
        "    if i < 12:\n        x[i] = x[i] / A[i, i]"),
    ),
    "only every second": (
        f"{matrix('A', 18)}, {vector('x', 18)}",
        ("for i in range(18):\n    for j in range(i):\n        if j % 2 == 0:\n"
        "            x[i] = x[i] - A[i, j] * x[j]\n"
        "    x[i] = x[i] / A[i, i]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(SYSTEMS.values(), 3), ids=SYSTEMS.keys())
def test_systems_in_other_words(params: str, body: str) -> None:
    assert systems(agree(read(params, body))) == 1


@pytest.mark.parametrize(("params", "body"), some(NO_SYSTEMS.values(), 0.5), ids=NO_SYSTEMS.keys())
def test_what_is_no_triangular_system(params: str, body: str) -> None:
    assert systems(agree(read(params, body))) == 0


def test_the_other_triangle_is_not_read() -> None:
    func = read(f"{matrix('A', 20)}, {vector('x', 20)}", FORWARD.format(n=20))
    kernel, given_ = eager(func), inputs(func)
    want = kernel(**given_)[0]
    given_["A"] = np.where(np.tri(20, dtype=bool), given_["A"], np.nan).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(kernel(**given_)[0]), np.asarray(want))


@pytest.mark.fuzz
def test_gradients_pass_through_blocks() -> None:
    func = read(matrix("A", 20), LU.format(n=20))
    a = inputs(func)["A"]
    kernel = eager(func)
    assert in_blocks(emit_function(func, target=EAGER).report) == 1

    def plain(x: jax.Array) -> jax.Array:
        below = jax.numpy.arange(20)

        def step(k: jax.Array, x: jax.Array) -> jax.Array:
            factors = jax.numpy.where(below > k, x[:, k] / x[k, k], 0.0)
            x = x - factors[:, None] * jax.numpy.where(below > k, x[k], 0.0)
            return x.at[:, k].set(jax.numpy.where(below > k, factors, x[:, k]))

        return jax.lax.fori_loop(0, 20, step, x)

    def total(f: Callable[[jax.Array], jax.Array]) -> jax.Array:
        return jax.grad(lambda x: (f(x) ** 2).sum() / 1e4)(a)

    want, have = total(plain), total(lambda x: kernel.jitted(A=x)[0])
    np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=1e-3, atol=1e-4)


def test_short_loops_are_not_cut() -> None:
    assert "block" not in emit_function(read(matrix("A", 11), LU.format(n=11)), target=EAGER).source


@given(st.integers(12, 5000))
def test_widths_leave_several_blocks(extent: int) -> None:
    assert 1 < width(extent) <= extent // 2


# Random nests whose bounds follow each other ------------------------------------------------------------------------


@st.composite
def triangles(draw: st.DrawFn) -> PrimFunc:
    """A loop over steps whose statements read and write rows, columns and triangles around the step."""
    n = draw(st.sampled_from([14, 16, 19]))
    ranges = {"before": "range({t})", "after": f"T.serial({{t}} + 1, {n})", "from": f"T.serial({{t}}, {n})"}
    lines = [f"for t in range({n}):"]
    for _ in range(draw(st.integers(1, 3))):
        lines += [" " * 4 + line for line in _statement(draw, ranges)]
    return read(f"{matrix('A', n)}, {vector('x', n)}", "\n".join(lines))


def _statement(draw: st.DrawFn, ranges: dict[str, str]) -> list[str]:
    kind = draw(st.sampled_from(["sum", "row", "column", "table", "scale"]))
    side = ranges[draw(st.sampled_from(sorted(ranges)))]
    other = ranges[draw(st.sampled_from(sorted(ranges)))]
    place = draw(st.sampled_from(["A[t, i]", "A[i, t]"]))
    match kind:
        case "sum":
            return [f"for i in {side.format(t='t')}:", "    x[t] = x[t] - A[t, i] * x[i] * 0.01"]
        case "row" | "column":
            return [
                f"for i in {side.format(t='t')}:",
                f"    for k in {other.format(t=draw(st.sampled_from(['t', 'i'])))}:",
                f"        {place} = {place} - A[i, k] * A[k, t] * 0.001",
            ]
        case "table":
            return [
                f"for i in {side.format(t='t')}:",
                f"    for j in {other.format(t='t')}:",
                "        A[i, j] = A[i, j] - A[i, t] * A[t, j] * 0.001",
            ]
        case _:
            return [f"for i in {side.format(t='t')}:", f"    {place} = {place} / A[t, t]"]


def small(func: PrimFunc) -> None:
    given_ = inputs(func)
    with np.errstate(all="ignore"):
        expected = interpret(func, **{k: v.copy() for k, v in given_.items()})
    if not all(np.isfinite(e).all() and np.abs(e).max() < 1e4 for e in expected):
        return
    for same, sizes in with_numbers_and_with_symbols(func):
        kernel = eager(same)
        for want, have in zip(expected, kernel(**given_, **sizes), strict=True):
            atol = 2e-3 * max(1.0, float(np.abs(want).max()))
            np.testing.assert_allclose(np.asarray(have), want, rtol=2e-3, atol=atol, err_msg=kernel.source)


@few(2)
@given(triangles())
def test_random_triangles(func: PrimFunc) -> None:
    small(func)


@pytest.mark.fuzz
@settings(max_examples=200, deadline=None)
@given(triangles())
def test_many_random_triangles(func: PrimFunc) -> None:
    small(func)
