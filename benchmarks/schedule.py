"""How long schedule steps take, on the programs of the source documents and on a long chain. Prints a table."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from egraph_rules import transforms
from ir import parse, te
from ir.bounds import infer_bounds
from ir.nodes import Module, PrimFunc
from ir.schedule import Schedule

CONVOLUTION = """
@T.prim_func
def func(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((18,), "float32")):
    for Bi in T.serial(18):
        B[Bi] = 0.0
        for fi in T.serial(3):
            if 0 <= Bi + fi - 2 < 16:
                B[Bi] = B[Bi] + F[fi] * A[Bi + fi - 2]
"""


def eights(i):
    return [(i + 2) // 8, (i + 2) % 8]


def two_stages() -> PrimFunc:
    """Document 000's example 6."""
    a = te.placeholder((4, 4), name="A")
    b = te.compute((4, 4), lambda bi, bj: a[bi, bj] + 2.0, name="B")
    c = te.compute((4, 4), lambda ci, cj: b[ci, cj] * 3.0, name="C")
    return te.create_prim_func([a, c])


def chain(length: int) -> PrimFunc:
    """Elementwise stages, each reading the one before."""
    first = te.placeholder((64, 64), name="S0")
    last = first
    for k in range(1, length + 1):
        before = last
        last = te.compute((64, 64), lambda i, j, t=before: t[i, j] + 1.0, name=f"S{k}")
    return te.create_prim_func([first, last])


def timed(action: Callable[[], object], repeat: int = 5) -> float:
    """The least of some runs, in ms."""
    times: list[float] = []
    for _ in range(repeat):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return 1000 * min(times)


def step(program: str | PrimFunc, prepare: Callable[[Schedule], object], do: Callable[[Schedule], object]) -> float:
    """The time of one step after others, in ms."""
    start: PrimFunc | Module = parse(program) if isinstance(program, str) else program

    def once() -> float:
        sch = Schedule(start)
        prepare(sch)
        began = time.perf_counter()
        do(sch)
        return time.perf_counter() - began

    return 1000 * min(once() for _ in range(5))


def laid_out(sch: Schedule) -> None:
    sch.transform_layout("root", "A", eights, pad_value=0)
    sch.transform_layout("root", "B", eights, pad_value=0)


def fused(sch: Schedule) -> None:
    sch.split(sch.fuse(*sch.get_loops("C")), [None, 3])


def sequential(sch: Schedule) -> None:
    laid_out(sch)
    sch.sequential_buffer_access("root", "A")


def attached(length: int) -> Schedule:
    """A chain with every stage computed in the last one's outer loop."""
    sch = Schedule(chain(length))
    loop = sch.get_loops(f"S{length}")[0]
    for k in range(length - 1, 0, -1):
        sch.compute_at(f"S{k}", loop)
    return sch


def main() -> None:
    overcompute = transforms.remove_branching_through_overcompute()
    rows = [
        ("transform_layout", step(CONVOLUTION, lambda s: None, lambda s: s.transform_layout("root", "A", eights, 0))),
        ("sequential_buffer_access", step(CONVOLUTION, laid_out, lambda s: s.sequential_buffer_access("root", "A"))),
        ("remove_branching_through_overcompute", step(CONVOLUTION, sequential, lambda s: s.apply(overcompute))),
        ("split of a fused loop", step(two_stages(), lambda s: None, fused)),
        ("compute_at", step(two_stages(), fused, lambda s: s.compute_at("B", "ci_cj_fusedo"))),
        ("compute_inline", step(two_stages(), lambda s: None, lambda s: s.compute_inline("B"))),
    ]
    table = Table("step", "ms", title="documents' programs")
    for name, ms in rows:
        table.add_row(name, f"{ms:.1f}")
    Console().print(table)
    began = time.perf_counter()
    sch = attached(100)
    moved = time.perf_counter() - began
    table = Table("chain of 100 stages", "s")
    table.add_row("99 times compute_at", f"{moved:.2f}")
    table.add_row("infer_bounds", f"{timed(lambda: infer_bounds(sch), 1) / 1000:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
