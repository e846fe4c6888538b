"""A program in the form in which it runs, as stages: nests whose parallel loops may be spread over devices."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ir.nodes import Alloc, Assert, Assume, Binary, Buffer, Evaluate, Expr, For, If, Let, Load, Seq, Stmt, Store, Var
from ir.operators import combines
from ir.traverse import reads, stmt_exprs, stores_in, walk

_AXIS = "axis"


class NotDistributed(Exception):
    """Why a program is not written for each device by itself; a partitioner distributes it then."""


class Stage(Struct, frozen=True, eq=False):
    """A loop nest, or a single statement, whose loops of kind parallel and vectorized have independent iterations."""

    body: Stmt

    @property
    def stores(self) -> list[Store]:
        """Its stores, in order."""
        return [*stores_in(self.body)]

    @property
    def loops(self) -> list[For]:
        """Its loops, outermost first."""
        return [s for s in walk(self.body) if isinstance(s, For)]

    @property
    def private(self) -> set[Buffer]:
        """Buffers of which each of its iterations has one for itself."""
        return {s.buffer for s in walk(self.body) if isinstance(s, Alloc)}

    def outer(self) -> list[For]:
        """Loops whose iterations are independent and that nothing but such loops is around."""
        found: list[For] = []
        stmt = self.body
        while True:
            if isinstance(stmt, For) and stmt.kind in ("parallel", "vectorized"):
                found.append(stmt)
                stmt = stmt.body
            elif isinstance(stmt, For) and dict(stmt.annotations).get(_AXIS) == "reduction":
                stmt = stmt.body
            elif isinstance(stmt, If) and stmt.other == Seq(()):
                stmt = stmt.then
            else:
                return found

    def update(self) -> tuple[Store, str, Expr] | None:
        """The only store, its operator and what it combines with what is there, if that is all it does."""
        stores = self.stores
        if len(stores) != 1:
            return None
        (store,) = stores
        own = Load(store.buffer, store.indices)
        match store.value:
            case Binary(op=op, lhs=lhs, rhs=rhs) if combines(op, store.buffer.dtype):
                for previous, term in ((lhs, rhs), (rhs, lhs)):
                    if previous.same(own) and not reads(store.buffer, term):
                        return store, op, term
            case _:
                pass
        return None

    def summed(self) -> list[For]:
        """Loops whose iterations update the same places, in any order."""
        update = self.update()
        if update is None or reads(update[0].buffer, *self._other_exprs(update[0])):
            return []
        loops = self.loops
        return [s for s in loops if s.kind != "serial" or dict(s.annotations).get(_AXIS) == "reduction"]

    def _other_exprs(self, store: Store) -> Iterator[Expr]:
        yield from store.indices
        for stmt in walk(self.body):
            if not isinstance(stmt, Store):
                yield from stmt_exprs(stmt)

    @property
    def recurrence(self) -> For | None:
        """The loop along which it goes on from element to element, if there is one."""
        return next((s for s in self.loops if dict(s.annotations).get(_AXIS) == "recurrence"), None)


class Steps(Struct, frozen=True, eq=False):
    """A loop that stays one around stages."""

    loop: For
    body: tuple[Node, ...]


Node = Stage | Steps


def staged(stmt: Stmt) -> tuple[list[Buffer], tuple[Node, ...]]:
    """The buffers that a program has of its own, and its stages in order.

    Raises:
        NotDistributed: it has statements that are no stages.
    """
    own: list[Buffer] = []
    return own, tuple(_nodes(stmt, own))


def _nodes(stmt: Stmt, own: list[Buffer]) -> Iterator[Node]:
    match stmt:
        case Seq(stmts=stmts):
            for s in stmts:
                yield from _nodes(s, own)
        case Alloc(buffer=buffer, body=body):
            own.append(buffer)
            yield from _nodes(body, own)
        case For(kind="serial") as loop if not loop.annotations:
            body = tuple(_nodes(loop.body, own))
            yield Steps(loop, body)
        case For() | Store():
            yield Stage(stmt)
        case If() | Let():
            if any(isinstance(s, For) and s.kind == "serial" and not s.annotations for s in walk(stmt)):
                raise NotDistributed("a branch is around a loop that stays one")
            yield Stage(stmt)
        case Assume() | Assert() | Evaluate():
            return
        case _:
            raise NotDistributed(f"it has a statement `{type(stmt).__name__}`")


def written_in(nodes: tuple[Node, ...]) -> set[Buffer]:
    """Buffers that stages store to."""
    found: set[Buffer] = set()
    for node in nodes:
        found |= written_in(node.body) if isinstance(node, Steps) else {s.buffer for s in node.stores} - node.private
    return found


def stages_of(nodes: tuple[Node, ...]) -> Iterator[Stage]:
    """All stages, in order."""
    for node in nodes:
        if isinstance(node, Stage):
            yield node
        else:
            yield from stages_of(node.body)


def variables_of(nodes: tuple[Node, ...]) -> set[Var]:
    """Variables of loops that stay around stages."""
    found: set[Var] = set()
    for node in nodes:
        if isinstance(node, Steps):
            found |= {node.loop.var} | variables_of(node.body)
    return found
