"""Functions of elements that a statement reads at several places, worked out once for each element.

`cos(A[i - 1]) + cos(A[i + 1])` takes the cosine of each element twice, and one of an element that many look up is taken
by each of them. XLA shares what is the same at one place only. An array of all cosines is an array more, and as many
operations as there are elements. It stands before the loops whose steps take elements of an array that none of them
changes, as along diagonals of a table. Truths of comparisons with a number are such a function, too: of the neighbours
of a cell, CPUs read bytes then (half the time, for 4 or 8 of them in 200 x 200).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.dtypes import DType
from ir.nodes import COMPARE_OPS, FLOAT_FUNCTIONS, Binary, Buffer, Const, Expr, Load, Store, Unary, const
from ir.operators import SINGULAR
from ir.traverse import children, free_vars, map_expr, walk_expr
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import Form
from lower.nest.element_prices import extent, work
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
)
from lower.nest.normalize import Program, mapped

SHARED_FUNCTIONS = Form(
    "structure.shared_functions",
    "f(A[i]) + f(A[j])  =  B = f(A); B[i] + B[j]   for all elements of A",
    "equal elements have equal values of a function, which is finite wherever its operand is",
)

# Finite for all numbers, as their derivatives are: elements that the program never looks at do no harm.
_BOUNDED = frozenset(FLOAT_FUNCTIONS) - SINGULAR


def with_shared_functions(program: Program, plan: Plan, target: Target) -> Plan:
    """The plan with arrays of the functions that statements take of elements again and again."""
    sharer = _Sharer(program, plan, target, dict(plan.boxes))
    nodes = sharer.nodes(plan.nodes, [])
    return replace(plan, nodes=nodes, boxes=sharer.boxes)


class _Known(Struct, frozen=True):
    """An array of the values that a function has for the elements of another one."""

    function: Expr
    of: Buffer
    values: Buffer


class _Level(Struct):
    """Nodes as far as they are made, with the loop around them, if any, and what it stores to; `known` are the arrays
    of functions that there are."""

    loop: Loop | None = None
    stored: frozenset[Buffer] = frozenset()
    made: list[Node] = field(default_factory=list[Node])
    known: list[_Known] = field(default_factory=list[_Known])


class _Sharer(Struct, dict=True):
    program: Program
    plan: Plan
    target: Target
    boxes: dict[Loop, Box]

    def __post_init__(self) -> None:
        every = [n.statement for n in inner_statements(self.plan.nodes)]
        self.new: Fresh = fresh_behind((*every, *self.program.statements), self.program.fresh)

    def nodes(
        self, nodes: Iterable[Node], around: Sequence[_Level], loop: SequentialLoop | None = None
    ) -> tuple[Node, ...]:
        """The nodes of a loop, or all, with arrays of functions before those that read them, or before loops around."""
        stored = frozenset[Buffer]() if loop is None else _stored(loop)
        here = _Level(None if loop is None else loop.loop, stored)
        levels = [*around, here]
        for node in nodes:
            if isinstance(node, SequentialLoop):
                node = replace(node, body=self.nodes(node.body, levels, node))
            elif isinstance(node, ArrayStatement) and node.scan is None and node.statement.tile is None:
                node = self._statement(node, levels)
            here.made.append(node)
            changed = _stored(node)
            here.known = [k for k in here.known if k.of not in changed]
        return tuple(here.made)

    def _statement(self, node: ArrayStatement, levels: Sequence[_Level]) -> ArrayStatement:
        """A statement that reads functions of elements from arrays, which are filled before it or loops around it."""
        uses: dict[tuple[Expr, Buffer], dict[tuple[Expr, ...], Load]] = {}
        inner = {o.var for o in node.statement.loops}
        for e in walk_expr(node.statement.store.value):
            load = _element(e)
            if load is None or self.plan.expanded.get(load.buffer) or (free_vars(_function(e, load)) & inner):
                continue
            uses.setdefault((_function(e, load), load.buffer), {})[load.indices] = load
        for (function, buffer), places in uses.items():
            have = self._known(function, buffer, levels)
            if have is None:
                outer = _steady(buffer, levels)
                steps = [level.loop for level in levels[outer + 1 :] if level.loop is not None]
                if self._pays(function, buffer, [*places.values()], node, steps):
                    have = _Known(function, buffer, self._array(buffer, function.dtype))
                    loops = tuple(level.loop for level in levels[: outer + 1] if level.loop is not None)
                    levels[outer].made.append(self._filled(have, loops))
                    levels[outer].known.append(have)
            if have is not None:
                node = _reading(node, have)
        return node

    def _known(self, function: Expr, buffer: Buffer, levels: Sequence[_Level]) -> _Known | None:
        """The array of a function that is there, and holds what the buffer does."""
        for level in levels[_steady(buffer, levels) :]:
            for known in level.known:
                if known.of == buffer and known.function.same(function):
                    return known
        return None

    def _pays(
        self, function: Expr, buffer: Buffer, read: Sequence[Load], node: ArrayStatement, steps: Sequence[Loop]
    ) -> bool:
        """Whether elements are fewer than the places at which the function is taken, by what an array costs.

        Steps take it again where places depend on one of them; what is the same in all compilers take out of loops.
        """
        if not all(isinstance(d, Const) for d in buffer.shape):
            return False
        own = {o.var for o in steps}
        times = 0.0
        for load in read:
            over = [o for o in node.axes if o.var in free_vars(load)]
            if free_vars(load) & own:
                over += steps
            times += prod(extent(self.boxes.get(o), self.target) for o in over)
        elements = prod(float(d.value) for d in buffer.shape if isinstance(d, Const))
        each = work(function, self.target)
        saved = (times - elements) * each
        return saved > 0 and cheaper("shared function", operations.kept_stage(self.target, elements), saved)

    def _array(self, buffer: Buffer, dtype: DType) -> Buffer:
        values = replace(buffer, name=self.program.fresh(f"{buffer.name}_values"), dtype=dtype, scope="local")
        self.program.raw.add(values)
        return values

    def _filled(self, known: _Known, around: tuple[Loop, ...]) -> ArrayStatement:
        """The statement that takes a function of all elements."""
        self.program.depth[known.values] = len(around)
        axes = loops_over(known.of, self.boxes, lambda _: self.program.fresh(f"{known.values.name}_at"))
        here = Load(known.of, tuple(o.var for o in axes))
        value = map_expr(known.function, lambda e: here if isinstance(e, Load) else e)
        return array_statement(Store(known.values, here.indices, value), around, axes, self.new)


def _stored(node: Node) -> frozenset[Buffer]:
    return frozenset(n.statement.buffer for n in inner_statements((node,)))


def _steady(buffer: Buffer, levels: Sequence[_Level]) -> int:
    """The outermost level from which on no loop stores to a buffer."""
    return max((k for k, level in enumerate(levels) if buffer in level.stored), default=0)


def _element(expr: Expr) -> Load | None:
    """The only element of an array that a bounded function, or a comparison with a number, is of; None for others."""
    match expr:
        case Unary(op=op) if op in _BOUNDED:
            dtype = expr.dtype
        case Binary(op=op, lhs=Load() as load, rhs=Const()) if op in COMPARE_OPS:
            dtype = load.dtype
        case _:
            return None
    read = [*_elements(expr)]
    alone = bool(read) and all(e.same(read[0]) for e in read) and bool(read[0].indices)
    return read[0] if alone and read[0].dtype is dtype else None


def _elements(expr: Expr) -> Iterator[Load]:
    """What an expression reads but to know places."""
    if isinstance(expr, Load):
        yield expr
    else:
        for part in children(expr):
            yield from _elements(part)


def _function(expr: Expr, load: Load) -> Expr:
    """A function of an element, whichever it is."""
    first = Load(load.buffer, tuple(const(0, i.dtype) for i in load.indices))
    return map_expr(expr, lambda e: first if isinstance(e, Load) and e.same(load) else e)


def _reading(node: ArrayStatement, known: _Known) -> ArrayStatement:
    """A statement that reads values of a function where it took it."""

    def one(e: Expr) -> Expr:
        load = _element(e)
        if load is None or load.buffer != known.of or not _function(e, load).same(known.function):
            return e
        return Load(known.values, load.indices)

    return replace(node, statement=mapped(node.statement, lambda e: map_expr(e, one)))
