"""Loops rewritten to run over a buffer in its storage order."""

from __future__ import annotations

from ir.nodes import PrimFunc
from ir.schedule.edit import Changed


def sequential_buffer_access(func: PrimFunc, block: str, buffer: str, *, reassociate: bool) -> Changed:
    raise NotImplementedError
