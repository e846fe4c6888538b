"""Sharded kernels on eight virtual CPU devices. Run by `test_sharding.py` in a process of its own.

The number of devices is fixed before JAX starts, so these tests cannot share a process with others.
"""

from __future__ import annotations

import re
from random import Random

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from compare import TOLERANCE
from ir import PrimFunc, interpret, parse
from ir.dtypes import DType
from ir.errors import LoopsatError, LowerError
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.semantics.specialize import specialize
from ir.testing.programs import program_texts
from ir.traverse import results_of
from kernel_files import PATHS, load
from lower import Kernel, compile
from lower.runtime.padded_array import PaddedArray
from profiles import few, some

P = PartitionSpec
COLLECTIVES = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"


@pytest.fixture(scope="module")
def line() -> Mesh:
    return jax.make_mesh((8,), ("x",))


@pytest.fixture(scope="module")
def plane() -> Mesh:
    return jax.make_mesh((4, 2), ("x", "y"))


def func_of(text: str) -> PrimFunc:
    return parse(f"@T.prim_func\n{text}").funcs[0]


def exchanges(kernel: Kernel, *arguments: object) -> list[tuple[str, str]]:
    """The exchanges between devices in the compiled program: of which kind, and of what."""
    text = re.sub(r"/\*.*?\*/", "", kernel.lower(*arguments).compile().as_text())
    found = re.findall(rf"= (\([^=]*?\)|[a-z0-9]+\[[\d,]*\])\S* ({COLLECTIVES})(?:-start)?\(", text)
    return sorted((kind, shape) for shape, kind in found)


def collectives(kernel: Kernel, *arguments: object) -> set[str]:
    """The kinds of exchange between devices in the compiled program."""
    return {kind for kind, _ in exchanges(kernel, *arguments)}


def check(
    func: PrimFunc, mesh: Mesh, shardings: dict, seed: int = 0, without: tuple[str, ...] = (), **scalars: float
) -> Kernel:
    """The sharded kernel, after comparing it with the interpreter."""
    inputs = random_inputs(func, np.random.default_rng(seed), scalars)
    expected = interpret_with_undef(func, **inputs)
    kernel = compile(func, mesh=mesh, shardings=shardings, without=without)
    before = {name: np.array(value) for name, value in inputs.items()}
    found = kernel(**{p.name: inputs[p.name] for p in func.params})
    written = list(results_of(func))
    for buffer, (values, undef), got in zip(written, expected, found, strict=True):
        assert got.shape == values.shape and got.dtype == values.dtype
        assert got.sharding.device_set == set(mesh.devices.flat)
        tolerance = TOLERANCE.get(buffer.dtype, 0.0)
        want, have = values[~undef].astype(float), np.asarray(got)[~undef].astype(float)
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance, err_msg=buffer.name)
    assert all(np.array_equal(before[name], inputs[name]) for name in inputs)
    return kernel


ELEMENTWISE = """
def f(A: T.Buffer((13, 6), "float32"), B: T.Buffer((13, 6), "float32")):
    for i, j in T.grid(13, 6):
        B[i, j] = A[i, j] * 2.0 + 1.0
"""


def test_elementwise_work_needs_no_exchange(line: Mesh) -> None:
    func = func_of(ELEMENTWISE)
    kernel = check(func, line, {"A": P("x"), "B": P("x")})
    assert collectives(kernel, np.zeros((13, 6), "float32")) == set()


def test_dividing_dimensions_stay_cut_in_the_result(line: Mesh) -> None:
    text = ELEMENTWISE.replace("13", "16")
    kernel = compile(func_of(text), mesh=line, shardings={"A": P("x"), "B": P("x", None)})
    (found,) = kernel(np.ones((16, 6), "float32"))
    assert found.sharding.spec == P("x", None)
    assert {shard.data.shape for shard in found.addressable_shards} == {(2, 6)}


UPDATED_AGAIN = """
def f(A: T.Buffer((12,), "int32"), C: T.Buffer((12,), "int32")):
    for i in T.serial(12):
        C[{p}] = {value}
"""


@pytest.mark.parametrize("value", ["T.min(C[{p}], A[i % 2])", "C[{p}] + A[i]", "C[{p}] - C[{p}] // 2 + A[i % 2]"])
def test_what_is_updated_again_and_again_is_read_where_it_is_stored(line: Mesh, value: str) -> None:
    """The place does not say in which block of the array it is."""
    place = "T.cast(T.cast(i, 'int64'), 'int32') // 2 % 3"
    check(func_of(UPDATED_AGAIN.format(p=place, value=value.format(p=place))), line, {"C": P("x")})


ROW = """
def f(A: T.Buffer((6, 13), "{dtype}"), B: T.Buffer((6,), "{dtype}")):
    for i in T.serial(6):
        B[i] = {init}
        for j in T.serial(13):
            B[i] = {step}
"""
ROWS = {
    "sum": ("float32", "0.0", "B[i] + A[i, j]"),
    "max": ("float32", 'T.float32("-inf")', "T.max(B[i], A[i, j])"),
    "min": ("float32", 'T.float32("inf")', "T.min(B[i], A[i, j])"),
    "int max": ("int32", "A[i, 0]", "T.max(B[i], A[i, j])"),
    "int64 sum": ("int64", "T.int64(0)", "B[i] + A[i, j]"),
    "float64 product": ("float64", "T.float64(1.0)", "B[i] * A[i, j]"),
    "bfloat16 max": ("bfloat16", "A[i, 0]", "T.max(B[i], A[i, j])"),
    "and": ("bool", "True", "B[i] and A[i, j]"),
    "sum of cosines": ("float32", "0.0", "B[i] + T.cos(A[i, j])"),
}


SPECS = (P(None, "x"), P("x", None), P("y", "x"), (("x", "y"), None), P(None, ("y", "x")))


