"""Prices fitted to times, their file, and the command; times are made up from known prices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from egraph_rules import optimize
from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import CPU, Target, target_named
from ir import parse
from ir.errors import LoopsatError
from ir.nodes import PrimFunc
from ir.printing.printer import to_script
from lower import compile, emit
from lower.commands.cli import main
from lower.runtime import cache
from lower.runtime.calibration import (
    FIGURES,
    Calibration,
    CalibrationWarning,
    Machine,
    calibrated,
    keep,
    price_line,
    stored,
)
from lower.tune import probes
from lower.tune.measure import Call
from lower.tune.plan_probes import plan_programs, planned_cost
from lower.tune.probes import LEAST, Measured, calibrate, count_steps, fit, programs

ROWS = 16
UNIT = 2e-10
KNOWN = replace(
    CPU, store=1.5, arith=0.125, division=1.25, special=8.0, mask=0.5, reduction_mask=7.0, reduction_slice=2.0,
    kernel=4000.0, step=30.0, scalar=15.0, contraction=0.05, launch=400.0, scan=6.0,
)  # fmt: skip
MACHINE = Machine(((1 << 20, 2e11), (1 << 26, 4e10)), flops=4e11, call=5e-6, step=3e-9)
SMALL = Path(__file__).parent.parent.parent / "examples" / "padded_row_sum_small.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def seconds(name: str, func: PrimFunc, target: Target) -> float:
    """What a program takes on a machine with these prices."""
    planned = name in plan_programs(1, 1)
    return UNIT * (planned_cost(func, target) if planned else Prices(target).program(func.body))


def times(target: Target) -> dict[str, list[float]]:
    """Times of all programs, the same in each of three turns."""
    return {name: [seconds(name, func, target)] * 3 for name, func in programs(ROWS).items()}


def figures(target: Target) -> dict[str, float]:
    return {name: getattr(target, name) for name in FIGURES}


def test_fit_finds_the_prices_that_made_the_times() -> None:
    found = fit(CPU, programs(ROWS), times(KNOWN))
    assert figures(found.target) == pytest.approx(figures(KNOWN), rel=0.01)
    assert found.unit == pytest.approx(UNIT, rel=0.01)
    assert found.hidden == ()
    assert found.target.name == "cpu"


def test_fit_is_not_led_astray_by_slow_turns() -> None:
    measured = times(KNOWN)
    slow = {name: [*runs, 40 * runs[0]] for name, runs in measured.items()}
    assert figures(fit(CPU, programs(ROWS), slow).target) == pytest.approx(figures(KNOWN), rel=0.01)


def test_what_takes_no_time_is_hidden() -> None:
    found = fit(CPU, programs(ROWS), times(replace(KNOWN, mask=-2.0)))
    assert found.hidden == ("mask",)
    assert found.target.mask == LEAST


def test_times_without_a_unit_are_refused() -> None:
    with pytest.raises(LoopsatError, match="too busy"):
        fit(CPU, programs(ROWS), {name: [0.001] for name in programs(ROWS)})


@pytest.mark.fuzz
def test_calibrate_measures_prices_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "TRAFFIC", (1 << 18, 1 << 20))
    timed = programs(ROWS)
    steps: list[str] = []

    def timer(call: Call) -> float:
        if call.name in timed:
            return seconds(call.name, timed[call.name], KNOWN)
        kind, _, traffic = call.name.rpartition(" ")
        return {"": 0.005, "in place": 1e-6, "row sums": 2e-6}[kind] * (float(traffic) if kind else 1.0)

    found = calibrate("cpu", rows=ROWS, timer=timer, step=steps.append)
    assert figures(found.calibration.target) == pytest.approx(figures(KNOWN), rel=0.01)
    machine = found.calibration.machine
    element = 2 * KNOWN.load + KNOWN.store + 3 * KNOWN.arith
    assert machine.step == pytest.approx(UNIT * (KNOWN.step + KNOWN.scalar * element))
    assert machine.flops == pytest.approx(2 * probes.SIDE**3 / 0.005)
    assert [size for size, _ in machine.bandwidth] == list(probes.TRAFFIC)
    assert machine.bandwidth[-1][1] == pytest.approx(1e6, rel=0.01)
    assert len(steps) == count_steps()
    assert all(low == pytest.approx(high, rel=0.01) for low, high in found.spread.values())


@pytest.mark.fuzz
def test_a_busy_machine_is_measured_again_and_then_refused() -> None:
    timed, steps = programs(ROWS), list[str]()

    def timer(call: Call) -> float:
        turn = sum("turn" in step for step in steps)
        return seconds(call.name, timed[call.name], KNOWN) * (1 + turn % probes.PARTS)

    with pytest.raises(LoopsatError, match="too busy"):
        calibrate("cpu", rows=ROWS, timer=timer, step=steps.append)
    assert sum("again" in step for step in steps) == (probes.TRIES - 1) * probes.TURNS


def test_the_table_stays_what_it_is() -> None:
    assert keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02")) == ""
    assert target_named("cpu") is CPU
    assert calibrated("cpu") == KNOWN


def test_kept_figures_come_back_as_they_were() -> None:
    calibration = Calibration(KNOWN, UNIT, MACHINE, "2020-01-02")
    assert keep(calibration) == ""
    found = stored("cpu")
    assert (found.calibration, found.target, found.note) == (calibration, KNOWN, "")
    assert "2020-01-02" in price_line("cpu", found.calibration)


def test_without_a_calibration_the_table_is_used_with_a_warning() -> None:
    with pytest.warns(CalibrationWarning, match="nothing was measured for cpu"):
        assert calibrated("cpu") is CPU
    assert stored("cpu").note == ""
    assert "loopsat calibrate" in price_line("cpu", None)


def spoil(folder: Path, text: str | bytes) -> None:
    path = folder / "calibration-cpu.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def resealed(folder: Path, change: str, value: object) -> str:
    """The kept file with a value changed and a digest that fits it."""
    content = json.loads((folder / "calibration-cpu.json").read_text())
    where = content["value"]
    *way, last = change.split(".")
    for name in way:
        where = where[name]
    where[last] = value
    assert cache.write("calibration-cpu.json", content["key"], content["value"]) == ""
    return (folder / "calibration-cpu.json").read_text()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "17", '{"loopsat": 1}', b"\xff\xfe\x00", "[" * 100_000, '{"loopsat": 99, "key": {}}'],
)
def test_foreign_files_are_ignored_with_a_note(text: str | bytes, folder: Path) -> None:
    assert keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02")) == ""
    spoil(folder, text)
    found = stored("cpu")
    assert (found.calibration, found.target) == (None, CPU)
    assert "is ignored" in found.note
    with pytest.warns(CalibrationWarning, match="is ignored"):
        assert calibrated("cpu") is CPU


def test_every_truncation_is_noticed(folder: Path) -> None:
    assert keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02")) == ""
    whole = (folder / "calibration-cpu.json").read_text().rstrip()
    for length in range(0, len(whole), 7):
        spoil(folder, whole[:length])
        assert stored("cpu").calibration is None, length
        assert "is ignored" in stored("cpu").note


def test_edited_files_are_ignored(folder: Path) -> None:
    assert keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02")) == ""
    whole = (folder / "calibration-cpu.json").read_text()
    spoil(folder, whole.replace("4000.0", "4.0"))
    assert "changed by something else" in stored("cpu").note
    spoil(folder, whole + " " * (cache.MAX_BYTES + 1))
    assert "no file of loopsat" in stored("cpu").note
    (folder / "calibration-cpu.json").unlink()
    (folder / "calibration-cpu.json").mkdir()
    assert "is ignored" in stored("cpu").note
    assert "nothing is kept" in keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02"))


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("prices.load", -1.0), ("prices.load", "x"), ("prices.load", float("nan")), ("prices", {}), ("unit", 0),
        ("machine.bandwidth", []), ("machine.bandwidth", [1]), ("machine.flops", None), ("machine", 3),
    ],
)  # fmt: skip
def test_figures_without_sense_are_ignored(change: str, value: object, folder: Path) -> None:
    assert keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02")) == ""
    spoil(folder, resealed(folder, change, value))
    found = stored("cpu")
    assert found.calibration is None
    assert "make no sense" in found.note


@pytest.mark.parametrize("name", ["jax", "loopsat", "machine"])
def test_other_versions_and_machines_are_ignored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02")) == ""
    here = cache.environment()
    monkeypatch.setattr(cache, "environment", lambda: {**here, name: "another"})
    found = stored("cpu")
    assert found.calibration is None
    assert f"{name} is another, was {here[name]}" in found.note


def test_where_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.setenv("LOOPSAT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "loopsat"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "loopsat"


def test_a_cache_that_cannot_be_written_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path / "file"))
    assert "nothing is kept" in keep(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02"))
    assert stored("cpu").calibration is None


def test_only_targets_with_probes_are_calibrated(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LoopsatError, match="no measurements"):
        calibrate("gpu")
    assert main(["calibrate", "--target", "tpu"]) == 2
    assert "error[not-calibrated]" in capsys.readouterr().err


def test_the_command_keeps_what_optimize_then_uses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    def measured(name: str, step: object) -> Measured:
        spread = {figure: (getattr(KNOWN, figure), 5000.0) for figure in FIGURES}
        return Measured(Calibration(KNOWN, UNIT, MACHINE, "2020-01-02"), ("mask",), {"unit": (UNIT, UNIT), **spread})

    monkeypatch.setattr("lower.commands.calibrate.calibrate", measured)
    assert main(["calibrate"]) == 0
    out = capsys.readouterr().out
    for part in ("reduction_mask", "4,000", "–5,000", "cannot be told from free", "400 GFLOP/s", str(folder)):
        assert part in out, f"{part!r} is missing in\n{out}"
    assert main(["optimize", str(SMALL), "--no-run"]) == 0
    out = capsys.readouterr().out
    assert "prices: measured on this machine on 2020-01-02" in out
    result = optimize(parse(SMALL.read_text())["row_sum"], target=KNOWN)
    assert f"cost {result.variants[0][1]:,.0f}, was {result.cost_before:,.0f}" in out
    assert main(["explain", str(SMALL)]) == 0
    assert "measured on this machine" in capsys.readouterr().out
    spoil(folder, "{")
    assert main(["optimize", str(SMALL), "--emit", "ir"]) == 0
    captured = capsys.readouterr()
    assert "is ignored" in captured.err
    assert captured.out.startswith("from ir import")


def test_programs_have_the_forms_that_they_price() -> None:
    loops = {n for n in plan_programs(1, 1) if "recurrence" in n or "a step" in n}
    for name, func in programs(ROWS).items():
        kernel = compile(func, CPU)
        assert any("stays a loop" in line for line in kernel.report) == (name in loops), f"{name}\n{kernel.source}"
        assert any("add scan" in line for line in kernel.report) == (name == "running sum")
        assert any("contraction" in line for line in kernel.report) == ("product" in name)


# Lowering ------------------------------------------------------------------------------------------------------------

RUNNING = parse(
    """
