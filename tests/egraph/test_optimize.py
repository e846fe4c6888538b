"""The optimizer end to end on loop programs: what it removes, what it must keep, and that meaning is kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from compare import assert_refines
from egraph import programs
from egraph_rules import Floats, optimize
from egraph_rules.cost.target import Target
from ir import interpret, parse, to_script
from ir.nodes import Alloc, Assume, For, If, Load, PrimFunc, Select, Stmt, Store, Undef
from ir.semantics.verify import verify
from ir.traverse import all_exprs, free_vars, walk
from profiles import some


def only(text: str) -> PrimFunc:
    (func,) = parse(text).funcs
    return func


def count(stmt: Stmt, kind: type[Stmt]) -> int:
    return sum(isinstance(s, kind) for s in walk(stmt))


def optimized(text: str, **options: object) -> PrimFunc:
    """The best program, checked against the original on the interpreter."""
    func = only(text)
    best = optimize(func, **options).best
    assert_refines(func, best, np.random.default_rng(7))
    return best


@pytest.mark.parametrize(
    ("text", "guards"),
    some(
        [
            (programs.ROW_SUM, 0),
            (programs.ELEMENTWISE_UNDEF, 0),
            (programs.CONV_PRODUCER, 0),
            (programs.INTERNAL_BUFFER, 0),
            (programs.SEVERAL_SEMANTICS, 0),
        ],
        0.4,
    ),
    ids=["row_sum", "elementwise", "conv", "internal", "several"],
)
def test_documented_programs_lose_their_branches(text: str, guards: int) -> None:
    best = optimized(text)
    assert count(best.body, If) == guards, to_script(best)


def test_assumptions_and_undef_stores_are_erased() -> None:
    best = optimized(programs.ELEMENTWISE_UNDEF)
    assert count(best.body, Assume) == 0
    assert not any(isinstance(e, Undef) for e in all_exprs(best.body))


def test_report_names_rule_place_and_fact() -> None:
    result = optimize(only(programs.ROW_SUM))
    (decision,) = result.report.decisions
    assert decision.rule == "overcompute.then"
    assert "4 * jo + ji < 14" in decision.place
    assert ":9:" in decision.place  # the line of the guard
    assert "A[i, jo, ji] is" in decision.fact
    assert result.cost_before > result.variants[0][1]


def test_variants_are_distinct_equal_and_ordered() -> None:
    func = only(programs.INTERNAL_BUFFER)
    variants = optimize(func, k=4).variants
    assert len(variants) == 4
    assert [cost for _, cost in variants] == sorted(cost for _, cost in variants)
    assert len({to_script(v) for v, _ in variants}) == 4
    for variant, _ in variants:
        assert_refines(func, variant, np.random.default_rng(3))


def test_strict_floats_keep_the_guard() -> None:
    # -0.0 + 0.0 is 0.0, so adding the padding is visible to the bit
    assert count(optimize(only(programs.ROW_SUM), floats=Floats.STRICT).best.body, If) == 1


# A location that is both known and dead: each use is right alone, both together are wrong. ---------------------------

CHEAP_GUARDS = Target("cheap guards", mask=0.0, select=0.0, reduction_mask=0.0, arith=0.0, index=0.0)


def test_padding_is_either_written_or_guarded() -> None:
    """Writing zeros is dead if the reader has a guard; the guard is needless if the zeros are written.

    Both are variants, and the program without the buffer, in whose place its source is read, is cheaper than either.
    """
    func = only(programs.INTERNAL_BUFFER)
    found = {target: optimize(func, target=target, k=8) for target in ("cpu", "gpu", "tpu", CHEAP_GUARDS)}
    for result in found.values():
        for variant, _ in result.variants:
            assert_refines(func, variant, np.random.default_rng(5))
    counted = {
        (count_stores(v, "A_local"), count(v.body, If)) for k in ("cpu", CHEAP_GUARDS) for v, _ in found[k].variants
    }
    assert {(0, 0), (2, 0), (1, 1)} <= counted
    assert count_stores(found[CHEAP_GUARDS].best, "A_local") == 0


def count_stores(func: PrimFunc, buffer: str) -> int:
    return sum(isinstance(s, Store) and s.buffer.name == buffer for s in walk(func.body))


def test_loop_carried_facts_and_permissions_are_reconciled() -> None:
    # A[1] is zero at the start of every iteration as long as nobody uses the permission to leave garbage there.
    optimized("""
