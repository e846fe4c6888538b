"""The meaning of programs, clause by clause: integers, floats, undef, faults, assumptions, blocks, arguments."""

from __future__ import annotations

import numpy as np
import pytest

from ir import interpret, parse
from ir.dtypes import DType
from ir.errors import InterpretError
from ir.nodes import Binary, Buffer, Const, Evaluate, Expr, For, Load, PrimFunc, Var, const, seq
from ir.semantics.interpret import interpret_with_undef

INT = 'A: T.Buffer(4, "int32"), B: T.Buffer(4, "int32")'
FLOAT = 'A: T.Buffer(4, "float32"), B: T.Buffer(4, "float32")'
A = np.array([3, -2, 0, 7], np.int32)
F = np.array([3.5, -2.25, 0.0, 7.0], np.float32)


def kernel(body: str, params: str = INT) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}", "kernel.py").funcs[0]


def run(body: str, a: np.ndarray = A, **options: object) -> list:
    """B after running `body` on int32 buffers A and B (which starts undef); None where it is undef."""
    params = FLOAT if a.dtype == np.float32 else INT
    ((values, undef),) = interpret_with_undef(kernel(body, params), a, **options)
    return [None if u else v for v, u in zip(values.tolist(), undef.tolist(), strict=True)]


def fault(body: str, a: np.ndarray = A, params: str = "", **options: object) -> InterpretError:
    with pytest.raises(InterpretError) as error:
        interpret(kernel(body, params or (FLOAT if a.dtype == np.float32 else INT)), A=a, **options)
    return error.value


# Arithmetic ----------------------------------------------------------------------------------------------------------


def test_integers_are_exact_and_divide_to_the_floor() -> None:
    assert run("for i in range(4):\n    B[i] = A[i] * 2 - 7 // (i + 1)") == [-1, -7, -2, 13]
    assert run("for i in range(4):\n    B[i] = A[i] // 2 * 10 + A[i] % 2") == [11, -10, 0, 31]
    assert run("for i in range(4):\n    B[i] = T.truncdiv(A[i] - 1, 2) * 10 + T.truncmod(A[i] - 2, 3)") == [
        11,
        -11,
        -2,
        32,
    ]


def test_leaving_the_width_is_a_fault_for_signed_integers() -> None:
    error = fault("for i in range(4):\n    B[i] = A[i] + 2147483645")
    assert error.code == "overflow"
    assert error.message == "2147483648 leaves int32 in `A[i] + 2147483645`"
    assert error.notes == ("with i = 0",)
    assert str(error.span) == "kernel.py:4:16"


def test_unsigned_integers_wrap() -> None:
    func = kernel(
        "B[0] = A[0] + T.uint8(250)\nB[1] = A[1] - T.uint8(1)", 'A: T.Buffer(2, "uint8"), B: T.Buffer(2, "uint8")'
    )
    assert interpret(func, np.array([10, 0], np.uint8))[0].tolist() == [4, 255]


def test_narrowing_casts_wrap() -> None:
    func = kernel('B[0] = T.cast(A[0], "int8")', 'A: T.Buffer(1, "int32"), B: T.Buffer(1, "int8")')
    assert interpret(func, np.array([200], np.int32))[0].tolist() == [-56]


@pytest.mark.parametrize("op", ["A[0] // A[2]", "A[0] % A[2]", "T.truncdiv(A[0], A[2])", "T.truncmod(A[0], A[2])"])
def test_division_by_zero_is_a_fault(op: str) -> None:
    error = fault(f"B[0] = {op}")
    assert error.code == "division-by-zero"
    assert error.span is not None
    assert error.span.line == 3


def test_shifts_beyond_the_width_are_a_fault() -> None:
    assert fault("B[0] = 1 << (A[3] * 5)").code == "shift"
    assert fault("B[0] = 1 >> A[1]").code == "shift"


