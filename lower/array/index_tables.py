"""Stores whose places no data decide, but that are no slices either: tables of who stores where, made while tracing.

`V[i * (i + 1) // 2 + j] = A[i, j]` for all `j <= i` takes an index for each pair as it runs, also for those that store
nothing. Turned around, each element takes what the iteration that stores to it computes: one gather by constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from msgspec import Struct

from ir.dtypes import DType
from ir.nodes import Binary, Cast, Const, Expr, Select, Unary, Var
from ir.presburger.points import NoValueError, evaluated, has_values
from ir.traverse import free_vars, walk_expr
from lower.analysis.linear_forms import Linear
from lower.array.values import INFIX
from lower.array.views import Axis
from lower.program.build import Arg, as_expr, call, every, infix
from lower.program.nodes import JaxExpr, Lambda, Name, Tuple
from lower.program.nodes import Unary as Signed

FEWEST = 1 << 10  # iterations that are worth a table
MOST = 1 << 23  # iterations that are looked at
MOST_ELEMENTS = 1 << 20  # of a table
SPARSE = 2  # elements for each one that is stored to, where storing to these alone is less than a pass over all

STORES = '''
def stores(ranges, store):
    """The positions, in loops over the ranges, of the iterations that store, and the indices to which they do."""
    points = np.meshgrid(*(np.arange(low, low + count) for low, count in ranges), indexing="ij")
    kept, *places = (np.broadcast_to(x, points[0].shape).reshape(-1) for x in store(*points))
    at = np.flatnonzero(kept)
    return tuple(x.astype(np.int32) for x in (at, *(p[at] for p in places)))
'''

WRITERS = '''
def writers(shape, ranges, store):
    """Of each element of an array the position, in loops over the ranges, of the iteration that stores to it, or -1."""
    at, *places = stores(ranges, store)
    found = np.full(shape, -1, np.int32)
    found[tuple(places)] = at
    return found
'''


class IndexTable(Struct, frozen=True):
    """Who stores to an array: the iterations of some `axes`, in their order, of which `kept` store to `size` elements.

    `single` says that no two store to one, `whole` that all elements are stored to.
    """

    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    kept: int
    single: bool
    store: JaxExpr

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def positions(self) -> int:
        return prod(a.extent.const for a in self.axes)

    @property
    def whole(self) -> bool:
        return self.single and self.kept == self.size

    @property
    def inverted(self) -> bool:
        """Whether the elements look for who stores to them."""
        return self.single and self.size <= SPARSE * self.kept

    @property
    def pays(self) -> bool:
        """Whether a table spares most of the work of storing element by element."""
        return self.inverted or 2 * self.kept <= self.positions

    @property
    def ranges(self) -> Arg:
        """First value and count of each axis."""
        return [(a.low.const, a.extent.const) for a in self.axes]

    def along(self, axes: Sequence[Axis], positions: JaxExpr) -> JaxExpr | None:
        """Positions in the row of values that some of the axes have, made of those among all iterations; None if these
        are no part of it that a quotient and a remainder give."""
        inner = 1
        for k in range(len(self.axes), 0, -1):
            if [*self.axes[k - len(axes) : k]] == [*axes]:
                count = prod(a.extent.const for a in axes)
                found = positions if inner == 1 else infix(positions, "//", inner)
                return found if k == len(axes) else infix(found, "%", count)
            inner *= self.axes[k - 1].extent.const
        return None


def index_table(
    shape: Sequence[Linear],
    indices: Sequence[Expr],
    guards: Sequence[Expr],
    axes: Sequence[Axis],
    named: Callable[[Var], str],
) -> IndexTable | None:
    """Who stores to an array by these indices where guards hold; None where that depends on more than the axes, or
    there are too few or too many of them."""
    exprs = (*indices, *guards)
    fixed = all(n.is_const for n in (*shape, *(a.low for a in axes), *(a.extent for a in axes)))
    if not fixed or not axes or free_vars(*exprs) - {a.var for a in axes} or not all(map(_written, exprs)):
        return None
    sizes, counts = [n.const for n in shape], [a.extent.const for a in axes]
    if not (FEWEST <= prod(counts) <= MOST and prod(sizes) <= MOST_ELEMENTS):
        return None
    lines = np.ix_(*(np.arange(a.low.const, a.low.const + a.extent.const) for a in axes))
    places = _places(sizes, indices, guards, {a.var: x for a, x in zip(axes, lines, strict=True)}, counts)
    if places is None:
        return None
    single = len(np.unique(places)) == len(places)
    names = {a.var: named(a.var) for a in axes}
    kept = every([_code(g, names) for g in guards]) if guards else as_expr(True)
    store = Lambda(tuple(names.values()), Tuple((kept, *(_code(i, names) for i in indices))))
    return IndexTable(tuple(axes), tuple(sizes), len(places), single, store)


def _places(
    sizes: Sequence[int],
    indices: Sequence[Expr],
    guards: Sequence[Expr],
    points: Mapping[Var, np.ndarray],
    counts: Sequence[int],
) -> np.ndarray | None:
    """The elements, numbered, to which iterations store; None if some may fault, or leave the array."""
    try:
        kept, place = np.ones(counts, bool), np.zeros(counts, np.int64)
        for guard in guards:
            truth, bad = evaluated(guard, points)
            if bad.any():
                return None
            kept &= truth != 0
        for index, size in zip(indices, sizes, strict=True):
            at, bad = evaluated(index, points)
            if bad.any() or (((at < 0) | (at >= size)) & kept).any():
                return None
            place = place * size + at
    except NoValueError:
        return None
    return place[kept]


def _written(expr: Expr) -> bool:
    """Whether NumPy computes an expression of signed integers as it is written."""
    return has_values(expr) and all(_plain(e) for e in walk_expr(expr))


def _plain(e: Expr) -> bool:
    match e:
        case Binary(op=op):
            known = op in INFIX or op in ("min", "max")
            return known and (e.lhs.dtype.is_signed or e.lhs.dtype is DType.BOOL)
        case Unary(op=op):
            return op in ("neg", "bitnot", "not") and (e.dtype.is_signed or op == "not")
        case Cast(dtype=dtype, operand=a):  # NumPy has 64 bits for all of them
            return dtype.is_signed and a.dtype.is_signed and dtype.bits >= a.dtype.bits
        case Const() | Var() | Select():
            return e.dtype.is_signed or e.dtype is DType.BOOL
        case _:
            return False


def _code(expr: Expr, names: Mapping[Var, str]) -> JaxExpr:
    def code(e: Expr) -> JaxExpr:
        return _code(e, names)

    match expr:
        case Const(value=value):
            return as_expr(bool(value) if expr.dtype is DType.BOOL else int(value))
        case Var():
            return Name(names[expr])
        case Unary(op=op, operand=a):
            return Signed("-" if op == "neg" else "~", code(a))
        case Binary(op="min" | "max" as op, lhs=a, rhs=b):
            return call("np.minimum" if op == "min" else "np.maximum", code(a), code(b))
        case Binary(op=op, lhs=a, rhs=b):
            return infix(code(a), INFIX[op], code(b))
        case Cast(operand=a):
            return code(a)
        case Select(cond=c, then=a, other=b):
            return call("np.where", code(c), code(a), code(b))
        case _:
            raise AssertionError(expr)
