"""The price as a whole: what it sees of the array code, and that it decides what a search returns."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import loopsat
from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.cost.target import CPU, GPU, TPU, Target
from egraph_rules.cost.whole import CALLS, NEAR, ranked
from ir import PrimFunc, parse, to_script
from ir.nodes import Stmt
from lower import emit
from lower.emission import function
from lower.price.program import pricing, program_price, usual_sizes
from profiles import some

PROGRAMS = parse((Path(__file__).parents[2] / "benchmarks" / "small_programs.py").read_text())


def read(params: str, body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}\n").funcs[0]


def vector(*names: str, size: int = 1 << 20) -> str:
    return ", ".join(f'{name}: T.Buffer(({size},), "float32")' for name in names)


COPY = read(vector("A", "B"), "for i in range(1048576):\n    B[i] = A[i] + 1.0")


@pytest.mark.parametrize("target", [CPU, GPU, TPU], ids=lambda t: t.name)
def test_a_store_by_arrays_of_indices_is_dearer_than_one_to_all_of_a_buffer(target: Target) -> None:
    places = f'{vector("A", "B")}, P: T.Buffer((1048576,), "int32")'
    scattered = read(places, "for i in range(1048576):\n    B[P[i]] = A[i] + 1.0")
    assert 'mode="drop"' in emit(scattered)
    assert program_price(scattered, target) > 1.5 * program_price(COPY, target)


def test_a_loop_that_stays_one_is_priced_by_its_steps() -> None:
    steps = read(vector("A", "B"), "for i in range(1048575):\n    B[i + 1] = B[i] * B[i] + A[i]")
    assert "fori_loop" in emit(steps)
    assert program_price(steps) > 10 * program_price(COPY)


COUNTED = (
    "c = T.alloc_buffer((1,), 'int32')\nc[0] = 0\nfor i in range(64):\n    if A[i] > 0.5:\n        c[0] = c[0] + 1\n"
)


@pytest.mark.parametrize("bound", ["m = k % 9\nn = m * m + 1\n", f"{COUNTED}n = c[0] % 3 + k % 9\n"])
def test_bounds_of_loops_may_have_names(bound: str) -> None:
    func = read(f"k: T.int32, {vector('A', size=64)}", f"{bound}for i in T.serial(n):\n    A[i] = A[i] * 0.5 + A[0]")
    assert program_price(func) > 0


def test_products_are_paid_for_padded_rows_and_columns() -> None:
    prices: list[float] = []
    for rows in (200, 256):
        params = f'A: T.Buffer(({rows}, 256), "float32"), W: T.Buffer((256, 256), "float32"), '
        params += f'C: T.Buffer(({rows}, 256), "float32")'
        body = f"for i, j in T.grid({rows}, 256):\n    C[i, j] = 0.0\n    for k in range(256):\n"
        prices.append(program_price(read(params, f"{body}        C[i, j] = C[i, j] + A[i, k] * W[k, j]")) - CPU.call)
    assert 1.2 < prices[1] / prices[0] < 1.35


def test_a_mask_in_a_reduction_and_a_masked_store_are_told_apart() -> None:
    def masked(out: int, body: str) -> float:
        mask = f'A: T.Buffer((1048576,), "float32"), B: T.Buffer(({out},), "float32")'
        return program_price(read(mask, body)) - CPU.call

    maximum = "B[0] = A[0]\nfor i in range(1048576):\n"
    plain = masked(1, maximum + "    B[0] = T.max(B[0], A[i])")
    guarded = masked(1, maximum + "    if A[i] > 0.5:\n        B[0] = T.max(B[0], A[i])")
    assert guarded > 3 * plain
    store = "for i in range(1048576):\n"
    plain = masked(1 << 20, store + "    B[i] = A[i] * 2.0")
    assert masked(1 << 20, store + "    B[i] = T.if_then_else(A[i] > 0.5, A[i] * 2.0, 0.0)") < 2 * plain


def test_a_reduction_of_padded_elements_is_no_dearer_than_one_of_a_part() -> None:
    """Terms that a reduction does not take in are stored before it, and a slice is such a term."""
    params = 'A: T.Buffer((1024, 1024), "{d}"), B: T.Buffer((1024,), "{d}")'
    for dtype in ("float32", "int32"):
        whole, part = (
            program_price(read(params.format(d=dtype), f"for i, j in T.grid(1024, {n}):\n    B[i] += A[i, j] - 3"))
            for n in (1024, 1021)
        )
        assert whole < part


def test_a_result_that_a_reduction_reads_is_made_once() -> None:
    params = 'A: T.Buffer((1048576,), "float32"), B: T.Buffer((1048576,), "float32"), C: T.Buffer((1,), "float32")'
    body = "for i in range(1048576):\n    B[i] = T.exp(A[i])\n"
    stored = program_price(read(params, body)) - CPU.call
    both = program_price(read(params, body + "for i in range(1048576):\n    C[0] += B[i]")) - CPU.call
    assert both < 1.5 * stored


def test_many_columns_are_added_up_by_a_product() -> None:
    """XLA:CPU adds up more than 16,384 columns one element after the other (measured: 10 to 50 times as slow)."""

    def added(*shape: int) -> str:
        rest = ", ".join(map(str, shape[1:]))
        places = ", ".join("jkl"[: len(shape) - 1])
        params = f'A: T.Buffer({shape}, "float32"), B: T.Buffer(({rest},), "float32")'
        extents = ", ".join(map(str, shape))
        return emit(read(params, f"for i, {places} in T.grid({extents}):\n    B[{places}] += A[i, {places}] * 2.0"))

    assert "einsum" in added(64, 32768)
    assert "einsum" in added(64, 256, 256)


def test_work_that_two_statements_share_counts_for_each_that_stores_it() -> None:
    both = "for i in range(1048576):\n    B[i] = T.exp(A[i])\nfor i in range(1048576):\n    C[i] = T.exp(A[i]) + 1.0"
    price = program_price(read(vector("A", "B", "C"), both))
    one = program_price(read(vector("A", "B"), "for i in range(1048576):\n    B[i] = T.exp(A[i])"))
    assert one < price < 2.2 * one


def test_what_stencils_compute_again_is_stored_where_it_is_too_much() -> None:
    """XLA stops at some number of copies, so that the price of a chain does not grow with a power of its length."""

    def chain(length: int) -> float:
        names = ["A", *(f"H{k}" for k in range(length - 1)), "B"]
        local = [f'{name} = T.alloc_buffer((4096,), "float32")' for name in names[1:-1]]
        nests = [
            f"for i in range(4096):\n    {b}[i] = 0.0\n    for f in range(3):\n"
            f"        if 0 <= i + f - 1 and i + f - 1 < 4096:\n            {b}[i] += {a}[i + f - 1]"
            for a, b in pairwise(names)
        ]
        return program_price(read(vector("A", "B", size=4096), "\n".join((*local, *nests))))

    prices = [chain(n) for n in (3, 6, 12)]
    assert prices[0] < prices[1] < prices[2] < 6 * prices[1]


def test_rows_that_are_put_together_of_parts_cost_more_than_arrays_of_rows() -> None:
    params = 'A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32")'
    sides = [("i, j", "i, j + 256"), ("j, i", "j + 256, i")]
    inner, outer = (
        program_price(read(params, f"for i, j in T.grid(512, 256):\n    B[{a}] = A[{a}] * 2.0\n"
                                   f"for i, j in T.grid(512, 256):\n    B[{b}] = A[{b}] * A[{a}]"))
        for a, b in sides
    )  # fmt: skip
    assert inner > 1.5 * outer


@pytest.mark.parametrize(("claim", "size"), [("n % 7 == 0", 252), ("n < 20", 16), ("n > 4000", 256), ("n == n", 256)])
def test_symbolic_sizes_get_values_that_assumptions_leave(claim: str, size: int) -> None:
    text = f"""
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    T.assume({claim})
    for i in range(n):
        B[i] = A[i]
