"""Padding that may hold anything gets what lets a later reader do without its guard."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.search.filling import RULE, filled
from ir import parse
from ir.analysis.neutral import neutral_to
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import If, PrimFunc, Store
from ir.printing.printer import to_script
from ir.traverse import walk
from profiles import some
from texts import read

PARAMETER = """
def f(A: T.Buffer((8, 4), "float32"), Y: T.Buffer((8, 4), "float32"), m: T.Buffer((1,), "float32")):
    for i, j in T.grid(8, 4):
        if 4 * i + j < 30:
            Y[i, j] = A[i, j] * 2.0
        else:
            Y[i, j] = T.undef("float32")
    m[0] = {start}
    for i, j in T.grid(8, 4):
        if 4 * i + j < 30:
            m[0] = {step}
"""
STEPS = {
    "a sum": ("0.0", "m[0] + Y[i, j]", "0.0"),
    "a maximum": ('T.min_value("float32")', "T.max(m[0], Y[i, j])", "-3.4028234663852886e+38"),
    "a minimum, its operands turned": ('T.max_value("float32")', "T.min(Y[i, j], m[0])", "3.4028234663852886e+38"),
    "a product": ("1.0", "m[0] * Y[i, j]", "1.0"),
    "a sum of products": ("0.0", "m[0] + Y[i, j] * A[j, 0]", "0.0"),
}


def guards_of_reductions(func: PrimFunc) -> int:
    """How many guards stand around steps of a reduction into m."""
    guards = (s for s in walk(func.body) if isinstance(s, If))
    return sum(any(isinstance(s, Store) and s.buffer.name == "m" for s in walk(guard)) for guard in guards)


@pytest.mark.parametrize(("start", "step", "value"), some(STEPS.values(), 0.4), ids=STEPS.keys())
def test_padding_holds_what_the_reader_wants(start: str, step: str, value: str) -> None:
    func = read(PARAMETER.format(start=start, step=step))
    result = optimize(func)
    assert guards_of_reductions(func) == 1
    assert guards_of_reductions(result.best) == 0
    assert f"Y[i, j] = T.if_then_else(4 * i + j >= 30, {value}, A[i, j] * 2.0)" in to_script(result.best)
    assert_refines(func, result.best, np.random.default_rng(0))
    steps = result.derivation()
    assert [s.rule for s in steps].count(RULE) == 1
    assert all(one.after == two.before for one, two in pairwise(steps))


def test_a_number_that_is_not_finite_is_chosen_only_where_nothing_relies_on_finite_ones() -> None:
    func = read(PARAMETER.format(start='T.min_value("float32")', step="T.max(m[0], Y[i, j])"))
    assert "inf" not in to_script(replace(func, body=filled(func.body, DEFAULT_FLOATS)))
    strict = filled(func.body, Floats.STRICT)
    assert 'T.float32("-inf")' in to_script(replace(func, body=strict))


LOCAL = """
def f(A: T.Buffer((8, 4), "float32"), W: T.Buffer((8, 4), "float32"), m: T.Buffer((2,), "float32")):
    Y = T.alloc_buffer((8, 4), "float32")
    for i, j in T.grid(8, 4):
        if 4 * i + j < {first}:
            Y[i, j] = A[i, j] * 2.0
    m[0] = 0.0
    for i, j in T.grid(8, 4):
        if 4 * i + j < 30:
            m[0] = m[0] + Y[i, j]
"""


def test_a_local_buffer_is_filled_where_its_guard_is_false() -> None:
    func = read(LOCAL.format(first=30))
    found = replace(func, body=filled(func.body, DEFAULT_FLOATS))
    assert "        else:\n            Y[i, j] = 0.0" in to_script(found)
    assert_refines(func, found, np.random.default_rng(0))


def test_what_is_undef_where_a_factor_is_zero_is_not_multiplied() -> None:
    func = read("""
