"""Stores behind the ends of loops that move with a step: without a mask where nobody reads there, and only there."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc
from lowered import assert_agrees, kernel_of, read, small_numbers, unwrapped
from profiles import some

EAGER = replace(CPU, name="eager", step=1e4, written_out=1)
PARAMS = (
    'X: T.Buffer((12,), "int32"), Z: T.Buffer((12,), "int32"), S: T.Buffer((12,), "int32"), Y: T.Buffer((12,), "int32")'
)
START = """v = T.alloc_buffer((12,), 'int32')
w = T.alloc_buffer((12,), 'int32')
for i in range(12):
    v[i] = X[i]
    w[i] = X[i] * 3
"""
STEP = "for t in range(8):\n    for i in range(11 - t):\n        v[i] = {value}\n{after}\nY[0] = {result}"
UNMASKED = {
    "a triangle": ("(v[i] + v[i + 1] * 2) % 1009", "", "v[0]"),
    "behind all ends is read": ("(v[i] + v[i + 1] * 2) % 1009", "    S[t] = v[11]", "v[0]"),
}
MASKED = {
    "what was there is read later": ("(v[i] + v[i + 1] * 2) % 1009", "", "v[10]"),
    "what was there is read in the next step": ("(v[i] * 2 + t) % 1009", "    S[t] = v[11 - t]", "v[0]"),
}


@pytest.mark.parametrize("name", [*UNMASKED, *MASKED])
def test_a_loop_whose_end_moves(name: str) -> None:
    value, after, result = {**UNMASKED, **MASKED}[name]
    func = read(PARAMS, START + STEP.format(value=value, after=after, result=result))
    for target in (CPU, EAGER):
        kernel = kernel_of(func, target)
        for seed in range(2):
            assert_agrees(func, kernel, small_numbers(func, seed))
    assert ("where(" in unwrapped(kernel.source)) == (name in MASKED), kernel.source


BOUNDS = ("0, 11 - t", "0, 10 - t", "t, 11", "t + 1, 11", "1, t + 2", "1, 11 - t", "t, 12 - t", "0, t + 1", "1, 11")
PLACES = ("i", "i", "i + 1", "i - 1", "t", "11 - i", "0")


def table(rng: random.Random) -> PrimFunc:
    """Steps of loops over parts of two tables, which read elements of both and leave some of them."""

    def element(places: tuple[str, ...]) -> str:
        return f"{rng.choice('vw')}[{rng.choice(places)}]"

    lines = [f"for t in range({rng.choice([3, 5, 8])}):"]
    for _ in range(rng.randint(1, 3)):
        lines += [
            f"    for i in range({rng.choice(BOUNDS)}):",
            "        if i > 0:" if rng.random() < 0.3 else "        if i >= 1 and i <= 10:",
            f"            {element(('i', '11 - i'))} = ({element(PLACES)} + {element(PLACES)} * 2 + Z[t]) % 1009",
        ]
    lines += [f"    S[t] = {element(('t', '11 - t', '0', '11', '5'))}", f"Y[0] = {element(('0', '11', '5', '6'))}"]
    return read(PARAMS, START + "\n".join(lines))


@pytest.mark.parametrize("seed", some(range(8), 0.19))
def test_steps_over_parts_of_tables(seed: int) -> None:
    func = table(random.Random(seed))
    assert_agrees(func, kernel_of(func, EAGER), small_numbers(func, seed))
