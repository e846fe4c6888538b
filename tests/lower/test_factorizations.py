"""Cholesky factorizations by the library: found by their equations, equal to the loops in all states."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from lower import compile, emit
from lower.runtime.kernel import Kernel
from lowered import assert_agrees, kernel_of
from profiles import some

N = 18
HEAD = "from __future__ import annotations\nimport numpy as np\nfrom ir import script as T\n\n@T.prim_func\n"
A = f"A: T.Buffer(({N}, {N}), 'float32')"
A_AND_L = f"{A}, L: T.Buffer(({N}, {N}), 'float32')"

BY_ROWS = f"""
for i in range({N}):
    for j in range(i):
        for k in range(j):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
        A[i, j] = A[i, j] / A[j, j]
    for k in range(i):
        A[i, i] = A[i, i] - A[i, k] * A[i, k]
    A[i, i] = T.sqrt(A[i, i])
"""
RIGHT_LOOKING = f"""
for k in range({N}):
    A[k, k] = T.sqrt(A[k, k])
    for i in T.serial(k + 1, {N}):
        A[i, k] = A[i, k] / A[k, k]
    for j in T.serial(k + 1, {N}):
        for i in T.serial(j, {N}):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
"""
RIDGE = f"""
for j in range({N}):
    d = T.alloc_buffer((1,), "float32")
    d[0] = A[j, j] + 0.25
    for k in range(j):
        d[0] = d[0] - L[j, k] * L[j, k]
    L[j, j] = T.sqrt(d[0])
    for i in T.serial(j + 1, {N}):
        s = T.alloc_buffer((1,), "float32")
        s[0] = A[i, j]
        for k in range(j):
            s[0] = s[0] - L[i, k] * L[j, k]
        L[i, j] = s[0] / L[j, j]
"""
ZEROS = f"""
s = T.alloc_buffer((1,), "float32")
M = T.alloc_buffer(({N}, {N}), "float32")
for i, j in T.grid({N}, {N}):
    M[i, j] = 0.0
for j in range({N}):
    d = T.alloc_buffer((1,), "float32")
    d[0] = A[j, j] + 0.25
    for k in range({N}):
        d[0] = d[0] - M[j, k] * M[j, k]
    M[j, j] = T.sqrt(d[0])
    for i in T.serial(j + 1, {N}):
        s[0] = A[i, j]
        for k in range(j):
            s[0] = s[0] - M[i, k] * M[j, k]
        M[i, j] = s[0] / M[j, j]
for i in range({N}):
    s[0] = M[i, 0]
    L[i, 0] = s[0]
    for j in T.serial(1, {N}):
        L[i, j] = M[i, j]
"""
FORMS = {
    "by rows": (A, BY_ROWS),
    "right-looking": (A, RIGHT_LOOKING),
    "left-looking by columns": (
        A,
        f"""
for j in range({N}):
    for k in range(j):
        for i in T.serial(j, {N}):
            A[i, j] = A[i, j] - A[j, k] * A[i, k]
    A[j, j] = T.sqrt(A[j, j])
    for i in T.serial(j + 1, {N}):
        A[i, j] = A[i, j] / A[j, j]
""",
    ),
    "upper storage": (
        A,
        f"""
for k in range({N}):
    A[k, k] = T.sqrt(A[k, k])
    for j in T.serial(k + 1, {N}):
        A[k, j] = A[k, j] / A[k, k]
    for i in T.serial(k + 1, {N}):
        for j in T.serial(i, {N}):
            A[i, j] = A[i, j] - A[k, i] * A[k, j]
""",
    ),
    "a local sum into another buffer": (
        A_AND_L,
        f"""
for j in range({N}):
    for i in T.serial(j, {N}):
        s = T.alloc_buffer((1,), "float32")
        s[0] = A[i, j]
        for k in range(j):
            s[0] = s[0] - L[i, k] * L[j, k]
        if i == j:
            L[j, j] = T.sqrt(s[0])
        else:
            L[i, j] = s[0] / L[j, j]
""",
    ),
    "sums from zero, by rows": (
        A_AND_L,
        f"""
