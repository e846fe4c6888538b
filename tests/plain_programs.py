"""Plain Python functions as people write them for numba and in NPBench, each with arguments; NumPy runs them too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import loopsat
from loopsat import bound

PROGRAMS: list[tuple[Callable[..., Any], Callable[[np.random.Generator], tuple[Any, ...]]]] = []


def program(arguments: Callable[[np.random.Generator], tuple[Any, ...]]) -> Callable[[Any], Any]:
    """Keep a function with what it is called with."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, arguments))
        return function

    return keep


@program(lambda r: (r.random((5, 6)), r.random((6, 4))))
def matmul(A, B):
    n, m = A.shape
    p = B.shape[1]
    C = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            total = 0.0
            for k in range(m):
                total += A[i, k] * B[k, j]
            C[i, j] = total
    return C


@program(lambda r: (r.random((6, 7)).astype("f4"), 3))
def jacobi(A, steps):
    B = A.copy()
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = B[1:-1, 1:-1]
    return A


@program(lambda r: (-2.0, 0.5, -1.2, 1.2, 6, 5, 20))
def mandelbrot(left, right, low, high, width, height, limit):
    out = np.empty((height, width), np.int32)
    for y in range(height):
        for x in range(width):
            cr = left + (right - left) * x / width
            ci = low + (high - low) * y / height
            zr, zi = 0.0, 0.0
            count = 0
            for _ in range(limit):
                if zr * zr + zi * zi > 4.0:
                    break
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                count += 1
            out[y, x] = count
    return out


@program(lambda r: (r.random(40) * 9.9, 10))
def histogram(values, bins):
    counts = np.zeros(bins, np.int64)
    for v in values:
        counts[int(v)] += 1
    return counts


