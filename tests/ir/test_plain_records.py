"""Plain functions with named tuples, data classes, heaps and functions of functions; Python runs them too."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import operator
from collections import namedtuple
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pytest

import loopsat
from ir.errors import LoopsatError
from plain_runs import Programs, check, keeper, read
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)
Point = namedtuple("Point", "x y")


class Ball(NamedTuple):
    height: float
    speed: float = 0.0

    @property
    def rises(self) -> Any:
        return self.speed > 0

    def energy(self, mass: Any) -> Any:
        return mass * (9.81 * self.height + 0.5 * self.speed**2)


@dataclass(frozen=True)
class Line:
    slope: float = 1.0
    start: float = 2.0

    def at(self, x: Any) -> Any:
        return self.slope * x + self.start


UNIT = Line(1.0, 0.0)


def moved(p: Any, by: Any) -> Any:
    if p.x > 1:
        return Point(0.0, p.y)
    return Point(p.x + by, p.y * 2)


@program(lambda r: (r.random(6), Ball(0.1, 5.0), Line(start=0.5)))
def given(x: Any, ball: Any, line: Any) -> Any:
    y = line.at(x) + UNIT.start + replace(line, slope=7.0).slope
    for _ in range(int(ball.speed)):
        y -= ball.height * y
    return y, ball.energy(2.0), ball[0], len(ball)


@program(lambda r: (1.0, 0.1))
def in_steps(height: Any, dt: Any) -> Any:
    ball, most = Ball(height), 0.0
    for _ in range(20):
        ball = ball._replace(speed=ball.speed - 9.81 * dt)
        ball = Ball(ball.height + dt * ball.speed, ball.speed)
        if ball.height < 0:
            ball = Ball(-ball.height, speed=-ball.speed)
        most = max(most, ball.speed) if ball.rises else most
    return ball, most


@program(lambda r: (0.5, 7))
def from_several_places(x: Any, n: Any) -> Any:
    p = Point(x, 1.0)
    for _ in range(n):
        p = moved(p, 0.3)
    if p.x > 0.5:
        return p
    return Point(p.y, -1.0)


@program(lambda r: (2.0,))
def tuples_from_several_places(x: Any) -> Any:
    def pair(a: Any, b: Any) -> Any:
        return (a, b + 1.0)

    if x > 1:
        return pair(x, x)
    return pair(x, 0.0)


@program(lambda r: (r.random((6, 2)),))
def in_lists(a: Any) -> Any:
    points = [Point(x, y) for x, y in a]
    far = 0.0
    for k, p in enumerate(points):
        for q in points[k + 1 :]:
            far = max(far, abs(p.x - q.x) + abs(p.y - q.y))
    stack = [Point(0.5, 0.5)]
    for p in points:
        if p.x > stack[-1].x:
            stack.append(p)
        elif len(stack) > 1:
            top = stack.pop()
            stack.append(top._replace(y=top.y + 1))
    return far, sorted(points, key=lambda p: p.y)[0].x, len(stack), stack[-1].y, sum(p.x for p in stack)


@program(lambda r: (r.integers(0, 3, 10), r.random(4)))
def dictionaries(a: Any, x: Any) -> Any:
    counts = {0: 0, 1: 0, 2: 0}
    for k in a:
        counts[k] += 1
    return counts, {"mean": x.mean(), "ends": (x.min(), x.max()), "all": x * 2}


@program(lambda r: (r.random((9, 2)),))
def hull(a: Any) -> Any:
    def turn(o: Any, p: Any, q: Any) -> Any:
        return (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0])

    lower = []
    for p in sorted((x, y) for x, y in a):
        while len(lower) >= 2 and turn(lower[-2], lower[-1], p) <= 0:  # before anything says what items are
            lower.pop()
        lower.append(p)
    return len(lower), lower[1][0]


@program(lambda r: (r.integers(0, 20, 9),))
def heaps(a: Any) -> Any:
    heap = list(a)
    heapq.heapify(heap)
    cost = 0
    while len(heap) > 1:  # which takes out more than it puts in
        pair = heapq.heappop(heap) + heapq.heappop(heap)
        cost += pair
        heapq.heappush(heap, pair)
    return cost, heap[0]


@program(lambda r: (np.array([[0, 4, 1, 0], [4, 0, 2, 5], [1, 2, 0, 8], [0, 5, 8, 0]]), 0))
def shortest(w: Any, start: Any) -> Any:
    dist = [1000] * len(w)
    dist[start] = 0
    queue = [(0, start)]
    while queue:
        loopsat.assume(len(queue) <= 16)
        d, u = heapq.heappop(queue)
        if d > dist[u]:
            continue
        for v in range(len(w)):
            if w[u, v] and d + w[u, v] < dist[v]:
                dist[v] = d + w[u, v]
                heapq.heappush(queue, (dist[v], v))
    return np.array(dist)


@program(lambda r: (r.integers(1, 9, 6), r.random(6)))
def folded(a: Any, x: Any) -> Any:
    totals = np.array(list(itertools.accumulate(a))), np.array(list(itertools.accumulate(x, max, initial=0.5)))
    known = functools.reduce(lambda p, q: p * q % 7, a, 1), functools.reduce(operator.mul, (v + 1 for v in a))
    pairs = [(v, k) for k, v in enumerate(x)]
    found = max(range(6), key=x.__getitem__), sorted(pairs, key=itemgetter(0))[0][0], heapq.nsmallest(2, x)[1]
    return totals, known, functools.reduce(max, [3, 1, 4]), found, operator.xor(a[0], a[1])


@program(lambda r: (r.integers(0, 3, 12),))
def longest_run(a: Any) -> Any:
    best, k = (0, -1), 0
    while k < len(a):
        end = k
        while end < len(a) and a[end] == a[k]:
            end += 1
        best = max(best, (end - k, a[k]))
        k = end
    return best, min((2, a[0]), (2, a[1]), (3, 0))


@program(lambda r: (r.integers(0, 3, 9),))
def runs(a: Any) -> Any:
    values, counts, k, last, first = np.zeros(9, a.dtype), np.zeros(9, np.int64), -1, None, None
    for v in a:
        if last is None or v != last:
            k += 1
            values[k] = v
            last = v
        counts[k] += 1
        if first is None:
            first = v
        elif first == v:
            counts[0] += 10
    return values, counts, k


@program(lambda r: (r.random(10),))
def known_after(x: Any) -> Any:
    k = 0
    while (last := x[k]) < 0.8 and k < 9:
        k += 1
    while True:
        half = last / 2
        if half < 0.1:
            break
        last = half
    return last, half, k


@program(lambda r: (r.normal(size=9), np.array([0, 3])))
def parts(x: Any, rows: Any) -> Any:
    k = np.zeros((4, 4))
    k[np.ix_(rows, [1, 2])] += 1.0
    y = np.divide(1, x, out=np.zeros_like(x), where=x > 0)
    np.add(y, 1, out=y, where=x < -0.5)
    return k, y, np.insert(x, 2, 0), np.delete(x, -2), np.linalg.matrix_power(np.outer(x, x), 3), np.diag([0.5, 2])


@program(lambda r: (r.integers(0, 9, 8),))
def removed(a: Any) -> Any:
    xs = [int(v) for v in a]
    xs.append(7)
    xs.remove(7)
    return len(xs), xs[-1], sum(xs)


@program(lambda r: (r.integers(0, 4, 9),))
def several_at_once(a: Any) -> Any:
    seen, counts, k = set(), {}, 0
    for v in a:
        if v in seen:
            k += 1
        seen.add(v)
        counts[v] = counts.get(v, 0) + 1
    return k, len(seen), counts[a[0]]


@program(lambda r: (r.random(3), None))
def chosen(x: Any, line: Any) -> Any:
    line = line or Line(start=x[0])
    last = None
    for v in x:
        if v > 0.2:
            last = Point(v, v * 2)
    point = Point(*[v * 2 for v in x[:2]]) if x[0] > 0.5 else Point(0.0, x[1])
    return point, point.x, line.at(1.0), max(*x), -1.0 if last is None else last.y


@dataclass
class Layer:
    weights: Any
    rate: float = 0.5

    def stepped(self, slope: Any) -> Layer:
        return Layer(self.weights - self.rate * slope, self.rate * 0.9)


@program(lambda r: (r.random(5), r.random(5)))
def data_classes_that_are_not_frozen(w: Any, x: Any) -> Any:
    layer = Layer(w)
    for _ in range(2):
        layer = layer.stepped(x)
    return layer.weights, layer.rate


@program(lambda r: (r.random((3, 4)),))
def dictionaries_that_text_names_items_of(a: Any) -> Any:
    found = {}
    found["mean"] = a.mean(axis=0)
    found["twice"] = found["mean"] * 2
    found["mean"] += 1
    options = {"scale": 2.0}
    options["shift"] = options["scale"] * a[0, 0]
    return found["mean"], found["twice"], sum(v.sum() for v in found.values()), "shift" in options, options["shift"]


@program(lambda r: (r.random(7),))
def dictionaries_of_several_names(a: Any) -> Any:
    found = {"total": 1.0}
    both = [found, found]
    found["total"] = a.sum()
    return both[0]["total"], found["total"]


@program(lambda r: (r.integers(-5, 9, 8),))
def parameters_that_become_lists(v: Any) -> Any:
    total = v.sum()
    v = list(v)
    for i in range(1, len(v)):
        item, j = v[i], i - 1
        while j >= 0 and v[j] > item:
            v[j + 1] = v[j]
            j -= 1
        v[j + 1] = item
    v.append(total)
    return np.array(v), len(v)


@program(lambda r: (r.random(7),))
def items_that_others_give(x: Any) -> Any:
    total = sum(v * v for v in (w + 1 for w in x if w > 0.3) if v < 1.9)
    kept = [v * 2 for v in filter(lambda t: t > 0.4, map(math.sqrt, x))]
    w = 3.0
    for v in (w * 2 for w in x if w > 0.5):
        if v > 1.8:
            continue
        total += v + w
    return total, len(kept), kept[0], max(map(abs, filter(None, x))), math.fsum(v * 2 for v in x)


@program(lambda r: (r.random(6),))
def functions_of_some_arguments(x: Any) -> Any:
    k = 2.0
    line = functools.partial(lambda a, b, c=1.0: a * b + c, k, c=0.5)
    k = 5.0
    return np.array([line(v) for v in x]) + k, functools.partial(line_at, x[0])(2.0, shift=1.0), DOUBLED(x[1], shift=k)


def line_at(x: Any, slope: Any, shift: Any = 0.0) -> Any:
    return x * slope + shift


DOUBLED = functools.partial(line_at, slope=2.0)


@program(lambda r: (r.integers(0, 9, 8),))
def cases_of_expressions(v: Any) -> Any:
    total = 0
    for a in v:
        match rest := a % 3:
            case 0:
                total += 1
            case 1 | 2 if a > 2:
                total -= rest
            case _:
                total += 10
    return total


@program(lambda r: (r.random(5) + 1,))
def without_reports(x: Any) -> Any:
    with np.errstate(divide="ignore"), np.printoptions(precision=2):
        y = 1 / x
        if y[0] > 0.9:
            return y, 1
    return y * 2, 2


def test_results_may_hold_what_is_known() -> None:
    @loopsat.jit
    def named(x: Any) -> Any:
        return "total", x.sum(), None

    assert (named(np.arange(4.0))[0], float(named(np.arange(4.0))[1]), named(np.arange(4.0))[2]) == ("total", 6.0, None)


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.16), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


def of_no_item(x: Any) -> Any:
    return Point(x[0], x[1]).z


def with_too_few(x: Any) -> Any:
    return Point(x[0])


def in_heap_order(x: Any) -> Any:
    heap = [0.5]
    for v in x:
        heapq.heappush(heap, v)
    return heap[1]


def of_lengths(x: Any) -> Any:
    return max((x[0], 1), (x[1],))


def before_items_are_known(x: Any) -> Any:
    queue: Any = []
    y = np.zeros(3, foo=1)  # pyright: ignore
    while queue:
        y[0] += queue.pop()
    for _ in x:
        queue.append(y[0])
    return y


def first_to_be_none(x: Any) -> Any:
    last, k = None, 0
    for v in x:
        if last is not None or v != last:
            k += 1
            last = v
    return k


class Opaque:
    items = (1, 2)


OPAQUE = Opaque()


def of_an_object(x: Any) -> Any:
    return OPAQUE.items[0] * x


def stored_to_an_item(x: Any) -> Any:
    layer = Layer(x)
    layer.rate = 0.1
    return layer.rate * x


def raised_with_values(x: Any) -> Any:
    mode = "fast"
    if mode != "slow":
        raise ValueError(f"no mode {mode} of {len(x)}")
    return x


def named_twice_and_filled(x: Any) -> Any:
    found = {"x": 1.0}
    other = found
    found["twice"] = x[0]
    return other


def told_to_raise(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return 1 / x


REFUSED = (
    (named_twice_and_filled, "all of its keys"), (told_to_raise, "with np.errstate"),
    (of_an_object, "make Opaque a data class"), (stored_to_an_item, "dataclasses.replace\\(layer, rate=...\\)"),
    (raised_with_values, "ValueError: no mode fast of {len\\(x\\)}"),
    (of_no_item, "its items are x, y"), (with_too_few, "y must be given"), (in_heap_order, "heap\\[0\\]"),
    (of_lengths, "by `if` and `else`"), (first_to_be_none, "keep in a truth"), (before_items_are_known, "`foo`"),
)  # fmt: skip


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_is_refused_says_what_to_write(function: Any, text: str) -> None:
    with pytest.raises(LoopsatError, match=text):
        read(function, (np.arange(6.0),))
