"""Layouts of parameters as users ask for them: shapes, maps, padding, and conversion of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from ir import parse, to_script
from ir import script as T
from ir.errors import LoopsatError
from ir.schedule import Schedule
from ir.schedule.layout import layout_of
from lower import compile

DOUBLE = """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        with T.block("compute"):
            B[i] = 2 * A[i]
"""

ROWS = """
@T.prim_func
def func(A: T.Buffer((14, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i, j]
"""


def split4(i):
    return [i // 4, i % 4]


def test_layout_survives_printing_and_says_what_was_done():
    sch = Schedule(parse(DOUBLE))
    sch.transform_layout("root", "A", split4, pad_value=-1)
    again = parse(to_script(sch.func)).funcs[0]
    assert again == sch.func
    layout = layout_of(again, "A")
    assert str(layout) == "A: (14) stored as (4, 4) by lambda i: (i // 4, i % 4), padding where 4 * io + ii >= 14"
    untouched = layout_of(again, "B")
    assert untouched.logical_shape == untouched.physical_shape
    assert to_script(untouched.padding) == "False"
    with pytest.raises(LoopsatError, match="no buffer parameter `C`"):
        layout_of(again, "C")
    broken = parse(to_script(sch.func).replace("lambda i", "lambda 1")).funcs[0]
    with pytest.raises(LoopsatError, match="is no recorded layout"):
        layout_of(broken, "A")


def test_padding_can_be_elided_where_nothing_uses_it_and_the_order_agrees():
    def elidable(index_map, **pad) -> bool:
        sch = Schedule(parse(DOUBLE))
        sch.transform_layout("root", "A", index_map, **pad)
        return layout_of(sch.func, "A").elidable

    assert elidable(split4)
    assert not elidable(split4, pad_value=0)
    assert not elidable(split4, pad_value=T.undef())
    assert not elidable(lambda i: [i % 4, i // 4])
    assert not elidable(lambda i: [(i + 2) // 4, (i + 2) % 4])
    assert elidable(lambda i: [i // 7, i % 7], pad_value=0)


def test_packing_and_unpacking():
    sch = Schedule(parse(ROWS))
    sch.transform_layout("root", "A", lambda i, j: [i // 4, j // 8, i % 4, j % 8])
    layout = layout_of(sch.func, "A")
    values = np.arange(14 * 60, dtype=np.int32).reshape(14, 60)
    packed = layout.pack(values, pad=-7)
    assert packed.shape == (4, 8, 4, 8)
    assert packed[1, 2, 3, 4] == values[7, 20]
    assert (packed == -7).sum() == packed.size - values.size
    assert (layout.unpack(packed) == values).all()
    with pytest.raises(LoopsatError, match="expected an array of shape \\(14, 60\\), found \\(60, 14\\)"):
        layout.pack(values.T)


def test_compiled_kernels_know_layouts():
    sch = Schedule(parse(DOUBLE))
    sch.transform_layout("root", "A", split4, pad_value=0)
    kernel = compile(sch.func)
    assert str(kernel.layout("A")) == str(layout_of(sch.func, "A"))
    (found,) = kernel(kernel.layout("A").pack(np.arange(14, dtype=np.float32)))
    assert list(np.asarray(found)) == list(range(0, 28, 2))
