"""Bounds of loops that read what statements store: these buffers stay what they are when statements move."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from forced import alternatives
from ir import PrimFunc, parse
from ir.errors import LowerError
from ir.semantics.interpret import interpret_with_undef
from lower import compile
from lower.emission.in_place_conditional import BETWEEN, GIVEN
from lower.runtime.kernel import Kernel
from lowered import assert_agrees, kernel_of, read
from profiles import some

MASKS = replace(CPU, name="masks", step=1e4, scalar=1e4)
PHASES = replace(CPU, name="phases", phase=0.0, section=0.0, launch=0.0, step=0.0, scalar=0.0, load=1.0)
N = 24
ONE = "t = T.alloc_buffer((1,), 'int32')\n"
VECTORS = ", ".join(f'{name}: T.Buffer(({N},), "int32")' for name in "XYP")

PROGRAMS = {
    "lives of a local": f"""{ONE}for i in T.serial({N}):
    t[0] = X[i]
    for j in T.serial(t[0]):
        Y[j] = Y[j] + i
    t[0] = P[i] % 5
    for j in T.serial(t[0], {N}):
        A[i, j] = A[i, j] - t[0]""",
    "a local of each iteration": f"""{ONE}for i in T.serial({N}):
    t[0] = X[i]
    for j in T.serial(t[0]):
        Y[j] = Y[j] + A[i, j] * t[0]
    for j in T.serial(t[0], {N}):
        Y[j] = Y[j] - t[0]""",
    "a local that all iterations fill alike": f"""{ONE}for i in T.serial({N}):
    t[0] = P[3]
    for j in T.serial(t[0]):
        A[i, j] = A[i, j] * 2 % 5 + 1""",
    "a row that all iterations fill alike": f"""W = T.alloc_buffer(({N},), "int32")
for i in T.serial({N}):
    for k in T.serial({N}):
        W[k] = P[k]
    for k in T.serial({N}):
        for j in T.serial(W[k]):
            A[i, j] = A[i, j] * 2 % 5 + k""",
    "what the last iteration left": f"""{ONE}t[0] = 0
