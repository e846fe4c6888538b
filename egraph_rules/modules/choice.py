"""Which variant of each call and which conversions are cheapest together: a 0-1 program, solved exactly.

For each call one variant is taken. A buffer exists in the way its writer leaves it, and in those that it is converted
to from there; each reader takes one of these that serves it. One that is kept one way all calls take in that. The price
is that of variants, as often as they run, of conversions, and of what is filled or copied where buffers are made.
"""

from __future__ import annotations

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
    return _Choosing(graph, offers).choice()


class _Choosing:
    """The 0-1 program of a graph: its variables, and what must hold of them."""

    def __init__(self, graph: Graph, offers: Offers) -> None:
        self.graph, self.offers, self.program = graph, offers, _Program()
        variable = self.program.variable
        self.taken = [
            [variable(v.price * runs) for v in options]
            for options, runs in zip(offers.variants, offers.runs, strict=True)
        ]
        self.starts: dict[tuple[str, Storage], int] = {}  # how a buffer comes into being that no one call writes
        for name, between in graph.between.items():
            for storage in offers.storages[name]:
                if between.one_way or (not between.writers and (between.is_free or storage.is_plain)):
                    self.starts[name, storage] = variable(self._opened(name, storage))
        self.converted = [variable(c.price * offers.made[c.buffer]) for c in offers.conversions]

    def _opened(self, name: str, storage: Storage) -> float:
        opening = next((o for o in self.offers.openings if o.buffer == name and o.storage == storage), None)
        return 0.0 if opening is None else opening.price * self.offers.made[name]

    def choice(self) -> Choice | None:
        """The solution, if there is one."""
        pairs = zip(self.taken, self.offers.variants, strict=True)
        moved = {x: 1.0 for row, options in pairs for x, v in zip(row, options, strict=True) if not v.is_plain}
        if self.offers.moved and not moved:
            return None
        if self.offers.moved:
            self.program.at_least(moved, 1.0)
        for row in self.taken:
            self.program.equal(dict.fromkeys(row, 1.0), 1.0)
        for x, conversion in zip(self.converted, self.offers.conversions, strict=True):
            self.program.at_least({**self._produced(conversion.buffer, conversion.before), x: -1.0}, 0.0)
        for name, between in self.graph.between.items():
            if between.one_way or not between.writers:
                self.program.equal({x: 1.0 for (n, _), x in self.starts.items() if n == name}, 1.0)
            if between.one_way:
                self._in_one_way(name)
            else:
                self._served(name)
        values = self.program.solve()
        if values is None:
            return None
        offers = self.offers
        chosen = tuple(
            next(v for x, v in zip(row, options, strict=True) if values[x] > 0.5)
            for row, options in zip(self.taken, offers.variants, strict=True)
        )
        written = {
            name: next(s for s in offers.storages[name] if any(values[x] > 0.5 for x in self._produced(name, s)))
            for name in self.graph.between
        }
        moves = tuple(c for x, c in zip(self.converted, offers.conversions, strict=True) if values[x] > 0.5)
        openings = tuple(o for o in offers.openings if written[o.buffer] == o.storage)
        return Choice(chosen, written, moves, openings, self.program.price(values))

    def _asking(self, call: int, name: str, storage: Storage) -> list[int]:
        """The variables of the variants of a call that take a buffer so."""
        param = next(p for p, b in self.graph.calls[call].buffers if b == name)
        options = zip(self.taken[call], self.offers.variants[call], strict=True)
        return [x for x, v in options if v.storages[param] == storage]

    def _produced(self, name: str, storage: Storage) -> dict[int, float]:
        """The variables of which one is set where a buffer comes to be kept in a way."""
        between = self.graph.between[name]
        if between.one_way or not between.writers:
            return {x: 1.0 for key, x in self.starts.items() if key == (name, storage)}
        return dict.fromkeys(self._asking(between.writers[0], name, storage), 1.0)

    def _in_one_way(self, name: str) -> None:
        """All calls take a buffer as it came into being."""
        between = self.graph.between[name]
        for storage in self.offers.storages[name]:
            for call in {*between.writers, *between.readers}:
                asking = dict.fromkeys(self._asking(call, name, storage), -1.0)
                self.program.equal({**self._produced(name, storage), **asking}, 0.0)

    def _served(self, name: str) -> None:
        """Each reader finds a buffer as it was written, or as it was converted, in a way that serves."""
        between, storages = self.graph.between[name], self.offers.storages[name]
        offers: list[tuple[Storage, dict[int, float]]] = [(s, self._produced(name, s)) for s in storages]
        moves = zip(self.converted, self.offers.conversions, strict=True)
        offers += [(c.after, {x: 1.0}) for x, c in moves if c.buffer == name]
        for wanted in storages:
            served: dict[int, float] = {}
            for offered, variables in offers:
                if offered.serves(wanted):
                    served |= variables
            for reader in between.readers:
                asking = self._asking(reader, name, wanted)
                if asking:
                    self.program.at_least({**served, **dict.fromkeys(asking, -1.0)}, 0.0)
            if between.is_result and wanted.is_plain:
                self.program.at_least(served, 1.0)


class _Program:
    """A 0-1 program in the making."""

    def __init__(self) -> None:
        self._prices: list[float] = []
        self._rows: list[tuple[dict[int, float], float, float]] = []

    def variable(self, price: float) -> int:
        self._prices.append(price)
        return len(self._prices) - 1

    def equal(self, row: dict[int, float], value: float) -> None:
        self._rows.append((row, value, value))

    def at_least(self, row: dict[int, float], value: float) -> None:
        self._rows.append((row, value, np.inf))

    def price(self, values: Any) -> float:
        """The price of a solution."""
        return float(np.round(values) @ np.array(self._prices))

    def solve(self) -> Any:
        """The values of the variables, 0 or 1; None where there is no solution."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, which few programs need
        from scipy.sparse import csr_array

        count = len(self._prices)
        entries = [(factor, k, x) for k, (row, _, _) in enumerate(self._rows) for x, factor in row.items()]
        factors, rows, columns = zip(*entries, strict=True) if entries else ((), (), ())
        matrix = csr_array((factors, (rows, columns)), (len(self._rows), count))
        low: Any = np.array([low for _, low, _ in self._rows])
        high: Any = np.array([high for _, _, high in self._rows])
        if not count:
            return np.zeros(0)
        found = milp(
            np.array(self._prices),
            constraints=LinearConstraint(matrix, low, high),
            integrality=np.ones(count),
            bounds=Bounds(0, 1),
        )
        return found.x
