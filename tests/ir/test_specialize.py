"""Functions for given sizes mean what they mean when called with those sizes."""

from __future__ import annotations

import numpy as np
import pytest

from ir import interpret, parse, specialize, to_script
from ir.errors import LoopsatError

FUNC = parse("""
from ir import script as T


@T.prim_func
def f(a: T.handle, b: T.handle, k: T.int32, x: T.float32):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    L = T.alloc_buffer((m,), "float32")
    for i in range(n):
        B[i] = 0.0
        for j in range(k):
            L[j] = A[i, j] * x
            B[i] = B[i] + L[j]
""").funcs[0]


def test_sizes_become_numbers() -> None:
    small = specialize(FUNC, {"n": 3, "m": 4, "k": 2})
    assert [p.name for p in small.params] == ["A", "B", "x"]
    assert "range(3)" in to_script(small) or "serial(3)" in to_script(small)
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    b = np.zeros(3, np.float32)
    expected = interpret(FUNC, a, b, 2, 0.5)
    for got, want in zip(interpret(small, a, b, 0.5), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_some_sizes_may_stay() -> None:
    assert [p.name for p in specialize(FUNC, {"m": 4}).params] == ["A", "B", "k", "x"]


@pytest.mark.parametrize(
    ("sizes", "message"), [({"nn": 3}, "did you mean `n`"), ({"k": 2**40}, "no int32"), ({"x": 1}, "no size")]
)
def test_wrong_sizes_are_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(LoopsatError, match=message):
        specialize(FUNC, sizes)


def test_operations_on_sizes_are_worked_out() -> None:
    func = parse("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n // 4, 4), "float32")
    for i in range(n // 4):
        for j in range(n - n // 4 * 4 + 4):
            B[i, j] = A[4 * i + j]
""").funcs[0]
    small = specialize(func, {"n": 4096})
    assert [str(to_script(b.shape[0])) for b in small.buffers] == ["4096", "1024"]
    assert "T.grid(1024, 4)" in to_script(small)


def test_faults_are_left_where_they_are() -> None:
    func = parse("""
@T.prim_func
def f(k: T.int32, A: T.Buffer((8,), "int32")):
    for i in range(8):
        if k != 0:
            A[i] = 8 // k
""").funcs[0]
    assert "// T.int32(0)" in to_script(specialize(func, {"k": 0}))
