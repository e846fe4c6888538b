"""Random programs: the compiled kernel gives what the interpreter gives."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings

from compare import TOLERANCE
from ir import PrimFunc, parse, to_script
from ir.errors import InterpretError, LoopsatError
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.testing.programs import program_texts
from ir.traverse import results_of
from lower import compile
from profiles import few
from symbolic import with_numbers_and_with_symbols


def check(func: PrimFunc, seed: int) -> None:
    rng = np.random.default_rng(seed)
    try:
        inputs = random_inputs(func, rng)
        expected = interpret_with_undef(func, **inputs)
    except (InterpretError, LoopsatError):
        return
    written = results_of(func)
    buffers = [b for b in func.buffers if b in written]
    for same, sizes in with_numbers_and_with_symbols(func):
        kernel = compile(same, verify=not sizes)  # nothing says how symbols relate to numbers
        found = kernel(**inputs, **sizes)
        for buffer, (values, undef), got in zip(buffers, expected, found, strict=True):
            want, have = values[~undef], np.asarray(got)[~undef]
            tolerance = TOLERANCE.get(buffer.dtype, 0.0)
            equal = np.allclose(want, have, rtol=tolerance, atol=tolerance, equal_nan=True)
            assert equal, f"{buffer.name}: {want} {have}\n{to_script(same)}\n{kernel.source}\n{inputs}"


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_code():
    yield
    jax.clear_caches()


@few(6)
@given(program_texts())
def test_kernels_agree_with_the_interpreter(text: str) -> None:
    check(parse(text).funcs[0], 0)


@pytest.mark.fuzz
@settings(max_examples=2000)
@given(program_texts())
def test_many_kernels(text: str) -> None:
    check(parse(text).funcs[0], 1)


def test_a_symbolic_count_of_equal_terms() -> None:
    head = '@T.prim_func\ndef f(B: T.Buffer((3,), "int32"), n: T.int32):'
    text = f"{head}\n    for i in range(n):\n        B[0] = B[0] - 3\n"
    check(parse(text).funcs[0], 0)
