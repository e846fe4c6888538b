"""What follows from names for elements, from bounds of floats, and from conditions that sets do not express.

Each case is a program with the one that an expert would write, or a trap: a program that only looks like one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import Floats, optimize
from ir import parse, to_script
from ir.nodes import If, PrimFunc, Select
from ir.traverse import all_exprs, walk
from profiles import some

TILES = 'A: T.Buffer((4, 4), "float32"), S: T.Buffer((1,), "float32")'
ROWS = 'A: T.Buffer((6, 4, 4), "float32"), M: T.Buffer((6,), "float32")'
LINES = 'A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32'
X_AND_Y = 'X: T.Buffer((4, 64), "float32"), Y: T.Buffer((4, 64), "float32")'
RAGGED = f'{X_AND_Y}, Z: T.Buffer((4,), "float32"), lens: T.Buffer((4,), "int32")'
LOOKUP = 'J: T.Buffer((8,), "int32"), x: T.Buffer((10,), "float32"), y: T.Buffer((1,), "float32")'
THREE = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), n: T.int32'
ZERO = """
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or A[i, j] == 0.0)"""
LOW = """
    for i, a, b in T.grid(6, 4, 4):
        T.assume(4 * a + b < 14 or A[i, a, b] == -1e30)"""


@dataclass(frozen=True)
class Case:
    """Parameters, the lines of a body, and those of the body that the search ends with."""

    params: str
    start: str
    end: str

    def program(self) -> PrimFunc:
        return parse(f"@T.prim_func\ndef f({self.params}):{self.start}\n").funcs[0]


CASES = {
    "a name for an element that is zero in padding": Case(
        TILES,
        f"""{ZERO}
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        v = A[i, j]
        if 4 * i + j < 14:
            S[0] = S[0] + v * v""",
        """
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        v = A[i, j]
        S[0] = S[0] + v * v""",
    ),
    "names for elements through two stages": Case(
        TILES,
        f"""
    B = T.alloc_buffer((4, 4), "float32"){ZERO}
    for i, j in T.grid(4, 4):
        v = T.max(A[i, j], 0.0)
        w = v * 2.0
        B[i, j] = w + v
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        x = B[i, j]
        if 4 * i + j < 14:
            S[0] = S[0] + x""",
        """
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        x = T.max(A[i, j], 0.0) * 2.0 + T.max(A[i, j], 0.0)
        S[0] = S[0] + x""",
    ),
    "a maximum is never below its start, which covers the padding": Case(
        ROWS,
        f"""{LOW}
    for i in range(6):
        M[i] = -1000.0
        for a, b in T.grid(4, 4):
            if 4 * a + b < 14:
                M[i] = T.max(M[i], A[i, a, b])""",
        """
    for i in T.serial(6):
        M[i] = -1000.0
        for a, b in T.grid(4, 4):
            M[i] = T.max(M[i], A[i, a, b])""",
    ),
    "a maximum that starts with an element whose bound is assumed": Case(
        'A: T.Buffer((6, 8), "float32"), lens: T.Buffer((6,), "int32"), M: T.Buffer((6,), "float32")',
        """
    for i, j in T.grid(6, 8):
        T.assume(j < lens[i] or A[i, j] == -1000.0)
        T.assume(A[i, j] >= -1000.0)
    for i in range(6):
        M[i] = A[i, 0]
        for j in range(1, 8):
            if j < lens[i]:
                M[i] = T.max(M[i], A[i, j])""",
        """
    for i in T.serial(6):
        M[i] = A[i, 0]
        for j in T.serial(1, 8):
            M[i] = T.max(M[i], A[i, j])""",
    ),
    "the exponential of what is far below any maximum is zero": Case(
        ROWS.replace("M:", 'L: T.Buffer((6,), "float32"), M:'),
        f"""{LOW}
    for i in range(6):
        M[i] = -1000.0
        for a, b in T.grid(4, 4):
            if 4 * a + b < 14:
                M[i] = T.max(M[i], A[i, a, b])
        L[i] = 0.0
        for a, b in T.grid(4, 4):
            if 4 * a + b < 14:
                L[i] = L[i] + T.exp(A[i, a, b] - M[i])""",
        """
    for i in T.serial(6):
        M[i] = -1000.0
        for a, b in T.grid(4, 4):
            M[i] = T.max(M[i], A[i, a, b])
        L[i] = 0.0
        for a, b in T.grid(4, 4):
            L[i] = L[i] + T.exp(A[i, a, b] - M[i])""",
    ),
    "no padding is above a threshold that is not negative": Case(
        TILES.replace("S:", "t: T.float32, S:"),
        f"""
    T.assume(t >= 0.0){ZERO}
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            if A[i, j] > t:
                S[0] = S[0] + 1.0""",
        """
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        if A[i, j] > t:
            S[0] = S[0] + 1.0""",
    ),
    "widths that are symbols": Case(
        'A: T.Buffer((4, 8), "float32"), n: T.int32, w: T.int32, S: T.Buffer((1,), "float32")',
        """
    for i, j in T.grid(4, 8):
        T.assume((j < w and w * i + j < n) or A[i, j] == 0.0)
    S[0] = 0.0
    for i, j in T.grid(4, 8):
        if j < w and w * i + j < n:
            S[0] = S[0] + A[i, j]""",
        """
    S[0] = 0.0
    for i, j in T.grid(4, 8):
        S[0] = S[0] + A[i, j]""",
    ),
    "a zero point that is a symbol, through a narrow dtype": Case(
        'A: T.Buffer((4, 4), "int8"), zp: T.int32, B: T.Buffer((4, 4), "int8"), S: T.Buffer((1,), "int32")',
        """
    T.assume(-128 <= zp and zp <= 127)
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or T.cast(A[i, j], "int32") == zp)
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            B[i, j] = T.cast(T.min(T.max((T.cast(A[i, j], "int32") - zp) * 2 + zp, -128), 127), "int8")
        else:
            B[i, j] = T.cast(zp, "int8")
    S[0] = 0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            S[0] = S[0] + (T.cast(B[i, j], "int32") - zp)""",
        """
    for i, j in T.grid(4, 4):
        B[i, j] = T.cast(T.min(T.max((T.cast(A[i, j], "int32") - zp) * 2 + zp, -128), 127), "int8")
    S[0] = 0
    for i, j in T.grid(4, 4):
        S[0] = S[0] + (T.cast(B[i, j], "int32") - zp)""",
    ),
    "stores of what is there, at places that data decide": Case(
        'idx: T.Buffer((8,), "int32"), B: T.Buffer((16,), "float32")',
        """
    D = T.alloc_buffer((16,), "float32")
    for p in range(8):
        T.assume(0 <= idx[p] and idx[p] < 16)
    for i in range(16):
        D[i] = 1.0
    for p in range(8):
        D[idx[p]] = 1.0
    for i in range(16):
        B[i] = D[i] * B[i] + 2.0""",
        """
    for i in T.serial(16):
        B[i] = B[i] + 2.0""",
    ),
    "equal conditions around a store that does not touch them": Case(
        THREE,
        """
    for i in range(16):
        if i < n:
            B[i] = A[i]
        C[i] = A[i] * 2.0
        if i < n:
            B[i] = B[i] + C[i]""",
        """
    for i in T.serial(16):
        C[i] = A[i] * 2.0
        if i < n:
            B[i] = A[i] + C[i]""",
    ),
    "arms that write one sum in two ways, of which no part overflows elsewhere": Case(
        LINES,
        """
    for i in range(16):
        if i < n:
            B[i] = i * 2 + 2 + A[i]
        else:
            B[i] = A[i] + (i + 1) * 2""",
        """
    for i in T.serial(16):
        B[i] = i * 2 + 2 + A[i]""",
    ),
    "arms that read one element by two indices": Case(
        LINES.replace("(16,)", "(40,)", 1),
        """
    for i in range(16):
        if i < n:
            B[i] = A[i * 2 + 2] * 3 + A[i]
        else:
            B[i] = A[i] + 3 * A[(i + 1) * 2]""",
        """
    for i in T.serial(16):
        B[i] = A[i * 2 + 2] * 3 + A[i]""",
    ),
    "a product with what is zero in padding, of locals that are no undef": Case(
        'X: T.Buffer((4, 4), "float32"), V: T.Buffer((4, 4), "float32"), O: T.Buffer((4,), "float32")',
        """
    E = T.alloc_buffer((4, 4), "float32")
    Z = T.alloc_buffer((1,), "float32")
    for e, g in T.grid(4, 4):
        T.assume(4 * e + g < 14 or V[e, g] == 0.0)
    Z[0] = 0.0
    for e, g in T.grid(4, 4):
        E[e, g] = T.sin(X[e, g])
        Z[0] = Z[0] + E[e, g] * X[e, g]
    for i in range(4):
        O[i] = 0.0
        for e, g in T.grid(4, 4):
            if 4 * e + g < 14:
                O[i] = O[i] + E[e, g] / Z[0] * V[e, g]""",
        """
    E = T.alloc_buffer((4, 4), "float32")
    Z = T.alloc_buffer((1,), "float32")
    Z[0] = 0.0
    for e, g in T.grid(4, 4):
        E[e, g] = T.sin(X[e, g])
        Z[0] = Z[0] + E[e, g] * X[e, g]
    for i in T.serial(4):
        O[i] = 0.0
        for e, g in T.grid(4, 4):
            O[i] = O[i] + E[e, g] / Z[0] * V[e, g]""",
    ),
    "two copies of a state in turn": Case(
        'U: T.Buffer((2, 66), "float32")',
        """
    for t in range(20):
        for i in range(1, 65):
            U[(t + 1) % 2, i] = U[t % 2, i - 1] + U[t % 2, i + 1]""",
        """
    for t in T.serial(10):
        for i in T.serial(1, 65):
            U[1, i] = U[0, i - 1] + U[0, i + 1]
        for i in T.serial(1, 65):
            U[0, i] = U[1, i - 1] + U[1, i + 1]""",
    ),
    "steps that do one of two things in turn": Case(
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")',
        """
    for t in range(6):
        for i in range(8):
            if t % 2 == 0:
                A[i] = A[i] + B[7 - i]
            else:
                B[i] = B[i] * A[i]""",
        """
    for t in T.serial(3):
        for i in T.serial(8):
            A[i] = A[i] + B[7 - i]
        for i in T.serial(8):
            B[i] = B[i] * A[i]""",
    ),
    "an accumulation over padding is no change for what comes after it": Case(
        'X: T.Buffer((3,), "float32"), W: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32"), '
        'Y: T.Buffer((16,), "float32")',
        """
    for o in range(16):
        T.assume(o % 5 != 3 or b[o] == 0.0)
        T.assume(o % 5 != 3 or W[o] == 0.0)
    for o in range(16):
        if o % 5 != 3:
            Y[o] = b[o]
            for k in range(3):
                Y[o] = Y[o] + X[k] * W[o]
            Y[o] = T.max(Y[o], 0.0)
        else:
            Y[o] = 0.0""",
        """
    for o in T.serial(16):
        Y[o] = b[o]
        for k in T.serial(3):
            Y[o] = Y[o] + X[k] * W[o]
        Y[o] = T.max(Y[o], 0.0)""",
    ),
    "a place that data name is the one where zeros are": Case(
        'V: T.Buffer((8, 4), "float32"), J: T.Buffer((8, 4), "int32"), x: T.Buffer((9,), "float32"), '
        'y: T.Buffer((8,), "float32")',
        """
    for i, k in T.grid(8, 4):
        T.assume(J[i, k] >= 0 and J[i, k] <= 8)
        T.assume(T.abs(V[i, k]) < 100.0)
    T.assume(x[8] == 0.0)
    for i in range(8):
        y[i] = 0.0
        for k in range(4):
            if J[i, k] < 8:
                y[i] = y[i] + V[i, k] * x[J[i, k]]""",
        """
    for i in T.serial(8):
        y[i] = 0.0
        for k in T.serial(4):
            y[i] = y[i] + V[i, k] * x[J[i, k]]""",
    ),
    "places that data name, in a layout whose padding is zero": Case(
        'A: T.Buffer((4, 4), "float32"), p: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32")',
        f"""{ZERO}
    for i in range(16):
        T.assume(0 <= p[i] and p[i] < 16)
    for i in range(16):
        if p[i] < 14:
            B[i] = A[p[i] // 4, p[i] % 4]
        else:
            B[i] = 0.0""",
        """
    for i in T.serial(16):
        B[i] = A[p[i] // 4, p[i] % 4]""",
    ),
    "zeros divided by what a condition says is none": Case(
        'A: T.Buffer((4, 16), "float32"), N: T.Buffer((4,), "float32"), Y: T.Buffer((4, 16), "float32")',
        """
    for i, j in T.grid(4, 16):
        T.assume(j < 13 or A[i, j] == 0.0)
    for i, j in T.grid(4, 16):
        if j < 13:
            if N[i] > 0.0:
                Y[i, j] = A[i, j] / N[i]
            else:
                Y[i, j] = 0.0
        else:
            Y[i, j] = 0.0""",
        """
    for i, j in T.grid(4, 16):
        Y[i, j] = T.if_then_else(N[i] > 0.0, A[i, j] / N[i], 0.0)""",
    ),
    "a product of padding with a quotient by what the program divides by": Case(
        'X: T.Buffer((4, 64), "float32"), V: T.Buffer((4, 64), "float32"), G: T.Buffer((1,), "float32"), '
        'lens: T.Buffer((4,), "int32"), Y: T.Buffer((4, 64), "float32")',
        """
    for r in range(4):
        T.assume(lens[r] >= 1)
    for r, k in T.grid(4, 64):
        T.assume(k < lens[r] or X[r, k] == 0.0)
    for r, k in T.grid(4, 64):
        if k < lens[r]:
            Y[r, k] = X[r, k] * (G[0] / T.sqrt(V[r, 0] + 1.0))
        else:
            Y[r, k] = 0.0""",
        """
    for r, k in T.grid(4, 64):
        Y[r, k] = X[r, k] * (G[0] / T.sqrt(V[r, 0] + 1.0))""",
    ),
    "a stencil that adds up term by term over padding": Case(
        'X: T.Buffer((24, 24), "float32"), Y: T.Buffer((22, 22), "float32")',
        """
    for z, y in T.grid(24, 24):
        T.assume(z < 22 and y < 22 or X[z, y] == 0.0)
    for z, y in T.grid(22, 22):
        Y[z, y] = 6.0 * X[z, y]
        if z > 0:
            Y[z, y] -= X[z - 1, y]
        if z < 21:
            Y[z, y] -= X[z + 1, y]
        if y > 0:
            Y[z, y] -= X[z, y - 1]
        if y < 21:
            Y[z, y] -= X[z, y + 1]""",
        """
    for z, y in T.grid(22, 22):
        Y[z, y] = 6.0 * X[z, y] - X[(z - 1) % 24, y] - X[z + 1, y] - X[z, (y - 1) % 24] - X[z, y + 1]""",
    ),
    "a stencil that adds up term by term over blocks with tails": Case(
        'X: T.Buffer((6, 6, 4, 4), "float32"), Y: T.Buffer((22, 22), "float32")',
        """
    for a, b, i, j in T.grid(6, 6, 4, 4):
        T.assume(4 * a + i < 22 and 4 * b + j < 22 or X[a, b, i, j] == 0.0)
    for z, y in T.grid(22, 22):
        Y[z, y] = 6.0 * X[z // 4, y // 4, z % 4, y % 4]
        if z > 0:
            Y[z, y] -= X[(z - 1) // 4, y // 4, (z - 1) % 4, y % 4]
        if z < 21:
            Y[z, y] -= X[(z + 1) // 4, y // 4, (z + 1) % 4, y % 4]
        if y > 0:
            Y[z, y] -= X[z // 4, (y - 1) // 4, z % 4, (y - 1) % 4]
        if y < 21:
            Y[z, y] -= X[z // 4, (y + 1) // 4, z % 4, (y + 1) % 4]""",
        """
    for z, y in T.grid(22, 22):
        Y[z, y] = 6.0 * X[z // 4, y // 4, z % 4, y % 4] - X[(z - 1) // 4 % 6, y // 4, (z - 1) % 4, y % 4] """
        """- X[(z + 1) // 4, y // 4, (z + 1) % 4, y % 4] - X[z // 4, (y - 1) // 4 % 6, z % 4, (y - 1) % 4] """
        """- X[z // 4, (y + 1) // 4, z % 4, (y + 1) % 4]""",
    ),
    "a guard around the innermost loops of a copy": Case(
        'S: T.Buffer((2, 10, 8), "float32"), Y: T.Buffer((4, 10, 8), "float32")',
        """
    for c, y, k in T.grid(2, 10, 8):
        T.assume(y >= 1 and y < 9 or S[c, y, k] == 0.0)
    for c, y in T.grid(2, 10):
        if y >= 1 and y < 9:
            for k in range(8):
                Y[c + 2, y, k] = S[c, y, k]
        else:
            for k in range(8):
                Y[c + 2, y, k] = 0.0""",
        """
    for c, y, k in T.grid(2, 10, 8):
        Y[c + 2, y, k] = S[c, y, k]""",
    ),
    "rows of padding that are multiplied, and left out in the end": Case(
        'X: T.Buffer((20, 8), "float32"), W: T.Buffer((8, 64), "float32"), V: T.Buffer((64, 8), "float32"), '
        'Y: T.Buffer((20, 8), "float32")',
        """
    P = T.alloc_buffer((32, 8), "float32")
    H = T.alloc_buffer((32, 64), "float32")
    for i, k in T.grid(32, 8):
        if i < 20:
            P[i, k] = X[i, k]
        else:
            P[i, k] = 0.0
    for i, j in T.grid(32, 64):
        H[i, j] = 0.0
        for k in range(8):
            H[i, j] = H[i, j] + P[i, k] * W[k, j]
    for i, j in T.grid(20, 8):
        Y[i, j] = 0.0
        for k in range(64):
            Y[i, j] = Y[i, j] + H[i, k] * V[k, j]""",
        """
    H = T.alloc_buffer((32, 64), "float32")
    for i in T.serial(20):
        for j in T.serial(64):
            H[i, j] = 0.0
            for k in T.serial(8):
                H[i, j] = H[i, j] + X[i, k] * W[k, j]
        for j in T.serial(8):
            Y[i, j] = 0.0
            for k in T.serial(64):
                Y[i, j] = Y[i, j] + H[i, k] * V[k, j]""",
    ),
    "iterations that somebody needs are every fourth": Case(
        'A: T.Buffer((32, 8), "float32"), W: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")',
        """
    P = T.alloc_buffer((32, 8), "float32")
    for i, j in T.grid(32, 8):
        P[i, j] = 0.0
        for k in range(8):
            P[i, j] = P[i, j] + A[i, k] * W[k, j]
    for i, j in T.grid(8, 8):
        B[i, j] = P[4 * i + 1, j]""",
        """
    P = T.alloc_buffer((32, 8), "float32")
    for i, j in T.grid(8, 8):
        P[i * 4 + 1, j] = 0.0
        for k in T.serial(8):
            P[i * 4 + 1, j] = P[i * 4 + 1, j] + A[i * 4 + 1, k] * W[k, j]
        B[i, j] = P[4 * i + 1, j]""",
    ),
    "a bound of what lengths do not cut off": Case(
        RAGGED,
        """
    for i, j in T.grid(4, 64):
        T.assume(j >= lens[i] or X[i, j] > 0.5)
    for i in range(4):
        Z[i] = 0.0
        for j in range(64):
            if j < lens[i]:
                Z[i] = Z[i] + T.if_then_else(X[i, j] > 0.0, X[i, j], 1.0)""",
        """
    for i in T.serial(4):
        Z[i] = 0.0
        for j in T.serial(64):
            if j < lens[i]:
                Z[i] = Z[i] + X[i, j]""",
    ),
    "zero times a quotient by what is above zero, be it infinite": Case(
        f'{TILES}, G: T.Buffer((4, 4), "float32")',
        f"""{ZERO}
    for i, j in T.grid(4, 4):
        T.assume(G[i, j] < 1000.0)
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            S[0] = S[0] + A[i, j] * (1.0 / (1.0 + T.exp(-G[i, j])))""",
        """
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        S[0] = S[0] + A[i, j] * (1.0 / (1.0 + T.exp(-G[i, j])))""",
    ),
    "tiles with a halo, which a stencil reads": Case(
        'A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")',
        """
    P = T.alloc_buffer((4, 4, 6, 6), "float32")
    for ti, tj, i, j in T.grid(4, 4, 6, 6):
        if 1 <= 4 * ti + i and 4 * ti + i <= 16 and 1 <= 4 * tj + j and 4 * tj + j <= 16:
            P[ti, tj, i, j] = A[4 * ti + i - 1, 4 * tj + j - 1]
        else:
            P[ti, tj, i, j] = 0.0
    for ti, tj, i, j in T.grid(4, 4, 4, 4):
        B[4 * ti + i, 4 * tj + j] = P[ti, tj, i + 1, j + 1] - P[ti, tj, i, j + 1] - P[ti, tj, i + 1, j + 2]""",
        """
    for tj in T.serial(16):
        B[0, tj] = A[0, tj] - T.if_then_else(tj <= 14, A[0, tj + 1], 0.0)
    for ti in T.serial(1, 16):
        for tj in T.serial(15):
            B[ti, tj] = A[ti, tj] - A[ti - 1, tj] - A[ti, tj + 1]
        B[ti, 15] = A[ti, 15] - A[ti - 1, 15]""",
    ),
    "rows over zeros, as long as data say": Case(
        'X: T.Buffer((4, 8), "float32"), '
        'n: T.Buffer((4,), "int32"), Z: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")',
        """
    for b, i in T.grid(4, 8):
        Z[b, i] = 0.0
    for b in range(4):
        T.assume(0 <= n[b] and n[b] <= 8)
        for i in range(n[b]):
            Z[b, i] = X[b, i]
            for k in range(3):
                Z[b, i] = Z[b, i] * X[b, i]
    for b in range(4):
        y[b] = 0.0
        for i in range(8):
            if i < n[b]:
                y[b] = y[b] + Z[b, i]""",
        """
    for b in T.serial(4):
        for i in T.serial(8):
            Z[b, i] = 0.0
        for i in T.serial(8):
            if i < n[b]:
                Z[b, i] = X[b, i]
                for k in T.serial(3):
                    Z[b, i] = Z[b, i] * X[b, i]
        y[b] = 0.0
        for i in T.serial(8):
            y[b] = y[b] + Z[b, i]""",
    ),
    "elements that other rows read, under conditions on data": Case(
        'A: T.Buffer((4, 8, 8), "float32"), X: T.Buffer((4, 8), "float32"), '
        'n: T.Buffer((4,), "int32"), H: T.Buffer((4, 8), "float32")',
        """
    for b, i, j in T.grid(4, 8, 8):
        T.assume(1 <= n[b] and n[b] <= 8 and (i < n[b] or A[b, i, j] == 0.0))
    for b, i in T.grid(4, 8):
        H[b, i] = 0.0
        if i < n[b]:
            for j in range(8):
                if j < n[b]:
                    H[b, i] = H[b, i] + A[b, i, j] * X[b, j]""",
        """
    for b, i in T.grid(4, 8):
        H[b, i] = 0.0
        for j in T.serial(8):
            if j < n[b]:
                H[b, i] = H[b, i] + A[b, i, j] * X[b, j]""",
    ),
    "a condition of which the element does not tell the values": Case(
        'X: T.Buffer((4, 8), "float32"), '
        'n: T.Buffer((4,), "int32"), Z: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")',
        """
    for b, i in T.grid(4, 8):
        Z[b, i] = 0.0
    for b, i, k in T.grid(4, 8, 3):
        if i + k < n[b]:
            Z[b, i] = Z[b, i] + X[b, i]
    for b in range(4):
        y[b] = 0.0
        for i in range(8):
            if i + 1 < n[b]:
                y[b] = y[b] + Z[b, i]""",
        """
    for b in T.serial(4):
        for i in T.serial(8):
            Z[b, i] = 0.0
            for k in T.serial(3):
                if i + k < n[b]:
                    Z[b, i] = Z[b, i] + X[b, i]
        y[b] = 0.0
        for i in T.serial(8):
            if i + 1 < n[b]:
                y[b] = y[b] + Z[b, i]""",
    ),
    "lengths that are others by now": Case(
        'X: T.Buffer((4, 8), "float32"), '
        'n: T.Buffer((4,), "int32"), Z: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")',
        """
    for b, i in T.grid(4, 8):
        Z[b, i] = 0.0
    for b, i in T.grid(4, 8):
        if i < n[b]:
            Z[b, i] = X[b, i]
    for b in range(4):
        n[b] = 3
    for b in range(4):
        y[b] = 0.0
        for i in range(8):
            if i < n[b]:
                y[b] = y[b] + Z[b, i]""",
        """
    for b in T.serial(4):
        for i in T.serial(8):
            Z[b, i] = T.if_then_else(i < n[b], X[b, i], 0.0)
        n[b] = 3
        y[b] = 0.0
        for i in T.serial(3):
            y[b] = y[b] + Z[b, i]""",
    ),
    "elements that no row need read": Case(
        'A: T.Buffer((4, 8, 8), "float32"), X: T.Buffer((4, 8), "float32"), '
        'n: T.Buffer((4,), "int32"), H: T.Buffer((4, 8), "float32")',
        """
    for b, i, j in T.grid(4, 8, 8):
        T.assume(0 <= n[b] and n[b] <= 8 and (i < n[b] or A[b, i, j] == 0.0))
    for b, i in T.grid(4, 8):
        H[b, i] = 0.0
        if i < n[b]:
            for j in range(8):
                if j < 5:
                    H[b, i] = H[b, i] + A[b, i, j] * X[b, j]""",
        """
    for b, i in T.grid(4, 8):
        H[b, i] = 0.0
        if i < n[b]:
            for j in T.serial(5):
                H[b, i] = H[b, i] + A[b, i, j] * X[b, j]""",
    ),
    "padding around what quotients and remainders of places name": Case(
        'X: T.Buffer((4, 5, 5), "float32"), Y: T.Buffer((12, 12), "float32")',
        """
    for y, x in T.grid(12, 12):
        if y >= 1 and y < 11 and x >= 1 and x < 11:
            Y[y, x] = X[(y - 1) % 2 * 2 + (x - 1) % 2, (y - 1) // 2, (x - 1) // 2]
        else:
            Y[y, x] = 0.0""",
        """
    for y, x in T.grid(12, 12):
        Y[y, x] = 0.0
    for yo, yi, xo, xi in T.grid(5, 2, 5, 2):
        Y[yi + 2 * yo + 1, xi + 2 * xo + 1] = X[xi + 2 * yi, yo, xo]""",
    ),
    "what data are compared with is compared with other data": Case(
        RAGGED.replace("lens", "K") + ', L: T.Buffer((4,), "int32")',
        """
    for i in range(4):
        T.assume(0 <= L[i] and L[i] <= K[i] and K[i] <= 64)
    for i, p in T.grid(4, 64):
        T.assume(p < L[i] or X[i, p] == 0.0)
    for i in range(4):
        Z[i] = 0.0
        for p in range(64):
            if p < K[i]:
                Z[i] = Z[i] + X[i, p]""",
        """
    for i in T.serial(4):
        Z[i] = 0.0
        for p in T.serial(64):
            Z[i] = Z[i] + X[i, p]""",
    ),
    "a softmax over a triangle whose other half is minus infinity": Case(
        'X: T.Buffer((8, 8), "float32"), M: T.Buffer((8,), "float32"), S: T.Buffer((8,), "float32"), '
        'Y: T.Buffer((8, 8), "float32")',
        """
    for i, p in T.grid(8, 8):
        T.assume(p <= i or X[i, p] == T.float32("-inf"))
    for i, p in T.grid(8, 8):
        if p <= i:
            Y[i, p] = T.exp(X[i, p] - M[i]) / S[i]
        else:
            Y[i, p] = 0.0""",
        """
    for i, p in T.grid(8, 8):
        Y[i, p] = T.exp(X[i, p] - M[i]) / S[i]""",
    ),
    "to subtract a number is to add its negative": Case(
        X_AND_Y,
        """
    for i, p in T.grid(4, 64):
        T.assume(p < 60 or X[i, p] == -10.0)
    for i, p in T.grid(4, 64):
        if p < 60:
            Y[i, p] = Y[i, p] + X[i, p]
        else:
            Y[i, p] = Y[i, p] - 10.0""",
        """
    for i, p in T.grid(4, 64):
        Y[i, p] = Y[i, p] + X[i, p]""",
    ),
    "a condition on data that leaves an element one number": Case(
        LINES,
        """
    for i in range(16):
        T.assume(0 <= A[i] and A[i] < 100 and 0 <= B[i] and B[i] < 100)
    for i in range(16):
        if A[i] > 0:
            B[i] = B[i] + A[i] * i""",
        """
    for i in T.serial(16):
        B[i] = B[i] + A[i] * i""",
    ),
}


