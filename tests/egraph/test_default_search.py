"""What a search finds without being told: each case with the program that an expert would write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import parse, to_script
from profiles import some

TABLE = ", ".join((
    'A: T.Buffer((16,), "int32")', 'u: T.Buffer((16,), "uint8")', 't: T.Buffer((256,), "int32")',
    'y: T.Buffer((16,), "int32")',
))  # fmt: skip
VECTOR = 'A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")'


@dataclass(frozen=True)
class Case:
    """Parameters, the lines of a body, and those of the body that the search ends with."""

    params: str
    start: str
    end: str


CASES = {
    "a conjunct that padding makes needless goes, one on data stays": Case(
        'A: T.Buffer((16,), "float32"), S: T.Buffer((16,), "int32"), C: T.Buffer((1,), "float32")',
        """
    for i in range(16):
        T.assume(i < 14 or A[i] == 0.0)
    C[0] = 0.0
    for i in range(16):
        if i < 14 and S[i] < 8:
            C[0] = C[0] + A[i]
""",
        """
    C[0] = 0.0
    for i in T.serial(16):
        if S[i] < 8:
            C[0] = C[0] + A[i]
""",
    ),
    "an arm that leaves anything permits the other one": Case(
        VECTOR,
        """
    for i in range(16):
        if i < 14:
            C[i] = A[i] * 2.0
        else:
            C[i] = T.undef()
""",
        """
    for i in T.serial(16):
        C[i] = A[i] * 2.0
""",
    ),
    "a condition on data that nobody writes leaves the loop": Case(
        'A: T.Buffer((16, 8), "float32"), S: T.Buffer((16,), "int32"), C: T.Buffer((16, 8), "float32")',
        """
    for i, j in T.grid(16, 8):
        if S[i] < 8:
            C[i, j] = A[i, j]
""",
        """
    for i in T.serial(16):
        if S[i] < 8:
            for j in T.serial(8):
                C[i, j] = A[i, j]
""",
    ),
    "arms that are equal up to algebra": Case(
        'C: T.Buffer((16,), "int32"), n: T.int32',
        """
    for i in range(16):
        if i < n:
            C[i] = i * 2 + 2
        else:
            C[i] = (i + 1) * 2
""",
        """
    for i in T.serial(16):
        C[i] = i * 2 + 2
""",
    ),
    "unused parts of a local": Case(
        'A: T.Buffer((1024,), "float32"), C: T.Buffer((3,), "float32")',
        """
    Q = T.alloc_buffer((1024,), "float32")
    for i in range(1024):
        Q[i] = A[i] * 2.0
    for i in range(3):
        C[i] = Q[i]
""",
        """
    for i in T.serial(3):
        C[i] = A[i] * 2.0
""",
    ),
    "a maximum that is decided": Case(
        VECTOR,
        """
    for i in range(16):
        C[i] = A[T.max(i, 0)]
""",
        """
    for i in T.serial(16):
        C[i] = A[i]
""",
    ),
    "equal conditions on data around stores that do not touch them": Case(
        f'{VECTOR}, S: T.Buffer((16,), "int32"), D: T.Buffer((16,), "float32")',
        """
    for i in range(16):
        if S[i] < 8:
            C[i] = A[i]
        if S[i] < 8:
            D[i] = A[i]
""",
        """
    for i in T.serial(16):
        if S[i] < 8:
            C[i] = A[i]
            D[i] = A[i]
""",
    ),
    "an element named by data": Case(
        'A: T.Buffer((8,), "float32"), W: T.Buffer((16,), "float32"), J: T.Buffer((16,), "int32"), '
        'C: T.Buffer((1,), "float32")',
        """
    for i in range(16):
        T.assume(i < 14 or W[i] == 0.0)
        T.assume(J[i] >= 0 and J[i] < 8)
    for k in range(8):
        T.assume(A[k] <= 100.0)
    C[0] = 0.0
    for i in range(16):
        if i < 14:
            C[0] = C[0] + A[J[i]] * W[i]
""",
        """
    C[0] = 0.0
    for i in T.serial(16):
        C[0] = C[0] + A[J[i]] * W[i]
