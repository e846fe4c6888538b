"""Which variant of each call and which conversions are cheapest together: a 0-1 program, solved exactly.

For each call one variant is taken. A buffer exists in the way its writer leaves it, and in those that it is converted
to from there; each reader takes one of these that serves it. The price is that of variants and conversions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from egraph_rules.modules.graph import Graph
from egraph_rules.modules.variants import Variant
from ir.schedule.storage import Storage


@dataclass(frozen=True, slots=True)
class Conversion:
    """A buffer brought from the way its writer leaves it to another one."""

    buffer: str
    before: Storage
    after: Storage
    copy: Variant

    @property
    def price(self) -> float:
        """The price of the copy."""
        return self.copy.price


@dataclass(frozen=True, slots=True)
class Choice:
    """A variant for each call, how each buffer is written, and what it is converted to, with the price of all."""

    variants: tuple[Variant, ...]
    written: Mapping[str, Storage]
    conversions: tuple[Conversion, ...]
    price: float


def cheapest(
    graph: Graph,
    variants: Sequence[Sequence[Variant]],
    storages: Mapping[str, Sequence[Storage]],
    conversions: Sequence[Conversion],
) -> Choice:
    """The cheapest choice; there is one, as long as each call has a variant with all buffers as they are."""
    program = _Program()
    taken = [[program.variable(v.price) for v in options] for options in variants]
    for row in taken:
        program.equal(dict.fromkeys(row, 1.0), 1.0)
    starts: dict[tuple[str, int], int] = {}  # how a buffer comes into being that callers give
    for name, between in graph.between.items():
        if between.writer is None:
            for k, storage in enumerate(storages[name]):
                if between.is_free or storage.is_plain:
                    starts[name, k] = program.variable(0.0)
            program.equal({starts[name, k]: 1.0 for k in range(len(storages[name])) if (name, k) in starts}, 1.0)
    converted = [program.variable(c.price) for c in conversions]

    def produced(name: str, storage: Storage) -> dict[int, float]:
        """The variables of which one is set where a buffer is written in a way."""
        writer = graph.between[name].writer
        if writer is None:
            return {x: 1.0 for (n, k), x in starts.items() if n == name and storages[name][k] == storage}
        param = next(p for p, b in graph.calls[writer].buffers if b == name)
        options = zip(taken[writer], variants[writer], strict=True)
        return {x: 1.0 for x, v in options if v.storages[param] == storage}

    for x, conversion in zip(converted, conversions, strict=True):
        program.at_least({**produced(conversion.buffer, conversion.before), x: -1.0}, 0.0)
    for name, between in graph.between.items():
        offers: list[tuple[Storage, dict[int, float]]] = [(s, produced(name, s)) for s in storages[name]]
        offers += [(c.after, {x: 1.0}) for x, c in zip(converted, conversions, strict=True) if c.buffer == name]
        for wanted in storages[name]:
            served: dict[int, float] = {}
            for offered, variables in offers:
                if offered.serves(wanted):
                    served |= variables
            for reader in between.readers:
                param = next(p for p, b in graph.calls[reader].buffers if b == name)
                options = zip(taken[reader], variants[reader], strict=True)
                asking = {x: -1.0 for x, v in options if v.storages[param] == wanted}
                if asking:
                    program.at_least({**served, **asking}, 0.0)
            if between.is_result and wanted.is_plain:
                program.at_least(served, 1.0)
    values = program.solve()
    chosen = tuple(
        next(v for x, v in zip(row, options, strict=True) if values[x] > 0.5)
        for row, options in zip(taken, variants, strict=True)
    )
    written = {
        name: next(s for s in storages[name] if any(values[x] > 0.5 for x in produced(name, s)))
        for name in graph.between
    }
    moves = tuple(c for x, c in zip(converted, conversions, strict=True) if values[x] > 0.5)
    return Choice(chosen, written, moves, sum(v.price for v in chosen) + sum(c.price for c in moves))


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

    def solve(self) -> Any:
        """The values of the variables, 0 or 1."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, which few programs need

        count = len(self._prices)
        matrix = np.zeros((len(self._rows), count))
        for k, (row, _, _) in enumerate(self._rows):
            for x, factor in row.items():
                matrix[k, x] += factor
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
        assert found.x is not None, found.message  # all buffers as they are is a choice
        return found.x
