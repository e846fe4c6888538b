"""Strongly connected components of statements (Tarjan 1972), in an order that respects what orders them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from ir.analysis.dependence import Statement


def components(statements: Sequence[Statement], edges: Iterable[tuple[int, int]]) -> list[list[Statement]]:
    """Groups of statements in dependence cycles; edges are pairs of positions. Else program order."""
    positions = [s.position for s in statements]
    after: dict[int, set[int]] = {p: set() for p in positions}
    for source, sink in edges:
        if source in after and sink in after and source != sink:
            after[source].add(sink)
    component = _tarjan(positions, after)
    members: dict[int, list[Statement]] = {}
    for s in statements:
        members.setdefault(component[s.position], []).append(s)
    waits: dict[int, set[int]] = {c: set() for c in members}
    for p, sinks in after.items():
        for q in sinks:
            if component[p] != component[q]:
                waits[component[q]].add(component[p])
    ordered: list[list[Statement]] = []
    done: set[int] = set()
    remaining = sorted(members, key=lambda c: members[c][0].position)
    while remaining:
        ready = next(c for c in remaining if waits[c] <= done)
        remaining.remove(ready)
        done.add(ready)
        ordered.append(members[ready])
    return ordered


class Ordering(Protocol):
    """An edge between the positions of two statements."""

    @property
    def source(self) -> int: ...

    @property
    def sink(self) -> int: ...


_Edge = TypeVar("_Edge", bound=Ordering)


def edges_within(groups: Sequence[Sequence[Statement]], edges: Iterable[_Edge]) -> list[list[_Edge]]:
    """For each group the edges between its statements."""
    home = {s.position: k for k, group in enumerate(groups) for s in group}
    found: list[list[_Edge]] = [[] for _ in groups]
    for edge in edges:
        k = home.get(edge.source)
        if k is not None and home.get(edge.sink) == k:
            found[k].append(edge)
    return found


def _tarjan(nodes: Sequence[int], after: Mapping[int, set[int]]) -> dict[int, int]:
    """Component number of each node, with an explicit stack."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    component: dict[int, int] = {}
    stack: list[int] = []
    for root in nodes:
        if root in index:
            continue
        work: list[tuple[int, Iterator[int]]] = [(root, iter(sorted(after[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    while True:
                        member = stack.pop()
                        component[member] = node
                        if member == node:
                            break
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                work.append((following, iter(sorted(after[following]))))
            elif following not in component:
                low[node] = min(low[node], index[following])
    return component
