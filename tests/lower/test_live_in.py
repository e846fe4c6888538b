"""Where wavefronts begin and end: copies of tables that start from borders, and stores without masks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse, specialize
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret
from lower.emission.function import emit_function
from lower.runtime.kernel import Kernel
from lowered import assert_agrees, kernel_of, unwrapped
from profiles import some

# Any array statement is worth it, and scans are not.
EAGER = replace(CPU, name="eager", scalar=1e4, launch=50.0, gather=0.0, scan=1e3)

WORDS = 'a: T.Buffer((n,), "int32"), b: T.Buffer((m,), "int32")'
LINES = 'x: T.Buffer((n,), "float32"), y: T.Buffer((m,), "float32")'
INTS, FLOATS = (f'D: T.Buffer((n + 1, m + 1), "{dtype}")' for dtype in ("int32", "float32"))

COUNTED = """
for i in T.serial(n + 1):
    D[i, 0] = i
for j in T.serial(m + 1):
    D[0, j] = j
"""
EDIT = """
for i, j in T.grid(n, m):
    D[i + 1, j + 1] = T.min(
        T.min(D[i, j + 1], D[i + 1, j]) + 1, D[i, j] + T.Select(a[i] % 4 == b[j] % 4, 0, 1)
    )
"""
COMMON = """
for i in T.serial(1, n + 1):
    for j in T.serial(1, m + 1):
        if a[i - 1] % 3 == b[j - 1] % 3:
            D[i, j] = D[i - 1, j - 1] + 1
        else:
            D[i, j] = T.max(D[i - 1, j], D[i, j - 1])
"""
WARP = """
for i, j in T.grid(n + 1, m + 1):
    D[i, j] = 1e30
D[0, 0] = 0.0
for i in T.serial(1, n + 1):
    for j in T.serial(1, m + 1):
        D[i, j] = T.abs(x[i - 1] - y[j - 1]) + T.min(D[i - 1, j - 1], T.min(D[i - 1, j], D[i, j - 1]))
"""
GAPS = """
for i in T.serial(n + 1):
    D[i, 0] = T.float32(i) * -0.5 - 2.0
    E[i, 0] = -1e9
    F[i, 0] = -1e9
for j in T.serial(m + 1):
    D[0, j] = T.float32(j) * -0.5 - 2.0
    E[0, j] = -1e9
    F[0, j] = -1e9
D[0, 0] = 0.0
for i in T.serial(1, n + 1):
    for j in T.serial(1, m + 1):
        E[i, j] = T.max(E[i, j - 1] - 0.5, D[i, j - 1] - 2.0)
        F[i, j] = T.max(F[i - 1, j] - 0.5, D[i - 1, j] - 2.0)
        D[i, j] = T.max(
            D[i - 1, j - 1] + T.Select(a[i - 1] % 4 == b[j - 1] % 4, 3.0, -1.0), T.max(E[i, j], F[i, j])
        )
"""


def gathers_of(source: str) -> int:
    """How many gathers there are, by element or of windows."""
    return source.count(".get(") + source.count("windows_at(") - source.count("def windows_at(")


def read(params: str, body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    text = f"from __future__ import annotations\n@T.prim_func\ndef f(n: T.int32, m: T.int32, {params}):\n{lines}\n"
    return parse(text).funcs[0]


def check(params: str, body: str, n: int, m: int) -> Kernel:
    """Compare with the interpreter."""
    func = specialize(read(params, body), {"n": n, "m": m})
    kernel = kernel_of(func, EAGER)
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(n)), 1e-5)
    return kernel


def in_step(kernel: Kernel) -> str:
    """The body of the loop over diagonals."""
    found = re.search(r"def diagonal_step.*?\n    (?=\S)", unwrapped(kernel.source), re.DOTALL)
    assert found is not None, kernel.source
    return found[0]


@pytest.mark.parametrize(
    ("params", "body", "gathers"),
    some(
        [
            pytest.param(f"{WORDS}, {INTS}", COUNTED + EDIT, 1, id="edit distance"),
            pytest.param(f"{WORDS}, {INTS}", EDIT, 1, id="borders of the caller"),
            pytest.param(
                f"{WORDS}, {INTS}",
                COUNTED.replace("= i", "= 0").replace("= j", "= 0") + COMMON,
                1,
                id="branches on data",
            ),
            pytest.param(
                f"{WORDS}, {INTS}",
                f"for i, j in T.grid(n + 1, m + 1):\n    D[i, j] = 0\n{COMMON}",
                1,
                id="all zeros before",
            ),
            pytest.param(f"{LINES}, {FLOATS}", WARP, 1, id="one number before, and a corner"),
            pytest.param(
                f'{WORDS}, {FLOATS}, E: T.Buffer((n + 1, m + 1), "float32"), F: T.Buffer((n + 1, m + 1), "float32")',
                GAPS,
                3,
                id="three tables",
            ),
            pytest.param(
                f'{WORDS}, {INTS}, best: T.Buffer((1,), "int32")',
                f"best[0] = 0\n{COUNTED}{EDIT}"
                "for i, j in T.grid(n + 1, m + 1):\n    best[0] = T.max(best[0], D[i, j])\n",
                1,
                id="the best of all afterwards",
            ),
            pytest.param(
                f'{WORDS}, D: T.Buffer((m + 1, n + 1), "int32")',
                """