@T.prim_func
def f(B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    A = T.alloc_buffer((2,), "int32")
    A[1] = 0
    for i in T.serial(4):
        for k in T.serial(2):
            if k < 1:
                A[k] = C[i]
        B[i] = A[0]
    for k in T.serial(2):
        if k < 1:
            B[0] = B[0] + A[k]
""")


# Known mistakes of the field ----------------------------------------------------------------------------------------


def test_assumption_keeps_its_disjunction() -> None:
    # the padding is zero, so inside the valid region nothing is known and the condition on A must stay
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or A[i, j] == 0)
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            if A[i, j] == 0:
                B[i, j] = 1
            else:
                B[i, j] = 2
""")
    assert count(best.body, If) == 1
    assert "T.if_then_else(A[i, j] == 0, " in to_script(best)


def test_guard_smaller_than_the_padding_stays() -> None:
    best = optimized(
        """
@T.prim_func
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    for i in T.serial(16):
        T.assume(i < 14 or A[i] == 0)
    for i in T.serial(16):
        if i < 10:
            B[0] = B[0] + A[i]
""",
        without=["loops"],
    )  # which would stop at 10
    assert count(best.body, If) == 1


def test_two_undefs_do_not_cancel() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        A[i] = T.undef()
    for i in T.serial(4):
        B[i] = B[i] + (A[i] - A[i])
""")
    assert count(best.body, Store) == 1


def test_assumption_about_overwritten_contents_is_forgotten() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)
    if A[0] == B[0]:
        for i in T.serial(16):
            B[0] = B[0] + A[i]
""")
    text = to_script(best)
    assert "if A[0] == 0" in text or "if 0 == A[0]" in text, text
    assert "B[0] = B[0] + A[i]" in text, text


def test_data_dependent_conditions_are_not_merged() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if A[i] < 0.0:
            A[i] = A[i] + 1.0
        if A[i] < 0.0:
            A[i] = 0.0
""")
    assert count(best.body, If) == 2


def test_condition_known_from_the_enclosing_branch_goes() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if A[i] < 0.0:
            if A[i] < 0.0:
                if i // 16 == 0:
                    A[i] = 1.0
""")
    assert count(best.body, If) == 1


def test_user_assumption_about_data_does_not_make_code_unconditional() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32, C: T.Buffer((n,), "int32")):
    T.assume(n >= 0 and n < 4)
    for i in T.serial(4):
        if i <= n:
            B[i] = A[i] // 2
""")
    assert isinstance(best.body, For) and free_vars(best.body.extent) == set(best.scalars)  # as long as the guard holds


def test_a_scalar_that_loops_do_not_ask_for_does_not_become_a_bound() -> None:
    # a kernel is compiled anew for each value of a bound
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((400,), "float32"), pos: T.int32):
    T.assume(pos >= 0 and pos < 400)
    for i in T.serial(400):
        A[i] = 0.0
        if i <= pos:
            A[i] = T.exp(A[i])
""")
    bounds = [e for s in walk(best.body) if isinstance(s, For) for e in (s.start, s.extent)]
    assert bounds and not any(map(free_vars, bounds))


def test_overcompute_never_introduces_a_fault() -> None:
    # outside the guard the store would leave the buffer, or divide by zero, though its value would not matter
    for body in ("B[i] = 0.0", "B[i % 4] = T.cast(8 // (i - 4), 'float32')"):
        best = optimized(f"""
@T.prim_func
def f(B: T.Buffer((4,), "float32")):
    for i in T.serial(8):
        if i < 4:
            {body}
    for i in T.serial(4):
        B[i] = T.undef()
    B[0] = 1.0
""")
        stores = [s for s in walk(best.body) if isinstance(s, Store)]
        assert all(isinstance(s.value, type(stores[-1].value)) for s in stores)


