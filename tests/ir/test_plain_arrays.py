"""Functions of arrays, arrays as indices, and names of arrays that change in loops: as NumPy has them, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopsat
from ir import interpret
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.script.plain.signature import ArrayType
from ir.script.plain.translate import translate
from plain_runs import assert_same, read, run
from profiles import few

M = np.arange(12.0).reshape(3, 4)
K = np.array([[3, 1, 3], [0, 5, 5]], np.int32)
V = np.array([3.0, 1.0, 2.0])
I = np.array([0, 2, 1, 2])

CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def case(*args: Any) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        CASES.append((function, args))
        return function

    return keep


@case(M)
def shapes(m):
    b = m.reshape(-1)
    b[0] = 50.0  # a view
    c = m.T.reshape(2, 6)
    c[0, 0] = -3.0  # a copy
    d = m.flatten()
    d[1] = 9.0
    return m, b, c, d, np.reshape(m, (2, -1)), m.reshape((2, 2, 3)), np.ravel(m[:, 1:])


@case(M, V)
def joined(m, v):
    rows = np.concatenate([m[0], v, m[1]])
    return (
        rows,
        np.concatenate((m, m[:1])),
        np.concatenate((m, m[:, :2]), axis=1),
        np.stack((v, 2 * v)),
        np.stack([v, v], -1),
    )


@case(M, V)
def products(m, v):
    return (
        np.outer(v, m[0]),
        np.diag(m),
        np.diag(v),
        np.diag(m[:, :2]),
        np.trace(m),
        np.linalg.norm(m),
        *divmod(m.size, 5),
    )


@case(M, K)
def folds(m, k):
    places = np.argmax(k), k.argmax(axis=1), np.argmin(k, axis=0), (m * -2).argmax()
    totals = np.cumsum(k), np.cumsum(m, axis=0), m.cumsum(1), np.cumprod(k[0])
    return *places, *totals, m.var(), np.std(m, axis=0), k.std(), np.var(k, axis=1), np.linalg.norm(k[0])


@case(M)
def masks(m):
    m[m > 5] -= 2
    m[:2][m[1:] > 6] = 9
    b = m > 4
    m[b & (m < 8)] = -1
    m[~b] *= 2
    m[m[::-1] > 3] = 7  # all truths are worked out first
    return m


@case(M, I)
def gathers(m, i):
    m[1] = m[2][i]
    return m, m[i[:2]], m[i[:3], i[1:4]], m[-i[:3], 0], m[i[:3][:, None], i[None, :2]], m[np.array([2, 0])]


@case(M, V)
def one_after_the_other(m, v):
    x = m[0]
    a, b = v, v + 1
    for i in range(3):
        for _ in range(2):
            x = 0.5 * x + m[i]
        x = np.sqrt(x)
        a, b = b, a + b
    return x, a, b


@case(V)
def as_it_was(v):
    old = v * 2
    for _ in range(3):
        old = v
        v = v + 1
    return v, old


@case(V, 0)
def no_step(v, n):
    for _ in range(n):
        v = v * 0.5
    return v


@case(np.diag(np.arange(1.0, 5.0)) + 1, np.array([1.0, -2.0, 0.5, 3.0]))
def conjugate_gradients(A, b):
    x = np.zeros(4)
    r = b - A @ x
    p = r
    rs = r @ r
    for _ in range(3):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        p = r + (new / (rs + 1e-30)) * p
        rs = new
    return x


@case(K)
def members(k):
    n = 0
    for v in k[0]:
        if v in (1, 5):
            n += 1
        if v not in (1, 2):
            n += 10
    return n, 3 in (1, 2), 3 not in (1, 2), float("inf"), max(float("-inf"), 1.0)


@case(M, V)
def arranged(m, v):
    return (
        np.roll(m, 1, axis=0) + np.roll(m, -2, 1),
        np.roll(m, 5),
        np.roll(v, shift=-1),
        np.flip(m),
        np.flip(m, axis=1) - np.fliplr(m),
        np.flipud(m),
        np.diff(v),
        np.diff(m, axis=0),
        np.vstack((v, v + 1)),
        np.hstack([v, m[0]]),
        np.hstack((m, m)),
        np.expand_dims(v, 1) * v,
        np.triu(m),
        np.tril(m, -1),
        np.triu(m, k=1),
    )


@case(M, V, I)
def padded(m, v, i):
    return (
        np.pad(m, 1),
        np.pad(v, (2, 0), constant_values=7),
        np.pad(m, ((0, 1), (2, 0)), mode="edge"),
        np.pad(i, 1, "constant", constant_values=-1),
    )


@case(M, V, I)
def counted_and_kept(m, v, i):
    return (
        np.count_nonzero(m > 2),
        np.count_nonzero(i),
        np.count_nonzero(m, axis=1),
        m - m.mean(axis=1, keepdims=True),
        np.max(m, axis=0, keepdims=True),
        np.sum(m, keepdims=True),
        np.std(v, ddof=1),
        m.var(axis=0, ddof=1, keepdims=True),
        np.argmax(m, axis=1, keepdims=True),
    )


@case(M, V)
def taken_apart(m, v):
    x, y, z = v
    out = np.empty((len(m), 2))
    for k, (a, b, c, d) in enumerate(m):
        out[k] = a * d, b - c
    (p, q, _, _), second, _ = m
    m[0] = second  # p is a number, second is a view
    second[1] = 50.0
    m[2, 1:] = (y, x, z)
    v[0], v[1] = v[1], v[0]
    v[:] = v[2], v[0], v[1]
    return m, v, out, x + 10 * y + 100 * z, p + q


@case(M, np.array([[1.0, 2.0], [0.5, -1.0]]))
def windows(m, k):
    n, w = len(k), k.shape[1]
    out = np.zeros((m.shape[0] - n + 1, m.shape[1] - w + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (m[i : i + n, j : j + w] * k).sum()
            out[i, j] += np.dot(m[i, j : j + w], k[:, 0]) + (m[i : i + 2, j] @ k[0])
    return out


def moved(x, by=2.0, to=0.0):
    return x * by + to


@case(np.arange(24.0).reshape(2, 3, 4), M)
def turned(c, m):
    total = moved(m[0, 1], to=1.0) + moved(by=3, x=m[1, 1])
    return np.transpose(c, (2, 0, 1)), c.transpose(1, 0, 2), c.transpose(), c.transpose((0, -1, 1)), m[[0, 2]], total


@case(np.arange(24.0).reshape(2, 3, 4), M)
def over_several_axes(c, m):
    return (
        c.sum(axis=(0, 2)),
        np.max(c, axis=(-1, 1), keepdims=True),
        np.mean(m, axis=(0, 1)),
        c.mean(axis=(1, 2)),
        m.sum(axis=(0,)),
        np.std(m, axis=(0, 1)),
        np.any(c > 20, axis=(0, 1)),
        m.argmax(),
        np.cumsum(m[0], axis=0),
    )


@case(M, V)
def one_of_two(m, v):
    out = np.zeros_like(m)
    for i in range(len(m)):
        row = m[i] if v[i] > 1 else -m[0]
        v[i] = 9.0
        out[i] = row
    return out, v, (v if m[0, 1] > 5 else 2 * v)


@case(np.array(3.0))
def without_dimensions(x):
    return x[()] + x[...]


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_programs_compute_what_numpy_does(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    wanted = function(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    assert_same(run(function, args), wanted)


@few(10)
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=6), st.integers(0, 5))
def test_the_first_extreme_element_is_found(numbers: list[int], axis: int) -> None:
    matrix = np.array([numbers, numbers[::-1]], np.int32)

    for name in ("argmax", "argmin"):
        assert_same(run(PLACES[name], (matrix,)), PLACES[name](matrix))


def first_greatest(m):
    return m.argmax(axis=0), m.argmax(1), np.argmax(m)


def first_least(m):
    return m.argmin(axis=0), m.argmin(1), np.argmin(m)


PLACES = {"argmax": first_greatest, "argmin": first_least}


def test_angles_of_strict_floats_heed_the_sign_of_zero() -> None:
    y, x = np.array([-0.0, 0.0, -0.0, 0.0]), np.array([-1.0, -1.0, 2.0, -0.0])
    found = loopsat.jit(angles, floats="strict")(y, x)
    np.testing.assert_allclose(found, np.arctan2(y, x), rtol=1e-12)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(y))


def angles(y, x):
    return np.arctan2(y, x)


def test_strict_floats_find_what_is_no_number() -> None:
    array = np.array([[1.0, np.nan, 3.0], [np.nan, 1.0, np.nan]], np.float32)
    for function in PLACES.values():
        for found, wanted in zip(loopsat.jit(function, floats="strict")(array), function(array), strict=True):
            np.testing.assert_array_equal(np.asarray(found), wanted)


REFUSED: list[tuple[str, str, Callable[..., Any], tuple[Any, ...]]] = []


def refused(code: str, text: str, *args: Any) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        REFUSED.append((code, text, function, args))
        return function

    return keep


@refused("shape", "has no shape", M)
def too_large(m):
    return m.reshape(5, 3)


@refused("shape", "do not fit", M)
def different_rows(m):
    return np.concatenate((m[0], m[:, 0]), axis=0) + np.stack((m[0], m[:, 0]))


@refused("unsupported", "must be a number", M)
def some_of_another(m):
    m[m > 2] = m * m[0, 0] + np.zeros((1, 3, 4))
    return m


@refused("rebinding", "elements change of an array that `v` may stand for", V)
def changed_and_renamed(v):
    for i in range(3):
        v[0] = i
        v = v + 1
    return v


@refused("rebinding", "int64 (3,) and float64 (3,)", np.arange(3))
def another_dtype(v):
    for _ in range(100):
        v = v * 0.5
    return v


@refused("rebinding", "(2,)", V)
def another_shape(v):
    for k in range(2):
        if v[k] > 0:
            v = v[1:] * 2
    return v


@refused("unsupported", "look its keys up", V)
def keys(v):
    d = {}
    return d


@refused("unsupported", "return it", V)
def generator(v):
    yield v[0]


@refused("unsupported", "leave it out", V)
def managed(v):
    with memoryview(v.data):
        return v + 1


@refused("unsupported", "before the call", V)
def drawn(v):
    return v + np.random.rand()


@refused("arguments", "the option `stat_length` of np.pad", V)
def padded_otherwise(v):
    return np.pad(v, 1, stat_length=1)


@refused("arguments", "np.roll needs a and shift", V)
def rolled_by_nothing(v):
    return np.roll(v, axis=0)


@refused("unknown-function", "write its loops", V)
def of_numpy_and_not_here(v):
    return np.unwrap(v)


@refused("arguments", "moved takes 3 arguments, 1 given, and side by name", V)
def no_such_parameter(v):
    return moved(v[0], side=1)


@refused("arguments", "moved takes 3 arguments, 0 given, and by by name", V)
def no_value(v):
    return moved(by=v[0])


@refused("arguments", "along one axis", np.zeros((2, 2, 2)))
def spread_over_two(c):
    return np.var(c, axis=(0, 1))


@refused("shape", "(4,) and (3,)", M, V)
def one_of_two_shapes(m, v):
    return m[0] if v[0] > 1 else v


@refused("arguments", "repeated axis", M)
def turned_twice(m):
    return m.transpose(0, 0)


@refused("arguments", "5 names for an array of shape (3, 3)", V)
def too_few_for_a_star(v):
    first, second, third, fourth, *rest = np.stack((v, v, v))
    return first


@refused("rebinding", "another tuple after each step", V)
def tuple_that_changes(v):
    pair, other = (0, 1), 2
    for x in v:
        pair = (*pair, x)
    return pair[0] + other


@refused("unsupported", "copy them first", V)
def places_read_from_the_array_itself(v):
    w = np.array([2, 0, 1])
    w[w] = w[:3]
    return w


@refused("arguments", "2 names for an array of shape (3,)", V)
def taken_apart_otherwise(v):
    a, b = v
    return a + b


@pytest.mark.parametrize(("code", "text", "function", "args"), REFUSED, ids=[f.__name__ for _, _, f, _ in REFUSED])
def test_what_is_refused_says_what_to_write(code: str, text: str, function: Any, args: tuple[Any, ...]) -> None:
    with pytest.raises(LoopsatError) as error:
        read(function, args)
    assert error.value.code == code
    assert text in str(error.value) and "^" in str(error.value)
    assert "help(ir.script)" not in str(error.value)


def open_sizes(m):
    n = len(m)
    inner = m[2:] + m[:-2] - 2 * m[1:-1]
    total = np.zeros(n)
    for i in range(n - 2):
        total[i] = (m[i : i + 3] * m[:3]).sum() + inner[i]
    return inner, total, m[::-1], m[::-2], m.reshape(n, 1).flatten() + m


def test_sizes_may_be_open() -> None:
    m = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    plain = translate(open_sizes, {"m": ArrayType(("n",), DType.FLOAT64)})
    known = {name: np.zeros(s.shape) for name, s in zip(plain.results, open_sizes(m), strict=True)}
    found = dict(zip([b.name for b in plain.func.buffers[1:]], interpret(plain.func, n=5, m=m, **known), strict=True))
    assert_same(tuple(found[name] for name in plain.results), open_sizes(m))
