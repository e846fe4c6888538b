"""Time kernels that no form was made for against hand-written jax.numpy, and compare times with predicted prices.

    python benchmarks/untuned.py [--only NAME ...] [--seconds S] [--print]

The programs are those of `untuned_programs.py`, each with a function of jax.numpy in `untuned_by_hand.py`. Both get the
same arrays, their results are compared, and they take turns; the ratio is that of the least times, above 1 where the
emitted kernel is the faster one. The rank correlation (Spearman) is that of the price of the emitted programs, by which
`loopsat.optimize` decides, with their times. A whole run rewrites the table in benchmarks/README.md, others print.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

import loopsat
from as_written import least
from ir import PrimFunc, parse
from lower.price.program import program_price
from lower.tune.measure import Call
from tables import rewrite
from untuned_by_hand import HAND_WRITTEN, INPUTS, Draw

PROGRAMS = Path(__file__).parent / "untuned_programs.py"
BEGIN, END = "<!-- untuned: begin -->", "<!-- untuned: end -->"
TOLERANCE = 2e-3  # of the largest value


@dataclass(frozen=True)
class Row:
    """A program: ms of hand-written code and of the kernel, its price, and seconds of search, lowering and XLA."""

    name: str
    by_hand: float
    kernel: float
    price: float
    search: float
    lowering: float
    compiling: float

    @property
    def ratio(self) -> float:
        return self.by_hand / self.kernel


def measured(func: PrimFunc, hand: Callable[..., Any], seconds: float) -> Row:
    """Both forms of a program, compared and timed.

    Raises:
        AssertionError: the results differ.
    """
    inputs = {name: jnp.asarray(value) for name, value in INPUTS[func.name](Draw()).items()}
    began = time.process_time()
    best = loopsat.optimize(func, verify=False).best
    searched = time.process_time()
    kernel = loopsat.compile(best, verify=False)
    lowered = time.process_time()
    found = jax.block_until_ready(kernel(**inputs))[-1]
    compiled = time.process_time()
    by_hand = jax.jit(hand)
    results = jax.block_until_ready(by_hand(**inputs))
    want = np.asarray(results[-1] if isinstance(results, tuple) else results, np.float64)
    scale = np.max(np.abs(want), initial=1.0)
    np.testing.assert_allclose(np.asarray(found, np.float64), want, rtol=0, atol=TOLERANCE * scale, err_msg=func.name)
    calls = [Call("by hand", lambda: by_hand(**inputs)), Call("kernel", lambda: kernel.jitted(**inputs))]
    times = least(calls, seconds)
    steps = searched - began, lowered - searched, compiled - lowered
    return Row(func.name, *times, program_price(best), *steps)


def markdown(rows: list[Row]) -> str:
    """The table of the README."""
    mean = exp(sum(log(r.ratio) for r in rows) / len(rows))
    rank = spearmanr([r.price for r in rows], [r.kernel for r in rows]).statistic
    lines = [
        (
            f"{len(rows)} programs: geometric mean {mean:.2f}, least {min(r.ratio for r in rows):.2f}; rank "
            f"correlation of price and time {rank:.2f}. Search, lowering and XLA in seconds of CPU."
        ),
        "",
        "| program | by hand, ms | kernel, ms | times as fast | search | lowering | XLA |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.name} | {r.by_hand:.3f} | {r.kernel:.3f} | {r.ratio:.2f} | {r.search:.2f} | {r.lowering:.2f} | "
        f"{r.compiling:.2f} |"
        for r in sorted(rows, key=lambda r: r.ratio)
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--print", action="store_true", dest="only_print")
    options = parser.parse_args()
    os.environ["LOOPSAT_CACHE"] = "off"  # searches are timed
    hands = {f.__name__: f for f in HAND_WRITTEN}
    rows: list[Row] = []
    for func in parse(PROGRAMS.read_text(), str(PROGRAMS)).funcs:
        if options.only and not any(word in func.name for word in options.only):
            continue
        rows.append(measured(func, hands[func.name], options.seconds))
        print(f"{rows[-1].name:32} {rows[-1].ratio:6.2f}", flush=True)
    table = markdown(rows)
    if options.only or options.only_print:
        print(table)
        return
    rewrite(BEGIN, END, table)


if __name__ == "__main__":
    main()
