"""Measure ratios in one run and write the table into benchmarks/README.md: `python benchmarks/run.py [--print]`.

The clocks are those of `lower.tune.measure`: kernels take turns, and medians are compared.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from egraph_rules import optimize
from egraph_rules.cost.target import CPU
from ir import parse
from ir.nodes import If, PrimFunc
from ir.semantics.inputs import random_inputs
from ir.traverse import walk
from lower import compile
from lower.tune.measure import medians, seconds_of
from tables import rewrite

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
ROWS, COLUMNS, VALID = 4096, 1024, 1022
NESTS = (10, 25, 50)


def load(name: str) -> PrimFunc:
    """The first kernel of an example."""
    path = ROOT / "examples" / name
    return parse(path.read_text(), str(path)).funcs[0]


def jitted(func: PrimFunc, array: jax.Array) -> Callable[[], object]:
    kernel = compile(func, CPU)
    arguments: dict[str, Any] = kernel.arguments((array,), {})
    return lambda: kernel.jitted(**arguments)


def row_sum() -> list[str]:
    """The padded row sum: optimized, as written, and as people write it by hand."""
    func = load("padded_row_sum.py")
    logical = np.random.default_rng(0).uniform(-2, 3, (ROWS, VALID)).astype(np.float32)
    array = jax.device_put(np.pad(logical, ((0, 0), (0, COLUMNS - VALID))).reshape(ROWS, COLUMNS // 4, 4))
    expected = logical.astype(np.float64).sum(axis=1)

    valid = np.arange(COLUMNS) < VALID
    hand: dict[str, Callable[[jax.Array], jax.Array]] = {
        "by hand: unmasked `sum`": lambda a: a.reshape(ROWS, COLUMNS).sum(axis=1),
        "by hand: product with ones": lambda a: a.reshape(ROWS, COLUMNS) @ jnp.ones(COLUMNS, jnp.float32),
        "by hand: `where`, then `sum`": lambda a: jnp.where(valid, a.reshape(ROWS, COLUMNS), 0.0).sum(axis=1),
        "by hand: slice, then `sum`": lambda a: a.reshape(ROWS, COLUMNS)[:, :VALID].sum(axis=1),
    }
    calls: dict[str, Callable[[], object]] = {
        "**optimized**": jitted(optimize(func).best, array),
        "as written (masked array form)": jitted(func, array),
    }
    for name, form in hand.items():
        calls[name] = (lambda compiled: lambda: compiled(array))(jax.jit(form))
    if importlib.util.find_spec("numba") is not None:
        calls["numba, parallel, fastmath, guarded loops"] = numba_row_sum(np.array(array))
    for name, call in calls.items():
        result: Any = call()
        found = np.asarray(result[0] if isinstance(result, tuple) else result)
        assert np.allclose(found, expected, rtol=1e-3, atol=1e-2), f"{name} computes something else"
    times = medians(calls)
    best = times["**optimized**"]
    return table(
        ("form", "ms", "times the optimized one"),
        ((name, f"{t * 1e3:.3f}", f"{t / best:.2f}") for name, t in times.items()),
    )


def numba_row_sum(array: np.ndarray) -> Callable[[], object]:
    """The loops as written, compiled by numba."""
    numba: Any = importlib.import_module("numba")
    span = numba.prange
    out = np.zeros(ROWS, np.float32)

    def loops(a: np.ndarray, b: np.ndarray) -> None:
        for i in span(ROWS):
            total = np.float32(0.0)
            for jo in range(COLUMNS // 4):
                for ji in range(4):
                    if 4 * jo + ji < VALID:
                        total += a[i, jo, ji]
            b[i] = total

    compiled = numba.njit(parallel=True, fastmath=True)(loops)

    def call() -> object:
        compiled(array, out)
        return out

    return call


def optimize_against_compile(repeats: int = 5) -> list[str]:
    """Time to optimize each example, and time that JAX and, within it, XLA take to compile the result."""
    rows: list[tuple[str, ...]] = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        for func in parse(path.read_text(), str(path)).funcs:
            result = optimize(func)
            search = float(np.median([seconds_of(lambda f=func: optimize(f)) for _ in range(repeats)]))
            inputs = random_inputs(func, np.random.default_rng(0))
            traced: list[float] = []
            xla: list[float] = []
            for _ in range(repeats):
                jax.clear_caches()
                kernel = compile(result.best, CPU)
                began = time.perf_counter()
                lowered = kernel.lower(*inputs.values())
                traced.append(time.perf_counter() - began)
                xla.append(seconds_of(lowered.compile))
            backend = float(np.median(xla))
            whole = backend + float(np.median(traced))
            figures = (f"{t * 1e3:.0f}" for t in (search, whole, backend))
            rows.append((f"{path.stem}:{func.name}", *figures, f"{search / whole:.2f}"))
    head = ("kernel", "`optimize` ms", "JAX: trace, lower, compile ms", "of which XLA ms", "optimize / JAX")
    return table(head, rows)


def growth() -> list[str]:
    """Time to optimize programs of many guarded nests."""
    optimize(nests(1))
    rows: list[tuple[str, ...]] = []
    for count in NESTS:
        func = nests(count)
        best = optimize(func).best
        left = sum(isinstance(s, If) for s in walk(best.body))
        took = float(np.median([seconds_of(lambda f=func: optimize(f)) for _ in range(3)]))
        rows.append((str(count), f"{took:.2f}", f"{took / count * 1e3:.1f}", f"{count} → {left}"))
    return table(("nests", "s", "ms per nest", "guards"), rows)


def nests(count: int) -> PrimFunc:
    """One function of `count` padded row sums."""
    params = ", ".join(
        f'A{k}: T.Buffer((16, {k + 2}, 4), "float32"), B{k}: T.Buffer((16,), "float32")' for k in range(count)
    )
    lines = ["from ir import script as T", "@T.prim_func", f"def many({params}):"]
    for k in range(count):
        lines += [
            f"    for i, jo, ji in T.grid(16, {k + 2}, 4):",
            f"        T.assume(4 * jo + ji < {4 * k + 6} or A{k}[i, jo, ji] == 0.0)",
        ]
    for k in range(count):
        lines += [
            "    for i in T.serial(16):",
            f"        B{k}[i] = 0.0",
            f"        for jo, ji in T.grid({k + 2}, 4):",
            f"            if 4 * jo + ji < {4 * k + 6}:",
            f"                B{k}[i] = B{k}[i] + A{k}[i, jo, ji]",
        ]
    return parse("\n".join(lines) + "\n").funcs[0]


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [header, ("---",) + ("---:",) * (len(header) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def report() -> str:
    """All tables, in markdown."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    devices = sorted({d.platform for d in jax.devices()})
    machine = f"{cores} cores ({platform.machine()}), JAX {jax.__version__} on {', '.join(devices)}"
    lines = [
        f"{machine}, Python {platform.python_version()}. Medians.",
        "",
        f"Row sum of {ROWS} × {VALID} float32 values stored as {ROWS} × {COLUMNS // 4} × 4, padding zero:",
        "",
        *row_sum(),
        "",
        "Optimizing against compiling the result (imports not counted):",
        "",
        *optimize_against_compile(),
        "",
        "Growth: programs of many guarded row sums:",
        "",
        *growth(),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="print the tables, leave the document alone")
    options = parser.parse_args()
    os.environ["LOOPSAT_CACHE"] = "off"  # searches and compilations are timed; children inherit it
    text = report()
    print(text)
    if options.print:
        return
    rewrite(BEGIN, END, text)


if __name__ == "__main__":
    main()