"""
    func = parse(text).funcs[0]
    assert usual_sizes(func) == {"n": size}
    assert program_price(func) == program_price(func, sizes={"n": size})


def test_a_parameter_that_guards_is_as_large_as_assumptions_let_it_be() -> None:
    body = "T.assume(n >= 1 and n <= 700)\nfor i in range(800):\n    if i < n:\n        B[i] = A[i]"
    assert usual_sizes(read('A: T.Buffer((800,), "float32"), B: T.Buffer((800,), "float32"), n: T.int32', body)) == {
        "n": 700
    }


def test_sizes_that_assumptions_tie_to_each_other_are_those_of_whole_tiles() -> None:
    body = """
T.assume(k >= 1 and t >= 1 and n > (k - 1) * t and n <= k * t)
for i, j in T.grid(k, t):
    T.assume(i * t + j < n or A[i, j] == 0.0)
R[0] = 0.0
for i, j in T.grid(k, t):
    if i * t + j < n:
        R[0] = R[0] + A[i, j]
"""
    params = 'A: T.Buffer((k, t), "float32"), R: T.Buffer((1,), "float32"), n: T.int32, k: T.int32, t: T.int32'
    func = read(params, body)
    assert usual_sizes(func) == {"n": 65536, "k": 256, "t": 256}
    assert "if" not in to_script(optimize(func).best)


@pytest.mark.parametrize(
    ("loops", "alike"),
    [
        ("k in T.serial(1, 15):\n        if i > k", True),
        ("k in range(16):\n        if k >= 1 and i > k", True),
        ("k in range(15):\n        if k > 0:\n         if i > k", True),
        ("k in T.serial(2, 14):\n        if i > k", False),
        ("k in T.serial(1, 15):\n        if i > k + 1", False),
    ],
)
def test_programs_that_say_in_other_ways_when_statements_run_are_lowered_once(
    loops: str, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(loops: str) -> PrimFunc:
        params = 'A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")'
        return read(params, f"for i in range(16):\n    for {loops}:\n          B[i] = B[i] + A[i, k]")

    written: list[PrimFunc] = []
    plain = function.as_it_will_run
    monkeypatch.setattr(function, "as_it_will_run", lambda func, *rest: (written.append(func), plain(func, *rest))[1])
    price = pricing(program(loops))
    first, second = price(program("k in T.serial(1, 15):\n        if i > k")), price(program(loops))
    assert len(written) == (1 if alike else 2)
    assert not alike or first == second


# What a search returns ------------------------------------------------------------------------------------------------


def test_a_number_among_operations_on_whole_arrays_matters_to_xla_on_a_cpu() -> None:
    plain = read(vector("A", "B", "C"), "for i in range(1048576):\n    B[i] = A[i] * C[i]")
    number = read(vector("A", "B", "C"), "for i in range(1048576):\n    B[i] = A[i] * C[i] + 1.0")
    assert program_price(plain) > 1.3 * program_price(number)
    assert program_price(plain, GPU) < program_price(number, GPU)


def test_powers_of_two_divide_by_shifts() -> None:
    ints = vector("A", "B").replace("float32", "int32")
    eight, seven = (
        program_price(read(ints, f"for i in range(1048576):\n    B[i] = A[i] // {n} + A[i] % {n}")) for n in (8, 7)
    )
    assert eight < 0.9 * seven
    func = PROGRAMS["quotient_of_power"]
    assert emit(optimize(func, whole=pricing(func)).best) == emit(func)


QUICK = [
    "quotient_and_rest", "quotient_of_power", "rows_of_flat", "few_of_many", "few_of_padded", "unused_padding",
    "triangle_sums", "masked_mean", "blocked_sum", "sum_of_padded_blocks", "to_blocks",
]  # fmt: skip


@pytest.mark.parametrize("name", some(QUICK, 0.27))
def test_no_program_is_dearer_as_a_whole_than_the_one_given(name: str) -> None:
    func = PROGRAMS[name]
    result = optimize(func, whole=pricing(func))
    assert program_price(result.best) <= NEAR * program_price(func)
    assert [func for func, _ in result.variants] == [result.best]


def test_quotients_do_not_turn_a_store_into_one_by_indices() -> None:
    func = PROGRAMS["quotient_and_rest"]
    assert emit(optimize(func).best) == emit(func)


def test_what_the_price_as_a_whole_overrules_is_said() -> None:
    func = PROGRAMS["unused_padding"]
    alone, result = optimize(func), optimize(func, whole=pricing(func))
    assert alone.best != result.best
    assert "cheaper as a whole" in result.report.overruled and not alone.report.overruled
    assert program_price(result.best) < program_price(alone.best)
    assert result.derivation()[-1].after == result.best
    assert result.variants[0][1] > alone.variants[0][1], "costs are those of the search"


def test_the_program_given_is_returned_where_all_others_are_dearer_as_a_whole() -> None:
    func = PROGRAMS["few_of_many"]
    given = to_script(func)

    def whole(other: PrimFunc) -> float:
        return 1.0 if to_script(other) == given else 2.0

    result = optimize(func, k=2, whole=whole)
    assert to_script(result.best) == given
    assert "the program as written is cheaper as a whole" in result.report.overruled
    assert not result.report.decisions and not result.derivation()
    assert len(result.variants) == 2


def test_what_is_the_same_in_array_code_counts_once() -> None:
    places = 'A: T.Buffer((65536,), "uint32"), B: T.Buffer((65536,), "uint32")'
    shift, prices = "A[i] >> T.uint32({}) ^ (A[i] >> T.uint32(1))", list[float]()
    for more in ((1, 1, 1), (2, 3, 4)):
        value = " + ".join(f"({shift.format(k)})" for k in more)
        prices.append(program_price(read(places, f"for i in range(65536):\n    B[i] = {value}")) - CPU.call)
    assert prices[0] < 0.8 * prices[1]


def test_sums_relative_to_a_running_maximum_do_not_run_in_turn() -> None:
    params = 'S: T.Buffer((300, 300), "float32"), V: T.Buffer((300,), "float32"), O: T.Buffer((300,), "float32")'
    func = read(
        params,
        """
