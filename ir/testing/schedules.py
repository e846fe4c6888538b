"""Hypothesis strategies: schedules of a function, step by step, as far as the steps are accepted."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from ir.dtypes import DType
from ir.errors import ScheduleError
from ir.nodes import Alloc, Block, Expr, PrimFunc, Var
from ir.schedule import Schedule
from ir.traverse import walk

Step = Callable[[], object]
IndexMap = Callable[..., list[Expr] | list[Var]]

_FACTORS: tuple[list[int | None], ...] = ([None, 2], [None, 3], [2, None])


def _tiled(*i: Expr) -> list[Expr]:
    return [i[0], *(part for index in i[1:] for part in (index // 4, index % 4))]


def _reversed(*i: Expr) -> list[Expr]:
    return list(i[::-1])


def _shifted(*i: Expr) -> list[Expr]:
    return [(i[0] + 1) // 2, (i[0] + 1) % 2, *i[1:]]


@st.composite
def schedules(draw: st.DrawFn, func: PrimFunc, max_steps: int = 4) -> Schedule:
    """Schedules of `func` after up to so many steps; a step that is refused changes nothing.

    All primitives on loops, blocks and local buffers occur; the interface stays, so that results can be compared with
    those of `func`. `schedule.trace` has the steps.
    """
    schedule = Schedule(func)
    for _ in range(draw(st.integers(0, max_steps))):
        steps = _steps(draw, schedule)
        if not steps:
            break
        step = draw(st.sampled_from(steps))
        try:
            step()
        except ScheduleError as error:
            if error.code == "unproven":  # a primitive took a step that it could not show right: a defect of its own
                raise
    return schedule


def _steps(draw: st.DrawFn, schedule: Schedule) -> list[Step]:
    """Steps that may apply to what there is now."""
    body = schedule.func.body
    blocks = [s.name for s in walk(body) if isinstance(s, Block)]
    local = [s.buffer for s in walk(body) if isinstance(s, Alloc)]
    buffers = [b.name for b in schedule.func.buffers]
    loops = schedule.get_loops()
    steps: list[Step] = []
    if loops:
        loop, other = draw(st.sampled_from(loops)), draw(st.sampled_from(loops))
        steps += [
            lambda: schedule.split(loop, draw(st.sampled_from(_FACTORS))),
            lambda: schedule.reorder(loop, other),
            lambda: schedule.loop_partition(loop, draw(st.sampled_from((None, [1], [2])))),
            lambda: schedule.peel(loop, *draw(st.sampled_from(((1, 0), (0, 1), (1, 1))))),
            lambda: schedule.distribute(loop),
            lambda: schedule.version(loop, Var(other.name, DType.INT32) < 2),
            lambda: schedule.tile([loop, other], draw(st.sampled_from(([2, 2], [3, 1])))),
            lambda: schedule.skew(loop, other, draw(st.sampled_from((1, 2, -1)))),
            schedule.merge_adjacent_loops,
        ]
    if len(loops) > 1:
        steps.append(lambda: schedule.fuse(loops[0], loops[1]))
        steps.append(lambda: schedule.reorder(schedule.skew(loops[0], loops[1]), loops[0]))
    if local and loops:
        own, around = draw(st.sampled_from(local)), draw(st.sampled_from(loops))
        steps += [lambda: schedule.privatize(own, around), lambda: schedule.expand(own, around)]
    if blocks:
        block = draw(st.sampled_from(blocks))
        steps += [lambda: schedule.compute_inline(block), lambda: schedule.reverse_compute_inline(block)]
        if loops:
            at = draw(st.sampled_from(loops))
            steps += [
                lambda: schedule.compute_at(block, at),
                lambda: schedule.reverse_compute_at(block, at),
                lambda: schedule.decompose_reduction(block, at),
            ]
    if blocks and buffers:
        somewhere, buffer = draw(st.sampled_from([*blocks, "root"])), draw(st.sampled_from(buffers))
        steps += [
            lambda: schedule.cache_read(somewhere, buffer),
            lambda: schedule.cache_write(somewhere, buffer),
            lambda: schedule.sequential_buffer_access(somewhere, buffer),
        ]
    if local:
        changed = draw(st.sampled_from(local))
        index_map = draw(st.sampled_from((_tiled, _reversed, _shifted)))
        pad = draw(st.sampled_from((None, False if changed.dtype is DType.BOOL else 0)))
        steps.append(lambda: schedule.transform_layout("root", changed.name, index_map, pad))
    return steps
