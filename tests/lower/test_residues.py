"""Sums modulo a number: sums of residues wherever these stay within the integers, with the results of steps in turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc
from ir.errors import InterpretError
from lowered import kernel_of
from profiles import few, some
from tests.lowered import assert_agrees, read

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4)  # no loop is cheaper than an array operation
PARAMS = 'X: T.Buffer((5, 30), "{x}"), R: T.Buffer((5,), "{r}"), P: T.Buffer((5, 30), "{r}")'
BODY = """
for r in range(5):
    s = T.alloc_buffer((1,), "{r}")
    t = T.alloc_buffer((1,), "{r}")
    s[0] = {one}
    t[0] = {zero}
    for i in range(30):
        {first}
        {second}
        P[r, i] = s[0]
    R[r] = {last}
"""


def program(x: str, r: str, first: str, second: str = "t[0] = t[0] + s[0]", last: str = "t[0]") -> PrimFunc:
    number = "T.{r}({n})" if r != "int32" else "{n}"
    one, zero = (number.format(r=r, n=n) for n in (1, 0))
    body = BODY.format(r=r, one=one, zero=zero, first=first, second=second, last=last)
    return read(PARAMS.format(x=x, r=r), body.strip("\n"))


def agree(func: PrimFunc, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    given = {
        b.name: rng.integers(max(int(b.dtype.min), -(2**20)), min(int(b.dtype.max), 2**20), (5, 30)).astype(
            b.dtype.numpy
        )
        for b in func.buffers[:1]
    }
    rest = {b.name: np.zeros((5, 30) if b.name == "P" else 5, b.dtype.numpy) for b in func.buffers[1:]}
    plain, eager = (kernel_of(func, target) for target in (CPU, EAGER))
    try:
        for kernel in (plain, eager):
            assert_agrees(func, kernel, {**given, **rest})
    except InterpretError:  # a sum that leaves its type promises nothing
        return ""
    return eager.source


@pytest.mark.parametrize(
    ("x", "r", "first", "second", "last"),
    some(
        [
            ("uint8", "int32", "s[0] = (s[0] + T.cast(X[r, i], 'int32')) % 251", "t[0] = (t[0] + s[0]) % 251", "t[0]"),
            ("int32", "int32", "s[0] = (X[r, i] + s[0]) % 1009", "t[0] = T.max(t[0], s[0])", "t[0] * 4 + s[0]"),
            (
                "uint8",
                "uint32",
                "s[0] = (s[0] + T.cast(X[r, i], 'uint32')) % T.uint32(65521)",
                "t[0] = (t[0] + s[0]) % T.uint32(65521)",
                "t[0] * T.uint32(65536) + s[0]",
            ),
        ],
        0.23,
    ),
)
def test_checksums_are_prefix_sums(x: str, r: str, first: str, second: str, last: str) -> None:
    for seed in range(2):
        assert "fori_loop" not in agree(program(x, r, first, second, last), seed)


@pytest.mark.parametrize(
    ("x", "r", "first"),
    some(
        [
            ("int32", "int32", "s[0] = (s[0] + X[r, i]) % 2000000000"),  # a few residues are too much
            ("uint32", "uint32", "s[0] = (s[0] + X[r, i] * X[r, i]) % T.uint32(97)"),  # the sum may go around
            ("int32", "int32", "s[0] = (s[0] * 3 + X[r, i]) % 97"),
            ("int32", "int32", "s[0] = (s[0] + X[r, (i + s[0]) % 30]) % 97"),
        ],
        0.5,
    ),
)
def test_others_stay_as_they_are(x: str, r: str, first: str) -> None:
    second = "t[0] = T.max(t[0], s[0])"
    assert "fori_loop" in agree(program(x, r, first, second))


@st.composite
def steps(draw: st.DrawFn) -> PrimFunc:
    r = draw(st.sampled_from(["int32", "int32", "uint32"]))
    x = draw(st.sampled_from(["uint8", r]))
    number = draw(st.sampled_from([2, 7, 255, 65521]))
    modulo = f"T.{r}({number})" if r != "int32" else str(number)
    term = draw(st.sampled_from(["T.cast(X[r, i], '{r}')", "T.cast(X[r, i], '{r}') % T.{r}(9)", "P[r, 0]"])).format(r=r)
    other = draw(st.sampled_from(["s[0]", term, f"s[0] * {term}"]))
    guard = draw(st.sampled_from(["", f"if {term} > T.{r}(3):\n            "]))
    first = f"{guard}s[0] = (s[0] + {term}) % {modulo}"
    second = draw(st.sampled_from([f"t[0] = (t[0] + {other}) % {modulo}", f"t[0] = t[0] + s[0] % T.{r}(5)"]))
    return program(x, r, first, second, draw(st.sampled_from(["t[0]", "t[0] + s[0]"])))


@few(3)
@given(steps(), st.integers(0, 9))
def test_random_sums_modulo_a_number(func: PrimFunc, seed: int) -> None:
    agree(func, seed)


@pytest.mark.fuzz
@settings(max_examples=300)
@given(steps(), st.integers(0, 99))
def test_many_random_sums_modulo_a_number(func: PrimFunc, seed: int) -> None:
    agree(func, seed)
