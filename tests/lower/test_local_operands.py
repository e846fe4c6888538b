"""Instructions whose operands are locals: each iteration of the loop around has its own copy of those."""

from __future__ import annotations

import numpy as np
import pytest

from ir import interpret, parse
from lower import compile as lower
from profiles import some

COUNT = 1500  # iterations: enough for a library routine to be worth its call

PROGRAMS = {
    "forward substitution": """
        M = T.alloc_buffer((3, 3), "float32")
        for i, j in T.grid(3, 3):
            M[i, j] = A[b, i, j]
        for i in range(3):
            X[b, i] = R[b, i]
            for k in range(i):
                X[b, i] -= M[i, k] * X[b, k]
            X[b, i] = X[b, i] / M[i, i]
""",
    "back substitution": """
        M = T.alloc_buffer((3, 3), "float32")
        for i, j in T.grid(3, 3):
            M[i, j] = A[b, i, j]
        for q in range(3):
            X[b, 2 - q] = R[b, 2 - q]
            for k in range(3 - q, 3):
                X[b, 2 - q] -= M[2 - q, k] * X[b, k]
            X[b, 2 - q] = X[b, 2 - q] / M[2 - q, 2 - q]
""",
    "Cholesky factor": """
        M = T.alloc_buffer((3, 3), "float32")
        for i, j in T.grid(3, 3):
            M[i, j] = A[b, i, j] + A[b, j, i]
        for j in range(3):
            for k in range(j):
                M[j, j] -= M[j, k] * M[j, k]
            M[j, j] = T.sqrt(M[j, j])
            for i in range(j + 1, 3):
                for k in range(j):
                    M[i, j] -= M[i, k] * M[j, k]
                M[i, j] = M[i, j] / M[j, j]
        for i in range(3):
            X[b, i] = M[2, i]
""",
    "elimination": """
        M = T.alloc_buffer((3, 3), "float32")
        for i, j in T.grid(3, 3):
            M[i, j] = A[b, i, j]
        for k in range(3):
            for i in range(k + 1, 3):
                M[i, k] = M[i, k] / M[k, k]
                for j in range(k + 1, 3):
                    M[i, j] -= M[i, k] * M[k, j]
        for i in range(3):
            X[b, i] = M[2, i]
""",
    "first best": """
        V = T.alloc_buffer((3,), "float32")
        for i in range(3):
            V[i] = A[b, i, 0] * R[b, i]
        best = T.alloc_buffer((1,), "float32")
        at = T.alloc_buffer((1,), "int32")
        best[0] = V[0]
        at[0] = 0
        for i in range(3):
            if V[i] > best[0]:
                best[0] = V[i]
                at[0] = i
        for i in range(3):
            X[b, i] = T.cast(at[0], "float32")
""",
    "linear recurrence": """
        f = T.alloc_buffer((1,), "float32")
        f[0] = A[b, 0, 0] * 0.1
        X[b, 0] = R[b, 0]
        for i in range(2):
            X[b, i + 1] = f[0] * X[b, i] + R[b, i + 1]
""",
    "ragged sum": """
        stop = T.alloc_buffer((1,), "int32")
        stop[0] = T.cast(R[b, 0], "int32") % 4
        for i in range(3):
            X[b, i] = 0.0
            for k in range(stop[0]):
                X[b, i] += A[b, i, k]
""",
    "filter": """
        w = T.alloc_buffer((2,), "float32")
        for k in range(2):
            w[k] = R[b, k]
        for i in range(3):
            X[b, i] = 0.0
        for i in range(2):
            for k in range(2):
                X[b, i] += w[k] * A[b, 0, i + k]
""",
    "gather": """
        at = T.alloc_buffer((3,), "int32")
        for i in range(3):
            at[i] = T.cast(R[b, i], "int32") % 3
        for i in range(3):
            X[b, i] = A[b, i, at[2 - i]]
""",
    "running sum": """
        s = T.alloc_buffer((3,), "float32")
        s[0] = A[b, 0, 0]
        for i in range(2):
            s[i + 1] = s[i] + A[b, i + 1, 0]
        for i in range(3):
            X[b, i] = s[i] / s[2]
""",
}


@pytest.mark.parametrize(("name", "count"), [*((n, COUNT) for n in PROGRAMS), *some([(n, 3) for n in PROGRAMS], 3)])
def test_each_iteration_has_its_own(name: str, count: int):
    script = f"""
@T.prim_func
def func(
    A: T.Buffer(({count}, 3, 3), "float32"),
    R: T.Buffer(({count}, 3), "float32"),
    X: T.Buffer(({count}, 3), "float32"),
):
    for b in range({count}):{PROGRAMS[name]}"""
    func = parse(script).funcs[0]
    rng = np.random.default_rng(1)
    inputs = {
        "A": (rng.random((count, 3, 3)) + 4 * np.eye(3)).astype(np.float32),
        "R": (8 * rng.random((count, 3))).astype(np.float32),
        "X": np.zeros((count, 3), np.float32),
    }
    (want,) = interpret(func, **inputs)[-1:]
    found = lower(func)(**inputs)[-1]
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


def test_rows_that_steps_hand_on_are_those_of_each_iteration():
    """As many matrices as they have rows: with the two confused, results have the same shape."""
    func = parse("""
@T.prim_func
def func(A: T.Buffer((20, 20, 20), "float32"), X: T.Buffer((20, 20), "float32")):
    for b in range(20):
        M = T.alloc_buffer((20, 20), "float32")
        for i, j in T.grid(20, 20):
            M[i, j] = A[b, i, j]
        for k in range(20):
            for i in range(k + 1, 20):
                M[i, k] = M[i, k] / M[k, k]
                for j in range(k + 1, 20):
                    M[i, j] -= M[i, k] * M[k, j]
        for i in range(20):
            X[b, i] = M[19, i]
""").funcs[0]
    rng = np.random.default_rng(1)
    inputs = {"A": (rng.random((20, 20, 20)) + 9 * np.eye(20)).astype(np.float32), "X": np.zeros((20, 20), np.float32)}
    (want,) = interpret(func, **inputs)[-1:]
    np.testing.assert_allclose(lower(func)(**inputs)[-1], want, rtol=1e-4, atol=1e-4)