@pytest.mark.parametrize("name", some(CASES, 0.12))
def test_the_search_ends_with_what_an_expert_would_write(name: str) -> None:
    case = CASES[name]
    func = case.program()
    best = optimize(func).best
    assert to_script(best).split(":\n", 1)[1].strip() == case.end.strip()
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


# By name: parameters, a body, and how many guards and selections must stay.
TRAPS = {
    "the element is written after it got a name": (
        TILES,
        f"""{ZERO}
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        v = A[i, j]
        A[i, j] = 3.0
        if 4 * i + j < 14:
            S[0] = S[0] + (v + 1.0) * A[i, j]""",
        1,
    ),
    "the element is written before it gets a name": (
        TILES,
        f"""{ZERO}
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        A[i, j] = A[i, j] + 3.0
        v = A[i, j]
        if 4 * i + j < 14:
            S[0] = S[0] + v""",
        1,
    ),
    "a quotient that the guard keeps from being infinite": (
        THREE,
        """
    for i in range(16):
        T.assume(A[i] != 0.0 or B[i] == 0.0)
    C[0] = 0.0
    for i in range(16):
        if A[i] != 0.0:
            C[0] = C[0] + B[i] * (1.0 / A[i])""",
        1,
    ),
    "a root of what is negative in padding": (
        THREE,
        """
    for i in range(16):
        T.assume(A[i] >= 0.0 or B[i] == 0.0)
    C[0] = 0.0
    for i in range(16):
        if A[i] >= 0.0:
            C[0] = C[0] + B[i] * T.sqrt(A[i])""",
        1,
    ),
    "rows that may be empty are divided by nothing": (
        RAGGED,
        """
    for r, k in T.grid(4, 64):
        T.assume(k < lens[r] or X[r, k] == 0.0)
    for r, k in T.grid(4, 64):
        if k < lens[r]:
            Y[r, k] = X[r, k] / Z[r]
        else:
            Y[r, k] = 0.0""",
        1,
    ),
    "places that data name, one of which holds no zero": (
        LOOKUP,
        """
    for i in range(8):
        T.assume(J[i] >= 0 and J[i] <= 9)
    T.assume(x[8] == 0.0)
    y[0] = 0.0
    for i in range(8):
        if J[i] < 8:
            y[0] = y[0] + x[J[i]]""",
        1,
    ),
    "data that are written before they name a place": (
        LOOKUP,
        """
    for i in range(8):
        T.assume(J[i] >= 0 and J[i] <= 8)
    T.assume(x[8] == 0.0)
    y[0] = 0.0
    for i in range(8):
        if J[i] < 8:
            J[i] = J[i] // 2
            y[0] = y[0] + x[J[i]]
        else:
            J[i] = J[i] // 2""",
        1,
    ),
    "padding above the start of a maximum": (
        ROWS,
        f"""{LOW.replace("-1e30", "-10.0")}
    for i in range(6):
        M[i] = -1000.0
        for a, b in T.grid(4, 4):
            if 4 * a + b < 14:
                M[i] = T.max(M[i], A[i, a, b])""",
        1,
    ),
    "a maximum that may be as low as the padding has an exponential of one": (
        ROWS.replace("M:", 'L: T.Buffer((6,), "float32"), M:'),
        f"""{LOW}
    for i in range(6):
        M[i] = -1e30
        for a, b in T.grid(4, 4):
            M[i] = T.max(M[i], A[i, a, b])
        L[i] = 0.0
        for a, b in T.grid(4, 4):
            if 4 * a + b < 14:
                L[i] = L[i] + T.exp(A[i, a, b] - M[i])""",
        1,
    ),
    "padding may be above a threshold that may be negative": (
        TILES.replace("S:", "t: T.float32, S:"),
        f"""
    T.assume(t >= -1.0){ZERO}
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            if A[i, j] > t:
                S[0] = S[0] + 1.0""",
        2,
    ),
    "widths that are other symbols": (
        'A: T.Buffer((4, 8), "float32"), n: T.int32, w: T.int32, v: T.int32, S: T.Buffer((1,), "float32")',
        """
    for i, j in T.grid(4, 8):
        T.assume(w * i + j < n or A[i, j] == 0.0)
    S[0] = 0.0
    for i, j in T.grid(4, 8):
        if v * i + j < n:
            S[0] = S[0] + A[i, j]""",
        1,
    ),
    "stores of something else, at places that data decide": (
        'idx: T.Buffer((8,), "int32"), S: T.Buffer((1,), "float32")',
        """
    D = T.alloc_buffer((16,), "float32")
    for p in range(8):
        T.assume(0 <= idx[p] and idx[p] < 16)
    for i in range(16):
        D[i] = 0.0
    for p in range(8):
        D[idx[p]] = 1.0
    S[0] = 0.0
    for i in range(16):
        if i % 5 != 3:
            S[0] = S[0] + D[i]""",
        1,
    ),
    "a store in between changes the condition": (
        THREE,
        """
    for i in range(16):
        if A[i] > 0.0:
            B[i] = A[i] + 1.0
        A[i] = C[i]
        if A[i] > 0.0:
            B[i] = B[i] + C[i]""",
        2,
    ),
    "arms whose sums overflow in other places": (
        LINES,
        """
    for i in range(16):
        if i < n:
            B[i] = A[i] + B[i] + n
        else:
            B[i] = n + B[i] + A[i]""",
        1,
    ),
    "a product with what is zero in padding, of a local that nobody wrote there": (
        'X: T.Buffer((4, 4), "float32"), V: T.Buffer((4, 4), "float32"), O: T.Buffer((4,), "float32")',
        """
    E = T.alloc_buffer((4, 4), "float32")
    for e, g in T.grid(4, 4):
        T.assume(4 * e + g < 14 or V[e, g] == 0.0)
    for e in range(4):
        for g in range(4):
            if e < 3 or g < 2:
                E[e, g] = X[e, g]
            else:
                E[e, g] = T.undef()
    for i in range(4):
        O[i] = 0.0
        for e, g in T.grid(4, 4):
            if 4 * e + g < 14:
                O[i] = O[i] + (E[e, g] - E[e, g]) + E[e, g] * V[e, g]""",
        0,
    ),
    "an accumulation of what is zero only at first": (
        'X: T.Buffer((16, 3), "float32"), W: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")',
        """
    for o in range(16):
        T.assume(o % 5 != 3 or W[o] == 0.0)
    for o in range(16):
        if o % 5 != 3:
            Y[o] = 0.0
            for k in range(3):
                Y[o] = Y[o] + X[o, k] * W[o]
                W[o] = W[o] + 1.0
            Y[o] = T.max(Y[o], 0.0)
        else:
            Y[o] = 0.0""",
        1,
    ),
    "which iterations do something hangs on the loop around": (
        'A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")',
        """
    for i, j in T.grid(4, 16):
        if (j - i) % 4 == 0:
            B[i, j] = A[i, j] + 1.0""",
        1,
    ),
    "lengths may cut off the first element": (
        RAGGED,
        """
    for i, j in T.grid(4, 64):
        T.assume(j >= lens[i] or X[i, j] > 0.5)
    for i in range(4):
        Z[i] = T.if_then_else(X[i, 0] > 0.0, X[i, 0], 1.0)""",
        1,
    ),
    "other lengths than those that the bound is about": (
        RAGGED,
        """
    for i, j in T.grid(4, 64):
        T.assume(j >= lens[i] or X[i, j] > 0.5)
    for i in range(4):
        lens[i] = 3
    for i in range(4):
        for j in range(64):
            if j < lens[i]:
                Y[i, j] = T.if_then_else(X[i, j] > 0.0, X[i, j], 1.0)""",
        1,
    ),
    "zero times a quotient by what may be zero": (
        f'{TILES}, G: T.Buffer((4, 4), "float32")',
        f"""{ZERO}
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            S[0] = S[0] + A[i, j] * (1.0 / T.exp(G[i, j]))""",
        1,
    ),
    "zero times a sum of infinities": (
        f'{TILES}, G: T.Buffer((4, 4), "float32")',
        f"""{ZERO}
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            S[0] = S[0] + A[i, j] * T.tanh(T.exp(G[i, j]) - T.exp(2.0 * G[i, j]))""",
        1,
    ),
    "zero times an element that is assumed to be infinite": (
        TILES + ', Z: T.Buffer((4, 4), "float32")',
        """
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or (A[i, j] == T.float32("-inf") and Z[i, j] == 0.0))
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            S[0] = S[0] + Z[i, j] * A[i, j]""",
        1,
    ),
    "an infinite element that the program reads, in a part of the padding": (
        TILES + ', Z: T.Buffer((4, 4), "float32")',
        """
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or A[i, j] == T.float32("-inf"))
        T.assume(4 * i + j < 13 or Z[i, j] == 0.0)
    S[0] = 0.0
    for i, j in T.grid(4, 4):
        S[0] = T.max(S[0], A[i, j])
    for i, j in T.grid(4, 4):
        if 4 * i + j < 13:
            S[0] = S[0] + Z[i, j] * A[i, j]""",
        1,
    ),
    "a condition on data that leaves an element two numbers": (
        LINES,
        """
    for i in range(16):
        T.assume(0 <= A[i] and A[i] < 100 and 0 <= B[i] and B[i] < 100)
    for i in range(16):
        if A[i] > 1:
            B[i] = B[i] + A[i] * i""",
        1,
    ),
}


