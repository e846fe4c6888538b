"""Bounds of staged programs: ranges of loop variables, regions that consumers request, storage that they need."""

from ir.bounds.infer import Bounds, BufferBounds, Part, Request, StageBounds, Variable, infer_bounds
from ir.bounds.ranges import Box, Piece, Range

__all__ = [
    "Bounds", "Box", "BufferBounds", "Part", "Piece", "Range", "Request", "StageBounds", "Variable", "infer_bounds",
]  # fmt: skip
