"""Tensor expressions: the kernels that they make, compared with NumPy, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import interpret, parse, te, to_script, verify
from ir import script as T
from ir.errors import LoopsatError
from ir.nodes import Alloc, Block, For, PrimFunc
from ir.traverse import walk


def blocks(func: PrimFunc) -> list[Block]:
    return [s for s in walk(func.body) if isinstance(s, Block)]


def checked(func: PrimFunc) -> PrimFunc:
    """The function, which verifies and survives printing."""
    verify(func)
    assert parse(to_script(func)).funcs[0] == func
    return func


def test_stages_become_blocks_in_order_of_use() -> None:
    A = te.placeholder((4, 6), "int32", name="A")
    B = te.compute((4, 6), lambda bi, bj: A[bi, bj] + bi, name="B")
    C = te.compute((6, 4), lambda ci, cj: B[cj, ci] * 3, name="C")
    func = checked(te.create_prim_func([A, C]))
    assert [b.name for b in blocks(func)] == ["B", "C"]
    assert [s.var.name for s in walk(func.body) if isinstance(s, For)] == ["bi", "bj", "ci", "cj"]
    assert [a.var.name for a in blocks(func)[1].axes] == ["v_ci", "v_cj"]
    assert [s.buffer.name for s in walk(func.body) if isinstance(s, Alloc)] == ["B"]
    a = np.arange(24, dtype=np.int32).reshape(4, 6)
    (c,) = interpret(func, a)
    np.testing.assert_array_equal(c, ((a + np.arange(4)[:, None]) * 3).T)


def test_a_listed_stage_is_returned() -> None:
    A = te.placeholder((3,), "int32", name="A")
    B = te.compute((3,), lambda i: A[i] + 1, name="B")
    C = te.compute((3,), lambda i: B[i] * 2, name="C")
    func = checked(te.create_prim_func([C, A, B]))
    assert [p.name for p in func.params] == ["C", "A", "B"]
    assert not any(isinstance(s, Alloc) for s in walk(func.body))
    c, b = interpret(func, None, np.array([1, 2, 3], np.int32))
    np.testing.assert_array_equal((b, c), ([2, 3, 4], [4, 6, 8]))


@given(st.sampled_from(["sum", "prod", "min", "max"]), st.integers(0, 2), st.integers(1, 4), st.integers(1, 3))
def test_reductions_agree_with_numpy(name: str, low: int, extent: int, rows: int) -> None:
    A = te.placeholder((rows, low + extent), "int32", name="A")
    k = te.reduce_axis((low, low + extent), name="k")
    reduction: Callable[..., te.Reduction] = getattr(te, name)
    B = te.compute((rows,), lambda i: reduction(A[i, k], axis=k), name="B")
    func = checked(te.create_prim_func([A, B]))
    a = np.random.default_rng(rows).integers(-3, 4, (rows, low + extent), np.int32)
    np.testing.assert_array_equal(interpret(func, a)[0], getattr(np, name)(a[:, low:], axis=1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8"])
def test_extrema_start_from_limits(dtype: str) -> None:
    A = te.placeholder((4,), dtype, name="A")
    k = te.reduce_axis((0, 4), name="k")
    func = te.create_prim_func([A, te.compute((), lambda: te.max(A[k], axis=[k]), name="B")])
    a = np.full(4, 3, dtype) if dtype == "uint8" else np.full(4, -3, dtype)
    assert interpret(func, a)[0] == a[0]


def test_matrix_product_with_symbolic_sizes() -> None:
    n, m, p = te.var("n"), te.var("m"), te.var("p")
    A, B = te.placeholder((n, p), name="A"), te.placeholder((p, m), name="B")
    k = te.reduce_axis((0, p), name="k")
    func = checked(
        te.create_prim_func([A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")])
    )
    a, b = np.random.default_rng(0).random((3, 5), np.float32), np.random.default_rng(1).random((5, 2), np.float32)
    np.testing.assert_allclose(interpret(func, a, b, n=3, m=2)[0], a @ b, rtol=1e-5)


def test_listed_sizes_are_parameters() -> None:
    n = te.var("n", "int64")
    func = checked(te.create_prim_func([n, te.compute((4,), lambda i: T.cast(i, "int64") * n, name="A")]))
    assert func.scalars == (n,)
    np.testing.assert_array_equal(interpret(func, 3)[0], [0, 3, 6, 9])


def test_several_outputs_of_one_stage() -> None:
    A = te.placeholder((2, 3), "int32", name="A")
    k = te.reduce_axis((0, 3), name="k")
    low, high = te.compute((2,), lambda i: (te.min(A[i, k], axis=k), te.max(A[i, k], axis=k)), name="range")
    D = te.compute((2,), lambda i: high[i] - low[i], name="D")
    func = checked(te.create_prim_func([A, D, high]))
    assert [b.name for b in blocks(func)] == ["range", "D"]
    a = np.array([[3, 1, 2], [5, 9, 7]], np.int32)
    d, h = interpret(func, a)
    np.testing.assert_array_equal((d, h), ([2, 4], [3, 9]))


def test_names_default_and_never_clash() -> None:
    n = te.var("n")
    A = te.placeholder((n,), "int32")
    B = te.compute((n,), lambda n: A[n] + 1)
    C = te.compute((n,), lambda compute: B[compute] + 1)
    D = te.compute((n,), lambda *i: C[i] + C[i[0]], name="compute")
    func = checked(te.create_prim_func([A, D]))
    assert len({b.name for b in blocks(func)}) == 3
    np.testing.assert_array_equal(interpret(func, np.array([1, 2], np.int32), n=2)[0], [6, 8])


def test_reduce_axes_of_one_name_are_two() -> None:
    A = te.placeholder((2, 3), "int32", name="A")
    rows, columns = te.reduce_axis((0, 2), name="k"), te.reduce_axis((0, 3), name="k")
    func = checked(
        te.create_prim_func([A, te.compute((1,), lambda i: te.sum(A[rows, columns], axis=[rows, columns]), name="S")])
    )
    assert interpret(func, np.arange(6, dtype=np.int32).reshape(2, 3))[0] == 15


def test_empty_extents() -> None:
    A = te.placeholder((0, 3), "int32", name="A")
    func = checked(te.create_prim_func([A, te.compute((0, 3), lambda i, j: A[i, j] + 1, name="B")]))
    assert interpret(func, np.zeros((0, 3), np.int32))[0].shape == (0, 3)


def test_a_long_chain_needs_no_recursion() -> None:
    tensor = te.placeholder((2,), "int32", name="A")
    first = tensor
    for _ in range(1500):
        last = tensor
        tensor = te.compute((2,), lambda i, last=last: last[i])
    stages = te._Builder((first, tensor), None)
    assert tensor.stage is not None
    stages._visit(tensor.stage)
    assert len(stages.stages) == 1500


A = te.placeholder((4, 4), name="A")
K = te.reduce_axis((0, 4), name="K")
N = te.var("unlisted")
REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("rank", lambda: A[0]),
    ("rank", lambda: te.compute((4,), lambda i, j: A[i, j])),
    ("iteration", lambda: list(A)),
    ("dtype-mismatch", lambda: A[0, 1.5]),
    ("dtype-mismatch", lambda: te.placeholder((2.5,))),  # pyright: ignore
    ("unknown-dtype", lambda: te.placeholder((2,), "flaot32")),
    ("value", lambda: te.compute((4,), lambda i: A)),
    ("value", lambda: te.compute((4,), lambda i: None)),
    ("value", lambda: te.compute((4,), lambda i: ())),
    ("nested-reduction", lambda: te.compute((4,), lambda i: 1 + te.sum(A[i, K], axis=K))),
    ("nested-reduction", lambda: te.compute((4,), lambda i: A[i, 0] * te.sum(A[i, K], axis=K))),
    ("nested-reduction", lambda: te.compute((4,), lambda i: te.sum(te.sum(A[i, K], axis=K), axis=K))),
    ("reduction", lambda: te.sum(A[0, K], axis=[])),
    ("reduction", lambda: te.compute((4,), lambda i: (te.sum(A[i, K], axis=K), A[i, 0]))),
    ("reduce-axis", lambda: te.create_prim_func([A, te.compute((4,), lambda i: A[i, K])])),
    ("unlisted-input", lambda: te.create_prim_func([te.compute((4,), lambda i: A[i, 0])])),
    ("no-output", lambda: te.create_prim_func([A])),
    ("arguments", lambda: te.create_prim_func([A, A])),
    ("arguments", lambda: te.create_prim_func([A, 3])),  # pyright: ignore
    ("unknown-size", lambda: te.create_prim_func([A, te.compute((4,), lambda i: A[i, 0] * T.cast(N, "float32"))])),
    ("load-out-of-bounds", lambda: te.create_prim_func([A, te.compute((4,), lambda i: A[i, i + 1])])),
    ("dtype-mismatch", lambda: te.create_prim_func([A, te.compute((4,), lambda i: A[i, 0] + i)])),
    ("extent", lambda: te.create_prim_func([te.compute((-1,), lambda i: i)])),
    ("name", lambda: te.var("2n")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "build"), REFUSED)
def test_refusals_name_the_line_of_the_script(code: str, build: Callable[[], object]) -> None:
    with pytest.raises(LoopsatError) as caught:
        build()
    assert caught.value.code == code
    assert caught.value.help or code in ("dtype-mismatch", "extent")
    assert caught.value.span is None or caught.value.span.file == __file__


def test_an_index_of_another_stage_is_refused() -> None:
    kept: list[te.Axis] = []

    def first(i: te.Axis) -> object:
        kept.append(i)
        return A[i, 0]

    B = te.compute((4,), first, name="B")
    with pytest.raises(LoopsatError, match="index of another stage"):
        te.create_prim_func([A, te.compute((4,), lambda j: B[j] + A[kept[0], j])])
