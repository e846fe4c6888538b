"""Calls of kernels: text, meaning, what is refused, and the same programs with bodies in place of calls."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import loopsat
from ir import interpret, parse, to_script, verify
from ir import script as T
from ir.errors import InterpretError, LoopsatError, ParseError, ScheduleError, VerifyError
from ir.nodes import Alloc, CallStmt, Module
from ir.program.calls import callees, without_calls
from ir.program.modules import linked
from ir.schedule import Schedule
from ir.semantics.inputs import random_inputs
from ir.traverse import buffers_written, results_of, walk

NET = """
@T.module
class net:
    @T.prim_func
    def main(X: T.Buffer((6, 14), "float32"), W: T.Buffer((3,), "float32"), Y: T.Buffer((6, 12), "float32")):
        H = T.alloc_buffer((6, 12), "float32")
        for i in range(6):
            cls.conv(X[i, :], W, H[i, :], 12)
        relu(H, Y)

    @T.prim_func
    def conv(X: T.Buffer((14,), "float32"), W: T.Buffer((3,), "float32"), Y: T.Buffer((12,), "float32"), n: T.int32):
        T.assume(n == 12)
        for i in range(n):
            Y[i] = 0.0
            for j in range(3):
                Y[i] += X[i + j] * W[j]

    @T.prim_func
    def relu(a: T.handle, b: T.handle):
        n = T.int32()
        m = T.int32()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        for i, j in T.grid(n, m):
            B[i, j] = T.max(A[i, j], 0.0)
"""
KERNELS = """
@T.prim_func
def fill(A: T.Buffer((4,), "float32"), s: T.float32):
    for i in range(4):
        A[i] = s

@T.prim_func
def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i]

