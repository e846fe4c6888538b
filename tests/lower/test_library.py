"""The library of instructions, and instructions whose arrays have any size."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest

import loopsat
from egraph_rules import optimize
from egraph_rules.library.kernels import entries_for, library, occurring
from egraph_rules.library.sorts import SORTS as SORTED_IN_PLACE
from ir import PrimFunc, parse, to_script
from ir.dtypes import DType
from ir.errors import ParseError, ScheduleError
from ir.instructions import call_price, instructions_in
from ir.presburger.sets import always
from ir.schedule import Schedule
from ir.script.plain.signature import ArrayType
from ir.script.plain.translate import translate
from ir.transform.calls.tensorize import Differs, call_of
from lower import compile
from lower.check.testing import check_instruction
from lower.restructure.pipeline import form_of
from lowered import assert_agrees
from profiles import some

KERNELS = {e.written.name: e.written for e in library()}


@pytest.mark.parametrize("name", some([*KERNELS], 2))
def test_texts_of_the_library_compute_what_the_bodies_say(name: str) -> None:
    assert check_instruction(KERNELS[name], examples=8) > 0


def test_each_way_to_write_an_instruction_has_a_name_of_its_own() -> None:
    assert len(KERNELS) == len(library()) and all(name.isidentifier() for name in KERNELS)


def program(params: str, body: str) -> PrimFunc:
    return parse(f"@T.prim_func\ndef f({params}):\n{body.strip(chr(10))}\n").funcs[0]


SORTS = {
    "rows of a local": (
        'X: T.Buffer((6, 40), "float32"), Y: T.Buffer((6,), "float32")',
        """
    for b in range(6):
        row = T.alloc_buffer((40,), "float32")
        for k in range(40):
            row[k] = X[b, k]
        for i in range(40):
            for j in range(39 - i):
                if row[j] > row[j + 1]:
                    t = row[j]
                    row[j] = row[j + 1]
                    row[j + 1] = t
        Y[b] = row[20]
""",
    ),
    "columns, the other way round": (
        'X: T.Buffer((50, 3), "int32")',
        """
    for b in range(3):
        for i in range(49):
            for j in range(i + 1, 50):
                if X[j, b] < X[i, b]:
                    t = X[j, b]
                    X[j, b] = X[i, b]
                    X[i, b] = t
""",
    ),
    "insertion that never stops": (
        'A: T.Buffer((60,), "float32")',
        """
    for i in range(1, 60):
        for k in range(i):
            j = i - k
            if A[j - 1] > A[j]:
                t = A[j]
                A[j] = A[j - 1]
                A[j - 1] = t
""",
    ),
    "a part": (
        'A: T.Buffer((60,), "float32")',
        """
    for i in range(40):
        for j in range(39 - i):
            lo = T.min(A[10 + j], A[11 + j])
            hi = T.max(A[10 + j], A[11 + j])
            A[10 + j] = lo
            A[11 + j] = hi
""",
    ),
    "any size": (
        'A: T.Buffer((b, n), "float32"), b: T.int32, n: T.int32',
        """
    T.assume(n >= 30)
    for k in range(b):
        for i in range(n):
            for j in range(n - i - 1):
                if A[k, j + 1] < A[k, j]:
                    t = A[k, j]
                    A[k, j] = A[k, j + 1]
                    A[k, j + 1] = t
