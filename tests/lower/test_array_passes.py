"""Passes over array programs, each alone: dead code, re-rolling and stores under masks.

Register rotation has a file of its own.
"""

from __future__ import annotations

import pytest

from lower.emission.scope import Names
from lower.program.build import statements
from lower.program.dead_code import without_dead_code
from lower.program.masked_stores import as_one_choice
from lower.program.print_jax import print_jax
from lower.program.rerolling import folded


@pytest.mark.parametrize(
    ("bodies", "ranges", "lines"),
    [
        (
            [["f(3, x[3:])"], ["f(5, x[5:])"]],
            [(0, 3), (3, 5)],
            ["for stop in (3, 5):", "    f(stop, x[stop:])"],
        ),
        (
            [["a - 10", "b(7)"], ["a - 20", "b(9)"], ["a - 30", "b(4)"]],
            [(1, 2), (2, 3), (3, 4)],
            ["for stop, size in ((2, 7), (3, 9), (4, 4)):", "    a - (10 * stop - 10)", "    b(size)"],
        ),
        (
            [["f(1)", "stop = 0.5"], ["f(2)", "stop = 0.5"], ["g(3)", "stop = 0.5"]],
            [(0, 1), (1, 2), (2, 3)],
            ["for stop_2 in (1, 2):", "    f(stop_2)", "    stop = 0.5", "g(3)", "stop = 0.5"],
        ),
        (
            [["x = lambda stop: stop + 1"], ["x = lambda stop: stop + 2"]],
            [(0, 1), (1, 2)],
            ["for stop_2 in (1, 2):", "    x = lambda stop: stop + stop_2"],
        ),
        ([["f(x[1], True)"], ["f(x[2], True)"]], [(5, 6), (6, 7)], ["for stop in (6, 7):", "    f(x[stop - 5], True)"]),
        ([[], [], ["f(1)"], ["f(1)"]], [(3, 4), (4, 5), (5, 6), (6, 7)], None),
        ([["f(int32, 1e-05, 0.5)"], ["f(int32, 1e-05, 0.25)"]], [(0, 1), (1, 2)], None),
    ],
)
def test_bodies_that_differ_in_numbers_are_one_loop(
    bodies: list[list[str]], ranges: list[tuple[int, int]], lines: list[str] | None
) -> None:
    expected = [line for body in bodies for line in body] if lines is None else lines
    found = folded([statements("\n".join(body)) for body in bodies], ranges, Names().fresh)
    assert print_jax(found) == expected


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param("a = f(x)\nb = g(x)\nreturn b", "b = g(x)\nreturn b", id="nobody reads it"),
        pytest.param("a = f(x)\na = g(x)\nreturn a", "a = g(x)\nreturn a", id="overwritten"),
        pytest.param("a = f(x)\na = g(a)\nreturn a", "a = f(x)\na = g(a)\nreturn a", id="read by what overwrites it"),
        pytest.param("a, b = f(x)\nreturn b", "a, b = f(x)\nreturn b", id="one of two is read"),
        pytest.param("a = f(x)\nb = lambda a: a\nreturn b", "b = lambda a: a\nreturn b", id="a parameter of that name"),
        pytest.param(
            "a = f(x)\ndef g(y):\n    b = a\n    return a + y\nreturn g(x)",
            "a = f(x)\ndef g(y):\n    return a + y\n\nreturn g(x)",
            id="inside of a function",
        ),
        pytest.param("def g(y):\n    return y\nreturn x", "return x", id="a function"),
        pytest.param(
            "y = 1.0\nfor stop in (3, 5):\n    z = f(stop)\n    x = g(x, y, stop)\nreturn x",
            "y = 1.0\nfor stop in (3, 5):\n    x = g(x, y, stop)\nreturn x",
            id="inside of a loop",
        ),
        pytest.param(
            "for stop in (3, 5):\n    x = g(x, y)\n    y = stop\nreturn x",
            "for stop in (3, 5):\n    x = g(x, y)\n    y = stop\nreturn x",
            id="read by the next iteration",
        ),
    ],
)
def test_what_nobody_reads_goes(body: str, kept: str) -> None:
    assert print_jax(without_dead_code(statements(body))) == kept.split("\n")


FIRST = "X = X.at[0, 1:].set(jnp.where(m, a, X[0, 1:]))"
SECOND = "X = X.at[0, 1:].set(jnp.where(n, b, X[0, 1:]))"
BOTH = "X = X.at[0, 1:].set(jnp.where(n, b, jnp.where(m, a, X[0, 1:])))"


@pytest.mark.parametrize(
    ("between", "left"),
    [
        ("", ""),
        ("X = X.at[1, 1:].set(jnp.where(m, c, X[1, 1:]))", ""),
        ("n = f(m)", ""),
        ("X = X.at[0, 2:].set(jnp.where(m, c, X[0, 2:]))", FIRST),
        ("Y = f(X)", FIRST),
        ("a = f(b)", FIRST),
        ("m = f(n)", FIRST),
    ],
)
def test_stores_under_masks_to_one_part_are_a_choice(between: str, left: str) -> None:
    lines = [line for line in (left, between, SECOND if left else BOTH) if line]
    body = statements("\n".join(line for line in (FIRST, between, SECOND) if line))
    assert print_jax(as_one_choice(body)) == lines


def test_a_choice_that_is_nested_itself_keeps_all_of_its_values() -> None:
    nested = "X = X.at[0, 1:].set(jnp.where(n, b, jnp.where(k, c, X[0, 1:])))"
    both = "X = X.at[0, 1:].set(jnp.where(n, b, jnp.where(k, c, jnp.where(m, a, X[0, 1:]))))"
    assert print_jax(as_one_choice(statements(f"{FIRST}\n{nested}"))) == [both]
