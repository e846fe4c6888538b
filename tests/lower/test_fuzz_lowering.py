"""Random programs: the compiled kernel, optimized or not, gives what the interpreter gives, under every policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.testing.programs import program_texts
from ir.traverse import results_of
from lower import compile, export
from lower.emission.function import emit_function
from lower.runtime.callable import Kernel
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


def check_export(func: PrimFunc, seed: int) -> None:
    """Compare an artefact with the interpreter; it takes what it says, and what it does not take has no influence."""
    try:
        inputs = random_inputs(func, np.random.default_rng(seed))
        expected = interpret_with_undef(func, **inputs)
    except LoopsatError:
        return
    sizes = {v.name: int(inputs[v.name]) for v in emit_function(func, floats=Floats.STRICT).static}
    artefact = jax.export.deserialize(bytearray(export(func, ["cpu"], floats=Floats.STRICT, sizes=sizes)))
    _, taken = jax.tree.unflatten(artefact.in_tree, artefact.in_avals)
    with jax.enable_x64(True):
        found = artefact.call(**{name: np.asarray(inputs[name], given.dtype) for name, given in taken.items()})
    for buffer, (values, undef), got in zip(results_of(func), expected, found, strict=True):
        np.testing.assert_array_equal(np.asarray(got)[~undef], values[~undef], f"{buffer.name}\n{to_script(func)}")


def check_derivatives(func: PrimFunc, seed: int) -> None:
    """Compare what is differentiated of an optimized kernel with the kernel as written, and both modes."""
    rng = np.random.default_rng(seed)
    try:
        inputs = random_inputs(func, rng)
        expected = interpret_with_undef(func, **inputs)
    except LoopsatError:
        return
    if any(undef.any() or not np.isfinite(values.astype(float)).all() for values, undef in expected):
        return
    best = optimize(func, budget=DEFAULT_BUDGET).best
    said = f"{to_script(func)}\n{to_script(best)}\n{inputs}"
    floats = {b.name: np.asarray(inputs[b.name]) for b in func.buffers if b.dtype.is_float}
    along = {name: rng.normal(size=a.shape).astype(a.dtype) for name, a in floats.items()}
    kernels = [compile(func), compile(best)]
    with kernels[0].context():
        functions = [_of_floats(kernel, inputs) for kernel in kernels]
        wanted, forward = (jax.jvp(f, (floats,), (along,))[1] for f in functions)
        _assert_near(wanted, forward, said)
        weights = [rng.normal(size=t.shape).astype(t.dtype) for t in forward]
        (wanted,), (backward,) = (jax.vjp(f, floats)[1](weights) for f in functions)
    _assert_near([wanted[name] for name in floats], [backward[name] for name in floats], said)


def _of_floats(kernel: Kernel, inputs: Inputs) -> Callable[[Mapping[str, Any]], list[Any]]:
    return lambda floats: [r for r in kernel(**{**inputs, **floats}) if r.dtype.kind == "f"]


def _assert_near(wanted: list[Any], found: list[Any], said: str) -> None:
    for want, have in zip(wanted, found, strict=True):
        largest = max(1.0, float(np.abs(want).max(initial=0.0)))
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4 * largest, err_msg=said)


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_code():
    yield
    jax.clear_caches()


@few(4)
@given(program_texts(), st.booleans())
def test_kernels_agree_with_the_interpreter(text: str, symbols: bool) -> None:
    check_form(parse(text).funcs[0], 0, symbols=symbols)


@few(3)
@given(program_texts(), st.booleans(), st.booleans())
def test_optimized_kernels_agree_with_the_interpreter(text: str, symbols: bool, strict: bool) -> None:
    floats = Floats.STRICT if strict else DEFAULT_FLOATS
    check_form(parse(text).funcs[0], 0, symbols=symbols, searched=True, floats=floats)


@few(4)
@given(program_texts())
def test_artefacts_agree_with_the_interpreter(text: str) -> None:
    check_export(parse(text).funcs[0], 0)


@few(2)
@given(program_texts("float32"))
def test_derivatives_are_those_of_the_program_as_written(text: str) -> None:
    check_derivatives(parse(text).funcs[0], 0)


@pytest.mark.fuzz
@settings(max_examples=1000)
@given(program_texts())
def test_many_artefacts(text: str) -> None:
    check_export(parse(text).funcs[0], 1)


@pytest.mark.fuzz
@settings(max_examples=500)
@given(program_texts("float32"))
def test_derivatives_of_many_programs(text: str) -> None:
    check_derivatives(parse(text).funcs[0], 1)


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
