"""`loopsat.optimize`: the search by prices of programs as they will run, whose results are kept on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, overload

from msgspec.structs import replace

from egraph_rules.authoring.rule import Rule
from egraph_rules.cost.target import TPU, Target, target_named
from egraph_rules.engine.phases import Budget
from egraph_rules.explain.decisions import Decision
from egraph_rules.optimization import Result
from egraph_rules.rules.registry import active_rules
from ir.errors import OptionError, expect
from ir.floats import Floats, floats_named
from ir.later import later
from ir.nodes import Module
from ir.program.calls import calls_in
from ir.program.modules import ENTRY, Written, expect_program
from ir.semantics.verify import entered
from lower.runtime import kept

if TYPE_CHECKING:
    from egraph_rules.modules.candidates import Maps
    from egraph_rules.modules.result import ModuleResult
    from lower.price import search
    from lower.price.search import Whole
    from lower.runtime import switches
    from lower.tpu import compiler
else:  # prices of programs as they will run need all of lowering
    search = later("lower.price.search")
    switches = later("lower.runtime.switches")
    compiler = later("lower.tpu.compiler")


@overload
def optimize(
    program: Module,
    target: str | Target = ...,
    *,
    budget: Budget | None = ...,
    floats: Floats | str | Iterable[str] | None = ...,
    rules: Iterable[Rule] | None = ...,
    without: Iterable[str] = ...,
    verify: bool = ...,
    whole: Whole = ...,
    entry: str = ...,
    free: Iterable[str] = ...,
    maps: Maps | None = ...,
) -> ModuleResult: ...
@overload
def optimize(
    program: Written,
    target: str | Target = ...,
    k: int = ...,
    budget: Budget | None = ...,
    floats: Floats | str | Iterable[str] | None = ...,
    rules: Iterable[Rule] | None = ...,
    without: Iterable[str] = ...,
    verify: bool = ...,
    whole: Whole = ...,
) -> Result: ...
def optimize(
    program: Written | Module,
    target: str | Target = "cpu",
    k: int = 1,
    budget: Budget | None = None,
    floats: Floats | str | Iterable[str] | None = None,
    rules: Iterable[Rule] | None = None,
    without: Iterable[str] = (),
    verify: bool = True,
    whole: Whole = "lowered",
    entry: str = ENTRY,
    free: Iterable[str] = (),
    maps: Maps | None = None,
) -> Result | ModuleResult:
    """Search for the `k` cheapest programs equivalent to a function, none dearer than it by the code that lowering
    makes; or for the cheapest module.

    As `egraph_rules.optimize`, which says what the arguments are and what is raised, but that programs are priced as
    a whole by `lower.price.program.pricing`; another price may be given, and None leaves the order to the search. Of
    modules for `tpu`, its compiler decides, where it is installed, whether other layouts are taken. `without` names
    forms of lowering too, and their families: programs are priced without them.

    What was found of a function is kept on disk (see `loopsat cache`), so that another process need not search for it,
    unless rules or prices of the caller or a limit of seconds decide; `report.recalled` says that it comes from there.
    """
    expect_program(program)
    expect(k, int, "the number of variants `k` is a whole number")
    if k < 1:
        raise OptionError("argument", f"the number of variants `k` must be at least 1, not {k}")
    expect(budget, (Budget, type(None)), "a budget is a Budget", "as in Budget(seconds=5.0)")
    expect(free, Iterable, "`free` has the names of buffers", 'as in free=("A",)')
    off = switches.switched_off(without) if without else None
    families, forms = ((), frozenset[str]()) if off is None else (off.rules, off.forms)
    policy = floats_named(floats)
    chosen = target if isinstance(target, Target) else target_named(target)
    if isinstance(program, Module):
        confirm = compiler.no_slower if chosen == TPU and compiler.tpu_available() else None
        return search.optimize_module(
            program, chosen, budget, policy, rules, families, forms, verify, whole, entry, free, maps, confirm
        )
    calls = next(calls_in(program.body), None) is not None
    func = entered(program, verified=verify) if calls else program  # what is kept says nothing of how calls are written
    if rules is not None or callable(whole) or not kept.repeatable(budget) or not kept.wanted():
        return search.optimize_function(func, chosen, k, budget, policy, rules, families, forms, verify, whole)
    key = kept.key_of("optimize", func, chosen, k, budget, policy.value, sorted((*families, *forms)), whole)
    known = kept.recall(key)
    if isinstance(known, Result):
        settings = replace(known.settings, rules=tuple(r for r in active_rules(families) if r.floats in policy))
        func.vouched()  # else it had not been kept
        result = replace(known, source=func, settings=settings, report=replace(known.report, recalled=True))
    else:
        result = search.optimize_function(func, chosen, k, budget, policy, None, families, forms, verify, whole)
        _keep(key, result)
    if result.report.decided is None and not result.report.interrupted:

        def decide() -> list[Decision]:
            """The decisions, which later processes find with the rest from then on."""
            result.report.decided = result.decisions()
            _keep(key, result)
            return result.report.decided

        result.report.decide = decide
    return result


def _keep(key: str, result: Result) -> None:
    """Keep a result without what its search knew: that is searched for again, if asked."""
    if not result.report.interrupted:
        kept.keep(key, replace(result, settings=replace(result.settings, rules=()), report=result.report.bare()))
