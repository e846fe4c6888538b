"""Layout transformations: the documents' programs, refusals, and random maps on random programs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ir import parse, to_script
from ir import script as T
from ir.dtypes import DType
from ir.errors import LoopsatError, ScheduleError
from ir.nodes import Alloc, Const, Expr, Load, PrimFunc, Undef, Var, const
from ir.presburger.geometry import Geometry, geometry
from ir.schedule import IndexMap, Schedule, Trace
from ir.schedule.layout import Layout, layout_of
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret, interpret_with_undef
from ir.semantics.machine import Machine
from ir.testing.programs import programs
from ir.traverse import results_of, substitute_expr, walk
from profiles import few
from renamed import assert_same_up_to_names


def split4(i):
    return [i // 4, i % 4]


CACHED = """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("A_copy"):
            A_cache[i] = A[i]
    B_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("compute"):
            B_cache[i] = 2 * A_cache[i]
    for i in T.serial(14):
        with T.block("B_copy"):
            B[i] = B_cache[i]
"""


def test_local_buffers_get_a_stage_that_writes_the_padding():
    sch = Schedule(parse(CACHED))
    sch.transform_layout("compute", "A_cache", split4, pad_value=-1)
    sch.transform_layout("compute", "B_cache", split4, pad_value=-2)
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((4, 4), "float32")
    for i in T.serial(14):
        with T.block("A_copy"):
            A_cache[i // 4, i % 4] = A[i]
    for io, ii in T.grid(4, 4):
        with T.block("A_cache_padding"):
            if 4 * io + ii >= 14:
                A_cache[io, ii] = -1.0
    B_cache = T.alloc_buffer((4, 4), "float32")
    for i in T.serial(14):
        with T.block("compute"):
            B_cache[i // 4, i % 4] = 2 * A_cache[i // 4, i % 4]
    for io, ii in T.grid(4, 4):
        with T.block("B_cache_padding"):
            if 4 * io + ii >= 14:
                B_cache[io, ii] = -2.0
    for i in T.serial(14):
        with T.block("B_copy"):
            B[i] = B_cache[i // 4, i % 4]
""",
    )
    assert sch.get_block("A_cache_padding").name == "A_cache_padding"


DOUBLE = """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        with T.block("compute"):
            B[i] = 2 * A[i]
"""


