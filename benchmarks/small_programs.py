"""Small programs for `as_written.py`: layouts in blocks, padding, quotients, masks, stencils, reductions, scans, gathers
and pieces of transformers, each as somebody may write it. `PROGRAMS` has their text by name."""

from __future__ import annotations

_HEAD = "from ir import script as T\n\n\n@T.prim_func\ndef f({params}):\n{body}"


def _program(params: str, body: str) -> str:
    """A function of parameters such as `A: 1024 1000 float32`, with commas between them."""
    typed: list[str] = []
    for param in params.split(","):
        name, _, rest = param.partition(":")
        *extents, dtype = rest.split()
        typed.append(f"{name.strip()}: T.Buffer(({', '.join(extents)},), {dtype!r})")
    lines = [f"    {line}" if line else line for line in body.strip("\n").splitlines()]
    return _HEAD.format(params=", ".join(typed), body="\n".join(lines) + "\n")


def _rows(statement: str, extents: str = "1024, 1000", names: str = "i, j") -> str:
    return f"for {names} in T.grid({extents}):\n    {statement}"


_INDEXING = {
    "quotient_and_rest": ("I: 1048576 int32, B: 1048576 int32", "for i in range(1048576):\n    B[i] = I[i] + i // 7 + i % 7"),
    "quotient_of_power": ("I: 1048576 int32, B: 1048576 int32", "for i in range(1048576):\n    B[i] = I[i] + i // 8 + i % 8"),
    "rest_as_condition": ("A: 1048576 float32, B: 1048576 float32", "for i in range(1048576):\n    if i % 5 == 0:\n        B[i] = A[i] * 2.0\n    else:\n        B[i] = A[i]"),
    "digits": ("B: 1000000 int32", "for i in range(1000000):\n    B[i] = i // 10000 % 10 * 100 + i // 100 % 10 * 10 + i % 10"),
    "rows_of_flat": ("A: 1000000 float32, B: 1000 1000 float32", "for i in range(1000000):\n    B[i // 1000, i % 1000] = A[i] + 1.0"),
    "flat_of_rows": ("A: 1000 1000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = A[i // 1000, i % 1000] * 2.0"),
    "ragged_rows": ("A: 1000000 float32, B: 7813 128 float32", "for i, j in T.grid(7813, 128):\n    if i * 128 + j < 1000000:\n        B[i, j] = A[i * 128 + j]\n    else:\n        B[i, j] = 0.0"),
    "every_third": ("A: 3000000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = A[3 * i + 1]"),
    "interleaved": ("A: 500000 float32, C: 500000 float32, B: 1000000 float32", "for i in range(500000):\n    B[2 * i] = A[i]\n    B[2 * i + 1] = C[i]"),
    "repeated": ("A: 1000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = A[i % 1000] + 1.0"),
    "nearest_up": ("A: 512 512 float32, B: 1024 1024 float32", _rows("B[i, j] = A[i // 2, j // 2]", "1024, 1024")),
    "pairs_down": ("A: 1024 1024 float32, B: 512 512 float32", _rows("B[i, j] = (A[2 * i, 2 * j] + A[2 * i + 1, 2 * j] + A[2 * i, 2 * j + 1] + A[2 * i + 1, 2 * j + 1]) * 0.25", "512, 512")),
    "rotated": ("A: 1000000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = A[(i + 777) % 1000000]"),
    "backward": ("A: 1000000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = A[999999 - i] * 0.5"),
    "transposed": ("A: 1000 900 float32, B: 900 1000 float32", _rows("B[i, j] = A[j, i] + 1.0", "900, 1000")),
}  # fmt: skip

