"""Programs for `untuned.py`: no form was made for any of them, and none is in examples/. They are parsed, never run."""

# ruff: noqa: E741, SIM102, SIM300, B007
from ir import script as T


@T.prim_func
def summed_area(A: T.Buffer((512, 512), "float32"), S: T.Buffer((512, 512), "float32")):
    for i in range(512):
        for j in range(512):
            S[i, j] = A[i, j]
            if i > 0:
                S[i, j] = S[i, j] + S[i - 1, j]
            if j > 0:
                S[i, j] = S[i, j] + S[i, j - 1]
            if i > 0 and j > 0:
                S[i, j] = S[i, j] - S[i - 1, j - 1]


@T.prim_func
def window_of_positions(
    A: T.Buffer((257, 16), "float32"), w: T.Buffer((5,), "float32"), B: T.Buffer((256, 16), "float32")
):
    for o, i in T.grid(256, 16):
        B[o, i] = 0.0
        for t in range(5):
            B[o, i] = B[o, i] + A[(16 * o + i + t) // 16, (16 * o + i + t) % 16] * w[t]


@T.prim_func
def dilated_groups(
    X: T.Buffer((32, 40, 40), "float32"), W: T.Buffer((32, 8, 3, 3), "float32"), Y: T.Buffer((32, 36, 36), "float32")
):
    for o, y, x in T.grid(32, 36, 36):
        Y[o, y, x] = 0.0
        for c, dy, dx in T.grid(8, 3, 3):
            Y[o, y, x] = Y[o, y, x] + X[o // 8 * 8 + c, y + 2 * dy, x + 2 * dx] * W[o, c, dy, dx]


@T.prim_func
def transposed_convolution(
    X: T.Buffer((32, 32), "float32"), W: T.Buffer((4, 4), "float32"), Y: T.Buffer((66, 66), "float32")
):
    for i, j in T.grid(66, 66):
        Y[i, j] = 0.0
    for i, j, a, b in T.grid(32, 32, 4, 4):
        Y[2 * i + a, 2 * j + b] = Y[2 * i + a, 2 * j + b] + X[i, j] * W[a, b]


@T.prim_func
def tiles_with_tails(
    A: T.Buffer((300, 200), "float32"), B: T.Buffer((200, 250), "float32"), C: T.Buffer((300, 250), "float32")
):
    for io, jo, ii, jj in T.grid(10, 8, 32, 32):
        if 32 * io + ii < 300 and 32 * jo + jj < 250:
            C[32 * io + ii, 32 * jo + jj] = 0.0
            for k in range(200):
                C[32 * io + ii, 32 * jo + jj] = C[32 * io + ii, 32 * jo + jj] + A[32 * io + ii, k] * B[k, 32 * jo + jj]


@T.prim_func
def pairwise_forces(P: T.Buffer((600, 3), "float32"), F: T.Buffer((600, 3), "float32")):
    for i in range(600):
        for a in range(3):
            F[i, a] = 0.0
        for j in range(600):
            q = (
                (P[i, 0] - P[j, 0]) * (P[i, 0] - P[j, 0])
                + (P[i, 1] - P[j, 1]) * (P[i, 1] - P[j, 1])
                + (P[i, 2] - P[j, 2]) * (P[i, 2] - P[j, 2])
                + T.float32(0.01)
            )
            for a in range(3):
                F[i, a] = F[i, a] + (P[j, a] - P[i, a]) / (q * T.sqrt(q))


@T.prim_func
def bilinear_upsampling(X: T.Buffer((128, 128), "float32"), Y: T.Buffer((256, 256), "float32")):
    R = T.alloc_buffer((256, 128), "float32")
    for i, j in T.grid(256, 128):
        if i % 2 == 0:
            R[i, j] = T.float32(0.25) * X[T.max(i // 2 - 1, 0), j] + T.float32(0.75) * X[i // 2, j]
        else:
            R[i, j] = T.float32(0.75) * X[i // 2, j] + T.float32(0.25) * X[T.min(i // 2 + 1, 127), j]
    for i, j in T.grid(256, 256):
        if j % 2 == 0:
            Y[i, j] = T.float32(0.25) * R[i, T.max(j // 2 - 1, 0)] + T.float32(0.75) * R[i, j // 2]
        else:
            Y[i, j] = T.float32(0.75) * R[i, j // 2] + T.float32(0.25) * R[i, T.min(j // 2 + 1, 127)]


@T.prim_func
def game_of_life(G: T.Buffer((512, 512), "int32"), N: T.Buffer((512, 512), "int32")):
    for i, j in T.grid(512, 512):
        n = (
            G[(i + 511) % 512, (j + 511) % 512]
            + G[(i + 511) % 512, j]
            + G[(i + 511) % 512, (j + 1) % 512]
            + G[i, (j + 511) % 512]
            + G[i, (j + 1) % 512]
            + G[(i + 1) % 512, (j + 511) % 512]
            + G[(i + 1) % 512, j]
            + G[(i + 1) % 512, (j + 1) % 512]
        )
        if n == 3 or (G[i, j] == 1 and n == 2):
            N[i, j] = 1
        else:
            N[i, j] = 0


@T.prim_func
def moving_average(X: T.Buffer((128, 1024), "float32"), Y: T.Buffer((128, 1024), "float32")):
    for b in range(128):
        Y[b, 0] = T.float32(0.1) * X[b, 0]
        for t in range(1, 1024):
            Y[b, t] = T.float32(0.9) * Y[b, t - 1] + T.float32(0.1) * X[b, t]


@T.prim_func
def nearest_centre(X: T.Buffer((2000, 8), "float32"), C: T.Buffer((20, 8), "float32"), L: T.Buffer((2000,), "int32")):
    for i in range(2000):
        best = T.alloc_buffer((1,), "float32")
        best[0] = T.float32(1e30)
        L[i] = 0
        for c in range(20):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for k in range(8):
                d[0] = d[0] + (X[i, k] - C[c, k]) * (X[i, k] - C[c, k])
            if d[0] < best[0]:
                best[0] = d[0]
                L[i] = c


@T.prim_func
def cross_entropy(L: T.Buffer((512, 1000), "float32"), y: T.Buffer((512,), "int32"), E: T.Buffer((512,), "float32")):
    for i in range(512):
        m = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        m[0] = L[i, 0]
        for j in range(1, 1000):
            m[0] = T.max(m[0], L[i, j])
        s[0] = 0.0
        for j in range(1000):
            s[0] = s[0] + T.exp(L[i, j] - m[0])
        E[i] = T.log(s[0]) + m[0] - L[i, y[i]]


@T.prim_func
def rotary_embedding(
    X: T.Buffer((512, 64), "float32"),
    C: T.Buffer((512, 32), "float32"),
    S: T.Buffer((512, 32), "float32"),
    Y: T.Buffer((512, 64), "float32"),
):
    for t, i in T.grid(512, 32):
        Y[t, 2 * i] = X[t, 2 * i] * C[t, i] - X[t, 2 * i + 1] * S[t, i]
        Y[t, 2 * i + 1] = X[t, 2 * i] * S[t, i] + X[t, 2 * i + 1] * C[t, i]


@T.prim_func
def causal_attention(
    Q: T.Buffer((256, 64), "float32"),
    Kk: T.Buffer((256, 64), "float32"),
    V: T.Buffer((256, 64), "float32"),
    O: T.Buffer((256, 64), "float32"),
):
    S = T.alloc_buffer((256, 256), "float32")
    m = T.alloc_buffer((256,), "float32")
    z = T.alloc_buffer((256,), "float32")
    for i in range(256):
        for j in range(i + 1):
            S[i, j] = 0.0
            for k in range(64):
                S[i, j] = S[i, j] + Q[i, k] * Kk[j, k]
            S[i, j] = S[i, j] * T.float32(0.125)
        m[i] = S[i, 0]
        for j in range(1, i + 1):
            m[i] = T.max(m[i], S[i, j])
        z[i] = 0.0
        for j in range(i + 1):
            z[i] = z[i] + T.exp(S[i, j] - m[i])
        for d in range(64):
            O[i, d] = 0.0
            for j in range(i + 1):
                O[i, d] = O[i, d] + T.exp(S[i, j] - m[i]) / z[i] * V[j, d]


@T.prim_func
def tridiagonal_systems(
    a: T.Buffer((200, 300), "float32"),
    b: T.Buffer((200, 300), "float32"),
    c: T.Buffer((200, 300), "float32"),
    d: T.Buffer((200, 300), "float32"),
    X: T.Buffer((200, 300), "float32"),
):
    cp = T.alloc_buffer((200, 300), "float32")
    dp = T.alloc_buffer((200, 300), "float32")
    for s in range(300):
        cp[0, s] = c[0, s] / b[0, s]
        dp[0, s] = d[0, s] / b[0, s]
        for i in range(1, 200):
            cp[i, s] = c[i, s] / (b[i, s] - a[i, s] * cp[i - 1, s])
            dp[i, s] = (d[i, s] - a[i, s] * dp[i - 1, s]) / (b[i, s] - a[i, s] * cp[i - 1, s])
        X[199, s] = dp[199, s]
        for i in range(199):
            X[198 - i, s] = dp[198 - i, s] - cp[198 - i, s] * X[199 - i, s]


@T.prim_func
def group_norm_in_blocks(X: T.Buffer((8, 32, 32, 4), "float32"), Y: T.Buffer((8, 32, 32, 4), "float32")):
    m = T.alloc_buffer((8,), "float32")
    v = T.alloc_buffer((8,), "float32")
    for c in range(8):
        m[c] = 0.0
        for y, x, cc in T.grid(32, 32, 4):
            m[c] = m[c] + X[c, y, x, cc]
        m[c] = m[c] / T.float32(4096)
        v[c] = 0.0
        for y, x, cc in T.grid(32, 32, 4):
            v[c] = v[c] + (X[c, y, x, cc] - m[c]) * (X[c, y, x, cc] - m[c])
        v[c] = v[c] / T.float32(4096)
        for y, x, cc in T.grid(32, 32, 4):
            Y[c, y, x, cc] = (X[c, y, x, cc] - m[c]) / T.sqrt(v[c] + T.float32(1e-5))


@T.prim_func
def ellpack_product(
    A: T.Buffer((5000, 16), "float32"),
    J: T.Buffer((5000, 16), "int32"),
    x: T.Buffer((5000,), "float32"),
    y: T.Buffer((5000,), "float32"),
):
    for i in range(5000):
        y[i] = 0.0
        for k in range(16):
            y[i] = y[i] + A[i, k] * x[J[i, k]]


@T.prim_func
def max_pool_in_blocks(X: T.Buffer((8, 64, 64, 4), "float32"), Y: T.Buffer((8, 32, 32, 4), "float32")):
    for c, y, x, cc in T.grid(8, 32, 32, 4):
        Y[c, y, x, cc] = T.min_value("float32")
        for dy, dx in T.grid(3, 3):
            if 2 * y + dy - 1 >= 0 and 2 * y + dy - 1 < 64 and 2 * x + dx - 1 >= 0 and 2 * x + dx - 1 < 64:
                Y[c, y, x, cc] = T.max(Y[c, y, x, cc], X[c, 2 * y + dy - 1, 2 * x + dx - 1, cc])


@T.prim_func
def histogram_2d(
    I: T.Buffer((20000,), "int32"),
    J: T.Buffer((20000,), "int32"),
    W: T.Buffer((20000,), "float32"),
    Hh: T.Buffer((32, 32), "float32"),
):
    for p in range(20000):
        T.assume(I[p] >= 0 and I[p] < 32 and J[p] >= 0 and J[p] < 32)
    for i, j in T.grid(32, 32):
        Hh[i, j] = 0.0
    for p in range(20000):
        Hh[I[p], J[p]] = Hh[I[p], J[p]] + W[p]


@T.prim_func
def recurrent_gate(
    W: T.Buffer((512, 256), "float32"),
    U: T.Buffer((512, 512), "float32"),
    x: T.Buffer((256,), "float32"),
    h: T.Buffer((512,), "float32"),
    b: T.Buffer((512,), "float32"),
    o: T.Buffer((512,), "float32"),
):
    for i in range(512):
        o[i] = b[i]
        for j in range(256):
            o[i] = o[i] + W[i, j] * x[j]
        for j in range(512):
            o[i] = o[i] + U[i, j] * h[j]
        o[i] = T.float32(1.0) / (T.float32(1.0) + T.exp(T.float32(0.0) - o[i]))


@T.prim_func
def horner(X: T.Buffer((20000,), "float32"), c: T.Buffer((12,), "float32"), Y: T.Buffer((20000,), "float32")):
    for i in range(20000):
        Y[i] = 0.0
        for j in range(12):
            Y[i] = Y[i] * X[i] + c[11 - j]


@T.prim_func
def layer_norm_with_padding(
    X: T.Buffer((256, 200), "float32"),
    g: T.Buffer((200,), "float32"),
    b: T.Buffer((200,), "float32"),
    Y: T.Buffer((256, 200), "float32"),
):
    m = T.alloc_buffer((256,), "float32")
    v = T.alloc_buffer((256,), "float32")
    for i in range(256):
        m[i] = 0.0
        for jo, ji in T.grid(25, 8):
            if 8 * jo + ji < 197:
                m[i] = m[i] + X[i, 8 * jo + ji]
        m[i] = m[i] / T.float32(197)
        v[i] = 0.0
        for jo, ji in T.grid(25, 8):
            if 8 * jo + ji < 197:
                v[i] = v[i] + (X[i, 8 * jo + ji] - m[i]) * (X[i, 8 * jo + ji] - m[i])
        v[i] = v[i] / T.float32(197)
        for jo, ji in T.grid(25, 8):
            if 8 * jo + ji < 197:
                Y[i, 8 * jo + ji] = (X[i, 8 * jo + ji] - m[i]) / T.sqrt(v[i] + T.float32(1e-5)) * g[8 * jo + ji] + b[
                    8 * jo + ji
                ]
            else:
                Y[i, 8 * jo + ji] = 0.0


@T.prim_func
def product_of_blocks(
    A: T.Buffer((16, 16, 16, 16), "float32"), B: T.Buffer((256, 100), "float32"), C: T.Buffer((256, 100), "float32")
):
    for i, j in T.grid(256, 100):
        C[i, j] = 0.0
        for k in range(256):
            C[i, j] = C[i, j] + A[i // 16, k // 16, i % 16, k % 16] * B[k, j]


@T.prim_func
def depthwise_padded(
    X: T.Buffer((32, 56, 56), "float32"), W: T.Buffer((32, 3, 3), "float32"), Y: T.Buffer((32, 56, 56), "float32")
):
    for c, y, x in T.grid(32, 56, 56):
        Y[c, y, x] = 0.0
        for a, b in T.grid(3, 3):
            if 1 <= y + a and y + a < 57 and 1 <= x + b and x + b < 57:
                Y[c, y, x] = Y[c, y, x] + X[c, y + a - 1, x + b - 1] * W[c, a, b]


@T.prim_func
def softmax_of_lengths(
    S: T.Buffer((64, 128), "float32"), n: T.Buffer((64,), "int32"), P: T.Buffer((64, 128), "float32")
):
    for i in range(64):
        T.assume(n[i] >= 1 and n[i] <= 128)
    m = T.alloc_buffer((64,), "float32")
    z = T.alloc_buffer((64,), "float32")
    for i in range(64):
        m[i] = T.min_value("float32")
        for j in range(128):
            if j < n[i]:
                m[i] = T.max(m[i], S[i, j])
        z[i] = 0.0
        for j in range(128):
            if j < n[i]:
                z[i] = z[i] + T.exp(S[i, j] - m[i])
        for j in range(128):
            if j < n[i]:
                P[i, j] = T.exp(S[i, j] - m[i]) / z[i]
            else:
                P[i, j] = 0.0


@T.prim_func
def zero_points(
    A: T.Buffer((128, 256), "int8"),
    B: T.Buffer((256, 64), "int8"),
    za: T.int32,
    zb: T.int32,
    C: T.Buffer((128, 64), "int32"),
):
    T.assume(za >= -128 and za < 128 and zb >= -128 and zb < 128)
    for i, j in T.grid(128, 64):
        C[i, j] = 0
        for k in range(256):
            C[i, j] = C[i, j] + (T.int32(A[i, k]) - za) * (T.int32(B[k, j]) - zb)


@T.prim_func
def average_pool_in_blocks(X: T.Buffer((8, 32, 32, 4), "float32"), Y: T.Buffer((8, 16, 16, 4), "float32")):
    for c, y, x, cc in T.grid(8, 16, 16, 4):
        Y[c, y, x, cc] = 0.0
        for a, b in T.grid(2, 2):
            Y[c, y, x, cc] = Y[c, y, x, cc] + X[c, 2 * y + a, 2 * x + b, cc]
        Y[c, y, x, cc] = Y[c, y, x, cc] * T.float32(0.25)


@T.prim_func
def heat(A: T.Buffer((128, 128), "float32")):
    B = T.alloc_buffer((128, 128), "float32")
    for t in range(50):
        for i in T.serial(1, 127):
            for j in T.serial(1, 127):
                B[i, j] = T.float32(0.25) * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
        for i in T.serial(1, 127):
            for j in T.serial(1, 127):
                A[i, j] = B[i, j]


@T.prim_func
def knapsack(w: T.Buffer((60,), "int32"), v: T.Buffer((60,), "int32"), D: T.Buffer((501,), "int32")):
    for i in range(60):
        T.assume(w[i] >= 1 and w[i] < 50 and v[i] >= 0 and v[i] < 1000)
    for c in range(501):
        D[c] = 0
    for i in range(60):
        for c in range(501):
            if 500 - c >= w[i]:
                D[500 - c] = T.max(D[500 - c], D[500 - c - w[i]] + v[i])


@T.prim_func
def covariance_of_samples(X: T.Buffer((1000, 40), "float32"), C: T.Buffer((40, 40), "float32")):
    m = T.alloc_buffer((40,), "float32")
    for j in range(40):
        m[j] = 0.0
        for i in range(1000):
            m[j] = m[j] + X[i, j]
        m[j] = m[j] / T.float32(1000)
    for a, b in T.grid(40, 40):
        C[a, b] = 0.0
        for i in range(1000):
            C[a, b] = C[a, b] + (X[i, a] - m[a]) * (X[i, b] - m[b])
        C[a, b] = C[a, b] / T.float32(999)


@T.prim_func
def segment_means(X: T.Buffer((5000, 16), "float32"), L: T.Buffer((5000,), "int32"), M: T.Buffer((100, 16), "float32")):
    for i in range(5000):
        T.assume(L[i] >= 0 and L[i] < 100)
    c = T.alloc_buffer((100,), "float32")
    for g in range(100):
        c[g] = 0.0
        for k in range(16):
            M[g, k] = 0.0
    for i in range(5000):
        c[L[i]] = c[L[i]] + T.float32(1)
        for k in range(16):
            M[L[i], k] = M[L[i], k] + X[i, k]
    for g, k in T.grid(100, 16):
        M[g, k] = M[g, k] / T.max(c[g], T.float32(1))


@T.prim_func
def escape_time(
    cx: T.Buffer((128, 128), "float32"), cy: T.Buffer((128, 128), "float32"), N: T.Buffer((128, 128), "int32")
):
    for i, j in T.grid(128, 128):
        x = T.alloc_buffer((1,), "float32")
        y = T.alloc_buffer((1,), "float32")
        x[0] = 0.0
        y[0] = 0.0
        N[i, j] = 0
        for t in range(20):
            if x[0] * x[0] + y[0] * y[0] <= T.float32(4):
                u = x[0] * x[0] - y[0] * y[0] + cx[i, j]
                y[0] = T.float32(2) * x[0] * y[0] + cy[i, j]
                x[0] = u
                N[i, j] = N[i, j] + 1


@T.prim_func
def strided_convolution_in_blocks(
    X: T.Buffer((4, 33, 33, 4), "float32"),
    W: T.Buffer((24, 16, 3, 3), "float32"),
    Y: T.Buffer((6, 17, 17, 4), "float32"),
):
    for o, y, x, oo in T.grid(6, 17, 17, 4):
        Y[o, y, x, oo] = 0.0
        for c, dy, dx, cc in T.grid(4, 3, 3, 4):
            if 2 * y + dy >= 1 and 2 * y + dy < 34 and 2 * x + dx >= 1 and 2 * x + dx < 34:
                Y[o, y, x, oo] = (
                    Y[o, y, x, oo] + X[c, 2 * y + dy - 1, 2 * x + dx - 1, cc] * W[4 * o + oo, 4 * c + cc, dy, dx]
                )


@T.prim_func
def running_logsumexp(X: T.Buffer((64, 512), "float32"), Y: T.Buffer((64, 512), "float32")):
    for b in range(64):
        Y[b, 0] = X[b, 0]
        for t in range(1, 512):
            Y[b, t] = T.max(Y[b, t - 1], X[b, t]) + T.log(
                T.float32(1) + T.exp(T.float32(0) - T.abs(Y[b, t - 1] - X[b, t]))
            )


@T.prim_func
def leaky_product(A: T.Buffer((200, 200), "float32"), C: T.Buffer((200, 200), "float32")):
    L = T.alloc_buffer((200, 200), "float32")
    for i, j in T.grid(200, 200):
        if A[i, j] > 0.0:
            L[i, j] = A[i, j]
        else:
            L[i, j] = T.float32(0.1) * A[i, j]
    for i, j in T.grid(200, 200):
        C[i, j] = 0.0
        for k in range(200):
            C[i, j] = C[i, j] + L[i, k] * A[j, k]


@T.prim_func
def interpolation(x: T.Buffer((100,), "float32"), q: T.Buffer((10000,), "float32"), y: T.Buffer((10000,), "float32")):
    for p in range(10000):
        T.assume(q[p] >= 0.0 and q[p] < 1.0)
    for p in range(10000):
        t = q[p] * T.float32(99)
        i = T.min(T.max(T.int32(T.floor(t)), 0), 98)
        y[p] = x[i] * (T.float32(1) - (t - T.float32(i))) + x[i + 1] * (t - T.float32(i))


@T.prim_func
def lcs(a: T.Buffer((400,), "int32"), b: T.Buffer((400,), "int32"), D: T.Buffer((401, 401), "int32")):
    for i in range(401):
        D[i, 0] = 0
        D[0, i] = 0
    for i in range(1, 401):
        for j in range(1, 401):
            if a[i - 1] == b[j - 1]:
                D[i, j] = D[i - 1, j - 1] + 1
            else:
                D[i, j] = T.max(D[i - 1, j], D[i, j - 1])


@T.prim_func
def binomial_tree(S: T.Buffer((64,), "float32"), V: T.Buffer((64,), "float32")):
    W = T.alloc_buffer((64, 257), "float32")
    for s in range(64):
        for i in range(257):
            W[s, i] = T.max(S[s] * T.exp(0.01 * (2.0 * T.float32(i) - 256.0)) - 100.0, 0.0)
        for t in range(256):
            for i in range(256):
                if i < 256 - t:
                    W[s, i] = 0.999 * (0.48 * W[s, i] + 0.52 * W[s, i + 1])
        V[s] = W[s, 0]


@T.prim_func
def pagerank_csr(
    ptr: T.Buffer((1001,), "int32"),
    idx: T.Buffer((8000,), "int32"),
    x: T.Buffer((1000,), "float32"),
    y: T.Buffer((1000,), "float32"),
):
    for i in range(1000):
        y[i] = 0.15
        for p in range(ptr[i], ptr[i + 1]):
            y[i] = y[i] + 0.85 * x[idx[p]] * 0.125


@T.prim_func
def popcount(A: T.Buffer((20000,), "uint32"), B: T.Buffer((20000,), "uint32")):
    for i in range(20000):
        B[i] = T.uint32(0)
        for k in range(32):
            B[i] = B[i] + ((A[i] >> T.uint32(k)) & T.uint32(1))


@T.prim_func
def erosion(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32")):
    for y, x in T.grid(256, 256):
        B[y, x] = 1e30
        for dy, dx in T.grid(5, 5):
            if y + dy >= 2 and y + dy < 258 and x + dx >= 2 and x + dx < 258:
                B[y, x] = T.min(B[y, x], A[y + dy - 2, x + dx - 2])


@T.prim_func
def lbm_collide(
    G: T.Buffer((9, 128, 128), "float32"),
    w: T.Buffer((9,), "float32"),
    cx: T.Buffer((9,), "float32"),
    cy: T.Buffer((9,), "float32"),
    O: T.Buffer((9, 128, 128), "float32"),
):
    R = T.alloc_buffer((128, 128), "float32")
    U = T.alloc_buffer((128, 128), "float32")
    V = T.alloc_buffer((128, 128), "float32")
    for y, x in T.grid(128, 128):
        R[y, x] = 0.0
        U[y, x] = 0.0
        V[y, x] = 0.0
        for q in range(9):
            R[y, x] = R[y, x] + G[q, y, x]
            U[y, x] = U[y, x] + cx[q] * G[q, y, x]
            V[y, x] = V[y, x] + cy[q] * G[q, y, x]
        U[y, x] = U[y, x] / R[y, x]
        V[y, x] = V[y, x] / R[y, x]
    for q, y, x in T.grid(9, 128, 128):
        c = cx[q] * U[y, x] + cy[q] * V[y, x]
        O[q, y, x] = G[q, y, x] + 0.6 * (
            w[q] * R[y, x] * (1.0 + 3.0 * c + 4.5 * c * c - 1.5 * (U[y, x] * U[y, x] + V[y, x] * V[y, x])) - G[q, y, x]
        )


@T.prim_func
def odd_even_sort(A: T.Buffer((256,), "float32")):
    for t in range(256):
        for i in range(128):
            if t % 2 == 0:
                lo = T.min(A[2 * i], A[2 * i + 1])
                hi = T.max(A[2 * i], A[2 * i + 1])
                A[2 * i] = lo
                A[2 * i + 1] = hi
            else:
                if i < 127:
                    lo2 = T.min(A[2 * i + 1], A[2 * i + 2])
                    hi2 = T.max(A[2 * i + 1], A[2 * i + 2])
                    A[2 * i + 1] = lo2
                    A[2 * i + 2] = hi2


@T.prim_func
def autocorrelation(x: T.Buffer((4096,), "float32"), r: T.Buffer((64,), "float32")):
    for l in range(64):
        r[l] = 0.0
        for i in range(4096):
            if i + l < 4096:
                r[l] = r[l] + x[i] * x[i + l]


@T.prim_func
def dft(x: T.Buffer((512,), "float32"), re: T.Buffer((512,), "float32"), im: T.Buffer((512,), "float32")):
    for k in range(512):
        re[k] = 0.0
        im[k] = 0.0
        for n in range(512):
            a = 0.01227184630308513 * T.float32(k * n % 512)
            re[k] = re[k] + x[n] * T.cos(a)
            im[k] = im[k] - x[n] * T.sin(a)


@T.prim_func
def trmm_lower(
    L: T.Buffer((300, 300), "float32"), B: T.Buffer((300, 200), "float32"), C: T.Buffer((300, 200), "float32")
):
    for i, j in T.grid(300, 200):
        C[i, j] = 0.0
        for k in range(i + 1):
            C[i, j] = C[i, j] + L[i, k] * B[k, j]


@T.prim_func
def conv_transpose(
    X: T.Buffer((8, 32, 32), "float32"), W: T.Buffer((8, 8, 4, 4), "float32"), Y: T.Buffer((8, 66, 66), "float32")
):
    for o, y, x in T.grid(8, 66, 66):
        Y[o, y, x] = 0.0
    for o, c, y, x, dy, dx in T.grid(8, 8, 32, 32, 4, 4):
        Y[o, 2 * y + dy, 2 * x + dx] = Y[o, 2 * y + dy, 2 * x + dx] + X[c, y, x] * W[o, c, dy, dx]


@T.prim_func
def max_pool_argmax(
    X: T.Buffer((16, 64, 64), "float32"), M: T.Buffer((16, 32, 32), "float32"), P: T.Buffer((16, 32, 32), "int32")
):
    for c, y, x in T.grid(16, 32, 32):
        M[c, y, x] = X[c, 2 * y, 2 * x]
        P[c, y, x] = 0
        for d in range(4):
            if X[c, 2 * y + d // 2, 2 * x + d % 2] > M[c, y, x]:
                M[c, y, x] = X[c, 2 * y + d // 2, 2 * x + d % 2]
                P[c, y, x] = d


@T.prim_func
def wave_2d(U: T.Buffer((2, 128, 128), "float32"), V: T.Buffer((128, 128), "float32")):
    for t in range(50):
        for y in range(1, 127):
            for x in range(1, 127):
                V[y, x] = (
                    2.0 * U[1, y, x]
                    - U[0, y, x]
                    + 0.1 * (U[1, y - 1, x] + U[1, y + 1, x] + U[1, y, x - 1] + U[1, y, x + 1] - 4.0 * U[1, y, x])
                )
        for y in range(1, 127):
            for x in range(1, 127):
                U[0, y, x] = U[1, y, x]
                U[1, y, x] = V[y, x]


@T.prim_func
def embedding_bag(
    E: T.Buffer((5000, 32), "float32"),
    idx: T.Buffer((500, 20), "int32"),
    n: T.Buffer((500,), "int32"),
    O: T.Buffer((500, 32), "float32"),
):
    for b, d in T.grid(500, 32):
        O[b, d] = 0.0
        for k in range(20):
            if k < n[b]:
                O[b, d] = O[b, d] + E[idx[b, k], d]
        O[b, d] = O[b, d] / T.float32(T.max(n[b], 1))


@T.prim_func
def bellman_ford(
    u: T.Buffer((3000,), "int32"),
    v: T.Buffer((3000,), "int32"),
    w: T.Buffer((3000,), "float32"),
    D: T.Buffer((300,), "float32"),
):
    N = T.alloc_buffer((300,), "float32")
    for i in range(300):
        D[i] = 1e9
    D[0] = 0.0
    for t in range(30):
        for i in range(300):
            N[i] = D[i]
        for e in range(3000):
            N[v[e]] = T.min(N[v[e]], D[u[e]] + w[e])
        for i in range(300):
            D[i] = N[i]


@T.prim_func
def black_scholes(S: T.Buffer((50000,), "float32"), K: T.Buffer((50000,), "float32"), C: T.Buffer((50000,), "float32")):
    for i in range(50000):
        d1 = (T.log(S[i] / K[i]) + 0.07) / 0.2
        d2 = d1 - 0.2
        C[i] = S[i] * 0.5 * (1.0 + T.erf(d1 * 0.70710678)) - K[i] * 0.95 * 0.5 * (1.0 + T.erf(d2 * 0.70710678))


@T.prim_func
def batched_small_inverse(A: T.Buffer((4000, 3, 3), "float32"), B: T.Buffer((4000, 3, 3), "float32")):
    for n in range(4000):
        det = (
            A[n, 0, 0] * (A[n, 1, 1] * A[n, 2, 2] - A[n, 1, 2] * A[n, 2, 1])
            - A[n, 0, 1] * (A[n, 1, 0] * A[n, 2, 2] - A[n, 1, 2] * A[n, 2, 0])
            + A[n, 0, 2] * (A[n, 1, 0] * A[n, 2, 1] - A[n, 1, 1] * A[n, 2, 0])
        )
        for i, j in T.grid(3, 3):
            B[n, i, j] = (
                A[n, (j + 1) % 3, (i + 1) % 3] * A[n, (j + 2) % 3, (i + 2) % 3]
                - A[n, (j + 1) % 3, (i + 2) % 3] * A[n, (j + 2) % 3, (i + 1) % 3]
            ) / det


@T.prim_func
def csr_spmm(
    ptr: T.Buffer((501,), "int32"),
    idx: T.Buffer((5000,), "int32"),
    a: T.Buffer((5000,), "float32"),
    X: T.Buffer((500, 16), "float32"),
    Y: T.Buffer((500, 16), "float32"),
):
    for i, d in T.grid(500, 16):
        Y[i, d] = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            Y[i, d] = Y[i, d] + a[p] * X[idx[p], d]


@T.prim_func
def grouped_rms_norm(
    X: T.Buffer((256, 64, 16), "float32"), g: T.Buffer((64, 16), "float32"), Y: T.Buffer((256, 64, 16), "float32")
):
    S = T.alloc_buffer((256,), "float32")
    for n in range(256):
        S[n] = 0.0
        for a, b in T.grid(64, 16):
            if 16 * a + b < 1020:
                S[n] = S[n] + X[n, a, b] * X[n, a, b]
        for a, b in T.grid(64, 16):
            if 16 * a + b < 1020:
                Y[n, a, b] = X[n, a, b] * T.rsqrt(S[n] / 1020.0 + 1e-6) * g[a, b]
            else:
                Y[n, a, b] = 0.0


@T.prim_func
def viterbi(E: T.Buffer((200, 32), "float32"), A: T.Buffer((32, 32), "float32"), V: T.Buffer((200, 32), "float32")):
    for j in range(32):
        V[0, j] = E[0, j]
    for t in range(1, 200):
        for j in range(32):
            V[t, j] = V[t - 1, 0] + A[0, j]
            for i in range(1, 32):
                V[t, j] = T.max(V[t, j], V[t - 1, i] + A[i, j])
            V[t, j] = V[t, j] + E[t, j]


@T.prim_func
def image_gradient_hist(I_: T.Buffer((128, 128), "float32"), H: T.Buffer((8,), "float32")):
    for b in range(8):
        H[b] = 0.0
    for y in range(1, 127):
        for x in range(1, 127):
            gx = I_[y, x + 1] - I_[y, x - 1]
            gy = I_[y + 1, x] - I_[y - 1, x]
            m = T.sqrt(gx * gx + gy * gy)
            b2 = T.min(T.int32(T.floor(m * 2.0)), 7)
            H[b2] = H[b2] + m


@T.prim_func
def median3(x: T.Buffer((20000,), "float32"), y: T.Buffer((20000,), "float32")):
    for i in range(20000):
        if i == 0 or i == 19999:
            y[i] = x[i]
        else:
            y[i] = T.max(T.min(x[i - 1], x[i]), T.min(T.max(x[i - 1], x[i]), x[i + 1]))


@T.prim_func
def exp_moving_var(
    x: T.Buffer((64, 1000), "float32"), m: T.Buffer((64, 1000), "float32"), v: T.Buffer((64, 1000), "float32")
):
    for n in range(64):
        m[n, 0] = x[n, 0]
        v[n, 0] = 0.0
        for t in range(1, 1000):
            m[n, t] = 0.9 * m[n, t - 1] + 0.1 * x[n, t]
            v[n, t] = 0.9 * v[n, t - 1] + 0.1 * (x[n, t] - m[n, t]) * (x[n, t] - m[n, t])


@T.prim_func
def nn_distance_matrix(
    X: T.Buffer((400, 16), "float32"), Y: T.Buffer((300, 16), "float32"), D: T.Buffer((400,), "float32")
):
    for i in range(400):
        D[i] = 1e30
        for j in range(300):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for d in range(16):
                s[0] = s[0] + (X[i, d] - Y[j, d]) * (X[i, d] - Y[j, d])
            D[i] = T.min(D[i], s[0])


@T.prim_func
def sliding_distance(x: T.Buffer((8192,), "float32"), q: T.Buffer((64,), "float32"), D: T.Buffer((8129,), "float32")):
    for i in range(8129):
        D[i] = 0.0
        for j in range(64):
            D[i] += (x[i + j] - q[j]) * (x[i + j] - q[j])


@T.prim_func
def instance_norm(X: T.Buffer((16, 64, 64), "float32"), Y: T.Buffer((16, 64, 64), "float32")):
    m = T.alloc_buffer((16,), "float32")
    v = T.alloc_buffer((16,), "float32")
    for c in range(16):
        m[c] = 0.0
        v[c] = 0.0
        for i, j in T.grid(64, 64):
            m[c] += X[c, i, j]
        for i, j in T.grid(64, 64):
            v[c] += (X[c, i, j] - m[c] / 4096.0) * (X[c, i, j] - m[c] / 4096.0)
        for i, j in T.grid(64, 64):
            Y[c, i, j] = T.max(
                (X[c, i, j] - m[c] / 4096.0) * T.rsqrt(v[c] / 4096.0 + 1e-5),
                0.1 * (X[c, i, j] - m[c] / 4096.0) * T.rsqrt(v[c] / 4096.0 + 1e-5),
            )


@T.prim_func
def jacobi_3d(A: T.Buffer((34, 34, 34), "float32"), B: T.Buffer((34, 34, 34), "float32")):
    for t in range(10):
        for i, j, k in T.grid(32, 32, 32):
            B[i + 1, j + 1, k + 1] = (
                A[i, j + 1, k + 1]
                + A[i + 2, j + 1, k + 1]
                + A[i + 1, j, k + 1]
                + A[i + 1, j + 2, k + 1]
                + A[i + 1, j + 1, k]
                + A[i + 1, j + 1, k + 2]
            ) * 0.1666
        for i, j, k in T.grid(32, 32, 32):
            A[i + 1, j + 1, k + 1] = B[i + 1, j + 1, k + 1]


@T.prim_func
def gqa_scores(
    Q: T.Buffer((8, 64, 32), "float32"),
    Km: T.Buffer((2, 64, 32), "float32"),
    n: T.Buffer((1,), "int32"),
    S: T.Buffer((8, 64, 64), "float32"),
):
    for h, i, j in T.grid(8, 64, 64):
        if j < n[0] and j <= i:
            S[h, i, j] = 0.0
            for d in range(32):
                S[h, i, j] += Q[h, i, d] * Km[h // 4, j, d]
        else:
            S[h, i, j] = -1e9


@T.prim_func
def drawdown(P: T.Buffer((64, 2048), "float32"), D: T.Buffer((64,), "float32")):
    for s in range(64):
        peak = T.alloc_buffer((1,), "float32")
        peak[0] = 0.0
        D[s] = 0.0
        for t in range(2048):
            peak[0] = T.max(peak[0], P[s, t])
            D[s] = T.max(D[s], peak[0] - P[s, t])


@T.prim_func
def int8_product(
    A: T.Buffer((256, 256), "int8"),
    B: T.Buffer((256, 256), "int8"),
    za: T.Buffer((1,), "int32"),
    zb: T.Buffer((256,), "int32"),
    C: T.Buffer((256, 256), "int32"),
):
    for i, j in T.grid(256, 256):
        C[i, j] = 0
        for k in range(256):
            C[i, j] += (T.cast(A[i, k], "int32") - za[0]) * (T.cast(B[k, j], "int32") - zb[j])


@T.prim_func
def gaussian_reflect(
    X: T.Buffer((256, 256), "float32"), w: T.Buffer((5,), "float32"), Y: T.Buffer((256, 256), "float32")
):
    H = T.alloc_buffer((256, 256), "float32")
    for i, j in T.grid(256, 256):
        H[i, j] = 0.0
        for t in range(5):
            H[i, j] += (
                w[t]
                * X[
                    i, T.if_then_else(j + t - 2 < 0, 2 - j - t, T.if_then_else(j + t - 2 > 255, 512 - j - t, j + t - 2))
                ]
            )
    for i, j in T.grid(256, 256):
        Y[i, j] = 0.0
        for t in range(5):
            Y[i, j] += (
                w[t]
                * H[
                    T.if_then_else(i + t - 2 < 0, 2 - i - t, T.if_then_else(i + t - 2 > 255, 512 - i - t, i + t - 2)), j
                ]
            )


@T.prim_func
def first_above(X: T.Buffer((512, 512), "float32"), I: T.Buffer((512,), "int32")):
    for r in range(512):
        I[r] = -1
        for c in range(512):
            if I[r] < 0 and X[r, c] > 0.9:
                I[r] = c


@T.prim_func
def confusion(y: T.Buffer((20000,), "int32"), p: T.Buffer((20000,), "int32"), C: T.Buffer((10, 10), "float32")):
    for a, b in T.grid(10, 10):
        C[a, b] = 0.0
    for i in range(20000):
        T.assume(0 <= y[i] and y[i] < 10 and 0 <= p[i] and p[i] < 10)
    for i in range(20000):
        C[y[i], p[i]] += 1.0
    for a, b in T.grid(10, 10):
        C[a, b] = C[a, b] / 20000.0


@T.prim_func
def kalman(Z: T.Buffer((256, 512), "float32"), X: T.Buffer((256, 512), "float32")):
    for s in range(256):
        st = T.alloc_buffer((2,), "float32")
        st[0] = 0.0
        st[1] = 1.0
        for t in range(512):
            st[1] = st[1] + 0.01
            g = st[1] / (st[1] + 0.1)
            st[0] = st[0] + g * (Z[s, t] - st[0])
            st[1] = (1.0 - g) * st[1]
            X[s, t] = st[0]


@T.prim_func
def conv_nhwc(
    X: T.Buffer((2, 32, 32, 16), "float32"),
    W: T.Buffer((3, 3, 16, 32), "float32"),
    b: T.Buffer((32,), "float32"),
    Y: T.Buffer((2, 32, 32, 32), "float32"),
):
    for n, y, x, o in T.grid(2, 32, 32, 32):
        Y[n, y, x, o] = b[o]
        for dy, dx, c in T.grid(3, 3, 16):
            if 0 <= y + dy - 1 and y + dy - 1 < 32 and 0 <= x + dx - 1 and x + dx - 1 < 32:
                Y[n, y, x, o] += X[n, y + dy - 1, x + dx - 1, c] * W[dy, dx, c, o]
        Y[n, y, x, o] = T.max(Y[n, y, x, o], 0.0)


@T.prim_func
def red_black(U: T.Buffer((130, 130), "float32"), F: T.Buffer((130, 130), "float32")):
    for t in range(10):
        for c in range(2):
            for i, j in T.grid(128, 128):
                if (i + j) % 2 == c:
                    U[i + 1, j + 1] = 0.25 * (
                        U[i, j + 1] + U[i + 2, j + 1] + U[i + 1, j] + U[i + 1, j + 2] - F[i + 1, j + 1]
                    )


@T.prim_func
def mean_pool(X: T.Buffer((64, 128, 64), "float32"), n: T.Buffer((64,), "int32"), Y: T.Buffer((64, 64), "float32")):
    for b in range(64):
        T.assume(1 <= n[b] and n[b] <= 128)
    for b, d in T.grid(64, 64):
        Y[b, d] = 0.0
        for t in range(128):
            if t < n[b]:
                Y[b, d] += X[b, t, d]
        Y[b, d] = Y[b, d] / T.cast(n[b], "float32")


@T.prim_func
def rolling_hash(s: T.Buffer((128, 1000), "uint32"), h: T.Buffer((128,), "uint32")):
    for r in range(128):
        h[r] = 0
        for i in range(1000):
            h[r] = h[r] * 31 + s[r, i]


@T.prim_func
def bilateral(X: T.Buffer((132, 132), "float32"), Y: T.Buffer((128, 128), "float32")):
    for i, j in T.grid(128, 128):
        a = T.alloc_buffer((2,), "float32")
        a[0] = 0.0
        a[1] = 0.0
        for u, v in T.grid(5, 5):
            w = T.exp(
                -(X[i + u, j + v] - X[i + 2, j + 2]) * (X[i + u, j + v] - X[i + 2, j + 2])
                - 0.1 * T.cast((u - 2) * (u - 2) + (v - 2) * (v - 2), "float32")
            )
            a[0] += w * X[i + u, j + v]
            a[1] += w
        Y[i, j] = a[0] / a[1]


@T.prim_func
def haar(X: T.Buffer((512, 512), "float32"), Y: T.Buffer((512, 512), "float32")):
    for i, j in T.grid(512, 256):
        Y[i, j] = (X[i, 2 * j] + X[i, 2 * j + 1]) * 0.5
        Y[i, j + 256] = (X[i, 2 * j] - X[i, 2 * j + 1]) * 0.5


@T.prim_func
def batched_cross(
    A: T.Buffer((20000, 3), "float32"), B: T.Buffer((20000, 3), "float32"), C: T.Buffer((20000, 3), "float32")
):
    for n in range(20000):
        for d in range(3):
            C[n, d] = A[n, (d + 1) % 3] * B[n, (d + 2) % 3] - A[n, (d + 2) % 3] * B[n, (d + 1) % 3]


@T.prim_func
def quat_rotate(
    q: T.Buffer((20000, 4), "float32"), v: T.Buffer((20000, 3), "float32"), o: T.Buffer((20000, 3), "float32")
):
    for n in range(20000):
        t = T.alloc_buffer((3,), "float32")
        t[0] = 2.0 * (q[n, 2] * v[n, 2] - q[n, 3] * v[n, 1])
        t[1] = 2.0 * (q[n, 3] * v[n, 0] - q[n, 1] * v[n, 2])
        t[2] = 2.0 * (q[n, 1] * v[n, 1] - q[n, 2] * v[n, 0])
        o[n, 0] = v[n, 0] + q[n, 0] * t[0] + q[n, 2] * t[2] - q[n, 3] * t[1]
        o[n, 1] = v[n, 1] + q[n, 0] * t[1] + q[n, 3] * t[0] - q[n, 1] * t[2]
        o[n, 2] = v[n, 2] + q[n, 0] * t[2] + q[n, 1] * t[1] - q[n, 2] * t[0]


@T.prim_func
def histogram_equalise(X: T.Buffer((256, 256), "uint8"), Y: T.Buffer((256, 256), "float32")):
    h = T.alloc_buffer((256,), "int32")
    c = T.alloc_buffer((256,), "int32")
    for v in range(256):
        h[v] = 0
    for i, j in T.grid(256, 256):
        h[T.cast(X[i, j], "int32")] += 1
    c[0] = h[0]
    for v in range(255):
        c[v + 1] = c[v] + h[v + 1]
    for i, j in T.grid(256, 256):
        Y[i, j] = T.cast(c[T.cast(X[i, j], "int32")], "float32") / 65536.0


@T.prim_func
def givens_rotations(A: T.Buffer((64, 64), "float32"), c: T.Buffer((63,), "float32"), s: T.Buffer((63,), "float32")):
    for r in range(63):
        for j in range(64):
            t = A[r, j]
            A[r, j] = c[r] * t + s[r] * A[r + 1, j]
            A[r + 1, j] = c[r] * A[r + 1, j] - s[r] * t


@T.prim_func
def ssm_scan(
    U: T.Buffer((256, 64), "float32"),
    A: T.Buffer((64, 16), "float32"),
    Bm: T.Buffer((256, 16), "float32"),
    Cm: T.Buffer((256, 16), "float32"),
    Y: T.Buffer((256, 64), "float32"),
):
    h = T.alloc_buffer((64, 16), "float32")
    for d, n in T.grid(64, 16):
        h[d, n] = 0.0
    for t in range(256):
        for d, n in T.grid(64, 16):
            h[d, n] = T.exp(-A[d, n]) * h[d, n] + U[t, d] * Bm[t, n]
        for d in range(64):
            Y[t, d] = 0.0
            for n in range(16):
                Y[t, d] += h[d, n] * Cm[t, n]


@T.prim_func
def matmul_tails(
    A: T.Buffer((197, 96), "float32"), B: T.Buffer((96, 100), "float32"), C: T.Buffer((197, 100), "float32")
):
    for io, jo in T.grid(13, 7):
        acc = T.alloc_buffer((16, 16), "float32")
        for ii, ji in T.grid(16, 16):
            acc[ii, ji] = 0.0
        for k in range(96):
            for ii, ji in T.grid(16, 16):
                if 16 * io + ii < 197 and 16 * jo + ji < 100:
                    acc[ii, ji] += A[16 * io + ii, k] * B[k, 16 * jo + ji]
        for ii, ji in T.grid(16, 16):
            if 16 * io + ii < 197 and 16 * jo + ji < 100:
                C[16 * io + ii, 16 * jo + ji] = acc[ii, ji]


@T.prim_func
def ragged_softmax(X: T.Buffer((64, 100), "float32"), n: T.Buffer((64,), "int32"), Y: T.Buffer((64, 100), "float32")):
    for b in range(64):
        T.assume(1 <= n[b] and n[b] <= 100)
    for b in range(64):
        m = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        m[0] = X[b, 0]
        s[0] = 0.0
        for j in T.serial(n[b]):
            m[0] = T.max(m[0], X[b, j])
        for j in T.serial(n[b]):
            s[0] += T.exp(X[b, j] - m[0])
        for j in range(100):
            Y[b, j] = 0.0
        for j in T.serial(n[b]):
            Y[b, j] = T.exp(X[b, j] - m[0]) / s[0]


@T.prim_func
def roi_max(X: T.Buffer((64, 64), "float32"), R: T.Buffer((100, 2), "int32"), Y: T.Buffer((100,), "float32")):
    for r in range(100):
        T.assume(0 <= R[r, 0] and R[r, 0] <= 56 and 0 <= R[r, 1] and R[r, 1] <= 56)
    for r in range(100):
        Y[r] = -1e30
        for a, b in T.grid(8, 8):
            Y[r] = T.max(Y[r], X[R[r, 0] + a, R[r, 1] + b])


@T.prim_func
def weno_flux(u: T.Buffer((10004,), "float32"), f: T.Buffer((10000,), "float32")):
    for i in range(10000):
        b0 = 1.0833 * (u[i] - 2.0 * u[i + 1] + u[i + 2]) * (u[i] - 2.0 * u[i + 1] + u[i + 2])
        b1 = 1.0833 * (u[i + 1] - 2.0 * u[i + 2] + u[i + 3]) * (u[i + 1] - 2.0 * u[i + 2] + u[i + 3])
        b2 = 1.0833 * (u[i + 2] - 2.0 * u[i + 3] + u[i + 4]) * (u[i + 2] - 2.0 * u[i + 3] + u[i + 4])
        a0 = 0.1 / ((b0 + 1e-6) * (b0 + 1e-6))
        a1 = 0.6 / ((b1 + 1e-6) * (b1 + 1e-6))
        a2 = 0.3 / ((b2 + 1e-6) * (b2 + 1e-6))
        f[i] = (
            a0 * (2.0 * u[i] - 7.0 * u[i + 1] + 11.0 * u[i + 2])
            + a1 * (-u[i + 1] + 5.0 * u[i + 2] + 2.0 * u[i + 3])
            + a2 * (2.0 * u[i + 2] + 5.0 * u[i + 3] - u[i + 4])
        ) / (6.0 * (a0 + a1 + a2))


@T.prim_func
def blocked_layernorm(
    X: T.Buffer((64, 4, 16), "float32"), g: T.Buffer((60,), "float32"), Y: T.Buffer((64, 4, 16), "float32")
):
    for r in range(64):
        s = T.alloc_buffer((2,), "float32")
        s[0] = 0.0
        s[1] = 0.0
        for o, i in T.grid(4, 16):
            if 16 * o + i < 60:
                s[0] += X[r, o, i]
        for o, i in T.grid(4, 16):
            if 16 * o + i < 60:
                s[1] += (X[r, o, i] - s[0] / 60.0) * (X[r, o, i] - s[0] / 60.0)
        for o, i in T.grid(4, 16):
            if 16 * o + i < 60:
                Y[r, o, i] = (X[r, o, i] - s[0] / 60.0) * T.rsqrt(s[1] / 60.0 + 1e-5) * g[16 * o + i]
            else:
                Y[r, o, i] = 0.0


@T.prim_func
def masked_prefix_mean(
    X: T.Buffer((256, 512), "float32"), M: T.Buffer((256, 512), "int32"), Y: T.Buffer((256, 512), "float32")
):
    for r in range(256):
        s = T.alloc_buffer((1,), "float32")
        n = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        n[0] = 0.0
        for t in range(512):
            if M[r, t] > 25:
                s[0] += X[r, t]
                n[0] += 1.0
            Y[r, t] = s[0] / T.max(n[0], 1.0)


@T.prim_func
def gram_schmidt(A: T.Buffer((128, 32), "float32"), Q: T.Buffer((128, 32), "float32")):
    for j in range(32):
        v = T.alloc_buffer((128,), "float32")
        n = T.alloc_buffer((1,), "float32")
        for i in range(128):
            v[i] = A[i, j]
        for k in range(32):
            if k < j:
                d = T.alloc_buffer((1,), "float32")
                d[0] = 0.0
                for i in range(128):
                    d[0] += Q[i, k] * v[i]
                for i in range(128):
                    v[i] = v[i] - d[0] * Q[i, k]
        n[0] = 0.0
        for i in range(128):
            n[0] += v[i] * v[i]
        for i in range(128):
            Q[i, j] = v[i] / T.sqrt(n[0])


@T.prim_func
def legendre(x: T.Buffer((10000,), "float32"), P: T.Buffer((8, 10000), "float32")):
    for i in range(10000):
        P[0, i] = 1.0
        P[1, i] = x[i]
        for n in range(6):
            P[n + 2, i] = (
                T.cast(2 * n + 3, "float32") * x[i] * P[n + 1, i] - T.cast(n + 1, "float32") * P[n, i]
            ) / T.cast(n + 2, "float32")


@T.prim_func
def window_attention(
    Q: T.Buffer((256, 32), "float32"),
    Km: T.Buffer((256, 32), "float32"),
    V: T.Buffer((256, 32), "float32"),
    O: T.Buffer((256, 32), "float32"),
):
    for i in range(256):
        s = T.alloc_buffer((33,), "float32")
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        for j in range(33):
            s[j] = -1e30
            if 0 <= i + j - 32:
                s[j] = 0.0
                for d in range(32):
                    s[j] += Q[i, d] * Km[i + j - 32, d]
            m[0] = T.max(m[0], s[j])
        z[0] = 0.0
        for j in range(33):
            s[j] = T.exp(s[j] - m[0])
            z[0] += s[j]
        for d in range(32):
            O[i, d] = 0.0
            for j in range(33):
                if 0 <= i + j - 32:
                    O[i, d] += s[j] / z[0] * V[i + j - 32, d]


@T.prim_func
def paged_attention(
    Q: T.Buffer((16, 64), "float32"),
    KC: T.Buffer((64, 16, 64), "float32"),
    VC: T.Buffer((64, 16, 64), "float32"),
    table: T.Buffer((16, 8), "int32"),
    lens: T.Buffer((16,), "int32"),
    O: T.Buffer((16, 64), "float32"),
):
    for b, p in T.grid(16, 8):
        T.assume(0 <= table[b, p] and table[b, p] < 64)
    for b in range(16):
        T.assume(1 <= lens[b] and lens[b] <= 128)
    for b in range(16):
        s = T.alloc_buffer((128,), "float32")
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = T.min_value("float32")
        for t in range(128):
            if t < lens[b]:
                s[t] = 0.0
                for d in range(64):
                    s[t] += Q[b, d] * KC[table[b, t // 16], t % 16, d]
                m[0] = T.max(m[0], s[t])
        z[0] = 0.0
        for t in range(128):
            if t < lens[b]:
                s[t] = T.exp(s[t] - m[0])
                z[0] += s[t]
        for d in range(64):
            O[b, d] = 0.0
            for t in range(128):
                if t < lens[b]:
                    O[b, d] += s[t] / z[0] * VC[table[b, t // 16], t % 16, d]


@T.prim_func
def int4_dequant(
    P: T.Buffer((256, 128), "uint8"),
    sc: T.Buffer((256, 8), "float32"),
    x: T.Buffer((256,), "float32"),
    y: T.Buffer((256,), "float32"),
):
    for o in range(256):
        y[o] = 0.0
        for k in range(256):
            q = T.cast((P[o, k // 2] >> T.cast(4 * (k % 2), "uint8")) & T.uint8(15), "int32") - 8
            y[o] += T.cast(q, "float32") * sc[o, k // 32] * x[k]


@T.prim_func
def yuv_to_rgb(
    Y: T.Buffer((128, 128), "uint8"),
    U: T.Buffer((64, 64), "uint8"),
    V: T.Buffer((64, 64), "uint8"),
    R: T.Buffer((128, 128, 3), "uint8"),
):
    for i, j in T.grid(128, 128):
        c = T.cast(Y[i, j], "int32") - 16
        d = T.cast(U[i // 2, j // 2], "int32") - 128
        e = T.cast(V[i // 2, j // 2], "int32") - 128
        R[i, j, 0] = T.cast(T.min(T.max((298 * c + 409 * e + 128) >> 8, 0), 255), "uint8")
        R[i, j, 1] = T.cast(T.min(T.max((298 * c - 100 * d - 208 * e + 128) >> 8, 0), 255), "uint8")
        R[i, j, 2] = T.cast(T.min(T.max((298 * c + 516 * d + 128) >> 8, 0), 255), "uint8")


@T.prim_func
def rule110(A: T.Buffer((500,), "int32"), H: T.Buffer((100, 500), "int32")):
    for i in range(500):
        H[0, i] = A[i]
    for t in range(99):
        for i in range(500):
            k = H[t, (i + 499) % 500] * 4 + H[t, i] * 2 + H[t, (i + 1) % 500]
            H[t + 1, i] = (110 >> k) & 1


@T.prim_func
def dtw(a: T.Buffer((200,), "float32"), b: T.Buffer((180,), "float32"), D: T.Buffer((201, 181), "float32")):
    for i, j in T.grid(201, 181):
        D[i, j] = 1e30
    D[0, 0] = 0.0
    for i in range(200):
        for j in range(180):
            D[i + 1, j + 1] = T.abs(a[i] - b[j]) + T.min(D[i, j], T.min(D[i, j + 1], D[i + 1, j]))


@T.prim_func
def hmm_forward(
    A: T.Buffer((16, 16), "float32"), E: T.Buffer((300, 16), "float32"), al: T.Buffer((300, 16), "float32")
):
    for s in range(16):
        al[0, s] = E[0, s]
    for t in range(299):
        n = T.alloc_buffer((1,), "float32")
        n[0] = 0.0
        for s in range(16):
            al[t + 1, s] = 0.0
            for r in range(16):
                al[t + 1, s] += al[t, r] * A[r, s]
            al[t + 1, s] = al[t + 1, s] * E[t + 1, s]
            n[0] += al[t + 1, s]
        for s in range(16):
            al[t + 1, s] = al[t + 1, s] / n[0]


@T.prim_func
def block_sparse_product(
    ptr: T.Buffer((33,), "int32"),
    col: T.Buffer((160,), "int32"),
    V: T.Buffer((160, 8, 8), "float32"),
    X: T.Buffer((256, 16), "float32"),
    Y: T.Buffer((256, 16), "float32"),
):
    for r in range(32):
        T.assume(0 <= ptr[r] and ptr[r] <= ptr[r + 1] and ptr[r + 1] <= 160)
    for b in range(160):
        T.assume(0 <= col[b] and col[b] < 32)
    for r, i, n in T.grid(32, 8, 16):
        Y[r * 8 + i, n] = 0.0
        for b in range(ptr[r], ptr[r + 1]):
            for k in range(8):
                Y[r * 8 + i, n] += V[b, i, k] * X[col[b] * 8 + k, n]


@T.prim_func
def diagonals_product(
    D: T.Buffer((5, 2000), "float32"),
    off: T.Buffer((5,), "int32"),
    x: T.Buffer((2000,), "float32"),
    y: T.Buffer((2000,), "float32"),
):
    for i in range(2000):
        y[i] = 0.0
    for d in range(5):
        for i in range(2000):
            j = i + off[d]
            if j >= 0 and j < 2000:
                y[i] += D[d, i] * x[j]


@T.prim_func
def rk4_lorenz(S: T.Buffer((1000, 3), "float32")):
    for t in range(20):
        for b in range(1000):
            k = T.alloc_buffer((4, 3), "float32")
            p = T.alloc_buffer((3,), "float32")
            for c in range(3):
                p[c] = S[b, c]
            for s in range(4):
                k[s, 0] = 10.0 * (p[1] - p[0])
                k[s, 1] = p[0] * (28.0 - p[2]) - p[1]
                k[s, 2] = p[0] * p[1] - 2.6666667 * p[2]
                for c in range(3):
                    if s < 2:
                        p[c] = S[b, c] + 0.005 * k[s, c]
                    else:
                        p[c] = S[b, c] + 0.01 * k[s, c]
            for c in range(3):
                S[b, c] = S[b, c] + 0.01 / 6.0 * (k[0, c] + 2.0 * k[1, c] + 2.0 * k[2, c] + k[3, c])


@T.prim_func
def toeplitz(c: T.Buffer((511,), "float32"), x: T.Buffer((256,), "float32"), y: T.Buffer((256,), "float32")):
    for i in range(256):
        y[i] = 0.0
        for j in range(256):
            y[i] += c[i - j + 255] * x[j]


@T.prim_func
def segmented_scan(x: T.Buffer((20000,), "float32"), f: T.Buffer((20000,), "int32"), y: T.Buffer((20000,), "float32")):
    y[0] = x[0]
    for i in range(19999):
        if f[i + 1] > 0:
            y[i + 1] = x[i + 1]
        else:
            y[i + 1] = y[i] + x[i + 1]


@T.prim_func
def gru_masked(
    X: T.Buffer((20, 32, 16), "float32"),
    W: T.Buffer((16, 24), "float32"),
    U: T.Buffer((24, 24), "float32"),
    lens: T.Buffer((32,), "int32"),
    h: T.Buffer((32, 24), "float32"),
):
    for b, o in T.grid(32, 24):
        h[b, o] = 0.0
    for t in range(20):
        n = T.alloc_buffer((32, 24), "float32")
        for b, o in T.grid(32, 24):
            n[b, o] = 0.0
            for k in range(16):
                n[b, o] += X[t, b, k] * W[k, o]
            for k in range(24):
                n[b, o] += h[b, k] * U[k, o]
        for b, o in T.grid(32, 24):
            if t < lens[b]:
                h[b, o] = T.tanh(n[b, o])


@T.prim_func
def ctc_forward(P: T.Buffer((100, 30), "float32"), lab: T.Buffer((41,), "int32"), al: T.Buffer((100, 41), "float32")):
    for s in range(41):
        T.assume(0 <= lab[s] and lab[s] < 30)
    for s in range(41):
        if s < 2:
            al[0, s] = P[0, lab[s]]
        else:
            al[0, s] = 0.0
    for t in range(99):
        for s in range(41):
            a = T.alloc_buffer((1,), "float32")
            a[0] = al[t, s]
            if s >= 1:
                a[0] += al[t, s - 1]
            if s >= 2 and s % 2 == 1:
                if lab[s] != lab[s - 2]:
                    a[0] += al[t, s - 2]
            al[t + 1, s] = a[0] * P[t + 1, lab[s]] * 1.5


@T.prim_func
def experts_of_tokens(
    X: T.Buffer((256, 32), "float32"),
    G: T.Buffer((32, 8), "float32"),
    W: T.Buffer((8, 32, 32), "float32"),
    Y: T.Buffer((256, 32), "float32"),
):
    for t in range(256):
        best = T.alloc_buffer((1,), "float32")
        arg = T.alloc_buffer((1,), "int32")
        best[0] = T.min_value("float32")
        arg[0] = 0
        for e in range(8):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for d in range(32):
                s[0] += X[t, d] * G[d, e]
            if s[0] > best[0]:
                best[0] = s[0]
                arg[0] = e
        for o in range(32):
            Y[t, o] = 0.0
            for d in range(32):
                Y[t, o] += X[t, d] * W[arg[0], d, o]


@T.prim_func
def hough_transform(
    E: T.Buffer((64, 64), "int32"),
    ct: T.Buffer((36,), "float32"),
    st: T.Buffer((36,), "float32"),
    H: T.Buffer((36, 200), "int32"),
):
    for t, r in T.grid(36, 200):
        H[t, r] = 0
    for y, x, t in T.grid(64, 64, 36):
        rho = T.cast(T.floor(T.cast(x, "float32") * ct[t] + T.cast(y, "float32") * st[t]), "int32") + 100
        if E[y, x] > 0 and rho >= 0 and rho < 200:
            H[t, rho] += 1


@T.prim_func
def cholesky_batch(A: T.Buffer((5000, 4, 4), "float32"), L: T.Buffer((5000, 4, 4), "float32")):
    for b in range(5000):
        for i, j in T.grid(4, 4):
            L[b, i, j] = 0.0
        for j in range(4):
            s = T.alloc_buffer((1,), "float32")
            s[0] = A[b, j, j]
            for k in range(j):
                s[0] -= L[b, j, k] * L[b, j, k]
            L[b, j, j] = T.sqrt(s[0])
            for i in range(j + 1, 4):
                s[0] = A[b, i, j]
                for k in range(j):
                    s[0] -= L[b, i, k] * L[b, j, k]
                L[b, i, j] = s[0] / L[b, j, j]


@T.prim_func
def small_systems(
    A: T.Buffer((5000, 3, 3), "float32"), r: T.Buffer((5000, 3), "float32"), x: T.Buffer((5000, 3), "float32")
):
    for b in range(5000):
        M = T.alloc_buffer((3, 4), "float32")
        for i in range(3):
            for j in range(3):
                M[i, j] = A[b, i, j]
            M[i, 3] = r[b, i]
        for k in range(3):
            for i in range(k + 1, 3):
                f = T.alloc_buffer((1,), "float32")
                f[0] = M[i, k] / M[k, k]
                for j in range(k, 4):
                    M[i, j] -= f[0] * M[k, j]
        for q in range(3):
            x[b, 2 - q] = M[2 - q, 3]
            for j in range(3 - q, 3):
                x[b, 2 - q] -= M[2 - q, j] * x[b, j]
            x[b, 2 - q] = x[b, 2 - q] / M[2 - q, 2 - q]


@T.prim_func
def median_of_five(X: T.Buffer((5000, 5), "float32"), m: T.Buffer((5000,), "float32")):
    for b in range(5000):
        v = T.alloc_buffer((5,), "float32")
        for i in range(5):
            v[i] = X[b, i]
        for i in range(5):
            for j in range(4 - i):
                lo = T.min(v[j], v[j + 1])
                hi = T.max(v[j], v[j + 1])
                v[j] = lo
                v[j + 1] = hi
        m[b] = v[2]


@T.prim_func
def de_casteljau(P: T.Buffer((6, 2), "float32"), t: T.Buffer((4000,), "float32"), C: T.Buffer((4000, 2), "float32")):
    for n in range(4000):
        q = T.alloc_buffer((6, 2), "float32")
        for i, d in T.grid(6, 2):
            q[i, d] = P[i, d]
        for k in range(1, 6):
            for i in range(6 - k):
                for d in range(2):
                    q[i, d] = (1.0 - t[n]) * q[i, d] + t[n] * q[i + 1, d]
        for d in range(2):
            C[n, d] = q[0, d]


@T.prim_func
def biquad_cascade(
    X: T.Buffer((64, 500), "float32"), B: T.Buffer((4, 5), "float32"), Y: T.Buffer((64, 500), "float32")
):
    for c in range(64):
        st = T.alloc_buffer((4, 2), "float32")
        for s, k in T.grid(4, 2):
            st[s, k] = 0.0
        for t in range(500):
            v = T.alloc_buffer((1,), "float32")
            v[0] = X[c, t]
            for s in range(4):
                o = B[s, 0] * v[0] + st[s, 0]
                st[s, 0] = B[s, 1] * v[0] - B[s, 3] * o + st[s, 1]
                st[s, 1] = B[s, 2] * v[0] - B[s, 4] * o
                v[0] = o
            Y[c, t] = v[0]


@T.prim_func
def best_two(X: T.Buffer((2000, 64), "float32"), V: T.Buffer((2000, 2), "float32")):
    for b in range(2000):
        V[b, 0] = T.min_value("float32")
        V[b, 1] = T.min_value("float32")
        for j in range(64):
            if X[b, j] > V[b, 0]:
                V[b, 1] = V[b, 0]
                V[b, 0] = X[b, j]
            else:
                if X[b, j] > V[b, 1]:
                    V[b, 1] = X[b, j]


@T.prim_func
def small_powers(A: T.Buffer((3000, 3, 3), "float32"), P: T.Buffer((3000, 3, 3), "float32")):
    for b in range(3000):
        M = T.alloc_buffer((3, 3), "float32")
        N = T.alloc_buffer((3, 3), "float32")
        for i, j in T.grid(3, 3):
            M[i, j] = A[b, i, j]
        for s in range(4):
            for i, j in T.grid(3, 3):
                N[i, j] = 0.0
                for k in range(3):
                    N[i, j] += M[i, k] * M[k, j]
            for i, j in T.grid(3, 3):
                M[i, j] = N[i, j]
        for i, j in T.grid(3, 3):
            P[b, i, j] = M[i, j]


@T.prim_func
def three_nearest(Q: T.Buffer((200, 4), "float32"), D: T.Buffer((500, 4), "float32"), N: T.Buffer((200, 3), "float32")):
    for q in range(200):
        for k in range(3):
            N[q, k] = 1e30
        for p in range(500):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for d in range(4):
                s[0] += (Q[q, d] - D[p, d]) * (Q[q, d] - D[p, d])
            for k in range(3):
                lo = T.min(N[q, k], s[0])
                hi = T.max(N[q, k], s[0])
                N[q, k] = lo
                s[0] = hi


@T.prim_func
def short_edit_distances(A: T.Buffer((500, 8), "int32"), B: T.Buffer((500, 8), "int32"), E: T.Buffer((500,), "int32")):
    for n in range(500):
        d = T.alloc_buffer((9, 9), "int32")
        for i in range(9):
            d[i, 0] = i
            d[0, i] = i
        for i, j in T.grid(8, 8):
            s = T.if_then_else(A[n, i] == B[n, j], 0, 1)
            d[i + 1, j + 1] = T.min(d[i, j] + s, T.min(d[i, j + 1], d[i + 1, j]) + 1)
        E[n] = d[8, 8]


@T.prim_func
def small_lu(A: T.Buffer((2000, 6, 6), "float32"), M: T.Buffer((2000, 6, 6), "float32")):
    for b in range(2000):
        for i, j in T.grid(6, 6):
            M[b, i, j] = A[b, i, j]
        for k in range(6):
            for i in range(k + 1, 6):
                M[b, i, k] = M[b, i, k] / M[b, k, k]
                for j in range(k + 1, 6):
                    M[b, i, j] -= M[b, i, k] * M[b, k, j]


@T.prim_func
def lstm(
    X: T.Buffer((30, 16, 24), "float32"),
    W: T.Buffer((24, 4, 32), "float32"),
    U: T.Buffer((32, 4, 32), "float32"),
    H: T.Buffer((16, 32), "float32"),
):
    c = T.alloc_buffer((16, 32), "float32")
    for b, o in T.grid(16, 32):
        c[b, o] = 0.0
        H[b, o] = 0.0
    for t in range(30):
        g = T.alloc_buffer((16, 4, 32), "float32")
        for b, q, o in T.grid(16, 4, 32):
            g[b, q, o] = 0.0
            for k in range(24):
                g[b, q, o] += X[t, b, k] * W[k, q, o]
            for k in range(32):
                g[b, q, o] += H[b, k] * U[k, q, o]
        for b, o in T.grid(16, 32):
            i = 1.0 / (1.0 + T.exp(-g[b, 0, o]))
            f = 1.0 / (1.0 + T.exp(-g[b, 1, o]))
            u = 1.0 / (1.0 + T.exp(-g[b, 2, o]))
            c[b, o] = f * c[b, o] + i * T.tanh(g[b, 3, o])
            H[b, o] = u * T.tanh(c[b, o])


@T.prim_func
def depthwise_in_blocks(
    X: T.Buffer((1, 2, 30, 30, 16), "float32"),
    W: T.Buffer((2, 3, 3, 16), "float32"),
    Y: T.Buffer((1, 2, 30, 30, 16), "float32"),
):
    for n, co, y, x, ci in T.grid(1, 2, 30, 30, 16):
        if co * 16 + ci < 24:
            Y[n, co, y, x, ci] = 0.0
            for dy, dx in T.grid(3, 3):
                if y + dy >= 1 and y + dy <= 30 and x + dx >= 1 and x + dx <= 30:
                    Y[n, co, y, x, ci] += X[n, co, y + dy - 1, x + dx - 1, ci] * W[co, dy, dx, ci]
        else:
            Y[n, co, y, x, ci] = 0.0


@T.prim_func
def mean_of_crops(X: T.Buffer((32, 128, 16), "float32"), s: T.Buffer((32,), "int32"), Y: T.Buffer((32, 16), "float32")):
    for b in range(32):
        T.assume(0 <= s[b] and s[b] <= 64)
    for b, d in T.grid(32, 16):
        Y[b, d] = 0.0
        for t in range(64):
            Y[b, d] += X[b, s[b] + t, d]
        Y[b, d] = Y[b, d] / 64.0


@T.prim_func
def kalman_position_speed(Z: T.Buffer((256, 100), "float32"), X: T.Buffer((256, 100, 2), "float32")):
    for b in range(256):
        s = T.alloc_buffer((2,), "float32")
        P = T.alloc_buffer((2, 2), "float32")
        s[0] = 0.0
        s[1] = 0.0
        P[0, 0] = 1.0
        P[0, 1] = 0.0
        P[1, 0] = 0.0
        P[1, 1] = 1.0
        for t in range(100):
            p0 = s[0] + s[1]
            a = P[0, 0] + P[0, 1] + P[1, 0] + P[1, 1] + 0.01
            c = P[0, 1] + P[1, 1]
            d = P[1, 1] + 0.01
            k0 = a / (a + 0.5)
            k1 = c / (a + 0.5)
            r = Z[b, t] - p0
            s[0] = p0 + k0 * r
            s[1] = s[1] + k1 * r
            P[0, 0] = (1.0 - k0) * a
            P[0, 1] = (1.0 - k0) * c
            P[1, 0] = c - k1 * a
            P[1, 1] = d - k1 * c
            X[b, t, 0] = s[0]
            X[b, t, 1] = s[1]


@T.prim_func
def crc_bytes(M: T.Buffer((4000, 16), "uint8"), C: T.Buffer((4000,), "uint8")):
    for n in range(4000):
        C[n] = T.uint8(0)
        for i in range(16):
            C[n] = C[n] ^ M[n, i]
            for k in range(8):
                if (C[n] & T.uint8(128)) != T.uint8(0):
                    C[n] = (C[n] << T.uint8(1)) ^ T.uint8(7)
                else:
                    C[n] = C[n] << T.uint8(1)


@T.prim_func
def sinkhorn(K: T.Buffer((100, 120), "float32"), u: T.Buffer((100,), "float32"), v: T.Buffer((120,), "float32")):
    for j in range(120):
        v[j] = 1.0
    for t in range(20):
        for i in range(100):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for j in range(120):
                s[0] += K[i, j] * v[j]
            u[i] = 0.01 / s[0]
        for j in range(120):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for i in range(100):
                s[0] += K[i, j] * u[i]
            v[j] = 0.0083333 / s[0]


@T.prim_func
def harris_corners(image: T.Buffer((80, 80), "float32"), R: T.Buffer((76, 76), "float32")):
    gx = T.alloc_buffer((78, 78), "float32")
    gy = T.alloc_buffer((78, 78), "float32")
    for y, x in T.grid(78, 78):
        gx[y, x] = image[y + 1, x + 2] - image[y + 1, x]
        gy[y, x] = image[y + 2, x + 1] - image[y, x + 1]
    for y, x in T.grid(76, 76):
        a = T.alloc_buffer((3,), "float32")
        for k in range(3):
            a[k] = 0.0
        for dy, dx in T.grid(3, 3):
            a[0] += gx[y + dy, x + dx] * gx[y + dy, x + dx]
            a[1] += gx[y + dy, x + dx] * gy[y + dy, x + dx]
            a[2] += gy[y + dy, x + dx] * gy[y + dy, x + dx]
        R[y, x] = a[0] * a[2] - a[1] * a[1] - 0.05 * (a[0] + a[2]) * (a[0] + a[2])


@T.prim_func
def upsampled_beside_skip(
    X: T.Buffer((2, 16, 16, 8), "float32"),
    S: T.Buffer((2, 34, 34, 8), "float32"),
    Y: T.Buffer((4, 34, 34, 8), "float32"),
):
    for c, y, x, cc in T.grid(2, 34, 34, 8):
        T.assume((y >= 1 and y < 33 and x >= 1 and x < 33) or S[c, y, x, cc] == 0.0)
    for c, y, x, cc in T.grid(4, 34, 34, 8):
        if y >= 1 and y < 33 and x >= 1 and x < 33:
            if c < 2:
                Y[c, y, x, cc] = X[c, (y - 1) // 2, (x - 1) // 2, cc]
            else:
                Y[c, y, x, cc] = S[c - 2, y, x, cc]
        else:
            Y[c, y, x, cc] = 0.0


@T.prim_func
def squeeze_excite(
    X: T.Buffer((4, 14, 14, 8), "float32"),
    W1: T.Buffer((8, 32), "float32"),
    W2: T.Buffer((32, 8), "float32"),
    Y: T.Buffer((4, 14, 14, 8), "float32"),
):
    for c, y, x, cc in T.grid(4, 14, 14, 8):
        T.assume(8 * c + cc < 30 or X[c, y, x, cc] == 0.0)
    m = T.alloc_buffer((32,), "float32")
    h = T.alloc_buffer((8,), "float32")
    g = T.alloc_buffer((32,), "float32")
    for k in range(32):
        m[k] = 0.0
        if k < 30:
            for y, x in T.grid(14, 14):
                m[k] += X[k // 8, y, x, k % 8]
            m[k] = m[k] / 196.0
    for o in range(8):
        h[o] = 0.0
        for k in range(30):
            h[o] += W1[o, k] * m[k]
        h[o] = T.max(h[o], 0.0)
    for k in range(30):
        g[k] = 0.0
        for o in range(8):
            g[k] += W2[k, o] * h[o]
        g[k] = T.sigmoid(g[k])
    for c, y, x, cc in T.grid(4, 14, 14, 8):
        if 8 * c + cc < 30:
            Y[c, y, x, cc] = X[c, y, x, cc] * g[8 * c + cc]
        else:
            Y[c, y, x, cc] = 0.0


@T.prim_func
def qlinear_conv1d(X: T.Buffer((16, 130), "int8"), W: T.Buffer((24, 16, 3), "int8"), Y: T.Buffer((24, 128), "int8")):
    for c, x in T.grid(16, 130):
        T.assume((x >= 1 and x < 129) or X[c, x] == T.int8(5))
    for o, x in T.grid(24, 128):
        acc = T.alloc_buffer((1,), "int32")
        acc[0] = 0
        for c, d in T.grid(16, 3):
            if x + d >= 1 and x + d < 129:
                acc[0] += (T.cast(X[c, x + d], "int32") - 5) * T.cast(W[o, c, d], "int32")
        v = (acc[0] * 3 + 64) >> 7
        Y[o, x] = T.cast(T.max(T.min(v, 127), -128), "int8")


@T.prim_func
def attention_of_padded_heads(
    Q: T.Buffer((4, 64, 16), "float32"),
    K: T.Buffer((4, 64, 16), "float32"),
    V: T.Buffer((4, 64, 16), "float32"),
    O: T.Buffer((50, 48), "float32"),
):
    for h, t, d in T.grid(4, 64, 16):
        T.assume((t < 50 and d < 12) or Q[h, t, d] == 0.0)
        T.assume((t < 50 and d < 12) or K[h, t, d] == 0.0)
        T.assume((t < 50 and d < 12) or V[h, t, d] == 0.0)
    for h, i in T.grid(4, 50):
        s = T.alloc_buffer((50,), "float32")
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = T.float32("-inf")
        z[0] = 0.0
        for j in range(50):
            s[j] = 0.0
            for d in range(12):
                s[j] += Q[h, i, d] * K[h, j, d]
            s[j] = s[j] * 0.288675
            m[0] = T.max(m[0], s[j])
        for j in range(50):
            s[j] = T.exp(s[j] - m[0])
            z[0] += s[j]
        for d in range(12):
            a = T.alloc_buffer((1,), "float32")
            a[0] = 0.0
            for j in range(50):
                a[0] += s[j] * V[h, j, d]
            O[i, 12 * h + d] = a[0] / z[0]


@T.prim_func
def stencil_over_bricks(X: T.Buffer((6, 6, 6, 4, 4, 4), "float32"), Y: T.Buffer((22, 22, 22), "float32")):
    for a, b, c, i, j, k in T.grid(6, 6, 6, 4, 4, 4):
        T.assume((4 * a + i < 22 and 4 * b + j < 22 and 4 * c + k < 22) or X[a, b, c, i, j, k] == 0.0)
    for z, y, x in T.grid(22, 22, 22):
        Y[z, y, x] = 6.0 * X[z // 4, y // 4, x // 4, z % 4, y % 4, x % 4]
        if z > 0:
            Y[z, y, x] -= X[(z - 1) // 4, y // 4, x // 4, (z - 1) % 4, y % 4, x % 4]
        if z < 21:
            Y[z, y, x] -= X[(z + 1) // 4, y // 4, x // 4, (z + 1) % 4, y % 4, x % 4]
        if y > 0:
            Y[z, y, x] -= X[z // 4, (y - 1) // 4, x // 4, z % 4, (y - 1) % 4, x % 4]
        if y < 21:
            Y[z, y, x] -= X[z // 4, (y + 1) // 4, x // 4, z % 4, (y + 1) % 4, x % 4]
        if x > 0:
            Y[z, y, x] -= X[z // 4, y // 4, (x - 1) // 4, z % 4, y % 4, (x - 1) % 4]
        if x < 21:
            Y[z, y, x] -= X[z // 4, y // 4, (x + 1) // 4, z % 4, y % 4, (x + 1) % 4]


@T.prim_func
def banded_substitution(
    L: T.Buffer((512, 8), "float32"), b: T.Buffer((512,), "float32"), x: T.Buffer((512,), "float32")
):
    for i in range(512):
        s = T.alloc_buffer((1,), "float32")
        s[0] = b[i]
        for k in range(7):
            if i + k - 7 >= 0:
                s[0] -= L[i, k] * x[i + k - 7]
        x[i] = s[0] / L[i, 7]


@T.prim_func
def padded_batch_mean(
    X: T.Buffer((16, 64, 32), "float32"),
    lens: T.Buffer((16,), "int32"),
    M: T.Buffer((16, 32), "float32"),
    S: T.Buffer((16, 32), "float32"),
):
    for b in range(16):
        T.assume(lens[b] >= 1 and lens[b] <= 64)
    for b, t, d in T.grid(16, 64, 32):
        T.assume(t < lens[b] or X[b, t, d] == 0.0)
    for b, d in T.grid(16, 32):
        M[b, d] = 0.0
        for t in range(64):
            if t < lens[b]:
                M[b, d] += X[b, t, d]
        M[b, d] = M[b, d] / T.cast(lens[b], "float32")
        S[b, d] = 0.0
        for t in range(64):
            if t < lens[b]:
                S[b, d] += X[b, t, d] * X[b, t, d]
        S[b, d] = T.sqrt(S[b, d] / T.cast(lens[b], "float32"))


@T.prim_func
def bitmask_select(B: T.Buffer((64, 4), "uint32"), X: T.Buffer((64, 128), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        Y[i] = 0.0
        for j in range(120):
            if ((B[i, j // 32] >> T.cast(j % 32, "uint32")) & T.uint32(1)) == T.uint32(1):
                Y[i] += X[i, j]


@T.prim_func
def hexagon(X: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32")):
    for r, c in T.grid(64, 64):
        Y[r, c] = X[r, c]
        if r >= 1 and r < 63 and c >= 1 and c < 63:
            if r % 2 == 0:
                Y[r, c] = (
                    X[r, c - 1] + X[r, c + 1] + X[r - 1, c - 1] + X[r - 1, c] + X[r + 1, c - 1] + X[r + 1, c]
                ) / 6.0
            else:
                Y[r, c] = (
                    X[r, c - 1] + X[r, c + 1] + X[r - 1, c] + X[r - 1, c + 1] + X[r + 1, c] + X[r + 1, c + 1]
                ) / 6.0


@T.prim_func
def upper_packed_matvec(
    A: T.Buffer((5050,), "float32"), x: T.Buffer((100,), "float32"), y: T.Buffer((100,), "float32")
):
    for i in range(100):
        y[i] = 0.0
        for j in range(100):
            if i <= j:
                y[i] += A[j * (j + 1) // 2 + i] * x[j]
            else:
                y[i] += A[i * (i + 1) // 2 + j] * x[j]


@T.prim_func
def conv_relu_pool(
    X: T.Buffer((2, 34, 34, 8), "float32"),
    W: T.Buffer((4, 2, 3, 3, 8, 8), "float32"),
    Y: T.Buffer((4, 16, 16, 8), "float32"),
):
    for c, y, x, cc in T.grid(2, 34, 34, 8):
        T.assume((y >= 1 and y < 33 and x >= 1 and x < 33 and 8 * c + cc < 14) or X[c, y, x, cc] == 0.0)
    R = T.alloc_buffer((4, 32, 32, 8), "float32")
    for o, y, x, oo in T.grid(4, 32, 32, 8):
        R[o, y, x, oo] = 0.0
        for c, dy, dx, cc in T.grid(2, 3, 3, 8):
            if 8 * c + cc < 14 and y + dy >= 1 and y + dy < 33 and x + dx >= 1 and x + dx < 33:
                R[o, y, x, oo] += X[c, y + dy, x + dx, cc] * W[o, c, dy, dx, cc, oo]
        R[o, y, x, oo] = T.max(R[o, y, x, oo], 0.0)
    for o, y, x, oo in T.grid(4, 16, 16, 8):
        Y[o, y, x, oo] = T.max(
            T.max(R[o, 2 * y, 2 * x, oo], R[o, 2 * y, 2 * x + 1, oo]),
            T.max(R[o, 2 * y + 1, 2 * x, oo], R[o, 2 * y + 1, 2 * x + 1, oo]),
        )


@T.prim_func
def beamforming(R: T.Buffer((8, 1024), "float32"), delay: T.Buffer((32, 8), "int32"), P: T.Buffer((32,), "float32")):
    for a, m in T.grid(32, 8):
        T.assume(delay[a, m] >= 0 and delay[a, m] < 24)
    for a in range(32):
        P[a] = 0.0
        for t in range(1000):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for m in range(8):
                s[0] += R[m, t + delay[a, m]]
            P[a] += s[0] * s[0]


@T.prim_func
def embedding_backward(
    ids: T.Buffer((1024,), "int32"), G: T.Buffer((1024, 32), "float32"), D: T.Buffer((200, 32), "float32")
):
    for i in range(1024):
        T.assume(ids[i] >= 0 and ids[i] < 200)
    for v, d in T.grid(200, 32):
        D[v, d] = 0.0
    for i, d in T.grid(1024, 32):
        if ids[i] != 0:
            D[ids[i], d] += G[i, d]


@T.prim_func
def token_shift_mix(
    X: T.Buffer((8, 100, 64), "float32"), mu: T.Buffer((64,), "float32"), Y: T.Buffer((8, 100, 64), "float32")
):
    for b, t, d in T.grid(8, 100, 64):
        if t == 0:
            Y[b, t, d] = mu[d] * X[b, t, d]
        else:
            Y[b, t, d] = mu[d] * X[b, t, d] + (1.0 - mu[d]) * X[b, t - 1, d]


@T.prim_func
def decayed_averages(
    K: T.Buffer((4, 64, 32), "float32"),
    V: T.Buffer((4, 64, 32), "float32"),
    w: T.Buffer((32,), "float32"),
    u: T.Buffer((32,), "float32"),
    O: T.Buffer((4, 64, 32), "float32"),
):
    for b, d in T.grid(4, 32):
        num = T.alloc_buffer((1,), "float32")
        den = T.alloc_buffer((1,), "float32")
        num[0] = 0.0
        den[0] = 0.0
        for t in range(64):
            e = T.exp(u[d] + K[b, t, d])
            O[b, t, d] = (num[0] + e * V[b, t, d]) / (den[0] + e)
            num[0] = T.exp(-w[d]) * num[0] + T.exp(K[b, t, d]) * V[b, t, d]
            den[0] = T.exp(-w[d]) * den[0] + T.exp(K[b, t, d])


@T.prim_func
def dilated_causal(
    X: T.Buffer((16, 200), "float32"), W: T.Buffer((16, 16, 2), "float32"), Y: T.Buffer((16, 200), "float32")
):
    for o, t in T.grid(16, 200):
        Y[o, t] = 0.0
        for c, k in T.grid(16, 2):
            if t - 8 * k >= 0:
                Y[o, t] += W[o, c, k] * X[c, t - 8 * k]
        Y[o, t] = T.tanh(Y[o, t]) + X[o, t]


@T.prim_func
def smoothed_cross_entropy(
    L: T.Buffer((64, 1024), "float32"), y: T.Buffer((64,), "int32"), loss: T.Buffer((1,), "float32")
):
    for i in range(64):
        T.assume(y[i] >= 0 and y[i] < 1000)
    for i, j in T.grid(64, 1024):
        T.assume(j < 1000 or L[i, j] == T.float32("-inf"))
    loss[0] = 0.0
    for i in range(64):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        m[0] = T.float32("-inf")
        z[0] = 0.0
        s[0] = 0.0
        for j in range(1000):
            m[0] = T.max(m[0], L[i, j])
        for j in range(1000):
            z[0] += T.exp(L[i, j] - m[0])
            s[0] += L[i, j]
        lse = m[0] + T.log(z[0])
        loss[0] += 0.9 * (lse - L[i, y[i]]) + 0.1 * (lse - s[0] / 1000.0)


@T.prim_func
def coin_change(c: T.Buffer((8,), "int32"), dp: T.Buffer((1000,), "int32")):
    for k in range(8):
        T.assume(c[k] >= 1 and c[k] < 50)
    dp[0] = 1
    for s in range(1, 1000):
        dp[s] = 0
    for k in range(8):
        for s in range(1000):
            if s >= c[k]:
                dp[s] = (dp[s] + dp[s - c[k]]) % 65536


@T.prim_func
def autoregressions(
    e: T.Buffer((64, 400), "float32"), phi: T.Buffer((4,), "float32"), y: T.Buffer((64, 400), "float32")
):
    for b in range(64):
        for t in range(400):
            y[b, t] = e[b, t]
            for k in range(4):
                if t >= k + 1:
                    y[b, t] += phi[k] * y[b, t - k - 1]


@T.prim_func
def prediction_errors(
    x: T.Buffer((32, 256), "float32"), a: T.Buffer((32, 10), "float32"), e: T.Buffer((32, 256), "float32")
):
    for f, t in T.grid(32, 256):
        e[f, t] = x[f, t]
        for k in range(10):
            if t - k - 1 >= 0:
                e[f, t] -= a[f, k] * x[f, t - k - 1]


@T.prim_func
def rod_cutting(p: T.Buffer((200,), "float32"), r: T.Buffer((201,), "float32")):
    r[0] = 0.0
    for n in range(1, 201):
        r[n] = p[n - 1]
        for k in range(1, n):
            r[n] = T.max(r[n], p[k - 1] + r[n - k])


@T.prim_func
def poly_mul(a: T.Buffer((128,), "float32"), b: T.Buffer((128,), "float32"), c: T.Buffer((255,), "float32")):
    for n in range(255):
        c[n] = 0.0
    for i, j in T.grid(128, 128):
        c[i + j] += a[i] * b[j]


@T.prim_func
def morph_gradient(image: T.Buffer((100, 100), "float32"), G: T.Buffer((100, 100), "float32")):
    for y, x in T.grid(100, 100):
        lo = T.alloc_buffer((1,), "float32")
        hi = T.alloc_buffer((1,), "float32")
        lo[0] = image[y, x]
        hi[0] = image[y, x]
        for dy, dx in T.grid(3, 3):
            if y + dy >= 1 and y + dy < 101 and x + dx >= 1 and x + dx < 101:
                lo[0] = T.min(lo[0], image[y + dy - 1, x + dx - 1])
                hi[0] = T.max(hi[0], image[y + dy - 1, x + dx - 1])
        G[y, x] = hi[0] - lo[0]


@T.prim_func
def block_norms(A: T.Buffer((250, 250), "float32"), N: T.Buffer((16, 16), "float32")):
    for bi, bj in T.grid(16, 16):
        N[bi, bj] = 0.0
        for i, j in T.grid(16, 16):
            if 16 * bi + i < 250 and 16 * bj + j < 250:
                N[bi, bj] += A[16 * bi + i, 16 * bj + j] * A[16 * bi + i, 16 * bj + j]


@T.prim_func
def local_contrast(image: T.Buffer((64, 64), "float32"), O: T.Buffer((64, 64), "float32")):
    M = T.alloc_buffer((64, 64), "float32")
    for y, x in T.grid(64, 64):
        s = T.alloc_buffer((1,), "float32")
        n = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        n[0] = 0.0
        for dy, dx in T.grid(5, 5):
            if y + dy >= 2 and y + dy < 66 and x + dx >= 2 and x + dx < 66:
                s[0] += image[y + dy - 2, x + dx - 2]
                n[0] += 1.0
        M[y, x] = s[0] / n[0]
    for y, x in T.grid(64, 64):
        O[y, x] = image[y, x] - M[y, x]


@T.prim_func
def bsr_matvec(
    ptr: T.Buffer((33,), "int32"),
    col: T.Buffer((128,), "int32"),
    V: T.Buffer((128, 4, 4), "float32"),
    x: T.Buffer((128,), "float32"),
    y: T.Buffer((128,), "float32"),
):
    T.assume(ptr[0] == 0 and ptr[32] == 128)
    for r in range(32):
        T.assume(ptr[r] <= ptr[r + 1] and ptr[r] >= 0 and ptr[r] <= 128)
    for e in range(128):
        T.assume(col[e] >= 0 and col[e] < 32)
    for r, i in T.grid(32, 4):
        y[4 * r + i] = 0.0
        for e in range(ptr[r], ptr[r + 1]):
            for j in range(4):
                y[4 * r + i] += V[e, i, j] * x[4 * col[e] + j]


@T.prim_func
def levenshtein_band(a: T.Buffer((100,), "int32"), b: T.Buffer((100,), "int32"), D: T.Buffer((101, 101), "int32")):
    for i, j in T.grid(101, 101):
        D[i, j] = 1000
    for i in range(6):
        D[i, 0] = i
        D[0, i] = i
    for i in range(1, 101):
        for j in range(1, 101):
            if j - i <= 5 and i - j <= 5:
                D[i, j] = T.min(
                    T.min(D[i - 1, j] + 1, D[i, j - 1] + 1),
                    D[i - 1, j - 1] + T.if_then_else(a[i - 1] == b[j - 1], 0, 1),
                )


@T.prim_func
def hamming_matrix(A: T.Buffer((256,), "uint32"), B: T.Buffer((250,), "uint32"), D: T.Buffer((256, 250), "int32")):
    for i, j in T.grid(256, 250):
        D[i, j] = 0
        for b in range(32):
            D[i, j] += T.cast(((A[i] ^ B[j]) >> T.cast(b, "uint32")) & T.uint32(1), "int32")


@T.prim_func
def leading_zeros(A: T.Buffer((65536,), "uint32"), R: T.Buffer((65536,), "int32")):
    for i in range(65536):
        R[i] = 32
        for b in range(32):
            if (A[i] >> T.cast(b, "uint32")) & T.uint32(1) == T.uint32(1):
                R[i] = 31 - b


@T.prim_func
def gray_decode(G: T.Buffer((65536,), "uint32"), B: T.Buffer((65536,), "uint32")):
    for i in range(65536):
        B[i] = G[i]
        for s in range(1, 32):
            B[i] = B[i] ^ (G[i] >> T.cast(s, "uint32"))


@T.prim_func
def morton_codes(X: T.Buffer((65536,), "uint32"), Y: T.Buffer((65536,), "uint32"), M: T.Buffer((65536,), "uint32")):
    for i in range(65536):
        M[i] = T.uint32(0)
        for b in range(16):
            M[i] = (
                M[i]
                | (((X[i] >> T.cast(b, "uint32")) & T.uint32(1)) << T.cast(2 * b, "uint32"))
                | (((Y[i] >> T.cast(b, "uint32")) & T.uint32(1)) << T.cast(2 * b + 1, "uint32"))
            )


@T.prim_func
def upwind(U: T.Buffer((128, 126), "float32"), a: T.Buffer((128, 126), "float32"), b: T.Buffer((128, 126), "float32")):
    V = T.alloc_buffer((128, 126), "float32")
    for t in range(20):
        for i, j in T.grid(126, 124):
            if a[i + 1, j + 1] > 0.0:
                V[i + 1, j + 1] = U[i + 1, j + 1] - 0.1 * a[i + 1, j + 1] * (U[i + 1, j + 1] - U[i, j + 1])
            else:
                V[i + 1, j + 1] = U[i + 1, j + 1] - 0.1 * a[i + 1, j + 1] * (U[i + 2, j + 1] - U[i + 1, j + 1])
            if b[i + 1, j + 1] > 0.0:
                V[i + 1, j + 1] = V[i + 1, j + 1] - 0.1 * b[i + 1, j + 1] * (U[i + 1, j + 1] - U[i + 1, j])
            else:
                V[i + 1, j + 1] = V[i + 1, j + 1] - 0.1 * b[i + 1, j + 1] * (U[i + 1, j + 2] - U[i + 1, j + 1])
        for i, j in T.grid(126, 124):
            U[i + 1, j + 1] = V[i + 1, j + 1]


@T.prim_func
def mac_projection(
    u: T.Buffer((129, 128), "float32"), v: T.Buffer((128, 129), "float32"), p: T.Buffer((128, 128), "float32")
):
    div = T.alloc_buffer((128, 128), "float32")
    q = T.alloc_buffer((128, 128), "float32")
    for i, j in T.grid(128, 128):
        div[i, j] = u[i + 1, j] - u[i, j] + v[i, j + 1] - v[i, j]
        p[i, j] = 0.0
    for t in range(20):
        for i, j in T.grid(128, 128):
            q[i, j] = 0.25 * (
                p[T.max(i - 1, 0), j]
                + p[T.min(i + 1, 127), j]
                + p[i, T.max(j - 1, 0)]
                + p[i, T.min(j + 1, 127)]
                - div[i, j]
            )
        for i, j in T.grid(128, 128):
            p[i, j] = q[i, j]
    for i, j in T.grid(127, 128):
        u[i + 1, j] = u[i + 1, j] - (p[i + 1, j] - p[i, j])
    for i, j in T.grid(128, 127):
        v[i, j + 1] = v[i, j + 1] - (p[i, j + 1] - p[i, j])


@T.prim_func
def red_black_3d(U: T.Buffer((34, 34, 34), "float32"), F: T.Buffer((34, 34, 34), "float32")):
    for t in range(4):
        for color in range(2):
            for i in range(1, 33):
                for j in range(1, 33):
                    for k in range(1, 33):
                        if (i + j + k) % 2 == color:
                            U[i, j, k] = (
                                U[i - 1, j, k]
                                + U[i + 1, j, k]
                                + U[i, j - 1, k]
                                + U[i, j + 1, k]
                                + U[i, j, k - 1]
                                + U[i, j, k + 1]
                                - F[i, j, k]
                            ) / 6.0


@T.prim_func
def restrict_prolong(
    F: T.Buffer((257, 257), "float32"),
    C: T.Buffer((129, 129), "float32"),
    G: T.Buffer((257, 257), "float32"),
):
    for i, j in T.grid(129, 129):
        if i > 0 and i < 128 and j > 0 and j < 128:
            C[i, j] = 0.0
            for a, b in T.grid(3, 3):
                C[i, j] += F[2 * i + a - 1, 2 * j + b - 1] * (
                    T.if_then_else(a == 1, 0.5, 0.25) * T.if_then_else(b == 1, 0.5, 0.25)
                )
        else:
            C[i, j] = F[2 * i, 2 * j]
    for i, j in T.grid(257, 257):
        G[i, j] = 0.25 * (
            C[i // 2, j // 2] + C[(i + 1) // 2, j // 2] + C[i // 2, (j + 1) // 2] + C[(i + 1) // 2, (j + 1) // 2]
        )


@T.prim_func
def perona_malik(image: T.Buffer((128, 100), "float32")):
    O = T.alloc_buffer((128, 100), "float32")
    for t in range(10):
        for y, x in T.grid(128, 100):
            n: T.float32 = image[T.max(y - 1, 0), x] - image[y, x]
            s: T.float32 = image[T.min(y + 1, 127), x] - image[y, x]
            w: T.float32 = image[y, T.max(x - 1, 0)] - image[y, x]
            e: T.float32 = image[y, T.min(x + 1, 99)] - image[y, x]
            O[y, x] = image[y, x] + 0.2 * (
                n / (1.0 + n * n) + s / (1.0 + s * s) + w / (1.0 + w * w) + e / (1.0 + e * e)
            )
        for y, x in T.grid(128, 100):
            image[y, x] = O[y, x]


@T.prim_func
def last_minimum(X: T.Buffer((256, 500), "float32"), V: T.Buffer((256,), "float32"), P: T.Buffer((256,), "int32")):
    for i in range(256):
        V[i] = X[i, 0]
        P[i] = 0
        for j in range(1, 500):
            if X[i, j] <= V[i]:
                V[i] = X[i, j]
                P[i] = j


@T.prim_func
def rank_sort(x: T.Buffer((1000,), "float32"), y: T.Buffer((1000,), "float32")):
    for i in range(1000):
        r = T.alloc_buffer((1,), "int32")
        r[0] = 0
        for j in range(1000):
            if x[j] < x[i] or (x[j] == x[i] and j < i):
                r[0] += 1
        y[r[0]] = x[i]


@T.prim_func
def row_histograms(x: T.Buffer((128, 300), "int32"), H: T.Buffer((128, 16), "int32")):
    for i, j in T.grid(128, 300):
        T.assume(x[i, j] >= 0 and x[i, j] < 16)
    for i, b in T.grid(128, 16):
        H[i, b] = 0
    for i, j in T.grid(128, 300):
        H[i, x[i, j]] += 1


@T.prim_func
def scatter_means(k: T.Buffer((2000,), "int32"), X: T.Buffer((2000, 32), "float32"), M: T.Buffer((64, 32), "float32")):
    n = T.alloc_buffer((64,), "float32")
    for i in range(2000):
        T.assume(k[i] >= 0 and k[i] < 64)
    for b in range(64):
        n[b] = 0.0
        for c in range(32):
            M[b, c] = 0.0
    for i in range(2000):
        n[k[i]] += 1.0
        for c in range(32):
            M[k[i], c] += X[i, c]
    for b, c in T.grid(64, 32):
        M[b, c] = M[b, c] / T.max(n[b], 1.0)


@T.prim_func
def csc_product(
    ptr: T.Buffer((1001,), "int32"),
    row: T.Buffer((10000,), "int32"),
    val: T.Buffer((10000,), "float32"),
    x: T.Buffer((1000,), "float32"),
    y: T.Buffer((1000,), "float32"),
):
    T.assume(ptr[0] == 0 and ptr[1000] == 10000)
    for j in range(1000):
        T.assume(ptr[j] <= ptr[j + 1] and ptr[j] >= 0 and ptr[j] <= 10000)
    for e in range(10000):
        T.assume(row[e] >= 0 and row[e] < 1000)
    for i in range(1000):
        y[i] = 0.0
    for j in range(1000):
        for e in range(ptr[j], ptr[j + 1]):
            y[row[e]] += val[e] * x[j]


@T.prim_func
def conv1d_blocked_tails(
    X: T.Buffer((8, 257, 4), "float32"),
    W: T.Buffer((8, 8, 3, 4, 4), "float32"),
    Y: T.Buffer((8, (254) // 2 + 1, 4), "float32"),
):
    for ob, x, oi in T.grid(8, (254) // 2 + 1, 4):
        if 4 * ob + oi < 30:
            Y[ob, x, oi] = 0.0
            for cb, k, ci in T.grid(8, 3, 4):
                if 4 * cb + ci < 30:
                    Y[ob, x, oi] += X[cb, 2 * x + k, ci] * W[ob, cb, k, ci, oi]
        else:
            Y[ob, x, oi] = 0.0


@T.prim_func
def deconv1d_gather(
    X: T.Buffer((16, 200), "float32"), W: T.Buffer((16, 16, 4), "float32"), Y: T.Buffer((16, 400), "float32")
):
    for o, p in T.grid(16, 400):
        Y[o, p] = 0.0
        for c, k in T.grid(16, 4):
            if (p + 1 - k) % 2 == 0 and p + 1 - k >= 0 and (p + 1 - k) // 2 < 200:
                Y[o, p] += X[c, (p + 1 - k) // 2] * W[c, o, k]


@T.prim_func
def im2col_product(
    X: T.Buffer((8, 32, 32), "float32"), W: T.Buffer((16, 72), "float32"), Y: T.Buffer((16, 32, 32), "float32")
):
    P = T.alloc_buffer((72, 1024), "float32")
    for r, p in T.grid(72, 1024):
        yy: T.int32 = p // 32 + r % 9 // 3 - 1
        xx: T.int32 = p % 32 + r % 3 - 1
        P[r, p] = T.if_then_else(yy >= 0 and yy < 32 and xx >= 0 and xx < 32, X[r // 9, yy, xx], 0.0)
    for o, y, x in T.grid(16, 32, 32):
        Y[o, y, x] = 0.0
        for r in range(72):
            Y[o, y, x] += W[o, r] * P[r, y * 32 + x]


@T.prim_func
def streaming_attention(
    Q: T.Buffer((256, 32), "float32"),
    K: T.Buffer((256, 32), "float32"),
    V: T.Buffer((256, 32), "float32"),
    O: T.Buffer((256, 32), "float32"),
):
    for i in range(256):
        m = T.alloc_buffer((1,), "float32")
        l = T.alloc_buffer((1,), "float32")
        acc = T.alloc_buffer((32,), "float32")
        m[0] = -1e30
        l[0] = 0.0
        for d in range(32):
            acc[d] = 0.0
        for j in range(256):
            if j <= i:
                s = T.alloc_buffer((1,), "float32")
                s[0] = 0.0
                for d in range(32):
                    s[0] += Q[i, d] * K[j, d]
                s[0] = s[0] * 0.25 - 0.1 * T.cast(i - j, "float32")
                mn: T.float32 = T.max(m[0], s[0])
                a: T.float32 = T.exp(m[0] - mn)
                p: T.float32 = T.exp(s[0] - mn)
                l[0] = l[0] * a + p
                for d in range(32):
                    acc[d] = acc[d] * a + p * V[j, d]
                m[0] = mn
        for d in range(32):
            O[i, d] = acc[d] / l[0]


@T.prim_func
def local_attention(
    Q: T.Buffer((512, 32), "float32"),
    K: T.Buffer((512, 32), "float32"),
    V: T.Buffer((512, 32), "float32"),
    O: T.Buffer((512, 32), "float32"),
):
    P = T.alloc_buffer((512, 9), "float32")
    for i in range(512):
        l = T.alloc_buffer((1,), "float32")
        l[0] = 0.0
        for w in range(9):
            if i + w >= 4 and i + w < 516:
                P[i, w] = 0.0
                for d in range(32):
                    P[i, w] += Q[i, d] * K[i + w - 4, d]
                P[i, w] = T.exp(P[i, w] * 0.1)
            else:
                P[i, w] = 0.0
            l[0] += P[i, w]
        for d in range(32):
            O[i, d] = 0.0
            for w in range(9):
                if i + w >= 4 and i + w < 516:
                    O[i, d] += P[i, w] / l[0] * V[i + w - 4, d]


@T.prim_func
def linear_attention(
    Q: T.Buffer((256, 32), "float32"),
    K: T.Buffer((256, 32), "float32"),
    V: T.Buffer((256, 32), "float32"),
    O: T.Buffer((256, 32), "float32"),
):
    M = T.alloc_buffer((32, 32), "float32")
    for d, e in T.grid(32, 32):
        M[d, e] = 0.0
    for t in range(256):
        for d, e in T.grid(32, 32):
            M[d, e] = 0.95 * M[d, e] + K[t, d] * V[t, e]
        for e in range(32):
            O[t, e] = 0.0
            for d in range(32):
                O[t, e] += Q[t, d] * M[d, e]


@T.prim_func
def cross_lengths(
    Q: T.Buffer((4, 64, 32), "float32"),
    K: T.Buffer((4, 100, 32), "float32"),
    V: T.Buffer((4, 100, 32), "float32"),
    n: T.Buffer((4,), "int32"),
    O: T.Buffer((4, 64, 32), "float32"),
):
    P = T.alloc_buffer((4, 64, 100), "float32")
    for b in range(4):
        T.assume(n[b] >= 1 and n[b] <= 100)
    for b, i in T.grid(4, 64):
        z = T.alloc_buffer((1,), "float32")
        z[0] = 0.0
        for j in range(n[b]):
            P[b, i, j] = 0.0
            for d in range(32):
                P[b, i, j] += Q[b, i, d] * K[b, j, d]
            P[b, i, j] = T.exp(0.1 * P[b, i, j])
            z[0] += P[b, i, j]
        for d in range(32):
            O[b, i, d] = 0.0
            for j in range(n[b]):
                O[b, i, d] += P[b, i, j] * V[b, j, d]
            O[b, i, d] = O[b, i, d] / z[0]


@T.prim_func
def int8_conv(
    X: T.Buffer((16, 30, 30), "int8"),
    W: T.Buffer((16, 16, 3, 3), "int8"),
    m: T.Buffer((16,), "float32"),
    Y: T.Buffer((16, 28, 28), "int8"),
):
    for o, y, x in T.grid(16, 28, 28):
        a = T.alloc_buffer((1,), "int32")
        a[0] = 0
        for c, dy, dx in T.grid(16, 3, 3):
            a[0] += (T.cast(X[c, y + dy, x + dx], "int32") - 3) * T.cast(W[o, c, dy, dx], "int32")
        Y[o, y, x] = T.cast(T.max(T.min(T.round(T.cast(a[0], "float32") * m[o]), 127.0), -128.0), "int8")


@T.prim_func
def q4_matvec(
    Q: T.Buffer((256, 16, 16), "uint8"),
    s: T.Buffer((256, 16), "float32"),
    x: T.Buffer((512,), "float32"),
    y: T.Buffer((256,), "float32"),
):
    for i in range(256):
        y[i] = 0.0
        for g in range(16):
            a = T.alloc_buffer((1,), "float32")
            a[0] = 0.0
            for k in range(16):
                a[0] += T.cast(T.cast(Q[i, g, k] & T.uint8(15), "int32") - 8, "float32") * x[32 * g + k]
                a[0] += T.cast(T.cast(Q[i, g, k] >> T.uint8(4), "int32") - 8, "float32") * x[32 * g + 16 + k]
            y[i] += s[i, g] * a[0]


@T.prim_func
def affine_gaps(a: T.Buffer((150,), "int32"), b: T.Buffer((140,), "int32"), H: T.Buffer((151, 141), "float32")):
    E = T.alloc_buffer((151, 141), "float32")
    F = T.alloc_buffer((151, 141), "float32")
    for j in range(141):
        H[0, j] = 0.0
        F[0, j] = -1000.0
    for i in range(1, 151):
        H[i, 0] = 0.0
        E[i, 0] = -1000.0
        for j in range(1, 141):
            E[i, j] = T.max(E[i, j - 1] - 1.0, H[i, j - 1] - 3.0)
            F[i, j] = T.max(F[i - 1, j] - 1.0, H[i - 1, j] - 3.0)
            H[i, j] = T.max(
                T.max(E[i, j], F[i, j]), T.max(0.0, H[i - 1, j - 1] + T.if_then_else(a[i - 1] == b[j - 1], 2.0, -1.0))
            )


@T.prim_func
def subset_sums(a: T.Buffer((50,), "int32"), R: T.Buffer((4001,), "bool")):
    for i in range(50):
        T.assume(a[i] >= 1 and a[i] <= 4000)
    for w in range(4001):
        R[w] = w == 0
    for i in range(50):
        for w in range(4001 - a[i]):
            if R[4000 - w - a[i]]:
                R[4000 - w] = True


@T.prim_func
def sor_dense(A: T.Buffer((200, 200), "float32"), b: T.Buffer((200,), "float32"), x: T.Buffer((200,), "float32")):
    for i in range(200):
        x[i] = 0.0
    for t in range(5):
        for i in range(200):
            s = T.alloc_buffer((1,), "float32")
            s[0] = b[i]
            for j in range(200):
                if j != i:
                    s[0] -= A[i, j] * x[j]
            x[i] = -0.2 * x[i] + 1.2 * s[0] / A[i, i]


@T.prim_func
def walsh_hadamard(x: T.Buffer((4096,), "float32")):
    t = T.alloc_buffer((4096,), "float32")
    for s in range(12):
        for i in range(4096):
            h: T.int32 = 1 << s
            t[i] = T.if_then_else((i // h) % 2 == 0, x[i] + x[T.min(i + h, 4095)], x[T.max(i - h, 0)] - x[i])
        for i in range(4096):
            x[i] = t[i]


@T.prim_func
def distance_transform(M: T.Buffer((200, 220), "bool"), D: T.Buffer((200, 220), "int32")):
    for i, j in T.grid(200, 220):
        D[i, j] = T.if_then_else(M[i, j], 0, 10000)
    for i in range(1, 200):
        for j in range(220):
            D[i, j] = T.min(D[i, j], D[i - 1, j] + 1)
    for i in range(1, 200):
        for j in range(220):
            D[199 - i, j] = T.min(D[199 - i, j], D[200 - i, j] + 1)
    for j in range(1, 220):
        for i in range(200):
            D[i, j] = T.min(D[i, j], D[i, j - 1] + 1)
    for j in range(1, 220):
        for i in range(200):
            D[i, 219 - j] = T.min(D[i, 219 - j], D[i, 220 - j] + 1)


@T.prim_func
def label_spread(M: T.Buffer((128, 128), "bool"), L: T.Buffer((128, 128), "int32")):
    O = T.alloc_buffer((128, 128), "int32")
    for i, j in T.grid(128, 128):
        L[i, j] = i * 128 + j
    for t in range(10):
        for i, j in T.grid(128, 128):
            O[i, j] = L[i, j]
            if M[i, j]:
                if i > 0 and M[i - 1, j]:
                    O[i, j] = T.min(O[i, j], L[i - 1, j])
                if i < 127 and M[i + 1, j]:
                    O[i, j] = T.min(O[i, j], L[i + 1, j])
                if j > 0 and M[i, j - 1]:
                    O[i, j] = T.min(O[i, j], L[i, j - 1])
                if j < 127 and M[i, j + 1]:
                    O[i, j] = T.min(O[i, j], L[i, j + 1])
        for i, j in T.grid(128, 128):
            L[i, j] = O[i, j]


@T.prim_func
def nearest_resize(X: T.Buffer((200, 220), "float32"), Y: T.Buffer((300, 330), "float32")):
    for y, x in T.grid(300, 330):
        Y[y, x] = X[2 * y // 3, 2 * x // 3]


@T.prim_func
def masked_correlation(
    X: T.Buffer((1000, 32), "float32"), M: T.Buffer((1000, 32), "bool"), R: T.Buffer((32, 32), "float32")
):
    for a, b in T.grid(32, 32):
        n = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((5,), "float32")
        n[0] = 0.0
        for q in range(5):
            s[q] = 0.0
        for i in range(1000):
            if M[i, a] and M[i, b]:
                n[0] = n[0] + 1.0
                s[0] = s[0] + X[i, a]
                s[1] = s[1] + X[i, b]
                s[2] = s[2] + X[i, a] * X[i, b]
                s[3] = s[3] + X[i, a] * X[i, a]
                s[4] = s[4] + X[i, b] * X[i, b]
        c = T.max(n[0], 1.0)
        R[a, b] = (s[2] / c - s[0] * s[1] / (c * c)) / T.sqrt(
            T.max((s[3] / c - s[0] * s[0] / (c * c)) * (s[4] / c - s[1] * s[1] / (c * c)), 0.000001)
        )


@T.prim_func
def triangle_count(A: T.Buffer((160, 160), "int32"), t: T.Buffer((160,), "int32")):
    for i in range(160):
        t[i] = 0
        for j in range(160):
            for k in range(160):
                if i < j and j < k:
                    t[i] = t[i] + A[i, j] * A[j, k] * A[i, k]


@T.prim_func
def demosaic(R: T.Buffer((256, 256), "float32"), C: T.Buffer((3, 256, 256), "float32")):
    for y, x in T.grid(256 - 2, 256 - 2):
        i = y + 1
        j = x + 1
        if i % 2 == 0:
            if j % 2 == 0:
                C[0, i, j] = R[i, j]
                C[1, i, j] = 0.25 * (R[i - 1, j] + R[i + 1, j] + R[i, j - 1] + R[i, j + 1])
                C[2, i, j] = 0.25 * (R[i - 1, j - 1] + R[i - 1, j + 1] + R[i + 1, j - 1] + R[i + 1, j + 1])
            else:
                C[0, i, j] = 0.5 * (R[i, j - 1] + R[i, j + 1])
                C[1, i, j] = R[i, j]
                C[2, i, j] = 0.5 * (R[i - 1, j] + R[i + 1, j])
        else:
            if j % 2 == 0:
                C[0, i, j] = 0.5 * (R[i - 1, j] + R[i + 1, j])
                C[1, i, j] = R[i, j]
                C[2, i, j] = 0.5 * (R[i, j - 1] + R[i, j + 1])
            else:
                C[0, i, j] = 0.25 * (R[i - 1, j - 1] + R[i - 1, j + 1] + R[i + 1, j - 1] + R[i + 1, j + 1])
                C[1, i, j] = 0.25 * (R[i - 1, j] + R[i + 1, j] + R[i, j - 1] + R[i, j + 1])
                C[2, i, j] = R[i, j]


@T.prim_func
def fluid_average(
    M: T.Buffer((200, 200), "bool"), X: T.Buffer((200, 200), "float32"), Y: T.Buffer((200, 200), "float32")
):
    for i, j in T.grid(200, 200):
        s = T.alloc_buffer((1,), "float32")
        n = T.alloc_buffer((1,), "int32")
        s[0] = 0.0
        n[0] = 0
        for dy, dx in T.grid(3, 3):
            if i + dy >= 1 and i + dy <= 200 and j + dx >= 1 and j + dx <= 200:
                if M[i + dy - 1, j + dx - 1]:
                    s[0] = s[0] + X[i + dy - 1, j + dx - 1]
                    n[0] = n[0] + 1
        Y[i, j] = T.if_then_else(n[0] > 0, s[0] / T.cast(T.max(n[0], 1), "float32"), X[i, j])


@T.prim_func
def bfs_levels(A: T.Buffer((256, 256), "bool"), L: T.Buffer((256,), "int32")):
    for v in range(256):
        L[v] = -1
    L[0] = 0
    for t in range(10):
        for v in range(256):
            for u in range(256):
                if L[v] < 0 and L[u] == t and A[u, v]:
                    L[v] = t + 1


@T.prim_func
def palindromes(s: T.Buffer((200,), "int32"), P: T.Buffer((200, 200), "bool")):
    for i, j in T.grid(200, 200):
        P[i, j] = i >= j
    for l in range(1, 200):
        for i in range(200 - l):
            P[i, i + l] = s[i] == s[i + l] and P[i + 1, i + l - 1]


@T.prim_func
def alpha_compositing(
    C: T.Buffer((32, 2000, 3), "float32"), A: T.Buffer((32, 2000), "float32"), O: T.Buffer((2000, 3), "float32")
):
    for n in range(2000):
        tr = T.alloc_buffer((1,), "float32")
        tr[0] = 1.0
        for c in range(3):
            O[n, c] = 0.0
        for l in range(32):
            for c in range(3):
                O[n, c] = O[n, c] + tr[0] * A[l, n] * C[l, n, c]
            tr[0] = tr[0] * (1.0 - A[l, n])


@T.prim_func
def group_best(
    g: T.Buffer((5000,), "int32"),
    v: T.Buffer((5000,), "float32"),
    B: T.Buffer((64,), "float32"),
    A: T.Buffer((64,), "int32"),
):
    for i in range(5000):
        T.assume(g[i] >= 0 and g[i] < 64)
    for q in range(64):
        B[q] = -1000000.0
        A[q] = -1
    for i in range(5000):
        if v[i] > B[g[i]]:
            B[g[i]] = v[i]
            A[g[i]] = i


@T.prim_func
def fft_stages(
    re: T.Buffer((1024,), "float32"),
    im: T.Buffer((1024,), "float32"),
    c: T.Buffer((1024 // 2,), "float32"),
    s: T.Buffer((1024 // 2,), "float32"),
):
    for q in range(10):
        for b in range(1024 >> (q + 1)):
            for j in range(1 << q):
                w = j * (1024 >> (q + 1))
                lo = b * (2 << q) + j
                hi = lo + (1 << q)
                xr = re[hi] * c[w] - im[hi] * s[w]
                xi = re[hi] * s[w] + im[hi] * c[w]
                re[hi] = re[lo] - xr
                im[hi] = im[lo] - xi
                re[lo] = re[lo] + xr
                im[lo] = im[lo] + xi


@T.prim_func
def xtea(V: T.Buffer((4096, 2), "uint32"), key: T.Buffer((4,), "uint32")):
    for n in range(4096):
        s = T.alloc_buffer((1,), "uint32")
        s[0] = T.uint32(0)
        for r in range(32):
            V[n, 0] = V[n, 0] + (
                (((V[n, 1] << T.uint32(4)) ^ (V[n, 1] >> T.uint32(5))) + V[n, 1]) ^ (s[0] + key[s[0] & T.uint32(3)])
            )
            s[0] = s[0] + T.uint32(2654435769)
            V[n, 1] = V[n, 1] + (
                (((V[n, 0] << T.uint32(4)) ^ (V[n, 0] >> T.uint32(5))) + V[n, 0])
                ^ (s[0] + key[(s[0] >> T.uint32(11)) & T.uint32(3)])
            )


@T.prim_func
def kernel_density(x: T.Buffer((1000,), "float32"), g: T.Buffer((512,), "float32"), p: T.Buffer((512,), "float32")):
    for m in range(512):
        p[m] = 0.0
        for i in range(1000):
            p[m] = p[m] + T.exp(-0.5 * (g[m] - x[i]) * (g[m] - x[i]))
        p[m] = p[m] / 1000.0


@T.prim_func
def fir_decimate(
    x: T.Buffer((4 * 16384 + 28,), "float32"), h: T.Buffer((32,), "float32"), y: T.Buffer((16384,), "float32")
):
    for i in range(16384):
        y[i] = 0.0
        for t in range(32):
            y[i] = y[i] + h[t] * x[4 * i + t]


@T.prim_func
def csr_components(ptr: T.Buffer((1000 + 1,), "int32"), idx: T.Buffer((4000,), "int32"), L: T.Buffer((1000,), "int32")):
    O = T.alloc_buffer((1000,), "int32")
    for v in range(1000):
        L[v] = v
    for t in range(5):
        for v in range(1000):
            O[v] = L[v]
            for p in range(ptr[v], ptr[v + 1]):
                O[v] = T.min(O[v], L[idx[p]])
        for v in range(1000):
            L[v] = O[v]


@T.prim_func
def matrix_chain(w: T.Buffer((64 + 1,), "float32"), M: T.Buffer((64, 64), "float32")):
    for i in range(64):
        M[i, i] = 0.0
    for l in range(1, 64):
        for i in range(64 - l):
            M[i, i + l] = 100000000.0
            for q in range(l):
                M[i, i + l] = T.min(M[i, i + l], M[i, i + q] + M[i + q + 1, i + l] + w[i] * w[i + q + 1] * w[i + l + 1])


@T.prim_func
def compaction(X: T.Buffer((10000,), "float32"), Y: T.Buffer((10000,), "float32"), n: T.Buffer((1,), "int32")):
    n[0] = 0
    for i in range(10000):
        if X[i] > 0.0:
            Y[n[0]] = X[i]
            n[0] = n[0] + 1


@T.prim_func
def mamba_scan(
    x: T.Buffer((128, 64), "float32"),
    dt: T.Buffer((128, 64), "float32"),
    A: T.Buffer((64, 16), "float32"),
    B: T.Buffer((128, 16), "float32"),
    C: T.Buffer((128, 16), "float32"),
    y: T.Buffer((128, 64), "float32"),
):
    h = T.alloc_buffer((64, 16), "float32")
    for d, s in T.grid(64, 16):
        h[d, s] = 0.0
    for t in range(128):
        for d in range(64):
            y[t, d] = 0.0
            for s in range(16):
                h[d, s] = T.exp(dt[t, d] * A[d, s]) * h[d, s] + dt[t, d] * B[t, s] * x[t, d]
                y[t, d] = y[t, d] + h[d, s] * C[t, s]


@T.prim_func
def mttkrp(
    X: T.Buffer((64, 64, 64), "float32"),
    B: T.Buffer((64, 16), "float32"),
    C: T.Buffer((64, 16), "float32"),
    M: T.Buffer((64, 16), "float32"),
):
    for i, r in T.grid(64, 16):
        M[i, r] = 0.0
        for j, k in T.grid(64, 64):
            M[i, r] = M[i, r] + X[i, j, k] * B[j, r] * C[k, r]


@T.prim_func
def welford(X: T.Buffer((1000, 64), "float32"), m: T.Buffer((64,), "float32"), v: T.Buffer((64,), "float32")):
    for d in range(64):
        m[d] = 0.0
        v[d] = 0.0
        for i in range(1000):
            e = X[i, d] - m[d]
            m[d] = m[d] + e / T.cast(i + 1, "float32")
            v[d] = v[d] + e * (X[i, d] - m[d])
        v[d] = v[d] / T.float32(1000 - 1)


@T.prim_func
def goertzel(x: T.Buffer((512,), "float32"), c: T.Buffer((64,), "float32"), P: T.Buffer((64,), "float32")):
    for k in range(64):
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        a[0] = 0.0
        b[0] = 0.0
        for n in range(512):
            s = x[n] + c[k] * a[0] - b[0]
            b[0] = a[0]
            a[0] = s
        P[k] = a[0] * a[0] + b[0] * b[0] - c[k] * a[0] * b[0]


@T.prim_func
def wave_obstacles(U: T.Buffer((2, 200, 200), "float32"), W: T.Buffer((200, 200), "int32")):
    for t in range(20):
        for i in range(1, 200 - 1):
            for j in range(1, 200 - 1):
                if W[i, j] == 0:
                    U[(t + 1) % 2, i, j] = (
                        2.0 * U[t % 2, i, j]
                        - U[(t + 1) % 2, i, j]
                        + 0.2
                        * (
                            U[t % 2, i - 1, j]
                            + U[t % 2, i + 1, j]
                            + U[t % 2, i, j - 1]
                            + U[t % 2, i, j + 1]
                            - 4.0 * U[t % 2, i, j]
                        )
                    )
                else:
                    U[(t + 1) % 2, i, j] = 0.0


@T.prim_func
def adler32(D: T.Buffer((256, 128), "uint8"), H: T.Buffer((256,), "uint32")):
    for n in range(256):
        a = T.alloc_buffer((1,), "uint32")
        b = T.alloc_buffer((1,), "uint32")
        a[0] = T.uint32(1)
        b[0] = T.uint32(0)
        for i in range(128):
            a[0] = (a[0] + T.cast(D[n, i], "uint32")) % T.uint32(65521)
            b[0] = (b[0] + a[0]) % T.uint32(65521)
        H[n] = (b[0] << T.uint32(16)) | a[0]


@T.prim_func
def sliced_ell(
    ptr: T.Buffer((200 + 1,), "int32"),
    J: T.Buffer((2000, 8), "int32"),
    V: T.Buffer((2000, 8), "float32"),
    x: T.Buffer((1600,), "float32"),
    y: T.Buffer((200, 8), "float32"),
):
    for s, l in T.grid(200, 8):
        y[s, l] = 0.0
        for p in range(ptr[s], ptr[s + 1]):
            y[s, l] += V[p, l] * x[J[p, l]]


@T.prim_func
def non_max_suppression(
    G: T.Buffer((256, 256), "float32"), A: T.Buffer((256, 256), "int32"), E: T.Buffer((256, 256), "float32")
):
    for i, j in T.grid(256, 256):
        E[i, j] = 0.0
    for i, j in T.grid(256 - 2, 256 - 2):
        p = T.alloc_buffer((1,), "float32")
        q = T.alloc_buffer((1,), "float32")
        if A[i + 1, j + 1] == 0:
            p[0] = G[i + 1, j]
            q[0] = G[i + 1, j + 2]
        elif A[i + 1, j + 1] == 1:
            p[0] = G[i, j + 2]
            q[0] = G[i + 2, j]
        elif A[i + 1, j + 1] == 2:
            p[0] = G[i, j + 1]
            q[0] = G[i + 2, j + 1]
        else:
            p[0] = G[i, j]
            q[0] = G[i + 2, j + 2]
        if G[i + 1, j + 1] >= p[0] and G[i + 1, j + 1] >= q[0]:
            E[i + 1, j + 1] = G[i + 1, j + 1]


@T.prim_func
def run_lengths(x: T.Buffer((20000,), "int32"), L: T.Buffer((20000,), "int32")):
    L[0] = 1
    for i in range(1, 20000):
        if x[i] == x[i - 1]:
            L[i] = L[i - 1] + 1
        else:
            L[i] = 1


@T.prim_func
def bit_reversal(x: T.Buffer((4096,), "float32"), y: T.Buffer((4096,), "float32")):
    for i in range(4096):
        r = T.alloc_buffer((1,), "int32")
        r[0] = 0
        for b in range(12):
            r[0] = r[0] * 2 + ((i >> b) & 1)
        y[i] = x[r[0]]


@T.prim_func
def overlap_add(X: T.Buffer((200, 256), "float32"), w: T.Buffer((256,), "float32"), Y: T.Buffer((12992,), "float32")):
    for n in range(12992):
        Y[n] = 0.0
    for f, k in T.grid(200, 256):
        Y[64 * f + k] = Y[64 * f + k] + X[f, k] * w[k]


@T.prim_func
def frame_energies(X: T.Buffer((20000,), "float32"), w: T.Buffer((400,), "float32"), E: T.Buffer((123,), "float32")):
    for f in range(123):
        E[f] = 0.0
        for k in range(400):
            E[f] = E[f] + X[160 * f + k] * w[k] * (X[160 * f + k] * w[k])


@T.prim_func
def zero_crossings(X: T.Buffer((16, 4000), "float32"), N: T.Buffer((16, 20), "int32")):
    for c, f in T.grid(16, 20):
        N[c, f] = 0
        for k in range(1, 200):
            if (X[c, 200 * f + k] >= 0.0) != (X[c, 200 * f + k - 1] >= 0.0):
                N[c, f] = N[c, f] + 1


@T.prim_func
def integrator_comb(X: T.Buffer((16384,), "int32"), Y: T.Buffer((2048,), "int32")):
    S = T.alloc_buffer((16384,), "int32")
    S[0] = X[0]
    for i in range(1, 16384):
        T.assume(X[i] >= -100 and X[i] <= 100)
        S[i] = S[i - 1] + X[i]
    for j in range(2048):
        Y[j] = S[8 * j + 7]
        if j > 0:
            Y[j] = Y[j] - S[8 * j - 1]


@T.prim_func
def normalised_adjacency(A: T.Buffer((400, 400), "float32"), N: T.Buffer((400, 400), "float32")):
    D = T.alloc_buffer((400,), "float32")
    for i in range(400):
        D[i] = 1.0
        for j in range(400):
            D[i] = D[i] + A[i, j]
    for i, j in T.grid(400, 400):
        if i == j:
            N[i, j] = (A[i, j] + 1.0) / T.sqrt(D[i] * D[j])
        else:
            N[i, j] = A[i, j] / T.sqrt(D[i] * D[j])


@T.prim_func
def coo_times_matrix(
    R: T.Buffer((3000,), "int32"),
    C: T.Buffer((3000,), "int32"),
    V: T.Buffer((3000,), "float32"),
    X: T.Buffer((500, 16), "float32"),
    Y: T.Buffer((400, 16), "float32"),
):
    for e in range(3000):
        T.assume(R[e] >= 0 and R[e] < 400 and C[e] >= 0 and C[e] < 500)
    for i, d in T.grid(400, 16):
        Y[i, d] = 0.0
    for e in range(3000):
        for d in range(16):
            Y[R[e], d] = Y[R[e], d] + V[e] * X[C[e], d]


@T.prim_func
def ell_transposed(
    C: T.Buffer((1000, 8), "int32"),
    V: T.Buffer((1000, 8), "float32"),
    x: T.Buffer((1000,), "float32"),
    y: T.Buffer((800,), "float32"),
):
    for j in range(800):
        y[j] = 0.0
    for i, k in T.grid(1000, 8):
        T.assume(C[i, k] >= -1 and C[i, k] < 800)
        if C[i, k] >= 0:
            y[C[i, k]] = y[C[i, k]] + V[i, k] * x[i]


@T.prim_func
def edge_softmax(D: T.Buffer((4000,), "int32"), S: T.Buffer((4000,), "float32"), P: T.Buffer((4000,), "float32")):
    m = T.alloc_buffer((300,), "float32")
    z = T.alloc_buffer((300,), "float32")
    for i in range(300):
        m[i] = -1000000.0
        z[i] = 0.0
    for e in range(4000):
        T.assume(D[e] >= 0 and D[e] < 300)
        m[D[e]] = T.max(m[D[e]], S[e])
    for e in range(4000):
        z[D[e]] = z[D[e]] + T.exp(S[e] - m[D[e]])
    for e in range(4000):
        P[e] = T.exp(S[e] - m[D[e]]) / z[D[e]]


@T.prim_func
def transitive_closure(A: T.Buffer((128, 128), "bool"), R: T.Buffer((128, 128), "bool")):
    for i, j in T.grid(128, 128):
        R[i, j] = A[i, j]
    for k, i, j in T.grid(128, 128, 128):
        R[i, j] = R[i, j] or (R[i, k] and R[k, j])


@T.prim_func
def asian_options(Z: T.Buffer((2000, 50), "float32"), v: T.Buffer((1,), "float32"), P: T.Buffer((1,), "float32")):
    P[0] = 0.0
    for p in range(2000):
        s = T.alloc_buffer((1,), "float32")
        a = T.alloc_buffer((1,), "float32")
        s[0] = 100.0
        a[0] = 0.0
        for t in range(50):
            s[0] = s[0] * T.exp(v[0] * Z[p, t] - T.float32(0.5) * v[0] * v[0])
            a[0] = a[0] + s[0]
        P[0] = P[0] + T.max(a[0] / 50.0 - T.float32(100.0), 0.0) / 2000.0


@T.prim_func
def rolling_covariance(
    X: T.Buffer((4000,), "float32"), Y: T.Buffer((4000,), "float32"), C: T.Buffer((3981,), "float32")
):
    for t in range(3981):
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        c = T.alloc_buffer((1,), "float32")
        a[0] = 0.0
        b[0] = 0.0
        c[0] = 0.0
        for k in range(20):
            a[0] = a[0] + X[t + k]
            b[0] = b[0] + Y[t + k]
            c[0] = c[0] + X[t + k] * Y[t + k]
        C[t] = (c[0] - a[0] * b[0] / 20.0) / 19.0


@T.prim_func
def relative_strength(P: T.Buffer((8, 2000), "float32"), R: T.Buffer((8, 2000), "float32")):
    for s in range(8):
        g = T.alloc_buffer((1,), "float32")
        l = T.alloc_buffer((1,), "float32")
        g[0] = 0.0
        l[0] = 0.0
        R[s, 0] = 50.0
        for t in range(1, 2000):
            g[0] = (13.0 * g[0] + T.max(P[s, t] - P[s, t - 1], 0.0)) / 14.0
            l[0] = (13.0 * l[0] + T.max(P[s, t - 1] - P[s, t], 0.0)) / 14.0
            R[s, t] = 100.0 * g[0] / (g[0] + l[0] + T.float32(0.000001))


@T.prim_func
def bond_prices(
    c: T.Buffer((500,), "float32"),
    r: T.Buffer((500,), "float32"),
    m: T.Buffer((500,), "int32"),
    P: T.Buffer((500,), "float32"),
):
    for i in range(500):
        T.assume(m[i] >= 1 and m[i] <= 60)
        P[i] = 0.0
        for t in range(60):
            if t < m[i]:
                P[i] = P[i] + c[i] * T.exp(-r[i] * T.cast(t + 1, "float32"))
        P[i] = P[i] + T.exp(-r[i] * T.cast(m[i], "float32"))


@T.prim_func
def otsu_threshold(X: T.Buffer((20000,), "uint8"), B: T.Buffer((256,), "float32")):
    h = T.alloc_buffer((256,), "float32")
    for v in range(256):
        h[v] = 0.0
    for i in range(20000):
        h[X[i]] = h[X[i]] + 1.0
    for t in range(256):
        w = T.alloc_buffer((1,), "float32")
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        w[0] = 0.0
        a[0] = 0.0
        b[0] = 0.0
        for v in range(256):
            if v <= t:
                w[0] = w[0] + h[v]
                a[0] = a[0] + T.cast(v, "float32") * h[v]
            else:
                b[0] = b[0] + T.cast(v, "float32") * h[v]
        if w[0] > 0.0 and w[0] < 20000.0:
            B[t] = (
                w[0]
                * (20000.0 - w[0])
                * (a[0] / w[0] - b[0] / (20000.0 - w[0]))
                * (a[0] / w[0] - b[0] / (20000.0 - w[0]))
            )
        else:
            B[t] = 0.0


@T.prim_func
def opening(X: T.Buffer((240, 320), "uint8"), Y: T.Buffer((240, 320), "uint8")):
    E = T.alloc_buffer((240, 320), "uint8")
    for i, j in T.grid(240, 320):
        E[i, j] = 255
        for a, b in T.grid(3, 3):
            if i + a >= 1 and i + a <= 240 and j + b >= 1 and j + b <= 320:
                E[i, j] = T.min(E[i, j], X[i + a - 1, j + b - 1])
    for i, j in T.grid(240, 320):
        Y[i, j] = 0
        for a, b in T.grid(3, 3):
            if i + a >= 1 and i + a <= 240 and j + b >= 1 and j + b <= 320:
                Y[i, j] = T.max(Y[i, j], E[i + a - 1, j + b - 1])


@T.prim_func
def box_from_sums(S: T.Buffer((301, 401), "float32"), Y: T.Buffer((300, 400), "float32")):
    for i, j in T.grid(300, 400):
        Y[i, j] = (
            S[T.min(i + 4, 300), T.min(j + 4, 400)]
            - S[T.max(i - 3, 0), T.min(j + 4, 400)]
            - S[T.min(i + 4, 300), T.max(j - 3, 0)]
            + S[T.max(i - 3, 0), T.max(j - 3, 0)]
        ) / 49.0


@T.prim_func
def seam_energies(E: T.Buffer((200, 300), "float32"), M: T.Buffer((200, 300), "float32")):
    for j in range(300):
        M[0, j] = E[0, j]
    for i in range(1, 200):
        for j in range(300):
            b = T.alloc_buffer((1,), "float32")
            b[0] = M[i - 1, j]
            if j > 0:
                b[0] = T.min(b[0], M[i - 1, j - 1])
            if j < 299:
                b[0] = T.min(b[0], M[i - 1, j + 1])
            M[i, j] = E[i, j] + b[0]


@T.prim_func
def ordered_dither(
    X: T.Buffer((250, 330), "float32"), B: T.Buffer((8, 8), "float32"), Y: T.Buffer((250, 330), "uint8")
):
    for i, j in T.grid(250, 330):
        if X[i, j] > B[i % 8, j % 8]:
            Y[i, j] = 255
        else:
            Y[i, j] = 0


@T.prim_func
def chroma_halved(U: T.Buffer((255, 311), "uint8"), V: T.Buffer((128, 156), "uint8")):
    for i, j in T.grid(128, 156):
        V[i, j] = T.cast(
            (
                T.cast(U[2 * i, 2 * j], "int32")
                + T.cast(U[T.min(2 * i + 1, 254), 2 * j], "int32")
                + T.cast(U[2 * i, T.min(2 * j + 1, 310)], "int32")
                + T.cast(U[T.min(2 * i + 1, 254), T.min(2 * j + 1, 310)], "int32")
                + 2
            )
            // 4,
            "uint8",
        )


@T.prim_func
def thinned_edges(
    G: T.Buffer((200, 200), "float32"), D: T.Buffer((200, 200), "int32"), Y: T.Buffer((200, 200), "float32")
):
    for i, j in T.grid(200, 200):
        Y[i, j] = 0.0
        if i > 0 and i < 199 and j > 0 and j < 199:
            if D[i, j] == 0:
                if G[i, j] >= G[i, j - 1] and G[i, j] >= G[i, j + 1]:
                    Y[i, j] = G[i, j]
            elif D[i, j] == 1:
                if G[i, j] >= G[i - 1, j + 1] and G[i, j] >= G[i + 1, j - 1]:
                    Y[i, j] = G[i, j]
            elif D[i, j] == 2:
                if G[i, j] >= G[i - 1, j] and G[i, j] >= G[i + 1, j]:
                    Y[i, j] = G[i, j]
            else:
                if G[i, j] >= G[i - 1, j - 1] and G[i, j] >= G[i + 1, j + 1]:
                    Y[i, j] = G[i, j]


@T.prim_func
def vibrating_string(U: T.Buffer((1000,), "float32"), V: T.Buffer((1000,), "float32")):
    for t in range(100):
        for i in range(1, 999):
            V[i] = V[i] + T.float32(0.1) * (U[i - 1] - T.float32(2.0) * U[i] + U[i + 1])
        for i in range(1, 999):
            U[i] = U[i] + T.float32(0.1) * V[i]


@T.prim_func
def shallow_water(H: T.Buffer((512,), "float32"), Q: T.Buffer((512,), "float32")):
    h = T.alloc_buffer((512,), "float32")
    q = T.alloc_buffer((512,), "float32")
    for t in range(50):
        for i in range(512):
            h[i] = T.float32(0.5) * (H[(i + 511) % 512] + H[(i + 1) % 512]) - T.float32(0.05) * (
                Q[(i + 1) % 512] - Q[(i + 511) % 512]
            )
            q[i] = T.float32(0.5) * (Q[(i + 511) % 512] + Q[(i + 1) % 512]) - T.float32(0.05) * (
                Q[(i + 1) % 512] * Q[(i + 1) % 512] / H[(i + 1) % 512]
                + T.float32(4.9) * H[(i + 1) % 512] * H[(i + 1) % 512]
                - Q[(i + 511) % 512] * Q[(i + 511) % 512] / H[(i + 511) % 512]
                - T.float32(4.9) * H[(i + 511) % 512] * H[(i + 511) % 512]
            )
        for i in range(512):
            H[i] = h[i]
            Q[i] = q[i]


@T.prim_func
def charge_deposit(X: T.Buffer((5000,), "float32"), R: T.Buffer((128,), "float32")):
    for g in range(128):
        R[g] = 0.0
    for p in range(5000):
        T.assume(X[p] >= 0.0 and X[p] < 127.5)
        c = T.cast(X[p], "int32")
        T.assume(c >= 0 and c < 128)
        R[c] = R[c] + (1.0 - (X[p] - T.cast(c, "float32")))
        R[(c + 1) % 128] = R[(c + 1) % 128] + (X[p] - T.cast(c, "float32"))


@T.prim_func
def rising_subsequence(A: T.Buffer((400,), "int32"), L: T.Buffer((400,), "int32")):
    for i in range(400):
        L[i] = 1
        for j in range(i):
            if A[j] < A[i]:
                L[i] = T.max(L[i], L[j] + 1)


@T.prim_func
def common_substring(s: T.Buffer((200,), "uint8"), t: T.Buffer((300,), "uint8"), b: T.Buffer((1,), "int32")):
    L = T.alloc_buffer((201, 301), "int32")
    for i in range(201):
        L[i, 0] = 0
    for j in range(301):
        L[0, j] = 0
    b[0] = 0
    for i in range(200):
        for j in range(300):
            if s[i] == t[j]:
                L[i + 1, j + 1] = L[i, j] + 1
            else:
                L[i + 1, j + 1] = 0
            b[0] = T.max(b[0], L[i + 1, j + 1])


@T.prim_func
def word_break(D: T.Buffer((300, 12), "bool"), R: T.Buffer((301,), "bool")):
    R[0] = True
    for i in range(1, 301):
        R[i] = False
        for l in range(12):
            if l < i:
                if D[i - 1, l] and R[i - 1 - l]:
                    R[i] = True


@T.prim_func
def pattern_places(t: T.Buffer((20000,), "uint8"), p: T.Buffer((8,), "uint8"), m: T.Buffer((19993,), "bool")):
    for i in range(19993):
        m[i] = True
        for k in range(8):
            if p[k] != 63 and t[i + k] != p[k]:
                m[i] = False


@T.prim_func
def bitap(t: T.Buffer((64, 300), "uint8"), M: T.Buffer((256,), "uint32"), N: T.Buffer((64,), "int32")):
    for r in range(64):
        d = T.alloc_buffer((1,), "uint32")
        d[0] = 0
        N[r] = 0
        for i in range(300):
            d[0] = (d[0] << T.cast(1, "uint32") | T.cast(1, "uint32")) & M[t[r, i]]
            if (d[0] & T.cast(128, "uint32")) != T.cast(0, "uint32"):
                N[r] = N[r] + 1


@T.prim_func
def khatri_rao(A: T.Buffer((63, 17), "float32"), B: T.Buffer((45, 17), "float32"), K: T.Buffer((2835, 17), "float32")):
    for i, j, r in T.grid(63, 45, 17):
        K[45 * i + j, r] = A[i, r] * B[j, r]


@T.prim_func
def packed_rank_one(x: T.Buffer((200,), "float32"), A: T.Buffer((20100,), "float32")):
    for i in range(200):
        for j in range(i + 1):
            A[i * (i + 1) // 2 + j] = A[i * (i + 1) // 2 + j] + x[i] * x[j]


@T.prim_func
def products_batch_last(
    A: T.Buffer((3, 5, 2000), "float32"), B: T.Buffer((5, 7, 2000), "float32"), C: T.Buffer((3, 7, 2000), "float32")
):
    for n, i, j in T.grid(2000, 3, 7):
        C[i, j, n] = 0.0
        for k in range(5):
            C[i, j, n] = C[i, j, n] + A[i, k, n] * B[k, j, n]


@T.prim_func
def householder_panel(V: T.Buffer((8, 150), "float32"), A: T.Buffer((150, 90), "float32")):
    for r in range(8):
        s = T.alloc_buffer((90,), "float32")
        for j in range(90):
            s[j] = 0.0
            for i in range(150):
                s[j] = s[j] + V[r, i] * A[i, j]
        for i, j in T.grid(150, 90):
            A[i, j] = A[i, j] - 2.0 * V[r, i] * s[j]


@T.prim_func
def layer_norm_backward(
    X: T.Buffer((256, 192), "float32"),
    g: T.Buffer((192,), "float32"),
    dY: T.Buffer((256, 192), "float32"),
    dX: T.Buffer((256, 192), "float32"),
):
    for n in range(256):
        m = T.alloc_buffer((1,), "float32")
        v = T.alloc_buffer((1,), "float32")
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        m[0] = 0.0
        for d in range(192):
            m[0] = m[0] + X[n, d] / 192.0
        v[0] = 0.0
        for d in range(192):
            v[0] = v[0] + (X[n, d] - m[0]) * (X[n, d] - m[0]) / 192.0
        r = 1.0 / T.sqrt(v[0] + T.float32(0.00001))
        a[0] = 0.0
        b[0] = 0.0
        for d in range(192):
            a[0] = a[0] + dY[n, d] * g[d]
            b[0] = b[0] + dY[n, d] * g[d] * (X[n, d] - m[0]) * r
        for d in range(192):
            dX[n, d] = r * (dY[n, d] * g[d] - a[0] / 192.0 - (X[n, d] - m[0]) * r * b[0] / 192.0)


@T.prim_func
def conv_weight_gradient(
    X: T.Buffer((4, 8, 34, 34), "float32"),
    dY: T.Buffer((4, 16, 32, 32), "float32"),
    dW: T.Buffer((16, 8, 3, 3), "float32"),
):
    for o, c, a, b in T.grid(16, 8, 3, 3):
        dW[o, c, a, b] = 0.0
    for n, o, c, y, x, a, b in T.grid(4, 16, 8, 32, 32, 3, 3):
        dW[o, c, a, b] = dW[o, c, a, b] + X[n, c, y + a, x + b] * dY[n, o, y, x]


@T.prim_func
def max_pool_backward(
    X: T.Buffer((16, 64, 64), "float32"), dY: T.Buffer((16, 32, 32), "float32"), dX: T.Buffer((16, 64, 64), "float32")
):
    M = T.alloc_buffer((16, 32, 32), "float32")
    for c, y, x in T.grid(16, 32, 32):
        M[c, y, x] = X[c, 2 * y, 2 * x]
        for a, b in T.grid(2, 2):
            M[c, y, x] = T.max(M[c, y, x], X[c, 2 * y + a, 2 * x + b])
    for c, y, x in T.grid(16, 64, 64):
        if X[c, y, x] == M[c, y // 2, x // 2]:
            dX[c, y, x] = dY[c, y // 2, x // 2]
        else:
            dX[c, y, x] = 0.0


@T.prim_func
def hard_triplets(X: T.Buffer((200, 24), "float32"), L: T.Buffer((200,), "int32"), loss: T.Buffer((200,), "float32")):
    for i in range(200):
        p = T.alloc_buffer((1,), "float32")
        q = T.alloc_buffer((1,), "float32")
        p[0] = 0.0
        q[0] = 1000000.0
        for j in range(200):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for k in range(24):
                d[0] = d[0] + (X[i, k] - X[j, k]) * (X[i, k] - X[j, k])
            if L[i] == L[j]:
                p[0] = T.max(p[0], d[0])
            else:
                q[0] = T.min(q[0], d[0])
        loss[i] = T.max(p[0] - q[0] + T.float32(1.0), 0.0)


@T.prim_func
def batch_norm_backward(
    X: T.Buffer((8, 24, 20, 20), "float32"),
    dY: T.Buffer((8, 24, 20, 20), "float32"),
    dX: T.Buffer((8, 24, 20, 20), "float32"),
):
    for c in range(24):
        m = T.alloc_buffer((1,), "float32")
        v = T.alloc_buffer((1,), "float32")
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        m[0] = 0.0
        v[0] = 0.0
        for n, y, x in T.grid(8, 20, 20):
            m[0] = m[0] + X[n, c, y, x] / 3200.0
        for n, y, x in T.grid(8, 20, 20):
            v[0] = v[0] + (X[n, c, y, x] - m[0]) * (X[n, c, y, x] - m[0]) / 3200.0
        a[0] = 0.0
        b[0] = 0.0
        for n, y, x in T.grid(8, 20, 20):
            a[0] = a[0] + dY[n, c, y, x]
            b[0] = b[0] + dY[n, c, y, x] * (X[n, c, y, x] - m[0])
        for n, y, x in T.grid(8, 20, 20):
            dX[n, c, y, x] = (
                dY[n, c, y, x] - a[0] / 3200.0 - (X[n, c, y, x] - m[0]) * b[0] / (3200.0 * (v[0] + T.float32(0.00001)))
            ) / T.sqrt(v[0] + T.float32(0.00001))


@T.prim_func
def relative_bias_scores(
    Q: T.Buffer((4, 100, 16), "float32"),
    K: T.Buffer((4, 100, 16), "float32"),
    b: T.Buffer((4, 199), "float32"),
    S: T.Buffer((4, 100, 100), "float32"),
):
    for h, i, j in T.grid(4, 100, 100):
        S[h, i, j] = b[h, j - i + 99]
        for d in range(16):
            S[h, i, j] = S[h, i, j] + T.float32(0.25) * Q[h, i, d] * K[h, j, d]


@T.prim_func
def pixel_shuffle(
    X: T.Buffer((36, 60, 60), "float32"), b: T.Buffer((36,), "float32"), Y: T.Buffer((4, 180, 180), "float32")
):
    for c, y, x in T.grid(4, 180, 180):
        Y[c, y, x] = X[9 * c + 3 * (y % 3) + x % 3, y // 3, x // 3] + b[9 * c + 3 * (y % 3) + x % 3]


@T.prim_func
def fnv_rows(S: T.Buffer((500, 40), "uint8"), H: T.Buffer((500,), "uint32")):
    for r in range(500):
        H[r] = 2166136261
        for k in range(40):
            H[r] = (H[r] ^ T.cast(S[r, k], "uint32")) * T.cast(16777619, "uint32")


@T.prim_func
def xorshift_streams(S: T.Buffer((256,), "uint32"), R: T.Buffer((100, 256), "uint32")):
    for t in range(100):
        for l in range(256):
            S[l] = S[l] ^ S[l] << T.cast(13, "uint32")
            S[l] = S[l] ^ S[l] >> T.cast(17, "uint32")
            S[l] = S[l] ^ S[l] << T.cast(5, "uint32")
            R[t, l] = S[l]


@T.prim_func
def min_hashes(
    W: T.Buffer((100, 50), "uint32"),
    a: T.Buffer((32,), "uint32"),
    b: T.Buffer((32,), "uint32"),
    H: T.Buffer((100, 32), "uint32"),
):
    for d, h in T.grid(100, 32):
        H[d, h] = 4294967295
        for k in range(50):
            H[d, h] = T.min(H[d, h], a[h] * W[d, k] + b[h])


@T.prim_func
def count_sketch(W: T.Buffer((2000,), "uint32"), a: T.Buffer((4,), "uint32"), C: T.Buffer((4, 256), "int32")):
    for h, s in T.grid(4, 256):
        C[h, s] = 0
    for i, h in T.grid(2000, 4):
        C[h, (a[h] * W[i] >> T.cast(24, "uint32"))] = C[h, (a[h] * W[i] >> T.cast(24, "uint32"))] + 1


@T.prim_func
def table_with_lerp(X: T.Buffer((20000,), "float32"), t: T.Buffer((65,), "float32"), Y: T.Buffer((20000,), "float32")):
    for i in range(20000):
        u = T.min(T.max(X[i], T.float32(0.0)), T.float32(1.0)) * 64.0
        k = T.min(T.cast(u, "int32"), 63)
        T.assume(k >= 0)
        Y[i] = t[k] + (u - T.cast(k, "float32")) * (t[k + 1] - t[k])


@T.prim_func
def mirrored_taps(X: T.Buffer((100, 300), "float32"), w: T.Buffer((7,), "float32"), Y: T.Buffer((100, 300), "float32")):
    for i, j in T.grid(100, 300):
        Y[i, j] = 0.0
        for k in range(7):
            q = j + k - 3
            if q < 0:
                Y[i, j] = Y[i, j] + w[k] * X[i, -q]
            elif q > 299:
                Y[i, j] = Y[i, j] + w[k] * X[i, 598 - q]
            else:
                Y[i, j] = Y[i, j] + w[k] * X[i, q]


@T.prim_func
def cylinder_diffusion(X: T.Buffer((150, 200), "float32"), Y: T.Buffer((150, 200), "float32")):
    for i, j in T.grid(150, 200):
        Y[i, j] = X[i, j] + T.float32(0.2) * (
            X[T.max(i - 1, 0), j]
            + X[T.min(i + 1, 149), j]
            + X[i, (j + 199) % 200]
            + X[i, (j + 1) % 200]
            - T.float32(4.0) * X[i, j]
        )


@T.prim_func
def one_sided_gradient(X: T.Buffer((250, 250), "float32"), G: T.Buffer((250, 250, 2), "float32")):
    for i, j in T.grid(250, 250):
        if i == 0:
            G[i, j, 0] = X[1, j] - X[0, j]
        elif i == 249:
            G[i, j, 0] = X[249, j] - X[248, j]
        else:
            G[i, j, 0] = T.float32(0.5) * (X[i + 1, j] - X[i - 1, j])
        if j == 0:
            G[i, j, 1] = X[i, 1] - X[i, 0]
        elif j == 249:
            G[i, j, 1] = X[i, 249] - X[i, 248]
        else:
            G[i, j, 1] = T.float32(0.5) * (X[i, j + 1] - X[i, j - 1])


@T.prim_func
def blocked_channel_softmax(X: T.Buffer((7, 900, 8), "float32"), Y: T.Buffer((7, 900, 8), "float32")):
    for p in range(900):
        m = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        m[0] = -1000000.0
        for co, ci in T.grid(7, 8):
            if 8 * co + ci < 53:
                m[0] = T.max(m[0], X[co, p, ci])
        s[0] = 0.0
        for co, ci in T.grid(7, 8):
            if 8 * co + ci < 53:
                s[0] = s[0] + T.exp(X[co, p, ci] - m[0])
        for co, ci in T.grid(7, 8):
            if 8 * co + ci < 53:
                Y[co, p, ci] = T.exp(X[co, p, ci] - m[0]) / s[0]
            else:
                Y[co, p, ci] = 0.0


@T.prim_func
def row_scan_in_blocks(X: T.Buffer((64, 8, 32), "float32"), Y: T.Buffer((64, 8, 32), "float32")):
    for r in range(64):
        c = T.alloc_buffer((1,), "float32")
        c[0] = 0.0
        for o, i in T.grid(8, 32):
            if 32 * o + i < 250:
                c[0] = T.float32(0.9) * c[0] + X[r, o, i]
            Y[r, o, i] = c[0]


@T.prim_func
def requantized(
    X: T.Buffer((400, 32), "int8"),
    W: T.Buffer((32, 48), "int8"),
    s: T.Buffer((48,), "float32"),
    Y: T.Buffer((400, 48), "int8"),
):
    for n, o in T.grid(400, 48):
        a = T.alloc_buffer((1,), "int32")
        a[0] = 0
        for c in range(32):
            a[0] = a[0] + T.cast(X[n, c], "int32") * T.cast(W[c, o], "int32")
        q = T.floor(T.cast(a[0], "float32") * s[o] + T.float32(0.5))
        Y[n, o] = T.cast(T.min(T.max(q, T.float32(-128.0)), T.float32(127.0)), "int8")


@T.prim_func
def row_products(X: T.Buffer((200, 300), "float32"), Y: T.Buffer((200, 300), "float32")):
    for i in range(200):
        p = T.alloc_buffer((1,), "float32")
        p[0] = 1.0
        for j in range(300):
            p[0] = p[0] * X[i, j]
            Y[i, j] = p[0]


@T.prim_func
def savitzky_golay(X: T.Buffer((100000,), "float32"), c: T.Buffer((7,), "float32"), Y: T.Buffer((100000,), "float32")):
    for i in range(100000):
        Y[i] = 0.0
        for t in range(7):
            Y[i] = Y[i] + c[t] * X[T.min(T.max(i + t - 3, 0), 99999)]


@T.prim_func
def polyphase_up(X: T.Buffer((8192,), "float32"), h: T.Buffer((24,), "float32"), Y: T.Buffer((24576,), "float32")):
    for n in range(24576):
        Y[n] = 0.0
        for k in range(8):
            if n // 3 - k >= 0:
                Y[n] = Y[n] + h[n % 3 + 3 * k] * X[n // 3 - k]


@T.prim_func
def circular_convolution(
    X: T.Buffer((64, 256), "float32"), h: T.Buffer((16,), "float32"), Y: T.Buffer((64, 256), "float32")
):
    for r, i in T.grid(64, 256):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for k in range(16):
            s[0] = s[0] + h[k] * X[r, (i - k) % 256]
        Y[r, i] = s[0]


@T.prim_func
def pairwise_l1(
    A: T.Buffer((200, 32), "float32"), B: T.Buffer((300, 32), "float32"), D: T.Buffer((200, 300), "float32")
):
    for i, j in T.grid(200, 300):
        D[i, j] = 0.0
        for k in range(32):
            D[i, j] += T.abs(A[i, k] - B[j, k])


@T.prim_func
def ema_crossings(X: T.Buffer((64, 1000), "float32"), N: T.Buffer((64,), "int32")):
    for s in range(64):
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        above = T.alloc_buffer((1,), "int32")
        a[0] = X[s, 0]
        b[0] = X[s, 0]
        above[0] = 0
        N[s] = 0
        for t in range(1, 1000):
            a[0] = 0.8 * a[0] + 0.2 * X[s, t]
            b[0] = 0.95 * b[0] + 0.05 * X[s, t]
            now = T.if_then_else(a[0] > b[0], 1, 0)
            if now != above[0]:
                N[s] += 1
            above[0] = now


@T.prim_func
def nbody_leapfrog(P: T.Buffer((64, 3), "float32"), V: T.Buffer((64, 3), "float32")):
    for t in range(10):
        F = T.alloc_buffer((64, 3), "float32")
        for i in range(64):
            for d in range(3):
                F[i, d] = 0.0
            for j in range(64):
                r2 = T.alloc_buffer((1,), "float32")
                r2[0] = 0.05
                for d in range(3):
                    r2[0] = r2[0] + (P[j, d] - P[i, d]) * (P[j, d] - P[i, d])
                w = 1.0 / (r2[0] * T.sqrt(r2[0]))
                for d in range(3):
                    F[i, d] += (P[j, d] - P[i, d]) * w
        for i, d in T.grid(64, 3):
            V[i, d] += 0.01 * F[i, d]
            P[i, d] += 0.01 * V[i, d]


@T.prim_func
def sph_density(P: T.Buffer((500, 2), "float32"), m: T.Buffer((500,), "float32"), R: T.Buffer((500,), "float32")):
    for i in range(500):
        R[i] = 0.0
        for j in range(500):
            dx = P[i, 0] - P[j, 0]
            dy = P[i, 1] - P[j, 1]
            r2 = dx * dx + dy * dy
            if r2 < 0.04:
                R[i] = R[i] + m[j] * (0.04 - r2) * (0.04 - r2) * (0.04 - r2)


@T.prim_func
def ising_checkerboard(
    S: T.Buffer((128, 128), "int32"), U: T.Buffer((4, 2, 128, 128), "float32"), p: T.Buffer((9,), "float32")
):
    for t in range(4):
        for c in range(2):
            for i, j in T.grid(128, 128):
                if (i + j) % 2 == c:
                    n = S[(i + 1) % 128, j] + S[(i - 1) % 128, j] + S[i, (j + 1) % 128] + S[i, (j - 1) % 128]
                    if U[t, c, i, j] < p[S[i, j] * n + 4]:
                        S[i, j] = -S[i, j]


@T.prim_func
def forest_fire(G: T.Buffer((200, 200), "int32"), U: T.Buffer((8, 200, 200), "float32")):
    for t in range(8):
        H = T.alloc_buffer((200, 200), "int32")
        for i, j in T.grid(200, 200):
            burning = T.alloc_buffer((1,), "int32")
            burning[0] = 0
            if i > 0:
                if G[i - 1, j] == 2:
                    burning[0] = 1
            if i < 199:
                if G[i + 1, j] == 2:
                    burning[0] = 1
            if j > 0:
                if G[i, j - 1] == 2:
                    burning[0] = 1
            if j < 199:
                if G[i, j + 1] == 2:
                    burning[0] = 1
            if G[i, j] == 2:
                H[i, j] = 0
            elif G[i, j] == 1 and (burning[0] == 1 or U[t, i, j] < 0.001):
                H[i, j] = 2
            elif G[i, j] == 0 and U[t, i, j] < 0.05:
                H[i, j] = 1
            else:
                H[i, j] = G[i, j]
        for i, j in T.grid(200, 200):
            G[i, j] = H[i, j]


@T.prim_func
def polygon_areas(P: T.Buffer((400, 32, 2), "float32"), A: T.Buffer((400,), "float32")):
    for q in range(400):
        A[q] = 0.0
        for i in range(32):
            j = (i + 1) % 32
            A[q] += P[q, i, 0] * P[q, j, 1] - P[q, j, 0] * P[q, i, 1]
        A[q] = 0.5 * T.abs(A[q])


@T.prim_func
def point_in_polygon(
    Q: T.Buffer((2000, 2), "float32"), P: T.Buffer((40, 2), "float32"), inside: T.Buffer((2000,), "int32")
):
    for q in range(2000):
        inside[q] = 0
        for i in range(40):
            j = (i + 39) % 40
            if (P[i, 1] > Q[q, 1]) != (P[j, 1] > Q[q, 1]):
                if Q[q, 0] < (P[j, 0] - P[i, 0]) * (Q[q, 1] - P[i, 1]) / (P[j, 1] - P[i, 1]) + P[i, 0]:
                    inside[q] = 1 - inside[q]


@T.prim_func
def z_buffer(P: T.Buffer((32, 4), "float32"), Z: T.Buffer((96, 96), "float32"), I: T.Buffer((96, 96), "int32")):
    for y, x in T.grid(96, 96):
        Z[y, x] = 1000000000.0
        I[y, x] = -1
        for k in range(32):
            z = P[k, 0] * T.cast(x, "float32") + P[k, 1] * T.cast(y, "float32") + P[k, 2]
            if z > 0.0 and z < Z[y, x]:
                Z[y, x] = z
                I[y, x] = k


@T.prim_func
def ray_spheres(
    D: T.Buffer((3000, 3), "float32"),
    C: T.Buffer((20, 4), "float32"),
    hit: T.Buffer((3000,), "int32"),
    dist: T.Buffer((3000,), "float32"),
):
    for r in range(3000):
        dist[r] = 1e30
        hit[r] = -1
        for s in range(20):
            b = D[r, 0] * C[s, 0] + D[r, 1] * C[s, 1] + D[r, 2] * C[s, 2]
            c = C[s, 0] * C[s, 0] + C[s, 1] * C[s, 1] + C[s, 2] * C[s, 2] - C[s, 3] * C[s, 3]
            disc = b * b - c
            if disc > 0.0:
                t = b - T.sqrt(disc)
                if t > 0.0 and t < dist[r]:
                    dist[r] = t
                    hit[r] = s


@T.prim_func
def weighted_histogram(
    X: T.Buffer((20000,), "float32"), W: T.Buffer((20000,), "float32"), H: T.Buffer((50,), "float32")
):
    for b in range(50):
        H[b] = 0.0
    for i in range(20000):
        b = T.min(T.max(T.cast(T.floor(X[i] * 50.0), "int32"), 0), 49)
        H[b] += W[i]


@T.prim_func
def warp_affine(A: T.Buffer((200, 200), "float32"), M: T.Buffer((6,), "float32"), B: T.Buffer((200, 200), "float32")):
    for i, j in T.grid(200, 200):
        u = M[0] * T.cast(i, "float32") + M[1] * T.cast(j, "float32") + M[2]
        v = M[3] * T.cast(i, "float32") + M[4] * T.cast(j, "float32") + M[5]
        y = T.cast(T.floor(u), "int32")
        x = T.cast(T.floor(v), "int32")
        if y >= 0 and y < 199 and (x >= 0) and (x < 199):
            a = u - T.floor(u)
            b = v - T.floor(v)
            B[i, j] = (1.0 - a) * ((1.0 - b) * A[y, x] + b * A[y, x + 1]) + a * (
                (1.0 - b) * A[y + 1, x] + b * A[y + 1, x + 1]
            )
        else:
            B[i, j] = 0.0


@T.prim_func
def smith_waterman(
    a: T.Buffer((128,), "int32"),
    b: T.Buffer((128,), "int32"),
    H: T.Buffer((129, 129), "int32"),
    best: T.Buffer((1,), "int32"),
):
    for i in range(129):
        H[i, 0] = 0
        H[0, i] = 0
    best[0] = 0
    for i, j in T.grid(128, 128):
        s = T.if_then_else(a[i] == b[j], 3, -3)
        H[i + 1, j + 1] = T.max(T.max(H[i, j] + s, 0), T.max(H[i, j + 1] - 2, H[i + 1, j] - 2))
        best[0] = T.max(best[0], H[i + 1, j + 1])


@T.prim_func
def best_subarrays(X: T.Buffer((100, 500), "float32"), B: T.Buffer((100,), "float32")):
    for r in range(100):
        here = T.alloc_buffer((1,), "float32")
        here[0] = X[r, 0]
        B[r] = X[r, 0]
        for t in range(1, 500):
            here[0] = T.max(here[0] + X[r, t], X[r, t])
            B[r] = T.max(B[r], here[0])


@T.prim_func
def two_trades(P: T.Buffer((50, 365), "float32"), G: T.Buffer((50,), "float32")):
    for s in range(50):
        b1 = T.alloc_buffer((1,), "float32")
        s1 = T.alloc_buffer((1,), "float32")
        b2 = T.alloc_buffer((1,), "float32")
        s2 = T.alloc_buffer((1,), "float32")
        b1[0] = -1000000000.0
        s1[0] = 0.0
        b2[0] = -1000000000.0
        s2[0] = 0.0
        for t in range(365):
            s2[0] = T.max(s2[0], b2[0] + P[s, t])
            b2[0] = T.max(b2[0], s1[0] - P[s, t])
            s1[0] = T.max(s1[0], b1[0] + P[s, t])
            b1[0] = T.max(b1[0], -P[s, t])
        G[s] = s2[0]


@T.prim_func
def burgers_minmod(U: T.Buffer((2048,), "float32")):
    for t in range(40):
        F = T.alloc_buffer((2048,), "float32")
        for i in range(1, 2046):
            a = U[i] - U[i - 1]
            b = U[i + 1] - U[i]
            slope = T.alloc_buffer((1,), "float32")
            slope[0] = 0.0
            if a * b > 0.0:
                slope[0] = T.if_then_else(T.abs(a) < T.abs(b), a, b)
            left = U[i] + 0.5 * slope[0]
            F[i] = 0.5 * left * left
        for i in range(2, 2046):
            U[i] = U[i] - 0.2 * (F[i] - F[i - 1])


@T.prim_func
def conjugate_gradient(
    A: T.Buffer((128, 128), "float32"), b: T.Buffer((128,), "float32"), x: T.Buffer((128,), "float32")
):
    r = T.alloc_buffer((128,), "float32")
    p = T.alloc_buffer((128,), "float32")
    q = T.alloc_buffer((128,), "float32")
    rr = T.alloc_buffer((1,), "float32")
    pq = T.alloc_buffer((1,), "float32")
    new = T.alloc_buffer((1,), "float32")
    rr[0] = 0.0
    for i in range(128):
        x[i] = 0.0
        r[i] = b[i]
        p[i] = b[i]
        rr[0] += b[i] * b[i]
    for k in range(10):
        pq[0] = 0.0
        for i in range(128):
            q[i] = 0.0
            for j in range(128):
                q[i] += A[i, j] * p[j]
            pq[0] += p[i] * q[i]
        new[0] = 0.0
        for i in range(128):
            x[i] += rr[0] / pq[0] * p[i]
            r[i] -= rr[0] / pq[0] * q[i]
            new[0] += r[i] * r[i]
        for i in range(128):
            p[i] = r[i] + new[0] / rr[0] * p[i]
        rr[0] = new[0]


@T.prim_func
def power_iteration(A: T.Buffer((256, 256), "float32"), v: T.Buffer((256,), "float32")):
    for k in range(20):
        w = T.alloc_buffer((256,), "float32")
        n = T.alloc_buffer((1,), "float32")
        n[0] = 0.0
        for i in range(256):
            w[i] = 0.0
            for j in range(256):
                w[i] += A[i, j] * v[j]
        for i in range(256):
            n[0] = n[0] + w[i] * w[i]
        for i in range(256):
            v[i] = w[i] / T.sqrt(n[0])


@T.prim_func
def matrix_exponential(A: T.Buffer((64, 64), "float32"), S: T.Buffer((64, 64), "float32")):
    t = T.alloc_buffer((64, 64), "float32")
    u = T.alloc_buffer((64, 64), "float32")
    for i, j in T.grid(64, 64):
        t[i, j] = T.if_then_else(i == j, T.float32(1.0), T.float32(0.0))
        S[i, j] = t[i, j]
    for k in range(1, 9):
        for i, j in T.grid(64, 64):
            u[i, j] = 0.0
            for l in range(64):
                u[i, j] += t[i, l] * A[l, j]
        for i, j in T.grid(64, 64):
            t[i, j] = u[i, j] / T.cast(k, "float32")
            S[i, j] += t[i, j]


@T.prim_func
def kronecker(A: T.Buffer((20, 30), "float32"), B: T.Buffer((15, 10), "float32"), C: T.Buffer((300, 300), "float32")):
    for i, j, k, l in T.grid(20, 30, 15, 10):
        C[i * 15 + k, j * 10 + l] = A[i, j] * B[k, l]


@T.prim_func
def tensor_pair(
    A: T.Buffer((12, 14, 16, 18), "float32"),
    B: T.Buffer((14, 10, 18, 20), "float32"),
    C: T.Buffer((12, 10, 16, 20), "float32"),
):
    for a, b, i, j in T.grid(12, 10, 16, 20):
        C[a, b, i, j] = 0.0
        for k, l in T.grid(14, 18):
            C[a, b, i, j] += A[a, k, i, l] * B[k, b, l, j]


@T.prim_func
def swiglu(
    X: T.Buffer((128, 96), "float32"),
    G: T.Buffer((96, 160), "float32"),
    U: T.Buffer((96, 160), "float32"),
    D: T.Buffer((160, 96), "float32"),
    Y: T.Buffer((128, 96), "float32"),
):
    for n in range(128):
        h = T.alloc_buffer((160,), "float32")
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for c in range(96):
            s[0] = s[0] + X[n, c] * X[n, c]
        inv = 1.0 / T.sqrt(s[0] / 96.0 + 1e-05)
        for o in range(160):
            g = T.alloc_buffer((1,), "float32")
            g[0] = 0.0
            u = T.alloc_buffer((1,), "float32")
            u[0] = 0.0
            for c in range(96):
                g[0] = g[0] + X[n, c] * inv * G[c, o]
                u[0] = u[0] + X[n, c] * inv * U[c, o]
            h[o] = g[0] / (1.0 + T.exp(-g[0])) * u[0]
        for c in range(96):
            y = T.alloc_buffer((1,), "float32")
            y[0] = 0.0
            for o in range(160):
                y[0] = y[0] + h[o] * D[o, c]
            Y[n, c] = X[n, c] + y[0]


@T.prim_func
def conv3d(
    X: T.Buffer((4, 20, 20, 20), "float32"),
    W: T.Buffer((8, 4, 3, 3, 3), "float32"),
    Y: T.Buffer((8, 18, 18, 18), "float32"),
):
    for o, z, y, x in T.grid(8, 18, 18, 18):
        Y[o, z, y, x] = 0.0
        for c, a, b, d in T.grid(4, 3, 3, 3):
            Y[o, z, y, x] += X[c, z + a, y + b, x + d] * W[o, c, a, b, d]


@T.prim_func
def local_response_norm(X: T.Buffer((32, 40, 40), "float32"), Y: T.Buffer((32, 40, 40), "float32")):
    for c, y, x in T.grid(32, 40, 40):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for d in range(-2, 3):
            if c + d >= 0 and c + d < 32:
                s[0] = s[0] + X[c + d, y, x] * X[c + d, y, x]
        Y[c, y, x] = X[c, y, x] / T.sqrt(2.0 + 0.0001 * s[0])


@T.prim_func
def max_unpool(
    V: T.Buffer((16, 20, 20), "float32"), I: T.Buffer((16, 20, 20), "int32"), Y: T.Buffer((16, 1600), "float32")
):
    for c, p in T.grid(16, 1600):
        Y[c, p] = 0.0
    for c, i, j in T.grid(16, 20, 20):
        Y[c, I[c, i, j]] = V[c, i, j]


@T.prim_func
def adam_step(
    w: T.Buffer((50000,), "float32"),
    g: T.Buffer((50000,), "float32"),
    m: T.Buffer((50000,), "float32"),
    v: T.Buffer((50000,), "float32"),
):
    for i in range(50000):
        m[i] = 0.9 * m[i] + 0.1 * g[i]
        v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i]
        w[i] = w[i] - 0.001 * (m[i] / 0.1) / (T.sqrt(v[i] / 0.001) + 1e-08)


@T.prim_func
def collapse_repeats(X: T.Buffer((4000,), "int32"), Y: T.Buffer((4000,), "int32"), n: T.Buffer((1,), "int32")):
    n[0] = 0
    for i in range(4000):
        Y[i] = -1
    for t in range(4000):
        if X[t] != 0 and (t == 0 or X[t] != X[T.max(t - 1, 0)]):
            Y[n[0]] = X[t]
            n[0] += 1


@T.prim_func
def symmetric_lower_product(
    L: T.Buffer((200, 200), "float32"), x: T.Buffer((200,), "float32"), y: T.Buffer((200,), "float32")
):
    for i in range(200):
        y[i] = L[i, i] * x[i]
    for i in range(200):
        for j in range(i):
            y[i] += L[i, j] * x[j]
            y[j] += L[i, j] * x[i]


@T.prim_func
def triangular_inverse(L: T.Buffer((48, 48), "float32"), X: T.Buffer((48, 48), "float32")):
    for i, j in T.grid(48, 48):
        X[i, j] = 0.0
    for j in range(48):
        X[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, 48):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for k in range(j, i):
                s[0] = s[0] + L[i, k] * X[k, j]
            X[i, j] = -s[0] / L[i, i]


@T.prim_func
def fletcher16(X: T.Buffer((64, 1000), "uint8"), C: T.Buffer((64,), "int32")):
    for r in range(64):
        a = T.alloc_buffer((1,), "int32")
        b = T.alloc_buffer((1,), "int32")
        a[0] = 0
        b[0] = 0
        for i in range(1000):
            a[0] = (a[0] + T.cast(X[r, i], "int32")) % 255
            b[0] = (b[0] + a[0]) % 255
        C[r] = b[0] * 256 + a[0]


@T.prim_func
def lfsr_streams(S: T.Buffer((256,), "uint32"), B: T.Buffer((256, 200), "uint32")):
    for r in range(256):
        s = T.alloc_buffer((1,), "uint32")
        s[0] = S[r]
        for t in range(200):
            bit = (s[0] ^ s[0] >> T.uint32(2) ^ s[0] >> T.uint32(3) ^ s[0] >> T.uint32(5)) & T.uint32(1)
            s[0] = s[0] >> T.uint32(1) | bit << T.uint32(31)
            B[r, t] = bit


@T.prim_func
def base64(X: T.Buffer((3000,), "uint8"), table: T.Buffer((64,), "uint8"), Y: T.Buffer((4000,), "uint8")):
    for g in range(1000):
        a = T.cast(X[3 * g], "int32")
        b = T.cast(X[3 * g + 1], "int32")
        c = T.cast(X[3 * g + 2], "int32")
        Y[4 * g] = table[a // 4]
        Y[4 * g + 1] = table[a % 4 * 16 + b // 16]
        Y[4 * g + 2] = table[b % 16 * 4 + c // 64]
        Y[4 * g + 3] = table[c % 64]


@T.prim_func
def zigzag_delta(X: T.Buffer((128, 512), "uint32"), Y: T.Buffer((128, 512), "int32")):
    for r in range(128):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for i in range(512):
            d = T.cast(X[r, i] >> T.uint32(1), "int32")
            s[0] = s[0] + T.if_then_else(X[r, i] & T.uint32(1) == T.uint32(1), -d - 1, d)
            Y[r, i] = s[0]


@T.prim_func
def kmeans_step(X: T.Buffer((2000, 4), "float32"), C: T.Buffer((12, 4), "float32"), N: T.Buffer((12, 4), "float32")):
    count = T.alloc_buffer((12,), "float32")
    for k in range(12):
        count[k] = 0.0
        for d in range(4):
            N[k, d] = 0.0
    for i in range(2000):
        best = T.alloc_buffer((1,), "float32")
        best[0] = 1e30
        at = T.alloc_buffer((1,), "int32")
        at[0] = 0
        for k in range(12):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for d in range(4):
                s[0] = s[0] + (X[i, d] - C[k, d]) * (X[i, d] - C[k, d])
            if s[0] < best[0]:
                best[0] = s[0]
                at[0] = k
        count[at[0]] += 1.0
        for d in range(4):
            N[at[0], d] += X[i, d]
    for k, d in T.grid(12, 4):
        N[k, d] = N[k, d] / T.max(count[k], 1.0)


@T.prim_func
def logistic_descent(X: T.Buffer((500, 16), "float32"), y: T.Buffer((500,), "float32"), w: T.Buffer((16,), "float32")):
    for j in range(16):
        w[j] = 0.0
    for it in range(20):
        g = T.alloc_buffer((16,), "float32")
        for j in range(16):
            g[j] = 0.0
        for i in range(500):
            z = T.alloc_buffer((1,), "float32")
            z[0] = 0.0
            for j in range(16):
                z[0] = z[0] + X[i, j] * w[j]
            e = 1.0 / (1.0 + T.exp(-z[0])) - y[i]
            for j in range(16):
                g[j] += e * X[i, j]
        for j in range(16):
            w[j] -= 0.1 * g[j] / 500.0


@T.prim_func
def tree_predict(
    X: T.Buffer((3000, 10), "float32"),
    feature: T.Buffer((127,), "int32"),
    cut: T.Buffer((127,), "float32"),
    leaf: T.Buffer((128,), "float32"),
    Y: T.Buffer((3000,), "float32"),
):
    for i in range(3000):
        node = T.alloc_buffer((1,), "int32")
        node[0] = 0
        for d in range(7):
            if X[i, feature[node[0]]] <= cut[node[0]]:
                node[0] = 2 * node[0] + 1
            else:
                node[0] = 2 * node[0] + 2
        Y[i] = leaf[node[0] - 127]


@T.prim_func
def lagrange(
    x: T.Buffer((10,), "float32"),
    y: T.Buffer((10,), "float32"),
    q: T.Buffer((5000,), "float32"),
    r: T.Buffer((5000,), "float32"),
):
    for i in range(5000):
        r[i] = 0.0
        for k in range(10):
            p = T.alloc_buffer((1,), "float32")
            p[0] = 1.0
            for j in range(10):
                if j != k:
                    p[0] = p[0] * (q[i] - x[j]) / (x[k] - x[j])
            r[i] += y[k] * p[0]


@T.prim_func
def resample(X: T.Buffer((16, 7000), "float32"), Y: T.Buffer((16, 2998), "float32")):
    for c, i in T.grid(16, 2998):
        n = i * 7 // 3
        f = T.cast(i * 7 % 3, "float32") / 3.0
        Y[c, i] = X[c, n] * (1.0 - f) + X[c, n + 1] * f


@T.prim_func
def dct_blocks(A: T.Buffer((256, 256), "float32"), K: T.Buffer((8, 8), "float32"), B: T.Buffer((256, 256), "float32")):
    for bi, bj, u, v in T.grid(32, 32, 8, 8):
        B[bi * 8 + u, bj * 8 + v] = 0.0
        for x, y in T.grid(8, 8):
            B[bi * 8 + u, bj * 8 + v] += K[u, x] * A[bi * 8 + x, bj * 8 + y] * K[v, y]


@T.prim_func
def census(A: T.Buffer((200, 200), "uint8"), C: T.Buffer((200, 200), "int32")):
    for i, j in T.grid(200, 200):
        C[i, j] = 0
        if i >= 1 and i < 199 and (j >= 1) and (j < 199):
            for a, b in T.grid(3, 3):
                if a != 1 or b != 1:
                    C[i, j] = C[i, j] * 2 + T.if_then_else(A[i + a - 1, j + b - 1] < A[i, j], 1, 0)


@T.prim_func
def stereo(L: T.Buffer((100, 120), "float32"), R: T.Buffer((100, 120), "float32"), D: T.Buffer((96, 100), "int32")):
    for y, x in T.grid(96, 100):
        best = T.alloc_buffer((1,), "float32")
        best[0] = 1e30
        D[y, x] = 0
        for d in range(16):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for a, b in T.grid(5, 5):
                s[0] = s[0] + T.abs(L[y + a, x + b + 16] - R[y + a, x + b + 16 - d])
            if s[0] < best[0]:
                best[0] = s[0]
                D[y, x] = d


@T.prim_func
def error_diffusion(A: T.Buffer((48, 64), "float32"), B: T.Buffer((48, 64), "float32")):
    E = T.alloc_buffer((49, 66), "float32")
    for i, j in T.grid(49, 66):
        E[i, j] = 0.0
    for i, j in T.grid(48, 64):
        v = A[i, j] + E[i, j + 1]
        B[i, j] = T.if_then_else(v > 0.5, T.float32(1.0), T.float32(0.0))
        e = v - B[i, j]
        E[i, j + 2] += e * 7.0 / 16.0
        E[i + 1, j] += e * 3.0 / 16.0
        E[i + 1, j + 1] += e * 5.0 / 16.0
        E[i + 1, j + 2] += e * 1.0 / 16.0


@T.prim_func
def gauss_seidel_line(U: T.Buffer((300,), "float32"), F: T.Buffer((300,), "float32")):
    for s in range(10):
        for i in range(1, 299):
            U[i] = 0.5 * (U[i - 1] + U[i + 1] - F[i])


@T.prim_func
def crank_nicolson(U: T.Buffer((256,), "float32")):
    c = T.alloc_buffer((256,), "float32")
    d = T.alloc_buffer((256,), "float32")
    for t in range(20):
        c[0] = 0.0
        d[0] = 0.0
        for i in range(1, 255):
            w = 2.0 + c[i - 1] * 0.5 * -1.0
            c[i] = 0.5 / w
            d[i] = (U[i] + 0.25 * (U[i - 1] - 2.0 * U[i] + U[i + 1]) + 0.5 * d[i - 1]) / w
        for k in range(1, 255):
            U[255 - k] = d[255 - k] + c[255 - k] * U[256 - k]


@T.prim_func
def spline_eval(
    knots: T.Buffer((64, 4), "float32"), q: T.Buffer((20000,), "float32"), r: T.Buffer((20000,), "float32")
):
    for i in range(20000):
        k = T.min(T.max(T.cast(q[i] * 64.0, "int32"), 0), 63)
        u = q[i] * 64.0 - T.cast(k, "float32")
        r[i] = ((knots[k, 3] * u + knots[k, 2]) * u + knots[k, 1]) * u + knots[k, 0]


@T.prim_func
def wavelet_level(
    X: T.Buffer((64, 1024), "float32"),
    h: T.Buffer((4,), "float32"),
    g: T.Buffer((4,), "float32"),
    L: T.Buffer((64, 512), "float32"),
    H: T.Buffer((64, 512), "float32"),
):
    for r, i in T.grid(64, 512):
        L[r, i] = 0.0
        H[r, i] = 0.0
        for k in range(4):
            L[r, i] += h[k] * X[r, (2 * i + k) % 1024]
            H[r, i] += g[k] * X[r, (2 * i + k) % 1024]


@T.prim_func
def run_decode(starts: T.Buffer((101,), "int32"), values: T.Buffer((100,), "float32"), Y: T.Buffer((5000,), "float32")):
    for r in range(100):
        for i in range(starts[r], starts[r + 1]):
            Y[i] = values[r]


@T.prim_func
def csr_row_best(
    ptr: T.Buffer((501,), "int32"),
    val: T.Buffer((8000,), "float32"),
    col: T.Buffer((8000,), "int32"),
    at: T.Buffer((500,), "int32"),
):
    for i in range(500):
        best = T.alloc_buffer((1,), "float32")
        best[0] = -1e30
        at[i] = -1
        for e in range(ptr[i], ptr[i + 1]):
            if val[e] > best[0]:
                best[0] = val[e]
                at[i] = col[e]


@T.prim_func
def rank_of_merge(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32"), C: T.Buffer((2000,), "float32")):
    for i in range(1000):
        r = T.alloc_buffer((1,), "int32")
        r[0] = 0
        for j in range(1000):
            if B[j] < A[i]:
                r[0] = r[0] + 1
        C[i + r[0]] = A[i]
    for j in range(1000):
        r = T.alloc_buffer((1,), "int32")
        r[0] = 0
        for i in range(1000):
            if A[i] <= B[j]:
                r[0] = r[0] + 1
        C[j + r[0]] = B[j]


@T.prim_func
def gelu_dropout(
    X: T.Buffer((256, 512), "float32"),
    b: T.Buffer((512,), "float32"),
    keep: T.Buffer((256, 512), "uint8"),
    Y: T.Buffer((256, 512), "float32"),
):
    for i, j in T.grid(256, 512):
        v = X[i, j] + b[j]
        if keep[i, j] != T.uint8(0):
            Y[i, j] = 0.5 * v * (1.0 + T.tanh(0.7978846 * (v + 0.044715 * v * v * v))) * 1.25
        else:
            Y[i, j] = 0.0


@T.prim_func
def count_in_boxes(P: T.Buffer((1000, 2), "float32"), B: T.Buffer((100, 4), "float32"), N: T.Buffer((100,), "int32")):
    for b in range(100):
        N[b] = 0
        for p in range(1000):
            if P[p, 0] >= B[b, 0] and P[p, 0] < B[b, 1] and (P[p, 1] >= B[b, 2]) and (P[p, 1] < B[b, 3]):
                N[b] = N[b] + 1


@T.prim_func
def trapezoid_integral(
    X: T.Buffer((100, 1000), "float32"), t: T.Buffer((1000,), "float32"), Y: T.Buffer((100, 1000), "float32")
):
    for r in range(100):
        Y[r, 0] = 0.0
        for i in range(1, 1000):
            Y[r, i] = Y[r, i - 1] + 0.5 * (t[i] - t[i - 1]) * (X[r, i] + X[r, i - 1])


@T.prim_func
def longest_run(X: T.Buffer((200, 400), "int32"), L: T.Buffer((200,), "int32")):
    for r in range(200):
        run = T.alloc_buffer((1,), "int32")
        run[0] = 0
        L[r] = 0
        for i in range(400):
            if X[r, i] == 1:
                run[0] = run[0] + 1
                L[r] = T.max(L[r], run[0])
            else:
                run[0] = 0


@T.prim_func
def hash_joins(
    K: T.Buffer((2000,), "int32"),
    V: T.Buffer((2000,), "float32"),
    Q: T.Buffer((3000,), "int32"),
    R: T.Buffer((3000,), "float32"),
):
    tab = T.alloc_buffer((1024,), "float32")
    for k in range(1024):
        tab[k] = -1.0
    for i in range(2000):
        tab[K[i]] = T.max(tab[K[i]], V[i])
    for q in range(3000):
        R[q] = tab[Q[q]]


@T.prim_func
def grid_paths(W: T.Buffer((100, 100), "int32"), N: T.Buffer((100, 100), "int32")):
    for i, j in T.grid(100, 100):
        if W[i, j] == 1:
            N[i, j] = 0
        elif i == 0 and j == 0:
            N[i, j] = 1
        else:
            N[i, j] = 0
            if i > 0:
                N[i, j] = (N[i, j] + N[i - 1, j]) % 1000007
            if j > 0:
                N[i, j] = (N[i, j] + N[i, j - 1]) % 1000007


@T.prim_func
def egg_beater(X: T.Buffer((40, 500), "float32"), Y: T.Buffer((40, 500), "float32")):
    for r in range(40):
        x1 = T.alloc_buffer((1,), "float32")
        y1 = T.alloc_buffer((1,), "float32")
        x1[0] = 0.0
        y1[0] = 0.0
        for t in range(500):
            Y[r, t] = X[r, t] - x1[0] + 0.995 * y1[0]
            x1[0] = X[r, t]
            y1[0] = Y[r, t]


@T.prim_func
def envelope_follower(X: T.Buffer((32, 2000), "float32"), Y: T.Buffer((32, 2000), "float32")):
    for r in range(32):
        e = T.alloc_buffer((1,), "float32")
        e[0] = 0.0
        for t in range(2000):
            v = T.abs(X[r, t])
            if v > e[0]:
                e[0] = 0.1 * e[0] + 0.9 * v
            else:
                e[0] = 0.99 * e[0] + 0.01 * v
            Y[r, t] = e[0]


@T.prim_func
def hysteresis(X: T.Buffer((64, 2000), "float32"), Y: T.Buffer((64, 2000), "int32")):
    for r in range(64):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for t in range(2000):
            if X[r, t] > 0.7:
                s[0] = 1
            if X[r, t] < 0.3:
                s[0] = 0
            Y[r, t] = s[0]


@T.prim_func
def inverse_permutation(
    p: T.Buffer((20000,), "int32"), X: T.Buffer((20000, 4), "float32"), Y: T.Buffer((20000, 4), "float32")
):
    q = T.alloc_buffer((20000,), "int32")
    for i in range(20000):
        q[p[i]] = i
    for i, c in T.grid(20000, 4):
        Y[i, c] = X[q[i], c]


@T.prim_func
def upper_triangle_to_vector(A: T.Buffer((150, 150), "float32"), V: T.Buffer((11325,), "float32")):
    for i in range(150):
        for j in range(i, 150):
            V[i * 150 - i * (i - 1) // 2 + j - i] = A[i, j]


@T.prim_func
def block_transposes(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32")):
    for bi, bj, i, j in T.grid(16, 16, 16, 16):
        B[bj * 16 + i, bi * 16 + j] = A[bi * 16 + i, bj * 16 + j] * 2.0


@T.prim_func
def mse_and_r2(y: T.Buffer((30000,), "float32"), p: T.Buffer((30000,), "float32"), out: T.Buffer((2,), "float32")):
    mean = T.alloc_buffer((1,), "float32")
    mean[0] = 0.0
    for i in range(30000):
        mean[0] = mean[0] + y[i]
    mean[0] = mean[0] / 30000.0
    res = T.alloc_buffer((1,), "float32")
    res[0] = 0.0
    tot = T.alloc_buffer((1,), "float32")
    tot[0] = 0.0
    for i in range(30000):
        res[0] = res[0] + (y[i] - p[i]) * (y[i] - p[i])
        tot[0] = tot[0] + (y[i] - mean[0]) * (y[i] - mean[0])
    out[0] = res[0] / 30000.0
    out[1] = 1.0 - res[0] / tot[0]


@T.prim_func
def skew_kurtosis(X: T.Buffer((60, 1000), "float32"), S: T.Buffer((60, 2), "float32")):
    for r in range(60):
        m = T.alloc_buffer((1,), "float32")
        m[0] = 0.0
        for i in range(1000):
            m[0] = m[0] + X[r, i]
        m[0] = m[0] / 1000.0
        m2 = T.alloc_buffer((1,), "float32")
        m2[0] = 0.0
        m3 = T.alloc_buffer((1,), "float32")
        m3[0] = 0.0
        m4 = T.alloc_buffer((1,), "float32")
        m4[0] = 0.0
        for i in range(1000):
            d = X[r, i] - m[0]
            m2[0] = m2[0] + d * d
            m3[0] = m3[0] + d * d * d
            m4[0] = m4[0] + d * d * d * d
        m2[0] = m2[0] / 1000.0
        S[r, 0] = m3[0] / 1000.0 / (m2[0] * T.sqrt(m2[0]))
        S[r, 1] = m4[0] / 1000.0 / (m2[0] * m2[0]) - 3.0


@T.prim_func
def predator(a: T.Buffer((65,), "float32"), b: T.Buffer((65,), "float32"), x: T.Buffer((64,), "float32")):
    for i in range(64):
        v = a[i] * b[i]
        a[i + 1] = a[i] + 0.01 * (a[i] - v) + x[i]
        b[i + 1] = b[i] + 0.01 * (v - b[i])


@T.prim_func
def predator_long(a: T.Buffer((5001,), "float32"), b: T.Buffer((5001,), "float32"), x: T.Buffer((5000,), "float32")):
    for i in range(5000):
        v = a[i] * b[i]
        a[i + 1] = a[i] + 0.01 * (a[i] - v) + x[i]
        b[i + 1] = b[i] + 0.01 * (v - b[i])


@T.prim_func
def tanks(h: T.Buffer((2001, 3), "float32"), q: T.Buffer((2000,), "float32")):
    for t in range(2000):
        f0 = T.sqrt(T.max(h[t, 0], 0.0))
        f1 = T.sqrt(T.max(h[t, 1], 0.0))
        h[t + 1, 0] = h[t, 0] + 0.1 * (q[t] - f0)
        h[t + 1, 1] = h[t, 1] + 0.1 * (f0 - f1)
        h[t + 1, 2] = h[t, 2] + 0.1 * f1


@T.prim_func
def logistic(x: T.Buffer((3000,), "float32"), y: T.Buffer((3000,), "float32"), r: T.Buffer((1,), "float32")):
    for t in range(2999):
        v = r[0] * x[t] * (1.0 - x[t])
        x[t + 1] = v
        y[t + 1] = v * v + 0.5 * y[t] * v


@T.prim_func
def pid(r: T.Buffer((2000,), "float32"), u: T.Buffer((2000,), "float32"), y: T.Buffer((2001,), "float32")):
    s = T.alloc_buffer((1,), "float32")
    last = T.alloc_buffer((1,), "float32")
    s[0] = 0.0
    last[0] = 0.0
    for t in range(2000):
        e = r[t] - y[t]
        s[0] = s[0] + e
        c = T.min(T.max(2.0 * e + 0.1 * s[0] + 0.5 * (e - last[0]), -10.0), 10.0)
        last[0] = e
        u[t] = c
        y[t + 1] = y[t] + 0.05 * (c - T.sqrt(T.abs(y[t])))


@T.prim_func
def queue_wait(
    arr: T.Buffer((5000,), "float32"),
    svc: T.Buffer((5000,), "float32"),
    start: T.Buffer((5000,), "float32"),
    end: T.Buffer((5001,), "float32"),
):
    end[0] = 0.0
    for i in range(5000):
        start[i] = T.max(arr[i], end[i])
        end[i + 1] = start[i] + svc[i]


@T.prim_func
def two_servers(
    arr: T.Buffer((3000,), "float32"),
    svc: T.Buffer((3000,), "float32"),
    free: T.Buffer((2,), "float32"),
    done: T.Buffer((3000,), "float32"),
):
    for i in range(3000):
        k = T.if_then_else(free[0] <= free[1], 0, 1)
        begin = T.max(arr[i], free[k])
        done[i] = begin + svc[i]
        free[k] = begin + svc[i]


@T.prim_func
def stack_machine(
    op: T.Buffer((2000,), "int32"),
    arg: T.Buffer((2000,), "int32"),
    st: T.Buffer((64,), "int32"),
    out: T.Buffer((2000,), "int32"),
):
    sp = T.alloc_buffer((1,), "int32")
    sp[0] = 0
    for t in range(2000):
        if op[t] == 0 and sp[0] < 63:
            st[sp[0]] = arg[t] % 100
            sp[0] = sp[0] + 1
        elif sp[0] >= 2:
            st[sp[0] - 2] = (st[sp[0] - 2] + st[sp[0] - 1]) % 1000
            sp[0] = sp[0] - 1
        out[t] = sp[0]


@T.prim_func
def lru_hits(req: T.Buffer((3000,), "int32"), last: T.Buffer((100,), "int32"), gap: T.Buffer((3000,), "int32")):
    for k in range(100):
        last[k] = -1
    for t in range(3000):
        gap[t] = T.if_then_else(last[req[t]] < 0, -1, t - last[req[t]])
        last[req[t]] = t


@T.prim_func
def neuron(I: T.Buffer((100, 1000), "float32"), V: T.Buffer((100, 1000), "float32"), S: T.Buffer((100, 1000), "int32")):
    for n in range(100):
        v = T.alloc_buffer((1,), "float32")
        v[0] = -65.0
        for t in range(1000):
            v[0] = v[0] + 0.1 * (-65.0 - v[0] + I[n, t])
            if v[0] > -50.0:
                S[n, t] = 1
                v[0] = -65.0
            else:
                S[n, t] = 0
            V[n, t] = v[0]


@T.prim_func
def garch(r: T.Buffer((5000,), "float32"), h: T.Buffer((5000,), "float32"), z: T.Buffer((5000,), "float32")):
    h[0] = 1.0
    z[0] = r[0]
    for t in range(1, 5000):
        h[t] = 0.1 + 0.1 * r[t - 1] * r[t - 1] + 0.8 * h[t - 1]
        z[t] = r[t] / T.sqrt(h[t])


@T.prim_func
def garch_sim(e: T.Buffer((5000,), "float32"), h: T.Buffer((5000,), "float32"), r: T.Buffer((5000,), "float32")):
    h[0] = 1.0
    r[0] = e[0]
    for t in range(1, 5000):
        h[t] = 0.1 + 0.1 * r[t - 1] * r[t - 1] + 0.8 * h[t - 1]
        r[t] = e[t] * T.sqrt(h[t])


@T.prim_func
def insertion_sort(A: T.Buffer((120,), "float32")):
    for i in range(1, 120):
        for k in range(i):
            j = i - k
            if A[j - 1] > A[j]:
                t = A[j]
                A[j] = A[j - 1]
                A[j - 1] = t


@T.prim_func
def selection_ranks(A: T.Buffer((64, 50), "float32"), B: T.Buffer((64, 50), "float32")):
    for r in range(64):
        for i in range(50):
            rank = T.alloc_buffer((1,), "int32")
            rank[0] = 0
            for j in range(50):
                if A[r, j] < A[r, i] or (A[r, j] == A[r, i] and j < i):
                    rank[0] = rank[0] + 1
            B[r, rank[0]] = A[r, i]


@T.prim_func
def lis_lengths(A: T.Buffer((300,), "int32"), L: T.Buffer((300,), "int32")):
    for i in range(300):
        L[i] = 1
        for j in range(i):
            if A[j] < A[i]:
                L[i] = T.max(L[i], L[j] + 1)


@T.prim_func
def dijkstra_dense(W: T.Buffer((100, 100), "float32"), D: T.Buffer((100,), "float32")):
    done = T.alloc_buffer((100,), "int32")
    for v in range(100):
        D[v] = T.if_then_else(v == 0, T.float32(0.0), T.float32(1000000000.0))
        done[v] = 0
    for k in range(100):
        best = T.alloc_buffer((1,), "float32")
        u = T.alloc_buffer((1,), "int32")
        best[0] = 2000000000.0
        u[0] = 0
        for v in range(100):
            if done[v] == 0 and D[v] < best[0]:
                best[0] = D[v]
                u[0] = v
        done[u[0]] = 1
        for v in range(100):
            D[v] = T.min(D[v], D[u[0]] + W[u[0], v])


@T.prim_func
def prim_tree(W: T.Buffer((80, 80), "float32"), parent: T.Buffer((80,), "int32")):
    key = T.alloc_buffer((80,), "float32")
    seen = T.alloc_buffer((80,), "int32")
    for v in range(80):
        key[v] = T.if_then_else(v == 0, T.float32(0.0), T.float32(1000000000.0))
        seen[v] = 0
        parent[v] = -1
    for k in range(80):
        best = T.alloc_buffer((1,), "float32")
        u = T.alloc_buffer((1,), "int32")
        best[0] = 2000000000.0
        u[0] = 0
        for v in range(80):
            if seen[v] == 0 and key[v] < best[0]:
                best[0] = key[v]
                u[0] = v
        seen[u[0]] = 1
        for v in range(80):
            if seen[v] == 0 and W[u[0], v] < key[v]:
                key[v] = W[u[0], v]
                parent[v] = u[0]


@T.prim_func
def pivoted_elimination(A: T.Buffer((40, 41), "float32")):
    for k in range(40):
        best = T.alloc_buffer((1,), "float32")
        p = T.alloc_buffer((1,), "int32")
        best[0] = -1.0
        p[0] = k
        for i in range(k, 40):
            if T.abs(A[i, k]) > best[0]:
                best[0] = T.abs(A[i, k])
                p[0] = i
        for j in range(41):
            t = A[k, j]
            A[k, j] = A[p[0], j]
            A[p[0], j] = t
        for i in range(k + 1, 40):
            f = A[i, k] / A[k, k]
            for j in range(41):
                A[i, j] = A[i, j] - f * A[k, j]


@T.prim_func
def bisection(a: T.Buffer((4000,), "float32"), x: T.Buffer((4000,), "float32")):
    for i in range(4000):
        lo = T.alloc_buffer((1,), "float32")
        hi = T.alloc_buffer((1,), "float32")
        lo[0] = 0.0
        hi[0] = 3.0
        for k in range(25):
            mid = 0.5 * (lo[0] + hi[0])
            if mid * mid * mid + mid < a[i]:
                lo[0] = mid
            else:
                hi[0] = mid
        x[i] = 0.5 * (lo[0] + hi[0])


@T.prim_func
def newton_sqrt(a: T.Buffer((10000,), "float32"), x: T.Buffer((10000,), "float32")):
    for i in range(10000):
        x[i] = 1.0
        for k in range(12):
            x[i] = 0.5 * (x[i] + a[i] / x[i])


@T.prim_func
def romberg_rows(F: T.Buffer((200, 65), "float32"), R: T.Buffer((200,), "float32")):
    for r in range(200):
        t = T.alloc_buffer((7,), "float32")
        for k in range(7):
            t[k] = 0.5 * (F[r, 0] + F[r, 64])
            for i in range(1, 1 << k):
                t[k] = t[k] + F[r, i * (64 >> k)]
            t[k] = t[k] / T.cast(1 << k, "float32")
        for m in range(1, 7):
            for q in range(7 - m):
                k = 6 - q
                t[k] = t[k] + (t[k] - t[k - 1]) / (T.cast(1 << 2 * m, "float32") - 1.0)
        R[r] = t[6]


@T.prim_func
def rolling_max(X: T.Buffer((50, 2000), "float32"), Y: T.Buffer((50, 2000), "float32")):
    for r, i in T.grid(50, 2000):
        Y[r, i] = X[r, i]
        for k in range(1, 20):
            if i - k >= 0:
                Y[r, i] = T.max(Y[r, i], X[r, i - k])


@T.prim_func
def bootstrap_means(X: T.Buffer((500,), "float32"), I: T.Buffer((300, 500), "int32"), M: T.Buffer((300,), "float32")):
    for b in range(300):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for i in range(500):
            s[0] = s[0] + X[I[b, i]]
        M[b] = s[0] / 500.0


@T.prim_func
def counting_sort(K: T.Buffer((5000,), "int32"), S: T.Buffer((5000,), "int32")):
    c = T.alloc_buffer((257,), "int32")
    for k in range(257):
        c[k] = 0
    for i in range(5000):
        c[K[i] + 1] = c[K[i] + 1] + 1
    for k in range(256):
        c[k + 1] = c[k + 1] + c[k]
    for i in range(5000):
        S[c[K[i]]] = K[i]
        c[K[i]] = c[K[i]] + 1


@T.prim_func
def leapfrog_wave(U: T.Buffer((60, 200), "float32")):
    for t in range(1, 59):
        for i in range(1, 199):
            U[t + 1, i] = 2.0 * U[t, i] - U[t - 1, i] + 0.25 * (U[t, i - 1] - 2.0 * U[t, i] + U[t, i + 1])


@T.prim_func
def gray_scott(U: T.Buffer((64, 64), "float32"), V: T.Buffer((64, 64), "float32")):
    for t in range(20):
        LU = T.alloc_buffer((64, 64), "float32")
        LV = T.alloc_buffer((64, 64), "float32")
        for i, j in T.grid(64, 64):
            LU[i, j] = (
                U[(i + 1) % 64, j] + U[(i + 63) % 64, j] + U[i, (j + 1) % 64] + U[i, (j + 63) % 64] - 4.0 * U[i, j]
            )
            LV[i, j] = (
                V[(i + 1) % 64, j] + V[(i + 63) % 64, j] + V[i, (j + 1) % 64] + V[i, (j + 63) % 64] - 4.0 * V[i, j]
            )
        for i, j in T.grid(64, 64):
            r = U[i, j] * V[i, j] * V[i, j]
            U[i, j] = U[i, j] + 0.16 * LU[i, j] - r + 0.035 * (1.0 - U[i, j])
            V[i, j] = V[i, j] + 0.08 * LV[i, j] + r - 0.1 * V[i, j]


@T.prim_func
def lid_pressure(P: T.Buffer((50, 50), "float32"), B: T.Buffer((50, 50), "float32")):
    for q in range(30):
        N = T.alloc_buffer((50, 50), "float32")
        for i, j in T.grid(50, 50):
            N[i, j] = P[i, j]
        for i in range(1, 49):
            for j in range(1, 49):
                P[i, j] = 0.25 * (N[i, j + 1] + N[i, j - 1] + N[i + 1, j] + N[i - 1, j]) - B[i, j]
        for i in range(50):
            P[i, 49] = P[i, 48]
            P[i, 0] = P[i, 1]
        for j in range(50):
            P[0, j] = P[1, j]
            P[49, j] = 0.0


@T.prim_func
def upsample_nearest_conv(
    X: T.Buffer((8, 16, 16), "float32"), W: T.Buffer((8, 8, 3, 3), "float32"), Y: T.Buffer((8, 32, 32), "float32")
):
    for o, y, x in T.grid(8, 32, 32):
        Y[o, y, x] = 0.0
        for c, a, b in T.grid(8, 3, 3):
            if y + a >= 1 and y + a < 33 and (x + b >= 1) and (x + b < 33):
                Y[o, y, x] = Y[o, y, x] + W[o, c, a, b] * X[c, (y + a - 1) // 2, (x + b - 1) // 2]


@T.prim_func
def blocked_transpose_pad(A: T.Buffer((100, 70), "float32"), B: T.Buffer((5, 7, 16, 16), "float32")):
    for jo, io, j, i in T.grid(5, 7, 16, 16):
        if 16 * io + i < 100 and 16 * jo + j < 70:
            B[jo, io, j, i] = A[16 * io + i, 16 * jo + j]
        else:
            B[jo, io, j, i] = 0.0


@T.prim_func
def nchwc_relu_bias(
    X: T.Buffer((4, 14, 14, 16), "float32"), b: T.Buffer((50,), "float32"), Y: T.Buffer((4, 14, 14, 16), "float32")
):
    for co, y, x, ci in T.grid(4, 14, 14, 16):
        if 16 * co + ci < 50:
            Y[co, y, x, ci] = T.max(X[co, y, x, ci] + b[16 * co + ci], 0.0)
        else:
            Y[co, y, x, ci] = 0.0


@T.prim_func
def per_channel_quant(X: T.Buffer((64, 300), "float32"), Q: T.Buffer((64, 300), "int8"), S: T.Buffer((64,), "float32")):
    for c in range(64):
        m = T.alloc_buffer((1,), "float32")
        m[0] = 0.0
        for i in range(300):
            m[0] = T.max(m[0], T.abs(X[c, i]))
        S[c] = m[0] / 127.0
        for i in range(300):
            Q[c, i] = T.cast(T.max(T.min(T.floor(X[c, i] / (m[0] / 127.0) + 0.5), 127.0), -127.0), "int8")


@T.prim_func
def sliding_dot_max(
    X: T.Buffer((3000,), "float32"),
    K: T.Buffer((40,), "float32"),
    best: T.Buffer((1,), "float32"),
    at: T.Buffer((1,), "int32"),
):
    best[0] = -1e30
    at[0] = 0
    for i in range(2961):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for k in range(40):
            s[0] = s[0] + X[i + k] * K[k]
        if s[0] > best[0]:
            best[0] = s[0]
            at[0] = i


@T.prim_func
def word_starts(X: T.Buffer((8000,), "uint8"), S: T.Buffer((8000,), "int32"), n: T.Buffer((1,), "int32")):
    n[0] = 0
    for i in range(8000):
        S[i] = 0
    for i in range(8000):
        if X[i] != T.uint8(32) and (i == 0 or X[T.max(i - 1, 0)] == T.uint8(32)):
            S[n[0]] = i
            n[0] = n[0] + 1


@T.prim_func
def atoi_rows(X: T.Buffer((2000, 8), "uint8"), V: T.Buffer((2000,), "int32")):
    for r in range(2000):
        V[r] = 0
        for k in range(8):
            if X[r, k] >= T.uint8(48) and X[r, k] <= T.uint8(57):
                V[r] = V[r] * 10 + T.cast(X[r, k], "int32") - 48


@T.prim_func
def bracket_depth(X: T.Buffer((10000,), "uint8"), D: T.Buffer((10000,), "int32"), most: T.Buffer((1,), "int32")):
    d = T.alloc_buffer((1,), "int32")
    d[0] = 0
    most[0] = 0
    for i in range(10000):
        if X[i] == T.uint8(40):
            d[0] = d[0] + 1
        if X[i] == T.uint8(41):
            d[0] = d[0] - 1
        D[i] = d[0]
        most[0] = T.max(most[0], d[0])


@T.prim_func
def beam_scores(E: T.Buffer((40, 30, 30), "float32"), S: T.Buffer((41, 30), "float32"), B: T.Buffer((40, 30), "int32")):
    for k in range(30):
        S[0, k] = 0.0
    for t, k in T.grid(40, 30):
        S[t + 1, k] = -1e30
        B[t, k] = 0
        for j in range(30):
            if S[t, j] + E[t, j, k] > S[t + 1, k]:
                S[t + 1, k] = S[t, j] + E[t, j, k]
                B[t, k] = j


@T.prim_func
def optimal_search_tree(p: T.Buffer((40,), "float32"), C: T.Buffer((41, 41), "float32")):
    for i in range(41):
        for j in range(41):
            C[i, j] = 0.0
    for l in range(1, 41):
        for i in range(41 - l):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for k in range(l):
                s[0] = s[0] + p[i + k]
            C[i, i + l] = 1000000000.0
            for k in range(l):
                C[i, i + l] = T.min(C[i, i + l], C[i, i + k] + C[i + k + 1, i + l] + s[0])


@T.prim_func
def rigid_transform(
    P: T.Buffer((5000, 3), "float32"),
    R: T.Buffer((3, 3), "float32"),
    t: T.Buffer((3,), "float32"),
    Q: T.Buffer((5000, 3), "float32"),
):
    for i, d in T.grid(5000, 3):
        Q[i, d] = t[d]
        for e in range(3):
            Q[i, d] = Q[i, d] + R[d, e] * P[i, e]


@T.prim_func
def normals(V: T.Buffer((1000, 3), "float32"), F: T.Buffer((2000, 3), "int32"), N: T.Buffer((2000, 3), "float32")):
    for f in range(2000):
        ax = V[F[f, 1], 0] - V[F[f, 0], 0]
        ay = V[F[f, 1], 1] - V[F[f, 0], 1]
        az = V[F[f, 1], 2] - V[F[f, 0], 2]
        bx = V[F[f, 2], 0] - V[F[f, 0], 0]
        by = V[F[f, 2], 1] - V[F[f, 0], 1]
        bz = V[F[f, 2], 2] - V[F[f, 0], 2]
        nx = ay * bz - az * by
        ny = az * bx - ax * bz
        nz = ax * by - ay * bx
        l = T.sqrt(nx * nx + ny * ny + nz * nz) + 1e-09
        N[f, 0] = nx / l
        N[f, 1] = ny / l
        N[f, 2] = nz / l


@T.prim_func
def vertex_degrees(F: T.Buffer((2000, 3), "int32"), D: T.Buffer((1000,), "int32")):
    for v in range(1000):
        D[v] = 0
    for f, k in T.grid(2000, 3):
        D[F[f, k]] = D[F[f, k]] + 1


@T.prim_func
def hash_grid_counts(P: T.Buffer((5000, 2), "float32"), C: T.Buffer((16, 16), "int32")):
    for i, j in T.grid(16, 16):
        C[i, j] = 0
    for p in range(5000):
        a = T.cast(P[p, 0] * 16.0, "int32")
        b = T.cast(P[p, 1] * 16.0, "int32")
        if a >= 0 and a < 16 and (b >= 0) and (b < 16):
            C[a, b] = C[a, b] + 1


@T.prim_func
def exclusive_max_left(H: T.Buffer((1000,), "int32"), W: T.Buffer((1,), "int32")):
    L = T.alloc_buffer((1000,), "int32")
    R = T.alloc_buffer((1000,), "int32")
    L[0] = H[0]
    for i in range(1, 1000):
        L[i] = T.max(L[i - 1], H[i])
    R[999] = H[999]
    for k in range(1, 1000):
        R[999 - k] = T.max(R[1000 - k], H[999 - k])
    W[0] = 0
    for i in range(1000):
        W[0] = W[0] + T.min(L[i], R[i]) - H[i]


@T.prim_func
def majority_vote(X: T.Buffer((300, 201), "int32"), M: T.Buffer((300,), "int32")):
    for r in range(300):
        c = T.alloc_buffer((1,), "int32")
        v = T.alloc_buffer((1,), "int32")
        c[0] = 0
        v[0] = -1
        for i in range(201):
            if c[0] == 0:
                v[0] = X[r, i]
            c[0] = c[0] + T.if_then_else(X[r, i] == v[0], 1, -1)
        M[r] = v[0]


@T.prim_func
def two_sum_counts(A: T.Buffer((600,), "int32"), n: T.Buffer((1,), "int32")):
    n[0] = 0
    for i in range(600):
        for j in range(i + 1, 600):
            if A[i] + A[j] == 100:
                n[0] = n[0] + 1


@T.prim_func
def string_hash_rows(X: T.Buffer((1000, 32), "uint8"), H: T.Buffer((1000,), "uint32")):
    for r in range(1000):
        H[r] = T.uint32(5381)
        for k in range(32):
            H[r] = H[r] * T.uint32(33) ^ T.cast(X[r, k], "uint32")


@T.prim_func
def tridiagonal_eigen_count(
    d: T.Buffer((100,), "float32"),
    e: T.Buffer((100,), "float32"),
    x: T.Buffer((500,), "float32"),
    n: T.Buffer((500,), "int32"),
):
    for q in range(500):
        n[q] = 0
        v = T.alloc_buffer((1,), "float32")
        v[0] = 1.0
        for i in range(100):
            v[0] = d[i] - x[q] - e[i] * e[i] / v[0]
            if T.abs(v[0]) < 1e-06:
                v[0] = -1e-06
            if v[0] < 0.0:
                n[q] = n[q] + 1


@T.prim_func
def alibi_attention(
    Q: T.Buffer((4, 64, 32), "float32"),
    K: T.Buffer((4, 64, 32), "float32"),
    V: T.Buffer((4, 64, 32), "float32"),
    slope: T.Buffer((4,), "float32"),
    O: T.Buffer((4, 64, 32), "float32"),
):
    for h in range(4):
        for i in range(64):
            S = T.alloc_buffer((64,), "float32")
            m = T.alloc_buffer((1,), "float32")
            z = T.alloc_buffer((1,), "float32")
            m[0] = T.min_value("float32")
            z[0] = 0.0
            for j in range(i + 1):
                S[j] = 0.0
                for d in range(32):
                    S[j] = S[j] + Q[h, i, d] * K[h, j, d]
                S[j] = S[j] - slope[h] * T.cast(i - j, "float32")
                m[0] = T.max(m[0], S[j])
            for j in range(i + 1):
                S[j] = T.exp(S[j] - m[0])
                z[0] = z[0] + S[j]
            for d in range(32):
                O[h, i, d] = 0.0
                for j in range(i + 1):
                    O[h, i, d] = O[h, i, d] + S[j] / z[0] * V[h, j, d]


@T.prim_func
def cosine_best(X: T.Buffer((100, 48), "float32"), C: T.Buffer((300, 48), "float32"), best: T.Buffer((100,), "int32")):
    for i in range(100):
        top = T.alloc_buffer((1,), "float32")
        top[0] = -2.0
        best[i] = 0
        for j in range(300):
            dot = T.alloc_buffer((1,), "float32")
            nx = T.alloc_buffer((1,), "float32")
            nc = T.alloc_buffer((1,), "float32")
            dot[0] = 0.0
            nx[0] = 0.0
            nc[0] = 0.0
            for d in range(48):
                dot[0] = dot[0] + X[i, d] * C[j, d]
                nx[0] = nx[0] + X[i, d] * X[i, d]
                nc[0] = nc[0] + C[j, d] * C[j, d]
            if dot[0] / T.sqrt(nx[0] * nc[0]) > top[0]:
                top[0] = dot[0] / T.sqrt(nx[0] * nc[0])
                best[i] = j


@T.prim_func
def hue(
    R: T.Buffer((120, 160), "float32"),
    G: T.Buffer((120, 160), "float32"),
    B: T.Buffer((120, 160), "float32"),
    H: T.Buffer((120, 160), "float32"),
):
    for i, j in T.grid(120, 160):
        hi = T.max(R[i, j], T.max(G[i, j], B[i, j]))
        lo = T.min(R[i, j], T.min(G[i, j], B[i, j]))
        if hi == lo:
            H[i, j] = 0.0
        elif hi == R[i, j]:
            H[i, j] = 60.0 * ((G[i, j] - B[i, j]) / (hi - lo))
            if H[i, j] < 0.0:
                H[i, j] = H[i, j] + 360.0
        elif hi == G[i, j]:
            H[i, j] = 60.0 * ((B[i, j] - R[i, j]) / (hi - lo)) + 120.0
        else:
            H[i, j] = 60.0 * ((R[i, j] - G[i, j]) / (hi - lo)) + 240.0


@T.prim_func
def list_ranking(after: T.Buffer((1024,), "int32"), rank: T.Buffer((1024,), "int32")):
    nx = T.alloc_buffer((1024,), "int32")
    t = T.alloc_buffer((1024,), "int32")
    r = T.alloc_buffer((1024,), "int32")
    for i in range(1024):
        T.assume(after[i] >= 0 and after[i] < 1024)
        nx[i] = after[i]
        rank[i] = T.if_then_else(after[i] == i, 0, 1)
    for s in range(10):
        for i in range(1024):
            r[i] = rank[i] + rank[nx[i]]
            t[i] = nx[nx[i]]
        for i in range(1024):
            rank[i] = r[i]
            nx[i] = t[i]


@T.prim_func
def josephus(k: T.Buffer((500,), "int32"), last: T.Buffer((500,), "int32")):
    for p in range(500):
        T.assume(k[p] >= 1 and k[p] < 1000)
        j = T.alloc_buffer((1,), "int32")
        j[0] = 0
        for n in range(2, 101):
            j[0] = (j[0] + k[p]) % n
        last[p] = j[0]


@T.prim_func
def sieve(prime: T.Buffer((4000,), "int32")):
    for i in range(4000):
        prime[i] = T.if_then_else(i < 2, 0, 1)
    for p in range(2, 64):
        if prime[p] == 1:
            for m in range(4000):
                if m >= p * p and m % p == 0:
                    prime[m] = 0


@T.prim_func
def pascal_mod(C: T.Buffer((200, 200), "int32")):
    for n in range(200):
        for k in range(200):
            if k == 0 or k == n:
                C[n, k] = 1
            elif k < n:
                C[n, k] = (C[n - 1, k - 1] + C[n - 1, k]) % 1009
            else:
                C[n, k] = 0


@T.prim_func
def catalan_mod(c: T.Buffer((300,), "int32")):
    c[0] = 1
    for n in range(1, 300):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for i in range(n):
            s[0] = (s[0] + c[i] * c[n - 1 - i]) % 1009
        c[n] = s[0]


@T.prim_func
def gcds(A: T.Buffer((2000,), "int32"), B: T.Buffer((2000,), "int32"), G: T.Buffer((2000,), "int32")):
    for i in range(2000):
        T.assume(A[i] >= 0 and A[i] < 10000 and (B[i] >= 0) and (B[i] < 10000))
        a = T.alloc_buffer((1,), "int32")
        a[0] = A[i]
        b = T.alloc_buffer((1,), "int32")
        b[0] = B[i]
        for k in range(22):
            if b[0] != 0:
                r = a[0] % b[0]
                a[0] = b[0]
                b[0] = r
        G[i] = a[0]


@T.prim_func
def mod_powers(A: T.Buffer((3000,), "int32"), E: T.Buffer((3000,), "int32"), R: T.Buffer((3000,), "int32")):
    for i in range(3000):
        T.assume(A[i] >= 0 and A[i] < 10007 and (E[i] >= 0) and (E[i] < 65536))
        r = T.alloc_buffer((1,), "int32")
        r[0] = 1
        b = T.alloc_buffer((1,), "int32")
        b[0] = A[i]
        for k in range(16):
            if E[i] >> k & 1 == 1:
                r[0] = r[0] * b[0] % 10007
            b[0] = b[0] * b[0] % 10007
        R[i] = r[0]


@T.prim_func
def collatz(A: T.Buffer((3000,), "int32"), steps: T.Buffer((3000,), "int32")):
    for i in range(3000):
        T.assume(A[i] >= 1 and A[i] < 3001)
        x = T.alloc_buffer((1,), "int32")
        x[0] = A[i]
        n = T.alloc_buffer((1,), "int32")
        n[0] = 0
        for k in range(60):
            if x[0] != 1:
                if x[0] % 2 == 0:
                    x[0] = x[0] // 2
                else:
                    x[0] = 3 * x[0] + 1
                n[0] = n[0] + 1
        steps[i] = n[0]


@T.prim_func
def value_noise(perm: T.Buffer((256,), "int32"), g: T.Buffer((256,), "float32"), N: T.Buffer((128, 128), "float32")):
    for i in range(256):
        T.assume(perm[i] >= 0 and perm[i] < 256)
    for y, x in T.grid(128, 128):
        N[y, x] = 0.0
        for o in range(4):
            cell = T.int32(32) >> o
            ix = x // cell
            iy = y // cell
            fx = T.cast(x % cell, "float32") / T.cast(cell, "float32")
            fy = T.cast(y % cell, "float32") / T.cast(cell, "float32")
            a = g[perm[(perm[ix % 256] + iy) % 256]]
            b = g[perm[(perm[(ix + 1) % 256] + iy) % 256]]
            c = g[perm[(perm[ix % 256] + iy + 1) % 256]]
            d = g[perm[(perm[(ix + 1) % 256] + iy + 1) % 256]]
            u = fx * fx * (3.0 - 2.0 * fx)
            v = fy * fy * (3.0 - 2.0 * fy)
            N[y, x] = N[y, x] + ((a + (b - a) * u) * (1.0 - v) + (c + (d - c) * u) * v) / T.cast(
                T.int32(1) << o, "float32"
            )


@T.prim_func
def sphere_march(S: T.Buffer((8, 4), "float32"), Z: T.Buffer((64, 64), "float32")):
    for y, x in T.grid(64, 64):
        dx = (T.cast(x, "float32") - 31.5) / 32.0
        dy = (T.cast(y, "float32") - 31.5) / 32.0
        l = T.sqrt(dx * dx + dy * dy + 1.0)
        t = T.alloc_buffer((1,), "float32")
        t[0] = T.float32(0.0)
        for k in range(24):
            d = T.alloc_buffer((1,), "float32")
            d[0] = T.float32(1000.0)
            for s in range(8):
                px = t[0] * dx / l - S[s, 0]
                py = t[0] * dy / l - S[s, 1]
                pz = t[0] / l - S[s, 2]
                d[0] = T.min(d[0], T.sqrt(px * px + py * py + pz * pz) - S[s, 3])
            t[0] = t[0] + d[0]
        Z[y, x] = t[0]


@T.prim_func
def marching_cases(
    F: T.Buffer((200, 200), "float32"),
    level: T.float32,
    cases: T.Buffer((199, 199), "int32"),
    counts: T.Buffer((16,), "int32"),
):
    for c in range(16):
        counts[c] = 0
    for i, j in T.grid(199, 199):
        cases[i, j] = 0
        if F[i, j] > level:
            cases[i, j] = cases[i, j] + 1
        if F[i, j + 1] > level:
            cases[i, j] = cases[i, j] + 2
        if F[i + 1, j + 1] > level:
            cases[i, j] = cases[i, j] + 4
        if F[i + 1, j] > level:
            cases[i, j] = cases[i, j] + 8
        counts[cases[i, j]] = counts[cases[i, j]] + 1


@T.prim_func
def catmull_rom(P: T.Buffer((64, 2), "float32"), C: T.Buffer((1000, 2), "float32")):
    for i in range(1000):
        k = i * 63 // 1000
        t = T.cast(i * 63 % 1000, "float32") / 1000.0
        for d in range(2):
            p0 = P[T.max(k - 1, 0), d]
            p1 = P[k, d]
            p2 = P[k + 1, d]
            p3 = P[T.min(k + 2, 63), d]
            C[i, d] = 0.5 * (
                2.0 * p1
                + (p2 - p0) * t
                + (2.0 * p0 - 5.0 * p1 + 4.0 * p2 - p3) * t * t
                + (3.0 * p1 - p0 - 3.0 * p2 + p3) * t * t * t
            )


@T.prim_func
def coverage(X: T.Buffer((50, 3), "float32"), Y: T.Buffer((50, 3), "float32"), C: T.Buffer((60, 80), "int32")):
    for y, x in T.grid(60, 80):
        C[y, x] = 0
        for t in range(50):
            px = T.cast(x, "float32") + 0.5
            py = T.cast(y, "float32") + 0.5
            inside = T.alloc_buffer((1,), "int32")
            inside[0] = 1
            for e in range(3):
                w = (X[t, (e + 1) % 3] - X[t, e]) * (py - Y[t, e]) - (Y[t, (e + 1) % 3] - Y[t, e]) * (px - X[t, e])
                if w < 0.0:
                    inside[0] = 0
            C[y, x] = C[y, x] + inside[0]


@T.prim_func
def holt_winters(
    x: T.Buffer((1200,), "float32"), a: T.float32, b: T.float32, g: T.float32, y: T.Buffer((1200,), "float32")
):
    level = T.alloc_buffer((1,), "float32")
    trend = T.alloc_buffer((1,), "float32")
    season = T.alloc_buffer((12,), "float32")
    level[0] = x[0]
    trend[0] = 0.0
    for m in range(12):
        season[m] = 0.0
    for t in range(1200):
        y[t] = level[0] + trend[0] + season[t % 12]
        new = a * (x[t] - season[t % 12]) + (1.0 - a) * (level[0] + trend[0])
        trend[0] = b * (new - level[0]) + (1.0 - b) * trend[0]
        season[t % 12] = g * (x[t] - new) + (1.0 - g) * season[t % 12]
        level[0] = new


@T.prim_func
def survival(time: T.Buffer((400,), "float32"), event: T.Buffer((400,), "int32"), S: T.Buffer((50,), "float32")):
    for b in range(50):
        S[b] = 1.0
        for i in range(400):
            at_risk = T.alloc_buffer((1,), "float32")
            at_risk[0] = 0.0
            for k in range(400):
                if time[k] >= time[i]:
                    at_risk[0] = at_risk[0] + 1.0
            if event[i] == 1 and time[i] <= T.cast(b, "float32"):
                S[b] = S[b] * (1.0 - 1.0 / at_risk[0])


@T.prim_func
def kendall(x: T.Buffer((600,), "float32"), y: T.Buffer((600,), "float32"), tau: T.Buffer((1,), "int32")):
    tau[0] = 0
    for i in range(600):
        for j in range(i + 1, 600):
            d = (x[i] - x[j]) * (y[i] - y[j])
            if d > 0.0:
                tau[0] = tau[0] + 1
            elif d < 0.0:
                tau[0] = tau[0] - 1


@T.prim_func
def naive_bayes(
    X: T.Buffer((500, 40), "int32"),
    label: T.Buffer((500,), "int32"),
    N: T.Buffer((8, 40), "float32"),
    L: T.Buffer((8, 40), "float32"),
):
    total = T.alloc_buffer((8,), "float32")
    for c in range(8):
        total[c] = 0.0
        for f in range(40):
            N[c, f] = 1.0
    for i in range(500):
        T.assume(label[i] >= 0 and label[i] < 8)
        for f in range(40):
            N[label[i], f] = N[label[i], f] + T.cast(X[i, f], "float32")
    for c in range(8):
        for f in range(40):
            total[c] = total[c] + N[c, f]
        for f in range(40):
            L[c, f] = T.log(N[c, f] / total[c])


@T.prim_func
def pair_counts(B: T.Buffer((400, 64), "int8"), P: T.Buffer((64, 64), "int32")):
    for a in range(64):
        for b in range(64):
            P[a, b] = 0
            for r in range(400):
                if B[r, a] != T.int8(0) and B[r, b] != T.int8(0):
                    P[a, b] = P[a, b] + 1


@T.prim_func
def bm25(tf: T.Buffer((300, 200), "float32"), S: T.Buffer((300, 200), "float32")):
    avg = T.alloc_buffer((1,), "float32")
    length = T.alloc_buffer((300,), "float32")
    df = T.alloc_buffer((200,), "float32")
    avg[0] = 0.0
    for d in range(300):
        length[d] = 0.0
        for t in range(200):
            length[d] = length[d] + tf[d, t]
        avg[0] = avg[0] + length[d] / 300.0
    for t in range(200):
        df[t] = 0.0
        for d in range(300):
            if tf[d, t] > 0.0:
                df[t] = df[t] + 1.0
    for d in range(300):
        for t in range(200):
            S[d, t] = (
                T.log((300.0 - df[t] + 0.5) / (df[t] + 0.5) + 1.0)
                * tf[d, t]
                * 2.2
                / (tf[d, t] + 1.2 * (0.25 + 0.75 * length[d] / avg[0]))
            )


@T.prim_func
def jaccard(A: T.Buffer((80, 256), "int8"), J: T.Buffer((80, 80), "float32")):
    for i, j in T.grid(80, 80):
        both = T.alloc_buffer((1,), "int32")
        either = T.alloc_buffer((1,), "int32")
        both[0] = 0
        either[0] = 0
        for k in range(256):
            if A[i, k] > T.int8(0) and A[j, k] > T.int8(0):
                both[0] = both[0] + 1
            if A[i, k] > T.int8(0) or A[j, k] > T.int8(0):
                either[0] = either[0] + 1
        J[i, j] = T.cast(both[0], "float32") / T.cast(T.max(either[0], 1), "float32")


@T.prim_func
def vigenere(text: T.Buffer((5000,), "int32"), key: T.Buffer((7,), "int32"), out: T.Buffer((5000,), "int32")):
    for i in range(5000):
        if text[i] >= 97 and text[i] <= 122:
            out[i] = (text[i] - 97 + key[i % 7]) % 26 + 97
        else:
            out[i] = text[i]


@T.prim_func
def utf8_points(b: T.Buffer((6000,), "uint8"), kind: T.Buffer((5,), "int32"), line: T.Buffer((6000,), "int32")):
    for k in range(5):
        kind[k] = 0
    lines = T.alloc_buffer((1,), "int32")
    lines[0] = 0
    for i in range(6000):
        v = T.cast(b[i], "int32")
        if v < 128:
            kind[1] = kind[1] + 1
        elif v < 192:
            kind[0] = kind[0] + 1
        elif v < 224:
            kind[2] = kind[2] + 1
        elif v < 240:
            kind[3] = kind[3] + 1
        else:
            kind[4] = kind[4] + 1
        line[i] = lines[0]
        if v == 10:
            lines[0] = lines[0] + 1


@T.prim_func
def hex_rows(text: T.Buffer((1000, 8), "int32"), value: T.Buffer((1000,), "int32")):
    for r in range(1000):
        value[r] = 0
        for k in range(8):
            d = T.if_then_else(text[r, k] < 58, text[r, k] - 48, (text[r, k] | 32) - 87)
            value[r] = value[r] << 4 | d


@T.prim_func
def delta_of_delta(first: T.int32, step: T.int32, D: T.Buffer((3000,), "int32"), t: T.Buffer((3000,), "int32")):
    now = T.alloc_buffer((1,), "int32")
    now[0] = first
    d = T.alloc_buffer((1,), "int32")
    d[0] = step
    for i in range(3000):
        t[i] = now[0]
        d[0] = d[0] + D[i]
        now[0] = now[0] + d[0]


@T.prim_func
def unpack_12(A: T.Buffer((3000,), "uint8"), B: T.Buffer((2000,), "int32")):
    for i in range(1000):
        B[2 * i] = T.cast(A[3 * i], "int32") | (T.cast(A[3 * i + 1], "int32") & 15) << 8
        B[2 * i + 1] = T.cast(A[3 * i + 1], "int32") >> 4 | T.cast(A[3 * i + 2], "int32") << 4


@T.prim_func
def mu_law(x: T.Buffer((8000,), "float32"), y: T.Buffer((8000,), "int32")):
    for i in range(8000):
        c = T.min(T.max(x[i], -1.0), 1.0)
        m = T.log(1.0 + 255.0 * T.abs(c)) / T.log(256.0)
        s = T.if_then_else(c < 0.0, 0.0 - m, m)
        y[i] = T.cast(T.floor((s + 1.0) * 127.5 + 0.5), "int32")


@T.prim_func
def comb_reverb(x: T.Buffer((8000,), "float32"), g: T.float32, y: T.Buffer((8000,), "float32")):
    for n in range(8000):
        if n < 37:
            y[n] = x[n]
        else:
            y[n] = x[n] + g * y[n - 37]


@T.prim_func
def rank_filter(A: T.Buffer((98, 98), "float32"), B: T.Buffer((96, 96), "float32")):
    for i, j in T.grid(96, 96):
        B[i, j] = 0.0
        for a in range(9):
            less = T.alloc_buffer((1,), "int32")
            less[0] = 0
            for b in range(9):
                if A[i + b // 3, j + b % 3] < A[i + a // 3, j + a % 3] or (
                    A[i + b // 3, j + b % 3] == A[i + a // 3, j + a % 3] and b < a
                ):
                    less[0] = less[0] + 1
            if less[0] == 4:
                B[i, j] = A[i + a // 3, j + a % 3]


@T.prim_func
def non_local_means(A: T.Buffer((52, 52), "float32"), B: T.Buffer((40, 40), "float32")):
    for i, j in T.grid(40, 40):
        num = T.alloc_buffer((1,), "float32")
        den = T.alloc_buffer((1,), "float32")
        num[0] = 0.0
        den[0] = 0.0
        for u, v in T.grid(9, 9):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for p, q in T.grid(3, 3):
                e = A[i + 5 + p, j + 5 + q] - A[i + u + 1 + p, j + v + 1 + q]
                d[0] = d[0] + e * e
            w = T.exp(0.0 - d[0])
            num[0] = num[0] + w * A[i + u + 2, j + v + 2]
            den[0] = den[0] + w
        B[i, j] = num[0] / den[0]


@T.prim_func
def lucas_kanade(
    A: T.Buffer((84, 84), "float32"),
    B: T.Buffer((84, 84), "float32"),
    U: T.Buffer((76, 76), "float32"),
    V: T.Buffer((76, 76), "float32"),
):
    gx = T.alloc_buffer((82, 82), "float32")
    gy = T.alloc_buffer((82, 82), "float32")
    gt = T.alloc_buffer((82, 82), "float32")
    for i, j in T.grid(82, 82):
        gx[i, j] = (A[i + 1, j + 2] - A[i + 1, j]) * 0.5
        gy[i, j] = (A[i + 2, j + 1] - A[i, j + 1]) * 0.5
        gt[i, j] = B[i + 1, j + 1] - A[i + 1, j + 1]
    for i, j in T.grid(76, 76):
        a = T.alloc_buffer((1,), "float32")
        a[0] = T.float32(0.001)
        b = T.alloc_buffer((1,), "float32")
        b[0] = T.float32(0.0)
        c = T.alloc_buffer((1,), "float32")
        c[0] = T.float32(0.001)
        p = T.alloc_buffer((1,), "float32")
        p[0] = T.float32(0.0)
        q = T.alloc_buffer((1,), "float32")
        q[0] = T.float32(0.0)
        for u, v in T.grid(7, 7):
            a[0] = a[0] + gx[i + u, j + v] * gx[i + u, j + v]
            b[0] = b[0] + gx[i + u, j + v] * gy[i + u, j + v]
            c[0] = c[0] + gy[i + u, j + v] * gy[i + u, j + v]
            p[0] = p[0] + gx[i + u, j + v] * gt[i + u, j + v]
            q[0] = q[0] + gy[i + u, j + v] * gt[i + u, j + v]
        U[i, j] = (b[0] * q[0] - c[0] * p[0]) / (a[0] * c[0] - b[0] * b[0])
        V[i, j] = (b[0] * p[0] - a[0] * q[0]) / (a[0] * c[0] - b[0] * b[0])


@T.prim_func
def binary_patterns(A: T.Buffer((130, 130), "float32"), H: T.Buffer((256,), "int32")):
    for k in range(256):
        H[k] = 0
    for i, j in T.grid(128, 128):
        code = T.alloc_buffer((1,), "int32")
        code[0] = 0
        if A[i, j] >= A[i + 1, j + 1]:
            code[0] = code[0] | 1
        if A[i, j + 1] >= A[i + 1, j + 1]:
            code[0] = code[0] | 2
        if A[i, j + 2] >= A[i + 1, j + 1]:
            code[0] = code[0] | 4
        if A[i + 1, j + 2] >= A[i + 1, j + 1]:
            code[0] = code[0] | 8
        if A[i + 2, j + 2] >= A[i + 1, j + 1]:
            code[0] = code[0] | 16
        if A[i + 2, j + 1] >= A[i + 1, j + 1]:
            code[0] = code[0] | 32
        if A[i + 2, j] >= A[i + 1, j + 1]:
            code[0] = code[0] | 64
        if A[i + 1, j] >= A[i + 1, j + 1]:
            code[0] = code[0] | 128
        H[code[0]] = H[code[0]] + 1


@T.prim_func
def disk_dilate(A: T.Buffer((100, 100), "float32"), B: T.Buffer((100, 100), "float32")):
    for i, j in T.grid(100, 100):
        B[i, j] = T.min_value("float32")
        for u, v in T.grid(7, 7):
            if (u - 3) * (u - 3) + (v - 3) * (v - 3) <= 9:
                if i + u >= 3 and i + u < 103 and (j + v >= 3) and (j + v < 103):
                    B[i, j] = T.max(B[i, j], A[i + u - 3, j + v - 3])


@T.prim_func
def heat_insulated(
    A: T.Buffer((40, 40, 40), "float32"), K: T.Buffer((40, 40, 40), "float32"), B: T.Buffer((40, 40, 40), "float32")
):
    for i, j, k in T.grid(40, 40, 40):
        B[i, j, k] = A[i, j, k] + K[i, j, k] * (
            A[T.max(i - 1, 0), j, k]
            + A[T.min(i + 1, 39), j, k]
            + A[i, T.max(j - 1, 0), k]
            + A[i, T.min(j + 1, 39), k]
            + A[i, j, T.max(k - 1, 0)]
            + A[i, j, T.min(k + 1, 39)]
            - 6.0 * A[i, j, k]
        )


@T.prim_func
def fem_residual(
    conn: T.Buffer((2000, 3), "int32"),
    Ke: T.Buffer((2000, 3, 3), "float32"),
    u: T.Buffer((1100,), "float32"),
    r: T.Buffer((1100,), "float32"),
):
    for v in range(1100):
        r[v] = 0.0
    for e in range(2000):
        for a in range(3):
            T.assume(conn[e, a] >= 0 and conn[e, a] < 1100)
            for b in range(3):
                r[conn[e, a]] = r[conn[e, a]] + Ke[e, a, b] * u[conn[e, b]]


@T.prim_func
def mass_springs(x: T.Buffer((200,), "float32"), v: T.Buffer((200,), "float32")):
    f = T.alloc_buffer((200,), "float32")
    for t in range(100):
        for i in range(200):
            f[i] = 0.0
            if i > 0:
                f[i] = f[i] - (x[i] - x[i - 1] - 1.0)
            if i < 199:
                f[i] = f[i] + (x[i + 1] - x[i] - 1.0)
        for i in range(200):
            v[i] = (v[i] + 0.01 * f[i]) * 0.999
            x[i] = x[i] + 0.01 * v[i]


@T.prim_func
def lennard_jones(P: T.Buffer((150, 3), "float32"), box: T.float32, F: T.Buffer((150, 3), "float32")):
    for i in range(150):
        for d in range(3):
            F[i, d] = 0.0
        for j in range(150):
            if i != j:
                r2 = T.alloc_buffer((1,), "float32")
                D = T.alloc_buffer((3,), "float32")
                r2[0] = 0.0
                for d in range(3):
                    D[d] = P[i, d] - P[j, d]
                    D[d] = D[d] - box * T.round(D[d] / box)
                    r2[0] = r2[0] + D[d] * D[d]
                if r2[0] < 6.25:
                    s = 1.0 / (r2[0] * r2[0] * r2[0])
                    for d in range(3):
                        F[i, d] = F[i, d] + 24.0 * (2.0 * s * s - s) / r2[0] * D[d]


@T.prim_func
def radial_distribution(P: T.Buffer((300, 3), "float32"), H: T.Buffer((64,), "int32")):
    for b in range(64):
        H[b] = 0
    for i in range(300):
        for j in range(i):
            dx = P[i, 0] - P[j, 0]
            dy = P[i, 1] - P[j, 1]
            dz = P[i, 2] - P[j, 2]
            bin = T.cast(T.sqrt(dx * dx + dy * dy + dz * dz) * 16.0, "int32")
            if bin < 64:
                H[bin] = H[bin] + 1


@T.prim_func
def lcg_pi(seed: T.Buffer((512,), "uint32"), hits: T.Buffer((512,), "int32")):
    for s in range(512):
        x = T.alloc_buffer((1,), "uint32")
        x[0] = seed[s]
        n = T.alloc_buffer((1,), "int32")
        n[0] = 0
        for k in range(100):
            x[0] = x[0] * T.uint32(1664525) + T.uint32(1013904223)
            a = T.cast(x[0] >> T.uint32(8), "float32") / 16777216.0
            x[0] = x[0] * T.uint32(1664525) + T.uint32(1013904223)
            b = T.cast(x[0] >> T.uint32(8), "float32") / 16777216.0
            if a * a + b * b < 1.0:
                n[0] = n[0] + 1
        hits[s] = n[0]


@T.prim_func
def walkers(nbr: T.Buffer((500, 4), "int32"), R: T.Buffer((200, 300), "int32"), visits: T.Buffer((500,), "int32")):
    for v in range(500):
        visits[v] = 0
        for k in range(4):
            T.assume(nbr[v, k] >= 0 and nbr[v, k] < 500)
    for w in range(300):
        at = T.alloc_buffer((1,), "int32")
        at[0] = w
        for t in range(200):
            T.assume(R[t, w] >= 0 and R[t, w] < 4)
            at[0] = nbr[at[0], R[t, w]]
            visits[at[0]] = visits[at[0]] + 1


@T.prim_func
def hmm_backward(
    A: T.Buffer((24, 24), "float32"),
    E: T.Buffer((24, 50), "float32"),
    obs: T.Buffer((200,), "int32"),
    beta: T.Buffer((200, 24), "float32"),
):
    for t in range(200):
        T.assume(obs[t] >= 0 and obs[t] < 50)
    for s in range(24):
        beta[199, s] = 1.0
    for k in range(199):
        z = T.alloc_buffer((1,), "float32")
        z[0] = 0.0
        for s in range(24):
            beta[198 - k, s] = 0.0
            for q in range(24):
                beta[198 - k, s] = beta[198 - k, s] + A[s, q] * E[q, obs[199 - k]] * beta[199 - k, q]
            z[0] = z[0] + beta[198 - k, s]
        for s in range(24):
            beta[198 - k, s] = beta[198 - k, s] / z[0]


@T.prim_func
def damerau(a: T.Buffer((150,), "int32"), b: T.Buffer((150,), "int32"), D: T.Buffer((151, 151), "int32")):
    for i in range(151):
        D[i, 0] = i
        D[0, i] = i
    for i in range(1, 151):
        for j in range(1, 151):
            cost = T.if_then_else(a[i - 1] == b[j - 1], 0, 1)
            D[i, j] = T.min(T.min(D[i - 1, j] + 1, D[i, j - 1] + 1), D[i - 1, j - 1] + cost)
            if i > 1 and j > 1:
                if a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                    D[i, j] = T.min(D[i, j], D[i - 2, j - 2] + 1)


@T.prim_func
def largest_square(M: T.Buffer((200, 200), "int32"), S: T.Buffer((200, 200), "int32"), best: T.Buffer((1,), "int32")):
    best[0] = 0
    for i, j in T.grid(200, 200):
        if M[i, j] == 1:
            if i == 0 or j == 0:
                S[i, j] = 1
            else:
                S[i, j] = T.min(S[i - 1, j], T.min(S[i, j - 1], S[i - 1, j - 1])) + 1
        else:
            S[i, j] = 0
        best[0] = T.max(best[0], S[i, j])


@T.prim_func
def trapped_water(h: T.Buffer((4000,), "int32"), total: T.Buffer((1,), "int32")):
    left = T.alloc_buffer((4000,), "int32")
    right = T.alloc_buffer((4000,), "int32")
    left[0] = h[0]
    for i in range(1, 4000):
        left[i] = T.max(left[i - 1], h[i])
    right[3999] = h[3999]
    for i in range(1, 4000):
        right[3999 - i] = T.max(right[4000 - i], h[3999 - i])
    total[0] = 0
    for i in range(4000):
        total[0] = total[0] + T.min(left[i], right[i]) - h[i]


@T.prim_func
def cooldown(p: T.Buffer((64, 500), "float32"), best: T.Buffer((64,), "float32")):
    for s in range(64):
        hold = T.alloc_buffer((1,), "float32")
        hold[0] = T.float32(0.0) - p[s, 0]
        sold = T.alloc_buffer((1,), "float32")
        sold[0] = T.float32(0.0)
        rest = T.alloc_buffer((1,), "float32")
        rest[0] = T.float32(0.0)
        for t in range(1, 500):
            was = sold[0]
            sold[0] = hold[0] + p[s, t]
            hold[0] = T.max(hold[0], rest[0] - p[s, t])
            rest[0] = T.max(rest[0], was)
        best[s] = T.max(sold[0], rest[0])


@T.prim_func
def knapsack_2d(
    w: T.Buffer((40,), "int32"),
    b: T.Buffer((40,), "int32"),
    v: T.Buffer((40,), "int32"),
    D: T.Buffer((61, 61), "int32"),
):
    for x, y in T.grid(61, 61):
        D[x, y] = 0
    for i in range(40):
        T.assume(w[i] >= 1 and w[i] <= 20 and (b[i] >= 1) and (b[i] <= 20))
        for x in range(61):
            for y in range(61):
                if 60 - x >= w[i] and 60 - y >= b[i]:
                    D[60 - x, 60 - y] = T.max(D[60 - x, 60 - y], D[60 - x - w[i], 60 - y - b[i]] + v[i])


@T.prim_func
def bottleneck_paths(W: T.Buffer((70, 70), "float32"), nxt: T.Buffer((70, 70), "int32")):
    for i, j in T.grid(70, 70):
        nxt[i, j] = j
    for k in range(70):
        for i in range(70):
            for j in range(70):
                if T.max(W[i, k], W[k, j]) < W[i, j]:
                    W[i, j] = T.max(W[i, k], W[k, j])
                    nxt[i, j] = nxt[i, k]


@T.prim_func
def gauss_jordan(A: T.Buffer((48, 48), "float32"), X: T.Buffer((48, 48), "float32")):
    for i, j in T.grid(48, 48):
        X[i, j] = T.if_then_else(i == j, T.float32(1.0), T.float32(0.0))
    for k in range(48):
        p = T.alloc_buffer((1,), "float32")
        p[0] = A[k, k]
        for j in range(48):
            A[k, j] = A[k, j] / p[0]
            X[k, j] = X[k, j] / p[0]
        for i in range(48):
            if i != k:
                f = T.alloc_buffer((1,), "float32")
                f[0] = A[i, k]
                for j in range(48):
                    A[i, j] = A[i, j] - f[0] * A[k, j]
                    X[i, j] = X[i, j] - f[0] * X[k, j]


@T.prim_func
def ldl(A: T.Buffer((60, 60), "float32"), L: T.Buffer((60, 60), "float32"), D: T.Buffer((60,), "float32")):
    for j in range(60):
        D[j] = A[j, j]
        for k in range(j):
            D[j] = D[j] - L[j, k] * L[j, k] * D[k]
        L[j, j] = 1.0
        for i in range(j + 1, 60):
            L[i, j] = A[i, j]
            for k in range(j):
                L[i, j] = L[i, j] - L[i, k] * L[j, k] * D[k]
            L[i, j] = L[i, j] / D[j]


@T.prim_func
def banded_cholesky(A: T.Buffer((200, 8), "float32"), L: T.Buffer((200, 8), "float32")):
    for i in range(200):
        for d in range(8):
            L[i, d] = 0.0
    for i in range(200):
        for e in range(8):
            d = 7 - e
            if i >= d:
                s = T.alloc_buffer((1,), "float32")
                s[0] = A[i, d]
                for k in range(1, 8 - d):
                    if i - d - k >= 0:
                        s[0] = s[0] - L[i, d + k] * L[i - d, k]
                if d == 0:
                    L[i, 0] = T.sqrt(s[0])
                else:
                    L[i, d] = s[0] / L[i - d, 0]


@T.prim_func
def ntt(a: T.Buffer((256,), "int32"), w: T.Buffer((256,), "int32"), out: T.Buffer((256,), "int32")):
    for k in range(256):
        T.assume(a[k] >= 0 and a[k] < 257 and (w[k] >= 0) and (w[k] < 257))
    for k in range(256):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for n in range(256):
            s[0] = (s[0] + a[n] * w[k * n % 256]) % 257
        out[k] = s[0]


@T.prim_func
def synthetic_division(
    c: T.Buffer((100, 300), "float32"), r: T.Buffer((100,), "float32"), q: T.Buffer((100, 300), "float32")
):
    for p in range(100):
        q[p, 0] = c[p, 0]
        for k in range(1, 300):
            q[p, k] = c[p, k] + r[p] * q[p, k - 1]


@T.prim_func
def clenshaw(c: T.Buffer((24,), "float32"), x: T.Buffer((5000,), "float32"), y: T.Buffer((5000,), "float32")):
    for i in range(5000):
        b1 = T.alloc_buffer((1,), "float32")
        b1[0] = T.float32(0.0)
        b2 = T.alloc_buffer((1,), "float32")
        b2[0] = T.float32(0.0)
        for k in range(23):
            t = 2.0 * x[i] * b1[0] - b2[0] + c[23 - k]
            b2[0] = b1[0]
            b1[0] = t
        y[i] = x[i] * b1[0] - b2[0] + c[0]


@T.prim_func
def quadrature(
    n: T.Buffer((16,), "float32"),
    w: T.Buffer((16,), "float32"),
    a: T.Buffer((400,), "float32"),
    b: T.Buffer((400,), "float32"),
    I: T.Buffer((400,), "float32"),
):
    for k in range(400):
        I[k] = 0.0
        for i, j in T.grid(16, 16):
            I[k] = I[k] + w[i] * w[j] * T.exp(0.0 - a[k] * n[i] * n[i]) * T.cos(b[k] * n[i] * n[j])


@T.prim_func
def box_overlaps(
    A: T.Buffer((200, 4), "float32"),
    B: T.Buffer((100, 4), "float32"),
    M: T.Buffer((200,), "float32"),
    which: T.Buffer((200,), "int32"),
):
    for i in range(200):
        M[i] = -1.0
        which[i] = -1
        for j in range(100):
            w = T.max(T.min(A[i, 2], B[j, 2]) - T.max(A[i, 0], B[j, 0]), 0.0)
            h = T.max(T.min(A[i, 3], B[j, 3]) - T.max(A[i, 1], B[j, 1]), 0.0)
            u = (A[i, 2] - A[i, 0]) * (A[i, 3] - A[i, 1]) + (B[j, 2] - B[j, 0]) * (B[j, 3] - B[j, 1]) - w * h
            if w * h / u > M[i]:
                M[i] = w * h / u
                which[i] = j


@T.prim_func
def expert_slots(
    choice: T.Buffer((600,), "int32"),
    X: T.Buffer((600, 32), "float32"),
    slot: T.Buffer((600,), "int32"),
    Y: T.Buffer((8, 64, 32), "float32"),
):
    used = T.alloc_buffer((8,), "int32")
    for e in range(8):
        used[e] = 0
        for s, d in T.grid(64, 32):
            Y[e, s, d] = 0.0
    for t in range(600):
        T.assume(choice[t] >= 0 and choice[t] < 8)
        slot[t] = used[choice[t]]
        used[choice[t]] = used[choice[t]] + 1
        if slot[t] < 64:
            for d in range(32):
                Y[choice[t], slot[t], d] = X[t, d]


@T.prim_func
def roi_align(
    F: T.Buffer((16, 50, 50), "float32"), R: T.Buffer((20, 4), "float32"), O: T.Buffer((20, 16, 7, 7), "float32")
):
    for r, c, y, x in T.grid(20, 16, 7, 7):
        fy = T.min(T.max(R[r, 1] + (T.cast(y, "float32") + 0.5) * (R[r, 3] - R[r, 1]) / 7.0, 0.0), 48.5)
        fx = T.min(T.max(R[r, 0] + (T.cast(x, "float32") + 0.5) * (R[r, 2] - R[r, 0]) / 7.0, 0.0), 48.5)
        y0 = T.cast(fy, "int32")
        x0 = T.cast(fx, "int32")
        a = fy - T.cast(y0, "float32")
        b = fx - T.cast(x0, "float32")
        O[r, c, y, x] = (1.0 - a) * ((1.0 - b) * F[c, y0, x0] + b * F[c, y0, x0 + 1]) + a * (
            (1.0 - b) * F[c, y0 + 1, x0] + b * F[c, y0 + 1, x0 + 1]
        )


@T.prim_func
def channel_shuffle(X: T.Buffer((8, 48, 20, 20), "float32"), Y: T.Buffer((8, 48, 20, 20), "float32")):
    for n, c, y, x in T.grid(8, 48, 20, 20):
        Y[n, c % 16 * 3 + c // 16, y, x] = T.max(X[n, c, y, x], 0.0)


@T.prim_func
def bidirectional(
    X: T.Buffer((60, 16), "float32"),
    W: T.Buffer((16, 24), "float32"),
    U: T.Buffer((24, 24), "float32"),
    H: T.Buffer((60, 48), "float32"),
):
    for t in range(60):
        for j in range(24):
            s = T.alloc_buffer((1,), "float32")
            s[0] = T.float32(0.0)
            for i in range(16):
                s[0] = s[0] + X[t, i] * W[i, j]
            if t > 0:
                for i in range(24):
                    s[0] = s[0] + H[t - 1, i] * U[i, j]
            H[t, j] = T.tanh(s[0])
    for k in range(60):
        for j in range(24):
            s = T.alloc_buffer((1,), "float32")
            s[0] = T.float32(0.0)
            for i in range(16):
                s[0] = s[0] + X[59 - k, i] * W[i, j]
            if k > 0:
                for i in range(24):
                    s[0] = s[0] + H[60 - k, 24 + i] * U[i, j]
            H[59 - k, 24 + j] = T.tanh(s[0])


@T.prim_func
def wavenet_gate(
    X: T.Buffer((16, 400), "float32"),
    F: T.Buffer((16, 16, 2), "float32"),
    G: T.Buffer((16, 16, 2), "float32"),
    Y: T.Buffer((16, 400), "float32"),
):
    for o, t in T.grid(16, 400):
        f = T.alloc_buffer((1,), "float32")
        f[0] = T.float32(0.0)
        g = T.alloc_buffer((1,), "float32")
        g[0] = T.float32(0.0)
        for c in range(16):
            f[0] = f[0] + F[o, c, 1] * X[c, t]
            g[0] = g[0] + G[o, c, 1] * X[c, t]
            if t >= 8:
                f[0] = f[0] + F[o, c, 0] * X[c, t - 8]
                g[0] = g[0] + G[o, c, 0] * X[c, t - 8]
        Y[o, t] = X[o, t] + T.tanh(f[0]) / (1.0 + T.exp(0.0 - g[0]))


@T.prim_func
def focal_dice(P: T.Buffer((64, 400), "float32"), Y: T.Buffer((64, 400), "float32"), L: T.Buffer((64, 2), "float32")):
    for n in range(64):
        inter = T.alloc_buffer((1,), "float32")
        inter[0] = T.float32(0.0)
        sp = T.alloc_buffer((1,), "float32")
        sp[0] = T.float32(0.0)
        sy = T.alloc_buffer((1,), "float32")
        sy[0] = T.float32(0.0)
        fl = T.alloc_buffer((1,), "float32")
        fl[0] = T.float32(0.0)
        for i in range(400):
            inter[0] = inter[0] + P[n, i] * Y[n, i]
            sp[0] = sp[0] + P[n, i]
            sy[0] = sy[0] + Y[n, i]
            pt = T.if_then_else(Y[n, i] > 0.5, P[n, i], 1.0 - P[n, i])
            fl[0] = fl[0] - (1.0 - pt) * (1.0 - pt) * T.log(pt + 1e-06)
        L[n, 0] = fl[0] / 400.0
        L[n, 1] = 1.0 - 2.0 * inter[0] / (sp[0] + sy[0] + 1.0)


@T.prim_func
def kv_append(
    pos: T.int32,
    k: T.Buffer((8, 64), "float32"),
    K: T.Buffer((8, 256, 64), "float32"),
    q: T.Buffer((8, 64), "float32"),
    S: T.Buffer((8, 256), "float32"),
):
    T.assume(pos >= 0 and pos < 256)
    for h, d in T.grid(8, 64):
        K[h, pos, d] = k[h, d]
    for h, t in T.grid(8, 256):
        S[h, t] = -1000000000.0
        if t <= pos:
            S[h, t] = 0.0
            for d in range(64):
                S[h, t] = S[h, t] + q[h, d] * K[h, t, d]


@T.prim_func
def jump_flood(sx: T.Buffer((64, 64), "int32"), sy: T.Buffer((64, 64), "int32"), D: T.Buffer((64, 64), "int32")):
    tx = T.alloc_buffer((64, 64), "int32")
    ty = T.alloc_buffer((64, 64), "int32")
    for i, j in T.grid(64, 64):
        T.assume(sx[i, j] >= -200 and sx[i, j] < 64 and (sy[i, j] >= -200) and (sy[i, j] < 64))
    for s in range(6):
        step = T.int32(32) >> s
        for i, j in T.grid(64, 64):
            tx[i, j] = sx[i, j]
            ty[i, j] = sy[i, j]
            for u, v in T.grid(3, 3):
                a = i + (u - 1) * step
                b = j + (v - 1) * step
                if a >= 0 and a < 64 and (b >= 0) and (b < 64):
                    if (sx[a, b] - i) * (sx[a, b] - i) + (sy[a, b] - j) * (sy[a, b] - j) < (tx[i, j] - i) * (
                        tx[i, j] - i
                    ) + (ty[i, j] - j) * (ty[i, j] - j):
                        tx[i, j] = sx[a, b]
                        ty[i, j] = sy[a, b]
        for i, j in T.grid(64, 64):
            sx[i, j] = tx[i, j]
            sy[i, j] = ty[i, j]
    for i, j in T.grid(64, 64):
        D[i, j] = (sx[i, j] - i) * (sx[i, j] - i) + (sy[i, j] - j) * (sy[i, j] - j)


@T.prim_func
def yin_difference(x: T.Buffer((2048,), "float32"), d: T.Buffer((400,), "float32"), c: T.Buffer((400,), "float32")):
    s = T.alloc_buffer((1,), "float32")
    s[0] = 0.0
    for t in range(400):
        d[t] = 0.0
        for i in range(1024):
            d[t] = d[t] + (x[i] - x[i + t]) * (x[i] - x[i + t])
        s[0] = s[0] + d[t]
        c[t] = 1.0
        if t > 0 and s[0] > 0.0:
            c[t] = d[t] * T.cast(t, "float32") / s[0]


@T.prim_func
def mel_filterbank(
    P: T.Buffer((200, 257), "float32"), f: T.Buffer((42,), "float32"), M: T.Buffer((200, 40), "float32")
):
    for t, m in T.grid(200, 40):
        M[t, m] = 0.0
        for k in range(257):
            up = (T.cast(k, "float32") - f[m]) / (f[m + 1] - f[m])
            down = (f[m + 2] - T.cast(k, "float32")) / (f[m + 2] - f[m + 1])
            M[t, m] = M[t, m] + P[t, k] * T.max(0.0, T.min(up, down))
        M[t, m] = T.log(M[t, m] + 1e-06)


@T.prim_func
def bollinger(P: T.Buffer((64, 1000), "float32"), U: T.Buffer((64, 981), "float32"), L: T.Buffer((64, 981), "float32")):
    for a, t in T.grid(64, 981):
        m = T.alloc_buffer((1,), "float32")
        v = T.alloc_buffer((1,), "float32")
        m[0] = 0.0
        for k in range(20):
            m[0] = m[0] + P[a, t + k]
        m[0] = m[0] / 20.0
        v[0] = 0.0
        for k in range(20):
            v[0] = v[0] + (P[a, t + k] - m[0]) * (P[a, t + k] - m[0])
        U[a, t] = m[0] + 2.0 * T.sqrt(v[0] / 20.0)
        L[a, t] = m[0] - 2.0 * T.sqrt(v[0] / 20.0)


@T.prim_func
def stochastic_oscillator(
    H: T.Buffer((32, 800), "float32"),
    L: T.Buffer((32, 800), "float32"),
    C: T.Buffer((32, 800), "float32"),
    K: T.Buffer((32, 800), "float32"),
):
    for a, t in T.grid(32, 800):
        hi = T.alloc_buffer((1,), "float32")
        lo = T.alloc_buffer((1,), "float32")
        hi[0] = H[a, t]
        lo[0] = L[a, t]
        for k in range(14):
            if t - k >= 0:
                hi[0] = T.max(hi[0], H[a, t - k])
                lo[0] = T.min(lo[0], L[a, t - k])
        K[a, t] = 50.0
        if hi[0] > lo[0]:
            K[a, t] = 100.0 * (C[a, t] - lo[0]) / (hi[0] - lo[0])


@T.prim_func
def ohlc_bars(P: T.Buffer((24000,), "float32"), V: T.Buffer((24000,), "float32"), B: T.Buffer((400, 6), "float32")):
    for b in range(400):
        B[b, 0] = P[60 * b]
        B[b, 1] = P[60 * b]
        B[b, 2] = P[60 * b]
        B[b, 4] = 0.0
        B[b, 5] = 0.0
        for k in range(60):
            B[b, 1] = T.max(B[b, 1], P[60 * b + k])
            B[b, 2] = T.min(B[b, 2], P[60 * b + k])
            B[b, 4] = B[b, 4] + V[60 * b + k]
            B[b, 5] = B[b, 5] + V[60 * b + k] * P[60 * b + k]
        B[b, 3] = P[60 * b + 59]
        B[b, 5] = B[b, 5] / (B[b, 4] + 1.0)


@T.prim_func
def swap_curve(r: T.Buffer((64, 60), "float32"), z: T.Buffer((64, 60), "float32")):
    for c in range(64):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for i in range(60):
            z[c, i] = (1.0 - 0.5 * r[c, i] * s[0]) / (1.0 + 0.5 * r[c, i])
            s[0] = s[0] + z[c, i]


@T.prim_func
def risk_covariance(R: T.Buffer((500, 24), "float32"), S: T.Buffer((24, 24), "float32")):
    for i, j in T.grid(24, 24):
        S[i, j] = 0.0
    for t in range(500):
        for i, j in T.grid(24, 24):
            S[i, j] = 0.94 * S[i, j] + 0.06 * R[t, i] * R[t, j]


@T.prim_func
def heston(Z: T.Buffer((100, 2000, 2), "float32"), S: T.Buffer((2000,), "float32"), p: T.Buffer((1,), "float32")):
    v = T.alloc_buffer((2000,), "float32")
    for i in range(2000):
        v[i] = 0.04
        S[i] = 100.0
        for t in range(100):
            w = T.max(v[i], 0.0)
            e = T.sqrt(w * 0.01)
            S[i] = S[i] * T.exp(-0.005 * w + e * Z[t, i, 0])
            v[i] = v[i] + 0.015 * (0.04 - w) + 0.3 * e * (-0.7 * Z[t, i, 0] + 0.714 * Z[t, i, 1])
    p[0] = 0.0
    for i in range(2000):
        p[0] = p[0] + T.max(S[i] - 100.0, 0.0) / 2000.0


@T.prim_func
def trinomial_american(K: T.Buffer((16,), "float32"), V: T.Buffer((16, 257), "float32")):
    N = T.alloc_buffer((16, 257), "float32")
    for k, j in T.grid(16, 257):
        V[k, j] = T.max(K[k] - 100.0 * T.exp(0.03 * T.cast(j - 128, "float32")), 0.0)
    for s in range(128):
        for k, j in T.grid(16, 257):
            N[k, j] = V[k, j]
            if j > s and j < 256 - s:
                N[k, j] = T.max(
                    K[k] - 100.0 * T.exp(0.03 * T.cast(j - 128, "float32")),
                    0.999 * (0.17 * V[k, j - 1] + 0.66 * V[k, j] + 0.17 * V[k, j + 1]),
                )
        for k, j in T.grid(16, 257):
            V[k, j] = N[k, j]


@T.prim_func
def bounce_back_stream(
    F: T.Buffer((9, 128, 128), "float32"),
    S: T.Buffer((128, 128), "int32"),
    ex: T.Buffer((9,), "int32"),
    ey: T.Buffer((9,), "int32"),
    opp: T.Buffer((9,), "int32"),
    G: T.Buffer((9, 128, 128), "float32"),
):
    for q in range(9):
        T.assume(ex[q] >= -1 and ex[q] <= 1 and ey[q] >= -1 and ey[q] <= 1 and opp[q] >= 0 and opp[q] < 9)
    for q, y, x in T.grid(9, 128, 128):
        if S[(y - ey[q] + 128) % 128, (x - ex[q] + 128) % 128] == 1:
            G[q, y, x] = F[opp[q], y, x]
        else:
            G[q, y, x] = F[q, (y - ey[q] + 128) % 128, (x - ex[q] + 128) % 128]


@T.prim_func
def neighbour_forces(
    X: T.Buffer((2000, 3), "float32"),
    nbr: T.Buffer((2000, 32), "int32"),
    cnt: T.Buffer((2000,), "int32"),
    F: T.Buffer((2000, 3), "float32"),
):
    for i in range(2000):
        T.assume(cnt[i] >= 0 and cnt[i] <= 32)
        for d in range(3):
            F[i, d] = 0.0
        for k in range(32):
            T.assume(nbr[i, k] >= 0 and nbr[i, k] < 2000)
            if k < cnt[i]:
                r = T.alloc_buffer((1,), "float32")
                r[0] = 0.01
                for d in range(3):
                    r[0] = r[0] + (X[i, d] - X[nbr[i, k], d]) * (X[i, d] - X[nbr[i, k], d])
                for d in range(3):
                    F[i, d] = F[i, d] + (X[i, d] - X[nbr[i, k], d]) * (1.0 / (r[0] * r[0]) - 0.5 / r[0])


@T.prim_func
def structure_factor(
    r: T.Buffer((500, 3), "float32"), k: T.Buffer((300, 3), "float32"), S: T.Buffer((300,), "float32")
):
    for q in range(300):
        c = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        c[0] = 0.0
        s[0] = 0.0
        for j in range(500):
            ph = k[q, 0] * r[j, 0] + k[q, 1] * r[j, 1] + k[q, 2] * r[j, 2]
            c[0] = c[0] + T.cos(ph)
            s[0] = s[0] + T.sin(ph)
        S[q] = (c[0] * c[0] + s[0] * s[0]) / 500.0


@T.prim_func
def kuramoto(w: T.Buffer((256,), "float32"), th: T.Buffer((256,), "float32"), order: T.Buffer((50,), "float32")):
    d = T.alloc_buffer((256,), "float32")
    for t in range(50):
        for i in range(256):
            d[i] = w[i]
            for j in range(256):
                d[i] = d[i] + 0.008 * T.sin(th[j] - th[i])
        for i in range(256):
            th[i] = th[i] + 0.05 * d[i]
        c = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        c[0] = 0.0
        s[0] = 0.0
        for i in range(256):
            c[0] = c[0] + T.cos(th[i])
            s[0] = s[0] + T.sin(th[i])
        order[t] = T.sqrt(c[0] * c[0] + s[0] * s[0]) / 256.0


@T.prim_func
def spiking_network(
    W: T.Buffer((200, 200), "float32"),
    I: T.Buffer((300, 200), "float32"),
    v: T.Buffer((200,), "float32"),
    count: T.Buffer((200,), "int32"),
):
    s = T.alloc_buffer((200,), "float32")
    for i in range(200):
        v[i] = 0.0
        s[i] = 0.0
        count[i] = 0
    u = T.alloc_buffer((200,), "float32")
    for t in range(300):
        for i in range(200):
            u[i] = I[t, i]
            for j in range(200):
                u[i] = u[i] + W[i, j] * s[j]
        for i in range(200):
            v[i] = 0.9 * v[i] + u[i]
            s[i] = 0.0
            if v[i] > 1.0:
                v[i] = 0.0
                s[i] = 1.0
                count[i] = count[i] + 1


@T.prim_func
def metapopulation(
    M: T.Buffer((100, 100), "float32"),
    beta: T.Buffer((100,), "float32"),
    S: T.Buffer((100,), "float32"),
    E: T.Buffer((100,), "float32"),
    I: T.Buffer((100,), "float32"),
    peak: T.Buffer((100,), "float32"),
):
    f = T.alloc_buffer((100,), "float32")
    for p in range(100):
        peak[p] = 0.0
    for t in range(200):
        for p in range(100):
            f[p] = 0.0
            for q in range(100):
                f[p] = f[p] + M[p, q] * I[q]
        for p in range(100):
            new = beta[p] * S[p] * f[p] * 0.1
            S[p] = S[p] - new
            sick = 0.02 * E[p]
            E[p] = E[p] + new - sick
            I[p] = I[p] + sick - 0.01 * I[p]
            peak[p] = T.max(peak[p], I[p])


@T.prim_func
def wireworld(G: T.Buffer((96, 96), "int32"), H: T.Buffer((96, 96), "int32")):
    for t in range(40):
        for i, j in T.grid(96, 96):
            heads = T.alloc_buffer((1,), "int32")
            heads[0] = 0
            for u, v in T.grid(3, 3):
                if i + u >= 1 and i + u < 97 and j + v >= 1 and j + v < 97:
                    if G[i + u - 1, j + v - 1] == 1:
                        heads[0] = heads[0] + 1
            H[i, j] = 0
            if G[i, j] == 1:
                H[i, j] = 2
            if G[i, j] == 2:
                H[i, j] = 3
            if G[i, j] == 3:
                H[i, j] = 3
                if heads[0] == 1 or heads[0] == 2:
                    H[i, j] = 1
        for i, j in T.grid(96, 96):
            G[i, j] = H[i, j]


@T.prim_func
def longest_match(s: T.Buffer((1024,), "uint8"), n: T.Buffer((1024,), "int32"), off: T.Buffer((1024,), "int32")):
    for i in range(1024):
        n[i] = 0
        off[i] = 0
        for d in range(1, 33):
            if i - d >= 0:
                m = T.alloc_buffer((1,), "int32")
                go = T.alloc_buffer((1,), "int32")
                m[0] = 0
                go[0] = 1
                for k in range(16):
                    if i + k < 1024:
                        if go[0] == 1 and s[i + k] == s[i - d + k]:
                            m[0] = m[0] + 1
                        else:
                            go[0] = 0
                if m[0] > n[i]:
                    n[i] = m[0]
                    off[i] = d


@T.prim_func
def move_to_front(x: T.Buffer((1000,), "int32"), y: T.Buffer((1000,), "int32")):
    table = T.alloc_buffer((64,), "int32")
    for k in range(64):
        table[k] = k
    for t in range(1000):
        T.assume(x[t] >= 0 and x[t] < 64)
        at = T.alloc_buffer((1,), "int32")
        at[0] = 0
        for k in range(64):
            if table[k] == x[t]:
                at[0] = k
        y[t] = at[0]
        for k in range(63):
            if 63 - k <= at[0]:
                table[63 - k] = table[62 - k]
        table[0] = x[t]


@T.prim_func
def totients(phi: T.Buffer((2000,), "int32")):
    for i in range(2000):
        phi[i] = i
    for p in range(2, 2000):
        if phi[p] == p:
            for j in range(2000):
                if j % p == 0 and j >= p:
                    phi[j] = phi[j] // p * (p - 1)


@T.prim_func
def divisor_sums(s: T.Buffer((3000,), "int32"), perfect: T.Buffer((1,), "int32")):
    for i in range(3000):
        s[i] = 0
    for d in range(1, 1500):
        for m in range(2, 3000):
            if d * m < 3000:
                s[d * m] = s[d * m] + d
    perfect[0] = 0
    for i in range(1, 3000):
        if s[i] == i:
            perfect[0] = perfect[0] + 1


@T.prim_func
def partition_numbers(p: T.Buffer((400,), "int32")):
    for i in range(400):
        p[i] = 0
    p[0] = 1
    for k in range(1, 400):
        for i in range(400):
            if i >= k:
                p[i] = (p[i] + p[i - k]) % 1000003


@T.prim_func
def stirling(S: T.Buffer((128, 128), "int32")):
    for n, k in T.grid(128, 128):
        S[n, k] = 0
    S[0, 0] = 1
    for n in range(1, 128):
        for k in range(1, 128):
            S[n, k] = (S[n - 1, k - 1] + k * S[n - 1, k]) % 1000003


@T.prim_func
def digit_sums(x: T.Buffer((20000,), "int32"), s: T.Buffer((20000,), "int32"), root: T.Buffer((20000,), "int32")):
    for i in range(20000):
        T.assume(x[i] >= 0)
        v = T.alloc_buffer((1,), "int32")
        v[0] = x[i]
        s[i] = 0
        for k in range(10):
            s[i] = s[i] + v[0] % 10
            v[0] = v[0] // 10
        root[i] = 0
        if x[i] > 0:
            root[i] = 1 + (x[i] - 1) % 9


@T.prim_func
def mertens(mu: T.Buffer((2000,), "int32"), M: T.Buffer((2000,), "int32")):
    for i in range(2000):
        mu[i] = 0
    mu[1] = 1
    for i in range(1, 1000):
        for j in range(2, 2000):
            if i * j < 2000:
                mu[i * j] = mu[i * j] - mu[i]
    M[0] = 0
    for i in range(1, 2000):
        M[i] = M[i - 1] + mu[i]


@T.prim_func
def closest_pair(P: T.Buffer((1000, 2), "float32"), d: T.Buffer((1,), "float32"), a: T.Buffer((2,), "int32")):
    d[0] = 1e30
    a[0] = -1
    a[1] = -1
    for i in range(1000):
        for j in range(1000):
            if j > i:
                q = (P[i, 0] - P[j, 0]) * (P[i, 0] - P[j, 0]) + (P[i, 1] - P[j, 1]) * (P[i, 1] - P[j, 1])
                if q < d[0]:
                    d[0] = q
                    a[0] = i
                    a[1] = j


@T.prim_func
def segment_crossings(S: T.Buffer((400, 4), "float32"), n: T.Buffer((400,), "int32")):
    for i in range(400):
        n[i] = 0
        for j in range(400):
            d1 = (S[i, 2] - S[i, 0]) * (S[j, 1] - S[i, 1]) - (S[i, 3] - S[i, 1]) * (S[j, 0] - S[i, 0])
            d2 = (S[i, 2] - S[i, 0]) * (S[j, 3] - S[i, 1]) - (S[i, 3] - S[i, 1]) * (S[j, 2] - S[i, 0])
            d3 = (S[j, 2] - S[j, 0]) * (S[i, 1] - S[j, 1]) - (S[j, 3] - S[j, 1]) * (S[i, 0] - S[j, 0])
            d4 = (S[j, 2] - S[j, 0]) * (S[i, 3] - S[j, 1]) - (S[j, 3] - S[j, 1]) * (S[i, 2] - S[j, 0])
            if i != j and d1 * d2 < 0.0 and d3 * d4 < 0.0:
                n[i] = n[i] + 1


@T.prim_func
def point_to_segments(
    P: T.Buffer((600, 2), "float32"),
    S: T.Buffer((200, 4), "float32"),
    d: T.Buffer((600,), "float32"),
    w: T.Buffer((600,), "int32"),
):
    for i in range(600):
        d[i] = 1e30
        w[i] = -1
        for s in range(200):
            ux = S[s, 2] - S[s, 0]
            uy = S[s, 3] - S[s, 1]
            t = ((P[i, 0] - S[s, 0]) * ux + (P[i, 1] - S[s, 1]) * uy) / (ux * ux + uy * uy + 1e-06)
            c = T.min(T.max(t, 0.0), 1.0)
            dx = P[i, 0] - S[s, 0] - c * ux
            dy = P[i, 1] - S[s, 1] - c * uy
            if dx * dx + dy * dy < d[i]:
                d[i] = dx * dx + dy * dy
                w[i] = s


@T.prim_func
def bspline_basis(u: T.Buffer((2000,), "float32"), t: T.Buffer((24,), "float32"), N: T.Buffer((2000, 20), "float32")):
    B = T.alloc_buffer((2000, 23), "float32")
    for i, j in T.grid(2000, 23):
        B[i, j] = 0.0
        if u[i] >= t[j] and u[i] < t[j + 1]:
            B[i, j] = 1.0
    for p in range(1, 4):
        for i, j in T.grid(2000, 22):
            if j + p < 23:
                B[i, j] = (u[i] - t[j]) / (t[j + p] - t[j]) * B[i, j] + (t[j + p + 1] - u[i]) / (
                    t[j + p + 1] - t[j + 1]
                ) * B[i, j + 1]
    for i, j in T.grid(2000, 20):
        N[i, j] = B[i, j]


@T.prim_func
def slab_tests(
    O: T.Buffer((500, 3), "float32"),
    D: T.Buffer((500, 3), "float32"),
    L: T.Buffer((64, 3), "float32"),
    H: T.Buffer((64, 3), "float32"),
    hit: T.Buffer((500,), "int32"),
    at: T.Buffer((500,), "float32"),
):
    for r in range(500):
        hit[r] = -1
        at[r] = 1e30
        for b in range(64):
            lo = T.alloc_buffer((1,), "float32")
            hi = T.alloc_buffer((1,), "float32")
            lo[0] = 0.0
            hi[0] = 1e30
            for d in range(3):
                a = (L[b, d] - O[r, d]) / D[r, d]
                c = (H[b, d] - O[r, d]) / D[r, d]
                lo[0] = T.max(lo[0], T.min(a, c))
                hi[0] = T.min(hi[0], T.max(a, c))
            if lo[0] <= hi[0] and lo[0] < at[r]:
                at[r] = lo[0]
                hit[r] = b


@T.prim_func
def gaussian_pyramid(
    A: T.Buffer((256, 256), "float32"),
    w: T.Buffer((5,), "float32"),
    B: T.Buffer((128, 128), "float32"),
    C: T.Buffer((64, 64), "float32"),
):
    for i, j in T.grid(128, 128):
        B[i, j] = 0.0
        for u, v in T.grid(5, 5):
            B[i, j] = (
                B[i, j] + w[u] * w[v] * A[T.min(T.max(2 * i + u - 2, 0), 255), T.min(T.max(2 * j + v - 2, 0), 255)]
            )
    for i, j in T.grid(64, 64):
        C[i, j] = 0.0
        for u, v in T.grid(5, 5):
            C[i, j] = (
                C[i, j] + w[u] * w[v] * B[T.min(T.max(2 * i + u - 2, 0), 127), T.min(T.max(2 * j + v - 2, 0), 127)]
            )


@T.prim_func
def sharpen_bytes(A: T.Buffer((300, 400), "uint8"), B: T.Buffer((300, 400), "uint8")):
    for i, j in T.grid(300, 400):
        if i > 0 and i < 299 and j > 0 and j < 399:
            v = (
                5 * T.cast(A[i, j], "int32")
                - T.cast(A[i - 1, j], "int32")
                - T.cast(A[i + 1, j], "int32")
                - T.cast(A[i, j - 1], "int32")
                - T.cast(A[i, j + 1], "int32")
            )
            B[i, j] = T.cast(T.min(T.max(v, 0), 255), "uint8")
        else:
            B[i, j] = A[i, j]


@T.prim_func
def adaptive_threshold(A: T.Buffer((200, 200), "float32"), B: T.Buffer((200, 200), "int32")):
    for i, j in T.grid(200, 200):
        s = T.alloc_buffer((1,), "float32")
        n = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        n[0] = 0.0
        for u, v in T.grid(15, 15):
            if i + u >= 7 and i + u < 207 and j + v >= 7 and j + v < 207:
                s[0] = s[0] + A[i + u - 7, j + v - 7]
                n[0] = n[0] + 1.0
        B[i, j] = 0
        if A[i, j] > s[0] / n[0] + 0.1:
            B[i, j] = 1


@T.prim_func
def guided_filter(
    I: T.Buffer((160, 160), "float32"), p: T.Buffer((160, 160), "float32"), q: T.Buffer((152, 152), "float32")
):
    a = T.alloc_buffer((156, 156), "float32")
    b = T.alloc_buffer((156, 156), "float32")
    for i, j in T.grid(156, 156):
        mi = T.alloc_buffer((1,), "float32")
        mp = T.alloc_buffer((1,), "float32")
        ip = T.alloc_buffer((1,), "float32")
        ii = T.alloc_buffer((1,), "float32")
        mi[0] = 0.0
        mp[0] = 0.0
        ip[0] = 0.0
        ii[0] = 0.0
        for u, v in T.grid(5, 5):
            mi[0] = mi[0] + I[i + u, j + v] / 25.0
            mp[0] = mp[0] + p[i + u, j + v] / 25.0
            ip[0] = ip[0] + I[i + u, j + v] * p[i + u, j + v] / 25.0
            ii[0] = ii[0] + I[i + u, j + v] * I[i + u, j + v] / 25.0
        a[i, j] = (ip[0] - mi[0] * mp[0]) / (ii[0] - mi[0] * mi[0] + 0.1)
        b[i, j] = mp[0] - a[i, j] * mi[0]
    for i, j in T.grid(152, 152):
        q[i, j] = 0.0
        for u, v in T.grid(5, 5):
            q[i, j] = q[i, j] + (a[i + u, j + v] * I[i + 4, j + 4] + b[i + u, j + v]) / 25.0


@T.prim_func
def template_ssd(
    A: T.Buffer((96, 96), "float32"),
    P: T.Buffer((16, 16), "float32"),
    D: T.Buffer((81, 81), "float32"),
    best: T.Buffer((2,), "int32"),
):
    low = T.alloc_buffer((1,), "float32")
    low[0] = 1e30
    best[0] = 0
    best[1] = 0
    for i, j in T.grid(81, 81):
        D[i, j] = 0.0
        for u, v in T.grid(16, 16):
            D[i, j] = D[i, j] + (A[i + u, j + v] - P[u, v]) * (A[i + u, j + v] - P[u, v])
    for i, j in T.grid(81, 81):
        if D[i, j] < low[0]:
            low[0] = D[i, j]
            best[0] = i
            best[1] = j


@T.prim_func
def poisson_blend(
    B: T.Buffer((128, 128), "float32"),
    L: T.Buffer((128, 128), "float32"),
    M: T.Buffer((128, 128), "int32"),
    F: T.Buffer((128, 128), "float32"),
):
    N = T.alloc_buffer((128, 128), "float32")
    for i, j in T.grid(128, 128):
        F[i, j] = B[i, j]
        N[i, j] = B[i, j]
    for t in range(60):
        for i in range(1, 127):
            for j in range(1, 127):
                if M[i, j] == 1:
                    N[i, j] = 0.25 * (F[i - 1, j] + F[i + 1, j] + F[i, j - 1] + F[i, j + 1] - L[i, j])
        for i in range(1, 127):
            for j in range(1, 127):
                F[i, j] = N[i, j]


@T.prim_func
def orientation_histogram(A: T.Buffer((130, 130), "float32"), H: T.Buffer((16, 16, 8), "float32")):
    for a, b, o in T.grid(16, 16, 8):
        H[a, b, o] = 0.0
    for i, j in T.grid(128, 128):
        gx = A[i + 1, j + 2] - A[i + 1, j]
        gy = A[i + 2, j + 1] - A[i, j + 1]
        o = T.cast(gx > 0.0, "int32") + 2 * T.cast(gy > 0.0, "int32") + 4 * T.cast(T.abs(gx) > T.abs(gy), "int32")
        H[i // 8, j // 8, o] = H[i // 8, j // 8, o] + T.sqrt(gx * gx + gy * gy)


@T.prim_func
def infonce(A: T.Buffer((256, 64), "float32"), B: T.Buffer((256, 64), "float32"), loss: T.Buffer((1,), "float32")):
    S = T.alloc_buffer((256, 256), "float32")
    na = T.alloc_buffer((256,), "float32")
    nb = T.alloc_buffer((256,), "float32")
    for i in range(256):
        na[i] = 0.0
        nb[i] = 0.0
        for d in range(64):
            na[i] = na[i] + A[i, d] * A[i, d]
            nb[i] = nb[i] + B[i, d] * B[i, d]
    for i, j in T.grid(256, 256):
        S[i, j] = 0.0
        for d in range(64):
            S[i, j] = S[i, j] + A[i, d] * B[j, d]
        S[i, j] = S[i, j] / (T.sqrt(na[i]) * T.sqrt(nb[j])) * 10.0
    loss[0] = 0.0
    for i in range(256):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = S[i, 0]
        for j in range(256):
            m[0] = T.max(m[0], S[i, j])
        z[0] = 0.0
        for j in range(256):
            z[0] = z[0] + T.exp(S[i, j] - m[0])
        loss[0] = loss[0] + (m[0] + T.log(z[0]) - S[i, i]) / 256.0


@T.prim_func
def decision_stump(
    X: T.Buffer((16, 500), "float32"),
    y: T.Buffer((500,), "float32"),
    w: T.Buffer((500,), "float32"),
    t: T.Buffer((40,), "float32"),
    best: T.Buffer((3,), "float32"),
):
    best[0] = 1e30
    best[1] = 0.0
    best[2] = 0.0
    for f, k in T.grid(16, 40):
        e = T.alloc_buffer((1,), "float32")
        e[0] = 0.0
        for i in range(500):
            if (X[f, i] > t[k]) != (y[i] > 0.0):
                e[0] = e[0] + w[i]
        if e[0] < best[0]:
            best[0] = e[0]
            best[1] = T.cast(f, "float32")
            best[2] = t[k]


@T.prim_func
def split_gains(x: T.Buffer((4000, 10), "int32"), g: T.Buffer((4000,), "float32"), gain: T.Buffer((10, 31), "float32")):
    G = T.alloc_buffer((10, 32), "float32")
    N = T.alloc_buffer((10, 32), "float32")
    for f, b in T.grid(10, 32):
        G[f, b] = 0.0
        N[f, b] = 0.0
    for i, f in T.grid(4000, 10):
        T.assume(x[i, f] >= 0 and x[i, f] < 32)
        G[f, x[i, f]] = G[f, x[i, f]] + g[i]
        N[f, x[i, f]] = N[f, x[i, f]] + 1.0
    for f in range(10):
        gl = T.alloc_buffer((1,), "float32")
        nl = T.alloc_buffer((1,), "float32")
        gt = T.alloc_buffer((1,), "float32")
        nt = T.alloc_buffer((1,), "float32")
        gl[0] = 0.0
        nl[0] = 0.0
        gt[0] = 0.0
        nt[0] = 0.0
        for b in range(32):
            gt[0] = gt[0] + G[f, b]
            nt[0] = nt[0] + N[f, b]
        for b in range(31):
            gl[0] = gl[0] + G[f, b]
            nl[0] = nl[0] + N[f, b]
            gain[f, b] = gl[0] * gl[0] / (nl[0] + 1.0) + (gt[0] - gl[0]) * (gt[0] - gl[0]) / (nt[0] - nl[0] + 1.0)


@T.prim_func
def knn_vote(
    X: T.Buffer((300, 16), "float32"),
    Y: T.Buffer((200, 16), "float32"),
    c: T.Buffer((300,), "int32"),
    out: T.Buffer((200,), "int32"),
):
    D = T.alloc_buffer((200, 300), "float32")
    votes = T.alloc_buffer((200, 10), "int32")
    for q, i in T.grid(200, 300):
        T.assume(c[i] >= 0 and c[i] < 10)
        D[q, i] = 0.0
        for d in range(16):
            D[q, i] = D[q, i] + (X[i, d] - Y[q, d]) * (X[i, d] - Y[q, d])
    for q, k in T.grid(200, 10):
        votes[q, k] = 0
    for q in range(200):
        for r in range(5):
            low = T.alloc_buffer((1,), "float32")
            at = T.alloc_buffer((1,), "int32")
            low[0] = 1e30
            at[0] = 0
            for i in range(300):
                if D[q, i] < low[0]:
                    low[0] = D[q, i]
                    at[0] = i
            D[q, at[0]] = 1e30
            votes[q, c[at[0]]] = votes[q, c[at[0]]] + 1
        most = T.alloc_buffer((1,), "int32")
        most[0] = -1
        for k in range(10):
            if votes[q, k] > most[0]:
                most[0] = votes[q, k]
                out[q] = k


@T.prim_func
def perceptron(
    X: T.Buffer((1000, 32), "float32"),
    y: T.Buffer((1000,), "float32"),
    w: T.Buffer((32,), "float32"),
    miss: T.Buffer((1,), "int32"),
):
    miss[0] = 0
    for d in range(32):
        w[d] = 0.0
    for i in range(1000):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for d in range(32):
            s[0] = s[0] + w[d] * X[i, d]
        if s[0] * y[i] <= 0.0:
            miss[0] = miss[0] + 1
            for d in range(32):
                w[d] = w[d] + y[i] * X[i, d]


@T.prim_func
def rating_sgd(
    u: T.Buffer((1500,), "int32"),
    v: T.Buffer((1500,), "int32"),
    r: T.Buffer((1500,), "float32"),
    P: T.Buffer((100, 8), "float32"),
    Q: T.Buffer((80, 8), "float32"),
):
    for k in range(1500):
        T.assume(u[k] >= 0 and u[k] < 100 and v[k] >= 0 and v[k] < 80)
        e = T.alloc_buffer((1,), "float32")
        e[0] = r[k]
        for d in range(8):
            e[0] = e[0] - P[u[k], d] * Q[v[k], d]
        for d in range(8):
            p = P[u[k], d]
            P[u[k], d] = P[u[k], d] + 0.01 * (e[0] * Q[v[k], d] - 0.02 * P[u[k], d])
            Q[v[k], d] = Q[v[k], d] + 0.01 * (e[0] * p - 0.02 * Q[v[k], d])


@T.prim_func
def mixture_responsibilities(
    X: T.Buffer((1000, 8), "float32"),
    mu: T.Buffer((12, 8), "float32"),
    lv: T.Buffer((12, 8), "float32"),
    lp: T.Buffer((12,), "float32"),
    R: T.Buffer((1000, 12), "float32"),
    Nk: T.Buffer((12,), "float32"),
):
    for i in range(1000):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        for k in range(12):
            R[i, k] = lp[k]
            for d in range(8):
                R[i, k] = R[i, k] - 0.5 * (lv[k, d] + (X[i, d] - mu[k, d]) * (X[i, d] - mu[k, d]) * T.exp(-lv[k, d]))
        m[0] = -1e30
        for k in range(12):
            m[0] = T.max(m[0], R[i, k])
        z[0] = 0.0
        for k in range(12):
            R[i, k] = T.exp(R[i, k] - m[0])
            z[0] = z[0] + R[i, k]
        for k in range(12):
            R[i, k] = R[i, k] / z[0]
    for k in range(12):
        Nk[k] = 0.0
        for i in range(1000):
            Nk[k] = Nk[k] + R[i, k]


@T.prim_func
def value_iteration(R: T.Buffer((40, 40), "float32"), W: T.Buffer((40, 40), "int32"), V: T.Buffer((40, 40), "float32")):
    N = T.alloc_buffer((40, 40), "float32")
    for i, j in T.grid(40, 40):
        V[i, j] = 0.0
    for t in range(100):
        for i, j in T.grid(40, 40):
            b = T.alloc_buffer((1,), "float32")
            b[0] = -1e30
            if i > 0:
                b[0] = T.max(b[0], V[i - 1, j])
            if i < 39:
                b[0] = T.max(b[0], V[i + 1, j])
            if j > 0:
                b[0] = T.max(b[0], V[i, j - 1])
            if j < 39:
                b[0] = T.max(b[0], V[i, j + 1])
            N[i, j] = 0.0
            if W[i, j] == 0:
                N[i, j] = R[i, j] + 0.95 * b[0]
        for i, j in T.grid(40, 40):
            V[i, j] = N[i, j]


@T.prim_func
def q_learning(
    s: T.Buffer((2001,), "int32"),
    a: T.Buffer((2000,), "int32"),
    r: T.Buffer((2000,), "float32"),
    Q: T.Buffer((50, 4), "float32"),
):
    for i, k in T.grid(50, 4):
        Q[i, k] = 0.0
    for t in range(2000):
        T.assume(s[t] >= 0 and s[t] < 50 and s[t + 1] >= 0 and s[t + 1] < 50 and a[t] >= 0 and a[t] < 4)
        m = T.alloc_buffer((1,), "float32")
        m[0] = Q[s[t + 1], 0]
        for k in range(1, 4):
            m[0] = T.max(m[0], Q[s[t + 1], k])
        Q[s[t], a[t]] = Q[s[t], a[t]] + 0.1 * (r[t] + 0.9 * m[0] - Q[s[t], a[t]])


@T.prim_func
def bandit_ucb(X: T.Buffer((1000, 16), "float32"), n: T.Buffer((16,), "float32"), total: T.Buffer((1,), "float32")):
    s = T.alloc_buffer((16,), "float32")
    for k in range(16):
        n[k] = 1.0
        s[k] = 0.5
    total[0] = 0.0
    for t in range(1000):
        best = T.alloc_buffer((1,), "float32")
        at = T.alloc_buffer((1,), "int32")
        best[0] = -1e30
        at[0] = 0
        for k in range(16):
            v = s[k] / n[k] + T.sqrt(2.0 * T.log(T.cast(t + 2, "float32")) / n[k])
            if v > best[0]:
                best[0] = v
                at[0] = k
        n[at[0]] = n[at[0]] + 1.0
        s[at[0]] = s[at[0]] + X[t, at[0]]
        total[0] = total[0] + X[t, at[0]]


@T.prim_func
def systematic_resampling(
    w: T.Buffer((1024,), "float32"), u: T.Buffer((1,), "float32"), at: T.Buffer((1024,), "int32")
):
    c = T.alloc_buffer((1024,), "float32")
    c[0] = w[0]
    for i in range(1, 1024):
        c[i] = c[i - 1] + w[i]
    for i in range(1024):
        at[i] = 0
        for j in range(1024):
            if c[j] < (T.cast(i, "float32") + u[0]) / 1024.0 * c[1023]:
                at[i] = at[i] + 1


@T.prim_func
def sessions(
    user: T.Buffer((5000,), "int32"),
    time: T.Buffer((5000,), "int32"),
    sid: T.Buffer((5000,), "int32"),
    length: T.Buffer((5000,), "int32"),
):
    sid[0] = 0
    for i in range(1, 5000):
        T.assume(time[i] >= 0 and time[i] < 1000000 and time[i - 1] >= 0 and time[i - 1] < 1000000)
        if user[i] != user[i - 1] or time[i] - time[i - 1] > 30:
            sid[i] = sid[i - 1] + 1
        else:
            sid[i] = sid[i - 1]
    for i in range(5000):
        length[i] = 0
    for i in range(5000):
        length[sid[i]] = length[sid[i]] + 1


@T.prim_func
def percentile_ranks(x: T.Buffer((600,), "float32"), p: T.Buffer((600,), "float32")):
    for i in range(600):
        below = T.alloc_buffer((1,), "int32")
        same = T.alloc_buffer((1,), "int32")
        below[0] = 0
        same[0] = 0
        for j in range(600):
            if x[j] < x[i]:
                below[0] = below[0] + 1
            if x[j] == x[i]:
                same[0] = same[0] + 1
        p[i] = (T.cast(below[0], "float32") + 0.5 * T.cast(same[0], "float32")) / 600.0


@T.prim_func
def bloom_filter(
    keys: T.Buffer((500,), "uint32"), asked: T.Buffer((2000,), "uint32"), found: T.Buffer((2000,), "int32")
):
    bits = T.alloc_buffer((8192,), "int32")
    for i in range(8192):
        bits[i] = 0
    for i, h in T.grid(500, 4):
        bits[
            T.cast((keys[i] * T.uint32(2654435761) + T.cast(h, "uint32") * (keys[i] ^ T.uint32(40503))) >> 19, "int32")
        ] = 1
    for q in range(2000):
        found[q] = 1
        for h in range(4):
            if (
                bits[
                    T.cast(
                        (asked[q] * T.uint32(2654435761) + T.cast(h, "uint32") * (asked[q] ^ T.uint32(40503))) >> 19,
                        "int32",
                    )
                ]
                == 0
            ):
                found[q] = 0


@T.prim_func
def hyperloglog(h: T.Buffer((10000,), "uint32"), M: T.Buffer((256,), "int32"), z: T.Buffer((1,), "float32")):
    for i in range(256):
        M[i] = 0
    for i in range(10000):
        b = T.cast(h[i] >> 24, "int32")
        rho = T.clz((h[i] << 8) | T.uint32(128)) + 1
        M[b] = T.max(M[b], T.cast(rho, "int32"))
    z[0] = 0.0
    for i in range(256):
        z[0] = z[0] + T.exp2(-T.cast(M[i], "float32"))


@T.prim_func
def radix_pass(x: T.Buffer((4096,), "int32"), y: T.Buffer((4096,), "int32")):
    n = T.alloc_buffer((16,), "int32")
    at = T.alloc_buffer((16,), "int32")
    for d in range(16):
        n[d] = 0
    for i in range(4096):
        T.assume(x[i] >= 0 and x[i] < 65536)
        n[x[i] % 16] = n[x[i] % 16] + 1
    at[0] = 0
    for d in range(1, 16):
        at[d] = at[d - 1] + n[d - 1]
    for i in range(4096):
        y[at[x[i] % 16]] = x[i]
        at[x[i] % 16] = at[x[i] % 16] + 1


@T.prim_func
def overlap_depth(
    start: T.Buffer((800,), "int32"),
    stop: T.Buffer((800,), "int32"),
    depth: T.Buffer((1024,), "int32"),
    most: T.Buffer((1,), "int32"),
):
    for t in range(1024):
        depth[t] = 0
    for i in range(800):
        T.assume(start[i] >= 0 and start[i] < stop[i] and stop[i] <= 1024)
        for t in range(start[i], stop[i]):
            depth[t] = depth[t] + 1
    most[0] = 0
    for t in range(1024):
        most[0] = T.max(most[0], depth[t])


@T.prim_func
def gate_on_statevector(
    re: T.Buffer((16384,), "float32"),
    im: T.Buffer((16384,), "float32"),
    R: T.Buffer((16384,), "float32"),
    I: T.Buffer((16384,), "float32"),
):
    for i in range(16384):
        if (i >> 5) & 1 == 0:
            R[i] = 0.6 * re[i] - 0.8 * im[i + 32]
            I[i] = 0.6 * im[i] + 0.8 * re[i + 32]
        else:
            R[i] = 0.6 * re[i] - 0.8 * im[i - 32]
            I[i] = 0.6 * im[i] + 0.8 * re[i - 32]


@T.prim_func
def qubit_rotations(c: T.Buffer((12,), "float32"), s: T.Buffer((12,), "float32"), psi: T.Buffer((4096,), "float32")):
    n = T.alloc_buffer((4096,), "float32")
    for q in range(12):
        for i in range(4096):
            b = (i >> q) & 1
            n[i] = c[q] * psi[i] + T.if_then_else(b == 0, -s[q], s[q]) * psi[i ^ (1 << q)]
        for i in range(4096):
            psi[i] = n[i]


@T.prim_func
def euler_hll(U: T.Buffer((3, 402), "float32"), N: T.Buffer((3, 402), "float32")):
    for t in range(30):
        f = T.alloc_buffer((3, 401), "float32")
        for i in range(401):
            ul = U[1, i] / U[0, i]
            ur = U[1, i + 1] / U[0, i + 1]
            pl = 0.4 * (U[2, i] - 0.5 * U[1, i] * ul)
            pr = 0.4 * (U[2, i + 1] - 0.5 * U[1, i + 1] * ur)
            al = T.sqrt(1.4 * pl / U[0, i])
            ar = T.sqrt(1.4 * pr / U[0, i + 1])
            sl = T.min(T.min(ul - al, ur - ar), 0.0)
            sr = T.max(T.max(ul + al, ur + ar), 0.0)
            f[0, i] = (sr * U[1, i] - sl * U[1, i + 1] + sl * sr * (U[0, i + 1] - U[0, i])) / (sr - sl)
            f[1, i] = (sr * (U[1, i] * ul + pl) - sl * (U[1, i + 1] * ur + pr) + sl * sr * (U[1, i + 1] - U[1, i])) / (
                sr - sl
            )
            f[2, i] = (sr * ul * (U[2, i] + pl) - sl * ur * (U[2, i + 1] + pr) + sl * sr * (U[2, i + 1] - U[2, i])) / (
                sr - sl
            )
        for k in range(3):
            for i in range(402):
                N[k, i] = U[k, i]
            for i in range(1, 401):
                N[k, i] = U[k, i] - 0.1 * (f[k, i] - f[k, i - 1])
            for i in range(402):
                U[k, i] = N[k, i]


@T.prim_func
def semi_lagrangian(
    q: T.Buffer((128, 128), "float32"),
    u: T.Buffer((128, 128), "float32"),
    v: T.Buffer((128, 128), "float32"),
    r: T.Buffer((128, 128), "float32"),
):
    for i, j in T.grid(128, 128):
        x = T.min(T.max(T.cast(i, "float32") - u[i, j], 0.0), 126.99)
        y = T.min(T.max(T.cast(j, "float32") - v[i, j], 0.0), 126.99)
        a = T.cast(T.floor(x), "int32")
        b = T.cast(T.floor(y), "int32")
        fx = x - T.floor(x)
        fy = y - T.floor(y)
        r[i, j] = (1.0 - fx) * ((1.0 - fy) * q[a, b] + fy * q[a, b + 1]) + fx * (
            (1.0 - fy) * q[a + 1, b] + fy * q[a + 1, b + 1]
        )


@T.prim_func
def back_projection(
    S: T.Buffer((60, 96), "float32"),
    c: T.Buffer((60,), "float32"),
    s: T.Buffer((60,), "float32"),
    A: T.Buffer((64, 64), "float32"),
):
    for i, j in T.grid(64, 64):
        A[i, j] = 0.0
        for a in range(60):
            t = T.cast(i - 32, "float32") * c[a] + T.cast(j - 32, "float32") * s[a] + 48.0
            k = T.cast(T.floor(t), "int32")
            if k >= 0 and k < 95:
                f = t - T.floor(t)
                A[i, j] = A[i, j] + (1.0 - f) * S[a, k] + f * S[a, k + 1]


@T.prim_func
def lms_filter(
    x: T.Buffer((2000,), "float32"),
    d: T.Buffer((2000,), "float32"),
    w: T.Buffer((16,), "float32"),
    e: T.Buffer((2000,), "float32"),
):
    for k in range(16):
        w[k] = 0.0
    for t in range(2000):
        e[t] = d[t]
        for k in range(16):
            if t - k >= 0:
                e[t] = e[t] - w[k] * x[t - k]
        for k in range(16):
            if t - k >= 0:
                w[k] = w[k] + 0.01 * e[t] * x[t - k]


@T.prim_func
def hamming_decode(c: T.Buffer((5000, 7), "int32"), m: T.Buffer((5000, 4), "int32"), fixed: T.Buffer((1,), "int32")):
    f = T.alloc_buffer((7,), "int32")
    fixed[0] = 0
    for i in range(5000):
        s = (
            (c[i, 0] ^ c[i, 2] ^ c[i, 4] ^ c[i, 6])
            + 2 * (c[i, 1] ^ c[i, 2] ^ c[i, 5] ^ c[i, 6])
            + 4 * (c[i, 3] ^ c[i, 4] ^ c[i, 5] ^ c[i, 6])
        )
        for k in range(7):
            T.assume(c[i, k] >= 0 and c[i, k] <= 1)
            f[k] = c[i, k]
            if s == k + 1:
                f[k] = 1 - c[i, k]
        if s > 0:
            fixed[0] = fixed[0] + 1
        m[i, 0] = f[2]
        m[i, 1] = f[4]
        m[i, 2] = f[5]
        m[i, 3] = f[6]


@T.prim_func
def levinson_durbin(
    r: T.Buffer((64, 17), "float32"), a: T.Buffer((64, 17), "float32"), err: T.Buffer((64,), "float32")
):
    b = T.alloc_buffer((64, 17), "float32")
    for c in range(64):
        for k in range(17):
            a[c, k] = 0.0
        a[c, 0] = 1.0
        err[c] = r[c, 0]
        for m in range(1, 17):
            g = T.alloc_buffer((1,), "float32")
            g[0] = 0.0
            for k in range(m):
                g[0] = g[0] - a[c, k] * r[c, m - k]
            g[0] = g[0] / err[c]
            for k in range(17):
                b[c, k] = a[c, k]
            for k in range(1, m + 1):
                a[c, k] = b[c, k] + g[0] * b[c, m - k]
            err[c] = err[c] * (1.0 - g[0] * g[0])


@T.prim_func
def adpcm_decode(
    code: T.Buffer((32, 1000), "int32"),
    step: T.Buffer((89,), "int32"),
    move: T.Buffer((16,), "int32"),
    y: T.Buffer((32, 1000), "int32"),
):
    for c in range(32):
        at = T.alloc_buffer((1,), "int32")
        v = T.alloc_buffer((1,), "int32")
        at[0] = 0
        v[0] = 0
        for t in range(1000):
            T.assume(code[c, t] >= 0 and code[c, t] < 16)
            T.assume(at[0] >= 0 and at[0] < 89)
            T.assume(step[at[0]] >= 0 and step[at[0]] < 40000 and move[code[c, t]] >= -2 and move[code[c, t]] < 9)
            d = step[at[0]] * (2 * (code[c, t] % 8) + 1) // 8
            if code[c, t] >= 8:
                v[0] = T.max(v[0] - d, -32768)
            else:
                v[0] = T.min(v[0] + d, 32767)
            y[c, t] = v[0]
            at[0] = T.min(T.max(at[0] + move[code[c, t]], 0), 88)


@T.prim_func
def compressor(x: T.Buffer((16, 3000), "float32"), y: T.Buffer((16, 3000), "float32")):
    for c in range(16):
        e = T.alloc_buffer((1,), "float32")
        e[0] = 0.0
        for t in range(3000):
            a = T.abs(x[c, t])
            if a > e[0]:
                e[0] = 0.6 * e[0] + 0.4 * a
            else:
                e[0] = 0.995 * e[0] + 0.005 * a
            y[c, t] = x[c, t]
            if e[0] > 0.5:
                y[c, t] = x[c, t] * T.sqrt(0.5 / e[0])


@T.prim_func
def allpass_reverb(x: T.Buffer((8, 4096), "float32"), y: T.Buffer((8, 4096), "float32")):
    for c, t in T.grid(8, 4096):
        y[c, t] = -0.7 * x[c, t]
        if t >= 113:
            y[c, t] = y[c, t] + x[c, t - 113] + 0.7 * y[c, t - 113]


@T.prim_func
def plucked_string(n: T.Buffer((100,), "float32"), y: T.Buffer((4000,), "float32")):
    for t in range(100):
        y[t] = n[t]
    y[100] = 0.0
    for t in range(101, 4000):
        y[t] = 0.498 * (y[t - 100] + y[t - 101])


@T.prim_func
def hessenberg(A: T.Buffer((48, 48), "float32")):
    v = T.alloc_buffer((48,), "float32")
    for k in range(46):
        s = T.alloc_buffer((2,), "float32")
        s[0] = 0.0
        for i in range(48):
            v[i] = 0.0
            if i > k:
                v[i] = A[i, k]
                s[0] = s[0] + A[i, k] * A[i, k]
        if A[k + 1, k] > 0.0:
            v[k + 1] = v[k + 1] + T.sqrt(s[0])
        else:
            v[k + 1] = v[k + 1] - T.sqrt(s[0])
        s[1] = 1e-12
        for i in range(48):
            s[1] = s[1] + v[i] * v[i]
        for j in range(48):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for i in range(48):
                d[0] = d[0] + v[i] * A[i, j]
            for i in range(48):
                A[i, j] = A[i, j] - 2.0 * v[i] * d[0] / s[1]
        for i in range(48):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for j in range(48):
                d[0] = d[0] + A[i, j] * v[j]
            for j in range(48):
                A[i, j] = A[i, j] - 2.0 * d[0] * v[j] / s[1]


@T.prim_func
def lanczos(
    A: T.Buffer((200, 200), "float32"),
    b: T.Buffer((200,), "float32"),
    al: T.Buffer((20,), "float32"),
    be: T.Buffer((20,), "float32"),
):
    q = T.alloc_buffer((200,), "float32")
    p = T.alloc_buffer((200,), "float32")
    w = T.alloc_buffer((200,), "float32")
    n = T.alloc_buffer((1,), "float32")
    n[0] = 0.0
    for i in range(200):
        n[0] = n[0] + b[i] * b[i]
    for i in range(200):
        q[i] = b[i] / T.sqrt(n[0])
        p[i] = 0.0
    last = T.alloc_buffer((1,), "float32")
    last[0] = 0.0
    for m in range(20):
        for i in range(200):
            w[i] = -last[0] * p[i]
            for j in range(200):
                w[i] = w[i] + A[i, j] * q[j]
        al[m] = 0.0
        for i in range(200):
            al[m] = al[m] + w[i] * q[i]
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for i in range(200):
            w[i] = w[i] - al[m] * q[i]
            s[0] = s[0] + w[i] * w[i]
        be[m] = T.sqrt(s[0])
        last[0] = T.sqrt(s[0])
        for i in range(200):
            p[i] = q[i]
            q[i] = w[i] / last[0]


@T.prim_func
def jacobi_rotations(A: T.Buffer((64, 6, 6), "float32")):
    for b in range(64):
        for p in range(5):
            for q in range(p + 1, 6):
                th = T.alloc_buffer((2,), "float32")
                tau = (A[b, q, q] - A[b, p, p]) / (2.0 * A[b, p, q])
                t = T.if_then_else(tau >= 0.0, 1.0, -1.0) / (T.abs(tau) + T.sqrt(1.0 + tau * tau))
                th[0] = 1.0 / T.sqrt(1.0 + t * t)
                th[1] = t / T.sqrt(1.0 + t * t)
                for k in range(6):
                    x = A[b, p, k]
                    A[b, p, k] = th[0] * x - th[1] * A[b, q, k]
                    A[b, q, k] = th[1] * x + th[0] * A[b, q, k]
                for k in range(6):
                    x = A[b, k, p]
                    A[b, k, p] = th[0] * x - th[1] * A[b, k, q]
                    A[b, k, q] = th[1] * x + th[0] * A[b, k, q]


@T.prim_func
def cholesky_update(L: T.Buffer((64, 64), "float32"), x: T.Buffer((64,), "float32")):
    for k in range(64):
        c = T.alloc_buffer((2,), "float32")
        r = T.sqrt(L[k, k] * L[k, k] + x[k] * x[k])
        c[0] = r / L[k, k]
        c[1] = x[k] / L[k, k]
        L[k, k] = r
        for i in range(k + 1, 64):
            L[i, k] = (L[i, k] + c[1] * x[i]) / c[0]
            x[i] = c[0] * x[i] - c[1] * L[i, k]


@T.prim_func
def permanent(A: T.Buffer((10, 10), "float32"), p: T.Buffer((1,), "float32")):
    p[0] = 0.0
    for m in range(1024):
        prod = T.alloc_buffer((1,), "float32")
        sign = T.alloc_buffer((1,), "float32")
        prod[0] = 1.0
        sign[0] = 1.0
        for j in range(10):
            if (m >> j) & 1 == 1:
                sign[0] = -sign[0]
        for i in range(10):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for j in range(10):
                if (m >> j) & 1 == 1:
                    s[0] = s[0] + A[i, j]
            prod[0] = prod[0] * s[0]
        p[0] = p[0] + sign[0] * prod[0]


@T.prim_func
def strassen(
    A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32"), C: T.Buffer((256, 256), "float32")
):
    for i, j in T.grid(128, 128):
        m = T.alloc_buffer((7,), "float32")
        for t in range(7):
            m[t] = 0.0
        for k in range(128):
            m[0] = m[0] + (A[i, k] + A[i + 128, k + 128]) * (B[k, j] + B[k + 128, j + 128])
            m[1] = m[1] + (A[i + 128, k] + A[i + 128, k + 128]) * B[k, j]
            m[2] = m[2] + A[i, k] * (B[k, j + 128] - B[k + 128, j + 128])
            m[3] = m[3] + A[i + 128, k + 128] * (B[k + 128, j] - B[k, j])
            m[4] = m[4] + (A[i, k] + A[i, k + 128]) * B[k + 128, j + 128]
            m[5] = m[5] + (A[i + 128, k] - A[i, k]) * (B[k, j] + B[k, j + 128])
            m[6] = m[6] + (A[i, k + 128] - A[i + 128, k + 128]) * (B[k + 128, j] + B[k + 128, j + 128])
        C[i, j] = m[0] + m[3] - m[4] + m[6]
        C[i, j + 128] = m[2] + m[4]
        C[i + 128, j] = m[1] + m[3]
        C[i + 128, j + 128] = m[0] - m[1] + m[2] + m[5]


@T.prim_func
def sinks_attention(
    Q: T.Buffer((256, 32), "float32"),
    K: T.Buffer((256, 32), "float32"),
    V: T.Buffer((256, 32), "float32"),
    O: T.Buffer((256, 32), "float32"),
):
    S = T.alloc_buffer((256, 256), "float32")
    for i, j in T.grid(256, 256):
        S[i, j] = -1e30
        if j <= i and (j < 4 or i - j < 64):
            S[i, j] = 0.0
            for d in range(32):
                S[i, j] = S[i, j] + Q[i, d] * K[j, d]
    for i in range(256):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        z[0] = 0.0
        for j in range(256):
            m[0] = T.max(m[0], S[i, j])
        for j in range(256):
            S[i, j] = T.exp(S[i, j] - m[0])
            z[0] = z[0] + S[i, j]
        for d in range(32):
            O[i, d] = 0.0
            for j in range(256):
                O[i, d] = O[i, d] + S[i, j] * V[j, d]
            O[i, d] = O[i, d] / z[0]


@T.prim_func
def top_two_gate(
    L: T.Buffer((1024, 16), "float32"), G: T.Buffer((1024, 16), "float32"), load: T.Buffer((16,), "float32")
):
    for e in range(16):
        load[e] = 0.0
    for t in range(1024):
        a = T.alloc_buffer((2,), "int32")
        v = T.alloc_buffer((2,), "float32")
        v[0] = -1e30
        v[1] = -1e30
        a[0] = 0
        a[1] = 0
        for e in range(16):
            if L[t, e] > v[0]:
                v[1] = v[0]
                a[1] = a[0]
                v[0] = L[t, e]
                a[0] = e
            else:
                if L[t, e] > v[1]:
                    v[1] = L[t, e]
                    a[1] = e
        for e in range(16):
            G[t, e] = 0.0
        p = 1.0 / (1.0 + T.exp(v[1] - v[0]))
        G[t, a[0]] = p
        G[t, a[1]] = 1.0 - p
        load[a[0]] = load[a[0]] + p
        load[a[1]] = load[a[1]] + 1.0 - p


@T.prim_func
def masked_token_loss(
    L: T.Buffer((300, 500), "float32"), y: T.Buffer((300,), "int32"), loss: T.Buffer((1,), "float32")
):
    n = T.alloc_buffer((1,), "float32")
    n[0] = 0.0
    loss[0] = 0.0
    for i in range(300):
        T.assume(y[i] >= -1 and y[i] < 500)
        if y[i] != -1:
            m = T.alloc_buffer((1,), "float32")
            z = T.alloc_buffer((1,), "float32")
            m[0] = L[i, 0]
            for k in range(1, 500):
                m[0] = T.max(m[0], L[i, k])
            z[0] = 0.0
            for k in range(500):
                z[0] = z[0] + T.exp(L[i, k] - m[0])
            loss[0] = loss[0] + T.log(z[0]) + m[0] - L[i, y[i]]
            n[0] = n[0] + 1.0
    loss[0] = loss[0] / T.max(n[0], 1.0)


@T.prim_func
def crf_forward(
    E: T.Buffer((16, 100, 12), "float32"),
    A: T.Buffer((12, 12), "float32"),
    length: T.Buffer((16,), "int32"),
    Z: T.Buffer((16,), "float32"),
):
    for b in range(16):
        T.assume(length[b] >= 1 and length[b] <= 100)
        f = T.alloc_buffer((12,), "float32")
        g = T.alloc_buffer((12,), "float32")
        for k in range(12):
            f[k] = E[b, 0, k]
        for t in range(1, 100):
            if t < length[b]:
                for k in range(12):
                    m = T.alloc_buffer((1,), "float32")
                    s = T.alloc_buffer((1,), "float32")
                    m[0] = -1e30
                    for j in range(12):
                        m[0] = T.max(m[0], f[j] + A[j, k])
                    s[0] = 0.0
                    for j in range(12):
                        s[0] = s[0] + T.exp(f[j] + A[j, k] - m[0])
                    g[k] = m[0] + T.log(s[0]) + E[b, t, k]
                for k in range(12):
                    f[k] = g[k]
        top = T.alloc_buffer((1,), "float32")
        tot = T.alloc_buffer((1,), "float32")
        top[0] = -1e30
        for k in range(12):
            top[0] = T.max(top[0], f[k])
        tot[0] = 0.0
        for k in range(12):
            tot[0] = tot[0] + T.exp(f[k] - top[0])
        Z[b] = top[0] + T.log(tot[0])


@T.prim_func
def chacha_rounds(K: T.Buffer((512, 16), "uint32"), O: T.Buffer((512, 16), "uint32")):
    for b in range(512):
        s = T.alloc_buffer((16,), "uint32")
        for k in range(16):
            s[k] = K[b, k]
        for r in range(10):
            for q in range(4):
                s[q] = s[q] + s[q + 4]
                s[q + 12] = s[q + 12] ^ s[q]
                s[q + 12] = (s[q + 12] << T.uint32(16)) | (s[q + 12] >> T.uint32(16))
                s[q + 8] = s[q + 8] + s[q + 12]
                s[q + 4] = s[q + 4] ^ s[q + 8]
                s[q + 4] = (s[q + 4] << T.uint32(12)) | (s[q + 4] >> T.uint32(20))
            for q in range(4):
                s[q] = s[q] + s[(q + 1) % 4 + 4]
                s[(q + 3) % 4 + 12] = s[(q + 3) % 4 + 12] ^ s[q]
                s[(q + 3) % 4 + 12] = (s[(q + 3) % 4 + 12] << T.uint32(8)) | (s[(q + 3) % 4 + 12] >> T.uint32(24))
        for k in range(16):
            O[b, k] = s[k] + K[b, k]


@T.prim_func
def inverse_bwt(L: T.Buffer((3000,), "int32"), O: T.Buffer((3000,), "int32")):
    c = T.alloc_buffer((27,), "int32")
    nx = T.alloc_buffer((3000,), "int32")
    p = T.alloc_buffer((1,), "int32")
    for k in range(27):
        c[k] = 0
    for i in range(3000):
        T.assume(L[i] >= 0 and L[i] < 26)
        c[L[i] + 1] = c[L[i] + 1] + 1
    for k in range(26):
        c[k + 1] = c[k + 1] + c[k]
    for i in range(3000):
        nx[c[L[i]]] = i
        c[L[i]] = c[L[i]] + 1
    p[0] = nx[0]
    for i in range(3000):
        O[i] = L[p[0]]
        p[0] = nx[p[0]]


@T.prim_func
def nussinov(S: T.Buffer((120,), "int32"), D: T.Buffer((120, 120), "int32")):
    for i, j in T.grid(120, 120):
        D[i, j] = 0
    for g in range(1, 120):
        for i in range(120 - g):
            D[i, i + g] = D[i + 1, i + g]
            if g > 3 and S[i] + S[i + g] == 3:
                D[i, i + g] = T.max(D[i, i + g], D[i + 1, i + g - 1] + 1)
            for k in range(1, g):
                D[i, i + g] = T.max(D[i, i + g], D[i, i + k] + D[i + k + 1, i + g])


@T.prim_func
def gini(X: T.Buffer((1500,), "float32"), G: T.Buffer((1,), "float32")):
    s = T.alloc_buffer((2,), "float32")
    s[0] = 0.0
    s[1] = 0.0
    for i in range(1500):
        s[1] = s[1] + X[i]
        for j in range(1500):
            s[0] = s[0] + T.abs(X[i] - X[j])
    G[0] = s[0] / (3000.0 * s[1])


@T.prim_func
def auc(P: T.Buffer((800,), "float32"), N: T.Buffer((900,), "float32"), A: T.Buffer((1,), "float32")):
    A[0] = 0.0
    for i in range(800):
        for j in range(900):
            if P[i] > N[j]:
                A[0] = A[0] + 1.0
            else:
                if P[i] == N[j]:
                    A[0] = A[0] + 0.5
    A[0] = A[0] / 720000.0


@T.prim_func
def cox_gradient(
    T0: T.Buffer((1500,), "float32"),
    E: T.Buffer((1500,), "int32"),
    R: T.Buffer((1500,), "float32"),
    G: T.Buffer((1500,), "float32"),
):
    d = T.alloc_buffer((1500,), "float32")
    for i in range(1500):
        d[i] = 0.0
        for j in range(1500):
            if T0[j] >= T0[i]:
                d[i] = d[i] + T.exp(R[j])
    for i in range(1500):
        G[i] = 0.0
        if E[i] == 1:
            G[i] = 1.0
        for j in range(1500):
            if E[j] == 1 and T0[i] >= T0[j]:
                G[i] = G[i] - T.exp(R[i]) / d[j]


@T.prim_func
def cusum_alarms(X: T.Buffer((64, 2000), "float32"), C: T.Buffer((64,), "int32"), H: T.Buffer((64, 2000), "float32")):
    for b in range(64):
        hi = T.alloc_buffer((1,), "float32")
        hi[0] = 0.0
        C[b] = 0
        for t in range(2000):
            hi[0] = T.max(0.0, hi[0] + X[b, t] - 0.25)
            if hi[0] > 5.0:
                C[b] = C[b] + 1
                hi[0] = 0.0
            H[b, t] = hi[0]


@T.prim_func
def gillespie(
    U: T.Buffer((128, 500), "float32"),
    V: T.Buffer((128, 500), "float32"),
    X: T.Buffer((128, 3), "float32"),
    O: T.Buffer((128, 3), "float32"),
):
    for b in range(128):
        s = T.alloc_buffer((3,), "float32")
        for k in range(3):
            s[k] = X[b, k]
        for t in range(500):
            a = T.alloc_buffer((2,), "float32")
            a[0] = 0.002 * s[0] * s[1]
            a[1] = 0.1 * s[1]
            if a[0] + a[1] > 0.0:
                if U[b, t] * (a[0] + a[1]) < a[0]:
                    s[0] = s[0] - 1.0
                    s[1] = s[1] + 1.0
                else:
                    s[1] = s[1] - 1.0
                s[2] = s[2] - T.log(V[b, t]) / (a[0] + a[1])
        for k in range(3):
            O[b, k] = s[k]


@T.prim_func
def rope_constraints(P: T.Buffer((64, 3), "float32"), Q: T.Buffer((64, 3), "float32")):
    for i, c in T.grid(64, 3):
        Q[i, c] = P[i, c]
    for it in range(50):
        for i in range(63):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 1e-6
            for c in range(3):
                d[0] = d[0] + (Q[i + 1, c] - Q[i, c]) * (Q[i + 1, c] - Q[i, c])
            d[0] = 0.5 * (1.0 - 0.1 / T.sqrt(d[0]))
            for c in range(3):
                m = T.alloc_buffer((1,), "float32")
                m[0] = d[0] * (Q[i + 1, c] - Q[i, c])
                Q[i, c] = Q[i, c] + m[0]
                Q[i + 1, c] = Q[i + 1, c] - m[0]


@T.prim_func
def perlin(G: T.Buffer((256, 2), "float32"), P: T.Buffer((256,), "int32"), N: T.Buffer((200, 200), "float32")):
    for k in range(256):
        T.assume(P[k] >= 0 and P[k] < 256)
    for y, x in T.grid(200, 200):
        N[y, x] = 0.0
        for a, b in T.grid(2, 2):
            N[y, x] = N[y, x] + (
                G[P[(P[(x // 16 + b) % 256] + y // 16 + a) % 256], 0]
                * (T.cast(x % 16, "float32") / 16.0 - T.cast(b, "float32"))
                + G[P[(P[(x // 16 + b) % 256] + y // 16 + a) % 256], 1]
                * (T.cast(y % 16, "float32") / 16.0 - T.cast(a, "float32"))
            ) * (1.0 - T.abs(T.cast(x % 16, "float32") / 16.0 - T.cast(b, "float32"))) * (
                1.0 - T.abs(T.cast(y % 16, "float32") / 16.0 - T.cast(a, "float32"))
            )


@T.prim_func
def ssim(X: T.Buffer((128, 128), "float32"), Y: T.Buffer((128, 128), "float32"), S: T.Buffer((122, 122), "float32")):
    for i, j in T.grid(122, 122):
        m = T.alloc_buffer((5,), "float32")
        for k in range(5):
            m[k] = 0.0
        for a, b in T.grid(7, 7):
            m[0] = m[0] + X[i + a, j + b]
            m[1] = m[1] + Y[i + a, j + b]
            m[2] = m[2] + X[i + a, j + b] * X[i + a, j + b]
            m[3] = m[3] + Y[i + a, j + b] * Y[i + a, j + b]
            m[4] = m[4] + X[i + a, j + b] * Y[i + a, j + b]
        for k in range(5):
            m[k] = m[k] / 49.0
        S[i, j] = (
            (2.0 * m[0] * m[1] + 0.01)
            * (2.0 * (m[4] - m[0] * m[1]) + 0.03)
            / ((m[0] * m[0] + m[1] * m[1] + 0.01) * (m[2] - m[0] * m[0] + m[3] - m[1] * m[1] + 0.03))
        )


@T.prim_func
def hog_cells(I: T.Buffer((128, 128), "float32"), H: T.Buffer((16, 16, 9), "float32")):
    for cy, cx, o in T.grid(16, 16, 9):
        H[cy, cx, o] = 0.0
    for y, x in T.grid(128, 128):
        gx = T.alloc_buffer((1,), "float32")
        gy = T.alloc_buffer((1,), "float32")
        gx[0] = I[y, T.min(x + 1, 127)] - I[y, T.max(x - 1, 0)]
        gy[0] = I[T.min(y + 1, 127), x] - I[T.max(y - 1, 0), x]
        k = T.alloc_buffer((1,), "int32")
        k[0] = 4
        if T.abs(gx[0]) > 1e-9:
            k[0] = T.min(T.max(T.cast(T.floor(4.5 + 3.0 * gy[0] / (T.abs(gx[0]) + T.abs(gy[0]))), "int32"), 0), 8)
        H[y // 8, x // 8, k[0]] = H[y // 8, x // 8, k[0]] + T.sqrt(gx[0] * gx[0] + gy[0] * gy[0])


@T.prim_func
def winograd_1d(X: T.Buffer((32, 514), "float32"), w: T.Buffer((3,), "float32"), Y: T.Buffer((32, 512), "float32")):
    for c in range(32):
        for t in range(256):
            m = T.alloc_buffer((4,), "float32")
            m[0] = (X[c, 2 * t] - X[c, 2 * t + 2]) * w[0]
            m[1] = (X[c, 2 * t + 1] + X[c, 2 * t + 2]) * (w[0] + w[1] + w[2]) * 0.5
            m[2] = (X[c, 2 * t + 2] - X[c, 2 * t + 1]) * (w[0] - w[1] + w[2]) * 0.5
            m[3] = (X[c, 2 * t + 1] - X[c, 2 * t + 3]) * w[2]
            Y[c, 2 * t] = m[0] + m[1] + m[2]
            Y[c, 2 * t + 1] = m[1] - m[2] - m[3]


@T.prim_func
def cyclic_reduction(
    a: T.Buffer((64, 256), "float32"),
    b: T.Buffer((64, 256), "float32"),
    c: T.Buffer((64, 256), "float32"),
    d: T.Buffer((64, 256), "float32"),
    x: T.Buffer((64, 256), "float32"),
):
    A = T.alloc_buffer((9, 64, 256), "float32")
    B = T.alloc_buffer((9, 64, 256), "float32")
    C = T.alloc_buffer((9, 64, 256), "float32")
    D = T.alloc_buffer((9, 64, 256), "float32")
    for s, i in T.grid(64, 256):
        A[0, s, i] = a[s, i]
        B[0, s, i] = b[s, i]
        C[0, s, i] = c[s, i]
        D[0, s, i] = d[s, i]
    for l in range(8):
        for s, i in T.grid(64, 256):
            lo = T.alloc_buffer((1,), "float32")
            hi = T.alloc_buffer((1,), "float32")
            lo[0] = 0.0
            hi[0] = 0.0
            if i - (1 << l) >= 0:
                lo[0] = A[l, s, i] / B[l, s, i - (1 << l)]
            if i + (1 << l) < 256:
                hi[0] = C[l, s, i] / B[l, s, i + (1 << l)]
            A[l + 1, s, i] = 0.0
            C[l + 1, s, i] = 0.0
            B[l + 1, s, i] = B[l, s, i]
            D[l + 1, s, i] = D[l, s, i]
            if i - (1 << l) >= 0:
                A[l + 1, s, i] = 0.0 - lo[0] * A[l, s, i - (1 << l)]
                B[l + 1, s, i] = B[l + 1, s, i] - lo[0] * C[l, s, i - (1 << l)]
                D[l + 1, s, i] = D[l + 1, s, i] - lo[0] * D[l, s, i - (1 << l)]
            if i + (1 << l) < 256:
                C[l + 1, s, i] = 0.0 - hi[0] * C[l, s, i + (1 << l)]
                B[l + 1, s, i] = B[l + 1, s, i] - hi[0] * A[l, s, i + (1 << l)]
                D[l + 1, s, i] = D[l + 1, s, i] - hi[0] * D[l, s, i + (1 << l)]
    for s, i in T.grid(64, 256):
        x[s, i] = D[8, s, i] / B[8, s, i]


@T.prim_func
def adi_sweeps(U0: T.Buffer((96, 96), "float32"), U: T.Buffer((96, 96), "float32")):
    for i, j in T.grid(96, 96):
        U[i, j] = U0[i, j]
    for t in range(4):
        for i in range(96):
            cp = T.alloc_buffer((96,), "float32")
            cp[0] = -0.2
            U[i, 0] = U[i, 0] / 1.4
            for j in range(1, 96):
                cp[j] = -0.3 / (1.6 + 0.3 * cp[j - 1])
                U[i, j] = (U[i, j] + 0.3 * U[i, j - 1]) / (1.6 + 0.3 * cp[j - 1])
            for j in range(1, 96):
                U[i, 95 - j] = U[i, 95 - j] - cp[95 - j] * U[i, 96 - j]
        for j in range(96):
            cq = T.alloc_buffer((96,), "float32")
            cq[0] = -0.2
            U[0, j] = U[0, j] / 1.4
            for i in range(1, 96):
                cq[i] = -0.3 / (1.6 + 0.3 * cq[i - 1])
                U[i, j] = (U[i, j] + 0.3 * U[i - 1, j]) / (1.6 + 0.3 * cq[i - 1])
            for i in range(1, 96):
                U[95 - i, j] = U[95 - i, j] - cq[95 - i] * U[96 - i, j]


@T.prim_func
def fdtd_2d(E: T.Buffer((3, 128, 128), "float32"), O: T.Buffer((3, 128, 128), "float32")):
    for k, i, j in T.grid(3, 128, 128):
        O[k, i, j] = E[k, i, j]
    for t in range(20):
        for i, j in T.grid(127, 127):
            O[1, i, j] = O[1, i, j] - 0.5 * (O[0, i, j + 1] - O[0, i, j])
            O[2, i, j] = O[2, i, j] + 0.5 * (O[0, i + 1, j] - O[0, i, j])
        for i, j in T.grid(126, 126):
            O[0, i + 1, j + 1] = O[0, i + 1, j + 1] + 0.5 * (
                O[2, i + 1, j + 1] - O[2, i, j + 1] - O[1, i + 1, j + 1] + O[1, i + 1, j]
            )


@T.prim_func
def sandpile(G0: T.Buffer((64, 64), "int32"), G: T.Buffer((64, 64), "int32")):
    N = T.alloc_buffer((64, 64), "int32")
    for i, j in T.grid(64, 64):
        G[i, j] = G0[i, j]
    for t in range(100):
        for i, j in T.grid(64, 64):
            N[i, j] = G[i, j] % 4
            if i > 0:
                N[i, j] = N[i, j] + G[i - 1, j] // 4
            if i < 63:
                N[i, j] = N[i, j] + G[i + 1, j] // 4
            if j > 0:
                N[i, j] = N[i, j] + G[i, j - 1] // 4
            if j < 63:
                N[i, j] = N[i, j] + G[i, j + 1] // 4
        for i, j in T.grid(64, 64):
            G[i, j] = N[i, j]


@T.prim_func
def langton(W: T.Buffer((64, 64), "int32"), G: T.Buffer((64, 64), "int32")):
    a = T.alloc_buffer((4,), "int32")
    for i, j in T.grid(64, 64):
        G[i, j] = W[i, j]
    a[0] = 32
    a[1] = 32
    a[2] = 0
    for t in range(3000):
        if G[a[0], a[1]] == 0:
            G[a[0], a[1]] = 1
            a[2] = (a[2] + 1) % 4
        else:
            G[a[0], a[1]] = 0
            a[2] = (a[2] + 3) % 4
        if a[2] == 0:
            a[0] = (a[0] + 63) % 64
        if a[2] == 1:
            a[1] = (a[1] + 1) % 64
        if a[2] == 2:
            a[0] = (a[0] + 1) % 64
        if a[2] == 3:
            a[1] = (a[1] + 63) % 64


@T.prim_func
def sudoku_candidates(G: T.Buffer((200, 9, 9), "int32"), C: T.Buffer((200, 9, 9), "int32")):
    for n, r, c in T.grid(200, 9, 9):
        T.assume(G[n, r, c] >= 0 and G[n, r, c] < 10)
        C[n, r, c] = 0
        if G[n, r, c] == 0:
            C[n, r, c] = 511
            for k in range(9):
                if G[n, r, k] > 0:
                    C[n, r, c] = C[n, r, c] & ~(1 << (G[n, r, k] - 1))
                if G[n, k, c] > 0:
                    C[n, r, c] = C[n, r, c] & ~(1 << (G[n, k, c] - 1))
                if G[n, r // 3 * 3 + k // 3, c // 3 * 3 + k % 3] > 0:
                    C[n, r, c] = C[n, r, c] & ~(1 << (G[n, r // 3 * 3 + k // 3, c // 3 * 3 + k % 3] - 1))


@T.prim_func
def knight_walks(W: T.Buffer((8, 8), "float32"), O: T.Buffer((8, 8), "float32")):
    N = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        O[i, j] = W[i, j]
    for t in range(30):
        for i, j in T.grid(8, 8):
            N[i, j] = 0.0
            for a, b in T.grid(5, 5):
                if (
                    (a - 2) * (a - 2) + (b - 2) * (b - 2) == 5
                    and i + a - 2 >= 0
                    and i + a - 2 < 8
                    and j + b - 2 >= 0
                    and j + b - 2 < 8
                ):
                    N[i, j] = N[i, j] + 0.125 * O[i + a - 2, j + b - 2]
        for i, j in T.grid(8, 8):
            O[i, j] = N[i, j]


@T.prim_func
def hilbert_index(X: T.Buffer((5000,), "int32"), Y: T.Buffer((5000,), "int32"), D: T.Buffer((5000,), "int32")):
    for p in range(5000):
        T.assume(X[p] >= 0 and X[p] < 1024 and Y[p] >= 0 and Y[p] < 1024)
        x = T.alloc_buffer((1,), "int32")
        y = T.alloc_buffer((1,), "int32")
        u = T.alloc_buffer((1,), "int32")
        x[0] = X[p]
        y[0] = Y[p]
        D[p] = 0
        for k in range(10):
            D[p] = D[p] * 4 + ((3 * ((x[0] >> (9 - k)) & 1)) ^ ((y[0] >> (9 - k)) & 1))
            if ((y[0] >> (9 - k)) & 1) == 0:
                if ((x[0] >> (9 - k)) & 1) == 1:
                    x[0] = 1023 - x[0]
                    y[0] = 1023 - y[0]
                u[0] = x[0]
                x[0] = y[0]
                y[0] = u[0]


@T.prim_func
def weekdays(
    Y: T.Buffer((6000,), "int32"),
    M: T.Buffer((6000,), "int32"),
    D: T.Buffer((6000,), "int32"),
    W: T.Buffer((6000,), "int32"),
):
    for i in range(6000):
        T.assume(Y[i] >= 1600 and Y[i] < 2400 and M[i] >= 1 and M[i] <= 12 and D[i] >= 1 and D[i] <= 31)
        m = T.alloc_buffer((1,), "int32")
        y = T.alloc_buffer((1,), "int32")
        m[0] = M[i]
        y[0] = Y[i]
        if M[i] < 3:
            m[0] = M[i] + 12
            y[0] = Y[i] - 1
        W[i] = (D[i] + 13 * (m[0] + 1) // 5 + y[0] % 100 + y[0] % 100 // 4 + y[0] // 100 // 4 + 5 * (y[0] // 100)) % 7


@T.prim_func
def sha_schedule(M: T.Buffer((256, 16), "uint32"), W: T.Buffer((256, 64), "uint32")):
    for b in range(256):
        for t in range(16):
            W[b, t] = M[b, t]
        for t in range(16, 64):
            W[b, t] = (
                (
                    ((W[b, t - 2] >> T.uint32(17)) | (W[b, t - 2] << T.uint32(15)))
                    ^ ((W[b, t - 2] >> T.uint32(19)) | (W[b, t - 2] << T.uint32(13)))
                    ^ (W[b, t - 2] >> T.uint32(10))
                )
                + W[b, t - 7]
                + (
                    ((W[b, t - 15] >> T.uint32(7)) | (W[b, t - 15] << T.uint32(25)))
                    ^ ((W[b, t - 15] >> T.uint32(18)) | (W[b, t - 15] << T.uint32(14)))
                    ^ (W[b, t - 15] >> T.uint32(3))
                )
                + W[b, t - 16]
            )


@T.prim_func
def rs_syndromes(
    R: T.Buffer((200, 255), "int32"),
    E: T.Buffer((512,), "int32"),
    L: T.Buffer((256,), "int32"),
    S: T.Buffer((200, 8), "int32"),
):
    for k in range(512):
        T.assume(E[k] >= 1 and E[k] < 256)
    for k in range(256):
        T.assume(L[k] >= 0 and L[k] < 255)
    for b, j in T.grid(200, 8):
        S[b, j] = 0
        for t in range(255):
            T.assume(R[b, t] >= 0 and R[b, t] < 256)
            if S[b, j] != 0:
                S[b, j] = E[(L[S[b, j]] + j) % 255] ^ R[b, t]
            else:
                S[b, j] = R[b, t]


@T.prim_func
def ldpc_bit_flips(C: T.Buffer((300, 6), "int32"), B0: T.Buffer((600,), "int32"), B: T.Buffer((600,), "int32")):
    u = T.alloc_buffer((600,), "int32")
    for i in range(600):
        B[i] = B0[i]
    for e, k in T.grid(300, 6):
        T.assume(C[e, k] >= 0 and C[e, k] < 600)
    for t in range(10):
        for i in range(600):
            u[i] = 0
        for e in range(300):
            p = T.alloc_buffer((1,), "int32")
            p[0] = 0
            for k in range(6):
                p[0] = p[0] ^ B[C[e, k]]
            for k in range(6):
                u[C[e, k]] = u[C[e, k]] + p[0]
        for i in range(600):
            if u[i] >= 2:
                B[i] = 1 - B[i]


@T.prim_func
def convolutional_code(X: T.Buffer((128, 512), "int32"), Y: T.Buffer((128, 1024), "int32")):
    for b in range(128):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for t in range(512):
            s[0] = (s[0] * 2 + X[b, t]) % 8
            Y[b, 2 * t] = (s[0] ^ (s[0] >> 1) ^ (s[0] >> 2)) & 1
            Y[b, 2 * t + 1] = (s[0] ^ (s[0] >> 2)) & 1


@T.prim_func
def simhash(F: T.Buffer((300, 40), "uint32"), O: T.Buffer((300,), "uint32")):
    for d in range(300):
        O[d] = T.uint32(0)
        for b in range(32):
            v = T.alloc_buffer((1,), "int32")
            v[0] = 0
            for w in range(40):
                if ((F[d, w] >> T.cast(b, "uint32")) & T.uint32(1)) == T.uint32(1):
                    v[0] = v[0] + 1
                else:
                    v[0] = v[0] - 1
            if v[0] > 0:
                O[d] = O[d] | (T.uint32(1) << T.cast(b, "uint32"))


@T.prim_func
def clock_pages(R: T.Buffer((4000,), "int32"), O: T.Buffer((1,), "int32")):
    fr = T.alloc_buffer((16,), "int32")
    ref = T.alloc_buffer((16,), "int32")
    at = T.alloc_buffer((64,), "int32")
    h = T.alloc_buffer((2,), "int32")
    for k in range(16):
        fr[k] = 64
        ref[k] = 0
    for k in range(64):
        at[k] = -1
    h[0] = 0
    O[0] = 0
    for t in range(4000):
        T.assume(R[t] >= 0 and R[t] < 64)
        if at[R[t]] >= 0:
            ref[at[R[t]]] = 1
        else:
            O[0] = O[0] + 1
            for k in range(16):
                if ref[h[0]] == 1:
                    ref[h[0]] = 0
                    h[0] = (h[0] + 1) % 16
            if fr[h[0]] < 64:
                at[fr[h[0]]] = -1
            fr[h[0]] = R[t]
            at[R[t]] = h[0]
            h[0] = (h[0] + 1) % 16


@T.prim_func
def american_psor(S: T.Buffer((128,), "float32"), V: T.Buffer((128,), "float32")):
    for i in range(128):
        V[i] = T.max(S[i], 0.0)
    for t in range(40):
        for i in range(1, 127):
            V[i] = T.max(
                S[i], V[i] + 1.2 * ((0.3 * V[i - 1] + 0.69 * V[i] * 0.0 + 0.3 * V[i + 1] + 0.39 * V[i]) - V[i])
            )


@T.prim_func
def amortization(
    P: T.Buffer((1000,), "float32"),
    r: T.Buffer((1000,), "float32"),
    B: T.Buffer((1000, 120), "float32"),
    I: T.Buffer((1000,), "float32"),
):
    for n in range(1000):
        b = T.alloc_buffer((1,), "float32")
        b[0] = P[n]
        I[n] = 0.0
        for m in range(120):
            I[n] = I[n] + b[0] * r[n]
            b[0] = T.max(b[0] * (1.0 + r[n]) - 0.012 * P[n], 0.0)
            B[n, m] = b[0]


@T.prim_func
def hits(A: T.Buffer((300, 300), "float32"), h: T.Buffer((300,), "float32"), a: T.Buffer((300,), "float32")):
    for i in range(300):
        h[i] = 1.0
    for t in range(12):
        s = T.alloc_buffer((2,), "float32")
        s[0] = 1e-9
        s[1] = 1e-9
        for j in range(300):
            a[j] = 0.0
            for i in range(300):
                a[j] = a[j] + A[i, j] * h[i]
            s[0] = s[0] + a[j] * a[j]
        for j in range(300):
            a[j] = a[j] / T.sqrt(s[0])
        for i in range(300):
            h[i] = 0.0
            for j in range(300):
                h[i] = h[i] + A[i, j] * a[j]
            s[1] = s[1] + h[i] * h[i]
        for i in range(300):
            h[i] = h[i] / T.sqrt(s[1])


@T.prim_func
def tfidf(C: T.Buffer((400, 600), "float32"), W: T.Buffer((400, 600), "float32")):
    df = T.alloc_buffer((600,), "float32")
    for w in range(600):
        df[w] = 0.0
        for d in range(400):
            if C[d, w] > 0.0:
                df[w] = df[w] + 1.0
    for d in range(400):
        s = T.alloc_buffer((1,), "float32")
        n = T.alloc_buffer((1,), "float32")
        s[0] = 1.0
        n[0] = 1e-9
        for w in range(600):
            s[0] = s[0] + C[d, w]
        for w in range(600):
            W[d, w] = C[d, w] / s[0] * T.log(401.0 / (1.0 + df[w]))
            n[0] = n[0] + W[d, w] * W[d, w]
        for w in range(600):
            W[d, w] = W[d, w] / T.sqrt(n[0])


@T.prim_func
def isolation_depths(
    X: T.Buffer((2000, 8), "float32"),
    F: T.Buffer((16, 63), "int32"),
    H: T.Buffer((16, 63), "float32"),
    D: T.Buffer((2000,), "float32"),
):
    for n in range(2000):
        D[n] = 0.0
        for t in range(16):
            k = T.alloc_buffer((1,), "int32")
            k[0] = 0
            for d in range(6):
                if k[0] < 63:
                    T.assume(F[t, k[0]] >= -1 and F[t, k[0]] < 8)
                    if F[t, k[0]] >= 0:
                        D[n] = D[n] + 1.0
                        if X[n, T.max(F[t, k[0]], 0)] < H[t, k[0]]:
                            k[0] = 2 * k[0] + 1
                        else:
                            k[0] = 2 * k[0] + 2


@T.prim_func
def block_lower_solve(
    L: T.Buffer((40, 8, 8), "float32"),
    C: T.Buffer((40, 8, 8), "float32"),
    b: T.Buffer((40, 8), "float32"),
    x: T.Buffer((40, 8), "float32"),
):
    for n in range(40):
        for i in range(8):
            x[n, i] = b[n, i]
            if n > 0:
                for k in range(8):
                    x[n, i] = x[n, i] - C[n, i, k] * x[n - 1, k]
            for k in range(i):
                x[n, i] = x[n, i] - L[n, i, k] * x[n, k]
            x[n, i] = x[n, i] / L[n, i, i]


@T.prim_func
def periodic_tridiagonal(d: T.Buffer((64, 200), "float32"), x: T.Buffer((64, 200), "float32")):
    for s in range(64):
        c = T.alloc_buffer((200,), "float32")
        u = T.alloc_buffer((200,), "float32")
        c[0] = 1.0 / 5.0
        x[s, 0] = d[s, 0] / 5.0
        u[0] = -1.0 / 5.0
        for i in range(1, 200):
            c[i] = 1.0 / (4.0 - c[i - 1])
            x[s, i] = (d[s, i] - x[s, i - 1]) * c[i]
            u[i] = (0.0 - u[i - 1]) * c[i]
            if i == 199:
                u[i] = (1.0 - u[i - 1]) * c[i]
        for i in range(1, 200):
            x[s, 199 - i] = x[s, 199 - i] - c[199 - i] * x[s, 200 - i]
            u[199 - i] = u[199 - i] - c[199 - i] * u[200 - i]
        f = T.alloc_buffer((1,), "float32")
        f[0] = (x[s, 0] + x[s, 199]) / (1.0 + u[0] + u[199])
        for i in range(200):
            x[s, i] = x[s, i] - f[0] * u[i]


@T.prim_func
def packed_rows_dot(P: T.Buffer((5050,), "float32"), x: T.Buffer((100,), "float32"), y: T.Buffer((100,), "float32")):
    for i in range(100):
        y[i] = 0.0
        for j in range(i + 1):
            y[i] = y[i] + P[i * (i + 1) // 2 + j] * x[j]


@T.prim_func
def condensed_distances(X: T.Buffer((120, 6), "float32"), D: T.Buffer((7140,), "float32")):
    for i in range(120):
        for j in range(i + 1, 120):
            D[i * (239 - i) // 2 + j - i - 1] = 0.0
            for k in range(6):
                D[i * (239 - i) // 2 + j - i - 1] = D[i * (239 - i) // 2 + j - i - 1] + (X[i, k] - X[j, k]) * (
                    X[i, k] - X[j, k]
                )


@T.prim_func
def interval_unions(
    S: T.Buffer((2000,), "int32"),
    E: T.Buffer((2000,), "int32"),
    C: T.Buffer((4096,), "int32"),
    U: T.Buffer((1,), "int32"),
):
    d = T.alloc_buffer((4097,), "int32")
    for k in range(4097):
        d[k] = 0
    for i in range(2000):
        T.assume(S[i] >= 0 and S[i] <= E[i] and E[i] <= 4096)
        d[S[i]] = d[S[i]] + 1
        d[E[i]] = d[E[i]] - 1
    c = T.alloc_buffer((1,), "int32")
    c[0] = 0
    U[0] = 0
    for k in range(4096):
        c[0] = c[0] + d[k]
        C[k] = c[0]
        if c[0] > 0:
            U[0] = U[0] + 1


@T.prim_func
def lorenz_curve_bins(X: T.Buffer((20000,), "float32"), S: T.Buffer((100,), "float32"), L: T.Buffer((100,), "float32")):
    n = T.alloc_buffer((1,), "float32")
    for k in range(100):
        S[k] = 0.0
    for i in range(20000):
        T.assume(X[i] >= 0.0 and X[i] < 1.0)
        S[T.min(T.cast(T.floor(X[i] * 100.0), "int32"), 99)] = (
            S[T.min(T.cast(T.floor(X[i] * 100.0), "int32"), 99)] + X[i]
        )
    n[0] = 1e-9
    for k in range(100):
        n[0] = n[0] + S[k]
    for k in range(100):
        L[k] = S[k] / n[0]
        if k > 0:
            L[k] = L[k] + L[k - 1]


@T.prim_func
def yuv420(
    Y: T.Buffer((128, 128), "uint8"),
    U: T.Buffer((64, 64), "uint8"),
    V: T.Buffer((64, 64), "uint8"),
    O: T.Buffer((128, 128, 3), "uint8"),
):
    for y, x in T.grid(128, 128):
        c = T.alloc_buffer((3,), "int32")
        c[0] = (T.cast(Y[y, x], "int32") - 16) * 298
        c[1] = T.cast(U[y // 2, x // 2], "int32") - 128
        c[2] = T.cast(V[y // 2, x // 2], "int32") - 128
        O[y, x, 0] = T.cast(T.min(T.max((c[0] + 409 * c[2] + 128) // 256, 0), 255), "uint8")
        O[y, x, 1] = T.cast(T.min(T.max((c[0] - 100 * c[1] - 208 * c[2] + 128) // 256, 0), 255), "uint8")
        O[y, x, 2] = T.cast(T.min(T.max((c[0] + 516 * c[1] + 128) // 256, 0), 255), "uint8")


@T.prim_func
def lifting_53(X: T.Buffer((64, 512), "int32"), Y: T.Buffer((64, 512), "int32")):
    for r in range(64):
        for k in range(256):
            Y[r, 256 + k] = X[r, 2 * k + 1] - (X[r, 2 * k] + X[r, T.min(2 * k + 2, 510)]) // 2
        for k in range(256):
            Y[r, k] = X[r, 2 * k] + (Y[r, 256 + T.max(k - 1, 0)] + Y[r, 256 + k] + 2) // 4


@T.prim_func
def chamfer(M: T.Buffer((96, 96), "int32"), D: T.Buffer((96, 96), "int32")):
    for i, j in T.grid(96, 96):
        D[i, j] = 10000
        if M[i, j] == 1:
            D[i, j] = 0
    for i in range(96):
        for j in range(96):
            if i > 0:
                D[i, j] = T.min(D[i, j], D[i - 1, j] + 3)
                if j > 0:
                    D[i, j] = T.min(D[i, j], D[i - 1, j - 1] + 4)
                if j < 95:
                    D[i, j] = T.min(D[i, j], D[i - 1, j + 1] + 4)
            if j > 0:
                D[i, j] = T.min(D[i, j], D[i, j - 1] + 3)
    for i in range(96):
        for j in range(96):
            if i > 0:
                D[95 - i, 95 - j] = T.min(D[95 - i, 95 - j], D[96 - i, 95 - j] + 3)
                if j > 0:
                    D[95 - i, 95 - j] = T.min(D[95 - i, 95 - j], D[96 - i, 96 - j] + 4)
                if j < 95:
                    D[95 - i, 95 - j] = T.min(D[95 - i, 95 - j], D[96 - i, 94 - j] + 4)
            if j > 0:
                D[95 - i, 95 - j] = T.min(D[95 - i, 95 - j], D[95 - i, 96 - j] + 3)


@T.prim_func
def label_components(M: T.Buffer((64, 64), "int32"), L: T.Buffer((64, 64), "int32")):
    for i, j in T.grid(64, 64):
        L[i, j] = 0
        if M[i, j] == 1:
            L[i, j] = i * 64 + j + 1
    for t in range(60):
        N = T.alloc_buffer((64, 64), "int32")
        for i, j in T.grid(64, 64):
            N[i, j] = L[i, j]
            if M[i, j] == 1:
                for a, b in T.grid(3, 3):
                    if i + a >= 1 and i + a <= 64 and j + b >= 1 and j + b <= 64:
                        N[i, j] = T.max(N[i, j], L[i + a - 1, j + b - 1])
        for i, j in T.grid(64, 64):
            L[i, j] = N[i, j]


@T.prim_func
def lz_decode(D: T.Buffer((2000,), "int32"), B: T.Buffer((2000,), "int32"), O: T.Buffer((2000,), "int32")):
    for i in range(2000):
        T.assume(D[i] >= 0 and D[i] <= i)
        O[i] = B[i]
        if D[i] > 0:
            O[i] = O[i - D[i]]


@T.prim_func
def minimum_image(P: T.Buffer((300, 3), "float32"), F: T.Buffer((300, 3), "float32")):
    for i in range(300):
        for c in range(3):
            F[i, c] = 0.0
        for j in range(300):
            d = T.alloc_buffer((3,), "float32")
            r = T.alloc_buffer((1,), "float32")
            r[0] = 0.0
            for c in range(3):
                d[c] = P[i, c] - P[j, c]
                d[c] = d[c] - T.floor(d[c] + 0.5)
                r[0] = r[0] + d[c] * d[c]
            if i != j and r[0] < 0.0625:
                for c in range(3):
                    F[i, c] = F[i, c] + d[c] * (1.0 / (r[0] + 0.01) - 10.0)


@T.prim_func
def median_3x3(X: T.Buffer((100, 100), "float32"), Y: T.Buffer((98, 98), "float32")):
    for i, j in T.grid(98, 98):
        v = T.alloc_buffer((9,), "float32")
        s = T.alloc_buffer((1,), "float32")
        for a, b in T.grid(3, 3):
            v[a * 3 + b] = X[i + a, j + b]
        for p in range(5):
            for q in range(8):
                if v[q] > v[q + 1]:
                    s[0] = v[q]
                    v[q] = v[q + 1]
                    v[q + 1] = s[0]
        Y[i, j] = v[4]


@T.prim_func
def rank_one_downdates(
    A: T.Buffer((48, 48), "float32"), Q: T.Buffer((48, 48), "float32"), R: T.Buffer((48, 48), "float32")
):
    W = T.alloc_buffer((48, 48), "float32")
    for i, j in T.grid(48, 48):
        W[i, j] = A[i, j]
        R[i, j] = 0.0
        Q[i, j] = 0.0
    for k in range(48):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for i in range(48):
            s[0] = s[0] + W[i, k] * W[i, k]
        R[k, k] = T.sqrt(s[0])
        for i in range(48):
            Q[i, k] = W[i, k] / R[k, k]
        for j in range(k + 1, 48):
            for i in range(48):
                R[k, j] = R[k, j] + Q[i, k] * W[i, j]
            for i in range(48):
                W[i, j] = W[i, j] - Q[i, k] * R[k, j]


@T.prim_func
def kepler(M: T.Buffer((5000,), "float32"), e: T.Buffer((5000,), "float32"), E: T.Buffer((5000,), "float32")):
    for i in range(5000):
        E[i] = M[i]
        for k in range(6):
            E[i] = E[i] - (E[i] - e[i] * T.sin(E[i]) - M[i]) / (1.0 - e[i] * T.cos(E[i]))


@T.prim_func
def bicubic(A: T.Buffer((64, 64), "float32"), B: T.Buffer((256, 256), "float32")):
    for y, x in T.grid(256, 256):
        B[y, x] = 0.0
        wy = T.alloc_buffer((4,), "float32")
        wx = T.alloc_buffer((4,), "float32")
        t = T.alloc_buffer((2,), "float32")
        t[0] = T.cast(y % 4, "float32") / 4.0
        t[1] = T.cast(x % 4, "float32") / 4.0
        wy[0] = ((-0.5 * t[0] + 1.0) * t[0] - 0.5) * t[0]
        wy[1] = (1.5 * t[0] - 2.5) * t[0] * t[0] + 1.0
        wy[2] = ((-1.5 * t[0] + 2.0) * t[0] + 0.5) * t[0]
        wy[3] = (0.5 * t[0] - 0.5) * t[0] * t[0]
        wx[0] = ((-0.5 * t[1] + 1.0) * t[1] - 0.5) * t[1]
        wx[1] = (1.5 * t[1] - 2.5) * t[1] * t[1] + 1.0
        wx[2] = ((-1.5 * t[1] + 2.0) * t[1] + 0.5) * t[1]
        wx[3] = (0.5 * t[1] - 0.5) * t[1] * t[1]
        for a, b in T.grid(4, 4):
            B[y, x] = (
                B[y, x] + wy[a] * wx[b] * A[T.min(T.max(y // 4 + a - 1, 0), 63), T.min(T.max(x // 4 + b - 1, 0), 63)]
            )


@T.prim_func
def slide_2048(G: T.Buffer((1000, 4), "int32"), O: T.Buffer((1000, 4), "int32")):
    for g in range(1000):
        p = T.alloc_buffer((1,), "int32")
        m = T.alloc_buffer((1,), "int32")
        p[0] = 0
        m[0] = 0
        for k in range(4):
            O[g, k] = 0
        for k in range(4):
            if G[g, k] != 0:
                if m[0] == G[g, k]:
                    O[g, p[0] - 1] = 2 * m[0]
                    m[0] = 0
                else:
                    O[g, p[0]] = G[g, k]
                    m[0] = G[g, k]
                    p[0] = p[0] + 1


@T.prim_func
def phase_unwrap(P: T.Buffer((64, 4000), "float32"), U: T.Buffer((64, 4000), "float32")):
    for b in range(64):
        U[b, 0] = P[b, 0]
        for t in range(1, 4000):
            U[b, t] = (
                U[b, t - 1] + (P[b, t] - P[b, t - 1]) - 6.2831855 * T.floor((P[b, t] - P[b, t - 1]) / 6.2831855 + 0.5)
            )


@T.prim_func
def lpc_synthesis(
    E: T.Buffer((80, 160), "float32"), A: T.Buffer((80, 10), "float32"), S: T.Buffer((80, 160), "float32")
):
    for f in range(80):
        for t in range(160):
            S[f, t] = E[f, t]
            for k in range(10):
                if t - k - 1 >= 0:
                    S[f, t] = S[f, t] - A[f, k] * S[f, t - k - 1]


@T.prim_func
def amdf(X: T.Buffer((40, 800), "float32"), D: T.Buffer((40, 200), "float32"), P: T.Buffer((40,), "int32")):
    for f in range(40):
        b = T.alloc_buffer((1,), "float32")
        b[0] = 1e30
        P[f] = 20
        for l in range(200):
            D[f, l] = 0.0
            for t in range(600):
                D[f, l] = D[f, l] + T.abs(X[f, t] - X[f, t + l])
        for l in range(20, 200):
            if D[f, l] < b[0]:
                b[0] = D[f, l]
                P[f] = l


@T.prim_func
def kuwahara(A: T.Buffer((132, 132), "float32"), B: T.Buffer((128, 128), "float32")):
    for y, x in T.grid(128, 128):
        best = T.alloc_buffer((1,), "float32")
        best[0] = 1e30
        for q in range(4):
            s = T.alloc_buffer((2,), "float32")
            s[0] = 0.0
            s[1] = 0.0
            for a, b in T.grid(3, 3):
                s[0] = s[0] + A[y + q // 2 * 2 + a, x + q % 2 * 2 + b]
                s[1] = s[1] + A[y + q // 2 * 2 + a, x + q % 2 * 2 + b] * A[y + q // 2 * 2 + a, x + q % 2 * 2 + b]
            if s[1] / 9.0 - s[0] * s[0] / 81.0 < best[0]:
                best[0] = s[1] / 9.0 - s[0] * s[0] / 81.0
                B[y, x] = s[0] / 9.0


@T.prim_func
def zhang_suen(I: T.Buffer((96, 96), "int32"), O: T.Buffer((96, 96), "int32")):
    for i, j in T.grid(96, 96):
        O[i, j] = I[i, j]
    for t in range(20):
        M = T.alloc_buffer((96, 96), "int32")
        for i, j in T.grid(96, 96):
            M[i, j] = O[i, j]
        for i, j in T.grid(94, 94):
            if O[i + 1, j + 1] == 1:
                n = T.alloc_buffer((1,), "int32")
                c = T.alloc_buffer((1,), "int32")
                n[0] = (
                    O[i, j + 1]
                    + O[i, j + 2]
                    + O[i + 1, j + 2]
                    + O[i + 2, j + 2]
                    + O[i + 2, j + 1]
                    + O[i + 2, j]
                    + O[i + 1, j]
                    + O[i, j]
                )
                c[0] = 0
                if O[i, j + 1] < O[i, j + 2]:
                    c[0] = c[0] + 1
                if O[i, j + 2] < O[i + 1, j + 2]:
                    c[0] = c[0] + 1
                if O[i + 1, j + 2] < O[i + 2, j + 2]:
                    c[0] = c[0] + 1
                if O[i + 2, j + 2] < O[i + 2, j + 1]:
                    c[0] = c[0] + 1
                if O[i + 2, j + 1] < O[i + 2, j]:
                    c[0] = c[0] + 1
                if O[i + 2, j] < O[i + 1, j]:
                    c[0] = c[0] + 1
                if O[i + 1, j] < O[i, j]:
                    c[0] = c[0] + 1
                if O[i, j] < O[i, j + 1]:
                    c[0] = c[0] + 1
                if n[0] >= 2 and n[0] <= 6 and c[0] == 1:
                    if t % 2 == 0:
                        if (
                            O[i, j + 1] * O[i + 1, j + 2] * O[i + 2, j + 1] == 0
                            and O[i + 1, j + 2] * O[i + 2, j + 1] * O[i + 1, j] == 0
                        ):
                            M[i + 1, j + 1] = 0
                    else:
                        if (
                            O[i, j + 1] * O[i + 1, j + 2] * O[i + 1, j] == 0
                            and O[i, j + 1] * O[i + 2, j + 1] * O[i + 1, j] == 0
                        ):
                            M[i + 1, j + 1] = 0
        for i, j in T.grid(96, 96):
            O[i, j] = M[i, j]


@T.prim_func
def pixelate(A: T.Buffer((200, 200, 3), "float32"), B: T.Buffer((200, 200, 3), "float32")):
    for y, x, c in T.grid(200, 200, 3):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for a, b in T.grid(8, 8):
            s[0] = s[0] + A[y // 8 * 8 + a, x // 8 * 8 + b, c]
        B[y, x, c] = s[0] / 64.0


@T.prim_func
def seam_removal(A: T.Buffer((200, 200), "float32"), S: T.Buffer((200,), "int32"), B: T.Buffer((200, 199), "float32")):
    for y in range(200):
        T.assume(S[y] >= 0 and S[y] < 200)
        for x in range(199):
            if x < S[y]:
                B[y, x] = A[y, x]
            else:
                B[y, x] = A[y, x + 1]


@T.prim_func
def block_motion(
    C: T.Buffer((64, 64), "float32"),
    R: T.Buffer((80, 80), "float32"),
    V: T.Buffer((8, 8), "int32"),
    D: T.Buffer((8, 8), "float32"),
):
    for by, bx in T.grid(8, 8):
        D[by, bx] = 1e30
        V[by, bx] = 0
        for v in range(289):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for a, b in T.grid(8, 8):
                s[0] = s[0] + T.abs(C[8 * by + a, 8 * bx + b] - R[8 * by + a + v // 17, 8 * bx + b + v % 17])
            if s[0] < D[by, bx]:
                D[by, bx] = s[0]
                V[by, bx] = v


@T.prim_func
def integer_dct(X: T.Buffer((1000, 4, 4), "int32"), Y: T.Buffer((1000, 4, 4), "int32")):
    for n in range(1000):
        t = T.alloc_buffer((4, 4), "int32")
        for i in range(4):
            t[i, 0] = X[n, i, 0] + X[n, i, 1] + X[n, i, 2] + X[n, i, 3]
            t[i, 1] = 2 * X[n, i, 0] + X[n, i, 1] - X[n, i, 2] - 2 * X[n, i, 3]
            t[i, 2] = X[n, i, 0] - X[n, i, 1] - X[n, i, 2] + X[n, i, 3]
            t[i, 3] = X[n, i, 0] - 2 * X[n, i, 1] + 2 * X[n, i, 2] - X[n, i, 3]
        for j in range(4):
            Y[n, 0, j] = t[0, j] + t[1, j] + t[2, j] + t[3, j]
            Y[n, 1, j] = 2 * t[0, j] + t[1, j] - t[2, j] - 2 * t[3, j]
            Y[n, 2, j] = t[0, j] - t[1, j] - t[2, j] + t[3, j]
            Y[n, 3, j] = t[0, j] - 2 * t[1, j] + 2 * t[2, j] - t[3, j]


@T.prim_func
def nagel(
    R: T.Buffer((200, 500), "int32"),
    P0: T.Buffer((500,), "int32"),
    F: T.Buffer((200,), "int32"),
    V: T.Buffer((500,), "int32"),
):
    N = T.alloc_buffer((500,), "int32")
    for i in range(500):
        V[i] = P0[i]
    for t in range(200):
        F[t] = 0
        for i in range(500):
            N[i] = -1
        for i in range(500):
            T.assume(V[i] >= -1 and V[i] <= 5)
            if V[i] >= 0:
                v = T.alloc_buffer((1,), "int32")
                v[0] = T.min(V[i] + 1, 5)
                for d in range(5):
                    if V[(i + 5 - d) % 500] >= 0:
                        v[0] = T.min(v[0], 4 - d)
                if R[t, i] == 0:
                    v[0] = T.max(v[0] - 1, 0)
                N[(i + v[0]) % 500] = v[0]
                F[t] = F[t] + v[0]
        for i in range(500):
            V[i] = N[i]


@T.prim_func
def kdv(U0: T.Buffer((512,), "float32"), U: T.Buffer((512,), "float32")):
    A = T.alloc_buffer((512,), "float32")
    B = T.alloc_buffer((512,), "float32")
    for i in range(512):
        A[i] = U0[i]
        U[i] = U0[i]
    for t in range(100):
        for i in range(512):
            B[i] = (
                A[i]
                - 0.01 * (U[(i + 1) % 512] + U[i] + U[(i + 511) % 512]) * (U[(i + 1) % 512] - U[(i + 511) % 512])
                - 0.002 * (U[(i + 2) % 512] - 2.0 * U[(i + 1) % 512] + 2.0 * U[(i + 511) % 512] - U[(i + 510) % 512])
            )
        for i in range(512):
            A[i] = U[i]
            U[i] = B[i]


@T.prim_func
def boids(P: T.Buffer((300, 2), "float32"), V: T.Buffer((300, 2), "float32"), W: T.Buffer((300, 2), "float32")):
    for i in range(300):
        n = T.alloc_buffer((1,), "float32")
        a = T.alloc_buffer((2,), "float32")
        c = T.alloc_buffer((2,), "float32")
        s = T.alloc_buffer((2,), "float32")
        n[0] = 0.0
        for k in range(2):
            a[k] = 0.0
            c[k] = 0.0
            s[k] = 0.0
        for j in range(300):
            d = T.alloc_buffer((1,), "float32")
            d[0] = (P[i, 0] - P[j, 0]) * (P[i, 0] - P[j, 0]) + (P[i, 1] - P[j, 1]) * (P[i, 1] - P[j, 1])
            if j != i and d[0] < 0.04:
                n[0] = n[0] + 1.0
                for k in range(2):
                    a[k] = a[k] + V[j, k]
                    c[k] = c[k] + P[j, k]
                    s[k] = s[k] + (P[i, k] - P[j, k]) / (d[0] + 0.01)
        for k in range(2):
            W[i, k] = V[i, k]
            if n[0] > 0.0:
                W[i, k] = W[i, k] + 0.1 * (a[k] / n[0] - V[i, k]) + 0.05 * (c[k] / n[0] - P[i, k]) + 0.01 * s[k]


@T.prim_func
def barrier_paths(Z: T.Buffer((250, 4000), "float32"), O: T.Buffer((4000,), "float32")):
    for p in range(4000):
        s = T.alloc_buffer((1,), "float32")
        alive = T.alloc_buffer((1,), "int32")
        s[0] = 100.0
        alive[0] = 1
        for t in range(250):
            s[0] = s[0] * T.exp(0.0001 + 0.01 * Z[t, p])
            if s[0] < 85.0:
                alive[0] = 0
        O[p] = 0.0
        if alive[0] == 1:
            O[p] = T.max(s[0] - 100.0, 0.0)


@T.prim_func
def pair_zscore(A: T.Buffer((2000,), "float32"), B: T.Buffer((2000,), "float32"), Z: T.Buffer((1950,), "float32")):
    for t in range(1950):
        m = T.alloc_buffer((2,), "float32")
        m[0] = 0.0
        m[1] = 0.0
        for k in range(50):
            m[0] = m[0] + (A[t + k] - 1.3 * B[t + k])
        m[0] = m[0] / 50.0
        for k in range(50):
            m[1] = m[1] + (A[t + k] - 1.3 * B[t + k] - m[0]) * (A[t + k] - 1.3 * B[t + k] - m[0])
        Z[t] = (A[t + 50] - 1.3 * B[t + 50] - m[0]) / T.sqrt(m[1] / 50.0 + 1e-6)


@T.prim_func
def kmer_counts(S: T.Buffer((20000,), "int32"), C: T.Buffer((1024,), "int32")):
    for k in range(1024):
        C[k] = 0
    h = T.alloc_buffer((1,), "int32")
    h[0] = 0
    for i in range(20000):
        T.assume(S[i] >= 0 and S[i] < 4)
        h[0] = (h[0] * 4 + S[i]) % 1024
        if i >= 4:
            C[h[0]] = C[h[0]] + 1


@T.prim_func
def gc_skew(S: T.Buffer((30000,), "int32"), K: T.Buffer((30000,), "int32"), O: T.Buffer((1,), "int32")):
    s = T.alloc_buffer((2,), "int32")
    s[0] = 0
    s[1] = 0
    O[0] = 0
    for i in range(30000):
        if S[i] == 1:
            s[0] = s[0] - 1
        if S[i] == 2:
            s[0] = s[0] + 1
        K[i] = s[0]
        if s[0] < s[1]:
            s[1] = s[0]
            O[0] = i


@T.prim_func
def translate_codons(
    S: T.Buffer((3000, 3), "int32"),
    Tb: T.Buffer((64,), "int32"),
    P: T.Buffer((3000,), "int32"),
    L: T.Buffer((1,), "int32"),
):
    r = T.alloc_buffer((1,), "int32")
    r[0] = 0
    L[0] = 0
    for i in range(3000):
        T.assume(S[i, 0] >= 0 and S[i, 0] < 4 and S[i, 1] >= 0 and S[i, 1] < 4 and S[i, 2] >= 0 and S[i, 2] < 4)
        P[i] = Tb[S[i, 0] * 16 + S[i, 1] * 4 + S[i, 2]]
        if P[i] < 0:
            r[0] = 0
        else:
            r[0] = r[0] + 1
        L[0] = T.max(L[0], r[0])


@T.prim_func
def felsenstein(
    C: T.Buffer((63, 2), "int32"),
    Pm: T.Buffer((127, 4, 4), "float32"),
    X: T.Buffer((64, 200), "int32"),
    L: T.Buffer((127, 200, 4), "float32"),
):
    for n, s, a in T.grid(64, 200, 4):
        L[n, s, a] = 0.0
        if X[n, s] == a:
            L[n, s, a] = 1.0
    for k in range(63):
        T.assume(C[k, 0] >= 0 and C[k, 0] < 64 + k and C[k, 1] >= 0 and C[k, 1] < 64 + k)
        for s, a in T.grid(200, 4):
            u = T.alloc_buffer((2,), "float32")
            u[0] = 0.0
            u[1] = 0.0
            for b in range(4):
                u[0] = u[0] + Pm[C[k, 0], a, b] * L[C[k, 0], s, b]
                u[1] = u[1] + Pm[C[k, 1], a, b] * L[C[k, 1], s, b]
            L[64 + k, s, a] = u[0] * u[1]


@T.prim_func
def lasso_descent(X: T.Buffer((400, 40), "float32"), y: T.Buffer((400,), "float32"), w: T.Buffer((40,), "float32")):
    r = T.alloc_buffer((400,), "float32")
    for j in range(40):
        w[j] = 0.0
    for i in range(400):
        r[i] = y[i]
    for t in range(10):
        for j in range(40):
            d = T.alloc_buffer((3,), "float32")
            d[0] = 0.0
            d[1] = 1e-9
            for i in range(400):
                d[0] = d[0] + X[i, j] * r[i]
                d[1] = d[1] + X[i, j] * X[i, j]
            d[0] = d[0] + d[1] * w[j]
            d[2] = T.max(T.abs(d[0]) - 20.0, 0.0) / d[1]
            if d[0] < 0.0:
                d[2] = -d[2]
            for i in range(400):
                r[i] = r[i] + X[i, j] * (w[j] - d[2])
            w[j] = d[2]


@T.prim_func
def elo(
    A: T.Buffer((3000,), "int32"),
    B: T.Buffer((3000,), "int32"),
    S: T.Buffer((3000,), "float32"),
    R: T.Buffer((100,), "float32"),
):
    for p in range(100):
        R[p] = 1500.0
    for g in range(3000):
        T.assume(A[g] >= 0 and A[g] < 100 and B[g] >= 0 and B[g] < 100)
        e = T.alloc_buffer((1,), "float32")
        e[0] = 24.0 * (S[g] - 1.0 / (1.0 + T.exp((R[B[g]] - R[A[g]]) * 0.005756)))
        R[A[g]] = R[A[g]] + e[0]
        R[B[g]] = R[B[g]] - e[0]


@T.prim_func
def self_organizing_map(
    X: T.Buffer((500, 8), "float32"), W0: T.Buffer((40, 8), "float32"), W: T.Buffer((40, 8), "float32")
):
    for k, d in T.grid(40, 8):
        W[k, d] = W0[k, d]
    for n in range(500):
        b = T.alloc_buffer((1,), "int32")
        m = T.alloc_buffer((1,), "float32")
        m[0] = 1e30
        b[0] = 0
        for k in range(40):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for d in range(8):
                s[0] = s[0] + (X[n, d] - W[k, d]) * (X[n, d] - W[k, d])
            if s[0] < m[0]:
                m[0] = s[0]
                b[0] = k
        for k, d in T.grid(40, 8):
            W[k, d] = W[k, d] + 0.1 * T.exp(-0.5 * T.cast((k - b[0]) * (k - b[0]), "float32")) * (X[n, d] - W[k, d])


@T.prim_func
def tsne_gradient(
    P: T.Buffer((300, 300), "float32"), Y: T.Buffer((300, 2), "float32"), G: T.Buffer((300, 2), "float32")
):
    Q = T.alloc_buffer((300, 300), "float32")
    z = T.alloc_buffer((1,), "float32")
    z[0] = 0.0
    for i, j in T.grid(300, 300):
        Q[i, j] = 0.0
        if i != j:
            Q[i, j] = 1.0 / (
                1.0 + (Y[i, 0] - Y[j, 0]) * (Y[i, 0] - Y[j, 0]) + (Y[i, 1] - Y[j, 1]) * (Y[i, 1] - Y[j, 1])
            )
        z[0] = z[0] + Q[i, j]
    for i, d in T.grid(300, 2):
        G[i, d] = 0.0
        for j in range(300):
            G[i, d] = G[i, d] + 4.0 * (P[i, j] - Q[i, j] / z[0]) * Q[i, j] * (Y[i, d] - Y[j, d])


@T.prim_func
def adaboost(
    H: T.Buffer((50, 1000), "float32"),
    y: T.Buffer((1000,), "float32"),
    A: T.Buffer((50,), "float32"),
    F: T.Buffer((1000,), "float32"),
):
    w = T.alloc_buffer((1000,), "float32")
    for n in range(1000):
        w[n] = 0.001
        F[n] = 0.0
    for m in range(50):
        e = T.alloc_buffer((2,), "float32")
        e[0] = 1e-6
        e[1] = 1e-6
        for n in range(1000):
            if H[m, n] != y[n]:
                e[0] = e[0] + w[n]
            e[1] = e[1] + w[n]
        A[m] = 0.5 * T.log((e[1] - e[0]) / e[0])
        for n in range(1000):
            w[n] = w[n] * T.exp(-A[m] * H[m, n] * y[n])
            F[n] = F[n] + A[m] * H[m, n]


@T.prim_func
def hinge_sgd(X: T.Buffer((1000, 20), "float32"), y: T.Buffer((1000,), "float32"), w: T.Buffer((20,), "float32")):
    for d in range(20):
        w[d] = 0.0
    for n in range(1000):
        m = T.alloc_buffer((1,), "float32")
        m[0] = 0.0
        for d in range(20):
            m[0] = m[0] + w[d] * X[n, d]
        for d in range(20):
            w[d] = 0.999 * w[d]
            if m[0] * y[n] < 1.0:
                w[d] = w[d] + 0.01 * y[n] * X[n, d]


@T.prim_func
def top_k_rows(X: T.Buffer((200, 100), "float32"), V: T.Buffer((200, 5), "float32"), J: T.Buffer((200, 5), "int32")):
    for r in range(200):
        c = T.alloc_buffer((100,), "float32")
        for k in range(100):
            c[k] = X[r, k]
        for s in range(5):
            V[r, s] = -1e30
            J[r, s] = 0
            for k in range(100):
                if c[k] > V[r, s]:
                    V[r, s] = c[k]
                    J[r, s] = k
            c[J[r, s]] = -1e30


@T.prim_func
def isotonic(y: T.Buffer((300,), "float32"), x: T.Buffer((300,), "float32")):
    v = T.alloc_buffer((300,), "float32")
    n = T.alloc_buffer((300,), "float32")
    p = T.alloc_buffer((1,), "int32")
    q = T.alloc_buffer((1,), "int32")
    p[0] = 0
    for i in range(300):
        v[p[0]] = y[i]
        n[p[0]] = 1.0
        p[0] = p[0] + 1
        for k in range(300):
            if p[0] > 1:
                if v[p[0] - 2] > v[p[0] - 1]:
                    v[p[0] - 2] = (v[p[0] - 2] * n[p[0] - 2] + v[p[0] - 1] * n[p[0] - 1]) / (n[p[0] - 2] + n[p[0] - 1])
                    n[p[0] - 2] = n[p[0] - 2] + n[p[0] - 1]
                    p[0] = p[0] - 1
    q[0] = 0
    for b in range(300):
        if b < p[0]:
            for k in range(300):
                if T.cast(k, "float32") < n[b]:
                    x[T.min(q[0] + k, 299)] = v[b]
            q[0] = q[0] + T.cast(n[b], "int32")


@T.prim_func
def luhn(D: T.Buffer((5000, 16), "int32"), V: T.Buffer((5000,), "int32")):
    for c in range(5000):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for k in range(16):
            if k % 2 == 0:
                if 2 * D[c, k] > 9:
                    s[0] = s[0] + 2 * D[c, k] - 9
                else:
                    s[0] = s[0] + 2 * D[c, k]
            else:
                s[0] = s[0] + D[c, k]
        V[c] = 0
        if s[0] % 10 == 0:
            V[c] = 1


@T.prim_func
def anagram_keys(W: T.Buffer((500, 12), "int32"), K: T.Buffer((500, 26), "int32"), E: T.Buffer((500, 500), "int32")):
    for w, c in T.grid(500, 26):
        K[w, c] = 0
    for w, k in T.grid(500, 12):
        T.assume(W[w, k] >= 0 and W[w, k] < 26)
        K[w, W[w, k]] = K[w, W[w, k]] + 1
    for a, b in T.grid(500, 500):
        E[a, b] = 1
        for c in range(26):
            if K[a, c] != K[b, c]:
                E[a, b] = 0


@T.prim_func
def hist_match(A: T.Buffer((128, 128), "int32"), B: T.Buffer((128, 128), "int32"), O: T.Buffer((128, 128), "int32")):
    ha = T.alloc_buffer((256,), "int32")
    hb = T.alloc_buffer((256,), "int32")
    m = T.alloc_buffer((256,), "int32")
    for k in range(256):
        ha[k] = 0
        hb[k] = 0
    for i, j in T.grid(128, 128):
        T.assume(A[i, j] >= 0 and A[i, j] < 256 and B[i, j] >= 0 and B[i, j] < 256)
        ha[A[i, j]] = ha[A[i, j]] + 1
        hb[B[i, j]] = hb[B[i, j]] + 1
    for k in range(1, 256):
        ha[k] = ha[k] + ha[k - 1]
        hb[k] = hb[k] + hb[k - 1]
    for k in range(256):
        m[k] = 0
        for l in range(256):
            if hb[l] < ha[k]:
                m[k] = l + 1
        m[k] = T.min(m[k], 255)
    for i, j in T.grid(128, 128):
        O[i, j] = m[A[i, j]]


@T.prim_func
def xy_sweeps(S: T.Buffer((64, 64), "float32"), U: T.Buffer((10, 64, 64), "float32"), O: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        O[i, j] = S[i, j]
    for t in range(10):
        for c in range(2):
            for i, j in T.grid(64, 64):
                if (i + j) % 2 == c:
                    n = T.alloc_buffer((2,), "float32")
                    n[0] = (
                        T.cos(O[(i + 1) % 64, j])
                        + T.cos(O[(i + 63) % 64, j])
                        + T.cos(O[i, (j + 1) % 64])
                        + T.cos(O[i, (j + 63) % 64])
                    )
                    n[1] = (
                        T.sin(O[(i + 1) % 64, j])
                        + T.sin(O[(i + 63) % 64, j])
                        + T.sin(O[i, (j + 1) % 64])
                        + T.sin(O[i, (j + 63) % 64])
                    )
                    if n[0] * T.cos(U[t, i, j]) + n[1] * T.sin(U[t, i, j]) > n[0] * T.cos(O[i, j]) + n[1] * T.sin(
                        O[i, j]
                    ):
                        O[i, j] = U[t, i, j]


@T.prim_func
def fem_assembly(
    E: T.Buffer((2000, 3), "int32"),
    X: T.Buffer((1100, 2), "float32"),
    K: T.Buffer((1100,), "float32"),
    F: T.Buffer((1100,), "float32"),
):
    for n in range(1100):
        K[n] = 0.0
        F[n] = 0.0
    for e in range(2000):
        for a in range(3):
            T.assume(E[e, a] >= 0 and E[e, a] < 1100)
        ar = T.alloc_buffer((1,), "float32")
        ar[0] = 0.5 * T.abs(
            (X[E[e, 1], 0] - X[E[e, 0], 0]) * (X[E[e, 2], 1] - X[E[e, 0], 1])
            - (X[E[e, 2], 0] - X[E[e, 0], 0]) * (X[E[e, 1], 1] - X[E[e, 0], 1])
        )
        for a in range(3):
            K[E[e, a]] = K[E[e, a]] + (
                (X[E[e, (a + 1) % 3], 1] - X[E[e, (a + 2) % 3], 1])
                * (X[E[e, (a + 1) % 3], 1] - X[E[e, (a + 2) % 3], 1])
                + (X[E[e, (a + 2) % 3], 0] - X[E[e, (a + 1) % 3], 0])
                * (X[E[e, (a + 2) % 3], 0] - X[E[e, (a + 1) % 3], 0])
            ) / (4.0 * ar[0] + 1e-6)
            F[E[e, a]] = F[E[e, a]] + ar[0] / 3.0


@T.prim_func
def fitzhugh(
    V0: T.Buffer((100, 100), "float32"), V: T.Buffer((100, 100), "float32"), W: T.Buffer((100, 100), "float32")
):
    L = T.alloc_buffer((100, 100), "float32")
    for i, j in T.grid(100, 100):
        V[i, j] = V0[i, j]
        W[i, j] = 0.0
    for t in range(50):
        for i, j in T.grid(100, 100):
            L[i, j] = (
                V[T.max(i - 1, 0), j]
                + V[T.min(i + 1, 99), j]
                + V[i, T.max(j - 1, 0)]
                + V[i, T.min(j + 1, 99)]
                - 4.0 * V[i, j]
            )
        for i, j in T.grid(100, 100):
            V[i, j] = V[i, j] + 0.05 * (V[i, j] - V[i, j] * V[i, j] * V[i, j] / 3.0 - W[i, j] + L[i, j])
            W[i, j] = W[i, j] + 0.05 * 0.08 * (V[i, j] + 0.7 - 0.8 * W[i, j])


@T.prim_func
def word2vec_step(
    C: T.Buffer((256,), "int32"),
    O: T.Buffer((256, 6), "int32"),
    Wi: T.Buffer((1000, 32), "float32"),
    Wo: T.Buffer((1000, 32), "float32"),
    L: T.Buffer((256,), "float32"),
    G: T.Buffer((1000, 32), "float32"),
):
    for v, d in T.grid(1000, 32):
        G[v, d] = 0.0
    for b in range(256):
        T.assume(C[b] >= 0 and C[b] < 1000)
        L[b] = 0.0
        for k in range(6):
            T.assume(O[b, k] >= 0 and O[b, k] < 1000)
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for d in range(32):
                s[0] = s[0] + Wi[C[b], d] * Wo[O[b, k], d]
            s[0] = 1.0 / (1.0 + T.exp(-s[0]))
            if k == 0:
                L[b] = L[b] - T.log(s[0] + 1e-6)
                s[0] = s[0] - 1.0
            else:
                L[b] = L[b] - T.log(1.0 - s[0] + 1e-6)
            for d in range(32):
                G[C[b], d] = G[C[b], d] + s[0] * Wo[O[b, k], d]


@T.prim_func
def cyk(R: T.Buffer((30, 3), "int32"), X: T.Buffer((24,), "int32"), D: T.Buffer((24, 25, 10), "int32")):
    for i, l, a in T.grid(24, 25, 10):
        D[i, l, a] = 0
    for r in range(30):
        T.assume(R[r, 0] >= 0 and R[r, 0] < 10 and R[r, 1] >= 0 and R[r, 1] < 10 and R[r, 2] >= 0 and R[r, 2] < 10)
    for i in range(24):
        T.assume(X[i] >= 0 and X[i] < 10)
        D[i, 1, X[i]] = 1
    for l in range(2, 25):
        for i in range(25 - l):
            for k in range(1, l):
                for r in range(30):
                    if D[i, k, R[r, 1]] == 1 and D[i + k, l - k, R[r, 2]] == 1:
                        D[i, l, R[r, 0]] = 1


@T.prim_func
def sample_hold(X: T.Buffer((32, 4096), "float32"), Y: T.Buffer((32, 4096), "float32")):
    for c in range(32):
        h = T.alloc_buffer((1,), "float32")
        h[0] = 0.0
        for t in range(4096):
            if t % 6 == 0:
                h[0] = T.floor(X[c, t] * 16.0 + 0.5) / 16.0
            Y[c, t] = h[0]


@T.prim_func
def adsr(G: T.Buffer((16, 4000), "int32"), E: T.Buffer((16, 4000), "float32")):
    for v in range(16):
        e = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "int32")
        e[0] = 0.0
        s[0] = 0
        for t in range(4000):
            if G[v, t] == 1:
                if s[0] == 0:
                    s[0] = 1
            else:
                s[0] = 0
            if s[0] == 1:
                e[0] = e[0] + 0.01
                if e[0] >= 1.0:
                    e[0] = 1.0
                    s[0] = 2
            else:
                if s[0] == 2:
                    e[0] = 0.6 + (e[0] - 0.6) * 0.999
                else:
                    e[0] = e[0] * 0.995
            E[v, t] = e[0]


@T.prim_func
def split_step(
    A0: T.Buffer((256,), "float32"),
    B0: T.Buffer((256,), "float32"),
    V: T.Buffer((256,), "float32"),
    A: T.Buffer((256,), "float32"),
    B: T.Buffer((256,), "float32"),
):
    for i in range(256):
        A[i] = A0[i]
        B[i] = B0[i]
    for t in range(100):
        for i in range(1, 255):
            A[i] = A[i] - 0.1 * (B[i + 1] - 2.0 * B[i] + B[i - 1]) + 0.2 * V[i] * B[i]
        for i in range(1, 255):
            B[i] = B[i] + 0.1 * (A[i + 1] - 2.0 * A[i] + A[i - 1]) - 0.2 * V[i] * A[i]


@T.prim_func
def dbscan_counts(X: T.Buffer((600, 3), "float32"), N: T.Buffer((600,), "int32"), C: T.Buffer((600,), "int32")):
    for i in range(600):
        N[i] = 0
        for j in range(600):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for k in range(3):
                d[0] = d[0] + (X[i, k] - X[j, k]) * (X[i, k] - X[j, k])
            if d[0] < 0.25:
                N[i] = N[i] + 1
    for i in range(600):
        C[i] = 0
        if N[i] >= 5:
            C[i] = 1


@T.prim_func
def delay_line(X: T.Buffer((32, 8000), "float32"), Y: T.Buffer((32, 8000), "float32")):
    for b in range(32):
        ring = T.alloc_buffer((441,), "float32")
        for k in range(441):
            ring[k] = 0.0
        for t in range(8000):
            Y[b, t] = X[b, t] + 0.6 * ring[t % 441]
            ring[t % 441] = Y[b, t]


@T.prim_func
def image_moments(A: T.Buffer((256, 256), "float32"), M: T.Buffer((4, 4), "float32")):
    for p, q in T.grid(4, 4):
        M[p, q] = 0.0
        for y, x in T.grid(256, 256):
            w = T.alloc_buffer((1,), "float32")
            w[0] = A[y, x]
            for k in range(p):
                w[0] = w[0] * (T.cast(y, "float32") / 256.0)
            for k in range(q):
                w[0] = w[0] * (T.cast(x, "float32") / 256.0)
            M[p, q] = M[p, q] + w[0]


@T.prim_func
def ransac_counts(
    X: T.Buffer((2000,), "float32"),
    Y: T.Buffer((2000,), "float32"),
    L: T.Buffer((300, 3), "float32"),
    C: T.Buffer((300,), "int32"),
    best: T.Buffer((1,), "int32"),
):
    for h in range(300):
        C[h] = 0
        for i in range(2000):
            if T.abs(L[h, 0] * X[i] + L[h, 1] * Y[i] + L[h, 2]) < 0.1:
                C[h] = C[h] + 1
    best[0] = 0
    for h in range(1, 300):
        if C[h] > C[best[0]]:
            best[0] = h


@T.prim_func
def scatter_within(X: T.Buffer((3000, 12), "float32"), y: T.Buffer((3000,), "int32"), S: T.Buffer((12, 12), "float32")):
    mean = T.alloc_buffer((5, 12), "float32")
    count = T.alloc_buffer((5,), "float32")
    for c in range(5):
        count[c] = 0.0
        for d in range(12):
            mean[c, d] = 0.0
    for i in range(3000):
        count[y[i]] = count[y[i]] + 1.0
        for d in range(12):
            mean[y[i], d] = mean[y[i], d] + X[i, d]
    for c, d in T.grid(5, 12):
        mean[c, d] = mean[c, d] / T.max(count[c], 1.0)
    for d, e in T.grid(12, 12):
        S[d, e] = 0.0
    for i in range(3000):
        for d, e in T.grid(12, 12):
            S[d, e] = S[d, e] + (X[i, d] - mean[y[i], d]) * (X[i, e] - mean[y[i], e])


@T.prim_func
def particle_weights(
    P: T.Buffer((500, 3), "float32"),
    R: T.Buffer((24,), "float32"),
    M: T.Buffer((24, 2), "float32"),
    W: T.Buffer((500,), "float32"),
    E: T.Buffer((3,), "float32"),
):
    total = T.alloc_buffer((1,), "float32")
    total[0] = 0.0
    for p in range(500):
        W[p] = 1.0
        for k in range(24):
            dx = P[p, 0] - M[k, 0]
            dy = P[p, 1] - M[k, 1]
            r = T.sqrt(dx * dx + dy * dy) - R[k]
            W[p] = W[p] * T.exp(-0.005 * r * r)
        total[0] = total[0] + W[p]
    for c in range(3):
        E[c] = 0.0
    for p in range(500):
        W[p] = W[p] / total[0]
        for c in range(3):
            E[c] = E[c] + W[p] * P[p, c]


@T.prim_func
def batched_determinants(A: T.Buffer((800, 5, 5), "float32"), D: T.Buffer((800,), "float32")):
    for b in range(800):
        U = T.alloc_buffer((5, 5), "float32")
        for i, j in T.grid(5, 5):
            U[i, j] = A[b, i, j]
        D[b] = 1.0
        for k in range(5):
            D[b] = D[b] * U[k, k]
            for i in range(k + 1, 5):
                f = T.alloc_buffer((1,), "float32")
                f[0] = U[i, k] / U[k, k]
                for j in range(k, 5):
                    U[i, j] = U[i, j] - f[0] * U[k, j]


@T.prim_func
def rasterize(
    V: T.Buffer((60, 3, 2), "float32"),
    Z: T.Buffer((60,), "float32"),
    I: T.Buffer((64, 64), "int32"),
    D: T.Buffer((64, 64), "float32"),
):
    for y, x in T.grid(64, 64):
        I[y, x] = -1
        D[y, x] = 1e9
        for t in range(60):
            px = T.cast(x, "float32") + 0.5
            py = T.cast(y, "float32") + 0.5
            e0 = (V[t, 1, 0] - V[t, 0, 0]) * (py - V[t, 0, 1]) - (V[t, 1, 1] - V[t, 0, 1]) * (px - V[t, 0, 0])
            e1 = (V[t, 2, 0] - V[t, 1, 0]) * (py - V[t, 1, 1]) - (V[t, 2, 1] - V[t, 1, 1]) * (px - V[t, 1, 0])
            e2 = (V[t, 0, 0] - V[t, 2, 0]) * (py - V[t, 2, 1]) - (V[t, 0, 1] - V[t, 2, 1]) * (px - V[t, 2, 0])
            if e0 >= 0.0 and e1 >= 0.0 and e2 >= 0.0 and Z[t] < D[y, x]:
                D[y, x] = Z[t]
                I[y, x] = t


@T.prim_func
def d2q9(
    F: T.Buffer((9, 64, 96), "float32"),
    G: T.Buffer((9, 64, 96), "float32"),
    cx: T.Buffer((9,), "int32"),
    cy: T.Buffer((9,), "int32"),
    w: T.Buffer((9,), "float32"),
):
    for y, x in T.grid(64, 96):
        rho = T.alloc_buffer((1,), "float32")
        u = T.alloc_buffer((1,), "float32")
        v = T.alloc_buffer((1,), "float32")
        rho[0] = 0.0
        u[0] = 0.0
        v[0] = 0.0
        for q in range(9):
            f = F[q, (y - cy[q] + 64) % 64, (x - cx[q] + 96) % 96]
            rho[0] = rho[0] + f
            u[0] = u[0] + f * T.cast(cx[q], "float32")
            v[0] = v[0] + f * T.cast(cy[q], "float32")
        u[0] = u[0] / rho[0]
        v[0] = v[0] / rho[0]
        for q in range(9):
            f = F[q, (y - cy[q] + 64) % 64, (x - cx[q] + 96) % 96]
            c = T.cast(cx[q], "float32") * u[0] + T.cast(cy[q], "float32") * v[0]
            e = w[q] * rho[0] * (1.0 + 3.0 * c + 4.5 * c * c - 1.5 * (u[0] * u[0] + v[0] * v[0]))
            G[q, y, x] = f - 0.6 * (f - e)


@T.prim_func
def schrodinger(R: T.Buffer((2000,), "float32"), I: T.Buffer((2000,), "float32"), V: T.Buffer((2000,), "float32")):
    for t in range(100):
        for x in range(1, 1999):
            R[x] = R[x] - 0.1 * (I[x + 1] - 2.0 * I[x] + I[x - 1]) + 0.1 * V[x] * I[x]
        for x in range(1, 1999):
            I[x] = I[x] + 0.1 * (R[x + 1] - 2.0 * R[x] + R[x - 1]) - 0.1 * V[x] * R[x]


@T.prim_func
def bond_angles(
    X: T.Buffer((400, 3), "float32"),
    T3: T.Buffer((900, 3), "int32"),
    E: T.Buffer((1,), "float32"),
    C: T.Buffer((900,), "float32"),
):
    E[0] = 0.0
    for k in range(900):
        d = T.alloc_buffer((1,), "float32")
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        d[0] = 0.0
        a[0] = 0.0
        b[0] = 0.0
        for c in range(3):
            p = X[T3[k, 0], c] - X[T3[k, 1], c]
            q = X[T3[k, 2], c] - X[T3[k, 1], c]
            d[0] = d[0] + p * q
            a[0] = a[0] + p * p
            b[0] = b[0] + q * q
        C[k] = d[0] / T.sqrt(a[0] * b[0] + 1e-6)
        E[0] = E[0] + (C[k] + 0.33) * (C[k] + 0.33)


@T.prim_func
def pssm_scan(
    S: T.Buffer((20000,), "int32"),
    M: T.Buffer((12, 4), "float32"),
    O: T.Buffer((19989,), "float32"),
    best: T.Buffer((1,), "float32"),
    at: T.Buffer((1,), "int32"),
):
    best[0] = -1e30
    at[0] = 0
    for i in range(19989):
        O[i] = 0.0
        for k in range(12):
            O[i] = O[i] + M[k, S[i + k]]
        if O[i] > best[0]:
            best[0] = O[i]
            at[0] = i


@T.prim_func
def variogram(
    X: T.Buffer((500, 2), "float32"),
    Z: T.Buffer((500,), "float32"),
    G: T.Buffer((16,), "float32"),
    N: T.Buffer((16,), "int32"),
):
    for k in range(16):
        G[k] = 0.0
        N[k] = 0
    for i in range(500):
        for j in range(i + 1, 500):
            dx = X[i, 0] - X[j, 0]
            dy = X[i, 1] - X[j, 1]
            r = T.sqrt(dx * dx + dy * dy)
            if r < 1.6:
                b = T.cast(r * 10.0, "int32")
                G[b] = G[b] + 0.5 * (Z[i] - Z[j]) * (Z[i] - Z[j])
                N[b] = N[b] + 1
    for k in range(16):
        G[k] = G[k] / T.cast(T.max(N[k], 1), "float32")


@T.prim_func
def lookback_option(Z: T.Buffer((4000, 64), "float32"), P: T.Buffer((2,), "float32")):
    P[0] = 0.0
    P[1] = 0.0
    for p in range(4000):
        s = T.alloc_buffer((1,), "float32")
        a = T.alloc_buffer((1,), "float32")
        hi = T.alloc_buffer((1,), "float32")
        lo = T.alloc_buffer((1,), "float32")
        s[0] = 1.0
        a[0] = 1.0
        hi[0] = 1.0
        lo[0] = 1.0
        for t in range(64):
            s[0] = s[0] * T.exp(0.0001 + 0.02 * Z[p, t])
            a[0] = a[0] * T.exp(0.0001 - 0.02 * Z[p, t])
            hi[0] = T.max(hi[0], s[0])
            lo[0] = T.min(lo[0], a[0])
        P[0] = P[0] + (hi[0] - s[0]) / 4000.0
        P[1] = P[1] + (a[0] - lo[0]) / 4000.0


@T.prim_func
def absmax_groups(
    K: T.Buffer((64, 1024), "float32"), Q: T.Buffer((64, 1024), "int8"), S: T.Buffer((64, 32), "float32")
):
    for r, g in T.grid(64, 32):
        S[r, g] = 1e-8
        for k in range(32):
            S[r, g] = T.max(S[r, g], T.abs(K[r, 32 * g + k]))
        S[r, g] = S[r, g] / 127.0
        for k in range(32):
            Q[r, 32 * g + k] = T.cast(T.min(T.max(T.round(K[r, 32 * g + k] / S[r, g]), -127.0), 127.0), "int8")


@T.prim_func
def deformable_conv(
    X: T.Buffer((16, 32, 32), "float32"),
    O: T.Buffer((9, 2, 32, 32), "float32"),
    W: T.Buffer((8, 16, 9), "float32"),
    Y: T.Buffer((8, 32, 32), "float32"),
):
    for o, y, x in T.grid(8, 32, 32):
        Y[o, y, x] = 0.0
        for c, k in T.grid(16, 9):
            py = T.min(T.max(T.cast(y + k // 3 - 1, "float32") + O[k, 0, y, x], 0.0), 30.99)
            px = T.min(T.max(T.cast(x + k % 3 - 1, "float32") + O[k, 1, y, x], 0.0), 30.99)
            iy = T.cast(py, "int32")
            ix = T.cast(px, "int32")
            fy = py - T.cast(iy, "float32")
            fx = px - T.cast(ix, "float32")
            v = (1.0 - fy) * ((1.0 - fx) * X[c, iy, ix] + fx * X[c, iy, ix + 1]) + fy * (
                (1.0 - fx) * X[c, iy + 1, ix] + fx * X[c, iy + 1, ix + 1]
            )
            Y[o, y, x] = Y[o, y, x] + W[o, c, k] * v


@T.prim_func
def softmax_backward(
    S: T.Buffer((8, 96, 96), "float32"),
    G: T.Buffer((8, 96, 64), "float32"),
    V: T.Buffer((8, 96, 64), "float32"),
    D: T.Buffer((8, 96, 96), "float32"),
):
    for h, i in T.grid(8, 96):
        p = T.alloc_buffer((96,), "float32")
        g = T.alloc_buffer((96,), "float32")
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        d = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        z[0] = 0.0
        d[0] = 0.0
        for j in range(i + 1):
            m[0] = T.max(m[0], S[h, i, j])
        for j in range(i + 1):
            p[j] = T.exp(S[h, i, j] - m[0])
            z[0] = z[0] + p[j]
        for j in range(i + 1):
            g[j] = 0.0
            for c in range(64):
                g[j] = g[j] + G[h, i, c] * V[h, j, c]
            d[0] = d[0] + g[j] * p[j] / z[0]
        for j in range(96):
            if j <= i:
                D[h, i, j] = p[j] / z[0] * (g[j] - d[0])
            else:
                D[h, i, j] = 0.0


@T.prim_func
def transducer(B: T.Buffer((80, 30), "float32"), L: T.Buffer((80, 30), "float32"), A: T.Buffer((80, 30), "float32")):
    for t in range(80):
        for u in range(30):
            if t == 0 and u == 0:
                A[t, u] = 0.0
            elif t == 0:
                A[t, u] = A[t, u - 1] + L[t, u - 1]
            elif u == 0:
                A[t, u] = A[t - 1, u] + B[t - 1, u]
            else:
                m = T.max(A[t - 1, u] + B[t - 1, u], A[t, u - 1] + L[t, u - 1])
                A[t, u] = m + T.log(T.exp(A[t - 1, u] + B[t - 1, u] - m) + T.exp(A[t, u - 1] + L[t, u - 1] - m))


@T.prim_func
def k_core(A: T.Buffer((200, 200), "int32"), alive: T.Buffer((200,), "int32")):
    for v in range(200):
        alive[v] = 1
    for it in range(20):
        degree = T.alloc_buffer((200,), "int32")
        for v in range(200):
            degree[v] = 0
            for u in range(200):
                degree[v] = degree[v] + A[v, u] * alive[u]
        for v in range(200):
            if degree[v] < 8:
                alive[v] = 0


@T.prim_func
def first_fit(W: T.Buffer((400,), "float32"), bins: T.Buffer((100,), "float32"), where: T.Buffer((400,), "int32")):
    for b in range(100):
        bins[b] = 0.0
    for i in range(400):
        where[i] = -1
        for b in range(100):
            if where[i] < 0 and bins[b] + W[i] <= 1.0:
                where[i] = b
        if where[i] >= 0:
            bins[where[i]] = bins[where[i]] + W[i]


@T.prim_func
def bignum_add(A: T.Buffer((256, 64), "int32"), B: T.Buffer((256, 64), "int32"), C: T.Buffer((256, 65), "int32")):
    for r in range(256):
        carry = T.alloc_buffer((1,), "int32")
        carry[0] = 0
        for k in range(64):
            s = A[r, k] + B[r, k] + carry[0]
            C[r, k] = s % 10000
            carry[0] = s // 10000
        C[r, 64] = carry[0]


@T.prim_func
def bignum_mul(A: T.Buffer((64, 24), "int32"), B: T.Buffer((64, 24), "int32"), C: T.Buffer((64, 48), "int32")):
    for r in range(64):
        acc = T.alloc_buffer((48,), "int32")
        for k in range(48):
            acc[k] = 0
        for i, j in T.grid(24, 24):
            acc[i + j] = acc[i + j] + A[r, i] * B[r, j]
        carry = T.alloc_buffer((1,), "int32")
        carry[0] = 0
        for k in range(48):
            C[r, k] = (acc[k] + carry[0]) % 1000
            carry[0] = (acc[k] + carry[0]) // 1000


@T.prim_func
def brians_brain(S: T.Buffer((96, 96), "int32")):
    for t in range(16):
        N = T.alloc_buffer((96, 96), "int32")
        for y, x in T.grid(96, 96):
            n = T.alloc_buffer((1,), "int32")
            n[0] = 0
            for dy, dx in T.grid(3, 3):
                if (dy != 1 or dx != 1) and S[(y + dy + 95) % 96, (x + dx + 95) % 96] == 1:
                    n[0] = n[0] + 1
            if S[y, x] == 0:
                if n[0] == 2:
                    N[y, x] = 1
                else:
                    N[y, x] = 0
            elif S[y, x] == 1:
                N[y, x] = 2
            else:
                N[y, x] = 0
        for y, x in T.grid(96, 96):
            S[y, x] = N[y, x]


@T.prim_func
def range_minima(A: T.Buffer((4096,), "int32"), Q: T.Buffer((2000, 2), "int32"), R: T.Buffer((2000,), "int32")):
    S = T.alloc_buffer((13, 4096), "int32")
    for i in range(4096):
        S[0, i] = A[i]
    for k in range(1, 13):
        for i in range(4096):
            if i + (1 << (k - 1)) < 4096:
                S[k, i] = T.min(S[k - 1, i], S[k - 1, i + (1 << (k - 1))])
            else:
                S[k, i] = S[k - 1, i]
    for q in range(2000):
        k = T.alloc_buffer((1,), "int32")
        k[0] = 0
        for b in range(1, 13):
            if (1 << b) <= Q[q, 1]:
                k[0] = b
        R[q] = T.min(S[k[0], Q[q, 0]], S[k[0], Q[q, 0] + Q[q, 1] - (1 << k[0])])


@T.prim_func
def hampel(X: T.Buffer((16, 2000), "float32"), Y: T.Buffer((16, 2000), "float32")):
    for b, t in T.grid(16, 2000):
        if t < 3 or t >= 1997:
            Y[b, t] = X[b, t]
        else:
            w = T.alloc_buffer((7,), "float32")
            d = T.alloc_buffer((7,), "float32")
            for k in range(7):
                w[k] = X[b, t + k - 3]
            for p in range(6):
                for k in range(6 - p):
                    if w[k] > w[k + 1]:
                        s = w[k]
                        w[k] = w[k + 1]
                        w[k + 1] = s
            for k in range(7):
                d[k] = T.abs(X[b, t + k - 3] - w[3])
            for p in range(6):
                for k in range(6 - p):
                    if d[k] > d[k + 1]:
                        s = d[k]
                        d[k] = d[k + 1]
                        d[k + 1] = s
            if T.abs(X[b, t] - w[3]) > 3.0 * 1.4826 * d[3]:
                Y[b, t] = w[3]
            else:
                Y[b, t] = X[b, t]


@T.prim_func
def cic_decimator(X: T.Buffer((16, 4096), "int32"), Y: T.Buffer((16, 512), "int32")):
    for b in range(16):
        i1 = T.alloc_buffer((1,), "int32")
        i2 = T.alloc_buffer((1,), "int32")
        c1 = T.alloc_buffer((1,), "int32")
        c2 = T.alloc_buffer((1,), "int32")
        i1[0] = 0
        i2[0] = 0
        c1[0] = 0
        c2[0] = 0
        for t in range(4096):
            i1[0] = i1[0] + X[b, t]
            i2[0] = i2[0] + i1[0]
            if t % 8 == 7:
                a = i2[0]
                d = a - c1[0]
                c1[0] = a
                Y[b, t // 8] = d - c2[0]
                c2[0] = d


@T.prim_func
def gain_control(X: T.Buffer((64, 2000), "float32"), Y: T.Buffer((64, 2000), "float32")):
    for b in range(64):
        g = T.alloc_buffer((1,), "float32")
        g[0] = 1.0
        for t in range(2000):
            Y[b, t] = g[0] * X[b, t]
            g[0] = T.min(T.max(g[0] + 0.01 * (0.5 - T.abs(Y[b, t])), 0.1), 10.0)


@T.prim_func
def viterbi_k3(R: T.Buffer((64, 200, 2), "float32"), D: T.Buffer((64, 200), "int32")):
    for b in range(64):
        cost = T.alloc_buffer((4,), "float32")
        new = T.alloc_buffer((4,), "float32")
        back = T.alloc_buffer((200, 4), "int32")
        state = T.alloc_buffer((1,), "int32")
        for s in range(4):
            cost[s] = 1e6
        cost[0] = 0.0
        for t in range(200):
            for s in range(4):
                best = T.alloc_buffer((1,), "float32")
                best[0] = 1e9
                for k in range(2):
                    p = (s * 2) % 4 + k
                    o0 = T.cast((s // 2) ^ (p // 2) ^ (p % 2), "float32")
                    o1 = T.cast((s // 2) ^ (p % 2), "float32")
                    m = cost[p] + (R[b, t, 0] - o0) * (R[b, t, 0] - o0) + (R[b, t, 1] - o1) * (R[b, t, 1] - o1)
                    if m < best[0]:
                        best[0] = m
                        back[t, s] = p
                new[s] = best[0]
            for s in range(4):
                cost[s] = new[s]
        state[0] = 0
        for s in range(1, 4):
            if cost[s] < cost[state[0]]:
                state[0] = s
        for r in range(200):
            D[b, 199 - r] = state[0] // 2
            state[0] = back[199 - r, state[0]]


@T.prim_func
def aes_round(
    S: T.Buffer((2000, 4, 4), "int32"),
    box: T.Buffer((256,), "int32"),
    K: T.Buffer((4, 4), "int32"),
    O: T.Buffer((2000, 4, 4), "int32"),
):
    for b in range(2000):
        U = T.alloc_buffer((4, 4), "int32")
        for r, c in T.grid(4, 4):
            U[r, c] = box[S[b, r, (c + r) % 4]]
        for c in range(4):
            for r in range(4):
                x = U[r, c]
                y = U[(r + 1) % 4, c]
                O[b, r, c] = (
                    ((x * 2) ^ ((x // 128) * 283))
                    ^ (y ^ ((y * 2) ^ ((y // 128) * 283)))
                    ^ U[(r + 2) % 4, c]
                    ^ U[(r + 3) % 4, c]
                    ^ K[r, c]
                )


@T.prim_func
def rc4(K: T.Buffer((16,), "int32"), O: T.Buffer((512,), "int32")):
    S = T.alloc_buffer((256,), "int32")
    j = T.alloc_buffer((1,), "int32")
    for i in range(256):
        S[i] = i
    j[0] = 0
    for i in range(256):
        j[0] = (j[0] + S[i] + K[i % 16]) % 256
        t = S[i]
        S[i] = S[j[0]]
        S[j[0]] = t
    j[0] = 0
    for n in range(512):
        j[0] = (j[0] + S[(n + 1) % 256]) % 256
        t = S[(n + 1) % 256]
        S[(n + 1) % 256] = S[j[0]]
        S[j[0]] = t
        O[n] = S[(S[(n + 1) % 256] + S[j[0]]) % 256]


@T.prim_func
def trilinear(V: T.Buffer((24, 24, 24), "float32"), P: T.Buffer((4000, 3), "float32"), O: T.Buffer((4000,), "float32")):
    for n in range(4000):
        O[n] = 0.0
        for a, b, c in T.grid(2, 2, 2):
            x = T.cast(T.floor(P[n, 0]), "int32")
            y = T.cast(T.floor(P[n, 1]), "int32")
            z = T.cast(T.floor(P[n, 2]), "int32")
            fx = P[n, 0] - T.cast(x, "float32")
            fy = P[n, 1] - T.cast(y, "float32")
            fz = P[n, 2] - T.cast(z, "float32")
            wx = T.if_then_else(a == 1, fx, 1.0 - fx)
            wy = T.if_then_else(b == 1, fy, 1.0 - fy)
            wz = T.if_then_else(c == 1, fz, 1.0 - fz)
            O[n] = O[n] + wx * wy * wz * V[x + a, y + b, z + c]


@T.prim_func
def lax_wendroff(U: T.Buffer((4000,), "float32"), W: T.Buffer((4000,), "float32")):
    for t in range(50):
        for i in range(4000):
            W[i] = (
                U[i]
                - 0.25 * (U[(i + 1) % 4000] - U[(i + 3999) % 4000])
                + 0.125 * (U[(i + 1) % 4000] - 2.0 * U[i] + U[(i + 3999) % 4000])
            )
        for i in range(4000):
            U[i] = W[i]


@T.prim_func
def vorticity(
    U: T.Buffer((128, 128), "float32"),
    V: T.Buffer((128, 128), "float32"),
    FX: T.Buffer((128, 128), "float32"),
    FY: T.Buffer((128, 128), "float32"),
):
    w = T.alloc_buffer((128, 128), "float32")
    for y, x in T.grid(128, 128):
        if y > 0 and y < 127 and x > 0 and x < 127:
            w[y, x] = 0.5 * (V[y, x + 1] - V[y, x - 1] - U[y + 1, x] + U[y - 1, x])
        else:
            w[y, x] = 0.0
    for y, x in T.grid(128, 128):
        if y > 0 and y < 127 and x > 0 and x < 127:
            gx = 0.5 * (T.abs(w[y, x + 1]) - T.abs(w[y, x - 1]))
            gy = 0.5 * (T.abs(w[y + 1, x]) - T.abs(w[y - 1, x]))
            n = T.sqrt(gx * gx + gy * gy) + 1e-5
            FX[y, x] = 0.3 * gy / n * w[y, x]
            FY[y, x] = -0.3 * gx / n * w[y, x]
        else:
            FX[y, x] = 0.0
            FY[y, x] = 0.0


@T.prim_func
def markov_credit(
    P: T.Buffer((8, 8), "float32"),
    D: T.Buffer((120,), "float32"),
    S: T.Buffer((8,), "float32"),
    L: T.Buffer((1,), "float32"),
):
    L[0] = 0.0
    for t in range(120):
        n = T.alloc_buffer((8,), "float32")
        for j in range(8):
            n[j] = 0.0
            for i in range(8):
                n[j] = n[j] + S[i] * P[i, j]
        L[0] = L[0] + (n[7] - S[7]) * D[t]
        for j in range(8):
            S[j] = n[j]


@T.prim_func
def sage_mean(
    X: T.Buffer((500, 32), "float32"),
    N: T.Buffer((500, 10), "int32"),
    deg: T.Buffer((500,), "int32"),
    W: T.Buffer((64, 48), "float32"),
    Y: T.Buffer((500, 48), "float32"),
):
    for v in range(500):
        m = T.alloc_buffer((32,), "float32")
        q = T.alloc_buffer((1,), "float32")
        for c in range(32):
            m[c] = 0.0
            for k in range(10):
                if k < deg[v]:
                    m[c] = m[c] + X[N[v, k], c]
            m[c] = m[c] / T.cast(T.max(deg[v], 1), "float32")
        q[0] = 0.0
        for o in range(48):
            Y[v, o] = 0.0
            for c in range(32):
                Y[v, o] = Y[v, o] + X[v, c] * W[c, o] + m[c] * W[c + 32, o]
            Y[v, o] = T.max(Y[v, o], 0.0)
            q[0] = q[0] + Y[v, o] * Y[v, o]
        for o in range(48):
            Y[v, o] = Y[v, o] / T.sqrt(q[0] + 1e-6)


@T.prim_func
def gabor_bank(A: T.Buffer((64, 64), "float32"), R: T.Buffer((8, 56, 56), "float32")):
    for o in range(8):
        K = T.alloc_buffer((9, 9), "float32")
        for u, v in T.grid(9, 9):
            c = T.cos(T.cast(o, "float32") * 0.3926991)
            s = T.sin(T.cast(o, "float32") * 0.3926991)
            a = T.cast(u - 4, "float32") * c + T.cast(v - 4, "float32") * s
            b = T.cast(v - 4, "float32") * c - T.cast(u - 4, "float32") * s
            K[u, v] = T.exp(-0.08 * (a * a + 0.25 * b * b)) * T.cos(1.5 * a)
        for y, x in T.grid(56, 56):
            R[o, y, x] = 0.0
            for u, v in T.grid(9, 9):
                R[o, y, x] = R[o, y, x] + K[u, v] * A[y + u, x + v]


@T.prim_func
def phong(
    N: T.Buffer((128, 128, 3), "float32"),
    L: T.Buffer((4, 3), "float32"),
    I: T.Buffer((4,), "float32"),
    C: T.Buffer((128, 128), "float32"),
):
    for y, x in T.grid(128, 128):
        C[y, x] = 0.1
        for l in range(4):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for c in range(3):
                d[0] = d[0] + N[y, x, c] * L[l, c]
            r = T.max(2.0 * d[0] * N[y, x, 2] - L[l, 2], 0.0)
            if d[0] > 0.0:
                C[y, x] = C[y, x] + I[l] * (0.7 * d[0] + 0.2 * r * r * r * r * r * r * r * r)
        C[y, x] = T.min(C[y, x], 1.0)


@T.prim_func
def diagonal_order(A: T.Buffer((100, 80), "int32"), O: T.Buffer((8000,), "int32")):
    n = T.alloc_buffer((1,), "int32")
    n[0] = 0
    for d in range(179):
        for i in range(100):
            if d - i >= 0 and d - i < 80:
                O[n[0]] = A[i, d - i]
                n[0] = n[0] + 1


@T.prim_func
def fenwick(U: T.Buffer((500,), "int32"), V: T.Buffer((500,), "int32"), F: T.Buffer((1025,), "int32")):
    for k in range(1025):
        F[k] = 0
    for q in range(500):
        p = T.alloc_buffer((1,), "int32")
        p[0] = U[q] + 1
        for s in range(11):
            if p[0] <= 1024:
                F[p[0]] = F[p[0]] + V[q]
                p[0] = p[0] + (p[0] & (0 - p[0]))


@T.prim_func
def julia(Z: T.Buffer((2,), "float32"), O: T.Buffer((128, 128), "float32")):
    for y, x in T.grid(128, 128):
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        a[0] = T.cast(x, "float32") / 42.0 - 1.5
        b[0] = T.cast(y, "float32") / 42.0 - 1.5
        O[y, x] = 0.0
        for k in range(40):
            if a[0] * a[0] + b[0] * b[0] < 4.0:
                n = a[0] * a[0] - b[0] * b[0] + Z[0]
                b[0] = 2.0 * a[0] * b[0] + Z[1]
                a[0] = n
                O[y, x] = O[y, x] + T.exp(0.0 - T.sqrt(a[0] * a[0] + b[0] * b[0]))


@T.prim_func
def rnn_bptt(
    X: T.Buffer((50, 16), "float32"),
    U: T.Buffer((24, 16), "float32"),
    W: T.Buffer((24, 24), "float32"),
    G: T.Buffer((50, 24), "float32"),
    dW: T.Buffer((24, 24), "float32"),
    dU: T.Buffer((24, 16), "float32"),
):
    H = T.alloc_buffer((51, 24), "float32")
    d = T.alloc_buffer((24,), "float32")
    e = T.alloc_buffer((24,), "float32")
    for i in range(24):
        H[0, i] = 0.0
        d[i] = 0.0
    for i, j in T.grid(24, 24):
        dW[i, j] = 0.0
    for i, j in T.grid(24, 16):
        dU[i, j] = 0.0
    for t in range(50):
        for i in range(24):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for j in range(16):
                s[0] = s[0] + U[i, j] * X[t, j]
            for j in range(24):
                s[0] = s[0] + W[i, j] * H[t, j]
            H[t + 1, i] = T.tanh(s[0])
    for r in range(50):
        for i in range(24):
            e[i] = (d[i] + G[49 - r, i]) * (1.0 - H[50 - r, i] * H[50 - r, i])
        for i, j in T.grid(24, 24):
            dW[i, j] = dW[i, j] + e[i] * H[49 - r, j]
        for i, j in T.grid(24, 16):
            dU[i, j] = dU[i, j] + e[i] * X[49 - r, j]
        for j in range(24):
            d[j] = 0.0
            for i in range(24):
                d[j] = d[j] + W[i, j] * e[i]


@T.prim_func
def karplus(N: T.Buffer((16, 160), "float32"), Y: T.Buffer((16, 6000), "float32")):
    for v in range(16):
        line = T.alloc_buffer((160,), "float32")
        for k in range(160):
            line[k] = N[v, k]
        for t in range(6000):
            Y[v, t] = line[t % 160]
            line[t % 160] = 0.498 * (line[t % 160] + line[(t + 1) % 160])


@T.prim_func
def chorus(X: T.Buffer((4, 8000), "float32"), D: T.Buffer((8000,), "int32"), Y: T.Buffer((4, 8000), "float32")):
    for t in range(8000):
        T.assume(D[t] >= 1 and D[t] <= 200)
    for c in range(4):
        for t in range(8000):
            if t >= D[t]:
                Y[c, t] = 0.7 * X[c, t] + 0.3 * X[c, t - D[t]]
            else:
                Y[c, t] = 0.7 * X[c, t]


@T.prim_func
def moving_rms(X: T.Buffer((8, 10000), "float32"), R: T.Buffer((8, 9937), "float32")):
    for c in range(8):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for k in range(64):
            s[0] = s[0] + X[c, k] * X[c, k]
        for t in range(9937):
            R[c, t] = T.sqrt(T.max(s[0], 0.0) / 64.0)
            if t < 9936:
                s[0] = s[0] + X[c, t + 64] * X[c, t + 64] - X[c, t] * X[c, t]


@T.prim_func
def schmitt(X: T.Buffer((32, 4000), "float32"), S: T.Buffer((32, 4000), "int32"), edges: T.Buffer((32,), "int32")):
    for c in range(32):
        state = T.alloc_buffer((1,), "int32")
        state[0] = 0
        edges[c] = 0
        for t in range(4000):
            if state[0] == 0 and X[c, t] > 0.5:
                state[0] = 1
                edges[c] = edges[c] + 1
            elif state[0] == 1 and X[c, t] < -0.5:
                state[0] = 0
            S[c, t] = state[0]


@T.prim_func
def window_energy(X: T.Buffer((20000,), "float32"), W: T.Buffer((512,), "float32"), E: T.Buffer((153, 8), "float32")):
    for f in range(153):
        for b in range(8):
            E[f, b] = 0.0
            for k in range(64):
                v = X[128 * f + 64 * b + k] * W[64 * b + k]
                E[f, b] = E[f, b] + v * v
            E[f, b] = T.log(E[f, b] + 1e-6)


@T.prim_func
def merge_sorted(A: T.Buffer((64, 100), "int32"), B: T.Buffer((64, 120), "int32"), C: T.Buffer((64, 220), "int32")):
    for r in range(64):
        i = T.alloc_buffer((1,), "int32")
        j = T.alloc_buffer((1,), "int32")
        i[0] = 0
        j[0] = 0
        for k in range(220):
            if j[0] >= 120 or (i[0] < 100 and A[r, T.min(i[0], 99)] <= B[r, T.min(j[0], 119)]):
                C[r, k] = A[r, T.min(i[0], 99)]
                i[0] = i[0] + 1
            else:
                C[r, k] = B[r, T.min(j[0], 119)]
                j[0] = j[0] + 1


@T.prim_func
def group_totals(
    K: T.Buffer((20000,), "int32"),
    V: T.Buffer((20000,), "float32"),
    S: T.Buffer((100,), "float32"),
    M: T.Buffer((100,), "float32"),
    C: T.Buffer((100,), "int32"),
    A: T.Buffer((100,), "float32"),
):
    for k in range(100):
        S[k] = 0.0
        M[k] = -1e30
        C[k] = 0
    for i in range(20000):
        S[K[i]] = S[K[i]] + V[i]
        M[K[i]] = T.max(M[K[i]], V[i])
        C[K[i]] = C[K[i]] + 1
    for k in range(100):
        if C[k] > 0:
            A[k] = S[k] / T.cast(C[k], "float32")
        else:
            A[k] = 0.0


@T.prim_func
def running_rank(X: T.Buffer((1000,), "float32"), R: T.Buffer((1000,), "int32")):
    for i in range(1000):
        R[i] = 0
        for j in range(i):
            if X[j] < X[i]:
                R[i] = R[i] + 1


@T.prim_func
def top_scores(
    Q: T.Buffer((200, 32), "float32"),
    K: T.Buffer((500, 32), "float32"),
    S: T.Buffer((200, 3), "float32"),
    I: T.Buffer((200, 3), "int32"),
):
    for q in range(200):
        for t in range(3):
            S[q, t] = -1e30
            I[q, t] = -1
        for k in range(500):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for d in range(32):
                s[0] = s[0] + Q[q, d] * K[k, d]
            if s[0] > S[q, 0]:
                S[q, 2] = S[q, 1]
                I[q, 2] = I[q, 1]
                S[q, 1] = S[q, 0]
                I[q, 1] = I[q, 0]
                S[q, 0] = s[0]
                I[q, 0] = k
            elif s[0] > S[q, 1]:
                S[q, 2] = S[q, 1]
                I[q, 2] = I[q, 1]
                S[q, 1] = s[0]
                I[q, 1] = k
            elif s[0] > S[q, 2]:
                S[q, 2] = s[0]
                I[q, 2] = k


@T.prim_func
def stencil_material(
    T0: T.Buffer((130, 130), "float32"),
    mat: T.Buffer((128, 128), "int32"),
    cond: T.Buffer((4,), "float32"),
    src: T.Buffer((128, 128), "float32"),
    T1: T.Buffer((130, 130), "float32"),
):
    for s in range(10):
        for y, x in T.grid(128, 128):
            k = cond[mat[y, x]]
            lap = T0[y, x + 1] + T0[y + 2, x + 1] + T0[y + 1, x] + T0[y + 1, x + 2] - 4.0 * T0[y + 1, x + 1]
            T1[y + 1, x + 1] = T0[y + 1, x + 1] + k * lap + src[y, x]
        for y, x in T.grid(128, 128):
            T0[y + 1, x + 1] = T1[y + 1, x + 1]


@T.prim_func
def transform_points(
    P: T.Buffer((20000, 3), "float32"),
    M: T.Buffer((4, 4), "float32"),
    S: T.Buffer((20000, 2), "float32"),
    Z: T.Buffer((20000,), "float32"),
):
    for i in range(20000):
        c = T.alloc_buffer((4,), "float32")
        for r in range(4):
            c[r] = M[r, 3]
            for k in range(3):
                c[r] = c[r] + M[r, k] * P[i, k]
        w = T.max(c[3], 0.001)
        S[i, 0] = c[0] / w
        S[i, 1] = c[1] / w
        Z[i] = c[2]


@T.prim_func
def face_normals(
    V: T.Buffer((2000, 3), "float32"),
    F: T.Buffer((3800, 3), "int32"),
    N: T.Buffer((3800, 3), "float32"),
    area: T.Buffer((1,), "float32"),
):
    area[0] = 0.0
    for f in range(3800):
        e = T.alloc_buffer((3,), "float32")
        g = T.alloc_buffer((3,), "float32")
        n = T.alloc_buffer((3,), "float32")
        for c in range(3):
            e[c] = V[F[f, 1], c] - V[F[f, 0], c]
            g[c] = V[F[f, 2], c] - V[F[f, 0], c]
        for c in range(3):
            n[c] = e[(c + 1) % 3] * g[(c + 2) % 3] - e[(c + 2) % 3] * g[(c + 1) % 3]
        s = T.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) + 1e-12
        for c in range(3):
            N[f, c] = n[c] / s
        area[0] = area[0] + 0.5 * s


@T.prim_func
def skinning(
    V: T.Buffer((4000, 3), "float32"),
    B: T.Buffer((4000, 4), "int32"),
    W: T.Buffer((4000, 4), "float32"),
    M: T.Buffer((32, 3, 4), "float32"),
    O: T.Buffer((4000, 3), "float32"),
):
    for v in range(4000):
        for r in range(3):
            O[v, r] = 0.0
            for j in range(4):
                O[v, r] = O[v, r] + W[v, j] * (
                    M[B[v, j], r, 0] * V[v, 0]
                    + M[B[v, j], r, 1] * V[v, 1]
                    + M[B[v, j], r, 2] * V[v, 2]
                    + M[B[v, j], r, 3]
                )


@T.prim_func
def gauss_newton(
    X: T.Buffer((5000,), "float32"),
    Y: T.Buffer((5000,), "float32"),
    p: T.Buffer((3,), "float32"),
    H: T.Buffer((3, 3), "float32"),
    g: T.Buffer((3,), "float32"),
    cost: T.Buffer((1,), "float32"),
):
    cost[0] = 0.0
    for a in range(3):
        g[a] = 0.0
        for b in range(3):
            H[a, b] = 0.0
    for i in range(5000):
        J = T.alloc_buffer((3,), "float32")
        e = T.exp(-p[1] * X[i])
        r = p[0] * e + p[2] - Y[i]
        J[0] = e
        J[1] = -p[0] * X[i] * e
        J[2] = 1.0
        cost[0] = cost[0] + r * r
        for a in range(3):
            g[a] = g[a] + J[a] * r
            for b in range(3):
                H[a, b] = H[a, b] + J[a] * J[b]


@T.prim_func
def tri_packed_solve(
    L: T.Buffer((1275,), "float32"), b: T.Buffer((50, 40), "float32"), x: T.Buffer((50, 40), "float32")
):
    for c in range(40):
        for i in range(50):
            s = T.alloc_buffer((1,), "float32")
            s[0] = b[i, c]
            for j in range(i):
                s[0] = s[0] - L[i * (i + 1) // 2 + j] * x[j, c]
            x[i, c] = s[0] / L[i * (i + 1) // 2 + i]


@T.prim_func
def spiral(A: T.Buffer((40, 40), "int32"), O: T.Buffer((1600,), "int32")):
    n = T.alloc_buffer((1,), "int32")
    n[0] = 0
    for r in range(20):
        for j in range(r, 40 - r):
            O[n[0]] = A[r, j]
            n[0] = n[0] + 1
        for i in range(r + 1, 40 - r):
            O[n[0]] = A[i, 39 - r]
            n[0] = n[0] + 1
        for j in range(39 - 2 * r):
            O[n[0]] = A[39 - r, 38 - r - j]
            n[0] = n[0] + 1
        for i in range(38 - 2 * r):
            O[n[0]] = A[38 - r - i, r]
            n[0] = n[0] + 1


@T.prim_func
def peak_picking(X: T.Buffer((16, 5000), "float32"), P: T.Buffer((16, 200), "int32"), n: T.Buffer((16,), "int32")):
    for c in range(16):
        n[c] = 0
        last = T.alloc_buffer((1,), "int32")
        last[0] = -100
        for k in range(200):
            P[c, k] = -1
        for t in range(1, 4999):
            if X[c, t] > X[c, t - 1] and X[c, t] >= X[c, t + 1] and X[c, t] > 1.0 and t - last[0] >= 25:
                if n[c] < 200:
                    P[c, n[c]] = t
                    n[c] = n[c] + 1
                last[0] = t


@T.prim_func
def bilinear_warp(
    A: T.Buffer((96, 96, 3), "float32"), F: T.Buffer((96, 96, 2), "float32"), O: T.Buffer((96, 96, 3), "float32")
):
    for y, x in T.grid(96, 96):
        sy = T.min(T.max(T.cast(y, "float32") + F[y, x, 0], 0.0), 94.999)
        sx = T.min(T.max(T.cast(x, "float32") + F[y, x, 1], 0.0), 94.999)
        iy = T.cast(sy, "int32")
        ix = T.cast(sx, "int32")
        fy = sy - T.cast(iy, "float32")
        fx = sx - T.cast(ix, "float32")
        for c in range(3):
            top = A[iy, ix, c] * (1.0 - fx) + A[iy, ix + 1, c] * fx
            bottom = A[iy + 1, ix, c] * (1.0 - fx) + A[iy + 1, ix + 1, c] * fx
            O[y, x, c] = top * (1.0 - fy) + bottom * fy


@T.prim_func
def integral_blur(A: T.Buffer((128, 128), "float32"), O: T.Buffer((128, 128), "float32")):
    S = T.alloc_buffer((129, 129), "float32")
    for y in range(129):
        S[y, 0] = 0.0
    for x in range(129):
        S[0, x] = 0.0
    for y, x in T.grid(128, 128):
        S[y + 1, x + 1] = A[y, x] + S[y, x + 1] + S[y + 1, x] - S[y, x]
    for y, x in T.grid(128, 128):
        y0 = T.max(y - 4, 0)
        y1 = T.min(y + 5, 128)
        x0 = T.max(x - 4, 0)
        x1 = T.min(x + 5, 128)
        O[y, x] = (S[y1, x1] - S[y0, x1] - S[y1, x0] + S[y0, x0]) / T.cast((y1 - y0) * (x1 - x0), "float32")


@T.prim_func
def particle_grid(
    X: T.Buffer((3000, 2), "float32"), V: T.Buffer((3000, 2), "float32"), G: T.Buffer((32, 32, 3), "float32")
):
    for y, x, c in T.grid(32, 32, 3):
        G[y, x, c] = 0.0
    for p in range(3000):
        iy = T.cast(X[p, 0] * 30.0, "int32")
        ix = T.cast(X[p, 1] * 30.0, "int32")
        fy = X[p, 0] * 30.0 - T.cast(iy, "float32")
        fx = X[p, 1] * 30.0 - T.cast(ix, "float32")
        for a, b in T.grid(2, 2):
            wy = T.if_then_else(a == 0, 1.0 - fy, fy)
            wx = T.if_then_else(b == 0, 1.0 - fx, fx)
            G[iy + a, ix + b, 0] = G[iy + a, ix + b, 0] + wy * wx
            G[iy + a, ix + b, 1] = G[iy + a, ix + b, 1] + wy * wx * V[p, 0]
            G[iy + a, ix + b, 2] = G[iy + a, ix + b, 2] + wy * wx * V[p, 1]


@T.prim_func
def lookup_cdf(P: T.Buffer((300, 64), "float32"), U: T.Buffer((300,), "float32"), K: T.Buffer((300,), "int32")):
    for r in range(300):
        total = T.alloc_buffer((1,), "float32")
        c = T.alloc_buffer((1,), "float32")
        total[0] = 0.0
        for k in range(64):
            total[0] = total[0] + P[r, k]
        c[0] = 0.0
        K[r] = 63
        for k in range(64):
            c[0] = c[0] + P[r, k] / total[0]
            if K[r] == 63 and U[r] < c[0]:
                K[r] = k


@T.prim_func
def dropout_residual_norm(
    X: T.Buffer((256, 128), "float32"),
    H: T.Buffer((256, 128), "float32"),
    M: T.Buffer((256, 128), "uint8"),
    g: T.Buffer((128,), "float32"),
    Y: T.Buffer((256, 128), "float32"),
):
    for i in range(256):
        z = T.alloc_buffer((128,), "float32")
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for j in range(128):
            z[j] = X[i, j]
            if M[i, j] != 0:
                z[j] = z[j] + H[i, j] / 0.9
            s[0] = s[0] + z[j] * z[j]
        for j in range(128):
            Y[i, j] = z[j] * g[j] / T.sqrt(s[0] / 128.0 + 1e-6)


@T.prim_func
def cross_attention_pad(
    Q: T.Buffer((4, 20, 32), "float32"),
    K: T.Buffer((4, 60, 32), "float32"),
    V: T.Buffer((4, 60, 32), "float32"),
    n: T.Buffer((4,), "int32"),
    O: T.Buffer((4, 20, 32), "float32"),
):
    for b, i in T.grid(4, 20):
        p = T.alloc_buffer((60,), "float32")
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        z[0] = 0.0
        for j in range(60):
            if j < n[b]:
                p[j] = 0.0
                for d in range(32):
                    p[j] = p[j] + Q[b, i, d] * K[b, j, d]
                p[j] = p[j] * 0.17677669
            else:
                p[j] = -1e30
            m[0] = T.max(m[0], p[j])
        for j in range(60):
            p[j] = T.exp(p[j] - m[0])
            z[0] = z[0] + p[j]
        for d in range(32):
            O[b, i, d] = 0.0
            for j in range(60):
                O[b, i, d] = O[b, i, d] + p[j] / z[0] * V[b, j, d]


@T.prim_func
def conv_bn_pool(
    X: T.Buffer((8, 34, 34), "float32"),
    W: T.Buffer((16, 8, 3, 3), "float32"),
    s: T.Buffer((16,), "float32"),
    t: T.Buffer((16,), "float32"),
    Y: T.Buffer((16, 16, 16), "float32"),
):
    C = T.alloc_buffer((16, 32, 32), "float32")
    for o, y, x in T.grid(16, 32, 32):
        C[o, y, x] = 0.0
        for c, dy, dx in T.grid(8, 3, 3):
            C[o, y, x] = C[o, y, x] + W[o, c, dy, dx] * X[c, y + dy, x + dx]
        C[o, y, x] = T.max(C[o, y, x] * s[o] + t[o], 0.0)
    for o, y, x in T.grid(16, 16, 16):
        Y[o, y, x] = T.max(
            T.max(C[o, 2 * y, 2 * x], C[o, 2 * y, 2 * x + 1]), T.max(C[o, 2 * y + 1, 2 * x], C[o, 2 * y + 1, 2 * x + 1])
        )


@T.prim_func
def einsum_chain(
    A: T.Buffer((30, 40), "float32"),
    B: T.Buffer((40, 50), "float32"),
    C: T.Buffer((50, 20), "float32"),
    D: T.Buffer((30, 20), "float32"),
):
    for i, l in T.grid(30, 20):
        D[i, l] = 0.0
        for j, k in T.grid(40, 50):
            D[i, l] = D[i, l] + A[i, j] * B[j, k] * C[k, l]


@T.prim_func
def fir_bank(
    X: T.Buffer((4096,), "float32"),
    H: T.Buffer((12, 33), "float32"),
    Y: T.Buffer((12, 4064), "float32"),
    E: T.Buffer((12,), "float32"),
):
    for b in range(12):
        E[b] = 0.0
        for t in range(4064):
            Y[b, t] = 0.0
            for k in range(33):
                Y[b, t] = Y[b, t] + H[b, k] * X[t + 32 - k]
            E[b] = E[b] + Y[b, t] * Y[b, t] / 4064.0


@T.prim_func
def stock_span(P: T.Buffer((64, 400), "float32"), S: T.Buffer((64, 400), "int32")):
    for r in range(64):
        for i in range(400):
            S[r, i] = 1
            open = T.alloc_buffer((1,), "int32")
            open[0] = 1
            for d in range(1, 400):
                if d <= i and open[0] == 1:
                    if P[r, i - d] <= P[r, i]:
                        S[r, i] = S[r, i] + 1
                    else:
                        open[0] = 0


@T.prim_func
def bucket_ids(
    X: T.Buffer((10000,), "float32"),
    E: T.Buffer((31,), "float32"),
    B: T.Buffer((10000,), "int32"),
    H: T.Buffer((32,), "int32"),
):
    for k in range(32):
        H[k] = 0
    for i in range(10000):
        B[i] = 0
        for e in range(31):
            if X[i] >= E[e]:
                B[i] = B[i] + 1
        H[B[i]] = H[B[i]] + 1


@T.prim_func
def hash_table_probe(K: T.Buffer((400,), "int32"), H: T.Buffer((1024,), "int32"), at: T.Buffer((400,), "int32")):
    for s in range(1024):
        H[s] = -1
    for i in range(400):
        at[i] = -1
        for p in range(16):
            s = (K[i] * 31 + p) % 1024
            if at[i] == -1 and (H[s] == -1 or H[s] == K[i]):
                at[i] = s
                H[s] = K[i]


@T.prim_func
def two_layer_online(
    X: T.Buffer((300, 16), "float32"),
    y: T.Buffer((300,), "float32"),
    W: T.Buffer((8, 16), "float32"),
    v: T.Buffer((8,), "float32"),
    L: T.Buffer((300,), "float32"),
):
    for n in range(300):
        h = T.alloc_buffer((8,), "float32")
        o = T.alloc_buffer((1,), "float32")
        o[0] = 0.0
        for i in range(8):
            h[i] = 0.0
            for j in range(16):
                h[i] = h[i] + W[i, j] * X[n, j]
            h[i] = T.max(h[i], 0.0)
            o[0] = o[0] + v[i] * h[i]
        d = o[0] - y[n]
        L[n] = d * d
        for i in range(8):
            if h[i] > 0.0:
                for j in range(16):
                    W[i, j] = W[i, j] - 0.01 * d * v[i] * X[n, j]
            v[i] = v[i] - 0.01 * d * h[i]


@T.prim_func
def rotate_half_cache(
    K: T.Buffer((8, 40, 64), "float32"),
    pos: T.Buffer((40,), "int32"),
    C: T.Buffer((512, 32), "float32"),
    S: T.Buffer((512, 32), "float32"),
    O: T.Buffer((8, 40, 64), "float32"),
):
    for h, t, d in T.grid(8, 40, 64):
        if d < 32:
            O[h, t, d] = K[h, t, d] * C[pos[t], d] - K[h, t, d + 32] * S[pos[t], d]
        else:
            O[h, t, d] = K[h, t, d] * C[pos[t], d - 32] + K[h, t, d - 32] * S[pos[t], d - 32]


@T.prim_func
def sudoku_conflicts(G: T.Buffer((500, 9, 9), "int32"), N: T.Buffer((500,), "int32")):
    for g in range(500):
        N[g] = 0
        for r, c in T.grid(9, 9):
            for k in range(9):
                if k > c and G[g, r, k] == G[g, r, c]:
                    N[g] = N[g] + 1
                if k > r and G[g, k, c] == G[g, r, c]:
                    N[g] = N[g] + 1
                if k > r % 3 * 3 + c % 3 and G[g, r // 3 * 3 + k // 3, c // 3 * 3 + k % 3] == G[g, r, c]:
                    N[g] = N[g] + 1


@T.prim_func
def runs_lengths_bits(X: T.Buffer((128, 512), "int32"), L: T.Buffer((128,), "int32"), Z: T.Buffer((128,), "int32")):
    for r in range(128):
        run = T.alloc_buffer((1,), "int32")
        run[0] = 0
        L[r] = 0
        Z[r] = 0
        for t in range(512):
            if X[r, t] == 0:
                run[0] = run[0] + 1
                if run[0] > L[r]:
                    L[r] = run[0]
            else:
                if run[0] > 3:
                    Z[r] = Z[r] + 1
                run[0] = 0


@T.prim_func
def polyline_simplify(
    P: T.Buffer((64, 300, 2), "float32"), keep: T.Buffer((64, 300), "int32"), n: T.Buffer((64,), "int32")
):
    for l in range(64):
        lx = T.alloc_buffer((1,), "float32")
        ly = T.alloc_buffer((1,), "float32")
        lx[0] = P[l, 0, 0]
        ly[0] = P[l, 0, 1]
        keep[l, 0] = 1
        n[l] = 1
        for i in range(1, 300):
            dx = P[l, i, 0] - lx[0]
            dy = P[l, i, 1] - ly[0]
            if dx * dx + dy * dy > 1.0:
                keep[l, i] = 1
                n[l] = n[l] + 1
                lx[0] = P[l, i, 0]
                ly[0] = P[l, i, 1]
            else:
                keep[l, i] = 0


@T.prim_func
def tent_map_lyapunov(r: T.Buffer((400,), "float32"), L: T.Buffer((400,), "float32")):
    for i in range(400):
        x = T.alloc_buffer((1,), "float32")
        x[0] = 0.3
        L[i] = 0.0
        for t in range(300):
            x[0] = r[i] * x[0] * (1.0 - x[0])
            if t >= 100:
                L[i] = L[i] + T.log(T.abs(r[i] * (1.0 - 2.0 * x[0])) + 1e-12) / 200.0


@T.prim_func
def ctc_greedy(L: T.Buffer((32, 200, 29), "float32"), O: T.Buffer((32, 200), "int32"), n: T.Buffer((32,), "int32")):
    for b in range(32):
        n[b] = 0
        prev = T.alloc_buffer((1,), "int32")
        prev[0] = -1
        for t in range(200):
            O[b, t] = -1
        for t in range(200):
            best = T.alloc_buffer((1,), "int32")
            best[0] = 0
            for k in range(1, 29):
                if L[b, t, k] > L[b, t, best[0]]:
                    best[0] = k
            if best[0] != 0 and best[0] != prev[0]:
                O[b, n[b]] = best[0]
                n[b] = n[b] + 1
            prev[0] = best[0]


@T.prim_func
def soft_nms(S: T.Buffer((80, 64), "float32"), I: T.Buffer((80, 64, 64), "float32"), D: T.Buffer((80, 64), "float32")):
    for c in range(80):
        for i in range(64):
            D[c, i] = S[c, i]
        for i in range(64):
            for j in range(64):
                if S[c, j] > S[c, i]:
                    D[c, i] = D[c, i] * T.exp(-2.0 * I[c, i, j] * I[c, i, j])


@T.prim_func
def giou(A: T.Buffer((300, 4), "float32"), B: T.Buffer((200, 4), "float32"), G: T.Buffer((300, 200), "float32")):
    for i, j in T.grid(300, 200):
        w = T.max(T.min(A[i, 2], B[j, 2]) - T.max(A[i, 0], B[j, 0]), 0.0)
        h = T.max(T.min(A[i, 3], B[j, 3]) - T.max(A[i, 1], B[j, 1]), 0.0)
        inter = w * h
        union = (A[i, 2] - A[i, 0]) * (A[i, 3] - A[i, 1]) + (B[j, 2] - B[j, 0]) * (B[j, 3] - B[j, 1]) - inter
        hull = (T.max(A[i, 2], B[j, 2]) - T.min(A[i, 0], B[j, 0])) * (T.max(A[i, 3], B[j, 3]) - T.min(A[i, 1], B[j, 1]))
        G[i, j] = inter / (union + 1e-6) - (hull - union) / (hull + 1e-6)


@T.prim_func
def chamfer_clouds(
    A: T.Buffer((4, 600, 3), "float32"), B: T.Buffer((4, 500, 3), "float32"), L: T.Buffer((4,), "float32")
):
    for b in range(4):
        L[b] = 0.0
        for i in range(600):
            m = T.alloc_buffer((1,), "float32")
            m[0] = 1e30
            for j in range(500):
                d = T.alloc_buffer((1,), "float32")
                d[0] = 0.0
                for k in range(3):
                    d[0] = d[0] + (A[b, i, k] - B[b, j, k]) * (A[b, i, k] - B[b, j, k])
                m[0] = T.min(m[0], d[0])
            L[b] = L[b] + m[0] / 600.0


@T.prim_func
def farthest_points(P: T.Buffer((1000, 3), "float32"), S: T.Buffer((64,), "int32")):
    dist = T.alloc_buffer((1000,), "float32")
    for i in range(1000):
        dist[i] = 1e30
    S[0] = 0
    for s in range(1, 64):
        best = T.alloc_buffer((1,), "int32")
        best[0] = 0
        for i in range(1000):
            dx = P[i, 0] - P[S[s - 1], 0]
            dy = P[i, 1] - P[S[s - 1], 1]
            dz = P[i, 2] - P[S[s - 1], 2]
            dist[i] = T.min(dist[i], dx * dx + dy * dy + dz * dz)
            if dist[i] > dist[best[0]]:
                best[0] = i
        S[s] = best[0]


@T.prim_func
def voxel_pool(
    P: T.Buffer((5000, 3), "float32"), F: T.Buffer((5000, 16), "float32"), V: T.Buffer((8, 8, 8, 16), "float32")
):
    for x, y, z, c in T.grid(8, 8, 8, 16):
        V[x, y, z, c] = -1e30
    for i in range(5000):
        T.assume(
            P[i, 0] >= 0.0 and P[i, 0] < 1.0 and P[i, 1] >= 0.0 and P[i, 1] < 1.0 and P[i, 2] >= 0.0 and P[i, 2] < 1.0
        )
        x = T.min(T.max(T.cast(P[i, 0] * 8.0, "int32"), 0), 7)
        y = T.min(T.max(T.cast(P[i, 1] * 8.0, "int32"), 0), 7)
        z = T.min(T.max(T.cast(P[i, 2] * 8.0, "int32"), 0), 7)
        for c in range(16):
            V[x, y, z, c] = T.max(V[x, y, z, c], F[i, c])


@T.prim_func
def positional_encoding(X: T.Buffer((4000, 3), "float32"), E: T.Buffer((4000, 63), "float32")):
    for i in range(4000):
        for c in range(3):
            E[i, c] = X[i, c]
            for l in range(10):
                f = T.exp2(T.cast(l, "float32"))
                E[i, 3 + 6 * l + c] = T.sin(f * X[i, c])
                E[i, 6 + 6 * l + c] = T.cos(f * X[i, c])


@T.prim_func
def volume_render(
    S: T.Buffer((2000, 64), "float32"),
    C: T.Buffer((2000, 64, 3), "float32"),
    dt: T.Buffer((2000, 64), "float32"),
    O: T.Buffer((2000, 3), "float32"),
    D: T.Buffer((2000,), "float32"),
):
    for r in range(2000):
        trans = T.alloc_buffer((1,), "float32")
        trans[0] = 1.0
        D[r] = 0.0
        for c in range(3):
            O[r, c] = 0.0
        for k in range(64):
            a = 1.0 - T.exp(-T.max(S[r, k], 0.0) * dt[r, k])
            w = trans[0] * a
            for c in range(3):
                O[r, c] = O[r, c] + w * C[r, k, c]
            D[r] = D[r] + w * T.cast(k, "float32")
            trans[0] = trans[0] * (1.0 - a)


@T.prim_func
def spherical_harmonics(
    V: T.Buffer((6000, 3), "float32"), K: T.Buffer((6000, 9, 3), "float32"), O: T.Buffer((6000, 3), "float32")
):
    for i in range(6000):
        x = V[i, 0]
        y = V[i, 1]
        z = V[i, 2]
        for c in range(3):
            O[i, c] = (
                0.282 * K[i, 0, c]
                - 0.488 * y * K[i, 1, c]
                + 0.488 * z * K[i, 2, c]
                - 0.488 * x * K[i, 3, c]
                + 1.092 * x * y * K[i, 4, c]
                - 1.092 * y * z * K[i, 5, c]
                + 0.315 * (2.0 * z * z - x * x - y * y) * K[i, 6, c]
                - 1.092 * x * z * K[i, 7, c]
                + 0.546 * (x * x - y * y) * K[i, 8, c]
            )


@T.prim_func
def gaussian_splat(
    M: T.Buffer((200, 2), "float32"),
    Q: T.Buffer((200, 3), "float32"),
    C: T.Buffer((200, 3), "float32"),
    o: T.Buffer((200,), "float32"),
    I: T.Buffer((48, 64, 3), "float32"),
):
    for y in range(48):
        for x in range(64):
            tr = T.alloc_buffer((1,), "float32")
            tr[0] = 1.0
            for c in range(3):
                I[y, x, c] = 0.0
            for g in range(200):
                dx = T.cast(x, "float32") - M[g, 0]
                dy = T.cast(y, "float32") - M[g, 1]
                p = -0.5 * (Q[g, 0] * dx * dx + 2.0 * Q[g, 1] * dx * dy + Q[g, 2] * dy * dy)
                a = T.min(0.99, o[g] * T.exp(p))
                if a > 0.004:
                    for c in range(3):
                        I[y, x, c] = I[y, x, c] + tr[0] * a * C[g, c]
                    tr[0] = tr[0] * (1.0 - a)


@T.prim_func
def lbs_chain(
    R: T.Buffer((100, 24, 3, 3), "float32"),
    J: T.Buffer((24, 3), "float32"),
    parent: T.Buffer((24,), "int32"),
    G: T.Buffer((100, 24, 3, 3), "float32"),
    X: T.Buffer((100, 24, 3), "float32"),
):
    for j in range(1, 24):
        T.assume(parent[j] >= 0 and parent[j] < j)
    for b in range(100):
        for r in range(3):
            for c in range(3):
                G[b, 0, r, c] = R[b, 0, r, c]
            X[b, 0, r] = J[0, r]
        for j in range(1, 24):
            for r in range(3):
                for c in range(3):
                    G[b, j, r, c] = 0.0
                    for k in range(3):
                        G[b, j, r, c] = G[b, j, r, c] + G[b, parent[j], r, k] * R[b, j, k, c]
                X[b, j, r] = X[b, parent[j], r]
                for k in range(3):
                    X[b, j, r] = X[b, j, r] + G[b, parent[j], r, k] * J[j, k]


@T.prim_func
def quaternion_integrate(W: T.Buffer((64, 500, 3), "float32"), Q: T.Buffer((64, 501, 4), "float32")):
    for b in range(64):
        Q[b, 0, 0] = 1.0
        for k in range(1, 4):
            Q[b, 0, k] = 0.0
        for t in range(500):
            hx = 0.005 * W[b, t, 0]
            hy = 0.005 * W[b, t, 1]
            hz = 0.005 * W[b, t, 2]
            a = Q[b, t, 0] - hx * Q[b, t, 1] - hy * Q[b, t, 2] - hz * Q[b, t, 3]
            x = Q[b, t, 1] + hx * Q[b, t, 0] + hz * Q[b, t, 2] - hy * Q[b, t, 3]
            y = Q[b, t, 2] + hy * Q[b, t, 0] - hz * Q[b, t, 1] + hx * Q[b, t, 3]
            z = Q[b, t, 3] + hz * Q[b, t, 0] + hy * Q[b, t, 1] - hx * Q[b, t, 2]
            n = 1.0 / T.sqrt(a * a + x * x + y * y + z * z)
            Q[b, t + 1, 0] = a * n
            Q[b, t + 1, 1] = x * n
            Q[b, t + 1, 2] = y * n
            Q[b, t + 1, 3] = z * n


@T.prim_func
def madgwick_bias(
    A: T.Buffer((32, 1000), "float32"), Gy: T.Buffer((32, 1000), "float32"), ang: T.Buffer((32, 1000), "float32")
):
    for c in range(32):
        th = T.alloc_buffer((2,), "float32")
        th[0] = 0.0
        th[1] = 0.0
        for t in range(1000):
            e = A[c, t] - th[0]
            th[1] = th[1] + 0.001 * e
            th[0] = th[0] + 0.01 * (Gy[c, t] + th[1]) + 0.02 * e
            ang[c, t] = th[0]


@T.prim_func
def mfcc_deltas(C: T.Buffer((400, 13), "float32"), D: T.Buffer((400, 39), "float32")):
    for t in range(400):
        for k in range(13):
            D[t, k] = C[t, k]
    for t in range(400):
        for k in range(13):
            D[t, 13 + k] = 0.0
            for n in range(1, 3):
                D[t, 13 + k] = (
                    D[t, 13 + k] + T.cast(n, "float32") * (C[T.min(t + n, 399), k] - C[T.max(t - n, 0), k]) / 10.0
                )
    for t in range(400):
        for k in range(13):
            D[t, 26 + k] = 0.0
            for n in range(1, 3):
                D[t, 26 + k] = (
                    D[t, 26 + k]
                    + T.cast(n, "float32") * (D[T.min(t + n, 399), 13 + k] - D[T.max(t - n, 0), 13 + k]) / 10.0
                )


@T.prim_func
def spectral_flux(S: T.Buffer((500, 257), "float32"), F: T.Buffer((500,), "float32"), O: T.Buffer((500,), "int32")):
    for t in range(500):
        F[t] = 0.0
        if t > 0:
            for k in range(257):
                F[t] = F[t] + T.max(S[t, k] - S[t - 1, k], 0.0)
    for t in range(500):
        O[t] = 0
        if t >= 3 and t < 497:
            m = T.alloc_buffer((1,), "float32")
            m[0] = 0.0
            for k in range(-3, 4):
                m[0] = m[0] + F[t + k]
            if F[t] > F[t - 1] and F[t] >= F[t + 1] and F[t] > 1.3 * m[0] / 7.0:
                O[t] = 1


@T.prim_func
def chroma(S: T.Buffer((400, 1025), "float32"), pitch: T.Buffer((1025,), "int32"), C: T.Buffer((400, 12), "float32")):
    for k in range(1025):
        T.assume(pitch[k] >= 0 and pitch[k] < 12)
    for t in range(400):
        for p in range(12):
            C[t, p] = 0.0
        for k in range(1025):
            C[t, pitch[k]] = C[t, pitch[k]] + S[t, k] * S[t, k]
        m = T.alloc_buffer((1,), "float32")
        m[0] = 1e-9
        for p in range(12):
            m[0] = T.max(m[0], C[t, p])
        for p in range(12):
            C[t, p] = C[t, p] / m[0]


@T.prim_func
def harmonic_product(S: T.Buffer((200, 1024), "float32"), P: T.Buffer((200,), "int32")):
    for t in range(200):
        best = T.alloc_buffer((1,), "float32")
        best[0] = -1.0
        P[t] = 0
        for k in range(10, 256):
            v = S[t, k] * S[t, 2 * k] * S[t, 3 * k] * S[t, 4 * k - 1]
            if v > best[0]:
                best[0] = v
                P[t] = k


@T.prim_func
def phase_vocoder(
    M: T.Buffer((64, 129), "float32"), P: T.Buffer((64, 129), "float32"), O: T.Buffer((64, 129), "float32")
):
    for k in range(129):
        O[0, k] = P[0, k]
    for t in range(1, 64):
        for k in range(129):
            adv = 0.7853982 * T.cast(k, "float32")
            d = P[t, k] - P[t - 1, k] - adv
            w = d - 6.2831855 * T.floor(d / 6.2831855 + 0.5)
            O[t, k] = O[t - 1, k] + 1.5 * (adv + w)


@T.prim_func
def noise_gate_hold(X: T.Buffer((16, 4000), "float32"), Y: T.Buffer((16, 4000), "float32")):
    for c in range(16):
        hold = T.alloc_buffer((1,), "int32")
        hold[0] = 0
        for t in range(4000):
            if T.abs(X[c, t]) > 1.5:
                hold[0] = 50
            elif hold[0] > 0:
                hold[0] = hold[0] - 1
            Y[c, t] = X[c, t] if hold[0] > 0 else 0.0


@T.prim_func
def edge_histogram(A: T.Buffer((128, 128), "float32"), H: T.Buffer((16, 8), "float32")):
    for b in range(16):
        for o in range(8):
            H[b, o] = 0.0
    for y in range(1, 127):
        for x in range(1, 127):
            gx = A[y, x + 1] - A[y, x - 1]
            gy = A[y + 1, x] - A[y - 1, x]
            o = (4 if gx > 0.0 else 0) + (2 if gy > 0.0 else 0) + (1 if T.abs(gx) > T.abs(gy) else 0)
            H[y // 32 * 4 + x // 32, o] = H[y // 32 * 4 + x // 32, o] + T.sqrt(gx * gx + gy * gy)


@T.prim_func
def unsharp_mask(A: T.Buffer((200, 200, 3), "float32"), B: T.Buffer((200, 200, 3), "float32")):
    for y in range(200):
        for x in range(200):
            for c in range(3):
                s = T.alloc_buffer((1,), "float32")
                s[0] = 0.0
                for dy in range(-2, 3):
                    for dx in range(-2, 3):
                        s[0] = s[0] + A[T.min(T.max(y + dy, 0), 199), T.min(T.max(x + dx, 0), 199), c]
                v = A[y, x, c] + 0.6 * (A[y, x, c] - s[0] / 25.0)
                B[y, x, c] = T.min(T.max(v, 0.0), 1.0)


@T.prim_func
def white_balance(A: T.Buffer((150, 200, 3), "uint8"), B: T.Buffer((150, 200, 3), "uint8")):
    s = T.alloc_buffer((3,), "float32")
    for c in range(3):
        s[c] = 0.0
    for y, x, c in T.grid(150, 200, 3):
        s[c] = s[c] + T.cast(A[y, x, c], "float32")
    g = (s[0] + s[1] + s[2]) / 3.0
    for y, x, c in T.grid(150, 200, 3):
        v = T.cast(A[y, x, c], "float32") * g / (s[c] + 1.0)
        B[y, x, c] = T.cast(T.min(T.max(v + 0.5, 0.0), 255.0), "uint8")


@T.prim_func
def bayer_bilinear(R: T.Buffer((130, 130), "float32"), G: T.Buffer((128, 128), "float32")):
    for y in range(128):
        for x in range(128):
            if (x + y) % 2 == 0:
                G[y, x] = R[y + 1, x + 1]
            else:
                G[y, x] = 0.25 * (R[y, x + 1] + R[y + 2, x + 1] + R[y + 1, x] + R[y + 1, x + 2])


@T.prim_func
def seam_dp(E: T.Buffer((120, 160), "float32"), M: T.Buffer((120, 160), "float32"), S: T.Buffer((120,), "int32")):
    for x in range(160):
        M[0, x] = E[0, x]
    for y in range(1, 120):
        for x in range(160):
            M[y, x] = E[y, x] + T.min(M[y - 1, x], T.min(M[y - 1, T.max(x - 1, 0)], M[y - 1, T.min(x + 1, 159)]))
    S[119] = 0
    for x in range(1, 160):
        if M[119, x] < M[119, S[119]]:
            S[119] = x
    for r in range(119):
        y = 118 - r
        p = S[y + 1]
        S[y] = p
        if p > 0 and M[y, p - 1] < M[y, S[y]]:
            S[y] = p - 1
        if p < 159 and M[y, p + 1] < M[y, S[y]]:
            S[y] = p + 1


@T.prim_func
def fill_holes(A: T.Buffer((64, 96), "float32"), B: T.Buffer((64, 96), "float32")):
    for y in range(64):
        left = T.alloc_buffer((1,), "float32")
        left[0] = 0.0
        for x in range(96):
            if A[y, x] > 0.0:
                left[0] = A[y, x]
            B[y, x] = left[0]
        right = T.alloc_buffer((1,), "float32")
        right[0] = 0.0
        for r in range(96):
            if A[y, 95 - r] > 0.0:
                right[0] = A[y, 95 - r]
            if A[y, 95 - r] <= 0.0:
                B[y, 95 - r] = T.min(B[y, 95 - r], right[0])


@T.prim_func
def order_book(
    P: T.Buffer((2000,), "int32"),
    Q: T.Buffer((2000,), "int32"),
    B: T.Buffer((128,), "int32"),
    best: T.Buffer((2000,), "int32"),
):
    for p in range(128):
        B[p] = 0
    for t in range(2000):
        T.assume(P[t] >= 0 and P[t] < 128)
        B[P[t]] = T.max(B[P[t]] + Q[t], 0)
        best[t] = -1
        for p in range(128):
            if B[p] > 0:
                best[t] = p


@T.prim_func
def american_lsm(S: T.Buffer((2000, 50), "float32"), price: T.Buffer((1,), "float32")):
    V = T.alloc_buffer((2000,), "float32")
    for i in range(2000):
        V[i] = T.max(1.1 - S[i, 49], 0.0)
    for r in range(49):
        t = 48 - r
        m = T.alloc_buffer((5,), "float32")
        for k in range(5):
            m[k] = 0.0
        for i in range(2000):
            V[i] = V[i] * 0.999
            m[0] = m[0] + S[i, t]
            m[1] = m[1] + S[i, t] * S[i, t]
            m[2] = m[2] + V[i]
            m[3] = m[3] + V[i] * S[i, t]
        d = 2000.0 * m[1] - m[0] * m[0] + 1e-3
        b = (2000.0 * m[3] - m[0] * m[2]) / d
        a = (m[2] - b * m[0]) / 2000.0
        for i in range(2000):
            e = T.max(1.1 - S[i, t], 0.0)
            if e > a + b * S[i, t] and e > 0.0:
                V[i] = e
    price[0] = 0.0
    for i in range(2000):
        price[0] = price[0] + V[i] / 2000.0


@T.prim_func
def cds_bootstrap(S: T.Buffer((200, 10), "float32"), df: T.Buffer((10,), "float32"), H: T.Buffer((200, 10), "float32")):
    for c in range(200):
        q = T.alloc_buffer((1,), "float32")
        q[0] = 1.0
        acc = T.alloc_buffer((1,), "float32")
        acc[0] = 0.0
        for k in range(10):
            h = (0.6 * q[0] * df[k] - S[c, k] * acc[0]) / (0.6 * df[k] + S[c, k] * df[k]) / q[0]
            H[c, k] = 1.0 - T.min(T.max(h, 0.01), 0.99)
            q[0] = q[0] * T.min(T.max(h, 0.01), 0.99)
            acc[0] = acc[0] + q[0] * df[k]


@T.prim_func
def twap_slices(
    V: T.Buffer((300, 390), "float32"), P: T.Buffer((300, 390), "float32"), O: T.Buffer((300, 13), "float32")
):
    for s in range(300):
        for b in range(13):
            num = T.alloc_buffer((1,), "float32")
            den = T.alloc_buffer((1,), "float32")
            num[0] = 0.0
            den[0] = 0.0
            for m in range(30):
                num[0] = num[0] + V[s, 30 * b + m] * P[s, 30 * b + m]
                den[0] = den[0] + V[s, 30 * b + m]
            O[s, b] = num[0] / den[0] if den[0] > 0.0 else 0.0


@T.prim_func
def hungarian_reduce(
    C: T.Buffer((40, 60, 60), "float32"), R: T.Buffer((40, 60, 60), "float32"), z: T.Buffer((40,), "int32")
):
    for b in range(40):
        for i in range(60):
            m = T.alloc_buffer((1,), "float32")
            m[0] = C[b, i, 0]
            for j in range(1, 60):
                m[0] = T.min(m[0], C[b, i, j])
            for j in range(60):
                R[b, i, j] = C[b, i, j] - m[0]
        for j in range(60):
            m2 = T.alloc_buffer((1,), "float32")
            m2[0] = R[b, 0, j]
            for i in range(1, 60):
                m2[0] = T.min(m2[0], R[b, i, j])
            for i in range(60):
                R[b, i, j] = R[b, i, j] - m2[0]
        z[b] = 0
        for i in range(60):
            for j in range(60):
                if R[b, i, j] == 0.0:
                    z[b] = z[b] + 1


@T.prim_func
def auction_assign(
    V: T.Buffer((32, 32), "float32"), owner: T.Buffer((32,), "int32"), price: T.Buffer((32,), "float32")
):
    for j in range(32):
        owner[j] = -1
        price[j] = 0.0
    for t in range(300):
        i = t % 32
        b = T.alloc_buffer((1,), "int32")
        v1 = T.alloc_buffer((1,), "float32")
        v2 = T.alloc_buffer((1,), "float32")
        b[0] = 0
        v1[0] = -1e30
        v2[0] = -1e30
        for j in range(32):
            w = V[i, j] - price[j]
            if w > v1[0]:
                v2[0] = v1[0]
                v1[0] = w
                b[0] = j
            elif w > v2[0]:
                v2[0] = w
        owner[b[0]] = i
        price[b[0]] = price[b[0]] + v1[0] - v2[0] + 0.01


@T.prim_func
def kd_counts(X: T.Buffer((3000, 3), "float32"), C: T.Buffer((64,), "int32"), M: T.Buffer((64, 3), "float32")):
    for k in range(64):
        C[k] = 0
        for d in range(3):
            M[k, d] = 0.0
    for i in range(3000):
        c = T.alloc_buffer((1,), "int32")
        c[0] = 0
        for l in range(6):
            c[0] = 2 * c[0] + (1 if X[i, l % 3] > 0.1 * T.cast(l - 3, "float32") else 0)
        C[c[0]] = C[c[0]] + 1
        for d in range(3):
            M[c[0], d] = M[c[0], d] + X[i, d]
    for k in range(64):
        for d in range(3):
            M[k, d] = M[k, d] / T.cast(T.max(C[k], 1), "float32")


@T.prim_func
def union_find(A: T.Buffer((600,), "int32"), B: T.Buffer((600,), "int32"), root: T.Buffer((300,), "int32")):
    for i in range(300):
        root[i] = i
    for e in range(600):
        T.assume(A[e] >= 0 and A[e] < 300 and B[e] >= 0 and B[e] < 300)
        a = root[A[e]]
        b = root[B[e]]
        for i in range(300):
            if root[i] == T.max(a, b):
                root[i] = T.min(a, b)


@T.prim_func
def topological_levels(src: T.Buffer((2000,), "int32"), dst: T.Buffer((2000,), "int32"), L: T.Buffer((200,), "int32")):
    for e in range(2000):
        T.assume(src[e] >= 0 and src[e] < 200 and dst[e] >= 0 and dst[e] < 200)
    for v in range(200):
        L[v] = 0
    for r in range(30):
        for e in range(2000):
            L[dst[e]] = T.max(L[dst[e]], L[src[e]] + 1)


@T.prim_func
def max_flow_push(C: T.Buffer((48, 48), "float32"), F: T.Buffer((48, 48), "float32"), ex: T.Buffer((48,), "float32")):
    for i, j in T.grid(48, 48):
        F[i, j] = 0.0
    for i in range(48):
        ex[i] = 0.0
    for j in range(48):
        F[0, j] = C[0, j]
        ex[j] = ex[j] + C[0, j]
    for r in range(10):
        for i in range(1, 47):
            for j in range(48):
                d = T.min(ex[i], C[i, j] - F[i, j])
                if j > i and d > 0.0:
                    F[i, j] = F[i, j] + d
                    ex[i] = ex[i] - d
                    ex[j] = ex[j] + d


@T.prim_func
def edit_alignment_path(
    D: T.Buffer((41, 51), "int32"),
    A: T.Buffer((40,), "int32"),
    B: T.Buffer((50,), "int32"),
    ops: T.Buffer((90,), "int32"),
):
    for i in range(41):
        D[i, 0] = i
    for j in range(51):
        D[0, j] = j
    for i in range(40):
        for j in range(50):
            c = 0 if A[i] == B[j] else 1
            D[i + 1, j + 1] = T.min(D[i, j] + c, T.min(D[i, j + 1], D[i + 1, j]) + 1)
    pos = T.alloc_buffer((2,), "int32")
    pos[0] = 40
    pos[1] = 50
    for s in range(90):
        ops[s] = 0
        if pos[0] > 0 or pos[1] > 0:
            if pos[0] > 0 and (pos[1] == 0 or D[pos[0], pos[1]] == D[pos[0] - 1, pos[1]] + 1):
                ops[s] = 1
                pos[0] = pos[0] - 1
            elif pos[1] > 0 and (pos[0] == 0 or D[pos[0], pos[1]] == D[pos[0], pos[1] - 1] + 1):
                ops[s] = 2
                pos[1] = pos[1] - 1
            else:
                ops[s] = 3
                pos[0] = pos[0] - 1
                pos[1] = pos[1] - 1


@T.prim_func
def suffix_ranks(S: T.Buffer((256,), "int32"), R: T.Buffer((256,), "int32")):
    for i in range(256):
        R[i] = S[i]
    for l in range(8):
        key = T.alloc_buffer((256,), "int32")
        for i in range(256):
            nxt = R[i + (1 << l)] + 1 if i + (1 << l) < 256 else 0
            key[i] = R[i] * 300 + nxt
        for i in range(256):
            R[i] = 0
            for j in range(256):
                if key[j] < key[i]:
                    R[i] = R[i] + 1


@T.prim_func
def gf_matmul(A: T.Buffer((48, 48), "uint8"), B: T.Buffer((48, 48), "uint8"), C: T.Buffer((48, 48), "uint8")):
    for i, j in T.grid(48, 48):
        C[i, j] = T.uint8(0)
        for k in range(48):
            for b in range(8):
                if ((B[k, j] >> T.uint8(b)) & T.uint8(1)) != T.uint8(0):
                    p = T.alloc_buffer((1,), "uint8")
                    p[0] = A[i, k]
                    for s in range(b):
                        p[0] = (p[0] << T.uint8(1)) ^ (T.uint8(27) if p[0] >= T.uint8(128) else T.uint8(0))
                    C[i, j] = C[i, j] ^ p[0]


@T.prim_func
def siphash_rounds(V: T.Buffer((500, 4), "uint32"), O: T.Buffer((500, 4), "uint32")):
    for i in range(500):
        s = T.alloc_buffer((4,), "uint32")
        for k in range(4):
            s[k] = V[i, k]
        for r in range(12):
            s[0] = s[0] + s[1]
            s[1] = ((s[1] << T.uint32(5)) | (s[1] >> T.uint32(27))) ^ s[0]
            s[2] = s[2] + s[3]
            s[3] = ((s[3] << T.uint32(8)) | (s[3] >> T.uint32(24))) ^ s[2]
            s[0] = s[0] + s[3]
            s[2] = s[2] + s[1]
        for k in range(4):
            O[i, k] = s[k]


@T.prim_func
def parity_2d(
    X: T.Buffer((200, 16, 16), "int32"),
    rowp: T.Buffer((200, 16), "int32"),
    colp: T.Buffer((200, 16), "int32"),
    bad: T.Buffer((200,), "int32"),
):
    for b in range(200):
        for i in range(16):
            rowp[b, i] = 0
            colp[b, i] = 0
        for i, j in T.grid(16, 16):
            rowp[b, i] = rowp[b, i] ^ X[b, i, j]
            colp[b, j] = colp[b, j] ^ X[b, i, j]
        bad[b] = 0
        for i in range(16):
            bad[b] = bad[b] + (rowp[b, i] & 1) + (colp[b, i] & 1)


@T.prim_func
def varint_lengths(X: T.Buffer((4000,), "uint32"), L: T.Buffer((4000,), "int32"), off: T.Buffer((4001,), "int32")):
    off[0] = 0
    for i in range(4000):
        L[i] = 1
        for k in range(1, 5):
            if (X[i] >> T.uint32(7 * k)) != T.uint32(0):
                L[i] = k + 1
        off[i + 1] = off[i] + L[i]


@T.prim_func
def csv_fields(S: T.Buffer((64, 200), "int32"), F: T.Buffer((64, 200), "int32"), q: T.Buffer((64,), "int32")):
    for r in range(64):
        inq = T.alloc_buffer((1,), "int32")
        f = T.alloc_buffer((1,), "int32")
        inq[0] = 0
        f[0] = 0
        for t in range(200):
            if S[r, t] == 34:
                inq[0] = 1 - inq[0]
            elif S[r, t] == 44 and inq[0] == 0:
                f[0] = f[0] + 1
            F[r, t] = f[0]
        q[r] = inq[0]


@T.prim_func
def moment_matching(
    X: T.Buffer((100, 64), "float32"), Y: T.Buffer((100, 64), "float32"), L: T.Buffer((100,), "float32")
):
    for b in range(100):
        L[b] = 0.0
        for k in range(1, 4):
            mx = T.alloc_buffer((1,), "float32")
            my = T.alloc_buffer((1,), "float32")
            mx[0] = 0.0
            my[0] = 0.0
            for i in range(64):
                px = T.alloc_buffer((1,), "float32")
                py = T.alloc_buffer((1,), "float32")
                px[0] = 1.0
                py[0] = 1.0
                for e in range(k):
                    px[0] = px[0] * X[b, i]
                    py[0] = py[0] * Y[b, i]
                mx[0] = mx[0] + px[0] / 64.0
                my[0] = my[0] + py[0] / 64.0
            L[b] = L[b] + (mx[0] - my[0]) * (mx[0] - my[0])


@T.prim_func
def capsule_routing(U: T.Buffer((32, 10, 8), "float32"), V: T.Buffer((10, 8), "float32")):
    B = T.alloc_buffer((32, 10), "float32")
    for i, j in T.grid(32, 10):
        B[i, j] = 0.0
    for r in range(3):
        C = T.alloc_buffer((32, 10), "float32")
        for i in range(32):
            z = T.alloc_buffer((1,), "float32")
            z[0] = 0.0
            for j in range(10):
                z[0] = z[0] + T.exp(B[i, j])
            for j in range(10):
                C[i, j] = T.exp(B[i, j]) / z[0]
        for j in range(10):
            n = T.alloc_buffer((1,), "float32")
            n[0] = 0.0
            for d in range(8):
                V[j, d] = 0.0
                for i in range(32):
                    V[j, d] = V[j, d] + C[i, j] * U[i, j, d]
                n[0] = n[0] + V[j, d] * V[j, d]
            for d in range(8):
                V[j, d] = V[j, d] * T.sqrt(n[0]) / (1.0 + n[0])
        for i, j, d in T.grid(32, 10, 8):
            B[i, j] = B[i, j] + U[i, j, d] * V[j, d]


@T.prim_func
def graph_attention(
    H: T.Buffer((200, 32), "float32"),
    N: T.Buffer((200, 12), "int32"),
    a: T.Buffer((64,), "float32"),
    O: T.Buffer((200, 32), "float32"),
):
    for v in range(200):
        for k in range(12):
            T.assume(N[v, k] >= -1 and N[v, k] < 200)
    for v in range(200):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((12,), "float32")
        m[0] = -1e30
        z[0] = 0.0
        for k in range(12):
            s[k] = -1e30
            if N[v, k] >= 0:
                s[k] = 0.0
                for d in range(32):
                    s[k] = s[k] + a[d] * H[v, d] + a[32 + d] * H[N[v, k], d]
                s[k] = T.max(s[k], 0.2 * s[k])
            m[0] = T.max(m[0], s[k])
        for d in range(32):
            O[v, d] = 0.0
        for k in range(12):
            if N[v, k] >= 0:
                w = T.exp(s[k] - m[0])
                z[0] = z[0] + w
                for d in range(32):
                    O[v, d] = O[v, d] + w * H[N[v, k], d]
        for d in range(32):
            O[v, d] = O[v, d] / T.max(z[0], 1e-6)


@T.prim_func
def retention(
    Q: T.Buffer((4, 128, 32), "float32"),
    K: T.Buffer((4, 128, 32), "float32"),
    V: T.Buffer((4, 128, 32), "float32"),
    O: T.Buffer((4, 128, 32), "float32"),
):
    for h in range(4):
        S = T.alloc_buffer((32, 32), "float32")
        for a, b in T.grid(32, 32):
            S[a, b] = 0.0
        for t in range(128):
            for a, b in T.grid(32, 32):
                S[a, b] = 0.96 * S[a, b] + K[h, t, a] * V[h, t, b]
            for b in range(32):
                O[h, t, b] = 0.0
                for a in range(32):
                    O[h, t, b] = O[h, t, b] + Q[h, t, a] * S[a, b]


@T.prim_func
def rwkv_wkv(
    K: T.Buffer((256, 64), "float32"),
    V: T.Buffer((256, 64), "float32"),
    w: T.Buffer((64,), "float32"),
    u: T.Buffer((64,), "float32"),
    O: T.Buffer((256, 64), "float32"),
):
    for c in range(64):
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        a[0] = 0.0
        b[0] = 0.0
        for t in range(256):
            e = T.exp(u[c] + K[t, c])
            O[t, c] = (a[0] + e * V[t, c]) / (b[0] + e)
            a[0] = T.exp(-w[c]) * a[0] + T.exp(K[t, c]) * V[t, c]
            b[0] = T.exp(-w[c]) * b[0] + T.exp(K[t, c])


@T.prim_func
def speculative_accept(
    P: T.Buffer((64, 8, 100), "float32"),
    Q: T.Buffer((64, 8, 100), "float32"),
    tok: T.Buffer((64, 8), "int32"),
    U: T.Buffer((64, 8), "float32"),
    n: T.Buffer((64,), "int32"),
):
    for b in range(64):
        n[b] = 0
        ok = T.alloc_buffer((1,), "int32")
        ok[0] = 1
        for t in range(8):
            T.assume(tok[b, t] >= 0 and tok[b, t] < 100)
            if U[b, t] * Q[b, t, tok[b, t]] > P[b, t, tok[b, t]]:
                ok[0] = 0
            n[b] = n[b] + ok[0]


@T.prim_func
def top_p_mask(P: T.Buffer((32, 200), "float32"), M: T.Buffer((32, 200), "float32")):
    for b in range(32):
        for i in range(200):
            above = T.alloc_buffer((1,), "float32")
            above[0] = 0.0
            for j in range(200):
                if P[b, j] > P[b, i] or (P[b, j] == P[b, i] and j < i):
                    above[0] = above[0] + P[b, j]
            M[b, i] = P[b, i] if above[0] < 0.9 else 0.0


@T.prim_func
def rope_2d(
    X: T.Buffer((14, 14, 8, 32), "float32"), f: T.Buffer((8,), "float32"), Y: T.Buffer((14, 14, 8, 32), "float32")
):
    for y, x, h, k in T.grid(14, 14, 8, 8):
        ay = T.cast(y, "float32") * f[k]
        ax = T.cast(x, "float32") * f[k]
        Y[y, x, h, 2 * k] = X[y, x, h, 2 * k] * T.cos(ay) - X[y, x, h, 2 * k + 1] * T.sin(ay)
        Y[y, x, h, 2 * k + 1] = X[y, x, h, 2 * k] * T.sin(ay) + X[y, x, h, 2 * k + 1] * T.cos(ay)
        Y[y, x, h, 16 + 2 * k] = X[y, x, h, 16 + 2 * k] * T.cos(ax) - X[y, x, h, 17 + 2 * k] * T.sin(ax)
        Y[y, x, h, 17 + 2 * k] = X[y, x, h, 16 + 2 * k] * T.sin(ax) + X[y, x, h, 17 + 2 * k] * T.cos(ax)


@T.prim_func
def patch_merge(
    X: T.Buffer((28, 28, 48), "float32"), W: T.Buffer((192, 96), "float32"), Y: T.Buffer((14, 14, 96), "float32")
):
    for i, j in T.grid(14, 14):
        row = T.alloc_buffer((192,), "float32")
        m = T.alloc_buffer((2,), "float32")
        m[0] = 0.0
        m[1] = 0.0
        for a, b, c in T.grid(2, 2, 48):
            row[a * 96 + b * 48 + c] = X[2 * i + a, 2 * j + b, c]
            m[0] = m[0] + X[2 * i + a, 2 * j + b, c] / 192.0
            m[1] = m[1] + X[2 * i + a, 2 * j + b, c] * X[2 * i + a, 2 * j + b, c] / 192.0
        r = 1.0 / T.sqrt(m[1] - m[0] * m[0] + 1e-5)
        for o in range(96):
            Y[i, j, o] = 0.0
            for k in range(192):
                Y[i, j, o] = Y[i, j, o] + (row[k] - m[0]) * r * W[k, o]


@T.prim_func
def flat_matmul(
    A: T.Buffer((300 * 200,), "float32"), B: T.Buffer((200 * 260,), "float32"), C: T.Buffer((300 * 260,), "float32")
):
    for i in range(300):
        for j in range(260):
            acc = T.alloc_buffer((1,), "float32")
            acc[0] = 0.0
            for k in range(200):
                acc[0] += A[i * 200 + k] * B[k * 260 + j]
            C[i * 260 + j] = acc[0]


@T.prim_func
def tiled_matmul_tails(
    A: T.Buffer((300, 200), "float32"), B: T.Buffer((200, 260), "float32"), C: T.Buffer((300, 260), "float32")
):
    for i, j in T.grid(300, 260):
        C[i, j] = 0.0
    for io in range(0, 300, 32):
        for jo in range(0, 260, 32):
            for ko in range(0, 200, 16):
                for i in range(io, T.min(io + 32, 300)):
                    for k in range(ko, T.min(ko + 16, 200)):
                        for j in range(jo, T.min(jo + 32, 260)):
                            C[i, j] += A[i, k] * B[k, j]


@T.prim_func
def flat_conv_nhwc(
    X: T.Buffer((4 * 20 * 20 * 16,), "float32"),
    W: T.Buffer((3 * 3 * 16 * 24,), "float32"),
    Y: T.Buffer((4 * 20 * 20 * 24,), "float32"),
):
    for n in range(4):
        for y in range(20):
            for x in range(20):
                for f in range(24):
                    Y[((n * 20 + y) * 20 + x) * 24 + f] = 0.0
                for dy in range(3):
                    if y + dy >= 1 and y + dy < 21:
                        for dx in range(3):
                            if x + dx >= 1 and x + dx < 21:
                                for c in range(16):
                                    for f in range(24):
                                        Y[((n * 20 + y) * 20 + x) * 24 + f] += (
                                            X[((n * 20 + y + dy - 1) * 20 + x + dx - 1) * 16 + c]
                                            * W[((dy * 3 + dx) * 16 + c) * 24 + f]
                                        )


@T.prim_func
def dot_unrolled(A: T.Buffer((64, 4096), "float32"), B: T.Buffer((64, 4096), "float32"), O: T.Buffer((64,), "float32")):
    for i in range(64):
        s0 = T.alloc_buffer((1,), "float32")
        s1 = T.alloc_buffer((1,), "float32")
        s2 = T.alloc_buffer((1,), "float32")
        s3 = T.alloc_buffer((1,), "float32")
        s0[0] = 0.0
        s1[0] = 0.0
        s2[0] = 0.0
        s3[0] = 0.0
        for k in range(1024):
            s0[0] += A[i, 4 * k] * B[i, 4 * k]
            s1[0] += A[i, 4 * k + 1] * B[i, 4 * k + 1]
            s2[0] += A[i, 4 * k + 2] * B[i, 4 * k + 2]
            s3[0] += A[i, 4 * k + 3] * B[i, 4 * k + 3]
        O[i] = (s0[0] + s1[0]) + (s2[0] + s3[0])


@T.prim_func
def blocked_prefix(X: T.Buffer((65536,), "float32"), O: T.Buffer((65536,), "float32")):
    sums = T.alloc_buffer((256,), "float32")
    for b in range(256):
        sums[b] = 0.0
        for i in range(256):
            sums[b] += X[b * 256 + i]
            O[b * 256 + i] = sums[b]
    for b in range(1, 256):
        sums[b] = sums[b] + sums[b - 1]
    for b in range(1, 256):
        for i in range(256):
            O[b * 256 + i] += sums[b - 1]


@T.prim_func
def private_histograms(X: T.Buffer((16, 4096), "int32"), H: T.Buffer((64,), "int32")):
    priv = T.alloc_buffer((16, 64), "int32")
    for t in range(16):
        for k in range(64):
            priv[t, k] = 0
        for i in range(4096):
            if X[t, i] >= 0 and X[t, i] < 64:
                priv[t, X[t, i]] += 1
    for k in range(64):
        H[k] = 0
        for t in range(16):
            H[k] += priv[t, k]


@T.prim_func
def bitonic(A: T.Buffer((64, 256), "float32")):
    for r in range(64):
        for k in range(8):
            for jj in range(k + 1):
                for i in range(256):
                    l = i ^ (1 << (k - jj))
                    if l > i:
                        if ((i & (2 << k)) == 0) == (A[r, i] > A[r, l]):
                            t = A[r, i]
                            A[r, i] = A[r, l]
                            A[r, l] = t


@T.prim_func
def ping_pong(U: T.Buffer((2, 200, 200), "float32")):
    for t in range(60):
        for i in range(1, 199):
            for j in range(1, 199):
                U[(t + 1) % 2, i, j] = 0.2 * (
                    U[t % 2, i, j] + U[t % 2, i - 1, j] + U[t % 2, i + 1, j] + U[t % 2, i, j - 1] + U[t % 2, i, j + 1]
                )


@T.prim_func
def ghost_cells(U: T.Buffer((130, 130), "float32")):
    V = T.alloc_buffer((130, 130), "float32")
    for t in range(40):
        for i in range(1, 129):
            U[i, 0] = U[i, 128]
            U[i, 129] = U[i, 1]
        for j in range(130):
            U[0, j] = U[128, j]
            U[129, j] = U[1, j]
        for i in range(1, 129):
            for j in range(1, 129):
                V[i, j] = U[i, j] + 0.1 * (U[i - 1, j] + U[i + 1, j] + U[i, j - 1] + U[i, j + 1] - 4.0 * U[i, j])
        for i in range(1, 129):
            for j in range(1, 129):
                U[i, j] = V[i, j]


@T.prim_func
def line_buffer(A: T.Buffer((200, 240), "float32"), W: T.Buffer((3,), "float32"), O: T.Buffer((198, 238), "float32")):
    rows = T.alloc_buffer((3, 238), "float32")
    for y in range(200):
        for x in range(238):
            rows[y % 3, x] = W[0] * A[y, x] + W[1] * A[y, x + 1] + W[2] * A[y, x + 2]
        if y >= 2:
            for x in range(238):
                O[y - 2, x] = W[0] * rows[(y - 2) % 3, x] + W[1] * rows[(y - 1) % 3, x] + W[2] * rows[y % 3, x]


@T.prim_func
def winograd_2d(
    X: T.Buffer((32, 34, 34), "float32"), W: T.Buffer((16, 32, 3, 3), "float32"), Y: T.Buffer((16, 32, 32), "float32")
):
    G = T.alloc_buffer((4, 3), "float32")
    U = T.alloc_buffer((16, 32, 4, 4), "float32")
    V = T.alloc_buffer((32, 16, 16, 4, 4), "float32")
    M = T.alloc_buffer((16, 16, 16, 4, 4), "float32")
    for i, j in T.grid(4, 3):
        G[i, j] = 0.0
    G[0, 0] = 1.0
    G[1, 0] = 0.5
    G[1, 1] = 0.5
    G[1, 2] = 0.5
    G[2, 0] = 0.5
    G[2, 1] = -0.5
    G[2, 2] = 0.5
    G[3, 2] = 1.0
    for f, c, a, b in T.grid(16, 32, 4, 4):
        U[f, c, a, b] = 0.0
        for i, j in T.grid(3, 3):
            U[f, c, a, b] += G[a, i] * W[f, c, i, j] * G[b, j]
    for c, ty, tx in T.grid(32, 16, 16):
        d = T.alloc_buffer((4, 4), "float32")
        for j in range(4):
            d[0, j] = X[c, 2 * ty, 2 * tx + j] - X[c, 2 * ty + 2, 2 * tx + j]
            d[1, j] = X[c, 2 * ty + 1, 2 * tx + j] + X[c, 2 * ty + 2, 2 * tx + j]
            d[2, j] = X[c, 2 * ty + 2, 2 * tx + j] - X[c, 2 * ty + 1, 2 * tx + j]
            d[3, j] = X[c, 2 * ty + 1, 2 * tx + j] - X[c, 2 * ty + 3, 2 * tx + j]
        for i in range(4):
            V[c, ty, tx, i, 0] = d[i, 0] - d[i, 2]
            V[c, ty, tx, i, 1] = d[i, 1] + d[i, 2]
            V[c, ty, tx, i, 2] = d[i, 2] - d[i, 1]
            V[c, ty, tx, i, 3] = d[i, 1] - d[i, 3]
    for f, ty, tx, a, b in T.grid(16, 16, 16, 4, 4):
        M[f, ty, tx, a, b] = 0.0
        for c in range(32):
            M[f, ty, tx, a, b] += U[f, c, a, b] * V[c, ty, tx, a, b]
    for f, ty, tx in T.grid(16, 16, 16):
        m = T.alloc_buffer((2, 4), "float32")
        for j in range(4):
            m[0, j] = M[f, ty, tx, 0, j] + M[f, ty, tx, 1, j] + M[f, ty, tx, 2, j]
            m[1, j] = M[f, ty, tx, 1, j] - M[f, ty, tx, 2, j] - M[f, ty, tx, 3, j]
        for i in range(2):
            Y[f, 2 * ty + i, 2 * tx] = m[i, 0] + m[i, 1] + m[i, 2]
            Y[f, 2 * ty + i, 2 * tx + 1] = m[i, 1] - m[i, 2] - m[i, 3]


@T.prim_func
def flat_heads(
    Q: T.Buffer((2, 128, 256), "float32"),
    K: T.Buffer((2, 128, 256), "float32"),
    V: T.Buffer((2, 128, 256), "float32"),
    O: T.Buffer((2, 128, 256), "float32"),
):
    for b in range(2):
        for h in range(8):
            for t in range(128):
                s = T.alloc_buffer((128,), "float32")
                m = T.alloc_buffer((1,), "float32")
                z = T.alloc_buffer((1,), "float32")
                m[0] = -1e30
                for u in range(t + 1):
                    s[u] = 0.0
                    for d in range(32):
                        s[u] += Q[b, t, h * 32 + d] * K[b, u, h * 32 + d]
                    s[u] *= 0.17677669
                    m[0] = T.max(m[0], s[u])
                z[0] = 0.0
                for u in range(t + 1):
                    s[u] = T.exp(s[u] - m[0])
                    z[0] += s[u]
                for d in range(32):
                    O[b, t, h * 32 + d] = 0.0
                for u in range(t + 1):
                    p = s[u] / z[0]
                    for d in range(32):
                        O[b, t, h * 32 + d] += p * V[b, u, h * 32 + d]


@T.prim_func
def one_pass_norm(
    X: T.Buffer((500, 300), "float32"),
    g: T.Buffer((300,), "float32"),
    b: T.Buffer((300,), "float32"),
    Y: T.Buffer((500, 300), "float32"),
):
    for r in range(500):
        s = T.alloc_buffer((2,), "float32")
        s[0] = 0.0
        s[1] = 0.0
        for c in range(300):
            v = X[r, c]
            s[0] += v
            s[1] += v * v
        mean = s[0] / 300.0
        inv = T.rsqrt(s[1] / 300.0 - mean * mean + 1e-5)
        for c in range(300):
            Y[r, c] = (X[r, c] - mean) * inv * g[c] + b[c]


@T.prim_func
def pointer_walk(A: T.Buffer((120, 90), "float32"), O: T.Buffer((10800,), "float32")):
    p = T.alloc_buffer((1,), "int32")
    p[0] = 0
    for j in range(90):
        for i in range(120):
            O[p[0]] = A[i, j] * 2.0
            p[0] = p[0] + 1


@T.prim_func
def argmin_2d(A: T.Buffer((40, 60, 70), "float32"), at: T.Buffer((40, 2), "int32")):
    for b in range(40):
        best = T.alloc_buffer((1,), "float32")
        best[0] = A[b, 0, 0]
        at[b, 0] = 0
        at[b, 1] = 0
        for i in range(60):
            for j in range(70):
                if A[b, i, j] < best[0]:
                    best[0] = A[b, i, j]
                    at[b, 0] = i
                    at[b, 1] = j


@T.prim_func
def complex_fir(
    X: T.Buffer((8, 2000, 2), "float32"), H: T.Buffer((32, 2), "float32"), Y: T.Buffer((8, 1969, 2), "float32")
):
    for c in range(8):
        for t in range(1969):
            Y[c, t, 0] = 0.0
            Y[c, t, 1] = 0.0
            for k in range(32):
                Y[c, t, 0] += X[c, t + k, 0] * H[k, 0] - X[c, t + k, 1] * H[k, 1]
                Y[c, t, 1] += X[c, t + k, 0] * H[k, 1] + X[c, t + k, 1] * H[k, 0]


@T.prim_func
def matrix_power(A: T.Buffer((16, 24, 24), "float32"), P: T.Buffer((16, 24, 24), "float32")):
    B = T.alloc_buffer((16, 24, 24), "float32")
    tmp = T.alloc_buffer((16, 24, 24), "float32")
    for b, i, j in T.grid(16, 24, 24):
        B[b, i, j] = A[b, i, j]
        P[b, i, j] = T.if_then_else(i == j, T.float32(1.0), T.float32(0.0))
    for bit in range(4):
        if ((13 >> bit) & 1) == 1:
            for b, i, j in T.grid(16, 24, 24):
                tmp[b, i, j] = 0.0
                for k in range(24):
                    tmp[b, i, j] += P[b, i, k] * B[b, k, j]
            for b, i, j in T.grid(16, 24, 24):
                P[b, i, j] = tmp[b, i, j]
        for b, i, j in T.grid(16, 24, 24):
            tmp[b, i, j] = 0.0
            for k in range(24):
                tmp[b, i, j] += B[b, i, k] * B[b, k, j]
        for b, i, j in T.grid(16, 24, 24):
            B[b, i, j] = tmp[b, i, j]


@T.prim_func
def next_hops(D: T.Buffer((80, 80), "float32"), N: T.Buffer((80, 80), "int32")):
    for i, j in T.grid(80, 80):
        N[i, j] = j
    for k in range(80):
        for i in range(80):
            for j in range(80):
                if D[i, k] + D[k, j] < D[i, j]:
                    D[i, j] = D[i, k] + D[k, j]
                    N[i, j] = N[i, k]


@T.prim_func
def reflect_conv(
    A: T.Buffer((150, 160), "float32"), W: T.Buffer((5, 5), "float32"), O: T.Buffer((150, 160), "float32")
):
    for y in range(150):
        for x in range(160):
            acc = T.alloc_buffer((1,), "float32")
            acc[0] = 0.0
            for dy in range(5):
                for dx in range(5):
                    yy = T.alloc_buffer((1,), "int32")
                    xx = T.alloc_buffer((1,), "int32")
                    yy[0] = y + dy - 2
                    xx[0] = x + dx - 2
                    if yy[0] < 0:
                        yy[0] = -yy[0]
                    if yy[0] >= 150:
                        yy[0] = 298 - yy[0]
                    if xx[0] < 0:
                        xx[0] = -xx[0]
                    if xx[0] >= 160:
                        xx[0] = 318 - xx[0]
                    acc[0] += W[dy, dx] * A[yy[0], xx[0]]
            O[y, x] = acc[0]


@T.prim_func
def running_box(A: T.Buffer((128, 1000), "float32"), O: T.Buffer((128, 985), "float32")):
    for r in range(128):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for x in range(16):
            s[0] += A[r, x]
        O[r, 0] = s[0] / 16.0
        for x in range(1, 985):
            s[0] = s[0] + A[r, x + 15] - A[r, x - 1]
            O[r, x] = s[0] / 16.0


@T.prim_func
def lcs_two_rows(A: T.Buffer((32, 200), "int32"), B: T.Buffer((32, 180), "int32"), L: T.Buffer((32,), "int32")):
    for b in range(32):
        R = T.alloc_buffer((2, 181), "int32")
        for j in range(181):
            R[0, j] = 0
            R[1, j] = 0
        for i in range(200):
            for j in range(180):
                if A[b, i] == B[b, j]:
                    R[(i + 1) % 2, j + 1] = R[i % 2, j] + 1
                else:
                    R[(i + 1) % 2, j + 1] = T.max(R[i % 2, j + 1], R[(i + 1) % 2, j])
        L[b] = R[0, 180]


@T.prim_func
def symv_upper(A: T.Buffer((500, 500), "float32"), x: T.Buffer((500,), "float32"), y: T.Buffer((500,), "float32")):
    for i in range(500):
        y[i] = 0.0
    for i in range(500):
        y[i] += A[i, i] * x[i]
        for j in range(i + 1, 500):
            y[i] += A[i, j] * x[j]
            y[j] += A[i, j] * x[i]


@T.prim_func
def interleaved_gemm(
    A: T.Buffer((64, 12, 48), "float32"), B: T.Buffer((64, 12, 56), "float32"), C: T.Buffer((48, 12, 56), "float32")
):
    for m, b, n in T.grid(48, 12, 56):
        C[m, b, n] = 0.0
    for k in range(64):
        for b in range(12):
            for m in range(48):
                a = A[k, b, m]
                if a != 0.0:
                    for n in range(56):
                        C[m, b, n] += a * B[k, b, n]


@T.prim_func
def flat_group_conv(
    X: T.Buffer((2, 32, 26, 26), "float32"),
    W: T.Buffer((48, 8, 3, 3), "float32"),
    Y: T.Buffer((2, 48, 24, 24), "float32"),
):
    for n in range(2):
        for g in range(4):
            for f in range(12):
                for y, x in T.grid(24, 24):
                    Y[n, g * 12 + f, y, x] = 0.0
                    for c in range(8):
                        for dy, dx in T.grid(3, 3):
                            Y[n, g * 12 + f, y, x] += X[n, g * 8 + c, y + dy, x + dx] * W[g * 12 + f, c, dy, dx]


@T.prim_func
def ceil_pool(X: T.Buffer((8, 16, 55, 55), "float32"), Y: T.Buffer((8, 16, 28, 28), "float32")):
    for n, c, y, x in T.grid(8, 16, 28, 28):
        Y[n, c, y, x] = -3.4028235e38
        for dy in range(3):
            for dx in range(3):
                if 2 * y + dy < 55 and 2 * x + dx < 55:
                    Y[n, c, y, x] = T.max(Y[n, c, y, x], X[n, c, 2 * y + dy, 2 * x + dx])


@T.prim_func
def batch_norm_nhwc(
    X: T.Buffer((8, 24, 24, 32), "float32"),
    g: T.Buffer((32,), "float32"),
    b: T.Buffer((32,), "float32"),
    Y: T.Buffer((8, 24, 24, 32), "float32"),
    mean: T.Buffer((32,), "float32"),
    var: T.Buffer((32,), "float32"),
):
    for c in range(32):
        mean[c] = 0.0
        var[c] = 0.0
    for n, y, x, c in T.grid(8, 24, 24, 32):
        mean[c] += X[n, y, x, c] / 4608.0
    for n, y, x, c in T.grid(8, 24, 24, 32):
        var[c] += (X[n, y, x, c] - mean[c]) * (X[n, y, x, c] - mean[c]) / 4608.0
    for n, y, x, c in T.grid(8, 24, 24, 32):
        Y[n, y, x, c] = T.max((X[n, y, x, c] - mean[c]) / T.sqrt(var[c] + 1e-5) * g[c] + b[c], 0.0)


@T.prim_func
def ignored_index_loss(
    L: T.Buffer((1000, 50), "float32"),
    y: T.Buffer((1000,), "int32"),
    w: T.Buffer((50,), "float32"),
    loss: T.Buffer((1,), "float32"),
):
    tot = T.alloc_buffer((1,), "float32")
    cnt = T.alloc_buffer((1,), "float32")
    tot[0] = 0.0
    cnt[0] = 0.0
    for i in range(1000):
        if y[i] != -100:
            m = T.alloc_buffer((1,), "float32")
            m[0] = L[i, 0]
            for c in range(1, 50):
                m[0] = T.max(m[0], L[i, c])
            z = T.alloc_buffer((1,), "float32")
            z[0] = 0.0
            for c in range(50):
                z[0] += T.exp(L[i, c] - m[0])
            tot[0] += w[y[i]] * (T.log(z[0]) + m[0] - L[i, y[i]])
            cnt[0] += w[y[i]]
    loss[0] = tot[0] / T.max(cnt[0], 1e-6)


@T.prim_func
def top_k_by_masking(
    X: T.Buffer((200, 100), "float32"), V: T.Buffer((200, 5), "float32"), I: T.Buffer((200, 5), "int32")
):
    for r in range(200):
        used = T.alloc_buffer((100,), "int32")
        for j in range(100):
            used[j] = 0
        for k in range(5):
            b = T.alloc_buffer((1,), "int32")
            v = T.alloc_buffer((1,), "float32")
            b[0] = 0
            v[0] = -1e30
            for j in range(100):
                if used[j] == 0 and X[r, j] > v[0]:
                    v[0] = X[r, j]
                    b[0] = j
            V[r, k] = v[0]
            I[r, k] = b[0]
            used[b[0]] = 1


@T.prim_func
def spd_solve(A: T.Buffer((64, 24, 24), "float32"), B: T.Buffer((64, 24), "float32"), X: T.Buffer((64, 24), "float32")):
    for b in range(64):
        L = T.alloc_buffer((24, 24), "float32")
        for j in range(24):
            d = T.alloc_buffer((1,), "float32")
            d[0] = A[b, j, j]
            for k in range(j):
                d[0] -= L[j, k] * L[j, k]
            L[j, j] = T.sqrt(d[0])
            for i in range(j + 1, 24):
                d[0] = A[b, i, j]
                for k in range(j):
                    d[0] -= L[i, k] * L[j, k]
                L[i, j] = d[0] / L[j, j]
        for i in range(24):
            X[b, i] = B[b, i]
            for k in range(i):
                X[b, i] -= L[i, k] * X[b, k]
            X[b, i] = X[b, i] / L[i, i]
        for ii in range(24):
            for k in range(24 - ii, 24):
                X[b, 23 - ii] -= L[k, 23 - ii] * X[b, k]
            X[b, 23 - ii] = X[b, 23 - ii] / L[23 - ii, 23 - ii]


@T.prim_func
def welch_psd(
    X: T.Buffer((4096,), "float32"),
    W: T.Buffer((128,), "float32"),
    C: T.Buffer((65, 128), "float32"),
    S: T.Buffer((65, 128), "float32"),
    P: T.Buffer((65,), "float32"),
):
    for f in range(65):
        P[f] = 0.0
    for s in range(63):
        for f in range(65):
            re = T.alloc_buffer((1,), "float32")
            im = T.alloc_buffer((1,), "float32")
            re[0] = 0.0
            im[0] = 0.0
            for t in range(128):
                re[0] += X[s * 64 + t] * W[t] * C[f, t]
                im[0] += X[s * 64 + t] * W[t] * S[f, t]
            P[f] += (re[0] * re[0] + im[0] * im[0]) / 63.0


@T.prim_func
def online_softmax_tiles(X: T.Buffer((300, 250), "float32"), Y: T.Buffer((300, 250), "float32")):
    for r in range(300):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        z[0] = 0.0
        for t in range(0, 250, 64):
            tm = T.alloc_buffer((1,), "float32")
            tm[0] = m[0]
            for c in range(t, T.min(t + 64, 250)):
                tm[0] = T.max(tm[0], X[r, c])
            z[0] = z[0] * T.exp(m[0] - tm[0])
            for c in range(t, T.min(t + 64, 250)):
                z[0] += T.exp(X[r, c] - tm[0])
            m[0] = tm[0]
        for c in range(250):
            Y[r, c] = T.exp(X[r, c] - m[0]) / z[0]


@T.prim_func
def fixed_resize(A: T.Buffer((60, 80, 3), "uint8"), O: T.Buffer((150, 200, 3), "uint8")):
    for y in range(150):
        sy = y * 819 // 2048
        fy = y * 819 % 2048
        for x in range(200):
            sx = x * 819 // 2048
            fx = x * 819 % 2048
            for c in range(3):
                y1 = T.min(sy + 1, 59)
                x1 = T.min(sx + 1, 79)
                top = (
                    T.cast(A[T.min(sy, 59), T.min(sx, 79), c], "int32") * (2048 - fx)
                    + T.cast(A[T.min(sy, 59), x1, c], "int32") * fx
                )
                bot = T.cast(A[y1, T.min(sx, 79), c], "int32") * (2048 - fx) + T.cast(A[y1, x1, c], "int32") * fx
                O[y, x, c] = T.cast(((top >> 4) * (2048 - fy) + (bot >> 4) * fy + (1 << 17)) >> 18, "uint8")


@T.prim_func
def sobel_nms(A: T.Buffer((130, 140), "float32"), E: T.Buffer((130, 140), "float32")):
    G = T.alloc_buffer((130, 140), "float32")
    D = T.alloc_buffer((130, 140), "int32")
    for i, j in T.grid(130, 140):
        G[i, j] = 0.0
        D[i, j] = 0
        E[i, j] = 0.0
    for i in range(1, 129):
        for j in range(1, 139):
            gx = (
                A[i - 1, j + 1]
                + 2.0 * A[i, j + 1]
                + A[i + 1, j + 1]
                - A[i - 1, j - 1]
                - 2.0 * A[i, j - 1]
                - A[i + 1, j - 1]
            )
            gy = (
                A[i + 1, j - 1]
                + 2.0 * A[i + 1, j]
                + A[i + 1, j + 1]
                - A[i - 1, j - 1]
                - 2.0 * A[i - 1, j]
                - A[i - 1, j + 1]
            )
            G[i, j] = T.sqrt(gx * gx + gy * gy)
            if T.abs(gy) > 2.414 * T.abs(gx):
                D[i, j] = 1
            else:
                if T.abs(gx) <= 2.414 * T.abs(gy):
                    if gx * gy > 0.0:
                        D[i, j] = 2
                    else:
                        D[i, j] = 3
    for i in range(1, 129):
        for j in range(1, 139):
            a = T.alloc_buffer((2,), "float32")
            if D[i, j] == 0:
                a[0] = G[i, j - 1]
                a[1] = G[i, j + 1]
            else:
                if D[i, j] == 1:
                    a[0] = G[i - 1, j]
                    a[1] = G[i + 1, j]
                else:
                    if D[i, j] == 2:
                        a[0] = G[i - 1, j - 1]
                        a[1] = G[i + 1, j + 1]
                    else:
                        a[0] = G[i - 1, j + 1]
                        a[1] = G[i + 1, j - 1]
            if G[i, j] >= a[0] and G[i, j] >= a[1] and G[i, j] > 1.0:
                E[i, j] = G[i, j]


@T.prim_func
def ranking_loss(S: T.Buffer((40, 60), "float32"), R: T.Buffer((40, 60), "int32"), L: T.Buffer((40,), "float32")):
    for q in range(40):
        n = T.alloc_buffer((1,), "int32")
        s = T.alloc_buffer((1,), "float32")
        n[0] = 0
        s[0] = 0.0
        for i in range(60):
            for j in range(60):
                if R[q, i] > R[q, j]:
                    n[0] = n[0] + 1
                    if S[q, i] - S[q, j] < 1.0:
                        s[0] += 1.0 - (S[q, i] - S[q, j])
        if n[0] > 0:
            L[q] = s[0] / T.cast(n[0], "float32")
        else:
            L[q] = 0.0


@T.prim_func
def cosine_matrix(
    A: T.Buffer((200, 96), "float32"), B: T.Buffer((150, 96), "float32"), S: T.Buffer((200, 150), "float32")
):
    for i in range(200):
        for j in range(150):
            ab = T.alloc_buffer((3,), "float32")
            for q in range(3):
                ab[q] = 0.0
            for k in range(96):
                ab[0] += A[i, k] * B[j, k]
                ab[1] += A[i, k] * A[i, k]
                ab[2] += B[j, k] * B[j, k]
            S[i, j] = ab[0] / (T.sqrt(ab[1]) * T.sqrt(ab[2]) + 1e-8)


@T.prim_func
def flat_lu(A: T.Buffer((10000,), "float32")):
    for k in range(100):
        for i in range(k + 1, 100):
            A[i * 100 + k] = A[i * 100 + k] / A[k * 100 + k]
            for j in range(k + 1, 100):
                A[i * 100 + j] = A[i * 100 + j] - A[i * 100 + k] * A[k * 100 + j]


@T.prim_func
def blocked_transpose_scale(A: T.Buffer((300, 260), "float32"), B: T.Buffer((260, 300), "float32")):
    for bi in range(19):
        for bj in range(17):
            tile = T.alloc_buffer((16, 16), "float32")
            for i in range(16):
                for j in range(16):
                    if bi * 16 + i < 300 and bj * 16 + j < 260:
                        tile[i, j] = A[bi * 16 + i, bj * 16 + j]
            for i in range(16):
                for j in range(16):
                    if bj * 16 + i < 260 and bi * 16 + j < 300:
                        B[bj * 16 + i, bi * 16 + j] = tile[j, i] * 0.5


@T.prim_func
def im2col_gemm(
    X: T.Buffer((16, 30, 30), "float32"), W: T.Buffer((32, 144), "float32"), Y: T.Buffer((32, 784), "float32")
):
    col = T.alloc_buffer((144, 784), "float32")
    for r in range(144):
        for p in range(784):
            col[r, p] = X[r // 9, p // 28 + r % 9 // 3, p % 28 + r % 3]
    for f in range(32):
        for p in range(784):
            Y[f, p] = 0.0
            for r in range(144):
                Y[f, p] += W[f, r] * col[r, p]


@T.prim_func
def pixel_hsv(A: T.Buffer((40000, 3), "float32"), O: T.Buffer((40000, 3), "float32")):
    for p in range(40000):
        mx = T.max(A[p, 0], T.max(A[p, 1], A[p, 2]))
        mn = T.min(A[p, 0], T.min(A[p, 1], A[p, 2]))
        d = mx - mn
        h = T.alloc_buffer((1,), "float32")
        if d == 0.0:
            h[0] = 0.0
        else:
            if mx == A[p, 0]:
                h[0] = (A[p, 1] - A[p, 2]) / d
                if h[0] < 0.0:
                    h[0] = h[0] + 6.0
            else:
                if mx == A[p, 1]:
                    h[0] = (A[p, 2] - A[p, 0]) / d + 2.0
                else:
                    h[0] = (A[p, 0] - A[p, 1]) / d + 4.0
        O[p, 0] = h[0] * 60.0
        O[p, 1] = T.if_then_else(mx == 0.0, T.float32(0.0), d / mx)
        O[p, 2] = mx


@T.prim_func
def double_buffered_rnn(
    X: T.Buffer((16, 60, 24), "float32"),
    W: T.Buffer((24, 32), "float32"),
    U: T.Buffer((32, 32), "float32"),
    H: T.Buffer((2, 16, 32), "float32"),
    O: T.Buffer((16, 32), "float32"),
):
    for b, j in T.grid(16, 32):
        H[0, b, j] = 0.0
    for t in range(60):
        for b, j in T.grid(16, 32):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for k in range(24):
                s[0] += X[b, t, k] * W[k, j]
            for k in range(32):
                s[0] += H[t & 1, b, k] * U[k, j]
            H[1 - (t & 1), b, j] = T.tanh(s[0])
    for b, j in T.grid(16, 32):
        O[b, j] = H[0, b, j]


@T.prim_func
def column_scans_in_place(A: T.Buffer((400, 300), "float32")):
    for j in range(300):
        for i in range(1, 400):
            if A[i, j] < A[i - 1, j]:
                A[i, j] = A[i - 1, j]


@T.prim_func
def strided_views(X: T.Buffer((64, 4800), "float32"), O: T.Buffer((64, 3, 1600), "float32")):
    for b in range(64):
        for i in range(4800):
            if i % 3 == 0:
                O[b, 0, i // 3] = X[b, i] * 0.299
            else:
                if i % 3 == 1:
                    O[b, 1, i // 3] = X[b, i] * 0.587
                else:
                    O[b, 2, i // 3] = X[b, i] * 0.114


@T.prim_func
def padded_copy_conv(
    X: T.Buffer((8, 30, 30), "float32"), W: T.Buffer((16, 8, 3, 3), "float32"), Y: T.Buffer((16, 30, 30), "float32")
):
    P = T.alloc_buffer((8, 32, 32), "float32")
    for c, i, j in T.grid(8, 32, 32):
        P[c, i, j] = 0.0
    for c, i, j in T.grid(8, 30, 30):
        P[c, i + 1, j + 1] = X[c, i, j]
    for f in range(16):
        for i in range(30):
            for j in range(30):
                Y[f, i, j] = 0.0
        for c in range(8):
            for u in range(3):
                for v in range(3):
                    w = W[f, c, u, v]
                    for i in range(30):
                        for j in range(30):
                            Y[f, i, j] += w * P[c, i + u, j + v]


@T.prim_func
def tree_sum(X: T.Buffer((100, 1024), "float32"), S: T.Buffer((100,), "float32")):
    A = T.alloc_buffer((100, 1024), "float32")
    for r in range(100):
        for i in range(1024):
            A[r, i] = X[r, i]
        for lvl in range(10):
            for i in range(512 >> lvl):
                A[r, i] = A[r, i] + A[r, i + (512 >> lvl)]
        S[r] = A[r, 0]


@T.prim_func
def hillis_steele(X: T.Buffer((64, 512), "float32")):
    Y = T.alloc_buffer((64, 512), "float32")
    for r in range(64):
        for d in range(9):
            for i in range(512):
                if i >= (1 << d):
                    Y[r, i] = X[r, i] + X[r, i - (1 << d)]
                else:
                    Y[r, i] = X[r, i]
            for i in range(512):
                X[r, i] = Y[r, i]


@T.prim_func
def outer_product_gemm(
    A: T.Buffer((200, 120), "float32"), B: T.Buffer((120, 160), "float32"), C: T.Buffer((200, 160), "float32")
):
    for i in range(200):
        for j in range(160):
            C[i, j] = 0.0
    for k in range(120):
        for i in range(200):
            for j in range(160):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


@T.prim_func
def reverse_rows(A: T.Buffer((300, 400), "float32")):
    for i in range(300):
        for j in range(200):
            t = A[i, j]
            A[i, j] = A[i, 399 - j]
            A[i, 399 - j] = t


@T.prim_func
def transpose_in_place(A: T.Buffer((300, 300), "float32")):
    for i in range(300):
        for j in range(i):
            t = A[i, j]
            A[i, j] = A[j, i]
            A[j, i] = t


@T.prim_func
def find_substring(S: T.Buffer((200, 300), "int32"), P: T.Buffer((5,), "int32"), at: T.Buffer((200,), "int32")):
    for r in range(200):
        at[r] = -1
        for i in range(296):
            if at[r] < 0:
                ok = T.alloc_buffer((1,), "bool")
                ok[0] = True
                for k in range(5):
                    if S[r, i + k] != P[k]:
                        ok[0] = False
                if ok[0]:
                    at[r] = i


@T.prim_func
def prefix_image(A: T.Buffer((200, 240), "float32"), S: T.Buffer((201, 241), "float32")):
    for i in range(201):
        S[i, 0] = 0.0
    for j in range(241):
        S[0, j] = 0.0
    for i in range(1, 201):
        row = T.alloc_buffer((1,), "float32")
        row[0] = 0.0
        for j in range(1, 241):
            row[0] = row[0] + A[i - 1, j - 1]
            S[i, j] = S[i - 1, j] + row[0]


@T.prim_func
def col_major_stats(
    A: T.Buffer((500, 64), "float32"),
    M: T.Buffer((64,), "float32"),
    V: T.Buffer((64,), "float32"),
    Z: T.Buffer((500, 64), "float32"),
):
    for j in range(64):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for i in range(500):
            s[0] = s[0] + A[i, j]
        M[j] = s[0] / 500.0
        s[0] = 0.0
        for i in range(500):
            d = A[i, j] - M[j]
            s[0] = s[0] + d * d
        V[j] = T.sqrt(s[0] / 499.0)
        for i in range(500):
            if V[j] > 0.0:
                Z[i, j] = (A[i, j] - M[j]) / V[j]
            else:
                Z[i, j] = 0.0


@T.prim_func
def pooling_with_counts(A: T.Buffer((16, 61, 61), "float32"), O: T.Buffer((16, 31, 31), "float32")):
    for c in range(16):
        for i in range(31):
            for j in range(31):
                h0 = T.max(2 * i - 1, 0)
                h1 = T.min(2 * i + 2, 61)
                w0 = T.max(2 * j - 1, 0)
                w1 = T.min(2 * j + 2, 61)
                s = T.alloc_buffer((1,), "float32")
                s[0] = 0.0
                for h in range(h0, h1):
                    for w in range(w0, w1):
                        s[0] = s[0] + A[c, h, w]
                O[c, i, j] = s[0] / T.cast((h1 - h0) * (w1 - w0), "float32")


@T.prim_func
def clipped_bilateral(A: T.Buffer((80, 90), "float32"), O: T.Buffer((80, 90), "float32")):
    for i in range(80):
        for j in range(90):
            n = T.alloc_buffer((1,), "float32")
            z = T.alloc_buffer((1,), "float32")
            n[0] = 0.0
            z[0] = 0.0
            for p in range(T.max(0, i - 2), T.min(80, i + 3)):
                for q in range(T.max(0, j - 2), T.min(90, j + 3)):
                    d = A[p, q] - A[i, j]
                    w = T.exp(-0.5 * d * d - 0.125 * T.cast((p - i) * (p - i) + (q - j) * (q - j), "float32"))
                    n[0] += w * A[p, q]
                    z[0] += w
            O[i, j] = n[0] / z[0]


@T.prim_func
def flat_sobel(A: T.Buffer((19200,), "float32"), O: T.Buffer((19200,), "float32")):
    for k in range(19200):
        O[k] = 0.0
    for y in range(1, 119):
        for x in range(1, 159):
            p = y * 160 + x
            gx = A[p - 159] + 2.0 * A[p + 1] + A[p + 161] - A[p - 161] - 2.0 * A[p - 1] - A[p + 159]
            gy = A[p + 159] + 2.0 * A[p + 160] + A[p + 161] - A[p - 161] - 2.0 * A[p - 160] - A[p - 159]
            O[p] = T.sqrt(gx * gx + gy * gy)


@T.prim_func
def flat_pixels(A: T.Buffer((57600,), "uint8"), O: T.Buffer((57600,), "uint8")):
    for p in range(19200):
        r = T.cast(A[3 * p], "int32")
        g = T.cast(A[3 * p + 1], "int32")
        b = T.cast(A[3 * p + 2], "int32")
        y = (77 * r + 150 * g + 29 * b) >> 8
        for c in range(3):
            O[3 * p + c] = T.cast(T.min(T.max(y + (T.cast(A[3 * p + c], "int32") - y) * 3 // 2, 0), 255), "uint8")


@T.prim_func
def lower_solve_many(L: T.Buffer((60, 60), "float32"), B: T.Buffer((60, 200), "float32")):
    for j in range(200):
        for i in range(60):
            for k in range(i):
                B[i, j] = B[i, j] - L[i, k] * B[k, j]
            B[i, j] = B[i, j] / L[i, i]


@T.prim_func
def euclid_to_all(P: T.Buffer((400, 8), "float32"), D: T.Buffer((400, 400), "float32")):
    for i in range(400):
        D[i, i] = 0.0
        for j in range(i + 1, 400):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for k in range(8):
                s[0] += (P[i, k] - P[j, k]) * (P[i, k] - P[j, k])
            D[i, j] = T.sqrt(s[0])
            D[j, i] = D[i, j]


@T.prim_func
def nearest_two(P: T.Buffer((300, 3), "float32"), N: T.Buffer((300, 2), "int32")):
    for i in range(300):
        b0 = T.alloc_buffer((1,), "float32")
        b1 = T.alloc_buffer((1,), "float32")
        b0[0] = 1e30
        b1[0] = 1e30
        N[i, 0] = -1
        N[i, 1] = -1
        for j in range(300):
            if j != i:
                d = (
                    (P[i, 0] - P[j, 0]) * (P[i, 0] - P[j, 0])
                    + (P[i, 1] - P[j, 1]) * (P[i, 1] - P[j, 1])
                    + (P[i, 2] - P[j, 2]) * (P[i, 2] - P[j, 2])
                )
                if d < b0[0]:
                    b1[0] = b0[0]
                    N[i, 1] = N[i, 0]
                    b0[0] = d
                    N[i, 0] = j
                elif d < b1[0]:
                    b1[0] = d
                    N[i, 1] = j


@T.prim_func
def bucket_by_row(
    R: T.Buffer((4000,), "int32"),
    V: T.Buffer((4000,), "float32"),
    start: T.Buffer((101,), "int32"),
    O: T.Buffer((4000,), "float32"),
):
    cnt = T.alloc_buffer((100,), "int32")
    for k in range(4000):
        T.assume(R[k] >= 0 and R[k] < 100)
    for r in range(100):
        cnt[r] = 0
    for k in range(4000):
        cnt[R[k]] += 1
    start[0] = 0
    for r in range(100):
        start[r + 1] = start[r] + cnt[r]
        cnt[r] = start[r]
    for k in range(4000):
        O[cnt[R[k]]] = V[k]
        cnt[R[k]] += 1


@T.prim_func
def masked_mean_rows(
    A: T.Buffer((400, 200), "float32"), M: T.Buffer((400, 200), "bool"), O: T.Buffer((400,), "float32")
):
    for i in range(400):
        s = T.alloc_buffer((1,), "float32")
        n = T.alloc_buffer((1,), "int32")
        s[0] = 0.0
        n[0] = 0
        for j in range(200):
            if not M[i, j]:
                s[0] += A[i, j]
                n[0] += 1
        if n[0] == 0:
            O[i] = 0.0
        else:
            O[i] = s[0] / T.cast(n[0], "float32")


@T.prim_func
def unrolled_saxpy_tail(x: T.Buffer((10003,), "float32"), y: T.Buffer((10003,), "float32")):
    for i in range(2500):
        y[4 * i] += 2.5 * x[4 * i]
        y[4 * i + 1] += 2.5 * x[4 * i + 1]
        y[4 * i + 2] += 2.5 * x[4 * i + 2]
        y[4 * i + 3] += 2.5 * x[4 * i + 3]
    for i in range(10000, 10003):
        y[i] += 2.5 * x[i]


@T.prim_func
def heat_two_arrays(U: T.Buffer((150, 150), "float32"), V: T.Buffer((150, 150), "float32")):
    for t in range(20):
        for i in range(1, 149):
            for j in range(1, 149):
                V[i, j] = U[i, j] + 0.2 * (U[i - 1, j] + U[i + 1, j] + U[i, j - 1] + U[i, j + 1] - 4.0 * U[i, j])
        for i in range(1, 149):
            for j in range(1, 149):
                U[i, j] = V[i, j] + 0.2 * (V[i - 1, j] + V[i + 1, j] + V[i, j - 1] + V[i, j + 1] - 4.0 * V[i, j])


@T.prim_func
def three_pass_blur(A: T.Buffer((3, 100, 120), "float32")):
    t = T.alloc_buffer((100, 120), "float32")
    for c in range(3):
        for p in range(3):
            for y in range(100):
                for x in range(120):
                    s = T.alloc_buffer((1,), "float32")
                    s[0] = 0.0
                    for d in range(-2, 3):
                        s[0] += A[c, y, T.min(T.max(x + d, 0), 119)]
                    t[y, x] = s[0] / 5.0
            for y in range(100):
                for x in range(120):
                    s = T.alloc_buffer((1,), "float32")
                    s[0] = 0.0
                    for d in range(-2, 3):
                        s[0] += t[T.min(T.max(y + d, 0), 99), x]
                    A[c, y, x] = s[0] / 5.0


@T.prim_func
def gathered_rows_mean(
    E: T.Buffer((1000, 48), "float32"),
    idx: T.Buffer((200, 20), "int32"),
    n: T.Buffer((200,), "int32"),
    O: T.Buffer((200, 48), "float32"),
):
    for b in range(200):
        T.assume(n[b] >= 0 and n[b] <= 20)
    for b, k in T.grid(200, 20):
        T.assume(idx[b, k] >= 0 and idx[b, k] < 1000)
    for b in range(200):
        for d in range(48):
            O[b, d] = 0.0
        for k in range(n[b]):
            for d in range(48):
                O[b, d] += E[idx[b, k], d]
        if n[b] > 0:
            for d in range(48):
                O[b, d] = O[b, d] / T.cast(n[b], "float32")


@T.prim_func
def swap_sort_pairs(K: T.Buffer((128, 64), "float32"), V: T.Buffer((128, 64), "int32")):
    for r in range(128):
        for i in range(63):
            for j in range(63 - i):
                if K[r, j] > K[r, j + 1]:
                    a = K[r, j]
                    K[r, j] = K[r, j + 1]
                    K[r, j + 1] = a
                    b = V[r, j]
                    V[r, j] = V[r, j + 1]
                    V[r, j + 1] = b


@T.prim_func
def monte_carlo_payoff(
    Z: T.Buffer((2000, 32), "float32"), S: T.Buffer((2000,), "float32"), out: T.Buffer((2,), "float32")
):
    out[0] = 0.0
    out[1] = 0.0
    for p in range(2000):
        s = T.alloc_buffer((1,), "float32")
        m = T.alloc_buffer((1,), "float32")
        s[0] = S[p]
        m[0] = S[p]
        for t in range(32):
            s[0] = s[0] * T.exp(-0.0002 + 0.02 * Z[p, t])
            if s[0] > m[0]:
                m[0] = s[0]
        pay = T.max(m[0] - 1.05, 0.0)
        out[0] = out[0] + pay / 2000.0
        out[1] = out[1] + pay * pay / 2000.0


@T.prim_func
def stencil_27(
    U: T.Buffer((40, 40, 40), "float32"), V: T.Buffer((40, 40, 40), "float32"), w: T.Buffer((4,), "float32")
):
    for i in range(1, 39):
        for j in range(1, 39):
            for k in range(1, 39):
                s = T.alloc_buffer((1,), "float32")
                s[0] = 0.0
                for a in range(-1, 2):
                    for b in range(-1, 2):
                        for c in range(-1, 2):
                            s[0] += w[T.abs(a) + T.abs(b) + T.abs(c)] * U[i + a, j + b, k + c]
                V[i, j, k] = s[0]


@T.prim_func
def blocked_attention_rows(
    Q: T.Buffer((96, 32), "float32"),
    K: T.Buffer((100, 32), "float32"),
    V: T.Buffer((100, 32), "float32"),
    O: T.Buffer((96, 32), "float32"),
):
    for i in range(96):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        acc = T.alloc_buffer((32,), "float32")
        m[0] = -1e30
        z[0] = 0.0
        for d in range(32):
            acc[d] = 0.0
        for jb in range(0, 100, 16):
            s = T.alloc_buffer((16,), "float32")
            mn = T.alloc_buffer((1,), "float32")
            mn[0] = m[0]
            for j in range(jb, T.min(jb + 16, 100)):
                s[j - jb] = 0.0
                for d in range(32):
                    s[j - jb] += Q[i, d] * K[j, d]
                mn[0] = T.max(mn[0], s[j - jb])
            scale = T.exp(m[0] - mn[0])
            z[0] = z[0] * scale
            for d in range(32):
                acc[d] = acc[d] * scale
            for j in range(jb, T.min(jb + 16, 100)):
                p = T.exp(s[j - jb] - mn[0])
                z[0] += p
                for d in range(32):
                    acc[d] += p * V[j, d]
            m[0] = mn[0]
        for d in range(32):
            O[i, d] = acc[d] / z[0]


@T.prim_func
def full_convolution(A: T.Buffer((300,), "float32"), B: T.Buffer((200,), "float32"), O: T.Buffer((499,), "float32")):
    for k in range(499):
        O[k] = 0.0
        for i in range(T.max(0, k - 199), T.min(k + 1, 300)):
            O[k] += A[i] * B[k - i]


@T.prim_func
def newton_pairs(P: T.Buffer((200, 3), "float32"), F: T.Buffer((200, 3), "float32")):
    for i, c in T.grid(200, 3):
        F[i, c] = 0.0
    for i in range(200):
        for j in range(i + 1, 200):
            dx = P[j, 0] - P[i, 0]
            dy = P[j, 1] - P[i, 1]
            dz = P[j, 2] - P[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 0.01
            f = 1.0 / (r2 * T.sqrt(r2))
            F[i, 0] += f * dx
            F[i, 1] += f * dy
            F[i, 2] += f * dz
            F[j, 0] -= f * dx
            F[j, 1] -= f * dy
            F[j, 2] -= f * dz


@T.prim_func
def banded_matvec(A: T.Buffer((500, 9), "float32"), x: T.Buffer((500,), "float32"), y: T.Buffer((500,), "float32")):
    for i in range(500):
        y[i] = 0.0
        for j in range(T.max(0, i - 4), T.min(500, i + 5)):
            y[i] += A[i, j - i + 4] * x[j]


@T.prim_func
def banded_lu(A: T.Buffer((200, 200), "float32")):
    for k in range(200):
        for i in range(k + 1, T.min(200, k + 6)):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, T.min(200, k + 6)):
                A[i, j] -= A[i, k] * A[k, j]


@T.prim_func
def near_pairs(X: T.Buffer((300, 16), "float32"), S: T.Buffer((300,), "float32")):
    for i in range(300):
        S[i] = 0.0
        for j in range(300):
            if j != i and T.abs(i - j) <= 5:
                d = T.alloc_buffer((1,), "float32")
                d[0] = 0.0
                for k in range(16):
                    d[0] += X[i, k] * X[j, k]
                S[i] += T.exp(d[0] * 0.1)


@T.prim_func
def diagonal_sums(A: T.Buffer((150, 170), "float32"), O: T.Buffer((319,), "float32")):
    for s in range(319):
        O[s] = 0.0
        for i in range(T.max(0, s - 169), T.min(s + 1, 150)):
            O[s] += A[i, s - i]


@T.prim_func
def tsp_masks(C: T.Buffer((10, 10), "float32"), D: T.Buffer((1024, 10), "float32")):
    for m, j in T.grid(1024, 10):
        D[m, j] = 1e9
    D[1, 0] = 0.0
    for m in range(1, 1024):
        for j in range(10):
            if ((m >> j) & 1) == 1:
                for k in range(10):
                    if ((m >> k) & 1) == 0:
                        if D[m, j] + C[j, k] < D[m | (1 << k), k]:
                            D[m | (1 << k), k] = D[m, j] + C[j, k]


@T.prim_func
def triples(X: T.Buffer((60,), "float32"), O: T.Buffer((1,), "float32")):
    O[0] = 0.0
    for i in range(60):
        for j in range(i + 1, 60):
            for k in range(j + 1, 60):
                O[0] += X[i] * X[j] * X[k]


@T.prim_func
def lagged_products(X: T.Buffer((16, 1000), "float32"), R: T.Buffer((16, 32), "float32")):
    for c in range(16):
        for lag in range(32):
            R[c, lag] = 0.0
            for t in range(1000 - lag):
                R[c, lag] += X[c, t] * X[c, t + lag]


@T.prim_func
def syrk_mirror(A: T.Buffer((150, 60), "float32"), C: T.Buffer((150, 150), "float32")):
    for i in range(150):
        for j in range(i + 1):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for k in range(60):
                s[0] += A[i, k] * A[j, k]
            C[i, j] = s[0]
            C[j, i] = s[0]


@T.prim_func
def naive_dft(
    X: T.Buffer((8, 128), "float32"),
    Tc: T.Buffer((128,), "float32"),
    Ts: T.Buffer((128,), "float32"),
    P: T.Buffer((8, 65), "float32"),
):
    for c in range(8):
        for f in range(65):
            re = T.alloc_buffer((1,), "float32")
            im = T.alloc_buffer((1,), "float32")
            re[0] = 0.0
            im[0] = 0.0
            for t in range(128):
                re[0] += X[c, t] * Tc[f * t % 128]
                im[0] -= X[c, t] * Ts[f * t % 128]
            P[c, f] = re[0] * re[0] + im[0] * im[0]


@T.prim_func
def upsample_fir(X: T.Buffer((32, 500), "float32"), H: T.Buffer((15,), "float32"), Y: T.Buffer((32, 1000), "float32")):
    U = T.alloc_buffer((32, 1000), "float32")
    for c, i in T.grid(32, 1000):
        U[c, i] = 0.0
    for c, i in T.grid(32, 500):
        U[c, 2 * i] = X[c, i] * 2.0
    for c in range(32):
        for i in range(1000):
            Y[c, i] = 0.0
            for k in range(15):
                if i - k + 7 >= 0 and i - k + 7 < 1000:
                    Y[c, i] += H[k] * U[c, i - k + 7]


@T.prim_func
def clipped_conv2d(
    X: T.Buffer((4, 40, 40), "float32"), W: T.Buffer((8, 4, 5, 5), "float32"), Y: T.Buffer((8, 40, 40), "float32")
):
    for f in range(8):
        for y in range(40):
            for x in range(40):
                Y[f, y, x] = 0.0
                for c in range(4):
                    for v in range(T.max(0, 2 - y), T.min(5, 42 - y)):
                        for u in range(T.max(0, 2 - x), T.min(5, 42 - x)):
                            Y[f, y, x] += X[c, y + v - 2, x + u - 2] * W[f, c, v, u]


@T.prim_func
def clipped_dilate(A: T.Buffer((120, 130), "int32"), O: T.Buffer((120, 130), "int32")):
    for y in range(120):
        for x in range(130):
            best = T.alloc_buffer((1,), "int32")
            best[0] = 0
            for yy in range(T.max(y - 1, 0), T.min(y + 1, 119) + 1):
                for xx in range(T.max(x - 1, 0), T.min(x + 1, 129) + 1):
                    if A[yy, xx] > best[0]:
                        best[0] = A[yy, xx]
            O[y, x] = best[0]


@T.prim_func
def block_maxima(X: T.Buffer((50, 1000), "float32"), M: T.Buffer((50, 16), "float32"), I: T.Buffer((50, 16), "int32")):
    for r in range(50):
        for b in range(16):
            M[r, b] = -1e30
            I[r, b] = -1
            for i in range(b * 63, T.min((b + 1) * 63, 1000)):
                if X[r, i] > M[r, b]:
                    M[r, b] = X[r, i]
                    I[r, b] = i


@T.prim_func
def ragged_tiles_copy(A: T.Buffer((130, 200), "float32"), B: T.Buffer((200, 130), "float32")):
    for ib in range(0, 130, 32):
        for jb in range(0, 200, 32):
            for i in range(ib, T.min(ib + 32, 130)):
                for j in range(jb, T.min(jb + 32, 200)):
                    B[j, i] = A[i, j] * 2.0


@T.prim_func
def local_mean_filter(A: T.Buffer((150, 160), "float32"), O: T.Buffer((150, 160), "float32")):
    for y in range(150):
        for x in range(160):
            y0 = T.max(y - 4, 0)
            y1 = T.min(y + 4, 149)
            x0 = T.max(x - 4, 0)
            x1 = T.min(x + 4, 159)
            s = T.alloc_buffer((1,), "float32")
            n = T.alloc_buffer((1,), "int32")
            s[0] = 0.0
            n[0] = 0
            for yy in range(y0, y1 + 1):
                for xx in range(x0, x1 + 1):
                    s[0] += A[yy, xx]
                    n[0] += 1
            O[y, x] = A[y, x] - s[0] / T.cast(n[0], "float32")


@T.prim_func
def knn_density(P: T.Buffer((250, 2), "float32"), D: T.Buffer((250,), "int32")):
    for i in range(250):
        D[i] = 0
    for i in range(250):
        for j in range(i):
            if (P[i, 0] - P[j, 0]) * (P[i, 0] - P[j, 0]) + (P[i, 1] - P[j, 1]) * (P[i, 1] - P[j, 1]) < 0.25:
                D[i] += 1
                D[j] += 1


@T.prim_func
def shifted_add_reverse(C: T.Buffer((64, 129), "float32"), r: T.Buffer((64, 128), "float32")):
    for b in range(64):
        for k in range(128):
            for i in range(k + 1):
                C[b, k + 1 - i] = C[b, k + 1 - i] - r[b, k] * C[b, k - i]


@T.prim_func
def smooth_n_times(A: T.Buffer((64, 300), "float32")):
    for it in range(10):
        prev = T.alloc_buffer((1,), "float32")
        for r in range(64):
            prev[0] = A[r, 0]
            for i in range(1, 299):
                cur = A[r, i]
                A[r, i] = 0.25 * prev[0] + 0.5 * cur + 0.25 * A[r, i + 1]
                prev[0] = cur


@T.prim_func
def causal_windows(X: T.Buffer((200, 32), "float32"), W: T.Buffer((32,), "float32"), O: T.Buffer((200, 32), "float32")):
    for t in range(200):
        z = T.alloc_buffer((1,), "float32")
        z[0] = 0.0
        for d in range(32):
            O[t, d] = 0.0
        for s in range(T.max(0, t - 15), t + 1):
            a = T.alloc_buffer((1,), "float32")
            a[0] = 0.0
            for d in range(32):
                a[0] += X[s, d] * W[d]
            e = T.exp(a[0] * 0.1)
            z[0] += e
            for d in range(32):
                O[t, d] += e * X[s, d]
        for d in range(32):
            O[t, d] = O[t, d] / z[0]


@T.prim_func
def rotate_square(A: T.Buffer((128, 128), "float32")):
    for i in range(64):
        for j in range(64):
            t = A[i, j]
            A[i, j] = A[127 - j, i]
            A[127 - j, i] = A[127 - i, 127 - j]
            A[127 - i, 127 - j] = A[j, 127 - i]
            A[j, 127 - i] = t


@T.prim_func
def correlation_volume(
    A: T.Buffer((16, 40, 48), "float32"), B: T.Buffer((16, 40, 48), "float32"), V: T.Buffer((7, 7, 40, 48), "float32")
):
    for dy, dx in T.grid(7, 7):
        for y, x in T.grid(40, 48):
            V[dy, dx, y, x] = 0.0
            yy = y + dy - 3
            xx = x + dx - 3
            if yy >= 0 and yy < 40 and xx >= 0 and xx < 48:
                for c in range(16):
                    V[dy, dx, y, x] += A[c, y, x] * B[c, yy, xx]


@T.prim_func
def polynomial_features(X: T.Buffer((500, 12), "float32"), F: T.Buffer((500, 90), "float32")):
    for n in range(500):
        k = T.alloc_buffer((1,), "int32")
        for a in range(12):
            F[n, a] = X[n, a]
        k[0] = 12
        for a in range(12):
            for b in range(a, 12):
                F[n, k[0]] = X[n, a] * X[n, b]
                k[0] = k[0] + 1


@T.prim_func
def block_diagonal_product(
    A: T.Buffer((10, 24, 24), "float32"), X: T.Buffer((240, 30), "float32"), Y: T.Buffer((240, 30), "float32")
):
    for i in range(240):
        for c in range(30):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for j in range(24):
                s[0] = s[0] + A[i // 24, i % 24, j] * X[i // 24 * 24 + j, c]
            Y[i, c] = s[0]


@T.prim_func
def masked_statistics(
    X: T.Buffer((100, 200), "float32"),
    M: T.Buffer((100, 200), "bool"),
    mean: T.Buffer((100,), "float32"),
    var: T.Buffer((100,), "float32"),
):
    for r in range(100):
        n = T.alloc_buffer((1,), "float32")
        n[0] = 0.0
        mean[r] = 0.0
        var[r] = 0.0
        for c in range(200):
            if M[r, c]:
                n[0] += 1.0
                mean[r] += X[r, c]
        if n[0] > 0.0:
            mean[r] = mean[r] / n[0]
            for c in range(200):
                if M[r, c]:
                    var[r] += (X[r, c] - mean[r]) * (X[r, c] - mean[r])
            var[r] = var[r] / n[0]


@T.prim_func
def ring_fir(X: T.Buffer((2000,), "float32"), H: T.Buffer((24,), "float32"), Y: T.Buffer((2000,), "float32")):
    ring = T.alloc_buffer((24,), "float32")
    at = T.alloc_buffer((1,), "int32")
    at[0] = 0
    for k in range(24):
        ring[k] = 0.0
    for t in range(2000):
        ring[at[0]] = X[t]
        Y[t] = 0.0
        for k in range(24):
            Y[t] += H[k] * ring[(at[0] - k + 24) % 24]
        at[0] = at[0] + 1
        if at[0] == 24:
            at[0] = 0


@T.prim_func
def natural_spline(x: T.Buffer((200,), "float32"), y: T.Buffer((200,), "float32"), M: T.Buffer((200,), "float32")):
    u = T.alloc_buffer((200,), "float32")
    M[0] = 0.0
    u[0] = 0.0
    for i in range(1, 199):
        sig = (x[i] - x[i - 1]) / (x[i + 1] - x[i - 1])
        p = sig * M[i - 1] + 2.0
        M[i] = (sig - 1.0) / p
        d = (y[i + 1] - y[i]) / (x[i + 1] - x[i]) - (y[i] - y[i - 1]) / (x[i] - x[i - 1])
        u[i] = (6.0 * d / (x[i + 1] - x[i - 1]) - sig * u[i - 1]) / p
    M[199] = 0.0
    for k in range(199):
        M[198 - k] = M[198 - k] * M[199 - k] + u[198 - k]


@T.prim_func
def mesh_laplacian(V: T.Buffer((800, 3), "float32"), N: T.Buffer((800, 8), "int32"), L: T.Buffer((800, 3), "float32")):
    for v in range(800):
        for k in range(8):
            T.assume(N[v, k] >= -1)
            T.assume(N[v, k] < 800)
    for v in range(800):
        d = T.alloc_buffer((1,), "int32")
        d[0] = 0
        for c in range(3):
            L[v, c] = 0.0
        for k in range(8):
            if N[v, k] >= 0:
                d[0] = d[0] + 1
                for c in range(3):
                    L[v, c] = L[v, c] + V[N[v, k], c]
        for c in range(3):
            if d[0] > 0:
                L[v, c] = L[v, c] / T.cast(d[0], "float32") - V[v, c]


@T.prim_func
def aligned_bilinear(A: T.Buffer((40, 50), "float32"), O: T.Buffer((97, 121), "float32")):
    for y, x in T.grid(97, 121):
        fy = T.cast(y, "float32") * (39.0 / 96.0)
        fx = T.cast(x, "float32") * (49.0 / 120.0)
        y0 = T.min(T.cast(T.floor(fy), "int32"), 39)
        x0 = T.min(T.cast(T.floor(fx), "int32"), 49)
        y1 = T.min(y0 + 1, 39)
        x1 = T.min(x0 + 1, 49)
        a = fy - T.cast(y0, "float32")
        b = fx - T.cast(x0, "float32")
        O[y, x] = (1.0 - a) * ((1.0 - b) * A[y0, x0] + b * A[y0, x1]) + a * ((1.0 - b) * A[y1, x0] + b * A[y1, x1])


@T.prim_func
def global_and_window_attention(
    Q: T.Buffer((160, 16), "float32"),
    K: T.Buffer((160, 16), "float32"),
    V: T.Buffer((160, 16), "float32"),
    O: T.Buffer((160, 16), "float32"),
):
    for i in range(160):
        z = T.alloc_buffer((1,), "float32")
        z[0] = 0.0
        for c in range(16):
            O[i, c] = 0.0
        for j in range(160):
            if j < 4 or (j >= i - 8 and j <= i + 8):
                s = T.alloc_buffer((1,), "float32")
                s[0] = 0.0
                for c in range(16):
                    s[0] += Q[i, c] * K[j, c]
                e = T.exp(s[0] * 0.25)
                z[0] += e
                for c in range(16):
                    O[i, c] += e * V[j, c]
        for c in range(16):
            O[i, c] /= z[0]


@T.prim_func
def cumulative_max_2d(A: T.Buffer((120, 140), "float32"), M: T.Buffer((120, 140), "float32")):
    for i in range(120):
        for j in range(140):
            M[i, j] = A[i, j]
            if i > 0:
                M[i, j] = T.max(M[i, j], M[i - 1, j])
            if j > 0:
                M[i, j] = T.max(M[i, j], M[i, j - 1])


@T.prim_func
def hankel_product(h: T.Buffer((399,), "float32"), x: T.Buffer((200,), "float32"), y: T.Buffer((200,), "float32")):
    H = T.alloc_buffer((200, 200), "float32")
    for i in range(200):
        for j in range(200):
            H[i, j] = h[i + j]
    for i in range(200):
        y[i] = 0.0
        for j in range(200):
            y[i] = y[i] + H[i, j] * x[j]


@T.prim_func
def vandermonde_fit_terms(
    x: T.Buffer((300,), "float32"),
    y: T.Buffer((300,), "float32"),
    N: T.Buffer((6, 6), "float32"),
    r: T.Buffer((6,), "float32"),
):
    P = T.alloc_buffer((300, 6), "float32")
    for i in range(300):
        P[i, 0] = 1.0
        for k in range(1, 6):
            P[i, k] = P[i, k - 1] * x[i]
    for a, b in T.grid(6, 6):
        N[a, b] = 0.0
        for i in range(300):
            N[a, b] += P[i, a] * P[i, b]
    for a in range(6):
        r[a] = 0.0
        for i in range(300):
            r[a] += P[i, a] * y[i]


@T.prim_func
def four_index(
    A: T.Buffer((12, 20, 14, 18), "float32"), B: T.Buffer((20, 18, 9), "float32"), C: T.Buffer((9, 12, 14), "float32")
):
    for m in range(9):
        for i in range(12):
            for k in range(14):
                C[m, i, k] = 0.0
    for j in range(20):
        for l in range(18):
            for i in range(12):
                for k in range(14):
                    for m in range(9):
                        C[m, i, k] += A[i, j, k, l] * B[j, l, m]


@T.prim_func
def finite_volume_step(
    u: T.Buffer((1000,), "float32"), c: T.Buffer((1001,), "float32"), un: T.Buffer((1000,), "float32")
):
    flux = T.alloc_buffer((1001,), "float32")
    for i in range(1001):
        left = u[T.max(i - 1, 0)]
        right = u[T.min(i, 999)]
        if c[i] > 0.0:
            flux[i] = c[i] * left
        else:
            flux[i] = c[i] * right
    for i in range(1000):
        un[i] = u[i] - 0.1 * (flux[i + 1] - flux[i])


@T.prim_func
def row_gaps(X: T.Buffer((400, 64), "float32"), top: T.Buffer((400,), "int32"), gap: T.Buffer((400,), "float32")):
    for r in range(400):
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        a[0] = T.min_value("float32")
        b[0] = T.min_value("float32")
        top[r] = 0
        for c in range(64):
            if X[r, c] > a[0]:
                b[0] = a[0]
                a[0] = X[r, c]
                top[r] = c
            else:
                if X[r, c] > b[0]:
                    b[0] = X[r, c]
        gap[r] = a[0] - b[0]


@T.prim_func
def register_tiles(
    A: T.Buffer((96, 80), "float32"), B: T.Buffer((80, 96), "float32"), C: T.Buffer((96, 96), "float32")
):
    for io in range(24):
        for jo in range(24):
            acc = T.alloc_buffer((4, 4), "float32")
            for a in range(4):
                for b in range(4):
                    acc[a, b] = 0.0
            for k in range(80):
                for a in range(4):
                    for b in range(4):
                        acc[a, b] += A[4 * io + a, k] * B[k, 4 * jo + b]
            for a in range(4):
                for b in range(4):
                    C[4 * io + a, 4 * jo + b] = acc[a, b]


@T.prim_func
def sums_by_two(X: T.Buffer((300, 256), "float32"), S: T.Buffer((300,), "float32")):
    for r in range(300):
        a = T.alloc_buffer((1,), "float32")
        b = T.alloc_buffer((1,), "float32")
        a[0] = 0.0
        b[0] = 0.0
        for c in range(128):
            a[0] += X[r, 2 * c] * X[r, 2 * c]
            b[0] += X[r, 2 * c + 1] * X[r, 2 * c + 1]
        S[r] = T.sqrt(a[0] + b[0])


@T.prim_func
def sorted_intersections(A: T.Buffer((300,), "int32"), B: T.Buffer((300,), "int32"), n: T.Buffer((1,), "int32")):
    i = T.alloc_buffer((1,), "int32")
    j = T.alloc_buffer((1,), "int32")
    i[0] = 0
    j[0] = 0
    n[0] = 0
    for step in range(600):
        if i[0] < 300 and j[0] < 300:
            if A[i[0]] == B[j[0]]:
                n[0] = n[0] + 1
                i[0] = i[0] + 1
                j[0] = j[0] + 1
            else:
                if A[i[0]] < B[j[0]]:
                    i[0] = i[0] + 1
                else:
                    j[0] = j[0] + 1


@T.prim_func
def water_levels(H: T.Buffer((60, 70), "float32"), W: T.Buffer((60, 70), "float32")):
    for i, j in T.grid(60, 70):
        if i == 0 or j == 0 or i == 59 or j == 69:
            W[i, j] = H[i, j]
        else:
            W[i, j] = 1000.0
    for s in range(20):
        for i in range(1, 59):
            for j in range(1, 69):
                low = T.min(T.min(W[i - 1, j], W[i + 1, j]), T.min(W[i, j - 1], W[i, j + 1]))
                W[i, j] = T.min(W[i, j], T.max(H[i, j], low))


@T.prim_func
def attention_pooling(
    X: T.Buffer((20, 100, 32), "float32"),
    L: T.Buffer((20,), "int32"),
    w: T.Buffer((32,), "float32"),
    O: T.Buffer((20, 32), "float32"),
):
    for b in range(20):
        T.assume(L[b] > 0)
        T.assume(L[b] <= 100)
    for b in range(20):
        s = T.alloc_buffer((100,), "float32")
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        for t in range(L[b]):
            s[t] = 0.0
            for d in range(32):
                s[t] += X[b, t, d] * w[d]
            if s[t] > m[0]:
                m[0] = s[t]
        z[0] = 0.0
        for t in range(L[b]):
            s[t] = T.exp(s[t] - m[0])
            z[0] += s[t]
        for d in range(32):
            O[b, d] = 0.0
        for t in range(L[b]):
            for d in range(32):
                O[b, d] += s[t] / z[0] * X[b, t, d]


@T.prim_func
def dilated_pool_indices(
    X: T.Buffer((8, 40, 40), "float32"), O: T.Buffer((8, 18, 18), "float32"), I: T.Buffer((8, 18, 18), "int32")
):
    for c, y, x in T.grid(8, 18, 18):
        best = T.alloc_buffer((1,), "float32")
        best[0] = T.min_value("float32")
        I[c, y, x] = -1
        for ky, kx in T.grid(3, 3):
            v = X[c, 2 * y + 2 * ky, 2 * x + 2 * kx]
            if v > best[0]:
                best[0] = v
                I[c, y, x] = (2 * y + 2 * ky) * 40 + 2 * x + 2 * kx
        O[c, y, x] = best[0]


@T.prim_func
def exponential_smoothing_gaps(
    X: T.Buffer((64, 500), "float32"), V: T.Buffer((64, 500), "bool"), Y: T.Buffer((64, 500), "float32")
):
    for r in range(64):
        s = T.alloc_buffer((1,), "float32")
        s[0] = X[r, 0]
        for t in range(500):
            if V[r, t]:
                s[0] = 0.8 * s[0] + 0.2 * X[r, t]
            Y[r, t] = s[0]


@T.prim_func
def column_pivots(A: T.Buffer((80, 80), "float32"), P: T.Buffer((80,), "int32")):
    for j in range(80):
        best = T.alloc_buffer((1,), "float32")
        best[0] = -1.0
        P[j] = j
        for i in range(j, 80):
            if T.abs(A[i, j]) > best[0]:
                best[0] = T.abs(A[i, j])
                P[j] = i


@T.prim_func
def tiles_histogram(A: T.Buffer((64, 64), "uint8"), H: T.Buffer((8, 8, 16), "int32")):
    for ty, tx in T.grid(8, 8):
        for b in range(16):
            H[ty, tx, b] = 0
        for y in range(8 * ty, 8 * ty + 8):
            for x in range(8 * tx, 8 * tx + 8):
                b = T.cast(A[y, x] >> T.uint8(4), "int32")
                H[ty, tx, b] += 1


@T.prim_func
def triangle_moments(
    A: T.Buffer((90, 90), "float32"),
    up: T.Buffer((1,), "float32"),
    down: T.Buffer((1,), "float32"),
    on: T.Buffer((1,), "float32"),
):
    up[0] = 0.0
    down[0] = 0.0
    on[0] = 0.0
    for i in range(90):
        for j in range(90):
            if i < j:
                up[0] += A[i, j]
            elif i > j:
                down[0] += A[i, j]
            else:
                on[0] += A[i, j]


@T.prim_func
def seasonal_differences(X: T.Buffer((40, 365), "float32"), D: T.Buffer((40, 365), "float32")):
    for s in range(40):
        for t in range(365):
            if t >= 7:
                D[s, t] = X[s, t] - X[s, t - 7]
            else:
                D[s, t] = 0.0
        for t in range(364, 6, -1):
            if t >= 14:
                D[s, t] = D[s, t] - 0.5 * D[s, t - 7]


@T.prim_func
def cross_entropy_grad(
    Z: T.Buffer((128, 50), "float32"), y: T.Buffer((128,), "int32"), G: T.Buffer((128, 50), "float32")
):
    for n in range(128):
        T.assume(y[n] >= 0)
        T.assume(y[n] < 50)
    for n in range(128):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = Z[n, 0]
        for c in range(1, 50):
            m[0] = T.max(m[0], Z[n, c])
        z[0] = 0.0
        for c in range(50):
            G[n, c] = T.exp(Z[n, c] - m[0])
            z[0] = z[0] + G[n, c]
        for c in range(50):
            G[n, c] = G[n, c] / z[0]
        G[n, y[n]] = G[n, y[n]] - 1.0
        for c in range(50):
            G[n, c] = G[n, c] / 128.0


@T.prim_func
def back_substitution_down(
    U: T.Buffer((160, 160), "float32"), b: T.Buffer((160,), "float32"), x: T.Buffer((160,), "float32")
):
    for i in range(159, -1, -1):
        s = T.alloc_buffer((1,), "float32")
        s[0] = b[i]
        for j in range(i + 1, 160):
            s[0] -= U[i, j] * x[j]
        x[i] = s[0] / U[i, i]


@T.prim_func
def axpy_unrolled_with_tail(
    n4: T.Buffer((1,), "int32"), a: T.float32, x: T.Buffer((1003,), "float32"), y: T.Buffer((1003,), "float32")
):
    for k in range(250):
        y[4 * k] = y[4 * k] + a * x[4 * k]
        y[4 * k + 1] = y[4 * k + 1] + a * x[4 * k + 1]
        y[4 * k + 2] = y[4 * k + 2] + a * x[4 * k + 2]
        y[4 * k + 3] = y[4 * k + 3] + a * x[4 * k + 3]
    for k in range(1000, 1003):
        y[k] = y[k] + a * x[k]
    n4[0] = 250


@T.prim_func
def bfs_on_grid(W: T.Buffer((48, 48), "int32"), D: T.Buffer((48, 48), "int32")):
    for i, j in T.grid(48, 48):
        D[i, j] = -1
    D[0, 0] = 0
    for step in range(96):
        for i, j in T.grid(48, 48):
            if D[i, j] == step:
                if i > 0:
                    if W[i - 1, j] == 0 and D[i - 1, j] < 0:
                        D[i - 1, j] = step + 1
                if i < 47:
                    if W[i + 1, j] == 0 and D[i + 1, j] < 0:
                        D[i + 1, j] = step + 1
                if j > 0:
                    if W[i, j - 1] == 0 and D[i, j - 1] < 0:
                        D[i, j - 1] = step + 1
                if j < 47:
                    if W[i, j + 1] == 0 and D[i, j + 1] < 0:
                        D[i, j + 1] = step + 1


@T.prim_func
def padded_border_blur(A: T.Buffer((100, 130), "float32"), O: T.Buffer((100, 130), "float32")):
    P = T.alloc_buffer((104, 134), "float32")
    for y in range(100):
        for x in range(130):
            P[y + 2, x + 2] = A[y, x]
    for y in range(104):
        for k in range(2):
            P[y, k] = P[y, 2]
            P[y, 132 + k] = P[y, 131]
    for x in range(134):
        for k in range(2):
            P[k, x] = P[2, x]
            P[102 + k, x] = P[101, x]
    for y in range(100):
        for x in range(130):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for dy in range(5):
                for dx in range(5):
                    s[0] += P[y + dy, x + dx]
            O[y, x] = s[0] / 25.0


@T.prim_func
def gemm_bias_relu_tiles(
    A: T.Buffer((100, 70), "float32"),
    B: T.Buffer((70, 90), "float32"),
    bias: T.Buffer((90,), "float32"),
    C: T.Buffer((100, 90), "float32"),
):
    for i0 in range(0, 100, 32):
        for j0 in range(0, 90, 32):
            for i in range(i0, T.min(i0 + 32, 100)):
                for j in range(j0, T.min(j0 + 32, 90)):
                    C[i, j] = bias[j]
            for k0 in range(0, 70, 16):
                for i in range(i0, T.min(i0 + 32, 100)):
                    for j in range(j0, T.min(j0 + 32, 90)):
                        for k in range(k0, T.min(k0 + 16, 70)):
                            C[i, j] += A[i, k] * B[k, j]
            for i in range(i0, T.min(i0 + 32, 100)):
                for j in range(j0, T.min(j0 + 32, 90)):
                    if C[i, j] < 0.0:
                        C[i, j] = 0.0


@T.prim_func
def majority_smoothing(L: T.Buffer((64, 64), "int32"), O: T.Buffer((64, 64), "int32")):
    for y, x in T.grid(64, 64):
        T.assume(L[y, x] >= 0 and L[y, x] < 6)
    for y, x in T.grid(64, 64):
        votes = T.alloc_buffer((6,), "int32")
        for c in range(6):
            votes[c] = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                yy = T.min(T.max(y + dy, 0), 63)
                xx = T.min(T.max(x + dx, 0), 63)
                votes[L[yy, xx]] += 1
        best = T.alloc_buffer((1,), "int32")
        best[0] = 0
        for c in range(1, 6):
            if votes[c] > votes[best[0]]:
                best[0] = c
        O[y, x] = best[0]


@T.prim_func
def row_normalise_in_two(A: T.Buffer((200, 96), "float32"), B: T.Buffer((200, 96), "float32")):
    lo = T.alloc_buffer((200,), "float32")
    hi = T.alloc_buffer((200,), "float32")
    for r in range(200):
        lo[r] = A[r, 0]
        hi[r] = A[r, 0]
    for c in range(1, 96):
        for r in range(200):
            if A[r, c] < lo[r]:
                lo[r] = A[r, c]
            if A[r, c] > hi[r]:
                hi[r] = A[r, c]
    for r in range(200):
        d = hi[r] - lo[r]
        for c in range(96):
            if d > 0.0:
                B[r, c] = (A[r, c] - lo[r]) / d
            else:
                B[r, c] = 0.0


@T.prim_func
def moments_of_labels(
    L: T.Buffer((60, 80), "int32"),
    area: T.Buffer((8,), "int32"),
    cy: T.Buffer((8,), "float32"),
    cx: T.Buffer((8,), "float32"),
):
    for y, x in T.grid(60, 80):
        T.assume(L[y, x] >= 0 and L[y, x] < 8)
    sy = T.alloc_buffer((8,), "int32")
    sx = T.alloc_buffer((8,), "int32")
    for k in range(8):
        area[k] = 0
        sy[k] = 0
        sx[k] = 0
    for y, x in T.grid(60, 80):
        area[L[y, x]] += 1
        sy[L[y, x]] += y
        sx[L[y, x]] += x
    for k in range(8):
        if area[k] > 0:
            cy[k] = T.cast(sy[k], "float32") / T.cast(area[k], "float32")
            cx[k] = T.cast(sx[k], "float32") / T.cast(area[k], "float32")
        else:
            cy[k] = -1.0
            cx[k] = -1.0


@T.prim_func
def two_level_stencil(u: T.Buffer((402,), "float32"), v: T.Buffer((402,), "float32")):
    for t in range(25):
        for i in range(1, 401):
            v[i] = 0.25 * u[i - 1] + 0.5 * u[i] + 0.25 * u[i + 1]
        v[0] = v[400]
        v[401] = v[1]
        for i in range(1, 401):
            u[i] = v[i] + 0.1 * (v[i + 1] - v[i - 1])
        u[0] = u[400]
        u[401] = u[1]


@T.prim_func
def softmax_columns(X: T.Buffer((80, 300), "float32"), Y: T.Buffer((80, 300), "float32")):
    for j in range(300):
        m = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        m[0] = X[0, j]
        for i in range(1, 80):
            m[0] = T.max(m[0], X[i, j])
        s[0] = 0.0
        for i in range(80):
            Y[i, j] = T.exp(X[i, j] - m[0])
            s[0] += Y[i, j]
        for i in range(80):
            Y[i, j] = Y[i, j] / s[0]


@T.prim_func
def count_inversions(P: T.Buffer((300,), "int32"), n: T.Buffer((1,), "int32")):
    n[0] = 0
    for i in range(300):
        for j in range(i + 1, 300):
            if P[i] > P[j]:
                n[0] += 1


@T.prim_func
def sparse_rows_softmax(
    row: T.Buffer((101,), "int32"), v: T.Buffer((1500,), "float32"), o: T.Buffer((1500,), "float32")
):
    for i in range(100):
        T.assume(row[i] >= 0 and row[i] <= row[i + 1] and row[i + 1] <= 1500)
    for i in range(100):
        m = T.alloc_buffer((1,), "float32")
        s = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        for p in range(row[i], row[i + 1]):
            m[0] = T.max(m[0], v[p])
        s[0] = 0.0
        for p in range(row[i], row[i + 1]):
            s[0] += T.exp(v[p] - m[0])
        for p in range(row[i], row[i + 1]):
            o[p] = T.exp(v[p] - m[0]) / s[0]


@T.prim_func
def dual_quaternion_blend(
    W: T.Buffer((400, 4), "float32"),
    J: T.Buffer((400, 4), "int32"),
    Q: T.Buffer((30, 4), "float32"),
    O: T.Buffer((400, 4), "float32"),
):
    for v, k in T.grid(400, 4):
        T.assume(J[v, k] >= 0 and J[v, k] < 30)
    for v in range(400):
        q = T.alloc_buffer((4,), "float32")
        for c in range(4):
            q[c] = 0.0
        for k in range(4):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for c in range(4):
                d[0] += Q[J[v, 0], c] * Q[J[v, k], c]
            sign = T.if_then_else(d[0] < 0.0, -1.0, 1.0)
            for c in range(4):
                q[c] += W[v, k] * sign * Q[J[v, k], c]
        n = T.alloc_buffer((1,), "float32")
        n[0] = 0.0
        for c in range(4):
            n[0] += q[c] * q[c]
        for c in range(4):
            O[v, c] = q[c] / T.sqrt(n[0])


@T.prim_func
def interval_sums(
    X: T.Buffer((2000,), "float32"),
    a: T.Buffer((300,), "int32"),
    b: T.Buffer((300,), "int32"),
    S: T.Buffer((300,), "float32"),
):
    for q in range(300):
        T.assume(a[q] >= 0 and a[q] <= b[q] and b[q] <= 2000)
    P = T.alloc_buffer((2001,), "float32")
    P[0] = 0.0
    for i in range(2000):
        P[i + 1] = P[i] + X[i]
    for q in range(300):
        S[q] = P[b[q]] - P[a[q]]


@T.prim_func
def dense_to_csr_values(
    A: T.Buffer((60, 60), "float32"),
    row: T.Buffer((61,), "int32"),
    col: T.Buffer((3600,), "int32"),
    val: T.Buffer((3600,), "float32"),
):
    k = T.alloc_buffer((1,), "int32")
    k[0] = 0
    row[0] = 0
    for p in range(3600):
        col[p] = 0
        val[p] = 0.0
    for i in range(60):
        for j in range(60):
            if A[i, j] != 0.0:
                col[k[0]] = j
                val[k[0]] = A[i, j]
                k[0] += 1
        row[i + 1] = k[0]


@T.prim_func
def blocked_cholesky_like(A: T.Buffer((96, 96), "float32")):
    for j in range(96):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        A[j, j] = T.sqrt(A[j, j])
        for i in range(j + 1, 96):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]


@T.prim_func
def audio_resample_linear(X: T.Buffer((4000,), "float32"), Y: T.Buffer((3000,), "float32")):
    for n in range(3000):
        p = T.cast(n, "float32") * 1.3331
        i = T.cast(p, "int32")
        f = p - T.cast(i, "float32")
        if i + 1 < 4000:
            Y[n] = X[i] * (1.0 - f) + X[i + 1] * f
        else:
            Y[n] = X[3999]


@T.prim_func
def neighbour_vote_hex(A: T.Buffer((50, 50), "int32"), B: T.Buffer((50, 50), "int32")):
    for y in range(50):
        for x in range(50):
            n = T.alloc_buffer((1,), "int32")
            n[0] = 0
            for k in range(6):
                dx = T.if_then_else(
                    k == 0,
                    1,
                    T.if_then_else(k == 1, -1, T.if_then_else(k == 2 or k == 3, 0, T.if_then_else(y % 2 == 0, -1, 1))),
                )
                dy = T.if_then_else(k < 2, 0, T.if_then_else(k % 2 == 0, -1, 1))
                if x + dx >= 0 and x + dx < 50 and y + dy >= 0 and y + dy < 50:
                    n[0] += A[y + dy, x + dx]
            B[y, x] = T.if_then_else(n[0] > 2, 1, 0)


@T.prim_func
def grouped_topk_mask(S: T.Buffer((100, 32), "float32"), M: T.Buffer((100, 32), "int32")):
    for t in range(100):
        for e in range(32):
            rank = T.alloc_buffer((1,), "int32")
            rank[0] = 0
            for f in range(32):
                if f // 8 == e // 8:
                    if S[t, f] > S[t, e] or (S[t, f] == S[t, e] and f < e):
                        rank[0] += 1
            M[t, e] = T.if_then_else(rank[0] < 2, 1, 0)


@T.prim_func
def chebyshev_eval(c: T.Buffer((16,), "float32"), x: T.Buffer((1000,), "float32"), y: T.Buffer((1000,), "float32")):
    for n in range(1000):
        t0 = T.alloc_buffer((1,), "float32")
        t1 = T.alloc_buffer((1,), "float32")
        t0[0] = 1.0
        t1[0] = x[n]
        y[n] = c[0] + c[1] * x[n]
        for k in range(2, 16):
            t2 = 2.0 * x[n] * t1[0] - t0[0]
            t0[0] = t1[0]
            t1[0] = t2
            y[n] += c[k] * t2


@T.prim_func
def pair_list(
    P: T.Buffer((150, 2), "float32"),
    n: T.Buffer((1,), "int32"),
    I: T.Buffer((4000,), "int32"),
    J: T.Buffer((4000,), "int32"),
):
    n[0] = 0
    for i in range(150):
        for j in range(i + 1, 150):
            dx = P[i, 0] - P[j, 0]
            dy = P[i, 1] - P[j, 1]
            if dx * dx + dy * dy < 0.04 and n[0] < 4000:
                I[n[0]] = i
                J[n[0]] = j
                n[0] += 1


@T.prim_func
def iir_cascade_rows(
    X: T.Buffer((32, 600), "float32"), C: T.Buffer((3, 4), "float32"), Y: T.Buffer((32, 600), "float32")
):
    for r in range(32):
        for t in range(600):
            Y[r, t] = X[r, t]
        for s in range(3):
            z1 = T.alloc_buffer((1,), "float32")
            z2 = T.alloc_buffer((1,), "float32")
            z1[0] = 0.0
            z2[0] = 0.0
            for t in range(600):
                w = Y[r, t] - C[s, 0] * z1[0] - C[s, 1] * z2[0]
                Y[r, t] = w + C[s, 2] * z1[0] + C[s, 3] * z2[0]
                z2[0] = z1[0]
                z1[0] = w


@T.prim_func
def upsample_sum_skip(
    A: T.Buffer((8, 16, 16), "float32"), S: T.Buffer((8, 32, 32), "float32"), O: T.Buffer((8, 32, 32), "float32")
):
    for c in range(8):
        for y in range(16):
            for x in range(16):
                for dy in range(2):
                    for dx in range(2):
                        O[c, 2 * y + dy, 2 * x + dx] = A[c, y, x] + S[c, 2 * y + dy, 2 * x + dx]


@T.prim_func
def margin_mining(E: T.Buffer((120, 24), "float32"), y: T.Buffer((120,), "int32"), loss: T.Buffer((1,), "float32")):
    loss[0] = 0.0
    for i in range(120):
        far = T.alloc_buffer((1,), "float32")
        near = T.alloc_buffer((1,), "float32")
        far[0] = 0.0
        near[0] = 1e30
        for j in range(120):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for k in range(24):
                d[0] += (E[i, k] - E[j, k]) * (E[i, k] - E[j, k])
            if y[i] == y[j]:
                far[0] = T.max(far[0], d[0])
            else:
                near[0] = T.min(near[0], d[0])
        loss[0] += T.max(far[0] - near[0] + 0.2, 0.0)
    loss[0] = loss[0] / 120.0


@T.prim_func
def conv_tiles(
    X: T.Buffer((3, 50, 50), "float32"), W: T.Buffer((16, 3, 3, 3), "float32"), Y: T.Buffer((16, 48, 48), "float32")
):
    for ko in range(0, 16, 8):
        for yo in range(0, 48, 10):
            for xo in range(0, 48, 10):
                for k in range(ko, ko + 8):
                    for y in range(yo, T.min(yo + 10, 48)):
                        for x in range(xo, T.min(xo + 10, 48)):
                            Y[k, y, x] = 0.0
                            for c in range(3):
                                for r in range(3):
                                    for s in range(3):
                                        Y[k, y, x] += W[k, c, r, s] * X[c, y + r, x + s]


@T.prim_func
def transpose_tiles(A: T.Buffer((130, 150), "float32"), B: T.Buffer((150, 130), "float32")):
    tile = T.alloc_buffer((16, 16), "float32")
    for bi in range(9):
        for bj in range(10):
            for i in range(16):
                for j in range(16):
                    if bi * 16 + i < 130 and bj * 16 + j < 150:
                        tile[i, j] = A[bi * 16 + i, bj * 16 + j]
            for j in range(16):
                for i in range(16):
                    if bi * 16 + i < 130 and bj * 16 + j < 150:
                        B[bj * 16 + j, bi * 16 + i] = tile[i, j]


@T.prim_func
def reduce_tree_blocks(X: T.Buffer((4096,), "float32"), S: T.Buffer((16,), "float32")):
    for b in range(16):
        sh = T.alloc_buffer((256,), "float32")
        for t in range(256):
            sh[t] = X[b * 256 + t]
        for k in range(8):
            for t in range(128):
                if t < (128 >> k):
                    sh[t] = sh[t] + sh[t + (128 >> k)]
        S[b] = sh[0]


@T.prim_func
def stencil_blocked_time(A: T.Buffer((258,), "float32"), B: T.Buffer((258,), "float32")):
    for t in range(10):
        for blk in range(4):
            for i in range(blk * 64 + 1, blk * 64 + 65):
                B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
        for blk in range(4):
            for i in range(blk * 64 + 1, blk * 64 + 65):
                A[i] = B[i]


@T.prim_func
def spmv_sorted_coo(
    r: T.Buffer((2000,), "int32"),
    c: T.Buffer((2000,), "int32"),
    v: T.Buffer((2000,), "float32"),
    x: T.Buffer((200,), "float32"),
    y: T.Buffer((200,), "float32"),
):
    for p in range(2000):
        T.assume(r[p] >= 0 and r[p] < 200 and c[p] >= 0 and c[p] < 200)
    for i in range(200):
        y[i] = 0.0
    for p in range(2000):
        y[r[p]] += v[p] * x[c[p]]


@T.prim_func
def layer_norm_two_pass_tiles(
    X: T.Buffer((64, 200), "float32"),
    g: T.Buffer((200,), "float32"),
    b: T.Buffer((200,), "float32"),
    Y: T.Buffer((64, 200), "float32"),
):
    for r in range(64):
        s = T.alloc_buffer((1,), "float32")
        q = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        q[0] = 0.0
        for o in range(0, 200, 64):
            for c in range(o, T.min(o + 64, 200)):
                s[0] += X[r, c]
                q[0] += X[r, c] * X[r, c]
        m = s[0] / 200.0
        i = 1.0 / T.sqrt(q[0] / 200.0 - m * m + 1e-5)
        for o in range(0, 200, 64):
            for c in range(o, T.min(o + 64, 200)):
                Y[r, c] = (X[r, c] - m) * i * g[c] + b[c]


@T.prim_func
def flat_depthwise(
    X: T.Buffer((8 * 34 * 34,), "float32"), W: T.Buffer((72,), "float32"), Y: T.Buffer((8 * 32 * 32,), "float32")
):
    for c in range(8):
        for y in range(32):
            for x in range(32):
                s = T.alloc_buffer((1,), "float32")
                s[0] = 0.0
                for k in range(9):
                    s[0] += W[c * 9 + k] * X[c * 1156 + (y + k // 3) * 34 + x + k % 3]
                Y[(c * 32 + y) * 32 + x] = s[0]


@T.prim_func
def scan_three_phases(X: T.Buffer((1024,), "float32"), Y: T.Buffer((1024,), "float32")):
    sums = T.alloc_buffer((33,), "float32")
    sums[0] = 0.0
    for b in range(32):
        for i in range(32):
            if i == 0:
                Y[b * 32] = X[b * 32]
            else:
                Y[b * 32 + i] = Y[b * 32 + i - 1] + X[b * 32 + i]
    for b in range(32):
        sums[b + 1] = sums[b] + Y[b * 32 + 31]
    for b in range(32):
        for i in range(32):
            Y[b * 32 + i] = Y[b * 32 + i] + sums[b]


@T.prim_func
def half_matvec(A: T.Buffer((300, 256), "float16"), x: T.Buffer((256,), "float16"), y: T.Buffer((300,), "float32")):
    for i in range(300):
        y[i] = 0.0
        for j in range(256):
            y[i] += T.cast(A[i, j], "float32") * T.cast(x[j], "float32")


@T.prim_func
def quantise_rows(X: T.Buffer((100, 128), "float32"), Q: T.Buffer((100, 128), "int8"), s: T.Buffer((100,), "float32")):
    for r in range(100):
        m = T.alloc_buffer((1,), "float32")
        m[0] = 1e-8
        for c in range(128):
            if T.abs(X[r, c]) > m[0]:
                m[0] = T.abs(X[r, c])
        s[r] = m[0] / 127.0
        for c in range(128):
            v = X[r, c] / s[r]
            w = T.if_then_else(v >= 0.0, T.floor(v + 0.5), T.ceil(v - 0.5))
            Q[r, c] = T.cast(T.min(T.max(w, -127.0), 127.0), "int8")


@T.prim_func
def gather_rows_weighted(
    E: T.Buffer((500, 32), "float32"),
    idx: T.Buffer((64, 10), "int32"),
    n: T.Buffer((64,), "int32"),
    O: T.Buffer((64, 32), "float32"),
):
    for b, k in T.grid(64, 10):
        T.assume(idx[b, k] >= 0 and idx[b, k] < 500)
    for b in range(64):
        T.assume(n[b] >= 0 and n[b] <= 10)
    for b in range(64):
        for d in range(32):
            O[b, d] = 0.0
        for k in range(n[b]):
            for d in range(32):
                O[b, d] += E[idx[b, k], d]
        if n[b] > 0:
            for d in range(32):
                O[b, d] = O[b, d] / T.cast(n[b], "float32")


@T.prim_func
def symmetric_rank2k(
    A: T.Buffer((90, 40), "float32"), B: T.Buffer((90, 40), "float32"), C: T.Buffer((90, 90), "float32")
):
    for i in range(90):
        for j in range(i + 1):
            s = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            for k in range(40):
                s[0] += A[i, k] * B[j, k] + B[i, k] * A[j, k]
            C[i, j] = 0.5 * s[0]
            C[j, i] = 0.5 * s[0]


@T.prim_func
def peak_to_trough(P: T.Buffer((50, 400), "float32"), dd: T.Buffer((50,), "float32"), at: T.Buffer((50,), "int32")):
    for s in range(50):
        top = T.alloc_buffer((1,), "float32")
        top[0] = P[s, 0]
        dd[s] = 0.0
        at[s] = 0
        for t in range(1, 400):
            if P[s, t] > top[0]:
                top[0] = P[s, t]
            d = (top[0] - P[s, t]) / top[0]
            if d > dd[s]:
                dd[s] = d
                at[s] = t


@T.prim_func
def local_maxima_list(X: T.Buffer((1000,), "float32"), n: T.Buffer((1,), "int32"), at: T.Buffer((1000,), "int32")):
    for i in range(1000):
        at[i] = -1
    n[0] = 0
    for i in range(1, 999):
        if X[i] > X[i - 1] and X[i] >= X[i + 1]:
            at[n[0]] = i
            n[0] += 1


@T.prim_func
def multi_head_flat(
    Q: T.Buffer((64, 4 * 16), "float32"),
    K: T.Buffer((64, 4 * 16), "float32"),
    V: T.Buffer((64, 4 * 16), "float32"),
    O: T.Buffer((64, 4 * 16), "float32"),
):
    for h in range(4):
        for i in range(64):
            s = T.alloc_buffer((64,), "float32")
            m = T.alloc_buffer((1,), "float32")
            z = T.alloc_buffer((1,), "float32")
            m[0] = -1e30
            for j in range(64):
                s[j] = 0.0
                for d in range(16):
                    s[j] += Q[i, h * 16 + d] * K[j, h * 16 + d]
                s[j] = s[j] * 0.25
                m[0] = T.max(m[0], s[j])
            z[0] = 0.0
            for j in range(64):
                s[j] = T.exp(s[j] - m[0])
                z[0] += s[j]
            for d in range(16):
                O[i, h * 16 + d] = 0.0
                for j in range(64):
                    O[i, h * 16 + d] += s[j] * V[j, h * 16 + d]
                O[i, h * 16 + d] = O[i, h * 16 + d] / z[0]


@T.prim_func
def bilinear_crop(
    A: T.Buffer((40, 40, 4), "float32"), box: T.Buffer((10, 4), "float32"), O: T.Buffer((10, 8, 8, 4), "float32")
):
    for b, y, x, c in T.grid(10, 8, 8, 4):
        fy = box[b, 0] + (box[b, 2] - box[b, 0]) * T.cast(y, "float32") / 7.0
        fx = box[b, 1] + (box[b, 3] - box[b, 1]) * T.cast(x, "float32") / 7.0
        y0 = T.min(T.max(T.cast(T.floor(fy), "int32"), 0), 38)
        x0 = T.min(T.max(T.cast(T.floor(fx), "int32"), 0), 38)
        a = fy - T.cast(y0, "float32")
        d = fx - T.cast(x0, "float32")
        O[b, y, x, c] = (A[y0, x0, c] * (1.0 - d) + A[y0, x0 + 1, c] * d) * (1.0 - a) + (
            A[y0 + 1, x0, c] * (1.0 - d) + A[y0 + 1, x0 + 1, c] * d
        ) * a


@T.prim_func
def markov_steps(P: T.Buffer((60, 60), "float32"), p: T.Buffer((60,), "float32")):
    q = T.alloc_buffer((60,), "float32")
    for t in range(30):
        for j in range(60):
            q[j] = 0.0
            for i in range(60):
                q[j] += p[i] * P[i, j]
        for j in range(60):
            p[j] = q[j]


@T.prim_func
def sum_of_absolute_windows(X: T.Buffer((900,), "float32"), S: T.Buffer((900,), "float32")):
    for i in range(900):
        S[i] = 0.0
        for d in range(-5, 6):
            if i + d >= 0 and i + d < 900 and d != 0:
                S[i] += T.abs(X[i] - X[i + d]) / T.cast(T.abs(d), "float32")


@T.prim_func
def sum_and_max_rows(
    A: T.Buffer((300, 257), "float32"),
    S: T.Buffer((300,), "float32"),
    M: T.Buffer((300,), "float32"),
    W: T.Buffer((300,), "int32"),
):
    for i in range(300):
        S[i] = 0.0
        M[i] = A[i, 0]
        W[i] = 0
        for j in range(257):
            S[i] += A[i, j]
            if A[i, j] > M[i]:
                M[i] = A[i, j]
                W[i] = j


@T.prim_func
def nchw16c_conv(
    X: T.Buffer((2, 18, 18, 16), "float32"),
    Wt: T.Buffer((2, 2, 3, 3, 16, 16), "float32"),
    Y: T.Buffer((2, 16, 16, 16), "float32"),
):
    for ko in range(2):
        for y in range(16):
            for x in range(16):
                for ki in range(16):
                    Y[ko, y, x, ki] = 0.0
                for co in range(2):
                    for r in range(3):
                        for s in range(3):
                            for ci in range(16):
                                for ki in range(16):
                                    Y[ko, y, x, ki] += X[co, y + r, x + s, ci] * Wt[ko, co, r, s, ci, ki]


@T.prim_func
def periodic_diffusion(U: T.Buffer((100, 100), "float32"), V: T.Buffer((100, 100), "float32")):
    for i, j in T.grid(100, 100):
        V[i, j] = U[i, j]
    for t in range(10):
        N = T.alloc_buffer((100, 100), "float32")
        for i, j in T.grid(100, 100):
            N[i, j] = V[i, j] + 0.1 * (
                V[(i + 99) % 100, j] + V[(i + 1) % 100, j] + V[i, (j + 99) % 100] + V[i, (j + 1) % 100] - 4.0 * V[i, j]
            )
        for i, j in T.grid(100, 100):
            V[i, j] = N[i, j]


@T.prim_func
def neumann_sweeps(U: T.Buffer((82, 82), "float32")):
    for t in range(12):
        N = T.alloc_buffer((82, 82), "float32")
        for i in range(1, 81):
            for j in range(1, 81):
                N[i, j] = 0.25 * (U[i - 1, j] + U[i + 1, j] + U[i, j - 1] + U[i, j + 1])
        for i in range(1, 81):
            for j in range(1, 81):
                U[i, j] = N[i, j]
        for i in range(82):
            U[i, 0] = U[i, 1]
            U[i, 81] = U[i, 80]
        for j in range(82):
            U[0, j] = U[1, j]
            U[81, j] = U[80, j]


@T.prim_func
def softmax_materialised(
    X: T.Buffer((128, 500), "float32"), P: T.Buffer((128, 500), "float32"), L: T.Buffer((128,), "float32")
):
    E = T.alloc_buffer((128, 500), "float32")
    for i in range(128):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = T.min_value("float32")
        for j in range(500):
            m[0] = T.max(m[0], X[i, j])
        for j in range(500):
            E[i, j] = T.exp(X[i, j] - m[0])
        z[0] = 0.0
        for j in range(500):
            z[0] = z[0] + E[i, j]
        for j in range(500):
            P[i, j] = E[i, j] / z[0]
        L[i] = m[0] + T.log(z[0])


@T.prim_func
def tiled_copy_tails(A: T.Buffer((150, 203), "float32"), B: T.Buffer((5, 7, 32, 32), "float32")):
    for io, jo, ii, jj in T.grid(5, 7, 32, 32):
        if io * 32 + ii < 150 and jo * 32 + jj < 203:
            B[io, jo, ii, jj] = A[io * 32 + ii, jo * 32 + jj]
        else:
            B[io, jo, ii, jj] = 0.0


@T.prim_func
def untile_with_tails(B: T.Buffer((5, 7, 32, 32), "float32"), A: T.Buffer((150, 203), "float32")):
    for io, jo, ii, jj in T.grid(5, 7, 32, 32):
        if io * 32 + ii < 150 and jo * 32 + jj < 203:
            A[io * 32 + ii, jo * 32 + jj] = 2.0 * B[io, jo, ii, jj] + 1.0


@T.prim_func
def gemm_micro_kernel(
    A: T.Buffer((8, 64, 6), "float32"), B: T.Buffer((4, 64, 16), "float32"), C: T.Buffer((48, 64), "float32")
):
    for io in range(8):
        for jo in range(4):
            acc = T.alloc_buffer((6, 16), "float32")
            for i, j in T.grid(6, 16):
                acc[i, j] = 0.0
            for k in range(64):
                for i, j in T.grid(6, 16):
                    acc[i, j] = acc[i, j] + A[io, k, i] * B[jo, k, j]
            for i, j in T.grid(6, 16):
                C[io * 6 + i, jo * 16 + j] = acc[i, j]


@T.prim_func
def leaky_integrators(
    X: T.Buffer((64, 1000), "float32"), a: T.Buffer((64,), "float32"), Y: T.Buffer((64, 1000), "float32")
):
    for c in range(64):
        v = T.alloc_buffer((1,), "float32")
        v[0] = 0.0
        for t in range(1000):
            v[0] = a[c] * v[0] + (1.0 - a[c]) * X[c, t]
            Y[c, t] = v[0]


@T.prim_func
def first_best_pair(A: T.Buffer((80, 90), "float32"), best: T.Buffer((1,), "float32"), at: T.Buffer((2,), "int32")):
    best[0] = A[0, 0]
    at[0] = 0
    at[1] = 0
    for i in range(80):
        for j in range(90):
            if A[i, j] < best[0]:
                best[0] = A[i, j]
                at[0] = i
                at[1] = j


@T.prim_func
def gravity_blocks(
    P: T.Buffer((1024, 3), "float32"), m: T.Buffer((1024,), "float32"), F: T.Buffer((1024, 3), "float32")
):
    for i in range(1024):
        F[i, 0] = 0.0
        F[i, 1] = 0.0
        F[i, 2] = 0.0
        for j in range(1024):
            dx = P[j, 0] - P[i, 0]
            dy = P[j, 1] - P[i, 1]
            dz = P[j, 2] - P[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 0.01
            inv = m[j] / (r2 * T.sqrt(r2))
            F[i, 0] += dx * inv
            F[i, 1] += dy * inv
            F[i, 2] += dz * inv


@T.prim_func
def wrap_pad_conv1d(X: T.Buffer((32, 200), "float32"), w: T.Buffer((7,), "float32"), Y: T.Buffer((32, 200), "float32")):
    P = T.alloc_buffer((32, 206), "float32")
    for b, i in T.grid(32, 206):
        P[b, i] = X[b, (i + 197) % 200]
    for b, i in T.grid(32, 200):
        Y[b, i] = 0.0
        for k in range(7):
            Y[b, i] += w[k] * P[b, i + k]


@T.prim_func
def mirror_pad_blur(X: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32")):
    P = T.alloc_buffer((68, 68), "float32")
    for i, j in T.grid(68, 68):
        P[i, j] = X[63 - T.abs(63 - T.abs(i - 2)), 63 - T.abs(63 - T.abs(j - 2))]
    for i, j in T.grid(64, 64):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for a, b in T.grid(5, 5):
            s[0] = s[0] + P[i + a, j + b]
        Y[i, j] = s[0] / 25.0


@T.prim_func
def strided_grouped_conv(
    X: T.Buffer((1, 8, 33, 33), "float32"),
    W: T.Buffer((16, 4, 3, 3), "float32"),
    b: T.Buffer((16,), "float32"),
    Y: T.Buffer((1, 16, 16, 16), "float32"),
):
    for n, k, y, x in T.grid(1, 16, 16, 16):
        Y[n, k, y, x] = b[k]
        for c, r, s in T.grid(4, 3, 3):
            Y[n, k, y, x] += X[n, k // 8 * 4 + c, 2 * y + r, 2 * x + s] * W[k, c, r, s]
        Y[n, k, y, x] = T.max(Y[n, k, y, x], 0.0)


@T.prim_func
def sorted_topk_insert(
    X: T.Buffer((64, 300), "float32"), V: T.Buffer((64, 4), "float32"), K: T.Buffer((64, 4), "int32")
):
    for i in range(64):
        for k in range(4):
            V[i, k] = T.min_value("float32")
            K[i, k] = 0 - 1
        for j in range(300):
            v = T.alloc_buffer((1,), "float32")
            q = T.alloc_buffer((1,), "int32")
            v[0] = X[i, j]
            q[0] = j
            for k in range(4):
                if v[0] > V[i, k]:
                    tv = V[i, k]
                    tk = K[i, k]
                    V[i, k] = v[0]
                    K[i, k] = q[0]
                    v[0] = tv
                    q[0] = tk


@T.prim_func
def ragged_rows_mean(
    off: T.Buffer((101,), "int32"), X: T.Buffer((3000, 16), "float32"), M: T.Buffer((100, 16), "float32")
):
    for r in range(100):
        T.assume(off[r] >= 0 and off[r] <= off[r + 1] and off[r + 1] <= 3000)
        for c in range(16):
            M[r, c] = 0.0
        for p in range(off[r], off[r + 1]):
            for c in range(16):
                M[r, c] += X[p, c]
        if off[r + 1] > off[r]:
            for c in range(16):
                M[r, c] = M[r, c] / T.cast(off[r + 1] - off[r], "float32")


@T.prim_func
def blocked_dot_products(
    A: T.Buffer((16, 64, 64), "float32"), B: T.Buffer((16, 64, 64), "float32"), D: T.Buffer((64,), "float32")
):
    for i in range(64):
        D[i] = 0.0
    for o in range(16):
        for i in range(64):
            for k in range(64):
                D[i] += A[o, i, k] * B[o, i, k]


@T.prim_func
def counts_per_step(X: T.Buffer((200, 500), "float32"), hits: T.Buffer((1,), "int32"), S: T.Buffer((500,), "float32")):
    for j in range(500):
        S[j] = 0.0
    hits[0] = 0
    for i in range(200):
        n = T.alloc_buffer((1,), "int32")
        n[0] = 0
        for j in range(500):
            if X[i, j] > 1.0:
                n[0] = n[0] + 1
                S[j] = S[j] + X[i, j]
        hits[0] = hits[0] + n[0]


@T.prim_func
def dft_of_rows(X: T.Buffer((32, 64), "float32"), R: T.Buffer((32, 33), "float32"), I: T.Buffer((32, 33), "float32")):
    for b, k in T.grid(32, 33):
        R[b, k] = 0.0
        I[b, k] = 0.0
        for n in range(64):
            a = 6.2831855 * T.cast(k * n % 64, "float32") / 64.0
            R[b, k] += X[b, n] * T.cos(a)
            I[b, k] -= X[b, n] * T.sin(a)


@T.prim_func
def quantised_linear(
    X: T.Buffer((32, 100), "uint8"),
    W: T.Buffer((48, 100), "int8"),
    b: T.Buffer((48,), "int32"),
    s: T.Buffer((48,), "float32"),
    Y: T.Buffer((32, 48), "uint8"),
):
    for i, o in T.grid(32, 48):
        acc = T.alloc_buffer((1,), "int32")
        acc[0] = b[o]
        for k in range(100):
            acc[0] = acc[0] + (T.cast(X[i, k], "int32") - 128) * T.cast(W[o, k], "int32")
        v = T.floor(T.cast(acc[0], "float32") * s[o] + 0.5) + 128.0
        Y[i, o] = T.cast(T.max(T.min(v, 255.0), 0.0), "uint8")


@T.prim_func
def attention_key_blocks(
    Q: T.Buffer((50, 32), "float32"),
    K: T.Buffer((70, 32), "float32"),
    V: T.Buffer((70, 32), "float32"),
    O: T.Buffer((50, 32), "float32"),
):
    for i in range(50):
        m = T.alloc_buffer((1,), "float32")
        l = T.alloc_buffer((1,), "float32")
        m[0] = T.min_value("float32")
        l[0] = 0.0
        for c in range(32):
            O[i, c] = 0.0
        for jo in range(5):
            s = T.alloc_buffer((16,), "float32")
            mm = T.alloc_buffer((1,), "float32")
            mm[0] = m[0]
            for jj in range(16):
                s[jj] = T.min_value("float32")
                if jo * 16 + jj < 70:
                    s[jj] = 0.0
                    for c in range(32):
                        s[jj] = s[jj] + Q[i, c] * K[jo * 16 + jj, c]
                    s[jj] = s[jj] * 0.17677669
                    mm[0] = T.max(mm[0], s[jj])
            scale = T.exp(m[0] - mm[0])
            l[0] = l[0] * scale
            for c in range(32):
                O[i, c] = O[i, c] * scale
            for jj in range(16):
                if jo * 16 + jj < 70:
                    p = T.exp(s[jj] - mm[0])
                    l[0] = l[0] + p
                    for c in range(32):
                        O[i, c] = O[i, c] + p * V[jo * 16 + jj, c]
            m[0] = mm[0]
        for c in range(32):
            O[i, c] = O[i, c] / l[0]


@T.prim_func
def trellis_min_plus(
    A: T.Buffer((40, 40), "float32"),
    B: T.Buffer((40, 40), "float32"),
    C: T.Buffer((40, 40), "float32"),
    P: T.Buffer((40, 40), "int32"),
):
    for i, j in T.grid(40, 40):
        C[i, j] = A[i, 0] + B[0, j]
        P[i, j] = 0
        for k in range(1, 40):
            if A[i, k] + B[k, j] < C[i, j]:
                C[i, j] = A[i, k] + B[k, j]
                P[i, j] = k


@T.prim_func
def reverse_time_rnn(
    X: T.Buffer((60, 16), "float32"),
    Wx: T.Buffer((32, 16), "float32"),
    Wh: T.Buffer((32, 32), "float32"),
    H: T.Buffer((60, 32), "float32"),
):
    h = T.alloc_buffer((32,), "float32")
    for k in range(32):
        h[k] = 0.0
    for t in range(60):
        z = T.alloc_buffer((32,), "float32")
        for k in range(32):
            z[k] = 0.0
            for c in range(16):
                z[k] += Wx[k, c] * X[59 - t, c]
            for c in range(32):
                z[k] += Wh[k, c] * h[c]
        for k in range(32):
            h[k] = T.tanh(z[k])
            H[59 - t, k] = h[k]


@T.prim_func
def interleave_channels(
    L: T.Buffer((5000,), "float32"), R: T.Buffer((5000,), "float32"), O: T.Buffer((10000,), "int16")
):
    for i in range(5000):
        O[2 * i] = T.cast(T.max(T.min(L[i] * 32767.0, 32767.0), -32768.0), "int16")
        O[2 * i + 1] = T.cast(T.max(T.min(R[i] * 32767.0, 32767.0), -32768.0), "int16")


@T.prim_func
def thomas_rows(
    a: T.Buffer((50, 128), "float32"),
    b: T.Buffer((50, 128), "float32"),
    c: T.Buffer((50, 128), "float32"),
    d: T.Buffer((50, 128), "float32"),
    X: T.Buffer((50, 128), "float32"),
):
    for r in range(50):
        cp = T.alloc_buffer((128,), "float32")
        dp = T.alloc_buffer((128,), "float32")
        cp[0] = c[r, 0] / b[r, 0]
        dp[0] = d[r, 0] / b[r, 0]
        for i in range(1, 128):
            w = b[r, i] - a[r, i] * cp[i - 1]
            cp[i] = c[r, i] / w
            dp[i] = (d[r, i] - a[r, i] * dp[i - 1]) / w
        X[r, 127] = dp[127]
        for k in range(1, 128):
            X[r, 127 - k] = dp[127 - k] - cp[127 - k] * X[r, 128 - k]


@T.prim_func
def bucket_sums_2d(
    X: T.Buffer((5000,), "float32"),
    Yc: T.Buffer((5000,), "float32"),
    V: T.Buffer((5000,), "float32"),
    G: T.Buffer((32, 32), "float32"),
):
    for i, j in T.grid(32, 32):
        G[i, j] = 0.0
    for p in range(5000):
        T.assume(X[p] >= 0.0 and X[p] < 1.0 and Yc[p] >= 0.0 and Yc[p] < 1.0)
        i = T.cast(X[p] * 32.0, "int32")
        j = T.cast(Yc[p] * 32.0, "int32")
        if i >= 0 and i < 32 and j >= 0 and j < 32:
            G[i, j] += V[p]


@T.prim_func
def masked_row_softmax_backward(
    P: T.Buffer((64, 80), "float32"),
    dP: T.Buffer((64, 80), "float32"),
    n: T.Buffer((64,), "int32"),
    dS: T.Buffer((64, 80), "float32"),
):
    for i in range(64):
        T.assume(n[i] >= 0 and n[i] <= 80)
        d = T.alloc_buffer((1,), "float32")
        d[0] = 0.0
        for j in range(80):
            if j < n[i]:
                d[0] = d[0] + P[i, j] * dP[i, j]
        for j in range(80):
            if j < n[i]:
                dS[i, j] = P[i, j] * (dP[i, j] - d[0])
            else:
                dS[i, j] = 0.0


@T.prim_func
def time_tiled_heat(U: T.Buffer((514,), "float32")):
    for to in range(5):
        for ti in range(4):
            N = T.alloc_buffer((514,), "float32")
            for io in range(8):
                for ii in range(64):
                    N[1 + io * 64 + ii] = (
                        0.25 * U[io * 64 + ii] + 0.5 * U[1 + io * 64 + ii] + 0.25 * U[2 + io * 64 + ii]
                    )
            for i in range(1, 513):
                U[i] = N[i]


@T.prim_func
def lut_gamma_rgb(
    I: T.Buffer((120, 160, 3), "uint8"), lut: T.Buffer((256,), "uint8"), O: T.Buffer((120, 160, 3), "uint8")
):
    for y, x, c in T.grid(120, 160, 3):
        O[y, x, c] = lut[T.cast(I[y, x, c], "int32")]


@T.prim_func
def two_pass_variance_cols(
    X: T.Buffer((400, 60), "float32"), m: T.Buffer((60,), "float32"), v: T.Buffer((60,), "float32")
):
    for j in range(60):
        m[j] = 0.0
        for i in range(400):
            m[j] = m[j] + X[i, j]
        m[j] = m[j] / 400.0
        v[j] = 0.0
        for i in range(400):
            d = X[i, j] - m[j]
            v[j] = v[j] + d * d
        v[j] = v[j] / 399.0


@T.prim_func
def nearest_palette(
    I: T.Buffer((64, 64, 3), "float32"), C: T.Buffer((16, 3), "float32"), O: T.Buffer((64, 64), "int32")
):
    for y, x in T.grid(64, 64):
        best = T.alloc_buffer((1,), "float32")
        best[0] = 1e30
        O[y, x] = 0
        for k in range(16):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for c in range(3):
                d[0] = d[0] + (I[y, x, c] - C[k, c]) * (I[y, x, c] - C[k, c])
            if d[0] < best[0]:
                best[0] = d[0]
                O[y, x] = k


@T.prim_func
def lower_tri_packed_times(
    L: T.Buffer((1275,), "float32"), x: T.Buffer((50,), "float32"), y: T.Buffer((50,), "float32")
):
    for i in range(50):
        y[i] = 0.0
        for j in range(i + 1):
            y[i] += L[i * (i + 1) // 2 + j] * x[j]


@T.prim_func
def edge_list_laplacian(
    src: T.Buffer((2000,), "int32"),
    dst: T.Buffer((2000,), "int32"),
    w: T.Buffer((2000,), "float32"),
    x: T.Buffer((300,), "float32"),
    y: T.Buffer((300,), "float32"),
):
    for i in range(300):
        y[i] = 0.0
    for e in range(2000):
        T.assume(src[e] >= 0 and src[e] < 300 and dst[e] >= 0 and dst[e] < 300)
        d = w[e] * (x[src[e]] - x[dst[e]])
        y[src[e]] += d
        y[dst[e]] -= d


@T.prim_func
def moving_median5(X: T.Buffer((2000,), "float32"), Y: T.Buffer((1996,), "float32")):
    for i in range(1996):
        a = T.alloc_buffer((5,), "float32")
        for k in range(5):
            a[k] = X[i + k]
        for p in range(1, 5):
            for q in range(4):
                if q < 5 - p:
                    lo = T.min(a[q], a[q + 1])
                    hi = T.max(a[q], a[q + 1])
                    a[q] = lo
                    a[q + 1] = hi
        Y[i] = a[2]


@T.prim_func
def pooled_pyramid(
    X: T.Buffer((64, 64), "float32"),
    A: T.Buffer((32, 32), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((8, 8), "float32"),
):
    for i, j in T.grid(32, 32):
        A[i, j] = 0.25 * (X[2 * i, 2 * j] + X[2 * i + 1, 2 * j] + X[2 * i, 2 * j + 1] + X[2 * i + 1, 2 * j + 1])
    for i, j in T.grid(16, 16):
        B[i, j] = 0.25 * (A[2 * i, 2 * j] + A[2 * i + 1, 2 * j] + A[2 * i, 2 * j + 1] + A[2 * i + 1, 2 * j + 1])
    for i, j in T.grid(8, 8):
        C[i, j] = 0.25 * (B[2 * i, 2 * j] + B[2 * i + 1, 2 * j] + B[2 * i, 2 * j + 1] + B[2 * i + 1, 2 * j + 1])


@T.prim_func
def last_seen_distance(X: T.Buffer((100, 400), "uint8"), D: T.Buffer((100, 400), "int32")):
    for r in range(100):
        last = T.alloc_buffer((1,), "int32")
        last[0] = -1000
        for i in range(400):
            if X[r, i] > T.uint8(200):
                last[0] = i
            D[r, i] = i - last[0]


@T.prim_func
def swap_halves(X: T.Buffer((128, 256), "float32")):
    for r in range(128):
        for i in range(128):
            t = X[r, i]
            X[r, i] = X[r, i + 128]
            X[r, i + 128] = t


@T.prim_func
def reverse_in_place(X: T.Buffer((3000,), "float32")):
    for i in range(1500):
        t = X[i]
        X[i] = X[2999 - i]
        X[2999 - i] = t


@T.prim_func
def gray_world_balance(I: T.Buffer((90, 120, 3), "float32"), O: T.Buffer((90, 120, 3), "float32")):
    m = T.alloc_buffer((3,), "float32")
    g = T.alloc_buffer((1,), "float32")
    for c in range(3):
        m[c] = 0.0
    for y, x in T.grid(90, 120):
        for c in range(3):
            m[c] = m[c] + I[y, x, c]
    g[0] = (m[0] + m[1] + m[2]) / 3.0
    for y, x, c in T.grid(90, 120, 3):
        O[y, x, c] = T.min(I[y, x, c] * (g[0] / T.max(m[c], 1e-6)), 1.0)


@T.prim_func
def sparse_dense_diag_scale(
    rp: T.Buffer((201,), "int32"),
    ci: T.Buffer((3000,), "int32"),
    v: T.Buffer((3000,), "float32"),
    d: T.Buffer((200,), "float32"),
    o: T.Buffer((3000,), "float32"),
):
    for i in range(200):
        T.assume(rp[i] >= 0 and rp[i] <= rp[i + 1] and rp[i + 1] <= 3000)
        for p in range(rp[i], rp[i + 1]):
            T.assume(ci[p] >= 0 and ci[p] < 200)
            o[p] = v[p] * d[i] * d[ci[p]]


@T.prim_func
def strassen_like_blocks(
    A: T.Buffer((2, 2, 32, 32), "float32"),
    B: T.Buffer((2, 2, 32, 32), "float32"),
    C: T.Buffer((2, 2, 32, 32), "float32"),
):
    for bi, bj in T.grid(2, 2):
        for i, j in T.grid(32, 32):
            C[bi, bj, i, j] = 0.0
        for bk in range(2):
            for i, j, k in T.grid(32, 32, 32):
                C[bi, bj, i, j] += A[bi, bk, i, k] * B[bk, bj, k, j]


@T.prim_func
def running_quantile_counts(
    X: T.Buffer((50, 300), "float32"), q: T.Buffer((9,), "float32"), N: T.Buffer((50, 10), "int32")
):
    for i in range(50):
        for k in range(10):
            N[i, k] = 0
        for j in range(300):
            b = T.alloc_buffer((1,), "int32")
            b[0] = 0
            for k in range(9):
                if X[i, j] >= q[k]:
                    b[0] = b[0] + 1
            N[i, b[0]] += 1


@T.prim_func
def levenshtein_full(a: T.Buffer((100,), "int32"), b: T.Buffer((120,), "int32"), D: T.Buffer((101, 121), "int32")):
    for i in range(101):
        D[i, 0] = i
    for j in range(121):
        D[0, j] = j
    for i in range(1, 101):
        for j in range(1, 121):
            c = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = T.min(T.min(D[i - 1, j] + 1, D[i, j - 1] + 1), D[i - 1, j - 1] + c)


@T.prim_func
def depth_to_disparity(
    D: T.Buffer((120, 160), "float32"), V: T.Buffer((120, 160), "bool"), O: T.Buffer((120, 160), "float32")
):
    for y, x in T.grid(120, 160):
        if V[y, x]:
            O[y, x] = 100.0 / T.max(D[y, x], 0.1)
        else:
            O[y, x] = 0.0


@T.prim_func
def knn_average(
    Q: T.Buffer((200, 3), "float32"),
    P: T.Buffer((400, 3), "float32"),
    V: T.Buffer((400,), "float32"),
    O: T.Buffer((200,), "float32"),
):
    for q in range(200):
        bd = T.alloc_buffer((4,), "float32")
        bi = T.alloc_buffer((4,), "int32")
        for k in range(4):
            bd[k] = 1e30
            bi[k] = 0
        for p in range(400):
            d = (
                (Q[q, 0] - P[p, 0]) * (Q[q, 0] - P[p, 0])
                + (Q[q, 1] - P[p, 1]) * (Q[q, 1] - P[p, 1])
                + (Q[q, 2] - P[p, 2]) * (Q[q, 2] - P[p, 2])
            )
            if d < bd[3]:
                bd[3] = d
                bi[3] = p
                for k in range(3):
                    if bd[3 - k] < bd[2 - k]:
                        t = bd[3 - k]
                        bd[3 - k] = bd[2 - k]
                        bd[2 - k] = t
                        u = bi[3 - k]
                        bi[3 - k] = bi[2 - k]
                        bi[2 - k] = u
        O[q] = 0.0
        for k in range(4):
            O[q] += V[bi[k]] * 0.25


@T.prim_func
def ewma_vol(R: T.Buffer((64, 500), "float32"), S: T.Buffer((64, 500), "float32")):
    for a in range(64):
        v = T.alloc_buffer((1,), "float32")
        v[0] = R[a, 0] * R[a, 0]
        S[a, 0] = T.sqrt(v[0])
        for t in range(1, 500):
            v[0] = 0.94 * v[0] + 0.06 * R[a, t] * R[a, t]
            S[a, t] = T.sqrt(v[0])


@T.prim_func
def rows_to_nchw8c(X: T.Buffer((2, 30, 28, 28), "float32"), Y: T.Buffer((2, 4, 28, 28, 8), "float32")):
    for n, co, y, x, ci in T.grid(2, 4, 28, 28, 8):
        if co * 8 + ci < 30:
            Y[n, co, y, x, ci] = X[n, co * 8 + ci, y, x]
        else:
            Y[n, co, y, x, ci] = 0.0


@T.prim_func
def nchw8c_pool(X: T.Buffer((2, 4, 28, 28, 8), "float32"), Y: T.Buffer((2, 4, 14, 14, 8), "float32")):
    for n, co, y, x, ci in T.grid(2, 4, 14, 14, 8):
        Y[n, co, y, x, ci] = -1e30
        for dy, dx in T.grid(3, 3):
            if 2 * y + dy - 1 >= 0 and 2 * x + dx - 1 >= 0:
                Y[n, co, y, x, ci] = T.max(Y[n, co, y, x, ci], X[n, co, 2 * y + dy - 1, 2 * x + dx - 1, ci])


@T.prim_func
def group_norm_relu(
    X: T.Buffer((4, 32, 196), "float32"),
    g: T.Buffer((32,), "float32"),
    b: T.Buffer((32,), "float32"),
    Y: T.Buffer((4, 32, 196), "float32"),
):
    for n in range(4):
        for gr in range(8):
            s = T.alloc_buffer((1,), "float32")
            q = T.alloc_buffer((1,), "float32")
            s[0] = 0.0
            q[0] = 0.0
            for c in range(4):
                for p in range(196):
                    s[0] += X[n, gr * 4 + c, p]
                    q[0] += X[n, gr * 4 + c, p] * X[n, gr * 4 + c, p]
            m = s[0] / 784.0
            r = T.rsqrt(q[0] / 784.0 - m * m + 1e-5)
            for c in range(4):
                for p in range(196):
                    Y[n, gr * 4 + c, p] = T.max((X[n, gr * 4 + c, p] - m) * r * g[gr * 4 + c] + b[gr * 4 + c], 0.0)


@T.prim_func
def coo_to_dense_rows(
    r: T.Buffer((3000,), "int32"),
    c: T.Buffer((3000,), "int32"),
    v: T.Buffer((3000,), "float32"),
    x: T.Buffer((256, 16), "float32"),
    Y: T.Buffer((200, 16), "float32"),
):
    for e in range(3000):
        T.assume(r[e] >= 0 and r[e] < 200)
        T.assume(c[e] >= 0 and c[e] < 256)
    for i, k in T.grid(200, 16):
        Y[i, k] = 0.0
    for e in range(3000):
        for k in range(16):
            Y[r[e], k] += v[e] * x[c[e], k]


@T.prim_func
def trapezoid_paths(f: T.Buffer((128, 257), "float32"), F: T.Buffer((128, 257), "float32")):
    for i in range(128):
        F[i, 0] = 0.0
        for t in range(1, 257):
            F[i, t] = F[i, t - 1] + 0.5 * 0.01 * (f[i, t] + f[i, t - 1])


@T.prim_func
def dilate3d(V: T.Buffer((32, 32, 32), "uint8"), W: T.Buffer((32, 32, 32), "uint8")):
    for z, y, x in T.grid(32, 32, 32):
        m = T.alloc_buffer((1,), "uint8")
        m[0] = T.uint8(0)
        for a, b, c in T.grid(3, 3, 3):
            if z + a >= 1 and z + a <= 32 and y + b >= 1 and y + b <= 32 and x + c >= 1 and x + c <= 32:
                m[0] = T.max(m[0], V[z + a - 1, y + b - 1, x + c - 1])
        W[z, y, x] = m[0]


@T.prim_func
def quant_per_channel(
    W: T.Buffer((256, 300), "float32"), Q: T.Buffer((256, 300), "int8"), S: T.Buffer((256,), "float32")
):
    for o in range(256):
        S[o] = 0.0
        for i in range(300):
            S[o] = T.max(S[o], T.abs(W[o, i]))
        S[o] = T.max(S[o] / 127.0, 1e-8)
        for i in range(300):
            Q[o, i] = T.cast(T.min(T.max(T.round(W[o, i] / S[o]), -127.0), 127.0), "int8")


@T.prim_func
def spring_network(
    X: T.Buffer((300, 3), "float32"),
    e: T.Buffer((900, 2), "int32"),
    L: T.Buffer((900,), "float32"),
    F: T.Buffer((300, 3), "float32"),
):
    for k in range(900):
        T.assume(e[k, 0] >= 0 and e[k, 0] < 300 and e[k, 1] >= 0 and e[k, 1] < 300)
    for i, d in T.grid(300, 3):
        F[i, d] = 0.0
    for k in range(900):
        dx = X[e[k, 1], 0] - X[e[k, 0], 0]
        dy = X[e[k, 1], 1] - X[e[k, 0], 1]
        dz = X[e[k, 1], 2] - X[e[k, 0], 2]
        l = T.sqrt(dx * dx + dy * dy + dz * dz + 1e-12)
        s = 10.0 * (l - L[k]) / l
        F[e[k, 0], 0] += s * dx
        F[e[k, 0], 1] += s * dy
        F[e[k, 0], 2] += s * dz
        F[e[k, 1], 0] -= s * dx
        F[e[k, 1], 1] -= s * dy
        F[e[k, 1], 2] -= s * dz


@T.prim_func
def gru_seq(
    X: T.Buffer((50, 8, 32), "float32"),
    Wz: T.Buffer((64, 32), "float32"),
    Wr: T.Buffer((64, 32), "float32"),
    Wh: T.Buffer((64, 32), "float32"),
    H: T.Buffer((51, 8, 32), "float32"),
):
    for b, j in T.grid(8, 32):
        H[0, b, j] = 0.0
    for t in range(50):
        for b in range(8):
            z = T.alloc_buffer((32,), "float32")
            r = T.alloc_buffer((32,), "float32")
            for j in range(32):
                z[j] = 0.0
                r[j] = 0.0
                for k in range(32):
                    z[j] += X[t, b, k] * Wz[k, j] + H[t, b, k] * Wz[32 + k, j]
                    r[j] += X[t, b, k] * Wr[k, j] + H[t, b, k] * Wr[32 + k, j]
                z[j] = 1.0 / (1.0 + T.exp(-z[j]))
                r[j] = 1.0 / (1.0 + T.exp(-r[j]))
            for j in range(32):
                h = T.alloc_buffer((1,), "float32")
                h[0] = 0.0
                for k in range(32):
                    h[0] += X[t, b, k] * Wh[k, j] + r[k] * H[t, b, k] * Wh[32 + k, j]
                H[t + 1, b, j] = (1.0 - z[j]) * H[t, b, j] + z[j] * T.tanh(h[0])


@T.prim_func
def crossing_number(P: T.Buffer((500, 2), "float32"), V: T.Buffer((40, 2), "float32"), I: T.Buffer((500,), "int32")):
    for p in range(500):
        c = T.alloc_buffer((1,), "int32")
        c[0] = 0
        for k in range(40):
            if (V[k, 1] > P[p, 1]) != (V[(k + 1) % 40, 1] > P[p, 1]):
                if (
                    P[p, 0]
                    < (V[(k + 1) % 40, 0] - V[k, 0]) * (P[p, 1] - V[k, 1]) / (V[(k + 1) % 40, 1] - V[k, 1]) + V[k, 0]
                ):
                    c[0] = 1 - c[0]
        I[p] = c[0]


@T.prim_func
def lcs_length(a: T.Buffer((200,), "int32"), b: T.Buffer((220,), "int32"), L: T.Buffer((201, 221), "int32")):
    for i in range(201):
        L[i, 0] = 0
    for j in range(221):
        L[0, j] = 0
    for i in range(1, 201):
        for j in range(1, 221):
            if a[i - 1] == b[j - 1]:
                L[i, j] = L[i - 1, j - 1] + 1
            else:
                L[i, j] = T.max(L[i - 1, j], L[i, j - 1])


@T.prim_func
def ssd_template(I: T.Buffer((80, 80), "float32"), K: T.Buffer((12, 12), "float32"), S: T.Buffer((69, 69), "float32")):
    for y, x in T.grid(69, 69):
        S[y, x] = 0.0
        for v, u in T.grid(12, 12):
            S[y, x] += (I[y + v, x + u] - K[v, u]) * (I[y + v, x + u] - K[v, u])


@T.prim_func
def rope_rotate(
    X: T.Buffer((8, 128, 64), "float32"),
    C: T.Buffer((128, 32), "float32"),
    S: T.Buffer((128, 32), "float32"),
    Y: T.Buffer((8, 128, 64), "float32"),
):
    for h, t, d in T.grid(8, 128, 32):
        Y[h, t, 2 * d] = X[h, t, 2 * d] * C[t, d] - X[h, t, 2 * d + 1] * S[t, d]
        Y[h, t, 2 * d + 1] = X[h, t, 2 * d] * S[t, d] + X[h, t, 2 * d + 1] * C[t, d]


@T.prim_func
def histogram2d(x: T.Buffer((5000,), "float32"), y: T.Buffer((5000,), "float32"), H: T.Buffer((32, 32), "int32")):
    for i, j in T.grid(32, 32):
        H[i, j] = 0
    for k in range(5000):
        if x[k] >= 0.0 and x[k] < 1.0 and y[k] >= 0.0 and y[k] < 1.0:
            i = T.cast(x[k] * 32.0, "int32")
            j = T.cast(y[k] * 32.0, "int32")
            H[i, j] += 1


@T.prim_func
def bc_upwind(u: T.Buffer((1000,), "float32"), a: T.Buffer((1000,), "float32")):
    for t in range(40):
        n = T.alloc_buffer((1000,), "float32")
        for i in range(1000):
            l = u[i] - u[(i + 999) % 1000]
            r = u[(i + 1) % 1000] - u[i]
            n[i] = u[i] - 0.4 * (T.max(a[i], 0.0) * l + T.min(a[i], 0.0) * r)
        for i in range(1000):
            u[i] = n[i]


@T.prim_func
def lowrank_update(
    A: T.Buffer((150, 150), "float32"),
    U: T.Buffer((150, 4), "float32"),
    V: T.Buffer((150, 4), "float32"),
    x: T.Buffer((150,), "float32"),
    y: T.Buffer((150,), "float32"),
):
    for i, j in T.grid(150, 150):
        for k in range(4):
            A[i, j] += U[i, k] * V[j, k]
    for i in range(150):
        y[i] = 0.0
        for j in range(150):
            y[i] += A[i, j] * x[j]


@T.prim_func
def median3x3(I: T.Buffer((64, 64), "float32"), O: T.Buffer((62, 62), "float32")):
    for y, x in T.grid(62, 62):
        w = T.alloc_buffer((9,), "float32")
        for v, u in T.grid(3, 3):
            w[v * 3 + u] = I[y + v, x + u]
        for a in range(5):
            for b in range(a + 1, 9):
                lo = T.min(w[a], w[b])
                hi = T.max(w[a], w[b])
                w[a] = lo
                w[b] = hi
        O[y, x] = w[4]


@T.prim_func
def pagerank_dense(A: T.Buffer((200, 200), "float32"), p: T.Buffer((200,), "float32")):
    d = T.alloc_buffer((200,), "float32")
    for j in range(200):
        d[j] = 0.0
        for i in range(200):
            d[j] += A[i, j]
    for i in range(200):
        p[i] = 1.0 / 200.0
    for t in range(20):
        q = T.alloc_buffer((200,), "float32")
        for i in range(200):
            q[i] = 0.15 / 200.0
            for j in range(200):
                if d[j] > 0.0:
                    q[i] += 0.85 * A[i, j] * p[j] / d[j]
                else:
                    q[i] += 0.85 * p[j] / 200.0
        for i in range(200):
            p[i] = q[i]


@T.prim_func
def packed_triangle_matvec(
    P: T.Buffer((11325,), "float32"), x: T.Buffer((150,), "float32"), y: T.Buffer((150,), "float32")
):
    for i in range(150):
        y[i] = 0.0
        for j in range(150):
            if j <= i:
                y[i] += P[i * (i + 1) // 2 + j] * x[j]
            else:
                y[i] += P[j * (j + 1) // 2 + i] * x[j]


@T.prim_func
def label_counts_by_row(
    L: T.Buffer((100, 300), "int32"), C: T.Buffer((100, 10), "int32"), M: T.Buffer((100,), "int32")
):
    for i, j in T.grid(100, 300):
        T.assume(L[i, j] >= 0 and L[i, j] < 10)
    for i in range(100):
        for k in range(10):
            C[i, k] = 0
        for j in range(300):
            C[i, L[i, j]] += 1
        M[i] = 0
        for k in range(1, 10):
            if C[i, k] > C[i, M[i]]:
                M[i] = k


@T.prim_func
def wavelet_levels(X: T.Buffer((32, 256), "float32")):
    for r in range(32):
        for l in range(3):
            t = T.alloc_buffer((256,), "float32")
            for i in range(128 // (1 << l)):
                t[i] = (X[r, 2 * i] + X[r, 2 * i + 1]) * 0.70710677
                t[128 // (1 << l) + i] = (X[r, 2 * i] - X[r, 2 * i + 1]) * 0.70710677
            for i in range(256 // (1 << l)):
                X[r, i] = t[i]


@T.prim_func
def soft_dtw_step(A: T.Buffer((60, 8), "float32"), B: T.Buffer((70, 8), "float32"), R: T.Buffer((61, 71), "float32")):
    for i, j in T.grid(61, 71):
        R[i, j] = 1e10
    R[0, 0] = 0.0
    for i in range(1, 61):
        for j in range(1, 71):
            d = T.alloc_buffer((1,), "float32")
            d[0] = 0.0
            for k in range(8):
                d[0] += (A[i - 1, k] - B[j - 1, k]) * (A[i - 1, k] - B[j - 1, k])
            m = T.min(R[i - 1, j - 1], T.min(R[i - 1, j], R[i, j - 1]))
            R[i, j] = (
                d[0]
                + m
                - 0.1
                * T.log(
                    T.exp((m - R[i - 1, j - 1]) / 0.1) + T.exp((m - R[i - 1, j]) / 0.1) + T.exp((m - R[i, j - 1]) / 0.1)
                )
            )


@T.prim_func
def conv1d_causal_dilated(
    X: T.Buffer((16, 400), "float32"), W: T.Buffer((16, 16, 3), "float32"), Y: T.Buffer((16, 400), "float32")
):
    for o, t in T.grid(16, 400):
        Y[o, t] = 0.0
        for c, k in T.grid(16, 3):
            if t - 4 * k >= 0:
                Y[o, t] += W[o, c, k] * X[c, t - 4 * k]


@T.prim_func
def ragged_max_pool(
    X: T.Buffer((40, 64, 16), "float32"), n: T.Buffer((40,), "int32"), Y: T.Buffer((40, 16), "float32")
):
    for b in range(40):
        T.assume(n[b] >= 1 and n[b] <= 64)
    for b in range(40):
        for d in range(16):
            Y[b, d] = X[b, 0, d]
            for t in range(1, 64):
                if t < n[b]:
                    Y[b, d] = T.max(Y[b, d], X[b, t, d])


@T.prim_func
def moving_std(X: T.Buffer((50, 1000), "float32"), S: T.Buffer((50, 981), "float32")):
    for r, t in T.grid(50, 981):
        s = T.alloc_buffer((2,), "float32")
        s[0] = 0.0
        s[1] = 0.0
        for k in range(20):
            s[0] += X[r, t + k]
            s[1] += X[r, t + k] * X[r, t + k]
        S[r, t] = T.sqrt(T.max(s[1] / 20.0 - (s[0] / 20.0) * (s[0] / 20.0), 0.0))


@T.prim_func
def block_sums_then_scan(X: T.Buffer((4096,), "int32"), B: T.Buffer((64,), "int32"), Y: T.Buffer((4096,), "int32")):
    for b in range(64):
        B[b] = 0
        for i in range(64):
            B[b] += X[b * 64 + i]
    for b in range(64):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for k in range(b):
            s[0] += B[k]
        for i in range(64):
            s[0] += X[b * 64 + i]
            Y[b * 64 + i] = s[0]


@T.prim_func
def euler_rigid(Q: T.Buffer((100, 4), "float32"), W: T.Buffer((100, 3), "float32")):
    for b in range(100):
        for t in range(50):
            q0 = Q[b, 0]
            q1 = Q[b, 1]
            q2 = Q[b, 2]
            q3 = Q[b, 3]
            Q[b, 0] = q0 - 0.005 * (W[b, 0] * q1 + W[b, 1] * q2 + W[b, 2] * q3)
            Q[b, 1] = q1 + 0.005 * (W[b, 0] * q0 + W[b, 2] * q2 - W[b, 1] * q3)
            Q[b, 2] = q2 + 0.005 * (W[b, 1] * q0 - W[b, 2] * q1 + W[b, 0] * q3)
            Q[b, 3] = q3 + 0.005 * (W[b, 2] * q0 + W[b, 1] * q1 - W[b, 0] * q2)
            n = T.rsqrt(Q[b, 0] * Q[b, 0] + Q[b, 1] * Q[b, 1] + Q[b, 2] * Q[b, 2] + Q[b, 3] * Q[b, 3])
            for k in range(4):
                Q[b, k] = Q[b, k] * n


@T.prim_func
def padded_batch_matvec(
    A: T.Buffer((20, 48, 48), "float32"),
    m: T.Buffer((20,), "int32"),
    x: T.Buffer((20, 48), "float32"),
    y: T.Buffer((20, 48), "float32"),
):
    for b in range(20):
        T.assume(m[b] >= 0 and m[b] <= 48)
    for b, i in T.grid(20, 48):
        T.assume(i < m[b] or x[b, i] == 0.0)
    for b, i in T.grid(20, 48):
        y[b, i] = 0.0
        for j in range(48):
            if j < m[b]:
                y[b, i] += A[b, i, j] * x[b, j]


@T.prim_func
def contact_pairs(
    X: T.Buffer((250,), "float32"),
    Y: T.Buffer((250,), "float32"),
    R: T.Buffer((250,), "float32"),
    N: T.Buffer((250,), "int32"),
    E: T.Buffer((1,), "float32"),
):
    E[0] = 0.0
    for i in range(250):
        N[i] = 0
    for i in range(250):
        for j in range(i + 1, 250):
            dx = X[i] - X[j]
            dy = Y[i] - Y[j]
            d = R[i] + R[j] - T.sqrt(dx * dx + dy * dy)
            if d > 0.0:
                N[i] += 1
                N[j] += 1
                E[0] += 0.5 * d * d


@T.prim_func
def bandpass_biquad(X: T.Buffer((16, 800), "float32"), c: T.Buffer((5,), "float32"), Y: T.Buffer((16, 800), "float32")):
    for r in range(16):
        Y[r, 0] = c[0] * X[r, 0]
        Y[r, 1] = c[0] * X[r, 1] + c[1] * X[r, 0] - c[3] * Y[r, 0]
        for t in range(2, 800):
            Y[r, t] = c[0] * X[r, t] + c[1] * X[r, t - 1] + c[2] * X[r, t - 2] - c[3] * Y[r, t - 1] - c[4] * Y[r, t - 2]


@T.prim_func
def nearest_upsample_add(
    A: T.Buffer((16, 20, 20), "float32"), B: T.Buffer((16, 40, 40), "float32"), C: T.Buffer((16, 40, 40), "float32")
):
    for c, y, x in T.grid(16, 40, 40):
        C[c, y, x] = A[c, y // 2, x // 2] + B[c, y, x]


@T.prim_func
def max_subarray_rows(X: T.Buffer((300, 400), "float32"), M: T.Buffer((300,), "float32")):
    for r in range(300):
        best = T.alloc_buffer((1,), "float32")
        cur = T.alloc_buffer((1,), "float32")
        best[0] = X[r, 0]
        cur[0] = X[r, 0]
        for i in range(1, 400):
            cur[0] = T.max(X[r, i], cur[0] + X[r, i])
            best[0] = T.max(best[0], cur[0])
        M[r] = best[0]


@T.prim_func
def csr_row_softmax(rp: T.Buffer((201,), "int32"), v: T.Buffer((2400,), "float32"), o: T.Buffer((2400,), "float32")):
    for i in range(200):
        T.assume(rp[i] >= 0 and rp[i] <= rp[i + 1] and rp[i + 1] <= 2400)
    for i in range(200):
        m = T.alloc_buffer((1,), "float32")
        z = T.alloc_buffer((1,), "float32")
        m[0] = -1e30
        for e in range(rp[i], rp[i + 1]):
            m[0] = T.max(m[0], v[e])
        z[0] = 0.0
        for e in range(rp[i], rp[i + 1]):
            z[0] += T.exp(v[e] - m[0])
        for e in range(rp[i], rp[i + 1]):
            o[e] = T.exp(v[e] - m[0]) / z[0]


@T.prim_func
def vertex_normals(V: T.Buffer((400, 3), "float32"), f: T.Buffer((700, 3), "int32"), N: T.Buffer((400, 3), "float32")):
    for k, c in T.grid(700, 3):
        T.assume(f[k, c] >= 0 and f[k, c] < 400)
    for i, d in T.grid(400, 3):
        N[i, d] = 0.0
    for k in range(700):
        ax = V[f[k, 1], 0] - V[f[k, 0], 0]
        ay = V[f[k, 1], 1] - V[f[k, 0], 1]
        az = V[f[k, 1], 2] - V[f[k, 0], 2]
        bx = V[f[k, 2], 0] - V[f[k, 0], 0]
        by = V[f[k, 2], 1] - V[f[k, 0], 1]
        bz = V[f[k, 2], 2] - V[f[k, 0], 2]
        for c in range(3):
            N[f[k, c], 0] += ay * bz - az * by
            N[f[k, c], 1] += az * bx - ax * bz
            N[f[k, c], 2] += ax * by - ay * bx
    for i in range(400):
        l = T.sqrt(N[i, 0] * N[i, 0] + N[i, 1] * N[i, 1] + N[i, 2] * N[i, 2]) + 1e-9
        N[i, 0] = N[i, 0] / l
        N[i, 1] = N[i, 1] / l
        N[i, 2] = N[i, 2] / l


@T.prim_func
def lj_cutoff_pbc(X: T.Buffer((180, 3), "float32"), F: T.Buffer((180, 3), "float32"), E: T.Buffer((1,), "float32")):
    E[0] = 0.0
    for i, d in T.grid(180, 3):
        F[i, d] = 0.0
    for i in range(180):
        for j in range(180):
            if j != i:
                dx = X[i, 0] - X[j, 0]
                dy = X[i, 1] - X[j, 1]
                dz = X[i, 2] - X[j, 2]
                dx = dx - 8.0 * T.round(dx / 8.0)
                dy = dy - 8.0 * T.round(dy / 8.0)
                dz = dz - 8.0 * T.round(dz / 8.0)
                r2 = dx * dx + dy * dy + dz * dz + 0.5
                if r2 < 6.25:
                    s = 1.0 / r2
                    s6 = s * s * s
                    g = 24.0 * s * s6 * (2.0 * s6 - 1.0)
                    F[i, 0] += g * dx
                    F[i, 1] += g * dy
                    F[i, 2] += g * dz
                    E[0] += 2.0 * s6 * (s6 - 1.0)


@T.prim_func
def hsv_from_rgb(I: T.Buffer((3, 100, 100), "float32"), O: T.Buffer((3, 100, 100), "float32")):
    for y, x in T.grid(100, 100):
        r = I[0, y, x]
        g = I[1, y, x]
        b = I[2, y, x]
        m = T.max(r, T.max(g, b))
        n = T.min(r, T.min(g, b))
        d = m - n
        h = T.alloc_buffer((1,), "float32")
        h[0] = 0.0
        if d > 1e-6:
            if m == r:
                h[0] = (g - b) / d
                if h[0] < 0.0:
                    h[0] = h[0] + 6.0
            else:
                if m == g:
                    h[0] = (b - r) / d + 2.0
                else:
                    h[0] = (r - g) / d + 4.0
        O[0, y, x] = h[0] / 6.0
        O[1, y, x] = 0.0
        if m > 0.0:
            O[1, y, x] = d / m
        O[2, y, x] = m


@T.prim_func
def mlp_adam_step(
    X: T.Buffer((64, 20), "float32"),
    y: T.Buffer((64,), "float32"),
    W: T.Buffer((20, 32), "float32"),
    v: T.Buffer((32,), "float32"),
    M: T.Buffer((20, 32), "float32"),
    S: T.Buffer((20, 32), "float32"),
):
    H = T.alloc_buffer((64, 32), "float32")
    e = T.alloc_buffer((64,), "float32")
    for b in range(64):
        for j in range(32):
            H[b, j] = 0.0
            for k in range(20):
                H[b, j] += X[b, k] * W[k, j]
            H[b, j] = T.max(H[b, j], 0.0)
        e[b] = -y[b]
        for j in range(32):
            e[b] += H[b, j] * v[j]
    for k, j in T.grid(20, 32):
        g = T.alloc_buffer((1,), "float32")
        g[0] = 0.0
        for b in range(64):
            if H[b, j] > 0.0:
                g[0] += e[b] * v[j] * X[b, k] / 64.0
        M[k, j] = 0.9 * M[k, j] + 0.1 * g[0]
        S[k, j] = 0.999 * S[k, j] + 0.001 * g[0] * g[0]
        W[k, j] = W[k, j] - 0.001 * M[k, j] / (T.sqrt(S[k, j]) + 1e-8)


@T.prim_func
def jacobi_masked(U: T.Buffer((66, 66), "float32"), K: T.Buffer((66, 66), "int32"), B: T.Buffer((66, 66), "float32")):
    for t in range(20):
        N = T.alloc_buffer((66, 66), "float32")
        for i in range(1, 65):
            for j in range(1, 65):
                if K[i, j] == 0:
                    N[i, j] = 0.25 * (U[i - 1, j] + U[i + 1, j] + U[i, j - 1] + U[i, j + 1] - B[i, j])
                else:
                    N[i, j] = U[i, j]
        for i in range(1, 65):
            for j in range(1, 65):
                U[i, j] = N[i, j]


@T.prim_func
def block_diag_matmul(
    A: T.Buffer((12, 16, 16), "float32"), X: T.Buffer((192, 40), "float32"), Y: T.Buffer((192, 40), "float32")
):
    for i, c in T.grid(192, 40):
        Y[i, c] = 0.0
        for k in range(16):
            Y[i, c] += A[i // 16, i % 16, k] * X[i // 16 * 16 + k, c]


@T.prim_func
def toeplitz_solve_apply(
    t: T.Buffer((399,), "float32"), x: T.Buffer((200,), "float32"), y: T.Buffer((200,), "float32")
):
    for i in range(200):
        y[i] = 0.0
        for j in range(200):
            y[i] += t[i - j + 199] * x[j]


@T.prim_func
def strided_slices_sum(A: T.Buffer((64, 300), "float32"), S: T.Buffer((64, 3), "float32")):
    for r, p in T.grid(64, 3):
        S[r, p] = 0.0
        for k in range(100):
            S[r, p] += A[r, 3 * k + p]


@T.prim_func
def double_pendulum(s: T.Buffer((256, 4), "float32")):
    for b in range(256):
        for t in range(60):
            a = s[b, 0] - s[b, 1]
            c = T.cos(a)
            d = 2.0 - c * c
            f1 = -s[b, 3] * s[b, 3] * T.sin(a) - 19.62 * T.sin(s[b, 0])
            f2 = s[b, 2] * s[b, 2] * T.sin(a) - 9.81 * T.sin(s[b, 1])
            w1 = (f1 - c * f2) / d
            w2 = (2.0 * f2 - c * f1) / d
            s[b, 2] = s[b, 2] + 0.01 * w1
            s[b, 3] = s[b, 3] + 0.01 * w2
            s[b, 0] = s[b, 0] + 0.01 * s[b, 2]
            s[b, 1] = s[b, 1] + 0.01 * s[b, 3]


@T.prim_func
def sobel_magnitude(I: T.Buffer((128, 128), "float32"), G: T.Buffer((128, 128), "float32")):
    for y, x in T.grid(128, 128):
        if y == 0 or x == 0 or y == 127 or x == 127:
            G[y, x] = 0.0
        else:
            gx = (
                I[y - 1, x + 1]
                + 2.0 * I[y, x + 1]
                + I[y + 1, x + 1]
                - I[y - 1, x - 1]
                - 2.0 * I[y, x - 1]
                - I[y + 1, x - 1]
            )
            gy = (
                I[y + 1, x - 1]
                + 2.0 * I[y + 1, x]
                + I[y + 1, x + 1]
                - I[y - 1, x - 1]
                - 2.0 * I[y - 1, x]
                - I[y - 1, x + 1]
            )
            G[y, x] = T.sqrt(gx * gx + gy * gy)


@T.prim_func
def binomial_american(S0: T.Buffer((50,), "float32"), P: T.Buffer((50,), "float32")):
    for o in range(50):
        v = T.alloc_buffer((129,), "float32")
        for i in range(129):
            v[i] = T.max(100.0 - S0[o] * T.exp(0.02 * T.cast(2 * i - 128, "float32")), 0.0)
        for t in range(128):
            for i in range(128 - t):
                s = S0[o] * T.exp(0.02 * T.cast(2 * i - (127 - t), "float32"))
                v[i] = T.max(0.9998 * (0.49 * v[i] + 0.51 * v[i + 1]), 100.0 - s)
        P[o] = v[0]


@T.prim_func
def bincount_weighted_2(
    k: T.Buffer((4000,), "int32"),
    w: T.Buffer((4000,), "float32"),
    C: T.Buffer((64,), "float32"),
    M: T.Buffer((64,), "float32"),
):
    for i in range(4000):
        T.assume(k[i] >= 0 and k[i] < 64)
    n = T.alloc_buffer((64,), "float32")
    for b in range(64):
        C[b] = 0.0
        n[b] = 0.0
    for i in range(4000):
        C[k[i]] += w[i]
        n[k[i]] += 1.0
    for b in range(64):
        M[b] = T.if_then_else(n[b] > 0.0, C[b] / n[b], 0.0)


@T.prim_func
def attention_alibi(
    Q: T.Buffer((4, 64, 32), "float32"),
    K: T.Buffer((4, 64, 32), "float32"),
    V: T.Buffer((4, 64, 32), "float32"),
    O: T.Buffer((4, 64, 32), "float32"),
):
    for h in range(4):
        for i in range(64):
            s = T.alloc_buffer((64,), "float32")
            m = T.alloc_buffer((1,), "float32")
            z = T.alloc_buffer((1,), "float32")
            m[0] = -1e30
            for j in range(i + 1):
                s[j] = -0.1 * T.cast(h + 1, "float32") * T.cast(i - j, "float32")
                for d in range(32):
                    s[j] += 0.17 * Q[h, i, d] * K[h, j, d]
                m[0] = T.max(m[0], s[j])
            z[0] = 0.0
            for d in range(32):
                O[h, i, d] = 0.0
            for j in range(i + 1):
                p = T.exp(s[j] - m[0])
                z[0] += p
                for d in range(32):
                    O[h, i, d] += p * V[h, j, d]
            for d in range(32):
                O[h, i, d] = O[h, i, d] / z[0]


@T.prim_func
def kalman_1d(z: T.Buffer((200, 64), "float32"), X: T.Buffer((200, 64), "float32")):
    for b in range(64):
        x = T.alloc_buffer((1,), "float32")
        p = T.alloc_buffer((1,), "float32")
        x[0] = 0.0
        p[0] = 1.0
        for t in range(200):
            q = p[0] + 0.01
            k = q / (q + 0.5)
            x[0] = x[0] + k * (z[t, b] - x[0])
            p[0] = (1.0 - k) * q
            X[t, b] = x[0]


@T.prim_func
def pack_bits(A: T.Buffer((64, 256), "int32"), P: T.Buffer((64, 32), "uint8")):
    for r, c in T.grid(64, 32):
        P[r, c] = T.uint8(0)
        for k in range(8):
            if A[r, 8 * c + k] > 0:
                P[r, c] = P[r, c] | (T.uint8(1) << T.cast(7 - k, "uint8"))


@T.prim_func
def ssim_means(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), S: T.Buffer((57, 57), "float32")):
    for y, x in T.grid(57, 57):
        a = T.alloc_buffer((5,), "float32")
        for k in range(5):
            a[k] = 0.0
        for v, u in T.grid(8, 8):
            a[0] += A[y + v, x + u]
            a[1] += B[y + v, x + u]
            a[2] += A[y + v, x + u] * A[y + v, x + u]
            a[3] += B[y + v, x + u] * B[y + v, x + u]
            a[4] += A[y + v, x + u] * B[y + v, x + u]
        m = a[0] / 64.0
        n = a[1] / 64.0
        S[y, x] = (
            (2.0 * m * n + 0.01)
            * (2.0 * (a[4] / 64.0 - m * n) + 0.03)
            / ((m * m + n * n + 0.01) * (a[2] / 64.0 - m * m + a[3] / 64.0 - n * n + 0.03))
        )


@T.prim_func
def cg_dense(A: T.Buffer((96, 96), "float32"), b: T.Buffer((96,), "float32"), x: T.Buffer((96,), "float32")):
    r = T.alloc_buffer((96,), "float32")
    p = T.alloc_buffer((96,), "float32")
    q = T.alloc_buffer((96,), "float32")
    s = T.alloc_buffer((1,), "float32")
    s[0] = 0.0
    for i in range(96):
        x[i] = 0.0
        r[i] = b[i]
        p[i] = b[i]
        s[0] += b[i] * b[i]
    for t in range(30):
        d = T.alloc_buffer((1,), "float32")
        n = T.alloc_buffer((1,), "float32")
        d[0] = 0.0
        for i in range(96):
            q[i] = 0.0
            for j in range(96):
                q[i] += A[i, j] * p[j]
            d[0] += p[i] * q[i]
        al = s[0] / (d[0] + 1e-12)
        n[0] = 0.0
        for i in range(96):
            x[i] += al * p[i]
            r[i] -= al * q[i]
            n[0] += r[i] * r[i]
        be = n[0] / (s[0] + 1e-12)
        for i in range(96):
            p[i] = r[i] + be * p[i]
        s[0] = n[0]


@T.prim_func
def deinterleave_complex_mag(
    Z: T.Buffer((40, 512), "float32"), M: T.Buffer((40, 256), "float32"), P: T.Buffer((40,), "float32")
):
    for r in range(40):
        P[r] = 0.0
        for k in range(256):
            M[r, k] = T.sqrt(Z[r, 2 * k] * Z[r, 2 * k] + Z[r, 2 * k + 1] * Z[r, 2 * k + 1])
            P[r] = T.max(P[r], M[r, k])


@T.prim_func
def gather_padded_neighbors(
    X: T.Buffer((300, 16), "float32"), n: T.Buffer((300, 8), "int32"), Y: T.Buffer((300, 16), "float32")
):
    for i, k in T.grid(300, 8):
        T.assume(n[i, k] >= -1 and n[i, k] < 300)
    for i in range(300):
        c = T.alloc_buffer((1,), "int32")
        c[0] = 0
        for d in range(16):
            Y[i, d] = 0.0
        for k in range(8):
            if n[i, k] >= 0:
                c[0] = c[0] + 1
                for d in range(16):
                    Y[i, d] += X[n[i, k], d]
        for d in range(16):
            Y[i, d] = Y[i, d] / T.cast(T.max(c[0], 1), "float32")


@T.prim_func
def conv_transpose_2d(
    X: T.Buffer((8, 16, 16), "float32"), W: T.Buffer((8, 4, 3, 3), "float32"), Y: T.Buffer((4, 33, 33), "float32")
):
    for o, y, x in T.grid(4, 33, 33):
        Y[o, y, x] = 0.0
    for c, y, x in T.grid(8, 16, 16):
        for o, v, u in T.grid(4, 3, 3):
            Y[o, 2 * y + v, 2 * x + u] += X[c, y, x] * W[c, o, v, u]


@T.prim_func
def monotone_envelope(
    X: T.Buffer((100, 300), "float32"), U: T.Buffer((100, 300), "float32"), L: T.Buffer((100, 300), "float32")
):
    for r in range(100):
        U[r, 0] = X[r, 0]
        for t in range(1, 300):
            U[r, t] = T.max(X[r, t], U[r, t - 1] * 0.98)
        L[r, 299] = X[r, 299]
        for t in range(299):
            L[r, 298 - t] = T.min(X[r, 298 - t], L[r, 299 - t])


@T.prim_func
def topk_gate(G: T.Buffer((256, 16), "float32"), I: T.Buffer((256, 2), "int32"), W: T.Buffer((256, 2), "float32")):
    for t in range(256):
        b = T.alloc_buffer((2,), "float32")
        b[0] = -1e30
        b[1] = -1e30
        I[t, 0] = 0
        I[t, 1] = 0
        for e in range(16):
            if G[t, e] > b[0]:
                b[1] = b[0]
                I[t, 1] = I[t, 0]
                b[0] = G[t, e]
                I[t, 0] = e
            else:
                if G[t, e] > b[1]:
                    b[1] = G[t, e]
                    I[t, 1] = e
        z = T.exp(b[1] - b[0])
        W[t, 0] = 1.0 / (1.0 + z)
        W[t, 1] = z / (1.0 + z)


@T.prim_func
def int8_gemm_zero_points(
    A: T.Buffer((64, 96), "uint8"), B: T.Buffer((96, 48), "int8"), C: T.Buffer((64, 48), "uint8")
):
    for i, j in T.grid(64, 48):
        s = T.alloc_buffer((1,), "int32")
        s[0] = 0
        for k in range(96):
            s[0] += (T.cast(A[i, k], "int32") - 128) * (T.cast(B[k, j], "int32") - 3)
        C[i, j] = T.cast(T.min(T.max(T.round(T.cast(s[0], "float32") * 0.002) + 128.0, 0.0), 255.0), "uint8")


@T.prim_func
def hessian_eigs(
    I: T.Buffer((200, 300), "float32"), big: T.Buffer((200, 300), "float32"), small: T.Buffer((200, 300), "float32")
):
    for i, j in T.grid(200, 300):
        big[i, j] = 0.0
    for i, j in T.grid(200, 300):
        small[i, j] = 0.0
    for y in T.serial(1, 199):
        for x in T.serial(1, 299):
            xx = I[y, x + 1] - 2.0 * I[y, x] + I[y, x - 1]
            yy = I[y + 1, x] - 2.0 * I[y, x] + I[y - 1, x]
            xy = (I[y + 1, x + 1] - I[y + 1, x - 1] - I[y - 1, x + 1] + I[y - 1, x - 1]) / 4.0
            mean = (xx + yy) / 2.0
            root = T.sqrt(T.cast((xx - yy) * (xx - yy) / 4.0 + xy * xy, "float64"))
            big[y, x] = mean + T.cast(root, "float32")
            small[y, x] = mean - T.cast(root, "float32")


@T.prim_func
def chambolle_tv(G: T.Buffer((96, 128), "float32"), lam: T.float64, out: T.Buffer((96, 128), "float32")):
    px = T.alloc_buffer((96, 128), "float32")
    for i, j in T.grid(96, 128):
        px[i, j] = 0.0
    py = T.alloc_buffer((96, 128), "float32")
    for i, j in T.grid(96, 128):
        py[i, j] = 0.0
    u = T.alloc_buffer((96, 128), "float32")
    for i, j in T.grid(96, 128):
        u[i, j] = 0.0
    for s in T.serial(12):
        for i, j in T.grid(96, 128):
            d = T.alloc_buffer((), "float32")
            d[()] = px[i, j] + py[i, j]
            if j > 0:
                d[()] = d[()] - px[i, j - 1]
            if i > 0:
                d[()] = d[()] - py[i - 1, j]
            u[i, j] = d[()] - G[i, j] / T.cast(lam, "float32")
        for i, j in T.grid(96, 128):
            gx = T.alloc_buffer((), "float32")
            gy = T.alloc_buffer((), "float32")
            gx[()] = 0.0
            gy[()] = 0.0
            if j + 1 < 128:
                gx[()] = u[i, j + 1] - u[i, j]
            if i + 1 < 96:
                gy[()] = u[i + 1, j] - u[i, j]
            w = 1.0 + 0.25 * T.sqrt(T.cast(gx[()] * gx[()] + gy[()] * gy[()], "float64"))
            px[i, j] = (px[i, j] + 0.25 * gx[()]) / T.cast(w, "float32")
            py[i, j] = (py[i, j] + 0.25 * gy[()]) / T.cast(w, "float32")
    for i, j in T.grid(96, 128):
        out[i, j] = T.undef("float32")
    for i, j in T.grid(96, 128):
        out[i, j] = T.cast(-lam, "float32") * u[i, j]


@T.prim_func
def baum_welch(
    A: T.Buffer((12, 12), "float32"),
    B: T.Buffer((12, 20), "float32"),
    pi: T.Buffer((12,), "float32"),
    obs: T.Buffer((150,), "int32"),
    xi: T.Buffer((12, 12), "float32"),
):
    acc = T.alloc_buffer((), "float32")
    alpha = T.alloc_buffer((150, 12), "float32")
    for i, j in T.grid(150, 12):
        alpha[i, j] = 0.0
    beta = T.alloc_buffer((150, 12), "float32")
    for i, j in T.grid(150, 12):
        beta[i, j] = 0.0
    scale = T.alloc_buffer((150,), "float32")
    for i in T.serial(150):
        scale[i] = 0.0
    for s in T.serial(12):
        alpha[0, s] = pi[s] * B[s, T.if_then_else(obs[0] < 0, obs[0] + 20, obs[0])]
        scale[0] = scale[0] + alpha[0, s]
    for s in T.serial(12):
        alpha[0, s] = alpha[0, s] / scale[0]
    for t in T.serial(1, 150):
        for s in T.serial(12):
            acc[()] = 0.0
            for q in T.serial(12):
                acc[()] = acc[()] + alpha[t - 1, q] * A[q, s]
            alpha[t, s] = acc[()] * B[s, T.if_then_else(obs[t] < 0, obs[t] + 20, obs[t])]
            scale[t] = scale[t] + alpha[t, s]
        for s in T.serial(12):
            alpha[t, s] = alpha[t, s] / scale[t]
    for s in T.serial(12):
        beta[149, s] = 1.0
    for i, s in T.grid(149, 12):
        acc[()] = 0.0
        for q in T.serial(12):
            acc[()] = (
                acc[()]
                + A[s, q]
                * B[q, T.if_then_else(obs[148 - i + 1] < 0, obs[148 - i + 1] + 20, obs[148 - i + 1])]
                * beta[148 - i + 1, q]
            )
        beta[148 - i, s] = acc[()] / scale[148 - i + 1]
    for i, j in T.grid(12, 12):
        xi[i, j] = 0.0
    for t, s, q in T.grid(149, 12, 12):
        xi[s, q] = (
            xi[s, q]
            + alpha[t, s]
            * A[s, q]
            * B[q, T.if_then_else(obs[t + 1] < 0, obs[t + 1] + 20, obs[t + 1])]
            * beta[t + 1, q]
            / scale[t + 1]
        )


@T.prim_func
def muscl_euler(
    rho: T.Buffer((1000,), "float32"),
    mom: T.Buffer((1000,), "float32"),
    ene: T.Buffer((1000,), "float32"),
    dtdx: T.float32,
):
    for s in T.serial(6):
        f0 = T.alloc_buffer((1001,), "float32")
        for i in T.serial(1001):
            f0[i] = 0.0
        f1 = T.alloc_buffer((1001,), "float32")
        for i in T.serial(1001):
            f1[i] = 0.0
        f2 = T.alloc_buffer((1001,), "float32")
        for i in T.serial(1001):
            f2[i] = 0.0
        for i in T.serial(1, 1000):
            ul = mom[i - 1] / rho[i - 1]
            pl = 0.4 * (ene[i - 1] - 0.5 * rho[i - 1] * ul * ul)
            ur = mom[i] / rho[i]
            pr = 0.4 * (ene[i] - 0.5 * rho[i] * ur * ur)
            a = T.max(
                T.abs(ul) + T.cast(T.sqrt(T.cast(1.4 * pl / rho[i - 1], "float64")), "float32"),
                T.abs(ur) + T.cast(T.sqrt(T.cast(1.4 * pr / rho[i], "float64")), "float32"),
            )
            f0[i] = 0.5 * (mom[i - 1] + mom[i]) - 0.5 * a * (rho[i] - rho[i - 1])
            f1[i] = 0.5 * (mom[i - 1] * ul + pl + mom[i] * ur + pr) - 0.5 * a * (mom[i] - mom[i - 1])
            f2[i] = 0.5 * (ul * (ene[i - 1] + pl) + ur * (ene[i] + pr)) - 0.5 * a * (ene[i] - ene[i - 1])
        for i in T.serial(1, 999):
            rho[i] = rho[i] - dtdx * (f0[i + 1] - f0[i])
            mom[i] = mom[i] - dtdx * (f1[i + 1] - f1[i])
            ene[i] = ene[i] - dtdx * (f2[i + 1] - f2[i])


@T.prim_func
def rbf_field(
    P: T.Buffer((300, 3), "float32"),
    C: T.Buffer((80, 3), "float32"),
    w: T.Buffer((80,), "float32"),
    eps: T.float64,
    val: T.Buffer((300,), "float32"),
    grad: T.Buffer((300, 3), "float32"),
):
    for i in T.serial(300):
        val[i] = 0.0
    for i, j in T.grid(300, 3):
        grad[i, j] = 0.0
    for i, c in T.grid(300, 80):
        r2 = T.alloc_buffer((), "float32")
        r2[()] = 0.0
        for d in T.serial(3):
            r2[()] = r2[()] + (P[i, d] - C[c, d]) * (P[i, d] - C[c, d])
        g = w[c] * T.cast(T.exp(T.cast(T.cast(-eps, "float32") * r2[()], "float64")), "float32")
        val[i] = val[i] + g
        for d in T.serial(3):
            grad[i, d] = grad[i, d] - T.cast(2.0 * eps, "float32") * g * (P[i, d] - C[c, d])


@T.prim_func
def life_3d(W: T.Buffer((20, 20, 20), "int32"), W_1: T.Buffer((20, 20, 20), "int32")):
    for i, j, k in T.grid(20, 20, 20):
        W_1[i, j, k] = W[i, j, k]
    for g in T.serial(3):
        N = T.alloc_buffer((20, 20, 20), "int32")
        for i, j, k in T.grid(20, 20, 20):
            N[i, j, k] = 0
        for x, y, z in T.grid(20, 20, 20):
            c = T.alloc_buffer((), "int32")
            c[()] = 0
            for dx in T.serial(-1, 2):
                for dy in T.serial(-1, 2):
                    for dz in T.serial(-1, 2):
                        if dx != 0 or dy != 0 or dz != 0:
                            c[()] = c[()] + W_1[(x + dx) % 20, (y + dy) % 20, (z + dz) % 20]
            if W_1[x, y, z] == 1:
                N[x, y, z] = T.if_then_else(4 <= c[()] and c[()] <= 5, T.int32(1), T.int32(0))
            elif c[()] == 5:
                N[x, y, z] = 1
        for i, j, k in T.grid(20, 20, 20):
            W_1[i, j, k] = N[i, j, k]


@T.prim_func
def lora_linear(
    X: T.Buffer((32, 96), "float32"),
    W: T.Buffer((80, 96), "float32"),
    A: T.Buffer((4, 96), "float32"),
    B: T.Buffer((80, 4), "float32"),
    scale: T.float32,
    Y: T.Buffer((32, 80), "float32"),
):
    for i, j in T.grid(32, 80):
        Y[i, j] = 0.0
    for i in T.serial(32):
        low = T.alloc_buffer((4,), "float32")
        for i_1 in T.serial(4):
            low[i_1] = 0.0
        for k, j in T.grid(4, 96):
            low[k] = low[k] + A[k, j] * X[i, j]
        for p in T.serial(80):
            acc = T.alloc_buffer((), "float32")
            extra = T.alloc_buffer((), "float32")
            acc[()] = 0.0
            for j in T.serial(96):
                acc[()] = acc[()] + W[p, j] * X[i, j]
            extra[()] = 0.0
            for k in T.serial(4):
                extra[()] = extra[()] + B[p, k] * low[k]
            Y[i, p] = acc[()] + scale * extra[()]


@T.prim_func
def conv_lstm(
    X: T.Buffer((3, 16, 16), "float32"),
    H: T.Buffer((4, 16, 16), "float32"),
    C: T.Buffer((4, 16, 16), "float32"),
    Wx: T.Buffer((16, 3, 3, 3), "float32"),
    Wh: T.Buffer((16, 4, 3, 3), "float32"),
    b: T.Buffer((16,), "float32"),
    Hn: T.Buffer((4, 16, 16), "float32"),
    Cn: T.Buffer((4, 16, 16), "float32"),
):
    for i, j, k in T.grid(4, 16, 16):
        Hn[i, j, k] = 0.0
    for i, j, k in T.grid(4, 16, 16):
        Cn[i, j, k] = 0.0
    g = T.alloc_buffer((16, 16, 16), "float32")
    for i, j, k in T.grid(16, 16, 16):
        g[i, j, k] = 0.0
    for o, y, x in T.grid(16, 16, 16):
        s = T.alloc_buffer((), "float32")
        s[()] = b[o]
        for dy, dx in T.grid(3, 3):
            if 0 <= y + dy - 1 and y + dy - 1 < 16 and (0 <= x + dx - 1 and x + dx - 1 < 16):
                for c in T.serial(3):
                    s[()] = s[()] + X[c, y + dy - 1, x + dx - 1] * Wx[o, c, dy, dx]
                for c in T.serial(4):
                    s[()] = s[()] + H[c, y + dy - 1, x + dx - 1] * Wh[o, c, dy, dx]
        g[o, y, x] = s[()]
    for o, y, x in T.grid(4, 16, 16):
        i = 1.0 / (1.0 + T.exp(T.cast(-g[o, y, x], "float64")))
        f = 1.0 / (1.0 + T.exp(T.cast(-g[4 + o, y, x], "float64")))
        q = 1.0 / (1.0 + T.exp(T.cast(-g[8 + o, y, x], "float64")))
        t = T.tanh(T.cast(g[12 + o, y, x], "float64"))
        Cn[o, y, x] = T.cast(f, "float32") * C[o, y, x] + T.cast(i * t, "float32")
        Hn[o, y, x] = T.cast(q * T.tanh(T.cast(Cn[o, y, x], "float64")), "float32")


@T.prim_func
def vq_lookup(
    Z: T.Buffer((256, 8), "float32"),
    E: T.Buffer((40, 8), "float32"),
    idx: T.Buffer((256,), "int32"),
    out: T.Buffer((256, 8), "float32"),
    used: T.Buffer((40,), "int32"),
    result_1: T.Buffer((), "float32"),
):
    loss = T.alloc_buffer((), "float32")
    for i in T.serial(256):
        idx[i] = 0
    for i, j in T.grid(256, 8):
        out[i, j] = 0.0
    for i in T.serial(40):
        used[i] = 0
    loss[()] = 0.0
    for i in T.serial(256):
        best = T.alloc_buffer((), "float32")
        best[()] = 1e30
        for c in T.serial(40):
            dist = T.alloc_buffer((), "float32")
            dist[()] = 0.0
            for j in T.serial(8):
                t = Z[i, j] - E[c, j]
                dist[()] = dist[()] + t * t
            if dist[()] < best[()]:
                best[()] = dist[()]
                idx[i] = c
        used[T.if_then_else(idx[i] < 0, idx[i] + 40, idx[i])] = (
            used[T.if_then_else(idx[i] < 0, idx[i] + 40, idx[i])] + 1
        )
        for j in T.serial(8):
            out[i, j] = E[T.if_then_else(idx[i] < 0, idx[i] + 40, idx[i]), j]
        loss[()] = loss[()] + best[()]
    result = loss[()] / 2048.0
    result_1[()] = result


@T.prim_func
def dlrm_interact(E: T.Buffer((64, 9, 16), "float32"), out: T.Buffer((64, 36), "float32")):
    for i, j in T.grid(64, 36):
        out[i, j] = 0.0
    for s in T.serial(64):
        p = T.alloc_buffer((), "int64")
        p[()] = 0
        for i in T.serial(1, 9):
            for j in T.serial(i):
                acc = T.alloc_buffer((), "float32")
                acc[()] = 0.0
                for k in T.serial(16):
                    acc[()] = acc[()] + E[s, i, k] * E[s, j, k]
                out[s, p[()]] = acc[()]
                p[()] = p[()] + 1


@T.prim_func
def fm_scores(
    X: T.Buffer((300, 40), "float32"),
    w: T.Buffer((40,), "float32"),
    V: T.Buffer((40, 8), "float32"),
    y: T.Buffer((300,), "float32"),
):
    for i in T.serial(300):
        y[i] = 0.0
    for i in T.serial(300):
        lin = T.alloc_buffer((), "float32")
        pair = T.alloc_buffer((), "float32")
        lin[()] = 0.0
        for j in T.serial(40):
            lin[()] = lin[()] + w[j] * X[i, j]
        pair[()] = 0.0
        for f in T.serial(8):
            s = T.alloc_buffer((), "float32")
            q = T.alloc_buffer((), "float32")
            s[()] = 0.0
            q[()] = 0.0
            for j in T.serial(40):
                t = V[j, f] * X[i, j]
                s[()] = s[()] + t
                q[()] = q[()] + t * t
            pair[()] = pair[()] + (s[()] * s[()] - q[()])
        y[i] = lin[()] + 0.5 * pair[()]


@T.prim_func
def tps_warp(
    P: T.Buffer((500, 2), "float32"),
    C: T.Buffer((30, 2), "float32"),
    w: T.Buffer((30, 2), "float32"),
    a: T.Buffer((2, 3), "float32"),
    out: T.Buffer((500, 2), "float32"),
):
    for i, j in T.grid(500, 2):
        out[i, j] = 0.0
    for i in T.serial(500):
        for d in T.serial(2):
            out[i, d] = a[d, 0] + a[d, 1] * P[i, 0] + a[d, 2] * P[i, 1]
        for c in T.serial(30):
            dx = P[i, 0] - C[c, 0]
            dy = P[i, 1] - C[c, 1]
            r2 = dx * dx + dy * dy
            if r2 > 0.0:
                u = r2 * T.cast(T.log(T.cast(r2, "float64")), "float32")
                for d in T.serial(2):
                    out[i, d] = out[i, d] + w[c, d] * u


@T.prim_func
def undistort(
    I: T.Buffer((120, 160), "float32"), k1: T.float64, k2: T.float64, f: T.float64, out: T.Buffer((120, 160), "float32")
):
    for i, j in T.grid(120, 160):
        out[i, j] = 0.0
    for y, x in T.grid(120, 160):
        u = (T.cast(x, "float64") - 80.0) / f
        v = (T.cast(y, "float64") - 60.0) / f
        r2 = u * u + v * v
        s = 1.0 + k1 * r2 + k2 * r2 * r2
        sx = u * s * f + 80.0
        sy = v * s * f + 60.0
        if (
            T.cast(T.floor(sx), "int64") >= 0
            and T.cast(T.floor(sy), "int64") >= 0
            and T.cast(T.floor(sx), "int64") + 1 < 160
            and T.cast(T.floor(sy), "int64") + 1 < 120
        ):
            fx = sx - T.cast(T.cast(T.floor(sx), "int64"), "float64")
            fy = sy - T.cast(T.cast(T.floor(sy), "int64"), "float64")
            top = I[
                T.if_then_else(
                    T.cast(T.floor(sy), "int64") < 0, T.cast(T.floor(sy), "int64") + 120, T.cast(T.floor(sy), "int64")
                ),
                T.if_then_else(
                    T.cast(T.floor(sx), "int64") < 0, T.cast(T.floor(sx), "int64") + 160, T.cast(T.floor(sx), "int64")
                ),
            ] * T.cast(1.0 - fx, "float32") + I[
                T.if_then_else(
                    T.cast(T.floor(sy), "int64") < 0, T.cast(T.floor(sy), "int64") + 120, T.cast(T.floor(sy), "int64")
                ),
                T.if_then_else(
                    T.cast(T.floor(sx), "int64") + 1 < 0,
                    T.cast(T.floor(sx), "int64") + 1 + 160,
                    T.cast(T.floor(sx), "int64") + 1,
                ),
            ] * T.cast(fx, "float32")
            bot = I[
                T.if_then_else(
                    T.cast(T.floor(sy), "int64") + 1 < 0,
                    T.cast(T.floor(sy), "int64") + 1 + 120,
                    T.cast(T.floor(sy), "int64") + 1,
                ),
                T.if_then_else(
                    T.cast(T.floor(sx), "int64") < 0, T.cast(T.floor(sx), "int64") + 160, T.cast(T.floor(sx), "int64")
                ),
            ] * T.cast(1.0 - fx, "float32") + I[
                T.if_then_else(
                    T.cast(T.floor(sy), "int64") + 1 < 0,
                    T.cast(T.floor(sy), "int64") + 1 + 120,
                    T.cast(T.floor(sy), "int64") + 1,
                ),
                T.if_then_else(
                    T.cast(T.floor(sx), "int64") + 1 < 0,
                    T.cast(T.floor(sx), "int64") + 1 + 160,
                    T.cast(T.floor(sx), "int64") + 1,
                ),
            ] * T.cast(fx, "float32")
            out[y, x] = top * T.cast(1.0 - fy, "float32") + bot * T.cast(fy, "float32")


@T.prim_func
def sgm_path(
    cost: T.Buffer((40, 60, 16), "float32"), p1: T.float32, p2: T.float32, L: T.Buffer((40, 60, 16), "float32")
):
    for i, j, k in T.grid(40, 60, 16):
        L[i, j, k] = 0.0
    for y in T.serial(40):
        for d in T.serial(16):
            L[y, 0, d] = cost[y, 0, d]
        for x in T.serial(1, 60):
            low = T.alloc_buffer((), "float32")
            low[()] = L[y, x - 1, 0]
            for d in T.serial(1, 16):
                low[()] = T.min(low[()], L[y, x - 1, d])
            for d in T.serial(16):
                best = T.alloc_buffer((), "float32")
                best[()] = T.min(L[y, x - 1, d], low[()] + p2)
                if d > 0:
                    best[()] = T.min(best[()], L[y, x - 1, d - 1] + p1)
                if d + 1 < 16:
                    best[()] = T.min(best[()], L[y, x - 1, d + 1] + p1)
                L[y, x, d] = cost[y, x, d] + best[()] - low[()]


@T.prim_func
def fast_corners(I: T.Buffer((64, 80), "float32"), thr: T.float32, out: T.Buffer((64, 80), "int32")):
    table = T.alloc_buffer((16,), "int64")
    table[0] = -3
    table[1] = -3
    table[2] = -2
    table[3] = -1
    table[4] = 0
    table[5] = 1
    table[6] = 2
    table[7] = 3
    table[8] = 3
    table[9] = 3
    table[10] = 2
    table[11] = 1
    table[12] = 0
    table[13] = -1
    table[14] = -2
    table[15] = -3
    table_1 = T.alloc_buffer((16,), "int64")
    table_1[0] = 0
    table_1[1] = 1
    table_1[2] = 2
    table_1[3] = 3
    table_1[4] = 3
    table_1[5] = 3
    table_1[6] = 2
    table_1[7] = 1
    table_1[8] = 0
    table_1[9] = -1
    table_1[10] = -2
    table_1[11] = -3
    table_1[12] = -3
    table_1[13] = -3
    table_1[14] = -2
    table_1[15] = -1
    for i, j in T.grid(64, 80):
        out[i, j] = 0
    for y in T.serial(3, 61):
        for x in T.serial(3, 77):
            run = T.alloc_buffer((), "int64")
            longest = T.alloc_buffer((), "int64")
            run[()] = 0
            longest[()] = 0
            for k in T.serial(25):
                p = I[
                    T.if_then_else(
                        T.cast(y, "int64") + table[k % 16] < 0,
                        T.cast(y, "int64") + table[k % 16] + 64,
                        T.cast(y, "int64") + table[k % 16],
                    ),
                    T.if_then_else(
                        T.cast(x, "int64") + table_1[k % 16] < 0,
                        T.cast(x, "int64") + table_1[k % 16] + 80,
                        T.cast(x, "int64") + table_1[k % 16],
                    ),
                ]
                if p > I[y, x] + thr:
                    run[()] = run[()] + 1
                else:
                    run[()] = 0
                longest[()] = T.max(longest[()], run[()])
            if longest[()] >= 9:
                out[y, x] = 1


@T.prim_func
def splat_depth(P: T.Buffer((2000, 3), "float32"), Z: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        Z[i, j] = 1000000000.0
    for i in T.serial(2000):
        if P[i, 2] > 0.1:
            u = T.cast(P[i, 0] / P[i, 2] * 64.0 / 2.0 + 32.0, "int64")
            v = T.cast(P[i, 1] / P[i, 2] * 64.0 / 2.0 + 32.0, "int64")
            if 0 <= u and u < 64 and (0 <= v and v < 64):
                if P[i, 2] < Z[v, u]:
                    Z[v, u] = P[i, 2]


@T.prim_func
def bezier_surface(G: T.Buffer((4, 4, 3), "float32"), out: T.Buffer((40, 40, 3), "float32")):
    for i, j, k in T.grid(40, 40, 3):
        out[i, j, k] = 0.0
    bu = T.alloc_buffer((40, 4), "float32")
    for i, j in T.grid(40, 4):
        bu[i, j] = 0.0
    for i in T.serial(40):
        t = T.cast(i, "float64") / 39.0
        bu[i, 0] = T.cast(T.pow(1.0 - t, 3.0), "float32")
        bu[i, 1] = T.cast(3.0 * t * ((1.0 - t) * (1.0 - t)), "float32")
        bu[i, 2] = T.cast(3.0 * t * t * (1.0 - t), "float32")
        bu[i, 3] = T.cast(T.pow(t, 3.0), "float32")
    for i, j, a, b, d in T.grid(40, 40, 4, 4, 3):
        out[i, j, d] = out[i, j, d] + bu[i, a] * bu[j, b] * G[a, b, d]


@T.prim_func
def parabolic_sar(
    high: T.Buffer((1500,), "float32"), low: T.Buffer((1500,), "float32"), sar: T.Buffer((1500,), "float32")
):
    up = T.alloc_buffer((), "bool")
    af = T.alloc_buffer((), "float32")
    ep = T.alloc_buffer((), "float32")
    for i in T.serial(1500):
        sar[i] = 0.0
    up[()] = True
    af[()] = 0.02
    ep[()] = high[0]
    sar[0] = low[0]
    for i in T.serial(1, 1500):
        s = T.alloc_buffer((), "float32")
        s[()] = sar[i - 1] + af[()] * (ep[()] - sar[i - 1])
        if up[()]:
            if low[i] < s[()]:
                up[()] = False
                s[()] = ep[()]
                ep[()] = low[i]
                af[()] = 0.02
            elif high[i] > ep[()]:
                ep[()] = high[i]
                af[()] = T.min(af[()] + 0.02, 0.2)
        elif high[i] > s[()]:
            up[()] = True
            s[()] = ep[()]
            ep[()] = high[i]
            af[()] = 0.02
        elif low[i] < ep[()]:
            ep[()] = low[i]
            af[()] = T.min(af[()] + 0.02, 0.2)
        sar[i] = s[()]


@T.prim_func
def implied_vol(
    S: T.Buffer((1000,), "float32"),
    K: T.Buffer((1000,), "float32"),
    T_: T.Buffer((1000,), "float32"),
    price: T.Buffer((1000,), "float32"),
    out: T.Buffer((1000,), "float32"),
):
    for i in T.serial(1000):
        out[i] = 0.0
    for i in T.serial(1000):
        v = T.alloc_buffer((), "float32")
        v[()] = 0.3
        for it in T.serial(12):
            sq = T.sqrt(T.cast(T_[i], "float64"))
            d1 = (T.cast(T.log(T.cast(S[i] / K[i], "float64")), "float32") + 0.5 * v[()] * v[()] * T_[i]) / (
                v[()] * T.cast(sq, "float32")
            )
            d2 = d1 - v[()] * T.cast(sq, "float32")
            n1 = 0.5 * T.cast(1.0 + T.erf(T.cast(d1 / 1.4142135623730951, "float64")), "float32")
            n2 = 0.5 * T.cast(1.0 + T.erf(T.cast(d2 / 1.4142135623730951, "float64")), "float32")
            c = S[i] * n1 - K[i] * n2
            vega = (
                S[i]
                * T.cast(sq, "float32")
                * T.cast(T.exp(T.cast(-T.float32(0.5) * d1 * d1, "float64")), "float32")
                / 2.5066282746310002
            )
            v[()] = T.max(v[()] - (c - price[i]) / T.max(vega, 1e-06), 0.01)
        out[i] = v[()]


@T.prim_func
def sobol_points(V: T.Buffer((6, 20), "int32"), out: T.Buffer((1024, 6), "float32")):
    for i, j in T.grid(1024, 6):
        out[i, j] = 0.0
    for i, d in T.grid(1024, 6):
        x = T.alloc_buffer((), "int32")
        x[()] = 0
        for b in T.serial(20):
            if (i ^ i >> 1) >> b & 1 != 0:
                x[()] = x[()] ^ V[d, b]
        out[i, d] = T.cast(T.cast(x[()], "float64") / 1048576.0, "float32")


@T.prim_func
def halton_2_3(out: T.Buffer((1024, 2), "float32")):
    for i, j in T.grid(1024, 2):
        out[i, j] = 0.0
    for i, d in T.grid(1024, 2):
        f = T.alloc_buffer((), "float64")
        x = T.alloc_buffer((), "float64")
        k = T.alloc_buffer((), "int32")
        stopped = T.alloc_buffer((), "bool")
        f[()] = 1.0
        x[()] = 0.0
        k[()] = i + 1
        stopped[()] = False
        for step in T.serial(2147483647):
            if not stopped[()]:
                if not k[()] > 0:
                    stopped[()] = True
                else:
                    f[()] = f[()] / T.cast(2 + d, "float64")
                    x[()] = x[()] + f[()] * T.cast(k[()] % (2 + d), "float64")
                    k[()] = k[()] // (2 + d)
        out[i, d] = T.cast(x[()], "float32")


@T.prim_func
def dfa_run(
    table: T.Buffer((12, 26), "int32"),
    text: T.Buffer((3000,), "int32"),
    accept: T.Buffer((12,), "int32"),
    hits: T.Buffer((3000,), "int32"),
    result_1: T.Buffer((), "int32"),
):
    state = T.alloc_buffer((), "int32")
    state[()] = 0
    for i in T.serial(3000):
        hits[i] = 0
    for i in T.serial(3000):
        state[()] = table[
            T.if_then_else(state[()] < 0, state[()] + 12, state[()]), T.if_then_else(text[i] < 0, text[i] + 26, text[i])
        ]
        if accept[T.if_then_else(state[()] < 0, state[()] + 12, state[()])] == 1:
            hits[i] = 1
    result = state[()]
    result_1[()] = result


@T.prim_func
def z_function(s: T.Buffer((1500,), "int32"), z: T.Buffer((1500,), "int32")):
    l = T.alloc_buffer((), "int32")
    r = T.alloc_buffer((), "int32")
    for i in T.serial(1500):
        z[i] = 0
    l[()] = 0
    r[()] = 0
    for i in T.serial(1, 1500):
        k = T.alloc_buffer((), "int32")
        stopped = T.alloc_buffer((), "bool")
        k[()] = 0
        if i < r[()]:
            k[()] = T.min(r[()] - i, z[T.if_then_else(i - l[()] < 0, i - l[()] + 1500, i - l[()])])
        stopped[()] = False
        limit = 1500 - (i + k[()])
        for step in T.serial(limit):
            if not stopped[()]:
                if not (
                    i + k[()] < 1500
                    and s[T.if_then_else(k[()] < 0, k[()] + 1500, k[()])]
                    == s[T.if_then_else(i + k[()] < 0, i + k[()] + 1500, i + k[()])]
                ):
                    stopped[()] = True
                else:
                    k[()] = k[()] + 1
        z[i] = k[()]
        if i + k[()] > r[()]:
            l[()] = i
            r[()] = i + k[()]


@T.prim_func
def wildcard(text: T.Buffer((200,), "int32"), pat: T.Buffer((40,), "int32"), ok: T.Buffer((201, 41), "bool")):
    for i, j in T.grid(201, 41):
        ok[i, j] = False
    ok[0, 0] = True
    for j in T.serial(1, 41):
        ok[0, j] = ok[0, j - 1] and pat[j - 1] == 42
    for i in T.serial(1, 201):
        for j in T.serial(1, 41):
            if pat[j - 1] == 42:
                ok[i, j] = ok[i - 1, j] or ok[i, j - 1]
            elif pat[j - 1] == 63 or pat[j - 1] == text[i - 1]:
                ok[i, j] = ok[i - 1, j - 1]


@T.prim_func
def distinct_subseq(s: T.Buffer((400,), "int32"), t: T.Buffer((50,), "int32"), dp: T.Buffer((51,), "int32")):
    for i in T.serial(51):
        dp[i] = 0
    dp[0] = 1
    for i, i_1 in T.grid(400, 50):
        if s[i] == t[50 - i_1 - 1]:
            dp[50 - i_1] = (dp[50 - i_1] + dp[50 - i_1 - 1]) % 1000007


@T.prim_func
def house_robber(v: T.Buffer((200, 150), "float32"), best: T.Buffer((200,), "float32")):
    for i in T.serial(200):
        best[i] = 0.0
    for k in T.serial(200):
        take = T.alloc_buffer((), "float32")
        skip = T.alloc_buffer((), "float32")
        take[()] = 0.0
        skip[()] = 0.0
        for i in T.serial(150):
            new = skip[()] + v[k, i]
            skip[()] = T.max(skip[()], take[()])
            take[()] = new
        best[k] = T.max(take[()], skip[()])


@T.prim_func
def coin_ways(coins: T.Buffer((6,), "int32"), ways: T.Buffer((1001,), "int64")):
    for i in T.serial(1001):
        ways[i] = 0
    ways[0] = 1
    for i in T.serial(6):
        c = coins[i]
        for a in T.serial(T.cast(c, "int64"), T.int64(1001)):
            ways[T.if_then_else(a < 0, a + 1001, a)] = (
                ways[T.if_then_else(a < 0, a + 1001, a)]
                + ways[
                    T.if_then_else(T.cast(a, "int32") - c < 0, T.cast(a, "int32") - c + 1001, T.cast(a, "int32") - c)
                ]
            ) % 1000000007


@T.prim_func
def set_zeroes(A: T.Buffer((200, 150), "int32")):
    row = T.alloc_buffer((200,), "bool")
    for i in T.serial(200):
        row[i] = False
    col = T.alloc_buffer((150,), "bool")
    for i in T.serial(150):
        col[i] = False
    for i, j in T.grid(200, 150):
        if A[i, j] == 0:
            row[i] = True
            col[j] = True
    for i, j in T.grid(200, 150):
        if row[i] or col[j]:
            A[i, j] = 0


@T.prim_func
def median_5x5(I: T.Buffer((40, 48), "float32"), out: T.Buffer((36, 44), "float32")):
    for i, j in T.grid(36, 44):
        out[i, j] = 0.0
    for y, x in T.grid(36, 44):
        win = T.alloc_buffer((25,), "float32")
        for i in T.serial(25):
            win[i] = 0.0
        for k in T.serial(25):
            win[k] = I[y + k // 5, x + k % 5]
        found = T.alloc_buffer((25,), "float32")
        for i in T.serial(25):
            found[i] = win[i]
        for i in T.serial(24):
            for j in T.serial(i + 1, 25):
                if found[i] > found[j]:
                    least = found[j]
                    found[j] = found[i]
                    found[i] = least
        for i in T.serial(25):
            win[i] = found[i]
        out[y, x] = win[12]


@T.prim_func
def adx(
    high: T.Buffer((2000,), "float32"),
    low: T.Buffer((2000,), "float32"),
    close: T.Buffer((2000,), "float32"),
    p: T.float32,
    out: T.Buffer((2000,), "float32"),
):
    tr = T.alloc_buffer((), "float32")
    pos = T.alloc_buffer((), "float32")
    neg = T.alloc_buffer((), "float32")
    ad = T.alloc_buffer((), "float32")
    for i in T.serial(2000):
        out[i] = 0.0
    tr[()] = 0.0
    pos[()] = 0.0
    neg[()] = 0.0
    ad[()] = 0.0
    for i in T.serial(1, 2000):
        up = high[i] - high[i - 1]
        dn = low[i - 1] - low[i]
        pdm = T.if_then_else(up > dn and up > 0.0, up, 0.0)
        ndm = T.if_then_else(dn > up and dn > 0.0, dn, 0.0)
        rng = T.max(high[i] - low[i], T.max(T.abs(high[i] - close[i - 1]), T.abs(low[i] - close[i - 1])))
        tr[()] = tr[()] - tr[()] / p + rng
        pos[()] = pos[()] - pos[()] / p + pdm
        neg[()] = neg[()] - neg[()] / p + ndm
        pdi = pos[()] / tr[()]
        ndi = neg[()] / tr[()]
        dx = T.if_then_else(pdi + ndi > 0.0, T.abs(pdi - ndi) / (pdi + ndi), 0.0)
        ad[()] = ad[()] + (dx - ad[()]) / p
        out[i] = 100.0 * ad[()]


@T.prim_func
def horn_schunck(
    Ix: T.Buffer((60, 80), "float32"),
    Iy: T.Buffer((60, 80), "float32"),
    It: T.Buffer((60, 80), "float32"),
    alpha: T.float32,
    u_1: T.Buffer((60, 80), "float32"),
    v_1: T.Buffer((60, 80), "float32"),
):
    u = T.alloc_buffer((60, 80), "float32")
    for i, j in T.grid(60, 80):
        u[i, j] = 0.0
    v = T.alloc_buffer((60, 80), "float32")
    for i, j in T.grid(60, 80):
        v[i, j] = 0.0
    for i, j in T.grid(60, 80):
        u_1[i, j] = u[i, j]
    for i, j in T.grid(60, 80):
        v_1[i, j] = v[i, j]
    for s in T.serial(10):
        nu = T.alloc_buffer((60, 80), "float32")
        for i, j in T.grid(60, 80):
            nu[i, j] = 0.0
        nv = T.alloc_buffer((60, 80), "float32")
        for i, j in T.grid(60, 80):
            nv[i, j] = 0.0
        for y, x in T.grid(60, 80):
            ub = (
                u_1[T.max(y - 1, 0), x] + u_1[T.min(y + 1, 59), x] + u_1[y, T.max(x - 1, 0)] + u_1[y, T.min(x + 1, 79)]
            ) / 4.0
            vb = (
                v_1[T.max(y - 1, 0), x] + v_1[T.min(y + 1, 59), x] + v_1[y, T.max(x - 1, 0)] + v_1[y, T.min(x + 1, 79)]
            ) / 4.0
            t = (Ix[y, x] * ub + Iy[y, x] * vb + It[y, x]) / (alpha + Ix[y, x] * Ix[y, x] + Iy[y, x] * Iy[y, x])
            nu[y, x] = ub - Ix[y, x] * t
            nv[y, x] = vb - Iy[y, x] * t
        for i, j in T.grid(60, 80):
            u_1[i, j] = nu[i, j]
        for i, j in T.grid(60, 80):
            v_1[i, j] = nv[i, j]


@T.prim_func
def clahe_tiles(I: T.Buffer((128, 96), "int32"), out: T.Buffer((128, 96), "float32")):
    maps = T.alloc_buffer((8, 6, 64), "float32")
    for i, j, k in T.grid(8, 6, 64):
        maps[i, j, k] = 0.0
    for i, j in T.grid(128, 96):
        out[i, j] = 0.0
    for a, b in T.grid(8, 6):
        extra = T.alloc_buffer((), "int32")
        total = T.alloc_buffer((), "float64")
        hist = T.alloc_buffer((64,), "int32")
        for i in T.serial(64):
            hist[i] = 0
        for y, x in T.grid(16, 16):
            hist[
                T.if_then_else(I[a * 16 + y, b * 16 + x] < 0, I[a * 16 + y, b * 16 + x] + 64, I[a * 16 + y, b * 16 + x])
            ] = (
                hist[
                    T.if_then_else(
                        I[a * 16 + y, b * 16 + x] < 0, I[a * 16 + y, b * 16 + x] + 64, I[a * 16 + y, b * 16 + x]
                    )
                ]
                + 1
            )
        extra[()] = 0
        for k in T.serial(64):
            if hist[k] > 8:
                extra[()] = extra[()] + (hist[k] - 8)
                hist[k] = 8
        total[()] = T.cast(0.0, "float64")
        for k in T.serial(64):
            total[()] = total[()] + (T.cast(hist[k], "float64") + T.cast(extra[()], "float64") / 64.0)
            maps[a, b, k] = T.cast(total[()] / 256.0, "float32")
    for y, x in T.grid(128, 96):
        out[y, x] = maps[y // 16, x // 16, T.if_then_else(I[y, x] < 0, I[y, x] + 64, I[y, x])]


@T.prim_func
def gp_predict(
    K: T.Buffer((60, 60), "float32"),
    Ks: T.Buffer((30, 60), "float32"),
    y: T.Buffer((60,), "float32"),
    noise: T.float32,
    mean: T.Buffer((30,), "float32"),
):
    t = T.alloc_buffer((), "float32")
    L = T.alloc_buffer((60, 60), "float32")
    for i, j in T.grid(60, 60):
        L[i, j] = 0.0
    for j in T.serial(60):
        s = T.alloc_buffer((), "float32")
        s[()] = K[j, j] + noise
        for k in T.serial(j):
            s[()] = s[()] - L[j, k] * L[j, k]
        L[j, j] = T.cast(T.sqrt(T.cast(s[()], "float64")), "float32")
        for i in T.serial(j + 1, 60):
            t[()] = K[i, j]
            for k in T.serial(j):
                t[()] = t[()] - L[i, k] * L[j, k]
            L[i, j] = t[()] / L[j, j]
    a = T.alloc_buffer((60,), "float32")
    for i in T.serial(60):
        a[i] = 0.0
    for i in T.serial(60):
        t[()] = y[i]
        for k in T.serial(i):
            t[()] = t[()] - L[i, k] * a[k]
        a[i] = t[()] / L[i, i]
    for i in T.serial(60):
        t[()] = a[59 - i]
        for k in T.serial(59 - i + 1, 60):
            t[()] = t[()] - L[k, 59 - i] * a[k]
        a[59 - i] = t[()] / L[59 - i, 59 - i]
    for i in T.serial(30):
        mean[i] = 0.0
    for q, i in T.grid(30, 60):
        mean[q] = mean[q] + Ks[q, i] * a[i]


@T.prim_func
def block_thomas(
    A: T.Buffer((200, 2, 2), "float32"),
    B: T.Buffer((200, 2, 2), "float32"),
    C: T.Buffer((200, 2, 2), "float32"),
    d: T.Buffer((200, 2), "float32"),
    x: T.Buffer((200, 2), "float32"),
):
    P = T.alloc_buffer((200, 2, 2), "float32")
    for i, j, k in T.grid(200, 2, 2):
        P[i, j, k] = 0.0
    q = T.alloc_buffer((200, 2), "float32")
    for i, j in T.grid(200, 2):
        q[i, j] = 0.0
    for i in T.serial(200):
        m00 = T.alloc_buffer((), "float32")
        m01 = T.alloc_buffer((), "float32")
        m10 = T.alloc_buffer((), "float32")
        m11 = T.alloc_buffer((), "float32")
        r0 = T.alloc_buffer((), "float32")
        r1 = T.alloc_buffer((), "float32")
        m00[()] = B[i, 0, 0]
        m01[()] = B[i, 0, 1]
        m10[()] = B[i, 1, 0]
        m11[()] = B[i, 1, 1]
        r0[()] = d[i, 0]
        r1[()] = d[i, 1]
        if i > 0:
            m00[()] = m00[()] - (A[i, 0, 0] * P[i - 1, 0, 0] + A[i, 0, 1] * P[i - 1, 1, 0])
            m01[()] = m01[()] - (A[i, 0, 0] * P[i - 1, 0, 1] + A[i, 0, 1] * P[i - 1, 1, 1])
            m10[()] = m10[()] - (A[i, 1, 0] * P[i - 1, 0, 0] + A[i, 1, 1] * P[i - 1, 1, 0])
            m11[()] = m11[()] - (A[i, 1, 0] * P[i - 1, 0, 1] + A[i, 1, 1] * P[i - 1, 1, 1])
            r0[()] = r0[()] - (A[i, 0, 0] * q[i - 1, 0] + A[i, 0, 1] * q[i - 1, 1])
            r1[()] = r1[()] - (A[i, 1, 0] * q[i - 1, 0] + A[i, 1, 1] * q[i - 1, 1])
        det = m00[()] * m11[()] - m01[()] * m10[()]
        for k in T.serial(2):
            P[i, 0, k] = (m11[()] * C[i, 0, k] - m01[()] * C[i, 1, k]) / det
            P[i, 1, k] = (m00[()] * C[i, 1, k] - m10[()] * C[i, 0, k]) / det
        q[i, 0] = (m11[()] * r0[()] - m01[()] * r1[()]) / det
        q[i, 1] = (m00[()] * r1[()] - m10[()] * r0[()]) / det
    for i, j in T.grid(200, 2):
        x[i, j] = 0.0
    for i, k in T.grid(200, 2):
        x[199 - i, k] = q[199 - i, k]
        if 199 - i + 1 < 200:
            x[199 - i, k] = x[199 - i, k] - (
                P[199 - i, k, 0] * x[199 - i + 1, 0] + P[199 - i, k, 1] * x[199 - i + 1, 1]
            )


@T.prim_func
def sym_packed_from_pairs(X: T.Buffer((80, 6), "float32"), out: T.Buffer((3160,), "float32")):
    p = T.alloc_buffer((), "int64")
    for i in T.serial(3160):
        out[i] = 0.0
    p[()] = 0
    for i in T.serial(80):
        for j in T.serial(i + 1, 80):
            s = T.alloc_buffer((), "float32")
            s[()] = 0.0
            for k in T.serial(6):
                s[()] = s[()] + T.abs(X[i, k] - X[j, k])
            out[p[()]] = s[()]
            p[()] = p[()] + 1


@T.prim_func
def log_polar(I: T.Buffer((120, 140), "float32"), out: T.Buffer((48, 96), "float32")):
    for i, j in T.grid(48, 96):
        out[i, j] = 0.0
    for a, b in T.grid(48, 96):
        rad = T.exp(4.0943445622221 * T.cast(a, "float64") / 48.0)
        th = 6.283185307179586 * T.cast(b, "float64") / 96.0
        y = 60.0 + rad * T.sin(th)
        x = 70.0 + rad * T.cos(th)
        if (
            T.cast(y, "int64") >= 0
            and T.cast(y, "int64") < 119
            and T.cast(x, "int64") >= 0
            and T.cast(x, "int64") < 139
        ):
            fy = y - T.cast(T.cast(y, "int64"), "float64")
            fx = x - T.cast(T.cast(x, "int64"), "float64")
            out[a, b] = T.cast(1.0 - fy, "float32") * (
                T.cast(1.0 - fx, "float32")
                * I[
                    T.if_then_else(T.cast(y, "int64") < 0, T.cast(y, "int64") + 120, T.cast(y, "int64")),
                    T.if_then_else(T.cast(x, "int64") < 0, T.cast(x, "int64") + 140, T.cast(x, "int64")),
                ]
                + T.cast(fx, "float32")
                * I[
                    T.if_then_else(T.cast(y, "int64") < 0, T.cast(y, "int64") + 120, T.cast(y, "int64")),
                    T.if_then_else(T.cast(x, "int64") + 1 < 0, T.cast(x, "int64") + 1 + 140, T.cast(x, "int64") + 1),
                ]
            ) + T.cast(fy, "float32") * (
                T.cast(1.0 - fx, "float32")
                * I[
                    T.if_then_else(T.cast(y, "int64") + 1 < 0, T.cast(y, "int64") + 1 + 120, T.cast(y, "int64") + 1),
                    T.if_then_else(T.cast(x, "int64") < 0, T.cast(x, "int64") + 140, T.cast(x, "int64")),
                ]
                + T.cast(fx, "float32")
                * I[
                    T.if_then_else(T.cast(y, "int64") + 1 < 0, T.cast(y, "int64") + 1 + 120, T.cast(y, "int64") + 1),
                    T.if_then_else(T.cast(x, "int64") + 1 < 0, T.cast(x, "int64") + 1 + 140, T.cast(x, "int64") + 1),
                ]
            )


@T.prim_func
def sauvola(I: T.Buffer((100, 120), "float32"), k: T.float32, R: T.float32, out: T.Buffer((100, 120), "uint8")):
    S = T.alloc_buffer((101, 121), "float64")
    for i, j in T.grid(101, 121):
        S[i, j] = 0.0
    Q = T.alloc_buffer((101, 121), "float64")
    for i, j in T.grid(101, 121):
        Q[i, j] = 0.0
    for y in T.serial(100):
        rs = T.alloc_buffer((), "float32")
        rq = T.alloc_buffer((), "float32")
        rs[()] = 0.0
        rq[()] = 0.0
        for x in T.serial(120):
            rs[()] = rs[()] + I[y, x]
            rq[()] = rq[()] + I[y, x] * I[y, x]
            S[y + 1, x + 1] = S[y, x + 1] + T.cast(rs[()], "float64")
            Q[y + 1, x + 1] = Q[y, x + 1] + T.cast(rq[()], "float64")
    for i, j in T.grid(100, 120):
        out[i, j] = 0
    for y, x in T.grid(100, 120):
        cnt = (T.min(100, y + 5 + 1) - T.max(0, y - 5)) * (T.min(120, x + 5 + 1) - T.max(0, x - 5))
        m = (
            S[T.min(100, y + 5 + 1), T.min(120, x + 5 + 1)]
            - S[T.max(0, y - 5), T.min(120, x + 5 + 1)]
            - S[T.min(100, y + 5 + 1), T.max(0, x - 5)]
            + S[T.max(0, y - 5), T.max(0, x - 5)]
        ) / T.cast(cnt, "float64")
        v = (
            Q[T.min(100, y + 5 + 1), T.min(120, x + 5 + 1)]
            - Q[T.max(0, y - 5), T.min(120, x + 5 + 1)]
            - Q[T.min(100, y + 5 + 1), T.max(0, x - 5)]
            + Q[T.max(0, y - 5), T.max(0, x - 5)]
        ) / T.cast(cnt, "float64") - m * m
        t = m * T.cast(1.0 + k * (T.cast(T.sqrt(T.max(v, 0.0)), "float32") / R - 1.0), "float64")
        if T.cast(I[y, x], "float64") > t:
            out[y, x] = 255


@T.prim_func
def box_blur_running(I: T.Buffer((200, 300), "float32"), out: T.Buffer((200, 300), "float32")):
    for i, j in T.grid(200, 300):
        out[i, j] = 0.0
    for y in T.serial(200):
        s = T.alloc_buffer((), "float32")
        s[()] = 0.0
        for x in T.serial(4):
            s[()] = s[()] + I[y, x]
        for x in T.serial(300):
            if x + 4 < 300:
                s[()] = s[()] + I[y, x + 4]
            if x - 4 - 1 >= 0:
                s[()] = s[()] - I[y, x - 4 - 1]
            out[y, x] = s[()] / 9.0


@T.prim_func
def daub4_level(x: T.Buffer((16384,), "float32"), out: T.Buffer((16384,), "float32")):
    table = T.alloc_buffer((4,), "float64")
    table[0] = 0.4829629131445341
    table[1] = 0.8365163037378079
    table[2] = 0.2241438680420134
    table[3] = -0.1294095225512604
    for i in T.serial(16384):
        out[i] = 0.0
    for i in T.serial(8192):
        lo = T.alloc_buffer((), "float32")
        hi = T.alloc_buffer((), "float32")
        sg = T.alloc_buffer((), "int32")
        lo[()] = 0.0
        hi[()] = 0.0
        sg[()] = 1
        for k in T.serial(4):
            lo[()] = lo[()] + T.cast(table[k], "float32") * x[(2 * i + k) % 16384]
            hi[()] = hi[()] + T.cast(T.cast(sg[()], "float64") * table[3 - k], "float32") * x[(2 * i + k) % 16384]
            sg[()] = -sg[()]
        out[i] = lo[()]
        out[8192 + i] = hi[()]


@T.prim_func
def stft_mag(x: T.Buffer((2048,), "float32"), win: T.Buffer((64,), "float32"), out: T.Buffer((63, 33), "float32")):
    for i, j in T.grid(63, 33):
        out[i, j] = 0.0
    for t, f in T.grid(63, 33):
        re = T.alloc_buffer((), "float32")
        im = T.alloc_buffer((), "float32")
        re[()] = 0.0
        im[()] = 0.0
        for k in T.serial(64):
            a = -6.283185307179586 * T.cast(f, "float64") * T.cast(k, "float64") / 64.0
            v = x[t * 32 + k] * win[k]
            re[()] = re[()] + v * T.cast(T.cos(a), "float32")
            im[()] = im[()] + v * T.cast(T.sin(a), "float32")
        out[t, f] = T.sqrt(re[()] * re[()] + im[()] * im[()])


@T.prim_func
def mann_whitney(
    x: T.Buffer((400,), "float32"),
    y: T.Buffer((300,), "float32"),
    result_2: T.Buffer((), "float64"),
    result_3: T.Buffer((), "float64"),
):
    u = T.alloc_buffer((), "float64")
    u[()] = 0.0
    for i, j in T.grid(400, 300):
        if x[i] > y[j]:
            u[()] = u[()] + 1.0
        elif x[i] == y[j]:
            u[()] = u[()] + 0.5
    result = u[()]
    result_1 = (u[()] - 60000.0) / 2647.6404589747453
    result_2[()] = result
    result_3[()] = result_1


@T.prim_func
def mutual_information(a: T.Buffer((4000,), "int32"), b: T.Buffer((4000,), "int32"), result: T.Buffer((), "float32")):
    mi = T.alloc_buffer((), "float32")
    J = T.alloc_buffer((16, 12), "float32")
    for i, j in T.grid(16, 12):
        J[i, j] = 0.0
    for i in T.serial(4000):
        J[T.if_then_else(a[i] < 0, a[i] + 16, a[i]), T.if_then_else(b[i] < 0, b[i] + 12, b[i])] = (
            J[T.if_then_else(a[i] < 0, a[i] + 16, a[i]), T.if_then_else(b[i] < 0, b[i] + 12, b[i])] + 1.0
        )
    pa = T.alloc_buffer((16,), "float32")
    for i in T.serial(16):
        pa[i] = 0.0
    pb = T.alloc_buffer((12,), "float32")
    for i in T.serial(12):
        pb[i] = 0.0
    for i, j in T.grid(16, 12):
        J[i, j] = J[i, j] / 4000.0
        pa[i] = pa[i] + J[i, j]
        pb[j] = pb[j] + J[i, j]
    mi[()] = 0.0
    for i, j in T.grid(16, 12):
        if J[i, j] > 0.0:
            mi[()] = mi[()] + J[i, j] * T.cast(T.log(T.cast(J[i, j] / (pa[i] * pb[j]), "float64")), "float32")
    result[()] = mi[()]


@T.prim_func
def loess(
    x: T.Buffer((500,), "float32"),
    y: T.Buffer((500,), "float32"),
    q: T.Buffer((200,), "float32"),
    bw: T.float32,
    out: T.Buffer((200,), "float32"),
):
    for i in T.serial(200):
        out[i] = 0.0
    for i in T.serial(200):
        s0 = T.alloc_buffer((), "float32")
        s1 = T.alloc_buffer((), "float32")
        s2 = T.alloc_buffer((), "float32")
        t0 = T.alloc_buffer((), "float32")
        t1 = T.alloc_buffer((), "float32")
        s0[()] = 0.0
        s1[()] = 0.0
        s2[()] = 0.0
        t0[()] = 0.0
        t1[()] = 0.0
        for j in T.serial(500):
            d = x[j] - q[i]
            u = T.abs(d) / bw
            if u < 1.0:
                c = 1.0 - u * u * u
                w = c * c * c
                s0[()] = s0[()] + w
                s1[()] = s1[()] + w * d
                s2[()] = s2[()] + w * d * d
                t0[()] = t0[()] + w * y[j]
                t1[()] = t1[()] + w * d * y[j]
        den = s0[()] * s2[()] - s1[()] * s1[()]
        if den != 0.0:
            out[i] = (s2[()] * t0[()] - s1[()] * t1[()]) / den


@T.prim_func
def distance_correlation(
    x: T.Buffer((250,), "float32"), y: T.Buffer((250,), "float32"), result: T.Buffer((), "float32")
):
    ga = T.alloc_buffer((), "float32")
    gb = T.alloc_buffer((), "float32")
    dxy = T.alloc_buffer((), "float32")
    dxx = T.alloc_buffer((), "float32")
    dyy = T.alloc_buffer((), "float32")
    A = T.alloc_buffer((250, 250), "float32")
    for i, j in T.grid(250, 250):
        A[i, j] = 0.0
    B = T.alloc_buffer((250, 250), "float32")
    for i, j in T.grid(250, 250):
        B[i, j] = 0.0
    for i, j in T.grid(250, 250):
        A[i, j] = T.abs(x[i] - x[j])
        B[i, j] = T.abs(y[i] - y[j])
    ra = T.alloc_buffer((250,), "float32")
    for i in T.serial(250):
        ra[i] = 0.0
    rb = T.alloc_buffer((250,), "float32")
    for i in T.serial(250):
        rb[i] = 0.0
    ga[()] = 0.0
    gb[()] = 0.0
    for i in T.serial(250):
        for j in T.serial(250):
            ra[i] = ra[i] + A[i, j] / 250.0
            rb[i] = rb[i] + B[i, j] / 250.0
        ga[()] = ga[()] + ra[i] / 250.0
        gb[()] = gb[()] + rb[i] / 250.0
    dxy[()] = 0.0
    dxx[()] = 0.0
    dyy[()] = 0.0
    for i, j in T.grid(250, 250):
        a = A[i, j] - ra[i] - ra[j] + ga[()]
        b = B[i, j] - rb[i] - rb[j] + gb[()]
        dxy[()] = dxy[()] + a * b
        dxx[()] = dxx[()] + a * a
        dyy[()] = dyy[()] + b * b
    result[()] = dxy[()] / T.sqrt(dxx[()] * dyy[()])


@T.prim_func
def explicit_fd_put(K: T.float32, r: T.float32, sigma: T.float32, T_: T.float32, V: T.Buffer((81,), "float32")):
    S = T.alloc_buffer((81,), "float32")
    for i in T.serial(81):
        S[i] = 0.0
    for i in T.serial(81):
        V[i] = 0.0
    W = T.alloc_buffer((81,), "float32")
    for i in T.serial(81):
        W[i] = 0.0
    dt = T_ / 400.0
    for i in T.serial(81):
        S[i] = 2.0 * K * T.cast(i, "float32") / 80.0
        V[i] = T.max(K - S[i], 0.0)
    for t in T.serial(400):
        for i in T.serial(1, 80):
            a = 0.5 * dt * (sigma * sigma * T.cast(i, "float32") * T.cast(i, "float32") - r * T.cast(i, "float32"))
            b = 1.0 - dt * (sigma * sigma * T.cast(i, "float32") * T.cast(i, "float32") + r)
            c = 0.5 * dt * (sigma * sigma * T.cast(i, "float32") * T.cast(i, "float32") + r * T.cast(i, "float32"))
            W[i] = a * V[i - 1] + b * V[i] + c * V[i + 1]
        W[0] = K
        W[80] = 0.0
        for i in T.serial(81):
            V[i] = T.max(W[i], K - S[i])


@T.prim_func
def max_profit_k(prices: T.Buffer((1000,), "float32"), result: T.Buffer((), "float32")):
    dp = T.alloc_buffer((5, 1000), "float32")
    for i, j in T.grid(5, 1000):
        dp[i, j] = 0.0
    for k in T.serial(1, 5):
        best = T.alloc_buffer((), "float32")
        best[()] = -prices[0]
        for d in T.serial(1, 1000):
            dp[k, d] = T.max(dp[k, d - 1], prices[d] + best[()])
            best[()] = T.max(best[()], dp[k - 1, d] - prices[d])
    result[()] = dp[4, 999]


@T.prim_func
def potts_sweep(
    S: T.Buffer((64, 96), "int32"),
    U: T.Buffer((2, 64, 96), "float32"),
    Q: T.Buffer((2, 64, 96), "int32"),
    beta: T.float32,
    T_: T.Buffer((64, 96), "int32"),
):
    for i, j in T.grid(64, 96):
        T_[i, j] = S[i, j]
    for par, i, j in T.grid(2, 64, 96):
        if (i + j) % 2 == par:
            same = T.alloc_buffer((), "int64")
            want = T.alloc_buffer((), "int64")
            new = Q[par, i, j]
            same[()] = 0
            want[()] = 0
            for d in T.serial(4):
                ii = (T.cast(i, "int64") + T.cast(d == 0, "int64") - T.cast(d == 1, "int64")) % 64
                jj = (T.cast(j, "int64") + T.cast(d == 2, "int64") - T.cast(d == 3, "int64")) % 96
                if T_[ii, jj] == T_[i, j]:
                    same[()] = same[()] + 1
                if T_[ii, jj] == new:
                    want[()] = want[()] + 1
            if U[par, i, j] < T.exp(beta * T.cast(want[()] - same[()], "float32")):
                T_[i, j] = new


@T.prim_func
def pic_push(
    x: T.Buffer((4000,), "float32"),
    v: T.Buffer((4000,), "float32"),
    E: T.Buffer((64,), "float32"),
    dt: T.float32,
    dx: T.float32,
    rho: T.Buffer((64,), "float32"),
    xn: T.Buffer((4000,), "float32"),
    vn: T.Buffer((4000,), "float32"),
):
    for i in T.serial(64):
        rho[i] = 0.0
    for i in T.serial(4000):
        xn[i] = 0.0
    for i in T.serial(4000):
        vn[i] = 0.0
    for p in T.serial(4000):
        y = T.alloc_buffer((), "float32")
        g = x[p] / dx
        w = g - T.cast(T.cast(g, "int64"), "float32")
        e = (1.0 - w) * E[T.cast(g, "int64") % 64] + w * E[(T.cast(g, "int64") + 1) % 64]
        vn[p] = v[p] + dt * e
        y[()] = x[p] + dt * vn[p]
        L = 64.0 * dx
        if y[()] < 0.0:
            y[()] = y[()] + L
        if y[()] >= L:
            y[()] = y[()] - L
        xn[p] = y[()]
        g2 = y[()] / dx
        w2 = g2 - T.cast(T.cast(g2, "int64"), "float32")
        rho[T.cast(g2, "int64") % 64] = rho[T.cast(g2, "int64") % 64] + (1.0 - w2)
        rho[(T.cast(g2, "int64") + 1) % 64] = rho[(T.cast(g2, "int64") + 1) % 64] + w2


@T.prim_func
def fdtd_tm_pml(
    Ez: T.Buffer((80, 100), "float32"),
    Hx: T.Buffer((80, 100), "float32"),
    Hy: T.Buffer((80, 100), "float32"),
    sig: T.Buffer((80, 100), "float32"),
    e: T.Buffer((80, 100), "float32"),
):
    for i, j in T.grid(80, 100):
        e[i, j] = Ez[i, j]
    a = T.alloc_buffer((80, 100), "float32")
    for i, j in T.grid(80, 100):
        a[i, j] = Hx[i, j]
    b = T.alloc_buffer((80, 100), "float32")
    for i, j in T.grid(80, 100):
        b[i, j] = Hy[i, j]
    for t in T.serial(10):
        for i, j in T.grid(80, 99):
            a[i, j] = a[i, j] - 0.5 * (e[i, j + 1] - e[i, j])
        for i, j in T.grid(79, 100):
            b[i, j] = b[i, j] + 0.5 * (e[i + 1, j] - e[i, j])
        for i in T.serial(1, 79):
            for j in T.serial(1, 99):
                c = (1.0 - sig[i, j] / 2.0) / (1.0 + sig[i, j] / 2.0)
                e[i, j] = c * e[i, j] + 0.5 / (1.0 + sig[i, j] / 2.0) * (b[i, j] - b[i - 1, j] - a[i, j] + a[i, j - 1])
        e[40, 50] = e[40, 50] + T.sin(0.3 * T.cast(t, "float32"))


@T.prim_func
def grid_sample(
    I: T.Buffer((8, 40, 48), "float32"), G: T.Buffer((40, 48, 2), "float32"), out: T.Buffer((8, 40, 48), "float32")
):
    for i, j, k in T.grid(8, 40, 48):
        out[i, j, k] = 0.0
    for y, x in T.grid(40, 48):
        ix = (G[y, x, 0] + 1.0) * 0.5 * 47.0
        iy = (G[y, x, 1] + 1.0) * 0.5 * 39.0
        for dy, dx in T.grid(2, 2):
            if (
                0 <= T.cast(T.floor(iy), "int64") + T.cast(dy, "int64")
                and T.cast(T.floor(iy), "int64") + T.cast(dy, "int64") < 40
                and (
                    0 <= T.cast(T.floor(ix), "int64") + T.cast(dx, "int64")
                    and T.cast(T.floor(ix), "int64") + T.cast(dx, "int64") < 48
                )
            ):
                wt = (1.0 - T.abs(ix - T.cast(T.cast(T.floor(ix), "int64") + T.cast(dx, "int64"), "float32"))) * (
                    1.0 - T.abs(iy - T.cast(T.cast(T.floor(iy), "int64") + T.cast(dy, "int64"), "float32"))
                )
                for k in T.serial(8):
                    out[k, y, x] = (
                        out[k, y, x]
                        + wt
                        * I[
                            k,
                            T.if_then_else(
                                T.cast(T.floor(iy), "int64") + T.cast(dy, "int64") < 0,
                                T.cast(T.floor(iy), "int64") + T.cast(dy, "int64") + 40,
                                T.cast(T.floor(iy), "int64") + T.cast(dy, "int64"),
                            ),
                            T.if_then_else(
                                T.cast(T.floor(ix), "int64") + T.cast(dx, "int64") < 0,
                                T.cast(T.floor(ix), "int64") + T.cast(dx, "int64") + 48,
                                T.cast(T.floor(ix), "int64") + T.cast(dx, "int64"),
                            ),
                        ]
                    )


@T.prim_func
def moe_dispatch(
    X: T.Buffer((512, 32), "float32"),
    logits: T.Buffer((512, 8), "float32"),
    buf: T.Buffer((8, 72, 32), "float32"),
    slot: T.Buffer((512,), "int32"),
):
    for i, j, k in T.grid(8, 72, 32):
        buf[i, j, k] = 0.0
    cnt = T.alloc_buffer((8,), "int32")
    for i in T.serial(8):
        cnt[i] = 0
    for i in T.serial(512):
        slot[i] = 0
    for i in T.serial(512):
        b = T.alloc_buffer((), "int32")
        b[()] = 0
        for k in T.serial(1, 8):
            if logits[i, k] > logits[i, b[()]]:
                b[()] = k
        slot[i] = -1
        if cnt[b[()]] < 72:
            slot[i] = b[()] * 72 + cnt[b[()]]
            for c in T.serial(32):
                buf[b[()], T.if_then_else(cnt[b[()]] < 0, cnt[b[()]] + 72, cnt[b[()]]), c] = X[i, c]
            cnt[b[()]] = cnt[b[()]] + 1


@T.prim_func
def lstm_peephole(
    X: T.Buffer((60, 24), "float32"),
    W: T.Buffer((128, 24), "float32"),
    U: T.Buffer((128, 32), "float32"),
    p: T.Buffer((3, 32), "float32"),
    b: T.Buffer((128,), "float32"),
    hs: T.Buffer((60, 32), "float32"),
):
    for i, j in T.grid(60, 32):
        hs[i, j] = 0.0
    c = T.alloc_buffer((32,), "float32")
    for i in T.serial(32):
        c[i] = 0.0
    hp = T.alloc_buffer((32,), "float32")
    for i in T.serial(32):
        hp[i] = 0.0
    z = T.alloc_buffer((128,), "float32")
    for i in T.serial(128):
        z[i] = 0.0
    for t in T.serial(60):
        for k in T.serial(128):
            s = T.alloc_buffer((), "float32")
            s[()] = b[k]
            for q in T.serial(24):
                s[()] = s[()] + W[k, q] * X[t, q]
            for q in T.serial(32):
                s[()] = s[()] + U[k, q] * hp[q]
            z[k] = s[()]
        for k in T.serial(32):
            i = 1.0 / (1.0 + T.exp(-(z[k] + p[0, k] * c[k])))
            f = 1.0 / (1.0 + T.exp(-(z[32 + k] + p[1, k] * c[k])))
            c[k] = f * c[k] + i * T.tanh(z[64 + k])
            o = 1.0 / (1.0 + T.exp(-(z[96 + k] + p[2, k] * c[k])))
            hp[k] = o * T.tanh(c[k])
            hs[t, k] = hp[k]


@T.prim_func
def spatial_pyramid(X: T.Buffer((32, 32, 48), "float32"), out: T.Buffer((32, 21), "float32")):
    for i, j in T.grid(32, 21):
        out[i, j] = 0.0
    for k in T.serial(32):
        p = T.alloc_buffer((), "int64")
        p[()] = 0
        for lv in T.serial(3):
            for a, b in T.grid(1 << lv, 1 << lv):
                m = T.alloc_buffer((), "float32")
                m[()] = -1e30
                for y in T.serial(a * 32 // (1 << lv), (a + 1) * 32 // (1 << lv)):
                    for x in T.serial(b * 48 // (1 << lv), (b + 1) * 48 // (1 << lv)):
                        m[()] = T.max(m[()], X[k, y, x])
                out[k, p[()]] = m[()]
                p[()] = p[()] + 1


@T.prim_func
def hopfield(W: T.Buffer((96, 96), "float32"), S: T.Buffer((16, 96), "float32"), s_1: T.Buffer((16, 96), "float32")):
    s = T.alloc_buffer((16, 96), "float32")
    for i, j in T.grid(16, 96):
        s[i, j] = S[i, j]
    for i, j in T.grid(16, 96):
        s_1[i, j] = s[i, j]
    for t in T.serial(5):
        new = T.alloc_buffer((16, 96), "float32")
        for i, j in T.grid(16, 96):
            new[i, j] = 0.0
        for k, i in T.grid(16, 96):
            h = T.alloc_buffer((), "float32")
            h[()] = 0.0
            for j in T.serial(96):
                if i != j:
                    h[()] = h[()] + W[i, j] * s_1[k, j]
            new[k, i] = T.cast(T.if_then_else(h[()] >= 0.0, T.int32(1), T.int32(-1)), "float32")
        for i, j in T.grid(16, 96):
            s_1[i, j] = new[i, j]


@T.prim_func
def palindromic_subsequence(s: T.Buffer((160,), "int32"), result: T.Buffer((), "int32")):
    L = T.alloc_buffer((160, 160), "int32")
    for i, j in T.grid(160, 160):
        L[i, j] = 0
    for i in T.serial(160):
        L[159 - i, 159 - i] = 1
        for j in T.serial(159 - i + 1, 160):
            if s[159 - i] == s[j]:
                L[159 - i, j] = T.if_then_else(j > 159 - i + 1, L[159 - i + 1, j - 1], 0) + 2
            else:
                L[159 - i, j] = T.max(L[159 - i + 1, j], L[159 - i, j - 1])
    result[()] = L[0, 159]


@T.prim_func
def burst_balloons(a: T.Buffer((60,), "int32"), result: T.Buffer((), "int32")):
    v = T.alloc_buffer((62,), "int32")
    for i in T.serial(62):
        v[i] = 1
    for i in T.serial(60):
        v[i + 1] = a[i]
    dp = T.alloc_buffer((62, 62), "int32")
    for i, j in T.grid(62, 62):
        dp[i, j] = 0
    for ln in T.serial(2, 62):
        for l in T.serial(62 - ln):
            best = T.alloc_buffer((), "int32")
            best[()] = 0
            for k in T.serial(l + 1, l + ln):
                best[()] = T.max(best[()], dp[l, k] + dp[k, l + ln] + v[l] * v[k] * v[l + ln])
            dp[l, l + ln] = best[()]
    result[()] = dp[0, 61]


@T.prim_func
def max_rectangle_sum(A: T.Buffer((40, 48), "float32"), result: T.Buffer((), "float32")):
    best = T.alloc_buffer((), "float32")
    best[()] = A[0, 0]
    for top in T.serial(40):
        col = T.alloc_buffer((48,), "float32")
        for i in T.serial(48):
            col[i] = 0.0
        for bot in T.serial(top, 40):
            cur = T.alloc_buffer((), "float32")
            cur[()] = -1e30
            for j in T.serial(48):
                col[j] = col[j] + A[bot, j]
                cur[()] = T.max(cur[()], 0.0) + col[j]
                best[()] = T.max(best[()], cur[()])
    result[()] = best[()]


@T.prim_func
def csr_sssp(
    indptr: T.Buffer((301,), "int32"),
    idx: T.Buffer((1197,), "int32"),
    w: T.Buffer((1197,), "float32"),
    src: T.int64,
    d_1: T.Buffer((300,), "float32"),
):
    T.assume(src >= 0)
    T.assume(src <= 299)
    d = T.alloc_buffer((300,), "float32")
    for i in T.serial(300):
        d[i] = 1000000000.0
    d[src] = 0.0
    for i in T.serial(300):
        d_1[i] = d[i]
    for s in T.serial(8):
        e = T.alloc_buffer((300,), "float32")
        for i in T.serial(300):
            e[i] = d_1[i]
        for u in T.serial(300):
            bound = indptr[u]
            bound_1 = indptr[u + 1]
            for p in T.serial(T.cast(bound, "int64"), T.cast(bound_1, "int64")):
                v = idx[T.if_then_else(p < 0, p + 1197, p)]
                if d_1[u] + w[T.if_then_else(p < 0, p + 1197, p)] < e[T.if_then_else(v < 0, v + 300, v)]:
                    e[T.if_then_else(v < 0, v + 300, v)] = d_1[u] + w[T.if_then_else(p < 0, p + 1197, p)]
        for i in T.serial(300):
            d_1[i] = e[i]


@T.prim_func
def modularity(
    A: T.Buffer((200, 200), "float32"), c: T.Buffer((200,), "int32"), k: T.int64, result: T.Buffer((), "float32")
):
    m2 = T.alloc_buffer((), "float32")
    q = T.alloc_buffer((), "float32")
    deg = T.alloc_buffer((200,), "float32")
    for i in T.serial(200):
        deg[i] = 0.0
    m2[()] = 0.0
    for i in T.serial(200):
        for j in T.serial(200):
            deg[i] = deg[i] + A[i, j]
        m2[()] = m2[()] + deg[i]
    q[()] = 0.0
    for i, j in T.grid(200, 200):
        if c[i] == c[j]:
            q[()] = q[()] + (A[i, j] - deg[i] * deg[j] / m2[()])
    result[()] = q[()] / m2[()]


@T.prim_func
def ell_spmm(
    cols: T.Buffer((300, 8), "int32"),
    vals: T.Buffer((300, 8), "float32"),
    X: T.Buffer((300, 32), "float32"),
    Y: T.Buffer((300, 32), "float32"),
):
    for i, j in T.grid(300, 32):
        Y[i, j] = 0.0
    for i, p in T.grid(300, 8):
        if cols[i, p] >= 0:
            for j in T.serial(32):
                Y[i, j] = Y[i, j] + vals[i, p] * X[T.if_then_else(cols[i, p] < 0, cols[i, p] + 300, cols[i, p]), j]


@T.prim_func
def crc32_rows(rows: T.Buffer((256, 64), "uint8"), out: T.Buffer((256,), "uint32")):
    c = T.alloc_buffer((), "uint32")
    table = T.alloc_buffer((256,), "uint32")
    for i in T.serial(256):
        table[i] = 0
    for i in T.serial(256):
        c[()] = T.cast(i, "uint32")
        for k in T.serial(8):
            if c[()] & 1 != 0:
                c[()] = 3988292384 ^ c[()] >> 1
            else:
                c[()] = c[()] >> 1
        table[i] = c[()]
    for i in T.serial(256):
        out[i] = 0
    for r in T.serial(256):
        c[()] = 4294967295
        for j in T.serial(64):
            c[()] = table[(c[()] ^ T.cast(rows[r, j], "uint32")) & 255] ^ c[()] >> 8
        out[r] = c[()] ^ 4294967295


@T.prim_func
def word_lengths_histogram(text: T.Buffer((8000,), "uint8"), hist: T.Buffer((16,), "int32")):
    cur = T.alloc_buffer((), "int64")
    for i in T.serial(16):
        hist[i] = 0
    cur[()] = 0
    for i in T.serial(8000):
        if text[i] != 32:
            cur[()] = cur[()] + 1
        else:
            if cur[()] > 0:
                hist[T.min(cur[()], 15)] = hist[T.min(cur[()], 15)] + 1
            cur[()] = 0
    if cur[()] > 0:
        hist[T.min(cur[()], 15)] = hist[T.min(cur[()], 15)] + 1


@T.prim_func
def manacher_odd(s: T.Buffer((1000,), "uint8"), rad: T.Buffer((1000,), "int32")):
    for i in T.serial(1000):
        rad[i] = 0
    for c in T.serial(1000):
        k = T.alloc_buffer((), "int64")
        stopped = T.alloc_buffer((), "bool")
        k[()] = 0
        stopped[()] = False
        for step in T.serial(T.cast(1000 - (T.cast(c, "int64") + 0 + 1), "int32")):
            if not stopped[()]:
                if not (
                    T.cast(c, "int64") - k[()] - 1 >= 0
                    and T.cast(c, "int64") + k[()] + 1 < 1000
                    and s[
                        T.if_then_else(
                            T.cast(c, "int64") - k[()] - 1 < 0,
                            T.cast(c, "int64") - k[()] - 1 + 1000,
                            T.cast(c, "int64") - k[()] - 1,
                        )
                    ]
                    == s[T.cast(c, "int64") + k[()] + 1]
                ):
                    stopped[()] = True
                else:
                    k[()] = k[()] + 1
        rad[c] = T.cast(k[()], "int32")


@T.prim_func
def minesweeper_counts(M: T.Buffer((150, 200), "bool"), out: T.Buffer((150, 200), "int32")):
    for i, j in T.grid(150, 200):
        out[i, j] = 0
    for y, x in T.grid(150, 200):
        if M[y, x]:
            out[y, x] = -1
        else:
            c = T.alloc_buffer((), "int64")
            c[()] = 0
            for dy in T.serial(-1, 2):
                for dx in T.serial(-1, 2):
                    if dy == 0 and dx == 0:
                        pass
                    elif 0 <= y + dy and y + dy < 150 and (0 <= x + dx and x + dx < 200) and M[y + dy, x + dx]:
                        c[()] = c[()] + 1
            out[y, x] = T.cast(c[()], "int32")


@T.prim_func
def flood_sweeps(wall: T.Buffer((40, 48), "bool"), sy: T.int64, sx: T.int64, m: T.Buffer((40, 48), "bool")):
    T.assume(sy >= 0)
    T.assume(sy <= 39)
    T.assume(sx >= 0)
    T.assume(sx <= 47)
    for i, j in T.grid(40, 48):
        m[i, j] = False
    m[sy, sx] = True
    for s in T.serial(4):
        for y, x in T.grid(40, 48):
            if not wall[y, x]:
                if y > 0 and m[y - 1, x]:
                    m[y, x] = True
                if x > 0 and m[y, x - 1]:
                    m[y, x] = True
        for i, i_1 in T.grid(40, 48):
            if not wall[39 - i, 47 - i_1]:
                if 39 - i + 1 < 40 and m[39 - i + 1, 47 - i_1]:
                    m[39 - i, 47 - i_1] = True
                if 47 - i_1 + 1 < 48 and m[39 - i, 47 - i_1 + 1]:
                    m[39 - i, 47 - i_1] = True


@T.prim_func
def tetris_clear(B: T.Buffer((200, 40), "int32"), out: T.Buffer((200, 40), "int32"), result_1: T.Buffer((), "int64")):
    dst = T.alloc_buffer((), "int64")
    cleared = T.alloc_buffer((), "int64")
    for i, j in T.grid(200, 40):
        out[i, j] = 0
    dst[()] = 199
    cleared[()] = 0
    for i in T.serial(200):
        full = T.alloc_buffer((), "bool")
        full[()] = True
        for x in T.serial(40):
            if B[199 - i, x] == 0:
                full[()] = False
        if full[()]:
            cleared[()] = cleared[()] + 1
        else:
            for x in T.serial(40):
                out[T.if_then_else(dst[()] < 0, dst[()] + 200, dst[()]), x] = B[199 - i, x]
            dst[()] = dst[()] - 1
    result = cleared[()]
    result_1[()] = result


@T.prim_func
def permutation_test(
    x: T.Buffer((40,), "float32"),
    y: T.Buffer((50,), "float32"),
    perms: T.Buffer((200, 90), "int32"),
    result: T.Buffer((), "float64"),
):
    hits = T.alloc_buffer((), "int64")
    z = T.alloc_buffer((90,), "float32")
    for i in T.serial(90):
        z[i] = 0.0
    for i in T.serial(40):
        z[i] = x[i]
    for i in T.serial(50):
        z[40 + i] = y[i]
    mean = T.alloc_buffer((), "float32")
    mean[()] = 0.0
    for i in T.serial(40):
        mean[()] = mean[()] + x[i]
    mean_1 = T.alloc_buffer((), "float32")
    mean_1[()] = 0.0
    for i in T.serial(50):
        mean_1[()] = mean_1[()] + y[i]
    obs = T.abs(mean[()] / 40.0 - mean_1[()] / 50.0)
    hits[()] = 0
    for p in T.serial(200):
        a = T.alloc_buffer((), "float32")
        b = T.alloc_buffer((), "float32")
        a[()] = 0.0
        b[()] = 0.0
        for i in T.serial(90):
            if i < 40:
                a[()] = a[()] + z[T.if_then_else(perms[p, i] < 0, perms[p, i] + 90, perms[p, i])]
            else:
                b[()] = b[()] + z[T.if_then_else(perms[p, i] < 0, perms[p, i] + 90, perms[p, i])]
        if T.abs(a[()] / 40.0 - b[()] / 50.0) >= obs:
            hits[()] = hits[()] + 1
    result[()] = T.cast(hits[()], "float64") / 200.0


@T.prim_func
def theil_sen(x: T.Buffer((70,), "float32"), y: T.Buffer((70,), "float32"), result: T.Buffer((), "float32")):
    k = T.alloc_buffer((), "int64")
    s = T.alloc_buffer((2415,), "float32")
    for i in T.serial(2415):
        s[i] = 0.0
    k[()] = 0
    for i in T.serial(69):
        for j in T.serial(i + 1, 70):
            s[k[()]] = (y[j] - y[i]) / (x[j] - x[i])
            k[()] = k[()] + 1
    found = T.alloc_buffer((2415,), "float32")
    for i in T.serial(2415):
        found[i] = s[i]
    for i in T.serial(2414):
        for j in T.serial(i + 1, 2415):
            if found[i] > found[j]:
                least = found[j]
                found[j] = found[i]
                found[i] = least
    result[()] = found[1207]


@T.prim_func
def ljung_box(x: T.Buffer((3000,), "float32"), result: T.Buffer((), "float32")):
    mu = T.alloc_buffer((), "float32")
    c0 = T.alloc_buffer((), "float32")
    q = T.alloc_buffer((), "float32")
    mu[()] = 0.0
    for i in T.serial(3000):
        mu[()] = mu[()] + x[i] / 3000.0
    c0[()] = 0.0
    for i in T.serial(3000):
        c0[()] = c0[()] + (x[i] - mu[()]) * (x[i] - mu[()])
    q[()] = 0.0
    for k in T.serial(1, 21):
        c = T.alloc_buffer((), "float32")
        c[()] = 0.0
        for i in T.serial(k, 3000):
            c[()] = c[()] + (x[i] - mu[()]) * (x[i - k] - mu[()])
        r = c[()] / c0[()]
        q[()] = q[()] + r * r / T.cast(3000 - k, "float32")
    result[()] = 9006000.0 * q[()]
