"""A function under each way in which its callers may keep its buffers: searched and priced, equal structure once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import Target
from egraph_rules.modules.floors import floor
from egraph_rules.search.erase import price_as_written
from ir.errors import ScheduleError
from ir.instructions import instructions_in
from ir.nodes import SKIP, Assume, Buffer, Const, Expr, For, Load, PrimFunc, Stmt, Store, Undef, Var, const, seq
from ir.program.canonical import canonical
from ir.program.edit import ROOT, names_in, nest, with_unique_names
from ir.schedule.storage import Storage, kept
from ir.transform.stages.sequential import sequential_buffer_access
from ir.transform.storage.layout_records import known_sizes
from ir.transform.storage.padding import grid
from ir.traverse import has_undef, results_of, shape_vars, walk

Found = tuple[PrimFunc, float]  # the cheapest equivalent of a function and its price
Search = Callable[[PrimFunc], Found]


@dataclass(slots=True, eq=False)
class Variant:
    """A function whose buffers are kept in certain ways: as transformed, and once it was searched (`found`), the
    cheapest equivalent with its price; until then a price below which none is expected."""

    storages: Mapping[str, Storage]
    plain: PrimFunc  # with all buffers as the program has them
    source: PrimFunc
    floor: float
    found: Found | None = None

    @property
    def is_plain(self) -> bool:
        """Whether all buffers are kept as the program has them."""
        return all(s.is_plain for s in self.storages.values())

    @property
    def price(self) -> float:
        """The price, or what it is at the least."""
        return self.floor if self.found is None else self.found[1]

    @property
    def best(self) -> PrimFunc:
        """The cheapest equivalent that was found."""
        return self.source if self.found is None else self.found[0]


@dataclass(slots=True)
class Pricer:
    """Searches with a cache by structure. `searches` counts those that ran, `asked` those that were needed."""

    search: Search
    target: Target
    instructions: tuple[PrimFunc, ...] = ()
    known: dict[PrimFunc, Found] = field(default_factory=lambda: dict[PrimFunc, Found]())
    variants: dict[Hashable, Variant | None] = field(default_factory=lambda: dict[Hashable, Variant | None]())
    asked: int = 0

    @property
    def searches(self) -> int:
        """How many functions were searched."""
        return len(self.known)

    def best(self, func: PrimFunc) -> Found:
        """The cheapest equivalent of a function without calls, and its price."""
        self.asked += 1
        plain = canonical(func)
        if plain.func not in self.known:
            self.known[plain.func] = self.search(plain.func.vouched())
        found, price = self.known[plain.func]
        named = replace(plain.back(found, func.name), attrs=func.attrs)
        return named.refines(func), price

    def simplest(self, func: PrimFunc) -> PrimFunc:
        """What to derive variants of: the cheapest equivalent where that has lost nothing but work.

        Assumptions and stores of undef to parameters are no part of it, so a function that has some stands for itself.
        """
        for stmt in walk(func.body):
            if isinstance(stmt, Assume) or (
                isinstance(stmt, Store) and stmt.buffer in func.buffers and has_undef(stmt.value)
            ):
                return func
        best = self.best(func)[0]
        return func if instructions_in(best) else best  # calls have copies that other layouts may save

    def variant(self, func: PrimFunc, storages: Mapping[str, Storage]) -> Variant | None:
        """`func` with parameters kept so, not searched yet; None where a layout cannot be had."""
        key = func, tuple(storages.items())
        if key not in self.variants:
            self.variants[key] = self._derived(func, storages)
        return self.variants[key]

    def _derived(self, func: PrimFunc, storages: Mapping[str, Storage]) -> Variant | None:
        try:
            plain = source = self.simplest(func)
            for name, storage in storages.items():
                source = kept(source, name, storage)
        except ScheduleError:
            return None
        found = self.best(func)
        variant = Variant(storages, plain, source, min(found[1], self._expected(func, plain, source, storages)))
        if variant.is_plain:
            variant.found = found
        return variant

    def _expected(self, func: PrimFunc, plain: PrimFunc, source: PrimFunc, storages: Mapping[str, Storage]) -> float:
        """What a variant costs at the least: guards are needed unless padding that is read holds a number."""
        written = {b.name for b in results_of(func)}
        padded = [n for n, s in storages.items() if (s.standing or n not in written) and s.has_padding]
        undefined = [n for n in padded if isinstance(storages[n].pad, Undef)]
        if not self.instructions and len(undefined) == len(padded):
            return price_as_written(source, Prices(self.target))
        return min(floor(form, self.target, self.instructions, undefined) for form in (plain, source))

    def settle(self, variant: Variant) -> Variant:
        """Search for the cheapest equivalent of a variant, unless that was done: of each form that may be cheaper."""
        if variant.found is None:
            found = self.best(variant.source)
            for form in self.forms(variant) if variant.floor < found[1] else ():
                found = min(found, self.best(form), key=lambda f: f[1])
            variant.found = found[0].refines(variant.source), found[1]
        return variant

    def forms(self, variant: Variant) -> list[PrimFunc]:
        """Other forms of a variant: with loops as a buffer lies in memory, and with padding filled before all else."""
        moved = [name for name, storage in variant.storages.items() if not storage.is_plain]
        written = [b.name for b in results_of(variant.source) if b.name in moved]
        forms = _in_storage_order(variant.source, (*written, *moved)[0]) if moved else []
        stored = {n: variant.storages[n] for n in written}
        filled = [n for n, s in stored.items() if isinstance(s.pad, Const) and s.has_padding and not s.standing]
        if filled:
            forms.append(_filled_first(variant.plain, variant.storages, filled))
        return forms


def _filled_first(func: PrimFunc, storages: Mapping[str, Storage], names: Sequence[str]) -> PrimFunc:
    """A function that fills buffers with what their padding holds, and then stores their elements.

    It finds nothing in them that it reads (`Graph` has only such), so that what lay there before may go.
    """
    for name, storage in storages.items():
        func = kept(func, name, storage, padded=name not in names)
    for buffer in (b for b in func.buffers if b.name in names):
        func = replace(func, body=seq(_filled(buffer, storages[buffer.name].pad, names_in(func)), func.body))
    return func


def _filled(buffer: Buffer, value: Expr, taken: set[str]) -> Stmt:
    loops, places = grid(buffer, [f"{buffer.name.lower()}{k}" for k in range(len(buffer.shape))], taken)
    return nest(list(loops), Store(buffer, places, value))


def _in_storage_order(func: PrimFunc, buffer: str) -> list[PrimFunc]:
    """The function with loops over a buffer as it lies in memory, if it can be had."""
    try:
        return [sequential_buffer_access(with_unique_names(func), ROOT, buffer, reassociate=True).func]
    except ScheduleError:
        return []


def filling(buffer: Buffer, storage: Storage) -> PrimFunc | None:
    """The function that gives a new buffer what its standing padding holds; None where its sizes would not be known."""
    target = replace(buffer, name="target", shape=storage.physical_shape)
    func = PrimFunc("fill", (target,), _filled(target, storage.pad, {"target"})).vouched()
    return func if {*shape_vars(func)} <= known_sizes(func) else None


def copying(buffer: Buffer) -> PrimFunc:
    """The function that copies one buffer into another: under two ways to keep them, a conversion."""
    source, target = replace(buffer, name="source"), replace(buffer, name="target")
    loops = [For(Var(f"i{k}", e.dtype), const(0, e.dtype), e, SKIP) for k, e in enumerate(buffer.shape)]
    indices = tuple(loop.var for loop in loops)
    return PrimFunc("copy", (source, target), nest(loops, Store(target, indices, Load(source, indices)))).vouched()
