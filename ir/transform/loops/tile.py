"""Tiling: loops strip-mined, with the loops over strips outside of those within them.

Wolf and Lam, "A Data Locality Optimizing Algorithm", 1991.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.nodes import Expr, PrimFunc
from ir.program.edit import Changed, refuse
from ir.transform.loops.permute import reorder
from ir.transform.loops.strip_mine import split


def tile(func: PrimFunc, loops: Sequence[str], sizes: Sequence[int | Expr], *, reassociate: bool) -> Changed:
    """Run a nest tile by tile: `<i>o`, `<j>o`, ... over tiles, around `<i>i`, `<j>i`, ... within one.

    Raises:
        ScheduleError: there is not one size for each loop, a size is not positive, the loops are not in one nest of
            loops alone in one another, or a dependence would be reversed.
    """
    if not loops or len(loops) != len(sizes):
        message = f"{len(loops)} loops have {len(sizes)} tile sizes"
        refuse("factors", message, func.span, help="give one size for each loop, outermost first")
    over: list[str] = []
    within: list[str] = []
    for loop, size in zip(loops, sizes, strict=True):
        changed = split(func, loop, [None, size])
        func = changed.func
        over.append(changed.outputs[0])
        within.append(changed.outputs[1])
    order = (*over, *within)
    return Changed(reorder(func, order, reassociate=reassociate).func, order)
