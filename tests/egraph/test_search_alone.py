"""The worked examples of the padded-layout document: what search alone makes of the program before any rewriting.

Each is the program after the document's layout transformations, and the form the document ends with. The search must
end as cheap or cheaper, by the same prices, and mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from msgspec.structs import replace

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.search.erase import erase
from ir import to_script
from profiles import some
from texts import read


@dataclass(frozen=True)
class Example:
    """A program as it is given, and as the document leaves it."""

    start: str
    end: str


EXAMPLES = {
    "a store of what is known to be there": Example(
        """
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0)
    B[0] = 0.0
    for i in T.serial(16):
        B[0] = B[0] + A[i]
""",
        """
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0)
    for i in T.serial(16):
        B[0] = B[0] + A[i]
""",
    ),
    "identical conditions, proven and not matched": Example(
        """
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if i < 8:
            A[i] = 0.0
        else:
            A[i] = 1.0
        if i//8 == 0:
            B[i] = 2.0
        else:
            B[i] = 3.0
""",
        """
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if i < 8:
            A[i] = 0.0
            B[i] = 2.0
        else:
            A[i] = 1.0
            B[i] = 3.0
""",
    ),
    "complementary conditions": Example(
        """
def f(A: T.Buffer((4,4), "float32"), B: T.Buffer((4,4), "float32")):
    for i, j in T.grid(4, 4):
        if 4*i + j < 14:
            A[i, j] = 0.0
        else:
            A[i, j] = 1.0
        if i == 3 and j >= 2:
            B[i, j] = 2.0
        else:
            B[i, j] = 3.0
""",
        """
def f(A: T.Buffer((4,4), "float32"), B: T.Buffer((4,4), "float32")):
    for i, j in T.grid(4, 4):
        if 4*i + j < 14:
            A[i, j] = 0.0
            B[i, j] = 3.0
        else:
            A[i, j] = 1.0
            B[i, j] = 2.0
""",
    ),
    "an assumption about a scalar": Example(
        """
def f(A: T.Buffer((16,), "int32"), n: T.int32):
    T.assume(n >= 0 and n < 8)
    for i in T.serial(16):
        A[i] = n//8
""",
        """
def f(A: T.Buffer((16,), "int32"), n: T.int32):
    for i in T.serial(16):
        A[i] = 0
""",
    ),
    "an assumption about a buffer, until it is written": Example(
        """
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)
    if A[0] == B[0]:
        for i in T.serial(16):
            B[0] = B[0] + A[i]
""",
        """
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    if A[0] == 0:
        for i in T.serial(16):
            B[0] = B[0] + A[i]
""",
    ),
    "a condition that is bound to a name": Example(
        """
