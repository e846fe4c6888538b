"""Small programs for `as_written.py`, as somebody may write them: layouts in blocks, padding, quotients and rests,
masks, stencils, reductions, scans, gathers and pieces of transformers. They are parsed, never run as Python."""

from ir import script as T


@T.prim_func
def quotient_and_rest(I: T.Buffer((1048576,), "int32"), B: T.Buffer((1048576,), "int32")):
    for i in range(1048576):
        B[i] = I[i] + i // 7 + i % 7


@T.prim_func
def quotient_of_power(I: T.Buffer((1048576,), "int32"), B: T.Buffer((1048576,), "int32")):
    for i in range(1048576):
        B[i] = I[i] + i // 8 + i % 8


@T.prim_func
def rest_as_condition(A: T.Buffer((1048576,), "float32"), B: T.Buffer((1048576,), "float32")):
    for i in range(1048576):
        if i % 5 == 0:
            B[i] = A[i] * 2.0
        else:
            B[i] = A[i]


@T.prim_func
def digits(B: T.Buffer((1000000,), "int32")):
    for i in range(1000000):
        B[i] = i // 10000 % 10 * 100 + i // 100 % 10 * 10 + i % 10


@T.prim_func
def rows_of_flat(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000, 1000), "float32")):
    for i in range(1000000):
        B[i // 1000, i % 1000] = A[i] + 1.0


@T.prim_func
def flat_of_rows(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = A[i // 1000, i % 1000] * 2.0


@T.prim_func
def ragged_rows(A: T.Buffer((1000000,), "float32"), B: T.Buffer((7813, 128), "float32")):
    for i, j in T.grid(7813, 128):
        if i * 128 + j < 1000000:
            B[i, j] = A[i * 128 + j]
        else:
            B[i, j] = 0.0


@T.prim_func
def every_third(A: T.Buffer((3000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = A[3 * i + 1]


@T.prim_func
def interleaved(
    A: T.Buffer((500000,), "float32"), C: T.Buffer((500000,), "float32"), B: T.Buffer((1000000,), "float32")
):
    for i in range(500000):
        B[2 * i] = A[i]
        B[2 * i + 1] = C[i]


@T.prim_func
def repeated(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = A[i % 1000] + 1.0


@T.prim_func
def nearest_up(A: T.Buffer((512, 512), "float32"), B: T.Buffer((1024, 1024), "float32")):
    for i, j in T.grid(1024, 1024):
        B[i, j] = A[i // 2, j // 2]


@T.prim_func
def pairs_down(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((512, 512), "float32")):
    for i, j in T.grid(512, 512):
        B[i, j] = (A[2 * i, 2 * j] + A[2 * i + 1, 2 * j] + A[2 * i, 2 * j + 1] + A[2 * i + 1, 2 * j + 1]) * 0.25


@T.prim_func
def rotated(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = A[(i + 777) % 1000000]


@T.prim_func
def backward(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = A[999999 - i] * 0.5


@T.prim_func
def transposed(A: T.Buffer((1000, 900), "float32"), B: T.Buffer((900, 1000), "float32")):
    for i, j in T.grid(900, 1000):
        B[i, j] = A[j, i] + 1.0


@T.prim_func
def to_blocks(A: T.Buffer((64, 64, 64), "float32"), B: T.Buffer((16, 64, 64, 4), "float32")):
    for c, y, x in T.grid(64, 64, 64):
        B[c // 4, y, x, c % 4] = A[c, y, x]


@T.prim_func
def from_blocks(B: T.Buffer((16, 64, 64, 4), "float32"), A: T.Buffer((64, 64, 64), "float32")):
    for c, y, x in T.grid(64, 64, 64):
        A[c, y, x] = B[c // 4, y, x, c % 4] * 2.0


@T.prim_func
def padded_blocks(A: T.Buffer((62, 64, 64), "float32"), B: T.Buffer((16, 64, 64, 4), "float32")):
    for cb, y, x, cc in T.grid(16, 64, 64, 4):
        if 4 * cb + cc < 62:
            B[cb, y, x, cc] = A[4 * cb + cc, y, x]
        else:
            B[cb, y, x, cc] = 0.0


@T.prim_func
def sum_of_padded_blocks(B: T.Buffer((4096, 256, 4), "float32"), S: T.Buffer((4096,), "float32")):
    for i in range(4096):
        S[i] = 0.0
        for jo, ji in T.grid(256, 4):
            if 4 * jo + ji < 1022:
                S[i] = S[i] + B[i, jo, ji]


@T.prim_func
def max_of_padded_blocks(B: T.Buffer((4096, 256, 4), "float32"), S: T.Buffer((4096,), "float32")):
    for i in range(4096):
        S[i] = B[i, 0, 0]
        for jo, ji in T.grid(256, 4):
            if 4 * jo + ji < 1022:
                S[i] = T.max(S[i], B[i, jo, ji])


@T.prim_func
def product_of_blocks(
    A: T.Buffer((64, 256, 4), "float32"), W: T.Buffer((256, 4, 64), "float32"), C: T.Buffer((64, 64), "float32")
):
    for i, j in T.grid(64, 64):
        C[i, j] = 0.0
        for ko, ki in T.grid(256, 4):
            if 4 * ko + ki < 1022:
                C[i, j] = C[i, j] + A[i, ko, ki] * W[ko, ki, j]


@T.prim_func
def tiled_scale(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000, 1000), "float32")):
    for io, jo, ii, ji in T.grid(32, 32, 32, 32):
        if io * 32 + ii < 1000 and jo * 32 + ji < 1000:
            B[io * 32 + ii, jo * 32 + ji] = A[io * 32 + ii, jo * 32 + ji] * 3.0


@T.prim_func
def blocked_sum(A: T.Buffer((1000000,), "float32"), S: T.Buffer((1,), "float32")):
    S[0] = 0.0
    for io, ii in T.grid(977, 1024):
        if io * 1024 + ii < 1000000:
            S[0] = S[0] + A[io * 1024 + ii]


@T.prim_func
def block_maxima(A: T.Buffer((1000000,), "float32"), M: T.Buffer((977,), "float32")):
    for io in range(977):
        M[io] = A[io * 1024]
        for ii in range(1024):
            if io * 1024 + ii < 1000000:
                M[io] = T.max(M[io], A[io * 1024 + ii])


@T.prim_func
def pad_and_scale(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1024, 1024), "float32")):
    for i, j in T.grid(1024, 1024):
        if i < 1000 and j < 1000:
            B[i, j] = A[i, j] * 2.0
        else:
            B[i, j] = 0.0


@T.prim_func
def border_of_one(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1002, 1002), "float32")):
    for i, j in T.grid(1002, 1002):
        if i >= 1 and i < 1001 and j >= 1 and j < 1001:
            B[i, j] = A[i - 1, j - 1]
        else:
            B[i, j] = 0.0


@T.prim_func
def few_of_many(A: T.Buffer((1000000,), "float32"), B: T.Buffer((3,), "float32")):
    tmp = T.alloc_buffer((1000000,), "float32")
    for i in range(1000000):
        tmp[i] = A[i] * 2.0 + 1.0
    for i in range(3):
        B[i] = tmp[i]


@T.prim_func
def few_of_padded(A: T.Buffer((1000000,), "float32"), B: T.Buffer((3,), "float32")):
    tmp = T.alloc_buffer((1000000,), "float32")
    for i in range(1000000):
        if i < 999990:
            tmp[i] = A[i] * 2.0 + 1.0
        else:
            tmp[i] = 0.0
    for i in range(3):
        B[i] = tmp[i] + tmp[i + 1]


@T.prim_func
def padded_local(A: T.Buffer((4000, 250), "float32"), S: T.Buffer((4000,), "float32")):
    P = T.alloc_buffer((4000, 256), "float32")
    for i, j in T.grid(4000, 256):
        if j < 250:
            P[i, j] = A[i, j] * A[i, j]
        else:
            P[i, j] = 0.0
    for i in range(4000):
        S[i] = 0.0
        for j in range(256):
            S[i] = S[i] + P[i, j]


@T.prim_func
def padded_product(
    A: T.Buffer((500, 500), "float32"), W: T.Buffer((500, 500), "float32"), C: T.Buffer((500, 500), "float32")
):
    P = T.alloc_buffer((500, 512), "float32")
    for i, k in T.grid(500, 512):
        if k < 500:
            P[i, k] = A[i, k]
        else:
            P[i, k] = 0.0
    for i, j in T.grid(500, 500):
        C[i, j] = 0.0
        for k in range(512):
            if k < 500:
                C[i, j] = C[i, j] + P[i, k] * W[k, j]


@T.prim_func
def unused_padding(A: T.Buffer((4096, 256), "float32"), B: T.Buffer((4096, 256), "float32")):
    for i, j in T.grid(4096, 256):
        if j < 250:
            B[i, j] = A[i, j] * 0.5
    for i, j in T.grid(4096, 256):
        if j >= 250:
            B[i, j] = T.undef("float32")


@T.prim_func
def clamped(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = A[T.min(T.max(i - 1, 0), 999999)] + A[T.min(i + 1, 999999)]


@T.prim_func
def masked_mean(
    A: T.Buffer((1024, 1000), "float32"), M: T.Buffer((1024, 1000), "float32"), R: T.Buffer((1024,), "float32")
):
    cnt = T.alloc_buffer((1024,), "float32")
    for i in range(1024):
        cnt[i] = 0.0
        R[i] = 0.0
        for j in range(1000):
            if M[i, j] > 0.0:
                cnt[i] = cnt[i] + 1.0
                R[i] = R[i] + A[i, j]
    for i in range(1024):
        R[i] = R[i] / T.max(cnt[i], 1.0)


@T.prim_func
def masked_mean_and_variance(
    A: T.Buffer((1024, 1000), "float32"),
    M: T.Buffer((1024, 1000), "float32"),
    mean: T.Buffer((1024,), "float32"),
    var: T.Buffer((1024,), "float32"),
):
    cnt = T.alloc_buffer((1024,), "float32")
    for i in range(1024):
        cnt[i] = 0.0
        mean[i] = 0.0
        for j in range(1000):
            if M[i, j] > 0.0:
                cnt[i] = cnt[i] + 1.0
                mean[i] = mean[i] + A[i, j]
    for i in range(1024):
        mean[i] = mean[i] / T.max(cnt[i], 1.0)
    for i in range(1024):
        var[i] = 0.0
        for j in range(1000):
            if M[i, j] > 0.0:
                var[i] = var[i] + (A[i, j] - mean[i]) * (A[i, j] - mean[i])
    for i in range(1024):
        var[i] = var[i] / T.max(cnt[i], 1.0)


@T.prim_func
def masked_total(A: T.Buffer((1000000,), "float32"), M: T.Buffer((1000000,), "float32"), S: T.Buffer((2,), "float32")):
    S[0] = 0.0
    S[1] = 0.0
    for i in range(1000000):
        if M[i] > 0.5:
            S[0] = S[0] + A[i]
    for i in range(1000000):
        if M[i] > 0.5:
            S[1] = S[1] + A[i] * A[i]


@T.prim_func
def mean_and_variance(
    A: T.Buffer((1024, 1000), "float32"), mean: T.Buffer((1024,), "float32"), var: T.Buffer((1024,), "float32")
):
    for i in range(1024):
        mean[i] = 0.0
        for j in range(1000):
            mean[i] = mean[i] + A[i, j]
        mean[i] = mean[i] * 0.001
    for i in range(1024):
        var[i] = 0.0
        for j in range(1000):
            var[i] = var[i] + (A[i, j] - mean[i]) * (A[i, j] - mean[i])
        var[i] = var[i] * 0.001


@T.prim_func
def two_statistics(A: T.Buffer((1000000,), "float32"), S: T.Buffer((1,), "float32"), Q: T.Buffer((1,), "float32")):
    S[0] = 0.0
    for i in range(1000000):
        S[0] = S[0] + A[i]
    S[0] = S[0] * 0.000001
    Q[0] = 0.0
    for i in range(1000000):
        Q[0] = Q[0] + (A[i] - S[0]) * (A[i] - S[0])


@T.prim_func
def masked_global_variance(
    A: T.Buffer((1000000,), "float32"),
    M: T.Buffer((1000000,), "int32"),
    S: T.Buffer((1,), "float32"),
    Q: T.Buffer((1,), "float32"),
    N: T.Buffer((1,), "float32"),
):
    S[0] = 0.0
    N[0] = 0.0
    for i in range(1000000):
        if M[i] > 0:
            N[0] = N[0] + 1.0
    for i in range(1000000):
        if M[i] > 0:
            S[0] = S[0] + A[i]
    S[0] = S[0] / T.max(N[0], 1.0)
    Q[0] = 0.0
    for i in range(1000000):
        if M[i] > 0:
            Q[0] = Q[0] + (A[i] - S[0]) * (A[i] - S[0])


@T.prim_func
def thresholded(A: T.Buffer((1024, 1000), "float32"), B: T.Buffer((1024, 1000), "float32")):
    for i, j in T.grid(1024, 1000):
        if A[i, j] > 0.5:
            B[i, j] = A[i, j]
        else:
            B[i, j] = 0.0


@T.prim_func
def triangle(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000, 1000), "float32")):
    for i, j in T.grid(1000, 1000):
        if j <= i:
            B[i, j] = A[i, j]
        else:
            B[i, j] = 0.0


@T.prim_func
def band(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000, 1000), "float32")):
    for i, j in T.grid(1000, 1000):
        if j >= i - 2 and j <= i + 2:
            B[i, j] = A[i, j]
        else:
            B[i, j] = 0.0


@T.prim_func
def triangle_sums(A: T.Buffer((1000, 1000), "float32"), S: T.Buffer((1000,), "float32")):
    for i in range(1000):
        S[i] = 0.0
        for j in range(1000):
            if j <= i:
                S[i] = S[i] + A[i, j]


@T.prim_func
def three_points(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = 0.0
        if i > 0:
            B[i] = B[i] + A[i - 1]
        B[i] = B[i] + A[i]
        if i < 999999:
            B[i] = B[i] + A[i + 1]


@T.prim_func
def five_points(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000, 1000), "float32")):
    for i, j in T.grid(998, 998):
        B[i + 1, j + 1] = 0.2 * (A[i + 1, j + 1] + A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2])


@T.prim_func
def guarded_five_points(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000, 1000), "float32")):
    for i, j in T.grid(1000, 1000):
        if i > 0 and i < 999 and j > 0 and j < 999:
            B[i, j] = 0.2 * (A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
        else:
            B[i, j] = A[i, j]


@T.prim_func
def blur_in_two(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000, 1000), "float32")):
    R = T.alloc_buffer((1000, 1000), "float32")
    for i, j in T.grid(1000, 998):
        R[i, j + 1] = A[i, j] + A[i, j + 1] + A[i, j + 2]
    for i, j in T.grid(998, 998):
        B[i + 1, j + 1] = R[i, j + 1] + R[i + 1, j + 1] + R[i + 2, j + 1]


