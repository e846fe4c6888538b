"""What padding would buy: of one function (`padding_of`), and between the functions of a module (`suggest_padding`).

Padding of a parameter is where a function neither reads nor writes it. Whatever lies there is the callers' business,
unless the function was written for something that it assumes; so any value is supported, and the question is which
one pays. Each is tried: stated as an assumption of what is read, or written at the end, searched, and priced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target, target_named
from egraph_rules.modules.candidates import Maps, storages
from egraph_rules.modules.graph import graph_of
from egraph_rules.modules.knowledge import told
from egraph_rules.modules.pads import add_new, wanted_by
from egraph_rules.modules.program import ModuleSearch, search_for
from egraph_rules.modules.stages import staged
from egraph_rules.optimization import optimize as optimize_function
from ir.analysis.effects import EffectAnalysis, Effects, get
from ir.dtypes import DType
from ir.errors import expect
from ir.nodes import (
    SKIP,
    Assume,
    Buffer,
    Const,
    Expr,
    Module,
    PrimFunc,
    Undef,
    Var,
    const,
    seq,
)
from ir.page import Section
from ir.presburger import sets as pb
from ir.presburger.facts import entry_facts
from ir.printing.printer import to_script
from ir.program.blocks import lower_blocks
from ir.program.edit import names_in
from ir.program.modules import ENTRY, expect_program
from ir.schedule.storage import Storage
from ir.semantics.verify import entered
from ir.shown import Shown, counted
from ir.transform.calls.specialize import specialized
from ir.transform.storage.parts import Part
from ir.traverse import map_stmt, results_of, shape_vars


class HasFunc(Protocol):
    """What was made of a function, such as a compiled kernel."""

    @property
    def func(self) -> PrimFunc:
        """The function."""
        ...


class PadOption(Struct, frozen=True):
    """What padding may hold (undef: anything, but it may be read or written), the price then, and what that saves.

    `claim` is what has to be stated at the start, or done at the end, of the function.
    """

    value: Const | Undef
    price: float
    saves: float
    claim: str

    def __str__(self) -> str:
        what = "anything" if isinstance(self.value, Undef) else to_script(self.value)
        return f"{what}: price {self.price:,.0f}, saves {self.saves:,.0f}; {' '.join(self.claim.split())}"


class ParameterPadding(Struct, frozen=True):
    """The padding of one parameter: `where`, a condition on `indices`, and the options, the one that saves most first.

    `required` is the value that the function was written for, which callers must keep to. `elidable` says that none
    pays, so that callers need no padding at all.
    """

    name: str
    indices: tuple[Var, ...]
    where: Expr
    written: bool
    required: Const | None
    options: tuple[PadOption, ...]

    @property
    def elidable(self) -> bool:
        """Whether nothing is to be asked of callers: no value is required, and none pays."""
        return self.required is None and all(o.saves <= 0 for o in self.options)

    def __str__(self) -> str:
        kind = "written" if self.written else "read"
        head = f"{self.name} ({kind}), padding where {to_script(self.where)}"
        if self.required is not None:
            return f"{head}: holds {to_script(self.required)}, as is assumed"
        best = "no value pays, it may be left out" if self.elidable else f"best {self.options[0]}"
        return f"{head}: any value is supported; {best}"


class Paddings(Shown, Struct, frozen=True):
    """The padding of all parameters of a function that have some; `price` is that of the function as it is."""

    func: PrimFunc
    price: float
    parameters: tuple[ParameterPadding, ...]

    def brief(self) -> str:
        """The function and how many parameters have padding."""
        return f"Paddings of {self.func.name}: {counted(len(self.parameters), 'parameter')}"

    def sections(self) -> Iterator[Section]:
        """Each parameter with its options."""
        lines: list[str] = []
        for parameter in self.parameters:
            lines.append(f"- {parameter}")
            lines += [f"    {option}" for option in parameter.options]
        title = f"padding of the parameters of {self.func.name}, price {self.price:,.0f} as it is"
        yield Section(title, lines=tuple(lines or ["- none has padding"]))

    def __getitem__(self, name: str) -> ParameterPadding:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)


def padding_of(program: PrimFunc | Module | HasFunc, target: str | Target = "cpu", entry: str = ENTRY) -> Paddings:
    """Which pad values each parameter supports, what each buys by the prices of a target, and what it takes.

    Takes a function, `entry` of a module, or a compiled kernel.

    Raises:
        LoopsatError: there is no such function or target, or the program has no meaning.
    """
    if not hasattr(program, "func"):
        expect_program(program)
    func = entered(program if isinstance(program, (PrimFunc, Module)) else program.func, entry)
    prices = target if isinstance(target, Target) else target_named(target)

    def price(form: PrimFunc) -> float:
        return optimize_function(form, prices, verify=False).variants[0][1]

    plain = lower_blocks(func)
    effects = EffectAnalysis().of(plain.body)
    runs = EffectAnalysis().of(map_stmt(plain.body, on_stmt=lambda s: SKIP if isinstance(s, Assume) else s))
    base = price(func)
    found: list[ParameterPadding] = []
    for buffer in func.buffers:
        gap = _gap(plain, runs, buffer)
        if gap is not None:
            found.append(_options(func, gap, effects, base, price))
    return Paddings(func, base, tuple(found))


def _gap(func: PrimFunc, effects: Effects, buffer: Buffer) -> Part | None:
    """The part of a parameter that a function neither reads nor writes; None if there is none, or it is not known."""
    scalars = (*func.scalars, *shape_vars(func))
    touched = get(effects.reads, buffer).union(get(effects.may, buffer))
    region = pb.box(buffer.shape).subtract(touched)
    part = pb.within_budget(lambda: Part.of(buffer, region, entry_facts(func), scalars, names_in(func)), None)
    return part if part is not None and part.is_some else None  # where nothing is used, there are no elements


def _options(
    func: PrimFunc, gap: Part, effects: Effects, base: float, price: Callable[[PrimFunc], float]
) -> ParameterPadding:
    """What the padding of a parameter may hold, each value tried."""
    buffer, written = gap.buffer, gap.buffer in results_of(func)
    required = _required(effects, gap)
    values: list[Const] = []
    for value in wanted_by(func, buffer):
        add_new(values, value)
    for number in () if buffer.dtype is DType.BOOL else (0, 1):
        add_new(values, const(number, buffer.dtype))
    options: list[PadOption] = []
    for value in () if required is not None else (Undef(buffer.dtype), *values):
        claim = gap.written_as(value) if written else gap.read_as(value)
        body = seq(func.body, claim) if written else seq(claim, func.body)
        found = price(replace(func, body=body))
        options.append(PadOption(value, found, round(base - found, 6) + 0.0, to_script(claim)))
    options.sort(key=lambda o: o.price)
    return ParameterPadding(buffer.name, gap.indices, gap.inside, written, required, tuple(options))


def _required(effects: Effects, gap: Part) -> Const | None:
    """The number that a function assumes, or leaves, in all of the padding of a parameter."""
    for (other, value), region in effects.established.items():
        if other == gap.buffer and isinstance(value, Const) and gap.region.is_subset(region):
            return value
    return None


# Modules -------------------------------------------------------------------------------------------------------------


class PaddingSuggestion(Struct, frozen=True):
    """A way to keep a buffer between functions, the price of the cheapest choice with it, and what that saves."""

    buffer: str
    storage: Storage
    price: float
    saves: float
    readers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.buffer}: {self.storage}; price {self.price:,.0f}, saves {self.saves:,.0f}"


def suggest_padding(
    module: Module,
    target: str | Target = "cpu",
    entry: str = ENTRY,
    free: Iterable[str] = (),
    maps: Maps | None = None,
) -> list[PaddingSuggestion]:
    """For each buffer between functions the ways to keep it, by the price of the cheapest module with each.

    Prices are those of functions that stay apart, conversions included; what is saved is negative where a way costs
    more than all buffers as they are. Arguments are those of `optimize`, as are errors.
    """
    expect(module, Module, "suggestions are for the buffers of a module", "`padding_of` takes a function")
    prices = target if isinstance(target, Target) else target_named(target)
    search = ModuleSearch(module, entry, prices, search_for(prices))
    graph = graph_of(told(specialized(staged(search.checked(True), alone=True))), free)
    ways = storages(graph, prices, {} if maps is None else maps)
    plain = {name: [w[0]] for name, w in ways.items()}
    base = search.choose(graph, plain).price
    found: list[PaddingSuggestion] = []
    for name, between in graph.between.items():
        for storage in ways[name][1:]:
            needed = between.is_result or not (between.writers or between.is_free)
            stays = [ways[name][0]] if needed and not between.one_way else []
            choice = search.choose(graph, {**ways, name: [*stays, storage]})
            if choice.written[name] == storage or any(c.after == storage for c in choice.conversions):
                readers = tuple(dict.fromkeys(graph.calls[k].name for k in between.readers))
                found.append(PaddingSuggestion(name, storage, choice.price, base - choice.price, readers))
    return sorted(found, key=lambda s: s.price)
