"""What the baselines share: the parallel loop of numba, a plain one where numba is not installed."""

from __future__ import annotations

from typing import Any

Array = Any

try:
    from numba import prange  # pyright: ignore[reportMissingImports]
except ImportError:
    prange = range

__all__ = ["Array", "prange"]
