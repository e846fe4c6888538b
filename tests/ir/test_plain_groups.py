"""Dictionaries of lists and sets, lists of sets, loops over sets, and keys that a default adds, in plain functions."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np
import pytest

from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


@program(lambda r: (r.integers(0, 5, 12), r.random(12)))
def means_by_key(keys, x):
    groups = defaultdict(list)
    for k, v in zip(keys, x):
        groups[k].append(v)
    out = np.zeros(5)
    for k in range(5):
        if k in groups:
            out[k] = sum(groups[k]) / len(groups[k])
    return out, len(groups), max(len(v) for v in groups.values())


@program(lambda r: (r.integers(0, 4, 12), r.random(12)))
def best_group(keys, x):
    groups = defaultdict(list)
    for i, k in enumerate(keys):
        groups[int(k)].append(i)
    best, arg = -1.0, -1
    for k, rows in groups.items():
        total = 0.0
        for i in rows:
            total += x[i]
        if total > best:
            best, arg = total, k
    first = 0
    for rows in groups.values():
        first = 10 * first + rows[0] - rows[-1]
    return arg, best, first


@program(lambda r: (r.integers(0, 6, (8, 2)),))
def levels(edges):
    adj = defaultdict(list)
    for u, v in edges:
        adj[u].append(v)
        adj[v].append(u)
    dist = np.full(6, -1)
    dist[0] = 0
    queue = deque([0])
    while queue:
        u = queue.popleft()
        for v in adj[u]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


@program(lambda r: (r.integers(0, 5, 10),))
def kept_by_hand(keys):
    rows = {}
    for i, k in enumerate(keys):
        if k not in rows:
            rows[k] = []
        rows[k].append((i, 2 * k))
    for k in sorted(rows):
        if len(rows[k]) == 1:
            rows[k] = [(100, 100), (1, 1)]
    total = 0
    for k in rows:
        for i, w in rows[k]:
            total = (3 * total + i - w) % 10007
    return total, len(rows), (100, 100) in rows[keys[0]]


@program(lambda r: (r.integers(0, 5, 10),))
def by_setdefault(keys):
    d = {}
    for i, k in enumerate(keys):
        d.setdefault((k % 2, k % 3), []).append(i)
    most = 0
    for k in d:
        if len(d[k]) > most:
            most = len(d[k])
    empty = d.get((7, 7), [])
    return most, len(d), len(empty)


@program(lambda r: (r.integers(0, 5, 10),))
def sets_by_key(A):
    after = defaultdict(set)
    for i in range(len(A) - 1):
        after[A[i]].add(A[i + 1])
    out = np.zeros(5, np.int64)
    for k in range(5):
        out[k] = len(after[k])
    return out, len(after)


@program(lambda r: (r.integers(0, 5, (9, 2)),))
def neighbours(edges):
    near = [set() for _ in range(5)]
    for u, v in edges:
        if u != v:
            near[u].add(v)
            near[v].add(u)
    triangles = 0
    for u, around in enumerate(near):
        for v in around:
            if v > u:
                triangles += sum(1 for w in near[v] if w in around)
    return triangles, max(len(s) for s in near), len(near[0])


@program(lambda r: (r.integers(0, 5, 10),))
def appended_of_what_there_is(A):
    d = defaultdict(list)
    sizes = [[] for _ in range(3)]
    for i, x in enumerate(A):
        if d[x]:
            d[x].append(i - d[x][-1])
        else:
            d[x].append(i)
        sizes[x % 3].append(len(sizes[x % 3]))
    return len(d), sum(len(v) for v in d.values()), sum(d[A[0]]), sum(sizes[A[0] % 3])


@program(lambda r: (r.integers(0, 9, 10),))
def lists_that_come(A):
    runs = []
    for k in range(len(A)):
        if k == 0 or A[k] < A[k - 1]:
            runs.append([])
        runs[-1].append(A[k])
    longest = 0
    for run in runs:
        longest = max(longest, len(run))
    return longest, len(runs), sum(runs[0])


@program(lambda r: (r.integers(0, 5, 10),))
def other_defaults(A):
    c = defaultdict(int)
    total = 0
    for k, x in enumerate(A):
        total += c[x + 1]
        c[x] = c.get(k, 3)
    return total


@program(lambda r: (r.integers(0, 5, 10),))
def reads_add_keys(A):
    d = defaultdict(int)
    fresh = 0
    for x in A:
        if d[x + 1] == 0:
            fresh += 1
        d[x] += 1
    c = Counter(A)
    absent = c[77]
    return len(d), fresh, absent, len(c), sum(1 for k in d if d[k] == 0)


@program(lambda r: (r.integers(0, 5, 10), r.integers(0, 5, 10)))
def over_sets(A, B):
    a, b = set(A), set(B)
    total = 0
    for x in a:
        if x in b:
            total += x * x
    code = 0
    for x in a | b:
        code = code * 10 + x
    least = 0
    for x in {7, 3, 5}:
        least = 10 * least + x
    return total, code, list(a)[0], len(a & b), len(a - b) if len(a - b) > 1 else -1, [2 * x for x in b][-1]


@program(lambda r: (r.integers(-1, 2, (10, 2)),))
def tuples_looked_up_first(P):
    count = {}
    for i in range(len(P)):
        key = (P[i, 0], P[i, 1])
        if key in count:
            count[key] += 1
        else:
            count[key] = 1
    most = 0
    for key in count:
        most = max(most, count[key])
    return most, len(count)


@program(lambda r: (r.integers(0, 4, (4, 5)),))
def islands(G):
    seen = set()
    n, m = G.shape
    count = 0
    for i in range(n):
        for j in range(m):
            if G[i, j] > 1 and (i, j) not in seen:
                count += 1
                stack = [(i, j)]
                seen.add((i, j))
                while stack:
                    a, b = stack.pop()
                    for da, db in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                        x, y = a + da, b + db
                        if 0 <= x < n and 0 <= y < m and G[x, y] > 1 and (x, y) not in seen:
                            seen.add((x, y))
                            stack.append((x, y))
    return count


@program(lambda r: (r.integers(0, 4, (4, 5)),))
def steps_from_a_corner(G):
    n, m = G.shape
    dist = {(0, 0): 0}
    q = deque([(0, 0)])
    while q:
        x, y = q.popleft()
        for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            u, v = x + dx, y + dy
            if 0 <= u < n and 0 <= v < m and G[u, v] < 3 and (u, v) not in dist:
                dist[(u, v)] = dist[(x, y)] + 1
                q.append((u, v))
    return len(dist), max(dist.values())


@program(lambda r: (r.integers(0, 4, (5, 5)),))
def reached(G):
    n = G.shape[0]
    seen = {0}
    todo = [0]
    while len(todo) > 0:
        u = todo.pop()
        for v in range(n):
            if G[u, v] > 2 and v not in seen:
                seen.add(v)
                todo.append(v)
    return len(seen)


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.19), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


def pairs_of_lists(x):
    d = defaultdict(list)
    d[0].append(x[0])
    return sorted(d.items())[0][0]


def read_where_it_may_not_run(x):
    d = defaultdict(int)
    d[0] += 1
    return (x[0] > 0 and d[1] == 0), len(d)


def sorted_in_place(x):
    d = defaultdict(list)
    d[0].append(x[0])
    d[0].sort()
    return d[0][0]


def members_of_any_kind(x):
    seen = set()
    k = 0
    while k not in seen:
        seen.add(k)
        k = int(x[k])
    return len(seen)


REFUSED = [
    (members_of_any_kind, "no bound is found of how long `seen` becomes"),
    (pairs_of_lists, "d.items() or d.values()"), (read_where_it_may_not_run, "d.get(key, 0), which adds nothing"),
    (sorted_in_place, "which is looped over"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_is_refused_says_what_to_write(function: Any, text: str) -> None:
    check_refused(function, text)
