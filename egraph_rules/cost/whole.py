"""The programs that a search found, ordered by a price of whole programs. Owns the choice, not the price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.legality import update_of
from ir.instructions import instruction_of
from ir.nodes import Alloc, For, If, PrimFunc, Select, Seq, Stmt, Store
from ir.traverse import all_exprs, map_stmt, reads, stores_in, walk

CANDIDATES = 6  # programs of a search that are priced as a whole, besides the one given
STORES = 60  # of all programs that are priced as a whole: it takes lowering some 20 ms a statement
# Prices as a whole that differ by less say nothing: of such programs the search's cheapest is first, but for buffers
# that are not in the program given, which have to pay.
NEAR = 1.01
CALLS = 0.12  # of the price of a call: programs of one small kernel that differ by less took equally long
ALIKE = 2  # programs with the price of another one, after which no more are looked at
# Times as dear as the one given a program with fewer stores may be: what it computes in more places may be padding made
# once.
FUSED = 2.0
LOOPS = 10.0  # what two loops cost on any target

Priced = tuple[float, Stmt]


class Ranking(Struct, frozen=True):
    """Programs with their costs, the best first; `prices` has the price as a whole and the cost of those that have one.

    `overruled` says so where the search alone would have taken another program.
    """

    programs: list[Priced]
    prices: list[tuple[float, float]]
    overruled: str = ""


def ranked(
    found: list[Priced],
    compact: list[Priced],
    called: list[Priced],
    given: Priced,
    make: Callable[[Stmt], PrimFunc],
    whole: Callable[[PrimFunc], float],
    call: float = 0.0,
    bare: Sequence[Priced] = (),
) -> Ranking:
    """The programs found and the one given, by their price as a whole, in which `call` is for the call itself.

    Of the programs found, those count that cost no more than the one given, and of large ones only the first few: the
    cheapest, and of the `compact` ones that with the fewest stores. Where others have fewer recurrences, which run in
    turn, or compute more by instructions, as those that are `called` may, the cheapest of these counts too, as does one
    that is much shorter; and of the `bare` ones that with the fewest guards, where one is best that has more and costs
    more: the cheapest may all have one, in several forms.
    """
    cheaper = [(cost, body) for cost, body in found if cost <= given[0] and body != given[1]]
    if cheaper:
        once = _overwritten(cheaper[0][1])
        cheaper = [p for p in cheaper if _overwritten(p[1]) <= once]
        cheaper[1:1] = _in_steps(cheaper[0], [given, *cheaper])
    few = min(compact, key=lambda p: (_stores(p[1]), p[0]), default=given)
    dear = few[0] > given[0] and not (few[0] <= FUSED * given[0] and _stores(few[1]) < _stores(given[1]))
    if not dear and few[1] != given[1] and all(few[1] != body for _, body in cheaper[:1]):
        cheaper = [*cheaper[:1], few, *(p for p in cheaper[1:] if p[1] != few[1])]
    dearer = [p for p in found if p[0] > given[0]]
    cheaper += _without_turns([*dearer, *(p for p in called if p not in cheaper)], given)
    short = _shorter([*found, *compact], cheaper[0] if cheaper else given, given)
    cheaper = [*cheaper[:1], *short, *(p for p in cheaper[1:] if p not in short)]
    if not cheaper:
        return Ranking([given, *(p for p in found if p[1] != given[1])], [])
    most = max(STORES // max(_stores(given[1]), 1) - 1, 1)
    programs = [*_unlike(cheaper)[:most], given]
    priced = _priced(programs, lambda body: whole(make(body)))
    _sort(priced, programs, given, call)
    taken = programs[priced[0][2]]
    free = min((p for p in bare if p[0] <= taken[0]), key=lambda p: _guards(p[1]), default=given)
    asked = all(free[1] != programs[n][1] for _, _, n in priced) and len(priced) <= most
    if asked and _guards(free[1]) < _guards(taken[1]):
        programs.append(free)
        priced.append((whole(make(free[1])), free[0], len(programs) - 1))
        _sort(priced, programs, given, call)
    order = [programs[n] for _, _, n in priced]
    prices = [(price, cost) for price, cost, _ in priced]
    rest = [p for p in found if p not in order]
    if priced[0][2] == 0:
        return Ranking([*order, *rest], prices)
    what = "the program as written" if order[0] is given else "a program that the search ranks lower"
    first = next(price for price, _, n in priced if n == 0)
    why = f"{what} is cheaper as a whole: {priced[0][0]:,.0f}, where the cheapest of the search costs {first:,.0f}"
    return Ranking([*order, *rest], prices, why)


def _sort(priced: list[tuple[float, float, int]], programs: Sequence[Priced], given: Priced, call: float) -> None:
    """Bring prices of numbered programs in order: of those that are near the least, those that were found go first."""
    least = min(price for price, _, _ in priced)
    near = max(least * NEAR, least + CALLS * call * (least >= call))  # a price below that of a call has none in it

    def order(one: tuple[float, float, int]) -> tuple[float, int, bool, int]:
        price, _, n = one
        return max(price, near), _more_locals(programs[n], given), programs[n] is given, n

    priced.sort(key=order)


def _priced(programs: list[Priced], whole: Callable[[Stmt], float]) -> list[tuple[float, float, int]]:
    """Prices as a whole, costs and numbers of programs, of which the last one is given.

    Where some cost the same, they differ in what lowering makes alike, as do those after them: these are left out.
    """
    found: list[tuple[float, float, int]] = []
    alike = 0
    for n, (cost, body) in enumerate(programs):
        if alike >= ALIKE and n < len(programs) - 1:
            continue
        price = whole(body)
        alike += any(price == other for other, _, _ in found)
        found.append((price, cost, n))
    return found


def unconfirmed(found: list[Stmt], given: Stmt) -> list[Stmt]:
    """Programs of a search alone, whose prices do not tell whether it pays that loops are written out."""
    if any(isinstance(s, For) and s.kind == "unroll" for s in walk(given)):
        return found
    return [map_stmt(body, on_stmt=_as_steps) for body in found]


def _in_steps(best: Priced, others: list[Priced]) -> list[Priced]:
    """A program with loops that run in steps in place of those that the search has written out, if no other one is."""
    given = others[0][1]
    if any(isinstance(s, For) and s.kind == "unroll" for s in walk(given)):
        return []  # some of them are as the author wants them
    body = map_stmt(best[1], on_stmt=_as_steps)
    return [(best[0], body)] if all(body != other for _, other in others) else []


def _as_steps(stmt: Stmt) -> Stmt:
    return replace(stmt, kind="serial") if isinstance(stmt, For) and stmt.kind == "unroll" else stmt


def _unlike(programs: list[Priced]) -> list[Priced]:
    """Those of some programs, cheapest first, that do not only have a few loops more than one before.

    How loops over one range are merged, lowering decides again.
    """
    kept: list[Priced] = []
    for cost, body in programs:
        if not any(0 < cost - other <= LOOPS for other, _ in kept):
            kept.append((cost, body))
    return kept


def _without_turns(others: list[Priced], given: Priced) -> list[Priced]:
    """The first of other programs that has fewer recurrences than the one given, or more instances of instructions:
    prices of a search take all but a library for vector code."""
    turns, calls = _recurrences(given[1]), _instances(given[1])
    return [p for p in others if _recurrences(p[1]) < turns or _instances(p[1]) > calls][:1]


def _shorter(others: list[Priced], best: Priced, given: Priced) -> list[Priced]:
    """The shortest of other programs that is not much dearer, where it takes far less to say what is done: of a loop
    that was unrolled by hand, say, the terms of an iteration are read far apart from those of the next."""
    near = [p for p in others if p[0] <= FUSED * given[0]]
    short = min(near, key=lambda p: (_nodes(p[1]), p[0]), default=best)
    return [short] if 3 * _nodes(short[1]) <= 2 * _nodes(best[1]) else []


def _nodes(stmt: Stmt) -> int:
    return sum(1 for _ in all_exprs(stmt))


def _instances(stmt: Stmt) -> int:
    return sum(instruction_of(s) is not None for s in walk(stmt))


def _recurrences(stmt: Stmt) -> int:
    """How many stores make an element of what their buffer held, but do not just add to it, or the like."""
    return sum(reads(s.buffer, s.value) and update_of(s) is None for s in stores_in(stmt))


def _overwritten(stmt: Stmt) -> int:
    """How many stores the next statement overwrites. A program with more of them than another has nothing for it."""
    pairs = (pair for s in walk(stmt) if isinstance(s, Seq) for pair in pairwise(s.stmts))
    return sum(
        isinstance(a, Store) and isinstance(b, Store) and a.buffer == b.buffer and a.indices == b.indices
        for a, b in pairs
    )


def _more_locals(program: Priced, given: Priced) -> int:
    count, own = (sum(isinstance(s, Alloc) for s in walk(stmt)) for _, stmt in (program, given))
    return max(count - own, 0)


def _guards(stmt: Stmt) -> int:
    choices = sum(isinstance(e, Select) for e in all_exprs(stmt))
    return choices + sum(isinstance(s, If) for s in walk(stmt))


def _stores(stmt: Stmt) -> int:
    return sum(isinstance(s, Store) for s in walk(stmt))
