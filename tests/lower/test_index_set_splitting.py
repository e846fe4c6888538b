"""Loops in phases: the same results with extents of their own, and one loop in the source where phases are alike."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from ir.semantics.interpret import interpret
from lower.emission.function import emit_function
from lower.restructure import index_set_splitting
from lower.runtime.kernel import Kernel
from lowered import unwrapped
from profiles import some

EAGER = replace(CPU, phase=0.0, section=0.0, launch=0.0, step=0.0)  # cuts short loops too
NEVER = replace(CPU, phase=1e18)
HEAD = "from ir import script as T\n\n@T.prim_func\n"

GROWING = """
def f(x: T.Buffer((23,), "float32"), y: T.Buffer((23,), "float32")):
    y[0] = x[0]
    for k in range(1, 23):
        y[k] = x[k]
        for i in range(k):
            y[k] = y[k] + x[k - i - 1] * y[i] * 0.25
"""

DURBIN = """
def f(r: T.Buffer((19,), "float32"), y: T.Buffer((19,), "float32")):
    alpha = T.alloc_buffer((1,), "float32")
    beta = T.alloc_buffer((1,), "float32")
    z = T.alloc_buffer((19,), "float32")
    y[0] = r[0]
    alpha[0] = r[0]
    beta[0] = 1.0
    for k in range(1, 19):
        beta[0] = beta[0] * (1.0 - alpha[0] * alpha[0])
        alpha[0] = r[k] / (beta[0] * 3.0)
        for i in range(k):
            alpha[0] = alpha[0] + r[k - i - 1] * y[i]
        for i in range(k):
            z[i] = y[i] + alpha[0] * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha[0]
"""

SHRINKING = """
def f(a: T.Buffer((21,), "float32"), b: T.Buffer((21,), "float32")):
    for k in range(20):
        for i in range(k + 1, 21):
            a[i] = a[i] * b[i - k] + b[k] * a[k]
"""

RUNNING_DOWN = """
def f(a: T.Buffer((17, 5), "float32"), b: T.Buffer((17,), "float32")):
    for s in range(17):
        for i, j in T.grid(16 - s, 5):
            a[i, j] = a[i, j] - b[i] * a[16 - s, 4 - j]
"""

OFTEN_EMPTY = """
def f(a: T.Buffer((24,), "float32"), b: T.Buffer((24,), "float32"), c: T.Buffer((24,), "float32")):
    for k in range(24):
        for i in range(24):
            if i + 15 < k:
                a[i] = a[i] + b[k] * a[i + 1]
        for i in range(24):
            if i < k:
                b[i] = b[i] * 0.5 + a[k] * c[i]
