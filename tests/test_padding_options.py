"""The seven ways to treat padding in TVM's RFC on layout transformations, each derived step by step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compare import assert_refines
from egraph_rules import optimize, transforms
from ir import interpret, parse
from ir import script as T
from ir.nodes import If, Module, PrimFunc
from ir.schedule import Schedule
from ir.schedule.layout import layout_of
from ir.traverse import walk
from renamed import assert_same_up_to_names


def fours(i):
    return [i // 4, i % 4]


def eights(i):
    return [(i + 2) // 8, (i + 2) % 8]


def scheduled(text: str, *steps: Callable[[Schedule], object]) -> Schedule:
    sch = Schedule(parse(text))
    for step in steps:
        step(sch)
    return sch


def guards(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(func.body))


OVERCOMPUTE = transforms.remove_branching_through_overcompute


def test_never_write_padding():
    sch = scheduled(
        """
@T.prim_func
def func(A: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        A[i] = 42
""",
        lambda s: s.transform_layout("root", "A", fours),
        lambda s: s.sequential_buffer_access("root", "A"),
    )
    expected = """
@T.prim_func
def func(A: T.Buffer((4, 4), "int32")):
    T.func_attr({'layout.A': '(14,) -> lambda i: (i // 4, i % 4)'})
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 42
"""
    assert_same_up_to_names(sch.func, expected)
    assert guards(optimize(sch.func).best) == 1, "the padding is not this function's to write"


TOTAL = """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i]
"""


def test_never_read_padding():
    sch = scheduled(
        TOTAL,
        lambda s: s.transform_layout("root", "A", fours),
        lambda s: s.sequential_buffer_access("root", "A"),
        lambda s: s.apply(OVERCOMPUTE()),
    )
    expected = """
