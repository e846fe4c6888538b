"""What every array program keeps to: names are bound before they are read, calls fit, each function has one result.

Steps of loops give back as many arrays as they take.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, assert_never, cast

from msgspec import Struct

from ir.pure import is_pure
from lower.program.nodes import (
    Assign,
    Call,
    Comprehension,
    Do,
    For,
    Function,
    JaxExpr,
    JaxNode,
    JaxStmt,
    Lambda,
    List,
    Name,
    Return,
    Slice,
    Starred,
    Subscript,
    Tuple,
    With,
    children,
    names_bound,
    path_of,
)
from lower.program.primitives import LIBRARY, meaning
from lower.program.print_jax import print_jax, text_of

MODULES = frozenset(("np", "jnp", "lax", "jax", "functools", "partial", "pl", "pltpu", "plgpu"))


class _Known(Struct, frozen=True):
    """A function: with how many arguments it can be called, and the tuple that it gives, if it is one."""

    arity: range
    results: int | None


# What only kernels and devices of a mesh call, which has no meaning in NumPy.
_ELSEWHERE = frozenset(
    f"lax.{word}"
    for word in ("broadcasted_iota", "axis_index", "all_gather", "psum_scatter", "psum", "pmax", "pmin", "slice_in_dim")
)
_Scope = Mapping[str, _Known | None]  # names, with what functions take and give
_STEPS = {"lax.fori_loop": (2, 3), "loop_between": (3, 4), "chosen": (1, 3),
          "loop_until": (3, 4), "loop_between_until": (4, 5)}  # fmt: skip # where a step and its state stand


class IllFormedError(Exception):
    """A writer or a pass has made what is no program."""


def verify(functions: Sequence[Function], beside: Iterable[str] = ()) -> None:
    """Check a program, which may call functions that stand `beside` it.

    Raises:
        IllFormedError: a name is read that is not bound there, a call does not fit, or a result is missing.
    """
    scope: dict[str, _Known | None] = {**dict.fromkeys(beside), **{f.name: _known(f) for f in functions}}
    for function in functions:
        _function(function, scope)


def _known(function: Function) -> _Known:
    needed = sum(p.default is None for p in function.params)
    match function.body[-1:]:
        case (Return(value=Tuple(items=items)),) if not any(isinstance(e, Starred) for e in items):
            results = len(items)
        case _:
            results = None
    return _Known(range(needed, len(function.params) + 1), results)


def _function(function: Function, around: _Scope) -> None:
    for node in (*function.decorators, *(p.default for p in function.params if p.default is not None)):
        _expr(node, around)
    names = [p.name for p in function.params]
    if len(set(names)) < len(names):
        raise IllFormedError(f"{function.name} has two parameters of one name")
    returns = not any(path_of(d.function) == "pl.when" for d in function.decorators if isinstance(d, Call))
    returns = returns and not _is_kernel(function)
    _body(function.body, {**around, **dict.fromkeys(names)}, function.name, returns=returns)


def _is_kernel(function: Function) -> bool:
    """Whether a function stores to references instead of giving a result."""
    return any(isinstance(s, Do) or (isinstance(s, Assign) and isinstance(s.target, Subscript)) for s in function.body)


def _body(body: Sequence[JaxStmt], around: _Scope, name: str, *, returns: bool) -> dict[str, _Known | None]:
    """Check statements one after the other; gives the names that are bound behind them."""
    scope = dict(around)
    for k, stmt in enumerate(body):
        last = returns and k == len(body) - 1
        if last != isinstance(stmt, Return) and not (last and isinstance(stmt, With)):
            what = "does not end with a result" if last else f"gives a result too early: {print_jax([stmt])[0]}"
            raise IllFormedError(f"{name} {what}")
        match stmt:
            case Assign(target=target, value=value):
                _expr(value, scope)
                if isinstance(target, Subscript):
                    _expr(target, scope)
                _fits(stmt)
                scope.update(dict.fromkeys(names_bound(stmt)))
            case Return(value=value) | Do(value=value):
                _expr(value, scope)
            case For(names=names, values=values, body=inner):
                _expr(values, scope)
                _rows(names, values)
                scope = _body(inner, {**scope, **dict.fromkeys(names)}, name, returns=False)
            case With(context=context, body=inner):
                _expr(context, scope)
                scope = _body(inner, scope, name, returns=last)
            case Function():
                _function(stmt, scope)
                scope[stmt.name] = _known(stmt)
            case other:
                assert_never(other)
    if returns and not body:
        raise IllFormedError(f"{name} has no result")
    return scope


def _fits(stmt: Assign) -> None:
    match stmt:
        case Assign(target=Tuple(items=names), value=Tuple(items=values)):
            if len(names) == len(values) or any(isinstance(e, Starred) for e in (*names, *values)):
                return
            raise IllFormedError(f"{len(names)} names for {len(values)} values: {print_jax([stmt])[0]}")
        case _:
            return


def _rows(names: Sequence[str], values: JaxExpr) -> None:
    rows = values.items if isinstance(values, Tuple | List) else ()
    if len(names) > 1 and any(not isinstance(r, Tuple) or len(r.items) != len(names) for r in rows):
        raise IllFormedError(f"rows of {text_of(values)} are not {len(names)} values each")


def _expr(node: JaxExpr, scope: _Scope) -> None:
    match node:
        case Name(id=name):
            if not (name in scope or name in MODULES or name in LIBRARY or hasattr(builtins, name)):
                raise IllFormedError(f"{name} is read before it is bound")
        case Lambda(params=params, body=body):
            _expr(body, {**scope, **dict.fromkeys(params)})
        case Comprehension(element=element, clauses=clauses):
            for clause in clauses:
                _expr(clause.values, scope)
                scope = {**scope, **dict.fromkeys(clause.names)}
            _expr(element, scope)
        case Subscript(value=value, items=items):
            _expr(value, scope)
            for item in items:
                for part in children(item) if isinstance(item, Slice) else (item,):
                    _expr(cast(JaxExpr, part), scope)
        case Slice():
            raise IllFormedError(f"{text_of(node)} stands outside of an index")
        case Call():
            for part in _parts(node):
                _expr(part, scope)
            _call(node, scope)
        case _:
            for part in children(node):
                _expr(cast(JaxExpr, part), scope)


def _parts(node: JaxNode) -> tuple[JaxExpr, ...]:
    return cast(tuple[JaxExpr, ...], children(node))


def _call(node: Call, scope: _Scope) -> None:
    """Check the arguments of a call of what is known."""
    path = path_of(node.function)
    if path is None or any(isinstance(a, Starred) for a in node.args):
        return
    head = path.partition(".")[0]
    count = len(node.args) + len(node.keywords)
    if head in scope:
        taken = scope[head]
        if head == path and taken is not None and count not in taken.arity:
            raise IllFormedError(f"{path} takes {taken.arity.stop - 1} arguments, not {count}: {text_of(node)}")
        return
    if path in _STEPS:
        step, state = (node.args[k] for k in _STEPS[path])
        _step(node, step, state, scope)
    known = meaning(path)
    if known is None and head in ("jnp", "lax") and not is_pure(path) and path not in _ELSEWHERE:
        raise IllFormedError(f"{path} is no function that array programs call")
    signature = None if known is None else _signature(known)
    if signature is None:
        return
    try:
        signature.bind(*node.args, **dict(node.keywords))
    except TypeError as error:
        raise IllFormedError(f"{path}: {error}: {text_of(node)}") from error


def _step(node: Call, step: JaxExpr, state: JaxExpr, scope: _Scope) -> None:
    """Check that a step gives back what it takes."""
    function = scope.get(step.id) if isinstance(step, Name) else None
    size = len(state.items) if isinstance(state, Tuple) else None
    if function is not None and function.results != size:
        raise IllFormedError(f"{text_of(step)} gives {function.results or 1} of {size or 1} arrays: {text_of(node)}")


@lru_cache(maxsize=512)
def _signature(function: Any) -> inspect.Signature | None:
    """The parameters of a function; None where Python does not know them."""
    if isinstance(function, type):
        return None
    try:
        return inspect.signature(function)
    except ValueError:
        return None
