"""Which variant of each call and which conversions are cheapest together: a 0-1 program, solved exactly.

For each call one variant is taken. A buffer exists in the way its writer leaves it, and in those that it is converted
to from there; each reader takes one of these that serves it. One that is kept one way all calls take in that. The price
is that of variants, as often as they run, of conversions, and of what is filled or copied where buffers are made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from egraph_rules.modules.graph import Graph
from egraph_rules.modules.variants import Variant
from ir.schedule.storage import Storage


class Conversion(Struct, frozen=True):
    """A buffer brought from the way its writer leaves it to another one."""

    buffer: str
    before: Storage
    after: Storage
    copy: Variant

    @property
    def price(self) -> float:
        """The price of the copy."""
        return self.copy.price


class Opening(Struct, frozen=True):
    """What it takes to keep a buffer `one_way`: filling its padding; of a parameter, copies in and out."""

    buffer: str
    storage: Storage
    copies: tuple[Variant, ...]

    @property
    def price(self) -> float:
        """The price of all of it."""
        return sum(c.price for c in self.copies)


class Choice(Struct, frozen=True):
    """A variant for each call, how each buffer is written, what it is converted to, and what is filled or copied for
    those kept one way, with the price of all."""

    variants: tuple[Variant, ...]
    written: Mapping[str, Storage]
    conversions: tuple[Conversion, ...]
    openings: tuple[Opening, ...]
    price: float


class Offers(Struct, frozen=True):
    """What there is to choose from: variants of each call, ways to keep each buffer, and what leads to these; and how
    often each call runs, and what is done for a buffer where that is made. Something is to be `moved`, if so."""

    variants: Sequence[Sequence[Variant]]
    storages: Mapping[str, Sequence[Storage]]
    conversions: Sequence[Conversion]
    openings: Sequence[Opening]
    runs: Sequence[float]
    made: Mapping[str, float]
    moved: bool = False


def cheapest(graph: Graph, offers: Offers) -> Choice | None:
    """The cheapest choice; there is one, as long as each call has a variant with all buffers as they are."""
    return Choosing(graph, offers).cheapest()


class Choosing:
    """The 0-1 program of a graph: its variables, and what must hold of them, whatever prices are."""

    def __init__(self, graph: Graph, offers: Offers) -> None:
        self._graph, self._offers, self._program = graph, offers, _Program()
        variable = self._program.variable
        self._taken = [[variable() for _ in options] for options in offers.variants]
        self._starts: dict[str, dict[Storage, int]] = {}  # how a buffer comes into being that no one call writes
        for name, between in graph.between.items():
            self._starts[name] = {
                storage: variable()
                for storage in offers.storages[name]
                if between.one_way or (not between.writers and (between.is_free or storage.is_plain))
            }
        self._converted = [variable() for _ in offers.conversions]
        self._asked = self._asking()
        self._openings = {(o.buffer, o.storage): o for o in offers.openings}
        self._constrain()

    def cheapest(self) -> Choice | None:
        """The solution by the prices that are known now, if there is one."""
        prices = self._prices()
        values = self._program.solve(prices)
        if values is None:
            return None
        offers = self._offers
        chosen = tuple(
            next(v for x, v in zip(row, options, strict=True) if values[x] > 0.5)
            for row, options in zip(self._taken, offers.variants, strict=True)
        )
        written = {
            name: next(s for s in offers.storages[name] if any(values[x] > 0.5 for x in self._produced(name, s)))
            for name in self._graph.between
        }
        moves = tuple(c for x, c in zip(self._converted, offers.conversions, strict=True) if values[x] > 0.5)
        openings = tuple(o for o in offers.openings if written[o.buffer] == o.storage)
        return Choice(chosen, written, moves, openings, float(np.round(values) @ np.array(prices)))

    def _prices(self) -> list[float]:
        """What each variable costs, in the order in which they were made."""
        offers = self._offers
        rows = zip(offers.variants, offers.runs, strict=True)
        prices = [v.price * runs for options, runs in rows for v in options]
        for name, starts in self._starts.items():
            openings = (self._openings.get((name, storage)) for storage in starts)
            prices += [0.0 if o is None else o.price * offers.made[name] for o in openings]
        return prices + [c.price * offers.made[c.buffer] for c in offers.conversions]

    def _asking(self) -> dict[tuple[int, str, Storage], list[int]]:
        """The variables of the variants of each call that take a buffer in a way."""
        found = defaultdict[tuple[int, str, Storage], list[int]](list)
        for at, call in enumerate(self._graph.calls):
            for x, variant in zip(self._taken[at], self._offers.variants[at], strict=True):
                for param, name in call.buffers:
                    found[at, name, variant.storages[param]].append(x)
        return found

    def _constrain(self) -> None:
        """Say what must hold of the variables."""
        pairs = zip(self._taken, self._offers.variants, strict=True)
        moved = {x: 1.0 for row, options in pairs for x, v in zip(row, options, strict=True) if not v.is_plain}
        if self._offers.moved:
            self._program.at_least(moved, 1.0)
        for row in self._taken:
            self._program.equal(dict.fromkeys(row, 1.0), 1.0)
        for x, conversion in zip(self._converted, self._offers.conversions, strict=True):
            self._program.at_least({**self._produced(conversion.buffer, conversion.before), x: -1.0}, 0.0)
        for name, between in self._graph.between.items():
            if between.one_way or not between.writers:
                self._program.equal(dict.fromkeys(self._starts[name].values(), 1.0), 1.0)
            if between.one_way:
                self._in_one_way(name)
            else:
                self._served(name)

    def _produced(self, name: str, storage: Storage) -> dict[int, float]:
        """The variables of which one is set where a buffer comes to be kept in a way."""
        between = self._graph.between[name]
        if between.one_way or not between.writers:
            return {x: 1.0 for s, x in self._starts[name].items() if s == storage}
        return dict.fromkeys(self._asked.get((between.writers[0], name, storage), ()), 1.0)

    def _in_one_way(self, name: str) -> None:
        """All calls take a buffer as it came into being."""
        between = self._graph.between[name]
        for storage in self._offers.storages[name]:
            for call in {*between.writers, *between.readers}:
                asking = dict.fromkeys(self._asked.get((call, name, storage), ()), -1.0)
                self._program.equal({**self._produced(name, storage), **asking}, 0.0)

    def _served(self, name: str) -> None:
        """Each reader finds a buffer as it was written, or as it was converted, in a way that serves."""
        between, storages = self._graph.between[name], self._offers.storages[name]
        offers: list[tuple[Storage, dict[int, float]]] = [(s, self._produced(name, s)) for s in storages]
        moves = zip(self._converted, self._offers.conversions, strict=True)
        offers += [(c.after, {x: 1.0}) for x, c in moves if c.buffer == name]
        for wanted in storages:
            served: dict[int, float] = {}
            for offered, variables in offers:
                if offered.serves(wanted):
                    served |= variables
            for reader in between.readers:
                asking = self._asked.get((reader, name, wanted))
                if asking:
                    self._program.at_least({**served, **dict.fromkeys(asking, -1.0)}, 0.0)
            if between.is_result and wanted.is_plain:
                self._program.at_least(served, 1.0)


# To look for what each choice decides of others before solving takes a hundred times as long in long chains.
_OPTIONS = {"presolve": False, "mip_rel_gap": 0.01}


class _Program:
    """A 0-1 program in the making."""

    def __init__(self) -> None:
        self._count = 0
        self._rows: list[tuple[dict[int, float], float, float]] = []

    def variable(self) -> int:
        self._count += 1
        return self._count - 1

    def equal(self, row: dict[int, float], value: float) -> None:
        self._rows.append((row, value, value))

    def at_least(self, row: dict[int, float], value: float) -> None:
        self._rows.append((row, value, np.inf))

    def solve(self, prices: Sequence[float]) -> Any:
        """The values of the variables, 0 or 1; None where there is no solution."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, which few programs need
        from scipy.sparse import csr_array

        entries = [(factor, k, x) for k, (row, _, _) in enumerate(self._rows) for x, factor in row.items()]
        factors, rows, columns = zip(*entries, strict=True) if entries else ((), (), ())
        matrix = csr_array((factors, (rows, columns)), (len(self._rows), self._count))
        low: Any = np.array([low for _, low, _ in self._rows])
        high: Any = np.array([high for _, _, high in self._rows])
        if not self._count:
            return np.zeros(0)
        found = milp(
            np.array(prices),
            constraints=LinearConstraint(matrix, low, high),
            integrality=np.ones(self._count),
            bounds=Bounds(0, 1),
            options=_OPTIONS,
        )
        return found.x
