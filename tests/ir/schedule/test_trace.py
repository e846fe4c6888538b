"""Traces: printing as Python, saving as JSON, replay on the same and on other programs."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_rules import transforms
from ir import parse
from ir import script as T
from ir.errors import LoopsatError, ScheduleError
from ir.nodes import Module, PrimFunc
from ir.schedule import LoopRef, Schedule, Trace


def kernel(loop: str = "i", extent: int = 14, block: str = "compute") -> PrimFunc:
    return parse(
        f"""
@T.prim_func
def f(A: T.Buffer(({extent},), "float32"), B: T.Buffer(({extent},), "float32")):
    for {loop} in T.serial({extent}):
        with T.block("{block}"):
            v = T.axis.spatial({extent}, {loop})
            B[v] = A[v] + 1.0
"""
    ).funcs[0]


def scheduled(func: PrimFunc) -> Schedule:
    sch = Schedule(func)
    (loop,) = sch.get_loops(sch.get_block("compute"))
    outer, inner = sch.split(loop, [None, 4])
    sch.parallel(outer)
    sch.vectorize(inner)
    sch.transform_layout("compute", "B", lambda i: [i // 4, i % 4], pad_value=lambda io, ii: T.undef("float32"))
    sch.apply(transforms.simplify(block="compute"))
    return sch


def test_a_printed_trace_is_a_script():
    sch = scheduled(kernel())
    text = str(sch.trace)
    assert text.splitlines()[:3] == [
        "compute_block = sch.get_block('compute')",
        "i, = sch.get_loops(compute_block)",
        "io, ii = sch.split(i, factors=[None, 4])",
    ]
    again = Schedule(kernel())
    exec(text, {"sch": again, "transforms": transforms, "T": T})
    assert again.func == sch.func
    assert str(again.trace) == text


def test_a_saved_trace_replays_on_a_program_with_other_names():
    sch = scheduled(kernel())
    trace = Trace.from_json(sch.trace.to_json(), transforms.STEPS)
    assert str(trace) == str(sch.trace)
    other = Schedule(kernel("k", 22))
    trace.replay(other)
    assert {r.name for r in other.get_loops("compute")} == {"ko", "ki"}


def test_replay_stops_at_the_step_that_does_not_apply():
    trace = scheduled(kernel()).trace
    other = Schedule(kernel(block="other"))
    with pytest.raises(ScheduleError) as caught:
        trace.replay(other)
    assert caught.value.notes[0] == "step 1 of the trace: compute_block = sch.get_block('compute')"
    assert other.func == Schedule(kernel(block="other")).func
    nest = parse(
        """
@T.prim_func
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i, j in T.grid(14, 1):
        with T.block("compute"):
            B[i] = A[i] + 1.0
