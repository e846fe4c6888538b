"""Inputs for programs: most satisfy the assumptions, some do not, some floats are infinite, NaN or -0.0."""

from __future__ import annotations

import numpy as np

from egraph_rules.check.draw import Source
from egraph_rules.check.programs.values import interesting
from egraph_rules.rule import Floats
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.inputs import Inputs, random_array, random_inputs
from ir.nodes import Assert, Assume, Const, PrimFunc
from ir.traverse import walk

_FIXED = ("I",)  # tables of indices stay as they are


def inputs_for(source: Source, func: PrimFunc, floats: Floats) -> Inputs:
    """Arguments by name."""
    seed = source.integer(0, 999)
    rng = np.random.default_rng(seed)
    claims = any(isinstance(s, (Assume, Assert)) for s in walk(func.body))
    if claims and seed % 4 != 3:
        try:
            return random_inputs(func, rng)
        except LoopsatError:
            pass  # no inputs satisfy them, or they are hard to find
    out = _unrestricted(func, rng)
    if not claims and seed % 2:
        _disturb(func, out, rng, floats)
    return out


def _unrestricted(func: PrimFunc, rng: np.random.Generator) -> Inputs:
    """Inputs that need not satisfy any assumption."""
    out: Inputs = {}
    for scalar in func.scalars:
        out[scalar.name] = bool(rng.integers(2)) if scalar.dtype is DType.BOOL else max(int(rng.integers(-2, 6)), 0)
    for buffer in func.buffers:
        shape = tuple(int(e.value) for e in buffer.shape if isinstance(e, Const))
        out[buffer.name] = random_array(shape, buffer.dtype, rng, below=4 if buffer.name in _FIXED else None)
    return out


def _disturb(func: PrimFunc, inputs: Inputs, rng: np.random.Generator, floats: Floats) -> None:
    """Put awkward values into some elements."""
    for buffer in func.buffers:
        array = inputs[buffer.name]
        if isinstance(array, np.ndarray) and buffer.name not in _FIXED and array.size:
            options = interesting(buffer.dtype, floats)
            for _ in range(1 + array.size // 3):
                place = tuple(int(rng.integers(n)) for n in array.shape)
                array[place] = options[int(rng.integers(len(options)))]
