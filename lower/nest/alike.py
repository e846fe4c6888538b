"""Which programs in normal form lowering makes alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from ir.analysis.dependence import Loop, Statement
from ir.nodes import MIRRORED, Binary, Const, Expr, Var
from ir.operators import ORDER_OPS
from lower.analysis.linear_forms import Bound, interval, linear
from lower.nest.normalize import Program


def key_of(program: Program) -> Hashable:
    """A program in normal form, where loops run from and to what guards bound their variables by: programs that only
    say in other ways when their statements run have one form."""
    numbers: dict[Loop, int] = {}
    statements: list[Hashable] = []
    for statement in program.statements:
        around = tuple(numbers.setdefault(loop, len(numbers)) for loop in statement.loops)
        ends = _ends(statement)
        told = {guard for guard in statement.guards if _bounds_fixed(guard, ends)}
        guards = tuple(guard for guard in statement.guards if guard not in told)
        trips = tuple((s.var, s.kind, *ends.get(s.var, (s.start, s.extent))) for s in statement.loops)
        statements.append((around, trips, guards, statement.store, statement.tile, statement.speculated))
    return tuple(statements), tuple(program.depth.items()), program.func.params


def _ends(statement: Statement) -> dict[Var, tuple[int, int]]:
    """The first and the last value of each variable around a statement that has a number for both, by its guards."""
    ends: dict[Var, tuple[int, int]] = {}
    for loop in statement.loops:
        if isinstance(loop.start, Const) and isinstance(loop.extent, Const):
            ends[loop.var] = int(loop.start.value), int(loop.start.value + loop.extent.value) - 1

    def known(var: Var) -> tuple[Bound, Bound]:
        return ends.get(var, (None, None))

    for op, var, other in (side for guard in statement.guards for side in _sides(guard) if side[1] in ends):
        first, last = ends[var]
        low, high = interval(linear(other, known), known)
        if op in ("ge", "gt") and low is not None:
            first = max(first, low + (op == "gt"))
        if op in ("le", "lt") and high is not None:
            last = min(last, high - (op == "lt"))
        ends[var] = first, last
    return ends


def _sides(guard: Expr) -> Iterator[tuple[str, Var, Expr]]:
    """An inequality, as one of each side that is a variable."""
    if isinstance(guard, Binary) and guard.op in ORDER_OPS:
        if isinstance(guard.lhs, Var):
            yield guard.op, guard.lhs, guard.rhs
        if isinstance(guard.rhs, Var):
            yield MIRRORED[guard.op], guard.rhs, guard.lhs


def _bounds_fixed(guard: Expr, ends: Mapping[Var, object]) -> bool:
    """Whether a guard says no more than from or to which number a variable with known ends runs."""
    return any(var in ends and isinstance(other, Const) for _, var, other in _sides(guard))
