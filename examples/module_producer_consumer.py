"""A producer that writes zeros into the padding of its output, and a consumer that may rely on them.

Each function is optimized on its own: the producer's stage writes the padding, the consumer's assumption tells of it.
Pick one with `loopsat optimize examples/module_producer_consumer.py:consumer`.
"""

from ir import script as T


@T.module
class Pipeline:
    @T.prim_func
    def producer(A: T.Buffer((4, 4), "int32")):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                A[io, ii] = 1000 + 4 * io + ii
        for io, ii in T.grid(4, 4):
            if 4 * io + ii >= 14:
                A[io, ii] = 0

    @T.prim_func
    def consumer(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
        for io, ii in T.grid(4, 4):
            T.assume(4 * io + ii < 14 or A[io, ii] == 0)
        B[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[0] = B[0] + A[io, ii]
