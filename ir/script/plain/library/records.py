"""Named tuples and data classes: tuples whose items have names. Classes are looked at, never run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.dtypes import DType
from ir.errors import suggest
from ir.nodes import Expr
from ir.script.plain.arrays import Elementwise, Selection, View
from ir.script.plain.frames import Maybe, Named, Value, shown
from ir.script.plain.library.arguments import ABSENT, arguments
from ir.script.plain.promotion import Weak
from ir.script.plain.tuples import Record, kind_of, of_kind, stands_for_list

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator


def is_kind(value: object) -> bool:
    """Whether an object is the class of a named tuple, or a data class whose items say all of it.

    One that is not frozen is taken as if it were: nothing stores to its items.
    """
    if not isinstance(value, type):
        return False
    if issubclass(value, tuple):
        return hasattr(value, "_fields") and value.__new__.__code__.co_filename.startswith("<")
    known = vars(value).get("__dataclass_params__")
    plain = all(f.init and not f.kw_only for f in _fields(value))
    return known is not None and plain and not hasattr(value, "__post_init__")


def _fields(kind: type[Any]) -> list[Any]:
    """The fields of a data class, as `dataclasses.fields` has them, which is slow to import."""
    found: Mapping[str, Any] = getattr(kind, "__dataclass_fields__", {})
    return [f for f in found.values() if f._field_type.name == "_FIELD"]


def _is_absent(default: object) -> bool:
    return type(default).__name__ == "_MISSING_TYPE"


def is_instance(read: Evaluator, node: ast.Call) -> bool:
    """What `isinstance` says of a value.

    Raises:
        ParseError: it is not known of one of the program.
    """
    value, classes = (read.value(v) for v in arguments(read, node, "isinstance", 2, 2))
    named = classes if isinstance(classes, tuple) else (classes,)
    kinds = tuple(k.value for k in named if isinstance(k, Named) and isinstance(k.value, type))
    found = _kind_of(read, value)
    if found is None or len(kinds) < len(named):
        message = f"whether `{shown(node)}` is not known when the program is made"
        raise read.error("unsupported", message, node, "write one function for each kind")
    return issubclass(found, kinds)


def _kind_of(read: Evaluator, value: Value) -> type | None:
    """The class of a value in Python; None if it is not known."""
    match value:
        case bool() | int() | float():
            return type(value)
        case Record():
            return value.kind
        case Weak(expr=expr):
            return float if expr.dtype.is_float else int
        case Expr():
            return None if value.dtype is DType.BOOL else value.dtype.numpy.type
        case View() if value.shape:
            return list if stands_for_list(read, value) else np.ndarray
        case Selection():
            return np.ndarray
        case Elementwise() if value.shape:
            return np.ndarray
        case Named(value=known) if not isinstance(known, Maybe):
            return type(known)
        case _:
            return None


def is_replace(value: object) -> bool:
    """Whether an object is `dataclasses.replace`."""
    return (getattr(value, "__module__", ""), getattr(value, "__name__", "")) == ("dataclasses", "replace")


def fields_of(kind: type[Any]) -> Mapping[str, object]:
    """The names of the items of a record, with what they are by default, or `ABSENT`."""
    if issubclass(kind, tuple):
        return {name: kind._field_defaults.get(name, ABSENT) for name in kind._fields}  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    return {f.name: ABSENT if _is_absent(f.default) else f.default for f in _fields(kind)}


def record_of(read: Evaluator, value: Any, node: ast.AST) -> tuple[Value, ...]:
    """A record of outside, as it is when the program is made."""
    return of_kind(type(value), [read.known(getattr(value, name), node) for name in fields_of(type(value))])


def made(read: Evaluator, kind: type[Any], node: ast.Call) -> tuple[Value, ...]:
    """What a call of the class of a record makes."""
    fields, name = fields_of(kind), kind.__name__
    args = [*read.items(node.args, read.value)]
    named = {k.arg: read.value(k.value) for k in node.keywords if k.arg}
    found: dict[str, Value] = dict(zip(fields, args, strict=False))
    absent = [f for f, default in fields.items() if default is ABSENT and f not in {**found, **named}]
    if (
        len(args) > len(fields)
        or absent
        or found.keys() & named
        or named.keys() - fields
        or len(named) < len(node.keywords)
    ):
        hint = f"its items are {', '.join(fields)}" + (f"; {' and '.join(absent)} must be given" if absent else "")
        raise read.error("arguments", f"{name} takes {len(fields)} items", node, hint)
    given = {**found, **named}
    return of_kind(kind, [given[f] if f in given else read.known(fields[f], node) for f in fields])


def item_named(read: Evaluator, owner: Value, node: ast.Attribute) -> Value | None:
    """The item of a record that an attribute names, or what its property is; None for values that are no records."""
    kind = kind_of(read, owner)
    if kind is None:
        return None
    names = [*fields_of(kind)]
    if node.attr in names:
        place = names.index(node.attr)
        return (
            owner[place]
            if isinstance(owner, tuple)
            else read.row(owner, place, node)
            if isinstance(owner, View)
            else None
        )
    member = getattr(kind, node.attr, None)
    if isinstance(member, property) and isinstance(member.fget, FunctionType):
        return read.caller.call(member.fget, [owner], {}, ast.copy_location(ast.Call(node, [], []), node), alone=False)
    near = suggest(node.attr, names) or f"its items are {', '.join(names)}"
    raise read.error("unsupported", f"{kind.__name__} has no item `{node.attr}`", node, near)


def called(read: Evaluator, owner: Value, node: ast.Call, name: str, alone: bool) -> Value | None:
    """A method of a record; None for values that are no records."""
    kind = kind_of(read, owner)
    member = getattr(kind, name, None) if kind is not None else None
    if kind is None or name in fields_of(kind):
        return None
    named = {k.arg: read.value(k.value) for k in node.keywords if k.arg}
    if name == "_replace" and issubclass(kind, tuple) and not node.args:
        return replaced(read, owner, named, node)
    if isinstance(member, FunctionType) and member.__code__.co_filename[:1] != "<":
        args = [owner, *read.items(node.args, read.value)]
        return read.caller.call(member, args, named, node, alone=alone)
    hint = f"its items are {', '.join(fields_of(kind))}"
    raise read.error("unsupported", f"`{shown(node)}` is not supported", node, hint)


def replaced(read: Evaluator, owner: Value, named: Mapping[str, Value], node: ast.Call) -> tuple[Value, ...]:
    """A record with other items in place of some."""
    kind = kind_of(read, owner)
    if kind is None or named.keys() - fields_of(kind) or len(named) < len(node.keywords):
        raise read.error("arguments", f"`{shown(node)}` names no items of a record", node)
    items = owner if isinstance(owner, tuple) else ()
    if isinstance(owner, View):
        items = tuple(read.row(owner, k, node) for k in range(len(fields_of(kind))))
    return of_kind(kind, [named.get(name, item) for name, item in zip(fields_of(kind), items, strict=True)])
