"""Bounds of staged programs: the worked examples of TVM's InferBound document, and random programs against a walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import parse, te, to_script
from ir.bounds import Bounds, Box, Part, Piece, StageBounds, infer_bounds
from ir.errors import LoopsatError
from ir.nodes import Expr, PrimFunc
from ir.schedule import Schedule
from ir.semantics.machine import Machine
from ir.semantics.verify import verify
from ir.traverse import free_vars
from profiles import few, some


def program(body: str, params: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    func = parse(f"from ir import script as T\n\n\n@T.prim_func\ndef f({params}):\n{lines}\n").funcs[0]
    verify(func)
    return func


def value(expr: Expr | None, **names: int) -> int:
    """The value of an integer expression."""
    assert expr is not None
    machine = Machine(False, np.random.default_rng(0), None)
    machine.scalars.update({v: names[v.name] for v in free_vars(expr)})
    return int(machine.value(expr))  # pyright: ignore


def points(part: Part, rank: int, extent: int, **names: int) -> set[tuple[int, ...]]:
    """The elements that the written form of a part describes."""
    assert part.pieces is not None
    found: set[tuple[int, ...]] = set()
    for place in product(range(-1, extent + 1), repeat=rank):
        inside = [_holds(piece, place, names) for piece in part.pieces]
        assert sum(inside) <= 1, "the pieces overlap"
        if any(inside):
            found.add(place)
    return found


def _holds(piece: Box | Piece, place: tuple[int, ...], names: dict[str, int]) -> bool:
    if isinstance(piece, Piece):
        return bool(value(piece.condition, **names, **dict(zip(piece.names, place, strict=True))))
    ranges = [(value(r.min, **names), value(r.extent, **names)) for r in piece.ranges]
    return all(low <= x < low + count for x, (low, count) in zip(place, ranges, strict=True))


# The document's examples ---------------------------------------------------------------------------------------------

TWO = 'D: T.Buffer((5, 16), "int32")'
ATTACHED = """
C = T.alloc_buffer((5, 16), "int32")
for i in range(5):
    {outer}
        with T.block("C"):
            {vi}
            {vj}
            C[vi, vj] = 5
    {inner}
"""


def two_stages() -> PrimFunc:
    C = te.compute((5, 16), lambda i, j: 5, name="C")
    return te.create_prim_func([te.compute((5, 16), lambda i, j: C[i, j] * 2, name="D")])


def test_example_1_asks_for_everything() -> None:
    bounds = infer_bounds(two_stages())
    assert [s.attach_path for s in bounds.stages] == [(), ()]
    assert [(v.name, str(v.range)) for v in bounds.stage("C").loops] == [("i", "0:5"), ("j", "0:16")]
    assert str(bounds.buffer("C")["D"]) == "[0:5, 0:16]"
    assert value(bounds.buffer("C").requested.elements) == 80


def test_example_2_asks_for_one_element() -> None:
    func = program(
        """
C = T.alloc_buffer((5, 16), "int32")
for i, j in T.grid(5, 16):
    for ci, cj in T.grid(1, 1):
        with T.block("C"):
            vi = T.axis.spatial(5, i + ci)
            vj = T.axis.spatial(16, j + cj)
            C[vi, vj] = 5
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = C[vi, vj] * 2
""",
        TWO,
    )
    bounds = infer_bounds(func)
    stage, buffer = bounds.stage("C"), bounds.buffer("C")
    assert stage.attach_path == ("j", "i") and bounds.stage("D").attach_path == ()
    assert (to_script(stage["vi"].min), to_script(stage["vi"].extent)) == ("i", "1")
    assert str(buffer["D"]) == "[i, j]" and value(buffer.requested.elements) == 1
    assert str(buffer.allocation) == "[i, j]"


def test_example_3_asks_for_a_row() -> None:
    func = program(
        """
C = T.alloc_buffer((5, 16), "int32")
for i in range(5):
    for cj in range(16):
        C[i, cj] = 5
    for j in range(16):
        D[i, j] = C[i, j] * 2