def _decisions(func: PrimFunc) -> int:
    """How many branches and selections a program has."""
    selections = sum(isinstance(e, Select) for e in all_exprs(func.body))
    return selections + sum(isinstance(s, If) for s in walk(func.body))


@pytest.mark.parametrize("name", some(TRAPS, 0.16))
def test_programs_that_only_look_alike_keep_their_guards(name: str) -> None:
    params, body, guards = TRAPS[name]
    func = parse(f"@T.prim_func\ndef f({params}):{body}\n").funcs[0]
    result = optimize(func, k=3)
    assert _decisions(result.best) >= guards, to_script(result.best)
    for variant, _ in result.variants:
        assert assert_refines(func, variant, np.random.default_rng(1)) > 0


def test_a_name_for_what_is_arbitrary_is_one_value() -> None:
    func = parse(
        """@T.prim_func
def f(B: T.Buffer((4,), "int32")):
    L = T.alloc_buffer((4,), "int32")
    for i in range(4):
        v = L[i]
        B[i] = v - v
"""
    ).funcs[0]
    for variant, _ in optimize(func, k=3).variants:
        assert assert_refines(func, variant, np.random.default_rng(1)) > 0


def test_bounds_of_floats_need_the_freedom_that_nothing_is_nan() -> None:
    case = CASES["no padding is above a threshold that is not negative"]
    best = optimize(case.program(), floats=Floats.STRICT).best
    assert _decisions(best) == 2, to_script(best)


