"""Programs over numbers as programs over symbols: both must do the same, and are lowered by different decisions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ir import PrimFunc
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, For, Load, Stmt, Var
from ir.traverse import map_expr, map_stmt


def with_sizes_as_symbols(func: PrimFunc) -> tuple[PrimFunc, dict[str, int]]:
    """The function with a parameter for each number from 2 up in shapes and in bounds of loops, and their values.

    What is compared with such a number is compared with the parameter.
    """
    symbols: dict[int, Var] = {}

    def size(e: Expr) -> Expr:
        match e:
            case Const(value=int(value), dtype=DType.INT32) if value >= 2:
                return symbols.setdefault(value, Var(f"size_{value}", DType.INT32))
            case Binary(op="add" | "sub" | "min" | "max" as op, lhs=a, rhs=b):
                return Binary(op, size(a), size(b), e.span)
            case _:
                return e

    def buffer(b: Buffer) -> Buffer:
        return replace(b, shape=tuple(map(size, b.shape)))

    def node(e: Expr) -> Expr:
        match e:
            case Load():
                return replace(e, buffer=buffer(e.buffer))
            case Binary(op="lt" | "le" | "gt" | "ge" | "eq" | "ne" as op, lhs=a, rhs=b) if a.dtype is DType.INT32:
                return Binary(op, known(a), known(b), e.span)
            case _:
                return e

    def known(e: Expr) -> Expr:
        return symbols.get(e.value, e) if isinstance(e, Const) else e

    def expr(e: Expr) -> Expr:
        return map_expr(e, node)

    def stmt(s: Stmt) -> Stmt:
        return replace(s, start=size(s.start), extent=size(s.extent)) if isinstance(s, For) else s

    params = [buffer(p) if isinstance(p, Buffer) else p for p in func.params]
    body = map_stmt(func.body, expr, stmt, buffer)
    return replace(func, params=(*params, *symbols.values()), body=body), {v.name: n for n, v in symbols.items()}


def with_numbers_and_with_symbols(func: PrimFunc) -> Iterator[tuple[PrimFunc, dict[str, int]]]:
    """A function as it is, and with its sizes as parameters, whose values are given."""
    yield func, {}
    symbolic, sizes = with_sizes_as_symbols(func)
    if sizes:
        yield symbolic, sizes
