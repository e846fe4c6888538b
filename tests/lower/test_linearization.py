"""Arrays in blocks that a program reads through positions: slices of one transposed array, not gathers."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import loopsat
from egraph_rules.cost.target import CPU
from ir import parse
from ir.semantics.inputs import random_inputs
from lower.emission.function import emit_function
from lower.runtime.kernel import Kernel
from lowered import assert_agrees, small_numbers
from profiles import some

READS = {
    "channels of a convolution with a tail": (
        'X: T.Buffer((3, 8, 4), "int32"), W: T.Buffer((5, 10, 3), "int32"), Y: T.Buffer((5, 6), "int32")',
        """
    for o, x in T.grid(5, 6):
        Y[o, x] = 0
        for c, d in T.grid(10, 3):
            Y[o, x] = Y[o, x] + X[c // 4, x + d, c % 4] * W[o, c, d]
""",
    ),
    "blocks of both dimensions": (
        'X: T.Buffer((2, 3, 4, 2), "int32"), Y: T.Buffer((7, 5), "int32")',
        """
    for i, j in T.grid(7, 5):
        Y[i, j] = X[i // 4, j // 2, i % 4, j % 2] * 2
""",
    ),
    "remainders first, of a position that is a sum": (
        'X: T.Buffer((4, 2, 3), "int32"), Y: T.Buffer((5, 2), "int32")',
        """
    for i, j in T.grid(5, 2):
        Y[i, j] = X[(i + 3) % 4, j, (i + 3) // 4]
""",
    ),
    "blocks that wrap around": (
        'X: T.Buffer((3, 5, 4), "int32"), Y: T.Buffer((10, 5), "int32")',
        """
    for i, j in T.grid(10, 5):
        Y[i, j] = X[i // 4, j, i % 4] - X[(i - 1) // 4 % 3, j, (i - 1) % 4] - X[(i + 3) // 4 % 3, j, (i + 3) % 4]
""",
    ),
    "an open number of blocks": (
        "x: T.handle, y: T.handle",
        """
    n = T.int32()
    X = T.match_buffer(x, (n, 2, 4), "int32")
    Y = T.match_buffer(y, (4 * n, 2), "int32")
    for i, j in T.grid(4 * n, 2):
        Y[i, j] = X[i // 4, j, i % 4]
""",
    ),
}
OTHERS = {
    "around the end, by indices of few bits": """
    for i in range(7):
        for j in range(2):
            Y[i, j] = X[(T.int8(i) - T.int8(1)) // T.int8(4) % T.int8(2), j, (T.int8(i) - T.int8(1)) % T.int8(4)]
""",
    "read by blocks as well": """
    for i, j in T.grid(7, 2):
        Y[i, j] = X[i // 4, j, i % 4] + X[i % 2, j, 1]
""",
    "another block size": """
    for i, j in T.grid(7, 2):
        Y[i, j] = X[i // 4, j, i % 3]
""",
    "quotients and remainders of different positions": """
    for i, j in T.grid(6, 2):
        Y[i, j] = X[i // 4, j, (i + 1) % 4]
""",
}


def check(params: str, body: str) -> str:
    func = parse(f"@T.prim_func\ndef f({params}):{body}").funcs[0]
    emitted = emit_function(func, target=CPU)
    inputs = random_inputs(func, np.random.default_rng(0))
    assert_agrees(func, Kernel(emitted, jax.devices()[0]), inputs)
    return emitted.source


@pytest.mark.parametrize("name", some(READS, 0.6))
def test_blocks_are_read_as_slices(name: str) -> None:
    source = check(*READS[name])
    assert "jnp.transpose(X" in source
    assert ".get(" not in source


@pytest.mark.parametrize("name", OTHERS)
def test_other_reads_stay_right(name: str) -> None:
    check('X: T.Buffer((2, 2, 4), "int32"), Y: T.Buffer((7, 2), "int32")', OTHERS[name])


def test_what_only_the_source_stores_is_handed_back_as_it_was_given() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((3, 2), "int32"), S: T.Buffer((1,), "int32")):
    for i, o in T.grid(3, 2):
        if 3 * o + i >= 6:
            A[i, o] = 0
    for i in T.serial(1, 7):
        S[0] = T.min(S[0], A[(6 - i) % 3, (6 - i) // 3])
""")["f"]
    best = loopsat.optimize(func).best
    kernel = loopsat.compile(best)
    assert "jnp.transpose" in kernel.source
    assert_agrees(func, kernel, small_numbers(func, 0))
