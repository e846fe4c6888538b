"""Stores to neighbours of what a loop finds: they run in any order where no store makes a condition true or false."""

from __future__ import annotations

import numpy as np
import pytest

from lower import compile
from lowered import assert_agrees, read, unwrapped
from profiles import some

GRID = 'W: T.Buffer((6, 7), "int32"), D: T.Buffer((6, 7), "int32")'
NEIGHBOURS = ("i > 0", "i - 1", "j"), ("i < 5", "i + 1", "j"), ("j > 0", "i", "j - 1"), ("j < 6", "i", "j + 1")


def spreading(found: str, test: str, *values: str) -> str:
    """Steps in which what is found changes its neighbours, each to one of some values."""
    lines = ["for t in range(4):", "    for i, j in T.grid(6, 7):", f"        if {found}:"]
    for k, (inside, y, x) in enumerate(NEIGHBOURS):
        place = f"D[{y}, {x}]"
        lines += [f"            if {inside}:", f"                if {test.replace('X', place)}:"]
        lines.append(f"                    {place} = {values[k % len(values)]}")
    return "\n".join(lines)


SPREADING = {
    "levels of a search": (spreading("D[i, j] == t", "W[i, j] == 0 and X < 0", "t + 1"), True),
    "what is greater": (spreading("D[i, j] > t and D[i, j] < 9", "X < 1 - t", "-t"), True),
    "two values": (spreading("D[i, j] == t", "X < 0", "t + 1", "t + 2"), False),
    "what is found anew": (spreading("D[i, j] == t", "X < 0", "t"), False),
    "over what was found": (spreading("D[i, j] == t", "X != 7", "t + 1"), False),
    "a value of the place": (spreading("D[i, j] == t", "X < 0", "t + 1 + i"), False),
}


CHOSEN = [
    f"            if {inside}:\n                D[{y}, {x}] = T.if_then_else(D[{y}, {x}] < 0, t + 1, D[{y}, {x}])"
    for inside, y, x in NEIGHBOURS
]
LOOPS = "for t in range(4):\n    for i, j in T.grid(6, 7):\n        if D[i, j] == t:\n"
SPREADING["values that are chosen"] = LOOPS + "\n".join(CHOSEN), True


@pytest.mark.parametrize("name", some(SPREADING, 0.1))
def test_stores_to_neighbours(name: str) -> None:
    body, at_once = SPREADING[name]
    func = read(GRID, body)
    kernel = compile(func)
    assert (unwrapped(kernel.source).count("fori_loop(") == 1) is at_once
    for seed in range(4):
        rng = np.random.default_rng(seed)
        W, D = (rng.integers(low, 3, (6, 7)).astype(np.int32) for low in (0, -2))
        assert_agrees(func, kernel, {"W": W, "D": D})