def test_overflow_is_not_introduced_in_the_padding() -> None:
    # A's padding may hold any int32, and doubling it may leave the range; with undef contents it may not
    guarded = """
@T.prim_func
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        if i < 14:
            B[i] = 2 * A[i]
    for i in T.serial(16):
        if i >= 14:
            B[i] = T.undef()
"""
    assert count(optimized(guarded, without=["loops"]).body, If) == 1


# Other statement rules ----------------------------------------------------------------------------------------------


def test_no_ops_disappear() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
    for i in T.serial(8):
        B[i] = 3
    for i in T.serial(8):
        A[i] = A[i]
        A[i] = A[i] * 1 + 0
    for i in T.serial(8):
        if i < n:
            B[i] = A[i]
        else:
            B[i] = A[i]
""")
    assert to_script(best).count("\n    for") == 1
    assert count(best.body, If) == 0
    assert count(best.body, Store) == 1


def test_store_of_the_known_value_goes() -> None:
    best = optimized("""
@T.prim_func
def total(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0)
    B[0] = 0.0
    for i in T.serial(16):
        B[0] = B[0] + A[i]
""")
    assert count(best.body, Store) == 1


def test_selection_becomes_overcompute() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        T.assume(i < 14 or A[i] == 0.0)
    for i in T.serial(16):
        B[i] = T.if_then_else(i < 14, A[i] * 2.0, 0.0)
""")
    assert "if_then_else" not in to_script(best)


def test_max_over_minus_infinity() -> None:
    best = optimized("""
@T.prim_func
def row_max(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 4):
        T.assume(j < 3 or A[i, j] == T.float32("-inf"))
    for i in T.serial(4):
        B[i] = A[i, 0]
        for j in T.serial(4):
            if j < 3:
                B[i] = T.max(B[i], A[i, j])
""")
    assert count(best.body, If) == 0


def test_max_over_zero_padding_keeps_its_guard() -> None:
    best = optimized(
        """
@T.prim_func
def row_max(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 4):
        T.assume(j < 3 or A[i, j] == 0.0)
    for i in T.serial(4):
        B[i] = A[i, 0]
        for j in T.serial(4):
            if j < 3:
                B[i] = T.max(B[i], A[i, j])
""",
        without=["loops"],
    )
    assert count(best.body, If) == 1


def test_symbolic_shape() -> None:
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((1,), "float32"), n: T.int32, m: T.int32):
    T.assume(m >= 0 and m <= 4 * n)
    for io, ii in T.grid(n, 4):
        T.assume(4 * io + ii < m or A[io, ii] == 0.0)
    for io, ii in T.grid(n, 4):
        if 4 * io + ii < m:
            B[0] = B[0] + A[io, ii]
""")
    assert count(best.body, If) == 0


def test_names_of_the_author_come_back() -> None:
    text = to_script(optimized(programs.ROW_SUM))
    assert "for jo, ji in" in text
    assert "%" not in text.replace(" % ", "")


def test_budget_is_reported_and_the_best_so_far_returned() -> None:
    from egraph_rules.engine.phases import Budget

    func = only(programs.SEVERAL_SEMANTICS)
    result = optimize(func, budget=Budget(rounds=1, restarts=0))
    assert "round budget" in result.report.stopped
    assert_refines(func, result.best, np.random.default_rng(1))


def test_long_programs_stay_shallow() -> None:
    lines = "\n".join(f"    B[{k % 8}] = B[{(k + 1) % 8}] + 1.0" for k in range(400))
    func = only(f'@T.prim_func\ndef f(B: T.Buffer((8,), "float32")):\n{lines}\n')
    result = optimize(func)
    assert count(result.best.body, Store) == 400
    assert count(result.best.body, For) == count(result.best.body, Alloc) == 0


@pytest.mark.parametrize(
    ("dtype", "body"),
    [
        ("int64", "for i in T.serial(1):\n        if i >= 0:\n            A[i] = 0"),
        ("uint8", "A[0] = T.uint8(0) - T.uint8(1)"),
        ("int64", "for i in T.serial(3):\n        if i >= 2:\n            A[i] = 2"),
        ("float64", "A[0] = T.cast(T.float32(1.0), 'float64') + 1.0"),
    ],
)
def test_equal_numbers_of_other_dtypes_stay_apart(dtype: str, body: str) -> None:
    best = optimized(f'@T.prim_func\ndef f(A: T.Buffer((3,), "{dtype}")):\n    {body}\n')
    verify(best)


def test_names_do_not_leave_their_scope() -> None:
    # x is a number that nothing can be proven of, so its scope learns no fact; y equals a literal outside
    best = optimized("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32):
    for i in T.serial(1, 3):
        x = B[i] * n
        for k in T.serial(1, 2):
            A[i] = x + k
        A[0] = A[0] + 1
""")
    verify(best)


