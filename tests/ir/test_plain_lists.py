"""Lists whose items are looked up or change, names that are `None` first, quotients of floats, sums from a start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.errors import LoopsatError
from ir.script.plain.translate import translate
from plain_runs import Programs, check, keeper, kind, read, run

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(6) - 0.4,)


def F(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(6).astype(np.float32),)


# Lists --------------------------------------------------------------------------------------------------------------


@program(lambda r: (r.integers(0, 3, 5), r.integers(0, 3, 6)))
def edit_distance(a, b):
    n, m = len(a), len(b)
    prev = list(range(m + 1))
    for i in range(n):
        cur = [i + 1] * (m + 1)
        for j in range(m):
            cost = 0 if a[i] == b[j] else 1
            cur[j + 1] = min(prev[j + 1] + 1, cur[j] + 1, prev[j] + cost)
        prev = cur
    return prev[m]


@program(F)
def stable_partition(x):
    low = [v for v in x if v < 0.5]
    high = [v for v in x if not v < 0.5]
    return np.array(low + high), len(low)


@program(lambda r: (r.integers(1, 9, (4, 3)),))
def cheapest_path(cost):
    n, m = cost.shape
    best = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            if i > 0 and j > 0:
                best[i][j] = min(best[i - 1][j], best[i][j - 1]) + cost[i, j]
            elif i > 0:
                best[i][j] = best[i - 1][j] + cost[i, j]
            elif j > 0:
                best[i][j] = best[i][j - 1] + cost[i, j]
    return best[n - 1][m - 1], np.array(best)


@program(lambda r: (r.integers(0, 9, (4, 3)),))
def rows_trade_places(A):
    rows = [[A[i, j] for j in range(3)] for i in range(4)]
    pairs = []
    for i in range(4):
        pairs.append((i, A[i, 0]))
    for i in range(3):
        last = rows[i]
        rows[i + 1] = [last[j] + A[i, j] for j in range(3)]
        if A[i, 0] < A[i + 1, 0]:
            rows[i], rows[3 - i] = rows[3 - i], rows[i]
            pairs[i], pairs[i + 1] = pairs[i + 1], pairs[i]
    for k, row in enumerate(rows):
        rows[k] = [2 * v for v in row]
    rows[0] = rows[2][::-1]
    return np.array(rows), np.array(pairs)


@program(V)
def integers_that_become_floats(x):
    kept = [0] * len(x)
    for i in range(len(x)):
        if x[i] > 0:
            kept[i] = x[i] * 0.5
    return np.array(kept), len(kept), max(kept)


@program(F)
def items_are_numbers_of_python(x):
    a = [3, 1, 4, 1, 5, 9]
    for i in range(6):
        a[i] += 1
    total = 0.0
    out = np.zeros_like(x)
    for i in range(6):
        out[i] = x[i] * a[i]
        total += x[i] * a[i]
    return out, total, x[0] * a[2]


@program(V)
def looked_up_in_what_is_written_out(x):
    weights, places = [0.25, 0.5, 0.25], (0, 2, 1)
    out = np.zeros(4)
    for i in range(4):
        for k in range(3):
            out[i] += weights[k] * x[i + places[k]]
    return out


@program(lambda r: (5,))
def copies_and_other_names(n):
    a = [i * 2 for i in range(n)]
    b = a
    c, d, e = a[:], a.copy(), list(a)
    for i in range(n):
        b[i] += 10
    c[0] = 5
    d[1:3] = [7, 8]
    return np.array(a), np.array(c), np.array(d), np.array(e)


@program(lambda r: (4,))
def rows_are_lists(n):
    m = [[i * j for j in range(n)] for i in range(n)]
    row = m[2]
    row[0] = 77
    for i in range(n):
        m[i][i] += 1
    return np.array(m), m[2][0]


@program(lambda r: (r.random((4, 3)),))
def lists_of_arrays(a):
    rows = [a[i] * 2 for i in range(4)]
    rows[1] = a[0] + 1
    total = np.zeros(3)
    for i in range(4):
        total += rows[i] * 2
    return total


@program(lambda r: (20,))
def sieve(n):
    prime = [True] * (n + 1)
    prime[0] = False
    prime[1] = False
    for i in range(2, n + 1):
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
    return sum(prime), np.array(prime)


def bump(items: Any, k: Any) -> Any:
    items[k] += 1
    return items[k]


@program(lambda r: (4,))
def handed_to_another_function(n):
    a = [0.5] * n
    s = 0.0
    for i in range(n):
        t = bump(a, i)
        s += t
    return s, np.array(a)


# Lists that grow ----------------------------------------------------------------------------------------------------


@program(V)
def appended_in_a_loop(x):
    out = []
    for i in range(0, 6, 2):
        out.append(i)
        out.append(x[i] * 2)
    return np.array(out), len(out), out[-1]


@program(lambda r: (4,))
def appended_in_a_nest(n):
    out = [0]
    for i in range(n):
        for j in range(3):
            out.append(i * j)
        out.append(out[-1] + out[-2] + len(out))
    out.append(-1)
    return np.array(out), sum(out), max(out)


@program(lambda r: (r.random((4, 3)),))
def appended_rows(a):
    rows = []
    pairs = []
    for i in range(4):
        rows.append(a[i] * 2)
        pairs.append((i, a[i, 0]))
    s = 0.0
    for i, v in pairs:
        s += i * v
    return np.array(rows), np.array(pairs), s


@program(V)
def a_list_for_each_step(x):
    total = 0.0
    for i in range(4):
        part = []
        for j in range(3):
            part.append(x[j] * i)
        total += max(part) - part[0]
    return total


@program(V)
def history(x):
    w = 0.0
    seen = []
    for _ in range(5):
        for v in x:
            w -= 0.1 * (w - v)
        seen.append(w)
    return seen[2], np.array(seen)


def collected(x: Any, n: Any) -> Any:
    found = []
    for i in range(n):
        found.append(x[i])
    return found


@program(V)
def from_another_function(x):
    found = collected(x, 3)
    y = x
    for i in range(2):
        y = y + 1
        found[i] += y[i]
    return np.array(found), sum(found)


# None at first ------------------------------------------------------------------------------------------------------


@program(V)
def greatest(x):
    best = None
    at = None
    for i in range(len(x)):
        if best is None:
            best, at = x[i], i
        elif x[i] > best:
            best = x[i]
            at = i
    return best, at


@program(V)
def closest_pair(x):
    pair = None
    best = math.inf
    for i in range(len(x)):
        for j in range(i):
            if abs(x[i] - x[j]) < best:
                best = abs(x[i] - x[j])
                pair = (j, i)
    if pair is not None:
        return pair, best
    return (-1, -1), best


@program(V)
def longest_run(x):
    start = None
    longest = 0
    for i in range(len(x)):
        if x[i] > 0:
            if start is None:
                start = i
            longest = max(longest, i - start + 1)
        else:
            start = None
    return longest


@program(V)
def two_names(x):
    a = None
    for v in x:
        b = a
        a = v if b is None else b + v
    found = None
    for v in x:
        if v > 0.5:
            found = True
    return a, 1 if found else 0


# Numbers ------------------------------------------------------------------------------------------------------------


@program(lambda r: (r.normal(size=9) * 10, r.normal(size=9), r.normal(size=9).astype(np.float32)))
def quotients(a, b, c):
    q, rest = divmod(a[0], b[0])
    return a % b, a // b, np.fmod(a, b), c % 0.1, c // 2, q, rest, math.fmod(-7.5, 2.0), 7.5 % -2.0


@program(lambda r: (r.normal(size=(3, 4)), r.integers(0, 9, 5)))
def sums(a, k):
    return sum(a), sum(a, 1.0), sum(k, 2), sum(k), sum([1, 2, 3], 4), sum((a[0, 0], a[1, 1])), np.fmod(k - 4, 3)


@program(V)
def results_in_tuples(x):
    for i in range(len(x)):
        if x[i] > 0.5:
            return (i, x[i]), True
    return (-1, 0.0), False


@program(lambda r: (r.random((3, 3)),))
def history(a):
    found, row, steps = [], a[0], [a]
    for i in range(3):
        row = np.roll(row, 1) + a[i]
        found.append(row)
        a = a + 1
        steps.append(a)
    return np.array(found), row, np.stack(steps)


@program(lambda r: (r.random((3, 3)),))
def items_that_change_once_popped(a):
    stack, total = [a[0].copy()], 0.0
    for k in range(1, 3):
        if a[k, 0] > 0.3:
            stack.append(a[k] * 2)
    while stack:
        row = stack.pop()
        row[0] = 9.0
        total += row.sum()
    return total


@program(lambda r: (r.integers(0, 9, (3, 4)),))
def rows_of_lists_of_lists(a):
    rows, total = a.tolist(), 0
    rows[0][1] = 20
    ends = rows[0] + rows[2]
    for row in a.tolist():
        total += max(row) * 2 + sum(row) + row[-1] + len(row)
    return np.array(ends), len(rows[1]), total, a[0, 1]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


_FLOATS = st.floats(-1e6, 1e6, width=32)


@given(_FLOATS, _FLOATS.filter(lambda y: abs(y) > 1e-3), st.sampled_from([np.float32, np.float64]))
def test_quotients_of_floats_are_those_of_numpy(x: float, y: float, dtype: Any) -> None:
    """To the bit, since a difference of one unit may be one of a whole divisor; NumPy's zeros have signs."""

    def both(a: Any, b: Any) -> Any:
        return a % b, a // b, np.fmod(a, b)

    a, b = np.array([x], dtype), np.array([y], dtype)
    for found, wanted in zip(run(both, (a, b)), both(a, b), strict=True):
        np.testing.assert_array_equal(found, wanted)


