"""Calls in random programs: operators and selections become functions of their own, some of which ignore an operand."""

from __future__ import annotations

from ir.nodes import Assume, Binary, Expr, Function, Select, Stmt, Var
from ir.testing.draw import Source
from ir.traverse import children, map_expr, map_stmt, walk, with_children


def with_calls(source: Source, stmt: Stmt) -> Stmt:
    """A statement with about half of its operators and selections called; what is assumed stays as it is."""
    assumed = {id(s.cond) for s in walk(stmt) if isinstance(s, Assume)}

    def one(expr: Expr) -> Expr:
        if not isinstance(expr, (Binary, Select)) or source.flag():
            return expr
        parts = children(expr)
        params = tuple(Var(f"x{k}", part.dtype) for k, part in enumerate(parts))
        name = f"my_{expr.op if isinstance(expr, Binary) else 'choose'}_{parts[-1].dtype}"
        body = with_children(expr, params)
        if parts[-1].dtype is expr.dtype and source.flag(6):
            name, body = f"my_last_of_{'_'.join(p.dtype.value for p in params)}", params[-1]
        return Function(name, params, body)(*parts)

    return map_stmt(stmt, lambda e: e if id(e) in assumed else map_expr(e, one))
