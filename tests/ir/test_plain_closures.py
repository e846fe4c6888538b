"""Functions within plain functions that change what these have, what they import, and lists whose items change."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(6) - 0.4,)


def W(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.integers(-2, 3, 8),)


# Functions that change what the one around them has -----------------------------------------------------------------


@program(V)
def collected(x):
    out = []

    def visit(v):
        if v > 0:
            out.append(v * 2)

    for v in x:
        visit(v)
    return np.array(out)


@program(V)
def numbers_of_outside(x):
    total, count = 0.0, 0

    def add(v, by=1):
        """Adds one."""
        nonlocal total, count
        total += v
        count += by

    for v in x:
        if v > 0:
            add(v)
    add(2.0, by=3)
    return total, count


@program(V)
def results_of_calls(x):
    state = 12345

    def rand():
        nonlocal state
        state = (1103515245 * state + 12345) % 2147483648
        return state / 2147483648

    y = x.copy()
    for i in range(len(x)):
        y[i] = x[i] * 2 + rand()
        if rand() < 0.5:
            y[i] -= 1.0
    return y


@program(W)
def remembered(a):
    seen, hits = {}, 0

    def f(v, k=2):
        nonlocal hits
        if v in seen:
            hits += 1
            return seen[v]
        found = v * k + 1
        seen[v] = found
        return found

    total = 0
    for v in a:
        total += f(v)
    return total, hits, len(seen)


@program(W)
def left_early(a):
    log = []

    def find(v):
        for k in range(len(a)):
            for j in range(2):
                if a[k] + j == v:
                    log.append(k)
                    return k
        return -1

    one, other = find(2), 7
    other = find(100)
    if find(a[4]) == 4:
        one += 100
    return one, other, len(log)


@program(W)
def calls_of_calls(a):
    n, out = 0, []

    def inc():
        nonlocal n
        n += 1

    def add(v):
        inc()
        if v > 0:
            inc()
        out.append(v + n)

    for v in a:
        add(v)
    return np.array(out), n


@program(lambda r: (r.integers(0, 3, (4, 5)),))
def flooded(G):
    n, m = G.shape
    seen = np.zeros((n, m), bool)
    queue = deque()

    def push(i, j, d):
        if i < 0 or j < 0 or i >= n or j >= m:
            return
        if seen[i, j] or G[i, j] == 0:
            return
        seen[i, j] = True
        queue.append((i, j, d))

    push(0, 1, 0)
    far = 0
    while queue:
        i, j, d = queue.popleft()
        far = max(far, d)
        push(i + 1, j, d + 1)
        push(i - 1, j, d + 1)
        push(i, j + 1, d + 1)
        push(i, j - 1, d + 1)
    return far, seen


@program(W)
def called_where_conditions_are(a):
    n, log = 0, []

    def inc(by):
        nonlocal n
        n += by
        log.append(by)
        return n + 1

    total = 0
    for v in a:
        match v:
            case 0:
                inc(100)
            case 1:
                total += v + inc(1)
            case _:
                pass
        with np.errstate(all="ignore"):
            total = total * 2
            inc(3)
        if inc(0) > 200 and v > 0:
            total -= 1
        elif inc(7) < 150:
            total += 1
    return n, total, len(log)


@program(W)
def own_names_stay(a):
    v, n = 5, 0

    def add(w):
        nonlocal n
        v = w + 1
        n += v

    for w in a:
        add(w)
    return v, n


@program(W)
def filled_by_another(a):
    def add_to(out, v):
        out.append(v * 2)

    found = []
    for v in a:
        if v > 0:
            add_to(found, v)
    return np.array(found)


# Imports ------------------------------------------------------------------------------------------------------------


@program(V)
def imported(x):
    import math
    from math import pi, sqrt

    s = 0.0
    for v in x:
        s += sqrt(abs(v)) * pi + math.cos(v)
    return s


@program(W)
def imported_heap(a):
    import heapq as hq

    heap = []
    for v in a:
        hq.heappush(heap, v)
    return hq.heappop(heap)


# Items of lists that are stored to ----------------------------------------------------------------------------------


@program(W)
def runs(a):
    out = [[a[0], 1]]
    for v in a[1:]:
        if v == out[-1][0]:
            out[-1][1] += 1
        else:
            out.append([v, 1])
    return len(out), out[-1][1]


@program(lambda r: (np.sort(r.integers(0, 30, (6, 2)), axis=1),))
def merged(intervals):
    found = []
    for it in intervals[np.argsort(intervals[:, 0])]:
        if found and it[0] <= found[-1][1]:
            found[-1][1] = max(found[-1][1], it[1])
        else:
            found.append([it[0], it[1]])
    return np.array(found)


@program(W)
def tops(a):
    stack, best = [[0, 0]], 0
    for v in a:
        if v > 0:
            stack.append([v, 1])
        elif len(stack) > 1:
            t, c = stack.pop()
            stack[-1][1] += c + t
            best = max(best, stack[-1][1])
    return best, len(stack)


@program(W)
def halves(a):
    out = []
    for v in a:
        if v > 0:
            out.append([v, 0])
    for row in out:
        row[1] = row[0] / 2
    return np.array(out)


@program(lambda r: (np.sort(r.integers(0, 9, 4)), np.sort(r.integers(0, 9, 3))))
def merged_in_order(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out += [v + 0 for v in a[i:]]
    out += list(b[j:])
    return out


@program(W)
def as_they_were(a):
    b, k = a.copy(), 0
    for v in list(b):
        b[(k + 3) % 8] = v + 1
        k += 1
    for v in (b * 2).tolist():
        k += v
    return b, k


@program(lambda r: (r.random((4, 8)),))
def halved(A):
    y = A
    for _ in range(3):
        y = y[:, ::2] + y[:, 1::2]
    z = A
    for _ in range(2):
        z = z[::2] - z[1::2]
    return y, z


@program(V)
def texts(x):
    text = "ab" * 2 + "x"
    n = 0
    for ch in text[::-1]:
        n = n * 3 + ord(ch)
    for one, other in zip(text, text[1:] + " ", strict=True):
        n += one == other
    return n + x[0], text.index("x") + text.upper().count("A") + len(text.split("b"))


# Functions for each element, and others of NumPy --------------------------------------------------------------------


def clamped(v, low):
    return low if v < low else v


each_clamped = np.vectorize(clamped)
each_squared = np.vectorize(lambda v: v * v, otypes=[np.float32])


@program(V)
def vectorized(x):
    def f(v):
        return v * v if v > 0 else -v

    g = np.vectorize(f)
    A = x.reshape(2, 3)
    return g(x), g(A), g(2.0), each_clamped(A, np.arange(3.0) / 5), each_clamped(x, 0.1), each_squared(x)


@program(V)
def parted(x):
    A = x.reshape(2, 3)
    return np.partition(x, 3)[3], np.sort(np.argpartition(x, 4)[:4]), np.partition(A, 1, axis=0)[1]


@program(V)
def interpolated(x):
    places = np.linspace(0, 1, 6)
    return (
        np.interp(2.0, places, x, right=-1),
        np.interp(1.0, places, x, right=-1),
        np.interp([[0.1, 1.0], [-0.5, 7]], places, x, left=-9, right=5),
    )


@program(lambda r: (np.array(2.5), r.random(6)))
def without_dimensions(a, x):
    y, s = np.empty_like(x), np.zeros(2)
    x.clip(0.2, 0.5, out=y)
    x.reshape(2, 3).sum(axis=1, out=s)
    return a * 2, a.ndim, a.size, y, s


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.5), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_do_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


def calls_itself(x):
    n = 0

    def step(k):
        nonlocal n
        n += 1
        if x[k] > 0:
            step(k + 1)

    step(0)
    return n


def called_in_chains(x):
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    y = 1 if 0 < x[0] < inc() else 2
    return y, n


def called_beside_a_reader(x):
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    def seen():
        return n * 10

    y = seen() + inc()
    return y + x[0]


def given_away(x):
    out = []

    def visit(v):
        out.append(v)

    def each(f):
        for v in x:
            f(v)

    each(visit)
    return np.array(out)


def named_item(x):
    out, item = [[0.0, 1.0]], [2.0, 3.0]
    for v in x:
        if v > 0:
            out.append(item)
    out[-1][1] = 5.0
    return item[1]


def no_module(x):
    import no_such_module

    return no_such_module.f(x)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (calls_itself, "nonlocal"),
        (called_in_chains, "nonlocal"),
        (called_beside_a_reader, "nonlocal"),
        (given_away, "append"),
        (named_item, "out.append([*item])"),
        (no_module, "module"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(function: Any, text: str) -> None:
    check_refused(function, text)