def test_floats_are_computed_in_their_own_precision() -> None:
    assert run("B[0] = A[0] + 16777216.0", F)[0] == 16777220.0
    assert run("B[0] = A[0] * 0.1", F)[0] == float(np.float32(3.5) * np.float32(0.1))
    assert run("B[0] = A[0] / A[2]", F)[0] == float("inf")


@pytest.mark.parametrize("dtype", [d for d in DType if d is not DType.BOOL], ids=str)
def test_every_dtype_is_stored_and_loaded(dtype: DType) -> None:
    func = kernel("for i in range(3):\n    B[i] = A[i] + A[i]", f'A: T.Buffer(3, "{dtype}"), B: T.Buffer(3, "{dtype}")')
    (found,) = interpret(func, np.array([0, 1, 5]).astype(dtype.numpy))
    assert found.dtype == dtype.numpy
    assert found.astype(float).tolist() == [0.0, 2.0, 10.0]


def test_bools() -> None:
    func = kernel(
        "for i in range(4):\n    B[i] = A[i] > 0 and not (i == 3)", 'A: T.Buffer(4, "int32"), B: T.Buffer(4, "bool")'
    )
    assert interpret(func, A)[0].tolist() == [True, False, False, False]


# Undef ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("T.undef()", None),
        ("A[0] + T.undef()", None),
        ('T.undef("int32") - T.undef("int32")', None),
        ("T.max(A[0], T.undef())", None),
        ("-(T.undef() + A[0])", None),
        ("0 * (A[0] + T.undef())", 0),
        ("(A[0] + T.undef()) * A[2]", 0),
        ("1 * (A[0] + T.undef())", None),
        ("T.if_then_else(A[0] > 0, A[1], T.undef())", -2),
        ("T.if_then_else(A[0] < 0, A[1], T.undef())", None),
        ("A[4]", None),
        ("A[-1]", None),
        ("A[7] * 0", 0),
    ],
)
def test_operators_are_strict_in_undef_but_for_annihilators_and_selection(value: str, found: int | None) -> None:
    assert run(f"B[0] = {value}") == [found, None, None, None]


def test_zero_annihilates_undef_in_floats_too() -> None:
    assert run("B[0] = 0.0 * (A[0] + T.undef())", F)[0] == 0.0


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("A[9] > 0 and A[0] < 0", 0),
        ("A[0] < 0 and A[9] > 0", 0),
        ("A[9] > 0 or A[0] > 0", 1),
        ("A[0] > 0 or A[9] > 0", 1),
        ("A[9] > 0 and A[0] > 0", None),
        ("A[0] > 0 and A[9] > 0", None),
        ("A[9] > 0 or A[0] < 0", None),
        ("not (A[9] > 0)", None),
        ("A[9] > 0 or A[8] > 0", None),
    ],
)
def test_logic_decides_what_undef_leaves_open(condition: str, found: int | None) -> None:
    if found is None:
        assert fault(f"if {condition}:\n    B[0] = 1\nelse:\n    B[0] = 0").code == "undef-condition"
    else:
        assert run(f"if {condition}:\n    B[0] = 1\nelse:\n    B[0] = 0")[0] == found


def test_logic_evaluates_the_right_operand_only_where_needed() -> None:
    assert run("if A[2] != 0 and A[0] // A[2] > 0:\n    B[0] = 1\nelse:\n    B[0] = 0")[0] == 0
    assert run("if A[2] == 0 or A[0] // A[2] > 0:\n    B[0] = 1\nelse:\n    B[0] = 0")[0] == 1
    assert fault("if A[0] // A[2] > 0 and A[2] != 0:\n    B[0] = 1").code == "division-by-zero"
    # an undef left operand may turn out to be the one for which the right one counts
    assert fault("if A[9] > 0 and A[0] // A[2] > 0:\n    B[0] = 1").code == "division-by-zero"


