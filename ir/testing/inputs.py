"""Hypothesis strategies: inputs of a function that satisfy its assumptions, and become simple where they may.

Values are drawn one by one, so that hypothesis can make each smaller; then the assumptions are made true of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from hypothesis import reject
from hypothesis import strategies as st
from msgspec import Struct

from ir.arith import Scalar, rounded
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.nodes import Var
from ir.program.modules import Written
from ir.semantics.inputs import Inputs, random_array, random_inputs, satisfying

_ONE_BY_ONE = 48  # elements of an array that are drawn each; of larger ones a box holds random numbers
_LARGEST = 10  # size that is drawn, mostly
_LARGER = 33  # where tiles of 8 and 16 have been passed
_SEEDS = 255  # few, since smaller ones are not simpler
_TRIES = 4
_WORK = 300_000  # of the search for inputs that satisfy assumptions, in expressions

# Hypothesis takes what was made of fewer decisions for simpler: inputs that were searched for are not.
_LONG = st.lists(st.booleans(), min_size=400, max_size=400)
_EIGHTHS = st.integers(-16, 24).map(lambda k: k / 8)  # sums of few are exact, so that no order of them matters
_FLOATS = st.one_of(_EIGHTHS, _EIGHTHS, _EIGHTHS, st.floats(-2, 3, width=16), st.floats(900, 1100, width=16))


@st.composite
def inputs(draw: st.DrawFn, func: Written, sizes: Mapping[str, Scalar] | None = None) -> Inputs:
    """Arguments by name, for all parameters of `func`, that satisfy its assumptions on them.

    Sizes and scalars that `sizes` does not give are drawn too: mostly from 0 to 10, or near the constants of
    assumptions. Arrays hold small numbers, and valid indices where they are used as indices. Where what was drawn
    cannot be changed so that the assumptions hold, random inputs are searched for, and where none are found, the
    example is rejected.

    Raises:
        LoopsatError: `sizes` names no parameter, or the arrays do not fit into memory.
    """
    seed = draw(st.integers(0, _SEEDS))
    rng = np.random.default_rng(seed)
    try:
        return satisfying(func, _Drawn(draw), rng, sizes, tight=draw(st.booleans()), tries=_TRIES, work=_WORK)
    except LoopsatError as error:
        if not isinstance(error.__cause__, InterpretError):
            raise
    draw(_LONG)
    try:
        return random_inputs(func, rng, sizes, work=_WORK)
    except LoopsatError:
        reject()


class _Drawn(Struct, frozen=True):
    """What inputs hold at first, as hypothesis draws it."""

    draw: st.DrawFn

    def scalar(self, var: Var, *, is_size: bool, numbers: Sequence[int]) -> Scalar:
        dtype = var.dtype
        if dtype is DType.BOOL:
            return self.draw(st.booleans())
        if dtype.is_float:
            return rounded(self.draw(_FLOATS), dtype)
        lowest = 0 if is_size else max(dtype.min, -3)
        choices: list[st.SearchStrategy[int]] = [st.integers(lowest, _LARGEST)]
        near = sorted({k + d for k in numbers for d in (-1, 0, 1) if lowest <= k + d <= dtype.max}, key=abs)
        if is_size:
            choices += [choices[0], st.integers(lowest, _LARGER)]
        if near:
            choices.append(st.sampled_from(near))
        return self.draw(st.one_of(choices))

    def array(self, shape: tuple[int, ...], dtype: DType, *, below: int | None) -> npt.NDArray[np.generic]:
        count = prod(shape)
        if count > _ONE_BY_ONE:
            return self._boxed(shape, dtype, below)
        element = _element(dtype, below)
        values = self.draw(st.lists(element, min_size=count, max_size=count))
        return np.array(values, dtype.numpy).reshape(shape)

    def _boxed(self, shape: tuple[int, ...], dtype: DType, below: int | None) -> npt.NDArray[np.generic]:
        """Random numbers within a box that may become small, and zeros around it."""
        box = tuple(self._range(n) for n in shape)
        rng = np.random.default_rng(self.draw(st.integers(0, _SEEDS)))
        values = np.zeros(shape, dtype.numpy)
        values[box] = random_array(values[box].shape, dtype, rng, below=below)
        return values

    def _range(self, extent: int) -> slice:
        """Part of an axis, mostly all of it."""
        stop = min(self.draw(st.integers(0, 2 * extent)), extent)
        return slice(max(self.draw(st.integers(0, 2 * stop)) - stop, 0), stop)


def _element(dtype: DType, below: int | None) -> st.SearchStrategy[Scalar]:
    if dtype is DType.BOOL:
        return st.booleans()
    if dtype.is_float:
        return _FLOATS
    low, high = (-5 if dtype.is_signed else 0, 7) if below is None else (0, min(below, dtype.max + 1) - 1)
    return st.integers(low, high)
