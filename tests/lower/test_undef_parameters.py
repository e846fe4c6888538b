"""Parameters that may hold anything somewhere: NaN that a caller left there goes nowhere, and zero annihilates it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from egraph_rules import optimize
from ir import parse
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import PrimFunc
from ir.semantics.interpret import interpret_with_undef
from lower import compile
from lower.check.sequential import run_sequentially
from profiles import some

HEAD = """
@T.prim_func
def f(
    A: T.Buffer((6, 4, 4), "float32"), W: T.Buffer((4, 4), "float32"), n: T.Buffer((6,), "int32"),
    S: T.Buffer((6,), "float32"), C: T.Buffer((6, 4, 4), "float32")
):
"""
PADDED = "4 * jo + ji < 14"


def program(body: str, padded: str = PADDED) -> PrimFunc:
    assumed = f"""
for i, jo, ji in T.grid(6, 4, 4):
    T.assume({padded} or A[i, jo, ji] == T.undef())
"""
    return parse(HEAD + "".join(f"    {line}\n" for line in (assumed + body).split("\n"))).funcs[0]


def check(func: PrimFunc, padded: str = PADDED, floats: Floats = DEFAULT_FLOATS) -> None:
    """Compare the kernels of a function, as written and optimized, with it, on inputs with NaN and Inf in padding."""
    rng = np.random.default_rng(0)
    A, n = rng.standard_normal((6, 4, 4)).astype(np.float32), np.array([0, 3, 16, 14, 7, 1], np.int32)
    inside = np.empty(A.shape, bool)
    for i, jo, ji in np.ndindex(A.shape):
        inside[i, jo, ji] = eval(padded, {"i": i, "jo": jo, "ji": ji, "n": n})
    W = np.where(inside.all(0), rng.standard_normal((4, 4)), 0).astype(np.float32)
    assert not inside.all()
    rest = [np.zeros(6, np.float32), np.zeros(A.shape, np.float32)]
    wanted = interpret_with_undef(func, A, W, n, *rest)
    for put in (np.nan, np.inf):
        given = np.where(inside, A, np.float32(put))
        for form in (func, optimize(func, floats=floats).best):
            kernel = compile(form, floats=floats)
            for got, (values, undef) in zip(kernel(given, W, n, *rest), wanted, strict=True):
                got = np.asarray(got)
                assert np.allclose(got[~undef], values[~undef], rtol=1e-5, atol=1e-5), kernel.source


SUM = """
for i in range(6):
    S[i] = 0.0
    for jo, ji in T.grid(4, 4):
        S[i] = S[i] + {}
"""
PRODUCTS = {
    "product": SUM.format("A[i, jo, ji] * W[jo, ji]"),
    "element": "for i, jo, ji in T.grid(6, 4, 4):\n    C[i, jo, ji] = W[jo, ji] * (A[i, jo, ji] + 1.0)",
    "quotient": SUM.format("W[jo, ji] / A[i, jo, ji] * W[jo, ji]"),
    "function": SUM.format("T.log(A[i, jo, ji]) * W[jo, ji]").replace("A[", "T.abs(A[").replace("ji])", "ji]))"),
    "local": """
L = T.alloc_buffer((6, 4, 4), "float32")
for i, jo, ji in T.grid(6, 4, 4):
    L[i, jo, ji] = 2.0 * A[i, jo, ji]
"""
    + SUM.format("L[i, jo, ji] * W[jo, ji]"),
    "name": """
for i, jo, ji in T.grid(6, 4, 4):
    x = A[i, jo, ji]
    C[i, jo, ji] = W[jo, ji] * x
""",
    "in place": """
for i, jo, ji in T.grid(6, 4, 4):
    A[i, jo, ji] = A[i, jo, ji] * W[jo, ji]
""",
    "flat": """
for i, j in T.grid(6, 16):
    C[i, j // 4, j % 4] = A[i, j // 4, j % 4] * W[j // 4, j % 4]
""",
}


POLICIES = {"default": DEFAULT_FLOATS, "strict": Floats.STRICT}


@pytest.mark.parametrize(("name", "policy"), some(product(PRODUCTS, POLICIES), 1))
def test_zero_annihilates_what_is_assumed_to_be_undef(name: str, policy: str) -> None:
    check(program(PRODUCTS[name]), floats=POLICIES[policy])


READ = """
for i, jo, ji in T.grid(6, 4, 4):
    C[i, jo, ji] = 2.0 * A[i, jo, ji]
"""
GUARDED = """
for i in range(6):
    S[i] = 0.0
    for jo, ji in T.grid(4, 4):
        if {0}:
            S[i] = S[i] + {1}
"""


PADDINGS = [PADDED, "jo < 3", f"{PADDED} and i < 5", "4 * jo + ji < n[i]"]
VALUES = ["A[i, jo, ji]", "A[i, jo, ji] * W[jo, ji]", "C[i, jo, ji]"]


@pytest.mark.parametrize(("padded", "value"), some(product(PADDINGS, VALUES), 2))
def test_what_is_read_in_padding_is_no_number_elsewhere(padded: str, value: str) -> None:
    """A mask may be a factor 0 only where what it hides is a number: that the program reads it does not make it one."""
    check(program(READ + GUARDED.format(padded, value), padded), padded)


@pytest.mark.fuzz  # long, and others test most of it
def test_where_undef_is_stored_nothing_is_a_number() -> None:
    store = f"""
for i, jo, ji in T.grid(6, 4, 4):
    if {PADDED}:
        A[i, jo, ji] = A[i, jo, ji] + 1.0
    else:
        A[i, jo, ji] = T.undef()
"""
    check(program(store + READ + GUARDED.format(PADDED, "A[i, jo, ji]")))
    check(program(store + PRODUCTS["product"]))


def test_guarded_readers_cost_nothing_more() -> None:
    """Where no load reads what is arbitrary, the kernel is that without the assumption."""
    func = program(GUARDED.format(PADDED, "A[i, jo, ji] * W[jo, ji]"))
    plain = parse(HEAD + "".join(f"    {x}\n" for x in GUARDED.format(PADDED, "A[i, jo, ji] * W[jo, ji]").split("\n")))
    sources = [compile(f).source.split('"""')[-1] for f in (func, plain.funcs[0])]
    assert sources[0] == sources[1]


def test_a_check_leaves_out_what_is_arbitrary() -> None:
    """Also where the loops run one element after the other, which know nothing of undef."""
    func = program("for i, jo, ji in T.grid(6, 4, 4):\n    C[i, jo, ji] = W[jo, ji] * (A[i, jo, ji] + 1.0)")
    inputs = {"A": np.ones((6, 4, 4), np.float32), "W": np.ones((4, 4), np.float32), "n": np.ones(6, np.int32)}
    inputs |= {"S": np.ones(6, np.float32), "C": np.ones((6, 4, 4), np.float32)}
    runs = [run_sequentially(func, inputs, undef)["C"] for undef in (0.0, 1e20)]
    ((_, undef),) = interpret_with_undef(func, *inputs.values())
    assert np.array_equal(runs[0] != runs[1], undef)
    assert undef.any()
    assert not undef.all()
