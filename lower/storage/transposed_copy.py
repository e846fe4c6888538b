"""Loops that step along the rows of an array get a copy of it in which what a step takes lies together.

Where `lower/storage/dimension_order.py` cannot change the array itself, since callers see it or other statements take
it as it lies, a loop works on a transposed copy if that moves fewer elements one by one: what it stores is put back
afterwards, and what it only reads from earlier steps of its own is not copied at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.coverage import stores_to_all
from ir.analysis.dependence import Loop
from ir.nodes import Buffer, Const, Expr, Load, Store, Var
from ir.traverse import free_vars, has_loads, substitute_expr
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import atom, linear, to_expr
from lower.nest.element_prices import extent
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Fresh,
    Node,
    Plan,
    SequentialLoop,
    array_statement,
    fresh_behind,
    inner_statements,
    loops_over,
    relocated_node,
)
from lower.nest.normalize import Program, read_by_bounds
from lower.storage.dimension_order import GAIN, ordered, taken_one_by_one

TRANSPOSED_COPY = Form(
    "structure.transposed_copy",
    "for i: s(A[:, i])  =  B = transpose(A); for i: s(B[i]); A = transpose(B)",
    "the elements are the same, and what is stored is put back",
)

_Order = tuple[int, ...]
_IsFunction = Callable[[SequentialLoop, Mapping[Loop, Box], Target], bool]


def with_transposed_copies(program: Program, plan: Plan, target: Target, in_function: _IsFunction) -> Plan:
    """The plan with copies of arrays for loops that step along their rows; tells the program of them.

    `in_function` tells which loops are compiled as one function."""
    turner = _Turner(program, plan, target, in_function, dict(plan.boxes))
    nodes = turner.nodes(plan.nodes, ())
    return replace(plan, nodes=(*turner.first, *nodes), boxes=turner.boxes)


class _Turner(Struct, dict=True):
    program: Program
    plan: Plan
    target: Target
    in_function: _IsFunction
    boxes: dict[Loop, Box]
    first: list[Node] = field(default_factory=list[Node])
    kept: dict[tuple[Buffer, _Order], Buffer] = field(default_factory=dict[tuple[Buffer, _Order], Buffer])

    def __post_init__(self) -> None:
        every = [n.statement for n in inner_statements(self.plan.nodes)]
        self.constant: set[Buffer] = set(self.program.func.buffers) - {s.buffer for s in every}
        self.new: Fresh = fresh_behind((*every, *self.program.statements), self.program.fresh)

    def nodes(self, nodes: Iterable[Node], around: tuple[Loop, ...]) -> tuple[Node, ...]:
        """Nodes within loops, with copies where these pay."""
        found: list[Node] = []
        for node in nodes:
            if not isinstance(node, SequentialLoop):
                found.append(node)
            elif all(isinstance(n, ArrayStatement) for n in node.body):
                found += self._loop(node, around)
            else:
                found.append(replace(node, body=self.nodes(node.body, (*around, node.loop))))
        return tuple(found)

    def _loop(self, node: SequentialLoop, around: tuple[Loop, ...]) -> tuple[Node, ...]:
        body = list(inner_statements(node.body))
        if node.loop not in self.boxes or any(n.scan is not None or not n.axes for n in body):
            return (node,)
        before: list[Node] = []
        after: list[Node] = []
        for buffer in sorted({b for n in body for b in n.statement.buffers()}, key=lambda b: b.name):
            if not self._may_turn(buffer, node, body):
                continue
            order = self._order(buffer, node, around)
            if order is not None:
                node = self._transposed(node, buffer, order, around, before, after)
        return (*before, node, *after)

    def _may_turn(self, buffer: Buffer, node: SequentialLoop, body: Sequence[ArrayStatement]) -> bool:
        """Whether steps of a loop take an array along other dimensions than its last."""
        if len(buffer.shape) < 2 or not all(isinstance(d, Const) for d in buffer.shape):
            return False
        if buffer in self.program.tiles or self.plan.expanded.get(buffer):
            return False
        if buffer in read_by_bounds(n.statement for n in body):
            return False
        var = node.loop.var
        for n in body:
            for place in n.statement.places(buffer):
                along = free_vars(place[-1])
                if var not in linear(place[-1]).terms or any(map(has_loads, place)) or along & {o.var for o in n.axes}:
                    return False  # of a window, a step takes what lies together
        return True

    def _order(self, buffer: Buffer, node: SequentialLoop, around: tuple[Loop, ...]) -> _Order | None:
        """The order of dimensions that a copy should have, if it is worth copying."""
        found = taken_one_by_one(buffer, (node,), self.boxes, self.target)
        times = prod(extent(self.boxes.get(o), self.target) for o in around)
        as_written = found[tuple(range(len(buffer.shape)))]
        best = min((o for o in found if o != tuple(range(len(buffer.shape)))), key=lambda o: found[o])
        copies = self._copied(buffer, node)
        if buffer in self.constant:
            copies, launches = [c / times for c in copies], 1 / times
        else:
            launches = 1.0
        price = operations.transposed_copies(self.target, copies, launches)
        row = buffer.dtype.bits / 8 * prod(float(linear(d).const) for d in buffer.shape[1:])
        inside = self.in_function(node, self.boxes, self.target)
        saved = (as_written - found[best]) / times
        gain = GAIN * operations.taken_apart(self.target, saved, row, in_function=inside)
        return best if cheaper("transposed copy", price, gain) else None

    def _copied(self, buffer: Buffer, node: SequentialLoop) -> list[float]:
        """Elements of each copy that a loop would need."""
        whole = prod(float(linear(d).const) for d in buffer.shape)
        stored = self._stored(buffer, node)
        if stored is not None:
            parts = ((node.loop, *n.axes) for n in stored.writers)
            back = [prod(extent(self.boxes.get(o), self.target) for o in loops) for loops in parts]
            back = [whole] if stored.whole else back
            return [whole, *back] if stored.past is None else back
        written = any(n.statement.buffer == buffer for n in inner_statements(node.body))
        return [whole, whole] if written else [whole]

    def _stored(self, buffer: Buffer, node: SequentialLoop) -> _Stored | None:
        """What a loop stores to an array, if its statements store to all places of their axes."""
        body = list(inner_statements(node.body))
        writers = [n for n in body if n.statement.buffer == buffer]
        if not writers or any(n.statement.guards for n in writers):
            return None
        if not all(self._exact(o) for n in writers for o in n.axes):
            return None
        past, whole = self._past(buffer, node, body, writers), self._is_all(buffer, node, writers)
        # what has all of the array is put back as a whole in place of by several parts
        return None if past is None and len(writers) > 1 and not whole else _Stored(writers, past, whole)

    def _past(
        self, buffer: Buffer, node: SequentialLoop, body: Sequence[ArrayStatement], writers: Sequence[ArrayStatement]
    ) -> list[Load] | None:
        """The elements from before a loop that it reads of an array that it stores to; None if it may read any."""
        var = node.loop.var
        past: list[Load] = []
        for n in body:
            for load in (r for r in n.statement.reads() if r.buffer == buffer):
                lag = _lag(load, n.statement.store.indices, var) if [n] == writers else 0
                if lag <= 0 or not self._exact(node.loop):
                    return None
                past += [_at(load, var, self.boxes[node.loop], k) for k in range(lag)]
        return past

    def _is_all(self, buffer: Buffer, node: SequentialLoop, writers: Sequence[ArrayStatement]) -> bool:
        """Whether several statements of a loop together store to all of an array."""
        if len(writers) < 2 or not self._exact(node.loop):
            return False
        around = tuple(o for o in writers[0].statement.loops if o is not node.loop and o not in writers[0].axes)
        first = [
            replace(n.statement, position=k, loops=(*around, node.loop, *n.axes), update=None)
            for k, n in enumerate(writers)
        ]
        return stores_to_all(first, buffer, around)

    def _exact(self, loop: Loop) -> bool:
        return loop in self.boxes and self.boxes[loop].exact

    def _transposed(
        self,
        node: SequentialLoop,
        buffer: Buffer,
        order: _Order,
        around: tuple[Loop, ...],
        before: list[Node],
        after: list[Node],
    ) -> SequentialLoop:
        """A loop that works on a copy, which is made before it, or once for all."""
        once = buffer in self.constant
        stored = self._stored(buffer, node)
        copy = self.kept.get((buffer, order)) if once else None
        if copy is None:
            shape = ordered(order, buffer.shape)
            copy = replace(buffer, name=self.program.fresh(f"{buffer.name}_transposed"), shape=shape, scope="local")
            # what starts from nothing is not made anew in each iteration of the loops around, but carried by them
            self.program.depth[copy] = 0 if once or (stored is not None and stored.past is not None) else len(around)
            if buffer in self.program.func.buffers or buffer in self.program.raw:
                self.program.raw.add(copy)
            if once:
                self.kept[buffer, order] = copy
                self.first.append(self._whole(buffer, copy, order, (), back=False))
            elif stored is None or stored.past is None:
                before.append(self._whole(buffer, copy, order, around, back=False))
        if stored is not None and not stored.whole:
            for writer in stored.writers:
                axes = tuple(o for o in writer.statement.loops if o in writer.axes)
                for load in dict.fromkeys(stored.past or ()):
                    before.append(self._store(Load(copy, ordered(order, load.indices)), load, around, axes))
                axes = (node.loop, *axes)
                indices = self._forward(writer.statement.store.indices, axes)
                after.append(self._store(Load(buffer, indices), Load(copy, ordered(order, indices)), around, axes))
        elif any(n.statement.buffer == buffer for n in inner_statements(node.body)):
            after.append(self._whole(buffer, copy, order, around, back=True))
        new = copy
        body = tuple(relocated_node(n, buffer, new, lambda i: ordered(order, i)) for n in node.body)
        return replace(node, body=body)

    def _whole(
        self, buffer: Buffer, copy: Buffer, order: _Order, around: tuple[Loop, ...], back: bool
    ) -> ArrayStatement:
        """All of an array from or to its copy."""
        axes = loops_over(buffer, self.boxes, lambda _: self.program.fresh(f"{copy.name}_at"))
        indices = tuple(a.var for a in axes)
        here, there = Load(buffer, indices), Load(copy, ordered(order, indices))
        return self._store(*((here, there) if back else (there, here)), around, axes)

    def _forward(self, indices: Sequence[Expr], axes: Iterable[Loop]) -> tuple[Expr, ...]:
        """Places in rising order, where axes run through them backward."""
        values: dict[Var, Expr] = {}
        for axis in axes:
            steps = [c for i in indices if (c := linear(i).terms.get(axis.var, 0))]
            if self._exact(axis) and all(c < 0 for c in steps):
                box = self.boxes[axis]
                values[axis.var] = to_expr(box.low * 2 + box.extent - 1 - atom(axis.var), axis.var)
        return tuple(substitute_expr(i, values) for i in indices)

    def _store(self, sink: Load, source: Load, around: tuple[Loop, ...], axes: tuple[Loop, ...]) -> ArrayStatement:
        return array_statement(Store(sink.buffer, sink.indices, source), around, axes, self.new)


class _Stored(Struct, frozen=True):
    """The statements of a loop that store to an array, and the elements from before the loop that it reads; None if it
    may read any. `whole`: together they store to all of it."""

    writers: list[ArrayStatement]
    past: list[Load] | None
    whole: bool


def _lag(load: Load, stored: Sequence[Expr], var: Var) -> int:
    """How many steps before its own a load reads what a store stores; 0 if it is not known to."""
    lags: set[int] = set()
    for index, place in zip(load.indices, stored, strict=True):
        form, at = linear(index), linear(place)
        difference = at - form
        step = at.terms.get(var, 0)
        if not difference.is_const or (step == 0 and difference.const != 0):
            return 0
        if step != 0:
            lag, rest = divmod(difference.const, step)
            if rest:
                return 0
            lags.add(lag)
    return lags.pop() if len(lags) == 1 else 0


def _at(load: Load, var: Var, box: Box, step: int) -> Load:
    """What a load reads in a step of a loop."""
    value = to_expr(box.low + step, var)
    places = (substitute_expr(i, {var: value}) for i in load.indices)
    return Load(load.buffer, tuple(to_expr(linear(i), i) for i in places))
