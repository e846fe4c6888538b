"""Every way in refuses a program that has no meaning, with the message of the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import loopsat
from egraph_rules import optimize, transforms
from ir import Module, PrimFunc, parse, verify
from ir.dtypes import DType
from ir.errors import LoopsatError, OptionError, VerifyError
from ir.functions import check_function
from ir.nodes import Function, Var, binary
from ir.schedule import Schedule
from lower import compile, emit, export, stablehlo_text
from lower.array.calls import check_expression

BEYOND = """
from ir import script as T


@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i + 1] = A[i]
"""
FALSE = BEYOND.replace("        B[i + 1] = A[i]", "        T.assume(i > 8)\n        B[i] = A[i]")

WAYS: dict[str, Callable[[PrimFunc, bool], object]] = {
    "optimize": lambda f, v: optimize(f, verify=v),
    "compile": lambda f, v: compile(f, verify=v),
    "emit": lambda f, v: emit(f, verify=v),
    "export": lambda f, v: export(f, ["cpu"], verify=v),
    "stablehlo_text": lambda f, v: stablehlo_text(f, verify=v),
    "Schedule": lambda f, v: Schedule(f, verify=v),
    "Schedule of a module": lambda f, v: Schedule(Module((f,)), verify=v),
    "a step": lambda f, v: transforms.simplify()(f, verify=v),
    "erasure": lambda f, v: transforms.remove_assume()(f, verify=v),
}


@pytest.mark.parametrize("text", [BEYOND, FALSE], ids=["store", "assumption"])
@pytest.mark.parametrize("way", WAYS)
def test_a_program_without_meaning_is_refused(way: str, text: str):
    func = parse(text, "k.py").funcs[0]
    with pytest.raises(VerifyError) as wanted:
        verify(func)
    with pytest.raises(VerifyError) as found:
        WAYS[way](func, True)
    assert str(found.value) == str(wanted.value)
    WAYS[way](func, False)


def test_the_decorator_refuses_it_and_takes_a_word_for_it(tmp_path: Path):
    path = tmp_path / "k.py"
    path.write_text(BEYOND)
    found = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert "error[store-out-of-bounds]" in found.stderr or "B may leave its shape" in found.stderr
    path.write_text(BEYOND.replace("@T.prim_func", "@T.prim_func(verify=False)") + "\nprint(f.name)\n")
    found = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert found.stdout == "f\n", found.stderr


def test_a_program_is_verified_once(monkeypatch: pytest.MonkeyPatch):
    func = parse(BEYOND.replace("i + 1", "i"), "k.py").funcs[0]
    seen: list[PrimFunc] = []

    def counted(checked: PrimFunc, **_options: object) -> tuple[()]:
        seen.append(checked)
        return ()

    monkeypatch.setattr(sys.modules["ir.semantics.verify"], "check_accesses", counted)
    compile(func)
    best = optimize(func).best
    compile(best)
    export(best, ["cpu"])
    assert len(seen) == 1


def test_text_for_jax_is_vetted_before_it_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Also of functions that were built in Python, and checked by nobody."""
    monkeypatch.chdir(tmp_path)
    x = Var("x", DType.FLOAT32)
    bad = Function("g", (x,), binary("add", x, x), jax="jnp.save('k.npy', {x})")
    for check in (check_function, check_expression):
        with pytest.raises(LoopsatError, match="pure functions"):
            check(bad)
    assert not list(tmp_path.iterdir())


FINE = parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    for i in range(4):\n        A[i] = 1.0\n')["f"]
NO_KINDS: dict[str, Callable[[], object]] = {
    "text to optimize": lambda: loopsat.optimize("f"),
    "a plain function": lambda: loopsat.optimize(len),
    "variants": lambda: loopsat.optimize(FINE, k="two"),  # pyright: ignore
    "budget": lambda: loopsat.optimize(FINE, budget=3),  # pyright: ignore
    "rules": lambda: loopsat.optimize(FINE, rules=["x"]),  # pyright: ignore
    "without": lambda: loopsat.optimize(FINE, without=3),  # pyright: ignore
    "free": lambda: loopsat.optimize(Module((FINE,)), entry="f", free=3),  # pyright: ignore
    "a result to compile": lambda: loopsat.compile(3),
    "donate": lambda: loopsat.compile(FINE, donate=3),  # pyright: ignore
    "platforms": lambda: loopsat.export(FINE, None),  # pyright: ignore
    "bytes to parse": lambda: loopsat.parse(b"x"),  # pyright: ignore
    "text to simplify": lambda: loopsat.simplify("x"),  # pyright: ignore
    "given": lambda: loopsat.prove(loopsat.T.int32("x") > 0, given=3),  # pyright: ignore
    "dtypes of a rule": lambda: loopsat.rule(on=3, because="x")(lambda x: (x, x)),  # pyright: ignore
    "no rule": lambda: loopsat.check_rule(len),  # pyright: ignore
    "no module": lambda: loopsat.suggest_padding(FINE),  # pyright: ignore
    "no program": lambda: loopsat.padding_of(3),  # pyright: ignore
    "no kernel": lambda: loopsat.testing.check_kernel(3, FINE),  # pyright: ignore
    "no function": lambda: loopsat.testing.check_equivalent(FINE, 3),
    "budget of jit": lambda: loopsat.jit(budget=3),  # pyright: ignore
    "a list as a number": lambda: loopsat.T.int32([]),  # pyright: ignore
}


@pytest.mark.parametrize("what", NO_KINDS)
def test_values_of_other_kinds_are_refused(what: str) -> None:
    with pytest.raises(LoopsatError) as error:
        NO_KINDS[what]()
    assert isinstance(error.value, TypeError)
    assert ", found " in str(error.value)


def test_options_without_a_meaning_are_refused() -> None:
    with pytest.raises(OptionError, match="at least 1"):
        loopsat.optimize(FINE, k=0)
    with pytest.raises(OptionError, match="no parameter of entries"):
        loopsat.jit(static="n")(entries)


def entries(A):  # pyright: ignore
    return A
