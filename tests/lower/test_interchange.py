"""Loops over places of windows that run in turn around all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lower import compile
from lower.analysis.deciding import deciding, least
from lower.analysis.linear_forms import linear
from lowered import assert_agrees, read, unwrapped
from profiles import some

IMAGES = 'A: T.Buffer((9, 12), "float32"), B: T.Buffer((7, 8), "float32"), D: T.Buffer((7, 8), "int32")'
VOLUME = 'A: T.Buffer((4, 6, 7), "float32"), B: T.Buffer((4, 6, 7), "float32"), V: T.Buffer((3, 5, 6, 7), "float32")'
PROGRAMS = {
    "sums weighted by what all of them are made of": (
        IMAGES,
        """for i, j in T.grid(7, 8):
    z = T.alloc_buffer((1,), "float32")
    z[0] = 1.0
    B[i, j] = 0.0
    for u, v in T.grid(3, 5):
        d = T.alloc_buffer((1,), "float32")
        d[0] = 0.0
        for a in range(1):
            d[0] = d[0] + A[i + u, j + v] * A[i + 1, j + 2]
        w = T.exp(0.0 - d[0] * d[0])
        B[i, j] = B[i, j] + w * A[i + u, j + v]
        z[0] = z[0] + w
    B[i, j] = B[i, j] / z[0]""",
    ),
    "the best of a few places": (
        IMAGES,
        """for i, j in T.grid(7, 8):
    best = T.alloc_buffer((1,), "float32")
    best[0] = 1e30
    D[i, j] = -1
    for u in range(5):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for a in range(3):
            s[0] = s[0] + T.abs(A[i + a, j + u] - A[i + a, j + 4 - u])
        if s[0] < best[0]:
            best[0] = s[0]
            D[i, j] = u""",
    ),
    "one image moved over another, which ends": (
        VOLUME,
        """for u, v in T.grid(3, 5):
    for i, j in T.grid(6, 7):
        V[u, v, i, j] = 0.0
        if i + u >= 1 and i + u < 7 and j + v >= 2 and j + v < 9:
            for c in range(4):
                V[u, v, i, j] = V[u, v, i, j] + A[c, i, j] * B[c, i + u - 1, j + v - 2]""",
    ),
    "in steps of a loop that goes on": (
        IMAGES,
        """for t in range(3):
    for i, j in T.grid(7, 8):
        D[i, j] = 0
        for u in range(4):
            e = T.alloc_buffer((1,), "float32")
            e[0] = 0.0
            for a in range(2):
                e[0] = e[0] + T.exp(A[i + a, j + u] * 0.1)
            if e[0] / (1.0 + e[0]) > B[i, j]:
                D[i, j] = D[i, j] + u
    for i, j in T.grid(7, 8):
        A[i + 1, j + 2] = A[i + 1, j + 2] * 0.5 + T.cast(D[i, j], "float32")""",
    ),
}


@pytest.mark.parametrize("name", some(PROGRAMS, 0.5))
def test_places_in_turn_keep_the_meaning(name: str) -> None:
    func = read(*PROGRAMS[name])
    rng = np.random.default_rng(0)
    shapes = {b: [linear(d).const for d in b.shape] for b in func.buffers}
    inputs = {b.name: rng.standard_normal(shape).astype(b.dtype.numpy) for b, shape in shapes.items()}
    asked = list[str]()

    def in_turn(name: str, prices: Sequence[float]) -> int:
        asked.append(name)
        return 1 if name == "places in turn" else least(name, prices)

    with deciding(in_turn):
        assert_agrees(func, compile(func), inputs, rtol=1e-5)
    assert "places in turn" in asked


def test_what_is_only_copied_is_no_work_of_steps() -> None:
    func = read(
        'A: T.Buffer((90, 100), "float32"), B: T.Buffer((9, 90, 90), "float32")',
        "for u, i, j in T.grid(9, 90, 90):\n    B[u, i, j] = A[i, j + u]",
    )
    assert "fori_loop" not in unwrapped(compile(func).source)
