"""Parts of one plane of an array, at a place that is known only as a step runs, as parts of that plane.

Of an array that the step stores to as well, XLA:CPU takes each part by itself, at its place. Measured: a step of a
stencil that reads five parts of one of two planes of 256 x 256 elements, and stores to the other, takes 0.4 times as
long with the plane taken once. Rows are left as they are: a pass that takes one may cost more than it saves (0.9 to 2.4
times as long). So are arrays that are read alone, of which the parts are fused (a plane takes 2 to 3 times as long).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from msgspec.structs import replace

from lower.program.build import assign
from lower.program.nodes import Assign, JaxExpr, JaxStmt, Literal, Name, Slice, Subscript, bound_in, rewritten, walk
from lower.program.registers import Shapes, is_number

_PART = 2  # a part is no smaller than a plane over this number


def sharing_planes(
    body: Sequence[JaxStmt], numbers: frozenset[str], shapes: Shapes, fresh: Callable[[str], str]
) -> tuple[JaxStmt, ...]:
    """The body of a step with names for the planes, of arrays that it stores to, of which a statement reads parts.

    `numbers` are names of single values, `shapes` of arrays.
    """
    result: list[JaxStmt] = []
    stored = bound_in(body)
    for stmt in body:
        if isinstance(stmt, Assign):
            parts: dict[tuple[str, tuple[JaxExpr, ...]], dict[Subscript, tuple[JaxExpr, ...]]] = {}
            for node in walk(stmt.value):
                if isinstance(node, Subscript) and isinstance(node.value, Name) and node.value.id in stored:
                    plane, rest = _plane(node, numbers, shapes)
                    if plane:
                        parts.setdefault((node.value.id, plane), {})[node] = rest
            for (array, plane), found in parts.items():
                if len(found) > 1:
                    name = fresh(f"{array}_plane")
                    result.append(assign(name, Subscript(Name(array), plane)))
                    taken = {node: Subscript(Name(name), rest) for node, rest in found.items()}
                    stmt = replace(stmt, value=rewritten(stmt.value, _in_place_of(taken)))
        result.append(stmt)
    return tuple(result)


def _in_place_of(taken: Mapping[Subscript, JaxExpr]) -> Callable[[JaxExpr], JaxExpr | None]:
    return lambda node: taken.get(node) if isinstance(node, Subscript) else None


def _plane(node: Subscript, numbers: frozenset[str], shapes: Shapes) -> tuple[tuple[JaxExpr, ...], tuple[JaxExpr, ...]]:
    """The single places with which a subscript of an array begins, and the part that it takes of the plane there."""
    assert isinstance(node.value, Name)
    count = next((k for k, item in enumerate(node.items) if not is_number(item, numbers, shapes)), len(node.items))
    plane, rest = node.items[:count], node.items[count:]
    sizes = shapes.get(node.value.id, ())[count:]
    moving = any(not isinstance(place, Literal) for place in plane)
    extents = [_extent(item, size) for item, size in zip(rest, sizes, strict=False)]
    known = [size.value for size in sizes if isinstance(size, Literal) and isinstance(size.value, int)]
    if not (rest and moving and len(known) == len(sizes) >= max(len(rest), 2)) or None in extents:
        return (), ()
    part = prod(e for e in extents if e is not None) * prod(known[len(rest) :])
    return (plane, rest) if part * _PART >= prod(known) else ((), ())


def _extent(item: JaxExpr, size: JaxExpr) -> int | None:
    """How many positions of a dimension a subscript takes; None if it is no plain slice."""
    match item, size:
        case Slice(low=Literal(value=int(low)) | (None as low), stop=stop, step=None), Literal(value=int(count)):
            match stop:
                case None:
                    return count - (low or 0)
                case Literal(value=int(end)):
                    return end - (low or 0)
                case _:
                    return None
        case _:
            return None
