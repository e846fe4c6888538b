"""`loopsat bench`: the kernels of a file, as written and optimized: checked, timed in turns, in one table each."""

from __future__ import annotations

import argparse

import numpy as np

from egraph_rules import Floats, optimize
from egraph_rules.rule import DEFAULT_FLOATS
from ir.errors import LoopsatError, suggest
from ir.inputs import random_inputs
from ir.nodes import PrimFunc
from ir.verify import verify
from lower import compile
from lower.calibration import Stored, price_line, stored
from lower.cli import load_kernels
from lower.commands.optimize import check, time_forms
from lower.measure import Form
from lower.page import Page
from lower.scripts import register_rules
from lower.tuning import needed_sizes


def run(options: argparse.Namespace) -> None:
    """Measure each kernel.

    Raises:
        LoopsatError: the script or a kernel is at fault, or a size belongs to none of them.
    """
    _, funcs = load_kernels(options.script)
    register_rules(options.rules)
    sizes = dict(options.size)
    known = {name for func in funcs for name in needed_sizes(func)} | {s.name for f in funcs for s in f.scalars}
    for name in sizes:
        if name not in known:
            help = suggest(name, known) or f"the sizes are {', '.join(sorted(known)) or 'none'}"
            raise LoopsatError("unknown-size", f"no kernel of {options.script} has a size `{name}`", help=help)
    prices = stored(options.target)
    page = Page()
    page.line(prices.note or price_line(options.target, prices.calibration))
    for func in funcs:
        _bench(page, options, func, sizes, prices)


def _bench(page: Page, options: argparse.Namespace, func: PrimFunc, sizes: dict[str, int], prices: Stored) -> None:
    verify(func)
    floats = Floats.STRICT if options.strict_floats else DEFAULT_FLOATS
    result = optimize(func, target=prices.target, k=options.variants, floats=floats, without=options.without)
    own = {*needed_sizes(func), *(s.name for s in func.scalars)}
    given = {name: size for name, size in sizes.items() if name in own}
    inputs = random_inputs(func, np.random.default_rng(options.seed), given)
    forms = [Form("as written", func, compile(func, options.target))]
    for rank, (variant, _) in enumerate(result.variants):
        name = f"variant {rank + 1}" if rank else "cheapest"
        forms.append(Form(name, variant, compile(variant, options.target)))
    page.title(f"kernel {func.name}, target {options.target}")
    for form in forms[1:]:
        check(page, func, form.func, inputs, forms[0].kernel, form.kernel)
    time_forms(page, func, forms, inputs, options.target)