# Growth --------------------------------------------------------------------------------------------------------------


def test_long_programs_are_searched_like_short_ones() -> None:
    nests = 30
    params = ", ".join(f'A{k}: T.Buffer((4, 4), "float32"), B{k}: T.Buffer((1,), "float32")' for k in range(nests))
    lines = ["@T.prim_func", f"def many({params}):"]
    for k in range(nests):
        lines += ["    for i, j in T.grid(4, 4):", f"        T.assume(4 * i + j < {k % 15 + 1} or A{k}[i, j] == 0.0)"]
    for k in range(nests):
        lines += [
            "    for i, j in T.grid(4, 4):",
            f"        if 4 * i + j < {k % 15 + 1}:",
            f"            B{k}[0] = B{k}[0] + A{k}[i, j]",
        ]
    result = optimize(only("\n".join(lines)))
    assert result.report.stopped.startswith("saturated")
    assert count(result.best.body, If) == 0


BLOCKED = """
@T.prim_func
def conv(X: T.Buffer((3, 6, 6, 4), "float32"), W: T.Buffer((3, 3, 3, 3, 4, 4), "float32"),
         Y: T.Buffer((3, 6, 6, 4), "float32")):
    C = T.alloc_buffer((3, 6, 6, 4), "float32")
    for c, y, x, cc in T.grid(3, 6, 6, 4):
        T.assume(4 * c + cc < 10 or X[c, y, x, cc] == 0.0)
    for o, y, x, oo in T.grid(3, 6, 6, 4):
        if 4 * o + oo < 10:
            C[o, y, x, oo] = 0.0
            for c, dy, dx, cc in T.grid(3, 3, 3, 4):
                if 0 <= y + dy - 1 and y + dy - 1 < 6 and 0 <= x + dx - 1 and x + dx - 1 < 6 and 4 * c + cc < 10:
                    C[o, y, x, oo] += X[c, y + dy - 1, x + dx - 1, cc] * W[o, c, dy, dx, oo, cc]
        else:
            C[o, y, x, oo] = 0.0
    for o, y, x, oo in T.grid(3, 6, 6, 4):
        if 4 * o + oo < 10:
            Y[o, y, x, oo] = T.max(C[o, y, x, oo], 0.0)
        else:
            Y[o, y, x, oo] = 0.0
"""


def test_a_blocked_convolution_with_tails_is_searched_to_the_end() -> None:
    assert optimize(only(BLOCKED)).report.stopped.startswith("saturated")


def nested(conditions: list[str], padding: str = "0.0") -> str:
    lines = ["@T.prim_func", 'def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):']
    lines += [
        "    for i, j in T.grid(16, 16):",
        f"        T.assume(j < 2 or A[i, j] == {padding})",
        "    for i, j in T.grid(16, 16):",
    ]
    for depth, condition in enumerate(conditions):
        lines.append(f"{'    ' * (depth + 2)}if {condition}:")
    lines.append(f"{'    ' * (len(conditions) + 2)}B[i] = B[i] + A[i, j]")
    return "\n".join(lines)


