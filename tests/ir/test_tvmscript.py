"""Programs in the styles in which TVM's users write them: read, printed, checked, run, and optimized."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import parse, to_script
from ir.nodes import FLOAT_FUNCTIONS, Block, For, Let, PrimFunc
from ir.semantics.interpret import interpret
from ir.semantics.verify import verify
from ir.traverse import walk
from profiles import some

Array = np.ndarray
Case = tuple[str, Callable[..., Array]]


def read(text: str) -> PrimFunc:
    """The one kernel of a text, which prints as it is read and has a meaning."""
    func = parse(text).funcs[0]
    assert parse(to_script(func)).funcs[0] == func
    verify(func)
    return func


def arguments(func: PrimFunc) -> list[Array]:
    rng = np.random.default_rng(0)
    shapes = [(tuple(int(e.value) for e in b.shape), b.dtype.numpy) for b in func.buffers]
    return [rng.integers(-4, 5, shape).astype(dtype) for shape, dtype in shapes]


# With numbers that floats hold exactly, so that results are compared bit for bit.
PROGRAMS: dict[str, Case] = {
    "matmul": (
        """
@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle) -> None:
    T.func_attr({"global_symbol": "matmul", "tir.noalias": T.bool(True)})
    A = T.match_buffer(a, [6, 8])
    B = T.match_buffer(b, [5, 8])
    C = T.match_buffer(c, [6, 5])
    for i, j, k in T.grid(6, 5, 8):
        with T.sblock("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(C[vi, vj], A[vi, vk], B[vj, vk])
            T.writes([C[vi, vj]])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vj, vk]
""",
        lambda a, b: a @ b.T,
    ),
    "one name for a grid": (
        """
@T.prim_func(private=True)
def transpose(A: T.Buffer((3, 4, 2), "float32"), B: T.Buffer((4, 3, 2), "float32")):
    for ax in T.grid(*B.shape):
        with T.sblock("copy"):
            v0, v1, v2 = T.axis.remap("SSS", ax)
            B[v0, v1, v2] = A[v1, v0, v2]
""",
        lambda a: a.transpose(1, 0, 2),
    ),
    "starred names": (
        """
@T.prim_func
def bias(A: T.Buffer((3, 4, 2), "float32"), D: T.Buffer((2,), "float32"), B: T.Buffer((3, 4, 2), "float32")):
    for *outer, c in T.grid(3, 4, 2):
        B[*outer, c] = T.max(A[(*outer, c)] + D[c], T.min_value("float32"))
""",
        lambda a, d: a + d,
    ),
    "steps": (
        """
@T.prim_func
def pool(A: T.Buffer((13,), "int32"), B: T.Buffer((13,), "int32")):
    for i in T.serial(0, 13):
        B[i] = T.min_value("int32")
    for i in T.serial(1, 13, step=4):
        for j in T.unroll(4):
            if i + j < 13:
                B[i] = T.max(B[i], A[i + j])
    for i in range(0, 13, 4):
        B[i] = i
""",
        lambda a: np.array([
            i if i % 4 == 0 else max(a[i : i + 4]) if i % 4 == 1 else -(2**31) for i in range(13)
        ]),
    ),
    "steps of a block's axis": (
        """
