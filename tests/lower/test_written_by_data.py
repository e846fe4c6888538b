"""What was stored under a condition on data is there where the same data is asked again: it is no undef."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

import loopsat
from ir import PrimFunc
from ir.semantics.inputs import random_inputs
from lower.nest.normalize import normalize
from lower.nest.undef_products import absorb_undef
from lowered import assert_agrees, read
from profiles import some

F = '"float32"'
PARAMS = f'A: T.Buffer((6, 6), {F}), n: T.Buffer((6,), "int32"), x: T.Buffer((6,), {F}), Y: T.Buffer((6, 6), {F})'
PROGRAM = """
P = T.alloc_buffer((6, 6), "float32")
for i, j in T.grid(6, 6):
    if {stored}:
        P[i, j] = A[i, j]
for i, j in T.grid(6, 6):
    Y[i, j] = 1.0
    if {read}:
        Y[i, j] = T.exp(P[i, j]) * A[j, i]
{after}
"""


def drawn(func: PrimFunc) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in random_inputs(func, np.random.default_rng(0)).items()}


def spoiled(body: str) -> set[str]:
    """Buffers that may hold no number, after a comparison with the interpreter."""
    func = read(PARAMS, body)
    assert_agrees(func, loopsat.compile(func), drawn(func), rtol=1e-5)
    program = normalize(func)
    absorb_undef(program)
    return program.spoiled


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("j < n[i]", "j < n[i]"),
        ("j < n[i]", "j + 1 < n[i]"),
        ("x[j] > 0.0", "x[j] > 0.0 and i < 3"),
        ("n[n[i] % 6] > j", "j < n[n[i] % 6]"),
    ],
)
def test_the_same_data_decides(stored: str, read: str) -> None:
    assert not spoiled(PROGRAM.format(stored=stored, read=read, after=""))


@pytest.mark.parametrize(
    ("stored", "read", "after"),
    some(
        [
            ("j < n[i]", "j < n[j]", ""),
            ("j < n[i]", "j - 1 < n[i]", ""),
            ("x[j] > 0.0", "x[i] > 0.0", ""),
            ("x[j] > 0.0", "x[j] < 1.0", ""),
            ("j < n[i]", "j < n[i]", "n[0] = 3"),  # other data, for all that is known here
        ],
        0.6,
    ),
)
def test_other_data_decides(stored: str, read: str, after: str) -> None:
    assert spoiled(PROGRAM.format(stored=stored, read=read, after=after))


def test_data_of_an_iteration_that_an_element_does_not_tell() -> None:
    """Which of several iterations stores depends on the data of each of them."""
    body = """
P = T.alloc_buffer((6,), "float32")
for i, k in T.grid(6, 2):
    if k == 0 and n[k] > 0 or k == 1 and n[k] <= 0:
        P[i] = A[i, k]
for i in range(6):
    Y[i, 0] = 1.0
    if n[0] > 0:
        Y[i, 0] = T.exp(P[i]) * x[i]
"""
    assert spoiled(body)


@pytest.mark.parametrize(("asked", "certain"), [("j <= i", True), ("j <= 3", False)])
def test_a_name_in_a_branch_is_undef_only_where_the_branch_is(asked: str, certain: bool) -> None:
    """It is calculated everywhere, from what is stored in the branch alone."""
    func = read(
        PARAMS,
        f"""
P = T.alloc_buffer((6, 6), "float32")
for i, j in T.grid(6, 6):
    if j <= i:
        P[i, j] = A[i, j]
for i, j in T.grid(6, 6):
    Y[i, j] = 0.0
    if {asked}:
        p: T.float32 = T.exp(P[i, j])
        Y[i, j] = p * x[j] + p
""",
    )
    kernel = loopsat.compile(func)
    assert ("3.4028234663852886e38" in kernel.source) != certain
    if certain:  # a name is bound to one arbitrary value, which the interpreter picks
        assert_agrees(func, kernel, drawn(func), rtol=1e-5)


REFERENCES = 'D: T.Buffer((30,), "int32"), C: T.Buffer((9, 2), "int32"), B: T.Buffer((30,), "int32"), O: T.Buffer((30,), "int32")'
WRITTEN = {
    "by a remainder": ("O[0] = 1\nfor i in T.serial(1, 30):\n    O[i] = O[101 % i] + 1", True),
    "before the remainder": ("O[1] = 1\nfor i in T.serial(2, 30):\n    O[i] = O[101 % i] + 1", False),
    "back": ("for i in range(30):\n    T.assume(D[i] >= 0 and D[i] <= i)\n    O[i] = B[i]\n    if D[i] > 0:\n        O[i] = O[i - D[i]]", True),
    "forward": ("for i in range(30):\n    T.assume(D[i] >= -1 and D[i] <= i)\n    O[i] = B[i]\n    if D[i] != 0:\n        O[i] = O[i - D[i]]", False),
    "children": (
        "for i in range(21):\n    O[i] = B[i]\nfor k in range(9):\n    T.assume(C[k, 0] >= 0 and C[k, 0] < 21 + k)\n    O[21 + k] = O[C[k, 0]] + C[k, 1]",
        True,
    ),
    "other children": (
        "for i in range(21):\n    O[i] = B[i]\nfor k in range(9):\n    T.assume(C[k, 0] >= 0 and C[k, 0] < 21 + k)\n    O[21 + k] = O[C[k, 1]]",
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(WRITTEN, 0.4))
def test_places_that_data_give_were_stored_to_where_assumptions_say_so(name: str) -> None:
    body, certain = WRITTEN[name]
    func = read(REFERENCES, body)
    kernel = loopsat.compile(func)
    inputs = {**drawn(func), "D": np.arange(30, dtype=np.int32) // 2, "C": np.arange(18, dtype=np.int32).reshape(9, 2)}
    assert_agrees(func, kernel, inputs)
    assert ("May be left out (what is never written is then zero): O." in kernel.source) == certain
