"""Arrays that are transposed for a loop, and are read by a statement that another loop goes on with."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ir import PrimFunc, interpret, parse
from lower import compile, emit

SWEEPS = """
@T.prim_func
def sweeps(X: T.Buffer(({n}, {m}), "float32"), Z: T.Buffer(({n}, {m}), "float32")):
    right = T.alloc_buffer(({n}, {m}), "float32")
    left = T.alloc_buffer(({n}, {m}), "float32")
    both = T.alloc_buffer(({n}, {m}), "float32")
    for i in T.serial({n}):
        right[i, 0] = X[i, 0]
        left[i, {m} - 1] = X[i, {m} - 1]
        for j in T.serial(1, {m}):
            right[i, j] = X[i, j] + 0.5 * T.tanh(right[i, j - 1])
            left[i, {m} - 1 - j] = X[i, {m} - 1 - j] + 0.25 * T.tanh(left[i, {m} - j])
    for i, j in T.grid({n}, {m}):
        both[i, j] = right[i, j] {op} left[i, j]
    {then}
"""
DOWN = """for j in T.serial({m}):
        Z[0, j] = both[0, j]
        for i in T.serial(1, {n}):
            Z[i, j] = both[i, j] + T.tanh(Z[i - 1, j] + both[i - 1, j])
"""
COPIED = """for i, j in T.grid({n}, {m}):
        Z[i, j] = both[i, j] * 2.0
"""


def sweeps(n: int, m: int, op: str, then: str) -> PrimFunc:
    return parse(SWEEPS.format(n=n, m=m, op=op, then=then.format(n=n, m=m))).funcs[0]


def test_what_a_loop_reads_is_transposed_as_it_is_worked_out() -> None:
    for op in "+-":
        func = sweeps(11, 9, op, DOWN)
        kernel = compile(func)
        x = np.random.default_rng(0).normal(size=(11, 9)).astype(np.float32)
        (found,) = kernel(X=x)
        np.testing.assert_allclose(np.asarray(found), interpret(func, X=x, Z=np.zeros_like(x))[0], rtol=1e-5, atol=1e-6)
        assert kernel.source.count("kept(") == 3  # with its definition


def test_what_no_loop_reads_is_not() -> None:
    assert "kept(" not in emit(sweeps(11, 9, "+", COPIED))


def test_temporaries_are_the_two_sweeps_and_what_they_read() -> None:
    """Neither the sum as the two lie in memory, nor the two themselves, are kept for the last loop."""
    n, m = 300, 400
    kernel = compile(sweeps(n, m, "+", DOWN))
    memory = kernel.lower(jnp.zeros((n, m))).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 2.2 * 4 * n * m
