"""Rows and columns that the steps of a loop hand on, so that a pass over all of an array is made in place.

A step that stores to all of an array what it works out of its row and column k, as in closures and eliminations, reads
them at other places than it stores to. XLA makes one pass of both, which cannot be in place: each step copies the
array. Rows that the step before read from what it had just stored are arrays of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct, field

from lower.program.build import ALL, infix, without_trailing
from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    JaxExpr,
    JaxNode,
    JaxStmt,
    Name,
    Subscript,
    children,
    names_bound,
    rewritten,
    walk,
)

_ELEMENTWISE = {"where", "minimum", "maximum", "abs", "sqrt", "exp", "log", "arange", "int32", "float32", "float64"}
_Along = tuple[str, int]  # an array, and which of its dimensions the step is in


class Handed(Struct):
    """The statements of a step with names in place of rows. `first` and `then` read them before all, after each."""

    body: list[JaxStmt]
    names: list[str] = field(default_factory=list[str])
    first: list[JaxExpr] = field(default_factory=list[JaxExpr])
    then: list[JaxExpr] = field(default_factory=list[JaxExpr])


def handed_on(
    body: Sequence[JaxStmt], arrays: Collection[str], variable: str, low: JaxExpr, fresh: Callable[[str], str]
) -> Handed:
    """The body of a step with what it reads of `arrays` in row or column `variable`, first `low`, handed on."""
    found = Handed(list(body))
    steps = [s for s in body if isinstance(s, Assign)]
    if len(steps) < len(body):
        return found
    replaced: dict[Subscript, JaxExpr] = {}
    for array in arrays:
        reads = _reads(steps, array, variable)
        alongs: list[_Along] = sorted({(array, d) for dims in reads.values() if len(dims) == 1 for d in dims})
        if not alongs:
            continue
        names = {a: fresh(f"{array}_{'row' if a[1] == 0 else 'column'}") for a in alongs}
        for (_, d), name in names.items():
            found.names.append(name)
            found.first.append(Subscript(Name(array), (*(ALL,) * d, low)))
            found.then.append(Subscript(Name(array), (*(ALL,) * d, infix(variable, "+", 1))))
        for node, dims in reads.items():
            along = next(a for a in alongs if a[1] in dims)
            rest = without_trailing([item for d, item in enumerate(node.items) if d != along[1]])
            replaced[node] = Subscript(Name(names[along]), rest) if rest else Name(names[along])

    def handed(node: JaxExpr) -> JaxExpr | None:
        return replaced.get(node) if isinstance(node, Subscript) else None

    if replaced:
        found.body = [Assign(s.target, rewritten(s.value, handed)) for s in steps]
    return found


def _reads(body: Sequence[Assign], array: str, variable: str) -> dict[Subscript, tuple[int, ...]]:
    """The parts of an array that a step reads, each with the dimensions in which it is at `variable`.

    Nothing where the array is not stored to as a whole, or where it is read otherwise, or in parts after a store.
    """
    found: dict[Subscript, tuple[int, ...]] = {}
    stored = False
    for stmt in body:
        for part in (n for n in walk(stmt.value) if isinstance(n, Subscript) and n.value == Name(array)):
            dims = _dims(part.items, variable)
            if stored or not dims:
                return {}
            found[part] = dims
        calls = [n for n in walk(stmt.value) if isinstance(n, Call) and not _elementwise(n.function)]
        if any(_as_a_whole(call, array) for call in calls):
            return {}
        if array in names_bound(stmt):
            if calls or stmt.target != Name(array):
                return {}
            stored = True
    return found if stored else {}


def _dims(items: Sequence[JaxExpr], variable: str) -> tuple[int, ...]:
    """The dimensions in which an index is a variable; none where it is anything else in the others."""
    dims = tuple(d for d, item in enumerate(items) if item == Name(variable))
    return dims if len(dims) + sum(item == ALL for item in items) == len(items) else ()


def _as_a_whole(node: JaxNode, array: str) -> bool:
    """Whether a node reads an array otherwise than in parts."""
    if isinstance(node, Subscript) and node.value == Name(array):
        return any(_as_a_whole(item, array) for item in node.items)
    return node == Name(array) or any(_as_a_whole(child, array) for child in children(node))


def _elementwise(function: JaxExpr) -> bool:
    """Whether a function works on arrays element by element, so that XLA makes it a part of the pass that stores."""
    return isinstance(function, Attribute) and function.value == Name("jnp") and function.attr in _ELEMENTWISE
