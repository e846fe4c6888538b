"""Time modules with layouts as chosen against the same modules as they are written, in one run.

    python benchmarks/modules.py [--only NAME ...] [--seconds S] [--print]

Both kernels get the same arrays, their results are compared, and they take turns; the ratio is that of the least times.
A whole run rewrites the table in benchmarks/README.md, others print. Where the TPU compiler is installed its estimates
for the modules optimized for `tpu` are given too.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import loopsat
from ir import parse
from ir.nodes import Module
from ir.program.calls import without_calls
from ir.semantics.inputs import random_inputs
from lower import compile
from lower.tpu.compiler import TpuReport, compile_jobs, tpu_available, tpu_job
from lower.tune.measure import Race, kernel_call, wall
from tables import rewrite

BEGIN, END = "<!-- modules: begin -->", "<!-- modules: end -->"
SEED = 7
TOLERANCE = 1e-3  # of the largest value

CONVOLUTION = """
@T.prim_func
def conv(A: T.Buffer(({n},), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer(({n},), "float32")):
    for i in range({n}):
        B[i] = 0.0
        for f in range(3):
            if 0 <= i + f - 1 and i + f - 1 < {n}:
                B[i] += F[f] * A[i + f - 1]

@T.prim_func
def main(X: T.Buffer(({n},), "float32"), F: T.Buffer((3,), "float32"), Y: T.Buffer(({n},), "float32")):
"""
IMAGE = """
@T.prim_func
def conv(A: T.Buffer(({n}, {n}), "float32"), F: T.Buffer((3, 3), "float32"), B: T.Buffer(({n}, {n}), "float32")):
    for i, j in T.grid({n}, {n}):
        B[i, j] = 0.0
        for u, v in T.grid(3, 3):
            if 0 <= i + u - 1 and i + u - 1 < {n} and 0 <= j + v - 1 and j + v - 1 < {n}:
                B[i, j] += F[u, v] * A[i + u - 1, j + v - 1]

@T.prim_func
def main(X: T.Buffer(({n}, {n}), "float32"), F: T.Buffer((3, 3), "float32"), Y: T.Buffer(({n}, {n}), "float32")):
"""
ZERO_POINT = """
@T.prim_func
def conv(A: T.Buffer(({n},), "int8"), F: T.Buffer((3,), "int8"), B: T.Buffer(({n},), "int32")):
    for i in range({n}):
        B[i] = 0
        for f in range(3):
            if 0 <= i + f - 1 and i + f - 1 < {n}:
                B[i] += T.cast(F[f], "int32") * (T.cast(A[i + f - 1], "int32") - 3)

@T.prim_func
def requantize(A: T.Buffer(({n},), "int32"), B: T.Buffer(({n},), "int8")):
    for i in range({n}):
        B[i] = T.cast(T.max(T.min(A[i] // 256 + 3, 127), -128), "int8")

@T.prim_func
def main(X: T.Buffer(({n},), "int8"), F: T.Buffer((3,), "int8"), Y: T.Buffer(({n},), "int8")):
    C0 = T.alloc_buffer(({n},), "int32")
    C1 = T.alloc_buffer(({n},), "int32")
    C2 = T.alloc_buffer(({n},), "int32")
    H0 = T.alloc_buffer(({n},), "int8")
    H1 = T.alloc_buffer(({n},), "int8")
    conv(X, F, C0)
    requantize(C0, H0)
    conv(H0, F, C1)
    requantize(C1, H1)
    conv(H1, F, C2)
    requantize(C2, Y)
"""
MAXIMA = """
@T.prim_func
def dilate(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    for i in range({n}):
        B[i] = A[i]
        for f in range(5):
            if 0 <= i + f - 2 and i + f - 2 < {n}:
                B[i] = T.max(B[i], A[i + f - 2])

@T.prim_func
def main(X: T.Buffer(({n},), "float32"), Y: T.Buffer(({n},), "float32")):
    H0 = T.alloc_buffer(({n},), "float32")
    H1 = T.alloc_buffer(({n},), "float32")
    dilate(X, H0)
    dilate(H0, H1)
    dilate(H1, Y)
"""
ATTENTION = """
@T.prim_func
def scores(Q: T.Buffer((197, 64), "float32"), K: T.Buffer((197, 64), "float32"), S: T.Buffer((197, 197), "float32")):
    for i, j in T.grid(197, 197):
        S[i, j] = 0.0
        for k in range(64):
            S[i, j] += Q[i, k] * K[j, k]

@T.prim_func
def softmax(S: T.Buffer((197, 197), "float32"), P: T.Buffer((197, 197), "float32")):
    m = T.alloc_buffer((197,), "float32")
    z = T.alloc_buffer((197,), "float32")
    for i in range(197):
        m[i] = S[i, 0]
        for j in range(197):
            m[i] = T.max(m[i], S[i, j])
    for i in range(197):
        z[i] = 0.0
        for j in range(197):
            z[i] += T.exp(S[i, j] - m[i])
    for i, j in T.grid(197, 197):
        P[i, j] = T.exp(S[i, j] - m[i]) / z[i]

@T.prim_func
def mix(P: T.Buffer((197, 197), "float32"), V: T.Buffer((197, 64), "float32"), Y: T.Buffer((197, 64), "float32")):
    for i, j in T.grid(197, 64):
        Y[i, j] = 0.0
        for k in range(197):
            Y[i, j] += P[i, k] * V[k, j]

@T.prim_func
def main(Q: T.Buffer((197, 64), "float32"), K: T.Buffer((197, 64), "float32"), V: T.Buffer((197, 64), "float32"),
         Y: T.Buffer((197, 64), "float32")):
    S = T.alloc_buffer((197, 197), "float32")
    P = T.alloc_buffer((197, 197), "float32")
    scores(Q, K, S)
    softmax(S, P)
    mix(P, V, Y)
"""

HEAT = """
@T.prim_func
def step(U: T.Buffer(({n}, {n}), "float32"), V: T.Buffer(({n}, {n}), "float32")):
    for i, j in T.grid({n}, {n}):
        V[i, j] = U[i, j] + 0.1 * (
            T.if_then_else(i > 0, U[i - 1, j], 0.0) + T.if_then_else(i < {n} - 1, U[i + 1, j], 0.0)
            + T.if_then_else(j > 0, U[i, j - 1], 0.0) + T.if_then_else(j < {n} - 1, U[i, j + 1], 0.0) - 4.0 * U[i, j]
        )

@T.prim_func
def main(U: T.Buffer(({n}, {n}), "float32"), V: T.Buffer(({n}, {n}), "float32")):
    for t in range(50):
        step(U, V)
        step(V, U)
"""
LIFE = """
@T.prim_func
def turn(A: T.Buffer(({n}, {n}), "int32"), B: T.Buffer(({n}, {n}), "int32")):
    N = T.alloc_buffer(({n}, {n}), "int32")
    for i, j in T.grid({n}, {n}):
        N[i, j] = 0
        for u, v in T.grid(3, 3):
            if 0 <= i + u - 1 and i + u - 1 < {n} and 0 <= j + v - 1 and j + v - 1 < {n}:
                N[i, j] += A[i + u - 1, j + v - 1]
    for i, j in T.grid({n}, {n}):
        B[i, j] = T.if_then_else(N[i, j] == 3 or (A[i, j] == 1 and N[i, j] == 4), 1, 0)

@T.prim_func
def main(X: T.Buffer(({n}, {n}), "int32"), Y: T.Buffer(({n}, {n}), "int32")):
    A = T.alloc_buffer(({n}, {n}), "int32")
    for i, j in T.grid({n}, {n}):
        Y[i, j] = X[i, j] % 2
    for t in range(20):
        turn(Y, A)
        turn(A, Y)
"""
WAVE = """
@T.prim_func
def advance(U: T.Buffer(({n},), "float32"), V: T.Buffer(({n},), "float32")):
    for i in range({n}):
        L = T.if_then_else(i > 0, U[i - 1], 0.0) - 2.0 * U[i] + T.if_then_else(i < {n} - 1, U[i + 1], 0.0)
        V[i] = 2.0 * U[i] - V[i] + 0.2 * L

@T.prim_func
def main(U: T.Buffer(({n},), "float32"), V: T.Buffer(({n},), "float32")):
    for t in range(100):
        advance(U, V)
        advance(V, U)
"""


def chain(text: str, n: int, layers: int, rank: int) -> str:
    """A main function that calls `conv` so often."""
    names = ["X", *(f"H{k}" for k in range(layers - 1)), "Y"]
    shape = ", ".join([str(n)] * rank)
    lines = [f'    {h} = T.alloc_buffer(({shape},), "float32")' for h in names[1:-1]]
    lines += [f"    conv({a}, F, {b})" for a, b in pairwise(names)]
    return text.format(n=n) + "\n".join(lines) + "\n"


MODULES = {
    "four convolutions, 1048576": chain(CONVOLUTION, 1 << 20, 4, 1),
    "three convolutions, 512 × 512": chain(IMAGE, 512, 3, 2),
    "three int8 convolutions, zero point 3, 1048576": ZERO_POINT.format(n=1 << 20),
    "three maxima of five, 1048576": MAXIMA.format(n=1 << 20),
    "attention, 197 tokens": ATTENTION,
    "heat, 100 steps of 512 × 512": HEAT.format(n=512),
    "wave, 200 steps of 65536": WAVE.format(n=65536),
    "life, 40 turns of 256 × 256": LIFE.format(n=256),
}


@dataclass(frozen=True)
class Row:
    """What was found: least ms of both kernels, prices, layouts that are not the program's, seconds of the search."""

    name: str
    written: float
    optimized: float
    predicted: float
    layouts: str
    seconds: float
    cycles: str

    def cells(self) -> str:
        ratio = self.written / self.optimized
        figures = f"{self.written:.3f} | {self.optimized:.3f} | {ratio:.2f} | {self.predicted:.2f}"
        return f"| {self.name} | {figures} | {self.layouts} | {self.seconds:.0f} | {self.cycles} |"


def measured(name: str, module: Module, seconds: float) -> Row:
    """Both kernels of a module, timed by turns."""
    began = time.process_time()
    result = loopsat.optimize(module)
    took = time.process_time() - began
    written, best = compile(module), compile(result.best)
    inputs = random_inputs(without_calls(module["main"]), np.random.default_rng(SEED))
    for a, b in zip(written(**inputs), best(**inputs), strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        assert np.abs(a - b).max() <= TOLERANCE * max(np.abs(a).max(), 1.0), name
    calls = [kernel_call("as written", written, inputs), kernel_call("layouts chosen", best, inputs)]
    for call in calls:
        wall(call)  # compiles
    race = Race(calls)
    deadline = time.perf_counter() + seconds
    while not race.turns[0] or time.perf_counter() < deadline:
        race.turn()
    first, second = (min(s for turn in turns for s in turn) * 1e3 for turns in race.turns)
    moved = [f"{n}: {x.storage}" for n, x in result.layouts.items() if not x.storage.is_plain]
    cycles = estimated(module) if tpu_available() else "–"
    return Row(name, first, second, result.cost_before / result.cost, "; ".join(moved) or "–", took, cycles)


def estimated(module: Module) -> str:
    """Cycles that the TPU compiler expects as written and with layouts as chosen for `tpu`."""
    best = loopsat.optimize(module, "tpu").best
    found = compile_jobs([tpu_job(without_calls(m["main"])) for m in (module, best)])
    return " → ".join(f"{r.estimated_cycles:,}" if isinstance(r, TpuReport) else "refused" for r in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=4.0, help="for each pair of kernels")
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    rows: list[Row] = []
    for name, text in MODULES.items():
        if not options.only or any(word in name for word in options.only):
            rows.append(measured(name, parse(text), options.seconds))
            print(rows[-1].cells(), flush=True)
    if options.only or options.print:
        return
    head = "| module | as written, ms | layouts chosen, ms | ratio | by price | layouts | search, s | TPU cycles |"
    table = "\n".join([head, "|---|---:|---:|---:|---:|---|---:|---|", *(row.cells() for row in rows)])
    rewrite(BEGIN, END, table)


if __name__ == "__main__":
    main()
