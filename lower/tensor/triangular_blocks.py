"""Contractions of which only a part of the positions counts, in blocks that leave most of the rest out.

Of a triangular product about half is wanted: the rest is masked afterwards, or is times the zeros of a masked factor.
An axis of the result is cut into a few blocks with constant bounds, and each is worked out from what isl says that its
positions need of the other axes. The blocks make one array before anything is stored, so that a statement that reads
what it stores to sees the old contents, as it does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from math import prod

from msgspec import Struct

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.nodes import Expr, Var
from ir.presburger import sets as presburger
from ir.traverse import free_vars
from lower.analysis.deciding import cheapest
from lower.array.access import indexed
from lower.array.finiteness import positions
from lower.array.values import Value
from lower.array.views import Axis
from lower.program.build import Arg, as_expr, between, call, infix
from lower.program.nodes import Clause, Comprehension, JaxExpr
from lower.tensor.terms import Term

_MAX_BLOCKS = 6  # of each more, less is left to be saved, and XLA compiles a product more
_ALIGNED = 8  # bounds are multiples of this, as far as a vector goes

Bound = int | str  # a number, or the name of one
Range = tuple[int, int]  # first position and the one after the last, counted from the beginning of an axis


class Blocks(Struct, frozen=True):
    """A result made of `blocks` along `axis`: for each, the range of every axis of the contraction."""

    axis: Axis
    blocks: tuple[Mapping[Var, Range], ...]


def needed(args: Sequence[Term], leaves: Sequence[Expr], outside: Sequence[Expr]) -> list[Expr] | None:
    """Conditions that hold where a contraction of `args` counts: the rest is masked `outside`, or zero by a factor."""
    found = [*outside, *(c for a in args for c in _nonzero(a, leaves))]
    return [c for c in found if len(free_vars(c)) > 1] or None


def _nonzero(term: Term, leaves: Sequence[Expr]) -> list[Expr]:
    """Conditions without which a term is zero."""
    match term:
        case Term(op="Where", args=(Term(op="Leaf", number=number), inner)):
            return [*leaves[number : number + 1], *_nonzero(inner, leaves)]
        case Term(op="Flag", args=(Term(op="Leaf", number=number),)):
            return list(leaves[number : number + 1])
        case Term(op="Mul", args=(a, b)):
            return [*_nonzero(a, leaves), *_nonzero(b, leaves)]
        case Term(op="Neg" | "Times" | "Div", args=(a, *_)):
            return _nonzero(a, leaves)
        case _:
            return []


def in_blocks(
    values: Sequence[Value], order: Sequence[Axis], over: Collection[Var], conditions: Sequence[Expr], target: Target
) -> Blocks | None:
    """The cheapest way to cut a contraction of values `over` some of the axes, or None where it is cheapest whole."""
    present = {a.var for v in values for a in v.axes}
    axes = {a.var: a for a in order if a.var in present}
    constant = all(a.is_fixed for a in axes.values())
    if not constant or len({v.name for v in axes}) < len(present):
        return None
    tied = free_vars(*conditions)
    whole = operations.contraction(target, prod(a.extent.const for a in axes.values()))
    found: list[tuple[float, Blocks]] = []
    for axis in axes.values():
        if axis.var in over or axis.var not in tied:
            continue
        for count in range(2, min(_MAX_BLOCKS, axis.extent.const // target.product_rows) + 1):
            cut = presburger.within_budget(lambda a=axis, n=count: _cut(a, n, axes, conditions), None)
            if cut is not None:
                found.append((_price(cut, values, over, axes, target), cut))
    best = cheapest("blocks of a product", {-1: whole, **{k: price for k, (price, _) in enumerate(found)}})
    return None if best < 0 else found[best][1]


def _cut(axis: Axis, count: int, axes: Mapping[Var, Axis], conditions: Sequence[Expr]) -> Blocks | None:
    """The axis in so many blocks, or in fewer where it is too short for the bounds to differ; None for a single one."""
    region = positions(list(axes.values()), {})
    for c in conditions:
        region = region.intersect(presburger.condition(c).may)
    size, low = axis.extent.const, axis.low.const
    ends = sorted({*(round(size * k / count / _ALIGNED) * _ALIGNED for k in range(count)), size})
    if len(ends) < 3:
        return None
    blocks: list[Mapping[Var, Range]] = []
    for start, stop in pairwise(ends):
        here = presburger.symbol(axis.var.name)
        inside = region.intersect(here.ge_set(presburger.number(low + start)))
        inside = inside.intersect(here.lt_set(presburger.number(low + stop)))
        blocks.append({a.var: (start, stop) if a is axis else _range(inside, a) for a in axes.values()})
    return Blocks(axis, tuple(blocks))


def _range(region: presburger.isl.Set, axis: Axis) -> Range:
    """The range of an axis in a region within its box, rounded; one position where there is none."""
    found = presburger.extremes(region, axis.var.name)
    if found is None:
        return 0, 1
    first, last = (bound - axis.low.const for bound in found)
    return first // _ALIGNED * _ALIGNED, min((last // _ALIGNED + 1) * _ALIGNED, axis.extent.const)


def _price(
    cut: Blocks, values: Sequence[Value], over: Collection[Var], axes: Mapping[Var, Axis], target: Target
) -> float:
    """What the blocks cost: their products, the copies of their operands, and that of the results into one array."""
    result = prod(a.extent.const for v, a in axes.items() if v not in over)
    sizes = [{v: stop - start for v, (start, stop) in block.items()} for block in cut.blocks]
    blocks = ((s.values(), sum(prod(s[a.var] for a in v.axes) for v in values)) for s in sizes)
    return operations.contraction_in_blocks(target, result, blocks)


class _Table(Struct):
    """Bounds of blocks: those that are the same for all are numbers, others names that a loop gives."""

    count: int
    fresh: Callable[[str], str]
    columns: dict[tuple[int, ...], str]

    def bound(self, numbers: Sequence[int], wish: str) -> Bound:
        column = tuple(numbers)
        if len(set(column)) == 1:
            return column[0]
        if column not in self.columns:
            self.columns[column] = self.fresh(wish)
        return self.columns[column]

    def loop(self) -> Clause:
        """What comes behind a list's element: `for start, stop in (...)`."""
        alone = len(self.columns) == 1
        rows = tuple(row[0] if alone else row for row in zip(*self.columns, strict=True))
        return Clause(tuple(self.columns.values()), as_expr(rows))


