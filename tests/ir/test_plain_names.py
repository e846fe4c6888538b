"""Functions within functions, `:=`, `match`, selections and arrays of changing sizes: what names mean, and when."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from loopsat import bound
from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(6),)


@program(V)
def late(x):
    s = 1.0
    f = lambda v: v * s
    a = f(x[0])
    s = 2.0
    b = f(x[0])
    for i in range(3):
        s = s + f(x[i])
    return a, b, f(x[1])


@program(V)
def captured_while(x):
    i = 0
    t = 0.0
    get = lambda: x[i] * 10
    while i < 5:
        t += get()
        i += 1
    return t, get()


@program(V)
def captured_in_test(x):
    i = 0
    t = 0.0
    small = lambda: x[i] < 2.0
    while i < 5 and small():
        t += x[i]
        i += 1
    return t, i


@program(V)
def captured_two(x):
    k = 1
    i = 0
    more = lambda: i * k < 8
    while more():
        bound(20)
        i += 1
        k += 1
    return i, k


@program(V)
def walrus_order(x):
    d = 1.0
    y = (d := x[0]) + d
    z = [(e := x[1]), e * 2][1]
    return y, d, z


@program(V)
def walrus_and(x):
    n = 0
    for i in range(6):
        if i > 0 and (p := x[i - 1]) > 0.3 and (q := x[i]) < p:
            n += 1
    return n


@program(V)
def select_same_written(x):
    m = x > 0.4
    x[m] = x[m] * 2
    x[m] += 1
    x[~m] = x[~m] - x[~m].mean()
    return x


@program(V)
def select_cond(x):
    out = np.zeros(6)
    for i in range(6):
        if x[i] > 0.2 and x[x > x[i]].sum() > 0.5:
            out[i] = x[x <= x[i]].max()
    return out


@program(V)
def dynamic_temp(x):
    out = np.zeros(6)
    for k in range(1, 7):
        t = np.cumsum(x[:k]) * 2
        u = t[::-1] + x[:k]
        out[k - 1] = u.sum() + t[-1] + len(u) + u.max() + np.sort(u)[0]
    return out


@program(V)
def dynamic_reshape(x):
    out = 0.0
    for k in range(1, 4):
        a = np.outer(x[:k], x[:k])
        out += a.ravel()[k] if k > 1 else 0.0
        out += (a @ x[:k]).sum()
        out += a.reshape(-1)[0]
    return out


@program(V)
def helper_cond_fault(x):
    n = 0
    for i in range(6):
        if i < 5 and ahead(x, i) > x[i]:
            n += 1
        n += 2 if i > 0 and behind(x, i) > 0.5 else 0
    return n


def ahead(x, i):
    t = x[i + 1]
    if t > 0.9:
        t = 0.0
    return t


def behind(x, i):
    t = 0.0
    for k in range(i):
        t += x[k]
    return t


@program(V)
def shadow(x):
    i = 5
    f = lambda i: i + 1
    g = lambda v, i=i: v + i
    i = 7
    return f(1), g(1), sum(i * v for v in x), i


@program(V)
def comp_lambda(x):
    return sum((lambda w: w * v)(2.0) for v in x)


@program(V)
def inner_stores(x):
    out = np.zeros(6)

    def put(k, v):
        out[k] = v + out[k - 1]

    for k in range(1, 6):
        put(k, x[k])
    return out


@program(V)
def inner_returns_early(x):
    def find(t):
        for i in range(len(x)):
            if x[i] > t:
                return i
        return -1

    return find(0.5), find(2.0)


@program(V)
def decorated_def_rec(x):
    def twice(f):
        return lambda v: f(f(v))

    sq = twice(lambda v: v * v)
    return sq(x[2])


@program(lambda r: (r.integers(-20, 20, 8),))
def bits_signed(a):
    out = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        v = a[i] & 255
        while v != 0:
            v = v & (v - 1)
            out[i] += 1
    return out


@program(lambda r: (r.integers(0, 200, 8).astype("u1"),))
def bits_u1(a):
    out = np.zeros(len(a), np.uint8)
    for i in range(len(a)):
        v = a[i]
        while v > 0:
            v &= v - np.uint8(1)
            out[i] += np.uint8(1)
    return out


@program(lambda r: (r.integers(0, 6, (4, 5)), r.integers(0, 4, 3)))
def gathers(A, k):
    B = A.astype(np.float64)
    return B[:, k], B[k], B[1:, k][:, ::-1], B[k, 1:3], B[2, k], B[k[:, None], k], B[..., k], B[[0, 1], :][:, [2, 3]]


@program(lambda r: (r.random((4, 5)),))
def sort_axes(A):
    A.sort()
    B = A.copy()
    B.sort(0)
    c = A[1]
    c[0] = 9.0
    c.sort()
    return A, B, np.median(A), A.argmax()


@program(lambda r: (r.random(5).astype("f4"), np.arange(4).astype("f4")))
def f4_funcs(x, g):
    return (
        np.interp(x * 3, g, g * 2),
        np.median(x),
        np.convolve(x, g),
        np.quantile(x, 0.5),
        np.searchsorted(g, x, side="right"),
        np.average(x),
        np.ptp(x),
        np.polyval((1.0, 2.0), x),
    )


@program(lambda r: (r.integers(0, 9, 7),))
def int_funcs(a):
    return (
        np.sort(a),
        np.median(a),
        np.percentile(a, 40),
        np.average(a),
        np.convolve(a, a[:2]),
        np.bincount(a, minlength=9),
        np.bincount(a, weights=a * 0.5, minlength=9),
        np.inner(a, a),
        np.gcd(int(a[0]) + 2, 6),
        math.gcd(int(a[0]) + 2, 6),
    )


@program(lambda r: (r.random((2, 3)), r.random((3, 2))))
def prods(A, B):
    return (
        np.tensordot(A, B, 1),
        np.tensordot(A, B.T, axes=2),
        np.einsum("ij,ji->i", A, B),
        np.einsum("ij,kj", A, A),
        np.linalg.norm(A, axis=1),
        np.inner(A, A),
        np.vdot(A, A),
    )


@program(V)
def ndenum(x):
    s = 0.0
    for (i,), v in np.ndenumerate(x):
        if v > 0.9:
            continue
        s += i * v
    for i, j in np.ndindex(2, 3):
        if j == 2:
            break
        s += i + 10 * j
    return s


@program(V)
def matched(x):
    s = 0.0
    for i in range(6):
        match i:
            case 0 | 1:
                s += x[i]
            case 2 if x[2] > 0.5:
                s -= x[i]
            case 3:
                continue
            case _:
                s *= 2
    return s


@program(V)
def star_call(x):
    p = (2, 3)
    return add3(x[0], *p), add3(*p, c=x[1]), add3(*(1.0,), *p)


def add3(a, b, c=5):
    return a + b * c


@program(V)
def walrus_call_store(x):
    if (r := bump(x)) > 0.5:
        x[1] = r
    return x


def bump(x):
    x[0] = x[0] + 1
    return x[0]


@program(V)
def sort_under_if(x):
    if x[0] > x[1]:
        x.sort()
    else:
        x.fill(2.0)
    return x


@program(V)
def flat_store(x):
    A = x.reshape(2, 3).copy()
    for k in range(6):
        A.flat[k] = k
    return A


@program(V)
def grid(x):
    X, Y = np.meshgrid(x[:2], x[2:], indexing="ij")
    (Z,) = np.meshgrid(x)
    A, B, C = np.meshgrid(x[:2], x[:3], x[:4])
    return X, Y, Z, A, B, C


@program(V)
def hoare_bound(A):
    p = A[0]
    i = -1
    j = len(A)
    while True:
        bound(10)
        i += 1
        while A[i] < p:
            bound(6)
            i += 1
        j -= 1
        while A[j] > p:
            bound(6)
            j -= 1
        if i >= j:
            break
        A[i], A[j] = A[j], A[i]
    return A, j


@program(V)
def runs_bound(a):
    out = np.zeros(6, np.int64)
    n = 0
    i = 0
    while i < len(a):
        bound(6)
        j = i
        while j < len(a) and a[j] >= a[i]:
            j += 1
        out[n] = j - i
        n += 1
        i = j
    return out, n


@program(lambda r: (r.random(3),))
def lists_and_tuples_of_other_names(x):
    a, first = [x[0], 2], ()
    b, second = a[:], first
    a += [4]
    second += (3,)
    return len(a), len(b), len(first), len(second), x[0]


def two_selections(x):
    return (x[x > 0.5] * x[x > 0.4]).sum()


def greatest_beside(x):
    return x[x > 0.5] + x


def assigned_within(x):
    return sum(y for v in x if v > 0 and (y := v * 2) > 1)


def assigned_after(x):
    return x[0] > 0.5 or (y := x[1]) > 0.5


def read_before(x):
    d = 1.0
    return d + (d := x[0])


def parts_matched(x):
    match x.shape:
        case (n,):
            return x
    return x + 1


def by_place(x):
    def f(a, *, b):
        return a * b

    return f(x, 2.0)


def decorated(x):
    @float
    def f(a):
        return a

    return f(x)


def counted_without_end(x):
    return np.bincount(x, np.ones(6))


def several_stars(x, *more):
    return x


def transformed(x):
    return np.fft.fft(x)


def floats_out(x):
    k = np.zeros(6, np.int64)
    np.multiply(x, 2, out=k)
    return k


def options_by_name(x):
    return np.clip(x, least=0, a_max=1)


def list_of_two_names(x):
    a = [1, 2]
    b = (x[0], a)
    a += [4]
    return len(b[1])


def list_of_a_caller(x):
    def longer(a):
        a += [4]
        return len(a)

    a = []
    return longer(a) + len(a)


def list_in_a_list(x):
    a = [x[0], 2]
    for b in [a, a]:
        b += [3]
    return len(a)


def near_a_function(x):
    return np.cumsm(x)


def near_a_name(x):
    total = 0.0
    for v in x:
        totl += v
    return total


REFUSED = [
    (near_a_function, "did you mean `np.cumsum`?"), (near_a_name, "did you mean `total`?"),
    (list_of_two_names, "a = a + ..."), (list_of_a_caller, "a = a + ..."), (list_in_a_list, "b = b + ..."),
    (transformed, "loops of the transform"),
    (floats_out, "float64"), (options_by_name, "its parameters are a, a_min"),
    (two_selections, "different arrays"),
    (greatest_beside, "whose sizes may differ"), (assigned_within, "(y := v * 2)"), (assigned_after, "(y := x[1])"),
    (read_before, "statement of its own"), (parts_matched, "write `if` and `elif`"), (by_place, "given by name"),
    (decorated, "leave the decorator out"), (counted_without_end, "minlength"), (several_stars, "name each parameter"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_is_refused_says_where_and_what_to_write(function: Any, text: str) -> None:
    check_refused(function, text)


# Names of tuples that change -------------------------------------------------------------------------------------------


@program(lambda r: (0.5, 2.0))
def state_by_a_tuple(x0, v0):
    def deriv(state, t):
        x, v = state
        return v, -x - 0.1 * v + math.cos(t)

    state = (x0, v0)
    h = 0.05
    t = 0.0
    for _ in range(20):
        k1 = deriv(state, t)
        k2 = deriv((state[0] + h / 2 * k1[0], state[1] + h / 2 * k1[1]), t + h / 2)
        state = tuple(s + h * k for s, k in zip(state, k2))
        t += h
    return state


def lorenz_step(s, h):
    x, y, z = s
    return x + h * 10 * (y - x), y + h * (x * (28 - z) - y), z + h * (x * y - 8 / 3 * z)


@program(lambda r: (20,))
def lorenz(n):
    s = (1.0, 1.0, 1.0)
    out = np.zeros((n, 3))
    for i in range(n):
        s = lorenz_step(s, 0.01)
        out[i] = s
    return out


@program(lambda r: (r.integers(0, 9, 6),))
def best_by_tuple(x):
    best = (0, -1)
    for i in range(len(x)):
        c = (x[i], i)
        if c > best:
            best = c
    return best


@program(lambda r: (np.array([13]),))
def power_of_a_matrix(a):
    n = a[0]
    base = [[1, 1], [1, 0]]
    result = [[1, 0], [0, 1]]

    def mul(a, b):
        return [[sum(a[i][k] * b[k][j] for k in range(2)) for j in range(2)] for i in range(2)]

    while n:
        if n & 1:
            result = mul(result, base)
        base = mul(base, base)
        n >>= 1
    return result[0][1]


@program(lambda r: (r.random(4),))
def tuple_until(x):
    def upd(s):
        a, b = s
        return b, a + b

    s = x[0], x[1]
    k = 0
    while s[0] < 30.0 and k < 50:
        s = upd(s)
        k += 1
    return s, k


@program(lambda r: (r.random((5, 2)),))
def arrays_in_a_tuple(x):
    p = (np.zeros(2), np.ones(2))
    for i in range(5):
        p = (p[1] + x[i], p[0] * 0.5)
    q = p
    for i in range(3):
        q = tuple(v * 2 for v in q)
    return q[0], q[1], p[0]


@program(lambda r: (r.random(6), (0.1, 0.2)))
def tuple_given(x, s):
    for v in x:
        s = tuple(a * 0.5 + v for a in s)
    return s[0] + s[1]


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.15), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)
