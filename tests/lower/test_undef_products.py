"""Zero annihilates undef, also what quotients and functions have made of it."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from egraph_rules import optimize
from ir.semantics.interpret import interpret_with_undef
from lower import compile, emit
from lowered import read

PARAMS = 'A: T.Buffer((4,), "float32"), Z: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
LOCAL = 'L = T.alloc_buffer((4,), "float32")\n'
PROGRAMS = {
    "quotient": "for i in range(4):\n    B[i] = A[i] / L[i] * Z[i]",
    "zero": "for i in range(4):\n    B[i] = A[i] / L[i] * 0.0",
    "two factors": "for i in range(4):\n    B[i] = Z[i] * (A[i] / L[i] * Z[i])",
    "function": "for i in range(4):\n    B[i] = T.log(L[i]) * Z[i]",
    "of a part": "for i in range(2):\n    L[i] = 2.0\nfor i in range(4):\n    B[i] = A[i] / L[i] * Z[i]",
    "through a local": 'M = T.alloc_buffer((4,), "float32")\nfor i in range(4):\n    M[i] = A[i] / L[i]\n'
    "for i in range(4):\n    B[i] = M[3 - i] * Z[i]",
    "of each iteration": 'for i in range(4):\n    M = T.alloc_buffer((2,), "float32")\n    M[1] = 2.0\n'
    "    B[i] = A[i] / M[i // 2] * Z[i]",
    "sum": "for i in range(4):\n    B[0] = B[0] + A[i] / L[i] * (Z[i] * 0.0)",
}


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS.keys())
@pytest.mark.parametrize("floats", ["default", "strict"])
def test_zero_times_undef_is_zero(body: str, floats: str) -> None:
    func = read(PARAMS, LOCAL + body)
    A, Z, B = np.ones(4, np.float32), np.array([1, 0, 0, 1], np.float32), np.full(4, 5, np.float32)
    ((want, undef),) = interpret_with_undef(func, A=A, Z=Z, B=B)
    assert not undef[1:3].any()
    for same in (func, optimize(func, floats=floats).best):
        (have,) = compile(same, floats=floats)(A, Z, B)
        np.testing.assert_array_equal(np.asarray(have)[~undef], want[~undef])


def test_a_product_of_numbers_keeps_its_derivatives() -> None:
    """What is stored where data say so counts as undef; where it was stored, it is not."""
    stored = "for i in range(4):\n    if A[i] > 0.5:\n        L[i] = 2.0\n"
    func = read(PARAMS, LOCAL + stored + PROGRAMS["quotient"])
    kernel = compile(func)
    A, Z = np.array([1, 1, 0, 0], np.float32), np.array([1, 0, 0, 0], np.float32)
    of_a, of_z = jax.jacobian(lambda a, z: kernel(a, z)[0], (0, 1))(A, Z)
    np.testing.assert_array_equal(of_a, np.diag([0.5, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(np.diag(of_z)[:2], [0.5, 0.5])


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(4):\n    L[i] = A[i]\nfor i in range(4):\n    B[i] = A[i] / L[i] * Z[i]",  # all of it is stored
        "for i in range(2):\n    L[i] = A[i]\nfor i in range(4):\n    B[i] = (L[i] + A[i] / 3.0) * Z[i]",
        "for i in range(2):\n    L[i] = A[i]\nfor i in range(2):\n    B[i] = A[i] / L[i] * Z[i]",
    ],
)
def test_other_products_are_left_as_they_are(body: str) -> None:
    assert "abs" not in emit(read(PARAMS, LOCAL + body))


def test_where_undef_is_finite_products_are_left_as_they_are() -> None:
    func = read(PARAMS, LOCAL + PROGRAMS["quotient"])
    assert "abs" in emit(func)
    assert "abs" not in emit(func, floats=["finite", "finite_undef"])
