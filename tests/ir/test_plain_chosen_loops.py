"""Loops over combinations, permutations and products, and lists of which a loop around says how long they are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from plain_runs import assert_same, run

A = np.array([1, 5, 3, 2, 8, 7])
PATHS = np.array([[0, 2, 9, 10], [1, 0, 6, 4], [15, 7, 0, 8], [6, 3, 12, 0]])


def pairs(a):
    n = 0
    for p, q in itertools.combinations(a, 2):
        if p + q == 10:
            n += 1
    return n, max(x * y - z for x, y, z in itertools.combinations(a, 3))


def shortest(paths):
    least, best = 1000, (0, 0, 0)
    for p in itertools.permutations(range(1, 4)):
        length = paths[0, p[0]] + paths[p[0], p[1]] + paths[p[1], p[2]] + paths[p[2], 0]
        if length < least:
            least, best = length, p
    return least, best, min(paths[i, j] + paths[j, 0] for i, j in itertools.permutations((1, 2, 3), 2))


def differences(a):
    return sum(x - y for x, y in itertools.permutations(a, 2) if x > y)


def left(a):
    found = (-1, -1)
    for i, j in itertools.combinations(range(len(a)), 2):
        if a[i] + a[j] == 10:
            found = (i, j)
            break
    else:
        found = (7, 7)
    for i, j in itertools.product(range(2), range(3)):
        if a[i] * a[j] == 1000:
            break
    else:
        i = 9
    t = 0
    for p in itertools.product(range(2), repeat=3):
        if a[p[0]] < a[p[2]]:
            break
        t += a[p[1]]
    return *found, i, t


def repeated(a):
    return [x + y for x, y in itertools.combinations_with_replacement(a, 2)]


def triangle(a):
    lower = [a[i] * j for i in range(4) for j in range(i + 1)]
    return sum(lower), len(lower), lower[3], np.array([a[i] + j for i in range(4) for j in range(i, i + 2)])


@pytest.mark.parametrize(
    ("function", "args"),
    [(pairs, (A,)), (shortest, (PATHS,)), (differences, (A,)), (left, (A,)), (repeated, (A,)), (triangle, (A,))],
)
def test_loops_over_what_is_chosen(function: Any, args: tuple[Any, ...]) -> None:
    wanted = function(*args)
    found = run(function, args)
    if function is repeated:
        found = found[0][: int(found[1])] if isinstance(found, tuple) else found
    assert_same(found, np.array(wanted) if isinstance(wanted, list) else wanted)
