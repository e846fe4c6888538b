"""Names, dtypes, ranks, literals and undef: each check with a program that fails and one that nearly fails."""

from __future__ import annotations

import pytest

from ir.dtypes import DType
from ir.errors import Span, VerifyError
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    IterVar,
    Let,
    Load,
    PrimFunc,
    Region,
    Select,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    const,
    seq,
)
from ir.semantics.verify import Verified, verify

I32, F32 = DType.INT32, DType.FLOAT32
J, K, N, X = (Var(name, I32) for name in "jknx")
A, B = Buffer("A", (const(16, I32),), F32), Buffer("B", (const(16, I32),), F32)
ZERO, UNDEF = Const(0.0, F32), Undef(I32)
SPAN = Span("k.py", 3, 4, 8, "    B[i] = 0.0")


def number(value: int) -> Const:
    return const(value, I32)


def loop(body: Stmt, extent: Expr | int = 16) -> For:
    return For(K, number(0), number(extent) if isinstance(extent, int) else extent, body)


def function(*body: Stmt, params: tuple[Var | Buffer, ...] = (A, B, N)) -> PrimFunc:
    return PrimFunc("f", params, seq(*body))


def test_a_correct_function_passes_and_stays_as_it_is():
    func = function(loop(Store(B, (K,), Load(A, (K,)))))
    assert verify(func) == Verified(())
    assert verify(function()) == Verified(())


def store(index: Expr = K, value: Expr = ZERO, buffer: Buffer = B) -> Stmt:
    return loop(Store(buffer, (index,), value))


OTHER = Buffer("B", (number(17),), F32)
IDX = Buffer("idx", (number(16),), I32)
FLAG = Buffer("flag", (), DType.BOOL)
AXIS = IterVar(J, "spatial", number(0), number(16), K)
SIZED = Buffer("C", (N + 1,), F32)