""",
    ),
}


@pytest.mark.parametrize("name", some(SORTS, 0.2))
def test_sorts_are_found(name: str) -> None:
    func = program(*SORTS[name])
    best = loopsat.optimize(func).best
    (dtype,) = {b.dtype for b in func.buffers}
    assert [k.name for k in instructions_in(best)] == [f"sort_{dtype}"]
    assert "jnp.sort" in loopsat.emit(best)
    sizes = {"b": 3, "n": 33} if name == "any size" else {}
    rng = np.random.default_rng(0)
    shapes = [tuple(sizes.get(str(e), 0) or int(str(e)) for e in b.shape) for b in func.buffers]
    given = {b.name: rng.integers(-99, 99, s).astype(b.dtype.numpy) for b, s in zip(func.buffers, shapes, strict=True)}
    assert_agrees(func, compile(best), {**given, **sizes})


@pytest.mark.parametrize("function", some(SORTED_IN_PLACE, 1))
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.INT32])
def test_plain_sorts_are_found(function: FunctionType, dtype: DType) -> None:
    func = translate(function, {"A": ArrayType((37,), dtype)}).func
    best = loopsat.optimize(func).best
    assert [k.name for k in instructions_in(best)] == [f"sort_{dtype}"]
    assert_agrees(func, compile(best), {"A": np.random.default_rng(0).integers(-9, 9, 37).astype(dtype.numpy)})


def test_loops_of_a_sort_that_never_run_are_no_sort_of_anything() -> None:
    selection = next(f for f in SORTED_IN_PLACE if f.__name__ == "selection")
    func = translate(selection, {"A": ArrayType((1,), DType.FLOAT32)}).func
    assert not instructions_in(loopsat.optimize(func).best)


def test_a_sort_the_other_way_round_is_a_sort_that_is_flipped() -> None:
    text = """
    for i in range(20):
        for j in range(i + 1, 20):
            if A[j] > A[i]:
                t = A[j]
                A[j] = A[i]
                A[i] = t
"""
    func = program('A: T.Buffer((20,), "int32")', text)
    best = loopsat.optimize(func).best
    assert [k.name for k in instructions_in(best)] == ["sort_int32_descending"]
    assert_agrees(func, compile(best), {"A": np.random.default_rng(0).integers(-9, 9, 20).astype(np.int32)})


def test_a_program_that_moves_nothing_is_compared_with_no_sort() -> None:
    func = program('A: T.Buffer((20,), "float32")', "    for i in range(20):\n        A[i] = T.max(A[i], 0.0)")
    assert occurring(func.body) == ()


SELECTION = """
    for i in range(20):
        m = T.alloc_buffer((), "int32")
        m[()] = i
        for j in range(i + 1, 20):
            if {test}:
                m[()] = j
        t = A[i]
        A[i] = A[{place}]
        A[{place}] = t
"""


@pytest.mark.parametrize(
    ("test", "place", "sorts"),
    some(
        [("A[j] < A[m[()]]", "m[()]", True), ("A[j] < A[m[()]]", "19 - m[()]", False), ("A[j] < A[i]", "m[()]", False)],
        0.45,
    ),
)
def test_places_that_are_data_are_compared(test: str, place: str, sorts: bool) -> None:
    func = program('A: T.Buffer((20,), "int32")', SELECTION.format(test=test, place=place))
    best = loopsat.optimize(func).best
    assert bool(instructions_in(best)) == sorts
    assert_agrees(func, compile(best), {"A": np.random.default_rng(0).permutation(20).astype(np.int32)})


COUNTING = """
    m = T.alloc_buffer((), "int32")
    m[()] = 0
    for k in range(4):
        A[{place}] = A[{place}] + 1.0
        m[()] = m[()] + 1
"""


@pytest.mark.parametrize(("place", "found"), [("k + 3", True), ("m[()] + k", False), ("k + m[()] - m[()]", True)])
def test_a_section_does_not_move_with_data(place: str, found: bool) -> None:
    """What a local adds to each place is no start of a section: it changes from one access to the next."""
    head = '@T.instruction(jax="{A} + 1.0")\ndef counting(A: T.Buffer((4,), "float32")):'
    instruction = parse(head + COUNTING.format(place="k"))["counting"]
    nest = program('A: T.Buffer((16,), "float32")', COUNTING.format(place=place)).body
    if found:
        assert call_of(nest, instruction, always()).callee == instruction
    else:
        with pytest.raises(Differs, match="no section of A"):
            call_of(nest, instruction, always())


NO_SORTS = {
    "too few passes": ("if A[j] > A[j + 1]:", "range(19 - 2 * i)"),
    "always": ("if A[j] > A[j]:", "range(19 - i)"),
}


@pytest.mark.parametrize("name", NO_SORTS)
def test_what_sorts_otherwise_is_none(name: str) -> None:
    test, inner = NO_SORTS[name]
    body = f"""
    for i in range(20):
        for j in {inner}:
            {test}
                t = A[j]
                A[j] = A[j + 1]
                A[j + 1] = t
