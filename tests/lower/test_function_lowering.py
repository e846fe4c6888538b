"""User-defined functions in emitted code: the expression that was given, or the body; both compared with the oracle."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from test_fuzz_lowering import check

from egraph_rules import optimize
from functions import with_calls
from ir import PrimFunc, interpret, parse
from ir import script as T
from ir.errors import LowerError
from ir.testing.programs import programs
from lower import compile, emit, export
from profiles import few, some


@T.function(cost=1.0, jax="jax.nn.relu6({x})")
def relu6(x: T.float32) -> T.float32:
    return T.min(T.max(x, 0.0), 6.0)


@T.function
def gelu(x: T.float32) -> T.float32:
    return x * T.sigmoid(1.702 * x)


@T.function(jax="jnp.hypot({x}, {y})")
def hypot(x: T.float32, y: T.float32) -> T.float32:
    return T.sqrt(x * x + y * y)


@T.function(jax="{a} * {b} + {c}")
def fma(a: T.int64, b: T.int64, c: T.int64) -> T.int64:
    return c + a * b


@T.function
def swizzle(i: T.int32) -> T.int32:
    return i // 4 * 4 + (i % 4 + 1) % 4


@T.function(jax="jnp.where({i} > 0, {i}, 0)")
def positive(i: T.int32) -> T.int32:
    return T.max(i, 0)


@T.prim_func
def activation(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = gelu(relu6(A[i] * 2.0) - 1.0)


@T.prim_func
def lengths(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        C[i, j] = 2.0 * hypot(A[i], B[j] + 1.0)


@T.prim_func
def dots(A: T.Buffer((4, 8), "int64"), B: T.Buffer((8, 3), "int64"), C: T.Buffer((4, 3), "int64")):
    for i, j in T.grid(4, 3):
        C[i, j] = T.int64(0)
        for k in T.serial(8):
            C[i, j] = fma(A[i, k], B[k, j], C[i, j])


@T.prim_func
def permuted(A: T.Buffer((16,), "float32"), n: T.int32, B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if positive(i - n) > 0:
            B[swizzle(i)] = A[15 - positive(i)]
        else:
            B[swizzle(i)] = 0.0


FUNCS = (activation, lengths, dots, permuted)


@pytest.mark.parametrize("func", some(FUNCS, 1), ids=lambda f: f.name)
def test_kernels_agree_with_the_interpreter(func: PrimFunc) -> None:
    for seed in range(3):
        check(func, seed)


@pytest.mark.parametrize("func", some(FUNCS, 0.5), ids=lambda f: f.name)
def test_emitted_source_runs_with_jax_alone(func: PrimFunc) -> None:
    source = emit(func)
    assert not re.search(r"^(from|import) (?!jax|functools)", source, re.M)
    names: dict[str, object] = {}
    exec(source, names)
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, 9, [int(n.value) for n in p.shape]).astype(p.dtype.numpy) if hasattr(p, "shape") else 3
        for p in func.params
    ]
    found = names[func.name](*arrays)
    for got, want in zip(found, interpret(func, *arrays), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)


def test_the_given_expression_is_emitted_in_values_and_the_body_elsewhere() -> None:
    assert "jax.nn.relu6(A * 2.0)" in emit(activation)
    assert "jnp.hypot(A[:, None], B + 1.0)" in emit(lengths)
    assert "jnp.where(i" not in emit(permuted)  # an index shows how it moves elements


def test_an_expression_keeps_its_operators_together() -> None:
    text = """
@T.function(jax="{x} + {y}")
def plus(x: T.float32, y: T.float32) -> T.float32:
    return x + y

@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        B[i] = plus(A[i] - 1.0, 2.0) * plus(-A[i], A[i] / 3.0)
"""
    func = parse(text).funcs[0]
    check(func, 0)
    assert "(A - 1.0 + jnp.float32(2.0)) * (-A + A / 3.0)" in emit(func)


def test_emitted_code_can_be_mapped_and_differentiated() -> None:
    names: dict[str, object] = {}
    exec(emit(activation), names)
    kernel = names["activation"]
    rows = np.random.default_rng(0).normal(size=(3, 16)).astype(np.float32) * 4
    (found,) = jax.vmap(lambda row: kernel(row))(rows)
    wanted = np.stack([interpret(activation, row)[0] for row in rows])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

    def plain(row):
        x = jnp.clip(row * 2.0, 0.0, 6.0) - 1.0
        return jnp.sum(x * jax.nn.sigmoid(1.702 * x))

    gradient = jax.grad(lambda row: jnp.sum(kernel(row)[0]))(rows[0])
    np.testing.assert_allclose(gradient, jax.grad(plain)(rows[0]), rtol=1e-4, atol=1e-5)


def test_kernels_with_functions_are_exported() -> None:
    restored = jax.export.deserialize(bytearray(export(activation, platforms=["cpu"])))
    row = np.linspace(-4, 4, 16).astype(np.float32)
    np.testing.assert_allclose(restored.call(A=row)[0], interpret(activation, row)[0], rtol=1e-5, atol=1e-6)


@few(1)
@given(programs())
def test_random_programs_with_calls(func: PrimFunc) -> None:
    check(with_calls(func, every=2), 0)
    check(with_calls(func, every=2, jax=True), 0)


# Wrong expressions ---------------------------------------------------------------------------------------------------


def refused(jax_text: str, body: str = "T.max(x, y)", dtype: str = "float32") -> LowerError:
    text = f"""
@T.function(jax="{jax_text}")
def g(x: T.{dtype}, y: T.{dtype}) -> T.{dtype}:
    return {body}

