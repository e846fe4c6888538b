"""Functions that differ in numbers only are searched once for all numbers, unless these matter."""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules.cost.target import CPU
from egraph_rules.modules.program import search_for
from egraph_rules.modules.variants import Pricer
from ir import PrimFunc, parse
from ir.program.abstract import abstract
from ir.program.canonical import canonical
from profiles import some


def stage(body: str, dtype: str, *numbers: float) -> PrimFunc:
    params = f'A: T.Buffer((14,), "{dtype}"), B: T.Buffer((12,), "{dtype}")'
    lines = [f"    {line}" for line in body.format(*numbers).splitlines()]
    return parse(f"@T.prim_func\ndef stage({params}):\n" + "\n".join(lines)).funcs[0]


SUM = "for i in range(12):\n    B[i] = A[i] * {0}\n    if 0 <= i + 1:\n        B[i] = B[i] + {1}"
KNOWN = "for i in range(14):\n    T.assume(A[i] >= {1})\nfor i in range(12):\n    if A[i] >= {0}:\n        B[i] = A[i]"
PLACES = "for i in range(12):\n    B[i] = A[i + 14 - 2 * {0}] + A[{1}]"


@pytest.mark.parametrize(
    ("body", "dtype", "numbers", "searches"),
    some(
        [
            (SUM, "float32", [(3.0, 5.0), (0.3, 7.0), (3.5, 6.0), (6.0, 7.0)], 2),
            (SUM, "int32", [(3, 5), (3, 7), (5, 6), (6, 7)], 2),
            (SUM, "float32", [(3.0, 5.0), (5.0, 3.0), (-3.0, 5.0), (3.0, 3.0), (4.0, 5.0), (1.0, 5.0)], 6),
            (KNOWN, "float32", [(3.0, 5.0), (3.0, 7.0), (5.0, 7.0)], 4),
            (PLACES, "int32", [(6, 5), (7, 9)], 2),
        ],
        0.2,
    ),
)
def test_searches_are_shared_where_numbers_do_not_matter(
    body: str, dtype: str, numbers: list[tuple[float, ...]], searches: int
) -> None:
    def search(func: PrimFunc) -> tuple[PrimFunc, float]:
        found = search_for(CPU)(func)
        return found.best, found.variants[0][1]

    pricer, rng = Pricer(search, CPU), np.random.default_rng(0)
    for given in numbers:
        func = stage(body, dtype, *given)
        best, price = pricer.best(func)
        assert price <= search(func)[1]
        assert_refines(func, best, rng)
    assert pricer.searches == searches


def test_numbers_come_back() -> None:
    func = canonical(stage(SUM, "int32", 3, 5)).func
    form = abstract(func)
    assert form is not None and len(form.func.params) == 4
    assert form.back(form.func) == func
    form = abstract(canonical(stage("for i in range(8):\n        B[i] = A[i] + {0} - {1}", "int32", -3, -5)).func)
    assert form is not None and "- 3 + 5" in str(form.back(form.func))
    assert abstract(canonical(stage(SUM, "int32", 1, 2)).func) is None


WEIGHTS = """
@T.prim_func
def layer(A: T.Buffer((6,), "float32"), W: T.Buffer((3, 2, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for i in range(6):
        B[{row}, i] = A[i] * W[{layer}, {half}, i] + W[{layer}, 0, 5]
"""


def test_slices_of_parameters_are_equal_wherever_they_lie() -> None:
    def layer(row: str, layer: str, half: str) -> PrimFunc:
        return parse(WEIGHTS.format(row=row, layer=layer, half=half)).funcs[0]

    rng = np.random.default_rng(0)
    first, second = (canonical(layer(*at)) for at in (("3", "2", "1"), ("0", "1", "1")))
    assert first.func == second.func  # `W[layer]` of it, of which both halves are read
    assert [len(b.shape) for b in first.func.buffers] == [1, 2, 1]
    for form, at in ((first, ("3", "2", "1")), (second, ("0", "1", "1"))):
        assert_refines(layer(*at), form.back(form.func, "layer"), rng)
    assert canonical(layer("3", "2", "0")).func != first.func
    assert [len(b.shape) for b in canonical(layer("i // 2", "i // 6", "1")).func.buffers] == [1, 3, 2]
