"""Lists of which data say how long they are: stacks, queues, and what is chosen."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import loopsat
from ir.errors import LoopsatError
from plain_runs import Programs, check, keeper, read, run
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)


def V(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.integers(0, 7, 9),)


@program(V)
def next_greater(a):
    found = np.full(len(a), -1)
    waiting = []
    for i in range(len(a)):
        while waiting and a[waiting[-1]] < a[i]:
            found[waiting.pop()] = a[i]
        waiting.append(i)
    return found


@program(V)
def increasing(a):
    tails = []
    for x in a:
        lo, hi = 0, len(tails)
        while lo < hi:
            middle = (lo + hi) // 2
            if tails[middle] < x:
                lo = middle + 1
            else:
                hi = middle
        if lo == len(tails):
            tails.append(x)
        else:
            tails[lo] = x
    return len(tails), tails[-1], sum(tails), 3 in tails


@program(lambda r: (r.integers(0, 7, 1),))
def no_place_for_a_second(a):
    order, stack, c = np.zeros(1, np.int64), [3], 0
    while stack:
        loopsat.assume(len(stack) <= 1)
        order[c] = stack.pop()
        c += 1
        if a[0] > 9:
            stack.append(2)
    return order, c


@program(lambda r: (np.frombuffer(b"3+4*2-(1+5)*2", np.uint8),))
def calculator(s):
    numbers, signs = [], []

    def strength(o):
        return 2 if o == 42 else 1 if o in (43, 45) else 0

    def applied(o, a, b):
        return a + b if o == 43 else a - b if o == 45 else a * b

    for c in s:
        if 48 <= c <= 57:
            numbers.append(int(c) - 48)
        elif c == 40:
            signs.append(c)
        elif c == 41:
            while signs[-1] != 40:
                b, a = numbers.pop(), numbers.pop()
                numbers.append(applied(signs.pop(), a, b))
            signs.pop()
        else:
            while signs and strength(signs[-1]) >= strength(c):
                b, a = numbers.pop(), numbers.pop()
                numbers.append(applied(signs.pop(), a, b))
            signs.append(c)
    while signs:
        b, a = numbers.pop(), numbers.pop()
        numbers.append(applied(signs.pop(), a, b))
    return numbers[0]


@program(lambda r: (r.permutation(8),))
def quicksort(a):
    a = a.copy()
    parts = [(0, len(a) - 1)]
    while parts:
        loopsat.assume(len(parts) <= len(a))
        lo, hi = parts.pop()
        if lo >= hi:
            continue
        at = lo
        for j in range(lo, hi):
            if a[j] <= a[hi]:
                a[at], a[j] = a[j], a[at]
                at += 1
        a[at], a[hi] = a[hi], a[at]
        parts.append((lo, at - 1))
        parts.append((at + 1, hi))
    return a


@program(lambda r: ((r.random((4, 5)) < 0.7).astype(np.int8),))
def distances(walls):
    h, w = walls.shape
    far = np.full((h, w), -1)
    far[0, 0] = 0
    queue = [(0, 0)]
    for y, x in queue:
        loopsat.assume(len(queue) <= h * w)
        for dy, dx in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            if 0 <= y + dy < h and 0 <= x + dx < w and walls[y + dy, x + dx] and far[y + dy, x + dx] < 0:
                far[y + dy, x + dx] = far[y, x] + 1
                queue.append((y + dy, x + dx))
    return far, len(queue)


@program(lambda r: (np.array([0, 2, 3, 5, 5]), np.array([1, 2, 3, 0, 1])))
def levels(starts, ends):
    n = len(starts) - 1
    level = np.full(n, -1)
    level[0], depth = 0, 0
    frontier = [0]
    while frontier:
        found = []
        for u in frontier:
            for k in range(starts[u], starts[u + 1]):
                if level[ends[k]] < 0:
                    loopsat.assume(len(found) < n)
                    level[ends[k]] = depth + 1
                    found.append(ends[k])
        frontier = found
        depth += 1
    return level, depth


@program(lambda r: (30,))
def primes(n):
    found = []
    for c in range(2, n):
        for p in found:
            if p * p > c:
                found.append(c)
                break
            if c % p == 0:
                break
        else:
            found.append(c)
    return len(found), found[-1]


@program(lambda r: (r.integers(0, 9, 8), 3))
def windows(a, k):
    last, total, best = [], 0, -1
    for x in a:
        last.append(x)
        total += x
        if len(last) > k:
            total -= last.pop(0)
        best = max(best, total) if len(last) == k else best
    last.clear()
    return best, len(last)


@program(V)
def chosen(a):
    some = [x for x in a if x > 2]
    for p in (2, 3):
        some = [q for q in some if q == p or q % p]
    ordered = []
    for x in a:
        k = 0
        while k < len(ordered) and ordered[k] < x:
            k += 1
        ordered.insert(k, x)
    more = [0] + [5] * 2 + some
    more += [1, 2]
    return len(some), sum(some), ordered[0], ordered[4], max(ordered), len(more), sum(more)


@program(lambda r: (np.array([[1, 4], [2, 3], [6, 8], [7, 9]]),))
def merged(spans):
    out = [spans[0].copy()]
    for low, high in spans[1:]:
        if low <= out[-1][1]:
            out[-1][1] = max(out[-1][1], high)
        else:
            out.append(np.array([low, high]))
    total = 0
    for low, high in out:
        total += high - low
    return len(out), total


@program(lambda r: (np.array([3, 0, 5, 2]),))
def read_later(a):
    some = [(0, 0)]
    for x in a:
        if x:
            some.append((x, 1))
    last = some[-1]
    large = [u for u, v in some if u > 2]
    part = np.array(large) * 2
    large.append(7)
    some.pop()
    some.append((9, 9))
    return last[0], some[-1][0], part.sum(), len(part)


@program(lambda r: (r.normal(size=9),))
def lists_that_start_anew_where_others_keep_them(x):
    out = [(v, v * v) for v in x]
    for k in range(3):
        before, out = out, []
        for i in range(len(before)):
            p, q = before[i]
            if p > k - 2:
                out.append((p, q))
    return np.array(before), np.array(out)


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.19), ids=[f.__name__ for f, _ in PROGRAMS])
def test_lists_of_any_length(function: Any, arguments: Any) -> None:
    check(function, arguments)


# Any lists -----------------------------------------------------------------------------------------------------------


class Drawn:
    """A random function over two lists of numbers, or of pairs."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.pairs = self.r.random() < 0.3
        self.lines = ["def drawn(a):", "    acc = 0", f"    p = {'[(1, 2)]' if self.pairs else '[4, 2]'}"]
        self.lines += [f"    q = {'[(1, 2)]' if self.pairs else '[]'}", "    for i, v in enumerate(a):"]
        self.lines += ["        loopsat.assume(len(p) <= 60 and True)"] if self.r.random() < 0.2 else []
        self.lines += ["        loopsat.assume(len(p) <= 60)", "        loopsat.assume(len(q) <= 60)"]
        self.statements(0, 2)
        items = "sum([x for x, y in p]), sum([y for x, y in q])" if self.pairs else "sum(p), sum(q)"
        self.lines.append(f"    return acc, len(p), len(q), {items}")

    def last(self, name: str) -> str:
        return f"{name}[-1][0]" if self.pairs else f"{name}[-1]"

    def number(self) -> str:
        name = self.r.choice("pq")
        return self.r.choice(["v", "i", "acc % 7", f"len({name})", f"({self.last(name)} if {name} else 3)"])

    def item(self) -> str:
        return f"({self.number()}, i)" if self.pairs else self.number()

    def test(self) -> str:
        name = self.r.choice("pq")
        return self.r.choice(["v > 2", name, f"not {name}", f"len({name}) > 2", f"{name} and {self.last(name)} > v"])

    def statements(self, depth: int, indent: int) -> None:
        pad = "    " * indent
        self.lines.append(pad + "acc += 1")
        for _ in range(self.r.randint(1, 3)):
            self.statement(depth, indent, pad)

    def statement(self, depth: int, indent: int, pad: str) -> None:
        one, other = self.r.sample("pq", 2)
        place = self.r.choice(["", "0", f"len({one}) // 2", "-1"])
        popped = f"x, y = {one}.pop({place}); acc += 3 * x + y" if self.pairs else f"acc += 2 * {one}.pop({place})"
        plain = [f"{one}.append({self.item()})"] * 3
        plain += [f"if {one}: {popped}"] * 2 + [f"{one}.clear()", f"{one} = [{self.item()}]", f"{one} = {other}.copy()"]
        if not self.pairs:
            plain += [f"for x in {one}: acc += x", f"{one} = [x for x in {other} if x % 2]"]
            plain += [f"if len({one}) > 1: {one}[0] = {self.number()}", f"{one}.insert(1, {self.number()})"]
        kind = self.r.random()
        if kind < 0.7 or depth > 1:
            self.lines.append(pad + self.r.choice(plain))
        elif kind < 0.85:
            self.lines.append(pad + f"if {self.test()}:")
            self.statements(depth + 1, indent + 1)
        elif kind < 0.9:
            self.lines.append(pad + f"if {self.test()}: {self.r.choice(['break', 'continue'])}")
        elif kind < 0.95:
            self.lines.append(pad + f"while {one} and {self.last(one)} > {self.number()}: {one}.pop()")
        else:
            self.lines.append(pad + f"for j in range({self.r.choice(['2', 'v % 3'])}):")
            self.statements(depth + 1, indent + 1)


