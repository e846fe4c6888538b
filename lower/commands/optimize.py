"""`loopsat optimize`: find the cheapest equivalent of a kernel, show why, emit it, check it, time it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.syntax import Syntax

from egraph_rules import Floats, Result, optimize
from egraph_rules.erase import count_erased
from egraph_rules.rule import DEFAULT_FLOATS
from ir.inputs import Inputs
from ir.nodes import PrimFunc
from ir.script.printer import to_script
from ir.verify import Verified, verify
from lower import Kernel, compile, emit, export, stablehlo_text
from lower.check import compare, insist, reference, written
from lower.cli import budget_of, load_kernel, write_atomically
from lower.kernel import wide_types
from lower.scripts import register_rules
from lower.sizes import Sized, sized


def run(options: argparse.Namespace) -> None:
    """Do what the options ask.

    Raises:
        LoopsatError: the script, the kernel or the output path is at fault.
    """
    path, func = load_kernel(options.script)
    program = sized(path, func, options.sizes)
    verified = verify(program.func)
    floats = Floats.STRICT if options.strict_floats else DEFAULT_FLOATS
    register_rules(options.rules)
    result = optimize(
        program.func,
        target=options.target,
        k=options.variants,
        budget=budget_of(options),
        floats=floats,
        without=options.without,
    )
    form = options.emit or ("jax" if options.output else None)
    if form is not None:
        _emit(options, path, result.best, form)
    else:
        _Presenter(Console(highlight=False, soft_wrap=True)).show(options, program, verified, result)


def _emit(options: argparse.Namespace, script: Path, best: PrimFunc, form: str) -> None:
    output: Path | None = options.output
    if form == "stablehlo" and output is not None and output.suffix in (".bin", ".jaxexport"):
        write_atomically(output, export(best), script)
        return
    match form:
        case "ir":
            text = to_script(best, header=True)
        case "jax":
            text = emit(best)
        case _:
            text = stablehlo_text(best)
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        write_atomically(output, text.encode(), script)


class _Presenter:
    """Prints what was found."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def title(self, text: str) -> None:
        self.console.print(f"\n[bold]{text}[/bold]" if self.console.is_terminal else f"\n== {text}", markup=True)

    def line(self, text: str) -> None:
        self.console.print(text, markup=False)

    def code(self, text: str) -> None:
        if self.console.is_terminal:
            self.console.print(Syntax(text.rstrip(), "python", background_color="default"))
        else:
            self.line(text.rstrip())

    def show(self, options: argparse.Namespace, program: Sized, verified: Verified, result: Result) -> None:
        func = program.func
        place = f"{func.span.file}:{func.span.line}" if func.span is not None else options.script
        sizes = f", sizes {program.text}" if program.sizes else ""
        self.title(f"kernel {func.name} ({place}){sizes}, target {options.target}")
        self.code(to_script(func))
        for access in verified.unproven:
            self.line(f"unproven access: {access}")
        self._found(func, result)
        kernel = compile(result.best, target=options.target)
        self.title("JAX source")
        self.code(kernel.source)
        for note in kernel.report:
            self.line(f"- {note}")
        if not options.no_run:
            before = compile(func, target=options.target)
            inputs = program.inputs(np.random.default_rng(options.seed))
            self._check_and_time(func, result.best, before, kernel, inputs)

    def _found(self, func: PrimFunc, result: Result) -> None:
        report = result.report
        for rank, (variant, cost) in enumerate(result.variants):
            name = "cheapest equivalent program" if rank == 0 else f"variant {rank + 1}"
            self.title(f"{name}: cost {cost:,.0f}, was {result.cost_before:,.0f}")
            self.code(to_script(variant))
        self.title("decisions")
        for decision in report.decisions:
            self.line(f"- {decision.rule}: {decision.place}")
            self.line(f"    {decision.fact}")
        if not report.decisions:
            self.line("- none: no rule found anything cheaper")
        assumptions, stores = count_erased(func.body)
        if assumptions or stores:
            self.line(f"- erased after the search: {assumptions} assumptions, {stores} stores of undef")
        self.line(
            f"search: {report.seconds * 1e3:.0f} ms, {report.searches} searches, {report.nodes} terms, "
            f"{report.questions} questions to the prover; {report.stopped}"
        )

    def _check_and_time(self, func: PrimFunc, best: PrimFunc, before: Kernel, after: Kernel, inputs: Inputs) -> None:
        expected = reference(func, inputs, lambda: before)
        found = dict(zip(written(best), after(*inputs.values()), strict=True))
        self.title(f"check against {expected.name}")
        compared = compare(func, expected, found, inputs)
        insist(compared)
        for result in compared:
            self.line(f"- {result}")
        slow, fast = _times(func, inputs, before, after)
        self.title("time on this machine")
        self.line(f"- before: {slow * 1e3:.3f} ms, after: {fast * 1e3:.3f} ms, {slow / fast:.2f} times as fast")


def _times(func: PrimFunc, inputs: Inputs, *kernels: Kernel) -> list[float]:
    """Median seconds of each kernel on arrays that are in place, without our checks of arguments.

    Kernels take turns, so that a noisy machine disturbs all alike; the first calls of each turn do not
    count, since they find the caches as the other kernel left them.
    """
    samples: list[list[float]] = [[] for _ in kernels]
    with wide_types(func):
        calls = [(k.jitted, _in_place(k, inputs)) for k in kernels]
        for jitted, arguments in calls:
            jax.block_until_ready(jitted(**arguments))
        deadline = time.perf_counter() + 2.0
        while len(samples[0]) < 3 or (time.perf_counter() < deadline and len(samples[0]) < 90):
            for (jitted, arguments), sample in zip(calls, samples, strict=True):
                turn = [_seconds(jitted, arguments) for _ in range(5)]
                sample += turn[2:]
    return [float(np.median(s)) for s in samples]


def _seconds(jitted: Callable[..., tuple[jax.Array, ...]], arguments: dict[str, Any]) -> float:
    began = time.perf_counter()
    jax.block_until_ready(jitted(**arguments))
    return time.perf_counter() - began


def _in_place(kernel: Kernel, inputs: Inputs) -> dict[str, Any]:
    """Arguments of the jitted function, arrays moved to its device; static sizes stay numbers."""
    arguments = kernel.arguments(tuple(inputs.values()), {})
    return {n: jax.device_put(v, kernel.device) if np.ndim(v) else v for n, v in arguments.items()}
