"""Stages that the next statement reads at several places are worked out once, where that is cheaper."""

from __future__ import annotations

import numpy as np
import pytest

from ir import PrimFunc, interpret, parse
from lower import compile, emit
from lower.price.program import program_price

STAGES = """
@T.prim_func
def stages(A: T.Buffer(({n},), "int32"), C: T.Buffer(({m},), "int32")):
    B = T.alloc_buffer(({n},), "int32")
    for i in range({n}):
        B[i] = {value}
    for i in range({m}):
        C[i] = {read}
"""


def stages(n: int, value: str = "A[i] * A[i] + 3 * A[i]", read: str = "B[i] + B[i + 1] + B[i + 2]") -> PrimFunc:
    return parse(STAGES.format(n=n, m=n - 2, value=value, read=read)).funcs[0]


def test_a_large_stage_that_is_read_three_times_is_kept_in_memory():
    func = stages(200_000)
    kernel = compile(func)
    assert "B_kept = kept(B)" in kernel.source
    a = np.arange(200_000, dtype=np.int32) % 100
    b = a * a + 3 * a
    np.testing.assert_array_equal(kernel(a)[0], b[:-2] + b[1:-1] + b[2:])


def test_the_compiler_keeps_what_is_kept():
    kernel = compile(stages(200_000))
    assert " call(" in kernel.jitted.lower(np.zeros(200_000, np.int32)).compile().as_text()


def test_a_border_stored_after_it_makes_a_stage_no_cheaper_to_work_out_again():
    text = STAGES.format(n=200_000, m=199_998, value="A[i] * A[i] + 3 * A[i]", read="B[i] + B[i + 1] + B[i + 2]")
    text = text.replace("for i in range(200000)", "for i in range(1, 199999)", 1)
    text = text.replace("    for i in range(199998)", "    B[0] = 7\n    B[199999] = 7\n    for i in range(199998)")
    kernel = compile(parse(text).funcs[0])
    assert "= kept(B)" in kernel.source
    a = np.arange(200_000, dtype=np.int32) % 100
    b = a * a + 3 * a
    b[0] = b[-1] = 7
    np.testing.assert_array_equal(kernel(a)[0], b[:-2] + b[1:-1] + b[2:])


@pytest.mark.parametrize(
    ("n", "value", "read"),
    [
        (40, "A[i] * A[i] + 3 * A[i]", "B[i] + B[i + 1] + B[i + 2]"),  # small: a pass of its own costs more
        (200_000, "A[i] * A[i] + 3 * A[i]", "B[i + 1] + 1"),  # read once
    ],
)
def test_other_stages_are_fused_into_what_reads_them(n: int, value: str, read: str):
    assert "kept(" not in emit(stages(n, value, read))


def test_a_stage_that_is_stored_to_between_two_readers_is_kept_again():
    text = STAGES.format(n=60_000, m=59_998, value="A[i] * A[i] + 3 * A[i]", read="B[i] + B[i + 1] + B[i + 2]")
    text += "    for i in range(60000):\n        B[i] = B[i] + A[i] * 2\n"
    text += "    for i in range(59998):\n        C[i] = C[i] * 3 + B[i] - B[i + 1] + B[i + 2]\n"
    func = parse(text).funcs[0]
    a = np.arange(60_000, dtype=np.int32) % 10
    b = a * a + 3 * a
    first = b[:-2] + b[1:-1] + b[2:]
    b = b + 2 * a
    kernel = compile(func)
    np.testing.assert_array_equal(kernel(a)[0], first * 3 + b[:-2] - b[1:-1] + b[2:])
    assert kernel.source.count("= kept(") == 2
    small = parse(text.replace("60000", "9").replace("59998", "7")).funcs[0]
    np.testing.assert_array_equal(interpret(small, a[:9])[0], compile(small)(a[:9])[0])


def test_prices_count_what_is_not_kept_once_for_each_slice(monkeypatch: pytest.MonkeyPatch):
    value = "A[i] * A[i] * A[i] * A[i] + 3 * A[i]"
    kept = program_price(stages(200_000, value))

    def never(*given: object) -> bool:
        return False

    monkeypatch.setattr("lower.emission.value_writer.is_kept", never)
    assert program_price(stages(200_000, value)) > kept


LEAVING = """
@T.prim_func
def leaving(
    A: T.Buffer((60, 50), "float32"), back: T.Buffer((60, 50), "float32"), ahead: T.Buffer((60, 50), "float32")
):
    for i, j in T.grid(60, 50):
        back[i, j] = A[i, j]
        for t in range(1, 5):
            if j - t >= 0:
                back[i, j] = T.max(back[i, j], (A[i, j - t] - A[i, j]) / T.cast(t, "float32"))
    for i, j in T.grid(60, 50):
        ahead[i, j] = A[i, j]
        for t in range(1, 8):
            if j + t < 50:
                ahead[i, j] = T.max(ahead[i, j], (A[i, j + t] - A[i, j]) / T.cast(t, "float32"))
"""


def test_reads_that_leave_an_array_on_several_sides_pad_it_once():
    func = parse(LEAVING).funcs[0]
    kernel = compile(func)
    assert kernel.source.count("jnp.pad(") == 1 and "kept(jnp.pad(A, ((0, 0), (4, 7))))" in kernel.source
    a = np.random.default_rng(1).normal(size=(60, 50)).astype(np.float32)
    for found, want in zip(kernel(a), interpret(func, a), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-6)


SPREAD = """
@T.prim_func
def spread(A: T.Buffer((256, 256, 3), "float32"), C: T.Buffer((256, 256, {n}), "float32")):
    B = T.alloc_buffer((256, 256), "float32")
    for i, j in T.grid(256, 256):
        B[i, j] = {value}
    for i, j, c in T.grid(256, 256, {n}):
        C[i, j, c] = {read} * B[i, j]
"""
LIGHT = "A[i, j, 0] * T.float32(0.3) + A[i, j, 1] * T.float32(0.6) + A[i, j, 2] * T.float32(0.1)"


def test_a_stage_is_worked_out_again_for_each_position_of_a_short_axis():
    func = parse(SPREAD.format(n=3, value=LIGHT, read="A[i, j, c]")).funcs[0]
    kernel = compile(func)
    assert "= kept(B)" in kernel.source
    a = np.random.default_rng(0).random((256, 256, 3)).astype(np.float32)
    light = a @ np.array([0.3, 0.6, 0.1], np.float32)
    np.testing.assert_allclose(kernel(a)[0], a * light[..., None], rtol=1e-5)


@pytest.mark.parametrize(("n", "value"), [(300, LIGHT), (3, "T.cast(i * j % 7, 'float32') * T.float32(0.3)")])
def test_but_not_along_a_long_one_nor_where_it_is_a_table(n: int, value: str):
    assert "kept(" not in emit(parse(SPREAD.format(n=n, value=value, read="T.cast(c, 'float32')")).funcs[0])
