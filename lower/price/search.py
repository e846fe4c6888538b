"""The search with the price of programs as they will run: what `loopsat.optimize` and `loopsat.jit` do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from egraph_rules.authoring.rule import Rule
from egraph_rules.cost.target import Target
from egraph_rules.engine.phases import Budget
from egraph_rules.optimization import Result, optimize
from ir.floats import DEFAULT_FLOATS, Floats
from ir.later import later
from ir.nodes import Module, PrimFunc
from ir.semantics.verify import entered
from lower.price.program import pricing

if TYPE_CHECKING:
    from egraph_rules.modules import program as modules
    from egraph_rules.modules.candidates import Maps
    from egraph_rules.modules.program import Confirm
    from egraph_rules.modules.result import ModuleResult
else:  # what functions that stand alone do without
    modules = later("egraph_rules.modules.program")

Whole = Callable[[PrimFunc], float] | Literal["lowered"] | None


def optimize_function(
    func: PrimFunc,
    target: Target,
    k: int = 1,
    budget: Budget | None = None,
    floats: Floats = DEFAULT_FLOATS,
    rules: Iterable[Rule] | None = None,
    without: tuple[str, ...] = (),
    off: frozenset[str] = frozenset(),
    verify: bool = True,
    whole: Whole = "lowered",
) -> Result:
    """`egraph_rules.optimize` of a function, priced as a whole by what lowering makes, unless the caller says how.

    `without` are families and names of rules, `off` those of forms of lowering.
    """
    func = entered(func, verified=verify)
    price = pricing(func, target, floats, off) if whole == "lowered" else whole
    found = optimize(func, target, k, budget, floats, rules, without, verify, price)
    names = tuple(dict.fromkeys((*without, *sorted(off))))
    return replace(found, settings=replace(found.settings, without=names)) if off else found


def optimize_module(
    module: Module,
    target: Target,
    budget: Budget | None,
    floats: Floats,
    rules: Iterable[Rule] | None,
    without: tuple[str, ...],
    off: frozenset[str],
    verify: bool,
    whole: Whole,
    entry: str,
    free: Iterable[str],
    maps: Maps | None,
    confirm: Confirm | None,
) -> ModuleResult:
    """`egraph_rules.optimize` of a module, priced as a whole by what lowering makes, unless the caller says how.

    `without` are families and names of rules, `off` those of forms of lowering.
    """
    price = pricing(entered(module, entry, verify), target, floats, off) if whole == "lowered" else whole
    return modules.optimize(
        module, target, budget=budget, floats=floats, rules=rules, without=without, verify=verify, whole=price,
        entry=entry, free=free, maps=maps, confirm=confirm,
    )  # fmt: skip
