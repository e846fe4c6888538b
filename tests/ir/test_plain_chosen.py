"""Arrays and lists of which data say how long they are, as results and as values, in plain functions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import loopsat
from ir.nodes import Const
from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


@program(lambda r: (r.integers(0, 5, (3, 4)),))
def places_of_uniques(A):
    values, inverse, counts = np.unique(A, return_inverse=True, return_counts=True)
    first = np.unique(A, return_index=True)[1]
    return values[inverse], counts, first, np.unique(A.T, return_index=True, return_inverse=True)


@program(lambda r: (r.integers(0, 5, 9), 2))
def filtered(A, least):
    out = []
    for x in A:
        if x > least:
            out.append(x)
    return out


@program(lambda r: (r.integers(0, 5, 9), r.random(9)))
def selected(A, x):
    chosen = x[A > 2]
    return chosen * 2, len(chosen), x[A > 7], {"few": A[A < 2], "all": A}


@program(lambda r: (r.random((4, 3)),))
def rows_and_places(A):
    rows = A[A[:, 0] > 0.5]
    i, j = np.nonzero(A > 0.5)
    return rows, i, j, A[A > 0.5], np.argwhere(A < 0.5), np.where(A[0] > 0.3)[0], np.flatnonzero(A[1] < 0.7)


@program(lambda r: (r.integers(0, 5, 9),))
def uniques(A):
    values, counts = np.unique(A, return_counts=True)
    total = 0
    for v in np.unique(A):
        total = 10 * total + v
    return values, counts, values[np.argmax(counts)], total, np.unique(A).size


@program(lambda r: (r.integers(0, 5, 9), r.integers(3, 9, 7)))
def as_sets(A, B):
    return (
        np.union1d(A, B),
        np.intersect1d(A, B),
        np.setdiff1d(A, B),
        np.isin(A, B),
        np.extract(A > 2, A),
        sorted(set(A)),
    )


@program(lambda r: (r.integers(0, 9, 9),))
def of_selections(A):
    found = 0
    for x in A[A % 2 == 0]:
        found = 10 * found + x
    return found, np.sort(A[A > 1])[::-1], A[A.max() <= A][0], np.median(A[A < 9]), np.compress(A > 4, A)


@program(lambda r: (r.integers(0, 9, 9),))
def stack_of_rises(A):
    stack = [(-1, 0)]
    for k, x in enumerate(A):
        while stack and stack[-1][0] >= x:
            stack.pop()
        stack.append((x, k))
    return stack


@program(lambda r: (r.random(5), 2))
def parts_of_few(x, least):
    none, one, some = x[x > 2], x[x >= x.max()], x[x > 0]
    parts = none[:-1], none[1:-1], one[1:-1], some[1:-1], none[-2:], one[:-3], some[least:], none[least:-1], one[::-1]
    return parts, len(none[:-1]), len(one[1:-1]), np.diff(np.flatnonzero(x > 0.3)), some[1:] - some[:-1]


@program(lambda r: (r.integers(0, 5, 6), 3))
def chosen_where_there_are_any(A, most):
    few = [x for x in A if x > most]
    middle = np.median(np.array(few)) if few else 0.0
    counts = Counter(A)
    common = counts.most_common(2)
    return (
        middle, sorted(few)[0] if few else -1, np.sort(A)[0] if A[0] > 2 else (np.sort(A)[-1] if A[1] > 1 else 7),
        common[0][0], counts.most_common(1)[0][1], len(counts.most_common()),
    )  # fmt: skip


@program(lambda r: (r.random(6),))
def first_ones(x):
    out, n = np.empty(len(x)), 0
    for v in x:
        if v < 0.5:
            out[n] = v
            n += 1
    return out[:n], n


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.18), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


def made_of_any_size(x):
    k = 0
    for v in x:
        if v > 0:
            k += 1
    return np.zeros(k)


REFUSED = [(made_of_any_size, "array of the greatest size")]


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_is_refused_says_what_to_write(function: Any, text: str) -> None:
    check_refused(function, text)


def test_there_is_room_where_sizes_are_open() -> None:
    x = np.random.default_rng(0).random(7)
    func = loopsat.jit(chosen_items, sizes="open").specialize(x).func
    assert all(
        not isinstance(e.value, int) or e.value < 100 for b in func.buffers for e in b.shape if isinstance(e, Const)
    )
    assert np.allclose(loopsat.jit(chosen_items, sizes="open")(x), chosen_items(x))


def chosen_items(x):
    return x[x > 0.5]
