"""Moving a consumer under a loop of its producer, to run each instance when the last of its inputs has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import islpy as isl
from msgspec.structs import replace

from ir.analysis.effects import EffectAnalysis, get
from ir.analysis.legality import check_order, domain_of, events
from ir.analysis.stages import (
    Meeting,
    conflict,
    meeting_of,
    name_of,
    reads_of,
    refuse_races,
    tally,
    with_allocations_first,
    without_tails,
)
from ir.naming import fresh
from ir.nodes import (
    SKIP,
    TRUE,
    Block,
    Buffer,
    Expr,
    For,
    PrimFunc,
    Seq,
    Stmt,
    Var,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at
from ir.program.blocks import lower_statement
from ir.program.edit import Changed, beside, loops_around, names_in, path_to, refuse, replace_at, scope_of
from ir.transform.stages.compute_at import OPERATIONS, too_many_steps
from ir.transform.stages.restrict import Kept, Restriction, renamed


def reverse_compute_at(func: PrimFunc, block: str, loop: str, *, reassociate: bool) -> Changed:
    """Move the stage of a block to the end of a loop's body, each instance where the last of its inputs is produced.

    Instances that read nothing which the loop produces run in its last iteration. Returns the loops that stay.

    Raises:
        ScheduleError: the loop does not produce what the stage reads, or not before the stage; the new order would
            change what is computed.
    """
    done = pb.within_budget(lambda: _reverse(func, block, loop, reassociate), None, OPERATIONS)
    return too_many_steps(block, loop) if done is None else done


def _reverse(func: PrimFunc, block: str, loop: str, reassociate: bool) -> Changed:
    func = replace(func, body=with_allocations_first(func.body))
    meeting, target = meeting_of(func, block, loop)
    if meeting.positions[0] < meeting.positions[1]:
        message = f"`{block}` comes before loop {loop}"
        refuse("not-an-ancestor-of-producer", message, target.span, help="use compute_at for a producer")
    stage = meeting.left[0]
    made = set(tally(target.body).stores)
    if not made.intersection(tally(stage).loads):
        message = f"loop {loop} contains no producer of `{block}`"
        refuse("not-an-ancestor-of-producer", message, target.span, help="name a loop around a block that it reads")
    known = facts_at(func, (*meeting.shared, *meeting.right, target.body))
    kept = _turns(meeting, target, stage, made, known)
    taken = names_in(func)
    changed: dict[Var, Var] = {}

    def name(old: Var) -> Var:
        new = replace(old, name=fresh(old.name, taken))
        changed[new] = old
        return new

    restriction = Restriction(kept, scope_of(func, (*meeting.shared, *meeting.right)), name)
    new = restriction.apply(stage, known)
    _check_moved(meeting, target, new, block, restriction.values, reassociate)
    nest = replace_at(meeting.right, replace(target, body=seq(target.body, renamed(new, changed))))
    used = tally(stage)
    refuse_races(_same_path(nest, meeting.right), {*used.loads, *used.stores}, meeting.known, block)
    result = meeting.replaced(SKIP, nest)
    return Changed(result, tuple(changed[v].name for v in restriction.loops))


def _same_path(nest: Stmt, path: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The path to the loop that was at the end of `path`, in a nest where that loop was replaced."""
    last = path[-1]
    assert isinstance(last, For)
    found = path_to(nest, lambda s: isinstance(s, For) and s.var.same(last.var))
    assert found is not None
    return found


def _unit(stage: Stmt) -> tuple[list[For], Stmt]:
    """The loops of a stage that are alone in one another, and what is inside all of them."""
    loops: list[For] = []
    while True:
        if isinstance(stage, For):
            loops.append(stage)
            stage = stage.body
        elif isinstance(stage, Block) and not stage.axes and stage.init is None and stage.predicate.same(TRUE):
            stage = stage.body
        else:
            return loops, stage


def _turns(meeting: Meeting, target: For, stage: Stmt, made: set[Buffer], known: isl.Set) -> list[Kept]:
    """For each store of a consumer the instances that run in one iteration of the loop."""
    outer = [x.var for x in loops_around(meeting.right)]
    places = [e for e in events(stage) if e.store is not None]
    own, unit = _unit(stage)
    names = [x.var.name for x in own]
    reads = reads_of(unit, made)
    written = EffectAnalysis().of(lower_statement(target.body)).may
    domains = [domain_of(e, {}).may.intersect(meeting.known) for e in places]
    pairs = pb.never()
    for buffer, region in reads.items():
        pairs = pairs.union(region.intersect(get(written, buffer)).params())
    anywhere = pb.never()
    for event, domain in zip(places, domains, strict=True):
        anywhere = anywhere.union(pb.forget(domain, [v.name for v in event.names if v.name not in names]))
    pairs = pairs.intersect(known).intersect(anywhere).coalesce()
    late = [v.name for v in outer]
    turns = _last(pairs, late)
    rest = anywhere.subtract(pb.forget(pairs, late))
    if not rest.is_empty():
        turns = turns.union(_last(known, late).intersect(rest))
    turns = turns.coalesce()
    return [Kept.of(e, turns, d.intersect(turns)) for e, d in zip(places, domains, strict=True)]


def _last(iterations: isl.Set, names: Sequence[str]) -> isl.Set:
    """The lexicographically last values of some variables, for each value of the others."""
    region = isl.Set.from_params(iterations)
    for k, name in enumerate(names):
        position = region.find_dim_by_name(isl.dim_type.param, name)
        if position < 0:
            return iterations
        region = region.move_dims(isl.dim_type.set, k, isl.dim_type.param, position, 1)
    here = pb.whole(0)
    for name in names:
        here = here.flat_product(isl.Set.from_pw_aff(pb.symbol(name)))
    return region.lexmax().intersect(here).params()


def _check_moved(
    meeting: Meeting, target: For, new: Stmt, block: str, back: Mapping[Var, Expr], reassociate: bool
) -> None:
    """Refuse a consumer at the end of a loop's body, unless all dependences stay as they are."""
    stage, nest = meeting.left[0], meeting.right
    known = meeting.known
    inner = [x.var.name for x in loops_around(nest)]
    passed = list(meeting.between)
    for parent, child in pairwise(nest):
        if isinstance(parent, Seq):
            passed += beside(parent, child)[1]
    for other in passed:
        found = conflict(other, stage, pb.forget(known, inner))
        if found is not None:
            message = f"`{block}` would run before {name_of(other)}, which it depends on through {found[0].name}"
            refuse("order", message, stage.span, notes=[f"both touch {found[1]}"], help="move the other stage first")
    alone = without_tails(nest)
    old = seq(alone[0], stage)
    end = alone[-1]
    assert isinstance(end, For)
    moved = seq(replace_at(alone, replace(end, body=seq(end.body, new))))
    violation = check_order(old, moved, back, known, reassociate=reassociate)
    if violation is not None:
        help = "name an outer loop, or one that completes what the stage reads"
        refuse("order", violation.message, stage.span, notes=violation.notes, help=help)
