"""What plain loops run over, and `while` loops that count: as in Python, or refused where they stand."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from ir import interpret, verify
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Alloc, For, If
from ir.script.plain.signature import ArrayType
from ir.script.plain.translate import translate
from ir.traverse import walk
from plain_runs import assert_same, read, run

V = np.array([3.0, 1.0, 2.0])
W = np.array([1.0, 5.0, 2.0, 7.0])
EMPTY = np.zeros(0)
M = np.arange(12.0).reshape(3, 4)
I = np.array([0, 2, 3, 3])


def counted_elements(v, w):
    out = np.zeros(len(w) + 2)
    for i, x in enumerate(v):
        out[i] += x * i
    for i, x in enumerate(w, 2):
        out[i] += x * i
    for i, x in enumerate(w[1:], start=1):
        out[i] -= x
    for i, k in enumerate(range(1, 4)):
        out[k] += w[i]
    return out


def side_by_side(v, w):
    total = 0.0
    for a, b in zip(v, w):
        total = 2 * total + a * b
    for a, b, c in zip(w, w[1:], v):
        total = 2 * total + a * b - c
    for pair in zip(w, v):
        total += pair[0] - pair[1]
    for i, j in zip(range(1, 3), range(1, 9)):
        total += v[i] * w[j]
    for i, j in zip(range(1, 3), range(0, 9, 2)):
        total += v[i] * w[j]
    for k, (a,) in enumerate(zip(w, strict=True)):
        total += k * a
    return total


def one_in_another(v, w):
    total = 0.0
    for i, (a, b) in enumerate(zip(v, w), 1):
        total = 2 * total + i * a * b
    for a, (k, j) in zip(w, enumerate(reversed(range(3)))):
        total = 2 * total + a * v[j] * k
    for (i, a), (j, b) in zip(enumerate(v), enumerate(w, 1)):
        total = 2 * total + a * b + i * j
    return total


def backward(v, w):
    total = 0.0
    for x in reversed(w):
        total = 2 * total + x
    for i in reversed(range(1, len(v))):
        total = 2 * total + v[i] * i
    for i in reversed(range(5, 0, -2)):
        total = 2 * total + i
    for x in reversed((1, 2)):
        total = 2 * total + x
    return total


def rows(m, w):
    out = np.zeros(m.shape[1])
    for row, x in zip(m, w):
        out += row * x
    for i, row in enumerate(m):
        for j, x in enumerate(row):
            out[j] += i * x
    for column, x in zip(m.T, w):
        out[0] += column[1] * x
    for row in m:
        row[0] = out[1]
    return out, m


def written_out(v, w):
    total = 0.0
    for a, c in zip(w, (1, 2, 3)):
        total = 2 * total + a * c
    for k, c in enumerate((5, 6)):
        total = 2 * total + v[k] * c
    for (di, dj), a in zip(((0, 1), (1, 0)), v):
        total = 2 * total + w[di] * a + dj
    return total


def empty(v, none):
    total = 0.0
    for i, x in enumerate(none):
        total += x * i
    for a, b in zip(v, none):
        total += a * b
    for x in none:
        total += x
    for x in reversed(none):
        total += x
    i = 0
    while i < len(none):
        total += none[i]
        i += 1
    while i > len(none):
        i -= 1
    return total, i


def left_early(w, limit):
    for i, x in enumerate(w):
        if x > limit:
            break
    return i, x


def what_is_stored_is_read(v, w):
    for i, x in enumerate(w):
        if i + 1 < len(w):
            w[i + 1] += x
    for i, (a, b) in enumerate(zip(w, v)):
        w[2] += a
        v[2] -= b
    return v, w


def counters(w, n):
    total = 0.0
    i = 0
    while i < len(w):
        total = 2 * total + w[i]
        i += 1
    j = len(w) - 1
    while j >= 0:
        total = 2 * total + w[j]
        j -= 1
    k = 1
    while k <= n:
        total += k
        k = k + 2
    m = 9
    while m > 2:
        m -= 3
    q = 10
    while q < n:
        q += 1
    p = n
    while p >= 10 - 3:
        p -= 2
    return total, i, j, k, m, q, p


def search(w, x):
    i = 0
    while i < len(w) and w[i] != x:
        i += 1
    return i


def search_and_return(w, x):
    i = 0
    while i < len(w):
        if w[i] == x:
            return i
        i += 1
    return i


def search_and_break(w, x):
    i = 1
    total = 0.0
    while i < len(w):
        for k in range(3):
            if w[k] == x:
                break
            total += k
        if w[i] == x:
            break
        total += w[i]
        i += 2
    return i, total


def returned_at_once(w, x):
    i = 0
    while i < len(w):
        return w[i] + x
        i += 1
    return x


def insertion_sort(w):
    for i in range(1, len(w)):
        x = w[i]
        j = i - 1
        while j >= 0 and w[j] > x:
            w[j + 1] = w[j]
            j -= 1
        w[j + 1] = x
    return w


def sparse_rows(starts, w):
    out = np.zeros(3)
    for r in range(3):
        k = int(starts[r])
        while k < starts[r + 1]:
            out[r] += w[k]
            k += 1
    return out


def swapped_while(w, n):
    a, b, t = w.copy(), w.copy(), 0
    while t < n:
        for i, (x, y) in enumerate(zip(a, a[1:])):
            b[i] = x + 2 * y + t
        a, b = b, a
        t += 1
    return a, b, t


def swapped_over_elements(v, w):
    a, b = v.copy(), v.copy()
    for t, x in enumerate(w, 1):
        for i in range(len(a)):
            b[i] = 2 * a[i] + t * x
        a, b = b, a
    return a, b


def returned_from_within(w, x):
    i = 3
    while i >= 0:
        j = 0
        while j < i:
            if w[i] * w[j] == x:
                return i, j
            j += 1
        i -= 1
    return i, i


def in_a_branch(w, x):
    i = 0
    if w[0] > x:
        while i < len(w):
            i += 1
    elif w[1] > x:
        while i < 2 and w[i] < 4:
            i += 1
    for k, e in enumerate(w):
        x += e
    return i, k, e, x


def in_a_helper(w, x):
    total = 0
    for r in range(3):
        total += search(w, x + r)
    return total


def triangle(m):
    i = 0
    total = 0.0
    while i < 3:
        j = i
        while j < 4:
            total = 2 * total + m[i, j] * (i + j)
            j += 2
        i += 1
    return total


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (counted_elements, (V, W)),
        (side_by_side, (V, W)),
        (one_in_another, (V, W)),
        (backward, (V, W)),
        (rows, (M, W)),
        (written_out, (V, W)),
        (empty, (V, EMPTY)),
        (left_early, (W, 4.0)),
        (left_early, (W, 9.0)),
        (what_is_stored_is_read, (V, W)),
        (counters, (W, 6)),
        (counters, (W, 7)),
        (counters, (W, 13)),
        *[(f, (W, x)) for f in (search, search_and_return, search_and_break) for x in (1.0, 2.0, 7.0, 8.0)],
        (returned_at_once, (W, 1.0)),
        (returned_at_once, (EMPTY, 1.0)),
        (insertion_sort, (W,)),
        (sparse_rows, (I, W)),
        (triangle, (M,)),
        *[(swapped_while, (V, n)) for n in (0, 1, 4, 5)],
        (swapped_over_elements, (V, W)),
        *[(f, (W, x)) for f in (returned_from_within, in_a_branch, in_a_helper) for x in (0.5, 2.0, 10.0, 14.0)],
    ],
)
def test_loops_compute_what_python_does(function: Any, args: tuple[Any, ...]) -> None:
    assert_same(run(function, args), function(*copy.deepcopy(args)))


def open_sizes(v, w):
    total = 0.0
    for i, (a, b) in enumerate(zip(v, w)):
        total = 2 * total + a * b * i
    for a, b in zip(w, w[1:]):
        total = 2 * total + a * b
    for x in reversed(v):
        total = 2 * total + x
    k = 0
    while k < len(v):
        total += v[k]
        k += 1
    return total, k


@pytest.mark.parametrize(("n", "m"), [(2, 5), (6, 3)])
def test_open_sizes_give_the_least_of_the_lengths(n: int, m: int) -> None:
    plain = translate(open_sizes, {"v": ArrayType(("n",), DType.FLOAT64), "w": ArrayType(("m",), DType.FLOAT64)})
    verify(plain.func)
    v, w = np.arange(1.0, n + 1), np.arange(2.0, m + 2)
    found = interpret(plain.func, v, w, *[np.zeros((), b.dtype.numpy) for b in plain.func.buffers[2:]])
    assert_same(tuple(found[-2:]), open_sizes(v, w))


def sum_of_steps(w):
    total = 0.0
    i = 0
    while i < len(w):
        total += w[i]
        i += 1
    return total


def test_a_counter_is_the_variable_of_a_loop() -> None:
    func = read(sum_of_steps, (W,)).func
    (loop,) = (s for s in walk(func.body) if isinstance(s, For))
    assert loop.extent.value == 4  # pyright: ignore[reportAttributeAccessIssue]
    assert not any(isinstance(s, If) for s in walk(func.body))
    assert [s.buffer.name for s in walk(func.body) if isinstance(s, Alloc)] == ["total"]


# What is refused -----------------------------------------------------------------------------------------------------


def number_enumerated(w):
    for i, x in enumerate(len(w)):
        w[i] = x
    return w


def number_zipped(w):
    for a, b in zip(w, 3):
        w[0] += a * b
    return w


def names_too_many(w):
    for a, b, c in zip(w, w):
        w[0] += a * b * c
    return w


def zip_reversed(w):
    for a, b in reversed(zip(w, w)):
        w[0] += a * b
    return w


def zip_kept(w):
    pairs = zip(w, w)
    return w


def zip_of_stars(w):
    for a, b in zip(*w):
        w[0] += a * b
    return w


def start_of_half(w):
    for i, x in enumerate(w, 0.5):
        w[0] += x
    return w


def strict_of_others(w):
    for a, b in zip(w, w[1:], strict=True):
        w[0] += a * b
    return w


def bound_is_stored_to(k):
    i = 0
    while i < k[1]:
        k[1] -= 1
        i += 1
    return k


def bound_is_of_what_is_stored_to(k):
    i = 0
    while i < np.sum(k):
        k[1] -= 1
        i += 1
    return k


def bound_is_float(w):
    i = 0
    while i < w[0]:
        i += 1
    return i


def counter_is_float(w):
    x = 0.0
    while x < 4:
        w[0] += x
        x += 1
    return w


def counter_is_of_numpy(k):
    i = k[0]
    while i < 4:
        k[i] += 1
        i += 1
    return k


@pytest.mark.parametrize(
    ("function", "args", "code", "message"),
    [
        (number_enumerated, (W,), "unsupported", "`len(w)` is a number, not a range"),
        (number_zipped, (W,), "unsupported", "`3` is a number, not a range"),
        (names_too_many, (W,), "arguments", "3 names for 2 values"),
        (zip_reversed, (W,), "arguments", "`zip(w, w)` cannot be reversed"),
        (zip_kept, (W,), "unsupported", "`zip(w, w)` is no value"),
        (zip_of_stars, (M,), "arguments", "2 names for an array"),
        (start_of_half, (W,), "dtype-mismatch", "found float64"),
        (strict_of_others, (W,), "shape", "the same length"),
        (bound_is_stored_to, (I,), "unsupported", "its body changes what it counts to"),
        (bound_is_of_what_is_stored_to, (I,), "unsupported", "its body changes what it counts to"),
        (bound_is_float, (W,), "unsupported", "`w[0]` is float64, and no Python int"),
        (counter_is_float, (W,), "unsupported", "`x` is float64, and no Python int"),
        (counter_is_of_numpy, (I,), "unsupported", "`i` is int64, and no Python int"),
    ],
)
def test_what_is_no_such_loop_is_refused_where_it_stands(function: Any, args: Any, code: str, message: str) -> None:
    with pytest.raises(LoopsatError) as error:
        read(function, args)
    assert error.value.code == code
    assert message in str(error.value)
    assert error.value.span is not None
    assert error.value.span.file == __file__
    if "while" in message:
        assert "begin its body with `loopsat.bound(LIMIT)`" in str(error.value)