def test_selection_evaluates_one_arm() -> None:
    assert run("B[0] = T.if_then_else(A[2] == 0, 5, A[0] // A[2])")[0] == 5


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("B[A[9]] = 1", "undef-index"),
        ("B[0] = A[A[9]]", "undef-index"),
        ("for i in range(A[9]):\n    B[0] = 1", "undef-index"),
        ("for i in T.serial(A[9], A[9] + 2):\n    B[0] = 1", "undef-index"),
        ("if A[9] > 0:\n    B[0] = 1", "undef-condition"),
        ("B[0] = T.if_then_else(A[9] > 0, 1, 2)", "undef-condition"),
        ("assert A[9] > 0\nB[0] = 1", "undef-condition"),
        ("while_ = A[9]\nL = T.alloc_buffer(2, 'int32')\nB[L[0]] = 1", "undef-index"),
    ],
)
def test_undef_may_not_decide_where_or_whether(body: str, code: str) -> None:
    error = fault(body)
    assert error.code == code
    assert error.span is not None


def test_storing_undef_makes_an_element_arbitrary() -> None:
    assert run("B[0] = 1\nB[1] = 2\nB[0] = T.undef()\nB[2] = B[0]\nB[3] = B[1]") == [None, 2, None, 2]
    assert run("B[0] = T.undef()\nB[0] = 4") == [4, None, None, None]


def test_undef_elements_are_zero_in_results() -> None:
    func = kernel("B[1] = 5\nB[0] = T.undef()")
    assert interpret(func, A, np.full(4, 9, np.int32))[0].tolist() == [0, 5, 9, 9]
    assert interpret(func, A)[0].tolist() == [0, 5, 0, 0]


def test_a_binding_freezes_undef() -> None:
    body = "x = A[0] * 0 + A[9] // 4\nB[0] = x - x\nB[1] = x\nB[2] = x"
    seen = set()
    for seed in range(12):
        zero, one, two, three = run(body, seed=seed)
        assert (zero, one, three) == (0, two, None)
        seen.add(one)
    assert len(seen) > 3, "the frozen value is arbitrary"
    assert run(body, seed=5) == run(body, seed=5)


def test_frozen_values_include_the_extreme_ones() -> None:
    found = {run("x = A[9]\nB[0] = x", seed=seed)[0] for seed in range(60)}
    assert {-(2**31), 2**31 - 1, 0} <= found


def test_frozen_conditions_are_conditions() -> None:
    assert {run("x = A[9] > 0\nif x:\n    B[0] = 1\nelse:\n    B[0] = 0", seed=s)[0] for s in range(12)} == {0, 1}


def test_bindings_in_loops_freeze_each_time_anew() -> None:
    assert len(set(run("for i in range(4):\n    x = A[9]\n    B[i] = x", seed=3))) > 1


def test_local_buffers_start_undef_each_time() -> None:
    body = """
for i in range(4):
    L = T.alloc_buffer(1, "int32")
    B[i] = L[0]
    L[0] = i
"""
    assert run(body) == [None, None, None, None]


# Buffers and faults --------------------------------------------------------------------------------------------------


def test_stores_out_of_bounds_are_faults() -> None:
    error = fault("for i in range(4):\n    B[i + A[0] - 2] = 1")
    assert error.code == "store-out-of-bounds"
    assert error.message == "store to B[4] leaves its shape (4,)"
    assert error.notes == ("with i = 3",)
    assert error.span is not None
    assert (error.span.file, error.span.line) == ("kernel.py", 4)
    assert fault("B[A[1]] = 1").message == "store to B[-2] leaves its shape (4,)", "no wrapping from the end"


def test_storing_undef_out_of_bounds_is_a_fault_as_well() -> None:
    assert fault("B[A[3]] = T.undef()").code == "store-out-of-bounds"


def test_loads_out_of_bounds_are_reported_on_request() -> None:
    body = "for i in range(3):\n    B[i] = A[i + A[0]]"
    assert run(body) == [7, None, None, None]
    error = fault(body, sanitize=True)
    assert (error.code, error.message) == ("load-out-of-bounds", "load from A[4] leaves its shape (4,)")
    assert error.notes == ("with i = 1",)


