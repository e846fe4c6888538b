"""What buffers hold, as functions of the place: what the search makes of it, and what it must not make of it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import compare
import stages
from compare import assert_refines
from egraph_rules import Floats, optimize
from egraph_rules.cost.target import Target
from ir import PrimFunc, interpret, parse, to_script
from ir.nodes import Alloc, If, Select
from ir.traverse import all_exprs, free_vars, walk
from profiles import some

ASSUMED = """for i, j in T.grid(4, 4):
    T.assume(4 * i + j < 14 or A[i, j] == 0.0)"""
READER = """C[0] = 0.0
for i, j in T.grid(4, 4):
    if 4 * i + j < 14:
        C[0] = C[0] + {}"""
A44, C1 = 'A: T.Buffer((4, 4), "float32")', 'C: T.Buffer((1,), "float32")'


def program(*body: str, params: str = f"{A44}, {C1}") -> PrimFunc:
    lines = [line for part in body for line in part.splitlines()]
    return parse(f"@T.prim_func\ndef f({params}):\n" + "".join(f"    {line}\n" for line in lines))["f"]


def local(*names: str, shape: str = "(4, 4)", dtype: str = "float32") -> str:
    return "\n".join(f'{name} = T.alloc_buffer({shape}, "{dtype}")' for name in names)


def nest(store: str, guard: str = "") -> str:
    return "for i, j in T.grid(4, 4):\n" + (f"    if {guard}:\n        {store}" if guard else f"    {store}")


def guards(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(func.body)) + sum(isinstance(e, Select) for e in all_exprs(func.body))


def locals_of(func: PrimFunc) -> list[str]:
    return [s.buffer.name for s in walk(func.body) if isinstance(s, Alloc)]


INSIDE = "4 * i + j < 14"
CHAINS = {
    "one stage": program(ASSUMED, local("Q"), nest("Q[i, j] = A[i, j] * 2.0"), READER.format("Q[i, j]")),
    "two stages": program(
        ASSUMED, local("Q", "R"), nest("Q[i, j] = A[i, j] * 2.0"), nest("R[i, j] = T.max(Q[i, j], T.float32(0))"),
        READER.format("R[i, j]"),
    ),
    "five stages": program(
        ASSUMED, local("Q", "R", "S", "U", "V"), nest("Q[i, j] = A[i, j] * 2.0"), nest("R[i, j] = T.abs(Q[i, j])"),
        nest("S[i, j] = R[i, j] * A[i, j]"), nest("U[i, j] = S[i, j] + Q[i, j]"), nest("V[i, j] = T.sqrt(U[i, j])"),
        READER.format("V[i, j]"),
    ),
    "guarded stages": program(
        ASSUMED, local("Q", "R"), nest("Q[i, j] = A[i, j] * 2.0", INSIDE),
        nest("R[i, j] = T.max(Q[i, j], T.float32(0))", INSIDE), READER.format("R[i, j]"),
    ),
    "transposed": program(ASSUMED, local("Q"), nest("Q[j, i] = A[i, j] * 2.0"), READER.format("Q[j, i]")),
    "another layout": program(
        ASSUMED, local("Q", shape="(16,)"), nest("Q[4 * i + j] = A[i, j] * 2.0"), READER.format("Q[4 * i + j]")
    ),
    "a copy of a part": program(
        ASSUMED, local("Q"), nest("Q[i, j] = A[i, j]", "i < 3"), nest("Q[i, j] = A[i, j] * 3.0", "i >= 3"),
        READER.format("Q[i, j]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(CHAINS, 2))
def test_padding_is_derived_through_stages(name: str) -> None:
    best = optimize(CHAINS[name]).best
    assert "14" not in to_script(best)  # where the padding begins
    assert_refines(CHAINS[name], best, np.random.default_rng(0))


@pytest.mark.parametrize("name", some(["one stage", "two stages", "five stages", "guarded stages", "transposed"], 0.4))
def test_stages_that_only_hand_on_need_no_buffer(name: str) -> None:
    assert locals_of(optimize(CHAINS[name]).best) == []


TRAPS = {
    "a stage that is not zero on zero": program(
        ASSUMED, local("Q"), nest("Q[i, j] = T.exp(A[i, j])"), READER.format("Q[i, j]")
    ),
    "overwritten padding": program(
        ASSUMED, local("Q"), nest("Q[i, j] = A[i, j] * 2.0"), "for k in range(2):\n    Q[3, k + 2] = 7.0",
        READER.format("Q[i, j]"),
    ),
    "another value before": program(
        ASSUMED, nest("A[i, j] = A[i, j] + 1.0"), READER.format("A[i, j]")
    ),
    "elements of other places": program(
        ASSUMED, local("Q"), nest("Q[i, j] = A[3 - i, 3 - j]"), READER.format("Q[i, j]")
    ),
    "the same expression of another iteration": program(
        ASSUMED, local("Q"), nest("Q[0, j] = A[i, j]"), READER.format("Q[0, j]")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(TRAPS, 0.4))
def test_guards_that_matter_stay(name: str) -> None:
    """A guard may become the bound of a loop, or the bounds of two; that the padding is looked at would be seen."""
    best = optimize(TRAPS[name]).best
    assert_refines(TRAPS[name], best, np.random.default_rng(1), runs=5)


def test_what_a_value_reads_may_not_be_written_in_between() -> None:
    func = program(
        'Q = T.alloc_buffer((4,), "float32")', "for i in range(4):\n    Q[i] = A[0, i]",
        "for i in range(2):\n    A[0, i] = 5.0", "for i in range(4):\n    A[1, i] = Q[i]", params=A44,
    )  # fmt: skip
    stays = replace(func, params=(*func.params, next(s.buffer for s in walk(func.body) if isinstance(s, Alloc))))
    for one in (func, replace(stays, body=next(s.body for s in walk(func.body) if isinstance(s, Alloc)))):
        assert_refines(one, optimize(one).best, np.random.default_rng(2))


def test_crop_and_equal_pad_cancel() -> None:
    func = program(
        'P = T.alloc_buffer((16,), "float32")', 'Q = T.alloc_buffer((12,), "float32")',
        "for i in range(16):\n    P[i] = T.if_then_else(i >= 2 and i < 14, X[i - 2], T.float32(0))",
        "for i in range(12):\n    Q[i] = P[i + 2]", "for i in range(12):\n    Y[i] = Q[i]",
        params='X: T.Buffer((12,), "float32"), Y: T.Buffer((12,), "float32")',
    )  # fmt: skip
    best = optimize(func).best
    assert to_script(best).splitlines()[2:] == ["    for i in T.serial(12):", "        Y[i] = X[i]"]


def test_wrapped_borders_are_what_they_repeat() -> None:
    func = program(
        "for i in range(4):\n    T.assume(X[16 + i] == X[i])",
        "for i in range(16):\n    Y[i] = T.if_then_else(i + 4 < 16, X[i + 4], X[i - 12])",
        params='X: T.Buffer((20,), "float32"), Y: T.Buffer((16,), "float32")',
    )
    best = optimize(func).best
    assert guards(best) == 0, to_script(best)
    assert_refines(func, best, np.random.default_rng(3))


LENGTHS = 'A: T.Buffer((4, 16), "float32"), lens: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")'
ROWS = """for i in range(4):
    C[i] = 0.0
    for p in range(16):
        if {}:
            C[i] = C[i] + {}"""


@pytest.mark.parametrize("unless", some(["p < lens[i]", "lens[i] > p", "p + 1 <= lens[i]"], 0.45))
def test_padding_that_begins_where_data_say(unless: str) -> None:
    assumed = f"for i, p in T.grid(4, 16):\n    T.assume({unless} or A[i, p] == 0.0)"
    func = program(assumed, ROWS.format("p < lens[i]", "A[i, p]"), params=LENGTHS)
    best = optimize(func).best
    assert guards(best) == 0, to_script(best)
    trap = program(assumed, ROWS.format("p < lens[i]", "T.exp(A[i, p])"), params=LENGTHS)
    assert guards(optimize(trap).best) == 1
    for one in (func, trap):
        assert_refines(one, optimize(one).best, np.random.default_rng(4), runs=2)


WITHIN = "    T.assume(lens[i] >= 0 and lens[i] <= 16)"
PROMISES = {  # ways to say that rows are zero from their lengths on
    "under a condition": "    for p in range(16):\n        if p >= lens[i]:\n            T.assume(A[i, p] == 0.0)",
    "in a loop": "    for p in range(lens[i], 16):\n        T.assume(A[i, p] == 0.0)",
    "under two conditions": """    if lens[i] < 16:
        for p in range(16):
            T.assume(p < lens[i] or A[i, p] == 0.0)""",
}  # fmt: skip
READERS = {
    "guarded": ROWS.format("p < lens[i]", "A[i, p]"),
    "as long as rows": "for i in range(4):\n    C[i] = 0.0\n    for p in range(lens[i]):\n        C[i] += A[i, p]",
}


@pytest.mark.parametrize("reader", some(READERS, 0.5))
@pytest.mark.parametrize("promise", PROMISES)
def test_promises_of_ragged_rows(promise: str, reader: str) -> None:
    assumed = f"for i in range(4):\n{WITHIN}\n{PROMISES[promise]}"
    func = program(assumed, READERS[reader], params=LENGTHS)
    best = optimize(func).best
    assert guards(best) == 0 and "range(16)" in to_script(best).replace("T.serial", "range"), to_script(best)
    assert_refines(func, best, np.random.default_rng(5), runs=2)


@pytest.mark.parametrize("value", some(["A[i, p] * z[i]", "A[i, p] / z[i]", "A[i, p] / z[i] * 3.0"], 0.5))
@pytest.mark.parametrize(("shortest", "kept"), [(1, 0), (0, 1)])
def test_numbers_that_each_row_reads_once_at_least(value: str, shortest: int, kept: int) -> None:
    """A row of an element or more reads z[i], a number then, and no zero if it divides; an empty one does not."""
    assumed = f"""for i in range(4):
    T.assume(lens[i] >= {shortest} and lens[i] <= 16)
    for p in range(lens[i], 16):
        T.assume(A[i, p] == 0.0)"""
    params = f'{LENGTHS}, z: T.Buffer((4,), "float32")'
    func = program(assumed, ROWS.format("p < lens[i]", value), params=params)
    best = optimize(func).best
    assert guards(best) == kept, to_script(best)
    assert_refines(func, best, np.random.default_rng(7), runs=2)


@pytest.mark.parametrize(
    ("promise", "value", "longest"), [("A[i, p] == 0.0", "A[i, p] + 1.0", 16), ("A[i, p] == 0.0", "A[i, p]", 17)]
)
def test_rows_that_may_not_run_on(promise: str, value: str, longest: int) -> None:
    """What is added beyond a row counts, or rows may be longer than there are elements to read."""
    assumed = f"""for i in range(4):
    T.assume(lens[i] >= 0 and lens[i] <= {longest})
    for p in range(16):
        if p >= lens[i]:
            T.assume({promise})"""
    body = READERS["as long as rows"].replace("A[i, p]", value)
    best = optimize(program(assumed, body, params=LENGTHS)).best
    assert "range(lens[i])" in to_script(best).replace("T.serial", "range")


@pytest.mark.parametrize("start", ["0", "2"])
def test_a_loop_over_a_size_runs_through_padding(start: str) -> None:
    assumed = "T.assume(n >= 2 and n <= 16)\nfor p in range(16):\n    if p >= n:\n        T.assume(A[p] == 0.0)"
    body = f"c[0] = 0.0\nfor p in range({start}, n):\n    c[0] = c[0] + A[p] * A[p]"
    params = 'A: T.Buffer((16,), "float32"), c: T.Buffer((1,), "float32"), n: T.int32'
    func = program(assumed, body, params=params)
    best = optimize(func).best
    assert "n" not in {v.name for e in all_exprs(best.body) for v in free_vars(e)}, to_script(best)
    assert_refines(func, best, np.random.default_rng(6), runs=2)


def test_strict_floats_forward_what_is_stored() -> None:
    func = program(local("Q"), nest("Q[i, j] = A[i, j] * 2.0"), nest("A[i, j] = Q[i, j] + 1.0"), params=A44)
    best = optimize(func, floats=Floats.STRICT).best
    assert locals_of(best) == []
    assert_refines(func, best, np.random.default_rng(5), exact=True)


def test_variants_are_as_many_as_there_are() -> None:
    variants = optimize(CHAINS["two stages"], k=4).variants
    assert len({to_script(v) for v, _ in variants}) == 4


TARGETS = (
    Target("cheap guards", mask=0.0, select=0.0, reduction_mask=0.0, kernel=0.0),
    Target("dear guards", mask=100.0, select=100.0, reduction_mask=100.0),
    Target("dear loads", load=50.0, store=50.0),
)


def check(seed: int) -> None:
    func = parse(stages.staged(random.Random(seed)))["f"]
    found = optimize(func, target=TARGETS[seed % 3], k=2).variants
    for n in range(2):
        inputs = stages.inputs(func, np.random.default_rng(seed + n))
        if inputs is not None:
            compare.assert_same(func, [v for v, _ in found], inputs)


@pytest.mark.parametrize("seed", some(range(12), 1))
def test_random_stages_keep_their_meaning(seed: int) -> None:
    check(seed)


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
def test_many_random_stages_keep_their_meaning(seed: int) -> None:
    check(seed)


ACCUMULATED = 'A: T.Buffer((8,), "{0}"), C: T.Buffer((1,), "{0}"), D: T.Buffer((1,), "{0}")'
KEPT = [
    ("int32", "0", "T.max(C[0], A[i])", "T.max(C[0], 0)"),
    ("int32", "0", 'C[0] + T.cast(A[i] > 3, "int32")', "T.max(C[0], 0)"),
    ("int32", "2", "T.min(C[0], A[i])", "T.min(C[0], 5)"),
    ("float32", "0", "C[0] + A[i] * A[i]", "T.max(C[0], 0.0)"),
    ("float32", "1", "C[0] + T.exp(A[i])", "T.max(C[0], 0.5)"),
    ("float32", "0", "C[0] - T.abs(A[i])", "T.min(C[0], 0.0)"),
    ("float32", "0", "T.if_then_else(A[i] > 1.0, T.float32(3), C[0])", "T.max(C[0], 0.0)"),
]
LOST = [
    ("int32", "0", "C[0] + T.min(A[i], 1)", "T.max(C[0], 0)"),
    ("int32", "0", "T.min(C[0], A[i])", "T.max(C[0], 0)"),
    ("uint8", "5", "C[0] + A[i]", "T.max(C[0], T.uint8(5))"),  # wraps
    ("uint8", "0", "-A[i]", "T.if_then_else(C[0] <= 0, T.uint8(1), T.uint8(2))"),  # wraps too
    ("float32", "0", "C[0] + A[i] * A[7 - i]", "T.max(C[0], 0.0)"),
    ("float32", "1", "C[0] * T.abs(A[i])", "T.max(C[0], 1.0)"),
    ("float32", "0", "T.max(C[0], A[i]) - 1.0", "T.max(C[0], 0.0)"),
]


def accumulated(dtype: str, first: str, step: str, use: str) -> PrimFunc:
    text = f"""@T.prim_func