for i in T.serial(n + 1):
    D[0, i] = i
for j in T.serial(m + 1):
    D[j, 0] = 2 * j
for i, j in T.grid(n, m):
    D[j + 1, i + 1] = T.min(T.min(D[j + 1, i], D[j, i + 1]) + 1, D[j, i] + T.Select(a[i] % 4 == b[j] % 4, 0, 1))
""",
                1,
                id="a transposed table",
            ),
            pytest.param(
                f'{WORDS}, D: T.Buffer((n + 3, m + 5), "int32")', COUNTED + EDIT, 1, id="a part of a larger table"
            ),
            pytest.param(
                f'{LINES}, g: T.Buffer((n, m), "float32"), {FLOATS}',
                """
for i in T.serial(n):
    D[i + 1, 0] = x[i]
for j in T.serial(m):
    D[0, j + 1] = y[j]
D[0, 0] = 0.0
for i, j in T.grid(n, m):
    D[i + 1, j + 1] = g[i, j] + T.min(D[i, j + 1], T.min(D[i + 1, j], D[i, j]))
""",
                2,
                id="borders from arrays",
            ),
            pytest.param(
                'g: T.Buffer((n, m), "int32"), D: T.Buffer((n, m), "int32")',
                """
for i, j in T.grid(n, m):
    if i == 0 and j == 0:
        D[i, j] = 1
    elif i == 0:
        D[i, j] = T.Select(g[i, j] % 3 == 0, 0, D[i, j - 1])
    elif j == 0:
        D[i, j] = T.Select(g[i, j] % 3 == 0, 0, D[i - 1, j])
    else:
        D[i, j] = T.Select(g[i, j] % 3 == 0, 0, (D[i - 1, j] + D[i, j - 1]) % 1009)
""",
                2,
                id="borders in the same loops",
            ),
            pytest.param(
                f"{WORDS}, {INTS}",
                f"for i, j in T.grid(n + 1, m + 1):\n    D[i, j] = 1000\n{COUNTED}"
                """
for i in T.serial(1, n + 1):
    for j in T.serial(1, m + 1):
        if i - j <= 4 and j - i <= 4:
            D[i, j] = T.min(T.min(D[i - 1, j], D[i, j - 1]) + 1, D[i - 1, j - 1] + T.Select(a[i - 1] == b[j - 1], 0, 1))
""",
                1,
                id="a band",
            ),
            pytest.param(
                f"{WORDS}, {INTS}",
                """
for i in T.serial(n):
    for j in T.serial(m):
        D[n - 1 - i, m - 1 - j] = T.max(D[n - i, m - 1 - j] - 1, T.min(D[n - 1 - i, m - j], D[n - i, m - j]))
""",
                1,
                id="from the other corner",
            ),
            pytest.param(
                'A: T.Buffer((3, n, m), "float32")',
                """
