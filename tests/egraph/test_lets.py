"""Bindings: inlined, dropped, introduced for repeated work and for terms that loops share; counted as operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from egraph_rules import transforms
from ir import parse, to_script
from ir.arith import fold_binary, fold_cast
from ir.errors import VerifyError
from ir.nodes import Binary, Cast, Const, Expr, For, If, Let, PrimFunc, Select, Stmt, Var
from ir.program.blocks import without_axes
from ir.schedule import Schedule
from ir.semantics.verify import verify
from ir.testing.programs import programs
from ir.traverse import stmt_children, stmt_exprs, walk, walk_expr
from profiles import few, some
from texts import read

EVERY = (
    transforms.inline_lets(), transforms.common_subexpressions(), transforms.introduce_lets(),
    transforms.hoist_index_terms(),
)  # fmt: skip
NAMES = [step.name for step in EVERY]


def applied(func: PrimFunc, *steps: transforms.Step, exact: bool = False) -> PrimFunc:
    """The function after the steps, compared with the original on random inputs."""
    new = func
    for step in steps:
        new = step(new)
        verify(new)
        assert parse(to_script(new)).funcs[0] == new
    assert assert_refines(func, new, np.random.default_rng(0), exact=exact) > 0
    return new


def assert_well_formed(func: PrimFunc) -> None:
    """A program; its bounds may rest on data, or on assumptions."""
    try:
        verify(func, allow_stray_loads=True)
    except VerifyError as error:
        assert error.code == "store-out-of-bounds", error


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
        case Cast(dtype=dtype, operand=a):
            return int(fold_cast(_value(a, env), a.dtype, dtype))
        case Binary(op=op, lhs=a, rhs=b):
            return int(fold_binary(op, _value(a, env), _value(b, env), expr.dtype))
        case _:
            raise AssertionError(f"{expr} is no sum of products")


HEAD = """
def func(A: T.Buffer((n_i * n_j * n_k,), "float32"), B: T.Buffer((n_i * n_j * n_k,), "float32"),
         n_i: T.int32, n_j: T.int32, n_k: T.int32):
"""
BODY = """
    for i, j, k in T.grid(n_i, n_j, n_k):
        A[i * n_j * n_k + j * n_k + k] = B[i * n_j * n_k + j * n_k + k]
"""
SMALL = "    T.assume(0 <= n_i and n_i <= 9 and 0 <= n_j and n_j <= 9 and 0 <= n_k and n_k <= 9)"
ANY_SIZE, DOCUMENT = read(HEAD + BODY), read(HEAD + SMALL + BODY)
SIZES = {"n_i": 3, "n_j": 4, "n_k": 5}
N_I, N_J, N_K = SIZES.values()


@pytest.mark.parametrize("func", [ANY_SIZE, DOCUMENT], ids=["any size", "small"])
def test_the_document_counts_operations_before(func: PrimFunc):
    assert operations(func, **SIZES) == (6 * N_I * N_J * N_K, 4 * N_I * N_J * N_K)


def test_repeated_work_of_the_document_is_done_once():
    named = """
    for i, j, k in T.grid(n_i, n_j, n_k):
        index = i * n_j * n_k + j * n_k + k
        A[index] = B[index]
"""
    becomes(ANY_SIZE, HEAD + named, transforms.common_subexpressions())
    found = transforms.common_subexpressions()(ANY_SIZE)
    assert operations(found, **SIZES) == (3 * N_I * N_J * N_K, 2 * N_I * N_J * N_K)


def test_repeated_work_is_named_as_far_out_as_it_cannot_fault():
    found = applied(DOCUMENT, transforms.common_subexpressions())
    assert operations(found, **SIZES) == (2 * N_I + N_I * N_J, N_I * N_J + N_I * N_J * N_K)


def test_terms_of_the_document_are_computed_at_their_loops():
    moved = """
    term = n_j * n_k
    for i in T.serial(n_i):
        i_term = i * term
        for j in T.serial(n_j):
            j_term = i_term + j * n_k
            for k in T.serial(n_k):
                index = j_term + k
                A[index] = B[index]