""",
        TWO,
    )
    buffer = infer_bounds(func).buffer("C")
    assert buffer.attach_path == ("i",)
    assert str(buffer["D"]) == "[i, 0:16]" and value(buffer.requested.elements) == 16


def test_example_4_keeps_the_loop_that_the_producer_does_not_use() -> None:
    func = program(
        """
C = T.alloc_buffer((5, 16), "int32")
for di, dj, dk in T.grid(4, 5, 16):
    C[dj, dk] = 5
    D[di, dj, dk] = C[dj, dk] * 2
""",
        'D: T.Buffer((4, 5, 16), "int32")',
    )
    buffer = infer_bounds(func).buffer("C")
    assert buffer.attach_path == ("dk", "dj", "di")
    assert str(buffer["D"]) == "[dj, dk]"


def test_example_5_attaches_to_the_inner_part_of_a_split() -> None:
    func = program(
        """
C = T.alloc_buffer((5, 16), "int32")
for i, jo, ji in T.grid(5, 2, 8):
    C[i, jo * 8 + ji] = 5
    D[i, jo * 8 + ji] = C[i, jo * 8 + ji] * 2
""",
        TWO,
    )
    buffer = infer_bounds(func).buffer("C")
    assert buffer.attach_path == ("ji", "jo", "i")
    assert value(buffer.requested.elements) == 1
    assert buffer.requested.count(i=2, jo=1, ji=3) == 1
    assert points(buffer.requested, 2, 16, i=2, jo=1, ji=3) == {(2, 11)}


NESTED = """
C = T.alloc_buffer((5, 16), "int32")
D = T.alloc_buffer((5, 16), "int32")
{outside}
for ei, ej in T.grid(5, 16):
    for di, dj in T.grid(1, 1):
        {inside}
        D[ei + di, ej + dj] = C[ei + di, ej + dj] * 2
    E[ei, ej] = D[ei, ej] * 4
"""


def test_attach_paths_nest() -> None:
    body = NESTED.format(outside="pass", inside="C[ei + di, ej + dj] = 5")
    bounds = infer_bounds(program(body, 'E: T.Buffer((5, 16), "int32")'))
    assert {s.name: s.attach_path for s in bounds.stages} == {"C": ("dj", "di", "ej", "ei"), "D": ("ej", "ei"), "E": ()}
    assert str(bounds.buffer("C")["D"]) == "[ei, ej]"


def test_a_producer_outside_serves_all_iterations_of_an_attached_consumer() -> None:
    outside = "for ci, cj in T.grid(5, 16):\n    C[ci, cj] = 5"
    body = NESTED.format(outside=outside, inside="pass")
    bounds = infer_bounds(program(body, 'E: T.Buffer((5, 16), "int32")'))
    assert {s.name: s.attach_path for s in bounds.stages} == {"C": (), "D": ("ej", "ei"), "E": ()}
    assert str(bounds.buffer("C")["D"]) == "[0:5, 0:16]"


def fused(factor: int) -> PrimFunc:
    return program(
        f"""
