"""Loops over a few stages, as of a Fourier transform or a sorting network, whose steps are written out one by one.

`X[k // (1 << s) * (2 << s) + k % (1 << s)]` is no linear place while s varies, so that nothing is known of what depends
on what. For each s it is one: with numbers in place of s, and digits of k in place of k, accesses are slices. It is
done for arrays that stages hand on to each other: where an array is only read, a gather does as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.nodes import (
    Alloc,
    Binary,
    Block,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Var,
    seq,
)
from ir.presburger import sets as presburger
from ir.presburger.polynomials import are_apart
from ir.program.blocks import lower_blocks
from ir.program.edit import with_children as with_parts
from ir.transform.loops.digits import in_digits, with_digits_for_bits
from ir.transform.loops.unroll import values_of
from ir.traverse import (
    accessed,
    all_exprs,
    all_same,
    bound_var,
    buffers_written,
    free_vars,
    has_loads,
    map_expr,
    map_stmt,
    stmt_children,
    substitute,
    substitute_expr,
    walk,
    walk_expr,
    without_names,
)
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import Form

STAGES = Form(
    "structure.stage_unrolling",
    "for s in stages: X[.. 1 << s ..]  =  a copy of the body for each s, with digits of k for k",
    "with numbers for s, places are linear in the digits",
)

MAX_STEPS = 32  # of one loop that are written out
MAX_STORES = 300  # that are compiled one by one in place of loops over stages


def with_stages(func: PrimFunc, target: Target) -> PrimFunc:
    """The function with the steps of stages written out, where that pays on a target."""
    if not any(isinstance(e, Binary) and _fixing(e) for e in all_exprs(func.body)):
        return func
    body = map_stmt(lower_blocks(func, instances=True).body, on_stmt=_with_numbers)
    names = {p.name for p in func.params} | {v.name for s in walk(body) for v in bound_var(s)}
    staged = _staged(body, {}, target, names)
    return func if staged is body else replace(func, body=staged).as_form_of(func)


def _with_numbers(stmt: Stmt) -> Stmt:
    """A loop with numbers for its bounds where they are known."""
    return replace(stmt, start=_folded(stmt.start), extent=_folded(stmt.extent)) if isinstance(stmt, For) else stmt


def _folded(expr: Expr) -> Expr:
    """An expression with numbers for what is known, and arithmetic for bits, in its integers."""
    return map_expr(expr, with_digits_for_bits)


def _staged(stmt: Stmt, values: Mapping[Var, Expr], target: Target, names: set[str], times: float = 1.0) -> Stmt:
    """A statement with stages written out, outermost first; `values` are those of names around it, which loops repeat
    so many `times`."""
    match stmt:
        case Let(var=var, value=value, body=body):
            known = {**values, var: substitute_expr(value, values)} if _plain(value) else values
            return with_parts(stmt, [_staged(body, known, target, names, times)])
        case For(body=body):
            hidden = _hidden_in(stmt, values)
            if hidden:
                steps = _steps(stmt, values, target, names)
                if steps is not None and _pays(stmt, steps, hidden, target, times):
                    return steps
            return with_parts(stmt, [_staged(body, values, target, names, times * _times(stmt.extent, target))])
        case Block():
            return stmt
        case _:
            return with_parts(stmt, [_staged(s, values, target, names, times) for s in stmt_children(stmt)])


def _steps(loop: For, values: Mapping[Var, Expr], target: Target, names: set[str]) -> Stmt | None:
    """The steps of a loop one after the other; None if they are too many."""
    done: list[Stmt] = []
    for number in values_of(loop):
        step = map_stmt(without_names(substitute(loop.body, {loop.var: number}), _plain), _folded)
        done.append(in_digits(_staged(step, values, target, names), names))
        if sum(isinstance(s, Store) for d in done for s in walk(d)) > MAX_STORES:
            return None
    return seq(*done)


def _hidden_in(loop: For, values: Mapping[Var, Expr]) -> int:
    """How many places has a loop of few steps of arrays that it stores to and reads, or loops in it, of which only
    numbers for its variable make linear where they are."""
    if not (isinstance(loop.start, Const) and isinstance(loop.extent, Const) and 0 < loop.extent.value <= MAX_STEPS):
        return 0
    stored = buffers_written(loop.body)
    read = {e.buffer for e in all_exprs(loop.body) if isinstance(e, Load)}
    inner = dict(values)
    for s in walk(loop.body):
        if isinstance(s, Let) and _plain(s.value):
            inner[s.var] = substitute_expr(s.value, inner)
    places = [i for b, indices in accessed(loop.body) if b in stored & read for i in indices]
    places += [e for s in walk(loop.body) if isinstance(s, For) for e in (s.start, s.extent)]
    return sum(_hidden(substitute_expr(i, inner), loop.var) for i in places)


def _hidden(index: Expr, var: Var) -> bool:
    fixing = (v for e in walk_expr(index) if isinstance(e, Binary) for v in _fixing(e))
    return not has_loads(index) and var in set(fixing) and presburger.affine(_folded(index)) is None


def _fixing(e: Binary) -> set[Var]:
    """Variables for which an operator must have numbers to be linear in the others."""
    match e.op:
        case "shl" | "shr" | "pow" | "floordiv" | "floormod":
            return free_vars(e.rhs)
        case "mul" | "bitand" | "bitor" | "bitxor" if not (isinstance(e.lhs, Const) or isinstance(e.rhs, Const)):
            return free_vars(e.lhs, e.rhs) if free_vars(e.lhs) and free_vars(e.rhs) else set()
        case _:
            return set()


def _plain(value: Expr) -> bool:
    return value.dtype.is_integer and not has_loads(value)


def _pays(loop: For, steps: Stmt, hidden: int, target: Target, times: float) -> bool:
    """Whether array statements for each stage take less than a loop over stages, both so many times.

    A stage that reads nothing of what it stores is a gather in each step; any other goes through single elements."""
    stores = sum(isinstance(s, Store) for s in walk(steps))
    elements = times * _elements(steps, target)
    if not all(map(_reads_what_others_store, _parts(loop.body))):
        arrays = operations.stages_as_arrays(target, stores, elements, inside=True, to_parts=False)
        return cheaper("stages written out", arrays, operations.stages_in_turn(target, elements))
    of_a_step = [s for s in walk(loop.body) if isinstance(s, Store)]
    to_parts = any(loop.var in free_vars(*s.indices) for s in of_a_step)
    arrays = operations.stages_as_arrays(target, stores, elements, inside=times > 1, to_parts=to_parts)
    count, gathered = times * _times(loop.extent, target), hidden / max(len(of_a_step), 1)
    gathers = operations.stages_by_gathers(target, count, len(of_a_step), elements, gathered)
    return cheaper("stages written out", arrays, gathers)


def _parts(body: Stmt) -> Sequence[Stmt]:
    """What a stage does one after the other."""
    while isinstance(body, Let | Alloc):
        body = body.body
    return body.stmts if isinstance(body, Seq) else (body,)


def _reads_what_others_store(part: Stmt) -> bool:
    """Whether a part of a stage reads no elements of what it stores to but those that it replaces, and some that have
    another place along a dimension whatever the iteration."""
    stored = [(s.buffer, s.indices) for s in walk(part) if isinstance(s, Store)]
    read = [(e.buffer, e.indices) for e in all_exprs(part) if isinstance(e, Load)]
    pairs = ((i, j) for buffer, i in stored for other, j in read if other == buffer)
    return all(all_same(i, j) or are_apart(i, j) for i, j in pairs)


def _times(extent: Expr, target: Target) -> float:
    return max(float(extent.value), 0.0) if isinstance(extent, Const) else float(target.default_extent)


def _elements(stmt: Stmt, target: Target) -> float:
    """How many elements a statement stores."""
    match stmt:
        case For(extent=extent, body=body):
            return _times(extent, target) * _elements(body, target)
        case Seq(stmts=stmts):
            return sum(_elements(s, target) for s in stmts)
        case If(then=then, other=other):
            return max(_elements(then, target), _elements(other, target))
        case Let(body=body) | Alloc(body=body):
            return _elements(body, target)
        case _:
            return float(isinstance(stmt, Store))
