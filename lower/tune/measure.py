"""Timing compiled kernels, and what else is known of them: the one home of clocks.

Calls take turns, so that a noisy machine disturbs all alike, and medians are compared. The first runs of a turn do not
count, since they find the caches as another call left them. Arrays are in place before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from msgspec import Struct

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import Target
from ir.nodes import PrimFunc
from ir.program.blocks import lower_blocks
from ir.semantics.inputs import Inputs
from ir.semantics.interpret import bind_arguments
from ir.semantics.specialize import specialize
from lower.runtime.calibration import Calibration, stored
from lower.runtime.kernel import Kernel, compile

SLOW = 0.05  # seconds; calls that take longer need no runs that do not count
VERY_SLOW = 1.0  # seconds; nothing that disturbs a call takes so long
DOUBTS = 3  # turns after which a slow call is believed to be slow
PATIENCE = 8.0  # slow calls that take this many times as long as the fastest have few turns


class Timing(Struct, frozen=True):
    """Seconds that one run takes: the median and the quartiles of `runs` samples."""

    median: float
    low: float
    high: float
    runs: int

    @staticmethod
    def of(samples: Sequence[float]) -> Timing:
        """The timing of at least one sample."""
        low, median, high = (float(q) for q in np.quantile(samples, (0.25, 0.5, 0.75)))
        return Timing(median, low, high, len(samples))


def milliseconds(seconds: float) -> str:
    """A time as it is printed, without the unit."""
    return f"{seconds * 1e3:.3f}" if seconds >= 1e-4 else f"{seconds * 1e3:.5f}"


class Call(Struct, frozen=True):
    """Something to time. `run` may return JAX arrays that are not ready; `context` is entered off the clock."""

    name: str
    run: Callable[[], object]
    context: Callable[[], AbstractContextManager[object]] = nullcontext


Timer = Callable[[Call], float]
Step = Callable[[str], None]  # is told what is measured next


def unwatched(what: str) -> None:
    """A step for those who do not watch."""


def wall(call: Call) -> float:
    """Seconds that a call takes until its results are ready."""
    with call.context():
        began = time.perf_counter()
        jax.block_until_ready(call.run())
        return time.perf_counter() - began


class Race(Struct, dict=True):
    """Calls that take turns; each turn runs a call `runs` times, of which the last `counted` count.

    Slow calls run once a turn, and those that take more than `patience` times as long as the fastest have few turns.
    The calls have run before (a first run compiles). `turn` may be left by an interrupt: what was sampled counts.
    """

    calls: Sequence[Call]
    runs: int = 5
    counted: int = 3
    patience: float = PATIENCE
    timer: Timer = wall

    def __post_init__(self) -> None:
        # of each call, of each turn: the seconds that count
        self.turns: list[list[list[float]]] = [[] for _ in self.calls]

    def turn(self) -> None:
        """One turn for each call that still has a chance."""
        for call, turns in zip(self.calls, self.turns, strict=True):
            if not turns or not self._hopeless(turns):
                turns.append(self._runs(call))

    def _runs(self, call: Call) -> list[float]:
        taken: list[float] = []
        for _ in range(self.runs):
            taken.append(self.timer(call))
            if taken[-1] > SLOW:
                return taken[-1:]
        return taken[-self.counted :]

    def _hopeless(self, turns: list[list[float]]) -> bool:
        """Whether more turns of a slow call are a waste; a short call may be disturbed once or twice."""
        shortest = min(_flat(turns))
        best = min(float(np.median(_flat(t))) for t in self.turns if t)
        enough = len(turns) >= DOUBTS or shortest > VERY_SLOW
        return enough and shortest > SLOW and shortest > self.patience * best

    def timings(self) -> list[Timing | None]:
        """What was found so far; None for calls that have not run."""
        return [Timing.of(_flat(t)) if t else None for t in self.turns]


def _flat(turns: list[list[float]]) -> list[float]:
    return [seconds for turn in turns for seconds in turn]


def race(
    calls: Sequence[Call],
    *,
    seconds: float = 2.0,
    least: int = 1,
    most: int = 30,
    timer: Timer = wall,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Timing]:
    """Time calls in turns until `seconds` have passed or each had `most` turns, but at least `least`."""
    for call in calls:
        timer(call)
    contest = Race(calls, timer=timer)
    deadline = clock() + seconds
    for done in range(max(least, most, 1)):
        if done >= max(least, 1) and clock() >= deadline:
            break
        contest.turn()
    return [t for t in contest.timings() if t is not None]


def kernel_call(name: str, kernel: Kernel, inputs: Inputs) -> Call:
    """A call of a kernel on arrays that are in place, without our checks of arguments; donated ones are copies."""
    arguments = in_place(kernel, inputs)
    if not kernel.donated:
        return Call(name, lambda: kernel.jitted(**arguments), kernel.on_device)
    given: dict[str, Any] = {}

    @contextmanager
    def supplied() -> Generator[None]:
        with kernel.on_device():
            given.update({n: jnp.copy(v) if isinstance(v, jax.Array) else v for n, v in arguments.items()})
            jax.block_until_ready(given)
            yield

    return Call(name, lambda: kernel.jitted(**given), supplied)


def in_place(kernel: Kernel, inputs: Inputs) -> dict[str, Any]:
    """Arguments of the jitted function, arrays moved to its device; static sizes stay numbers."""
    arguments = kernel.arguments([inputs[name] for name in kernel.params], {})
    with kernel.on_device():
        return {n: jax.device_put(v, kernel.device) if np.ndim(v) else v for n, v in arguments.items()}


# What is known of a kernel -------------------------------------------------------------------------------------------


class Profile(Struct, frozen=True):
    """Figures of one kernel on given inputs.

    `cost` is in elements moved, `predicted` and `compile_seconds` (XLA only, without tracing) in seconds. `traffic` are
    the bytes of arguments and results, each moved once; `temporaries` the bytes of what else is kept in memory.
    `bytes_moved` and `flops` are XLA's estimate for the compiled form, where a loop's body counts once. `roofline` is
    the least time for `traffic` and `flops` on this machine, as a fraction of the time taken. None is unknown:
    prediction and roofline need a calibration, the others are XLA's to tell.
    """

    name: str
    cost: float
    time: Timing
    compile_seconds: float
    predicted: float | None = None
    roofline: float | None = None
    traffic: int | None = None
    temporaries: int | None = None
    bytes_moved: float | None = None
    flops: float | None = None


class Form(Struct, frozen=True):
    """One of several programs that do the same, and its kernel."""

    name: str
    func: PrimFunc
    kernel: Kernel


def profile(
    program: PrimFunc | Kernel, inputs: Inputs, target: str = "cpu", *, seconds: float = 1.0, timer: Timer = wall
) -> Profile:
    """Compile a program (or take a compiled one), run it on `inputs` for about `seconds`, and report its figures.

    Raises:
        LoopsatError: there is no such target, or the inputs are not those of the program.
    """
    if isinstance(program, Kernel):
        form = Form(program.func.name, program.func, program)
    else:
        form = Form(program.name, program, compile(program, target))
    return profiles([form], inputs, target, seconds=seconds, timer=timer)[0]


def profiles(
    forms: Sequence[Form], inputs: Inputs, target: str = "cpu", *, seconds: float = 2.0, timer: Timer = wall
) -> list[Profile]:
    """The figures of several programs on the same inputs; they take turns, so that their times compare.

    Raises:
        LoopsatError: there is no such target, or the inputs are not those of the programs.
    """
    known = stored(target)
    compiled = [_compiled(form.kernel, inputs) for form in forms]
    times = race([kernel_call(f.name, f.kernel, inputs) for f in forms], seconds=seconds, timer=timer)
    return [
        _profile(form.name, cost_for(form.func, inputs, known.target), timing, facts, known.calibration)
        for form, timing, facts in zip(forms, times, compiled, strict=True)
    ]


class _Facts(Struct, frozen=True):
    """What XLA tells of a compiled kernel."""

    seconds: float
    traffic: int | None = None
    temporaries: int | None = None
    bytes_moved: float | None = None
    flops: float | None = None


def _compiled(kernel: Kernel, inputs: Inputs) -> _Facts:
    arguments = in_place(kernel, inputs)
    with kernel.on_device():
        kernel.jitted.clear_cache()  # else a kernel that ran before takes no time to compile
        lowered = kernel.jitted.lower(**arguments)
        began = time.perf_counter()
        executable = lowered.compile()
        took = time.perf_counter() - began
    memory: Any = executable.memory_analysis()
    estimate: Mapping[str, float] = executable.cost_analysis() or {}
    traffic = None if memory is None else memory.argument_size_in_bytes + memory.output_size_in_bytes
    temporaries = None if memory is None else int(memory.temp_size_in_bytes)
    return _Facts(took, traffic, temporaries, estimate.get("bytes accessed"), estimate.get("flops"))


def _profile(name: str, cost: float, timing: Timing, facts: _Facts, calibration: Calibration | None) -> Profile:
    predicted = roofline = None
    if calibration is not None:
        predicted = calibration.seconds(cost)
        if facts.traffic is not None:
            least = calibration.machine.least_seconds(facts.traffic, max(facts.flops or 0.0, 0.0))
            roofline = least / max(timing.median, 1e-12)
    return Profile(
        name, cost, timing, facts.seconds, predicted, roofline,
        facts.traffic, facts.temporaries, facts.bytes_moved, facts.flops,
    )  # fmt: skip


def cost_for(func: PrimFunc, inputs: Inputs, prices: Target) -> float:
    """Cost of a program for the sizes of these inputs."""
    return Prices(prices).program(lower_blocks(specialize(func, sizes_of(func, inputs))).body)


def sizes_of(func: PrimFunc, inputs: Inputs) -> dict[str, int]:
    """The values of shape variables and integer parameters in these inputs.

    Raises:
        InterpretError: the inputs are not those of the function.
    """
    scalars, _ = bind_arguments(func, (), inputs)
    return {v.name: int(x) for v, x in scalars.items() if v.dtype.is_integer}


def seconds_of(action: Callable[[], object]) -> float:
    """Seconds that an action takes once, until its results are ready."""
    return wall(Call("", action))


def medians(calls: Mapping[str, Callable[[], object]], turns: int = 25) -> dict[str, float]:
    """Median seconds of each call in a steady state: turns of twelve runs, of which the last six count."""
    contest = Race([Call(name, run) for name, run in calls.items()], runs=12, counted=6)
    for call in contest.calls:
        wall(call)
    for _ in range(turns):
        contest.turn()
    return {n: t.median for n, t in zip(calls, contest.timings(), strict=True) if t is not None}
