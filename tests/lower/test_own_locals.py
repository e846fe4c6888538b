"""What a value depends on where it is read: locals that each iteration has for itself, names, and past values."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, GPU, Target
from ir import PrimFunc
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.interpret import interpret_with_undef
from lowered import agreeing_source, kernel_of, read, unwrapped
from profiles import some

EAGER = replace(CPU, name="eager", step=1e4, scalar=1e4)  # loops cost a lot
INTEGERS = (
    'A: T.Buffer((8, 8), "int32"), X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32"), Q: T.Buffer((8,), "int32")'
)
FLOATS = 'A: T.Buffer((64, 8), "float32"), B: T.Buffer((64,), "float32"), X: T.Buffer((64,), "float32")'


def drawn(func: PrimFunc) -> Inputs:
    """Inputs, those of `Q` places."""
    inputs = random_inputs(func, np.random.default_rng(0))
    return {**inputs, "Q": np.array([3, 0, 7, 7, 1, 5, 2, 6], np.int32)} if "Q" in inputs else inputs


def check(func: PrimFunc, inputs: Inputs, *targets: Target) -> None:
    """Compare with the interpreter."""
    expected = interpret_with_undef(func, **inputs)
    for target in targets or (CPU, EAGER):
        kernel = kernel_of(func, target)
        for (values, undef), got in zip(expected, kernel(**inputs), strict=True):
            found = np.asarray(got)[~undef]
            np.testing.assert_allclose(found, values[~undef], rtol=1e-4, atol=1e-4, err_msg=kernel.source)


OWN = {
    "a best of its own": """
for j in T.serial(8):
    best = T.alloc_buffer((1,), "int32")
    at = T.alloc_buffer((1,), "int32")
    best[0] = X[j]
    at[0] = 3
    if Y[Q[j]] > best[0]:
        best[0] = Y[Q[j]]
        at[0] = Q[j]
    X[j] = X[j] - best[0] + at[0]
""",
    "a window that each of the iterations sorts": """
window = T.alloc_buffer((5,), "int32")
for i in T.serial(4):
    for j in T.serial(5):
        window[j] = X[i + j]
    for j in T.serial(1, 5):
        k = T.alloc_buffer((), "int32")
        stopped = T.alloc_buffer((), "bool")
        item = window[j]
        k[()] = j - 1
        stopped[()] = False
        for l in T.serial(j):
            if not stopped[()]:
                if not window[j - 1 - l] > item:
                    k[()] = j - 1 - l
                    stopped[()] = True
                else:
                    window[j - l] = window[j - 1 - l]
                    k[()] = j - l - 2
        window[k[()] + 1] = item
    Y[i] = window[2]
""",
    "ranges that end with a count": """
s = T.alloc_buffer((1,), "int32")
s[0] = 0
for i in T.serial(8):
    s[0] = s[0] + 1
    for k in T.serial(s[0]):
        A[i, k] = A[i, k] + X[k]
""",
    "a sum of its own that begins with anything": """
s = T.alloc_buffer((1,), "int32")
s[0] = A[1, 2]
for j in T.serial(8):
    t = T.alloc_buffer((1,), "int32")
    t[0] = t[0] - X[j]
    Y[j] = T.if_then_else(j < 0, s[0], t[0])
    s[0] = A[0, j] - t[0]
    Q[j] = A[j, j]
""",
    "sums as long as each iteration says": """
w = T.alloc_buffer((8,), "int32")
for j in T.serial(8):
    w[j] = Y[j]
for i in T.serial(8):
    q = T.alloc_buffer((1,), "int32")
    q[0] = 0
    for k in T.serial(8 - i):
        q[0] = T.max(q[0], Q[i + k])
    for j in T.serial(q[0]):
        w[j] = w[j] + X[i]
        A[i, j] = w[j]
""",
    "a local of rows that nobody reads": """
w = T.alloc_buffer((8,), "int32")
for i in T.serial(8):
    for j in T.serial(Q[i], Q[i] + 1):
        t = T.alloc_buffer((1,), "int32")
        t[0] = A[j, 2]
        w[j] = A[j, 0]
        X[j] = X[j] + w[j]