def test_inputs_are_never_changed_and_results_are_new() -> None:
    b = np.arange(4, dtype=np.int32)
    (found,) = interpret(kernel("B[0] = 7"), A, b)
    assert b.tolist() == [0, 1, 2, 3]
    assert found.tolist() == [7, 1, 2, 3]
    assert not np.shares_memory(found, b)


def test_results_are_the_written_buffers_in_order_of_parameters() -> None:
    func = kernel("C[0] = 3\nA[0] = 1", ", ".join(f'{n}: T.Buffer(1, "int32")' for n in "ABC"))
    one = np.zeros(1, np.int32)
    assert [r.tolist() for r in interpret(func, one, one, one)] == [[1], [3]]


def test_buffers_of_rank_zero_and_without_elements() -> None:
    func = kernel("B[()] = A[()] + 1", 'A: T.Buffer((), "int32"), B: T.Buffer((), "int32")')
    assert interpret(func, np.array(4, np.int32))[0] == 5
    empty = kernel("for i in range(0):\n    B[i] = A[i]", 'A: T.Buffer(0, "int32"), B: T.Buffer(0, "int32")')
    assert interpret(empty, np.zeros(0, np.int32))[0].shape == (0,)


# Control -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["serial", "parallel", "vectorized", "unroll"])
def test_loops_of_every_kind_run_in_order(kind: str) -> None:
    assert run(f"B[0] = 1\nfor i in T.{kind}(3):\n    B[i + 1] = B[i] * 2") == [1, 2, 4, 8]


def test_loop_bounds() -> None:
    assert run("for i in T.serial(1, 3):\n    B[i] = i") == [None, 1, 2, None]
    assert run("for i in T.serial(-1, 3):\n    B[i + 1] = i") == [-1, 0, 1, 2]
    assert run("for i in T.serial(0):\n    B[0] = 1") == [None] * 4
    assert run("for i in T.serial(A[1]):\n    B[0] = 1") == [None] * 4, "a negative extent is no iteration"
    assert run("B[0] = 0\nfor i in T.serial(4):\n    for j in T.serial(i):\n        B[0] = B[0] + 1") == [
        6,
        None,
        None,
        None,
    ]


def test_bounds_are_evaluated_once() -> None:
    assert run("B[0] = 2\nfor i in T.serial(B[0]):\n    B[0] = B[0] + 5")[0] == 12


def test_a_loop_variable_that_leaves_its_width_is_a_fault() -> None:
    var = Var("i", DType.INT8)
    loop = For(var, const(100, DType.INT8), const(100, DType.INT8), seq(Evaluate(var)))
    with pytest.raises(InterpretError, match="i reaches 199, which leaves int8"):
        interpret(PrimFunc("f", (), loop))


def test_asserts_are_checked() -> None:
    assert run("assert A[0] == 3, 'three'\nB[0] = 1")[0] == 1
    error = fault("B[0] = 1\nfor i in range(4):\n    assert A[i] != 0, 'no zeros'")
    assert (error.code, error.message, error.notes) == ("assert-failed", "no zeros", ("with i = 2",))


def test_assumptions_are_checked_on_request_only() -> None:
    body = "for i in range(4):\n    T.assume(i < 2 or A[i] == 0)\n    B[i] = 1"
    assert run(body) == [1, 1, 1, 1]
    error = fault(body, sanitize=True)
    assert error.code == "assumption-false"
    assert error.message == "the assumption `i < 2 or A[i] == 0` does not hold"
    assert error.notes == ("with i = 3",)
    assert error.span is not None
    assert error.span.line == 4
    assert run("T.assume(A[0] == 3)\nB[0] = 1", sanitize=True)[0] == 1


def test_assuming_undef_permits_reading_and_claims_nothing() -> None:
    assert run("for i in range(4):\n    T.assume(i < 2 or A[i] == T.undef())\n    B[i] = 1", sanitize=True) == [1] * 4
    error = fault("B[0] = 1\nfor i in range(5):\n    T.assume(i < 2 or A[i] == T.undef())", sanitize=True)
    assert error.code == "load-out-of-bounds", "it does claim that the element exists"
    error = fault("B[0] = 1\nT.assume(A[1] == 1 and A[0] == T.undef())", sanitize=True)
    assert error.code == "assumption-false"


