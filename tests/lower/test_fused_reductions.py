"""Reductions over several dimensions that lie together are reductions along one."""

from __future__ import annotations

import pytest

from lowered import agreeing_source, read, unwrapped


@pytest.mark.parametrize(
    ("order", "flat"),
    [("y, x, cc", True), ("x, y, cc", False), ("y, cc", False)],
)
def test_blocked_dimensions_are_reduced_as_one(order: str, flat: bool) -> None:
    extents = {"y": 5, "x": 3, "cc": 4}
    ranges = ", ".join(str(extents[name]) for name in order.split(", "))
    x = "x" if "x" in order else "0"
    params = 'X: T.Buffer((6, 5, 3, 4), "int32"), S: T.Buffer((6,), "int32")'
    start = "for c in range(6):\n    S[c] = 0\n"
    body = f"{start}    for {order} in T.grid({ranges}):\n        S[c] = S[c] + X[c, y, {x}, cc]"
    source = unwrapped(agreeing_source(read(params, body)))
    assert ("reshape(6, 60)" in source) == flat


def test_blocks_of_channels_against_a_plain_matrix_are_one_product() -> None:
    params = 'H: T.Buffer((5, 6, 4), "int32"), W: T.Buffer((20, 7), "int32"), Y: T.Buffer((7, 6), "int32")'
    sum_ = "for cb, c in T.grid(5, 4):\n            Y[o, x] = Y[o, x] + H[cb, x, c] * W[4 * cb + c, o]"
    body = f"for o, x in T.grid(7, 6):\n        Y[o, x] = 0\n        {sum_}"
    source = unwrapped(agreeing_source(read(params, body)))
    assert source.count("einsum") == 1 and "W.reshape(5, 4, 7)" in source


def test_what_a_column_counts_is_looked_at_as_its_array_lies() -> None:
    params = 'A: T.Buffer((30, 20), "int32"), N: T.Buffer((20,), "int32")'
    body = "for t in range(20):\n    N[t] = 0\n    for d in range(30):\n        if A[d, t] > 0:\n"
    source = unwrapped(agreeing_source(read(params, body + "            N[t] = N[t] + 1")))
    assert "jnp.sum((A > 0).astype(jnp.int32), axis=0" in source


@pytest.mark.parametrize("shape", [(9, 9, 20), (5, 13, 8), (20, 9, 9)])
def test_operands_are_read_as_the_largest_of_them_lies(shape: tuple[int, int, int]) -> None:
    n, m, k = shape
    params = f'A: T.Buffer(({n}, {m}), "int32"), B: T.Buffer(({m}, {k}), "int32"), C: T.Buffer(({n}, {k}), "int32")'
    body = f"for i, j in T.grid({n}, {k}):\n    C[i, j] = 0\n    for l in range({m}):\n"
    agreeing_source(read(params, body + "        C[i, j] = C[i, j] + T.max(A[i, l], B[l, j])"))
