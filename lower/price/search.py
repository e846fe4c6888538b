"""The search with the price of programs as they will run: what `loopsat.optimize` and `loopsat.jit` do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, overload

from egraph_rules import Floats, Result, Rule
from egraph_rules import optimize as search
from egraph_rules.cost.target import Target, target_named
from egraph_rules.engine.phases import Budget
from egraph_rules.modules.candidates import Maps
from egraph_rules.modules.result import ModuleResult
from ir.floats import floats_named
from ir.nodes import Module, PrimFunc
from ir.program.calls import without_calls
from ir.program.modules import ENTRY, entry_of
from ir.semantics.verify import entered
from lower.price.program import pricing

Whole = Callable[[PrimFunc], float] | Literal["lowered"] | None


@overload
def optimize(
    program: PrimFunc,
    target: str | Target = ...,
    k: int = ...,
    budget: Budget | None = ...,
    floats: Floats | str | Iterable[str] | None = ...,
    rules: Iterable[Rule] | None = ...,
    without: Iterable[str] = ...,
    verify: bool = ...,
    whole: Whole = ...,
) -> Result: ...
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
def optimize(
    program: PrimFunc | Module,
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
    a whole by `lower.price.program.pricing`; another price may be given, and None leaves the order to the search.
    """
    policy = floats_named(floats)
    chosen = target if isinstance(target, Target) else target_named(target)
    if isinstance(program, Module):
        price = pricing(without_calls(entry_of(program, entry)), chosen, policy) if whole == "lowered" else whole
        return search(
            program, chosen, budget=budget, floats=policy, rules=rules, without=without, verify=verify, whole=price,
            entry=entry, free=free, maps=maps,
        )  # fmt: skip
    func = entered(program, verified=verify)
    price = pricing(func, chosen, policy) if whole == "lowered" else whole
    return search(func, chosen, k, budget, policy, rules, without, verify, price)
