"""k2mm: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

from baselines.common import Array, prange


def from_left(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Any:
    return alpha * (A @ B @ C) + beta * D


def scaled_middle(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Any:
    return (alpha * (A @ B)) @ C + beta * D


def from_right(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Any:
    return alpha * (A @ (B @ C)) + beta * D


def loops(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Any:
    out = A @ B @ C
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = alpha * out[i, j] + beta * D[i, j]
    return out


def plain(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Any:
    return alpha * (A @ B @ C) + beta * D


JNP = (
    from_left,
    scaled_middle,
    from_right,
)
