"""Index maps: functions from indices to indices (or to a pad value), as users write them with a lambda."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import cast

from msgspec import Struct

from ir.dtypes import DType
from ir.errors import ScheduleError
from ir.nodes import Expr, Var, as_expr
from ir.printing.printer import to_script
from ir.shown import counted
from ir.traverse import substitute_expr


class IndexMap(Struct, frozen=True):
    """`lambda params: results`. Calling it with expressions substitutes them."""

    params: tuple[Var, ...]
    results: tuple[Expr, ...]

    @staticmethod
    def of(function: IndexMap | Callable[..., object], rank: int, dtype: DType = DType.INT32) -> IndexMap:
        """The map that a Python function computes on `rank` index variables; results that are numbers get `dtype`.

        A function that returns None gives a map without results.

        Raises:
            ScheduleError: it takes another number of indices, or returns something else than expressions.
        """
        if isinstance(function, IndexMap):
            if len(function.params) != rank:
                _wrong_rank(len(function.params), rank)
            return function
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            message = f"the index map is {function!r}, which is no function"
            raise ScheduleError("index-map", message, help="write it as lambda i: [i // 4, i % 4]")
        params = tuple(Var(name, DType.INT32) for name in _names(function, rank))
        try:
            found = function(*params)
        except TypeError as error:
            message = f"the index map cannot be evaluated on expressions: {error}"
            raise ScheduleError("index-map", message, help="use + - * // % and T.min, T.if_then_else, ...") from error
        if found is None:
            return IndexMap(params, ())
        results = cast("tuple[object, ...]", tuple(found) if isinstance(found, (list, tuple)) else (found,))
        return IndexMap(params, tuple(_result(r, dtype) for r in results))

    def __call__(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The results at these indices."""
        values = dict(zip(self.params, indices, strict=True))
        return tuple(substitute_expr(r, values) for r in self.results)

    def __str__(self) -> str:
        names = ", ".join(v.name for v in self.params)
        return f"lambda {names}: ({', '.join(map(to_script, self.results))}{',' if len(self.results) == 1 else ''})"


def _names(function: Callable[..., object], rank: int) -> list[str]:
    kinds = inspect.Parameter
    params = list(inspect.signature(function).parameters.values())
    if any(p.kind is kinds.VAR_POSITIONAL for p in params):
        return [f"i{k}" for k in range(rank)]
    plain = [p.name for p in params if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if len(plain) != rank:
        _wrong_rank(len(plain), rank)
    return plain


def _wrong_rank(found: int, rank: int) -> None:
    takes, has = counted(found, "index", "indices"), counted(rank, "axis", "axes")
    raise ScheduleError(
        "index-map", f"the index map takes {takes}, but the buffer has {has}",
        help=f"give a function of {counted(rank, 'index', 'indices')}",
    )  # fmt: skip


def _result(value: object, dtype: DType) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, (int, float)) and (dtype.is_float or value == int(value)):
        return as_expr(value if dtype.is_float else int(value), dtype)
    if isinstance(value, float):
        raise ScheduleError("index-map", f"the function returns {value}, where a {dtype} is needed")
    message = f"the index map returns {value!r}, which is no expression"
    raise ScheduleError("index-map", message, help="return a list of index expressions, as in [i // 4, i % 4]")
