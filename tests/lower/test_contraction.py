"""Array contraction: locals without the dimensions of the loops around all their users."""

from __future__ import annotations

import numpy as np
import pytest

import loopsat
from compare import assert_same
from ir import PrimFunc
from ir.nodes import Alloc
from ir.semantics.inputs import random_inputs
from ir.traverse import walk
from lowered import assert_agrees, read

F = '"float32"'
PARAMS = f"A: T.Buffer((7, 7), {F}), b: T.Buffer((7,), {F}), x: T.Buffer((7,), {F})"
SWEEPS = """
for t, i in T.grid(3, 7):
    s = T.alloc_buffer((1,), "float32")
    s[0] = {start}
    for j in range(7):
        if j != i:
            s[0] = s[0] - A[i, j] * x[j]
    x[i] = 0.5 * x[i] + 0.1 * s[0]
"""


def drawn(func: PrimFunc) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in random_inputs(func, np.random.default_rng(0)).items()}


def dimensions(func: PrimFunc) -> int:
    """Of all locals of the form in which a function will run."""
    form = loopsat.form(func)
    assert_same(func, [form], random_inputs(func, np.random.default_rng(0)))
    return sum(len(s.buffer.shape) for s in walk(form.body) if isinstance(s, Alloc))


@pytest.mark.parametrize("start", ["b[i]", "1.5", "A[t, i]"])
def test_what_each_of_two_loops_fills_anew_has_a_place_for_neither(start: str) -> None:
    func = read(PARAMS, SWEEPS.format(start=start))
    assert dimensions(func) == 0
    assert_agrees(func, loopsat.compile(func), drawn(func), rtol=1e-5)


@pytest.mark.parametrize("first", ["t == 0", "i + t < 5"])
def test_what_an_iteration_may_have_of_another_keeps_its_places(first: str) -> None:
    """The local lives on from one sweep to the next."""
    func = read(
        PARAMS,
        f"""
s = T.alloc_buffer((7,), "float32")
for i in range(7):
    s[i] = 0.25
for t in range(3):
    for i in range(7):
        if {first}:
            s[i] = b[i]
    for i in range(7):
        for j in range(7):
            if j != i:
                s[i] = s[i] - A[i, j] * x[j]
        x[i] = 0.5 * x[i] + 0.1 * s[i]
""",
    )
    assert dimensions(func) > 0
    assert_agrees(func, loopsat.compile(func), drawn(func), rtol=1e-5)


def test_what_a_loop_reads_first_it_does_not_fill() -> None:
    """The store there is to a buffer with other dimensions."""
    body = """
s = T.alloc_buffer((3,), "float32")
c = T.alloc_buffer((1,), "float32")
c[0] = 0.0
for t in range(T.min(0, L[0])):
    for j in range(3):
        if c[0] > 0.25:
            s[j] = T.max(T.sigmoid(c[0]), S[T.min(j + 1, 2)])
    for j in range(2):
        if S[j] > S[j + 1]:
            c[0] = S[j]
            S[j + 1] = c[0]
"""
    func = read('S: T.Buffer((3,), "float32"), L: T.Buffer((1,), "int32")', body)
    assert_agrees(func, loopsat.compile(func), {"S": np.array([3, 2, 1], np.float32), "L": np.array([2], np.int32)})
