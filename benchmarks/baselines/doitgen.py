"""doitgen: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from baselines.common import Array


def one_product(A: Array, C4: Array) -> Any:
    return (A.reshape(-1, C4.shape[0]) @ C4).reshape(A.shape)


def contraction(A: Array, C4: Array) -> Any:
    return jnp.einsum("rqs,sp->rqp", A, C4)


def loops(A: Array, C4: Array) -> Any:
    nr, nq, n = A.shape
    return (A.reshape(nr * nq, n) @ C4).reshape(nr, nq, n)


def plain(A: Array, C4: Array) -> Any:
    return (A.reshape(-1, len(C4)) @ C4).reshape(A.shape)


JNP = (
    one_product,
    contraction,
)
