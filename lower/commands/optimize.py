"""`loopsat optimize`: find the cheapest equivalent of a kernel, show why, emit it, check it, time it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from msgspec import Struct

from egraph_rules import Result
from egraph_rules.cost.target import Target
from ir.errors import LoopsatError
from ir.nodes import PrimFunc
from ir.printing.printer import to_script
from ir.semantics.inputs import Inputs, require_memory
from ir.semantics.verify import Verified, verify
from lower import Kernel, compile, emit, export, stablehlo_text
from lower.check.kernels import Checked, check_optimized, insist
from lower.commands import module
from lower.commands.cli import budget_of, donation_of, floats_of, load_kernel, lowering_of, write_atomically
from lower.commands.console import console as page_console
from lower.commands.console import waiting
from lower.commands.page import Page, progress
from lower.commands.report import panels
from lower.commands.scripts import register_rules
from lower.commands.sizes import Sized, sized
from lower.price.search import optimize_function
from lower.restructure.pipeline import form_of, structure_steps
from lower.runtime.calibration import Stored, price_line, stored
from lower.runtime.switches import switched_off
from lower.tpu.compiler import CANDIDATES, INSTALL, choose, describe, tpu_available
from lower.tune.measure import Form, Profile, milliseconds, profiles, sizes_of
from lower.tune.tuning import REPEAT, Tuned, count_steps, needed_sizes, tune

TUNED_VARIANTS = 4  # candidates of `--tune`, where `--variants` does not say


def run(options: argparse.Namespace) -> None:
    """Do what the options ask.

    Raises:
        LoopsatError: the script, the kernel or the output path is at fault.
    """
    if module.wanted(options):
        module.run(options)
        return
    path, func = load_kernel(options.script)
    if options.tune and options.no_run:
        raise LoopsatError("options", "--tune measures, which --no-run forbids", help="leave one of them out")
    donation_of(options)  # refuses what cannot be before anything is searched
    program = sized(path, func, options.sizes)
    if options.json and (options.emit is not None or options.output is not None or options.html is not None):
        raise LoopsatError("options", "--json prints all forms of the result", help="leave out --emit, -o and --html")
    if options.html is not None and (options.emit is not None or options.output is not None):
        message = "--html writes all forms of the result, --emit and -o one of them"
        raise LoopsatError("options", message, help="leave out --emit and -o")
    if not options.no_run and options.emit is None and options.output is None:
        require_memory(program.func)  # before anything is searched or printed
    verified = verify(program.func)
    floats = floats_of(options)
    register_rules(options.rules)
    prices = stored(options.target)
    count = options.variants or (TUNED_VARIANTS if options.tune else 1)
    ask = options.target == "tpu" and not options.tune  # what is measured needs no estimate
    count = max(count, CANDIDATES) if ask and tpu_available() else count
    budget = budget_of(options)
    off = switched_off(options.without)
    with waiting("searching"):
        result = optimize_function(program.func, prices.target, count, budget, floats, without=off.rules, off=off.forms)
    tuned = _tune(options, program, result) if options.tune else None
    choice = by_compiler(result) if ask else Choice(0 if tuned is None else tuned.rank)
    form = options.emit or ("jax" if options.output else None)
    if options.json:
        _print_json(options, result, choice.rank, prices.target if tuned is None else tuned.prices)
        return
    if form is not None:
        _remark(options, prices, tuned, choice)
        _emit(options, path, prices.target if tuned is None else tuned.prices, result.variants[choice.rank][0], form)
    else:
        _Presenter(options, program, result, prices, tuned, choice).show(verified)


class Choice(Struct, frozen=True):
    """Which variant is taken, and what another compiler had to say about all of them; its last line is why."""

    rank: int
    said: tuple[str, ...] = ()


def by_compiler(result: Result) -> Choice:
    """The variant that the TPU compiler prefers, or the cheapest where it cannot be asked."""
    table = "chosen by the static cost table of target tpu"
    if not tpu_available():
        return Choice(0, (f"{table}, not by its compiler: {INSTALL}",))
    try:
        choice = choose(result)
    except LoopsatError as error:
        return Choice(0, (f"{table}: {error.message}",))
    rank = [c.func is choice.best for c in choice.candidates].index(True)
    why = f"chosen by the TPU compiler: program {rank + 1}, {choice.reason}"
    return Choice(rank, (*describe(choice.candidates), why))


def _tune(options: argparse.Namespace, program: Sized, result: Result) -> Tuned:
    missing = needed_sizes(program.func)
    if missing:
        message = f"tuning {program.func.name} needs values for {', '.join(missing)}"
        raise LoopsatError("unbound-size", message, program.func.span, help=f"pass --sizes {missing[0]}=...")
    inputs = program.inputs(np.random.default_rng(options.seed))
    with progress(count_steps(result, REPEAT)) as step:
        return tune(result, options.target, inputs=inputs, step=step)


def _remark(options: argparse.Namespace, prices: Stored, tuned: Tuned | None, choice: Choice) -> None:
    """Say on the error stream what an artefact depends on besides its script."""
    page = Page(page_console(stderr=True))
    notes = [prices.note] if prices.note else []
    notes += [price_line(options.target, prices.calibration)] if prices.calibration is not None else []
    notes += [] if tuned is None else [*tuned.notes, f"tuning: {tuned.summary()}"]
    notes += choice.said[-1:]
    for note in notes:
        page.line(f"note: {note}")


def _emit(options: argparse.Namespace, script: Path, prices: Target, best: PrimFunc, form: str) -> None:
    output: Path | None = options.output
    how = lowering_of(options)
    if form == "stablehlo" and output is not None and output.suffix in (".bin", ".jaxexport"):
        write_atomically(output, export(best, **how), script)
        return
    match form:
        case "ir":
            text = to_script(best, header=True)
        case "form":
            text = to_script(_form(options, best, prices), header=True)
        case "jax":
            text = emit(best, prices, donate=donation_of(options), pallas=_pallas(options), **how)
        case _:
            text = stablehlo_text(best, **how)
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        write_atomically(output, text.encode(), script)


def _print_json(options: argparse.Namespace, result: Result, rank: int, prices: Target) -> None:
    """All that was found, but nothing that takes a run of the kernel."""
    report = result.report
    best = result.variants[rank][0]
    kernel = compile(best, prices, pallas=_pallas(options), donate=donation_of(options), **lowering_of(options))
    found = {
        "kernel": result.source.name,
        "target": options.target,
        "cost_before": result.cost_before,
        "chosen": rank,
        "variants": [{"cost": cost, "program": to_script(func)} for func, cost in result.variants],
        "decisions": [
            {"rule": d.rule, "place": d.place, "fact": d.fact, "cost_before": d.before, "cost_after": d.after}
            for d in report.decisions
        ],
        "form": to_script(_form(options, best, prices)),
        "source": kernel.source,
        "forms": kernel.report,
        "assumptions": list(kernel.assumptions),
        "search": {"seconds": report.seconds, "terms": report.nodes, "stopped": report.stopped},
    }
    print(json.dumps(found, indent=1))


def _form(options: argparse.Namespace, best: PrimFunc, prices: Target) -> PrimFunc:
    """The program in the form in which it will run."""
    return form_of(best, prices, floats_of(options), switched_off(options.without).forms)


def _pallas(options: argparse.Namespace) -> bool:
    """Whether a Pallas kernel may be chosen; what was measured are XLA's forms."""
    return not (options.no_pallas or options.tune)


