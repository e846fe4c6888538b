"""Ids of contexts that mean the same in every search."""

from __future__ import annotations

IMPOSSIBLE = -1  # facts that contradict each other: nothing runs there
NO_PERMISSION = 0
