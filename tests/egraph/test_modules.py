"""Modules optimized: what is chosen for the buffers between functions, and that every choice computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from msgspec.structs import replace

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.cost.target import CPU, TPU, Target
from egraph_rules.modules import program
from egraph_rules.modules.assemble import assembled
from egraph_rules.modules.candidates import storages, wanted
from egraph_rules.modules.choice import Choice, Conversion
from egraph_rules.modules.graph import graph_of
from egraph_rules.modules.pads import wanted_by
from egraph_rules.modules.picture import dot
from egraph_rules.modules.program import ModuleSearch, search_for
from egraph_rules.modules.stages import staged
from egraph_rules.modules.variants import GAP
from ir import interpret, parse, verify
from ir.errors import LoopsatError, OptionError, ScheduleError
from ir.nodes import Const, For, Load, Module, PrimFunc, Select, Store, Undef
from ir.program.calls import calls_in, calls_only_leaves, without_calls
from ir.transform.calls.specialize import specialized
from ir.traverse import walk
from lower import compile
from profiles import some

CHAIN = """
@T.prim_func
def addone(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = A[i] + 1

@T.prim_func
def total(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in range(14):
        B[0] = B[0] + A[i]

@T.prim_func
def most(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = -2147483648
    for i in range(14):
        B[0] = T.max(B[0], A[i])

@T.prim_func
def main(X: T.Buffer((14,), "int32"), Y: T.Buffer((1,), "int32")):
    H = T.alloc_buffer((14,), "int32")
    addone(X, H)
    CONSUMER(H, Y)
"""
IMPLEMENTATIONS = """
@T.prim_func
def one(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = A[i] + 1

@T.prim_func
def two(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    AC = T.alloc_buffer((4, 4), "int32")
    BC = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            AC[io, ii] = A[4 * io + ii]
    for i in T.serial(14):
        BC[i // 4, i % 4] = AC[i // 4, i % 4] + 1
    for i in T.serial(14):
        B[i] = BC[i // 4, i % 4]

@T.prim_func
def three(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    AC = T.alloc_buffer((4, 4), "int32")
    BC = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        AC[io, ii] = T.if_then_else(4 * io + ii < 14, A[4 * io + ii], 0)
    for i in T.serial(14):
        BC[i // 4, i % 4] = AC[i // 4, i % 4] + 1
    for i in T.serial(14):
        B[i] = BC[i // 4, i % 4]

@T.prim_func
def four(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    AC = T.alloc_buffer((4, 4), "int32")
    BC = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        AC[io, ii] = T.if_then_else(4 * io + ii < 14, A[4 * io + ii], T.undef())
    for io, ii in T.grid(4, 4):
        BC[io, ii] = AC[io, ii] + 1
    for i in T.serial(14):
        B[i] = BC[i // 4, i % 4]

@T.prim_func
def five(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    AC = T.alloc_buffer((4, 4), "int32")
    BC = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        AC[io, ii] = T.if_then_else(4 * io + ii < 14, A[4 * io + ii], 0)
    for io, ii in T.grid(4, 4):
        BC[io, ii] = AC[io, ii] + 1
    for i in T.serial(14):
        B[i] = BC[i // 4, i % 4]
"""
TILES = lambda i: [i // 4, i % 4]  # noqa: E731
# Branches are dear, so that what padding buys shows.
BRANCHES = replace(CPU, mask=4.0, reduction_mask=12.0, store_slice=2.0, reduction_slice=6.0)


SEARCHES: dict[Target, ModuleSearch] = {}  # what was searched once serves all tests


def searching(module: Module, target: Target) -> ModuleSearch:
    new = ModuleSearch(module, "main", target, search_for(target))
    new.pricer = SEARCHES.setdefault(target, new).pricer
    return new


def chosen(module: Module, target: Target, *, only: bool = True, free: Sequence[str] = (), **maps: object) -> Choice:
    """The choice where the buffers in `maps` are kept so (`only`), with whatever padding."""
    graph = graph_of(module["main"], free)
    ways = storages(graph, target, {name: [m] for name, m in maps.items()})  # pyright: ignore
    ways = {n: [s for s in w if not (only and n in maps and s.is_plain)] for n, w in ways.items()}
    return searching(module, target).choose(graph, ways)


def pad(choice: Choice, name: str) -> int | str:
    value = choice.written[name].pad
    return "undef" if isinstance(value, Undef) else value.value if isinstance(value, Const) else "?"


def chain(consumer: str) -> Module:
    return parse(CHAIN.replace("CONSUMER", consumer))


def test_without_tiles_a_chain_of_functions_becomes_one():
    result = optimize(chain("total"))
    assert result.cost < result.cost_before
    assert not any(True for f in result.best.funcs for _ in calls_in(f.body))
    assert all(layout.storage.is_plain for layout in result.layouts.values())
    x = np.arange(14, dtype=np.int32)
    assert interpret(result.best, x)[0] == interpret(chain("total"), x)[0] == [105]
    assert "callees inlined, buffers as they are (taken)" in str(result)


def test_pad_values_flow_from_reductions_back_through_what_computes_their_input():
    graph = graph_of(chain("total")["main"])
    assert {n: [v.value for v in vs] for n, vs in wanted(graph).items()} == {"X": [-1], "H": [0], "Y": []}


@pytest.mark.parametrize(("consumer", "reads"), [("total", 0), ("most", -(2**31))])
def test_a_reduction_in_tiles_wants_its_neutral_element_of_its_producer(consumer: str, reads: int):
    """The constraint flows from consumer to producer: what is asked of H depends on what reads it."""
    choice = chosen(chain(consumer), BRANCHES, H=TILES)
    assert pad(choice, "H") == reads


def test_a_freed_input_holds_what_makes_the_producer_write_the_pad_value_itself():
    """Implementation 4 of `addone`: it runs over all of its padded input, and its output needs 0 there."""
    choice = chosen(chain("total"), BRANCHES, free=("X",), X=TILES, H=TILES)
    assert (pad(choice, "X"), pad(choice, "H")) == (-1, 0)
    text = str(choice.variants[0].best)
    assert "if" not in text and "T.grid(4, 4)" in text


def test_the_graph_is_a_picture_with_layouts_pad_values_and_prices():
    module = chain("total")
    choice = chosen(module, BRANCHES, free=("X",), X=TILES, H=TILES)
    graph = graph_of(module["main"], ("X",))
    lines = [line.strip() for line in dot(graph, choice).splitlines()]
    assert lines[0] == 'digraph "main" {' and lines[-1] == "}"
    boxes = [rf'call{k} [shape=box, label="{v}\n{choice.variants[k].price:,.0f}"];' for k, v in enumerate(CALLED)]
    kept = choice.variants[1].storages["A"]
    stored = rf'"H" [shape=ellipse, label="H\n{choice.written["H"]}"];'
    assert {*boxes, stored, f'"H" -> call1 [label="A: {kept}"];'} <= {*lines}
    assert sum("->" in line for line in lines) == 4 and "padding holds 0" in str(kept)
    plain = choice.written["Y"]
    moved = Conversion("H", choice.written["H"], plain, choice.variants[0])
    second = replace(choice.variants[1], storages={"A": plain, "B": plain})
    converted = replace(choice, conversions=(moved,), variants=(choice.variants[0], second))
    text = dot(graph, converted)
    assert '"H" -> conversion0;' in text and "conversion0 -> call1" in text and '"H" -> call1' not in text
    assert rf'label="to {plain}\n{moved.price:,.0f}"' in text


CALLED = ("addone", "total")


def test_an_elementwise_reader_asks_for_nothing():
    """Undef padding is enough for one that runs over it: nobody looks at what it makes of it."""
    module = parse(
        CHAIN.replace("CONSUMER(H, Y)", "G = T.alloc_buffer((14,), 'int32')\n    addone(H, G)\n    total(G, Y)")
    )
    choice = chosen(module, BRANCHES, H=TILES)
    assert isinstance(choice.variants[1].storages["A"].pad, Undef)
    assert not choice.conversions


PAIR = """
@T.prim_func
def main(X: T.Buffer((14,), "int32"), Y: T.Buffer((14,), "int32")):
    H = T.alloc_buffer((14,), "int32")
    {0}(X, H)
    {1}(H, Y)
"""


PAIRS = [("two", "three"), *(pytest.param(p, marks=pytest.mark.fuzz) for p in (("five", "three"), ("four", "two")))]


@pytest.mark.parametrize("pair", PAIRS)
def test_crop_and_pad_between_implementations_disappear(pair: tuple[str, str]):
    """Copies into and out of tiles are candidates for the buffer between, which then needs neither of them."""
    module = parse(IMPLEMENTATIONS + PAIR.format(*pair))
    graph = graph_of(module["main"])
    ways = storages(graph, CPU, {})
    maps = {str(s.index_map) for s in ways["H"]}  # the same ones whichever of the two copies tells
    assert maps == {"lambda i0: (i0,)", "lambda i0: (i0 // 4, i0 % 4)"}
    x = np.arange(14, dtype=np.int32)
    result = searching(module, CPU).run((), {})
    assert result.cost <= result.cost_before
    np.testing.assert_array_equal(interpret(result.best, x)[0], x + 2)
    assert "AC" not in str(result.best) and "BC" not in str(result.best)


def test_a_function_alone_keeps_its_interface():
    for func in parse(IMPLEMENTATIONS).funcs[1:2]:
        module = Module((func,))
        search = searching(module, CPU)
        search.entry = func.name
        result = search.run((), {})
        assert result.best[func.name].params == func.params
        assert all(layout.storage.is_plain for layout in result.layouts.values())


FORCED = """
@T.prim_func
def scale(A: T.Buffer((3, 4), "float32"), s: T.float32, B: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        B[i, j] = A[i, j] * s

@T.prim_func
def sums(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[i] = 0.0
        for j in range(4):
            B[i] += A[i, j]

@T.prim_func
def main(X: T.Buffer((3, 4), "float32"), Y: T.Buffer((3,), "float32")):
    H = T.alloc_buffer((3, 4), "float32")
    scale(X, 2.0, H)
    sums(H, Y)
"""


@pytest.mark.parametrize("most", [1, pytest.param(99, marks=pytest.mark.fuzz)])
def test_every_layout_forced_in_turn_computes_the_same(most: int):
    module = parse(FORCED)
    graph = graph_of(module["main"], ("X",))
    search = searching(module, TPU)
    maps = {
        "H": [lambda i, j: [j, i], lambda i, j: [(i + 1) // 2, j, (i + 1) % 2]],
        "X": [lambda i, j: [i // 2, j // 3, i % 2, j % 3]],
    }
    ways = storages(graph, replace(TPU, tiles=(2, 3)), maps)
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (3, 4)).astype(np.float32)
    expected = interpret(module, x)
    plain = {name: [w[0]] for name, w in ways.items()}
    forced = 0
    for name in ("X", "H"):
        for storage in ways[name][1 : most + 1]:
            offered = {**plain, name: [storage]}
            choice = search.choose(graph, offered)
            for body in (lambda v: v.source, lambda v: v.best):
                made = assembled(graph, choice, search.pricer, body)
                verify(made.entry, allow_stray_loads=True)
                packed = x
                for pack in made.packs:
                    (packed,) = interpret(pack, x)
                found = interpret(made.entry, packed)
                for a, b in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(a, b)
            forced += 1
    assert forced >= min(2 * most, 6)
    assert search.pricer.searches < search.pricer.asked


def test_the_result_is_never_dearer_than_what_is_given() -> None:
    """Also where the price of programs as a whole disagrees with the search."""
    module = chain("total")
    result = optimize(module, whole=lambda func: float(len(str(func.body)) < 150))
    assert result.cost <= result.cost_before


def test_equal_structure_is_searched_once() -> None:
    """Names say nothing: nine calls of kernels that differ in nothing else take one search, and one as a whole."""
    buffer = "T.Buffer((14,), 'int32')"
    kernel = (
        f"@T.prim_func\ndef k{{0}}(A{{0}}: {buffer}, B: {buffer}):\n"
        "    for i{0} in range(14):\n        B[i{0}] = A{0}[i{0}] + 1\n"
    )
    local = [f"H{k} = T.alloc_buffer((14,), 'int32')" for k in range(1, 9)]
    names = ["X", *(f"H{k}" for k in range(1, 9)), "Y"]
    calls = [f"k{k % 3}({a}, {b})" for k, (a, b) in enumerate(pairwise(names))]
    body = "\n    ".join((*local, *calls))
    params = f"X: {buffer}, Y: {buffer}"
    module = parse("".join(map(kernel.format, range(3))) + f"\n@T.prim_func\ndef main({params}):\n    {body}\n")
    result = optimize(module)
    assert result.report.searches == 2 < result.report.asked
    x = np.arange(14, dtype=np.int32)
    np.testing.assert_array_equal(interpret(result.best, x)[0], x + 9)


def test_a_freed_parameter_is_packed_by_a_function_of_the_module():
    module = chain("total")
    graph = graph_of(module["main"], ("X",))
    choice = chosen(module, BRANCHES, free=("X",), X=TILES, H=TILES)
    made = assembled(graph, choice, searching(module, BRANCHES).pricer, lambda v: v.best)
    x = np.arange(14, dtype=np.int32)
    (packed,) = interpret(made.packs[0], x)
    np.testing.assert_array_equal(packed, np.append(x, [-1, -1]).reshape(4, 4))
    assert interpret(made.entry, packed, sanitize=True)[0] == [105]
    with pytest.raises(LoopsatError, match="does not hold"):
        interpret(made.entry, packed * 0, sanitize=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"free": ("Y",)}, "`Y` cannot be free: main writes it"),
        ({"free": ("W",)}, "main has no buffer parameter `W`"),
        ({"maps": {"W": [TILES]}}, "main has no buffer `W`"),
        ({"maps": {"H": [lambda i: [i // 2]]}}, "index map of H puts two elements into one place"),
        ({"maps": {"H": [lambda i, j: [i, j]]}}, "takes 2 indices"),
        ({"maps": {"H": lambda i: [i // 2]}}, "index map of H puts two elements into one place"),
        ({"maps": [TILES]}, "maps are given by the name of a buffer, found list"),
        ({"entry": "maine"}, "no function `maine`"),
        ({"entry": "elsewhere"}, "as in entry='main'"),
        ({"target": "pdp11"}, "no target `pdp11`"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str):
    with pytest.raises((OptionError, ScheduleError, LoopsatError)) as found:
        optimize(chain("total"), **options)  # pyright: ignore
    assert message in str(found.value)


def test_buffers_that_are_used_otherwise_stay_and_the_report_says_why():
    text = (
        CHAIN.replace("CONSUMER(H, Y)", "T.assume(H[0] < 100)\n    total(H, Y)\n    addone(R[1, :], H)")
        .replace(
            "addone(X, H)", "R = T.alloc_buffer((2, 14), 'int32')\n    addone(X, R[X[0] % 2, :])\n    addone(X, H)"
        )
        .replace("R[1, :], H", "R[X[0] % 2, :], H")
    )
    result = optimize(parse(text))
    assert result.layouts.keys() == {"Y"}
    fixed = result.report.graph.fixed
    assert fixed["H"] == fixed["X"] == "main reads elements of it"
    assert fixed["R"] == "addone takes the section R[X[0] % 2, 0:14]"
    x = np.arange(14, dtype=np.int32)
    assert interpret(result.best, x)[0] == interpret(parse(text), x)[0]


CONVOLUTION = """
@T.prim_func
def conv(A: T.Buffer((8,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = 0
        for f in range(3):
            if 0 <= i + f - 1 and i + f - 1 < 8:
                B[i] = B[i] + F[f] * A[i + f - 1]

@T.prim_func
def main(X: T.Buffer((8,), "int32"), F: T.Buffer((3,), "int32"), Y: T.Buffer((8,), "int32")):
    conv(X, F, Y)
"""


def test_a_padded_convolution_gets_room_around_its_freed_input_and_loses_its_guard():
    module = parse(CONVOLUTION)
    result = optimize(module, free="X")
    assert result.cost < 0.9 * result.cost_before
    layout = result.layouts["X"]
    assert [int(e.value) for e in layout.storage.physical_shape if isinstance(e, Const)] == [10]
    assert "if" not in str(result.best["conv" if len(result.best.funcs) > 2 else "main"])
    rng = np.random.default_rng(0)
    x, f = rng.integers(-5, 6, 8).astype(np.int32), rng.integers(-5, 6, 3).astype(np.int32)
    packed = layout.pack(x)
    np.testing.assert_array_equal(packed, np.pad(x, 1))
    np.testing.assert_array_equal(interpret(result.best, x, entry="pack_X")[0], packed)
    expected = interpret(module, x, f)[0]
    np.testing.assert_array_equal(interpret(result.best, packed, f, sanitize=True)[0], expected)
    np.testing.assert_array_equal(np.asarray(compile(result.best)(packed, f)[0]), expected)
    assert "X" in str(result.report) and "padding holds 0" in str(result)


@pytest.mark.fuzz
def test_the_first_of_two_padded_convolutions_writes_the_border_of_the_second():
    calls = "    H = T.alloc_buffer((8,), 'int32')\n    conv(X, F, H)\n    conv(H, F, Y)\n"
    text = CONVOLUTION.replace("    conv(X, F, Y)\n", calls)
    result = optimize(parse(text))
    layout = result.layouts["H"]
    assert str(layout.index_map) == "lambda i0: (i0 + 1,)" and str(layout.pad_value) == "0"
    assert result.cost < 0.85 * result.cost_before
    rng = np.random.default_rng(0)
    x, f = rng.integers(-5, 6, 8).astype(np.int32), rng.integers(-5, 6, 3).astype(np.int32)
    np.testing.assert_array_equal(interpret(result.best, x, f)[0], interpret(parse(text), x, f)[0])


STENCIL = """
@T.prim_func
def stencil(A: T.Buffer((24,), "DTYPE"), B: T.Buffer((24,), "int32")):
    for i in range(24):
        B[i] = 0
        for f in range(3):
            if 0 <= i + f - 1 and i + f - 1 < 24:
                B[i] += T.cast(A[i + f - 1], "int32") - ZERO

"""


def stencils(count: int, stage: str = STENCIL) -> Module:
    """A chain of padded sums of three."""
    text = stage.replace("DTYPE", "int32").replace(" - ZERO", "")
    buffer, names = "T.Buffer((24,), 'int32')", ["X", *(f"H{k}" for k in range(count - 1)), "Y"]
    local = [f"{h} = T.alloc_buffer((24,), 'int32')" for h in names[1:-1]]
    calls = [f"stencil({a}, {b})" for a, b in pairwise(names)]
    main = f"@T.prim_func\ndef main(X: {buffer}, Y: {buffer}):\n    " + "\n    ".join((*local, *calls)) + "\n"
    return parse(text + main)


def test_layers_that_repeat_are_searched_once_and_only_what_a_choice_may_take() -> None:
    pricer, counts = searching(stencils(2), CPU).pricer, list[int]()
    for layers in (3, 6):
        module = stencils(layers)
        graph = graph_of(module["main"])
        choice = searching(module, CPU).choose(graph, storages(graph, CPU, {}))
        assert [pad(choice, f"H{k}") for k in range(layers - 1)] == [0] * (layers - 1)
        assert sum(v.cost.found or inf for v in choice.variants) <= choice.price * (1.0 + GAP)
        counts.append(pricer.searches)
    assert counts[0] == counts[1]
    assert any(v is not None and not v.is_settled for v in pricer.variants.values())


def test_calls_are_joined_for_guards_that_stay_and_not_for_those_that_become_bounds_of_loops() -> None:
    """Nor for those without which a callee would leave its buffers, whatever these hold."""
    shorter, thinned = (
        STENCIL.replace("0 <= i + f - 1 and i + f - 1 < 24", cond).replace("A[i + f - 1]", "A[i]")
        for cond in ("f < 2", "(i + f) % 2 == 0")
    )
    for stage, joins in ((STENCIL, False), (shorter, False), (thinned, True)):
        search = searching(stencils(12, stage), CPU)
        search.run((), {})
        assert bool(search.paid) is joins


def test_a_copy_of_a_part_is_no_way_to_keep_the_whole() -> None:
    """A local buffer of 10 holds the first elements of one of 12: kept as that is, it would have no place for two."""
    module = parse("""
@T.prim_func
def fill(X: T.Buffer((12,), "float32"), H: T.Buffer((12,), "float32")):
    for i in range(12):
        H[i] = X[i] * 2.0

@T.prim_func
def use(H: T.Buffer((12,), "float32"), Y: T.Buffer((12,), "float32")):
    L = T.alloc_buffer((10,), "float32")
    for i in range(10):
        L[i] = H[i]
    for i in range(12):
        Y[i] = H[i] + T.if_then_else(i < 10, L[i], 0.0)

@T.prim_func
def main(X: T.Buffer((12,), "float32"), Y: T.Buffer((12,), "float32")):
    H = T.alloc_buffer((12,), "float32")
    fill(X, H)
    use(H, Y)
""")
    assert all(s.is_plain for s in storages(graph_of(module["main"]), CPU, {})["H"])


def padded_layers(count: int, last: str) -> Module:
    """Layers that pad what they get, compute on that, and crop it."""
    plain, room = "T.Buffer((24,), 'int32')", "T.Buffer((26,), 'int32')"
    text = f"""
@T.prim_func
def pad(A: {plain}, P: {room}):
    for i in range(26):
        P[i] = T.if_then_else(i >= 1 and i < 25, A[i - 1], 0)

@T.prim_func
def double(P: {room}, Q: {room}):
    for i in range(26):
        Q[i] = P[i] * 2

@T.prim_func
def crop(Q: {room}, B: {plain}):
    for i in range(24):
        B[i] = Q[i + 1]

@T.prim_func
def main(X: {plain}, Y: {plain}):
"""
    names = ["X", *(f"H{k}" for k in range(count - 1)), "Y"]
    lines = [f"{h} = T.alloc_buffer((24,), 'int32')" for h in names[1:-1]]
    lines += [f"{b}{k} = T.alloc_buffer((26,), 'int32')" for k in range(count) for b in "PQ"]
    for k, (a, b) in enumerate(pairwise(names)):
        lines += [f"pad({a}, P{k})", f"double(P{k}, Q{k})", f"crop(Q{k}, {b})"]
    return parse(text + "".join(f"    {line}\n" for line in (*lines, last)))


def test_crops_meet_pads_in_modules_that_are_not_searched_as_a_whole() -> None:
    """Also those of other calls: that what they get has zeros around it is known from one to the next."""
    module = padded_layers(8, "pass")
    result = optimize(module)
    best = without_calls(result.best["main"])
    assert_refines(without_calls(module["main"]), best, np.random.default_rng(0), runs=2)
    stores = [s for s in walk(best.body) if isinstance(s, Store)]
    assert len(stores) <= 9 and not any(isinstance(s.value, (Load, Select)) for s in stores)  # that only move


@pytest.mark.fuzz  # long, and others test most of it
def test_what_is_read_again_stays_between_calls() -> None:
    """A crop that somebody else reads too, and buffers for which the caller gives maps."""
    module = padded_layers(8, "crop(Q3, H0)")
    result = optimize(module)
    before, after = without_calls(module["main"]), without_calls(result.best["main"])
    assert_refines(before, after, np.random.default_rng(0), runs=2)
    given = optimize(padded_layers(8, "pass"), maps={"H1": [lambda i: [i // 4, i % 4]]})
    assert "H1" in given.layouts


@pytest.mark.fuzz
def test_what_is_not_searched_could_not_have_been_cheaper() -> None:
    """The choice is that of all variants searched, but for the gap."""
    module = stencils(2)
    graph = graph_of(module["main"])
    ways = storages(graph, CPU, {})
    lazy, full = (ModuleSearch(module, "main", CPU, search_for(CPU)) for _ in range(2))
    price = lazy.choose(graph, ways).price
    full.pricer.known = dict(lazy.pricer.known)
    full.choose(graph, ways)
    for variant in full.pricer.variants.values():
        if variant is not None:
            assert full.pricer.settle(variant).price >= 0.99 * variant.cost.floor
    assert price <= full.choose(graph, ways).price <= price * (1.0 + GAP)
    assert full.pricer.searches > lazy.pricer.searches


def test_all_forms_of_a_variant_leave_in_padding_what_it_is_to_hold() -> None:
    """Also the one that fills it first: what comes after must not take that for dead."""
    module = stencils(2)
    graph = graph_of(module["main"])
    search = searching(module, CPU)
    ways = storages(graph, CPU, {})
    x = np.arange(24, dtype=np.int32) % 5
    padded = [s for s in ways["H0"] if s.has_padding and isinstance(s.pad, Const)]
    assert padded
    (plain,) = interpret(module["stencil"], x)
    for storage in padded:
        variant = search.pricer.variant(module["stencil"], {"A": ways["X"][0], "B": storage})
        assert variant is not None
        forms = [*search.pricer.forms(variant)]
        assert len(forms) == 3
        for form in (*forms, *(search.pricer.best(f)[0] for f in forms)):
            np.testing.assert_array_equal(interpret(form, x)[0], np.pad(plain, 1))


def test_padding_holds_the_zero_point_of_narrow_integers() -> None:
    (func,) = parse(STENCIL.replace("DTYPE", "int8").replace("ZERO", "3")).funcs
    assert [v.value for v in wanted_by(func, func.buffers[0])] == [3]
    (func,) = parse(STENCIL.replace("DTYPE", "int8").replace("ZERO", "300")).funcs
    assert not wanted_by(func, func.buffers[0])  # no int8


@pytest.mark.parametrize(
    ("saving", "objection", "moved"), some([(0.2, False, True), (0.05, False, False), (0.2, True, False)], 0.45)
)
def test_other_layouts_need_a_saving_and_no_objection(saving: float, objection: bool, moved: bool) -> None:
    module = stencils(2)
    search = searching(module, CPU)
    search.whole = lambda func: 1000.0 * (1.0 - saving * ("(26,)" in str(func)))
    search.confirm = lambda before, after: not objection
    result = search.run((), {})
    assert any(not layout.storage.is_plain for layout in result.layouts.values()) == moved
    assert result.cost <= result.cost_before


def test_a_callee_stays_as_it_is_where_its_equivalent_is_dearer_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "INLINED", 0)
    monkeypatch.setattr(program, "joined", lambda entry, pays, guarded, apart: entry)
    module = parse(IMPLEMENTATIONS + PAIR.format("three", "three"))
    for sign, copied in ((1, False), (-1, True)):  # the cheapest form has no copies, which takes fewer loops
        price = lambda f, sign=sign: 100.0 + sign * sum(isinstance(s, For) for s in walk(f.body))  # noqa: E731
        best = optimize(module, whole=price).best
        callees = [f for f in best.funcs if f.name.startswith("three")]
        assert callees and all(("AC" in str(f)) == copied for f in callees)


BLOCKS = """
@T.prim_func
def pack_a(A: T.Buffer((12, 8), "int32"), P: T.Buffer((3, 2, 4, 4), "int32")):
    for i, k, u, v in T.grid(3, 2, 4, 4):
        P[i, k, u, v] = A[i * 4 + u, k * 4 + v]

@T.prim_func
def pack_b(B: T.Buffer((8, 8), "int32"), P: T.Buffer((2, 2, 4, 4), "int32")):
    for k, j, u, v in T.grid(2, 2, 4, 4):
        P[k, j, u, v] = B[k * 4 + u, j * 4 + v]

@T.prim_func
def product(A: T.Buffer((3, 2, 4, 4), "int32"), B: T.Buffer((2, 2, 4, 4), "int32"), C: T.Buffer((3, 2, 4, 4), "int32")):
    for i, j, u, v in T.grid(3, 2, 4, 4):
        C[i, j, u, v] = 0
        for k, w in T.grid(2, 4):
            C[i, j, u, v] += A[i, k, u, w] * B[k, j, w, v]

@T.prim_func
def unpack(P: T.Buffer((3, 2, 4, 4), "int32"), C: T.Buffer((12, 8), "int32")):
    for i, j in T.grid(12, 8):
        C[i, j] = P[i // 4, j // 4, i % 4, j % 4]

@T.prim_func
def main(X: T.Buffer((12, 8), "int32"), W: T.Buffer((8, 8), "int32"), Y: T.Buffer((12, 8), "int32")):
    P = T.alloc_buffer((3, 2, 4, 4), "int32")
    Q = T.alloc_buffer((2, 2, 4, 4), "int32")
    R = T.alloc_buffer((3, 2, 4, 4), "int32")
    pack_a(X, P)
    pack_b(W, Q)
    product(P, Q, R)
    unpack(R, Y)
"""


def axes(func: PrimFunc) -> list[int]:
    """How many axes the buffers have that stores write."""
    return [len(s.buffer.shape) for s in walk(func.body) if isinstance(s, Store)]


def test_packing_and_unpacking_around_a_product_of_blocks_cancel() -> None:
    """Buffers may be kept as those are that callees copy them from or to; what is left is one product."""
    module = parse(BLOCKS)
    ways = storages(graph_of(module["main"]), CPU, {})
    flat = "lambda i0, i1, i2, i3: (i2 + 4 * i0, i3 + 4 * i1)"
    assert all(flat in [str(s.index_map) for s in ways[name]] for name in "PQR")
    result = optimize(module, whole=lambda f: float(sum(9**count for count in axes(f))))
    assert result.report.taken.startswith("callees inlined")  # then a search finds what layouts would give
    best = without_calls(result.best["main"])
    assert_refines(without_calls(module["main"]), best, np.random.default_rng(0), runs=2)
    assert len(axes(best)) <= 3 and {*axes(best)} == {2}


def test_reports_name_what_moved_and_what_was_not_worth_it() -> None:
    module = parse(CHAIN.replace("CONSUMER", "total"))
    moved = optimize(module, whole=lambda f: 1.0 / len(str(f)), maps={"H": [TILES]})
    report = str(moved)
    assert "as the program has them: X, Y" in report
    assert "by the code that they become" in report
    assert "H: as it is" not in report and "A = X" not in report and "addone(X, H): " in report
    stays = optimize(parse(BLOCKS), whole=lambda f: 1.0)
    assert stays.report.left and f"not worth it: {stays.report.left[0]}" in str(stays)


NESTED = """
@T.module
class net:
    @T.prim_func
    def pad(X: T.Buffer((14,), "int32"), Y: T.Buffer((16,), "int32")):
        for i in range(16):
            Y[i] = T.if_then_else(i < 14, X[i], 0)

    @T.prim_func
    def crop(X: T.Buffer((16,), "int32"), Y: T.Buffer((14,), "int32")):
        for i in range(14):
            Y[i] = X[i]

    @T.prim_func
    def double(X: T.Buffer((16,), "int32"), W: T.Buffer((1,), "int32"), Y: T.Buffer((16,), "int32")):
        for i in range(16):
            Y[i] = X[i] * W[0]

    @T.prim_func
    def layer(X: T.Buffer((14,), "int32"), W: T.Buffer((3, 1), "int32"), k: T.int32, Y: T.Buffer((14,), "int32")):
        T.assume(0 <= k and k < 3)
        P = T.alloc_buffer((16,), "int32")
        Q = T.alloc_buffer((16,), "int32")
        net.pad(X, P)
        net.double(P, W[k, :], Q)
        net.crop(Q, Y)

    @T.prim_func
    def stack(X: T.Buffer((14,), "int32"), W: T.Buffer((3, 1), "int32"), Y: T.Buffer((14,), "int32")):
        H = T.alloc_buffer((2, 14), "int32")
        net.layer(X, W, 0, H[0, :])
        net.layer(H[0, :], W, 1, H[1, :])
        net.layer(H[1, :], W, 2, Y)

    @T.prim_func
    def main(X: T.Buffer((14,), "int32"), W: T.Buffer((3, 1), "int32"), Y: T.Buffer((14,), "int32")):
        net.stack(X, W, Y)
"""


def test_functions_that_only_call_others_are_part_of_the_graph() -> None:
    module, rng = parse(NESTED), np.random.default_rng(0)
    leaves = calls_only_leaves(module["main"])
    assert [c.callee.name for c in calls_in(leaves.body)] == ["pad", "double", "crop"] * 3
    assert_refines(module["main"], leaves, rng)
    graph = graph_of(specialized(staged(module["main"], alone=False)))
    assert len(graph.calls) == 9 and len(graph.between) == 4 + 6
    result = optimize(module)
    assert_refines(module["main"], result.best["main"], rng)


WIDE = """
@T.prim_func
def conv(A: T.Buffer((4096,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((4096,), "int32")):
    for i in range(4096):
        B[i] = 0
        for f in range(3):
            if 0 <= i + f - 1 and i + f - 1 < 4096:
                B[i] += F[f] * (A[i + f - 1] - 7)

@T.prim_func
def main(X: T.Buffer((4096,), "int32"), F: T.Buffer((3,), "int32"), Y: T.Buffer((4096,), "int32")):
    conv(X, F, Y)
"""


def test_kernels_take_freed_parameters_as_their_layouts_pack_them() -> None:
    module, rng = parse(WIDE), np.random.default_rng(0)
    kernel = compile(module, free=("X",))
    x, f = rng.integers(-9, 9, 4096, dtype=np.int32), rng.integers(-9, 9, 3, dtype=np.int32)
    packed = kernel.layout("X").pack(x)
    assert packed.shape == (4098,) and packed[0] == packed[-1] == kernel.layout("X").pad == 7
    assert np.array_equal(kernel(packed, f)[0], compile(module)(x, f)[0])
    assert np.array_equal(kernel.layout("X").unpack(packed), x)
    for wrong in (module["conv"], module):
        with pytest.raises(LoopsatError, match="free"):
            compile(wrong, free="X" if wrong is not module else "Y")