@pytest.mark.parametrize("k", some(range(len(ROWS)), len(ROWS) // 6))
def test_reductions_over_dimensions_that_the_mesh_does_not_divide(k: int, plane: Mesh) -> None:
    dtype, init, step = list(ROWS.values())[k]
    spec = SPECS[k % len(SPECS)]
    check(func_of(ROW.format(dtype=dtype, init=init, step=step)), plane, {"A": spec, "B": P("x")})


@pytest.mark.parametrize(("op", "sign", "best"), [("max", -1, np.max), ("min", 1, np.min)])
def test_padding_is_not_the_extreme_of_numbers_of_one_sign(op: str, sign: int, best: object, line: Mesh) -> None:
    func = func_of(ROW.format(dtype="float32", init="A[i, 0]", step=f"T.{op}(B[i], A[i, j])"))
    A = (sign * np.random.default_rng(0).uniform(1, 2, (6, 13))).astype("float32")
    kernel = compile(func, mesh=line, shardings={"A": P(None, "x")})
    np.testing.assert_array_equal(np.asarray(kernel(A)[0]), best(A, axis=1))
    assert any("proven to change no result" in line for line in kernel.report)
    assert collectives(kernel, A) == {"all-reduce"}


def test_inputs_that_are_not_finite_give_what_they_give_on_one_device(line: Mesh) -> None:
    A = np.ones((6, 13), "float32")
    A[0], A[1, 3], A[2, 12] = -np.inf, np.inf, -np.inf
    for name in ("sum", "max", "min"):
        A[3, 4] = np.nan
        dtype, init, step = ROWS[name]
        func = func_of(ROW.format(dtype=dtype, init=init, step=step))
        (want,) = compile(func)(A)
        (found,) = compile(func, mesh=line, shardings={"A": P(None, "x")})(A)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(want))


# What devices exchange -----------------------------------------------------------------------------------------------

STENCIL = """
def f(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in T.serial(1022):
        B[i + 1] = A[i] + A[i + 1] * 2.0 + A[i + 2]
"""
WIDE = """
def f(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32")):
    for i in T.serial(9):
        B[i] = A[i + 4] - A[i + 2]
"""
STEPS = """
def f(A: T.Buffer((61, 9), "float32"), B: T.Buffer((61, 9), "float32")):
    for t in T.serial(3):
        for i, j in T.grid(59, 7):
            B[i + 1, j + 1] = A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2]
        for i, j in T.grid(59, 7):
            A[i + 1, j + 1] = B[i, j + 1] + B[i + 2, j + 1] + B[i + 1, j] + B[i + 1, j + 2]
"""
RUNNING = """
def f(A: T.Buffer((1022,), "{dtype}"), B: T.Buffer((1022,), "{dtype}")):
    B[0] = A[0]
    for i in T.serial(1021):
        B[i + 1] = {step}
"""
CONVOLUTION = """
def f(X: T.Buffer((3, 29), "float32"), W: T.Buffer((4, 3, 7), "float32"), Y: T.Buffer((4, 29), "float32")):
    for o, i in T.grid(4, 29):
        Y[o, i] = 0.0
        for c, a in T.grid(3, 7):
            if 0 <= i + a - 3 and i + a - 3 < 29:
                Y[o, i] += X[c, i + a - 3] * W[o, c, a]
"""
HISTOGRAM = """
def f(A: T.Buffer((1001,), "int32"), H: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        H[i] = 0
    for i in T.serial(1001):
        H[A[i] % 16] += 1
"""
TRANSPOSITION = """
def f(A: T.Buffer((61, 30), "float32"), B: T.Buffer((30, 61), "float32")):
    for i, j in T.grid(30, 61):
        B[i, j] = A[j, i]
"""
ELIMINATION = """
def f(A: T.Buffer((13, 13), "float32")):
    for k in T.serial(13):
        for i in T.serial(12 - k):
            A[k + 1 + i, k] = A[k + 1 + i, k] * A[k, k]
        for i, j in T.grid(12 - k, 12 - k):
            A[k + 1 + i, k + 1 + j] = A[k + 1 + i, k + 1 + j] - A[k + 1 + i, k] * A[k, k + 1 + j] * 0.01
"""
LARGEST_OF_ROWS = """
def f(A: T.Buffer((13, 9), "float32"), B: T.Buffer((13, 9), "float32"), C: T.Buffer((13,), "int32")):
    for i in range(13):
        m = T.alloc_buffer((1,), "float32")
        m[0] = A[i, 0]
        C[i] = 0
        for j in range(9):
            if A[i, j] > m[0]:
                m[0] = A[i, j]
                C[i] = j
        for j in range(9):
            B[i, j] = A[i, j] - m[0]
"""
REVERSAL = """
def f(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in T.serial(100):
        B[i] = A[{index}]
"""
SMOOTHED_SUM = """
def f(A: T.Buffer((61,), "float32"), B: T.Buffer((1,), "float32")):
    H = T.alloc_buffer((59,), "float32")
    for i in range(59):
        H[i] = 0.0
        for k in range(3):
            H[i] += A[i + k]
    B[0] = 0.0
    for i in range(59):
        B[0] += H[i] * H[i]
"""
LENGTHS_FROM_DATA = """
def f(A: T.Buffer((13, 9), "float32"), I: T.Buffer((13,), "int32"), B: T.Buffer((13,), "float32")):
    for i in range(13):
        for k in range(I[i]):
            B[i] = T.max(B[i], A[i, k])
"""
LOOKUP = """
def f(A: T.Buffer((403, 6), "float32"), I: T.Buffer((13, 2), "int32"), B: T.Buffer((13, 6), "float32")):
    for i, j in T.grid(13, 6):
        {statement}
"""
LOOKED_UP = LOOKUP.format(statement="B[i, j] = 2.0 * A[I[i, 0], j]")
BAG = LOOKUP.format(statement="for k in range(2):\n            B[i, j] += T.exp(A[I[i, k], j])")
BOTH = {"A": P("x"), "B": P("x")}
PERMUTE, REDUCE, GATHER = "collective-permute", "all-reduce", "all-gather"
EXCHANGED = {
    "stencil": (STENCIL, BOTH, [(PERMUTE, "f32[1]")] * 2),
    "stencil of an uneven size": (STENCIL.replace("1024", "1025"), BOTH, [(PERMUTE, "f32[1]")] * 2),
    "windows over two devices": (WIDE, BOTH, [(PERMUTE, "f32[2]")] * 2),
    "steps of a stencil": (STEPS, BOTH, [(PERMUTE, "f32[1,9]")] * 4),
    "running sum": (RUNNING.format(dtype="float32", step="B[i] + A[i + 1]"), BOTH, [(GATHER, "f32[8,1]")]),
    "running maximum": (RUNNING.format(dtype="int32", step="T.max(B[i], A[i + 1])"), BOTH, [(GATHER, "s32[8,1]")]),
    "convolution": (CONVOLUTION, {"X": P(None, "x"), "Y": P(None, "x")}, [(PERMUTE, "f32[3,3]")] * 2),
    "histogram": (HISTOGRAM, {"A": P("x")}, [(REDUCE, "s32[16]")]),
    "transposition": (TRANSPOSITION, BOTH, [("all-to-all", f"({', '.join(['f32[8,4]'] * 8)})")]),
    "reversal": (REVERSAL.format(index="99 - i"), BOTH, [(PERMUTE, f"f32[{n}]") for n in (4, 9)]),
    "rotation": (REVERSAL.format(index="(i + 45) % 100"), BOTH, [(PERMUTE, f"f32[{n}]") for n in (10, 3, 6, 7)]),
    "locals of rows": (LARGEST_OF_ROWS, {**BOTH, "C": P("x")}, []),
    "elimination": (ELIMINATION, {"A": P("x")}, [(REDUCE, "u32[1,16]")] * 2),
    "windows into a local": (SMOOTHED_SUM, {"A": P("x")}, [(REDUCE, "f32[1]"), (PERMUTE, "f32[2]")]),
    "lengths from data": (LENGTHS_FROM_DATA, {**BOTH, "I": P("x")}, []),
    "lookup": (LOOKED_UP, BOTH, [("reduce-scatter", "u32[2,6]")]),
    "lookup in all rows": (LOOKED_UP, {"A": P("x")}, [(REDUCE, "u32[13,6]")]),
    "sums of what is looked up": (BAG, {**BOTH, "I": P("x")}, [(GATHER, "s32[16,2]"), ("reduce-scatter", "f32[2,6]")]),
}


@pytest.mark.parametrize("name", some(EXCHANGED, len(EXCHANGED) // 2))
def test_devices_exchange_borders_and_partial_results(name: str, line: Mesh) -> None:
    text, shardings, expected = EXCHANGED[name]
    func = func_of(text)
    kernel = check(func, line, shardings)
    given = random_inputs(func, np.random.default_rng(0))
    found = exchanges(kernel, *(given[p.name] for p in func.params))
    shapes = [(kind, re.sub(r"\{[\d,]*\}", "", shape)) for kind, shape in found]
    assert shapes == expected


@pytest.mark.parametrize(
    "statement",
    [
        "B[i, j] = A[I[I[i, 0] % 13, 1], j] + B[i, j]",
        "B[i, j] = T.if_then_else(i > 0, A[I[T.max(i - 1, 0), 0], j] * B[i, j], A[I[i, 1], I[i, 0] % 6])",
        "B[i, j] = T.if_then_else(i > 0, A[I[i - 1, 0], j], B[i, j])",
        "for k in range(2):\n            if I[i, k] > 9:\n                B[i, j] = T.max(B[i, j], A[I[i, k], j])",
        "for k in range(2):\n            B[i, j] += A[I[i, k], j] * A[I[i, 0], j]",
    ],
)
@pytest.mark.parametrize(
    "shardings", some([{**BOTH, "I": P("x")}, {"A": P("x", "y"), "B": P("y")}, {"A": P("y", "x")}], 1)
)
def test_who_has_an_element_looks_it_up(statement: str, shardings: dict, plane: Mesh) -> None:
    check(func_of(LOOKUP.format(statement=statement)), plane, shardings)


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "float64"])
def test_elements_of_any_dtype_are_looked_up(dtype: str, line: Mesh) -> None:
    text = LOOKED_UP.replace("2.0 * ", "").replace("float32", dtype)
    assert any("look up" in text for text in check(func_of(text), line, BOTH).report)
    off = check(func_of(text), line, BOTH, without=("mesh.lookups",))
    assert not any("look up" in text for text in off.report)


SMOOTHED = """
def f(A: T.Buffer((13, 9), "float32"), B: T.Buffer((13, 9), "float32")):
    for i in range(13):
        m = T.alloc_buffer((1,), "float32")
        m[0] = A[i, 0]
        for j in range(9):
            m[0] = T.max(m[0], A[i, j])
        for j in range(9):
            B[i, j] = T.exp(A[i, j] - m[0])
"""
DIFFERENTIABLE = {
    "extremes over devices": (SMOOTHED, {"A": P(None, "x"), "B": P(None, "x")}),
    "windows": (SMOOTHED.replace("A[i, j] - m[0]", "A[7, j]"), BOTH),
    **{name: (text, how) for name, (text, how, _) in EXCHANGED.items() if "float" in text and name != "elimination"},
}
ALWAYS, OTHERS = list(DIFFERENTIABLE)[:2], list(DIFFERENTIABLE)[2:]


@pytest.mark.parametrize("name", [*some(ALWAYS, 1), *some(OTHERS, 1)])
def test_derivatives_are_those_of_one_device(name: str) -> None:
    mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
    text, shardings = DIFFERENTIABLE[name]
    func = func_of(text)
    inputs = random_inputs(func, np.random.default_rng(0))
    floats = [p.name for p in func.buffers if p.dtype.is_float]

    def slopes(kernel: Kernel) -> list[np.ndarray]:
        def total(given: dict[str, jax.Array]) -> jax.Array:
            found = kernel(**(inputs | given))
            weights = (jax.numpy.cos(jax.numpy.arange(f.size).reshape(f.shape)) for f in found)
            return sum((f * w).sum() for f, w in zip(found, weights, strict=True))

        given = {name: jax.numpy.asarray(inputs[name]) for name in floats}
        found = jax.grad(total)(jax.device_put(given, NamedSharding(mesh, P())))
        return [np.asarray(found[name]) for name in floats]

    for want, have in zip(slopes(compile(func)), slopes(compile(func, mesh=mesh, shardings=shardings)), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", some([13, 16], 1))
@pytest.mark.parametrize(
    "value",
    some(
        [
            "A[{m} - i] * 2 + A[i]",
            "T.if_then_else(i > 0, A[{n} - i] - A[{m} - i], 0)",
            "A[(i + 1) % {n}] + A[(i + {m}) % {n}]",
            "A[(i - 5) % {n}] - A[({m} - i + 3) % {n}]",
            "A[(i + 3) % 7] + A[(2 * i) % {n}]",
            "T.if_then_else(i < 6, A[i + 7], A[i - 6])",
        ],
        2,
    ),
)
def test_windows_far_away_and_the_other_way_round(value: str, n: int, line: Mesh, plane: Mesh) -> None:
    shape = f'T.Buffer(({n},), "int32")'
    body = value.format(n=n, m=n - 1)
    func = func_of(f"def f(A: {shape}, B: {shape}):\n    for i in range({n}):\n        B[i] = {body}\n")
    check(func, line, BOTH)
    check(func, plane, {"A": P(("x", "y")), "B": P("x")})


def test_a_linear_recurrence_goes_on_from_device_to_device(line: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((45, 3), "float32"), F: T.Buffer((45, 3), "float32"), B: T.Buffer((45, 3), "float32")):
    for j in T.serial(3):
        B[2, j] = A[2, j]
    for i, j in T.grid(40, 3):
        B[i + 3, j] = B[i + 2, j] * T.tanh(F[i + 3, j]) + A[i + 3, j]
"""
    )
    kernel = check(func, line, {"A": P("x"), "B": P("x"), "F": P("x")})
    assert {shape for _, shape in exchanges(kernel, *[np.ones((45, 3), "float32")] * 3)} == {"f32[8,1,3]"}


@pytest.mark.parametrize(
    "step",
    ["H[t, i] + H[t, i + 2]", "H[t, i + 1] + H[t, i]", "H[t, i + 1] + H[t + 1, i + 1]", "H[t, i + 1] + H[t, 0]"],
)
@pytest.mark.parametrize("shardings", some([{"H": P(None, "x")}, {"H": P("x")}], 1))
def test_steps_read_what_earlier_ones_have_stored(step: str, shardings: dict, line: Mesh) -> None:
    loops = "for t in range(9):\n        for i in range(11):\n            "
    text = f'def f(H: T.Buffer((10, 13), "int32")):\n    {loops}H[t + 1, i + 1] = {step}\n'
    check(func_of(text), line, shardings)


def test_factors_of_a_recurrence_whose_products_leave_the_numbers(line: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((45,), "float32"), B: T.Buffer((45,), "float32")):
    for i in T.serial(44):
        A[i + 1] = A[i] * B[i] + A[i + 1]
"""
    )
    (found,) = compile(func, mesh=line, shardings=BOTH)(np.zeros(45, "float32"), np.full(45, 1e30, "float32"))
    assert not np.any(found)


def test_xla_reads_outside_of_a_block_that_is_a_slice(line: Mesh) -> None:
    """Of a part at a place that is computed; so what other devices own of it is written back as it was."""

    def part(x: jax.Array, start: int, place: int) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(x, start, 2)[place]

    x = np.arange(16)
    assert int(part(x, 2, 3)) == 3 and int(jax.jit(part)(x, 2, 3)) == 5
    func = func_of(
        """
def f(A: T.Buffer((10, 13), "int64"), B: T.Buffer((10, 13), "int64"), C: T.Buffer((13,), "int64")):
    for t, i in T.grid(3, 10):
        B[(i + 5) % 10, i + 2] = T.max(B[(i + 5) % 10, i + 2], A[i, i + 2])
    for i, j in T.grid(10, 12):
        A[i, j] = C[j + 1]
"""
    )
    for seed in range(2):
        check(func, line, {"C": P("x")}, seed)


def test_signs_of_zeros_cross_devices(line: Mesh) -> None:
    """What is exchanged as a window is the same to the bit."""
    func = func_of(
        """
def f(A: T.Buffer((13, 3), "float32"), B: T.Buffer((13, 3), "float32")):
    for i, j in T.grid(13, 3):
        B[i, j] = A[7, j]
"""
    )
    A = np.tile(np.array([-0.0, np.nan, np.inf], "float32"), (13, 1))
    (found,) = compile(func, mesh=line, shardings=BOTH)(A)
    assert np.array_equal(np.signbit(np.asarray(found)), np.signbit(A)) and np.array_equal(found, A, equal_nan=True)


def test_what_cannot_be_distributed_is_computed_whole(line: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((13,), "float32"), P: T.Buffer((13,), "int32"), B: T.Buffer((13,), "float32")):
    for i in T.serial(13):
        T.assume(P[i] >= 0)
    for i in T.serial(13):
        B[i] = A[i]
    for i in T.serial(13):
        for j in T.serial(P[i], 13):
            B[j] = A[i] / (1.0 + B[i] * B[j])
"""
    )
    A, starts = np.arange(13, dtype="float32"), np.arange(13, dtype="int32")
    want = interpret(func, A=A.copy(), P=starts)[0]
    for checks in (False, True):
        kernel = compile(func, mesh=line, shardings={"A": P("x"), "B": P("x")}, checks=checks)
        np.testing.assert_allclose(np.asarray(kernel(A, starts)[0]), want, rtol=1e-6)
        assert any("each device has all arrays" in text for text in kernel.report) is checks
    assert collectives(kernel, A, starts) == {GATHER}


def test_forms_of_meshes_are_switched_off(line: Mesh) -> None:
    func = func_of(ROW.format(dtype="float32", init="0.0", step="B[i] + A[i, j]"))
    A = np.ones((6, 13), "float32")
    assert collectives(check(func, line, {"A": P(None, "x")}), A) == {REDUCE}
    for name in ("mesh.partial_results", "mesh.owner_computes", "mesh"):
        assert collectives(check(func, line, {"A": P(None, "x")}, without=(name,)), A) == {GATHER}
    strict = compile(func, mesh=line, shardings={"A": P(None, "x")}, floats="strict")
    assert collectives(strict, A) == {GATHER}  # sums are taken in order


def test_xlas_partitioner_stores_wrong_elements(line: Mesh) -> None:
    """Why it is not asked, in JAX alone; when this fails, what is computed whole could be left to it."""

    def f(a: jax.Array) -> jax.Array:
        return jax.numpy.zeros(104).at[1:100].set(a[:99] + a[2:101]).at[0].set(a[0]).at[100].set(a[100])

    A = np.arange(104, dtype="float32")
    automatic = Mesh(line.devices, ("x",), axis_types=(AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(automatic, P("x"))
    found = jax.jit(f, out_shardings=sharding)(jax.device_put(A, sharding))
    assert not np.array_equal(np.asarray(found), np.asarray(jax.jit(f)(A)))


# From kernel to kernel -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_padded_results_are_arguments(kind: AxisType) -> None:
    mesh = jax.make_mesh((8,), ("x",), axis_types=(kind,))
    smooth, top = func_of(STENCIL.replace("1024", "1025")), func_of(ROW.format(**LARGEST).replace("13", "1025"))
    step = compile(smooth, mesh=mesh, shardings=BOTH, keep_padding=True)
    A = -1 - np.arange(1025, dtype="float32") % 5
    want = np.asarray(compile(smooth)(np.asarray(compile(smooth)(A)[0]))[0])
    (B,) = step(A)
    assert isinstance(B, PaddedArray) and B.shape == (1025,) and B.array.shape == (1032,) and "1032" in repr(B)
    assert {shard.data.shape for shard in B.array.addressable_shards} == {(129,)}
    (C,) = step(B)
    assert collectives(step, B) == {PERMUTE}
    for found in (C, C.crop(), jax.numpy.asarray(C), jax.jit(lambda a: step(step(a)[0])[0])(A)):
        np.testing.assert_array_equal(np.asarray(found), want)
    np.testing.assert_array_equal(np.concatenate([part for _, part in C.blocks()]), want)
    rows = compile(func_of(ELEMENTWISE), mesh=mesh, shardings={"A": P(None, "x"), "B": P(None, "x")}, keep_padding=True)
    best = compile(top_of_rows(), mesh=mesh, shardings={"A": P(None, "x")})
    X = -np.ones((13, 6), "float32")
    (Y,) = rows(X)  # its padding holds anything, and a maximum wants minus infinity there
    np.testing.assert_array_equal(np.asarray(best(Y)[0]), np.full(13, -1.0))
    np.testing.assert_array_equal(np.asarray(compile(top)(np.tile(np.asarray(C), (6, 1)))[0]), np.full(6, want.max()))


LARGEST = {"dtype": "float32", "init": "A[i, 0]", "step": "T.max(B[i], A[i, j])"}


def top_of_rows() -> PrimFunc:
    return func_of(ROW.replace("6", "99").replace("13", "6").replace("99", "13").format(**LARGEST))


def test_functions_of_a_module_keep_padding_between_them(line: Mesh) -> None:
    module = parse(
        """
@T.prim_func
def shift(A: T.Buffer((101,), "float32"), B: T.Buffer((101,), "float32")):
    for i in range(101):
        B[i] = A[i] - 100.0

@T.prim_func
def smooth(A: T.Buffer((101,), "float32"), B: T.Buffer((101,), "float32")):
    for i in range(99):
        B[i + 1] = A[i] + A[i + 1] + A[i + 2]
    B[0] = A[0]
    B[100] = A[100]

@T.prim_func
def main(X: T.Buffer((101,), "float32"), Y: T.Buffer((101,), "float32")):
    H = T.alloc_buffer((101,), "float32")
    G = T.alloc_buffer((101,), "float32")
    shift(X, H)
    smooth(H, G)
    smooth(G, Y)
"""
    )
    kernel = compile(module, mesh=line, shardings={"X": P("x"), "Y": P("x")})
    X = np.arange(101, dtype="float32")
    np.testing.assert_array_equal(np.asarray(kernel(X)[0]), np.asarray(compile(module)(X)[0]))
    assert exchanges(kernel, X) == [(PERMUTE, "f32[1]")] * 4


def test_blocks_are_multiples_of_the_strides_of_what_is_computed_of_them(line: Mesh) -> None:
    func = func_of(
        """
def f(X: T.Buffer((20, 5), "float32"), Y: T.Buffer((20, 5), "float32")):
    A = T.alloc_buffer((20, 5), "float32")
    H = T.alloc_buffer((10, 5), "float32")
    for i, j in T.grid(20, 5):
        A[i, j] = T.max(X[i, j], 0.0)
    for i, j in T.grid(10, 5):
        H[i, j] = T.max(A[2 * i, j], A[2 * i + 1, j])
    for i, j in T.grid(20, 5):
        Y[i, j] = A[i, j] + H[i // 2, j]
"""
    )
    kernel = check(func, line, {"X": P("x"), "Y": P("x")})
    assert collectives(kernel, np.zeros((20, 5), "float32")) == set()
    assert "dimension 0 of X is padded from 20 to 32" in kernel.report


def test_data_are_read_in_the_blocks_that_devices_have(line: Mesh) -> None:
    kernel = compile(top_of_rows(), mesh=line, shardings={"A": P("x")})
    X = np.random.default_rng(0).random((13, 6)).astype("float32")
    asked: list[tuple[slice, ...]] = []

    def read(index: tuple[slice, ...]) -> np.ndarray:
        asked.append(index)
        return X[index]

    A = kernel.from_blocks("A", read)
    assert max(rows.stop - rows.start for rows, _ in asked) == 2
    np.testing.assert_array_equal(np.asarray(kernel(A)[0]), X.max(axis=1))
    with pytest.raises(LowerError, match="no buffer parameter `C`"):
        kernel.from_blocks("C", read)


COUNTED = """
def f(n: T.Buffer((9,), "int32"), A: T.Buffer((9,), "int32"), B: T.Buffer((9, 9), "int32")):
    for k in range(9):
        T.assume(n[k] >= 0 and n[k] < 9)
    for k in T.serial(n[6]):
        for j in range(9):
            B[j, k] = A[k]
"""


def test_how_often_a_loop_runs_may_be_on_another_device(line: Mesh) -> None:
    for seed in range(2):
        check(func_of(COUNTED), line, {"n": P("x"), "A": P("x"), "B": P("x")}, seed)
        assert "shard_map" in check(func_of(COUNTED), line, {"A": P("x"), "B": P("x")}, seed).source


def test_explicit_axes_are_those_of_the_callers_programs() -> None:
    mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Explicit,))
    kernel = compile(func_of(STENCIL), mesh=mesh, shardings=BOTH)
    A = np.arange(1024, dtype="float32")
    X = jax.device_put(A, jax.sharding.NamedSharding(mesh, P("x")))
    (want,) = compile(func_of(STENCIL))(A)
    np.testing.assert_array_equal(np.asarray(kernel(X)[0] + X), np.asarray(want) + A)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: kernel(x)[0] + x)(X)), np.asarray(want) + A)
    with jax.set_mesh(mesh):
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: kernel(x)[0] * 2)(X)), np.asarray(want) * 2)
    rows = compile(func_of(STENCIL), mesh=mesh, shardings={"A": P(), "B": P("x")})
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: rows(x)[0])(X)), np.asarray(want))
    other = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    Z = jax.device_put(A, jax.sharding.NamedSharding(other, P("y")))
    np.testing.assert_array_equal(np.asarray(kernel(Z)[0]), np.asarray(want))
    with pytest.raises(LowerError, match="on another mesh") as caught:
        jax.jit(lambda z: kernel(z)[0])(Z)
    assert caught.value.code == "mesh" and "parameter A of f" in caught.value.message


@pytest.mark.parametrize("op", ["max", "min"])
def test_xla_loses_nan_where_cpu_devices_exchange_extremes(op: str, line: Mesh) -> None:
    """The defect that `all_max` and `all_min` are for, in JAX alone; when this fails, they are not needed any more."""
    A = np.arange(32, dtype="float32").reshape(2, 16)
    A[1, 5] = np.nan
    sharded = jax.device_put(A, jax.sharding.NamedSharding(line, P(None, "x")))
    reduce = jax.jit(lambda a: getattr(a, op)(axis=1))
    assert np.isnan(reduce(jax.device_put(A, jax.devices()[0])))[1]
    assert not np.isnan(reduce(sharded)[1])


@pytest.mark.parametrize("dtype", some(["float32", "float64", "bfloat16"], 1))
@pytest.mark.parametrize("op", ["max", "min"])
def test_nan_is_kept_wherever_it_stands(op: str, dtype: str, line: Mesh) -> None:
    func = func_of(ROW.format(dtype=dtype, init="A[i, 0]", step=f"T.{op}(B[i], A[i, j])"))
    kernel = compile(func, mesh=line, shardings={"A": P(None, "x")})
    assert f"all_{op}" in kernel.source
    assert f"all_{op}" not in compile(func).source
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    for place in range(13):
        A = np.random.default_rng(place).uniform(-2, 2, (6, 13)).astype(kind)
        A[3, place] = np.nan
        found = np.asarray(kernel(A)[0]).astype("float64")
        assert np.isnan(found).tolist() == [False, False, False, True, False, False]
        best = getattr(A.astype("float64"), op)(axis=1)
        np.testing.assert_array_equal(found, best)


def test_integers_have_no_nan(line: Mesh) -> None:
    func = func_of(ROW.format(dtype="int32", init="A[i, 0]", step="T.max(B[i], A[i, j])"))
    assert "all_max" not in check(func, line, {"A": P(None, "x")}).source


MATMUL = """
def f(A: T.Buffer((6, 13), "float32"), B: T.Buffer((13, 9), "float32"), D: T.Buffer((6, 9), "float32"), a: T.float32):
    for i, j in T.grid(6, 9):
        D[i, j] = 0.0
        for k in T.serial(13):
            D[i, j] = D[i, j] + a * A[i, k] * B[k, j]
"""


@pytest.mark.parametrize(
    "shardings",
    some(
        [
            {"A": P("x", None), "D": P("x", None)},
            {"B": P(None, "x"), "D": P(None, "x")},
            {"A": P(None, "x"), "B": P("x", None)},
            {"A": P("x", "y"), "B": P("y", None), "D": P("x")},
            {"A": P("x", None), "B": P(None, "y"), "D": P("x", "y")},
            {"A": P(None, ("y", "x")), "B": P("x", "y")},
        ],
        3,
    ),
    ids=str,
)
def test_products_of_matrices(shardings: dict, plane: Mesh) -> None:
    kernel = check(func_of(MATMUL), plane, shardings, a=1.5)
    assert "where" not in kernel.source


def test_windows_reach_over_the_border_of_a_device(line: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((32,), "float32"), B: T.Buffer((30,), "float32")):
    for i in T.serial(30):
        B[i] = A[i] + A[i + 1] * 2.0 + A[i + 2]
"""
    )
    kernel = check(func, line, {"A": P("x"), "B": P("x")})
    assert any("keeps its extent" in text for text in kernel.report)


def test_windows_in_two_dimensions(plane: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((11, 14), "float32"), B: T.Buffer((11, 14), "float32")):
    for i, j in T.grid(11, 14):
        B[i, j] = A[i, j]
    for i, j in T.grid(9, 12):
        B[i + 1, j + 1] = A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2] - 4.0 * A[i + 1, j + 1]
