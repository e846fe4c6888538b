"""Stores that change nothing hold nobody up: always, or where the data are within bounds, which a kernel tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules import check_rule
from egraph_rules.authoring.rule import FLOAT, SIGNED, Rule, Term, rule
from egraph_rules.cost.target import CPU, Target
from ir import PrimFunc, parse
from ir.nodes import binary
from ir.semantics.interpret import interpret_with_undef
from ir.traverse import results_of
from lower.emission.function import emit_function
from lower.nest.silent_stores import LAWS
from lower.runtime.kernel import Kernel
from lowered import kernel_of
from profiles import few, some

DEAR = replace(CPU, name="dear", launch=1.0, step=0.0, load=20.0, store=20.0, near=0)  # strips of few elements too
N = 7
WIDE = 16  # with room for several steps in a pass

Array = npt.NDArray[Any]


@pytest.mark.parametrize("law", some(LAWS, len(LAWS) // 5), ids=lambda law: law.name)
def test_laws_hold(law: Rule) -> None:
    assert check_rule(law, examples=12).status != "refuted"


@rule(on=SIGNED, because="wrong: y may be negative", family="wrong")
def min_of_sum(x: Term, y: Term):
    return binary("min", x, x + y), x


@rule(on=FLOAT, because="wrong: x may be negative", family="wrong")
def max_of_product(x: Term, y: Term):
    return binary("max", x, x * y), x, y >= 0, y <= 1


@rule(on=SIGNED, because="wrong: y may be above one", family="wrong")
def max_of_multiple(x: Term, y: Term):
    return binary("max", x, x * y), x, x >= 0


@pytest.mark.parametrize("law", some([min_of_sum, max_of_product, max_of_multiple], 1), ids=lambda law: law.name)
def test_laws_without_a_condition_are_refuted(law: Rule) -> None:
    assert check_rule(law, examples=300).status == "refuted"


def read(dtype: str, body: str, params: str = "", n: int = N) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    more = f", {params}" if params else ""
    return parse(f'@T.prim_func\ndef f(X: T.Buffer(({n}, {n}), "{dtype}"){more}):\n{lines}\n').funcs[0]


def steps(value: str, n: int = N) -> str:
    return f"for k, i, j in T.grid({n}, {n}, {n}):\n    X[i, j] = {value}"


def kernel(func: PrimFunc, target: Target = CPU) -> Kernel:
    return kernel_of(func, target)


def check(func: PrimFunc, *several: dict[str, Any], target: Target = CPU) -> Kernel:
    """Compare with the interpreter on several inputs, to the bit but for NaN."""
    k = kernel(func, target)
    written = results_of(func)
    names = [b.name for b in func.buffers if b in written]
    for inputs in several:
        expected = interpret_with_undef(func, **inputs)
        for name, (values, undef), got in zip(names, expected, k(**inputs), strict=True):
            assert not undef.any()
            np.testing.assert_array_equal(np.asarray(got), values, f"{name}\n{k.source}")
    return k


def versions(k: Kernel) -> bool:
    return any("chosen at run time" in line for line in k.report)


UNCONDITIONAL = [
    pytest.param("bool", "X[i, j] or (X[i, k] and X[k, j])", id="transitive closure"),
    pytest.param("bool", "X[i, j] and (X[i, k] or X[k, j])", id="its dual"),
    pytest.param("int32", "X[i, j] | (X[i, k] & X[k, j])", id="closures of sets"),
    pytest.param("uint8", "(X[k, j] | X[i, k]) & X[i, j]", id="dual of sets, turned around"),
    pytest.param("int32", "T.max(X[i, j], T.min(X[i, k], X[k, j]))", id="widest paths"),
    pytest.param("float32", "T.min(X[i, j], T.max(X[i, k], X[k, j]))", id="bottleneck paths"),
    pytest.param("int16", "T.Select(T.max(X[i, k], X[k, j]) < X[i, j], T.max(X[i, k], X[k, j]), X[i, j])", id="choice"),
    pytest.param("int32", "X[i, k]", id="a column for all"),
]


def random(dtype: str, rng: np.random.Generator, n: int = N) -> Array:
    if dtype == "bool":
        return rng.random((n, n)) < 0.2
    if dtype.startswith("float"):
        return rng.normal(size=(n, n)).astype(dtype)
    return rng.integers(0, 100, (n, n)).astype(dtype)


@pytest.mark.parametrize(("dtype", "value"), some(UNCONDITIONAL, len(UNCONDITIONAL) // 2))
def test_lattices_take_each_step_at_once(dtype: str, value: str) -> None:
    k = check(read(dtype, steps(value)), *({"X": random(dtype, np.random.default_rng(seed))} for seed in range(3)))
    assert "lax.cond" not in k.source
    loop, statement, *_ = k.report
    assert "loop k stays a loop" in loop
    assert " over i, j" in statement


SHORTEST = "T.min(X[i, j], X[i, k] + X[k, j])"
CONDITIONAL = [
    pytest.param("int32", SHORTEST, id="shortest paths"),
    pytest.param("float32", SHORTEST, id="in floats"),
    pytest.param("int32", "T.Select(X[i, j] < X[i, k] + X[k, j], X[i, j], X[i, k] + X[k, j])", id="chosen"),
    pytest.param("float32", "T.Select(X[i, k] + X[k, j] < X[i, j], X[i, k] + X[k, j], X[i, j])", id="chosen in floats"),
    pytest.param("int64", "T.max(X[i, j], X[i, k] + X[k, j])", id="longest paths"),
    pytest.param("float32", "T.max(X[i, j], X[i, k] * X[k, j])", id="most reliable paths"),
    pytest.param("int32", "T.min(X[i, j], X[i, k] * X[k, j])", id="smallest products"),
]


def data(dtype: str, kind: str, rng: np.random.Generator, n: int = N) -> Array:
    """Data of which the fast version is right for some, and not for others."""
    floats = dtype.startswith("float")
    x = (rng.random((n, n)) if floats else rng.integers(0, 3, (n, n))).astype(dtype)
    match kind:
        case "mixed":
            x = x - (rng.random((n, n)) < 0.1) * x.dtype.type(1)
        case "negative":
            x = -x
        case "large":
            x = x + x.dtype.type(1)
        case "inf" | "-inf" | "nan" if floats:
            x[rng.random((n, n)) < 0.2] = float(kind)
            x[2, 2] = float(kind)
        case _:
            pass
    return x


KINDS = ("plain", "mixed", "negative", "large", "inf", "-inf", "nan")


@pytest.mark.parametrize(("dtype", "value"), some(CONDITIONAL, len(CONDITIONAL) // 3))
def test_both_versions_compute_what_the_program_does(dtype: str, value: str) -> None:
    # few nodes, since ways around a negative cycle grow with each step
    inputs = ({"X": data(dtype, kind, np.random.default_rng(1), 5)} for kind in KINDS)
    assert versions(check(read(dtype, steps(value, 5), n=5), *inputs))


def test_a_negative_cycle_takes_the_exact_version() -> None:
    x = np.full((N, N), 50, np.int32)
    x[0, 1], x[1, 2], x[2, 0], x[2, 5] = 1, 1, -3, 1
    expected = interpret_with_undef(read("int32", steps(SHORTEST)), X=x)[0][0]
    assert np.diag(np.asarray(expected, np.int32)).min() < 0
    check(read("int32", steps(SHORTEST)), {"X": x})


@pytest.mark.parametrize("dtype", some(["int8", "int32", "int64"], 1))
def test_integers_at_the_ends_of_their_range(dtype: str) -> None:
    func = read(dtype, steps("T.max(X[i, j], T.min(X[i, k], X[k, j]))"))
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    check(func, {"X": rng.choice(np.array([limits.min, -1, 0, limits.max], dtype), (N, N))})
    half = np.array([0, limits.max // 2], dtype)  # sums of these do not overflow
    check(read(dtype, steps(SHORTEST)), {"X": rng.choice(half, (N, N))})


def test_what_the_program_never_reads_may_be_anything() -> None:
    body = "for k, i, j in T.grid(6, 6, 6):\n    X[i, j] = T.min(X[i, j], X[i, k] + X[k, j])"
    x = np.random.default_rng(0).random((N, N)).astype(np.float32)
    x[6] = np.nan
    check(read("float32", body), {"X": x})


def test_wrapping_sums_have_no_versions() -> None:
    func = read("uint8", steps(SHORTEST))
    k = check(func, {"X": np.random.default_rng(0).integers(0, 256, (N, N)).astype(np.uint8)})
    assert not versions(k)


def test_bounds_that_statements_do_not_keep_have_no_versions() -> None:
    func = read("int32", steps("T.min(X[i, j], X[i, k] + X[k, j] - 1)"))
    k = check(func, {"X": np.random.default_rng(0).integers(0, 9, (N, N)).astype(np.int32)})
    assert not versions(k)
    run = f"    for k, i, j in T.grid({N}, {N}, {N}):\n        X[i, j] = {SHORTEST}"
    other = f"for t in T.serial(3):\n    X[1, 1] = X[1, 1] - 2\n{run}"
    check(read("int32", other), {"X": np.full((N, N), 3, np.int32)})


def test_a_test_before_each_of_several_runs() -> None:
    run = f"    for k, i, j in T.grid(5, 5, 5):\n        X[i, j] = {SHORTEST}"
    func = read("int32", f"for t in T.serial(3):\n{run}\n    X[t, 1] = Y[t]", 'Y: T.Buffer((5,), "int32")', n=5)
    rng = np.random.default_rng(0)
    low = (
        {"X": rng.integers(5, 90, (5, 5)).astype(np.int32), "Y": rng.integers(n, 9, 5).astype(np.int32)}
        for n in (0, -3)
    )
    assert versions(check(func, *low))


def test_many_matrices_at_once() -> None:
    text = """
