"""Random staged programs under random schedules: whatever is accepted computes the same, and replays."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from ir import te
from ir.errors import ScheduleError
from ir.nodes import Alloc, Block, PrimFunc
from ir.schedule import Schedule
from ir.traverse import walk

MAPS = (
    lambda *i: [i[0], *(part for index in i[1:] for part in (index // 4, index % 4))],
    lambda *i: list(i[::-1]),
    lambda *i: [(i[0] + 1) // 2, (i[0] + 1) % 2, *i[1:]],
)


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


def step(r: random.Random, sch: Schedule) -> None:
    """One random step; it may be refused."""
    blocks = [s.name for s in walk(sch.func.body) if isinstance(s, Block)]
    local = [s.buffer.name for s in walk(sch.func.body) if isinstance(s, Alloc)]
    block, loop, other = r.choice(blocks), *(r.choice(sch.get_loops()) for _ in range(2))
    output = sch.func.buffers[-1].name
    steps: list[Callable[[], object]] = [
        lambda: sch.split(loop, r.choice([[None, 2], [None, 3], [2, None]])),
        lambda: sch.fuse(*sch.get_loops(block)[:2]),
        lambda: sch.reorder(loop, other),
        lambda: sch.compute_at(block, loop),
        lambda: sch.compute_at(block, loop),
        lambda: sch.reverse_compute_at(block, loop),
        lambda: sch.compute_inline(block),
        lambda: sch.reverse_compute_inline(block),
        lambda: sch.merge_adjacent_loops(),
        lambda: sch.decompose_reduction(block, loop),
        lambda: sch.cache_read(r.choice([block, "root"]), "A"),
        lambda: sch.cache_write(r.choice([block, "root"]), output),
        lambda: sch.transform_layout("root", r.choice(local or ["A"]), r.choice(MAPS), r.choice([None, 0.0])),
        lambda: sch.sequential_buffer_access(r.choice([block, "root"]), r.choice(["A", output])),
        lambda: sch.loop_partition(loop, r.choice([None, [1], [2]])),
    ]
    if not local:
        del steps[12]  # the interface stays, so that results can be compared
    r.choice(steps)()


@given(seed=st.integers(0, 2**32))
def test_random_schedules_keep_what_staged_programs_compute(seed: int):
    r = random.Random(seed)
    func = staged(r)
    sch = Schedule(func)
    for _ in range(r.randint(1, 4)):
        if not sch.get_loops():
            break
        try:
            step(r, sch)
        except ScheduleError as error:
            assert error.code != "unproven", error
    assert assert_refines(func, sch.func, np.random.default_rng(0), runs=2) == 2
    again = Schedule(func)
    sch.trace.replay(again)
    assert again.func == sch.func
