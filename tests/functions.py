"""Random programs with calls: operators and selections of a program become functions of their own."""

from __future__ import annotations

from msgspec.structs import replace

from ir import PrimFunc
from ir.nodes import Assume, Binary, Expr, Function, Select, Var
from ir.traverse import children, map_expr, map_stmt, walk, with_children

JAX = {
    "add": "jnp.add({x0}, {x1})", "sub": "{x0} - {x1}", "mul": "jnp.multiply({x0}, {x1})", "div": "{x0} / {x1}",
    "min": "jnp.minimum({x0}, {x1})", "max": "jnp.where({x0} > {x1}, {x0}, {x1})", "floordiv": "{x0} // {x1}",
    "floormod": "{x0} % {x1}", "lt": "{x0} < {x1}", "le": "~({x0} > {x1})", "eq": "jnp.equal({x0}, {x1})",
    "and": "{x0} & {x1}", "choose": "jnp.where({x0}, {x1}, {x2})",
}  # fmt: skip


def with_calls(func: PrimFunc, every: int = 1, *, jax: bool = False) -> PrimFunc:
    """`func` with each, or every n-th, operator and selection called as a function; assumptions stay as they are.

    The result is another program: a call evaluates all that it is given. With `jax`, functions have JAX expressions.
    """
    functions: dict[str, Function] = {}
    assumed = {id(s.cond) for s in walk(func.body) if isinstance(s, Assume)}
    count = 0

    def one(expr: Expr) -> Expr:
        nonlocal count
        if not isinstance(expr, (Binary, Select)):
            return expr
        count += 1
        if count % every:
            return expr
        parts = children(expr)
        params = tuple(Var(f"x{k}", part.dtype) for k, part in enumerate(parts))
        op = expr.op if isinstance(expr, Binary) else "choose"
        name = f"my_{op}_{parts[-1].dtype}"
        text = JAX.get(op) if jax else None
        function = functions.setdefault(name, Function(name, params, with_children(expr, params), jax=text))
        return function(*parts)

    return replace(func, body=map_stmt(func.body, lambda e: e if id(e) in assumed else map_expr(e, one)))