for i in range({N}):
    for j in range(i):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for k in range(j):
            s[0] = s[0] + L[i, k] * L[j, k]
        L[i, j] = (A[i, j] - s[0]) / L[j, j]
    d = T.alloc_buffer((1,), "float32")
    d[0] = 0.0
    for k in range(i):
        d[0] = d[0] + L[i, k] * L[i, k]
    L[i, i] = T.sqrt(A[i, i] - d[0])
""",
    ),
    "the other triangle of the input": (
        A_AND_L,
        f"""
for j in range({N}):
    d = T.alloc_buffer((1,), "float32")
    d[0] = A[j, j]
    for k in range(j):
        d[0] = d[0] - L[j, k] * L[j, k]
    L[j, j] = T.sqrt(d[0])
    for i in T.serial(j + 1, {N}):
        s = T.alloc_buffer((1,), "float32")
        s[0] = A[j, i]
        for k in range(j):
            s[0] = s[0] - L[i, k] * L[j, k]
        L[i, j] = s[0] / L[j, j]
""",
    ),
    "reciprocals": (
        A,
        f"""
for k in range({N}):
    A[k, k] = T.sqrt(A[k, k])
    r: T.float32 = 1.0 / A[k, k]
    for i in T.serial(k + 1, {N}):
        A[i, k] = A[i, k] * r
    for i in T.serial(k + 1, {N}):
        for j in T.serial(k + 1, i + 1):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
""",
    ),
    "a pivot of its own": (
        A,
        f"""
for k in range({N}):
    p: T.float32 = T.sqrt(A[k, k])
    A[k, k] = p
    for i in T.serial(k + 1, {N}):
        A[i, k] = A[i, k] / p
    for i in T.serial(k + 1, {N}):
        for j in T.serial(k + 1, i + 1):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
""",
    ),
    "a block of a buffer": (A, RIGHT_LOOKING.replace(f"{N})", f"{N - 1})").replace("range(", "T.serial(2, ")),
    "two products at a time": (
        A_AND_L,
        f"""
