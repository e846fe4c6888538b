"""What is known of data, of sizes and of signs reaches the emitted source; what rests on it is said, and no more."""

# ruff: noqa: E501, ISC004
from __future__ import annotations

import re

import jax
import numpy as np
import pytest

from egraph_rules import optimize, transforms
from ir import PrimFunc, interpret, parse
from ir.errors import LowerError
from ir.semantics.inputs import random_inputs
from lower import compile, emit
from lower.runtime.callable import Kernel
from lowered import assert_agrees
from profiles import some

N8 = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
DATA = "for i in range(8):\n    T.assume({})\nfor i in range(8):\n    B[i] = {}"


def read(params: str, body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}\n").funcs[0]


def check(func: PrimFunc, seed: int = 0, **sizes: int) -> Kernel:
    """The kernel, after a comparison with the interpreter on inputs that satisfy what is assumed."""
    kernel = compile(func)
    given = {k: np.asarray(v) for k, v in random_inputs(func.as_written, np.random.default_rng(seed), sizes).items()}
    assert_agrees(func, kernel, given, 1e-5)
    return kernel


def body_of(source: str) -> str:
    """The statements of a kernel's function."""
    return source.split('"""')[-1]


ROUNDED_TO_ZERO = {
    "assumed": ("A[i] >= 0", "A[i] // 7 + A[i] % 7"),
    "assumed by more": ("A[i] > 3", "(A[i] - 2) // 7 + (A[i] - 4) % 3"),
    "a range": ("0 <= A[i] and A[i] < 50", "A[i] // 7 + (50 - A[i]) % 4"),
    "of a loop": ("A[i] >= 0", "A[i] + i // 3 + (i + 2) % 5"),
    "both": ("A[i] >= 0 - i", "(A[i] + i) // 3"),
    "divisors": ("A[i] > 0", "100 // A[i] + i % A[i]"),
    "products": ("0 <= A[i] and A[i] < 90", "(A[i] * A[i] + 3) // 5 + (A[i] * (i + 1)) % 3"),
}
ROUNDED_DOWN = {
    "may be negative": ("A[i] >= 0 - 1", "A[i] // 7 + A[i] % 7"),
    "elsewhere": ("i < 4 or A[i] >= 0", "A[i] // 7 + A[i] % 7"),
    "less than that": ("A[i] >= 0", "(A[i] - 1) // 7"),
    "a bound from above": ("A[i] <= 100", "A[i] // 7"),
    "a divisor": ("A[i] != 0", "100 // A[i]"),
    "products": ("-2 <= A[i] and A[i] < 90", "(A[i] * (A[i] + 2) + 3) // 5"),
}


@pytest.mark.parametrize("name", ROUNDED_TO_ZERO)
def test_quotients_of_what_is_not_negative_are_truncated(name: str) -> None:
    source = body_of(check(read(N8, DATA.format(*ROUNDED_TO_ZERO[name]))).source)
    assert "truncdiv(" in source or "fmod(" in source, source
    assert "//" not in source, source
    assert "%" not in source, source


@pytest.mark.parametrize("name", ROUNDED_DOWN)
def test_quotients_of_what_may_be_negative_are_rounded_down(name: str) -> None:
    func = read(N8, DATA.format(*ROUNDED_DOWN[name]))
    kernel = compile(func)
    assert "truncdiv(" not in kernel.source
    assert "fmod(" not in kernel.source
    given = np.array([-1, 7, -1, 14, 5, 6, 50, 100], np.int32)
    if name == "a divisor":
        given = -np.arange(1, 9, dtype=np.int32)
    if name in ("elsewhere", "less than that"):
        given = np.abs(given) if name == "less than that" else given
    (want,) = interpret(func, A=given.copy(), B=np.zeros(8, np.int32))
    assert np.array_equal(kernel(A=given)[0], want)


def test_what_the_program_stores_to_is_not_what_was_assumed() -> None:
    body = DATA.format("A[i] >= 0", "A[i] // 7").replace("\nfor i", "\nfor i in range(8):\n    A[i] = A[i] - 9\nfor i")
    source = check(read(N8, body)).source
    assert "truncdiv(" not in source


def test_a_check_does_not_rest_on_what_it_checks() -> None:
    func = read(N8, DATA.format("A[i] // 7 >= 0", "A[i] // 7"))
    assert "truncdiv(" in compile(func).source
    with pytest.raises(Exception, match="an assumption does not hold"):
        compile(func, checks=True)(np.full(8, -3, np.int32))


