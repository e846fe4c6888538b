"""What becomes of a function: JAX source, and what its callers must know. Loads nothing of what makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import Buffer, Expr, PrimFunc, Var
from lower.analysis.freedoms import HIGHEST, Precision

if TYPE_CHECKING:
    from lower.nest.normalize import Check


class Emitted(Struct, frozen=True):
    """A function as source, and what its callers must know. Written buffers come first in its result, then checks."""

    func: PrimFunc
    name: str
    source: str
    names: Mapping[str, str]
    optional: tuple[Buffer, ...]
    static: frozenset[Var]
    wide: bool
    checks: tuple[Check, ...]
    report: tuple[str, ...] = field(default=())
    floats: Floats = DEFAULT_FLOATS
    donated: tuple[str, ...] = ()  # names in the source of the parameters that callers give away
    precision: Precision = HIGHEST
    assumptions: tuple[str, ...] = ()  # what it rests on, in words
    extents: frozenset[Expr] = frozenset()  # of array axes: where one is empty, sizes need source of their own
    forward_only: tuple[str, ...] = ()  # loops, in words, of which there is no derivative backward
    without: frozenset[str] = frozenset()  # names and families of forms that it was not to take