@T.prim_func
def stride(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i in T.thread_binding(10, thread="threadIdx.x"):
        B[i] = 0.0
    for i in T.parallel(T.int64(0), T.int64(10), step=3):
        with T.sblock("odd"):
            v = T.axis.remap("S", [i])
            B[v] = A[v] * T.float32(2)
""",
        lambda a: np.where(np.arange(10) % 3 == 0, 2 * a, 0),
    ),
    "conv with padding": (
        """
@T.prim_func
def conv2d(X: T.Buffer((1, 3, 6, 6), "float32"), W: T.Buffer((2, 3, 3, 3), "float32"),
           Y: T.Buffer((1, 2, 6, 6), "float32")):
    with T.sblock("root"):
        pad = T.sblock_alloc_buffer((1, 3, 8, 8))
        for i0, i1, i2, i3 in T.grid(1, 3, 8, 8):
            with T.sblock("pad_temp"):
                n, c, h, w = T.axis.remap("SSSS", [i0, i1, i2, i3])
                pad[n, c, h, w] = T.if_then_else(
                    1 <= h and h < 7 and T.And(1 <= w, w < 7), X[n, c, h - 1, w - 1], T.float32(0), dtype="float32")
        for *o, rc, ry, rx in T.grid(1, 2, 6, 6, 3, 3, 3):
            with T.sblock("conv"):
                n, k, y, x, vc, vy, vx = T.axis.remap("SSSSRRR", [*o, rc, ry, rx])
                with T.init():
                    Y[n, k, y, x] = T.float32(0.0)
                Y[n, k, y, x] = Y[n, k, y, x] + pad[n, vc, y + vy, x + vx] * W[k, vc, vy, vx]
""",
        lambda x, w: np.array([[[[
            (np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))[0, :, i : i + 3, j : j + 3] * w[k]).sum()
            for j in range(6)] for i in range(6)] for k in range(2)]]),
    ),
    "cached stages": (
        """
@T.prim_func
def cached(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    A_shared = T.alloc_buffer((8, 8), scope="shared", strides=[8, 1])
    B_local = T.decl_buffer([8, 8], "float32", scope="local")
    for io in T.thread_binding(2, thread="blockIdx.x"):
        for ax0, ax1 in T.grid(4, 8):
            with T.sblock("A_shared"):
                v0 = T.axis.spatial(8, io * 4 + ax0)
                v1 = T.axis.spatial(8, ax1)
                T.reads(A[v0, v1])
                T.writes(A_shared[v0, v1])
                T.sblock_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
                A_shared[v0, v1] = A[v0, v1]
        for ii, j in T.grid(T.ceildiv(7, 2), 8):
            with T.sblock("B_local"):
                vi = T.axis.spatial(8, io * 4 + ii)
                vj = T.axis.spatial(8, j)
                B_local[vi, vj] = A_shared[vi, T.bitwise_xor(vj, 1)] + T.Cast("float32", vi)
        for ii in T.serial(4, annotations={"pragma": 1}):
            for j in T.vectorized(8):
                with T.sblock("B"):
                    vi = T.axis.spatial(8, io * 4 + ii)
                    vj = T.axis.spatial(8, j)
                    B[vi, vj] = B_local[vi, vj]
""",
        lambda a: a[:, np.arange(8) ^ 1] + np.arange(8)[:, None],
    ),
    "rfactor": (
        """
@T.prim_func
def square_sum(A: T.Buffer((2, 16), "float32"), B: T.Buffer((2,), "float32")):
    rf = T.alloc_buffer([4, 2])
    for b, ko, ki in T.grid(2, 4, 4):
        with T.block("rf"):
            vki, vb, vko = T.axis.remap("SSR", [ki, b, ko])
            with T.init():
                rf[vki, vb] = 0
            rf[vki, vb] += T.power(A[vb, T.shift_left(vko, 2) + vki], 2)
    for b, ki in T.grid(2, 4):
        with T.block("final"):
            vki, vb = T.axis.remap("RS", [ki, b])
            with T.init():
                B[vb] = T.float32(0)
            B[vb] = B[vb] + rf[vki, vb]
""",
        lambda a: (a * a).sum(1),
    ),
    "tensorized": (
        """
@T.prim_func
def tiles(A: T.Buffer((8, 8), "float32"), B: T.Buffer((1, 8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for io, jo, ko in T.grid(2, 2, 2):
        with T.sblock("update_o"):
            vio, vjo, vko = T.axis.remap("SSR", [io, jo, ko])
            T.reads(A[vio * 4:vio * 4 + 4, vko * 4:vko * 4 + 4], B[0, vjo * 4:vjo * 4 + 4, vko * 4:vko * 4 + 4])
            T.writes(C[vio * 4:vio * 4 + 4, vjo * 4:vjo * 4 + 4])
            s0, s1 = T.int32(), T.int32()
            a = T.match_buffer(A[vio * 4:vio * 4 + 4, vko * 4:vko * 4 + 4], [4, 4], strides=[s0, 1], offset_factor=4)
            b = T.match_buffer(B[0, vjo * 4:vjo * 4 + 4, vko * 4:vko * 4 + 4], (4, 4), "float32", strides=[s1, 1])
            c = T.match_buffer(C[vio * 4:vio * 4 + 4, vjo * 4:vjo * 4 + 4], (4, 4), "float32", scope="global")
            with T.init():
                for i, j in T.grid(4, 4):
                    with T.sblock("init"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        c[vi, vj] = 0
            for i, j, k in T.grid(*c.shape, 4):
                with T.sblock("update"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.reads(c[vi, vj], a[vi, vk], b[vj, 0:4])
                    T.writes(c[vi, vj])
                    c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vj, vk]
""",
        lambda a, b: a @ b[0].T,
    ),
    "reindexed, with a tail": (
        """
@T.prim_func
def flat(A: T.Buffer((3, 4, 5), "int32"), B: T.Buffer((3, 4, 5), "int32")):
    for fo, fi in T.grid(T.ceildiv(60, 7), 7):
        with T.block("B"):
            T.where(T.likely(fo * 7 + fi < 60))
            v0 = T.axis.spatial(3, T.floordiv(fo * 7 + fi, 20))
            v1 = T.axis.spatial(4, T.indexdiv(T.indexmod(fo * 7 + fi, 20), 5))
            v2 = T.axis.spatial(5, T.truncmod(fo * 7 + fi, 5))
            x: T.let[T.int32] = T.bind(A[v0, v1, v2])
            B[v0, v1, v2] = T.max(x, 0) + T.Select(x == T.max_value("int32"), x, T.abs(x))
""",
        lambda a: np.maximum(a, 0) + abs(a),
    ),
    "floats of integers": (
        """
@T.prim_func
def ramp(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
    for i in range(9):
        with T.LetStmt(T.round(A[i] * T.float32(0.5))) as r:
            B[i] = i * i
            B[i] += T.trunc(A[i] * 0.25) + T.nearbyint(r) + T.ceil(A[i] * 0.5)
            B[i] = T.if_then_else(T.isnan(B[i]) or not T.isfinite(B[i]) or T.isinf(B[i]), T.float32(0), B[i])
    T.evaluate(0)
""",
        lambda a: np.arange(9) ** 2 + np.trunc(a / 4) + np.round(a / 2) + np.ceil(a / 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_what_numpy_does(name: str) -> None:
    text, reference = PROGRAMS[name]
    func = read(text)
    given = arguments(func)
    *_, found = interpret(func, *given)
    np.testing.assert_array_equal(found, reference(*given[:-1]))


@pytest.mark.parametrize("name", some(list(PROGRAMS), 2))
def test_programs_are_optimized(name: str) -> None:
    func = parse(PROGRAMS[name][0]).funcs[0]
    assert assert_refines(func, optimize(func).best, np.random.default_rng(0), runs=1) > 0


def test_a_stepped_loop_counts_its_steps() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((20,), "int32"), n: T.int32):\n    T.assume(n <= 20)\n'
    func = read(f"{text}    for i in range(2, n, 3):\n        A[i] = i\n")
    loop = next(s for s in walk(func.body) if isinstance(s, For))
    assert (to_script(loop.extent), loop.var.name) == ("(n - 2 + 2) // 3", "i_step")
    assert isinstance(loop.body, Let) and to_script(loop.body.value) == "2 + i_step * 3"
    for n in (-7, 2, 3, 5, 6, 20):
        (found,) = interpret(func, np.zeros(20, np.int32), n)
        assert list(found) == [i if i in range(2, n, 3) else 0 for i in range(20)]


def test_an_axis_of_a_stepped_loop_has_the_domain_of_its_values() -> None:
    block = next(s for s in walk(read(PROGRAMS["steps of a block's axis"][0]).body) if isinstance(s, Block))
    assert [(to_script(a.start), to_script(a.extent)) for a in block.axes] == [("T.int64(0)", "T.int64(10)")]


def test_a_view_is_its_buffer() -> None:
    text = to_script(read(PROGRAMS["tensorized"][0]))
    assert "match_buffer" not in text
    assert "C[vio * 4 + vi, vjo * 4 + vj] + A[vio * 4 + vi, vko * 4 + vk] * B[0, vjo * 4 + vj, vko * 4 + vk]" in text
    assert "B[0, vjo * 4 + vj, vko * 4:vko * 4 + 4])" in text


@pytest.mark.parametrize("name", (*FLOAT_FUNCTIONS, "exp10"))
def test_functions_of_floats_have_their_names(name: str) -> None:
    func = read(f"@T.prim_func\ndef f(A: T.Buffer((1,), 'float32')):\n    A[0] = T.{name}(A[0])\n")
    reference = {"exp10": lambda a: 10**a, "rsqrt": lambda a: a**-0.5, "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
                 "erf": lambda a: 0.5204998778, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}  # fmt: skip
    (found,) = interpret(func, np.array([0.5], np.float32))
    assert found[0] == pytest.approx(reference.get(name, getattr(np, name, None))(0.5), rel=1e-6)
