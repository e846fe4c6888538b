"""Locals of which only a part is used."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_rules.cost.target import CPU
from ir import parse
from ir.nodes import Const
from ir.semantics.inputs import random_inputs
from lower.nest.normalize import normalize
from lower.storage.used_extents import trimmed
from lowered import assert_agrees, kernel_of

HEAD = "@T.prim_func\ndef f({params}):\n{body}"
# By what is used: parameters, a body, and the shape of the local that is left.
LOCALS = {
    "the first rows": (
        'X: T.Buffer((5, 4), "int32"), W: T.Buffer((4, 6), "int32"), Y: T.Buffer((5, 6), "int32")',
        """
    H = T.alloc_buffer((8, 6), "int32")
    for i, j in T.grid(5, 6):
        H[i, j] = 0
        for k in range(4):
            H[i, j] = H[i, j] + X[i, k] * W[k, j]
        H[i, j] = T.max(H[i, j], 3)
    for i, j in T.grid(5, 6):
        Y[i, j] = H[i, j] - H[4 - i, j]
""",
        (5, 6),
    ),
    "what a guard leaves": (
        'X: T.Buffer((5, 4), "int32"), Y: T.Buffer((5, 4), "int32")',
        """
    H = T.alloc_buffer((8, 7), "int32")
    for i, j in T.grid(8, 7):
        if i < 5 and j < 4:
            H[i, j] = X[i, j] * X[i, j]
    for i, j in T.grid(5, 4):
        Y[i, j] = H[i, j] + H[4 - i, 3 - j]
""",
        (5, 4),
    ),
    "neither the first nor the last": (
        'X: T.Buffer((9, 6), "int32"), Y: T.Buffer((5, 6), "int32")',
        """
    H = T.alloc_buffer((9, 6), "int32")
    for i in range(1, 8):
        for j in range(6):
            H[i, j] = X[i - 1, j] + X[i + 1, j]
    for i in range(2, 7):
        for j in range(6):
            Y[i - 2, j] = H[i - 1, j] * H[i + 1, 5 - j]
""",
        (7, 6),
    ),
    "places that data say": (
        'P: T.Buffer((5,), "int32"), Y: T.Buffer((5,), "int32")',
        """
    for i in range(5):
        T.assume(P[i] >= 0 and P[i] < 8)
    H = T.alloc_buffer((8,), "int32")
    for i in range(8):
        H[i] = i * i
    for i in range(5):
        Y[i] = H[P[i]] + H[i]
""",
        (8,),
    ),
}


@pytest.mark.parametrize("name", LOCALS)
def test_locals_are_as_large_as_what_is_used_of_them(name: str) -> None:
    params, body, shape = LOCALS[name]
    func = parse(HEAD.format(params=params, body=body))["f"]
    program = normalize(func)
    trimmed(program)
    local = next(b for b in program.depth if b.name == "H")
    assert tuple(n.value for n in local.shape if isinstance(n, Const)) == shape
    inputs = random_inputs(func, np.random.default_rng(0))
    assert_agrees(func, kernel_of(func, CPU), inputs)
