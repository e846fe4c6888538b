"""Every form that a decision by price can give a statement is emitted and compared, not only the cheapest."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from forced import Forced, alternatives, assert_all_agree, assert_same, at_random
from ir import PrimFunc
from ir.errors import LoopsatError
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.semantics.specialize import specialize
from ir.testing.programs import programs
from kernel_files import PATHS, load
from lower.analysis.deciding import cheaper, cheapest, deciding
from lower.analysis.linear_forms import linear
from lower.emission.function import emit_function
from lowered import read
from profiles import some

SMALL = replace(CPU, product_rows=2)  # blocks of few elements too

PROGRAMS: dict[str, tuple[str, str, set[str]]] = {
    "a filter over many channels, padded": (
        'X: T.Buffer((16, 5, 4), "float32"), W: T.Buffer((2, 16, 3, 3), "float32"), Y: T.Buffer((2, 5, 4), "float32")',
        """for o, y, x in T.grid(2, 5, 4):
    Y[o, y, x] = 0.0
    for c, dy, dx in T.grid(16, 3, 3):
        if y + dy >= 1 and y + dy < 6 and x + dx >= 1 and x + dx < 5:
            Y[o, y, x] = Y[o, y, x] + X[c, y + dy - 1, x + dx - 1] * W[o, c, dy, dx]""",
        {"convolution"},
    ),
    "a filter over channels, padded": (
        'X: T.Buffer((4, 9, 2), "float32"), W: T.Buffer((3, 4, 3, 2), "float32"), Y: T.Buffer((3, 9), "float32")',
        """for o, y in T.grid(3, 9):
    Y[o, y] = 0.0
    for c, k, cc in T.grid(4, 3, 2):
        if y + k >= 1 and y + k < 10:
            Y[o, y] = Y[o, y] + X[c, y + k - 1, cc] * W[o, c, k, cc]""",
        {"convolution"},
    ),
    "one filter": (
        'X: T.Buffer((12,), "float32"), W: T.Buffer((5,), "float32"), Y: T.Buffer((8,), "float32")',
        """for y in range(8):
    Y[y] = 0.0
    for k in range(5):
        Y[y] = Y[y] + X[y + k] * W[k]""",
        {"convolution"},
    ),
    "a maximum over windows": (
        'X: T.Buffer((11, 11), "float32"), Y: T.Buffer((7, 7), "float32")',
        """for y, x in T.grid(7, 7):
    Y[y, x] = X[y, x]
    for k, l in T.grid(5, 5):
        Y[y, x] = T.max(Y[y, x], X[y + k, x + l])""",
        {"windows one by one"},
    ),
    "a stencil that leaves its buffer": (
        'X: T.Buffer((9, 9), "float32"), Y: T.Buffer((9, 9), "float32")',
        """for y, x in T.grid(9, 9):
    Y[y, x] = T.if_then_else(y > 0, X[y - 1, x], 0.0) + T.if_then_else(x > 0, X[y, x - 1], 0.0) + X[y, x]
    if y < 8:
        Y[y, x] = Y[y, x] + 2.0 * X[y + 1, x]""",
        {"padded copy"},
    ),
    "a running sum that decays": (
        'X: T.Buffer((40,), "float32"), Y: T.Buffer((40,), "float32")',
        "Y[0] = X[0]\nfor i in range(1, 40):\n    Y[i] = 0.5 * Y[i - 1] + X[i]",
        {"scan", "form of a loop"},
    ),
    "the place of the largest": (
        'X: T.Buffer((9,), "float32"), Y: T.Buffer((1,), "float32"), P: T.Buffer((1,), "int32")',
        "Y[0] = X[0]\nP[0] = 0\nfor i in range(9):\n    if X[i] > Y[0]:\n        Y[0] = X[i]\n        P[0] = i",
        {"form of a loop"},
    ),
    "a chain of products": (
        'A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 7), "float32"), x: T.Buffer((7,)), y: T.Buffer((5,))',
        """C = T.alloc_buffer((5, 7), "float32")
for i, j in T.grid(5, 7):
    C[i, j] = 0.0
    for k in range(6):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
for i in range(5):
    y[i] = 0.0
    for j in range(7):
        y[i] = y[i] + C[i, j] * x[j]""",
        {"sum"},
    ),
    "a product of small integers": (
        'A: T.Buffer((4, 6), "int8"), B: T.Buffer((6, 5), "int8"), C: T.Buffer((4, 5), "int32")',
        """for i, j in T.grid(4, 5):
    C[i, j] = 0
    for k in range(6):
        C[i, j] = C[i, j] + T.int32(A[i, k]) * T.int32(B[k, j])""",
        {"sum"},
    ),
    "a triangle of a product": (
        'A: T.Buffer((9, 5), "float32"), C: T.Buffer((9, 9), "float32")',
        """for i, j in T.grid(9, 9):
    if j <= i:
        for k in range(5):
            C[i, j] = C[i, j] + A[i, k] * A[j, k]""",
        {"blocks of a product"},
    ),
    "a table of distances": (
        'A: T.Buffer((5,), "int32"), B: T.Buffer((6,), "int32"), D: T.Buffer((6, 7), "int32")',
        """for i, j in T.grid(5, 6):
    D[i + 1, j + 1] = T.min(T.min(D[i, j + 1], D[i + 1, j]) + 1, D[i, j] + T.if_then_else(A[i] == B[j], 0, 1))""",
        {"form of a loop"},
    ),
    "a variance": (
        'X: T.Buffer((4, 9), "float32"), V: T.Buffer((4,), "float32"), Z: T.Buffer((4, 9), "float32")',
        """M = T.alloc_buffer((4,), "float32")
