"""Sizes given their values: a function over symbolic extents becomes one over numbers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ir.errors import LoopsatError, suggest
from ir.fold import fold
from ir.nodes import Buffer, Expr, PrimFunc, Var, const
from ir.traverse import map_expr, shape_vars, with_buffers


def specialize(func: PrimFunc, sizes: Mapping[str, int]) -> PrimFunc:
    """The function for these values of shape variables and integer parameters; such parameters are gone from it.

    What is then an operation on integer numbers is worked out, so that extents such as `n // 4` are numbers too.

    Raises:
        LoopsatError: a name is no shape variable or integer parameter, or a value leaves its dtype.
    """
    known = {v.name: v for v in (*shape_vars(func), *(s for s in func.scalars if s.dtype.is_integer))}
    values: dict[Var, Expr] = {}
    for name, size in sizes.items():
        if name not in known:
            help = suggest(name, known) or f"its sizes are {', '.join(known) or 'none'}"
            raise LoopsatError("unknown-size", f"{func.name} has no size `{name}`", func.span, help=help)
        var = known[name]
        if not var.dtype.min <= size <= var.dtype.max:
            raise LoopsatError("bad-size", f"{name} = {size} is no {var.dtype}", func.span)
        values[var] = const(size, var.dtype)

    return func.with_origin(lambda f: _with_values(f, values))


def _with_values(func: PrimFunc, values: Mapping[Var, Expr]) -> PrimFunc:
    def node(e: Expr) -> Expr:
        if isinstance(e, Var):
            return values.get(e, e)
        return fold(e) if e.dtype.is_integer else e

    def buffer(b: Buffer) -> Buffer:
        return replace(b, shape=tuple(map_expr(d, node) for d in b.shape))

    new = with_buffers(func, buffer, node)
    return replace(new, params=tuple(p for p in new.params if p not in values))
