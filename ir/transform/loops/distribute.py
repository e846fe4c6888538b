"""Distribution (fission): one loop for each part of a loop's body, where no dependence is against it.

Kennedy and McKinley, "Loop Distribution with Arbitrary Control Flow", 1990, for straight-line bodies.
"""

from __future__ import annotations

from msgspec.structs import replace

from ir.analysis.legality import Violation, check_order
from ir.naming import fresh
from ir.nodes import Alloc, For, PrimFunc, Seq, Stmt, seq
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.edit import Changed, loop_path, names_in, refuse, with_body
from ir.transform.loops.ranges import loop_at
from ir.traverse import substitute


def distribute(func: PrimFunc, loop: str, *, reassociate: bool) -> Changed:
    """Cut a loop into as many as dependences allow, each around consecutive statements of its body.

    A cut is right by itself or not at all: it changes the order of two instances where they lie on both sides of it.

    Raises:
        ScheduleError: the body is no sequence of statements, or dependences keep all of them together.
    """
    path = loop_path(func, loop)
    old = loop_at(path)
    parts = _statements(old)
    known = facts_at(func, path)
    cuts: list[int] = []
    refused: Violation | None = None
    for k in range(1, len(parts)):
        apart = seq(*(replace(old, body=seq(*side)) for side in (parts[:k], parts[k:])))
        found = check_order(old, apart, {}, known, reassociate=reassociate)
        if found is None:
            cuts.append(k)
        refused = refused or found
    if not cuts:
        assert refused is not None
        message = f"the statements of loop {loop} cannot run one after the other: {refused.message}"
        refuse("dependence", message, old.span, notes=refused.notes)
    taken = names_in(func)
    loops: list[For] = []
    for low, high in zip((0, *cuts), (*cuts, len(parts)), strict=True):
        var = replace(old.var, name=fresh(loop, taken)) if low else old.var
        body = seq(*parts[low:high])
        loops.append(replace(old, var=var, body=substitute(body, {old.var: var}) if low else body))
    return Changed(with_body(func, path, seq(*loops)), tuple(o.var.name for o in loops))


def _statements(loop: For) -> tuple[Stmt, ...]:
    name = loop.var.name
    if isinstance(loop.body, Alloc):
        local = loop.body.buffer.name
        help = f"give it a place for each iteration first, with sch.expand({local!r}, {name!r})"
        refuse("not-a-sequence", f"each iteration of loop {name} has a buffer {local} of its own", loop.span, help=help)
    if not isinstance(loop.body, Seq) or len(loop.body.stmts) < 2:
        inner = isinstance(loop.body, For)
        help = "distribute the loop in it first" if inner else "there are no two statements to tell apart"
        text = to_script(loop.body).splitlines()[0]
        refuse("not-a-sequence", f"loop {name} holds one statement, `{text}`", loop.span, help=help)
    return loop.body.stmts
