"""Measure every kernel of examples/polybench and examples/kernels against hand-written forms, in one run.

    python benchmarks/kernels.py [--size small] [--only NAME ...] [--print]

The forms of a kernel are loopsat's (optimized, compiled), those written by hand in JAX, the loops under numba where
that is installed, and NumPy's (benchmarks/baselines). They get the same arrays, which are in place before the clock
starts; all results are compared before anything is timed; then the forms take turns. The least time of each counts:
threads that wait for each other at every loop suffer most from whatever else the machine does, and that would count
against numba and NumPy. For the same reason numba's loops run on all threads and on one, and the faster counts. Each
kernel has a process of its own, which ends at --limit seconds: then its row says so. A whole run at the large size
rewrites the table in benchmarks/README.md, any other only prints.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import math
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from egraph_rules import optimize
from egraph_rules.cost.target import CPU
from ir import parse, specialize
from kernel_files import PATHS, KernelFile, bound, load
from lower import compile
from lower.price.program import pricing
from tables import rewrite

NOTHING = '@T.prim_func\ndef nothing(A: T.Buffer((1,), "int32")):\n    A[0] = 0\n'
BEGIN, END = "<!-- kernels: begin -->", "<!-- kernels: end -->"
SEED = 5
TOLERANCE = {"float32": 2e-3, "float64": 1e-8}  # of the largest value; integers are equal
SECONDS = 2.0  # for the turns of one kernel
LARGE_RATIO = 8.0  # a form by hand that is this much slower than the best of its kind takes no further turns
PEERS = ("jnp", "numba", "NumPy")
HEAD = ("kernel", "loopsat ms", "jnp ms", "numba ms", "NumPy ms")
HEAD += ("jnp /", "numba /", "NumPy /", "optimize ms", "XLA ms", "temp MB", "jnp temp MB")
HEAD += ("peak MB", "jnp peak MB", "jnp peak /", "fastest jnp form")

Call = Callable[[], Any]
Row = dict[str, Any]


# One kernel ----------------------------------------------------------------------------------------------------------


def measure(name: str, size: str) -> Row:
    """All figures of one kernel, in ms and bytes."""
    file = load(name)
    inputs = file.inputs(np.random.default_rng(SEED), **file.sizes[size])
    wide = any(np.asarray(v).dtype.itemsize == 8 for v in inputs.values())
    with jax.enable_x64(wide):
        arrays = {k: jax.device_put(v) for k, v in inputs.items()}
        row: Row = {"name": name}
        calls = {"loopsat": optimized(file, size, arrays, row)}
        module = importlib.import_module(f"baselines.{name}")
        memory: dict[str, Row] = {}
        for form in module.JNP:
            calls[form.__name__], memory[form.__name__] = by_hand(form, file.sizes[size], arrays)
        forms = tuple(memory)
        if has_numba():
            numba: Any = importlib.import_module("numba")
            for threads, parallel in (("all", True), ("one", False)):
                loops = numba.njit(parallel=parallel, fastmath=True)(module.loops)
                calls[f"numba {threads}"] = positional(loops, file.sizes[size], inputs)
        calls["NumPy"] = positional(module.plain, file.sizes[size], inputs)
        compare(calls)
        times = least(calls, forms)
    best = min(forms, key=lambda f: times[f])
    row |= {"loopsat": times["loopsat"], "jnp": times[best], "form": best}
    row |= {f"jnp {what}": bytes_ for what, bytes_ in memory[best].items()}
    compiled_loops = [times[k] for k in times if k.startswith("numba")]
    return row | {"NumPy": times["NumPy"]} | ({"numba": min(compiled_loops)} if compiled_loops else {})


def has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


def optimized(file: KernelFile, size: str, arrays: Mapping[str, Any], row: Row) -> Call:
    """The kernel as loopsat makes it; the row gets the times of optimizing and compiling, and the memory."""
    func = specialize(file.func, file.sizes[size])
    optimize(parse(NOTHING)["nothing"])  # imports what a search needs
    began = time.perf_counter()
    best = optimize(func, whole=pricing(func)).best  # as `loopsat.optimize` does, which may recall a search
    row["optimize"] = (time.perf_counter() - began) * 1e3
    kernel = compile(best, CPU)  # by the table, whatever is kept here
    lowered = kernel.lower(**arrays)
    began = time.perf_counter()
    compiled = lowered.compile()
    row["XLA"] = (time.perf_counter() - began) * 1e3
    row |= memory_of(compiled)
    arguments = kernel.arguments((), arrays)
    return lambda: jax.block_until_ready(kernel.jitted(**arguments))


def by_hand(form: Callable[..., Any], sizes: Mapping[str, int], arrays: Mapping[str, Any]) -> tuple[Call, Row]:
    """A form in JAX, and the memory that it takes."""
    function, names = bound(form, sizes)
    jitted = jax.jit(function)
    arguments = {k: arrays[k] for k in names}
    memory = memory_of(jitted.lower(**arguments).compile())
    return lambda: jax.block_until_ready(jitted(**arguments)), memory


def memory_of(compiled: Any) -> Row:
    """Bytes of temporaries, and of all that is alive at once: arguments, results and temporaries, shared ones once."""
    found = compiled.memory_analysis()
    whole = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return {"temp": found.temp_size_in_bytes, "peak": whole - found.alias_size_in_bytes}


def positional(function: Any, sizes: Mapping[str, int], inputs: Mapping[str, np.ndarray]) -> Call:
    """A function of NumPy arrays, called by position, which numba is quicker at."""
    names = inspect.signature(getattr(function, "py_func", function)).parameters
    arguments = [sizes[k] if k in sizes else inputs[k] for k in names]
    return lambda: function(*arguments)


def compare(calls: Mapping[str, Call]) -> None:
    """Check that all forms compute what NumPy's does.

    Raises:
        AssertionError: one does not.
    """
    expected = outputs(calls["NumPy"])
    for name, call in calls.items():
        found = outputs(call)
        assert len(found) == len(expected), f"{name} returns {len(found)} arrays, not {len(expected)}"
        for want, have in zip(expected, found, strict=True):
            assert want.dtype == have.dtype and want.shape == have.shape, f"{name} returns {have.dtype} {have.shape}"
            allowed = TOLERANCE.get(want.dtype.name, 0) * float(np.abs(want).max(initial=0))
            worst = float(np.abs(want.astype(float) - have.astype(float)).max(initial=0))
            assert worst <= allowed, f"{name} is off by {worst}, {allowed} allowed"


def outputs(call: Call) -> list[np.ndarray]:
    result = call()
    return [np.asarray(r) for r in (result if isinstance(result, tuple | list) else (result,))]


def least(calls: Mapping[str, Call], forms: Iterable[str]) -> dict[str, float]:
    """Least ms of each call: turns of several runs each, of which the second half counts."""
    once = {name: min(seconds(call) for _ in range(2)) for name, call in calls.items()}
    fastest = min(once[f] for f in forms)
    running = [n for n in calls if n not in forms or once[n] <= LARGE_RATIO * fastest]
    samples: dict[str, list[float]] = {name: [t] for name, t in once.items() if name not in running}
    runs = {name: max(2, min(12, int(0.02 / once[name]))) if once[name] < 0.5 else 1 for name in running}
    turns = int(SECONDS / sum(runs[n] * once[n] for n in running))
    order = random.Random(SEED)  # threads of one form may still spin when the next one begins: let it be any
    for _ in range(max(1, min(25, turns))):
        for name in order.sample(running, len(running)):
            turn = [seconds(calls[name]) for _ in range(runs[name])]
            samples.setdefault(name, []).extend(turn[len(turn) // 2 :])
    return {name: min(times) * 1e3 for name, times in samples.items()}


def seconds(call: Call) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


# All kernels ---------------------------------------------------------------------------------------------------------


def rows(names: Iterable[str], size: str, limit: float) -> Iterable[Row]:
    """The figures of each kernel, from a process of its own; or why there are none."""
    for name in names:
        command = [sys.executable, __file__, "--measure", name, "--size", size]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            yield {"name": name, "failed": f"no result within {limit:.0f} s"}
            continue
        if done.returncode == 0:
            yield json.loads(done.stdout.splitlines()[-1])
        else:
            yield {"name": name, "failed": (done.stderr.strip().splitlines() or ["no message"])[-1][:200]}


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table; ratios are a peer's time over ours."""
    if "failed" in row:
        return (row["name"], row["failed"], *[""] * (len(HEAD) - 2))
    times = [f"{row[k]:.3f}" if k in row else "–" for k in ("loopsat", *PEERS)]
    ratios = [f"{row[k] / row['loopsat']:.2f}" if k in row else "–" for k in PEERS]
    whole = [f"{row[k]:.0f}" for k in ("optimize", "XLA")]
    bytes_ = [f"{row[k] / 1e6:.2f}" for k in ("temp", "jnp temp", "peak", "jnp peak")]
    return (row["name"], *times, *ratios, *whole, *bytes_, f"{row['jnp peak'] / row['peak']:.2f}", row["form"])


