"""A module: a padded convolution, an activation and row sums, as kernels that a main function calls.

Run `python examples/small_network.py` to see what becomes of it, or `loopsat optimize examples/small_network.py`.
"""

import numpy as np

import loopsat
from loopsat import T


@T.module
class network:
    @T.prim_func
    def pad(X: T.Buffer((8, 14), "float32"), P: T.Buffer((8, 16), "float32")):
        for i, j in T.grid(8, 16):
            if j >= 1 and j < 15:
                P[i, j] = X[i, j - 1]
            else:
                P[i, j] = 0.0

    @T.prim_func
    def convolve(P: T.Buffer((8, 16), "float32"), W: T.Buffer((3,), "float32"), Y: T.Buffer((8, 14), "float32")):
        for i, j in T.grid(8, 14):
            Y[i, j] = 0.0
            for k in T.serial(3):
                Y[i, j] += P[i, j + k] * W[k]

    @T.prim_func
    def relu(X: T.Buffer((8, 14), "float32"), Y: T.Buffer((8, 14), "float32")):
        for i, j in T.grid(8, 14):
            Y[i, j] = T.max(X[i, j], 0.0)

    @T.prim_func
    def total(X: T.Buffer((14,), "float32"), Y: T.Buffer((1,), "float32")):
        Y[0] = 0.0
        for j in T.serial(14):
            Y[0] += X[j]

    @T.prim_func
    def main(X: T.Buffer((8, 14), "float32"), W: T.Buffer((3,), "float32"), Y: T.Buffer((8,), "float32")):
        P = T.alloc_buffer((8, 16), "float32")
        C = T.alloc_buffer((8, 14), "float32")
        R = T.alloc_buffer((8, 14), "float32")
        network.pad(X, P)
        network.convolve(P, W, C)
        network.relu(C, R)
        for i in T.serial(8):
            network.total(R[i, 0:14], Y[i : i + 1])


if __name__ == "__main__":
    result = loopsat.optimize(network)
    print(result)
    x = np.random.default_rng(0).normal(size=(8, 14)).astype(np.float32)
    w = np.array([0.25, 0.5, 0.25], np.float32)
    (found,) = loopsat.compile(result.best)(x, w)
    (expected,) = loopsat.interpret(network, x, w)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    print(loopsat.emit(result.best))
