"""About how many statements a run of a program executes."""

from __future__ import annotations

import numpy as np

from ir.arith import Scalar
from ir.errors import InterpretError
from ir.nodes import Expr, For, If, Let, PrimFunc, Stmt
from ir.semantics.inputs import Inputs
from ir.semantics.interpret import bind_arguments
from ir.semantics.machine import Machine, Memory, Undefined
from ir.traverse import ANY_STEPS, stmt_children


def estimated_steps(func: PrimFunc, inputs: Inputs) -> float:
    """About how many statements a run on these inputs executes: each loop as often as in the middle of those around it.

    Exact for rectangular and triangular nests. An extent that only a run would tell counts as the longest array.
    """
    scalars, arrays = bind_arguments(func, (), inputs)
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update(scalars)
    for name, array in arrays.items():
        machine.memory[name] = Memory(array, np.zeros(array.shape, np.bool_))
    longest = max((n for a in arrays.values() for n in a.shape), default=1)
    return _steps(func.body, machine, longest)


def _steps(stmt: Stmt, machine: Machine, longest: int) -> float:
    match stmt:
        case For(var=var, start=start, extent=extent, body=body):
            first, times = _value(start, machine), _value(extent, machine)
            times = longest if times is None or times == ANY_STEPS else max(int(times), 0)
            machine.scalars[var] = (0 if first is None else int(first)) + max(times - 1, 0) // 2
            return 1.0 + times * _steps(body, machine, longest)
        case Let(var=var, value=value, body=body):
            bound = _value(value, machine)
            if bound is not None:
                machine.scalars[var] = bound
            return 1.0 + _steps(body, machine, longest)
        case If(then=then, other=other):
            return 1.0 + max(_steps(then, machine, longest), _steps(other, machine, longest))
        case _:
            return 1.0 + sum(_steps(s, machine, longest) for s in stmt_children(stmt))


def _value(expr: Expr, machine: Machine) -> Scalar | None:
    """The value of an expression in the middle of the loops around it; None where only a run would tell."""
    try:
        value = machine.value(expr)
    except (InterpretError, KeyError):  # what it reads is not there before the program runs
        return None
    return None if isinstance(value, Undefined) else value
