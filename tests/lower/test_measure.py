"""Turns, quartiles and profiles; time itself is faked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import jax
import jax.monitoring
import numpy as np
import pytest

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import CPU
from ir import parse, specialize
from ir.semantics.inputs import random_inputs
from lower import compile
from lower.runtime.calibration import Calibration, Machine, keep
from lower.tune.measure import (
    DOUBTS,
    SLOW,
    VERY_SLOW,
    Call,
    Form,
    Race,
    Timing,
    cost_for,
    medians,
    profile,
    profiles,
    race,
    sizes_of,
)

ADD = """
@T.prim_func
def add(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    for i, j in T.grid(64, 32):
        B[i, j] = A[i, j] + 1.0
"""
SYMBOLIC = """
@T.prim_func
def double(a: T.handle, n: T.int32):
    m = T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    for i, j in T.grid(m, n):
        A[i, j] = A[i, j] * 2.0
"""
MACHINE = Machine(((1 << 20, 2e9), (1 << 30, 1e9)), flops=1e12, call=5e-6, step=3e-9)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path / "cache"))


def timer(seconds: dict[str, Iterator[float]]) -> Callable[[Call], float]:
    """A timer that runs nothing and tells what is next for each call."""
    return lambda call: next(seconds[call.name])


def always(value: float) -> Iterator[float]:
    while True:
        yield value


def calls(*names: str) -> list[Call]:
    return [Call(name, lambda: None) for name in names]


def test_first_runs_of_a_turn_do_not_count() -> None:
    contest = Race(calls("a"), runs=5, counted=3, timer=timer({"a": iter([0.009, 0.008, 0.001, 0.002, 0.003])}))
    contest.turn()
    assert contest.turns == [[[0.001, 0.002, 0.003]]]
    assert contest.timings() == [Timing(0.002, 0.0015, 0.0025, 3)]


def test_calls_take_turns() -> None:
    order: list[str] = []

    def record(call: Call) -> float:
        order.append(call.name)
        return 0.001

    contest = Race(calls("a", "b"), runs=2, counted=1, timer=record)
    contest.turn()
    contest.turn()
    assert order == ["a", "a", "b", "b"] * 2


def test_slow_calls_run_once_a_turn_and_hopeless_ones_in_few() -> None:
    ran: list[str] = []

    def record(call: Call) -> float:
        ran.append(call.name)
        return {"fast": 0.001, "slow": 2 * SLOW, "slower": 2 * VERY_SLOW, "near": 0.9 * SLOW}[call.name]

    contest = Race(calls("fast", "slow", "slower", "near"), timer=record)
    for _ in range(DOUBTS + 2):
        contest.turn()
    assert [ran.count(name) for name in ("fast", "slow", "slower", "near")] == [5 * 5, DOUBTS, 1, 5 * 5]


def test_a_call_that_is_disturbed_stays_in_the_race() -> None:
    times = {"a": always(0.001), "b": chain([3 * SLOW], always(0.001))}
    contest = Race(calls("a", "b"), timer=timer(times))
    contest.turn()
    contest.turn()
    assert [len(turn) for turn in contest.turns[1]] == [1, 3]
    assert [t.median for t in contest.timings() if t is not None] == [0.001, 0.001]


def test_an_interrupted_turn_keeps_what_was_sampled() -> None:
    def interrupted() -> Iterator[float]:
        yield from [0.001] * 5
        raise KeyboardInterrupt

    contest = Race(calls("a", "b"), timer=timer({"a": always(0.002), "b": interrupted()}))
    contest.turn()
    with pytest.raises(KeyboardInterrupt):
        contest.turn()
    assert [t.median for t in contest.timings() if t is not None] == [0.002, 0.001]


def test_a_race_ends_in_time_but_not_before_the_least() -> None:
    now = iter(range(1000))
    both = {"a": always(0.001)}
    assert race(calls("a"), seconds=4, timer=timer(both), clock=lambda: next(now))[0].runs == 3 * 4
    assert race(calls("a"), seconds=0, least=2, timer=timer(both), clock=lambda: 0.0)[0].runs == 3 * 2
    assert race(calls("a"), seconds=9, most=5, timer=timer(both), clock=lambda: 0.0)[0].runs == 3 * 5


def test_medians_run_each_call() -> None:
    ran: list[int] = []
    found = medians({"a": lambda: ran.append(1), "b": lambda: ran.append(2)}, turns=2)
    assert set(found) == {"a", "b"}
    assert all(seconds >= 0 for seconds in found.values())
    assert ran.count(1) == ran.count(2) == 1 + 2 * 12


def test_profile_counts_bytes_and_operations() -> None:
    func = parse(ADD).funcs[0]
    inputs = random_inputs(func, np.random.default_rng(0))
    found = profile(func, inputs, timer=timer({"add": always(0.004)}))
    size = 64 * 32 * 4
    assert found.name == "add"
    assert found.time == Timing(0.004, 0.004, 0.004, found.time.runs)
    assert found.traffic in (2 * size, 3 * size)  # XLA may drop the argument that it overwrites
    assert found.temporaries == 0
    assert found.flops == 64 * 32
    assert found.bytes_moved == 2 * size
    assert found.cost == Prices(CPU).program(func.body)
    assert found.compile_seconds > 0
    assert (found.predicted, found.roofline) == (None, None)


def test_profile_compares_with_the_limits_of_a_calibrated_machine() -> None:
    func = parse(ADD).funcs[0]
    inputs = random_inputs(func, np.random.default_rng(0))
    assert keep(Calibration(CPU, 2e-10, MACHINE, "2020-01-02")) == ""
    found = profile(compile(func), inputs, timer=timer({"add": always(0.004)}))
    assert found.traffic is not None
    assert found.roofline == pytest.approx(found.traffic / 2e9 / 0.004)
    assert found.predicted == pytest.approx(5e-6 + 2e-10 * found.cost)


def test_the_roofline_is_memory_or_arithmetic() -> None:
    assert MACHINE.least_seconds(1 << 20, 0) == (1 << 20) / 2e9
    assert MACHINE.least_seconds(1 << 24, 0) == (1 << 24) / 1e9
    assert MACHINE.least_seconds(1 << 40, 0) == (1 << 40) / 1e9  # beyond what was measured
    assert MACHINE.least_seconds(8, 2e12) == 2.0


def test_costs_are_for_the_sizes_of_the_inputs() -> None:
    func = parse(SYMBOLIC).funcs[0]
    inputs = random_inputs(func, np.random.default_rng(0), {"n": 7, "m": 5})
    assert sizes_of(func, inputs) == {"n": 7, "m": 5}
    fixed = specialize(func, {"n": 7, "m": 5})
    assert cost_for(func, inputs, CPU) == Prices(CPU).program(fixed.body)
    assert profile(func, inputs, timer=timer({"double": always(0.1)})).cost == Prices(CPU).program(fixed.body)


def test_profiles_keep_forms_apart() -> None:
    func = parse(ADD).funcs[0]
    inputs = random_inputs(func, np.random.default_rng(0))
    forms = [Form(name, func, compile(func)) for name in ("one", "two")]
    found = profiles(forms, inputs, timer=timer({"one": always(0.003), "two": always(0.001)}))
    assert [(one.name, one.time.median) for one in found] == [("one", 0.003), ("two", 0.001)]


def test_wide_types_run_in_their_own_configuration() -> None:
    text = ADD.replace("float32", "float64")
    func = parse(text).funcs[0]
    inputs = random_inputs(func, np.random.default_rng(0))
    found = profile(func, inputs, seconds=0.0)
    assert found.bytes_moved == 2 * 64 * 32 * 8
    assert found.time.runs == 3


def test_a_kernel_that_ran_before_is_compiled_anew() -> None:
    compiled: list[str] = []

    def listen(event: str, duration: float, **_: object) -> None:
        compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    func = parse(ADD).funcs[0]
    inputs = random_inputs(func, np.random.default_rng(0))
    kernel = compile(func)
    try:
        for _ in range(2):
            compiled.clear()
            profile(kernel, inputs, timer=timer({"add": always(0.001)}))
            assert any("backend_compile" in event for event in compiled)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
