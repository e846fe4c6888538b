"""A sum over 14 values that are first copied into a padded internal buffer.

Nothing is assumed: that the padding is zero follows from the stage that writes it.
"""

from ir import script as T


@T.prim_func
def total(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A_local[io, ii] = A[4 * io + ii]
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            A_local[io, ii] = 0
    B[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[0] = B[0] + A_local[io, ii]
