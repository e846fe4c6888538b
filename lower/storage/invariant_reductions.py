"""Reductions in an iteration whose terms do not change along some of the loops around: each is worked out once.

`w = A[y, x]; for k in range(p): w = w * f(y)` has the same product for all x. It goes to an array over the loops that
it depends on, before all of them, and the iteration combines its accumulator with one element of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, UpdateOp
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var
from ir.operators import neutral
from ir.traverse import free_vars, loads, substitute_expr
from lower.analysis.freedoms import ORDER, Form
from lower.analysis.linear_forms import linear
from lower.nest.nodes import Box, array_over
from lower.nest.normalize import Program
from lower.storage.forward_substitution import FORWARD_SUBSTITUTION, inline_once

INVARIANT_REDUCTIONS = Form(
    "structure.invariant_reductions",
    "for y, x: for k: w = w op f(y, k)  =  for y: r[y] = op(f(y, k) for k); for y, x: w = w op r[y]",
    "the terms are the same for all x, and op may be taken in another order",
    ORDER,
)
_WORTH = 4  # times that the same is worked out


def reduce_before(program: Program) -> None:
    """Work such reductions out before the loops that they do not change along."""
    k, changed = 0, dict[Buffer, None]()
    while k < len(program.statements):
        s = program.statements[k]
        needed = _needed(s, program)
        if needed is not None:
            changed[s.buffer] = None
            count = len(program.statements)
            _apart(s, needed, program)
            k += len(program.statements) - count  # those that now stand before it
        k += 1
    for local in changed if program.policy.takes(FORWARD_SUBSTITUTION) else ():
        inline_once(program, local)


def _needed(s: Statement, program: Program) -> list[Loop] | None:
    """The loops around a local that the terms of a reduction to it depend on; None where it has to stay."""
    depth = program.depth.get(s.buffer, 0)
    outer, inner = s.loops[:depth], s.loops[depth:]
    if s.update is None or s.update[0] not in ("add", "mul") or not outer or not inner or s.tile is not None:
        return None
    if not s.buffer.dtype.is_float or not program.policy.may(INVARIANT_REDUCTIONS, s.buffer.dtype):
        return None
    if s.store.indices or any(w is not s and inner[0] in w.loops for w in program.statements):
        return None
    exprs = (s.update[1], *s.guards, *(e for o in inner for e in (o.start, o.extent)))
    changed = {w.buffer for w in program.statements if outer[0] in w.loops}
    if any(load.buffer in changed or program.depth.get(load.buffer, 0) for e in exprs for load in loads(e)):
        return None
    names = free_vars(*exprs)
    needed = [o for o in outer if o.var in names]
    rest = [o for o in outer if o not in needed]
    if not all(_fixed(o) for o in outer) or prod(_length(o) for o in rest) < _WORTH:
        return None
    return needed


def _fixed(loop: Loop) -> bool:
    return isinstance(loop.start, Const) and _length(loop) > 0


def _length(loop: Loop) -> int:
    return int(loop.extent.value) if isinstance(loop.extent, Const) else 0


def _apart(s: Statement, needed: Sequence[Loop], program: Program) -> None:
    """Put a reduction over the loops that it needs before all of them."""
    assert s.update is not None
    op, term = s.update
    depth, dtype = program.depth[s.buffer], s.buffer.dtype
    shape, here = array_over(needed, [Box(linear(o.start), linear(o.extent), exact=True) for o in needed])
    array = Buffer(program.fresh(s.buffer.name), shape, dtype, "local")
    names: dict[Var, Expr] = {}
    loops: list[Loop] = []
    for o in (*needed, *s.loops[depth:]):
        start, extent = (substitute_expr(e, names) for e in (o.start, o.extent))
        loops.append(replace(o, var=Var(program.fresh(o.var.name), o.var.dtype), start=start, extent=extent))
        names[o.var] = loops[-1].var
    there, value = tuple(substitute_expr(i, names) for i in here), substitute_expr(term, names)
    guards = tuple(substitute_expr(g, names) for g in s.guards)
    nothing = neutral(op, dtype)
    assert nothing is not None
    begin = Statement(0, tuple(loops[: len(needed)]), (), Store(array, there, Const(float(nothing), dtype)))
    terms = Store(array, there, Binary(op, Load(array, there), value), s.store.span)
    once = Load(array, here)
    found = _combined(s, depth, op, once, program)
    at = next(k for k, w in enumerate(found) if w.loops and w.loops[0] is s.loops[0])
    program.depth[array] = 0
    program.renumber([*found[:at], begin, Statement(0, tuple(loops), guards, terms, (op, value)), *found[at:]])


def _combined(s: Statement, depth: int, op: UpdateOp, once: Load, program: Program) -> list[Statement]:
    """All statements, with one that combines an accumulator with a value in place of a reduction to it; what was stored
    just before is a part of it."""
    k = program.statements.index(s)
    before = program.statements[k - 1] if k > 0 else s
    own = Load(s.buffer, ())
    plain = before.buffer == s.buffer and before.loops == s.loops[:depth] and before.tile is None
    if plain and not before.guards and before.update is None and before is not s:
        made = replace(before, store=replace(before.store, value=Binary(op, before.store.value, once)))
        return [*program.statements[: k - 1], made, *program.statements[k + 1 :]]
    store = Store(s.buffer, (), Binary(op, own, once), s.store.span)
    made = replace(s, loops=s.loops[:depth], guards=(), store=store, update=(op, once))
    return [*program.statements[:k], made, *program.statements[k + 1 :]]
