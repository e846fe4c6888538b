"""`loopsat run`, and sizes and time limits on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import lower.commands.run as command
from egraph_rules import Result, optimize
from ir import PrimFunc, parse
from ir.errors import LoopsatError
from ir.nodes import SKIP
from ir.semantics.inputs import Inputs
from lower.check.kernels import compare, insist, reference
from lower.commands.cli import main
from lower.commands.sizes import parse_sizes, sized

SMALL = Path(__file__).parent.parent / "examples" / "padded_row_sum_small.py"
INTERPRETED = "compared with the reference interpreter, on inputs near zero; on inputs around 1000"

KERNEL = """from __future__ import annotations

from ir import script as T

SIZES = {"small": {"n": 5, "m": 3}, "empty": {"n": 0, "m": 3}, "wrong": {"n": 2.5}}


def inputs(rng, n, m):
    print("made inputs")
    return {"A": rng.standard_normal((n, m)).astype("float32"), "B": np.full((n,), 7, "float32"), "n": n}


import numpy as np


@T.prim_func
def total(n: T.int32, m: T.int32, A: T.Buffer((n, m), "float32"), B: T.Buffer((n,), "float32")):
    for i in T.serial(n):
        B[i] = 0.0
        for j in T.serial(m):
            B[i] = B[i] + A[i, j]
