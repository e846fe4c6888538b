"""Places for the iterations of a loop: a local of their own for each, or an axis of one local for all of them.

Array privatization (Tu and Padua, "Automatic Array Privatization", 1993) with contraction to what one iteration keeps,
and its inverse, array expansion (Feautrier, "Array Expansion", 1988).
"""

from __future__ import annotations

import islpy as isl
from msgspec.structs import replace

from ir.analysis.defined import is_defined
from ir.analysis.effects import EffectAnalysis, get
from ir.analysis.stages import accesses, outside
from ir.nodes import Alloc, Expr, For, PrimFunc, Stmt
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.blocks import lower_statement
from ir.program.calls import minus
from ir.program.edit import (
    Changed,
    find_buffer,
    loop_path,
    path_to,
    refuse,
    replace_at,
    replace_buffer,
    scope_of,
    with_body,
)
from ir.transform.loops.ranges import count, loop_at
from ir.transform.storage.contract import compacted


def privatize(func: PrimFunc, buffer: str, loop: str) -> Changed:
    """Allocate a local in each iteration of a loop, no larger than what one iteration keeps in it.

    Raises:
        ScheduleError: the buffer is no local of the statements around the loop, is used elsewhere, or an iteration may
            read of it what it has not written itself.
    """
    path = loop_path(func, loop)
    old = loop_at(path)
    local = find_buffer(func, buffer)
    at = next((k for k, s in enumerate(path) if isinstance(s, Alloc) and s.buffer == local), None)
    if at is None:
        refuse("not-local", f"{buffer} is no local buffer around loop {loop}", old.span, help="name one that is")
    alloc = path[at]
    assert isinstance(alloc, Alloc)
    elsewhere = next(outside(alloc.body, [old], lambda s: accesses(s, local)), None)
    if elsewhere is not None:
        text = to_script(elsewhere).splitlines()[0]
        refuse("used-elsewhere", f"{buffer} is used outside of loop {loop} too, in `{text}`", elsewhere.span)
    inside = pb.within_loops(facts_at(func, path), [old])
    region = _kept(old, local.name, inside)
    scope = {**scope_of(func, path[:at]), **scope_of(func, path)}
    new = replace(old, body=compacted(old.body, local, region, inside, scope))
    return Changed(with_body(func, path[: at + 1], replace_at(path[at + 1 :], new)), (loop,))


def _kept(loop: For, buffer: str, inside: isl.Set) -> isl.Set:
    """The region of a local that one iteration of a loop uses.

    Raises:
        ScheduleError: it may read what it has not written.
    """
    body = lower_statement(loop.body)
    effects = EffectAnalysis().of(body)
    local = next((b for b in {**effects.may, **effects.reads} if b.name == buffer), None)
    if local is None:
        refuse("unused-buffer", f"loop {loop.var.name} does not use {buffer}", loop.span, help="name a loop that does")
    exposed = get(effects.reads, local).intersect_params(inside)
    if not exposed.is_empty():
        found = pb.sample(exposed)
        at = "" if found is None else f"[{', '.join(map(str, found[1]))}]"
        notes = [] if found is None else [f"for example at {loop.var.name} = {found[0].get(loop.var.name)}"]
        message = f"an iteration of loop {loop.var.name} may read {buffer}{at}, which it has not written before"
        refuse("carried-value", message, loop.span, notes=notes, help="only what an iteration writes first is its own")
    return get(effects.may, local)


def expand(func: PrimFunc, buffer: str, loop: str) -> Changed:
    """Allocate a local of a loop's iterations once before the loop, with an axis in front that has a place for each.

    Raises:
        ScheduleError: the buffer is no local of the loop's iterations, is one of a loop further in, or the number of
            iterations is not known before the loop.
    """
    path = loop_path(func, loop)
    old = loop_at(path)
    local = find_buffer(func, buffer)
    inner = path_to(old.body, lambda s: isinstance(s, Alloc) and s.buffer == local)
    if inner is None:
        refuse("not-local", f"{buffer} is no local buffer of the iterations of loop {loop}", old.span)
    between = [s.var.name for s in inner if isinstance(s, For)]
    if between:
        help = f"begin with the innermost one: sch.expand({buffer!r}, {between[-1]!r})"
        refuse("not-local", f"{buffer} is a local of loop {between[-1]}, inside of loop {loop}", old.span, help=help)
    known = facts_at(func, path)
    places = count(old, known)
    if not is_defined(places, known):
        message = f"the number of iterations of loop {loop} is not known before it: `{to_script(places)}`"
        refuse("undefined-range", message, old.span, help="bind it to a name before the loop")
    alloc = inner[-1]
    assert isinstance(alloc, Alloc)
    array = replace(local, shape=(places, *local.shape))

    def at(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (minus(old.var, old.start), *indices)

    body: Stmt = replace_at(inner, replace_buffer(alloc.body, local, array, at))
    return Changed(with_body(func, path, Alloc(array, replace(old, body=body))), (loop,))
