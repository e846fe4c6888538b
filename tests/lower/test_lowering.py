"""Every form and danger of lowering: compiled kernels give what the interpreter gives, in the form that is due."""

# ruff: noqa: E501, C408
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ir import parse
from ir.errors import LowerError
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from lower import compile, emit, export, stablehlo_text
from profiles import some

CASES: dict[str, tuple[str, dict[str, int]]] = {}


def case(name: str, params: str, body: str, scal: dict[str, int] | None = None) -> None:
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    CASES[name] = (f"from ir import script as T\n@T.prim_func\ndef f({params}):\n{lines}\n", scal or {})


A1 = 'A: T.Buffer((16,),"float32")'
B1 = 'B: T.Buffer((16,),"float32")'
case("readwrite_param", A1, "for i in T.serial(16):\n    A[i] = A[i] * 2.0 + 1.0")
case("partial_write", A1 + "," + B1, "for i in T.serial(10):\n    B[i+3] = A[i]")
case("anti", A1, "for i in T.serial(15):\n    A[i] = A[i+1]")
case("flow", A1, "for i in T.serial(15):\n    A[i+1] = A[i]")
case("scalar_reduce", A1 + ',B: T.Buffer((1,),"float32")', "B[0] = 0.0\nfor i in T.serial(16):\n    B[0] = B[0] + A[i]")
case("zero_extent", A1 + "," + B1, "for i in T.serial(0):\n    B[i] = A[i]\nfor i in T.serial(4):\n    B[i] = 1.0")
for dtype in ("int8", "int32", "int64", "uint8", "uint64"):
    case(
        f"bits_{dtype}",
        f'A: T.Buffer((16,),"{dtype}"),B: T.Buffer((16,),"{dtype}")',
        "for i in T.serial(16):\n    B[i] = T.popcount(A[i]) * 2 + T.clz(A[i] // 2)",
    )
for dtype in ("float16", "float32", "float64"):
    case(
        f"points_{dtype}",
        f'A: T.Buffer((16,),"{dtype}"),B: T.Buffer((16,),"{dtype}"),D: T.Buffer((16,),"{dtype}")',
        "for i in T.serial(16):\n    D[i] = T.atan2(A[i], B[i]) + T.hypot(A[i], B[15 - i])",
    )