_BLOCKS = {
    "to_blocks": ("A: 64 64 64 float32, B: 16 64 64 4 float32", "for c, y, x in T.grid(64, 64, 64):\n    B[c // 4, y, x, c % 4] = A[c, y, x]"),
    "from_blocks": ("B: 16 64 64 4 float32, A: 64 64 64 float32", "for c, y, x in T.grid(64, 64, 64):\n    A[c, y, x] = B[c // 4, y, x, c % 4] * 2.0"),
    "padded_blocks": ("A: 62 64 64 float32, B: 16 64 64 4 float32", "for cb, y, x, cc in T.grid(16, 64, 64, 4):\n    if 4 * cb + cc < 62:\n        B[cb, y, x, cc] = A[4 * cb + cc, y, x]\n    else:\n        B[cb, y, x, cc] = 0.0"),
    "sum_of_padded_blocks": ("B: 4096 256 4 float32, S: 4096 float32", "for i in range(4096):\n    S[i] = 0.0\n    for jo, ji in T.grid(256, 4):\n        if 4 * jo + ji < 1022:\n            S[i] = S[i] + B[i, jo, ji]"),
    "max_of_padded_blocks": ("B: 4096 256 4 float32, S: 4096 float32", "for i in range(4096):\n    S[i] = B[i, 0, 0]\n    for jo, ji in T.grid(256, 4):\n        if 4 * jo + ji < 1022:\n            S[i] = T.max(S[i], B[i, jo, ji])"),
    "product_of_blocks": ("A: 64 256 4 float32, W: 256 4 64 float32, C: 64 64 float32", "for i, j in T.grid(64, 64):\n    C[i, j] = 0.0\n    for ko, ki in T.grid(256, 4):\n        if 4 * ko + ki < 1022:\n            C[i, j] = C[i, j] + A[i, ko, ki] * W[ko, ki, j]"),
    "tiled_scale": ("A: 1000 1000 float32, B: 1000 1000 float32", "for io, jo, ii, ji in T.grid(32, 32, 32, 32):\n    if io * 32 + ii < 1000 and jo * 32 + ji < 1000:\n        B[io * 32 + ii, jo * 32 + ji] = A[io * 32 + ii, jo * 32 + ji] * 3.0"),
    "blocked_sum": ("A: 1000000 float32, S: 1 float32", "S[0] = 0.0\nfor io, ii in T.grid(977, 1024):\n    if io * 1024 + ii < 1000000:\n        S[0] = S[0] + A[io * 1024 + ii]"),
    "block_maxima": ("A: 1000000 float32, M: 977 float32", "for io in range(977):\n    M[io] = A[io * 1024]\n    for ii in range(1024):\n        if io * 1024 + ii < 1000000:\n            M[io] = T.max(M[io], A[io * 1024 + ii])"),
}  # fmt: skip

_PADDING = {
    "pad_and_scale": ("A: 1000 1000 float32, B: 1024 1024 float32", _rows("if i < 1000 and j < 1000:\n        B[i, j] = A[i, j] * 2.0\n    else:\n        B[i, j] = 0.0", "1024, 1024")),
    "border_of_one": ("A: 1000 1000 float32, B: 1002 1002 float32", _rows("if i >= 1 and i < 1001 and j >= 1 and j < 1001:\n        B[i, j] = A[i - 1, j - 1]\n    else:\n        B[i, j] = 0.0", "1002, 1002")),
    "few_of_many": ("A: 1000000 float32, B: 3 float32", "tmp = T.alloc_buffer((1000000,), 'float32')\nfor i in range(1000000):\n    tmp[i] = A[i] * 2.0 + 1.0\nfor i in range(3):\n    B[i] = tmp[i]"),
    "few_of_padded": ("A: 1000000 float32, B: 3 float32", "tmp = T.alloc_buffer((1000000,), 'float32')\nfor i in range(1000000):\n    if i < 999990:\n        tmp[i] = A[i] * 2.0 + 1.0\n    else:\n        tmp[i] = 0.0\nfor i in range(3):\n    B[i] = tmp[i] + tmp[i + 1]"),
    "padded_local": ("A: 4000 250 float32, S: 4000 float32", "P = T.alloc_buffer((4000, 256), 'float32')\nfor i, j in T.grid(4000, 256):\n    if j < 250:\n        P[i, j] = A[i, j] * A[i, j]\n    else:\n        P[i, j] = 0.0\nfor i in range(4000):\n    S[i] = 0.0\n    for j in range(256):\n        S[i] = S[i] + P[i, j]"),
    "padded_product": ("A: 500 500 float32, W: 500 500 float32, C: 500 500 float32", "P = T.alloc_buffer((500, 512), 'float32')\nfor i, k in T.grid(500, 512):\n    if k < 500:\n        P[i, k] = A[i, k]\n    else:\n        P[i, k] = 0.0\nfor i, j in T.grid(500, 500):\n    C[i, j] = 0.0\n    for k in range(512):\n        if k < 500:\n            C[i, j] = C[i, j] + P[i, k] * W[k, j]"),
    "unused_padding": ("A: 4096 256 float32, B: 4096 256 float32", "for i, j in T.grid(4096, 256):\n    if j < 250:\n        B[i, j] = A[i, j] * 0.5\nfor i, j in T.grid(4096, 256):\n    if j >= 250:\n        B[i, j] = T.undef('float32')"),
    "clamped": ("A: 1000000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = A[T.min(T.max(i - 1, 0), 999999)] + A[T.min(i + 1, 999999)]"),
}  # fmt: skip

