"""Versioning: two copies of a loop, one for where a condition holds, in which what it decides is decided."""

from __future__ import annotations

from msgspec.structs import replace

from ir.analysis.defined import is_defined
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import Expr, If, PrimFunc
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.edit import Changed, loop_path, names_in, refuse, scope_of, with_body
from ir.transform.loops.index_set_split import decided
from ir.transform.loops.ranges import loop_at
from ir.traverse import free_vars, substitute


def version(func: PrimFunc, loop: str, condition: Expr) -> Changed:
    """Run one copy of a loop where a condition holds and another one where not; the names of both are given back.

    Raises:
        ScheduleError: the condition is no truth value, reads a buffer, or mentions what is not known before the loop.
    """
    path = loop_path(func, loop)
    old = loop_at(path)
    known = facts_at(func, path)
    scope = set(scope_of(func, path[:-1]).values())
    if not isinstance(condition, Expr) or condition.dtype is not DType.BOOL:  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse(
            "condition", f"{condition} is no condition", old.span, help="give a comparison of sizes and loop variables"
        )
    if not free_vars(condition) <= scope or not is_defined(condition, known):
        message = f"`{to_script(condition)}` is not known before loop {loop}"
        refuse("condition", message, old.span, help="use sizes, scalars and the variables of loops around it")
    holds = pb.condition(condition)
    other = replace(old.var, name=fresh(loop, names_in(func)))
    copy = replace(old, var=other, body=substitute(old.body, {old.var: other}))
    yes, no = decided(old, known.intersect(holds.may)), decided(copy, known.intersect(holds.negated().may))
    return Changed(with_body(func, path, If(condition, yes, no)), (loop, other.name))