""",
    ),
    "a zero point that is no number": Case(
        'A: T.Buffer((16,), "int32"), C: T.Buffer((1,), "int32"), zero: T.int32',
        """
    T.assume(zero >= 0 and zero < 100)
    for i in range(16):
        T.assume(i < 14 or A[i] == zero)
    C[0] = 0
    for i in range(16):
        if i < 14:
            C[0] = C[0] + (A[i] - zero)
""",
        """
    C[0] = 0
    for i in T.serial(16):
        C[0] = C[0] + (A[i] - zero)
""",
    ),
    "a nest over a layout that nobody needs": Case(
        'A: T.Buffer((14,), "float32"), C: T.Buffer((1,), "float32")',
        """
    C[0] = 0.0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            C[0] = C[0] + A[4 * io + ii]
""",
        """
    C[0] = 0.0
    for io in T.serial(14):
        C[0] = C[0] + A[io]
""",
    ),
    "first and last iterations that are no exceptions": Case(
        'A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")',
        """
    T.assume(A[0] == A[32] and A[33] == A[1])
    for i in range(32):
        if i == 0:
            C[i] = A[32] + A[2]
        elif i == 31:
            C[i] = A[31] + A[1]
        else:
            C[i] = A[i] + A[i + 2]
""",
        """
    for i in T.serial(32):
        C[i] = A[i] + A[i + 2]
""",
    ),
    "a bound on places goes where one on data does not hold": Case(
        'A: T.Buffer((16, 16), "int32"), C: T.Buffer((1,), "int32")',
        """
    for i, j in T.grid(16, 16):
        T.assume(16 * i + j < 250 or A[i, j] == -1)
    C[0] = 0
    for i, j in T.grid(16, 16):
        if 16 * i + j < 250 and A[i, j] > 0:
            C[0] = C[0] + 1
""",
        """
    C[0] = 0
    for i, j in T.grid(16, 16):
        if A[i, j] > 0:
            C[0] = C[0] + 1
""",
    ),
    "products with padding are left out where that shortens what stores them, too": Case(
        'X: T.Buffer((10, 16), "float32"), W: T.Buffer((16, 16), "float32"), C: T.Buffer((10,), "float32")',
        """
    H = T.alloc_buffer((10, 16), "float32")
    for i, k in T.grid(10, 16):
        T.assume(k < 12 or X[i, k] == 0.0)
    for i, j in T.grid(10, 16):
        H[i, j] = 0.0
        for k in range(16):
            H[i, j] = H[i, j] + X[i, k] * W[k, j]
    for i in range(10):
        C[i] = 0.0
        for j in range(12):
            C[i] = C[i] + H[i, j] * T.tanh(H[i, j])
""",
        """
    H = T.alloc_buffer((10, 12), "float32")
    for i in T.serial(10):
        for j in T.serial(12):
            H[i, j] = 0.0
            for k in T.serial(12):
                H[i, j] = H[i, j] + X[i, k] * W[k, j]
        C[i] = 0.0
        for j in T.serial(12):
            C[i] = C[i] + H[i, j] * T.tanh(H[i, j])
""",
    ),
    "the one iteration that a transposed convolution needs": Case(
        'X: T.Buffer((8,), "float32"), W: T.Buffer((4,), "float32"), C: T.Buffer((20,), "float32")',
        """
    for o in range(20):
        C[o] = 0.0
        for i, k in T.grid(8, 4):
            if 2 * i + k == o:
                C[o] = C[o] + X[i] * W[k]
""",
        """
    for o in T.serial(20):
        C[o] = 0.0
        for i in T.serial(8):
            if o >= 2 * i and 2 * i + 3 >= o:
                C[o] = C[o] + X[i] * W[o - 2 * i]
""",
    ),
    "clamped reads of a repeated border": Case(
        'A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")',
        """
    T.assume(A[0] == A[1] and A[33] == A[32])
    for i in range(32):
        C[i] = A[T.max(1, i)] * A[T.min(i + 2, 32)]
""",
        """
    for i in T.serial(32):
        C[i] = A[i] * A[i + 2]
