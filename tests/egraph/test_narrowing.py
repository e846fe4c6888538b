"""Operations in a wider float type whose result is rounded: the same in the narrower type, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import Floats, optimize
from ir import to_script
from profiles import some
from texts import read

PARAMS = 'A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")'


def best(body: str, floats: Floats = Floats.STRICT) -> str:
    """The result of a search with few freedoms of floats, after a comparison with the program."""
    func = read(f"def f({PARAMS}):\n    for i in range(32):\n{body}")
    result = optimize(func, floats=floats)
    assert assert_refines(func, result.best, np.random.default_rng(0)) > 0
    return to_script(result.best).split("\n", 2)[2]


NARROW = {
    "a root": '        B[i] = T.cast(T.sqrt(T.cast(A[i] * A[i], "float64")), "float32")',
    "a quotient": '        B[i] = T.cast(T.cast(A[i], "float64") / 3.0, "float32")',
    "a choice": '        B[i] = T.cast(T.if_then_else(i < 5, T.cast(A[i], "float64") * 2.5, 0.5), "float32")',
    "a name with two readers": """
        r = T.sqrt(T.cast(T.abs(A[i]), "float64"))
        B[i] = A[i] + T.cast(r, "float32")
        C[i] = A[i] - T.cast(r, "float32")""",
    "a local": """
        s = T.alloc_buffer((1,), "float64")
        s[0] = T.cast(A[i], "float64") + T.cast(C[i], "float64")
        B[i] = T.cast(s[0], "float32")""",
}
WIDE = {
    "two roundings": '        B[i] = T.cast(T.cast(A[i], "float64") * T.cast(C[i], "float64") + 1.0, "float32")',
    "a number that is none of the narrow type": '        B[i] = T.cast(T.cast(A[i], "float64") * 0.1, "float32")',
    "another reader": """
        r = T.sqrt(T.cast(T.abs(A[i]), "float64"))
        B[i] = T.cast(r, "float32")
        C[i] = T.cast(r * r, "float32")""",
}


@pytest.mark.parametrize("name", some(NARROW, 0.6))
def test_nothing_wide_is_left(name: str) -> None:
    assert "float64" not in best(NARROW[name])


@pytest.mark.parametrize("name", WIDE)
def test_digits_that_count_are_kept(name: str) -> None:
    assert "float64" in best(WIDE[name])


def test_a_narrower_step_on_the_way_is_kept() -> None:
    assert "float16" in best('        B[i] = T.cast(T.cast(A[i], "float16"), "float32")')


FUNCTIONS = {
    "a function": '        B[i] = T.cast(T.exp(T.cast(A[i], "float64")), "float32")',
    "a name": """
        c = T.cos(T.cast(A[i], "float64"))
        B[i] = T.cast(c, "float32")
        C[i] = A[i] * T.cast(c, "float32")""",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_narrow_where_the_policy_lets_them_be_off_in_the_last_place(name: str) -> None:
    assert "float64" not in best(FUNCTIONS[name], Floats.APPROXIMATE)
    assert "float64" in best(FUNCTIONS[name])


def test_functions_of_numbers_that_are_wide_stay_so() -> None:
    assert "float64" in best(
        '        B[i] = T.cast(T.cos(T.cast(A[i], "float64") * 0.1), "float32")', Floats.APPROXIMATE
    )
