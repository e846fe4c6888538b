"""The reference interpreter: what a program means (docs/language.md), as a program. Slow, obviously right.

Every buffer element carries whether it is undef. Faults are `InterpretError`s that name the place and the values of the
variables in scope. It is the oracle of all differential tests, so it shares no code with analyses or lowering. What it
runs is verified: names are bound once on a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never, cast

import numpy as np
import numpy.typing as npt

from ir.arith import ArithmeticFault, Scalar, fold_binary, fold_cast, fold_unary, rounded
from ir.dtypes import DType
from ir.errors import InterpretError, Span, suggest
from ir.nodes import (
    Alloc,
    AnyExpr,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
)
from ir.script.printer import to_script
from ir.traverse import free_vars, results_of, shape_vars

Array = npt.NDArray[np.generic]


class Undefined:
    """The value of what is undef."""

    def __repr__(self) -> str:
        return "undef"


class _UndecidedError(Exception):
    """The body of a function would have to choose by an undef value."""


UNDEF = Undefined()
Value = Scalar | Undefined


def interpret(
    func: PrimFunc,
    /,
    *args: object,
    sanitize: bool = False,
    seed: int | None = 0,
    max_steps: int | None = None,
    **named: object,
) -> tuple[Array, ...]:
    """Run `func` and return the buffers it writes, in parameter order, as new arrays; undef elements are zero.

    Arguments follow the parameters, or are given by name; a parameter named like an option must be given by position. A
    buffer that the program writes may be left out, or None: it starts undef. Sizes that no array tells may be named.
    With `sanitize`, assumptions are checked and loads must stay in bounds. `seed` picks the arbitrary values that let
    bindings freeze (None: other ones each time). `max_steps` limits how many statements run.

    Raises:
        InterpretError: an argument does not fit, the program faults, or it takes more steps.
    """
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
    scalars, arrays = bind_arguments(func, args, named)
    machine = Machine(sanitize, np.random.default_rng(seed), max_steps)
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
            help = "only buffers that the program writes may be left out"
            raise InterpretError("arguments", f"{func.name} needs the buffer `{buffer.name}`", buffer.span, help=help)
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
        raise InterpretError("arguments", f"{func.name} takes {len(func.params)} arguments, {len(args)} given")
    given: dict[str, object] = {p.name: a for p, a in zip(func.params, args, strict=False)}
    known = {p.name for p in (*func.params, *shape_vars(func))}
    for name, value in named.items():
        if name not in known:
            raise InterpretError("arguments", f"{func.name} has no parameter `{name}`", help=suggest(name, known))
        if name in given:
            raise InterpretError("arguments", f"`{name}` of {func.name} is given by position and by name")
        given[name] = value
    return given


def _scalar(func: PrimFunc, value: object, var: Var) -> Scalar:
    if value is None:
        raise InterpretError("arguments", f"{func.name} needs the scalar `{var.name}`, {_a(var.dtype)}", var.span)
    item = _as_array(func, value, var.name)
    plain: object = item.item() if item.ndim == 0 else value
    if isinstance(plain, (bool, int, float)):
        if var.dtype.is_float:
            return rounded(float(plain), var.dtype)
        if not isinstance(plain, float) and var.dtype.min <= plain <= var.dtype.max:
            return bool(plain) if var.dtype is DType.BOOL else int(plain)
    found = f"an array of shape {item.shape}" if item.ndim else repr(value)
    raise InterpretError("arguments", f"`{var.name}` of {func.name}: expected {_a(var.dtype)}, found {found}", var.span)


def _as_array(func: PrimFunc, value: object, name: str) -> Array:
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InterpretError("arguments", f"`{name}` of {func.name} is not an array: {error}") from error


def _a(dtype: DType) -> str:
    return f"an {dtype}" if dtype.value.startswith("int") else f"a {dtype}"


def _array(func: PrimFunc, value: object, buffer: Buffer) -> Array:
    array = _as_array(func, value, buffer.name)
    if array.ndim != len(buffer.shape) or array.dtype != buffer.dtype.numpy:
        wanted = f"{buffer.dtype} of rank {len(buffer.shape)}"
        found = f"{array.dtype} of rank {array.ndim}, shape {array.shape}"
        raise InterpretError(
            "arguments", f"`{buffer.name}` of {func.name}: expected {wanted}, found {found}", buffer.span
        )
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
            raise InterpretError("arguments", message, var.span, help=f"name it, as in {var.name}=4")


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
        sizes = {v for e in buffer.shape for v in free_vars(e)}
        notes = [f"with {v.name} = {scalars[v]}" for v in scalars if v in sizes]
        raise InterpretError("arguments", message, buffer.span, notes=notes)


# Execution -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Memory:
    """The elements of one buffer, and which of them are undef."""

    values: Array
    undef: npt.NDArray[np.bool_]


@dataclass(slots=True)
class Machine:
    """The state of a run: scalars in scope and buffers by name. Assumptions are checked only with `sanitize`.

    In the body of a function, `undef` holds the parameters that are; elsewhere it is None.
    """

    sanitize: bool
    rng: np.random.Generator
    steps: int | None = None
    scalars: dict[Var, Scalar] = field(default_factory=lambda: dict[Var, Scalar]())
    memory: dict[str, Memory] = field(default_factory=lambda: dict[str, Memory]())
    undef: frozenset[Var] | None = None

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        """The shape of a buffer here; a negative extent means no elements."""
        return tuple(max(self.integer(e, "an extent"), 0) for e in buffer.shape)

    def add_buffer(self, buffer: Buffer, initial: Array | None) -> None:
        """Bring a buffer into being, undef or as a copy of `initial`."""
        shape = self.shape(buffer)
        try:
            values = np.zeros(shape, buffer.dtype.numpy) if initial is None else np.array(initial)
            self.memory[buffer.name] = Memory(values, np.full(shape, initial is None))
        except (MemoryError, ValueError) as error:
            message = f"{buffer.name} of shape {shape} is too large to be interpreted"
            raise self.fault("too-large", message, buffer.span) from error

    def fault(self, code: str, message: str, span: Span | None) -> InterpretError:
        """An error that tells the scalars in scope."""
        state = ", ".join(f"{v.name} = {x}" for v, x in self.scalars.items())
        return InterpretError(code, message, span, notes=[f"with {state}"] if state else [])

    # Statements ------------------------------------------------------------------------------------------------------

    def run(self, stmt: Stmt) -> None:
        """Execute a statement.

        Raises:
            InterpretError: it faults.
        """
        self._count(stmt)
        match cast(AnyStmt, stmt):
            case Seq(stmts=stmts):
                for part in stmts:
                    self.run(part)
            case Store() as store:
                self._store(store)
            case If(cond=cond, then=yes, other=no):
                self.run(yes if self.condition(cond) else no)
            case For() as loop:
                self._loop(loop)
            case Let(var=var, value=value, body=body):
                self.scalars[var] = self._frozen(self.value(value), var.dtype)
                self.run(body)
                del self.scalars[var]
            case Alloc(buffer=buffer, body=body):
                self.add_buffer(buffer, None)
                self.run(body)
                del self.memory[buffer.name]
            case Assume() as assume:
                self.assume(assume)
            case Assert(cond=cond, message=message, span=span):
                if not self.condition(cond):
                    raise self.fault("assert-failed", message or f"`{to_script(cond)}` does not hold", span)
            case Evaluate(value=value):
                self.value(value)
            case Block() as block:
                self._block(block)
            case other:
                assert_never(other)

    def _loop(self, loop: For) -> None:
        start = self.integer(loop.start, "the start of a loop")
        stop = start + self.integer(loop.extent, "the extent of a loop")
        if start < stop and stop - 1 > loop.var.dtype.max:
            raise self.fault(
                "overflow", f"{loop.var.name} reaches {stop - 1}, which leaves {loop.var.dtype}", loop.span
            )
        for value in range(start, stop):
            self.scalars[loop.var] = value
            self.run(loop.body)
        self.scalars.pop(loop.var, None)

    def _count(self, stmt: Stmt) -> None:
        if self.steps is not None:
            if self.steps == 0:
                raise self.fault("too-many-steps", "the program takes more steps than allowed", stmt.span)
            self.steps -= 1

    def assume(self, stmt: Assume) -> None:
        """Check an assumption if asked to."""
        if self.sanitize and not self.holds(stmt.cond):
            message = f"the assumption `{to_script(stmt.cond)}` does not hold"
            raise self.fault("assumption-false", message, stmt.span)

    def _frozen(self, value: Value, dtype: DType) -> Scalar:
        """One arbitrary value in place of undef, often an awkward one."""
        if not isinstance(value, Undefined):
            return value
        if dtype is DType.BOOL:
            return bool(self.rng.integers(2))
        awkward = (0, 1, -1.5, 7.25, 3e4, -6e4) if dtype.is_float else (0, 1, dtype.min, dtype.max, dtype.max // 3)
        pick = int(self.rng.integers(len(awkward) + 2))
        number = awkward[pick] if pick < len(awkward) else int(self.rng.integers(100))
        return rounded(number, dtype) if dtype.is_float else int(number)

    def _store(self, stmt: Store) -> None:
        memory = self._memory(stmt.buffer, stmt.span)
        index = tuple([self.integer(i, "an index") for i in stmt.indices])
        value = self.value(stmt.value)
        if not _inside(index, memory.values.shape):
            message = f"store to {stmt.buffer.name}{list(index)} leaves its shape {memory.values.shape}"
            raise self.fault("store-out-of-bounds", message, stmt.span)
        undefined = isinstance(value, Undefined)
        memory.undef[index] = undefined
        if not undefined:
            memory.values[index] = value

    def _block(self, block: Block) -> None:
        for axis in block.axes:
            self.scalars[axis.var] = self.integer(axis.value, "the value of an axis")
        if self.condition(block.predicate):
            reduced = [a for a in block.axes if a.kind == "reduce"]
            if block.init is not None and all(
                self.scalars[a.var] == self.integer(a.start, "the start of an axis") for a in reduced
            ):
                self.run(block.init)
            self.run(block.body)
        for axis in block.axes:
            del self.scalars[axis.var]

    # Expressions -----------------------------------------------------------------------------------------------------

    def integer(self, expr: Expr, what: str) -> int:
        """The value of an expression that may not be undef: an index or a bound."""
        value = self.value(expr)
        if isinstance(value, Undefined):
            raise self.fault("undef-index", f"{what} is undef: `{to_script(expr)}`", expr.span)
        return int(value)

    def condition(self, expr: Expr) -> bool:
        """The value of a condition, which may not be undef."""
        return self._decided(self.value(expr), expr)

    def holds(self, cond: Expr) -> bool:
        """Whether an assumption holds; that something equals undef always does."""
        return self._decided(self._assumed(cond), cond)

    def _decided(self, value: Value, cond: Expr) -> bool:
        if isinstance(value, Undefined):
            if self.undef is not None:
                raise _UndecidedError
            raise self.fault("undef-condition", f"a condition is undef: `{to_script(cond)}`", cond.span)
        return bool(value)

    def _assumed(self, cond: Expr) -> Value:
        match cond:
            case Binary(op=("and" | "or") as op, lhs=a, rhs=b):
                return self._logic(op, self._assumed(a), lambda: self._assumed(b))
            case Binary(op="eq", lhs=a, rhs=Undef()) | Binary(op="eq", lhs=Undef(), rhs=a):
                self.value(a)  # for the faults it may have
                return True
            case _:
                return self.value(cond)

    def value(self, expr: Expr) -> Value:
        """Evaluate; strict in undef except for annihilators and selection.

        Raises:
            InterpretError: an operation in it faults.
        """
        match cast(AnyExpr, expr):
            case Const(value=value, dtype=dtype):
                return rounded(value, dtype) if isinstance(value, float) else value
            case Var() as var:
                if self.undef is not None and var in self.undef:
                    return UNDEF
                if var not in self.scalars:
                    raise self.fault("unknown-name", f"`{var.name}` has no value here", var.span)
                return self.scalars[var]
            case Undef():
                return UNDEF
            case Load() as load:
                return self._load(load)
            case Select(cond=c, then=a, other=b):
                return self.value(a if self.condition(c) else b)
            case Binary(op=("and" | "or") as op, lhs=a, rhs=b):
                return self._logic(op, self.value(a), lambda: self.value(b))
            case Call() as call:
                return self._call(call)
            case Binary() | Unary() | Cast() as operation:
                return self._operation(operation)
            case other:
                assert_never(other)

    def _memory(self, buffer: Buffer, span: Span | None) -> Memory:
        if buffer.name not in self.memory:
            raise self.fault("unknown-name", f"the buffer `{buffer.name}` does not exist here", span)
        return self.memory[buffer.name]

    def _load(self, load: Load) -> Value:
        memory = self._memory(load.buffer, load.span)
        index = tuple([self.integer(i, "an index") for i in load.indices])
        if not _inside(index, memory.values.shape):
            if self.sanitize:
                message = f"load from {load.buffer.name}{list(index)} leaves its shape {memory.values.shape}"
                raise self.fault("load-out-of-bounds", message, load.span)
            return UNDEF
        if memory.undef[index]:
            return UNDEF
        return cast("Scalar", memory.values[index].item())

    def _call(self, call: Call) -> Value:
        """Arguments first, then the body on their values; it faults with its own place and names."""
        values = dict(zip(call.function.params, [self.value(a) for a in call.args], strict=True))
        known = {p: v for p, v in values.items() if not isinstance(v, Undefined)}
        machine = Machine(self.sanitize, self.rng, scalars=known, undef=frozenset(values.keys() - known.keys()))
        try:
            return machine.value(call.function.body)
        except _UndecidedError:
            return UNDEF
        except InterpretError as error:
            where = "" if call.span is None else f" at {call.span}"
            notes = [*error.notes, f"in `{to_script(call)}`, called{where}"]
            raise InterpretError(error.code, error.message, error.span, notes=notes, help=error.help) from error

    def _logic(self, op: Literal["and", "or"], left: Value, right: Callable[[], Value]) -> Value:
        """Three-valued `and`, `or`; the right operand is evaluated only where the left one does not decide."""
        decisive = op == "or"
        if not isinstance(left, Undefined) and bool(left) is decisive:
            return decisive
        if isinstance(left, Undefined) and self.undef is not None:
            raise _UndecidedError
        other = right()
        if isinstance(left, Undefined) and (isinstance(other, Undefined) or bool(other) is not decisive):
            return UNDEF
        return other

    def _operation(self, expr: Binary | Unary | Cast) -> Value:
        try:
            match expr:
                case Binary(op=op, lhs=lhs, rhs=rhs):
                    a, b = self.value(lhs), self.value(rhs)
                    if isinstance(a, Undefined) or isinstance(b, Undefined):
                        return self._annihilated(op, a, b)
                    return fold_binary(op, a, b, lhs.dtype)
                case Unary(op=op, operand=operand):
                    a = self.value(operand)
                    return UNDEF if isinstance(a, Undefined) else fold_unary(op, a, operand.dtype)
                case Cast(dtype=dtype, operand=operand):
                    a = self.value(operand)
                    return UNDEF if isinstance(a, Undefined) else fold_cast(a, operand.dtype, dtype)
        except ArithmeticFault as fault:
            raise self.fault(fault.kind, f"{fault} in `{to_script(expr)}`", expr.span) from fault

    def _annihilated(self, op: str, a: Value, b: Value) -> Value:
        """`a op b` where an operand is undef: zero if the other one is a factor zero."""
        known = b if isinstance(a, Undefined) else a
        return known if op == "mul" and not isinstance(known, Undefined) and known == 0 else UNDEF


def _inside(index: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(index) == len(shape) and all(0 <= i < n for i, n in zip(index, shape, strict=True))