""",
    ),
    "guards that are factors and operands": Case(
        'A: T.Buffer((32,), "float32"), K: T.Buffer((32,), "int32"), F: T.Buffer((32,), "bool"), '
        'S: T.Buffer((1,), "float32"), N: T.Buffer((1,), "int32"), B: T.Buffer((1,), "bool")',
        """
    for i in range(32):
        T.assume(i < 28 or (A[i] == 0.0 and K[i] == 0 and F[i]))
    S[0] = 0.0
    for i in range(32):
        S[0] += A[i] * T.Select(i < 28, T.float32(1.0), T.float32(0.0))
    N[0] = 0
    for i in range(32):
        N[0] += K[i] * T.cast(i < 28, "int32")
    B[0] = True
    for i in range(32):
        B[0] = B[0] and (i >= 28 or F[i])
""",
        """
    S[0] = 0.0
    for i in T.serial(32):
        S[0] = S[0] + A[i]
    N[0] = 0
    for i in T.serial(32):
        N[0] = N[0] + K[i]
    B[0] = True
    for i in T.serial(32):
        B[0] = B[0] and F[i]
""",
    ),
    "rows of a table that padding of indices names": Case(
        'A: T.Buffer((9, 4), "float32"), J: T.Buffer((3, 5), "int32"), n: T.Buffer((3,), "int32"), '
        'C: T.Buffer((3, 4), "float32")',
        """
    for r in range(3):
        T.assume(n[r] >= 0 and n[r] <= 5)
    for r, t in T.grid(3, 5):
        T.assume(J[r, t] >= 0 and J[r, t] <= 8)
        T.assume(t < n[r] or J[r, t] == 8)
    for k in range(4):
        T.assume(A[8, k] == 0.0)
    for r, k in T.grid(3, 4):
        C[r, k] = 0.0
        for t in range(5):
            if t < n[r]:
                C[r, k] += A[J[r, t], k]
""",
        """
    for r, k in T.grid(3, 4):
        C[r, k] = 0.0
        for t in T.serial(5):
            C[r, k] = C[r, k] + A[J[r, t], k]
""",
    ),
    "wrapped and mirrored reads of borders that are there": Case(
        'A: T.Buffer((6, 18), "float32"), B: T.Buffer((18,), "float32"), C: T.Buffer((6, 16), "float32")',
        """
    T.assume(B[0] == B[2])
    for i in range(6):
        T.assume(A[i, 0] == A[i, 16] and A[i, 17] == A[i, 1])
    for i, j in T.grid(6, 16):
        C[i, j] = A[i, (j + 15) % 16 + 1] * A[i, (j + 1) % 16 + 1] * B[T.abs(j - 1) + 1]
""",
        """
    for i, j in T.grid(6, 16):
        C[i, j] = B[j] * (A[i, j] * A[i, j + 2])
""",
    ),
    "wrapped reads around any size, and choices of an index": Case(
        'n: T.int32, A: T.Buffer((n + 2,), "int32"), C: T.Buffer((n,), "int32")',
        """
    T.assume(n >= 2)
    T.assume(A[0] == A[n] and A[n + 1] == A[1])
    for i in range(n):
        C[i] = A[i if i >= 1 else n] - A[(i + 1) % n + 1]
""",
        """
    for i in T.serial(n):
        C[i] = A[i] - A[i + 2]
""",
    ),
    "borders that wrap around in both directions, with a corner": Case(
        'A: T.Buffer((10, 10), "int32"), C: T.Buffer((8, 8), "int32")',
        """
    for j in range(10):
        T.assume(A[0, j] == A[8, j] and A[9, j] == A[1, j])
    for i in range(10):
        T.assume(A[i, 0] == A[i, 8] and A[i, 9] == A[i, 1])
    for i, j in T.grid(8, 8):
        C[i, j] = A[(i + 7) % 8 + 1, (j + 7) % 8 + 1] - A[T.max(T.min(i + 1, 8), 1), (j + 1) % 8 + 1]
""",
        """
    for i, j in T.grid(8, 8):
        C[i, j] = A[i, j] - A[i + 1, j + 2]