@T.prim_func
def f(X: T.Buffer((3, 6, 6), "int32")):
    for b in T.serial(3):
        for k, i, j in T.grid(6, 6, 6):
            X[b, i, j] = T.min(X[b, i, j], X[b, i, k] + X[b, k, j])
"""
    rng = np.random.default_rng(0)
    inputs = ({"X": rng.integers(low, 90, (3, 6, 6)).astype(np.int32)} for low in (0, -1))
    assert versions(check(parse(text).funcs[0], *inputs))


BRANCH = "for k, i, j in T.grid(7, 7, 7):\n    if X[i, k] + X[k, j] < X[i, j]:\n        X[i, j] = X[i, k] + X[k, j]"
NAMED = """
for k, i, j in T.grid(7, 7, 7):
    d = X[i, k] + X[k, j]
    if d < X[i, j]:
        X[i, j] = d
        Y[i, j] = Y[i, k]
"""
GUARDED = BRANCH.replace("if ", "if i != j and ")


@pytest.mark.parametrize("body", some([BRANCH, NAMED, GUARDED], 1))
def test_branches_that_change_their_condition(body: str) -> None:
    func = read("int32", body, f'Y: T.Buffer(({N}, {N}), "int32")')
    rng = np.random.default_rng(4)
    y = np.broadcast_to(np.arange(N, dtype=np.int32), (N, N)).copy()
    far = rng.random((N, N)) < 0.6
    inputs = ({"X": np.where(far, 1000, rng.integers(low, 20, (N, N))).astype(np.int32), "Y": y} for low in (0, -2))
    assert versions(check(func, *inputs))


HOISTED = """
for k, i in T.grid(7, 7):
    if X[i, k] != 1000:
        a = X[i, k]
        for j in T.serial(7):
            X[i, j] = T.{op}(X[i, j], T.{other}(a, X[k, j]))