def test_parameters_get_assumptions_or_a_stage():
    sch = Schedule(parse(DOUBLE))
    sch.transform_layout("compute", "A", split4, pad_value=-1)
    sch.transform_layout("compute", "B", split4, pad_value=lambda io, ii: -2)
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or A[io, ii] == -1.0)
    for i in T.serial(14):
        with T.block("compute"):
            B[i // 4, i % 4] = 2 * A[i // 4, i % 4]
    for io, ii in T.grid(4, 4):
        with T.block("B_padding"):
            if 4 * io + ii >= 14:
                B[io, ii] = -2.0
""",
    )


@pytest.mark.parametrize(
    ("shape", "index_map", "physical", "padding"),
    [
        ((16,), lambda i: [i // 8, i % 8], (2, 8), []),
        ((14,), lambda i: [i // 8, i % 8], (2, 8), [(1, 6), (1, 7)]),
        ((14,), lambda i: [(i + 2) // 8, (i + 2) % 8], (2, 8), [(0, 0), (0, 1)]),
        ((16,), lambda i: [(i + 2) // 8, (i + 2) % 8], (3, 8), [(0, 0), (0, 1), *((2, k) for k in range(2, 8))]),
        ((5,), lambda i: [4 - i], (5,), []),
        ((3, 4), lambda i, j: [j, i], (4, 3), []),
        ((3, 2), lambda i, j: [i, i + j], (3, 4), [(0, 2), (0, 3), (1, 0), (1, 3), (2, 0), (2, 1)]),
        ((3, 4), lambda i, j: [i * 4 + j], (12,), []),
        ((3, 3), lambda i, j: [i * 4 + j], (11,), [(3,), (7,)]),
        ((7,), lambda i: [(i + 3) % 7], (7,), []),
        ((3,), lambda i: [3 * i + 1], (8,), [(0,), (2,), (3,), (5,), (6,)]),
        ((0,), lambda i: [i // 4, i % 4], (0, 0), []),
        ((1,), lambda i: [i // 4, i % 4], (1, 1), []),
        ((4, 4), lambda i, j: [(i * 4 + j) // 3, (i * 4 + j) % 3], (6, 3), [(5, 1), (5, 2)]),
    ],
)
def test_shape_and_padding_are_the_smallest(shape, index_map, physical, padding):
    found = _geometry(shape, index_map)
    assert tuple(e.value for e in found.physical_shape) == physical
    assert [p for p in product(*map(range, physical)) if _holds(found.outside, p)] == padding
    assert [p for p in product(*map(range, physical)) if not _holds(found.inside, p)] == padding


def _geometry(shape, index_map) -> Geometry:
    extents = [const(n, DType.INT32) for n in shape]
    return geometry(extents, IndexMap.of(index_map, len(shape)), name="A")


def _holds(condition, place) -> bool:
    """The value of a condition over places, through the interpreter."""
    return Machine(False, np.random.default_rng(0)).condition(condition([const(x, DType.INT32) for x in place]))


def test_text_of_conditions_is_what_people_write():
    found = _geometry((14, 60), lambda i, j: [i // 4, i % 4, j // 8, j % 8])
    names = [Var(n, DType.INT32) for n in ("io", "ii", "jo", "ji")]
    assert to_script(found.inside(names)) == "4 * io + ii < 14 and 8 * jo + ji < 60"
    assert to_script(found.outside(names)) == "4 * io + ii >= 14 or 8 * jo + ji >= 60"


MODULE = """
@T.module
class Pair:
    @T.prim_func
    def producer(A: T.Buffer((14,), "int32")):
        for i in T.serial(14):
            A[i] = 1000 + i

    @T.prim_func
    def consumer(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
        B[0] = 0
        for i in T.serial(14):
            B[0] = B[0] + A[i]
"""


def test_all_functions_that_share_a_parameter_change_together():
    sch = Schedule(parse(MODULE))
    sch.transform_layout("root", "A", split4, pad_value=0)
    assert_same_up_to_names(
        sch.mod["producer"],
        """
@T.prim_func
def producer(A: T.Buffer((4, 4), "int32")):
    for i in T.serial(14):
        A[i // 4, i % 4] = 1000 + i
    for io, ii in T.grid(4, 4):
        with T.block("A_padding"):
            if 4 * io + ii >= 14:
                A[io, ii] = 0
""",
    )
    assert_same_up_to_names(
        sch.mod["consumer"],
        """
@T.prim_func
def consumer(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or A[io, ii] == 0)
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i // 4, i % 4]
""",
    )
    for name in ("producer", "consumer"):
        assert layout_of(sch.mod[name], "A").index_map == layout_of(sch.mod["producer"], "A").index_map


def test_a_parameter_of_another_shape_elsewhere_is_refused():
    sch = Schedule(parse(MODULE.replace("consumer(A: T.Buffer((14,)", "consumer(A: T.Buffer((15,)")))
    with pytest.raises(ScheduleError, match="shape \\(14\\) in producer, but int32 of shape \\(15\\) in consumer"):
        sch.transform_layout("root", "A", split4)
    assert sch.mod["producer"].buffers[0].shape == (const(14, DType.INT32),)


ROWS = """
@T.prim_func
def func(A: T.Buffer((14, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i, j]
"""


def test_several_semantics_on_one_buffer():
    sch = Schedule(parse(ROWS))
    sch.transform_layout("root", "A", lambda i, j: [i // 4, i % 4, j], pad_value=lambda io, ii, j: T.undef())
    sch.transform_layout("root", "A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0)
    sch.transform_layout("root", "B", split4, pad_value=T.undef())
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def func(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        T.assume(8 * jo + ji < 60 or A[io, ii, jo, ji] == 0)
    for io, ii, j in T.grid(4, 4, 60):
        T.assume(4 * io + ii < 14 or A[io, ii, j // 8, j % 8] == T.undef())
    for i in T.serial(14):
        B[i // 4, i % 4] = 0
        for j in T.serial(60):
            B[i // 4, i % 4] = B[i // 4, i % 4] + A[i // 4, i % 4, j // 8, j % 8]
    for io, ii in T.grid(4, 4):
        with T.block("B_padding"):
            if 4 * io + ii >= 14:
                B[io, ii] = T.undef()
""",
    )
    whole = layout_of(sch.func, "A")
    assert [e.value for e in whole.logical_shape] == [14, 60]
    assert to_script(whole.padding) == "4 * io + ii >= 14 or 8 * jo + ji >= 60"


def test_later_padding_is_written_after_earlier_padding():
    sch = Schedule(parse(DOUBLE))
    sch.transform_layout("root", "B", lambda i: [i // 3, i % 3], pad_value=1)
    sch.transform_layout("root", "B", lambda io, ii: [io // 2, ii, io % 2], pad_value=2)
    (found,) = interpret(sch.func, np.ones(14, np.float32))
    layout = layout_of(sch.func, "B")
    assert (layout.unpack(found) == 2).all()
    first, second = (found[..., k] for k in (0, 1))
    assert (first[2, 2], list(second[2])) == (1, [2, 2, 2]), found  # element 14 and row 5 of the first layout


def test_no_padding_adds_nothing():
    sch = Schedule(parse(DOUBLE.replace("14", "16")))
    sch.transform_layout("compute", "A", split4, pad_value=7)
    sch.transform_layout("compute", "B", split4, pad_value=T.undef())
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in T.serial(16):
        with T.block("compute"):
            B[i // 4, i % 4] = 2 * A[i // 4, i % 4]
""",
    )


def test_padding_that_wraps_around():
    sch = Schedule(parse(DOUBLE))
    sch.transform_layout("compute", "B", split4, pad_value=lambda io, ii: sch.get_buffer("B")[0, (io - 14) % 4])
    sch.transform_layout("compute", "A", split4, pad_value=lambda io, ii: sch.get_buffer("A")[io - 3, ii])
    assert "T.assume(4 * io_1 + ii_1 < 14 or A[io_1, ii_1] == A[io_1 - 3, ii_1])" in to_script(sch.func)
    (found,) = interpret(sch.func, np.arange(16, dtype=np.float32).reshape(4, 4))
    assert list(found.ravel()) == [*range(0, 28, 2), 2, 2]


def test_stages_that_write_everything_are_each_followed_by_padding():
    sch = Schedule(
        parse("""
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
    for i in T.serial(3):
        B[i] = 1
    for i in T.serial(14):
        B[i] = B[i] + A[i]
    for i in T.serial(1):
        B[i] = 5
""")
    )
    sch.transform_layout("root", "B", split4, pad_value=9)
    stages = [("padding" if "_padding" in to_script(s) else "stage") for s in sch.func.body.stmts]
    assert stages == ["stage", "padding", "stage", "stage", "padding", "stage", "padding"]


SIZED = """
@T.prim_func
def func(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.serial(n):
        B[i] = 2 * A[i]
"""


def test_symbolic_shapes():
    sch = Schedule(parse(SIZED))
    sch.transform_layout("root", "A", split4, pad_value=0)
    sch.transform_layout("root", "B", lambda i: [(i + 2) // 4, (i + 2) % 4], pad_value=3)
    text = to_script(sch.func)
    assert 'A: T.Buffer(((n + 3) // 4, 4), "float32")' in text
    assert "T.assume(4 * io + ii < n or A[io, ii] == 0.0)" in text
    assert "if 4 * io_1 + ii_1 < 2 or 4 * io_1 + ii_1 >= n + 2:" in text
    for n in range(7):
        layout = layout_of(sch.func, "A")
        values = np.arange(n, dtype=np.float32)
        (found,) = interpret(sch.func, layout.pack(values), None, n, sanitize=True)
        back = layout_of(sch.func, "B")
        assert (back.unpack(found, n=n) == 2 * values).all()
        assert (found == back.pack(2 * values, 3)).all()


def test_a_size_that_only_the_arrays_tell_must_stay_known():
    text = SIZED.replace(", n: T.int32", "").replace("    A = T", "    n = T.int32()\n    A = T")
    sch = Schedule(parse(text))
    sch.transform_layout("root", "A", split4)
    with pytest.raises(ScheduleError, match="the size `n` of func could no longer be known"):
        sch.transform_layout("root", "B", split4)


def test_reversal_of_a_symbolic_extent():
    sch = Schedule(parse(SIZED))
    n = T.int32("n")
    sch.transform_layout("root", "A", lambda i: [n - 1 - i])
    assert "A[n - 1 - i]" in to_script(sch.func)
    (found,) = interpret(sch.func, np.arange(5, dtype=np.float32), None, 5)
    assert list(found) == [8, 6, 4, 2, 0]
    with pytest.raises(ScheduleError, match="depends on `m`, which is no scalar of func"):
        sch.transform_layout("root", "A", lambda i: [T.int32("m") - i])


def test_wide_indices_keep_their_dtype():
    sch = Schedule(
        parse("""
@T.prim_func
def func(A: T.Buffer((14,), "int8"), idx: T.Buffer((3,), "uint8"), B: T.Buffer((14,), "int8")):
    for i in T.serial(T.int64(14)):
        B[i] = A[i]
    for k in T.serial(3):
        if idx[k] < T.uint8(14):
            B[idx[k]] = T.int8(1)
""")
    )
    sch.transform_layout("root", "A", split4, pad_value=T.undef())
    sch.transform_layout("root", "B", split4, pad_value=-3)
    a = layout_of(sch.func, "A").pack(np.arange(14, dtype=np.int8))
    (found,) = interpret(sch.func, a, np.array([3, 13, 200], np.uint8), None)
    assert list(found.ravel()) == [0, 1, 2, 1, *range(4, 13), 1, -3, -3]


def test_wide_symbolic_extents_and_indices_named_like_sizes():
    sch = Schedule(
        parse("""
@T.prim_func
def func(A: T.Buffer((n,), "int32"), B: T.Buffer((n, m), "int32"), n: T.int64, m: T.int32):
    for i in T.serial(n):
        A[i] = 1
    for i, j in T.grid(n, T.int64(m)):
        B[i, j] = A[i]
""")
    )
    sch.transform_layout("root", "A", split4, pad_value=lambda n, m: n + m)
    size = T.int64("n")
    sch.transform_layout("root", "B", lambda n, k: [size - 1 - T.cast(n, "int64"), k // 4, k % 4], pad_value=5)
    text = to_script(sch.func)
    assert "for n_1, m_1 in T.grid((n + 3) // 4, 4):" in text
    assert parse(text).funcs[0] == sch.func
    a, b = interpret(sch.func, None, None, 6, 5)
    assert a.tolist() == [[1, 1, 1, 1], [1, 1, 3, 4]]
    assert (b == layout_of(sch.func, "B").pack(np.ones((6, 5), np.int32), 5)).all()


def test_steps_replay_from_text():
    sch = Schedule(parse(DOUBLE))
    sch.transform_layout("compute", "A", split4, pad_value=-1)
    sch.transform_layout("compute", "B", split4, pad_value=lambda io, ii: sch.get_buffer("B")[0, (io - 14) % 4])
    other = Schedule(parse(DOUBLE.replace("14", "0")))
    Trace.from_json(sch.trace.to_json()).replay(other)
    assert_same_up_to_names(
        other.func,
        """
@T.prim_func
def func(A: T.Buffer((0, 0), "float32"), B: T.Buffer((0, 0), "float32")):
    for i in T.serial(0):
        with T.block("compute"):
            B[i // 4, i % 4] = 2 * A[i // 4, i % 4]
""",
    )
    again = Schedule(parse(DOUBLE))
    exec(str(sch.trace), {"sch": again})
    assert again.func == sch.func


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index_map", "message", "note"),
    [
        (lambda i: [i // 4], "two elements into one place", "A[0] and A[1] would both go to [0]"),
        (lambda i: [i - 3], "negative indices", "A[0] would go to [-3]"),
        (lambda i: [i * i], "is not built of", ""),
        (lambda i: [T.cast(i, "float32")], "is not built of", ""),
        (lambda i: [i * 1000000000], "leaves int32", "`i * 1000000000` does so for A["),
        (lambda i: [i + T.int32("k")], "depends on `k`", ""),
        (lambda i, j: [i, j], "takes 2 indices", ""),
    ],
)
def test_maps_that_are_refused(index_map, message, note):
    sch = Schedule(parse(DOUBLE))
    with pytest.raises(ScheduleError) as caught:
        sch.transform_layout("root", "A", index_map)
    assert message in caught.value.message
    assert note in " ".join(caught.value.notes)
    assert sch.func == parse(DOUBLE).funcs[0]


@pytest.mark.parametrize(
    ("pad_value", "message"),
    [
        (lambda io, ii: B_ELEMENT, "reads B"),
        (lambda io, ii: LOGICAL, "reads it with 1 indices, but it has 2"),
        (lambda io, ii: A_AT(3, 3), "reads places that hold no element"),
        (lambda io, ii: A_AT(io, ii), "reads places that hold no element"),
        (lambda io, ii: A_AT(4, 0), "reads places that hold no element"),
        (T.int32("x") + 1, "is no float32"),
        (lambda io, ii: T.float32("x"), "depends on `x`"),
        (True, "is no float32"),
        (float("nan"), "is no float32"),
        (1e200, "is no float32"),
        (lambda io, ii: [1.0, 2.0], "must be one value for 2 indices"),
    ],
)
def test_pad_values_that_are_refused(pad_value, message):
    sch = Schedule(parse(DOUBLE))
    with pytest.raises(ScheduleError) as caught:
        sch.transform_layout("root", "A", split4, pad_value)
    assert message in caught.value.message
    assert sch.func == parse(DOUBLE).funcs[0]


_A, _B = parse(DOUBLE).funcs[0].buffers
B_ELEMENT, LOGICAL = _B[0], _A[0]


def A_AT(io, ii):
    return _A[io, ii]


def test_pad_values_in_another_dtype_keep_their_value():
    ints = DOUBLE.replace("float32", "int8")
    sch = Schedule(parse(ints))
    sch.transform_layout("root", "B", split4, 2.0)
    assert "B[io, ii] = 2" in to_script(sch.func)
    for wrong in (2.5, 300, -129):
        with pytest.raises(ScheduleError, match="is no int8"):
            Schedule(parse(ints)).transform_layout("root", "B", split4, wrong)


def test_buffers_that_are_not_there():
    sch = Schedule(parse(CACHED))
    with pytest.raises(ScheduleError, match="has no buffer `A_cach`"):
        sch.transform_layout("root", "A_cach", split4)
    with pytest.raises(ScheduleError, match="block `B_copy` does not use A_cache") as caught:
        sch.transform_layout("B_copy", "A_cache", split4)
    assert "A_copy" in caught.value.help
    with pytest.raises(ScheduleError, match="has no block"):
        sch.transform_layout("nowhere", "A_cache", split4)
    unused = Schedule(
        parse('@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):\n    A[0] = 1\n')
    )
    with pytest.raises(ScheduleError, match="f does not use B"):
        unused.transform_layout("root", "B", split4)


# Random maps on random programs --------------------------------------------------------------------------------------


@st.composite
def index_maps(draw, rank: int, extents: list[int]) -> IndexMap:
    """Injective maps: axes shifted, mirrored, rotated, stretched, split, permuted, skewed and fused."""
    params = tuple(Var(f"i{k}", DType.INT32) for k in range(rank))
    parts: list[tuple[Expr, int]] = []
    for v, n in zip(params, extents, strict=True):
        expr, size = draw(st.sampled_from([
            (v, n), (v + 2, n + 2), (n - 1 - v, n), ((v + 1) % (n + 1), n + 1), (2 * v + 1, 2 * n), (v + 1, n + 1),
        ]))  # fmt: skip
        if draw(st.booleans()):
            k = draw(st.integers(1, 4))
            parts += [(expr // k, -(-size // k)), (expr % k, k)]
        else:
            parts.append((expr, size))
    parts = draw(st.permutations(parts))
    if len(parts) > 1 and draw(st.integers(0, 3)) == 0:
        (a, n), (b, m), *rest = parts
        parts = [draw(st.sampled_from([(a * m + b, n * m), (a * (m + 1) + b, n * (m + 1))])), *rest]
    elif len(parts) > 1 and draw(st.integers(0, 3)) == 0:
        (a, n), (b, m), *rest = parts
        parts = [(a, n), (a + b, n + m), *rest]
    return IndexMap(params, tuple(e for e, _ in parts))


@settings(max_examples=60)
@given(st.data(), st.lists(st.integers(0, 5), min_size=1, max_size=3))
def test_conditions_tell_elements_from_padding(data, extents):
    """Also where the extents are symbols: what is read back then holds for these sizes, among others."""
    mapped = data.draw(index_maps(len(extents), extents))
    sizes = {Var(f"n{k}", DType.INT32): n for k, n in enumerate(extents) if data.draw(st.booleans())}
    symbols = {v.name[1:]: v for v in sizes}
    shape = [symbols.get(str(k), const(n, DType.INT32)) for k, n in enumerate(extents)]
    try:
        found = geometry(shape, mapped, name="A")
    except ScheduleError as error:  # the map may be good for these sizes and not for all
        assert sizes and error.code in ("not-injective", "negative-index"), error
        return
    names = tuple(Var(f"p{k}", DType.INT32) for k in range(len(mapped.results)))
    layout = Layout("A", tuple(shape), found.physical_shape, mapped, names, found.outside(names), False)
    packed = layout.pack(np.ones(extents, bool), False, **{v.name: n for v, n in sizes.items()})
    if not sizes:
        smallest = [max((p[k] for p in np.argwhere(packed)), default=-1) + 1 for k in range(packed.ndim)]
        assert list(packed.shape) == smallest
    inside = found.inside(names)
    for place in product(*map(range, packed.shape)):
        values = {**sizes, **dict(zip(names, place, strict=True))}
        for cond, wanted in ((layout.padding, not packed[place]), (inside, packed[place])):
            expr = substitute_expr(cond, {v: const(x, DType.INT32) for v, x in values.items()})
            assert Machine(False, np.random.default_rng(0)).condition(expr) == wanted, (str(mapped), extents, place)


def _run(func: PrimFunc, inputs, seed: int):
    written = [b.name for b in results_of(func)]
    return dict(zip(written, interpret_with_undef(func, **inputs, seed=seed), strict=True))


@few(15)
@given(programs(), st.data())
def test_random_maps_keep_what_programs_compute(original, data):
    names = {s.buffer.name for s in walk(original.body) if isinstance(s, Alloc)} | {b.name for b in original.buffers}
    sch = Schedule(original)
    pads: dict[str, str | None] = {}
    applied = 0
    for name in data.draw(st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=2)):
        buffer = sch.get_buffer(name)
        extents = [int(e.value) for e in buffer.shape if isinstance(e, Const)]
        mapped = data.draw(index_maps(len(extents), extents))
        kind = data.draw(st.sampled_from(("none", "number", "number", "undef", "own")))
        pads[name] = kind if kind in ("number", "own") and name not in pads else None
        number = True if buffer.dtype is DType.BOOL else 1
        value = {"none": None, "number": number, "undef": Undef(buffer.dtype)}.get(kind)
        if kind == "own":
            zero = tuple(const(0, DType.INT32) for _ in extents)
            places = tuple(Var(f"p{k}", DType.INT32) for k in range(len(mapped.results)))
            value = IndexMap(places, (Load(buffer, mapped(zero)),))
        try:
            sch.transform_layout("root", buffer, mapped, value)
        except ScheduleError as error:
            assert error.code == "unused-buffer", error
            return
        applied += 1
    assert applied
    assert parse(to_script(sch.func)).funcs[0] == sch.func
    _assert_same(original, sch.func, pads, data.draw(st.integers(0, 99)))


def _assert_same(original: PrimFunc, new: PrimFunc, pads, seed: int) -> None:
    layouts: dict[str, Layout] = {b.name: layout_of(new, b.name) for b in new.buffers}
    try:
        inputs = random_inputs(new, np.random.default_rng(seed))
        before = inputs | {b: layouts[b].unpack(inputs[b]) for b in layouts}
        expected = [_run(original, before, k) for k in range(3)]
    except LoopsatError:
        assume(False)
    found = _run(new, inputs, 0)
    for name, (values, undef) in found.items():
        layout = layouts[name]
        want, free = expected[0][name][0], expected[0][name][1].copy()
        for other in expected[1:]:
            free |= other[name][1] | ((other[name][0] != want) & ~((want != want) & (other[name][0] != other[name][0])))
        got = layout.unpack(values)
        same = (got == want) | ((got != got) & (want != want))
        shown = f"{to_script(original)}\n{to_script(new)}\n{inputs}\n{name}: {want}\n{got}"
        assert (same | free).all(), shown
        assert not (layout.unpack(undef) & ~free).any(), shown
        if pads.get(name) is not None and (pads[name] == "number" or not free.flat[0]):
            outside = layout.pack(np.zeros(want.shape, bool), True)
            held = 1 if pads[name] == "number" else got.flat[0]
            assert ((values[outside] == held) | (held != held)).all() and not undef[outside].any(), shown


def test_padding_is_written_once_where_what_follows_only_permits_anything_in_elements() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = A[i] + 1
    for i in range(6):
        if i == 5:
            B[i] = T.undef("int32")
"""
    sch = Schedule(parse(text))
    sch.transform_layout("root", "B", lambda i: [i // 4, i % 4], pad_value=7)
    assert str(sch.mod["f"]).count("T.block") == 1
    ((found, undefined),) = interpret_with_undef(sch.mod["f"], np.arange(6, dtype=np.int32))
    assert undefined.tolist() == [[False] * 4, [False, True, False, False]]
    assert found[~undefined].tolist() == [1, 2, 3, 4, 5, 7, 7]
