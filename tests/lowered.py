"""Kernels compared with the reference interpreter."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import jax
import numpy as np

from egraph_rules.cost.target import CPU, Target
from ir import PrimFunc, interpret, parse
from ir.semantics.interpret import interpret_with_undef
from ir.traverse import results_of
from lower import compile
from lower.emission.function import emit_function
from lower.runtime.callable import Kernel
from symbolic import with_numbers_and_with_symbols


def assert_agrees(
    func: PrimFunc, kernel: Kernel, inputs: Mapping[str, np.ndarray], rtol: float = 0.0, atol: float | None = None
) -> None:
    """Results of a kernel are those of the interpreter, where that knows them: the same numbers, or about."""
    names = [b.name for b in results_of(func)]
    expected = interpret_with_undef(func, **{name: np.copy(value) for name, value in inputs.items()})
    for name, (values, undef), got in zip(names, expected, kernel(**inputs), strict=True):
        want, have = values[~undef], np.asarray(got)[~undef]
        text = f"{name} of\n{kernel.source}"
        np.testing.assert_allclose(have, want, rtol=rtol, atol=rtol if atol is None else atol, err_msg=text)


def kernel_of(func: PrimFunc, target: Target = CPU) -> Kernel:
    """The kernel that lowering makes of a function by a target's prices, whatever else there may be for that target."""
    return Kernel(emit_function(func, target=target), jax.devices()[0])


def unwrapped(source: str) -> str:
    """Source with each statement in one line, and strings in single quotes."""
    return ast.unparse(ast.parse(source))


def read(params: str, body: str, above: str = "") -> PrimFunc:
    """A function `f` of these parameters with these statements, with the text of what it calls `above`."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return parse(f"{above}@T.prim_func\ndef f({params}):\n{lines}\n")["f"]


def agreeing_source(func: PrimFunc, seeds: int = 1, **given: np.ndarray) -> str:
    """The source of a function of integers after comparisons with the interpreter, on small numbers where none are
    `given`."""
    kernel = compile(func)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        drawn = {b.name: rng.integers(-9, 10, [int(d.value) for d in b.shape]) for b in func.buffers}
        inputs = {n: given.get(n, v).astype(np.int32) for n, v in drawn.items()}
        assert_agrees(func, kernel, inputs)
    return kernel.source


def small_numbers(func: PrimFunc, seed: int) -> dict[str, np.ndarray]:
    """Small whole numbers for all buffers, of which products and sums are exact in every dtype."""
    rng = np.random.default_rng(seed)
    shapes = {b.name: [int(d.value) for d in b.shape] for b in func.buffers}
    return {b.name: rng.integers(-3, 4, shapes[b.name]).astype(b.dtype.numpy) for b in func.buffers}


def exact_source(func: PrimFunc, inputs: Mapping[str, np.ndarray], target: Target, symbols: bool = False) -> str:
    """The source for a target, after its results were compared with the interpreter's, exactly.

    With `symbols`, those of the function over symbolic sizes too.
    """
    kernels = [
        (compile(f, target, verify=not sizes), sizes)
        for f, sizes in with_numbers_and_with_symbols(func)
        if symbols or not sizes
    ]
    expected = interpret(func, **inputs)
    for kernel, sizes in kernels:
        for want, found in zip(expected, kernel(**inputs, **sizes), strict=True):
            np.testing.assert_array_equal(np.asarray(found), want, err_msg=kernel.source)
    return kernels[0][0].source
