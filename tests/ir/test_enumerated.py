"""Dependences by all places that there are, against a search through all pairs of iterations."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from msgspec import Struct

from ir.analysis.dependence import Loop
from ir.dtypes import DType
from ir.nodes import Binary, Expr, Var, const
from ir.presburger.enumerated import carried_by_all
from ir.presburger.points import evaluated

INT = DType.INT32
X, Y, Z = (Var(name, INT) for name in "xyz")
Point = dict[Var, int]


class Nest(Struct, frozen=True):
    loops: tuple[Loop, ...]
    guards: tuple[Expr, ...] = ()


def value(expr: Expr, point: Point) -> int:
    return int(np.asarray(evaluated(expr, {v: np.array([x]) for v, x in point.items()})[0]).item())


def iterations(nest: Nest) -> list[Point]:
    points: list[Point] = [{}]
    for loop in nest.loops:
        ranges = [(p, value(loop.start, p), value(loop.extent, p)) for p in points]
        points = [{**p, loop.var: x} for p, first, count in ranges for x in range(first, first + count)]
    return [p for p in points if all(value(g, p) for g in nest.guards)]


def meetings(a: Nest, b: Nest, places: list[Expr], others: list[Expr], shared: int) -> set[tuple[bool, int | None]]:
    found: set[tuple[bool, int | None]] = set()
    for x, y in product(iterations(a), iterations(b)):
        if [value(e, x) for e in places] == [value(e, y) for e in others]:
            level = next((k for k, o in enumerate(a.loops[:shared]) if x[o.var] != y[o.var]), None)
            found.add((True, None) if level is None else (x[a.loops[level].var] < y[a.loops[level].var], level))
    return found


def index(rng: random.Random, variables: list[Var], depth: int = 0) -> Expr:
    kind = rng.randrange(6)
    if depth > 2 or kind < 2:
        return rng.choice(variables)
    if kind == 2:
        return const(rng.randint(0, 3), INT)
    op = rng.choice(["add", "mul", "sub"])
    return Binary(op, index(rng, variables, depth + 1), index(rng, variables, depth + 1))  # pyright: ignore


@pytest.mark.parametrize("seed", range(200))
def test_levels_are_those_of_all_pairs(seed: int) -> None:
    rng = random.Random(seed)
    outer = Loop(X, const(rng.randint(0, 2), INT), const(rng.randint(1, 4), INT))
    inner = Loop(Y, rng.choice([const(0, INT), X]), const(rng.randint(1, 4), INT))
    guards = (Binary("lt", index(rng, [X, Y]), index(rng, [X, Y])),) if rng.random() < 0.4 else ()
    first = Nest((outer, inner), guards)
    if rng.random() < 0.4:
        second, shared, names = first, 2, [X, Y]
    else:
        shared = rng.choice([0, 1, 2])
        second = Nest((*first.loops[:shared], Loop(Z, const(0, INT), const(rng.randint(1, 4), INT))))
        names = [o.var for o in second.loops]
    places = [index(rng, [X, Y]) for _ in range(rng.choice([1, 2]))]
    others = places if second is first and rng.random() < 0.5 else [index(rng, names) for _ in places]
    found = carried_by_all(first, second, places, others, shared)
    assert found is not None and set(found) == meetings(first, second, places, others, shared)


def test_other_variables_are_not_known() -> None:
    nest = Nest((Loop(X, const(0, INT), const(9, INT)),))
    assert carried_by_all(nest, nest, [X * X], [X * Y], 1) is None
