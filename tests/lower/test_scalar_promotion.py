"""Locals that are working copies of an element give way to it, and only where nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import PrimFunc, parse
from ir.semantics.interpret import interpret
from lower import compile
from lower.nest.normalize import normalize
from lower.storage.scalar_promotion import work_in_place
from profiles import few, some

HEAD = "from ir import script as T\n\n@T.prim_func\ndef f({params}):\n    w = T.alloc_buffer((1,), 'float32')\n"
PARAMS = "A: T.Buffer((6, 6), 'float32'), x: T.Buffer((6,), 'float32')"
IN_PLACE = {
    "a sum": "for i in range(6):\n    w[0] = 0.0\n    for k in range(6):\n"
    "        w[0] = w[0] + A[i, k]\n    x[i] = w[0]",
    "scaled": "for i in range(6):\n    w[0] = x[i]\n    for k in range(i):\n"
    "        w[0] = w[0] - A[i, k] * x[k]\n    x[i] = w[0] / A[i, i]",
    "guarded": "for i in range(6):\n    if A[i, i] > 0.0:\n        w[0] = x[i]\n        for k in range(i):\n"
    "            w[0] = w[0] - A[i, k] * x[k]\n        x[i] = w[0]",
}
KEPT = {
    "the element is read on the way": "for i in range(6):\n    w[0] = 0.0\n    for k in range(6):\n"
    "        w[0] = w[0] + A[i, k] * x[k]\n    x[i] = w[0]",
    "the element is read at last": "for i in range(6):\n    w[0] = 0.0\n    for k in range(6):\n"
    "        w[0] = w[0] + A[i, k]\n    x[i] = w[0] + x[i]",
    "read again": "for i in range(6):\n    w[0] = 0.0\n    for k in range(6):\n        w[0] = w[0] + A[i, k]\n"
    "    x[i] = w[0]\n    A[i, 0] = w[0]",
    "stored only sometimes": "for i in range(6):\n    w[0] = 0.0\n    for k in range(6):\n"
    "        w[0] = w[0] + A[i, k]\n    if A[i, i] > 0.0:\n        x[i] = w[0]",
    "set in between": "for i in range(6):\n    w[0] = 0.0\n    for k in range(6):\n        w[0] = w[0] + A[i, k]\n"
    "        x[k] = 1.0\n    x[i] = w[0]",
    "carried on": "w[0] = 0.0\nfor i in range(6):\n    for k in range(6):\n"
    "        w[0] = w[0] + A[i, k]\n    x[i] = w[0]",
}  # fmt: skip


def read(body: str) -> PrimFunc:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return parse(HEAD.format(params=PARAMS) + lines + "\n").funcs[0]


def check(func: PrimFunc) -> None:
    rng = np.random.default_rng(2)
    given_ = {"A": rng.uniform(-1, 1, (6, 6)), "x": rng.uniform(-1, 1, 6)}
    arrays = {k: v.astype(np.float32) for k, v in given_.items()}
    expected = interpret(func, **{k: v.copy() for k, v in arrays.items()})
    for want, have in zip(expected, compile(func)(**arrays), strict=True):
        np.testing.assert_allclose(np.asarray(have), want, rtol=1e-4, atol=1e-4)


def locals_left(func: PrimFunc) -> int:
    program = normalize(func)
    work_in_place(program)
    assert [s.position for s in program.statements] == list(range(len(program.statements)))
    return len(program.depth)


@pytest.mark.parametrize("body", IN_PLACE.values(), ids=IN_PLACE.keys())
def test_work_is_done_in_the_element(body: str) -> None:
    func = read(body)
    assert locals_left(func) == 0
    check(func)


@pytest.mark.parametrize("body", some(KEPT.values(), 0.4), ids=KEPT.keys())
def test_copies_that_somebody_could_tell_apart_stay(body: str) -> None:
    func = read(body)
    assert locals_left(func) > 0
    check(func)


@few(10)
@given(
    st.sampled_from(["0.0", "x[i]", "A[i, 0]", "x[5 - i]"]),
    st.sampled_from(["6", "i", "i + 1"]),
    st.sampled_from(["A[i, k]", "A[k, i] * x[k]", "x[k]", "A[i, k] * w[0]"]),
    st.sampled_from(["x[i]", "A[i, i]", "x[5 - i]", "x[0]", "A[0, i]"]),
    st.sampled_from(["w[0]", "w[0] * 0.5", "w[0] + x[i]", "w[0] / (2.0 + A[i, i] * A[i, i])"]),
)
def test_any_copy(start: str, stop: str, term: str, place: str, end: str) -> None:
    check(
        read(
            f"for i in range(6):\n    w[0] = {start}\n    for k in range({stop}):\n"
            f"        w[0] = w[0] - {term}\n    {place} = {end}"
        )
    )