case("start", A1 + "," + B1, "for i in T.serial(2, 9):\n    B[i] = A[i-2] + 1.0")
case("data_guard", A1 + "," + B1, "for i in T.serial(16):\n    if A[i] > 0.0:\n        B[i] = A[i]")
case(
    "data_guard_else_inplace",
    A1,
    "for i in T.serial(16):\n    if A[i] < 0.0:\n        A[i] = A[i] + 1.0\n    if A[i] < 0.0:\n        A[i] = 0.0\n    else:\n        A[i] = A[i] * 3.0",
)
case(
    "self_other_index",
    'A: T.Buffer((16,16),"float32")',
    "for i, j in T.grid(15, 16):\n    A[i, j] = A[i+1, 15-j] * 2.0",
)
case("overlap_last", 'A: T.Buffer((8,),"int32")', "for i in T.serial(16):\n    A[i//2] = i")
case(
    "int_sum",
    'A: T.Buffer((5,7),"int32"),B: T.Buffer((5,),"int32")',
    "for i in T.serial(5):\n    B[i] = 7\n    for j in T.serial(7):\n        B[i] = B[i] + A[i,j]*3",
)
case(
    "int8_sum",
    'A: T.Buffer((5,7),"int8"),B: T.Buffer((5,),"int8")',
    "for i in T.serial(5):\n    B[i] = T.int8(0)\n    for j in T.serial(7):\n        B[i] = B[i] + A[i,j]",
)
case(
    "max_mask",
    'A: T.Buffer((4,4,4),"float32"),B: T.Buffer((4,),"float32")',
    "for i in T.serial(4):\n    B[i] = -1000.0\n    for jo, ji in T.grid(4,4):\n        if 4*jo+ji < 14:\n            B[i] = T.max(B[i], A[i,jo,ji])",
)
case(
    "min_int_mask",
    'A: T.Buffer((4,4,4),"int32"),B: T.Buffer((4,),"int32")',
    "for i in T.serial(4):\n    B[i] = 1000\n    for jo, ji in T.grid(4,4):\n        if 4*jo+ji < 14:\n            B[i] = T.min(B[i], A[i,jo,ji])",
)
case(
    "several_out",
    A1 + "," + B1 + ',D: T.Buffer((16,),"float32")',
    "for i in T.serial(16):\n    B[i] = A[i] + 1.0\n    D[i] = B[i] * A[i]",
)
case(
    "matmul",
    'A: T.Buffer((6,5),"float32"),B: T.Buffer((5,7),"float32"),D: T.Buffer((6,7),"float32")',
    "for i, j in T.grid(6,7):\n    D[i,j] = 0.0\n    for k in T.serial(5):\n        D[i,j] = D[i,j] + A[i,k]*B[k,j]",
)
case(
    "gemm_ab",
    'A: T.Buffer((6,5),"float32"),B: T.Buffer((5,7),"float32"),D: T.Buffer((6,7),"float32"), a: T.float32, b: T.float32',
    "for i, j in T.grid(6,7):\n    D[i,j] = D[i,j] * b\n    for k in T.serial(5):\n        D[i,j] = D[i,j] + a*A[i,k]*B[k,j]",
)
case(
    "transpose",
    'A: T.Buffer((6,5),"float32"),B: T.Buffer((5,6),"float32")',
    "for i, j in T.grid(6,5):\n    B[j,i] = A[i,j]",
)
case(
    "jacobi",
    'A: T.Buffer((8,8),"float32"),B: T.Buffer((8,8),"float32")',
    "for t in T.serial(3):\n    for i, j in T.grid(6,6):\n        B[i+1,j+1] = 0.25*(A[i,j+1]+A[i+2,j+1]+A[i+1,j]+A[i+1,j+2])\n    for i, j in T.grid(6,6):\n        A[i+1,j+1] = B[i+1,j+1]",
)
case(
    "conv1d",
    'A: T.Buffer((16,),"float32"),F: T.Buffer((3,),"float32"),B: T.Buffer((14,),"float32")',
    "for i in T.serial(14):\n    B[i] = 0.0\n    for f in T.serial(3):\n        B[i] = B[i] + F[f]*A[i+f]",
)
case(
    "conv1d_44",
    'A: T.Buffer((4,4),"float32"),F: T.Buffer((3,),"float32"),B: T.Buffer((4,4),"float32")',
    "for io, ii in T.grid(4,4):\n    if 4*io+ii < 14:\n        B[io,ii] = 0.0\n        for f in T.serial(3):\n            B[io,ii] = B[io,ii] + F[f]*A[io+(ii+f)//4,(ii+f)%4]",
)
case(
    "conv1d_44_i",
    'A: T.Buffer((4,4),"float32"),F: T.Buffer((3,),"float32"),B: T.Buffer((4,4),"float32")',
    "for i in T.serial(14):\n    B[i//4,i%4] = 0.0\n    for f in T.serial(3):\n        B[i//4,i%4] = B[i//4,i%4] + F[f]*A[(i+f)//4,(i+f)%4]",
)
case(
    "conv_scatter",
    'A: T.Buffer((3,8),"float32"),F: T.Buffer((3,),"float32"),B: T.Buffer((3,8),"float32")',
    "for io, ii in T.grid(3,8):\n    B[io,ii] = 0.0\nfor io, ii in T.grid(3,8):\n    for fi in T.serial(3):\n        if 0 <= 8*io+ii-2 < 16 and 0 <= 8*io+ii+fi-2 < 18:\n            B[io+(ii+fi)//8,(ii+fi)%8] = B[io+(ii+fi)//8,(ii+fi)%8] + F[fi]*A[io,ii]",
)
case(
    "conv_same",
    'A: T.Buffer((16,),"float32"),F: T.Buffer((3,),"float32"),B: T.Buffer((18,),"float32")',
    "for b in T.serial(18):\n    B[b] = 0.0\n    for f in T.serial(3):\n        if 0 <= b - f < 16:\n            B[b] = B[b] + F[f]*A[b-f]",
)
case(
    "conv_long",
    'A: T.Buffer((200,),"float32"),F: T.Buffer((70,),"float32"),B: T.Buffer((131,),"float32")',
    "for i in T.serial(131):\n    B[i] = 0.0\n    for f in T.serial(70):\n        B[i] = B[i] + F[f]*A[i+f]",
)
case(
    "conv2d",
    'A: T.Buffer((2,8,8),"float32"),W: T.Buffer((3,2,3,3),"float32"),B: T.Buffer((3,6,6),"float32")',
    "for o, y, x in T.grid(3,6,6):\n    B[o,y,x] = 0.0\n    for q, dy, dx in T.grid(2,3,3):\n        B[o,y,x] = B[o,y,x] + W[o,q,dy,dx]*A[q,y+dy,x+dx]",
)
case(
    "elementwise44",
    'A: T.Buffer((4,4),"float32"),B: T.Buffer((4,4),"float32")',
    "for io, ii in T.grid(4,4):\n    if 4*io+ii < 14:\n        B[io,ii] = 2.0*A[io,ii]\nfor io, ii in T.grid(4,4):\n    if 4*io+ii >= 14:\n        B[io,ii] = T.undef()",
)
case(
    "split_map",
    'A: T.Buffer((16,),"float32"),B: T.Buffer((4,4),"float32")',
    "for io, ii in T.grid(4,4):\n    B[io,ii] = A[4*io+ii]",
)
case(
    "pool",
    A1 + ',B: T.Buffer((4,),"float32")',
    "for i in T.serial(4):\n    B[i] = 0.0\nfor i in T.serial(16):\n    B[i//4] = B[i//4] + A[i]",
)
case("upsample", 'A: T.Buffer((4,),"float32"),' + B1, "for i in T.serial(16):\n    B[i] = A[i//4]")
case("reverse", A1 + "," + B1, "for i in T.serial(16):\n    B[15-i] = A[i]\n")
case("strided", 'A: T.Buffer((32,),"float32"),' + B1, "for i in T.serial(16):\n    B[i] = A[2*i+1]")
case(
    "diag",
    'A: T.Buffer((6,6),"float32"),B: T.Buffer((6,),"float32")',
    "for i in T.serial(6):\n    B[i] = A[i,i]\n    A[i,i] = 0.0",
)
case(
    "internal_padded",
    A1.replace("16", "14") + "," + B1.replace("16", "14"),
    'C = T.alloc_buffer((4,4),"float32")\nD = T.alloc_buffer((4,4),"float32")\nfor i in T.serial(14):\n    C[i//4,i%4] = A[i]\nfor io, ii in T.grid(4,4):\n    if 4*io+ii >= 14:\n        C[io,ii] = -1.0\nfor io, ii in T.grid(4,4):\n    D[io,ii] = 2.0*C[io,ii]\nfor i in T.serial(14):\n    B[i] = D[i//4,i%4]',
)
case(
    "tmp_root",
    'A: T.Buffer((6,5),"float32"),B: T.Buffer((6,),"float32")',
    'acc = T.alloc_buffer((1,),"float32")\nfor i in T.serial(6):\n    acc[0] = 0.0\n    for j in T.serial(5):\n        acc[0] = acc[0] + A[i,j]\n    B[i] = acc[0] * 2.0',
)
case(
    "tmp_inner_alloc",
    'A: T.Buffer((6,5),"float32"),B: T.Buffer((6,5),"float32")',
    'for i in T.serial(6):\n    row = T.alloc_buffer((5,),"float32")\n    for j in T.serial(5):\n        row[j] = A[i,j]*2.0\n    for j in T.serial(5):\n        B[i,j] = row[4-j]',
)
case("tmp_in_scan", A1 + "," + B1, "for i in T.serial(15):\n    t = A[i] * 2.0\n    A[i+1] = t + A[i+1]\n    B[i] = t")
case(
    "prefix_sum",
    A1 + "," + B1 + ',S: T.Buffer((1,),"float32")',
    "S[0] = 0.0\nfor i in T.serial(16):\n    S[0] = S[0] + A[i]\n    B[i] = S[0]",
)
case(
    "softmax",
    'A: T.Buffer((5,9),"float32"),B: T.Buffer((5,9),"float32")',
    'm = T.alloc_buffer((5,),"float32")\ns = T.alloc_buffer((5,),"float32")\nfor i in T.serial(5):\n    m[i] = A[i,0]\n    for j in T.serial(9):\n        m[i] = T.max(m[i], A[i,j])\n    s[i] = 0.0\n    for j in T.serial(9):\n        s[i] = s[i] + T.exp(A[i,j]-m[i])\n    for j in T.serial(9):\n        B[i,j] = T.exp(A[i,j]-m[i])/s[i]',
)
case(
    "triangular",
    'A: T.Buffer((6,6),"float32"),B: T.Buffer((6,),"float32")',
    "for i in T.serial(6):\n    B[i] = 0.0\n    for j in T.serial(i+1):\n        B[i] = B[i] + A[i,j]",
)
case(
    "trsolve",
    'L: T.Buffer((6,6),"float32"),x: T.Buffer((6,),"float32")',
    "for i in T.serial(6):\n    for j in T.serial(i):\n        x[i] = x[i] - L[i,j]*x[j]*0.1",
)
case(
    "lu",
    'A: T.Buffer((5,5),"float32")',
    "for k in T.serial(5):\n    for i in T.serial(k+1, 4-k):\n        A[i,k] = A[i,k]*0.5\n        for j in T.serial(k+1, 4-k):\n            A[i,j] = A[i,j] - A[i,k]*A[k,j]*0.1",
)
case(
    "gather",
    A1 + ',I: T.Buffer((6,),"int32"),B: T.Buffer((6,),"float32")',
    "for i in T.serial(6):\n    B[i] = A[I[i] % 16]",
)
case(
    "embed",
    'A: T.Buffer((16,5),"float32"),I: T.Buffer((6,),"int32"),B: T.Buffer((6,5),"float32")',
    "for i, j in T.grid(6,5):\n    B[i,j] = A[I[i] % 16, j]",
)
case(
    "histogram",
    'I: T.Buffer((20,),"int32"),H: T.Buffer((8,),"int32")',
    "for i in T.serial(8):\n    H[i] = 0\nfor i in T.serial(20):\n    H[I[i] % 8] = H[I[i] % 8] + 1",
)
case(
    "scatter_rows_add",
    'I: T.Buffer((6,),"int32"),A: T.Buffer((6,5),"float32"),H: T.Buffer((8,),"float32")',
    "for i, j in T.grid(6,5):\n    H[I[i] % 8] = H[I[i] % 8] + A[i,j]",
)
case(
    "scatter_repeat",
    'I: T.Buffer((6,),"int32"),H: T.Buffer((8,),"int32")',
    "for i, j in T.grid(6,5):\n    H[I[i] % 8] = H[I[i] % 8] + 2",
)
case("count_missing", 'B: T.Buffer((4,),"int32")', "for i, j in T.grid(4,5):\n    B[i] = B[i] + i")
case(
    "prod_missing",
    'A: T.Buffer((4,),"float32"),B: T.Buffer((4,),"float32")',
    "for i, j in T.grid(4,3):\n    B[i] = B[i] * A[i]",
)
case(
    "sub_red",
    'A: T.Buffer((4,5),"float32"),B: T.Buffer((4,),"float32")',
    "for i, j in T.grid(4,5):\n    B[i] = B[i] - A[i,j]",
)
case(
    "two_updates",
    'A: T.Buffer((4,5),"float32"),B: T.Buffer((4,),"float32")',
    "for i, j in T.grid(4,5):\n    B[i] = B[i] + A[i,j]\n    B[i] = B[i] + 2.0*A[i,4-j]",
)
case(
    "bool_ops",
    'A: T.Buffer((8,),"bool"),B: T.Buffer((8,),"bool"),D: T.Buffer((1,),"bool")',
    "D[0] = False\nfor i in T.serial(8):\n    B[i] = not A[i] and i < 5 or A[7-i]\nfor i in T.serial(8):\n    D[0] = D[0] or A[i]",
)
case(
    "neg_divmod",
    'A: T.Buffer((8,),"int32"),B: T.Buffer((8,),"int32"),D: T.Buffer((8,),"int32"),E: T.Buffer((8,),"int32"),G: T.Buffer((8,),"int32")',
    "for i in T.serial(8):\n    B[i] = (A[i]-3) // 3\n    D[i] = (A[i]-3) % (0-3)\n    E[i] = T.truncdiv(A[i]-3, 2)\n    G[i] = T.truncmod(A[i]-3, 2)",
)
case(
    "uint_wrap",
    'A: T.Buffer((8,),"uint8"),B: T.Buffer((8,),"uint8"),D: T.Buffer((8,),"uint32")',
    "for i in T.serial(8):\n    B[i] = A[i] - T.uint8(200)\n    D[i] = T.uint32(4000000000) + T.uint32(400000000)",
)
case(
    "int64",
    'A: T.Buffer((8,),"int64"),B: T.Buffer((8,),"int64")',
    "for i in T.serial(8):\n    B[i] = A[i] * T.int64(5000000000) + T.int64(i)",
)
case(
    "float64",
    'A: T.Buffer((8,3),"float64"),B: T.Buffer((8,),"float64")',
    "for i in T.serial(8):\n    B[i] = T.float64(0.1)\n    for j in T.serial(3):\n        B[i] = B[i] + A[i,j]*T.float64(0.1)",
)
case(
    "bf16",
    'A: T.Buffer((8,3),"bfloat16"),B: T.Buffer((8,),"bfloat16")',
    "for i in T.serial(8):\n    B[i] = T.bfloat16(0)\n    for j in T.serial(3):\n        B[i] = B[i] + A[i,j]",
)
case(
    "f16",
    'A: T.Buffer((8,),"float16"),B: T.Buffer((8,),"float16")',
    "for i in T.serial(8):\n    B[i] = T.exp(A[i])*T.float16(0.5)",
)
case(
    "symbolic",
    'A: T.Buffer((n,m),"float32"),B: T.Buffer((n,),"float32"), n: T.int32, m: T.int32',
    "for i in T.serial(n):\n    B[i] = 0.0\n    for j in T.serial(m):\n        B[i] = B[i] + A[i,j]",
    scal=dict(n=5, m=4),
)
case(
    "symbolic0",
    'A: T.Buffer((n,m),"float32"),B: T.Buffer((n,),"float32"), n: T.int32, m: T.int32',
    "for i in T.serial(n):\n    B[i] = -5.0\n    for j in T.serial(m):\n        B[i] = T.max(B[i], A[i,j])",
    scal=dict(n=5, m=0),
)
case(
    "scalar_guard",
    A1 + ", n: T.int32",
    "for i in T.serial(16):\n    if i < n:\n        A[i] = A[i] * 2.0",
    scal=dict(n=5),
)
case(
    "dyn_extent",
    A1 + ", n: T.int32",
    "for i in T.serial(n):\n    if i < 16:\n        A[i] = A[i] + 1.0",
    scal=dict(n=5),
)
case(
    "data_extent",
    'P: T.Buffer((6,),"int32"),A: T.Buffer((16,),"float32"),B: T.Buffer((5,),"float32")',
    "for i in T.serial(5):\n    B[i] = 0.0\n    for j in T.serial(P[i] % 7):\n        B[i] = B[i] + A[j]",
)
case(
    "alias_read_before_after",
    A1 + "," + B1 + ',D: T.Buffer((16,),"float32")',
    "for i in T.serial(16):\n    B[i] = A[i]\n    A[i] = 0.0\n    D[i] = A[i] + B[i]",
)
case("select_oob", A1 + "," + B1, "for i in T.serial(16):\n    B[i] = T.if_then_else(i > 0, A[i-1], 0.0)")
case(
    "clip_guard",
    A1 + "," + B1,
    "for i in T.serial(16):\n    if i >= 1 and i < 15:\n        B[i] = A[i-1] + A[i] + A[i+1]",
)
case(
    "time_flip",
    A1,
    "for t in T.serial(4):\n    for i in T.serial(8):\n        A[i+8] = A[i] * 0.5\n    for i in T.serial(8):\n        A[i] = A[15-i] + 1.0",
)
case("wavefront", 'A: T.Buffer((6,6),"float32")', "for i, j in T.grid(5,5):\n    A[i+1,j+1] = A[i,j+1] + A[i+1,j]*0.5")
case("inner_scan", 'A: T.Buffer((6,6),"float32")', "for i, j in T.grid(6,5):\n    A[i,j+1] = A[i,j+1] + A[i,j]*0.5")
case(
    "antidiag_interchange", 'A: T.Buffer((7,7),"float32")', "for i, j in T.grid(5,6):\n    A[i,j+1] = A[i+1,j] + A[i,j]"
)
case(
    "rank0",
    'A: T.Buffer((16,),"float32"), B: T.Buffer((),"float32")',
    "B[()] = 0.0\nfor i in T.serial(16):\n    B[()] = B[()] + A[i]",
)
case(
    "if_tmp_changes",
    A1 + ',B: T.Buffer((1,),"int32")',
    "for i in T.serial(16):\n    if B[0] < 5:\n        B[0] = B[0] + 1\n        A[i] = 0.0\n    else:\n        A[i] = A[i] + 1.0",
)
case(
    "fill_then_mod",
    A1 + "," + B1,
    "for i in T.serial(16):\n    if A[i] > 0.0:\n        B[i] = 0.0\nfor i in T.serial(16):\n    A[i] = -1.0\nfor i in T.serial(16):\n    if A[i] > 0.0:\n        B[i] = B[i] + 1.0",
)
case(
    "fill_names",
    A1 + ',B: T.Buffer((4,4),"float32"),D: T.Buffer((8,),"float32")',
    'for i in T.serial(4):\n    for j in T.serial(4):\n        if 4*i + j < 10:\n            B[i,j] = 3.0\nfor i in T.serial(8):\n    D[i] = T.cast(i, "float32")\nfor i in T.serial(4):\n    for j in T.serial(4):\n        if 4*i + j < 10:\n            B[i,j] = B[i,j] + A[4*i+j]',
)
case(
    "pad_store_dyn",
    'A: T.Buffer((4,8),"float32"),B: T.Buffer((40,),"float32")',
    "for t in T.serial(4):\n    for i in T.serial(8):\n        B[t*8+i+1] = A[t,i] + B[t*8+i]",
)
case(
    "min_ext",
    A1 + "," + B1,
    "for io in T.serial(5):\n    for ii in T.serial(T.min(4, 16-4*io)):\n        B[4*io+ii] = A[4*io+ii]*2.0",
)
case(
    "block_reduce",
    'A: T.Buffer((6,5),"float32"),B: T.Buffer((6,),"float32")',
    'for i, k in T.grid(6,5):\n    with T.block("s"):\n        vi, vk = T.axis.remap("SR", [i, k])\n        with T.init():\n            B[vi] = 0.0\n        B[vi] = B[vi] + A[vi, vk]',
)

