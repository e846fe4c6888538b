"""Loops over the places of windows run in turn: what a step reads of them is a slice then, and nothing is looked up.

Where `d[i, u]` is made of `A[i + u]`, and each of its elements counts by itself, an array statement over both loops
looks up each element of `A`, and what is made of `d` waits for all of it. In steps of `u` it is a statement over a
slice, whose result the others of the step find in a cache. Planning then has the loops around, which carry nothing,
within the steps (loop interchange, Allen and Kennedy, 1984). Which of both is cheaper is asked of whole plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Statement
from ir.nodes import Buffer, Var
from ir.traverse import free_vars, loads
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear
from lower.nest.element_prices import extent
from lower.nest.loop_bounds import loop_boxes, static_names
from lower.nest.nodes import Box, inner_statements
from lower.nest.normalize import Program
from lower.restructure.estimate import estimate
from lower.restructure.plan import plan

INTERCHANGE = Form(
    "structure.interchange",
    "for i: for u: S(A[i + u])  =  for u: for i: S(A[i + u])",
    "no dependence points backward in u (loop interchange, Allen and Kennedy 1984)",
)

_MOST = 1024  # steps, each of which costs as much as looking up hundreds of elements


def places_in_turn(program: Program, target: Target) -> Program:
    """The program with loops over places of windows as steps, in nests where its plan costs less then."""
    if not program.policy.takes(INTERCHANGE):
        return program
    boxes = loop_boxes(program, static_names(program))
    usual: _Planned | None = None  # a plan takes long
    for nest in _nests(program.statements):
        places = _places(nest, boxes, program.depth)
        if not places or prod(boxes[o].extent.const for o in places) > _MOST:
            continue
        usual = _Planned.of(program, target) if usual is None else usual
        if places.isdisjoint(usual.looked_up):
            continue
        reads = {s.position for s in nest if any(_windows(s, program.depth.get(s.buffer, 0), boxes))}
        found = replace(program, in_turn=program.in_turn | {(p, o) for p in reads for o in places})
        other = _Planned.of(found, target)
        if cheaper("places in turn", other.price, usual.price):
            program, usual = found, other
    return program


class _Planned(Struct, frozen=True):
    """What the plan of a program costs, with what its array statements look up, and by which loops over places."""

    price: float
    looked_up: frozenset[Loop]

    @staticmethod
    def of(program: Program, target: Target) -> _Planned:
        made = plan(program.copy(), target)
        found = [
            (place, prod(extent(made.boxes.get(o), target) for o in n.statement.loops))
            for n in inner_statements(made.nodes)
            for place in _windows(n.statement, program.depth.get(n.statement.buffer, 0), made.boxes)
            if place in n.axes
        ]
        price = estimate(made.nodes, made.boxes, target, depth=program.depth) + sum(
            target.gather * size for _, size in found
        )
        return _Planned(price, frozenset(place for place, _ in found))


def _nests(statements: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Statements in a row within one loop."""
    for outer, nest in groupby(statements, key=lambda s: s.loops[0] if s.loops else None):
        if outer is not None:
            yield list(nest)


def _places(nest: Sequence[Statement], boxes: Mapping[Loop, Box], depth: Mapping[Buffer, int]) -> set[Loop]:
    """Loops over places of windows, which statements of a nest are in all of or in none of."""
    found = {o for s in nest for o in _windows(s, depth.get(s.buffer, 0), boxes)}
    while apart := {o for s in nest if found & {*s.loops} for o in found - {*s.loops}}:
        found -= apart
    return found


def _windows(s: Statement, depth: int, boxes: Mapping[Loop, Box]) -> Iterator[Loop]:
    """Loops over places of windows of which a statement reads elements, and keeps what it makes of each place: there is
    one for each element that no slice gives. Of the two loops that an index is a sum of, it is the one that moves less.

    What is stored as it is read takes no less to store in steps, nor does what lies apart for each place."""
    stored = {v: d for d, index in reversed([*enumerate(s.store.indices)]) for v in free_vars(index)}
    kept = {o.var: o for k, o in enumerate(s.loops) if k < depth or o.var in stored}
    combined = len(kept) < len(s.loops)
    for load in dict.fromkeys(load for e in (s.store.value, *s.guards) for load in loads(e)):
        for form in map(linear, load.indices):
            terms = {kept[v]: abs(c) for v, c in form.terms.items() if isinstance(v, Var) and v in kept}
            if load.buffer == s.buffer or len(terms) != 2 or not all(_is_known(boxes.get(o)) for o in terms):
                continue
            apart = free_vars(*(t for t in form.terms if not isinstance(t, Var)))  # in quotients: v - 17 * (v // 17)
            spans = {o: 0 if o.var in apart else c * boxes[o].extent.const for o, c in terms.items()}
            place = min(terms, key=lambda o: (spans[o], boxes[o].extent.const))
            inner, outer = sorted(terms, key=lambda o: (terms[o], spans[o]))
            overlap = terms[outer] < terms[inner] * boxes[inner].extent.const  # others lie next to each other
            along = outer if place is inner else inner
            rows = place.var not in stored or (combined and stored[place.var] < stored.get(along.var, -1))
            if overlap and rows and boxes[place].extent.const > 1:
                yield place


def _is_known(box: Box | None) -> bool:
    """Whether the bounds of a loop are its own, and numbers."""
    return box is not None and box.is_known
