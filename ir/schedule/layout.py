"""Layout transformations of buffers, with what their padding holds."""

from __future__ import annotations

from ir.nodes import Module
from ir.schedule.index_map import IndexMap


def transform_layout(
    module: Module, func: str, block: str, buffer: str, index_map: IndexMap, pad_value: object
) -> Module:
    raise NotImplementedError
