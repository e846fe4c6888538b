"""A function under each way in which its callers may keep its buffers: searched and priced, equal structure once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from math import inf, prod

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import Target
from egraph_rules.modules.floors import floor
from egraph_rules.search.erase import price_as_written
from ir.dtypes import DType
from ir.errors import ScheduleError
from ir.instructions import instructions_in
from ir.nodes import SKIP, Assume, Buffer, Const, Expr, For, Load, PrimFunc, Select, Store, Undef, Var, const, seq
from ir.program.abstract import abstract
from ir.program.canonical import Canonical, canonical
from ir.program.edit import ROOT, names_in, nest, with_unique_names
from ir.schedule.storage import Storage, kept
from ir.transform.stages.sequential import sequential_buffer_access
from ir.transform.storage.layout_records import known_sizes
from ir.transform.storage.padding import filled
from ir.traverse import has_undef, results_of, shape_vars, walk

MARGIN = 0.1  # what other layouts must save; prices that are nearer to each other say nothing
GAP = 0.05  # how far the price of a choice may be from what it might be at the least: half of what a `MARGIN` is
_FAR = 2.0  # times a price: more than stages that merge, or overwrite each other, save where nothing else changes
Found = tuple[PrimFunc, float]  # the cheapest equivalent of a function and its price
Search = Callable[[PrimFunc], Found]


class Cost(Struct):
    """What all functions of one structure cost under the same layouts: at the least, and once one was searched, with
    which of their forms that is; whether all `forms` that may be much cheaper were `searched`."""

    floor: float
    found: float | None = None
    form: int = 0
    forms: int = 0
    searched: bool = False

    @property
    def price(self) -> float:
        """The price, or what it is at the least."""
        return self.floor if self.found is None or not self.searched else self.found

    @property
    def room(self) -> float:
        """How far the price that was found may be from what it is at the least."""
        return inf if self.found is None else max(self.found - self.price, 0.0)

    def look(self, price: float | None) -> None:
        """Take notice of the price of the next form, or that there is none."""
        if price is not None and (self.found is None or price < self.found):
            self.found, self.form = price, self.forms
        self.forms += 1
        assert self.found is not None
        self.searched = price is None or self.floor * (1.0 + MARGIN) >= self.found


class Variant(Struct, eq=False):
    """A function whose buffers are kept in certain ways: `plain` has them as the program has, `source` so."""

    storages: Mapping[str, Storage]
    func: PrimFunc
    cost: Cost
    pricer: Pricer
    derived: tuple[PrimFunc, PrimFunc] | None = None
    found: PrimFunc | None = None

    @property
    def is_plain(self) -> bool:
        """Whether all buffers are kept as the program has them."""
        return all(s.is_plain for s in self.storages.values())

    @property
    def is_settled(self) -> bool:
        """Whether the price is known, of this one or of another one of its structure."""
        return self.cost.searched

    @property
    def price(self) -> float:
        """The price, or what it is at the least."""
        return self.cost.price

    @property
    def plain(self) -> PrimFunc:
        """What the variant was derived of."""
        return self._derived()[0]

    @property
    def source(self) -> PrimFunc:
        """The function as transformed."""
        return self._derived()[1]

    @property
    def best(self) -> PrimFunc:
        """The cheapest equivalent that was found."""
        if self.found is None and self.cost.found is not None:
            self.found = self.pricer.cheapest(self)
        return self.source if self.found is None else self.found

    def _derived(self) -> tuple[PrimFunc, PrimFunc]:
        if self.derived is None:
            self.derived = self.pricer.derived(self.func, self.storages)
        return self.derived


class Pricer(Struct):
    """Searches with a cache by structure. `searches` counts those that ran, `asked` those that were needed.

    `first` has what was found for the first function that differs from others in numbers only, by the form that they
    share, and `abstract` what was found for that form, where it stands for all of them.
    """

    search: Search
    target: Target
    instructions: tuple[PrimFunc, ...] = ()
    known: dict[PrimFunc, Found] = field(default_factory=lambda: dict[PrimFunc, Found]())
    costs: dict[Hashable, Cost | None] = field(default_factory=lambda: dict[Hashable, Cost | None]())
    variants: dict[Hashable, Variant | None] = field(default_factory=lambda: dict[Hashable, Variant | None]())
    named: dict[int, tuple[PrimFunc, Canonical]] = field(
        default_factory=lambda: dict[int, tuple[PrimFunc, Canonical]]()
    )
    first: dict[PrimFunc, Found] = field(default_factory=lambda: dict[PrimFunc, Found]())
    abstract: dict[PrimFunc, Found | None] = field(default_factory=lambda: dict[PrimFunc, Found | None]())
    asked: int = 0
    searches: int = 0

    def best(self, func: PrimFunc) -> Found:
        """The cheapest equivalent of a function without calls, and its price."""
        found, price = self._known(func)
        named = replace(self._canonical(func).back(found, func.name), attrs=func.attrs)
        return named.refines(func), price

    def _known(self, func: PrimFunc) -> Found:
        """The same under canonical names."""
        self.asked += 1
        plain = self.structure(func)
        if plain not in self.known:
            self.known[plain] = self._alike(plain) or self._search(plain)
        return self.known[plain]

    def alike(self, func: PrimFunc) -> PrimFunc:
        """What stands for all functions whose forms cost the same: that without names, and without numbers where
        these were seen not to matter."""
        plain = self.structure(func)
        form = abstract(plain)
        return plain if form is None or self.abstract.get(form.func) is None else form.func

    def _search(self, func: PrimFunc) -> Found:
        self.searches += 1
        return self.search(func.vouched())

    def _alike(self, func: PrimFunc) -> Found | None:
        """What is found by other numbers; None where these may matter.

        They do not where the search over a function with names in place of the numbers has found, for the first one of
        that form, what is no dearer than what the search over that one has.
        """
        form = abstract(func)
        if form is None:
            return None
        if form.func not in self.first:
            self.first[form.func] = self._search(func)
            return self.first[form.func]
        if form.func not in self.abstract:
            found = self._search(form.func)
            self.abstract[form.func] = found if found[1] <= self.first[form.func][1] else None
        found = self.abstract[form.func]
        return None if found is None else (form.back(found[0]), found[1])

    def structure(self, func: PrimFunc) -> PrimFunc:
        """A function without calls under names that say nothing."""
        return self._canonical(func).func

    def _canonical(self, func: PrimFunc) -> Canonical:
        if id(func) not in self.named:
            self.named[id(func)] = func, canonical(func)  # held, so that no other one gets its number
        return self.named[id(func)][1]

    def simplest(self, func: PrimFunc) -> PrimFunc:
        """What to derive variants of: the cheapest equivalent where that has lost nothing but work.

        Assumptions and stores of undef to parameters are no part of it, so a function that has some stands for itself.
        """
        for stmt in walk(func.body):
            if isinstance(stmt, Assume) or (
                isinstance(stmt, Store) and stmt.buffer in func.buffers and has_undef(stmt.value)
            ):
                return func
        best = self.best(func)[0]  # whose calls have copies, and whose stages have borders, that other layouts may save
        return func if instructions_in(best) or self.is_apart(func) else best

    def is_apart(self, func: PrimFunc) -> bool:
        """Whether the cheapest equivalent of a function has taken stages apart, as at borders."""
        stores, parts = (sum(isinstance(s, Store) for s in walk(f.body)) for f in (func, self._known(func)[0]))
        return stores < parts

    def variant(self, func: PrimFunc, storages: Mapping[str, Storage]) -> Variant | None:
        """`func` with parameters kept so, not searched yet; None where a layout cannot be had."""
        key = id(func), tuple(storages.items())
        if key not in self.variants:
            places = [p.name for p in func.params]
            kept_so = tuple((places.index(name), storage) for name, storage in storages.items())
            self.variants[key] = self._priced(func, storages, (self.structure(func), kept_so))
        return self.variants[key]

    def _priced(self, func: PrimFunc, storages: Mapping[str, Storage], structure: Hashable) -> Variant | None:
        """A variant, with what is known of the cost of its structure."""
        if structure in self.costs:
            cost = self.costs[structure]
            return None if cost is None else Variant(storages, func, cost, self)
        try:
            plain, source = derived = self.derived(func, storages)
        except ScheduleError:
            self.costs[structure] = None
            return None
        found = self._known(func)[1]
        cost = Cost(self._expected(func, plain, source, storages, found))
        self.costs[structure] = cost
        variant = Variant(storages, func, cost, self, derived)
        if variant.is_plain:
            cost.found, cost.searched = found, True
        return variant

    def derived(self, func: PrimFunc, storages: Mapping[str, Storage]) -> tuple[PrimFunc, PrimFunc]:
        """What a variant is derived of, and the function with parameters kept so.

        Raises:
            ScheduleError: a layout cannot be had.
        """
        plain = source = self.simplest(func)
        for name, storage in storages.items():
            source = kept(source, name, storage)
        return plain, source

    def _expected(
        self, func: PrimFunc, plain: PrimFunc, source: PrimFunc, storages: Mapping[str, Storage], found: float
    ) -> float:
        """What a variant costs at the least: guards are needed unless padding that is read holds a number, and so is
        what writes numbers to padding. `found` is the price with all buffers as they are.
        """
        written = {b.name for b in results_of(func)}
        padded = [n for n, s in storages.items() if (s.standing or n not in written) and s.has_padding]
        undefined = [n for n in padded if isinstance(storages[n].pad, Undef)]
        if len(undefined) == len(padded):
            more = sum(self._filled(storages[n]) for n in written & storages.keys())
            if not self.instructions:
                return min(found + more, price_as_written(source, Prices(self.target)))
            found += more
        return min(found, *(floor(form, self.target, self.instructions, undefined) for form in (plain, source)))

    def _filled(self, storage: Storage) -> float:
        """What it costs at the least to write the padding of a buffer: by a nest of its own, or by a choice."""
        sizes = (storage.physical_shape, storage.shape)
        known = [prod(int(e.value) for e in shape if isinstance(e, Const)) for shape in sizes]
        if storage.standing or not storage.has_padding or not isinstance(storage.pad, Const):
            return 0.0
        prices, place = Prices(self.target), Buffer("target", (const(known[0], DType.INT32),), storage.dtype)
        var = Var("i", DType.INT32)

        def stores(count: int, value: Expr) -> float:
            extent = const(count, DType.INT32)
            return prices.program(For(var, const(0, DType.INT32), extent, Store(place, (var,), value)))

        chosen = Select(var < 1, storage.pad, storage.pad)
        return min(stores(known[0] - known[1], storage.pad), stores(known[0], chosen) - stores(known[0], storage.pad))

    def look(self, variant: Variant) -> None:
        """Search for the cheapest equivalent of the next form of a variant that is not settled.

        A form that without any guard is far dearer than what another one was found to cost is not searched.
        """
        form, found = next(islice(self.forms(variant), variant.cost.forms, None), None), variant.cost.found
        if form is None:
            variant.cost.look(None)
        elif found is not None and floor(form, self.target, self.instructions) >= _FAR * found:
            variant.cost.look(inf)
        else:
            variant.cost.look(self._known(form)[1])

    def settle(self, variant: Variant) -> Variant:
        """Search for the cheapest equivalent of a variant, unless that was done for one of its structure.

        Other forms are searched as long as one may be much cheaper.
        """
        while not variant.is_settled:
            self.look(variant)
        return variant

    def cheapest(self, variant: Variant) -> PrimFunc:
        """The cheapest equivalent that was found of a variant."""
        form = next(islice(self.forms(variant), variant.cost.form, None))
        return self.best(form)[0].refines(variant.source)

    def forms(self, variant: Variant) -> Iterator[PrimFunc]:
        """The forms of a variant: as it is, with padding filled first, with loops as a buffer lies in memory."""
        if variant.is_plain:
            yield variant.func
            return
        yield variant.source
        moved = [name for name, storage in variant.storages.items() if not storage.is_plain]
        written = [b.name for b in results_of(variant.source) if b.name in moved]
        stored = {n: variant.storages[n] for n in written}
        filled = [n for n, s in stored.items() if isinstance(s.pad, Const) and s.has_padding and not s.standing]
        if filled:
            yield _filled_first(variant.plain, variant.storages, filled)
        with suppress(ScheduleError):
            func = with_unique_names(variant.source)
            yield sequential_buffer_access(func, ROOT, (*written, *moved)[0], reassociate=True).func


def _filled_first(func: PrimFunc, storages: Mapping[str, Storage], names: Sequence[str]) -> PrimFunc:
    """A function that fills buffers with what their padding holds, and then stores their elements.

    It finds nothing in them that it reads (`Graph` has only such), so that what lay there before may go.
    """
    for name, storage in storages.items():
        func = kept(func, name, storage, padded=name not in names)
    for buffer in (b for b in func.buffers if b.name in names):
        func = replace(func, body=seq(filled(buffer, storages[buffer.name].pad, names_in(func)), func.body))
    return func


def filling(buffer: Buffer, storage: Storage) -> PrimFunc | None:
    """The function that gives a new buffer what its standing padding holds; None where its sizes would not be known."""
    target = replace(buffer, name="target", shape=storage.physical_shape)
    func = PrimFunc("fill", (target,), filled(target, storage.pad, {"target"})).vouched()
    return func if {*shape_vars(func)} <= known_sizes(func) else None


def copying(buffer: Buffer) -> PrimFunc:
    """The function that copies one buffer into another: under two ways to keep them, a conversion."""
    source, target = replace(buffer, name="source"), replace(buffer, name="target")
    loops = [For(Var(f"i{k}", e.dtype), const(0, e.dtype), e, SKIP) for k, e in enumerate(buffer.shape)]
    indices = tuple(loop.var for loop in loops)
    return PrimFunc("copy", (source, target), nest(loops, Store(target, indices, Load(source, indices)))).vouched()
