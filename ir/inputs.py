"""Random inputs that satisfy a function's assumptions, for checks and tests; the interpreter validates them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ir.arith import Scalar
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.interpret import Machine, Undefined
from ir.nodes import (
    Alloc,
    Assume,
    Binary,
    Block,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Unary,
    Undef,
    Var,
)
from ir.traverse import shape_vars

Inputs = dict[str, npt.NDArray[np.generic] | Scalar]
_TRIES = 200


def random_inputs(func: PrimFunc, rng: np.random.Generator, scalars: Mapping[str, Scalar] | None = None) -> Inputs:
    """Arguments by name for all parameters of `func` that satisfy the assumptions at its start.

    Scalars and sizes not given are small random integers, tried until the assumptions on them hold. Buffers hold small
    integers or moderate floats of both signs; where an assumption fixes an element (`c or A[i] == v`), it holds v.

    Raises:
        LoopsatError: no inputs were found; the message names the assumption that failed last.
    """
    problem = "none of the tries satisfied them"
    for _ in range(_TRIES):
        values = {v: _scalar(v, rng) for v in (*func.scalars, *shape_vars(func))}
        values |= {v: scalars[v.name] for v in values if scalars is not None and v.name in scalars}
        try:
            return _fill(func, values, rng)
        except InterpretError as error:
            problem = str(error)
            if not values or (scalars is not None and all(v.name in scalars for v in values)):
                break
    raise LoopsatError("inputs", f"no inputs satisfy the assumptions of {func.name}", notes=[problem])


def _scalar(var: Var, rng: np.random.Generator) -> Scalar:
    if var.dtype is DType.BOOL:
        return bool(rng.integers(2))
    if var.dtype.is_float:
        return float(np.round(rng.uniform(-4, 4), 2))
    return int(rng.integers(0, 20))


def random_array(shape: tuple[int, ...], dtype: DType, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """Small integers, or moderate floats of both signs."""
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_float:
        return (rng.uniform(-2, 3, shape).round(3)).astype(dtype.numpy)
    return rng.integers(0 if not dtype.is_signed else -5, 8, shape).astype(dtype.numpy)


def _fill(func: PrimFunc, values: dict[Var, Scalar], rng: np.random.Generator) -> Inputs:
    machine = Machine(sanitize=True, rng=rng)
    machine.scalars.update(values)
    for buffer in func.buffers:
        machine.add_buffer(buffer, random_array(machine.shape(buffer), buffer.dtype, rng))
    for stmt in leading_assumptions(func.body):
        _Satisfy(machine).run(stmt)
    for stmt in leading_assumptions(func.body):
        machine.run(stmt)  # an assumption that could not be satisfied faults here
    out: Inputs = {}
    for param in func.params:
        out[param.name] = values[param] if isinstance(param, Var) else machine.memory[param.name].values
    return out


def leading_assumptions(stmt: Stmt) -> Iterator[Stmt]:
    """Statements at the start of a program that only assume."""
    match stmt:
        case Seq(stmts=stmts):
            for part in stmts:
                if not _only_assumes(part):
                    yield from leading_assumptions(part)
                    return
                yield part
        case Block(body=body, axes=()):
            yield from leading_assumptions(body)
        case Alloc(body=body) if isinstance(body, Seq):
            yield from leading_assumptions(body)
        case _ if _only_assumes(stmt):
            yield stmt
        case _:
            pass


def _only_assumes(stmt: Stmt) -> bool:
    match stmt:
        case Assume():
            return True
        case For(body=body) | Let(body=body) | Block(body=body, init=None):
            return _only_assumes(body)
        case If(then=yes, other=no):
            return _only_assumes(yes) and _only_assumes(no)
        case Seq(stmts=stmts):
            return all(map(_only_assumes, stmts))
        case _:
            return False


class _Satisfy:
    """Runs assumptions constructively: sets the elements they speak of."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def run(self, stmt: Stmt) -> None:
        self.machine.run(stmt, on_assume=lambda s: self.make_true(s.cond))

    def make_true(self, cond: Expr) -> bool:
        """Try to make a condition hold by setting elements; returns whether it holds now."""
        match cond:
            case Binary(op="and", lhs=a, rhs=b):
                return self.make_true(a) and self.make_true(b)
            case Binary(op="or", lhs=a, rhs=b):
                return self._holds(a) or self._holds(b) or self.make_true(a) or self.make_true(b)
            case Unary(op="not", operand=Unary(op="not", operand=a)):
                return self.make_true(a)
            case (
                Binary(op="eq", lhs=Load() as load, rhs=value)
                | Binary(op="eq", lhs=Const() as value, rhs=Load() as load)
            ):
                if isinstance(value, Undef):
                    return True
                found = self.machine.value(value)
                if isinstance(found, Undefined):
                    return False
                return self.machine.poke(load, found)
            case _:
                return self._holds(cond)

    def _holds(self, cond: Expr) -> bool:
        return self.machine.assumed(cond)