def means(measured: Iterable[Row], title: str) -> tuple[str, ...]:
    """The geometric means of the ratios of times and of peak memory, and of optimizing over XLA's part of compiling."""
    complete = [r for r in measured if "failed" not in r]
    ratios = [mean(r[k] / r["loopsat"] for r in complete if k in r) for k in PEERS]
    search = mean(r["optimize"] / r["XLA"] for r in complete)
    peak = mean(r["jnp peak"] / r["peak"] for r in complete)
    return (f"**{title}**", *[""] * 4, *ratios, f"{search} of XLA", *[""] * 5, peak, "")


def mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{math.exp(sum(map(math.log, found)) / len(found)):.2f}" if found else "–"


def summaries(measured: list[Row]) -> list[tuple[str, ...]]:
    """A line of means for each folder, where several kernels of it were measured, and for all."""
    out: list[tuple[str, ...]] = []
    for folder in sorted({PATHS[r["name"]].parent.name for r in measured}):
        part = [r for r in measured if PATHS[r["name"]].parent.name == folder]
        out.append(means(part, f"geometric mean, {folder}"))
    return [*out, means(measured, "geometric mean, all")]


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    devices = ", ".join(sorted({d.platform for d in jax.devices()}))
    return f"{cores} cores ({platform.machine()}), JAX {jax.__version__} on {devices}, NumPy {np.__version__}"


