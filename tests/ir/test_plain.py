"""Plain Python functions as programs: run by the interpreter, they compute what Python does; the rest is refused."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsat
from ir import interpret, verify
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Assume, PrimFunc
from ir.script.plain.library.names import assume
from ir.script.plain.program import NeedsValue
from ir.script.plain.signature import ArrayType, Known, ScalarType
from ir.script.plain.translate import translate
from ir.traverse import walk
from plain_runs import assert_same, read, run

RNG = np.random.default_rng(0)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
REFUSED: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = []


def case(*args: Any) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        CASES.append((function, args))
        return function

    return keep


def refused(code: str, *args: Any) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        REFUSED.append((code, function, args))
        return function

    return keep


A = np.arange(6.0)
M = np.arange(12.0).reshape(3, 4)
F = A.astype("f4")
I = np.arange(6)


@case(np.arange(9.0).reshape(3, 3) + 9 * np.eye(3), np.arange(3.0))
def eliminate(A, b):
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] -= m * A[k, k:]
            b[i] -= m * b[k]
    for k in range(n):
        A[k, k:] += 2 * A[k, k:]
        A[0, k : k + 2] = 1.0
    return A, b


@case(A)
def other_names(A):
    B = np.asarray(A)
    C = np.array(A)
    B[0] = 7.0
    C[1] = 8.0
    D = A
    D[2] = 9.0
    return A, C, np.floor(3), np.ceil(A[3] + 0.5)


@case(A)
def table(A):
    w = np.array([0.25, 0.5, 0.25])
    out = np.zeros_like(A)
    for i in range(1, len(A) - 1):
        for k in range(3):
            out[i] += w[k] * A[i + k - 1]
    return out


@case(F)
def promote(F):
    s = 0
    for v in F:
        s += v
    return s, s / 2, F[0] * 2.5, F.dtype == np.float32


@case(I)
def ints(I):
    return I[2] / 2, I[5] // 2, -I[5] // 2, -I[3] % 4, I[1] ** 2, abs(-I[2]), I.sum(), I.mean()


@case(M)
def views(M):
    r = M[1]
    r[:] = 5
    c = M[:, 1]
    c += 1
    M[0, ::2] = M[0, 1::2]
    M[:, 2:] = M[:, :2]
    M[1:] = M[:-1]
    return M


@case(M)
def npish(M):
    return (
        M.sum(axis=0),
        np.mean(M, axis=1),
        M.max(),
        (M * 2 + 1).min(axis=0),
        M.T @ M,
        np.sqrt(M)[1],
        M - M.mean(axis=0),
    )


@case(A, 2)
def use_n(A, n):
    return A * n, n + 1


@case(A)
def loopvar(A):
    for i in range(6):
        if A[i] >= 3:
            break
    return i


@case(A, True)
def flag(A, f):
    if f:
        return A + 1
    return A


@case(A, None)
def opt(A, f):
    if f is None:
        f = 3.0
    return A * f


@case(A)
def cont(A):
    s = 0.0
    for i in range(6):
        if i % 2:
            continue
        for j in range(6):
            if j == i:
                continue
            if j > 4:
                break
            s += A[j] * i
    return s


@case(np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.4, 2.6, 1e6 + 0.5], "f4"), np.arange(8, dtype="i4"))
def rounding(A, I):
    B, C, D = np.zeros_like(A), np.zeros(len(A), np.int64), np.zeros_like(I)
    for i in range(len(A)):
        B[i] = np.round(A[i]) + np.rint(A[i]) + np.trunc(A[i])
        C[i] = round(A[i]) + math.trunc(float(A[i])) + round(I[i])
        D[i] = np.round(I[i])
    return B, C, D, np.round(A)


@refused("arguments", np.ones(3), 1)
def digits(A, n):
    B = np.zeros_like(A)
    for i in range(len(A)):
        B[i] = round(A[i], i)
    return B


@case(RNG.random((8, 8)), 5)
def game(G, steps):
    n, m = G.shape
    cur = (G > 0.5).astype(np.int64)
    for t in range(steps):
        nxt = np.zeros_like(cur)
        for i in range(n):
            for j in range(m):
                s = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            s += cur[(i + di) % n, (j + dj) % m]
                if cur[i, j] == 1 and (s == 2 or s == 3):
                    nxt[i, j] = 1
                elif cur[i, j] == 0 and s == 3:
                    nxt[i, j] = 1
        cur[:] = nxt
    return cur


@case(np.array([3, 1, 2, 5, 4, 0]))
def bubble(A):
    B = A.copy()
    n = len(B)
    for i in range(n):
        for j in range(0, n - i - 1):
            if B[j] > B[j + 1]:
                B[j], B[j + 1] = B[j + 1], B[j]
    return B


@case(RNG.integers(0, 9, (6,)), 4)
def knap(w, cap):
    best = np.zeros(cap + 1, np.int64)
    for i in range(len(w)):
        for c in range(cap, -1, -1):
            if w[i] <= c:
                best[c] = max(best[c], best[c - w[i]] + w[i])
    return best


@case(RNG.random(12), 3)
def moving(A, w):
    out = np.empty(len(A) - w + 1)
    acc = 0.0
    for i in range(len(A)):
        acc += A[i]
        if i >= w:
            acc -= A[i - w]
        if i >= w - 1:
            out[i - w + 1] = acc / w
    return out


@case(RNG.random((6, 2)), np.array([0, 1, 1, 2, 0, 2]), 3)
def kmeans(X, lab, k):
    cen = np.zeros((k, X.shape[1]))
    cnt = np.zeros(k)
    for i in range(len(X)):
        assume(lab[i] >= 0 and lab[i] < k)
        cnt[lab[i]] += 1
        cen[lab[i]] += X[i]
    for j in range(k):
        if cnt[j]:
            cen[j] /= cnt[j]
    return cen


@case(30)
def sieve(n):
    p = np.ones(n, np.bool_)
    p[:2] = False
    for i in range(2, n):
        if p[i]:
            for j in range(i * i, n, i):
                p[j] = False
    return p


@case(
    np.arange(10),
)
def collatz(A):
    out = np.zeros_like(A)
    for i in range(len(A)):
        x = A[i] + 1
        for s in range(30):
            if x == 1:
                break
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            out[i] += 1
    return out


@case(np.arange(6.0))
def aliasing_view(A):
    B = A.copy()
    v = B[1:4]
    v[0] = 10.0
    B[2] = 20.0
    w = v[::-1]
    return B, v[1] + w[0], w


@case(np.arange(6.0))
def overlap(A):
    B = A.copy()
    B[1:] = B[:-1]
    B[:-1] += B[1:]
    return B


@case(
    np.array([5, -3, 7]),
)
def divs(A):
    out = np.zeros((3, 4), np.int64)
    for i in range(3):
        out[i, 0] = A[i] // 2
        out[i, 1] = A[i] % 2
        out[i, 2] = int(A[i] / 2)
        out[i, 3] = abs(A[i]) // -2
    return out


@case(np.arange(9.0).reshape(3, 3))
def stencil_inplace(A):
    B = A.copy()
    for t in range(2):
        for i in range(1, 2):
            for j in range(1, 2):
                B[i, j] = (B[i - 1, j] + B[i + 1, j] + B[i, j - 1] + B[i, j + 1]) / 4
        B[0, :], B[2, :] = B[2, :].copy(), B[0, :].copy()
    return B


@case(np.array([3.0, 1.0, 2.0]))
def swap_idx(A):
    B = A.copy()
    i = 0
    j = 2
    B[i], B[j] = B[j], B[i]
    i, j = j, i
    B[i] += B[j] * 10
    return B


@case(np.arange(6.0).reshape(2, 3))
def rows_loop(A):
    s = np.zeros(3)
    for row in A:
        s += row
        row_max = row.max()
        s[0] += row_max
    return s


@case(I)
def shifts(I):
    return (I[3] << 2) | 1, I[5] >> 1, I[5] & 3, I[5] ^ I[2], ~I[1]


@case(A)
def bools(A):
    m = A > 2
    n = 0
    for i in range(len(A)):
        if m[i] and not (A[i] > 4 or i == 3):
            n += 1
    return m, n, m.sum()


@case(A, np.float32(2))
def npscalar(A, x):
    return A[0] + x, x * 2, x


@case(np.arange(5, dtype=np.uint8))
def u8(a):
    return a - a[::-1], a + 250


def swap2(B, i, j):
    B[i], B[j] = B[j], B[i]


@case(A)
def helperwrite(A):
    B = A.copy()
    for i in range(3):
        swap2(B, i, 5 - i)
    return B


def twice(x):
    y = x * 2
    return y


@case(A)
def helpers(A):
    out = np.empty(len(A))
    for i in range(len(A)):
        out[i] = twice(A[i]) + twice(twice(A[i]))
    return out


@case(M)
def shapes(M):
    n, m = M.shape
    out = np.zeros((m, n), dtype=M.dtype)
    for di, dj in ((0, 1), (1, 0), (-1, 0)):
        for i in range(1, m - 1):
            for j in range(1, n - 1):
                if di < 0:
                    continue
                out[i, j] += M[j + di, i + dj] * 2
    return out


@case(A)
def ternary(A):
    out = np.empty(6)
    for i in range(6):
        out[i] = A[i - 1] if i > 0 else -1.0
    return out


@case(A)
def wrap(A):
    out = np.empty(6)
    for i in range(6):
        out[i] = A[i - 1] - A[i - 6]
    return out


@case(A)
def chained(A):
    a = b = 0.0
    for i in range(6):
        if 1 <= i < 4 != 5:
            a += A[i]
        b = max(b, a, A[i])
    return a, b


@case(A)
def fib(A):
    a, b = 0, 1
    for _ in range(10):
        a, b = b, a + b
    return a


@case(A)
def zero_trip(A):
    s = 1.0
    for i in range(3, 2):
        s = 2.0
    B = np.zeros(0)
    return s


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_functions_compute_what_python_does(function: Any, args: tuple[Any, ...]) -> None:
    own = copy.deepcopy(args)
    assert_same(run(function, args), function(*own))


# What is outside of the language is refused where it stands ---------------------------------------------------------------


@refused("unknown-function", A)
def prints(A):
    print(A[0])
    return A.sum()


@refused("unsupported", A)
def generator(A):
    items = (a for a in A)
    return sum(items)


@refused("shape", A)
def greatest_of_nothing(A):
    return max(A[i] for i in range(0))


@refused("lost-result", A)
def lost(A):
    A[0] = 1
    return A[1]


@refused("no-result", A)
def nothing(A):
    x = A[0]


@refused("recursion", A)
def recursive(A):
    return recursive(A)


@refused("unassigned", A)
def maybe(A):
    if A[0] > 1:
        s = 1
    return s


@refused("rebinding", A)
def another_part_each_time(A):
    B = A.copy()
    for t in range(3):
        if A[t] > 0:
            B = B[1:]
    return B


@refused("assertion-false", A)
def raises(A):
    if len(A) < 1000:
        raise ValueError("x")
    return A[0]


@refused("dtype-mismatch", A)
def floatidx(A):
    return A[len(A) / 2]


@refused("unknown-function", A)
def unknown(A):
    return np.linalg.svd(A)


@refused("unknown-name", A)
def undefinedname(A):
    return sizee


@refused("return", A)
def some_paths(A):
    for i in range(3):
        if A[i] > 2:
            return i


@refused("unsupported", A)
def dictionary(A):
    d = {}
    return d


@refused("unsupported", A)
def tryit(A):
    try:
        x = A[0]
    except IndexError:
        x = 0
    return x


@refused("shape", A)
def bad_shape(A):
    return A[1:] + A


@refused("return", A)
def strings(A):
    return "abc"


@refused("arguments", A)
def star(A):
    a, b, c, d, *e = A, A
    return a


@refused("unsupported", A)
def glob(A):
    global X
    X = A[0]
    return A


@refused("dtype-mismatch", A)
def aug(A):
    I = np.zeros(6, np.int64)
    I += A
    return I


@refused("store-out-of-bounds", A, 5)
def outside(A, n):
    B = np.zeros(n)
    for i in range(n + 1):
        B[i] = A[i]
    return B


@refused("unsupported", A)
def writes_within(A):
    return A[0] + takes(A)


def takes(A):
    A[0] = 2.0
    return 1.0


@refused("unsupported", A)
def without_end(A):
    x = A[0]
    while True:
        loopsat.bound(3)
        x = x + 1.0
    return x


@refused("arguments", A)
def bounds_of_nothing(A):
    x = A[0]
    while x > 1.0:
        loopsat.bound()
        x = x / 2.0
    return x


@refused("dtype-mismatch", A)
def half_a_step(A):
    x = A[0]
    while x > 1.0:
        loopsat.bound(0.5)
        x = x / 2.0
    return x


@refused("unsupported", A)
def bound_outside(A):
    loopsat.bound(3)
    return A[0]


@refused("unassigned", A)
def none_of_a_branch(A, f=None):
    for i in range(3):
        if f is None:
            f = A[i]
    return f


@pytest.mark.parametrize(("code", "function", "args"), REFUSED, ids=[f.__name__ for _, f, _ in REFUSED])
def test_what_is_not_of_the_language_is_refused_where_it_stands(code: str, function: Any, args: Any) -> None:
    if function is none_of_a_branch:
        args = (*args, None)
    with pytest.raises(LoopsatError) as error:
        verify(read(function, args).func)
    assert error.value.code == code
    assert error.value.span is not None
    assert "^" in str(error.value)
    assert error.value.span.file == __file__


# Names that stand for other arrays after each step ---------------------------------------------------------------


def double_buffered(A, n):
    A = A.copy()
    B = A.copy()
    for t in range(n):
        for i in range(1, len(A) - 1):
            B[i] = A[i - 1] + 2 * A[i] + t * A[i + 1]
        A, B = B, A
    return A, B


def three_in_turn(A, n):
    a, b, c = A.copy(), A.copy(), np.zeros_like(A)
    for t in range(n, 0, -1):
        for i in range(len(A)):
            c[i] = 2 * b[i] - a[i] + t
        a, b, c = b, c, a
    return b, a, c


def one_for_good(A, n):
    a, b = A.copy(), 2 * A
    for t in range(1, 2 * n, 2):
        for i in range(len(A)):
            b[i] = b[i] + a[i] * t
        a = b
    return a, b


def with_an_alias(A, n):
    X, Y = A.copy(), A.copy()
    Z, part = X, Y[1:3]
    for t in range(n):
        for i in range(len(A)):
            Y[i] = X[i] + 1
        X, Y = Y, X
    part[0] = 100
    return X, Y, Z


def within_another(A, n):
    X, Y = A.copy(), A.copy()
    s = 0.0
    for r in range(3):
        for t in range(n):
            for i in range(len(A)):
                Y[i] = X[i] + t
                s += Y[i]
            X, Y = Y, X
        X[0] = 5
    return X, Y, s


def by_a_helper(A, n):
    B = A.copy()
    for t in range(n):
        first, second = smooth(A, B, 3)
        B[0] = first[1] + second[2]
    return B


def smooth(A, B, n):
    X, Y = A.copy(), B.copy()
    for t in range(n):
        for i in range(1, len(A)):
            Y[i] = X[i - 1] + 1
        X, Y = Y, X
    return X, Y


def parameters(A, B, n):
    for t in range(n):
        for i in range(len(A)):
            B[i] = A[i] + t
        A, B = B, A


SWAPS = [double_buffered, three_in_turn, one_for_good, with_an_alias, within_another, by_a_helper]


@pytest.mark.parametrize("function", SWAPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_arrays_may_be_swapped_after_each_step(function: Any, count: int) -> None:
    given = np.arange(1, 6, dtype=np.float32)
    wanted = function(given.copy(), count)
    for found, expected in zip(run(function, (given, count)), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_parameters_that_are_swapped_hold_what_the_caller_sees(count: int) -> None:
    a, b = np.arange(4.0), np.arange(4.0) * 2
    plain = read(parameters, (a, b, count))
    found = dict(zip(plain.results, interpret(plain.func, a, b), strict=True))
    parameters(a, b, count)
    assert all(np.array_equal(found[name], array) for name, array in (("A", a), ("B", b)) if name in found)
    assert found.keys() == ({"B"} if count == 1 else {"A", "B"})


def test_swaps_of_an_open_number_of_steps_are_refused() -> None:
    types = {"A": ArrayType(("n",), DType.FLOAT32)}
    with pytest.raises(LoopsatError, match="the number of steps is not known"):
        translate(swapped_as_often_as_there_are_elements, types)


def swapped_as_often_as_there_are_elements(A):
    B = A.copy()
    for t in range(len(A)):
        A, B = B, A
    return A


# What programs are -------------------------------------------------------------------------------------------------


def scaled(A, x, n):
    for i in range(n):
        A[i] *= x


def test_numbers_that_decide_about_loops_must_be_known() -> None:
    types = {"A": ArrayType((4,), DType.FLOAT32), "x": ScalarType(DType.FLOAT64, True)}
    with pytest.raises(NeedsValue) as needed:
        translate(scaled, {**types, "n": ScalarType(DType.INT64, True)}, frozenset({"n"}))
    assert needed.value.names == {"n"}


def test_a_number_that_is_converted_everywhere_is_given_so() -> None:
    types = {"A": ArrayType((4,), DType.FLOAT32), "x": ScalarType(DType.FLOAT64, True), "n": Known(3)}
    (x,) = translate(scaled, types).func.scalars
    assert x.dtype is DType.FLOAT32


def rows(A):
    out = np.empty(len(A))
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j]
        out[i] = total
    out[-1] += A[:2, -1].sum()
    out[1:9] += 1
    return out


def test_sizes_may_stay_open() -> None:
    func = translate(rows, {"A": ArrayType(("n", "m"), DType.FLOAT64)}).func
    verify(func)
    assert func.verified
    assert {str(v.name) for b in func.buffers for v in b.shape} == {"n", "m"}
    found = interpret(func, np.ones((3, 5)), np.zeros(3))
    np.testing.assert_array_equal(found[0], rows(np.ones((3, 5))))


def gathered(A, I):
    out = np.empty(len(I))
    for k in range(len(I)):
        assume(0 <= I[k] and I[k] < len(A))
        out[k] = A[I[k]]
    return out


def test_assumptions_are_those_of_the_program() -> None:
    args = (np.arange(4.0), np.array([3, 0, 1]))
    assert_same(run(gathered, args), gathered(*args))
    func: PrimFunc = read(gathered, args).func
    assert any(isinstance(s, Assume) for s in walk(func.body))


def smaller(A, B):
    for i in range(len(A)):
        A[i] = min(A[i], B[i])


def test_min_of_nan_is_that_of_python_where_asked() -> None:
    args = (np.array([np.nan, 1.0]), np.array([1.0, np.nan]))
    types = {n: ArrayType((2,), DType.FLOAT64) for n in "AB"}
    own = copy.deepcopy(args)
    smaller(*own)
    np.testing.assert_array_equal(interpret(translate(smaller, types, exact=True).func, *args)[0], own[0])
