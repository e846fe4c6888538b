"""Complex numbers in plain functions: pairs of floats in the program, complex numbers of NumPy for who calls it."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest

from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)
TURN = 0.5 - 0.25j
NARROW = np.complex64(2j)


def Z(r: np.random.Generator, *shape: int) -> Any:
    return r.normal(size=shape or (6,)) + 1j * r.normal(size=shape or (6,))


def one(r: np.random.Generator) -> tuple[Any, ...]:
    return (Z(r),)


def narrow(r: np.random.Generator) -> tuple[Any, ...]:
    return Z(r).astype(np.complex64), np.float32(1.5), r.random(6).astype(np.float32)


@program(lambda r: (Z(r), Z(r)))
def operators(a, b):
    return a + b, a - b, a * b, a / b, -a, a == b, a != b, a * TURN, (a + b) * (a - b) * (b + 2) / (a * b + 1)


@program(narrow)
def dtypes(z, s, x):
    parts = z.real * 1.5, z.imag, np.abs(z)
    return z * s, z * 2, z + 1j, z / 2, x * 1j, z * NARROW, z * np.float64(2), z.astype(np.complex128), parts


@program(one)
def parts_and_powers(a):
    return a.real, a.imag, abs(a), a.conj(), np.angle(a), a**2, a**3, a**-2, a**0, a**0.5, 2 ** (1j * a), np.square(a)


@program(one)
def functions(a):
    waves = np.sin(a), np.cos(a), np.sinh(a), np.cosh(a)
    return np.exp(a), np.sqrt(a), np.sqrt(-1j * a.conj()), np.log(a), np.log10(a), waves


@program(one)
def tangents(a):
    far = np.array([400 + 0.3j, 0.3 + 400j, 3j, 0 - 3j, 1e-9 + 1e-9j, 1 + 0j])
    return np.tan(a), np.tanh(a), np.arctan(a), np.tan(far), np.tanh(far), np.arctan(far), cmath.tan(a[0])


@program(one)
def arcs(a):
    more = np.array([0.5 + 0j, 2 + 1e-3j, -3 - 1e-2j, 1e-6 + 1e-7j, 1j])
    found = np.arcsin(a), np.arccos(a), np.arcsinh(a), np.arccosh(a), np.arctanh(a)
    return found, np.arcsin(more), np.arccos(more), np.arccosh(more), cmath.asin(0.25), cmath.acosh(a[0])


@program(lambda r: (r.normal(size=6),))
def of_cmath(x):
    a, b, c = x[0], x[1], x[2]
    root = cmath.sqrt(b * b - 4 * a * c)
    return (
        (-b + root) / (2 * a),
        cmath.exp(1j * a),
        cmath.phase(complex(a, b)),
        cmath.log(c),
        complex(x[3]),
        cmath.polar(1j * cmath.rect(a * a, b)),
    )


@program(lambda r: (r.uniform(-2, 1, 5), r.uniform(-1, 1, 4)))
def mandelbrot(xs, ys):
    out = np.zeros((len(ys), len(xs)), dtype=np.int32)
    for i, y in enumerate(ys):
        for j, x in enumerate(xs):
            c, z, k = complex(x, y), 0j, 0
            while k < 12 and abs(z) <= 2:
                z = z * z + c
                k += 1
            out[i, j] = k
    return out


@program(lambda r: (Z(r, 8),))
def fft(x):
    n = len(x)
    a = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            a[i], a[j] = a[j], a[i]
    length = 2
    while length <= n:
        w = np.exp(-2j * np.pi / length)
        for i in range(0, n, length):
            wk = 1 + 0j
            for k in range(length // 2):
                u, v = a[i + k], a[i + k + length // 2] * wk
                a[i + k], a[i + k + length // 2] = u + v, u - v
                wk *= w
        length *= 2
    return a


@program(lambda r: (Z(r, 3, 3), Z(r, 3, 2), Z(r, 3)))
def matrices(A, B, v):
    totals = A.sum(), A.sum(axis=0), A.mean(), np.trace(A), np.linalg.norm(v), v.std()
    return A @ B, A @ v, np.vdot(v, v), A.conj().T @ A, np.outer(v, v), np.cumsum(v), np.prod(v), totals


@program(one)
def in_place(z):
    for i in range(len(z)):
        z[i] = z[i] * (1 + 2j)
    z *= 2
    z[1:] += z[:-1] * z[1:]
    z[np.abs(z) > 3] = 0
    return z, np.where(z.real > 0, z, z.conj()), np.array([v * v for v in z]), [abs(v) for v in z]


@program(lambda r: (Z(r, 4, 4),))
def determinant(A):
    A = A.copy()
    d = 1 + 0j
    for k in range(len(A)):
        p = k
        for i in range(k + 1, len(A)):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if p != k:
            A[[k, p]] = A[[p, k]]
            d = -d
        d *= A[k, k]
        for i in range(k + 1, len(A)):
            A[i, k:] -= A[i, k] / A[k, k] * A[k, k:]
    return d


@program(lambda r: (Z(r), 2.0 - 1j, np.complex128(1j)))
def numbers(z, c, d):
    w = z[0] if z[0].real > 0 else c
    if w.imag < 0:
        w = w.conjugate()
    s = 0.0
    for v in z:
        s += abs(v) ** 2
    return w, math.sqrt(s), sum(v * d for v in z)


def stored_part(x):
    z = x * 1j
    z.real[0] = 1
    return z


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.41), ids=[f.__name__ for f, _ in PROGRAMS])
def test_a_program_computes_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x * 1j < 1, "abs"),
        (lambda x: np.max(x * 1j), "abs"),
        (lambda x: np.zeros(3) + np.float64(x[0] * 1j), "z.real"),
        (lambda x: x * 1j // 2, "floordiv"),
        (stored_part, "complex(x, z[i].imag)"),
    ],
)  # fmt: skip
def test_what_complex_numbers_have_not_is_refused(function: Any, text: str) -> None:
    check_refused(function, text)
