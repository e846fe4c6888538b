"""Kernels over several devices: mistakes, and the tests that need eight devices, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from ir import parse
from ir.errors import LowerError
from lower import compile

ROOT = Path(__file__).parent.parent.parent
P = PartitionSpec
FUNC = parse(
    """
@T.prim_func
def f(A: T.Buffer((6, 14), "float32"), B: T.Buffer((6,), "float32"), k: T.float32):
    for i in T.serial(6):
        B[i] = k
        for j in T.serial(14):
            B[i] = B[i] + A[i, j]
"""
).funcs[0]


@pytest.mark.parametrize("marks", ["not fuzz", pytest.param("fuzz", marks=pytest.mark.fuzz)])
def test_on_eight_devices(marks: str) -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    environment = os.environ | {"XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu"}
    for name in [n for n in environment if n.startswith("PYTEST_")]:
        del environment[name]  # a run of its own, whoever runs this one
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", marks]
    run = subprocess.run(
        [*command, "tests/lower/eight_devices.py"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    return jax.make_mesh((1, 1), ("rows", "columns"), devices=jax.devices("cpu")[:1])


def refusal(mesh: object, shardings: object, target: str = "cpu") -> LowerError:
    with pytest.raises(LowerError) as caught:
        compile(FUNC, target, mesh=mesh, shardings=shardings)
    assert caught.value.help
    return caught.value


MISTAKES = {
    "axis": ({"A": P("row")}, "sharding-axis", "no axis of the mesh", "did you mean `rows`?"),
    "axis in a tuple": ({"A": P(("rows", "z"))}, "sharding-axis", "'z'", "rows, columns"),
    "axis twice": ({"A": P("rows", "rows")}, "sharding-axis", "twice", "one dimension only"),
    "rank": ({"A": P(None, None, "rows")}, "sharding-rank", "3 entries, but A has 2", "for each dimension"),
    "rank of a tuple": ({"A": ("rows",)}, "sharding-rank", "1 entries, but A has 2", "for each dimension"),
    "parameter": ({"AA": P("rows")}, "sharding-parameter", "no buffer parameter `AA`", "did you mean `A`?"),
    "scalar": ({"k": P()}, "sharding-parameter", "no buffer parameter `k`", "A, B"),
    "no spec": ({"A": "rows"}, "sharding", "must be a PartitionSpec or a tuple", "for each dimension"),
    "unconstrained": ({"A": P(P.UNCONSTRAINED)}, "sharding-axis", "no axis of the mesh", "rows, columns"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_shardings(name: str, mesh: Mesh) -> None:
    shardings, code, message, help = MISTAKES[name]
    error = refusal(mesh, shardings)
    assert error.code == code and message in error.message and help in error.help


def test_mistakes_in_meshes(mesh: Mesh) -> None:
    assert refusal(mesh, {}, "tpu").code == "mesh-platform"
    assert "target='cpu'" in refusal(mesh, {}, "gpu").help
    assert refusal(mesh.abstract_mesh, {}).code == "mesh"
    assert refusal(None, {"A": P("rows")}).code == "mesh"


def test_a_mesh_of_one_device(mesh: Mesh) -> None:
    kernel = compile(FUNC, mesh=mesh, shardings={"A": ("rows", None)})
    (found,) = kernel(np.ones((6, 14), "float32"), k=2.0)
    np.testing.assert_array_equal(np.asarray(found), np.full(6, 16.0, "float32"))
    assert kernel.source == compile(FUNC).source
