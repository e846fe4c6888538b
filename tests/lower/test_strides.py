"""Loops of which a part does something every few iterations alone: that part runs over these."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from msgspec.structs import replace

from lowered import CPU, assert_agrees, kernel_of, read, small_numbers, unwrapped

EAGER = replace(CPU, name="eager", step=1e4, scalar=1e4)  # loops cost a lot
PARAMS = (
    'A: T.Buffer((90,), "int32"), B: T.Buffer((90,), "int32"), C: T.Buffer((90,), "int32"), S: T.Buffer((3,), "int32")'
)
STATE = "s = T.alloc_buffer((1,), 'int32')\nt = T.alloc_buffer((1,), 'int32')\ns[0] = 0\nt[0] = 0\n"
STRIDES = {
    "differences of sums": "for i in range(90):\n    s[0] = s[0] + A[i]\n    if i % 8 == 7:\n        B[i // 8] = s[0] - t[0] // 2\n        t[0] = s[0] - B[i // 8] // 3",
    "from elsewhere": "for i in range(5, 88):\n    s[0] = s[0] + A[i]\n    if (i + 2) % 9 == 4:\n        d = s[0] - t[0] // 2\n        B[i] = d\n        t[0] = d // 3",
    "a loop in order": "for i in range(90):\n    if i % 6 == 2:\n        S[0] = (S[0] * A[i] + 3) % 17\n        B[i] = S[0]",
    "never": "for i in range(3):\n    if i % 60 == 5:\n        S[0] = (S[0] * A[i] + 3) % 17\n        B[i] = S[0]",
    "two parts": "for i in range(90):\n    s[0] = s[0] + A[i]\n    if i % 8 == 7:\n        t[0] = (t[0] * s[0] + 1) % 19\n        B[i] = t[0]\n    if i % 4 == 1:\n        S[1] = (S[1] * s[0] + 1) % 23\n        C[i] = S[1]",
}
OTHERS = {
    "read in between": "for i in range(90):\n    s[0] = s[0] + A[i] * t[0]\n    if i % 8 == 7:\n        t[0] = (t[0] * 3 + A[i]) % 19\n        B[i] = t[0]",
    "stored to in between": "for i in range(88):\n    s[0] = s[0] + A[i]\n    C[i + 1] = C[i] // 2 + s[0]\n    if i % 8 == 7:\n        t[0] = (t[0] * 3 + C[i + 2]) % 19\n        B[i] = t[0]",
    "under other conditions too": "for i in range(90):\n    s[0] = s[0] + A[i]\n    if i % 8 == 7:\n        t[0] = (t[0] * 3 + s[0]) % 19\n        B[i] = t[0]\n    if A[i] > 3:\n        t[0] = 1",
}  # fmt: skip


@pytest.mark.parametrize("name", [*STRIDES, *OTHERS])
def test_parts_that_run_every_few_iterations(name: str) -> None:
    func = read(PARAMS, STATE + {**STRIDES, **OTHERS}[name])
    for target in (CPU, EAGER):
        kernel = kernel_of(func, target)
        for seed in range(2):
            assert_agrees(func, kernel, small_numbers(func, seed))


def test_what_is_left_has_fewer_steps() -> None:
    func = read(PARAMS, STATE + STRIDES["differences of sums"])
    assert "fori_loop(0, 11," in unwrapped(kernel_of(func).source)
