"""What passes a test is put side by side: an accumulator that counts gives each iteration a place of its own."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, GPU, Target
from ir import PrimFunc
from ir.nodes import Const
from ir.semantics.interpret import interpret_with_undef
from lower.runtime.kernel import Kernel
from lowered import kernel_of, read
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4, written_out=1)
ARRAYS = (
    'A: T.Buffer((30,), "int32"), B: T.Buffer((30,), "int32"), C: T.Buffer((31,), "int32"), n: T.Buffer((2,), "int32")'
)


def inputs(func: PrimFunc, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = [tuple(int(d.value) for d in b.shape if isinstance(d, Const)) for b in func.buffers]
    return {b.name: rng.integers(-3, 4, s).astype(b.dtype.numpy) for b, s in zip(func.buffers, shapes, strict=True)}


def check(func: PrimFunc, given: Mapping[str, Any], kernel: Kernel) -> None:
    expected = interpret_with_undef(func, **given)
    for (values, undef), got in zip(expected, kernel(**given), strict=True):
        np.testing.assert_array_equal(np.asarray(got)[~undef], values[~undef], err_msg=kernel.source)


def compiled(func: PrimFunc, target: Target = EAGER) -> Kernel:
    return kernel_of(func, target)


def has_loops(kernel: Kernel) -> bool:
    return any("stays a loop" in line for line in kernel.report)


HEAD = "n[0] = 0\nn[1] = 0\nfor i in range(30):\n"

COMPACTIONS = {
    "one list": f"{HEAD}    if A[i] > 0:\n        B[n[0]] = A[i] * 2\n        n[0] = n[0] + 1",
    "places too": f"{HEAD}    if A[i] > 0:\n        B[n[0]] = A[i]\n        C[n[0]] = i\n        n[0] = n[0] + 1",
    "from behind": "n[1] = 29\nfor i in range(30):\n    if A[i] > 0:\n        B[n[1]] = A[i]\n        n[1] = n[1] - 1",
    "counted first": f"{HEAD}    if A[i] % 2 == 0:\n        n[0] = n[0] + 1\n        C[n[0]] = A[i]",
    "two lists": f"{HEAD}    if A[i] > 0:\n        B[n[0]] = A[i]\n        n[0] = n[0] + 1\n    else:\n        C[n[1]] = A[i]\n        n[1] = n[1] + 1",
    "some of those counted": f"{HEAD}    if A[i] > 0:\n        if i % 3 == 1:\n            B[n[0]] = A[i]\n        n[0] = n[0] + 1",
    "all": f"{HEAD}    B[n[0]] = A[i]\n    n[0] = n[0] + 1",
}  # fmt: skip


@pytest.mark.parametrize("body", some(COMPACTIONS.values(), 2), ids=COMPACTIONS.keys())
def test_compactions(body: str) -> None:
    func = read(ARRAYS, body)
    kernel = compiled(func)
    assert not has_loops(kernel), kernel.report
    for seed in range(5):
        check(func, inputs(func, seed), kernel)


OTHERS = {
    "not counted": f"{HEAD}    if A[i] > 0:\n        B[n[0]] = A[i]\n    if A[i] > 1:\n        n[0] = n[0] + 1",
    "overwritten": f"{HEAD}    if A[i] > 0:\n        n[0] = n[0] + 1\n    B[n[0]] = A[i]",
    "neighbours": f"{HEAD}    if A[i] > 0:\n        for k in range(2):\n            B[n[0] + k] = A[i] + k\n        if n[0] < 25:\n            n[0] = n[0] + 1",
    "in place": f"{HEAD}    if A[i] > 0:\n        A[n[0]] = A[i]\n        n[0] = n[0] + 1",
    "read again": f"{HEAD}    if A[i] > 0:\n        B[n[0]] = A[i] + B[0]\n        n[0] = n[0] + 1",
    "steps from data": f"{HEAD}    if A[i] > 0:\n        B[n[0] % 30] = A[i]\n        n[0] = n[0] + A[29 - i]",
}  # fmt: skip


@pytest.mark.parametrize("body", some(OTHERS.values(), 0.33), ids=OTHERS.keys())
def test_near_misses_stay_right(body: str) -> None:
    func = read(ARRAYS, body)
    kernel = compiled(func)
    assert has_loops(kernel), kernel.report
    for seed in range(5):
        check(func, inputs(func, seed), kernel)


def test_rows() -> None:
    func = read(
        'A: T.Buffer((5, 12), "int32"), B: T.Buffer((5, 12), "int32"), n: T.Buffer((5,), "int32")',
        "for r in range(5):\n    n[r] = 0\n    for i in range(12):\n        if A[r, i] > 0:\n            B[r, n[r]] = A[r, i]\n            n[r] = n[r] + 1",
    )
    kernel = compiled(func)
    assert not has_loops(kernel), kernel.report
    for seed in range(5):
        check(func, inputs(func, seed), kernel)


NESTS = {
    "of rows": "for i in range(5):\n    for j in range(12):\n        if A[i, j] > 0:\n            B[n[0], 0] = A[i, j]\n            B[n[0], 1] = i\n            n[0] = n[0] + 1",
    "of pairs": "for i in range(5):\n    for j in range(i + 1, 12):\n        if A[i, j] > A[i, i]:\n            B[n[0], 1] = j\n            n[0] = n[0] + 1",
    "of three": "for k in range(8):\n    for i in range(5):\n        for j in range(12):\n            if A[i, j] == k:\n                B[n[0], 0] = j\n                n[0] = n[0] + 1",
}  # fmt: skip


@pytest.mark.parametrize("body", some(NESTS.values(), 0.45), ids=NESTS.keys())
def test_nests(body: str) -> None:
    params = 'A: T.Buffer((5, 12), "int32"), B: T.Buffer((120, 2), "int32"), n: T.Buffer((1,), "int32")'
    func = read(params, f"n[0] = 0\n{body}")
    kernel = compiled(func, GPU)
    assert not has_loops(kernel), kernel.report
    for seed in range(5):
        check(func, inputs(func, seed), kernel)


def test_long_lists_are_counted_exactly() -> None:
    func = read(
        'A: T.Buffer((3000,), "int32"), B: T.Buffer((3000,), "int32"), n: T.Buffer((1,), "int32")',
        "n[0] = 0\nfor i in range(3000):\n    if A[i] > 0:\n        B[n[0]] = i\n        n[0] = n[0] + 1",
    )
    kernel = compiled(func)
    assert "prefix_sums" in kernel.source
    check(func, inputs(func, 0), kernel)


def test_targets_differ() -> None:
    func = read(ARRAYS, COMPACTIONS["one list"])
    assert has_loops(compiled(func, CPU)) and not has_loops(compiled(func, GPU))
