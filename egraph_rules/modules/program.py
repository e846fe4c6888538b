"""`optimize` of a function or a module: layouts and padding between functions are chosen, callees are specialized to
them or inlined, whatever is cheapest."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import inf
from typing import Protocol, overload

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.instructions import rule_of
from egraph_rules.authoring.rule import Rule
from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import Target, target_named
from egraph_rules.engine.phases import Budget
from egraph_rules.modules.assemble import assembled
from egraph_rules.modules.candidates import Maps, storages
from egraph_rules.modules.choice import Choice, Choosing, Conversion, Offers, Opening, cheapest
from egraph_rules.modules.flow import is_guarded
from egraph_rules.modules.graph import Between, Graph, graph_of
from egraph_rules.modules.guards import has_free_guards
from egraph_rules.modules.joining import joined, only_moves
from egraph_rules.modules.knowledge import told
from egraph_rules.modules.result import Alternative, BufferLayout, ModuleReport, ModuleResult
from egraph_rules.modules.stages import staged, unstaged
from egraph_rules.modules.variants import GAP, MARGIN, Pricer, Variant, copying, filling
from egraph_rules.optimization import Result
from egraph_rules.optimization import optimize as optimize_function
from egraph_rules.rules.registry import active_rules, kept_rules, named
from egraph_rules.search.erase import price_as_written
from ir.floats import DEFAULT_FLOATS, Floats, floats_named
from ir.instructions import is_instruction
from ir.nodes import CallStmt, Load, Module, PrimFunc, Store, Undef
from ir.program.calls import callees, calls_in, without_calls
from ir.program.modules import ENTRY, check_calls, entry_of
from ir.schedule.storage import Storage
from ir.semantics.verify import check_entry
from ir.transform.calls.specialize import specialized
from ir.traverse import map_stmt, stores_in, walk

VARIANTS = 12  # of a call: ways to keep its buffers that are searched
INLINED = 20  # stores of a program with all callees inlined up to which that is searched as a whole
_NONE, _ALL, _SOME = range(3)  # how much is moved: what is looked at first
Whole = Callable[[PrimFunc], float]
Confirm = Callable[[PrimFunc, PrimFunc], bool]  # whether the second of two programs without calls is no slower


class Search(Protocol):
    """The search over one function; with a price of programs as a whole, that orders the best it finds."""

    def __call__(self, func: PrimFunc, whole: Whole | None = None, /) -> Result:
        """The cheapest equivalents."""
        ...


def search_for(target: Target) -> Search:
    """The search by the prices of a target, with all else as it is by default."""

    def search(func: PrimFunc, whole: Whole | None = None, /) -> Result:
        return optimize_function(func, target, verify=False, whole=whole)

    return search


@overload
def optimize(
    program: PrimFunc,
    target: str | Target = ...,
    k: int = ...,
    budget: Budget | None = ...,
    floats: Floats | str | Iterable[str] | None = ...,
    rules: Iterable[Rule] | None = ...,
    without: Iterable[str] = ...,
    verify: bool = ...,
    whole: Whole | None = ...,
) -> Result: ...
@overload
def optimize(
    program: Module,
    target: str | Target = ...,
    *,
    budget: Budget | None = ...,
    floats: Floats | str | Iterable[str] | None = ...,
    rules: Iterable[Rule] | None = ...,
    without: Iterable[str] = ...,
    verify: bool = ...,
    whole: Whole | None = ...,
    entry: str = ...,
    free: Iterable[str] = ...,
    maps: Maps | None = ...,
    confirm: Confirm | None = ...,
) -> ModuleResult: ...
def optimize(
    program: PrimFunc | Module,
    target: str | Target = "cpu",
    k: int = 1,
    budget: Budget | None = None,
    floats: Floats | str | Iterable[str] | None = None,
    rules: Iterable[Rule] | None = None,
    without: Iterable[str] = (),
    verify: bool = True,
    whole: Whole | None = None,
    entry: str = ENTRY,
    free: Iterable[str] = (),
    maps: Maps | None = None,
    confirm: Confirm | None = None,
) -> Result | ModuleResult:
    """Search for the `k` cheapest programs equivalent to a function, or for the cheapest module that does what
    `entry` of a module does; see `egraph_rules.optimization.optimize` for what all else means and raises.

    Of a module, the interface of `entry` stays, and how buffers between the functions that it calls are kept is chosen,
    with what padding holds: as `maps` of the caller say (by name of a buffer, functions of the indices), as tiles of
    the target ask for, as stages copy them, rounded up, transposed. `free` names parameters that callers keep as
    `Result.layouts` says (constant weights, packed ahead of time). `whole` prices programs without calls;
    `confirm` is asked whether a program with other layouts is no slower than the cheapest one without.

    Raises:
        OptionError: `free` or `maps` names what is not open; a free parameter is written.
        ScheduleError: a map of the caller is not affine or not injective.
        VerifyError: the program has no meaning.
        LoopsatError: there is no such function, target or family.
    """
    policy = floats_named(floats)
    if isinstance(program, PrimFunc):
        return optimize_function(program, target, k, budget, policy, rules, without, verify, whole)
    chosen = target if isinstance(target, Target) else target_named(target)
    left_out = named(without)
    given = (*(active_rules(left_out) if rules is None else rules), *_own_rules(program, left_out))

    def search(func: PrimFunc, whole: Whole | None = None) -> Result:
        return optimize_function(func, chosen, 1, budget, policy, given, left_out, False, whole)

    instructions = tuple(r.instruction for r in given if r.instruction is not None)
    found = ModuleSearch(program, entry, chosen, search, whole, confirm, instructions, policy)
    return found.run(free, {} if maps is None else maps, verify)


def _own_rules(module: Module, without: Collection[str]) -> tuple[Rule, ...]:
    """Rules for the instructions of a module, which its functions may call without having been written to."""
    return kept_rules((rule_of(f) for f in module.funcs if is_instruction(f)), without)


class ModuleSearch(Struct, dict=True):
    """One search over a module. `whole` prices programs without calls; by default the search's prices do.

    Layouts with room for tiles of `instructions` are looked at.
    """

    module: Module
    entry: str
    target: Target
    search: Search
    whole: Whole | None = None
    confirm: Confirm | None = None
    instructions: tuple[PrimFunc, ...] = ()
    floats: Floats = DEFAULT_FLOATS
    prices: dict[PrimFunc, float] = field(default_factory=lambda: dict[PrimFunc, float]())
    paid: dict[Hashable, bool] = field(default_factory=lambda: dict[Hashable, bool]())
    written: dict[Hashable, bool] = field(default_factory=lambda: dict[Hashable, bool]())

    def __post_init__(self) -> None:
        self.pricer: Pricer = Pricer(self._searched, self.target, self.instructions)

    def run(self, free: Iterable[str], maps: Maps, verify: bool = True) -> ModuleResult:
        """The cheapest module found."""
        began = time.perf_counter()
        entry = self.checked(verify)
        names = tuple(free)
        parts = specialized(staged(entry, alone=bool(names or maps)))
        graph = graph_of(told(self._joined(parts, (*names, *maps)), self.floats), names)
        choices = self.choices(graph, storages(graph, self.target, maps, self.instructions))
        found = [(self._price(a.entry), a) for a in self._alternatives(entry, graph, choices)]
        price, best = self._taken(found)
        report = ModuleReport(graph, best.choice, [(a.name, p) for p, a in found], best.name)
        report.code = self.whole is not None
        others = [f for f in found if best.is_plain and not f[1].is_plain]
        left = min(others, key=_shortest)[1].layouts.values() if others else ()
        report.left = tuple(layout for layout in left if not layout.storage.is_plain)
        report.searches, report.asked = self.pricer.searches, self.pricer.asked
        report.seconds = time.perf_counter() - began
        module = Module((*callees(best.entry), best.entry, *best.packs), self.module.name)
        before = self._price(without_calls(entry))
        return ModuleResult(module, entry.name, best.layouts, price, before, report, self.module)

    def _joined(self, entry: PrimFunc, apart: Collection[str]) -> PrimFunc:
        """A function of which not all callees are to be inlined, with those inlined where that pays."""
        if _is_small(without_calls(entry)):
            return entry

        return joined(entry, self._pays, self._keeps_guards, apart)

    def _keeps_guards(self, func: PrimFunc) -> bool:
        """Whether a function has guards that do not go, or become bounds of loops, whatever callers leave, and that
        what they leave may make needless: without those that keep it inside of its buffers, it would find nothing."""
        return is_guarded(func) and has_free_guards(self.pricer.best(func)[0])

    def _pays(self, joined: PrimFunc, apart: PrimFunc) -> bool:
        """Whether calls in a row are cheaper as one function; programs as a whole are compared where they are priced.

        `apart` calls the callees that `joined` has in the places of the calls.
        """
        calls = [*calls_in(apart.body)]
        key = tuple(map(self.pricer.structure, (joined, *(c.callee for c in calls))))
        if key not in self.paid:
            self.paid[key] = self._is_cheaper(joined, apart, calls)
        return self.paid[key]

    def _is_cheaper(self, joined: PrimFunc, apart: PrimFunc, calls: Sequence[CallStmt]) -> bool:
        best, price = self.pricer.best(joined)
        saves = price < sum(self.pricer.best(c.callee)[1] for c in calls)
        if self.whole is None or not saves:
            return saves
        parts = iter([self._cheaper(c.callee) for c in calls])
        row = map_stmt(apart.body, on_stmt=lambda s: replace(s, callee=next(parts)) if isinstance(s, CallStmt) else s)
        return self._price(best) < self._price(replace(apart, body=row))

    def _taken(self, found: Sequence[tuple[float, Alternative]]) -> tuple[float, Alternative]:
        """The cheapest program, without other layouts unless these save enough and nobody objects.

        It is enough that they save something where they leave stages out and pad nothing: copies that have met.
        """
        plain = min((f for f in found if f[1].is_plain), key=_shortest)
        moved = min((f for f in found if not f[1].is_plain), key=_shortest, default=plain)
        packed = any(layout.storage.has_padding for layout in moved[1].layouts.values())
        margin = 0.0 if not packed and _stages(moved[1].entry) < _stages(plain[1].entry) else MARGIN
        if moved[0] * (1.0 + margin) >= plain[0]:
            return plain
        programs = (without_calls(a.entry) for _, a in (plain, moved))
        return moved if moved[1].packs or self.confirm is None or self.confirm(*programs) else plain

    def checked(self, verify: bool) -> PrimFunc:
        """The entry function, verified unless the caller vouches for it."""
        check_calls(self.module)
        entry = entry_of(self.module, self.entry)
        check_entry(entry, verify)
        return entry

    def choose(self, graph: Graph, ways: Mapping[str, Sequence[Storage]]) -> Choice:
        """The cheapest choice of how buffers are kept, among these ways."""
        offers = self._offers(graph, ways)
        plain = _as_they_are(graph, offers)
        if plain is not None and all(map(_pays_nowhere, offers.variants)):
            return plain
        choice = self._settled(graph, offers)
        assert choice is not None  # there is no limit
        return choice

    def choices(self, graph: Graph, ways: Mapping[str, Sequence[Storage]]) -> list[Choice]:
        """The choices to compare as programs: all buffers as they are, and the cheapest that moves some.

        That one has to save enough. Where programs are priced as a whole, and stages were taken apart at borders, or
        calls only move elements, it may cost a little more: what such parts cost together is not the sum.
        """
        offers = self._offers(graph, ways)
        plain = _as_they_are(graph, offers)
        assert plain is not None
        callees = [call.callee for call in graph.calls]
        near = self.whole is not None and any(only_moves(f) or self.pricer.is_apart(f) for f in callees)
        limit = plain.price * (1.0 + MARGIN) if near else plain.price / (1.0 + MARGIN)
        moved = self._settled(graph, replace(offers, moved=True), limit) if graph.between else None
        return [plain] if moved is None else [plain, moved]

    def _offers(self, graph: Graph, ways: Mapping[str, Sequence[Storage]]) -> Offers:
        """What there is to choose from."""
        variants = [self._variants(k, graph, ways) for k in range(len(graph.calls))]
        weight = Prices(self.target).weight
        conversions = [c for name in ways for c in self._conversions(graph, name, ways[name])]
        openings = [o for name in ways for o in self._openings(graph.between[name], ways[name])]
        runs = [weight(call.trips) for call in graph.calls]
        made = {name: weight(between.trips) for name, between in graph.between.items()}
        return Offers(variants, ways, conversions, openings, runs, made)

    def _settled(self, graph: Graph, offers: Offers, limit: float = inf) -> Choice | None:
        """The cheapest choice, unless it costs more than `limit`, or there is none.

        Variants that a choice takes are searched for, form by form, until all together might be little cheaper. What
        others would cost at the least is more: that is the optimum but for a `GAP`, as far as those bounds are exact.
        """
        choosing = Choosing(graph, offers)
        while True:
            choice = choosing.cheapest()
            if choice is None or choice.price > limit:
                return None
            left = _open(choice, offers)
            if sum(v.cost.room * weight for v, weight in left) <= GAP * choice.price:
                return choice
            self._look(left, GAP * choice.price)

    def _look(self, left: Sequence[tuple[Variant, float]], gap: float) -> None:
        """Search for the next form of variants, those with the most room first, until that leaves no more than `gap`
        to the rest."""
        room = [v.cost.room * weight for v, weight in left]
        for (variant, _), here in sorted(zip(left, room, strict=True), key=lambda pair: -pair[1]):
            if sum(room) <= gap:
                return
            self.pricer.look(variant)
            room.remove(here)

    def _searched(self, func: PrimFunc) -> tuple[PrimFunc, float]:
        result = self.search(func)
        return result.best, result.variants[0][1]

    def _price(self, func: PrimFunc) -> float:
        alone = without_calls(func)
        if alone not in self.prices:
            own = None if self.whole is None else self.whole(alone)
            self.prices[alone] = price_as_written(alone, Prices(self.target)) if own is None else own
        return self.prices[alone]

    def _variants(self, at: int, graph: Graph, ways: Mapping[str, Sequence[Storage]]) -> list[Variant]:
        """A callee with its buffers kept in the ways that are worth it; as they are is the first, if it may be."""
        call = graph.calls[at]
        combined = product(*(range(len(ways[name])) for _, name in call.buffers))
        found: list[Variant] = []
        for picked in sorted(combined, key=lambda picks: self._order(at, graph, picks, ways))[:VARIANTS]:
            kept = {p: ways[n][k] for (p, n), k in zip(call.buffers, picked, strict=True)}
            variant = self.pricer.variant(call.callee, kept)
            if variant is not None:
                found.append(variant)
        return found

    def _order(
        self, at: int, graph: Graph, picked: Sequence[int], ways: Mapping[str, Sequence[Storage]]
    ) -> tuple[int, ...]:
        """What to look at first: all as it is, all that can be moved in one way, some; with numbers in few paddings."""
        names = [name for _, name in graph.calls[at].buffers]
        kept = {name: ways[name][k] for name, k in zip(names, picked, strict=True)}
        moved = {name: s for name, s in kept.items() if not s.is_plain}
        movable = {name for name in kept if not all(s.is_plain for s in ways[name])}
        maps = {str(s.index_map) for s in moved.values() if len(s.shape) > 1} or {""}
        written = {name for name in names if at in graph.between[name].writers}
        found = {n: s for n, s in moved.items() if s.has_padding and (s.standing or n not in written)}
        padded = {isinstance(s.pad, Undef) for s in found.values()}
        together = moved.keys() == movable and len(maps) == 1 and len(padded) <= 1
        group = _ALL if together or (moved and all(graph.between[n].is_free for n in moved)) else _SOME
        numbers = sum(not isinstance(s.pad, Undef) for s in moved.values())
        return (_NONE if not moved else group, len(maps), numbers, *picked)

    def _conversions(self, graph: Graph, name: str, ways: Sequence[Storage]) -> Iterator[Conversion]:
        """From each way in which a buffer may be written to each in which it is read, unless that serves as it is.

        One of the two is how the program has it, or both differ in what padding holds only.
        """
        between = graph.between[name]
        copy = copying(between.buffer)
        for before, after in () if between.one_way else product(ways, ways):
            given = not between.writers and not before.is_plain  # callers have it as it is, or as they are told
            taken = not between.readers and not after.is_plain
            apart = not (before.is_plain or after.is_plain or before.serves(after.padded_with(Undef(after.dtype))))
            if given or taken or apart or between.is_free or before.serves(after):
                continue
            variant = self.pricer.variant(copy, {"source": before, "target": after})
            if variant is not None:
                yield Conversion(name, before, after, variant)

    def _openings(self, between: Between, ways: Sequence[Storage]) -> Iterator[Opening]:
        """What it takes to keep a buffer one way, in each that is not as callers have it or leaves nothing to fill."""
        name, plain = between.buffer.name, Storage.plain(between.buffer)
        for storage in ways if between.one_way else ():
            if between.is_param and not storage.is_plain:
                copy, filled = copying(between.buffer), storage.padded_with(storage.pad)
                ends = ((plain, filled), (filled.padded_with(Undef(filled.dtype)), plain))
                copies = [self.pricer.variant(copy, {"source": a, "target": b}) for a, b in ends]
            elif storage.standing:
                fill = filling(between.buffer, storage)
                copies = [None if fill is None else self.pricer.variant(fill, {})]
            else:
                continue
            if None not in copies:
                yield Opening(name, storage, tuple(c for c in copies if c is not None))

    def _alternatives(self, entry: PrimFunc, graph: Graph, choices: Sequence[Choice]) -> Iterator[Alternative]:
        """Programs to compare: with calls and without, buffers as they are and as chosen."""
        plain = {name: BufferLayout(name, Storage.plain(b.buffer)) for name, b in graph.between.items()}
        as_it_is = choices[0]
        inline = without_calls(entry)
        small = _is_small(inline)
        for choice in choices if graph.calls else ():
            kept = "as they are" if choice is as_it_is else "as chosen"
            chosen = {name: BufferLayout(name, storage) for name, storage in choice.written.items()}
            called = assembled(graph, choice, self.pricer, self._form)
            given = unstaged(assembled(graph, choice, self.pricer, lambda v: v.source).entry) if called.packs else entry
            apart = unstaged(called.entry)
            name = f"callees specialized, buffers {kept}"
            yield Alternative(name, apart.refines(given), called.packs, chosen, choice)
            if choice is not as_it_is and small:  # what is left is what callees have to do with each other
                whole = self._best(without_calls(apart)).refines(given)
                yield Alternative(f"callees inlined, buffers {kept}", whole, called.packs, chosen, choice)
        if small or not graph.calls:
            yield Alternative("callees inlined, buffers as they are", self._best(inline), (), plain, as_it_is)
        yield Alternative("as written", entry, (), plain, as_it_is)

    def _form(self, variant: Variant) -> PrimFunc:
        """What stands for a callee: the cheapest equivalent, unless its code is dearer than the callee's own."""
        return self._no_dearer(variant.best, variant.source)

    def _cheaper(self, callee: PrimFunc) -> PrimFunc:
        return self._no_dearer(self.pricer.best(callee)[0], callee)

    def _no_dearer(self, best: PrimFunc, source: PrimFunc) -> PrimFunc:
        """The first of two forms, where programs as a whole are priced unless it is dearer than the other."""
        if self.whole is None or best.body == source.body:
            return best
        alike = self.pricer.alike(source)
        if alike not in self.written:
            self.written[alike] = self._price(source) < self._price(best)
        return source if self.written[alike] else best

    def _best(self, func: PrimFunc) -> PrimFunc:
        """The cheapest equivalent of a whole program; where nothing else prices it, as any function."""
        return self.pricer.best(func)[0] if self.whole is None else self.search(func, self.whole).best


