"""k3mm: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

from baselines.common import Array


def in_pairs(A: Array, B: Array, C: Array, D: Array) -> Any:
    return (A @ B) @ (C @ D)


def from_left(A: Array, B: Array, C: Array, D: Array) -> Any:
    return A @ B @ C @ D


def loops(A: Array, B: Array, C: Array, D: Array) -> Any:
    return A @ B @ C @ D


def plain(A: Array, B: Array, C: Array, D: Array) -> Any:
    return A @ B @ C @ D


JNP = (
    in_pairs,
    from_left,
)