@T.prim_func
def wrapped(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    for i in range(1000000):
        B[i] = A[i] - A[(i + 1) % 1000000]


@T.prim_func
def two_steps(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    C = T.alloc_buffer((1000000,), "float32")
    for i in range(999998):
        C[i + 1] = 0.5 * A[i] + 0.5 * A[i + 2]
    for i in range(999996):
        B[i + 2] = 0.5 * C[i + 1] + 0.5 * C[i + 3]


@T.prim_func
def blocked_taps(
    A: T.Buffer((250000, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((250000, 4), "float32")
):
    for io, ii in T.grid(250000, 4):
        if 4 * io + ii < 999998:
            B[io, ii] = 0.0
            for f in range(3):
                B[io, ii] = B[io, ii] + F[f] * A[io + (ii + f) // 4, (ii + f) % 4]


@T.prim_func
def convolution(
    X: T.Buffer((16, 66, 66), "float32"), W: T.Buffer((16, 16, 3, 3), "float32"), Y: T.Buffer((16, 64, 64), "float32")
):
    for o, y, x in T.grid(16, 64, 64):
        Y[o, y, x] = 0.0
        for c, dy, dx in T.grid(16, 3, 3):
            Y[o, y, x] = Y[o, y, x] + X[c, y + dy, x + dx] * W[o, c, dy, dx]


@T.prim_func
def bordered_convolution(
    X: T.Buffer((16, 64, 64), "float32"), W: T.Buffer((16, 16, 3, 3), "float32"), Y: T.Buffer((16, 64, 64), "float32")
):
    for o, y, x in T.grid(16, 64, 64):
        Y[o, y, x] = 0.0
        for c, dy, dx in T.grid(16, 3, 3):
            if y + dy >= 1 and y + dy < 65 and x + dx >= 1 and x + dx < 65:
                Y[o, y, x] = Y[o, y, x] + X[c, y + dy - 1, x + dx - 1] * W[o, c, dy, dx]


@T.prim_func
def row_sums(A: T.Buffer((1024, 1000), "float32"), S: T.Buffer((1024,), "float32")):
    for i in range(1024):
        S[i] = 0.0
        for j in range(1000):
            S[i] = S[i] + A[i, j]


@T.prim_func
def column_sums(A: T.Buffer((1024, 1000), "float32"), S: T.Buffer((1000,), "float32")):
    for j in range(1000):
        S[j] = 0.0
    for i, j in T.grid(1024, 1000):
        S[j] = S[j] + A[i, j]


@T.prim_func
def row_extremes(
    A: T.Buffer((1024, 1000), "float32"), L: T.Buffer((1024,), "float32"), H: T.Buffer((1024,), "float32")
):
    for i in range(1024):
        L[i] = A[i, 0]
        H[i] = A[i, 0]
        for j in range(1000):
            L[i] = T.min(L[i], A[i, j])
            H[i] = T.max(H[i], A[i, j])


@T.prim_func
def sum_by_rest(A: T.Buffer((1000000,), "float32"), S: T.Buffer((8,), "float32")):
    for k in range(8):
        S[k] = 0.0
    for i in range(1000000):
        S[i % 8] = S[i % 8] + A[i]


@T.prim_func
def sum_by_quotient(A: T.Buffer((1000000,), "float32"), S: T.Buffer((100000,), "float32")):
    for k in range(100000):
        S[k] = 0.0
    for i in range(1000000):
        S[i // 10] = S[i // 10] + A[i]


@T.prim_func
def distances(X: T.Buffer((200, 32), "float32"), Y: T.Buffer((200, 32), "float32"), D: T.Buffer((200, 200), "float32")):
    for i, j in T.grid(200, 200):
        D[i, j] = 0.0
        for k in range(32):
            D[i, j] = D[i, j] + (X[i, k] - Y[j, k]) * (X[i, k] - Y[j, k])


@T.prim_func
def weighted_total(
    A: T.Buffer((1000000,), "float32"), W: T.Buffer((1000000,), "float32"), S: T.Buffer((1,), "float32")
):
    S[0] = 0.0
    for i in range(1000000):
        S[0] = S[0] + A[i] * W[i]


@T.prim_func
def product_and_bias(
    A: T.Buffer((300, 400), "float32"),
    W: T.Buffer((400, 300), "float32"),
    V: T.Buffer((300,), "float32"),
    C: T.Buffer((300, 300), "float32"),
):
    for i, j in T.grid(300, 300):
        C[i, j] = V[j]
        for k in range(400):
            C[i, j] = C[i, j] + A[i, k] * W[k, j]
    for i, j in T.grid(300, 300):
        C[i, j] = T.max(C[i, j], 0.0)


@T.prim_func
def running_sum(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    B[0] = A[0]
    for i in range(999999):
        B[i + 1] = B[i] + A[i + 1]


@T.prim_func
def running_maximum(A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")):
    B[0] = A[0]
    for i in range(999999):
        B[i + 1] = T.max(B[i], A[i + 1])


@T.prim_func
def row_scans(A: T.Buffer((1000, 1000), "float32"), B: T.Buffer((1000, 1000), "float32")):
    for i in range(1000):
        B[i, 0] = A[i, 0]
        for j in range(999):
            B[i, j + 1] = B[i, j] + A[i, j + 1]


@T.prim_func
def decay(A: T.Buffer((100000,), "float32"), B: T.Buffer((100000,), "float32")):
    B[0] = A[0]
    for i in range(99999):
        B[i + 1] = 0.9 * B[i] + 0.1 * A[i + 1]


@T.prim_func
def differences_of_sums(
    A: T.Buffer((1000000,), "float32"), P: T.Buffer((1000000,), "float32"), B: T.Buffer((999990,), "float32")
):
    P[0] = A[0]
    for i in range(999999):
        P[i + 1] = P[i] + A[i + 1]
    for i in range(999990):
        B[i] = P[i + 10] - P[i]


@T.prim_func
def gathered(A: T.Buffer((100000,), "float32"), I: T.Buffer((100000,), "int32"), B: T.Buffer((100000,), "float32")):
    for i in range(100000):
        B[i] = A[I[i]] + 1.0


@T.prim_func
def gathered_rows(
    A: T.Buffer((5000, 64), "float32"), I: T.Buffer((2000,), "int32"), B: T.Buffer((2000, 64), "float32")
):
    for i, j in T.grid(2000, 64):
        B[i, j] = A[I[i], j]


@T.prim_func
def scattered_sums(A: T.Buffer((100000,), "float32"), I: T.Buffer((100000,), "int32"), S: T.Buffer((1000,), "float32")):
    for k in range(1000):
        S[k] = 0.0
    for i in range(100000):
        S[I[i]] = S[I[i]] + A[i]


@T.prim_func
def guarded_gather(
    A: T.Buffer((100000,), "float32"), I: T.Buffer((100000,), "int32"), B: T.Buffer((100000,), "float32")
):
    for i in range(100000):
        if I[i] >= 0:
            B[i] = A[I[i]]
        else:
            B[i] = 0.0


@T.prim_func
def soft_maximum(A: T.Buffer((512, 500), "float32"), B: T.Buffer((512, 500), "float32")):
    m = T.alloc_buffer((512,), "float32")
    s = T.alloc_buffer((512,), "float32")
    for i in range(512):
        m[i] = A[i, 0]
        for j in range(500):
            m[i] = T.max(m[i], A[i, j])
        s[i] = 0.0
        for j in range(500):
            B[i, j] = T.exp(A[i, j] - m[i])
            s[i] = s[i] + B[i, j]
        for j in range(500):
            B[i, j] = B[i, j] / s[i]


@T.prim_func
def causal_scores(
    Q: T.Buffer((256, 64), "float32"), K: T.Buffer((256, 64), "float32"), S: T.Buffer((256, 256), "float32")
):
    for i, j in T.grid(256, 256):
        S[i, j] = 0.0
        if j <= i:
            for k in range(64):
                S[i, j] = S[i, j] + Q[i, k] * K[j, k]
        else:
            S[i, j] = -10000.0


@T.prim_func
def padded_projection(
    X: T.Buffer((250, 256), "float32"), W: T.Buffer((256, 256), "float32"), Y: T.Buffer((256, 256), "float32")
):
    P = T.alloc_buffer((256, 256), "float32")
    for i, k in T.grid(256, 256):
        if i < 250:
            P[i, k] = X[i, k]
        else:
            P[i, k] = 0.0
    for i, j in T.grid(256, 256):
        if i < 250:
            Y[i, j] = 0.0
            for k in range(256):
                Y[i, j] = Y[i, j] + P[i, k] * W[k, j]
        else:
            Y[i, j] = 0.0


@T.prim_func
def padded_feed_forward(
    X: T.Buffer((200, 128), "float32"),
    W: T.Buffer((128, 512), "float32"),
    V: T.Buffer((512, 128), "float32"),
    Y: T.Buffer((200, 128), "float32"),
):
    P = T.alloc_buffer((256, 128), "float32")
    H = T.alloc_buffer((256, 512), "float32")
    for i, k in T.grid(256, 128):
        if i < 200:
            P[i, k] = X[i, k]
        else:
            P[i, k] = 0.0
    for i, j in T.grid(256, 512):
        H[i, j] = 0.0
        for k in range(128):
            H[i, j] = H[i, j] + P[i, k] * W[k, j]
        H[i, j] = T.max(H[i, j], 0.0)
    for i, j in T.grid(200, 128):
        Y[i, j] = 0.0
        for k in range(512):
            Y[i, j] = Y[i, j] + H[i, k] * V[k, j]


@T.prim_func
def normalized_rows(
    A: T.Buffer((1024, 768), "float32"), G: T.Buffer((768,), "float32"), B: T.Buffer((1024, 768), "float32")
):
    m = T.alloc_buffer((1024,), "float32")
    v = T.alloc_buffer((1024,), "float32")
    for i in range(1024):
        m[i] = 0.0
        for j in range(768):
            m[i] = m[i] + A[i, j]
        m[i] = m[i] / 768.0
    for i in range(1024):
        v[i] = 0.0
        for j in range(768):
            v[i] = v[i] + (A[i, j] - m[i]) * (A[i, j] - m[i])
        v[i] = v[i] / 768.0
    for i, j in T.grid(1024, 768):
        B[i, j] = (A[i, j] - m[i]) / T.sqrt(v[i] + 0.00001) * G[j]


@T.prim_func
def transformer_block(
    X: T.Buffer((60, 64), "float32"),
    Wq: T.Buffer((64, 64), "float32"),
    Wk: T.Buffer((64, 64), "float32"),
    Wv: T.Buffer((64, 64), "float32"),
    Y: T.Buffer((60, 64), "float32"),
):
    P = T.alloc_buffer((64, 64), "float32")
    Q = T.alloc_buffer((64, 64), "float32")
    K = T.alloc_buffer((64, 64), "float32")
    V = T.alloc_buffer((64, 64), "float32")
    S = T.alloc_buffer((64, 64), "float32")
    m = T.alloc_buffer((64,), "float32")
    s = T.alloc_buffer((64,), "float32")
    for i, k in T.grid(64, 64):
        if i < 60:
            P[i, k] = X[i, k]
        else:
            P[i, k] = 0.0
    for i, j in T.grid(64, 64):
        Q[i, j] = 0.0
        K[i, j] = 0.0
        V[i, j] = 0.0
        for k in range(64):
            Q[i, j] = Q[i, j] + P[i, k] * Wq[k, j]
            K[i, j] = K[i, j] + P[i, k] * Wk[k, j]
            V[i, j] = V[i, j] + P[i, k] * Wv[k, j]
    for i, j in T.grid(64, 64):
        S[i, j] = 0.0
        for k in range(64):
            S[i, j] = S[i, j] + Q[i, k] * K[j, k]
    for i in range(64):
        m[i] = -10000.0
        for j in range(64):
            if j < 60:
                m[i] = T.max(m[i], S[i, j])
        s[i] = 0.0
        for j in range(64):
            if j < 60:
                S[i, j] = T.exp(S[i, j] - m[i])
                s[i] = s[i] + S[i, j]
            else:
                S[i, j] = 0.0
    for i, j in T.grid(60, 64):
        Y[i, j] = 0.0
        for k in range(64):
            Y[i, j] = Y[i, j] + S[i, k] * V[k, j]
        Y[i, j] = Y[i, j] / s[i]
