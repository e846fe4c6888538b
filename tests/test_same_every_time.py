"""The same script gives the same source: whatever Python's hashes are, however slow the machine, in any thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from egraph_rules import optimize
from egraph_rules.engine.phases import DEFAULT_BUDGET
from ir import specialize
from kernel_files import load
from lower import emit

ROOT = Path(__file__).parent.parent
KERNELS = ("gemm", "conv2d_padded", "blur", "softmax", "trisolv", "spmv", "jacobi_2d", "symm")


def source(name: str) -> str:
    """What a kernel is optimized and emitted to, and what the search says of itself."""
    file = load(name)
    result = optimize(specialize(file.func, file.sizes["small"]))
    return f"{emit(result.best)}\n{result.report.stopped}\n{result.report.matches.most_common()}"


def sources() -> dict[str, str]:
    return {name: source(name) for name in KERNELS}


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return sources()


def test_no_search_has_a_limit_in_seconds_unless_its_caller_wants_one() -> None:
    assert DEFAULT_BUDGET.seconds == float("inf")


def test_a_clock_that_runs_away_changes_nothing(expected: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 10**12, 1000))
    for clock in ("perf_counter", "monotonic", "time", "process_time"):
        monkeypatch.setattr(time, clock, lambda: float(next(now)))
    found = sources()
    monkeypatch.undo()
    assert found == expected


def test_threads_find_what_one_finds(expected: dict[str, str]) -> None:
    found, errors = dict[str, str](), list[BaseException]()

    def job(name: str) -> None:
        try:
            found[name] = source(name)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=job, args=(name,)) for name in KERNELS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
    assert found == expected


def test_hashes_of_strings_change_nothing(expected: dict[str, str]) -> None:
    script = "import json, test_same_every_time as t; print(json.dumps(t.sources()))"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")])
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # that of this process is random, or given
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
    run = subprocess.run([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, check=True)
    assert json.loads(run.stdout) == expected
