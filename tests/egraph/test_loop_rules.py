"""Rules that cut loops up and put them together: what they find, what they must leave, and their budgets."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

import numpy as np
import pytest
from hypothesis import given

import loopsat
from compare import assert_refines
from egraph_rules import Here, Rule, Term, optimize, register, registered_rules, rewrite, rule, unregister
from egraph_rules.authoring.rule import INTEGER, SIGNED
from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import CPU, Target
from egraph_rules.engine.phases import Budget
from egraph_rules.rules import FAMILIES, all_rules, merging, splitting
from egraph_rules.rules.loops import around_gap
from egraph_rules.rules.registry import active_rules
from ir import PrimFunc, interpret, to_script
from ir.errors import RuleError
from ir.nodes import Alloc, Binary, For, If, Stmt, Store
from ir.testing.programs import programs
from ir.traverse import all_exprs, walk
from profiles import few, some
from texts import read

# Prices that make each rule's form the cheapest, whatever the target.
NO_INDEX_WORK = Target(
    "plain indices", index=50.0, loop=0.0, mask=0.0, select=0.0, reduction_mask=0.0, reduction_slice=0.0
)
NO_MASKS = Target("no masks", mask=100.0, select=100.0, reduction_mask=100.0, kernel=0.0, loop=0.0, guarded=0.5)
FEW_LOOPS = Target("few loops", loop=1000.0)


def best(func: PrimFunc, target: Target = CPU) -> PrimFunc:
    found = optimize(func, target=target).best
    assert assert_refines(func, found, np.random.default_rng(0)) > 0
    return found


def count(func: PrimFunc, kind: type[Stmt]) -> int:
    return sum(isinstance(s, kind) for s in walk(func.body))


def divides(func: PrimFunc) -> bool:
    stores = (s for s in walk(func.body) if isinstance(s, Store))
    return any(isinstance(e, Binary) and e.op in ("floordiv", "floormod") for s in stores for e in all_exprs(s))


# Iterations grouped by a layout ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("extent", some(["16", "14", "1", "n"], 0.15))
@pytest.mark.parametrize("start", ["0", "3"])
@pytest.mark.parametrize("offset", ["", " + 2", " - 1"])
def test_iterations_are_grouped_as_the_layout_is(
    extent: str, start: str, offset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splitting, "_PRICES", Prices(NO_INDEX_WORK))
    func = read(f"""