@T.prim_func
def pairs(n: T.int32, A: T.Buffer((2 * n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in range(n):
        B[i] = A[2 * i] + A[2 * i + 1]
"""


def module(*lines: str, params: str = 'A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")') -> Module:
    body = "\n    ".join(lines)
    return parse(f"{KERNELS}\n@T.prim_func\ndef main({params}):\n    {body}\n")


def values(shape: tuple[int, ...] = (8, 4)) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_a_module_with_calls_prints_parses_and_verifies():
    net = parse(NET)
    text = to_script(net)
    assert {f.name: f for f in parse(text).funcs} == {f.name: f for f in net.funcs}
    assert "conv(X[i, 0:14], W, H[i, 0:12], 12)" in text and "relu(H, Y)" in text
    for func in net.funcs:
        assert verify(func).unproven == ()
    assert [f.name for f in callees(net["main"])] == ["conv", "relu"]
    assert [b.name for b in results_of(net["main"])] == ["Y"]
    assert {b.name for b in buffers_written(net["main"].body)} == {"H", "Y"}


def test_a_function_prints_with_its_callees_so_that_python_can_run_the_text():
    main = parse(NET)["main"]
    assert parse(to_script(main))["main"] == main
    assert to_script(parse(NET)).index("def relu") < to_script(parse(NET)).index("def main")


def test_a_call_means_the_body_of_the_callee():
    net, x, w = parse(NET), values((6, 14)), values((3,))
    (found,) = interpret(net, x, w)
    wanted = sum(x[:, j : j + 12] * w[j] for j in range(3))
    np.testing.assert_allclose(found, np.maximum(wanted, 0), rtol=1e-5)
    inlined = without_calls(net["main"])
    assert not any(isinstance(s, CallStmt) for s in walk(inlined.body))
    assert verify(inlined).unproven == ()
    np.testing.assert_array_equal(interpret(inlined, x, w)[0], found)


@pytest.mark.parametrize(
    "lines",
    [
        ("for i in range(8):", "    copy(A[7 - i, :], B[i, 0:4])"),
        ("for i in range(4):", "    copy(A[2 * i, 0:4], B[i + i, :])", "    fill(B[2 * i + 1, :], A[i, 0] * 2.0)"),
        ("L = T.alloc_buffer((4,))", "for i in range(8):", "    copy(A[i, :], L)", "    copy(L, B[i, :])"),
        ("for i in range(8):", "    pairs(2, A[i, :], B[i, 1:3])", "    pairs(1, A[i, 1:3], B[i, 3:4])"),
        ("for i in range(8):", "    V = T.match_buffer(A[i, 0:4], (4,))", "    copy(V, B[i, :])"),
        ("copy(B=B[1, :], A=A[2, :])", "B[1, 0] = 3.0", "fill(B[0, :], B[1, 1])"),
        ("fill(B[3, :], 2)",),
    ],
)
def test_bodies_in_place_of_calls_do_the_same(lines: tuple[str, ...]):
    program = module(*lines)
    main = program["main"]
    verify(main)
    assert parse(to_script(main))["main"] == main
    inlined = without_calls(main)
    verify(inlined)
    a, b = values(), values() + 1
    np.testing.assert_array_equal(interpret(program, a, b)[0], interpret(inlined, a, b)[0])


def test_a_scalar_is_evaluated_once_before_the_body():
    main = module("fill(B[0, :], B[0, 0] + 1.0)")["main"]
    b = values()
    np.testing.assert_array_equal(interpret(main, values(), b)[0][0], np.full(4, b[0, 0] + np.float32(1)))
    np.testing.assert_array_equal(
        interpret(without_calls(main), values(), b)[0][0], np.full(4, b[0, 0] + np.float32(1))
    )


def test_an_undef_argument_is_frozen():
    main = module("fill(B[0, :], T.undef())")["main"]
    for form in (main, without_calls(main)):
        row = interpret(form, values(), values())[0][0]
        assert (row == row[0]).all()


def test_a_false_assumption_of_a_callee_leaves_no_obligations_where_it_is_called():
    text = NET.replace("T.assume(n == 12)", "T.assume(n <= 12 and X[0] == 0.0)")
    x, w = values((6, 14)), values((3,))
    interpret(parse(text), x, w)
    with pytest.raises(InterpretError, match="does not hold") as found:
        interpret(parse(text), x, w, sanitize=True)
    assert any("in conv, called at" in note for note in found.value.notes)
    with pytest.raises(VerifyError) as refuted:
        verify(parse(NET.replace("H[i, :], 12)", "H[i, :], 11)"))["main"])
    assert refuted.value.code == "assumption-false"


def test_inputs_meet_what_a_callee_assumes():
    text = NET.replace("T.assume(n == 12)", "T.assume(n == 12 and W[0] == 7.0)")
    found = random_inputs(parse(text)["main"], np.random.default_rng(0))
    assert found["W"][0] == 7.0


def test_decorated_kernels_call_each_other():
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            B[i] = 2 * A[i]

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        L = T.alloc_buffer((4,), "float32")
        twice(A, L)
        twice(L, B)

    np.testing.assert_array_equal(interpret(main, np.ones(4, np.float32))[0], np.full(4, 4, np.float32))

    @T.module
    class net:
        @T.prim_func
        def half(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in T.serial(4):
                B[i] = A[i] / 2.0

        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            net.half(A, B)

    np.testing.assert_array_equal(interpret(net, np.ones(4, np.float32))[0], np.full(4, 0.5, np.float32))


REFUSED = {
    "fill(B[0, :])": "arguments",
    "fill(B[0, :], 1.0, 2.0)": "arguments",
    "fill(B[0, :], x=1.0)": "arguments",
    "fill(1.0, 1.0)": "arguments",
    "fill(B[0, 0], 1.0)": "rank",
    "fill(B[0:1, :], 1.0)": "rank",
    "fill(B[0, 0:3], 1.0)": "shape",
    "pairs(2, A[0, :], B[0, 0:3])": "shape",
    "fill(C[0, :], 1.0)": "arguments",
    "fill(B[8, :], 1.0)": "load-out-of-bounds",
    "fill(B[0, 1:5], 1.0)": "load-out-of-bounds",
    "copy(A[0, :], A[0, :])": "aliasing",
    "pairs(1, A[0, 0:2], A[0, 1:2])": "aliasing",
    "for i, j in T.grid(8, 8): copy(A[i, :], A[j, :])": "aliasing",
    "fil(B[0, :], 1.0)": "unknown-function",
    "cls.fil(B[0, :], 1.0)": "unknown-function",
    'T.call_extern("int32", "f", B.data)': "unknown-function",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_wrong_call_is_refused(line: str):
    with pytest.raises(LoopsatError) as found:
        verify(module(line)["main"])
    assert found.value.code == REFUSED[line]
    assert found.value.span is not None and found.value.span.text.strip() == line
    assert found.value.help or found.value.notes


def test_ways_in_say_of_a_wrong_call_what_the_verifier_does():
    """Also those that put bodies in the places of calls first."""
    for way in (loopsat.optimize, loopsat.compile, loopsat.emit):
        with pytest.raises(LoopsatError, match="`A` of fill has 1 dimension, but B has 2"):
            way(module("fill(B, 1.0)"))
    with pytest.raises(ParseError, match="did you mean `fill`"):
        module("fil(B[0, :], 1.0)")
    for line in ("B = copy(A, A)", "A[0, 0] = 1.0 + cls.copy(A, B)"):
        with pytest.raises(ParseError, match="`copy` is a kernel, which gives no value"):
            module(line)


def test_sections_that_do_not_meet_are_no_aliases():
    for line in (
        "copy(A[0, :], A[1, :])",
        "for i in range(7):\n        copy(A[i, :], A[i + 1, :])",
        "copy(B[0, :], B[1, :])",
        "for i in range(8):\n        for j in range(i):\n            copy(A[i, :], A[j, :])",
        "for i, j in T.grid(8, 8):\n        if i != j:\n            copy(A[i, :], A[j, :])",
        "for j in range(4):\n        copy(A[7 - j, :], A[j, :])",
    ):
        verify(module(line)["main"])


def test_a_section_that_leaves_its_buffer_by_data_faults():
    main = module("copy(A[N[0], :], B[0, :])", params='N: T.Buffer((1,), "int32"), A: T.Buffer((8, 4), "float32"), '
                  'B: T.Buffer((8, 4), "float32")')["main"]  # fmt: skip
    assert verify(main).unproven
    interpret(main, np.array([7], np.int32), values(), values())
    with pytest.raises(InterpretError, match=r"the section A\[8:9, 0:4\] leaves its shape"):
        interpret(main, np.array([8], np.int32), values(), values())


def test_kernels_that_call_each_other_in_a_circle_are_refused():
    text = KERNELS.replace("B[i] = A[i]\n", "B[i] = A[i]\n        main(A, B)\n", 1)
    with pytest.raises(ParseError, match="copy calls main calls copy") as found:
        parse(f"{text}\n@T.prim_func\ndef main(A: T.Buffer((4,)), B: T.Buffer((4,))):\n    copy(A, B)\n")
    assert found.value.code == "call-cycle"


def test_the_entry_of_a_module_is_main_or_the_only_function_that_none_calls():
    with pytest.raises(LoopsatError, match="no function `main`") as found:
        interpret(parse(KERNELS), values())
    assert "entry='fill'" in found.value.help
    net = parse(NET.replace("def main", "def network"))
    assert interpret(net, values((6, 14)), values((3,)))[0].shape == (6, 12)
    (row,) = interpret(parse(KERNELS), values((4,)), entry="copy")
    np.testing.assert_array_equal(row, values((4,)))


def test_schedules_work_on_callees_and_on_callers_whose_calls_are_inlined():
    net = parse(NET)
    sch = Schedule(net)
    with pytest.raises(ScheduleError, match="main calls conv") as found:
        sch.split("i", [2, None])
    assert "inline_calls('main')" in found.value.help
    sch.work_on("relu")
    sch.fuse("i", "j")
    assert sch.mod["main"] == linked(sch.mod)["main"]
    assert (
        next(s for s in walk(sch.mod["main"].body) if isinstance(s, CallStmt) and s.callee.name == "relu").callee
        is (sch.mod["relu"])
    )
    sch.inline_calls("main")
    sch.work_on("main")
    sch.split("i", [2, None])
    x, w = values((6, 14)), values((3,))
    np.testing.assert_array_equal(interpret(sch.mod, x, w)[0], interpret(net, x, w)[0])
    again = Schedule(net)
    sch.trace.replay(again)
    assert again.mod == sch.mod


ADDING = """
@T.prim_func
def add(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = A[i] + 1
"""


def chain(count: int, *, graph: bool) -> str:
    """A function that calls one again and again, with a buffer of its own after each, as kernels and as a graph."""
    if graph:
        kind = "R.Tensor((4,), 'int32')"
        calls = [f"x{k + 1} = R.call_tir(add, (x{k},), out_sinfo={kind})" for k in range(count)]
        head, body = f"@R.function\ndef main(x0: {kind}) -> {kind}:", [*calls, f"return x{count}"]
    else:
        names = ["X", *(f"H{k}" for k in range(1, count)), "Y"]
        body = [f"{n} = T.alloc_buffer((4,), 'int32')" for n in names[1:-1]]
        body += [f"add({a}, {b})" for a, b in pairwise(names)]
        head = "@T.prim_func\ndef main(X: T.Buffer((4,), 'int32'), Y: T.Buffer((4,), 'int32')):"
    return ADDING + "\n".join((f"\n{head}", *(f"    {line}" for line in body), ""))


@pytest.mark.parametrize("graph", [False, True])
def test_hundreds_of_local_buffers_are_local_to_what_uses_them(graph: bool) -> None:
    module = parse(chain(400, graph=graph))
    assert parse(to_script(module))["main"] == module["main"]
    assert interpret(module, np.zeros(4, np.int32))[0].tolist() == [400] * 4
    (found,) = loopsat.compile(parse(chain(120, graph=graph)))(np.zeros(4, np.int32))
    assert np.asarray(found).tolist() == [120] * 4


def test_more_buffers_than_can_be_walked_are_refused_if_all_are_in_use_at_once() -> None:
    text = chain(400, graph=False)
    with pytest.raises(ParseError, match="nested more than 250 levels"):
        parse(text + "".join(f"    add(H{k}, Y)\n" for k in range(1, 400)))


SECTIONS = """
@T.prim_func
def sums(X: T.Buffer((14,), "int32"), Y: T.Buffer((12,), "int32"), s: T.int32):
    for i in range(12):
        Y[i] = X[i] + X[i + 1] * s + X[i + 2]

@T.prim_func
def rows(X: T.Buffer((3, 14), "int32"), Y: T.Buffer((3, 12), "int32")):
    for i in range(3):
        sums(X[i, :], Y[i, :], i)

@T.prim_func
def relu(X: T.Buffer((6, 12), "int32"), Y: T.Buffer((6, 12), "int32")):
    for i, j in T.grid(6, 12):
        Y[i, j] = T.max(X[i, j], 0)

@T.prim_func
def main(X: T.Buffer((6, 14), "int32"), Y: T.Buffer((6, 12), "int32")):
    A = T.alloc_buffer((6, 14), "int32")
    H = T.alloc_buffer((6, 12), "int32")
    for i, j in T.grid(6, 14):
        A[i, j] = X[i, j] * 2
    rows(A[0:3, :], H[0:3, :])
    rows(A[3:6, :], H[3:6, :])
    for i in range(6):
        sums(A[i, :], H[i, :], i)
    relu(H, Y)
"""
MAPS = [
    ("X", lambda i: [i // 4, i % 4], 0, (6, 4, 4)), ("X", lambda i: [i % 7, i // 7], None, (6, 7, 2)),
    ("Y", lambda i: [i // 5, i % 5], 3, (6, 3, 5)), ("Y", lambda i: [i + 1], None, (6, 13)),
]  # fmt: skip


@pytest.mark.parametrize(("param", "index_map", "pad", "shape"), MAPS)
def test_a_layout_of_a_parameter_is_one_of_the_axes_that_sections_have_in_all_callers(param, index_map, pad, shape):
    module = parse(SECTIONS)
    sch = Schedule(module)
    sch.work_on("sums")
    sch.transform_layout("root", param, index_map, pad_value=pad)
    for func in sch.mod.funcs:
        verify(func)
    local = {s.buffer.name: s.buffer for s in walk(sch.mod["main"].body) if isinstance(s, Alloc)}
    assert tuple(int(str(e)) for e in local["A" if param == "X" else "H"].shape) == shape
    x = values((6, 14)).astype(np.int32)
    np.testing.assert_array_equal(interpret(sch.mod, x, sanitize=True)[0], interpret(module, x)[0])
    again = Schedule(module)
    sch.trace.replay(again)
    assert again.mod == sch.mod


PART = SECTIONS.replace("(14,)", "(13,)").replace("X[i + 2]", "X[i]").replace("X[i, :]", "X[i, 1:14]")
FILLED = "    B = T.alloc_buffer((14, 14), 'int32')\n    for i, j in T.grid(14, 14):\n        B[i, j] = i - j\n"
CALLS = ["    sums(B[:, 1], H[0, :], 1)\n", "    sums(B[1, :], H[0, :], 1)\n"]
COPIED = [
    PART.replace("sums(A[i, :]", "sums(A[i, 0:13]"),
    *(SECTIONS.replace("    relu(H, Y)", FILLED + "".join(c) + "    relu(H, Y)") for c in (CALLS, CALLS[::-1])),
]


@pytest.mark.parametrize("text", COPIED)
def test_of_sections_that_are_no_whole_axes_or_along_others_callers_pass_copies(text: str) -> None:
    module = parse(text)
    sch = Schedule(module)
    sch.work_on("sums")
    sch.transform_layout("root", "X", lambda i: [i // 7, i % 7])
    for func in sch.mod.funcs:
        verify(func)
    x = values((6, 14)).astype(np.int32)
    np.testing.assert_array_equal(interpret(sch.mod, x, sanitize=True)[0], interpret(module, x)[0])


OPEN = """
@T.prim_func
def add(A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32"), n: T.int32):
    for i in range(n):
        B[i] += A[i]

@T.prim_func
def main(X: T.Buffer((m, 5), "int32"), Y: T.Buffer((m,), "int32"), m: T.int32):
    T.assume(m >= 3)
    CALL
"""


def test_sections_go_to_the_end_where_none_is_written() -> None:
    module = parse(OPEN.replace("CALL", "add(X[3:, 2], Y[: m - 3], m - 3)"))
    assert "add(X[3:m, 2], Y[0:m - 3], m - 3)" in to_script(module)
    x, y = np.arange(35, dtype=np.int32).reshape(7, 5), np.ones(7, np.int32)
    assert interpret(module, x, y, m=7)[0].tolist() == [18, 23, 28, 33, 1, 1, 1]


@pytest.mark.parametrize("section", ["X[2]", "X[2, ...]", "X[2, :]"])
def test_axes_that_a_section_leaves_out_are_whole(section: str) -> None:
    text = OPEN.replace("(m,)", "(5,)").replace("CALL", f"copy({section}, Y)")
    kernel = """
@T.prim_func
def copy(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")):
    for i in range(5):
        B[i] = A[i]
"""
    module = parse(kernel + text)
    assert "copy(X[2, 0:5], Y)" in to_script(module)
    x = np.arange(35, dtype=np.int32).reshape(7, 5)
    assert interpret(module, x, m=7, entry="main")[0].tolist() == x[2].tolist()


@pytest.mark.parametrize(
    ("call", "message", "help"),
    [
        ("ad(X[3:, 2], Y, m)", "`ad` is no kernel of the module", "did you mean `add`?"),
        ("sum(X[:, 2], Y, m)", "`sum` is no kernel of the module", "the others are add"),
    ],
)
def test_names_that_the_module_has_not_are_told_from_the_dialect(call: str, message: str, help: str) -> None:
    with pytest.raises(ParseError, match=message) as found:
        parse(OPEN.replace("CALL", call))
    assert help in str(found.value)
