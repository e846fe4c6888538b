"""Buffers that hold one number around what statements store: made new by a pad, where it is certain to be there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lower import compile
from lowered import assert_agrees, read, small_numbers, unwrapped
from profiles import few, some

PARAMS = (
    'A: T.Buffer((16, 18), "float32"), B: T.Buffer((16, 18), "float32"), C: T.Buffer((16, 18), "float32"), n: T.int32'
)
FILL = "for i, j in T.grid(16, 18):\n    {0}[i, j] = {1}\n"
INNER = "for i, j in T.grid(14, 16):\n    {0}[i + 1, j + 1] = {1}\n"
STEP = "{1}[i, j + 1] + {1}[i + 2, j + 1] - 0.5 * {1}[i + 1, j]"


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    func = read(PARAMS, body)
    kernel = compile(func)
    for n in (0, 2, 17):
        assert_agrees(func, kernel, {**small_numbers(func, n), "n": np.asarray(n, np.int32)})
    return unwrapped(kernel.source)


def inside(loop: str, body: str) -> str:
    return loop + "\n" + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))


def inner(target: str, value: str) -> str:
    return INNER.format(target, value)


def step(target: str, given: str) -> str:
    return inner(target, STEP.format(target, given))


LOCAL = "L = T.alloc_buffer((16, 18), 'float32')\n" + FILL.format("L", "0.0")
LAST = "for i, j in T.grid(16, 18):\n    C[i, j] = L[i, j] + B[i, j]\n"
PADDED = {
    "once": LOCAL + inner("L", "A[i, j]") + LAST,
    "in a loop": LOCAL
    + FILL.format("B", "0.0")
    + inner("B", "A[i, j]")
    + inside("for t in range(3):", step("L", "B") + step("B", "L"))
    + LAST,
    "another number": FILL.format("B", "7.0") + inner("B", "A[i, j] * 2.0"),
    "filled in each iteration": inside(
        "for t in range(3):",
        FILL.format("B", "1.0")
        + inner("B", "A[i, j] + C[i, j]")
        + "for i, j in T.grid(16, 18):\n    C[i, j] = B[i, j]",
    ),
    "parts of it again": FILL.format("B", "0.0")
    + inner("B", "A[i, j]")
    + "for i in range(4):\n    B[i + 2, 3] = B[i + 1, 3] * 2.0\n"
    + inner("B", "B[i, j] + A[i, j]"),
    "filled again": FILL.format("B", "0.0") + inner("B", "A[i, j]") + FILL.format("B", "0.0") + inner("B", "C[i, j]"),
}


@pytest.mark.parametrize("name", some(PADDED, 0.5))
def test_what_lies_in_a_number_is_padded(name: str) -> None:
    text = source(PADDED[name])
    assert "jnp.pad(" in text
    assert ".at[1:15" not in text


KEPT = {
    "callers' border": inner("B", "A[i, j]") + inside("for t in range(3):", step("B", "B")),
    "another store outside": FILL.format("B", "0.0") + "B[0, 2] = A[1, 1]\n" + inner("B", "A[i, j]"),
    "another number outside": FILL.format("B", "0.0")
    + "for j in range(18):\n    B[15, j] = 1.0\n"
    + inner("B", "A[i, j]"),
    "a larger store": FILL.format("B", "0.0")
    + "for i, j in T.grid(15, 17):\n    B[i, j] = A[i, j]\n"
    + inner("B", "C[i, j]"),
    "filled in part": "for i, j in T.grid(16, 17):\n    B[i, j] = 0.0\n" + inner("B", "A[i, j]"),
    "filled for some n": "for i, j in T.grid(n, 18):\n    if i < 16:\n        B[i, j] = 0.0\n" + inner("B", "A[i, j]"),
    "filled under a condition": "if n > 3:\n"
    + inside("for k in range(1):", FILL.format("B", "0.0"))
    .replace("for k", "    for k")
    .replace("\n    ", "\n        ")
    + inner("B", "A[i, j]"),
    "filled in a loop that may not run": inside("for t in range(n):", FILL.format("B", "0.0")) + inner("B", "A[i, j]"),
    "filled afterwards": inner("B", "A[i, j]")
    + "for j in range(18):\n    C[2, j] = B[0, j]\n"
    + FILL.format("B", "0.0"),
    "stored where data say": FILL.format("B", "0.0")
    + "B[T.min(T.max(T.cast(A[0, 0], 'int32'), 0), 15), 0] = 5.0\n"
    + inner("B", "A[i, j]"),
}


@pytest.mark.parametrize("name", some(KEPT, 0.3))
def test_what_lies_around_is_kept_where_it_may_be_anything(name: str) -> None:
    source(KEPT[name])  # which compares


@st.composite
def stores(draw: st.DrawFn) -> str:
    """Fills and stores to boxes of two buffers, some of them in loops and under conditions."""
    lines: list[str] = []
    numbers = ["0.0", "0.0", "2.0"]
    for name in ("B", "C"):
        if draw(st.integers(0, 3)):
            lines.append(FILL.format(name, draw(st.sampled_from(numbers))))
    low, high = draw(st.integers(0, 2)), draw(st.integers(13, 16))

    def one() -> str:
        name, other = draw(st.permutations(["B", "C"]))
        kind = draw(st.integers(0, 9))
        if kind == 0:
            return FILL.format(name, draw(st.sampled_from(numbers)))
        first, last = (low, high) if kind < 7 else (draw(st.integers(0, 3)), draw(st.integers(8, 16)))
        value = draw(
            st.sampled_from(["A[i, j]", f"{other}[15 - i, j] * 0.5", f"{name}[i, 17 - j] + 1.0", "2.0", "0.0"])
        )
        store = f"for i in T.serial({first}, {last}):\n    for j in T.serial(1, 17):\n        {name}[i, j] = {value}\n"
        return inside(f"if n > {draw(st.integers(-1, 4))}:", store) if kind == 6 else store

    for _ in range(draw(st.integers(1, 4))):
        parts = "".join(one() for _ in range(draw(st.integers(1, 3))))
        if draw(st.booleans()):
            parts = inside(f"for t in range({draw(st.sampled_from(['2', '3', 'n', '0']))}):", parts)
        lines.append(parts)
    return "".join(lines)


@few(8)
@given(stores())
def test_random_stores_in_numbers_hold_what_is_stored(body: str) -> None:
    source(body)


@pytest.mark.fuzz
@settings(max_examples=2000)
@given(stores())
def test_many_random_stores_in_numbers_hold_what_is_stored(body: str) -> None:
    source(body)