@pytest.mark.parametrize(("extremum", "start", "side"), [("max", "-5.0", "<"), ("min", "5.0", ">")])
def test_that_an_accumulator_is_defined_is_no_bound_of_it(extremum: str, start: str, side: str) -> None:
    func = parse(
        f"""@T.prim_func
def f(A: T.Buffer((3,), "float64"), B: T.Buffer((), "float64")):
    m = T.alloc_buffer((), "float64")
    m[()] = {start}
    for i in T.serial(3):
        if A[i] {side} 0.0:
            m[()] = T.{extremum}(m[()], A[i])
    B[()] = m[()]
"""
    ).funcs[0]
    assert assert_refines(func, optimize(func).best, np.random.default_rng(1)) > 0


def test_elements_of_a_recurrence_are_told_by_each_other_without_end() -> None:
    func = parse(
        """@T.prim_func
def f(a: T.Buffer((40, 4), "float32"), b: T.Buffer((40, 4), "float32"), X: T.Buffer((40, 4), "float32")):
    cp = T.alloc_buffer((40, 4), "float32")
    for s in range(4):
        cp[0, s] = a[0, s] / b[0, s]
        for i in range(1, 40):
            cp[i, s] = a[i, s] / (b[i, s] - a[i, s] * cp[i - 1, s])
        X[39, s] = cp[39, s]
        for i in range(39):
            X[38 - i, s] = cp[38 - i, s] - cp[38 - i, s] * X[39 - i, s]
"""
    ).funcs[0]
    assert optimize(func).report.stopped.startswith("saturated")


