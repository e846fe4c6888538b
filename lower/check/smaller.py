"""The same program at sizes that can be interpreted: large constants shrink together, tiles and tails stay.

A constant c above a limit becomes q + r, where c = q * d + r for a common divisor d: multiples of d keep their
proportions, as 1024 = 4 * 256 does, and what is missing from a multiple stays missing, as in 1022 = 1024 - 2. Whatever
comes out is a program of its own, so that nothing depends on the guess but how much the small one resembles the large.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.errors import LoopsatError
from ir.nodes import Buffer, Const, Expr, PrimFunc, const
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.steps import estimated_steps
from ir.semantics.verify import verify
from ir.traverse import all_exprs, map_expr, with_buffers

_LIMITS = (32, 16, 8, 4, 2)  # constants up to there stay as they are; the first that serves is taken
_REST = 4  # how far from a multiple a constant is for a tail
_ONCE = ("loop", "kernel", "step", "launch", "dispatch", "product", "phase", "convolution_position")
_FROM = ("product_rows", "one_pass", "fresh_bytes")


class Smaller(Struct, frozen=True):
    """A small program like a large one; `part` is its share of the large one's steps."""

    func: PrimFunc
    part: float

    def prices(self, target: Target) -> Target:
        """Prices under which the small program gets the forms of the large one: what is paid once shrinks with it."""
        once = {name: getattr(target, name) * self.part for name in _ONCE}
        least = {name: self._limit(getattr(target, name)) for name in _FROM}
        return replace(target, **once, **least)

    def _limit(self, limit: float) -> float:
        """A limit in proportion; a number of something is one at least."""
        return max(1, int(limit * self.part)) if isinstance(limit, int) else limit * self.part


def smaller(func: PrimFunc, inputs: Inputs, steps: float) -> Smaller | None:
    """A program like `func` that runs at most so many statements; None if none was found that is valid."""
    large = estimated_steps(func, inputs)
    for limit, divisor in _attempts(func):
        new = _shrunk(func, limit, divisor)
        try:
            verify(new)
            given = random_inputs(new, np.random.default_rng(0))
        except LoopsatError:
            continue
        small = estimated_steps(new, given)
        if small <= steps:
            return Smaller(new, small / max(large, 1.0))
    return None


def _attempts(func: PrimFunc) -> Iterator[tuple[int, int]]:
    most = max((abs(int(c.value)) for c in _constants(func)), default=0)
    for limit in _LIMITS:
        divisor = 2
        while divisor * 2 <= most:
            yield limit, divisor
            divisor *= 2


def _constants(func: PrimFunc) -> Iterator[Const]:
    shapes = (e for b in func.buffers for s in b.shape for e in [s])
    return (e for e in (*shapes, *all_exprs(func.body)) if isinstance(e, Const) and e.dtype.is_integer)


def _shrunk(func: PrimFunc, limit: int, divisor: int) -> PrimFunc:
    def node(e: Expr) -> Expr:
        match e:
            case Const(value=value, dtype=dtype) if dtype.is_integer and abs(value) > limit:
                return const(_scaled(int(value), divisor), dtype)
            case _:
                return e

    def buffer(b: Buffer) -> Buffer:
        return replace(b, shape=tuple(map_expr(e, node) for e in b.shape))

    return with_buffers(func, buffer, node)


def _scaled(value: int, divisor: int) -> int:
    quotient = (value + divisor // 2) // divisor
    rest = value - quotient * divisor
    found = quotient + (rest if abs(rest) <= _REST else value % _REST)
    return max(1, found) if value > 0 else found  # extents and divisors