"""
    becomes(DOCUMENT, HEAD + SMALL + "\n" + moved.lstrip("\n"), transforms.hoist_index_terms())
    found = transforms.hoist_index_terms()(DOCUMENT)
    assert operations(found, **SIZES) == (N_I * N_J + N_I + 1, N_I * N_J * N_K + N_I * N_J)


def test_terms_of_any_size_are_computed_at_their_loops_in_wrapping_arithmetic():
    # n_j * n_k is not computed when n_i is 0, so that nothing says it is in range
    found = applied(ANY_SIZE, transforms.hoist_index_terms())
    assert operations(found, **SIZES) == (N_I * N_J + N_I + 1, N_I * N_J * N_K + N_I * N_J)


@pytest.mark.parametrize("name", some(["first", "index", "stride", "term"], 0.5))
def test_names_of_terms_are_not_those_of_scalars(name: str):
    func = read((HEAD + BODY).replace("n_k", name))
    assert "uint32" in to_script(applied(func, transforms.hoist_index_terms()))


def test_a_schedule_takes_and_replays_the_step():
    sch = Schedule(DOCUMENT)
    sch.apply(transforms.hoist_index_terms(floats=["reassociate"]))
    assert "transforms.hoist_index_terms(floats=('reassociate',))" in str(sch.trace)
    assert to_script(sch.func) == to_script(transforms.hoist_index_terms()(DOCUMENT))


@pytest.mark.parametrize(
    ("index", "multiplications", "additions"),
    some(
        [
            ("(i * 8 + j) * 16 + k", 4 + 32, 32 + 512),  # as good as any order
            ("k + 16 * j + i * 8 * 16", 4 + 32, 32 + 512),
            ("(i * 8 + k) * 16 + j", 4 + 512, 32 + 512),
            ("k - j * 16 - i + 600", 32, 32 + 4 + 512),
            ("600 - (k + j) - i", 0, 4 + 32 + 512),
        ],
        0.6,
    ),
)
def test_terms_in_any_order_are_computed_at_their_loops(index: str, multiplications: int, additions: int):
    func = read(f"""
def func(A: T.Buffer((2000,), "float32"), B: T.Buffer((2000,), "float32")):
    for i, j, k in T.grid(4, 8, 16):
        A[{index}] = B[{index}]
""")
    assert operations(applied(func, transforms.hoist_index_terms())) == (multiplications, additions)


def test_sums_of_functions_of_loop_variables():
    func = read("""
def func(A: T.Buffer((4, 8), "float32"), x: T.float32):
    for i, j in T.grid(4, 8):
        A[i, j] = T.sin(T.float32(j)) * x * 2.0 + T.exp(T.float32(i)) + T.exp(x) + A[i, j]
""")
    moved = """
def func(A: T.Buffer((4, 8), "float32"), x: T.float32):
    term = T.exp(x)
    term_2 = x * T.float32(2.0)
    for i in T.serial(4):
        i_term = term + T.exp(T.cast(i, "float32"))
        for j in T.serial(8):
            A[i, j] = i_term + T.sin(T.cast(j, "float32")) * term_2 + A[i, j]
"""
    becomes(func, moved, transforms.hoist_index_terms())
    in_order = """
def func(A: T.Buffer((4, 8), "float32"), x: T.float32):
    term = T.exp(x)
    for i in T.serial(4):
        i_term = T.exp(T.cast(i, "float32"))
        for j in T.serial(8):
            A[i, j] = T.sin(T.cast(j, "float32")) * x * 2.0 + i_term + term + A[i, j]
"""
    becomes(func, in_order, transforms.hoist_index_terms(floats=[]))


def test_a_partial_sum_that_may_leave_its_range_is_not_computed():
    text = """
def func(A: T.Buffer((4, 4), "int32"), n: T.int32):
    ASSUME
    for i, j in T.grid(4, 4):
        A[i, j] = j - n + i
"""
    unchanged(read(text.replace("ASSUME", "T.assume(n < 9)")), transforms.hoist_index_terms())  # 0 - n may be 2**31
    small = transforms.hoist_index_terms()(read(text.replace("ASSUME", "T.assume(n > -9 and n < 9)")))
    assert any(isinstance(s, Let) for s in walk(small.body)), to_script(small)


# Near misses ----------------------------------------------------------------------------------------------------------


def test_what_may_fault_is_bound_where_it_is_evaluated_anyway():
    func = read("""
def func(A: T.Buffer((8,), "int32"), n: T.int32, m: T.int32):
    T.assume(n < 9)
    for i in T.serial(n):
        A[i] = 10 // m + A[i] + 10 // m
""")
    text = to_script(applied(func, transforms.hoist_index_terms()))
    assert text.index("for i in") < text.index("= 10 // m") and text.count("//") == 1  # n may be 0, and m too
    always = read(to_script(func).replace("@T.prim_func\n", "").replace("T.serial(n)", "T.serial(8)"))
    text = to_script(applied(always, transforms.hoist_index_terms()))
    assert text.index("for i in") > text.index("= 10 // m") and text.count("//") == 1


def test_what_may_fault_stays_behind_its_guard():
    func = read("""
