"""Functions of functions (`functools.reduce`, `itertools.accumulate`), and those of `operator`, as plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def reduce(function: Any, iterable: Any, *initial: Any) -> Any:
    found = iterable[0] if len(initial) == 0 else initial[0]
    for item in iterable[1 - len(initial) :]:
        found = function(found, item)
    return found


def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    found = iterable[0] if initial is None else initial
    totals = [found]
    for item in iterable[1:] if initial is None else iterable:
        found = found + item if func is None else func(found, item)
        totals.append(found)
    return totals


def nlargest(n: Any, iterable: Any) -> Any:
    return sorted(iterable, reverse=True)[:n]


def nsmallest(n: Any, iterable: Any) -> Any:
    return sorted(iterable)[:n]


def add(a: Any, b: Any) -> Any:
    return a + b


def sub(a: Any, b: Any) -> Any:
    return a - b


def mul(a: Any, b: Any) -> Any:
    return a * b


def truediv(a: Any, b: Any) -> Any:
    return a / b


def floordiv(a: Any, b: Any) -> Any:
    return a // b


def mod(a: Any, b: Any) -> Any:
    return a % b


def xor(a: Any, b: Any) -> Any:
    return a ^ b


def and_(a: Any, b: Any) -> Any:
    return a & b


def or_(a: Any, b: Any) -> Any:
    return a | b


def neg(a: Any) -> Any:
    return -a


def eq(a: Any, b: Any) -> Any:
    return a == b


def ne(a: Any, b: Any) -> Any:
    return a != b


def lt(a: Any, b: Any) -> Any:
    return a < b


def le(a: Any, b: Any) -> Any:
    return a <= b


def gt(a: Any, b: Any) -> Any:
    return a > b


def ge(a: Any, b: Any) -> Any:
    return a >= b


def itemgetter(item: Any, *items: Any) -> Any:
    def found(owner: Any) -> Any:
        return owner[item] if len(items) == 0 else (owner[item], *tuple(owner[k] for k in items))

    return found


def vectorize(pyfunc: Any, otypes: Any = None) -> Any:
    """The results are of the dtype that has room for all; NumPy takes that of the first one."""

    def found(*arrays: Any) -> Any:
        whole = np.asarray(arrays[0])
        for other in arrays[1:]:
            whole = whole + np.asarray(other)
        if whole.ndim == 0:
            return pyfunc(*arrays)
        flat = tuple(np.ravel(np.broadcast_to(np.asarray(a), whole.shape)) for a in arrays)
        items = np.array([pyfunc(*tuple(a[k] for a in flat)) for k in range(whole.size)])
        return np.reshape(items if otypes is None else items.astype(otypes[0]), whole.shape)

    return found


_OPERATORS = add, sub, mul, truediv, floordiv, mod, xor, and_, or_, neg, eq, ne, lt, le, gt, ge, itemgetter
FUNCTIONAL: dict[str, Callable[..., Any]] = {
    "functools.reduce": reduce, "itertools.accumulate": accumulate,
    "np.vectorize": vectorize, "heapq.nlargest": nlargest, "heapq.nsmallest": nsmallest,
    **{f"operator.{f.__name__}": f for f in _OPERATORS},
}  # fmt: skip
