"""Schedule primitives: changes of a program's structure that keep what it computes, one family a file."""

from ir.presburger.index_map import IndexMap
from ir.schedule.schedule import Schedule
from ir.schedule.trace import BlockRef, LoopRef, Step, Trace

__all__ = ["BlockRef", "IndexMap", "LoopRef", "Schedule", "Step", "Trace"]