@pytest.mark.parametrize("searched", [False, True])
def test_sizes_of_which_something_false_is_assumed_are_told_before_code_for_others_is_traced(searched: bool) -> None:
    func = read(
        'A: T.Buffer((20,), "int32"), B: T.Buffer((6,), "int32"), n: T.int32',
        "T.assume(n <= 6)\nfor i in range(n):\n    B[i] = A[i * 2]",
    )
    kernel = compile(optimize(func).best if searched else func, checks=True)
    a, b = np.arange(20, dtype=np.int32), np.zeros(6, np.int32)
    assert np.asarray(kernel(a, b, 3)[0]).tolist() == [0, 2, 4, 0, 0, 0]
    for _ in range(2):
        with pytest.raises(LowerError, match="n <= 6"):
            kernel(a, b, 7)


SIZES = "m: T.int32, n: T.int32, "
MATRIX, VECTOR = '{}: T.Buffer((m, n), "float32")', '{}: T.Buffer((m * n,), "float32")'
FLAT = {
    "stored": (
        SIZES + f"{MATRIX.format('A')}, {VECTOR.format('B')}",
        "for i in range(m):\n    for j in range(n):\n        B[i * n + j] = A[i, j]",
    ),
    "read": (
        SIZES + f"{VECTOR.format('A')}, {MATRIX.format('B')}",
        "for i in range(m):\n    for j in range(n):\n        B[i, j] = A[j + n * i] * 2.0",
    ),
    "a part of each row": (
        SIZES + f"{MATRIX.format('A')}, {VECTOR.format('B')}",
        "for i in range(m):\n    for j in range(n - 1):\n        B[i * n + j + 1] = A[i, j] + B[i * n]",
    ),
    "rows that are longer": (
        SIZES + f'k: T.int32, {VECTOR.format("A")}, B: T.Buffer((m,), "float32")',
        "T.assume(k >= 1 and k <= n)\nfor i in range(m):\n    B[i] = 0.0\n    for j in range(k):\n"
        "        B[i] = B[i] + A[i * n + j]",
    ),
    "the next row": (
        SIZES + f"{MATRIX.format('A')}, {VECTOR.format('B')}",
        "for i in range(m - 1):\n    for j in range(n):\n        B[(i + 1) * n + j] = A[i, j]",
    ),
    "in blocks": (
        SIZES + 'A: T.Buffer((m, n, 4), "float32"), B: T.Buffer((m * n * 4,), "float32")',
        "for i in range(m):\n    for j in range(n):\n        for c in range(4):\n            B[(i * n + j) * 4 + c] = A[i, j, c]",
    ),
    "three dimensions": (
        SIZES + 'k: T.int32, A: T.Buffer((m, n, k), "float32"), B: T.Buffer((m * n * k,), "float32")',
        "for i in range(m):\n    for j in range(n):\n        for l in range(k):\n"
        "            B[(i * n + j) * k + l] = A[i, j, l] + B[(i * n + j) * k + l]",
    ),
    "a sum": (
        SIZES + f'{VECTOR.format("A")}, B: T.Buffer((m,), "float32")',
        "for i in range(m):\n    B[i] = 0.0\n    for j in T.serial(n):\n        B[i] = B[i] + A[i * n + j]",
    ),
    "a local": (
        SIZES + f"{MATRIX.format('A')}, {MATRIX.format('B')}",
        'L = T.alloc_buffer((m * n,), "float32")\nfor i in range(m):\n    for j in range(n):\n'
        "        L[i * n + j] = T.exp(A[i, j])\nfor i in range(m):\n    for j in range(n):\n        B[i, j] = L[i * n + j] + L[i * n]",
    ),
}  # fmt: skip
NOT_FLAT = {
    "one more": (
        SIZES + f'{MATRIX.format("A")}, B: T.Buffer((m * n + 1,), "float32")',
        "for i in range(m):\n    for j in range(n):\n        B[i * n + j + 1] = A[i, j]",
    ),
    "rows that overlap": (
        SIZES + f"{MATRIX.format('A')}, {VECTOR.format('B')}",
        "for i in T.serial(m):\n    for j in T.serial(n + 1):\n        if i * n + j < m * n:\n            B[i * n + j] = A[i, 0]",
    ),
    "another size": (
        SIZES + f"{MATRIX.format('A')}, {VECTOR.format('B')}",
        "for i in T.serial(m):\n    for j in T.serial(n):\n        B[i * n + j] = A[i, j]\n"
        "for j in T.serial(n):\n    for i in T.serial(m):\n        B[j * m + i] = B[j * m + i] + A[i, j]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(FLAT, 0.38))
def test_products_of_open_sizes_in_indices_are_reshapes(name: str) -> None:
    func = read(*FLAT[name])
    kernel = check(func, m=3, n=5)
    assert "reshape" in kernel.source or name == "a local"
    assert "fori_loop" not in kernel.source, kernel.source
    check(func, m=1, n=1)


@pytest.mark.parametrize("name", NOT_FLAT)
def test_near_misses_of_reshapes(name: str) -> None:
    kernel = check(read(*NOT_FLAT[name]), m=3, n=5)
    assert "reshape" not in kernel.source


ROWS = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")'
PADDED = "for i, j in T.grid(4, 8):\n    T.assume({})\n"
SUM = "for i in range(4):\n    B[i] = 0.0\n    for j in range(8):\n        if {}:\n            B[i] = B[i] + A[i, j]"


def test_padding_that_no_result_depends_on_is_not_asked_for() -> None:
    """As written the program reads none of it; the optimized form may."""
    func = read(ROWS, PADDED.format("j < 5 or A[i, j] == 0.0") + SUM.format("j < 5"))
    kernel = compile(func, checks=True)
    assert kernel.assumptions == ()
    assert "Rests on" not in kernel.source
    kernel(np.full((4, 8), np.nan, np.float32))
    best = optimize(func).best
    assert compile(best).assumptions
    with pytest.raises(Exception, match="an assumption does not hold"):
        compile(best, checks=True)(np.ones((4, 8), np.float32))


ASKED = {
    "read beyond": ("j < 5 or A[i, j] == 0.0", "j < 6"),
    "no number": ("j < 5 or A[i, j] >= 0.0", "j < 5"),
    "two numbers": ("(j < 5 or A[i, j] == 0.0) and (j < 6 or A[i, j] == 1.0)", "j < 5"),
    "of sizes": ("j < 9", "j < 5"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_results_may_depend_on_is_asked_for(name: str) -> None:
    assumed, taken = ASKED[name]
    assert compile(read(ROWS, PADDED.format(assumed) + SUM.format(taken))).assumptions


def test_numbers_for_the_same_padding_that_differ_say_something_of_sizes() -> None:
    both = PADDED.format("j < n or A[i, j] == 0.0") + PADDED.format("j < 6 or A[i, j] == 1.0")
    assert len(compile(read("n: T.int32, " + ROWS, both + SUM.format("j < 5"))).assumptions) == 2
    same = both.replace("1.0", "0.0")
    assert compile(read("n: T.int32, " + ROWS, same + SUM.format("j < n and j < 5"))).assumptions == ()


LENS = 'lens: T.Buffer((4,), "int32"), ' + ROWS
KNOWN = "for i, j in T.grid(4, 8):\n    T.assume(j < lens[i] or A[i, j] == 0.0)\n"
RAGGED = "for i in range(4):\n    B[i] = 0.0\n    for j in T.serial({}):\n        B[i] = B[i] + {}"
UNMASKED = {"sums": ("lens[i]", "A[i, j]"), "products": ("lens[i]", "2.0 * A[i, j] * A[i, j]")}
MASKED = {
    "one less": ("lens[i] - 1", "A[i, j]"),
    "another row": ("lens[3 - i]", "A[i, j]"),
    "no product": ("lens[i]", "A[i, j] + 1.0"),
    "a quotient": ("lens[i]", "A[i, j] / A[i, j]"),
}


def ragged(extent: str, term: str) -> PrimFunc:
    lens = "for i in range(4):\n    T.assume(lens[i] >= 1 and lens[i] <= 8)\n"
    return read(LENS, lens + KNOWN + RAGGED.format(extent, term))


@pytest.mark.parametrize("name", [*UNMASKED, *MASKED])
def test_padding_that_begins_where_data_say_needs_no_mask(name: str) -> None:
    func = ragged(*{**UNMASKED, **MASKED}[name])
    best = optimize(func).best
    kernel = check(best)
    assert ("jnp.where" in kernel.source.split("_as_written")[0]) == (name in MASKED), kernel.source
    assert kernel.assumptions
    assert "jnp.where" in emit(func)
    if name in UNMASKED:
        assert "jnp.where" in emit(best, floats="strict") or "fori_loop" in emit(best, floats="strict")


def test_a_kernel_that_reads_padding_has_the_derivatives_of_one_that_does_not() -> None:
    func = ragged(*UNMASKED["sums"])
    lens, a = np.array([1, 8, 3, 4], np.int32), np.zeros((4, 8), np.float32)
    kernel = compile(optimize(func).best)

    def total(a: jax.Array) -> jax.Array:
        return kernel(lens, a)[0].sum()

    gradient = jax.grad(total)(a)
    assert np.array_equal(gradient, np.arange(8) < lens[:, None])
    with pytest.raises(Exception, match="an assumption does not hold"):
        compile(optimize(func).best, checks=True)(lens, a + 1)


@pytest.mark.parametrize("dtype", some(["float32", "int32"], 1))
def test_padding_that_array_code_reads_is_asked_for(dtype: str) -> None:
    """The optimized form keeps the guard and reads no padding, but the mask that it would be goes."""
    blocks = f'A: T.Buffer((4, 4), "{dtype}"), B: T.Buffer((1,), "{dtype}")'
    assumed = "for i, j in T.grid(4, 4):\n    T.assume(4 * i + j < 14 or A[i, j] == 0)\n"
    body = "B[0] = 0\nfor i, j in T.grid(4, 4):\n    if 4 * i + j < 14:\n        B[0] = B[0] + A[i, j]"
    func = read(
        blocks, (assumed + body).replace("0\n", "0.0\n").replace("0)", "0.0)") if dtype == "float32" else assumed + body
    )
    ones = np.ones((4, 4), dtype)
    written = compile(func, checks=True)
    assert written.assumptions == ()
    assert written(ones)[0].tolist() == [14]
    best = transforms.remove_assume()(func)
    kernel = compile(best, checks=True)
    assert "jnp.where" not in kernel.source.split("_as_written")[0], kernel.source
    assert kernel.assumptions
    with pytest.raises(Exception, match="an assumption does not hold"):
        kernel(ones)

    def total(a: jax.Array) -> jax.Array:
        return compile(best)(a)[0].sum()

    if dtype == "float32":
        assert np.array_equal(jax.grad(total)(0 * ones).ravel(), np.arange(16) < 14)


SUMS = {
    "a negative factor": ("A[i] - (-12.25) * B[i]", "A + 12.25 * B"),
    "added": ("A[i] + (-12.25) * B[i]", "A - 12.25 * B"),
    "a product and a quotient": ("A[i] - (-3.5) * B[i] * A[i] / B[i]", "A + 3.5 * B * A / B"),
    "a number": ("A[i] - (-2.0)", "A + 2.0"),
    "what is negated": ("A[i] + (-B[i])", "A - B"),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_are_written_as_they_are_read(name: str) -> None:
    params = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")'
    value, wanted = SUMS[name]
    func = read(params, f"for i in range(8):\n    C[i] = {value}")
    assert f"C = {wanted}\n" in emit(func)
    assert re.search(r"[-+] -", emit(func, floats="strict")) is None
    a, b, c = (np.asarray(v) for v in random_inputs(func, np.random.default_rng(0)).values())
    (want,) = interpret(func, a, b, c.copy())
    assert np.array_equal(np.asarray(compile(func, floats="strict")(a, b)[0]), want)


PROMISED = {
    "rows up to a size": ("n >= 1 and n <= 16", "for i in range(n):\n    for j in range(4):\n        B[i, j] = A[i, j] * 2.0"),
    "rows from a size on": ("n >= 1 and n <= 15", "for i in range(n, 16):\n    for j in range(4):\n        B[i, j] = A[i, j] * 2.0"),
    "moved": ("n >= 1 and n <= 13", "for i in range(n):\n    for j in range(4):\n        B[i + 3, j] = A[i + 1, j] + A[i + 2, j]"),
    "summed": ("n >= 1 and n <= 16", "for j in range(4):\n    for i in range(n):\n        B[0, j] = B[0, j] + A[i, j]"),
    "no more than all": ("n >= 1 and n <= m", "for i in range(n):\n    for j in range(4):\n        C[i, j] = D[i, j] * 2.0"),
    "between two sizes": ("n >= 1 and k >= n and k <= 16", "for i in range(n, k):\n    for j in range(4):\n        B[i, j] = A[i - n, j]"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(PROMISED, 0.33))
def test_places_within_what_is_promised_of_sizes_are_slices(name: str) -> None:
    claim, nest = PROMISED[name]
    buffers = ", ".join(
        f'{b}: T.Buffer(({n}, 4), "float32")' for b, n in (("A", 16), ("B", 16), ("C", "m"), ("D", "m"))
    )
    func = read(f"{buffers}, n: T.int32, k: T.int32, m: T.int32", f"T.assume({claim} and k <= 16)\n{nest}")
    for seed in range(3):
        kernel = check(func, seed, m=9)
    assert "clip" not in kernel.source and "drop" not in kernel.source


def test_a_window_at_a_place_that_is_promised_to_be_inside_is_a_slice() -> None:
    params = 'A: T.Buffer((16, 16), "float32"), B: T.Buffer((4, 5), "float32"), y: T.int32, x: T.int32'
    claim = "T.assume(y >= 0 and y <= 12 and x >= 0 and x <= 11)"
    func = read(params, f"{claim}\nfor i, j in T.grid(4, 5):\n    B[i, j] = A[y + i, x + j]")
    for seed in range(3):
        assert "lax.dynamic_slice(A" in check(func, seed).source


def test_places_beyond_what_is_promised_are_no_slices() -> None:
    """A load that may leave its buffer gives anything, but no error."""
    func = read(
        f"{N8}, n: T.int32", "T.assume(n >= 1 and n <= 8)\nfor i in range(n):\n    if i < 7:\n        B[i] = A[i + 1]"
    )
    check(func)
