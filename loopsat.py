"""loopsat from Python: the names that most programs need, each from its home. Owns one default, the price of programs.

    import loopsat
    from loopsat import T

`python -m loopsat` is the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Literal

from egraph_rules import Floats, Result, Rule, check_rule, prove, rule, simplify
from egraph_rules import optimize as _optimize
from egraph_rules.cost import Target, target_named
from egraph_rules.phases import Budget
from ir import LoopsatError, PrimFunc, interpret, parse
from ir import script as T
from ir.floats import floats_named
from ir.schedule import Schedule
from ir.verify import check_entry
from lower import compile, emit, export
from lower.cli import main
from lower.price import pricing

__version__ = version("loopsat")

__all__ = [
    "LoopsatError", "Schedule", "T", "__version__", "check_rule", "compile", "emit", "export", "interpret", "optimize",
    "parse", "prove", "rule", "simplify",
]  # fmt: skip


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
    a whole by `lower.price.pricing`; another price may be given, and None leaves the order to the search.
    """
    check_entry(func, verify)
    policy = floats_named(floats)
    chosen = target if isinstance(target, Target) else target_named(target)
    price = pricing(func, chosen, policy) if whole == "lowered" else whole
    return _optimize(func, chosen, k, budget, policy, rules, without, verify, price)


if __name__ == "__main__":
    sys.exit(main())
