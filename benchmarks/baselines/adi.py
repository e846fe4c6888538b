"""adi: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def weights(tsteps: int, n: int) -> Any:
    """Off-diagonal elements of the systems along columns and along rows; the diagonal is 1 - 2 times that."""
    return -1.0 * n * n / tsteps, -0.5 * n * n / tsteps


def eliminated(weight: float, n: int) -> Any:
    """What elimination finds on the way, which is the same for all right sides: p and the divisors."""
    p, divisors = np.zeros(n), np.ones(n)
    for j in range(1, n - 1):
        divisors[j] = weight * p[j - 1] + 1 - 2 * weight
        p[j] = -weight / divisors[j]
    return p, divisors


def solver(weight: float, n: int) -> Any:
    """The matrix that solves the systems: from right sides (ones at both ends) to the unknowns."""
    system = np.eye(n)
    for j in range(1, n - 1):
        system[j, j - 1 : j + 2] = weight, 1 - 2 * weight, weight
    return np.linalg.inv(system)


def right_side(x: Array, weight: float) -> Any:
    """Of the systems along the first axis, from second differences along the second; ones at the ends."""
    inner = -weight * x[1:-1, :-2] + (1 + 2 * weight) * x[1:-1, 1:-1] - weight * x[1:-1, 2:]
    return jnp.pad(inner, ((1, 1), (0, 0)), constant_values=1.0)


def as_products(tsteps: int, n: int, u: Array) -> Any:
    """The systems never change: their inverses, computed once, make each half step a product."""
    a, d = weights(tsteps, n)
    columns, rows = solver(a, n), solver(d, n)

    def step(_, u):
        v = jnp.pad(columns @ right_side(u, d), ((0, 0), (1, 1)))
        return u.at[1:-1].set((rows @ right_side(v.T, a)).T)

    return lax.fori_loop(0, tsteps, step, u)


def as_scans(tsteps: int, n: int, u: Array) -> Any:
    """Elimination and substitution one position after the other, for all systems at once."""
    a, d = weights(tsteps, n)

    def solve(weight, right):
        p, divisors = eliminated(weight, n)

        def forward(q, known):
            value, divisor = known
            q = (value - weight * q) / divisor
            return q, q

        def back(x, known):
            q, p = known
            x = p * x + q
            return x, x

        ones = jnp.ones_like(right[0])
        _, q = lax.scan(forward, ones, (right[1:-1], divisors[1:-1]))
        _, x = lax.scan(back, ones, (q, p[1:-1]), reverse=True)
        return jnp.concatenate([ones[None], x, ones[None]])

    def step(_, u):
        v = jnp.pad(solve(a, right_side(u, d)), ((0, 0), (1, 1)))
        return u.at[1:-1].set(solve(d, right_side(v.T, a)).T)

    return lax.fori_loop(0, tsteps, step, u)


def loops(tsteps: int, n: int, u: Array) -> Any:
    u = u.copy()
    v = np.zeros_like(u)
    one = 1.0
    a = -1.0 * n * n / tsteps
    d = -0.5 * n * n / tsteps
    a2, d2 = one + a + a, one + d + d
    p = np.zeros((2, n))
    inverse = np.zeros((2, n))
    for j in range(1, n - 1):
        inverse[0, j] = one / (a * p[0, j - 1] + one - a - a)
        inverse[1, j] = one / (d * p[1, j - 1] + one - d - d)
        p[0, j] = -a * inverse[0, j]
        p[1, j] = -d * inverse[1, j]
    for _ in range(tsteps):
        for part in prange(8):
            first, last = 1 + part * (n - 2) // 8, 1 + (part + 1) * (n - 2) // 8
            for i in range(first, last):
                v[0, i] = one
                v[n - 1, i] = one
            for j in range(1, n - 1):
                for i in range(first, last):
                    right = d2 * u[j, i] - d * (u[j, i - 1] + u[j, i + 1])
                    v[j, i] = (right - a * v[j - 1, i]) * inverse[0, j]
            for s in range(n - 2):
                j = n - 2 - s
                for i in range(first, last):
                    v[j, i] += p[0, j] * v[j + 1, i]
        for i in prange(1, n - 1):
            u[i, 0] = one
            u[i, n - 1] = one
            for j in range(1, n - 1):
                right = a2 * v[i, j] - a * (v[i - 1, j] + v[i + 1, j])
                u[i, j] = (right - d * u[i, j - 1]) * inverse[1, j]
            for s in range(n - 2):
                j = n - 2 - s
                u[i, j] += p[1, j] * u[i, j + 1]
    return u


def plain(tsteps: int, n: int, u: Array) -> Any:
    a, d = weights(tsteps, n)
    columns, rows = solver(a, n), solver(d, n)
    u, v = u.copy(), np.zeros_like(u)
    right = np.ones_like(u)
    for _ in range(tsteps):
        right[1:-1, 1:-1] = -d * u[1:-1, :-2] + (1 + 2 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]
        v[:, 1:-1] = columns @ right[:, 1:-1]
        right[1:-1, 1:-1] = -a * v[:-2, 1:-1] + (1 + 2 * a) * v[1:-1, 1:-1] - a * v[2:, 1:-1]
        right[1:-1, 0] = right[1:-1, -1] = 1
        u[1:-1] = right[1:-1] @ rows.T
        right[1:-1] = 1
    return u


JNP = (
    as_products,
    as_scans,
)
