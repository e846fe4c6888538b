"""Random inputs satisfy what a program assumes of them, whatever the form of the assumption."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import interpret, parse
from ir.errors import InterpretError, LoopsatError
from ir.nodes import Assume, PrimFunc
from ir.semantics.inputs import SPREADS, Spread, leading_assumptions, random_inputs
from ir.semantics.satisfy import Satisfier

PARAMS = """
    A: T.Buffer((3, 4), "float32"), P: T.Buffer(12, "int32"), Q: T.Buffer(12, "bool"), n: T.int32,
    B: T.Buffer(12, "int32")
"""


def kernel(body: str, params: str = PARAMS) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}    B[0] = 1\n", "kernel.py").funcs[0]


SATISFIABLE = [
    "for i, j in T.grid(3, 4):\n    T.assume(4 * i + j < 10 or A[i, j] == 0.5)",
    "for i, j in T.grid(3, 4):\n    T.assume(0.1 == A[i, j] or 4 * i + j < 10)",
    "for i, j in T.grid(3, 4):\n    T.assume(i < 2 or A[i, j] == T.undef())",
    "for i in range(12):\n    T.assume(i < 9 or (P[i] == 7 and Q[i]))",
    "for i in range(12):\n    T.assume(not (i >= 9) or not Q[i])",
    "for i in range(12):\n    T.assume(not (i >= 9 and P[i] != 3))",
    "for i in range(12):\n    T.assume(0 <= P[i] and P[i] < 3)",
    "for i in range(12):\n    T.assume(0 <= P[i])\n    T.assume(n > P[i])",
    """T.assume(n >= 0 and n < 3)
for i in range(3):
    T.assume(0 <= P[i] and P[i] <= n)
for i, j in T.grid(3, 4):
    T.assume(j < P[i] or A[i, j] == 0.0)""",
    "for i in range(11):\n    T.assume(P[i] <= P[i + 1])",
    "for i in range(11):\n    T.assume(P[i] < P[i + 1])",
    "for i in range(12):\n    T.assume(P[i] * 2 + 1 == 2 * i - 3)",
    "for i in range(12):\n    T.assume(P[i] % 4 == 1 and P[i] // 2 == 4)",
    "for i in range(12):\n    T.assume(-P[i] == n)",
    'for i in range(12):\n    T.assume(T.cast(P[i], "float32") == 3.0)',
    "for i in range(12):\n    T.assume(T.if_then_else(i < 3, P[i], P[11 - i]) == 5)",
    "for i in range(12):\n    T.assume(Q[i] == (i < 4))",
    "for i in range(3):\n    for j in range(i, 4):\n        T.assume(A[i, j] > 0.0)",
    "for i in range(12):\n    if i % 2 == 0:\n        k = 11 - i\n        T.assume(P[k] == 4)",
    "for i in range(12):\n    P[i] = 0\nfor i in range(12):\n    T.assume(i < 9 or Q[i])",
    "for i in range(12):\n    B[i] = P[i]\n    T.assume(i < 9 or P[i] == 2)",
    "L = T.alloc_buffer(4, 'int32')\nfor i in range(12):\n    L[i % 4] = P[i]\n    T.assume(P[i] == 2)",
    "for i in range(12):\n    assert P[i] > 0, 'positive'",
    "assert n > 3\nT.assume(n % 4 == 2)",
    "T.assume(n == 512)",
    "T.assume(n > 100 and n < 103)",
    "T.assume(n * n == 49)",
    "T.assume(n < 0)",
    "for i in range(12):\n    with T.block('b'):\n        v = T.axis.spatial(12, i)\n        T.assume(P[v] == v)",
]


@pytest.mark.parametrize("body", SATISFIABLE)
def test_inputs_satisfy_the_assumptions(body: str) -> None:
    func = kernel(body)
    for seed in range(5):
        interpret(func, **random_inputs(func, np.random.default_rng(seed)), sanitize=True)


@given(st.integers(0, 2**32 - 1))
def test_inputs_satisfy_several_assumptions_at_once(seed: int) -> None:
    func = kernel("\n".join(SATISFIABLE[k] for k in (0, 5, 6, 7, 9)).replace("P[i] != 3", "P[i] < 2"))
    interpret(func, **random_inputs(func, np.random.default_rng(seed)), sanitize=True)


@pytest.mark.parametrize(
    ("body", "failing"),
    [
        ("for i in range(12):\n    T.assume(P[i] == 1)\n    T.assume(P[i] == 2)", "P[i] == 1"),
        ("T.assume(n < 3 and n > 8)", "n < 3 and n > 8"),
        ("for i in range(13):\n    T.assume(P[i] == i)", "leaves its shape"),
        ("T.assume(False)", "False"),
    ],
)
def test_assumptions_that_cannot_be_met_are_named(body: str, failing: str) -> None:
    with pytest.raises(LoopsatError) as error:
        random_inputs(kernel(body), np.random.default_rng(0))
    assert error.value.code == "inputs"
    assert failing in error.value.message
    assert error.value.span is not None


def test_scalars_can_be_given() -> None:
    func = kernel("T.assume(n > 3)")
    assert random_inputs(func, np.random.default_rng(0), {"n": 9})["n"] == 9
    with pytest.raises(LoopsatError, match="n > 3"):
        random_inputs(func, np.random.default_rng(0), {"n": 2})
    with pytest.raises(LoopsatError, match="no scalar parameter `m`"):
        random_inputs(func, np.random.default_rng(0), {"m": 2})


def test_what_is_written_before_is_nothing_to_assume_of_inputs() -> None:
    written = "for i in range(12):\n    P[i] = 0\n    T.assume(P[i] == 0)\nif P[0] == 0:\n    T.assume(n == 1)"
    assert leading_assumptions(kernel(written).body) == ()
    carried = "for i in range(12):\n    T.assume(P[i] == 0)\n    P[11 - i] = 0"
    assert leading_assumptions(kernel(carried).body) == ()
    frozen = "x = P[0] + T.undef()\nT.assume(n == x)"
    assert leading_assumptions(kernel(frozen).body) == ()
    assert len(leading_assumptions(kernel("T.assume(n == 1)\nP[0] = 1\nT.assume(n < 2)").body)) == 2


def test_indices_are_valid() -> None:
    func = kernel("for i in range(12):\n    B[P[i]] = 1\n    B[i] = T.cast(A[P[0], i % 4], 'int32')")
    for seed in range(5):
        inputs = random_inputs(func, np.random.default_rng(seed))
        assert 0 <= np.min(inputs["P"]) <= np.max(inputs["P"]) < 3
        interpret(func, **inputs, sanitize=True)


def test_inputs_vary_and_follow_the_parameters() -> None:
    func = kernel("T.evaluate(n)")
    drawn = [random_inputs(func, np.random.default_rng(seed)) for seed in range(40)]
    assert [*drawn[0]] == ["A", "P", "Q", "n", "B"]
    numbers = np.concatenate([np.ravel(d["A"]) for d in drawn])
    assert numbers.min() < 0 < numbers.max()
    assert abs(numbers.mean()) > 0.1, "a sign error must not cancel"
    assert {d["n"] for d in drawn} >= {0, 1} and min(d["n"] for d in drawn) < 0
    again = random_inputs(func, np.random.default_rng(7))
    assert all(np.array_equal(drawn[7][k], again[k]) for k in again)


SIZED = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, ((n + 3) // 4,), "float32")
    T.assume(n > 5 and n % 2 == 1)
    for i in range(n):
        T.assume(A[i, 3] == 0.0)
    B[0] = A[n - 1, 3]
"""


