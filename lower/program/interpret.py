"""Array programs as NumPy runs them: what each node means, slowly and plainly. The oracle of writers and passes.

Indices have the meaning that they have in JAX: what reads outside of an array finds its border, what stores there is
dropped, and negative positions count from the end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import numpy as np
from msgspec import Struct

from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    Comprehension,
    Conditional,
    Do,
    For,
    Function,
    Infix,
    JaxExpr,
    JaxStmt,
    Lambda,
    List,
    Literal,
    Name,
    Parameter,
    Return,
    Slice,
    Starred,
    Subscript,
    Tuple,
    Unary,
    With,
    path_of,
)
from lower.program.primitives import meaning

_Scope = dict[str, Any]
_INFIX: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "is": operator.is_,
    "is not": operator.is_not, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip


class NoMeaningError(Exception):
    """A program calls what has no meaning in NumPy here, as kernels of Pallas."""


def interpret(functions: Sequence[Function], entry: str, /, **arguments: Any) -> Any:
    """The result of a function of a program.

    Raises:
        NoMeaningError: it calls what has none here.
    """
    scope: _Scope = {}
    for function in functions:
        if not any(isinstance(d, Attribute) and d.attr == "defjvp" for d in function.decorators):  # rules, not calls
            scope[function.name] = _function(function, scope)
    with np.errstate(all="ignore"):
        return scope[entry](**arguments)


def _function(function: Function, around: _Scope) -> Callable[..., Any]:
    names = [p.name for p in function.params]
    defaults = {p.name: _value(p.default, around) for p in function.params if p.default is not None}

    def call(*args: Any, **named: Any) -> Any:
        scope = {**around, **defaults, **dict(zip(names, args, strict=False)), **named}
        return _run(function.body, scope)

    return call


def _run(body: Sequence[JaxStmt], scope: _Scope) -> Any:
    """Run statements; the value of the one that returns, which comes last."""
    for stmt in body:
        match stmt:
            case Assign(target=target, value=value):
                _assign(target, _value(value, scope), scope)
            case Return(value=value):
                return _value(value, scope)
            case Do(value=value):
                _value(value, scope)
            case For(names=names, values=values, body=inner):
                for row in _value(values, scope):
                    scope.update(zip(names, row if len(names) > 1 else (row,), strict=True))
                    _run(inner, scope)
            case With(body=inner):  # of the types that JAX has
                found = _run(inner, scope)
                if found is not None:
                    return found
            case Function(name=name):
                scope[name] = _function(stmt, scope)
            case other:
                assert_never(other)
    return None


def _assign(target: JaxExpr, value: Any, scope: _Scope) -> None:
    match target:
        case Name(id=name):
            scope[name] = value
        case Tuple(items=(*items, Starred(value=rest))):
            for item, part in zip(items, value, strict=False):
                _assign(item, part, scope)
            _assign(rest, value[len(items) :], scope)
        case Tuple(items=items):
            for item, part in zip(items, value, strict=True):
                _assign(item, part, scope)
        case _:
            raise NoMeaningError("a store to a reference")


def _value(node: JaxExpr, scope: _Scope) -> Any:
    match node:
        case Name(id=name):
            return scope[name] if name in scope else _known(name)
        case Literal(value=value):
            return value
        case Attribute():
            return _attribute(node, scope)
        case Call(function=function, args=args, keywords=keywords):
            given = _items(args, scope)
            return _value(function, scope)(*given, **{k: _value(v, scope) for k, v in keywords})
        case Subscript(value=value, items=items):
            return _part(_value(value, scope), tuple(_item(i, scope) for i in items))
        case Tuple(items=items):
            return tuple(_items(items, scope))
        case List(items=items):
            return _items(items, scope)
        case Unary(sign=sign, operand=operand):
            a = _value(operand, scope)
            return {"-": operator.neg, "+": operator.pos, "~": np.invert, "not": operator.not_}[sign](a)
        case Infix(sign="and", left=left, right=right):
            return _value(left, scope) and _value(right, scope)
        case Infix(sign="or", left=left, right=right):
            return _value(left, scope) or _value(right, scope)
        case Infix(sign=sign, left=left, right=right):
            return _INFIX[sign](_value(left, scope), _value(right, scope))
        case Conditional(test=test, then=then, other=other):
            return _value(then if _value(test, scope) else other, scope)
        case Lambda(params=params, body=body):
            return _function(Function("", tuple(map(Parameter, params)), (Return(body),)), scope)
        case Comprehension(element=element, clauses=clauses):
            return _each(element, clauses, scope)
        case Slice() | Starred():
            raise NoMeaningError("a range or a star by itself")
        case other:
            assert_never(other)


def _items(items: Sequence[JaxExpr], scope: _Scope) -> list[Any]:
    found: list[Any] = []
    for item in items:
        found += _value(item.value, scope) if isinstance(item, Starred) else [_value(item, scope)]
    return found


def _each(element: JaxExpr, clauses: Sequence[Any], scope: _Scope) -> list[Any]:
    if not clauses:
        return [_value(element, scope)]
    first, *rest = clauses
    found: list[Any] = []
    for row in _value(first.values, scope):
        names = zip(first.names, row if len(first.names) > 1 else (row,), strict=True)
        found += _each(element, rest, {**scope, **dict(names)})
    return found


def _known(path: str) -> Any:
    """What a name stands for that the program does not bind."""
    found = meaning(path)
    if found is None:
        raise NoMeaningError(path)
    return found


def _attribute(node: Attribute, scope: _Scope) -> Any:
    path = path_of(node)
    if path is not None and path.partition(".")[0] not in scope:
        return _known(path)
    value = _value(node.value, scope)
    if node.attr == "at":
        return _Places(np.asarray(value))
    if isinstance(value, _Place):
        return getattr(value, node.attr)
    return getattr(np.asarray(value), node.attr)


# Indices -------------------------------------------------------------------------------------------------------------


def _item(node: JaxExpr, scope: _Scope) -> Any:
    if isinstance(node, Slice):
        ends = (None if e is None else _value(e, scope) for e in (node.low, node.stop, node.step))
        return slice(*(None if e is None else int(e) for e in ends))
    return _value(node, scope)


def _part(value: Any, items: tuple[Any, ...]) -> Any:
    if isinstance(value, _Places):
        return _Place(value.array, items)
    if isinstance(value, tuple | list | dict):
        (item,) = items
        return value[item]
    array = np.asarray(value)
    return array[_inside(array.shape, items, wrap=True)]


def _inside(shape: Sequence[int], items: tuple[Any, ...], wrap: bool) -> tuple[Any, ...]:
    """An index with positions outside of the array moved to its border."""

    def one(item: Any, size: int) -> Any:
        if isinstance(item, slice):
            return item
        item = np.asarray(item)
        item = np.where(item < 0, item + size, item) if wrap else item
        return np.clip(item, 0, size - 1)

    return _by_dimension(shape, items, one)


def _by_dimension(shape: Sequence[int], items: tuple[Any, ...], one: Callable[[Any, int], Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    d = 0
    for item in items:
        if item is None:
            found.append(None)
        else:
            found.append(one(item, shape[d]))
            d += 1
    return tuple(found)


class _Places(Struct, frozen=True):
    """`array.at`."""

    array: Any


class _Place(Struct, frozen=True):
    """`array.at[items]`."""

    array: Any
    items: tuple[Any, ...]

    def get(self, mode: str, wrap_negative_indices: bool) -> Any:
        return self.array[_inside(self.array.shape, self.items, wrap_negative_indices)]

    def _updated(self, values: Any, combine: np.ufunc | None, wrap: bool) -> Any:
        """The array with elements combined, or set, one after the other; those outside are dropped."""
        shape = self.array.shape
        numbers = np.full([n + 1 for n in shape], -1)  # of elements; one beyond the end of each dimension is none
        numbers[tuple(slice(n) for n in shape)] = np.arange(self.array.size).reshape(shape)

        def one(item: Any, size: int) -> Any:
            if isinstance(item, slice):
                return slice(*item.indices(size))
            item = np.asarray(item)
            item = np.where((item < 0) & wrap, item + size, item)
            return np.where((item < 0) | (item >= size), size, item)

        rest = tuple(slice(n) for n in shape[sum(i is not None for i in self.items) :])
        places = numbers[(*_by_dimension(shape, self.items, one), *rest)]
        flat = np.array(self.array).reshape(-1)
        here = places >= 0
        given = np.broadcast_to(values, places.shape)[here].astype(flat.dtype)
        if combine is None:
            flat[places[here]] = given
        else:
            combine.at(flat, places[here], given)
        return flat.reshape(shape)

    def set(self, values: Any, mode: str = "drop", wrap_negative_indices: bool = True) -> Any:
        return self._updated(values, None, wrap_negative_indices)

    def add(self, values: Any, mode: str = "drop", wrap_negative_indices: bool = True) -> Any:
        return self._updated(values, np.add, wrap_negative_indices)

    def multiply(self, values: Any, mode: str = "drop", wrap_negative_indices: bool = True) -> Any:
        return self._updated(values, np.multiply, wrap_negative_indices)

    def min(self, values: Any, mode: str = "drop", wrap_negative_indices: bool = True) -> Any:
        return self._updated(values, np.minimum, wrap_negative_indices)

    def max(self, values: Any, mode: str = "drop", wrap_negative_indices: bool = True) -> Any:
        return self._updated(values, np.maximum, wrap_negative_indices)
