"""Programs kept on disk: later processes search and plan nothing; damage, other versions and neighbours do no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest
from msgspec.structs import replace

import loopsat
from egraph_rules.engine.phases import DEFAULT_BUDGET
from ir import PrimFunc, parse
from lower.commands.cli import main
from lower.runtime import kept, platforms, searched
from lower.runtime.specialization import Options, built
from profiles import some

SCRIPT = """
import sys
import numpy as np
import loopsat

@loopsat.jit
def row_maxima(A):
    best = np.full(len(A), -np.inf, A.dtype)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            best[i] = max(best[i], A[i, j])
    return best

print(row_maxima(np.arange(12, dtype=np.float32).reshape(3, 4)).tolist())
print(sorted({"hypothesis", "z3", "lower.emission.function", "egraph_rules.optimization"} & set(sys.modules)))
"""
TEXT = """
@T.prim_func
def total(A: T.Buffer((4, 4), "float32"), B: T.Buffer((1,), "float32")):
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or A[i, j] == 0.0)
    B[0] = 0.0
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            B[0] = B[0] + A[i, j]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path))
    (tmp_path / kept.COMPILED).touch()  # a file in place of the folder: JAX's own cache stays off in this process
    return tmp_path / kept.FOLDER


@pytest.fixture
def func() -> PrimFunc:
    return parse(TEXT)["total"]


def only(folder: Path, kind: str) -> Path:
    (path,) = (p for p in folder.iterdir() if p.name.startswith(kind))
    return path


def test_a_second_process_searches_and_plans_nothing(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "LOOPSAT_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "script.py")]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()
        for _ in range(2)
    )
    assert first == ["[3.0, 7.0, 11.0]", "['egraph_rules.optimization', 'lower.emission.function']"]
    assert second == ["[3.0, 7.0, 11.0]", "[]"]


def test_importing_waits_for_nothing_that_is_not_used() -> None:
    late = ("jax", "egglog", "z3", "hypothesis", "rich", "pygments")
    code = f"import sys, loopsat\nloopsat.parse, loopsat.T.grid\nprint([m for m in {late} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_what_was_searched_is_found_again(folder: Path, func: PrimFunc) -> None:
    first, second = loopsat.optimize(func), loopsat.optimize(parse(TEXT)["total"])
    assert not first.report.recalled
    assert second.report.recalled
    assert second.best == first.best
    assert second.best.origin == first.best.origin
    assert [d.rule for d in second.report.decisions] == [d.rule for d in first.report.decisions]
    assert [r.name for r in second.settings.rules] == [r.name for r in first.settings.rules]
    assert [s.rule for s in second.derivation()] == [s.rule for s in first.derivation()]
    assert second.why_not("overcompute") == first.why_not("overcompute")


def test_decisions_are_worked_out_when_somebody_asks(
    folder: Path, func: PrimFunc, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("egraph_rules.optimization.derive", None)
        loopsat.optimize(func)
    recalled = loopsat.optimize(func).report
    assert recalled.recalled
    rules = [d.rule for d in recalled.decisions]
    assert "overcompute.then" in rules
    monkeypatch.setattr("egraph_rules.optimization.derive", None)  # they are kept from then on
    assert [d.rule for d in loopsat.optimize(func).report.decisions] == rules


def test_what_was_planned_is_found_again(folder: Path, func: PrimFunc, monkeypatch: pytest.MonkeyPatch) -> None:
    best = loopsat.optimize(func).best
    first = loopsat.compile(best)
    monkeypatch.setattr("lower.emission.function.emit_function", None)
    second = loopsat.compile(best)
    assert (second.source, second.report, second.assumptions) == (first.source, first.report, first.assumptions)
    A = np.ones((4, 4), "float32")
    assert np.array_equal(second(A)[0], first(A)[0])


@pytest.mark.parametrize(
    "options",
    some([{"target": "gpu"}, {"floats": "strict"}, {"k": 2}, {"without": ["overcompute"]}, {"whole": None}], 0.4),
)
def test_another_question_has_another_answer(folder: Path, func: PrimFunc, options: dict[str, object]) -> None:
    loopsat.optimize(func)
    assert not loopsat.optimize(func, **options).report.recalled  # pyright: ignore[reportArgumentType]


def test_another_text_place_or_version_has_another_key(func: PrimFunc, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {kept.key_of("x", func)}
    keys.add(kept.key_of("x", parse("\n" + TEXT)["total"]))  # messages name lines
    keys.add(kept.key_of("x", parse(TEXT.replace("14:", "15:"))["total"]))
    keys.add(kept.key_of("y", func))
    keys.add(kept.key_of("x", func, "more"))
    keys.add(kept.key_of("x", replace(func, body=func.body).refines(parse(TEXT.replace("14:", "13:"))["total"])))
    monkeypatch.setattr(kept, "versions", lambda: ("another",))
    keys.add(kept.key_of("x", func))
    assert len(keys) == 7
    assert kept.key_of("x", func) == kept.key_of("x", parse(TEXT)["total"])


def test_limits_of_time_and_rules_of_users_are_not_kept(folder: Path, func: PrimFunc) -> None:
    for _ in range(2):
        hurried = loopsat.optimize(func, budget=replace(DEFAULT_BUDGET, seconds=100))
        assert not hurried.report.recalled
        assert not loopsat.optimize(func, rules=()).report.recalled
        assert not loopsat.optimize(func, whole=lambda _: 1.0).report.recalled
    assert not folder.exists()


def test_registered_rules_are_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept.repeatable(None)
    monkeypatch.setattr("egraph_rules.rules.registry._registered", {"mine": object()})
    assert not kept.repeatable(None)


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "garbage"])
def test_damage_counts_as_missing(folder: Path, damage: str) -> None:
    kept.keep("a", [1, 2, 3])
    assert kept.recall("a") == [1, 2, 3]
    path = only(folder, "a")
    data = path.read_bytes()
    changed = {"truncated": data[:-3], "changed": data[:-1] + b"?", "empty": b"", "garbage": b"\0" * 99}
    path.write_bytes(changed[damage])
    assert kept.recall("a") is None
    kept.keep("a", [4])
    assert kept.recall("a") == [4]


