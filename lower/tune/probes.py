"""Measurements behind `loopsat calibrate`: small programs, what their times say of prices, and the machine's limits.

A price is the difference of two programs of which one has more of what is priced, divided by how much more the cost
model counts. The model is asked for these counts, so that a price means what the model takes it for. The programs take
turns, and the differences within single turns are compared, so that a slow second on the machine disturbs both alike.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import CPU, Target, target_named
from ir.errors import LoopsatError
from ir.nodes import Buffer, Const, PrimFunc
from ir.script.parser import parse
from ir.semantics.inputs import random_array
from lower.runtime.calibration import FIGURES, Calibration, Machine, check_calibrated
from lower.runtime.kernel import compile
from lower.tune.measure import Call, Race, Step, Timer, kernel_call, unwatched, wall
from lower.tune.plan_probes import LONG, SHORT, Pair, fit_plan, plan_programs

ROWS, COLUMNS = 2048, 1024  # 8 MB of float32: what kernels that are worth optimizing move
TURNS, LIMIT_TURNS = 25, 12
LEAST_TURNS = 5  # of each, on a machine so slow that `SECONDS` go by
SECONDS = 4.0  # for the turns of the programs, and again for those of the limits
PARTS = 3  # of the turns, each of which gives prices by itself
STEADY = 1.25  # between the times that parts give for a unit, on a machine where little else runs
TRIES = 3  # of measuring on a machine that is not as steady
LEAST = 0.01  # price of what cannot be told from free, so that less of it is still preferred
TRAFFIC = tuple(1 << n for n in (18, 20, 22, 24, 26))  # bytes moved a call, from in cache to far beyond
SIDE = 1024  # of the square matrices whose product shows the peak of operations
ROUNDS = 4  # of fitting prices whose pairs hang on each other

_REST = "rest"  # of a cost: names, literals and figures that are not fitted

# Programs ------------------------------------------------------------------------------------------------------------


def programs(rows: int = ROWS) -> dict[str, PrimFunc]:
    """The programs to time, by name, over matrices of this many rows."""
    matrix = f'T.Buffer(({rows}, {COLUMNS}), "float32")'
    whole = f'T.Buffer(({rows}, {COLUMNS}), "int32")'
    quarter = f'T.Buffer(({rows // 4}, {COLUMNS}), "float32")'
    one, ints, scalars = f"A: {matrix}", f"A: {whole}", f"s: T.float32, t: T.float32, A: {matrix}"
    four = f"{one}, C: {matrix}, D: {matrix}, E: {matrix}"
    packed = f'T.Buffer(({rows}, {COLUMNS // 4}, 4), "float32")'
    valid = f"4 * jo + ji < {COLUMNS - 2}"  # padding at the end of a packed axis

    def each(params: str, value: str, out: str = matrix, count: int = rows) -> str:
        lines = [f"for i, j in T.grid({count}, {COLUMNS}):", "    B[i, j] = " + value]
        return _script(f"{params}, B: {out}", lines)

    def each_packed(guard: str = "") -> str:
        lines = [f"for i, jo, ji in T.grid({rows}, {COLUMNS // 4}, 4):"]
        lines += _indented(_guarded(guard, "B[i, jo, ji] = A[i, jo, ji] * 2.0"))
        return _script(f"A: {packed}, B: {packed}", lines)

    def row_sum(columns: int) -> str:
        inner = ["B[i] = 0.0", f"for j in T.serial({columns}):", "    B[i] = B[i] + A[i, j]"]
        return _script(f'{one}, B: T.Buffer(({rows},), "float32")', [f"for i in T.serial({rows}):", *_indented(inner)])

    def packed_row_sum(guard: str = "") -> str:
        inner = ["B[i] = 0.0", f"for jo, ji in T.grid({COLUMNS // 4}, 4):"]
        inner += _indented(_guarded(guard, "B[i] = B[i] + A[i, jo, ji]"))
        params = f'A: {packed}, B: T.Buffer(({rows},), "float32")'
        return _script(params, [f"for i in T.serial({rows}):", *_indented(inner)])

    def fill(count: int) -> str:
        lines = [f"for i, j in T.grid({count}, {COLUMNS}):", "    B[i, j] = s"]
        return _script(f's: T.float32, B: T.Buffer(({count}, {COLUMNS}), "float32")', lines)

    texts = {
        "one operand": each(one, "A[i, j] * 2.0"),
        "four operands": each(four, "A[i, j] + C[i, j] + D[i, j] + E[i, j]"),
        "quarter of one operand": each(f"A: {quarter}", "A[i, j] * 2.0", out=quarter, count=rows // 4),
        "fill": fill(rows),
        "fill of a half": fill(rows // 2),
        "fill of a quarter": fill(rows // 4),
        "16 operations": each(scalars, _chain("A[i, j]", "({} * s + t)", 8)),
        "64 operations": each(scalars, _chain("A[i, j]", "({} * s + t)", 32)),
        "integer copy": each(ints, "A[i, j] + 1", out=whole),
        "four quotients": each(ints, _chain("(A[i, j] + 1)", "({} // 7)", 4), out=whole),
        "four remainders": each(ints, "(A[i, j] + 1) % 7 + A[i, j] % 11 + A[i, j] % 13 + A[i, j] % 17", out=whole),
        "exp": each(one, "T.exp(A[i, j])"),
        "tanh": each(one, "T.tanh(A[i, j])"),
        "sin": each(one, "T.sin(A[i, j])"),
        "packed store": each_packed(),
        "guarded store": each_packed(valid),
        "packed row sum": packed_row_sum(),
        "guarded row sum": packed_row_sum(valid),
        "row sum": row_sum(COLUMNS),
        "row sum of a part": row_sum(COLUMNS - 2),
        "five small sums": _sums(5),
        "33 small sums": _sums(33),
    }
    searched = {name: parse(text, f"<probe {name}>").funcs[0] for name, text in texts.items()}
    return searched | plan_programs(rows, COLUMNS)


def _guarded(guard: str, line: str) -> list[str]:
    return [f"if {guard}:", f"    {line}"] if guard else [line]


def _sums(count: int) -> str:
    """Sums of which each needs the one before, so that none is compiled into another."""
    params = ", ".join(f'B{k}: T.Buffer((16,), "float32")' for k in range(count + 1))
    lines: list[str] = []
    for k in range(count):
        inner = [f"B{k + 1}[i] = 0.0", "for j in T.serial(16):"]
        inner += [f"    B{k + 1}[i] = B{k + 1}[i] + T.max(A[i, j], B{k}[j])"]
        lines += ["for i in T.serial(16):", *_indented(inner)]
    return _script(f'A: T.Buffer((16, 16), "float32"), {params}', lines)


def _chain(value: str, step: str, times: int) -> str:
    for _ in range(times):
        value = step.format(value)
    return value


def _script(params: str, lines: Sequence[str]) -> str:
    return "\n".join(("@T.prim_func", f"def probe({params}):", *_indented(lines))) + "\n"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


# Prices --------------------------------------------------------------------------------------------------------------


PAIRS = (
    Pair("arith", "64 operations", "16 operations"),
    Pair("load", "four operands", "one operand"),
    Pair("store", "fill", "fill of a quarter"),
    Pair("store", "fill of a half", "fill of a quarter"),
    Pair("store", "one operand", "quarter of one operand"),
    Pair("division", "four quotients", "integer copy"),
    Pair("division", "four remainders", "integer copy"),
    Pair("special", "exp", "one operand"),
    Pair("special", "tanh", "one operand"),
    Pair("slow_function", "sin", "one operand"),
    Pair("kernel", "33 small sums", "five small sums"),
    Pair("mask", "guarded store", "packed store", ratio=True),
    Pair("reduction_mask", "guarded row sum", "packed row sum", ratio=True),
    Pair("reduction_slice", "row sum of a part", "row sum", ratio=True),
)

Samples = Mapping[str, Sequence[float]]


class Fitted(Struct, frozen=True):
    """Prices that explain times: cost 1 takes `unit` seconds. Figures that are `hidden` could not be told from free."""

    target: Target
    unit: float
    hidden: tuple[str, ...]


def fit(base: Target, timed: Mapping[str, PrimFunc], samples: Samples) -> Fitted:
    """Prices that explain times.

    `samples` are seconds of each program, one a turn. Where several pairs tell a figure, their median does. A figure
    whose difference is nothing that can be measured is hidden, and gets the price `LEAST`.

    Raises:
        LoopsatError: loading cannot be told from free, so there is no unit.
    """
    planned = plan_programs(1, 1)  # of which the search does not price what the plan does
    searched = {name: func for name, func in timed.items() if name not in planned}
    counts = {name: _counts(base, func) for name, func in searched.items()}
    seconds = {"load": 0.0}
    for _ in range(ROUNDS):  # what has a price of its own is in units of a load, which is known better each time
        seconds = {_REST: seconds["load"]}
        for figure, pairs in _by_figure(ratio=False):
            seconds[figure] = float(np.median([_difference(pair, counts, samples, seconds) for pair in pairs]))
    load = seconds["load"]
    if not load > 0:
        message = "the machine is too busy for measurements: loads seem to take no time"
        raise LoopsatError("too-noisy", message, help="calibrate when less else runs on it")
    found = {figure: s / load for figure, s in seconds.items() if figure != _REST}
    target = replace(base, **_rounded(found))
    for figure, pairs in _by_figure(ratio=True):
        found[figure] = float(np.median([_slowdown(pair, target, timed, samples) for pair in pairs]))
    target = replace(base, **_rounded(found))
    found |= fit_plan(target, load, timed, samples)
    target = replace(base, **_rounded(found))
    whole = {name: Prices(target).program(func.body) for name, func in searched.items()}
    units = [float(np.median(samples[name])) / cost for name, cost in whole.items()]
    return Fitted(target, float(np.median(units)), tuple(f for f, price in found.items() if price < LEAST))


def _by_figure(*, ratio: bool) -> list[tuple[str, list[Pair]]]:
    chosen = [pair for pair in PAIRS if pair.ratio == ratio]
    return [(figure, [p for p in chosen if p.figure == figure]) for figure in dict.fromkeys(p.figure for p in chosen)]


def _rounded(prices: Mapping[str, float]) -> dict[str, float]:
    return {figure: max(float(f"{price:.3g}"), LEAST) for figure, price in prices.items()}


def _difference(
    pair: Pair, counts: Mapping[str, Mapping[str, float]], samples: Samples, known: Mapping[str, float]
) -> float:
    """Seconds of one unit of a figure, after what the figures known so far explain."""
    gaps = [a - b for a, b in zip(samples[pair.more], samples[pair.less], strict=True)]
    more = {name: counts[pair.more][name] - counts[pair.less][name] for name in counts[pair.more]}
    explained = sum(known.get(name, 0.0) * count for name, count in more.items() if name != pair.figure)
    return (float(np.median(gaps)) - explained) / more[pair.figure]


def _slowdown(pair: Pair, target: Target, timed: Mapping[str, PrimFunc], samples: Samples) -> float:
    """The price with which costs have the ratio of the times."""
    ratio = float(np.median([a / b for a, b in zip(samples[pair.more], samples[pair.less], strict=True)]))
    body = timed[pair.more].body
    with_none, with_one = (Prices(replace(target, **{pair.figure: x})).program(body) for x in (0.0, 1.0))
    return (Prices(target).program(timed[pair.less].body) * ratio - with_none) / (with_one - with_none)


def _counts(base: Target, func: PrimFunc) -> dict[str, float]:
    """How often the cost model counts each figure in a program (costs are linear in them), and the rest of the cost."""
    cost = Prices(base).program(func.body)
    figures = dict.fromkeys(pair.figure for pair in PAIRS)
    counts = {n: Prices(replace(base, **{n: getattr(base, n) + 1.0})).program(func.body) - cost for n in figures}
    return counts | {_REST: cost - sum(count * getattr(base, n) for n, count in counts.items())}


# The machine's limits ------------------------------------------------------------------------------------------------


def _limit_calls() -> list[Call]:
    calls: list[Call] = []
    for traffic in TRAFFIC:
        calls += [_in_place(traffic), _row_sums(traffic)]
    matrix = _ones((SIDE, SIDE))
    product: Any = jax.jit(jnp.matmul)
    small = _ones((8,))
    increment: Any = jax.jit(_increment)
    calls += [Call("product", lambda: product(matrix, matrix)), Call("call", lambda: increment(small))]
    return calls


def _increment(x: jax.Array) -> jax.Array:
    return x + 1.0


def _scale(x: jax.Array) -> jax.Array:
    return x * np.float32(0.5) + np.float32(0.5)


def _sum_rows(x: jax.Array) -> jax.Array:
    return x.sum(axis=1)


def _ones(shape: tuple[int, ...]) -> jax.Array:
    return jax.device_put(np.ones(shape, np.float32), jax.devices("cpu")[0])


def _in_place(traffic: int) -> Call:
    """Every byte read and written in place: half of the traffic each."""
    state = [_ones((traffic // 8,))]
    scale: Any = jax.jit(_scale, donate_argnums=0)

    def run() -> object:
        state[0] = scale(state[0])
        return state[0]

    return Call(f"in place {traffic}", run)


def _row_sums(traffic: int) -> Call:
    matrix = _ones((traffic // 4 // COLUMNS, COLUMNS))
    sums: Any = jax.jit(_sum_rows)
    return Call(f"row sums {traffic}", lambda: sums(matrix))


def _machine(seconds: Mapping[str, float]) -> Machine:
    """Limits from the times of the calls."""
    call = seconds["call"]
    bandwidth: list[tuple[int, float]] = []
    for traffic in TRAFFIC:
        fastest = min(seconds[f"in place {traffic}"], seconds[f"row sums {traffic}"])
        bandwidth.append((traffic, traffic / max(fastest - call, 0.1 * fastest)))
    flops = 2.0 * SIDE**3 / seconds["product"]
    step = (seconds["long recurrence"] - seconds["short recurrence"]) / (LONG - SHORT)
    return Machine(tuple(bandwidth), flops, call, max(step, 1e-12))


# All of it -----------------------------------------------------------------------------------------------------------


class Measured(Struct, frozen=True):
    """A calibration, the figures in it that could not be told from free, and between what figures of parts lie.

    `spread` has the least and the greatest price that a part of the turns gives for a figure, and seconds for `unit`.
    """

    calibration: Calibration
    hidden: tuple[str, ...]
    spread: Mapping[str, tuple[float, float]]


def count_steps() -> int:
    """How often `calibrate` reports progress."""
    return len(programs()) + TURNS + LIMIT_TURNS


def calibrate(name: str = "cpu", *, rows: int = ROWS, timer: Timer = wall, step: Step = unwatched) -> Measured:
    """Measure the prices of a target and the limits of this machine, in about ten seconds; nothing is kept.

    `rows` scales the programs' arrays (fewer are quicker and less exact); `step` hears of each step done.

    On a machine where other things run, that is done again, up to `TRIES` times in all.

    Raises:
        LoopsatError: there is no such target, it has no probes, or the machine is too busy.
    """
    check_calibrated(name)
    base = target_named(name)
    timed = programs(rows)
    calls: list[Call] = []
    for probe, func in timed.items():
        calls.append(_kernel_call(probe, func))
        timer(calls[-1])  # compiles
        step(f"compiling: {probe}")
    samples, spread = _steady(base, timed, calls, timer, step)
    fitted = fit(base, timed, samples)
    machine = _limits(samples, timer, step)
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Measured(Calibration(fitted.target, fitted.unit, machine, when), fitted.hidden, spread)


def _steady(
    base: Target, timed: Mapping[str, PrimFunc], calls: Sequence[Call], timer: Timer, step: Step
) -> tuple[dict[str, list[float]], dict[str, tuple[float, float]]]:
    """Seconds of each program, one a turn, of turns that agree, and how far parts of them do.

    Raises:
        LoopsatError: they differ each time.
    """
    shown = ""
    for tries in range(TRIES):
        contest = Race(calls, patience=inf, timer=timer)
        _take_turns(contest, TURNS, "prices" if tries == 0 else "prices again, since times differed", step)
        # What disturbs a run makes it longer, so the shortest of a turn says most.
        samples = {call.name: [min(turn) for turn in turns] for call, turns in zip(calls, contest.turns, strict=True)}
        spread = _spread(base, timed, samples)
        if spread is not None and spread["unit"][1] <= STEADY * spread["unit"][0]:
            return samples, spread
        shown = "anything" if spread is None else " to ".join(f"{s * 1e9:.3g} ns" for s in spread["unit"])
    message = f"the machine is too busy for measurements: in parts of them, an element loaded takes {shown}"
    raise LoopsatError("too-noisy", message, help="calibrate when less else runs on it")


def _spread(base: Target, timed: Mapping[str, PrimFunc], samples: Samples) -> dict[str, tuple[float, float]] | None:
    """Between what the figures lie that parts of the turns give; None where a part gives none."""
    found: list[dict[str, float]] = []
    for k in range(PARTS):
        try:
            part = fit(base, timed, {name: values[k::PARTS] for name, values in samples.items()})
        except LoopsatError:
            return None
        found.append({"unit": part.unit, **{figure: getattr(part.target, figure) for figure in FIGURES}})
    return {figure: (min(p[figure] for p in found), max(p[figure] for p in found)) for figure in found[0]}


def _limits(samples: Samples, timer: Timer, step: Step) -> Machine:
    calls = _limit_calls()
    for call in calls:
        timer(call)
    contest = Race(calls, patience=inf, timer=timer)
    _take_turns(contest, LIMIT_TURNS, "limits", step)
    shortest = [[min(turn) for turn in turns] for turns in contest.turns]
    seconds = {call.name: float(np.median(s)) for call, s in zip(calls, shortest, strict=True)}
    return _machine(seconds | {name: float(np.median(s)) for name, s in samples.items()})


def _take_turns(contest: Race, turns: int, what: str, step: Step) -> None:
    deadline = time.perf_counter() + SECONDS
    for turn in range(turns):
        step(f"{what}: turn {turn + 1} of {turns}")
        if turn < LEAST_TURNS or time.perf_counter() < deadline:
            contest.turn()


def _kernel_call(name: str, func: PrimFunc) -> Call:
    rng = np.random.default_rng(0)
    inputs: dict[str, Any] = {}
    for param in func.params:
        if isinstance(param, Buffer):
            shape = tuple(int(e.value) for e in param.shape if isinstance(e, Const))
            inputs[param.name] = np.resize(random_array((min(prod(shape), 4096),), param.dtype, rng), shape)
        else:
            inputs[param.name] = np.float32(0.75)
    return kernel_call(name, compile(func, CPU), inputs)  # not by prices of an earlier calibration
