"""Other lowerings of a program: what comes second in choices that prices decide, by lowering it under other prices.

A plan that was not taken is the one to take if what it needs less of were dear. So a program is lowered again with a
few prices scaled, one decision at a time; sources that differ are candidates for a measurement (`lower.tune.tuning`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import PrimFunc
from lower.emission.function import emit_function

MUCH = 10.0  # what is estimated is rarely wrong by more
DECISIONS = {
    "loops": ("step", "launch", "scalar"),  # loops as they are written, or in another order, around array statements
    "single elements": ("scalar",),
    "scans": ("scan",),
    "masks": ("mask", "reduction_mask"),
    "products": ("contraction", "product"),  # of arrays, against sums
    "padded reads": ("padded_read", "padded_vector", "padded_branch"),  # each by itself, against a padded copy
}


class Lowering(Struct, frozen=True):
    """A way to lower a program: under which prices, by what name, and what it reports in place of the usual way."""

    name: str
    target: Target
    source: str
    differs: tuple[str, ...] = ()


def targets(target: Target) -> Iterator[tuple[str, Target]]:
    """Prices to lower under besides a target's own, and what is said of them."""
    for what, figures in DECISIONS.items():
        for how, factor in (("dear", MUCH), ("cheap", 1 / MUCH)):
            prices = {name: getattr(target, name) * factor for name in figures}
            yield f"{what} {how}", replace(target, **prices)


def lowerings(
    func: PrimFunc,
    target: Target,
    most: int,
    floats: Floats = DEFAULT_FLOATS,
    without: frozenset[str] = frozenset(),
) -> list[Lowering]:
    """At most so many distinct lowerings of a program; the first is the usual one, and has no name."""
    usual = emit_function(func, target=target, floats=floats, without=without)
    found = [Lowering("", target, usual.source)]
    for name, prices in targets(target):
        if len(found) >= most:
            break
        other = emit_function(func, target=prices, floats=floats, without=without)
        if all(other.source != one.source for one in found):
            lines = tuple(line for line in other.report if line not in usual.report)
            found.append(Lowering(name, prices, other.source, lines or ("the same forms in another order",)))
    return found


def lowered_as(
    func: PrimFunc,
    target: Target,
    name: str,
    floats: Floats = DEFAULT_FLOATS,
    without: frozenset[str] = frozenset(),
) -> Lowering | None:
    """The lowering of a program that has a name (none: the usual one); None if no lowering is called so."""
    prices = {"": target, **dict(targets(target))}.get(name)
    if prices is None:
        return None
    return Lowering(name, prices, emit_function(func, target=prices, floats=floats, without=without).source)