def f(A: T.Buffer((8, 4), "float32"), n: T.int32):
    T.assume(0 <= n and n < 20)
    for i in T.serial({start}, {start} + {extent}):
        A[(i{offset}) // 4 + 1, (i{offset}) % 4] = 1.0
""")
    assert not divides(best(func, NO_INDEX_WORK))


def test_windows_are_not_grouped() -> None:
    func = read("""
def f(A: T.Buffer((8, 4), "float32"), B: T.Buffer((10,), "float32")):
    for i, f in T.grid(10, 3):
        B[i] = B[i] + A[(i + f) // 4, (i + f) % 4]
""")
    assert divides(best(func, NO_INDEX_WORK))


def test_narrow_variables_are_grouped_only_where_positions_fit() -> None:
    func = read("""
def f(A: T.Buffer((32, 4), "float32")):
    for i in T.serial(T.int8(0), T.int8(126)):
        A[i // T.int8(4), i % T.int8(4)] = 1.0
""")
    assert_refines(func, optimize(func, target=NO_INDEX_WORK).best, np.random.default_rng(0))


@pytest.mark.parametrize(("least", "loops"), [(-1073741776, 2), (-715827883, 2), (-715827882, 1), (-8, 1)])
def test_loops_are_one_where_no_iterations_are_not_too_many_to_count(least: int, loops: int) -> None:
    func = read(f"""
def f(A: T.Buffer((96,), "float32"), n: T.int32):
    T.assume({least} <= n)
    for i, j in T.grid(n, 3):
        if i * 3 + j < 96:
            A[i * 3 + j] = 1.0
""")
    found = optimize(func, target=FEW_LOOPS).best
    assert count(found, For) == loops
    interpret(found, np.zeros(96, "float32"), n=least)  # 3 * n may leave int32


# Loops split where a condition changes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition", some(["i < 40", "i >= 40", "i == 40", "i >= 20 and i < 40", "i < n", "i * 3 > 50"], 0.5)
)
def test_loops_are_split_where_a_condition_changes(condition: str) -> None:
    func = read(f"""
def f(A: T.Buffer((100,), "float32"), B: T.Buffer((1,), "float32"), n: T.int32, C: T.Buffer((n,), "float32")):
    T.assume(0 < n and n < 100)
    for i in T.serial(100):
        if {condition}:
            B[0] = B[0] + A[i]
        else:
            B[0] = B[0] - A[i]
""")
    found = best(func, NO_MASKS)
    assert count(found, If) == 0
    assert count(found, For) in (2, 3)


MEDIAN = "T.max(T.min(A[i - 1], A[i]), T.min(T.max(A[i - 1], A[i]), A[i + 1]))"


@pytest.mark.parametrize(
    "body",
    [
        f"if i == 0 or i == 99: B[i] = A[i]\n        else: B[i] = {MEDIAN}",
        f"if 0 < i and i < 99: B[i] = {MEDIAN}\n        else: B[i] = 0.0",
        f"B[i] = T.if_then_else(i == 0 or i == 99, A[i], {MEDIAN})",
    ],
)
def test_loops_are_split_where_elements_begin_to_be_there(body: str) -> None:
    """Else all that is read is padded, and the padding is computed with."""
    func = read(f"""
def f(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in T.serial(100):
        {body}
""")
    found = optimize(func).best
    assert count(found, If) == 0 and count(found, For) == 1 and "if_then_else" not in str(found)


def test_a_mask_over_what_is_there_is_no_reason_to_split() -> None:
    func = read("""
def f(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in T.serial(100):
        B[i] = T.if_then_else(i == 0 or i == 99, A[i], A[99 - i] * 2.0)
""")
    assert optimize(func).best == func


@pytest.mark.parametrize(
    ("indices", "guard", "left"),
    some(
        [
            ("i", "i < 3 or i >= 98", 0),
            ("i", "i == 0 or i == 99", 0),
            ("i, j", "i == 0 or i == 99 or j < 2 or j == 99", 0),
            ("i, j", "not (1 <= i and i < 99 and 1 <= j and j < 99)", 0),
            ("i", "i < 40 or i >= 50", 1),  # most iterations are needed
            ("i", "i % 50 == 0 or i == 7", 1),  # there is more than one gap
        ],
        0.5,
    ),
)
def test_what_fills_a_border_visits_no_more_than_that(indices: str, guard: str, left: int) -> None:
    shape = "100" if indices == "i" else "100, 100"
    func = read(f"""
def f(A: T.Buffer(({shape},), "float32"), B: T.Buffer(({shape},), "float32")):
    for {indices} in T.grid({shape}):
        if {guard}:
            B[{indices}] = A[{indices}] + 1.0
""")
    found = best(func)
    assert count(found, If) == left and "if_then_else" not in str(found)


def test_a_loop_whose_ends_do_different_things_has_a_gap() -> None:
    func = read("""
def f(B: T.Buffer((n,), "float32"), n: T.int32):
    T.assume(n > 10)
    for i in T.serial(n):
        if i < 2:
            B[i] = 1.0
        elif i >= n - 3:
            B[i] = 2.0
""")
    found = best(func)
    assert count(found, If) == 0 and count(found, For) == 2


def test_idle_iterations_without_an_end_are_no_gap() -> None:
    func = read("""
def f(G: T.Buffer((5,), "int32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i in T.serial(T.min(G[0], 8)):
        if i != 1 and n > 0:
            B[i] = B[i] + 1.0
""")
    assert best(func) == func


def test_conditions_on_data_or_without_an_interval_stay() -> None:
    func = read("""
def f(A: T.Buffer((100,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((100,), "int32")):
    for i in T.serial(100):
        if i % 2 == 0:
            B[0] = B[0] + A[i]
        else:
            B[0] = B[0] - A[i]
    for i in T.serial(100):
        if C[i] < 3:
            B[0] = B[0] + A[i]
        else:
            B[0] = B[0] - A[i]
""")
    assert count(best(func, NO_MASKS), If) == 2


# Loops merged ---------------------------------------------------------------------------------------------------------


LEAST = """
def least(B: T.Buffer((2, 2), "int32")):
    for i in T.serial(-2147483648, -2147483646):
        for j in range(2):
            if i + j < -2147483646:
                B[i % 2, j] = 1
"""


def test_bounds_stay_within_their_dtype_where_loops_count_from_its_least_number() -> None:
    best(read(LEAST))  # `-i` has no value in the first iteration


def test_what_stands_between_may_stay_behind() -> None:
    func = read("""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((1,), "float32")):
    for i in T.serial(16):
        A[i] = 1.0
    C[0] = 2.0
    for i in T.serial(16):
        B[i] = A[i]
""")
    assert count(best(func, FEW_LOOPS), For) == 1


@pytest.mark.parametrize(
    "second",
    ["B[i] = A[15 - i]", "A[15 - i] = A[15 - i] + 3.0", "B[i] = A[i] + C[0]"],
    ids=["reads later", "writes earlier", "reads what is between"],
)
def test_dependences_keep_loops_apart(second: str) -> None:
    func = read(f"""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((1,), "float32")):
    for i in T.serial(16):
        A[i] = A[i] * 2.0
    C[0] = A[3] * 2.0
    for i in T.serial(16):
        {second}
""")
    assert count(best(func, FEW_LOOPS), For) == 2


@pytest.mark.parametrize(
    "item", some((*splitting.SPLITTING_RULES, *merging.MERGING_RULES, around_gap), 1), ids=lambda r: r.name
)
@few(1)
@given(func=programs())
def test_random_programs_keep_their_meaning(item: Rule, func: PrimFunc) -> None:
    rules = (*(r for r in active_rules() if r.family != "loops"), item)
    for target in (NO_INDEX_WORK, NO_MASKS, FEW_LOOPS):
        assert_refines(func, optimize(func, target=target, rules=rules).best, np.random.default_rng(0), runs=1)


# Families, registered rules and budgets -------------------------------------------------------------------------------


def test_every_family_is_described() -> None:
    assert {r.family for r in all_rules()} == FAMILIES.keys()


def test_families_can_be_left_out() -> None:
    func = read("""
def f(A: T.Buffer((8,), "int32")):
    for i in T.serial(8):
        if i < 3:
            A[i] = A[i] + 0
        else:
            A[i] = 1
""")
    assert count(optimize(func).best, For) == 1
    kept = optimize(func, without=["noop", "loops", "overcompute"]).best
    assert "+ 0" not in to_script(kept)
    assert "+ 0" in to_script(optimize(func, without=[*FAMILIES]).best)
    with pytest.raises(RuleError, match="noop"):
        optimize(func, without=["nop"])


def test_a_registered_rule_takes_part_until_it_is_taken_out() -> None:
    @rule(on=SIGNED, because="three halves of an even number are no fraction", family="mine")
    def odd_law(x: Term):
        return (x * 6) // 4, (x * 3) // 2

    func = read("""
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in T.serial(8):
        A[i] = n * n * 6 // 4
""")
    assert "* 6" in to_script(optimize(func).best)
    register(odd_law, unchecked=True)
    try:
        assert odd_law in registered_rules()
        assert optimize(func).report.matches["mine.odd_law"] > 0
        assert optimize(func, without=["mine"]).report.matches["mine.odd_law"] == 0
    finally:
        unregister("mine.odd_law")
    assert odd_law not in registered_rules()
    with pytest.raises(RuleError):
        unregister("mine.odd_law")


def test_a_refuted_rule_is_registered_only_unchecked() -> None:
    @rule(on=SIGNED, because="it looks right", family="mine")
    def wrong(x: Term, y: Term):
        return (x + y) // 2, x // 2 + y // 2

    with pytest.raises(RuleError) as caught:
        register(wrong)
    assert "A[" in str(caught.value) or "=" in str(caught.value)
    assert wrong not in registered_rules()
    register(wrong, unchecked=True)
    unregister("mine.wrong")


def test_built_in_names_are_taken() -> None:
    taken = next(r for r in all_rules() if r.pattern is not None)
    with pytest.raises(RuleError, match="built-in"):
        register(taken, unchecked=True)


def test_a_rule_that_proposes_without_end_is_held_back() -> None:
    @rewrite(law="A[i] = v  =  A[i] = v", because="it adds zeros for ever", family="mine")
    def endless(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        del here
        if isinstance(stmt, Store):
            yield Store(stmt.buffer, stmt.indices, stmt.value + 0)

    func = read("""
def f(A: T.Buffer((8,), "int32")):
    A[0] = 1
""")
    result = optimize(func, rules=[endless], budget=Budget(proposals=25, restarts=0))
    assert "proposal budget: 25 of mine.endless" in result.report.stopped
    assert result.best == func


def test_a_family_that_matches_too_much_rests() -> None:
    @rule(on=INTEGER, because="addition is associative", family="mine")
    def grouped(x: Term, y: Term, z: Term):
        return (x + y) + z, x + (y + z)

    @rule(on=INTEGER, because="addition commutes", family="mine")
    def swapped(x: Term, y: Term):
        return x + y, y + x

    terms = " + ".join(f"T.uint8({k}) * A[{k}]" for k in range(1, 12))
    func = read(f"""
def f(A: T.Buffer((12,), "uint8")):
    A[0] = {terms}
""")
    budget = Budget(matches=200, nodes=20_000, rounds=12, restarts=0)
    result = optimize(func, rules=[grouped, swapped], budget=budget)
    assert "rested: mine" in result.report.stopped
    assert_refines(func, result.best, np.random.default_rng(0))


ATTENTION = """
def attention(Q: T.Buffer((8, 4), "float32"), K: T.Buffer((8, 4), "float32"), V: T.Buffer((8, 4), "float32"),
              S: T.Buffer((8, 8), "float32"), M: T.Buffer((8,), "float32"), O: T.Buffer((8, 4), "float32")):
    for row, col in T.grid(8, 8):
        S[row, col] = 0.0
        for depth in T.serial(4):
            S[row, col] = S[row, col] + Q[row, depth] * K[col, depth]
    for row in T.serial(8):
        M[row] = 0.0
        for col in T.serial(8):
            M[row] = T.max(M[row], S[row, col])
    for row, feature in T.grid(8, 4):
        O[row, feature] = 0.0
        for col in T.serial(8):
            O[row, feature] = O[row, feature] + S[row, col] / M[row] * V[col, feature]
"""


def test_merged_loops_keep_the_names_of_what_they_work_on() -> None:
    best = to_script(optimize(read(ATTENTION)).best)
    assert best.count("for row in") == 1, "the three nests were merged"
    assert "Q[row, depth] * K[col, depth]" in best
    assert "T.max(M[row], S[row, col])" in best
    assert "S[row, col] / M[row] * V[col, feature]" in best


def test_a_hundred_statements_in_ten_nests_stay_within_budgets() -> None:
    lines = []
    for k in range(10):
        lines += [f"    for i{k}, j{k} in T.grid(64, 16):", f"        if 16 * i{k} + j{k} < 1022:"]
        for s in range(10):
            place = f"[i{k}, j{k}]"
            value = f"B{(k + s + 1) % 4}{place} * {s + 1}.0 + A{(k + s) % 4}{place}"
            lines.append(f"            B{(k + s) % 4}{place} = {value}")
    buffers = ", ".join(f'{b}{k}: T.Buffer((64, 16), "float32")' for b in "AB" for k in range(4))
    result = optimize(read(f"def f({buffers}):\n" + "\n".join(lines)))
    assert result.report.stopped.startswith("saturated")
    assert result.report.nodes < 30_000


def test_recurrences_are_split_where_all_that_they_read_is_there() -> None:
    func = read("""
def solved(L: T.Buffer((40, 4), "float32"), b: T.Buffer((40,), "float32"), x: T.Buffer((40,), "float32")):
    for i in range(40):
        x[i] = b[i]
        for k in range(3):
            if i + k >= 3:
                x[i] = x[i] - L[i, k] * x[i + k - 3]
        x[i] = x[i] / L[i, 3]
""")
    found = optimize(func).best
    text = to_script(found)
    assert "if " not in text and "for k in T.serial(3 - i, 3):" in text
    assert "for i in T.serial(3, 40):" in text
    assert assert_refines(func, found, np.random.default_rng(0)) > 0


def test_windows_that_read_nothing_of_earlier_iterations_stay_one_loop() -> None:
    func = read("""
def filtered(x: T.Buffer((40,), "float32"), y: T.Buffer((40,), "float32")):
    for i in range(40):
        y[i] = 0.0
        for k in range(5):
            if i + k >= 2 and i + k < 42:
                y[i] = y[i] + x[i + k - 2]
""")
    assert to_script(optimize(func).best).count("for i") == 1


# Loops written out ----------------------------------------------------------------------------------------------------

SORTED_ROWS = """
def sorted_rows(X: T.Buffer((3000, 4), "float32"), m: T.Buffer((3000,), "float32")):
    for b in range(3000):
        v = T.alloc_buffer((4,), "float32")
        for i in range(4):
            v[i] = X[b, i]
        for i in range(4):
            for j in range(3 - i):
                low = T.min(v[j], v[j + 1])
                high = T.max(v[j], v[j + 1])
                v[j] = low
                v[j + 1] = high
        m[b] = v[1]
"""
PRODUCTS = """
def products(A: T.Buffer((30, 3, 3), "float32"), B: T.Buffer((30, 3, 3), "float32"), s: T.Buffer((30, 3), "float32")):
    for b, i in T.grid(30, 3):
        s[b, i] = 0.0
        for j, k in T.grid(3, 3):
            s[b, i] += A[b, i, k] * B[b, k, j]
"""
TWO_SUMS = """
def two_sums(Q: T.Buffer((256, 16, 16), "uint8"), x: T.Buffer((512,), "float32"), y: T.Buffer((256, 16), "float32")):
    for i, g in T.grid(256, 16):
        a = T.alloc_buffer((1,), "float32")
        a[0] = 0.0
        for k in range(16):
            a[0] += T.cast(Q[i, g, k] & T.uint8(15), "float32") * x[32 * g + k]
            a[0] += T.cast(Q[i, g, k] >> T.uint8(4), "float32") * x[32 * g + 16 + k]
        y[i, g] = a[0]
"""
LONG = """
def long(u: T.Buffer((64,), "float32")):
    for t in range(100):
        for i in range(62):
            u[i + 1] = 0.5 * (u[i] + u[i + 2])
"""


def kinds(func: PrimFunc) -> set[str]:
    return {s.kind for s in walk(func.body) if isinstance(s, For)}


def test_steps_in_turn_are_written_out() -> None:
    found = loopsat.optimize(read(SORTED_ROWS))
    assert "unroll" in kinds(found.best)
    assert any(d.rule == "loops.unrolled" for d in found.report.decisions)
    assert "fori_loop" not in loopsat.emit(found.best)


@pytest.mark.parametrize("text", [PRODUCTS, TWO_SUMS, LONG])
def test_sums_and_long_loops_are_left(text: str) -> None:
    assert kinds(loopsat.optimize(read(text)).best) == {"serial"}


def test_the_price_as_a_whole_decides_whether_loops_are_written_out() -> None:
    given = read(SORTED_ROWS)

    def price(func: PrimFunc) -> float:
        return 2.0 if "unroll" in kinds(func) else 1.0

    assert kinds(optimize(given, whole=price).best) == {"serial"}
    assert "unroll" in kinds(optimize(given, whole=lambda f: 1.0 / price(f)).best)


RUNNING = """
def f(S: T.Buffer((7,), "float32"), V: T.Buffer((7,), "float32"), O: T.Buffer((3,), "float32")):
    O[0] = -3.0
    O[1] = 2.0
    for j in range(7):
        n = T.max(O[0], S[j])
        {sum}
        O[0] = n
"""


@pytest.mark.parametrize(
    ("sum_", "found"),
    [
        ("O[1] = O[1] * T.exp(O[0] - n) + V[j] * T.exp(S[j] - n)", False),  # in the array of the maximum
        ("R[1] = R[1] * T.exp(O[0] - n) + V[j] * T.exp(S[j] - n)", True),
        ("R[1] = T.exp(S[j] - n) + T.exp(O[0] - n) * R[1]", True),
        ("R[1] = R[1] * T.exp(n - O[0]) + V[j] * T.exp(S[j] - n)", False),
        ("R[1] = R[1] * T.exp(O[0] - n) + V[j]", False),  # relative to nothing
        ("R[1] = R[1] * T.exp(O[0] - n) + O[0] * T.exp(S[j] - n)", False),  # more than relative
        ("R[j] = R[j] * T.exp(O[0] - n) + V[j] * T.exp(S[j] - n)", False),  # an element each
        ("if j < 5:\n            R[1] = R[1] * T.exp(O[0] - n) + V[j] * T.exp(S[j] - n)", False),  # not each time
        ("for d in range(2): R[d] = R[d] * T.exp(O[0] - n) + V[j] * T.exp(S[j] - n)", True),
        ("for d in range(2): R[0] = R[0] * T.exp(O[0] - n) + V[j] * T.exp(S[j] - n)", False),  # several times
        ("V[j] = V[j] + 1.0\n        R[1] = R[1] * T.exp(O[0] - n) + V[j] * T.exp(S[j] - n)", False),  # twice
    ],
)
def test_sums_relative_to_a_running_maximum_wait_for_it(sum_: str, found: bool) -> None:
    text = RUNNING.format(sum=sum_).replace("O: T", 'R: T.Buffer((7,), "float32"), O: T')
    (rule_,) = (r for r in all_rules() if r.name == "floating.rescaled_sums")
    func = read(text)
    report = optimize(func, rules=[rule_], k=4)
    others = [v for v, _ in report.variants if to_script(v) != to_script(func)]
    assert bool(others) is found
    for other in others:
        assert assert_refines(func, other, np.random.default_rng(3)) > 0


# Tiles and last stores ------------------------------------------------------------------------------------------------

_ROWS = "for o, p in T.grid(4, 3):\n    for i in range(4 * o, T.min(4 * o + 4, 14)):\n"
_COLUMNS = "        for k in range(2 * p, T.min(2 * p + 2, 5)):\n            "
TILES = {
    "positions": ("for o in range(0, 14, 4):\n    for i in range(o, T.min(o + 4, 14)):\n        B[i] = A[i]", 1),
    "places": ("for o in range(4):\n    for i in range(T.min(4, 14 - 4 * o)):\n        B[4 * o + i] = A[4 * o + i]", 1),
    "an open size": (
        "for o in range((n + 3) // 4):\n    for i in range(4 * o, T.min(4 * o + 4, n)):\n        B[i] = A[i]",
        1,
    ),
    "in two dimensions": (f"{_ROWS}{_COLUMNS}B[i] = B[i] + A[i + k]", 2),
    "a sum over all": (f"{_ROWS}{_COLUMNS}B[0] = B[0] + A[i + k]", 2),
    "overlapping": (
        "for o in range(4):\n    for i in range(4 * o, T.min(4 * o + 5, 14)):\n        B[i] = B[i] + A[i]",
        2,
    ),
    "with gaps": ("for o in range(4):\n    for i in range(4 * o, T.min(4 * o + 3, 14)):\n        B[i] = A[i]", 2),
    "in which order counts": (f"{_ROWS}        B[p] = A[i] - B[p + 1]", 3),
}


@pytest.mark.parametrize("name", some(TILES, 0.5))
def test_tiles_of_a_loop_are_joined(name: str) -> None:
    body, loops = TILES[name]
    params = 'n: T.int32, A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")'
    func = read(f"def f({params}):\n" + indent(f"T.assume(n >= 0 and n <= 20)\n{body}", "    "))
    assert count(best(func), For) == loops


LAST = {
    "O[i] = A[i]\n    c[0] = i": 1,
    "c[1] = 2 * i\n    O[i] = A[i]": 1,
    "O[i] = A[i]\n    c[i % 2] = i": 0,
    "O[i] = T.cast(c[0], 'float32')\n    c[0] = i": 0,
    "O[i] = A[i]\n    if A[i] > 0.0:\n        c[0] = i": 0,
    "O[i] = A[i]\n    c[0] = T.cast(O[i // 2], 'int32')": 0,
}


@pytest.mark.parametrize("body", LAST)
def test_what_the_last_iteration_stores_in_one_place_is_stored_after_the_loop(body: str) -> None:
    params = 'A: T.Buffer((9,), "float32"), O: T.Buffer((9,), "float32"), c: T.Buffer((2,), "int32")'
    found = best(read(f"def f({params}):\n    for i in range(9):\n" + indent(f"    {body}", "    ")))
    loops = [s for s in walk(found.body) if isinstance(s, For)]
    inside = {s.buffer.name for loop in loops for s in walk(loop) if isinstance(s, Store)}
    assert ("c" not in inside) is bool(LAST[body])


def test_the_last_iteration_is_that_of_the_bounds_before_the_loop() -> None:
    func = read("""
def f(P: T.Buffer((1,), "int32"), c: T.Buffer((1,), "int32")):
    T.assume(P[0] >= 0 and P[0] < 9)
    for i in range(P[0], P[0] + 4):
        P[0] = (P[0] + 3) % 9
        c[0] = i
""")
    for other, _ in optimize(func, k=4).variants:
        assert assert_refines(func, other, np.random.default_rng(0)) > 0


WINDOWS = {
    "O[i] = O[i] + A[j]": ("T.max(0, i - 2)", "T.min(20, i + 3)", "5"),
    "O[i] = O[i] + A[j] * 2.0": ("i", "T.min(i + 4, 20)", "4"),
    "O[i] = T.max(O[i], A[j])": ("T.max(i - 3, 0)", "i + 1", "4"),
    "O[i] = O[i] - A[j]": ("i", "20", "20 - i"),  # no window
    "O[i] = O[i] * A[j]": ("0", "i + 1", "i + 1"),
    "O[i] = O[i] + A[j] + 1.0": (
        "T.max(0, i - 9)",
        "T.min(20, i + 9)",
        "T.min(20, i + 9) - T.max(0, i - 9)",
    ),  # too wide
}


@pytest.mark.parametrize(
    ("guard", "extents"), [("T.abs(i - j) <= 2", ["5"]), ("j <= i", None), ("j - i > 3 and j - i < 6", ["2"])]
)
def test_loops_of_which_a_guard_takes_a_window_are_loops_over_it(guard: str, extents: list[str] | None) -> None:
    body = f"    for i, j in T.grid(20, 20):\n        if {guard}:\n            O[i] = O[i] + A[j]"
    func = read(f'def f(A: T.Buffer((20,), "float32"), O: T.Buffer((20,), "float32")):\n{body}')
    loops = [s for s in walk(best(func).body) if isinstance(s, For)]
    assert extents is None or [to_script(s.extent) for s in loops[1:]] == extents


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("store", some(WINDOWS, 0.33))
def test_loops_over_clipped_windows_are_loops_over_windows_with_guards(store: str, named: bool) -> None:
    start, stop, extent = WINDOWS[store]
    ends = f"a = {start}\n        b = {stop}\n        " if named else ""
    loop = "for j in range(a, b):" if named else f"for j in range({start}, {stop}):"
    body = f"    for i in range(20):\n        {ends}{loop}\n            {store}"
    func = read(f'def f(A: T.Buffer((20,), "float32"), O: T.Buffer((20,), "float32")):\n{body}')
    loops = [s for s in walk(best(func).body) if isinstance(s, For)]
    assert len(loops) == 2 and (named or to_script(loops[1].extent) == extent)


UNROLLED = {
    "O[2 * i] = A[2 * i] * 3.0\n        O[2 * i + 1] = A[2 * i + 1] * 3.0": True,
    "j = i * 2\n        O[j] = A[j]\n        O[j + 1] = A[j + 1]": True,
    "O[0] = O[0] + A[2 * i]\n        O[0] = O[0] + A[2 * i + 1]": True,
    "O[0] = O[0] + (A[2 * i] * A[2 * i] + A[2 * i + 1] * A[2 * i + 1])": True,
    "B[2 * i] = 1.0\n        O[2 * i] = A[i]\n        B[2 * i + 1] = 1.0\n        O[2 * i + 1] = A[i]": False,
    "B[2 * i] = 1.0\n        A[2 * i] = 2.0\n        B[2 * i + 1] = 1.0\n        A[2 * i + 1] = 2.0": True,
    "O[2 * i] = A[2 * i] * 3.0\n        O[2 * i + 1] = A[2 * i + 1] * 2.0": False,
    "O[2 * i + 1] = A[2 * i + 1]\n        O[2 * i] = A[2 * i]": False,
    "O[2 * i] = A[i]\n        O[2 * i + 1] = A[i + 1]": False,
    "O[0] = O[0] + A[2 * i]\n        O[0] = O[0] - A[2 * i + 1]": False,
}


@pytest.mark.parametrize("body", UNROLLED)
def test_loops_that_were_unrolled_by_hand_are_loops_again(body: str) -> None:
    params = ", ".join(f'{name}: T.Buffer((18,), "float32")' for name in "ABO")
    func = read(f"def f({params}):\n    for i in range(8):\n        {body}")
    found = optimize(func, k=8, rules=[r for r in all_rules() if ".rerolled" in r.name]).variants
    assert (
        any(to_script(s.extent) == "16" for v, _ in found for s in walk(v.body) if isinstance(s, For)) is UNROLLED[body]
    )
    for other, _ in found:
        assert assert_refines(func, other, np.random.default_rng(1)) > 0


STEP = "for i in range(8):\n        {0}[0] = {0}[0] + A[2 * i] * A[2 * i]"
TWICE = "for i in range(8):\n        a[0] = a[0] + A[2 * i]\n        b[0] = b[0] + A[2 * i + 1]"
SUMS = {
    f"a[0] = 0.0\n    b[0] = 0.0\n    {TWICE}\n    O[0] = T.sqrt(T.abs(b[0] + a[0]))": True,
    f"a[0] = 2.0\n    b[0] = 0.0\n    {TWICE}\n    O[0] = a[0] + 1.0 + b[0]\n    O[1] = a[0] + b[0]": True,
    f"a[0] = 0.0\n    {STEP.format('a')}\n    b[0] = 0.0\n    {STEP.format('b')}\n    O[0] = a[0] + b[0]": True,
    f"a[0] = 1.0\n    b[0] = 2.0\n    {TWICE}\n    O[0] = a[0] + b[0]": False,
    f"a[0] = 0.0\n    b[0] = 0.0\n    {TWICE}\n    O[0] = a[0] - b[0]": False,
    f"a[0] = 0.0\n    b[0] = 0.0\n    {TWICE}\n    O[0] = a[0] + b[0]\n    O[1] = b[0]": False,
    f"b[0] = 0.0\n    {STEP.format('b')}\n    a[0] = 0.0\n    a[0] = a[0] + b[0]\n    O[0] = a[0] + b[0]": False,
    f"a[0] = 0.0\n    b[0] = 0.0\n    {TWICE}\n    b[0] = b[0] * 0.5\n    O[0] = a[0] + b[0]": False,
}


@pytest.mark.parametrize("body", SUMS)
def test_sums_that_count_together_only_are_one(body: str) -> None:
    params = ", ".join(f'{name}: T.Buffer((18,), "float32")' for name in "AO")
    local = "".join(f'    {name} = T.alloc_buffer((1,), "float32")\n' for name in "ab")
    func = read(f"def f({params}):\n{local}    {body}")
    found = optimize(func, k=8, rules=[r for r in all_rules() if r.name == "loops.sums_joined"]).variants
    assert any(sum(isinstance(s, Alloc) for s in walk(v.body)) == 1 for v, _ in found) is SUMS[body]
    for other, _ in found:
        assert assert_refines(func, other, np.random.default_rng(1)) > 0


@pytest.mark.parametrize("n", [6, 2000])
def test_iterations_that_one_another_needs_are_not_left_out_one_by_one(n: int) -> None:
    """Of a recurrence up to an element that is asked for, all behind it may go; the step to it is found at once."""
    func = read(f"""
def f(A: T.Buffer(({n},), "float32"), B: T.Buffer((1,), "float32")):
    found = T.alloc_buffer(({n},), "float32")
    for i in T.serial({n}):
        found[i] = A[i]
    for i in T.serial({n} - 1):
        for j in T.serial(i + 1, {n}):
            if found[i] < found[j]:
                t = found[j]
                found[j] = found[i] * 0.5
                found[i] = t
    B[0] = found[1]
""")
    result = optimize(func)
    assert "work budget" not in str(result.report)
    assert sum(k for name, k in result.report.matches.items() if name == "loops.needed_iterations") < 30
    assert_refines(func, result.best, np.random.default_rng(0)) if n < 10 else None