def added(a: Any) -> Any:
    return sum(a)


def test_sums_of_narrow_integers_are_as_narrow() -> None:
    a = np.array([200, 100], np.uint8)
    with np.errstate(over="ignore"):
        assert run(added, (a,)) == added(a) == 44


# What is refused ----------------------------------------------------------------------------------------------------


def a_named_row_is_replaced(n: Any) -> Any:
    a = [[0] * n for _ in range(n)]
    row = a[1]
    a[0], a[1] = a[1], a[0]
    return row[0] + a[0][0]


def a_row_in_two_places(n: Any) -> Any:
    a = [[0] * n for _ in range(n)]
    a[0], b = a[1], 1
    return np.array(a), b


def a_named_row_is_replaced_in_the_next_step(n: Any) -> Any:
    a = [[i] * n for i in range(n)]
    row, total = a[0], 0
    for i in range(n):
        total += row[0]
        a[i] = [9] * n
    return total


def a_copy_with_the_same_rows(n: Any) -> Any:
    a = [[0] * n for _ in range(n)]
    b = a[:]
    b[0][0] = 1
    return np.array(a)


def the_same_rows_again(n: Any) -> Any:
    a = [[1, 2], [3, 4]]
    b = [row for row in a]
    b[0][0] = n
    return np.array(a)


