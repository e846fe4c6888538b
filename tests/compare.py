"""Differential comparison of programs on the interpreter."""

from __future__ import annotations

import numpy as np

from ir import to_script
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.inputs import random_inputs
from ir.interpret import interpret_with_undef
from ir.nodes import PrimFunc
from ir.traverse import buffers_written

# Reassociation moves the last bits: a few units per operation of a short reduction.
TOLERANCE = {DType.FLOAT64: 1e-9, DType.FLOAT32: 1e-4, DType.FLOAT16: 2e-2, DType.BFLOAT16: 1e-1}


def assert_refines(original: PrimFunc, optimized: PrimFunc, rng: np.random.Generator, runs: int = 3) -> int:
    """Check that `optimized` does what `original` allows, on inputs that satisfy its assumptions.

    Elements that are undef in the original may hold anything. Inputs on which the original faults are skipped; returns
    how many runs were compared.
    """
    compared = 0
    for _ in range(runs):
        try:
            inputs = random_inputs(original, rng)
        except LoopsatError:
            continue
        try:
            expected = interpret_with_undef(original, **inputs)
        except InterpretError:
            continue
        try:
            found = interpret_with_undef(optimized, **inputs)
        except InterpretError as error:
            raise AssertionError(f"{error}\n{_both(original, optimized)}\ninputs: {inputs}") from error
        _compare(original, optimized, expected, found, inputs)
        compared += 1
    return compared


def _compare(original: PrimFunc, optimized: PrimFunc, expected, found, inputs) -> None:
    written = buffers_written(original.body)
    buffers = [b for b in original.buffers if b in written]
    # A buffer that the optimized program no longer writes keeps what was passed in.
    left = [b for b in optimized.buffers if b in buffers_written(optimized.body)]
    results = dict(zip((b.name for b in left), found, strict=True))
    for buffer, (values, undef) in zip(buffers, expected, strict=True):
        got, got_undef = results.get(buffer.name, (inputs[buffer.name], np.zeros(values.shape, bool)))
        both = f"{_both(original, optimized)}\ninputs: {inputs}\n{buffer.name}: {values}\nfound: {got}"
        assert not (got_undef & ~undef).any(), f"{buffer.name} became undef\n{both}"
        want, have = values[~undef], got[~undef]
        if buffer.dtype.is_float:
            tolerance = TOLERANCE[buffer.dtype]
            same = np.allclose(want.astype(float), have.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            same = np.array_equal(want, have)
        assert same, f"{buffer.name} differs\n{both}"


def _both(original: PrimFunc, optimized: PrimFunc) -> str:
    return f"original:\n{to_script(original)}\noptimized:\n{to_script(optimized)}"
