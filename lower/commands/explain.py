"""`loopsat explain`: the rewrites from a kernel to its cheapest equivalent, and to how that runs, each with a diff."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.syntax import Syntax

from egraph_rules import Result
from egraph_rules.cost.target import Target
from egraph_rules.explain.derivation import Step
from ir.floats import Floats
from ir.page import say
from ir.semantics.verify import verify
from lower.commands.cli import floats_of, load_kernel
from lower.commands.console import console as page_console
from lower.commands.console import waiting
from lower.commands.scripts import register_rules
from lower.price.search import optimize_function
from lower.restructure.pipeline import structure_steps
from lower.runtime.calibration import price_line, stored
from lower.runtime.switches import switched_off
from lower.runtime.why_not import forms_named, why_not


def run(options: argparse.Namespace) -> None:
    """Print the chain of rewrites.

    Raises:
        LoopsatError: the script or the kernel is at fault.
    """
    _, func = load_kernel(options.script)
    verify(func)
    register_rules(options.rules)
    floats = floats_of(options)
    prices = stored(options.target)
    off = switched_off(options.without)
    with waiting("searching"):
        result = optimize_function(func, prices.target, floats=floats, without=off.rules, off=off.forms)
    console = page_console()
    if options.why_not is not None:
        console.print(_why_not(options, result, prices.target, floats, off.names), markup=False)
        return
    with waiting("working out the steps"):
        steps = result.derivation()
    cost = result.variants[0][1]
    count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    summary = f"{func.name}, target {options.target}: {count}, cost {result.cost_before:,.0f} to {cost:,.0f}"
    say(console, summary)
    if prices.note or prices.calibration is not None:
        say(console, prices.note or price_line(options.target, prices.calibration))
    if result.report.overruled:
        say(console, result.report.overruled)
    for number, step in enumerate(steps, 1):
        _show(console, number, step)
    if not (steps or result.report.overruled):
        console.print("no rule found anything cheaper", markup=False)
    with waiting("working out how it will run"):
        passes = structure_steps(result.best, prices.target, floats, off.forms)
    count = "1 pass" if len(passes) == 1 else f"{len(passes)} passes"
    console.print(f"\nhow it will run: {count} of lowering", markup=False)
    for number, step in enumerate(passes, len(steps) + 1):
        _show(console, number, step)


def _why_not(
    options: argparse.Namespace, result: Result, target: Target, floats: Floats, without: tuple[str, ...]
) -> str:
    """Why a rule of the search, or a form of lowering, did not contribute."""
    name = options.why_not
    if forms_named(name):
        with waiting("lowering with and without it"):
            return why_not(result.best, name, target, floats=floats, without=without, verify=False)
    with waiting("searching for what is missing"):
        return result.why_not(name)


def _show(console: Console, number: int, step: Step) -> None:
    say(console, f"\n{number}. {step.rule}: {step.place}", style="bold")
    if step.law:
        say(console, step.law, "   law:  ")
    say(console, step.fact, "   fact: ")
    diff = "\n".join(step.diff())
    if console.is_terminal:
        console.print(Syntax(diff, "diff", background_color="default"))
    else:
        console.print(diff, markup=False)
