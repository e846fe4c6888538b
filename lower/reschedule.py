"""Another order for statements that hold each other up: Feautrier's schedule, computed by isl.

As many dependences as possible are carried by the outermost loops, so that what is left inside runs at once (Feautrier,
Some efficient solutions to the affine scheduling problem, 1992). Updates by one operator commute, so a factorization
written row by row becomes a loop over steps around products of matrices and vectors. What the schedule says is only
used where each of its loops is a loop of the statements, perhaps shifted or turned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import islpy as isl

from ir import presburger
from ir.analysis.dependence import Loop, Relation, Statement, relations
from ir.nodes import Binary, Expr, Store, Var
from ir.traverse import substitute_expr
from lower.linear import Linear, atom, linear, number, to_expr
from lower.nest import ArrayStatement, Box, Node, SequentialLoop

_R = TypeVar("_R", isl.Set, isl.Map)
_IN, _OUT, _PARAM, _DIV = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param, isl.dim_type.div
_OPERATIONS = 2_000_000  # isl's steps for a schedule; those of factorizations take some ten thousand


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement with the loops that are decided: `time` around it, `open` not yet."""

    statement: Statement
    names: tuple[str, ...]
    values: Mapping[Var, Expr]
    time: tuple[Loop, ...]
    open: tuple[Loop, ...]
    guards: tuple[Expr, ...] = ()


class _NotOurs(Exception):
    """The schedule has a shape that is not translated."""


def rescheduled(
    statements: Sequence[Statement], level: int, pending: frozenset[Loop], boxes: dict[Loop, Box], taken: set[str]
) -> tuple[Node, ...] | None:
    """Nodes for statements that share the outer `level` loops, in isl's order; None if that cannot be used.

    Outer loops that are `pending` become axes. Bounds of new loops are added to `boxes`; `taken` are names that new
    loops may not have.
    """
    if any(loop not in boxes for s in statements for loop in s.loops[level:]):
        return None
    order = relations(statements, level)
    if order is None:
        return None
    root = presburger.within_budget(lambda: _schedule(statements, level, order), None, _OPERATIONS)
    if root is None:
        return None
    parts = {
        _tuple_name(s): _Part(s, tuple(loop.var.name for loop in s.loops[level:]), {}, s.loops[:level], s.loops[level:])
        for s in statements
    }
    try:
        return tuple(_Builder(boxes, taken, pending).nodes(root, parts))
    except _NotOurs:
        return None


def _tuple_name(statement: Statement) -> str:
    return f"S{statement.position}"


def _schedule(statements: Sequence[Statement], level: int, order: Sequence[Relation]) -> isl.ScheduleNode | None:
    context = isl.DEFAULT_CONTEXT
    context.set_schedule_algorithm(isl.schedule_algorithm.FEAUTRIER)
    validity = coincidence = isl.UnionMap.empty(isl.Space.params_alloc(context, 0))
    for relation in order:
        instances = isl.UnionMap.from_map(_instances(relation, level))
        validity = validity.union(instances)
        if not relation.own:  # an array statement reads all before it writes any
            coincidence = coincidence.union(instances)
    domain = isl.UnionSet.empty(isl.Space.params_alloc(context, 0))
    for s in statements:
        domain = domain.union(isl.UnionSet.from_set(_domain(s, level)))
    constraints = isl.ScheduleConstraints.on_domain(domain).set_validity(validity).set_coincidence(coincidence)
    return constraints.compute_schedule().get_root()


def _domain(statement: Statement, level: int) -> isl.Set:
    """Instances in one iteration of the outer loops, as a set named after the statement."""
    names = [loop.var.name for loop in statement.loops]
    inside = presburger.always()
    for loop in statement.loops:
        inside = inside.intersect(presburger.loop_domain(loop.var, loop.start, loop.extent).may)
    region = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(names) - level))
    region = _tied(region.align_params(inside.get_space()), isl.dim_type.set, names[level:])
    region = region.intersect_params(inside)
    return presburger.forget(region, names[level:]).set_tuple_name(_tuple_name(statement))


