"""Printing: what is printed parses back to the same program, for programs that no parser would make, too."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import Buffer, Module, PrimFunc, parse, parse_expr, to_script
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import (
    BIT_COUNTS,
    FLOAT_UNARY_OPS,
    SKIP,
    TRUE,
    Alloc,
    Assert,
    Assume,
    Binary,
    Block,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    IterVar,
    Let,
    Load,
    Region,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    const,
    seq,
)
from ir.testing.expressions import exprs
from ir.testing.programs import programs

I32, I64, F32 = DType.INT32, DType.INT64, DType.FLOAT32
# Names of the dialect and of its roots are names like any other.
NAMES = ("x", "y", "T", "S", "I", "min", "range", "int32", "serial", "A_handle", "N_1", "block", "float", "tir", "é")
INTEGERS = tuple(d for d in DType if d.is_integer)


def again(func: PrimFunc) -> PrimFunc:
    return parse(to_script(func)).funcs[0]


def assert_same(func: PrimFunc) -> None:
    found = again(func)
    assert found == func, f"{to_script(func)}\n{func}\n{found}"


def body(*stmts: Stmt, params: tuple[Var | Buffer, ...] = ()) -> PrimFunc:
    return PrimFunc("f", params, seq(*stmts))


# Random well-typed programs -------------------------------------------------------------------------------------------


def literals(dtype: DType) -> st.SearchStrategy[Const]:
    if dtype is DType.BOOL:
        return st.booleans().map(lambda v: Const(v, dtype))
    if dtype.is_integer:
        edges = st.sampled_from((dtype.min, dtype.max, 0, 1))
        return st.one_of(edges, st.integers(dtype.min, dtype.max)).map(lambda v: Const(v, dtype))
    width = {DType.BFLOAT16: 16, DType.FLOAT16: 16, DType.FLOAT32: 32, DType.FLOAT64: 64}[dtype]
    return st.floats(width=width).map(lambda v: Const(v, dtype))


@st.composite
def values(draw: st.DrawFn, dtype: DType, names: tuple[Var | Buffer, ...], depth: int = 3) -> Expr:
    """An expression of `dtype` with every operator that the dtype has."""
    scalars = [v for v in names if isinstance(v, Var) and v.dtype is dtype]
    leaves = [literals(dtype), st.just(Undef(dtype))] + ([st.sampled_from(scalars)] if scalars else [])
    if depth == 0:
        return draw(st.one_of(leaves))

    def inner(other: DType) -> Expr:
        return draw(values(other, names, depth - 1))

    kinds = ["leaf", "leaf", "load", "select", "cast", "binary", "binary", "unary"]
    match draw(st.sampled_from(kinds)):
        case "load":
            buffers = [b for b in names if isinstance(b, Buffer) and b.dtype is dtype]
            if buffers:
                buffer = draw(st.sampled_from(buffers))
                return Load(buffer, tuple(draw(indices(names, depth - 1)) for _ in buffer.shape))
        case "select":
            return Select(draw(conditions(names, depth - 1)), inner(dtype), inner(dtype))
        case "cast":
            return Cast(dtype, inner(draw(st.sampled_from(list(DType)))))
        case "binary":
            if dtype is DType.BOOL:
                op = draw(st.sampled_from(("and", "or", "eq", "ne", "lt", "le", "gt", "ge")))
                of = DType.BOOL if op in ("and", "or") else draw(st.sampled_from(list(DType)))
                of = of if op not in ("lt", "le", "gt", "ge") or of is not DType.BOOL else F32
            else:
                integer = ("floordiv", "floormod", "truncdiv", "truncmod", "bitand", "bitor", "bitxor", "shl", "shr")
                extra = integer if dtype.is_integer else ("div",)
                op, of = draw(st.sampled_from(("add", "sub", "mul", "min", "max", "pow", *extra))), dtype
            return Binary(op, inner(of), inner(of))
        case "unary":
            kind = ("bitnot", *BIT_COUNTS) if dtype.is_integer else FLOAT_UNARY_OPS
            ops = ("not",) if dtype is DType.BOOL else ("neg", "abs", *kind)
            return Unary(draw(st.sampled_from(ops)), inner(dtype))
        case _:
            pass
    return draw(st.one_of(leaves))


def _defined(expr: Expr) -> bool:
    return "undef" not in to_script(expr)


def indices(names, depth: int, dtype: DType | None = None) -> st.SearchStrategy[Expr]:
    dtypes = st.sampled_from((I32, I32, I32, I64, DType.UINT8)) if dtype is None else st.just(dtype)
    return dtypes.flatmap(lambda d: values(d, names, depth)).filter(_defined)


def conditions(names, depth: int) -> st.SearchStrategy[Expr]:
    return values(DType.BOOL, names, depth).filter(_defined)


NOTES = st.sampled_from(
    ((), (("pragma", 3),), (("a", "x\"'\\"), ("b", (1, (2.5, True)))), (("thread", "threadIdx.x"),))
)


@st.composite
def statements(draw: st.DrawFn, names: tuple[Var | Buffer, ...], depth: int) -> Stmt:
    """Statements with scopes in all places, also bindings that end before the statements after them."""
    count = draw(st.integers(0, 3))
    return seq(*(draw(statement(names, depth)) for _ in range(count)))


@st.composite
def statement(draw: st.DrawFn, names: tuple[Var | Buffer, ...], depth: int) -> Stmt:
    simple = ("store", "assume", "assert", "evaluate")
    nested = ("if", "for", "let", "let", "alloc", "block") if depth else ()
    kind = draw(st.sampled_from((*simple, *nested)))
    free = [n for n in NAMES if n not in {v.name for v in names}]
    if not free and kind in ("for", "let", "alloc", "block"):
        kind = "evaluate"
    name = draw(st.sampled_from(free)) if free else ""
    match kind:
        case "store" if buffers := [b for b in names if isinstance(b, Buffer)]:
            buffer = draw(st.sampled_from(buffers))
            place = tuple(draw(indices(names, 1)) for _ in buffer.shape)
            return Store(buffer, place, draw(values(buffer.dtype, names)))
        case "assume":
            return Assume(draw(conditions(names, 2)))
        case "assert":
            return Assert(draw(conditions(names, 2)), draw(st.sampled_from(("", "a", 'it\'s "odd" \\ \n'))))
        case "if":
            return If(
                draw(conditions(names, 2)), draw(statements(names, depth - 1)), draw(statements(names, depth - 1))
            )
        case "for":
            start, extent = draw(interval(names))
            var = Var(name, extent.dtype)
            loop_kind = draw(st.sampled_from(("serial", "serial", "parallel", "vectorized", "unroll")))
            return For(var, start, extent, draw(statements((*names, var), depth - 1)), loop_kind, draw(NOTES))
        case "let":
            var = Var(name, draw(st.sampled_from(list(DType))))
            return Let(var, draw(values(var.dtype, names)), draw(statements((*names, var), depth - 1)))
        case "alloc":
            shape = tuple(const(n, I32) for n in draw(st.lists(st.integers(0, 5), max_size=3)))
            buffer = Buffer(name, shape, draw(st.sampled_from(list(DType))), draw(st.sampled_from(("global", "a.b"))))
            return Alloc(buffer, draw(statements((*names, buffer), depth - 1)))
        case "block":
            return draw(block(names, depth, free))
        case _:
            return Evaluate(draw(values(draw(st.sampled_from(list(DType))), names)))


@st.composite
def interval(draw: st.DrawFn, names, dtype: DType | None = None) -> tuple[Expr, Expr]:
    dtype = draw(st.sampled_from((I32, I32, I64, DType.UINT8))) if dtype is None else dtype
    start = draw(st.one_of(st.just(const(0, dtype)), indices(names, 2, dtype)))
    extent = draw(st.one_of(indices(names, 2, dtype), literals(dtype)))
    match draw(st.integers(0, 4)):
        case 0:
            return start, Binary("sub", extent, start)
        case 1:
            return start, Binary("sub", Binary("add", start, extent), start)
        case 2:
            return start, Binary("add", start, extent)
        case _:
            return start, extent


@st.composite
def block(draw: st.DrawFn, names: tuple[Var | Buffer, ...], depth: int, free: list[str]) -> Stmt:
    axes: list[IterVar] = []
    inside = names
    for name in free[: draw(st.integers(0, 2))]:
        dtype = draw(st.sampled_from((I32, I64)))
        var = Var(name, dtype)
        kind = draw(st.sampled_from(("spatial", "reduce", "opaque")))
        axes.append(IterVar(var, kind, *draw(interval(inside, dtype)), draw(indices(inside, 1, dtype))))
        inside = (*inside, var)
    predicate = draw(st.one_of(st.just(TRUE), conditions(inside, 1)))
    init = draw(st.one_of(st.none(), statements(inside, depth - 1)))
    regions = st.one_of(st.none(), st.lists(region(inside), max_size=2).map(tuple))
    title = draw(st.sampled_from(("", "root", 'a "b" \\', "😀")))
    inner = draw(statements(inside, depth - 1))
    return Block(title, inner, tuple(axes), predicate, init, draw(regions), draw(regions), draw(NOTES))


@st.composite
def region(draw: st.DrawFn, names) -> Region:
    buffer = draw(st.sampled_from([b for b in names if isinstance(b, Buffer)]))
    return Region(buffer, tuple(draw(interval(names)) for _ in buffer.shape))


@st.composite
def functions(draw: st.DrawFn) -> PrimFunc:
    n, m = Var("n", I32), Var("m", draw(st.sampled_from((I32, I64))))
    shape = st.lists(st.sampled_from((n, m, n * 2 + 1, const(4, I32), const(0, I64))), max_size=3).map(tuple)
    a = Buffer("A", draw(shape), draw(st.sampled_from(list(DType))))
    b = Buffer("B", draw(shape), draw(st.sampled_from(list(DType))), draw(st.sampled_from(("global", "shared"))))
    params = tuple(draw(st.permutations((a, b, n, *((m,) if draw(st.booleans()) else ()), Var("s", F32)))))
    attrs = draw(NOTES)
    sized = any(e is m for e in (*a.shape, *b.shape)) and not any(p is m for p in params)
    names = (*params, m) if sized else params
    return PrimFunc("f", params, draw(statements(names, 3)), attrs)


@given(functions())
def test_any_program_prints_and_parses_back(func: PrimFunc) -> None:
    assert_same(func)


@given(programs())
def test_parsed_programs_print_and_parse_back(func: PrimFunc) -> None:
    assert_same(func)


@given(st.sampled_from(list(DType)).flatmap(lambda d: values(d, tuple(Var(f"v_{t}", t) for t in DType), 4)))
def test_any_expression_prints_and_parses_back(expr: Expr) -> None:
    found = parse_expr(to_script(expr), {f"v_{t}": t.value for t in DType})
    assert found.same(expr), to_script(expr)


@given(st.sampled_from((I32, DType.BOOL)).flatmap(exprs))
def test_drawn_expressions_print_and_parse_back(expr: Expr) -> None:
    assert parse_expr(to_script(expr), dict.fromkeys("xyz", "int32")).same(expr)


# Text -----------------------------------------------------------------------------------------------------------------

X, Y = Var("x", I32), Var("y", I32)
P, Q, R = (Var(n, DType.BOOL) for n in "pqr")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((X + Y) * 4, "(x + y) * 4"),
        (X + Y * 4, "x + y * 4"),
        (X - (Y - 1), "x - (y - 1)"),
        (X - Y - 1, "x - y - 1"),
        (X // 4 % 2, "x // 4 % 2"),
        (X // (Y % 2), "x // (y % 2)"),
        (-X + 1, "-x + 1"),
        (-(X + 1), "-(x + 1)"),
        (X + -1, "x + -1"),
        (Unary("neg", const(1, I32)), "-T.int32(1)"),
        ((P & Q) | R, "p and q or r"),
        (P & (Q | R), "p and (q or r)"),
        (P & (Q & R), "p and (q and r)"),
        (~(P & Q), "not (p and q)"),
        (~P & Q, "not p and q"),
        ((X < Y) == P, "(x < y) == p"),
        (Binary("lt", X, const(3, I32)), "x < 3"),
        ((X & 3) << 1, "(x & 3) << 1"),
        (Binary("min", X, const(3, I32)), "T.min(x, 3)"),
        (Binary("add", const(1, I32), const(2, I32)), "T.int32(1) + T.int32(2)"),
        (const(3, I64), "T.int64(3)"),
        (Const(math.inf, F32), 'T.float32("inf")'),
        (Const(-0.0, F32), "-0.0"),
        (Const(1.5, DType.BFLOAT16), "T.bfloat16(1.5)"),
        (Const(True, DType.BOOL), "True"),
        (Unary("not", TRUE), "not T.bool_(True)"),
        (Cast(I64, X), 'T.cast(x, "int64")'),
        (Undef(F32), 'T.undef("float32")'),
        (Const(DType.UINT64.max, DType.UINT64), "T.uint64(18446744073709551615)"),
    ],
)
def test_expression_text(expr: Expr, text: str) -> None:
    assert to_script(expr) == text
    names = {"x": "int32", "y": "int32", "p": "bool", "q": "bool", "r": "bool"}
    assert parse_expr(text, names).same(expr)


def test_program_text_is_what_one_would_write() -> None:
    text = """\