case(
    "clamped",
    'A: T.Buffer((5,7),"float32"),B: T.Buffer((5,7),"float32")',
    "for i, j in T.grid(5,7):\n    B[i,j] = A[T.max(i - 2, 0), T.min(j + 1, 6)] - A[T.min(T.max(i - 1, 0), 4), T.max(T.min(6 - j + 2, 6), 0)]",
)
case(
    "clamped_elsewhere",
    'A: T.Buffer((5,7),"float32"),B: T.Buffer((5,7),"float32")',
    "for i, j in T.grid(5,7):\n    B[i,j] = A[T.max(i - 2, 1), T.min(j + 1, 5)] + A[T.min(i * 2, 4), T.max(j - 3, 0)]",
)

# Loops that carry a dependence that is no scan, or whose extent is data, and nothing else, stay loops.
SEQUENTIAL = {
    "antidiag_interchange",
    "if_tmp_changes",
    "inner_scan",
    "jacobi",
    "lu",
    "overlap_last",
    "pad_store_dyn",
    "time_flip",
    "tmp_in_scan",
    "trsolve",
    "wavefront",
}


@pytest.mark.parametrize("name", some(CASES, len(CASES) // 8))
def test_kernel_agrees_with_the_interpreter(name: str) -> None:
    text, scalars = CASES[name]
    func = parse(text).funcs[0]
    kernel = compile(func)
    assert ("fori_loop" in kernel.source) == (name in SEQUENTIAL), kernel.source
    rng = np.random.default_rng(1)
    for _ in range(2):
        inputs = random_inputs(func, rng, scalars or None)
        kept = {n: np.array(v) for n, v in inputs.items()}
        for (want, undef), got in zip(interpret_with_undef(func, **inputs), kernel(**inputs), strict=True):
            found = np.asarray(got)
            assert found.dtype == want.dtype
            tolerance = 3e-2 if want.dtype.itemsize < 4 else 1e-4
            np.testing.assert_allclose(
                found[~undef].astype(float), want[~undef].astype(float), rtol=tolerance, atol=tolerance
            )
        for n, v in inputs.items():
            np.testing.assert_array_equal(v, kept[n])


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("matmul", "jnp.einsum("),
        ("conv1d", "F[0] * A[:14]"),
        ("pool", "A[:13:4] + A[1:14:4] + A[2:15:4] + A[3::4]"),
        ("softmax", "jnp.max(A, axis=1)"),
        ("internal_padded", "C.reshape(16)"),
        ("embed", "A.at[I & 15].get("),
        ("block_reduce", "B = jnp.sum(A, axis=1)"),
    ],
)
def test_array_form(name: str, form: str) -> None:
    assert form in emit(parse(CASES[name][0]).funcs[0])


