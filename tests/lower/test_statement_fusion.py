"""Updates of one place, each under a border test of its own, as one statement with padded reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from ir import parse
from ir.semantics.interpret import interpret
from lower import compile
from lower.emission.function import emit_function
from profiles import some

ANY = replace(CPU, padded_read=0.0, padded_vector=0.0, padded_branch=0.0)
COPIES = replace(ANY, padded_branch=1e9, padded_vectors=0)  # merged, and then from a padded copy


def agrees(text: str, target: Target, **given: Any) -> str:
    """The source, after a comparison with the interpreter; buffers that are not given hold small integers."""
    func = parse(text).funcs[0]
    rng = np.random.default_rng(0)
    inputs = []
    for buffer in func.buffers:
        shape = [int(d.value) for d in buffer.shape]  # type: ignore[attr-defined]
        inputs.append(given.get(buffer.name, rng.integers(-9, 10, shape).astype(buffer.dtype.numpy)))
    for expected, found in zip(interpret(func, *inputs), compile(func, target)(*inputs), strict=True):
        np.testing.assert_array_equal(found, expected)
    return emit_function(func, target=target).source


def star(shape: tuple[int, ...], dtype: str = "float32", factor: str = "", steps: int = 0, op: str = "+") -> str:
    """A sum over neighbours, a border test for each; then, in time steps, a copy back."""
    axes = [f"i{d}" for d in range(len(shape))]
    here = ", ".join(axes)
    lines = [f"for {here} in T.grid({', '.join(map(str, shape))}):", f"    B[{here}] = A[{here}] * A[{here}]"]
    for d, (axis, size) in enumerate(zip(axes, shape, strict=True)):
        for sign, guard in (("-", f"{axis} > 0"), ("+", f"{axis} < {size - 1}")):
            there = ", ".join(f"{a} {sign} 1" if k == d else a for k, a in enumerate(axes))
            lines += [f"    if {guard}:", f"        B[{here}] = B[{here}] {op} {factor}A[{there}]"]
    if steps:
        lines += [lines[0], f"    A[{here}] = B[{here}]"]
        lines = [f"for t in T.serial({steps}):", *(f"    {line}" for line in lines)]
    buffers = "".join(f', {name}: T.Buffer({shape}, "{dtype}")' for name in "AB")
    return f"@T.prim_func\ndef f({buffers[2:]}):\n" + "\n".join(f"    {line}" for line in lines) + "\n"


@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5)])
@pytest.mark.parametrize("dtype", some(["float32", "int32"], 1))
def test_a_stencil_with_a_test_for_each_neighbour_is_one_statement(shape: tuple[int, ...], dtype: str) -> None:
    for target in (ANY, COPIES):
        source = agrees(star(shape, dtype), target)
        assert ".at[" not in source and "jnp.where" not in source and "jnp.pad" in source
    assert "wide_A" in source


@pytest.mark.parametrize("op", ["+", "-"])
def test_steps_over_time(op: str) -> None:
    source = agrees(star((5, 4), "int32", "2 * ", 3, op), CPU)
    assert ".at[" not in source and "jnp.where" not in source


def test_prices_decide() -> None:
    assert ".at[" in agrees(star((9,)), CPU)  # along a single axis such reads are no vector code
    inner = agrees(star((6, 5)), CPU)
    assert inner.count(".at[") == 2 and inner.count("jnp.pad") == 2  # nor along the innermost one, where they are added
    assert ".at[" not in agrees(star((6, 5), factor="0.5 * "), CPU)


GUARDED = """
@T.prim_func
def f(A: T.Buffer((6, 5), "float32"), C: T.Buffer((6, 5), "float32"), B: T.Buffer((6, 5), "float32")):
    for i, j in T.grid(6, 5):
        B[i, j] = 2.0 * A[i, j]
        if GUARD:
            B[i, j] = B[i, j] + TERM
"""


@pytest.mark.parametrize(
    ("guard", "term"),
    [
        ("i > 1", "A[i - 1, j]"),  # row 0 is there, and not wanted
        ("i == 3", "A[i - 1, j]"),
        ("i > 0 and A[i, j] > 0.0", "A[i - 1, j]"),
        ("i > 0", "A[i - 1, j] + 1.0"),
        ("i > 0", "T.exp(A[i - 1, j])"),
    ],
)
def test_other_guards_keep_their_statements(guard: str, term: str) -> None:
    text = GUARDED.replace("GUARD", guard).replace("TERM", term)
    func = parse(text).funcs[0]
    A, C, B = np.random.default_rng(0).uniform(-1, 1, (3, 6, 5)).astype(np.float32)
    for expected, found in zip(interpret(func, A, C, B), compile(func, ANY)(A, C, B), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert ".at[" in emit_function(func, target=ANY).source or "where" in emit_function(func, target=ANY).source


def test_factors_that_are_not_read_at_the_border_may_be_anything() -> None:
    text = GUARDED.replace("GUARD", "i > 0").replace("TERM", "C[i, j] * A[i - 1, j]")
    C = np.ones((6, 5), np.float32)
    C[0] = np.nan
    agrees(text, ANY, C=C)


def test_what_is_read_in_between_is_the_value_before() -> None:
    text = GUARDED.replace("GUARD", "i > 0").replace("TERM", "A[i - 1, j]")
    text = text.replace("        if i", "        C[i, j] = B[i, j]\n        if i")
    agrees(text, ANY)
