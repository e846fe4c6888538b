"""Results of which JAX has derivatives forward only, marked so that one backward is refused in words of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ir.errors import LowerError

Array = Any


def forward_only(results: Sequence[Array], name: str, loops: Sequence[str]) -> list[Array]:
    """Results of a function whose `loops` run as often as data say, unchanged; their derivatives backward raise."""

    def marked(result: Array) -> Array:
        return (
            _MARK.bind(result, name=name, loops=tuple(loops)) if jnp.issubdtype(result.dtype, jnp.floating) else result
        )

    return list(map(marked, results))


def _refuse(_tangent: Array, _operand: Array, *, name: str, loops: Sequence[str]) -> Sequence[Array]:
    raise LowerError(
        "derivative",
        f"{name} has no derivative backward: nothing bounds how often its loops run",
        notes=list(loops),
        help="bound them, as in T.assume(L[0] <= 100), or differentiate forward, by jax.jvp or jax.jacfwd",
    )


def _as_it_is(operand: Array, **_params: object) -> Array:
    return operand


_MARK = Primitive("forward_only")
_MARK.def_impl(_as_it_is)
_MARK.def_abstract_eval(_as_it_is)
ad.deflinear2(_MARK, _refuse)
batching.defvectorized(_MARK)
mlir.register_lowering(_MARK, mlir.lower_fun(_as_it_is, multiple_results=False))