def test_unwritten_parts_of_a_buffer_left_out_are_zero() -> None:
    (result,) = compile(parse(CASES["partial_write"][0]).funcs[0])(np.ones(16, "float32"))
    np.testing.assert_array_equal(np.asarray(result), [0.0] * 3 + [1.0] * 10 + [0.0] * 3)


CHECKED = """from ir import script as T
@T.prim_func
def f(A: T.Buffer((8,), "float64"), B: T.Buffer((8,), "float64"), s: T.float64):
    for i in T.serial(8):
        assert A[i] > 0.0, "positive"
        T.assume(A[i] < 5.0)
        B[i] = A[i] * s
"""


def test_checks_name_the_source_line() -> None:
    kernel = compile(parse(CHECKED).funcs[0], checks=True)
    ones = np.ones(8)
    assert np.asarray(kernel(ones, s=0.1)[0])[0] == 0.1
    with pytest.raises(LowerError, match="positive") as failed:
        kernel(-ones, s=0.1)
    assert failed.value.span is not None and failed.value.span.line == 5
    with pytest.raises(LowerError) as false:
        kernel(9 * ones, s=0.1)
    assert false.value.span is not None and false.value.span.line == 6


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((np.ones(8, "float32"),), {"s": 1.0}, "expected dtype float64, found float32"),
        ((np.ones(4),), {"s": 1.0}, r"expected shape \(8\), found \(4,\)"),
        ((), {"s": 1.0}, "argument A"),
        ((np.ones(8),), {}, "argument s"),
        ((np.ones(8),), {"s": "q"}, "scalar s"),
        ((np.ones(8),), {"s": 1.0, "AA": 1}, "no parameter AA"),
        ((1, 2, 3, 4), {}, "4 were given"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[object, ...], named: dict[str, object], message: str) -> None:
    with pytest.raises(LowerError, match=message):
        compile(parse(CHECKED).funcs[0])(*arguments, **named)


