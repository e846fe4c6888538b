"""Values that padding might hold: those that let a reader lose its guard, followed back through what computes them.

Only proposals: whether a value helps is what the search finds and prices.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir.analysis.neutral import wanted_of, with_elements
from ir.nodes import Binary, Buffer, Const, Expr, If, Load, PrimFunc, Select, Store, const
from ir.operators import combines, neutral
from ir.traverse import all_same, reads, stmt_exprs, stores_in, walk, walk_expr

_MOST = 4  # values of one buffer
_ROUNDS = 4  # of following them from buffer to buffer


def wanted_by(func: PrimFunc, param: Buffer) -> list[Const]:
    """Values of a parameter's elements that leave the reductions of a function as they are, or make both arms of a
    choice equal of which one is a number."""
    found: list[Const] = []
    for arm, number in _choices(func):
        _add(found, wanted_of(arm, param, number))
    for store in stores_in(func.body):
        for op, term in reduction_steps(store):
            number = neutral(op, term.dtype)
            if number is not None:
                _add(found, wanted_of(term, param, const(number, term.dtype)))
    return found


def wanted_in(func: PrimFunc) -> dict[Buffer, list[Const]]:
    """The values that are wanted of each buffer of a function, followed through what its stores compute."""
    stores = list(stores_in(func.body))
    pairs = {(s, e.buffer): None for s in stores for e in walk_expr(s.value) if isinstance(e, Load)}
    found = {b: wanted_by(func, b) for b in dict.fromkeys([b for _, b in pairs] + [s.buffer for s in stores])}
    for _ in range(_ROUNDS):
        new = False
        for store, param in pairs:
            for value in [] if reads(store.buffer, store.value) else list(found[store.buffer]):
                new |= add_new(found[param], wanted_of(store.value, param, value))
            for value in list(found[param]):
                given = with_elements(store.value, param, value)
                new |= add_new(found[store.buffer], given if isinstance(given, Const) else None)
        if not new:
            break
    return found


def wanted_for(func: PrimFunc, param: Buffer, result: Buffer, value: Const) -> Const | None:
    """What an element of a parameter has to be for the elements of a result that are computed of it to be `value`."""
    for store in stores_in(func.body):
        if store.buffer == result and not reads(result, store.value):
            found = wanted_of(store.value, param, value)
            if found is not None:
                return found
    return None


def given_by(func: PrimFunc, param: Buffer, result: Buffer, value: Const) -> Const | None:
    """What the elements of a result are that are computed of elements of a parameter which are `value`."""
    for store in stores_in(func.body):
        if store.buffer == result and reads(param, store.value):
            found = with_elements(store.value, param, value)
            if isinstance(found, Const):
                return found
    return None


def add_new(values: list[Const], new: Const | None) -> bool:
    """Add a value that is not there yet."""
    before = len(values)
    _add(values, new)
    return len(values) > before


def _add(values: list[Const], new: Const | None) -> None:
    if new is not None and len(values) < _MOST and not any(new.same(v) for v in values):
        values.append(new)


def _choices(func: PrimFunc) -> Iterator[tuple[Expr, Const]]:
    """What is computed on one side of a condition, with the number on the other."""
    for stmt in walk(func.body):
        arms = [(e.then, e.other) for whole in stmt_exprs(stmt) for e in walk_expr(whole) if isinstance(e, Select)]
        match stmt:
            case If(then=Store() as yes, other=Store() as no) if Load(yes.buffer, yes.indices).same(
                Load(no.buffer, no.indices)
            ):
                arms.append((yes.value, no.value))
            case _:
                pass
        for pair in arms:
            for arm, other in (pair, pair[::-1]):
                if isinstance(other, Const):
                    yield arm, other


def reduction_steps(store: Store) -> Iterator[tuple[str, Expr]]:
    """The operators by which a store continues what is there, each with what it takes in."""
    match store.value:
        case Binary(op=op, lhs=Load(buffer=buffer, indices=indices), rhs=term) if combines(op, term.dtype):
            if buffer == store.buffer and all_same(indices, store.indices):
                yield op, term
        case Binary(op=op, lhs=term, rhs=Load(buffer=buffer, indices=indices)) if combines(op, term.dtype):
            if buffer == store.buffer and all_same(indices, store.indices):
                yield op, term
        case _:
            pass
