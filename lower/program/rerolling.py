"""Bodies that differ in numbers only, as one body in a Python loop over those numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import cast

from lower.program.build import as_expr, infix
from lower.program.nodes import (
    For,
    Function,
    JaxExpr,
    JaxNode,
    JaxStmt,
    Lambda,
    Literal,
    Name,
    children,
    names_bound,
    read_in,
    walk,
    with_children,
)

_Range = tuple[int, int]
_Body = tuple[JaxStmt, ...]


def folded(bodies: Sequence[_Body], ranges: Sequence[_Range], fresh: Callable[[str], str]) -> list[JaxStmt]:
    """The statements of all bodies, of which each is for one of the ranges: neighbours that are alike become a loop.

    Numbers that differ are written in terms of where ranges begin and end, or become variables of the loop.
    """
    result: list[JaxStmt] = []
    each = zip(bodies, ranges, strict=True)
    for _, group in groupby(each, key=lambda t: _with_numbers(t[0], lambda number: Literal(0))):
        alike = list(group)
        if len(alike) == 1:
            result += alike[0][0]
        else:
            result += _loop([b for b, _ in alike], [r for _, r in alike], fresh)
    return result


def _loop(bodies: Sequence[_Body], ranges: Sequence[_Range], fresh: Callable[[str], str]) -> list[JaxStmt]:
    """Bodies that are alike as one in a loop."""
    taken = {name for body in bodies for stmt in body for node in walk(stmt) for name in _names_in(node)}

    def unused(wish: str) -> str:
        while (name := fresh(wish)) in taken:
            pass
        return name

    start, stop = unused("start"), unused("stop")
    columns = {start: tuple(r[0] for r in ranges), stop: tuple(r[1] for r in ranges)}
    known: dict[tuple[int, ...], JaxExpr] = {}
    rows = zip(*(list(_numbers(body)) for body in bodies), strict=True)

    def written(number: Literal) -> JaxExpr:
        values = next(rows)
        if len(set(values)) == 1:
            return number
        if values not in known:
            form = next(_forms(values, columns[start], columns[stop], start, stop), None)
            if form is None:
                columns[name := unused("size")] = values
                form = Name(name)
            known[values] = form
        return known[values]

    body = _with_numbers(bodies[0], written)
    used = {name: values for name, values in columns.items() if name in read_in(body)}
    if not used:  # they are the same, or there are none
        return [stmt for body in bodies for stmt in body]
    table = [row[0] if len(used) == 1 else row for row in zip(*used.values(), strict=True)]
    return [For(tuple(used), as_expr(tuple(table)), body)]


def _names_in(node: JaxNode) -> Iterable[str]:
    match node:
        case Name(id=name):
            return (name,)
        case Lambda(params=params):
            return params
        case Function(params=params):
            return (*names_bound(node), *(p.name for p in params))
        case _:
            return ()


def _is_number(node: JaxNode) -> bool:
    return isinstance(node, Literal) and type(node.value) is int


def _numbers(body: _Body) -> Iterator[int]:
    """The integers of a body, in the order in which they are written."""
    return (cast(int, n.value) for stmt in body for n in walk(stmt) if isinstance(n, Literal) and _is_number(n))


def _with_numbers(body: _Body, one: Callable[[Literal], JaxExpr]) -> _Body:
    """A body with others in the place of its integers, in the order in which they are written."""

    def each(node: JaxNode) -> JaxNode:
        if isinstance(node, Literal):
            return one(node) if _is_number(node) else node
        old = children(node)
        return with_children(node, [each(child) for child in old]) if old else node

    return tuple(cast(JaxStmt, each(stmt)) for stmt in body)


def _forms(
    values: Sequence[int], starts: Sequence[int], stops: Sequence[int], start: str, stop: str
) -> Iterator[JaxExpr]:
    """Ways to write values in terms of the ranges' ends, short ones first."""
    lengths = [b - a for a, b in zip(starts, stops, strict=True)]
    known = ((as_expr(stop), stops), (as_expr(start), starts), (infix(stop, "-", start), lengths))
    yield from (code for code, ends in known if list(values) == list(ends))
    for code, ends in known:
        step = ends[1] - ends[0]
        if step == 0 or (values[1] - values[0]) % step:
            continue
        factor = (values[1] - values[0]) // step
        rest = values[0] - factor * ends[0]
        if all(v == factor * e + rest for v, e in zip(values, ends, strict=True)):
            yield _affine(factor, code, rest)


def _affine(factor: int, code: JaxExpr, rest: int) -> JaxExpr:
    """`factor * code + rest`."""
    if factor < 0:
        return infix(rest, "-", code if factor == -1 else infix(-factor, "*", code))
    term = code if factor == 1 else infix(factor, "*", code)
    if rest == 0:
        return term
    return infix(term, "+" if rest > 0 else "-", abs(rest))
