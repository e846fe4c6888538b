"""Without any float freedom, kernels give what the interpreter gives, bit for bit but for library functions."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import loopsat
from ir import interpret, parse, specialize
from ir.nodes import PrimFunc
from kernel_files import PATHS, load
from lower import compile
from lowered import read
from profiles import some

N, M = 24, 7
DTYPES = ("float32", "float64", "float16", "bfloat16")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0)


class Programs:
    """Random programs of one dtype: expressions, sums and products in loops, recurrences, extremes, branches."""

    def __init__(self, rng: np.random.Generator, dtype: str) -> None:
        self.rng = rng
        self.dtype = dtype

    def pick(self, *choices: str) -> str:
        return choices[int(self.rng.integers(len(choices)))]

    def expr(self, leaves: tuple[str, ...], depth: int) -> str:
        """An expression over leaves."""
        if depth == 0:
            return self.pick(*leaves, *leaves, repr(float(self.rng.choice([0.1, 0.3, 2.0, 3.0, -0.7, 0.0, 1.0, 1e3]))))
        a, b = self.expr(leaves, depth - 1), self.expr(leaves, int(self.rng.integers(depth)))
        match self.rng.integers(11):
            case 0 | 1:
                return f"({a} + {b})"
            case 2 | 3:
                return f"({a} - {b})"
            case 4 | 5:
                return f"({a} * {b})"
            case 6:
                return f"({a} / {b})"
            case 7:
                return f"T.{self.pick('min', 'max')}({a}, {b})"
            case 8:
                return f"(-{a})"
            case 9:
                return f"T.sqrt(T.abs({a}))"
            case _:
                typed = self.pick(*leaves)  # a choice between numbers alone would be of float32
                return f"T.Select({a} {self.pick('<', '<=', '>', '==')} {b}, {b}, {typed})"

    def statement(self) -> str:
        """A nest of loops that stores to X, Y or s."""
        one, two = ("X[i]", "Y[i]", "Z[i, 0]", f'T.cast(i, "{self.dtype}")', "c"), ("X[i]", "Z[i, j]", "Y[j]", "c")
        match self.rng.integers(8):
            case 0:
                return f"for i in T.serial({N}):\n    X[i] = {self.expr(one, 4)}"
            case 1:
                return f"for i, j in T.grid({N}, {M}):\n    Y[i] = Y[i] {self.pick('+', '-')} {self.expr(two, 1)}"
            case 2:
                return f"for i, j in T.grid({N}, {M}):\n    X[i] = X[i] + Z[i, j] * Y[j]"
            case 3:
                return f"for i in T.serial({N - 1}):\n    X[i + 1] = {self.expr(('X[i]', 'Y[i]', 'c'), 2)}"
            case 4:
                return f"for i in T.serial({N}):\n    if X[i] < Y[i]:\n        X[i] = {self.expr(one, 3)}"
            case 5:
                op = self.pick("min", "max")
                return f"for i, j in T.grid({N}, {M}):\n    Y[i] = T.{op}(Y[i], {self.expr(two, 1)})"
            case 6:
                return f"for i in T.serial({N}):\n    if 3 <= i and i < 20:\n        s[0] = s[0] + {self.expr(one, 2)}"
            case _:
                return (
                    f"for i in T.serial(1, {N - 1}):\n    Y[i] = 0.25 * X[i - 1] + 0.5 * X[i] + 0.25 * X[i + 1] - Y[i]"
                )

    def program(self, statements: int) -> PrimFunc:
        """A program of several nests."""
        body = "\n".join(self.statement() for _ in range(statements)).replace("\n", "\n    ")
        buffers = (("X", f"({N},)"), ("Y", f"({N},)"), ("Z", f"({N}, {M})"), ("s", "(1,)"))
        params = ", ".join(f'{name}: T.Buffer({shape}, "{self.dtype}")' for name, shape in buffers)
        return parse(f"@T.prim_func\ndef f({params}, c: T.{self.dtype}):\n    {body}\n").funcs[0]


def inputs(func: PrimFunc, rng: np.random.Generator) -> dict[str, Any]:
    """Numbers of several scales, zeros of both signs among them."""
    found: dict[str, Any] = {}
    for p in func.params:
        shape = [int(d.value) for d in getattr(p, "shape", ())]
        numbers = rng.normal(size=shape) * 10.0 ** rng.integers(-1, 2, shape)
        values = np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), numbers)
        found[p.name] = values.astype(p.dtype.numpy)
    return found


def assert_equal_bits(func: PrimFunc, given: dict[str, Any]) -> None:
    """The strict kernel and the interpreter agree: numbers, signs of zeros, and where there are NaN.

    XLA:CPU takes subnormal numbers for zero, so elements that are below the normal ones count as equal to zero.
    """
    kernel = compile(func, floats="strict")
    own: dict[str, Any] = {name: np.copy(value) for name, value in given.items()}
    expected = interpret(func, **own)
    for want, got in zip(expected, kernel(**given), strict=True):
        want, have = want.astype(np.float64), np.asarray(got).astype(np.float64)
        same = (want == have) & (np.signbit(want) == np.signbit(have)) | np.isnan(want) & np.isnan(have)
        np.testing.assert_array_equal(have[~same], want[~same], err_msg=f"{given}\n{kernel.source}")
        assert same.all(), f"signs of zeros differ\n{given}\n{kernel.source}"


def check(seed: int, dtype: str, statements: int) -> None:
    rng = np.random.default_rng(seed)
    func = Programs(rng, dtype).program(statements)
    assert_equal_bits(func, inputs(func, rng))


@pytest.mark.parametrize("dtype", some(DTYPES, 0.5))
def test_random_programs(dtype: str) -> None:
    check(0, dtype, 8)


@pytest.mark.fuzz
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(1, 40))
def test_many_random_programs(seed: int, dtype: str) -> None:
    check(seed, dtype, 6)


def check_kernel(name: str) -> None:
    file = load(name)
    func = specialize(file.func, file.sizes["small"])
    assert_equal_bits(func, file.inputs(np.random.default_rng(7), **file.sizes["small"]))


@pytest.mark.parametrize("name", some(["gemm", "conv1d_padded", "layer_norm", "lu"], 0.5))
def test_kernels(name: str) -> None:
    check_kernel(name)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", sorted(set(PATHS) - {"attention", "softmax"}))  # these call a library's exp
def test_all_kernels(name: str) -> None:
    check_kernel(name)


@pytest.mark.parametrize(
    "value",
    some(
        [
            "A[i] * B[i] + A[i]",  # contracted
            "A[i] / 3.0",  # multiplied with a reciprocal
            "A[i] / c",  # divided once, and multiplied
            "A[i] / T.sqrt(B[i] * B[i])",
            "A[i] / (B[i] / A[i])",
            "A[i] / B[i] / c",
            "(A[i] + 0.1) - 0.3",  # constants combined
            "A[i] * 0.1 * 0.3",
            "A[i] + 0.0",  # the same but for the sign of zero
            "T.max(A[i] * 0.0, 0.0) + T.min(0.0, A[i] * 0.0)",
            "-(A[i] - B[i])",
            "T.exp(A[i]) * T.exp(B[i]) / (T.exp(A[i]) * T.exp(B[i]))",
        ],
        0.37,
    ),
)
def test_operations_that_xla_takes_together(value: str) -> None:
    func = read(
        'A: T.Buffer((999,), "float32"), B: T.Buffer((999,), "float32"), c: T.float32',
        f"for i in T.serial(999):\n    B[i] = {value}",
    )
    if "exp" in value:
        source = compile(func, floats="strict").source
        assert source.count("rounded(jnp.exp(") == 4
    else:
        assert_equal_bits(func, inputs(func, np.random.default_rng(1)))


KNOWN = {
    "zeros": ("Z[i] = 0.0", "X[i] + Z[i]"),
    "zeros in front": ("Z[i] = 0.0", "Z[i] + X[i]"),
    "zeros with a sign": ("Z[i] = -0.0", "X[i] - Z[i]"),
    "divisors": ('Z[i] = T.cast(i * 7 % 5 + 3, "float32")', "X[i] / Z[i]"),
    "factors": ('Z[i] = T.cast(i % 5 + 1, "float32") * 0.1', "X[i] * Z[i] * Z[i]"),
    "counts": ("Z[i] = 1.0\n    for d in T.serial(4):\n        if 0 <= i + d - 2 < 98:\n            Z[i] = Z[i] + 1.0",
               "X[i] / Z[i]"),
    "a sum's start": ("Z[i] = 0.0\n    for d in T.serial(1):\n        Z[i] = Z[i] + X[i]", "Z[i] * 2.0"),
}  # fmt: skip


@pytest.mark.parametrize(("filled", "value"), some(KNOWN.values(), 0.57), ids=KNOWN.keys())
def test_arrays_that_xla_knows(filled: str, value: str) -> None:
    """It knows what a program fills with numbers."""
    func = read(
        'X: T.Buffer((99,), "float32"), O: T.Buffer((99,), "float32")',
        f'Z = T.alloc_buffer((99,), "float32")\nfor i in T.serial(99):\n    {filled}\n'
        f"for i in T.serial(99):\n    O[i] = {value}",
    )
    X = np.random.default_rng(0).normal(size=99).astype(np.float32)
    X[::3], X[1::7] = -0.0, np.inf
    (want,) = interpret(func, X, X)
    (have,) = compile(func, floats="strict")(X)
    np.testing.assert_array_equal(np.asarray(have).view(np.uint32), want.view(np.uint32))


def test_divisors_that_a_caller_has_as_constants() -> None:
    func = read(
        'X: T.Buffer((99,), "float32"), Z: T.Buffer((99,), "float32"), O: T.Buffer((99,), "float32")',
        "for i in T.serial(99):\n    O[i] = X[i] / Z[i] + Z[i]",
    )
    X, Z = (np.random.default_rng(k).normal(size=99).astype(np.float32) for k in range(2))
    kernel = compile(func, floats="strict")

    def caller(x: jax.Array) -> jax.Array:
        return kernel(x, Z)[0]

    have = jax.jit(caller)(X)
    np.testing.assert_array_equal(np.asarray(have), interpret(func, X, Z, X)[0])


ULPS = {
    "exp": 2, "log": 2, "tanh": 8, "sin": 2, "cos": 2, "erf": 4, "sigmoid": 4, "rsqrt": 2, "pow": 2, "exp2": 24,
    "log2": 2, "log10": 3, "log1p": 2, "tan": 2, "sinh": 16, "cosh": 16, "asin": 2, "acos": 2, "atan": 2, "round": 0,
    "trunc": 0, "atan2": 2, "hypot": 2,
}  # fmt: skip


@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
def test_library_functions_are_within_some_units_in_the_last_place(dtype: str) -> None:
    count = 500
    positive, within_one = ("log", "log2", "log10", "log1p", "rsqrt"), ("asin", "acos")
    given_to = {**dict.fromkeys(positive, "T.abs(A[i])"), **dict.fromkeys(within_one, "A[i] * 0.03125")}
    values = {f: f"T.{f}({given_to.get(f, 'A[i]')})" for f in ULPS}
    values |= {"pow": "T.pow(T.abs(A[i]), B[i])", "atan2": "T.atan2(A[i], B[i])", "hypot": "T.hypot(A[i], B[i])"}
    results = ", ".join(f'{f}_of: T.Buffer(({count},), "{dtype}")' for f in ULPS)
    stores = "\n    ".join(f"{f}_of[i] = {value}" for f, value in values.items())
    params = f'A: T.Buffer(({count},), "{dtype}"), B: T.Buffer(({count},), "{dtype}"), {results}'
    func = read(params, f"for i in T.serial({count}):\n    {stores}")
    rng = np.random.default_rng(0)
    near = rng.normal(size=count // 2) * 10.0 ** rng.integers(-3, 2, count // 2)
    given = (
        np.concatenate([near, np.linspace(-30, 30, count // 2)]).astype(dtype),
        rng.uniform(-4, 4, count).astype(dtype),
    )
    expected = interpret(func, *given, *(np.zeros(count, dtype) for _ in ULPS))
    for (name, most), want, got in zip(ULPS.items(), expected, compile(func, floats="strict")(*given), strict=True):
        distance = np.abs(np.asarray(got) - want) / np.spacing(np.abs(want))
        assert distance.max() <= most, f"{name} is off by {distance.max()} units in the last place"


def test_the_default_policy_is_not_strict() -> None:
    """What these tests compare would tell: sums of products are in another order by default."""
    func = specialize(load("gemm").func, load("gemm").sizes["small"])
    given = load("gemm").inputs(np.random.default_rng(7), **load("gemm").sizes["small"])
    assert any(
        not np.array_equal(np.asarray(a), np.asarray(b))
        for a, b in zip(compile(func)(**given), compile(func, floats="strict")(**given), strict=True)
    )


@pytest.mark.fuzz  # long, and others test most of it
def test_functions_of_functions_are_written_once() -> None:
    def remainders(A: Any) -> Any:
        out = np.zeros_like(A)
        for i in range(len(A)):
            out[i] = ((A[i] * 7 % 3.1) % 0.7 + A[i]) % 0.3 if A[i] > 0 else A[i] // 0.7
        return out

    A = np.random.default_rng(2).normal(size=50)
    kernel = loopsat.jit(floats="strict")(remainders)
    np.testing.assert_array_equal(kernel(A), remainders(A))
    assert len(kernel.source) < 40_000  # 16 million for each of the three put in place of the next