"""
SETS = """
for k, i in T.grid(7, 7):
    if X[i, k] == 1:
        for j in T.serial(7):
            if X[k, j] == 1:
                X[i, j] = 1
"""
SUMS = """
for k, i in T.grid(7, 7):
    a = X[i, k]
    for j in T.serial(7):
        X[i, j] = T.min(X[i, j], a + X[k, j])
"""


def small(low: int, high: int) -> dict[str, Array]:
    return {"X": np.random.default_rng(high).integers(low, high, (N, N)).astype(np.int32)}


@pytest.mark.parametrize("body", [HOISTED.format(op="max", other="min"), SETS])
def test_values_taken_before_a_loop_that_does_not_change_them(body: str) -> None:
    k = check(read("int32", body), small(0, 2), small(-3, 4))
    assert not versions(k)
    assert sum("stays a loop" in line for line in k.report) == 1


def test_values_taken_before_a_loop_that_may_change_them() -> None:
    assert versions(check(read("int32", SUMS), small(0, 90), small(-2, 9)))


@pytest.mark.parametrize(
    "update",
    some(["T.max(X[i, j], a - X[k, j])", "X[i, j] - a", "T.min(X[i, j], a)", "T.max(X[i, j], a + X[k, j])", "a"], 1),
)
def test_values_that_a_loop_changes_are_taken_before_it(update: str) -> None:
    body = f"for k, i in T.grid(5, 5):\n    a = X[i, k]\n    for j in T.serial(5):\n        X[i, j] = {update}"
    many = [{"X": np.random.default_rng(n + 2).integers(n, 5, (5, 5)).astype(np.int32)} for n in (-2, 0, 1)]
    check(read("int32", body, n=5), *many)
    check(read("int32", f"{body}\n    X[i, i] = X[i, i] - a", n=5), *many)
    check(read("int32", body.replace("    for j", "    X[i, k] = 3\n    for j"), n=5), *many)


@pytest.mark.parametrize(
    "body",
    some(
        [
            # the second store reads what the first changes, and the condition too
            "if X[i, k] < X[i, j]:\n        X[i, j] = X[i, k]\n        Y[i, j] = X[i, j] + Y[i, k]",
            "if X[i, k] < X[i, j]:\n        Y[i, j] = X[i, k]\n        X[i, j] = Y[i, j] - 1",
            "if X[i, k] < X[i, j]:\n        X[i, j] = X[i, k]\n        X[j, i] = X[i, k]",
            "if Y[i, k] < X[i, j]:\n        X[i, j] = Y[i, k]\n        Y[i, k] = X[k, j]",
            "if X[i, k] < 4 or X[i, j] < 3:\n        X[i, j] = X[i, k] + 1",
        ],
        0.4,
    ),
)
def test_branches_of_other_kinds_mean_the_same(body: str) -> None:
    func = read("int32", f"for k, i, j in T.grid({N}, {N}, {N}):\n    {body}", f'Y: T.Buffer(({N}, {N}), "int32")')
    rng = np.random.default_rng(2)
    check(func, {name: rng.integers(0, 9, (N, N)).astype(np.int32) for name in "XY"})


def test_a_guard_against_leaving_the_buffer_stays_one() -> None:
    body = (
        f"for k, i in T.grid({N}, {N}):\n    if i < {N - 1} and X[i, k] < X[i + 1, k]:\n        X[i + 1, k] = X[i, k]"
    )
    check(read("int32", body), {"X": np.random.default_rng(0).integers(0, 9, (N, N)).astype(np.int32)})


@pytest.mark.parametrize("n", [WIDE, WIDE + 3])
def test_several_steps_in_a_pass_and_those_that_are_left(n: int) -> None:
    func = read("int32", steps("T.min(X[i, j], T.max(X[i, k], X[k, j]))", n), n=n)
    k = check(func, {"X": np.random.default_rng(0).integers(0, 99, (n, n)).astype(np.int32)}, target=DEAR)
    (width,) = [int(line.partition("strips of ")[2].split()[0]) for line in k.report if "strips of" in line]
    assert any("loop k stays a loop" in line for line in k.report) == (n % width > 0)


def test_steps_beyond_the_buffer_do_not_go_ahead() -> None:
    guarded = "if k < 15:\n        X[i, j] = T.max(X[i, j], T.min(X[i, k], X[k, j]))"
    func = read("int32", f"for k, i, j in T.grid(18, 15, 15):\n    {guarded}", n=15)
    check(func, {"X": np.random.default_rng(0).integers(0, 99, (15, 15)).astype(np.int32)}, target=DEAR)


def test_strips_of_several_matrices_in_a_loop() -> None:
    text = """
