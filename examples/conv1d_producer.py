"""A convolution that produces 14 values stored as [4, 4]; the two elements of padding are set to zero afterwards.

What the convolution would leave in the padding is overwritten, so it may run there: the guard goes, the stage that
writes the zeros stays.
"""

from ir import script as T


@T.prim_func
def conv1d(A: T.Buffer((4, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        if 0 <= 4 * io + ii < 14:
            B[io, ii] = 0.0
            for f in T.serial(3):
                B[io, ii] = B[io, ii] + F[f] * A[io + (ii + f) // 4, (ii + f) % 4]
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0