def f({ACCUMULATED.format(dtype)}):
    C[0] = {first}
    for i in range(8):
        C[0] = {step}
    D[0] = {use}
"""
    return parse(text).funcs[0]


@pytest.mark.parametrize(("dtype", "first", "step", "use"), [*KEPT, *LOST])
def test_accumulators_stay_on_one_side_of_their_first_value(dtype: str, first: str, step: str, use: str) -> None:
    func = accumulated(dtype, first, step, use)
    best = optimize(func).best
    assert ("D[0] = C[0]" in to_script(best)) == ((dtype, first, step, use) in KEPT), to_script(best)
    rng = np.random.default_rng(6)
    for _ in range(4):
        given = {"A": rng.integers(0 if dtype == "uint8" else -9, 9, 8).astype(dtype)}
        compare.assert_same(func, [best], {**given, **{n: np.zeros(1, dtype) for n in "CD"}})


def test_truths_have_no_bounds() -> None:
    """That one is not below `False` says nothing of which it is."""
    func = program(
        "C[0] = False", "for i in range(8):\n    C[0] = T.if_then_else(A[i] > 3, True, C[0])",
        "D[0] = T.if_then_else(C[0], 1, 2)",
        params='A: T.Buffer((8,), "int32"), C: T.Buffer((1,), "bool"), D: T.Buffer((1,), "int32")',
    )  # fmt: skip
    for variant, _ in optimize(func, k=3).variants:
        assert_refines(func, variant, np.random.default_rng(7), runs=5)


MIRRORED = program(
    "for i in range(8):\n    T.assume(A[i] == B[7 - i])",
    "for i in range(8):\n    D[i] = T.if_then_else(i < 6, A[i], B[7 - i])",
    params='A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")',
)


def test_elements_that_tell_each_other_end() -> None:
    assert guards(optimize(MIRRORED).best) == 0


def test_equal_floats_are_not_the_same_where_zeros_have_signs() -> None:
    best = optimize(MIRRORED, floats=Floats.STRICT).best
    assert guards(best) == 1
    zeros = {"A": np.zeros(8, np.float32), "B": -np.zeros(8, np.float32), "D": np.zeros(8, np.float32)}
    found, wanted = (interpret(one, **zeros)[0] for one in (best, MIRRORED))
    assert np.array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize(
    "form", ["if {}:\n        D[i] = {}\n    else:\n        D[i] = {}", "D[i] = T.if_then_else({}, {}, {})"]
)
@pytest.mark.parametrize(
    ("cond", "first", "second", "kept"),
    some(
        [
            ("i < 6", "A[i] + B[i]", "2 * A[i]", 0),
            ("i < 6", "B[i] + A[i] + A[i]", "3 * B[i]", 0),
            ("i >= 6", "A[i] * B[i] - 1", "(B[i] - 1) * (A[i] + 1)", 0),
            ("i < 5", "A[i] + B[i]", "2 * A[i]", 1),
            ("i < 6", "B[i] + A[i] + A[i]", "2 * A[i]", 1),
        ],
        0.33,
    ),
)
def test_sums_of_equal_elements_are_alike(form: str, cond: str, first: str, second: str, kept: int) -> None:
    func = program(
        "for i in range(8):\n    T.assume(A[i] > -99 and A[i] < 99 and B[i] > -99 and B[i] < 99)",
        "for i in range(8):\n    T.assume(i < 6 or A[i] == B[i])",
        f"for i in range(8):\n    {form.format(cond, first, second)}",
        params=", ".join(f'{name}: T.Buffer((8,), "int32")' for name in "ABD"),
    )
    best = optimize(func).best
    assert guards(best) == kept, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), runs=3)


@pytest.mark.parametrize(
    ("then", "other", "kept"),
    some(
        [
            (["D[i] = A[i] * 2", "E[i] = A[i] * 3"], ["D[i] = 0", "E[i] = 0"], 0),
            (["D[i] = A[i] * 2", "E[i] = D[i] + 1"], ["D[i] = 0", "E[i] = 1"], 0),
            (["v = A[i]", "D[i] = v * 2", "E[i] = v * 3"], ["D[i] = 0", "E[i] = 0"], 0),
            (["D[i] = A[i] * 2", "E[i] = A[i] * 3"], ["D[i] = T.undef()", "E[i] = 0"], 0),
            (["D[i] = A[i] * 2", "E[i] = A[i] * 3"], ["D[i] = 0", "E[i] = 1"], 1),
            # in another order, where neither minds the other one
            (["D[i] = A[i] * 2", "E[i] = A[i] * 3"], ["E[i] = 0", "D[i] = 0"], 0),
            (["D[i] = C[i]", "E[i] = A[i] * 3", "B[i] = C[i]"], ["E[i] = 0", "B[i] = C[i]", "D[i] = C[i]"], 0),
            (["G[0, i] = C[i]", "G[1, i] = A[i]"], ["G[1, i] = 0", "G[0, i] = C[i]"], 0),
            (["D[i] = C[i]", "E[i] = D[i]"], ["E[i] = D[i]", "D[i] = C[i]"], 1),
            (["D[i] = E[i]", "E[i] = C[i]"], ["E[i] = C[i]", "D[i] = E[i]"], 1),
            (["G[0, i] = C[i]", "G[0, i] = D[i]"], ["G[0, i] = D[i]", "G[0, i] = C[i]"], 1),
            (["G[0, i] = C[i]", "G[1, i] = G[0, i]"], ["G[1, i] = G[0, i]", "G[0, i] = C[i]"], 1),
            (["D[i] = A[i] * 2", "E[i] = 0"], ["D[i] = T.undef()", "E[i] = D[i]"], 1),
            # what is known before a statement is known no more after it
            (["B[i] = C[i] + D[i]", "F[i] = 2 * B[i]"], ["B[i] = D[i] + C[i]", "F[i] = E[i] + B[i]"], 1),
            (["A[i] = D[i] + 7", "C[i] = A[i] * E[i]"], ["A[i] = 7 + D[i]", "C[i] = 0"], 1),
        ],
        0.17,
    ),
)
def test_arms_of_several_statements_are_alike_one_after_the_other(then: list[str], other: list[str], kept: int) -> None:
    arms = [f"{arm}\n" + "".join(f"        {s}\n" for s in stmts) for arm, stmts in (("", then), ("    else:", other))]
    func = program(
        *(f"for i in range(8):\n    T.assume({name}[i] > -9 and {name}[i] < 9)" for name in "ABCDE"),
        "for i in range(8):\n    T.assume((i < 6 or A[i] == 0) and (i < 6 or B[i] == E[i]))",
        f"for i in range(8):\n    if i < 6:{arms[0]}{arms[1]}",
        params=", ".join(f'{name}: T.Buffer((8,), "int32")' for name in "ABCDEF") + ', G: T.Buffer((2, 8), "int32")',
    )
    best = optimize(func).best
    assert any(bound in to_script(best) for bound in ("i < 6", "serial(6")) == bool(kept)
    assert assert_refines(func, best, np.random.default_rng(0), runs=3)


def test_what_may_be_arbitrary_has_no_bounds() -> None:
    """A maximum with what nobody has written is arbitrary, and equals no number."""
    func = program(
        'L = T.alloc_buffer((8,), "int32")', "C[0] = 0", "for i in range(8):\n    C[0] = T.max(C[0], L[J[i]])",
        "D[0] = T.max(C[0], 0)",
        params='J: T.Buffer((8,), "int32"), C: T.Buffer((1,), "int32"), D: T.Buffer((1,), "int32")',
    )  # fmt: skip
    assert "T.max(C[0], 0)" in to_script(optimize(func).best)


PADDED = [
    ("int16", "int16", "A[i, j] == 0", "", "T.max(C[0], A[i, j])"),  # a bound of the sum against a known element
    ("uint8", "int32", "A[i, j] == z", ', z: T.uint8', 'C[0] + (T.cast(A[i, j], "int32") - T.cast(z, "int32")) * 3'),
    ("int8", "int32", '(T.cast(A[i, j], "int32") == Z[i] and Z[i] >= -128 and Z[i] < 128)',
     ', Z: T.Buffer((4,), "int32"), W: T.Buffer((4,), "int32")', 'C[0] + (T.cast(A[i, j], "int32") - Z[i]) * W[j]'),
    ("float32", "float64", "A[i, j] == z", ', z: T.float32',
     'C[0] + (T.cast(A[i, j], "float64") - T.cast(z, "float64"))'),
    ("int32", "int32", "(A[i, j] >= 0 and A[i, j] < 5)", "", 'C[0] + T.cast(A[i, j] > 7, "int32")'),
]  # fmt: skip


@pytest.mark.parametrize(("held", "dtype", "assumed", "scalars", "step"), PADDED)
def test_sums_over_padding_need_no_guard(held: str, dtype: str, assumed: str, scalars: str, step: str) -> None:
    func = program(
        f"for i, j in T.grid(4, 4):\n    T.assume({INSIDE} or {assumed})", "C[0] = 0",
        f"for i, j in T.grid(4, 4):\n    if {INSIDE}:\n        C[0] = {step}",
        params=f'A: T.Buffer((4, 4), "{held}"), C: T.Buffer((1,), "{dtype}"){scalars}',
    )  # fmt: skip
    best = optimize(func).best
    assert guards(best) == 0, to_script(best)
    assert_refines(func, best, np.random.default_rng(8))


HANDED = {
    "what was loaded before": program(
        local("R", shape="(1,)"), "R[0] = A[0]", "for i in range(15):\n    D[i] = R[0] + A[i + 1]\n    R[0] = A[i + 1]",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "registers that take turns": program(
        local("R", shape="(2,)"), "R[0] = A[0]", "R[1] = A[1]",
        "for i in range(14):\n    D[i] = R[0] + R[1] + A[i + 2]\n    R[0] = R[1]\n    R[1] = A[i + 2]",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "a ring of three": program(
        local("R", shape="(3,)"), "R[0] = A[0]", "R[1] = A[1]",
        "for i in range(14):\n    R[(i + 2) % 3] = A[i + 2]\n    D[i] = R[i % 3] + R[(i + 1) % 3] + R[(i + 2) % 3]",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "a counter": program(
        "C[0] = 3", "for i in range(16):\n    D[i] = T.if_then_else(C[0] == 2 * i + 3, 1, 2)\n    C[0] = C[0] + 2",
        params='C: T.Buffer((1,), "int32"), D: T.Buffer((16,), "int32")',
    ),
    "a counter in a nest": program(
        local("P", shape="(1,)", dtype="int32"), "P[0] = 15",
        "for i, j in T.grid(4, 4):\n    D[P[0]] = A[4 * i + j]\n    P[0] = P[0] - 1",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "a counter with two steps": program(
        local("P", shape="(1,)", dtype="int32"), "P[0] = 0",
        "for i in range(4):\n    D[P[0]] = 1.0\n    P[0] += 1\n    for j in range(3):\n"
        "        D[P[0]] = A[3 * i + j]\n        P[0] += 1",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "a counter in a triangle": program(
        local("P", shape="(1,)", dtype="int32"), "P[0] = 1",
        "for i in range(5):\n    for j in range(i + 1):\n        D[P[0]] = A[i + j]\n        P[0] = P[0] + 1",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "a counter in a nest of open sizes": program(
        local("P", shape="(1,)", dtype="int32"), "P[0] = 0",
        "for i in range(n):\n    for j in range(m):\n        D[P[0]] = A[i, j]\n        P[0] = P[0] + 1",
        params='n: T.int32, m: T.int32, A: T.Buffer((n, m), "float32"), D: T.Buffer((n * m,), "float32")',
    ),
    "a count": program(
        "C[0] = 0", "for i, j in T.grid(4, 4):\n    if A[4 * i + j] > 0.0:\n        C[0] = C[0] + 1",
        "D[0] = T.if_then_else(C[0] <= 16 and C[0] >= 0, 1, 2)",
        params='A: T.Buffer((16,), "float32"), C: T.Buffer((1,), "int32"), D: T.Buffer((1,), "int32")',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(HANDED, 0.37))
def test_iterations_hand_on_more_than_numbers(name: str) -> None:
    best = optimize(HANDED[name]).best
    assert not locals_of(best) and not any(isinstance(e, Select) for e in all_exprs(best.body)), to_script(best)
    assert_refines(HANDED[name], best, np.random.default_rng(9))


NOT_HANDED = {
    "another first value": program(
        local("R", shape="(1,)"), "R[0] = A[1]", "for i in range(15):\n    D[i] = R[0] + A[i + 1]\n    R[0] = A[i + 1]",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "registers that take turns in some iterations": program(
        local("R", shape="(2,)"), "R[0] = A[0]", "R[1] = A[1]",
        "for i in range(14):\n    D[i] = R[0] + R[1] + A[i + 2]\n    if i % 3 > 0:\n        R[0] = R[1]\n"
        "    R[1] = A[i + 2]",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "a ring of two that is read three back": program(
        local("R", shape="(2,)"), "R[0] = A[0]", "R[1] = A[1]",
        "for i in range(14):\n    R[i % 2] = A[i + 2]\n    D[i] = R[(i + 2) % 2] + R[(i + 1) % 2]\n"
        "    A[i + 1] = 2.0",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "what it reads is written": program(
        local("R", shape="(1,)"), "R[0] = A[0]",
        "for i in range(15):\n    A[i] = R[0] + 1.0\n    R[0] = A[i + 1]\n    A[i + 1] = 2.0",
        params='A: T.Buffer((16,), "float32")',
    ),
    "a counter in some iterations": program(
        local("P", shape="(1,)", dtype="int32"), "P[0] = 0",
        "for i in range(15):\n    D[P[0]] = A[i]\n    if A[i] > 0.0:\n        P[0] = P[0] + 1",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "a counter that is halved": program(
        local("P", shape="(1,)", dtype="int32"), "P[0] = 9",
        "for i in range(15):\n    D[P[0]] = A[i]\n    P[0] = P[0] // 2 + 1",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "left by some only": program(
        local("R", shape="(1,)"), "R[0] = A[0]",
        "for i in range(15):\n    D[i] = R[0]\n    if i % 2 == 0:\n        R[0] = A[i + 1]",
        params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")',
    ),
    "one more than the bound": program(
        "C[0] = 0", "for i, j in T.grid(4, 4):\n    if A[4 * i + j] > 0.0:\n        C[0] = C[0] + 1",
        "D[0] = T.if_then_else(C[0] <= 7, 1, 2)",
        params='A: T.Buffer((16,), "float32"), C: T.Buffer((1,), "int32"), D: T.Buffer((1,), "int32")',
    ),
    "counted in two places": program(
        "C[0] = 0", "C[1] = 0",
        "for i in range(8):\n    D[i] = T.if_then_else(C[0] == i, 1, 2)\n    C[i % 2] = C[i % 2] + 1",
        params='C: T.Buffer((2,), "int32"), D: T.Buffer((8,), "int32")',
    ),
    "a defined number, and not 1": program(
        'C = T.alloc_buffer((1,), "int32")', "C[0] = A[0]",
        "for i in range(8):\n    D[i] = T.if_then_else(C[0] == i + 1, 1, 2)\n    C[0] = C[0] + 1",
        params='A: T.Buffer((4,), "int32"), D: T.Buffer((8,), "int32")',
    ),
    "a loop that may not run": program(
        "C[0] = 5", "for i in range(n - 3):\n    C[0] = C[0] + 1", "D[0] = T.if_then_else(C[0] == n + 2, 1, 2)",
        params='n: T.int32, C: T.Buffer((1,), "int32"), D: T.Buffer((1,), "int32")',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(NOT_HANDED, 0.27))
def test_what_is_not_handed_on_is_not_used(name: str) -> None:
    for variant, _ in optimize(NOT_HANDED[name], k=3).variants:
        assert_refines(NOT_HANDED[name], variant, np.random.default_rng(10), runs=5)


def test_what_holds_where_nothing_runs_says_nothing_of_other_places() -> None:
    """In an arm that is never taken a maximum was any number, and with it the literal that all places share."""
    source = """@T.prim_func
def f(X: T.Buffer((6,), "int32"), O: T.Buffer((5,), "int32")):
    for t in range(2):
        V = T.alloc_buffer((6,), "int32")
        W = T.alloc_buffer((5,), "int32")
        for i in range(6):
            V[i] = X[i]
        for i in range(2):
            V[i] = 0
        for i in range(5):
            W[i] = T.if_then_else(i != 3, T.if_then_else(i >= 1, V[T.max(i - 1, 0)], 0), 2)
        W[4] = 0
        for i in range(5):
            O[i] = W[T.max(i - 1, 0)]
"""
    func = parse(source).funcs[0]
    assert_refines(func, optimize(func).best, np.random.default_rng(0))
