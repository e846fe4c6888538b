"""Elements that a program never reads hold NaN: array code that reads them nevertheless must not show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest import mock

import numpy as np

from ir.nodes import Load, PrimFunc
from ir.semantics.interpret import interpret
from ir.semantics.machine import Evaluation, Machine, Value

Reads = dict[str, set[tuple[int, ...]]]


@contextmanager
def recorded() -> Iterator[Reads]:
    """The places that programs read meanwhile, by the names of buffers."""
    reads: Reads = {}
    load_of = Machine._load

    def load(machine: Machine, load: Load) -> Evaluation:
        read, place = load_of(machine, load), machine._place(load.indices)

        def noted() -> Value:
            reads.setdefault(load.buffer.name, set()).add(tuple(place()))
            return read()

        return noted

    with mock.patch.object(Machine, "_load", load):
        yield reads


def with_nan_where_unread(func: PrimFunc, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inputs with NaN in all elements of float parameters that the program, its assumptions included, never reads."""
    with recorded() as reads:
        interpret(func, sanitize=True, **{name: np.copy(value) for name, value in inputs.items()})
    found = {name: np.copy(value) for name, value in inputs.items()}
    for buffer in func.buffers:
        if buffer.dtype.is_float:
            unread = np.ones(found[buffer.name].shape, bool)
            for place in reads.get(buffer.name, ()):
                unread[place] = False
            found[buffer.name][unread] = np.nan
    return found
