"""Erasure after extraction: assumptions, undef stores and what becomes empty. Owns the only step that is no equality.

Inside the e-graph `B[i] = undef` is permission and `assume(c)` is a fact; once a program is chosen both are done with,
and dropping them refines the program (DESIGN section 2).
"""

from __future__ import annotations

from msgspec.structs import replace

from egraph_rules.cost.prices import Prices
from egraph_rules.search.extract import branch
from ir.nodes import (
    SKIP,
    Alloc,
    Assume,
    Binary,
    Block,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Stmt,
    Store,
    Unary,
    Undef,
)
from ir.presburger.polynomials import polynomial, summed, written
from ir.printing.intervals import extent_of
from ir.program.blocks import lower_blocks
from ir.traverse import all_exprs, buffers_written, has_undef, map_stmt, walk


def price_as_written(func: PrimFunc, prices: Prices) -> float:
    """The price of a function as it stands, with what is erased after a search left out."""
    return prices.program(erase(lower_blocks(func, instances=True).body))


def is_undef(expr: Expr) -> bool:
    """Whether an expression is undef whatever the state: operators are strict, annihilators and selection are not."""
    match expr:
        case Undef():
            return True
        case Unary(operand=a) | Cast(operand=a):
            return is_undef(a)
        case Binary(op="mul" | "and" | "or"):
            return False
        case Binary(lhs=a, rhs=b):
            return is_undef(a) or is_undef(b)
        case _:
            return False


def erase(stmt: Stmt) -> Stmt:
    """Drop assumptions, stores of undef, and statements that do nothing any more."""
    return map_stmt(stmt, on_stmt=lambda s: _tidy(_without_undef(_without_promise(s))))


def erase_assumptions(func: PrimFunc) -> PrimFunc:
    """Drop assumptions, and what was there only for them."""
    return replace(func, body=map_stmt(func.body, on_stmt=lambda s: _tidy(_without_promise(s)))).refines(func)


def erase_undef_stores(func: PrimFunc) -> PrimFunc:
    """Drop stores of undef, and what was there only for them."""
    return replace(func, body=map_stmt(func.body, on_stmt=lambda s: _tidy(_without_undef(s)))).refines(func)


def _without_promise(stmt: Stmt) -> Stmt:
    return SKIP if isinstance(stmt, (Assume, Evaluate)) else stmt


def _without_undef(stmt: Stmt) -> Stmt:
    return SKIP if isinstance(stmt, Store) and is_undef(stmt.value) else stmt


def _tidy(stmt: Stmt) -> Stmt:
    """A statement whose parts may have become empty."""
    match stmt:
        case For(body=body) | Block(body=body, init=None) if body == SKIP:
            return SKIP
        case For(start=start, extent=extent) if (distance := _distance(start, extent)) != extent:
            return replace(stmt, extent=distance)
        case If(cond=cond, then=yes, other=no):
            new = branch(cond, yes, no)
            return stmt if new == stmt else new
        case Let(var=var, body=body) if not any(e.same(var) for e in all_exprs(body)):
            return body
        case Alloc(buffer=buffer, body=body) if not _mentions(body, buffer.name):
            return body
        case _:
            return stmt


def _distance(start: Expr, extent: Expr) -> Expr:
    """The extent as a distance, `n - (i + 1)` for `n - 1 - i`, where it is one to a name or a number.

    From a number it may be one to a name and a number: `n - 2 - 1` for `n - 3`, which is `range(1, n - 2)`.
    """
    if isinstance(extent, Const) or not extent.dtype.is_signed or extent.dtype is not start.dtype:
        return extent
    stop = summed((*polynomial(start).items(), *polynomial(extent).items()))
    plain = all(len(factors) <= 1 and (not factors or count == 1) for factors, count in stop.items())
    most = 2 if isinstance(start, Const) and () in stop else 1
    return extent_of(start, written(stop, extent)) if plain and len(stop) <= most else extent


def _mentions(stmt: Stmt, name: str) -> bool:
    written = {b.name for b in buffers_written(stmt)}
    return name in written or any(isinstance(e, Load) and e.buffer.name == name for e in all_exprs(stmt))


def count_erased(stmt: Stmt) -> tuple[int, int]:
    """How many assumptions and undef stores a program contains."""
    stmts = list(walk(stmt))
    assumes = sum(isinstance(s, Assume) for s in stmts)
    stores = sum(isinstance(s, Store) and has_undef(s.value) for s in stmts)
    return assumes, stores
