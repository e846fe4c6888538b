"""Stores that make up an array together are one: its parts side by side, padded, or stacked."""

# ruff: noqa: E501, ISC004
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lower import compile
from lowered import assert_agrees, read, small_numbers, unwrapped
from profiles import few, some

PARAMS = 'A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32"), C: T.Buffer((12,), "float32"), N: T.Buffer((8, 12), "int32")'


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    func = read(PARAMS, body)
    kernel = compile(func)
    assert_agrees(func, kernel, small_numbers(func, 0))
    return unwrapped(kernel.source)


JOINED = {
    "halves": ("for i, j in T.grid(8, 6):\n    B[i, j] = A[i, 2 * j] + 1.0\n    B[i, j + 6] = A[i, 2 * j + 1] - 1.0", "jnp.concatenate(("),
    "rows first": ("for j in range(12):\n    B[7, j] = A[0, j]\nfor i, j in T.grid(7, 12):\n    B[i, j] = A[i + 1, j] * 2.0", "jnp.concatenate(("),
    "columns": ("for i in range(8):\n" + "\n".join(f"    B[i, {k}] = A[i, {(5 * k) % 12}] * {k}.0 + A[i, 0]" for k in range(12)), "jnp.stack(("),
    "one of three": ("for i, j, k in T.grid(8, 4, 3):\n    if k == 0:\n        B[i, j] = A[i, 3 * j]\n    elif k == 1:\n        B[i, j + 4] = A[i, 3 * j + 1] + 1.0\n    else:\n        B[i, j + 8] = A[i, 3 * j + 2] * 2.0", "jnp.concatenate(("),
    "windows": ("for i, j, k in T.grid(8, 6, 2):\n    B[i, 6 * k + j] = A[i, j + k + 2]", "jnp.stack((A[:, 2:8], A[:, 3:9]), axis=1)"),
    "in turn": ("for i, j in T.grid(8, 6):\n    B[i, 2 * j] = A[i, j] + 1.0\n    B[i, 2 * j + 1] = A[i, j + 6]", ".reshape(8, 12)"),
    "borders": (
        "for j in range(12):\n    B[0, j] = C[j]\n    B[7, j] = C[11 - j]\nfor i in range(6):\n    B[i + 1, 0] = 2.0\n    B[i + 1, 11] = A[i, 1]\n"
        "for i, j in T.grid(6, 10):\n    B[i + 1, j + 1] = A[i, j] + A[i + 2, j + 2]",
        "jnp.concatenate((",
    ),
    "padded": ("for i, j in T.grid(5, 12):\n    B[i + 1, j] = A[i, j] * A[i, j]\nfor j in range(12):\n    B[0, j] = 0.0\n    B[6, j] = 0.0\n    B[7, j] = 0.0", "jnp.pad("),
    "padded by a number": ("for i, j in T.grid(8, 9):\n    B[i, j] = A[i, j] * A[i, j]\nfor i, j in T.grid(8, 3):\n    B[i, j + 9] = 7.0", "constant_values=7.0"),
    "one row for all": ("for i, j in T.grid(5, 12):\n    B[i, j] = C[j]\nfor i, j in T.grid(3, 12):\n    B[i + 5, j] = A[i, j]", "jnp.broadcast_to(C"),
    "an element at each end": ("C[0] = A[0, 0]\nC[11] = A[7, 11] * 2.0\nfor j in range(10):\n    C[j + 1] = A[0, j] + A[0, j + 2]", "jnp.concatenate("),
    "an element and numbers": ("C[0] = 1.5\nfor j in range(11):\n    C[j + 1] = 7.0", "constant_values=7.0"),
    "elements alone": ("\n".join(f"C[{j}] = A[0, {11 - j}]" for j in range(12)), "jnp.stack("),
    "numbers alone": ("\n".join(f"C[{j}] = {j % 5}.0" for j in range(12)), "jnp.array("),
    "one number": ("\n".join(f"C[{j}] = 3.0" for j in range(12)), "jnp.full((12,), 3.0"),
    "over a number": ("for j in range(12):\n    C[j] = 0.5\nfor j in range(3):\n    C[j + 1] = A[0, j]\nC[5] = A[1, 1] * 2.0\nfor j in range(4):\n    C[j + 8] = A[2, j]", "jnp.concatenate("),
    "a triangle over a number": ("for i, j in T.grid(8, 12):\n    B[i, j] = 0.0\nfor j in range(12):\n    B[0, j] = C[j]\nfor i, j in T.grid(4, 6):\n    B[i + 1, j] = A[i, j]\nfor i, j in T.grid(3, 12):\n    B[i + 5, j] = A[i, j] * 2.0", "jnp.pad("),
    "of the other half": ("for i, j in T.grid(8, 6):\n    A[i, j] = B[i, j + 6] * 2.0\n    B[i, j + 6] = B[i, j] - A[i, j]\n    B[i, j] = B[i, j] + A[i, j]\nfor i, j in T.grid(8, 6):\n    A[i, j + 6] = 1.0", "jnp.concatenate(("),
    "borders of the inside": ("for i, j in T.grid(6, 10):\n    B[i + 1, j + 1] = A[i, j] + A[i + 2, j + 2]\nfor i in range(6):\n    B[i + 1, 0] = B[i + 1, 10]\n    B[i + 1, 11] = 2.0 * B[i + 1, 1] - B[i + 1, 2]\nfor j in range(12):\n    B[0, j] = B[6, j]\n    B[7, j] = B[1, j]", "B_part[:, 9]"),
    "a half of the other": ("for i, j in T.grid(4, 12):\n    B[i, j] = B[i, j] + 1.0\nfor i, j in T.grid(4, 12):\n    B[i + 4, j] = B[3 - i, j] * 2.0", "jnp.flip(B_part, 0)"),
    "of another dtype": ("for i, j in T.grid(8, 6):\n    N[i, j] = T.cast(A[i, j] * 3.0, 'int32')\n    N[i, j + 6] = j", "jnp.concatenate(("),
}  # fmt: skip


