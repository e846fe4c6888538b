"""Inputs for programs: most satisfy the assumptions, some do not, some floats are infinite, NaN or -0.0."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from egraph_rules.check.programs.values import interesting
from ir.arith import Scalar
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.floats import Floats
from ir.nodes import Assert, Assume, Const, PrimFunc
from ir.semantics.inputs import Inputs, random_array, random_inputs
from ir.testing.draw import Source
from ir.testing.refinement import execute
from ir.traverse import walk

_FIXED = ("I",)  # tables of indices stay as they are
_TRIES = 4  # inputs that are looked at for such on which the program promises something
_VARIANTS = 4
_WORK = 300_000  # of the search for inputs that satisfy assumptions: the programs are small


def inputs_for(source: Source, func: PrimFunc, floats: Floats) -> Inputs:
    """Arguments by name, most of them such that the program neither faults nor assumes what is false."""
    seed = source.integer(0, 999)
    rng = np.random.default_rng(seed)
    claims = any(isinstance(s, (Assume, Assert)) for s in walk(func.body))
    out = _some(func, rng, floats, awkward=not claims and seed % 2 == 1)
    if seed % 4 == 3:
        return out
    for _ in range(_TRIES):
        if execute(func, out).fault is None:
            return out
        out = _some(func, rng, floats, awkward=False)
    met = _satisfying(func, seed % _VARIANTS) if claims else None
    return out if met is None else met


@lru_cache(maxsize=1024)
def _satisfying(func: PrimFunc, variant: int) -> Inputs | None:
    """Inputs that satisfy a program's assumptions; None where there are none, or they are hard to find.

    Kept, since it takes long to find none.
    """
    if variant > 0 and _satisfying(func, 0) is None:
        return None
    try:
        return random_inputs(func, np.random.default_rng(variant), work=_WORK)
    except LoopsatError:
        return None


def _some(func: PrimFunc, rng: np.random.Generator, floats: Floats, *, awkward: bool) -> Inputs:
    out = _unrestricted(func, rng)
    if awkward:
        _disturb(func, out, rng, floats)
    return out


def _unrestricted(func: PrimFunc, rng: np.random.Generator) -> Inputs:
    """Inputs that need not satisfy any assumption."""
    out: Inputs = {}
    for scalar in func.scalars:
        out[scalar.name] = _scalar(scalar.dtype, rng)
    for buffer in func.buffers:
        shape = tuple(int(e.value) for e in buffer.shape if isinstance(e, Const))
        out[buffer.name] = random_array(shape, buffer.dtype, rng, below=4 if buffer.name in _FIXED else None)
    return out


def _scalar(dtype: DType, rng: np.random.Generator) -> Scalar:
    """A truth, or a number that is seldom negative: it is mostly used as an extent."""
    if dtype is DType.BOOL:
        return bool(rng.integers(2))
    number = int(rng.integers(-2, 6))
    return number if number >= 0 or rng.integers(3) == 0 else 0


def _disturb(func: PrimFunc, inputs: Inputs, rng: np.random.Generator, floats: Floats) -> None:
    """Put awkward values into some elements."""
    for buffer in func.buffers:
        array = inputs[buffer.name]
        if isinstance(array, np.ndarray) and buffer.name not in _FIXED and array.size:
            options = interesting(buffer.dtype, floats)
            for _ in range(1 + array.size // 3):
                place = tuple(int(rng.integers(n)) for n in array.shape)
                array[place] = options[int(rng.integers(len(options)))]
