"""Subscript tests without isl: what they say of small nests is what comes out when all instances are compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from hypothesis import event, given
from hypothesis import strategies as st

from ir.analysis.dependence import Loop
from ir.dtypes import DType
from ir.nodes import Expr, Var, const
from ir.presburger.distances import Levels, carried

Nest = Sequence[range]
Index = tuple[int | None, int]  # the place of a loop, or none, and the number that is added to its variable

_NESTS = st.lists(st.builds(range, st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=3)
_INDICES = st.lists(st.tuples(st.none() | st.integers(0, 2), st.integers(-1, 2)), min_size=1, max_size=2)


def meetings(
    first: Nest, second: Nest, a: Sequence[Index], b: Sequence[Index], shared: int
) -> set[tuple[bool, int | None]]:
    """What `carried` tells, from all pairs of instances."""

    def place(indices: Sequence[Index], at: tuple[int, ...]) -> list[int]:
        return [c if k is None else at[k] + c for k, c in indices]

    found: set[tuple[bool, int | None]] = set()
    for x, y in product(product(*first), product(*second)):
        if place(a, x) == place(b, y):
            level = next((k for k in range(shared) if x[k] != y[k]), None)
            found.add((level is None or x[level] < y[level], level))
    return found


def told(first: Nest, second: Nest, a: Sequence[Index], b: Sequence[Index], shared: int) -> Levels | None:
    variables = [[Var(f"{n}{k}", DType.INT32) for k in range(3)] for n in ("s", "t")]
    variables[1][:shared] = variables[0][:shared]

    def index(names: list[Var], k: int | None, c: int) -> Expr:
        return const(c, DType.INT32) if k is None else names[k] + c if c else names[k]

    def nest(names: list[Var], ranges: Nest) -> list[Loop]:
        numbers = [(const(r.start, DType.INT32), const(len(r), DType.INT32)) for r in ranges]
        return [Loop(v, *bounds) for v, bounds in zip(names, numbers, strict=False)]

    x, y = variables
    return carried(nest(x, first), nest(y, second), [index(x, *i) for i in a], [index(y, *i) for i in b], shared)


@given(_NESTS, _NESTS, _INDICES, _INDICES, st.integers(1, 3))
def test_levels_are_those_of_all_pairs_of_instances(
    first: list[range], second: list[range], a: list[Index], b: list[Index], shared: int
) -> None:
    shared = min(shared, len(first), len(second))
    second[:shared] = first[:shared]
    rank = min(len(a), len(b))
    a, b = ([(None if k is None else k % len(nest), c) for k, c in i[:rank]] for nest, i in ((first, a), (second, b)))
    found = told(first, second, a, b, shared)
    event("told" if found is not None else "not told")
    assert found is None or (set(found) == meetings(first, second, a, b, shared) and len(set(found)) == len(found))


def test_what_it_tells() -> None:
    nest = [range(4), range(1, 9)]
    assert told(nest, nest, [(0, 1), (1, 0)], [(0, 0), (1, 0)], 2) == [(True, 0)]
    assert told(nest, nest, [(1, -3)], [(1, 0)], 2) == [(True, 0), (False, 0), (False, 1)]
    assert told(nest, nest, [(1, 0)], [(None, 0)], 2) == []
    assert told(nest, nest, [(0, 0), (1, 0)], [(1, 0), (0, 0)], 2) is None
    assert told(nest, nest, [(0, 0), (0, 0)], [(0, 0), (0, 1)], 2) is None
