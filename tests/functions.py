"""Random programs with calls: operators and selections of a program become functions of their own."""

from __future__ import annotations

from dataclasses import replace

from ir import PrimFunc
from ir.nodes import Assume, Binary, Expr, Function, Select, Var
from ir.traverse import children, map_expr, map_stmt, walk, with_children


def with_calls(func: PrimFunc, every: int = 1) -> PrimFunc:
    """`func` with each, or every n-th, operator and selection called as a function; assumptions stay as they are.

    The result is another program: a call evaluates all that it is given.
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
        name = f"{expr.op if isinstance(expr, Binary) else 'choose'}_{parts[-1].dtype}"
        function = functions.setdefault(name, Function(f"my_{name}", params, with_children(expr, params)))
        return function(*parts)

    return replace(func, body=map_stmt(func.body, lambda e: e if id(e) in assumed else map_expr(e, one)))
