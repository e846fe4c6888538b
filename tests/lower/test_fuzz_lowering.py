"""Random programs: the compiled kernel, optimized or not, gives what the interpreter gives, under every policy."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import TOLERANCE
from egraph_rules import Floats, optimize
from egraph_rules.engine.phases import DEFAULT_BUDGET
from ir import PrimFunc, parse, to_script
from ir.errors import LoopsatError
from ir.floats import DEFAULT_FLOATS
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.testing.programs import program_texts
from ir.traverse import results_of
from lower import compile
from profiles import few
from symbolic import with_sizes_as_symbols


def check_form(
    func: PrimFunc, seed: int, *, symbols: bool, searched: bool = False, floats: Floats = DEFAULT_FLOATS
) -> None:
    """Compare a kernel with the interpreter: bit for bit if strict, and else where the results are finite."""
    try:
        inputs = random_inputs(func, np.random.default_rng(seed))
        expected = interpret_with_undef(func, **inputs)
    except LoopsatError:  # it faults, or nothing satisfies what it assumes
        return
    same, sizes = with_sizes_as_symbols(func) if symbols else (func, {})
    verified = not sizes  # nothing says how symbols relate to numbers
    best = optimize(same, floats=floats, budget=DEFAULT_BUDGET, verify=verified).best if searched else same
    kernel = compile(best, floats=floats, verify=verified)
    found = kernel(**inputs, **sizes)
    written = results_of(func)
    buffers = [b for b in func.buffers if b in written]
    finite = all(np.isfinite(values[~undef].astype(float)).all() for values, undef in expected)
    if floats is not Floats.STRICT and not finite:
        return
    for buffer, (values, undef), got in zip(buffers, expected, found, strict=True):
        want, have = values[~undef], np.asarray(got)[~undef]
        if floats is Floats.STRICT or not buffer.dtype.is_float:
            equal = np.array_equal(want, have, equal_nan=buffer.dtype.is_float)
            equal = equal and np.array_equal(np.signbit(want), np.signbit(have))
        else:
            tolerance = TOLERANCE[buffer.dtype]
            equal = np.allclose(want, have, rtol=tolerance, atol=tolerance)
        said = f"{floats}\n{to_script(same)}\n{to_script(best)}\n{kernel.source}\n{inputs} {sizes}"
        assert equal, f"{buffer.name}: {want} {have}\n{said}"


def check(func: PrimFunc, seed: int) -> None:
    """Compare kernels of a function as it is, with numbers and with symbols for sizes."""
    for symbols in (False, True):
        check_form(func, seed, symbols=symbols)


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_code():
    yield
    jax.clear_caches()


@few(6)
@given(program_texts(), st.booleans())
def test_kernels_agree_with_the_interpreter(text: str, symbols: bool) -> None:
    check_form(parse(text).funcs[0], 0, symbols=symbols)


@few(6)
@given(program_texts(), st.booleans(), st.booleans())
def test_optimized_kernels_agree_with_the_interpreter(text: str, symbols: bool, strict: bool) -> None:
    floats = Floats.STRICT if strict else DEFAULT_FLOATS
    check_form(parse(text).funcs[0], 0, symbols=symbols, searched=True, floats=floats)


@pytest.mark.fuzz
@settings(max_examples=2000)
@given(program_texts(), st.booleans(), st.booleans(), st.booleans())
def test_many_kernels(text: str, symbols: bool, strict: bool, searched: bool) -> None:
    floats = Floats.STRICT if strict else DEFAULT_FLOATS
    check_form(parse(text).funcs[0], 1, symbols=symbols, searched=searched, floats=floats)


def test_a_symbolic_count_of_equal_terms() -> None:
    head = '@T.prim_func\ndef f(B: T.Buffer((3,), "int32"), n: T.int32):'
    text = f"{head}\n    for i in range(n):\n        B[0] = B[0] - 3\n"
    check(parse(text).funcs[0], 0)