def test_points_have_derivatives_also_where_a_guard_leaves_one_out() -> None:
    func = parse(
        """
@T.prim_func
def f(X: T.Buffer((4,), "float64"), Y: T.Buffer((4,), "float64"), A: T.Buffer((4,), "float64"), H: T.Buffer((4,), "float64")):
    for i in T.serial(4):
        if X[i] != 0.0 or Y[i] != 0.0:
            A[i] = T.atan2(Y[i], X[i])
            H[i] = T.hypot(X[i], Y[i])
        else:
            A[i] = X[i]
            H[i] = 0.0
"""
    ).funcs[0]
    kernel, x, y = compile(func), np.array([0.0, -2.0, 1.0, -0.5]), np.array([0.0, 0.0, -3.0, 0.25])
    with jax.enable_x64(True):
        by_x, by_y = jax.grad(lambda x, y: sum(r.sum() for r in kernel(x, y)), (0, 1))(jnp.asarray(x), jnp.asarray(y))
    r = np.where(x * x + y * y == 0, 1, np.hypot(x, y))
    np.testing.assert_allclose(by_x, np.where(x * x + y * y == 0, 1, -y / r**2 + x / r), rtol=1e-6)
    np.testing.assert_allclose(by_y, x / r**2 + y / r, rtol=1e-6)