def test_elements_of_two_buffers_are_told_by_each_other_without_end() -> None:
    func = parse(
        """@T.prim_func
def f(X: T.Buffer((6,), "float32"), M: T.Buffer((6,), "int32"), Y: T.Buffer((6,), "float32")):
    for k in range(6):
        T.assume(M[k] > 0 or X[k] >= 0.0)
    for k in range(6):
        if M[k] != 0:
            Y[k] = X[k]
"""
    ).funcs[0]
    assert assert_refines(func, optimize(func).best, np.random.default_rng(1)) > 0


def test_what_several_statements_leave_are_numbers_but_for_what_one_of_them_stores() -> None:
    func = parse(
        """@T.prim_func
def f(Q: T.Buffer((6, 2), "float32"), P: T.Buffer((6, 6), "float32")):
    S = T.alloc_buffer((6, 6), "float32")
    M = T.alloc_buffer((6,), "float32")
    D = T.alloc_buffer((6,), "float32")
    for i, j in T.grid(6, 6):
        S[i, j] = 0.0
        for d in range(2):
            S[i, j] = S[i, j] + Q[i, d] * Q[j, d]
    for i, j in T.grid(6, 6):
        if j > i:
            S[i, j] = T.float32("-inf")
    for i in range(6):
        M[i] = S[i, 0]
        for j in range(6):
            if j <= i:
                M[i] = T.max(M[i], S[i, j])
    for i in range(6):
        D[i] = 0.0
        for j in range(6):
            if j <= i:
                D[i] = D[i] + T.exp(S[i, j] - M[i])
    for i, j in T.grid(6, 6):
        if j <= i:
            P[i, j] = T.exp(S[i, j] - M[i]) / D[i]
        else:
            P[i, j] = 0.0
"""
    ).funcs[0]
    best = optimize(func).best
    assert _decisions(best) == 0, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(1)) > 0


