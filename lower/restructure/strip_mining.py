"""Several steps of a loop in one pass over a buffer: what later steps read goes ahead.

In step k of `X[i, j] = min(X[i, j], X[i, k] + X[k, j])` all elements look at row and column k alone. So w rows and w
columns are copied, take w steps for themselves, and what each step reads of them is kept. Then all elements take the w
steps in one pass, in which XLA fuses w expressions that read what was kept. All values are those of steps taken one by
one; blocked forms of Floyd and Warshall's algorithm reorder them more (Venkataraman, Sahni and Mukhopadhyaya, 2003).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var, const
from ir.traverse import loads, map_expr, substitute_expr
from lower.analysis.deciding import cheapest
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import atom, linear, number, residue, to_expr
from lower.nest.element_prices import element
from lower.nest.nodes import ArrayStatement, Box, Fresh, Node, SequentialLoop, array_statement, loop_over, whole_axes
from lower.nest.normalize import mapped
from lower.restructure.estimate import estimate

STRIP_MINING = Form(
    "structure.strip_mining",
    "for k in n: S(k)  =  for strips of k: rows and columns ahead, then all steps of a strip in one pass",
    "all that later steps of a strip read has taken its steps before",
)

PERIODS = Form(
    "structure.periods",
    "for i in n * k: S(i)  =  for o in n: for i in k: S(o * k + i)   where S asks for i % k == c",
    "the iterations are the same, in the same order",
)
WINDOWS = Form(
    "structure.windows",
    "for i in max(a, u - w) .. min(b, u + w): S(i)  =  for r in 2 * w: if a <= u - w + r < b: S(u - w + r)",
    "the iterations are the same, in the same order (loop normalization; Allen and Kennedy 2002)",
)

# Measured on two cores, 400 × 400: a pass with 8 steps costs what one with a single step does, with 16 four times that.
_WIDEST = 8

Dims = frozenset[int]


def at_strides(
    group: Sequence[Statement], level: int, own: Collection[Buffer], boxes: dict[Loop, Box], name: Callable[[str], str]
) -> list[Statement]:
    """A group whose statements all are under `t % k == c` for its loop at a level, over a loop through these t alone;
    as it is if there is no such k. What stores to locals that each iteration has of its `own` is of use to the rest."""
    loop = group[0].loops[level]
    box = boxes.get(loop)
    asked = [{f for g in s.guards if (f := _residue(g, loop.var)) is not None} for s in group if s.buffer not in own]
    common = set[tuple[int, int]].intersection(*asked) if asked else None
    if not common or box is None or not box.is_known:
        return list(group)
    k, c = max(common)
    low = box.low.const + (c - box.low.const) % k
    count = max(0, -(-(box.low.const + box.extent.const - low) // k))
    strided = loop_over(Var(name(loop.var.name), loop.var.dtype), Box(number(0), number(count), exact=True), boxes)
    place = {loop.var: to_expr(atom(strided.var) * k + low, loop.var)}
    found: list[Statement] = []
    for s in group:
        rest = replace(s, guards=tuple(g for g in s.guards if _residue(g, loop.var) != (k, c)))
        new = mapped(rest, lambda e: substitute_expr(e, place))
        found.append(replace(new, loops=(*new.loops[:level], strided, *new.loops[level + 1 :])))
    return found


def now_and_then(group: Sequence[Statement], loop: Loop, own: Collection[Buffer]) -> frozenset[int]:
    """The statements under some `t % k == c` of a loop, and those that store what these alone read to locals that each
    iteration has of its `own`; none if that are all of them."""
    rare = {s.position for s in group if any(_residue(g, loop.var) is not None for g in s.guards)}
    for s in sorted(group, key=lambda s: s.position, reverse=True):
        readers = {r.position for r in group if r is not s and s.buffer in r.buffers()}
        if s.buffer in own and readers and readers <= rare:
            rare.add(s.position)
    return frozenset(rare) if len(rare) < len(group) else frozenset()


def _residue(guard: Expr, var: Var) -> tuple[int, int] | None:
    """The k and c of a condition `var % k == c`."""
    match guard:
        case Binary(op="eq", lhs=at, rhs=Const(value=int() as c)):
            found = residue(at, var)
        case _:
            return None
    if found is None or not isinstance(found[1], Const):
        return None
    plus, k = found[0], int(found[1].value)
    return (k, (c - plus) % k) if 0 <= c < k and k > 1 else None


class Strips(Struct, frozen=True):
    """A loop in strips of several steps, how many loops around each new local have a copy of it, and the price."""

    nodes: tuple[Node, ...]
    depth: Mapping[Buffer, int]
    price: float


def in_strips(
    node: SequentialLoop,
    boxes: dict[Loop, Box],
    target: Target,
    new: Fresh,
) -> Strips | None:
    """A loop around one array statement with several steps in a pass, the cheapest number; None for other loops."""
    found = _Steps.of(node, boxes)
    if found is None or found.size() <= target.near:
        return None
    priced: dict[int, float] = {}
    for width in range(2, min(_WIDEST, found.count // 2) + 1):
        priced[width] = _Writer(found, width, dict(boxes), Fresh(str, lambda: -1)).price(target)
    if not priced:
        return None
    width = cheapest("strips", priced)
    writer = _Writer(found, width, boxes, new)
    return Strips(writer.nodes(), writer.depth(), priced[width])


class _Steps(Struct, frozen=True):
    """A loop whose steps change all elements of a buffer, and read of others just those at the step along some
    dimensions: `fixed` has these dimensions for each load."""

    node: SequentialLoop
    leaf: ArrayStatement
    axes: tuple[Loop, ...]  # by dimension
    fixed: Mapping[Load, Dims]
    low: int
    count: int

    @staticmethod
    def of(node: SequentialLoop, boxes: Mapping[Loop, Box]) -> _Steps | None:
        """The steps of a loop, where they are such."""
        if len(node.body) != 1 or not isinstance(node.body[0], ArrayStatement) or node.body[0].scan is not None:
            return None
        leaf, box = node.body[0], boxes.get(node.loop)
        s = leaf.statement
        axes = whole_axes(leaf, boxes)
        if axes is None or box is None or not box.is_known:
            return None
        fixed: dict[Load, Dims] = {}
        sizes = [linear(d).const for d in s.buffer.shape]
        for load in dict.fromkeys(x for e in (s.store.value, *s.guards) for x in loads(e) if x.buffer == s.buffer):
            at = frozenset(d for d, i in enumerate(load.indices) if linear(i).equals(linear(node.loop.var)))
            if any(box.low.const < 0 or (box.low + box.extent).const > sizes[d] for d in at):
                return None  # rows or columns that are not there cannot go ahead
            rest = (d for d in range(len(axes)) if d not in at)
            if any(not linear(load.indices[d]).equals(linear(axes[d].var)) for d in rest):
                return None
            if at:
                fixed[load] = at
        return _Steps(node, leaf, axes, fixed, box.low.const, box.extent.const) if fixed else None

    def size(self) -> int:
        """How many bytes the buffer has."""
        return prod(self.sizes()) * self.leaf.statement.buffer.dtype.bits // 8

    def sizes(self) -> list[int]:
        """The extents of the dimensions."""
        return [linear(d).const for d in self.leaf.statement.buffer.shape]


class _Writer:
    """Strips of a width."""

    def __init__(
        self,
        steps: _Steps,
        width: int,
        boxes: dict[Loop, Box],
        new: Fresh,
    ) -> None:
        self.steps = steps
        self.width = width
        self.boxes = boxes
        self.new = new
        s, loop = steps.leaf.statement, steps.node.loop
        self.dtype = loop.var.dtype
        self.whole, left = divmod(steps.count, width)
        self.outer = tuple(o for o in s.loops if o is not loop and o not in steps.leaf.axes)
        self.strip = self._loop(new.name("strip"), self.whole)
        self.ahead = self._loop(new.name("ahead"), width)
        self.at = atom(self.strip.var) * width + steps.low
        self.left = left
        self.patterns = sorted(set(steps.fixed.values()), key=sorted)
        self.inside = {d: self._loop(new.name(f"{a.var.name}_in"), width) for d, a in enumerate(steps.axes)}
        sizes = steps.sizes()
        self.tiles: dict[Dims, Buffer] = {}
        self.history: dict[Dims, Buffer] = {}
        for fixed in self.patterns:
            tile = [width if d in fixed else n for d, n in enumerate(sizes)]
            kept = [width, *(n for d, n in enumerate(sizes) if d not in fixed)]
            self.tiles[fixed] = self._local(new.name(f"{s.buffer.name}_tile"), tile)
            self.history[fixed] = self._local(new.name(f"{s.buffer.name}_steps"), kept)

    def _loop(self, name: str, extent: int) -> Loop:
        return loop_over(Var(name, self.dtype), Box(number(0), number(extent), exact=True), self.boxes)

    def _local(self, name: str, shape: Sequence[int]) -> Buffer:
        buffer = self.steps.leaf.statement.buffer
        dims = tuple(const(n, d.dtype) for n, d in zip(shape, (buffer.shape[0], *buffer.shape), strict=False))
        return replace(buffer, name=name, shape=dims, scope="local")

    def depth(self) -> dict[Buffer, int]:
        """How many loops have a copy of each new local."""
        return dict.fromkeys((*self.tiles.values(), *self.history.values()), len(self.outer) + 1)

    def nodes(self) -> tuple[Node, ...]:
        """The strips, and the steps that are left."""
        var, why = self.steps.node.loop.var, self.steps.node.reason
        ahead = SequentialLoop(self.ahead, (*map(self._keep, self.patterns), *map(self._advance, self.patterns)), why)
        body = (*map(self._copy, self.patterns), ahead, *(self._late(k) for k in range(self.width)))
        reason = f"its strips of {self.width} steps depend on each other"
        found: tuple[Node, ...] = (SequentialLoop(self.strip, body, reason),)
        if self.left:
            start = self.steps.low + self.whole * self.width
            rest = loop_over(var, Box(number(start), number(self.left), exact=True), self.boxes)
            s = self.steps.leaf.statement
            loops = tuple(rest if o is self.steps.node.loop else o for o in s.loops)
            leaf = replace(self.steps.leaf, statement=replace(s, loops=loops, position=self.new.position()))
            found = (*found, SequentialLoop(rest, (leaf,), why))
        return found

    def price(self, target: Target) -> float:
        """What the strips cost: the expressions of a pass move its elements once."""
        s = self.steps.leaf.statement
        strip, *rest = self.nodes()
        assert isinstance(strip, SequentialLoop)
        small = estimate(strip.body[: -self.width], self.boxes, target)
        bits, read = s.buffer.dtype.bits, [load for e in (s.store.value, *s.guards) for load in loads(e)]
        moved = target.store * operations.width(bits)
        moved += sum(target.load * operations.width(load.buffer.dtype.bits) for load in read)
        work = element(s, target) - moved
        late = operations.strip(target, prod(self.steps.sizes()), self.width, work, bits)
        return operations.steps(target, self.whole, small + late) + estimate(rest, self.boxes, target)

    def _statement(self, loops: Sequence[Loop], axes: Sequence[Loop], store: Store) -> ArrayStatement:
        return array_statement(store, (*self.outer, self.strip, *loops), tuple(axes), self.new)

    def _tile_axes(self, fixed: Dims) -> list[Loop]:
        return [self.inside[d] if d in fixed else a for d, a in enumerate(self.steps.axes)]

    def _place(self, fixed: Dims, d: int) -> Expr:
        """The place along a dimension of an element of a tile."""
        axis = self._tile_axes(fixed)[d]
        return to_expr(self.at + atom(axis.var), axis.var) if d in fixed else axis.var

    def _copy(self, fixed: Dims) -> ArrayStatement:
        """The rows, columns or the like that go ahead."""
        axes = self._tile_axes(fixed)
        source = Load(self.steps.leaf.statement.buffer, tuple(self._place(fixed, d) for d in range(len(axes))))
        return self._statement((), axes, Store(self.tiles[fixed], tuple(a.var for a in axes), source))

    def _keep(self, fixed: Dims) -> ArrayStatement:
        """What a step reads of what goes ahead."""
        free = [a for d, a in enumerate(self.steps.axes) if d not in fixed]
        at = [self.ahead.var if d in fixed else a.var for d, a in enumerate(self.steps.axes)]
        kept = (self.ahead.var, *(a.var for a in free))
        store = Store(self.history[fixed], kept, Load(self.tiles[fixed], tuple(at)))
        return self._statement((self.ahead,), free, store)

    def _advance(self, fixed: Dims) -> ArrayStatement:
        """One step of what goes ahead."""
        axes = self._tile_axes(fixed)
        own = Load(self.tiles[fixed], tuple(a.var for a in axes))
        places = [self._place(fixed, d) for d in range(len(axes))]
        return self._step((*self.outer, self.strip, self.ahead), axes, own, places, self.ahead.var)

    def _late(self, step: int) -> ArrayStatement:
        """One step of all elements."""
        axes = self.steps.axes
        own = Load(self.steps.leaf.statement.buffer, tuple(a.var for a in axes))
        return self._step((*self.outer, self.strip), axes, own, [a.var for a in axes], const(step, self.dtype))

    def _step(
        self, around: tuple[Loop, ...], axes: Sequence[Loop], own: Load, places: Sequence[Expr], step: Expr
    ) -> ArrayStatement:
        """A step of elements that are now at `own` and stand for those at `places`."""
        s = self.steps.leaf.statement

        def one(e: Expr) -> Expr:
            if not isinstance(e, Load) or e.buffer != s.buffer:
                return e
            fixed = self.steps.fixed.get(e)
            if fixed is None:
                return own
            return Load(self.history[fixed], (step, *(p for d, p in enumerate(places) if d not in fixed)), e.span)

        values: dict[Var, Expr] = {a.var: p for a, p in zip(self.steps.axes, places, strict=True)}
        values[self.steps.node.loop.var] = to_expr(self.at + linear(step), step)
        values = {v: e for v, e in values.items() if not e.same(v)}
        moved = mapped(s, lambda e: map_expr(_substituted_outside(e, s.buffer, values), one))
        store = Store(own.buffer, own.indices, moved.store.value, s.store.span)
        statement = replace(moved, position=self.new.position(), loops=(*around, *axes), store=store)
        return ArrayStatement(statement, tuple(axes))


def _substituted_outside(expr: Expr, buffer: Buffer, values: Mapping[Var, Expr]) -> Expr:
    """An expression with variables replaced, but not in what it reads of a buffer."""
    held: dict[Var, Load] = {}

    def hide(e: Expr) -> Expr:
        if isinstance(e, Load) and e.buffer == buffer:
            held[Var(f"load {len(held)}", e.dtype)] = e
            return list(held)[-1]
        return e

    hidden = substitute_expr(map_expr(expr, hide), values)
    return map_expr(hidden, lambda e: held.get(e, e) if isinstance(e, Var) else e)