for i in T.serial({N}):
    Y[i] = 0
    for j in T.serial(t[0]):
        Y[i] = Y[i] + P[j]
    t[0] = X[i]""",
    "a section of a phase": f"""for k in T.serial({N}):
    for j in T.serial(k + 1, {N}):
        P[j] = (P[j] + T.abs(X[k])) % 5
    for i in T.serial(P[k] + 1):
        X[k] = (X[k] + X[i] * X[i] - P[k]) % 7
        Y[i] = X[k] - Y[i] % 5
    X[k] = X[k] + 1
    if k < {N - 1}:
        X[k + 1] = X[k + 1] + X[k] % 3""",
}


@pytest.mark.parametrize("target", [CPU, MASKS], ids=lambda target: target.name)
def test_a_loop_that_stays_one_runs_no_further_than_where_it_does_something(target: Target) -> None:
    func = read(
        'X: T.Buffer((24,), "int32"), Y: T.Buffer((24,), "int32"), P: T.Buffer((24,), "int32")',
        "for i in T.serial(P[0], P[1]):\n    if i >= 2:\n        Y[P[i]] = X[i - 2] * 2",
    )
    X, Y, P = (np.arange(k, k + 24, dtype=np.int32) % 24 for k in (5, 0, 0))
    for P[0], P[1] in ((0, 6), (1, 24), (7, 7), (3, 2)):
        P[2:] = (7, 11) * 11
        for emitted in (e for _, e in alternatives(func, target)):
            assert_agrees(func, Kernel(emitted, jax.devices()[0]), {"X": X, "Y": Y, "P": P})


@pytest.mark.parametrize("target", [CPU, MASKS, PHASES], ids=lambda target: target.name)
@pytest.mark.parametrize("name", some(PROGRAMS, 1))
def test_bounds_read_what_the_program_stored(name: str, target: Target) -> None:
    lines = PROGRAMS[name].replace("\n", "\n    ")
    (func,) = parse(f'@T.prim_func\ndef f({VECTORS}, A: T.Buffer(({N}, {N}), "int32")):\n    {lines}\n').funcs
    rng = np.random.default_rng(3)
    inputs = {b.name: rng.integers(0, 7, (N, N) if b.name == "A" else N).astype("int32") for b in func.buffers}
    kernel = kernel_of(func, target)
    for (values, undef), got in zip(interpret_with_undef(func, **inputs), kernel(**inputs), strict=True):
        np.testing.assert_array_equal(np.asarray(got)[~undef], values[~undef], err_msg=kernel.source)


NARROW = {
    "differences": "for k in T.serial(T.cast(U[i], 'int32') - T.cast(V[i], 'int32')):",
    "other bounds": "for k in T.serial(T.cast(U[i], 'int32'), T.cast(U[i], 'int32') + T.cast(V[i], 'int32') * 100):",
    "one name": "for k in T.serial(T.cast(V[i], 'int64'), T.cast(U[i], 'int64')):",
}


@pytest.mark.parametrize("head", NARROW.values(), ids=NARROW.keys())
def test_bounds_from_narrow_numbers_are_as_wide_as_they_are_written(head: str) -> None:
    params = 'A: T.Buffer((8,), "int32"), U: T.Buffer((8,), "uint8"), V: T.Buffer((8,), "uint8")'
    body = f"for i in T.serial(8):\n        {head}\n            A[k % 8] = A[k % 8] * 2 % 7 - i"
    (func,) = parse(f"@T.prim_func\ndef f({params}):\n    {body}\n").funcs
    inputs = {"A": np.arange(8, dtype=np.int32), "U": np.arange(8, dtype=np.uint8)}
    inputs["V"] = inputs["U"][::-1].copy()
    kernel = kernel_of(func)
    ((values, _),) = interpret_with_undef(func, **inputs)
    np.testing.assert_array_equal(np.asarray(kernel(**inputs)[0]), values, err_msg=kernel.source)


def test_positions_of_a_loop_between_others_take_the_dtype_that_they_meet() -> None:
    """Positions are weak, as those of `fori_loop` are, also where derivatives run over all that they can be."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, "functools": functools}
    exec(GIVEN + BETWEEN, names)
    x = jnp.arange(6, dtype=jnp.float32)

    def total(x: jax.Array) -> jax.Array:
        def step(i: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            last, s = state
            return jnp.where(x[i] < 3, i, last), s + x[i] * last

        def rows(j: jax.Array, s: jax.Array) -> jax.Array:
            return names["loop_between"](0, j, (0, 6), step, (jnp.int8(1), s))[1]

        return lax.fori_loop(1, 6, rows, jnp.float32(0))

    np.testing.assert_array_equal(total(x), np.float32(26))
    np.testing.assert_array_equal(jax.grad(total)(x), [5, 0, 3, 4, 2, 0])


COUNTS = {
    "assumed": ('"int32"', "T.assume(0 <= L[0] and L[0] <= 8)\n    "),
    "narrow": ('"uint8"', ""),
    "open": ('"int32"', ""),
}


@pytest.mark.parametrize("name", some(COUNTS, 0.23))
def test_steps_that_data_count_have_derivatives_backward_where_they_are_bounded(name: str) -> None:
    dtype, known = COUNTS[name]
    (func,) = parse(f"""
@T.prim_func
def chain(A: T.Buffer((8,), "float32"), L: T.Buffer((1,), {dtype}), B: T.Buffer((1,), "float32")):
    {known}B[0] = 1.0
    for i in T.serial(T.cast(L[0], "int32")):
        B[0] = T.sin(B[0] * A[T.min(i, 7)])
""").funcs
    kernel = compile(func)
    A, L = jnp.linspace(1.0, 2.0, 8), jnp.array([5], func.params[1].dtype.numpy)

    def last(A: jax.Array) -> jax.Array:
        return kernel(A, L)[0][0]

    def plain(A: jax.Array) -> jax.Array:
        return functools.reduce(lambda s, k: jnp.sin(s * A[k]), range(5), jnp.float32(1))

    np.testing.assert_allclose(jax.jit(jax.vmap(jax.jacfwd(last)))(A[None])[0], jax.grad(plain)(A), rtol=1e-5)
    np.testing.assert_allclose(jax.jacfwd(jax.jacfwd(last))(A), jax.hessian(plain)(A), rtol=1e-4, atol=1e-6)
    if name != "open":
        np.testing.assert_allclose(jax.jit(jax.grad(last))(A), jax.grad(plain)(A), rtol=1e-5)
        return
    assert "derivatives forward only" in kernel.source

    def of_several(A: jax.Array) -> jax.Array:
        return jax.vmap(jax.grad(last))(A[None])

    for way in (jax.grad(last), jax.jit(jax.grad(last)), of_several):
        with pytest.raises(LowerError, match=r"no derivative backward(.|\n)*0 <= i < L\[0\] \(<string>:6\)"):
            way(A)


def ending(steps: int, body: str, dtype: str = "float32") -> PrimFunc:
    return parse(f"""
@T.prim_func
def f(A: T.Buffer((6,), "{dtype}"), B: T.Buffer((6,), "{dtype}"), K: T.Buffer((), "int32")):
    done = T.alloc_buffer((), "bool")
    {body.format(steps=steps)}
""").funcs[0]


ENDING = {
    "one truth": """K[()] = 0
    B[0] = A[0]
    done[()] = False
    for k in T.serial({steps}):
        if not done[()]:
            if B[0] > 9.0:
                done[()] = True
            else:
                B[0] = B[0] * 2.0 + A[T.min(k, 5)]
                K[()] = K[()] + 1
    for i in T.serial(1, 6):
        B[i] = B[0]""",
    "all elements": """for i in T.serial(6):
        B[i] = A[i]
        done[()] = False
        for k in T.serial({steps}):
            if not done[()]:
                if B[i] > 9.0:
                    done[()] = True
                else:
                    B[i] = B[i] * 2.0 + A[T.min(k, 5)]
    K[()] = T.cast(B[2] > B[3], "int32")""",
    "in a branch": """K[()] = 0
    for i in T.serial(6):
        B[i] = A[i]
        if K[()] < 3:
            done[()] = False
            for k in T.serial({steps}):
                if not done[()]:
                    done[()] = B[i] > 9.0
                    B[i] = B[i] * 2.0 + 1.0
            K[()] = K[()] + 1""",
    "elements in a branch": """K[()] = 1
    for i in T.serial(6):
        stop = T.alloc_buffer((), "bool")
        B[i] = A[i]
        if A[i] > 0.7:
            stop[()] = False
            for k in T.serial({steps}):
                if not stop[()]:
                    stop[()] = B[i] > 9.0
                    B[i] = B[i] * 2.0 + 1.0""",
    "within others": """K[()] = 0
    B[0] = A[0]
    for i in T.serial(6):
        done[()] = False
        for k in T.serial({steps}):
            if not done[()]:
                if B[0] > T.cast(i * 3, "float32"):
                    done[()] = True
                else:
                    B[0] = B[0] * 2.0 + A[i]
                    K[()] = K[()] + 1
        B[i] = B[0] + 1.0""",
}


@pytest.mark.parametrize("body", some(ENDING.values(), 0.07), ids=ENDING.keys())
@pytest.mark.parametrize("steps", [40, 2**31 - 1])
def test_loops_end_where_their_steps_do_nothing_more(steps: int, body: str) -> None:
    func = ending(steps, body)
    kernel = compile(func)
    assert steps < 100 or "_until(" in kernel.source
    A = np.linspace(0.5, 1.0, 6, dtype=np.float32)
    for (want, _), have in zip(interpret_with_undef(func, A=A), kernel(A=A), strict=True):
        np.testing.assert_allclose(np.asarray(have), want, rtol=1e-6)

    def last(A: jax.Array) -> jax.Array:
        return kernel(A=A)[0][5]

    slope = [(last(A + e) - last(A - e)) / 2e-3 for e in 1e-3 * np.eye(6, dtype=np.float32)]
    np.testing.assert_allclose(jax.jacfwd(last)(A), slope, rtol=2e-2, atol=2e-2)
    if steps < 100:
        np.testing.assert_allclose(jax.grad(last)(A), slope, rtol=2e-2, atol=2e-2)
        return
    with pytest.raises(LowerError, match="no derivative backward"):
        jax.grad(last)(A)


def test_a_loop_that_goes_on_counting_takes_all_steps() -> None:
    body = """K[()] = 0
    done[()] = False
    for k in T.serial({steps}):
        if not done[()]:
            done[()] = A[T.min(k, 5)] > 3
        K[()] = K[()] + 1
    for i in T.serial(6):
        B[i] = A[i]"""
    func = ending(40, body, "int32")
    A = np.arange(6, dtype=np.int32)
    (_, (count, _)) = interpret_with_undef(func, A=A)
    assert compile(func)(A=A)[1] == count == 40


def test_a_loop_of_many_steps_that_does_not_end_early_is_lowered() -> None:
    func = ending(10**7, "K[()] = 1\n    for k in T.serial({steps}):\n        K[()] = K[()] * 3 % 1009")
    assert "fori_loop(0, 10000000" in compile(func).source
    with pytest.raises(LowerError, match=r"loopsat.bound\(LIMIT\)"):
        compile(ending(2**31 - 1, "K[()] = 1\n    for k in T.serial({steps}):\n        K[()] = K[()] * 3 % 1009"))


def test_lanes_under_conditions_on_a_parameter_do_not_keep_a_loop_going() -> None:
    vectors = 'H: T.Buffer((6,), "int32"), N: T.Buffer((24,), "int32"), X: T.Buffer((12,), "int32")'
    func = read(
        f'{vectors}, O: T.Buffer((12,), "int32"), h: T.int32',
        """for i in T.serial(12):
    for g in T.serial(3):
        j = T.alloc_buffer((), 'int32')
        stopped = T.alloc_buffer((), 'bool')
        if X[i] // h + g < 6:
            j[()] = H[X[i] // h + g]
            stopped[()] = False
            for step in T.serial(2147483647):
                if not stopped[()]:
                    if j[()] < 0:
                        stopped[()] = True
                    else:
                        O[i] = O[i] + j[()]
                        j[()] = N[j[()]]""",
    )
    kernel = kernel_of(func)
    assert "taken = ~stopped & ((X // h)" in kernel.source, kernel.source  # or the next line would take hours
    x, heads = np.arange(12, dtype=np.int32) * 3, np.array([3, -1, 23, 11, 0, 5], np.int32)
    sums = [sum(sum(range(h + 1)) for h in heads[k : k + 3]) for k in x // 5]
    assert np.array_equal(kernel(heads, np.arange(24, dtype=np.int32) - 1, x, np.zeros(12, np.int32), 5)[0], sums)