B = T.alloc_buffer((4, 4), "float32")
for xo in range({-(-16 // factor)}):
    for bi, bj in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [bi, bj])
            B[vi, vj] = A[vi, vj] + 2.0
    for xi in range({factor}):
        with T.block("C"):
            T.where(xo * {factor} + xi < 16)
            vi = T.axis.spatial(4, (xo * {factor} + xi) // 4)
            vj = T.axis.spatial(4, (xo * {factor} + xi) % 4)
            C[vi, vj] = B[vi, vj] * 3.0
""",
        'A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")',
    )


def test_example_6_asks_for_one_row() -> None:
    buffer = infer_bounds(fused(4)).buffer("B")
    assert str(buffer["C"]) == "[xo, 0:4]"
    assert value(buffer["C"].elements) == 4
    assert buffer.overcompute is not None and value(buffer.overcompute.elements) == 12


@pytest.mark.parametrize("factor", some([1, 2, 3, 5, 6, 7, 8, 16], 0.62))
def test_fuse_and_split_ask_for_exactly_the_elements_of_an_iteration(factor: int) -> None:
    bounds = infer_bounds(fused(factor))
    part = bounds.buffer("B")["C"]
    for xo in range(-(-16 // factor)):
        wanted = {divmod(k, 4) for k in range(xo * factor, min(16, (xo + 1) * factor))}
        assert points(part, 2, 4, xo=xo) == wanted
        assert part.count(xo=xo) == value(part.elements, xo=xo) == len(wanted)
        over = bounds.buffer("B").overcompute
        assert over is not None and over.count(xo=xo) == value(over.elements, xo=xo) == 16 - len(wanted)


def test_a_split_by_3_asks_for_three_elements_and_for_one_in_the_end() -> None:
    part = infer_bounds(fused(3)).buffer("B")["C"]
    assert part.counts == (1, 3)
    assert [value(part.elements, xo=k) for k in range(6)] == [3, 3, 3, 3, 3, 1]


# Exact where the document is not -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "guard", ["if 16 * io + ii < 20:", 'with T.block("B"):\n            T.where(16 * io + ii < 20)']
)
def test_the_tail_of_a_split_adapts(guard: str) -> None:
    func = program(
        f"for io in range(2):\n    for ii in range(16):\n        {guard}\n            B[16 * io + ii] = 1",
        'B: T.Buffer((20,), "int32")',
    )
    found = infer_bounds(func).stages[0]["ii"]
    assert to_script(found.extent) == "T.min(16, 20 - 16 * io)"
    assert found.exact


def test_disjoint_corners_stay_two_boxes() -> None:
    func = program(
        """
X = T.alloc_buffer((4, 4), "int32")
for i, j in T.grid(4, 4):
    X[i, j] = 1
for i, j in T.grid(2, 2):
    A[i, j] = X[i, j]
for i, j in T.grid(2, 2):
    B[i, j] = X[i + 2, j + 2]
""",
        'A: T.Buffer((2, 2), "int32"), B: T.Buffer((2, 2), "int32")',
    )
    buffer = infer_bounds(func).buffer("X")
    assert str(buffer.requested) == "[0:2, 0:2] ∪ [2:4, 2:4]"
    assert value(buffer.requested.elements) == 8
    assert str(buffer.allocation) == "[0:4, 0:4]"
    assert buffer.overcompute is not None and value(buffer.overcompute.elements) == 8


def test_strides_leave_holes() -> None:
    func = program(
        """
X = T.alloc_buffer((9,), "int32")
for i in range(9):
    X[i] = i
for i in range(5):
    A[i] = X[2 * i]
""",
        'A: T.Buffer((5,), "int32")',
    )
    buffer = infer_bounds(func).buffer("X")
    assert value(buffer.requested.elements) == 5
    assert points(buffer.requested, 1, 9) == {(0,), (2,), (4,), (6,), (8,)}
    assert buffer.requested.box is not None and not buffer.requested.box.ranges[0].exact


# More kinds of stages ------------------------------------------------------------------------------------------------


def test_reduce_axes_and_symbolic_sizes() -> None:
    n = te.var("n")
    A = te.placeholder((n, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    S = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="S")
    M = te.compute((n,), lambda i: te.max(A[i, k] - S[i], axis=k), name="M")
    bounds = infer_bounds(te.create_prim_func([A, M]))
    assert [(v.name, to_script(v.range.extent)) for v in bounds.stage("S").loops if v.range] == [
        ("i", "n"),
        ("k", "64"),
    ]
    assert str(bounds.buffer("S")["M"]) == "[0:n]"
    assert [r.consumer for r in bounds.buffer("A").requests] == ["S", "M"]
    assert str(bounds.buffer("A").requested) == "[0:n, 0:64]"
    part = bounds.buffer("S").requested
    assert part.exact and part.elements is not None and to_script(part.elements) == "n"


def test_a_guarded_symbolic_split() -> None:
    func = parse(
        """
@T.prim_func
def f(b: T.handle):
    n = T.int32()
    B = T.match_buffer(b, (n,), "int32")
    for io in range((n + 15) // 16):
        for ii in range(16):
            if 16 * io + ii < n:
                B[16 * io + ii] = 1
"""
    ).funcs[0]
    bounds = infer_bounds(func)
    stage = bounds.stages[0]
    for n, io in product((0, 1, 16, 17, 40), range(3)):
        assert value(stage["io"].extent, n=n) == -(-n // 16)
        if io < -(-n // 16):
            assert value(stage["ii"].extent, n=n, io=io) == min(16, n - 16 * io)


def test_several_outputs_and_consumers() -> None:
    A = te.placeholder((8,), "int32", name="A")
    low, high = te.compute((8,), lambda i: (A[i] - 1, A[i] + 1), name="both")
    P = te.compute((3,), lambda i: low[i] + high[i], name="P")
    Q = te.compute((3,), lambda i: high[i + 5], name="Q")
    bounds = infer_bounds(te.create_prim_func([A, P, Q]))
    assert bounds.stage("both").writes == ("both_0", "both_1")
    assert str(bounds.buffer("both_0").requested) == "[0:3]"
    assert str(bounds.buffer("both_1").requested) == "[0:3] ∪ [5:8]"


def test_consumers_inside_and_outside_the_attach_loop() -> None:
    func = program(
        """
X = T.alloc_buffer((8,), "int32")
for i in range(8):
    X[i] = i
    A[i] = X[i]
for j in range(4):
    B[j] = X[j + 2]
""",
        'A: T.Buffer((8,), "int32"), B: T.Buffer((4,), "int32")',
    )
    buffer = infer_bounds(func).buffer("X")
    assert {r.consumer: (r.relative_to, str(r.part)) for r in buffer.requests} == {
        "A": (("i",), "[i]"),
        "B": ((), "[2:6]"),
    }
    assert buffer.overcompute is not None and buffer.overcompute.is_empty()


def test_what_a_later_iteration_reads_is_not_computed_in_vain() -> None:
    func = program(
        """
X = T.alloc_buffer((9,), "int32")
X[0] = 0
for i in range(8):
    X[i + 1] = i
    A[i] = X[i]
""",
        'A: T.Buffer((8,), "int32")',
    )
    buffer = infer_bounds(func).buffer("X")
    over = buffer.overcompute
    assert over is not None
    assert points(over, 1, 9) <= {(8,)}  # only the last one is never read


def test_a_scan_reads_its_own_results() -> None:
    func = program(
        """
X = T.alloc_buffer((8,), "int32")
X[0] = 1
for i in range(7):
    X[i + 1] = X[i] + 1
A[0] = X[7]
""",
        'A: T.Buffer((1,), "int32")',
    )
    over = infer_bounds(func).buffer("X").overcompute
    assert over is not None and over.is_empty()


def test_data_dependent_places_are_covered() -> None:
    func = program(
        """
X = T.alloc_buffer((8,), "int32")
for i in range(8):
    X[i] = i
for i in range(4):
    if I[i] > 0:
        A[i] = X[T.min(T.max(I[i], 0), 7)]
    else:
        A[i] = X[0]
""",
        'A: T.Buffer((4,), "int32"), I: T.Buffer((4,), "int32")',
    )
    bounds = infer_bounds(func)
    assert not bounds.buffer("X").requested.exact
    assert str(bounds.buffer("X").requested) == "[0:8]"
    assert str(bounds.buffer("I").requested) == "[0:4]"  # by the condition, too


def test_names_of_sibling_loops_and_buffers_do_not_mix() -> None:
    func = program(
        """
for i in range(3):
    with T.alloc_buffer((8,), "int32") as L:
        for j in range(2):
            L[j + i] = 1
        for j in range(2):
            A[i, j] = L[j + i]
for i in range(3):
    with T.alloc_buffer((8,), "int32") as L:
        L[7] = 1
        B[i] = L[7]
""",
        'A: T.Buffer((3, 2), "int32"), B: T.Buffer((3,), "int32")',
    )
    first, second = (b for b in infer_bounds(func).buffers if b.name == "L")
    assert (str(first.requested), str(second.requested)) == ("[i:i + 2]", "[7]")


def test_unknown_names_are_suggested() -> None:
    bounds = infer_bounds(two_stages())
    with pytest.raises(LoopsatError, match="no stage"):
        bounds.stage("E")
    with pytest.raises(LoopsatError, match="no buffer"):
        bounds.buffer("c")


def test_other_arguments_are_refused() -> None:
    with pytest.raises(LoopsatError, match="found Module"):
        infer_bounds(parse(to_script(two_stages())))  # pyright: ignore


def test_empty_loops() -> None:
    func = program("for i in range(0):\n    B[i] = 1", 'B: T.Buffer((4,), "int32")')
    bounds = infer_bounds(func)
    assert value(bounds.stages[0]["i"].extent) == 0
    assert bounds.buffer("B").computed.is_empty()


# Schedules -----------------------------------------------------------------------------------------------------------


def test_split_tails_adapt_in_a_schedule() -> None:
    n = te.var("n")
    A = te.placeholder((20, n), name="A")
    schedule = Schedule(te.create_prim_func([A, te.compute((20, n), lambda i, j: A[i, j] + 1, name="B")]))
    i, j = schedule.get_loops("B")
    schedule.split(i, [None, 16])
    schedule.split(j, [None, 8])
    extents = [to_script(v.range.extent) for v in infer_bounds(schedule).stage("B").loops if v.range is not None]
    assert extents[0] == "2"
    assert extents[1] == "T.min(16, 20 - 16 * io)"
    assert extents[3] == "T.min(8, n - 8 * jo)"


@pytest.mark.parametrize("factor", [3, 4, 5])
def test_compute_at_under_a_fused_and_split_loop_computes_what_is_requested(factor: int) -> None:
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 2.0, name="B")
    schedule = Schedule(te.create_prim_func([A, te.compute((4, 4), lambda i, j: B[i, j] * 3.0, name="C")]))
    outer, _ = schedule.split(schedule.fuse(*schedule.get_loops("C")), [None, factor])
    schedule.compute_at("B", outer)
    buffer = infer_bounds(schedule).buffer("B")
    assert buffer.overcompute is not None and buffer.overcompute.is_empty() and buffer.overcompute.exact
    for k in range(-(-16 // factor)):
        wanted = min(factor, 16 - factor * k)
        assert buffer["C"].count(**{outer.name: k}) == buffer.computed.count(**{outer.name: k}) == wanted


def test_fused_split_and_rebased_loops_in_a_schedule() -> None:
    A = te.placeholder((4, 4), name="A")
    schedule = Schedule(te.create_prim_func([A, te.compute((4, 4), lambda i, j: A[i, j] + 1, name="B")]))
    _, inner = schedule.split(schedule.fuse(*schedule.get_loops("B")), [None, 3])
    schedule.rebase(inner, 2)
    outer, last = infer_bounds(schedule).stage("B").loops
    assert outer.range is not None and last.range is not None
    assert to_script(outer.range.extent) == "6" and to_script(last.range.min) == "2"
    assert [value(last.range.extent, **{outer.name: k}) for k in range(6)] == [3, 3, 3, 3, 3, 1]


# Chains --------------------------------------------------------------------------------------------------------------


def chain(stages: int, width: int) -> PrimFunc:
    """Stages that each add up neighbours of the one before, all inside the outer loop of the last."""
    size = 64 + width * stages
    names = ["A", *(f"B{k}" for k in range(1, stages)), "Z"]
    lines = [f'{name} = T.alloc_buffer(({size},), "int32")' for name in names[1:-1]]
    lines.append("for io in range(4):")
    for k in range(1, stages + 1):
        lines.append(f"    for i{k} in range({16 + width * (stages - k)}):")
        lines.append(f'        with T.block("{names[k]}"):')
        lines.append(f"            v = T.axis.spatial({size}, 16 * io + i{k})")
        lines.append(f"            {names[k]}[v] = {names[k - 1]}[v] + {names[k - 1]}[v + {width}]")
    return program("\n".join(lines), f'A: T.Buffer(({size},), "int32"), Z: T.Buffer((64,), "int32")')


def test_a_chain_of_100_stages() -> None:
    bounds = infer_bounds(chain(100, 2))
    text = [str(b.requested) for b in bounds.buffers]
    assert text[bounds.buffers.index(bounds.buffer("B1"))] == "[16 * io:16 * io + 214]"
    assert all(b.overcompute is None or b.overcompute.is_empty() for b in bounds.buffers)


def test_a_wide_stencil_asks_for_what_it_reads() -> None:
    bounds = infer_bounds(chain(3, 40))
    assert str(bounds.buffer("B2").requested) == "[16 * io:16 * io + 16] ∪ [16 * io + 40:16 * io + 56]"
    over = bounds.buffer("B2").overcompute
    assert over is not None and value(over.elements, io=1) == 24


# Against a plain walk ------------------------------------------------------------------------------------------------

SIZE = 5
Event = tuple[str, dict[str, int], tuple[int, ...]]  # buffer, values of the variables, element


@dataclass
class Drawn:
    """A random staged program: its text, and how often each thing happens when its loops are run as Python."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    stages: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # name, loops around
    ranks: dict[str, int] = field(default_factory=dict)
    fresh: int = 0

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def emit(self, depth: int, text: str, python: str | None = None) -> None:
        self.lines.append("    " * depth + text)
        self.python.append("    " * (depth - 1) + (text if python is None else python))

    def index(self, scope: tuple[str, ...]) -> str:
        if not scope:
            return str(self.pick(0, 1, SIZE - 1))
        v, w = self.pick(*scope), self.pick(*scope)
        c = self.pick(0, 1, 2)
        return self.pick(
            v, f"{v} + {c}", f"{v} + {w}", f"2 * {v} + {w}", f"{v} // 2", f"{v} % 3 + {c}", f"{3 - c} - {v}", "1"
        )

    def loop(self, depth: int, scope: tuple[str, ...]) -> str:
        self.fresh += 1
        name = f"v{self.fresh}"
        low = self.pick(0, 0, 0, 1, -1)
        bound = str(low + self.pick(0, 1, 2, 3, 4, 4))
        if scope and self.pick(True, False, False):
            bound = f"{self.pick(*scope)} + {self.pick(0, 1, 2)}"
        elif self.pick(True, False, False, False):
            bound = "n"
        self.emit(depth, f"for {name} in range({low}, {bound}):")
        return name

    def stage(self, depth: int, scope: tuple[str, ...], name: str) -> None:
        for _ in range(self.pick(0, 1, 1, 2)):
            scope = (*scope, self.loop(depth, scope))
            depth += 1
        if scope and self.pick(True, False, False):
            guard = self.pick(f"{scope[-1]} < 2", f"{' + '.join(scope)} < {self.pick(2, 3)}", f"{scope[-1]} % 2 == 0")
            self.emit(depth, f"if {guard}:")
            depth += 1
        place = [f"({self.index(scope)}) % {SIZE}" for _ in range(self.ranks[name])]
        others = [n for n in self.ranks if n != name]
        reads = []
        for source in self.pick([], others[:1], others[-1:], others):
            reads.append((source, [self.index(scope) for _ in range(self.ranks[source])]))
        terms = "".join(f" + {source}[{', '.join(at)}]" for source, at in reads)
        values = f"dict({', '.join(f'{v}={v}' for v in scope)})"
        noted = "".join(f"read({name!r}, {source!r}, {values}, ({', '.join(at)},)); " for source, at in reads)
        self.stages.append((name, scope))
        self.emit(
            depth,
            f"{name}[{', '.join(place)}] = 1{terms}",
            f"{noted}write({name!r}, {values}, ({', '.join(place)},))",
        )


@st.composite
def staged(draw: st.DrawFn) -> Drawn:
    drawn = Drawn(draw)
    names = ["X", "Y", "Z", "W"][: draw(st.integers(2, 4))]
    drawn.ranks = {n: drawn.pick(1, 1, 2) for n in names}
    waiting = list(names)
    if drawn.pick(True, False):
        drawn.stage(1, (), waiting.pop(0))
    scope: tuple[str, ...] = ()
    for _ in range(drawn.pick(0, 1, 1, 2)):
        scope = (*scope, drawn.loop(1 + len(scope), scope))
    outside = drawn.pick(0, 0, 1) if len(waiting) > 1 else 0
    while len(waiting) > outside:
        drawn.stage(1 + len(scope), scope, waiting.pop(0))
    for name in waiting:
        drawn.stage(1, (), name)
    return drawn


@dataclass
class Walk:
    """What happens, in order, when the loops are run."""

    reads: list[tuple[int, str, Event]] = field(default_factory=list)  # time, consumer, event
    writes: list[tuple[int, Event]] = field(default_factory=list)
    time: int = 0

    def run(self, lines: list[str], n: int) -> None:
        def read(consumer: str, buffer: str, values: dict[str, int], place: tuple[int, ...]) -> None:
            self.time += 1
            if all(0 <= x < SIZE for x in place):
                self.reads.append((self.time, consumer, (buffer, values, place)))

        def write(buffer: str, values: dict[str, int], place: tuple[int, ...]) -> None:
            self.time += 1
            self.writes.append((self.time, (buffer, values, place)))

        exec("\n".join(lines), {"read": read, "write": write, "n": n})


def _at(values: dict[str, int], names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(values[n] for n in names)


def _check(part: Part, wanted: set[tuple[int, ...]], rank: int, names: dict[str, int]) -> None:
    if part.pieces is None:  # it takes too long to write it as pieces
        assert part.count(**names) == len(wanted) or not part.exact
        return
    found = points(part, rank, SIZE, **names)
    assert found >= wanted
    if part.exact:
        assert found == wanted
        assert part.count(**names) == len(wanted)
        if part.elements is not None:
            assert value(part.elements, **names) == len(wanted)


@few(4)
@given(staged(), st.sampled_from([0, 1, 3]))
def test_bounds_are_those_of_a_walk(drawn: Drawn, n: int) -> None:
    shape = {name: "(" + f"{SIZE}, " * r + ")" for name, r in drawn.ranks.items()}
    buffers = "".join(f'    {name} = T.alloc_buffer({s}, "int32")\n' for name, s in shape.items())
    text = "@T.prim_func\ndef f(n: T.int32):\n" + buffers + "\n".join(drawn.lines)
    walked = Walk()
    walked.run(drawn.python, n)
    bounds = infer_bounds(parse(text).funcs[0])
    loops = dict(drawn.stages)
    last = {v: name for name, scope in drawn.stages for v in scope}
    position = {name: k for k, (name, _) in enumerate(drawn.stages)}
    for name, scope in drawn.stages:
        attached = tuple(v for v in scope if last[v] != name)
        assert bounds.stage(name).attach_path == attached[::-1], text
        runs = [event[1] for _, event in walked.writes if event[0] == name]
        for k, variable in enumerate(scope):
            if variable in attached:
                continue
            for outer in {_at(r, scope[:k]) for r in runs}:
                seen = {r[variable] for r in runs if _at(r, scope[:k]) == outer}
                found = bounds.stage(name)[variable]
                names = dict(zip(scope[:k], outer, strict=True), n=n)
                low, extent = value(found.min, **names), value(found.extent, **names)
                assert (low, extent) == (min(seen), max(seen) - min(seen) + 1), text
                assert not found.exact or len(seen) == extent, text
        _check_nest(bounds.stage(name), attached, runs, n)
        _check_buffer(bounds, name, attached, loops, position, walked, {"n": n})


def _check_nest(stage: StageBounds, attached: tuple[str, ...], runs: list[dict[str, int]], n: int) -> None:
    """Loops over the ranges found run the stage where it ran, and only there if all of them are exact."""
    names = (*attached, *(v.name for v in stage.loops))
    for here in {_at(r, attached) for r in runs} if attached else {()}:
        turns = [dict(zip(attached, here, strict=True), n=n)]
        for variable in stage.loops:
            found = variable.range
            assert found is not None
            turns = [
                {**t, variable.name: value(found.min, **t) + k} for t in turns for k in range(value(found.extent, **t))
            ]
        ran = {_at(r, names) for r in runs if _at(r, attached) == here}
        looped = {_at(t, names) for t in turns}
        assert ran <= looped
        assert ran == looped or not all(v.range is not None and v.range.exact for v in stage.loops)


def _check_buffer(
    bounds: Bounds,
    name: str,
    attached: tuple[str, ...],
    loops: dict[str, tuple[str, ...]],
    position: dict[str, int],
    walked: Walk,
    sizes: dict[str, int],
) -> None:
    buffer = bounds.buffer(name)
    rank = len(buffer.computed.names)
    made = [(t, v, x) for t, (b, v, x) in walked.writes if b == name]
    for here in {_at(v, attached) for _, v, _ in made}:
        names = dict(zip(attached, here, strict=True)) | sizes
        computed = {x for _, v, x in made if _at(v, attached) == here}
        _check(buffer.computed, computed, rank, names)
        asked: set[tuple[int, ...]] = set()
        for request in buffer.requests:
            shared = request.relative_to[::-1]
            assert shared == tuple(v for v in attached if v in loops[request.consumer])
            now = here[: len(shared)]
            reads = [(_at(v, shared), x) for _, c, (b, v, x) in walked.reads if (b, c) == (name, request.consumer)]
            if position[request.consumer] > position[name]:
                wanted = {x for at, x in reads if at == now}
            else:
                both = [v for v, w in zip(loops[name], loops[request.consumer], strict=False) if v == w]
                wanted = {x for at, x in reads if at > now or (at == now and len(both) > len(shared))}
            _check(request.part, wanted, rank, names)
            asked |= wanted
        _check(buffer.requested, asked, rank, names)
        box = buffer.allocation
        everything = computed | asked
        assert all(_holds(box, x, names) for x in everything)
        if len(box.ranges) == rank and everything:
            for axis, found in enumerate(box.ranges):
                column = {x[axis] for x in everything}
                assert value(found.min, **names) == min(column)
                assert value(found.extent, **names) == max(column) - min(column) + 1
        assert buffer.overcompute is not None
        if buffer.overcompute.exact:
            _check(buffer.overcompute, _in_vain(name, here, attached, made, walked), rank, names)


def _in_vain(
    name: str,
    here: tuple[int, ...],
    attached: tuple[str, ...],
    made: list[tuple[int, dict[str, int], tuple[int, ...]]],
    walked: Walk,
) -> set[tuple[int, ...]]:
    """Elements stored in one iteration of the attach path that are overwritten, or forgotten, before they are read."""
    out: set[tuple[int, ...]] = set()
    for x in {x for _, v, x in made if _at(v, attached) == here}:
        start = max(t for t, v, y in made if y == x and _at(v, attached) == here)
        later = [t for t, v, y in made if y == x and _at(v, attached) > here]
        stop = min(later, default=walked.time + 1)
        if not any(start < t < stop and b == name and y == x for t, _, (b, _, y) in walked.reads):
            out.add(x)
    return out
