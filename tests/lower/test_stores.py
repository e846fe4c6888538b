"""Several stores to one buffer within a step of a loop: rows, columns, elements and regions, apart or not."""

# ruff: noqa: E501
from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir import PrimFunc, parse
from ir.semantics.interpret import interpret
from lower import compile, emit
from profiles import few, some
from symbolic import with_numbers_and_with_symbols

N = 5
HEAD = "from ir import script as T\n\n@T.prim_func\n"
PARAMS = f"A: T.Buffer(({N}, {N}), 'int32'), B: T.Buffer(({N},), 'int32')"


def read(lines: list[str]) -> PrimFunc:
    body = "\n".join("    " + line for line in lines)
    return parse(f"{HEAD}def f({PARAMS}):\n{body}\n").funcs[0]


def check(func: PrimFunc, **sizes: int) -> None:
    rng = np.random.default_rng(4)
    given_ = {"A": rng.integers(-9, 10, (N, N)).astype(np.int32), "B": rng.integers(-9, 10, N).astype(np.int32)}
    expected = interpret(func, **{k: v.copy() for k, v in given_.items()}, **sizes)
    for want, have in zip(expected, compile(func, verify=not sizes)(**given_, **sizes), strict=True):
        np.testing.assert_array_equal(np.asarray(have), want, err_msg=emit(func))


def check_with_symbols(func: PrimFunc) -> None:
    """Compare with the interpreter, with sizes as numbers and as parameters."""
    for same, sizes in with_numbers_and_with_symbols(func):
        check(same, **sizes)


@st.composite
def steps(draw: st.DrawFn) -> PrimFunc:
    """A loop over steps around stores to parts of a matrix before, at and behind the step."""
    lines = [f"for k in range({N}):"]
    for _ in range(draw(st.integers(2, 5))):
        lines += ["    " + line for line in _store(draw)]
    return read(lines)


def _store(draw: st.DrawFn) -> list[str]:
    place = draw(st.sampled_from(["A[i, j]", "A[i, j]", "A[i, k]", "A[k, j]", "A[k, k]", "B[i]", "B[k]"]))
    names = [v for v in "ij" if v in place]
    lines = [" " * 4 * d + f"for {v} in range({N}):" for d, v in enumerate(names)]
    guards = [f"{v} {draw(st.sampled_from(['<', '>', '<=', '!=', '==']))} k" for v in names if draw(st.booleans())]
    depth = len(names)
    if guards:
        lines.append(" " * 4 * depth + f"if {' and '.join(guards)}:")
        depth += 1
    rows, columns = [*names, "k"], [*names, "k"]
    element = st.sampled_from([f"A[{r}, {c}]" for r in rows for c in columns] + [f"B[{r}]" for r in rows])
    value = draw(st.sampled_from(["{0} + {1}", "T.min({0}, {1})", "{0} - {1} % 7", "T.max({2}, {0} + {1})"]))
    value = value.format(draw(element), draw(element), place)
    return [*lines, " " * 4 * depth + f"{place} = {value} % 1000"]


STORES = {
    "shortest paths": """for k in range(5):
    for i in range(5):
        for j in range(5):
            A[i, j] = T.min(A[i, j], A[i, k] + A[k, j])""",
    "a row in two parts, of which one is read": """for k in range(5):
    for j in range(5):
        if j < k:
            A[k, j] = A[k, j] + 1
    for j in range(5):
        if j > k:
            A[k, j] = A[k, k] + A[k, 0]""",
    "a region and a row": """for k in range(5):
    for i in range(5):
        for j in range(5):
            if i < k:
                A[i, j] = A[i, j] + 1
    for j in range(5):
        A[k, j] = A[k, j] * 2
    B[k] = A[k, k] + A[0, k]""",
}


@pytest.mark.parametrize("body", some(STORES.values(), 0.45), ids=STORES.keys())
def test_stores(body: str) -> None:
    check(read(body.split("\n")))


BACKWARD = {
    "vectors": "W = T.alloc_buffer((5,), 'int32')\nfor i in range(5):\n    W[4 - i] = B[i] + 3\nfor i in range(5):\n    B[4 - i] = W[4 - i] + W[i]",
    "tables": "W = T.alloc_buffer((5, 5), 'int32')\nfor i, j in T.grid(5, 5):\n    W[4 - i, 4 - j] = A[i, j] + 3\nfor i, j in T.grid(5, 5):\n    if B[i] > j:\n        W[4 - i, j] = T.max(W[4 - i, j], A[i, j])\nfor i, j in T.grid(5, 5):\n    A[j, 4 - i] = W[i, j] + W[i, 4 - j]",
    "sums": "W = T.alloc_buffer((5,), 'int32')\nfor i in range(5):\n    W[4 - i] = 0\n    for k in range(5):\n        W[4 - i] = W[4 - i] + A[i, k] * B[k]\nfor j in range(5):\n    for i in range(5):\n        B[j] = B[j] + A[j, i] * W[i]",
}  # fmt: skip