""",
}


@pytest.mark.parametrize("body", some(OWN.values(), 0.33), ids=OWN.keys())
def test_locals_of_one_iteration_say_nothing_about_others(body: str) -> None:
    func = read(INTEGERS, body)
    check(func, drawn(func), CPU, EAGER, replace(EAGER, name="mask", mask=1e4))


def test_a_factor_that_rows_work_out_is_another_for_each_row() -> None:
    func = read(
        FLOATS,
        """
for j in T.serial(8):
    a = T.alloc_buffer((1,), "float32")
    a[0] = X[j] * 0.5
    for i in T.serial(1, 64):
        A[i, j] = a[0] * A[i - 1, j] + B[i]
""",
    )
    check(func, drawn(func), CPU, EAGER, GPU)


PAST = {
    "read in the loop that stores it": "for j in T.serial(8):\n        y[j] = A[i, j]\n        for k in T.serial(8):\n            B[i] = B[i] + y[k]",
    "read before the store in one loop": "for k in T.serial(8):\n        for j in T.serial(8):\n            B[i] = B[i] + y[j]\n        y[k] = A[i, k]",
    "what a loop sums up": "for j in T.serial(8):\n        B[i] = B[i] + y[j]\n    for k in T.serial(8):\n        X[i] = X[i] + A[i, k]\n        y[k] = X[i]",
}  # fmt: skip


@pytest.mark.parametrize("inside", some(PAST.values(), 0.45), ids=PAST.keys())
def test_a_variable_holds_the_past_only_where_all_of_it_is_of_one_iteration(inside: str) -> None:
    func = read(
        FLOATS,
        "y = T.alloc_buffer((8,), 'float32')\nfor j in T.serial(8):\n    y[j] = 0.0\n"
        f"for i in T.serial(64):\n    {inside}",
    )
    check(func, drawn(func), CPU)


def test_rows_that_are_as_long_as_a_local_says_continue_what_is_there() -> None:
    func = read(
        'A: T.Buffer((64, 8), "int32"), X: T.Buffer((64,), "int32"), Q: T.Buffer((8,), "int32")',
        """
for i in T.serial(1, 64):
    q = T.alloc_buffer((1,), "int32")
    q[0] = 0
    for k in T.serial(3):
        q[0] = T.max(q[0], Q[(i + k) % 8])
    for j in T.serial(q[0]):
        A[i, j] = A[i - 1, j] + X[i]
""",
    )
    check(func, {**drawn(func), "Q": np.array([3, 0, 1, 7, 1, 2, 2, 6], np.int32)})


def test_a_variable_holds_the_past_only_where_its_loops_stay_as_long() -> None:
    func = read(
        FLOATS + ', N: T.Buffer((1,), "int32")',
        """
y = T.alloc_buffer((8,), "float32")
for j in T.serial(8):
    y[j] = 0.0
for i in T.serial(64):
    for j in T.serial(N[0]):
        B[i] = B[i] + y[j]
    for j in T.serial(N[0]):
        y[j] = A[i, j]
    N[0] = (N[0] + 5) % 8
""",
    )
    check(func, {**drawn(func), "N": np.array([2], np.int32)}, CPU)


def test_what_the_last_iteration_of_a_loop_names_is_read_behind_it() -> None:
    func = read(
        FLOATS,
        """
y = T.alloc_buffer((1,), "float32")
y[0] = 0.0
for i in T.serial(64):
    t = T.alloc_buffer((), "float32")
    for j in T.serial(8):
        t[()] = A[i, j] + 0.1 * y[0]
        A[i, j] = t[()]
    B[i] = t[()] + y[0]
    y[0] = X[i]
""",
    )
    check(func, drawn(func), CPU)


def test_a_name_is_what_was_there_before_a_branch() -> None:
    func = read(
        INTEGERS,
        """
for i in T.serial(1, 8):
    old = Y[0]
    if X[i] < X[i - 1]:
        Y[0] = 5
        X[i] = old
""",
    )
    inputs = {**drawn(func), "X": np.arange(8, 0, -1, dtype=np.int32), "Y": np.full(8, 7, np.int32)}
    check(func, inputs)


def test_bounds_of_a_loop_count_where_it_is_to_do_something() -> None:
    func = read(
        INTEGERS,
        """