@pytest.mark.parametrize(("least", "guards"), [(1, 0), (0, 1)])  # of an empty row, the first element is padding
def test_a_maximum_that_starts_with_an_element_of_its_row_is_a_number(least: int, guards: int) -> None:
    func = parse(
        f"""@T.prim_func
def f(X: T.Buffer((4, 12), "float32"), n: T.Buffer((4,), "int32"), Z: T.Buffer((4,), "float32")):
    M = T.alloc_buffer((4,), "float32")
    for b, t in T.grid(4, 12):
        T.assume(n[b] >= {least} and n[b] <= 12 and (t < n[b] or X[b, t] == -T.float32("inf")))
    for b in range(4):
        M[b] = X[b, 0]
        for t in range(12):
            if t < n[b]:
                M[b] = T.max(M[b], X[b, t])
    for b in range(4):
        Z[b] = 0.0
        for t in range(12):
            if t < n[b]:
                Z[b] = Z[b] + T.exp(X[b, t] - M[b])
"""
    ).funcs[0]
    best = optimize(func).best
    assert to_script(best).count("if ") == guards
    assert assert_refines(func, best, np.random.default_rng(1)) > 0


SEARCHED = "if X[b, t] > best[0]:\n                    best[0] = X[b, t]\n                    A[b] = t"