@T.prim_func
def f(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    for i in T.serial(4):
        B[i] = g(A[i], A[3 - i])
"""
    with pytest.raises(LowerError) as caught:
        emit(parse(text, "k.py").funcs[0])
    error = caught.value
    assert (error.code, error.span.line) == ("jax-expression", 3)
    assert "element by element" in error.help
    return error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jnp.minimum({x}, {y})", "but the body gives"),
        ("jnp.max({x})", "shape"),
        ("lax.max({x}, {y})", "same number of dimensions"),
        ("({x} > {y})", "bool"),
        ("jnp.maximum({x}, {y}).astype(jnp.float16)", "float16"),
        ("jnp.maximum({x}, {x})", "the arguments broadcast to"),
        ("jnp.maximum({x}, {y} + 0.01)", "but the body gives"),
    ],
)
def test_a_wrong_expression_is_refused(text: str, said: str) -> None:
    assert said in refused(text).message


def test_integers_are_compared_exactly() -> None:
    assert "but the body gives" in refused("({x} / {y}).astype(jnp.int32)", "x // y", "int32").message


def test_approximations_of_floats_are_accepted_within_their_precision() -> None:
    text = """
@T.function(jax="{x} * lax.rsqrt({x} * {x} + 1.0)")
def g(x: T.float32) -> T.float32:
    return x / T.sqrt(x * x + 1.0)

@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        B[i] = g(A[i])
"""
    func = parse(text).funcs[0]
    assert "rsqrt" in emit(func)
    check(func, 0)


def test_functions_without_parameters_and_of_64_bits() -> None:
    text = """
@T.function(jax="jnp.float64(jnp.pi)")
def pi() -> T.float64:
    return T.float64(3.141592653589793)

@T.prim_func
def f(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
    for i in T.serial(4):
        B[i] = A[i] * pi()
"""
    func = parse(text).funcs[0]
    check(func, 0)
    assert "jnp.float64(jnp.pi)" in emit(func)


def test_calls_in_shapes_and_bounds_are_put_in_place() -> None:
    text = """
@T.function
def padded(n: T.int32) -> T.int32:
    return (n + 3) // 4 * 4

@T.prim_func
def f(n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    L = T.alloc_buffer((padded(n),), "float32")
    for i in T.serial(padded(n)):
        L[i] = T.if_then_else(i < n, A[i], 0.0)
    for i in T.serial(n):
        B[i] = L[i] + L[padded(n) - 1]
"""
    func = parse(text).funcs[0]
    array = np.arange(6, dtype=np.float32)
    (found,) = compile(func)(6, array)
    np.testing.assert_allclose(found, interpret(func, 6, array)[0])


def test_an_expression_of_too_many_operations_is_refused() -> None:
    body = "B[i] = " + "g(" * 25 + "A[i]" + ")" * 25  # 3 to the power of 25 of them
    text = f"""
@T.function
def g(x: T.float32) -> T.float32:
    return x * x + x * 2.0

@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        {body}
"""
    with pytest.raises(LowerError) as caught:
        emit(parse(text).funcs[0])
    assert caught.value.code == "too-large"


def test_kernels_are_functions_that_are_pickled_and_copied() -> None:
    text = """
@T.prim_func
def shifted(A: T.Buffer((4,), "float32"), by: T.float32, B: T.Buffer((4,), "float32")):
    '''Add a number.

      To each element.
    '''
    for i in T.serial(4):
        B[i] = A[i] + by
"""
    kernel = compile(parse(text)["shifted"])
    assert str(kernel.__doc__).startswith("Add a number.\n\nTo each element.\n\nKernel shifted(A: float32[4]")
    assert "Add a number" in pydoc.render_doc(compile(optimize(parse(text)["shifted"]).best))
    assert parse(str(kernel.func))["shifted"].docstring == kernel.func.docstring
    assert kernel.__name__ == "shifted" and list(inspect.signature(kernel).parameters) == ["A", "by", "B"]
    inspect.signature(kernel).bind(1, 2)
    other = pickle.loads(pickle.dumps(kernel))
    assert other.source == kernel.source and other.report == kernel.report and copy.deepcopy(kernel) is kernel
    A = np.arange(4, dtype=np.float32)
    assert np.array_equal(other(A, 2.0)[0], kernel(A, 2.0)[0])


COUNTED = """
@T.prim_func
def counted(n: T.uint32, x: T.Buffer((), "float32"), B: T.Buffer((8,), "uint32"), y: T.Buffer((), "float32")):
    T.assume(n >= T.uint32(8) and n <= T.uint32(LIMIT))
    y[()] = x[()]
    for i in T.serial(n - T.uint32(8), n):
        for j in T.serial(i - T.uint32(2), i):
            B[0] = B[0] * T.uint32(3) + i * j
        B[i - (n - T.uint32(8))] = B[0] + i
        y[()] = y[()] * T.float32(0.5) + x[()]
"""


@pytest.mark.parametrize("n", some([10, 2**31 + 3, 2**32 - 1], 0.45))
def test_unsigned_loops_count_as_far_as_their_dtype_goes(n: int) -> None:
    func = parse(COUNTED.replace("LIMIT", str(2**32 - 1)))["counted"]
    inputs = {"n": np.uint32(n), "x": np.float32(1.5), "B": np.arange(8, dtype=np.uint32)}
    wanted = interpret(func, y=np.float32(0), **inputs)
    for program in (func, optimize(func).best):
        for one, other in zip(compile(program)(**inputs), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
