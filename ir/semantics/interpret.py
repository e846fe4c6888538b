"""The reference interpreter: what a program means (docs/language.md), as a program. Slow, obviously right.

Every buffer element carries whether it is undef. Faults are `InterpretError`s that name the place and the values of the
variables in scope. It is the oracle of all differential tests, so it shares no code with analyses or lowering. What it
runs is verified: names are bound once on a path. This file owns runs and their arguments, `machine` what nodes do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ir.arith import Scalar, rounded
from ir.dtypes import DType
from ir.errors import InterpretError, InterpretTypeError, InterpretValueError, suggest
from ir.nodes import Binary, Buffer, Expr, Module, PrimFunc, Var
from ir.program.modules import ENTRY, Written, entry_of
from ir.semantics.machine import Array, Machine
from ir.traverse import free_vars, results_of, shape_vars


def interpret(
    program: Written | Module,
    /,
    *args: object,
    entry: str = ENTRY,
    sanitize: bool = False,
    seed: int | None = 0,
    max_steps: int | None = None,
    **named: object,
) -> tuple[Array, ...]:
    """Run a function, or `entry` of a module: the buffers it writes, in parameter order, as new arrays.

    Undef elements are zero.

    Arguments follow the parameters, or are given by name; a parameter named like an option must be given by position. A
    buffer that the program writes may be left out, or None: it starts undef. Sizes that no array tells may be named.
    With `sanitize`, assumptions are checked and loads must stay in bounds. `seed` picks the arbitrary values that let
    bindings freeze (None: other ones each time). `max_steps` limits how many statements run.

    Raises:
        InterpretError: an argument does not fit, the program faults, or it takes more steps.
    """
    func = entry_of(program, entry)
    results = interpret_with_undef(func, *args, sanitize=sanitize, seed=seed, max_steps=max_steps, **named)
    return tuple(np.where(undef, np.zeros((), values.dtype), values) for values, undef in results)


def interpret_with_undef(
    func: PrimFunc,
    /,
    *args: object,
    sanitize: bool = False,
    seed: int | None = 0,
    max_steps: int | None = None,
    **named: object,
) -> tuple[tuple[Array, npt.NDArray[np.bool_]], ...]:
    """Like `interpret`, but each result comes with a mask of its undef elements, whose values mean nothing."""
    return _run(func, args, named, Machine(sanitize, np.random.default_rng(seed), max_steps))


def interpret_refined(
    func: PrimFunc, named: Mapping[str, object], seed: int | None = 0
) -> tuple[tuple[Array, npt.NDArray[np.bool_]], ...]:
    """Run a program in which some values stand for undef: operations that have no value are undef, and no faults."""
    return _run(func, (), named, Machine(False, np.random.default_rng(seed), arbitrary=True))


def _run(
    func: PrimFunc, args: Sequence[object], named: Mapping[str, object], machine: Machine
) -> tuple[tuple[Array, npt.NDArray[np.bool_]], ...]:
    scalars, arrays = bind_arguments(func, args, named)
    machine.scalars.update(scalars)
    for buffer in func.buffers:
        machine.add_buffer(buffer, arrays.get(buffer.name))
    try:
        machine.run(func.body)
    except RecursionError as error:
        message = f"{func.name} is nested too deeply to be interpreted"
        raise InterpretError("too-deep", message, func.span, help="split the expression or the loops") from error
    return tuple((machine.memory[b.name].values, machine.memory[b.name].undef) for b in results_of(func))


# Arguments -----------------------------------------------------------------------------------------------------------


def bind_arguments(
    func: PrimFunc, args: Sequence[object], named: Mapping[str, object]
) -> tuple[dict[Var, Scalar], dict[str, Array]]:
    """Match arguments with parameters; sizes in shapes get their values from the arrays.

    Raises:
        InterpretError: too many arguments, an unknown name, a wrong rank, shape or dtype, or something is missing.
    """
    given = _by_name(func, args, named)
    scalars = {var: _scalar(func, given.get(var.name), var) for var in func.scalars}
    written = results_of(func)
    arrays: dict[str, Array] = {}
    for buffer in func.buffers:
        if given.get(buffer.name) is not None:
            arrays[buffer.name] = _array(func, given[buffer.name], buffer)
        elif buffer not in written:
            message = f"{func.name} needs the buffer `{buffer.name}`"
            help = "only buffers that the program writes may be left out"
            raise InterpretTypeError("arguments", message, buffer.span, help=help)
    for var in shape_vars(func):
        if given.get(var.name) is not None:
            scalars[var] = _scalar(func, given[var.name], var)
    _bind_sizes(func, scalars, arrays)
    for buffer in func.buffers:
        if buffer.name in arrays:
            _check_shape(func, buffer, arrays[buffer.name], scalars)
    return scalars, arrays


def _by_name(func: PrimFunc, args: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
    if len(args) > len(func.params):
        raise InterpretTypeError("arguments", f"{func.name} takes {len(func.params)} arguments, {len(args)} given")
    given: dict[str, object] = {p.name: a for p, a in zip(func.params, args, strict=False)}
    known = {p.name for p in (*func.params, *shape_vars(func))}
    for name, value in named.items():
        if name not in known:
            raise InterpretTypeError("arguments", f"{func.name} has no parameter `{name}`", help=suggest(name, known))
        if name in given:
            raise InterpretTypeError("arguments", f"`{name}` of {func.name} is given by position and by name")
        given[name] = value
    return given


def _scalar(func: PrimFunc, value: object, var: Var) -> Scalar:
    if value is None:
        raise InterpretTypeError("arguments", f"{func.name} needs the scalar `{var.name}`, {_a(var.dtype)}", var.span)
    item = _as_array(func, value, var.name)
    plain: object = item.item() if item.ndim == 0 else value
    if isinstance(plain, (bool, int, float)):
        if var.dtype.is_float:
            return rounded(float(plain), var.dtype)
        if not isinstance(plain, float) and var.dtype.min <= plain <= var.dtype.max:
            return bool(plain) if var.dtype is DType.BOOL else int(plain)
    found = f"an array of shape {item.shape}" if item.ndim else repr(value)
    message = f"`{var.name}` of {func.name}: expected {_a(var.dtype)}, found {found}"
    wide = isinstance(plain, int) and var.dtype.is_integer  # it is a number of the right kind that does not fit
    raise (InterpretValueError if wide else InterpretTypeError)("arguments", message, var.span)


def _as_array(func: PrimFunc, value: object, name: str) -> Array:
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InterpretTypeError("arguments", f"`{name}` of {func.name} is not an array: {error}") from error


def _a(dtype: DType) -> str:
    return f"an {dtype}" if dtype.value.startswith("int") else f"a {dtype}"


def _array(func: PrimFunc, value: object, buffer: Buffer) -> Array:
    array = _as_array(func, value, buffer.name)
    if array.ndim != len(buffer.shape) or array.dtype != buffer.dtype.numpy:
        wanted = f"{buffer.dtype} of rank {len(buffer.shape)}"
        found = f"{array.dtype} of rank {array.ndim}, shape {array.shape}"
        wrong = InterpretTypeError if array.dtype != buffer.dtype.numpy else InterpretValueError
        raise wrong("arguments", f"`{buffer.name}` of {func.name}: expected {wanted}, found {found}", buffer.span)
    return array


def _bind_sizes(func: PrimFunc, scalars: dict[Var, Scalar], arrays: Mapping[str, Array]) -> None:
    """Solve the shapes for the sizes in them, plain names first."""
    unknown = {v for v in shape_vars(func) if v not in scalars}
    known = [
        (e, n) for b in func.buffers if b.name in arrays for e, n in zip(b.shape, arrays[b.name].shape, strict=True)
    ]
    for extent, size in sorted(known, key=lambda pair: not isinstance(pair[0], Var)):
        solved = _solve(extent, size, unknown, scalars)
        if solved is not None:
            scalars[solved[0]] = solved[1]
            unknown.discard(solved[0])
    for var in shape_vars(func):
        if var in unknown:
            message = f"the size `{var.name}` of {func.name} is not known from any array given"
            raise InterpretTypeError("arguments", message, var.span, help=f"name it, as in {var.name}=4")


def _solve(extent: Expr, size: int, unknown: set[Var], scalars: Mapping[Var, Scalar]) -> tuple[Var, int] | None:
    """The one unknown of an extent that is linear in it, and its value."""
    match extent:
        case Var() as var if var in unknown:
            return var, size
        case Binary(op=("add" | "sub" | "mul") as op, lhs=a, rhs=b) if free_vars(a) & unknown or free_vars(b) & unknown:
            left = bool(free_vars(a) & unknown)
            other = b if left else a
            if free_vars(other) & unknown:
                return None
            machine = Machine(False, np.random.default_rng(0))
            machine.scalars.update(scalars)
            known = machine.integer(other, "an extent")
            if op == "mul":
                return (
                    _solve(a if left else b, size // known, unknown, scalars) if known and size % known == 0 else None
                )
            rest = size - known if op == "add" else size + known if left else known - size
            return _solve(a if left else b, rest, unknown, scalars)
        case _:
            return None


def _check_shape(func: PrimFunc, buffer: Buffer, array: Array, scalars: Mapping[Var, Scalar]) -> None:
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update(scalars)
    shape = machine.shape(buffer)
    if array.shape != shape:
        message = f"`{buffer.name}` of {func.name}: expected shape {shape}, found {array.shape}"
        sizes = free_vars(*buffer.shape)
        notes = [f"with {v.name} = {scalars[v]}" for v in scalars if v in sizes]
        raise InterpretValueError("arguments", message, buffer.span, notes=notes)
