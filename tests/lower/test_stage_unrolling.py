"""Loops over a few stages are written out where only numbers make places linear, and stay right."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import interpret
from lower.restructure.stage_unrolling import with_stages
from lowered import agreeing_source, read
from profiles import some

PARAMS = 'X: T.Buffer((32,), "int32"), Y: T.Buffer((32,), "int32")'


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    return agreeing_source(read(PARAMS, body), seeds=3)


STAGES = {
    "butterflies by quotients": """for s in T.serial(5):
    for k in T.serial(16):
        lo = k // (1 << s) * (2 << s) + k % (1 << s)
        u = X[lo]
        v = X[lo + (1 << s)] * (k % (1 << s) + 1)
        X[lo] = u + v
        X[lo + (1 << s)] = u - v""",
    "butterflies by two loops": """for s in T.serial(5):
    for b, k in T.grid(32 >> s + 1, 1 << s):
        u = X[b * (2 << s) + k]
        X[b * (2 << s) + k] = u + X[b * (2 << s) + k + (1 << s)]
        X[b * (2 << s) + k + (1 << s)] = u - X[b * (2 << s) + k + (1 << s)]""",
    "a sorting network": """for k in T.serial(1, 6):
    for j in T.serial(k):
        for i in T.serial(32):
            if (i ^ (1 << (k - 1 - j))) > i:
                a = X[i]
                b = X[i ^ (1 << (k - 1 - j))]
                if (a > b) == ((i & (1 << k)) == 0):
                    X[i] = b
                    X[i ^ (1 << (k - 1 - j))] = a""",
    "bits by shifts": """for s in T.serial(5):
    for i in T.serial(32):
        if ((i >> s) & 1) == 1:
            X[i - (1 << s)] = X[i - (1 << s)] + X[i]""",
    "rotations of pairs": """for q in T.serial(5):
    for i in T.serial(32):
        b = (i >> q) & 1
        Y[i] = X[i] + T.if_then_else(b == 0, -(q + 2), q + 3) * X[i ^ (1 << q)]
    for i in T.serial(32):
        X[i] = Y[i] % 97""",
    "bits set": """for s in T.serial(5):
    for i in T.serial(32):
        if (i >> s) % 2 == 0:
            X[i | (1 << s)] = X[i] - X[i | (1 << s)]""",
    "sums in a tree": """for s in T.serial(5):
    for k in T.serial(16 >> s):
        X[k * (2 << s)] = X[k * (2 << s)] + X[k * (2 << s) + (1 << s)]""",
}


@pytest.mark.parametrize("body", some(STAGES.values(), 1), ids=STAGES.keys())
def test_stages_become_slices(body: str) -> None:
    text = source(body)
    assert "fori_loop" not in text
    assert ".get(" not in text


OTHERS = {
    "digits that do not divide": """for s in T.serial(1, 4):
    for k in T.serial(10):
        X[k // s * s + k % s] = X[k // s] + X[k % s + 10]""",
    "each step reads the last": """for s in T.serial(4):
    for k in T.serial(31):
        X[k + 1] = (X[k] + X[k * s % 32]) % 100""",
    "a scan over a doubled distance": """for s in T.serial(5):
    for k in T.serial(32 - (1 << s)):
        Y[k] = X[k] + X[k + (1 << s)]
    for k in T.serial(32 - (1 << s)):
        X[k] = Y[k]""",
    "below zero": """for s in T.serial(3):
    for k in T.serial(-8, 8):
        X[(k >> s) + 16] = X[(k & (1 << s)) + 8] + Y[(k ^ (1 << s)) + 16]""",
    "a loop of one step": """for s in T.serial(3, 4):
    for k in T.serial(8):
        X[k ^ (1 << s)] = X[k] + 1""",
    "no store": """for s in T.serial(5):
    for k in T.serial(16):
        Y[k] = Y[k] + X[k ^ (1 << s)]""",
    "a name taken": """k_0 = X[3]
for s in T.serial(5):
    for k in T.serial(16):
        X[k // (1 << s) * (2 << s) + k % (1 << s)] = X[k // (1 << s)] + k_0""",
}


@pytest.mark.parametrize("body", some(OTHERS.values(), 0.32), ids=OTHERS.keys())
def test_others_stay_right(body: str) -> None:
    assert "def f(" in source(body)


@pytest.mark.parametrize("op", "|^")
def test_bits_as_sums_stay_in_their_dtype(op: str) -> None:
    place = f"T.cast(k {op} (T.int8(1) << q), 'int32'), i"
    loops = "for q in T.serial(T.int8(0), T.int8(7)):\n    for i in range(64):"
    func = read('k: T.int8, X: T.Buffer((128, 64), "int32")', f"{loops}\n        X[{place}] = X[{place}] * 2 + i")
    staged = with_stages(func, replace(CPU, dispatch=0.0))
    assert staged != func
    for k in (0, 64, 127):
        found, wanted = (interpret(f, k=np.int8(k), X=np.zeros((128, 64), np.int32)) for f in (staged, func))
        np.testing.assert_array_equal(found, wanted)


def test_stages_that_read_what_others_have_stored_are_a_loop_of_gathers() -> None:
    table = """S = T.alloc_buffer((9, 256), "int32")
for i in range(256):
    S[0, i] = A[i]
for k in range(1, 9):
    for i in range(256):
        S[k, i] = T.min(S[k - 1, i], S[k - 1, T.min(i + (1 << (k - 1)), 255)])
for i in range(256):
    B[i] = S[i % 9, i]"""
    code = agreeing_source(read('A: T.Buffer((256,), "int32"), B: T.Buffer((256,), "int32")', table))
    assert "fori_loop(1, 9, k_step" in code
    in_place = table.replace("S[k - 1, T.min(", "S[k, T.max(255 - T.min(").replace("255)])", "255), 0)])")
    assert "k_step" not in agreeing_source(read('A: T.Buffer((256,), "int32"), B: T.Buffer((256,), "int32")', in_place))


def test_stages_that_stay_loops_are_not_written_out() -> None:
    body = """for m in T.serial(1024):
    for b in T.serial(10):
        if m & (1 << b) != 0:
            Y[m] = T.min(Y[m], Y[m - (1 << b)] + X[b])"""
    func = read('X: T.Buffer((10,), "int32"), Y: T.Buffer((1024,), "int32")', body)
    assert with_stages(func, CPU) != func, "a stage by itself seems to pay"
    assert agreeing_source(func).count("fori_loop") <= 2