_MASKS = {
    "masked_mean": ("A: 1024 1000 float32, M: 1024 1000 float32, R: 1024 float32", "cnt = T.alloc_buffer((1024,), 'float32')\nfor i in range(1024):\n    cnt[i] = 0.0\n    R[i] = 0.0\n    for j in range(1000):\n        if M[i, j] > 0.0:\n            cnt[i] = cnt[i] + 1.0\n            R[i] = R[i] + A[i, j]\nfor i in range(1024):\n    R[i] = R[i] / T.max(cnt[i], 1.0)"),
    "masked_mean_and_variance": ("A: 1024 1000 float32, M: 1024 1000 float32, mean: 1024 float32, var: 1024 float32", "cnt = T.alloc_buffer((1024,), 'float32')\nfor i in range(1024):\n    cnt[i] = 0.0\n    mean[i] = 0.0\n    for j in range(1000):\n        if M[i, j] > 0.0:\n            cnt[i] = cnt[i] + 1.0\n            mean[i] = mean[i] + A[i, j]\nfor i in range(1024):\n    mean[i] = mean[i] / T.max(cnt[i], 1.0)\nfor i in range(1024):\n    var[i] = 0.0\n    for j in range(1000):\n        if M[i, j] > 0.0:\n            var[i] = var[i] + (A[i, j] - mean[i]) * (A[i, j] - mean[i])\nfor i in range(1024):\n    var[i] = var[i] / T.max(cnt[i], 1.0)"),
    "masked_total": ("A: 1000000 float32, M: 1000000 float32, S: 2 float32", "S[0] = 0.0\nS[1] = 0.0\nfor i in range(1000000):\n    if M[i] > 0.5:\n        S[0] = S[0] + A[i]\nfor i in range(1000000):\n    if M[i] > 0.5:\n        S[1] = S[1] + A[i] * A[i]"),
    "mean_and_variance": ("A: 1024 1000 float32, mean: 1024 float32, var: 1024 float32", "for i in range(1024):\n    mean[i] = 0.0\n    for j in range(1000):\n        mean[i] = mean[i] + A[i, j]\n    mean[i] = mean[i] * 0.001\nfor i in range(1024):\n    var[i] = 0.0\n    for j in range(1000):\n        var[i] = var[i] + (A[i, j] - mean[i]) * (A[i, j] - mean[i])\n    var[i] = var[i] * 0.001"),
    "two_statistics": ("A: 1000000 float32, S: 1 float32, Q: 1 float32", "S[0] = 0.0\nfor i in range(1000000):\n    S[0] = S[0] + A[i]\nS[0] = S[0] * 0.000001\nQ[0] = 0.0\nfor i in range(1000000):\n    Q[0] = Q[0] + (A[i] - S[0]) * (A[i] - S[0])"),
    "masked_global_variance": ("A: 1000000 float32, M: 1000000 int32, S: 1 float32, Q: 1 float32, N: 1 float32", "S[0] = 0.0\nN[0] = 0.0\nfor i in range(1000000):\n    if M[i] > 0:\n        N[0] = N[0] + 1.0\nfor i in range(1000000):\n    if M[i] > 0:\n        S[0] = S[0] + A[i]\nS[0] = S[0] / T.max(N[0], 1.0)\nQ[0] = 0.0\nfor i in range(1000000):\n    if M[i] > 0:\n        Q[0] = Q[0] + (A[i] - S[0]) * (A[i] - S[0])"),
    "thresholded": ("A: 1024 1000 float32, B: 1024 1000 float32", _rows("if A[i, j] > 0.5:\n        B[i, j] = A[i, j]\n    else:\n        B[i, j] = 0.0")),
    "triangle": ("A: 1000 1000 float32, B: 1000 1000 float32", _rows("if j <= i:\n        B[i, j] = A[i, j]\n    else:\n        B[i, j] = 0.0", "1000, 1000")),
    "band": ("A: 1000 1000 float32, B: 1000 1000 float32", _rows("if j >= i - 2 and j <= i + 2:\n        B[i, j] = A[i, j]\n    else:\n        B[i, j] = 0.0", "1000, 1000")),
    "triangle_sums": ("A: 1000 1000 float32, S: 1000 float32", "for i in range(1000):\n    S[i] = 0.0\n    for j in range(1000):\n        if j <= i:\n            S[i] = S[i] + A[i, j]"),
}  # fmt: skip

