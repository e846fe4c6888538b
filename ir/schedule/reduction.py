"""Splitting the initialisation of a reduction from its update."""

from __future__ import annotations

from ir.nodes import PrimFunc
from ir.schedule.edit import Changed


def decompose_reduction(func: PrimFunc, block: str, loop: str, *, reassociate: bool) -> Changed:
    raise NotImplementedError