def test_what_is_assumed_to_equal_undef_is_undef() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        T.assume(A[i] == T.undef() or i < 2)
    for i in range(4):
        B[i] = A[i] * 0.0
        C[i] = A[i]
""").funcs[0]
    zeros, copied = interpret_with_undef(func, np.array([1, 2, np.nan, 8], np.float32))
    assert zeros[0].tolist() == [0, 0, 0, 0]
    assert not zeros[1].any()
    assert copied[1].tolist() == [False, False, True, True]


def test_an_undef_assumption_does_not_hold() -> None:
    assert fault("T.assume(B[0] > 0)\nB[0] = 1", sanitize=True).code == "undef-condition"


def test_evaluating_may_fault() -> None:
    assert fault("T.evaluate(A[0] // A[2])\nB[0] = 1").code == "division-by-zero"


@pytest.mark.parametrize("bounds", ["3, -1, -1", "3, 0, -2", "2, 1, -3", "0, 3, -1", "A[0], A[2], -2"])
def test_loops_count_down(bounds: str) -> None:
    expected: list[int | None] = [None] * 4
    for count, i in enumerate(eval(f"range({bounds})", {"A": A})):
        expected[i] = 10 * count + i
    loop = f"for i in range({bounds}):\n    B[i] = 10 * n[0] + i\n    n[0] += 1"
    body = f"n = T.alloc_buffer((1,), 'int32')\nn[0] = 0\n{loop}"
    assert run(body) == expected


def test_steps_can_be_limited() -> None:
    body = "for i in range(4):\n    for j in range(1000000):\n        B[i] = j"
    assert fault(body, max_steps=1000).code == "too-many-steps"
    assert run("B[0] = 1", max_steps=1)[0] == 1


def test_too_deep_expressions_are_refused() -> None:
    deep: Expr = const(0, DType.INT32)
    for _ in range(5000):
        deep = Binary("add", deep, const(1, DType.INT32))
    with pytest.raises(InterpretError, match="nested too deeply"):
        interpret(PrimFunc("f", (), Evaluate(deep)))


def test_unbound_names_are_refused() -> None:
    missing = Buffer("M", (const(4, DType.INT32),), DType.INT32)
    for expr in (Var("x", DType.INT32), Load(missing, (const(0, DType.INT32),))):
        with pytest.raises(InterpretError) as error:
            interpret(PrimFunc("f", (), Evaluate(expr)))
        assert error.value.code == "unknown-name"


# Blocks --------------------------------------------------------------------------------------------------------------


def test_blocks_bind_axes_and_initialise_at_the_start_of_reductions() -> None:
    body = """
for i, k in T.grid(2, 4):
    with T.block("sum"):
        vi = T.axis.spatial(2, i)
        vk = T.axis.reduce(4, 3 - k)
        with T.init():
            B[vi] = 100
        B[vi] = B[vi] + A[vk]
"""
    # the axis runs backward, so its start comes last and only the last term is left
    assert run(body) == [103, 103, None, None]
    assert run(body.replace("3 - k", "k")) == [108, 108, None, None]


def test_block_predicates_guard_init_and_body() -> None:
    body = """
for io, ii in T.grid(2, 3):
    with T.block("copy"):
        v = T.axis.spatial(4, io * 3 + ii)
        T.where(io * 3 + ii < 4)
        with T.init():
            B[v] = 1
        B[v] = B[v] + A[v]
"""
    assert run(body) == [4, -1, 1, 8], "without reduce axes each iteration initialises"


def test_nested_blocks_and_constant_axes() -> None:
    body = """
with T.block("root"):
    v = T.axis.opaque(4, 2)
    with T.block("inner"):
        B[v] = A[v + 1]
