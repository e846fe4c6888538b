"""Plain functions in Python's own words: its lists, orders, ranges, texts, exceptions and functions of functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import loopsat
from ir import interpret
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.script.plain.signature import ArrayType
from ir.script.plain.translate import translate
from plain_runs import Programs, check, check_refused, keeper
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]
GRID = ((1, 2), (3, 4))
WEIGHTS = np.array([0.25, 0.5, 0.25])
NARROW = np.array([3, 250], np.uint8)

CODON = {"A": 0, "C": 1, "G": 2, "T": 3}
PRICE = {10: 1.5, 12: 2.5, 13: 3.5}
MOVE = {0: (0, 1), 1: (1, 0), 2: (0, -1), 3: (-1, 0)}


def I(r: np.random.Generator) -> tuple[Any, ...]:  # noqa: E743
    return (r.integers(0, 5, 6),)


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.random(6),)


# Lists --------------------------------------------------------------------------------------------------------------


@program(lambda r: (r.integers(0, 3, 5), r.permutation(r.integers(0, 3, 5))))
def lists_are_compared_and_joined(a, b):
    xs = [int(v) for v in a]
    ys = xs[:]
    ys.reverse()
    zs = ys + xs
    zs.sort(reverse=True)
    some = [v for v in a if v > 0]
    more = [v for v in b if v > 1]
    return (
        sorted(a) == sorted(b), len(sorted(a) + sorted(b)), xs == ys, xs != ys, xs == ys[::-1], zs[0], zs[1],
        some == more, xs[:1] + sorted([9, 8]) == [xs[0], 8, 9], np.array(zs),
    )  # fmt: skip


@program(I)
def items_are_counted_and_found(a):
    xs = [int(v) for v in a]
    written = [3, 1, 2]
    written.sort()
    t = (4, 5, 4)
    return xs.count(3), xs.index(xs[2]), written[0], t.count(4), t.index(5), [1, 2, 2].count(2)


@program(V)
def a_sorted_list_is_another_list(x):
    s = sorted(x)
    s[0] = -1.0
    more = sorted(x)
    more.append(7.0)
    some = [v for v in x if v > 0.4]
    some = sorted(some)
    return x, s[0], s[1:][0], more[-1], len(more), some[0]


@program(I)
def orders_by_a_key(a):
    xs = [int(v) for v in a]
    xs.sort(key=lambda v: (v - 2) * (v - 2))
    falling = sorted(range(len(a)), key=lambda k: a[k], reverse=True)
    return np.array(xs), np.array(sorted(xs, key=lambda v: -v)), np.array(falling), np.array(sorted(xs, key=abs))


@program(lambda r: (r.integers(0, 5, (6, 2)),))
def rows_by_a_key(a):
    found = 0
    for row in sorted(a, key=lambda q: q[1]):
        found = found * 10 + row[0]
    return found, min(a, key=lambda q: q[0] - q[1])


@program(V)
def the_greatest_with_its_place(x):
    value, place = max((v, i) for i, v in enumerate(x))
    k, least = min(enumerate(x), key=lambda pair: pair[1])
    return value, place, k, least


@program(lambda r: (r.integers(0, 4, 10),))
def tables_of_outside(a):
    x = y = 0
    for d in a:
        dx, dy = MOVES[d]
        x += dx
        y += dy + GRID[d % 2][(d + 1) % 2]
    return x, y, 0.5 * np.float32(MOVES[a[0]][1])


@program(lambda r: (r.random((5, 6)),))
def tables_of_inside(image):
    weights = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
    out = np.zeros((3, 4))
    for i in range(3):
        for j in range(4):
            for a in range(3):
                for b in range(3):
                    out[i, j] += weights[a][b] * image[i + a, j + b]
    return out


@program(V)
def small_arrays_of_outside(x):
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        for k in range(3):
            out[i] += WEIGHTS[k] * x[i + k - 1]
    return out, WEIGHTS.sum(), NARROW + NARROW, len(NARROW)


# Dictionaries -------------------------------------------------------------------------------------------------------


@program(lambda r: (r.random(5),))
def settings(x):
    cfg = {"lr": 0.1, "steps": 3, "name": "sgd", ("a", 1): 2.0}
    y = x
    for _ in range(cfg["steps"]):
        y = y - cfg["lr"] * y
    if cfg["name"] == "sgd" and "momentum" not in cfg:
        y = y * cfg["a", 1]
    return y + cfg.get("bias", 0.5), len(cfg)


@program(lambda r: (r.integers(10, 14, 8),))
def keys_that_data_say(a):
    t = 0.0
    n = 0
    for k in a:
        t += PRICE.get(k, 0.25)
        if k in PRICE:
            t += PRICE[k]
            n += 1
    return t, n


@program(lambda r: (r.integers(0, 4, 8),))
def tuples_by_key(a):
    x = y = 0
    for k in a:
        dx, dy = MOVE[k]
        x += dx
        y += dy
    return x, y


@program(lambda r: (r.random(3),))
def loops_over_items(x):
    w = {"a": x[0], "b": x[1] * 2, "c": 3.0}
    t = 0.0
    for k in w:
        t = t * 2 + w[k]
    for k, v in w.items():
        if k != "b":
            t += v
    return t, sum(w.values()), max(w.values())


@program(lambda r: (r.random(3),))
def values_of_now(x):
    s = 1.0
    d = {0: s, 1: x[0]}
    for v in x:
        s += v
    return d[0] + d[1], s


@program(lambda r: (np.frombuffer(b"GATTACA", np.uint8),))
def keys_of_text(s):
    code = {65: 0, 67: 1, 71: 2, 84: 3}
    h = 0
    for c in s:
        h = h * 4 + code[c]
    return h, CODON["G"]


@program(lambda r: (r.integers(0, 4, 8),))
def items_that_change(a):
    counts = {0: 0, 1: 0, 2: 0, 3: 0}
    best = {"first": -1, "last": -1}
    for x in a:
        counts[x] += 1
        best["last"] = x
        if best["first"] < 0:
            best["first"] = x
    return max(counts.values()), counts.get(9, -1), best["first"], best["last"], [counts[k] for k in counts][1]


# Helpers that return None ---------------------------------------------------------------------------------------------


def _found(v, t):
    for i in range(len(v)):
        if v[i] > t:
            return i
    return None


def _root(v):
    if v < 0:
        return None
    return np.sqrt(v)


@program(V)
def none_in_place_of_a_number(x):
    k = _found(x, 0.5)
    if k is None:
        return -1
    return k


@program(V)
def what_was_found_if_anything(x):
    k = _found(x, 2.5)
    j = _found(x, 0.1)
    out = 0.0
    if k is not None:
        out += x[k]
    if j is not None:
        out += x[j] * 10
    return out, -1 if k is None else k, (_found(x, 0.9) or 7)


@program(V)
def none_in_each_step(x):
    s = 0.0
    for v in x:
        r = _root(v - 0.5)
        if r is not None:
            s += r
        elif not r:
            s -= 1
    return s


@program(V)
def none_that_is_known(x):
    def g(flag):
        if flag:
            return None
        return 3

    a = g(True)
    b = g(False)
    return 1 if a is None else 0, b


@program(V)
def what_may_be_none_is_compared(x):
    k = _found(x, 0.5)
    return k == 3, k == _found(x, 0.5), x[k] if k is not None else 0.0


# Ranges and texts ---------------------------------------------------------------------------------------------------


@program(lambda r: (r.integers(0, 20, 6), 7))
def ranges_are_values(a, n):
    r = range(2, n, 3)
    inside = sum(v in range(3, 9) for v in a), sum(1 for v in a if v in range(2, 20, 3))
    falling = sum(1 for v in a if int(v) in range(10, 0, -2)), n not in range(0, 20, 2)
    return len(range(2, n, 3)), sum(range(n)), max(range(n)), r[1], inside, falling


@program(lambda r: (3, "hello"))
def characters(n, text):
    found = 0
    for ch in "abc":
        found = found * 2 + ord(ch)
    for i, ch in enumerate("xy"):
        if ch == "y":
            found += i
    return found + n, len(text), ord(text[1]), "l" in text, text[0] == "h", sum(1 for c in text if c in "aeiou")


# Other words for what there is --------------------------------------------------------------------------------------


def _half(v):
    return v / 2


@program(V)
def functions_of_functions(x):
    halves = list(map(_half, x))
    return (
        sum(map(np.square, x)), max(map(abs, x)), np.array(list(map(math.sqrt, x))), halves[1],
        sum(filter(lambda v: v > 0.5, x)), len(list(filter(None, x))),
    )  # fmt: skip


def _weighted(a, b=2, *rest):
    return a * b + len(rest) + sum(rest)


@program(V)
def any_number_of_arguments(x):
    return _weighted(x[0]), _weighted(x[0], 3), _weighted(x[0], 2, 3, 4), _weighted(*(x[1], 2.0, 1))


@program(lambda r: (r.random(5), 3))
def exceptions_are_assertions(x, k):
    """Without a value first."""
    count: int
    if k == 0:
        y = x[0]
    elif x[1] < 2:
        y = x[1]
    else:
        raise ValueError(f"bad {k}")
    if x[2] > 3:
        raise RuntimeError("too large")
    count = len(x)
    z = x * 2
    total = z.sum()
    del z
    for i in range(count):
        if x[i] > 0.1:
            return i, y, total
    raise ValueError


@program(lambda r: (r.integers(0, 6, 8),))
def patterns_that_name(a):
    found = 0
    for v in a:
        match v:
            case (0 | 1) as small:
                found += small
            case x if x > 4:
                found += 100 * x
            case other:
                found -= other
    return found


@program(lambda r: (r.random((4, 4)), r.random((3, 4)) > 0.5))
def truths_within_a_row(a, truths):
    b = a.copy()
    b[1, b[1] > 0.5] = 2
    b[2, b[2] > 0.5] += 1
    return b, b[1, b[1] > 1].sum(), truths.max(), truths.min(axis=0), max(truths[0])


@program(lambda r: (r.random(5), r.random((1, 1)), 3))
def numbers_of_python(x, y, n):
    return x[0].item(), y.item(), x.item(2), x[1].item() * np.float32(2), pow(n, 45, 7), round(x[1], 2), round(35, -1)


# Orders of tuples ----------------------------------------------------------------------------------------------------


@program(lambda r: (r.integers(0, 9, 8),))
def tuples_in_order(a):
    pairs = sorted([(v, i) for i, v in enumerate(a)])
    return [i for v, i in pairs]


@program(lambda r: (r.integers(0, 4, (8, 2)),))
def intervals_joined(a):
    items = sorted([(x, x + y) for x, y in a])
    n = 0
    end = -1
    for s, e in items:
        if s > end:
            n += 1
            end = e
        else:
            end = max(end, e)
    return n, end


@program(lambda r: (r.integers(0, 4, (8, 2)),))
def rows_by_two_columns(a):
    out = np.zeros(8, np.int64)
    for k, r in enumerate(sorted(a, key=lambda r: (r[0], -r[1]))):
        out[k] = r[0] * 10 + r[1]
    return out


@program(lambda r: (r.integers(0, 4, 8), r.random(8)))
def two_lists_in_order(a, b):
    t = 0.0
    for k, (x, y) in enumerate(sorted(zip(a, b))):
        t += k * x * y
    return t


@program(lambda r: (r.integers(0, 4, 8),))
def places_in_falling_order(a):
    t = 0
    for i, v in sorted(enumerate(a), key=lambda p: p[1], reverse=True):
        t = t * 3 + i
    return t


@program(lambda r: (r.integers(0, 4, 8), r.integers(0, 5, 8)))
def lexsorted(a, b):
    return np.lexsort((a, b))


@program(lambda r: (r.integers(0, 4, 8),))
def most_frequent_first(a):
    c = {}
    for x in a:
        c[x] = c.get(x, 0) + 1
    t = 0
    for k, v in sorted(c.items(), key=lambda kv: (-kv[1], kv[0])):
        t = t * 7 + k
    return t


@program(lambda r: (r.integers(0, 4, (8, 2)),))
def tuples_sorted_in_place(a):
    pts = [(x, y) for x, y in a]
    pts.sort(key=lambda q: (q[1], q[0]), reverse=True)
    t = 0
    for x, y in pts:
        t = t * 5 + x * 2 + y
    return t


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.16), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


def digits(x):
    out = np.zeros((len(x), 4))
    for i in range(len(x)):
        v = float(x[i])
        out[i] = round(v, 2), round(-v, 5), round(v * 100, -1), round(v, 12)
    return out


def test_digits_are_those_of_python_where_floats_are_strict() -> None:
    r = np.random.default_rng(0)
    x = np.concatenate([r.integers(0, 40000, 40) / 1000.0, r.integers(0, 4000, 20) / 8, r.random(20) * 1e9, [2.675]])
    plain = translate(digits, {"x": ArrayType(x.shape, DType.FLOAT64)}, exact=True)
    np.testing.assert_array_equal(interpret(plain.func, x, np.zeros((len(x), 4)))[-1], digits(x))


def test_what_would_be_raised_is_found_where_it_is_checked() -> None:
    def rooted(x):
        if x < 0:
            raise ValueError("negative")
        return math.sqrt(x)

    checked = loopsat.jit(rooted, checks=True)
    assert float(checked(4.0)) == 2.0
    with pytest.raises(LoopsatError, match="ValueError: negative"):
        checked(-1.0)


# What is refused ----------------------------------------------------------------------------------------------------


def one_of_two_lists(x):
    a = [1, 2, 3]
    b = [4, 5, 6]
    c = a if x[0] > 0.5 else b
    c += [7]
    return np.array(a), np.array(b)


def grown_behind_a_choice(x):
    a = [1, 2, 3]
    c = a if x[0] > 0.5 else [4, 5, 6]
    a += [7]
    return np.array(c)


def rows_sorted(x):
    return sorted(x.reshape(2, 3))[0]


def stored_to_outside(x):
    WEIGHTS[0] = x[0]
    return WEIGHTS[0]


def stored_to_a_row_of_outside(x):
    GRID[int(x[0])][0] = 1  # pyright: ignore
    return x


def columns_by_truths(x):
    a = np.outer(x, x)
    a[:, x > 0.5] = 0
    return a


def known_to_raise(x):
    if len(x) < 100:
        raise ValueError("too short")
    return x


def text_by_data(x):
    return "low" if x[0] < 0.5 else "high"


def no_such_key(x):
    d = {"a": 1}
    return d["b"] + x[0]


def new_key(x):
    d = {"a": 1}
    if x[0] > 0.5:
        d["b"] = 2
    return x[0]


def keys_far_apart(x):
    d = {0: 1, 1000: 2}
    return d[int(x[0])]


def texts_by_data(x):
    d = {"a": 1, 3: 4}
    return d[int(x[0])]


def none_by_data(x):
    return _found(x, 0.5)


def appended_outside(x):
    MOVES.append((0, 0))
    return x


def none_that_changes(x):
    k = None
    for t in (0.9, 0.1):
        k = _found(x, t)
        if k is not None:
            break
    return -1 if k is None else k


REFUSED = [
    (none_by_data, "None in some cases"), (appended_outside, "return what is to be kept"),
    (none_that_changes, "keep in a truth"),
    (text_by_data, "a number may stand for it"), (no_such_key, "its keys are 'a'"), (new_key, "all of its keys"),
    (keys_far_apart, "less than 256 above"), (texts_by_data, "all keys must be integers"),
    (one_of_two_lists, "copy it first"), (grown_behind_a_choice, "copy it first"), (rows_sorted, "sort the places"),
    (stored_to_outside, "np.array(x)"), (stored_to_a_row_of_outside, "np.array(x)"), (columns_by_truths, "A.T[truths]"),
    (known_to_raise, "ValueError: too short"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_is_refused_says_what_to_write(function: Any, text: str) -> None:
    check_refused(function, text)
