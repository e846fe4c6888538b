"""Checks of kernels: that they see what is wrong, on which inputs, and with what they compare."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from ir.errors import InterpretError
from ir.floats import DEFAULT_FLOATS
from ir.printing.printer import to_script
from ir.semantics.inputs import NEAR_ZERO, SPREADS, random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.semantics.retype import in_float64
from ir.semantics.steps import estimated_steps
from ir.testing.inputs import inputs
from ir.testing.programs import programs
from lower import compile, emit
from lower.check.kernels import Checked, check_optimized, compare, reference, written
from lower.check.sequential import run_sequentially
from lower.check.smaller import smaller
from profiles import few, some

DISTANCES = """
@T.prim_func
def distances(X: T.Buffer(({n}, 3), "float32"), Y: T.Buffer(({n}, 3), "float32"), D: T.Buffer(({n}, {n}), "float32")):
    for i, j in T.grid({n}, {n}):
        D[i, j] = 0.0
        for k in T.serial(3):
            D[i, j] = D[i, j] + (X[i, k] - Y[j, k]) * (X[i, k] - Y[j, k])
"""
BLOCKED = """
@T.prim_func
def row_sum(A: T.Buffer((4096, 256, 4), "float32"), B: T.Buffer((4096,), "float32")):
    for i, jo, ji in T.grid(4096, 256, 4):
        T.assume(4 * jo + ji < 1022 or A[i, jo, ji] == 0.0)
    for i in T.serial(4096):
        B[i] = 0.0
        for jo, ji in T.grid(256, 4):
            if 4 * jo + ji < 1022:
                B[i] = B[i] + A[i, jo, ji]
"""
LABELS = """
@T.prim_func
def nearest(X: T.Buffer((64,), "float32"), C: T.Buffer((5,), "float32"), L: T.Buffer((64,), "int32")):
    for i in T.serial(64):
        best = T.alloc_buffer((1,), "float32")
        best[0] = 1e30
        for c in T.serial(5):
            if (X[i] - C[c]) * (X[i] - C[c]) < best[0]:
                best[0] = (X[i] - C[c]) * (X[i] - C[c])
                L[i] = c
"""


def read(text: str, **sizes: int) -> PrimFunc:
    return parse(text.format(**sizes) if sizes else text).funcs[0]


class Planted:
    """A kernel that computes what a NumPy function does."""

    def __init__(self, func: PrimFunc, run: Callable[..., object]) -> None:
        self.func, self.params = func, tuple(p.name for p in func.params)
        self.run = run

    def __call__(self, *arguments: object) -> tuple[object, ...]:
        return (self.run(*arguments),)


def checked(func: PrimFunc, run: Callable[..., object], seed: int = 0) -> Checked:
    inputs = random_inputs(func, np.random.default_rng(seed))
    return check_optimized(func, func, Planted(func, run), inputs, CPU, DEFAULT_FLOATS)  # pyright: ignore


def expanded(x: np.ndarray, y: np.ndarray, d: object) -> np.ndarray:
    """Squared distances as nobody may compute them who was not allowed to."""
    del d
    return ((x * x).sum(1)[:, None] - np.float32(2) * (x @ y.T) + (y * y).sum(1)[None]).astype(np.float32)


@pytest.mark.parametrize("n", some([20, 200], 1))  # interpreted; one element after the other
def test_squares_that_were_expanded_are_found(n: int) -> None:
    found = checked(read(DISTANCES, n=n), expanded)
    assert not found.same
    assert any("around 1000" in str(c) and "differs by" in str(c) for c in found.compared if not c.same)
    right = checked(read(DISTANCES, n=n), lambda x, y, d: ((x[:, None] - y[None]) ** 2).sum(-1))
    assert right.same, right


def test_labels_may_differ_where_distances_are_even_only() -> None:
    func = read(LABELS)
    nearest = checked(func, lambda x, c, labels: np.argmin((x[:, None] - c[None]) ** 2, 1).astype("int32"))
    assert nearest.same, nearest
    wrong = checked(func, lambda x, c, labels: np.argmin(x[:, None] ** 2 - 2 * x[:, None] * c[None], 1).astype("int32"))
    assert not wrong.same


def test_a_nan_is_right_only_where_the_program_has_one() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32'), B: T.Buffer((4,), 'float32')):\n"
    func = read(text + "    for i in T.serial(4):\n        B[i] = T.sqrt(A[i])")
    inputs = {"A": np.array([1, -1, 4, 9], "float32"), "B": np.zeros(4, "float32")}
    for values, same in (([1, np.nan, 2, 3], True), ([1, np.nan, np.nan, 3], False)):
        kernel = Planted(func, lambda a, b, v=values: np.array(v, "float32"))
        found = check_optimized(func, func, kernel, inputs, CPU, DEFAULT_FLOATS, given=True)  # pyright: ignore
        assert found.same is same, found


def test_what_hangs_on_a_value_that_a_binding_froze_is_arbitrary() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    L = T.alloc_buffer((4,), "float32")
    for i in T.serial(4):
        x = L[i] + A[i]
        B[i] = T.if_then_else(i < 2, x, A[i])
"""
    func = read(text)
    inputs = {"A": np.arange(4, dtype="float32"), "B": np.zeros(4, "float32")}
    found = reference(func, inputs)
    assert found is not None
    for values, same in (([7, 8, 2, 3], True), ([7, 8, 2, 4], False)):
        (compared,) = compare(func, found, {"B": np.array(values, "float32")}, inputs)
        assert compared.same is same, compared


