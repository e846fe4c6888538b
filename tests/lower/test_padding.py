"""Padded programs: which loops run over padding, with which values, and that the results stay what they were."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import TOLERANCE
from ir import PrimFunc, parse, to_script
from ir.errors import InterpretError, LoopsatError
from ir.nodes import For, If
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.semantics.specialize import specialize
from ir.testing.programs import program_texts
from ir.traverse import results_of, shape_vars, walk
from lower.emission.function import emit_function
from lower.runtime.padding import Padded, padded
from profiles import few, some


def func_of(text: str) -> PrimFunc:
    return parse(f"@T.prim_func\n{text}").funcs[0]


def pad(func: PrimFunc, parts: Mapping[tuple[str, int], int]) -> Padded:
    return padded(func, parts, [b.name for b in emit_function(func).optional])


def check(func: PrimFunc, parts: Mapping[tuple[str, int], int], seed: int = 0) -> Padded | None:
    """The padded program, after comparing what both leave inside; None where the original faults."""
    rng = np.random.default_rng(seed)
    try:
        inputs = random_inputs(func, rng)
        expected = interpret_with_undef(func, **inputs)
    except (InterpretError, LoopsatError):
        return None
    result = pad(func, parts)
    wide = {b.name: tuple(int(e.value) for e in b.shape) for b in result.func.buffers}
    arguments = dict(inputs)
    for name, shape in wide.items():
        array = np.asarray(inputs[name])
        widths = [(0, n - had) for n, had in zip(shape, array.shape, strict=True)]
        arguments[name] = np.pad(array, widths, constant_values=result.values.get(name, 0))
    found = dict(zip(written(result.func), interpret_with_undef(result.func, **arguments), strict=True))
    for name, (values, undef) in zip(written(func), expected, strict=True):
        got, got_undef = found.get(name, (np.asarray(inputs[name]), np.zeros(values.shape, bool)))
        inside = tuple(slice(n) for n in values.shape)
        tolerance = TOLERANCE.get(next(b.dtype for b in func.buffers if b.name == name), 0.0)
        same = np.isclose(got[inside], values, rtol=tolerance, atol=tolerance, equal_nan=True) & ~got_undef[inside]
        assert (same | undef).all(), f"{name}: {values} {got}\n{to_script(func)}\n{to_script(result.func)}\n{inputs}"
    return result


def written(func: PrimFunc) -> list[str]:
    stored = {b.name for b in results_of(func)}
    return [b.name for b in func.buffers if b.name in stored]


def guards(result: Padded) -> int:
    return sum(isinstance(s, If) for s in walk(result.func.body))


ROW = """
def f(A: T.Buffer((6, 14), "{dtype}"), B: T.Buffer((6,), "{dtype}")):
    for i in T.serial(6):
        B[i] = {init}
        for j in T.serial(14):
            B[i] = {step}
"""
REDUCTIONS = {
    "sum": ("float32", "0.0", "B[i] + A[i, j]", 0.0),
    "difference": ("float32", "0.0", "B[i] - A[i, j]", 0.0),
    "max": ("float32", 'T.float32("-inf")', "T.max(B[i], A[i, j])", -np.inf),
    "max from a number": ("float32", "-1000.0", "T.max(B[i], A[i, j])", -np.inf),
    "scaled max": ("float32", 'T.float32("-inf")', "T.max(B[i], 2.0 * A[i, j] + 1.0)", -np.inf),
    "max of negated squares": ("float32", "-1000.0", "T.max(B[i], 0.0 - A[i, j] * A[i, j])", -np.inf),
    "min": ("float32", 'T.float32("inf")', "T.min(B[i], A[i, j])", np.inf),
    "product": ("float32", "1.0", "B[i] * A[i, j]", 1.0),
    "sum of exponentials": ("float32", "0.0", "B[i] + T.exp(A[i, j])", -np.inf),
    "int sum": ("int32", "0", "B[i] + A[i, j]", 0),
    "int max": ("int32", "A[i, 0]", "T.max(B[i], A[i, j])", -(2**31)),
    "int8 min": ("int8", "A[i, 0]", "T.min(B[i], A[i, j])", 127),
    "unsigned max": ("uint16", "A[i, 0]", "T.max(B[i], A[i, j])", 0),
}


@pytest.mark.parametrize("name", some(REDUCTIONS, 0.23))
def test_a_neutral_value_takes_the_guard_from_a_reduction(name: str) -> None:
    dtype, init, step, value = REDUCTIONS[name]
    result = check(func_of(ROW.format(dtype=dtype, init=init, step=step)), {("A", 1): 8, ("B", 0): 4})
    assert result is not None and guards(result) == 0, result.report
    assert result.values["A"] == value
    assert [s.extent.value for s in walk(result.func.body) if isinstance(s, For)] == [8, 16]


@pytest.mark.parametrize(("init", "op"), [("True", "and"), ("False", "or")])
def test_reductions_of_truths(init: str, op: str) -> None:
    func = func_of(ROW.format(dtype="bool", init=init, step=f"B[i] {op} A[i, j]"))
    assert check(func, {("A", 1): 8, ("B", 0): 4}) is not None


NOT_NEUTRAL = {
    "sum and max": "B[i] + T.max(A[i, j], 1.0)",
    "max of cosines": "T.max(B[i], T.cos(A[i, j]))",
    "cosine": "B[i] + T.cos(A[i, j])",
}


@pytest.mark.parametrize("name", NOT_NEUTRAL)
def test_without_a_neutral_value_the_guard_stays(name: str) -> None:
    func = func_of(ROW.format(dtype="float32", init="0.0", step=NOT_NEUTRAL[name]))
    result = check(func, {("A", 1): 8})
    assert result is not None and guards(result) == 1
    assert any("loop j keeps a guard" in line for line in result.report)


def test_consumers_that_need_different_values_keep_one_guard() -> None:
    func = func_of(
        """
