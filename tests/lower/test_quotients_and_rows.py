"""Indices with quotients become digits of split axes, and rows at positions that are data or steps are taken whole."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from lower import compile
from lowered import assert_agrees, read, unwrapped
from profiles import some

PARAMS = (
    'A: T.Buffer((6, 8), "float32"), P: T.Buffer((5, 4, 3), "float32"), page: T.Buffer((6, 2), "int32"), '
    'V: T.Buffer((16,), "float32"), B: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32"), H: T.Buffer((7, 8), "float32")'
)
INPUTS = {
    "A": (np.arange(48, dtype="f4") % 13 - 4).reshape(6, 8),
    "P": (np.arange(60, dtype="f4") % 7 - 2).reshape(5, 4, 3),
    "page": np.array([[0, 4], [1, 1], [3, 2], [4, 0], [2, 2], [0, 3]], "i4"),
    "V": np.arange(16, dtype="f4") % 5,
    "B": np.zeros((6, 8), "f4"),
    "C": np.zeros(6, "f4"),
    "H": np.arange(56, dtype="f4").reshape(7, 8) % 3,
}


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    func = read(PARAMS, body)
    kernel = compile(func)
    assert_agrees(func, kernel, INPUTS)
    return unwrapped(kernel.source)


@pytest.mark.parametrize(
    "body",
    [
        "for i, j in T.grid(6, 8):\n    B[i, j] = A[i // 2, j // 4] + A[i, j]",
        "for i, j in T.grid(6, 8):\n    B[i, j] = A[i // 3 + 1, j // 2] * V[j // 4]",
        "for i in range(6):\n    C[i] = 0.0\n    for k in range(8):\n        C[i] += A[i, k // 2] * V[k // 4] * T.cast(k % 2 + 1, 'float32')",
    ],
)
def test_each_quotient_splits_its_axis(body: str) -> None:
    text = source(body)
    assert ".get(" not in text and "fori_loop" not in text


def test_quotients_beside_positions_from_data() -> None:
    """The linear form of an index may read data more often than the index."""
    source(
        "for i in range(6):\n    x = i * 2 + 1\n"
        "    B[page[i % 3, x // 2 % 2] % 3, x % 2] = T.min(B[page[i % 3, x // 2 % 2] % 3, x % 2], 2.0)"
    )


def test_rows_of_pages_are_gathered_whole() -> None:
    body = "for i in range(6):\n    C[i] = 0.0\n    for t in range(8):\n        C[i] += P[page[i, t // 4], t % 4, 1] * A[i, t]"
    text = source(body)
    assert "P.at[page, :, 1].get(" in text


def test_indices_apart_from_each_other_keep_the_slice_between() -> None:
    body = "for i, j in T.grid(6, 4):\n    B[i, j] = P[page[i, 0], j, page[i, 1] % 3]"
    assert "P.at[page[:, 0], :," in source(body)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("H[t, (i + 7) % 8] + H[t, (i + 1) % 8]", "mode='wrap'"),
        ("H[t, T.max(i - 1, 0)] + H[t, T.min(i + 1, 7)]", "mode='edge'"),
        ("H[t, i] + (H[t, i - 1] if i > 0 else 0.0)", "jnp.pad(H[t"),
    ],
)
def test_of_a_history_the_row_of_the_step_is_padded(value: str, form: str) -> None:
    text = source(f"for t in range(6):\n    for i in range(8):\n        H[t + 1, i] = ({value}) * 0.5")
    assert form in text and "jnp.pad(H[t" in text
    assert "jnp.pad(H," not in text


def test_what_is_hidden_where_the_result_does_not_count_may_be_anything() -> None:
    body = """
for i, j in T.grid(6, 8):
    if j < 5:
        B[i, j] = 0.0
        for d in range(3):
            if i + d >= 1 and i + d < 7:
                B[i, j] += A[i + d - 1, j] * H[d, j]
    else:
        B[i, j] = 0.0
""".strip()
    func = read(PARAMS, body)
    kernel = compile(func)
    unread = {**INPUTS, "A": INPUTS["A"].copy(), "H": INPUTS["H"].copy()}
    unread["A"][:, 5:] = unread["H"][:, 5:] = np.nan
    assert_agrees(func, kernel, unread)
    assert "i[:, None] + 0 >= 1" not in kernel.source  # zeros in the padding do what the guard does


WINDOWS = 'X: T.Buffer((160,), "float32"), w: T.Buffer((48,), "float32"), E: T.Buffer((5,), "float32"), F: T.Buffer((5, 48), "float32")'


@pytest.mark.parametrize(("step", "parts"), some([(16, 3), (24, 2), (28, 0), (17, 0)], 0.5))
def test_long_windows_that_overlap_by_whole_parts_are_views_of_them(step: int, parts: int) -> None:
    """Parts of at least 8 elements, which divide the step and the window: frames of a signal and their sums."""
    inputs = {n: (np.arange(k, dtype="f4") * 7 % 11 - 4) for n, k in (("X", 160), ("w", 48), ("E", 5))}
    inputs["F"] = (np.arange(240, dtype="f4") % 13 - 5).reshape(5, 48)
    frames = (
        f"for f in range(5):\n    E[f] = 0.0\n    for k in range(48):\n        E[f] += T.abs(X[{step} * f + k] - w[k])"
    )
    added = f"for f, k in T.grid(5, 48):\n    X[{step} * f + k] += F[f, k] * w[k]"
    for body in (frames, added):
        func = read(WINDOWS, body)
        kernel = compile(func)
        assert_agrees(func, kernel, inputs)
        assert not parts or kernel.source.count("w[") == parts
