"""One of several processes that run kernels over one mesh: `one_process.py ADDRESS COUNT NUMBER`, by test_processes.py.

Each has two virtual devices. All of them make the same calls; each looks at what its own devices have.
"""

from __future__ import annotations

import os
import sys

ADDRESS, COUNT, NUMBER = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax  # noqa: E402
import numpy as np  # noqa: E402

jax.distributed.initialize(ADDRESS, COUNT, NUMBER)

from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

from ir import parse  # noqa: E402
from lower import compile  # noqa: E402

P = PartitionSpec
N = 8 * COUNT + 5  # no number of devices divides it

PROGRAMS = f"""
@T.prim_func
def smooth(A: T.Buffer(({N},), "float32"), B: T.Buffer(({N},), "float32")):
    B[0] = A[0]
    B[{N - 1}] = A[{N - 1}]
    for i in range({N - 2}):
        B[i + 1] = A[i] + 2.0 * A[i + 1] + A[i + 2]

@T.prim_func
def sums(A: T.Buffer(({N},), "float32"), B: T.Buffer(({N},), "float32")):
    B[0] = A[0]
    for i in range({N - 1}):
        B[i + 1] = B[i] + A[i + 1]

@T.prim_func
def largest(A: T.Buffer(({N},), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = A[0]
    for i in range({N}):
        B[0] = T.max(B[0], A[i])

@T.prim_func
def scale(A: T.Buffer((16, {2 * COUNT}), "float32"), B: T.Buffer((16, {2 * COUNT}), "float32")):
    for i, j in T.grid(16, {2 * COUNT}):
        B[i, j] = A[i, j] * 3.0
"""
FUNCS = {f.name: f for f in parse(PROGRAMS).funcs}


def numbers(n: int) -> np.ndarray:
    """Integers as floats, whose sums are exact in any order."""
    return (-1.0 - np.arange(n) % 7).astype("float32")


def check_own(found: object, want: np.ndarray) -> None:
    """Compare what the devices of this process have."""
    blocks = [*found.blocks()]  # type: ignore[attr-defined]
    assert blocks and sum(part.size for _, part in blocks) < want.size
    for place, part in blocks:
        np.testing.assert_array_equal(part, want[place])


def chain(mesh: Mesh) -> None:
    """Uneven arrays from kernel to kernel, read in blocks, never whole in one process."""
    spec = {"A": P("x"), "B": P("x")}
    smooth = compile(FUNCS["smooth"], mesh=mesh, shardings=spec, keep_padding=True)
    sums = compile(FUNCS["sums"], mesh=mesh, shardings=spec, keep_padding=True)
    largest = compile(FUNCS["largest"], mesh=mesh, shardings={"A": P("x")})
    A = numbers(N)
    smoothed = np.concatenate([A[:1], A[:-2] + 2 * A[1:-1] + A[2:], A[-1:]])
    read: list[int] = []

    def part(index: tuple[slice, ...]) -> np.ndarray:
        read.append(index[0].stop - index[0].start)
        return A[index]

    (B,) = smooth(smooth.from_blocks("A", part))
    assert 0 < sum(read) < N
    check_own(B, smoothed)
    (C,) = sums(B)
    check_own(C, np.cumsum(smoothed))
    (top,) = largest(C)
    assert float(np.asarray(top)[0]) == np.cumsum(smoothed).max()
    np.testing.assert_array_equal(np.asarray(B.crop()), smoothed)
    np.testing.assert_array_equal(np.asarray(smooth(A)[0].crop()), smoothed)  # the same array in each process


def global_arrays(mesh: Mesh) -> None:
    """Arrays that JAX makes of what each process has, and results as such arrays."""
    sharding = NamedSharding(mesh, P(None, "x"))
    own = np.full((16, 2), float(NUMBER), "float32")
    A = jax.make_array_from_process_local_data(sharding, own)
    assert A.shape == (16, 2 * COUNT)
    kernel = compile(FUNCS["scale"], mesh=mesh, shardings={"A": P(None, "x"), "B": P(None, "x")})
    (B,) = kernel(A)
    assert B.sharding.is_equivalent_to(sharding, 2)
    for shard in B.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), np.full((16, 1), 3.0 * NUMBER, "float32"))
    other = compile(FUNCS["scale"], mesh=mesh, shardings={"A": P("x"), "B": P(None, "x")})
    (B,) = other(A)  # it lies otherwise than the kernel wants it
    for shard in B.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), np.full((16, 1), 3.0 * NUMBER, "float32"))


MESH = jax.make_mesh((2 * COUNT,), ("x",))
chain(MESH)
global_arrays(MESH)
print("as expected", flush=True)