MALFORMED = {
    "unknown variable": (store(J), "unknown-name"),
    "variable after its scope": (seq(store(), Store(B, (K,), ZERO)), "unknown-name"),
    "unknown buffer": (store(buffer=Buffer("C", (number(16),), F32)), "unknown-name"),
    "buffer after its scope": (seq(Alloc(SIZED, SKIP), Store(SIZED, (number(0),), ZERO)), "unknown-name"),
    "buffer used as another": (store(buffer=OTHER), "buffer-mismatch"),
    "variable used as buffer": (Store(Buffer("n", (number(2),), F32), (number(0),), ZERO), "not-a-buffer"),
    "buffer used as variable": (Evaluate(Var("A", I32)), "rank"),
    "loop shadows loop": (loop(loop(SKIP)), "shadowed-name"),
    "let shadows parameter": (Let(N, number(1), SKIP), "shadowed-name"),
    "allocation shadows parameter": (Alloc(Buffer("A", (), F32), SKIP), "shadowed-name"),
    "axis shadows loop": (
        loop(Block("b", SKIP, (IterVar(K, "spatial", number(0), number(4), N),))),
        "shadowed-name",
    ),
    "too few indices": (Store(B, (), ZERO), "rank"),
    "too many indices in a load": (Evaluate(Load(A, (N, N))), "rank"),
    "index of floats": (Store(B, (ZERO,), ZERO), "dtype-mismatch"),
    "index of bools": (Store(B, (TRUE,), ZERO), "dtype-mismatch"),
    "stored value of another dtype": (Store(B, (number(0),), number(1)), "dtype-mismatch"),
    "variable of another dtype": (Evaluate(Var("n", DType.INT64)), "dtype-mismatch"),
    "operands that differ": (Evaluate(Binary("add", N, Const(1, DType.INT64))), "dtype-mismatch"),
    "integer division of floats": (Evaluate(Binary("floordiv", ZERO, ZERO)), "dtype-mismatch"),
    "true division of integers": (Evaluate(Binary("div", N, N)), "dtype-mismatch"),
    "order of bools": (Evaluate(Binary("lt", TRUE, TRUE)), "dtype-mismatch"),
    "sum of bools": (Evaluate(Binary("add", TRUE, TRUE)), "dtype-mismatch"),
    "logic of integers": (Evaluate(Binary("and", N, N)), "dtype-mismatch"),
    "not of an integer": (Evaluate(Unary("not", N)), "dtype-mismatch"),
    "bitnot of a bool": (Evaluate(Unary("bitnot", TRUE)), "dtype-mismatch"),
    "ones of a bool": (Evaluate(Unary("popcount", TRUE)), "dtype-mismatch"),
    "exp of an integer": (Evaluate(Unary("exp", N)), "dtype-mismatch"),
    "hypotenuse of integers": (Evaluate(Binary("hypot", N, N)), "dtype-mismatch"),
    "negated bool": (Evaluate(Unary("neg", TRUE)), "dtype-mismatch"),
    "arms that differ": (Evaluate(Select(TRUE, N, ZERO)), "dtype-mismatch"),
    "condition of integers": (If(N, SKIP, SKIP), "dtype-mismatch"),
    "selection by integers": (Evaluate(Select(N, N, N)), "dtype-mismatch"),
    "assumption of integers": (Assume(N), "dtype-mismatch"),
    "assertion of integers": (Assert(N), "dtype-mismatch"),
    "predicate of integers": (Block("b", SKIP, predicate=N), "dtype-mismatch"),
    "let of another dtype": (Let(X, ZERO, SKIP), "dtype-mismatch"),
    "loop over floats": (For(Var("y", F32), ZERO, ZERO, SKIP), "dtype-mismatch"),
    "extent of another dtype": (For(K, number(0), Const(4, DType.INT64), SKIP), "dtype-mismatch"),
    "axis of another dtype": (
        Block("b", SKIP, (IterVar(J, "spatial", number(0), number(4), Const(0, DType.INT64)),)),
        "dtype-mismatch",
    ),
    "unknown kind of loop": (For(K, number(0), N, SKIP, "paralel"), "loop-kind"),  # pyright: ignore
    "literal too large": (Evaluate(Const(128, DType.INT8)), "literal-range"),
    "negative unsigned literal": (Evaluate(Const(-1, DType.UINT32)), "literal-range"),
    "float literal of an integer": (Evaluate(Const(1.0, I32)), "dtype-mismatch"),
    "bool literal of an integer": (Evaluate(Const(True, I32)), "dtype-mismatch"),
    "integer literal of a float": (Evaluate(Const(1, F32)), "dtype-mismatch"),
    "undef as index": (Store(B, (UNDEF,), ZERO), "undef-misuse"),
    "undef in the index of a load": (Evaluate(Load(A, (N + UNDEF,))), "undef-misuse"),
    "undef as extent": (For(K, number(0), UNDEF, SKIP), "undef-misuse"),
    "undef as start": (For(K, UNDEF, N, SKIP), "undef-misuse"),
    "undef as axis value": (Block("b", SKIP, (IterVar(J, "spatial", number(0), N, UNDEF),)), "undef-misuse"),
    "undef in a condition": (If(N == UNDEF, SKIP, SKIP), "undef-misuse"),
    "undef in an assertion": (Assert(Load(A, (number(0),)) == Undef(F32)), "undef-misuse"),
    "undef selecting": (Evaluate(Select(Undef(DType.BOOL), N, N)), "undef-misuse"),
    "assumption that something is not undef": (Assume(~(Load(A, (number(0),)) == Undef(F32))), "undef-misuse"),
    "assumption on an undef sum": (Assume(Load(A, (number(0),)) + 1.0 == Undef(F32)), "undef-misuse"),
    "undef in a shape": (Alloc(Buffer("C", (UNDEF,), F32), SKIP), "undef-misuse"),
    "shape over a loop variable": (loop(Alloc(Buffer("C", (K,), F32), SKIP)), "shape"),
    "shape over data": (Alloc(Buffer("C", (Load(IDX, (number(0),)),), F32), SKIP), "shape"),
    "shape of floats": (Alloc(Buffer("C", (ZERO,), F32), SKIP), "dtype-mismatch"),
    "negative extent": (Alloc(Buffer("C", (number(-1),), F32), SKIP), "extent"),
    "region of wrong rank": (Block("b", SKIP, reads=(Region(A, ()),)), "rank"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_programs_are_refused_with_a_place(case: str):
    body, code = MALFORMED[case]
    with pytest.raises(VerifyError) as caught:
        verify(PrimFunc("f", (A, B, N, IDX, FLAG), body, span=SPAN))
    assert caught.value.code == code
    assert caught.value.span == SPAN


WELL_FORMED = {
    "siblings reuse a name": seq(store(), store()),
    "let then loop": Let(X, N + 1, store(value=Load(A, (K,)))),
    "comparison of bools": Evaluate(Binary("eq", TRUE, Load(FLAG, ()))),
    "smallest literals": Evaluate(Binary("add", Const(-128, DType.INT8), Const(127, DType.INT8))),
    "undef bound by a let": Let(X, UNDEF, If(X == N, SKIP, SKIP)),
    "undef stored": store(value=Undef(F32)),
    "undef in an arm": store(value=Select(K < 3, Undef(F32), ZERO)),
    "undef permitted": loop(Assume((K < 14) | (Load(A, (K,)) == Undef(F32)) & (Undef(F32) == Load(B, (K,))))),
    "shape over a scalar": Alloc(SIZED, SKIP),
    "axes bind in order": loop(Block("b", SKIP, (AXIS, IterVar(X, "reduce", number(0), N, J + 1)), X < N)),
}


@pytest.mark.parametrize("case", WELL_FORMED)
def test_near_misses_are_accepted(case: str):
    assert verify(PrimFunc("f", (A, B, N, IDX, FLAG), WELL_FORMED[case])) == Verified(())


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ((A, A), "duplicate-name"),
        ((N, Buffer("n", (), F32)), "duplicate-name"),
        ((N, Buffer("C", (Var("n", DType.INT64),), F32)), "duplicate-name"),
        ((A, Buffer("C", (Var("A", I32),), F32)), "duplicate-name"),
        ((Var("n", F32), Buffer("C", (Var("n", F32),), F32)), "dtype-mismatch"),
        ((Buffer("C", (number(-2),), F32),), "extent"),
    ],
)
def test_parameters_must_agree(params: tuple[Var | Buffer, ...], code: str):
    with pytest.raises(VerifyError) as caught:
        verify(function(params=params))
    assert caught.value.code == code