"""
WITHOUT_INPUTS = KERNEL.replace("def inputs", "def unused")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "total.py"
    path.write_text(KERNEL)
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    assert main([str(a) for a in arguments]) == status
    captured = capsys.readouterr()
    return captured.err if status == 2 else captured.out


def test_results_and_time_of_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "run", SMALL, "--seed", 3, "--verify")
    assert out.startswith("row_sum, on cpu, random inputs\n- B: shape (16), float32, min ")
    assert "ms a call (median of" in out
    assert (
        "compared with the reference interpreter, on inputs near zero; on inputs around 1000: the same\n- B: equal"
        in out
    )
    assert "compared" not in printed(capsys, "run", SMALL)


def test_the_summary_is_that_of_the_results(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "run", script, "--sizes", "small", "--seed", 4)
    sums = np.random.default_rng(4).standard_normal((5, 3)).astype("float32").sum(axis=1)
    least, largest, mean = (float(word.split()[1]) for word in out.splitlines()[1].split(", ")[2:])
    assert [least, largest, mean] == pytest.approx([sums.min(), sums.max(), sums.mean()], rel=1e-4)


def test_sizes_by_name_and_by_number(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "run", script, "--sizes", "small", "--verify")
    assert out.startswith("total, sizes n=5, m=3, on cpu, the script's inputs\n- B: shape (5), float32")
    out = printed(capsys, "run", script, "--sizes", "empty", "--verify")
    assert "- B: shape (0), float32, empty" in out
    assert "the same" in out
    out = printed(capsys, "run", script, "--sizes", "n=3,m=2000", "--verify")
    assert out.startswith("total, sizes n=3, m=2000, on cpu, the script's inputs\n- B: shape (3)")
    script.write_text(WITHOUT_INPUTS)
    out = printed(capsys, "run", script, "--sizes", "n=300,m=2000", "--verify")
    assert "random inputs\n- B: shape (300)" in out
    assert "compared with its loops, one element after the other (600,901 steps), on inputs near zero" in out
    assert "the reference interpreter at small sizes (A 34x250, B 34), on 4 kinds of inputs" in out


def test_a_script_need_not_give_what_is_only_written(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = script.read_text()
    assert '"B": np.full((n,), 7, "float32"), ' in text
    script.write_text(text.replace('"B": np.full((n,), 7, "float32"), ', ""))
    out = printed(capsys, "run", script, "--sizes", "n=3,m=2", "--verify")
    assert "compared with the reference interpreter, on these inputs: the same\n- B: equal" in out


def test_optimizing_for_sizes(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "optimize", script, "--sizes", "small", "--emit", "ir")
    assert 'A: T.Buffer((5, 3), "float32")' in out
    out = printed(capsys, "optimize", script, "--sizes", "n=4,m=1")
    assert ", sizes n=4, m=1, target cpu" in out
    assert "compared with the reference interpreter, on these inputs" in out


def test_scripts_are_executed_only_where_that_is_needed(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(f'{WITHOUT_INPUTS}\n\nraise ValueError("executed")\n')
    assert "shape (" in printed(capsys, "run", script, "--sizes", "n=4,m=1")
    assert "ValueError: executed" in printed(capsys, "run", script, "--sizes", "small", status=2)


def test_a_search_without_time_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "optimize", SMALL, "--seconds", 0, "--no-run")
    assert "time budget: 0 s" in out
    assert "none: no rule found anything cheaper" in out
    assert "time budget: 0 s" in printed(capsys, "run", SMALL, "--seconds", 0)
    with pytest.raises(SystemExit):
        main(["run", str(SMALL), "--seconds", "-1"])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("smal", "did you mean `small`?"),
        ("n=", "`n=` is no size"),
        ("n=3,n=4", "size n is given twice"),
        ("n=3,q=4", "has no size `q`"),
        ("n=-3,m=2", "an extent of A is negative: -3"),
        ("n=3", "`inputs` of the script fails: TypeError"),
        ("wrong", "sizes that are no integers"),
    ],
)
def test_mistakes_in_sizes(script: Path, capsys: pytest.CaptureFixture[str], sizes: str, message: str) -> None:
    assert message in printed(capsys, "run", script, "--sizes", sizes, status=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{}", "gives no value for A"),
        ('{"C": 1}', "gives `C`, which total does not take"),
        ("3", "gives int, not values by name"),
        ("[1]", "gives 1 values"),
    ],
)
def test_mistakes_in_inputs(script: Path, capsys: pytest.CaptureFixture[str], given: str, message: str) -> None:
    script.write_text(KERNEL.replace('print("made inputs")', f"return {given}"))
    assert message in printed(capsys, "run", script, "--sizes", "small", status=2)


def test_sets_of_sizes_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert "defines no sets of sizes" in printed(capsys, "run", SMALL, "--sizes", "small", status=2)


def test_a_wrong_program_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(func: PrimFunc, *given: object, **options: object) -> Result:
        del given, options
        return replace(optimize(func), best=replace(func, body=SKIP))

    monkeypatch.setattr(command, "optimize_function", wrong)
    out = printed(capsys, "run", SMALL, "--verify", status=1)
    assert (
        "compared with the reference interpreter, on inputs near zero; on inputs around 1000: DIFFERENT\n- B: " in out
    )


def results(dtype: str, want: list[float], got: list[float]) -> tuple[bool, str]:
    """How results compare that a function should give, and that something gives."""
    shape = f'({len(want)},), "{dtype}"'
    stores = "\n".join(f"    B[{k}] = A[{k}]" for k in range(len(want)))
    func = parse(f"@T.prim_func\ndef f(A: T.Buffer({shape}), B: T.Buffer({shape})):\n{stores}").funcs[0]
    values: Inputs = {"A": np.array(want, dtype), "B": np.zeros(len(want), dtype)}
    expected = reference(func, values)
    assert expected is not None
    (found,) = compare(func, expected, {"B": np.array(got, dtype)}, values)
    if not found.same:
        with pytest.raises(LoopsatError, match="B: "):
            insist([found])
    return found.same, found.text


def test_what_counts_as_the_same() -> None:
    inf, nan = float("inf"), float("nan")
    assert results("int32", [1, 2], [1, 2]) == (True, "equal")
    assert results("int32", [1, 2], [1, 3]) == (False, "1 elements differ")
    assert results("float32", [1, nan, inf], [1, nan, inf]) == (
        True,
        "equal, 1 that are NaN as written left out",
    )
    assert results("float32", [1000, 1], [1000.0001, 1])[0]
    assert not results("float32", [1000, 1], [1000, 9])[0]
    assert not results("float32", [1, inf], [1, -inf])[0]
    assert not results("float32", [1, 2], [1, nan])[0]


def test_arbitrary_elements_are_not_compared_with_a_kernel() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((600, 600), "int32"), B: T.Buffer((600, 600), "int32")):
    for i, j in T.grid(600, 600):
        B[i, j] = A[i, j]
        if j > 500:
            B[i, j] = T.undef()
"""
    func = parse(text).funcs[0]
    values: Inputs = {"A": np.ones((600, 600), "int32"), "B": np.zeros((600, 600), "int32")}
    expected = reference(func, values)
    assert expected is not None
    copied = np.pad(np.ones((600, 501), "int32"), ((0, 0), (0, 99)), constant_values=9)
    (found,) = compare(func, expected, {"B": copied}, values)
    assert (found.same, found.text) == (True, "equal, 59400 arbitrary elements left out")
    assert not compare(func, expected, {"B": np.zeros((600, 600), "int32")}, values)[0].same


def test_texts_of_sizes() -> None:
    assert parse_sizes("n=3, m = -4") == {"n": 3, "m": -4}
    assert parse_sizes("small") is None
    func = parse(SMALL.read_text()).funcs[0]
    assert sized(SMALL, func, None).func is func
