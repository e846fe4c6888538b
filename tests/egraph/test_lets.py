"""Bindings: inlined, dropped, introduced for repeated work and for terms that loops share; counted as operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from egraph_rules import Floats, optimize, transforms
from ir import parse, to_script
from ir.arith import fold_binary
from ir.nodes import Binary, Const, Expr, For, If, Let, PrimFunc, Seq, Stmt, Var
from ir.traverse import stmt_children, stmt_exprs, walk, walk_expr
from ir.verify import verify
from strategies import programs

EVERY = (
    transforms.inline_lets(), transforms.common_subexpressions(), transforms.introduce_lets(),
    transforms.hoist_index_terms(),
)  # fmt: skip
NAMES = [step.name for step in EVERY]


def read(body: str) -> PrimFunc:
    return parse("@T.prim_func\n" + body.strip("\n")).funcs[0]


def applied(func: PrimFunc, *steps: transforms.Step, exact: bool = False) -> PrimFunc:
    """The function after the steps, compared with the original on random inputs."""
    new = func
    for step in steps:
        new = step(new)
        verify(new)
        assert parse(to_script(new)).funcs[0] == new
    assert assert_refines(func, new, np.random.default_rng(0), exact=exact) > 0
    return new


def becomes(func: PrimFunc, expected: str, *steps: transforms.Step) -> None:
    assert to_script(applied(func, *steps)) == to_script(read(expected))


def unchanged(func: PrimFunc, *steps: transforms.Step) -> None:
    assert to_script(applied(func, *steps)) == to_script(func)


# Operations of a run, counted as the document on layouts counts them -------------------------------------------------

Numbers = Mapping[str, int]


def operations(func: PrimFunc, **scalars: int) -> tuple[int, int]:
    """Multiplications and additions that a run executes, those in indices included."""
    total = _run(func.body, scalars)
    return total["mul"], total["add"] + total["sub"]


def _run(stmt: Stmt, env: Numbers) -> Counter[str]:
    total: Counter[str] = Counter()
    for expr in stmt_exprs(stmt) if not isinstance(stmt, (For, If)) else ():
        total.update(e.op for e in walk_expr(expr) if isinstance(e, Binary))
    match stmt:
        case For(var=var, start=start, extent=extent, body=body):
            first = _value(start, env)
            for k in range(first, first + _value(extent, env)):
                total.update(_run(body, {**env, var.name: k}))
        case Let(var=var, value=value, body=body):
            inner = {**env, var.name: _value(value, env)} if value.dtype.is_integer else env
            total.update(_run(body, inner))
        case _:
            for part in stmt_children(stmt):
                total.update(_run(part, env))
    return total


def _value(expr: Expr, env: Numbers) -> int:
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return env[name]
        case Binary(op=op, lhs=a, rhs=b):
            return int(fold_binary(op, _value(a, env), _value(b, env), expr.dtype))
        case _:
            raise AssertionError(f"{expr} is no sum of products")


DOCUMENT = read("""
def func(A: T.Buffer((n_i * n_j * n_k,), "float32"), B: T.Buffer((n_i * n_j * n_k,), "float32"),
         n_i: T.int32, n_j: T.int32, n_k: T.int32):
    T.assume(0 <= n_i and n_i <= 1000 and 0 <= n_j and n_j <= 1000 and 0 <= n_k and n_k <= 1000)
    for i, j, k in T.grid(n_i, n_j, n_k):
        A[i * n_j * n_k + j * n_k + k] = B[i * n_j * n_k + j * n_k + k]
""")
SIZES = {"n_i": 3, "n_j": 4, "n_k": 5}


def test_the_document_counts_operations_before():
    n = 3 * 4 * 5
    assert operations(DOCUMENT, **SIZES) == (6 * n, 4 * n)


def test_common_subexpressions_of_the_document():
    n = 3 * 4 * 5
    assert operations(without_hoisting(DOCUMENT), **SIZES) == (3 * n, 2 * n)
    found = applied(DOCUMENT, transforms.common_subexpressions())
    multiplications, additions = operations(found, **SIZES)
    assert multiplications <= 3 * n and additions <= 2 * n


def without_hoisting(func: PrimFunc) -> PrimFunc:
    """Repeated work named where sizes are unknown, so that nothing can move out of a loop that may not run."""
    free = read(to_script(func).replace("@T.prim_func\n", "").replace("n_i <= 1000", "n_i >= 0"))
    del func
    return applied(free, transforms.common_subexpressions())


def test_terms_of_the_document_are_computed_at_their_loops():
    becomes(
        DOCUMENT,
        """
def func(A: T.Buffer((n_i * n_j * n_k,), "float32"), B: T.Buffer((n_i * n_j * n_k,), "float32"),
         n_i: T.int32, n_j: T.int32, n_k: T.int32):
    T.assume(0 <= n_i and n_i <= 1000 and 0 <= n_j and n_j <= 1000 and 0 <= n_k and n_k <= 1000)
    term = n_j * n_k
    for i in T.serial(n_i):
        i_term = i * term
        for j in T.serial(n_j):
            j_term = i_term + j * n_k
            for k in T.serial(n_k):
                index = j_term + k
                A[index] = B[index]
""",
        transforms.hoist_index_terms(),
    )
    found = operations(transforms.hoist_index_terms()(DOCUMENT), **SIZES)
    assert found == (3 * 4 + 3 + 1, 3 * 4 * 5 + 3 * 4)
