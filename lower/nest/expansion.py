"""Locals with an axis for each loop that was distributed over their users, and statements in terms of them."""

from __future__ import annotations

from msgspec.structs import replace

from ir.analysis.dependence import Statement
from ir.dtypes import DType
from ir.nodes import Buffer, Expr, Load, Store, const
from ir.traverse import map_expr
from lower.analysis.linear_forms import atom, to_expr
from lower.nest.nodes import ArrayStatement, Plan, mapped_scan

_SIZE = const(0, DType.INT32)  # of which dtype extents are


class Expansion:
    """What a plan expands: `buffers` has each such local with the array that it is."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.buffers: dict[Buffer, Buffer] = {}
        for buffer, loops in plan.expanded.items():
            extra = tuple(to_expr(plan.boxes[loop].extent, _SIZE) for loop in loops)
            self.buffers[buffer] = replace(buffer, shape=(*extra, *buffer.shape))

    def node(self, node: ArrayStatement) -> ArrayStatement:
        """The statement over axes, and its scan, with accesses to expanded locals completed."""
        scan = None if node.scan is None else mapped_scan(node.scan, self.expr)
        return ArrayStatement(self.statement(node.statement), node.axes, scan)

    def statement(self, statement: Statement) -> Statement:
        """The statement with accesses to expanded locals completed."""
        store, update = statement.store, statement.update
        buffer, indices = self._access(store.buffer, tuple(map(self.expr, store.indices)))
        return replace(
            statement,
            store=Store(buffer, indices, self.expr(store.value), store.span),
            guards=tuple(map(self.expr, statement.guards)),
            update=None if update is None else (update[0], self.expr(update[1])),
        )

    def expr(self, expr: Expr) -> Expr:
        """The expression with loads of expanded locals completed."""

        def one(e: Expr) -> Expr:
            if not isinstance(e, Load) or e.buffer not in self.buffers:
                return e
            return Load(*self._access(e.buffer, e.indices), e.span)

        return map_expr(expr, one)

    def _access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        loops = self._plan.expanded.get(buffer)
        if loops is None:
            return buffer, indices
        first = (to_expr(atom(loop.var) - self._plan.boxes[loop].low, loop.var) for loop in loops)
        return self.buffers[buffer], (*first, *indices)
