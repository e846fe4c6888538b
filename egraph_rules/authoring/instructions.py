"""Instructions as rules: a nest equals a call of an instruction whose body does the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rule import Rule
from ir.errors import RuleError
from ir.instructions import freedoms, instance, instruction_of, is_instruction
from ir.nodes import Alloc, For, Let, PrimFunc, Seq, Stmt
from ir.program.blocks import lower_blocks
from ir.transform.tensorize import Differs, call_of
from ir.traverse import walk

FAMILY = "instructions"


def instruction_rule(instruction: PrimFunc) -> Rule:
    """The rule that a nest with the meaning of an instruction's body is a call of it.

    Raises:
        RuleError: the kernel has no implementation in JAX.
    """
    if not is_instruction(instruction):
        help = 'give it one, as in @T.instruction(jax="{C} + {A} @ {B}")'
        raise RuleError("rule", f"{instruction.name} is a kernel, not an instruction", instruction.span, help=help)
    body = lower_blocks(instruction).body

    def propose(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        if type(stmt) is not type(body) or not isinstance(stmt, For | Alloc | Let | Seq):
            return
        try:
            call_of(stmt, instruction, here.domain)
        except Differs:
            return
        yield instance(instruction, stmt)

    return Rule(
        f"{FAMILY}.{instruction.name}", f"the body of {instruction.name}  =  {instruction.signature}",
        "it is what the instruction means", freedoms(instruction), "", propose=propose,
    )  # fmt: skip


@lru_cache(maxsize=256)
def rule_of(instruction: PrimFunc) -> Rule:
    """As `instruction_rule`: one rule for equal instructions."""
    return instruction_rule(instruction)


def rules_of(stmt: Stmt) -> tuple[Rule, ...]:
    """Rules for the instructions that a statement has instances of."""
    found = dict.fromkeys(f for s in walk(stmt) if (f := instruction_of(s)) is not None)
    return tuple(map(rule_of, found))
