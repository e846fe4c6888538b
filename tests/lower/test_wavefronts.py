"""Wavefronts: tables whose loops all carry dependences become steps over independent diagonals."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from egraph_rules.cost import CPU
from ir import PrimFunc, parse, specialize
from ir.inputs import random_inputs
from ir.interpret import interpret_with_undef
from ir.traverse import buffers_written
from lower import emit
from lower.function import emit_function
from lower.kernel import Kernel

EAGER = replace(CPU, name="eager", scalar=1e4, launch=1.0, gather=0.0)  # any array statement is worth it


def read(params: str, body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    text = f"from __future__ import annotations\n@T.prim_func\ndef f({params}):\n{lines}\n"
    return parse(text).funcs[0]


def check(func: PrimFunc, seed: int = 0) -> Kernel:
    """Compare with the interpreter."""
    inputs = random_inputs(func, np.random.default_rng(seed))
    expected = interpret_with_undef(func, **inputs)
    kernel = Kernel(emit_function(func, target=EAGER), jax.devices()[0])
    written = buffers_written(func.body)
    names = [b.name for b in func.buffers if b in written]
    for name, (values, undef), got in zip(names, expected, kernel(**inputs), strict=True):
        want, have = values[~undef], np.asarray(got)[~undef]
        same = np.allclose(want, have, rtol=1e-4, atol=1e-4, equal_nan=True)
        assert same, f"{name}: {want} {have}\n{kernel.source}"
    return kernel


def is_wavefront(kernel: Kernel, form: str) -> bool:
    """Whether one loop is left, over the diagonals of a form."""
    loops = [line for line in kernel.report if "stays a loop" in line]
    return len(loops) == 1 and f"all elements of one {form}," in loops[0]


TABLE = 'A: T.Buffer((9, 12), "float32")'
WORDS = 'a: T.Buffer((8,), "int32"), b: T.Buffer((11,), "int32")'
INTS = f'{WORDS}, D: T.Buffer((9, 12), "int32")'


@pytest.mark.parametrize(
    ("params", "body", "form"),
    [
        pytest.param(
            INTS,
            """
for i in T.serial(9):
    D[i, 0] = i
for j in T.serial(12):
    D[0, j] = j
for i, j in T.grid(8, 11):
    D[i + 1, j + 1] = T.min(
        T.min(D[i, j + 1], D[i + 1, j]) + 1, D[i, j] + T.Select(a[i] % 4 == b[j] % 4, 0, 1)
    )
""",
            "i + j",
            id="edit distance",
        ),
        pytest.param(
            INTS,
            """
for i in T.serial(1, 9):
    for j in T.serial(1, 12):
        if a[i - 1] % 3 == b[j - 1] % 3:
            D[i, j] = D[i - 1, j - 1] + 1
        else:
            D[i, j] = T.max(D[i - 1, j], D[i, j - 1])
""",
            "i + j",
            id="guards that are data",
        ),
        pytest.param(
            f"{WORDS}, {TABLE.replace('A', 'H')}, {TABLE.replace('A', 'E')}, {TABLE.replace('A', 'F')}",
            """
for i in T.serial(1, 9):
    for j in T.serial(1, 12):
        E[i, j] = T.max(E[i, j - 1] - 0.5, H[i, j - 1] - 2.0)
        F[i, j] = T.max(F[i - 1, j] - 0.5, H[i - 1, j] - 2.0)
        H[i, j] = T.max(
            T.max(0.0, H[i - 1, j - 1] + T.Select(a[i - 1] % 4 == b[j - 1] % 4, 3.0, -1.0)),
            T.max(E[i, j], F[i, j]),
        )
""",
            "i + j",
            id="several tables",
        ),
        pytest.param(
            f'x: T.Buffer((9,), "float32"), y: T.Buffer((12,), "float32"), {TABLE}',
            """
for i, j in T.grid(9, 12):
    if i > 0 and j > 0:
        A[i, j] = T.abs(x[i] - y[j]) + T.min(T.min(A[i - 1, j], A[i, j - 1]), A[i - 1, j - 1])
""",
            "i + j",
            id="guarded borders",
        ),
        pytest.param(
            f'{TABLE}, R: T.Buffer((12, 9), "float32")',
            """
