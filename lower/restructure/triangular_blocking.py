"""Products of which only a triangle counts, tile by tile in the place of their result.

The lower or upper half of `C[i, j] += A[i, k] * B[j, k]` is about half of the work of all of it. A loop over square
tiles does just that work, and carries the result: each tile is stored where it belongs before the next one begins, so
that besides arguments and results there is room for one tile and its two operands only. The rows that all tiles of a
row share are copied once, as the rows of a product. Statements over the same triangle around the product, as the fill
before it and the copy to the other triangle after it, go through the same tiles, if no tile then sees what another one
does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby, pairwise

from egraph_rules.cost import operations
from egraph_rules.cost.operations import ProductSize
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Statement, dependences
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var, const
from ir.presburger import sets as presburger
from ir.traverse import free_vars, has_loads, loads, map_expr, substitute_expr
from lower.analysis.deciding import cheapest
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear, number, to_expr
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Fresh,
    Node,
    Plan,
    SequentialLoop,
    fresh_behind,
    inner_statements,
    loop_over,
    own_bounds,
)
from lower.nest.normalize import Program, mapped, read_by_bounds
from lower.tensor.triangular_blocks import MAX_BLOCKS

TRIANGULAR_BLOCKING = Form(
    "structure.triangular_blocking",
    "for i, j <= i: s  =  for tiles at or below the diagonal: for i, j in the tile: s",
    "nothing reads the other triangle",
)

_ALIGNED = 8  # tiles have a multiple of this many rows, unless others leave nothing over
_MOST = 32  # tiles along a side, of those that are tried

Span = tuple[int, int]  # the first position or tile, and the one behind the last


def in_tiles(program: Program, plan: Plan, target: Target) -> Plan:
    """The plan with its triangular products in tiles, where that is cheaper; tells the program of new locals."""
    tiler = _Tiler(program, plan, target, dict(plan.boxes))
    nodes, at = list(plan.nodes), 0
    found: list[Node] = []
    while at < len(nodes):
        group = _group(nodes, at)
        parts = (group[:stop] for stop in range(len(group), 0, -1))
        tiles = next(((part, t) for part in parts if (t := tiler.tiles(part)) is not None), None)
        found += [nodes[at]] if tiles is None else tiles[1]
        at += 1 if tiles is None else len(tiles[0])
    return replace(plan, nodes=tuple(found), boxes=tiler.boxes)


def _group(nodes: Sequence[Node], at: int) -> list[ArrayStatement]:
    """The array statements from one on that have its two outer loops, or it alone."""
    group: list[ArrayStatement] = []
    for node in nodes[at:]:
        if not isinstance(node, ArrayStatement) or node.scan is not None or len(node.axes) < 2:
            break
        if set(node.axes) != set(node.statement.loops):
            break
        if group and node.statement.loops[:2] != group[0].statement.loops[:2]:
            break
        group.append(node)
    return group


@dataclass(frozen=True, slots=True)
class _Sides:
    """The loops over rows and columns of a triangle, and how many of each there are in all arrays."""

    row: Loop
    column: Loop
    region: presburger.isl.Set  # rows and columns that count
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class _Tiles:
    """`count` tiles of `width` rows and columns: in row `r` those from `first` to before `stop`."""

    width: int
    rows: int
    columns: int
    first: Expr
    stop: Expr
    count: int


@dataclass(slots=True)
class _Tiler:
    program: Program
    plan: Plan
    target: Target
    boxes: dict[Loop, Box]
    new: Fresh = field(init=False)

    def __post_init__(self) -> None:
        every = [n.statement for n in inner_statements(self.plan.nodes)]
        self.new = fresh_behind((*every, *self.program.statements), self.program.fresh)

    def tiles(self, group: Sequence[ArrayStatement]) -> list[Node] | None:
        """Nodes that do what statements around a product do, in tiles; None where there is none, or at no gain."""
        products = [n.statement for n in group if len(n.axes) > 2]
        statements = [n.statement for n in group]
        if len(products) != 1:
            return None
        (product,) = products
        sides = self._sides(product)
        if sides is None or not self._fit(statements, product, sides):
            return None
        inner = [o for o in product.loops if o not in (sides.row, sides.column)]
        depth = self._depth(inner)
        if depth is None or not _factors(product, sides, {o.var for o in inner}):
            return None
        sides = self._within(sides, statements)
        size = ProductSize(sides.rows, sides.columns, depth, len(list(groupby(s.store.indices for s in statements))))
        return self._cheapest(statements, product, sides, size)

    def _fit(self, statements: Sequence[Statement], product: Statement, sides: _Sides) -> bool:
        """Whether statements may go through tiles one after the other."""
        assert product.update is not None
        stored = {s.buffer for s in statements}
        if stored & read_by_bounds(self.program.statements):
            return False
        if any(self.plan.expanded.get(b) for s in statements for b in s.buffers()):
            return False  # a place in such a local is the value of a loop that tiles are cut from
        if stored & {x.buffer for x in loads(product.update[1]) if len(x.indices) > 1}:
            return False  # rows are copied before the tiles that they are for
        return all(self._plain(s, sides) for s in statements) and self._apart(statements)

    def _cheapest(
        self, statements: Sequence[Statement], product: Statement, sides: _Sides, size: ProductSize
    ) -> list[Node] | None:
        """The statements in the cheapest tiles, if they cost less so than as a whole."""
        priced = [
            (self._price(t, sides, size), -t.width, t)
            for width in self._widths(sides)
            if (t := presburger.within_budget(lambda w=width: self._cut(sides, w, product), None)) is not None
        ]
        if not priced:
            return None
        whole = presburger.within_budget(lambda: self._whole(sides, size), 0.0)
        widest = sorted(priced, key=lambda p: p[1])
        best = cheapest("tiles of a triangle", {-1: whole, **{k: p[0] for k, p in enumerate(widest)}})
        return None if best < 0 else self._written(statements, product, sides, widest[best][2])

    # What can be cut.

    def _sides(self, product: Statement) -> _Sides | None:
        """The two loops over the result of a sum of products, if its conditions are on both, and affine."""
        if product.update is None or product.update[0] not in ("add", "sub") or len(product.store.indices) != 2:
            return None
        of = {o.var: o for o in product.loops}
        kept = [of[i] for i in product.store.indices if isinstance(i, Var) and i in of]
        if len(set(kept)) != 2 or product.buffer in {x.buffer for x in loads(product.update[1])}:
            return None
        row, column = sorted(kept, key=product.loops.index)
        conditions = [*product.guards]
        for loop in (row, column):
            box = self.boxes.get(loop)
            if box is None or not (box.low.is_const and box.extent.is_const) or box.low.const < 0:
                return None
            conditions += own_bounds(loop)
        names = {row.var, column.var}
        if any(has_loads(c) or not free_vars(c) <= names for c in conditions):
            return None

        def where() -> presburger.isl.Set:
            return reduce(
                presburger.isl.Set.intersect, (presburger.condition(c).may for c in conditions), presburger.always()
            )

        region = presburger.within_budget(where, None)
        return None if region is None else _Sides(row, column, region, 0, 0)

    def _plain(self, statement: Statement, sides: _Sides) -> bool:
        """Whether a statement takes rows and columns at their own places only, so that tiles are slices."""
        names = {sides.row.var, sides.column.var}
        exprs = (statement.store.value, *statement.guards)
        places = [statement.store.indices, *(load.indices for e in exprs for load in loads(e))]
        indices = [i for place in places for i in place]
        if any(isinstance(i, Var) and place.count(i) > 1 for place in places for i in place):
            return False
        asked = all(free_vars(g) <= names and not has_loads(g) for g in statement.guards)
        return asked and all(not free_vars(i) & names or i in names for i in indices)

    def _apart(self, statements: Sequence[Statement]) -> bool:
        """Whether no iteration of the two loops sees what another one does."""
        if len(statements) == 1:
            return True
        found = dependences(statements, self.program.depth)
        return all(d.level is None or d.level >= 2 for d in found)

    def _depth(self, inner: Sequence[Loop]) -> int | None:
        """How many terms a sum over loops has, if that is a number."""
        total = 1
        for loop in inner:
            box = self.boxes.get(loop)
            if box is None or not (box.exact and box.extent.is_const and box.low.is_const and box.low.const >= 0):
                return None
            total *= box.extent.const
        return total

    def _within(self, sides: _Sides, statements: Sequence[Statement]) -> _Sides:
        """The sides with as many rows and columns as all arrays have that are touched."""
        sizes: dict[Var, int] = {}
        for s in statements:
            for load in (Load(s.buffer, s.store.indices), *s.operands()):
                for index, size in zip(load.indices, load.buffer.shape, strict=True):
                    if isinstance(index, Var) and index in (sides.row.var, sides.column.var):
                        known = size.value if isinstance(size, Const) else 0
                        sizes[index] = min(int(known), sizes.get(index, int(known)))
        return replace(sides, rows=sizes[sides.row.var], columns=sizes[sides.column.var])

    # Which tiles.

    def _widths(self, sides: _Sides) -> list[int]:
        """Widths of tiles to choose among: those that leave no rows or few."""
        size = min(sides.rows, sides.columns)
        counts = range(2, min(_MOST, size // self.target.tile_rows) + 1)
        found = {w for n in counts for w in (size // n // _ALIGNED * _ALIGNED, size // n if size % n == 0 else 0)}
        return sorted(w for w in found if w >= self.target.tile_rows)

    def _cut(self, sides: _Sides, width: int, product: Statement) -> _Tiles | None:
        """Tiles of a width, if in each row of tiles there are some, and where they begin and end is plain."""
        rows, columns = (min(n, self._stop(o) + width - 1) // width for n, o in self._counts(sides))
        spans = self._spans(sides, [(r * width, (r + 1) * width) for r in range(rows)])
        if not spans or rows * columns < 2:
            return None
        found = [(first // width, min(-(-stop // width), columns)) for first, stop in spans if first < stop]
        if len(found) < rows or any(first >= stop for first, stop in found):
            return None
        firsts, stops = zip(*found, strict=True)
        first, stop = _line(firsts, columns, min(firsts)), _line(stops, columns, max(stops))
        ends = [(first.at(r), stop.at(r)) for r in range(rows)]
        var = Var("row", product.loops[0].var.dtype)
        count = sum(b - a for a, b in ends)
        return _Tiles(width, rows, columns, first.expr(var), stop.expr(var), count)

    def _counts(self, sides: _Sides) -> tuple[tuple[int, Loop], tuple[int, Loop]]:
        return (sides.rows, sides.row), (sides.columns, sides.column)

    def _stop(self, loop: Loop) -> int:
        box = self.boxes[loop]
        return box.low.const + box.extent.const

    def _spans(self, sides: _Sides, rows: Sequence[Span]) -> list[Span]:
        """The columns that count for each of some ranges of rows; an empty range where there are none."""
        result: list[Span] = []
        row = presburger.symbol(sides.row.var.name)
        for start, stop in rows:
            here = sides.region.intersect(row.ge_set(presburger.number(start)))
            here = here.intersect(row.lt_set(presburger.number(stop)))
            ends = presburger.extremes(here, sides.column.var.name)
            result.append((0, 0) if ends is None else (max(ends[0], 0), ends[1] + 1))
        return result

    # What it costs.

    def _price(self, tiles: _Tiles, sides: _Sides, size: ProductSize) -> float:
        """What tiles cost, with what they leave at the sides."""
        rows, columns = sides.rows - tiles.rows * tiles.width, sides.columns - tiles.columns * tiles.width
        left = max(rows, 0) * sides.columns + max(columns, 0) * sides.rows
        return operations.product_in_tiles(self.target, size, tiles.width, tiles.count, tiles.rows, left)

    def _whole(self, sides: _Sides, size: ProductSize) -> float:
        """What the product costs outside of a loop, in the best number of strips or as a whole."""
        found = [operations.product_in_strips(self.target, size, None)]
        for count in range(2, min(MAX_BLOCKS, sides.rows // self.target.product_rows) + 1):
            ends = list(pairwise(sides.rows * k // count for k in range(count + 1)))
            spans = zip(ends, self._spans(sides, ends), strict=True)
            strips = [(high - low, stop - first) for (low, high), (first, stop) in spans]
            found.append(operations.product_in_strips(self.target, size, strips))
        return min(found)

    # How it is written.

    def _written(self, statements: Sequence[Statement], product: Statement, sides: _Sides, tiles: _Tiles) -> list[Node]:
        width, dtype = tiles.width, sides.row.var.dtype
        outer = loop_over(
            Var(self.new.name(f"{sides.row.var.name}_tile"), dtype),
            Box(number(0), number(tiles.rows), exact=True),
            self.boxes,
        )
        at = {Var("row", dtype): outer.var}
        first, stop = substitute_expr(tiles.first, at), substitute_expr(tiles.stop, at)
        inner = Loop(
            Var(self.new.name(f"{sides.column.var.name}_tile"), dtype),
            first,
            to_expr(linear(Binary("sub", stop, first)), outer.var),
        )
        self.boxes[inner] = Box(number(0), number(tiles.columns), exact=False)
        axes = {o: self._axis(o, 0, width) for o in (sides.row, sides.column)}
        places: Mapping[Var, Expr] = {
            o.var: to_expr(linear(t.var) * width + linear(o.var), o.var)
            for o, t in ((sides.row, outer), (sides.column, inner))
        }
        copies, held = self._operands(product, sides, outer, axes[sides.row], places)
        reason = f"tiles of {width} × {width} elements are stored one after the other"
        body: list[Node] = []
        for _, part in groupby(statements, key=lambda s: s.store.indices):  # XLA would copy what it reads and stores
            tile: list[Node] = []
            for s in part:
                own = mapped(s, lambda e: substitute_expr(e, places))
                own = mapped(own, lambda e: map_expr(e, lambda x: held.get(x, x))) if s is product else own
                own = replace(own, guards=(*own.guards, *self._limits(sides, places)))
                tile.append(self._node(own, (outer, inner), [axes.get(o, o) for o in s.loops]))
            body.append(SequentialLoop(inner, tuple(tile), reason))
        return [SequentialLoop(outer, (*copies, *body), reason), *self._rest(statements, sides, tiles)]

    def _axis(self, loop: Loop, low: int, extent: int) -> Loop:
        return loop_over(loop.var, Box(number(low), number(extent), exact=True), self.boxes)

    def _limits(self, sides: _Sides, places: Mapping[Var, Expr]) -> list[Expr]:
        """The bounds of the loops over rows and columns as conditions at the places of a tile."""
        return [substitute_expr(c, places) for o in (sides.row, sides.column) for c in own_bounds(o)]

    def _node(self, statement: Statement, around: Sequence[Loop], axes: Sequence[Loop]) -> ArrayStatement:
        statement = replace(statement, loops=(*around, *axes), position=self.new.position())
        return ArrayStatement(statement, tuple(axes))

    def _operands(
        self, product: Statement, sides: _Sides, outer: Loop, axis: Loop, places: Mapping[Var, Expr]
    ) -> tuple[list[Node], Mapping[Expr, Expr]]:
        """Copies of what a row of tiles reads for its rows, those first; and what reads them instead."""
        assert product.update is not None
        summed = {o.var: o for o in product.loops if o not in (sides.row, sides.column)}
        copies: list[Node] = []
        held: dict[Expr, Expr] = {}
        for load in dict.fromkeys(loads(product.update[1])):
            along = [i for i in load.indices if isinstance(i, Var) and i in summed]
            if sides.row.var not in load.indices or len(along) + 1 != len(load.indices) or not along:
                continue
            loops = [summed[v] for v in along]
            sizes = [self._stop(o) for o in loops]
            shape = [const(n, sides.row.var.dtype) for n in (int(self.boxes[axis].extent.const), *sizes)]
            name = self.new.name(f"{load.buffer.name}_rows")
            local = Buffer(name, tuple(shape), load.dtype, "local")
            self.program.depth[local] = 1
            self.program.raw.add(local)
            copied = [self._axis(o, 0, n) for o, n in zip(loops, sizes, strict=True)]
            store = Store(local, (axis.var, *along), substitute_expr(load, places))
            copies.append(self._node(Statement(0, (), (), store), (outer,), [axis, *copied]))
            held[substitute_expr(load, places)] = Load(local, (sides.row.var, *along))
        return copies, held

    def _rest(self, statements: Sequence[Statement], sides: _Sides, tiles: _Tiles) -> list[Node]:
        """The statements where rows or columns are left that fill no tile."""
        rows, columns = tiles.rows * tiles.width, tiles.columns * tiles.width
        last_row, last_column = self._stop(sides.row), self._stop(sides.column)
        found: list[Node] = []
        for r, c in (((0, min(rows, last_row)), (columns, last_column)), ((rows, last_row), (0, last_column))):
            if r[0] >= r[1] or c[0] >= c[1]:
                continue
            here = [span for span in self._spans(sides, [r]) if span[0] < span[1]]
            if not here or here[0][1] <= c[0]:
                continue
            c = (max(c[0], here[0][0]), min(c[1], here[0][1]))
            axes = {o: self._axis(o, s[0], s[1] - s[0]) for o, s in ((sides.row, r), (sides.column, c))}
            for s in statements:
                own = replace(s, guards=(*s.guards, *self._limits(sides, {})))
                found.append(self._node(own, (), [axes.get(o, o) for o in s.loops]))
        return found


def _factors(product: Statement, sides: _Sides, summed: set[Var]) -> bool:
    """Whether one factor of a product has rows and terms, and another one columns and terms.

    Of several products one may be another's transpose, which is worked out once where both are whole.
    """
    assert product.update is not None
    found = dict.fromkeys(loads(product.update[1]))
    names = [free_vars(x) & {sides.row.var, sides.column.var, *summed} for x in found]
    factors = [n - summed for n in names if n & summed]
    return sorted(factors, key=lambda n: n == {sides.column.var}) == [{sides.row.var}, {sides.column.var}]


@dataclass(frozen=True, slots=True)
class _Line:
    """`offset + slope * row`, at least 0 and at most `most` where that counts."""

    offset: int
    slope: int
    most: int
    low: bool = False
    high: bool = False

    def at(self, row: int) -> int:
        """The value for a row."""
        return min(max(self.offset + self.slope * row, 0), self.most)

    def expr(self, row: Var) -> Expr:
        """The value for the row in a variable."""
        value = to_expr(linear(row) * self.slope + self.offset, row)
        value = Binary("max", value, const(0, row.dtype)) if self.low else value
        return Binary("min", value, const(self.most, row.dtype)) if self.high else value


def _line(values: Sequence[int], most: int, otherwise: int) -> _Line:
    """A line through values of all rows, or a number for all."""
    rows = range(len(values))
    found: list[_Line] = []
    for slope in (0, 1, -1):
        for offset in {value - slope * row for row, value in zip(rows, values, strict=True)}:
            plain = [offset + slope * row for row in rows]
            line = _Line(offset, slope, most, min(plain) < 0, max(plain) > most)
            if [line.at(row) for row in rows] == list(values):
                found.append(line)
    return min(found, key=lambda line: line.low + line.high, default=_Line(otherwise, 0, most))
