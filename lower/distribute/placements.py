"""Where buffers lie that callers did not place: with what is computed from them, or what they are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ir.nodes import Buffer, Expr, For, Load, Var
from ir.traverse import all_exprs
from lower.analysis.linear_forms import linear
from lower.distribute.grid import Cut, Grid, Placement
from lower.distribute.owner_computes import along
from lower.distribute.stages import Node, Stage, stages_of, variables_of


def completed(
    nodes: tuple[Node, ...], given: dict[Buffer, Placement], free: Iterable[Buffer], grid: Grid
) -> dict[Buffer, Placement]:
    """Placements of all buffers: those `given`, and for `free` ones such that stages find what they need."""
    steady = frozenset(variables_of(nodes))
    places = dict(given)
    left = {b for b in free if b not in given}
    changed = True
    while changed:
        changed = False
        for forward in (True, False):
            for stage in stages_of(nodes):
                for buffer, placement in _suggested(stage, places, left, grid, steady, forward=forward):
                    places[buffer] = placement
                    left.discard(buffer)
                    changed = True
            if changed:
                break
    return places | {b: (None,) * len(b.shape) for b in left}


def _suggested(
    stage: Stage,
    places: dict[Buffer, Placement],
    left: set[Buffer],
    grid: Grid,
    steady: frozenset[Var],
    *,
    forward: bool,
) -> Iterator[tuple[Buffer, Placement]]:
    """Placements of what a stage stores, from those of what it reads, or the other way round."""
    loops = [s for s in stage.loops if s.kind != "serial" or dict(s.annotations).get("axis") == "recurrence"]
    stored = [(s.buffer, s.indices) for s in stage.stores]
    read = [(e.buffer, e.indices) for e in all_exprs(stage.body) if isinstance(e, Load)]
    sources, targets = (read, stored) if forward else (stored, read)
    for target, indices in targets:
        if target not in left:
            continue
        cuts: list[Cut | None] = [None] * len(indices)
        for source, places_read in sources:
            for index, cut in zip(places_read, places.get(source, (None,) * len(places_read)), strict=True):
                if cut is None:
                    continue
                found = along(index, cut, stage, loops, steady, windows=True)
                if found is None or {a for c in cuts if c for a in c.axes} & {*cut.axes}:
                    continue
                for d, own in enumerate(indices):
                    block = _block(own, found[0], found[1].step, target.shape[d], grid.count(cut.axes), loops)
                    if block and cuts[d] is None:
                        cuts[d] = Cut(cut.axes, block)
                        break
        if any(cuts):
            yield target, tuple(cuts)
            return


def _block(index: Expr, var: Var, step: int, extent: Expr, parts: int, loops: Iterable[For]) -> int:
    """The size of blocks of a dimension that a loop goes along, if it does alone; else 0."""
    form = linear(index)
    scale = form.terms.get(var, 0)
    others = {s.var for s in loops} - {var}
    size = linear(extent)
    if scale <= 0 or others & {*form.terms} or not size.is_const:
        return 0
    block = max(scale * step, -(-size.const // parts))
    return -(-block // scale) * scale