def test_a_kernel_is_compared_at_full_and_at_small_sizes() -> None:
    func = read(BLOCKED.replace("4096", "128"))
    inputs = random_inputs(func, np.random.default_rng(0))
    found = check_optimized(func, func, compile(func), inputs, CPU, DEFAULT_FLOATS)
    assert found.same, found
    assert found.said == (
        "its loops, one element after the other (459,267 steps), on inputs near zero; on inputs around 1000; "
        "the reference interpreter at small sizes (A 16x32x4, B 16), on 4 kinds of inputs"
    )


def test_tiles_and_tails_stay_where_sizes_shrink() -> None:
    func = read(BLOCKED)
    small = smaller(func, random_inputs(func, np.random.default_rng(0)), 10_000)
    assert small is not None
    text = to_script(small.func)
    assert "A: T.Buffer((64, 4, 4)" in text
    assert "4 * jo + ji < 14 or A[i, jo, ji] == 0.0" in text
    assert small.prices(CPU).launch == pytest.approx(CPU.launch * small.part)


@pytest.mark.parametrize("index", ["i // 0", "i % 0", "i // -2", "i - i // 0 * 2"])
def test_indices_that_have_no_value_are_lowered_all_the_same(index: str) -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n    for i in range(4):\n'
    assert "def f(" in emit(parse(f"{text}        if A[0] > 5.0:\n            B[i] = A[{index}]\n")["f"], verify=False)


def test_limits_of_the_prices_of_small_programs_are_one_at_least() -> None:
    text = """
@T.prim_func
def f(X: T.Buffer((400, 64), "float32"), S: T.Buffer((400, 400), "float32")):
    for i, j in T.grid(400, 400):
        S[i, j] = 0.0
        for d in range(64):
            S[i, j] += X[i, d] * X[j, d]
"""
    func = parse(text)["f"]
    small = smaller(func, random_inputs(func, np.random.default_rng(0)), 10_000)
    assert small is not None and small.part < 1e-3
    assert small.prices(CPU).product_rows == 1 and small.prices(CPU).kernel < CPU.kernel
    emit(small.func, target=small.prices(CPU))


def test_nothing_smaller_is_said_to_be_so() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((1,), 'int32')):\n" + "    A[0] = A[0] + 1\n" * 50
    func = read(text)
    assert smaller(func, random_inputs(func, np.random.default_rng(0)), 10) is None


def test_steps_follow_the_bounds_of_loops() -> None:
    text = """
@T.prim_func
def f(n: T.int32, A: T.Buffer((n, n), "float32"), ends: T.Buffer((1,), "int32")):
    for i in T.serial(n):
        for j in T.serial(i):
            A[i, j] = 0.0
    for k in T.serial(ends[0]):
        A[0, 0] = 1.0
"""
    func = read(text)
    inputs = {"n": 1001, "A": np.zeros((1001, 1001), "float32"), "ends": np.array([70], "int32")}
    assert estimated_steps(func, inputs) == 1 + (1 + 1001 * (1 + 500)) + (1 + 70)


def test_literals_keep_their_values_in_float64() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((1,), 'float32')):\n    A[0] = A[0] * T.float32(0.1)"
    func = in_float64(read(text))
    assert func.buffers[0].dtype.value == "float64"
    (found,), _ = interpret_with_undef(func, np.ones(1))[0]
    assert found == np.float64(np.float32(0.1))


@given(programs().flatmap(lambda func: inputs(func).map(lambda drawn: (func, drawn))))
@few(8)
def test_loops_one_after_the_other_are_the_interpreter(drawn: tuple[PrimFunc, dict[str, object]]) -> None:
    func, given = drawn
    try:
        results = interpret_with_undef(func, **given)
    except InterpretError:
        return
    found = run_sequentially(func, given)
    for name, (values, undef) in zip(written(func), results, strict=True):
        np.testing.assert_allclose(found[name][~undef], values[~undef], rtol=1e-4, atol=1e-4, err_msg=to_script(func))


def test_inputs_of_all_kinds_satisfy_assumptions_and_meet_their_limits() -> None:
    text = """
@T.prim_func
def f(lens: T.Buffer((200,), "int32"), A: T.Buffer((200,), "float32"), B: T.Buffer((200,), "float32")):
    for i in T.serial(200):
        T.assume(0 <= lens[i] and lens[i] <= 100)
        T.assume(i < 190 or A[i] == 0.0)
    for i in T.serial(200):
        B[i] = A[i]
"""
    func = read(text)
    for spread in SPREADS.values():
        found = random_inputs(func, np.random.default_rng(0), spread=spread)
        lens, a = (np.asarray(found[n]) for n in ("lens", "A"))
        assert ((lens >= 0) & (lens <= 100)).all()
        assert not a[190:].any()
        assert (100 in lens) is spread.tight or spread.wide
        assert (np.abs(a[:190] - spread.center).mean() < 3) or spread.wide
    assert NEAR_ZERO in SPREADS.values()
