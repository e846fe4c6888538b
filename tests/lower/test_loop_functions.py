"""Loops that XLA:CPU compiles as one function, alone and in transformations of JAX."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc
from lower import compile
from lower.emission.function import emit_function
from lower.runtime.callable import Kernel
from lowered import assert_agrees, read, small_numbers
from profiles import some

ENVELOPE = (
    'X: T.Buffer((40, 6), "float32"), Y: T.Buffer((40, 6), "float32")',
    """s = T.alloc_buffer((6,), "float32")
for j in range(6):
    s[j] = 0.5
for t in range(40):
    for j in range(6):
        s[j] = T.max(T.sin(s[j]) * 0.5, X[t, j] * 0.25)
        Y[t, j] = s[j] + X[39 - t, j]""",
)


def marked(function: Callable[..., object], *args: object) -> bool:
    """Whether the compiler gets a call that it compiles as one function."""
    return 'xla_cpu_small_call = "true"' in jax.jit(function).lower(*args).as_text()


@pytest.fixture(scope="module")
def envelope() -> Kernel:
    return compile(read(*ENVELOPE))


def test_a_loop_is_one_function(envelope: Kernel) -> None:
    func = read(*ENVELOPE)
    inputs = small_numbers(func, 0)
    assert "as_function(" in envelope.source and marked(envelope.jitted, inputs["X"])
    assert_agrees(func, envelope, inputs, rtol=1e-5)


@pytest.mark.fuzz  # long, and others test most of it
def test_derivatives_and_batches_are_those_of_the_loop(envelope: Kernel) -> None:
    plain = Kernel(emit_function(read(*ENVELOPE), without=frozenset(("structure.loop_function",))), jax.devices()[0])
    assert "as_function(" not in plain.source
    x = jnp.asarray(np.random.default_rng(1).normal(size=(40, 6)), jnp.float32)
    several = jnp.stack([x, -x, 2 * x])

    def plainly(kernel: Kernel) -> Callable[[jax.Array], jax.Array]:
        return lambda x: kernel(x)[0]

    def total(kernel: Kernel) -> Callable[[jax.Array], jax.Array]:
        return lambda x: jnp.sum(jnp.square(kernel(x)[0]))

    def together(kernel: Kernel) -> Callable[[jax.Array], jax.Array]:
        return lambda s: jnp.sum(jax.vmap(total(kernel))(s))

    def results(k: Kernel) -> list[jax.Array]:
        return [
            jax.jit(jax.grad(total(k)))(x),
            jax.vmap(plainly(k))(several),
            jax.vmap(jax.grad(total(k)))(several),
            jax.grad(together(k))(several),
            jax.lax.scan(lambda c, _: (plainly(k)(c), None), x, None, 3)[0],
            jax.grad(jax.checkpoint(total(k)))(x),
            export.deserialize(export.export(jax.jit(plainly(k)))(x).serialize()).call(x),
        ]

    for found, want in zip(results(envelope), results(plain), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_no_function_keeps_what_is_traced(envelope: Kernel) -> None:
    with jax.check_tracer_leaks():
        assert marked(envelope.jitted, jnp.ones((40, 6)))


@pytest.mark.parametrize("columns", [4, 4000])
def test_no_large_array_is_copied_for_each_step_of_a_loop_around(columns: int) -> None:
    params = f'A: T.Buffer((20, {columns}), "float32"), B: T.Buffer((20, 400), "float32")'
    body = """for t in range(1, 20):
    for j in range(400):
        B[t, j] = T.sin(B[t - 1, 399 - j]) + A[t - 1, 3]
    for k in range(1, 4):
        A[t, k] = T.sin(A[t, k - 1]) + B[t, k]"""
    func = read(params, body)
    kernel, inputs = compile(func), small_numbers(func, 4)
    assert "again=True" in kernel.source and marked(kernel.jitted, *inputs.values()) == (columns == 4)
    assert_agrees(func, kernel, inputs, rtol=1e-4)


STEPS = {
    "64 bits": ('A: T.Buffer((20,), "int64"), s: T.Buffer((1,), "int64")', "for i in range(20):\n    s[0] = (s[0] * 31 + A[i]) % 1000003"),
    "nothing is left of what it is given": ('A: T.Buffer((9,), "float32")', "for i in range(9):\n    A[i] = 0.0\nfor i in range(1, 9):\n    A[i] = T.cos(A[i - 1])"),
    "two stores to one array": ('A: T.Buffer((12, 5), "int32")', "for t in range(11):\n    for j in range(5):\n        A[t + 1, j] = A[t, 4 - j] // 2 + A[t + 1, j]\n    A[t, 2] = A[t + 1, 3] - 1"),
    "places that data say": ('P: T.Buffer((15,), "int32"), H: T.Buffer((4,), "int32")', "for i in range(15):\n    H[P[i] % 4] = T.max(H[(P[i] + 1) % 4] + 1, P[i])"),
    "a loop inside": ('A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32")', "for i in range(9):\n    for j in range(i):\n        B[i] = T.max(B[i], B[j] + (A[j] + i) % 3)"),
    "a step of an open number": ('n: T.int32, A: T.Buffer((n,), "int32"), s: T.Buffer((1,), "int32")', "for i in range(n):\n    s[0] = T.max(s[0] % 7, A[i])"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(STEPS, 0.4))
def test_loops_of_all_kinds(name: str) -> None:
    func = read(*STEPS[name])
    inputs = {"n": np.array(8, np.int32), "A": np.arange(-3, 5).astype(np.int32), "s": np.zeros(1, np.int32)}
    kernel = compile(func)
    assert "as_function(" in kernel.source
    assert_agrees(func, kernel, inputs if "open" in name else small_numbers(func, 2), rtol=1e-6)


@pytest.mark.parametrize(
    ("params", "body"),
    [
        ('A: T.Buffer((20, 4000), "float32")', "for i in range(1, 20):\n    for j in range(4000):\n        A[i, j] = A[i, j] + T.sin(A[i - 1, 3999 - j])"),
        ('A: T.Buffer((8, 8), "float32"), x: T.Buffer((9, 8), "float32")', "for t in range(8):\n    for i in range(8):\n        x[t + 1, i] = 0.0\n        for j in range(8):\n            x[t + 1, i] = x[t + 1, i] + A[i, j] * x[t, j]"),
    ],
)  # fmt: skip
def test_long_statements_and_products_are_no_parts_of_functions(params: str, body: str) -> None:
    func: PrimFunc = read(params, body)
    kernel = compile(func)
    inputs = small_numbers(func, 3)
    assert not marked(kernel.jitted, *inputs.values())
    assert_agrees(func, kernel, inputs, rtol=1e-4)


def test_other_targets_have_no_such_functions() -> None:
    assert CPU.function > 0
    assert "as_function(" not in emit_function(read(*ENVELOPE), target=CPU.__class__("gpu")).source


def test_scans_in_turn_are_part_of_a_function() -> None:
    rows = 'A: T.Buffer((20, 30), "int32"), S: T.Buffer((20, 30), "int32")'
    body = "for i in range(1, 20):\n    for j in range(1, 30):\n        S[i, j] = T.min(S[i, j - 1] + 2, S[i - 1, j] + A[i, j])"
    func = read(rows, body)
    kernel = compile(func, replace(CPU, gather=1e5))
    assert "in_turn(" in kernel.source and "as_function(" in kernel.source
    assert_agrees(func, kernel, small_numbers(func, 0))
