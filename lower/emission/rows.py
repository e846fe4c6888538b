"""Terms as Python functions of positions, for helpers that decide while they run at which positions they are needed."""

from __future__ import annotations

from collections.abc import Sequence

from ir.analysis.conditions import conjunction
from ir.analysis.dependence import UpdateOp
from ir.dtypes import DType
from ir.nodes import Expr, Load, Var
from ir.traverse import substitute_expr
from lower.analysis.linear_forms import atom, to_expr
from lower.array.reduce import neutral
from lower.array.values import Translator, Value, typed
from lower.array.views import Axis
from lower.emission.scope import Names, Scope
from lower.program.nodes import JaxExpr, Lambda, Name, Subscript


def function_of(
    term: Expr,
    guards: Sequence[Expr],
    op: UpdateOp,
    axes: Sequence[Axis],
    names: Names,
    scope: Scope,
    translator: Translator,
) -> JaxExpr:
    """A function of positions on axes: a term, or what changes nothing under `op` where guards do not hold.

    Positions are arrays of one shape; `translator` knows the other variables of the statement.
    """
    there = {a.var: to_expr(atom(a.var) + a.low, a.var) for a in axes if not a.low.equals(0)}
    own = {a.var for a in axes}

    def load(node: Load) -> Value:
        scope.current(node.buffer)
        indices = tuple(pointwise.expr(i).code for i in node.indices)
        array = Name(names.of(node.buffer))
        return Value(Subscript(array, indices) if indices else array)

    def variable(var: Var) -> Value:
        if var not in own:
            return translator.variable(var)
        position = Value(Name(names.of(var)))
        return position if var.dtype is DType.INT32 else typed(Value(position.code, weak=True), var.dtype)

    pointwise = Translator((), load, variable, translator.helpers)
    mask = pointwise.expr(substitute_expr(conjunction(guards), there)) if guards else None
    with pointwise.under(lambda: mask):
        value = typed(pointwise.expr(substitute_expr(term, there)), term.dtype)
    if mask is not None:
        value = pointwise.select(mask, value, neutral(op, term.dtype), term.dtype)
    return Lambda(tuple(names.of(a.var) for a in axes), value.code)
