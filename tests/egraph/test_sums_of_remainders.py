"""Sums of which each step keeps the remainder: added up first, where they stay in range; the remainder comes last."""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules.check.places import Prepared
from egraph_rules.contexts.facts import Priority
from egraph_rules.rules.integer import remainder_of_sum
from ir import to_script
from ir.nodes import PrimFunc
from loopsat import optimize
from texts import read

PARAMS = 'x: T.Buffer((40,), "int32"), P: T.Buffer((41,), "int32"), m: T.int32'


def program(body: str) -> PrimFunc:
    return read(f"def f({PARAMS}):\n{body}")


def applied(func: PrimFunc) -> list[PrimFunc]:
    """The programs that the rule makes of one, each compared with it."""
    found = [each.rewritten for each in Prepared(func).applications(remainder_of_sum, Priority.FACTS)]
    for new in found:
        assert assert_refines(func, new, np.random.default_rng(0)) > 0
    return found


SUMS = {
    "carried along": """
    P[0] = 0
    for i in range(40):
        P[i + 1] = (P[i] + x[i]) % 7""",
    "in one place": """
    P[3] = 0
    for i in range(T.min(m, 40)):
        P[3] = (P[3] + x[i]) % 7""",
    "in one place that holds anything": """
    for i in range(40):
        P[3] = (P[3] - x[i]) % 7""",
    "in one place that keeps what it holds where no iteration runs": """
    for i in range(T.min(m, 40)):
        P[3] = (P[3] + x[i]) % 7""",
    "in a wider type": """
    for i in range(40):
        P[3] = T.cast((T.cast(P[3], "int64") + T.cast(x[i], "int64") - 5) % 100000, "int32")""",
    "over two loops, under a condition": """
    P[3] = 2
    for i in range(5):
        for j in range(8):
            if x[8 * i + j] > 3:
                P[3] = (x[8 * i + j] + P[3]) % 7""",
    "in one place that holds anything, looked at before the first step": """
    for i in range(40):
        x[i] = P[3]
        P[3] = (P[3] + i) % 7""",
    "looked at meanwhile": """
    P[0] = 1
    P[1] = 0
    for i in range(40):
        P[0] = (P[0] + x[i]) % 65521
        x[i] = P[0]""",
}
OTHERS = {
    "what leaves the range": """
    P[3] = 0
    for i in range(40):
        P[3] = (P[3] + x[i]) % 100000000""",
    "as many steps as there may be": """
    P[3] = 0
    for i in range(m):
        P[3] = (P[3] + x[i % 40]) % 7""",
    "a modulus of which nothing is known": """
    P[3] = 0
    for i in range(40):
        P[3] = (P[3] + x[i]) % m""",
    "a negative modulus": """
    P[3] = 0
    for i in range(40):
        P[3] = (P[3] + x[i]) % -7""",
    "another element": """
    P[0] = 0
    for i in range(20):
        P[i + 2] = (P[i] + x[i]) % 7""",
    "a term of the element itself": """
    P[3] = 0
    for i in range(40):
        P[3] = (P[3] + P[3] * x[i]) % 7""",
    "a second store": """
    P[3] = 0
    for i in range(40):
        P[3] = (P[3] + x[i]) % 7
        P[x[i] % 41] = 1""",
}


LOOKED_AT = """
    P[3] = 100
    for i in range(40):
        x[i] = P[3]
        P[3] = (P[3] + i) % 7"""


def test_what_is_no_remainder_yet_is_seen_as_it_is_before_the_first_step() -> None:
    func = program(LOOKED_AT)
    applied(func)
    assert assert_refines(func, optimize(func, "gpu").best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize("name", SUMS)
def test_remainders_are_added_up(name: str) -> None:
    found = applied(program(SUMS[name]))
    assert found
    assert all("total" in to_script(new) for new in found)


@pytest.mark.parametrize("name", OTHERS)
def test_other_sums_are_left_alone(name: str) -> None:
    assert not applied(program(OTHERS[name]))


def test_the_search_takes_sums_that_need_not_be_in_turn() -> None:
    func = program(SUMS["carried along"])
    assert any("remainder_of_sum" in line for line in optimize(func, "gpu").report.reasons())