@pytest.mark.parametrize("place", ["k * i", "(k - 1) * (i - 5) + 5", "k * i // 2", "i + k * (i // 5)"])
def test_windows_that_are_one_row_at_some_positions_are_looked_up(place: str) -> None:
    params = 'A: T.Buffer((22, 12), "float32"), B: T.Buffer((3, 8, 12), "float32")'
    func = read(params, f"for k, i, j in T.grid(3, 8, 12):\n    B[k, i, j] = A[{place}, j]")
    assert_agrees(func, compile(func), small_numbers(func, 0))


@pytest.mark.parametrize("name", some(JOINED, 0.52))
def test_parts_of_an_array_are_joined(name: str) -> None:
    body, form = JOINED[name]
    text = source(body)
    assert form in text and ".at[" not in text


APART = {
    "one missing": "for i, j in T.grid(8, 5):\n    B[i, j] = A[i, 2 * j]\n    B[i, j + 6] = A[i, 2 * j + 1]",
    "one twice": "for i, j in T.grid(8, 7):\n    B[i, j] = A[i, j] + 1.0\nfor i, j in T.grid(8, 6):\n    B[i, j + 6] = A[i, j]",
    "read before the last": "for i, j in T.grid(8, 6):\n    B[i, j] = A[i, j] + 1.0\nfor j in range(12):\n    C[j] = B[7, j]\nfor i, j in T.grid(8, 6):\n    B[i, j + 6] = A[i, j]",
    "made of the others": "for i, j in T.grid(8, 6):\n    B[i, j] = A[i, j] + 1.0\nfor i, j in T.grid(8, 6):\n    B[i, j + 6] = B[i, 11 - j] + B[i, j]",
    "of what changes": "for i, j in T.grid(8, 6):\n    B[i, j] = A[i, j + 6]\nfor i, j in T.grid(8, 12):\n    A[i, j] = A[i, j] * 2.0\nfor i, j in T.grid(8, 6):\n    B[i, j + 6] = A[i, j]",
    "overwritten by what changes": "for i, j in T.grid(8, 6):\n    B[i, j] = A[i, j]\nfor i, j in T.grid(8, 2):\n    B[i, j + 1] = C[j]\nfor j in range(12):\n    C[j] = A[0, j]\nfor i, j in T.grid(8, 6):\n    B[i, j + 6] = A[i, j] * 2.0",
    "few over a number": "for j in range(12):\n    C[j] = 0.5\nC[3] = A[1, 1] * 2.0\nC[7] = A[1, 2] * 2.0",
    "one over the other": "for j in range(12):\n    C[j] = 0.5\nfor j in range(8):\n    C[j] = A[1, j] * 2.0\nfor j in range(8):\n    C[j + 2] = A[2, j] * 2.0",
    "over a number that is read": "for j in range(12):\n    C[j] = 0.5\nfor j in range(7):\n    C[j] = A[1, j] * 2.0\nfor j in range(12):\n    B[0, j] = C[11 - j]\nC[9] = A[0, 0]",
    "of what the first part holds": "for i, j in T.grid(8, 6):\n    B[i, j + 6] = B[i, j] - A[i, j]\nfor i, j in T.grid(8, 6):\n    B[i, j] = B[i, j + 6] + A[i, j]",
    "of what is stored again": "for i, j in T.grid(4, 12):\n    B[i, j] = B[i, j] + 1.0\nfor i, j in T.grid(4, 12):\n    B[i + 4, j] = B[i, j] * 2.0\nfor i, j in T.grid(4, 12):\n    B[i, j] = A[i, j] - 3.0",
    "in a loop": "for t in range(3):\n    for j in range(12):\n        B[0, j] = A[t, j]\n    for i, j in T.grid(7, 12):\n        B[i + 1, j] = B[i, j] * 0.5 + A[i, j]\n    for i, j in T.grid(8, 12):\n        A[i, j] = B[7 - i, j]",
}


