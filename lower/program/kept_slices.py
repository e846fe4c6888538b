"""Slices at computed places that are stored to under masks, as arrays of their own.

XLA (JAX 0.10.2) reads a slice of a slice as one of the array beyond, and forgets that a place which lies outside of the
first one is brought inside: `x[2:4][3]` gives `x[5]`. A store that goes nowhere, as its mask does not hold, reads so
what it puts back. A barrier keeps the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lower.program.build import call, dotted
from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    For,
    Function,
    JaxExpr,
    JaxNode,
    JaxStmt,
    Name,
    Subscript,
    With,
    path_of,
    walk,
)

_SLICES = ("lax.dynamic_slice", "lax.dynamic_slice_in_dim")
_UPDATES = ("lax.dynamic_update_slice", "lax.dynamic_update_slice_in_dim")


def with_kept_slices(body: Sequence[JaxStmt]) -> tuple[JaxStmt, ...]:
    """Statements of which slices that get a name, and are stored to where that may be outside, have a barrier."""
    return tuple(_kept(body, {name for stmt in body for name in _stored(stmt)}))


def _kept(body: Sequence[JaxStmt], stored: set[str]) -> Iterator[JaxStmt]:
    for stmt in body:
        match stmt:
            case Function(body=inner) | For(body=inner) | With(body=inner):
                yield replace(stmt, body=tuple(_kept(inner, stored)))
            case Assign(target=Name(id=name), value=value) if name in stored and _is_slice(value):
                yield replace(stmt, value=call("lax.optimization_barrier", value))
            case _:
                yield stmt


def _stored(stmt: JaxNode) -> Iterator[str]:
    """Names of arrays that are stored to under masks, or at places that may be none."""
    for node in walk(stmt):
        match node:
            case Call(
                function=Attribute(value=Subscript(value=Attribute(value=Name(id=name), attr="at"))) as function,
                args=args,
                keywords=keywords,
            ) if function.attr != "set" or keywords or any(map(_is_choice, args)):
                yield name
            case Call(function=function, args=(Name(id=name), value, *_)) if path_of(function) in _UPDATES:
                if _is_choice(value):
                    yield name
            case _:
                pass


def _is_choice(value: JaxExpr) -> bool:
    return any(isinstance(n, Call) and n.function == dotted("jnp.where") for n in walk(value))


def _is_slice(value: JaxExpr) -> bool:
    """Whether an expression is a slice at a computed place, maybe with its axes in another order."""
    match value:
        case Call(function=function, args=(array, *_)) if path_of(function) == "jnp.transpose":
            return _is_slice(array)
        case Attribute(value=array, attr="T"):
            return _is_slice(array)
        case Call(function=function):
            return path_of(function) in _SLICES
        case _:
            return False
