"""Lists of tuples and of lists in plain functions: items of different kinds, and lists that are joined and repeated."""

from __future__ import annotations

import bisect
import heapq
from collections import deque
from typing import Any

import numpy as np
import pytest

import loopsat
from plain_runs import Programs, check, keeper

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


def M(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random((5, 6)),)


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(9),)


@program(M)
def lists_of_a_display(A):
    rows, n = [list(r) for r in A], 0
    for v in rows[0] + rows[2]:
        n += 1 if v > 0.1 else 10
    return n, len(rows[0] + rows[1])


def doubled(row):
    return [v * 2 for v in row]


@program(M)
def lists_of_a_helper(A):
    rows = [doubled(r) for r in A]
    inner = [[v + 1 for v in r] for r in A]
    more = sorted([v + 1 for v in A[0]]) + inner[1]
    return len(rows[0] + rows[1]), rows[0] + inner[0] * 2, more


@program(lambda r: (3,))
def a_row_twice(n):
    total = 0
    for row in np.ones((n, n)).tolist():
        total += len(row * 2)
    return total


@program(V)
def tuples_of_a_display(x):
    points = [(i, x[i]) for i in range(3)]
    both = points[0] + points[1]
    return len(both), both, both[2], x[points[2][0]]


@program(lambda r: (r.integers(0, 9, (3, 4)),))
def columns_of_lists(A):
    grid = [[0] * 4 for _ in range(3)]
    grid[1][2] = 5
    turned = list(zip(*grid))  # noqa: B905 - as people write it
    return len(turned), turned[2][1], len(turned[0] + turned[1])


@program(lambda r: (r.random((10, 2)),))
def convex_hull(points):
    pts = sorted(map(tuple, points))

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower = []
    for p in pts:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in reversed(pts):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    return np.array(lower[:-1] + upper[:-1])


@program(lambda r: (r.random((4, 4)),))
def kruskal(W):
    n = len(W)
    edges = []
    for i in range(n):
        for j in range(i):
            edges.append((W[i, j], i, j))
    edges.sort()
    parent = list(range(n))
    total = 0.0
    for w, u, v in edges:
        while parent[u] != u:
            u = parent[u]
        while parent[v] != v:
            v = parent[v]
        if u != v:
            parent[u] = v
            total += w
    return total


@program(lambda r: (r.random((5, 5)),))
def prim(W):
    n = len(W)
    seen = [False] * n
    heap = [(0.0, 0)]
    total = 0.0
    while heap:
        w, u = heapq.heappop(heap)
        if seen[u]:
            continue
        seen[u] = True
        total += w
        for v in range(n):
            if not seen[v]:
                heapq.heappush(heap, (W[u, v], v))
    return total


@program(lambda r: (r.random(8).astype("f4"),))
def places_beside_small_floats(x):
    best = []
    for i in range(len(x)):
        best.append((x[i], i + 40_000_000, x[i] > 0.5))
    first = sorted(best)[0]
    return first[0], first[1], first[2], x[first[1] - 40_000_000]


@program(V)
def sorted_with_places(x):
    order = sorted([(v, i) for i, v in enumerate(x)], reverse=True)
    total = 0.0
    for v, i in sorted((x[i], i) for i in range(len(x))):
        total = total * 0.5 + x[i] - 0.25 * v
    return order[0][1], x[order[1][1]], total


@program(lambda r: (r.integers(-20, 20, 12),))
def rows_as_results(x):
    rows = [[i, v * 0.5] for i, v in enumerate(x)]
    rows[2][0] = 7
    rows[3][1] = 2
    rows.sort(key=lambda r: -r[1])
    both = [(1, 2.5), (3, 4.5)] * 2
    return np.array(rows), sum(r[0] for r in rows), len(both), x[both[3][0]]


@program(V)
def monotone_stack(x):
    stack = []
    out = np.zeros(len(x))
    for i in range(len(x)):
        while stack and stack[-1][0] > x[i]:
            v, k = stack.pop()
            out[k] = v
        stack.append((x[i], i))
    return out


@program(V)
def sliding_maxima(x):
    q = deque()
    out = []
    for i, v in enumerate(x):
        while q and q[-1][0] <= v:
            q.pop()
        q.append((v, i))
        if q[0][1] <= i - 3:
            q.popleft()
        out.append(q[0][0])
    return out


@program(lambda r: (r.integers(-20, 20, 12),))
def running_median(x):
    window = []
    out = np.empty(len(x))
    for i in range(len(x)):
        bisect.insort(window, x[i])
        if len(window) > 4:
            del window[bisect.bisect_left(window, x[i - 4])]
        k = len(window)
        out[i] = (window[k // 2] + window[(k - 1) // 2]) / 2
    return out


@program(lambda r: (r.integers(-20, 20, 12),))
def assigned_in_conditions(x):
    kept = [y for v in x if (y := v + 1) > 0]
    return len(kept), sum(y for v in x if (y := v + 1) > 0), max(y * 2 for v in x if (y := abs(v)) < 10 and y > 2)


@program(V)
def texts_that_are_known(x):
    name = f"n={len(x):03d}"
    assert len(name) == 5, f"bad {name}"
    return x.astype("f4"), np.zeros(2, "<i8"), len(name)


@program(lambda r: (r.random((5, 6)),))
def shapes_of_selections(A):
    some = A[A.sum(axis=1) > 2.5]
    return A[A > 0.5].shape[0], some.shape[0], A[A.sum(axis=1) > 2.5].shape[1], A[A > 0.5].ndim


@pytest.mark.parametrize("function, arguments", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_programs(function: Any, arguments: Any) -> None:
    check(function, arguments)


def test_items_of_tuples_that_are_given_keep_their_kinds() -> None:
    def shortest(edges, n):
        dist = [float("inf")] * n
        dist[0] = 0.0
        for _ in range(n - 1):
            for u, v, w in edges:
                if dist[u] + w < dist[v]:
                    dist[v] = dist[u] + w
        return dist

    edges = [(0, 1, 2.5), (1, 2, 0.5), (0, 2, 4.0)]
    assert np.asarray(loopsat.jit(shortest)(edges, 3)).tolist() == shortest(edges, 3)
