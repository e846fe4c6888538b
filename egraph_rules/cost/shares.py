"""How often what stands under a condition runs, as a share: by sampled iterations of the loops around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from egraph_rules.contexts.facts import Trip
from ir.nodes import SKIP, Expr, For, If, Stmt, Var
from ir.presburger.points import Array, NoValueError, evaluated
from ir.traverse import free_vars, stmt_children

_DRAWN = 256
_USUAL = 256  # iterations of a loop whose extent is no number


def least_share(stmt: Stmt) -> float:
    """The least share of iterations in which some guard of a statement lets its work run; 1 where none is known."""
    return min(_shares(stmt, {}, np.random.default_rng(0)), default=1.0)


def _shares(stmt: Stmt, points: Mapping[Var, Array], rng: np.random.Generator) -> Iterator[float]:
    match stmt:
        case For(var=var, start=start, body=body) as loop:
            trip = Trip.of(loop)
            first = _values(start, points)
            steps = rng.integers(0, max(_USUAL if trip.extent is None else trip.extent, 1), _DRAWN)
            inner = {v: p for v, p in points.items() if v != var}
            if first is not None:
                inner[var] = first + steps
            yield from _shares(body, inner, rng)
        case If(cond=cond, then=then, other=other):
            held = _values(cond, points)
            if held is not None and SKIP in (then, other):
                yield float(np.mean(held != 0 if other == SKIP else held == 0))
            yield from _shares(then, points, rng)
            yield from _shares(other, points, rng)
        case _:
            for part in stmt_children(stmt):
                yield from _shares(part, points, rng)


def _values(expr: Expr, points: Mapping[Var, Array]) -> Array | None:
    """The values of an expression at the points; None if it depends on more than loops."""
    if not free_vars(expr) <= points.keys():
        return None
    try:
        return np.broadcast_to(evaluated(expr, points)[0], (_DRAWN,))
    except NoValueError:
        return None
