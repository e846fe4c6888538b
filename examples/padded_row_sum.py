"""Sum of each row of a [4096, 1022] matrix stored as [4096, 256, 4]: the last two columns are padding that holds zero.

The guard keeps the padding out of the sum. It is needless, because adding 0.0 changes nothing, and it is dear, because
a masked reduction is several times slower than a plain one. `loopsat optimize examples/padded_row_sum.py` removes it.
"""

from ir import script as T


@T.prim_func
def row_sum(A: T.Buffer((4096, 256, 4), "float32"), B: T.Buffer((4096,), "float32")):
    for i, jo, ji in T.grid(4096, 256, 4):
        T.assume(4 * jo + ji < 1022 or A[i, jo, ji] == 0.0)
    for i in T.serial(4096):
        B[i] = 0.0
        for jo, ji in T.grid(256, 4):
            if 4 * jo + ji < 1022:
                B[i] = B[i] + A[i, jo, ji]
