"""Updates of neighbouring elements, at places that data say, as one of a row (packing, Larsen and Amarasinghe 2000).

Forces of springs and pairs are added to three components each, one statement for each of them: as rows they are one
scatter in place of three, which looks up places, and updates, once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Statement, UpdateOp
from ir.floats import Floats
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Unary, const
from ir.traverse import all_same, buffers_read, has_loads
from lower.analysis.freedoms import Form
from lower.array.job import update_class
from lower.nest.nodes import (
    ArrayStatement,
    Fresh,
    Node,
    Plan,
    SequentialLoop,
    Versions,
    array_over,
    buffers_of,
    fresh_behind,
    inner_statements,
    loops_over,
)
from lower.nest.normalize import Program

PACKING = Form(
    "structure.packing",
    "F[e[k], 0] += a; F[e[k], 1] += b  =  V[k, 0] = a; V[k, 1] = b; for c: F[e[k], c] += V[k, c]",
    "updates of different elements may be in any order (superword packing, Larsen and Amarasinghe 2000)",
    Floats.REASSOCIATE,
)


_COMMUTING = {"add", "sub", "min", "max"}


class _Row(Struct, frozen=True):
    """Updates at `positions` of a list of statements, of neighbouring elements along a dimension."""

    positions: tuple[int, ...]
    dimension: int


def packed(program: Program, plan: Plan) -> Plan:
    """The plan with updates of rows in place of those of their elements."""
    return _Packer(program, plan).plan()


class _Packer:
    def __init__(self, program: Program, plan: Plan) -> None:
        self._program = program
        self._plan = plan
        self._boxes = dict(plan.boxes)
        every = [n.statement for n in inner_statements(plan.nodes)]
        self._new: Fresh = fresh_behind((*every, *program.statements), program.fresh)

    def plan(self) -> Plan:
        nodes = self._nodes(self._plan.nodes, 0)
        return replace(self._plan, nodes=nodes, boxes=self._boxes)

    def _nodes(self, nodes: Iterable[Node], depth: int) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            match node:
                case SequentialLoop():
                    node = node if node.phases else replace(node, body=self._nodes(node.body, depth + 1))
                case Versions():
                    node = replace(node, fast=self._nodes(node.fast, depth), exact=self._nodes(node.exact, depth))
                case ArrayStatement():
                    pass
            found.append(node)
        done = 0
        while done < len(found):
            row = self._row(found, done)
            if row is not None:
                self._pack(found, row, depth)
            done += 1
        return tuple(found)

    def _row(self, nodes: Sequence[Node], first: int) -> _Row | None:
        """The updates that make a row with one, if nothing between them looks at what they change."""
        start = nodes[first]
        op = _scattered(start)
        if not isinstance(start, ArrayStatement) or op is None:
            return None
        buffer = start.statement.buffer
        members, dimension = [first], -1
        for k in range(first + 1, len(nodes)):
            node = nodes[k]
            beside = isinstance(node, ArrayStatement) and _scattered(node) == op and node.statement.buffer == buffer
            d = _neighbour(start, node) if isinstance(node, ArrayStatement) and beside else None
            if d is not None and dimension in (-1, d):
                dimension = d
                members.append(k)
            elif not beside and not _is_apart(node, start):
                break
        if len(members) == 1:
            return None
        places = [_element(nodes[k], dimension) for k in members]
        known = sorted(places) == [*range(min(places), min(places) + len(places))]
        known = known and self._program.policy.may(PACKING, buffer.dtype)  # asked last: what is withheld is reported
        return _Row(tuple(k for _, k in sorted(zip(places, members, strict=True))), dimension) if known else None

    def _pack(self, nodes: list[Node], row: _Row, depth: int) -> None:
        """Store the values of a row one by one where the updates were, and update where the last of these was."""
        members = [nodes[k] for k in row.positions]
        first = members[0]
        assert isinstance(first, ArrayStatement)
        statement, last = first.statement, max(row.positions)
        shape, place = array_over(first.axes, [self._boxes[a] for a in first.axes])
        index = statement.store.indices[row.dimension]
        size = const(len(members), index.dtype)
        values = Buffer(
            self._program.fresh(f"{statement.buffer.name}_row"), (*shape, size), statement.buffer.dtype, "local"
        )
        self._program.depth[values] = depth
        for k, (at, node) in enumerate(zip(row.positions, members, strict=True)):
            assert isinstance(node, ArrayStatement)
            store = Store(values, (*place, const(k, index.dtype)), _value(node.statement))
            nodes[at] = replace(node, statement=replace(node.statement, store=store, update=None))
        (along,) = loops_over(replace(values, shape=(size,)), self._boxes, self._program.fresh)
        low = _element(first, row.dimension)
        here: Expr = along.var if low == 0 else Binary("add", along.var, const(low, index.dtype))
        indices = (*statement.store.indices[: row.dimension], here, *statement.store.indices[row.dimension + 1 :])
        value = Load(values, (*place, along.var))
        op = update_class(_scattered(first) or "add")
        update = Statement(
            self._new.position(),
            (*statement.loops, along),
            statement.guards,
            Store(statement.buffer, indices, Binary(op, Load(statement.buffer, indices), value)),
            (op, value),
        )
        nodes.insert(last + 1, ArrayStatement(update, (*first.axes, along)))


def _scattered(node: Node) -> UpdateOp | None:
    """How a statement over axes updates elements that data choose; None if it does not."""
    if not isinstance(node, ArrayStatement) or node.scan is not None or node.statement.tile is not None:
        return None
    statement = node.statement
    if statement.update is None or not node.axes or not any(map(has_loads, statement.store.indices)):
        return None
    op, value = statement.update
    others = (value, *statement.store.indices, *statement.guards)
    return None if statement.buffer in buffers_read(*others) or op not in _COMMUTING else update_class(op)


def _neighbour(one: ArrayStatement, other: ArrayStatement) -> int | None:
    """The dimension along which two statements update neighbours that are apart by a number, and are else alike."""
    s, t = one.statement, other.statement
    if s.loops != t.loops or one.axes != other.axes or not all_same(s.guards, t.guards):
        return None
    pairs = [*zip(s.store.indices, t.store.indices, strict=True)]
    differ = [d for d, (i, j) in enumerate(pairs) if not i.same(j)]
    return differ[0] if len(differ) == 1 and all(isinstance(i, Const) for i in pairs[differ[0]]) else None


def _element(node: Node, dimension: int) -> int:
    assert isinstance(node, ArrayStatement)
    index = node.statement.store.indices[dimension]
    assert isinstance(index, Const)
    return int(index.value)


def _is_apart(node: Node, start: ArrayStatement) -> bool:
    """Whether something neither looks at what a statement updates nor changes where it does."""
    s = start.statement
    where = buffers_read(*s.store.indices, *s.guards)
    for n in inner_statements((node,)):
        if s.buffer in buffers_of(n) or n.statement.buffer in where:
            return False
    return not isinstance(node, Versions)


def _value(s: Statement) -> Expr:
    """What a statement combines with an element."""
    assert s.update is not None
    op, value = s.update
    return Unary("neg", value) if op == "sub" else value
