"""Plain functions that use what NumPy offers beside loops, as in NPBench; NumPy runs them too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from plain_runs import Programs, check, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)
STEPS = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(6),)


@program(lambda r: (r.integers(0, 255, 9),))
def popcounts(values):
    out = np.zeros(len(values), np.int64)
    for i in range(len(values)):
        v = values[i]
        while v:
            v &= v - 1
            out[i] += 1
    return out


@program(lambda r: (r.random(6),))
def inner_function(x):
    def sq(v):
        return v * v

    s = 0.0
    for i in range(len(x)):
        s += sq(x[i])
    return s


@program(lambda r: (r.random(6), 0.3))
def lambda_closure(x, a):
    f = lambda t: a * t + 1.0
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = f(x[i])
    return out


@program(lambda r: (r.random(6),))
def stored_by_out(x):
    z = np.zeros((2, 6))
    np.multiply(x, 2, out=x)
    np.maximum(x[1:], 0.9, out=x[:-1])
    np.add(x, 1, out=z[1])
    np.sum(z, axis=0, out=z[0])
    np.exp(0.5, out=z[1, 2:])
    return x, z


@program(lambda r: (r.random(6),))
def walrus(x):
    n = 0
    for i in range(len(x)):
        if (d := x[i] - 0.5) > 0:
            n += 1
            x[i] = d
    return x, n


@program(lambda r: (r.random(6),))
def helper_kw(x):
    return scaled(x, by=3.0)


def scaled(x, *, by=2.0, shift=1.0):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * by + shift
    return out


@program(lambda r: (r.random((6, 5)),))
def masked_mean(A):
    m = A > 0.5
    return A[m].mean(), np.sum(A[m]), A[m].max(), A[m].size, len(A[m])


@program(lambda r: (r.random(12),))
def sorted_median(x):
    y = np.sort(x)
    n = len(y)
    return 0.5 * (y[n // 2 - 1] + y[n // 2])


@program(lambda r: (r.random(9),))
def sorted_in_place(x):
    x.sort()
    return x


@program(lambda r: (r.random(9),))
def argsorted(x):
    return np.argsort(x)


@program(lambda r: (r.integers(0, 5, 20),))
def counts(x):
    return np.bincount(x, minlength=5)


@program(lambda r: (r.random(7) * 3, np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 5.0, 2.0, 7.0])))
def interpolated(x, xp, fp):
    return np.interp(x, xp, fp)


@program(lambda r: (r.random(4), r.random(3)))
def mesh(x, y):
    X, Y = np.meshgrid(x, y)
    return np.sin(X) * np.cos(Y)


@program(lambda r: (r.random(20), r.integers(0, 5, 20)))
def azimint(data, radius):
    res = np.zeros(5)
    for i in range(5):
        mask = np.logical_and(radius >= i, radius < i + 1)
        res[i] = data[mask].mean()
    return res


@program(lambda r: (r.random((6, 4)),))
def covariance(data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((4, 4))
    for i in range(4):
        cov[i:4, i] = cov[i, i:4] = data[:, i] @ data[:, i:4] / (data.shape[0] - 1.0)
    return cov, data


@program(lambda r: (r.random(8),))
def durbin(r_):
    y = np.empty_like(r_)
    alpha = -r_[0]
    beta = 1.0
    y[0] = -r_[0]
    for k in range(1, r_.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r_[k] + np.dot(np.flip(r_[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@program(lambda r: (2.5,))
def simpson(b):
    f = lambda x: math.exp(-x * x)
    n = 100
    h = b / n
    s = f(0.0) + f(b)
    for i in range(1, n):
        s += (4 if i % 2 else 2) * f(i * h)
    return s * h / 3


@program(lambda r: (1.0,))
def bisect(c):
    def f(x):
        return x**3 - x - c

    lo, hi = 1.0, 2.0
    for _ in range(50):
        mid = (lo + hi) / 2
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
    return (lo + hi) / 2


@program(lambda r: (np.array([1.0, 0.0]), 0.01, 100))
def rk4(y, h, n):
    def rhs(v):
        return np.array([v[1], -v[0]])

    for _ in range(n):
        k1 = rhs(y)
        k2 = rhs(y + 0.5 * h * k1)
        k3 = rhs(y + 0.5 * h * k2)
        k4 = rhs(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(lambda r: (r.random((3, 4)),))
def flat_loop(A):
    s = 0.0
    for v in A.flat:
        s += v
    for v in A.ravel():
        s += v
    return s


@program(lambda r: (r.random((4, 3)), r.random((3, 5))))
def einsummed(A, B):
    return np.einsum("ij,jk->ik", A, B)


@program(lambda r: (r.random(6), r.random(6)))
def cross_corr(x, y):
    return np.convolve(x, y), np.correlate(x, y)


@program(lambda r: (r.random(3), r.random(3)))
def crossed(x, y):
    return np.cross(x, y), np.inner(x, y), np.vdot(x, y)


@program(lambda r: (r.random(5),))
def searchsorted(x):
    g = np.linspace(0, 1, 11)
    return np.searchsorted(g, x)


@program(lambda r: (r.random(5),))
def polyval(x):
    return np.polyval([1.0, 2.0, 3.0], x), np.exp(x).sum(), np.isclose(x, x).all(), np.allclose(x, x)


@program(lambda r: (r.random((8, 2)), r.random((3, 2))))
def kmeans_numpy(X, C):
    labels = np.zeros(len(X), np.int64)
    for i in range(len(X)):
        labels[i] = np.argmin(((X[i] - C) ** 2).sum(axis=1))
    new = np.zeros_like(C)
    for k in range(len(C)):
        if (labels == k).any():
            new[k] = X[labels == k].mean(axis=0)
    return labels, new


@program(lambda r: (r.random(9) - 0.5,))
def relu_mask(x):
    y = np.zeros_like(x)
    m = x > 0
    y[m] = np.sqrt(x[m]) * 2
    y[~m] = -1.0
    y[m] += x[m]
    return y


@program(lambda r: (r.random((6, 5)),))
def outliers(A):
    m = np.abs(A - A.mean()) < A.std()
    return A[m].std(), A[m].var(), A[m].min(), np.mean(A[m]), np.prod(A[m]), (A[m] > 0.5).all(), (A[m] * 2 + 1).sum()


@program(lambda r: (r.integers(0, 4, (6,)), r.random((6, 3))))
def group_means(g, X):
    out = np.zeros((4, 3))
    for k in range(4):
        sel = X[g == k]
        if len(sel) > 0:
            out[k] = sel.sum(axis=0) / len(sel)
    return out


@program(lambda r: (r.random(30),))
def hist(x):
    h, e = np.histogram(x, 10, (0.0, 1.0))
    return h, e


@program(lambda r: (r.random(30), r.random(30), 5))
def weighted_hist(x, w, n):
    return np.histogram(x, n, weights=w)[0] / np.histogram(x, n)[0], np.histogram(x, n, (0.0, 1.0), True, w)[0]


@program(lambda r: (r.random((3, 2, 4)), 3, 8))
def rows_of_a_size_that_is_given(x, n, m):
    rows = np.ndarray((n, m), dtype=x.dtype)
    rows[:] = np.reshape(x, (n, m)) * 2
    return rows, x.reshape(n * 2, 4)


@program(lambda r: (r.random(7), r.random(3)))
def convs(x, k):
    return np.convolve(x, k, mode="same"), np.convolve(x, k, "valid"), np.correlate(x, k, "full"), np.correlate(x, k)


@program(lambda r: (np.array([3, 1, 4, 1, 5, 9, 2, 6]),))
def fenwick(a):
    n = len(a)
    t = np.zeros(n + 1, np.int64)
    for k in range(n):
        i = k + 1
        while i <= n:
            t[i] += a[k]
            i += i & -i
    out = np.zeros(n, np.int64)
    for k in range(n):
        i = k + 1
        s = 0
        while i > 0:
            s += t[i]
            i -= i & -i
        out[k] = s
    return out


@program(lambda r: (r.integers(0, 2**20, 6),))
def lowbits(a):
    out = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        v = a[i]
        c = 0
        while v:
            b = v & -v
            v ^= b
            c += 1
        out[i] = c
    return out


@program(lambda r: (r.random((6, 6)),))
def lu_slices(A):
    n = len(A)
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A


@program(lambda r: (r.random(10),))
def nested_closures(x):
    a = 2.0

    def outer(v):
        b = v + a

        def inner(w):
            return w * b

        return inner(v) + inner(1.0)

    total = 0.0
    for v in x:
        total += outer(v)
    a = 3.0
    return total + outer(x[0])


@program(lambda r: (r.random(10),))
def higher_order(x):
    def apply(f, v):
        return f(f(v))

    return apply(lambda t: t * t + 0.5, x[2]), apply(np.sqrt, x[3]), apply(math.sin, x[4])


@program(lambda r: (r.random(10),))
def lambda_in_loop(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        g = lambda v, k=i: v * k + i
        for j in range(3):
            out[i] += g(x[j])
    return out


@program(lambda r: (r.random(10),))
def cond_helper(x):
    n = 0
    for i in range(len(x)):
        if x[i] > 0.2 and smooth(x, i) > 0.4:
            n += 1
    return n


def smooth(x, i):
    s = 0.0
    c = 0
    for d in (-1, 0, 1):
        if 0 <= i + d < len(x):
            s += x[i + d]
            c += 1
    return s / c


@program(lambda r: (r.random(10),))
def walrus_while(x):
    i = 0
    s = 0.0
    while i < len(x) and (v := x[i]) < 0.95:
        s += v
        i += 1
    return s, i


@program(lambda r: (r.random(10),))
def walrus_elif(x):
    c = 0.0
    for v in x:
        if (y := v * 2) > 1.5:
            c += y
        elif (z := v * v) > 0.1:
            c -= z
    return c


@program(lambda r: (r.random((3, 4, 5)),))
def einsums(A):
    return np.einsum("ijk->ki", A), np.einsum("ijk,ijl->kl", A, A), np.einsum("ii", A[0, :, :4]), np.einsum("ijk->", A)


@program(lambda r: (r.random((3, 4)),))
def ndindex_star(A):
    out = np.zeros_like(A)
    for i, j in np.ndindex(*A.shape):
        out[i, j] = A[i, j] + i * 10 + j
    for idx in np.ndindex(A.shape):
        out[idx] += A[idx]
    return out


@program(lambda r: (r.random((4, 6)),))
def take_along(A):
    order = np.argsort(A[0])
    return A[:, order], A[0][order], np.take(A[1], order)


@program(lambda r: (r.random(12).reshape(3, 4),))
def method_mix(A):
    return A.reshape(4, 3).T.copy().ravel()[::2], A.flatten().argmax(), A.max(axis=1).argsort(), A.T.dot(A).trace()


@program(lambda r: (r.random((6, 2)), r.integers(0, 9, 8)))
def changing_tuples(points, a):
    best = math.inf
    pair = (0, 0)
    for i in range(len(points)):
        for j in range(i):
            d = math.hypot(points[i, 0] - points[j, 0], points[i, 1] - points[j, 1])
            if d < best:
                best = d
                pair = (i, j)
    state = (0, 1)
    kept = (points[0], 1.0)
    for x in a:
        state = (state[1], state[0] + x)
        if x > 5:
            first, last = state
        else:
            first = last = 0
    kept = (points[1], kept[1] + 1.0)
    return *pair, max(state), first + last, kept[0] * kept[1]


@program(lambda r: (r.random((4, 5)),))
def sums_of_arrays(A):
    turned = sum(np.roll(np.roll(A, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i != 0 or j != 0)
    return sum(A[i] for i in range(4)), sum((A[:, k] for k in range(5)), 1.0), turned, sum(sum(A[i]) for i in range(4))


@program(lambda r: (r.random(30), 29))
def steps_of_slices(x, n):
    sieve = np.ones(n + 1, np.bool_)
    sieve[:2] = False
    for p in range(2, int(math.sqrt(n)) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    total = 0.0
    for s in range(1, 4):
        x[s::s] += s
        total += x[:20:s].sum() * len(x[1::s])
    return sieve, sieve.sum(), x, total


@program(lambda r: (r.random(6), np.array([-9, -7, -6, -5, -1, 0, 1, 4, 6, 9])))
def parts_between_places_of_any_sign(x, places):
    found = np.zeros((len(places), 3))
    y = x.copy()
    for q, k in enumerate(places):
        found[q, 0] = x[k:].sum()
        found[q, 1] = x[1:k:2].sum()
        for j in places:
            found[q, 2] += x[k:j].sum() * len(x[j:k]) - x[j:k].size
        y[k:] += 1
        y[1:k] *= 2
    return found, y


@program(lambda r: (np.frombuffer(b"12,-7,,305", np.uint8),))
def whole_numbers_of_text(text):
    total = 0
    value, sign = 0, 1
    for c in text:
        if ord("0") <= c <= ord("9"):
            value = 10 * value + int(c) - ord("0")
        elif c == ord("-"):
            sign = -1
        else:
            total, value, sign = total + sign * value, 0, 1
    for k in range(4)[::-1]:
        total = total * 2 + k
    return total, sign * value


@program(lambda r: (r.integers(0, 3, 9), r.integers(0, 2, 9)))
def tuples_compared(a, b):
    rising, alike, other = 0, 0, 0
    for i in range(len(a) - 1):
        if (a[i], b[i]) < (a[i + 1], b[i + 1]):
            rising += 1
        if (a[i], (b[i], 1)) == (a[i + 1], (b[i + 1], 1)):
            alike += 1
        if (a[i], b[i]) != (1, 1) and (a[i],) <= (a[i + 1], 0):
            other += 1
    return rising, alike, other, (1, 2) == (1, 2, 3), (1, 2) < (1, 2, 3), (2, 1) >= (1, 5)


@program(lambda r: (r.integers(0, 2, (5, 5)),))
def lists_of_outside(g):
    total = np.zeros_like(g)
    for y in range(5):
        for x in range(5):
            for dy, dx in STEPS:
                if 0 <= y + dy < 5 and 0 <= x + dx < 5:
                    total[y, x] += g[y + dy, x + dx]
    return total


@program(lambda r: (r.integers(0, 255, 9).astype(np.uint8),))
def beyond_a_dtype(x):
    return x < 300, x == -1, 256 > x, x != 1000, x >= -5, -1 > x, np.bincount(x, minlength=256)


@program(lambda r: (r.integers(0, 9, 6),))
def next_permutation(a):
    i = len(a) - 2
    while i >= 0 and a[i] >= a[i + 1]:
        i -= 1
    if i >= 0:
        j = len(a) - 1
        while a[j] <= a[i]:
            j -= 1
        a[i], a[j] = a[j], a[i]
    a[i + 1 :] = a[i + 1 :][::-1]
    return a


@program(lambda r: (r.integers(0, 8, (10, 2)),))
def union_find(edges):
    parent = list(range(8))

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    left = 8
    for a, b in edges:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
            left -= 1
    return left


@program(lambda r: (r.normal(size=9), r.integers(0, 9, 9).astype(np.int16)))
def by_a_function(x, k):
    nearest = min((v for v in x if v > -9), key=lambda v: (v - 1) ** 2)
    return (
        min(range(len(x)), key=lambda i: x[i]),
        max(x, key=abs),
        nearest,
        max(3, 7, 5, key=lambda v: -v),
        min(k, key=abs),
    )


@program(lambda r: (r.normal(size=9), "max"))
def sorted_by_name(x, how):
    if how not in ("sum", "max"):
        return sorted(x)
    return np.array(sorted(x, reverse=True)) if how in ("max",) else x


@program(lambda r: (r.normal(size=(3, 3)), np.array([[0, 2, 1], [3, 0, 1], [4, 5, 6]])))
def of_matrices(a, k):
    b = a @ a.T + np.eye(3)
    roots = np.linalg.cholesky(b), np.linalg.solve(k, a[0]), np.linalg.solve(a, b)
    return roots, np.linalg.inv(a), np.linalg.det(k), np.linalg.det(a), np.linalg.det(0 * a)


@program(lambda r: (r.random((4, 5)),))
def windows(a):
    a = np.concatenate(([0.5] * 5, a[0], (1, 2, 3, 4, 5), np.hstack(([0.25, 1], a[1, :3])))).reshape(4, 5)
    rows = sliding_window_view(a[0], 3), np.lib.stride_tricks.sliding_window_view(a[0], (2,))
    return rows, sliding_window_view(a, (2, 3)).max(axis=(2, 3))


@program(lambda r: (r.random((3, 4)),))
def updates_of_pairs(a):
    np.add.at(a, (np.array([0, 1, 0]), np.array([2, 2, 2])), 1.5)
    np.maximum.at(a, (np.array([0, 1]), 0), a[:2, 1])
    return a, 2**-2, int(a.shape[0]) ** -1


@program(lambda r: (r.random((3, 4)),))
def lists_of_several_items(a):
    xs, ys, sizes = [0.5], [], []
    for row in a:
        xs += [row.max(), row.min()]
        ys.extend([row[0], row[1]])
        ys.append(1.0)
    ys.extend(a[0])
    for k in (1, 2, 3):
        sizes += [k]
    return np.array(xs), np.array(ys), len(xs), np.zeros(sizes[2])


@program(lambda r: (3.0, 5))
def nth_root(a, n):
    x = a
    while True:
        y = ((n - 1) * x + a / x ** (n - 1)) / n
        if abs(x - y) < 1e-12 * abs(x):
            return y
        x = y


@program(lambda r: (r.random((3, 3)),))
def products_of_numbers(a):
    new = a[np.newaxis, :, :] * a[None, 0, np.newaxis]
    return new, math.prod(a[0]), math.prod(a[0], start=2.0), math.prod((2, 3)), math.copysign(3, -a[0, 0])


def BYTES(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.integers(0, 4, 12).astype(np.uint8),)


@program(BYTES)
def bytes_beside_integers_that_do_not_fit_them(x):
    best, last, same, n = -1, -1, 0, 256 + int(x[0])
    for v in x:
        best = max(best, v)
        same += v == last
        last = v
    runs = []
    for k in range(3):
        runs.append((x[k], n - k))
    return int(best) + n, same, np.array(runs), x[0] == n, (x < n).sum(), n in x, min(n, 2 * n if n > 9 else x[0])


@program(lambda r: (r.normal(size=9),))
def selections_without_a_name(x):
    def above(v, low):
        return [a for a in v if a > low]

    n = np.sum([a for a in x if a < 0]) + len(above(x, 0.5))
    return [k for k in range(len(x)) if x[k] > 0], n, sorted([a * a for a in x if a > 0])[:2]


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.15), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)
