"""The places where windows begin, in one dtype.

JAX asks of `lax.dynamic_slice` and `lax.dynamic_update_slice` that all places have the same dtype, and takes a number
that is written out as 64 bits wide in a program that has such types, beside a variable that may be 32 bits wide.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from lower.program.build import call
from lower.program.nodes import Call, Function, JaxNode, Literal, Tuple, children, path_of, with_children

_AT = {"lax.dynamic_slice": 1, "lax.dynamic_update_slice": 2}  # which argument has the places


def in_one_dtype(function: Function) -> Function:
    """A function of a program with 64-bit types, whose windows begin at places of that width."""
    return cast(Function, _node(function))


def _node(node: JaxNode) -> JaxNode:
    old = children(node)
    new = [*map(_node, old)]
    node = node if all(a is b for a, b in zip(old, new, strict=True)) else with_children(node, new)
    at = _AT.get(path_of(node.function) or "") if isinstance(node, Call) else None
    if not isinstance(node, Call) or at is None:
        return node
    places = node.args[at]
    if not isinstance(places, Tuple) or len(places.items) < 2 or all(isinstance(i, Literal) for i in places.items):
        return node
    wide = Tuple(tuple(call("jnp.int64", i) for i in places.items))
    return replace(node, args=(*node.args[:at], wide, *node.args[at + 1 :]))