@pytest.mark.parametrize("seed", some(range(40), 0.15))
def test_any_program_over_two_lists(seed: int) -> None:
    text = "\n".join(Drawn(seed).lines) + "\n"
    name = f"<lists {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"loopsat": loopsat}
    exec(compile(text, name, "exec"), scope)
    a = np.random.default_rng(seed).integers(0, 6, 5)
    try:
        found = run(scope["drawn"], (a,))
    except LoopsatError as error:
        assert error.help  # not all of them have a bound
        return
    assert [int(n) for n in found] == [int(n) for n in scope["drawn"](a)], text


# What is refused -----------------------------------------------------------------------------------------------------


def without_a_bound(a: Any) -> Any:
    todo = [0]
    while todo:
        k = todo.pop()
        if a[k] > 0:
            todo.append(k + 1)
            todo.append(k + 2)
    return len(todo)


def of_two_names(a: Any) -> Any:
    x = [1]
    for v in a:
        if v > 3:
            x.append(v)
    y = [0]
    y = x
    x.pop()
    return len(y)


def changed_in_a_loop_over_it(a: Any) -> Any:
    x = [1]
    for i, v in enumerate(x):
        if i < 3 and a[i] > 0:
            x.append(v)
    return len(x)


def popped_beside(a: Any) -> Any:
    x = [1, 2]
    x.append(a[0])
    return x[0] + x.pop()