for b in T.serial(3):
    for i in T.serial(1, n):
        for j in T.serial(1, m):
            A[b, i, j] = T.max(A[b, i - 1, j] * 0.5, T.min(A[b, i, j - 1], A[b, i - 1, j - 1]))
""",
                1,
                id="a batch of tables",
            ),
        ],
        2,
    ),
)
def test_a_copy_starts_from_borders(params: str, body: str, gathers: int) -> None:
    """All elements of a table go through index arrays once, on the way back."""
    kernel = check(params, body, *((21, 26) if gathers == 1 else (26, 21)))
    assert "all elements of one i + j," in "\n".join(kernel.report), kernel.source
    assert gathers_of(kernel.source) == gathers, kernel.source
    assert ".get(" not in in_step(kernel)


@pytest.mark.parametrize("sizes", [(1, 6), (6, 1), (2, 2)])
@pytest.mark.parametrize(
    ("params", "body"),
    [
        pytest.param(f"{WORDS}, {INTS}", COUNTED + EDIT, id="stored before"),
        pytest.param(f"{WORDS}, {INTS}", COMMON, id="given"),
        pytest.param(f"{LINES}, {FLOATS}", WARP, id="floats"),
    ],
)
def test_tables_may_be_tiny(params: str, body: str, sizes: tuple[int, int]) -> None:
    check(params, body, *sizes)


@pytest.mark.parametrize(
    ("params", "body"),
    some(
        [
            pytest.param(f"{WORDS}, {INTS}", COUNTED + EDIT, id="stored before"),
            pytest.param(f"{WORDS}, {INTS}", EDIT, id="given"),
            pytest.param(f"{WORDS}, {INTS}", COMMON, id="branches"),
            pytest.param(f"{LINES}, {FLOATS}", WARP, id="floats"),
        ],
        0.5,
    ),
)
def test_a_step_does_not_read_the_row_that_it_stores(params: str, body: str) -> None:
    kernel = check(params, body, 24, 33)
    step = in_step(kernel)
    stored = re.search(r"reshape\(1, \d+\), \((diagonal[^,]*), 1\)\)", step)
    assert stored is not None and f"_skewed[{stored[1]}, " not in step, kernel.source
    assert len(re.findall(r"diagonal [<>]=? ", step)) == 1, kernel.source  # the border, not the end of a diagonal


def test_growing_values_stay_under_their_mask() -> None:
    """Products of elements that nobody looks at might become infinite, and derivatives NaN with them."""
    kernel = check(FLOATS, EDIT.replace("T.Select(a[i] % 4 == b[j] % 4, 0, 1)", "D[i, j] * D[i, j + 1]"), 12, 17)
    assert re.search(r"mask = .*diagonal >= .*diagonal < ", in_step(kernel)), kernel.source


def test_elements_that_no_step_stores_stay_what_they_were() -> None:
    func = specialize(
        read(f'{LINES}, D: T.Buffer((n + 4, m + 3), "float32")', "D[0, 0] = 0.0\n" + WARP.split("D[0, 0] = 0.0\n")[1]),
        {"n": 30, "m": 24},
    )
    inputs = random_inputs(func, np.random.default_rng(0))
    inputs["D"][31:] = np.nan  # the program does not read these
    inputs["D"][:, 25:] = np.inf
    kernel = kernel_of(func, EAGER)
    assert "all elements of one i + j," in "\n".join(kernel.report)
    (want,) = interpret(func, **inputs)
    np.testing.assert_allclose(np.asarray(kernel(**inputs)[0]), want, rtol=1e-5)


@pytest.mark.parametrize("first", some(["i", "i * q", "i * i - 3"], 2))
def test_tables_in_a_loop_begin_anew(first: str) -> None:
    body = f"for q in T.serial(3):\n{COUNTED.replace('= i', f'= {first}')}{EDIT}\nd[q] = D[n, m]"
    indented = body.split("\n", 1)[0] + "\n" + "\n".join(f"    {line}" for line in body.split("\n")[1:] if line)
    kernel = check(f'{WORDS}, {INTS}, d: T.Buffer((3,), "int32")', indented, 21, 19)
    assert "all elements of one i + j," in "\n".join(kernel.report)
    assert gathers_of(kernel.source) == 1, kernel.source


def test_what_changes_in_between_is_not_taken_from_before() -> None:
    """The border's values come from an array that is stored to afterwards, and from the table itself."""
    body = f"""
for j in T.serial(m + 1):
    D[0, j] = w[j]
for i in T.serial(n):
    D[i + 1, 0] = D[i, 0] + 2
for j in T.serial(m + 1):
    w[j] = 7
{EDIT}
"""
    kernel = check(f'{WORDS}, w: T.Buffer((m + 1,), "int32"), {INTS}', body, 20, 23)
    assert gathers_of(kernel.source) == 1, kernel.source