class _Presenter:
    """Prints what was found."""

    def __init__(
        self,
        options: argparse.Namespace,
        program: Sized,
        result: Result,
        prices: Stored,
        tuned: Tuned | None,
        choice: Choice,
    ) -> None:
        self.options = options
        self.program = program
        self.func = program.func
        self.result = result
        self.prices = prices
        self.tuned = tuned
        self.choice = choice
        self.chosen = choice.rank
        self.target = prices.target if tuned is None else tuned.prices
        self.page = Page()
        self.checked: Checked | None = None
        self.profiles: list[Profile] = []

    def show(self, verified: Verified) -> None:
        options, func, page = self.options, self.func, self.page
        place = f"{func.span.file}:{func.span.line}" if func.span is not None else options.script
        sizes = f", sizes {self.program.text}" if self.program.sizes else ""
        page.title(f"kernel {func.name} ({place}){sizes}, target {options.target}")
        page.code(to_script(func))
        for access in verified.unproven:
            page.line(f"unproven access: {access}")
        self._found()
        if self.choice.said:
            page.title("choice among the variants")
            for line in self.choice.said:
                page.line(f"- {line}")
        best, _ = self.result.variants[self.chosen]
        how = lowering_of(options)
        with waiting("lowering"):
            kernel = compile(best, target=self.target, donate=donation_of(options), pallas=_pallas(options), **how)
        page.section(kernel.made)
        if not options.no_run and (self.tuned is None or self.tuned.complete):
            self._check_and_time(best, compile(func, target=self.prices.target, **how), kernel)
        if options.html is not None:
            calibration = self.prices.calibration
            machine = None if calibration is None else calibration.machine
            with waiting("writing the page"):
                structure = structure_steps(best, self.target, how["floats"], switched_off(options.without).forms)
                text = self.result.to_html(panels(kernel, structure, self.checked, self.profiles, machine))
            write_atomically(options.html, text.encode(), Path(options.script))
            page.line(f"\nwritten: {options.html}")

    def _found(self) -> None:
        count = self.options.variants or 1
        ranks = [rank for rank in range(len(self.result.variants)) if rank < count or rank == self.chosen]
        notes = [self.prices.note] if self.prices.note else []
        notes.append(price_line(self.options.target, self.prices.calibration))
        for section in self.result.found(ranks, notes):
            self.page.section(section)
        if self.tuned is not None:
            self._tuning(self.tuned)

    def _tuning(self, tuned: Tuned) -> None:
        self.page.title("tuning")
        for note in tuned.notes:
            self.page.line(f"- {note}")
        for index, trial in enumerate(tuned.trials):
            found = trial.note or (
                "not measured" if trial.timing is None else f"{milliseconds(trial.timing.median)} ms"
            )
            if index < len(self.result.variants):
                self.page.line(f"- variant {index + 1}: cost {trial.cost:,.0f}, {found}")
                continue
            self.page.line(f"- variant {index + 1}: variant {trial.rank + 1} lowered with {trial.lowering}, {found}")
            for line in trial.differs:
                self.page.line(f"    {line}")
        self.page.line(f"- {tuned.summary()}")

    def _check_and_time(self, best: PrimFunc, before: Kernel, after: Kernel) -> None:
        inputs = self.program.inputs(np.random.default_rng(self.options.seed))
        floats = self.result.settings.floats
        given = self.program.make is not None
        with waiting("comparing with the program as written"):
            checked = check_optimized(self.func, best, after, inputs, self.target, floats, given)
        self.checked = checked
        check(self.page, checked)
        forms = [Form("as written", self.func, before), Form(self._name(self.chosen), best, after)]
        seen = {after.source}
        for rank, (variant, _) in enumerate(self.result.variants):
            kernel = compile(variant, target=self.prices.target, **lowering_of(self.options))
            shown = self.tuned is not None or rank < (self.options.variants or 1)
            if shown and rank != self.chosen and kernel.source not in seen:
                forms.append(Form(self._name(rank), variant, kernel))
            seen.add(kernel.source)
        self.page.title("time on this machine")
        self.profiles = time_forms(self.page, self.func, forms, inputs, self.options.target)

    def _name(self, rank: int) -> str:
        return f"variant {rank + 1}" if rank else "cheapest"


def check(page: Page, checked: Checked) -> None:
    """Print how a kernel compares with its program.

    Raises:
        LoopsatError: the kernel computes something else.
    """
    page.title("check")
    page.line(f"compared with {checked.said}")
    insist(checked.compared)
    for result in checked.compared:
        page.line(f"- {result}")


def time_forms(page: Page, func: PrimFunc, forms: list[Form], inputs: Inputs, target: str) -> list[Profile]:
    """Time programs that do the same, print their figures and return them; the first two are before and after."""
    with waiting("timing"):
        found = profiles(forms, inputs, target, seconds=2.0 + 0.5 * (len(forms) - 2))
    needed = needed_sizes(func)
    if needed:
        sizes = sizes_of(func, inputs)
        page.line(f"- for {', '.join(f'{name} = {sizes[name]}' for name in needed)}")
    page.profiles(found, stored(target).calibration, target)
    slow, fast = (one.time.median for one in found[:2])
    ratio = slow / max(fast, 1e-12)
    page.line(f"- before: {milliseconds(slow)} ms, after: {milliseconds(fast)} ms, {ratio:.2f} times as fast")
    return found
