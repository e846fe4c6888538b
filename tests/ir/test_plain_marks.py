"""Plain functions that search graphs and grids: a list gets no longer than what can be marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir.errors import LoopsatError
from ir.nodes import Alloc, Const
from ir.traverse import walk
from plain_runs import Programs, check, keeper, read
from profiles import some

PROGRAMS: Programs = []
program = keeper(PROGRAMS)
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def G(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.integers(0, 2, (5, 6)),)


def W(r: np.random.Generator) -> tuple[Any, ...]:
    return (r.integers(0, 2, (6, 6)),)


@program(W)
def breadth_first(adj):
    n = len(adj)
    dist = np.full(n, -1)
    dist[0] = 0
    queue = [0]
    while queue:
        u = queue.pop(0)
        for v in range(n):
            if adj[u, v] and dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


@program(W)
def by_frontiers(adj):
    n = len(adj)
    parent = np.full(n, -1)
    parent[0] = 0
    frontier = [0]
    depth = 0
    while frontier:
        new = []
        for u in frontier:
            for v in range(n):
                if adj[u, v] > 0 and parent[v] == -1:
                    parent[v] = u
                    new.append(v)
        frontier = new
        depth += 1
    return parent, depth


@program(G)
def labels(grid):
    h, w = grid.shape
    label = np.zeros((h, w), np.int32)
    current = 0
    for i in range(h):
        for j in range(w):
            if grid[i, j] and label[i, j] == 0:
                current += 1
                label[i, j] = current
                stack = [(i, j)]
                while stack:
                    y, x = stack.pop()
                    for dy, dx in STEPS:
                        ny, nx = y + dy, x + dx
                        if 0 <= ny < h and 0 <= nx < w and grid[ny, nx] and label[ny, nx] == 0:
                            label[ny, nx] = current
                            stack.append((ny, nx))
    return label, current


@program(G)
def labels_that_are_no_number_yet(grid):
    h, w = grid.shape
    label = np.zeros((h, w), np.int64)
    for i in range(h):
        for j in range(w):
            if grid[i, j] and not label[i, j]:
                stack = [(i, j)]
                label[i, j] = 7
                while stack:
                    y, x = stack.pop()
                    for dy, dx in STEPS:
                        ny, nx = y + dy, x + dx
                        if 0 <= ny < h and 0 <= nx < w and grid[ny, nx] and not label[ny, nx]:
                            label[ny, nx] = 7
                            stack.append((ny, nx))
    return label


@program(G)
def marked_when_taken_out(grid):
    found = 0
    seen = np.zeros(grid.shape, bool)
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            if grid[i, j] == 1 and not seen[i, j]:
                found += 1
                stack = [(i, j)]
                while stack:
                    a, b = stack.pop()
                    if a < 0 or b < 0 or a >= grid.shape[0] or b >= grid.shape[1]:
                        continue
                    if seen[a, b] or grid[a, b] == 0:
                        continue
                    seen[a, b] = True
                    stack.append((a + 1, b))
                    stack.append((a - 1, b))
                    stack.append((a, b + 1))
                    stack.append((a, b - 1))
    return found


@program(W)
def in_topological_order(adj):
    n = len(adj)
    above = np.triu(adj, 1)
    before = above.sum(axis=0)
    order = []
    queue = [i for i in range(n) if before[i] == 0]
    while queue:
        u = queue.pop(0)
        order.append(u)
        for v in range(n):
            if above[u, v]:
                before[v] -= 1
                if before[v] == 0:
                    queue.append(v)
    return len(order), order[0], order[-1]


@program(W)
def steps_that_append_and_take_nothing(adj):
    n = len(adj)
    seen = np.zeros(n, bool)
    seen[0] = True
    todo = [0]
    steps = 0
    k = 0
    while todo:
        before = len(todo)
        steps += 1
        for v in range(n):
            if v == k and not seen[v]:
                seen[v] = True
                todo.append(v)
        k = (k + 1) % n
        if len(todo) > before:
            continue
        todo.pop()
    return steps, seen


@program(lambda r: (r.random(6), np.array([-2, 0, -1])))
def items_from_the_end(x, places):
    xs = [v for v in x]
    total = 0.0
    for k in places:
        v = xs.pop(k)
        total = total * 10 + v
    return total, len(xs)


@program(lambda r: (r.integers(0, 3, (7, 7)), 3, 3, 9))
def flood_fill(img, r, c, new):
    old = img[r, c]
    if old == new:
        return img
    queue = [(r, c)]
    img[r, c] = new
    while queue:
        y, x = queue.pop(0)
        for dy, dx in STEPS:
            yy, xx = y + dy, x + dx
            if 0 <= yy < img.shape[0] and 0 <= xx < img.shape[1] and img[yy, xx] == old:
                img[yy, xx] = new
                queue.append((yy, xx))
    return img


@program(lambda r: (r.integers(0, 9, (5, 5)), 0, 4))
def greatest_flow(left, source, sink):
    flow = 0
    while True:
        parent = np.full(len(left), -1)
        parent[source] = source
        queue = [source]
        for u in queue:
            for v in range(len(left)):  # not what the name holds in other loops
                if parent[v] == -1 and left[u, v] > 0:
                    parent[v] = u
                    queue.append(v)
        if parent[sink] == -1:
            break
        most, v = 1000, sink
        while v != source:
            most = min(most, left[parent[v], v])
            v = parent[v]
        v = sink
        while v != source:
            left[parent[v], v] -= most
            left[v, parent[v]] += most
            v = parent[v]
        flow += most
    return flow, left


@program(W)
def depth_first_by_what_is_popped(adj):
    n = len(adj)
    seen = np.zeros(n, bool)
    order = []
    todo = [0]
    while todo:
        u = todo.pop()
        if seen[u]:
            continue
        seen[u] = True
        order.append(u)
        for v in range(n - 1, -1, -1):
            if adj[u, v]:
                todo.append(v)
    return order


@program(G)
def opened_fields(mines):
    n, m = mines.shape
    shown = np.full((n, m), -1)
    todo = [(1, 1)]
    while todo:
        i, j = todo.pop()
        if i < 0 or j < 0 or i >= n or j >= m or shown[i, j] >= 0:
            continue
        count = 0
        for di, dj in STEPS:
            if 0 <= i + di < n and 0 <= j + dj < m and mines[i + di, j + dj]:
                count += 1
        shown[i, j] = count
        if count < 3:
            for di, dj in STEPS:
                todo.append((i + di, j + dj))
    return shown


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 0.11), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(function: Any, arguments: Any) -> None:
    check(function, arguments)


def test_arrays_have_room_for_what_is_marked_and_no_more() -> None:
    plain = read(breadth_first, (np.zeros((6, 6), np.int64),))
    (queue,) = (s.buffer for s in walk(plain.func.body) if isinstance(s, Alloc) and s.buffer.name == "queue")
    assert isinstance(queue.shape[0], Const) and queue.shape[0].value == 7


# What marks nothing -------------------------------------------------------------------------------------------------


def unmarked_again(a):
    seen = np.zeros(len(a), bool)
    todo = [0]
    while todo:
        u = todo.pop()
        seen[u] = False
        for v in range(len(a)):
            if a[v] > u and not seen[v]:
                seen[v] = True
                todo.append(v)
    return seen


def marked_with_anything(a):
    seen = np.zeros(len(a), np.int64)
    todo = [0]
    while todo:
        u = todo.pop()
        for v in range(len(a)):
            if a[v] > u and seen[v] == 0:
                seen[v] = a[v]
                todo.append(v)
    return seen


def marked_elsewhere(a):
    seen = np.zeros(len(a), bool)
    todo = [0]
    while todo:
        u = todo.pop()
        for v in range(len(a)):
            if not seen[v]:
                seen[u] = True
                todo.append(v)
    return seen


def marked_sometimes(a):
    seen = np.zeros(len(a), bool)
    todo = [0]
    while todo:
        todo.pop()
        for v in range(len(a)):
            if not seen[v]:
                if a[v] > 3:
                    seen[v] = True
                todo.append(v)
    return seen


def marks_of_each_step(a):
    todo = [0]
    total = 0
    while todo:
        seen = np.zeros(len(a), bool)
        total += todo.pop()
        for v in range(len(a)):
            if not seen[v]:
                seen[v] = True
                todo.append(v)
    return total


def place_that_moves(a):
    seen = np.zeros(len(a), bool)
    todo = [0]
    k = 0
    while todo:
        k = todo.pop()
        if not seen[k]:
            for _ in range(2):
                todo.append(k)
            k = 0
            seen[k] = True
    return seen


def counted_up_too(a):
    before = a.copy()
    todo = [0]
    while todo:
        u = todo.pop()
        before[u] += 1
        for v in range(len(a)):
            before[v] -= 1
            if before[v] == 0:
                todo.append(v)
    return before


def counted_down_elsewhere(a):
    before = a.copy()
    todo = [0]
    while todo:
        u = todo.pop()
        for v in range(len(a)):
            before[u] -= 1
            if before[v] == 0:
                todo.append(v)
    return before


def distances_below_zero(a):
    dist = np.full(len(a), -1)
    dist[0] = -3
    todo = [0]
    while todo:
        u = todo.pop()
        for v in range(len(a)):
            if dist[v] == -1:
                dist[v] = dist[u] + 1
                todo.append(v)
    return dist


def marked_with_what_may_be_the_same(a):
    old, new = a[1], a[2]
    todo = [0]
    while todo:
        u = todo.pop()
        for v in range(len(a)):
            if a[v] == old:
                a[v] = new
                todo.append(u)
    return a


def marked_with_what_changes(a):
    new = a[2]
    todo = [0]
    while todo:
        old = a[todo.pop()]
        if old != new:
            for v in range(len(a)):
                if a[v] == old:
                    a[v] = new + old
                    todo.append(v)
    return a


def as_often_as_data_say(a):
    seen = np.zeros(3, bool)
    todo = [0]
    while todo:
        u = todo.pop()
        if not seen[u]:
            seen[u] = True
            for v in range(a[u]):
                todo.append(v % 3)
    return seen


def seen_again(a):
    seen = np.zeros(3, bool)
    todo = [0]
    while todo:
        u = todo.pop()
        if not seen[u]:
            seen[u] = True
            for v in range(3):
                seen[v] = a[v] > 0
                todo.append(v)
    return seen


REFUSED = (
    as_often_as_data_say, seen_again, marked_with_what_may_be_the_same, marked_with_what_changes,
    unmarked_again, marked_with_anything, marked_elsewhere, marked_sometimes, marks_of_each_step, place_that_moves,
    counted_up_too, counted_down_elsewhere, distances_below_zero,
)  # fmt: skip


@pytest.mark.parametrize("function", some(REFUSED, 0.62), ids=[f.__name__ for f in REFUSED])
def test_without_marks_no_bound_is_found(function: Any) -> None:
    with pytest.raises(LoopsatError, match="no bound is found of how long `todo` becomes"):
        read(function, (np.array([5, 0, 2]),))
