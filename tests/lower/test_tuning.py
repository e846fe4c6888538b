"""Choices by measured times that are made up, and what is remembered of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache as cache_of_calls
from pathlib import Path

import jax
import pytest
from msgspec.structs import replace

from egraph_rules import Floats, Result, optimize
from egraph_rules.cost.target import CPU, Target
from ir import parse
from ir.errors import LoopsatError
from ir.nodes import PrimFunc
from ir.printing.printer import to_script
from lower.commands.cli import main
from lower.runtime import cache
from lower.runtime.kernel import compile
from lower.tune import tuning
from lower.tune.lowerings import DECISIONS, Lowering, lowered_as, lowerings, targets
from lower.tune.measure import Call, Timing
from lower.tune.tuning import Trial, Tuned, count_steps, fastest, needed_sizes, tune
from profiles import some

ROOT = Path(__file__).parent.parent.parent
SMALL = ROOT / "examples" / "padded_row_sum_small.py"
MODULE = ROOT / "examples" / "module_producer_consumer.py"

DOUBLE = """
@T.prim_func
def double(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for i in T.serial(n):
        A[i] = A[i] * 2.0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module", autouse=True)
def emitted_once() -> Iterator[None]:
    """Most tests tune the same programs: their lowerings, which take most of the time, are written once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "lowerings", cache_of_calls(lowerings))
        yield


@pytest.fixture(scope="module")
def result() -> Result:
    found = optimize(parse(SMALL.read_text())["row_sum"], k=3)
    assert len(found.variants) >= 2
    return found


def takes(*milliseconds: float) -> Callable[[Call], float]:
    """A timer by which the variants take these times, whatever they do."""
    return lambda call: milliseconds[int(call.name.split()[-1]) - 1] / 1e3


def never(call: Call) -> float:
    raise AssertionError(f"{call.name} was measured")


def named(func: PrimFunc, name: str) -> PrimFunc:
    return replace(func, name=name)


# Lowerings -----------------------------------------------------------------------------------------------------------

RUNNING = """
@T.prim_func
def running(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32")):
    B[0] = A[0]
    for i in T.serial(299):
        B[i + 1] = B[i] + A[i + 1]
"""
PRODUCT = """
@T.prim_func
def product(A: T.Buffer((3, 4), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((3,), "float32")):
    for i in T.serial(3):
        C[i] = 0.0
        for k in T.serial(4):
            C[i] = C[i] + A[i, k] * B[k]
"""


def test_lowerings_are_what_other_prices_lead_to() -> None:
    usual, *others = lowerings(parse(RUNNING).funcs[0], CPU, 9)
    assert (usual.name, usual.target, usual.differs) == ("", CPU, ())
    assert "fori_loop" not in usual.source
    (loop,) = [one for one in others if "fori_loop" in one.source]
    assert loop.name in dict(targets(CPU))
    assert any("stays a loop" in line for line in loop.differs)
    (dear,) = lowerings(parse(PRODUCT).funcs[0], CPU, 9)[1:]
    assert dear.name == "products dear"
    assert "add reduction over k" in " ".join(dear.differs)
    assert lowerings(parse(PRODUCT).funcs[0], CPU, 1) == lowerings(parse(PRODUCT).funcs[0], CPU, 9)[:1]


def test_each_lowering_scales_prices_of_one_decision() -> None:
    for name, prices in targets(CPU):
        changed = {f for f in CPU.__slots__ if getattr(prices, f) != getattr(CPU, f)}
        what, _, how = name.rpartition(" ")
        assert changed == set(DECISIONS[what])
        assert all((getattr(prices, f) > getattr(CPU, f)) == (how == "dear") for f in changed)


def test_a_faster_lowering_is_chosen_and_remembered(folder: Path) -> None:
    found = optimize(parse(PRODUCT).funcs[0])
    tuned = tune(found, repeat=1, timer=takes(2.0, 1.0))
    assert (tuned.chosen, tuned.rank, tuned.trials[1].lowering) == (1, 0, "products dear")
    assert "variant 2 of 2, variant 1 lowered with products dear" in tuned.summary()
    assert "einsum" in compile(tuned.best).source
    assert "einsum" not in compile(tuned.best, tuned.prices).source
    again = tune(found, timer=never)
    assert (again.chosen, again.prices, again.trials) == (1, tuned.prices, tuned.trials)
    assert again.remembered
    slower = tune(found, repeat=1, timer=takes(1.0, 2.0), remember=False)
    assert (slower.chosen, slower.prices) == (0, CPU)


def test_a_choice_holds_for_the_prices_it_was_made_under() -> None:
    found = optimize(parse(PRODUCT).funcs[0])
    assert tune(found, repeat=1, timer=takes(2.0, 1.0)).chosen == 1
    assert not tune(found, replace(CPU, scan=5.0), repeat=1, timer=takes(2.0, 1.0)).remembered
    assert tune(found, replace(CPU, scan=5.0), timer=never).remembered


def test_a_lowering_that_changed_since_is_measured_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    found = optimize(parse(PRODUCT).funcs[0])
    assert tune(found, repeat=1, timer=takes(2.0, 1.0)).chosen == 1

    def another(func: PrimFunc, target: Target, name: str) -> Lowering | None:
        known = lowered_as(func, target, name)
        return None if known is None else replace(known, source=known.source + "#")

    monkeypatch.setattr("lower.tune.tuning.lowered_as", another)
    assert not tune(found, repeat=1, timer=takes(2.0, 1.0)).remembered


def test_optimize_prints_what_a_lowering_differs_in(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(result: Result, target: str, **options: object) -> Tuned:
        return tune(result, target, repeat=1, timer=takes(2.0, 1.0, 2.0, 2.0, 2.0))

    script = tmp_path / "product.py"
    script.write_text(PRODUCT)
    monkeypatch.setattr("lower.commands.optimize.tune", chosen)
    assert main(["optimize", str(script), "--tune", "--variants", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "variant 2: variant 1 lowered with products dear, 1.000 ms update of C" in out
    assert "jnp.sum(" in out
    assert main(["optimize", str(script), "--tune", "--variants", "1", "--emit", "jax"]) == 0
    captured = capsys.readouterr()
    assert "einsum" not in captured.out
    assert "lowered with products dear" in captured.err


# The choice ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "chosen"), some([((3.0, 1.0, 2.0), 1), ((1.0, 3.0, 2.0), 0), ((1.01, 1.0, 1.0), 0)], 1)
)
def test_the_fastest_is_chosen(result: Result, times: tuple[float, ...], chosen: int) -> None:
    tuned = tune(result, repeat=2, timer=takes(*times))
    assert tuned.chosen == chosen
    assert tuned.best is result.variants[chosen][0]
    assert tuned.complete
    measured = [t.timing.median for t in tuned.trials if t.timing is not None]
    assert measured == [t / 1e3 for t, trial in zip(times, tuned.trials, strict=False) if trial.timing is not None]


def trial(rank: int, low: float, median: float) -> Trial:
    return Trial(rank, parse(DOUBLE).funcs[0], 1.0, Timing(median, low, 2 * median, 9))


def test_times_that_cannot_be_told_apart_leave_the_cheaper() -> None:
    assert fastest((trial(0, 1.0, 1.4), trial(1, 0.9, 1.0))) == 0  # its better runs are as fast
    assert fastest((trial(0, 1.3, 1.4), trial(1, 0.9, 1.0))) == 1
    assert fastest((Trial(0, parse(DOUBLE).funcs[0], 1.0), trial(1, 0.9, 1.0))) == 1
    assert fastest((Trial(0, parse(DOUBLE).funcs[0], 1.0),)) == 0


def test_steps_are_reported(result: Result) -> None:
    steps: list[str] = []
    tune(result, repeat=2, timer=takes(1, 2, 3), step=steps.append)
    assert len(steps) == count_steps(result, 2)


def test_programs_that_jax_cannot_tell_apart_are_measured_once(result: Result) -> None:
    best, cost = result.variants[0]
    twice = replace(result, variants=[(best, cost), (best, cost)])
    tuned = tune(twice, repeat=1, timer=takes(1.0))
    assert tuned.trials[1].timing is None
    assert "same JAX source as variant 1" in tuned.trials[1].note


def test_a_candidate_that_computes_something_else_is_refused(result: Result) -> None:
    wrong = parse(to_script(result.best).replace("B[i] = 0.0", "B[i] = 1.0")).funcs[0]
    with pytest.raises(LoopsatError, match="B: differs"):
        tune(replace(result, variants=[(result.best, 1.0), (wrong, 2.0)]), timer=takes(1.0, 0.5))


@pytest.mark.skipif(any(d.platform == "tpu" for d in jax.devices()), reason="there is a TPU to measure on")
def test_targets_without_a_device_are_not_tuned(result: Result) -> None:
    with pytest.raises(LoopsatError, match="no tpu device here"):
        tune(result, "tpu", timer=never)


def test_symbolic_sizes_need_values() -> None:
    found = optimize(parse(DOUBLE).funcs[0], k=2)
    assert needed_sizes(found.source) == ["n"]
    with pytest.raises(LoopsatError, match="needs values for n"):
        tune(found, timer=never)
    assert tune(found, sizes={"n": 5}, repeat=1, timer=takes(1.0, 2.0)).trials[0].timing is not None


def test_sizes_of_loops_need_values_too() -> None:
    text = """
@T.prim_func
def fill(n: T.int32, x: T.int32, A: T.Buffer((64,), "int32")):
    T.assume(0 <= n and n <= 64)
    for i in T.serial(n):
        A[i] = x
"""
    assert needed_sizes(parse(text).funcs[0]) == ["n"]


# What is remembered --------------------------------------------------------------------------------------------------


def test_a_choice_is_remembered(result: Result) -> None:
    first = tune(result, repeat=2, timer=takes(3.0, 1.0, 2.0))
    again = tune(result, repeat=2, timer=never)
    assert (again.chosen, again.best, again.trials) == (first.chosen, first.best, first.trials)
    assert again.remembered
    assert "remembered from" in again.summary()


def test_nothing_is_remembered_where_that_is_not_wanted(result: Result, folder: Path) -> None:
    tune(result, repeat=1, remember=False, timer=takes(3.0, 1.0, 2.0))
    assert not (folder / "tuned").exists()


def test_a_choice_holds_for_what_was_measured() -> None:
    found = optimize(parse(DOUBLE).funcs[0], k=2)
    tune(found, sizes={"n": 5}, repeat=1, timer=takes(1.0, 2.0))
    assert tune(found, sizes={"n": 5}, repeat=1, timer=never).remembered
    other = replace(found, source=named(found.source, "other"))
    more = replace(found, variants=[*found.variants, (named(found.best, "more"), 9.0)])
    strict = replace(found, settings=replace(found.settings, floats=Floats.STRICT))
    assert not tune(found, sizes={"n": 6}, repeat=1, timer=takes(1.0, 2.0)).remembered
    assert not tune(strict, sizes={"n": 5}, repeat=1, timer=takes(1.0, 2.0)).remembered
    assert not tune(other, sizes={"n": 5}, repeat=1, timer=takes(1.0, 2.0)).remembered
    assert not tune(more, sizes={"n": 5}, repeat=1, timer=takes(1.0, 2.0, 3.0)).remembered


def remembered_file(folder: Path) -> Path:
    (path,) = (folder / "tuned").iterdir()
    return path


@pytest.mark.fuzz
def test_spoiled_files_are_measured_anew(result: Result, folder: Path) -> None:
    tune(result, repeat=1, timer=takes(3.0, 1.0, 2.0))
    path = remembered_file(folder)
    whole = path.read_text()
    for text in (whole[: len(whole) // 2], "[]", whole.replace('"chosen": 1', '"chosen": 0')):
        path.write_text(text)
        again = tune(result, repeat=1, timer=takes(3.0, 1.0, 2.0))
        assert (again.chosen, again.remembered) == (1, "")
        assert "is ignored" in again.notes[0]
        assert path.read_text() == whole


@pytest.mark.parametrize(
    "value",
    some([{"chosen": 7}, {"chosen": -1}, {"chosen": "x"}, {"trials": []}, {"trials": [1, 2, 3]}, {"source": ""}], 1),
)
def test_choices_that_are_none_are_measured_anew(result: Result, folder: Path, value: dict[str, object]) -> None:
    tune(result, repeat=1, timer=takes(3.0, 1.0, 2.0))
    content = json.loads(remembered_file(folder).read_text())
    assert cache.write(f"tuned/{remembered_file(folder).name}", content["key"], {**content["value"], **value}) == ""
    again = tune(result, repeat=1, timer=takes(1.0, 2.0, 3.0))
    assert (again.chosen, again.remembered) == (0, "")


@pytest.mark.fuzz
def test_another_version_of_jax_measures_anew(result: Result, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(result, repeat=1, timer=takes(3.0, 1.0, 2.0))
    here = cache.environment()
    monkeypatch.setattr(cache, "environment", lambda: {**here, "jax": "0.0.1"})
    again = tune(result, repeat=1, timer=takes(1.0, 2.0, 3.0))
    assert (again.chosen, again.remembered) == (0, "")
    assert "jax is 0.0.1" in again.notes[0]
    assert len(list((folder / "tuned").iterdir())) == 1  # in place of what no longer holds


def test_a_cache_that_cannot_be_written_is_a_note(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path / "file"))
    tuned = tune(result, repeat=1, timer=takes(3.0, 1.0, 2.0))
    assert tuned.chosen == 1
    assert "nothing is kept" in tuned.notes[0]


WRITER = """
import sys
from lower.runtime import cache
me, others = sys.argv[1], sys.argv[2].split()
for turn in range(150):
    value = {"by": me, "turn": turn, "rest": me * 5000}
    assert cache.write("tuned/shared.json", {"k": "v"}, value) == ""
    found = cache.read("tuned/shared.json", {"k": "v"})
    assert found.note == "", found.note
    assert found.value is not None and found.value["rest"] == found.value["by"] * 5000
    assert found.value["by"] in others
assert "jax" not in sys.modules
"""


def test_processes_share_a_file(folder: Path) -> None:
    names = ["a", "b", "c", "d"]
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, " ".join(names)], cwd=ROOT, stderr=subprocess.PIPE)
        for name in names
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
    assert [p.name for p in (folder / "tuned").iterdir()] == ["shared.json"]


def test_an_interrupted_write_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    assert cache.write("one.json", {}, {"x": 1}) == ""
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cache.write("one.json", {}, {"x": 2})
    assert cache.read("one.json", {}).value == {"x": 1}
    assert [p.name for p in folder.iterdir()] == ["one.json"]


# Interrupts ----------------------------------------------------------------------------------------------------------


def interrupted_after(count: int, timer: Callable[[Call], float]) -> Callable[[Call], float]:
    left = iter(range(count))

    def one(call: Call) -> float:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return timer(call)

    return one


def test_an_interrupt_gives_the_best_so_far(result: Result, folder: Path) -> None:
    count = len({t.rank for t in tune(result, repeat=1, remember=False, timer=takes(3, 1, 2)).trials if t.timing})
    runs = count + 5 * count + 2  # each runs once, then a turn, then two runs more
    tuned = tune(result, repeat=9, timer=interrupted_after(runs, takes(3.0, 1.0, 2.0)))
    assert (tuned.chosen, tuned.complete) == (1, False)
    assert tuned.summary().startswith("interrupted: the best so far is variant 2")
    assert not (folder / "tuned").exists()  # half a measurement is not remembered


def test_an_interrupt_before_anything_was_measured_leaves_the_cheapest(result: Result) -> None:
    tuned = tune(result, timer=interrupted_after(0, never))
    assert (tuned.chosen, tuned.complete, tuned.best) == (0, False, result.best)
    assert any("nothing was measured" in note for note in tuned.notes)


# Commands ------------------------------------------------------------------------------------------------------------


def test_optimize_tunes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(SMALL), "--tune"]) == 0
    out = capsys.readouterr().out
    for part in (
        "== tuning",
        "the fastest is variant",
        "variant 2: cost",
        "as written",
        "of the limit",
        "times as fast",
    ):
        assert part in out, f"{part!r} is missing in\n{out}"
    assert main(["optimize", str(SMALL), "--tune", "--emit", "ir"]) == 0
    captured = capsys.readouterr()
    assert "remembered from" in captured.err
    assert captured.out.startswith("from ir import")


def test_an_interrupted_command_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(result: Result, *_: object, **__: object) -> Tuned:
        return Tuned(
            result.best, 0, (Trial(0, result.best, 1.0),), CPU, complete=False, notes=("nothing was measured",)
        )

    monkeypatch.setattr("lower.commands.optimize.tune", interrupted)
    assert main(["optimize", str(SMALL), "--tune"]) == 0
    out = capsys.readouterr().out
    assert "interrupted: the best so far is variant 1" in out
    assert "time on this machine" not in out


def test_options_that_exclude_each_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["optimize", str(SMALL), "--tune", "--no-run"]) == 2
    assert "error[options]" in capsys.readouterr().err
    path = tmp_path / "double.py"
    path.write_text(f"from ir import script as T\n{DOUBLE}")
    assert main(["optimize", str(path), "--tune"]) == 2
    assert "--sizes n=" in capsys.readouterr().err
    assert main(["optimize", str(path), "--tune", "--sizes", "n=40", "--emit", "ir"]) == 0
    assert "(40,)" in capsys.readouterr().out


def test_bench_times_each_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(MODULE)]) == 0
    out = capsys.readouterr().out
    assert out.count("times as fast\n") == 2
    for part in ("kernel producer", "kernel consumer", "as written", "cheapest", "XLA compile ms", "equal"):
        assert part in out, f"{part!r} is missing in\n{out}"
    assert main(["bench", f"{MODULE}:consumer"]) == 0
    assert "kernel producer" not in capsys.readouterr().out
