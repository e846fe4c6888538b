"""`loopsat optimize`: find the cheapest equivalent of a kernel, show why, emit it, check it, time it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.syntax import Syntax

from egraph_rules import Floats, Result, optimize
from egraph_rules.erase import count_erased
from egraph_rules.rule import DEFAULT_FLOATS
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.inputs import Inputs, random_inputs
from ir.interpret import interpret_with_undef
from ir.nodes import Buffer, Const, For, PrimFunc, Stmt
from ir.script.printer import to_script
from ir.traverse import buffers_written, stmt_children
from ir.verify import Verified, verify
from lower import Kernel, compile, emit, export, stablehlo_text
from lower.cli import load_kernel, write_atomically
from lower.kernel import wide_types
from lower.scripts import register_rules

INTERPRETED_STEPS = 200_000  # the interpreter runs about as many statements a second
TOLERANCE = {DType.FLOAT64: 1e-9, DType.FLOAT32: 2e-3, DType.FLOAT16: 5e-2, DType.BFLOAT16: 2e-1}


def run(options: argparse.Namespace) -> None:
    """Do what the options ask.

    Raises:
        LoopsatError: the script, the kernel or the output path is at fault.
    """
    path, func = load_kernel(options.script)
    verified = verify(func)
    floats = Floats.STRICT if options.strict_floats else DEFAULT_FLOATS
    register_rules(options.rules)
    result = optimize(func, target=options.target, k=options.variants, floats=floats, without=options.without)
    form = options.emit or ("jax" if options.output else None)
    if form is not None:
        _emit(options, path, result.best, form)
    else:
        _Presenter(Console(highlight=False, soft_wrap=True)).show(options, func, verified, result)


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

    def show(self, options: argparse.Namespace, func: PrimFunc, verified: Verified, result: Result) -> None:
        place = f"{func.span.file}:{func.span.line}" if func.span is not None else options.script
        self.title(f"kernel {func.name} ({place}), target {options.target}")
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
            self._check_and_time(func, result.best, before, kernel, np.random.default_rng(options.seed))

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

    def _check_and_time(
        self,
        func: PrimFunc,
        best: PrimFunc,
        before: Kernel,
        after: Kernel,
        rng: np.random.Generator,
    ) -> None:
        inputs = random_inputs(func, rng)
        found = dict(zip(_written(best), after(*inputs.values()), strict=True))
        steps = estimated_steps(func.body)
        if steps <= INTERPRETED_STEPS:
            self.title("check against the reference interpreter")
            expected = dict(zip(_written(func), _interpret(func, inputs), strict=True))
        else:
            self.title(f"check against the unoptimized kernel ({steps:,.0f} steps are too many to interpret)")
            outputs = before(*inputs.values())
            expected = {
                n: (np.asarray(v), np.zeros(v.shape, np.bool_)) for n, v in zip(_written(func), outputs, strict=True)
            }
        for name, (values, undef) in expected.items():
            self.line(f"- {name}: {_difference(func, name, values, undef, found.get(name, inputs[name]))}")
        slow, fast = _times(func, inputs, before, after)
        self.title("time on this machine")
        self.line(f"- before: {slow * 1e3:.3f} ms, after: {fast * 1e3:.3f} ms, {slow / fast:.2f} times as fast")


def _written(func: PrimFunc) -> list[str]:
    written = buffers_written(func.body)
    return [b.name for b in func.buffers if b in written]


def _interpret(func: PrimFunc, inputs: Inputs) -> tuple[tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]], ...]:
    try:
        return interpret_with_undef(func, *inputs.values())
    except InterpretError as error:
        raise LoopsatError(
            "program-faults",
            f"{func.name} faults on random inputs, so there is nothing to compare with",
            notes=[str(error)],
            help="state what its inputs must satisfy with T.assume, or pass --no-run",
        ) from error


def _difference(
    func: PrimFunc, name: str, values: npt.NDArray[np.generic], undef: npt.NDArray[np.bool_], got: object
) -> str:
    """How two results compare where the reference is not undef.

    Raises:
        LoopsatError: they differ by more than float freedoms explain.
    """
    dtype = next(b.dtype for b in func.params if isinstance(b, Buffer) and b.name == name)
    want, have = values[~undef], np.asarray(got)[~undef]
    if not dtype.is_float:
        if np.array_equal(want, have):
            return "equal"
        raise LoopsatError("wrong-result", f"{name} differs from the reference: a defect of loopsat, please report it")
    want, have = want.astype(np.float64), have.astype(np.float64)
    scale = max(float(np.max(np.abs(want), initial=0.0)), 1.0)
    error = float(np.max(np.abs(want - have), initial=0.0)) / scale
    if not error <= TOLERANCE[dtype]:
        raise LoopsatError("wrong-result", f"{name} differs by {error:.2g}: a defect of loopsat, please report it")
    return "equal" if error == 0 else f"equal within {error:.1e} of its largest value (float sums in another order)"


def estimated_steps(stmt: Stmt) -> float:
    """About how many statements a run executes; symbolic extents count as 20."""
    match stmt:
        case For(extent=extent, body=body):
            times = max(int(extent.value), 0) if isinstance(extent, Const) else 20
            return 1 + times * estimated_steps(body)
        case _:
            return 1 + sum(map(estimated_steps, stmt_children(stmt)))


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
