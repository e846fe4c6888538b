"""What is known of variables at a place in a program, as a params set, and what follows from it."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise, takewhile

import islpy as isl

from ir.dtypes import DType
from ir.nodes import (
    TRUE,
    Assume,
    Binary,
    Block,
    Const,
    Expr,
    For,
    If,
    Let,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Unary,
    Var,
    const,
)
from ir.presburger import sets as pb
from ir.traverse import has_loads

_VALUE = "<value>"  # no name of a program
_WIDEST = 2**31 - 1  # larger constants need not fit isl's machine integers


def entry_facts(func: PrimFunc) -> isl.Set:
    """What holds of scalars when a function is entered: extents are not negative, and have not left their dtype."""
    extents = [extent for buffer in func.buffers for extent in buffer.shape]

    def holds() -> isl.Set:
        conditions = [pb.condition(Binary("ge", e, const(0, e.dtype))).may for e in extents]
        computed = [e for e in extents if not isinstance(e, (Const, Var))]
        conditions += [pb.condition(Binary("le", e, const(e.dtype.max, e.dtype))).may for e in computed]
        return reduce(isl.Set.intersect, conditions, pb.always())

    return pb.within_budget(holds, pb.always())


def promised(func: PrimFunc) -> isl.Set:
    """What holds of scalars wherever a function runs: its entry facts, and what it assumes of them at its beginning.

    Of a function that refines another one, that is what the other one assumes.
    """
    written = func.as_written
    stmts = written.body.stmts if isinstance(written.body, Seq) else (written.body,)
    known = entry_facts(written)
    for stmt in takewhile(lambda s: isinstance(s, Assume), stmts):
        if isinstance(stmt, Assume) and not has_loads(stmt.cond):
            cond = stmt.cond
            known = pb.within_budget(lambda k=known, c=cond: k.intersect(pb.condition(c).may), known)
    return known


def facts_at(func: PrimFunc, path: tuple[Stmt, ...]) -> isl.Set:
    """What holds of variables wherever the last statement of a path from the body is reached."""
    known = entry_facts(func)
    for parent, child in pairwise(path):
        known = known.intersect(learned(parent, child))
    return known


def learned(parent: Stmt, child: Stmt) -> isl.Set:
    """What holds of variables wherever a part of a statement is reached, besides what holds before the statement."""
    match parent:
        case Seq(stmts=stmts):
            known = pb.always()
            for stmt in stmts:
                if stmt is child:
                    return known
                if isinstance(stmt, Assume) and not has_loads(stmt.cond):
                    known = known.intersect(pb.condition(stmt.cond).may)
            return known
        case If(then=then, other=other) if then is other:
            return pb.always()
        case If(cond=cond, then=then):
            return pb.condition(cond if then is child else Unary("not", cond)).may
        case For() as loop:
            return pb.loop_domain(loop.var, loop.start, loop.extent).may
        case Let(var=var, value=value):
            return bound_to(var, value)
        case Block(axes=axes, predicate=predicate):
            known = pb.condition(predicate).may
            for axis in axes:
                known = known.intersect(bound_to(axis.var, axis.value))
            return known
        case _:
            return pb.always()


def bound_to(var: Var, value: Expr) -> isl.Set:
    """What a binding says of its variable, as a params set; of a value that reads elements, if it is not undef."""
    if var.dtype is DType.BOOL:
        cond = pb.condition(value)
        yes, no = (pb.symbol(var.name).eq_set(pb.number(k)) for k in (1, 0))
        return yes.intersect(cond.may).union(no.intersect(cond.must.complement()))
    if not var.dtype.is_integer:
        return pb.always()
    meaning, here = pb.affine(value), pb.symbol(var.name)
    if meaning is not None:
        return here.eq_set(meaning)
    return _limit(here, value, upper=True).intersect(_limit(here, value, upper=False))


def _limit(here: isl.PwAff, value: Expr, *, upper: bool) -> isl.Set:
    """Where a number is no greater (with `upper`) or no less than a value that may be no quasi-affine function."""
    meaning = pb.affine(value)
    if meaning is not None:
        return here.le_set(meaning) if upper else here.ge_set(meaning)
    match value:
        case Binary(op="min" | "max" as op, lhs=a, rhs=b):
            one, other = _limit(here, a, upper=upper), _limit(here, b, upper=upper)
            return one.intersect(other) if upper == (op == "min") else one.union(other)
        case Select(cond=cond, then=a, other=b):
            holds = pb.condition(cond)
            one, other = _limit(here, a, upper=upper), _limit(here, b, upper=upper)
            return one.intersect(holds.may).union(other.intersect(holds.negated().may))
        case Binary(op="floormod", rhs=Const(value=int() as divisor)) if divisor > 0:
            return here.le_set(pb.number(divisor - 1)) if upper else here.ge_set(pb.number(0))
        case Binary(op="bitand", rhs=Const(value=int() as mask)) if 0 <= mask <= _WIDEST:
            return here.le_set(pb.number(mask)) if upper else here.ge_set(pb.number(0))
        case Binary(op="floordiv", lhs=a, rhs=Const(value=int() as divisor)) if 0 < divisor <= _WIDEST:
            least = here.scale_val(isl.Val(divisor))  # q <= a // d where q * d <= a; q >= a // d where q * d > a - d
            return _limit(least if upper else least.add(pb.number(divisor - 1)), a, upper=upper)
        case _:
            return pb.always()


def proven(cond: Expr, known: isl.Set) -> bool:
    """Whether a condition holds wherever `known` does; False where that is not decided."""
    return pb.within_budget(lambda: known.is_subset(pb.condition(cond).must), False)


def range_of(expr: Expr, known: isl.Set) -> tuple[int | None, int | None]:
    """The least and greatest value of an expression wherever `known` holds, each where that is a number."""

    def ends() -> tuple[int | None, int | None]:
        value = pb.affine(expr)
        if value is None:
            return None, None
        here = known.intersect(pb.symbol(_VALUE).eq_set(value))
        return pb.bounds(pb.forget(here, set(pb.dimensions(here)) - {_VALUE}))

    return pb.within_budget(ends, (None, None))


def guarded(cond: Expr, body: Stmt, known: isl.Set) -> Stmt:
    """`if cond: body`, without the test where it is proven."""
    from_start = cond.same(TRUE) or proven(cond, known)
    return body if from_start else If(cond, body, Seq(()))
