"""From a function to the form in which it will run: the passes in their order, each with its law.

Each pass takes a program to one with the same results, so `lower.nest.as_loops` can show, and the interpreter can
check, what any of them has made. Emission writes the last form and decides nothing about loops any more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from egraph_rules.explain.derivation import Step
from ir.analysis.steady_elements import SteadyElements
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import PrimFunc
from ir.presburger.sets import exclusive
from ir.transform.loops.strip_mine import split_at_periods
from ir.transform.loops.unroll import with_unrolled
from ir.transform.loops.window import with_windows
from lower.analysis.deciding import Taken, cheaper, noted, settled
from lower.analysis.freedoms import Form, Policy
from lower.array.calls import without_bodies
from lower.array.integer_facts import Facts
from lower.instructions.permutations import PERMUTATIONS, permute
from lower.instructions.updates_by_key import KEYS_AS_PRODUCTS, keys_as_products
from lower.nest.alike import key_of
from lower.nest.as_loops import as_loops
from lower.nest.element_reads import ELEMENT_READS, read_apart
from lower.nest.nodes import Plan
from lower.nest.normalize import Program, normalize
from lower.nest.residues import RESIDUES, sum_residues
from lower.nest.steady_conditions import STEADY_CONDITIONS, read_before
from lower.nest.undef_products import UNDEF_PRODUCTS, absorb_undef
from lower.restructure.estimate import estimate
from lower.restructure.index_set_splitting import INDEX_SET_SPLITTING, phased
from lower.restructure.interchange import places_in_turn
from lower.restructure.loop_reversal import LOOP_REVERSAL, forward
from lower.restructure.plan import PLANNING, plan
from lower.restructure.stage_unrolling import STAGES, with_stages
from lower.restructure.strip_mining import PERIODS, WINDOWS
from lower.restructure.unrolling import as_granted, is_one_function
from lower.storage.columns import COLUMNS, in_columns
from lower.storage.contraction import CONTRACTION, shortened
from lower.storage.delinearization import DELINEARIZATION, unflatten
from lower.storage.dimension_order import DIMENSION_ORDER, laid_out
from lower.storage.forward_substitution import FORWARD_SUBSTITUTION, inline_values
from lower.storage.invariant_code_motion import CODE_MOTION, hoist_invariants
from lower.storage.invariant_reductions import INVARIANT_REDUCTIONS, reduce_before
from lower.storage.linearization import LINEARIZATION, blocks_in_a_row
from lower.storage.packed_updates import PACKING, packed
from lower.storage.predicate_elimination import PREDICATE_ELIMINATION, everywhere
from lower.storage.scalar_promotion import DELICM, work_in_place
from lower.storage.scalar_recurrences import PAST_VALUES, read_past_values
from lower.storage.shared_functions import SHARED_FUNCTIONS, with_shared_functions
from lower.storage.transposed_copy import TRANSPOSED_COPY, with_transposed_copies


class Nests(Struct, frozen=True):
    """A program in normal form for a target, what is assumed of its integers, and from planning on, its plan."""

    program: Program
    target: Target
    facts: Facts
    plan: Plan | None = None

    @property
    def planned(self) -> Plan:
        """The plan, which the passes before the planning one do not have."""
        assert self.plan is not None
        return self.plan

    def loops(self) -> PrimFunc:
        """The loop program that it is."""
        return as_loops(self.program, self.plan)

    def views(self) -> Iterator[str]:
        """The parameters that the program sees with other dimensions than callers; its loops read those of callers."""
        for buffer in self.program.func.buffers:
            if buffer.name in self.program.flat:
                shape = ", ".join(str(extent) for extent in buffer.shape)
                yield f"{buffer.name} is seen as an array of shape ({shape})"


class StatementPass(Struct, frozen=True):
    """A pass over the statements of a function: what it may do, by the law that makes it right, and why it stands where
    it stands."""

    does: Form
    because: str
    run: Callable[[PrimFunc, Target, Policy], PrimFunc]


class Pass(Struct, frozen=True):
    """As a pass over statements, over the normal form that they are brought into after those."""

    does: Form
    because: str
    run: Callable[[Nests], Nests]


def _on_program(change: Callable[[Program], None]) -> Callable[[Nests], Nests]:
    """A pass that changes statements."""

    def run(nests: Nests) -> Nests:
        change(nests.program)
        return nests

    return run


def _by_prices(change: Callable[[Program, Target], None]) -> Callable[[Nests], Nests]:
    """A pass that changes statements where prices say so."""

    def run(nests: Nests) -> Nests:
        change(nests.program, nests.target)
        return nests

    return run


def _on_plan(change: Callable[[Program, Plan, Target], Plan]) -> Callable[[Nests], Nests]:
    """A pass that changes a plan."""
    return lambda nests: replace(nests, plan=change(nests.program, nests.planned, nests.target))


_NEARLY = 1.2  # times as dear prices of plans may be by mistake
_FAR = 4.0  # times as dear a plan must be for windows to be worth it, whatever its masks become


def _planned(nests: Nests, program: Program) -> Nests:
    """The plan of a program, whose locals are no larger than what a plan leaves of their loops."""
    made = plan(program, nests.target)
    return replace(nests, program=program, plan=shortened(program, made) if program.policy.takes(CONTRACTION) else made)


def _in_windows(func: PrimFunc, target: Target, policy: Policy) -> PrimFunc:
    """A function with loops over windows, where its plan costs far less so.

    What masks over whole dimensions become, such as products of matrices, prices of plans do not know; the search,
    which has code priced, has this move as a rule.
    """
    found = with_windows(func)
    if found is func:
        return func
    before, after = (_plan_price(f, target, policy) for f in (func, found))
    return found if cheaper("windows", _FAR * after, before) else func


def _in_stages(func: PrimFunc, target: Target, policy: Policy) -> PrimFunc:
    """A function with its stages written out, unless its plan costs more so: a few numbers instead of a variable may
    leave all loops as they are, each of them several times."""
    found = with_stages(func, target)
    if found is func:
        return func
    before, after = (_plan_price(f, target, policy) for f in (func, found))
    return found if cheaper("plan with stages", after, _NEARLY * before + target.dispatch) else func


def _plan_price(func: PrimFunc, target: Target, policy: Policy) -> float:
    """The price of the plan of a function; of functions that lowering makes alike, one of the latest is planned."""
    program = normalize(func, policy=policy)
    key = key_of(program), target, policy.floats, policy.without  # before planning changes it
    usual = settled()
    known = _LATEST.get(key) if usual else None
    if known is None:
        own = replace(policy, withheld={})
        program.policy = own
        granted = as_granted(target, own)
        made = plan(program, granted)
        known = estimate(made.nodes, made.boxes, granted, depth=program.depth), own.withheld
        if usual:
            _LATEST[key] = known
            if len(_LATEST) > _KEPT:
                _LATEST.popitem(last=False)
    price, withheld = known
    policy.withheld.update(withheld)
    return price


_LATEST: OrderedDict[Hashable, tuple[float, dict[Form, None]]] = OrderedDict()
_KEPT = 8  # plans: of each of the few programs that a search prices two are made, of which many are alike


STATEMENT_PASSES = (
    StatementPass(
        PERIODS,
        "before all that asks which iterations wait for others",
        lambda func, _target, _policy: split_at_periods(func),
    ),
    StatementPass(
        WINDOWS,
        "when loops are those that count, and before a plan is made of their bounds",
        _in_windows,
    ),
    StatementPass(
        STAGES,
        "last of these: it writes loops out",
        _in_stages,
    ),
)
PASSES = (
    Pass(
        UNDEF_PRODUCTS,
        "first, while it is known what is undef: a kernel has zeros there",
        _on_program(absorb_undef),
    ),
    Pass(
        DELINEARIZATION,
        "before all that knows more of indices in two dimensions than of a sum",
        _on_program(unflatten),
    ),
    Pass(
        LINEARIZATION,
        "before anything is said of loops, which then go along slices",
        _on_program(blocks_in_a_row),
    ),
    Pass(
        COLUMNS,
        "before anything is made of loops, which then carry each column by itself",
        _on_program(in_columns),
    ),
    Pass(
        STEADY_CONDITIONS,
        "before promotion, which would take the element that a store replaces for a value of each iteration",
        _on_program(read_before),
    ),
    Pass(
        RESIDUES,
        "before promotion, which has no locals left, for whose values it decides",
        _on_program(sum_residues),
    ),
    Pass(
        PERMUTATIONS,
        "before promotion, which makes a value of each iteration of what is exchanged",
        _on_program(permute),
    ),
    Pass(
        DELICM,
        "before the order of loops is asked for: a local makes each statement wait for it",
        _on_program(work_in_place),
    ),
    Pass(
        INVARIANT_REDUCTIONS,
        "after promotion, which needs locals inside, and before values are put in their place",
        _on_program(reduce_before),
    ),
    Pass(
        CODE_MOTION,
        "after promotion, which needs locals inside, and before values are put in their place",
        _on_program(hoist_invariants),
    ),
    Pass(
        PAST_VALUES,
        "before substitution, for which the variable would be a value of each iteration",
        _on_program(read_past_values),
    ),
    Pass(
        FORWARD_SUBSTITUTION,
        "before planning, for which each local is a dependence",
        _on_program(inline_values),
    ),
    Pass(
        ELEMENT_READS,
        "when places are in terms of loops, and before planning, for which each step waits for the one that is read",
        _on_program(read_apart),
    ),
    Pass(
        KEYS_AS_PRODUCTS,
        "before planning, for which keys are axes",
        _by_prices(keys_as_products),
    ),
    Pass(
        PLANNING,
        "where all is known of statements; each alternative is taken where its price is lower",
        lambda nests: _planned(nests, places_in_turn(nests.program, nests.target)),
    ),
    Pass(
        PREDICATE_ELIMINATION,
        "when it is known what is taken at once: elements that nobody asks for cost nothing there",
        _on_plan(lambda program, plan, _target: everywhere(program, plan)),
    ),
    Pass(
        PACKING,
        "when it is known what is taken at once",
        _on_plan(lambda program, plan, _target: packed(program, plan)),
    ),
    Pass(
        LOOP_REVERSAL,
        "as soon as it is known what is an axis, before anything is said of how arrays lie along it",
        _on_plan(forward),
    ),
    Pass(
        DIMENSION_ORDER,
        "as soon as it is known what is taken at once",
        _on_plan(laid_out),
    ),
    Pass(
        SHARED_FUNCTIONS,
        "when it is known what is taken at once, and before what is read is copied",
        _on_plan(with_shared_functions),
    ),
    Pass(
        TRANSPOSED_COPY,
        "after dimension order, which does without a copy where it can",
        _on_plan(partial(with_transposed_copies, in_function=is_one_function)),
    ),
    Pass(
        INDEX_SET_SPLITTING,
        "after all copies are known, which phases take sections of",
        _on_plan(phased),
    ),
)


def as_it_will_run(
    func: PrimFunc, target: Target, policy: Policy, checks: bool = False, normal: Nests | None = None
) -> Nests:
    """The form of a function that emission writes; passes change its `normal` form, if that is known."""
    nests = normal_form(func, target, policy, checks) if normal is None else normal
    for step in _taken(policy):
        nests = step.run(nests)
    return nests


def _taken_first(policy: Policy) -> Iterator[StatementPass]:
    return (p for p in STATEMENT_PASSES if policy.takes(p.does))


def _taken(policy: Policy) -> Iterator[Pass]:
    """The passes that are not switched off; without planning, the plan is the loops as they are written."""
    return (p for p in PASSES if p.does in (UNDEF_PRODUCTS, PLANNING) or policy.takes(p.does))


@exclusive
def structure_steps(
    func: PrimFunc, target: Target = CPU, floats: Floats = DEFAULT_FLOATS, without: frozenset[str] = frozenset()
) -> list[Step]:
    """The passes that change a function on its way to the form in which it will run, with the programs around each.

    Raises:
        LowerError: the function cannot be lowered.
    """
    policy = Policy(floats, without=without)
    found: list[Step] = []
    plain = _without_marks(func, policy)
    for step in _taken_first(policy):
        with noted() as decisions:
            after = step.run(plain, target, policy)
        if after.body is not plain.body:
            found.append(_step(step.does, (), decisions, plain, after))
        plain = after
    nests = _normal_form(func, plain, target, policy, checks=False)
    before = nests.loops()
    seen: list[str] = []
    for step in _taken(policy):
        with noted() as decisions:
            nests = step.run(nests)
        after = nests.loops()
        views = [*nests.views()][len(seen) :]
        if after != before or views:
            seen += views
            found.append(_step(step.does, views, decisions, before, after))
        before = after
    return found


def _step(form: Form, views: Iterable[str], decisions: Iterable[Taken], before: PrimFunc, after: PrimFunc) -> Step:
    """What a pass has made of a function, and the prices that decided."""
    fact = "; ".join([*views, *(str(d) for d in decisions if d.form > 0)]) or "whatever the data are"
    return Step(form.name, form.law, before.name, fact, before, after)


@exclusive
def form_of(
    func: PrimFunc, target: Target = CPU, floats: Floats = DEFAULT_FLOATS, without: frozenset[str] = frozenset()
) -> PrimFunc:
    """The loop program in the form in which a function will run: axes are parallel loops, steps are serial ones.

    Raises:
        LowerError: the function cannot be lowered.
    """
    return as_it_will_run(func, target, Policy(floats, without=without)).loops()


def normal_form(func: PrimFunc, target: Target, policy: Policy, checks: bool = False) -> Nests:
    """A function as guarded stores, after the passes over its statements."""
    plain = _without_marks(func, policy)
    for step in _taken_first(policy):
        plain = step.run(plain, target, policy)
    return _normal_form(func, plain, target, policy, checks=checks)


def _without_marks(func: PrimFunc, policy: Policy) -> PrimFunc:
    """A function without the bodies of its calls, with loops written out that are marked so."""
    return with_unrolled(without_bodies(func, policy.floats))


def _normal_form(func: PrimFunc, plain: PrimFunc, target: Target, policy: Policy, *, checks: bool) -> Nests:
    """What statements made of a function are as guarded stores."""
    program, facts = normalize(plain, checks, policy), Facts(func, policy.floats)
    if not checks:  # a check may not rest on what it checks
        for known in (program, *([] if program.source is None else [program.source])):
            read = frozenset(known.func.buffers) - {s.buffer for s in known.statements}
            known.steady = SteadyElements(read, facts.told)
    return Nests(program, as_granted(target, policy), facts)
