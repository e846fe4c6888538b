"""What the search over a module found, and how it shows itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy.typing as npt
from msgspec import Struct, field

from egraph_rules.contexts.facts import Trip
from egraph_rules.modules.choice import Choice
from egraph_rules.modules.graph import Graph
from egraph_rules.modules.picture import dot
from ir.nodes import Const, Expr, Module, PrimFunc
from ir.page import Section
from ir.presburger.index_map import IndexMap
from ir.schedule.layout import Array, Layout, stored
from ir.schedule.storage import Storage
from ir.shown import Shown, counted


class BufferLayout(Struct, frozen=True):
    """How a buffer between functions, or a freed parameter, is kept."""

    name: str
    storage: Storage

    @property
    def index_map(self) -> IndexMap:
        """From the program's indices to those in memory."""
        return self.storage.index_map

    @property
    def pad_value(self) -> Expr | None:
        """What places that hold no element hold: a number, undef for anything; None if there are none."""
        return self.storage.pad if self.storage.has_padding else None

    @property
    def layout(self) -> Layout:
        """Shapes, padding, and conversion of arrays."""
        return stored(self.name, self.storage)

    def pack(self, array: npt.ArrayLike) -> Array:
        """A physical array from a logical one, with padding as it has to be."""
        pad = self.pad_value
        return self.layout.pack(array, pad.value if isinstance(pad, Const) else 0)

    def __str__(self) -> str:
        return f"{self.name}: {self.storage}"


class Alternative(Struct, frozen=True):
    """A program that a choice may come down to: what it is, its entry function and those that pack parameters."""

    name: str
    entry: PrimFunc
    packs: tuple[PrimFunc, ...]
    layouts: Mapping[str, BufferLayout]
    choice: Choice

    @property
    def is_plain(self) -> bool:
        """Whether all buffers are kept as the program has them."""
        return all(layout.storage.is_plain for layout in self.layouts.values())


class ModuleReport(Shown, Struct):
    """How it came about: the calls and conversions of the choice with their prices, programs compared, searches.

    Where programs as a whole are priced by their `code`, calls are not: theirs are prices of operations on elements.
    `left` are the layouts of the cheapest program with other ones, where the one taken has none.
    """

    graph: Graph
    choice: Choice
    compared: list[tuple[str, float]] = field(default_factory=lambda: list[tuple[str, float]]())
    taken: str = ""
    searches: int = 0
    asked: int = 0
    seconds: float = 0.0
    code: bool = False
    left: tuple[BufferLayout, ...] = ()

    def brief(self) -> str:
        """How many calls and buffers."""
        return f"ModuleReport: {counted(len(self.graph.calls), 'call')}, {counted(len(self.graph.between), 'buffer')}"

    def sections(self) -> Iterator[Section]:
        """The graph, what stays as it is and why, and the programs compared."""
        by = ", by the prices of the search (operations on elements)" if self.code else ""
        yield Section(f"calls and buffers between them{by}", lines=tuple(self.lines()))
        if self.graph.fixed:
            yield Section("buffers that stay", lines=tuple(f"- {n}: {why}" for n, why in self.graph.fixed.items()))
        lines = [f"- {price:,.0f}: {name}{' (taken)' if name == self.taken else ''}" for name, price in self.compared]
        effort = f"{self.searches} searches for {self.asked} questions, {self.seconds:.1f} s"
        lines += [f"- not worth it: {layout}" for layout in self.left]
        if not any(" as chosen" in name for name, _ in self.compared):
            lines.append("- no other way to keep buffers saves enough by the prices of calls to be compared")
        yield Section(
            f"programs compared{', by the code that they become' if self.code else ''}", lines=(*lines, effort)
        )

    def dot(self) -> str:
        """The graph with layouts, pad values and prices as a picture, in the language of Graphviz (`dot -Tsvg`)."""
        return dot(self.graph, self.choice)

    def lines(self) -> Iterator[str]:
        """The calls with the buffers that they take otherwise than the program has them, and the conversions, with the
        price of each."""
        for call, variant in zip(self.graph.calls, self.choice.variants, strict=True):
            taken = ", ".join(name for _, name in call.buffers)
            yield f"- {call.name}({taken}): {variant.price:,.0f}{runs(call.trips)}"
            for param, name in call.buffers:
                if not variant.storages[param].is_plain:
                    yield f"    {param} = {name}, {variant.storages[param]}"
        for c in self.choice.conversions:
            yield f"- {c.buffer} from {c.before} to {c.after}: {c.price:,.0f}{runs(self.graph.between[c.buffer].trips)}"
        for o in self.choice.openings:
            what = "copied in and out" if self.graph.between[o.buffer].is_param else "filled"
            yield f"- {o.buffer} {what}, {o.storage}: {o.price:,.0f}{runs(self.graph.between[o.buffer].trips)}"


def runs(trips: Sequence[Trip]) -> str:
    """How often what stands in loops runs, in words; nothing for once."""
    if not trips:
        return ""
    return ", " + " x ".join(str(t.extent) if t.extent is not None else "?" for t in trips) + " times"


class ModuleResult(Shown, Struct, frozen=True):
    """`best` computes what `source` does; `layouts` says how buffers between its functions and freed parameters are
    kept. Freed parameters have a function `pack_<name>` in `best`. Costs are of one run of the entry function."""

    best: Module
    entry: str
    layouts: Mapping[str, BufferLayout]
    cost: float
    cost_before: float
    report: ModuleReport
    source: Module

    def brief(self) -> str:
        """The entry function and its cost."""
        moved = [n for n, layout in self.layouts.items() if not layout.storage.is_plain]
        return f"ModuleResult {self.entry}: cost {self.cost:,.0f}, was {self.cost_before:,.0f}; {len(moved)} layouts"

    def sections(self) -> Iterator[Section]:
        """The module, layouts, and how they came about."""
        yield Section(f"cheapest module: cost {self.cost:,.0f}, was {self.cost_before:,.0f}", str(self.best))
        moved = {n: layout for n, layout in self.layouts.items() if not layout.storage.is_plain}
        stay = ", ".join(n for n in self.layouts if n not in moved)
        lines = (
            *(f"- {layout}" for layout in moved.values()),
            *([f"- as the program has them: {stay}"] if stay else []),
        )
        yield Section("layouts", lines=lines)
        yield from self.report.sections()