def an_array_becomes_a_tuple(n: Any) -> Any:
    a = np.zeros(n)
    b = (1.0,) * n
    for _ in range(n):
        a = b[1:] + b[:1]
    return a[0]


def less_than_a_list(n: Any) -> Any:
    a = [0] * n
    a[0] = 1
    return np.array(a - 2)


def the_same_row(n: Any) -> Any:
    a = [[0] * n] * n
    a[0][0] = 1
    return np.array(a)


def fewer_items(n: Any) -> Any:
    a = [0] * n
    a[1:3] = [7]
    return np.array(a)


def a_row_of_two_names(n: Any) -> Any:
    a = [[0] * n for _ in range(n)]
    a[0] = a[1]
    return np.array(a)


def handed_on_as_none(n: Any) -> Any:
    a = None
    for i in range(n):
        a = bump(a, i) if i > 3 else i
    return a


def appended_again_and_again(n: Any) -> Any:
    out = []
    x = np.zeros(n)
    for i in range(n):
        x[i] = i
        out.append(x)
    return np.array(out)


def appended_in_turns(n: Any) -> Any:
    a, b = np.zeros(n), np.ones(n)
    out = []
    for i in range(n):
        a, b = b, a
        out.append(a[i])
    return np.array(out)


def appended_and_changed(n: Any) -> Any:
    a, out = np.ones((n, n)), []
    for i in range(n):
        out.append(a[i])
        a[i] *= 2
    return np.array(out)


def popped_and_changed(n: Any) -> Any:
    a = np.arange(n * n).reshape(n, n)
    stack = [a[0]]
    for i in range(1, n):
        if a[i, 0] > 3:
            stack.append(a[i])
    row = stack.pop()
    row[0] = 9
    return a


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (appended_in_turns, "A[:] = B"),
        (appended_again_and_again, "x.copy()"), (appended_and_changed, "x.copy()"), (popped_and_changed, "x.copy()"),
        (less_than_a_list, "np.array(x)"), (the_same_row, "[[0] * m for _ in range(n)]"),
        (fewer_items, "as many items as there are"), (a_row_of_two_names, "x[:]"),
        (a_named_row_is_replaced, "row = x[i][:]"), (a_row_in_two_places, "x[:]"),
        (a_named_row_is_replaced_in_the_next_step, "row = x[i][:]"), (a_copy_with_the_same_rows, "[row[:] for row in x]"),
        (the_same_rows_again, "x[:]"), (an_array_becomes_a_tuple, "two names"),
        (handed_on_as_none, "as in best = 0"),
    ],
)  # fmt: skip
def test_what_lists_and_none_do_not_do_is_refused(function: Any, text: str) -> None:
    with pytest.raises(LoopsatError) as error:
        read(function, (5,))
    assert text in str(error.value) and "^" in str(error.value)


def test_what_is_returned_must_be_a_number() -> None:
    def none_of_all(x: Any) -> Any:
        found = None
        for v in x:
            if v > 5:
                found = v
        return found

    x = np.zeros(3)
    plain = translate(none_of_all, {"x": kind(x, False)})
    assert "found is None" in str(plain.func)
