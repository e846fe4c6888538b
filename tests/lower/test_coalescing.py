"""Loops over ranges that rows give, as one loop over positions where the ranges are in order."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import parse
from lowered import assert_agrees, kernel_of
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4, mask=1e4)
N, M = 7, 23
PARAMS = f"""P: T.Buffer(({N} + 1,), "int32"), C: T.Buffer(({M},), "int32"), X: T.Buffer(({M},), "float32"),
      S: T.Buffer(({N},), "float32"), Y: T.Buffer(({M}, 3), "float32"), Z: T.Buffer(({M},), "float32")"""
ROWS = f"for i in T.serial({N}):\n    for k in T.serial(P[i], P[i + 1]):\n"

PROGRAMS = {
    "what a row gives": ROWS + "        Z[k] = X[k] * S[i]",
    "which row": ROWS + "        Z[k] = T.cast(i, 'float32')",
    "in place": ROWS + "        Z[k] = Z[k] / S[i] + T.cast(i * k, 'float32')",
    "scattered": ROWS + "        Z[C[k]] = Z[C[k]] + X[k] * S[i]",
    "scattered, last counts": ROWS + "        Z[C[k]] = X[k] * S[i]",
    "only some": ROWS + "        if X[k] > S[i]:\n            Z[k] = X[k]",
    "rows of elements": ROWS + "        for j in T.serial(3):\n            Y[k, j] = Y[k, j] * S[i] + X[k]",
    "carried on": ROWS + "        if k > 0:\n            Z[k] = Z[k - 1] * S[i] + X[k]",
    "a local of each position": f"t = T.alloc_buffer((2,), 'float32')\n{ROWS}"
    "        t[0] = X[k] + S[i]\n        t[1] = t[0] + X[k]\n        Z[k] = t[0] * t[1]",
    "a local of each row": f"t = T.alloc_buffer((2,), 'float32')\nfor i in T.serial({N}):\n    t[0] = S[i] * 2.0\n"
    "    t[1] = t[0] + 1.0\n    for k in T.serial(P[i], P[i + 1]):\n        Z[k] = X[k] * t[1] + t[0]",
    "rows from the second on": f"for i in T.serial(2, {N}):\n    for k in T.serial(P[i - 1], P[i]):\n"
    "        Z[k] = S[i]",
    "segment softmax": f"""m = T.alloc_buffer((1,), "float32")
s = T.alloc_buffer((1,), "float32")
for i in T.serial({N}):
    m[0] = T.float32(-1000.0)
    for k in T.serial(P[i], P[i + 1]):
        m[0] = T.max(m[0], X[k])
    s[0] = 0.0
    for k in T.serial(P[i], P[i + 1]):
        s[0] = s[0] + T.exp(X[k] - m[0])
    for k in T.serial(P[i], P[i + 1]):
        Z[k] = T.exp(X[k] - m[0]) / s[0]""",
}
PROGRAMS["in each step of a loop"] = """s = T.alloc_buffer((1,), "float32")
for q in T.serial(2):
    for i in T.serial(7):
        s[0] = X[i] * 0.5
        S[i] = s[0]
        for k in T.serial(P[i], P[i + 1]):
            Z[k] = 3.0 * Z[k] - s[0] + X[i]
            S[i] = S[i] + Z[k]"""
OTHERS = {
    "bounds change": ROWS + "        Z[k] = S[i]\n    P[i + 1] = P[i + 1] + 0",
    "rows left out": f"for i in T.serial({N}):\n    if S[i] > 0.0:\n        for k in T.serial(P[i], P[i + 1]):\n"
    "            Z[k] = X[k] * S[i]",
    "more in a row": f"for i in T.serial({N}):\n    Z[i] = 2.0\n    for k in T.serial(P[i], P[i + 1]):\n"
    "        Z[k] = Z[k] * S[i] + Z[i]",
}
RANGES = {
    "in order": [0, 3, 3, 7, 12, 15, 20, 23],
    "empty": [4, 4, 4, 4, 4, 4, 4, 4],
    "gaps at the ends": [2, 5, 9, 9, 9, 11, 17, 18],
    "overlapping": [0, 9, 3, 12, 5, 23, 1, 23],
    "turned": [23, 20, 16, 12, 9, 5, 3, 0],
}


def check(body: str) -> list[str]:
    """Compare with the interpreter, with steps and masks that are dear; returns the report of the lowering."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    (func,) = parse(f"@T.prim_func\ndef f({PARAMS}):\n{lines}\n").funcs
    kernel = kernel_of(func, EAGER)
    rng = np.random.default_rng(len(body))
    inputs = {b.name: rng.uniform(0.5, 1.5, [M] if b.name in "XZ" else [N]).astype("float32") for b in func.buffers}
    inputs["Y"] = rng.uniform(-1, 1, (M, 3)).astype("float32")
    inputs["C"] = rng.integers(0, M, M).astype("int32")
    for given in RANGES.values():
        inputs["P"] = np.array(given, "int32")
        assert_agrees(func, kernel, inputs, 2e-5)
    return kernel.report


@pytest.mark.parametrize("body", some(PROGRAMS.values(), 1), ids=PROGRAMS.keys())
def test_ranges_as_one_loop(body: str) -> None:
    assert any("may be in order and apart" in line for line in check(body))


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS.keys())
def test_near_misses_stay_loops(body: str) -> None:
    assert not any("may be in order and apart" in line for line in check(body))


@pytest.mark.parametrize("starts", [range(0, 24, 3), [0, 5, 3, 9, 2, 4, 8, 6]], ids=["in order", "not in order"])
def test_derivatives_of_what_both_forms_read(starts: list[int]) -> None:
    text = f"""
@T.prim_func
def f(P: T.Buffer(({N} + 1,), "int32"), X: T.Buffer(({M},), "float32"), S: T.Buffer(({N},), "float32"),
      Z: T.Buffer(({M},), "float32")):
    for i in T.serial({N}):
        for k in T.serial(P[i], P[i + 1]):
            Z[k] = X[k] * S[i]
"""
    k = kernel_of(parse(text).funcs[0], EAGER)
    assert "chosen(" in k.source
    rng = np.random.default_rng(0)
    x, s, z, weights = (jnp.asarray(rng.normal(size=n).astype(np.float32)) for n in (M, N, M, M))
    ranges = np.minimum(np.array(starts, np.int32), M)

    def total(x: jax.Array, s: jax.Array, z: jax.Array) -> jax.Array:
        return jnp.sum(k.jitted(ranges, x, s, z)[0] * weights)

    of_x, of_s, of_z = np.zeros(M), np.zeros(N), np.array(weights)
    last = {p: i for i in range(N) for p in range(ranges[i], ranges[i + 1])}
    for p, i in last.items():
        of_x[p], of_z[p] = weights[p] * s[i], 0
        of_s[i] += weights[p] * x[p]
    _, tangent = jax.jvp(total, (x, s, z), (x, s, z))
    np.testing.assert_allclose(tangent, of_x @ x + of_s @ s + of_z @ z, rtol=1e-4)