def _instances(relation: Relation, level: int) -> isl.Map:
    """The pairs of a relation as a map between named sets."""
    source = [loop.var.name for loop in relation.source.loops[level:]]
    sink = [f"{loop.var.name}'" for loop in relation.sink.loops[level:]]
    outer = [f"{loop.var.name}'" for loop in relation.sink.loops[:level]]
    space = isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, len(source), len(sink))
    pairs = isl.Map.universe(space).align_params(relation.pairs.get_space())
    pairs = _tied(_tied(pairs, _IN, source), _OUT, sink).intersect_params(relation.pairs)
    for name in (*source, *sink, *outer):
        at = pairs.find_dim_by_name(_PARAM, name)
        if at >= 0:
            pairs = pairs.project_out(_PARAM, at, 1)
    return pairs.set_tuple_name(_IN, _tuple_name(relation.source)).set_tuple_name(_OUT, _tuple_name(relation.sink))


def _tied(relation: _R, kind: isl.dim_type, names: Sequence[str]) -> _R:
    """Dimensions equal to parameters of these names."""
    for k, name in enumerate(names):
        at = relation.find_dim_by_name(_PARAM, name)
        if at < 0:
            at = relation.dim(_PARAM)
            relation = relation.add_dims(_PARAM, 1).set_dim_name(_PARAM, at, name)
        relation = relation.equate(_PARAM, at, kind, k)
    return relation


class _Builder:
    """Translates a schedule tree to nodes."""

    def __init__(self, boxes: dict[Loop, Box], taken: set[str], pending: frozenset[Loop]) -> None:
        self.pending = pending
        self.boxes = boxes
        self.taken = taken

    def nodes(self, node: isl.ScheduleNode, parts: Mapping[str, _Part]) -> Iterator[Node]:
        kind, kinds = node.get_type(), isl.schedule_node_type
        if kind == kinds.band:
            yield from self._band(node, 0, parts)
        elif kind == kinds.sequence or kind == kinds.set:
            for k in range(node.n_children()):
                yield from self.nodes(node.get_child(k), parts)
        elif kind == kinds.filter:
            inside = _tuple_names(node.filter_get_filter())
            yield from self.nodes(node.get_child(0), {n: p for n, p in parts.items() if n in inside})
        elif kind == kinds.domain:
            yield from self.nodes(node.get_child(0), parts)
        elif kind == kinds.leaf:
            if len(parts) != 1:
                raise _NotOurs
            yield from (self._leaf(p) for p in parts.values())
        else:
            raise _NotOurs

    def _band(self, node: isl.ScheduleNode, member: int, parts: Mapping[str, _Part]) -> Iterator[Node]:
        """The members of a band from one on: those that run at once are left to their statements."""
        while member < node.band_n_member() and node.band_member_get_coincident(member):
            member += 1
        if member == node.band_n_member():
            yield from self.nodes(node.get_child(0), parts)
            return
        times = _affs(node.band_get_partial_schedule().get_at(member))
        loop, inside = self._in_time({n: (p, times[n]) for n, p in parts.items()})
        yield SequentialLoop(loop, tuple(self._band(node, member + 1, inside)), "its steps depend on each other")

    def _in_time(self, parts: Mapping[str, tuple[_Part, isl.Aff]]) -> tuple[Loop, dict[str, _Part]]:
        """A loop that takes the place of one loop of each statement."""
        solved = {name: _solve(part, aff) for name, (part, aff) in parts.items()}
        ranges: list[tuple[Linear, Linear]] = []
        for old, sign, shift in solved.values():
            box = self.boxes[old]
            low = box.low if sign > 0 else (box.low + box.extent - 1) * -1
            ranges.append((low + shift, low + shift + box.extent))
        low, stop = _least([r[0] for r in ranges]), _least([r[1] * -1 for r in ranges]) * -1
        olds = [old for old, _, _ in solved.values()]
        var = self._name([p for p, _ in parts.values()], olds)
        loop = Loop(var, to_expr(low, var), to_expr(stop - low, var))
        self.boxes[loop] = Box(low, stop - low, exact=True)
        inside: dict[str, _Part] = {}
        for (name, (old, sign, shift)), own in zip(solved.items(), ranges, strict=True):
            part = parts[name][0]
            value = to_expr((atom(var) - shift) * sign, var)
            tight = self.boxes[old].exact and own[0].equals(low) and own[1].equals(stop)
            guards = part.guards if tight else (*part.guards, *_range(old))
            rest = tuple(loop for loop in part.open if loop is not old)
            inside[name] = replace(
                part, values={**part.values, old.var: value}, time=(*part.time, loop), open=rest, guards=guards
            )
        return loop, inside

    def _name(self, parts: Sequence[_Part], olds: Sequence[Loop]) -> Var:
        """A name for a loop: that of a loop in whose place it comes, if no other is called so."""
        used = set(self.taken)
        for part, old in zip(parts, olds, strict=True):
            used |= {loop.var.name for loop in (*part.time, *part.open) if loop is not old}
        for old in olds:
            if old.var.name not in used:
                return old.var
        name = f"{olds[0].var.name}_step"
        while name in used:
            name += "_"
        return Var(name, olds[0].var.dtype)

    def _leaf(self, part: _Part) -> ArrayStatement:
        """The statement over what is left of its loops, with their bounds as guards where they are no box."""
        statement, values = part.statement, dict(part.values)
        guards = [*statement.guards, *part.guards]
        axes = [loop for loop in part.time if loop in self.pending]
        for loop in part.open:
            box = self.boxes[loop]
            axis = loop
            if not box.exact:
                guards += _range(loop)
                axis = Loop(loop.var, to_expr(box.low, loop.var), to_expr(box.extent, loop.var))
                self.boxes[axis] = replace(box, exact=True)
            axes.append(axis)
        store, update = statement.store, statement.update

        def new(e: Expr) -> Expr:
            return substitute_expr(e, values)

        moved = Statement(
            statement.position,
            (*(loop for loop in part.time if loop not in self.pending), *axes),
            tuple(map(new, guards)),
            Store(store.buffer, tuple(map(new, store.indices)), new(store.value), store.span),
            None if update is None else (update[0], new(update[1])),
        )
        return ArrayStatement(moved, tuple(axes))