def written(
    cut: Blocks,
    values: Sequence[Value],
    contract: Callable[[Sequence[Value]], Value],
    fresh: Callable[[str], str],
) -> Value:
    """Code of a contraction in blocks. `values` are names or views of them; `contract` writes that of one block."""
    table = _Table(len(cut.blocks), fresh, {})
    axes = {a.var: a for v in values for a in v.axes}
    bounds: dict[Var, tuple[Bound, Bound]] = {}
    for var in (cut.axis.var, *(v for v in axes if v != cut.axis.var)):
        starts, stops = zip(*(block[var] for block in cut.blocks), strict=True)
        bounds[var] = table.bound(starts, f"{var.name}_start"), table.bound(stops, f"{var.name}_stop")

    def part(value: Value) -> Value:
        return Value(indexed(value.code, [_mark(*bounds[a.var], a) for a in value.axes]), value.axes)

    block = contract([part(v) for v in values])
    widths = tuple(_width(*bounds[a.var], a) if a.var != cut.axis.var else (0, 0) for a in block.axes)
    code = block.code
    if any(w != (0, 0) for w in widths):
        code = call("jnp.pad", code, widths)
    along = [a.var for a in block.axes].index(cut.axis.var)
    blocks = Comprehension(code, (table.loop(),), is_list=True)
    return Value(call("jnp.concatenate", blocks, **({"axis": along} if along else {})), block.axes)


def _mark(start: Bound, stop: Bound, axis: Axis) -> JaxExpr:
    return between(None if start == 0 else start, None if stop == axis.extent.const else stop)


def _width(start: Bound, stop: Bound, axis: Axis) -> tuple[Arg, Arg]:
    """By how much a block is padded on both sides."""
    size = axis.extent.const
    return start, size - stop if isinstance(stop, int) else infix(size, "-", stop)
