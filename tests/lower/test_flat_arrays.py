"""Arrays of one dimension in which a program counts places of several: the dimensions are seen where accesses agree."""

from __future__ import annotations

import numpy as np
import pytest

from lower import compile
from lowered import assert_agrees, read, small_numbers, unwrapped

PARAMS = 'X: T.Buffer((120,), "float32"), W: T.Buffer((9,), "float32"), Y: T.Buffer((120,), "float32")'
WINDOW = (
    "for y, x in T.grid(10, 12):\n    Y[y * 12 + x] = 0.0\n    for a, b in T.grid(3, 3):\n        if {guard}:\n"
    "            Y[y * 12 + x] += X[(y + a - 1) * 12 + x + b - 1] * W[3 * a + b]"
)
INSIDE = "y + a >= 1 and y + a < 11 and x + b >= 1 and x + b < 13"


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    func = read(PARAMS, body)
    kernel = compile(func)
    assert_agrees(func, kernel, small_numbers(func, 0))
    return unwrapped(kernel.source)


def test_windows_in_flat_images_need_no_masks() -> None:
    text = source(WINDOW.format(guard=INSIDE))
    assert "X = X.reshape(10, 12)" in text and "where" not in text


@pytest.mark.parametrize(
    "guard",
    [
        "y + a >= 2 and y + a < 10",  # goes on in the rows before and after
        "y + a >= 1 and y + a < 10 and x + b >= 1 and x + b < 14",  # one more
        "X[y] > 0.0 and y + a >= 2 and y + a < 10",
    ],
)
def test_windows_that_go_from_row_to_row_stay_in_one_dimension(guard: str) -> None:
    assert "reshape(10, 12)" not in source(WINDOW.format(guard=guard)).partition("Y =")[0]


@pytest.mark.parametrize(
    "body",
    [
        "for i, j in T.grid(10, 12):\n    Y[i * 12 + j] = X[i * 12 + 11 - j]",
        "for i, j in T.grid(10, 11):\n    Y[i * 12 + j + 1] = X[i * 12 + j]",
        "for i, j in T.grid(9, 12):\n    Y[i * 12 + j + 12] = Y[i * 12 + j] + X[i * 12 + j]",
        "for i, j in T.grid(10, 11):\n    Y[i * 12 + j + 1] = Y[i * 12 + j] * 0.5 + X[108 - i * 12 + j]",
        "for i, j in T.grid(10, 12):\n    Y[i * 12 + j] = X[i * 12 + j]\nfor k in range(120):\n    Y[k] += X[119 - k]",
        "for i, j, k in T.grid(5, 2, 12):\n    Y[i * 24 + 12 * j + k] = X[24 * (4 - i) + 12 - 12 * j + k]",
    ],
)
def test_flat_arrays_agree_with_the_interpreter(body: str) -> None:
    source(body)


def test_a_diagonal_of_a_flat_matrix_is_one_of_two_dimensions() -> None:
    body = (
        "for k in range(10):\n    for i in range(k + 1, 10):\n"
        "        X[i * 10 + k] = X[i * 10 + k] / (X[k * 10 + k] * X[k * 10 + k] + 1.0)\n"
        "        for j in range(k + 1, 10):\n            X[i * 10 + j] = X[i * 10 + j] - X[i * 10 + k] * X[k * 10 + j]"
    )
    func = read('X: T.Buffer((100,), "float32")', body)
    kernel = compile(func)
    assert_agrees(func, kernel, small_numbers(func, 0), atol=1e-3)
    assert "X.reshape(10, 10)" in kernel.source


@pytest.mark.parametrize(
    "line",
    [
        "B[i * 7 + j] = A[T.min(T.max(A[i * 7 + j], 0), 13) // 7 * 7 + j]",
        "B[T.min(T.max(B[i * 7 + j], 0), 13) // 7 * 7 + j] = A[i * 7 + j]",
        "B[B[i * 7 + j] // 7 * 7 + j] = A[B[i * 7 + j] // 7 * 7 + 6 - j]",
    ],
)
def test_elements_that_say_where_others_are_stay_in_their_place(line: str) -> None:
    """Places are split as they were written, also those that elements of the same array are part of."""
    params = 'A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")'
    func = read(params, f"for i, j in T.grid(2, 7):\n    {line}")
    given = {"A": np.arange(14, dtype=np.int32) * 3 % 14, "B": np.arange(14, dtype=np.int32) * 5 % 14}
    assert_agrees(func, compile(func), given)
