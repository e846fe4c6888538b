"""Programs that tell the prices with which plans are compared: loops, launches, single elements, scans, contractions.

As in `lower.tune.probes`, a price is what one of two programs has more of. Here the model is
`lower.restructure.estimate` of the plan that a program gets; each program is written such that it has one plan only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from ir.nodes import PrimFunc
from ir.script.parser import parse
from lower.nest.nodes import Plan
from lower.nest.normalize import normalize
from lower.restructure.estimate import estimate
from lower.restructure.plan import plan

SHORT, LONG = 1000, 9000  # steps of sequential loops
INNER = 4  # steps of a loop in a loop
WIDTH = 32  # elements along each axis of array statements in a loop: few, but too many to be unrolled into the loop
DEEP, SHALLOW, SIDE = 512, 64, 512  # what is summed over in products, and their sides


class Pair(Struct, frozen=True):
    """Two programs that tell a figure, given the figures of the pairs before it.

    The difference of their times does, or, for what is paid on top of a program, the ratio: the cost model counts an
    accumulation as two loads and a store, which it is not, and what decides is by how much a guard slows it down.
    """

    figure: str
    more: str
    less: str
    ratio: bool = False


PLAN_PAIRS = (
    Pair("step", "recurrence in two loops", "recurrence in one loop"),
    Pair("scalar", "long recurrence", "short recurrence"),
    Pair("contraction", "deep product", "shallow product"),
    Pair("launch", "six products a step", "two products a step"),
    Pair("scan", "running sum", "sum of two"),
)
PLAN_FIGURES = tuple(pair.figure for pair in PLAN_PAIRS)


def plan_programs(rows: int, columns: int) -> dict[str, PrimFunc]:
    """The programs, by name; scans run along matrices of this many rows and columns."""
    texts = {
        "long recurrence": _recurrence(LONG),
        "short recurrence": _recurrence(SHORT),
        "recurrence in two loops": _recurrence(LONG, INNER),
        "recurrence in one loop": _recurrence(LONG * INNER),
        "six products a step": _products_in_turn(6),
        "two products a step": _products_in_turn(2),
        "deep product": _product(DEEP),
        "shallow product": _product(SHALLOW),
        "running sum": _along(rows * columns, "B[i + 1] = B[i] + A[i]"),
        "sum of two": _along(rows * columns, "B[i + 1] = A[i + 1] + A[i]"),
    }
    return {name: parse(text, f"<probe {name}>").funcs[0] for name, text in texts.items()}


def _recurrence(steps: int, inner: int = 1) -> str:
    """An element updated in each step, or `inner` times in each."""
    lines = [f"    for i in T.serial({steps}):", *([f"        for k in T.serial({inner}):"] if inner > 1 else [])]
    lines += ["        " + ("    " if inner > 1 else "") + "B[0] = T.max(B[0], 0.5) * 0.5 + A[i]"]
    return _script(f'A: T.Buffer(({steps},), "float32"), B: T.Buffer((1,), "float32")', lines)


def _products_in_turn(count: int) -> str:
    """Small products in a loop, which are not compiled into one another as elementwise statements would be."""
    params = ", ".join(f'B{k}: T.Buffer(({WIDTH},), "float32")' for k in range(count))
    lines = [f"    for t in T.serial({SHORT}):"]
    for k in range(count):
        lines += [f"        for i in T.serial({WIDTH}):", f"            B{k}[i] = 0.0"]
        lines += [f"        for i, j in T.grid({WIDTH}, {WIDTH}):"]
        lines += [f"            B{k}[i] = B{k}[i] + A[i, j] * B{k - 1 if k else count - 1}[j]"]
    return _script(f'A: T.Buffer(({WIDTH}, {WIDTH}), "float32"), {params}', lines)


def _product(depth: int) -> str:
    params = f'A: T.Buffer(({SIDE}, {depth}), "float32"), C: T.Buffer(({depth}, {SIDE}), "float32")'
    lines = [f"    for i, j, k in T.grid({SIDE}, {SIDE}, {depth}):", "        B[i, j] = B[i, j] + A[i, k] * C[k, j]"]
    return _script(f'{params}, B: T.Buffer(({SIDE}, {SIDE}), "float32")', lines)


def _along(count: int, line: str) -> str:
    params = f'A: T.Buffer(({count + 1},), "float32"), B: T.Buffer(({count + 1},), "float32")'
    return _script(params, [f"    for i in T.serial({count}):", f"        {line}"])


def _script(params: str, lines: Sequence[str]) -> str:
    return "\n".join(("@T.prim_func", f"def probe({params}):", *lines)) + "\n"


@cache
def _planned(func: PrimFunc) -> Plan:
    return plan(normalize(func), CPU)


def planned_cost(func: PrimFunc, target: Target) -> float:
    """What the estimate takes a program for, by the prices of a target, in the plan that the table gives it."""
    found = _planned(func)
    return estimate(found.nodes, found.boxes, target)


def fit_plan(
    target: Target, load: float, timed: Mapping[str, PrimFunc], samples: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """The prices of `PLAN_FIGURES` that explain times, where a load takes `load` seconds; `target` has all others.

    `samples` are seconds of each program, one a turn. A price may come out as nothing, or less, where it is hidden.
    """
    found: dict[str, float] = {}
    for pair in PLAN_PAIRS:
        gaps = [a - b for a, b in zip(samples[pair.more], samples[pair.less], strict=True)]
        at = {price: replace(target, **{pair.figure: price}) for price in (0.0, 1.0)}
        none, one = (planned_cost(timed[pair.more], t) - planned_cost(timed[pair.less], t) for t in at.values())
        price = (float(np.median(gaps)) / load - none) / (one - none)
        found[pair.figure] = price
        target = replace(target, **{pair.figure: max(price, 0.0)})
    return found