def test_sizes_are_drawn_and_satisfied() -> None:
    func = parse(SIZED).funcs[0]
    for seed in range(5):
        inputs = random_inputs(func, np.random.default_rng(seed))
        rows = np.shape(inputs["A"])[0]
        assert rows > 5 and rows % 2 == 1
        assert np.shape(inputs["B"]) == ((rows + 3) // 4,)
        interpret(func, **inputs, sanitize=True)


def test_a_size_that_no_shape_tells_is_named() -> None:
    func = parse(
        SIZED.replace("(n, 4)", "(n // 2, 4)").replace("range(n)", "range(n // 2)").replace("n - 1", "0")
    ).funcs[0]
    inputs = random_inputs(func, np.random.default_rng(0))
    assert np.shape(inputs["A"])[0] == inputs["n"] // 2
    interpret(func, **inputs, sanitize=True)


def test_a_fault_within_an_assumption_is_reported() -> None:
    with pytest.raises(LoopsatError, match="divided by zero"):
        random_inputs(kernel("T.assume(4 // (n - n) == 1)"), np.random.default_rng(0))
    with pytest.raises(InterpretError, match="divided by zero"):
        interpret(
            kernel("T.assume(4 // (n - n) == 1)"),
            P=np.zeros(12, np.int32),
            A=np.zeros((3, 4), np.float32),
            Q=np.zeros(12, bool),
            n=0,
            sanitize=True,
        )


def test_the_search_for_inputs_has_a_budget_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    func = kernel("for i, j, k in T.grid(100, 100, 100):\n    T.assume(P[i % 4] * P[j % 4] * 2 == 3 + k - k)")
    runs, satisfy = list[Assume](), Satisfier.assume

    def counted(self: Satisfier, stmt: Assume) -> None:
        runs.append(stmt)
        satisfy(self, stmt)

    monkeypatch.setattr(Satisfier, "assume", counted)
    for work in (20_000, 40_000):
        runs.clear()
        with pytest.raises(LoopsatError, match="no inputs of f were found"):
            random_inputs(func, np.random.default_rng(0), work=work)
        assert work / 400 < len(runs) < work / 20


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
def test_bounds_of_rows_between_two_given_ends_are_found(spread: Spread) -> None:
    """Neighbours in order, of which the first and the last one are numbers: neither direction alone comes to rest."""
    func = kernel(
        "T.assume(P[0] == 0)\nT.assume(P[5] == 20)\nfor i in T.serial(5):\n    T.assume(P[i] <= P[i + 1])",
        'P: T.Buffer((6,), "int32"), B: T.Buffer((1,), "int32")',
    )
    for seed in range(20):
        rows = np.asarray(random_inputs(func, np.random.default_rng(seed), spread=spread)["P"])
        assert rows[0] == 0 and rows[5] == 20 and np.all(np.diff(rows) >= 0)
