"""Columns of parameters that loops carry, and locals of which one value is enough for all iterations of an axis."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from lower import compile
from lowered import assert_agrees, read, small_numbers, unwrapped

PARAMS = 'V: T.Buffer((9, 3), "int32"), W: T.Buffer((9,), "int32"), Z: T.Buffer((4, 5, 2), "int32"), K: T.Buffer((4,), "int32")'


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    func = read(PARAMS, body)
    kernel = compile(func)
    assert_agrees(func, kernel, small_numbers(func, 0))
    return unwrapped(kernel.source)


COLUMNS = {
    "two that wait for each other": (
        "for r in range(3):\n    for i in range(9):\n        V[i, 0] = V[i, 1] - V[i, 0]\n        V[i, 1] = V[i, 0] * W[i]",
        ["V_0 = V[:, 0]", "V_1 = V[:, 1]", "V.at[:, 0].set(V_0)"],
    ),
    "all of them": (
        "for r in range(3):\n    for y, x in T.grid(4, 5):\n        Z[y, x, 0] = Z[y, x, 1] - Z[y, x, 0]\n        Z[y, x, 1] = Z[y, x, 0] + r",
        ["Z = jnp.stack((Z_0, Z_1), axis=2)"],
    ),
    "one that is only read": (
        "for r in range(3):\n    for i in range(8):\n        V[i, 2] = V[i, 2] + V[i + 1, 0]\nfor i in range(9):\n    W[i] = V[i, 2]",
        ["V_0 = V[:, 0]", "V.at[:, 2].set(V_2)"],
    ),
    "filled by loops in one another": (
        "S = T.alloc_buffer((2, 3), 'int32')\nfor i, j in T.grid(2, 3):\n    S[i, j] = K[i] + j\nfor t in range(9):\n    S[0, 1] = S[0, 1] + S[1, 2] * W[t]\n    S[1, 2] = S[1, 2] + S[0, 0]\nfor i, j in T.grid(2, 3):\n    W[i * 3 + j] = S[i, j]",
        ["S_0_0 = K[0] + 0", "S_1_2 = K[1] + 2"],
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_loops_carry_columns(name: str) -> None:
    body, forms = COLUMNS[name]
    text = source(body)
    assert all(form in text for form in forms)


APART = {
    "at a variable": "for r in range(3):\n    for i in range(9):\n        V[i, 0] = V[i, r] - V[i, 0]",
    "once": "for i in range(9):\n    V[i, 0] = V[i, 1] - V[i, 0]",
    "one column": "for r in range(3):\n    for i in range(9):\n        V[i, 0] = W[i] - V[i, 0]",
}


@pytest.mark.parametrize("name", APART)
def test_other_arrays_stay_whole(name: str) -> None:
    assert "V_0" not in source(APART[name])


STEPS = "for i in range(9):\n    s = T.alloc_buffer((2,), 'int32')\n    s[0] = {first}\n    s[1] = 2\n    for r in range(4):\n        W[i] = W[i] * s[0] - s[1]\n        s[0] = {next} - s[0]\n        s[1] = s[1] + {more}"
UNIFORM = {
    "steps": ("1", "3", "r", ["s_0 = jnp.int32(1)", "s_1 = jnp.int32(2)"]),
    "one depends on the other": ("K[2]", "s[1]", "K[r]", ["s_0 = K[2]", "s_1 = jnp.int32(2)"]),
    "one varies": ("W[i]", "s[1]", "r", ["s_0 = W", "s_1 = jnp.int32(2)"]),
    "both vary": ("i", "3", "s[0]", ["s_1 = jnp.full((9,), 2, jnp.int32)"]),
}


@pytest.mark.parametrize("name", UNIFORM)
def test_one_value_is_enough_where_all_copies_hold_it(name: str) -> None:
    first, after, more, forms = UNIFORM[name]
    text = source(STEPS.format(first=first, next=after, more=more))
    assert all(form in text for form in forms)