for i in range(4):
    M[i] = 0.0
    for j in range(9):
        M[i] = M[i] + X[i, j]
for i in range(4):
    V[i] = 0.0
    for j in range(9):
        V[i] = V[i] + (X[i, j] - M[i]) * (X[i, j] - M[i])
for i, j in T.grid(4, 9):
    Z[i, j] = (X[i, j] - M[i]) / (1.0 + V[i])""",
        {"reads behind a barrier"},
    ),
}


@pytest.mark.parametrize("name", some(PROGRAMS, 1))
def test_all_forms_of_a_program(name: str) -> None:
    params, body, decisions = PROGRAMS[name]
    func = read(params, body)
    rng = np.random.default_rng(0)
    drawn = {b.name: rng.integers(-2, 3, [int(d.value) for d in b.shape]) for b in func.buffers}  # type: ignore[attr-defined]
    found = assert_all_agree(func, {b.name: drawn[b.name].astype(b.dtype.numpy) for b in func.buffers}, SMALL)
    assert decisions <= found, found


def test_an_axis_of_one_block_is_whole() -> None:
    """Bounds of blocks are rounded: of 5 rows there is one, whatever it would cost."""
    text = "for i, j in T.grid(5, 5):\n    if j <= i:\n        for k in range(7):\n            "
    text += "C[i, j] = C[i, j] + A[i, k] * A[j, k]"
    func = read('A: T.Buffer((5, 7), "float32"), C: T.Buffer((5, 5), "float32")', text)
    assert all(compile(emitted.source, "emitted", "exec") for _, emitted in alternatives(func, SMALL))


def of_numbers(func: PrimFunc, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inputs for all parameters of a function: zeros where none are given."""
    shapes = {b.name: [linear(d).const for d in b.shape] for b in func.buffers}
    made = {b.name: np.zeros(shapes[b.name], b.dtype.numpy) for b in func.buffers}
    return {p.name: inputs[p.name] if p.name in inputs else made[p.name] for p in func.params}


@pytest.mark.fuzz
def test_all_forms_of_the_examples() -> None:
    """Together they and the programs above take every decision that there is."""
    named = {d for p in Path("lower").rglob("*.py") for d in re.findall(r'cheap\w+\(\s*"([a-z ]+)"', p.read_text())}
    assert len(named) > 20
    met: set[str] = set()
    for name in PATHS:
        example = load(name)
        sizes = example.sizes["small"]
        func = specialize(example.func, sizes)
        inputs = of_numbers(func, example.inputs(np.random.default_rng(0), **sizes))
        expected = interpret_with_undef(func, **{k: np.copy(v) for k, v in inputs.items()})
        usual = Forced()
        with deciding(usual):
            emit_function(func, target=SMALL)
        for decision, emitted in alternatives(func, SMALL):
            assert_same(func, emitted, inputs, expected, f"{name}, {decision}", 1e-3)
        met |= {decision for decision, _, _ in usual.seen}
    assert named <= met, named - met


def compare_any_form(func: PrimFunc, seed: int) -> None:
    try:
        inputs = random_inputs(func, np.random.default_rng(seed))
        expected = interpret_with_undef(func, **{k: np.copy(v) for k, v in inputs.items()})
    except LoopsatError:
        return
    assert_same(func, at_random(func, seed), inputs, expected, f"any form, by seed {seed}", 1e-3)


@settings(max_examples=5)
@given(programs(), st.integers(0, 99))
def test_any_forms_of_random_programs(func: PrimFunc, seed: int) -> None:
    compare_any_form(func, seed)


@pytest.mark.fuzz
@settings(max_examples=1000)
@given(programs(), st.integers(0, 9999))
def test_any_forms_of_many_random_programs(func: PrimFunc, seed: int) -> None:
    compare_any_form(func, seed)


def test_a_decision_is_for_the_cheapest_unless_another_decides() -> None:
    prices = {"a": 2.0, "b": 1.0, "c": 1.0, "d": float("inf")}
    assert cheapest("letters", prices) == "b"
    assert not cheaper("same", 1.0, 1.0) and cheaper("less", 0.5, 1.0)
    asked = Forced({0: 2, 1: 1})
    with deciding(asked):
        assert cheapest("letters", prices) == "c"
        assert cheaper("dearer", 5.0, 1.0)
        assert cheapest("only", {"a": 1.0, "d": float("inf")}) == "a"
    assert asked.seen == [("letters", 3, 2), ("dearer", 2, 1)]  # what cannot be, and what is alone, is no decision
    assert cheapest("letters", prices) == "b"
