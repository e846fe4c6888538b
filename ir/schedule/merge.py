"""Making one loop of loops that follow each other."""

from __future__ import annotations

from collections.abc import Sequence

from ir.nodes import PrimFunc
from ir.schedule.edit import Changed


def merge_adjacent_loops(func: PrimFunc, loops: Sequence[str], *, reassociate: bool) -> Changed:
    raise NotImplementedError
