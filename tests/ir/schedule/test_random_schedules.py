"""Random staged programs under random schedules: whatever is accepted computes the same, and replays."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from ir import te
from ir.nodes import PrimFunc
from ir.schedule import Schedule
from ir.testing.programs import programs
from ir.testing.schedules import schedules
from profiles import few


def staged(r: random.Random) -> PrimFunc:
    """Up to three stages of two axes: elementwise, shifted, mirrored, transposed, stencils, pairs and sums."""
    height, width = r.choice([(4, 4), (5, 6), (3, 7), (1, 5)])
    tensors = [te.placeholder((height, width), name="A")]
    for k in range(r.randint(1, 3)):
        source = r.choice(tensors[-2:])
        h, w = (int(n.value) for n in source.shape)  # pyright: ignore
        tensors.append(stage(r, source, h, w, f"S{k}"))
    outputs = [tensors[-1]] if r.random() < 0.8 else [*{id(t): t for t in (tensors[-1], tensors[1])}.values()]
    return te.create_prim_func([tensors[0], *outputs])


def stage(r: random.Random, source: te.Tensor, h: int, w: int, name: str) -> te.Tensor:
    axis = te.reduce_axis((0, w), name=f"r_{name}")
    forms: list[tuple[tuple[int, int], Callable]] = [
        ((h, w), lambda i, j: source[i, j] * 2.0 + 1.0),
        ((h, w), lambda i, j: source[h - 1 - i, j]),
        ((w, h), lambda i, j: source[j, i] - 1.0),
        ((h, 2), lambda i, j: te.sum(source[i, axis], axis=[axis])),
    ]
    if h > 1:
        forms.append(((h - 1, w), lambda i, j: source[i + 1, j] + 1.0))
    if w > 2:
        forms.append(((h, w - 2), lambda i, j: source[i, j] + source[i, j + 1] + source[i, j + 2]))
        forms.append(((h, w // 2), lambda i, j: source[i, 2 * j] + source[i, 2 * j + 1]))
    shape, form = r.choice(forms)
    made = te.compute(shape, form, name=name)
    assert isinstance(made, te.Tensor)
    return made


@given(st.integers(0, 2**32).map(lambda seed: staged(random.Random(seed))), st.data())
def test_random_schedules_keep_what_staged_programs_compute(func: PrimFunc, data: st.DataObject):
    schedule = data.draw(schedules(func))
    assert assert_refines(func, schedule.func, np.random.default_rng(0), runs=2) == 2
    again = Schedule(func)
    schedule.trace.replay(again)
    assert again.func == schedule.func


@few(25)
@given(programs(), st.data())
def test_random_schedules_keep_what_programs_compute(func: PrimFunc, data: st.DataObject):
    schedule = data.draw(schedules(func))
    assert_refines(func, schedule.func, np.random.default_rng(0), runs=1)