def f(A: T.Buffer((6, 14), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        B[i] = T.float32("-inf")
        C[i] = 0.0
        for j in T.serial(14):
            B[i] = T.max(B[i], A[i, j])
            C[i] = C[i] + A[i, j]
"""
    )
    result = check(func, {("A", 1): 8})
    assert result is not None and guards(result) == 1


def layered(layers: int) -> PrimFunc:
    """Each layer wants two values in the padding of what the one before has left."""
    lines = [f"H{k} = T.alloc_buffer((14,), 'float32')" for k in range(1, layers)]
    for k in range(layers):
        source, to = "A" if k == 0 else f"H{k}", "O" if k == layers - 1 else f"H{k + 1}"
        lines += [f"M{k} = T.alloc_buffer((2,), 'float32')", f"M{k}[0] = T.float32('-inf')", f"M{k}[1] = 0.0"]
        lines += ["for j in range(14):", f"    M{k}[0] = T.max(M{k}[0], {source}[j])", f"    M{k}[1] += {source}[j]"]
        lines += ["for j in range(14):", f"    {to}[j] = {source}[j] * M{k}[0] + M{k}[1]"]
    text = "".join(f"    {line}\n" for line in lines)
    return func_of(f"def f(A: T.Buffer((14,), 'float32'), O: T.Buffer((14,), 'float32')):\n{text}")


@pytest.mark.fuzz  # long, and others test most of it
def test_layers_that_want_the_same_are_told_the_same() -> None:
    tried: list[str] = []
    for layers in (2, 3):
        result = pad(layered(layers), {("A", 0): 8})
        tried.append(next(line for line in result.report if "tried" in line).split("(")[1])
    assert tried[0] == tried[1]
    check(layered(2), {("A", 0): 8})


SOFTMAX = """
def f(A: T.Buffer((6, 14), "float32"), O: T.Buffer((6, 14), "float32")):
    M = T.alloc_buffer((6,), "float32")
    S = T.alloc_buffer((6,), "float32")
    E = T.alloc_buffer((6, 14), "float32")
    for i in T.serial(6):
        M[i] = T.float32("-inf")
        for j in T.serial(14):
            M[i] = T.max(M[i], A[i, j])
        S[i] = 0.0
        for j in T.serial(14):
            E[i, j] = T.exp(A[i, j] - M[i])
        for j in T.serial(14):
            S[i] = S[i] + E[i, j]
        for j in T.serial(14):
            O[i, j] = E[i, j] / S[i]
"""


def test_softmax_is_masked_where_it_is_elementwise_and_not_where_it_reduces() -> None:
    result = check(func_of(SOFTMAX), {("A", 1): 8, ("A", 0): 4})
    assert result is not None and guards(result) == 1
    assert result.values["A"] == -np.inf
    (guard,) = (s for s in walk(result.func.body) if isinstance(s, If))
    assert "E[i, j_1] = T.exp" in to_script(guard.then)


MATMUL = """
def f(A: T.Buffer((6, 14), "float32"), B: T.Buffer((14, 7), "float32"), D: T.Buffer((6, 7), "float32"){more}):
    for i, j in T.grid(6, 7):
        D[i, j] = {init}
        for k in T.serial(14):
            D[i, j] = D[i, j] + {term}
"""


@pytest.mark.parametrize("dim", [("A", 0), ("A", 1), ("B", 0), ("B", 1), ("D", 0), ("D", 1)])
def test_a_product_of_matrices_is_padded_in_all_that_share_a_dimension(dim: tuple[str, int]) -> None:
    result = check(func_of(MATMUL.format(more="", init="0.0", term="A[i, k] * B[k, j]")), {dim: 4})
    assert result is not None and guards(result) == 0
    shared = {("A", 0): "AD", ("A", 1): "AB", ("B", 0): "AB", ("B", 1): "BD", ("D", 0): "AD", ("D", 1): "BD"}[dim]
    assert {line.split(" of ")[1][0] for line in result.report if "is padded" in line} == set(shared)
    assert not any("finite" in line for line in result.report)  # zero times zero is zero for all


def test_a_factor_that_may_be_infinite_is_told() -> None:
    text = MATMUL.format(more=", a: T.float32", init="D[i, j] * 3.0", term="a * A[i, k] * B[k, j]")
    result = check(func_of(text), {("A", 1): 8})
    assert result is not None and guards(result) == 0
    assert any("for finite values of floats" in line for line in result.report)


def test_what_is_changed_in_place_and_summed() -> None:
    func = func_of(
        """
def f(A: T.Buffer((6, 14), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        C[i] = 0.0
        for j in T.serial(14):
            A[i, j] = A[i, j] * 2.0
            C[i] = C[i] + A[i, j]
"""
    )
    result = check(func, {("A", 0): 4, ("A", 1): 8})
    assert result is not None and guards(result) == 0


def test_a_loop_whose_neighbours_lie_outside_keeps_its_extent() -> None:
    func = func_of(
        """
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        B[i] = A[i] + A[i + 1] + A[i + 2]
"""
    )
    result = check(func, {("A", 0): 8, ("B", 0): 8})
    assert result is not None
    assert [s.extent.value for s in walk(result.func.body) if isinstance(s, For)] == [14]
    assert any("loop i keeps its extent" in line for line in result.report)


def test_indices_from_a_buffer_are_not_taken_from_its_padding() -> None:
    func = func_of(
        """
def f(I: T.Buffer((6,), "int32"), A: T.Buffer((5,), "float32"), B: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        B[i] = A[I[i]]
"""
    )
    result = check(func, {("I", 0): 4})
    assert result is not None
    assert any("loop i keeps its extent" in line for line in result.report)


def test_dimensions_that_are_divided_already_change_nothing() -> None:
    func = func_of(ROW.format(dtype="float32", init="0.0", step="B[i] + A[i, j]"))
    result = pad(func, {("A", 1): 7, ("B", 0): 3})
    assert result.func is func and result.report == ()


def test_shards_of_one_dimension_may_differ_in_number() -> None:
    func = func_of(ROW.format(dtype="float32", init="0.0", step="B[i] + A[i, j]"))
    result = check(func, {("A", 0): 4, ("B", 0): 5})
    assert result is not None and guards(result) == 0
    assert [s.extent.value for s in walk(result.func.body) if isinstance(s, For)] == [20, 14]


@st.composite
def cut_programs(draw: st.DrawFn) -> tuple[PrimFunc, dict[tuple[str, int], int]]:
    """A random program of known sizes, and into how many parts some of its dimensions are cut."""
    func = parse(draw(program_texts())).funcs[0]
    func = specialize(func, {v.name: draw(st.integers(1, 6)) for v in shape_vars(func)})
    dims = [(b.name, d) for b in func.buffers for d in range(len(b.shape))]
    return func, {dim: draw(st.sampled_from((1, 2, 3, 4, 8))) for dim in dims}


@pytest.mark.fuzz
@few(3)
@given(cut_programs())
def test_random_programs(cut: tuple[PrimFunc, dict[tuple[str, int], int]]) -> None:
    check(*cut)


@pytest.mark.fuzz
@settings(max_examples=2000)
@given(cut_programs(), st.integers(0, 5))
def test_many_random_programs(cut: tuple[PrimFunc, dict[tuple[str, int], int]], seed: int) -> None:
    check(*cut, seed)
