"""`sequential_buffer_access`: the document's programs, its refusals, and random nests against the interpreter."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import assert_refines
from ir import parse, to_script
from ir.dtypes import DType
from ir.errors import ScheduleError
from ir.nodes import PrimFunc, Undef
from ir.schedule import Schedule
from renamed import assert_same_up_to_names


def func_of(text: str) -> PrimFunc:
    return parse("from ir import script as T\n" + text).funcs[0]


def rewritten(text: str, buffer: str, block: str = "root", **options: bool) -> PrimFunc:
    """The function after the primitive, checked to do the same."""
    before = func_of(text)
    schedule = Schedule(before, **options)
    schedule.sequential_buffer_access(block, buffer)
    assert_refines(before, schedule.func, np.random.default_rng(0), exact=None)
    return schedule.func


def body_of(func: PrimFunc) -> str:
    return "\n".join(line[4:] for line in to_script(func).strip().splitlines()[2:])


def shows(func: PrimFunc, expected: str) -> None:
    """Check the printed body, as a person would compare it."""
    assert body_of(func) == expected.strip("\n")


CONV = """
@T.prim_func
def func(A: T.Buffer((4, 4), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            B[i // 4, i % 4] = 0
            for f in T.serial(3):
                B[i // 4, i % 4] = B[i // 4, i % 4] + F[f] * A[(i + f) // 4, (i + f) % 4]
"""


def single(extent: int) -> str:
    return f"""
@T.prim_func
def func(A: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for i in T.serial({extent}):
            A[i // 4, i % 4] = i
"""


def test_an_output_that_fills_its_layout_needs_no_guard():
    shows(
        rewritten(single(16), "A", "compute"),
        """
with T.block("compute"):
    for io, ii in T.grid(4, 4):
        A[io, ii] = 4 * io + ii
""",
    )


def test_elements_that_were_not_accessed_stay_so():
    shows(
        rewritten(single(14), "A", "compute"),
        """
with T.block("compute"):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 4 * io + ii
""",
    )


def test_convolution_in_the_order_of_its_output_keeps_the_initialisation_inside():
    shows(
        rewritten(CONV, "B", "compute"),
        """
with T.block("compute"):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 0
            for f in T.serial(3):
                B[io, ii] = B[io, ii] + F[f] * A[io + (ii + f) // 4, (ii + f) % 4]
""",
    )


def test_convolution_in_the_order_of_its_input_splits_the_initialisation_off():
    after = rewritten(CONV, "A", "compute")
    shows(
        after,
        """
with T.block("compute_init"):
    for i in T.serial(14):
        B[i // 4, i % 4] = 0
with T.block("compute"):
    for io, ii, f in T.grid(4, 4, 3):
        if 0 <= 4 * io + ii - f and 4 * io + ii - f < 14:
            B[io + (ii - f) // 4, (ii - f) % 4] = B[io + (ii - f) // 4, (ii - f) % 4] + F[f] * A[io, ii]
""",
    )
    assert body_of(rewritten(CONV, "A", "root")) == body_of(after)


def test_a_running_sum_cannot_follow_its_input():
    text = CONV.replace(
        "            B[i // 4, i % 4] = 0\n",
        "            if i == 0:\n                B[i // 4, i % 4] = 0\n"
        "            else:\n                B[i // 4, i % 4] = B[(i - 1) // 4, (i - 1) % 4]\n",
    )
    schedule = Schedule(func_of(text))
    before = schedule.func
    with pytest.raises(ScheduleError) as caught:
        schedule.sequential_buffer_access("compute", "A")
    assert caught.value.code == "order"
    assert "B[0, 0]" in caught.value.message
    assert "i = 1" in caught.value.notes[0]
    assert "f = 0" in caught.value.notes[0]
    assert schedule.func is before
    assert not schedule.trace.steps


def test_convolution_over_an_offset_layout():
    """The names that stand for indices are written out, as the condition on them is."""
    text = """
@T.prim_func
def func(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume(2 <= 8 * io + ii < 18 or A[io, ii] == 0.0)
    for Bi in T.serial(18):
        B[(Bi + 2) // 8, (Bi + 2) % 8] = 0.0
        for fi in T.serial(3):
            Ai = Bi + fi - 2
            if 0 <= Ai < 16:
                B[(Bi + 2) // 8, (Bi + 2) % 8] = (
                    B[(Bi + 2) // 8, (Bi + 2) % 8] + F[fi] * A[(Ai + 2) // 8, (Ai + 2) % 8])
"""
    printed = body_of(rewritten(text, "A"))
    assert printed.startswith(
        """for io, ii in T.grid(3, 8):
    T.assume(2 <= 8 * io + ii and 8 * io + ii < 18 or A[io, ii] == 0.0)
for Bi in T.serial(18):
    B[(Bi + 2) // 8, (Bi + 2) % 8] = 0.0
for Bio, Bii, fi in T.grid(3, 8, 3):
    if 0 <= 8 * Bio + Bii - fi and 8 * Bio + Bii - fi < 18 and (0 <= 8 * Bio + Bii - 2 and 8 * Bio + Bii - 2 < 16):
        B[Bio + (Bii - fi + 2) // 8, (Bii - fi + 2) % 8] = """
    )
    assert printed.endswith("F[fi] * A[Bio, Bii]")


def test_every_nest_of_the_root_is_rewritten_and_placed_as_deep_as_it_must():
    text = """
@T.prim_func
def func(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        T.assume(8 * jo + ji < 60 or A[io, ii, jo, ji] == 0)
    for ko, ki, j in T.grid(4, 4, 60):
        T.assume(4 * ko + ki < 14 or A[ko, ki, j // 8, j % 8] == T.undef())
    for i in T.serial(14):
        B[i // 4, i % 4] = 0
        for r in T.serial(60):
            B[i // 4, i % 4] = B[i // 4, i % 4] + A[i // 4, i % 4, r // 8, r % 8]
"""
    before = func_of(text)
    schedule = Schedule(before)
    schedule.sequential_buffer_access("root", "A")
    shows(
        schedule.func,
        """
for io, ii, jo, ji in T.grid(4, 4, 8, 8):
    T.assume(8 * jo + ji < 60 or A[io, ii, jo, ji] == 0)
for ko, ki, jo_1, ji_1 in T.grid(4, 4, 8, 8):
    if 8 * jo_1 + ji_1 < 60:
        T.assume(4 * ko + ki < 14 or A[ko, ki, jo_1, ji_1] == T.undef("int32"))
for io_1, ii_1 in T.grid(4, 4):
    if 4 * io_1 + ii_1 < 14:
        B[io_1, ii_1] = 0
        for ro, ri in T.grid(8, 8):
            if 8 * ro + ri < 60:
                B[io_1, ii_1] = B[io_1, ii_1] + A[io_1, ii_1, ro, ri]
""",
    )
    assert_refines(before, schedule.func, np.random.default_rng(0), runs=1, exact=True)


def test_blocks_with_axes_become_names():
    text = """
@T.prim_func
def func(A: T.Buffer((16, 4, 4), "float32"), B: T.Buffer((16,), "float32")):
    for i, j in T.grid(16, 14):
        with T.block("sum"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vj // 4, vj % 4]
"""
    shows(
        rewritten(text, "A", "sum"),
        """
for i, jo, ji in T.grid(16, 4, 4):
    if 4 * jo + ji < 14:
        with T.block("sum"):
            if 4 * jo + ji == 0:
                B[i] = 0.0
            B[i] = B[i] + A[i, jo, ji]
""",
    )


def test_loops_that_stay_keep_their_names():
    text = """
@T.prim_func
def func(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 5), "float32"), C: T.Buffer((8, 5), "float32")):
    for i, j in T.grid(8, 5):
        C[i, j] = 0.0
        for k in T.serial(6):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
    schedule = Schedule(func_of(text))
    assert [loop.name for loop in schedule.sequential_buffer_access("root", "A")] == ["i", "k"]
    shows(
        schedule.func,
        """
for i_1, j_1 in T.grid(8, 5):
    C[i_1, j_1] = 0.0
for i, k, j in T.grid(8, 6, 5):
    C[i, j] = C[i, j] + A[i, k] * B[k, j]
""",
    )
    shows(
        rewritten(text, "B"),
        """
for i in T.serial(8):
    for j_1 in T.serial(5):
        C[i, j_1] = 0.0
    for k, j in T.grid(6, 5):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
""",
    )


def test_a_nest_in_order_is_left_alone():
    text = """
@T.prim_func
def func(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = A[io, ii]
"""
    schedule = Schedule(func_of(text))
    before = schedule.func
    assert [loop.name for loop in schedule.sequential_buffer_access("root", "A")] == ["io", "ii"]
    assert schedule.func == before


def test_symbolic_extents():
    text = """
@T.prim_func
def func(A: T.Buffer((n // 4 + 1, 4), "int32"), n: T.int32):
    for i in range(n):
        A[i // 4, i % 4] = i
"""
    text = text.replace("@T.prim_func", "from __future__ import annotations\n@T.prim_func")
    shows(
        rewritten(text, "A"),
        """
for io, ii in T.grid(n // 4 + 1, 4):
    if 4 * io + ii < n:
        A[io, ii] = 4 * io + ii
""",
    )


def test_bounds_that_depend_on_a_replaced_loop_are_widened_and_guarded():
    text = """
@T.prim_func
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        for f in T.serial(i + 1):
            B[i] = B[i] + A[i + f]
"""
    shows(
        rewritten(text, "A"),
        """
for i_1, f in T.grid(16, 8):
    if 0 <= i_1 - f and i_1 - f < 8 and f < i_1 - f + 1:
        B[i_1 - f] = B[i_1 - f] + A[i_1]
""",
    )


def test_strided_accesses_are_guarded_by_their_lattice():
    text = """
@T.prim_func
def func(A: T.Buffer((20,), "int32")):
    for i in T.serial(7):
        A[3 * i + 1] = i
"""
    printed = body_of(rewritten(text, "A"))
    assert "% 3 == " in printed
    assert "A[i_1] = (i_1 - 1) // 3" in printed


def test_the_initialisation_of_a_block_goes_first_where_its_reduction_runs_backward():
    text = """
@T.prim_func
def func(A: T.Buffer((4, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((14,), "float32")):
    for i, f in T.grid(14, 3):
        with T.block("conv"):
            vi, vf = T.axis.remap("SR", [i, f])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + F[vf] * A[(vi - vf + 2) // 4, (vi - vf + 2) % 4]
"""
    shows(
        rewritten(text, "A", "conv"),
        """
for i in T.serial(14):
    with T.block("conv_init"):
        B[i] = 0.0
for io, ii, f in T.grid(4, 4, 3):
    if 0 <= 4 * io + ii + f - 2 and 4 * io + ii + f - 2 < 14:
        with T.block("conv"):
            B[4 * io + ii + f - 2] = B[4 * io + ii + f - 2] + F[f] * A[io, ii]
""",
    )


def test_nests_under_a_leading_axis_are_rewritten_each():
    text = """
@T.prim_func
def func(A: T.Buffer((8, 2, 4), "float32"), M: T.Buffer((8,), "float32"), S: T.Buffer((8,), "float32")):
    for i in range(8):
        M[i] = -1.0
        for j in range(7):
            M[i] = T.max(M[i], A[i, j // 4, j % 4])
        S[i] = 0.0
        for k in range(7):
            S[i] = S[i] + (A[i, k // 4, k % 4] - M[i])
"""
    shows(
        rewritten(text, "A"),
        """
for i in T.serial(8):
    M[i] = -1.0
    for jo, ji in T.grid(2, 4):
        if 4 * jo + ji < 7:
            M[i] = T.max(M[i], A[i, jo, ji])
    S[i] = 0.0
    for ko, ki in T.grid(2, 4):
        if 4 * ko + ki < 7:
            S[i] = S[i] + (A[i, ko, ki] - M[i])
""",
    )


# After transform_layout ----------------------------------------------------------------------------------------------


def test_internal_buffer_with_padding():
    """The document's third option up to the branches: cache, transform, then run in storage order."""
    before = func_of("""
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i]
""")
    schedule = Schedule(before)
    schedule.cache_read("root", "A", "local")
    schedule.transform_layout("root", "A_local", lambda i: [i // 4, i % 4], pad_value=0)
    schedule.sequential_buffer_access("root", "A_local")
    expected = """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer([4, 4], dtype="int32", scope="local")
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A_local[io, ii] = A[4 * io + ii]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            A_local[io, ii] = 0
    B[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[0] = B[0] + A_local[io, ii]
"""
    assert_same_up_to_names(schedule.func, func_of(expected), blocks=False)
    assert_refines(before, schedule.func, np.random.default_rng(0), exact=True)


def test_several_semantics_of_one_buffer():
    before = func_of("""
@T.prim_func
def func(A: T.Buffer((14, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i, j]
""")
    schedule = Schedule(before)
    undef = Undef(DType.INT32)
    schedule.transform_layout("root", "A", lambda i, j: [i // 4, i % 4, j], pad_value=undef)
    schedule.transform_layout("root", "A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0)
    schedule.transform_layout("root", "B", lambda i: [i // 4, i % 4], pad_value=undef)
    transformed = schedule.func
    schedule.sequential_buffer_access("root", "A")
    expected = """
@T.prim_func
def func(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        T.assume(8 * jo + ji < 60 or A[io, ii, jo, ji] == 0)
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        if 8 * jo + ji < 60:
            T.assume(4 * io + ii < 14 or A[io, ii, jo, ji] == T.undef())
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 0
            for jo, ji in T.grid(8, 8):
                if 8 * jo + ji < 60:
                    B[io, ii] = B[io, ii] + A[io, ii, jo, ji]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = T.undef()
"""
    assert_same_up_to_names(schedule.func, func_of(expected), blocks=False)
    assert_refines(transformed, schedule.func, np.random.default_rng(0), runs=1, exact=True)
    again = Schedule(before)
    schedule.trace.replay(again)
    assert again.func == schedule.func


# Refusals ------------------------------------------------------------------------------------------------------------

REFUSED = {
    "two accesses": ("A[i] = A[i + 1]", "two-accesses", "A[i + 1] and A[i]"),
    "not affine": ("A[i * i % 16] = B[i]", "not-affine", "i * i"),
    "not invertible": ("A[i // 4] = B[i]", "not-invertible", "access the same element"),
    "no loop": ("B[i] = 0", "unused-buffer", "no loop"),
    "data": ("A[B[i]] = i", "not-affine", "B[i]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str):
    line, code, text = REFUSED[case]
    schedule = Schedule(
        func_of(f"""
@T.prim_func
def func(A: T.Buffer((17,), "int32"), B: T.Buffer((17,), "int32")):
    for i in T.serial(16):
        {line}
""")
    )
    with pytest.raises(ScheduleError) as caught:
        schedule.sequential_buffer_access("root", "A")
    assert caught.value.code == code
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("block", "buffer", "code"), [("comp", "A", "unknown-block"), ("compute", "Q", "unknown-buffer")]
)
def test_unknown_names(block: str, buffer: str, code: str):
    with pytest.raises(ScheduleError) as caught:
        Schedule(func_of(CONV)).sequential_buffer_access(block, buffer)
    assert caught.value.code == code


def test_float_sums_keep_their_order_if_asked():
    text = """
@T.prim_func
def func(A: T.Buffer((5, 4), "float32"), B: T.Buffer((1,), "float32")):
    for i, j in T.grid(4, 5):
        B[0] = B[0] + A[j, i]
"""
    rewritten(text, "A")
    with pytest.raises(ScheduleError) as caught:
        rewritten(text, "A", reassociate=False)
    assert caught.value.code == "order"


# Random nests --------------------------------------------------------------------------------------------------------


class _Nests:
    """Writes one nest: loops with odd starts and extents, a layout of A, and statements above and below."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.ranges = {}
        for name in ("i", "j", "k")[: self.pick(1, 2, 2, 3)]:
            start = self.pick(0, 0, 0, -2, 1)
            self.ranges[name] = range(start, start + self.pick(0, 1, 2, 3, 4, 5))
        self.dtype = self.pick("int32", "float32", "uint8")

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def fitted(self, index: list[str]) -> tuple[list[str], list[int]]:
        """Indices moved so that they start at zero, sometimes later, and the shape that holds them."""
        points = [
            [eval(e, dict(zip(self.ranges, point, strict=True))) for e in index]
            for point in product(*(r if len(r) else (r.start,) for r in self.ranges.values()))
        ]
        lows = [min(axis) - self.pick(0, 0, 1) for axis in zip(*points, strict=True)]
        shape = [
            max(axis) - low + 1 + self.pick(0, 0, 1) for axis, low in zip(zip(*points, strict=True), lows, strict=True)
        ]
        return [
            f"{e} - {low}" if low > 0 else f"{e} + {-low}" if low < 0 else e for e, low in zip(index, lows, strict=True)
        ], shape

    def layout(self) -> tuple[list[str], list[int]]:
        """Indices of A and its shape."""
        names = list(self.ranges)
        index: list[str] = []
        for name in self.draw(st.permutations(names)):
            other = self.pick(*names)
            form = self.pick(name, name, name, f"2 * {name}", f"-{name}", f"{name} + {other}", f"{name} - {other}", "")
            if form:
                index.append(form)
        moved, shape = self.fitted(index if index else [names[0]])
        tile = self.pick(0, 2, 3, 4)
        if tile:
            axis = self.pick(*range(len(moved)))
            e = moved[axis]
            moved[axis : axis + 1] = [f"({e}) // {tile}", f"({e}) % {tile}"]
            shape[axis : axis + 1] = [-(-shape[axis] // tile), tile]
        return moved, shape

    def condition(self) -> str:
        a, b = self.pick(*self.ranges), self.pick(*self.ranges)
        return self.pick(f"{a} < 2", f"{a} >= {b}", f"({a} + {b}) % 2 == 0", f"{a} == 1")

    def text(self) -> str:
        index, shape = self.layout()
        names = list(self.ranges)
        outs = [n for n in names if self.pick(True, True, False)] or names[:1]
        place, out_shape = self.fitted(outs)
        here, there = f"B[{', '.join(place)}]", f"A[{', '.join(index)}]"
        if self.pick(True, False, False):
            return self.block(shape, out_shape, here, there, outs)
        lines: list[str] = []
        depth = 1
        levels = [names.index(o) for o in outs]
        for level, name in enumerate(names):
            r = self.ranges[name]
            first, end = str(r.start), str(r.stop)
            if level and self.pick(True, False, False, False):  # part of the rectangle, sometimes none of it
                outer = names[level - 1]
                end = self.pick(f"T.min({outer} + 1, {end})", f"T.min({end}, 3 - {outer})")
                first = self.pick(first, f"T.max({outer} - 1, {first})")
            lines.append("    " * depth + f"for {name} in T.serial({first}, {end}):")
            depth += 1
            if level == max(levels) and level < len(names) - 1 and self.pick(True, False):
                lines.append("    " * depth + f"{here} = {self.pick('1', here + ' + 1', '2')}")
        if self.pick(True, False, False):
            lines.append("    " * depth + f"if {self.condition()}:")
            depth += 1
        kind = self.pick("read", "read", "write", "update")
        statement = {
            "read": f"{here} = {self.pick(f'{here} + {there}', f'T.max({here}, {there})', there)}",
            "write": f"{there} = {here}",
            "update": f"{there} = {there} + {here}",
        }[kind]
        lines.append("    " * depth + statement)
        if len(names) > 1 and self.pick(True, False, False):
            after = max(levels) + 2
            lines.append("    " * after + f"{here} = {here} + 3")
        return self.function(shape, out_shape, lines)

    def block(self, shape: list[int], out_shape: list[int], here: str, there: str, outs: list[str]) -> str:
        """The same as a block with axes, and the initialisation of its reduction if it has one."""
        lines = [f"    for {name} in T.serial({r.start}, {r.stop}):" for name, r in self.ranges.items()]
        lines = ["    " * k + line for k, line in enumerate(lines)]
        pad = "    " * (len(lines) + 1)
        lines.append(pad + 'with T.block("compute"):')
        for name, r in self.ranges.items():
            kind = "spatial" if name in outs else "reduce"
            lines.append(pad + f"    v{name} = T.axis.{kind}(({r.start}, {r.stop}), {name})")
        if self.pick(True, False, False):
            lines.append(pad + f"    T.where({self.condition()})")
        if len(outs) < len(self.ranges) and self.pick(True, True, False):
            lines += [pad + "    with T.init():", pad + f"        {self.axes(here)} = 1"]
        value = self.pick(f"{here} + {there}", f"T.max({here}, {there})")
        lines.append(pad + "    " + self.axes(f"{here} = {value}"))
        return self.function(shape, out_shape, lines)

    def axes(self, text: str) -> str:
        return re.sub(r"\b([ijk])\b", r"v\1", text)

    def function(self, shape: list[int], out_shape: list[int], lines: list[str]) -> str:
        header = f'A: T.Buffer({tuple(shape)}, "{self.dtype}"), B: T.Buffer({tuple(out_shape)}, "{self.dtype}")'
        return f"@T.prim_func\ndef func({header}):\n" + "\n".join(lines) + "\n"


@st.composite
def nests(draw: st.DrawFn) -> str:
    return _Nests(draw).text()


@given(nests(), st.integers(0, 2**32 - 1))
def test_random_nests_do_the_same(text: str, seed: int):
    before = func_of(text)
    schedule = Schedule(before)
    try:
        schedule.sequential_buffer_access("root", "A")
    except ScheduleError:
        return
    assert assert_refines(before, schedule.func, np.random.default_rng(seed), runs=2, exact=False) > 0


def test_a_fair_share_of_random_nests_is_rewritten():
    shares: list[bool] = []

    @settings(derandomize=True, max_examples=60, database=None)
    @given(nests())
    def tried(text: str) -> None:
        schedule = Schedule(func_of(text))
        before = schedule.func
        with suppress(ScheduleError):
            schedule.sequential_buffer_access("root", "A")
        shares.append(schedule.func is not before)

    tried()
    assert sum(shares) >= len(shares) // 3, shares