_STENCILS = {
    "three_points": ("A: 1000000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = 0.0\n    if i > 0:\n        B[i] = B[i] + A[i - 1]\n    B[i] = B[i] + A[i]\n    if i < 999999:\n        B[i] = B[i] + A[i + 1]"),
    "five_points": ("A: 1000 1000 float32, B: 1000 1000 float32", "for i, j in T.grid(998, 998):\n    B[i + 1, j + 1] = 0.2 * (A[i + 1, j + 1] + A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2])"),
    "guarded_five_points": ("A: 1000 1000 float32, B: 1000 1000 float32", _rows("if i > 0 and i < 999 and j > 0 and j < 999:\n        B[i, j] = 0.2 * (A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])\n    else:\n        B[i, j] = A[i, j]", "1000, 1000")),
    "blur_in_two": ("A: 1000 1000 float32, B: 1000 1000 float32", "R = T.alloc_buffer((1000, 1000), 'float32')\nfor i, j in T.grid(1000, 998):\n    R[i, j + 1] = A[i, j] + A[i, j + 1] + A[i, j + 2]\nfor i, j in T.grid(998, 998):\n    B[i + 1, j + 1] = R[i, j + 1] + R[i + 1, j + 1] + R[i + 2, j + 1]"),
    "wrapped": ("A: 1000000 float32, B: 1000000 float32", "for i in range(1000000):\n    B[i] = A[i] - A[(i + 1) % 1000000]"),
    "two_steps": ("A: 1000000 float32, B: 1000000 float32", "C = T.alloc_buffer((1000000,), 'float32')\nfor i in range(999998):\n    C[i + 1] = 0.5 * A[i] + 0.5 * A[i + 2]\nfor i in range(999996):\n    B[i + 2] = 0.5 * C[i + 1] + 0.5 * C[i + 3]"),
    "blocked_taps": ("A: 250000 4 float32, F: 3 float32, B: 250000 4 float32", "for io, ii in T.grid(250000, 4):\n    if 4 * io + ii < 999998:\n        B[io, ii] = 0.0\n        for f in range(3):\n            B[io, ii] = B[io, ii] + F[f] * A[io + (ii + f) // 4, (ii + f) % 4]"),
    "convolution": ("X: 16 66 66 float32, W: 16 16 3 3 float32, Y: 16 64 64 float32", "for o, y, x in T.grid(16, 64, 64):\n    Y[o, y, x] = 0.0\n    for c, dy, dx in T.grid(16, 3, 3):\n        Y[o, y, x] = Y[o, y, x] + X[c, y + dy, x + dx] * W[o, c, dy, dx]"),
    "bordered_convolution": ("X: 16 64 64 float32, W: 16 16 3 3 float32, Y: 16 64 64 float32", "for o, y, x in T.grid(16, 64, 64):\n    Y[o, y, x] = 0.0\n    for c, dy, dx in T.grid(16, 3, 3):\n        if y + dy >= 1 and y + dy < 65 and x + dx >= 1 and x + dx < 65:\n            Y[o, y, x] = Y[o, y, x] + X[c, y + dy - 1, x + dx - 1] * W[o, c, dy, dx]"),
}  # fmt: skip