"""
    ).funcs[0]
    with pytest.raises(ScheduleError, match="made 2 loops or blocks here, but 1 when recorded"):
        trace.replay(Schedule(nest))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"steps": 3}', '{"steps": [{"step": "split"}]}', "not json"])
def test_text_that_is_no_trace(text: str):
    with pytest.raises(ScheduleError, match="no recorded trace"):
        Trace.from_json(text)


def test_a_step_that_does_not_exist():
    trace = Trace.from_json('{"steps": [{"step": "splitt", "arguments": {}, "outputs": []}]}')
    with pytest.raises(ScheduleError, match="no step `splitt`") as caught:
        trace.replay(Schedule(kernel()))
    assert "did you mean `split`?" in str(caught.value)


def test_wrong_arguments_in_a_trace():
    trace = Trace.from_json('{"steps": [{"step": "split", "arguments": {"loop": 3}, "outputs": []}]}')
    with pytest.raises(LoopsatError):
        trace.replay(Schedule(kernel()))


@pytest.mark.parametrize(
    "step",
    [
        '"split", "arguments": {"loop": {"loop": "i", "func": "f"}, "factors": 3}',
        '"split", "arguments": {"loop": {"loop": "i", "func": "f"}, "factors": ["a", null]}',
        '"fuse", "arguments": {"loops": 3}',
        '"apply", "arguments": {"step": "simplify"}',
        '"transform_layout", "arguments": {"block": "root", "buffer": "A", "index_map": 3}',
        '"__init__", "arguments": {}',
    ],
)
def test_wrong_values_in_a_trace(step: str):
    with pytest.raises(LoopsatError):
        Trace.from_json(f'{{"steps": [{{"step": {step}, "outputs": []}}]}}').replay(Schedule(kernel()))


@pytest.mark.parametrize("program", [None, "text", kernel])
def test_a_schedule_starts_from_a_program(program: object):
    with pytest.raises(ScheduleError, match="a function or a module"):
        Schedule(program)  # pyright: ignore


def test_refused_steps_are_not_recorded():
    sch = Schedule(kernel())
    with pytest.raises(LoopsatError):
        sch.split("i", [2, 3])
    assert not sch.trace.steps
    with pytest.raises(LoopsatError):
        sch.work_on("g")
    assert not sch.trace.steps


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.split("i", 4),
        lambda s: s.split("i", "4"),
        lambda s: s.split("i", [2.5, None]),
        lambda s: s.split("i", [True, None]),
        lambda s: s.split("i", [2**40, None]),
        lambda s: s.split("i", [2**30, 4]),
        lambda s: s.split(["i"], [2, None]),
        lambda s: s.split(s.get_block("compute"), [2, None]),
        lambda s: s.rebase("i", 0.5),
        lambda s: s.rebase("i", 2**31 - 3),
        lambda s: s.loop_partition("i", 3),
        lambda s: s.loop_partition("i", [None]),
        lambda s: s.get_block(3),
        lambda s: s.get_buffer(3),
        lambda s: s.work_on(3),
        lambda s: s.cache_read("root", None),
        lambda s: s.cache_read("root", "A", "two words"),
        lambda s: s.apply(None),
        lambda s: s.apply(transforms.simplify),
        lambda s: s.apply(transforms.simplify(block=3)),
        lambda s: s.apply(transforms.simplify(floats=3)),
        lambda s: s.apply(transforms.hoist_expression(conditionals=None)),
        lambda s: s.transform_layout("root", "A", 3),
        lambda s: s.transform_layout("root", "A", None),
        lambda s: s.split_function("compute", 3),
        lambda s: s.sequential_buffer_access("compute", 3),
        lambda s: s.fuse(),
        lambda s: s.reorder(),
    ],
)
def test_arguments_of_a_wrong_kind(step):
    sch = Schedule(kernel())
    with pytest.raises(LoopsatError):
        step(sch)
    assert sch.func == Schedule(kernel()).func


def test_numbers_of_numpy_are_numbers():
    sch = Schedule(kernel())
    sch.split("i", [None, np.int64(4)])
    assert Trace.from_json(sch.trace.to_json()).steps == sch.trace.steps


def test_a_step_takes_a_block_as_the_schedule_gives_it():
    sch = Schedule(kernel())
    sch.apply(transforms.simplify(block=sch.get_block("compute")))
    assert str(sch.trace).endswith("sch.apply(transforms.simplify(block='compute'))")


def pasted(sch: Schedule, start: PrimFunc | Module) -> Schedule:
    again = Schedule(start)
    exec(str(sch.trace), {"sch": again, "transforms": transforms, "T": T})
    return again


def test_names_that_are_no_python_names():
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    for sch in T.serial(8):
        with T.block("my.block"):
            A[sch] = 1.0
    for T_ in T.serial(8):
        with T.block("my block"):
            A[T_] = 2.0
"""
    ).funcs[0]
    sch = Schedule(func)
    for name in ("my.block", "my block"):
        (loop,) = sch.get_loops(sch.get_block(name))
        sch.split(loop, [None, 2])
    assert pasted(sch, func).mod == sch.mod


def test_steps_in_several_functions():
    module = parse(
        "\n".join(
            f"@T.prim_func\ndef {name}(A: T.Buffer((8,), 'int32')):\n    for i in T.serial(8):\n        A[i] = {k}\n"
            for k, name in enumerate("fg")
        )
    )
    sch = Schedule(module)
    first, second = sch.get_loops(sch.get_block("root")), sch.get_loops(sch.get_block("root", "g"))
    sch.split(first[0], [None, 2])
    sch.split(second[0], [None, 4])
    sch.work_on("f")
    sch.split(LoopRef("g", "io"), [None, 2])
    assert pasted(sch, module).mod == sch.mod


def test_values_that_python_writes_otherwise():
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((14,), "float32"), n: T.int32):
    T.assume(n > 0)
    for i in T.serial(n):
        A[i] = 1.0
    for j in T.serial(14):
        B[j] = 2.0
"""
    ).funcs[0]
    sch = Schedule(func)
    sch.split("i", [T.int32("n"), None])
    sch.transform_layout("root", "B", lambda i: [i // 4, i % 4], pad_value=float("-inf"))
    assert pasted(sch, func).func == sch.func
    numbered = Schedule(func)
    numbered.transform_layout("root", "B", lambda i: [i // 4, i % 4], pad_value=np.float32(2.0))
    assert "pad_value=2.0" in str(numbered.trace)


def test_a_trace_replays_on_a_function_of_another_name():
    sch = Schedule(kernel())
    sch.split("i", [None, 4])
    text = "@T.prim_func\ndef g(A: T.Buffer((14,), 'float32')):\n    for i in T.serial(14):\n        A[i] = 1.0\n"
    other = Schedule(parse(text))
    sch.trace.replay(other)
    assert [r.name for r in other.get_loops()] == ["io", "ii"]
    with pytest.raises(ScheduleError, match="which this schedule does not have"):
        other.get_loops(sch.get_block("compute"))