for j in range({N}):
    for i in T.serial(j, {N}):
        L[i, j] = A[i, j]
    for i in T.serial(j, {N}):
        for k in range(j // 2):
            L[i, j] = L[i, j] - L[i, 2 * k] * L[j, 2 * k] - L[i, 2 * k + 1] * L[j, 2 * k + 1]
        for k in T.serial(j // 2 * 2, j):
            L[i, j] = L[i, j] - L[i, k] * L[j, k]
    L[j, j] = T.sqrt(L[j, j])
    for i in T.serial(j + 1, {N}):
        L[i, j] = L[i, j] / L[j, j]
""",
    ),
    "numbers on the diagonal": (A_AND_L, RIDGE),
    "products with zeros from before": (A_AND_L, ZEROS),
}
NEAR_MISSES_OF_SUMS = {
    "products with what was there": ZEROS.replace("M[i, j] = 0.0", "M[i, j] = 1.0"),
    "too few zeros": ZEROS.replace("M[i, j] = 0.0", "M[i, j] = T.if_then_else(j < 9, 0.0, A[i, j])"),
}
NEAR_MISSES = {
    "no root": BY_ROWS.replace("T.sqrt(A[i, i])", "A[i, i]"),
    "another root": BY_ROWS.replace("T.sqrt(A[i, i])", "T.sqrt(T.abs(A[i, i]))"),
    "no division": RIGHT_LOOKING.replace(" / A[k, k]", " * A[k, k]"),
    "a product too few": BY_ROWS.replace("for k in range(j)", "for k in range(1, j)"),
    "a product too few on the diagonal": BY_ROWS.replace("for k in range(i)", "for k in range(1, i)"),
    "a product too many": BY_ROWS.replace("for k in range(j)", "for k in range(j + 1)"),
    "a sum": BY_ROWS.replace("A[i, j] - A[i, k]", "A[i, j] + A[i, k]"),
    "a sum on the diagonal": BY_ROWS.replace("A[i, i] - A[i, k]", "A[i, i] + A[i, k]"),
    "products of a row and a column": BY_ROWS.replace("A[j, k]", "A[k, j]"),
    "another divisor": BY_ROWS.replace("/ A[j, j]", "/ A[i, i]"),
    "divided too late": RIGHT_LOOKING.replace("A[i, k] * A[j, k]", "A[i, k] * A[j, k] / A[k, k]").replace(
        "A[i, k] = A[i, k] / A[k, k]", "A[i, k] = A[i, k]"
    ),
    "products before the division": f"""
for k in range({N}):
    A[k, k] = T.sqrt(A[k, k])
    for j in T.serial(k + 1, {N}):
        for i in T.serial(j, {N}):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
    for i in T.serial(k + 1, {N}):
        A[i, k] = A[i, k] / A[k, k]
""",
    "more than the triangle": RIGHT_LOOKING.replace("T.serial(j,", "T.serial(k + 1,"),
    "an element that stays": RIGHT_LOOKING.replace(f"i in T.serial(k + 1, {N})", f"i in T.serial(k + 1, {N - 1})"),
    "a condition on data": RIGHT_LOOKING.replace(
        "        A[i, k] = A[i, k] / A[k, k]", "        if A[i, k] > 0.0:\n            A[i, k] = A[i, k] / A[k, k]"
    ),
}  # fmt: skip


def read(params: str, body: str) -> PrimFunc:
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return parse(f"{HEAD}def f({params}):\n{lines}\n").funcs[0]


def good(shape: tuple[int, ...] = (N, N), seed: int = 0) -> np.ndarray:
    """Positive definite matrices."""
    values = np.random.default_rng(seed).uniform(-1, 1, shape)
    return (values @ np.swapaxes(values, -1, -2) + np.eye(shape[-1])).astype(np.float32)


def states(lower: bool, inside: slice) -> dict[str, np.ndarray]:
    """Matrices for which a factorization of one triangle succeeds or fails, with NaN in the other."""
    unread = np.full((N, N), np.nan, np.float32)
    unread = np.triu(unread, 1) if lower else np.tril(unread, -1)
    found = {"plain": good()}

    def put(name: str, row: int, column: int, value: float) -> None:
        a = good()
        a[(row, column) if lower else (column, row)] = value
        found[name] = a

    put("not positive definite", 5, 5, -3.0)
    put("not positive definite from the first step on", inside.start, inside.start, -1.0)
    put("zero pivot", inside.start, inside.start, 0.0)
    put("infinite pivot", 4, 4, np.inf)
    put("infinite element", 6, 3, np.inf)
    put("NaN on the diagonal", 5, 5, np.nan)
    put("NaN below it", 7, 4, np.nan)
    put("last pivot not positive", inside.stop - 1, inside.stop - 1, -2.0)
    return {name: np.where(unread == 0, a, unread) for name, a in found.items()}


def kernel(func: PrimFunc) -> Kernel:
    return kernel_of(func, replace(CPU, step=1e4))  # no loop in steps is cheaper


def is_factor(k: Kernel) -> bool:
    return "cholesky_factor(" in k.source and any("Cholesky factor over" in line for line in k.report)


def equal_to_loops(func: PrimFunc, k: Kernel, inputs: dict[str, np.ndarray]) -> None:
    assert_agrees(func, k, inputs, 2e-3, 2e-4)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("name", some(FORMS, 1))
def test_forms_in_all_states(name: str) -> None:
    params, body = FORMS[name]
    func = read(params, body)
    k = kernel(func)
    assert is_factor(k), k.source
    inside = slice(2, N - 1) if "T.serial(2, " in body else slice(0, N)
    for a in states("other triangle" not in name and "upper" not in name, inside).values():
        inputs = {"A": a}
        if "L:" in params:
            inputs["L"] = np.random.default_rng(1).normal(size=a.shape).astype(np.float32)
        equal_to_loops(func, k, inputs)


@pytest.mark.parametrize("name", some(NEAR_MISSES, 2))
def test_near_misses_stay_loops(name: str) -> None:
    func = read(A, NEAR_MISSES[name])
    k = kernel(func)
    assert "cholesky" not in k.source
    equal_to_loops(func, k, {"A": good() + 20 * np.eye(N, dtype=np.float32)})


@pytest.mark.parametrize("name", some(NEAR_MISSES_OF_SUMS, 1))
def test_near_misses_of_sums_stay_loops(name: str) -> None:
    func = read(A_AND_L, NEAR_MISSES_OF_SUMS[name])
    k = kernel(func)
    assert "cholesky" not in k.source
    started = np.random.default_rng(1).normal(size=(N, N)).astype(np.float32) / N
    equal_to_loops(func, k, {"A": good() + 20 * np.eye(N, dtype=np.float32), "L": started})


def test_small_matrices_stay_loops() -> None:
    """A library's call has its price."""
    small = read("A: T.Buffer((4, 4), 'float32')", BY_ROWS.replace(str(N), "4"))
    assert "cholesky" not in kernel_of(small, CPU).source


def test_two_statements_must_not_share_what_a_third_reads() -> None:
    """The sum of products is stored where somebody else looks at it."""
    params, body = FORMS["sums from zero, by rows"]
    seen = body.replace('s = T.alloc_buffer((1,), "float32")', "").replace("s[0]", "S[0]")
    assert "cholesky" not in kernel(read(f"{params}, S: T.Buffer((1,), 'float32')", seen)).source


@pytest.mark.fuzz  # long, and others test most of it
def test_matrices_along_an_axis() -> None:
    body = "for b in range(4):" + RIGHT_LOOKING.replace("A[", "A[b, ").replace("\n", "\n    ")
    func = read(f"A: T.Buffer((4, {N}, {N}), 'float32')", body)
    k = kernel(func)
    assert is_factor(k)
    a = good((4, N, N))
    equal_to_loops(func, k, {"A": a})
    a[2, 5, 5] = -1.0
    equal_to_loops(func, k, {"A": a})


def test_matrices_in_a_loop_over_time() -> None:
    body = f"""
for t in range(3):
    for k in range({N}):
        A[k, k] = T.sqrt(A[k, k])
        for i in T.serial(k + 1, {N}):
            A[i, k] = A[i, k] / A[k, k]
        for j in T.serial(k + 1, {N}):
            for i in T.serial(j, {N}):
                A[i, j] = A[i, j] - A[i, k] * A[j, k]
    for i in range({N}):
        A[i, i] = A[i, i] + 9.0
"""
    func = read(A, body)
    k = kernel(func)
    assert is_factor(k)
    equal_to_loops(func, k, {"A": good()})
    equal_to_loops(func, k, {"A": good() - 1.5 * np.eye(N, dtype=np.float32)})


def test_symbolic_sizes_and_doubles() -> None:
    body = RIGHT_LOOKING.replace(str(N), "n")
    func = read("n: T.int32, A: T.Buffer((n, n), 'float64')", body)
    source = emit(func)
    assert "cholesky_factor(" in source
    a = good().astype(np.float64)
    (got,) = compile(func)(N, a)
    np.testing.assert_allclose(np.tril(np.asarray(got)), np.linalg.cholesky(a), rtol=1e-6, atol=1e-6)


@pytest.mark.fuzz
def test_transformations() -> None:
    """Gradients and batches are those of the loops; the unread triangle counts for itself only."""
    k = kernel(read(A, BY_ROWS))
    near = kernel(read(A, NEAR_MISSES["another root"]))  # the same for positive definite matrices
    a = jnp.asarray(good())
    weights = jnp.asarray(np.random.default_rng(2).normal(size=(N, N)).astype(np.float32))

    def total(form: Kernel, x: jax.Array) -> jax.Array:
        return jnp.sum(form.jitted(x)[0] * weights)

    for transform in (lambda f: jax.grad(f), lambda f: lambda x: jax.jvp(f, (x,), (weights,))[1]):
        got, want = (transform(lambda x, f=f: total(f, x))(a) for f in (k, near))
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
    several = jnp.stack([a, a.at[5, 5].set(-3.0), 2 * a])
    (got,) = jax.vmap(k.jitted)(several)
    for row, one in zip(got, several, strict=True):
        np.testing.assert_allclose(row, k.jitted(one)[0], rtol=1e-4, atol=1e-4)