_REDUCTIONS = {
    "row_sums": ("A: 1024 1000 float32, S: 1024 float32", "for i in range(1024):\n    S[i] = 0.0\n    for j in range(1000):\n        S[i] = S[i] + A[i, j]"),
    "column_sums": ("A: 1024 1000 float32, S: 1000 float32", "for j in range(1000):\n    S[j] = 0.0\nfor i, j in T.grid(1024, 1000):\n    S[j] = S[j] + A[i, j]"),
    "row_extremes": ("A: 1024 1000 float32, L: 1024 float32, H: 1024 float32", "for i in range(1024):\n    L[i] = A[i, 0]\n    H[i] = A[i, 0]\n    for j in range(1000):\n        L[i] = T.min(L[i], A[i, j])\n        H[i] = T.max(H[i], A[i, j])"),
    "sum_by_rest": ("A: 1000000 float32, S: 8 float32", "for k in range(8):\n    S[k] = 0.0\nfor i in range(1000000):\n    S[i % 8] = S[i % 8] + A[i]"),
    "sum_by_quotient": ("A: 1000000 float32, S: 100000 float32", "for k in range(100000):\n    S[k] = 0.0\nfor i in range(1000000):\n    S[i // 10] = S[i // 10] + A[i]"),
    "distances": ("X: 200 32 float32, Y: 200 32 float32, D: 200 200 float32", "for i, j in T.grid(200, 200):\n    D[i, j] = 0.0\n    for k in range(32):\n        D[i, j] = D[i, j] + (X[i, k] - Y[j, k]) * (X[i, k] - Y[j, k])"),
    "weighted_total": ("A: 1000000 float32, W: 1000000 float32, S: 1 float32", "S[0] = 0.0\nfor i in range(1000000):\n    S[0] = S[0] + A[i] * W[i]"),
    "product_and_bias": ("A: 300 400 float32, W: 400 300 float32, V: 300 float32, C: 300 300 float32", "for i, j in T.grid(300, 300):\n    C[i, j] = V[j]\n    for k in range(400):\n        C[i, j] = C[i, j] + A[i, k] * W[k, j]\nfor i, j in T.grid(300, 300):\n    C[i, j] = T.max(C[i, j], 0.0)"),
}  # fmt: skip

_SCANS = {
    "running_sum": ("A: 1000000 float32, B: 1000000 float32", "B[0] = A[0]\nfor i in range(999999):\n    B[i + 1] = B[i] + A[i + 1]"),
    "running_maximum": ("A: 1000000 float32, B: 1000000 float32", "B[0] = A[0]\nfor i in range(999999):\n    B[i + 1] = T.max(B[i], A[i + 1])"),
    "row_scans": ("A: 1000 1000 float32, B: 1000 1000 float32", "for i in range(1000):\n    B[i, 0] = A[i, 0]\n    for j in range(999):\n        B[i, j + 1] = B[i, j] + A[i, j + 1]"),
    "decay": ("A: 100000 float32, B: 100000 float32", "B[0] = A[0]\nfor i in range(99999):\n    B[i + 1] = 0.9 * B[i] + 0.1 * A[i + 1]"),
    "differences_of_sums": ("A: 1000000 float32, P: 1000000 float32, B: 999990 float32", "P[0] = A[0]\nfor i in range(999999):\n    P[i + 1] = P[i] + A[i + 1]\nfor i in range(999990):\n    B[i] = P[i + 10] - P[i]"),
}  # fmt: skip

_GATHERS = {
    "gathered": ("A: 100000 float32, I: 100000 int32, B: 100000 float32", "for i in range(100000):\n    B[i] = A[I[i]] + 1.0"),
    "gathered_rows": ("A: 5000 64 float32, I: 2000 int32, B: 2000 64 float32", "for i, j in T.grid(2000, 64):\n    B[i, j] = A[I[i], j]"),
    "scattered_sums": ("A: 100000 float32, I: 100000 int32, S: 1000 float32", "for k in range(1000):\n    S[k] = 0.0\nfor i in range(100000):\n    S[I[i]] = S[I[i]] + A[i]"),
    "guarded_gather": ("A: 100000 float32, I: 100000 int32, B: 100000 float32", "for i in range(100000):\n    if I[i] >= 0:\n        B[i] = A[I[i]]\n    else:\n        B[i] = 0.0"),
}  # fmt: skip