def _range(loop: Loop) -> tuple[Expr, Expr]:
    """A loop's own bounds as conditions."""
    stop = to_expr(linear(Binary("add", loop.start, loop.extent)), loop.var)
    return Binary("ge", loop.var, loop.start), Binary("lt", loop.var, stop)


def _least(forms: Sequence[Linear]) -> Linear:
    """The smallest of forms that differ by numbers."""
    least = forms[0]
    for form in forms[1:]:
        difference = form - least
        if not difference.is_const:
            raise _NotOurs
        if difference.const < 0:
            least = form
    return least


def _tuple_names(region: isl.UnionSet) -> set[str]:
    found: set[str] = set()
    region.foreach_set(lambda s: found.add(s.get_tuple_name()))
    return found


def _affs(times: isl.UnionPwAff) -> dict[str, isl.Aff]:
    """The one affine form for each statement."""
    found: dict[str, isl.Aff] = {}

    def one(form: isl.PwAff) -> None:
        pieces = form.get_pieces()
        if len(pieces) == 1:
            found[form.get_space().get_tuple_name(_IN)] = pieces[0][1]

    times.foreach_pw_aff(one)
    return found


def _solve(part: _Part, aff: isl.Aff) -> tuple[Loop, int, Linear]:
    """The loop, sign and shift by which `time = sign * loop + shift`."""
    if aff.dim(_DIV) or any(int(aff.get_coefficient_val(_PARAM, k).to_python()) for k in range(aff.dim(_PARAM))):
        raise _NotOurs
    numbers = {n: int(aff.get_coefficient_val(_IN, k).to_python()) for k, n in enumerate(part.names)}
    used = [(n, c) for n, c in numbers.items() if c]
    if len(used) != 1 or abs(used[0][1]) != 1:
        raise _NotOurs
    old = next((loop for loop in part.open if loop.var.name == used[0][0]), None)
    if old is None:
        raise _NotOurs
    return old, used[0][1], number(int(aff.get_constant_val().to_python()))
