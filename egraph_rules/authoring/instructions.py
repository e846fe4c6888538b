"""Instructions as rules: a nest equals a call of an instruction whose body does the same, or calls on its tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import islpy as isl
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rounding_up import rounded_up
from egraph_rules.authoring.rule import Rule
from egraph_rules.library.kernels import library, occurring
from ir.errors import RuleError
from ir.floats import Floats
from ir.instructions import freedoms, instruction_of, is_instruction
from ir.nodes import Alloc, Const, For, Let, PrimFunc, Seq, Stmt
from ir.presburger import sets as pb
from ir.program.blocks import lower_blocks
from ir.program.calls import body_of, names_mentioned
from ir.program.edit import nest
from ir.transform.calls.alike import may_be
from ir.transform.calls.tensorize import Differs, call_of, distributed, instance_of, tails, tiles_for
from ir.traverse import accessed, free_vars, stmt_exprs, walk

FAMILY = "instructions"


def instruction_rule(instruction: PrimFunc, written: PrimFunc | None = None) -> Rule:
    """The rule that a nest with the meaning of an instruction's body, or one that is `written` otherwise and does the
    same, is a call of it.

    Raises:
        RuleError: the kernel has no implementation in JAX.
    """
    if not is_instruction(instruction):
        help = 'give it one, as in @T.instruction(jax="{C} + {A} @ {B}")'
        raise RuleError("rule", f"{instruction.name} is a kernel, not an instruction", instruction.span, help=help)
    source = instruction if written is None else written
    body, tileable = lower_blocks(source).body, _has_numbers(source)

    def propose(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        if type(stmt) is not type(body) or not isinstance(stmt, For | Alloc | Let | Seq):
            return
        whole = _instance(stmt, source, here.domain)
        if whole is not None:
            yield whole if source is instruction else _called(stmt, source, instruction, here.domain)
        elif tileable and isinstance(stmt, For):
            yield from _in_tiles(stmt, instruction, here)
            yield from _with_tails(stmt, instruction, here)
            apart = distributed(stmt, here.domain, reassociate=_reassociates(here))
            if isinstance(apart, Seq) and any(_may_be_tiled(part, instruction, here) for part in apart.stmts):
                yield apart

    return Rule(
        f"{FAMILY}.{source.name}", f"the body of {source.name}  =  {instruction.signature}",
        "it is what the instruction means", freedoms(instruction), "", propose=propose,
        instruction=instruction,
    )  # fmt: skip


def _in_tiles(stmt: Stmt, instruction: PrimFunc, here: Here) -> Iterator[Stmt]:
    """Calls on tiles that a nest equals."""
    for outer, tile in tiles_for(stmt, instruction, here.domain, reassociate=_reassociates(here)):
        whole = _instance(tile, instruction, _within(here.domain, outer))
        if whole is not None:
            yield nest(outer, whole)


def _with_tails(stmt: For, instruction: PrimFunc, here: Here) -> Iterator[Stmt]:
    """Calls on tiles of a longer nest that does the same."""
    for sizes in tails(stmt, instruction):
        for longer in rounded_up(stmt, sizes, here):
            for new in _in_tiles(longer.loop, instruction, longer.here):
                yield longer.around(new)


def _may_be_tiled(stmt: Stmt, instruction: PrimFunc, here: Here) -> bool:
    found = (*_in_tiles(stmt, instruction, here), *tails(stmt, instruction))
    return bool(found)


def _reassociates(here: Here) -> bool:
    return Floats.REASSOCIATE in here.contexts.floats


def _has_numbers(instruction: PrimFunc) -> bool:
    """Whether an instruction has a size of its own, so that longer nests may be cut into tiles of it."""
    return all(isinstance(e, Const) for b in instruction.buffers for e in b.shape)


def _called(stmt: Stmt, source: PrimFunc, instruction: PrimFunc, domain: isl.Set) -> Stmt:
    """What a nest that does as `source` is as an instance of an instruction that does the same."""
    return body_of(replace(call_of(stmt, source, domain), callee=instruction), names_mentioned(stmt))


def _instance(stmt: Stmt, instruction: PrimFunc, domain: isl.Set) -> Stmt | None:
    if not may_be(_body(instruction), stmt) or (_is_closed(stmt) and not _is_anywhere(stmt, instruction)):
        return None
    return _compared(stmt, instruction, domain)


def _compared(stmt: Stmt, instruction: PrimFunc, domain: isl.Set) -> Stmt | None:
    try:
        return instance_of(stmt, instruction, domain)
    except Differs:
        return None


@pb.remembered
def _is_anywhere(stmt: Stmt, instruction: PrimFunc) -> bool:
    """Whether a closed nest is an instance of an instruction: what is known at its place makes no difference."""
    return _compared(stmt, instruction, pb.always()) is not None


@pb.remembered
def _is_closed(stmt: Stmt) -> bool:
    """Whether a statement names no variables but those that it binds."""
    bound = {s.var for s in walk(stmt) if isinstance(s, For | Let)}
    extents = (n for b, _ in accessed(stmt) for n in b.shape)
    return free_vars(*extents, *(e for s in walk(stmt) for e in stmt_exprs(s))) <= bound


@lru_cache(maxsize=256)
def _body(instruction: PrimFunc) -> Stmt:
    return lower_blocks(instruction).body


def _within(domain: isl.Set, loops: Iterable[For]) -> isl.Set:
    for loop in loops:
        inside = pb.loop_domain(loop.var, loop.start, loop.extent).may
        domain = pb.within_budget(lambda d=domain, i=inside: d.intersect(i), domain)
    return domain


@lru_cache(maxsize=256)
def rule_of(instruction: PrimFunc, written: PrimFunc | None = None) -> Rule:
    """As `instruction_rule`: one rule for equal instructions."""
    return instruction_rule(instruction, written)


def rules_of(stmt: Stmt) -> tuple[Rule, ...]:
    """Rules for the instructions that a statement has instances of."""
    found = dict.fromkeys(f for s in walk(stmt) if (f := instruction_of(s)) is not None)
    return tuple(map(rule_of, found))


def library_rules(stmt: Stmt) -> tuple[Rule, ...]:
    """Rules for the part of the library that may be written in a statement."""
    return tuple(rule_of(e.instruction, e.written) for e in occurring(stmt))


def all_library_rules() -> tuple[Rule, ...]:
    """Rules for all of the library."""
    return tuple(rule_of(e.instruction, e.written) for e in library())
