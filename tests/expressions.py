"""Expressions as tests write them, and their values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ir import parse_expr
from ir.arith import Scalar
from ir.nodes import Expr, Var
from ir.semantics.machine import Machine

NAMES = dict.fromkeys("abcdijkmnpqwxyz", "int32") | {"u": "uint8", "v": "uint8", "s": "int64", "t": "bool"}


def read(text: str) -> Expr:
    return parse_expr(text, NAMES)


def value(expr: Expr, values: Mapping[Var, Scalar]) -> object:
    """What an expression is for some values of its variables; faults are raised as the interpreter does."""
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update(values)
    return machine.value(expr)
