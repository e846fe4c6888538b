"""Time optimized kernels against those of the programs as they are written, in one run.

    python benchmarks/as_written.py [--only NAME ...] [--size small|large] [--seconds S] [--search-alone] [--print]

The programs are those of examples/ and the small ones of `small_programs.py`. Where both have the same JAX source there
is nothing to time. Otherwise both kernels get the same arrays, their results are compared, and they take turns; the
ratio is that of the least times. One above `LIMIT` is measured again, up to `AGAIN` times, and the least ratio counts:
what disturbs a run disturbs one of the two more. A whole run rewrites the table in benchmarks/README.md, others print.
`--search-alone` leaves out the price as a whole, to see what it prevents.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from egraph_rules import optimize
from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse, specialize
from ir.nodes import Store, Undef
from ir.semantics.inputs import Inputs, random_inputs
from ir.traverse import buffers_written, walk
from kernel_files import EXAMPLES, PATHS, load
from lower.price.program import pricing
from lower.runtime.kernel import Kernel, compile
from lower.tune.measure import Call, Race, kernel_call, wall
from tables import rewrite

SMALL = Path(__file__).parent / "small_programs.py"
BEGIN, END = "<!-- as written: begin -->", "<!-- as written: end -->"
LIMIT = 1.1  # no optimized kernel takes longer than so many times what the one as written takes
AGAIN = 4
TOLERANCE = 1e-3  # of the largest value
SEED = 7


@dataclass(frozen=True)
class Case:
    """A program with its inputs."""

    name: str
    func: PrimFunc
    inputs: Inputs


@dataclass(frozen=True)
class Row:
    """What was found: ms of both kernels, none where their sources are the same; prices as a whole, and why."""

    name: str
    written: float | None
    optimized: float | None
    predicted: float
    note: str

    @property
    def ratio(self) -> float:
        return 1.0 if self.written is None or self.optimized is None else self.optimized / self.written


def cases(only: list[str], size: str) -> Iterator[Case]:
    """All programs, or those whose name contains one of these words."""

    def wanted(name: str) -> bool:
        return not only or any(word in name for word in only)

    for func in parse(SMALL.read_text(), str(SMALL)).funcs:
        if wanted(func.name):
            yield _random(func.name, func)
    for path in sorted(EXAMPLES.glob("*.py")):
        for func in parse(path.read_text(), str(path)).funcs:
            if wanted(f"{path.stem}:{func.name}"):
                yield _random(f"{path.stem}:{func.name}", func)
    for name in filter(wanted, PATHS):
        file = load(name)
        made = file.inputs(np.random.default_rng(SEED), **file.sizes[size])
        func = specialize(file.func, file.sizes[size])
        others = _random(name, func).inputs if func.params and {p.name for p in func.params} - made.keys() else {}
        yield Case(name, func, {p.name: made.get(p.name, others.get(p.name)) for p in func.params})


def _random(name: str, func: PrimFunc) -> Case:
    return Case(name, func, random_inputs(func, np.random.default_rng(SEED)))


def measured(case: Case, seconds: float, *, search_alone: bool = False) -> Row:
    """Both kernels of a program, compared and timed."""
    price = pricing(case.func, CPU)
    result = optimize(case.func, whole=None if search_alone else price)
    written, optimized = compile(case.func, CPU), compile(result.best, CPU)
    if written.source == optimized.source:
        return Row(case.name, None, None, 1.0, "the same source")
    predicted = price(result.best) / price(case.func)
    _compare(case, written, optimized)
    calls = [kernel_call(n, k, case.inputs) for n, k in (("written", written), ("optimized", optimized))]
    best: tuple[float, float] | None = None
    for _ in range(AGAIN):
        before, after = least(calls, seconds)
        if best is None or after / before < best[1] / best[0]:
            best = before, after
        if best[1] / best[0] <= LIMIT:
            break
    assert best is not None
    return Row(case.name, *best, predicted, result.report.overruled.partition(" is cheaper")[0])


def least(calls: list[Call], seconds: float) -> list[float]:
    """The least time of each call in ms, in turns for so many seconds."""
    for call in calls:
        wall(call)  # compiles
    contest = Race(calls)
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        contest.turn()
    return [min(s for turn in turns for s in turn) * 1e3 for turns in contest.turns]


def _compare(case: Case, written: Kernel, optimized: Kernel) -> None:
    """Refuse to time what does not compute the same; what a program leaves arbitrary may differ.

    Raises:
        AssertionError: a result differs.
    """
    arbitrary = {s.buffer.name for s in walk(case.func.body) if isinstance(s, Store) and isinstance(s.value, Undef)}
    stored = buffers_written(case.func.body)
    results = zip(
        (b for b in case.func.buffers if b in stored), *(k(**case.inputs) for k in (written, optimized)), strict=True
    )
    for buffer, *both in results:
        if buffer.name not in arbitrary:
            first, second = (np.asarray(v, np.float64) for v in both)
            scale = np.max(np.abs(first), initial=1.0)
            np.testing.assert_allclose(
                second, first, rtol=0, atol=TOLERANCE * scale, err_msg=f"{case.name}: {buffer.name}"
            )


def markdown(rows: list[Row], size: str) -> str:
    """The table of the README."""
    timed = sorted((r for r in rows if r.written is not None), key=lambda r: -r.ratio)
    slow = [r.name for r in timed if r.ratio > LIMIT]
    lines = [
        (
            f"{len(rows)} programs (kernels of examples/ at size {size}), of which {len(rows) - len(timed)} have the "
            f"same source optimized as written; JAX {jax.__version__}, {platform.machine()}. Slower than {LIMIT} times "
            f"as written: {', '.join(slow) or 'none'}; worst ratio: {max((r.ratio for r in timed), default=1.0):.2f}."
        ),
        "",
        "| program | as written, ms | optimized, ms | ratio | by price | chosen over the search's cheapest |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for r in timed:
        lines.append(
            f"| {r.name} | {r.written:.3f} | {r.optimized:.3f} | {r.ratio:.2f} | {r.predicted:.2f} | {r.note or '–'} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--size", choices=("small", "large"), default="small")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--search-alone", action="store_true")
    parser.add_argument("--print", action="store_true", dest="only_print")
    options = parser.parse_args()
    rows: list[Row] = []
    for case in cases(options.only, options.size):
        rows.append(measured(case, options.seconds, search_alone=options.search_alone))
        r = rows[-1]
        print(f"{r.name:28} {r.ratio:6.2f}  by price {r.predicted:6.2f}  {r.note}", flush=True)
    table = markdown(rows, options.size)
    if options.only or options.only_print or options.search_alone:
        print(table)
        return
    rewrite(BEGIN, END, table)


if __name__ == "__main__":
    main()
