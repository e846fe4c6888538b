"""Lists of lists of different lengths: triangles, groups of what follows each other, parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsat
from ir.errors import LoopsatError
from plain_runs import assert_same, read, run
from profiles import some

A = np.array([1.0, 5.0, 3.0, 2.0, 8.0, 7.0])


def starts(a):
    rows = []
    for i in range(4):
        rows.append(a[: i + 1] * 2)
    s = 0.0
    for k, row in enumerate(rows):
        s += k * sum(row) + len(row)
        for v in row:
            s += v * v
    return s, rows[2][1], rows[-1][-2], len(rows[3]), len(rows)


def pascal(a):
    rows = [[1.0]]
    for i in range(1, 6):
        above = rows[-1]
        rows.append([1.0] + [above[j - 1] + above[j] for j in range(1, i)] + [1.0])
    return rows[5][2] * a[0], rows[4][-2], len(rows), sum(rows[-1])


def rising(a):
    parts = [[a[0]]]
    for v in a[1:]:
        if v > parts[-1][-1]:
            parts[-1].append(v)
        else:
            parts.append([v])
    return max(len(p) for p in parts), len(parts), parts[1][0]


def triangle(a):
    rows = [[a[0]], [a[1], a[2]], [a[3], a[4], a[5]]]
    for i in range(1, 3):
        for j in range(len(rows[i])):
            if j == 0:
                rows[i][j] += rows[i - 1][0]
            elif j == len(rows[i]) - 1:
                rows[i][j] += rows[i - 1][j - 1]
            else:
                rows[i][j] += min(rows[i - 1][j], rows[i - 1][j - 1])
    return min(rows[-1]), rows[1][0]


def apart(a):
    found = []
    row = []
    for v in a:
        row.append(v)
        if v > 4:
            found.append(row)
            row = []
    return len(found), len(found[1]), found[2][0]


def products(a):
    rows = [[k * j for j in range(k)] for k in range(1, 4)]
    return sum(sum(row) for row in rows) * a[0], rows[2][1], sorted(rows[2])[2]


def parts(a):
    found = [a[i:j] for i in range(3) for j in range(i + 1, 4)]
    return max(part.sum() for part in found)


@pytest.mark.parametrize("function", some([starts, pascal, rising, triangle, apart, products, parts], 0.32))
def test_lists_of_different_lengths(function: Any) -> None:
    assert_same(run(function, (A,)), function(A))


@pytest.mark.fuzz  # long, and others test most of it
def test_sums_of_parts_are_found_and_run() -> None:
    assert float(loopsat.jit(parts)(A)) == parts(A)


def shared(a):
    found = []
    row = [0.0]
    for k in range(3):
        row.append(a[k])
        found.append(row)
    return len(found[0])


def shared_later(a):
    row = [a[0]]
    other = row
    found = [[a[1], a[2]]]
    found.append(row)
    other.append(a[3])
    return len(found[1])


@pytest.mark.parametrize("function", [shared, shared_later])
def test_lists_that_change_after_they_are_appended_are_refused(function: Any) -> None:
    with pytest.raises(LoopsatError):
        read(function, (A,))
