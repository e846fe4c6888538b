"""Computing a stage inside another: into its consumers, or into its producer."""

from __future__ import annotations

from ir.nodes import PrimFunc
from ir.schedule.edit import Changed


def compute_inline(func: PrimFunc, block: str) -> Changed:
    raise NotImplementedError


def reverse_compute_inline(func: PrimFunc, block: str) -> Changed:
    raise NotImplementedError