for i in range(300):
    m = T.alloc_buffer((1,), "float32")
    l = T.alloc_buffer((1,), "float32")
    m[0] = -1e30
    l[0] = 0.0
    for j in range(300):
        n = T.max(m[0], S[i, j])
        l[0] = l[0] * T.exp(m[0] - n) + T.exp(S[i, j] - n) * V[j]
        m[0] = n
    O[i] = l[0]
""",
    )
    best = optimize(func, whole=pricing(func)).best
    assert "fori_loop" not in emit(best).partition("defjvp")[0]


def test_a_program_that_costs_more_but_has_fewer_recurrences_is_priced_as_a_whole() -> None:
    turns = read(vector("A", "B", size=9), "for i in range(9):\n    B[0] = B[0] * A[i] + A[i]")
    sums, none = (read(vector("A", "B", size=9), f"for i in range(9):\n    B[{i}] = B[{i}] + A[i]") for i in "0i")
    found = [(10.0, turns.body), (12.0, sums.body), (13.0, none.body)]

    def first(whole: dict[PrimFunc, float]) -> Stmt:
        bodies = {func.body: func for func in whole}
        return ranked(found, [], [], found[0], lambda body: bodies[body], lambda func: whole[func]).programs[0][1]

    assert first({turns: 5.0, sums: 3.0, none: 1.0}) == sums.body
    assert first({turns: 3.0, sums: 5.0, none: 1.0}) == turns.body


def test_what_no_step_of_a_loop_changes_counts_once() -> None:
    params = 'a: T.Buffer((512,), "float32"), x: T.Buffer((64, 512), "float32"), h: T.Buffer((512,), "float32")'
    steps = "for t in range(64):\n    for i in range(512):\n        h[i] = T.max(h[i] * {}, x[t, i])"
    inside = program_price(read(params, steps.format("T.tanh(a[i])")))
    local = 'e = T.alloc_buffer((512,), "float32")\nfor i in range(512):\n    e[i] = T.tanh(a[i])\n'
    before = program_price(read(params, local + steps.format("e[i]")))
    assert before <= inside < NEAR * before
    assert 1.2 * inside < program_price(read(params, steps.format("T.tanh(x[t, i])")))


def test_a_local_buffer_that_the_program_does_not_have_must_pay() -> None:
    params = 'x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")'
    plain = read(params, "for i in range(64):\n    y[i] = 0.0")
    fill = "for i in range(64):\n    e[i] = 0.0\nfor i in range(64):\n    y[i] = e[i]"
    local = read(params, 'e = T.alloc_buffer((64,), "float32")\n' + fill)

    def first(price: float) -> Stmt:
        prices = {local.body: price, plain.body: 100.0}
        found, given = [(8.0, local.body)], (10.0, plain.body)
        order = ranked(found, [], [], given, lambda body: replace(plain, body=body), lambda f: prices[f.body])
        return order.programs[0][1]

    assert first(100.0) == first(99.5) == plain.body
    assert first(90.0) == local.body


@pytest.mark.fuzz  # long, and others test most of it
def test_a_search_begins_with_what_the_price_as_a_whole_has_chosen() -> None:
    """A guard of the one that it takes, in place of what the search itself ranks first, becomes the bound of a loop."""
    func = read(
        'x: T.Buffer((30, 4), "float32"), w: T.Buffer((3, 4, 4), "float32"), y: T.Buffer((30, 4), "float32")',
        """
