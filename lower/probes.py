"""Measurements behind `loopsat calibrate`: small programs, what their times say of prices, and the machine's limits.

A price is the difference of two programs of which one has more of what is priced, divided by how much more the cost
model counts. The model is asked for these counts, so that a price means what the model takes it for. Two programs of a
pair are timed in turns, and the differences of single turns are compared, so that a slow second on the machine
disturbs both alike.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from egraph_rules.cost import Target, target_named
from egraph_rules.prices import Prices
from ir.inputs import random_inputs
from ir.nodes import PrimFunc
from ir.script.parser import parse
from lower.calibration import FIGURES, Calibration, Machine, check_calibrated
from lower.kernel import compile
from lower.measure import Call, Race, Timer, kernel_call, wall

ROWS, COLUMNS = 2048, 1024  # 8 MB of float32: about the size of a last-level cache's share
TURNS = 25
SECONDS = 8.0  # for all turns of the programs; the limits take about as long as half of that
LEAST = 0.01  # price of what cannot be told from free, so that less of it is still preferred

_MATRIX = f'T.Buffer(({ROWS}, {COLUMNS}), "float32")'
_WHOLE = f'T.Buffer(({ROWS}, {COLUMNS}), "int32")'
_ROW = f'T.Buffer(({ROWS},), "float32")'
_SMALL = 'T.Buffer((256,), "float32")'


def _elementwise(params: str, value: str, guard: str = "") -> str:
    lines = [f"for i, j in T.grid({ROWS}, {COLUMNS}):", f"B[i, j] = {value}"]
    return _function(params, [lines[0], *([f"    {guard}"] if guard else []), "    " * (1 + bool(guard)) + lines[1]])


def _row_sum(columns: int, guard: str = "") -> str:
    lines = [f"for i in T.serial({ROWS}):", "    B[i] = 0.0", f"    for j in T.serial({columns}):"]
    indent = " " * 8
    lines += [f"{indent}{guard}"] if guard else []
    return _function(f"A: {_MATRIX}, B: {_ROW}", [*lines, f"{indent}{'    ' if guard else ''}B[i] = B[i] + A[i, j]"])


def _fill(rows: int) -> str:
    params = f's: T.float32, B: T.Buffer(({rows}, {COLUMNS}), "float32")'
    return _function(params, [f"for i, j in T.grid({rows}, {COLUMNS}):", "    B[i, j] = s"])


def _stores(count: int) -> str:
    params = ", ".join(["A: " + _SMALL, *(f"B{k}: {_SMALL}" for k in range(count))])
    lines: list[str] = []
    for k in range(count):
        lines += ["for i in T.serial(256):", f"    B{k}[i] = A[i] * {k + 2}.0"]
    return _function(params, lines)


def _chain(value: str, step: str, times: int) -> str:
    for _ in range(times):
        value = step.format(value)
    return value


def _function(params: str, lines: Sequence[str]) -> str:
    return "\n".join(("@T.prim_func", f"def probe({params}):", *(f"    {line}" for line in lines))) + "\n"


_AB = f"A: {_MATRIX}, B: {_MATRIX}"
_INTS = f"A: {_WHOLE}, B: {_WHOLE}"
_FOUR = f"C: {_MATRIX}, D: {_MATRIX}, E: {_MATRIX}, {_AB}"
_SCALARS = f"s: T.float32, t: T.float32, {_AB}"

PROBES: Mapping[str, str] = {
    "one operand": _elementwise(_AB, "A[i, j] * 2.0"),
    "four operands": _elementwise(_FOUR, "A[i, j] + C[i, j] + D[i, j] + E[i, j]"),
    "fill": _fill(ROWS),
    "fill a quarter": _fill(ROWS // 4),
    "16 operations": _elementwise(_SCALARS, _chain("A[i, j]", "({} * s + t)", 8)),
    "64 operations": _elementwise(_SCALARS, _chain("A[i, j]", "({} * s + t)", 32)),
    "one division": _elementwise(_INTS, "A[i, j] // 7"),
    "five divisions": _elementwise(_INTS, _chain("A[i, j]", "({} // 7)", 5)),
    "special functions": _elementwise(_AB, "T.exp(A[i, j]) + T.tanh(A[i, j]) + T.sin(A[i, j])"),
    "guarded store": _elementwise(_AB, "A[i, j] * 2.0", guard=f"if j < {COLUMNS - 2}:"),
    "row sum": _row_sum(COLUMNS),
    "guarded row sum": _row_sum(COLUMNS, guard=f"if j < {COLUMNS - 2}:"),
    "row sum of a part": _row_sum(COLUMNS - 2),
    "two stores": _stores(2),
    "ten stores": _stores(10),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two probes whose difference tells a figure, given those of the pairs before it."""

    figure: str
    more: str
    less: str


PAIRS = (
    Pair("load", "four operands", "one operand"),
    Pair("arith", "64 operations", "16 operations"),
    Pair("store", "fill", "fill a quarter"),
    Pair("division", "five divisions", "one division"),
    Pair("special", "special functions", "one operand"),
    Pair("mask", "guarded store", "one operand"),
    Pair("reduction_mask", "guarded row sum", "row sum"),
    Pair("reduction_slice", "row sum of a part", "row sum"),
    Pair("kernel", "ten stores", "two stores"),
)
