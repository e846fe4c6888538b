"""Rows that kernels smooth in turn: calls take sections of buffers, which may be kept with a border of zeros.

Each call has a callee of its own: it knows the numbers that it is passed, and where its sections lie. Run
`python examples/module_of_rows.py` to see it, or `loopsat optimize examples/module_of_rows.py --layouts`.
"""

import numpy as np

import loopsat
from loopsat import T


@T.module
class rows:
    @T.prim_func
    def smooth(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32"), wide: T.int32):
        for i in range(300):
            if wide == 1:
                B[i] = T.if_then_else(i > 1, A[i - 2], 0.0) + A[i] + T.if_then_else(i < 298, A[i + 2], 0.0)
            else:
                B[i] = T.if_then_else(i > 0, A[i - 1], 0.0) + T.if_then_else(i < 299, A[i + 1], 0.0)

    @T.prim_func
    def weaken(A: T.Buffer((40, 300), "float32"), B: T.Buffer((40, 300), "float32")):
        for b, i in T.grid(40, 300):
            B[b, i] = 0.25 * A[b, i]

    @T.prim_func
    def main(X: T.Buffer((40, 300), "float32"), Y: T.Buffer((40, 300), "float32")):
        H = T.alloc_buffer((40, 300), "float32")
        for _t in range(20):
            for b in range(40):
                rows.smooth(X[b, 0:300], H[b, 0:300], 1)
            rows.weaken(H, Y)
            for b in range(40):
                rows.smooth(Y[b, 0:300], X[b, 0:300], 0)


if __name__ == "__main__":
    result = loopsat.optimize(rows)
    print(result)
    x = np.random.default_rng(0).random((40, 300), "float32")
    expected, found = (loopsat.compile(module)(x) for module in (rows, result.best))
    for a, b in zip(expected, found, strict=True):
        assert np.allclose(a, b, rtol=1e-4)
