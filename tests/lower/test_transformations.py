"""Emitted functions under JAX's transformations: `vmap`, `grad` and `jit` do what they do to plain jnp functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from egraph_rules import optimize
from ir import parse
from lower import emit
from lowered import read
from profiles import some


def function(params: str, body: str) -> Callable[..., Any]:
    """The optimized and emitted function of a kernel."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    func = parse(f"@T.prim_func\ndef f({params}):\n{lines}\n").funcs[0]
    names: dict[str, Any] = {}
    exec(emit(optimize(func).best), names)
    return names["f"]


def array(name: str, *shape: int) -> str:
    return f'{name}: T.Buffer({shape}, "float32")'


def sines(a: jax.Array) -> jax.Array:
    b = jnp.float32(0.5)
    for i in range(6):
        for j in range(i + 1):
            b = jnp.sin(b * a[i, j] + a[i, i])
    return b[None]


PAD = jnp.arange(16).reshape(4, 4) < 14

KERNELS: Mapping[str, tuple[str, str, tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "product": (
        f"{array('A', 5, 6)}, {array('B', 6, 4)}, {array('C', 5, 4)}",
        """
for i, j in T.grid(5, 4):
    C[i, j] = 0.0
    for k in T.serial(6):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
""",
        ((5, 6), (6, 4)),
        lambda a, b: a @ b,
    ),
    "padded rows": (
        f"{array('A', 3, 4, 4)}, {array('B', 3)}",
        """
for i in T.serial(3):
    B[i] = 0.0
    for jo, ji in T.grid(4, 4):
        if 4 * jo + ji < 14:
            B[i] = B[i] + A[i, jo, ji] * A[i, jo, ji]
""",
        ((3, 4, 4),),
        lambda a: jnp.sum(jnp.where(PAD, a * a, 0.0), axis=(1, 2)),
    ),
    "a loop as long as another one has come": (
        f"{array('A', 6, 6)}, {array('B', 1)}",
        """
B[0] = 0.5
for i in T.serial(6):
    for j in T.serial(i + 1):
        B[0] = T.sin(B[0] * A[i, j] + A[i, i])
""",
        ((6, 6),),
        sines,
    ),
    "softmax": (
        f"{array('A', 3, 7)}, {array('B', 3, 7)}",
        """
for i in T.serial(3):
    m = T.alloc_buffer((1,), "float32")
    s = T.alloc_buffer((1,), "float32")
    m[0] = A[i, 0]
    for j in T.serial(7):
        m[0] = T.max(m[0], A[i, j])
    s[0] = 0.0
    for j in T.serial(7):
        s[0] = s[0] + T.exp(A[i, j] - m[0])
    for j in T.serial(7):
        B[i, j] = T.exp(A[i, j] - m[0]) / s[0]
""",
        ((3, 7),),
        lambda a: jax.nn.softmax(a, axis=1),
    ),
    "prefix sums": (
        f"{array('A', 9)}, {array('B', 9)}",
        """
B[0] = A[0]
for i in T.serial(1, 9):
    B[i] = B[i - 1] + A[i]
""",
        ((9,),),
        jnp.cumsum,
    ),
    "steps in time": (
        f"{array('A', 12)}, {array('B', 12)}",
        """
for t in T.serial(3):
    for i in T.serial(1, 11):
        B[i] = (A[i - 1] + A[i] + A[i + 1]) * 0.25
    for i in T.serial(1, 11):
        A[i] = B[i] * B[i]
""",
        ((12,),),
        None,
    ),
}  # fmt: skip


def smoothed(a: jax.Array) -> jax.Array:
    a = jnp.asarray(a)
    for _ in range(3):
        inner = (a[:-2] + a[1:-1] + a[2:]) * 0.25
        a = a.at[1:-1].set(inner * inner)
    return a


@pytest.fixture(params=KERNELS)
def pair(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], Callable[..., Any], list[np.ndarray]]:
    params, body, shapes, reference = KERNELS[request.param]
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    ours = function(params, body)
    if reference is None:
        zeros = np.zeros(12, np.float32)
        return (lambda a: ours(a, zeros)[0]), smoothed, inputs
    return (lambda *a: ours(*a)[0]), reference, inputs