p = T.alloc_buffer((32, 4), "float32")
for i, c in T.grid(32, 4):
    p[i, c] = T.if_then_else(i >= 1 and i <= 30 and c < 3, x[i - 1, c], 0.0)
for d, c, o in T.grid(3, 4, 4):
    T.assume((c < 3 and o < 3) or w[d, c, o] == 0.0)
for i, o in T.grid(30, 4):
    y[i, o] = 0.0
    for d, c in T.grid(3, 4):
        if o < 3 and c < 3:
            y[i, o] += p[i + d, c] * w[d, c, o]
""",
    )
    price = pricing(func)
    result = optimize(func, whole=price)
    first = optimize(func, k=6).variants
    assert "        if" not in to_script(result.best) and "ranks lower" in result.report.overruled
    assert price(result.best) <= min(price(variant) for variant, _ in first) + CALLS * CPU.call  # what differs by less
    assert_refines(func, result.best, np.random.default_rng(0), runs=2)


def test_what_a_call_varies_by_does_not_bring_back_a_guard() -> None:
    pads = "for i in range(60, 64):\n    T.assume(X[i] == 0.0)\nY[0] = X[0]\n"
    sums = "for i in range(1, 64):\n    if i < 60:\n        Y[i] = Y[i - 1] + X[i]\n    else:\n        Y[i] = Y[i - 1]"
    func = read(vector("X", "Y", size=64), pads + sums)
    assert "if" not in to_script(optimize(func, whole=pricing(func)).best)


ROWS = 'E: T.Buffer((200, 512), "float32"), M: T.Buffer((200, 512), "float32")'


def test_a_second_store_of_a_step_to_what_it_reads_copies_that() -> None:
    whole = "for i in T.serial(1, 200):\n    for j in range(512):\n        M[i, j] = E[i, j] + M[i - 1, j]"
    parts = "for i in T.serial(1, 200):\n    M[i, 0] = E[i, 0] + M[i - 1, 1]\n"
    parts += "    for j in T.serial(1, 512):\n        M[i, j] = E[i, j] + M[i - 1, j - 1]"
    assert program_price(read(ROWS, parts)) > 20 * program_price(read(ROWS, whole))


def test_loops_of_a_step_store_in_place() -> None:
    steps, row = "for i in T.serial(1, 200):\n", "    for j in range(511):\n        M[i, j] = E[i, j] + M[i - 1, j]\n"
    loop = "    for j in T.serial(1, 512):\n        M[i, j] = T.sin(M[i, j - 1]) * M[i - 1, j]"
    assert program_price(read(ROWS, steps + row + loop)) < 20 * program_price(read(ROWS, steps + loop))


def test_borders_of_each_row_stay_in_its_pass() -> None:
    body = """
