"""Passes over array programs, each alone: dead code, re-rolling, padding, planes, and stores.

Register rotation has a file of its own.
"""

from __future__ import annotations

import pytest

from lower.emission.scope import Names
from lower.program.build import as_expr, statements
from lower.program.dead_code import without_dead_code
from lower.program.masked_stores import as_one_choice
from lower.program.outer_padding import padded_outside
from lower.program.print_jax import print_jax
from lower.program.read_back import read_back
from lower.program.rerolling import folded
from lower.program.shared_planes import sharing_planes
from lower.program.stores_in_turn import in_turn


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
        ("X = X.at[-1, 1:].set(jnp.where(m, c, X[-1, 1:]))", FIRST),
        ("X = X.at[:-1, 1:].set(jnp.where(m, c, X[:-1, 1:]))", FIRST),
        ("X = X.at[3::-1, 1:].set(jnp.where(m, c, X[3::-1, 1:]))", FIRST),
        ("X = X.at[3::2, 1:].set(jnp.where(m, c, X[3::2, 1:]))", ""),
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


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["t = x[i]", "x = x.at[i].set(x[k])", "x = x.at[k].set(t)"], "stored_in_turn(x, ((i,), (k,)), (x[k], t))"),
        (["x = x.at[i].set(x[k])", "x = x.at[i + 1].set(x[i + 2])"], "stored_at_once(x, i, (x[k], x[i + 2]))"),
        (["x = x.at[i].set(x[k])", "x = x.at[i - 1].set(x[i + 2])"], "stored_at_once(x, i - 1, (x[i + 2], x[k]))"),
        (["x = x.at[i].set(x[k])", "x = x.at[i - 2].set(t)"], "stored_in_turn(x, ((i,), (i - 2,)), (x[k], t))"),
        (  # outside in the last step
            ["x = x.at[i + 1].set(x[k])", "x = x.at[i + 2].set(t)"],
            "stored_in_turn(x, ((i + 1,), (i + 2,)), (x[k], t))",
        ),
        (["y = y.at[i].set(y[i + 1])", "y = y.at[i + 1].set(y[i + 2])"], "stored_at_once(y, i, (y[i + 1], y[i + 2]))"),
        (
            ["y = lax.dynamic_update_slice(y, y[k].reshape(1, 4), (i, 0))", "y = y.at[k].set(t)"],
            "stored_in_turn(y, ((i,), (k,)), (y[k], t))",
        ),
        (["y = y.at[i, k].set(y[k, i])", "y = y.at[k, i].set(t)"], "stored_in_turn(y, ((i, k), (k, i)), (y[k, i], t))"),
        (["j = x[i]", "x = x.at[i].set(k)", "x = x.at[j].set(i)"], "stored_in_turn(x, ((i,), (j,)), (k, i))"),
        pytest.param(["x = x.at[i].set(x[k])", "x = x.at[k].set(x[i])"], None, id="read of what was stored"),
        pytest.param(["x = x.at[i].set(t)", "x = x.at[k].set(i)"], None, id="nothing is read"),
        pytest.param(["x = x.at[i].set(x[k])", "x = x.at[j].set(t)"], None, id="places that may be arrays"),
        pytest.param(["x = x.at[i].set(x[k])", "t = jnp.sum(x)", "x = x.at[k].set(t)"], None, id="a sum between"),
        pytest.param(["x = x.at[i].set(x[k])", "x = x.at[k].set(jnp.sum(x))"], None, id="a sum of it"),
        pytest.param(["x = x.at[i].set(x[k])", "k = i", "x = x.at[k].set(t)"], None, id="a name that changes between"),
        pytest.param(["y = y.at[i].set(y[k])", "y = y.at[k, i].set(t)"], None, id="a row and an element"),
        pytest.param(["z = z.at[i].set(z[k])", "z = z.at[k].set(i)"], None, id="copies of which cost less than steps"),
        pytest.param(["x = x.at[i].set(k)", "j = i + k", "x = x.at[j].set(i)"], None, id="a place named between"),
        pytest.param(
            ["y = lax.dynamic_update_slice(y, y[k].reshape(1, 3), (i, 0))", "y = y.at[k].set(t)"],
            None,
            id="part of a row",
        ),
    ],
)
def test_stores_of_a_step_in_turn(lines: list[str], found: str | None) -> None:
    shapes = {"x": (as_expr(90),), "y": (as_expr(90), as_expr(4)), "z": (as_expr(7),)}
    steps = "i", as_expr(1), as_expr(89)
    body = print_jax(in_turn(statements("\n".join(lines)), ["x", "y", "z"], frozenset(("i", "k")), shapes, steps))
    array = lines[-1][0]
    kept = [line for line in lines if not line.startswith(f"{array} = ")]
    assert body == (lines if found is None else [*kept, f"{array} = {found}"])


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("y = jnp.where(jnp.pad(m, w), jnp.pad(x, w), 0.0)", "y = jnp.pad(jnp.where(m, x, 0.0), w)"),
        (
            "y = jnp.where(jnp.pad(m, w), jnp.pad(x, w, constant_values=1), -jnp.inf)",
            "y = jnp.pad(jnp.where(m, x, -jnp.inf), w, constant_values=-jnp.inf)",
        ),
        ("y = jnp.where(jnp.pad(m, w, constant_values=True), jnp.pad(x, w), 0.0)", None),
        ("y = jnp.where(jnp.pad(m, w), jnp.pad(x, v), 0.0)", None),
        ("y = jnp.where(jnp.pad(m, w), jnp.pad(x, w), z)", None),
    ],
)
def test_choices_of_padded_operands_are_padded(line: str, found: str | None) -> None:
    assert print_jax(padded_outside(statements(line))) == [found or line]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("u = u.at[k].set(u[i, 1:] + u[i, :4])", ["plane = u[i]", "u = u.at[k].set(plane[1:] + plane[:4])"]),
        ("u = u.at[k].set(u[i, 1:] + u[k, :4])", None),  # parts of two
        ("u = u.at[k].set(u[2, 1:] + u[2, :4])", None),  # XLA knows where
        ("u = u.at[k].set(u[i, 3:] + u[i, :2])", None),  # small parts
        ("u = u.at[k].set(u[i, j:] + u[i, :4])", None),
        ("v = u[i, 1:] + u[i, :4]", None),  # the step does not store to it
        ("y = y.at[k].set(y[i, 1:] + y[i, :4])", None),  # a row
    ],
)
def test_parts_of_one_plane(line: str, found: list[str] | None) -> None:
    shapes = {"y": (as_expr(9), as_expr(5)), "u": (as_expr(2), as_expr(5), as_expr(5))}
    body = sharing_planes(statements(line), frozenset(("i", "k")), shapes, lambda wish: wish.removeprefix("u_"))
    assert print_jax(body) == (found or [line])


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            ["t = a[i]", "a = a.at[i].set(b[k])", "b = b.at[k].set(t)"],
            ["t = a[i]", "a, b = all_stored_in_turn((a, b), (((i,),), ((k,),)), ((b[k],), (t,)))"],
        ),
        (  # a small array is copied, unless it is moved behind another one
            ["a = a.at[n[0]].set(t)", "n = n.at[0].set(n[0] + 1)"],
            ["a = a.at[n[0]].set(t)", "n = n.at[0].set(n[0] + 1)"],
        ),
        (
            ["a = a.at[n[0]].set(a[i])", "a = a.at[k].set(t)", "n = n.at[0].set(n[0] + 1)"],
            ["a, n = all_stored_in_turn((a, n), (((n[0],), (k,)), ((0,),)), ((a[i], t), (n[0] + 1,)))"],
        ),
        (  # what was stored is read
            ["a = a.at[i].set(b[k])", "b = b.at[k].set(a[i])"],
            ["a = a.at[i].set(b[k])", "b = b.at[k].set(a[i])"],
        ),
        (  # a sum is worked out once
            ["t = jnp.sum(a)", "a = a.at[i].set(k)", "b = b.at[k].set(t)"],
            ["t = jnp.sum(a)", "a = a.at[i].set(k)", "b = b.at[k].set(t)"],
        ),
        (  # an array that is new as a whole is read of all the same
            ["a = jnp.where(m, a, b)", "a = a.at[i].set(k)", "b = b.at[k].set(a[i + 1])"],
            ["a = jnp.where(m, a, b)", "a, b = all_stored_in_turn((a, b), (((i,),), ((k,),)), ((k,), (a[i + 1],)))"],
        ),
    ],
)
def test_stores_of_a_step_to_several_arrays(lines: list[str], found: list[str]) -> None:
    shapes = {"a": (as_expr(300),), "b": (as_expr(300),), "n": (as_expr(1),)}
    steps = "i", as_expr(0), as_expr(99)
    names = frozenset(("i", "k"))
    assert print_jax(in_turn(statements("\n".join(lines)), ["a", "b", "n"], names, shapes, steps)) == found