def f(X: T.Buffer((16,), "float32"), m: T.Buffer((1,), "float32")):
    P = T.alloc_buffer((18,), "float32")
    M = T.alloc_buffer((18,), "float32")
    for i in range(18):
        if 1 <= i and i < 17:
            P[i] = X[i - 1] * 2.0
            M[i] = 1.0
        else:
            M[i] = 0.0
    m[0] = 0.0
    for i in range(18):
        m[0] = m[0] + P[i] * M[i]
""")
    best = optimize(func).best
    assert "undef" not in to_script(best)
    assert "for i in T.serial(1, 17):\n        m[0] = m[0] + X[i - 1] * 2.0" in to_script(best)
    assert_refines(func, best, np.random.default_rng(0))


NEAR_MISSES = {
    "what was there is kept": """
def f(A: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32"), m: T.Buffer((1,), "float32")):
    for i in T.serial(8):
        if i < 6:
            Y[i] = A[i] * 2.0
    m[0] = 0.0
    for i in T.serial(8):
        if i < 6:
            m[0] = m[0] + Y[i]
""",
    "nobody reads behind a guard": """
def f(A: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32"), m: T.Buffer((1,), "float32")):
    for i in T.serial(8):
        if i < 6:
            Y[i] = A[i] * 2.0
        else:
            Y[i] = T.undef("float32")
    m[0] = 0.0
    for i in T.serial(6):
        m[0] = m[0] + Y[i]
""",
    "other iterations write there": """
def f(A: T.Buffer((32,), "float32"), m: T.Buffer((1,), "float32")):
    Y = T.alloc_buffer((32,), "float32")
    for i in T.serial(32):
        if i % 2 == 0:
            Y[i // 2] = A[i]
    m[0] = 0.0
    for i in T.serial(32):
        if i < 16:
            m[0] = m[0] + Y[i]
""",
    "the place leaves the buffer": """
def f(A: T.Buffer((32,), "float32"), m: T.Buffer((1,), "float32")):
    Y = T.alloc_buffer((16,), "float32")
    for i in T.serial(32):
        if i < 16:
            Y[i] = A[i]
    m[0] = 0.0
    for i in T.serial(16):
        if A[i] > 0.0:
            m[0] = m[0] + Y[i]
""",
    "the place overflows on its way where the guard is false": """
def f(A: T.Buffer((16,), "float32"), m: T.Buffer((1,), "float32")):
    Y = T.alloc_buffer((16,), "float32")
    for i in T.serial(16):
        if i < 2:
            Y[i * 1073741824 // 1073741824] = A[i]
    m[0] = 0.0
    for i in T.serial(16):
        if A[i] > 0.0:
            m[0] = m[0] + Y[i]
""",
    "what a guard stores is added to elsewhere": """
def f(A: T.Buffer((4, 6), "float32"), m: T.Buffer((4,), "float32")):
    Y = T.alloc_buffer((4,), "float32")
    for i in T.serial(4):
        Y[i] = 0.0
        for k in T.serial(6):
            if A[i, k] > 0.0:
                Y[i] = Y[i] + A[i, k]
        m[i] = 0.0
        if A[i, 0] > 0.0:
            m[i] = m[i] + Y[i]
""",
    "the last iteration that stores decides": """
def f(A: T.Buffer((4, 6), "float32"), m: T.Buffer((4,), "float32")):
    Y = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 6):
        if A[i, k] > 0.0:
            Y[i] = A[i, k]
    for i in T.serial(4):
        m[i] = 0.0
        if A[i, 0] > 0.0:
            m[i] = m[i] + Y[i]
""",
    "the nest under the guard ends where data say": """
def f(A: T.Buffer((4, 6), "float32"), n: T.Buffer((4,), "int32"), m: T.Buffer((4,), "float32")):
    Y = T.alloc_buffer((4, 6), "float32")
    for i in T.serial(4):
        if n[i] < 6:
            for k in T.serial(n[i]):
                Y[i, k] = A[i, k]
    for i in T.serial(4):
        m[i] = 0.0
        if 0 < n[i] and n[i] < 6:
            m[i] = m[i] + Y[i, 0]
""",
    "the guard reads the buffer": """
def f(A: T.Buffer((16,), "float32"), m: T.Buffer((1,), "float32")):
    Y = T.alloc_buffer((16,), "float32")
    for i in T.serial(16):
        Y[i] = A[i]
    for i in T.serial(16):
        if Y[i] > 0.0:
            Y[i] = A[i] * 2.0
    m[0] = 0.0
    for i in T.serial(16):
        if A[i] > 0.0:
            m[0] = m[0] + Y[i]
""",
}


@pytest.mark.parametrize("text", NEAR_MISSES.values(), ids=NEAR_MISSES.keys())
def test_near_misses_are_left_alone(text: str) -> None:
    func = read(text)
    assert filled(func.body, DEFAULT_FLOATS) == func.body


def test_without_the_family_nothing_is_filled() -> None:
    func = read(PARAMETER.format(start="0.0", step="m[0] + Y[i, j]"))
    assert all(s.rule != RULE for s in optimize(func, without=["padding"]).derivation())


def test_no_number_is_filled_in_that_integers_are_calculated_from() -> None:
    func = read(
        """
def f(A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32"), m: T.Buffer((1,), "int32")):
    D = T.alloc_buffer((6,), "int32")
    for i in T.serial(6):
        if i < 4:
            D[i] = T.undef("int32")
        else:
            D[i] = 3
    D[0] = D[0] * C[0]
    for i in T.serial(6):
        if i >= 4:
            m[0] = T.min(m[0], D[i])
"""
    )
    assert filled(func.body, DEFAULT_FLOATS) == func.body  # 2147483647 * C[0] leaves int32, undef * C[0] does not


def test_an_infinity_is_no_number_of_an_integer_buffer() -> None:
    """A maximum of integers as floats starts from minus infinity, which they do not hold."""
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32"), n: T.int32):
    T.assume(n >= 0 and n < 5)
    if n < 3:
        for i in range(2):
            A[i] = i
    else:
        for i in range(n - 1):
            B[i] = T.max(B[i], T.cast(A[1], "float32"))
"""
    func = parse(text).funcs[0]
    for floats in (DEFAULT_FLOATS, Floats.STRICT):
        assert assert_refines(func, optimize(func, floats=floats).best, np.random.default_rng(0)) > 0


def test_a_count_that_divides_is_filled_with_an_integer() -> None:
    func = read(
        """
def f(A: T.Buffer((6,), "float32"), Y: T.Buffer((6,), "float32")):
    n = T.alloc_buffer((6,), "int32")
    for i in T.serial(6):
        if A[i] > 0.0:
            n[i] = 2
        else:
            n[i] = T.undef("int32")
    for i in T.serial(6):
        if A[i] > 0.0:
            Y[i] = Y[i] / T.cast(n[i], "float32")
"""
    )
    assert "n[i] = 1\n" in str(filled(func.body, DEFAULT_FLOATS))
    assert assert_refines(func, optimize(func).best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize(
    ("dtype", "step", "wanted"),
    [
        ("float16", 'T.max(m[0], T.cast(Y[i], "float32"))', None),  # the least float32 is no float16
        ("float32", "Y[i] / m[0]", None),  # one is neutral as a divisor only
        ("float32", "m[0] / Y[i]", 1.0),
        ("float32", "m[0] + (Y[i] * Y[i] + Y[i])", 0.0),
        ("float32", "m[0] + T.exp(Y[i])", None),  # minus infinity is no number
        ("float32", "m[0] + (Y[i] - 2.0) * m[0]", 2.0),
        ("int8", 'm[0] + T.cast(T.max(Y[i], T.int8(0)), "float32")', 0),
        ("bool", 'm[0] + T.cast(Y[i], "float32")', False),
    ],
)
def test_only_what_changes_nothing_and_the_buffer_can_hold_is_filled_in(dtype: str, step: str, wanted: object) -> None:
    head = f'def f(Y: T.Buffer((6,), "{dtype}"), m: T.Buffer((1,), "float32")):'
    func = read(f"{head}\n    for i in T.serial(6):\n        m[0] = {step}")
    (store,) = (s for s in walk(func.body) if isinstance(s, Store))
    assert [number.value for _, number in neutral_to(store, DEFAULT_FLOATS)] == ([] if wanted is None else [wanted])


ROWS = """
def f(X: T.Buffer((4, 6), "float32"), n: T.Buffer(4, "int32"), s: T.Buffer(4, "float32"), t: T.Buffer(4, "float32")):
    for q in range(4):
        T.assume(0 <= n[q] and n[q] <= 6)
    Y = T.alloc_buffer((4, 6), "float32")
    for q, k in T.grid(4, 6):
        if k < n[q]:
            {store}
    for q in range(4):
        s[q] = 0.0
        for k in range(6):
            if k < n[q]:
                s[q] = s[q] + {first}
        t[q] = 0.0
        for k in range(6):
            if k < n[q]:
                t[q] = t[q] + {second}
"""


@pytest.mark.parametrize(
    ("store", "first", "second"),
    some(
        [
            ("Y[q, k] = T.sqrt(T.abs(X[q, k]))", "Y[q, k]", "Y[q, k] * Y[q, k]"),
            ("Y[q, k] = T.exp(X[q, k]) + T.sin(X[q, k])", "(Y[q, k] * Y[q, k] + Y[q, k])", "T.max(Y[q, k], 0.0)"),
            ("if X[q, k] > 0.0:\n                Y[q, k] = T.exp(X[q, k])", "T.tanh(Y[q, k])", "T.abs(Y[q, k])"),
        ],
        0.67,
    ),
)
def test_rows_whose_lengths_are_data_are_filled_once_for_all_readers(store: str, first: str, second: str) -> None:
    func = read(ROWS.format(store=store, first=first, second=second))
    best = optimize(func).best
    sums = to_script(best).split("s[q] = 0.0")[1]
    assert "if" not in sums and "n[q]" not in sums
    assert assert_refines(func, best, np.random.default_rng(0), runs=8) > 0


def test_a_nest_under_a_guard_is_filled_where_it_does_not_run() -> None:
    func = read("""
def f(X: T.Buffer((4, 6), "float32"), n: T.Buffer((4,), "int32"), s: T.Buffer((6,), "float32")):
    Y = T.alloc_buffer((4, 6), "float32")
    for q in range(4):
        if n[q] > 0:
            for k in range(6):
                Y[q, k] = 0.0
                for d in range(2):
                    Y[q, k] = Y[q, k] + X[q, k]
    for k in range(6):
        s[k] = 0.0
        for q in range(4):
            if n[q] > 0:
                s[k] = s[k] + Y[q, k]
""")
    found = replace(func, body=filled(func.body, DEFAULT_FLOATS))
    other = "        else:\n            for k in T.serial(6):\n                Y[q, k] = 0.0\n    for"
    assert other in to_script(found)
    assert assert_refines(func, found, np.random.default_rng(0), runs=8) > 0


SOFTMAX = """
def f(X: T.Buffer((4, 6), "float32"), n: T.Buffer((4,), "int32"), O: T.Buffer((4, 6), "float32")):
    for q in range(4):
        T.assume({least} <= n[q] and n[q] <= 6)
    for q, k in T.grid(4, 6):
        T.assume(k < n[q] or X[q, k] == -1e30)
    e = T.alloc_buffer((4, 6), "float32")
    s = T.alloc_buffer((4,), "float32")
    for q in range(4):
        s[q] = 0.0
        for k in range(6):
            if k < n[q]:
                e[q, k] = T.exp(X[q, k])
                s[q] = s[q] + e[q, k]
        for k in range(6):
            if k < n[q]:
                O[q, k] = e[q, k] / s[q]
            else:
                O[q, k] = 0.0
"""


@pytest.mark.parametrize(("least", "guards"), [(1, 0), (0, 1)])
def test_what_a_filled_stage_tells_its_readers_is_used(least: int, guards: int) -> None:
    """Of an empty row nothing is divided by its sum, which is zero."""
    func = read(SOFTMAX.format(least=least))
    best = optimize(func).best
    assert to_script(best).count("n[q]") == guards
    assert assert_refines(func, best, np.random.default_rng(0), runs=8) > 0