for i in T.serial(1, 200):
    for j in range(512):
        b = T.alloc_buffer((1,), "float32")
        b[0] = M[i - 1, j]
        if j > 0:
            b[0] = T.min(b[0], M[i - 1, j - 1])
        if j < 511:
            b[0] = T.min(b[0], M[i - 1, j + 1])
        M[i, j] = E[i, j] + b[0]
"""
    source = emit(loopsat.optimize(read(ROWS, body), verify=False).best)
    assert source.count("lax.dynamic_update_slice(") == 1 and "M.at[" not in source, source


def test_short_reductions_in_a_step_are_part_of_what_reads_them() -> None:
    """The elements of a window are added up in the code that stores the sum; a long one is vector code of its own."""

    def step(size: int) -> float:
        body = f"for i in T.serial({size}, 4096):\n    for k in range({size}):\n        A[i] += A[i - 1 - k] * W[k]"
        params = f'A: T.Buffer((4096,), "float32"), W: T.Buffer(({size},), "float32")'
        return program_price(read(params, body)) / (4096 - size)

    assert step(8) < step(16) < 3 * step(8)
    assert step(2048) < 20 * step(128)


def test_stores_to_columns_go_through_cache_lines() -> None:
    def stored(place: str) -> float:
        body = f"for i, j in T.grid(512, 512):\n    B[{place}] = A[i, j] * 2.0"
        shape = {"i, j, 1": (512, 512, 2), "1, i, j": (2, 512, 512), "i, j, 9": (512, 512, 64)}[place]
        return program_price(read(f'A: T.Buffer((512, 512), "float32"), B: T.Buffer({shape}, "float32")', body))

    assert stored("1, i, j") < stored("i, j, 1") < stored("i, j, 9")


STEPS = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for t in T.serial(400):
        for i in T.serial(64):
            A[i] = T.sqrt(A[i] + 1.0) * B[i]
"""


