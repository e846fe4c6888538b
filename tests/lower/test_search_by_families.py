"""More rules never give a worse result: no family, taken away, leaves a program that is cheaper as it will run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import small_programs
from egraph_rules import optimize
from egraph_rules.rules import FAMILIES
from ir import parse
from ir.nodes import PrimFunc
from lower.price.program import pricing
from profiles import some

PROGRAMS = {f.name: f for f in parse(Path(small_programs.__file__).read_text()).funcs}
NEAR = 1.02  # prices within two hundredths are taken for the same


@cache
def least(name: str) -> float:
    func = PROGRAMS[name]
    price = pricing(func)
    return price(optimize(func, whole=price).best)


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "tensor"])
@pytest.mark.parametrize("name", some(PROGRAMS, 1))
def test_a_family_that_is_taken_away_gives_no_cheaper_program(name: str, family: str) -> None:
    func: PrimFunc = PROGRAMS[name]
    price = pricing(func)
    assert least(name) <= NEAR * price(optimize(func, without=[family], whole=price).best)
