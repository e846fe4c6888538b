"""More rules never give a worse result: what one family makes cheaper hides nothing that others need."""

from __future__ import annotations

from pathlib import Path

import programs as texts
import pytest

from egraph_rules import optimize
from egraph_rules.rules import FAMILIES
from ir import PrimFunc, parse, to_script
from profiles import some

FEW_OF_PADDED = """
@T.prim_func
def f(A: T.Buffer((1024,), "float32"), B: T.Buffer((3,), "float32")):
    tmp = T.alloc_buffer((1024,), "float32")
    for i in range(1024):
        if i < 1000:
            tmp[i] = A[i] * 2.0 + 1.0
        else:
            tmp[i] = 0.0
    for i in range(3):
        B[i] = tmp[i]
"""
ZERO_ALREADY = """
@T.prim_func
def f(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        T.assume(B[i] == 0.0)
        T.assume(i < 3 or A[i] == 0.0)
    for i in range(1024):
        if i < 3:
            B[i] = A[i] * 2.0
        else:
            B[i] = 0.0
"""
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
QUICK = ("own_function", "target_choice", "hardware_idiom")
FUNCS: dict[str, PrimFunc] = {
    "few of padded": parse(FEW_OF_PADDED).funcs[0],
    "zero already": parse(ZERO_ALREADY).funcs[0],
    "row sum": parse(texts.ROW_SUM).funcs[0],
    "undef": parse(texts.ELEMENTWISE_UNDEF).funcs[0],
    **{f"{n}: {f.name}": f for n in QUICK for f in parse((EXAMPLES / f"{n}.py").read_text()).funcs},
}


@pytest.mark.parametrize("name", some(FUNCS, 1))
def test_no_family_makes_the_result_dearer(name: str) -> None:
    result = optimize(FUNCS[name])
    cost = result.variants[0][1]
    for family in sorted({rule.partition(".")[0] for rule in result.report.matches} & FAMILIES.keys()):
        assert cost <= optimize(FUNCS[name], without=(family,)).variants[0][1] + 1e-6, family


def test_loops_are_shortened_to_what_somebody_looks_at() -> None:
    best = to_script(optimize(FUNCS["few of padded"]).best)
    assert "1000" not in best and "T.serial(1024)" not in best
    assert "T.serial(3)" in best


def test_a_guard_that_may_become_a_bound_is_tried_where_running_one_arm_everywhere_is_cheaper() -> None:
    assert "T.serial(3)" in to_script(optimize(FUNCS["zero already"]).best)
