"""The search with the price of programs as they will run: what `loopsat.optimize` and `loopsat.jit` do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from egraph_rules import Floats, Result, Rule
from egraph_rules import optimize as search
from egraph_rules.cost.target import Target, target_named
from egraph_rules.engine.phases import Budget
from ir.floats import floats_named
from ir.nodes import PrimFunc
from ir.verify import check_entry
from lower.price.program import pricing


def optimize(
    func: PrimFunc,
    target: str | Target = "cpu",
    k: int = 1,
    budget: Budget | None = None,
    floats: Floats | str | Iterable[str] | None = None,
    rules: Iterable[Rule] | None = None,
    without: Iterable[str] = (),
    verify: bool = True,
    whole: Callable[[PrimFunc], float] | Literal["lowered"] | None = "lowered",
) -> Result:
    """Search for the `k` cheapest programs equivalent to `func`, none dearer than it by the code that lowering makes.

    As `egraph_rules.optimize`, which says what the arguments are and what is raised, but that programs are priced as
    a whole by `lower.price.program.pricing`; another price may be given, and None leaves the order to the search.
    """
    check_entry(func, verify)
    policy = floats_named(floats)
    chosen = target if isinstance(target, Target) else target_named(target)
    price = pricing(func, chosen, policy) if whole == "lowered" else whole
    return search(func, chosen, k, budget, policy, rules, without, verify, price)