def test_steps_of_a_gpu_share_what_a_step_costs() -> None:
    func = parse(STEPS).funcs[0]
    alone, together = (program_price(func, replace(GPU, unrolled=n)) for n in (1, 16))
    each = GPU.step + GPU.launch
    assert 400 * each < alone - GPU.call < 1.1 * 400 * each  # one statement a step, and a counter that is none
    assert 400 / 16 * each < together - GPU.call < 400 / 4 * each


def test_results_of_a_step_that_are_as_long_are_one_statement() -> None:
    text = STEPS.replace(
        "A[i] = T.sqrt(A[i] + 1.0) * B[i]", "A[i] = A[i] * 0.5 + B[i]\n            B[i] = B[i] * 0.25 - A[i]"
    )
    func, prices = parse(text).funcs[0], replace(GPU, unrolled=1)
    apart = program_price(func, replace(prices, results_together=False))
    assert apart - program_price(func, prices) == pytest.approx(400 * GPU.launch)


def test_a_program_that_was_priced_is_not_lowered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSAT_CACHE", "off")
    lowered: list[PrimFunc] = []
    plain = function._lowered  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(function, "_lowered", lambda func, *rest: (lowered.append(func), plain(func, *rest))[1])
    result = loopsat.optimize(read(vector("A", "B"), "for i in range(1048576):\n    if i < 9:\n        B[i] = A[i]"))
    assert len(result.report.priced) > 1
    assert len(lowered) == 1  # the program given is lowered to the same
    loopsat.compile(result.best)
    assert len(lowered) == 1


@pytest.mark.parametrize(("target", "taken_out"), [(CPU, True), (GPU, True), (TPU, False)])
def test_factors_are_taken_out_of_sums_where_that_starts_no_kernel(target: Target, taken_out: bool) -> None:
    func = read(
        'x: T.Buffer((5, 12), "float32"), s: T.Buffer((5,), "float32")',
        "for i in range(5):\n    s[i] = 0.0\n    for j in range(12):\n        s[i] += x[i, j] * 2.0",
    )
    assert ("* jnp.sum(x" in emit(func, target=target)) is taken_out
