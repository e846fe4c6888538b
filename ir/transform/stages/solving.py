"""One store whose loops can be told from the element that it, or a load beside it, accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import islpy as isl
from msgspec import Struct

from ir.analysis.legality import Event, domain_of, events
from ir.nodes import Block, Expr, Load, PrimFunc, Seq, Stmt, Store, Var, const
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.program.calls import of_dtype
from ir.program.edit import ROOT, Changed, path_to, refuse, replace_at
from ir.traverse import all_exprs, has_undef, stores_in

_OPERATIONS = 4_000_000  # all questions of one step; those of hand-written programs need some thousand


def bounded(func: PrimFunc, block: str, move: Callable[[PrimFunc, str], Changed]) -> Changed:
    """What a move of a block into another stage makes of a function, within a budget; refuses the whole body."""
    if block == ROOT:
        refuse("whole-function", "the whole body cannot be inlined", func.span, help="name a block")
    done = pb.within_budget(lambda: move(func, block), None, _OPERATIONS)
    if done is None:
        refuse("budget", f"moving `{block}` into another stage takes too many steps", help="simplify its indices")
    return done


def single_store(block: Stmt, name: str) -> tuple[Stmt, ...]:
    """The path from a block to its only store; refuses blocks that do more, or reduce."""
    if isinstance(block, Block) and (block.init is not None or any(a.kind == "reduce" for a in block.axes)):
        message = f"`{name}` is a reduction"
        refuse("reduction", message, block.span, help="only a block that stores each element once can be inlined")
    stores = [*stores_in(block)]
    if len(stores) != 1:
        message = f"`{name}` must be a single store, but it has {len(stores)}"
        refuse("not-a-single-store", message, block.span, help="name a block around one store")
    store = stores[0]
    own = next((e for e in all_exprs(block) if isinstance(e, Load) and e.buffer == store.buffer), None)
    if own is not None:
        message = f"`{name}` reduces into {store.buffer.name}, which it also reads"
        refuse("reduction", message, own.span, help="only a block that stores each element once can be inlined")
    path = path_to(block, lambda s: s is store)
    assert path is not None
    return path


def refuse_undef(store: Store) -> None:
    """Refuse to forward a value that may be another one at each use."""
    if has_undef(store.value):
        message = f"the value stored to {store.buffer.name} is undef, which may be another value at each use"
        refuse("undef", message, store.span, help="remove the stores of undef first")


def event_of(path: Sequence[Stmt]) -> Event:
    """The place of the store at the end of a path; names bound on the way are replaced by what they are."""
    alone = path[-1]
    for parent, child in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        alone = alone if isinstance(parent, Seq) else replace_at((parent, child), alone)
    return next(e for e in events(alone) if e.store is not None)


class Inverse(Struct, frozen=True, eq=False):
    """Loop variables of a place as functions of the coordinates of the element that it accesses.

    `domain` is its exact iteration domain, `image` the elements, both over what stands around. Coordinates are the
    parameters `coordinates`. A variable whose value one index is, is solved by writing that index.
    """

    event: Event
    indices: tuple[Expr, ...]
    domain: isl.Set
    graph: isl.Set  # params: loop variables of the place, and coordinates
    coordinates: tuple[Var, ...]
    inner: tuple[Var, ...]

    @staticmethod
    def of(event: Event, indices: tuple[Expr, ...], depth: int, known: isl.Set) -> Inverse | None:
        """Solve for the loops below `depth`; None where indices or domain are not exactly affine."""
        found = domain_of(event, {})
        coordinates = tuple(Var(f"at{k}'", i.dtype) for k, i in enumerate(indices))
        if not found.exact:
            return None
        graph = domain = found.must.intersect(known)
        for index, coordinate in zip(indices, coordinates, strict=True):
            value = pb.affine(index)
            if value is None:
                return None
            graph = graph.intersect(value.eq_set(pb.symbol(coordinate.name)))
        return Inverse(event, indices, domain, graph, coordinates, event.names[depth:])

    @property
    def image(self) -> isl.Set:
        """Coordinates of elements accessed, as a params set over them and what stands around."""
        return pb.forget(self.graph, [v.name for v in self.inner])

    def solved(self, var: Var) -> isl.PwAff | None:
        """A variable in terms of the coordinates; None where they do not determine it."""
        here = pb.point([var])
        assert here is not None
        line = pb.forget(here.intersect_params(self.graph), [v.name for v in self.inner]).coalesce()
        low, high = (readback.coordinate(line, 0, upper=upper) for upper in (False, True))
        if low is None or high is None or not line.params().is_subset(low.eq_set(high)):
            return None
        return low.coalesce()

    def written(self, var: Var, at: Sequence[Expr], scope: Mapping[str, Expr]) -> Expr | None:
        """A variable, where the element has the coordinates `at`."""
        for index, value in zip(self.indices, at, strict=True):
            if index.same(var):
                return of_dtype(value, var.dtype)
        function = self.solved(var)
        if function is None:
            return None
        if function.domain().intersect(self.image).is_empty():
            return const(0, var.dtype)  # of no iteration
        names = {**scope, **{v.name: e for v, e in zip(self.coordinates, at, strict=True)}}
        order = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, len(self.coordinates))  # in which terms are written
        for k, coordinate in enumerate(self.coordinates):
            order = order.set_dim_name(isl.dim_type.param, k, coordinate.name)
        return of_dtype(
            readback.expression(function.align_params(order), names, self.image.align_params(order)), var.dtype
        )

    def determines(self, var: Var) -> bool:
        """Whether `written` is found."""
        return any(i.same(var) for i in self.indices) or self.solved(var) is not None
