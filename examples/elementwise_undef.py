"""Doubling 14 values stored as [4, 4], where the padding may hold anything, before and after.

The assumption says that reading A's padding is fine and its value arbitrary; the stores of `T.undef()` say that nobody
looks at B's padding. So the guard goes, and with it the stores.
"""

from ir import script as T


@T.prim_func
def double(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or A[io, ii] == T.undef())
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 2 * A[io, ii]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = T.undef()
