"""Buffers that one program of a device has to itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ir.nodes import Alloc
from lower.distribute.steps import Carry, Combine, Exchange, Repeat, Run, Step


def with_locals(steps: Sequence[Step], params: set[str]) -> Iterator[Step]:
    """Steps whose programs have to themselves what nothing else accesses."""
    users: dict[str, int] = {}
    for name in _accessed(steps):
        users[name] = users.get(name, 0) + 1
    for step in steps:
        if isinstance(step, Run):
            alone = [b for b in step.func.buffers if b.name not in params and users[b.name] == 1]
            body = step.func.body
            for buffer in alone:
                body = Alloc(buffer, body)
            names = {b.name for b in alone}
            left = tuple(p for p in step.func.params if p.name not in names)
            yield Run(replace(step.func, params=left, body=body))
        else:
            yield step


def _accessed(steps: Iterable[Step]) -> Iterator[str]:
    """Names of the buffers that steps access, one for each of them that does."""
    for step in steps:
        match step:
            case Run(func=func):
                yield from (b.name for b in func.buffers)
            case Exchange(source=source, target=target):
                yield from (source.name, target.name)
            case Combine(target=target, partial=partial):
                yield from (target.name, partial.name)
            case Carry(values=values, factors=factors):
                yield from (b.name for b in (values, factors) if b is not None)
            case Repeat(body=body, carried=carried):
                yield from {*_accessed(body), *(b.name for b in carried)}