def test_files_of_others_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.keep("a", 1)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert kept.recall("a") is None


def test_a_folder_that_cannot_be_is_no_error(tmp_path: Path, func: PrimFunc, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / kept.FOLDER).touch()
    for where in (str(tmp_path), "off"):
        monkeypatch.setenv("LOOPSAT_CACHE", where)
        kept.keep("a", 1)
        assert kept.recall("a") is None
    assert loopsat.optimize(func).best != func


def test_the_oldest_goes_first(folder: Path) -> None:
    for k in range(6):
        kept.keep(str(k), bytes(1000))
        os.utime(folder / str(k), (k, k))
    kept.recall("0")  # it was of use just now
    kept.limit(kept.FOLDER, 5000)
    assert {p.name for p in folder.iterdir()} == {"0", "4", "5"}


def test_many_at_once(folder: Path) -> None:
    def work(k: int) -> object:
        kept.keep(str(k % 3), [k % 3] * 1000)
        kept.limit(kept.FOLDER, 2000)
        return kept.recall(str(k % 3))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(64)))
    assert all(f is None or f == [k % 3] * 1000 for k, f in enumerate(found))
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


def test_interrupted_searches_are_not_kept(folder: Path, func: PrimFunc, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = searched.search.optimize_function

    def interrupted(*args: object) -> object:
        result = inner(*args)
        result.report.interrupted = True
        return result

    monkeypatch.setattr(searched.search, "optimize_function", interrupted)
    loopsat.optimize(func)
    assert not folder.exists()


def test_recalled_kernels_of_jit_tell_what_the_search_found(folder: Path) -> None:
    func = parse(TEXT)["total"]
    options = Options("cpu", searched.floats_named(None), "fixed", False, False, None)
    first, found = built(func, "cpu", options, len(func.params))
    second, again = built(parse(TEXT)["total"], "cpu", options, len(func.params))
    assert second.source == first.source
    assert again().best == found().best
    assert again().report.recalled


def test_jax_keeps_what_it_compiles_unless_the_user_decided(tmp_path: Path) -> None:
    code = """if True:
        import jax, os, sys
        from lower.runtime.platforms import keep_compiled
        for cache, own in ((sys.argv[1], None), (sys.argv[1], "own"), ("off", None)):
            os.environ["LOOPSAT_CACHE"] = cache
            jax.config.update("jax_compilation_cache_dir", own)
            keep_compiled()
            print(jax.config.jax_compilation_cache_dir)
    """
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.split() == [str(tmp_path / kept.COMPILED), "own", "None"], done.stderr


def test_tests_switch_nothing_on() -> None:
    platforms.keep_compiled()
    assert jax.config.jax_compilation_cache_dir is None  # pyright: ignore


# The command --------------------------------------------------------------------------------------------------------


def test_the_cache_is_shown_and_cleared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept.keep("a", 1)
    (folder.parent / "calibration-cpu.json").write_text("{}")
    assert main(["cache"]) == 0
    out = capsys.readouterr().out
    assert str(folder.parent) in out
    assert "searched and planned programs" in out
    assert main(["cache", "--json"]) == 0
    kinds = {k["where"]: k for k in json.loads(capsys.readouterr().out)["kinds"]}
    assert kinds["programs/*"]["files"] == 1
    assert main(["cache", "--clear"]) == 0
    assert "removed 1 file from" in capsys.readouterr().out
    assert list(folder.iterdir()) == []
    assert (folder.parent / "calibration-cpu.json").exists()
    assert main(["cache", "--clear", "all"]) == 0
    assert not (folder.parent / "calibration-cpu.json").exists()


def test_no_cache_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LOOPSAT_CACHE", "off")
    assert main(["cache"]) == 2
    assert "LOOPSAT_CACHE is off" in capsys.readouterr().err


def test_what_jax_cannot_read_is_thrown_out_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path))
    entry = tmp_path / kept.COMPILED / "jit__f-0123-cache"
    entry.parent.mkdir()
    entry.write_text("damaged")
    with platforms.without_damage():
        warnings.warn("Error reading persistent compilation cache entry for 'jit__f': it is short", stacklevel=1)
    assert not entry.exists()
    with pytest.warns(UserWarning, match="something else"), platforms.without_damage():
        warnings.warn("something else", stacklevel=1)
