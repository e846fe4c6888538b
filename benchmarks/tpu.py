"""Static costs of target `tpu` against the TPU compiler's estimates: do they order programs alike? Needs `loopsat[tpu]`.

Each group holds forms of one kernel. A pair of forms is `ordered` when cost and estimated cycles agree on which is the
cheaper one; pairs whose estimates are within a tenth, and programs that the estimate cannot see through, do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from rich.console import Console
from rich.table import Table

from egraph_rules.cost import TPU
from egraph_rules.prices import Prices
from ir import parse
from lower.tpu import TpuReport, compile_jobs, tpu_job

ROW_SUM = """
@T.prim_func
def f(A: T.Buffer(({rows}, {stored}), "float32"), B: T.Buffer(({rows},), "float32")):
    for i in T.serial({rows}):
        B[i] = 0.0
        for j in T.serial({extent}):
            {guard}B[i] = B[i] + A[i, j]
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
    def form(name: str, guard: str = "", rows: int = 4096, stored: int = 1024, extent: int = 1024) -> Form:
        text = ROW_SUM.format(rows=rows, stored=stored, extent=extent, guard=guard)
        return Form("row sum", name, text)

    def tiled(name: str, inner: int, guard: str = "") -> Form:
        return Form("row sum, tiles", name, TILED_SUM.format(outer=1024 // inner, inner=inner, guard=guard))

    return [
        form("whole rows of 1024"),
        form("1022 of 1024, masked", guard="if j < 1022:\n                "),
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

    return [
        form("whole"),
        form("1022 of 1024, masked", guard="if j < 1022:\n            "),
        form("1022 of 1024, shorter loop", extent=1022),
        form("512 of 1024, shorter loop", extent=512),
        form("stored as 1022", stored=1022, extent=1022),
        form("selected", value="T.Select(j < 1022, A[i, j] + 1.0, 0.0)"),
        form("tanh", value="T.tanh(A[i, j])"),
        form("8 tanh", value="T.tanh(A[i, j]) + " + " + ".join(f"T.tanh(A[i, j] + {k}.5)" for k in range(7))),
        form("8 products", value=" * ".join(f"(A[i, j] + {k}.5)" for k in range(8))),
        form("64 products", value=" * ".join(f"(A[i, j] + {k}.5)" for k in range(64))),
        form("quotient", value="1.0 / A[i, j]"),
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


def agreement(costs: list[float], reports: list[TpuReport]) -> tuple[int, int]:
    """How many pairs that the estimate tells apart are ordered alike, and how many there are."""
    comparable = [(c, r.estimated_cycles) for c, r in zip(costs, reports, strict=True) if not r.caveats]
    pairs = [((a, x), (b, y)) for (a, x), (b, y) in combinations(comparable, 2) if abs(x - y) > 0.1 * max(x, y)]
    return sum((a < b) == (x < y) and a != b for (a, x), (b, y) in pairs), len(pairs)


def main() -> None:
    """Print a table."""
    forms = [*sums(), *elementwise(), *matmuls(), *stencils()]
    funcs = [parse(form.text).funcs[0] for form in forms]
    costs = [Prices(TPU).program(func.body) for func in funcs]
    found = compile_jobs([tpu_job(func) for func in funcs])
    table = Table("kernel", "form", "static cost", "estimated cycles", "temporary bytes", "layout of A", "note")
    for form, cost, report in zip(forms, costs, found, strict=True):
        if isinstance(report, TpuReport):
            cells = (f"{report.estimated_cycles:,}", f"{report.temp_bytes:,}", report.parameters["A"])
            table.add_row(form.group, form.name, f"{cost:,.0f}", *cells, "; ".join(report.caveats))
        else:
            table.add_row(form.group, form.name, f"{cost:,.0f}", "", "", "", " ".join(report.notes))
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