""",
    ),
    "a border that is mirrored, and conditions for it": Case(
        'A: T.Buffer((14,), "float32"), C: T.Buffer((10,), "float32")',
        """
    for i in range(2):
        T.assume(A[i] == A[4 - i] and A[12 + i] == A[10 - i])
    for i in range(10):
        C[i] = 0.0
        for k in range(5):
            if i + k < 2:
                C[i] = C[i] + A[4 - (i + k)]
            elif i + k < 12:
                C[i] = C[i] + A[i + k]
            else:
                C[i] = C[i] + A[22 - (i + k)]
""",
        """
    for i in T.serial(10):
        C[i] = 0.0
        for k in T.serial(5):
            C[i] = C[i] + A[i + k]
""",
    ),
    "columns of padding in a sparse matrix, whose rows are between elements": Case(
        'P: T.Buffer((9,), "int32"), J: T.Buffer((40,), "int32"), V: T.Buffer((40,), "int8"), '
        'X: T.Buffer((16,), "int8"), C: T.Buffer((8,), "int32")',
        """
    for r in range(8):
        T.assume(0 <= P[r] and P[r] <= P[r + 1] and P[r + 1] <= 40)
    for e in range(40):
        T.assume(0 <= J[e] and J[e] < 16)
    for j in range(13, 16):
        T.assume(X[j] == T.int8(0))
    for r in range(8):
        C[r] = 0
        for e in range(P[r], P[r + 1]):
            if J[e] < 13:
                C[r] = C[r] + T.Cast("int32", V[e]) * T.Cast("int32", X[J[e]])
""",
        """
    for r in T.serial(8):
        C[r] = 0
        for e in T.serial(P[r], P[r + 1]):
            C[r] = C[r] + T.cast(V[e], "int32") * T.cast(X[J[e]], "int32")
""",
    ),
    "a recurrence over rows that are padded at their start": Case(
        'X: T.Buffer((5, 12), "float32"), L: T.Buffer((5,), "int32"), C: T.Buffer((5, 3), "float32")',
        """
    for b, t in T.grid(5, 12):
        T.assume(t >= 12 - L[b] or X[b, t] == 0.0)
    for b, k in T.grid(5, 3):
        C[b, k] = 0.0
    for t, b, k in T.grid(12, 5, 3):
        if t >= 12 - L[b]:
            C[b, k] = T.tanh(C[b, k] * 0.5 + X[b, t])
""",
        """
    for b, k in T.grid(5, 3):
        C[b, k] = 0.0
    for t, b, k in T.grid(12, 5, 3):
        C[b, k] = T.tanh(C[b, k] * 0.5 + X[b, t])
""",
    ),
    "what a choice assumes": Case(
        'A: T.Buffer((8, 16), "float32"), L: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")',
        """
    for b, t in T.grid(8, 16):
        T.assume(A[b, t] == 0.0 if t >= L[b] else True)
    for b in range(8):
        C[b] = 0.0
        for t in range(16):
            if t < L[b]:
                C[b] = C[b] + A[b, t]
""",
        """
    for b in T.serial(8):
        C[b] = 0.0
        for t in T.serial(16):
            C[b] = C[b] + A[b, t]
""",
    ),
    "identities that padding on data has none of": Case(
        'I: T.Buffer((4, 16), "int32"), L: T.Buffer((4,), "int32"), C: T.Buffer((4, 8), "int32")',
        """
    for b, p in T.grid(4, 16):
        T.assume(p < L[b] or I[b, p] == -1)
    for b, k in T.grid(4, 8):
        C[b, k] = 0
        for p in range(16):
            if p < L[b]:
                C[b, k] = C[b, k] + T.Cast("int32", I[b, p] == k)
""",
        """
    for b, k in T.grid(4, 8):
        C[b, k] = 0
        for p in T.serial(16):
            C[b, k] = C[b, k] + T.cast(I[b, p] == k, "int32")