_TRANSFORMERS = {
    "soft_maximum": ("A: 512 500 float32, B: 512 500 float32", "m = T.alloc_buffer((512,), 'float32')\ns = T.alloc_buffer((512,), 'float32')\nfor i in range(512):\n    m[i] = A[i, 0]\n    for j in range(500):\n        m[i] = T.max(m[i], A[i, j])\n    s[i] = 0.0\n    for j in range(500):\n        B[i, j] = T.exp(A[i, j] - m[i])\n        s[i] = s[i] + B[i, j]\n    for j in range(500):\n        B[i, j] = B[i, j] / s[i]"),
    "causal_scores": ("Q: 256 64 float32, K: 256 64 float32, S: 256 256 float32", "for i, j in T.grid(256, 256):\n    S[i, j] = 0.0\n    if j <= i:\n        for k in range(64):\n            S[i, j] = S[i, j] + Q[i, k] * K[j, k]\n    else:\n        S[i, j] = -10000.0"),
    "padded_projection": ("X: 250 256 float32, W: 256 256 float32, Y: 256 256 float32", "P = T.alloc_buffer((256, 256), 'float32')\nfor i, k in T.grid(256, 256):\n    if i < 250:\n        P[i, k] = X[i, k]\n    else:\n        P[i, k] = 0.0\nfor i, j in T.grid(256, 256):\n    if i < 250:\n        Y[i, j] = 0.0\n        for k in range(256):\n            Y[i, j] = Y[i, j] + P[i, k] * W[k, j]\n    else:\n        Y[i, j] = 0.0"),
    "padded_feed_forward": ("X: 200 128 float32, W: 128 512 float32, V: 512 128 float32, Y: 200 128 float32", "P = T.alloc_buffer((256, 128), 'float32')\nH = T.alloc_buffer((256, 512), 'float32')\nfor i, k in T.grid(256, 128):\n    if i < 200:\n        P[i, k] = X[i, k]\n    else:\n        P[i, k] = 0.0\nfor i, j in T.grid(256, 512):\n    H[i, j] = 0.0\n    for k in range(128):\n        H[i, j] = H[i, j] + P[i, k] * W[k, j]\n    H[i, j] = T.max(H[i, j], 0.0)\nfor i, j in T.grid(200, 128):\n    Y[i, j] = 0.0\n    for k in range(512):\n        Y[i, j] = Y[i, j] + H[i, k] * V[k, j]"),
    "normalized_rows": ("A: 1024 768 float32, G: 768 float32, B: 1024 768 float32", "m = T.alloc_buffer((1024,), 'float32')\nv = T.alloc_buffer((1024,), 'float32')\nfor i in range(1024):\n    m[i] = 0.0\n    for j in range(768):\n        m[i] = m[i] + A[i, j]\n    m[i] = m[i] / 768.0\nfor i in range(1024):\n    v[i] = 0.0\n    for j in range(768):\n        v[i] = v[i] + (A[i, j] - m[i]) * (A[i, j] - m[i])\n    v[i] = v[i] / 768.0\nfor i, j in T.grid(1024, 768):\n    B[i, j] = (A[i, j] - m[i]) / T.sqrt(v[i] + 0.00001) * G[j]"),
    "transformer_block": ("X: 60 64 float32, Wq: 64 64 float32, Wk: 64 64 float32, Wv: 64 64 float32, Y: 60 64 float32", "P = T.alloc_buffer((64, 64), 'float32')\nQ = T.alloc_buffer((64, 64), 'float32')\nK = T.alloc_buffer((64, 64), 'float32')\nV = T.alloc_buffer((64, 64), 'float32')\nS = T.alloc_buffer((64, 64), 'float32')\nm = T.alloc_buffer((64,), 'float32')\ns = T.alloc_buffer((64,), 'float32')\nfor i, k in T.grid(64, 64):\n    if i < 60:\n        P[i, k] = X[i, k]\n    else:\n        P[i, k] = 0.0\nfor i, j in T.grid(64, 64):\n    Q[i, j] = 0.0\n    K[i, j] = 0.0\n    V[i, j] = 0.0\n    for k in range(64):\n        Q[i, j] = Q[i, j] + P[i, k] * Wq[k, j]\n        K[i, j] = K[i, j] + P[i, k] * Wk[k, j]\n        V[i, j] = V[i, j] + P[i, k] * Wv[k, j]\nfor i, j in T.grid(64, 64):\n    S[i, j] = 0.0\n    for k in range(64):\n        S[i, j] = S[i, j] + Q[i, k] * K[j, k]\nfor i in range(64):\n    m[i] = -10000.0\n    for j in range(64):\n        if j < 60:\n            m[i] = T.max(m[i], S[i, j])\n    s[i] = 0.0\n    for j in range(64):\n        if j < 60:\n            S[i, j] = T.exp(S[i, j] - m[i])\n            s[i] = s[i] + S[i, j]\n        else:\n            S[i, j] = 0.0\nfor i, j in T.grid(60, 64):\n    Y[i, j] = 0.0\n    for k in range(64):\n        Y[i, j] = Y[i, j] + S[i, k] * V[k, j]\n    Y[i, j] = Y[i, j] / s[i]"),
}  # fmt: skip

_ALL = (_INDEXING, _BLOCKS, _PADDING, _MASKS, _STENCILS, _REDUCTIONS, _SCANS, _GATHERS, _TRANSFORMERS)
PROGRAMS: dict[str, str] = {name: _program(params, body) for family in _ALL for name, (params, body) in family.items()}