@pytest.mark.parametrize("name", some(APART, 0.23))
def test_others_stay_right(name: str) -> None:
    assert "def f(" in source(APART[name])


@st.composite
def cuts(draw: st.DrawFn, size: int) -> list[tuple[int, int]]:
    """A dimension in parts."""
    ends = sorted(draw(st.sets(st.integers(1, size - 1), max_size=3)))
    return list(zip([0, *ends], [*ends, size], strict=True))


@st.composite
def stores(draw: st.DrawFn) -> str:
    """Nests that store the parts of B, of which some may be missing, cut again, or read what others stored."""
    first = draw(st.booleans())
    boxes: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for part in draw(cuts(8 if first else 12)):
        boxes += [(part, other) if first else (other, part) for other in draw(cuts(12 if first else 8))]
    lines: list[str] = []
    order = draw(st.permutations(boxes))[: draw(st.sampled_from([len(boxes)] * 4 + [1]))]
    if draw(st.integers(0, 2)) == 0:  # some elements again
        inside = (
            (draw(st.integers(0, 3)), draw(st.integers(4, 8))),
            (draw(st.integers(0, 5)), draw(st.integers(6, 12))),
        )
        order.insert(draw(st.integers(0, len(order))), inside)
    if draw(st.integers(0, 2)) == 0:  # over a number, which some parts leave
        lines += [f"for i, j in T.grid(8, 12):\n    B[i, j] = {draw(st.sampled_from(['0.0', '2.5']))}"]
        order = order[: draw(st.integers(1, len(order)))]
    for (a, b), (c, d) in order:
        value = draw(st.sampled_from(["A[i, j]", "A[7 - i, j] * 2.0 + A[i, j]", "C[j]", "1.5", "0.0", "0.0", "A[i, 0]", "B[i, j] + 1.0", "B[7 - i, 11 - j]", "B[i // 2, j]", "B[2, j] - B[i, 3]"]))  # fmt: skip
        lines += [f"for i in T.serial({a}, {b}):", f"    for j in T.serial({c}, {d}):", f"        B[i, j] = {value}"]
        if draw(st.integers(0, 7)) == 0:
            lines += [f"for j in range(12):\n    C[j] = {draw(st.sampled_from(['B[3, j]', 'A[2, j]', 'C[j] * 2.0']))}"]
    return "\n".join(lines)


@few(10)
@given(stores())
def test_random_parts_hold_what_is_stored(body: str) -> None:
    source(body)


@pytest.mark.fuzz
@settings(max_examples=2000)
@given(stores())
def test_many_random_parts_hold_what_is_stored(body: str) -> None:
    source(body)


NORMALS = """
x = T.alloc_buffer(({n},), "float32")
l = T.alloc_buffer(({n},), "float32")
for i in range({n}):
    x[i] = V[F[i, 1] % 9, 0] * V[F[i, 0] % 9, 1] - V[F[i, 1] % 9, 1] * V[F[i, 0] % 9, 0]
    l[i] = T.sqrt(x[i] * x[i] + 1.0)
    N[i, 0] = x[i] / l[i]
    N[i, 1] = 1.0 / l[i]
    N[i, 2] = 2.0 - x[i] * l[i]
"""


def test_dear_values_that_several_parts_read_are_kept() -> None:
    params = 'V: T.Buffer((9, 2), "float32"), F: T.Buffer(({n}, 2), "int32"), N: T.Buffer(({n}, 3), "float32")'
    for n, kept in ((5000, True), (20, False)):  # few are worked out again
        func = read(params.format(n=n), NORMALS.format(n=n))
        rng = np.random.default_rng(0)
        v, f = rng.normal(size=(9, 2)).astype(np.float32), rng.integers(0, 99, (n, 2)).astype(np.int32)
        kernel = compile(func)
        x = v[f[:, 1] % 9, 0] * v[f[:, 0] % 9, 1] - v[f[:, 1] % 9, 1] * v[f[:, 0] % 9, 0]
        length = np.sqrt(x * x + 1)
        np.testing.assert_allclose(
            kernel(V=v, F=f)[0], np.stack([x / length, 1 / length, 2 - x * length], 1), rtol=1e-5, atol=1e-5
        )
        assert ("= kept(" in kernel.source) == kept, kernel.source


FILLED = """for i in range(12):
    C[i] = 2.0
for i in range(1, 11):
    if A[0, i] > 0.5:
        C[i] {how}= A[1, i - 1] - A[1, i + 1]
C[0] = A[2, 0]
C[11] = A[2, 0]"""


@pytest.mark.parametrize("how", ["", "+"])
def test_a_guarded_store_leaves_the_number_that_was_stored_before(how: str) -> None:
    code = source(FILLED.format(how=how))
    assert "C[" not in code and ".at[" not in code