""",
    ),
    "a softmax over rows of any length whose padding is minus infinity": Case(
        'A: T.Buffer((4, 16), "float32"), L: T.Buffer((4,), "int32"), M: T.Buffer((4,), "float32"), '
        'C: T.Buffer((4,), "float32")',
        """
    for b in range(4):
        T.assume(L[b] >= 1)
        for p in range(16):
            T.assume(p < L[b] or A[b, p] == T.float32("-inf"))
    for b in range(4):
        M[b] = T.float32("-inf")
        for p in range(16):
            if p < L[b]:
                M[b] = T.max(M[b], A[b, p])
        C[b] = 0.0
        for p in range(16):
            if p < L[b]:
                C[b] = C[b] + T.exp(A[b, p] - M[b])
""",
        """
    for b in T.serial(4):
        M[b] = T.float32("-inf")
        for p in T.serial(16):
            M[b] = T.max(M[b], A[b, p])
        C[b] = 0.0
        for p in T.serial(16):
            C[b] = C[b] + T.exp(A[b, p] - M[b])
""",
    ),
    "a maximum that starts at zero covers one with zero": Case(
        'A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32")',
        """
    for i in range(8):
        C[i] = 0.0
        for j in range(16):
            C[i] = T.max(C[i], T.max(A[i, j], 0.0))
""",
        """
    for i in T.serial(8):
        C[i] = 0.0
        for j in T.serial(16):
            C[i] = T.max(C[i], A[i, j])
""",
    ),
    "tiles with tails that no layout asks for": Case(
        'A: T.Buffer((10, 6), "float32"), B: T.Buffer((6, 7), "float32"), C: T.Buffer((10, 7), "float32")',
        """
    for io, jo, ii, ji in T.grid(3, 2, 4, 4):
        if 4 * io + ii < 10 and 4 * jo + ji < 7:
            C[4 * io + ii, 4 * jo + ji] = 0.0
            for k in range(6):
                C[4 * io + ii, 4 * jo + ji] = C[4 * io + ii, 4 * jo + ji] + A[4 * io + ii, k] * B[k, 4 * jo + ji]
""",
        """
    for io, jo in T.grid(10, 7):
        C[io, jo] = 0.0
        for k in T.serial(6):
            C[io, jo] = C[io, jo] + A[io, k] * B[k, jo]