def popped_under_a_condition(a: Any) -> Any:
    x = [1, 2]
    return x.pop() if a[0] > 0 else 0


def a_name_for_a_row(a: Any) -> Any:
    x = [a[:2].copy()]
    row = x[-1]
    x.pop()
    x.append(a[1:3].copy())
    return row[0]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (without_a_bound, "loopsat.assume(len(todo) <= 1000)"), (of_two_names, "y = x.copy()"),
        (changed_in_a_loop_over_it, "for k in range(len(x))"), (popped_beside, "x = x.pop()"),
        (popped_under_a_condition, "in a statement of its own"), (a_name_for_a_row, "x[-1].copy()"),
    ],
)  # fmt: skip
def test_what_lists_of_any_length_do_not_do_is_refused(function: Any, text: str) -> None:
    with pytest.raises(LoopsatError) as error:
        read(function, (np.array([5, 0, 2]),))
    assert text in str(error.value)
    assert "^" in str(error.value)


def kept_by_another_name(x):
    out = list(x)
    total = 0
    for k in range(3):
        before = out
        if x[k] > 0:
            out = []
        out.append(1.0)
        total += len(before)
    return total


def kept_after_it_starts_anew(x):
    before, out = [], []
    for _ in range(3):
        out = []
        for i in range(2):
            out.append(x[i])
            before = out
    return len(before)


@pytest.mark.parametrize("function", [kept_by_another_name, kept_after_it_starts_anew])
def test_lists_that_may_be_one_do_not_change(function: Any) -> None:
    with pytest.raises(LoopsatError, match="and that other names may stand for too"):
        read(function, (np.ones(4),))
