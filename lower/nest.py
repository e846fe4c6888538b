"""What a plan consists of: array statements and loops that stay loops, with bounds of all loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ir.analysis.dependence import Loop, Statement, UpdateOp
from ir.nodes import Binary, Buffer, Expr, Load, Var
from lower.linear import Linear, linear, to_expr


@dataclass(frozen=True, slots=True)
class Box:
    """Static bounds of a loop variable: `low <= var < low + extent`; `exact` when they are the loop's own."""

    low: Linear
    extent: Linear
    exact: bool


def own_bounds(loop: Loop) -> tuple[Expr, Expr]:
    """A loop's own bounds as conditions."""
    stop = to_expr(linear(Binary("add", loop.start, loop.extent)), loop.var)
    return Binary("ge", loop.var, loop.start), Binary("lt", loop.var, stop)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """`X[i] = X[i-1] op term`, or `factor * X[i-1] + term`, along a loop; `previous` is the load of `X[i-1]`."""

    loop: Loop
    op: UpdateOp
    term: Expr
    factor: Expr | None
    previous: Load


@dataclass(frozen=True, slots=True)
class Pick:
    """The iteration of nested loops, counted from 0, at which a value is largest or smallest among those for which
    conditions hold: the first such, or the `last`."""

    loops: tuple[Loop, ...]
    op: UpdateOp
    last: bool
    value: Expr
    conditions: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """Ranges `start <= var < stop` of a loop, for each iteration of the loops of `deciding` variables: an update
    combines `term` over them, times what `factors` are there. `by_row`: terms depend on those variables too."""

    loop: Loop
    start: Expr
    stop: Expr
    term: Expr
    factors: tuple[Expr, ...]
    deciding: frozenset[Var]
    by_row: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ArrayStatement:
    """A statement over array axes (outermost first); with none it is a scalar statement.

    `scan` says how it continues along one of its axes, at which position of it the best value is, or what ranges of it
    are combined.
    """

    statement: Statement
    axes: tuple[Loop, ...]
    scan: Recurrence | Pick | Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SequentialLoop:
    """A loop that stays one, and why."""

    loop: Loop
    body: tuple[Node, ...]
    reason: str


Node = ArrayStatement | SequentialLoop


@dataclass(slots=True)
class Plan:
    """The schedule of a program, with what emission must know about its loops."""

    nodes: tuple[Node, ...]
    boxes: Mapping[Loop, Box]
    static: frozenset[Var]
    expanded: dict[Buffer, tuple[Loop, ...]] = field(default_factory=dict[Buffer, tuple[Loop, ...]])