@pytest.mark.parametrize(
    ("pad", "start", "step", "goes"),
    some(
        [
            ('-T.float32("inf")', '-T.float32("inf")', SEARCHED, True),
            ("0.0", "0.0", SEARCHED, True),
            ("0.0", "0.0", SEARCHED.replace("X[b, t] > best[0]", "best[0] < X[b, t]"), True),
            ("0.0", "0.0", SEARCHED.replace("> best[0]", "> best[0] and t != 3"), True),
            ("0.0", "0.0", "best[0] = T.Select(X[b, t] > best[0], X[b, t], best[0])", True),
            ("1.0", "0.0", SEARCHED, False),
            ("0.0", "-1.0", SEARCHED, False),
            ("0.0", "0.0", SEARCHED.replace(">", ">="), False),  # the last one that is as large
            ("0.0", "0.0", SEARCHED.replace("= X[b, t]", "= X[b, t] - 1.0"), False),
            ("0.0", "0.0", SEARCHED.replace("= X[b, t]", "= X[b, t // 2]"), False),
            ("0.0", "0.0", SEARCHED.replace("best[0] =", "X[b, t] = -9.0\n                    best[0] ="), False),
            ("0.0", "0.0", SEARCHED.replace("> best[0]", "> best[1]"), False),
        ],
        0.14,
    ),
)
def test_what_a_search_has_found_is_no_less_than_what_it_began_with(
    pad: str, start: str, step: str, goes: bool
) -> None:
    func = parse(
        f"""@T.prim_func
def f(
    X: T.Buffer((4, 12), "float32"),
    n: T.Buffer((4,), "int32"),
    A: T.Buffer((4,), "int32"),
    M: T.Buffer((4,), "float32"),
):
    for b, t in T.grid(4, 12):
        T.assume(t < n[b] or X[b, t] == {pad})
    for b in range(4):
        best = T.alloc_buffer((2,), "float32")
        best[0] = {start}
        best[1] = -9.0
        A[b] = -1
        for t in range(12):
            if t < n[b]:
                {step}
        M[b] = best[0]
"""
    ).funcs[0]
    best = optimize(func).best
    assert ("n[b]" not in to_script(best)) is goes, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(1)) > 0