def test_shape_variables_are_names_too():
    size = Buffer("C", (Var("m", I32), N), F32)
    body = For(K, number(0), Var("m", I32), For(J, number(0), N, Store(size, (K, J), ZERO)))
    assert verify(PrimFunc("f", (size, N), body)) == Verified(())
    with pytest.raises(VerifyError, match="bound again"):
        verify(PrimFunc("f", (size, N), Let(Var("m", I32), N, SKIP)))


def test_unknown_names_suggest_near_ones_and_mismatches_say_what_to_do():
    with pytest.raises(VerifyError) as caught:
        verify(function(Evaluate(Var("count", I32)), params=(Var("counts", I32),)))
    assert caught.value.help == "did you mean `counts`?"
    with pytest.raises(VerifyError) as caught:
        verify(function(Evaluate(Binary("add", N, Const(1, DType.INT64)))))
    assert "int32" in caught.value.message and "int64" in caught.value.message and "T.cast" in caught.value.help


def test_the_first_problem_is_reported():
    bad = Store(B, (number(0),), number(1))
    with pytest.raises(VerifyError, match="not defined"):
        verify(function(Evaluate(X), bad))
    with pytest.raises(VerifyError, match="must be float32"):
        verify(function(bad, Evaluate(X)))


def test_deep_nesting_is_an_error_and_not_a_crash():
    expr: Expr = N
    for _ in range(20_000):
        expr = Binary("add", expr, number(1))
    with pytest.raises(VerifyError) as caught:
        verify(function(Evaluate(expr)))
    assert caught.value.code == "too-deep"
