"""Copies of buffers: read and write caches."""

from __future__ import annotations

from ir.nodes import PrimFunc
from ir.schedule.edit import Changed


def cache_read(func: PrimFunc, block: str, buffer: str, scope: str) -> Changed:
    raise NotImplementedError


def cache_write(func: PrimFunc, block: str, buffer: str, scope: str) -> Changed:
    raise NotImplementedError
