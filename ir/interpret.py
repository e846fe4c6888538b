"""The reference interpreter: what a program means (docs/language.md), as a program. Slow, obviously right.

Every buffer element carries whether it is undef. Faults are `InterpretError`s that name the place and the values of the
variables in scope. It is the oracle of all differential tests, so it shares no code with analyses or lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import assert_never, cast

import numpy as np
import numpy.typing as npt

from ir.arith import ArithmeticFault, Scalar, fold_binary, fold_cast, fold_unary
from ir.dtypes import DType
from ir.errors import InterpretError, Span
from ir.nodes import (
    Alloc,
    AnyExpr,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
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
from ir.traverse import buffers_written, shape_vars

Array = npt.NDArray[np.generic]
Argument = Array | Scalar | None


class Undefined:
    """The value of what is undef."""

    def __repr__(self) -> str:
        return "undef"


UNDEF = Undefined()
Value = Scalar | Undefined


def interpret(
    func: PrimFunc, *args: object, sanitize: bool = False, seed: int = 0, **named: object
) -> tuple[Array, ...]:
    """Run `func` and return the buffers it writes, in parameter order, as new arrays; undef elements are zero.

    Arguments follow the parameters, or are given by name. A buffer that is not given starts undef; its shape must then
    be known from other arguments. With `sanitize`, assumptions are checked and loads must stay in bounds. `seed`
    picks the arbitrary values that let bindings freeze.

    Raises:
        InterpretError: an argument does not fit, or the program faults.
    """
    results = interpret_with_undef(func, *args, sanitize=sanitize, seed=seed, **named)
    return tuple(np.where(undef, np.zeros((), values.dtype), values) for values, undef in results)


def interpret_with_undef(
    func: PrimFunc, *args: object, sanitize: bool = False, seed: int = 0, **named: object
) -> tuple[tuple[Array, npt.NDArray[np.bool_]], ...]:
    """Like `interpret`, but each result comes with a mask of its undef elements."""
    scalars, arrays = bind_arguments(func, args, named)
    machine = Machine(sanitize, np.random.default_rng(seed))
    machine.scalars.update(scalars)
    for buffer in func.buffers:
        machine.add_buffer(buffer, arrays.get(buffer.name))
    machine.run(func.body)
    written = buffers_written(func.body)
    return tuple((machine.memory[b.name].values, machine.memory[b.name].undef) for b in func.buffers if b in written)


def bind_arguments(
    func: PrimFunc, args: Sequence[object], named: dict[str, object]
) -> tuple[dict[Var, Scalar], dict[str, Array]]:
    """Match arguments with parameters; shape variables get their values from the arrays.

    Raises:
        InterpretError: too many arguments, an unknown name, a wrong rank, shape or dtype, or a missing scalar.
    """
    if len(args) > len(func.params):
        raise InterpretError("arguments", f"{func.name} takes {len(func.params)} arguments, {len(args)} given")
    known = {p.name for p in func.params}
    unknown = [n for n in named if n not in known]
    if unknown:
        raise InterpretError("arguments", f"{func.name} has no parameter `{unknown[0]}`")
    given: dict[str, object] = {p.name: a for p, a in zip(func.params, args, strict=False)} | named
    scalars: dict[Var, Scalar] = {}
    for var in func.scalars:
        if given.get(var.name) is None:
            raise InterpretError("arguments", f"{func.name} needs the scalar `{var.name}`")
        scalars[var] = _scalar(given[var.name], var)
    symbols = set(shape_vars(func))
    arrays = {b.name: _array(given[b.name], b) for b in func.buffers if given.get(b.name) is not None}
    for buffer in func.buffers:
        for extent, size in zip(buffer.shape, arrays[buffer.name].shape if buffer.name in arrays else (), strict=False):
            if isinstance(extent, Var) and extent in symbols:
                scalars.setdefault(extent, int(size))
    for var in symbols:
        if var not in scalars:
            raise InterpretError("arguments", f"the size `{var.name}` is not known from any array given")
    for buffer in func.buffers:
        if buffer.name in arrays:
            _check_shape(buffer, arrays[buffer.name], scalars)
    return scalars, arrays


def _scalar(value: object, var: Var) -> Scalar:
    item = np.asarray(value)
    if item.ndim != 0:
        raise InterpretError("arguments", f"`{var.name}` is a scalar, an array of shape {item.shape} was given")
    plain = cast("Scalar", item.item())
    if var.dtype.is_integer and (isinstance(plain, float) or not var.dtype.min <= plain <= var.dtype.max):
        raise InterpretError("arguments", f"`{var.name}` is {var.dtype}, {plain} does not fit")
    return fold_cast(plain, DType.FLOAT64, var.dtype) if var.dtype.is_float else plain


def _array(value: object, buffer: Buffer) -> Array:
    array = np.asarray(value)
    if array.ndim != len(buffer.shape):
        raise InterpretError(
            "arguments", f"`{buffer.name}` has {len(buffer.shape)} dimensions, an array of {array.ndim} was given"
        )
    if array.dtype != buffer.dtype.numpy:
        raise InterpretError("arguments", f"`{buffer.name}` is {buffer.dtype}, an array of {array.dtype} was given")
    return array


def _check_shape(buffer: Buffer, array: Array, scalars: dict[Var, Scalar]) -> None:
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update(scalars)
    shape = machine.shape(buffer)
    if array.shape != shape:
        raise InterpretError("arguments", f"`{buffer.name}` has shape {shape}, an array of {array.shape} was given")


@dataclass(slots=True)
class _Memory:
    values: Array
    undef: npt.NDArray[np.bool_]


@dataclass(slots=True)
class Machine:
    """The state of a run: scalars in scope and buffers by name. Assumptions are checked only with `sanitize`."""

    sanitize: bool
    rng: np.random.Generator
    scalars: dict[Var, Scalar] = field(default_factory=lambda: dict[Var, Scalar]())
    memory: dict[str, _Memory] = field(default_factory=lambda: dict[str, _Memory]())

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        return tuple(max(self.integer(e, "an extent"), 0) for e in buffer.shape)

    def add_buffer(self, buffer: Buffer, initial: Array | None) -> None:
        shape = self.shape(buffer)
        if initial is None:
            self.memory[buffer.name] = _Memory(np.zeros(shape, buffer.dtype.numpy), np.ones(shape, np.bool_))
        else:
            self.memory[buffer.name] = _Memory(np.array(initial), np.zeros(shape, np.bool_))

    def poke(self, load: Load, value: Scalar) -> bool:
        """Set the element a load reads; False if it lies outside its buffer."""
        memory = self.memory[load.buffer.name]
        index = tuple(self.integer(i, "an index") for i in load.indices)
        if not _inside(index, memory.values.shape):
            return False
        memory.values[index] = value
        return True

    def fault(self, code: str, message: str, span: Span | None) -> InterpretError:
        state = ", ".join(f"{v.name} = {x}" for v, x in self.scalars.items())
        return InterpretError(code, message, span, notes=[f"with {state}"] if state else [])

    # Statements ------------------------------------------------------------------------------------------------------

    def run(self, stmt: Stmt, on_assume: Callable[[Assume], object] | None = None) -> None:
        """Execute a statement; `on_assume` replaces the check of assumptions."""
        match cast(AnyStmt, stmt):
            case Seq(stmts=stmts):
                for part in stmts:
                    self.run(part, on_assume)
            case Store():
                self._store(stmt)
            case If(cond=cond, then=yes, other=no):
                self.run(yes if self.condition(cond) else no, on_assume)
            case For() as loop:
                start, extent = self.integer(loop.start, "a loop bound"), self.integer(loop.extent, "an extent")
                for value in range(start, start + extent):
                    self._with(loop.var, value, lambda: self.run(loop.body, on_assume))
            case Let(var=var, value=value, body=body):
                self._with(var, self._frozen(self.value(value), var.dtype), lambda: self.run(body, on_assume))
            case Alloc(buffer=buffer, body=body):
                outer = self.memory.get(buffer.name)
                self.add_buffer(buffer, None)
                self.run(body, on_assume)
                if outer is not None:
                    self.memory[buffer.name] = outer
            case Assume() as assume if on_assume is not None:
                on_assume(assume)
            case Assume(cond=cond, span=span):
                if self.sanitize and not self.assumed(cond):
                    raise self.fault("assumption-false", "an assumption does not hold", span)
            case Assert(cond=cond, message=message, span=span):
                if not self.condition(cond):
                    raise self.fault("assert-failed", message or "an assertion failed", span)
            case Evaluate(value=value):
                self.value(value)
            case Block():
                self._block(stmt, on_assume)
            case other:
                assert_never(other)

    def _with(self, var: Var, value: Scalar, action: Callable[[], None]) -> None:
        outer = self.scalars.get(var)
        self.scalars[var] = value
        action()
        if outer is None:
            del self.scalars[var]
        else:
            self.scalars[var] = outer

    def _frozen(self, value: Value, dtype: DType) -> Scalar:
        """One arbitrary value in place of undef, extreme ones included."""
        if not isinstance(value, Undefined):
            return value
        if dtype is DType.BOOL:
            return bool(self.rng.integers(2))
        if dtype.is_float:
            return float(self.rng.choice([0.0, -1.5, 7.25, 1e6, -3e4]))
        return int(self.rng.choice(np.array([0, 1, dtype.min, dtype.max, 5], dtype=object)))

    def _store(self, stmt: Stmt) -> None:
        assert isinstance(stmt, Store)
        memory = self.memory[stmt.buffer.name]
        index = tuple(self.integer(i, "an index") for i in stmt.indices)
        value = self.value(stmt.value)
        if not _inside(index, memory.values.shape):
            shape = memory.values.shape
            raise self.fault(
                "store-out-of-bounds", f"store to {stmt.buffer.name}{list(index)} leaves its shape {shape}", stmt.span
            )
        undefined = isinstance(value, Undefined)
        memory.undef[index] = undefined
        if not undefined:
            memory.values[index] = value

    def _block(self, stmt: Stmt, on_assume: Callable[[Assume], object] | None) -> None:
        assert isinstance(stmt, Block)
        block = stmt

        def body() -> None:
            if not self.condition(block.predicate):
                return
            starts = (a for a in block.axes if a.kind == "reduce")
            if block.init is not None and all(self.value(a.var) == self.value(a.start) for a in starts):
                self.run(block.init, on_assume)
            self.run(block.body, on_assume)

        def bind(k: int) -> None:
            if k == len(block.axes):
                body()
            else:
                axis = block.axes[k]
                self._with(axis.var, self.integer(axis.value, "an axis"), lambda: bind(k + 1))

        bind(0)

    # Expressions -----------------------------------------------------------------------------------------------------

    def integer(self, expr: Expr, what: str) -> int:
        value = self.value(expr)
        if isinstance(value, Undefined):
            raise self.fault("undef-index", f"{what} is undef", expr.span)
        return int(value)

    def condition(self, expr: Expr) -> bool:
        value = self.value(expr)
        if isinstance(value, Undefined):
            raise self.fault("undef-condition", "a condition is undef", expr.span)
        return bool(value)

    def assumed(self, cond: Expr) -> bool:
        """Whether an assumption holds; `A[i] == undef` always does."""
        match cond:
            case Binary(op="and", lhs=a, rhs=b):
                return self.assumed(a) and self.assumed(b)
            case Binary(op="or", lhs=a, rhs=b):
                return self.assumed(a) or self.assumed(b)
            case Binary(op="eq", lhs=a, rhs=b) if isinstance(a, Undef) or isinstance(b, Undef):
                return True
            case _:
                return self.value(cond) is True or self.value(cond) == 1

    def value(self, expr: Expr) -> Value:
        match cast(AnyExpr, expr):
            case Const(value=value, dtype=dtype):
                return fold_cast(value, DType.FLOAT64, dtype) if dtype.is_float else value
            case Var() as var:
                return self.scalars[var]
            case Undef():
                return UNDEF
            case Load(buffer=buffer, indices=indices):
                return self._load(buffer, indices, expr.span)
            case Select(cond=c, then=a, other=b):
                return self.value(a if self.condition(c) else b)
            case Unary(op=op, operand=a):
                value = self.value(a)
                if isinstance(value, Undefined):
                    return UNDEF
                return self._checked(lambda: fold_unary(op, value, a.dtype), expr)
            case Cast(dtype=dtype, operand=a):
                value = self.value(a)
                if isinstance(value, Undefined):
                    return UNDEF
                return self._checked(lambda: fold_cast(value, a.dtype, dtype), expr)
            case Binary():
                return self._binary(expr)
            case other:
                assert_never(other)

    def _load(self, buffer: Buffer, indices: tuple[Expr, ...], span: Span | None) -> Value:
        memory = self.memory[buffer.name]
        index = tuple(self.integer(i, "an index") for i in indices)
        if not _inside(index, memory.values.shape):
            if self.sanitize:
                shape = memory.values.shape
                raise self.fault(
                    "load-out-of-bounds", f"load from {buffer.name}{list(index)} leaves its shape {shape}", span
                )
            return UNDEF
        return UNDEF if memory.undef[index] else cast("Scalar", memory.values[index].item())

    def _binary(self, expr: Expr) -> Value:
        assert isinstance(expr, Binary)
        op, a = expr.op, self.value(expr.lhs)
        if op in ("and", "or"):
            if not isinstance(a, Undefined):
                return self.value(expr.rhs) if bool(a) == (op == "and") else a
            b = self.value(expr.rhs)
            return b if not isinstance(b, Undefined) and bool(b) == (op == "or") else UNDEF
        b = self.value(expr.rhs)
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            known = b if isinstance(a, Undefined) else a
            return known if op == "mul" and not isinstance(known, Undefined) and known == 0 else UNDEF
        return self._checked(lambda: fold_binary(op, a, b, expr.lhs.dtype), expr)

    def _checked(self, compute: Callable[[], Scalar], expr: Expr) -> Scalar:
        try:
            return compute()
        except ArithmeticFault as error:
            raise self.fault(error.kind, str(error), expr.span) from error


def _inside(index: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(0 <= i < n for i, n in zip(index, shape, strict=True))
