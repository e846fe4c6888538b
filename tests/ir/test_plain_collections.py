"""Sets, dictionaries that are filled later, and lists of lists that grow, in plain functions; and tuples in lists."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np
import pytest

import loopsat
from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


@program(lambda r: (r.integers(0, 10, 10),))
def seen_set(nums):
    seen = set()
    for x in nums:
        if x in seen:
            return x
        seen.add(x)
    return -1


@program(lambda r: (r.integers(0, 10, 12),))
def counter_dict(nums):
    counts = {}
    for x in nums:
        counts[x] = counts.get(x, 0) + 1
    best, bc = -1, 0
    for k, c in counts.items():
        if c > bc:
            best, bc = k, c
    return best, bc


@program(lambda r: (r.integers(0, 10, 12),))
def counted_if(nums):
    counts = {}
    for x in nums:
        if x in counts:
            counts[x] += 1
        else:
            counts[x] = 1
    return max(counts, key=counts.get), max(counts.values()), len(counts)


@program(lambda r: (r.integers(0, 10, 12),))
def default_dict(nums):
    d = defaultdict(int)
    for i, x in enumerate(nums):
        d[x] += i
    total = 0
    for k in d:
        total += k * d[k]
    return total, sum(d.values())


@program(lambda r: (r.integers(0, 10, 12),))
def counter_lib(nums):
    c = Counter(nums)
    odd = 0
    for k, v in c.items():
        odd += v % 2
    return odd, c[3]


@program(lambda r: (r.integers(1, 50, 12), 40))
def two_sum(nums, target):
    where = {}
    for i, x in enumerate(nums):
        if target - x in where:
            return where[target - x], i
        where[x] = i
    return -1, -1


@program(lambda r: (r.integers(0, 4, (20, 2)),))
def positions(moves):
    visited = {(0, 0)}
    x = y = 0
    for dx, dy in moves:
        x += dx - 2
        y += dy - 1
        visited.add((x, y))
    return len(visited)


@program(lambda r: (r.integers(0, 9, 10), r.integers(0, 9, 10)))
def set_ops(a, b):
    s = set(a)
    t = set(b)
    u = s & t
    v = s | t
    w = s - t
    return len(u), sum(v), max(w) if w else -1, len(s ^ t), s <= t


@program(lambda r: (r.integers(0, 9, 10),))
def distinct(a):
    return len(set(a)) == len(a), len(set(a))


@program(lambda r: (r.integers(0, 9, 10),))
def sorted_set(a):
    n = 0
    for x in sorted(set(a)):
        n = n * 10 + x
    return n


@program(lambda r: (r.integers(1, 30, 12),))
def consecutive(nums):
    s = set(nums)
    best = 0
    for x in nums:
        if x - 1 not in s:
            n = 1
            while x + n in s:
                n += 1
            best = max(best, n)
    return best


@program(lambda r: (np.array([19]),))
def happy(a):
    n = a[0]
    seen = set()
    while n != 1 and n not in seen:
        loopsat.assume(len(seen) <= 60)
        seen.add(n)
        t = 0
        while n > 0:
            t += (n % 10) ** 2
            n //= 10
        n = t
    return n == 1


@program(lambda r: (r.integers(0, 6, 9),))
def normalized(a):
    w = {}
    for x in a:
        w[x] = w.get(x, 0.0) + 1.0
    total = sum(w.values())
    for k in w:
        w[k] /= total
    for k in w:
        w[k] = w[k] * 2
    s = 0.0
    for k, v in w.items():
        s += k * v
    return s


@program(lambda r: (r.integers(0, 6, 9),))
def removed(a):
    s = set(range(6))
    for x in a:
        s.discard(x)
    d = {x: x * x for x in a}
    d.pop(a[0])
    if a[1] in d:
        del d[a[1]]
    return len(s), len(d)


@program(lambda r: (r.integers(0, 6, 9),))
def inplace_ops(a):
    s = {1, 2}
    s |= {3, 4}
    s.update(a)
    s = s - {1}
    s &= {2, 3, 4, 5}
    return sum(s), 3 in s, {1, 2} == {2, 1}


@program(lambda r: (r.integers(0, 9, (9, 9)),))
def valid_sudoku(board):
    for i in range(9):
        row = set()
        col = set()
        for j in range(9):
            v = board[i, j]
            if v:
                if v in row:
                    return False
                row.add(v)
            w = board[j, i]
            if w and w in col:
                return False
            col.add(w)
    return True


@program(lambda r: (r.integers(97, 107, 20),))
def longest_unique(s):
    last = {}
    start = best = 0
    for i, ch in enumerate(s):
        if ch in last and last[ch] >= start:
            start = last[ch] + 1
        last[ch] = i
        best = max(best, i - start + 1)
    return best


@program(lambda r: (r.integers(0, 5, 12),))
def subarray_sum(nums):
    k = 7
    seen = {0: 1}
    total = res = 0
    for x in nums:
        total += x
        res += seen.get(total - k, 0)
        seen[total] = seen.get(total, 0) + 1
    return res


@program(lambda r: (r.integers(0, 20, 6), r.integers(0, 20, 6)))
def intersect(a, b):
    common = {x for x in a if x in b}
    return sum(x for x in common), len(common)


@program(lambda r: (r.integers(0, 6, 8),))
def setdefaults(a):
    first = {}
    for i, x in enumerate(a):
        first.setdefault(x, i)
    t = 0
    for k in sorted(first):
        t = t * 10 + first[k]
    return t


@program(lambda r: (r.integers(0, 5, 9),))
def annotated(a):
    seen: set[int] = set()
    stack: list[int] = []
    n: int
    n = 0
    for x in a:
        if x in seen:
            stack.append(x)
        seen.add(x)
    while stack:
        n += stack.pop()
    return n


@program(lambda r: (r.integers(0, 6, 9),))
def names_of_comprehensions(a):
    x = 5
    squares = {x: x * x for x in a if x > 1}
    members = {x + y for x in a for y in range(3)}
    for k in squares:
        squares[k] += k
    return x, sum(squares.values()), len(members)


@program(lambda r: (r.integers(0, 3, (9, 2)),))
def tuples_in_lists(pairs):
    found = []
    again = 0
    for a, b in pairs:
        if (a, b) in found:
            again += found.index((a, b))
        else:
            found.append((a, b))
    return again, len(found), found.count((0, 1))


@program(lambda r: (r.integers(0, 6, 9),))
def stored_before_appended(x):
    found = []
    times = []
    for v in x:
        if v in found:
            times[found.index(v)] += 1
        else:
            found.append(v)
            times.append(1)
    most = 0
    for n in times:
        most = max(most, n)
    return most


# Lists of lists that grow ----------------------------------------------------------------------------------------


@program(lambda r: (r.integers(0, 6, (9, 2)),))
def bfs(edges):
    adj = [[] for _ in range(6)]
    for a, b in edges:
        adj[a].append(b)
        adj[b].append(a)
    seen = [False] * 6
    order = 0
    q = [0]
    seen[0] = True
    while q:
        u = q.pop(0)
        order = order * 7 + u
        for v in adj[u]:
            if not seen[v]:
                seen[v] = True
                q.append(v)
    return order


@program(lambda r: (r.integers(0, 6, (9, 2)),))
def degrees(edges):
    n = 6
    adj = [[] for i in range(n)]
    for a, b in edges:
        adj[a].append(b)
    out = np.zeros(n, np.int64)
    for u in range(n):
        out[u] = len(adj[u]) * 100 + sum(v for v in adj[u])
        if 3 in adj[u]:
            out[u] += 10000
        if not adj[u]:
            out[u] = -1
    return out


@program(lambda r: (r.integers(0, 6, (12, 2)), r.random(12)))
def bellman_queue(edges, w):
    n = 6
    graph = [[] for _ in range(n)]
    for (a, b), x in zip(edges, w):
        graph[a].append((b, x))
        graph[b].append((a, x))
    dist = [math.inf] * n
    dist[0] = 0.0
    done = [False] * n
    for _ in range(n):
        u = -1
        for k in range(n):
            if not done[k] and (u < 0 or dist[k] < dist[u]):
                u = k
        done[u] = True
        for v, x in graph[u]:
            if dist[u] + x < dist[v]:
                dist[v] = dist[u] + x
    return min(d for d in dist), sum(d for d in dist if d < 100)


@program(lambda r: (r.integers(0, 5, 20),))
def bucket_sort(a):
    buckets = [[] for _ in range(5)]
    for i, x in enumerate(a):
        buckets[x].append(i)
    out = np.empty_like(a)
    k = 0
    for b in range(5):
        for i in buckets[b]:
            out[k] = i
            k += 1
    return out


@program(lambda r: (r.integers(0, 6, (9, 2)),))
def topo(edges):
    n = 6
    adj = [[] for _ in range(n)]
    indeg = [0] * n
    for a, b in edges:
        if a < b:
            adj[a].append(b)
            indeg[b] += 1
    queue = [u for u in range(n) if indeg[u] == 0]
    order = []
    while queue:
        u = queue.pop()
        order.append(u)
        for v in adj[u]:
            indeg[v] -= 1
            if indeg[v] == 0:
                queue.append(v)
    t = 0
    for u in order:
        t = t * 6 + u
    return t, len(order) == n


@program(lambda r: (r.integers(0, 6, (9, 2)),))
def pagerank(edges):
    n = 6
    out = [[] for _ in range(n)]
    for a, b in edges:
        out[a].append(b)
    r = np.ones(n) / n
    for it in range(10):
        s = np.zeros(n)
        for u in range(n):
            for v in out[u]:
                s[v] += r[u] / len(out[u])
        r = 0.15 / n + 0.85 * s
    return r


@program(lambda r: (r.integers(0, 6, (9, 2)),))
def colors(edges):
    n = 6
    adj = [[] for _ in range(n)]
    for a, b in edges:
        adj[a].append(b)
        adj[b].append(a)
    color = [-1] * n
    for u in range(n):
        used = {color[v] for v in adj[u]}
        c = 0
        while c in used:
            c += 1
        color[u] = c
    return color


@program(lambda r: (r.integers(0, 6, (9, 2)),))
def dfs_depth(edges):
    n = 6
    children = [[] for _ in range(n)]
    for a, b in edges:
        if a < b and b not in children[a]:
            children[a].append(b)
    depth = [0] * n
    for u in range(n - 1, -1, -1):
        for v in children[u]:
            depth[u] = max(depth[u], depth[v] + 1)
            if depth[u] > 2:
                break
    return depth


# Others of lists and None --------------------------------------------------------------------------------------


@program(lambda r: (np.frombuffer(b"((a)[b]{c})]", np.uint8),))
def popped_behind_or(s):
    stack = []
    good = True
    for ch in s:
        if ch == ord("(") or ch == ord("["):
            stack.append(ch)
        elif ch == ord(")"):
            if not stack or stack.pop() != ord("("):
                good = False
        elif ch == ord("]") and (not stack or stack.pop() != ord("[")):
            return len(stack), good, ch
        if stack and stack.pop() == ord("["):
            stack.append(ord("["))
            stack.append(ord("("))
    return len(stack), good, s[0]


@program(lambda r: (r.random((6, 4)),))
def stored_if_any(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        best = None
        for j in range(x.shape[1]):
            if best is None or x[i, j] > x[i, best]:
                best = j
        out[i] = best
    return out


# Queues, loops of itertools, and other words -----------------------------------------------------------------------


@program(lambda r: (r.integers(0, 5, (5, 6)),))
def grid_by_queue(grid):
    n, m = grid.shape
    dist = np.zeros((n, m), dtype=int)
    seen = np.zeros((n, m), dtype=bool)
    seen[0, 0] = True
    q = deque([(0, 0)])
    while q:
        r, c = q.popleft()
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            nr, nc = r + dr, c + dc
            if 0 <= nr < n and 0 <= nc < m and grid[nr, nc] != 0 and not seen[nr, nc]:
                seen[nr, nc] = True
                dist[nr, nc] = dist[r, c] + 1
                q.append((nr, nc))
    return dist


@program(lambda r: (r.random(8),))
def moving_maximum(x):
    q = deque()
    out = np.zeros(len(x))
    for i, v in enumerate(x):
        while q and x[q[-1]] <= v:
            q.pop()
        q.append(i)
        if q[0] <= i - 3:
            q.popleft()
        out[i] = x[q[0]]
    q.appendleft(7)
    return out, q[0], len(q)


@program(lambda r: (r.random(6),))
def nests_of_itertools(x):
    t = np.zeros(5)
    for i, j in itertools.combinations(range(6), 2):
        if i == 1:
            continue
        t[0] += x[i] * x[j]
    for i, j in itertools.product(range(3), range(2)):
        t[1] += x[i] - 2 * x[j]
    for i, j, k in itertools.product(range(2), repeat=3):
        t[2] += i * 4 + j * 2 + k
    for a, b in itertools.pairwise(x):
        t[3] += abs(a - b)
    t[4] = sum(x[i] * x[j] * x[k] for i, j, k in itertools.combinations(range(6), 3) if i + j > 2)
    return t


@program(lambda r: (r.integers(-9, 99, 8),))
def ones_by_text(a):
    out = np.zeros(8, np.int64)
    for i in range(8):
        out[i] = bin(a[i]).count("1") + bin(i).count("1")
    return out


@program(lambda r: (r.integers(0, 9, 12),))
def pairs_matched(a):
    out = np.zeros(12, np.int64)
    for i in range(12):
        match a[i] % 3, a[i] % 2:
            case 0, 0:
                out[i] = 1
            case 0, _:
                out[i] = 2
            case (1 | 2, 1) if a[i] > 4:
                out[i] = 3
            case _:
                out[i] = 4
    return out


@program(lambda r: (r.random(6),))
def floats_in_steps(x):
    return np.arange(6.0) + x, np.arange(0, 1, 0.1), np.arange(0.3, 2.0), np.arange(1, 0, -0.3), np.arange(2.0, 1.0)


@program(lambda r: (r.integers(0, 3, 5), r.integers(0, 3, 6)))
def rows_joined_and_named(a, b):
    n = len(b)
    prev = list(range(n + 1))
    for i in range(1, len(a) + 1):
        cur = [i] + [0] * n
        for j in range(1, n + 1):
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (a[i - 1] != b[j - 1]))
        prev = cur
    return prev[n]


@program(lambda r: (np.sort(r.integers(0, 9, 6)), np.sort(r.integers(0, 9, 5))))
def merged(a, b):
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    while i < len(a):
        out.append(a[i])
        i += 1
    while j < len(b):
        out.append(b[j])
        j += 1
    t = 0
    for v in out:
        t = t * 3 + v
    return t


@program(lambda r: (r.random((6, 3)) - 0.3,))
def rows_changed_by_name(x):
    for row in x:
        n = row.sum()
        if n > 0:
            row /= n
    return x


@program(lambda r: (np.array([-0.5, 0.0, -2.0, 1.0, 3e200]), np.array([-1.0, -1.0, 2.0, -0.0, 4e200])))
def angles(y, x):
    return np.arctan2(y, x), np.hypot(y, x), math.atan2(y[0], x[0]), math.hypot(y[4], x[4])


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.14), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


def by_two_names(x):
    s = set(x)
    t = s
    t.add(1.0)
    return len(s)


def nest_of_unknown_depth(x):
    t = 0.0
    for p in itertools.product(range(2), repeat=len(x)):
        t += x[p[0]]
    return t


def handed_on(x):
    s = set()
    _mark(s, x[0])
    return len(s)


def _mark(s, v):
    s.add(v)


def keys_by_text(x):
    counts = Counter("hello")
    return counts["l"] + x[0]


def changed_in_its_loop(x):
    rows = [[] for _ in range(3)]
    rows[0].append(x[0])
    for v in rows[0]:
        rows[1].append(v)
    return len(rows[1])


REFUSED = [
    (changed_in_its_loop, "that changes in it"),
    (by_two_names, "s.copy()"),
    (nest_of_unknown_depth, "write one loop for each"), (handed_on, "tested by `in`"), (keys_by_text, "np.frombuffer(text"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_is_refused_says_what_to_write(function: Any, text: str) -> None:
    check_refused(function, text)