@pytest.mark.parametrize("body", BACKWARD.values(), ids=BACKWARD.keys())
def test_all_of_a_buffer_is_assigned_backward_too(body: str) -> None:
    func = read(body.split("\n"))
    assert ".at[:]" not in emit(func)  # XLA:CPU ends the process where that is then read backward
    check(func)


@few(2)
@given(steps())
def test_random_stores(func: PrimFunc) -> None:
    check_with_symbols(func)


@pytest.mark.fuzz
@settings(max_examples=1500)
@given(steps())
def test_many_random_stores(func: PrimFunc) -> None:
    check_with_symbols(func)


SWAPS = {
    "places that data say": "t = B[i]\n        B[i] = B[A[i, 0] % 5] + 1\n        B[A[i, 0] % 5] = t",
    "next to each other": "t = B[i]\n        B[i] = t + B[(i + 2) % 5]\n        if i < 4:\n            B[i + 1] = B[i + 1] - t",
    "rows": "for j in T.serial(5):\n            t = A[i, j]\n            A[i, j] = A[B[i] % 5, j]\n            A[B[i] % 5, j] = t",
    "rows next to each other": "for j in T.serial(5):\n            if i < 4:\n                t = A[i, j]\n                A[i, j] = t - A[i + 1, j]\n                A[i + 1, j] = A[i + 1, j] + t",
}


@pytest.mark.parametrize("body", SWAPS.values(), ids=SWAPS)
def test_elements_and_rows_that_a_step_swaps(body: str) -> None:
    """Also with the last step outside of the array, where it stores nothing."""
    check(read(["for i in T.serial(5):", *("    " + line.removeprefix("        ") for line in body.split("\n"))]))


def test_elements_that_a_step_swaps_between_arrays() -> None:
    """Also with derivatives."""
    func = parse("""
@T.prim_func
def f(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32"), K: T.Buffer((300,), "int32")):
    for i in T.serial(300):
        t = A[i]
        A[i] = B[K[i]] + t
        B[K[i]] = t
""").funcs[0]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 10, 300).astype(np.float32) for _ in "AB")
    places = rng.integers(0, 300, 300).astype(np.int32)
    kernel = compile(func)
    assert "A_read" in kernel.source
    for want, have in zip(interpret(func, a.copy(), b.copy(), places), kernel(a, b, places), strict=True):
        np.testing.assert_array_equal(np.asarray(have), want)

    def total(a: jax.Array) -> jax.Array:
        return kernel(a, b, places)[1].sum()

    np.testing.assert_allclose(jax.grad(total)(a).sum(), total(jax.numpy.asarray(a + 1)) - total(jax.numpy.asarray(a)))


@pytest.mark.parametrize(("place", "in_place"), [("A[r, i] + A[r, i + 1]", True), ("A[r, i]", False)])
def test_fields_that_a_step_updates_in_turn_are_stored_in_place(place: str, in_place: bool) -> None:
    """What the second reads of the first is read from it where the values would be worked out from what it changes."""
    func = parse(f"""{HEAD}def f(A: T.Buffer((5, 5), 'int32'), B: T.Buffer((5, 5), 'int32')):
    for t in range(3):
        for r in range(5):
            for i in range(3):
                B[r, i] = B[r, i] + {place}
        for r in range(5):
            for i in range(3):
                A[r, i] = A[r, i] - B[r, i] % 5
""").funcs[0]
    rng = np.random.default_rng(4)
    given_ = {n: rng.integers(-9, 10, (5, 5)).astype(np.int32) for n in "AB"}
    kernel = compile(func)
    for want, have in zip(interpret(func, **given_), kernel(**given_), strict=True):
        np.testing.assert_array_equal(np.asarray(have), want, err_msg=kernel.source)
    assert ("B[:, :3] % 5" in kernel.source) == in_place, kernel.source


@pytest.mark.parametrize("shape", ["{r}", "{r}, 1", "1, {r}"])
def test_stores_to_a_part_at_a_computed_place_that_go_nowhere(shape: str) -> None:
    """Masked ones put back what the part holds, not what lies beside it in the array that it is of."""
    rank = shape.count(",") + 1
    sizes, where = ", ".join(["3"] * rank), ", ".join(f"k{d}" for d in range(rank))
    loops = f"for {where} in T.grid({sizes}):\n        "
    place = shape.format(r="r")
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer(({", ".join(["9"] * rank)},), "int32"), B: T.Buffer(({sizes},), "int32"), t: T.int32, r: T.int32):
    T.assume(t >= 0 and t < 7)
    L = T.alloc_buffer(({sizes},), "int32")
    {loops}L[{where}] = A[{where} + t]
    if 0 <= r and r < 3:
        L[{place}] = L[{place}] + 100
    {loops}B[{where}] = L[{where}] * 2
""").funcs[0]
    kernel, A = compile(func), np.arange(9**rank, dtype=np.int32).reshape([9] * rank)
    for t, r in ((0, 3), (3, -4), (3, -1), (3, 1), (6, 5)):
        (want,) = interpret(func, A=A, B=np.zeros([3] * rank, np.int32), t=t, r=r)
        np.testing.assert_array_equal(np.asarray(kernel(A=A, t=t, r=r)[0]), want, err_msg=kernel.source)
