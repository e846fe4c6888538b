"""Donated buffers: results take the place of arguments, callers lose them, and are told so."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from egraph_rules import optimize
from ir import parse, specialize
from ir.errors import LoopsatError
from lower import compile, emit
from lower.commands.cli import main
from lower.tune.measure import profile

ROOT = Path(__file__).parents[2]
TEXT = """
@T.prim_func
def step(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6, 8), "float32"), C: T.Buffer((6, 8), "float32")):
    for i, j in T.grid(6, 8):
        B[i, j] = B[i, j] + A[i, j]
    for i, j in T.grid(6, 8):
        C[i, j] = 2.0 * B[i, j]
"""
A, B = (np.random.default_rng(k).standard_normal((6, 8)).astype(np.float32) for k in (0, 1))


def step():
    return parse(TEXT).funcs[0]


@pytest.mark.parametrize(("name", "rank", "n"), [("jacobi_2d", 2, 20), ("heat_3d", 3, 9)])
def test_time_steps_take_no_copy(name: str, rank: int, n: int) -> None:
    func = parse((ROOT / f"examples/polybench/{name}.py").read_text())[name]
    best = optimize(specialize(func, {"tsteps": 3, "n": n})).best
    rng = np.random.default_rng(3)
    given = [rng.standard_normal((n,) * rank, np.float32) for _ in "AB"]
    kernel = compile(best, donate=True)
    compiled = kernel.lower(*given).compile()
    memory = compiled.memory_analysis()
    arrays = sum(a.nbytes for a in given)
    assert memory.alias_size_in_bytes == arrays
    assert memory.temp_size_in_bytes < arrays // 2
    assert not any(" copy(" in line and "f32" in line for line in compiled.as_text().splitlines())
    assert kernel.donated == ("A", "B")
    for found, expected in zip(kernel(*given), compile(best)(*given), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_jax_arrays_are_gone_and_numpy_arrays_are_not_touched() -> None:
    kernel = compile(step(), donate=True)
    assert kernel.donated == ("B",)  # C is not read before it is written, A is not written
    a, b, before = jnp.asarray(A), jnp.asarray(B), B.copy()
    new_b, new_c = kernel(a, b)
    assert b.is_deleted()
    assert not a.is_deleted()
    np.testing.assert_allclose(new_c, 2 * (A + B), rtol=1e-6)
    kernel(A, B)
    np.testing.assert_array_equal(B, before)
    again, _ = kernel(a, new_b)
    np.testing.assert_allclose(again, 2 * A + B, rtol=1e-5)


def test_a_fully_overwritten_buffer_is_donated_by_name_only() -> None:
    kernel = compile(step(), donate=["B", "C"])
    assert kernel.donated == ("B", "C")
    np.testing.assert_allclose(kernel(jnp.asarray(A), jnp.asarray(B))[1], 2 * (A + B), rtol=1e-6)
    np.testing.assert_allclose(kernel(A, jnp.asarray(B), jnp.asarray(A))[1], 2 * (A + B), rtol=1e-6)
    assert compile(step(), donate="B").donated == ("B",)
    assert compile(step()).donated == ()


@pytest.mark.parametrize(
    ("donate", "found"), [("A", "is not written by"), (["B", "D"], "is no parameter of"), ("b", "did you mean `B`")]
)
def test_what_is_not_written_cannot_be_donated(donate: str | list[str], found: str) -> None:
    with pytest.raises(LoopsatError, match="donation") as error:
        compile(step(), donate=donate)
    assert found in str(error.value)


def test_arrays_that_are_gone_or_given_twice_are_refused() -> None:
    kernel = compile(step(), donate=True)
    b = jnp.asarray(B)
    with pytest.raises(LoopsatError, match="one array for B and A"):
        kernel(b, b)
    kernel(A, b)
    with pytest.raises(LoopsatError, match="an earlier call was given it"):
        kernel(A, b)


def test_source_says_how_to_donate_and_does_where_asked() -> None:
    assert "donate_argnames=('B',) of jit" in emit(step())
    source = emit(step(), donate=True)
    assert '@partial(jax.jit, donate_argnames=("B",))' in source
    assert "in place of B, whose arrays are gone then" in source
    namespace: dict[str, object] = {}
    exec(source, namespace)
    b = jnp.asarray(B)
    namespace["step"](jnp.asarray(A), b)  # type: ignore[operator]
    assert b.is_deleted()


def test_sizes_and_64_bits() -> None:
    text = """
@T.prim_func
def scale(n: T.int32, A: T.Buffer((n,), "float64")):
    for i in T.serial(n):
        A[i] = A[i] * 0.5
"""
    func = parse(text).funcs[0]
    kernel = compile(func, donate=True)
    assert 'static_argnames=("n",), donate_argnames=("A",)' in kernel.source
    with jax.enable_x64(True):
        a = jnp.arange(5, dtype="float64")
    np.testing.assert_array_equal(kernel(5, a)[0], np.arange(5) * 0.5)
    assert a.is_deleted()


def test_measuring_gives_each_run_arrays_of_its_own() -> None:
    found = profile(compile(step(), donate=True), {"A": A, "B": B, "C": A}, seconds=0.01)
    assert found.time.runs > 1


def test_on_a_mesh() -> None:
    mesh = jax.make_mesh((1,), ("x",))
    kernel = compile(step(), mesh=mesh, shardings={"B": P("x")}, donate=True)
    b = jax.device_put(jnp.asarray(B), jax.sharding.NamedSharding(mesh, P("x")))
    np.testing.assert_allclose(kernel(A, b)[0], A + B, rtol=1e-6)
    assert kernel.lower(A, B).compile().memory_analysis().alias_size_in_bytes == B.nbytes


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "step.py"
    script.write_text(TEXT)
    assert main(["optimize", str(script), "--emit", "jax", "--donate", "all"]) == 0
    assert 'donate_argnames=("B",)' in capsys.readouterr().out
    assert main(["optimize", str(script), "--emit", "jax", "--donate", "A"]) == 2
    assert "is not written by step" in capsys.readouterr().err
    assert main(["optimize", str(script), "--emit", "ir", "--donate", "B"]) == 2
    assert "--donate says how JAX calls" in capsys.readouterr().err
