"""Static costs of target `tpu` against the estimates of its compiler: do they order programs alike?

Needs `loopsat[tpu]`.
Each group holds forms of one kernel. A pair of forms is `ordered` when cost and estimated cycles agree on which is the
cheaper one. Pairs whose estimates are within a tenth, programs that the estimate cannot see through, and those that are
one operation fused with nothing (its windows are not tuned: compare the bare sum with that of `2 * x`) do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

from rich.console import Console
from rich.table import Table

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import TPU
from ir import parse
from lower.tpu.compiler import TpuReport, compile_jobs, tpu_job

ROW_SUM = """
@T.prim_func
def f(A: T.Buffer(({rows}, {stored}), "float32"), B: T.Buffer(({rows},), "float32")):
    for i in T.serial({rows}):
        B[i] = 0.0
        for j in T.serial({extent}):
            {guard}B[i] = B[i] + {value}
"""
TILED_SUM = """
@T.prim_func
def f(A: T.Buffer((4096, {outer}, {inner}), "float32"), B: T.Buffer((4096,), "float32")):
    for i in T.serial(4096):
        B[i] = 0.0
        for jo, ji in T.grid({outer}, {inner}):
            {guard}B[i] = B[i] + A[i, jo, ji]
"""
ELEMENTWISE = """
@T.prim_func
def f(A: T.Buffer((4096, {stored}), "float32"), B: T.Buffer((4096, {stored}), "float32")):
    for i, j in T.grid(4096, {extent}):
        {guard}B[i, j] = {value}
