"""Searches that must stop: time limits and Ctrl-C give the best so far, and every stop is a right one."""

from __future__ import annotations

import errno
import itertools
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import programs as texts
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from egraph_rules import Rule, optimize, rewrite
from egraph_rules.authoring.proposal import Here
from egraph_rules.engine.engine import scratch_folder
from egraph_rules.engine.patience import MATCH, Patience, listening
from egraph_rules.engine.phases import DEFAULT_BUDGET, Budget
from egraph_rules.rules import search_rules
from egraph_rules.search.erase import erase
from egraph_rules.transforms import simplify
from ir import LoopsatError, PrimFunc, parse, parse_expr
from ir.nodes import Stmt
from ir.presburger import sets as pb
from ir.program.blocks import lower_blocks
from ir.testing.programs import programs
from profiles import few, some

OVERWRITTEN = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in T.serial(4):
        B[i] = 7
        B[i] = A[i]
"""


def func_of(text: str) -> PrimFunc:
    return parse(text).funcs[0]


def interrupting(at: int, presses: int = 1) -> Rule:
    """A rule that proposes nothing, and presses Ctrl-C when it is asked for the `at`-th time."""
    times = itertools.count(1)

    @rewrite(law="s = s", because="equality is reflexive", family="mine")
    def ctrl_c(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        del stmt, here
        for _ in range(presses if next(times) == at else 0):
            signal.raise_signal(signal.SIGINT)
        yield from ()

    return ctrl_c


def test_no_time_at_all_gives_the_program_as_it_was() -> None:
    func = func_of(texts.ROW_SUM)
    result = optimize(func, budget=Budget(seconds=0.0))
    assert result.report.stopped.startswith("time budget: 0 s")
    assert result.best.body == erase(lower_blocks(func).body)
    assert result.variants[0][1] == pytest.approx(result.cost_before)


@pytest.mark.parametrize("text", [texts.CONV_PRODUCER, texts.INTERNAL_BUFFER])
def test_a_budget_of_work_gives_the_best_so_far(text: str) -> None:
    func = func_of(text)
    whole = optimize(func)
    assert 0 < whole.report.work < DEFAULT_BUDGET.work
    for share in (0.0, 0.3, 0.7):
        budget = Budget(work=int(share * whole.report.work))
        stopped = optimize(func, budget=budget)
        assert stopped.report.stopped.startswith(f"work budget: {budget.work:,} steps")
        assert stopped.variants[0][1] <= whole.cost_before + 1e-6
        assert assert_refines(func, stopped.best, np.random.default_rng(0), runs=1) > 0


def test_matches_and_steps_of_isl_are_work() -> None:
    patience = Patience(work=1000)
    assert not patience.over()
    patience.matched(1000 // MATCH)
    assert patience.over()
    assert patience.reason() == "work budget: 1,000 steps"
    patience = Patience(work=5000)
    condition = parse_expr("x % 7 < y % 5 or x // 3 > y", {"x": "int32", "y": "int32"})
    pb.within_budget(lambda: [pb.condition(condition).must.complement().coalesce() for _ in range(50)], None)
    assert patience.over()


@pytest.mark.parametrize("text", [texts.ROW_SUM, texts.CONV_PRODUCER, texts.INTERNAL_BUFFER])
@pytest.mark.parametrize("at", some([4, 1, 12], 1))
def test_ctrl_c_gives_the_best_so_far(text: str, at: int) -> None:
    func, before = func_of(text), signal.getsignal(signal.SIGINT)
    result = optimize(func, rules=(*search_rules(), interrupting(at)))
    assert result.report.stopped.startswith("interrupted after")
    assert result.variants[0][1] <= result.cost_before + 1e-6
    assert assert_refines(func, result.best, np.random.default_rng(0)) > 0
    assert signal.getsignal(signal.SIGINT) is before
    assert optimize(func).report.stopped.startswith("saturated")  # nothing is left of it


def test_no_further_program_is_priced_as_a_whole_after_ctrl_c() -> None:
    prices = itertools.count(1)

    def price(func: PrimFunc) -> float:
        del func
        signal.raise_signal(signal.SIGINT)
        return float(next(prices))

    func = func_of(OVERWRITTEN)
    result = optimize(func, whole=price)
    assert next(prices) == 2
    assert result.report.interrupted
    assert result.best == optimize(func).best  # by the prices of the search alone


def test_a_restart_is_not_begun_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    func = func_of(OVERWRITTEN)
    first = optimize(func, budget=Budget(restarts=0))
    assert optimize(func).report.searches > 1
    rounds = itertools.count(1)

    def reserve(self: Patience, rows: int) -> None:
        del self, rows
        if next(rounds) == first.report.rounds:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Patience, "reserve", reserve)
    stopped = optimize(func)
    assert stopped.report.searches == 1
    assert stopped.report.stopped == "interrupted before a restart"
    assert stopped.best == first.best  # what the first search had found is there
    assert stopped.variants[0][1] < stopped.cost_before


def test_a_second_ctrl_c_ends_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        optimize(func_of(texts.ROW_SUM), rules=(*search_rules(), interrupting(2, presses=2)))
    assert signal.getsignal(signal.SIGINT) is before
    assert optimize(func_of(texts.ROW_SUM)).report.stopped.startswith("saturated")


def test_a_full_disk_is_no_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    write, times = Path.write_text, itertools.count()

    def full(self: Path, data: str, encoding: str | None = None) -> int:
        if self.suffix == ".tsv" and next(times) >= 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, data, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(LoopsatError, match=r"(?s)No space left on device.*make room"):
        optimize(func_of(texts.ROW_SUM))
    monkeypatch.undo()
    assert optimize(func_of(texts.ROW_SUM)).report.stopped.startswith("saturated")  # the engine is as it was


def test_no_folder_for_temporary_files_is_no_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(LoopsatError, match="No space left on device"), scratch_folder():
        pass


def test_half_a_directed_step_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Patience.over
    times = itertools.count(1)

    def over(self: Patience) -> bool:
        if next(times) == 5:
            signal.raise_signal(signal.SIGINT)
        return whole(self)

    monkeypatch.setattr(Patience, "over", over)
    with pytest.raises(KeyboardInterrupt):
        simplify()(func_of(texts.ROW_SUM))


def test_ctrl_c_that_the_program_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = optimize(func_of(texts.ROW_SUM), rules=(*search_rules(), interrupting(1)))
        assert result.report.stopped.startswith("saturated")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_the_handler_alone() -> None:
    before, found = signal.getsignal(signal.SIGINT), list[object]()

    def listen() -> None:
        with listening(Patience()):
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert found == [before]


@given(programs(), st.integers(0, 400))
@few(10)
def test_wherever_a_search_stops_its_program_is_right(func: PrimFunc, left: int) -> None:
    """Time runs out at a question; what is unknown from there on must not be taken for a fact."""
    asked = itertools.count()

    def over(self: Patience) -> bool:
        del self
        return next(asked) >= left

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Patience, "over", over)
        result = optimize(func, k=2)
    for variant, _ in result.variants:
        assert_refines(func, variant, np.random.default_rng(0), runs=2)
