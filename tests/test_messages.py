"""What users read when something is not as it should be: what is wrong, where, and what to write instead."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import loopsat
from ir.errors import LoopsatError, ParseError, suggest
from lower.commands.cli import main
from profiles import some

ROOT = Path(__file__).parent.parent
KERNEL = """from ir import script as T


@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
{body}
"""
COPY = KERNEL.format(body="    for i in range(8):\n        B[i, 0] = A[i, 0]")


def said(text: str) -> tuple[str, str]:
    """The source line that an error points at, from the place on, and what it says to do."""
    with pytest.raises(ParseError) as error:
        loopsat.parse(text)
    span = error.value.span
    return "" if span is None else span.text[span.column : span.end_column], error.value.help


@pytest.mark.parametrize(
    ("body", "place", "help"),
    [
        ("    for i in range(len(A)):\n        A[i, 0] = 1.0", "len(A)", "A.shape[0]"),
        ("    print(A[0, 0])", "print(A[0, 0])", "store what you want to see in a buffer"),
        ("    C = A @ B", "A @ B", "three loops"),
        ("    A[:] = 0", ":", "for i in range(A.shape[0])"),
        ("    A[:, 0] = 0", ":", "for i in range(A.shape[0])"),
        ("    for i in range(-8):\n        A[0, 0] = 1.0", "range(-8)", "range(7, -1, -1)"),
        ("    for i in range(8, 2):\n        A[0, 0] = 1.0", "range(8, 2)", "range(7, -1, -1)"),
        ("    for i in Range(8):\n        A[0, 0] = 1.0", "Range(8)", "`range`"),
        ("    if true:\n        A[0, 0] = 1.0", "true", "`True`"),
        ("    b[0, 0] = 1.0", "b", "`B`"),
        ("    A[0, 0] = [x for x in B]", "[x for x in B]", "write loops"),
        ("    return A", "return A", "buffer parameters"),
        ("    A[0, 0] = T.Max(1.0, 2.0)", "", ""),  # the names of TVM's own nodes are read too
    ],
)
def test_python_that_is_no_kernel_is_answered_with_what_to_write(body: str, place: str, help: str) -> None:
    text = KERNEL.format(body=body)
    if not place:
        assert loopsat.parse(text)
        return
    found, hint = said(text)
    assert found == place
    assert help in hint


@pytest.mark.parametrize(
    ("old", "new", "place", "help"),
    [
        ("@T.prim_func", "@T.primfunc", "T.primfunc", "`@T.prim_func`"),
        ("@T.prim_func", "@T.Prim_Func", "T.Prim_Func", "`@T.prim_func`"),
        ("@T.prim_func", "@numba.njit(parallel=True)", "numba.njit(parallel=True)", "@loopsat.jit"),
        ("A: T.Buffer", "A: T.buffer", 'A: T.buffer((8, 8), "float32")', "`T.Buffer`"),
        ('"float32")):', '"float32"), n: T.int32 = 3):', "3", "N = 3"),
        ('"float32")):', '"float32"), *n: T.int32):', "n: T.int32", "without *"),
        ("    for i", "    For i", "i", "write `for` in place of `For`"),
        ("        B[i", "\tB[i", "\t", "spaces only"),
    ],
)
def test_what_stands_around_a_kernel_is_answered_too(old: str, new: str, place: str, help: str) -> None:
    found, hint = said(COPY.replace(old, new, 1))
    assert place in (found, "\t")
    assert help in hint


def test_a_loop_may_be_empty_for_a_size_that_is_known_elsewhere() -> None:
    loopsat.parse("N = 2\n" + KERNEL.format(body="    for i in range(N - 5):\n        A[i, 0] = 1.0"))
    loopsat.parse(KERNEL.format(body="    for i in range(0):\n        A[i, 0] = 1.0"))


def test_what_a_kernel_takes_is_told_where_it_is_called() -> None:
    found, hint = said(COPY + '\n\n@T.prim_func\ndef g(A: T.Buffer((8,), "float32")):\n    f(A)\n')
    assert found == "f(A)" and hint.startswith("call it as f(A: float32")


def test_names_are_suggested_in_whatever_case() -> None:
    assert suggest("SERIAL", ["serial", "grid"]) == "did you mean `serial`?"
    assert suggest("nn", ["N", "n"]) == "did you mean `n`?"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    try:
        status = main(arguments)
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    return capsys.readouterr().err


def test_the_command_line_suggests_what_was_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(COPY)
    assert "did you mean `optimize`?" in run(capsys, "optimise", str(script))
    assert "did you mean `--target`?" in run(capsys, "optimize", str(script), "--targt", "cpu")
    assert "did you mean `cpu`?" in run(capsys, "optimize", str(script), "--target", "CPU")
    assert "unrecognized arguments: more" in run(capsys, "optimize", str(script), "more")
    assert "did you mean `--target`?" in run(capsys, "optimize", str(script), "--targt=gpu")
    far = run(capsys, "optimize", str(script), "--bogus")  # which shares nothing with `--layouts` but dashes
    assert "loopsat optimize --help" in far and "did you mean" not in far
    donated = run(capsys, "optimize", str(script), "--donate", "C", "--emit", "jax")
    assert "`C` cannot be donated" in donated and "f writes B" in donated
    script.write_bytes(b"# one\n# caf\xe9\n")
    assert "line 2 has the byte 0xe9\nhelp: save it with the encoding UTF-8" in run(capsys, "optimize", str(script))


FUNC = loopsat.parse(COPY)["f"]
GOOD = np.ones((8, 8), np.float32)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (([1.0, 2.0],), TypeError, "parameter A of f: expected an array of float32, found a list"),
        ((3,), TypeError, "parameter A of f: expected an array of float32, found a int"),
        ((GOOD.astype(np.float64),), TypeError, "parameter A of f: expected dtype float32, found float64"),
        ((GOOD[1:],), ValueError, r"parameter A of f: expected shape \(8, 8\), found \(7, 8\)"),
        ((), TypeError, "argument A of f is missing"),
        ((GOOD, GOOD, GOOD), TypeError, "f takes 2 arguments, but 3 were given"),
    ],
)
def test_kernels_refuse_arguments_as_python_does(arguments: tuple[object, ...], kind: type, message: str) -> None:
    kernel = loopsat.compile(FUNC)
    with pytest.raises(kind, match=message) as error:
        kernel(*arguments)
    assert isinstance(error.value, LoopsatError)
    with pytest.raises((TypeError, ValueError), match="f") as error:
        loopsat.interpret(FUNC, *arguments)
    assert isinstance(error.value, LoopsatError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: loopsat.compile(FUNC, "gpx"),
        lambda: loopsat.optimize(FUNC, "cpux"),
        lambda: loopsat.optimize(FUNC, floats="strickt"),
        lambda: loopsat.compile(FUNC, precision="hihgest"),
        lambda: loopsat.jit(sizes="opened"),  # pyright: ignore
        lambda: loopsat.parse("def"),
    ],
)
def test_values_that_options_cannot_have_are_value_errors(call) -> None:  # pyright: ignore
    with pytest.raises(ValueError) as error:
        call()
    assert isinstance(error.value, LoopsatError)


def test_jit_refuses_arguments_as_python_does() -> None:
    function = loopsat.jit(doubled)
    with pytest.raises(TypeError, match=r"doubled\(A\): missing a required argument"):
        function()
    with pytest.raises(TypeError, match="argument A of doubled is a set"):
        function({1.0})


def test_advice_on_plain_functions_is_in_their_words() -> None:
    given = np.zeros(6, np.float32)
    with pytest.raises(LoopsatError) as error:
        loopsat.jit(beyond)(given)
    assert "shorten the loop to range(5)" in error.value.help
    with pytest.raises(LoopsatError) as error:
        loopsat.jit(sizes="open")(fifth)(given)
    assert "loopsat.assume(size_0 >= 5)" in error.value.help
    assert "T." not in error.value.help


def beyond(A):  # pyright: ignore
    for i in range(len(A)):
        A[i] = A[i + 1]


def fifth(A):  # pyright: ignore
    A[4] = 3


def doubled(A):  # pyright: ignore
    B = np.zeros(len(A), A.dtype)
    for i in range(len(A)):
        B[i] = A[i] * 2
    return B


@pytest.mark.parametrize("folder", some(["ir", "egraph_rules", "lower"], 0.23))
def test_messages_point_at_nothing_that_is_not_installed(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body[1:]:  # what comes first is what the module owns, for those who read it there
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    named = [name for name in ("docs/", "README", "examples/") if name in part.value]
                    assert not named, f"{path}:{part.lineno} names {named}"