"""
    assert run(body) == [None, None, 7, None]


# Arguments -----------------------------------------------------------------------------------------------------------

SIZED = """
@T.prim_func
def f(a: T.handle, b: T.handle, k: T.int32, x: T.float32):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m + 1), "int32")
    B = T.match_buffer(b, (2 * m,), "int32")
    for i in range(n):
        B[i] = A[i, m] * k
"""


def test_sizes_are_bound_from_arrays() -> None:
    func = parse(SIZED).funcs[0]
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert interpret(func, a, None, 10, 0.5)[0].tolist() == [20, 50, 0, 0]
    assert interpret(func, A=a, k=np.int32(10), x=0.5)[0].tolist() == [20, 50, 0, 0]
    assert interpret(func, a, k=10, x=0.5, m=2)[0].tolist() == [20, 50, 0, 0]


def test_sizes_that_no_array_tells_can_be_named() -> None:
    func = parse(SIZED.replace("n, m + 1", "m + 1, (n + 3) // 4")).funcs[0]
    a = np.arange(2, dtype=np.int32).reshape(2, 1)
    assert interpret(func, a, k=2, x=0.0, n=1)[0].tolist() == [0, 0]
    with pytest.raises(InterpretError, match="the size `n` of f is not known") as error:
        interpret(func, a, k=2, x=0.0)
    assert error.value.help == "name it, as in n=4"


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((np.zeros((2, 3), np.int64), None, 1, 0.5), {}, "`A` of f: expected int32 of rank 2, found int64 of rank 2"),
        ((np.zeros(6, np.int32), None, 1, 0.5), {}, "`A` of f: expected int32 of rank 2, found int32 of rank 1"),
        (([[1, 2], [3]], None, 1, 0.5), {}, "`A` of f is not an array"),
        (
            (np.zeros((2, 3), np.int32), np.zeros(5, np.int32), 1, 0.5),
            {},
            r"`B` of f: expected shape \(4,\), found \(5,\)",
        ),
        ((np.zeros((2, 3), np.int32), None, 1.5, 0.5), {}, "`k` of f: expected an int32, found 1.5"),
        ((np.zeros((2, 3), np.int32), None, 2**31, 0.5), {}, "`k` of f: expected an int32, found 2147483648"),
        ((np.zeros((2, 3), np.int32), None, np.zeros(2), 0.5), {}, r"`k` of f: .* an array of shape \(2,\)"),
        ((np.zeros((2, 3), np.int32), None, "1", 0.5), {}, "`k` of f: expected an int32, found '1'"),
        ((np.zeros((2, 3), np.int32), None, 1, None), {}, "f needs the scalar `x`, a float32"),
        ((), {"k": 1, "x": 0.5}, "f needs the buffer `A`"),
        ((), {"C": 1}, "f has no parameter `C`"),
        ((None,), {"A": None}, "`A` of f is given by position and by name"),
        ((1, 2, 3, 4, 5), {}, "f takes 4 arguments, 5 given"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args: tuple, named: dict, message: str) -> None:
    with pytest.raises(InterpretError, match=message) as error:
        interpret(parse(SIZED).funcs[0], *args, **named)
    assert error.value.code == "arguments"


def test_scalars_are_rounded_to_their_dtype() -> None:
    func = kernel("B[0] = x", 'B: T.Buffer(1, "float32"), x: T.float32')
    assert interpret(func, x=0.1)[0].tolist() == [float(np.float32(0.1))]
    assert interpret(func, x=1)[0].tolist() == [1.0]


def test_the_same_array_for_two_parameters_is_two_buffers() -> None:
    both = np.ones(4, np.int32)
    (found,) = interpret(kernel("for i in range(4):\n    B[i] = A[0] + 1"), both, both)
    assert found.tolist() == [2, 2, 2, 2]
    assert both.tolist() == [1, 1, 1, 1]


def test_constants_are_of_their_dtype() -> None:
    ((values, _),) = interpret_with_undef(kernel("B[0] = A[0] * 0.1", FLOAT), F)
    assert values[0] == np.float32(3.5) * np.float32(0.1)
    assert Const(0.1, DType.FLOAT32).value == 0.1, "the node keeps what was written"
