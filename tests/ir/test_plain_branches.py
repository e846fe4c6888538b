"""Names that stand for other arrays after branches, and loops that run until data say that they end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(6),)


@program(V)
def swaps_sometimes(x):
    y = np.zeros_like(x)
    for t in range(3):
        if x[0] > 0.3 * t:
            x, y = y, x
            y = y + 1
        if y[1] > 1.5:
            break
        x, y = y, x
    return x


@program(V)
def the_greater_one(x):
    best = x[:3].copy()
    for k in range(3):
        new = x[k : k + 3] * 1.5
        best = new if new[1] > best[1] else best
    rows = (best if best[0] > 0.5 else x[3:]).copy()
    rows[0] = 2
    return rows, best, x * 1


@program(V)
def converges(x):
    for step in range(9):
        new = np.empty_like(x)
        for i in range(6):
            new[i] = 0.5 * x[i] + 0.1
        moved = np.abs(new - x).sum()
        x = new
        if moved < 0.1:
            break
    return x, step


@program(V)
def best_row(x):
    best = None
    rows = x.reshape(2, 3)
    top = rows[0].copy()
    for row in rows:
        if row.sum() > top.sum():
            top = row * 1
            best = row[0]
        top[0] -= 0.25
    return top, best is None


@program(V)
def given_first_by_branches(x):
    if x[0] > 0.9:
        y = np.zeros(6)
    elif x[0] > 0.4:
        y = x * 2
        y[1] = 3
    else:
        y = x[::-1]
    return y + 1


def first_above(x, limit):
    for k in range(2):
        if x[k] > limit:
            return x[k : k + 2]
    return np.zeros(2)


@program(V)
def returned_early(x):
    total = np.zeros(2)
    for k in range(3):
        total = total + first_above(x, 0.3 * k)
    if total[0] > 1:
        return total, x
    for k in range(6):
        x = x + total[1]
        if x[k] > 1:
            return total * x[k], x
    return total, -x


@program(lambda r: (r.integers(1, 30, 6),))
def steps_to_one(x):
    steps = np.zeros(6, np.int64)
    for k in range(6):
        c = x[k]
        while c != 1:
            c = c // 2 if c % 2 == 0 else 3 * c + 1
            steps[k] += 1
    return steps


@program(lambda r: (r.random((3, 3)) / 9, r.random(3)))
def settles(M, b):
    x = np.zeros(3)
    step = 0
    while np.abs(M @ x + b - x).max() > 1e-9:
        new = np.zeros(3)
        for i in range(3):
            new[i] = b[i] + M[i] @ x
        x = new
        step += 1
    return x, step


def root(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@program(lambda r: (r.integers(0, 6, (8, 2)),))
def components(pairs):
    parent = np.arange(6)
    for a, b in pairs:
        ra = root(parent, a)
        rb = root(parent, b)
        if ra != rb:
            parent[ra] = rb
    return parent


@program(lambda r: (r.random((4, 4)) < 0.6,))
def filled(free):
    seen = np.zeros((4, 4), np.int64)
    stack = np.zeros((65, 2), np.int64)
    top = 1
    while top > 0:
        top -= 1
        y, x = stack[top]
        if not (0 <= y < 4 and 0 <= x < 4) or seen[y, x] > 0 or not free[y, x]:
            continue
        seen[y, x] = 1
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            stack[top] = y + dy, x + dx
            top += 1
    return seen


def two_of_one(x):
    y = x * 2
    z = y
    if x[0] > 0.5:
        y = x + 1
    z[0] = 1
    return y, z


def row_of_what_changes(x):
    rows = (x * 1).reshape(2, 3)
    best = rows[0]
    for i in range(2):
        best = rows[i]
    rows[:] = 7
    return best


def two_copies(x):
    y = x * 2
    z = y
    for _ in range(2):
        if y[1] > 1:
            z[2] = 7
        else:
            y = x * 2
            z = x + 1
    return y, z


def returned_by_a_function(x):
    y = x * 2
    z = same_or_not(y)
    y[0] = 3
    return z


def same_or_not(x):
    if x[0] > 0.5:
        return x
    return x + 1


@program(lambda r: (r.integers(0, 5, 8), 3))
def numbers_that_decide(a, k):
    total, most = 0, a[0] or k
    for x in a:
        total += (x or k) * 2 + (x and k and 2.5)
        most = x > most and x or most
    return total, most, 0.0 or k, k and 4.5


@program(lambda r: (r.integers(0, 9, 10), 5))
def left_or_not(a, limit):
    for i in range(len(a)):
        if a[i] > limit:
            at, v = i, a[i]
            break
    else:
        at, v = -1, 0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] + a[j] == 9:
                break
        else:
            continue
        break
    else:
        return at, v, -1, -1
    return at, v, i, j


@program(V)
def pairs_by_condition(x):
    low, high = (x[0], x[1]) if x[0] < x[1] else (x[1], x[0])
    for v in x:
        low, high = (v, high) if v < low else (low, v) if v > high else (low, high)
    return low, high


@program(lambda r: (r.integers(0, 4, 7),))
def letters(a):
    s = np.empty(len(a), np.uint8)
    n, bits = 0, 0
    for i, k in enumerate(a):
        s[i] = b"ACGT"[k]
        n += 1 if s[i] in b"CG" else 0
        bits += int(k + 9 * i).bit_length() + k.bit_count() + i.bit_count()
    return s, n, bits, np.frombuffer(b"zz", dtype=np.uint8)


@program(lambda r: (r.random((3, 3)), np.array([True, False, True])))
def rows_where_truths_say(A, m):
    B = A.copy()
    A[m] = 0.5
    B[~m] *= 2.0
    B[m, 1] *= -1
    B[B[:, 0] > 0.3, 1:] += 1
    return A, B, B[m, 0].sum(), B[~m, 1].max()


def perhaps_assigned(x):
    for v in x:
        if v > 0.5:
            y = x * v
    return y


def of_two_sizes(x):
    if x[0] > 0.5:
        return x[:2]
    return x


def one_of_two(x):
    y = x * 2
    z = x if x[0] > 0.5 else y
    z[0] = 3
    return z, x, y


def one_of_two_before_a_change(x):
    z = x if x[0] > 0.5 else x + 1
    x[0] = 3
    return z, x


@program(lambda r: (r.random(7), 3))
def shorter_and_longer(x, n):
    d, s, table, poly = x, 0.0, [x[0]], np.array([1.0])
    for k in range(n):
        for _ in range(2):
            d = d[1:] - 0.5 * d[:-1]
        s += d.sum() + len(d)
        table.append(d[0])
    for v in x[:3]:
        poly = np.convolve(poly, np.array([1.0, -v]))
    rows = np.zeros((2, 3))
    for k in range(n):
        rows = np.concatenate((rows, np.full((1, 3), k)), axis=0)
    return d, s, np.array(table), poly, rows, d.shape[0]


@program(lambda r: (100.0, 90.0, 4))
def tree(price, strike, n):
    s = price * 1.1 ** np.arange(-n, n + 1, 2)
    v = np.maximum(s - strike, 0)
    w = np.zeros(2 * n + 1)
    for _ in range(n):
        s = s[:-1] * 1.1
        v = np.maximum(0.99 * (0.5 * v[1:] + 0.5 * v[:-1]), s - strike)
    for k in range(n - 1, -1, -1):
        new = np.empty(2 * k + 1)
        for j in range(2 * k + 1):
            new[j] = w[j] + w[j + 2] + j
        w = new
    return v[0], s, w


@program(lambda r: (r.random((8, 8)), r.random(5)))
def of_other_sizes_each_time(image, x):
    sizes, totals = 0, []
    for level in range(3):
        image = (image[::2, ::2] + image[1::2, 1::2]) / 2
        totals.append(image.sum() * level)
    for _ in range(6):
        x = x[1:]
        sizes += len(x)
    power = np.eye(1)
    for _ in range(2):
        power = np.kron(power, np.array([[1.0, 2.0], [0.5, 1.0]]))
    return image, np.array(totals), sizes, x.sum(), power


def left_with_nothing(x):
    d = np.zeros(70)
    for _ in range(100):
        d = d[1:]
    return d


def shorter_until(x):
    d = x
    for _ in range(3):
        d = d[1:] + 1
        if d[0] > 0.5:
            break
    return d


def sometimes_none(x):
    for k in range(len(x)):
        if x[k] > 0.5:
            return k
    return None


def returned_early_too(x):
    d = x.copy()
    e = d
    for k in range(3):
        if x[k] > 0.5:
            d = x
            return d, e
    d += 1
    return d, e


REFUSED = [
    (returned_early_too, "an array that `d` may stand for"),
    (sometimes_none, "a number that stands for none"),
    (left_with_nothing, "nothing is left of `d`"), (shorter_until, "`d` stands for arrays of different kinds"),
    (one_of_two, "an array that `z` may stand for"), (one_of_two_before_a_change, "as in z = x.copy()"),
    (two_of_one, "an array that `y` may stand for"), (row_of_what_changes, "as in best = x.copy()"),
    (two_copies, "that other names may stand for"), (returned_by_a_function, "as in return x.copy()"),
    (perhaps_assigned, "`y` may be read before it is assigned"), (of_two_sizes, "what is returned stands for arrays"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_copies_would_tell_is_refused(function: Any, text: str) -> None:
    check_refused(function, text)


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.5), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)