for i in T.serial(1, 8):
    for j in T.serial(1, 11):
        A[i, j] = 0.25 * (T.max(A[i - 1, j], A[i, j - 1] * A[i, j + 1]) + A[i + 1, j] + A[i, j] * R[j, i])
""",
            "i + j",
            id="old neighbours ahead",
        ),
        pytest.param(
            TABLE,
            """
for i in T.serial(8):
    for j in T.serial(11):
        A[7 - i, 10 - j] = T.max(A[8 - i, 10 - j] * 0.5, A[7 - i, 11 - j] * A[8 - i, 11 - j])
""",
            "i + j",
            id="running down",
        ),
        pytest.param(
            TABLE,
            """
for i in T.serial(8):
    for j in T.serial(11):
        A[i + 1, 10 - j] = T.max(A[i, 10 - j], T.min(A[i + 1, 11 - j], A[i, 11 - j] + 0.5))
""",
            "i + j",
            id="one loop running down",
        ),
        pytest.param(
            TABLE,
            """
for i in T.serial(1, 9):
    for j in T.serial(1, 11):
        A[i, j] = T.max(A[i, j - 1] * A[i - 1, j + 1], A[i - 1, j] * 0.5)
""",
            "2 * i + j",
            id="a steeper time",
        ),
        pytest.param(
            'A: T.Buffer((12, 9), "float32")',
            """
for i in T.serial(1, 12):
    for j in T.serial(2, 9):
        A[i, j] = T.max(A[i - 1, j] * A[i, j - 1], T.min(A[i, j - 2], A[i - 1, j - 2]))
""",
            "i + j",
            id="longer distances",
        ),
        pytest.param(
            'A: T.Buffer((10, 10), "int32")',
            """
for i in T.serial(1, 10):
    for j in T.serial(1, i + 1):
        A[i, j] = T.max(A[i - 1, j] + 1, T.min(A[i, j - 1], A[i - 1, j - 1] + 2))
""",
            "i + j",
            id="triangle",
        ),
        pytest.param(
            'A: T.Buffer((10, 10), "int32"), s: T.Buffer((10,), "int32")',
            """
for i in T.serial(10):
    for j in T.serial(10 - i, 10):
        A[9 - i, j] = T.max(A[9 - i, j], T.max(A[9 - i, j - 1], A[10 - i, j]))
        if j > 10 - i:
            A[9 - i, j] = T.max(A[9 - i, j], A[10 - i, j - 1] + T.Select(s[9 - i] % 4 + s[j] % 4 == 3, 1, 0))
        for k in T.serial(10 - i, j):
            A[9 - i, j] = T.max(A[9 - i, j], A[9 - i, k] + A[k + 1, j])
""",
            "i + j",
            id="all splits of an interval",
        ),
        pytest.param(
            'A: T.Buffer((10, 10), "int32"), best: T.Buffer((1,), "int32")',
            """
for i in T.serial(1, 10):
    for j in T.serial(1, 10):
        A[i, j] = T.max(A[i - 1, j], A[i, j - 1] - 1) + A[i, j]
        best[0] = T.max(best[0], A[i, j])
""",
            "i + j",
            id="the best of all elements",
        ),
        pytest.param(
            'A: T.Buffer((3, 7, 8), "float32")',
            """
for b in T.serial(3):
    for i in T.serial(1, 7):
        for j in T.serial(1, 8):
            A[b, i, j] = T.max(A[b, i - 1, j] * 0.5, A[b, i, j - 1] * A[b, i - 1, j - 1])
""",
            "i + j",
            id="a batch of tables",
        ),
        pytest.param(
            'x: T.Buffer((9,), "int32"), D: T.Buffer((13,), "int32")',
            """
for i in T.serial(9):
    for j in T.serial(1, 12):
        D[j] = T.min(T.max(D[j], D[j - 1] + x[i] % 3), D[j + 1] + 4)
""",
            "2 * i + j",
            id="one row again and again",
        ),
    ],
)
def test_tables_become_steps_over_diagonals(params: str, body: str, form: str) -> None:
    kernel = check(read(params, body))
    assert is_wavefront(kernel, form), f"{kernel.report}\n{kernel.source}"
