"""`while` loops that state no bound: written out where they are decided, else bounded by what falls in each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ir import interpret, to_script
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Alloc, For
from ir.script.plain.program import NeedsValue
from ir.script.plain.signature import ArrayType, ScalarType
from ir.script.plain.translate import translate
from ir.traverse import walk
from plain_runs import assert_same, read, run
from profiles import some

V = np.array([1.0, 2.0, 5.0, 5.0, 9.0])
W = np.array([0.0, 2.0, 3.0, 8.0])
K = np.array([5, 0, 12, 1023])
U = np.array([5, 0, 12, 255], "u1")


def binary_search(v, x):
    out = np.empty(len(x), np.int64)
    for k in range(len(x)):
        lo, hi = 0, len(v)
        while lo < hi:
            mid = (lo + hi) // 2
            if v[mid] < x[k]:
                lo = mid + 1
            else:
                hi = mid
        out[k] = lo
    return out


def inclusive_search(v, x):
    lo = 0
    hi = len(v) - 1
    while lo <= hi:
        mid = lo + (hi - lo) // 2
        if v[mid] == x[1]:
            return mid
        if v[mid] < x[1]:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1


def merged(v, w):
    out = np.empty(len(v) + len(w))
    i = j = k = 0
    while i < len(v) and j < len(w):
        if v[i] <= w[j]:
            out[k] = v[i]
            i += 1
        else:
            out[k] = w[j]
            j += 1
        k += 1
    while i < len(v):
        out[k] = v[i]
        i += 1
        k += 1
    while j < len(w):
        out[k] = w[j]
        k += 1
        j += 1
    return out


def two_ends(v, w):
    i, j, count = 0, len(v) - 1, 0
    while i < j:
        if v[i] + v[j] > w[3]:
            j -= 1
        elif v[i] + v[j] < w[3]:
            i += 1
        else:
            count += 1
            i += 1
            j -= 1
    return count


def stages(v, w):
    k = 1
    while k < len(v):
        for i in range(0, len(v) - k, 2 * k):
            v[i] += v[i + k]
        k *= 2
    return v, k


def sieve(v, w):
    prime = np.ones(50, np.bool_)
    i = 2
    while i * i < len(prime):
        if prime[i]:
            for j in range(i * i, len(prime), i):
                prime[j] = False
        i += 1
    return prime


def many_steps(v, w):
    i = 0
    while i * i < 20000:
        v[i % 5] += i
        i += 1
    return v, i


def bits(k):
    out = np.zeros(len(k), np.int64)
    for i in range(len(k)):
        x = int(k[i])
        while x > 0:
            out[i] += x & 1
            x >>= 1
    return out


def bits_of_unsigned(k):
    out = np.zeros_like(k)
    for i in range(len(k)):
        x = k[i]
        while x:
            out[i] += x & np.uint8(1)
            x >>= np.uint8(1)
    return out


def common_divisor(k, n):
    a, b = n, int(abs(k[2]))
    while b:
        a, b = b, a % b
    return a


def reversed_counter(k):
    bit, j = 8, 13
    while j & bit:
        j ^= bit
        bit >>= 1
    while k[0] & bit:
        bit >>= 1
    return j, bit


def falls_by_halves(v, w):
    x = 8.0
    while x > 0.5:
        v[0] += x
        x *= 0.5
    return v, x


def left_in_the_middle(v, w):
    i = 0
    while i < len(v):
        i += 1
        if v[i - 1] > w[2]:
            break
        v[i - 1] = 0.0
    return v, i


def goes_on_without_the_rest(v, w):
    i = 0
    while i < len(v):
        i += 1
        if v[i - 1] > w[2]:
            continue
        v[i - 1] = 0.0
    return v, i


def two_steps(v, w):
    i = 0
    while i < len(v):
        if v[i] > 2:
            i += 1
        i += 1
    return i


def sifted(k):
    n = len(k)
    for start in range(n // 2 - 1, -1, -1):
        root = start
        while 2 * root + 1 < n:
            child = 2 * root + 1
            if child + 1 < n and k[child] < k[child + 1]:
                child += 1
            if k[root] >= k[child]:
                break
            k[root], k[child] = k[child], k[root]
            root = child
    return k


def nobody_reads_it(v, w):
    for _ in range(3):
        for _ in range(2):
            if v[0] > 3:
                break
            v[0] += 1
        for _ in v:
            if v[1] > 3:
                break
            v[1] += 1
    return v


def with_else(v, w):
    count = 0
    for i in range(len(v)):
        for j in range(len(w)):
            for k in range(2):
                if w[k] < 0:
                    break
            else:
                count += 1
            if v[i] == w[j]:
                break
        else:
            count += 100
            if i > 1:
                break
            continue
        count += 10
    while count > 3:
        count -= 50
    else:
        count += 1000
    return count


def step_of_a_name(v, w, n=2):
    i = 0
    while i < len(v):
        v[i] = 0
        i += n
    return v


def bound_changes(v, w):
    n, i = len(v), 0
    while i < n:
        if v[i] > 1:
            n -= 1
        i += 1
    return n


@pytest.mark.parametrize(
    ("function", "args"),
    some(
        [
            (binary_search, (V, W)),
            (inclusive_search, (V, W)),
            (merged, (V, W)),
            (merged, (V, np.zeros(0))),
            (two_ends, (V, W)),
            (stages, (V, W)),
            (sieve, (V, W)),
            (many_steps, (V, W)),
            (bits, (K,)),
            (bits_of_unsigned, (U,)),
            (common_divisor, (K, 18)),
            (reversed_counter, (K,)),
            (falls_by_halves, (V, W)),
            (left_in_the_middle, (V, W)),
            (goes_on_without_the_rest, (V, W)),
            (two_steps, (V, W)),
            (sifted, (K,)),
            (nobody_reads_it, (V, W)),
            (with_else, (V, W)),
            (step_of_a_name, (V, W, 2)),
            (bound_changes, (V, W)),
        ],
        0.52,
    ),
)
def test_loops_that_end_by_themselves(function: Callable[..., Any], args: Any) -> None:
    assert_same(run(function, args), function(*[a.copy() if isinstance(a, np.ndarray) else a for a in args]))


def steps(function: Callable[..., Any], *args: Any) -> list[str]:
    return [str(s.extent) for s in walk(read(function, args).func.body) if isinstance(s, For)]


def test_a_search_that_halves_takes_as_many_steps_as_its_length_has_bits() -> None:
    assert steps(binary_search, np.arange(1000.0), W) == ["4", "4", "10"]
    assert steps(inclusive_search, np.arange(1000.0), W) == ["10"]


def test_what_is_known_in_each_step_leaves_no_cells() -> None:
    func = read(stages, (V, W)).func
    assert [s.buffer.name for s in walk(func.body) if isinstance(s, Alloc)] == []
    assert steps(stages, V, W) == ["2", "1", "1"]


def test_what_comes_nearer_by_one_takes_as_many_steps_as_it_is_away() -> None:
    assert steps(two_ends, V, W) == ["4"]
    assert steps(merged, V, W)[0] == "9"


def hoare(k):
    pivot = k[0]
    i, j = 0, len(k) - 1
    while True:
        while k[i] < pivot:
            i += 1
        while k[j] > pivot:
            j -= 1
        if i >= j:
            break
        k[i], k[j] = k[j], k[i]
        i += 1
        j -= 1
    return k, j


def waits(k):
    i, j = 0, len(k) - 1
    while k[i] != 12:
        i += 1
    while k[j] > 12:
        j -= 1
    return i, j


def heap(k):
    n = len(k)
    for s in range(n // 2 - 1, -1, -1):
        root = s
        while True:
            child = 2 * root + 1
            if child >= n:
                break
            if child + 1 < n and k[child] < k[child + 1]:
                child += 1
            if k[root] >= k[child]:
                break
            k[root], k[child] = k[child], k[root]
            root = child
    return k


def signed_divisors(k, m):
    out = np.zeros(len(k), np.int64)
    for p in range(len(k)):
        a, b = k[p], m[p]
        while b:
            a, b = b, a % b
        out[p] = a
    return out


@pytest.mark.parametrize("seed", some(range(6), 0.33))
@pytest.mark.parametrize("function", [hoare, heap])
def test_what_is_in_bounds_and_what_inner_loops_keep_bounds_steps(function: Callable[..., Any], seed: int) -> None:
    k = np.random.default_rng(seed).integers(-5, 9, 11)
    assert_same(run(function, (k,)), function(k.copy()))


def test_a_place_that_moves_on_leaves_its_array_at_the_latest() -> None:
    assert_same(run(waits, (K,)), waits(K))
    assert steps(waits, K) == ["4", "8"]  # places from the end are in bounds too


def test_divisors_may_be_negative() -> None:
    r = np.random.default_rng(3)
    k, m = r.integers(-40, 40, 30), r.integers(-40, 40, 30)
    assert_same(run(signed_divisors, (k, m)), signed_divisors(k, m))


# What is refused -----------------------------------------------------------------------------------------------------


def unknown_end(k):
    n, count = int(k[0]), 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def may_stand_still(k):
    lo, hi = 0, len(k)
    while lo < hi:
        mid = (lo + hi) // 2
        if k[mid] < 3:
            lo = mid
        else:
            hi = mid
    return lo


def divides_what_may_be_negative(k):
    x = int(k[0])
    while x != 0:
        x //= 2
    return x


def floats(v):
    lo, hi = v[0], v[1]
    while hi - lo > 1e-6:
        hi = (lo + hi) / 2
    return lo


def waits_where_nothing_is_read(k):
    i, n = 0, 0
    while n < 1 or k[i] > 0:
        n = k[0]
        i += 1
    return i


def inner_loop_goes_back(k):
    i, j = 0, len(k)
    while i < j:
        for p in range(3):
            i -= k[p]
        i += 1
    return i


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (unknown_end, K),
        (waits_where_nothing_is_read, K),
        (inner_loop_goes_back, K),
        (may_stand_still, K),
        (divides_what_may_be_negative, K),
        (floats, V),
    ],
)
def test_loops_whose_bound_is_not_known_take_any_number_of_steps(function: Callable[..., Any], argument: Any) -> None:
    assert f"T.serial({2**31 - 1})" in to_script(read(function, (argument,)).func)


def power(b, e, m):
    r = 1
    while e > 0:
        if e & 1:
            r = r * b % m
        b = b * b % m
        e >>= 1
    return r


def steps_to_one(n):
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


def greatest_common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


INT = ScalarType(DType.INT64, True)


def test_sizes_may_be_open() -> None:
    types = {"v": ArrayType(("n",), DType.FLOAT64), "x": ArrayType(("m",), DType.FLOAT64)}
    func = translate(binary_search, types).func
    out = np.zeros(4, np.int64)
    assert_same(interpret(func, v=V, x=W, n=5, m=4, **{func.buffers[-1].name: out})[0], binary_search(V, W))


def test_what_has_nothing_to_do_with_the_condition_is_not_looked_at() -> None:
    func = translate(power, {"b": INT, "e": INT, "m": INT}).func
    assert [str(s.extent) for s in walk(func.body) if isinstance(s, For)] == ["64"]


def test_without_a_bound_the_numbers_of_the_call_decide() -> None:
    with pytest.raises(NeedsValue) as needed:
        translate(steps_to_one, {"n": INT}, frozenset({"n"}))
    assert needed.value.names == {"n"}
    assert_same(run(steps_to_one, (6,)), 8)


def test_remainders_of_remainders_halve_whatever_their_signs() -> None:
    func = translate(greatest_common_divisor, {"a": INT, "b": INT}).func
    assert [str(s.extent) for s in walk(func.body) if isinstance(s, For)] == ["128"]


def walked_back(S, a, b):
    i, j = len(a), len(b)
    path = []
    while i > 0 or j > 0:
        if i > 0 and j > 0 and S[i, j] == S[i - 1, j - 1] + (1 if a[i - 1] == b[j - 1] else 0):
            i -= 1
            j -= 1
            path.append(a[i])
        elif i > 0 and S[i, j] == S[i - 1, j] - 1:
            i -= 1
            path.append(-1)
        else:
            j -= 1
            path.append(b[j])
    return path


def test_walking_back_through_a_table_ends_where_it_leaves_arrays_that_it_reads() -> None:
    table = np.subtract.outer(np.arange(4), np.arange(6)) * [1, 0, -1, 1, 1, 0]
    assert_same(run(walked_back, (table, np.arange(3), np.arange(5))), walked_back(table, np.arange(3), np.arange(5)))


def runs(x):
    found = []
    i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[i]:
            j += 1
        found.append((x[i], j - i))
        i = j
    return found


def words(x):
    found = []
    i = 0
    while i < len(x):
        if x[i] == 2:
            i += 1
            continue
        j = i
        while j < len(x) and x[j] != 2:
            j += 1
        found.append((i, j))
        i = j
    return found


def of_another_element(x):
    found = []
    i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[0]:
            j += 1
        found.append(j)
        i = j
    return found


def of_what_changes(x):
    found = []
    i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[i]:
            x[i] = 5
            j += 1
        found.append(j)
        i = j
    return found


@pytest.mark.parametrize("function", [runs, words])
def test_the_first_step_of_an_inner_loop_moves_on(function: Callable[..., Any]) -> None:
    x = np.array([2, 0, 0, 2, 2, 1, 1, 0])
    assert_same(run(function, (x,)), np.array(function(x)))


@pytest.mark.parametrize("function", [of_another_element, of_what_changes])
def test_a_first_step_that_may_not_move_on_gives_no_bound(function: Callable[..., Any]) -> None:
    with pytest.raises(LoopsatError, match="no bound is found"):
        read(function, (K,))