"""
    )
    check(func, plane, {"A": P("x", "y"), "B": P("x", "y")})


SOFTMAX = """
def f(A: T.Buffer((6, 13), "float32"), O: T.Buffer((6, 13), "float32")):
    M = T.alloc_buffer((6,), "float32")
    S = T.alloc_buffer((6,), "float32")
    E = T.alloc_buffer((6, 13), "float32")
    for i in T.serial(6):
        M[i] = T.float32("-inf")
        for j in T.serial(13):
            M[i] = T.max(M[i], A[i, j])
        S[i] = 0.0
        for j in T.serial(13):
            E[i, j] = T.exp(A[i, j] - M[i])
        for j in T.serial(13):
            S[i] = S[i] + E[i, j]
        for j in T.serial(13):
            O[i, j] = E[i, j] / S[i]
"""


@pytest.mark.parametrize("spec", some([P("x"), P(None, "x"), P("y", "x")], 1), ids=str)
def test_softmax(spec: object, plane: Mesh) -> None:
    check(func_of(SOFTMAX), plane, {"A": spec, "O": spec})


SEVERAL = """
def f(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32"), C: T.Buffer((13,), "float32"),
      S: T.Buffer((1,), "float32"), k: T.int32):
    S[0] = 0.0
    for i in T.serial(13):
        A[i] = A[i] + B[i]
        C[i] = A[i] * T.cast(k, "float32")
        S[0] = S[0] + A[i]
