"""Programs that become different ones for different targets: run this file to see; docs/targets.md says why."""

from egraph_rules import optimize
from ir import script as T
from ir import to_script


@T.prim_func
def scale(A: T.Buffer((16, 1024), "float32"), B: T.Buffer((16, 1024), "float32")):
    for i, j in T.grid(16, 1024):
        T.assume(j < 1022 or A[i, j] == T.undef())
    for i, j in T.grid(16, 1024):
        if j < 1022:
            B[i, j] = A[i, j] * 0.5
    for i, j in T.grid(16, 1024):
        if j >= 1022:
            B[i, j] = T.undef()


@T.prim_func
def row_sum(A: T.Buffer((16, 1024), "float32"), B: T.Buffer((16,), "float32")):
    for i, j in T.grid(16, 1024):
        T.assume(j < 900 or A[i, j] == 0.0)
    for i in T.serial(16):
        B[i] = 0.0
        for j in T.serial(1024):
            if j < 900:
                B[i] = B[i] + A[i, j]


if __name__ == "__main__":
    for kernel in (scale, row_sum):
        for target in ("cpu", "gpu", "tpu"):
            print(f"# target {target}\n{to_script(optimize(kernel, target=target).best)}")
