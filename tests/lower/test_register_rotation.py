"""Rows that steps hand on: which reads they are, and when a step is left as it is."""

from __future__ import annotations

from itertools import count

import pytest

from lower.program.build import as_expr, statements
from lower.program.print_jax import print_jax, text_of
from lower.program.register_rotation import handed_on


def handed(*lines: str, low: int = 0) -> tuple[list[str], list[str], list[str]]:
    numbers = count()
    body = statements("\n".join(lines))
    found = handed_on(body, ["X"], "k", as_expr(low), lambda wish: f"{wish}_{next(numbers)}")
    return print_jax(found.body), [*map(text_of, found.first)], [*map(text_of, found.then)]


def test_rows_columns_and_elements_of_them() -> None:
    lines, first, then = handed("a = X[k] * X[k, k]", "X = jnp.where(m, X - X[:, k][:, None] * a, X)", low=2)
    assert lines == ["a = X_row_0 * X_row_0[k]", "X = jnp.where(m, X - X_column_1[:, None] * a, X)"]
    assert first == ["X[2]", "X[:, 2]"]
    assert then == ["X[k + 1]", "X[:, k + 1]"]


def test_elements_of_rows_of_several_tables() -> None:
    """Dimensions before that of the step stay before what is left."""
    lines, first, then = handed(
        "a = X[:, k, k]", "X = jnp.where(m, X - X[:, :, k][:, :, None] * X[:, k][:, None] * a, X)"
    )
    assert lines == [
        "a = X_column_0[:, k]",
        "X = jnp.where(m, X - X_column_1[:, :, None] * X_column_0[:, None] * a, X)",
    ]
    assert (first, then) == (["X[:, 0]", "X[:, :, 0]"], ["X[:, k + 1]", "X[:, :, k + 1]"])


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("X = jnp.where(m, X + X[k + 1], X)",), id="another row"),
        pytest.param(("X = jnp.where(m, X + X[k, k], X)",), id="an element alone"),
        pytest.param(("X = jnp.where(m, X + X[k, 2:], X)",), id="a part of a row"),
        pytest.param(("X = jnp.where(m, X + 1.0, X)", "Y = X[k]"), id="a row after the store"),
        pytest.param(("X = X.at[k].set(X[k] + 1.0)",), id="a store to a part"),
        pytest.param(("X = lax.dynamic_update_slice(X, X[k][None], (k, 0))",), id="another store to a part"),
        pytest.param(("y = jnp.sum(X, axis=0)", "X = X + X[k] * y"), id="a sum over all"),
        pytest.param(("X, Y = f(X[k])",), id="with something else"),
        pytest.param(("Y = X[k]",), id="no store"),
        pytest.param(("def f(i):\n    return X[k]", "X = X + f(0)"), id="a function inside"),
    ],
)
def test_other_steps_stay(lines: tuple[str, ...]) -> None:
    stays = [line for line in print_jax(statements("\n".join(lines))) if line]
    lines_found, first, then = handed(*lines)
    assert ([line for line in lines_found if line], first, then) == (stays, [], [])