"""
    assert not instructions_in(loopsat.optimize(program('A: T.Buffer((20,), "float32")', body)).best)


def test_short_sorts_stay_comparisons() -> None:
    params, body = SORTS["rows of a local"]
    short = body.replace("40", "3").replace("39", "2").replace("20", "1")
    func = program(params.replace("40", "3").replace("6", "4000"), short.replace("6", "4000"))
    assert not instructions_in(loopsat.optimize(func).best)


def test_sorts_take_freedoms_with_floats() -> None:
    func = program(*SORTS["rows of a local"])
    assert not instructions_in(optimize(func, floats="strict").best)
    assert not instructions_in(optimize(func, without=["instructions"]).best)


def test_programs_that_lack_what_kernels_are_made_of_are_not_looked_at() -> None:
    func = program('A: T.Buffer((9,), "float32")', "    for i in range(9):\n        A[i] = A[i] * 2.0")
    assert not occurring(func.body)
    assert occurring(entries_for(DType.FLOAT32)[0].written.body)
    assert all(e in occurring(e.written.body) for e in library())


# Sizes ---------------------------------------------------------------------------------------------------------------

SCALE = """
@T.instruction(jax="{X} * jnp.float32(2.0)", cost="3 * n + log2(m) ** 2")
def scale(X: T.Buffer((n, m), "float32"), n: T.int32, m: T.int32):
    for i, j in T.grid(n, m):
        X[i, j] = X[i, j] * 2.0
"""


def test_prices_are_arithmetic_over_sizes() -> None:
    scale = parse(SCALE).funcs[0]
    assert call_price(scale, {"n": 10, "m": 8}, 256) == 39.0
    assert call_price(scale, {"n": 10}, 256) == 94.0


@pytest.mark.parametrize("cost", ["n +", "n + k", "f(n)", "n // 2", "'a'"])
def test_other_prices_are_refused(cost: str) -> None:
    with pytest.raises(ParseError, match="cost"):
        parse(SCALE.replace("3 * n + log2(m) ** 2", cost))


def test_the_size_of_a_call_is_told_by_its_loops() -> None:
    module = parse(
        SCALE
        + """
@T.prim_func
def f(A: T.Buffer((5, 7, 9), "float32"), B: T.Buffer((5, 7, 9), "float32")):
    for b, i, j in T.grid(5, 7, 4):
        A[b, i, j + 2] = A[b, i, j + 2] * 2.0
"""
    )
    sch = Schedule(module["f"])
    sch.tensorize("i", module["scale"])
    assert "scale(A[b, 0:7, 2:6], 7, 4)" in to_script(sch.func)
    given = {k: np.random.default_rng(0).random((5, 7, 9)).astype(np.float32) for k in "AB"}
    assert_agrees(module["f"], compile(sch.func), given)
    assert_agrees(module["f"], compile(form_of(sch.func)), given)


def test_a_size_that_may_be_negative_is_none() -> None:
    module = parse(
        SCALE
        + """
@T.prim_func
def f(A: T.Buffer((9, 9), "float32"), k: T.int32):
    T.assume(k < 9)
    for i, j in T.grid(k, 9):
        A[i, j] = A[i, j] * 2.0
"""
    )
    with pytest.raises(ScheduleError, match="may be negative"):
        Schedule(module["f"]).tensorize("i", module["scale"])


def test_sizes_that_change_around_a_call_leave_the_loops() -> None:
    module = parse(
        SCALE
        + """
@T.prim_func
def f(A: T.Buffer((9, 9), "float32")):
    for k in range(9):
        scale(A[0:k, 0:9], k, 9)
"""
    )
    emitted = loopsat.emit(module["f"])
    assert "vmap" not in emitted
    given = {"A": np.random.default_rng(0).random((9, 9)).astype(np.float32)}
    assert_agrees(module["f"], compile(module["f"]), given)
