"""`Schedule.transform_layout` of buffers that calls pass on: callers and callees change together."""

from __future__ import annotations

import numpy as np
import pytest

from ir import interpret, parse, to_script
from ir.errors import ScheduleError
from ir.nodes import Buffer, Module
from ir.schedule import Schedule

KERNELS = """
@T.prim_func
def addone(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = A[i] + 1

@T.prim_func
def grow(A: T.Buffer((n,), "int32"), n: T.int32):
    for i in range(n):
        A[i] = A[i] * 2

@T.prim_func
def both(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    addone(A, B)
    grow(B, 14)

@T.prim_func
def main(X: T.Buffer((14,), "int32"), Y: T.Buffer((14,), "int32")):
"""
TILES = lambda i: [i // 4, i % 4]  # noqa: E731
CHAIN = "H = T.alloc_buffer((14,), 'int32')\naddone(X, H)\ngrow(H, 14)\naddone(H, Y)"
LOOP = (
    "H = T.alloc_buffer((14,), 'int32')\nH[0] = 3\n"
    "for t in range(3):\n    addone(X, H)\n    both(H, Y)\n    Y[0] = H[1]"
)


def scheduled(body: str) -> tuple[Module, Schedule]:
    given = parse(KERNELS + "".join(f"    {line}\n" for line in body.split("\n")))
    sch = Schedule(given)
    sch.work_on("main")
    return given, sch


def check(given: Module, found: Module) -> None:
    """Both do the same; parameters of the second may be kept in tiles, with whatever in their padding."""
    x = np.arange(14, dtype=np.int32) - 5
    (expected,) = interpret(given, x)
    kept = {b.name: len(b.shape) == 2 for b in found["main"].buffers}
    packed = np.append(x, [0, 0]).reshape(4, 4).astype(np.int32) if kept["X"] else x
    (result,) = interpret(found, packed, sanitize=True)
    np.testing.assert_array_equal(np.asarray(result).reshape(-1)[:14], expected)


def shapes(found: Module) -> dict[str, str]:
    """The ranks of the buffers of each function."""
    return {f.name: "".join(str(len(p.shape)) for p in f.params if isinstance(p, Buffer)) for f in found.funcs}


@pytest.mark.parametrize("pad", [None, 0, 7])
def test_a_local_buffer_changes_in_all_that_it_is_passed_to(pad: int | None) -> None:
    given, sch = scheduled(CHAIN)
    sch.transform_layout("root", "H", TILES, pad_value=pad)
    assert shapes(sch.mod) == {"addone": "11", "addone_1": "12", "addone_2": "21", "grow": "1", "grow_1": "2",
                               "both": "11", "main": "11"}  # fmt: skip
    check(given, sch.mod)
    again = Schedule(given)
    sch.trace.replay(again)
    assert again.mod == sch.mod and parse(to_script(sch.mod))["main"] == sch.mod["main"]


@pytest.mark.parametrize("pad", [None, 5])
def test_callees_that_took_sections_find_them_in_the_new_layout(pad: int | None) -> None:
    body = "H = T.alloc_buffer((3, 14), 'int32')\nfor k in range(3):\n    addone(X, H[k, :])\naddone(H[1, :], Y)"
    given, sch = scheduled(body + "\ngrow(Y[0:7], 7)")
    sch.transform_layout("root", "H", lambda k, i: [i // 4, k, i % 4], pad_value=pad)
    assert shapes(sch.mod)["main"] == "11" and sorted(shapes(sch.mod).values()) == ["1", "11", "11", "11", "13", "31"]
    check(given, sch.mod)
    again = Schedule(given)
    sch.trace.replay(again)
    assert again.mod == sch.mod


def test_functions_that_call_others_hand_it_on() -> None:
    given, sch = scheduled(LOOP)
    sch.transform_layout("root", "H", TILES, pad_value=0)
    assert shapes(sch.mod) == {"addone": "12", "addone_1": "21", "grow": "1", "both": "21", "main": "11"}
    check(given, sch.mod)


def test_a_parameter_of_a_callee_changes_what_all_callers_pass() -> None:
    given, sch = scheduled(CHAIN)
    sch.work_on("addone")
    sch.transform_layout("root", "B", TILES, pad_value=0)
    assert shapes(sch.mod) == {"addone": "12", "addone_1": "22", "grow": "2", "both": "12", "main": "12"}
    check(given, sch.mod)


PARTS = (
    "H = T.alloc_buffer((2, 20), 'int32')\nfor k in range(2):\n    addone(X, H[k, 3:17])\naddone(H[X[5] % 2, 3:17], Y)"
)
DATA = "H = T.alloc_buffer((2, 14), 'int32')\naddone(X, H[1, :])\naddone(X, H[X[0] % 2, :])\nboth(H[1, :], Y)"


@pytest.mark.parametrize(
    ("body", "func", "buffer"),
    [
        (PARTS, "addone", "A"),
        (PARTS, "addone", "B"),
        (DATA, "main", "H"),
        (DATA, "addone", "B"),
    ],
)
def test_parts_of_an_axis_and_sections_that_start_at_data_are_copied(body: str, func: str, buffer: str) -> None:
    given, sch = scheduled(body)
    sch.work_on(func)
    flip = lambda i, j: [j, i]  # noqa: E731
    sch.transform_layout("root", buffer, flip if buffer == "H" else TILES, pad_value=0)
    check(given, sch.mod)
    again = Schedule(given)
    sch.trace.replay(again)
    assert again.mod == sch.mod and parse(to_script(sch.mod))["main"] == sch.mod["main"]


def test_padding_that_follows_elements_is_refused() -> None:
    _, sch = scheduled(CHAIN)
    with pytest.raises(ScheduleError, match="the padding of H would follow its elements") as found:
        sch.transform_layout("root", "H", TILES, pad_value=lambda io, ii: sch.get_buffer("H")[0, ii])
    assert found.value.code == "pad-value" and "inline" in found.value.help


def test_a_section_is_copied_back_to_where_it_was_though_the_call_changes_where_it_starts() -> None:
    text = """
@T.prim_func
def step(A: T.Buffer((4,), "int32"), P: T.Buffer((1,), "int32")):
    P[0] = P[0] + 1
    for i in range(4):
        A[i] = A[i] + 10 * i + 1

@T.prim_func
def main(X: T.Buffer((9,), "int32"), P: T.Buffer((1,), "int32")):
    for t in range(3):
        step(X[P[0] : P[0] + 4], P)
"""
    given = parse(text)
    sch = Schedule(given)
    sch.work_on("step")
    sch.transform_layout("root", "A", lambda i: [i // 3, i % 3])
    x, p = np.arange(9, dtype=np.int32), np.array([1], np.int32)
    for found, expected in zip(interpret(sch.mod, x, p), interpret(given, x, p), strict=True):
        np.testing.assert_array_equal(found, expected)
