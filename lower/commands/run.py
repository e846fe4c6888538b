"""`loopsat run`: optimize and compile a kernel, run it, summarize its results, and compare them where asked."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ir.nodes import PrimFunc
from ir.page import say
from ir.semantics.inputs import Inputs, require_memory
from ir.semantics.verify import verify
from lower import Kernel, compile
from lower.check.kernels import check_optimized, kernel_results, written
from lower.commands.cli import budget_of, floats_of, load_kernel
from lower.commands.console import console as page_console
from lower.commands.console import waiting
from lower.commands.scripts import register_rules
from lower.commands.sizes import Sized, sized
from lower.price.search import optimize_function
from lower.runtime.calibration import stored
from lower.runtime.switches import switched_off

_CALLS, _SECONDS = 30, 1.0  # at most so many calls, for about so long, are timed


def run(options: argparse.Namespace) -> int:
    """Do what the options ask; the status is 1 if results differ from those of the program as written.

    Raises:
        LoopsatError: the script, the kernel or its sizes are at fault.
    """
    path, func = load_kernel(options.script)
    program = sized(path, func, options.sizes)
    func = program.func
    require_memory(func)
    verify(func)
    register_rules(options.rules)
    floats = floats_of(options)
    prices = stored(options.target)
    limits = budget_of(options)
    off = switched_off(options.without)
    with waiting("searching"):
        result = optimize_function(func, prices.target, budget=limits, floats=floats, without=off.rules, off=off.forms)
    with waiting("compiling and running"):
        how: dict[str, Any] = {"floats": floats, "precision": options.precision, "without": off.forms}
        kernel = compile(result.best, target=prices.target, **how)
        inputs = program.inputs(np.random.default_rng(options.seed))
        outputs = kernel_results(kernel, inputs)
    console = page_console()
    lines = [_title(program, kernel), *_results(func, outputs, inputs)]
    lines += [_time(kernel, inputs), f"search: {result.report.seconds * 1e3:.0f} ms; {result.report.stopped}"]
    same = True
    if options.verify:
        checked = check_optimized(func, result.best, kernel, inputs, prices.target, floats, program.make is not None)
        same = checked.same
        lines += [f"compared with {checked.said}: {'the same' if same else 'DIFFERENT'}"]
        lines += [f"- {c}" for c in checked.compared]
    for line in lines:
        say(console, line)
    return 0 if same else 1


def _title(program: Sized, kernel: Kernel) -> str:
    sizes = f", sizes {program.text}" if program.sizes else ""
    source = "the script's inputs" if program.make is not None else "random inputs"
    return f"{program.func.name}{sizes}, on {kernel.device.platform}, {source}"


def _results(func: PrimFunc, outputs: Mapping[str, Any], inputs: Inputs) -> Iterator[str]:
    for name in written(func):
        unchanged = "" if name in outputs else ", unchanged"
        yield f"- {name}: {summary(outputs.get(name, inputs[name]))}{unchanged}"


def summary(value: Any) -> str:
    """Shape, dtype, and the least, largest and mean element of a result."""
    array = np.asarray(value)
    head = f"shape ({', '.join(map(str, array.shape))}), {array.dtype.name}"
    if array.size == 0:
        return f"{head}, empty"
    wide = array.astype(np.float64)
    return f"{head}, min {wide.min():.6g}, max {wide.max():.6g}, mean {wide.mean():.6g}"


def _time(kernel: Kernel, inputs: Inputs) -> str:
    """The median time of calls from Python, arguments being converted each time; it has run once already."""
    samples: list[float] = []
    deadline = time.perf_counter() + _SECONDS
    while not samples or (len(samples) < _CALLS and time.perf_counter() < deadline):
        samples.append(_seconds(kernel, tuple(inputs.values())))
    return f"time: {float(np.median(samples)) * 1e3:.3f} ms a call (median of {len(samples)})"


def _seconds(kernel: Kernel, arguments: Sequence[Any]) -> float:
    began = time.perf_counter()
    jax.block_until_ready(kernel(*arguments))
    return time.perf_counter() - began