def markdown(measured: list[Row], size: str) -> str:
    lines = [HEAD, ("---",) + ("---:",) * (len(HEAD) - 2) + ("---",), *map(cells, measured), *summaries(measured)]
    failed = sum("failed" in r for r in measured)
    counted = f"{len(measured) - failed} of {len(measured)} kernels measured"
    text = [f"{machine()}. Least times at size {size}; {counted}.", ""]
    return "\n".join([*text, *("| " + " | ".join(line) + " |" for line in lines)])


def show(measured: list[Row], size: str) -> None:
    """Print the table."""
    table = Table(title=f"Kernels at size {size}; ratios above 1: loopsat is faster", caption=machine())
    for column in HEAD:
        table.add_column(column, justify="left" if column in (HEAD[0], HEAD[-1]) else "right")
    for row in measured:
        table.add_row(*cells(row), style="red" if "failed" in row else None)
    table.add_section()
    for line in summaries(measured):
        table.add_row(*(cell.strip("*") for cell in line))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("small", "large"), default="large")
    parser.add_argument("--only", nargs="+", choices=PATHS, metavar="NAME", help="these kernels; prints only")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one kernel")
    parser.add_argument("--print", action="store_true", help="print the table, leave the document alone")
    parser.add_argument("--measure", choices=PATHS, metavar="NAME", help="one kernel in this process, as JSON")
    options = parser.parse_args()
    os.environ["LOOPSAT_CACHE"] = "off"  # searches and compilations are timed; children inherit it
    if options.measure:
        print(json.dumps(measure(options.measure, options.size)))
        return
    measured: list[Row] = []
    for row in rows(options.only or PATHS, options.size, options.limit):
        print(" ".join(cells(row)), file=sys.stderr, flush=True)
        measured.append(row)
    show(measured, options.size)
    if options.print or options.only or options.size != "large":
        return
    rewrite(BEGIN, END, markdown(measured, options.size))


if __name__ == "__main__":
    main()