@T.prim_func
def running(A: T.Buffer((5000,), "float32"), B: T.Buffer((5000,), "float32")):
    B[0] = A[0]
    for i in T.serial(4999):
        B[i + 1] = B[i] + A[i + 1]
"""
).funcs[0]


def test_lowering_follows_the_prices_that_are_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = compile(RUNNING)
    assert "in_turn(" not in before.source
    assert not any("prices" in line for line in before.report)
    assert keep(Calibration(replace(KNOWN, scan=1e6), UNIT, MACHINE, "2020-01-02")) == ""
    for source in (compile(RUNNING).source, emit(RUNNING)):
        assert "in_turn(" in source
    assert "prices: measured on this machine on 2020-01-02" in compile(RUNNING).report
    assert compile(RUNNING, CPU).source == before.source  # prices that are given count as they are
    assert compile(RUNNING, CPU).report == before.report
    assert compile(RUNNING, "gpu").source == compile(RUNNING, target_named("gpu")).source
    script = folder.parent / "running.py"
    script.write_text(to_script(RUNNING, header=True))
    assert main(["optimize", str(script), "--emit", "jax"]) == 0
    captured = capsys.readouterr()
    assert "in_turn(" in captured.out
    assert "measured on this machine" in captured.err


@pytest.mark.parametrize("spoiled", ["corrupt", "old", "another machine"])
def test_lowering_falls_back_to_the_table_and_says_so(
    spoiled: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compile(RUNNING, CPU).source
    assert keep(Calibration(replace(KNOWN, scan=1e6), UNIT, MACHINE, "2020-01-02")) == ""
    if spoiled == "corrupt":
        spoil(folder, "{")
    elif spoiled == "old":  # made before these figures were measured
        old = {name: 1.0 for name in FIGURES if name != "scan"}
        spoil(folder, resealed(folder, "prices", old))
    else:
        here = cache.environment()
        monkeypatch.setattr(cache, "environment", lambda: {**here, "machine": "another"})
    kernel = compile(RUNNING)
    assert kernel.source == before
    (note,) = [line for line in kernel.report if "is ignored" in line]
    assert {"corrupt": "truncated", "old": "nothing on scan", "another machine": "machine is another"}[spoiled] in note
