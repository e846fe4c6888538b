"""The largest number of each row, with 1022 columns on eight devices: padded to 1024 with what no maximum sees.

JAX alone refuses to cut 1022 into eight equal parts. Padding with zeros would make it agree, and give 0 for each row of
negative numbers. `compile` takes the pad value for which the prover shows that no result changes, here minus infinity,
and the program then runs over the padding without a mask. On a CPU this script makes eight virtual devices.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")  # before JAX starts

import jax
import numpy as np
from jax.sharding import PartitionSpec

from ir import script as T
from lower import compile


@T.prim_func
def row_max(A: T.Buffer((64, 1022), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.serial(64):
        B[i] = A[i, 0]
        for j in T.serial(1022):
            B[i] = T.max(B[i], A[i, j])


if __name__ == "__main__":
    mesh = jax.make_mesh((len(jax.devices()),), ("columns",))
    kernel = compile(row_max, jax.devices()[0].platform, mesh=mesh, shardings={"A": PartitionSpec(None, "columns")})
    print(*kernel.report, sep="\n")
    print(kernel.source)

    A = -np.random.default_rng(0).uniform(1, 2, (64, 1022)).astype("float32")
    (largest,) = kernel(A)
    assert np.array_equal(largest, A.max(axis=1))
    print("largest numbers of the first rows:", *np.asarray(largest)[:3])