@T.prim_func
def func(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    T.func_attr({'layout.A': '(14,) -> lambda i: (i // 4, i % 4)'})
    B[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[0] = B[0] + A[io, ii]
"""
    assert_same_up_to_names(sch.func, expected)


def test_internal_padded_buffer():
    prepared = scheduled(
        TOTAL,
        lambda s: s.cache_read("root", "A", "local"),
        lambda s: s.transform_layout("root", "A_local", fours, pad_value=0),
        lambda s: s.sequential_buffer_access("root", "A_local"),
    )
    expected = """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((4, 4), "int32", scope="local")
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
    assert_same_up_to_names(prepared.func, expected, blocks=False)
    original = parse(TOTAL).funcs[0]
    prepared.apply(OVERCOMPUTE())
    assert guards(prepared.func) == 1, "only the stage that writes the padding keeps its guard"
    for func in (prepared.func, optimize(prepared.func).best):
        assert_refines(original, func, np.random.default_rng(0))


MODULE = """
@T.module
class MyModule:
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


def run(module: Module) -> int:
    producer, consumer = module.funcs
    shape = [int(n.value) for n in producer.buffers[0].shape]  # pyright: ignore
    (made,) = interpret(producer, np.full(shape, 77, "int32"))
    return int(interpret(consumer, made, np.zeros(1, "int32"))[0][0])


def test_next_operator_s_default_is_written():
    sch = scheduled(
        MODULE,
        lambda s: s.transform_layout("root", "A", fours, pad_value=0),
        lambda s: s.sequential_buffer_access("root", "A"),
        lambda s: s.merge_adjacent_loops(),
        lambda s: s.apply(transforms.merge_conditionals()),
        lambda s: s.work_on("consumer"),
        lambda s: s.sequential_buffer_access("root", "A"),
        lambda s: s.apply(OVERCOMPUTE()),
    )
    attr = "T.func_attr({'layout.A': '(14,) -> lambda i: (i // 4, i % 4)'})"
    producer = f"""
@T.prim_func
def producer(A: T.Buffer((4, 4), "int32")):
    {attr}
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 4 * io + ii + 1000
        else:
            A[io, ii] = 0
"""
    consumer = f"""
@T.prim_func
def consumer(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    {attr}
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or A[io, ii] == 0)
    B[0] = 0
    for io, ii in T.grid(4, 4):
        B[0] = B[0] + A[io, ii]
"""
    assert_same_up_to_names(sch.mod["producer"], producer, blocks=False)
    assert_same_up_to_names(sch.mod["consumer"], consumer)
    assert run(sch.mod) == run(parse(MODULE)) == sum(range(1000, 1014))
    assert guards(optimize(sch.mod["consumer"]).best) == 0


def test_another_default_keeps_the_consumer_s_branch():
    sch = scheduled(
        MODULE,
        lambda s: s.transform_layout("root", "A", fours, pad_value=1),
        lambda s: s.work_on("consumer"),
        lambda s: s.sequential_buffer_access("root", "A"),
        lambda s: s.apply(OVERCOMPUTE()),
    )
    assert guards(sch.func) == 1
    assert run(sch.mod) == sum(range(1000, 1014))


CONVOLUTION = """
@T.prim_func
def func(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((18,), "float32")):
    for Bi in T.serial(18):
        B[Bi] = 0.0
        for fi in T.serial(3):
            if 0 <= Bi + fi - 2 < 16:
                B[Bi] = B[Bi] + F[fi] * A[Bi + fi - 2]
"""


def test_implicit_default_of_the_next_operator():
    sch = scheduled(
        CONVOLUTION,
        lambda s: s.transform_layout("root", "A", eights, pad_value=0),
        lambda s: s.transform_layout("root", "B", eights, pad_value=0),
        lambda s: s.sequential_buffer_access("root", "A"),
    )
    before = sch.func
    sch.apply(OVERCOMPUTE())
    assert guards(before) == 2
    assert guards(sch.func) == 1, "only the stage that writes B's padding keeps its guard"
    values, taps = np.arange(16, dtype="float32"), np.array([1.0, 2.0, 3.0], "float32")
    (direct,) = interpret(parse(CONVOLUTION).funcs[0], values, taps, np.zeros(18, "float32"))
    packed = layout_of(sch.func, "A").pack(values)
    for func in (sch.func, optimize(before).best):
        (found,) = interpret(func, packed, taps, np.full((3, 8), 9.0, "float32"))
        assert np.allclose(layout_of(sch.func, "B").unpack(found), direct)
        assert (found.reshape(-1)[:2] == 0).all() and (found.reshape(-1)[20:] == 0).all()


def test_elementwise_over_padding():
    sch = scheduled(
        """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 2 * A[i]
""",
        lambda s: s.transform_layout("root", "A", fours, pad_value=lambda io, ii: T.undef()),
        lambda s: s.transform_layout("root", "B", fours, pad_value=lambda io, ii: T.undef()),
        lambda s: s.sequential_buffer_access("root", "B"),
        lambda s: s.apply(OVERCOMPUTE()),
        lambda s: s.apply(transforms.remove_assume()),
        lambda s: s.apply(transforms.remove_store_undef()),
    )
    record = "'(14,) -> lambda i: (i // 4, i % 4)'"
    attr = f"T.func_attr({{'layout.A': {record}, 'layout.B': {record}}})"
    assert_same_up_to_names(
        sch.func,
        f"""
@T.prim_func
def func(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    {attr}
    for io, ii in T.grid(4, 4):
        B[io, ii] = 2 * A[io, ii]
""",
    )


def test_several_semantics_on_one_buffer():
    sch = scheduled(
        """
@T.prim_func
def func(A: T.Buffer((14, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i, j]
""",
        lambda s: s.transform_layout(
            "root", "A", lambda i, j: [i // 4, i % 4, j], pad_value=lambda io, ii, j: T.undef()
        ),
        lambda s: s.transform_layout("root", "A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0),
        lambda s: s.transform_layout("root", "B", fours, pad_value=lambda io, ii: T.undef()),
        lambda s: s.sequential_buffer_access("root", "A"),
        lambda s: s.apply(OVERCOMPUTE()),
    )
    assert guards(sch.func) <= 2, "only what concerns undef padding may keep a guard"
    sch.apply(transforms.remove_assume())
    sch.apply(transforms.remove_store_undef())
    assert guards(sch.func) == 0
    layout = layout_of(sch.func, "A")
    rng = np.random.default_rng(0)
    values = rng.integers(0, 50, (14, 60)).astype("int32")
    packed = layout.pack(values)
    packed[3, 2:, :, :4] = 1000  # what the first transformation left undefined
    (found,) = interpret(sch.func, packed, np.zeros((4, 4), "int32"))
    assert (layout_of(sch.func, "B").unpack(found) == values.sum(axis=1)).all()