@T.prim_func
def f(X: T.Buffer((2, 12, 12), "int32"), Y: T.Buffer((12,), "int32")):
    for t in T.serial(2):
        for k in T.serial(12):
            for b, i, j in T.grid(2, 12, 12):
                if i != 3:
                    X[b, i, j] = T.max(X[b, i, j], T.min(X[b, i, k], T.min(X[b, k, j], X[b, k, k])))
        for b, i in T.grid(2, 12):
            X[b, i, t] = Y[i]
"""
    rng = np.random.default_rng(0)
    inputs = {"X": rng.integers(0, 90, (2, 12, 12)).astype(np.int32), "Y": rng.integers(0, 90, 12).astype(np.int32)}
    k = check(parse(text).funcs[0], inputs, target=DEAR)
    assert any("strips of" in line for line in k.report)


READS = ["X[i, k]", "X[k, j]", "X[k, i]", "X[j, k]", "X[k, k]", "X[i, j]"]


@few(4)
@given(
    dtype=st.sampled_from(["int32", "float32", "bool"]),
    reads=st.lists(
        st.sampled_from(["X[i, k]", "X[k, j]", "X[k, i]", "X[j, k]", "X[k, k]", "X[i, j]"]), min_size=2, max_size=3
    ),
    outer=st.sampled_from(["min", "max", "add", "sub"]),
    inner=st.sampled_from(["min", "max", "add", "sub"]),
    guard=st.sampled_from(["", "i != k", "j > k", "i < j"]),
    seed=st.integers(0, 5),
)
def test_random_steps(dtype: str, reads: list[str], outer: str, inner: str, guard: str, seed: int) -> None:
    def joined(op: str, a: str, b: str) -> str:
        if dtype == "bool":
            return f"({a} {'or' if op in ('max', 'add') else 'and'} {b})"
        return f"T.{op}({a}, {b})" if op in ("min", "max") else f"({a} {'+' if op == 'add' else '-'} {b})"

    value = joined(outer, reads[0], joined(inner, reads[1], reads[-1]))
    body = f"X[i, j] = {value}"
    body = f"if {guard}:\n        {body}" if guard else body
    func = read(dtype, f"for k, i, j in T.grid(5, 5, 5):\n    {body}", n=5)
    rng = np.random.default_rng(seed)
    x = data(dtype, "mixed" if seed % 2 else "plain", rng, 5) if dtype != "bool" else random(dtype, rng, 5)
    if dtype == "float32":
        x = np.round(x * 8).astype(np.float32)  # sums of these are exact, also in other orders
    elif dtype == "int32":
        x = x % 4 - (seed % 2)
    check(func, {"X": x.astype(dtype)}, target=DEAR)


def test_both_versions_work_in_place() -> None:
    """No copy for the choice and none for the test; steps that read a row and a column of what they store have one."""
    n = 96
    k = kernel(read("int32", steps(SHORTEST, n), n=n))
    assert versions(k)
    x = np.random.default_rng(0).integers(1, 99, (n, n)).astype(np.int32)
    (got,) = k(X=x)
    expected = x.astype(np.int64)
    for step in range(n):
        expected = np.minimum(expected, expected[:, step, None] + expected[step])
    np.testing.assert_array_equal(np.asarray(got), expected)
    memory = k.jitted.lower(jnp.asarray(x)).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 1.5 * x.nbytes


@pytest.mark.fuzz
@pytest.mark.parametrize("low", some([0.1, -0.05], 1))
def test_derivatives_and_batches_of_both_versions(low: float) -> None:
    k = kernel(read("float32", steps(SHORTEST)))
    assert versions(k)

    def loops(x: jax.Array) -> jax.Array:
        def one(t: int, x: jax.Array) -> jax.Array:
            k, i, j = t // N**2, t // N % N, t % N
            return x.at[i, j].set(jnp.minimum(x[i, j], x[i, k] + x[k, j]))

        return jax.lax.fori_loop(0, N**3, one, x)

    x = np.random.default_rng(0).uniform(0.2, 1.0, (N, N)).astype(np.float32)
    x[0, 1] = low
    weights = np.random.default_rng(1).normal(size=(N, N)).astype(np.float32)

    def ours(x: jax.Array) -> jax.Array:
        return k.jitted(x)[0]

    def directions(form: Callable[[jax.Array], jax.Array]) -> tuple[jax.Array, jax.Array]:
        def total(x: jax.Array) -> jax.Array:
            return jnp.sum(form(x) * weights)

        return jax.grad(total)(jnp.asarray(x)), jax.jvp(total, (jnp.asarray(x),), (jnp.asarray(weights),))[1]

    for got, want in zip(directions(ours), directions(loops), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    several = jnp.stack([x, x - 0.1, x + 1])
    for row, one in zip(jax.vmap(ours)(several), several, strict=True):
        np.testing.assert_allclose(row, loops(one), rtol=1e-5)


def test_steps_over_what_the_nearest_cache_holds_run_one_by_one() -> None:
    func = read("int32", steps("T.min(X[i, j], T.max(X[i, k], X[k, j]))", 80), n=80)
    for near, cut in ((80 * 80 * 4, False), (80 * 80 * 4 - 1, True)):
        report = emit_function(func, target=replace(CPU, near=near)).report
        assert any("strips of" in line for line in report) == cut
