"""Differential comparison of programs on the interpreter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir import to_script
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.nodes import Let, PrimFunc
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.interpret import interpret_refined, interpret_with_undef
from ir.traverse import results_of, walk

# Reassociation moves the last bits: a few units per operation of a short reduction, of the largest value around.
TOLERANCE = {DType.FLOAT64: 1e-9, DType.FLOAT32: 1e-4, DType.FLOAT16: 2e-2, DType.BFLOAT16: 1e-1}
SEEDS = (0, 1, 2)  # of what bindings freeze

Results = dict[str, tuple[np.ndarray, np.ndarray]]


def assert_refines(
    original: PrimFunc, optimized: PrimFunc, rng: np.random.Generator, runs: int = 3, exact: bool | None = None
) -> int:
    """Check that `optimized` does what `original` allows, on inputs that satisfy its assumptions.

    Elements that are undef in the original, or hang on what a binding froze, may hold anything. Integers and bools
    must be equal, floats as well if `exact`; else they agree within a tolerance, and where the original is finite.
    Inputs on which the original faults are drawn again, a few times; returns how many runs were compared.
    """
    compared = 0
    for _ in range(4 * runs):
        if compared == runs:
            break
        try:
            inputs = random_inputs(original, rng)
            expected = [_run(original, inputs, seed) for seed in _seeds(original)]
        except LoopsatError:
            continue
        for seed in _seeds(optimized):
            try:
                found = _run(optimized, inputs, seed, refined=True)
            except InterpretError as error:
                raise AssertionError(f"{error}\n{_both(original, optimized)}\ninputs: {inputs}") from error
            _compare(original, optimized, expected, found, inputs, bool(exact))
        compared += 1
    return compared


def assert_same(original: PrimFunc, optimized: Sequence[PrimFunc], inputs: Inputs) -> None:
    """Check that programs without bindings do what `original` allows, on inputs on which it does not fault."""
    expected = [_run(original, inputs, 0)]
    for func in optimized:
        _compare(original, func, expected, _run(func, inputs, 0, refined=True), inputs, False)


def _seeds(func: PrimFunc) -> tuple[int, ...]:
    return SEEDS if any(isinstance(s, Let) for s in walk(func.body)) else SEEDS[:1]


def _run(func: PrimFunc, inputs: Inputs, seed: int, refined: bool = False) -> Results:
    """All buffer parameters after a run, with the masks of what is undef."""
    written = results_of(func)
    run = interpret_refined(func, inputs, seed) if refined else interpret_with_undef(func, **inputs, seed=seed)
    results = iter(run)
    untouched = {b.name: (np.asarray(inputs[b.name]), np.zeros(np.shape(inputs[b.name]), bool)) for b in func.buffers}
    return untouched | {b.name: next(results) for b in func.buffers if b in written}


def _compare(
    original: PrimFunc, optimized: PrimFunc, expected: list[Results], found: Results, inputs: Inputs, exact: bool
) -> None:
    for buffer in original.buffers:
        values, undef = expected[0][buffer.name]
        free = undef.copy()
        for other, other_undef in (results[buffer.name] for results in expected[1:]):
            free |= other_undef | ((other != values) & ~((other != other) & (values != values)))
        got, got_undef = found[buffer.name]
        both = f"{_both(original, optimized)}\ninputs: {inputs}\n{buffer.name}: {values}\nfound: {got}"
        assert not (got_undef & ~free).any(), f"{buffer.name} became undef\n{both}"
        if buffer.dtype.is_float and not exact:
            want, have = values.astype(float), got.astype(float)
            free |= ~np.isfinite(want)
            around = [want[~free], *(np.asarray(v, float) for v in inputs.values())]
            largest = max(1.0, *(float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in around))
            same = np.abs(want[~free] - have[~free]) <= TOLERANCE[buffer.dtype] * largest
        else:
            same = (values == got)[~free] | ((values != values) & (got != got))[~free]
        assert same.all(), f"{buffer.name} differs\n{both}"


def _both(original: PrimFunc, optimized: PrimFunc) -> str:
    return f"original:\n{to_script(original)}\noptimized:\n{to_script(optimized)}"
