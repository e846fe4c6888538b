"""User-defined functions in the e-graph: numbers for them, and what dtypes rules that call them are about.

A number is the same in all programs and rules of a process, so that rules can be translated once.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

from ir.dtypes import DType
from ir.errors import RuleError
from ir.functions import check_function, functions_in, functions_of
from ir.nodes import Alloc, Call, Expr, Function, PrimFunc
from ir.traverse import bound_var, shape_vars, walk, walk_expr

_numbers: dict[Function, int] = {}
_functions: list[Function] = []
_lock = Lock()


def function_number(function: Function) -> int:
    """The number of a function; equal functions share it."""
    with _lock:
        number = _numbers.setdefault(function, len(_functions))
        if number == len(_functions):
            _functions.append(function)
        return number


def function_numbered(number: int) -> Function:
    """The function of a number."""
    return _functions[number]


def operand_dtype(name: str, exprs: Iterable[Expr]) -> DType | None:
    """The one dtype that calls in the parts of a rule have, bool aside; None where there are none.

    Raises:
        RuleError: they have several dtypes, or a function has no meaning.
    """
    calls = [e for expr in exprs for e in walk_expr(expr) if isinstance(e, Call)]
    for call in calls:
        check_function(call.function, RuleError)
    dtypes = {e.dtype: None for call in calls for e in (call, *call.args) if e.dtype is not DType.BOOL}
    if len(dtypes) > 1:
        found = ", ".join(d.value for d in dtypes)
        hint = "give the function parameters and a result of one dtype"
        raise RuleError("rule", f"rule {name} calls functions over several dtypes: {found}", help=hint)
    return next(iter(dtypes), None)


def check_names(func: PrimFunc, exprs: Iterable[Expr]) -> None:
    """Check that each function that rules bring into a program would mean there what it means to them.

    Raises:
        RuleError: the program has another function, or a variable or buffer, of that name.
    """
    brought = functions_of(e for expr in exprs for e in walk_expr(expr))
    if not brought:
        return
    known = {f.name: f for f in functions_in(func)}
    taken = {p.name for p in (*func.params, *shape_vars(func))}
    for stmt in walk(func.body):
        taken |= {v.name for v in bound_var(stmt)} | ({stmt.buffer.name} if isinstance(stmt, Alloc) else set())
    for function in brought:
        other = known.setdefault(function.name, function)
        if other != function or function.name in taken:
            what = "a variable" if function.name in taken else "another function"
            message = f"a rule brings in {function.name}, but {func.name} has {what} of that name"
            raise RuleError("duplicate-name", message, function.span, help="rename one of them")