"""


def test_several_results_one_of_them_in_place_and_a_scalar(line: Mesh) -> None:
    kernel = check(func_of(SEVERAL), line, {"A": P("x"), "C": P("x")}, k=3)
    assert kernel.params == ("A", "B", "C", "S", "k") and kernel.optional == ("C", "S")
    A, B = np.arange(13, dtype="float32"), np.ones(13, "float32")
    for _ in range(3):  # results are arguments again
        A, C, S = kernel(A, B, k=2)
    np.testing.assert_allclose(np.asarray(A), np.arange(13) + 3)
    np.testing.assert_allclose(np.asarray(C), 2 * (np.arange(13) + 3))
    np.testing.assert_allclose(np.asarray(S), [np.sum(np.arange(13) + 3)])


def test_a_store_that_changes_nothing_still_gives_a_result(line: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((13,), "int32"), B: T.Buffer((13,), "int32")):
    for i in T.serial(13):
        A[i] = A[i]
        B[i] = A[i] + 1
"""
    )
    check(func, line, {"A": P("x")})


def test_a_partly_written_result_keeps_what_the_caller_passed(line: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32")):
    for i in T.serial(5):
        B[i + 3] = A[i]
"""
    )
    check(func, line, {"A": P("x"), "B": P("x")})


def test_sizes_that_come_with_the_call(plane: Mesh) -> None:
    func = func_of(
        """
def f(n: T.int32, a: T.handle, b: T.handle):
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.serial(n):
        B[i] = T.float32("-inf")
        for j in T.serial(m):
            B[i] = T.max(B[i], A[i, j])
"""
    )
    kernel = compile(func, mesh=plane, shardings={"A": P("y", "x"), "B": P("x")})
    for n, m in ((6, 13), (8, 4), (6, 13)):
        A = -1 - np.random.default_rng(n).random((n, m), "float32")
        np.testing.assert_array_equal(np.asarray(kernel(n, A)[0]), A.max(axis=1))
    assert any("padded from 13 to 16" in text for text in kernel.at(n=6, m=13).report)
    assert kernel.at(n=8, m=4).padded.report == ()
    with pytest.raises(LowerError, match="has the sizes m, n"):
        kernel.at(n=8)


def test_results_can_stay_padded_and_cut(line: Mesh) -> None:
    kernel = compile(func_of(ELEMENTWISE), mesh=line, shardings={"A": P("x"), "B": P("x")})
    (found,) = kernel.jitted(**kernel.arguments((np.ones((13, 6), "float32"),), {}))
    assert found.shape == (16, 6) and found.sharding.spec == P("x", None)
    np.testing.assert_array_equal(np.asarray(found)[:13], np.full((13, 6), 3.0))


def test_arrays_may_lie_anywhere(line: Mesh) -> None:
    kernel = compile(func_of(ELEMENTWISE), mesh=line, shardings={"A": P("x"), "B": P("x")})
    A = np.arange(78, dtype="float32").reshape(13, 6)
    for place in (A, jax.device_put(A, jax.devices()[5]), A.tolist() and jax.numpy.asarray(A)):
        np.testing.assert_array_equal(np.asarray(kernel(place)[0]), A * 2 + 1)
    explicit = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Explicit,))
    found = compile(func_of(ELEMENTWISE), mesh=explicit, shardings={"A": P("x")})(A)
    np.testing.assert_array_equal(np.asarray(found[0]), A * 2 + 1)


def test_checks_are_made(line: Mesh) -> None:
    func = func_of(
        """
def f(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32")):
    for i in T.serial(13):
        T.assume(A[i] > 0.0)
    for i in T.serial(13):
        B[i] = A[i] + 1.0
"""
    )
    kernel = compile(func, checks=True, mesh=line, shardings={"A": P("x"), "B": P("x")})
    A = np.ones(13, "float32")
    np.testing.assert_array_equal(np.asarray(kernel(A)[0]), A + 1)
    A[12] = -1
    with pytest.raises(LowerError) as caught:
        kernel(A)
    assert caught.value.code == "assumption-false"


def test_an_axis_may_be_longer_than_a_dimension(line: Mesh) -> None:
    text = ROW.replace("6", "2").replace("13", "3").format(dtype="float32", init="0.0", step="B[i] + A[i, j]")
    check(func_of(text), line, {"A": P("x", None), "B": P("x")})
    check(func_of(text), line, {"A": P(None, "x")})


def test_arguments_are_still_checked(line: Mesh) -> None:
    kernel = compile(func_of(ELEMENTWISE), mesh=line, shardings={"A": P("x")})
    with pytest.raises(LowerError, match=r"expected shape \(13, 6\), found \(16, 6\)"):
        kernel(np.zeros((16, 6), "float32"))
    with pytest.raises(LowerError, match="argument A of f is missing"):
        kernel()


TERMS = ("B[i] + A[i, j]", "T.max(B[i], A[i, j])", "T.min(B[i], A[i, j])", "B[i] + A[i, j] * C[j]")


@pytest.mark.fuzz
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 11), st.integers(1, 11), st.sampled_from(TERMS), st.permutations(("x", "y", None)), st.booleans())
def test_random_shapes(plane: Mesh, n: int, m: int, step: str, axes: list[str | None], offset: bool) -> None:
    func = func_of(
        f"""
def f(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({m},), "float32"), B: T.Buffer(({n},), "float32")):
    for i in T.serial({n}):
        B[i] = {"A[i, 0] - 100.0" if offset else "0.0"}
        for j in T.serial({m}):
            B[i] = {step}
"""
    )
    check(func, plane, {"A": P(axes[0], axes[1]), "C": P(axes[1]), "B": P(axes[2])}, seed=n)


def test_bfloat16_arrays_are_padded_by_numpy(line: Mesh) -> None:
    dtype, init, step = ROWS["bfloat16 max"]
    kernel = compile(func_of(ROW.format(dtype=dtype, init=init, step=step)), mesh=line, shardings={"A": P(None, "x")})
    A = -np.arange(1, 79).reshape(6, 13).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(np.asarray(kernel(A)[0]), A.max(axis=1))


def cut(func: PrimFunc, mesh: Mesh, rng: Random) -> dict[str, P]:
    """Some sharding of the parameters of a function."""
    found: dict[str, P] = {}
    for buffer in func.buffers:
        left: list[str | None] = list(mesh.axis_names)
        rng.shuffle(left)
        dims = range(len(buffer.shape))
        axes = {d: left.pop() for d in rng.sample(dims, len(dims)) if left and rng.random() < 0.6}
        found[buffer.name] = P(*(axes.get(d) for d in dims))
    return found


# All of them with several shardings in the fuzz run; these few, which have borders, steps and recurrences, in each.
SOON = ("jacobi_2d", "trisolv", "prefix_sum", "histogram")


@pytest.mark.parametrize(
    ("name", "seed"),
    [(name, 0) for name in SOON] + [pytest.param(n, k, marks=pytest.mark.fuzz) for n in PATHS for k in range(3)],
)
def test_examples(name: str, seed: int, line: Mesh, plane: Mesh) -> None:
    example = load(name)
    sizes = example.sizes["small"]
    func = specialize(example.func, sizes)
    inputs = example.inputs(np.random.default_rng(0), **sizes)
    rng = Random(f"{seed}{name}")
    mesh = rng.choice([line, plane])
    shardings = cut(func, mesh, rng)
    given = {p.name: inputs[p.name] for p in func.params if p.name in inputs}
    expected = compile(func)(**given)
    found = compile(func, mesh=mesh, shardings=shardings)(**given)
    for want, have in zip(expected, found, strict=True):
        tolerance = TOLERANCE.get(DType(str(want.dtype)), 0.0)
        np.testing.assert_allclose(
            np.asarray(have).astype(float), np.asarray(want).astype(float), rtol=tolerance, atol=tolerance
        )


@pytest.mark.fuzz
@few(40)
@given(program_texts(), st.integers(0, 10**6))
def test_random_programs(line: Mesh, plane: Mesh, text: str, seed: int) -> None:
    func = parse(text).funcs[0]
    rng = Random(seed)
    mesh = rng.choice([line, plane])
    try:
        inputs = random_inputs(func, np.random.default_rng(seed))
        expected = interpret_with_undef(func, **inputs)
    except LoopsatError:
        return
    found = compile(func, mesh=mesh, shardings=cut(func, mesh, rng))(**{p.name: inputs[p.name] for p in func.params})
    for buffer, (values, undef), got in zip(results_of(func), expected, found, strict=True):
        seen = ~undef & np.isfinite(values.astype(float))
        tolerance = TOLERANCE.get(buffer.dtype, 0.0)
        have, want = np.asarray(got)[seen].astype(float), values[seen].astype(float)
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance, err_msg=f"{buffer.name}\n{text}")