""",
    ),
    "groups of channels": Case(
        'X: T.Buffer((4, 8), "float32"), W: T.Buffer((8, 3), "float32"), C: T.Buffer((8, 6), "float32")',
        """
    for o, x in T.grid(8, 6):
        C[o, x] = 0.0
        for d in range(3):
            C[o, x] = C[o, x] + X[o // 2, x + d] * W[o, d]
""",
        """
    for oo, oi, x in T.grid(4, 2, 6):
        C[oi + 2 * oo, x] = 0.0
        for d in T.serial(3):
            C[oi + 2 * oo, x] = C[oi + 2 * oo, x] + X[oo, x + d] * W[oi + 2 * oo, d]
""",
    ),
    "borders of padding, and channels whose weights may hold anything": Case(
        'X: T.Buffer((2, 8, 8, 4), "float32"), W: T.Buffer((2, 3, 3, 4), "float32"), C: T.Buffer((6, 6), "float32")',
        """
    for c, y, x, cc in T.grid(2, 8, 8, 4):
        T.assume(4 * c + cc < 6 and y >= 1 and y < 7 and x >= 1 and x < 7 or X[c, y, x, cc] == 0.0)
    for y, x in T.grid(6, 6):
        C[y, x] = 0.0
        for c, dy, dx, cc in T.grid(2, 3, 3, 4):
            if 4 * c + cc < 6 and y + dy >= 1 and y + dy < 7 and x + dx >= 1 and x + dx < 7:
                C[y, x] = C[y, x] + X[c, y + dy, x + dx, cc] * W[c, dy, dx, cc]
""",
        """
    for y, x in T.grid(6, 6):
        C[y, x] = 0.0
        for c, dy, dx, cc in T.grid(2, 3, 3, 4):
            if 4 * c + cc < 6:
                C[y, x] = C[y, x] + X[c, y + dy, x + dx, cc] * W[c, dy, dx, cc]
""",
    ),
    "neighbours of halved indices, kept inside": Case(
        'A: T.Buffer((8, 8), "float32"), C: T.Buffer((16, 16), "float32")',
        """
    for i, j in T.grid(16, 16):
        C[i, j] = A[i // 2, j // 2] + A[T.min(i // 2 + 1, 7), T.min(j // 2 + 1, 7)]
""",
        """
    for io, ii, jo, ji in T.grid(8, 2, 8, 2):
        C[ii + 2 * io, ji + 2 * jo] = A[io, jo] + A[T.min(io + 1, 7), T.min(jo + 1, 7)]
""",
    ),
    "two stores of one element": Case(
        VECTOR,
        """
    for i in range(16):
        if i < 11:
            C[i] = T.exp(A[i])
        else:
            C[i] = 0.0
""",
        """
    for i in T.serial(16):
        C[i] = T.if_then_else(i < 11, T.exp(A[i]), 0.0)
""",
    ),
    "what is stored and changed at once is stored once": Case(
        VECTOR,
        """
    for i in range(1, 16):
        C[i] = A[i] * 2.0
        C[i] = C[i] + C[i - 1]
        C[i] = C[i] * A[0]
""",
        """
    for i in T.serial(1, 16):
        C[i] = (A[i] * 2.0 + C[i - 1]) * A[0]
""",
    ),
    "what is changed at once under conditions is named, and stored once": Case(
        VECTOR,
        """
    for i in range(2, 16):
        C[i] = T.min(C[i - 1], A[i]) + 1.0
        if A[i] > 0.0:
            if A[i] < C[i]:
                C[i] = T.min(C[i], C[i - 2])
""",
        """
    for i in T.serial(2, 16):
        value = T.min(C[i - 1], A[i]) + 1.0
        C[i] = T.if_then_else(A[i] > 0.0 and A[i] < value, T.min(value, C[i - 2]), value)
""",
    ),
    "clamps that bits, dtypes and assumptions on data make needless": Case(
        TABLE,
        """
    for i in range(16):
        T.assume(A[i] >= 0)
    for i in range(16):
        y[i] = t[T.min(A[i] & 15, 15)] + t[T.min(T.cast(u[i], "int32"), 255)] + t[T.max(A[i] % 8, 0)] * T.abs(A[i])
""",
        """
    for i in T.serial(16):
        y[i] = t[A[i] % 8] * A[i] + (t[A[i] & 15] + t[T.cast(u[i], "int32")])
""",
    ),
    "clamps that bits and dtypes do not make needless": Case(
        TABLE,
        """
    for i in range(16):
        T.assume(A[i] >= -1)
    for i in range(16):
        y[i] = t[T.min(A[i] & 16, 15)] + t[T.min(T.cast(u[i], "int32"), 254)] * T.abs(A[i])
""",
        """
    for i in T.serial(16):
        y[i] = t[T.min(A[i] & 16, 15)] + t[T.min(T.cast(u[i], "int32"), 254)] * T.abs(A[i])
""",
    ),
    "both borders are mirrored where they are read as if they were not": Case(
        'X: T.Buffer((68,), "float32"), w: T.Buffer((5,), "float32"), Y: T.Buffer((64,), "float32")',
        """
    for k in range(2):
        T.assume(X[1 - k] == X[3 + k] and X[66 + k] == X[64 - k])
    for i in range(64):
        Y[i] = 0.0
        for k in range(5):
            Y[i] = Y[i] + X[4 - i - k if i + k < 2 else 130 - i - k if i + k > 65 else i + k] * w[k]
""",
        """
    for i in T.serial(64):
        Y[i] = 0.0
        for k in T.serial(5):
            Y[i] = Y[i] + X[i + k] * w[k]
""",
    ),
    "an arm is the other one in the only iteration that takes it": Case(
        'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")',
        """
    for t in range(1, 4):
        for i in range(16):
            B[16 * t + i] = A[16 * t + (i - 1)] if i >= 1 else A[16 * t - 1]
""",
        """
    for t in T.serial(1, 4):
        for i in T.serial(16):
            B[16 * t + i] = A[16 * t + (i - 1)]
""",
    ),
    "of two factors each is zero in some of the padding": Case(
        'a: T.Buffer((24,), "float32"), b: T.Buffer((24,), "float32"), C: T.Buffer((24, 24), "float32")',
        """
    for i in range(24):
        T.assume((i < 17 or a[i] == 0.0) and (i < 17 or b[i] == 0.0))
        T.assume(a[i] <= 100.0 and b[i] <= 100.0)
    for i, j in T.grid(24, 24):
        if i < 17 and j < 17:
            C[i, j] = a[i] * b[j]
        else:
            C[i, j] = 0.0
""",
        """
    for i, j in T.grid(24, 24):
        C[i, j] = a[i] * b[j]
""",
    ),
}


@pytest.mark.parametrize("name", some(CASES, 0.12))
def test_the_search_ends_where_an_expert_would(name: str) -> None:
    case = CASES[name]
    func = parse(f"@T.prim_func\ndef f({case.params}):{case.start}").funcs[0]
    best = optimize(func).best
    assert to_script(best).split(":\n", 1)[1].strip() == case.end.strip()
    assert_refines(func, best, np.random.default_rng(0))


TRAPS = {
    "a conjunct that matters": """
    for i in range(16):
        T.assume(i < 14 or A[i] == 1.0)
    for i in range(1):
        C[0] = 0.0
    for i in range(16):
        if i < 14 and A[i] < 8.0:
            C[0] = C[0] + A[i]
""",
    "a condition that the first branch changes": """
    for i in range(16):
        if A[i] < 8.0:
            A[i] = A[i] + 5.0
        if A[i] < 8.0:
            C[i] = A[i]
""",
    "an arm that leaves anything elsewhere": """
    for i in range(16):
        if i < 14:
            C[i] = A[i]
        else:
            C[i - 1] = T.undef()
""",
    "tiles whose order matters": """
    for io, jo, ii in T.grid(4, 2, 4):
        C[4 * io + ii] = C[4 * io + ii] * 0.5 + A[4 * io + ii] * T.cast(jo, "float32")
""",
    "a selection of what would fault": """
    for i in range(16):
        if i > 0:
            C[i] = A[i - 1]
        else:
            C[i] = A[i]
""",
    "a chain that reads another element, which may be the same": """
    for i in range(16):
        C[i] = A[i] * 2.0
        C[i] = C[i] + C[i // 2]
""",
    "a chain that reads its element as a place": """
    for i in range(16):
        C[i] = T.float32(i // 2)
        C[i] = A[T.min(T.max(T.int32(C[i]), 0), 15)] + C[i] * C[i]
""",
    "a function of elements that the loops write": """
    for i, k in T.grid(8, 8):
        C[i + k] = T.max(C[i + k] * 0.5, T.exp(C[i] + A[i + k]))
""",
    "a function of elements that are read where data says so": """
    for i, k in T.grid(8, 8):
        if A[k] < 2.0:
            C[i] = C[i] + T.exp(A[i + k])
""",
    "functions of elements that two nests read": """
    for t in range(3):
        for i in range(15):
            C[i] = C[i] + T.tanh(A[i + 1]) * C[i + 1]
        for i in range(14):
            C[i + 1] = C[i] - T.tanh(A[i]) * 0.5
""",
    "positions of a nest that overlap": """
    for io, ii in T.grid(4, 4):
        C[3 * io + ii] = A[3 * io + ii] + C[3 * io + ii]
""",
}


UNNAMED = {
    "a function of rows, which arrays are broadcast from": """
    for i, j in T.grid(4, 4):
        C[4 * i + j] = A[4 * i + j] * T.exp(A[i])
""",
    "a function of places that are no box": """
    for i, j, k in T.grid(4, 4, 2):
        if j <= i:
            C[4 * i + k] = C[4 * i + k] + T.exp(A[4 * i + j])
""",
    "a function that some iterations leave out": """
    for i, k in T.grid(8, 8):
        C[i] = C[i] + T.if_then_else(A[k] < 2.0, T.exp(A[i + k]), 0.0)
""",
}


@pytest.mark.parametrize("name", UNNAMED)
def test_no_buffer_for_what_is_computed_as_often(name: str) -> None:
    func = parse(f"@T.prim_func\ndef f({VECTOR}):{UNNAMED[name]}").funcs[0]
    assert "alloc_buffer" not in to_script(optimize(func).best)


@pytest.mark.parametrize("name", some(TRAPS, 0.45))
def test_programs_that_only_look_alike_keep_their_meaning(name: str) -> None:
    func = parse(f"@T.prim_func\ndef f({VECTOR}):{TRAPS[name]}").funcs[0]
    for variant, _ in optimize(func, k=3).variants:
        assert_refines(func, variant, np.random.default_rng(1))


HEAD = """@T.prim_func
def add_one(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
"""
BUFFERS = """    AC = T.alloc_buffer((4, 4), "int32")
    BC = T.alloc_buffer((4, 4), "int32")
"""
PAD = """    for io, ii in T.grid(4, 4):
        AC[io, ii] = T.if_then_else(4 * io + ii < 14, A[4 * io + ii], {})
"""
INSIDE = """    for i in T.serial(14):
        BC[i // 4, i % 4] = AC[i // 4, i % 4] + 1
"""
EVERYWHERE = """    for io, ii in T.grid(4, 4):
        BC[io, ii] = AC[io, ii] + 1
"""
PROMISE = """    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or BC[io, ii] == 1)
"""
CROP = """    for i in T.serial(14):
        B[i] = BC[i // 4, i % 4]
"""
PLAIN = """    for i in T.serial(14):
        B[i] = A[i] + 1
"""
# The implementations of one operator in the mail on padded layouts, with preprocessing and postprocessing in place.
ADD_ONE = {
    "plain": PLAIN,
    "padding is never looked at": BUFFERS
    + "    for io, ii in T.grid(4, 4):\n        if 4 * io + ii < 14:\n            AC[io, ii] = A[4 * io + ii]\n"
    + INSIDE
    + CROP,
    "padding of the input is known": BUFFERS + PAD.format(0) + INSIDE + CROP,
    "padding may be anything": BUFFERS + PAD.format("T.undef()") + EVERYWHERE + CROP,
    "padding of the output is promised": BUFFERS + PAD.format(0) + EVERYWHERE + PROMISE + CROP,
    "padding of the output is not promised": BUFFERS + PAD.format(0) + EVERYWHERE + CROP,
}


@pytest.mark.parametrize("name", some(ADD_ONE, 0.5))
def test_all_implementations_of_an_operator_end_as_one(name: str) -> None:
    func = parse(HEAD + ADD_ONE[name]).funcs[0]
    best = optimize(func).best
    assert to_script(best).split("\n", 1)[1].strip() == (HEAD + PLAIN).split("\n", 1)[1].strip()
    assert_refines(func, best, np.random.default_rng(2))


def test_a_loop_goes_on_to_where_it_went() -> None:
    """An extent that the search has made shorter is printed as what it is: the same loop."""
    func = parse("""
@T.prim_func
def f(A: T.Buffer((64, 64), "float32"), m: T.Buffer((64,), "float32")):
    for i in range(64):
        for j in range(i + 1, 64):
            m[i] = T.max(m[i], A[i, j])
""")["f"]
    assert "range(i + 1, 64)" in str(optimize(func).best).replace("T.serial", "range")


def test_a_place_that_is_data_is_reduced_once() -> None:
    """Nothing proves that a remainder of data is inside of a dimension, where data change: there was no end to it."""
    func = parse("""
@T.prim_func
def f(
    A: T.Buffer((5, 6), "uint8"), P: T.Buffer((5,), "int32"), B: T.Buffer((5, 6), "uint8"), I: T.Buffer((5,), "int32"),
    Y: T.Buffer((5, 6), "uint8"),
):
    for r in range(5):
        T.assume(P[r] >= 0 and P[r] < 5)
    for r in range(5):
        I[r] = 0
        for k in range(r):
            if I[r] < 6:
                Y[r, I[r]] = A[r, k] - (Y[r, k] + B[P[r], k])
            I[r] = I[r] + 1
""")["f"]
    best = optimize(func).best
    assert "% 6 % 6" not in to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0)) > 0