READ_BACK = {
    "from where it is stored": (
        ["v = a[i] * 2 + x[i]", "a = a.at[i + 1].set(v + 1)", "b = b.at[i].set(v)"],
        ["v = a[i] * 2 + x[i]", "b = b.at[i].set(v)", "a = a.at[i + 1].set(b[i] + 1)"],
    ),
    "what is made of it": (
        ["v = a[i] + 1", "w = v * v", "a = a.at[i + 1].set(w - v)", "b = b.at[i].set(v)", "x = x.at[i].set(w)"],
        [
            "v = a[i] + 1",
            "b = b.at[i].set(v)",
            "w = b[i] * b[i]",
            "x = x.at[i].set(w)",
            "a = a.at[i + 1].set(x[i] - b[i])",
        ],
    ),
    "not what reads nothing that is stored to": (["v = y[i] * 2", "a = a.at[i].set(v)", "b = b.at[i].set(v)"], None),
    "not from a place that may be outside": (
        ["v = a[i] * 2", "a = a.at[i + 1].set(v + 1)", "b = b.at[i + 2].set(v)"],
        None,
    ),
    "not before what is stored is read": (
        ["v = a[i] * 2", "w = b[i] - v", "a = a.at[i + 1].set(w)", "b = b.at[i].set(v)"],
        None,
    ),
    "not from what is stored to once more": (
        ["v = a[i] * 2", "b = b.at[i].set(v)", "b = b.at[i].set(b[i] + 1)", "a = a.at[i + 1].set(v)"],
        None,
    ),
    "not a name that is bound again": (["v = a[i]", "b = b.at[i].set(v)", "v = v + 1", "a = a.at[i + 1].set(v)"], None),
    "not what a function reads": (
        ["v = a[i]", "b = b.at[i].set(v)", "def f(u):\n    return u + v\n", "a = a.at[i + 1].set(f(x[i]))"],
        None,
    ),
}


@pytest.mark.parametrize(("body", "found"), READ_BACK.values(), ids=READ_BACK)
def test_values_are_read_back_from_where_they_are_stored(body: list[str], found: list[str] | None) -> None:
    shapes = dict.fromkeys(("a", "b", "x", "y"), (as_expr(11),))
    given = statements("\n".join(body))
    steps = ("i", as_expr(0), as_expr(10))
    result = print_jax(read_back(given, ["a", "b", "x"], frozenset("i"), shapes, steps))
    assert result == (print_jax(given) if found is None else found)