for i in T.serial(8):
    if X[i] > 0:
        for k in T.serial(Y[i]):
            A[i, k % 8] = A[(i + 1) % 8, (k + 1) % 8] + 1
""",
    )
    does = np.array([1, 0, 2, -1, 3, 0, 0, 1], np.int32)
    steps = np.where(does > 0, 5, 2**31 - 1).astype(np.int32)  # two billion steps of nothing take minutes
    check(func, {**drawn(func), "X": does, "Y": steps})


def test_what_reads_an_own_local_stays_with_it() -> None:
    """Also where nothing is ever stored to that."""
    body = """
w = T.alloc_buffer((8,), "int32")
for k in T.serial(8):
    w[k] = X[k]
for k in T.serial(8):
    for l in T.serial(8):
        t = T.alloc_buffer((1,), "int32")
        u = T.alloc_buffer((1,), "int32")
        u[0] = 0 * t[0]
        w[Q[k]] = T.max(t[0] - u[0], w[l])
for k in T.serial(8):
    Y[k] = w[k] * 0
"""
    func = read(INTEGERS, body)
    check(func, drawn(func))


def test_what_steps_count_is_counted_in_their_loop() -> None:
    """Loops around the steps are axes; a count of what each step found keeps nothing for every step."""
    params = 'c: T.Buffer((6, 5), "int32"), N: T.Buffer((6, 5), "int32")'
    body = """for i, j in T.grid(6, 5):
    x = T.alloc_buffer((1,), "int32")
    x[0] = 0
    N[i, j] = 0
    for t in range(7):
        if x[0] * x[0] < 40:
            x[0] = x[0] * x[0] % 11 + c[i, j]
            N[i, j] = N[i, j] + 1"""
    source = unwrapped(agreeing_source(read(params, body)))
    assert "fori_loop(0, 7" in source
    assert "(7, 6, 5)" not in source


def test_the_first_of_two_loops_keeps_what_both_use() -> None:
    """The outputs of a state are worked out where the state is."""
    params = 'X: T.Buffer((4, 7), "int32"), W: T.Buffer((3, 4), "int32"), Y: T.Buffer((4, 7, 3), "int32")'
    body = """for b in range(4):
    h = T.alloc_buffer((4,), "int32")
    for i in range(4):
        h[i] = i
    for t in range(7):
        g = T.alloc_buffer((4,), "int32")
        for i in range(4):
            g[i] = (X[b, t] + 3 * h[(i + 1) % 4]) % 17
        for i in range(4):
            h[i] = g[i]
        for o in range(3):
            Y[b, t, o] = 0
            for k in range(4):
                Y[b, t, o] = Y[b, t, o] + W[o, k] * g[k]"""
    source = unwrapped(agreeing_source(read(params, body)))
    assert "(7, 4, 4)" not in source
    assert "(4, 7, 4)" not in source


EVEN = """
for i, j in T.grid(8, 8):
    if (i + j) % 2 == 0:
        e = A[i, j] * (A[(i + 7) % 8, j] + A[(i + 1) % 8, j]) + A[i, (j + 7) % 8] - A[i, (j + 1) % 8] + X[i] * Y[j]
        if X[j] < e:
            A[i, j] = -e
"""


def test_names_under_a_branch_are_not_looked_at_elsewhere() -> None:
    """The others read what a step stores, in the same pass over a board."""
    assert "fori_loop" not in agreeing_source(read(INTEGERS, EVEN))


@pytest.mark.parametrize("line", ["        Q[j] = e", "    X[i] = X[i] + A[i, (j + 1) % 8]"])
def test_names_that_more_than_a_branch_depends_on_stay_in_steps(line: str) -> None:
    assert "fori_loop" in agreeing_source(read(INTEGERS, EVEN + line))


def test_parts_that_iterations_have_for_themselves_are_not_copied_for_each() -> None:
    body = """b = T.alloc_buffer((8, 8), "int32")
for c in range(8):
    for m in range(1, 7):
        for k in range(8):
            b[c, k] = A[c, k]
        for k in range(1, m + 1):
            A[c, k] = b[c, k] + X[c] * b[c, m - k]"""
    source = agreeing_source(read(INTEGERS, body))
    assert "(8, 8, 8)" not in source, source