def func(A: T.Buffer((8,), "int32"), m: T.int32):
    for i in T.serial(8):
        if m != 0:
            A[i] = 10 // m + A[i]
            A[7 - i] = T.if_then_else(m > 1, 20 // (m - 1), 0)
""")
    for step in EVERY:
        for s in walk(applied(func, step).body):  # a whole selection may move: it evaluates one arm
            assert not isinstance(s, Let) or isinstance(s.value, Select) or "//" not in str(s.value)


def test_what_follows_an_assertion_may_never_run():
    func = read("""
def func(A: T.Buffer((8,), "int32"), m: T.int32):
    for i in T.serial(8):
        assert A[i] >= 0, "positive"
        A[i] = 10 // m + 10 // m
""")
    text = to_script(applied(func, transforms.hoist_index_terms()))
    assert text.index("assert") < text.index("= 10 // m"), text


def test_work_in_exclusive_branches_is_not_repeated():
    func = read("""
def func(A: T.Buffer((8,), "int32"), n: T.int32, x: T.float32):
    T.assume(n >= 0 and n < 100)
    if n > 3:
        A[0] = n * 7
    else:
        A[1] = n * 7
""")
    unchanged(func, transforms.common_subexpressions())


@pytest.mark.parametrize("step", EVERY, ids=NAMES)
def test_loads_have_no_names_and_keep_theirs(step: transforms.Step):
    # A[i] may be undef: a name for it would freeze it, and it changes between the readings
    unchanged(
        read("""
def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        T.assume(i < 6 or A[i] == T.undef())
    for i in T.serial(8):
        B[i] = A[0] * A[0] + A[i]
        v = A[i] * 2.0
        A[i] = 1.0
        B[i] = B[i] + (v - v)
"""),
        step,
    )


def test_a_name_freezes_what_is_undef():
    func = read("""
def func(A: T.Buffer((2,), "int32")):
    v = T.undef("int32")
    A[0] = v
    A[1] = v
""")
    unchanged(func, transforms.inline_lets())


def test_names_are_inlined_together():
    func = read("""
def func(A: T.Buffer((16,), "int32"), n: T.int32):
    T.assume(n >= 0 and n < 4)
    x = n * 2
    y = x + 1
    for i in T.serial(2):
        z = y + i
        A[z] = x + z
""")
    inlined = """
def func(A: T.Buffer((16,), "int32"), n: T.int32):
    T.assume(n >= 0 and n < 4)
    for i in T.serial(2):
        A[n * 2 + 1 + i] = n * 2 + (n * 2 + 1 + i)
"""
    becomes(func, inlined, transforms.inline_lets())


def test_a_value_that_may_fault_is_inlined_where_it_is_evaluated_anyway():
    text = """
def func(A: T.Buffer((16,), "int32"), n: T.int32):
    x = 10 // n
    GUARD
        A[0] = x
"""
    stays, goes = (read(text.replace("GUARD", g)) for g in ("if A[1] > 0:", "for i in T.serial(3):"))
    unchanged(stays, transforms.inline_lets())
    assert not any(isinstance(s, Let) for s in walk(applied(goes, transforms.inline_lets()).body))


def test_a_name_that_nothing_uses_is_dropped():
    func = read("""
def func(A: T.Buffer((16,), "int32"), n: T.int32):
    x = A[3]
    y = 10 // n
    A[0] = 1
""")
    becomes(func, 'def func(A: T.Buffer((16,), "int32"), n: T.int32):\n    A[0] = 1\n', transforms.inline_lets())


def test_new_names_differ_from_those_of_the_program():
    func = read("""
def func(index: T.Buffer((2000,), "float32"), i_term: T.int32, term: T.Buffer((2000,), "float32"), n: T.int32):
    T.assume(0 <= i_term and i_term < 9 and 0 <= n and n < 9)
    for i, j in T.grid(8, 8):
        index[i * i_term + j + n * i_term] = term[i * i_term + j + n * i_term] + T.float32(n * i_term)
""")
    for step in EVERY:
        applied(func, step)


def test_only_a_block_changes():
    func = read("""
def func(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), x: T.float32):
    for i in T.serial(16):
        with T.block("one"):
            for j in T.serial(16):
                A[i, j] = T.exp(x)
        with T.block("two"):
            for j in T.serial(16):
                B[i, j] = T.exp(x)
""")
    text = to_script(applied(func, transforms.introduce_lets(block="two")))
    one, two = text[: text.index('"two"')], text[text.index('"two"') :]
    assert "term" not in one and "term = T.exp(x)" in two, text


def test_loops_without_iterations():
    func = read("""