def test_guards_nested_in_each_other_all_go() -> None:
    result = optimize(only(nested([f"j < {k + 2}" for k in range(14)])))
    assert result.report.stopped.startswith("saturated")
    assert count(result.best.body, If) == 0


def test_guards_that_stay_do_not_multiply() -> None:
    func = only(nested([f"(i + j) % {k + 2} != 1" for k in range(8)], padding="1.0"))
    result = optimize(func)
    assert result.report.stopped.startswith("saturated")
    assert result.report.nodes < 2000
    assert_refines(func, result.best, np.random.default_rng(0))


def test_threads_do_not_share_an_engine() -> None:
    func = only("@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n    for i in range(8):\n        A[i] = A[i] + 0\n")
    here = optimize(func).best
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda f: optimize(f).best, [func, func])) == [here, here]


@pytest.mark.parametrize("load", [0.0, 0.001])
@pytest.mark.parametrize("first", ["P[3] = 3", "T.assume(P[3] == 3)"])
def test_free_loads_are_not_read_through_themselves(first: str, load: float) -> None:
    """With P[3] known to be 3, an index may be P[3], or P[P[3]], each cheaper than the one before."""
    text = f"""
@T.prim_func
def f(P: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    {first}
    B[0] = P[3] + P[0]
"""
    func = parse(text).funcs[0]
    best = optimize(func, Target("free loads", load=load)).best
    assert sum(isinstance(e, Load) for e in all_exprs(best.body)) == 2
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


def test_what_may_fault_and_changes_nothing_is_no_way_to_do_nothing() -> None:
    """The guarded store equals nothing where it runs; nothing, elsewhere, is no such store: B[1] may be no index."""
    func = parse("""
@T.prim_func
def f(B: T.Buffer((2,), "int32")):
    if not 0 >= B[1]:
        B[B[1]] = B[B[1]]
        B[B[1]] = B[B[1]]
""").funcs[0]
    for variant, _ in optimize(func, k=4).variants:
        assert interpret(variant, np.array([0, -1], np.int32))[0].tolist() == [0, -1]


UNDEF_TIMES_ZERO = {
    "assumed": ("T.assume(j < 14 or A[j] == T.undef())", "A[j]"),
    "local": ("L[J[j]] = A[j] * 2.0", "L[j]"),
}


@pytest.mark.parametrize("kind", UNDEF_TIMES_ZERO)
@pytest.mark.parametrize("floats", ["default", "finite_undef"])
def test_a_product_of_undef_and_zero_is_introduced_only_where_that_is_granted(kind: str, floats: str) -> None:
    """What nobody has written may be no number, which zero does not absorb."""
    first, factor = UNDEF_TIMES_ZERO[kind]
    text = f"""
@T.prim_func
def f(
    A: T.Buffer((16,), "float32"), J: T.Buffer((16,), "int32"), W: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32")
):
    for j in range(16):
        T.assume(J[j] >= 0 and J[j] < 16)
    L = T.alloc_buffer((16,), "float32")
    for j in range(16):
        T.assume(j < 14 or W[j] == 0.0)
    for j in range({16 if kind == "assumed" else 14}):
        {first}
    for j in range(16):
        B[j] = T.if_then_else(j < 14, {factor} * W[j], 0.0)
"""
    best = optimize(parse(text).funcs[0], floats=["default", floats]).best
    assert any(isinstance(e, Select) for e in all_exprs(best.body)) == (floats == "default"), to_script(best)


def test_what_is_subtracted_is_written_so() -> None:
    best = optimized(
        """
@T.prim_func
def f(x: T.Buffer((200,), "float32"), y: T.Buffer((200,), "float32")):
    for i in range(200):
        y[i] = 0.0
        if i > 0:
            y[i] = y[i] - (x[i] - x[i - 1] - 1.0)
        if i < 199:
            y[i] = y[i] + (x[i + 1] - x[i] - 1.0)
"""
    )
    assert "+ -" not in to_script(best)