"""
MATMUL = """
@T.prim_func
def f(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"), C: T.Buffer(({n}, {n}), "float32")):
    for i, j in T.grid({n}, {n}):
        C[i, j] = 0.0
        for k in T.serial({extent}):
            {guard}C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
STENCIL = """
@T.prim_func
def f(A: T.Buffer((2048, {stored}), "float32"), B: T.Buffer((2048, {width}), "float32")):
    for i, j in T.grid(2048, {width}):
        B[i, j] = 0.0
        for t in T.serial(3):
            {guard}B[i, j] = B[i, j] + A[i, j + t{shift}]
"""


@dataclass(frozen=True)
class Form:
    group: str
    name: str
    text: str


def sums() -> list[Form]:
    def form(
        name: str, guard: str = "", stored: int = 1024, extent: int = 1024, value: str = "A[i, j]", rows: int = 4096
    ) -> Form:
        text = ROW_SUM.format(rows=rows, stored=stored, extent=extent, guard=guard, value=value)
        return Form("row sum", name, text)

    def tiled(name: str, inner: int, guard: str = "") -> Form:
        return Form("row sum, tiles", name, TILED_SUM.format(outer=1024 // inner, inner=inner, guard=guard))

    return [
        form("whole rows of 1024"),
        form("1022 of 1024, masked", guard="if j < 1022:\n                "),
        form("whole, doubled", value="2.0 * A[i, j]"),
        form("1022 of 1024, masked, doubled", guard="if j < 1022:\n                ", value="2.0 * A[i, j]"),
        form("1022 of 1024, shorter loop", extent=1022),
        form("rows of 1022", stored=1022, extent=1022),
        form("1000 of 1024, shorter loop", extent=1000),
        form("rows of 1000", stored=1000, extent=1000),
        form("512 of 1024, shorter loop", extent=512),
        tiled("256 × 4", 4),
        tiled("256 × 4, masked", 4, "if 4 * jo + ji < 1022:\n                "),
        tiled("8 × 128", 128),
        tiled("8 × 128, masked", 128, "if 128 * jo + ji < 1022:\n                "),
    ]


def elementwise() -> list[Form]:
    def form(name: str, value: str = "A[i, j] + 1.0", guard: str = "", stored: int = 1024, extent: int = 1024) -> Form:
        return Form("elementwise", name, ELEMENTWISE.format(value=value, guard=guard, stored=stored, extent=extent))

    def operations(name: str, step: str, times: int) -> Form:
        value = "A[i, j]"
        for _ in range(times):
            value = step.format(value)
        return form(name, value)

    return [
        form("whole"),
        form("1022 of 1024, masked", guard="if j < 1022:\n            "),
        form("1022 of 1024, shorter loop", extent=1022),
        form("512 of 1024, shorter loop", extent=512),
        form("stored as 1022", stored=1022, extent=1022),
        form("selected", value="T.Select(j < 1022, A[i, j] + 1.0, 0.0)"),
        operations("tanh", "T.tanh({})", 1),
        operations("8 tanh", "T.tanh({})", 8),
        operations("16 operations", "({} * 1.5 + 0.5)", 8),
        operations("128 operations", "({} * 1.5 + 0.5)", 64),
        operations("quotient", "1.0 / {}", 1),
    ]


def matmuls() -> list[Form]:
    def form(name: str, n: int, extent: int, guard: str = "") -> Form:
        return Form("matmul", name, MATMUL.format(n=n, extent=extent, guard=guard))

    return [
        form("512", 512, 512),
        form("512, 500 masked", 512, 512, "if k < 500:\n                "),
        form("512, 500 shorter loop", 512, 500),
        form("500", 500, 500),
        form("1024", 1024, 1024),
    ]


def stencils() -> list[Form]:
    def form(name: str, stored: int, width: int, shift: str = "", guard: str = "") -> Form:
        return Form("stencil", name, STENCIL.format(stored=stored, width=width, shift=shift, guard=guard))

    inside = "if 0 <= j + t - 1 and j + t - 1 < {}:\n                "
    return [
        form("1026 stored, 1024", 1026, 1024),
        form("1152 stored, 1024", 1152, 1024),
        form("1024, borders masked", 1024, 1024, " - 1", inside.format(1024)),
        form("1000, borders masked", 1000, 1000, " - 1", inside.format(1000)),
    ]


def unfused(report: TpuReport) -> str:
    """The names of operations outside of fusions, whose windows the compiler does not tune."""
    found = re.findall(r" ([\w-]+)\([^\n]*\"estimated_cycles\":\"(\d+)\"", report.hlo)
    return ", ".join(name for name, _ in found if name != "fusion")


def alone(report: TpuReport) -> bool:
    """Whether a program is nothing but unfused operations."""
    return bool(unfused(report)) and " fusion(" not in report.hlo


def agreement(costs: list[float], reports: list[TpuReport]) -> tuple[int, int]:
    """How many pairs that the estimate tells apart are ordered alike, and how many there are."""
    comparable = [(c, r.estimated_cycles) for c, r in zip(costs, reports, strict=True) if not (r.caveats or alone(r))]
    pairs = [((a, x), (b, y)) for (a, x), (b, y) in combinations(comparable, 2) if abs(x - y) > 0.1 * max(x, y)]
    return sum((a < b) == (x < y) and a != b for (a, x), (b, y) in pairs), len(pairs)


def main() -> None:
    """Print a table."""
    forms = [*sums(), *elementwise(), *matmuls(), *stencils()]
    funcs = [parse(form.text).funcs[0] for form in forms]
    costs = [Prices(TPU).program(func.body) for func in funcs]
    found = compile_jobs([tpu_job(func) for func in funcs])
    table = Table(
        "kernel", "form", "static cost", "estimated cycles", "temporary bytes", "layout of A", "unfused", "note"
    )
    for form, cost, report in zip(forms, costs, found, strict=True):
        if isinstance(report, TpuReport):
            cells = (f"{report.estimated_cycles:,}", f"{report.temp_bytes:,}", report.parameters["A"], unfused(report))
            table.add_row(form.group, form.name, f"{cost:,.0f}", *cells, "; ".join(report.caveats))
        else:
            table.add_row(form.group, form.name, f"{cost:,.0f}", "", "", "", "", " ".join(report.notes))
    console = Console(width=180)
    console.print(table)
    for group in dict.fromkeys(form.group for form in forms):
        chosen = [
            (c, r)
            for form, c, r in zip(forms, costs, found, strict=True)
            if form.group == group and isinstance(r, TpuReport)
        ]
        right, pairs = agreement([c for c, _ in chosen], [r for _, r in chosen])
        console.print(f"{group}: {right} of {pairs} pairs ordered alike")


if __name__ == "__main__":
    main()
