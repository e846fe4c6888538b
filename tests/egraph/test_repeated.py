"""Nests that repeat another one but for their buffers: looked into once, and only where the same is known of both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from test_fuzz import TARGETS, check

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.cost.target import Target
from ir import PrimFunc, interpret, parse, to_script
from ir.nodes import SKIP, Alloc, Assume, Buffer, If, Stmt, seq
from ir.program.forms import with_buffers
from ir.testing.programs import programs
from ir.traverse import buffers_written, loads, map_stmt, walk
from profiles import few, some


def sums(paddings: list[str]) -> PrimFunc:
    """Guarded sums of rows in blocks, of which each has something assumed of its own padding."""
    params = [f'A{k}: T.Buffer((4, 2, 4), "int32"), S{k}: T.Buffer((4,), "int32")' for k in range(len(paddings))]
    lines = ["@T.prim_func", f"def f({', '.join(params)}):"]
    for k, padding in enumerate(paddings):
        lines.append("    for i, jo, ji in T.grid(4, 2, 4):")
        lines.append(f"        T.assume(4 * jo + ji < 6 or A{k}[i, jo, ji] == {padding})")
    for k in range(len(paddings)):
        lines += ["    for i in range(4):", f"        S{k}[i] = 0", "        for jo, ji in T.grid(2, 4):"]
        lines += ["            if 4 * jo + ji < 6:", f"                S{k}[i] = S{k}[i] + A{k}[i, jo, ji]"]
    return parse("\n".join(lines)).funcs[0]


def guards(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(func.body))


def test_each_nest_more_takes_little_work() -> None:
    few_, many = (optimize(sums(["0"] * n)).report for n in (4, 16))
    alone = optimize(sums(["0"])).report
    assert many.work - few_.work < 12 * alone.work / 3
    assert many.nodes - few_.nodes < 12 * alone.nodes / 3


@pytest.mark.parametrize("paddings", some([["0", "0", "1", "0"], ["1", "0", "0"], ["1", "1"]], 0.67))
def test_a_guard_stays_where_padding_is_another(paddings: list[str]) -> None:
    func = sums(paddings)
    result = optimize(func)
    assert guards(result.best) == paddings.count("1")
    assert_refines(func, result.best, np.random.default_rng(0))


def test_steps_say_which_nest_they_are_those_of() -> None:
    steps = [s for s in optimize(sums(["0"] * 2)).derivation() if s.rule == "overcompute.then"]
    assert {" as " in s.place for s in steps} == {False, True}
    assert guards(steps[-1].after) == 0


CHAIN = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    L = T.alloc_buffer((8,), "int32")
    M = T.alloc_buffer((8,), "int32")
    for i in range(8):
        if i < 6:
            L[i] = A[i] * 2
    for i in range(8):
        if i < 6:
            M[i] = L[i] * 2
    for i in range(8):
        if i < 6:
            B[i] = M[i] * 2
"""


def test_what_is_written_for_somebody_is_no_twin_of_what_is_not() -> None:
    func = parse(CHAIN).funcs[0]
    for variant, _ in optimize(func, k=4).variants:
        assert_refines(func, variant, np.random.default_rng(0))


def test_names_that_authors_gave_are_kept() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for first in range(8):
        B[first] = A[first] + 0
    for second in range(8):
        C[second] = A[second] + 0
""").funcs[0]
    assert "C[second]" in to_script(optimize(func).best)


@st.composite
def repeated(draw: st.DrawFn) -> PrimFunc:
    """A program twice in a row; the second time with some of its buffers, or all, in place of others like them.

    Assumptions on what the first one writes are left out of the second: inputs do not make them true.
    """
    func = draw(programs())
    written = buffers_written(func.body)

    def kept(stmt: Stmt) -> Stmt:
        return SKIP if isinstance(stmt, Assume) and any(e.buffer in written for e in loads(stmt.cond)) else stmt

    of = {b: replace(b, name=f"{b.name}_2") for b in func.buffers if draw(st.integers(0, 3))}
    of |= {s.buffer: replace(s.buffer, name=f"{s.buffer.name}_2") for s in walk(func.body) if isinstance(s, Alloc)}
    others = tuple(of[p] for p in func.params if isinstance(p, Buffer) and p in of)
    return replace(
        func, params=(*func.params, *others), body=seq(func.body, with_buffers(map_stmt(func.body, on_stmt=kept), of))
    )


@few(4)
@given(repeated(), st.sampled_from(TARGETS))
def test_random_programs_that_repeat_themselves(func: PrimFunc, target: Target) -> None:
    check(func, target, 0)


@pytest.mark.fuzz
@settings(max_examples=2000)
@given(repeated(), st.sampled_from(TARGETS))
def test_many_random_programs_that_repeat_themselves(func: PrimFunc, target: Target) -> None:
    check(func, target, 1)


TOLD = {
    "an element": ("C[i, j] = W1[i, j] + 1.0", "X{k}[i, j] * W{k}[i, j]"),
    "a quotient": ("C[i, j] = 1.0 / W1[i, j]", "X{k}[i, j] * (1.0 / W{k}[i, j])"),
}


@pytest.mark.parametrize("name", some(TOLD, 0.5))
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_what_is_computed_elsewhere_is_a_number_and_of_a_nest_that_repeats_it_not(
    name: str, order: tuple[int, int]
) -> None:
    """Padding of the one is looked at elsewhere, that of the other nowhere: it may hold NaN."""
    elsewhere, term = TOLD[name]
    buffers = [f'{n}{k}: T.Buffer((8, 16), "float32")' for k in (1, 2) for n in "XW"]
    buffers += [f'B{k}: T.Buffer((8,), "float32")' for k in (1, 2)]
    lines = ["@T.prim_func", f'def f({", ".join(buffers)}, C: T.Buffer((8, 16), "float32")):']
    lines += [f"    for i, j in T.grid(8, 16):\n        T.assume(j < 14 or X{k}[i, j] == 0.0)" for k in (1, 2)]
    lines.append(f"    for i, j in T.grid(8, 16):\n        {elsewhere}")
    for k in order:
        lines += [f"    for i in range(8):\n        B{k}[i] = 0.0\n        for j in range(16):\n            if j < 14:"]
        lines.append(f"                B{k}[i] = B{k}[i] + {term.format(k=k)}")
    func = parse("\n".join(lines)).funcs[0]
    rng = np.random.default_rng(0)
    given = {b.name: rng.uniform(1.0, 2.0, [int(str(e)) for e in b.shape]).astype(np.float32) for b in func.buffers}
    given["X1"][:, 14:] = given["X2"][:, 14:] = 0.0
    given["W2"][:, 14:] = np.nan
    for wanted, found in zip(interpret(func, **given), interpret(optimize(func).best, **given), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