def test_exports_for_all_platforms() -> None:
    assert len(export(parse(CASES["matmul"][0]).funcs[0])) > 100


def test_what_a_choice_never_reads_may_be_left_out() -> None:
    (func,) = parse("""
@T.prim_func
def f(X: T.Buffer((5, 7), "int32"), S: T.Buffer((5, 7), "int32")):
    for i, j in T.grid(5, 7):
        S[i, j] = (
            X[i, j]
            + T.if_then_else(i > 0, S[i - 1, j], 0)
            + T.if_then_else(j > 0, S[i, j - 1], 0)
            - T.if_then_else(i > 0 and j > 0, S[i - 1, j - 1], 0)
        )
""").funcs
    X = np.random.default_rng(0).integers(-9, 9, (5, 7)).astype(np.int32)
    (sums,) = compile(func)(X)
    np.testing.assert_array_equal(np.asarray(sums), X.cumsum(0).cumsum(1))


LONG_ROWS = """
@T.prim_func
def f(A: T.Buffer((30, 300), "float32"), B: T.Buffer((30,), "float32")):
    for i in T.serial(30):
        B[i] = 0.0
        for j in T.serial(300):
            B[i] = B[i] + A[i, j]
"""


def test_an_export_for_one_platform_has_the_forms_that_it_prefers() -> None:
    (func,) = parse(LONG_ROWS).funcs
    forms = {p: "dot_general" in stablehlo_text(func, (p,)) for p in ("cpu", "tpu")}
    assert forms == {p: "jnp.ones(" in emit(func, p) for p in forms}
    assert forms["cpu"] != forms["tpu"]
    with pytest.raises(LowerError, match="there is no target `quantum`"):
        export(func, ("quantum",))


def test_sums_of_long_rows_are_products_with_ones() -> None:
    (func,) = parse(LONG_ROWS).funcs
    kernel = compile(func)
    assert "jnp.ones(" in kernel.source
    A = np.random.default_rng(0).normal(size=(30, 300)).astype(np.float32)
    assert np.allclose(kernel(A)[0], A.sum(axis=1), rtol=1e-4, atol=1e-4)


def test_of_two_elements_that_are_looked_up_the_chosen_one_is() -> None:
    text = """
@T.prim_func
def f(P: T.Buffer((21,), "float32"), y: T.Buffer((6, 6), "float32")):
    for i, j in T.grid(6, 6):
        y[i, j] = T.if_then_else(j <= i, P[i * (i + 1) // 2 + j], P[j * (j + 1) // 2 + i])
"""
    (func,) = parse(text).funcs
    kernel = compile(func)
    assert kernel.source.count("P.at[") == 1, kernel.source
    packed = np.arange(21, dtype=np.float32)
    (found,) = kernel(packed)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.asarray(found)[np.tril_indices(6)], packed)
