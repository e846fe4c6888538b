"""Calls of user-defined functions in emitted code: the JAX expression that the user gave, or the body put in place.

The expression given as `jax=` says how to compute a function, the body says what: before the expression is first
emitted, it is evaluated on a few arguments and compared with the body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from ir.arith import Scalar, rounded
from ir.dtypes import DType
from ir.errors import InterpretError, LowerError
from ir.floats import DEFAULT_FLOATS, Floats
from ir.functions import functions_in, inlined, placeholder, size, template, template_problem
from ir.later import later
from ir.naming import fresh
from ir.nodes import Binary, Buffer, Call, Expr, Function, If, Let, Load, PrimFunc, Select, Stmt, Store, Var
from ir.program.edit import names_in
from ir.semantics.machine import Machine, Undefined
from ir.syntax import python_code
from ir.traverse import can_fault, children, map_stmt, substitute_expr, walk, walk_expr, with_children
from lower.program.build import from_syntax
from lower.program.nodes import JaxExpr, substituted

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    from jax import lax
else:  # rules and forms are listed without it
    jax = later("jax")
    jnp = later("jax.numpy")
    lax = later("jax.lax")

MAX_SIZE = 100_000  # nodes of an expression with its calls expanded; XLA would take minutes for more
_FLOATS = (-100.0, -6.5, -2.0, -1.0, -0.3, 0.0, 0.25, 0.5, 1.0, 2.5, 6.0, 7.75, 300.0)
_INTEGERS = (-100, -7, -3, -1, 0, 1, 2, 5, 11, 100)
_SAMPLES = 64

Array = npt.NDArray[Any]


def without_bodies(func: PrimFunc, floats: Floats = DEFAULT_FLOATS) -> PrimFunc:
    """`func` with calls put in place, except those of functions of floats with a JAX expression of their own, and, in
    values, of others with one.

    Such an expression rounds as it likes, so that bodies take its place unless sums may be taken in another order.

    Raises:
        LowerError: a JAX expression is wrong, or an expression would become too large.
    """
    return func.with_origin(lambda f: _without_bodies(f, kept=Floats.REASSOCIATE in floats))


def _without_bodies(func: PrimFunc, *, kept: bool) -> PrimFunc:
    used = functions_in(func)
    if not used:
        return func
    for function in used:
        check_expression(function)
    body = func.body if kept else _with_named_arguments(func)
    # Integer bindings may become parts of indices, which lowering has to see through.
    values = {id(s.value) for s in walk(body) if isinstance(s, Store) or (isinstance(s, Let) and s.var.dtype.is_float)}

    def on_expr(expr: Expr) -> Expr:
        keep = (_any if id(expr) in values else _of_floats) if kept else _none
        if size(expr, keep) > MAX_SIZE:
            message = f"an expression has more than {MAX_SIZE} operations once its calls are expanded"
            raise LowerError("too-large", message, expr.span, help="bind intermediate results to names")
        return _expanded(expr, keep)

    params = tuple(_declared(p) if isinstance(p, Buffer) else p for p in func.params)
    return replace(func, params=params, body=map_stmt(body, on_expr, on_buffer=_declared))


def _with_named_arguments(func: PrimFunc) -> Stmt:
    """The body with names for arguments that functions read several times: functions of functions, put in place,
    would be exponentially long."""
    taken = names_in(func)

    def on_stmt(stmt: Stmt) -> Stmt:
        named: list[tuple[Var, Expr]] = []
        new: Stmt
        match stmt:
            case Store():
                value, *indices = (_named(e, named, taken) for e in (stmt.value, *stmt.indices))
                new = replace(stmt, value=value, indices=tuple(indices))
            case Let():
                new = replace(stmt, value=_named(stmt.value, named, taken))
            case If():
                new = replace(stmt, cond=_named(stmt.cond, named, taken))
            case _:
                new = stmt
        new = new if named else stmt
        for var, argument in reversed(named):
            new = Let(var, argument, new, stmt.span)
        return new

    return map_stmt(func.body, on_stmt=on_stmt)


def _named(expr: Expr, named: list[tuple[Var, Expr]], taken: set[str], *, lazy: bool = False) -> Expr:
    """An expression in which calls are put in place, with names for what is read twice: of what is not always evaluated
    (`lazy`), as far as it cannot fault."""

    def part(inner: Expr, *, lazy: bool = lazy) -> Expr:
        return _named(inner, named, taken, lazy=lazy)

    match expr:
        case Call(function=function, args=args):
            times = Counter(e for e in walk_expr(function.body) if isinstance(e, Var))
            given: dict[Var, Expr] = {}
            for param, arg in zip(function.params, args, strict=True):
                value = part(arg)
                long = times[param] > 1 and children(value) and value.dtype.is_float
                if long and not (lazy and can_fault(value)):
                    var = Var(fresh(param.name, taken), value.dtype)
                    named.append((var, value))
                    value = var
                given[param] = value
            return part(substitute_expr(function.body, given))
        case Select(cond=cond, then=then, other=other):
            return replace(expr, cond=part(cond), then=part(then, lazy=True), other=part(other, lazy=True))
        case Binary(op="and" | "or", lhs=lhs, rhs=rhs):
            return replace(expr, lhs=part(lhs), rhs=part(rhs, lazy=True))
        case _:
            return with_children(expr, tuple(map(part, children(expr))))


def _declared(buffer: Buffer) -> Buffer:
    return replace(buffer, shape=tuple(_expanded(e, _none) for e in buffer.shape))


def _any(function: Function) -> bool:
    return function.jax is not None


def _of_floats(function: Function) -> bool:
    return function.jax is not None and function.dtype.is_float


def _none(_: Function) -> bool:
    return False


def _expanded(expr: Expr, keep: Callable[[Function], bool]) -> Expr:
    """An expression with calls put in place, but for those of functions to keep; of integers, indices are seen through
    in any case."""
    match expr:
        case Load(buffer=buffer, indices=indices):
            within = _none if keep is _none else _of_floats
            return replace(expr, buffer=_declared(buffer), indices=tuple(_expanded(i, within) for i in indices))
        case Call(function=function) if not keep(function):
            return _expanded(inlined(expr), keep)
        case _:
            return with_children(expr, tuple(_expanded(e, keep) for e in children(expr)))


# JAX expressions -----------------------------------------------------------------------------------------------------


def call_code(function: Function, args: Sequence[JaxExpr]) -> JaxExpr:
    """The JAX expression of a function with code for its parameters."""
    given = {placeholder(p.name): a for p, a in zip(function.params, args, strict=True)}
    return substituted(_expression(function), given)


@lru_cache(maxsize=1024)
def _expression(function: Function) -> JaxExpr:
    """What the user gave, with placeholders for parameters."""
    return from_syntax(template(function))


@lru_cache(maxsize=1024)
def check_expression(function: Function) -> None:
    """Compare the JAX expression of a function, if it has one, with its body on a few arguments.

    Floats may differ by the square root of their precision. Arguments for which the body faults are left out.

    Raises:
        LowerError: the expression fails, has another shape or dtype, or another value.
    """
    if function.jax is None:
        return
    problem = template_problem(function)  # nothing is evaluated that was not vetted
    if problem is not None:
        _refuse(function, problem)
    meanings = dict(_meanings(function))
    if not meanings:
        return
    samples = [*meanings]
    columns = [np.array(c, p.dtype.numpy) for c, p in zip(zip(*samples, strict=True), function.params, strict=True)]
    found = _computed(function, columns)
    wanted = np.array([*meanings.values()], function.dtype.numpy)
    if not function.params and found.shape == ():
        found = np.broadcast_to(found, wanted.shape)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        _refuse(function, f"it gives {found.dtype}{list(found.shape)} for arguments of shape {list(wanted.shape)}, "
                          f"but the function gives {wanted.dtype} for each")  # fmt: skip
    for sample, a, b in zip(samples, found, wanted, strict=True):
        if not _close(a, b, function.dtype):
            call = f"{function.name}({', '.join(map(str, sample))})"
            _refuse(function, f"for {call} it gives {a}, but the body gives {b}")


def _refuse(function: Function, what: str, cause: Exception | None = None) -> None:
    message = f"the JAX expression of {function.name}, {function.jax!r}, is wrong: {what}"
    hint = "it must compute the body element by element on arrays that broadcast; leave out jax= to emit the body"
    raise LowerError("jax-expression", message, function.span, help=hint) from cause


def _meanings(function: Function) -> Iterator[tuple[tuple[Scalar, ...], Scalar]]:
    """Arguments for which the body does not fault, and what it gives for them."""
    rng = np.random.default_rng(0)
    for k in range(_SAMPLES):
        sample = tuple(_sample(p, k, rng) if n == 0 else _sample(p, None, rng) for n, p in enumerate(function.params))
        value = _meaning(function, sample)
        if value is not None:
            yield sample, value


def _sample(param: Var, k: int | None, rng: np.random.Generator) -> Scalar:
    """The k-th hard value of a parameter's dtype, or any of them."""
    dtype = param.dtype
    if dtype is DType.BOOL:
        choices: Sequence[Scalar] = (False, True)
    elif dtype.is_float:
        choices = [rounded(x, dtype) for x in _FLOATS]
    else:
        choices = [x for x in (*_INTEGERS, dtype.min, dtype.max) if dtype.min <= x <= dtype.max]
    return choices[int(rng.integers(len(choices))) if k is None else k % len(choices)]


