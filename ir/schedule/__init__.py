"""Schedule primitives: changes of a program's structure that keep what it computes, one family a file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.presburger.index_map import IndexMap
    from ir.schedule.schedule import Schedule
    from ir.schedule.trace import BlockRef, LoopRef, Step, Trace

_HOMES = {"ir.presburger.index_map": ("IndexMap",), "ir.schedule.schedule": ("Schedule",),
          "ir.schedule.trace": ("BlockRef", "LoopRef", "Step", "Trace")}  # fmt: skip

__all__ = ["BlockRef", "IndexMap", "LoopRef", "Schedule", "Step", "Trace"]


def __getattr__(name: str) -> Any:
    """A name, from the module that it is in: searches need the layouts of this package, and none of the primitives."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