PLACE = 'T.cast(T.floor(P[i] * 3.0), "int64")'
OF_LOCAL = 'T.cast(p, "int64")'


def around(place: str) -> str:
    """An index that counts from the end where it is negative."""
    return f"T.if_then_else({place} < 0, {place} + 20, {place})"


@pytest.mark.parametrize(
    ("guard", "then", "goes"),
    some(
        [
            (f"if 0 <= {PLACE} and {PLACE} < 20", f"Y[i] = X[{around(PLACE)}]", True),
            (
                f"if {PLACE} >= 0 and {PLACE} < 16",
                f"for d in range(3):\n                Y[i] += X[{around(PLACE)} + d]",
                True,
            ),
            (f"p = P[i] * 3.0\n        if 0 <= {OF_LOCAL} and {OF_LOCAL} < 20", f"Y[i] = X[{around(OF_LOCAL)}]", True),
            (f"if {PLACE} >= -3 and {PLACE} < 20", f"Y[i] = X[{around(PLACE)}]", False),
            (f"if {PLACE} >= 0", f"P[i] = P[i] - 4.0\n            Y[i] = X[{around(PLACE)}]", False),
            (f"if {PLACE} >= 0 or P[0] < 1.0", f"Y[i] = X[{around(PLACE)}]", False),
            (f"if {PLACE} >= 0", f"Y[i] = 1.0\n        Y[i] = X[{around(PLACE)}]", False),
            (f"if {PLACE.replace('P[i]', 'P[7 - i]')} >= 0", f"Y[i] = X[{around(PLACE)}]", False),
        ],
        0.62,
    ),
)
def test_places_that_floats_are_rounded_to_have_bounds(guard: str, then: str, goes: bool) -> None:
    """Pixels that positions lie in: a guard says where no index counts from the end."""
    func = parse(
        f"""@T.prim_func
def f(P: T.Buffer((8,), "float32"), X: T.Buffer((20,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        {guard}:
            {then}
"""
    ).funcs[0]
    best = optimize(func).best
    assert (not any(isinstance(e, Select) and "+ 20" in str(e.then) for e in all_exprs(best.body))) is goes, best
    assert assert_refines(func, best, np.random.default_rng(1)) > 0


EXTREMES = [
    ("T.if_then_else(x > y, x, y)", "T.max(x, y)"),
    ("T.if_then_else(x <= y, x, y)", "T.min(x, y)"),
    ("T.if_then_else(x < y, y, x)", "T.max(y, x)"),
    ("T.if_then_else(x > 6.0, 6.0, T.if_then_else(x > 0.0, x, 0.0))", "T.min(T.max(x, 0.0), 6.0)"),
    ("T.if_then_else(x < 0.0, -x, x)", "T.abs(x)"),
    ("T.if_then_else(x >= 0.0, x, -x)", "T.abs(x)"),
]
NO_EXTREMES = [
    "T.if_then_else(x > y, x, y + 1.0)",
    "T.if_then_else(x > 6.0, 7.0, x)",  # 6.5 stays, 7 is no more than it
    "T.if_then_else(x > 0.0, x, -y)",
    "T.if_then_else(x > 0.0, x, x * 0.5 - 1.0)",  # which is no greater where x is -4
    "T.if_then_else(x == y, x, y)",
]


def _pointwise(value: str, dtype: str = "float32") -> PrimFunc:
    text = value.replace("x", "A[i]").replace("y", "B[i]").replace("maA[i]", "max")
    text = text if dtype == "float32" else text.replace(".0", "")
    bounds = "" if dtype == "float32" else "    for i in range(16):\n        T.assume(-9 < A[i] and A[i] < 9)\n"
    params = ", ".join(f'{b}: T.Buffer((16,), "{dtype}")' for b in "ABO")
    return parse(f"@T.prim_func\ndef f({params}):\n{bounds}    for i in range(16):\n        O[i] = {text}\n").funcs[0]


@pytest.mark.parametrize(("choice", "extreme"), some(EXTREMES, 0.5))
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_choices_by_a_comparison_are_extremes(choice: str, extreme: str, dtype: str) -> None:
    func, wanted = _pointwise(choice, dtype), _pointwise(extreme, dtype)
    best = optimize(func).best
    assert to_script(best).split("O[i] = ")[1] == to_script(wanted).split("O[i] = ")[1]
    assert assert_refines(func, best, np.random.default_rng(0), runs=4) > 0


@pytest.mark.parametrize("choice", NO_EXTREMES)
def test_other_choices_stay(choice: str) -> None:
    func = _pointwise(choice)
    best = optimize(func).best
    assert "if_then_else" in to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), runs=4) > 0


def test_extremes_of_floats_take_that_nothing_is_nan() -> None:
    for floats in (Floats.STRICT, Floats.NO_SIGNED_ZEROS, Floats.FINITE):
        assert "if_then_else" in to_script(optimize(_pointwise(EXTREMES[0][0]), floats=floats).best)


@pytest.mark.parametrize(
    ("value", "same"),
    [
        ("T.if_then_else(i < 8, x * 2.0, x + x)", "x * 2.0"),
        ("T.if_then_else(i < 8, x - y, -(y - x))", "x - y"),
        ("T.if_then_else(i < 8, x - y, x + -y)", "x - y"),
        ("T.if_then_else(i < 8, x + y, x - -y)", "x + y"),
        ("x * 0.5 + x * 0.5", "x"),
        ("(x * 3.0) * 0.5", "x * 1.5"),
        ("(x * 1e-30) * 1e-30", "x * 1e-30 * 1e-30"),  # 1e-60 is no float32
        ("(x * 1e30) * 1e30", "x * 1e+30 * 1e+30"),
    ],
)
def test_values_that_are_written_in_another_way_meet(value: str, same: str) -> None:
    func = _pointwise(value)
    best = optimize(func).best
    assert to_script(best).split("O[i] = ")[1].strip() == same.replace("x", "A[i]").replace("y", "B[i]")
    assert assert_refines(func, best, np.random.default_rng(0), runs=4) > 0
