"""Moving a stage under a loop of another, to do there just what is needed."""

from __future__ import annotations

from ir.nodes import PrimFunc
from ir.schedule.edit import Changed


def compute_at(func: PrimFunc, block: str, loop: str) -> Changed:
    raise NotImplementedError


def reverse_compute_at(func: PrimFunc, block: str, loop: str, *, reassociate: bool) -> Changed:
    raise NotImplementedError
