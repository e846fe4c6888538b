"""Choosing among equivalent programs and their lowerings by measurement, and remembering the choice.

Owns the choice, not the clocks (`lower.tune.measure`) and not the files (`lower.runtime.cache`). What is remembered is
which of the candidates was fastest, never a program: candidates come from a search and from `lower.tune.lowerings`,
whatever the cache holds.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from msgspec import Struct, field
from msgspec.structs import astuple, replace

from egraph_rules import Result
from egraph_rules.cost.target import Target
from ir.errors import LoopsatError
from ir.floats import Floats
from ir.nodes import For, PrimFunc, Var
from ir.printing.printer import to_script
from ir.semantics.inputs import Inputs, random_inputs
from ir.traverse import free_vars, shape_vars, walk
from lower.check.kernels import Reference, compare, insist, kernel_results, reference
from lower.emission.function import emit_function
from lower.runtime import cache
from lower.runtime.calibration import user_target
from lower.runtime.kernel import Kernel, compile
from lower.runtime.switches import switched_off
from lower.tune.lowerings import Lowering, lowered_as, lowerings
from lower.tune.measure import Call, Race, Step, Timer, Timing, kernel_call, milliseconds, sizes_of, unwatched, wall

REPEAT = 30  # most turns of each candidate
SECONDS = 5.0  # for all turns
LOWERINGS = 6  # most of one program
CANDIDATES = 12  # most in all, besides the usual lowering of each program
NOISE = 0.02  # a lower quartile within this part of the shortest median is no slower: less cost is preferred
PLATFORMS = {"cuda": "gpu"}  # names of targets that JAX's devices do not use


class Trial(Struct, frozen=True):
    """A candidate: its program's rank by cost (0 is cheapest), its times, or why it has none.

    `lowering` names how it is lowered, where that is not the usual way, and `differs` says which forms that gave.
    """

    rank: int
    func: PrimFunc
    cost: float
    timing: Timing | None = None
    note: str = ""
    lowering: str = ""
    differs: tuple[str, ...] = ()


class Tuned(Struct, frozen=True):
    """What tuning found: `best` is the program to use, lowered with `prices`; `trials` are all candidates.

    Trials begin with the programs by cost, each in its usual lowering, and others follow; `chosen` is the index of the
    best, `rank` that of its program. `remembered` is the date of the measurements where they come from the cache.
    `complete` is false after an interrupt: `best` is then the best so far. `notes` say what was ignored, or failed.
    """

    best: PrimFunc
    chosen: int
    trials: tuple[Trial, ...]
    prices: Target
    remembered: str = ""
    complete: bool = True
    notes: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """The rank by cost of the program that was chosen."""
        return self.trials[self.chosen].rank

    def summary(self) -> str:
        """One line on the choice."""
        trial = self.trials[self.chosen]
        rest = f", variant {trial.rank + 1} lowered with {trial.lowering}" if trial.lowering else ""
        rest += f", {milliseconds(trial.timing.median)} ms" if trial.timing is not None else ""
        what = f"variant {self.chosen + 1} of {len(self.trials)}{rest}"
        if not self.complete:
            return f"interrupted: the best so far is {what}"
        return f"the fastest is {what}" + (f" (remembered from {self.remembered})" if self.remembered else "")


def tune(
    result: Result,
    target: str | Target = "cpu",
    *,
    repeat: int = REPEAT,
    seconds: float = SECONDS,
    sizes: Mapping[str, int] | None = None,
    inputs: Inputs | None = None,
    seed: int = 0,
    remember: bool = True,
    timer: Timer = wall,
    step: Step = unwatched,
) -> Tuned:
    """Compile and measure the variants of a search on this machine, and choose the fastest.

    Besides the variants, lowerings of each under other prices are candidates (`lower.tune.lowerings`), where they
    differ. `sizes` are values of symbolic sizes. Candidates take turns, at most `repeat` of them and about `seconds` in
    all, on `inputs` or else random ones; each result is checked first. A choice is remembered for the same program,
    candidates, prices, sizes, freedoms, device and versions, unless `remember` is false. An interrupt (Ctrl-C) ends the
    measurements, and what was found so far counts. `step` hears of each step, of which there are at most `count_steps`.

    Raises:
        LoopsatError: the target has no device here, sizes are missing, no inputs were found, or a candidate computes
            something else.
    """
    given = dict(sizes or {})
    if inputs is None:
        _check_sizes(result.source, given)
    else:
        given |= sizes_of(result.source, inputs)
    prices = user_target(target).target
    off = switched_off(result.settings.without).forms
    place = _Place.of(result, prices, given, off)
    notes: list[str] = []
    if remember:
        found = cache.read(place.name, place.key)
        known = None if found.value is None else _recall(result, prices, found.value)
        if known is not None:
            return known
        notes += [found.note] if found.note else []
    contest = _Contest(result, prices, timer, step)
    complete = contest.run(lambda: _inputs(result.source, inputs, given, seed), repeat, seconds)
    tuned = contest.outcome(complete, notes)
    if complete and remember:
        note = cache.write(place.name, place.key, _to_json(tuned, result.settings.floats, off))
        notes += [note] if note else []
        tuned = contest.outcome(complete, notes)
    return tuned


def _inputs(func: PrimFunc, inputs: Inputs | None, sizes: Mapping[str, int], seed: int) -> Inputs:
    return random_inputs(func, np.random.default_rng(seed), sizes) if inputs is None else inputs


def count_steps(result: Result, repeat: int = REPEAT) -> int:
    """How many steps `tune` reports at most."""
    return len(result.variants) + repeat


def needed_sizes(func: PrimFunc) -> list[str]:
    """The sizes without which a function cannot be measured: those of its shapes and loops."""
    in_loops = {v for s in walk(func.body) if isinstance(s, For) for e in (s.start, s.extent) for v in free_vars(e)}
    in_shapes = {v for b in func.buffers for e in b.shape for v in free_vars(e)}
    scalars = [p for p in func.params if isinstance(p, Var) and p in in_loops | in_shapes]
    return [v.name for v in (*shape_vars(func), *scalars)]


def _check_sizes(func: PrimFunc, sizes: Mapping[str, int]) -> None:
    missing = [name for name in needed_sizes(func) if name not in sizes]
    if missing:
        raise LoopsatError(
            "unbound-size",
            f"measuring {func.name} needs values for {', '.join(missing)}",
            func.span,
            help=f"pass sizes={{{missing[0]!r}: ...}}, or --size {missing[0]}=... on the command line",
        )


def _device(target: str) -> Any:
    platform = PLATFORMS.get(target, target)
    try:
        return jax.devices(platform)[0]
    except RuntimeError as error:
        help = f"tune where there is one; without it, the cost table of {target} decides"
        raise LoopsatError("no-device", f"there is no {target} device here to measure on", help=help) from error


# Measuring -----------------------------------------------------------------------------------------------------------


class _Contest(Struct, dict=True):
    """Candidates of one search, as far as they have been prepared and timed."""

    result: Result
    prices: Target
    timer: Timer
    step: Step
    expected: Reference | None = None
    targets: dict[int, Target] = field(default_factory=lambda: dict[int, Target]())  # of trials in unusual lowerings
    timed: list[int] = field(default_factory=lambda: list[int]())  # the trials that race
    sources: dict[str, int] = field(default_factory=lambda: dict[str, int]())

    def __post_init__(self) -> None:
        self.race: Race = Race([], timer=self.timer)
        settings = self.result.settings
        self.floats: Floats = settings.floats
        # names and families of forms that are switched off
        self.off: frozenset[str] = switched_off(settings.without).forms
        self.trials: list[Trial] = [Trial(rank, func, cost) for rank, (func, cost) in enumerate(self.result.variants)]

    def run(self, make: Callable[[], Inputs], repeat: int, seconds: float) -> bool:
        """Measure on the inputs that are made; false if an interrupt ended it."""
        try:
            self._prepare(make())
            deadline = time.perf_counter() + seconds
            for turn in range(repeat):
                if turn and time.perf_counter() >= deadline:
                    break
                self.race.turn()
                self.step(f"turn {turn + 1}")
        except KeyboardInterrupt:
            return False
        return True

    def _prepare(self, inputs: Inputs) -> None:
        """Compile and check candidates; those that differ in nothing that JAX sees are measured once."""
        calls: list[Call] = []
        others: list[tuple[int, Lowering]] = []
        for rank, (func, _) in enumerate(self.result.variants):
            self.step(f"compiling variant {rank + 1}")
            usual, *more = lowerings(func, self.prices, LOWERINGS, self.floats, self.off)
            same = self.sources.setdefault(usual.source, rank)
            if same != rank:
                self.trials[rank] = replace(self.trials[rank], note=f"the same JAX source as variant {same + 1}")
                continue
            others += [(rank, lowering) for lowering in more]
            calls.append(self._call(rank, self.prices, inputs))
        for rank, lowering in others:
            index = len(self.trials)
            if self.sources.setdefault(lowering.source, index) != index:
                continue
            if index == len(self.result.variants) + CANDIDATES:
                break
            first = self.trials[rank]
            self.trials.append(Trial(rank, first.func, first.cost, None, "", lowering.name, lowering.differs))
            self.targets[index] = lowering.target
            calls.append(self._call(index, lowering.target, inputs))
        self.race = Race(calls, timer=self.timer)

    def _call(self, index: int, prices: Target, inputs: Inputs) -> Call:
        """A candidate that computes what it should, ready to be timed."""
        func = self.trials[index].func
        kernel = compile(func, prices, pallas=False, floats=self.floats, without=self.off)  # lowerings are XLA's forms
        call = kernel_call(f"variant {index + 1}", kernel, inputs)
        self._check(kernel, inputs)
        self.timer(call)  # what JAX has compiled so far may be for other arguments
        self.timed.append(index)
        return call

    def _check(self, kernel: Kernel, inputs: Inputs) -> None:
        """Refuse a candidate that does not compute what the source program does.

        Raises:
            LoopsatError: it does not.
        """
        source = self.result.source
        if self.expected is None:
            self.expected = reference(source, inputs)
        if self.expected is None:  # `outcome` says so
            return
        found = kernel_results(kernel, inputs)
        insist(compare(source, self.expected, found, inputs))

    def outcome(self, complete: bool, notes: list[str]) -> Tuned:
        """The choice by what has been measured; without measurements, the cheapest."""
        times = dict(zip(self.timed, self.race.timings(), strict=False))
        trials = tuple(replace(trial, timing=times.get(k)) for k, trial in enumerate(self.trials))
        chosen = fastest(trials)
        measured = any(t.timing is not None for t in trials)
        more = [] if measured else ["nothing was measured: the choice is the cheapest by cost"]
        if self.timed and self.expected is None:
            more.append("results were not compared: as written, the program runs too long on these inputs")
        prices = self.targets.get(chosen, self.prices)
        return Tuned(trials[chosen].func, chosen, trials, prices, "", complete, (*notes, *more))


def fastest(trials: tuple[Trial, ...]) -> int:
    """The first among those whose times cannot be told from the shortest; 0 if none has a time."""
    timings = {k: t.timing for k, t in enumerate(trials) if t.timing is not None}
    if not timings:
        return 0
    limit = min(t.median for t in timings.values()) * (1 + NOISE)
    return min(index for index, timing in timings.items() if timing.low <= limit)


# Remembering ---------------------------------------------------------------------------------------------------------


class _Place(Struct, frozen=True):
    """Where a choice is kept, and for what it holds."""

    name: str
    key: dict[str, str]

    @staticmethod
    def of(result: Result, prices: Target, sizes: Mapping[str, int], off: frozenset[str]) -> _Place:
        environment = cache.environment()
        device = _device(prices.name)
        key = {
            "program": cache.digest(to_script(result.source)),
            "candidates": cache.digest(*(to_script(func) for func, _ in result.variants)),
            "target": prices.name,
            "prices": cache.digest(repr(prices)),
            "sizes": json.dumps(dict(sizes), sort_keys=True),
            "floats": str(result.settings.floats.value),
            "without": ", ".join(sorted(off)),
            "device": f"{device.platform}: {device.device_kind}",
            "machine": environment["machine"],
        }
        return _Place(f"tuned/{cache.digest(*key.values())}.json", {**key, **environment})


def _to_json(tuned: Tuned, floats: Floats, off: frozenset[str]) -> dict[str, Any]:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    trials = [
        {
            "rank": trial.rank,
            "lowering": trial.lowering,
            "differs": list(trial.differs),
            "times": None if trial.timing is None else list(astuple(trial.timing)),
            "note": trial.note,
        }
        for trial in tuned.trials
    ]
    source = cache.digest(emit_function(tuned.best, target=tuned.prices, floats=floats, without=off).source)
    return {"chosen": tuned.chosen, "source": source, "when": when, "trials": trials}


def _recall(result: Result, prices: Target, value: Mapping[str, Any]) -> Tuned | None:
    """A remembered choice; None if the figures are no choice among these candidates, or its source is another now."""
    try:
        trials = tuple(_trial(result, one) for one in value["trials"])
        chosen = int(value["chosen"])
        usual = [t.rank for t in trials if not t.lowering]
        if chosen < 0 or usual != list(range(len(result.variants))):
            return None
        best = trials[chosen]
        off = switched_off(result.settings.without).forms
        lowering = lowered_as(best.func, prices, best.lowering, result.settings.floats, off)
        if lowering is None or cache.digest(lowering.source) != value["source"]:
            return None
        return Tuned(best.func, chosen, trials, lowering.target, str(value["when"]))
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def _trial(result: Result, value: Mapping[str, Any]) -> Trial:
    rank = int(value["rank"])
    func, cost = result.variants[rank]
    timing = None if value["times"] is None else _timing(value["times"])
    differs = tuple(map(str, value["differs"]))
    return Trial(rank, func, cost, timing, str(value["note"]), str(value["lowering"]), differs)


def _timing(values: Any) -> Timing:
    median, low, high, runs = values
    return Timing(float(median), float(low), float(high), int(runs))
