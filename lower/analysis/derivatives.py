"""Whether the optimized form of a program has, as emitted, the derivatives of the program as it was written.

Equal functions have equal derivatives, where they have any. So a rewrite can change them only where it rests on what
holds on a thin set of inputs alone (assumed values, equality in a branch), where it was free to choose (undef), or
where there are none and the form decides (at the kink of a maximum or of a branch).
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph_rules.search.erase import erase
from ir.analysis.effects import EffectAnalysis, get
from ir.fold import computed
from ir.nodes import (
    COMPARE_OPS,
    FLOAT_FUNCTIONS,
    Alloc,
    Assert,
    Assume,
    Binary,
    Call,
    Cast,
    Expr,
    For,
    If,
    Let,
    PrimFunc,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
)
from ir.printing.printer import to_script
from ir.program.blocks import lower_blocks
from ir.traverse import all_exprs, map_expr, map_stmt, results_of, stmt_children, walk, walk_expr

_SMOOTH = ("neg", *FLOAT_FUNCTIONS)


def has_derivatives(func: PrimFunc) -> bool:
    """Whether a function has floats to be differentiated, and with respect to floats."""
    return any(p.dtype.is_float for p in func.params) and any(b.dtype.is_float for b in results_of(func))


def same_derivatives(func: PrimFunc) -> bool:
    """Whether the derivatives of a function are proven to be those of the program as it was written."""
    if func.origin is None or not has_derivatives(func):
        return True
    plain, origin = lower_blocks(func), lower_blocks(func.origin)
    if erase(origin.body) == erase(plain.body):
        return True  # assumptions and permissions that nothing was made of
    effects = EffectAnalysis()
    undef = any(isinstance(e, Undef) for e in all_exprs(origin.body))
    if undef or any(_free_choice(s, effects) for s in walk(origin.body)):
        return False
    kinked = any(map(_has_kink, all_exprs(origin.body))) or any(map(_has_kink, all_exprs(plain.body)))
    return not kinked or set(_effects(plain.body)) <= set(_effects(origin.body))


def _free_choice(stmt: Stmt, effects: EffectAnalysis) -> bool:
    """Whether a statement says something of floats, or allocates what may be read before it is written."""
    match stmt:
        case Assume(cond=cond) | Assert(cond=cond):
            return any(e.dtype.is_float for e in walk_expr(cond))
        case Alloc(buffer=buffer, body=body):
            return not get(effects.of(body).reads, buffer).is_empty()
        case _:
            return False


def _has_kink(expr: Expr) -> bool:
    """Whether an operation on floats has no derivative somewhere, and a value there all the same."""
    match expr:
        case Binary(op=op, lhs=operand):
            return operand.dtype.is_float and (op in ("min", "max") or op in COMPARE_OPS)
        case Unary(op=op, operand=operand):
            return operand.dtype.is_float and op not in _SMOOTH
        case Cast(operand=operand):
            return operand.dtype.is_float and not expr.dtype.is_float
        case Call():
            return True
        case _:
            return False


def _effects(stmt: Stmt) -> Iterator[str]:
    """Stores and bindings as text, with the conditions on floats around them; loop variables by their appearance.

    Operations on numbers are worked out: they have no derivative.
    """

    def worked_out(expr: Expr) -> Expr:
        number = computed(expr)
        return expr if number is None else number

    stmt = map_stmt(stmt, lambda expr: map_expr(expr, worked_out))
    loops = {s.var.name for s in walk(stmt) if isinstance(s, For)}
    for parts in _written(stmt, ()):
        seen: dict[str, str] = {}

        def renamed(expr: Expr, seen: dict[str, str] = seen) -> Expr:
            if isinstance(expr, Var) and expr.name in loops:
                return Var(seen.setdefault(expr.name, f"%{len(seen)}"), expr.dtype)
            return expr

        yield "; ".join(p if isinstance(p, str) else to_script(map_expr(p, renamed)) for p in parts)


_Part = str | Expr


def _written(stmt: Stmt, around: tuple[_Part, ...]) -> Iterator[tuple[_Part, ...]]:
    """What each store or binding is to and of, with the conditions around it."""
    match stmt:
        case Store(buffer=buffer):
            yield (*around, buffer.name, *stmt.indices, stmt.value)
        case Let(var=var, value=value, body=body):
            yield (*around, var.name, value)
            yield from _written(body, around)
        case If(cond=cond, then=then, other=other) if any(e.dtype.is_float for e in walk_expr(cond)):
            yield from _written(then, (*around, cond))
            yield from _written(other, (*around, Unary("not", cond)))
        case _:
            for child in stmt_children(stmt):
                yield from _written(child, around)
