"""Reductions that have a term in common with other statements work it out themselves."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, GPU, Target
from ir import PrimFunc, parse
from ir.semantics.inputs import random_inputs
from lower import emit
from lowered import assert_agrees, kernel_of

ROWS, COLUMNS = 96, 160
PARAMS = ", ".join(
    [f'X: T.Buffer(({ROWS}, {COLUMNS}), "float32")', f'Y: T.Buffer(({ROWS}, {COLUMNS}), "float32")']
    + [f'{n}: T.Buffer(({ROWS},), "float32")' for n in "MVSD"]
)
MEAN = f"""
for i in range({ROWS}):
    M[i] = 0.0
    for j in range({COLUMNS}):
        M[i] = M[i] + X[i, j]
    M[i] = M[i] / {COLUMNS}.0
"""


def read(body: str) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in (MEAN + body).strip().split("\n"))
    return parse(f"@T.prim_func\ndef f({PARAMS}):\n{lines}").funcs[0]


def total(buffer: str, term: str) -> str:
    return f"""
for i in range({ROWS}):
    {buffer}[i] = 0.0
    for k in range({COLUMNS}):
        {buffer}[i] = {buffer}[i] + {term}
"""


def each(value: str) -> str:
    return f"""
for r in range({ROWS}):
    for c in range({COLUMNS}):
        Y[r, c] = {value}
"""


SQUARE = total("V", "(X[i, k] - M[i]) * (X[i, k] - M[i])")
CUBE = total("S", "(X[i, k] - M[i]) * (X[i, k] - M[i]) * (X[i, k] - M[i])")
FAR = total("D", "0.0").replace("D[i] + 0.0", "T.max(D[i], T.abs(X[i, k] - M[i]))")

KEPT = {  # statements after the mean, and how many barriers they need
    "one sum": (SQUARE, 0),
    "a sum and what is scaled": (SQUARE + each("(X[r, c] - M[r]) * V[r]"), 1),
    "two sums": (SQUARE + CUBE, 1),
    "three reductions": (SQUARE + CUBE + FAR, 2),
    "the sum last": (each("X[r, c] - M[r]") + SQUARE, 1),
    "another term": (SQUARE + each("X[r, c] + M[r]"), 0),
    "the transposed way round": (SQUARE + each("X[c % 96, r] - M[c % 96]"), 0),
    "half of the columns": (SQUARE + each("X[r, c] - M[r]").replace("160", "80"), 0),
    "another mean": (SQUARE + "for i in range(96):\n    M[i] = M[i] * 0.5\n" + each("X[r, c] - M[r]"), 0),
    "a dear term": (
        total("V", "T.exp(X[i, k] - M[i])") + each("T.exp(X[r, c] - M[r]) / (1.0 + V[r])"),
        0,
    ),
    "a cheap part of a dear term": (
        total("V", "T.exp(X[i, k] - M[i])") + each("X[r, c] - M[r] - T.log(V[r])"),
        1,
    ),
}


def check(func: PrimFunc, target: Target = CPU) -> str:
    """The source, after a comparison with the interpreter, which takes seconds."""
    kernel = kernel_of(func, target)
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(0)), 1e-3)
    return kernel.source


@pytest.mark.parametrize("name", KEPT)
def test_what_stands_apart(name: str) -> None:
    body, barriers = KEPT[name]
    assert emit(read(body)).count("optimization_barrier") == barriers


def test_what_stands_apart_is_the_same() -> None:
    assert "optimization_barrier" in check(read(KEPT["a cheap part of a dear term"][0]))


@pytest.mark.fuzz
@pytest.mark.parametrize("name", KEPT)
def test_all_that_stands_apart_is_the_same(name: str) -> None:
    check(read(KEPT[name][0]))


def test_compilers_that_fuse_anyway_get_no_barriers() -> None:
    assert "optimization_barrier" not in emit(read(SQUARE + CUBE + FAR), GPU)


def temporaries(source: str) -> int:
    """Bytes of temporaries that XLA wants for a function of the parameters above."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    table, row = (jax.ShapeDtypeStruct(shape, "float32") for shape in ((ROWS, COLUMNS), (ROWS,)))
    return scope["f"].lower(table, table, row, row, row, row).compile().memory_analysis().temp_size_in_bytes


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="how XLA:CPU fuses")
def test_terms_in_common_take_no_memory() -> None:
    func = read(SQUARE + CUBE + FAR)
    table = ROWS * COLUMNS * 4
    assert temporaries(emit(func)) < table <= temporaries(emit(func, replace(CPU, shared=0.0)))


def test_what_stands_apart_can_be_differentiated() -> None:
    """A barrier has a derivative and can be mapped."""
    func = read(SQUARE + each("(X[r, c] - M[r]) / (1.0 + V[r])"))
    kernel, plain = (kernel_of(func, t) for t in (CPU, replace(CPU, shared=0.0)))
    x, rest = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype("float32"), [np.zeros(ROWS, "float32")] * 4
    slopes = [jax.grad(lambda x, k=k: k(x, x * 0, *rest)[0].sum())(x) for k in (kernel, plain)]
    np.testing.assert_allclose(*slopes, rtol=1e-4, atol=1e-6)