def _meaning(function: Function, sample: tuple[Scalar, ...]) -> Scalar | None:
    """The value of the body, or None where it faults."""
    scalars = dict(zip(function.params, sample, strict=True))
    try:
        value = Machine(False, np.random.default_rng(0), scalars=scalars).value(function.body)
    except InterpretError:
        return None
    return None if isinstance(value, Undefined) else value


def _computed(function: Function, columns: Sequence[Array]) -> Array:
    """What the JAX expression gives, element by element; arguments are also tried as arrays that broadcast."""
    names = [placeholder(p.name) for p in function.params]
    code = python_code(template(function), "<jax>")

    def run(args: Sequence[Array]) -> Array:
        given = {n: jnp.asarray(a) for n, a in zip(names, args, strict=True)}
        return np.asarray(eval(code, {"jax": jax, "jnp": jnp, "lax": lax, **given}))

    wide = any(d.bits == 64 for d in (function.dtype, *(p.dtype for p in function.params)))
    try:
        with jax.ensure_compile_time_eval(), jax.enable_x64(wide):
            spread = [c[:3].reshape((-1,) + (1,) * (len(columns) - n - 1)) for n, c in enumerate(columns)]
            wanted = np.broadcast_shapes(*(c.shape for c in spread))
            grid = run(spread)
            if grid.shape != wanted:
                _refuse(function, f"its result has shape {grid.shape} where the arguments broadcast to {wanted}")
            return run(columns)
    except LowerError:
        raise
    except Exception as error:  # the user's code may raise anything
        _refuse(function, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", error)
        raise


def _close(a: Any, b: Any, dtype: DType) -> bool:
    if not dtype.is_float:
        return bool(a == b)
    tolerance = float(np.sqrt(float(jnp.finfo(dtype.numpy).eps)))
    return bool(np.isclose(float(a), float(b), rtol=tolerance, atol=tolerance, equal_nan=True))
