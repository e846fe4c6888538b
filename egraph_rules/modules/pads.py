"""Values that padding might hold: those that let a reader lose its guard, followed back through what computes them.

Only proposals: whether a value helps is what the search finds and prices.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir.arith import ArithmeticFault, binary_function, unary_function
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Cast, Const, Expr, If, Load, PrimFunc, Select, Store, Unary, const
from ir.operators import combines, neutral, special
from ir.traverse import all_same, children, reads, stmt_exprs, stores_in, walk, walk_expr, with_children

_MOST = 4  # values of one buffer
_ROUNDS = 4  # of following them from buffer to buffer


def wanted_by(func: PrimFunc, param: Buffer) -> list[Const]:
    """Values of a parameter's elements that leave the reductions of a function as they are, or make both arms of a
    choice equal of which one is a number."""
    found: list[Const] = []
    for arm, number in _choices(func):
        _add(found, _before(arm, param, number))
    for store in stores_in(func.body):
        for op, term in reduction_steps(store):
            number = neutral(op, term.dtype)
            if number is not None:
                _add(found, _before(term, param, const(number, term.dtype)))
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
                new |= add_new(found[param], _before(store.value, param, value))
            for value in list(found[param]):
                given = _at(store.value, param, value)
                new |= add_new(found[store.buffer], given if isinstance(given, Const) else None)
        if not new:
            break
    return found


def wanted_for(func: PrimFunc, param: Buffer, result: Buffer, value: Const) -> Const | None:
    """What an element of a parameter has to be for the elements of a result that are computed of it to be `value`."""
    for store in stores_in(func.body):
        if store.buffer == result and not reads(result, store.value):
            found = _before(store.value, param, value)
            if found is not None:
                return found
    return None


def given_by(func: PrimFunc, param: Buffer, result: Buffer, value: Const) -> Const | None:
    """What the elements of a result are that are computed of elements of a parameter which are `value`."""
    for store in stores_in(func.body):
        if store.buffer == result and reads(param, store.value):
            found = _at(store.value, param, value)
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


def _before(expr: Expr, param: Buffer, value: Const) -> Const | None:
    """The value of a load of `param` at which an expression is `value`, as far as inverses are plain."""
    if isinstance(expr, Load):
        return value if expr.buffer == param else None
    if not reads(param, expr):
        return None
    match expr:
        case Unary(op="neg", operand=a):
            less = _computed(Unary("neg", value))
            return None if less is None else _before(a, param, less)
        case Unary(op="exp", operand=a) if value.value == 0:
            number = neutral("exp", a.dtype)
            return None if number is None else _before(a, param, const(number, a.dtype))
        case Unary(op="abs" | "sqrt" | "tanh" | "sin", operand=a) if value.value == 0:
            return _before(a, param, value)
        case Cast(operand=a) if _holds(a.dtype, value):
            return _before(a, param, const(value.value, a.dtype))
        case Binary(op="mul", lhs=a, rhs=b) if value.value == 0:
            return _first(_before(e, param, value) for e in (a, b))
        case Binary(op="mul", lhs=a, rhs=Const() as c) | Binary(op="mul", lhs=Const() as c, rhs=a):
            part = _computed(Binary("div" if c.dtype.is_float else "floordiv", value, c))
            whole = None if part is None else _computed(Binary("mul", part, c))
            return _before(a, param, part) if part is not None and whole is not None and whole.same(value) else None
        case Binary(op="add", lhs=a, rhs=Const() as c) | Binary(op="add", lhs=Const() as c, rhs=a):
            less = _computed(Binary("sub", value, c))
            return None if less is None else _before(a, param, less)
        case Binary(op="sub", lhs=a, rhs=Const() as c):
            more = _computed(Binary("add", value, c))
            return None if more is None else _before(a, param, more)
        case Binary(op=op, lhs=a, rhs=b):
            for law, number in special(op, expr.dtype):  # what decides, whatever the other operand is
                if law.role == "absorbing" and value.same(const(number, expr.dtype)):
                    return _first(_before(a if side == "left" else b, param, value) for side in law.sides)
            return _before(a, param, value) if op in ("max", "min") and isinstance(b, Const) else None
        case _:
            return None


def _holds(dtype: DType, value: Const) -> bool:
    """Whether a dtype has a number, so that it is the same once it is cast."""
    if value.value == 0:
        return dtype is not DType.BOOL
    return dtype.is_integer and value.dtype.is_integer and dtype.min <= value.value <= dtype.max


def _first(found: Iterator[Const | None]) -> Const | None:
    return next((value for value in found if value is not None), None)


def _at(expr: Expr, param: Buffer, value: Const) -> Expr:
    """An expression where all loads of `param` are `value`, computed as far as it is of numbers."""
    if isinstance(expr, Load) and expr.buffer == param:
        return value
    new = with_children(expr, tuple(_at(c, param, value) for c in children(expr)))
    known = _computed(new)
    return new if known is None else known


def _computed(expr: Expr) -> Const | None:
    """An operation on numbers."""
    try:
        match expr:
            case Binary(op=op, lhs=Const() as a, rhs=Const() as b) if op not in ("and", "or"):
                return const(binary_function(op, a.dtype)(a.value, b.value), expr.dtype)
            case Unary(op=op, operand=Const() as a):
                return const(unary_function(op, a.dtype)(a.value), expr.dtype)
            case _:
                return None
    except (ArithmeticFault, OverflowError):
        return None
