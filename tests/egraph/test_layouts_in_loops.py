"""Buffers that calls in loops and branches pass on, or that several calls write: kept one way as long as they live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.cost.target import CPU
from egraph_rules.modules.assemble import assembled
from egraph_rules.modules.candidates import storages
from egraph_rules.modules.graph import Graph, graph_of
from egraph_rules.modules.pads import wanted_by
from egraph_rules.modules.program import ModuleSearch, search_for
from egraph_rules.modules.stages import staged, unstaged
from egraph_rules.modules.variants import Variant
from ir import interpret, parse, verify
from ir.dtypes import DType
from ir.nodes import Module, PrimFunc, Store, Undef, Var, const
from ir.presburger.index_map import IndexMap
from ir.program.calls import calls_in, without_calls
from ir.schedule.storage import Storage
from ir.transform.calls.specialize import specialized
from ir.traverse import walk
from profiles import some

BLUR = """
@T.prim_func
def blur(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = 0
        for k in range(3):
            if 0 <= i + k - 1 and i + k - 1 < 6:
                B[i] = B[i] + A[i + k - 1] % 7
"""
CHOSEN = """
@T.prim_func
def chosen(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = T.if_then_else(i > 0, A[i - 1] + 3, 3) - T.if_then_else(i < 5, A[i + 1], 0)
"""
ADD = """
@T.prim_func
def add(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = B[i] % 5 + A[i]
"""
TURN = """
@T.prim_func
def turn(A: T.Buffer((6,), "int32")):
    for i in range(3):
        A[i] = A[i] + A[5 - i] % 3
"""
COPY = """
@T.prim_func
def copy(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = A[i]
"""
KERNELS = BLUR + CHOSEN + ADD + TURN + COPY
BUFFER = 'T.Buffer((6,), "int32")'


def module(body: str) -> Module:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return parse(f"{KERNELS}\n@T.prim_func\ndef main(X: {BUFFER}, Y: {BUFFER}):\n{lines}")


LOCALS = "U = T.alloc_buffer((6,), 'int32')\nV = T.alloc_buffer((6,), 'int32')\ncopy(X, U)\n"
EITHER = "copy(X, V)\nfor t in range(4):\n    if t % 2 == 0:\n        blur(U, V)\n    else:\n        blur(V, U)\n"
AGAIN = "for t in range(2):\n    H = T.alloc_buffer((6,), 'int32')\n    copy(X, H)\n"
PROGRAMS = {
    "turns": LOCALS + "for t in range(3):\n    blur(U, V)\n    chosen(V, U)\ncopy(U, Y)",
    "a branch": LOCALS + EITHER + "copy(U, Y)",
    "an update": LOCALS + "blur(U, V)\nadd(U, V)\nturn(V)\nblur(V, Y)",
    "written twice": LOCALS + "blur(U, V)\ncopy(V, U)\nblur(U, V)\ncopy(V, Y)",
    "parameters": "for t in range(3):\n    blur(X, Y)\n    blur(Y, X)",
    "a parameter that is updated": "add(X, Y)\nblur(Y, X)\nturn(Y)",
    "made in a loop": AGAIN + "    blur(H, Y)\n    copy(Y, X)",
    "filled in a loop": AGAIN + "    turn(H)\n    blur(H, Y)",
    "read in a loop": LOCALS + "copy(U, V)\nfor t in range(2):\n    blur(V, Y)\n    add(X, Y)",
}
SEARCHES: list[ModuleSearch] = []  # what was searched once serves all tests


def search(given: Module) -> ModuleSearch:
    new = ModuleSearch(given, "main", CPU, search_for(CPU))
    SEARCHES.append(new)
    new.pricer = SEARCHES[0].pricer
    return new


def inputs(seed: int) -> list[np.ndarray]:
    return [a.astype(np.int32) for a in np.random.default_rng(seed).integers(-9, 10, (2, 6))]


def ways_of(graph: Graph) -> dict[str, list[Storage]]:
    i = Var("i", DType.INT32)
    return storages(graph, CPU, {name: [IndexMap((i,), (i // 4, i % 4))] for name in graph.between})


def forced(graph: Graph, most: int) -> Iterator[dict[str, list[Storage]]]:
    """Choices in which all buffers that are kept one way are kept in a given one."""
    ways = ways_of(graph)
    own = [name for name, between in graph.between.items() if between.one_way]
    picks = list(product(*(ways[name] for name in own)))
    for k in np.random.default_rng(0).permutation(len(picks))[:most]:
        yield {n: [w[0]] for n, w in ways.items()} | {n: [s] for n, s in zip(own, picks[k], strict=True)}


@pytest.mark.parametrize("most", [1, pytest.param(60, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("name", some(PROGRAMS, 0.11))
def test_every_way_to_keep_buffers_computes_the_same(name: str, most: int) -> None:
    given = module(PROGRAMS[name])
    check_ways(given, graph_of(given["main"]), most)


@pytest.mark.parametrize("most", [1, pytest.param(60, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("name", some(PROGRAMS, 0.22))
def test_so_does_every_way_to_keep_what_lies_between_stages_of_a_function(name: str, most: int) -> None:
    given = without_calls(module(PROGRAMS[name])["main"])
    apart = staged(given, alone=True)
    assert assert_refines(given, unstaged(apart), np.random.default_rng(0), runs=2)
    assert len(list(calls_in(apart.body))) >= 2
    check_ways(Module((given,)), graph_of(apart), most)


def check_ways(given: Module, graph: Graph, most: int) -> None:
    for offered in forced(graph, most):
        found = search(given)
        choice = found.choose(graph, offered)
        assert {n: [s] for n, s in choice.written.items() if graph.between[n].one_way}.items() <= offered.items()
        bodies: list[Callable[[Variant], PrimFunc]] = [lambda v: v.source, lambda v: v.best]
        for body in bodies:
            made = unstaged(assembled(graph, choice, found.pricer, body).entry)
            verify(made, allow_stray_loads=True)
            for seed in range(3):
                expected, result = interpret(given, *inputs(seed)), interpret(made, *inputs(seed))
                for a, b in zip(expected, result, strict=True):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["an update", "parameters"])
def test_what_is_chosen_computes_the_same_and_is_no_dearer(name: str) -> None:
    given = module(PROGRAMS[name])
    result = optimize(given)
    assert result.cost <= result.cost_before
    before, after = without_calls(given["main"]), without_calls(result.best["main"])
    assert assert_refines(before, after, np.random.default_rng(0), runs=3)


def test_padding_is_filled_once_and_kept_by_what_runs_in_a_loop() -> None:
    given = module(PROGRAMS["turns"].replace("range(3)", "range(50)").replace("chosen", "blur"))
    result = optimize(given)
    for name in ("U", "V"):
        storage = result.layouts[name].storage
        assert storage.standing
        assert storage.has_padding
        assert str(storage).endswith("padding keeps 0")
    text = str(result.best)
    assert text.count("fill(") == 3  # the function and two calls, before the loop
    assert "if " not in text
    assert text.index("fill(U)") < text.index("for t in")
    report = "\n".join(result.report.lines())
    assert "50 times" in report
    assert "U filled, " in report


@pytest.mark.fuzz  # long, and others test most of it
def test_parameters_are_copied_in_and_out_where_a_loop_pays_for_it() -> None:
    result = optimize(module(PROGRAMS["parameters"].replace("range(3)", "range(50)")))
    assert not result.layouts["X"].storage.is_plain
    assert "X copied in and out, " in "\n".join(result.report.lines())
    assert result.best["main"].params == module(PROGRAMS["parameters"])["main"].params
    assert optimize(module("blur(X, Y)\nblur(Y, X)")).layouts["X"].storage.is_plain


def test_what_is_written_once_before_it_is_read_may_still_be_converted() -> None:
    graph = graph_of(module(PROGRAMS["read in a loop"])["main"])
    assert not graph.between["V"].one_way
    assert graph.between["Y"].one_way
    made = graph_of(module(PROGRAMS["made in a loop"])["main"]).between["H"]
    assert not made.one_way
    assert [t.extent for t in made.trips] == [2]


def test_a_function_alone_keeps_padding_between_the_stages_of_its_loops() -> None:
    func = without_calls(module(PROGRAMS["turns"].replace("range(3)", "range(50)").replace("chosen", "blur"))["main"])
    result = optimize(Module((func,)))
    assert result.layouts["U"].storage.standing
    assert result.best["main"].params == func.params
    assert not any(name.startswith("main_") for name in (f.name for f in result.best.funcs))
    assert assert_refines(func, without_calls(result.best["main"]), np.random.default_rng(0), runs=3)


TURNS = "for t in range(4):\n    for i in range(6):\n        Y[i] = 3\n    for i in range(6):\n        X[i] = Y[i] + t"
ROWS = "for t in range(4):\n    for i in range(6):\n        Y[t] = X[i] + Y[t]\n    Y[t] = Y[t] // 2"
STAGES = {
    TURNS: 2,
    ROWS: 1,
    "for i in range(6):\n    Y[i] = X[i]\nX[0] = 3": 2,
    "L = T.alloc_buffer((1,), 'int32')\nL[0] = 0\nfor i in range(6):\n    L[0] = L[0] + X[i]\nY[0] = L[0]": 3,
    "for i in range(6):\n    L = T.alloc_buffer((1,), 'int32')\n    L[0] = X[i]\n    Y[i] = L[0]": 1,
    "k = X[0] % 3\nfor i in range(3):\n    Y[i + k] = X[i]\nif X[0] > 0:\n    for i in range(6):\n        Y[i] = 0": 2,
    "for i in range(6):\n    T.assume(X[i] > 0)\nfor i in range(6):\n    Y[i] = X[i]": 1,
}


@pytest.mark.parametrize("body", STAGES)
def test_stages_are_nests_and_stores(body: str) -> None:
    func = module(body)["main"]
    apart = staged(func, alone=True)
    assert len(list(calls_in(apart.body))) == STAGES[body]
    verify(apart)
    for seed in range(3):
        for a, b in zip(interpret(func, *inputs(seed)), interpret(apart, *inputs(seed)), strict=True):
            np.testing.assert_array_equal(a, b)
    again = unstaged(apart)
    assert not list(calls_in(again.body))
    assert assert_refines(func, again, np.random.default_rng(0), runs=3)


def test_a_choice_with_a_number_wants_padding_that_makes_both_sides_equal() -> None:
    func = module("blur(X, Y)")["chosen"]
    assert [v.value for v in wanted_by(func, func.buffers[0])] == [0]
    other = parse(CHOSEN.replace("+ 3, 3)", "* 2, 8)").replace(", 0)", ", 4)"))["chosen"]
    assert [v.value for v in wanted_by(other, other.buffers[0])] == [4]
    ways = ways_of(graph_of(module("H = T.alloc_buffer((6,), 'int32')\ncopy(X, H)\nchosen(H, Y)")["main"]))["H"]
    assert any(not isinstance(s.pad, Undef) and not s.standing for s in ways)


SYMBOLIC = """
@T.prim_func
def step(A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32"), n: T.int32):
    for i in range(n):
        B[i] = A[i] % 7 + T.if_then_else(i > 0, A[i - 1], 0) - T.if_then_else(i < n - 2, A[i + 2], 0)

@T.prim_func
def main(X: T.Buffer((m,), "int32"), Y: T.Buffer((m,), "int32"), m: T.int32):
    H = T.alloc_buffer((m,), "int32")
    step(X, H, m)
    for t in range(2):
        step(H, Y, m)
        step(Y, H, m)
"""


def test_buffers_of_symbolic_extents_have_room_in_the_names_of_each_function() -> None:
    given = parse(SYMBOLIC)
    graph = graph_of(specialized(given["main"]))
    ways = storages(graph, CPU, {})
    assert [str(s) for s in ways["H"]][2] == "(m + 3,) by lambda i0: (i0 + 1,), padding keeps 0"
    found = search(given)
    choice = found.choose(graph, {"X": ways["X"][:1], "H": ways["H"][2:3], "Y": ways["Y"][2:3]})
    for body in (lambda v: v.source, lambda v: v.best):
        made = assembled(graph, choice, found.pricer, body).entry
        verify(made, allow_stray_loads=True)
        steps = [c.callee for c in calls_in(made.body) if c.callee.name.startswith("step")]
        assert [str(b.shape[0]) for b in steps[-1].buffers] == ["n + 3", "n + 3"]
        for m in (0, 1, 2, 5):
            x = np.arange(m, dtype=np.int32) * 5 % 11
            for a, b in zip(interpret(given, x, m=m), interpret(made, x, m=m), strict=True):
                np.testing.assert_array_equal(a, b)
    assert "if" not in str(choice.variants[1].best.body)


ROWS_OF_OPEN_SIZES = (
    SYMBOLIC.split("@T.prim_func\ndef main")[0]
    + """
@T.prim_func
def main(X: T.Buffer((r, m), "int32"), Y: T.Buffer((r, m), "int32"), r: T.int32, m: T.int32):
    for k in range(r):
        for t in range(20):
            step(X[k, :], Y[k, :], m)
            step(Y[k, :], X[k, :], m)
"""
)
STAGES_OF_OPEN_SIZES = """
@T.prim_func
def main(X: T.Buffer((r, m), "int32"), Y: T.Buffer((r, m), "int32"), r: T.int32, m: T.int32):
    for t in range(20):
        for i, j in T.grid(r, m):
            Y[i, j] = X[i, j] % 7 + T.if_then_else(j > 0, X[i, j - 1], 0) - T.if_then_else(j < m - 2, X[i, j + 2], 0)
        for i, j in T.grid(r, m):
            X[i, j] = Y[i, j] % 5
"""


@pytest.mark.parametrize("text", [ROWS_OF_OPEN_SIZES, STAGES_OF_OPEN_SIZES])
def test_so_have_those_that_sections_are_taken_of_and_those_between_stages(text: str) -> None:
    given = parse(text)
    result = optimize(given, floats=())
    assert str(result.layouts["X"]) == "X: (r, m + 3) by lambda i0, i1: (i0, i1 + 1), padding keeps 0"
    assert result.cost * 1.1 < result.cost_before and "T.if_then_else" not in str(result.best)
    for r, m in ((0, 3), (2, 0), (3, 1), (2, 5)):
        x = np.random.default_rng(m).integers(-9, 10, (2, r, m)).astype(np.int32)
        for a, b in zip(interpret(given, *x, r=r, m=m), interpret(result.best, *x, r=r, m=m), strict=True):
            np.testing.assert_array_equal(a, b)


HEAT = """
@T.prim_func
def step(U: T.Buffer((512, 512), "float32"), V: T.Buffer((512, 512), "float32")):
    for i, j in T.grid(512, 512):
        V[i, j] = U[i, j] + 0.1 * (
            T.if_then_else(i > 0, U[i - 1, j], 0.0) + T.if_then_else(i < 511, U[i + 1, j], 0.0)
            + T.if_then_else(j > 0, U[i, j - 1], 0.0) + T.if_then_else(j < 511, U[i, j + 1], 0.0) - 4.0 * U[i, j]
        )
"""


def test_room_is_made_around_the_stage_as_it_is_written_where_the_cheapest_form_has_its_borders_apart() -> None:
    """From the nine parts of that form nothing leads back to one nest without guards."""
    step = parse(HEAT)["step"]
    pricer = ModuleSearch(Module((step,)), "step", CPU, search_for(CPU)).pricer
    assert pricer.is_apart(step) and pricer.simplest(step) is step
    index_map = IndexMap.of(lambda i, j: [i + 1, j + 1], 2)
    u, v = step.buffers
    extents = (const(514, DType.INT32),) * 2
    room = Storage(u.shape, u.dtype, index_map, const(0.0, DType.FLOAT32), extents, standing=True)
    variant = pricer.variant(step, {"U": room, "V": Storage.plain(v)})
    assert variant is not None and "if" not in str(pricer.settle(variant).best.body)
    assert sum(isinstance(s, Store) for s in walk(variant.best.body)) == 1