def f(A: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        c = i < 3
        if c:
            A[i] = 0.0
""",
        """
def f(A: T.Buffer((4,), "float32")):
    for i in T.serial(3):
        A[i] = 0.0
""",
    ),
    "loops shortened by conditions": Example(
        """
def f(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if i == 0 and j < 2:
            A[i, j] = 0.0
""",
        """
def f(A: T.Buffer((4, 4), "float32")):
    for j in T.serial(2):
        A[0, j] = 0.0
""",
    ),
    "elementwise loops": Example(
        """
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
    for i in T.serial(16):
        A[i] = 1.0
""",
        """
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 1.0
""",
    ),
    "a loop that reads what earlier iterations wrote": Example(
        """
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
    for i in T.serial(16):
        if i > 0:
            A[i] = A[i - 1] + 1.0
""",
        """
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
        if i > 0:
            A[i] = A[i - 1] + 1.0
""",
    ),
    "a loop that may not be merged": Example(
        """
def f(A: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        A[i] = i
    for i in T.serial(16):
        if 0 < i < 15:
            A[i] = A[i - 1] + A[i] + A[i+1]
""",
        """
def f(A: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        A[i] = i
    for i in T.serial(16):
        if 0 < i < 15:
            A[i] = A[i - 1] + A[i] + A[i+1]
""",
    ),
    "a convolution whose output is padded": Example(
        """
def f(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in T.serial(14):
        B[i // 4, i % 4] = 0.0
        for f in T.serial(3):
            B[i // 4, i % 4] = B[i // 4, i % 4] + F[f]*A[(i + f) // 4, (i + f) % 4]
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0
""",
        """
def f(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 0.0
        for f in T.serial(3):
            B[io, ii] = B[io, ii] + F[f]*A[io + (ii + f) // 4, (ii + f) % 4]
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0
""",
    ),
    "overcompute, seen from the other side": Example(
        """
def f(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 0.0
        for f in T.serial(3):
            B[io, ii] = B[io, ii] + F[f]*A[io + (ii + f) // 4, (ii + f) % 4]
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0
""",
        """
def f(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        if io < 3 or (io == 3 and ii < 2):
            B[io, ii] = 0.0
            for f in T.serial(3):
                B[io, ii] = B[io, ii] + F[f]*A[io + (ii + f) // 4, (ii + f) % 4]
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0
""",
    ),
    "padding is never written": Example(
        """
def f(A: T.Buffer((4, 4), "int32")):
    for i in T.serial(14):
        A[i // 4, i % 4] = 42
""",
        """
def f(A: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 0 <= 4 * io + ii < 14:
            A[io, ii] = 42
""",
    ),
    "padding is never read": Example(
        """
def f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i // 4, i % 4]
""",
        """
def f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for io, ii in T.grid(4, 4):
        if 0 <= 4 * io + ii < 14:
            B[0] = B[0] + A[io, ii]
""",
    ),
    "an internal padded buffer": Example(
        """
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((4, 4), "int32")
    for i in T.serial(14):
        A_local[i//4, i%4] = A[i]
    for io, ii in T.grid(4, 4):
        if 4*io + ii >= 14:
            A_local[io, ii] = 0
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A_local[i // 4, i % 4]
""",
        """
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        if 4*io + ii < 14:
            A_local[io, ii] = A[4*io + ii]
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            A_local[io, ii] = 0
    B[0] = 0
    for io, ii in T.grid(4, 4):
        B[0] = B[0] + A_local[io, ii]
""",
    ),
    "the next operator's default is written": Example(
        """
def f(A: T.Buffer((4,4), "int32")):
    for i in T.serial(14):
        A[i//4, i%4] = 1000 + i
    for io, ii in T.grid(4, 4):
        if 4*io + ii >= 14:
            A[io, ii] = 0
""",
        """
def f(A: T.Buffer((4,4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4*io + ii < 14:
            A[io, ii] = 1000 + (4*io + ii)
        else:
            A[io, ii] = 0
""",
    ),
    "the next operator's default is used": Example(
        """
def f(A: T.Buffer((4,4), "int32"), B: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4*io + ii < 14 or A[io, ii] == 0)
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i // 4, i % 4]
""",
        """
def f(A: T.Buffer((4,4), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for io, ii in T.grid(4, 4):
        B[0] = B[0] + A[io, ii]
""",
    ),
    "the default is written implicitly, offset layout": Example(
        """
def f(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((io == 0 and ii >= 2) or (io > 0 and io < 2) or (io == 2 and ii < 2) or A[io, ii] == 0.0)
    for Bi in T.serial(18):
        B[(Bi + 2) // 8, (Bi + 2) % 8] = 0.0
        for fi in T.serial(3):
            Ai = Bi - fi
            if 0 <= Ai < 16:
                B[(Bi + 2) // 8, (Bi + 2) % 8] = B[(Bi + 2) // 8, (Bi + 2) % 8] + F[fi] * A[(Ai + 2) // 8, (Ai + 2) % 8]
    for io, ii in T.grid(3, 8):
        if (io == 0 and ii < 2) or (io == 2 and ii >= 4):
            B[io, ii] = 0.0
""",
        """
def f(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        B[io, ii] = 0.0
    for io, ii in T.grid(3, 8):
        for fi in T.serial(3):
            B[(io + (ii + fi)//8) % 3, (ii + fi) % 8] = B[(io + (ii + fi)//8) % 3, (ii + fi) % 8] + F[fi] * A[io, ii]
""",
    ),
    "the offset layout, iterated in its order": Example(
        """
def f(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((io == 0 and ii >= 2) or (io > 0 and io < 2) or (io == 2 and ii < 2) or A[io, ii] == 0.0)
    for io, ii in T.grid(3, 8):
        if 0 <= 8*io + ii - 2 < 18:
            B[io, ii] = 0.0
    for io, ii in T.grid(3, 8):
        for fi in T.serial(3):
            if 0 <= 8*io + ii - 2 < 16 and 0 <= 8*io + ii + fi - 2 < 18:
                B[io + (ii + fi)//8, (ii + fi) % 8] = B[io + (ii + fi)//8, (ii + fi) % 8] + F[fi] * A[io, ii]
    for io, ii in T.grid(3, 8):
        if (io == 0 and ii < 2) or (io == 2 and ii >= 4):
            B[io, ii] = 0.0
""",
        """
def f(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        B[io, ii] = 0.0
    for io, ii in T.grid(3, 8):
        for fi in T.serial(3):
            B[(io + (ii + fi)//8) % 3, (ii + fi) % 8] = B[(io + (ii + fi)//8) % 3, (ii + fi) % 8] + F[fi] * A[io, ii]
""",
    ),
    "elementwise over padding": Example(
        """
def f(A: T.Buffer((4,4), "int32"), B: T.Buffer((4,4), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4*io + ii < 14 or A[io, ii] == T.undef())
    for i in T.serial(14):
        B[i//4, i%4] = 2*A[i // 4, i % 4]
    for io, ii in T.grid(4, 4):
        if 4*io + ii >= 14:
            B[io, ii] = T.undef()
""",
        """
def f(A: T.Buffer((4,4), "int32"), B: T.Buffer((4,4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 2*A[io, ii]
""",
    ),
    "several semantics on one buffer": Example(
        """
def f(A: T.Buffer((4,4,8,8), "int32"), B: T.Buffer((4,4), "int32")):
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        T.assume(8*jo + ji < 60 or A[io, ii, jo, ji] == 0)
    for io, ii, j in T.grid(4, 4, 60):
        T.assume(4*io + ii < 14 or A[io, ii, j//8, j%8] == T.undef())
    for i in T.serial(14):
        B[i//4, i%4] = 0
        for j in T.serial(60):
            B[i//4, i%4] = B[i//4, i%4] + A[i // 4, i % 4, j//8, j%8]
    for io, ii in T.grid(4, 4):
        if 4*io + ii >= 14:
            B[io, ii] = T.undef()
""",
        """
def f(A: T.Buffer((4,4,8,8), "int32"), B: T.Buffer((4,4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 0
        for jo, ji in T.grid(8, 8):
            B[io, ii] = B[io, ii] + A[io, ii, jo, ji]
""",
    ),
    "caches of inputs and outputs": Example(
        """
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((4, 4), "float32")
    B_cache = T.alloc_buffer((4, 4), "float32")
    for i in T.serial(14):
        A_cache[i // 4, i % 4] = A[i]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            A_cache[io, ii] = -1.0
    for i in T.serial(14):
        B_cache[i // 4, i % 4] = 2.0 * A_cache[i // 4, i % 4]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B_cache[io, ii] = -2.0
    for i in T.serial(14):
        B[i] = B_cache[i // 4, i % 4]
""",
        """
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((4, 4), "float32")
    B_cache = T.alloc_buffer((4, 4), "float32")
    for i in T.serial(14):
        A_cache[i // 4, i % 4] = A[i]
    for i in T.serial(14):
        B_cache[i // 4, i % 4] = 2.0 * A_cache[i // 4, i % 4]
    for i in T.serial(14):
        B[i] = B_cache[i // 4, i % 4]
""",
    ),
    "the stage that writes the padding": Example(
        """
def f(B: T.Buffer((4, 4), "float32"), A: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        T.assume(4*io + ii < 14 or A[io, ii] == -1.0)
    for i in T.serial(14):
        B[i//4, i%4] = 2.0*A[i//4, i%4]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = -2.0
""",
        """
def f(B: T.Buffer((4, 4), "float32"), A: T.Buffer((4, 4), "float32")):
    for i in T.serial(14):
        B[i//4, i%4] = 2.0*A[i//4, i%4]
    for ii in T.serial(2):
        B[3, 2 + ii] = -2.0
""",
    ),
    "a layout without padding": Example(
        """
def f(A: T.Buffer((4, 4), "int32")):
    for i in T.serial(16):
        A[i // 4, i % 4] = i
""",
        """
def f(A: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        A[io, ii] = 4*io + ii
""",
    ),
    "index terms at their outermost loop": Example(
        """
def f(n_i: T.int32, n_j: T.int32, n_k: T.int32, n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    T.assume(n_i * n_j * n_k == n)
    for i, j, k in T.grid(n_i, n_j, n_k):
        A[i*n_j*n_k + j*n_k + k] = B[i*n_j*n_k + j*n_k + k]
""",
        """
def f(n_i: T.int32, n_j: T.int32, n_k: T.int32, n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    stride = n_j * n_k
    for i in T.serial(n_i):
        it = i * stride
        for j in T.serial(n_j):
            ijt = it + j * n_k
            for k in T.serial(n_k):
                idx = ijt + k
                A[idx] = B[idx]
""",
    ),
}


def cost(text: str) -> float:
    """What a program costs as it stands, without what is erased after a search."""
    func = read(text)
    return optimize(replace(func, body=erase(func.body)), rules=()).cost_before


@pytest.mark.parametrize("example", some(EXAMPLES.values(), 2), ids=EXAMPLES.keys())
def test_search_alone_ends_as_cheap_as_the_document(example: Example) -> None:
    func = read(example.start)
    result = optimize(func)
    assert result.variants[0][1] <= cost(example.end) + 1e-6, to_script(result.best)
    assert assert_refines(func, result.best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize("example", some(EXAMPLES.values(), 8), ids=EXAMPLES.keys())
def test_the_document_s_last_form_means_the_same(example: Example) -> None:
    assert assert_refines(read(example.start), read(example.end), np.random.default_rng(1)) > 0