def func(A: T.Buffer((4, 4), "int32"), n: T.int32):
    for i in T.serial(n, n):
        for j in T.serial(4):
            A[i, j] = n * n + i * n + j
""")
    for step in EVERY:
        applied(func, step)


# Random programs ------------------------------------------------------------------------------------------------------


@few(7)
@given(st.sampled_from(EVERY), programs())
def test_random_programs_keep_their_meaning(step: transforms.Step, func: PrimFunc) -> None:
    check(step, func)


def check(step: transforms.Step, func: PrimFunc) -> None:
    plain = without_axes(func)
    new = step(plain)
    assert_well_formed(new)
    assert_refines(plain, new, np.random.default_rng(0), runs=4)


@st.composite
def nests(draw: st.DrawFn) -> PrimFunc:
    """Nests that compute with their variables: sums, products and quotients that may fault, behind guards or not."""
    names = ["i", "j", "k"][: draw(st.integers(1, 3))]
    dtype = draw(st.sampled_from(("int32", "int8", "uint8", "int64", "float32")))

    def number(depth: int, scope: list[str]) -> str:
        options = [*scope, "n", "m", str(draw(st.integers(-3, 4)))]
        if depth == 0 or draw(st.integers(0, 4)) == 0:
            return draw(st.sampled_from(options))
        a, b = number(depth - 1, scope), number(depth - 1, scope)
        op = draw(st.sampled_from(("+", "+", "+", "-", "*", "*", "*", "//", "%", "select")))
        return f"T.if_then_else({a} != 0, n // {a}, {b})" if op == "select" else f"({a} {op} {b})"

    def value(scope: list[str]) -> str:
        kinds = draw(st.lists(st.sampled_from(("number", "number", "load", "x")), min_size=1, max_size=3))
        parts = {"x": "x", "load": f"A[{number(1, scope)} % 4]"}
        found = [parts[kind] if kind in parts else f'T.cast({number(3, scope)}, "{dtype}")' for kind in kinds]
        return draw(st.sampled_from((" + ", " * ", " - "))).join(found)

    lines: list[str] = []
    for depth, name in enumerate(names, 1):
        lines.append("    " * depth + f"for {name} in range({draw(st.sampled_from(('0', '1', '2', '3', 'n', 'm')))}):")
        scope, pad = names[:depth], "    " * (depth + 1)
        if draw(st.booleans()):
            lines.append(f"{pad}{name}_v = {number(2, scope)}")
            names = [*names[:depth], *names[depth:]]
            scope = [*scope, f"{name}_v"]
        for _ in range(draw(st.integers(0 if depth < len(names) else 1, 2))):
            if draw(st.booleans()):
                cond = draw(st.sampled_from(("m != 0", "n > 0", f"{number(1, scope)} > {number(0, scope)}")))
                lines.append(f"{pad}if {cond}:")
                lines.append(f"{pad}    A[{number(2, scope)} % 4] = {value(scope)}")
            else:
                lines.append(f"{pad}A[{number(2, scope)} % 4] = {value(scope)}")
    small = "-2 <= n and n < 4 and -2 <= m and m < 4"
    known = draw(
        st.sampled_from(
            (small, small, small, "n > 0 and m > 0 and m < 9 and n < 4", "m > 3 and m < 7 and n < 5 and n > -5")
        )
    )
    head = f'def f(A: T.Buffer((4,), "{dtype}"), n: T.int32, m: T.int32, x: T.{dtype}):\n'
    return read(head + f"    T.assume({known})\n" + "\n".join(lines) + "\n")


@few(7)
@given(st.sampled_from(EVERY), nests())
def test_random_index_arithmetic_keeps_its_meaning(step: transforms.Step, func: PrimFunc) -> None:
    check(step, func)


@few(3)
@given(nests())
def test_without_freedoms_nothing_rounds_otherwise(func: PrimFunc) -> None:
    new = transforms.hoist_index_terms(floats=[])(func)
    assert_refines(func, new, np.random.default_rng(0), runs=2, exact=True)


def test_extents_of_local_buffers_keep_their_own_words():
    func = read("""
def func(A: T.Buffer((4,), "float32"), n: T.int32):
    S = T.alloc_buffer((n % 3,), "float32")
    for i in range(3):
        if i < n % 3:
            S[i] = 1.0
        if i < n % 3:
            A[0] = A[0] + S[i]
""")
    found = to_script(applied(func, transforms.common_subexpressions())).splitlines()
    assert [line.strip() for line in found[2:4]] == ['S = T.alloc_buffer((n % 3,), "float32")', "index = n % 3"]