@program(lambda r: (r.integers(0, 3, 9), r.integers(0, 3, 7)))
def edit_distance(a, b):
    D = np.empty((len(a) + 1, len(b) + 1), np.int32)
    for i in range(len(a) + 1):
        D[i, 0] = i
    D[0, :] = np.zeros(len(b) + 1, np.int32)
    for j in range(1, len(b) + 1):
        D[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return D[-1, -1]


def distance(x, y):
    total = 0.0
    for d in range(len(x)):
        total += (x[d] - y[d]) ** 2
    return math.sqrt(total)


@program(lambda r: (r.random((6, 3)), r.random((4, 3))))
def nearest(points, centres):
    labels = np.zeros(len(points), np.int64)
    best = np.full(len(points), np.inf)
    for i in range(len(points)):
        for c in range(len(centres)):
            d = distance(points[i], centres[c])
            if d < best[i]:
                best[i] = d
                labels[i] = c
    return labels, best


@program(lambda r: (r.random((5, 5)) + 5 * np.eye(5),))
def lu(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]


@program(lambda r: (r.random((4, 6)).astype("f4"),))
def softmax(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        shifted = np.exp(x[i] - np.max(x[i]))
        out[i] = shifted / np.sum(shifted)
    return out


@program(lambda r: (r.integers(0, 2, (7, 8)).astype("i4"),))
def life(board):
    n, m = board.shape
    new = np.zeros_like(board)
    for i in range(n):
        for j in range(m):
            alive = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di == 0 and dj == 0:
                        continue
                    alive += board[(i + di) % n, (j + dj) % m]
            new[i, j] = 1 if alive == 3 or (alive == 2 and board[i, j] == 1) else 0
    return new


@program(lambda r: (np.array([0, 2, 2, 5]), np.array([1, 3, 0, 2, 3]), r.random(5), r.random(4)))
def spmv(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


@program(lambda r: (30,))
def sieve(n):
    prime = np.ones(n, np.bool_)
    prime[:2] = False
    for p in range(2, int(n**0.5) + 1):
        if prime[p]:
            for k in range(p * p, n, p):
                prime[k] = False
    return prime, prime.sum()


@program(lambda r: (r.integers(0, 50, 9).astype("i4"),))
def bubble_sort(A):
    n = len(A)
    for i in range(n):
        for j in range(n - 1 - i):
            if A[j] > A[j + 1]:
                A[j], A[j + 1] = A[j + 1], A[j]


@program(lambda r: (np.sort(r.random(16)), r.random()))
def search(A, x):
    low, high = 0, len(A)
    for _ in range(10):
        if low >= high:
            break
        middle = (low + high) // 2
        if A[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def force(dx, dy, mass):
    d2 = dx * dx + dy * dy + 0.01
    s = mass / (d2 * math.sqrt(d2))
    return dx * s, dy * s


@program(lambda r: (r.random((5, 2)), r.random((5, 2)), r.random(5), 0.01, 4))
def nbody(p, v, mass, dt, steps):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            ax = 0.0
            ay = 0.0
            for j in range(n):
                if i != j:
                    fx, fy = force(p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], mass[j])
                    ax += fx
                    ay += fy
            v[i, 0] += dt * ax
            v[i, 1] += dt * ay
        p += dt * v
    return p, v


@program(lambda r: (r.random((9, 8)), r.random((3, 3))))
def convolve(image, kernel):
    h, w = kernel.shape
    out = np.zeros_like(image)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for ky in range(h):
                for kx in range(w):
                    sy, sx = y + ky - h // 2, x + kx - w // 2
                    if 0 <= sy < image.shape[0] and 0 <= sx < image.shape[1]:
                        out[y, x] += image[sy, sx] * kernel[ky, kx]
    return out


@program(lambda r: (r.normal(size=20), 0.4))
def first_above(A, limit):
    for i in range(len(A)):
        if A[i] > limit:
            return i, A[i]
    return -1, 0.0


@program(lambda r: (r.random(12).astype("f4"), 3))
def moving_average(x, width):
    out = np.empty(len(x) - width + 1, x.dtype)
    total = x[:width].sum()
    out[0] = total / width
    for i in range(1, len(out)):
        total += x[i + width - 1] - x[i - 1]
        out[i] = total / width
    return out


@program(lambda r: (r.integers(1, 20, (5, 5)).astype("i4"),))
def floyd_warshall(path):
    for k in range(len(path)):
        for i in range(len(path)):
            for j in range(len(path)):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    return path


@program(lambda r: (r.random(9), r.random(9)))
def inside_circle(x, y):
    hits = 0
    for i in range(len(x)):
        hits += x[i] * x[i] + y[i] * y[i] <= 1.0
    return 4.0 * hits / len(x)


@program(lambda r: (r.random((4, 5)),))
def columns_backwards(A):
    total = np.zeros(A.shape[1])
    row = A[-1]
    for j in range(A.shape[1] - 1, -1, -1):
        for i in range(0, A.shape[0], 2):
            total[j] += A[i, j] * row[j - 1]
    A[:, 0] = 1
    A.T[1] *= 2
    return total, A


@program(lambda r: (r.random(9), r.random(7)))
def weighted_differences(x, w):
    total = 0.0
    for i, (a, b) in enumerate(zip(x, w), 1):
        total += i * (a - b) ** 2
    return total


@program(lambda r: (r.random(8),))
def insertion_sort(x):
    for i in range(1, len(x)):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value
    return x


@program(lambda r: (r.random(7) * 100,))
def newton(a):
    roots = np.empty_like(a)
    for i in range(len(a)):
        x = a[i]
        while abs(x * x - a[i]) > 1e-9 * a[i]:
            loopsat.bound(60)
            x = 0.5 * (x + a[i] / x)
        roots[i] = x
    return roots


@program(lambda r: (r.integers(0, 90, 9), r.integers(0, 90, 9)))
def common_divisors(A, B):
    out = np.empty_like(A)
    for i in range(len(A)):
        a, b = A[i], B[i]
        while b:
            bound(90)
            a, b = b, a % b
        out[i] = a
    return out


@program(lambda r: (27, 200))
def hailstones(n, limit):
    steps = 0
    while True:
        loopsat.bound(limit)
        if n == 1:
            return steps
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1


@program(lambda r: (12,))
def left_early(n):
    count = 0
    while n > 0:
        bound(20)
        m = n
        while m > 0:
            bound(20)
            if m == 3:
                break
            m -= 2
            count += 1
        if count > 30:
            return count, n
        n -= 1
    return count, n


@program(lambda r: (r.normal(size=(4, 5)), r.normal(size=(5, 3))))
def products_of_sums(A, B):
    n, m, k = A.shape[0], A.shape[1], B.shape[1]
    C = np.array([[sum(A[i, l] * B[l, j] for l in range(m)) for j in range(k)] for i in range(n)])
    norm = math.sqrt(sum(A[i, j] ** 2 for i in range(n) for j in range(m) if A[i, j] > 0.2))
    return C, norm, max(abs(a - b) for a, b in zip(A[0], A[1]))


@program(lambda r: (r.integers(0, 5, 12),))
def first_seen(A):
    repeated = np.zeros(len(A), np.bool_)
    for i in range(len(A)):
        if i > 0 and any(A[j] == A[i] for j in range(i)):
            repeated[i] = True
    large = len([a for a in A if a > 2])
    return repeated, large, max((a for a in A if a > 3), default=-1), min(int(a) for a in A)


@program(lambda r: (r.integers(0, 2, (4, 4)),))
def symmetric(A):
    same = all(all(A[i, j] == A[j, i] for j in range(i)) for i in range(len(A)))
    return same, any(any(7 // (a + 1) > 6 and b == 1 for b in A[:, 0]) for a in A[0])


@program(lambda r: (r.random(8), np.float64(r.random() - 0.5)))
def names_of_their_own(A, x):
    i = 5
    total = sum(A[i] for i in range(3)) if x > 0 else math.prod(A[k] for k in range(1, 4))
    A[:3] = [A[k] + i for k in range(3, 6)]
    flat = np.array([A[i] * w for i in range(2, 5) for w in (1.0, 2.0)])
    return total + i, A, flat, np.mean([a * a for a in A]), (A > 0.5).any(), np.all(A > -1.0)
