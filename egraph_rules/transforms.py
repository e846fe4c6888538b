"""Directed steps: one family of rules each, as `Schedule.apply` takes them.

A step is one search of `optimize`, restricted to a family and to a place, with prices that say which way the family is
to be used. What it finds equals what was there; where its rules do not apply, the program stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.rule import Rule
from egraph_rules.cost.target import CPU, Target
from egraph_rules.optimization import search_within
from egraph_rules.rules import EXPRESSION_RULES, affine, cases, index_terms, lets, loops, padding, statements, wrapping
from egraph_rules.search.erase import erase_assumptions, erase_undef_stores
from ir.errors import ScheduleError, suggest
from ir.floats import Floats, floats_named, freedom_names
from ir.nodes import PrimFunc
from ir.schedule.trace import BlockRef
from ir.semantics.verify import entered

# Guards first: a branch inside a loop is dear, so that it moves out or goes.
_NO_BRANCHES = replace(CPU, name="fewer branches", kernel=0.0, mask=20.0, select=20.0, reduction_mask=100.0)
_HOISTED = replace(_NO_BRANCHES, name="branches outside", guarded=0.5, arith=5.0)
_SHORT_LOOPS = replace(CPU, name="fewer iterations", kernel=0.0, reduction_slice=0.0, default_extent=1)
# Work first: a guard that spares work is welcome, whatever it costs to test it.
_LESS_WORK = replace(
    CPU,
    name="less work",
    kernel=0.0,
    mask=0.0,
    select=0.0,
    reduction_mask=0.0,
    reduction_slice=0.0,
    guarded=0.5,
    arith=0.005,
    division=0.005,
    index=0.01,
)
# Operations first, wherever they stand: in an index as much as in a value, and in vector code once for each element.
_FEWEST_OPERATIONS = replace(
    CPU,
    name="fewest operations",
    arith=1.0,
    division=4.0,
    special=16.0,
    index=1.0,
    kernel=0.0,
    loop=0.0,
    reduction_slice=0.0,
)
_NO_NAMES = replace(CPU, name="no names", arith=0.0, division=0.0, special=0.0, binding=1e3)

_BRANCHES = (statements.branch_true, statements.branch_false, statements.branch_identical, statements.branch_noop)
_NOTHING = (
    statements.seq_noop, statements.loop_noop, statements.block_noop, statements.let_noop, statements.alloc_noop,
    statements.store_back, statements.store_known_int, statements.store_known_float, statements.leaf_without_effect,
    statements.skip,
)  # fmt: skip
_OVERCOMPUTE = (
    statements.overcompute_then, statements.overcompute_else, statements.select_then, statements.select_else,
)  # fmt: skip


Block = str | BlockRef | None
Freedoms = Floats | Sequence[str] | None  # by name, or all where left out


class Step(Struct, frozen=True):
    """A directed step; calling it with a function gives the transformed function.

    `options` are the keyword arguments that made it. Blocks keep their names, but their axes become plain names.
    """

    name: str
    options: Mapping[str, object]
    rules: tuple[Rule, ...] = ()
    target: Target = CPU
    erase: Callable[[PrimFunc], PrimFunc] | None = None

    def __call__(self, func: PrimFunc, *, verify: bool = True) -> PrimFunc:
        """Apply the step; `verify=False` vouches for a program that `ir.verify` has not seen.

        Raises:
            ScheduleError: the function has no such block.
            VerifyError: the program has no meaning.
        """
        func = entered(func, verified=verify)
        if self.erase is not None:
            return self.erase(func)
        block = self.options.get("block")
        assert block is None or isinstance(block, str)
        floats = self.options.get("floats")
        assert floats is None or isinstance(floats, tuple)
        floats = floats_named(floats)
        active = tuple(rule for rule in self.rules if rule.floats in floats)
        return search_within(func, block, active, self.target, floats)

    def __repr__(self) -> str:
        return f"transforms.{self.name}({', '.join(f'{k}={v!r}' for k, v in self.options.items())})"


def _options(block: object, floats: Freedoms = None, **more: object) -> dict[str, object]:
    """Options as given: what was left out stays out, so that traces print as they were written."""
    name = getattr(block, "name", block)  # a block may be given as a schedule gives it
    if name is not None and not isinstance(name, str):
        raise ScheduleError("reference", f"{block!r} is no block", help="give the name of a block")
    given = {"block": name, "floats": None if floats is None else freedom_names(floats_named(floats)), **more}
    return {name: value for name, value in given.items() if value is not None}


def simplify(block: Block = None, floats: Freedoms = None) -> Step:
    """Simplify expressions, and branches whose conditions are known, alike, or decided by the branch before them.

    Known is what loops, branches, assumptions and earlier stores say, until something changes it.
    """
    loop_rules = (loops.single_iteration, loops.no_iteration)
    rules = (*EXPRESSION_RULES, *affine.AFFINE_RULES, *_BRANCHES, *_NOTHING, cases.neighbours, *loop_rules)
    return Step("simplify", _options(block, floats), rules)


def remove_no_op(block: Block = None, floats: Freedoms = None) -> Step:
    """Remove what changes nothing: overwritten stores, loads stored back, stores of what is there, empty loops."""
    rules = (*EXPRESSION_RULES, *_BRANCHES, *_NOTHING, statements.dead)
    return Step("remove_no_op", _options(block, floats), rules)


def merge_conditionals(block: Block = None) -> Step:
    """Merge adjacent branches with identical or complementary conditions."""
    rules = (cases.neighbours, *_BRANCHES, *_NOTHING)
    return Step("merge_conditionals", _options(block), rules, replace(_NO_BRANCHES, guarded=0.5))


def reduce_loop_extents(block: Block = None) -> Step:
    """Shorten loops at both ends to the iterations in which a condition of their body holds."""
    rules = (*loops.LOOP_RULES, *_BRANCHES, *_NOTHING)
    return Step("reduce_loop_extents", _options(block), rules, _SHORT_LOOPS)


_CONDITIONALS = {
    "if_else_stmt": (cases.any_branch_condition,),
    "if_else_expr": (cases.select_condition,),
    "boolean_expression": (cases.boolean,),
}
_LET_BINDINGS = {
    "required_by_condition": (cases.bound_condition,),
    "let_stmt": (loops.binding,),
    "let_expr": (),  # bindings are statements here: there is no other kind to hoist
}


def hoist_expression(
    block: Block = None,
    conditionals: Sequence[str] = ("if_else_stmt",),
    let_bindings: Sequence[str] = (),
) -> Step:
    """Move conditions and bindings out of loops whose iterations do not change them, never past a name they use.

    `conditionals`: which conditions, of `if_else_stmt`, `if_else_expr` and `boolean_expression` (any boolean part of an
    expression). `let_bindings`: of `required_by_condition`, `let_stmt` and `let_expr`.

    Raises:
        ScheduleError: a flag is unknown.
    """
    rules: list[Rule] = []
    for flags, known in ((conditionals, _CONDITIONALS), (let_bindings, _LET_BINDINGS)):
        if isinstance(flags, str) or not isinstance(flags, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError("argument", f"flags must be given as a list, not {flags!r}")
        for flag in flags:
            if flag not in known:
                help = suggest(flag, known) or f"use {', '.join(known)}"
                raise ScheduleError("unknown-flag", f"hoist_expression has no flag `{flag}`", help=help)
            rules += known[flag]
    chosen = tuple(dict.fromkeys(rules))
    boolean = EXPRESSION_RULES if "boolean_expression" in conditionals or "if_else_expr" in conditionals else ()
    options = _options(block, conditionals=tuple(conditionals), let_bindings=tuple(let_bindings))
    return Step("hoist_expression", options, (*chosen, *boolean, *_BRANCHES, *_NOTHING), _HOISTED)


def inline_lets(block: Block = None) -> Step:
    """Put values in place of their names, and drop names that nothing uses.

    A binding stays where its value reads a buffer: it freezes what may be undef, or change before the name is used.
    """
    return Step("inline_lets", _options(block), (lets.inline, lets.unused), _NO_NAMES)


def common_subexpressions(block: Block = None) -> Step:
    """Name numeric expressions over variables that are evaluated more than once."""
    return Step("common_subexpressions", _options(block), (lets.common,), _FEWEST_OPERATIONS)


def introduce_lets(block: Block = None) -> Step:
    """Name numeric expressions over variables where the outermost loop allows it that they depend on, as they stand."""
    return Step("introduce_lets", _options(block), (index_terms.as_written,), _FEWEST_OPERATIONS)


def hoist_index_terms(block: Block = None, floats: Freedoms = None) -> Step:
    """Compute each term of a sum or product at the outermost loop it depends on, and what is repeated once.

    Sums and products are rearranged for that: integer ones where no partial result leaves its range, or else in
    wrapping arithmetic, those of floats with the freedoms `reassociate` and `no_signed_zeros`.
    """
    floating = index_terms.float_terms.floats in floats_named(floats)
    rules = (index_terms.float_terms if floating else index_terms.terms, wrapping.wrapping_terms)
    return Step("hoist_index_terms", _options(block, floats), rules, _FEWEST_OPERATIONS)


def remove_branching_through_overcompute(block: Block = None, floats: Floats | Sequence[str] | None = None) -> Step:
    """Drop branches whose other side may run everywhere without a visible effect, reducing indices where needed."""
    rules = (
        *EXPRESSION_RULES, *_BRANCHES, *_NOTHING, statements.dead, *_OVERCOMPUTE, *padding.PADDING_RULES,
    )  # fmt: skip
    return Step("remove_branching_through_overcompute", _options(block, floats), rules, _NO_BRANCHES)


def remove_overcompute_through_branching(block: Block = None, floats: Floats | Sequence[str] | None = None) -> Step:
    """Guard work that does nothing visible for some iterations, by a condition for those in which it does."""
    rules = (
        *EXPRESSION_RULES, *_BRANCHES, *_NOTHING, statements.dead, cases.dead_region, cases.known_region,
    )  # fmt: skip
    return Step("remove_overcompute_through_branching", _options(block, floats), rules, _LESS_WORK)


def remove_assume() -> Step:
    """Drop all assumptions, as lowering does; a schedule refuses that where the bounds of an access rest on one."""
    return Step("remove_assume", {}, erase=erase_assumptions)


def remove_store_undef() -> Step:
    """Drop all stores of undef, which leave an element arbitrary."""
    return Step("remove_store_undef", {}, erase=erase_undef_stores)


# By name, for reading traces back.
STEPS: dict[str, Callable[..., Step]] = {
    step.__name__: step
    for step in (
        simplify, remove_no_op, merge_conditionals, reduce_loop_extents, hoist_expression, inline_lets,
        common_subexpressions, introduce_lets, hoist_index_terms,
        remove_branching_through_overcompute, remove_overcompute_through_branching, remove_assume, remove_store_undef,
    )
}  # fmt: skip
