"""Indices that wrap round or are clamped are slices of a padded buffer; branches on data that store once are choices."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowered import agreeing_source, read
from profiles import few, some

PARAMS = 'A: T.Buffer((7, 9), "int32"), S: T.Buffer((3,), "int32"), B: T.Buffer((7, 9), "int32")'


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    return agreeing_source(read(PARAMS, body), S=np.random.default_rng(5).integers(0, 6, 3))


WRAPPED = {
    "neighbours": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(i - 1) % 7, j] + A[(i + 1) % 7, j] + A[i, (j + 8) % 9] + A[i, (j + 10) % 9]",
    "corners": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(i + 6) % 7, (j - 1) % 9] - A[(i + 2) % 7, (j + 3) % 9]",
    "a window": "for i, j in T.grid(7, 9):\n    B[i, j] = 0\n    for a, b in T.grid(3, 2):\n        B[i, j] = B[i, j] + A[(i + a + 6) % 7, (j + b + 8) % 9] * (a + 1)",
    "backward": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(3 - i) % 7, j]",
    "a part": "for i, j in T.grid(4, 9):\n    B[i, j] = A[(i + 5) % 7, j]",
    "many rounds away": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(i + 72) % 7, (j - 100) % 9]",
    "largest": "for i, j in T.grid(7, 9):\n    B[i, j] = A[i, j]\n    for a in T.serial(3):\n        B[i, j] = T.max(B[i, j], A[i, (j - a) % 9])",
    "clamped, numbers first": "for i, j in T.grid(7, 9):\n    B[i, j] = A[T.max(0, T.min(6, i - 2)), j]",
    "mirrored": "for i, j in T.grid(7, 9):\n    B[i, j] = A[T.if_then_else(i < 2, 2 - i, i - 2), T.if_then_else(j + 3 > 8, 13 - j, j + 3)]",
    "mirrored by its distance": "for i, j in T.grid(7, 9):\n    B[i, j] = A[6 - T.abs(6 - T.abs(i - 3)), j]",
    "mirrored with the border": "for i, j in T.grid(7, 9):\n    B[i, j] = A[T.if_then_else(i - 2 < 0, 1 - i, i - 2), T.if_then_else(j + 2 >= 9, 15 - j, j + 2)]",
    "mirrored window": "for i, j in T.grid(7, 9):\n    B[i, j] = 0\n    for a in T.serial(5):\n        B[i, j] = B[i, j] + (a + 1) * A[i, T.if_then_else(j + a < 2, 2 - j - a, T.if_then_else(j + a > 10, 18 - j - a, j + a - 2))]",
    "neighbours that are chosen": "for i, j in T.grid(7, 9):\n    B[i, j] = A[T.if_then_else(i == 0, 6, i - 1), j] + A[i, T.if_then_else(j == 8, 0, j + 1)]",
    "inside in all cases": "for i, j in T.grid(7, 9):\n    B[i, j] = A[i, T.abs(j)] + A[T.if_then_else(i < 0, -i, i), j]",
    "clamped window": "for i, j in T.grid(7, 9):\n    B[i, j] = 0\n    for a in T.serial(3):\n        B[i, j] = B[i, j] + A[T.min(T.max(i + a - 1, 0), 6), j] * S[a]",
}


@pytest.mark.parametrize("body", some(WRAPPED.values(), 0.29), ids=WRAPPED.keys())
def test_wrapped_and_clamped_places_are_slices(body: str) -> None:
    assert ".get(" not in source(body)


OTHERS = {
    "another modulus": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(i + 3) % 5, j]",
    "repeated": "for i, j in T.grid(7, 3):\n    B[i, 3 * j + S[0] % 2] = A[i % 7, (4 * j) % 9]",
    "by data": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(i + S[1]) % 7, j]",
    "with a step": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(2 * i) % 7, j]",
    "store to wrapped places": "for i, j in T.grid(7, 9):\n    B[(i + 1) % 7, j] = A[i, j]",
    "one in front of a loop": "for s in T.serial(3):\n    for i in T.serial(7):\n        B[i, s] = A[i, (s - 1) % 9]",
    "mirrored twice": "for i, j in T.grid(7, 9):\n    B[i, j] = A[T.abs(T.abs(i - 3) - 2), j]",
    "mirrored elsewhere": "for i, j in T.grid(7, 9):\n    B[i, j] = A[T.if_then_else(i < 2, 3 - i, i - 2), j]",
    "under a guard": "for i, j in T.grid(7, 9):\n    if i > 1:\n        B[i, j] = A[T.if_then_else(i < 2, i, i - 2), j]",
    "remainder and clamp": "for i, j in T.grid(7, 9):\n    B[i, j] = A[(i - 1) % 7, T.max(j - 1, 0)]",
}


@pytest.mark.parametrize("body", some(OTHERS.values(), 0.3), ids=OTHERS.keys())
def test_others_stay_right(body: str) -> None:
    assert "def f(" in source(body)


MODES = {
    "reflect": "T.if_then_else({e} < 0, -({e}), T.if_then_else({e} > {last}, 2 * {last} - ({e}), {e}))",
    "symmetric": "T.if_then_else({e} < 0, -1 - ({e}), T.if_then_else({e} >= {size}, 2 * {last} + 1 - ({e}), {e}))",
    "edge": "T.if_then_else({e} < 0, 0, T.min({e}, {last}))",
    "wrap": "T.if_then_else({e} < 0, {e} + {size}, T.if_then_else({e} >= {size}, {e} - {size}, {e}))",
    "others": "T.if_then_else({e} < 0, {last}, T.if_then_else({e} > {last}, 1, {e}))",
}


@few(10)
@given(st.tuples(*[st.tuples(st.sampled_from([*MODES]), st.integers(-5, 5), st.booleans(), st.booleans())] * 2))
def test_random_borders_hold_what_the_indices_say(sides: tuple[tuple[str, int, bool, bool], ...]) -> None:
    at: list[str] = []
    for (mode, offset, window, back), name, size in zip(sides, "ij", (7, 9), strict=True):
        place = f"{size - 1} - {name}" if back else name
        inner = f"{place} + {offset}" + (" + a" if window else "")
        at.append(MODES[mode].format(e=inner, last=size - 1, size=size))
    body = "for i, j in T.grid(7, 9):\n    B[i, j] = 0\n    for a in T.serial(2):\n        B[i, j] = B[i, j] + (a + 1) * A["
    source(f"{body}{', '.join(at)}]")


CHOICES = {
    "two values": "for i, j in T.grid(7, 9):\n    if A[i, j] > 0:\n        B[i, j] = A[i, j] * 2\n    else:\n        B[i, j] = B[i, j] - 1",
    "a chain": "for i, j in T.grid(7, 9):\n    if A[i, j] > 3:\n        B[i, j] = 3\n    elif A[i, j] < -3:\n        B[i, j] = -3\n    else:\n        B[i, j] = A[i, j]",
    "on what is stored": "for i, j in T.grid(7, 9):\n    if B[i, j] > 0:\n        B[i, j] = 1\n    else:\n        B[i, j] = A[i, j]",
}


@pytest.mark.parametrize("body", CHOICES.values(), ids=CHOICES.keys())
def test_branches_that_store_once_are_choices(body: str) -> None:
    lines = [line for line in source(body).split("\n") if line.strip().startswith("B = ")]
    assert len(lines) == 1


BRANCHES = {
    "other places": "for i, j in T.grid(7, 8):\n    if A[i, j] > 0:\n        B[i, j] = 4\n    else:\n        B[i, j + 1] = 5",
    "two stores": "for i, j in T.grid(7, 9):\n    if A[i, j] > 0:\n        B[i, j] = A[i, j]\n        B[i, j] = B[i, j] * 2\n    else:\n        B[i, j] = 5",
    "read only where allowed": "for i, j in T.grid(7, 9):\n    if A[i, j] > 0 and i > 0:\n        B[i, j] = A[i - 1, j]\n    else:\n        B[i, j] = 5",
}


@pytest.mark.parametrize("body", BRANCHES.values(), ids=BRANCHES.keys())
def test_other_branches_stay_right(body: str) -> None:
    assert "def f(" in source(body)