def _is_small(func: PrimFunc) -> bool:
    """Whether a program is searched as a whole."""
    return sum(isinstance(s, Store) for s in walk(func.body)) <= INLINED


def _stages(func: PrimFunc) -> int:
    """How many stores a function has, with those of what it calls, but for those that copy a buffer as it is."""
    stores = [*stores_in(without_calls(func).body)]
    return sum(not _is_copy(s) for s in stores)


def _is_copy(store: Store) -> bool:
    """Whether a store copies an element to where it is, in a buffer of the same shape."""
    value = store.value
    return isinstance(value, Load) and value.indices == store.indices and value.buffer.shape == store.buffer.shape


def _shortest(found: tuple[float, Alternative]) -> tuple[float, int]:
    """The order of programs: by price, then by how many stages they have."""
    return found[0], _stages(found[1].entry)


def _as_they_are(graph: Graph, offers: Offers) -> Choice | None:
    """The choice with all buffers as they are; None where some call is not to take them so."""
    if not all(options and options[0].is_plain for options in offers.variants):
        return None
    ways = {name: storages[:1] for name, storages in offers.storages.items()}
    first = [options[:1] for options in offers.variants]
    return cheapest(graph, replace(offers, variants=first, storages=ways, conversions=(), openings=()))


def _open(choice: Choice, offers: Offers) -> list[tuple[Variant, float]]:
    """The variants of a choice whose prices are not known, one of each structure, and how often that runs."""
    calls = zip(choice.variants, offers.runs, strict=True)
    copies = ((c.copy, offers.made[c.buffer]) for c in choice.conversions)
    opened = ((v, offers.made[o.buffer]) for o in choice.openings for v in o.copies)
    found: dict[int, tuple[Variant, float]] = {}
    for variant, weight in (*calls, *copies, *opened):
        if not variant.is_settled:
            before = found.get(id(variant.cost), (variant, 0.0))[1]
            found[id(variant.cost)] = variant, before + weight
    return [*found.values()]


def _pays_nowhere(variants: Sequence[Variant]) -> bool:
    """Whether a callee is cheapest with all buffers as they are, which comes first."""
    return all(v.price >= variants[0].price for v in variants)
