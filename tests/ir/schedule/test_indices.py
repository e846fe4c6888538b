"""Tidied index expressions equal what they were, and look as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import parse_expr, to_script
from ir.dtypes import DType
from ir.nodes import Binary, Expr, Var, const
from ir.presburger import sets as pb
from ir.presburger.indices import Tidy

NAMES = ("io", "ii", "f", "n")
VARS = {name: Var(name, DType.INT32) for name in NAMES}
SPANS = {"io": (0, 4), "ii": (0, 4), "f": (-1, 4)}


def tidied(expr: Expr) -> Expr:
    return Tidy([VARS["io"], VARS["ii"], VARS["f"]], frozenset(VARS.values())).expr(expr, known())


def known():
    holds = pb.always()
    for name, (low, count) in SPANS.items():
        domain = pb.loop_domain(VARS[name], const(low, DType.INT32), const(count, DType.INT32))
        holds = holds.intersect(domain.must)
    return holds


FORMS = {
    "(4 * io + ii + f) // 4": "io + (ii + f) // 4",
    "(4 * io + ii - f) % 4": "(ii - f) % 4",
    "(4 * io + ii) // 4": "io",
    "(4 * io + ii) % 4": "ii",
    "4 * ((io + f) // 4) + (io + f) % 4": "io + f",
    "n + 8 * io - 2 + ii": "n + 8 * io + ii - 2",
    "(io + 5) // 4": "(io + 1) // 4 + 1",
    "io // 2 // 3": "0",
    "n // 2 // 3": "n // 6",
    "3 - io - ii": "3 - io - ii",
    "(8 * n + 4 * io + ii) // 4 % 2": "io % 2",
    "T.min(io * 4 // 4, n)": "T.min(io, n)",
    "io * n": "io * n",
}


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str):
    dtypes = dict.fromkeys(NAMES, "int32")
    assert to_script(tidied(parse_expr(text, dtypes))) == FORMS[text]


@st.composite
def sums(draw: st.DrawFn, depth: int = 4) -> Expr:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(
            st.one_of(st.sampled_from(list(VARS.values())), st.integers(-9, 9).map(lambda v: const(v, DType.INT32)))
        )
    op = draw(st.sampled_from(("add", "sub", "mul", "floordiv", "floormod", "min")))
    left = draw(sums(depth - 1))
    if op in ("mul", "floordiv", "floormod"):
        return Binary(
            op, left, const(draw(st.sampled_from((1, 2, 3, 4, 8) if op != "mul" else (-2, 0, 1, 3, 4))), DType.INT32)
        )
    return Binary(op, left, draw(sums(depth - 1)))


@given(sums())
def test_random_sums_keep_their_value(expr: Expr):
    found = tidied(expr)
    before, after = pb.affine(expr), pb.affine(found)
    assert before is not None
    assert after is not None
    assert known().is_subset(before.eq_set(after)), f"{to_script(expr)} became {to_script(found)}"
    assert tidied(found).same(tidied(tidied(found)))
