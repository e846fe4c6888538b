"""Cutting a loop into consecutive ones."""

from __future__ import annotations

from collections.abc import Sequence

from ir.nodes import Expr, PrimFunc
from ir.schedule.edit import Changed


def loop_partition(func: PrimFunc, loop: str, points: Sequence[int | Expr] | None) -> Changed:
    raise NotImplementedError
