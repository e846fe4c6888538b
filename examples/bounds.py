"""What must be computed where: bounds of staged programs before and after `compute_at`, `split` and `fuse`.

`loopsat bounds examples/bounds.py` prints a table for each program below; `--svg DIR` also draws them. Run by itself,
the script prints what each iteration asks of the intermediate buffers.
"""

from ir import script as T
from ir import te
from ir.bounds import infer_bounds
from ir.schedule import Schedule


def producer_and_consumer():
    """C is a constant, D doubles it."""
    C = te.compute((5, 16), lambda i, j: 5, name="C")
    D = te.compute((5, 16), lambda i, j: C[i, j] * 2, name="D")
    return te.create_prim_func([D])


# 1. Without compute_at, D asks for all of C.
example_1 = producer_and_consumer()

# 2. C computed in the inner loop of D: one element at a time.
example_2 = Schedule(producer_and_consumer())
i, j = example_2.get_loops("D")
example_2.compute_at("C", j, compact=False)

# 3. C computed in the outer loop of D: a row of 16 at a time.
example_3 = Schedule(producer_and_consumer())
i, j = example_3.get_loops("D")
example_3.compute_at("C", i, compact=False)

# 4. D runs over an axis that C does not have; the attach path holds its loop all the same.
C = te.compute((5, 16), lambda i, j: 5, name="C")
D = te.compute((4, 5, 16), lambda di, dj, dk: C[dj, dk] * 2, name="D")
example_4 = Schedule(te.create_prim_func([D]))
di, dj, dk = example_4.get_loops("D")
example_4.compute_at("C", dk, compact=False)

# 5. After a split, C may be computed in the inner part.
example_5 = Schedule(producer_and_consumer())
i, j = example_5.get_loops("D")
jo, ji = example_5.split(j, [2, 8])
example_5.compute_at("C", ji, compact=False)


def fused_and_split(factor):
    """The loops of C made one and split again, with B computed in the outer part."""
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda bi, bj: A[bi, bj] + 2.0, name="B")
    C = te.compute((4, 4), lambda ci, cj: B[ci, cj] * 3.0, name="C")
    schedule = Schedule(te.create_prim_func([A, C]))
    ci, cj = schedule.get_loops("C")
    xo, _ = schedule.split(schedule.fuse(ci, cj), [None, factor])
    schedule.compute_at("B", xo, compact=False)
    return schedule


# 6. A split by 4 undoes the fuse, and each iteration asks for one row; by 3, it asks for three elements.
example_6 = fused_and_split(4)
example_6_by_3 = fused_and_split(3)

# C computed in D, and D in E.
C = te.compute((5, 16), lambda ci, cj: 5, name="C")
D = te.compute((5, 16), lambda di, dj: C[di, dj] * 2, name="D")
E = te.compute((5, 16), lambda ei, ej: D[ei, ej] * 4, name="E")
nested = Schedule(te.create_prim_func([E]))
nested.compute_at("D", nested.get_loops("E")[1], compact=False)
nested.compute_at("C", nested.get_loops("D")[-1], compact=False)

# D computed in E, and C nowhere: D's loops in E count for what C must have ready.
outside = Schedule(te.create_prim_func([E]))
outside.compute_at("D", outside.get_loops("E")[1], compact=False)


@T.prim_func
def corners(A: T.Buffer((2, 2), "float32"), B: T.Buffer((2, 2), "float32"), S: T.Buffer((4, 4), "float32")):
    """Two consumers ask for opposite corners of X, and not for the square around them."""
    X = T.alloc_buffer((4, 4), "float32")
    for i, j in T.grid(4, 4):
        X[i, j] = S[i, j] + 1.0
    for i, j in T.grid(2, 2):
        A[i, j] = X[i, j]
    for i, j in T.grid(2, 2):
        B[i, j] = X[i + 2, j + 2]


if __name__ == "__main__":
    bounds = infer_bounds(example_6)
    print("split by 4:", bounds.buffer("B")["C"])
    print("split by 3:", infer_bounds(example_6_by_3).buffer("B")["C"])
    print("corners:", infer_bounds(corners).buffer("X").requested)