"""

HALF = """
def f(a: T.Buffer((30,), "int32"), n: T.Buffer((30,), "int32")):
    for k in range(1, 30):
        for i in range(k // 2):
            a[i] = a[i] + a[k] * n[k - i]
        a[k] = a[k] + a[k // 2] % 7
"""

TRIANGLES = """
def f(a: T.Buffer((14, 14), "float32"), b: T.Buffer((14,), "float32")):
    for k in range(14):
        for i in range(k + 1, 14):
            for j in range(k + 1, i + 1):
                a[i, j] = a[i, j] - a[i, k] * a[j, k] * 0.1
        for i in range(k, 14):
            b[i] = b[i] + a[i, k] * b[k]
"""

INNER = """
def f(a: T.Buffer((16, 16), "float32")):
    for k in range(1, 16):
        for m in range(1, k):
            for i in range(m):
                a[k, i] = a[k, i] + a[m, i] * a[k, m] * 0.1
"""

AROUND = """
def f(a: T.Buffer((18,), "float32"), b: T.Buffer((18,), "float32")):
    for t in range(3):
        for k in range(1, 18):
            for i in range(k):
                a[i] = a[i] * 0.5 + b[k - i] * a[k]
"""

LOCAL = """
def f(a: T.Buffer((18,), "float32"), b: T.Buffer((18,), "float32")):
    for k in range(1, 18):
        w = T.alloc_buffer((18,), "float32")
        for i in range(k):
            w[i] = a[i] + a[k - 1 - i] * b[k]
        for i in range(k):
            a[i] = w[i] * 0.5 + w[k - 1 - i] * 0.25
"""

SMALLEST = """
def f(a: T.Buffer((20,), "int32"), at: T.Buffer((20,), "int32")):
    for k in range(20):
        best = T.alloc_buffer((1,), "int32")
        best[0] = a[k]
        for i in range(k, 20):
            best[0] = T.min(best[0], a[i])
        for i in range(k, 20):
            a[i] = a[i] + best[0] - k
        at[k] = best[0]
"""

PARTS = """
def f(d: T.Buffer((15, 15), "int32")):
    for k in range(15):
        for i, j in T.grid(15, 15):
            d[i, j] = T.min(d[i, j], (d[i, k] + d[k, j]) % 11)
"""

PROGRAMS = {
    name.lower(): text
    for name, text in globals().items()
    if isinstance(text, str) and text.startswith("\ndef f(") and name.isupper()
}


def read(text: str) -> PrimFunc:
    return parse(HEAD + text.strip() + "\n").funcs[0]


def inputs(func: PrimFunc) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    found: dict[str, np.ndarray] = {}
    for b in func.buffers:
        shape = tuple(int(d.value) for d in b.shape)  # pyright: ignore[reportAttributeAccessIssue]
        values = rng.uniform(-1, 1, shape) if b.dtype.is_float else rng.integers(0, 5, shape)
        found[b.name] = values.astype(b.dtype.value)
    return found


def compare(func: PrimFunc, kernel: Kernel) -> None:
    """The kernel's results against the interpreter's."""
    given = inputs(func)
    expected = interpret(func, *(given[b.name].copy() for b in func.buffers))
    for want, have in zip(expected, kernel(**given), strict=True):
        scale = max(1.0, float(np.abs(np.asarray(want)).max()))
        np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=2e-4, atol=2e-4 * scale)


MORE = [("durbin", 2), ("triangles", 2), ("growing", 5), ("running_down", 5), ("inner", 8), ("often_empty", 8)]


@pytest.mark.parametrize(("name", "count"), some([*((name, 3) for name in PROGRAMS), *MORE], 2))
def test_phases_compute_what_the_loop_does(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_set_splitting, "_COUNTS", (count,))
    monkeypatch.setattr(index_set_splitting, "_LEAST", 0.0)
    func = read(PROGRAMS[name])
    emitted = emit_function(func, target=EAGER)
    cut = any(f"in {count} phases" in line for line in emitted.report)
    assert cut == (name != "parts"), "\n".join([*emitted.report, emitted.source])
    compare(func, Kernel(emitted, jax.devices()[0]))


def test_alike_phases_are_one_loop_in_the_source() -> None:
    emitted = emit_function(read(DURBIN), target=EAGER)
    assert emitted.source.count("def k_step") == 2  # the last one is long enough to take its whole section
    assert "lax.fori_loop(start, stop, k_step" in unwrapped(emitted.source)
    assert "y_part = y[0:stop]" in unwrapped(emitted.source)
    assert "y_part[0:stop - 1]" in unwrapped(emitted.source)  # one element is too much for short ones


def test_axes_take_whole_sections_and_elements_join_their_pass() -> None:
    """What a phase carries is stored to in one pass, and no part of it is copied to be read."""
    emitted = emit_function(read(DURBIN.replace("19", "100")), target=EAGER)
    assert "y_part[0:stop]" in unwrapped(emitted.source)
    assert "jnp.where(jnp.arange(stop) == k," in unwrapped(emitted.source)
    assert "y_part.at[" not in unwrapped(emitted.source)


def test_few_elements_saved_are_not_worth_compiling() -> None:
    report = emit_function(read(DURBIN)).report
    assert not any("phases" in line for line in report)


def test_what_together_stores_everywhere_is_not_cut() -> None:
    func, eager = read(PARTS), replace(EAGER, scalar=1e4)
    found = emit_function(func, target=eager)
    assert "jnp.where(" in found.source
    assert found.source == emit_function(func, target=replace(eager, phase=1e18)).source


def test_a_window_is_padded_from_the_part_that_it_reads() -> None:
    source = unwrapped(emit_function(read(GROWING), target=EAGER).source)
    assert "jnp.pad(x[:stop - 1]" in source
    assert "jnp.pad(x," not in source


def test_a_long_loop_runs_in_phases_by_the_prices_of_the_cpu() -> None:
    text = DURBIN.replace("19", "2000")
    func = read(text)
    emitted = emit_function(func)
    assert any("phases" in line for line in emitted.report)
    rng = np.random.default_rng(1)
    r = (rng.uniform(-1, 1, 2000) * 1e-3).astype(np.float32)
    cut, whole = (Kernel(e, jax.devices()[0])(r=r) for e in (emitted, emit_function(func, target=NEVER)))
    np.testing.assert_allclose(np.asarray(cut[0]), np.asarray(whole[0]), rtol=1e-4, atol=1e-7)
