"""Zero annihilates undef, also what quotients and functions have made of it."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from egraph_rules import optimize
from ir.semantics.interpret import interpret_with_undef
from lower import compile, emit
from lower.nest.normalize import normalize
from lower.nest.undef_products import absorb_undef
from lowered import read
from profiles import some

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


@pytest.mark.parametrize("body", some(PROGRAMS.values(), 0.12), ids=PROGRAMS.keys())
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


def test_signs_and_conditions_are_no_factors_that_undef_may_make_infinite() -> None:
    """Products in products, each of which looked at both of its factors, were of exponential size."""
    angle = "T.atan(A[i] / L[i])"
    for _ in range(6):
        angle = f"T.if_then_else(Z[i] < 0.0, 2.0, 0.0) + T.if_then_else(Z[i] / L[i] < A[i], -1.0, 1.0) * ({angle})"
    assert len(emit(read(PARAMS, LOCAL + f"for i in range(4):\n    B[i] = {angle}"))) < 6000


def test_where_undef_is_finite_products_are_left_as_they_are() -> None:
    func = read(PARAMS, LOCAL + PROGRAMS["quotient"])
    assert "abs" in emit(func)
    assert "abs" not in emit(func, floats=["finite", "finite_undef"])


def test_zeros_are_stored_over_loops_of_their_own() -> None:
    body = PROGRAMS["of each iteration"].replace("    M[1] = 2.0\n", "").replace("* Z", "/ M[1] * Z")
    program = normalize(read(PARAMS, body))
    absorb_undef(program)
    filled = program.statements[0]
    assert filled.store.buffer.name == "M"
    assert len({loop.var for loop in filled.loops}) == len(filled.loops) == 2


def test_zeros_that_are_stored_in_a_step_of_one_of_their_loops_keep_the_other() -> None:
    """Iterations of two loops of the same extent have zeros of their own, which the steps of one of them store."""
    body = """
for i in T.serial(6):
    m = T.alloc_buffer((1,), "float32")
    a = T.alloc_buffer((4,), "float32")
    for j in T.serial(6):
        if M[i, j] and i - j <= 3 and j - i <= 2:
            s = T.alloc_buffer((n,), "float32")
            s[0] = 0.0
            for d in T.serial(4):
                a[d] = a[d] * T.exp(m[0] - s[1]) + T.exp(s[0] - s[1]) * V[j, d]
    for d in T.serial(4):
        O[i, d] = a[d] * V[i, d]
""".strip()
    params = 'n: T.int32, V: T.Buffer((6, 4), "float32"), O: T.Buffer((6, 4), "float32"), M: T.Buffer((6, 6), "bool")'
    func = read(params, body)
    V, M = np.zeros((6, 4), np.float32), np.eye(6, dtype=bool)
    ((want, undef),) = interpret_with_undef(func, n=2, V=V, O=V, M=M)
    (have,) = compile(func, verify=False)(n=2, V=V, O=V, M=M)
    np.testing.assert_array_equal(np.asarray(have)[~undef], want[~undef])
    assert not undef.any()
