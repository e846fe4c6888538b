"""Whether prices order two ways to lower a program as the clock does, for every decision that lowering takes by price.

    python benchmarks/pairs.py [--only NAME ...] [--seconds S] [--print]

The programs are the kernels of `examples/` at size large and those of `untuned_programs.py` and `small_programs.py`,
optimized. Each decision is taken otherwise in turn, where that gives other source: a pair of kernels that do the same.
It has three ratios, of the other way to the one taken: that of the estimates by which the decision was taken, that of
the prices of both programs as a whole (`lower.price.program`), and that of the least times. A price orders a pair if
its ratio is on the same side of 1 as that of the times; only pairs count whose times differ by `CLEAR` or more. Its
gain is off by the ratio of both. A whole run rewrites the table in benchmarks/README.md, others print.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import exp, isnan, log, nan
from pathlib import Path
from typing import Any

import numpy as np

import loopsat
from as_written import SEED, least
from ir import PrimFunc, parse
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.specialize import specialize
from kernel_files import PATHS, load
from lower.analysis.deciding import Decider, deciding, noted
from lower.analysis.deciding import least as cheapest
from lower.emission.emitted import Emitted
from lower.emission.function import emit_function
from lower.price.program import program_price
from lower.runtime.callable import Kernel
from lower.tune.measure import Call, kernel_call, wall
from tables import rewrite

PROGRAMS = [Path(__file__).parent / name for name in ("untuned_programs.py", "small_programs.py")]
BEGIN, END = "<!-- pairs: begin -->", "<!-- pairs: end -->"
CLEAR = 1.2  # times that differ by less are those of one kernel on another run
FAR = 30.0  # ways that are estimated to take so many times as long are not timed
MOST = 12  # other ways of one program
COLD = 3.0  # a call that takes so many times as long takes memory and cores from the one timed in turn with it


@dataclass(frozen=True)
class Pair:
    """A way that was not taken: its decision and what it is called; ratios of it to the one that was."""

    program: str
    decision: str
    way: str
    estimate: float
    whole: float
    time: float


@dataclass(frozen=True)
class Way:
    """A decision taken otherwise: the how many-th it is, which form, what both are called, and the estimate."""

    number: int
    form: int
    decision: str
    name: str
    estimate: float

    def decider(self) -> Decider:
        """What takes this form there, and the cheapest elsewhere."""
        asked = count()
        return lambda decision, prices: self.form if next(asked) == self.number else cheapest(decision, prices)


def programs(only: Sequence[str]) -> Iterator[tuple[PrimFunc, Callable[[], Inputs]]]:
    """All programs, or those whose name contains one of these words, with what makes their inputs."""

    def wanted(name: str) -> bool:
        return not only or any(word in name for word in only)

    for name in filter(wanted, PATHS):
        file = load(name)
        sizes = file.sizes["large"]
        yield specialize(file.func, sizes), lambda f=file, n=sizes: {**f.inputs(np.random.default_rng(SEED), **n)}
    for path in PROGRAMS:
        for func in parse(path.read_text(), str(path)).funcs:
            if wanted(func.name):
                yield func, dict[str, Any]


def ways(func: PrimFunc) -> tuple[Emitted, list[Way]]:
    """A function as it is lowered, and the ways not taken that are not estimated to be `FAR` off."""
    with noted() as decisions:
        emitted = emit_function(func)
    found: list[Way] = []
    for number, taken in enumerate(decisions):
        for form, price in enumerate(taken.prices):
            least = taken.prices[taken.form]
            ratio = price / least if least > 0 else nan  # what is compared may be a gain, of which zero is none
            if form != taken.form and not ratio > FAR:
                names = taken.ways or tuple(map(str, range(len(taken.prices))))
                found.append(Way(number, form, taken.decision, f"{names[form]} for {names[taken.form]}", ratio))
    return emitted, found


def measured(func: PrimFunc, given: Inputs, seconds: float) -> list[Pair]:
    """All pairs of a program."""
    best = loopsat.optimize(func, verify=False).best
    emitted, others = ways(best)
    kernels, found = {emitted.source: Kernel(emitted, None)}, list[tuple[Way, float]]()
    price = program_price(best)
    for way in others[:MOST]:
        with deciding(way.decider()):
            emitted = emit_function(best)
        if emitted.source not in kernels:
            kernels[emitted.source] = Kernel(emitted, None)
            with deciding(way.decider()):
                found.append((way, program_price(best) / price))
    if not found:
        return []
    every = {**random_inputs(func, np.random.default_rng(SEED)), **given}
    inputs = {p.name: every[p.name] for p in func.params}
    base, *others = [kernel_call(str(n), kernel, inputs) for n, kernel in enumerate(kernels.values())]
    times = [_ratio(base, other, seconds) for other in others]
    return [
        Pair(func.name, way.decision, way.name, way.estimate, whole, time)
        for (way, whole), time in zip(found, times, strict=True)
    ]


def _ratio(base: Call, other: Call, seconds: float) -> float:
    """The time of a call over that of another one: of single runs where one takes far longer, which would leave the
    other one cold each time, else of the least of many in turns."""
    first, second = (min(wall(call) for _ in range(4)) for call in (base, other))
    if not 1 / COLD < second / first < COLD:
        return second / first
    first, second = least([base, other], seconds)
    return second / first


def ordered(ratios: Sequence[tuple[float, float]]) -> str:
    """How many of some pairs of a price's and the clock's ratio lie on one side of 1."""
    known = [(price, time) for price, time in ratios if not isnan(price)]
    return f"{sum((price > 1) == (time > 1) for price, time in known if price != 1)} of {len(known)}"


def gain(ratios: Sequence[tuple[float, float]]) -> float:
    """By what factor the ratios of a price are off, as a geometric mean."""
    known = [(price, time) for price, time in ratios if not isnan(price)]
    return exp(sum(abs(log(price / time)) for price, time in known) / max(len(known), 1))


def markdown(pairs: Sequence[Pair]) -> str:
    """The tables of the README: how prices do by decisions, and the ways not taken that are faster."""
    clear = [p for p in pairs if max(p.time, 1 / p.time) >= CLEAR]
    lines = [
        f"{len(pairs)} pairs, of which {len(clear)} differ by {CLEAR} or more; of these the table speaks.",
        "",
        "| decision | taken is faster | whole price orders | off by, estimate | off by, whole price |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in [*sorted({p.decision for p in clear}), "all"]:
        own = [p for p in clear if name in ("all", p.decision)]
        estimates, wholes = [(p.estimate, p.time) for p in own], [(p.whole, p.time) for p in own]
        cells = ordered(estimates), ordered(wholes), f"{gain(estimates):.2f}", f"{gain(wholes):.2f}"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "| faster than the way taken | decision | way | time | estimate | whole price |",
        "|---|---|---|---:|---:|---:|",
    ]
    lines += [
        f"| {p.program} | {p.decision} | {p.way} | {p.time:.2f} | {p.estimate:.2f} | {p.whole:.2f} |"
        for p in sorted(clear, key=lambda p: p.time)
        if p.time < 1
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each kernel")
    parser.add_argument("--print", action="store_true", dest="only_print")
    options = parser.parse_args()
    os.environ["LOOPSAT_CACHE"] = "off"
    pairs: list[Pair] = []
    for func, given in programs(options.only):
        for pair in measured(func, given(), options.seconds):
            pairs.append(pair)
            ratios = f"time {pair.time:.2f} estimate {pair.estimate:.2f} whole {pair.whole:.2f}"
            print(f"{pair.program:24} {pair.decision:22} {pair.way:32} {ratios}", flush=True)
    table = markdown(pairs)
    if options.only or options.only_print:
        print(table)
        return
    rewrite(BEGIN, END, table)


if __name__ == "__main__":
    main()