@pytest.mark.parametrize("place", ["before", "after"])
def test_borders_may_be_stored_in_the_loops_of_the_table(place: str) -> None:
    """Whichever way the loops are distributed, what a step reads is what the last store before it left."""
    steps = ["    D[i, 0] = 3 * i"] if place == "before" else ["    if i < n:", "        D[i + 1, 0] = 3 * i + 1"]
    rows = [
        "    for j in T.serial(1, m + 1):",
        "        D[i, j] = T.min(T.min(D[i - 1, j], D[i, j - 1]) + 1, D[i - 1, j - 1] + 2)",
    ]
    body = "\n".join(["for i in T.serial(1, n + 1):", *(steps + rows if place == "before" else rows + steps)])
    kernel = check(f"{WORDS}, {INTS}", COUNTED + body, 20, 23)
    assert "all elements of one i + j," in "\n".join(kernel.report), kernel.source


def test_sizes_may_be_symbolic() -> None:
    func = read(f"{WORDS}, {INTS}", COUNTED + EDIT)
    kernel = kernel_of(func, EAGER)
    assert "all elements of one i + j," in "\n".join(kernel.report)
    assert "D_skewed = D.at[" not in kernel.source, kernel.source
    for n, m in ((7, 10), (10, 4), (1, 1)):
        fixed = specialize(func, {"n": n, "m": m})
        inputs = random_inputs(fixed, np.random.default_rng(n))
        (want,) = interpret(fixed, **inputs)
        np.testing.assert_array_equal(np.asarray(kernel(n=n, m=m, **inputs)[0]), want)


GAPS_SCORE = "\n".join(f'{t} = T.alloc_buffer((n + 1, m + 1), "float32")' for t in "DEF") + GAPS + "r[0] = D[n, m]\n"
WARP_SCORE = f'D = T.alloc_buffer((n + 1, m + 1), "float32"){WARP}'
GRID_SCORE = """
D = T.alloc_buffer((n + 1, m + 1), "float32")
for i in T.serial(n):
    D[i + 1, 0] = x[i]
for j in T.serial(m):
    D[0, j + 1] = y[j]
D[0, 0] = 0.0
for i, j in T.grid(n, m):
    D[i + 1, j + 1] = T.max(D[i, j + 1] - y[j], T.max(D[i + 1, j] - 0.5, D[i, j]))
r[0] = D[n, m]
"""


@pytest.mark.parametrize(
    ("params", "body"),
    some(
        [
            pytest.param(f'{LINES}, r: T.Buffer((1,), "float32")', f"{WARP_SCORE}r[0] = D[n, m]", id="one table"),
            pytest.param(f'{WORDS}, r: T.Buffer((1,), "float32")', GAPS_SCORE, id="three tables"),
            pytest.param(f'{LINES}, r: T.Buffer((1,), "float32")', GRID_SCORE, id="borders from arrays"),
            pytest.param(
                f'{LINES}, r: T.Buffer((2,), "float32")',
                f"{WARP_SCORE}r[0] = D[n, m] + 1.0\nr[1] = D[n, m]",
                id="twice",
            ),
        ],
        0.5,
    ),
)
def test_a_table_of_which_the_last_element_counts_is_not_kept(params: str, body: str) -> None:
    kernel = check(params, body, 14, 19)
    assert "all elements of one i + j," in "\n".join(kernel.report)
    assert "dynamic_update_slice" not in kernel.source and ".get(" not in kernel.source, kernel.source
    assert not re.search(r"\(\d+, \d+\), jnp|\[:, None\]", kernel.source), kernel.source  # no array of two dimensions


