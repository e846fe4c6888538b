"""`loopsat bench`: the kernels of a file, as written and optimized: checked, timed in turns, in one table each."""

from __future__ import annotations

import argparse

import numpy as np

from ir.semantics.inputs import require_memory
from ir.semantics.verify import verify
from lower import compile
from lower.check.kernels import check_optimized
from lower.commands.cli import floats_of, load_kernels
from lower.commands.console import waiting
from lower.commands.optimize import check, time_forms
from lower.commands.page import Page
from lower.commands.scripts import register_rules
from lower.commands.sizes import Sized, sized
from lower.price.search import optimize_function
from lower.runtime.calibration import Stored, price_line, stored
from lower.runtime.switches import switched_off
from lower.tune.measure import Form


def run(options: argparse.Namespace) -> None:
    """Measure each kernel.

    Raises:
        LoopsatError: the script or a kernel is at fault.
    """
    path, funcs = load_kernels(options.script)
    register_rules(options.rules)
    prices = stored(options.target)
    page = Page()
    page.line(prices.note or price_line(options.target, prices.calibration))
    for func in funcs:
        _bench(page, options, sized(path, func, options.sizes), prices)


def _bench(page: Page, options: argparse.Namespace, program: Sized, prices: Stored) -> None:
    func = program.func
    require_memory(func)
    verify(func)
    floats = floats_of(options)
    off = switched_off(options.without)
    with waiting(f"searching for {func.name}"):
        result = optimize_function(
            func, prices.target, options.variants, floats=floats, without=off.rules, off=off.forms
        )
    inputs = program.inputs(np.random.default_rng(options.seed))
    forms = [Form("as written", func, compile(func, prices.target, floats=floats, without=off.forms))]
    for rank, (variant, _) in enumerate(result.variants):
        name = f"variant {rank + 1}" if rank else "cheapest"
        forms.append(Form(name, variant, compile(variant, prices.target, floats=floats, without=off.forms)))
    sizes = f", sizes {program.text}" if program.sizes else ""
    page.title(f"kernel {func.name}{sizes}, target {options.target}")
    if result.report.overruled:
        page.line(f"- {result.report.overruled}")
    for form in forms[1:]:
        given = program.make is not None
        check(page, check_optimized(func, form.func, form.kernel, inputs, prices.target, floats, given))
    time_forms(page, func, forms, inputs, options.target)