def test_jit_and_vmap(pair: tuple[Callable[..., Any], Callable[..., Any], list[np.ndarray]]) -> None:
    ours, reference, inputs = pair
    np.testing.assert_allclose(jax.jit(ours)(*inputs), reference(*inputs), rtol=1e-5, atol=1e-6)
    batches = [np.stack([x, x * 0.5, x - 0.25]) for x in inputs]
    np.testing.assert_allclose(jax.vmap(ours)(*batches), jax.vmap(reference)(*batches), rtol=1e-5, atol=1e-6)


def test_gradients(pair: tuple[Callable[..., Any], Callable[..., Any], list[np.ndarray]]) -> None:
    ours, reference, inputs = pair
    weights = np.random.default_rng(1).uniform(-1, 1, np.shape(reference(*inputs))).astype(np.float32)

    def weighed(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *a: jnp.sum(f(*a) * weights)

    places = tuple(range(len(inputs)))
    found, expected = (jax.grad(weighed(f), argnums=places)(*inputs) for f in (ours, reference))
    for have, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("condition", "place", "term"),
    some(
        [
            ("A[i] != 0.0", "0", "C[j] / A[i]"),
            ("A[i] != 0.0", "0", "C[i] / A[i] * C[j]"),
            ("A[i] > 0.0 and C[j] < 3.0", "i", "(C[j] - A[i]) / A[i]"),
            ("A[i] != 0.0", "i", "C[j] * C[i] / A[i]"),
        ],
        0.5,
    ),
)
def test_quotients_that_a_sum_does_not_look_at_have_no_derivative(condition: str, place: str, term: str) -> None:
    body = f"for i, j in T.grid(4, 4):\n    if {condition}:\n        B[{place}] = B[{place}] + {term}"
    ours = function(f"{array('A', 4)}, {array('C', 4)}, {array('B', 4)}", body)
    A, C = np.array([0.0, 1.5, -2.0, 0.0], np.float32), np.arange(4, dtype=np.float32)
    found = jax.grad(lambda a: ours(a, C, C)[0].sum())(A)
    near = jax.grad(lambda a: ours(a, C, C)[0].sum())(np.where(A == 0, np.float32(-1e-3), A))
    assert np.isfinite(found).all() and not np.any(found[A == 0])
    np.testing.assert_allclose(found[1:3], near[1:3], rtol=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        "if A[i, 0] > 0.0:\n        t = T.sqrt(A[i, 0])\n        B[i] = t * 2.0 + t * T.exp(t)",
        (
            "for j in range(i):\n        d = A[i, 0] - A[j, 0]\n        t = T.sqrt(d * d)\n"
            "        B[0] = B[0] + 1.0 / t + t * T.log(t)"
        ),
    ],
    ids=["a branch", "a triangle"],
)
def test_locals_have_no_derivative_where_nobody_asks_for_them(body: str) -> None:
    """Array code works them out everywhere."""
    ours = function(f"{array('A', 5, 1)}, {array('B', 5)}", f"for i in range(5):\n    {body}")
    A, B = np.array([0.5, -1.0, 2.0, 0.25, -3.0], np.float32)[:, None], np.zeros(5, np.float32)

    def value(a: jax.Array | np.ndarray) -> jax.Array:
        return ours(a, B)[0].sum()

    found = jax.grad(value)(A)
    for k in range(5):
        step = np.zeros((5, 1), np.float32)
        step[k] = 1e-3
        slope = (value(A + step) - value(A - step)) / 2e-3
        np.testing.assert_allclose(found[k, 0], slope, rtol=2e-2, atol=2e-2)


def test_divisors_of_sums_are_made_harmless_for_derivatives_alone() -> None:
    """A number that all terms are divided by is one for the values, and one for each term for the derivatives."""
    body = """m = T.alloc_buffer((), "float32")
m[()] = 0.0
for i in range(32):
    m[()] += C[i]
B[0] = 0.0
for i, j in T.grid(32, 32):
    if A[i] == A[j]:
        B[0] += C[i] * C[i] - T.exp(C[j]) / m[()]""".strip()
    source = emit(read(f"{array('A', 32)}, {array('C', 32)}, {array('B', 1)}", body))
    values, derivatives = source.split("_jvp(")
    assert "/ jnp.where(" not in values and "/ jnp.where(" in derivatives, source
