"""The dialect as type checkers see it: pyright checks this file strictly, and a test runs it."""

from __future__ import annotations

from ir import script as T
from ir.nodes import Expr
from lower.runtime.searched import optimize


@T.function
def scaled(x: T.float32, by: T.int32):
    return x * T.float32(by) + T.float32(1)


def bounded(n: T.int32, b: T.bool_) -> Expr:
    """Expressions over typed variables; the types of scalars are types, and values of theirs are expressions."""
    wide = T.cast(n, T.int64) + T.int64(3)
    return T.if_then_else(T.And(b, n < 8), wide, T.min_value(T.int64))


VALUE = bounded(T.int32("n"), T.bool_("b"))
EMPTY = T.undef(T.float32)


@T.prim_func
def row_sum(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        B[i] = 0.0
        for j in T.serial(6):
            T.assume(A[i, j] >= 0.0)
            B[i] = B[i] + A[i, j]


BEST = optimize(row_sum).best
