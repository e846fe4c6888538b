"""Random sums and maxima over several axes of what is read along them in any order, under conditions on them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowered import assert_agrees, kernel_of, read, small_numbers
from profiles import few

EXTENTS = {"i": 3, "j": 4, "k": 5, "l": 3}


@st.composite
def reductions(draw: st.DrawFn) -> tuple[str, str]:
    """The parameters and the body of a function that combines a value along some of its loops."""
    axes = draw(st.permutations("ijkl"))[: draw(st.integers(2, 4))]
    kept = axes[: draw(st.integers(0, len(axes) - 1))]
    dtype, zero = draw(st.sampled_from([("int32", "0"), ("float32", "0.0")]))
    params, loads = list[str](), list[str]()
    for name in "ABC"[: draw(st.integers(1, 3))]:
        own = draw(st.permutations(axes))[: draw(st.integers(1, len(axes)))]
        step, first = draw(st.sampled_from([1, 1, 2])), draw(st.sampled_from([0, 0, 1]))
        shape = "".join(f"{EXTENTS[a] * step + first}, " for a in own)
        params.append(f'{name}: T.Buffer(({shape}), "{dtype}")')
        loads.append(f"{name}[{', '.join(f'{a} * {step} + {first}' for a in own)}]")
        smaller = [[b for b in axes if EXTENTS[b] <= EXTENTS[a]] for a in own]
        loads.append(f"{name}[{', '.join(draw(st.sampled_from(s)) for s in smaller)}]")
    load = st.sampled_from(loads)

    def value(depth: int) -> str:
        form = draw(st.sampled_from(["{0}", "{0} * {1}", "T.abs({0} - {1})", "T.max({0}, {1})", "{0} + {1}"]))
        parts = [value(depth - 1) if depth else draw(load) for _ in range(form.count("{"))]
        return f"({form.format(*parts)})"

    def condition() -> str:
        if draw(st.booleans()):
            return draw(st.sampled_from(["{0} > {1}", "{0} + {1} < 4"])).format(*draw(st.permutations(axes)))
        return f"{draw(load)} {draw(st.sampled_from(['==', '>']))} {draw(load)}"

    conditions = [condition() for _ in range(draw(st.integers(0, 2)))]
    place = ", ".join(kept) or "0"
    params.append(f'R: T.Buffer(({"".join(f"{EXTENTS[a]}, " for a in kept) or "1, "}), "{dtype}")')
    update = draw(st.sampled_from(["R[{0}] + {1}", "T.max(R[{0}], {1})"])).format(place, value(1))
    lines, inward = list[str](), ""

    def nested(*new: str) -> None:
        nonlocal inward
        for line in new:
            lines.append(f"{inward}{line}:")
            inward += "    "

    nested(*(f"for {a} in range({EXTENTS[a]})" for a in kept))
    lines.append(f"{inward}R[{place}] = {zero}")
    nested(*(f"for {a} in range({EXTENTS[a]})" for a in axes if a not in kept), *(f"if {c}" for c in conditions))
    lines.append(f"{inward}R[{place}] = {update}")
    return ", ".join(params), "\n".join(lines)


def check(program: tuple[str, str], seed: int) -> None:
    func = read(*program)
    inputs: dict[str, Any] = small_numbers(func, seed)
    assert_agrees(func, kernel_of(func), inputs, 1e-4)


@few(10)
@given(reductions(), st.integers(0, 9))
def test_sums_agree_with_the_interpreter(program: tuple[str, str], seed: int) -> None:
    check(program, seed)


@pytest.mark.fuzz
@settings(max_examples=2000)
@given(reductions(), st.integers(0, 9))
def test_many_sums(program: tuple[str, str], seed: int) -> None:
    check(program, seed)


def test_values_read_along_the_same_axes_in_other_orders() -> None:
    params = 'G: T.Buffer((5, 9, 9), "int32"), R: T.Buffer((5,), "int32")'
    body = """
for g in range(5):
    R[g] = 0
    for r, c, k in T.grid(3, 3, 9):
        if k > r * 3 + 1 and G[g, k, c * 3 + 1] == G[g, r * 3 + 1, c * 3 + 1]:
            R[g] = R[g] + 1
"""
    check((params, body.strip("\n")), 0)