@T.prim_func
def f(A: T.Buffer((16, 4), "float32"), n: T.int32, B: T.Buffer((16,), "float32")):
    T.func_attr({'tag': 'x'})
    T.assume(n <= 16)
    for i in T.serial(n):
        B[i] = 0.0
        for j in T.parallel(1, 4):
            if i < 3:
                B[i] = B[i] + A[i, j]
            elif i == 5:
                pass
            else:
                x = A[i, j] * 2.0
                B[i] = x
    for i, j in T.grid(16, 4):
        with T.block("b"):
            vi = T.axis.spatial(16, i)
            vj = T.axis.reduce((1, 5), j)
            T.where(vi < n)
            T.reads(A[vi, 0:4])
            with T.init():
                B[vi] = 0.0
            B[vi] = T.max(B[vi], A[vi, vj])
"""
    assert to_script(parse(text)) == text
    assert to_script(parse(text), header=True) == f"from ir import script as T\n\n\n{text}"


def test_symbolic_shapes_print_as_handles_that_clash_with_nothing() -> None:
    n, taken = Var("n", I32), Var("A_handle", I32)
    func = body(Evaluate(taken), params=(Buffer("A", (n, n + 1), F32), taken))
    assert "def f(A_handle_: T.handle, A_handle: T.int32)" in to_script(func)
    assert_same(func)


def test_scopes_that_end_early_are_kept() -> None:
    first = Let(X, const(1, I32), Evaluate(X))
    second = Alloc(Buffer("L", (const(2, I32),), F32), SKIP)
    func = body(first, second, Evaluate(const(3, I32)))
    assert isinstance(func.body, Seq)
    text = to_script(func)
    assert "with T.LetStmt(1) as x:" in text and 'with T.alloc_buffer((2,), "float32") as L:' in text
    assert_same(func)


def test_loops_print_as_grid_only_where_that_means_the_same() -> None:
    inner = For(Y, const(0, I32), const(3, I32), SKIP)
    assert "for x, y in T.grid(2, 3):" in to_script(For(X, const(0, I32), const(2, I32), inner))
    for other in (
        For(Y, const(0, I32), X, SKIP),
        For(Y, const(1, I32), const(3, I32), SKIP),
        For(Y, const(0, I32), const(3, I32), SKIP, "parallel"),
        For(Y, const(0, I32), const(3, I32), SKIP, "serial", (("a", 1),)),
    ):
        func = body(For(X, const(0, I32), const(2, I32), other))
        assert "grid" not in to_script(func)
        assert_same(func)


def test_modules_keep_their_name() -> None:
    func = body(SKIP)
    for module in (
        Module((func,), "M"),
        Module((func, PrimFunc("g", (), SKIP))),
        Module((func, PrimFunc("g", (), SKIP)), "K"),
    ):
        assert parse(to_script(module)) == module


def test_long_sums_and_chains_print() -> None:
    total: Expr = X
    cond: Expr = X > 0
    for k in range(240):
        total = total + Y if k % 2 else total - Y
        cond = cond & (k < Y)
    func = body(If(cond, Evaluate(total), SKIP), params=(X, Y))
    assert_same(func)


def test_too_deep_programs_give_an_error() -> None:
    deep: Expr = X
    for _ in range(100_000):
        deep = Unary("abs", deep)
    with pytest.raises(LoopsatError) as error:
        to_script(deep)
    assert error.value.code == "too-deep"
