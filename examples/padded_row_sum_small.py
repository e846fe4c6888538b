"""The row sum at [16, 14] stored as [16, 4, 4], small enough to follow by hand and to run on the interpreter."""

import numpy as np

from egraph_rules import optimize
from ir import interpret, to_script
from ir import script as T


@T.prim_func
def row_sum(A: T.Buffer((16, 4, 4), "float32"), B: T.Buffer((16,), "float32")):
    for i, jo, ji in T.grid(16, 4, 4):
        T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 0.0)
    for i in T.serial(16):
        B[i] = 0.0
        for jo, ji in T.grid(4, 4):
            if 4 * jo + ji < 14:
                B[i] = B[i] + A[i, jo, ji]


if __name__ == "__main__":
    result = optimize(row_sum)
    print(to_script(result.best))
    for decision in result.report.decisions:
        print(f"{decision.rule}: {decision.place}: {decision.fact}")

    logical = np.arange(16 * 14, dtype=np.float32).reshape(16, 14)
    padded = np.pad(logical, ((0, 0), (0, 2))).reshape(16, 4, 4)
    (sums,) = interpret(result.best, padded)
    assert np.allclose(sums, logical.sum(axis=1))
