"""Loops over the bits of a number become one instruction, where they count or fold all of them and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import PrimFunc, parse
from ir.nodes import Call, For
from ir.traverse import all_exprs, walk

BIT = '(A[i] >> T.cast(b, "uint16")) & T.uint16(1)'


def best(loop: str, dtype: str = "int32") -> PrimFunc:
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer((5,), "uint16"), R: T.Buffer((17,), "{dtype}")):
    for i in range(5):
        R[i] = R[i + 5]
        {loop}
""").funcs[0]
    found = optimize(func).best
    assert assert_refines(func, found, np.random.default_rng(0)) > 0
    return found


def calls(func: PrimFunc) -> bool:
    return any(isinstance(e, Call) for e in all_exprs(func.body))


@pytest.mark.parametrize(
    ("loop", "dtype"),
    [
        (f'for b in range(16): R[i] += T.cast({BIT}, "int32")', "int32"),
        (f"for b in range(16): R[i] = ({BIT}) + R[i]", "uint16"),
        (f'for b in range(3, 9): R[i] += T.cast({BIT}, "int32")', "int32"),
        (f"for b in range(16):\n            if ({BIT}) == T.uint16(1):\n                R[i] += 1", "int32"),
        (f"for b in range(16): R[i] = R[i] ^ ({BIT})", "uint16"),
        (f'for b in range(7): R[i] = R[i] ^ T.cast({BIT}, "uint8")', "uint8"),
        (f"for b in range(16):\n            if ({BIT}) == T.uint16(1):\n                R[i] = 15 - b", "int32"),
        (f"for b in range(2, 9):\n            if ({BIT}) != T.uint16(0):\n                R[i] = 3 * b", "int32"),
    ],
)
def test_all_bits_are_taken_at_once(loop: str, dtype: str) -> None:
    assert calls(best(loop, dtype))


@pytest.mark.parametrize("op", ["^", "|"])
def test_shifts_are_folded_by_doubling(op: str) -> None:
    found = best(f'for s in range(1, 16): R[i] = R[i] {op} (A[i] >> T.cast(s, "uint16"))', "uint16")
    assert sum(isinstance(s, For) for s in walk(found.body)) == 1
    few = best(f'for s in range(1, 12): R[i] = R[i] {op} (A[i] >> T.cast(s, "uint16"))', "uint16")
    assert sum(isinstance(s, For) for s in walk(few.body)) == 2  # bits that are not shifted out would fold more


@pytest.mark.parametrize(
    ("loop", "dtype"),
    [
        (f"for b in range(16):\n            if ({BIT}) == T.uint16(1):\n                R[b] = b", "int32"),  # all
        (f"for b in range(16):\n            if ({BIT}) == T.uint16(1):\n                R[i] = R[i] * 2", "int32"),
        (f'for b in range(16): R[i] += T.cast({BIT}, "float32")', "float32"),  # rounded at each step
        (f'for b in range(16): R[b] += T.cast({BIT}, "int32")', "int32"),  # a bit each
        (f'for b in range(16): R[i] = R[i] | T.cast({BIT}, "int32")', "int32"),  # any bit
        (f'for b in range(16): R[i] += T.cast({BIT.replace("(1)", "(3)")}, "int32")', "int32"),  # two bits each
        ('for b in range(16): R[i] += (R[i] >> T.cast(b, "uint16")) & T.uint16(1)', "uint16"),  # of what is stored
        ('for b in range(4): R[i] += (A[b] >> T.cast(b, "uint16")) & T.uint16(1)', "uint16"),  # of several numbers
    ],
)
def test_other_loops_over_bits_stay(loop: str, dtype: str) -> None:
    assert not calls(best(loop, dtype))
