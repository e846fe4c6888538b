"""Passes over array programs, each alone: dead code, re-rolling, padding, planes, and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from lower.emission.scope import Names
from lower.program.adjacent_rows import rows_at_once
from lower.program.build import as_expr, dotted, statements
from lower.program.constant_tables import with_tables
from lower.program.dead_code import without_dead_code
from lower.program.masked_stores import as_one_choice
from lower.program.narrowing import narrowed
from lower.program.nodes import Function, JaxStmt, Name, Return, Tuple
from lower.program.padding import padded_once, padded_outside
from lower.program.print_jax import print_jax
from lower.program.registers import Step, in_registers
from lower.program.rerolling import folded
from lower.program.shared_planes import sharing_planes
from lower.program.window_starts import in_one_dtype
from profiles import some


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


X_AND_Y = "x = kept(jnp.pad(a, ((0, 1), (0, 0))))\n{}y = kept(jnp.pad(a, ((2, 0), (0, 3))))\n"
JOINT = "x = kept(jnp.pad(a, ((2, 1), (0, 3))))"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("z = x[1:] + y[:9, 3:]", "z = x[3:, :-3] + x[:9, 3:]"),
        ("z = x[1:7:2, 4] + y[0, 4]", "z = x[3:9:2, 4] + x[0, 4]"),
        ("z = x[i, ::-1] + y[1, 3:]", "z = x[2:, :-3][i, ::-1] + x[1, 3:]"),
        ("def f(k):\n    return x[k] + y[-2:, 3:]", "def f(k):\n    return x[2:, :-3][k] + x[:-1][-2:, 3:]"),
    ],
)
def test_copies_of_an_array_that_are_padded_on_other_sides_are_one(line: str, found: str) -> None:
    assert "\n".join(print_jax(padded_once(statements(X_AND_Y.format("") + line)))).rstrip() == f"{JOINT}\n{found}"
    a = np.arange(90.0).reshape(9, 10)
    given = {"a": a, "jnp": np, "kept": lambda x: x, "i": 3}
    results = []
    for text in (X_AND_Y.format("") + line, f"{JOINT}\n{found}"):
        namespace = dict(given)
        exec(text, namespace)
        results.append(namespace["f"](5) if "f" in namespace else namespace["z"])
    assert np.array_equal(*results)


@pytest.mark.parametrize(
    "between",
    ["a = a + 1\n", "x = x + 1\n", "for k in r:\n    a = a * 2\n"],
)
def test_copies_of_what_is_another_array_meanwhile_are_two(between: str) -> None:
    text = X_AND_Y.format(between) + "z = x[1:] + y[:9, 3:]"
    assert "\n".join(print_jax(padded_once(statements(text)))) == text


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


ROWS = {
    "upward": (
        [
            "y = lax.dynamic_update_slice(y, f(y[i]).reshape(1, 4), (i, 0))",
            "y = lax.dynamic_update_slice(y, f(y[i + 1]).reshape(1, 4), (i + 1, 0))",
        ],
        "(f(y[i]).reshape(1, 4), f(y[i + 1]).reshape(1, 4))), (i, 0))",
    ),
    "downward": (
        [
            "y = lax.dynamic_update_slice(y, t.reshape(1, 4), (i, 0))",
            "y = lax.dynamic_update_slice(y, y[i + 1].reshape(1, 4), (i - 1, 0))",
        ],
        "(y[i + 1].reshape(1, 4), t.reshape(1, 4))), (i - 1, 0))",
    ),
    "apart": (
        [
            "y = lax.dynamic_update_slice(y, t.reshape(1, 4), (i, 0))",
            "y = lax.dynamic_update_slice(y, t.reshape(1, 4), (i + 2, 0))",
        ],
        None,
    ),
    "of which the second reads the first": (
        [
            "y = lax.dynamic_update_slice(y, t.reshape(1, 4), (i, 0))",
            "y = lax.dynamic_update_slice(y, y[i].reshape(1, 4), (i + 1, 0))",
        ],
        None,
    ),
    "of which the second may read the first": (
        [
            "y = lax.dynamic_update_slice(y, t.reshape(1, 4), (i, 0))",
            "y = lax.dynamic_update_slice(y, y[k].reshape(1, 4), (i + 1, 0))",
        ],
        None,
    ),
    "parts of them": (
        [
            "y = lax.dynamic_update_slice(y, t.reshape(1, 3), (i, 1))",
            "y = lax.dynamic_update_slice(y, t.reshape(1, 3), (i + 1, 1))",
        ],
        "(t.reshape(1, 3), t.reshape(1, 3))), (i, 1))",
    ),
    "columns": (
        [
            "y = lax.dynamic_update_slice(y, y[:, i, 3].reshape(4, 1, 1), (0, i + 1, 0))",
            "y = lax.dynamic_update_slice(y, t.reshape(4, 1, 1), (0, i + 1, 1))",
        ],
        "(y[:, i, 3].reshape(4, 1, 1), t.reshape(4, 1, 1)), axis=2), (0, i + 1, 0))",
    ),
    "of other columns": (
        [
            "y = lax.dynamic_update_slice(y, t.reshape(4, 1), (0, i))",
            "y = lax.dynamic_update_slice(y, t.reshape(3, 1), (0, i + 1))",
        ],
        None,
    ),
    "the third that needs one value": (
        [
            "n = jnp.sqrt(x)",
            "y = lax.dynamic_update_slice(y, (a * n).reshape(1, 4), (i, 0))",
            "y = lax.dynamic_update_slice(y, (b * n).reshape(1, 4), (i + 1, 0))",
            "y = lax.dynamic_update_slice(y, (c * n).reshape(1, 4), (i + 2, 0))",
        ],
        "y = lax.dynamic_update_slice(y, (c * n).reshape(1, 4), (i + 2, 0))",
    ),
    "columns of which the second reads the first": (
        [
            "y = lax.dynamic_update_slice(y, t.reshape(4, 1), (0, i))",
            "y = lax.dynamic_update_slice(y, y[:, i].reshape(4, 1), (0, i + 1))",
        ],
        None,
    ),
}


@pytest.mark.parametrize(("lines", "found"), ROWS.values(), ids=ROWS)
def test_rows_next_to_each_other_are_stored_at_once(lines: list[str], found: str | None) -> None:
    at_once = print_jax(rows_at_once(statements("\n".join(lines))))
    if found is None:
        assert at_once == lines
    else:
        assert " ".join(line.strip() for line in at_once).replace("( ", "(").replace(", )", ")").endswith(found)


SHAPES = {"a": (8,), "b": (8,), "n": (1,), "y": (8, 4)}
STEPS = {
    "a swap": (["t = a[i]", "a = a.at[i].set(a[k])", "a = a.at[k].set(t)"], 2),
    "a swap of two arrays": (["t = a[i]", "a = a.at[i].set(b[k])", "b = b.at[k].set(t)"], 2),
    "a stack": (["a = a.at[n[0]].set(a[i])", "a = a.at[k].set(i)", "n = n.at[0].set(n[0] + 1)"], 2),
    "a value for two": (["t = a[i] * 2", "a = a.at[k].set(t)", "b = b.at[i].set(t)"], 1),
    "the last place": (["a = a.at[i].set(k - b[n[0]])", "b = b.at[n[0]].set(k)", "n = n.at[0].set(k)"], 2),
    "a count and where it was": (["a = a.at[b[i]].set(k)", "b = b.at[i].add(1)"], 1),
    "the largest": (["t = a[k]", "a = a.at[k].max(i)", "b = b.at[k].set(t)"], 1),
    "read before and after": (["t = a[i]", "a = a.at[i].set(k)", "b = b.at[i].set(a[i] + t)"], 2),
    "apart from a store": (["a = a.at[i].set(a[i + 1])", "b = b.at[i].set(a[i + 1])"], 1),
    "at a place that changes": (["t = a[k]", "a = a.at[k].set(i)", "k = i", "b = b.at[i].set(a[k] - t)"], 2),
    "rows": (["t = y[i]", "y = y.at[i].set(y[k])", "y = y.at[k].set(t)"], 2),
    "one store": (["t = a[i] * a[k]", "a = a.at[i].set(t)"], 0),
    "of what is not stored to": (["a = a.at[i].set(b[i])", "n = n.at[0].set(b[k])"], 0),
    "with a sum": (["t = jnp.sum(a)", "a = a.at[i].set(k)", "b = b.at[k].set(a[i] + t)"], 0),
    "at places that may be arrays": (["a = a.at[j].set(a[i])", "b = b.at[k].set(a[i])"], 0),
}


@pytest.mark.parametrize(("lines", "registers"), some(STEPS.values(), 0.17), ids=STEPS)
def test_what_a_step_reads_of_arrays_it_stores_to_is_in_registers(lines: list[str], registers: int) -> None:
    """And the step does what it did."""
    arrays = frozenset(SHAPES)
    shapes = {name: tuple(map(as_expr, shape)) for name, shape in SHAPES.items()}
    step = Step("i", False, arrays, frozenset(("i", "k")), shapes, dict.fromkeys(SHAPES, dotted("jnp.int32")))
    given = statements("\n".join(lines))
    found = in_registers(given, step, Names(arrays).fresh)
    assert len(found.names) == registers
    for seed in range(3):
        rng = np.random.default_rng(seed)
        known = {name: rng.integers(0, 8, shape).astype(np.int32) for name, shape in SHAPES.items()}
        known |= {"i": np.int32(rng.integers(0, 7)), "k": np.int32(rng.integers(0, 7)), "j": np.arange(3)}
        empty = {n: np.zeros((1, 4) if n.startswith("y") else 1, np.int32) for n in found.names}
        want, have = ran(given, known), ran(found.body, known | empty)
        for name in SHAPES:
            np.testing.assert_array_equal(have[name], want[name], err_msg="\n".join(print_jax(found.body)))


def ran(body: Sequence[JaxStmt], known: Mapping[str, Any]) -> dict[str, Any]:
    """What names have as values after statements."""
    result = Return(Tuple(tuple(map(Name, SHAPES))))
    scope = {"jnp": jnp, "lax": lax, **{n: jnp.asarray(v) for n, v in known.items()}}
    lines = print_jax((*body, result))
    names = ", ".join(known)
    exec(f"def f({names}):\n" + "\n".join(f"    {line}" for line in lines), scope)
    return dict(zip(SHAPES, scope["f"](*(scope[n] for n in known)), strict=True))


def test_places_of_windows_have_one_dtype() -> None:
    lines = (
        "y = lax.dynamic_slice(x, (0, n - 1), (2, 2))",
        "x = lax.dynamic_update_slice(x, lax.dynamic_slice(y, (0, 1), (2, 2)), (k, 0))",
        "z = lax.dynamic_slice(z, (n,), (3,))",
    )
    text = print_jax(in_one_dtype(Function("f", (), statements("\n".join(lines)))).body)
    assert text == [
        "y = lax.dynamic_slice(x, (jnp.int64(0), jnp.int64(n - 1)), (2, 2))",
        "x = lax.dynamic_update_slice(x, lax.dynamic_slice(y, (0, 1), (2, 2)), (jnp.int64(k), jnp.int64(0)))",
        "z = lax.dynamic_slice(z, (n,), (3,))",
    ]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("x = x.at[:4].add(x[4:8])\nreturn x[1]", "x = x[:4] + x[4:8]\nreturn x[1]"),
        ("x = x.at[:4].max(y)\nreturn x[:2]", "x = jnp.maximum(x[:4], y)\nreturn x[:2]"),
        ("x = x.at[:, :4].add(y)\nreturn x[5, :2]", "x = x[:, :4] + y\nreturn x[5, :2]"),
        (
            "x = x.at[:4].add(x[4:8])\nx = x.at[:2].add(x[2:4])\nreturn x[0]",
            "x = x[:4] + x[4:8]\nx = x[:2] + x[2:4]\nreturn x[0]",
        ),
        ("x = x.at[:4].add(y)\nreturn x", None),
        ("x = x.at[:4].add(y)\nreturn x[:5]", None),
        ("x = x.at[:4].add(y)\nreturn x[2:]", None),
        ("x = x.at[:4].add(y)\nreturn x[-1]", None),
        ("x = x.at[1:4].add(y)\nreturn x[2]", None),
        ("x = x.at[:4].set(y)\nreturn x[2]", None),
        ("x = x.at[:4].add(y)\nx = x.at[5].add(1.0)\nreturn x[2]", None),
        ("x = x.at[:4].add(y)\nz = f(x)\nreturn x[2]", None),
    ],
)
def test_updates_of_all_that_is_looked_at_are_arrays_of_their_own(lines: str, found: str | None) -> None:
    got = "\n".join(print_jax(narrowed(statements(lines))))
    assert got == (lines if found is None else found)


_ANGLES = """a = jnp.arange(200)
b = jnp.arange(16)
c = a * 0.5
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "return (x * jnp.sin(c),)",
            """def tables():
    a = jnp.arange(200)
    c = a * 0.5
    return jnp.sin(c)
table = once(tables)
return (x * table,)""",
        ),
        (  # what is made of one is one, also in a step, and what is met twice is one
            """d = jnp.exp(c)
def step(k, x):
    return x + (d[:, None] - b)[:, k] + (d[:, None] - b)
return (lax.fori_loop(0, 3, step, x), d * x)""",
            """def tables():
    a = jnp.arange(200)
    b = jnp.arange(16)
    c = a * 0.5
    d = jnp.exp(c)
    return d[:, None] - b, d
table, d = once(tables)
def step(k, x):
    return x + table[:, k] + table
return lax.fori_loop(0, 3, step, x), d * x""",
        ),
        ("return (x * jnp.sin(b),)", None),  # too few
        ("return (x * (c + 1.0),)", None),  # no function that is dear
        ("return (jnp.sin(c * x),)", None),
        ("c = c + x\nreturn (x * jnp.sin(c),)", None),  # two values of one name
        ("c = jnp.arange(70000)\nreturn (x * jnp.sin(c),)", None),
        ("def step(c, x):\n    return x + jnp.sin(c)\nreturn (lax.fori_loop(0, 3, step, x),)", None),
        ("return (x * jnp.sin(jnp.arange(n)),)", None),
        ("return (x * jnp.sin(f(a)),)", None),
    ],
)
def test_functions_of_positions_are_tables(lines: str, found: str | None) -> None:
    body = without_dead_code(statements(_ANGLES + lines))
    got = print_jax(without_dead_code(with_tables(body, Names().fresh)))
    assert [*filter(None, got)] == ([*filter(None, print_jax(body))] if found is None else found.split("\n"))