@pytest.mark.parametrize(
    "after",
    some(
        [
            "r[0] = D[n, m]\nr[1] = D[n, m - 1]",
            "r[0] = D[n, m]\nr[1] = D[0, 1] + D[1, 0]",
            "for j in T.serial(2):\n    r[j] = D[n, m - j]",
            "D[n, m] = D[n, m] + 1.0\nr[0] = D[n, m]",
            "r[0] = D[n - 1, m]",
        ],
        0.4,
    ),
)
def test_a_table_of_which_more_counts_is_kept(after: str) -> None:
    kernel = check(f'{LINES}, r: T.Buffer((2,), "float32")', WARP_SCORE + after, 14, 19)
    assert "dynamic_update_slice" in kernel.source, kernel.source


def test_tables_in_a_loop_need_not_be_kept() -> None:
    table = COUNTED.replace("= i", "= i * q") + EDIT.replace(") + 1, D", ") + d[q - 1], D") + "d[q] = D[n, m] % 7"
    lines = "\n".join(f"    {line}" for line in table.split("\n") if line)
    body = f'for q in T.serial(1, 4):\n    D = T.alloc_buffer((n + 1, m + 1), "int32")\n{lines}'
    kernel = check(f'{WORDS}, d: T.Buffer((4,), "int32")', body, 14, 13)
    assert "all elements of one i + j," in "\n".join(kernel.report)
    assert ".get(" not in kernel.source, kernel.source


@cache
def warping() -> Callable[..., tuple[jax.Array]]:
    func = specialize(read(f"{LINES}, {FLOATS}", WARP), {"n": 4, "m": 5})
    kernel = kernel_of(func, EAGER)
    assert "all elements of one i + j," in "\n".join(kernel.report)
    scope: dict[str, Callable[..., tuple[jax.Array]]] = {}
    exec(kernel.source, scope)
    return scope["f"]


def by_elements(x: jax.Array, y: jax.Array) -> jax.Array:
    """The distance, one element after the other."""
    table = {(i, j): jnp.float32(1e30) for i in range(len(x) + 1) for j in range(len(y) + 1)}
    table[0, 0] = jnp.float32(0.0)
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            least = jnp.minimum(table[i - 1, j - 1], jnp.minimum(table[i - 1, j], table[i, j - 1]))
            table[i, j] = jnp.abs(x[i - 1] - y[j - 1]) + least
    return table[len(x), len(y)]


def test_a_wavefront_has_a_gradient() -> None:
    rng = np.random.default_rng(5)
    x, y = (jnp.asarray(rng.uniform(-1, 1, k), jnp.float32) for k in (4, 5))
    got = jax.grad(lambda x, y: warping()(x, y)[0][4, 5], argnums=(0, 1))(x, y)
    want = jax.jit(jax.grad(by_elements, argnums=(0, 1)))(x, y)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-5)


def test_a_wavefront_has_a_batch() -> None:
    rng = np.random.default_rng(6)
    x, y = (jnp.asarray(rng.uniform(-1, 1, (3, k)), jnp.float32) for k in (4, 5))
    (got,) = jax.vmap(warping())(x, y)
    for k in range(3):
        np.testing.assert_allclose(np.asarray(got[k]), np.asarray(warping()(x[k], y[k])[0]), rtol=1e-6)


def test_steps_of_several_tables_copy_none() -> None:
    n = 300
    params = f'{WORDS}, {FLOATS}, E: T.Buffer((n + 1, m + 1), "float32"), F: T.Buffer((n + 1, m + 1), "float32")'
    func = specialize(read(params, GAPS), {"n": n, "m": n})
    source = emit_function(func).source
    scope: dict[str, Callable[..., object]] = {}
    exec(source, scope)
    function = scope["f"]
    assert hasattr(function, "lower")
    compiled = function.lower(*[jax.ShapeDtypeStruct((n,), np.int32)] * 2).compile().as_text()
    assert "diagonal_step" in source
    entry = next(part for part in compiled.split("\n\n") if "ENTRY" in part)
    assert f"f32[{2 * n + 1},{n + 1}]{{1,0}} copy(" not in compiled.replace(entry, "")
