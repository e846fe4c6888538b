"""The programs of `untuned_programs.py` as somebody who knows JAX writes them by hand, and arrays to run them on."""

# ruff: noqa: B007, E731, E741
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Inputs = dict[str, Any]


class Draw:
    """Random arrays."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(7)

    def floats(self, *shape: int) -> np.ndarray:
        """Normal float32."""
        return self.rng.normal(size=shape).astype(np.float32)

    def unit(self, *shape: int) -> np.ndarray:
        """Float32 from 0 to 1."""
        return self.rng.random(shape).astype(np.float32)

    def below(self, stop: int, *shape: int) -> np.ndarray:
        """Int32 from 0 to below a number."""
        return self.rng.integers(0, stop, shape).astype(np.int32)

    def bytes(self, *shape: int) -> np.ndarray:
        """Any uint8."""
        return self.rng.integers(0, 1 << 8, shape).astype(np.uint8)

    def words(self, *shape: int) -> np.ndarray:
        """Any uint32."""
        return self.rng.integers(0, 1 << 32, shape).astype(np.uint32)

    def offsets(self, count: int, stop: int) -> np.ndarray:
        """Int32 that rise from 0 to a number: where rows begin and end."""
        return np.concatenate([[0], np.sort(self.rng.integers(0, stop, count - 2)), [stop]]).astype(np.int32)


def summed_area(A):
    return jnp.cumsum(jnp.cumsum(A, 0), 1)


def window_of_positions(A, w):
    x = A.reshape(-1)
    n = 4096
    return sum(x[t : t + n] * w[t] for t in range(5)).reshape(256, 16)


def dilated_groups(X, W):
    return jax.lax.conv_general_dilated(X[None], W, (1, 1), "VALID", rhs_dilation=(2, 2), feature_group_count=4)[0]


def transposed_convolution(X, W):
    Y = jnp.zeros((66, 66), jnp.float32)
    for a in range(4):
        for b in range(4):
            Y = Y.at[a : a + 64 : 2, b : b + 64 : 2].add(X * W[a, b])
    return Y


def tiles_with_tails(A, B):
    return A @ B


def pairwise_forces(P):
    d = P[:, None] - P[None]
    q = (d * d).sum(-1) + 0.01
    return -(d / (q * jnp.sqrt(q))[..., None]).sum(1)


def bilinear_upsampling(X):
    i = jnp.arange(256)
    s = (i + 0.5) / 2 - 0.5
    lo = jnp.floor(s).astype(int)
    w = (s - lo).astype(jnp.float32)
    a = jnp.clip(lo, 0, 127)
    b = jnp.clip(lo + 1, 0, 127)
    R = X[a] * (1 - w)[:, None] + X[b] * w[:, None]
    return R[:, a] * (1 - w)[None] + R[:, b] * w[None]


def game_of_life(G):
    n = sum(jnp.roll(G, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
    return ((n == 3) | (G == 1) & (n == 2)).astype(jnp.int32)


def moving_average(X):

    def s(c, x):
        c = 0.9 * c + 0.1 * x
        return (c, c)

    return jax.lax.scan(s, jnp.zeros(X.shape[0]), X.T)[1].T


def nearest_centre(X, C):
    return jnp.argmin(((X[:, None] - C[None]) ** 2).sum(-1), 1).astype(jnp.int32)


def cross_entropy(L, y):
    m = L.max(1)
    return jnp.log(jnp.exp(L - m[:, None]).sum(1)) + m - L[jnp.arange(512), y]


def rotary_embedding(X, C, S):
    a, b = (X[..., 0::2], X[..., 1::2])
    return jnp.stack([a * C - b * S, a * S + b * C], -1).reshape(X.shape)


def causal_attention(Q, Kk, V):
    S = Q @ Kk.T / 8
    S = jnp.where(jnp.tril(jnp.ones((256, 256), bool)), S, -jnp.inf)
    return jax.nn.softmax(S, -1) @ V


def tridiagonal_systems(a, b, c, d):

    def fw(s, x):
        cp, dp = s
        a, b, c, d = x
        w = b - a * cp
        return ((c / w, (d - a * dp) / w), (c / w, (d - a * dp) / w))

    z = jnp.zeros(a.shape[1])
    _, (cp, dp) = jax.lax.scan(fw, (z, z), (a, b, c, d))

    def bw(x, s):
        x = s[1] - s[0] * x
        return (x, x)

    return jax.lax.scan(bw, z, (cp, dp), reverse=True)[1]


def group_norm_in_blocks(X):
    Y = X.transpose(0, 3, 1, 2).reshape(8, -1)
    m = Y.mean(1, keepdims=True)
    v = ((Y - m) ** 2).mean(1, keepdims=True)
    return ((Y - m) / jnp.sqrt(v + 1e-05)).reshape(8, 4, 32, 32).transpose(0, 2, 3, 1)


def ellpack_product(A, J, x):
    return (A * x[J]).sum(1)


def max_pool_in_blocks(X):
    return jax.lax.reduce_window(X, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))


def histogram_2d(I, J, W):
    return jnp.zeros((32, 32)).at[I, J].add(W)


def recurrent_gate(W, U, x, h, b):
    return jax.nn.sigmoid(W @ x + U @ h + b)


def horner(X, c):
    y = jnp.zeros_like(X)
    for i in range(11, -1, -1):
        y = y * X + c[i]
    return y


def layer_norm_with_padding(X, g, b):
    Y = X[:, :197]
    m = Y.mean(1, keepdims=True)
    v = ((Y - m) ** 2).mean(1, keepdims=True)
    return jnp.pad((Y - m) / jnp.sqrt(v + 1e-05) * g[:197] + b[:197], ((0, 0), (0, 3)))


def product_of_blocks(A, B):
    return A.transpose(0, 2, 1, 3).reshape(256, 256) @ B


def depthwise_padded(X, W):
    Xp = jnp.pad(X, ((0, 0), (1, 1), (1, 1)))
    return sum(Xp[:, a : a + 56, b : b + 56] * W[:, a, b][:, None, None] for a in range(3) for b in range(3))


def softmax_of_lengths(S, n):
    M = jnp.arange(128)[None] < n[:, None]
    Z = jnp.where(M, S, -jnp.inf)
    return jnp.where(M, jax.nn.softmax(Z, 1), 0)


def zero_points(A, B, za, zb):
    return (A.astype(jnp.int32) - za) @ (B.astype(jnp.int32) - zb)


def average_pool_in_blocks(X):
    return X.reshape(8, 16, 2, 16, 2, 4).mean((2, 4))


def heat(A):

    def s(_, A):
        return A.at[1:-1, 1:-1].set(0.25 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:]))

    return jax.lax.fori_loop(0, 50, s, A)


def knapsack(w, v):

    def s(D, x):
        wi, vi = x
        i = jnp.arange(501)
        return (jnp.where(i >= wi, jnp.maximum(D, D[i - wi] + vi), D), None)

    return jax.lax.scan(s, jnp.zeros(501, jnp.int32), (w, v))[0]


def covariance_of_samples(X):
    m = X.mean(0)
    return (X - m).T @ (X - m) / (X.shape[0] - 1)


def segment_means(X, L):
    s = jnp.zeros((100, 16)).at[L].add(X)
    c = jnp.zeros(100).at[L].add(1.0)
    return s / jnp.maximum(c, 1)[:, None]


def escape_time(cx, cy):
    x = jnp.zeros_like(cx)
    y = jnp.zeros_like(cx)
    n = jnp.zeros(cx.shape, jnp.int32)
    for _ in range(20):
        i = x * x + y * y <= 4
        x, y = (jnp.where(i, x * x - y * y + cx, x), jnp.where(i, 2 * x * y + cy, y))
        n += i
    return n


def strided_convolution_in_blocks(X, W):
    Xn = jnp.pad(X.transpose(0, 3, 1, 2).reshape(1, 16, 33, 33), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return jax.lax.conv_general_dilated(Xn, W, (2, 2), "VALID")[0].reshape(6, 4, 17, 17).transpose(0, 2, 3, 1)


def running_logsumexp(X):
    return jax.lax.associative_scan(jnp.logaddexp, X, axis=1)


def leaky_product(A):
    return jnp.where(A > 0, A, 0.1 * A) @ A.T


def interpolation(x, q):
    t = q * 99
    i = jnp.clip(jnp.floor(t).astype(jnp.int32), 0, 98)
    w = t - i
    return x[i] * (1 - w) + x[i + 1] * w


def lcs(a, b):

    def row(prev, ai):
        c = jnp.where(ai == b, prev[:-1] + 1, prev[1:])
        c = lax.cummax(jnp.concatenate([jnp.zeros(1, jnp.int32), c]))
        return (c, c)

    z = jnp.zeros(b.shape[0] + 1, jnp.int32)
    _, rows = lax.scan(row, z, a)
    return jnp.concatenate([z[None], rows])


def binomial_tree(S):
    i = jnp.arange(257, dtype=jnp.float32)
    W = jnp.maximum(S[:, None] * jnp.exp(0.01 * (2 * i - 256)) - 100, 0)

    def step(W, _):
        return (jnp.pad(0.999 * (0.48 * W[:, :-1] + 0.52 * W[:, 1:]), ((0, 0), (0, 1))), None)

    W, _ = lax.scan(step, W, None, length=256)
    return W[:, 0]


def pagerank_csr(ptr, idx, x):
    seg = jnp.searchsorted(ptr, jnp.arange(8000), side="right") - 1
    return 0.15 + jax.ops.segment_sum(0.85 * 0.125 * x[idx], seg, 1000)


def popcount(A):
    return lax.population_count(A)


def erosion(A):
    return lax.reduce_window(A, 1e30, lax.min, (5, 5), (1, 1), "SAME")


def lbm_collide(G, w, cx, cy):
    R = G.sum(0)
    U = jnp.einsum("q,qyx->yx", cx, G) / R
    V = jnp.einsum("q,qyx->yx", cy, G) / R
    c = cx[:, None, None] * U + cy[:, None, None] * V
    return G + 0.6 * (w[:, None, None] * R * (1 + 3 * c + 4.5 * c * c - 1.5 * (U * U + V * V)) - G)


def odd_even_sort(A):

    def step(t, A):

        def even(A):
            B = A.reshape(128, 2)
            return jnp.stack([B.min(1), B.max(1)], 1).reshape(-1)

        def odd(A):
            B = A[1:-1].reshape(127, 2)
            return jnp.concatenate([A[:1], jnp.stack([B.min(1), B.max(1)], 1).reshape(-1), A[-1:]])

        return lax.cond(t % 2 == 0, even, odd, A)

    return lax.fori_loop(0, 256, step, A)


def autocorrelation(x):
    return jnp.convolve(jnp.pad(x, (0, 63)), x[::-1], mode="valid", precision="highest")


def dft(x):
    k_ = jnp.arange(512)
    a = 0.01227184630308513 * (k_[:, None] * k_ % 512).astype(jnp.float32)
    return (jnp.dot(jnp.cos(a), x, precision="highest"), -jnp.dot(jnp.sin(a), x, precision="highest"))


def trmm_lower(L, B):
    return jnp.dot(jnp.tril(L), B, precision="highest")


def conv_transpose(X, W):
    return lax.conv_general_dilated(
        X[None], W[:, :, ::-1, ::-1], (1, 1), [(3, 3), (3, 3)], lhs_dilation=(2, 2), precision="highest"
    )[0]


def max_pool_argmax(X):
    B = X.reshape(16, 32, 2, 32, 2).transpose(0, 1, 3, 2, 4).reshape(16, 32, 32, 4)
    return (B.max(-1), jnp.argmax(B, -1).astype(jnp.int32))


def wave_2d(U, V):

    def step(t, s):
        a, b, v = s
        n = (
            2 * b[1:-1, 1:-1]
            - a[1:-1, 1:-1]
            + 0.1 * (b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] - 4 * b[1:-1, 1:-1])
        )
        return (a.at[1:-1, 1:-1].set(b[1:-1, 1:-1]), b.at[1:-1, 1:-1].set(n), v.at[1:-1, 1:-1].set(n))

    a, b, v = lax.fori_loop(0, 50, step, (U[0], U[1], V))
    return (jnp.stack([a, b]), v)


def embedding_bag(E, idx, n):
    return jnp.where((jnp.arange(20) < n[:, None])[:, :, None], E[idx], 0).sum(1) / jnp.maximum(n, 1)[:, None].astype(
        jnp.float32
    )


def bellman_ford(u, v, w):
    return lax.fori_loop(
        0, 30, lambda t, D: D.at[v].min(D[u] + w), jnp.full(300, 1000000000.0, jnp.float32).at[0].set(0.0)
    )


def black_scholes(S, K):
    d1 = (jnp.log(S / K) + 0.07) / 0.2
    d2 = d1 - 0.2
    return S * 0.5 * (1 + lax.erf(d1 * 0.70710678)) - K * 0.95 * 0.5 * (1 + lax.erf(d2 * 0.70710678))


def batched_small_inverse(A):
    r = jnp.roll
    a1 = r(r(A, -1, 1), -1, 2)
    a2 = r(r(A, -2, 1), -2, 2)
    a3 = r(r(A, -1, 1), -2, 2)
    a4 = r(r(A, -2, 1), -1, 2)
    cof = a1 * a2 - a3 * a4
    det = (A[:, 0] * cof[:, 0]).sum(-1)
    return cof.transpose(0, 2, 1) / det[:, None, None]


def csr_spmm(ptr, idx, a, X):
    return jax.ops.segment_sum(a[:, None] * X[idx], jnp.searchsorted(ptr, jnp.arange(5000), side="right") - 1, 500)


def grouped_rms_norm(X, g):
    m = (jnp.arange(1024) < 1020).reshape(64, 16)
    Xm = jnp.where(m, X, 0)
    s = (Xm * Xm).sum((1, 2), keepdims=True)
    return Xm * lax.rsqrt(s / 1020 + 1e-06) * g


def viterbi(E, A):

    def step(v, e):
        n = (v[:, None] + A).max(0) + e
        return (n, n)

    _, r = lax.scan(step, E[0], E[1:])
    return jnp.concatenate([E[:1], r])


def image_gradient_hist(I_):
    gx = I_[1:-1, 2:] - I_[1:-1, :-2]
    gy = I_[2:, 1:-1] - I_[:-2, 1:-1]
    m = jnp.sqrt(gx * gx + gy * gy)
    return jnp.zeros(8, jnp.float32).at[jnp.minimum(jnp.floor(m * 2).astype(jnp.int32), 7)].add(m)


def median3(x):
    return jnp.concatenate(
        [x[:1], jnp.maximum(jnp.minimum(x[:-2], x[1:-1]), jnp.minimum(jnp.maximum(x[:-2], x[1:-1]), x[2:])), x[-1:]]
    )


def exp_moving_var(x):

    def step(s, xt):
        m, v = s
        m = 0.9 * m + 0.1 * xt
        v = 0.9 * v + 0.1 * (xt - m) ** 2
        return ((m, v), (m, v))

    z = jnp.zeros(64, jnp.float32)
    _, (m, v) = lax.scan(step, (x[:, 0], z), x[:, 1:].T)
    return (jnp.concatenate([x[:, :1], m.T], 1), jnp.concatenate([z[:, None], v.T], 1))


def nn_distance_matrix(X, Y):
    return ((X[:, None] - Y) ** 2).sum(-1).min(1)


def sliding_distance(x, q):
    return ((jnp.stack([x[j : j + 8129] for j in range(64)], 1) - q) ** 2).sum(1)


def instance_norm(X):
    z = (X - X.mean((1, 2), keepdims=True)) * lax.rsqrt(X.var((1, 2), keepdims=True) + 1e-5)
    return jnp.maximum(z, 0.1 * z)


def jacobi_3d(A, B):
    def sweep(_, A):
        sides = A[:-2, 1:-1, 1:-1] + A[2:, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1] + A[1:-1, 2:, 1:-1]
        return A.at[1:-1, 1:-1, 1:-1].set((sides + A[1:-1, 1:-1, :-2] + A[1:-1, 1:-1, 2:]) * 0.1666)

    A = lax.fori_loop(0, 10, sweep, A)
    return A, B.at[1:-1, 1:-1, 1:-1].set(A[1:-1, 1:-1, 1:-1])


def gqa_scores(Q, Km, n, S):
    del S  # the kernel takes it, since data decide what is written
    j, i = jnp.arange(64), jnp.arange(64)[:, None]
    scores = jnp.einsum("ghid,gjd->ghij", Q.reshape(2, 4, 64, 32), Km).reshape(8, 64, 64)
    return jnp.where((j < n[0]) & (j <= i), scores, -1e9)


def drawdown(P):
    return jnp.maximum((jnp.maximum(lax.cummax(P, axis=1), 0) - P).max(1), 0)


def int8_product(A, B, za, zb):
    return (A.astype(jnp.int32) - za[0]) @ (B.astype(jnp.int32) - zb[None, :])


def gaussian_reflect(X, w):
    P = jnp.pad(X, ((0, 0), (2, 2)), mode="reflect")
    H = jnp.pad(sum(w[t] * P[:, t : t + 256] for t in range(5)), ((2, 2), (0, 0)), mode="reflect")
    return sum(w[t] * H[t : t + 256] for t in range(5))


def first_above(X):
    return jnp.where((X > 0.9).any(1), jnp.argmax(X > 0.9, axis=1), -1)


def confusion(y, p):
    return jnp.zeros(100, jnp.float32).at[y * 10 + p].add(1.0).reshape(10, 10) / 20000.0


def kalman(Z):
    def step(state, z):
        x, p = state[0], state[1] + 0.01
        g = p / (p + 0.1)
        x = x + g * (z - x)
        return (x, (1 - g) * p), x

    return lax.scan(step, (jnp.zeros(256), jnp.ones(256)), Z.T)[1].T


def conv_nhwc(X, W, b):
    return jnp.maximum(
        lax.conv_general_dilated(X, W, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b, 0
    )


def red_black(U, F):
    colour = (jnp.arange(128)[:, None] + jnp.arange(128)) % 2

    def half(t, U):
        new = 0.25 * (U[:-2, 1:-1] + U[2:, 1:-1] + U[1:-1, :-2] + U[1:-1, 2:] - F[1:-1, 1:-1])
        return U.at[1:-1, 1:-1].set(jnp.where(colour == t % 2, new, U[1:-1, 1:-1]))

    return lax.fori_loop(0, 20, half, U)


def mean_pool(X, n):
    X = jnp.where((jnp.arange(128) < n[:, None])[:, :, None], X, 0.0)  # what is behind the end may be anything
    return X.sum(1) / n[:, None]


def rolling_hash(s):
    return lax.fori_loop(0, 1000, lambda i, h: h * jnp.uint32(31) + s[:, i], jnp.zeros(128, jnp.uint32))


def bilateral(X):
    total, weights = 0.0, 0.0
    for u in range(5):
        for v in range(5):
            part = X[u : u + 128, v : v + 128]
            w = jnp.exp(-((part - X[2:130, 2:130]) ** 2) - 0.1 * ((u - 2) ** 2 + (v - 2) ** 2))
            total, weights = total + w * part, weights + w
    return total / weights


def haar(X):
    return jnp.concatenate([(X[:, ::2] + X[:, 1::2]) * 0.5, (X[:, ::2] - X[:, 1::2]) * 0.5], 1)


def batched_cross(A, B):
    return jnp.cross(A, B)


def quat_rotate(q, v):
    t = 2 * jnp.cross(q[:, 1:], v)
    return v + q[:, :1] * t + jnp.cross(q[:, 1:], t)


def histogram_equalise(X):
    counts = jnp.zeros(256, jnp.int32).at[X.reshape(-1).astype(jnp.int32)].add(1)
    return jnp.cumsum(counts)[X.astype(jnp.int32)].astype(jnp.float32) / 65536.0


def givens_rotations(A, c, s):
    def rotate(above, given):
        below, c, s = given
        return c * below - s * above, c * above + s * below

    last, rows = lax.scan(rotate, A[0], (A[1:], c, s))
    return jnp.concatenate([rows, last[None]])


def ssm_scan(U, A, Bm, Cm):
    def step(h, given):
        u, b, c = given
        h = jnp.exp(-A) * h + u[:, None] * b
        return h, h @ c

    return lax.scan(step, jnp.zeros((64, 16)), (U, Bm, Cm))[1]


def matmul_tails(A, B):
    return A @ B


def ragged_softmax(X, n):
    inside = jnp.arange(100) < n[:, None]
    return jnp.where(inside, jax.nn.softmax(jnp.where(inside, X, -jnp.inf), 1), 0)


def roi_max(X, R):
    return jax.vmap(lambda at: lax.dynamic_slice(X, (at[0], at[1]), (8, 8)).max())(R)


def weno_flux(u):
    w = [u[k : k + 10000] for k in range(5)]
    smooth = [1.0833 * (w[k] - 2 * w[k + 1] + w[k + 2]) ** 2 for k in range(3)]
    a = [share / (b + 1e-6) ** 2 for share, b in zip((0.1, 0.6, 0.3), smooth, strict=True)]
    flux = a[0] * (2 * w[0] - 7 * w[1] + 11 * w[2]) + a[1] * (-w[1] + 5 * w[2] + 2 * w[3])
    return (flux + a[2] * (2 * w[2] + 5 * w[3] - w[4])) / (6 * sum(a))


def blocked_layernorm(X, g):
    x = X.reshape(64, 64)[:, :60]
    x = x - x.mean(1, keepdims=True)
    y = x * lax.rsqrt((x * x).mean(1, keepdims=True) + 1e-5) * g
    return jnp.pad(y, ((0, 0), (0, 4))).reshape(64, 4, 16)


def masked_prefix_mean(X, M):
    known = M > 25
    return jnp.cumsum(jnp.where(known, X, 0), 1) / jnp.maximum(jnp.cumsum(known.astype(jnp.float32), 1), 1)


def gram_schmidt(A):
    q, r = jnp.linalg.qr(A)
    return q * jnp.sign(jnp.diag(r))


def legendre(x):
    P = [jnp.ones_like(x), x]
    for n in range(6):
        P.append(((2 * n + 3) * x * P[n + 1] - (n + 1) * P[n]) / (n + 2))
    return jnp.stack(P)


def window_attention(Q, Km, V):
    j, i = jnp.arange(256), jnp.arange(256)[:, None]
    return jax.nn.softmax(jnp.where((j <= i) & (j >= i - 32), Q @ Km.T, -1e30), 1) @ V


def paged_attention(Q, KC, VC, table, lens):
    K = KC[table].reshape(16, 128, 64)
    V = VC[table].reshape(16, 128, 64)
    s = jnp.einsum("bd,btd->bt", Q, K)
    s = jnp.where(jnp.arange(128) < lens[:, None], s, -jnp.inf)
    return jnp.einsum("bt,btd->bd", jax.nn.softmax(s, -1), V)


def int4_dequant(P, sc, x):
    q = jnp.stack([P & 15, P >> 4], -1).reshape(256, 256).astype(jnp.int32) - 8
    return jnp.sum(jnp.sum((q.astype(jnp.float32) * x).reshape(256, 8, 32), -1) * sc, 1)


def yuv_to_rgb(Y, U, V):
    def up(a):
        return jnp.repeat(jnp.repeat(a, 2, 0), 2, 1)

    c = Y.astype(jnp.int32) - 16
    d = up(U).astype(jnp.int32) - 128
    e = up(V).astype(jnp.int32) - 128
    r = jnp.stack(
        [(298 * c + 409 * e + 128) >> 8, (298 * c - 100 * d - 208 * e + 128) >> 8, (298 * c + 516 * d + 128) >> 8], -1
    )
    return jnp.clip(r, 0, 255).astype(jnp.uint8)


def rule110(A):
    def step(r, _):
        k = jnp.roll(r, 1) * 4 + r * 2 + jnp.roll(r, -1)
        return (110 >> k) & 1, r

    return lax.scan(step, A, None, length=100)[1]


def dtw(a, b):
    n, m = len(a), len(b)
    rows, columns = jnp.arange(n)[:, None], jnp.arange(m)
    costs = jnp.full((n + m - 1, n), 1e30).at[rows + columns, rows].set(jnp.abs(a[:, None] - b))
    beyond = jnp.full(1, 1e30)

    def step(last, cost):
        left, diagonal = last
        up = jnp.concatenate([beyond, left[:-1]])
        here = jnp.minimum(cost + jnp.minimum(jnp.minimum(up, left), diagonal), 1e30)
        return (here, up), here

    _, found = lax.scan(step, (jnp.full(n, 1e30), jnp.full(n, 1e30).at[0].set(0.0)), costs)
    return jnp.full((n + 1, m + 1), 1e30).at[1:, 1:].set(found[rows + columns, rows]).at[0, 0].set(0.0)


def hmm_forward(A, E):
    def step(a, e):
        n = (a @ A) * e
        n = n / n.sum()
        return n, n

    _, o = lax.scan(step, E[0], E[1:])
    return jnp.concatenate([E[:1], o])


def block_sparse_product(ptr, col, V, X):
    Xb = X.reshape(32, 8, 16)
    P = jnp.einsum("bik,bkn->bin", V, Xb[col])
    r = jnp.searchsorted(ptr, jnp.arange(160), side="right") - 1
    return jax.ops.segment_sum(P, r, 32, indices_are_sorted=True).reshape(256, 16)


def diagonals_product(D, off, x):
    i = jnp.arange(2000)
    j = i[None] + off[:, None]
    return jnp.sum(jnp.where((j >= 0) & (j < 2000), D * x[jnp.clip(j, 0, 1999)], 0), 0)


def rk4_lorenz(S):
    def f(p):
        x, y, z = p[:, 0], p[:, 1], p[:, 2]
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 2.6666667 * z], 1)

    def step(_, S):
        k1 = f(S)
        k2 = f(S + 0.005 * k1)
        k3 = f(S + 0.005 * k2)
        k4 = f(S + 0.01 * k3)
        return S + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lax.fori_loop(0, 20, step, S)


def toeplitz(c, x):
    return lax.conv_general_dilated(c[None, None], x[::-1][None, None], (1,), "VALID")[0, 0]


def segmented_scan(x, f):
    f = f.at[0].set(1)

    def op(a, b):
        return (a[0] | b[0], jnp.where(b[0] > 0, b[1], a[1] + b[1]))

    return lax.associative_scan(op, ((f > 0).astype(jnp.int32), x))[1]


def gru_masked(X, W, U, lens):
    XW = X @ W

    def step(h, a):
        t, xw = a
        n = jnp.tanh(xw + h @ U)
        return jnp.where((t < lens)[:, None], n, h), None

    return lax.scan(step, jnp.zeros((32, 24)), (jnp.arange(20), XW))[0]


def ctc_forward(P, lab):
    E = P[:, lab]
    s = jnp.arange(41)
    ok = (s >= 2) & (s % 2 == 1) & (lab != jnp.roll(lab, 2))

    def step(a, e):
        z = jnp.zeros(1)
        n = a + jnp.concatenate([z, a[:-1]]) + jnp.where(ok, jnp.roll(a, 2), 0)
        n = n * e * 1.5
        return n, n

    a0 = jnp.where(s < 2, E[0], 0)
    return jnp.concatenate([a0[None], lax.scan(step, a0, E[1:])[1]])


def experts_of_tokens(X, G, W):
    a = jnp.argmax(X @ G, 1)
    Y = jnp.einsum("td,edo->eto", X, W)
    return Y[a, jnp.arange(256)]


def hough_transform(E, ct, st):
    y, x = jnp.mgrid[:64, :64]
    rho = jnp.floor(x[..., None] * ct + y[..., None] * st).astype(jnp.int32) + 100
    ok = (E[..., None] > 0) & (rho >= 0) & (rho < 200)
    t = jnp.broadcast_to(jnp.arange(36), rho.shape)
    return jnp.zeros((36, 200), jnp.int32).at[t, jnp.where(ok, rho, 200)].add(1, mode="drop")


def cholesky_batch(A):
    L = [[None] * 4 for _ in range(4)]
    z = jnp.zeros(A.shape[0])
    for j in range(4):
        L[j][j] = jnp.sqrt(A[:, j, j] - sum(L[j][k] ** 2 for k in range(j)))
        for i in range(j + 1, 4):
            L[i][j] = (A[:, i, j] - sum(L[i][k] * L[j][k] for k in range(j))) / L[j][j]
    return jnp.stack([jnp.stack([L[i][j] if j <= i else z for j in range(4)], -1) for i in range(4)], -2)


def small_systems(A, r):
    M = [[A[:, i, j] for j in range(3)] + [r[:, i]] for i in range(3)]
    for k in range(3):
        for i in range(k + 1, 3):
            f = M[i][k] / M[k][k]
            for j in range(k, 4):
                M[i][j] = M[i][j] - f * M[k][j]
    x = [None] * 3
    for i in (2, 1, 0):
        x[i] = (M[i][3] - sum(M[i][j] * x[j] for j in range(i + 1, 3))) / M[i][i]
    return jnp.stack(x, -1)


def median_of_five(X):
    v = [X[:, i] for i in range(5)]
    for i in range(5):
        for j in range(4 - i):
            v[j], v[j + 1] = jnp.minimum(v[j], v[j + 1]), jnp.maximum(v[j], v[j + 1])
    return v[2]


def de_casteljau(P, t):
    q = jnp.broadcast_to(P, (4000, 6, 2))
    t = t[:, None, None]
    for _ in range(5):
        q = (1 - t) * q[:, :-1] + t * q[:, 1:]
    return q[:, 0]


def biquad_cascade(X, B):
    def step(st, v):
        n = []
        for s in range(4):
            o = B[s, 0] * v + st[s][0]
            n.append((B[s, 1] * v - B[s, 3] * o + st[s][1], B[s, 2] * v - B[s, 4] * o))
            v = o
        return n, v

    z = jnp.zeros(64)
    return lax.scan(step, [(z, z)] * 4, X.T)[1].T


def best_two(X):
    i = jnp.argmax(X, 1)
    m = X.max(1)
    return jnp.stack([m, jnp.where(jnp.arange(64) == i[:, None], -jnp.inf, X).max(1)], 1)


def small_powers(A):
    for _ in range(4):
        A = jnp.einsum("bik,bkj->bij", A, A, precision="highest")
    return A


def three_nearest(Q, D):
    d = ((Q[:, None] - D[None]) ** 2).sum(-1)
    return -lax.top_k(-d, 3)[0]


def short_edit_distances(A, B):
    prev = [jnp.full(500, j) for j in range(9)]
    for i in range(8):
        cur = [jnp.full(500, i + 1)]
        for j in range(8):
            cur.append(jnp.minimum(prev[j] + (A[:, i] != B[:, j]), jnp.minimum(prev[j + 1], cur[j]) + 1))
        prev = cur
    return prev[8].astype(jnp.int32)


def small_lu(A):
    M = A
    for k in range(6):
        M = M.at[:, k + 1 :, k].divide(M[:, k, k][:, None])
        M = M.at[:, k + 1 :, k + 1 :].add(-M[:, k + 1 :, k][:, :, None] * M[:, k, k + 1 :][:, None])
    return M


def lstm(X, W, U):
    XW = jnp.einsum("tbk,kqo->tbqo", X, W)

    def step(s, xw):
        h, c = s
        g = xw + jnp.einsum("bk,kqo->bqo", h, U)
        sg = jax.nn.sigmoid
        c = sg(g[:, 1]) * c + sg(g[:, 0]) * jnp.tanh(g[:, 3])
        h = sg(g[:, 2]) * jnp.tanh(c)
        return (h, c), None

    z = jnp.zeros((16, 32))
    return lax.scan(step, (z, z), XW)[0][0]


def depthwise_in_blocks(X, W):
    P = jnp.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    Y = sum(
        P[:, :, dy : dy + 30, dx : dx + 30] * W[None, :, dy, dx][:, :, None, None] for dy in range(3) for dx in range(3)
    )
    ok = (jnp.arange(32) < 24).reshape(2, 16)
    return jnp.where(ok[None, :, None, None], Y, 0)


def mean_of_crops(X, s):
    return jax.vmap(lambda x, s: lax.dynamic_slice(x, (s, 0), (64, 16)).mean(0))(X, s)


def kalman_position_speed(Z):
    def step(c, z):
        x, v, p00, p01, p10, p11 = c
        p0 = x + v
        a = p00 + p01 + p10 + p11 + 0.01
        q = p01 + p11
        d = p11 + 0.01
        k0 = a / (a + 0.5)
        k1 = q / (a + 0.5)
        r = z - p0
        n = (p0 + k0 * r, v + k1 * r, (1 - k0) * a, (1 - k0) * q, q - k1 * a, d - k1 * q)
        return n, (n[0], n[1])

    z = jnp.zeros(256)
    o = jnp.ones(256)
    _, (x, v) = lax.scan(step, (z, z, o, z, z, o), Z.T)
    return jnp.stack([x.T, v.T], -1)


def crc_bytes(M):
    c = jnp.zeros(4000, jnp.uint8)
    for i in range(16):
        c = c ^ M[:, i]
        for _ in range(8):
            c = jnp.where((c & 128) != 0, (c << 1) ^ 7, c << 1)
    return c


def sinkhorn(K):
    def step(_, s):
        u = 0.01 / (K @ s[1])
        return u, 0.0083333 / (K.T @ u)

    return lax.fori_loop(0, 20, step, (jnp.zeros(100), jnp.ones(120)))


def harris_corners(image):
    gx = image[1:-1, 2:] - image[1:-1, :-2]
    gy = image[2:, 1:-1] - image[:-2, 1:-1]

    def box(a):
        return sum(a[dy : dy + 76, dx : dx + 76] for dy in range(3) for dx in range(3))

    a, b, c = box(gx * gx), box(gx * gy), box(gy * gy)
    return a * c - b * b - 0.05 * (a + c) ** 2


def upsampled_beside_skip(X, S):
    U = jnp.pad(jnp.repeat(jnp.repeat(X, 2, 1), 2, 2), ((0, 0), (1, 1), (1, 1), (0, 0)))
    return jnp.concatenate([U, S])


def squeeze_excite(X, W1, W2):
    m = X.sum((1, 2)) / 196
    m = m.reshape(32)
    h = jnp.maximum(W1[:, :30] @ m[:30], 0)
    g = jax.nn.sigmoid(W2 @ h).reshape(4, 1, 1, 8)
    return X * g


def qlinear_conv1d(X, W):
    x = X.astype(jnp.int32) - 5
    w = W.astype(jnp.int32)
    acc = sum(jnp.einsum("cx,oc->ox", x[:, d : d + 128], w[:, :, d]) for d in range(3))
    return jnp.clip(acc * 3 + 64 >> 7, -128, 127).astype(jnp.int8)


def attention_of_padded_heads(Q, K, V):
    q, k, v = (Q[:, :50], K[:, :50], V[:, :50])
    p = jax.nn.softmax(jnp.einsum("hid,hjd->hij", q, k) * 0.288675)
    return jnp.einsum("hij,hjd->ihd", p, v)[:, :, :12].reshape(50, 48)


def stencil_over_bricks(X):
    D = X.transpose(0, 3, 1, 4, 2, 5).reshape(24, 24, 24)[:22, :22, :22]
    P = jnp.pad(D, 1)
    return (
        6 * D
        - P[:-2, 1:-1, 1:-1]
        - P[2:, 1:-1, 1:-1]
        - P[1:-1, :-2, 1:-1]
        - P[1:-1, 2:, 1:-1]
        - P[1:-1, 1:-1, :-2]
        - P[1:-1, 1:-1, 2:]
    )


def banded_substitution(L, b):

    def step(c, r):
        row, v = r
        x = (v - row[:7] @ c) / row[7]
        return (jnp.concatenate([c[1:], x[None]]), x)

    return lax.scan(step, jnp.zeros(7), (L, b))[1]


def padded_batch_mean(X, lens):
    count = lens[:, None].astype(jnp.float32)
    return (X.sum(1) / count, jnp.sqrt((X * X).sum(1) / count))


def bitmask_select(B, X):
    m = B[:, :, None] >> jnp.arange(32, dtype=jnp.uint32) & 1
    return jnp.where(m.reshape(64, 128)[:, :120] == 1, X[:, :120], 0).sum(1)


def hexagon(X):
    base = X[1:-1, :-2] + X[1:-1, 2:] + X[:-2, 1:-1] + X[2:, 1:-1]
    ev = (base + X[:-2, :-2] + X[2:, :-2]) / 6
    od = (base + X[:-2, 2:] + X[2:, 2:]) / 6
    r = jnp.arange(1, 63)[:, None] % 2
    return X.at[1:-1, 1:-1].set(jnp.where(r == 0, ev, od))


def upper_packed_matvec(A, x):
    jj = jnp.arange(100)[None, :]
    ii = jnp.arange(100)[:, None]
    lo = jnp.minimum(ii, jj)
    hi = jnp.maximum(ii, jj)
    return A[hi * (hi + 1) // 2 + lo] @ x


def conv_relu_pool(X, W):
    x = X.transpose(0, 3, 1, 2).reshape(1, 16, 34, 34)
    w = W.transpose(0, 5, 1, 4, 2, 3).reshape(32, 16, 3, 3)
    w = w[:, :14]
    x = x[:, :14]
    r = jnp.maximum(lax.conv_general_dilated(x, w, (1, 1), "VALID"), 0)[0]
    p = lax.reduce_window(r, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")
    return p.reshape(4, 8, 16, 16).transpose(0, 2, 3, 1)


def beamforming(R, delay):

    def power(late):
        return jnp.sum(jnp.square(sum(lax.dynamic_slice(R[m], (late[m],), (1000,)) for m in range(8))))

    return jax.vmap(power)(delay)


def embedding_backward(ids, G):
    return jnp.zeros((200, 32)).at[ids].add(jnp.where(ids[:, None] != 0, G, 0))


def token_shift_mix(X, mu):
    return mu * X + (1 - mu) * jnp.pad(X, ((0, 0), (1, 0), (0, 0)))[:, :-1]


def decayed_averages(K, V, w, u):
    d = jnp.exp(-w)

    def step(c, kv):
        n, e = c
        k, v = kv
        a = jnp.exp(u + k)
        b = jnp.exp(k)
        return ((d * n + b * v, d * e + b), (n + a * v) / (e + a))

    z = jnp.zeros((4, 32))
    return lax.scan(step, (z, z), (K.transpose(1, 0, 2), V.transpose(1, 0, 2)))[1].transpose(1, 0, 2)


def dilated_causal(X, W):
    P = jnp.pad(X, ((0, 0), (8, 0)))[:, :200]
    return jnp.tanh(W[:, :, 0] @ X + W[:, :, 1] @ P) + X


def smoothed_cross_entropy(L, y):
    x = L[:, :1000]
    lse = jax.nn.logsumexp(x, 1)
    return (0.9 * (lse - jnp.take_along_axis(L, y[:, None], 1)[:, 0]) + 0.1 * (lse - x.mean(1))).sum()[None]


def coin_change(c):
    dp = jnp.zeros(1000, jnp.int32).at[0].set(1)

    def k_step(k, dp):

        def s_step(s, dp):
            return dp.at[s].set(jnp.where(s >= c[k], (dp[s] + dp[s - c[k]]) % 65536, dp[s]))

        return lax.fori_loop(0, 1000, s_step, dp)

    return lax.fori_loop(0, 8, k_step, dp)


def autoregressions(e, phi):

    def step(h, x):
        y = x + sum(phi[k] * h[k] for k in range(4))
        return ((y, *h[:3]), y)

    z = jnp.zeros(64)
    return lax.scan(step, (z,) * 4, e.T)[1].T


def prediction_errors(x, a):
    p = jnp.pad(x, ((0, 0), (10, 0)))
    return x - sum(a[:, k : k + 1] * p[:, 9 - k : 265 - k] for k in range(10))


def rod_cutting(p):

    def step(n, r):
        k = jnp.arange(200)
        cand = jnp.where(k < n, p + jnp.where(k < n, r[(n - 1 - k) % 201], 0), -jnp.inf)
        return r.at[n].set(jnp.max(cand))

    return lax.fori_loop(1, 201, step, jnp.zeros(201))


def poly_mul(a, b):
    return jnp.convolve(a, b, precision="highest")


def morph_gradient(image):
    hi = lax.reduce_window(image, -jnp.inf, lax.max, (3, 3), (1, 1), "SAME")
    lo = lax.reduce_window(image, jnp.inf, lax.min, (3, 3), (1, 1), "SAME")
    return hi - lo


def block_norms(A):
    P = jnp.pad(A, ((0, 6), (0, 6))).reshape(16, 16, 16, 16)
    return (P * P).sum((1, 3))


def local_contrast(image):
    s = lax.reduce_window(image, 0.0, lax.add, (5, 5), (1, 1), "SAME")
    n = lax.reduce_window(jnp.ones_like(image), 0.0, lax.add, (5, 5), (1, 1), "SAME")
    return image - s / n


def bsr_matvec(ptr, col, V, x):
    row = jnp.repeat(jnp.arange(32), jnp.diff(ptr), total_repeat_length=128)
    p = jnp.einsum("eij,ej->ei", V, x.reshape(32, 4)[col])
    return jax.ops.segment_sum(p, row, 32).reshape(128)


def levenshtein_band(a, b):
    D = jnp.full((101, 101), 1000).at[jnp.arange(6), 0].set(jnp.arange(6)).at[0, jnp.arange(6)].set(jnp.arange(6))
    ii = jnp.arange(1, 101)

    def step(d, D):
        j = d - ii
        ok = (j >= 1) & (j <= 100) & (jnp.abs(ii - j) <= 5)
        jc = jnp.clip(j, 1, 100)
        v = jnp.minimum(jnp.minimum(D[ii - 1, jc] + 1, D[ii, jc - 1] + 1), D[ii - 1, jc - 1] + (a[ii - 1] != b[jc - 1]))
        return D.at[ii, jnp.where(ok, j, 200)].set(v, mode="drop")

    return lax.fori_loop(2, 201, step, D).astype(jnp.int32)


def hamming_matrix(A, B):
    return lax.population_count(A[:, None] ^ B[None]).astype(jnp.int32)


def leading_zeros(A):
    return lax.clz(A).astype(jnp.int32)


def gray_decode(G):
    x = G
    for s in (1, 2, 4, 8, 16):
        x = x ^ (x >> s)
    return x


def morton_codes(X, Y):
    def sp(x):
        x = x & 0xFFFF
        for s, m in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            x = (x | (x << s)) & m
        return x

    return sp(X) | (sp(Y) << 1)


def upwind(U, a, b):
    a = a[1:-1, 1:-1]
    b = b[1:-1, 1:-1]

    def step(_, U):
        c = U[1:-1, 1:-1]
        v = c - 0.1 * a * jnp.where(a > 0, c - U[:-2, 1:-1], U[2:, 1:-1] - c)
        v = v - 0.1 * b * jnp.where(b > 0, c - U[1:-1, :-2], U[1:-1, 2:] - c)
        return U.at[1:-1, 1:-1].set(v)

    return lax.fori_loop(0, 20, step, U)


def mac_projection(u, v):
    div = u[1:] - u[:-1] + v[:, 1:] - v[:, :-1]

    def step(_, p):
        P = jnp.pad(p, 1, mode="edge")
        return 0.25 * (P[:-2, 1:-1] + P[2:, 1:-1] + P[1:-1, :-2] + P[1:-1, 2:] - div)

    p = lax.fori_loop(0, 20, step, jnp.zeros_like(div))
    return u.at[1:-1].add(-(p[1:] - p[:-1])), v.at[:, 1:-1].add(-(p[:, 1:] - p[:, :-1])), p


def red_black_3d(U, F):
    n = 32
    i = jnp.arange(1, n + 1)
    par = (i[:, None, None] + i[:, None] + i) % 2
    c = slice(1, -1)

    def half(U, col):
        v = (U[:-2, c, c] + U[2:, c, c] + U[c, :-2, c] + U[c, 2:, c] + U[c, c, :-2] + U[c, c, 2:] - F[c, c, c]) * (
            1 / 6
        )
        return U.at[c, c, c].set(jnp.where(par == col, v, U[c, c, c]))

    return lax.fori_loop(0, 4, lambda _, U: half(half(U, 0), 1), U)


def restrict_prolong(F):
    w = np.array([0.25, 0.5, 0.25], np.float32)
    C = F[::2, ::2]
    inner = sum(w[a] * w[b] * F[1 + a : 254 + a : 2, 1 + b : 254 + b : 2] for a in range(3) for b in range(3))
    C = C.at[1:-1, 1:-1].set(inner)
    R = jnp.repeat(C, 2, 0)
    R = 0.5 * (R[:-1] + jnp.concatenate([R[1:], R[-1:]], 0)[:-1])
    Q = jnp.repeat(R, 2, 1)
    Q = 0.5 * (Q[:, :-1] + Q[:, 1:])
    return C, Q


def perona_malik(image):
    def step(_, image):
        P = jnp.pad(image, 1, mode="edge")
        n, s, w, e = P[:-2, 1:-1] - image, P[2:, 1:-1] - image, P[1:-1, :-2] - image, P[1:-1, 2:] - image
        return image + 0.2 * (n / (1 + n * n) + s / (1 + s * s) + w / (1 + w * w) + e / (1 + e * e))

    return lax.fori_loop(0, 10, step, image)


def last_minimum(X):
    return X.min(1), (499 - jnp.argmin(X[:, ::-1], 1)).astype(jnp.int32)


def rank_sort(x):
    return jnp.sort(x)


def row_histograms(x):
    return (x[:, :, None] == jnp.arange(16)).sum(1, dtype=jnp.int32)


def scatter_means(k, X):
    n = jnp.zeros(64).at[k].add(1.0)
    return jnp.zeros((64, 32)).at[k].add(X) / jnp.maximum(n, 1.0)[:, None]


def csc_product(ptr, row, val, x):
    xs = jnp.repeat(x, jnp.diff(ptr), total_repeat_length=10000)
    return jnp.zeros(1000, jnp.float32).at[row].add(val * xs)


def conv1d_blocked_tails(X, W):
    nx = (254) // 2 + 1
    c = 32
    x = jnp.moveaxis(X, 2, 1).reshape(c, 257)[:30]
    w = W.transpose(0, 4, 1, 3, 2).reshape(32, c, 3)[:30, :30]
    y = lax.conv_general_dilated(x[None], w, (2,), "VALID")[0]
    y = jnp.pad(y, ((0, 2), (0, 0)))
    return y.reshape(8, 4, nx).transpose(0, 2, 1)


def deconv1d_gather(X, W):
    return lax.conv_general_dilated(X[None], W[:, :, ::-1].transpose(1, 0, 2), (1,), [(2, 2)], lhs_dilation=(2,))[0]


def im2col_product(X, W):
    return lax.conv_general_dilated(X[None], W.reshape(16, 8, 3, 3), (1, 1), "SAME")[0]


def streaming_attention(Q, K, V):
    i = jnp.arange(256)
    s = Q @ K.T * 0.25 - 0.1 * (i[:, None] - i)
    s = jnp.where(i[:, None] >= i, s, -jnp.inf)
    return jax.nn.softmax(s, -1) @ V


def local_attention(Q, K, V):
    n = 512
    Kp = jnp.pad(K, ((4, 4), (0, 0)))
    Vp = jnp.pad(V, ((4, 4), (0, 0)))
    i = jnp.arange(n)[:, None] + jnp.arange(9)
    s = jnp.stack([(Q * Kp[w : w + n]).sum(1) for w in range(9)], 1)
    p = jnp.where((i >= 4) & (i < n + 4), jnp.exp(0.1 * s), 0.0)
    p = p / p.sum(1, keepdims=True)
    return sum(p[:, w, None] * Vp[w : w + n] for w in range(9))


def linear_attention(Q, K, V):
    i = jnp.arange(256)
    e = i[:, None] - i
    return ((Q @ K.T) * jnp.where(e >= 0, 0.95 ** jnp.maximum(e, 0), 0.0)) @ V


def cross_lengths(Q, K, V, n):
    s = jnp.exp(0.1 * jnp.einsum("bid,bjd->bij", Q, K))
    s = jnp.where(jnp.arange(100) < n[:, None, None], s, 0.0)
    return jnp.einsum("bij,bjd->bid", s, V) / s.sum(-1, keepdims=True)


def int8_conv(X, W, m):
    x = X.astype(jnp.float32) - 3
    w = W.astype(jnp.float32)
    a = lax.conv_general_dilated(x[None], w, (1, 1), "VALID")[0]
    return jnp.clip(jnp.round(a * m[:, None, None]), -128, 127).astype(jnp.int8)


def q4_matvec(Q, s, x):
    X = x.reshape(16, 2, 16)
    lo = (Q & 15).astype(jnp.int32) - 8
    hi = (Q >> 4).astype(jnp.int32) - 8
    a = (lo.astype(jnp.float32) * X[:, 0] + hi.astype(jnp.float32) * X[:, 1]).sum(2)
    return (s * a).sum(1)


def affine_gaps(a, b):
    n, m = 150, 140

    def shifted(v, x):
        return jnp.concatenate([jnp.full(1, x), v[:-1]])

    i = jnp.arange(n + 1)

    def st(c, d):
        h2, h1, e1, f1 = c
        j = d - i
        ok = (i >= 1) & (j >= 1) & (j <= m)
        s = jnp.where(a[jnp.clip(i - 1, 0, n - 1)] == b[jnp.clip(j - 1, 0, m - 1)], 2.0, -1.0)
        e = jnp.maximum(e1 - 1, h1 - 3)
        f = jnp.maximum(shifted(f1, -1000.0) - 1, shifted(h1, 0.0) - 3)
        h = jnp.maximum(jnp.maximum(e, f), jnp.maximum(0.0, shifted(h2, 0.0) + s))
        h = jnp.where(ok, h, 0.0)
        e = jnp.where(ok, e, -1000.0)
        f = jnp.where(ok, f, -1000.0)
        return (h1, h, e, f), h

    z = jnp.zeros(n + 1)
    w = jnp.full(n + 1, -1000.0)
    _, D = lax.scan(st, (z, z, w, w), jnp.arange(1, n + m + 1))
    D = jnp.concatenate([z[None], D])
    j = jnp.arange(m + 1)
    return D[i[:, None] + j, i[:, None]]


def subset_sums(a):
    def st(i, R):
        P = jnp.concatenate([jnp.zeros(4001, bool), R])
        return R | lax.dynamic_slice(P, (4001 - a[i],), (4001,))

    return lax.fori_loop(0, 50, st, jnp.arange(4001) == 0)


def sor_dense(A, b):
    n = 200

    def row(i, x):
        s = b[i] - A[i] @ x + A[i, i] * x[i]
        return x.at[i].set(-0.2 * x[i] + 1.2 * s / A[i, i])

    return lax.fori_loop(0, 5, lambda _, x: lax.fori_loop(0, n, row, x), jnp.zeros(n))


def walsh_hadamard(x):
    for s in range(12):
        y = x.reshape(-1, 2, 1 << s)
        x = jnp.stack([y[:, 0] + y[:, 1], y[:, 0] - y[:, 1]], 1).reshape(-1)
    return x


def distance_transform(M):
    D = jnp.where(M, 0, 10000).astype(jnp.int32)

    def sweep(D, ax):
        i = lax.broadcasted_iota(jnp.int32, D.shape, ax)
        a = lax.cummin(D - i, ax) + i
        return lax.cummin(a + i, ax, reverse=True) - i

    return sweep(sweep(D, 0), 1)


def label_spread(M):
    n = 128
    big = 10**9
    L = jnp.arange(n * n, dtype=jnp.int32).reshape(n, n)

    def st(_, L):
        P = jnp.pad(jnp.where(M, L, big), 1, constant_values=big)
        m = jnp.minimum(jnp.minimum(P[:-2, 1:-1], P[2:, 1:-1]), jnp.minimum(P[1:-1, :-2], P[1:-1, 2:]))
        return jnp.where(M, jnp.minimum(L, m), L)

    return lax.fori_loop(0, 10, st, L)


def nearest_resize(X):
    return X[np.arange(300) * 2 // 3][:, np.arange(330) * 2 // 3]


def _padded(a, m, v=0):
    a = a.copy()
    a[~np.broadcast_to(m, a.shape)] = v
    return a


def _skip(d):
    y = np.arange(34)
    m = (y >= 1) & (y < 33)
    return {"X": d.floats(2, 16, 16, 8), "S": _padded(d.floats(2, 34, 34, 8), m[:, None, None] & m[:, None])}


_CHANNELS = np.arange(32).reshape(4, 1, 1, 8) < 30


def _quantized(d):
    X = d.below(200, 16, 130).astype(np.int8)
    X[:, 0] = 5
    X[:, 129] = 5
    return {"X": X, "W": d.below(200, 24, 16, 3).astype(np.int8)}


def _heads(d):
    m = (np.arange(64)[:, None] < 50) & (np.arange(16) < 12)
    return {k: _padded(d.floats(4, 64, 16), m) for k in "QKV"}


def _bricks(d):
    i = 4 * np.arange(6)[:, None] + np.arange(4) < 22
    m = i.reshape(6, 1, 1, 4, 1, 1) & i.reshape(1, 6, 1, 1, 4, 1) & i.reshape(1, 1, 6, 1, 1, 4)
    return {"X": _padded(d.floats(6, 6, 6, 4, 4, 4), m)}


def _batch(d):
    lens = 1 + d.below(64, 16)
    return {"X": _padded(d.floats(16, 64, 32), (np.arange(64) < lens[:, None])[:, :, None]), "lens": lens}


def _images(d):
    y = np.arange(34)
    m = (y >= 1) & (y < 33)
    c = np.arange(16).reshape(2, 8) < 14
    return {
        "X": _padded(d.floats(2, 34, 34, 8), m[None, :, None, None] & m[None, None, :, None] & c[:, None, None, :]),
        "W": d.floats(4, 2, 3, 3, 8, 8),
    }


def _logits(d):
    L = d.floats(64, 1024)
    L[:, 1000:] = -np.inf
    return {"L": L, "y": d.below(1000, 64)}


def masked_correlation(X, M):
    m = M.astype(jnp.float32)
    x = jnp.where(M, X, 0)
    n = m.T @ m
    c = jnp.maximum(n, 1)
    sa = x.T @ m
    sb = sa.T
    q = (x * x).T @ m
    return (x.T @ x / c - sa * sb / (c * c)) / jnp.sqrt(
        jnp.maximum((q / c - sa * sa / (c * c)) * (q.T / c - sb * sb / (c * c)), 1e-06)
    )


def triangle_count(A):
    U = jnp.triu(A, 1).astype(jnp.float32)
    return (U @ U * U).sum(1).astype(jnp.int32)


def demosaic(R, C):
    n = R.shape[0]
    i = np.arange(1, n - 1)
    ev = (i % 2 == 0)[:, None]
    ej = (i % 2 == 0)[None]
    c = R[1:-1, 1:-1]
    h = 0.5 * (R[1:-1, :-2] + R[1:-1, 2:])
    v = 0.5 * (R[:-2, 1:-1] + R[2:, 1:-1])
    x = 0.25 * (R[:-2, :-2] + R[:-2, 2:] + R[2:, :-2] + R[2:, 2:])
    p = 0.5 * (h + v)
    r = jnp.where(ev, jnp.where(ej, c, h), jnp.where(ej, v, x))
    g = jnp.where(ev == ej, p, c)
    b = jnp.where(ev, jnp.where(ej, x, v), jnp.where(ej, h, c))
    return C.at[:, 1:-1, 1:-1].set(jnp.stack([r, g, b]))


def fluid_average(M, X):
    p = jnp.pad(jnp.where(M, X, 0), 1)
    m = jnp.pad(M.astype(jnp.int32), 1)
    n_ = X.shape[0]

    def w(p):
        return sum(p[a : a + n_, b : b + n_] for a in range(3) for b in range(3))

    n = w(m)
    return jnp.where(n > 0, w(p) / jnp.maximum(n, 1).astype(jnp.float32), X)


def bfs_levels(A):
    n = A.shape[0]
    L = jnp.full(n, -1, jnp.int32).at[0].set(0)

    def st(t, L):
        return jnp.where((L < 0) & jnp.any((t == L)[:, None] & A, 0), t + 1, L)

    return lax.fori_loop(0, 10, st, L)


def palindromes(s):
    n = s.shape[0]
    i = jnp.arange(n)
    E = s[:, None] == s

    def st(row, e):
        k, e = e
        new = jnp.where(i <= k, True, e & jnp.roll(row, 1).at[0].set(True))
        return (new, new)

    _, P = lax.scan(st, jnp.ones(n, bool), (i[::-1], E[::-1]))
    return P[::-1]


def alpha_compositing(C, A):

    def st(s, z):
        o, t = s
        c, a = z
        return ((o + (t * a)[:, None] * c, t * (1 - a)), None)

    (o, _), _ = lax.scan(st, (jnp.zeros(C.shape[1:]), jnp.ones(C.shape[1])), (C, A))
    return o


def group_best(g, v):
    B = jnp.full(64, -1000000.0).at[g].max(v)
    i = jnp.arange(v.shape[0])
    hit = v == B[g]
    A = jnp.full(64, v.shape[0]).at[jnp.where(hit, g, 64)].min(i, mode="drop")
    return (B, jnp.where(v.shape[0] == A, -1, A))


def fft_stages(re, im, c, s):
    n = re.shape[0]
    x = re + 1j * im
    w = c + 1j * s
    h = 1
    while h < n:
        y = x.reshape(-1, 2, h)
        t = y[:, 1] * w[:: n // (2 * h)]
        x = jnp.stack([y[:, 0] + t, y[:, 0] - t], 1).reshape(-1)
        h *= 2
    return (x.real, x.imag)


def xtea(V, key):
    a, b = (V[:, 0], V[:, 1])
    s = 0
    for _ in range(32):
        a = a + ((b << 4 ^ b >> 5) + b ^ np.uint32(s) + key[s & 3])
        s = (s + 2654435769) % 2**32
        b = b + ((a << 4 ^ a >> 5) + a ^ np.uint32(s) + key[s >> 11 & 3])
    return jnp.stack([a, b], 1)


def kernel_density(x, g):
    return jnp.exp(-0.5 * (g[:, None] - x) ** 2).sum(1) / x.shape[0]


def fir_decimate(x, h):
    p = x.reshape(-1, 4)
    n = p.shape[0] - 7
    return sum(p[k : k + n] @ h[4 * k : 4 * k + 4] for k in range(8))


def csr_components(ptr, idx):
    n = ptr.shape[0] - 1
    seg = jnp.searchsorted(ptr, jnp.arange(idx.shape[0]), side="right") - 1

    def st(_, L):
        return jnp.minimum(L, jax.ops.segment_min(L[idx], seg, n, indices_are_sorted=True))

    return lax.fori_loop(0, 5, st, jnp.arange(n, dtype=jnp.int32))


def matrix_chain(w, M):
    n = M.shape[0]
    i = jnp.arange(n)
    D = jnp.zeros((n, n))
    T_ = jnp.zeros((n, n))

    def st(step, S):
        D, T_ = S
        q = i
        a = D
        b = T_[jnp.clip(step - q - 1, 0, n - 1)[:, None], jnp.clip(i + step, 0, n - 1)[None]]
        c = a + b + w[i] * w[jnp.clip(i[None] + q[:, None] + 1, 0, n)] * w[jnp.clip(i + step + 1, 0, n)]
        m = jnp.min(jnp.where((q < step)[:, None], c, 100000000.0), 0)
        D = D.at[step].set(m)
        T_ = T_.at[step].set(jnp.roll(m, step))
        return (D, T_)

    D, _ = lax.fori_loop(1, n, st, (D, T_))
    j = i[None] - i[:, None]
    return jnp.where(j >= 0, D[jnp.clip(j, 0, n - 1), i[:, None]], M)


def compaction(X, Y):
    m = X > 0
    p = jnp.cumsum(m) - 1
    return (Y.at[jnp.where(m, p, X.shape[0])].set(X, mode="drop"), m.sum()[None])


def mamba_scan(x, dt, A, B, C):

    def st(h, z):
        x, dt, b, c = z
        h = jnp.exp(dt[:, None] * A) * h + (dt * x)[:, None] * b
        return (h, h @ c)

    _, y = lax.scan(st, jnp.zeros(A.shape), (x, dt, B, C))
    return y


def mttkrp(X, B, C):
    return jnp.einsum("ijr,jr->ir", jnp.einsum("ijk,kr->ijr", X, C), B)


def welford(X):
    return (X.mean(0), X.var(0, ddof=1))


def goertzel(x, c):

    def st(s, x):
        a, b = s
        return ((x + c * a - b, a), None)

    (a, b), _ = lax.scan(st, (jnp.zeros_like(c), jnp.zeros_like(c)), x)
    return a * a + b * b - c * a * b


def wave_obstacles(U, W):

    def st(_, s):
        p, c = s
        lap = c[:-2, 1:-1] + c[2:, 1:-1] + c[1:-1, :-2] + c[1:-1, 2:] - 4 * c[1:-1, 1:-1]
        n = jnp.where(W[1:-1, 1:-1] == 0, 2 * c[1:-1, 1:-1] - p[1:-1, 1:-1] + 0.2 * lap, 0)
        return (c, p.at[1:-1, 1:-1].set(n))

    p, c = lax.fori_loop(0, 20, st, (U[1], U[0]))
    return jnp.stack([c, p])


def adler32(D):
    n = D.shape[1]
    d = D.astype(jnp.uint32)
    a = (1 + d.sum(1)) % 65521
    b = (n + (d * jnp.arange(n, 0, -1, dtype=jnp.uint32)).sum(1)) % 65521
    return b << 16 | a


def sliced_ell(ptr, J, V, x):
    seg = jnp.searchsorted(ptr, jnp.arange(V.shape[0]), side="right") - 1
    return jax.ops.segment_sum(V * x[J], seg, ptr.shape[0] - 1, indices_are_sorted=True)


def non_max_suppression(G, A):
    c = G[1:-1, 1:-1]
    a = A[1:-1, 1:-1]
    p = jnp.where(a == 0, G[1:-1, :-2], jnp.where(a == 1, G[:-2, 2:], jnp.where(a == 2, G[:-2, 1:-1], G[:-2, :-2])))
    q = jnp.where(a == 0, G[1:-1, 2:], jnp.where(a == 1, G[2:, :-2], jnp.where(a == 2, G[2:, 1:-1], G[2:, 2:])))
    return jnp.pad(jnp.where((c >= p) & (c >= q), c, 0), 1)


def run_lengths(x):
    n = x.shape[0]
    i = jnp.arange(n)
    b = jnp.concatenate([jnp.ones(1, bool), x[1:] != x[:-1]])
    return i - lax.cummax(jnp.where(b, i, 0)) + 1


def bit_reversal(x):
    return x.reshape((2,) * 12).transpose(range(11, -1, -1)).reshape(-1)


def overlap_add(X, w):
    Z = jnp.pad((X * w).reshape(200, 4, 64), ((3, 3), (0, 0), (0, 0)))
    return sum(Z[3 - a : 206 - a, a] for a in range(4)).reshape(-1)


def frame_energies(X, w):
    x2, w2 = X * X, w * w
    return lax.conv_general_dilated(x2[None, None], w2[None, None], (160,), "VALID")[0, 0]


def zero_crossings(X):
    s = (X >= 0).reshape(16, 20, 200)
    return jnp.sum(s[:, :, 1:] != s[:, :, :-1], 2, dtype=jnp.int32)


def integrator_comb(X):
    return X.reshape(2048, 8).sum(1)


def normalised_adjacency(A):
    r = lax.rsqrt(1 + A.sum(1))
    return (A + jnp.eye(400, dtype=A.dtype)) * (r[:, None] * r)


def coo_times_matrix(R, C, V, X):
    return jnp.zeros((400, 16)).at[R].add(V[:, None] * X[C], mode="promise_in_bounds")


def ell_transposed(C, V, x):
    return jnp.zeros(800).at[jnp.where(C >= 0, C, 800)].add(V * x[:, None], mode="drop")


def edge_softmax(D, S):
    m = jax.ops.segment_max(S, D, 300)
    e = jnp.exp(S - m[D])
    return e / jax.ops.segment_sum(e, D, 300)[D]


def transitive_closure(A):
    def step(k, R):
        return R | (R[:, k, None] & R[k])

    return lax.fori_loop(0, 128, step, A)


def asian_options(Z, v):
    s = 100 * jnp.exp(jnp.cumsum(v[0] * Z - 0.5 * v[0] * v[0], 1))
    return jnp.mean(jnp.maximum(s.mean(1) - 100, 0), keepdims=True)


def rolling_covariance(X, Y):
    def total(x):
        return sum(x[k : k + 3981] for k in range(20))

    return (total(X * Y) - total(X) * total(Y) / 20) / 19


def relative_strength(P):
    d = P[:, 1:] - P[:, :-1]

    def step(c, d):
        up, down = c
        up = (13 * up + jnp.maximum(d, 0)) / 14
        down = (13 * down + jnp.maximum(-d, 0)) / 14
        return (up, down), 100 * up / (up + down + 1e-6)

    z = jnp.zeros(8)
    r = lax.scan(step, (z, z), d.T)[1].T
    return jnp.concatenate([jnp.full((8, 1), 50.0), r], 1)


def bond_prices(c, r, m):
    t = jnp.arange(1, 61)
    e = jnp.exp(-r[:, None] * t)
    return c * jnp.sum(jnp.where(t <= m[:, None], e, 0), 1) + jnp.exp(-r * m)


def otsu_threshold(X):
    h = jnp.zeros(256).at[X].add(1.0)
    v = jnp.arange(256) * h
    w, a = jnp.cumsum(h), jnp.cumsum(v)
    b = jnp.sum(v) - a
    u = 20000 - w
    ok = (w > 0) & (u > 0)
    d = a / jnp.where(w > 0, w, 1) - b / jnp.where(u > 0, u, 1)
    return jnp.where(ok, w * u * d * d, 0)


def opening(X):
    def ex(X, f, z):
        P = jnp.pad(X, 1, constant_values=z)
        R = f(f(P[:-2], P[1:-1]), P[2:])
        return f(f(R[:, :-2], R[:, 1:-1]), R[:, 2:])

    return ex(ex(X, jnp.minimum, 255), jnp.maximum, 0)


def box_from_sums(S):
    R = jnp.pad(S, ((3, 3), (0, 0)), mode="edge")
    R = R[7:307] - R[:300]
    R = jnp.pad(R, ((0, 0), (3, 3)), mode="edge")
    return (R[:, 7:407] - R[:, :400]) / 49


def seam_energies(E):
    inf = jnp.full((1,), jnp.inf)

    def step(m, e):
        p = jnp.concatenate([inf, m, inf])
        m = e + jnp.minimum(jnp.minimum(p[:-2], m), p[2:])
        return m, m

    return jnp.concatenate([E[:1], lax.scan(step, E[0], E[1:])[1]])


def ordered_dither(X, B):
    return jnp.where(jnp.tile(B, (32, 42))[:250, :330] < X, 255, 0).astype(jnp.uint8)


def chroma_halved(U):
    P = jnp.pad(U, ((0, 1), (0, 1)), mode="edge").astype(jnp.int32)
    return ((P[::2, ::2] + P[1::2, ::2] + P[::2, 1::2] + P[1::2, 1::2] + 2) // 4).astype(jnp.uint8)


def thinned_edges(G, D):
    c = G[1:-1, 1:-1]

    def big(a, b):
        return (c >= G[1 + a : 199 + a, 1 + b : 199 + b]) & (c >= G[1 - a : 199 - a, 1 - b : 199 - b])

    d = D[1:-1, 1:-1]
    k = jnp.where(d == 0, big(0, 1), jnp.where(d == 1, big(1, -1), jnp.where(d == 2, big(1, 0), big(1, 1))))
    return jnp.pad(jnp.where(k, c, 0), 1)


def vibrating_string(U, V):
    def step(_, s):
        U, V = s
        V = V.at[1:-1].add(0.1 * (U[:-2] - 2 * U[1:-1] + U[2:]))
        return U.at[1:-1].add(0.1 * V[1:-1]), V

    return lax.fori_loop(0, 100, step, (U, V))


def shallow_water(H, Q):
    def step(_, s):
        H, Q = s
        F = Q * Q / H + 4.9 * H * H

        def lax_friedrichs(U, F):
            return 0.5 * (jnp.roll(U, 1) + jnp.roll(U, -1)) - 0.05 * (jnp.roll(F, -1) - jnp.roll(F, 1))

        return lax_friedrichs(H, Q), lax_friedrichs(Q, F)

    return lax.fori_loop(0, 50, step, (H, Q))


def charge_deposit(X):
    c = X.astype(jnp.int32)
    f = X - c
    return jnp.zeros(129).at[c].add(1 - f, mode="promise_in_bounds").at[c + 1].add(f, mode="promise_in_bounds")[:128]


def rising_subsequence(A):
    def step(i, L):
        return L.at[i].set(1 + jnp.max(jnp.where(A[i] > A, L, 0)))

    return lax.fori_loop(0, 400, step, jnp.zeros(400, jnp.int32))


def common_substring(s, t):
    def step(c, a):
        L, b = c
        L = jnp.where(a == t, jnp.concatenate([jnp.zeros(1, jnp.int32), L[:-1]]) + 1, 0)
        return (L, jnp.maximum(b, L)), None

    z = jnp.zeros(300, jnp.int32)
    return jnp.max(lax.scan(step, (z, z), s)[0][1], keepdims=True)


def word_break(D):
    def step(r, d):
        n = jnp.any(d & r)
        return jnp.concatenate([n[None], r[:-1]]), n

    r = jnp.zeros(12, bool).at[0].set(True)
    return jnp.concatenate([jnp.ones(1, bool), lax.scan(step, r, D)[1]])


def pattern_places(t, p):
    m = jnp.ones(19993, bool)
    for k in range(8):
        m &= (p[k] == 63) | (t[k : k + 19993] == p[k])
    return m


def bitap(t, M):
    m = M[t].T

    def step(c, m):
        d, n = c
        d = ((d << 1) | 1) & m
        return (d, n + ((d >> 7) & 1).astype(jnp.int32)), None

    return lax.scan(step, (jnp.zeros(64, jnp.uint32), jnp.zeros(64, jnp.int32)), m)[0][1]


def khatri_rao(A, B):
    return (A[:, None] * B).reshape(2835, 17)


def packed_rank_one(x, A):
    i, j = np.tril_indices(200)
    return A + x[i] * x[j]


def products_batch_last(A, B):
    return sum(A[:, k, None] * B[k] for k in range(5))


def householder_panel(V, A):
    def step(A, v):
        return A - 2 * v[:, None] * (v @ A), None

    return lax.scan(step, A, V)[0]


def layer_norm_backward(X, g, dY):
    m = X.mean(1, keepdims=True)
    c = X - m
    r = lax.rsqrt(jnp.mean(c * c, 1, keepdims=True) + 1e-5)
    y = dY * g
    h = c * r
    return r * (y - y.mean(1, keepdims=True) - h * jnp.mean(y * h, 1, keepdims=True))


def conv_weight_gradient(X, dY):
    r = lax.conv_general_dilated(X.transpose(1, 0, 2, 3), dY.transpose(1, 0, 2, 3), (1, 1), "VALID")
    return r.transpose(1, 0, 2, 3)


def max_pool_backward(X, dY):
    x = X.reshape(16, 32, 2, 32, 2)
    m = x.max((2, 4), keepdims=True)
    return jnp.where(x == m, dY[:, :, None, :, None], 0).reshape(16, 64, 64)


def hard_triplets(X, L):
    d = jnp.sum((X[:, None] - X) ** 2, 2)
    s = L[:, None] == L
    p = jnp.max(jnp.where(s, d, 0), 1)
    n = jnp.min(jnp.where(s, 1e6, d), 1)
    return jnp.maximum(p - n + 1, 0)


def batch_norm_backward(X, dY):
    ax = (0, 2, 3)
    c = X - X.mean(ax, keepdims=True)
    v = jnp.mean(c * c, ax, keepdims=True) + 1e-5
    return (dY - dY.mean(ax, keepdims=True) - c * jnp.mean(dY * c, ax, keepdims=True) / v) / jnp.sqrt(v)


def relative_bias_scores(Q, K, b):
    i = np.arange(100)
    return b[:, i[None] - i[:, None] + 99] + 0.25 * jnp.einsum("hid,hjd->hij", Q, K)


def pixel_shuffle(X, b):
    Z = (X + b[:, None, None]).reshape(4, 3, 3, 60, 60)
    return Z.transpose(0, 3, 1, 4, 2).reshape(4, 180, 180)


def fnv_rows(S):
    x = S.astype(jnp.uint32)
    h = jnp.full(500, 2166136261, jnp.uint32)
    return lax.scan(lambda h, x: ((h ^ x) * jnp.uint32(16777619), None), h, x.T)[0]


def xorshift_streams(S):
    def step(s, _):
        s = s ^ (s << 13)
        s = s ^ (s >> 17)
        s = s ^ (s << 5)
        return s, s

    return lax.scan(step, S, None, 100)


def min_hashes(W, a, b):
    return jnp.min(a * W[:, :, None] + b, 1)


def count_sketch(W, a):
    s = (a[:, None] * W) >> 24
    return jnp.zeros((4, 256), jnp.int32).at[jnp.arange(4)[:, None], s].add(1, mode="promise_in_bounds")


def table_with_lerp(X, t):
    u = jnp.clip(X, 0, 1) * 64
    k = jnp.minimum(u.astype(jnp.int32), 63)
    a = t[k]
    return a + (u - k) * (t[k + 1] - a)


def mirrored_taps(X, w):
    P = jnp.pad(X, ((0, 0), (3, 3)), mode="reflect")
    return sum(w[k] * P[:, k : k + 300] for k in range(7))


def cylinder_diffusion(X):
    P = jnp.pad(X, ((1, 1), (0, 0)), mode="edge")
    W = jnp.pad(X, ((0, 0), (1, 1)), mode="wrap")
    return X + 0.2 * (P[:-2] + P[2:] + W[:, :-2] + W[:, 2:] - 4 * X)


def one_sided_gradient(X):
    def d(X):
        return jnp.concatenate([X[1:2] - X[:1], 0.5 * (X[2:] - X[:-2]), X[-1:] - X[-2:-1]])

    return jnp.stack([d(X), d(X.T).T], 2)


def blocked_channel_softmax(X):
    v = jnp.arange(56).reshape(7, 1, 8) < 53
    x = jnp.where(v, X, -1e6)
    e = jnp.where(v, jnp.exp(x - x.max((0, 2), keepdims=True)), 0)
    return e / e.sum((0, 2), keepdims=True)


def row_scan_in_blocks(X):
    x = X.reshape(64, 256)[:, :250]

    def step(c, x):
        c = 0.9 * c + x
        return c, c

    y = lax.scan(step, jnp.zeros(64), x.T)[1].T
    return jnp.pad(y, ((0, 0), (0, 6)), mode="edge").reshape(64, 8, 32)


def requantized(X, W, s):
    a = X.astype(jnp.float32) @ W.astype(jnp.float32)
    return jnp.clip(jnp.floor(a * s + 0.5), -128, 127).astype(jnp.int8)


def row_products(X):
    return jnp.cumprod(X, 1)


def savitzky_golay(X, c):
    P = jnp.pad(X, 3, mode="edge")
    return sum(c[t] * P[t : t + 100000] for t in range(7))


def polyphase_up(X, h):
    P = jnp.pad(X, (7, 0))
    hh = h.reshape(8, 3)
    return jnp.stack([sum(hh[k, r] * P[7 - k : 7 - k + 8192] for k in range(8)) for r in range(3)], 1).reshape(-1)


def circular_convolution(X, h):
    P = jnp.concatenate([X[:, -15:], X], 1)
    return sum(h[k] * P[:, 15 - k : 15 - k + 256] for k in range(16))


def pairwise_l1(A, B):
    return jnp.abs(A[:, None] - B[None]).sum(-1)


def ema_crossings(X):

    def s(c, x):
        a, b, ab, n = c
        a = 0.8 * a + 0.2 * x
        b = 0.95 * b + 0.05 * x
        now = a > b
        return ((a, b, now, n + (now != ab)), None)

    x0 = X[:, 0]
    return lax.scan(s, (x0, x0, jnp.zeros(64, bool), jnp.zeros(64, jnp.int32)), X[:, 1:].T)[0][3]


def nbody_leapfrog(P, V):

    def s(t, c):
        P, V = c
        d = P[None] - P[:, None]
        r2 = (d * d).sum(-1) + 0.05
        F = (d * (1 / (r2 * jnp.sqrt(r2)))[..., None]).sum(1)
        V = V + 0.01 * F
        return (P + 0.01 * V, V)

    return lax.fori_loop(0, 10, s, (P, V))


def sph_density(P, m):
    x, y = (P[:, 0], P[:, 1])
    r2 = (x[:, None] - x[None]) ** 2 + (y[:, None] - y[None]) ** 2
    w = jnp.where(r2 < 0.04, (0.04 - r2) ** 3, 0)
    return w @ m


def ising_checkerboard(S, U, p):
    par = (jnp.arange(128)[:, None] + jnp.arange(128)) % 2

    def s(S, u):
        for c in range(2):
            n = jnp.roll(S, 1, 0) + jnp.roll(S, -1, 0) + jnp.roll(S, 1, 1) + jnp.roll(S, -1, 1)
            S = jnp.where((par == c) & (u[c] < p[S * n + 4]), -S, S)
        return (S, None)

    return lax.scan(s, S, U)[0]


def forest_fire(G, U):

    def s(G, u):
        b = jnp.pad(G == 2, 1)
        nb = b[:-2, 1:-1] | b[2:, 1:-1] | b[1:-1, :-2] | b[1:-1, 2:]
        return (
            jnp.where(G == 2, 0, jnp.where((G == 1) & (nb | (u < 0.001)), 2, jnp.where((G == 0) & (u < 0.05), 1, G))),
            None,
        )

    return lax.scan(s, G, U)[0]


def polygon_areas(P):
    x, y = (P[..., 0], P[..., 1])
    return 0.5 * jnp.abs((x * jnp.roll(y, -1, 1) - jnp.roll(x, -1, 1) * y).sum(1))


def point_in_polygon(Q, P):
    R = jnp.roll(P, 1, 0)
    x, y = (Q[:, :1], Q[:, 1:])
    c = ((P[:, 1] > y) != (R[:, 1] > y)) & (x < (R[:, 0] - P[:, 0]) * (y - P[:, 1]) / (R[:, 1] - P[:, 1]) + P[:, 0])
    return c.sum(1).astype(jnp.int32) % 2


def z_buffer(P):
    i = jnp.arange(96, dtype=jnp.float32)
    z = P[:, 0, None, None] * i + P[:, 1, None, None] * i[:, None] + P[:, 2, None, None]
    z = jnp.where(z > 0, z, 1000000000.0)
    m = z.min(0)
    return (m, jnp.where(m < 1000000000.0, z.argmin(0), -1).astype(jnp.int32))


def ray_spheres(D, C):
    b = D @ C[:, :3].T
    c = (C[:, :3] ** 2).sum(1) - C[:, 3] ** 2
    disc = b * b - c
    t = b - jnp.sqrt(jnp.maximum(disc, 0))
    t = jnp.where((disc > 0) & (t > 0), t, 1e30)
    m = t.min(1)
    return (jnp.where(m < 1e30, t.argmin(1), -1).astype(jnp.int32), m)


def weighted_histogram(X, W):
    b = jnp.clip(jnp.floor(X * 50).astype(int), 0, 49)
    return jax.ops.segment_sum(W, b, 50)


def warp_affine(A, M):
    i = jnp.arange(200, dtype=jnp.float32)
    u = M[0] * i[:, None] + M[1] * i + M[2]
    v = M[3] * i[:, None] + M[4] * i + M[5]
    y = jnp.floor(u).astype(int)
    x = jnp.floor(v).astype(int)
    a = u - y
    b = v - x
    ok = (y >= 0) & (y < 199) & (x >= 0) & (x < 199)
    y = jnp.clip(y, 0, 198)
    x = jnp.clip(x, 0, 198)
    return jnp.where(
        ok, (1 - a) * ((1 - b) * A[y, x] + b * A[y, x + 1]) + a * ((1 - b) * A[y + 1, x] + b * A[y + 1, x + 1]), 0
    )


def smith_waterman(a, b):
    S = jnp.where(a[:, None] == b, 3, -3)
    j = jnp.arange(128)

    def s(h, x):
        t = jnp.maximum(jnp.maximum(h[:-1] + x, 0), h[1:] - 2)
        r = lax.cummax(t + 2 * j) - 2 * j
        r = jnp.concatenate([jnp.zeros(1, int), r])
        return (r, r)

    _, H = lax.scan(s, jnp.zeros(129, int), S)
    H = jnp.concatenate([jnp.zeros((1, 129), int), H])
    return (H, H.max()[None])


def best_subarrays(X):
    P = jnp.cumsum(X, 1)
    low = jnp.minimum(lax.cummin(P, 1), 1e30)
    low = jnp.concatenate([jnp.zeros((100, 1)), jnp.minimum(low[:, :-1], 0)], 1)
    return (P - low).max(1)


def two_trades(P):
    s1 = lax.cummax(P - lax.cummin(P, 1), 1)
    s1p = jnp.maximum(s1, 0)
    b2 = lax.cummax(jnp.concatenate([jnp.zeros((50, 1)), s1p[:, :-1]], 1) - P, 1)
    return jnp.maximum(jnp.max(b2 + P, 1), 0)


def burgers_minmod(U):

    def s(t, U):
        a = U[1:-2] - U[:-3]
        b = U[2:-1] - U[1:-2]
        sl = jnp.where(a * b > 0, jnp.where(jnp.abs(a) < jnp.abs(b), a, b), 0)
        l = U[1:-2] + 0.5 * sl
        F = 0.5 * l * l
        return U.at[2:2046].add(-0.2 * (F[1:] - F[:-1]))

    return lax.fori_loop(0, 40, s, U)


def conjugate_gradient(A, b):

    def s(k, c):
        x, r, p, rr = c
        q = A @ p
        al = rr / (p @ q)
        x = x + al * p
        r = r - al * q
        n = r @ r
        return (x, r, r + n / rr * p, n)

    return lax.fori_loop(0, 10, s, (jnp.zeros_like(b), b, b, b @ b))[0]


def power_iteration(A, v):

    def s(k, v):
        w = A @ v
        return w / jnp.sqrt(w @ w)

    return lax.fori_loop(0, 20, s, v)


def matrix_exponential(A):
    t = jnp.eye(64)
    S = t
    for k in range(1, 9):
        t = t @ A / k
        S = S + t
    return S


def kronecker(A, B):
    return jnp.kron(A, B)


def tensor_pair(A, B):
    return jnp.einsum("akil,kblj->abij", A, B)


def swiglu(X, G, U, D):
    n = X / jnp.sqrt((X * X).mean(1, keepdims=True) + 1e-05)
    return X + jax.nn.silu(n @ G) * (n @ U) @ D


def conv3d(X, W):
    return lax.conv_general_dilated(X[None], W, (1, 1, 1), "VALID")[0]


def local_response_norm(X):
    P = jnp.pad(X * X, ((2, 2), (0, 0), (0, 0)))
    return X / jnp.sqrt(2 + 0.0001 * sum(P[d : d + 32] for d in range(5)))


def max_unpool(V, I):
    return jnp.zeros((16, 1600)).at[jnp.arange(16)[:, None, None], I].set(V)


def adam_step(w, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return (w - 0.001 * (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-08), m, v)


def collapse_repeats(X):
    k = (X != 0) & (jnp.concatenate([jnp.array([0]), X[:-1]]) != X)
    k = k.at[0].set(X[0] != 0)
    p = jnp.cumsum(k) - 1
    return (jnp.full(4000, -1).at[jnp.where(k, p, 4000)].set(X, mode="drop"), k.sum()[None].astype(jnp.int32))


def symmetric_lower_product(L, x):
    T = jnp.tril(L, -1)
    return jnp.diag(L) * x + T @ x + T.T @ x


def triangular_inverse(L):
    return jax.scipy.linalg.solve_triangular(L, jnp.eye(48), lower=True)


def fletcher16(X):
    x = X.astype(jnp.int32)
    a = jnp.cumsum(x, 1) % 255
    b = jnp.sum(a, 1) % 255
    return b * 256 + a[:, -1]


def lfsr_streams(S):

    def f(s, _):
        bit = (s ^ s >> 2 ^ s >> 3 ^ s >> 5) & 1
        return (s >> 1 | bit << 31, bit)

    return lax.scan(f, S, None, length=200)[1].T


def base64(X, table):
    x = X.reshape(-1, 3).astype(int)
    a, b, c = (x[:, 0], x[:, 1], x[:, 2])
    return table[jnp.stack([a // 4, a % 4 * 16 + b // 16, b % 16 * 4 + c // 64, c % 64], 1)].reshape(-1)


def zigzag_delta(X):
    d = (X >> 1).astype(jnp.int32)
    return jnp.cumsum(jnp.where(X & 1 == 1, -d - 1, d), 1)


def kmeans_step(X, C):
    a = jnp.argmin(((X[:, None] - C[None]) ** 2).sum(-1), 1)
    h = jax.nn.one_hot(a, 12)
    return h.T @ X / jnp.maximum(h.sum(0), 1)[:, None]


def logistic_descent(X, y):

    def s(i, w):
        return w - 0.1 * ((jax.nn.sigmoid(X @ w) - y) @ X) / 500

    return lax.fori_loop(0, 20, s, jnp.zeros(16))


def tree_predict(X, feature, cut, leaf):
    n = jnp.zeros(3000, int)
    r = jnp.arange(3000)
    for d in range(7):
        n = jnp.where(X[r, feature[n]] <= cut[n], 2 * n + 1, 2 * n + 2)
    return leaf[n - 127]


def lagrange(x, y, q):
    d = x[:, None] - x[None]
    e = jnp.eye(10, dtype=bool)
    den = jnp.where(e, 1, d).prod(1)
    num = jnp.where(e[None], 1, (q[:, None] - x)[:, None, :]).prod(-1)
    return num @ (y / den)


def resample(X):
    i = jnp.arange(2998) * 7
    n = i // 3
    f = (i % 3 / 3).astype(jnp.float32)
    return X[:, n] * (1 - f) + X[:, n + 1] * f


def dct_blocks(A, K):
    return jnp.einsum("ux,axby,vy->aubv", K, A.reshape(32, 8, 32, 8), K).reshape(256, 256)


def census(A):
    c = jnp.zeros((198, 198), jnp.int32)
    for a in range(3):
        for b in range(3):
            if (a, b) != (1, 1):
                c = c * 2 + (A[a : a + 198, b : b + 198] < A[1:-1, 1:-1])
    return jnp.pad(c, 1)


def stereo(L, R):

    def box(M):
        return sum(M[a : a + 96] for a in range(5))

    S = []
    for d in range(16):
        M = jnp.abs(L[:, 16 : 16 + 104] - R[:, 16 - d : 16 - d + 104])
        M = box(M)
        S.append(sum(M[:, b : b + 100] for b in range(5)))
    return jnp.argmin(jnp.stack(S), 0).astype(jnp.int32)


def error_diffusion(A):

    def row(E, a):

        def px(c, x):
            (e,) = c
            aa, ee = x
            v = aa + ee + e * 7 / 16
            b = jnp.where(v > 0.5, 1.0, 0.0)
            e = v - b
            return ((e,), (b, e))

        _, (b, e) = lax.scan(px, (jnp.float32(0),), (a, E))
        p = jnp.pad(e, 1)
        return (p[2:] * 3 / 16 + p[1:-1] * 5 / 16 + p[:-2] / 16, b)

    return lax.scan(row, jnp.zeros(64), A)[1]


def gauss_seidel_line(U, F):

    def sweep(s, U):

        def st(l, x):
            r = 0.5 * (l + x)
            return (r, r)

        return U.at[1:-1].set(lax.scan(st, U[0], U[2:] - F[1:-1])[1])

    return lax.fori_loop(0, 10, sweep, U)


def crank_nicolson(U):

    def fc(c, _):
        n = 0.5 / (2 - 0.5 * c)
        return (n, n)

    c = lax.scan(fc, jnp.float32(0), None, length=254)[1]
    cp = jnp.concatenate([jnp.zeros(1), c[:-1]])
    w = 2 - 0.5 * cp

    def step(t, U):
        r = U[1:-1] + 0.25 * (U[:-2] - 2 * U[1:-1] + U[2:])

        def fd(d, x):
            rr, ww = x
            n = (rr + 0.5 * d) / ww
            return (n, n)

        d = lax.scan(fd, jnp.float32(0), (r, w))[1]

        def bd(u, x):
            dd, cc = x
            n = dd + cc * u
            return (n, n)

        return U.at[1:-1].set(lax.scan(bd, U[255], (d, c), reverse=True)[1])

    return lax.fori_loop(0, 20, step, U)


def spline_eval(knots, q):
    k = jnp.clip((q * 64).astype(int), 0, 63)
    u = q * 64 - k
    K = knots[k]
    return ((K[:, 3] * u + K[:, 2]) * u + K[:, 1]) * u + K[:, 0]


def wavelet_level(X, h, g):
    P = jnp.concatenate([X, X[:, :3]], 1)
    w = [P[:, k : k + 1024 : 2] for k in range(4)]
    return (sum(h[k] * w[k] for k in range(4)), sum(g[k] * w[k] for k in range(4)))


def run_decode(starts, values):
    return values[jnp.searchsorted(starts, jnp.arange(5000), side="right") - 1]


def csr_row_best(ptr, val, col):
    r = jnp.searchsorted(ptr, jnp.arange(8000), side="right") - 1
    m = jax.ops.segment_max(val, r, 500)
    e = jax.ops.segment_min(jnp.where(val == m[r], jnp.arange(8000), 8000), r, 500)
    return jnp.where(e < 8000, col[jnp.minimum(e, 7999)], -1)


def rank_of_merge(A, B):
    ra = (B[None] < A[:, None]).sum(1)
    rb = (A[None] <= B[:, None]).sum(1)
    i = jnp.arange(1000)
    return jnp.zeros(2000).at[i + ra].set(A).at[i + rb].set(B)


def gelu_dropout(X, b, keep):
    v = X + b
    return jnp.where(keep != 0, 0.5 * v * (1 + jnp.tanh(0.7978846 * (v + 0.044715 * v**3))) * 1.25, 0)


def count_in_boxes(P, B):
    x, y = (P[:, 0], P[:, 1])
    b = B[:, :, None]
    return ((x >= b[:, 0]) & (x < b[:, 1]) & (y >= b[:, 2]) & (y < b[:, 3])).sum(1).astype(jnp.int32)


def trapezoid_integral(X, t):
    return jnp.pad(jnp.cumsum(0.5 * jnp.diff(t) * (X[:, 1:] + X[:, :-1]), 1), ((0, 0), (1, 0)))


def longest_run(X):
    i = jnp.arange(400)
    z = lax.cummax(jnp.where(X == 1, -1, i), axis=1)
    return (i - z).max(1).astype(jnp.int32)


def hash_joins(K, V, Q):
    return jnp.full(1024, -1.0).at[K].max(V)[Q]


def grid_paths(W):

    def row(p, w):

        def c(l, x):
            u, ww = x
            n = jnp.where(ww == 1, 0, (l + u) % 1000007)
            return (n, n)

        r = lax.scan(c, 0, (p, w))[1]
        return (r, r)

    def first(l, w):
        n = jnp.where(w == 1, 0, l)
        return (n, n)

    r0 = lax.scan(first, 1, W[0])[1]
    return jnp.concatenate([r0[None], lax.scan(row, r0, W[1:])[1]])


def egg_beater(X):
    d = X - jnp.pad(X, ((0, 0), (1, 0)))[:, :-1]
    return lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.full_like(d, 0.995), d), axis=1)[1]


def envelope_follower(X):

    def s(e, x):
        v = jnp.abs(x)
        e = jnp.where(v > e, 0.1 * e + 0.9 * v, 0.99 * e + 0.01 * v)
        return (e, e)

    return lax.scan(s, jnp.zeros(32), X.T)[1].T


def hysteresis(X):
    i = jnp.arange(2000)
    on = lax.cummax(jnp.where(X > 0.7, i, -1), axis=1)
    off = lax.cummax(jnp.where(X < 0.3, i, -1), axis=1)
    return (on > off).astype(jnp.int32)


def inverse_permutation(p, X):
    q = jnp.zeros(20000, int).at[p].set(jnp.arange(20000))
    return X[q]


def upper_triangle_to_vector(A):
    i, j = np.triu_indices(150)
    return A[i, j]


def block_transposes(A):
    return (A.reshape(16, 16, 16, 16).transpose(2, 1, 0, 3) * 2).reshape(256, 256)


def mse_and_r2(y, p):
    r = ((y - p) ** 2).sum()
    return jnp.stack([r / 30000, 1 - r / ((y - y.mean()) ** 2).sum()])


def skew_kurtosis(X):
    d = X - X.mean(1, keepdims=True)
    m2 = (d * d).mean(1)
    return jnp.stack([(d**3).mean(1) / (m2 * jnp.sqrt(m2)), (d**4).mean(1) / (m2 * m2) - 3], 1)


def predator(a, b, x):

    def s(c, x):
        a, b = c
        v = a * b
        n = (a + 0.01 * (a - v) + x, b + 0.01 * (v - b))
        return (n, n)

    _, (A, B) = lax.scan(s, (a[0], b[0]), x)
    return (a.at[1:].set(A), b.at[1:].set(B))


def predator_long(a, b, x):

    def s(c, x):
        a, b = c
        v = a * b
        n = (a + 0.01 * (a - v) + x, b + 0.01 * (v - b))
        return (n, n)

    _, (A, B) = lax.scan(s, (a[0], b[0]), x)
    return (a.at[1:].set(A), b.at[1:].set(B))


def tanks(h, q):

    def s(c, q):
        f0 = jnp.sqrt(jnp.maximum(c[0], 0))
        f1 = jnp.sqrt(jnp.maximum(c[1], 0))
        n = (c[0] + 0.1 * (q - f0), c[1] + 0.1 * (f0 - f1), c[2] + 0.1 * f1)
        return (n, jnp.stack(n))

    _, H = lax.scan(s, (h[0, 0], h[0, 1], h[0, 2]), q)
    return (h.at[1:].set(H),)


def logistic(x, y, r):

    def s(c, _):
        x, y = c
        v = r[0] * x * (1 - x)
        n = (v, v * v + 0.5 * y * v)
        return (n, n)

    _, (X, Y) = lax.scan(s, (x[0], y[0]), None, length=2999)
    return (x.at[1:].set(X), y.at[1:].set(Y))


def pid(r, y):

    def s(c, r):
        y, s_, l = c
        e = r - y
        s_ = s_ + e
        u = jnp.clip(2 * e + 0.1 * s_ + 0.5 * (e - l), -10, 10)
        n = y + 0.05 * (u - jnp.sqrt(jnp.abs(y)))
        return ((n, s_, e), (u, n))

    _, (u, Y) = lax.scan(s, (y[0], jnp.float32(0), jnp.float32(0)), r)
    return (u, y.at[1:].set(Y))


def queue_wait(arr, svc):

    def s(e, x):
        a, v = x
        st = jnp.maximum(a, e)
        return (st + v, (st, st + v))

    _, (st, e) = lax.scan(s, jnp.float32(0), (arr, svc))
    return (st, jnp.concatenate([jnp.zeros(1), e]))


def two_servers(arr, svc, free):

    def s(f, x):
        a, v = x
        k = jnp.where(f[0] <= f[1], 0, 1)
        d = jnp.maximum(a, f[k]) + v
        return (f.at[k].set(d), d)

    return lax.scan(s, free, (arr, svc))


def stack_machine(op, arg, st):

    def s(c, x):
        st, sp = c
        o, a = x
        push = (o == 0) & (sp < 63)
        pop = ~push & (sp >= 2)
        at = jnp.where(push, sp, jnp.where(pop, sp - 2, 64))
        v = jnp.where(push, a % 100, (st[sp - 2] + st[sp - 1]) % 1000)
        st = st.at[at].set(v, mode="drop")
        sp = jnp.where(push, sp + 1, jnp.where(pop, sp - 1, sp))
        return ((st, sp), sp)

    (st, _), out = lax.scan(s, (st, 0), (op, arg))
    return (st, out)


def lru_hits(req):

    def s(last, x):
        t, k = x
        g = jnp.where(last[k] < 0, -1, t - last[k])
        return (last.at[k].set(t), g)

    return lax.scan(s, jnp.full(100, -1), (jnp.arange(3000), req))


def neuron(I):

    def s(v, i):
        v = v + 0.1 * (-65 - v + i)
        f = v > -50
        v = jnp.where(f, -65.0, v)
        return (v, (v, f.astype(jnp.int32)))

    _, (V, S) = lax.scan(s, jnp.full(100, -65.0), I.T)
    return (V.T, S.T)


def garch(r):

    def s(h, r):
        h = 0.1 + 0.1 * r * r + 0.8 * h
        return (h, h)

    h = jnp.concatenate([jnp.ones(1), lax.scan(s, jnp.float32(1), r[:-1])[1]])
    return (h, jnp.concatenate([r[:1], r[1:] / jnp.sqrt(h[1:])]))


def garch_sim(e):

    def s(c, e):
        h, r = c
        h = 0.1 + 0.1 * r * r + 0.8 * h
        r = e * jnp.sqrt(h)
        return ((h, r), (h, r))

    _, (h, r) = lax.scan(s, (jnp.float32(1), e[0]), e[1:])
    return (jnp.concatenate([jnp.ones(1), h]), jnp.concatenate([e[:1], r]))


def insertion_sort(A):
    return jnp.sort(A)


def selection_ranks(A):
    return jnp.sort(A, 1)


def lis_lengths(A):
    m = jnp.arange(300)

    def s(i, L):
        return L.at[i].set(1 + jnp.max(jnp.where((m < i) & (A[i] > A), L, 0)))

    return lax.fori_loop(0, 300, s, jnp.zeros(300, int))


def dijkstra_dense(W):

    def s(k, c):
        D, d = c
        u = jnp.argmin(jnp.where(d, 2000000000.0, D))
        return (jnp.minimum(D, D[u] + W[u]), d.at[u].set(True))

    return lax.fori_loop(0, 100, s, (jnp.where(jnp.arange(100) == 0, 0.0, 1000000000.0), jnp.zeros(100, bool)))[0]


def prim_tree(W):

    def s(k, c):
        K, d, p = c
        u = jnp.argmin(jnp.where(d, 2000000000.0, K))
        d = d.at[u].set(True)
        t = ~d & (W[u] < K)
        return (jnp.where(t, W[u], K), d, jnp.where(t, u, p))

    return lax.fori_loop(
        0, 80, s, (jnp.where(jnp.arange(80) == 0, 0.0, 1000000000.0), jnp.zeros(80, bool), jnp.full(80, -1))
    )[2]


def pivoted_elimination(A):
    r = jnp.arange(40)

    def s(k, A):
        p = jnp.argmax(jnp.where(r >= k, jnp.abs(A[:, k]), -1))
        t = A[k]
        A = A.at[k].set(A[p]).at[p].set(t)
        f = jnp.where(r > k, A[:, k] / A[k, k], 0)
        return A - f[:, None] * A[k]

    return lax.fori_loop(0, 40, s, A)


def bisection(a):

    def s(k, c):
        lo, hi = c
        m = 0.5 * (lo + hi)
        l = m * m * m + m < a
        return (jnp.where(l, m, lo), jnp.where(l, hi, m))

    lo, hi = lax.fori_loop(0, 25, s, (jnp.zeros(4000), jnp.full(4000, 3.0)), unroll=True)
    return 0.5 * (lo + hi)


def newton_sqrt(a):
    x = jnp.ones_like(a)
    for k in range(12):
        x = 0.5 * (x + a / x)
    return x


def romberg_rows(F):
    t = []
    for k in range(7):
        s = 0.5 * (F[:, 0] + F[:, 64]) + F[:, 64 >> k :: 64 >> k][:, : (1 << k) - 1].sum(1)
        t.append(s / (1 << k))
    for m in range(1, 7):
        for q in range(7 - m):
            k = 6 - q
            t[k] = t[k] + (t[k] - t[k - 1]) / (4.0**m - 1)
    return t[6]


def rolling_max(X):
    return lax.reduce_window(X, -jnp.inf, lax.max, (1, 20), (1, 1), ((0, 0), (19, 0)))


def bootstrap_means(X, I):
    return X[I].mean(1)


def counting_sort(K):
    return jnp.sort(K)


def leapfrog_wave(U):

    def s(t, U):
        return U.at[t + 1, 1:-1].set(2 * U[t, 1:-1] - U[t - 1, 1:-1] + 0.25 * (U[t, :-2] - 2 * U[t, 1:-1] + U[t, 2:]))

    return lax.fori_loop(1, 59, s, U)


def gray_scott(U, V):
    L = lambda X: jnp.roll(X, 1, 0) + jnp.roll(X, -1, 0) + jnp.roll(X, 1, 1) + jnp.roll(X, -1, 1) - 4 * X

    def s(t, c):
        U, V = c
        r = U * V * V
        return (U + 0.16 * L(U) - r + 0.035 * (1 - U), V + 0.08 * L(V) + r - 0.1 * V)

    return lax.fori_loop(0, 20, s, (U, V))


def lid_pressure(P, B):

    def s(q, P):
        P = P.at[1:-1, 1:-1].set(0.25 * (P[1:-1, 2:] + P[1:-1, :-2] + P[2:, 1:-1] + P[:-2, 1:-1]) - B[1:-1, 1:-1])
        P = P.at[:, 49].set(P[:, 48])
        P = P.at[:, 0].set(P[:, 1])
        P = P.at[0].set(P[1])
        return P.at[49].set(0)

    return lax.fori_loop(0, 30, s, P)


def upsample_nearest_conv(X, W):
    U = jnp.repeat(jnp.repeat(X, 2, 1), 2, 2)
    return lax.conv_general_dilated(U[None], W, (1, 1), "SAME")[0]


def blocked_transpose_pad(A):
    return jnp.pad(A.T, ((0, 10), (0, 12))).reshape(5, 16, 7, 16).transpose(0, 2, 1, 3)


def nchwc_relu_bias(X, b):
    bb = jnp.pad(b, (0, 14)).reshape(4, 1, 1, 16)
    k = (jnp.arange(64) < 50).reshape(4, 1, 1, 16)
    return jnp.where(k, jnp.maximum(X + bb, 0), 0)


def per_channel_quant(X):
    s = jnp.abs(X).max(1) / 127
    return (jnp.clip(jnp.floor(X / s[:, None] + 0.5), -127, 127).astype(jnp.int8), s)


def sliding_dot_max(X, K):
    s = jnp.correlate(X, K, mode="valid")
    return (s.max()[None], s.argmax()[None].astype(jnp.int32))


def word_starts(X):
    w = (X != 32) & (jnp.concatenate([jnp.array([32], jnp.uint8), X[:-1]]) == 32)
    p = jnp.cumsum(w) - 1
    return (
        jnp.zeros(8000, int).at[jnp.where(w, p, 8000)].set(jnp.arange(8000), mode="drop"),
        w.sum()[None].astype(jnp.int32),
    )


def atoi_rows(X):
    v = jnp.zeros(2000, int)
    for k in range(8):
        d = X[:, k]
        v = jnp.where((d >= 48) & (d <= 57), v * 10 + d.astype(int) - 48, v)
    return v


def bracket_depth(X):
    d = jnp.cumsum((X == 40).astype(int) - (X == 41).astype(int))
    return (d, jnp.maximum(d.max(), 0)[None])


def beam_scores(E):

    def s(S, e):
        T = S[:, None] + e
        b = T.max(0)
        return (b, (b, T.argmax(0).astype(jnp.int32)))

    _, (S, B) = lax.scan(s, jnp.zeros(30), E)
    return (jnp.concatenate([jnp.zeros((1, 30)), S]), B)


def optimal_search_tree(p):
    ps = jnp.concatenate([jnp.zeros(1), jnp.cumsum(p)])
    i = jnp.arange(41)
    k = jnp.arange(40)

    def s(l, C):
        a = C[i[:, None], jnp.clip(i[:, None] + k, 0, 40)]
        b = C[jnp.clip(i[:, None] + k + 1, 0, 40), jnp.clip(i[:, None] + l, 0, 40)]
        v = jnp.min(jnp.where(k < l, a + b, 1000000000.0), 1) + ps[jnp.clip(i + l, 0, 40)] - ps[i]
        ok = i + l <= 40
        return C.at[i, jnp.where(ok, i + l, 99)].set(v, mode="drop")

    return lax.fori_loop(1, 41, s, jnp.zeros((41, 41)))


def rigid_transform(P, R, t):
    return P @ R.T + t


def normals(V, F):
    T = V[F]
    n = jnp.cross(T[:, 1] - T[:, 0], T[:, 2] - T[:, 0])
    return n / (jnp.linalg.norm(n, axis=1, keepdims=True) + 1e-09)


def vertex_degrees(F):
    return jnp.zeros(1000, int).at[F.reshape(-1)].add(1)


def hash_grid_counts(P):
    c = (P * 16).astype(int)
    ok = ((c >= 0) & (c < 16)).all(1)
    return jnp.zeros((16, 16), int).at[jnp.where(ok, c[:, 0], 16), c[:, 1]].add(1, mode="drop")


def exclusive_max_left(H):
    return (jnp.minimum(lax.cummax(H), lax.cummax(H, reverse=True)) - H).sum()[None]


def majority_vote(X):

    def s(c, x):
        n, v = c
        v = jnp.where(n == 0, x, v)
        return ((n + jnp.where(x == v, 1, -1), v), None)

    return lax.scan(s, (jnp.zeros(300, int), jnp.full(300, -1)), X.T)[0][1]


def two_sum_counts(A):
    return jnp.triu(A[:, None] + A == 100, 1).sum()[None].astype(jnp.int32)


def string_hash_rows(X):

    def s(h, x):
        return (h * 33 ^ x, None)

    return lax.scan(s, jnp.full(1000, 5381, jnp.uint32), X.T.astype(jnp.uint32))[0]


def tridiagonal_eigen_count(d, e, x):

    def s(c, de):
        v, n = c
        v = de[0] - x - de[1] ** 2 / v
        v = jnp.where(jnp.abs(v) < 1e-06, -1e-06, v)
        return ((v, n + (v < 0)), None)

    return lax.scan(s, (jnp.ones(500), jnp.zeros(500, int)), (d, e))[0][1]


def _definite(draw: Draw, n: int) -> np.ndarray:
    m = draw.rng.normal(size=(n, n))
    return (m @ m.T / n + np.eye(n)).astype(np.float32)


def _spheres(draw: Draw) -> np.ndarray:
    c = 2 * draw.floats(20, 4)
    c[:, 3] = draw.unit(20) + 0.2
    return c


def _directions(draw: Draw) -> np.ndarray:
    d = draw.floats(3000, 3)
    return d / np.linalg.norm(d, axis=1, keepdims=True)


def alibi_attention(Q, K, V, slope):
    i = jnp.arange(64)
    S = jnp.einsum("hid,hjd->hij", Q, K) - slope[:, None, None] * (i[:, None] - i[None])
    return jax.nn.softmax(jnp.where(i[:, None] >= i, S, -jnp.inf), -1) @ V


def cosine_best(X, C):
    return jnp.argmax(X @ C.T / jnp.sqrt(jnp.sum(X * X, 1)[:, None] * jnp.sum(C * C, 1)), 1)


def hue(R, G, B):
    hi = jnp.maximum(R, jnp.maximum(G, B))
    lo = jnp.minimum(R, jnp.minimum(G, B))
    d = jnp.where(hi == lo, 1.0, hi - lo)
    r = 60 * (G - B) / d
    r = jnp.where(r < 0, r + 360, r)
    return jnp.where(
        hi == lo, 0, jnp.where(hi == R, r, jnp.where(hi == G, 60 * (B - R) / d + 120, 60 * (R - G) / d + 240))
    )


def list_ranking(after):
    r = jnp.where(after == jnp.arange(1024), 0, 1)
    n = after
    for s in range(10):
        r = r + r[n]
        n = n[n]
    return r


def josephus(k):
    return lax.fori_loop(2, 101, lambda n, j: (j + k) % n, jnp.zeros(500, jnp.int32))


def sieve():
    i = jnp.arange(4000)

    def s(p, a):
        return jnp.where((a[p] == 1) & (i >= p * p) & (i % p == 0), 0, a)

    return lax.fori_loop(2, 64, s, jnp.where(i < 2, 0, 1))


def pascal_mod():
    k = jnp.arange(200)

    def s(c, n):
        c = jnp.where((k == 0) | (k == n), 1, jnp.where(k < n, (jnp.roll(c, 1) + c) % 1009, 0))
        return (c, c)

    return lax.scan(s, jnp.zeros(200, jnp.int32), k)[1]


def catalan_mod():
    i = jnp.arange(300)

    def s(n, c):
        return c.at[n].set(jnp.sum(jnp.where(i < n, c * c[jnp.clip(n - 1 - i, 0)] % 1009, 0)) % 1009)

    return lax.fori_loop(1, 300, s, jnp.zeros(300, jnp.int32).at[0].set(1))


def gcds(A, B):

    def s(k, c):
        a, b = c
        d = jnp.where(b == 0, 1, b)
        return (jnp.where(b != 0, b, a), jnp.where(b != 0, a % d, b))

    return lax.fori_loop(0, 22, s, (A, B))[0]


def mod_powers(A, E):
    r = jnp.ones_like(A)
    b = A
    for k in range(16):
        r = jnp.where(E >> k & 1 == 1, r * b % 10007, r)
        b = b * b % 10007
    return r


def collatz(A):

    def s(k, c):
        x, n = c
        return (jnp.where(x != 1, jnp.where(x % 2 == 0, x // 2, 3 * x + 1), x), n + (x != 1))

    return lax.fori_loop(0, 60, s, (A, jnp.zeros_like(A)))[1]


def value_noise(perm, g):
    y, x = jnp.mgrid[:128, :128]
    N = 0
    for o in range(4):
        c = 32 >> o
        ix, iy = (x // c, y // c)
        fx, fy = (x % c / jnp.float32(c), y % c / jnp.float32(c))
        p0, p1 = (perm[ix % 256], perm[(ix + 1) % 256])
        a, b = (g[perm[(p0 + iy) % 256]], g[perm[(p1 + iy) % 256]])
        cc, d = (g[perm[(p0 + iy + 1) % 256]], g[perm[(p1 + iy + 1) % 256]])
        u = fx * fx * (3 - 2 * fx)
        v = fy * fy * (3 - 2 * fy)
        N = N + ((a + (b - a) * u) * (1 - v) + (cc + (d - cc) * u) * v) / (1 << o)
    return N


def sphere_march(S):
    x = (jnp.arange(64, dtype=jnp.float32) - 31.5) / 32
    dx, dy = (x[None, :], x[:, None])
    l = jnp.sqrt(dx * dx + dy * dy + 1)
    D = jnp.stack([jnp.broadcast_to(dx, (64, 64)) / l, jnp.broadcast_to(dy, (64, 64)) / l, 1 / l], -1)

    def s(k, t):
        return t + jnp.minimum(
            1000.0, jnp.min(jnp.sqrt(jnp.sum((t[..., None, None] * D[:, :, None] - S[:, :3]) ** 2, -1)) - S[:, 3], -1)
        )

    return lax.fori_loop(0, 24, s, jnp.zeros((64, 64)))


def marching_cases(F, level):
    b = (level < F).astype(jnp.int32)
    c = b[:-1, :-1] + 2 * b[:-1, 1:] + 4 * b[1:, 1:] + 8 * b[1:, :-1]
    return (c, jnp.bincount(c.ravel(), length=16))


def catmull_rom(P):
    i = jnp.arange(1000)
    k = i * 63 // 1000
    t = (i * 63 % 1000 / jnp.float32(1000))[:, None]
    p0, p1, p2, p3 = (P[jnp.maximum(k - 1, 0)], P[k], P[k + 1], P[jnp.minimum(k + 2, 63)])
    return 0.5 * (2 * p1 + (p2 - p0) * t + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t * t + (3 * p1 - p0 - 3 * p2 + p3) * t**3)


def coverage(X, Y):
    px = (jnp.arange(80) + 0.5)[None, :, None]
    py = (jnp.arange(60) + 0.5)[:, None, None]
    ok = True
    for e in range(3):
        f = (e + 1) % 3
        ok = ok & ((X[:, f] - X[:, e]) * (py - Y[:, e]) - (Y[:, f] - Y[:, e]) * (px - X[:, e]) >= 0)
    return jnp.sum(ok, -1)


def holt_winters(x, a, b, g):

    def s(c, t):
        l, tr, se = c
        k = t % 12
        y = l + tr + se[k]
        n = a * (x[t] - se[k]) + (1 - a) * (l + tr)
        return ((n, b * (n - l) + (1 - b) * tr, se.at[k].set(g * (x[t] - n) + (1 - g) * se[k])), y)

    return lax.scan(s, (x[0], jnp.float32(0), jnp.zeros(12)), jnp.arange(1200))[1]


def survival(time, event):
    r = jnp.sum(time[None] >= time[:, None], 1)
    f = 1 - 1 / r.astype(jnp.float32)
    b = jnp.arange(50)
    return jnp.prod(jnp.where((event == 1) & (time <= b[:, None]), f, 1), 1)


def kendall(x, y):
    i = jnp.arange(600)
    d = jnp.sign((x[:, None] - x) * (y[:, None] - y)).astype(jnp.int32)
    return jnp.sum(jnp.where(i[:, None] < i, d, 0))[None]


def naive_bayes(X, label):
    N = 1 + jax.ops.segment_sum(X.astype(jnp.float32), label, 8)
    return (N, jnp.log(N / jnp.sum(N, 1, keepdims=True)))


def pair_counts(B):
    b = (B != 0).astype(jnp.float32)
    return (b.T @ b).astype(jnp.int32)


def bm25(tf):
    l = jnp.sum(tf, 1)
    df = jnp.sum(tf > 0, 0)
    return jnp.log((300 - df + 0.5) / (df + 0.5) + 1) * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * l[:, None] / jnp.mean(l)))


def jaccard(A):
    b = (A > 0).astype(jnp.float32)
    both = b @ b.T
    n = jnp.sum(b, 1)
    return both / jnp.maximum(n[:, None] + n - both, 1)


def vigenere(text, key):
    return jnp.where((text >= 97) & (text <= 122), (text - 97 + jnp.tile(key, 715)[:5000]) % 26 + 97, text)


def utf8_points(b):
    v = b.astype(jnp.int32)
    k = jnp.where(v < 128, 1, jnp.where(v < 192, 0, jnp.where(v < 224, 2, jnp.where(v < 240, 3, 4))))
    n = (v == 10).astype(jnp.int32)
    return (jnp.bincount(k, length=5), jnp.cumsum(n) - n)


def hex_rows(text):
    d = jnp.where(text < 58, text - 48, (text | 32) - 87)
    return jnp.sum(d << 28 - 4 * jnp.arange(8), 1)


def delta_of_delta(first, step, D):
    d = step + jnp.cumsum(D)
    return first + jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(d)[:-1]])


def unpack_12(A):
    a = A.astype(jnp.int32).reshape(1000, 3)
    return jnp.stack([a[:, 0] | (a[:, 1] & 15) << 8, a[:, 1] >> 4 | a[:, 2] << 4], 1).ravel()


def mu_law(x):
    c = jnp.clip(x, -1, 1)
    m = jnp.log(1 + 255 * jnp.abs(c)) / np.log(256.0).astype(np.float32)
    return jnp.floor((jnp.where(c < 0, -m, m) + 1) * 127.5 + 0.5).astype(jnp.int32)


def comb_reverb(x, g):
    X = jnp.pad(x, (0, 37 * 217 - 8000)).reshape(217, 37)
    return lax.scan(lambda c, r: (r + g * c,) * 2, jnp.zeros(37), X)[1].ravel()[:8000]


def rank_filter(A):
    return jnp.sort(jnp.stack([A[u : u + 96, v : v + 96] for u in range(3) for v in range(3)]), 0)[4]


def non_local_means(A):
    c = [A[5 + p : 45 + p, 5 + q : 45 + q] for p in range(3) for q in range(3)]
    num = den = 0
    for u in range(9):
        for v in range(9):
            d = sum(
                (c[3 * p + q] - A[u + 1 + p : u + 41 + p, v + 1 + q : v + 41 + q]) ** 2
                for p in range(3)
                for q in range(3)
            )
            w = jnp.exp(-d)
            num = num + w * A[u + 2 : u + 42, v + 2 : v + 42]
            den = den + w
    return num / den


def lucas_kanade(A, B):
    gx = (A[1:-1, 2:] - A[1:-1, :-2]) * 0.5
    gy = (A[2:, 1:-1] - A[:-2, 1:-1]) * 0.5
    gt = B[1:-1, 1:-1] - A[1:-1, 1:-1]
    w = lambda z: lax.reduce_window(z, jnp.float32(0), lax.add, (7, 7), (1, 1), "VALID")
    a, b, c, p, q = (0.001 + w(gx * gx), w(gx * gy), 0.001 + w(gy * gy), w(gx * gt), w(gy * gt))
    D = a * c - b * b
    return ((b * q - c * p) / D, (b * p - a * q) / D)


def binary_patterns(A):
    c = A[1:-1, 1:-1]
    P = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
    code = sum(((A[u : u + 128, v : v + 128] >= c).astype(jnp.int32) << k for k, (u, v) in enumerate(P)))
    return jnp.bincount(code.ravel(), length=256)


def disk_dilate(A):
    P = jnp.pad(A, 3, constant_values=-jnp.inf)
    r = jnp.full((100, 100), -jnp.inf)
    for u in range(7):
        for v in range(7):
            if (u - 3) ** 2 + (v - 3) ** 2 <= 9:
                r = jnp.maximum(r, P[u : u + 100, v : v + 100])
    return r


def heat_insulated(A, K):
    P = jnp.pad(A, 1, mode="edge")
    c = slice(1, -1)
    return A + K * (P[:-2, c, c] + P[2:, c, c] + P[c, :-2, c] + P[c, 2:, c] + P[c, c, :-2] + P[c, c, 2:] - 6 * A)


def fem_residual(conn, Ke, u):
    return jnp.zeros(1100).at[conn].add(jnp.einsum("eab,eb->ea", Ke, u[conn], precision="highest"))


def mass_springs(x, v):

    def s(t, c):
        x, v = c
        d = x[1:] - x[:-1] - 1
        f = jnp.pad(d, (0, 1)) - jnp.pad(d, (1, 0))
        v = (v + 0.01 * f) * 0.999
        return (x + 0.01 * v, v)

    return lax.fori_loop(0, 100, s, (x, v))


def lennard_jones(P, box):
    D = P[:, None] - P
    D = D - box * jnp.round(D / box)
    r2 = jnp.sum(D * D, -1)
    r2 = jnp.where(jnp.eye(150, dtype=bool), 100.0, r2)
    s = 1 / r2**3
    return jnp.einsum("ij,ijd->id", jnp.where(r2 < 6.25, 24 * (2 * s * s - s) / r2, 0), D, precision="highest")


def radial_distribution(P):
    i = jnp.arange(300)
    d = P[:, None] - P
    b = (jnp.sqrt(jnp.sum(d * d, -1)) * 16).astype(jnp.int32)
    return jnp.zeros(64, jnp.int32).at[b].add((i[:, None] > i).astype(jnp.int32), mode="drop")


def lcg_pi(seed):
    u = jnp.uint32

    def s(k, c):
        x, n = c
        x = x * u(1664525) + u(1013904223)
        a = (x >> 8).astype(jnp.float32) / 16777216
        x = x * u(1664525) + u(1013904223)
        b = (x >> 8).astype(jnp.float32) / 16777216
        return (x, n + (a * a + b * b < 1))

    return lax.fori_loop(0, 100, s, (seed, jnp.zeros(512, jnp.int32)))[1]


def walkers(nbr, R):

    def s(at, r):
        at = nbr[at, r]
        return (at, at)

    return jnp.bincount(lax.scan(s, jnp.arange(300), R)[1].ravel(), length=500)


def hmm_backward(A, E, obs):

    def s(b, o):
        b = A @ (E[:, o] * b)
        b = b / jnp.sum(b)
        return (b, b)

    return jnp.concatenate([lax.scan(s, jnp.ones(24), obs[1:], reverse=True)[1], jnp.ones((1, 24))])


def damerau(a, b):
    j = jnp.arange(151)

    def row(c, i):
        p2, p = c
        cost = jnp.where(a[i - 1] == b, 0, 1)
        t = jnp.minimum(p[1:] + 1, p[:-1] + cost)
        tr = jnp.where(
            (i > 1) & (a[i - 1] == jnp.roll(b, 1)) & (a[i - 2] == b) & (jnp.arange(150) >= 1),
            jnp.pad(p2, (1, 0))[:150] + 1,
            10**6,
        )
        t = jnp.minimum(t, tr)
        r = j + lax.cummin(jnp.concatenate([i[None], t]) - j)
        return ((p, r), r)

    return jnp.concatenate([j[None], lax.scan(row, (j, j), jnp.arange(1, 151))[1]])


def largest_square(M):

    def row(p, m):
        q = jnp.minimum(p, jnp.pad(p, (1, 0))[:-1])

        def st(l, x):
            q, m = x
            v = jnp.where(m == 1, jnp.minimum(l, q) + 1, 0)
            return (v, v)

        r = lax.scan(st, jnp.int32(0), (q, m))[1]
        return (r, r)

    S = lax.scan(row, jnp.zeros(200, jnp.int32), M)[1]
    return (S, jnp.max(S)[None])


def trapped_water(h):
    return jnp.sum(jnp.minimum(lax.cummax(h), lax.cummax(h, reverse=True)) - h)[None]


def cooldown(p):

    def s(c, x):
        h, so, r = c
        return ((jnp.maximum(h, r - x), h + x, jnp.maximum(r, so)), None)

    (_, so, r), _ = lax.scan(s, (-p[:, 0], jnp.zeros(64), jnp.zeros(64)), p[:, 1:].T)
    return jnp.maximum(so, r)


def knapsack_2d(w, b, v):
    x = jnp.arange(61)

    def s(i, D):
        S = D[jnp.clip(x - w[i], 0)][:, jnp.clip(x - b[i], 0)]
        return jnp.where((x[:, None] >= w[i]) & (x >= b[i]), jnp.maximum(D, S + v[i]), D)

    return lax.fori_loop(0, 40, s, jnp.zeros((61, 61), jnp.int32))


def bottleneck_paths(W):

    def s(k, c):
        W, n = c
        a = jnp.maximum(W[:, k, None], W[k])
        t = a < W
        return (jnp.where(t, a, W), jnp.where(t, n[:, k, None], n))

    return lax.fori_loop(0, 70, s, (W, jnp.broadcast_to(jnp.arange(70), (70, 70))))


def gauss_jordan(A):
    return jnp.linalg.inv(A)


def ldl(A):
    C = jnp.linalg.cholesky(A)
    d = jnp.diag(C)
    return (C / d, d * d)


def banded_cholesky(A):
    i = jnp.arange(200)
    d = jnp.arange(8)
    F = jnp.zeros((200, 200)).at[i[:, None], jnp.clip(i[:, None] - d, 0)].add(jnp.where(i[:, None] >= d, A, 0))
    F = jnp.tril(F)
    C = jnp.linalg.cholesky(F + jnp.tril(F, -1).T, symmetrize_input=False)
    return jnp.where(i[:, None] >= d, C[i[:, None], jnp.clip(i[:, None] - d, 0)], 0)


def ntt(a, w):
    k = jnp.arange(256)
    return jnp.sum(a * w[k[:, None] * k % 256] % 257, 1) % 257


def synthetic_division(c, r):

    def s(q, x):
        q = x + r * q
        return (q, q)

    return lax.scan(s, jnp.zeros(100), c.T)[1].T


def clenshaw(c, x):

    def s(k, b):
        b1, b2 = b
        return (2 * x * b1 - b2 + c[23 - k], b1)

    b1, b2 = lax.fori_loop(0, 23, s, (jnp.zeros(5000), jnp.zeros(5000)), unroll=True)
    return x * b1 - b2 + c[0]


def quadrature(n, w, a, b):
    return jnp.einsum("i,j,ki,kij->k", w, w, jnp.exp(-a[:, None] * n * n), jnp.cos(b[:, None, None] * n[:, None] * n))


def box_overlaps(A, B):
    w = jnp.maximum(jnp.minimum(A[:, None, 2], B[:, 2]) - jnp.maximum(A[:, None, 0], B[:, 0]), 0)
    h = jnp.maximum(jnp.minimum(A[:, None, 3], B[:, 3]) - jnp.maximum(A[:, None, 1], B[:, 1]), 0)
    ar = lambda Z: (Z[:, 2] - Z[:, 0]) * (Z[:, 3] - Z[:, 1])
    o = w * h / (ar(A)[:, None] + ar(B) - w * h)
    return (jnp.max(o, 1), jnp.argmax(o, 1))


def expert_slots(choice, X):
    o = jax.nn.one_hot(choice, 8, dtype=jnp.int32)
    slot = jnp.sum((jnp.cumsum(o, 0) - o) * o, 1)
    return (slot, jnp.zeros((8, 64, 32)).at[choice, slot].set(X, mode="drop"))


def roi_align(F, R):
    k = (jnp.arange(7) + 0.5) / 7
    fy = jnp.clip(R[:, 1, None] + k * (R[:, 3] - R[:, 1])[:, None], 0, 48.5)
    fx = jnp.clip(R[:, 0, None] + k * (R[:, 2] - R[:, 0])[:, None], 0, 48.5)
    y0, x0 = (fy.astype(jnp.int32), fx.astype(jnp.int32))
    a = (fy - y0)[:, None, :, None]
    b = (fx - x0)[:, None, None, :]
    g = lambda y, x: jnp.moveaxis(F[:, y[:, :, None], x[:, None, :]], 0, 1)
    return (1 - a) * ((1 - b) * g(y0, x0) + b * g(y0, x0 + 1)) + a * ((1 - b) * g(y0 + 1, x0) + b * g(y0 + 1, x0 + 1))


def channel_shuffle(X):
    return jnp.maximum(X.reshape(8, 3, 16, 20, 20).swapaxes(1, 2).reshape(8, 48, 20, 20), 0)


def bidirectional(X, W, U):
    P = X @ W

    def s(h, p):
        h = jnp.tanh(p + h @ U)
        return (h, h)

    z = jnp.zeros(24)
    return jnp.concatenate([lax.scan(s, z, P)[1], lax.scan(s, z, P, reverse=True)[1]], 1)


def wavenet_gate(X, F, G):
    D = jnp.pad(X, ((0, 0), (8, 0)))[:, :400]
    f = F[:, :, 1] @ X + F[:, :, 0] @ D
    g = G[:, :, 1] @ X + G[:, :, 0] @ D
    return X + jnp.tanh(f) * jax.nn.sigmoid(g)


def focal_dice(P, Y):
    pt = jnp.where(Y > 0.5, P, 1 - P)
    return jnp.stack(
        [
            jnp.mean(-((1 - pt) ** 2) * jnp.log(pt + 1e-06), 1),
            1 - 2 * jnp.sum(P * Y, 1) / (jnp.sum(P, 1) + jnp.sum(Y, 1) + 1),
        ],
        1,
    )


def kv_append(pos, k, K, q):
    K = K.at[:, pos].set(k)
    return (K, jnp.where(jnp.arange(256) <= pos, jnp.einsum("hd,htd->ht", q, K), -1000000000.0))


def jump_flood(sx, sy):
    I, J = jnp.mgrid[:64, :64]
    d = lambda x, y: (x - I) ** 2 + (y - J) ** 2
    for s in (32, 16, 8, 4, 2, 1):
        px, py = (jnp.pad(z, s, constant_values=-1000) for z in (sx, sy))
        tx, ty = (sx, sy)
        for u in range(3):
            for v in range(3):
                x, y = (px[u * s : u * s + 64, v * s : v * s + 64], py[u * s : u * s + 64, v * s : v * s + 64])
                c = d(x, y) < d(tx, ty)
                tx, ty = (jnp.where(c, x, tx), jnp.where(c, y, ty))
        sx, sy = (tx, ty)
    return (sx, sy, d(sx, sy))


def yin_difference(x):
    W, M = 1024, 400
    i = jnp.arange(M)[:, None] + jnp.arange(W)[None]
    d = jnp.sum((x[:W][None] - x[i]) ** 2, 1)
    s = jnp.cumsum(d)
    t = jnp.arange(M)
    return d, jnp.where((t > 0) & (s > 0), d * t / s, 1.0)


def mel_filterbank(P, f):
    k = jnp.arange(257.0)[:, None]
    up = (k - f[None, :-2]) / (f[1:-1] - f[:-2])
    down = (f[None, 2:] - k) / (f[2:] - f[1:-1])
    return jnp.log(P @ jnp.maximum(0.0, jnp.minimum(up, down)) + 1e-6)


def bollinger(P):
    w = jnp.stack([P[:, k : k + 981] for k in range(20)])
    m = w.mean(0)
    s = jnp.sqrt(((w - m) ** 2).mean(0))
    return m + 2 * s, m - 2 * s


def stochastic_oscillator(H, L, C):
    hi = lax.reduce_window(H, -jnp.inf, lax.max, (1, 14), (1, 1), [(0, 0), (13, 0)])
    lo = lax.reduce_window(L, jnp.inf, lax.min, (1, 14), (1, 1), [(0, 0), (13, 0)])
    return jnp.where(hi > lo, 100.0 * (C - lo) / jnp.where(hi > lo, hi - lo, 1), 50.0)


def ohlc_bars(P, V):
    p, v = P.reshape(400, 60), V.reshape(400, 60)
    s = v.sum(1)
    return jnp.stack([p[:, 0], p.max(1), p.min(1), p[:, -1], s, (p * v).sum(1) / (s + 1)], 1)


def swap_curve(r):
    def step(s, x):
        z = (1 - 0.5 * x * s) / (1 + 0.5 * x)
        return s + z, z

    return lax.scan(step, jnp.zeros(64), r.T)[1].T


def risk_covariance(R):
    w = 0.06 * 0.94 ** jnp.arange(499, -1, -1, dtype=jnp.float32)
    return (R * w[:, None]).T @ R


def heston(Z):
    def step(c, z):
        v, S = c
        w = jnp.maximum(v, 0)
        e = jnp.sqrt(w * 0.01)
        S = S * jnp.exp(-0.005 * w + e * z[:, 0])
        v = v + 0.015 * (0.04 - w) + 0.3 * e * (-0.7 * z[:, 0] + 0.714 * z[:, 1])
        return (v, S), None

    (_, S), _ = lax.scan(step, (jnp.full(2000, 0.04), jnp.full(2000, 100.0)), Z)
    return S, jnp.mean(jnp.maximum(S - 100, 0))[None]


def trinomial_american(K):
    j = jnp.arange(257)
    pay = K[:, None] - 100 * jnp.exp(0.03 * (j - 128.0))[None]

    def step(s, V):
        c = 0.999 * (0.17 * V[:, :-2] + 0.66 * V[:, 1:-1] + 0.17 * V[:, 2:])
        n = V.at[:, 1:-1].set(jnp.maximum(pay[:, 1:-1], c))
        return jnp.where((j > s) & (j < 256 - s), n, V)

    return lax.fori_loop(0, 128, step, jnp.maximum(pay, 0))


def bounce_back_stream(F, S, ex, ey, opp):
    def one(f, q):
        y = (jnp.arange(128)[:, None] - ey[q] + 128) % 128
        x = (jnp.arange(128)[None] - ex[q] + 128) % 128
        return jnp.where(S[y, x] == 1, F[opp[q]], f[y, x])

    return jax.vmap(one)(F, jnp.arange(9))


def neighbour_forces(X, nbr, cnt):
    d = X[:, None] - X[nbr]
    r = 0.01 + (d * d).sum(-1)
    f = jnp.where(jnp.arange(32)[None] < cnt[:, None], 1 / (r * r) - 0.5 / r, 0)
    return (d * f[..., None]).sum(1)


def structure_factor(r, k):
    p = k @ r.T
    return (jnp.cos(p).sum(1) ** 2 + jnp.sin(p).sum(1) ** 2) / 500


def kuramoto(w, th):
    def step(th, _):
        d = w + 0.008 * jnp.sum(jnp.sin(th[None] - th[:, None]), 1)
        th = th + 0.05 * d
        return th, jnp.sqrt(jnp.cos(th).sum() ** 2 + jnp.sin(th).sum() ** 2) / 256

    return lax.scan(step, th, None, 50)


def spiking_network(W, I):
    def step(c, i):
        v, s, n = c
        v = 0.9 * v + i + W @ s
        f = v > 1
        return (jnp.where(f, 0, v), f.astype(jnp.float32), n + f), None

    (v, _, n), _ = lax.scan(step, (jnp.zeros(200), jnp.zeros(200), jnp.zeros(200, jnp.int32)), I)
    return v, n


def metapopulation(M, beta, S, E, I):
    def step(_, c):
        S, E, I, p = c
        new = beta * S * (M @ I) * 0.1
        sick = 0.02 * E
        I = I + sick - 0.01 * I
        return S - new, E + new - sick, I, jnp.maximum(p, I)

    return lax.fori_loop(0, 200, step, (S, E, I, jnp.zeros(100)))


def wireworld(G):
    def step(_, G):
        h = jnp.pad((G == 1).astype(jnp.int32), 1)
        r = h[:-2] + h[1:-1] + h[2:]
        n = r[:, :-2] + r[:, 1:-1] + r[:, 2:]
        return jnp.where(G == 1, 2, jnp.where(G == 2, 3, jnp.where(G == 3, jnp.where((n == 1) | (n == 2), 1, 3), 0)))

    return lax.fori_loop(0, 40, step, G)


def longest_match(s):
    i = jnp.arange(1024)[:, None, None]
    d = jnp.arange(1, 33)[None, :, None]
    k = jnp.arange(16)[None, None]
    eq = (s[jnp.minimum(i + k, 1023)] == s[jnp.clip(i - d + k, 0, 1023)]) & (i + k < 1024)
    m = jnp.where(i[..., 0] >= d[..., 0], jnp.cumprod(eq.astype(jnp.int32), 2).sum(2), 0)
    n = m.max(1)
    return n, jnp.where(n > 0, jnp.argmax(m, 1) + 1, 0)


def move_to_front(x):
    k = jnp.arange(64)

    def step(t, v):
        at = jnp.argmax(t == v)
        return jnp.where(k == 0, v, jnp.where(k <= at, jnp.roll(t, 1), t)), at

    return lax.scan(step, k, x)[1]


def totients():
    j = jnp.arange(2000)

    def step(p, phi):
        return jnp.where((phi[p] == p) & (j % p == 0) & (j >= p), phi // p * (p - 1), phi)

    return lax.fori_loop(2, 2000, step, j)


def divisor_sums():
    n = jnp.arange(3000)
    d = jnp.arange(1, 1500)
    s = jnp.sum(jnp.where((n[:, None] % d == 0) & (n[:, None] > d), d, 0), 1)
    return s, jnp.sum((s == n)[1:])[None]


def partition_numbers():

    def step(k, p):
        def inner(j, p):
            return p.at[j].set((p[j] + p[j - k]) % 1000003)

        return lax.fori_loop(k, 400, inner, p)

    return lax.fori_loop(1, 400, step, jnp.zeros(400, jnp.int32).at[0].set(1))


def stirling():
    k = jnp.arange(128)

    def step(row, _):
        new = (jnp.concatenate([jnp.zeros(1, jnp.int32), row[:-1]]) + k * row) % 1000003
        new = new.at[0].set(0)
        return new, new

    first = jnp.zeros(128, jnp.int32).at[0].set(1)
    return jnp.concatenate([first[None], lax.scan(step, first, None, 127)[1]])


def digit_sums(x):
    s, v = 0, x
    for _ in range(10):
        s, v = s + v % 10, v // 10
    return s, jnp.where(x > 0, 1 + (x - 1) % 9, 0)


def mertens():
    j = jnp.arange(2000)

    def step(i, mu):
        return jnp.where((j % i == 0) & (j >= 2 * i), mu - mu[i], mu)

    mu = lax.fori_loop(1, 1000, step, jnp.zeros(2000, jnp.int32).at[1].set(1))
    return mu, jnp.cumsum(mu)


def closest_pair(P):
    d = ((P[:, None] - P[None]) ** 2).sum(-1)
    i = jnp.arange(1000)
    d = jnp.where(i[None] > i[:, None], d, 1e30).reshape(-1)
    k = jnp.argmin(d)
    return d[k][None], jnp.stack([k // 1000, k % 1000])


def segment_crossings(S):
    a, b, c, d = S.T

    def cross(x0, y0, x1, y1, x, y):
        return (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)

    A, B, C, D = (v[:, None] for v in (a, b, c, d))
    t = (cross(A, B, C, D, a, b) * cross(A, B, C, D, c, d) < 0) & (
        cross(a, b, c, d, A, B) * cross(a, b, c, d, C, D) < 0
    )
    return jnp.sum(t & ~jnp.eye(400, dtype=bool), 1)


def point_to_segments(P, S):
    u = S[:, 2:] - S[:, :2]
    w = P[:, None] - S[None, :, :2]
    t = jnp.clip((w * u).sum(-1) / ((u * u).sum(-1) + 1e-6), 0, 1)
    d = ((w - t[..., None] * u) ** 2).sum(-1)
    return d.min(1), jnp.argmin(d, 1)


def bspline_basis(u, t):
    u = u[:, None]
    B = ((u >= t[:23]) & (u < t[1:24])).astype(jnp.float32)
    for p in range(1, 4):
        n = 23 - p
        B = (u - t[:n]) / (t[p : n + p] - t[:n]) * B[:, :-1] + (t[p + 1 : n + p + 1] - u) / (
            t[p + 1 : n + p + 1] - t[1 : n + 1]
        ) * B[:, 1:]
    return B


def slab_tests(O, D, L, H):
    a = (L[None] - O[:, None]) / D[:, None]
    c = (H[None] - O[:, None]) / D[:, None]
    lo = jnp.maximum(jnp.minimum(a, c).max(-1), 0)
    hi = jnp.maximum(a, c).min(-1)
    t = jnp.where(lo <= hi, lo, 1e30)
    k = jnp.argmin(t, 1)
    m = t.min(1)
    return jnp.where(m < 1e30, k, -1), m


def gaussian_pyramid(A, w):
    def down(A):
        p = jnp.pad(A, 2, mode="edge")
        n = A.shape[0] // 2
        r = sum(w[u] * p[u : u + 2 * n : 2] for u in range(5))
        return sum(w[v] * r[:, v : v + 2 * n : 2] for v in range(5))

    B = down(A)
    return B, down(B)


def sharpen_bytes(A):
    a = A.astype(jnp.int32)
    v = 5 * a[1:-1, 1:-1] - a[:-2, 1:-1] - a[2:, 1:-1] - a[1:-1, :-2] - a[1:-1, 2:]
    return A.at[1:-1, 1:-1].set(jnp.clip(v, 0, 255).astype(jnp.uint8))


def adaptive_threshold(A):
    def box(x):
        x = lax.reduce_window(x, 0.0, lax.add, (15, 1), (1, 1), [(7, 7), (0, 0)])
        return lax.reduce_window(x, 0.0, lax.add, (1, 15), (1, 1), [(0, 0), (7, 7)])

    return (box(A) / box(jnp.ones_like(A)) + 0.1 < A).astype(jnp.int32)


def guided_filter(I, p):
    def box(x):
        n, m = x.shape
        x = sum(x[u : u + n - 4] for u in range(5))
        return sum(x[:, v : v + m - 4] for v in range(5)) / 25

    mi, mp = box(I), box(p)
    a = (box(I * p) - mi * mp) / (box(I * I) - mi * mi + 0.1)
    b = mp - a * mi
    return box(a) * I[4:156, 4:156] + box(b)


def template_ssd(A, P):
    w = lax.conv_general_dilated_patches(A[None, None], (16, 16), (1, 1), "VALID")[0]
    D = ((w - P.reshape(-1)[:, None, None]) ** 2).sum(0)
    k = jnp.argmin(D)
    return D, jnp.stack([k // 81, k % 81])


def poisson_blend(B, L, M):
    def step(_, F):
        n = 0.25 * (F[:-2, 1:-1] + F[2:, 1:-1] + F[1:-1, :-2] + F[1:-1, 2:] - L[1:-1, 1:-1])
        return F.at[1:-1, 1:-1].set(jnp.where(M[1:-1, 1:-1] == 1, n, F[1:-1, 1:-1]))

    return lax.fori_loop(0, 60, step, B)


def orientation_histogram(A):
    gx = A[1:-1, 2:] - A[1:-1, :-2]
    gy = A[2:, 1:-1] - A[:-2, 1:-1]
    o = (gx > 0).astype(jnp.int32) + 2 * (gy > 0) + 4 * (jnp.abs(gx) > jnp.abs(gy))
    m = jnp.sqrt(gx * gx + gy * gy)
    h = jnp.where(o[..., None] == jnp.arange(8), m[..., None], 0)
    return h.reshape(16, 8, 16, 8, 8).sum((1, 3))


def infonce(A, B):
    a = A / jnp.linalg.norm(A, axis=1, keepdims=True)
    b = B / jnp.linalg.norm(B, axis=1, keepdims=True)
    S = a @ b.T * 10
    return jnp.mean(jax.nn.logsumexp(S, 1) - jnp.diag(S))[None]


def decision_stump(X, y, w, t):
    e = jnp.where((X[:, None] > t[None, :, None]) != (y > 0), w, 0).sum(-1)
    k = jnp.argmin(e)
    return jnp.stack([e.reshape(-1)[k], (k // 40).astype(jnp.float32), t[k % 40]])


def split_gains(x, g):
    G = jax.vmap(lambda c: jnp.zeros(32).at[c].add(g), 1)(x)
    N = jax.vmap(lambda c: jnp.zeros(32).at[c].add(1.0), 1)(x)
    gl, nl = jnp.cumsum(G, 1)[:, :-1], jnp.cumsum(N, 1)[:, :-1]
    gt, nt = G.sum(1, keepdims=True), N.sum(1, keepdims=True)
    return gl**2 / (nl + 1) + (gt - gl) ** 2 / (nt - nl + 1)


def knn_vote(X, Y, c):
    D = ((Y[:, None] - X[None]) ** 2).sum(-1)
    _, at = lax.top_k(-D, 5)
    votes = jax.nn.one_hot(c[at], 10, dtype=jnp.int32).sum(1)
    return jnp.argmax(votes, 1)


def perceptron(X, y):
    def step(c, xy):
        w, n = c
        x, t = xy
        m = (w @ x) * t <= 0
        return (jnp.where(m, w + t * x, w), n + m), None

    return lax.scan(step, (jnp.zeros(32), jnp.zeros((), jnp.int32)), (X, y))[0]


def rating_sgd(u, v, r, P, Q):
    def step(c, z):
        P, Q = c
        u, v, r = z
        p, q = P[u], Q[v]
        e = r - p @ q
        return (P.at[u].add(0.01 * (e * q - 0.02 * p)), Q.at[v].add(0.01 * (e * p - 0.02 * q))), None

    return lax.scan(step, (P, Q), (u, v, r))[0]


def mixture_responsibilities(X, mu, lv, lp):
    q = (X[:, None] - mu) ** 2 * jnp.exp(-lv)
    R = jax.nn.softmax(lp - 0.5 * (lv + q).sum(-1), 1)
    return R, R.sum(0)


def value_iteration(R, W):
    def step(_, V):
        p = jnp.pad(V, 1, constant_values=-1e30)
        b = jnp.maximum(jnp.maximum(p[:-2, 1:-1], p[2:, 1:-1]), jnp.maximum(p[1:-1, :-2], p[1:-1, 2:]))
        return jnp.where(W == 0, R + 0.95 * b, 0)

    return lax.fori_loop(0, 100, step, jnp.zeros((40, 40)))


def q_learning(s, a, r):
    def step(Q, z):
        s, s1, a, r = z
        return Q.at[s, a].add(0.1 * (r + 0.9 * Q[s1].max() - Q[s, a])), None

    return lax.scan(step, jnp.zeros((50, 4)), (s[:-1], s[1:], a, r))[0]


def bandit_ucb(X):
    def step(c, z):
        n, s, tot = c
        x, t = z
        k = jnp.argmax(s / n + jnp.sqrt(2 * jnp.log(t) / n))
        return (n.at[k].add(1), s.at[k].add(x[k]), tot + x[k]), None

    c, _ = lax.scan(step, (jnp.ones(16), jnp.full(16, 0.5), 0.0), (X, jnp.arange(2.0, 1002.0)))
    return c[0], c[2][None]


def systematic_resampling(w, u):
    c = jnp.cumsum(w)
    return jnp.searchsorted(c, (jnp.arange(1024) + u[0]) / 1024 * c[-1]).astype(jnp.int32)


def sessions(user, time):
    b = (user[1:] != user[:-1]) | (time[1:] - time[:-1] > 30)
    sid = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(b.astype(jnp.int32))])
    return sid, jnp.zeros(5000, jnp.int32).at[sid].add(1)


def percentile_ranks(x):
    s = jnp.sort(x)
    lo, hi = jnp.searchsorted(s, x), jnp.searchsorted(s, x, side="right")
    return (lo + 0.5 * (hi - lo)) / 600


def _slots(k):
    h = jnp.arange(4, dtype=jnp.uint32)
    return ((k[:, None] * jnp.uint32(2654435761) + h * (k[:, None] ^ jnp.uint32(40503))) >> 19).astype(jnp.int32)


def bloom_filter(keys, asked):
    bits = jnp.zeros(8192, jnp.int32).at[_slots(keys)].set(1)
    return bits[_slots(asked)].min(1)


def hyperloglog(h):
    b = (h >> 24).astype(jnp.int32)
    rho = lax.clz((h << 8) | jnp.uint32(128)).astype(jnp.int32) + 1
    M = jnp.zeros(256, jnp.int32).at[b].max(rho)
    return M, jnp.sum(jnp.exp2(-M.astype(jnp.float32)))[None]


def radix_pass(x):
    return x[jnp.argsort(x % 16, stable=True)]


def overlap_depth(start, stop):
    d = jnp.zeros(1025, jnp.int32).at[start].add(1).at[stop].add(-1)
    d = jnp.cumsum(d)[:1024]
    return d, d.max()[None]


def gate_on_statevector(re, im):
    r, i = re.reshape(-1, 2, 32), im.reshape(-1, 2, 32)
    R = 0.6 * r + jnp.stack([-0.8 * i[:, 1], -0.8 * i[:, 0]], 1)
    I = 0.6 * i + jnp.stack([0.8 * r[:, 1], 0.8 * r[:, 0]], 1)
    return R.reshape(-1), I.reshape(-1)


def qubit_rotations(c, s, psi):
    for q in range(12):
        p = psi.reshape(-1, 2, 1 << q)
        psi = jnp.stack([c[q] * p[:, 0] - s[q] * p[:, 1], c[q] * p[:, 1] + s[q] * p[:, 0]], 1).reshape(-1)
    return psi


def euler_hll(U):
    def step(_, U):
        u = U[1] / U[0]
        p = 0.4 * (U[2] - 0.5 * U[1] * u)
        a = jnp.sqrt(1.4 * p / U[0])
        F = jnp.stack([U[1], U[1] * u + p, u * (U[2] + p)])
        lo = jnp.minimum(jnp.minimum((u - a)[:-1], (u - a)[1:]), 0)
        hi = jnp.maximum(jnp.maximum((u + a)[:-1], (u + a)[1:]), 0)
        f = (hi * F[:, :-1] - lo * F[:, 1:] + lo * hi * (U[:, 1:] - U[:, :-1])) / (hi - lo)
        return U.at[:, 1:-1].add(-0.1 * (f[:, 1:] - f[:, :-1]))

    return lax.fori_loop(0, 30, step, U)


def semi_lagrangian(q, u, v):
    i = jnp.arange(128.0)
    x = jnp.clip(i[:, None] - u, 0, 126.99)
    y = jnp.clip(i[None] - v, 0, 126.99)
    a, b = x.astype(jnp.int32), y.astype(jnp.int32)
    fx, fy = x - a, y - b
    return (1 - fx) * ((1 - fy) * q[a, b] + fy * q[a, b + 1]) + fx * ((1 - fy) * q[a + 1, b] + fy * q[a + 1, b + 1])


def back_projection(S, c, s):
    i = jnp.arange(64.0) - 32

    def one(S, c, s):
        t = i[:, None] * c + i[None] * s + 48
        k = jnp.floor(t).astype(jnp.int32)
        f = t - k
        kk = jnp.clip(k, 0, 94)
        return jnp.where((k >= 0) & (k < 95), (1 - f) * S[kk] + f * S[kk + 1], 0)

    return jax.vmap(one)(S, c, s).sum(0)


def lms_filter(x, d):
    p = jnp.pad(x, (15, 0))

    def step(w, z):
        t, d = z
        v = lax.dynamic_slice(p, (t,), (16,))[::-1]
        e = d - w @ v
        return w + 0.01 * e * v, e

    return lax.scan(step, jnp.zeros(16), (jnp.arange(2000), d))


def hamming_decode(c):
    s = (
        (c[:, 0] ^ c[:, 2] ^ c[:, 4] ^ c[:, 6])
        + 2 * (c[:, 1] ^ c[:, 2] ^ c[:, 5] ^ c[:, 6])
        + 4 * (c[:, 3] ^ c[:, 4] ^ c[:, 5] ^ c[:, 6])
    )
    f = jnp.where(s[:, None] == jnp.arange(1, 8), 1 - c, c)
    return f[:, jnp.array([2, 4, 5, 6])], jnp.sum(s > 0)[None]


def levinson_durbin(r):
    a = jnp.zeros((64, 17)).at[:, 0].set(1)
    err = r[:, 0]
    for m in range(1, 17):
        g = -(a[:, :m] * r[:, m:0:-1]).sum(1) / err
        a = a.at[:, 1 : m + 1].add(g[:, None] * a[:, m - 1 :: -1][:, :m] if m > 0 else 0)
        err = err * (1 - g * g)
    return a, err


def adpcm_decode(code, step, move):
    def body(c, k):
        at, v = c
        d = step[at] * (2 * (k % 8) + 1) // 8
        v = jnp.where(k >= 8, jnp.maximum(v - d, -32768), jnp.minimum(v + d, 32767))
        return (jnp.clip(at + move[k], 0, 88), v), v

    z = jnp.zeros(32, jnp.int32)
    return lax.scan(body, (z, z), code.T)[1].T


def compressor(x):
    def step(e, x):
        a = jnp.abs(x)
        e = jnp.where(a > e, 0.6 * e + 0.4 * a, 0.995 * e + 0.005 * a)
        return e, jnp.where(e > 0.5, x * jnp.sqrt(0.5 / e), x)

    return lax.scan(step, jnp.zeros(16), x.T)[1].T


def allpass_reverb(x):
    D, n = 113, 37
    p = jnp.pad(x, ((0, 0), (0, D * n - 4096))).reshape(8, n, D)

    def step(c, x):
        x0, y0 = c
        y = -0.7 * x + x0 + 0.7 * y0
        return (x, y), y

    z = jnp.zeros((8, D))
    y = lax.scan(step, (z, z), jnp.moveaxis(p, 1, 0))[1]
    return jnp.moveaxis(y, 0, 1).reshape(8, -1)[:, :4096]


def plucked_string(n):
    def step(c, _):
        y, last = c

        def one(prev, cur):
            return cur, 0.498 * (cur + prev)

        new = 0.498 * (y + jnp.concatenate([last[None], y[:-1]]))
        return (new, y[-1]), new

    # blocks of 100: y[t] depends on y[t-100], y[t-101]
    y1 = jnp.concatenate([jnp.zeros(1), 0.498 * (n[1:] + n[:-1])])

    def block(c, _):
        y, last = c
        new = 0.498 * (y + jnp.concatenate([last[None], y[:-1]]))
        return (new, y[-1]), new

    rest = lax.scan(block, (y1, n[-1]), None, 38)[1]
    return jnp.concatenate([n, y1, rest.reshape(-1)])


def hessenberg(A):
    i = jnp.arange(48)

    def step(k, A):
        v = jnp.where(i > k, A[:, k], 0)
        s = jnp.sqrt((v * v).sum())
        v = v.at[k + 1].add(jnp.where(A[k + 1, k] > 0, s, -s))
        n = (v * v).sum() + 1e-12
        A = A - 2 * jnp.outer(v, v @ A) / n
        return A - 2 * jnp.outer(A @ v, v) / n

    return lax.fori_loop(0, 46, step, A)


def lanczos(A, b):
    def step(c, _):
        q, p, last = c
        w = A @ q - last * p
        al = w @ q
        w = w - al * q
        be = jnp.sqrt(w @ w)
        return (w / be, q, be), (al, be)

    return lax.scan(step, (b / jnp.linalg.norm(b), jnp.zeros(200), 0.0), None, 20)[1]


def jacobi_rotations(A):
    for p in range(5):
        for q in range(p + 1, 6):
            tau = (A[:, q, q] - A[:, p, p]) / (2 * A[:, p, q])
            t = jnp.where(tau >= 0, 1.0, -1.0) / (jnp.abs(tau) + jnp.sqrt(1 + tau * tau))
            c = 1 / jnp.sqrt(1 + t * t)
            s = t * c
            c, s = c[:, None], s[:, None]
            x, y = A[:, p], A[:, q]
            A = A.at[:, p].set(c * x - s * y).at[:, q].set(s * x + c * y)
            x, y = A[:, :, p], A[:, :, q]
            A = A.at[:, :, p].set(c * x - s * y).at[:, :, q].set(s * x + c * y)
    return A


def cholesky_update(L, x):
    i = jnp.arange(64)

    def step(k, c):
        L, x = c
        r = jnp.sqrt(L[k, k] ** 2 + x[k] ** 2)
        co, s = r / L[k, k], x[k] / L[k, k]
        col = jnp.where(i > k, (L[:, k] + s * x) / co, jnp.where(i == k, r, L[:, k]))
        x = jnp.where(i > k, co * x - s * col, x)
        return L.at[:, k].set(col), x

    return lax.fori_loop(0, 64, step, (L, x))


def permanent(A):
    m = jnp.arange(1024)
    b = ((m[:, None] >> jnp.arange(10)) & 1).astype(jnp.float32)
    return jnp.sum(jnp.prod(b @ A.T, 1) * (1 - 2 * (b.sum(1) % 2)))[None]


def strassen(A, B):
    return A @ B


def sinks_attention(Q, K, V):
    i, j = jnp.arange(256)[:, None], jnp.arange(256)[None]
    S = jnp.where((j <= i) & ((j < 4) | (i - j < 64)), Q @ K.T, -1e30)
    return jax.nn.softmax(S, -1) @ V


def top_two_gate(L):
    v, a = lax.top_k(L, 2)
    p = 1 / (1 + jnp.exp(v[:, 1] - v[:, 0]))
    G = jax.nn.one_hot(a[:, 0], 16) * p[:, None] + jax.nn.one_hot(a[:, 1], 16) * (1 - p)[:, None]
    return G, G.sum(0)


def masked_token_loss(L, y):
    nll = jax.nn.logsumexp(L, 1) - jnp.take_along_axis(L, jnp.maximum(y, 0)[:, None], 1)[:, 0]
    m = y != -1
    return (jnp.sum(jnp.where(m, nll, 0)) / jnp.maximum(m.sum(), 1))[None]


def crf_forward(E, A, length):
    def step(f, z):
        t, e = z
        g = jax.nn.logsumexp(f[:, :, None] + A, 1) + e
        return jnp.where((t < length)[:, None], g, f), None

    f, _ = lax.scan(step, E[:, 0], (jnp.arange(1, 100), jnp.moveaxis(E[:, 1:], 1, 0)))
    return jax.nn.logsumexp(f, 1)


def _ints(draw: Draw, low: int, high: int, *shape: int) -> np.ndarray:
    return draw.rng.integers(low, high, shape).astype(np.int32)


def _spd(draw: Draw, n: int) -> np.ndarray:
    a = draw.floats(n, n)
    return (a @ a.T / n + np.eye(n)).astype(np.float32)


def _band(draw: Draw) -> np.ndarray:
    b = np.full((200, 8), 10, np.float32)
    b[:, 1:] = draw.unit(200, 7) * 0.5
    return b


def _seeds(draw: Draw) -> Inputs:
    x = np.full((64, 64), -200, np.int32)
    y = x.copy()
    for _ in range(30):
        a, b = draw.rng.integers(0, 64, 2)
        x[a, b], y[a, b] = a, b
    return {"sx": x, "sy": y}


def _w(draw: Draw) -> np.ndarray:
    return np.array([pow(3, k, 257) for k in range(256)], np.int32)


def _box(draw: Draw, n: int) -> np.ndarray:
    corner = draw.unit(n, 2) * 50
    return np.concatenate([corner, corner + 5 + draw.unit(n, 2) * 20], 1).astype(np.float32)


def _chain(draw: Draw) -> Inputs:
    places = draw.rng.permutation(1024)
    after = np.zeros(1024, np.int32)
    after[places[:-1]] = places[1:]
    after[places[-1]] = places[-1]
    return {"after": after}


EX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
EY = (0, 0, 1, 0, -1, 1, 1, -1, -1)
OPP = (0, 3, 4, 1, 2, 7, 8, 5, 6)


def _iv(d):
    a = d.rng.integers(0, 1000, 800)
    return {"start": a.astype(np.int32), "stop": np.minimum(a + 1 + d.rng.integers(0, 60, 800), 1024).astype(np.int32)}


def _ses(d):
    n = 5000
    return {
        "user": np.sort(d.rng.integers(0, 200, n)).astype(np.int32),
        "time": np.cumsum(d.rng.integers(0, 35, n)).astype(np.int32),
    }


def _euler(d):
    rho = np.where(np.arange(402) < 201, 1.0, 0.5)
    p = np.where(np.arange(402) < 201, 1.0, 0.4)
    return {"U": np.stack([rho, 0 * rho, p / 0.4]).astype(np.float32)}


def rot(x, k):
    return (x << k) | (x >> (32 - k))


def chacha_rounds(K):
    a, b, c, d = (K[:, 4 * k : 4 * k + 4] for k in range(4))

    def step(_, s):
        a, b, c, d = s
        a = a + b
        d = rot(d ^ a, 16)
        c = c + d
        b = rot(b ^ c, 12)
        b1, d1 = jnp.roll(b, -1, 1), jnp.roll(d, -3, 1)
        a = a + b1
        d1 = rot(d1 ^ a, 8)
        return a, b, c, jnp.roll(d1, 3, 1)

    return jnp.concatenate(lax.fori_loop(0, 10, step, (a, b, c, d)), 1) + K


def inverse_bwt(L):
    nx = jnp.argsort(L, stable=True)

    def step(p, _):
        return nx[p], L[p]

    return lax.scan(step, nx[0], None, length=3000)[1]


def nussinov(S):
    n = 120
    i = jnp.arange(n)

    def step(g, D):
        k = jnp.arange(n)
        j = i + g
        jc = jnp.minimum(j, n - 1)
        a = D[i[:, None], jnp.minimum(i[:, None] + k[None], n - 1)]
        b = D[jnp.minimum(i[:, None] + k[None] + 1, n - 1), jc[:, None]]
        v = jnp.where((k[None] >= 1) & (k[None] < g), a + b, 0).max(1)
        v = jnp.maximum(v, D[jnp.minimum(i + 1, n - 1), jc])
        p = (g > 3) & (S + S[jc] == 3)
        v = jnp.where(p, jnp.maximum(v, D[jnp.minimum(i + 1, n - 1), jnp.maximum(jc - 1, 0)] + 1), v)
        return D.at[i, jnp.where(j < n, j, n)].set(v, mode="drop")

    return lax.fori_loop(1, n, step, jnp.zeros((n, n), jnp.int32))


def gini(X):
    return (jnp.abs(X[:, None] - X[None]).sum() / (3000 * X.sum()))[None]


def auc(P, N):
    return ((P[:, None] > N[None]).astype(jnp.float32).sum() + 0.5 * (P[:, None] == N[None]).sum())[None] / 720000.0


def cox_gradient(T0, E, R):
    g = (T0[None] >= T0[:, None]).astype(jnp.float32)
    e = jnp.exp(R)
    d = g @ e
    return (E == 1).astype(jnp.float32) - e * (((E == 1) / d) @ g)


def cusum_alarms(X):
    def step(c, x):
        h, n = c
        h = jnp.maximum(0, h + x - 0.25)
        a = h > 5
        h = jnp.where(a, 0, h)
        return (h, n + a), h

    (_h, n), H = lax.scan(step, (jnp.zeros(64), jnp.zeros(64, jnp.int32)), X.T)
    return n, H.T


def gillespie(U, V, X):
    def step(s, uv):
        u, v = uv
        a0 = 0.002 * s[0] * s[1]
        a1 = 0.1 * s[1]
        t = a0 + a1
        inf = u * t < a0
        r0 = jnp.where(inf, s[0] - 1, s[0])
        r1 = jnp.where(inf, s[1] + 1, s[1] - 1)
        r2 = s[2] - jnp.log(v) / jnp.where(t > 0, t, 1)
        return jnp.where(t > 0, jnp.stack([r0, r1, r2]), s), None

    return lax.scan(step, X.T, (U.T, V.T))[0].T


def rope_constraints(P):
    def one(i, Q):
        a, b = Q[i], Q[i + 1]
        e = b - a
        m = 0.5 * (1 - 0.1 / jnp.sqrt(1e-6 + (e * e).sum())) * e
        return Q.at[i].add(m).at[i + 1].add(-m)

    return lax.fori_loop(0, 50, lambda _, Q: lax.fori_loop(0, 63, one, Q), P)


def perlin(G, P):
    y = jnp.arange(200)[:, None]
    x = jnp.arange(200)[None]
    fx = (x % 16) / 16.0
    fy = (y % 16) / 16.0
    N = 0
    for a in range(2):
        for b in range(2):
            h = G[P[(P[(x // 16 + b) % 256] + y // 16 + a) % 256]]
            N = N + (h[..., 0] * (fx - b) + h[..., 1] * (fy - a)) * (1 - jnp.abs(fx - b)) * (1 - jnp.abs(fy - a))
    return N


def ssim(X, Y):
    def box(Z):
        return lax.reduce_window(Z, 0.0, lax.add, (7, 7), (1, 1), "VALID") / 49

    mx, my, xx, yy, xy = box(X), box(Y), box(X * X), box(Y * Y), box(X * Y)
    return (
        (2 * mx * my + 0.01)
        * (2 * (xy - mx * my) + 0.03)
        / ((mx * mx + my * my + 0.01) * (xx - mx * mx + yy - my * my + 0.03))
    )


def hog_cells(I):
    p = jnp.pad(I, 1, mode="edge")
    gx = p[1:-1, 2:] - p[1:-1, :-2]
    gy = p[2:, 1:-1] - p[:-2, 1:-1]
    k = jnp.where(
        jnp.abs(gx) > 1e-9, jnp.clip(jnp.floor(4.5 + 3 * gy / (jnp.abs(gx) + jnp.abs(gy))).astype(jnp.int32), 0, 8), 4
    )
    m = jnp.sqrt(gx * gx + gy * gy)
    o = (k[..., None] == jnp.arange(9)) * m[..., None]
    return o.reshape(16, 8, 16, 8, 9).sum((1, 3))


def winograd_1d(X, w):
    _x0, _x1, _x2, _x3 = X[:, 0:512:2], X[:, 1:512:2], X[:, 2:514:2], X[:, 3:514:2]
    return sum(X[:, k : k + 512] * w[k] for k in range(3))


def cyclic_reduction(a, b, c, d):
    def sh(x, k, f):  # x[i-k]
        return jnp.pad(x, ((0, 0), (max(k, 0), max(-k, 0))), constant_values=f)[:, max(-k, 0) : max(-k, 0) + 256]

    for l in range(8):
        k = 1 << l
        lo = jnp.where(jnp.arange(256) >= k, a / sh(b, k, 1), 0)
        hi = jnp.where(jnp.arange(256) < 256 - k, c / sh(b, -k, 1), 0)
        a, c, b, d = (
            -lo * sh(a, k, 0),
            -hi * sh(c, -k, 0),
            b - lo * sh(c, k, 0) - hi * sh(a, -k, 0),
            d - lo * sh(d, k, 0) - hi * sh(d, -k, 0),
        )
    return d / b


def adi_sweeps(U0):
    U = U0

    def solve(U):
        def f(c, u):
            cp, p = c
            den = 1.6 + 0.3 * cp
            v = (u + 0.3 * p) / den
            cn = -0.3 / den
            return (cn, v), (cn, v)

        u0 = U[:, 0] / 1.4
        _, (cp, V) = lax.scan(f, (jnp.float32(-0.2), u0), U[:, 1:].T)
        cp = jnp.concatenate([jnp.full(1, -0.2), cp])
        V = jnp.concatenate([u0[None], V])

        def g(x, cv):
            c, v = cv
            x = v - c * x
            return x, x

        _, W = lax.scan(g, V[-1], (cp[:-1], V[:-1]), reverse=True)
        return jnp.concatenate([W, V[-1:]]).T

    for _ in range(4):
        U = solve(U)
        U = solve(U.T).T
    return U


def fdtd_2d(E):
    def step(_, s):
        e, p, q = s
        p = p.at[:127, :127].add(-0.5 * (e[:127, 1:] - e[:127, :-1]))
        q = q.at[:127, :127].add(0.5 * (e[1:, :127] - e[:-1, :127]))
        e = e.at[1:127, 1:127].add(0.5 * (q[1:127, 1:127] - q[:126, 1:127] - p[1:127, 1:127] + p[1:127, :126]))
        return e, p, q

    return jnp.stack(lax.fori_loop(0, 20, step, (E[0], E[1], E[2])))


def sandpile(G0):
    G = G0

    def step(_, G):
        f = jnp.pad(G // 4, 1)
        return G % 4 + f[:-2, 1:-1] + f[2:, 1:-1] + f[1:-1, :-2] + f[1:-1, 2:]

    return lax.fori_loop(0, 100, step, G)


def langton(W):
    dy = jnp.array([-1, 0, 1, 0])
    dx = jnp.array([0, 1, 0, -1])

    def step(_, s):
        G, y, x, d = s
        z = G[y, x] == 0
        G = G.at[y, x].set(jnp.where(z, 1, 0))
        d = (d + jnp.where(z, 1, 3)) % 4
        return G, (y + dy[d]) % 64, (x + dx[d]) % 64, d

    return lax.fori_loop(0, 3000, step, (W, 32, 32, 0))[0]


def sudoku_candidates(G):
    bit = jnp.where(G > 0, 1 << (jnp.maximum(G, 1) - 1), 0)
    o = lambda x, ax: lax.reduce(x, np.int32(0), lax.bitwise_or, ax)
    row = o(bit, (2,))[:, :, None]
    col = o(bit, (1,))[:, None, :]
    blk = o(bit.reshape(200, 3, 3, 3, 3), (2, 4))
    blk = jnp.repeat(jnp.repeat(blk, 3, 1), 3, 2)
    return jnp.where(G == 0, 511 & ~(row | col | blk), 0)


def knight_walks(W):
    mv = [(a, b) for a in range(5) for b in range(5) if (a - 2) ** 2 + (b - 2) ** 2 == 5]

    def step(_, O):
        p = jnp.pad(O, 2)
        return sum(p[a : a + 8, b : b + 8] for a, b in mv) * 0.125

    return lax.fori_loop(0, 30, step, W)


def hilbert_index(X, Y):
    x, y, d = X, Y, jnp.zeros_like(X)
    for k in range(10):
        rx = (x >> (9 - k)) & 1
        ry = (y >> (9 - k)) & 1
        d = d * 4 + ((3 * rx) ^ ry)
        f = (ry == 0) & (rx == 1)
        x2 = jnp.where(f, 1023 - x, x)
        y2 = jnp.where(f, 1023 - y, y)
        x, y = jnp.where(ry == 0, y2, x2), jnp.where(ry == 0, x2, y2)
    return d


def weekdays(Y, M, D):
    m = jnp.where(M < 3, M + 12, M)
    y = jnp.where(M < 3, Y - 1, Y)
    return (D + 13 * (m + 1) // 5 + y % 100 + y % 100 // 4 + y // 100 // 4 + 5 * (y // 100)) % 7


def sha_schedule(M):
    [M[:, t] for t in range(16)]

    def step(c, _):
        s1 = rot(c[14], 15) ^ rot(c[14], 13) ^ (c[14] >> 10)
        s0 = rot(c[1], 25) ^ rot(c[1], 14) ^ (c[1] >> 3)
        n = s1 + c[9] + s0 + c[0]
        return jnp.concatenate([c[1:], n[None]]), n

    _, r = lax.scan(step, M.T, None, length=48)
    return jnp.concatenate([M, r.T], 1)


def rs_syndromes(R, E, L):
    j = jnp.arange(8)

    def step(s, r):
        return jnp.where(s != 0, E[(L[s] + j) % 255] ^ r[:, None], r[:, None]), None

    return lax.scan(step, jnp.zeros((200, 8), jnp.int32), R.T)[0]


def ldpc_bit_flips(C, B0):
    def step(_, B):
        b = B[C]
        p = b.sum(1) % 2
        u = jnp.zeros(600, jnp.int32).at[C].add(jnp.broadcast_to(p[:, None], C.shape))
        return jnp.where(u >= 2, 1 - B, B)

    return lax.fori_loop(0, 10, step, B0)


def convolutional_code(X):
    p = jnp.pad(X, ((0, 0), (2, 0)))
    a = X ^ p[:, 1:-1] ^ p[:, :-2]
    b = X ^ p[:, :-2]
    return jnp.stack([a & 1, b & 1], 2).reshape(128, 1024)


def simhash(F):
    b = jnp.arange(32, dtype=jnp.uint32)
    v = (2 * ((F[:, :, None] >> b) & 1).astype(jnp.int32) - 1).sum(1)
    return ((v > 0).astype(jnp.uint32) << b).sum(1, dtype=jnp.uint32)


def clock_pages(R):
    def step(c, r):
        _fr, _ref, at, _h, _n = c
        hit = at[r] >= 0

        def on_hit(c):
            fr, ref, at, h, n = c
            return fr, ref.at[at[r]].set(1), at, h, n

        def on_miss(c):
            fr, ref, at, h, n = c

            def cond(s):
                return s[0][s[1]] == 1

            def body(s):
                ref, h = s
                return ref.at[h].set(0), (h + 1) % 16

            ref, h = lax.while_loop(cond, body, (ref, h))
            at = at.at[jnp.where(fr[h] < 64, fr[h], 64)].set(-1, mode="drop")
            return fr.at[h].set(r), ref, at.at[r].set(h), (h + 1) % 16, n + 1

        return lax.cond(hit, on_hit, on_miss, c), None

    c = (jnp.full(16, 64), jnp.zeros(16, jnp.int32), jnp.full(64, -1), 0, 0)
    return lax.scan(step, c, R)[0][4][None]


def american_psor(S):
    V = jnp.maximum(S, 0)

    def sweep(_, V):
        def f(p, x):
            s, v, nx = x
            r = jnp.maximum(s, v + 1.2 * (0.3 * p + 0.3 * nx + 0.39 * v - v))
            return r, r

        _, m = lax.scan(f, V[0], (S[1:127], V[1:127], V[2:]))
        return V.at[1:127].set(m)

    return lax.fori_loop(0, 40, sweep, V)


def amortization(P, r):
    def step(c, _):
        b, i = c
        i = i + b * r
        b = jnp.maximum(b * (1 + r) - 0.012 * P, 0)
        return (b, i), b

    (_b, i), B = lax.scan(step, (P, jnp.zeros_like(P)), None, length=120)
    return B.T, i


def hits(A):
    def step(_, s):
        h, a = s
        a = h @ A
        a = a / jnp.sqrt(1e-9 + a @ a)
        h = A @ a
        h = h / jnp.sqrt(1e-9 + h @ h)
        return h, a

    return lax.fori_loop(0, 12, step, (jnp.ones(300), jnp.ones(300)))


def tfidf(C):
    df = (C > 0).astype(jnp.float32).sum(0)
    W = C / (1 + C.sum(1, keepdims=True)) * jnp.log(401 / (1 + df))
    return W / jnp.sqrt(1e-9 + (W * W).sum(1, keepdims=True))


def isolation_depths(X, F, H):
    t = jnp.arange(16)[None]
    k = jnp.zeros((2000, 16), jnp.int32)
    D = jnp.zeros(2000)
    n = jnp.arange(2000)[:, None]
    for d in range(6):
        kc = jnp.minimum(k, 62)
        f = F[t, kc]
        go = (k < 63) & (f >= 0)
        l = X[n, jnp.maximum(f, 0)] < H[t, kc]
        D = D + go.sum(1)
        k = jnp.where(go, 2 * k + jnp.where(l, 1, 2), k)
    return D


def block_lower_solve(L, C, b):
    def step(x, i):
        l, c, r = i
        x = jax.scipy.linalg.solve_triangular(l, r - c @ x, lower=True)
        return x, x

    C = C.at[0].set(0)
    return lax.scan(step, jnp.zeros(8), (L, C, b))[1]


def periodic_tridiagonal(d):
    def f(c, dd):
        c0, x0, u0 = c
        cn = 1 / (4 - c0)
        return (cn, (dd - x0) * cn, -u0 * cn), (cn, (dd - x0) * cn, -u0 * cn)

    i0 = (jnp.float32(0.2), d[:, 0] / 5, jnp.float32(-0.2))
    _, (c, x, u) = lax.scan(f, i0, d[:, 1:].T)
    c = jnp.concatenate([i0[0][None], c])
    x = jnp.concatenate([i0[1][None], x])
    u = jnp.concatenate([i0[2][None], u])
    u = u.at[199].set((1 - u[198]) * c[199])

    def g(s, v):
        X, U = s
        cc, xx, uu = v
        X, U = xx - cc * X, uu - cc * U
        return (X, U), (X, U)

    _, (xs, us) = lax.scan(g, (x[-1], u[-1]), (c[:-1], x[:-1], u[:-1]), reverse=True)
    x = jnp.concatenate([xs, x[-1:]])
    u = jnp.concatenate([us, u[-1:]])
    fct = (x[0] + x[-1]) / (1 + u[0] + u[-1])
    return (x - fct[None] * u[:, None]).T


def packed_rows_dot(P, x):
    i, j = np.tril_indices(100)
    A = jnp.zeros((100, 100)).at[i, j].set(P)
    return A @ x


def condensed_distances(X):
    i, j = np.triu_indices(120, 1)
    d = X[i] - X[j]
    return (d * d).sum(1)


def interval_unions(S, E):
    d = jnp.zeros(4097, jnp.int32).at[S].add(1).at[E].add(-1)
    c = jnp.cumsum(d[:-1])
    return c, (c > 0).sum()[None]


def lorenz_curve_bins(X):
    k = jnp.minimum(jnp.floor(X * 100).astype(jnp.int32), 99)
    S = jnp.zeros(100).at[k].add(X)
    return S, jnp.cumsum(S) / (1e-9 + S.sum())


def yuv420(Y, U, V):
    up = lambda Z: jnp.repeat(jnp.repeat(Z.astype(jnp.int32), 2, 0), 2, 1) - 128
    c = (Y.astype(jnp.int32) - 16) * 298
    u, v = up(U), up(V)
    r = jnp.stack([c + 409 * v, c - 100 * u - 208 * v, c + 516 * u], 2)
    return jnp.clip((r + 128) >> 8, 0, 255).astype(jnp.uint8)


def lifting_53(X):
    e, o = X[:, ::2], X[:, 1::2]
    d = o - (e + jnp.concatenate([e[:, 1:], e[:, -1:]], 1)) // 2
    s = e + (jnp.concatenate([d[:, :1], d[:, :-1]], 1) + d + 2) // 4
    return jnp.concatenate([s, d], 1)


def chamfer(M):
    j = jnp.arange(96)

    def run(D):
        def row(p, d):
            q = jnp.pad(p, 1, constant_values=100000)
            v = jnp.minimum(jnp.minimum(d, p + 3), jnp.minimum(q[:-2], q[2:]) + 4)
            v = lax.cummin(v - 3 * j) + 3 * j
            return v, v

        return lax.scan(row, jnp.full(96, 100000), D)[1]

    D = jnp.where(M == 1, 0, 10000)
    D = run(D)
    return run(D[::-1, ::-1])[::-1, ::-1]


def label_components(M):
    L = jnp.where(M == 1, jnp.arange(4096).reshape(64, 64) + 1, 0)

    def step(_, L):
        m = lax.reduce_window(L, 0, lax.max, (3, 3), (1, 1), "SAME")
        return jnp.where(M == 1, m, L)

    return lax.fori_loop(0, 60, step, L)


def lz_decode(D, B):
    p = jnp.arange(2000) - D
    for _ in range(11):
        p = p[p]
    return B[p]


def minimum_image(P):
    d = P[:, None] - P[None]
    d = d - jnp.floor(d + 0.5)
    r = (d * d).sum(-1)
    w = jnp.where((r < 0.0625) & ~jnp.eye(300, dtype=bool), 1 / (r + 0.01) - 10, 0)
    return (d * w[..., None]).sum(1)


def median_3x3(X):
    v = [X[a : a + 98, b : b + 98] for a in range(3) for b in range(3)]
    for p in range(5):
        for q in range(8):
            v[q], v[q + 1] = jnp.minimum(v[q], v[q + 1]), jnp.maximum(v[q], v[q + 1])
    return v[4]


def rank_one_downdates(A):
    def step(k, s):
        W, Q, R = s
        w = W[:, k]
        r = jnp.sqrt(w @ w)
        q = w / r
        row = jnp.where(jnp.arange(48) > k, q @ W, 0)
        return W - q[:, None] * row[None], Q.at[:, k].set(q), R.at[k].set(row.at[k].set(r))

    _W, Q, R = lax.fori_loop(0, 48, step, (A, jnp.zeros((48, 48)), jnp.zeros((48, 48))))
    return Q, R


def kepler(M, e):
    E = M
    for _ in range(6):
        E = E - (E - e * jnp.sin(E) - M) / (1 - e * jnp.cos(E))
    return E


def bicubic(A):
    t = (jnp.arange(256) % 4) / 4.0
    w = jnp.stack(
        [
            ((-0.5 * t + 1) * t - 0.5) * t,
            (1.5 * t - 2.5) * t * t + 1,
            ((-1.5 * t + 2) * t + 0.5) * t,
            (0.5 * t - 0.5) * t * t,
        ],
        1,
    )
    i = jnp.clip(jnp.arange(256)[:, None] // 4 + jnp.arange(4)[None] - 1, 0, 63)
    M = jnp.zeros((256, 64)).at[jnp.arange(256)[:, None], i].add(w)
    return M @ A @ M.T


def slide_2048(G):
    n = G.shape[0]
    O = jnp.zeros((n, 4), jnp.int32)
    p = jnp.zeros(n, jnp.int32)
    m = jnp.zeros(n, jnp.int32)
    pos = jnp.arange(4)[None]
    for k in range(4):
        g = G[:, k]
        nz = g != 0
        mg = nz & (m == g)
        st = nz & ~mg
        O = jnp.where((pos == (p - 1)[:, None]) & mg[:, None], (2 * m)[:, None], O)
        O = jnp.where((pos == p[:, None]) & st[:, None], g[:, None], O)
        m = jnp.where(mg, 0, jnp.where(st, g, m))
        p = p + st
    return O


def phase_unwrap(P):
    d = P[:, 1:] - P[:, :-1]
    d = d - 6.2831855 * jnp.floor(d / 6.2831855 + 0.5)
    return jnp.cumsum(jnp.concatenate([P[:, :1], d], 1), 1)


def lpc_synthesis(E, A):
    def step(h, e):
        s = e - (A * h).sum(1)
        return jnp.concatenate([s[:, None], h[:, :-1]], 1), s

    return lax.scan(step, jnp.zeros((80, 10)), E.T)[1].T


def amdf(X):
    D = jnp.stack([jnp.abs(X[:, :600] - X[:, l : l + 600]).sum(1) for l in range(200)], 1)
    return D, (jnp.argmin(D[:, 20:], 1) + 20).astype(jnp.int32)


def kuwahara(A):
    box = lambda Z: lax.reduce_window(Z, 0.0, lax.add, (3, 3), (1, 1), "VALID")
    s, q = box(A), box(A * A)
    m = s / 9
    v = q / 9 - s * s / 81
    ms = jnp.stack([m[a : a + 128, b : b + 128] for a in (0, 2) for b in (0, 2)])
    vs = jnp.stack([v[a : a + 128, b : b + 128] for a in (0, 2) for b in (0, 2)])
    k = jnp.argmin(vs, 0)
    return jnp.take_along_axis(ms, k[None], 0)[0]


def zhang_suen(I):
    def step(t, O):
        p = [O[:-2, 1:-1], O[:-2, 2:], O[1:-1, 2:], O[2:, 2:], O[2:, 1:-1], O[2:, :-2], O[1:-1, :-2], O[:-2, :-2]]
        n = sum(p)
        c = sum((p[k] < p[(k + 1) % 8]).astype(jnp.int32) for k in range(8))
        e = jnp.where(
            t % 2 == 0,
            (p[0] * p[2] * p[4] == 0) & (p[2] * p[4] * p[6] == 0),
            (p[0] * p[2] * p[6] == 0) & (p[0] * p[4] * p[6] == 0),
        )
        d = (O[1:-1, 1:-1] == 1) & (n >= 2) & (n <= 6) & (c == 1) & e
        return O.at[1:-1, 1:-1].set(jnp.where(d, 0, O[1:-1, 1:-1]))

    return lax.fori_loop(0, 20, step, I)


def pixelate(A):
    m = A.reshape(25, 8, 25, 8, 3).mean((1, 3))
    return jnp.broadcast_to(m[:, None, :, None], (25, 8, 25, 8, 3)).reshape(200, 200, 3)


def seam_removal(A, S):
    return jnp.where(jnp.arange(199) < S[:, None], A[:, :-1], A[:, 1:])


def block_motion(C, R):
    c = C.reshape(8, 8, 8, 8)
    D = jnp.stack(
        [
            jnp.abs(c - R[v // 17 : v // 17 + 64, v % 17 : v % 17 + 64].reshape(8, 8, 8, 8)).sum((1, 3))
            for v in range(289)
        ]
    )
    return jnp.argmin(D, 0).astype(jnp.int32), D.min(0)


def integer_dct(X):
    H = jnp.array([[1, 1, 1, 1], [2, 1, -1, -2], [1, -1, -1, 1], [1, -2, 2, -1]], jnp.int32)
    return jnp.einsum("ij,njk,lk->nil", H, X, H)


def nagel(R, P0):
    i = jnp.arange(500)

    def step(V, r):
        g = jnp.minimum(V + 1, 5)
        occ = V >= 0
        for d in range(5):
            g = jnp.where(jnp.roll(occ, -(5 - d)), jnp.minimum(g, 4 - d), g)
        g = jnp.where(r == 0, jnp.maximum(g - 1, 0), g)
        N = jnp.full(500, -1).at[jnp.where(occ, (i + g) % 500, 500)].set(g, mode="drop")
        return N, jnp.where(occ, g, 0).sum()

    V, F = lax.scan(step, P0, R)
    return F, V


def kdv(U0):
    def step(_, s):
        A, U = s
        p, m, p2, m2 = jnp.roll(U, -1), jnp.roll(U, 1), jnp.roll(U, -2), jnp.roll(U, 2)
        return U, A - 0.01 * (p + U + m) * (p - m) - 0.002 * (p2 - 2 * p + 2 * m - m2)

    return lax.fori_loop(0, 100, step, (U0, U0))[1]


def boids(P, V):
    d = P[:, None] - P[None]
    r = (d * d).sum(-1)
    m = ((r < 0.04) & ~jnp.eye(300, dtype=bool)).astype(jnp.float32)
    n = m.sum(1)[:, None]
    a = m @ V
    c = m @ P
    s = (d * (m / (r + 0.01))[..., None]).sum(1)
    nn = jnp.where(n > 0, n, 1)
    return jnp.where(n > 0, V + 0.1 * (a / nn - V) + 0.05 * (c / nn - P) + 0.01 * s, V)


def barrier_paths(Z):
    s = 100 * jnp.exp(jnp.cumsum(0.0001 + 0.01 * Z, 0))
    return jnp.where((s >= 85).all(0), jnp.maximum(s[-1] - 100, 0), 0)


def pair_zscore(A, B):
    d = A - 1.3 * B
    w = jnp.stack([d[k : k + 1950] for k in range(50)])
    m = w.mean(0)
    v = ((w - m) ** 2).mean(0)
    return (d[50:] - m) / jnp.sqrt(v + 1e-6)


def kmer_counts(S):
    h = sum(S[k : k + 19996] * 4 ** (4 - k) for k in range(5))
    return jnp.zeros(1024, jnp.int32).at[h].add(1)


def gc_skew(S):
    k = jnp.cumsum((S == 2).astype(jnp.int32) - (S == 1))
    m = jnp.minimum(k.min(), 0)
    return k, jnp.where(m < 0, jnp.argmax(k == m), 0)[None]


def translate_codons(S, Tb):
    P = Tb[S[:, 0] * 16 + S[:, 1] * 4 + S[:, 2]]
    i = jnp.arange(3000)
    last = lax.cummax(jnp.where(P < 0, i, -1))
    return P, (i - last).max()[None]


def felsenstein(C, Pm, X):
    L0 = jnp.zeros((127, 200, 4)).at[:64].set(jax.nn.one_hot(X, 4))

    def step(k, L):
        a, b = C[k, 0], C[k, 1]
        return L.at[64 + k].set((L[a] @ Pm[a].T) * (L[b] @ Pm[b].T))

    return lax.fori_loop(0, 63, step, L0)


def lasso_descent(X, y):
    q = (X * X).sum(0) + 1e-9
    XT = X.T

    def col(j, s):
        r, w = s
        x = XT[j]
        d = x @ r + q[j] * w[j]
        n = jnp.sign(d) * jnp.maximum(jnp.abs(d) - 20, 0) / q[j]
        return r + x * (w[j] - n), w.at[j].set(n)

    return lax.fori_loop(0, 10, lambda _, s: lax.fori_loop(0, 40, col, s), (y, jnp.zeros(40)))[1]


def elo(A, B, S):
    def step(R, g):
        a, b, s = g
        e = 24 * (s - 1 / (1 + jnp.exp((R[b] - R[a]) * 0.005756)))
        return R.at[a].add(e).at[b].add(-e), None

    return lax.scan(step, jnp.full(100, 1500.0), (A, B, S))[0]


def self_organizing_map(X, W0):
    k = jnp.arange(40)

    def step(W, x):
        b = jnp.argmin(((x - W) ** 2).sum(1))
        return W + 0.1 * jnp.exp(-0.5 * (k - b) ** 2)[:, None] * (x - W), None

    return lax.scan(step, W0, X)[0]


def tsne_gradient(P, Y):
    d = Y[:, None] - Y[None]
    Q = jnp.where(jnp.eye(300, dtype=bool), 0, 1 / (1 + (d * d).sum(-1)))
    w = 4 * (P - Q / Q.sum()) * Q
    return w.sum(1)[:, None] * Y - w @ Y


def adaboost(H, y):
    def step(s, h):
        w, F = s
        e0 = 1e-6 + jnp.where(h != y, w, 0).sum()
        e1 = 1e-6 + w.sum()
        a = 0.5 * jnp.log((e1 - e0) / e0)
        return (w * jnp.exp(-a * h * y), F + a * h), a

    (_w, F), A = lax.scan(step, (jnp.full(1000, 0.001), jnp.zeros(1000)), H)
    return A, F


def hinge_sgd(X, y):
    def step(w, i):
        x, t = i
        return 0.999 * w + jnp.where((w @ x) * t < 1, 0.01 * t, 0) * x, None

    return lax.scan(step, jnp.zeros(20), (X, y))[0]


def top_k_rows(X):
    v, j = lax.top_k(X, 5)
    return v, j.astype(jnp.int32)


def isotonic(y):
    c = jnp.concatenate([jnp.zeros(1), jnp.cumsum(y)])
    n = 300
    i = jnp.arange(n)
    m = (c[None, 1:] - c[:-1, None]) / jnp.maximum(i[None] - i[:, None] + 1, 1)  # mean of i..k
    m = jnp.where(i[None] >= i[:, None], m, jnp.inf)
    low = lax.cummin(m, axis=1, reverse=True)  # min over k >= j
    low = jnp.where(i[None] >= i[:, None], low, -jnp.inf)
    return low.max(0)


def luhn(D):
    d = 2 * D[:, ::2]
    d = jnp.where(d > 9, d - 9, d)
    return ((d.sum(1) + D[:, 1::2].sum(1)) % 10 == 0).astype(jnp.int32)


def anagram_keys(W):
    K = (W[:, :, None] == jnp.arange(26)).sum(1).astype(jnp.int32)
    return K, (K[:, None] == K[None]).all(-1).astype(jnp.int32)


def hist_match(A, B):
    ha = jnp.cumsum(jnp.zeros(256, jnp.int32).at[A.reshape(-1)].add(1))
    hb = jnp.cumsum(jnp.zeros(256, jnp.int32).at[B.reshape(-1)].add(1))
    m = jnp.minimum((hb[None] < ha[:, None]).sum(1), 255)
    return m[A]


def xy_sweeps(S, U):
    par = (jnp.arange(64)[:, None] + jnp.arange(64)[None]) % 2

    def step(O, u):
        for c in range(2):
            co, si = jnp.cos(O), jnp.sin(O)
            nb = lambda z: jnp.roll(z, -1, 0) + jnp.roll(z, 1, 0) + jnp.roll(z, -1, 1) + jnp.roll(z, 1, 1)
            x, y = nb(co), nb(si)
            O = jnp.where((par == c) & (x * jnp.cos(u) + y * jnp.sin(u) > x * co + y * si), u, O)
        return O, None

    return lax.scan(step, S, U)[0]


def fem_assembly(E, X):
    p = X[E]
    a = 0.5 * jnp.abs(
        (p[:, 1, 0] - p[:, 0, 0]) * (p[:, 2, 1] - p[:, 0, 1]) - (p[:, 2, 0] - p[:, 0, 0]) * (p[:, 1, 1] - p[:, 0, 1])
    )
    q, r = jnp.roll(p, -1, 1), jnp.roll(p, -2, 1)
    k = ((q - r) ** 2).sum(-1) / (4 * a[:, None] + 1e-6)
    return jnp.zeros(1100).at[E].add(k), jnp.zeros(1100).at[E].add(jnp.broadcast_to(a[:, None] / 3, E.shape))


def fitzhugh(V0):
    def step(_, s):
        V, W = s
        p = jnp.pad(V, 1, mode="edge")
        L = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * V
        V = V + 0.05 * (V - V * V * V / 3 - W + L)
        return V, W + 0.05 * 0.08 * (V + 0.7 - 0.8 * W)

    return lax.fori_loop(0, 50, step, (V0, jnp.zeros_like(V0)))


def word2vec_step(C, O, Wi, Wo):
    o = Wo[O]
    s = jax.nn.sigmoid((Wi[C][:, None] * o).sum(-1))
    L = -jnp.log(s[:, 0] + 1e-6) - jnp.log(1 - s[:, 1:] + 1e-6).sum(1)
    g = s.at[:, 0].add(-1)
    return L, jnp.zeros((1000, 32)).at[C].add((g[..., None] * o).sum(1))


def cyk(R, X):
    n = 24
    D = jnp.zeros((n, 25, 10), jnp.int32).at[jnp.arange(n), 1, X].set(1)
    for l in range(2, 25):
        i = jnp.arange(25 - l)
        k = jnp.arange(1, l)
        a = D[i[:, None], k[None]]
        b = D[i[:, None] + k[None], l - k[None]]
        m = (a[:, :, R[:, 1]] & b[:, :, R[:, 2]]).max(1)
        D = D.at[i[:, None], l, R[None, :, 0]].max(m)
    return D


def sample_hold(X):
    h = jnp.floor(X * 16 + 0.5) / 16
    return h[:, jnp.arange(4096) // 6 * 6]


def adsr(G):
    def step(c, g):
        e, s = c
        s = jnp.where(g == 1, jnp.where(s == 0, 1, s), 0)
        e1 = e + 0.01
        top = e1 >= 1
        e2 = jnp.where(s == 1, jnp.where(top, 1.0, e1), jnp.where(s == 2, 0.6 + (e - 0.6) * 0.999, e * 0.995))
        s = jnp.where((s == 1) & top, 2, s)
        return (e2, s), e2

    return lax.scan(step, (jnp.zeros(16), jnp.zeros(16, jnp.int32)), G.T)[1].T


def split_step(A0, B0, V):
    v = 0.2 * V[1:-1]

    def step(_, s):
        A, B = s
        A = A.at[1:-1].add(-0.1 * (B[2:] - 2 * B[1:-1] + B[:-2]) + v * B[1:-1])
        B = B.at[1:-1].add(0.1 * (A[2:] - 2 * A[1:-1] + A[:-2]) - v * A[1:-1])
        return A, B

    return lax.fori_loop(0, 100, step, (A0, B0))


def dbscan_counts(X):
    d = X[:, None] - X[None]
    n = ((d * d).sum(-1) < 0.25).sum(1).astype(jnp.int32)
    return n, (n >= 5).astype(jnp.int32)


def delay_line(X):
    n = 19
    P = jnp.pad(X, ((0, 0), (0, n * 441 - 8000))).reshape(32, n, 441)
    return (
        lax.scan(lambda r, x: ((y := (x + 0.6 * r)), y), jnp.zeros((32, 441)), P.swapaxes(0, 1))[1]
        .swapaxes(0, 1)
        .reshape(32, -1)[:, :8000]
    )


def image_moments(A):
    t = jnp.arange(256) / 256.0
    B = t[None] ** jnp.arange(4)[:, None]
    return B @ A @ B.T


def ransac_counts(X, Y, L):
    C = (jnp.abs(L[:, :1] * X + L[:, 1:2] * Y + L[:, 2:]) < 0.1).sum(1).astype(jnp.int32)
    return (C, jnp.argmax(C)[None].astype(jnp.int32))


def scatter_within(X, y):
    H = jax.nn.one_hot(y, 5)
    n = H.sum(0)
    m = H.T @ X / jnp.maximum(n, 1)[:, None]
    d = X - m[y]
    return d.T @ d


def particle_weights(P, R, M):
    d = P[:, None, :2] - M
    r = jnp.sqrt((d * d).sum(2)) - R
    w = jnp.exp(-0.005 * (r * r).sum(1))
    w = w / w.sum()
    return (w, w @ P)


def batched_determinants(A):
    U = A
    D = 1.0
    for k in range(5):
        D = D * U[:, k, k]
        U = U - (U[:, :, k] / U[:, k : k + 1, k])[:, :, None] * U[:, k : k + 1, :] if k < 4 else U
    return D


def rasterize(V, Z):
    px = (jnp.arange(64) + 0.5)[None, :, None]
    py = (jnp.arange(64) + 0.5)[:, None, None]
    e = lambda a, b: (V[:, b, 0] - V[:, a, 0]) * (py - V[:, a, 1]) - (V[:, b, 1] - V[:, a, 1]) * (px - V[:, a, 0])
    ok = (e(0, 1) >= 0) & (e(1, 2) >= 0) & (e(2, 0) >= 0)
    z = jnp.where(ok, Z, 1000000000.0)
    i = jnp.argmin(z, -1)
    d = z.min(-1)
    return (jnp.where(d < 1000000000.0, i, -1).astype(jnp.int32), d)


def d2q9(F, cx, cy, w):
    f = jax.vmap(lambda a, x, y: jnp.roll(a, (y, x), (0, 1)))(F, cx, cy)
    r = f.sum(0)
    fx = cx.astype(jnp.float32)[:, None, None]
    fy = cy.astype(jnp.float32)[:, None, None]
    u = (f * fx).sum(0) / r
    v = (f * fy).sum(0) / r
    c = fx * u + fy * v
    e = w[:, None, None] * r * (1 + 3 * c + 4.5 * c * c - 1.5 * (u * u + v * v))
    return f - 0.6 * (f - e)


def schrodinger(R, I, V):
    L = lambda a: a[2:] - 2 * a[1:-1] + a[:-2]

    def step(c, _):
        R, I = c
        R = R.at[1:-1].add(-0.1 * L(I) + 0.1 * V[1:-1] * I[1:-1])
        I = I.at[1:-1].add(0.1 * L(R) - 0.1 * V[1:-1] * R[1:-1])
        return ((R, I), None)

    return lax.scan(step, (R, I), None, length=100)[0]


def bond_angles(X, T3):
    p = X[T3[:, 0]] - X[T3[:, 1]]
    q = X[T3[:, 2]] - X[T3[:, 1]]
    C = (p * q).sum(1) / jnp.sqrt((p * p).sum(1) * (q * q).sum(1) + 1e-06)
    return (((C + 0.33) ** 2).sum()[None], C)


def pssm_scan(S, M):
    O = sum(M[k][S[k : k + 19989]] for k in range(12))
    i = jnp.argmax(O)
    return (O, O[i][None], i[None].astype(jnp.int32))


def variogram(X, Z):
    d = X[:, None] - X
    r = jnp.sqrt((d * d).sum(2))
    g = 0.5 * (Z[:, None] - Z) ** 2
    i, j = np.triu_indices(500, 1)
    ok = r[i, j] < 1.6
    b = jnp.where(ok, (r[i, j] * 10).astype(jnp.int32), 16)
    G = jnp.zeros(17).at[b].add(g[i, j])[:16]
    N = jnp.zeros(17, jnp.int32).at[b].add(1)[:16]
    return (G / jnp.maximum(N, 1), N)


def lookback_option(Z):
    s = jnp.exp(jnp.cumsum(0.0001 + 0.02 * Z, 1))
    a = jnp.exp(jnp.cumsum(0.0001 - 0.02 * Z, 1))
    return jnp.stack([(jnp.maximum(s.max(1), 1) - s[:, -1]).mean(), (a[:, -1] - jnp.minimum(a.min(1), 1)).mean()])


def absmax_groups(K):
    k = K.reshape(64, 32, 32)
    S = jnp.maximum(jnp.abs(k).max(2), 1e-08) / 127
    return (jnp.clip(jnp.round(k / S[:, :, None]), -127, 127).astype(jnp.int8).reshape(64, 1024), S)


def deformable_conv(X, O, W):
    k = jnp.arange(9)
    yy = jnp.arange(32)[None, :, None]
    xx = jnp.arange(32)[None, None]
    py = jnp.clip(yy + (k // 3 - 1)[:, None, None] + O[:, 0], 0, 30.99)
    px = jnp.clip(xx + (k % 3 - 1)[:, None, None] + O[:, 1], 0, 30.99)
    iy = py.astype(jnp.int32)
    ix = px.astype(jnp.int32)
    fy = py - iy
    fx = px - ix
    v = (1 - fy) * ((1 - fx) * X[:, iy, ix] + fx * X[:, iy, ix + 1]) + fy * (
        (1 - fx) * X[:, iy + 1, ix] + fx * X[:, iy + 1, ix + 1]
    )
    return jnp.einsum("ock,ckyx->oyx", W, v)


def softmax_backward(S, G, V):
    M = jnp.tril(jnp.ones((96, 96), bool))
    p = jax.nn.softmax(jnp.where(M, S, -1e30), -1)
    g = jnp.einsum("hic,hjc->hij", G, V)
    return p * (g - (p * g).sum(-1, keepdims=True))


def transducer(B, L):

    def row(a, x):
        b, l = x
        up = a + b

        def cell(c, y):
            u, ll = y
            n = jnp.logaddexp(u, c + ll)
            return (n, n)

        _, r = lax.scan(cell, up[0], (up[1:], l[:-1]))
        r = jnp.concatenate([up[:1], r])
        return (r, r)

    a0 = jnp.concatenate([jnp.zeros(1), jnp.cumsum(L[0, :-1])])
    _, R = lax.scan(row, a0, (B[:-1], L[1:]))
    return jnp.concatenate([a0[None], R])


def k_core(A):
    step = lambda i, a: jnp.where(A @ a < 8, 0, a)
    return lax.fori_loop(0, 20, step, jnp.ones(200, jnp.int32))


def first_fit(W):

    def step(b, w):
        ok = b + w <= 1.0
        i = jnp.argmax(ok)
        f = ok.any()
        return (b.at[i].add(jnp.where(f, w, 0.0)), jnp.where(f, i, -1).astype(jnp.int32))

    return lax.scan(step, jnp.zeros(100), W)


def bignum_add(A, B):
    c, s = lax.scan(lambda c, x: ((x + c) // 10000, (x + c) % 10000), jnp.zeros(256, jnp.int32), (A + B).T)
    return jnp.concatenate([s.T, c[:, None]], 1)


def bignum_mul(A, B):
    acc = sum(jnp.pad(A[:, i : i + 1] * B, ((0, 0), (i, 24 - i))) for i in range(24))
    return lax.scan(lambda c, x: ((x + c) // 1000, (x + c) % 1000), jnp.zeros(64, jnp.int32), acc.T)[1].T


def brians_brain(S):

    def step(i, S):
        o = (S == 1).astype(jnp.int32)
        c = o + jnp.roll(o, 1, 0) + jnp.roll(o, -1, 0)
        n = c + jnp.roll(c, 1, 1) + jnp.roll(c, -1, 1) - o
        return jnp.where(S == 0, jnp.where(n == 2, 1, 0), jnp.where(S == 1, 2, 0))

    return lax.fori_loop(0, 16, step, S)


def range_minima(A, Q):
    S = [A]
    for k in range(1, 13):
        h = 1 << k - 1
        p = S[-1]
        S.append(jnp.concatenate([jnp.minimum(p[:-h], p[h:]), p[-h:]]))
    S = jnp.stack(S)
    k = 31 - lax.clz(Q[:, 1])
    return jnp.minimum(S[k, Q[:, 0]], S[k, Q[:, 0] + Q[:, 1] - (1 << k)])


def hampel(X):
    w = jnp.stack([X[:, k : k + 1994] for k in range(7)], -1)
    m = jnp.sort(w, -1)[..., 3]
    d = jnp.sort(jnp.abs(w - m[..., None]), -1)[..., 3]
    x = X[:, 3:-3]
    return X.at[:, 3:-3].set(jnp.where(jnp.abs(x - m) > 3 * 1.4826 * d, m, x))


def cic_decimator(X):
    a = jnp.cumsum(jnp.cumsum(X, 1), 1)[:, 7::8]
    d = jnp.diff(a, axis=1, prepend=0)
    return jnp.diff(d, axis=1, prepend=0)


def gain_control(X):

    def step(g, x):
        y = g * x
        return (jnp.clip(g + 0.01 * (0.5 - jnp.abs(y)), 0.1, 10.0), y)

    return lax.scan(step, jnp.ones(64), X.T)[1].T


def viterbi_k3(R):
    s = jnp.arange(4)
    p = (s * 2 % 4)[:, None] + jnp.arange(2)
    o0 = (s // 2)[:, None] ^ p // 2 ^ p % 2
    o1 = (s // 2)[:, None] ^ p % 2

    def step(c, r):
        m = c[:, p] + (r[:, :1, None] - o0) ** 2 + (r[:, 1:, None] - o1) ** 2
        k = jnp.argmin(m, -1)
        return (m.min(-1), jnp.take_along_axis(jnp.broadcast_to(p, m.shape), k[..., None], 2)[..., 0])

    c, B = lax.scan(step, jnp.full((64, 4), 1000000.0).at[:, 0].set(0.0), R.swapaxes(0, 1))

    def back(st, b):
        return (jnp.take_along_axis(b, st[:, None], 1)[:, 0], st // 2)

    return lax.scan(back, jnp.argmin(c, 1), B, reverse=True)[1].T.astype(jnp.int32)


def aes_round(S, box, K):
    U = box[jnp.stack([jnp.roll(S[:, r], -r, 1) for r in range(4)], 1)]
    x2 = lambda a: a * 2 ^ a // 128 * 283
    y = jnp.roll(U, -1, 1)
    return x2(U) ^ y ^ x2(y) ^ jnp.roll(U, -2, 1) ^ jnp.roll(U, -3, 1) ^ K


def rc4(K):

    def ks(c, i):
        S, j = c
        j = (j + S[i] + K[i % 16]) % 256
        a, b = (S[i], S[j])
        return ((S.at[i].set(b).at[j].set(a), j), None)

    (S, _), _ = lax.scan(ks, (jnp.arange(256, dtype=jnp.int32), jnp.int32(0)), jnp.arange(256))

    def g(c, n):
        S, j = c
        i = (n + 1) % 256
        j = (j + S[i]) % 256
        a, b = (S[i], S[j])
        S = S.at[i].set(b).at[j].set(a)
        return ((S, j), S[(a + b) % 256])

    return lax.scan(g, (S, jnp.int32(0)), jnp.arange(512))[1]


def trilinear(V, P):
    i = jnp.floor(P).astype(jnp.int32)
    f = P - i
    o = 0.0
    for a in range(2):
        for b in range(2):
            for c in range(2):
                w = (f[:, 0] if a else 1 - f[:, 0]) * (f[:, 1] if b else 1 - f[:, 1]) * (f[:, 2] if c else 1 - f[:, 2])
                o = o + w * V[i[:, 0] + a, i[:, 1] + b, i[:, 2] + c]
    return o


def lax_wendroff(U, W):

    def step(i, c):
        U, _ = c
        r, l = (jnp.roll(U, -1), jnp.roll(U, 1))
        n = U - 0.25 * (r - l) + 0.125 * (r - 2 * U + l)
        return (n, n)

    return lax.fori_loop(0, 50, step, (U, U))


def vorticity(U, V):
    w = jnp.pad(0.5 * (V[1:-1, 2:] - V[1:-1, :-2] - U[2:, 1:-1] + U[:-2, 1:-1]), 1)
    a = jnp.abs(w)
    gx = 0.5 * (a[1:-1, 2:] - a[1:-1, :-2])
    gy = 0.5 * (a[2:, 1:-1] - a[:-2, 1:-1])
    n = jnp.sqrt(gx * gx + gy * gy) + 1e-05
    c = w[1:-1, 1:-1]
    return (jnp.pad(0.3 * gy / n * c, 1), jnp.pad(-0.3 * gx / n * c, 1))


def markov_credit(P, D, S):

    def step(s, d):
        n = s @ P
        return (n, (n[7] - s[7]) * d)

    s, l = lax.scan(step, S, D)
    return (s, l.sum()[None])


def sage_mean(X, N, deg, W):
    m = (X[N] * (jnp.arange(10) < deg[:, None])[..., None]).sum(1) / jnp.maximum(deg, 1)[:, None]
    Y = jax.nn.relu(X @ W[:32] + m @ W[32:])
    return Y / jnp.sqrt((Y * Y).sum(1, keepdims=True) + 1e-06)


def gabor_bank(A):
    th = jnp.arange(8) * 0.3926991
    g = jnp.arange(9) - 4.0
    a = g[None, :, None] * jnp.cos(th)[:, None, None] + g * jnp.sin(th)[:, None, None]
    b = g * jnp.cos(th)[:, None, None] - g[None, :, None] * jnp.sin(th)[:, None, None]
    K = jnp.exp(-0.08 * (a * a + 0.25 * b * b)) * jnp.cos(1.5 * a)
    return lax.conv_general_dilated(A[None, None], K[:, None], (1, 1), "VALID")[0]


def phong(N, L, I):
    d = jnp.einsum("yxc,lc->lyx", N, L)
    r = jnp.maximum(2 * d * N[..., 2] - L[:, 2, None, None], 0)
    t = jnp.where(d > 0, I[:, None, None] * (0.7 * d + 0.2 * r**8), 0.0)
    return jnp.minimum(0.1 + t.sum(0), 1.0)


def diagonal_order(A):
    ix = [(i, d - i) for d in range(179) for i in range(100) if 0 <= d - i < 80]
    i, j = np.array(ix).T
    return A[i, j]


def fenwick(U, V):
    c = jnp.zeros(1025, jnp.int32).at[U + 1].add(V)
    s = jnp.cumsum(c)
    k = np.arange(1025)
    low = k & -k
    return s[k] - jnp.where(k > 0, s[k - low], 0)


def julia(Z):
    x = jnp.arange(128) / 42.0 - 1.5
    a = jnp.broadcast_to(x, (128, 128))
    b = a.T

    def step(i, c):
        a, b, o = c
        ok = a * a + b * b < 4
        n = a * a - b * b + Z[0]
        m = 2 * a * b + Z[1]
        return (jnp.where(ok, n, a), jnp.where(ok, m, b), o + jnp.where(ok, jnp.exp(-jnp.sqrt(n * n + m * m)), 0.0))

    return lax.fori_loop(0, 40, step, (a, b, jnp.zeros((128, 128))))[2]


def rnn_bptt(X, U, W, G):
    xu = X @ U.T
    _, H = lax.scan(lambda h, x: ((n := jnp.tanh(x + W @ h)), n), jnp.zeros(24), xu)
    Hp = jnp.concatenate([jnp.zeros((1, 24)), H[:-1]])

    def back(d, x):
        g, h = x
        e = (d + g) * (1 - h * h)
        return (W.T @ e, e)

    _, E = lax.scan(back, jnp.zeros(24), (G, H), reverse=True)
    return (E.T @ Hp, E.T @ X)


def _states(d):
    c = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]], np.int32)
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)
    return {"F": 0.1 + 0.9 * d.unit(9, 64, 96), "cx": c[:, 0].copy(), "cy": c[:, 1].copy(), "w": w}


def karplus(N):

    def step(l, _):
        f = 0.498 * (l[:, :-1] + l[:, 1:])
        last = 0.498 * (l[:, -1:] + f[:, :1])
        return (jnp.concatenate([f, last], 1), l)

    return lax.scan(step, N, None, length=38)[1].swapaxes(0, 1).reshape(16, -1)[:, :6000]


def chorus(X, D):
    t = jnp.arange(8000)
    i = t - D
    return 0.7 * X + jnp.where(i >= 0, 0.3 * X[:, jnp.maximum(i, 0)], 0.0)


def moving_rms(X):
    jnp.cumsum(jnp.pad(X * X, ((0, 0), (1, 0))), 1)
    w = lax.reduce_window(X * X, 0.0, lax.add, (1, 64), (1, 1), "VALID")
    return jnp.sqrt(jnp.maximum(w, 0) / 64)


def schmitt(X):

    def step(s, x):
        n = jnp.where((s == 0) & (x > 0.5), 1, jnp.where((s == 1) & (x < -0.5), 0, s))
        return (n, n)

    S = lax.scan(step, jnp.zeros(32, jnp.int32), X.T)[1].T
    p = jnp.pad(S, ((0, 0), (1, 0)))[:, :-1]
    return (S, ((S == 1) & (p == 0)).sum(1).astype(jnp.int32))


def window_energy(X, W):
    X[: 154 * 128 + 384][: 153 * 128 + 384]
    idx = 128 * jnp.arange(153)[:, None] + jnp.arange(512)
    v = X[idx] * W
    return jnp.log((v * v).reshape(153, 8, 64).sum(2) + 1e-06)


def merge_sorted(A, B):
    return jnp.sort(jnp.concatenate([A, B], 1), 1)


def group_totals(K, V):
    S = jnp.zeros(100).at[K].add(V)
    M = jnp.full(100, -1e30).at[K].max(V)
    C = jnp.zeros(100, jnp.int32).at[K].add(1)
    return (S, M, C, jnp.where(C > 0, S / C, 0.0))


def running_rank(X):
    return jnp.tril(X[None] < X[:, None], -1).sum(1).astype(jnp.int32)


def top_scores(Q, K):
    s, i = lax.top_k(Q @ K.T, 3)
    return (s, i.astype(jnp.int32))


def stencil_material(T0, mat, cond, src, T1):
    k = cond[mat]

    def step(i, c):
        A, _ = c
        n = A[1:-1, 1:-1] + k * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] - 4 * A[1:-1, 1:-1]) + src
        return (A.at[1:-1, 1:-1].set(n), n)

    A, n = lax.fori_loop(0, 10, step, (T0, T0[1:-1, 1:-1]))
    return (A, T1.at[1:-1, 1:-1].set(n))


def transform_points(P, M):
    c = P @ M[:, :3].T + M[:, 3]
    w = jnp.maximum(c[:, 3:], 0.001)
    return (c[:, :2] / w, c[:, 2])


def face_normals(V, F):
    a, b, c = (V[F[:, 0]], V[F[:, 1]], V[F[:, 2]])
    n = jnp.cross(b - a, c - a)
    s = jnp.sqrt((n * n).sum(1)) + 1e-12
    return (n / s[:, None], 0.5 * s.sum()[None])


def skinning(V, B, W, M):
    T = (W[:, :, None, None] * M[B]).sum(1)
    return jnp.einsum("vrk,vk->vr", T[:, :, :3], V) + T[:, :, 3]


def gauss_newton(X, Y, p):
    e = jnp.exp(-p[1] * X)
    r = p[0] * e + p[2] - Y
    J = jnp.stack([e, -p[0] * X * e, jnp.ones_like(e)], 1)
    return (J.T @ J, J.T @ r, (r * r).sum()[None])


def tri_packed_solve(L, b):
    i, j = np.tril_indices(50)
    M = jnp.zeros((50, 50)).at[i, j].set(L)
    return lax.linalg.triangular_solve(M, b, left_side=True, lower=True)


def _spiral():
    o = []
    n = 40
    for r in range(20):
        o += [(r, j) for j in range(r, n - r)] + [(i, n - 1 - r) for i in range(r + 1, n - r)]
        o += [(n - 1 - r, n - 2 - r - j) for j in range(n - 1 - 2 * r)] + [
            (n - 2 - r - i, r) for i in range(n - 2 - 2 * r)
        ]
    return np.array(o)


def spiral(A):
    i = _spiral()
    return A[i[:, 0], i[:, 1]]


def peak_picking(X):
    c = X[:, 1:-1]
    ok = (c > X[:, :-2]) & (c >= X[:, 2:]) & (c > 1.0)

    def step(s, x):
        P, n, last = s
        o, t = x
        h = o & (t - last >= 25)
        w = h & (n < 200)
        P = P.at[jnp.arange(16), jnp.where(w, n, 200)].set(t, mode="drop")
        return ((P, n + w, jnp.where(h, t, last)), None)

    (P, n, _), _ = lax.scan(
        step,
        (jnp.full((16, 200), -1, jnp.int32), jnp.zeros(16, jnp.int32), jnp.full(16, -100, jnp.int32)),
        (ok.T, jnp.arange(1, 4999, dtype=jnp.int32)),
    )
    return (P, n)


def bilinear_warp(A, F):
    y = jnp.clip(jnp.arange(96)[:, None] + F[..., 0], 0, 94.999)
    x = jnp.clip(jnp.arange(96) + F[..., 1], 0, 94.999)
    iy = y.astype(jnp.int32)
    ix = x.astype(jnp.int32)
    fy = (y - iy)[..., None]
    fx = (x - ix)[..., None]
    return (A[iy, ix] * (1 - fx) + A[iy, ix + 1] * fx) * (1 - fy) + (
        A[iy + 1, ix] * (1 - fx) + A[iy + 1, ix + 1] * fx
    ) * fy


def integral_blur(A):
    S = lax.reduce_window(A, 0.0, lax.add, (9, 9), (1, 1), ((4, 4), (4, 4)))
    i = np.arange(128)
    c = np.minimum(i + 5, 128) - np.maximum(i - 4, 0)
    return S / (c[:, None] * c).astype(np.float32)


def particle_grid(X, V):
    s = X * 30.0
    i = s.astype(jnp.int32)
    f = s - i
    G = jnp.zeros((32, 32, 3))
    v = jnp.concatenate([jnp.ones((3000, 1)), V], 1)
    for a in range(2):
        for b in range(2):
            w = (f[:, 0] if a else 1 - f[:, 0]) * (f[:, 1] if b else 1 - f[:, 1])
            G = G.at[i[:, 0] + a, i[:, 1] + b].add(w[:, None] * v)
    return G


def lookup_cdf(P, U):
    c = jnp.cumsum(P / P.sum(1, keepdims=True), 1)
    ok = U[:, None] < c
    return jnp.where(ok.any(1), jnp.argmax(ok, 1), 63).astype(jnp.int32)


def dropout_residual_norm(X, H, M, g):
    z = X + jnp.where(M != 0, H / 0.9, 0.0)
    return z * g * lax.rsqrt((z * z).mean(1, keepdims=True) + 1e-06)


def cross_attention_pad(Q, K, V, n):
    s = jnp.einsum("bid,bjd->bij", Q, K) * 0.17677669
    p = jax.nn.softmax(jnp.where(jnp.arange(60) < n[:, None, None], s, -1e30), -1)
    return jnp.einsum("bij,bjd->bid", p, V)


def conv_bn_pool(X, W, s, t):
    C = lax.conv_general_dilated(X[None], W, (1, 1), "VALID")[0]
    C = jax.nn.relu(C * s[:, None, None] + t[:, None, None])
    return lax.reduce_window(C, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")


def einsum_chain(A, B, C):
    return A @ B @ C


def fir_bank(X, H):
    Y = lax.conv_general_dilated(X[None, None], H[:, None, ::-1], (1,), "VALID")[0]
    return (Y, (Y * Y).mean(1))


def stock_span(P):
    i = jnp.arange(400)
    G = (P[:, None, :] > P[:, :, None]) & (i[None] < i[:, None])
    last = jnp.max(jnp.where(G, i, -1), 2)
    return (i - last).astype(jnp.int32)


def bucket_ids(X, E):
    B = (X[:, None] >= E).sum(1).astype(jnp.int32)
    return (B, jnp.zeros(32, jnp.int32).at[B].add(1))


def hash_table_probe(K):
    p = jnp.arange(16)

    def step(H, k):
        s = (k * 31 + p) % 1024
        ok = (H[s] == -1) | (H[s] == k)
        j = jnp.argmax(ok)
        a = ok.any()
        at = jnp.where(a, s[j], -1)
        return (H.at[jnp.where(a, at, 1024)].set(k, mode="drop"), at.astype(jnp.int32))

    return lax.scan(step, jnp.full(1024, -1, jnp.int32), K)


def two_layer_online(X, y, W, v):

    def step(c, x):
        W, v = c
        a, t = x
        h = jax.nn.relu(W @ a)
        d = v @ h - t
        W2 = W - 0.01 * d * jnp.where(h > 0, v, 0)[:, None] * a
        return ((W2, v - 0.01 * d * h), d * d)

    (W, v), L = lax.scan(step, (W, v), (X, y))
    return (W, v, L)


def rotate_half_cache(K, pos, C, S):
    c, s = (C[pos], S[pos])
    a, b = (K[..., :32], K[..., 32:])
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1)


def sudoku_conflicts(G):
    pr = lambda A: ((A[..., :, None] == A[..., None, :]) & np.triu(np.ones((9, 9), bool), 1)).sum((-1, -2))
    B = G.reshape(-1, 3, 3, 3, 3).swapaxes(2, 3).reshape(-1, 9, 9)
    return (pr(G).sum(1) + pr(G.swapaxes(1, 2)).sum(1) + pr(B).sum(1)).astype(jnp.int32)


def runs_lengths_bits(X):

    def step(c, x):
        run, L, Z = c
        z = x == 0
        r2 = jnp.where(z, run + 1, 0)
        return ((r2, jnp.maximum(L, r2), Z + (~z & (run > 3))), None)

    z = jnp.zeros(128, jnp.int32)
    (_r, L, Z), _ = lax.scan(step, (z, z, z), X.T)
    return (L, Z)


def polyline_simplify(P):

    def step(l, p):
        d = p - l
        k = (d * d).sum(1) > 1.0
        return (jnp.where(k[:, None], p, l), k.astype(jnp.int32))

    _, k = lax.scan(step, P[:, 0], P[:, 1:].swapaxes(0, 1))
    k = jnp.concatenate([jnp.ones((64, 1), jnp.int32), k.T], 1)
    return (k, k.sum(1))


def tent_map_lyapunov(r):

    def step(c, t):
        x, L = c
        x = r * x * (1 - x)
        return ((x, L + jnp.where(t >= 100, jnp.log(jnp.abs(r * (1 - 2 * x)) + 1e-12) / 200, 0)), None)

    return lax.scan(step, (jnp.full(400, 0.3), jnp.zeros(400)), jnp.arange(300))[0][1]


def ctc_greedy(L):
    b = jnp.argmax(L, 2).astype(jnp.int32)
    p = jnp.pad(b, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]
    k = (b != 0) & (b != p)
    pos = jnp.cumsum(k, 1) - 1
    O = jnp.full((32, 200), -1, jnp.int32).at[jnp.arange(32)[:, None], jnp.where(k, pos, 200)].set(b, mode="drop")
    return (O, k.sum(1).astype(jnp.int32))


def soft_nms(S, I):
    return S * jnp.prod(jnp.where(S[:, None, :] > S[:, :, None], jnp.exp(-2 * I * I), 1.0), 2)


def giou(A, B):
    a, b = (A[:, None], B[None])
    w = jnp.maximum(jnp.minimum(a[..., 2], b[..., 2]) - jnp.maximum(a[..., 0], b[..., 0]), 0)
    h = jnp.maximum(jnp.minimum(a[..., 3], b[..., 3]) - jnp.maximum(a[..., 1], b[..., 1]), 0)
    i = w * h
    u = (a[..., 2] - a[..., 0]) * (a[..., 3] - a[..., 1]) + (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]) - i
    hull = (jnp.maximum(a[..., 2], b[..., 2]) - jnp.minimum(a[..., 0], b[..., 0])) * (
        jnp.maximum(a[..., 3], b[..., 3]) - jnp.minimum(a[..., 1], b[..., 1])
    )
    return i / (u + 1e-06) - (hull - u) / (hull + 1e-06)


def chamfer_clouds(A, B):
    d = sum((A[:, :, None, k] - B[:, None, :, k]) ** 2 for k in range(3))
    return d.min(2).mean(1)


def farthest_points(P):

    def step(c, _):
        d, l = c
        d = jnp.minimum(d, ((P - P[l]) ** 2).sum(1))
        n = jnp.argmax(d).astype(jnp.int32)
        return ((d, n), n)

    _, s = lax.scan(step, (jnp.full(1000, 1e30), jnp.int32(0)), None, length=63)
    return jnp.concatenate([jnp.zeros(1, jnp.int32), s])


def voxel_pool(P, F):
    q = jnp.clip((P * 8).astype(jnp.int32), 0, 7)
    i = q[:, 0] * 64 + q[:, 1] * 8 + q[:, 2]
    return jnp.full((512, 16), -1e30).at[i].max(F).reshape(8, 8, 8, 16)


def positional_encoding(X):
    f = 2.0 ** jnp.arange(10)
    a = X[:, None, :] * f[:, None]
    return jnp.concatenate([X, jnp.stack([jnp.sin(a), jnp.cos(a)], 2).reshape(4000, 60)], 1)


def volume_render(S, C, dt):
    a = 1 - jnp.exp(-jnp.maximum(S, 0) * dt)
    T = jnp.cumprod(jnp.pad(1 - a, ((0, 0), (1, 0)), constant_values=1)[:, :-1], 1)
    w = T * a
    return (jnp.einsum("rk,rkc->rc", w, C), (w * jnp.arange(64.0)).sum(1))


def spherical_harmonics(V, K):
    x, y, z = V.T
    o = jnp.ones_like(x)
    b = jnp.stack(
        [
            0.282 * o,
            -0.488 * y,
            0.488 * z,
            -0.488 * x,
            1.092 * x * y,
            -1.092 * y * z,
            0.315 * (2 * z * z - x * x - y * y),
            -1.092 * x * z,
            0.546 * (x * x - y * y),
        ],
        1,
    )
    return (b[:, :, None] * K).sum(1)


def gaussian_splat(M, Q, C, o):
    x = jnp.arange(64.0)
    y = jnp.arange(48.0)[:, None]

    def step(c, g):
        tr, I = c
        m, q, col, op = g
        dx, dy = (x - m[0], y - m[1])
        a = jnp.minimum(0.99, op * jnp.exp(-0.5 * (q[0] * dx * dx + 2 * q[1] * dx * dy + q[2] * dy * dy)))
        a = jnp.where(a > 0.004, a, 0)
        return ((tr * (1 - a), I + (tr * a)[..., None] * col), None)

    return lax.scan(step, (jnp.ones((48, 64)), jnp.zeros((48, 64, 3))), (M, Q, C, o))[0][1]


def lbs_chain(R, J, parent):

    def step(j, c):
        G, X = c
        p = parent[j]
        g = G[:, p]
        return (
            G.at[:, j].set(jnp.einsum("brk,bkc->brc", g, R[:, j], precision="highest")),
            X.at[:, j].set(X[:, p] + (g * J[j]).sum(2)),
        )

    G = jnp.zeros((100, 24, 3, 3)).at[:, 0].set(R[:, 0])
    X = jnp.zeros((100, 24, 3)).at[:, 0].set(J[0])
    return lax.fori_loop(1, 24, step, (G, X))


def quaternion_integrate(W):

    def step(q, w):
        h = 0.005 * w
        hx, hy, hz = h.T
        a, x, y, z = q
        n = (
            a - hx * x - hy * y - hz * z,
            x + hx * a + hz * y - hy * z,
            y + hy * a - hz * x + hx * z,
            z + hz * a + hy * x - hx * y,
        )
        r = 1 / jnp.sqrt(sum(v * v for v in n))
        n = tuple(v * r for v in n)
        return (n, jnp.stack(n, 1))

    q0 = (jnp.ones(64), jnp.zeros(64), jnp.zeros(64), jnp.zeros(64))
    _, Q = lax.scan(step, q0, W.swapaxes(0, 1))
    return jnp.concatenate([jnp.stack(q0, 1)[:, None], Q.swapaxes(0, 1)], 1)


def madgwick_bias(A, Gy):

    def step(c, x):
        th, b = c
        a, g = x
        e = a - th
        b = b + 0.001 * e
        th = th + 0.01 * (g + b) + 0.02 * e
        return ((th, b), th)

    return lax.scan(step, (jnp.zeros(32), jnp.zeros(32)), (A.T, Gy.T))[1].T


def mfcc_deltas(C):

    def d(x):
        p = jnp.pad(x, ((2, 2), (0, 0)), mode="edge")
        return (p[3:-1] - p[1:-3] + 2 * (p[4:] - p[:-4])) / 10

    a = d(C)
    return jnp.concatenate([C, a, d(a)], 1)


def spectral_flux(S):
    F = jnp.pad(jnp.maximum(S[1:] - S[:-1], 0).sum(1), (1, 0))
    m = sum(F[k : k + 494] for k in range(7))
    f = F[3:497]
    o = (f > F[2:496]) & (f >= F[4:498]) & (f > 1.3 * m / 7)
    return (F, jnp.pad(o, 3).astype(jnp.int32))


def chroma(S, pitch):
    C = S * S @ (pitch[:, None] == jnp.arange(12)).astype(jnp.float32)
    return C / jnp.maximum(C.max(1, keepdims=True), 1e-09)


def harmonic_product(S):
    return 10 + jnp.argmax(S[:, 10:256] * S[:, 20:512:2] * S[:, 30:768:3] * S[:, 39:1023:4], 1).astype(jnp.int32)


def phase_vocoder(M, P):
    adv = 0.7853982 * jnp.arange(129.0)
    d = P[1:] - P[:-1] - adv
    w = d - 6.2831855 * jnp.floor(d / 6.2831855 + 0.5)
    return jnp.cumsum(jnp.concatenate([P[:1], 1.5 * (adv + w)]), 0)


def noise_gate_hold(X):

    def step(h, x):
        h = jnp.where(jnp.abs(x) > 1.5, 50, jnp.maximum(h - 1, 0))
        return (h, jnp.where(h > 0, x, 0))

    return lax.scan(step, jnp.zeros(16, jnp.int32), X.T)[1].T


def edge_histogram(A):
    gx = A[1:-1, 2:] - A[1:-1, :-2]
    gy = A[2:, 1:-1] - A[:-2, 1:-1]
    o = 4 * (gx > 0) + 2 * (gy > 0) + (jnp.abs(gx) > jnp.abs(gy))
    i = jnp.arange(1, 127) // 32
    return jnp.zeros((16, 8)).at[i[:, None] * 4 + i, o].add(jnp.sqrt(gx * gx + gy * gy))


def unsharp_mask(A):
    p = jnp.pad(A, ((2, 2), (2, 2), (0, 0)), mode="edge")
    r = sum(p[k : k + 200] for k in range(5))
    s = sum(r[:, k : k + 200] for k in range(5))
    return jnp.clip(A + 0.6 * (A - s / 25), 0, 1)


def white_balance(A):
    f = A.astype(jnp.float32)
    s = f.sum((0, 1))
    return jnp.clip(f * (s.sum() / 3) / (s + 1) + 0.5, 0, 255).astype(jnp.uint8)


def bayer_bilinear(R):
    y = jnp.arange(128)
    e = (y[:, None] + y) % 2 == 0
    return jnp.where(e, R[1:-1, 1:-1], 0.25 * (R[:-2, 1:-1] + R[2:, 1:-1] + R[1:-1, :-2] + R[1:-1, 2:]))


def seam_dp(E):

    def step(m, e):
        p = jnp.pad(m, 1, mode="edge")
        n = e + jnp.minimum(m, jnp.minimum(p[:-2], p[2:]))
        return (n, n)

    _, M = lax.scan(step, E[0], E[1:])
    M = jnp.concatenate([E[:1], M])

    def back(p, m):
        c = jnp.array([0, -1, 1]) + p
        v = jnp.where((c >= 0) & (c < 160), m[jnp.clip(c, 0, 159)], jnp.inf)
        q = c[jnp.argmin(v)].astype(jnp.int32)
        return (q, q)

    l = jnp.argmin(M[-1]).astype(jnp.int32)
    _, S = lax.scan(back, l, M[:-1], reverse=True)
    return (M, jnp.concatenate([S, l[None]]))


def fill_holes(A):
    i = jnp.arange(96)
    ok = A > 0
    l = lax.cummax(jnp.where(ok, i, -1), axis=1)
    r = lax.cummin(jnp.where(ok, i, 96), axis=1, reverse=True)
    L = jnp.where(l >= 0, jnp.take_along_axis(A, jnp.maximum(l, 0), 1), 0)
    R = jnp.where(r < 96, jnp.take_along_axis(A, jnp.minimum(r, 95), 1), 0)
    return jnp.where(ok, A, jnp.minimum(L, R))


def order_book(P, Q):
    i = jnp.arange(128)

    def step(B, x):
        p, q = x
        B = B.at[p].set(jnp.maximum(B[p] + q, 0))
        return (B, jnp.max(jnp.where(B > 0, i, -1)).astype(jnp.int32))

    return lax.scan(step, jnp.zeros(128, jnp.int32), (P, Q))


def american_lsm(S):

    def step(V, s):
        V = V * 0.999
        m0, m1, m2, m3 = (s.sum(), (s * s).sum(), V.sum(), (V * s).sum())
        b = (2000 * m3 - m0 * m2) / (2000 * m1 - m0 * m0 + 0.001)
        a = (m2 - b * m0) / 2000
        e = jnp.maximum(1.1 - s, 0)
        return (jnp.where((e > a + b * s) & (e > 0), e, V), None)

    return lax.scan(step, jnp.maximum(1.1 - S[:, 49], 0), S[:, :49].T, reverse=True)[0].mean()[None]


def cds_bootstrap(S, df):
    q, acc, H = (jnp.ones(200), jnp.zeros(200), [])
    for k in range(10):
        h = jnp.clip((0.6 * q * df[k] - S[:, k] * acc) / (0.6 * df[k] + S[:, k] * df[k]) / q, 0.01, 0.99)
        H.append(1 - h)
        q = q * h
        acc = acc + q * df[k]
    return jnp.stack(H, 1)


def twap_slices(V, P):
    n = (V * P).reshape(300, 13, 30).sum(2)
    d = V.reshape(300, 13, 30).sum(2)
    return jnp.where(d > 0, n / jnp.where(d > 0, d, 1), 0)


def hungarian_reduce(C):
    R = C - C.min(2, keepdims=True)
    R = R - R.min(1, keepdims=True)
    return (R, (R == 0).sum((1, 2)).astype(jnp.int32))


def auction_assign(V):

    def step(c, t):
        ow, pr = c
        i = t % 32
        w = V[i] - pr
        b = jnp.argmax(w)
        v1 = w[b]
        v2 = jnp.max(jnp.where(jnp.arange(32) == b, -1e30, w))
        return ((ow.at[b].set(i), pr.at[b].add(v1 - v2 + 0.01)), None)

    return lax.scan(step, (jnp.full(32, -1, jnp.int32), jnp.zeros(32)), jnp.arange(300))[0]


def kd_counts(X):
    c = jnp.zeros(3000, jnp.int32)
    for l in range(6):
        c = 2 * c + (X[:, l % 3] > 0.1 * (l - 3))
    C = jnp.zeros(64, jnp.int32).at[c].add(1)
    return (C, jnp.zeros((64, 3)).at[c].add(X) / jnp.maximum(C, 1)[:, None])


def union_find(A, B):

    def step(r, e):
        a, b = (r[e[0]], r[e[1]])
        return (jnp.where(r == jnp.maximum(a, b), jnp.minimum(a, b), r), None)

    return lax.scan(step, jnp.arange(300, dtype=jnp.int32), (A, B))[0]


def topological_levels(src, dst):

    def step(L, e):
        return (L.at[e[1]].max(L[e[0]] + 1), None)

    return lax.fori_loop(0, 30, lambda r, L: lax.scan(step, L, (src, dst))[0], jnp.zeros(200, jnp.int32))


def max_flow_push(C):
    F = jnp.zeros((48, 48)).at[0].set(C[0])
    ex = C[0]

    def row(i, c):
        F, ex = c
        cap = jnp.where(jnp.arange(48) > i, jnp.maximum(C[i] - F[i], 0), 0)
        before = jnp.cumsum(cap) - cap
        d = jnp.clip(ex[i] - before, 0, cap)
        return (F.at[i].add(d), ex.at[i].add(-d.sum()) + d)

    return lax.fori_loop(0, 10, lambda r, c: lax.fori_loop(1, 47, row, c), (F, ex))


def edit_alignment_path(A, B):
    j = jnp.arange(51)

    def row(p, a):
        u = jnp.minimum(p[:-1] + (a != B), p[1:] + 1)
        v = jnp.concatenate([p[:1] + 1, u])
        n = lax.cummin(v - j) + j
        return (n, n)

    _, D = lax.scan(row, j, A)
    D = jnp.concatenate([j[None], D]).astype(jnp.int32)

    def back(c, _):
        i, k = c
        on = (i > 0) | (k > 0)
        d = D[i, k]
        up = on & (i > 0) & ((k == 0) | (d == D[jnp.maximum(i - 1, 0), k] + 1))
        le = on & ~up & (k > 0) & ((i == 0) | (d == D[i, jnp.maximum(k - 1, 0)] + 1))
        di = on & ~up & ~le
        return (
            (i - (up | di), k - (le | di)),
            jnp.where(up, 1, jnp.where(le, 2, jnp.where(di, 3, 0))).astype(jnp.int32),
        )

    return (D, lax.scan(back, (jnp.int32(40), jnp.int32(50)), None, length=90)[1])


def suffix_ranks(S):
    R = S
    for l in range(8):
        key = R * 300 + jnp.pad(R[1 << l :] + 1, (0, 1 << l))
        R = (key[None] < key[:, None]).sum(1).astype(jnp.int32)
    return R


def gf_matmul(A, B):
    p, acc = (A, jnp.zeros((48, 48), jnp.uint8))
    for b in range(8):
        m = jnp.where((B >> b & 1)[None] != 0, p[:, :, None], 0).astype(jnp.uint8)
        acc = acc ^ lax.reduce(m, jnp.uint8(0), lax.bitwise_xor, (1,))
        p = p << 1 ^ jnp.where(p >= 128, jnp.uint8(27), jnp.uint8(0))
    return acc


def siphash_rounds(V):
    a, b, c, d = V.T
    for r in range(12):
        a = a + b
        b = (b << 5 | b >> 27) ^ a
        c = c + d
        d = (d << 8 | d >> 24) ^ c
        a = a + d
        c = c + b
    return jnp.stack([a, b, c, d], 1)


def parity_2d(X):
    r = lax.reduce(X, 0, lax.bitwise_xor, (2,))
    c = lax.reduce(X, 0, lax.bitwise_xor, (1,))
    return (r, c, ((r & 1) + (c & 1)).sum(1).astype(jnp.int32))


def varint_lengths(X):
    L = jnp.maximum(1, jnp.max(jnp.stack([jnp.where(X >> 7 * k != 0, k + 1, 1) for k in range(1, 5)]), 0)).astype(
        jnp.int32
    )
    return (L, jnp.pad(jnp.cumsum(L), (1, 0)).astype(jnp.int32))


def csv_fields(S):
    q = jnp.cumsum(S == 34, 1) % 2
    return (jnp.cumsum((S == 44) & (q == 0), 1).astype(jnp.int32), q[:, -1].astype(jnp.int32))


def moment_matching(X, Y):
    return sum(((X**k).mean(1) - (Y**k).mean(1)) ** 2 for k in range(1, 4))


def capsule_routing(U):
    B = jnp.zeros((32, 10))
    for r in range(3):
        C = jax.nn.softmax(B, 1)
        V = jnp.einsum("ij,ijd->jd", C, U)
        n = (V * V).sum(1, keepdims=True)
        V = V * jnp.sqrt(n) / (1 + n)
        B = B + (U * V).sum(2)
    return V


def graph_attention(H, N, a):
    s0 = H @ a[:32]
    s1 = H @ a[32:]
    ok = N >= 0
    n = jnp.maximum(N, 0)
    s = s0[:, None] + s1[n]
    s = jnp.where(ok, jnp.maximum(s, 0.2 * s), -1e30)
    w = jnp.where(ok, jnp.exp(s - s.max(1, keepdims=True)), 0)
    return jnp.einsum("vk,vkd->vd", w, H[n]) / jnp.maximum(w.sum(1), 1e-06)[:, None]


def retention(Q, K, V):
    t = jnp.arange(128)
    D = jnp.where(t[:, None] >= t, 0.96 ** (t[:, None] - t).astype(jnp.float32), 0)
    return jnp.einsum("hts,hsb->htb", jnp.einsum("hta,hsa->hts", Q, K) * D, V)


def rwkv_wkv(K, V, w, u):
    d = jnp.exp(-w)

    def step(c, x):
        a, b = c
        k, v = x
        e = jnp.exp(u + k)
        o = (a + e * v) / (b + e)
        ek = jnp.exp(k)
        return ((d * a + ek * v, d * b + ek), o)

    return lax.scan(step, (jnp.zeros(64), jnp.zeros(64)), (K, V))[1]


def speculative_accept(P, Q, tok, U):
    p = jnp.take_along_axis(P, tok[..., None], 2)[..., 0]
    q = jnp.take_along_axis(Q, tok[..., None], 2)[..., 0]
    return jnp.cumprod((U * q <= p).astype(jnp.int32), 1).sum(1).astype(jnp.int32)


def top_p_mask(P):
    o = jnp.argsort(-P, 1, stable=True)
    s = jnp.take_along_axis(P, o, 1)
    c = jnp.cumsum(s, 1) - s
    return jnp.zeros_like(P).at[jnp.arange(32)[:, None], o].set(jnp.where(c < 0.9, s, 0))


def rope_2d(X, f):
    t = jnp.arange(14.0)[:, None] * f
    c, s = (jnp.cos(t), jnp.sin(t))
    x = X.reshape(14, 14, 8, 2, 8, 2)
    a, b = (x[..., 0], x[..., 1])

    def rot(a, b, c, s):
        return jnp.stack([a * c - b * s, a * s + b * c], -1)

    y = rot(a[:, :, :, 0], b[:, :, :, 0], c[:, None, None], s[:, None, None])
    z = rot(a[:, :, :, 1], b[:, :, :, 1], c[None, :, None], s[None, :, None])
    return jnp.stack([y, z], 3).reshape(14, 14, 8, 32)


def patch_merge(X, W):
    r = X.reshape(14, 2, 14, 2, 48).transpose(0, 2, 1, 3, 4).reshape(14, 14, 192)
    m = r.mean(2, keepdims=True)
    v = (r * r).mean(2, keepdims=True) - m * m
    return (r - m) * lax.rsqrt(v + 1e-05) @ W


def flat_matmul(A, B):
    return (A.reshape(300, 200) @ B.reshape(200, 260)).reshape(-1)


def tiled_matmul_tails(A, B):
    return A @ B


def flat_conv_nhwc(X, W):
    return lax.conv_general_dilated(
        X.reshape(4, 20, 20, 16), W.reshape(3, 3, 16, 24), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    ).reshape(-1)


def dot_unrolled(A, B):
    return jnp.sum(A * B, 1)


def blocked_prefix(X):
    Y = jnp.cumsum(X.reshape(256, 256), 1)
    s = jnp.cumsum(Y[:, -1])
    return (Y + jnp.pad(s, (1, 0))[:-1, None]).reshape(-1)


def private_histograms(X):
    return jnp.bincount(jnp.where((X >= 0) & (X < 64), X, 64).ravel(), length=65)[:64].astype(jnp.int32)


def bitonic(A):
    return jnp.sort(A, 1)


def ping_pong(U):
    def step(t, c):
        a, b = c
        n = b.at[1:-1, 1:-1].set(0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]))
        return (n, a)

    a, b = lax.fori_loop(0, 60, step, (U[0], U[1]))
    return jnp.stack([a, b])


def ghost_cells(U):
    I = U[1:-1, 1:-1]

    def pd(I):
        return jnp.pad(I, 1, mode="wrap")

    def step(t, c):
        P, _ = c
        V = P[1:-1, 1:-1]
        V = V + 0.1 * (P[:-2, 1:-1] + P[2:, 1:-1] + P[1:-1, :-2] + P[1:-1, 2:] - 4 * V)
        return (pd(V), P)

    P, old = lax.fori_loop(0, 40, step, (pd(I), pd(I)))
    return old.at[1:-1, 1:-1].set(P[1:-1, 1:-1])


def line_buffer(A, W):
    r = W[0] * A[:, :-2] + W[1] * A[:, 1:-1] + W[2] * A[:, 2:]
    return W[0] * r[:-2] + W[1] * r[1:-1] + W[2] * r[2:]


def winograd_2d(X, W):
    return lax.conv_general_dilated(X[None], W, (1, 1), "VALID")[0]


def flat_heads(Q, K, V):
    q, k, v = (a.reshape(2, 128, 8, 32) for a in (Q, K, V))
    s = jnp.einsum("bthd,buhd->bhtu", q, k) * 0.17677669
    s = jnp.where(jnp.tril(jnp.ones((128, 128), bool)), s, -jnp.inf)
    return jnp.einsum("bhtu,buhd->bthd", jax.nn.softmax(s, -1), v).reshape(2, 128, 256)


def one_pass_norm(X, g, b):
    m = X.mean(1, keepdims=True)
    v = (X * X).mean(1, keepdims=True) - m * m
    return (X - m) * lax.rsqrt(v + 1e-05) * g + b


def pointer_walk(A):
    return (A.T * 2).reshape(-1)


def argmin_2d(A):
    p = jnp.argmin(A.reshape(40, -1), 1)
    return jnp.stack([p // 70, p % 70], 1).astype(jnp.int32)


def complex_fir(X, H):

    def c(x, h):
        return lax.conv_general_dilated(x[:, None], h[None, None], (1,), "VALID")[:, 0]

    r, i, a, b = (X[..., 0], X[..., 1], H[:, 0], H[:, 1])
    return jnp.stack([c(r, a) - c(i, b), c(r, b) + c(i, a)], -1)


def matrix_power(A):
    return jnp.linalg.matrix_power(A, 13)


def next_hops(D):
    N = jnp.broadcast_to(jnp.arange(80, dtype=jnp.int32), (80, 80))

    def step(k, c):
        D, N = c
        d = D[:, k, None] + D[k]
        m = d < D
        return (jnp.where(m, d, D), jnp.where(m, N[:, k, None], N))

    return lax.fori_loop(0, 80, step, (D, N))


def reflect_conv(A, W):
    return lax.conv_general_dilated(jnp.pad(A, 2, mode="reflect")[None, None], W[None, None], (1, 1), "VALID")[0, 0]


def running_box(A):
    return lax.reduce_window(A, 0.0, lax.add, (1, 16), (1, 1), "VALID") / 16


def lcs_two_rows(A, B):

    def row(R, a):
        d = jnp.where(a[:, None] == B, R[:, :-1] + 1, R[:, 1:])
        return (jnp.pad(lax.cummax(d, axis=1), ((0, 0), (1, 0))), None)

    R, _ = lax.scan(row, jnp.zeros((32, 181), jnp.int32), A.T)
    return R[:, -1]


def symv_upper(A, x):
    U = jnp.triu(A, 1)
    return U @ x + U.T @ x + jnp.diag(A) * x


def interleaved_gemm(A, B):
    return jnp.einsum("kbm,kbn->mbn", A, B)


def flat_group_conv(X, W):
    return lax.conv_general_dilated(X, W, (1, 1), "VALID", feature_group_count=4)


def ceil_pool(X):
    return lax.reduce_window(X, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (0, 2), (0, 2)))


def batch_norm_nhwc(X, g, b):
    m = X.mean((0, 1, 2))
    v = ((X - m) ** 2).mean((0, 1, 2))
    return (jnp.maximum((X - m) / jnp.sqrt(v + 1e-05) * g + b, 0), m, v)


def ignored_index_loss(L, y, w):
    k = y != -100
    c = jnp.where(k, w[y], 0)
    return ((c * (jax.nn.logsumexp(L, 1) - L[jnp.arange(1000), y])).sum() / jnp.maximum(c.sum(), 1e-06)).reshape(1)


def top_k_by_masking(X):
    v, i = lax.top_k(X, 5)
    return (v, i)


def spd_solve(A, B):
    L = jnp.linalg.cholesky(A)
    return jax.scipy.linalg.cho_solve((L, True), B[..., None])[..., 0]


def welch_psd(X, W, C, S):
    s = X[np.arange(63)[:, None] * 64 + np.arange(128)] * W
    return ((s @ C.T) ** 2 + (s @ S.T) ** 2).mean(0)


def online_softmax_tiles(X):
    return jax.nn.softmax(X, 1)


def fixed_resize(A):

    def ax(n, hi):
        p = np.arange(n) * 819
        s = p // 2048
        return (np.minimum(s, hi), np.minimum(s + 1, hi), p % 2048)

    y0, y1, fy = ax(150, 59)
    x0, x1, fx = ax(200, 79)
    A = A.astype(jnp.int32)
    fx = fx[None, :, None]
    fy = fy[:, None, None]
    h = A[:, x0] * (2048 - fx) + A[:, x1] * fx
    h = h >> 4
    return (h[y0] * (2048 - fy) + h[y1] * fy + (1 << 17) >> 18).astype(jnp.uint8)


def sobel_nms(A):
    s = lambda i, j: A[1 + i : 129 + i, 1 + j : 139 + j]
    gx = s(-1, 1) + 2 * s(0, 1) + s(1, 1) - s(-1, -1) - 2 * s(0, -1) - s(1, -1)
    gy = s(1, -1) + 2 * s(1, 0) + s(1, 1) - s(-1, -1) - 2 * s(-1, 0) - s(-1, 1)
    g = jnp.sqrt(gx * gx + gy * gy)
    ax, ay = (abs(gx), abs(gy))
    D = jnp.where(ay > 2.414 * ax, 1, jnp.where(ax <= 2.414 * ay, jnp.where(gx * gy > 0, 2, 3), 0))
    G = jnp.pad(g, 1)
    q = lambda i, j: G[1 + i : 129 + i, 1 + j : 139 + j]
    a = jnp.select([D == 0, D == 1, D == 2], [q(0, -1), q(-1, 0), q(-1, -1)], q(-1, 1))
    b = jnp.select([D == 0, D == 1, D == 2], [q(0, 1), q(1, 0), q(1, 1)], q(1, -1))
    return jnp.pad(jnp.where((g >= a) & (g >= b) & (g > 1), g, 0), 1)


def ranking_loss(S, R):
    m = R[:, :, None] > R[:, None]
    d = jnp.maximum(1 - (S[:, :, None] - S[:, None]), 0)
    n = m.sum((1, 2))
    return jnp.where(n > 0, (d * m).sum((1, 2)) / jnp.maximum(n, 1), 0)


def cosine_matrix(A, B):
    return A @ B.T / (jnp.linalg.norm(A, axis=1)[:, None] * jnp.linalg.norm(B, axis=1) + 1e-08)


def flat_lu(A):

    def step(k, M):
        r = jnp.arange(100)
        m = r > k
        c = jnp.where(m, M[:, k] / M[k, k], 0)
        row = jnp.where(m, M[k], 0)
        M = M - c[:, None] * row
        return M.at[:, k].set(jnp.where(m, c, M[:, k]))

    return lax.fori_loop(0, 100, step, A.reshape(100, 100)).reshape(-1)


def blocked_transpose_scale(A):
    return A.T * 0.5


def im2col_gemm(X, W):
    return lax.conv_general_dilated(X[None], W.reshape(32, 16, 3, 3), (1, 1), "VALID")[0].reshape(32, 784)


def pixel_hsv(A):
    r, g, b = A.T
    mx, mn = (A.max(1), A.min(1))
    d = mx - mn
    s = jnp.where(d == 0, 1, d)
    h = (g - b) / s
    h = jnp.where(h < 0, h + 6, h)
    h = jnp.where(d == 0, 0, jnp.where(mx == r, h, jnp.where(mx == g, (b - r) / s + 2, (r - g) / s + 4)))
    return jnp.stack([h * 60, jnp.where(mx == 0, 0, d / jnp.where(mx == 0, 1, mx)), mx], 1)


def double_buffered_rnn(X, W, U):
    xs = jnp.einsum("btk,kj->tbj", X, W)

    def step(c, x):
        h, _p = c
        return ((jnp.tanh(x + h @ U), h), None)

    (h, last), _ = lax.scan(step, (jnp.zeros((16, 32)), jnp.zeros((16, 32))), xs)
    return (jnp.stack([h, last]), h)


def column_scans_in_place(A):
    return lax.cummax(A, axis=0)


def strided_views(X):
    return X.reshape(64, 1600, 3).transpose(0, 2, 1) * jnp.array([0.299, 0.587, 0.114])[:, None]


def _spd_rows(d, b, n):
    a = d.floats(b, n, n)
    return (a @ a.transpose(0, 2, 1) + n * np.eye(n)).astype(np.float32)


def padded_copy_conv(X, W):
    return lax.conv_general_dilated(X[None], W, (1, 1), "SAME")[0]


def tree_sum(X):
    return X.sum(1)


def hillis_steele(X):
    return jnp.cumsum(X, 1)


def outer_product_gemm(A, B):
    return A @ B


def reverse_rows(A):
    return A[:, ::-1]


def transpose_in_place(A):
    return A.T


def find_substring(S, P):
    ok = jnp.all(jnp.stack([S[:, k : k + 296] == P[k] for k in range(5)]), 0)
    return jnp.where(ok.any(1), jnp.argmax(ok, 1), -1).astype(jnp.int32)


def prefix_image(A):
    return jnp.pad(jnp.cumsum(jnp.cumsum(A, 0), 1), ((1, 0), (1, 0)))


def col_major_stats(A):
    m = A.mean(0)
    v = A.std(0, ddof=1)
    return (m, v, jnp.where(v > 0, (A - m) / v, 0))


def _clipped_counts(k):
    i = np.arange(31)
    return np.minimum(2 * i + 2, k) - np.maximum(2 * i - 1, 0)


def pooling_with_counts(A):
    s = lax.reduce_window(A, 0.0, lax.add, (1, 3, 3), (1, 2, 2), ((0, 0), (1, 1), (1, 1)))
    return s / (_clipped_counts(61)[:, None] * _clipped_counts(61)).astype(np.float32)


def clipped_bilateral(A):
    P = jnp.pad(A, 2)
    I = jnp.pad(jnp.ones_like(A), 2)
    n = z = 0.0
    for p in range(5):
        for q in range(5):
            B = P[p : p + 80, q : q + 90]
            d = B - A
            w = I[p : p + 80, q : q + 90] * jnp.exp(-0.5 * d * d - 0.125 * ((p - 2) ** 2 + (q - 2) ** 2))
            n += w * B
            z += w
    return n / z


def flat_sobel(A):
    A = A.reshape(120, 160)
    s = lambda i, j: A[1 + i : 119 + i, 1 + j : 159 + j]
    gx = s(-1, 1) + 2 * s(0, 1) + s(1, 1) - s(-1, -1) - 2 * s(0, -1) - s(1, -1)
    gy = s(1, -1) + 2 * s(1, 0) + s(1, 1) - s(-1, -1) - 2 * s(-1, 0) - s(-1, 1)
    return jnp.pad(jnp.sqrt(gx * gx + gy * gy), 1).reshape(-1)


def flat_pixels(A):
    a = A.reshape(-1, 3).astype(jnp.int32)
    y = (a * jnp.array([77, 150, 29])).sum(1, keepdims=True) >> 8
    return jnp.clip(y + (a - y) * 3 // 2, 0, 255).astype(jnp.uint8).reshape(-1)


def lower_solve_many(L, B):
    return lax.linalg.triangular_solve(L, B, left_side=True, lower=True)


def euclid_to_all(P):
    return jnp.sqrt(sum((P[:, None, k] - P[None, :, k]) ** 2 for k in range(8)))


def nearest_two(P):
    d = sum((P[:, None, k] - P[None, :, k]) ** 2 for k in range(3))
    d = jnp.where(jnp.eye(300, dtype=bool), jnp.inf, d)
    return lax.top_k(-d, 2)[1]


def bucket_by_row(R, V):
    o = jnp.argsort(R, stable=True)
    c = jnp.bincount(R, length=100)
    return (jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(c).astype(jnp.int32)]), V[o])


def masked_mean_rows(A, M):
    n = (~M).sum(1)
    return jnp.where(n == 0, 0, jnp.where(M, 0, A).sum(1) / jnp.maximum(n, 1))


def unrolled_saxpy_tail(x, y):
    return y + 2.5 * x


def heat_two_arrays(U, V):

    def half(a, b):
        return b.at[1:-1, 1:-1].set(
            a[1:-1, 1:-1] + 0.2 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1])
        )

    def step(t, c):
        u, v = c
        v = half(u, v)
        return (half(v, u), v)

    return lax.fori_loop(0, 20, step, (U, V))


def three_pass_blur(A):

    def b(A):
        P = jnp.pad(A, ((0, 0), (0, 0), (2, 2)), mode="edge")
        A = sum(P[:, :, k : k + 120] for k in range(5)) / 5
        P = jnp.pad(A, ((0, 0), (2, 2), (0, 0)), mode="edge")
        return sum(P[:, k : k + 100] for k in range(5)) / 5

    return b(b(b(A)))


def gathered_rows_mean(E, idx, n):
    m = (jnp.arange(20) < n[:, None]).astype(jnp.float32)
    return jnp.einsum("bk,bkd->bd", m, E[idx]) / jnp.maximum(n, 1)[:, None]


def swap_sort_pairs(K, V):
    return lax.sort((K, V), num_keys=1, dimension=1)


def monte_carlo_payoff(Z, S):
    x = jnp.cumsum(-0.0002 + 0.02 * Z, 1)
    p = S[:, None] * jnp.exp(x)
    m = jnp.maximum(p.max(1), S)
    pay = jnp.maximum(m - 1.05, 0)
    return jnp.stack([pay.mean(), (pay * pay).mean()])


def stencil_27(U, w, V=None):
    k = jnp.stack(
        [
            jnp.stack([jnp.stack([w[abs(a) + abs(b) + abs(c)] for c in (-1, 0, 1)]) for b in (-1, 0, 1)])
            for a in (-1, 0, 1)
        ]
    )
    r = sum(k[a, b, c] * U[a : a + 38, b : b + 38, c : c + 38] for a in range(3) for b in range(3) for c in range(3))
    return V.at[1:-1, 1:-1, 1:-1].set(r)


def blocked_attention_rows(Q, K, V):
    return jax.nn.softmax(Q @ K.T, 1) @ V


def full_convolution(A, B):
    return jnp.convolve(A, B)


def newton_pairs(P):
    d = P[None] - P[:, None]
    r = (d * d).sum(-1) + 0.01
    f = jnp.where(jnp.eye(200, dtype=bool), 0, 1 / (r * jnp.sqrt(r)))
    return jnp.einsum("ij,ijc->ic", f, d)


def banded_matvec(A, x):
    p = jnp.pad(x, 4)
    return sum(A[:, k] * p[k : k + 500] for k in range(9))


def banded_lu(A):

    def step(k, A):
        B = lax.dynamic_slice(A, (k, k), (6, 6))
        c = B[1:, 0] / B[0, 0]
        B = B.at[1:, 0].set(c).at[1:, 1:].add(-c[:, None] * B[0, 1:])
        return lax.dynamic_update_slice(A, B, (k, k))

    P = jnp.pad(A, ((0, 5), (0, 5)))
    return lax.fori_loop(0, 200, step, P)[:200, :200]


def near_pairs(X):
    p = jnp.pad(X, ((5, 5), (0, 0)))
    i = jnp.arange(300)
    s = 0.0
    for k in range(-5, 6):
        if k:
            s += jnp.where((i + k >= 0) & (i + k < 300), jnp.exp(0.1 * (X * p[5 + k : 305 + k]).sum(1)), 0)
    return s


def diagonal_sums(A):
    return jnp.zeros(319).at[jnp.arange(150)[:, None] + jnp.arange(170)].add(A)


def tsp_masks(C):
    D = jnp.full((1024, 10), 1000000000.0).at[1, 0].set(0.0)
    b = 1 << jnp.arange(10)
    k = jnp.arange(10)

    def step(m, D):
        inm = m >> k & 1
        c = jnp.where(inm[:, None] == 1, D[m][:, None] + C, jnp.inf).min(0)
        t = m | b
        return D.at[jnp.where(inm == 0, t, 1024), k].min(c, mode="drop")

    return lax.fori_loop(1, 1024, step, D)


def triples(X):
    s = jnp.cumsum(X[::-1])[::-1]
    a = jnp.pad(s[1:], (0, 1))
    b = X * a
    c = jnp.pad(jnp.cumsum(b[::-1])[::-1][1:], (0, 1))
    return (X * c).sum().reshape(1)


def lagged_products(X):
    p = jnp.pad(X, ((0, 0), (0, 32)))
    return jnp.stack([(X * p[:, l : l + 1000]).sum(1) for l in range(32)], 1)


def syrk_mirror(A):
    return A @ A.T


def naive_dft(X, Tc, Ts):
    i = np.arange(65)[:, None] * np.arange(128) % 128
    return (X @ Tc[i].T) ** 2 + (X @ Ts[i].T) ** 2


def upsample_fir(X, H):
    return lax.conv_general_dilated(2 * X[:, None], H[::-1][None, None], (1,), [(7, 8)], lhs_dilation=(2,))[:, 0]


def clipped_conv2d(X, W):
    return lax.conv_general_dilated(X[None], W, (1, 1), "SAME")[0]


def clipped_dilate(A):
    return jnp.maximum(lax.reduce_window(A, jnp.int32(-(2**31)), lax.max, (3, 3), (1, 1), "SAME"), 0)


def block_maxima(X):
    b = jnp.pad(X, ((0, 0), (0, 8)), constant_values=-jnp.inf).reshape(50, 16, 63)
    return (b.max(2), (jnp.argmax(b, 2) + 63 * jnp.arange(16)).astype(jnp.int32))


def ragged_tiles_copy(A):
    return A.T * 2


def local_mean_filter(A):
    s = lax.reduce_window(A, 0.0, lax.add, (9, 9), (1, 1), "SAME")
    c = lambda n: np.minimum(np.arange(n) + 4, n - 1) - np.maximum(np.arange(n) - 4, 0) + 1
    return A - s / (c(150)[:, None] * c(160)).astype(np.float32)


def knn_density(P):
    d = ((P[:, None] - P[None]) ** 2).sum(-1) < 0.25
    return (d.sum(1) - 1).astype(jnp.int32)


def shifted_add_reverse(C, r):
    i = jnp.arange(129)

    def step(C, k):
        kk, rk = k
        S = jnp.pad(C, ((0, 0), (1, 0)))[:, :-1]
        return (jnp.where((i >= 1) & (i <= kk + 1), C - rk[:, None] * S, C), None)

    return lax.scan(step, C, (jnp.arange(128), r.T))[0]


def smooth_n_times(A):

    def step(t, A):
        return A.at[:, 1:-1].set(0.25 * A[:, :-2] + 0.5 * A[:, 1:-1] + 0.25 * A[:, 2:])

    return lax.fori_loop(0, 10, step, A)


def causal_windows(X, W):
    e = jnp.exp(0.1 * (X @ W))
    i = jnp.arange(200)
    m = (i <= i[:, None]) & (i > i[:, None] - 16)
    w = jnp.where(m, e, 0)
    return w @ X / w.sum(1, keepdims=True)


def rotate_square(A):
    return jnp.rot90(A, -1)


def correlation_volume(A, B):
    p = jnp.pad(B, ((0, 0), (3, 3), (3, 3)))
    return jnp.stack([jnp.stack([(A * p[:, dy : dy + 40, dx : dx + 48]).sum(0) for dx in range(7)]) for dy in range(7)])


def polynomial_features(X):
    a, b = np.triu_indices(12)
    return jnp.concatenate([X, X[:, a] * X[:, b]], 1)


def block_diagonal_product(A, X):
    return jnp.einsum("bij,bjc->bic", A, X.reshape(10, 24, 30)).reshape(240, 30)


def masked_statistics(X, M):
    n = M.sum(1).astype(jnp.float32)
    d = jnp.maximum(n, 1)
    m = jnp.where(M, X, 0).sum(1) / d
    return (m, jnp.where(M, (X - m[:, None]) ** 2, 0).sum(1) / d)


def ring_fir(X, H):
    return jnp.convolve(X, H)[:2000]


def natural_spline(x, y):
    h = jnp.diff(x)
    sig = h[:-1] / (x[2:] - x[:-2])
    d = jnp.diff(y) / h
    r = 6 * jnp.diff(d) / (x[2:] - x[:-2])

    def f(c, a):
        m, u = c
        s, q = a
        p = s * m + 2
        n = ((s - 1) / p, (q - s * u) / p)
        return (n, n)

    _, (m, u) = lax.scan(f, (0.0, 0.0), (sig, r))
    z = jnp.zeros(1)

    def b(c, a):
        v = a[0] * c + a[1]
        return (v, v)

    _, M = lax.scan(b, 0.0, (jnp.concatenate([z, m]), jnp.concatenate([z, u])), reverse=True)
    return jnp.concatenate([M, z])


def mesh_laplacian(V, N):
    k = N >= 0
    d = k.sum(1).astype(jnp.float32)[:, None]
    s = jnp.where(k[..., None], V[jnp.maximum(N, 0)], 0).sum(1)
    return jnp.where(d > 0, s / jnp.maximum(d, 1) - V, s)


def aligned_bilinear(A):
    fy = np.arange(97, dtype=np.float32) * np.float32(39 / 96)
    fx = np.arange(121, dtype=np.float32) * np.float32(49 / 120)
    y0 = np.minimum(np.floor(fy).astype(int), 39)
    x0 = np.minimum(np.floor(fx).astype(int), 49)
    y1 = np.minimum(y0 + 1, 39)
    x1 = np.minimum(x0 + 1, 49)
    a = (fy - y0)[:, None].astype(np.float32)
    b = (fx - x0).astype(np.float32)
    r = (1 - a) * A[y0] + a * A[y1]
    return (1 - b) * r[:, x0] + b * r[:, x1]


def global_and_window_attention(Q, K, V):
    i = np.arange(160)
    m = (i < 4) | (abs(i - i[:, None]) <= 8)
    e = jnp.where(m, jnp.exp(0.25 * (Q @ K.T)), 0)
    return e @ V / e.sum(1, keepdims=True)


def cumulative_max_2d(A):
    return lax.cummax(lax.cummax(A, 0), 1)


def hankel_product(h, x):
    return h[np.arange(200)[:, None] + np.arange(200)] @ x


def vandermonde_fit_terms(x, y):
    P = x[:, None] ** np.arange(6)
    return (P.T @ P, P.T @ y)


def four_index(A, B):
    return jnp.einsum("ijkl,jlm->mik", A, B)


def finite_volume_step(u, c):
    l = jnp.concatenate([u[:1], u])
    r = jnp.concatenate([u, u[-1:]])
    f = c * jnp.where(c > 0, l, r)
    return u - 0.1 * (f[1:] - f[:-1])


def row_gaps(X):
    t = jnp.argmax(X, 1).astype(jnp.int32)
    a = X.max(1)
    b = jnp.where(jnp.arange(64) == t[:, None], -jnp.inf, X).max(1)
    return (t, a - b)


def register_tiles(A, B):
    return A @ B


def sums_by_two(X):
    return jnp.sqrt((X * X).sum(1))


def sorted_intersections(A, B):

    def c(s):
        return (s[0] < 300) & (s[1] < 300)

    def f(s):
        i, j, n = s
        a, b = (A[i], B[j])
        return (i + (a <= b), j + (b <= a), n + (a == b))

    return lax.while_loop(c, f, (0, 0, 0))[2].reshape(1).astype(jnp.int32)


def water_levels(H):
    W = jnp.full((60, 70), 1000.0).at[0].set(H[0]).at[-1].set(H[-1]).at[:, 0].set(H[:, 0]).at[:, -1].set(H[:, -1])

    def sweep(s, W):

        def row(i, W):
            r = W[i]
            m = jnp.minimum(jnp.minimum(W[i - 1], W[i + 1]), jnp.roll(r, -1))
            h = H[i]

            def f(l, a):
                w, m, h = a
                v = jnp.minimum(w, jnp.maximum(h, jnp.minimum(m, l)))
                return (v, v)

            return W.at[i, 1:-1].set(lax.scan(f, r[0], (r[1:-1], m[1:-1], h[1:-1]))[1])

        return lax.fori_loop(1, 59, row, W)

    return lax.fori_loop(0, 20, sweep, W)


def attention_pooling(X, L, w):
    s = jnp.where(jnp.arange(100) < L[:, None], X @ w, -jnp.inf)
    return jnp.einsum("bt,btd->bd", jax.nn.softmax(s, 1), X)


def dilated_pool_indices(X):
    p = jnp.stack([X[:, ky : ky + 36 : 2, kx : kx + 36 : 2] for ky in (0, 2, 4) for kx in (0, 2, 4)])
    a = p.argmax(0)
    y = np.arange(18)
    return (p.max(0), ((2 * y[:, None] + 2 * (a // 3)) * 40 + 2 * y + 2 * (a % 3)).astype(jnp.int32))


def exponential_smoothing_gaps(X, V):
    a = jnp.where(V, 0.8, 1.0)
    b = jnp.where(V, 0.2 * X, 0.0)
    A, B = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b), axis=1)
    return A * X[:, :1] + B


def column_pivots(A):
    i = np.arange(80)
    return jnp.argmax(jnp.where(i[:, None] >= i, jnp.abs(A), -1), 0).astype(jnp.int32)


def tiles_histogram(A):
    b = (A >> 4).astype(jnp.int32).reshape(8, 8, 8, 8).transpose(0, 2, 1, 3).reshape(8, 8, 64)
    return (b[..., None] == jnp.arange(16)).sum(2).astype(jnp.int32)


def triangle_moments(A):
    return (jnp.triu(A, 1).sum().reshape(1), jnp.tril(A, -1).sum().reshape(1), jnp.trace(A).reshape(1))


def seasonal_differences(X):
    D = jnp.pad(X[:, 7:] - X[:, :-7], ((0, 0), (7, 0)))
    return D.at[:, 14:].add(-0.5 * D[:, 7:-7])


def cross_entropy_grad(Z, y):
    return (jax.nn.softmax(Z, 1) - jax.nn.one_hot(y, 50)) / 128


def back_substitution_down(U, b):
    return jax.scipy.linalg.solve_triangular(U, b)


def axpy_unrolled_with_tail(a, x, y):
    return (jnp.full(1, 250, jnp.int32), y + a * x)


def bfs_on_grid(W):
    D = jnp.full((48, 48), -1, jnp.int32).at[0, 0].set(0)

    def f(s, D):
        m = jnp.pad(s == D, 1)
        n = m[:-2, 1:-1] | m[2:, 1:-1] | m[1:-1, :-2] | m[1:-1, 2:]
        return jnp.where(n & (W == 0) & (D < 0), s + 1, D)

    return lax.fori_loop(0, 96, f, D)


def padded_border_blur(A):
    P = jnp.pad(A, 2, mode="edge")
    r = sum(P[k : k + 100] for k in range(5))
    return sum(r[:, k : k + 130] for k in range(5)) / 25


def gemm_bias_relu_tiles(A, B, bias):
    return jnp.maximum(A @ B + bias, 0)


def majority_smoothing(L):
    P = jnp.pad(L, 1, mode="edge")
    v = sum(
        (P[dy : dy + 64, dx : dx + 64, None] == jnp.arange(6)).astype(jnp.int32) for dy in range(3) for dx in range(3)
    )
    return jnp.argmax(v, -1).astype(jnp.int32)


def row_normalise_in_two(A):
    lo = A.min(1, keepdims=True)
    d = A.max(1, keepdims=True) - lo
    return jnp.where(d > 0, (A - lo) / jnp.where(d > 0, d, 1), 0)


def moments_of_labels(L):
    m = (L.reshape(-1)[:, None] == jnp.arange(8)).astype(jnp.float32)
    y, x = np.divmod(np.arange(4800), 80)
    s = jnp.stack([np.ones(4800, np.float32), y.astype(np.float32), x.astype(np.float32)]) @ m
    a = s[0]
    return (
        a.astype(jnp.int32),
        jnp.where(a > 0, s[1] / jnp.maximum(a, 1), -1),
        jnp.where(a > 0, s[2] / jnp.maximum(a, 1), -1),
    )


def two_level_stencil(u, v):

    def f(t, s):
        u, v = s
        m = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]
        v = jnp.concatenate([m[-1:], m, m[:1]])
        m = m + 0.1 * (v[2:] - v[:-2])
        return (jnp.concatenate([m[-1:], m, m[:1]]), v)

    return lax.fori_loop(0, 25, f, (u, v))


def softmax_columns(X):
    return jax.nn.softmax(X, 0)


def count_inversions(P):
    i = np.arange(300)
    return ((P[:, None] > P) & (i[:, None] < i)).sum(dtype=jnp.int32).reshape(1)


def sparse_rows_softmax(row, v):
    s = jnp.searchsorted(row, jnp.arange(1500), side="right") - 1
    m = jax.ops.segment_max(v, s, 100, True)
    e = jnp.exp(v - m[s])
    return e / jax.ops.segment_sum(e, s, 100, True)[s]


def dual_quaternion_blend(W, J, Q):
    q = Q[J]
    s = jnp.where((q * q[:, :1]).sum(-1) < 0, -1, 1) * W
    o = (s[..., None] * q).sum(1)
    return o / jnp.sqrt((o * o).sum(1, keepdims=True))


def interval_sums(X, a, b):
    P = jnp.pad(jnp.cumsum(X), (1, 0))
    return P[b] - P[a]


def dense_to_csr_values(A):
    m = (A != 0).reshape(-1)
    k = jnp.cumsum(m)
    p = jnp.where(m, k - 1, 3600)
    z = lambda v, d: jnp.zeros(3600, d).at[p].set(v, mode="drop")
    return (
        jnp.pad(k[59::60], (1, 0)).astype(jnp.int32),
        z(jnp.asarray(np.arange(3600) % 60, jnp.int32), jnp.int32),
        z(A.reshape(-1), jnp.float32),
    )


def blocked_cholesky_like(A):
    return jnp.tril(jnp.linalg.cholesky(A)) + jnp.triu(A, 1)


def audio_resample_linear(X):
    p = np.arange(3000, dtype=np.float32) * np.float32(1.3331)
    i = p.astype(np.int32)
    f = p - i
    return jnp.where(i + 1 < 4000, X[np.minimum(i, 3999)] * (1 - f) + X[np.minimum(i + 1, 3999)] * f, X[3999])


def neighbour_vote_hex(A):
    P = jnp.pad(A, 1)
    c = P[1:-1]
    n = c[:, :-2] + c[:, 2:] + P[:-2, 1:-1] + P[2:, 1:-1]
    e = P[:-2, :-2] + P[2:, :-2]
    o = P[:-2, 2:] + P[2:, 2:]
    n = n + jnp.where(np.arange(50)[:, None] % 2 == 0, e, o)
    return (n > 2).astype(jnp.int32)


def grouped_topk_mask(S):
    s = S.reshape(100, 4, 8)
    f = np.arange(8)
    g = (s[..., None, :] > s[..., None]) | (s[..., None, :] == s[..., None]) & (f < f[:, None])
    return (g.sum(-1) < 2).astype(jnp.int32).reshape(100, 32)


def chebyshev_eval(c, x):
    t0, t1 = (jnp.ones_like(x), x)
    y = c[0] + c[1] * x
    for k in range(2, 16):
        t0, t1 = (t1, 2 * x * t1 - t0)
        y = y + c[k] * t1
    return y


def pair_list(P):
    i, j = np.triu_indices(150, 1)
    d = P[i] - P[j]
    m = (d * d).sum(1) < 0.04
    k = jnp.cumsum(m)
    p = jnp.where(m & (k <= 4000), k - 1, 4000)
    z = lambda v: jnp.zeros(4000, jnp.int32).at[p].set(v.astype(np.int32), mode="drop")
    return (jnp.minimum(k[-1:], 4000).astype(jnp.int32), z(i), z(j))


def iir_cascade_rows(X, C):

    def sec(Y, c):

        def f(z, x):
            w = x - c[0] * z[0] - c[1] * z[1]
            return ((w, z[0]), w + c[2] * z[0] + c[3] * z[1])

        z = jnp.zeros(32)
        return (lax.scan(f, (z, z), Y)[1], None)

    return lax.scan(sec, X.T, C)[0].T


def upsample_sum_skip(A, S):
    return jnp.repeat(jnp.repeat(A, 2, 1), 2, 2) + S


def margin_mining(E, y):
    s = (E * E).sum(1)
    d = jnp.maximum(s[:, None] + s - 2 * E @ E.T, 0)
    m = y[:, None] == y
    return jnp.maximum(jnp.where(m, d, 0).max(1) - jnp.where(m, 1e30, d).min(1) + 0.2, 0).mean().reshape(1)


def conv_tiles(X, W):
    return lax.conv_general_dilated(X[None], W, (1, 1), "VALID")[0]


def transpose_tiles(A):
    return A.T + 0


def reduce_tree_blocks(X):
    return X.reshape(16, 256).sum(1)


def stencil_blocked_time(A, B):

    def f(t, s):
        A, _ = s
        m = (A[:-2] + A[1:-1] + A[2:]) / 3
        return (A.at[1:-1].set(m), B.at[1:-1].set(m))

    return lax.fori_loop(0, 10, f, (A, B))


def spmv_sorted_coo(r, c, v, x):
    return jnp.zeros(200).at[r].add(v * x[c])


def layer_norm_two_pass_tiles(X, g, b):
    m = X.mean(1, keepdims=True)
    return (X - m) / jnp.sqrt((X * X).mean(1, keepdims=True) - m * m + 1e-05) * g + b


def flat_depthwise(X, W):
    return lax.conv_general_dilated(
        X.reshape(1, 8, 34, 34), W.reshape(8, 1, 3, 3), (1, 1), "VALID", feature_group_count=8
    ).reshape(-1)


def scan_three_phases(X):
    return jnp.cumsum(X)


def half_matvec(A, x):
    return A.astype(jnp.float32) @ x.astype(jnp.float32)


def quantise_rows(X):
    s = jnp.maximum(jnp.abs(X).max(1), 1e-08) / 127
    v = X / s[:, None]
    w = jnp.where(v >= 0, jnp.floor(v + 0.5), jnp.ceil(v - 0.5))
    return (jnp.clip(w, -127, 127).astype(jnp.int8), s)


def gather_rows_weighted(E, idx, n):
    m = jnp.arange(10) < n[:, None]
    s = jnp.where(m[..., None], E[idx], 0).sum(1)
    return s / jnp.maximum(n, 1)[:, None]


def symmetric_rank2k(A, B):
    M = A @ B.T
    return 0.5 * (M + M.T)


def peak_to_trough(P):
    t = lax.cummax(P, 1)
    d = (t - P) / t
    m = d.max(1)
    return (m, jnp.argmax(d, 1).astype(jnp.int32))


def local_maxima_list(X):
    m = (X[1:-1] > X[:-2]) & (X[1:-1] >= X[2:])
    k = jnp.cumsum(m)
    return (
        k[-1:].astype(jnp.int32),
        jnp.full(1000, -1, jnp.int32)
        .at[jnp.where(m, k - 1, 1000)]
        .set(jnp.arange(1, 999, dtype=jnp.int32), mode="drop"),
    )


def multi_head_flat(Q, K, V):
    q, k, v = (x.reshape(64, 4, 16) for x in (Q, K, V))
    return jnp.einsum("hij,jhd->ihd", jax.nn.softmax(jnp.einsum("ihd,jhd->hij", q, k) * 0.25, -1), v).reshape(64, 64)


def bilinear_crop(A, box):
    i = jnp.arange(8) / 7
    fy = box[:, :1] + (box[:, 2:3] - box[:, :1]) * i
    fx = box[:, 1:2] + (box[:, 3:] - box[:, 1:2]) * i
    y0 = jnp.clip(jnp.floor(fy).astype(jnp.int32), 0, 38)
    x0 = jnp.clip(jnp.floor(fx).astype(jnp.int32), 0, 38)
    a = (fy - y0)[:, :, None, None]
    d = (fx - x0)[:, None, :, None]
    g = lambda y, x: A[y[:, :, None], x[:, None]]
    return (g(y0, x0) * (1 - d) + g(y0, x0 + 1) * d) * (1 - a) + (g(y0 + 1, x0) * (1 - d) + g(y0 + 1, x0 + 1) * d) * a


def markov_steps(P, p):
    return lax.fori_loop(0, 30, lambda t, p: p @ P, p)


def sum_of_absolute_windows(X):
    p = jnp.pad(X, 5)
    i = np.arange(900)
    return sum(
        jnp.where((i + d >= 0) & (i + d < 900), jnp.abs(X - p[5 + d : 905 + d]) / abs(d), 0) for d in range(-5, 6) if d
    )


def sum_and_max_rows(A):
    return (A.sum(1), A.max(1), jnp.argmax(A, 1).astype(jnp.int32))


def nchw16c_conv(X, Wt):
    x = X.transpose(0, 3, 1, 2).reshape(1, 32, 18, 18)
    w = Wt.transpose(0, 5, 1, 4, 2, 3).reshape(32, 32, 3, 3)
    return lax.conv_general_dilated(x, w, (1, 1), "VALID").reshape(2, 16, 16, 16).transpose(0, 2, 3, 1)


def periodic_diffusion(U):
    f = lambda t, V: V + 0.1 * (jnp.roll(V, 1, 0) + jnp.roll(V, -1, 0) + jnp.roll(V, 1, 1) + jnp.roll(V, -1, 1) - 4 * V)
    return lax.fori_loop(0, 10, f, U)


def neumann_sweeps(U):
    f = lambda t, U: jnp.pad(0.25 * (U[:-2, 1:-1] + U[2:, 1:-1] + U[1:-1, :-2] + U[1:-1, 2:]), 1, mode="edge")
    return lax.fori_loop(0, 12, f, U)


def softmax_materialised(X):
    m = X.max(1, keepdims=True)
    E = jnp.exp(X - m)
    z = E.sum(1, keepdims=True)
    return (E / z, (m + jnp.log(z))[:, 0])


def tiled_copy_tails(A):
    return jnp.pad(A, ((0, 10), (0, 21))).reshape(5, 32, 7, 32).transpose(0, 2, 1, 3)


def untile_with_tails(B):
    return 2 * B.transpose(0, 2, 1, 3).reshape(160, 224)[:150, :203] + 1


def gemm_micro_kernel(A, B):
    return A.transpose(0, 2, 1).reshape(48, 64) @ B.transpose(1, 0, 2).reshape(64, 64)


def leaky_integrators(X, a):
    f = lambda v, x: ((n := (a * v + (1 - a) * x)), n)
    return lax.scan(f, jnp.zeros(64), X.T)[1].T


def first_best_pair(A):
    k = jnp.argmin(A.reshape(-1))
    return (A.reshape(-1)[k][None], jnp.stack([k // 90, k % 90]).astype(jnp.int32))


def gravity_blocks(P, m):
    d = P[None] - P[:, None]
    r2 = (d * d).sum(-1) + 0.01
    inv = m / (r2 * jnp.sqrt(r2))
    return jnp.einsum("ijc,ij->ic", d, inv)


def wrap_pad_conv1d(X, w):
    P = jnp.pad(X, ((0, 0), (3, 3)), mode="wrap")
    return sum(w[k] * P[:, k : k + 200] for k in range(7))


def mirror_pad_blur(X):
    P = jnp.pad(X, 2, mode="reflect")
    r = sum(P[a : a + 64] for a in range(5))
    return sum(r[:, a : a + 64] for a in range(5)) / 25


def strided_grouped_conv(X, W, b):
    return jnp.maximum(lax.conv_general_dilated(X, W, (2, 2), "VALID", feature_group_count=2) + b[:, None, None], 0)


def sorted_topk_insert(X):
    v, k = lax.top_k(X, 4)
    return (v, k.astype(jnp.int32))


def ragged_rows_mean(off, X):
    c = jnp.pad(jnp.cumsum(X, 0), ((1, 0), (0, 0)))
    n = off[1:] - off[:-1]
    return (c[off[1:]] - c[off[:-1]]) / jnp.maximum(n, 1)[:, None]


def blocked_dot_products(A, B):
    return jnp.einsum("oik,oik->i", A, B)


def counts_per_step(X):
    m = X > 1
    return (m.sum()[None].astype(jnp.int32), jnp.where(m, X, 0).sum(0))


def dft_of_rows(X):
    F = jnp.fft.rfft(X, axis=1)
    return (F.real, F.imag)


def quantised_linear(X, W, b, s):
    acc = (X.astype(jnp.int32) - 128) @ W.T.astype(jnp.int32) + b
    return jnp.clip(jnp.floor(acc * s + 0.5) + 128, 0, 255).astype(jnp.uint8)


def attention_key_blocks(Q, K, V):
    return jax.nn.softmax(Q @ K.T * 0.17677669, axis=1) @ V


def trellis_min_plus(A, B):
    S = A[:, None, :] + B.T[None]
    return (S.min(2), jnp.argmin(S, 2).astype(jnp.int32))


def reverse_time_rnn(X, Wx, Wh):
    Z = X @ Wx.T
    f = lambda h, z: ((n := jnp.tanh(z + Wh @ h)), n)
    return lax.scan(f, jnp.zeros(32), Z, reverse=True)[1]


def interleave_channels(L, R):
    return jnp.clip(jnp.stack([L, R], 1).reshape(-1) * 32767, -32768, 32767).astype(jnp.int16)


def thomas_rows(a, b, c, d):

    def f(s, x):
        cp, dp = s
        a, b, c, d = x
        w = b - a * cp
        s = (c / w, (d - a * dp) / w)
        return (s, s)

    s0 = (c[:, 0] / b[:, 0], d[:, 0] / b[:, 0])
    _, (cp, dp) = lax.scan(f, s0, (a.T[1:], b.T[1:], c.T[1:], d.T[1:]))
    cp = jnp.concatenate([s0[0][None], cp])
    dp = jnp.concatenate([s0[1][None], dp])
    g = lambda x, v: ((n := (v[1] - v[0] * x)), n)
    _, X = lax.scan(g, dp[-1], (cp[:-1], dp[:-1]), reverse=True)
    return jnp.concatenate([X, dp[-1][None]]).T


def bucket_sums_2d(X, Yc, V):
    return jnp.zeros((32, 32)).at[(X * 32).astype(jnp.int32), (Yc * 32).astype(jnp.int32)].add(V)


def masked_row_softmax_backward(P, dP, n):
    m = jnp.arange(80) < n[:, None]
    P = jnp.where(m, P, 0)
    return P * (dP - (P * dP).sum(1, keepdims=True))


def time_tiled_heat(U):
    return lax.fori_loop(0, 20, lambda t, U: U.at[1:-1].set(0.25 * U[:-2] + 0.5 * U[1:-1] + 0.25 * U[2:]), U)


def lut_gamma_rgb(I, lut):
    return lut[I]


def two_pass_variance_cols(X):
    return (X.mean(0), X.var(0, ddof=1))


def nearest_palette(I, C):
    return jnp.argmin(((I[:, :, None] - C) ** 2).sum(-1), -1).astype(jnp.int32)


def lower_tri_packed_times(L, x):
    i, j = np.tril_indices(50)
    return jnp.zeros((50, 50)).at[i, j].set(L) @ x


def edge_list_laplacian(src, dst, w, x):
    d = w * (x[src] - x[dst])
    return jnp.zeros(300).at[src].add(d).at[dst].add(-d)


def moving_median5(X):
    return jnp.sort(jnp.stack([X[k : k + 1996] for k in range(5)], 1), 1)[:, 2]


def pooled_pyramid(X):
    p = lambda X: X.reshape(X.shape[0] // 2, 2, -1, 2).mean((1, 3))
    A = p(X)
    B = p(A)
    return (A, B, p(B))


def last_seen_distance(X):
    i = jnp.arange(400)
    return (i - lax.cummax(jnp.where(X > 200, i, -1000), axis=1)).astype(jnp.int32)


def swap_halves(X):
    return jnp.roll(X, 128, 1)


def reverse_in_place(X):
    return X[::-1] + 0


def gray_world_balance(I):
    m = I.sum((0, 1))
    return jnp.minimum(I * (m.sum() / 3 / jnp.maximum(m, 1e-06)), 1)


def sparse_dense_diag_scale(rp, ci, v, d):
    r = jnp.searchsorted(rp, jnp.arange(3000), side="right") - 1
    return v * d[r] * d[ci]


def strassen_like_blocks(A, B):
    return jnp.einsum("acik,cbkj->abij", A, B)


def running_quantile_counts(X, q):
    b = (X[..., None] >= q).sum(-1)
    return jnp.zeros((50, 10), jnp.int32).at[jnp.arange(50)[:, None], b].add(1)


def levenshtein_full(a, b):
    j = jnp.arange(121)

    def f(row, x):
        i, ai = x
        c = (ai != b).astype(jnp.int32)
        t = jnp.concatenate([i[None], jnp.minimum(row[1:] + 1, row[:-1] + c)])
        new = lax.cummin(t - j) + j
        return (new, new)

    _, R = lax.scan(f, j, (jnp.arange(1, 101), a))
    return jnp.concatenate([j[None], R])


def depth_to_disparity(D, V):
    return jnp.where(V, 100 / jnp.maximum(D, 0.1), 0)


def knn_average(Q, P, V):
    d = ((Q[:, None] - P[None]) ** 2).sum(-1)
    _, i = lax.top_k(-d, 4)
    return V[i].mean(1)


def ewma_vol(R):

    def st(v, r):
        v = 0.94 * v + 0.06 * r * r
        return (v, v)

    v0 = R[:, 0] ** 2
    _, vs = lax.scan(st, v0, R[:, 1:].T)
    return jnp.sqrt(jnp.concatenate([v0[:, None], vs.T], 1))


def rows_to_nchw8c(X):
    return jnp.pad(X, ((0, 0), (0, 2), (0, 0), (0, 0))).reshape(2, 4, 8, 28, 28).transpose(0, 1, 3, 4, 2)


def nchw8c_pool(X):
    return lax.reduce_window(
        X, -1e30, lax.max, (1, 1, 3, 3, 1), (1, 1, 2, 2, 1), ((0, 0), (0, 0), (1, 0), (1, 0), (0, 0))
    )


def group_norm_relu(X, g, b):
    x = X.reshape(4, 8, 784)
    m = x.mean(-1, keepdims=True)
    v = (x * x).mean(-1, keepdims=True) - m * m
    y = ((x - m) * lax.rsqrt(v + 1e-05)).reshape(4, 32, 196)
    return jax.nn.relu(y * g[None, :, None] + b[None, :, None])


def coo_to_dense_rows(r, c, v, x):
    return jnp.zeros((200, 16)).at[r].add(v[:, None] * x[c])


def trapezoid_paths(f):
    return jnp.pad(jnp.cumsum(0.005 * (f[:, 1:] + f[:, :-1]), 1), ((0, 0), (1, 0)))


def dilate3d(V):
    return lax.reduce_window(V, np.uint8(0), lax.max, (3, 3, 3), (1, 1, 1), "SAME")


def quant_per_channel(W):
    s = jnp.maximum(jnp.abs(W).max(1) / 127, 1e-08)
    return (jnp.clip(jnp.round(W / s[:, None]), -127, 127).astype(jnp.int8), s)


def spring_network(X, e, L):
    d = X[e[:, 1]] - X[e[:, 0]]
    l = jnp.sqrt((d * d).sum(1) + 1e-12)
    s = (10 * (l - L) / l)[:, None] * d
    return jnp.zeros((300, 3)).at[e[:, 0]].add(s).at[e[:, 1]].add(-s)


def gru_seq(X, Wz, Wr, Wh):
    xz, xr, xh = (X @ Wz[:32], X @ Wr[:32], X @ Wh[:32])

    def st(h, x):
        a, b, c = x
        z = jax.nn.sigmoid(a + h @ Wz[32:])
        r = jax.nn.sigmoid(b + h @ Wr[32:])
        h = (1 - z) * h + z * jnp.tanh(c + r * h @ Wh[32:])
        return (h, h)

    h0 = jnp.zeros((8, 32))
    return jnp.concatenate([h0[None], lax.scan(st, h0, (xz, xr, xh))[1]])


def crossing_number(P, V):
    W = jnp.roll(V, -1, 0)
    y = P[:, 1][:, None]
    x = P[:, 0][:, None]
    c = (V[:, 1] > y) != (W[:, 1] > y)
    t = x < (W[:, 0] - V[:, 0]) * (y - V[:, 1]) / (W[:, 1] - V[:, 1]) + V[:, 0]
    return (c & t).sum(1) % 2


def lcs_length(a, b):

    def row(prev, ai):
        c = jnp.where(ai == b, prev[:-1] + 1, prev[1:])
        r = jnp.concatenate([jnp.zeros(1, jnp.int32), lax.cummax(c)])
        return (r, r)

    r0 = jnp.zeros(221, jnp.int32)
    return jnp.concatenate([r0[None], lax.scan(row, r0, a)[1]])


def ssd_template(I, K):
    c = lax.conv_general_dilated(I[None, None], K[None, None], (1, 1), "VALID", precision="highest")[0, 0]
    s = lax.reduce_window(I * I, 0.0, lax.add, (12, 12), (1, 1), "VALID")
    return s - 2 * c + (K * K).sum()


def rope_rotate(X, C, S):
    a, b = (X[..., ::2], X[..., 1::2])
    return jnp.stack([a * C - b * S, a * S + b * C], -1).reshape(8, 128, 64)


def histogram2d(x, y):
    ok = (x >= 0) & (x < 1) & (y >= 0) & (y < 1)
    i = jnp.where(ok, (x * 32).astype(jnp.int32), 32)
    j = (y * 32).astype(jnp.int32)
    return jnp.zeros((32, 32), jnp.int32).at[i, j].add(1, mode="drop")


def bc_upwind(u, a):
    p, m = (jnp.maximum(a, 0), jnp.minimum(a, 0))
    return lax.fori_loop(0, 40, lambda t, u: u - 0.4 * (p * (u - jnp.roll(u, 1)) + m * (jnp.roll(u, -1) - u)), u)


def lowrank_update(A, U, V, x):
    A = A + U @ V.T
    return (A, A @ x)


def median3x3(I):
    return jnp.median(jnp.stack([I[v : v + 62, u : u + 62] for v in range(3) for u in range(3)]), 0)


def pagerank_dense(A):
    d = A.sum(0)
    M = jnp.where(d > 0, A / jnp.where(d > 0, d, 1), 1 / 200)
    return lax.fori_loop(0, 20, lambda t, p: 0.15 / 200 + 0.85 * (M @ p), jnp.full(200, 1 / 200))


def packed_triangle_matvec(P, x):
    i = np.arange(150)[:, None]
    j = np.arange(150)[None]
    k = np.where(j <= i, i * (i + 1) // 2 + j, j * (j + 1) // 2 + i)
    return P[k] @ x


def label_counts_by_row(L):
    C = (L[:, :, None] == jnp.arange(10)).sum(1).astype(jnp.int32)
    return (C, C.argmax(1))


def wavelet_levels(X):
    for l in range(3):
        n = 256 >> l
        a, b = (X[:, :n:2], X[:, 1:n:2])
        X = jnp.concatenate([(a + b) * 0.70710677, (a - b) * 0.70710677, X[:, n:]], 1)
    return X


def soft_dtw_step(A, B):
    D = ((A[:, None] - B[None]) ** 2).sum(-1)

    def row(prev, d):

        def cell(l, x):
            dd, u, ul = x
            m = jnp.minimum(ul, jnp.minimum(u, l))
            r = dd + m - 0.1 * jnp.log(jnp.exp((m - ul) / 0.1) + jnp.exp((m - u) / 0.1) + jnp.exp((m - l) / 0.1))
            return (r, r)

        _, r = lax.scan(cell, jnp.float32(10000000000.0), (d, prev[1:], prev[:-1]))
        r = jnp.concatenate([jnp.full(1, 10000000000.0), r])
        return (r, r)

    r0 = jnp.full(71, 10000000000.0).at[0].set(0)
    return jnp.concatenate([r0[None], lax.scan(row, r0, D)[1]])


def conv1d_causal_dilated(X, W):
    return lax.conv_general_dilated(X[None], W[:, :, ::-1], (1,), ((8, 0),), rhs_dilation=(4,), precision="highest")[0]


def ragged_max_pool(X, n):
    return jnp.where((jnp.arange(64) < n[:, None])[:, :, None], X, -jnp.inf).max(1)


def moving_std(X):
    w = lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 20), (1, 1), "VALID")
    s, q = (w(X) / 20, w(X * X) / 20)
    return jnp.sqrt(jnp.maximum(q - s * s, 0))


def block_sums_then_scan(X):
    return (X.reshape(64, 64).sum(1).astype(jnp.int32), jnp.cumsum(X))


def euler_rigid(Q, W):
    a, b, c = (W[:, 0], W[:, 1], W[:, 2])
    z = 0 * a
    O = jnp.stack(
        [jnp.stack([z, -a, -b, -c]), jnp.stack([a, z, c, -b]), jnp.stack([b, -c, z, a]), jnp.stack([c, b, -a, z])]
    ).transpose(2, 0, 1)

    def st(t, Q):
        Q = Q + 0.005 * jnp.einsum("bij,bj->bi", O, Q)
        return Q * lax.rsqrt((Q * Q).sum(1, keepdims=True))

    return lax.fori_loop(0, 50, st, Q)


def padded_batch_matvec(A, m, x):
    return jnp.einsum("bij,bj->bi", A, x, precision="highest")


def contact_pairs(X, Y, R):
    d = R[:, None] + R - jnp.sqrt((X[:, None] - X) ** 2 + (Y[:, None] - Y) ** 2)
    h = (d > 0) & ~jnp.eye(250, dtype=bool)
    return (h.sum(1), jnp.where(h, 0.25 * d * d, 0).sum()[None])


def bandpass_biquad(X, c):
    Xp = jnp.pad(X, ((0, 0), (2, 0)))
    w = c[0] * Xp[:, 2:] + c[1] * Xp[:, 1:-1] + c[2] * Xp[:, :-2]

    def st(s, w):
        y = w - c[3] * s[0] - c[4] * s[1]
        return ((y, s[0]), y)

    z = jnp.zeros(16)
    return lax.scan(st, (z, z), w.T)[1].T


def nearest_upsample_add(A, B):
    return jnp.repeat(jnp.repeat(A, 2, 1), 2, 2) + B


def max_subarray_rows(X):

    def st(s, x):
        b, c = s
        c = jnp.maximum(x, c + x)
        return ((jnp.maximum(b, c), c), None)

    return lax.scan(st, (X[:, 0], X[:, 0]), X[:, 1:].T)[0][0]


def csr_row_softmax(rp, v):
    s = jnp.searchsorted(rp[1:], jnp.arange(2400), side="right")
    m = jax.ops.segment_max(v, s, 200)
    e = jnp.exp(v - m[s])
    z = jax.ops.segment_sum(e, s, 200)
    return e / z[s]


def vertex_normals(V, f):
    a = V[f[:, 1]] - V[f[:, 0]]
    b = V[f[:, 2]] - V[f[:, 0]]
    n = jnp.cross(a, b)
    N = jnp.zeros((400, 3)).at[f.reshape(-1)].add(jnp.repeat(n, 3, 0))
    return N / (jnp.sqrt((N * N).sum(1, keepdims=True)) + 1e-09)


def lj_cutoff_pbc(X):
    D = X[:, None] - X[None]
    D = D - 8 * jnp.round(D / 8)
    r2 = (D * D).sum(-1) + 0.5
    ok = (r2 < 6.25) & ~jnp.eye(180, dtype=bool)
    s = 1 / r2
    s6 = s**3
    g = jnp.where(ok, 24 * s * s6 * (2 * s6 - 1), 0)
    return ((g[..., None] * D).sum(1), jnp.where(ok, 2 * s6 * (s6 - 1), 0).sum()[None])


def hsv_from_rgb(I):
    r, g, b = I
    m = I.max(0)
    d = m - I.min(0)
    ds = jnp.where(d > 1e-06, d, 1)
    h = jnp.where(m == r, (g - b) / ds % 6, jnp.where(m == g, (b - r) / ds + 2, (r - g) / ds + 4))
    h = jnp.where(d > 1e-06, h, 0) / 6
    return jnp.stack([h, jnp.where(m > 0, d / m, 0), m])


def mlp_adam_step(X, y, W, v, M, S):
    H = jax.nn.relu(X @ W)
    e = H @ v - y
    g = X.T @ ((H > 0) * (e[:, None] * v)) / 64
    M = 0.9 * M + 0.1 * g
    S = 0.999 * S + 0.001 * g * g
    return (W - 0.001 * M / (jnp.sqrt(S) + 1e-08), M, S)


def jacobi_masked(U, K, B):
    k = K[1:-1, 1:-1] == 0

    def st(t, U):
        n = 0.25 * (U[:-2, 1:-1] + U[2:, 1:-1] + U[1:-1, :-2] + U[1:-1, 2:] - B[1:-1, 1:-1])
        return U.at[1:-1, 1:-1].set(jnp.where(k, n, U[1:-1, 1:-1]))

    return lax.fori_loop(0, 20, st, U)


def block_diag_matmul(A, X):
    return jnp.einsum("bik,bkc->bic", A, X.reshape(12, 16, 40), precision="highest").reshape(192, 40)


def toeplitz_solve_apply(t, x):
    return jnp.convolve(t, x, mode="valid", precision="highest")


def strided_slices_sum(A):
    return A.reshape(64, 100, 3).sum(1)


def double_pendulum(s):

    def st(t, s):
        a, b, u, v = (s[:, 0], s[:, 1], s[:, 2], s[:, 3])
        e = a - b
        c = jnp.cos(e)
        d = 2 - c * c
        si = jnp.sin(e)
        f1 = -v * v * si - 19.62 * jnp.sin(a)
        f2 = u * u * si - 9.81 * jnp.sin(b)
        u = u + 0.01 * (f1 - c * f2) / d
        v = v + 0.01 * (2 * f2 - c * f1) / d
        return jnp.stack([a + 0.01 * u, b + 0.01 * v, u, v], 1)

    return lax.fori_loop(0, 60, st, s)


def sobel_magnitude(I):
    a = I[:-2] + 2 * I[1:-1] + I[2:]
    gx = a[:, 2:] - a[:, :-2]
    b = I[:, :-2] + 2 * I[:, 1:-1] + I[:, 2:]
    gy = b[2:] - b[:-2]
    return jnp.pad(jnp.sqrt(gx * gx + gy * gy), 1)


def binomial_american(S0):
    i = jnp.arange(129)
    v = jnp.maximum(100 - S0[:, None] * jnp.exp(0.02 * (2 * i - 128)), 0)

    def st(t, v):
        s = S0[:, None] * jnp.exp(0.02 * (2 * i - (127 - t)))
        return jnp.maximum(0.9998 * (0.49 * v + 0.51 * jnp.roll(v, -1, 1)), 100 - s)

    return lax.fori_loop(0, 128, st, v)[:, 0]


def bincount_weighted_2(k, w):
    C = jnp.zeros(64).at[k].add(w)
    n = jnp.zeros(64).at[k].add(1.0)
    return (C, jnp.where(n > 0, C / n, 0))


def attention_alibi(Q, K, V):
    i = jnp.arange(64)
    b = -0.1 * (jnp.arange(4) + 1)[:, None, None] * (i[:, None] - i)
    s = 0.17 * jnp.einsum("hid,hjd->hij", Q, K, precision="highest") + b
    p = jax.nn.softmax(jnp.where(i[:, None] >= i, s, -jnp.inf), -1)
    return jnp.einsum("hij,hjd->hid", p, V, precision="highest")


def kalman_1d(z):

    def st(s, z):
        x, p = s
        q = p + 0.01
        k = q / (q + 0.5)
        x = x + k * (z - x)
        return ((x, (1 - k) * q), x)

    return lax.scan(st, (jnp.zeros(64), jnp.float32(1)), z)[1]


def pack_bits(A):
    return jnp.packbits(A > 0, axis=1)


def ssim_means(A, B):
    w = lambda a: lax.reduce_window(a, 0.0, lax.add, (8, 8), (1, 1), "VALID") / 64
    m, n, a, b, c = (w(A), w(B), w(A * A), w(B * B), w(A * B))
    return (2 * m * n + 0.01) * (2 * (c - m * n) + 0.03) / ((m * m + n * n + 0.01) * (a - m * m + b - n * n + 0.03))


def cg_dense(A, b):

    def st(t, c):
        x, r, p, s = c
        q = A @ p
        al = s / (p @ q + 1e-12)
        x = x + al * p
        r = r - al * q
        n = r @ r
        return (x, r, r + n / (s + 1e-12) * p, n)

    return lax.fori_loop(0, 30, st, (0 * b, b, b, b @ b))[0]


def deinterleave_complex_mag(Z):
    z = Z.reshape(40, 256, 2)
    M = jnp.sqrt((z * z).sum(-1))
    return (M, M.max(1))


def gather_padded_neighbors(X, n):
    k = n >= 0
    s = jnp.where(k[..., None], X[jnp.maximum(n, 0)], 0).sum(1)
    return s / jnp.maximum(k.sum(1), 1)[:, None]


def conv_transpose_2d(X, W):
    return lax.conv_general_dilated(
        X[None],
        W.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1],
        (1, 1),
        ((2, 2), (2, 2)),
        lhs_dilation=(2, 2),
        precision="highest",
    )[0]


def monotone_envelope(X):

    def st(c, x):
        u = jnp.maximum(x, c * 0.98)
        return (u, u)

    _, u = lax.scan(st, X[:, 0], X[:, 1:].T)
    return (jnp.concatenate([X[:, :1], u.T], 1), lax.cummin(X, axis=1, reverse=True))


def topk_gate(G):
    v, i = lax.top_k(G, 2)
    w = jax.nn.softmax(v, -1)
    return (i.astype(jnp.int32), w)


def int8_gemm_zero_points(A, B):
    s = jnp.einsum("ik,kj->ij", A.astype(jnp.int32) - 128, B.astype(jnp.int32) - 3)
    return jnp.clip(jnp.round(s * 0.002) + 128, 0, 255).astype(jnp.uint8)


def _ragged_vectors(d):
    m = d.below(49, 20)
    x = np.where(np.arange(48) < m[:, None], d.floats(20, 48), np.float32(0))
    return {"A": d.floats(20, 48, 48), "m": m, "x": x}


def hessian_eigs(I):
    c = I[1:-1, 1:-1]
    xx = I[1:-1, 2:] - 2 * c + I[1:-1, :-2]
    yy = I[2:, 1:-1] - 2 * c + I[:-2, 1:-1]
    xy = (I[2:, 2:] - I[2:, :-2] - I[:-2, 2:] + I[:-2, :-2]) / 4
    mean = (xx + yy) / 2
    root = jnp.sqrt((xx - yy) ** 2 / 4 + xy * xy)
    return (jnp.pad(mean + root, 1), jnp.pad(mean - root, 1))


def chambolle_tv(G, lam):
    steps = 12

    def step(_, s):
        px, py, u = s
        d = px + py - jnp.pad(px[:, :-1], ((0, 0), (1, 0))) - jnp.pad(py[:-1], ((1, 0), (0, 0)))
        u = d - G / lam
        gx = jnp.pad(u[:, 1:] - u[:, :-1], ((0, 0), (0, 1)))
        gy = jnp.pad(u[1:] - u[:-1], ((0, 1), (0, 0)))
        w = 1 + 0.25 * jnp.sqrt(gx * gx + gy * gy)
        return ((px + 0.25 * gx) / w, (py + 0.25 * gy) / w, u)

    z = jnp.zeros_like(G)
    return -lam * lax.fori_loop(0, steps, step, (z, z, z))[2]


def baum_welch(A, B, pi, obs):
    E = B.T[obs]
    a0 = pi * E[0]
    s0 = a0.sum()
    a0 = a0 / s0

    def fw(a, e):
        a = a @ A * e
        s = a.sum()
        a = a / s
        return (a, (a, s))

    _, (al, sc) = lax.scan(fw, a0, E[1:])
    al = jnp.concatenate([a0[None], al])
    sc = jnp.concatenate([s0[None], sc])

    def bw(b, x):
        e, s = x
        nb = A @ (e * b) / s
        return (nb, b)

    _, be = lax.scan(bw, jnp.ones_like(pi), (E[1:], sc[1:]), reverse=True)
    return A * jnp.einsum("ts,tq->sq", al[:-1], E[1:] * be / sc[1:, None])


def muscl_euler(rho, mom, ene, dtdx):
    steps = 6

    def step(_, s):
        r, m, e = s
        u = m / r
        p = 0.4 * (e - 0.5 * r * u * u)
        c = jnp.abs(u) + jnp.sqrt(1.4 * p / r)
        a = jnp.maximum(c[:-1], c[1:])

        def fl(F, U):
            return 0.5 * (F[:-1] + F[1:]) - 0.5 * a * (U[1:] - U[:-1])

        f = [fl(m, r), fl(m * u + p, m), fl(u * (e + p), e)]
        return tuple((U.at[1:-1].add(-dtdx * (g[1:] - g[:-1])) for U, g in zip(s, f, strict=False)))

    return lax.fori_loop(0, steps, step, (rho, mom, ene))


def rbf_field(P, C, w, eps):
    d = P[:, None] - C[None]
    g = w * jnp.exp(-eps * (d * d).sum(-1))
    return (g.sum(1), -2 * eps * jnp.einsum("ic,icd->id", g, d))


def life_3d(W):
    gens = 3

    def step(_, W):
        s = W
        for ax in range(3):
            s = s + jnp.roll(s, 1, ax) + jnp.roll(s, -1, ax)
        c = s - W
        return jnp.where(W == 1, (c >= 4) & (c <= 5), c == 5).astype(W.dtype)

    return lax.fori_loop(0, gens, step, W)


def lora_linear(X, W, A, B, scale):
    return X @ W.T + scale * (X @ A.T @ B.T)


def conv_lstm(X, H, C, Wx, Wh, b):
    z = jnp.concatenate([X, H])[None]
    W = jnp.concatenate([Wx, Wh], 1)
    g = lax.conv_general_dilated(z, W, (1, 1), "SAME")[0] + b[:, None, None]
    i, f, o, t = jnp.split(g, 4)
    Cn = jax.nn.sigmoid(f) * C + jax.nn.sigmoid(i) * jnp.tanh(t)
    return (jax.nn.sigmoid(o) * jnp.tanh(Cn), Cn)


def vq_lookup(Z, E):
    D = ((Z[:, None] - E[None]) ** 2).sum(-1)
    i = jnp.argmin(D, 1).astype(jnp.int32)
    return (E[i], i, jnp.zeros(E.shape[0], jnp.int32).at[i].add(1), D.min(1).sum() / Z.size)


def dlrm_interact(E):
    i, j = np.tril_indices(E.shape[1], -1)
    return jnp.einsum("bik,bjk->bij", E, E)[:, i, j]


def fm_scores(X, w, V):
    return X @ w + 0.5 * ((X @ V) ** 2 - X * X @ (V * V)).sum(1)


def tps_warp(P, C, w, a):
    d = P[:, None] - C[None]
    r2 = (d * d).sum(-1)
    u = jnp.where(r2 > 0, r2 * jnp.log(jnp.where(r2 > 0, r2, 1)), 0)
    return a[:, 0] + P @ a[:, 1:].T + u @ w


def undistort(I, k1, k2, f):
    h, w = I.shape
    y, x = jnp.mgrid[:h, :w]
    u = (x - w / 2) / f
    v = (y - h / 2) / f
    r2 = u * u + v * v
    s = 1 + k1 * r2 + k2 * r2 * r2
    sx = u * s * f + w / 2
    sy = v * s * f + h / 2
    x0 = jnp.floor(sx).astype(int)
    y0 = jnp.floor(sy).astype(int)
    ok = (x0 >= 0) & (y0 >= 0) & (x0 + 1 < w) & (y0 + 1 < h)
    a = jnp.clip(x0, 0, w - 2)
    b = jnp.clip(y0, 0, h - 2)
    fx = sx - x0
    fy = sy - y0
    top = I[b, a] * (1 - fx) + I[b, a + 1] * fx
    bot = I[b + 1, a] * (1 - fx) + I[b + 1, a + 1] * fx
    return jnp.where(ok, top * (1 - fy) + bot * fy, 0)


def sgm_path(cost, p1, p2):

    def step(L, c):
        low = L.min(1, keepdims=True)
        inf = jnp.float32(jnp.inf)
        m = jnp.pad(L[:, :-1], ((0, 0), (1, 0)), constant_values=inf) + p1
        q = jnp.pad(L[:, 1:], ((0, 0), (0, 1)), constant_values=inf) + p1
        N = c + jnp.minimum(jnp.minimum(L, low + p2), jnp.minimum(m, q)) - low
        return (N, N)

    c = jnp.swapaxes(cost, 0, 1)
    _, Ls = lax.scan(step, c[0], c[1:])
    return jnp.swapaxes(jnp.concatenate([c[:1], Ls]), 0, 1)


def fast_corners(I, thr):
    oy = [-3, -3, -2, -1, 0, 1, 2, 3, 3, 3, 2, 1, 0, -1, -2, -3]
    ox = [0, 1, 2, 3, 3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1]
    h, w = I.shape
    c = I[3:-3, 3:-3]
    br = [I[3 + a : h - 3 + a, 3 + b : w - 3 + b] > c + thr for a, b in zip(oy, ox, strict=False)]
    run = jnp.zeros(c.shape, jnp.int32)
    best = run
    for k in range(25):
        run = jnp.where(br[k % 16], run + 1, 0)
        best = jnp.maximum(best, run)
    return jnp.pad((best >= 9).astype(jnp.int32), 3)


def splat_depth(P):
    n = 64
    ok = P[:, 2] > 0.1
    z = jnp.where(ok, P[:, 2], 1)
    u = (P[:, 0] / z * n / 2 + n / 2).astype(int)
    v = (P[:, 1] / z * n / 2 + n / 2).astype(int)
    ok &= (u >= 0) & (u < n) & (v >= 0) & (v < n)
    return jnp.full((n, n), 1000000000.0, jnp.float32).at[jnp.where(ok, v, n), u].min(P[:, 2], mode="drop")


def bezier_surface(G):
    m = 40
    t = jnp.linspace(0, 1, m)
    b = jnp.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3], 1)
    return jnp.einsum("ia,jb,abd->ijd", b, b, G)


def parabolic_sar(high, low):

    def step(c, x):
        up, af, ep, s = c
        h, l = x
        s = s + af * (ep - s)
        flip = jnp.where(up, l < s, h > s)
        better = jnp.where(up, h > ep, l < ep)
        s2 = jnp.where(flip, ep, s)
        ext = jnp.where(up, h, l)
        opp = jnp.where(up, l, h)
        ep2 = jnp.where(flip, opp, jnp.where(better, ext, ep))
        af2 = jnp.where(flip, 0.02, jnp.where(better, jnp.minimum(af + 0.02, 0.2), af))
        return ((up ^ flip, af2, ep2, s2), s2)

    _, s = lax.scan(step, (jnp.array(True), jnp.float32(0.02), high[0], low[0]), (high[1:], low[1:]))
    return jnp.concatenate([low[:1], s])


def implied_vol(S, K, T_, price):
    sq = jnp.sqrt(T_)

    def step(_, v):
        d1 = (jnp.log(S / K) + 0.5 * v * v * T_) / (v * sq)
        d2 = d1 - v * sq
        N = jax.scipy.stats.norm.cdf
        c = S * N(d1) - K * N(d2)
        vega = S * sq * jnp.exp(-0.5 * d1 * d1) / np.sqrt(2 * np.pi)
        return jnp.maximum(v - (c - price) / jnp.maximum(vega, 1e-06), 0.01)

    return lax.fori_loop(0, 12, step, jnp.full_like(S, 0.3))


def sobol_points(V):
    n = 1024
    i = jnp.arange(n)
    g = i ^ i >> 1
    bit = g[:, None] >> jnp.arange(V.shape[1]) & 1 == 1
    x = jnp.where(bit[:, None, :], V[None], 0)
    return lax.reduce(x, jnp.int32(0), lax.bitwise_xor, (2,)) / jnp.float32(1048576.0)


def halton_2_3():
    n = 1024
    outs = []
    for base, dig in ((2, 11), (3, 7)):
        k = jnp.arange(1, n + 1)
        x = jnp.zeros(n)
        f = 1.0
        for _ in range(dig):
            f = f / base
            x = x + f * (k % base)
            k = k // base
        outs.append(x)
    return jnp.stack(outs, 1)


def dfa_run(table, text, accept):

    def step(s, c):
        s = table[s, c]
        return (s, s)

    s, ss = lax.scan(step, jnp.int32(0), text)
    return ((accept[ss] == 1).astype(jnp.int32), s)


def z_function(s):
    n = s.shape[0]

    def step(c, i):
        z, l, r = c
        k = jnp.where(i < r, jnp.minimum(r - i, z[i - l]), 0)
        k = lax.while_loop(lambda k: (i + k < n) & (s[k] == s[jnp.minimum(i + k, n - 1)]), lambda k: k + 1, k)
        far = i + k > r
        return ((z.at[i].set(k), jnp.where(far, i, l), jnp.where(far, i + k, r)), None)

    return lax.scan(step, (jnp.zeros(n, jnp.int32), jnp.int32(0), jnp.int32(0)), jnp.arange(1, n, dtype=jnp.int32))[0][
        0
    ]


def wildcard(text, pat):
    star = pat == 42
    row0 = jnp.concatenate([jnp.array([True]), lax.associative_scan(jnp.logical_and, star)])

    def row(prev, t):
        match = (pat == 63) | (pat == t)
        base = jnp.where(star, prev[1:], match & prev[:-1])

        def comb(a, b):
            return (a[0] & b[0], a[1] & b[0] | b[1])

        _, cur = lax.associative_scan(comb, (star, base))
        new = jnp.concatenate([jnp.array([False]), cur])
        return (new, new)

    _, rows = lax.scan(row, row0, text)
    return jnp.concatenate([row0[None], rows])


def distinct_subseq(s, t):

    def step(dp, c):
        return (dp.at[1:].set(jnp.where(t == c, (dp[1:] + dp[:-1]) % 1000007, dp[1:])), None)

    return lax.scan(step, jnp.zeros(t.shape[0] + 1, jnp.int32).at[0].set(1), s)[0]


def house_robber(v):

    def step(c, x):
        t, s = c
        return ((s + x, jnp.maximum(s, t)), None)

    z = jnp.zeros(v.shape[0])
    (t, s), _ = lax.scan(step, (z, z), v.T)
    return jnp.maximum(t, s)


def coin_ways(coins):
    total = 1000
    w = jnp.zeros(total + 1, jnp.int32).at[0].set(1)

    def coin(w, c):

        def step(a, w):
            return w.at[a].set((w[a] + w[a - c]) % 1000000007)

        return (lax.fori_loop(c, total + 1, step, w), None)

    return lax.scan(coin, w, coins)[0]


def set_zeroes(A):
    z = A == 0
    return jnp.where(z.any(1, keepdims=True) | z.any(0, keepdims=True), 0, A)


def median_5x5(I):
    h, w = I.shape
    s = jnp.stack([I[a : h - 4 + a, b : w - 4 + b] for a in range(5) for b in range(5)], -1)
    return jnp.sort(s, -1)[..., 12]


def adx(high, low, close, p):
    up = high[1:] - high[:-1]
    dn = low[:-1] - low[1:]
    pdm = jnp.where((up > dn) & (up > 0), up, 0)
    ndm = jnp.where((dn > up) & (dn > 0), dn, 0)
    rng = jnp.maximum(high[1:] - low[1:], jnp.maximum(jnp.abs(high[1:] - close[:-1]), jnp.abs(low[1:] - close[:-1])))
    a = 1 - 1 / p

    def lin(x, a):

        def comb(u, v):
            return (u[0] * v[0], u[1] * v[0] + v[1])

        return lax.associative_scan(comb, (jnp.full_like(x, a), x))[1]

    tr, ps, ng = (lin(rng, a), lin(pdm, a), lin(ndm, a))
    pdi = ps / tr
    ndi = ng / tr
    dx = jnp.where(pdi + ndi > 0, jnp.abs(pdi - ndi) / (pdi + ndi), 0)
    return jnp.concatenate([jnp.zeros(1), 100 * lin(dx / p, a)])


def horn_schunck(Ix, Iy, It, alpha):
    steps = 10

    def avg(u):
        p = jnp.pad(u, 1, mode="edge")
        return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4

    den = alpha + Ix**2 + Iy**2

    def step(_, s):
        ub, vb = (avg(s[0]), avg(s[1]))
        t = (Ix * ub + Iy * vb + It) / den
        return (ub - Ix * t, vb - Iy * t)

    z = jnp.zeros_like(Ix)
    return lax.fori_loop(0, steps, step, (z, z))


def clahe_tiles(I):
    tile = 16
    h, w = I.shape
    th, tw = (h // tile, w // tile)
    T = I.reshape(th, tile, tw, tile).transpose(0, 2, 1, 3).reshape(th * tw, -1)
    hist = jnp.zeros((th * tw, 64), jnp.int32).at[jnp.arange(th * tw)[:, None], T].add(1)
    extra = jnp.maximum(hist - 8, 0).sum(1, keepdims=True)
    hist = jnp.minimum(hist, 8)
    maps = jnp.cumsum(hist + extra / 64, 1) / (tile * tile)
    o = jnp.take_along_axis(maps, T, 1)
    return o.reshape(th, tw, tile, tile).transpose(0, 2, 1, 3).reshape(h, w)


def gp_predict(K, Ks, y, noise):
    L = jnp.linalg.cholesky(K + noise * jnp.eye(K.shape[0]))
    return Ks @ jax.scipy.linalg.cho_solve((L, True), y)


def inputs_of_hessian_eigs(draw: Draw) -> Inputs:
    return dict(zip(("I",), (draw.rng.normal(size=(200, 300)).astype(np.float32),), strict=True))


def inputs_of_chambolle_tv(draw: Draw) -> Inputs:
    values = (draw.rng.normal(size=(96, 128)).astype(np.float32), 12, 0.5)
    return dict(zip(("G", "lam"), (values[k] for k in (0, 2)), strict=True))


def inputs_of_baum_welch(draw: Draw) -> Inputs:
    A = draw.rng.random((12, 12))
    B = draw.rng.random((12, 20))
    p = draw.rng.random(12)
    return dict(
        zip(
            ("A", "B", "pi", "obs"),
            (
                (A / A.sum(1, keepdims=True)).astype(np.float32),
                (B / B.sum(1, keepdims=True)).astype(np.float32),
                (p / p.sum()).astype(np.float32),
                draw.rng.integers(0, 20, 150).astype(np.int32),
            ),
            strict=True,
        )
    )


def inputs_of_muscl_euler(draw: Draw) -> Inputs:
    rho = (1 + 0.2 * draw.rng.random(1000)).astype(np.float32)
    mom = (0.1 * draw.rng.normal(size=1000)).astype(np.float32)
    e = (2.5 + 0.3 * draw.rng.random(1000)).astype(np.float32)
    values = (rho, mom, e, 6, 0.1)
    return dict(zip(("rho", "mom", "ene", "dtdx"), (values[k] for k in (0, 1, 2, 4)), strict=True))


def inputs_of_rbf_field(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("P", "C", "w", "eps"),
            (
                draw.rng.normal(size=(300, 3)).astype(np.float32),
                draw.rng.normal(size=(80, 3)).astype(np.float32),
                draw.rng.normal(size=80).astype(np.float32),
                0.7,
            ),
            strict=True,
        )
    )


def inputs_of_life_3d(draw: Draw) -> Inputs:
    values = ((draw.rng.random((20, 20, 20)) < 0.3).astype(np.int32), 3)
    return dict(zip(("W",), (values[k] for k in (0,)), strict=True))


def inputs_of_lora_linear(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("X", "W", "A", "B", "scale"),
            (*tuple(draw.rng.normal(size=s).astype(np.float32) for s in ((32, 96), (80, 96), (4, 96), (80, 4))), 0.25),
            strict=True,
        )
    )


def inputs_of_conv_lstm(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("X", "H", "C", "Wx", "Wh", "b"),
            tuple(
                (0.3 * draw.rng.normal(size=s)).astype(np.float32)
                for s in ((3, 16, 16), (4, 16, 16), (4, 16, 16), (16, 3, 3, 3), (16, 4, 3, 3), (16,))
            ),
            strict=True,
        )
    )


def inputs_of_vq_lookup(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("Z", "E"),
            (draw.rng.normal(size=(256, 8)).astype(np.float32), draw.rng.normal(size=(40, 8)).astype(np.float32)),
            strict=True,
        )
    )


def inputs_of_dlrm_interact(draw: Draw) -> Inputs:
    return dict(zip(("E",), (draw.rng.normal(size=(64, 9, 16)).astype(np.float32),), strict=True))


def inputs_of_fm_scores(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("X", "w", "V"),
            (
                draw.rng.normal(size=(300, 40)).astype(np.float32),
                draw.rng.normal(size=40).astype(np.float32),
                draw.rng.normal(size=(40, 8)).astype(np.float32),
            ),
            strict=True,
        )
    )


def inputs_of_tps_warp(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("P", "C", "w", "a"),
            (
                draw.rng.normal(size=(500, 2)).astype(np.float32),
                draw.rng.normal(size=(30, 2)).astype(np.float32),
                draw.rng.normal(size=(30, 2)).astype(np.float32),
                draw.rng.normal(size=(2, 3)).astype(np.float32),
            ),
            strict=True,
        )
    )


def inputs_of_undistort(draw: Draw) -> Inputs:
    return dict(
        zip(("I", "k1", "k2", "f"), (draw.rng.random((120, 160)).astype(np.float32), 0.12, 0.03, 100.0), strict=True)
    )


def inputs_of_sgm_path(draw: Draw) -> Inputs:
    return dict(zip(("cost", "p1", "p2"), (draw.rng.random((40, 60, 16)).astype(np.float32), 0.1, 0.6), strict=True))


def inputs_of_fast_corners(draw: Draw) -> Inputs:
    return dict(zip(("I", "thr"), (draw.rng.random((64, 80)).astype(np.float32), 0.1), strict=True))


def inputs_of_splat_depth(draw: Draw) -> Inputs:
    values = (
        np.stack([draw.rng.normal(size=2000), draw.rng.normal(size=2000), draw.rng.random(2000) * 3], 1).astype(
            np.float32
        ),
        64,
    )
    return dict(zip(("P",), (values[k] for k in (0,)), strict=True))


def inputs_of_bezier_surface(draw: Draw) -> Inputs:
    values = (draw.rng.normal(size=(4, 4, 3)).astype(np.float32), 40)
    return dict(zip(("G",), (values[k] for k in (0,)), strict=True))


def inputs_of_parabolic_sar(draw: Draw) -> Inputs:
    p = 100 + np.cumsum(draw.rng.normal(size=1500))
    return dict(
        zip(
            ("high", "low"),
            ((p + draw.rng.random(1500)).astype(np.float32), (p - draw.rng.random(1500)).astype(np.float32)),
            strict=True,
        )
    )


def inputs_of_implied_vol(draw: Draw) -> Inputs:
    S = (90 + 20 * draw.rng.random(1000)).astype(np.float32)
    K = np.full(1000, 100, np.float32)
    T = (0.5 + draw.rng.random(1000)).astype(np.float32)
    from scipy.stats import norm

    v = 0.2 + 0.2 * draw.rng.random(1000)
    d1 = (np.log(S / K) + 0.5 * v * v * T) / (v * np.sqrt(T))
    return dict(
        zip(
            ("S", "K", "T_", "price"),
            (S, K, T, (S * norm.cdf(d1) - K * norm.cdf(d1 - v * np.sqrt(T))).astype(np.float32)),
            strict=True,
        )
    )


def inputs_of_sobol_points(draw: Draw) -> Inputs:
    values = (draw.rng.integers(0, 1 << 20, (6, 20)).astype(np.int32), 1024)
    return dict(zip(("V",), (values[k] for k in (0,)), strict=True))


def inputs_of_halton_2_3(draw: Draw) -> Inputs:
    values = (1024,)
    return dict(zip((), (values[k] for k in ()), strict=True))


def inputs_of_dfa_run(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("table", "text", "accept"),
            (
                draw.rng.integers(0, 12, (12, 26)).astype(np.int32),
                draw.rng.integers(0, 26, 3000).astype(np.int32),
                (draw.rng.random(12) < 0.3).astype(np.int32),
            ),
            strict=True,
        )
    )


def inputs_of_z_function(draw: Draw) -> Inputs:
    return dict(zip(("s",), (draw.rng.integers(0, 2, 1500).astype(np.int32),), strict=True))


def inputs_of_wildcard(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("text", "pat"),
            (
                draw.rng.integers(97, 100, 200).astype(np.int32),
                draw.rng.choice([42, 63, 97, 98, 99], 40).astype(np.int32),
            ),
            strict=True,
        )
    )


def inputs_of_distinct_subseq(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("s", "t"),
            (draw.rng.integers(0, 4, 400).astype(np.int32), draw.rng.integers(0, 4, 50).astype(np.int32)),
            strict=True,
        )
    )


def inputs_of_house_robber(draw: Draw) -> Inputs:
    return dict(zip(("v",), (draw.rng.random((200, 150)).astype(np.float32),), strict=True))


def inputs_of_coin_ways(draw: Draw) -> Inputs:
    values = (np.array([1, 2, 5, 10, 20, 50], np.int32), 1000)
    return dict(zip(("coins",), (values[k] for k in (0,)), strict=True))


def inputs_of_set_zeroes(draw: Draw) -> Inputs:
    return dict(zip(("A",), (draw.rng.integers(0, 60, (200, 150)).astype(np.int32),), strict=True))


def inputs_of_median_5x5(draw: Draw) -> Inputs:
    return dict(zip(("I",), (draw.rng.random((40, 48)).astype(np.float32),), strict=True))


def inputs_of_adx(draw: Draw) -> Inputs:
    q = 100 + np.cumsum(draw.rng.normal(size=2000))
    return dict(
        zip(
            ("high", "low", "close", "p"),
            (
                (q + draw.rng.random(2000)).astype(np.float32),
                (q - draw.rng.random(2000)).astype(np.float32),
                q.astype(np.float32),
                14.0,
            ),
            strict=True,
        )
    )


def inputs_of_horn_schunck(draw: Draw) -> Inputs:
    values = (*tuple(draw.rng.normal(size=(60, 80)).astype(np.float32) for _ in range(3)), 10, 1.0)
    return dict(zip(("Ix", "Iy", "It", "alpha"), (values[k] for k in (0, 1, 2, 4)), strict=True))


def inputs_of_clahe_tiles(draw: Draw) -> Inputs:
    values = (draw.rng.integers(0, 64, (128, 96)).astype(np.int32), 16)
    return dict(zip(("I",), (values[k] for k in (0,)), strict=True))


def inputs_of_gp_predict(draw: Draw) -> Inputs:
    x = draw.rng.random(60)
    z = draw.rng.random(30)
    k = lambda a, b: np.exp(-8 * (a[:, None] - b[None]) ** 2).astype(np.float32)
    return dict(
        zip(
            ("K", "Ks", "y", "noise"), (k(x, x), k(z, x), draw.rng.normal(size=60).astype(np.float32), 0.3), strict=True
        )
    )


def block_thomas(A, B, C, d):

    def inv(m, r):
        det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
        return jnp.stack([m[1, 1] * r[0] - m[0, 1] * r[1], m[0, 0] * r[1] - m[1, 0] * r[0]]) / det

    def fw(s, x):
        P, q = s
        a, b, c, d = x
        m = b - a @ P
        r = d - a @ q
        P = inv(m, c)
        q = inv(m, r)
        return ((P, q), (P, q))

    z = (jnp.zeros((2, 2), d.dtype), jnp.zeros(2, d.dtype))
    A = A.at[0].set(0)
    _, (P, q) = lax.scan(fw, z, (A, B, C, d))

    def bw(x, s):
        P, q = s
        x = q - P @ x
        return (x, x)

    P = P.at[-1].set(0)
    return lax.scan(bw, jnp.zeros(2, d.dtype), (P, q), reverse=True)[1]


def sym_packed_from_pairs(X):
    i, j = np.triu_indices(X.shape[0], 1)
    return jnp.abs(X[i] - X[j]).sum(-1)


def log_polar(I):
    nr = 48
    nt = 96
    h, w = I.shape
    rad = np.exp(np.log(min(h, w) / 2) * np.arange(nr) / nr)[:, None]
    th = 2 * np.pi * np.arange(nt) / nt
    y = h / 2 + rad * np.sin(th)
    x = w / 2 + rad * np.cos(th)
    y0 = np.trunc(y).astype(int)
    x0 = np.trunc(x).astype(int)
    ok = (y0 >= 0) & (y0 < h - 1) & (x0 >= 0) & (x0 < w - 1)
    fy = (y - y0).astype(np.float32)
    fx = (x - x0).astype(np.float32)
    y0 = np.clip(y0, 0, h - 2)
    x0 = np.clip(x0, 0, w - 2)
    v = (1 - fy) * ((1 - fx) * I[y0, x0] + fx * I[y0, x0 + 1]) + fy * (
        (1 - fx) * I[y0 + 1, x0] + fx * I[y0 + 1, x0 + 1]
    )
    return jnp.where(ok, v, 0)


def sauvola(I, k, R):
    h, w = I.shape
    r = 5
    S = jnp.pad(jnp.cumsum(jnp.cumsum(I, 0), 1), ((1, 0), (1, 0)))
    Q = jnp.pad(jnp.cumsum(jnp.cumsum(I * I, 0), 1), ((1, 0), (1, 0)))
    y0 = np.maximum(0, np.arange(h) - r)
    y1 = np.minimum(h, np.arange(h) + r + 1)
    x0 = np.maximum(0, np.arange(w) - r)
    x1 = np.minimum(w, np.arange(w) + r + 1)
    cnt = ((y1 - y0)[:, None] * (x1 - x0)).astype(np.float32)

    def box(S):
        T = S[y1] - S[y0]
        return T[:, x1] - T[:, x0]

    m = box(S) / cnt
    v = box(Q) / cnt - m * m
    return jnp.where(m * (1 + k * (jnp.sqrt(jnp.maximum(v, 0)) / R - 1)) < I, 255, 0).astype(jnp.uint8)


def box_blur_running(I):
    r = 4
    return lax.reduce_window(I, np.float32(0), lax.add, (1, 2 * r + 1), (1, 1), ((0, 0), (r, r))) / (2 * r + 1)


def daub4_level(x):
    c = np.array([0.4829629131445341, 0.8365163037378079, 0.2241438680420134, -0.1294095225512604], np.float32)
    e = x[0::2]
    o = x[1::2]
    e1 = jnp.concatenate([e[1:], e[:1]])
    o1 = jnp.concatenate([o[1:], o[:1]])
    return jnp.concatenate([c[0] * e + c[1] * o + c[2] * e1 + c[3] * o1, c[3] * e - c[2] * o + c[1] * e1 - c[0] * o1])


def stft_mag(x, win):
    hop = 32
    n = win.shape[0]
    fr = (x.shape[0] - n) // hop + 1
    i = np.arange(fr)[:, None] * hop + np.arange(n)
    return jnp.abs(jnp.fft.rfft(x[i] * win, axis=-1))


def mann_whitney(x, y):
    n, m = (len(x), len(y))
    d = x[:, None] - y
    u = jnp.where(d > 0, 1.0, jnp.where(d == 0, 0.5, 0.0)).sum()
    return (u, (u - n * m / 2) / np.sqrt(n * m * (n + m + 1) / 12))


def mutual_information(a, b):
    ka = 16
    kb = 12
    J = jnp.zeros((ka, kb), jnp.float32).at[a, b].add(1) / a.shape[0]
    pa = J.sum(1)
    pb = J.sum(0)
    p = pa[:, None] * pb
    ok = J > 0
    return jnp.where(ok, J * jnp.log(jnp.where(ok, J, 1) / jnp.where(ok, p, 1)), 0).sum()


def loess(x, y, q, bw):
    d = x[None] - q[:, None]
    u = jnp.abs(d) / bw
    w = jnp.where(u < 1, (1 - u**3) ** 3, 0)
    s0 = w.sum(1)
    s1 = (w * d).sum(1)
    s2 = (w * d * d).sum(1)
    t0 = w @ y
    t1 = w * d @ y
    den = s0 * s2 - s1 * s1
    return jnp.where(den != 0, (s2 * t0 - s1 * t1) / jnp.where(den != 0, den, 1), 0)


def distance_correlation(x, y):

    def cen(x):
        A = jnp.abs(x[:, None] - x)
        r = A.mean(1)
        return A - r[:, None] - r + r.mean()

    a = cen(x)
    b = cen(y)
    return (a * b).sum() / jnp.sqrt((a * a).sum() * (b * b).sum())


def explicit_fd_put(K, r, sigma, T_):
    N = 80
    M = 400
    i = jnp.arange(N + 1)
    S = 2 * K * i / N
    dt = T_ / M
    p = K - S
    j = i[1:-1].astype(jnp.float32)
    a = 0.5 * dt * (sigma**2 * j * j - r * j)
    b = 1 - dt * (sigma**2 * j * j + r)
    c = 0.5 * dt * (sigma**2 * j * j + r * j)

    def step(_, V):
        W = a * V[:-2] + b * V[1:-1] + c * V[2:]
        return jnp.maximum(jnp.concatenate([jnp.full(1, K, V.dtype), W, jnp.zeros(1, V.dtype)]), p)

    return lax.fori_loop(0, M, step, jnp.maximum(p, 0).astype(jnp.float32))


def max_profit_k(prices):
    K = 4
    d = jnp.zeros_like(prices)
    for _ in range(K):
        b = lax.cummax(d - prices)
        d = lax.cummax(jnp.concatenate([jnp.zeros(1, prices.dtype), prices[1:] + b[:-1]]))
    return d[-1]


def potts_sweep(S, U, Q, beta):
    n, m = S.shape
    c = (np.arange(n)[:, None] + np.arange(m)) % 2
    T = S
    for p in range(2):
        nb = [jnp.roll(T, -1, 0), jnp.roll(T, 1, 0), jnp.roll(T, -1, 1), jnp.roll(T, 1, 1)]
        same = sum((x == T).astype(jnp.float32) for x in nb)
        want = sum((x == Q[p]).astype(jnp.float32) for x in nb)
        T = jnp.where((c == p) & (U[p] < jnp.exp(beta * (want - same))), Q[p], T)
    return T


def pic_push(x, v, E, dt, dx):
    m = E.shape[0]
    g = x / dx
    i = g.astype(jnp.int32)
    w = g - i
    e = (1 - w) * E[i % m] + w * E[(i + 1) % m]
    vn = v + dt * e
    y = x + dt * vn
    L = m * dx
    y = jnp.where(y < 0, y + L, y)
    y = jnp.where(y >= L, y - L, y)
    g = y / dx
    k = g.astype(jnp.int32)
    w = g - k
    return (jnp.zeros(m, x.dtype).at[k % m].add(1 - w).at[(k + 1) % m].add(w), y, vn)


def fdtd_tm_pml(Ez, Hx, Hy, sig):
    steps = 10
    n, m = Ez.shape
    s = sig[1:-1, 1:-1]
    c = (1 - s / 2) / (1 + s / 2)
    d = 0.5 / (1 + s / 2)

    def step(t, x):
        Ez, Hx, Hy = x
        Hx = Hx.at[:, :-1].add(-0.5 * (Ez[:, 1:] - Ez[:, :-1]))
        Hy = Hy.at[:-1].add(0.5 * (Ez[1:] - Ez[:-1]))
        Ez = Ez.at[1:-1, 1:-1].set(
            c * Ez[1:-1, 1:-1] + d * (Hy[1:-1, 1:-1] - Hy[:-2, 1:-1] - Hx[1:-1, 1:-1] + Hx[1:-1, :-2])
        )
        return (Ez.at[n // 2, m // 2].add(jnp.sin(np.float32(0.3) * t)), Hx, Hy)

    return lax.fori_loop(0, steps, step, (Ez, Hx, Hy))[0]


def grid_sample(I, G):
    _c, h, w = I.shape
    ix = (G[..., 0] + 1) * 0.5 * (w - 1)
    iy = (G[..., 1] + 1) * 0.5 * (h - 1)
    x0 = jnp.floor(ix).astype(int)
    y0 = jnp.floor(iy).astype(int)
    out = 0
    for dy in range(2):
        for dx in range(2):
            yy = y0 + dy
            xx = x0 + dx
            ok = (yy >= 0) & (yy < h) & (xx >= 0) & (xx < w)
            out = (
                out
                + jnp.where(ok, (1 - jnp.abs(ix - xx)) * (1 - jnp.abs(iy - yy)), 0)
                * I[:, jnp.clip(yy, 0, h - 1), jnp.clip(xx, 0, w - 1)]
            )
    return out


def moe_dispatch(X, logits):
    cap = 72
    _n, d = X.shape
    e = logits.shape[1]
    b = jnp.argmax(logits, 1)
    oh = jax.nn.one_hot(b, e, dtype=jnp.int32)
    pos = (jnp.cumsum(oh, 0) * oh).sum(1) - 1
    ok = pos < cap
    s = jnp.where(ok, b * cap + pos, e * cap)
    return (
        jnp.zeros((e * cap + 1, d), X.dtype).at[s].set(X)[:-1].reshape(e, cap, d),
        jnp.where(ok, s, -1).astype(jnp.int32),
    )


def lstm_peephole(X, W, U, p, b):
    h = U.shape[1]
    XW = X @ W.T + b

    def step(s, x):
        c, hp = s
        z = x + U @ hp
        zi, zf, zg, zo = jnp.split(z, 4)
        i = jax.nn.sigmoid(zi + p[0] * c)
        f = jax.nn.sigmoid(zf + p[1] * c)
        c = f * c + i * jnp.tanh(zg)
        o = jax.nn.sigmoid(zo + p[2] * c)
        hp = o * jnp.tanh(c)
        return ((c, hp), hp)

    z = jnp.zeros(h, X.dtype)
    return lax.scan(step, (z, z), XW)[1]


def spatial_pyramid(X):
    c, h, w = X.shape
    m4 = X.reshape(c, 4, h // 4, 4, w // 4).max((2, 4))
    m2 = m4.reshape(c, 2, 2, 2, 2).max((2, 4))
    m1 = m2.max((1, 2))
    return jnp.concatenate([m1[:, None], m2.reshape(c, 4), m4.reshape(c, 16)], 1)


def hopfield(W, S):
    steps = 5
    W = W * (1 - jnp.eye(W.shape[0]))
    return lax.fori_loop(0, steps, lambda _, s: jnp.where(s @ W.T >= 0, 1.0, -1.0).astype(s.dtype), S)


def inputs_of_block_thomas(draw: Draw) -> Inputs:
    n = 200
    A = draw.rng.normal(size=(n, 2, 2)).astype(np.float32)
    C = draw.rng.normal(size=(n, 2, 2)).astype(np.float32)
    B = (draw.rng.normal(size=(n, 2, 2)) + 8 * np.eye(2)).astype(np.float32)
    return dict(zip(("A", "B", "C", "d"), (A, B, C, draw.rng.normal(size=(n, 2)).astype(np.float32)), strict=True))


def inputs_of_sym_packed_from_pairs(draw: Draw) -> Inputs:
    return dict(zip(("X",), (draw.rng.normal(size=(80, 6)).astype(np.float32),), strict=True))


def inputs_of_log_polar(draw: Draw) -> Inputs:
    values = (draw.rng.random((120, 140)).astype(np.float32), 48, 96)
    return dict(zip(("I",), (values[k] for k in (0,)), strict=True))


def inputs_of_sauvola(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("I", "k", "R"),
            (
                np.round(draw.rng.random((100, 120)) * 16).astype(np.float32) / 16 + 0.013,
                np.float32(0.3),
                np.float32(0.5),
            ),
            strict=True,
        )
    )


def inputs_of_box_blur_running(draw: Draw) -> Inputs:
    values = (draw.rng.random((200, 300)).astype(np.float32), 4)
    return dict(zip(("I",), (values[k] for k in (0,)), strict=True))


def inputs_of_daub4_level(draw: Draw) -> Inputs:
    return dict(zip(("x",), (draw.rng.normal(size=16384).astype(np.float32),), strict=True))


def inputs_of_stft_mag(draw: Draw) -> Inputs:
    values = (draw.rng.normal(size=2048).astype(np.float32), np.hanning(64).astype(np.float32), 32)
    return dict(zip(("x", "win"), (values[k] for k in (0, 1)), strict=True))


def inputs_of_mann_whitney(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("x", "y"),
            (
                np.round(draw.rng.normal(size=400) * 20).astype(np.float32),
                np.round(draw.rng.normal(size=300) * 20 + 1).astype(np.float32),
            ),
            strict=True,
        )
    )


def inputs_of_mutual_information(draw: Draw) -> Inputs:
    values = (draw.rng.integers(0, 16, 4000).astype(np.int32), draw.rng.integers(0, 12, 4000).astype(np.int32), 16, 12)
    return dict(zip(("a", "b"), (values[k] for k in (0, 1)), strict=True))


def inputs_of_loess(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("x", "y", "q", "bw"),
            (
                np.sort(draw.rng.random(500)).astype(np.float32),
                draw.rng.normal(size=500).astype(np.float32),
                np.linspace(0.05, 0.95, 200).astype(np.float32),
                np.float32(0.1),
            ),
            strict=True,
        )
    )


def inputs_of_distance_correlation(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("x", "y"),
            (draw.rng.normal(size=250).astype(np.float32), draw.rng.normal(size=250).astype(np.float32)),
            strict=True,
        )
    )


def inputs_of_explicit_fd_put(draw: Draw) -> Inputs:
    values = (np.float32(100), np.float32(0.05), np.float32(0.2), np.float32(1), 80, 400)
    return dict(zip(("K", "r", "sigma", "T_"), (values[k] for k in (0, 1, 2, 3)), strict=True))


def inputs_of_max_profit_k(draw: Draw) -> Inputs:
    values = (np.cumsum(draw.rng.normal(size=1000)).astype(np.float32) + 100, 4)
    return dict(zip(("prices",), (values[k] for k in (0,)), strict=True))


def inputs_of_potts_sweep(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("S", "U", "Q", "beta"),
            (
                draw.rng.integers(0, 4, (64, 96)).astype(np.int32),
                draw.rng.random((2, 64, 96)).astype(np.float32),
                draw.rng.integers(0, 4, (2, 64, 96)).astype(np.int32),
                np.float32(0.9),
            ),
            strict=True,
        )
    )


def inputs_of_pic_push(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("x", "v", "E", "dt", "dx"),
            (
                (draw.rng.random(4000) * 31.9).astype(np.float32),
                draw.rng.normal(size=4000).astype(np.float32),
                draw.rng.normal(size=64).astype(np.float32),
                np.float32(0.05),
                np.float32(0.5),
            ),
            strict=True,
        )
    )


def inputs_of_fdtd_tm_pml(draw: Draw) -> Inputs:
    values = (
        *tuple(draw.rng.normal(size=(80, 100)).astype(np.float32) for _ in range(3)),
        draw.rng.random((80, 100)).astype(np.float32),
        10,
    )
    return dict(zip(("Ez", "Hx", "Hy", "sig"), (values[k] for k in (0, 1, 2, 3)), strict=True))


def inputs_of_grid_sample(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("I", "G"),
            (
                draw.rng.normal(size=(8, 40, 48)).astype(np.float32),
                (draw.rng.random((40, 48, 2)) * 2.4 - 1.2).astype(np.float32),
            ),
            strict=True,
        )
    )


def inputs_of_moe_dispatch(draw: Draw) -> Inputs:
    values = (draw.rng.normal(size=(512, 32)).astype(np.float32), draw.rng.normal(size=(512, 8)).astype(np.float32), 72)
    return dict(zip(("X", "logits"), (values[k] for k in (0, 1)), strict=True))


def inputs_of_lstm_peephole(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("X", "W", "U", "p", "b"),
            (
                draw.rng.normal(size=(60, 24)).astype(np.float32),
                (draw.rng.normal(size=(128, 24)) * 0.2).astype(np.float32),
                (draw.rng.normal(size=(128, 32)) * 0.2).astype(np.float32),
                draw.rng.normal(size=(3, 32)).astype(np.float32),
                draw.rng.normal(size=128).astype(np.float32),
            ),
            strict=True,
        )
    )


def inputs_of_spatial_pyramid(draw: Draw) -> Inputs:
    return dict(zip(("X",), (draw.rng.normal(size=(32, 32, 48)).astype(np.float32),), strict=True))


def inputs_of_hopfield(draw: Draw) -> Inputs:
    p = np.sign(draw.rng.normal(size=(5, 96)))
    values = ((p.T @ p / 96).astype(np.float32), np.sign(draw.rng.normal(size=(16, 96))).astype(np.float32), 5)
    return dict(zip(("W", "S"), (values[k] for k in (0, 1)), strict=True))


def palindromic_subsequence(s):
    n = s.shape[0]

    def step(k, st):
        p2, p1 = st
        j = jnp.arange(n) + k
        eq = s == s[jnp.minimum(j, n - 1)]
        cur = jnp.where(eq, jnp.roll(p2, -1) + 2, jnp.maximum(jnp.roll(p1, -1), p1))
        return (p1, cur)

    z = jnp.zeros(n, jnp.int32)
    return lax.fori_loop(1, n, step, (z, z + 1))[1][0]


def burst_balloons(a):
    n = a.shape[0] + 2
    v = jnp.pad(a, 1, constant_values=1)
    i = jnp.arange(n)

    def step(ln, dp):
        l = i
        r = jnp.minimum(l + ln, n - 1)
        k = i[None]
        c = dp + dp[:, r].T + v[:, None] * v * v[r][:, None]
        ok = (k > l[:, None]) & (k < r[:, None])
        b = jnp.where(ok, c, 0).max(1)
        return dp.at[l, jnp.where(l + ln < n, l + ln, n)].set(b, mode="drop")

    return lax.fori_loop(2, n, step, jnp.zeros((n, n), jnp.int32))[0, -1]


def max_rectangle_sum(A):
    n, _m = A.shape
    P = jnp.pad(jnp.cumsum(jnp.cumsum(A, 0), 1), ((1, 0), (1, 0)))
    i, j = np.triu_indices(n + 1, 1)
    R = P[j] - P[i]
    return (R[:, 1:] - lax.cummin(R[:, :-1], axis=1)).max()


def csr_sssp(indptr, idx, w, src):
    sweeps = 8
    n = indptr.shape[0] - 1
    u = jnp.searchsorted(indptr, jnp.arange(idx.shape[0]), side="right") - 1
    d = jnp.full(n, 1000000000.0, w.dtype).at[src].set(0)
    return lax.fori_loop(0, sweeps, lambda _, d: d.at[idx].min(d[u] + w), d)


def modularity(A, c, k):
    deg = A.sum(1)
    m2 = deg.sum()
    return jnp.where(c[:, None] == c, A - deg[:, None] * deg / m2, 0).sum() / m2


def ell_spmm(cols, vals, X):
    ok = cols >= 0
    return jnp.einsum("ip,ipj->ij", jnp.where(ok, vals, 0), X[jnp.where(ok, cols, 0)])


def crc32_rows(rows):
    t = []
    for i in range(256):
        c = i
        for _ in range(8):
            c = 3988292384 ^ c >> 1 if c & 1 else c >> 1
        t.append(c)
    t = jnp.array(np.array(t, np.uint32))

    def step(c, b):
        return (t[(c ^ b) & 255] ^ c >> 8, None)

    return lax.scan(step, jnp.full(rows.shape[0], 4294967295, jnp.uint32), rows.T.astype(jnp.uint32))[0] ^ jnp.uint32(
        4294967295
    )


def word_lengths_histogram(text):
    n = text.shape[0]
    i = jnp.arange(n)
    sp = text == 32
    last = lax.cummax(jnp.where(sp, i, -1))
    ln = i - last
    end = ~sp & jnp.concatenate([sp[1:], jnp.ones(1, bool)])
    return jnp.zeros(17, jnp.int32).at[jnp.where(end, jnp.minimum(ln, 15), 16)].add(1)[:16]


def manacher_odd(s):
    n = s.shape[0]
    c = jnp.arange(n)

    def cond(st):
        return st[1].any()

    def body(st):
        k, go = st
        a = c - k - 1
        b = c + k + 1
        ok = go & (a >= 0) & (b < n) & (s[jnp.maximum(a, 0)] == s[jnp.minimum(b, n - 1)])
        return (k + ok, ok)

    return lax.while_loop(cond, body, (jnp.zeros(n, jnp.int32), jnp.ones(n, bool)))[0]


def minesweeper_counts(M):
    p = jnp.pad(M.astype(jnp.int32), 1)
    r = p[:-2] + p[1:-1] + p[2:]
    c = r[:, :-2] + r[:, 1:-1] + r[:, 2:]
    return jnp.where(M, -1, c - p[1:-1, 1:-1])


def flood_sweeps(wall, sy, sx):
    sweeps = 4
    free = ~wall
    w = wall.shape[1]

    def row(prev, x):
        f, m = x
        a = m | f & prev

        def comb(p, q):
            return (q[0] & p[0], q[1] | q[0] & p[1])

        _, r = lax.associative_scan(comb, (f, a))
        return (r, r)

    z = jnp.zeros(w, bool)

    def sweep(_, m):
        m = lax.scan(row, z, (free, m))[1]
        m = lax.scan(row, z, (free[::-1, ::-1], m[::-1, ::-1]))[1]
        return m[::-1, ::-1]

    return lax.fori_loop(0, sweeps, sweep, jnp.zeros(wall.shape, bool).at[sy, sx].set(True))


def tetris_clear(B):
    h, w = B.shape
    full = (B != 0).all(1)
    keep = ~full
    below = jnp.cumsum(keep[::-1])[::-1]
    return (
        jnp.zeros((h, w), B.dtype).at[jnp.where(keep, h - below, h)].set(B, mode="drop"),
        full.sum().astype(jnp.int32),
    )


def permutation_test(x, y, perms):
    n, _m = (len(x), len(y))
    z = jnp.concatenate([x, y])[perms]
    obs = jnp.abs(x.mean() - y.mean())
    d = jnp.abs(z[:, :n].mean(1) - z[:, n:].mean(1))
    return (d >= obs).mean()


def theil_sen(x, y):
    i, j = np.triu_indices(x.shape[0], 1)
    s = jnp.sort((y[j] - y[i]) / (x[j] - x[i]))
    return s[s.shape[0] // 2]


def ljung_box(x):
    lags = 20
    n = x.shape[0]
    d = x - x.mean()
    c0 = (d * d).sum()
    q = 0
    for k in range(1, lags + 1):
        r = (d[k:] * d[:-k]).sum() / c0
        q = q + r * r / (n - k)
    return n * (n + 2) * q


def inputs_of_palindromic_subsequence(draw: Draw) -> Inputs:
    return dict(zip(("s",), (draw.rng.integers(0, 4, 160).astype(np.int32),), strict=True))


def inputs_of_burst_balloons(draw: Draw) -> Inputs:
    return dict(zip(("a",), (draw.rng.integers(1, 20, 60).astype(np.int32),), strict=True))


def inputs_of_max_rectangle_sum(draw: Draw) -> Inputs:
    return dict(zip(("A",), (draw.rng.normal(size=(40, 48)).astype(np.float32),), strict=True))


def inputs_of_csr_sssp(draw: Draw) -> Inputs:
    n = 300
    deg = 1 + np.arange(n) % 7
    p = np.concatenate([[0], np.cumsum(deg)]).astype(np.int32)
    values = (p, draw.rng.integers(0, n, p[-1]).astype(np.int32), draw.rng.random(p[-1]).astype(np.float32), 3, 8)
    return dict(zip(("indptr", "idx", "w", "src"), (values[k] for k in (0, 1, 2, 3)), strict=True))


def inputs_of_modularity(draw: Draw) -> Inputs:
    A = (draw.rng.random((200, 200)) < 0.1).astype(np.float32)
    A = A + A.T
    return dict(zip(("A", "c", "k"), (A, draw.rng.integers(0, 6, 200).astype(np.int32), 6), strict=True))


def inputs_of_ell_spmm(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("cols", "vals", "X"),
            (
                draw.rng.integers(-1, 300, (300, 8)).astype(np.int32),
                draw.rng.normal(size=(300, 8)).astype(np.float32),
                draw.rng.normal(size=(300, 32)).astype(np.float32),
            ),
            strict=True,
        )
    )


def inputs_of_crc32_rows(draw: Draw) -> Inputs:
    return dict(zip(("rows",), (draw.rng.integers(0, 256, (256, 64)).astype(np.uint8),), strict=True))


def inputs_of_word_lengths_histogram(draw: Draw) -> Inputs:
    return dict(zip(("text",), (np.where(draw.rng.random(8000) < 0.18, 32, 97).astype(np.uint8),), strict=True))


def inputs_of_manacher_odd(draw: Draw) -> Inputs:
    return dict(zip(("s",), (draw.rng.integers(0, 3, 1000).astype(np.uint8),), strict=True))


def inputs_of_minesweeper_counts(draw: Draw) -> Inputs:
    return dict(zip(("M",), (draw.rng.random((150, 200)) < 0.2,), strict=True))


def inputs_of_flood_sweeps(draw: Draw) -> Inputs:
    wl = draw.rng.random((40, 48)) < 0.25
    wl[5, 5] = False
    values = (wl, 5, 5, 4)
    return dict(zip(("wall", "sy", "sx"), (values[k] for k in (0, 1, 2)), strict=True))


def inputs_of_tetris_clear(draw: Draw) -> Inputs:
    B = draw.rng.integers(0, 7, (200, 40)).astype(np.int32)
    B[::5] = 3
    return dict(zip(("B",), (B,), strict=True))


def inputs_of_permutation_test(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("x", "y", "perms"),
            (
                draw.rng.normal(size=40).astype(np.float32),
                (draw.rng.normal(size=50) + 0.4).astype(np.float32),
                np.stack([draw.rng.permutation(90) for _ in range(200)]).astype(np.int32),
            ),
            strict=True,
        )
    )


def inputs_of_theil_sen(draw: Draw) -> Inputs:
    return dict(
        zip(
            ("x", "y"),
            (np.sort(draw.rng.random(70)).astype(np.float32), draw.rng.normal(size=70).astype(np.float32)),
            strict=True,
        )
    )


def inputs_of_ljung_box(draw: Draw) -> Inputs:
    values = (draw.rng.normal(size=3000).astype(np.float32), 20)
    return dict(zip(("x",), (values[k] for k in (0,)), strict=True))


INPUTS: dict[str, Callable[[Draw], Inputs]] = {
    "summed_area": lambda draw: {"A": draw.floats(512, 512)},
    "window_of_positions": lambda draw: {"A": draw.floats(257, 16), "w": draw.floats(5)},
    "dilated_groups": lambda draw: {"X": draw.floats(32, 40, 40), "W": draw.floats(32, 8, 3, 3)},
    "transposed_convolution": lambda draw: {"X": draw.floats(32, 32), "W": draw.floats(4, 4)},
    "tiles_with_tails": lambda draw: {"A": draw.floats(300, 200), "B": draw.floats(200, 250)},
    "pairwise_forces": lambda draw: {"P": draw.floats(600, 3)},
    "bilinear_upsampling": lambda draw: {"X": draw.floats(128, 128)},
    "game_of_life": lambda draw: {"G": draw.below(2, 512, 512)},
    "moving_average": lambda draw: {"X": draw.floats(128, 1024)},
    "nearest_centre": lambda draw: {"X": draw.floats(2000, 8), "C": draw.floats(20, 8)},
    "cross_entropy": lambda draw: {"L": draw.floats(512, 1000), "y": draw.below(1000, 512)},
    "rotary_embedding": lambda draw: {"X": draw.floats(512, 64), "C": draw.floats(512, 32), "S": draw.floats(512, 32)},
    "causal_attention": lambda draw: {"Q": draw.floats(256, 64), "Kk": draw.floats(256, 64), "V": draw.floats(256, 64)},
    "tridiagonal_systems": lambda draw: {
        "a": draw.floats(200, 300) * 0.1,
        "b": 4 + draw.floats(200, 300) * 0.1,
        "c": draw.floats(200, 300) * 0.1,
        "d": draw.floats(200, 300),
    },
    "group_norm_in_blocks": lambda draw: {"X": draw.floats(8, 32, 32, 4)},
    "ellpack_product": lambda draw: {
        "A": draw.floats(5000, 16),
        "J": draw.below(5000, 5000, 16),
        "x": draw.floats(5000),
    },
    "max_pool_in_blocks": lambda draw: {"X": draw.floats(8, 64, 64, 4)},
    "histogram_2d": lambda draw: {"I": draw.below(32, 20000), "J": draw.below(32, 20000), "W": draw.floats(20000)},
    "recurrent_gate": lambda draw: {
        "W": draw.floats(512, 256) * 0.05,
        "U": draw.floats(512, 512) * 0.05,
        "x": draw.floats(256),
        "h": draw.floats(512),
        "b": draw.floats(512),
    },
    "horner": lambda draw: {"X": draw.floats(20000), "c": draw.floats(12)},
    "layer_norm_with_padding": lambda draw: {"X": draw.floats(256, 200), "g": draw.floats(200), "b": draw.floats(200)},
    "product_of_blocks": lambda draw: {"A": draw.floats(16, 16, 16, 16), "B": draw.floats(256, 100)},
    "depthwise_padded": lambda draw: {"X": draw.floats(32, 56, 56), "W": draw.floats(32, 3, 3)},
    "softmax_of_lengths": lambda draw: {"S": draw.floats(64, 128), "n": draw.below(127, 64) + 1},
    "zero_points": lambda draw: {
        "A": draw.below(255, 128, 256).astype(np.int8),
        "B": draw.below(255, 256, 64).astype(np.int8),
        "za": 3,
        "zb": -2,
    },
    "average_pool_in_blocks": lambda draw: {"X": draw.floats(8, 32, 32, 4)},
    "heat": lambda draw: {"A": draw.floats(128, 128)},
    "knapsack": lambda draw: {"w": draw.below(49, 60) + 1, "v": draw.below(900, 60)},
    "covariance_of_samples": lambda draw: {"X": draw.floats(1000, 40)},
    "segment_means": lambda draw: {"X": draw.floats(5000, 16), "L": draw.below(100, 5000)},
    "escape_time": lambda draw: {"cx": draw.floats(128, 128), "cy": draw.floats(128, 128)},
    "strided_convolution_in_blocks": lambda draw: {"X": draw.floats(4, 33, 33, 4), "W": draw.floats(24, 16, 3, 3)},
    "running_logsumexp": lambda draw: {"X": draw.floats(64, 512)},
    "leaky_product": lambda draw: {"A": draw.floats(200, 200)},
    "interpolation": lambda draw: {"x": draw.floats(100), "q": draw.unit(10000)},
    "lcs": lambda draw: {"a": draw.below(4, 400), "b": draw.below(4, 400)},
    "binomial_tree": lambda draw: {"S": 80 + 50 * draw.unit(64)},
    "pagerank_csr": lambda draw: {
        "ptr": draw.offsets(1001, 8000),
        "idx": draw.below(1000, 8000),
        "x": draw.floats(1000),
    },
    "popcount": lambda draw: {"A": draw.below(2**31 - 1, 20000).astype(np.uint32)},
    "erosion": lambda draw: {"A": draw.floats(256, 256)},
    "lbm_collide": lambda draw: {
        "G": 0.5 + draw.unit(9, 128, 128),
        "w": draw.floats(9),
        "cx": draw.floats(9),
        "cy": draw.floats(9),
    },
    "odd_even_sort": lambda draw: {"A": draw.floats(256)},
    "autocorrelation": lambda draw: {"x": draw.floats(4096)},
    "dft": lambda draw: {"x": draw.floats(512)},
    "trmm_lower": lambda draw: {"L": draw.floats(300, 300), "B": draw.floats(300, 200)},
    "conv_transpose": lambda draw: {"X": draw.floats(8, 32, 32), "W": draw.floats(8, 8, 4, 4)},
    "max_pool_argmax": lambda draw: {"X": draw.floats(16, 64, 64)},
    "wave_2d": lambda draw: {"U": draw.floats(2, 128, 128), "V": draw.floats(128, 128)},
    "embedding_bag": lambda draw: {
        "E": draw.floats(5000, 32),
        "idx": draw.below(5000, 500, 20),
        "n": draw.below(21, 500),
    },
    "bellman_ford": lambda draw: {"u": draw.below(300, 3000), "v": draw.below(300, 3000), "w": 0.5 + draw.unit(3000)},
    "black_scholes": lambda draw: {"S": 0.5 + draw.unit(50000), "K": 0.5 + draw.unit(50000)},
    "batched_small_inverse": lambda draw: {"A": draw.floats(4000, 3, 3) + 3 * np.eye(3, dtype=np.float32)},
    "csr_spmm": lambda draw: {
        "ptr": draw.offsets(501, 5000),
        "idx": draw.below(500, 5000),
        "a": draw.floats(5000),
        "X": draw.floats(500, 16),
    },
    "grouped_rms_norm": lambda draw: {"X": draw.floats(256, 64, 16), "g": draw.floats(64, 16)},
    "viterbi": lambda draw: {"E": draw.floats(200, 32), "A": draw.floats(32, 32)},
    "image_gradient_hist": lambda draw: {"I_": draw.floats(128, 128)},
    "median3": lambda draw: {"x": draw.floats(20000)},
    "exp_moving_var": lambda draw: {"x": draw.floats(64, 1000)},
    "nn_distance_matrix": lambda draw: {"X": draw.floats(400, 16), "Y": draw.floats(300, 16)},
    "sliding_distance": lambda draw: {"x": draw.floats(8192), "q": draw.floats(64)},
    "instance_norm": lambda draw: {"X": draw.floats(16, 64, 64)},
    "jacobi_3d": lambda draw: {"A": draw.floats(34, 34, 34), "B": draw.floats(34, 34, 34)},
    "gqa_scores": lambda draw: {
        "Q": draw.floats(8, 64, 32),
        "Km": draw.floats(2, 64, 32),
        "n": np.array([40], np.int32),
        "S": draw.floats(8, 64, 64),
    },
    "drawdown": lambda draw: {"P": draw.unit(64, 2048)},
    "int8_product": lambda draw: {
        "A": draw.below(50, 256, 256).astype(np.int8),
        "B": draw.below(50, 256, 256).astype(np.int8),
        "za": draw.below(9, 1),
        "zb": draw.below(9, 256),
    },
    "gaussian_reflect": lambda draw: {"X": draw.floats(256, 256), "w": draw.floats(5)},
    "first_above": lambda draw: {"X": draw.unit(512, 512)},
    "confusion": lambda draw: {"y": draw.below(10, 20000), "p": draw.below(10, 20000)},
    "kalman": lambda draw: {"Z": draw.floats(256, 512)},
    "conv_nhwc": lambda draw: {
        "X": draw.floats(2, 32, 32, 16),
        "W": draw.floats(3, 3, 16, 32),
        "b": draw.floats(32),
    },
    "red_black": lambda draw: {"U": draw.floats(130, 130), "F": draw.floats(130, 130)},
    "mean_pool": lambda draw: {"X": draw.floats(64, 128, 64), "n": 1 + draw.below(128, 64)},
    "rolling_hash": lambda draw: {"s": draw.below(256, 128, 1000).astype(np.uint32)},
    "bilateral": lambda draw: {"X": draw.unit(132, 132)},
    "haar": lambda draw: {"X": draw.floats(512, 512)},
    "batched_cross": lambda draw: {"A": draw.floats(20000, 3), "B": draw.floats(20000, 3)},
    "quat_rotate": lambda draw: {"q": draw.floats(20000, 4), "v": draw.floats(20000, 3)},
    "histogram_equalise": lambda draw: {"X": draw.below(256, 256, 256).astype(np.uint8)},
    "givens_rotations": lambda draw: {"A": draw.floats(64, 64), "c": draw.unit(63), "s": draw.unit(63)},
    "ssm_scan": lambda draw: {
        "U": draw.floats(256, 64),
        "A": draw.unit(64, 16),
        "Bm": draw.floats(256, 16),
        "Cm": draw.floats(256, 16),
    },
    "matmul_tails": lambda draw: {"A": draw.floats(197, 96), "B": draw.floats(96, 100)},
    "ragged_softmax": lambda draw: {"X": draw.floats(64, 100), "n": 1 + draw.below(100, 64)},
    "roi_max": lambda draw: {"X": draw.floats(64, 64), "R": draw.below(57, 100, 2)},
    "weno_flux": lambda draw: {"u": draw.floats(10004)},
    "blocked_layernorm": lambda draw: {"X": draw.floats(64, 4, 16), "g": draw.floats(60)},
    "masked_prefix_mean": lambda draw: {"X": draw.floats(256, 512), "M": draw.below(50, 256, 512)},
    "gram_schmidt": lambda draw: {"A": draw.floats(128, 32)},
    "legendre": lambda draw: {"x": draw.unit(10000)},
    "window_attention": lambda draw: {
        "Q": draw.floats(256, 32),
        "Km": draw.floats(256, 32),
        "V": draw.floats(256, 32),
    },
    "paged_attention": lambda draw: {
        "Q": draw.floats(16, 64),
        "KC": draw.floats(64, 16, 64),
        "VC": draw.floats(64, 16, 64),
        "table": draw.below(64, 16, 8),
        "lens": 1 + draw.below(128, 16),
    },
    "int4_dequant": lambda draw: {
        "P": draw.below(256, 256, 128).astype(np.uint8),
        "sc": draw.floats(256, 8),
        "x": draw.floats(256),
    },
    "yuv_to_rgb": lambda draw: {
        "Y": draw.below(256, 128, 128).astype(np.uint8),
        "U": draw.below(256, 64, 64).astype(np.uint8),
        "V": draw.below(256, 64, 64).astype(np.uint8),
    },
    "rule110": lambda draw: {"A": draw.below(2, 500)},
    "dtw": lambda draw: {"a": draw.floats(200), "b": draw.floats(180)},
    "hmm_forward": lambda draw: {"A": draw.unit(16, 16) / 8, "E": draw.unit(300, 16) + 0.1},
    "block_sparse_product": lambda draw: {
        "ptr": draw.offsets(33, 160),
        "col": draw.below(32, 160),
        "V": draw.floats(160, 8, 8),
        "X": draw.floats(256, 16),
    },
    "diagonals_product": lambda draw: {
        "D": draw.floats(5, 2000),
        "off": np.array([-30, -1, 0, 1, 30], np.int32),
        "x": draw.floats(2000),
    },
    "rk4_lorenz": lambda draw: {"S": draw.unit(1000, 3)},
    "toeplitz": lambda draw: {"c": draw.floats(511), "x": draw.floats(256)},
    "segmented_scan": lambda draw: {"x": draw.floats(20000), "f": (draw.below(50, 20000) == 0).astype(np.int32)},
    "gru_masked": lambda draw: {
        "X": draw.floats(20, 32, 16),
        "W": draw.floats(16, 24) / 4,
        "U": draw.floats(24, 24) / 5,
        "lens": 1 + draw.below(20, 32),
    },
    "ctc_forward": lambda draw: {"P": draw.unit(100, 30) / 2, "lab": draw.below(30, 41)},
    "experts_of_tokens": lambda draw: {"X": draw.floats(256, 32), "G": draw.floats(32, 8), "W": draw.floats(8, 32, 32)},
    "hough_transform": lambda draw: {
        "E": draw.below(2, 64, 64),
        "ct": np.cos(np.arange(36) * np.pi / 36).astype(np.float32),
        "st": np.sin(np.arange(36) * np.pi / 36).astype(np.float32),
    },
    "cholesky_batch": lambda draw: {
        "A": (lambda a: np.einsum("bij,bkj->bik", a, a) + np.eye(4))(draw.floats(5000, 4, 4)).astype(np.float32)
    },
    "small_systems": lambda draw: {
        "A": draw.floats(5000, 3, 3) + 4 * np.eye(3, dtype=np.float32),
        "r": draw.floats(5000, 3),
    },
    "median_of_five": lambda draw: {"X": draw.floats(5000, 5)},
    "de_casteljau": lambda draw: {"P": draw.floats(6, 2), "t": draw.unit(4000)},
    "biquad_cascade": lambda draw: {"X": draw.floats(64, 500), "B": draw.unit(4, 5) / 3},
    "best_two": lambda draw: {"X": draw.floats(2000, 64)},
    "small_powers": lambda draw: {"A": draw.floats(3000, 3, 3) / 3},
    "three_nearest": lambda draw: {"Q": draw.floats(200, 4), "D": draw.floats(500, 4)},
    "short_edit_distances": lambda draw: {"A": draw.below(4, 500, 8), "B": draw.below(4, 500, 8)},
    "small_lu": lambda draw: {"A": draw.floats(2000, 6, 6) + 8 * np.eye(6, dtype=np.float32)},
    "lstm": lambda draw: {
        "X": draw.floats(30, 16, 24),
        "W": draw.floats(24, 4, 32) / 5,
        "U": draw.floats(32, 4, 32) / 6,
    },
    "depthwise_in_blocks": lambda draw: {"X": draw.floats(1, 2, 30, 30, 16), "W": draw.floats(2, 3, 3, 16)},
    "mean_of_crops": lambda draw: {"X": draw.floats(32, 128, 16), "s": draw.below(65, 32)},
    "kalman_position_speed": lambda draw: {"Z": draw.floats(256, 100)},
    "crc_bytes": lambda draw: {"M": draw.below(256, 4000, 16).astype(np.uint8)},
    "sinkhorn": lambda draw: {"K": draw.unit(100, 120) + 0.1},
    "harris_corners": lambda draw: {"image": draw.floats(80, 80)},
    "upsampled_beside_skip": _skip,
    "squeeze_excite": lambda d: {
        "X": _padded(d.floats(4, 14, 14, 8), _CHANNELS),
        "W1": d.floats(8, 32),
        "W2": d.floats(32, 8),
    },
    "qlinear_conv1d": _quantized,
    "attention_of_padded_heads": _heads,
    "stencil_over_bricks": _bricks,
    "banded_substitution": lambda d: {"L": d.floats(512, 8) * 0.1 + np.eye(8, dtype=np.float32)[7], "b": d.floats(512)},
    "padded_batch_mean": _batch,
    "bitmask_select": lambda d: {"B": d.below(2**31 - 1, 64, 4).astype(np.uint32), "X": d.floats(64, 128)},
    "hexagon": lambda d: {"X": d.floats(64, 64)},
    "upper_packed_matvec": lambda d: {"A": d.floats(5050), "x": d.floats(100)},
    "conv_relu_pool": _images,
    "beamforming": lambda d: {"R": d.floats(8, 1024), "delay": d.below(24, 32, 8)},
    "embedding_backward": lambda d: {"ids": d.below(200, 1024), "G": d.floats(1024, 32)},
    "token_shift_mix": lambda d: {"X": d.floats(8, 100, 64), "mu": d.unit(64)},
    "decayed_averages": lambda d: {
        "K": d.floats(4, 64, 32),
        "V": d.floats(4, 64, 32),
        "w": d.unit(32),
        "u": d.floats(32),
    },
    "dilated_causal": lambda d: {"X": d.floats(16, 200), "W": d.floats(16, 16, 2) / 5},
    "smoothed_cross_entropy": _logits,
    "coin_change": lambda d: {"c": 1 + d.below(49, 8)},
    "autoregressions": lambda d: {"e": d.floats(64, 400), "phi": d.floats(4) / 8},
    "prediction_errors": lambda d: {"x": d.floats(32, 256), "a": d.floats(32, 10)},
    "rod_cutting": lambda d: {"p": d.unit(200)},
    "poly_mul": lambda d: {"a": d.floats(128), "b": d.floats(128)},
    "morph_gradient": lambda d: {"image": d.floats(100, 100)},
    "block_norms": lambda d: {"A": d.floats(250, 250)},
    "local_contrast": lambda d: {"image": d.floats(64, 64)},
    "bsr_matvec": lambda d: {
        "ptr": d.offsets(33, 128),
        "col": d.below(32, 128),
        "V": d.floats(128, 4, 4),
        "x": d.floats(128),
    },
    "levenshtein_band": lambda d: {"a": d.below(4, 100), "b": d.below(4, 100)},
    "hamming_matrix": lambda draw: {
        "A": draw.rng.integers(0, 2**32, 256, dtype=np.uint32),
        "B": draw.rng.integers(0, 2**32, 250, dtype=np.uint32),
    },
    "leading_zeros": lambda draw: {
        "A": draw.rng.integers(0, 2**32, 65536, dtype=np.uint32) >> draw.rng.integers(0, 32, 65536, dtype=np.uint32)
    },
    "gray_decode": lambda draw: {"G": draw.rng.integers(0, 2**32, 65536, dtype=np.uint32)},
    "morton_codes": lambda draw: {
        "X": draw.rng.integers(0, 2**16, 65536, dtype=np.uint32),
        "Y": draw.rng.integers(0, 2**16, 65536, dtype=np.uint32),
    },
    "upwind": lambda draw: {"U": draw.floats(128, 126), "a": draw.floats(128, 126), "b": draw.floats(128, 126)},
    "mac_projection": lambda draw: {"u": draw.floats(129, 128), "v": draw.floats(128, 129)},
    "red_black_3d": lambda draw: {"U": draw.floats(34, 34, 34), "F": draw.floats(34, 34, 34)},
    "restrict_prolong": lambda draw: {"F": draw.floats(257, 257)},
    "perona_malik": lambda draw: {"image": draw.floats(128, 100)},
    "last_minimum": lambda draw: {"X": np.round(draw.floats(256, 500) * 4) / 4},
    "rank_sort": lambda draw: {"x": draw.floats(1000)},
    "row_histograms": lambda draw: {"x": draw.below(16, 128, 300)},
    "scatter_means": lambda draw: {"k": draw.below(64, 2000), "X": draw.floats(2000, 32)},
    "csc_product": lambda draw: {
        "ptr": draw.offsets(1001, 10000) if 1000 > 1 else np.array([0, 10000], np.int32),
        "row": draw.below(1000, 10000),
        "val": draw.floats(10000),
        "x": draw.floats(1000),
    },
    "conv1d_blocked_tails": lambda draw: {"X": draw.floats(8, 257, 4), "W": draw.floats(8, 8, 3, 4, 4)},
    "deconv1d_gather": lambda draw: {"X": draw.floats(16, 200), "W": draw.floats(16, 16, 4)},
    "im2col_product": lambda draw: {"X": draw.floats(8, 32, 32), "W": draw.floats(16, 72)},
    "streaming_attention": lambda draw: {
        "Q": draw.floats(256, 32),
        "K": draw.floats(256, 32),
        "V": draw.floats(256, 32),
    },
    "local_attention": lambda draw: {"Q": draw.floats(512, 32), "K": draw.floats(512, 32), "V": draw.floats(512, 32)},
    "linear_attention": lambda draw: {"Q": draw.floats(256, 32), "K": draw.floats(256, 32), "V": draw.floats(256, 32)},
    "cross_lengths": lambda draw: {
        "Q": draw.floats(4, 64, 32),
        "K": draw.floats(4, 100, 32),
        "V": draw.floats(4, 100, 32),
        "n": 1 + draw.below(100, 4),
    },
    "int8_conv": lambda draw: {
        "X": (draw.below(256, 16, 30, 30) - 128).astype(np.int8),
        "W": (draw.below(256, 16, 16, 3, 3) - 128).astype(np.int8),
        "m": draw.unit(16) * 0.001,
    },
    "q4_matvec": lambda draw: {
        "Q": draw.below(256, 256, 16, 16).astype(np.uint8),
        "s": draw.floats(256, 16),
        "x": draw.floats(512),
    },
    "affine_gaps": lambda draw: {"a": draw.below(4, 150), "b": draw.below(4, 140)},
    "subset_sums": lambda draw: {"a": 1 + draw.below(200, 50)},
    "sor_dense": lambda draw: {
        "A": draw.floats(200, 200) + 3 * 200 * np.eye(200, dtype=np.float32),
        "b": draw.floats(200),
    },
    "walsh_hadamard": lambda draw: {"x": draw.floats(4096)},
    "distance_transform": lambda draw: {"M": draw.rng.random((200, 220)) < 0.1},
    "label_spread": lambda draw: {"M": draw.rng.random((128, 128)) < 0.7},
    "nearest_resize": lambda draw: {"X": draw.floats(200, 220)},
    "masked_correlation": lambda draw: {"X": draw.floats(1000, 32), "M": draw.rng.random((1000, 32)) < 0.8},
    "triangle_count": lambda draw: {"A": (draw.rng.random((160, 160)) < 0.2).astype(np.int32)},
    "demosaic": lambda draw: {"R": draw.unit(256, 256), "C": np.zeros((3, 256, 256), np.float32)},
    "fluid_average": lambda draw: {"M": draw.rng.random((200, 200)) < 0.7, "X": draw.floats(200, 200)},
    "bfs_levels": lambda draw: {"A": draw.rng.random((256, 256)) < 3 / 256},
    "palindromes": lambda draw: {"s": draw.below(3, 200)},
    "alpha_compositing": lambda draw: {"C": draw.unit(32, 2000, 3), "A": draw.unit(32, 2000)},
    "group_best": lambda draw: {"g": draw.below(64, 5000), "v": draw.floats(5000)},
    "fft_stages": lambda draw: {
        "re": draw.floats(1024),
        "im": draw.floats(1024),
        "c": np.cos(2 * np.pi * np.arange(1024 // 2) / 1024).astype(np.float32),
        "s": -np.sin(2 * np.pi * np.arange(1024 // 2) / 1024).astype(np.float32),
    },
    "xtea": lambda draw: {
        "V": draw.rng.integers(0, 2**32, (4096, 2)).astype(np.uint32),
        "key": draw.rng.integers(0, 2**32, 4).astype(np.uint32),
    },
    "kernel_density": lambda draw: {"x": draw.floats(1000), "g": draw.floats(512)},
    "fir_decimate": lambda draw: {"x": draw.floats(4 * 16384 + 28), "h": draw.floats(32)},
    "csr_components": lambda draw: {"ptr": draw.offsets(1000 + 1, 4000), "idx": draw.below(1000, 4000)},
    "matrix_chain": lambda draw: {"w": draw.unit(64 + 1), "M": np.zeros((64, 64), np.float32)},
    "compaction": lambda draw: {"X": draw.floats(10000), "Y": np.zeros(10000, np.float32)},
    "mamba_scan": lambda draw: {
        "x": draw.floats(128, 64),
        "dt": draw.unit(128, 64),
        "A": -draw.unit(64, 16),
        "B": draw.floats(128, 16),
        "C": draw.floats(128, 16),
    },
    "mttkrp": lambda draw: {"X": draw.floats(64, 64, 64), "B": draw.floats(64, 16), "C": draw.floats(64, 16)},
    "welford": lambda draw: {"X": draw.floats(1000, 64)},
    "goertzel": lambda draw: {"x": draw.floats(512), "c": (2 * np.cos(draw.rng.random(64) * 3)).astype(np.float32)},
    "wave_obstacles": lambda draw: {
        "U": draw.floats(2, 200, 200),
        "W": (draw.rng.random((200, 200)) < 0.1).astype(np.int32),
    },
    "adler32": lambda draw: {"D": draw.rng.integers(0, 256, (256, 128)).astype(np.uint8)},
    "sliced_ell": lambda draw: {
        "ptr": draw.offsets(200 + 1, 2000),
        "J": draw.below(1600, 2000, 8),
        "V": draw.floats(2000, 8),
        "x": draw.floats(1600),
    },
    "non_max_suppression": lambda draw: {"G": draw.unit(256, 256), "A": draw.below(4, 256, 256)},
    "run_lengths": lambda draw: {"x": draw.below(2, 20000)},
    "bit_reversal": lambda draw: {"x": draw.floats(4096)},
    "overlap_add": lambda draw: {"X": draw.floats(200, 256), "w": draw.unit(256)},
    "frame_energies": lambda draw: {"X": draw.floats(20000), "w": draw.unit(400)},
    "zero_crossings": lambda draw: {"X": draw.floats(16, 4000)},
    "integrator_comb": lambda draw: {"X": draw.below(200, 16384) - 100},
    "normalised_adjacency": lambda draw: {"A": (draw.unit(400, 400) > 0.9).astype(np.float32)},
    "coo_times_matrix": lambda draw: {
        "R": draw.below(400, 3000),
        "C": draw.below(500, 3000),
        "V": draw.floats(3000),
        "X": draw.floats(500, 16),
    },
    "ell_transposed": lambda draw: {
        "C": draw.below(801, 1000, 8) - 1,
        "V": draw.floats(1000, 8),
        "x": draw.floats(1000),
    },
    "edge_softmax": lambda draw: {"D": draw.below(300, 4000), "S": draw.floats(4000)},
    "transitive_closure": lambda draw: {"A": draw.unit(128, 128) > 0.99},
    "asian_options": lambda draw: {"Z": draw.floats(2000, 50), "v": np.array([0.05], np.float32)},
    "rolling_covariance": lambda draw: {"X": draw.floats(4000), "Y": draw.floats(4000)},
    "relative_strength": lambda draw: {"P": 100 + np.cumsum(draw.floats(8, 2000), 1).astype(np.float32)},
    "bond_prices": lambda draw: {"c": draw.unit(500), "r": 0.1 * draw.unit(500), "m": draw.below(60, 500) + 1},
    "otsu_threshold": lambda draw: {"X": draw.bytes(20000)},
    "opening": lambda draw: {"X": draw.bytes(240, 320)},
    "box_from_sums": lambda draw: {"S": draw.floats(301, 401)},
    "seam_energies": lambda draw: {"E": draw.unit(200, 300)},
    "ordered_dither": lambda draw: {"X": draw.unit(250, 330), "B": draw.unit(8, 8)},
    "chroma_halved": lambda draw: {"U": draw.bytes(255, 311)},
    "thinned_edges": lambda draw: {"G": draw.unit(200, 200), "D": draw.below(4, 200, 200)},
    "vibrating_string": lambda draw: {"U": draw.floats(1000), "V": draw.floats(1000)},
    "shallow_water": lambda draw: {"H": 1 + 0.1 * draw.unit(512), "Q": 0.1 * draw.floats(512)},
    "charge_deposit": lambda draw: {"X": 127 * draw.unit(5000)},
    "rising_subsequence": lambda draw: {"A": draw.below(1000, 400)},
    "common_substring": lambda draw: {
        "s": draw.below(4, 200).astype(np.uint8),
        "t": draw.below(4, 300).astype(np.uint8),
    },
    "word_break": lambda draw: {"D": draw.unit(300, 12) > 0.8},
    "pattern_places": lambda draw: {"t": draw.below(4, 20000).astype(np.uint8), "p": draw.below(4, 8).astype(np.uint8)},
    "bitap": lambda draw: {"t": draw.bytes(64, 300), "M": draw.words(256)},
    "khatri_rao": lambda draw: {"A": draw.floats(63, 17), "B": draw.floats(45, 17)},
    "packed_rank_one": lambda draw: {"x": draw.floats(200), "A": draw.floats(20100)},
    "products_batch_last": lambda draw: {"A": draw.floats(3, 5, 2000), "B": draw.floats(5, 7, 2000)},
    "householder_panel": lambda draw: {"V": 0.1 * draw.floats(8, 150), "A": draw.floats(150, 90)},
    "layer_norm_backward": lambda draw: {
        "X": draw.floats(256, 192),
        "g": draw.floats(192),
        "dY": draw.floats(256, 192),
    },
    "conv_weight_gradient": lambda draw: {"X": draw.floats(4, 8, 34, 34), "dY": draw.floats(4, 16, 32, 32)},
    "max_pool_backward": lambda draw: {"X": draw.floats(16, 64, 64), "dY": draw.floats(16, 32, 32)},
    "hard_triplets": lambda draw: {"X": draw.floats(200, 24), "L": draw.below(10, 200)},
    "batch_norm_backward": lambda draw: {"X": draw.floats(8, 24, 20, 20), "dY": draw.floats(8, 24, 20, 20)},
    "relative_bias_scores": lambda draw: {
        "Q": draw.floats(4, 100, 16),
        "K": draw.floats(4, 100, 16),
        "b": draw.floats(4, 199),
    },
    "pixel_shuffle": lambda draw: {"X": draw.floats(36, 60, 60), "b": draw.floats(36)},
    "fnv_rows": lambda draw: {"S": draw.bytes(500, 40)},
    "xorshift_streams": lambda draw: {"S": draw.words(256)},
    "min_hashes": lambda draw: {"W": draw.words(100, 50), "a": draw.words(32), "b": draw.words(32)},
    "count_sketch": lambda draw: {"W": draw.words(2000), "a": draw.words(4)},
    "table_with_lerp": lambda draw: {"X": draw.floats(20000), "t": draw.floats(65)},
    "mirrored_taps": lambda draw: {"X": draw.floats(100, 300), "w": draw.floats(7)},
    "cylinder_diffusion": lambda draw: {"X": draw.floats(150, 200)},
    "one_sided_gradient": lambda draw: {"X": draw.floats(250, 250)},
    "blocked_channel_softmax": lambda draw: {"X": draw.floats(7, 900, 8)},
    "row_scan_in_blocks": lambda draw: {"X": draw.floats(64, 8, 32)},
    "requantized": lambda draw: {
        "X": (draw.bytes(400, 32)).view(np.int8),
        "W": draw.bytes(32, 48).view(np.int8),
        "s": 0.01 * draw.unit(48),
    },
    "row_products": lambda draw: {"X": 1 + 0.02 * draw.floats(200, 300)},
    "savitzky_golay": lambda draw: {"X": draw.floats(100000), "c": draw.floats(7)},
    "polyphase_up": lambda draw: {"X": draw.floats(8192), "h": draw.floats(24)},
    "circular_convolution": lambda draw: {"X": draw.floats(64, 256), "h": draw.floats(16)},
    "pairwise_l1": lambda draw: {"A": draw.floats(200, 32), "B": draw.floats(300, 32)},
    "ema_crossings": lambda draw: {"X": draw.floats(64, 1000)},
    "nbody_leapfrog": lambda draw: {"P": draw.floats(64, 3), "V": draw.floats(64, 3)},
    "sph_density": lambda draw: {"P": draw.unit(500, 2), "m": draw.unit(500)},
    "ising_checkerboard": lambda draw: {
        "S": 2 * draw.below(2, 128, 128) - 1,
        "U": draw.unit(4, 2, 128, 128),
        "p": draw.unit(9),
    },
    "forest_fire": lambda draw: {"G": draw.below(3, 200, 200), "U": draw.unit(8, 200, 200)},
    "polygon_areas": lambda draw: {"P": draw.floats(400, 32, 2)},
    "point_in_polygon": lambda draw: {"Q": draw.floats(2000, 2), "P": draw.floats(40, 2)},
    "z_buffer": lambda draw: {"P": draw.floats(32, 4)},
    "ray_spheres": lambda draw: {"D": _directions(draw), "C": _spheres(draw)},
    "weighted_histogram": lambda draw: {"X": draw.unit(20000), "W": draw.unit(20000)},
    "warp_affine": lambda draw: {"A": draw.floats(200, 200), "M": np.array([0.9, -0.3, 20, 0.3, 0.9, -10], np.float32)},
    "smith_waterman": lambda draw: {"a": draw.below(4, 128), "b": draw.below(4, 128)},
    "best_subarrays": lambda draw: {"X": draw.floats(100, 500)},
    "two_trades": lambda draw: {"P": 10 + draw.floats(50, 365)},
    "burgers_minmod": lambda draw: {"U": draw.unit(2048)},
    "conjugate_gradient": lambda draw: {"A": _definite(draw, 128), "b": draw.floats(128)},
    "power_iteration": lambda draw: {"A": _definite(draw, 256), "v": draw.floats(256)},
    "matrix_exponential": lambda draw: {"A": 0.1 * draw.floats(64, 64)},
    "kronecker": lambda draw: {"A": draw.floats(20, 30), "B": draw.floats(15, 10)},
    "tensor_pair": lambda draw: {"A": draw.floats(12, 14, 16, 18), "B": draw.floats(14, 10, 18, 20)},
    "swiglu": lambda draw: {
        "X": draw.floats(128, 96),
        "G": 0.1 * draw.floats(96, 160),
        "U": 0.1 * draw.floats(96, 160),
        "D": 0.1 * draw.floats(160, 96),
    },
    "conv3d": lambda draw: {"X": draw.floats(4, 20, 20, 20), "W": draw.floats(8, 4, 3, 3, 3)},
    "local_response_norm": lambda draw: {"X": draw.floats(32, 40, 40)},
    "max_unpool": lambda draw: {
        "V": draw.floats(16, 20, 20),
        "I": np.stack([draw.rng.permutation(1600)[:400].reshape(20, 20) for _ in range(16)]).astype(np.int32),
    },
    "adam_step": lambda draw: {
        "w": draw.floats(50000),
        "g": draw.floats(50000),
        "m": draw.floats(50000),
        "v": draw.unit(50000),
    },
    "collapse_repeats": lambda draw: {"X": draw.below(3, 4000)},
    "symmetric_lower_product": lambda draw: {"L": draw.floats(200, 200), "x": draw.floats(200)},
    "triangular_inverse": lambda draw: {"L": 0.1 * draw.floats(48, 48) + 2 * np.eye(48, dtype=np.float32)},
    "fletcher16": lambda draw: {"X": draw.bytes(64, 1000)},
    "lfsr_streams": lambda draw: {"S": draw.words(256)},
    "base64": lambda draw: {"X": draw.bytes(3000), "table": draw.bytes(64)},
    "zigzag_delta": lambda draw: {"X": (draw.words(128, 512) % 200).astype(np.uint32)},
    "kmeans_step": lambda draw: {"X": draw.floats(2000, 4), "C": draw.floats(12, 4)},
    "logistic_descent": lambda draw: {"X": draw.floats(500, 16), "y": draw.below(2, 500).astype(np.float32)},
    "tree_predict": lambda draw: {
        "X": draw.floats(3000, 10),
        "feature": draw.below(10, 127),
        "cut": draw.floats(127),
        "leaf": draw.floats(128),
    },
    "lagrange": lambda draw: {"x": np.arange(10, dtype=np.float32), "y": draw.floats(10), "q": 9 * draw.unit(5000)},
    "resample": lambda draw: {"X": draw.floats(16, 7000)},
    "dct_blocks": lambda draw: {"A": draw.floats(256, 256), "K": draw.floats(8, 8)},
    "census": lambda draw: {"A": draw.bytes(200, 200)},
    "stereo": lambda draw: {"L": draw.floats(100, 120), "R": draw.floats(100, 120)},
    "error_diffusion": lambda draw: {"A": draw.unit(48, 64)},
    "gauss_seidel_line": lambda draw: {"U": draw.floats(300), "F": draw.floats(300)},
    "crank_nicolson": lambda draw: {"U": draw.floats(256)},
    "spline_eval": lambda draw: {"knots": draw.floats(64, 4), "q": draw.unit(20000)},
    "wavelet_level": lambda draw: {"X": draw.floats(64, 1024), "h": draw.floats(4), "g": draw.floats(4)},
    "run_decode": lambda draw: {"starts": draw.offsets(101, 5000), "values": draw.floats(100)},
    "csr_row_best": lambda draw: {
        "ptr": draw.offsets(501, 8000),
        "val": draw.floats(8000),
        "col": draw.below(999, 8000),
    },
    "rank_of_merge": lambda draw: {"A": np.sort(draw.floats(1000)), "B": np.sort(draw.floats(1000))},
    "gelu_dropout": lambda draw: {"X": draw.floats(256, 512), "b": draw.floats(512), "keep": draw.bytes(256, 512) % 2},
    "count_in_boxes": lambda draw: {"P": draw.unit(1000, 2), "B": np.sort(draw.unit(100, 4), 1)[:, [0, 2, 1, 3]]},
    "trapezoid_integral": lambda draw: {"X": draw.floats(100, 1000), "t": np.sort(draw.unit(1000))},
    "longest_run": lambda draw: {"X": draw.below(2, 200, 400)},
    "hash_joins": lambda draw: {"K": draw.below(1024, 2000), "V": draw.unit(2000), "Q": draw.below(1024, 3000)},
    "grid_paths": lambda draw: {
        "W": (draw.unit(100, 100) < 0.1).astype(np.int32) * (np.arange(10000).reshape(100, 100) > 0)
    },
    "egg_beater": lambda draw: {"X": draw.floats(40, 500)},
    "envelope_follower": lambda draw: {"X": draw.floats(32, 2000)},
    "hysteresis": lambda draw: {"X": draw.unit(64, 2000)},
    "inverse_permutation": lambda draw: {"p": draw.rng.permutation(20000).astype(np.int32), "X": draw.floats(20000, 4)},
    "upper_triangle_to_vector": lambda draw: {"A": draw.floats(150, 150)},
    "block_transposes": lambda draw: {"A": draw.floats(256, 256)},
    "mse_and_r2": lambda draw: {"y": draw.floats(30000), "p": draw.floats(30000)},
    "skew_kurtosis": lambda draw: {"X": draw.floats(60, 1000)},
    "predator": lambda draw: {"a": draw.unit(65), "b": draw.unit(65), "x": 0.01 * draw.unit(64)},
    "predator_long": lambda draw: {"a": draw.unit(5001), "b": draw.unit(5001), "x": 0.01 * draw.unit(5000)},
    "tanks": lambda draw: {"h": draw.unit(2001, 3), "q": draw.unit(2000)},
    "logistic": lambda draw: {"x": draw.unit(3000), "y": draw.unit(3000), "r": np.array([0.9], np.float32)},
    "pid": lambda draw: {"r": draw.floats(2000), "y": draw.floats(2001)},
    "queue_wait": lambda draw: {"arr": np.cumsum(draw.unit(5000)).astype(np.float32), "svc": draw.unit(5000)},
    "two_servers": lambda draw: {
        "arr": np.cumsum(draw.unit(3000)).astype(np.float32),
        "svc": draw.unit(3000),
        "free": draw.unit(2),
    },
    "stack_machine": lambda draw: {"op": draw.below(2, 2000), "arg": draw.below(100, 2000), "st": draw.below(9, 64)},
    "lru_hits": lambda draw: {"req": draw.below(100, 3000)},
    "neuron": lambda draw: {"I": 20 * draw.unit(100, 1000)},
    "garch": lambda draw: {"r": draw.floats(5000)},
    "garch_sim": lambda draw: {"e": draw.floats(5000)},
    "insertion_sort": lambda draw: {"A": draw.floats(120)},
    "selection_ranks": lambda draw: {"A": draw.floats(64, 50)},
    "lis_lengths": lambda draw: {"A": draw.below(1000, 300)},
    "dijkstra_dense": lambda draw: {"W": draw.unit(100, 100)},
    "prim_tree": lambda draw: {"W": draw.unit(80, 80)},
    "pivoted_elimination": lambda draw: {"A": draw.floats(40, 41)},
    "bisection": lambda draw: {"a": 20 * draw.unit(4000)},
    "newton_sqrt": lambda draw: {"a": 9 * draw.unit(10000) + 0.1},
    "romberg_rows": lambda draw: {"F": draw.floats(200, 65)},
    "rolling_max": lambda draw: {"X": draw.floats(50, 2000)},
    "bootstrap_means": lambda draw: {"X": draw.floats(500), "I": draw.below(500, 300, 500)},
    "counting_sort": lambda draw: {"K": draw.below(256, 5000)},
    "leapfrog_wave": lambda draw: {"U": draw.floats(60, 200)},
    "gray_scott": lambda draw: {"U": draw.unit(64, 64), "V": draw.unit(64, 64)},
    "lid_pressure": lambda draw: {"P": draw.floats(50, 50), "B": 0.01 * draw.floats(50, 50)},
    "upsample_nearest_conv": lambda draw: {"X": draw.floats(8, 16, 16), "W": draw.floats(8, 8, 3, 3)},
    "blocked_transpose_pad": lambda draw: {"A": draw.floats(100, 70)},
    "nchwc_relu_bias": lambda draw: {"X": draw.floats(4, 14, 14, 16), "b": draw.floats(50)},
    "per_channel_quant": lambda draw: {"X": draw.floats(64, 300)},
    "sliding_dot_max": lambda draw: {"X": draw.floats(3000), "K": draw.floats(40)},
    "word_starts": lambda draw: {"X": np.where(draw.unit(8000) < 0.2, 32, 97).astype(np.uint8)},
    "atoi_rows": lambda draw: {"X": (40 + draw.below(20, 2000, 8)).astype(np.uint8)},
    "bracket_depth": lambda draw: {"X": (40 + draw.below(3, 10000)).astype(np.uint8)},
    "beam_scores": lambda draw: {"E": draw.floats(40, 30, 30)},
    "optimal_search_tree": lambda draw: {"p": draw.unit(40)},
    "rigid_transform": lambda draw: {"P": draw.floats(5000, 3), "R": draw.floats(3, 3), "t": draw.floats(3)},
    "normals": lambda draw: {"V": draw.floats(1000, 3), "F": draw.below(1000, 2000, 3)},
    "vertex_degrees": lambda draw: {"F": draw.below(1000, 2000, 3)},
    "hash_grid_counts": lambda draw: {"P": draw.unit(5000, 2)},
    "exclusive_max_left": lambda draw: {"H": draw.below(100, 1000)},
    "majority_vote": lambda draw: {"X": draw.below(3, 300, 201)},
    "two_sum_counts": lambda draw: {"A": draw.below(100, 600)},
    "string_hash_rows": lambda draw: {"X": draw.bytes(1000, 32)},
    "tridiagonal_eigen_count": lambda draw: {"d": draw.floats(100), "e": draw.floats(100), "x": draw.floats(500)},
    "alibi_attention": lambda draw: {
        "Q": draw.floats(4, 64, 32),
        "K": draw.floats(4, 64, 32),
        "V": draw.floats(4, 64, 32),
        "slope": draw.unit(4),
    },
    "cosine_best": lambda draw: {"X": draw.floats(100, 48), "C": draw.floats(300, 48)},
    "hue": lambda draw: {"R": draw.unit(120, 160), "G": draw.unit(120, 160), "B": draw.unit(120, 160)},
    "list_ranking": _chain,
    "josephus": lambda draw: {"k": _ints(draw, 1, 1000, 500)},
    "sieve": lambda draw: {},
    "pascal_mod": lambda draw: {},
    "catalan_mod": lambda draw: {},
    "gcds": lambda draw: {"A": _ints(draw, 0, 10000, 2000), "B": _ints(draw, 0, 10000, 2000)},
    "mod_powers": lambda draw: {"A": _ints(draw, 0, 10007, 3000), "E": _ints(draw, 0, 65536, 3000)},
    "collatz": lambda draw: {"A": _ints(draw, 1, 3001, 3000)},
    "value_noise": lambda draw: {"perm": draw.rng.permutation(256).astype(np.int32), "g": draw.floats(256)},
    "sphere_march": lambda draw: {
        "S": np.concatenate([draw.floats(8, 2), 3 + draw.unit(8, 1) * 3, 0.3 + draw.unit(8, 1)], 1).astype(np.float32)
    },
    "marching_cases": lambda draw: {"F": draw.floats(200, 200), "level": np.float32(0.3)},
    "catmull_rom": lambda draw: {"P": draw.floats(64, 2)},
    "coverage": lambda draw: {"X": draw.unit(50, 3) * 80, "Y": draw.unit(50, 3) * 60},
    "holt_winters": lambda draw: {
        "x": draw.floats(1200),
        "a": np.float32(0.3),
        "b": np.float32(0.1),
        "g": np.float32(0.2),
    },
    "survival": lambda draw: {"time": draw.unit(400) * 50, "event": _ints(draw, 0, 2, 400)},
    "kendall": lambda draw: {"x": draw.floats(600), "y": draw.floats(600)},
    "naive_bayes": lambda draw: {"X": _ints(draw, 0, 4, 500, 40), "label": _ints(draw, 0, 8, 500)},
    "pair_counts": lambda draw: {"B": _ints(draw, 0, 2, 400, 64).astype(np.int8)},
    "bm25": lambda draw: {"tf": _ints(draw, 0, 3, 300, 200).astype(np.float32)},
    "jaccard": lambda draw: {"A": _ints(draw, 0, 2, 80, 256).astype(np.int8)},
    "vigenere": lambda draw: {"text": _ints(draw, 90, 128, 5000), "key": _ints(draw, 0, 26, 7)},
    "utf8_points": lambda draw: {"b": _ints(draw, 0, 256, 6000).astype(np.uint8)},
    "hex_rows": lambda draw: {
        "text": np.array([ord(c) for c in "0123456789abcdefABCDEF"], np.int32)[_ints(draw, 0, 22, 1000, 8)]
    },
    "delta_of_delta": lambda draw: {"first": np.int32(100), "step": np.int32(10), "D": _ints(draw, -2, 3, 3000)},
    "unpack_12": lambda draw: {"A": _ints(draw, 0, 256, 3000).astype(np.uint8)},
    "mu_law": lambda draw: {"x": draw.floats(8000)},
    "comb_reverb": lambda draw: {"x": draw.floats(8000), "g": np.float32(0.7)},
    "rank_filter": lambda draw: {"A": draw.floats(98, 98)},
    "non_local_means": lambda draw: {"A": draw.unit(52, 52)},
    "lucas_kanade": lambda draw: {"A": draw.floats(84, 84), "B": draw.floats(84, 84)},
    "binary_patterns": lambda draw: {"A": draw.floats(130, 130)},
    "disk_dilate": lambda draw: {"A": draw.floats(100, 100)},
    "heat_insulated": lambda draw: {"A": draw.floats(40, 40, 40), "K": draw.unit(40, 40, 40) * 0.1},
    "fem_residual": lambda draw: {
        "conn": _ints(draw, 0, 1100, 2000, 3),
        "Ke": draw.floats(2000, 3, 3),
        "u": draw.floats(1100),
    },
    "mass_springs": lambda draw: {
        "x": np.arange(200, dtype=np.float32) + draw.floats(200) * 0.1,
        "v": draw.floats(200),
    },
    "lennard_jones": lambda draw: {
        "P": (
            np.stack(np.meshgrid(*[np.arange(6)] * 3), -1).reshape(-1, 3)[:150] * 1.3 + draw.floats(150, 3) * 0.02
        ).astype(np.float32),
        "box": np.float32(7.8),
    },
    "radial_distribution": lambda draw: {"P": draw.unit(300, 3) * 4},
    "lcg_pi": lambda draw: {"seed": _ints(draw, 0, 2**31 - 1, 512).astype(np.uint32)},
    "walkers": lambda draw: {"nbr": _ints(draw, 0, 500, 500, 4), "R": _ints(draw, 0, 4, 200, 300)},
    "hmm_backward": lambda draw: {"A": draw.unit(24, 24) / 24, "E": draw.unit(24, 50), "obs": _ints(draw, 0, 50, 200)},
    "damerau": lambda draw: {"a": _ints(draw, 0, 5, 150), "b": _ints(draw, 0, 5, 150)},
    "largest_square": lambda draw: {"M": (draw.unit(200, 200) < 0.9).astype(np.int32)},
    "trapped_water": lambda draw: {"h": _ints(draw, 0, 1000, 4000)},
    "cooldown": lambda draw: {"p": draw.unit(64, 500)},
    "knapsack_2d": lambda draw: {
        "w": _ints(draw, 1, 21, 40),
        "b": _ints(draw, 1, 21, 40),
        "v": _ints(draw, 1, 100, 40),
    },
    "bottleneck_paths": lambda draw: {"W": draw.unit(70, 70)},
    "gauss_jordan": lambda draw: {"A": _spd(draw, 48) + 4 * np.eye(48, dtype=np.float32)},
    "ldl": lambda draw: {"A": _spd(draw, 60)},
    "banded_cholesky": lambda draw: {"A": _band(draw)},
    "ntt": lambda draw: {"a": _ints(draw, 0, 257, 256), "w": _w(draw)},
    "synthetic_division": lambda draw: {"c": draw.floats(100, 300), "r": draw.unit(100) * 0.9},
    "clenshaw": lambda draw: {"c": draw.floats(24), "x": draw.unit(5000) * 2 - 1},
    "quadrature": lambda draw: {"n": draw.unit(16), "w": draw.unit(16), "a": draw.unit(400), "b": draw.unit(400)},
    "box_overlaps": lambda draw: {"A": _box(draw, 200), "B": _box(draw, 100)},
    "expert_slots": lambda draw: {"choice": _ints(draw, 0, 8, 600), "X": draw.floats(600, 32)},
    "roi_align": lambda draw: {"F": draw.floats(16, 50, 50), "R": _box(draw, 20)[:, [0, 1, 2, 3]] * 0.6},
    "channel_shuffle": lambda draw: {"X": draw.floats(8, 48, 20, 20)},
    "bidirectional": lambda draw: {
        "X": draw.floats(60, 16),
        "W": draw.floats(16, 24) * 0.2,
        "U": draw.floats(24, 24) * 0.1,
    },
    "wavenet_gate": lambda draw: {
        "X": draw.floats(16, 400),
        "F": draw.floats(16, 16, 2) * 0.2,
        "G": draw.floats(16, 16, 2) * 0.2,
    },
    "focal_dice": lambda draw: {"P": draw.unit(64, 400), "Y": _ints(draw, 0, 2, 64, 400).astype(np.float32)},
    "kv_append": lambda draw: {
        "pos": np.int32(100),
        "k": draw.floats(8, 64),
        "K": draw.floats(8, 256, 64),
        "q": draw.floats(8, 64),
    },
    "jump_flood": _seeds,
    "yin_difference": lambda d: {"x": d.floats(2048)},
    "mel_filterbank": lambda d: {"P": d.unit(200, 257), "f": (np.arange(42) * 6.1 + 0.3).astype(np.float32)},
    "bollinger": lambda d: {"P": d.floats(64, 1000)},
    "stochastic_oscillator": lambda d: (lambda c: {"H": c + d.unit(32, 800), "L": c - d.unit(32, 800), "C": c})(
        d.floats(32, 800)
    ),
    "ohlc_bars": lambda d: {"P": d.floats(24000), "V": d.unit(24000)},
    "swap_curve": lambda d: {"r": d.unit(64, 60) * 0.05},
    "risk_covariance": lambda d: {"R": d.floats(500, 24)},
    "heston": lambda d: {"Z": d.floats(100, 2000, 2)},
    "trinomial_american": lambda d: {"K": d.unit(16) * 40 + 80},
    "bounce_back_stream": lambda d: {
        "F": d.unit(9, 128, 128),
        "S": d.below(2, 128, 128),
        "ex": np.array(EX, np.int32),
        "ey": np.array(EY, np.int32),
        "opp": np.array(OPP, np.int32),
    },
    "neighbour_forces": lambda d: {"X": d.floats(2000, 3), "nbr": d.below(2000, 2000, 32), "cnt": d.below(33, 2000)},
    "structure_factor": lambda d: {"r": d.floats(500, 3), "k": d.floats(300, 3)},
    "kuramoto": lambda d: {"w": d.floats(256), "th": d.floats(256)},
    "spiking_network": lambda d: {"W": d.floats(200, 200) * 0.05, "I": d.unit(300, 200) * 0.3},
    "metapopulation": lambda d: {
        "M": d.unit(100, 100) * 0.02,
        "beta": d.unit(100),
        "S": d.unit(100),
        "E": d.unit(100) * 0.01,
        "I": d.unit(100) * 0.01,
    },
    "wireworld": lambda d: {"G": d.below(4, 96, 96)},
    "longest_match": lambda d: {"s": d.below(3, 1024).astype(np.uint8)},
    "move_to_front": lambda d: {"x": d.below(64, 1000)},
    "totients": lambda d: {},
    "divisor_sums": lambda d: {},
    "partition_numbers": lambda d: {},
    "stirling": lambda d: {},
    "digit_sums": lambda d: {"x": d.below(2000000000, 20000)},
    "mertens": lambda d: {},
    "closest_pair": lambda d: {"P": d.floats(1000, 2)},
    "segment_crossings": lambda d: {"S": d.unit(400, 4)},
    "point_to_segments": lambda d: {"P": d.floats(600, 2), "S": d.floats(200, 4)},
    "bspline_basis": lambda d: {"u": d.unit(2000) * 20, "t": np.arange(24, dtype=np.float32)},
    "slab_tests": lambda d: (
        lambda l: {"O": d.floats(500, 3) * 3, "D": d.floats(500, 3), "L": l, "H": l + d.unit(64, 3) + 0.5}
    )(d.floats(64, 3) * 3),
    "gaussian_pyramid": lambda d: {"A": d.floats(256, 256), "w": d.unit(5)},
    "sharpen_bytes": lambda d: {"A": d.bytes(300, 400)},
    "adaptive_threshold": lambda d: {"A": d.unit(200, 200)},
    "guided_filter": lambda d: {"I": d.unit(160, 160), "p": d.unit(160, 160)},
    "template_ssd": lambda d: {"A": d.unit(96, 96), "P": d.unit(16, 16)},
    "poisson_blend": lambda d: {"B": d.unit(128, 128), "L": d.floats(128, 128) * 0.1, "M": d.below(2, 128, 128)},
    "orientation_histogram": lambda d: {"A": d.unit(130, 130)},
    "infonce": lambda d: {"A": d.floats(256, 64), "B": d.floats(256, 64)},
    "decision_stump": lambda d: {"X": d.floats(16, 500), "y": d.floats(500), "w": d.unit(500), "t": d.floats(40)},
    "split_gains": lambda d: {"x": d.below(32, 4000, 10), "g": d.floats(4000)},
    "knn_vote": lambda d: {"X": d.floats(300, 16), "Y": d.floats(200, 16), "c": d.below(10, 300)},
    "perceptron": lambda d: {"X": d.floats(1000, 32), "y": np.sign(d.floats(1000))},
    "rating_sgd": lambda d: {
        "u": d.below(100, 1500),
        "v": d.below(80, 1500),
        "r": d.unit(1500),
        "P": d.floats(100, 8),
        "Q": d.floats(80, 8),
    },
    "mixture_responsibilities": lambda d: {
        "X": d.floats(1000, 8),
        "mu": d.floats(12, 8),
        "lv": d.floats(12, 8) * 0.2,
        "lp": d.floats(12),
    },
    "value_iteration": lambda d: {"R": d.floats(40, 40), "W": (d.unit(40, 40) > 0.8).astype(np.int32)},
    "q_learning": lambda d: {"s": d.below(50, 2001), "a": d.below(4, 2000), "r": d.floats(2000)},
    "bandit_ucb": lambda d: {"X": d.unit(1000, 16)},
    "systematic_resampling": lambda d: {"w": d.unit(1024), "u": d.unit(1)},
    "sessions": _ses,
    "percentile_ranks": lambda d: {"x": d.floats(600)},
    "bloom_filter": lambda d: {"keys": d.words(500), "asked": d.words(2000)},
    "hyperloglog": lambda d: {"h": d.words(10000)},
    "radix_pass": lambda d: {"x": d.below(65536, 4096)},
    "overlap_depth": _iv,
    "gate_on_statevector": lambda d: {"re": d.floats(16384), "im": d.floats(16384)},
    "qubit_rotations": lambda d: {"c": d.unit(12), "s": d.unit(12), "psi": d.floats(4096)},
    "euler_hll": _euler,
    "semi_lagrangian": lambda d: {"q": d.floats(128, 128), "u": d.floats(128, 128), "v": d.floats(128, 128)},
    "back_projection": lambda d: {
        "S": d.floats(60, 96),
        "c": np.cos(np.arange(60) * np.pi / 60).astype(np.float32),
        "s": np.sin(np.arange(60) * np.pi / 60).astype(np.float32),
    },
    "lms_filter": lambda d: {"x": d.floats(2000), "d": d.floats(2000)},
    "hamming_decode": lambda d: {"c": d.below(2, 5000, 7)},
    "levinson_durbin": lambda d: {
        "r": (np.exp(-np.arange(17) / 4)[None] * (1 + 0.05 * d.unit(64, 17))).astype(np.float32)
    },
    "adpcm_decode": lambda d: {
        "code": d.below(16, 32, 1000),
        "step": (7 * 1.1 ** np.arange(89)).astype(np.int32),
        "move": np.array([-1, -1, -1, -1, 2, 4, 6, 8] * 2, np.int32),
    },
    "compressor": lambda d: {"x": d.floats(16, 3000)},
    "allpass_reverb": lambda d: {"x": d.floats(8, 4096)},
    "plucked_string": lambda d: {"n": d.floats(100)},
    "hessenberg": lambda d: {"A": d.floats(48, 48)},
    "lanczos": lambda d: {"A": _spd(d, 200), "b": d.floats(200)},
    "jacobi_rotations": lambda d: (lambda a: {"A": (a + a.transpose(0, 2, 1)).astype(np.float32)})(d.floats(64, 6, 6)),
    "cholesky_update": lambda d: {"L": np.linalg.cholesky(_spd(d, 64)).astype(np.float32), "x": d.floats(64)},
    "permanent": lambda d: {"A": d.unit(10, 10)},
    "strassen": lambda d: {"A": d.floats(256, 256), "B": d.floats(256, 256)},
    "sinks_attention": lambda d: {"Q": d.floats(256, 32), "K": d.floats(256, 32), "V": d.floats(256, 32)},
    "top_two_gate": lambda d: {"L": d.floats(1024, 16)},
    "masked_token_loss": lambda d: {"L": d.floats(300, 500), "y": _ints(d, -1, 500, 300)},
    "crf_forward": lambda d: {"E": d.floats(16, 100, 12), "A": d.floats(12, 12), "length": _ints(d, 1, 101, 16)},
    "chacha_rounds": lambda draw: {"K": draw.words(512, 16)},
    "inverse_bwt": lambda draw: {"L": draw.below(26, 3000)},
    "nussinov": lambda draw: {"S": draw.below(4, 120)},
    "gini": lambda draw: {"X": draw.unit(1500)},
    "auc": lambda draw: {"P": draw.unit(800), "N": draw.unit(900)},
    "cox_gradient": lambda draw: {"T0": draw.unit(1500), "E": draw.below(2, 1500), "R": draw.floats(1500)},
    "cusum_alarms": lambda draw: {"X": draw.floats(64, 2000)},
    "gillespie": lambda draw: {
        "U": draw.unit(128, 500),
        "V": draw.unit(128, 500) + 1e-3,
        "X": np.tile(np.array([90, 10, 0], np.float32), (128, 1)),
    },
    "rope_constraints": lambda draw: {"P": np.cumsum(draw.unit(64, 3) * 0.1, 0).astype(np.float32)},
    "perlin": lambda draw: {"G": draw.floats(256, 2), "P": np.random.default_rng(1).permutation(256).astype(np.int32)},
    "ssim": lambda draw: {"X": draw.unit(128, 128), "Y": draw.unit(128, 128)},
    "hog_cells": lambda draw: {"I": draw.unit(128, 128)},
    "winograd_1d": lambda draw: {"X": draw.floats(32, 514), "w": draw.floats(3)},
    "cyclic_reduction": lambda draw: {
        "a": draw.unit(64, 256),
        "b": 4 + draw.unit(64, 256),
        "c": draw.unit(64, 256),
        "d": draw.floats(64, 256),
    },
    "adi_sweeps": lambda draw: {"U0": draw.floats(96, 96)},
    "fdtd_2d": lambda draw: {"E": draw.floats(3, 128, 128)},
    "sandpile": lambda draw: {"G0": draw.below(12, 64, 64)},
    "langton": lambda draw: {"W": draw.below(2, 64, 64)},
    "sudoku_candidates": lambda draw: {"G": draw.below(10, 200, 9, 9)},
    "knight_walks": lambda draw: {"W": draw.unit(8, 8)},
    "hilbert_index": lambda draw: {"X": draw.below(1024, 5000), "Y": draw.below(1024, 5000)},
    "weekdays": lambda draw: {
        "Y": 1600 + draw.below(800, 6000),
        "M": 1 + draw.below(12, 6000),
        "D": 1 + draw.below(31, 6000),
    },
    "sha_schedule": lambda draw: {"M": draw.words(256, 16)},
    "rs_syndromes": lambda draw: {
        "R": draw.below(256, 200, 255),
        "E": 1 + draw.below(255, 512),
        "L": draw.below(255, 256),
    },
    "ldpc_bit_flips": lambda draw: {"C": draw.below(600, 300, 6), "B0": draw.below(2, 600)},
    "convolutional_code": lambda draw: {"X": draw.below(2, 128, 512)},
    "simhash": lambda draw: {"F": draw.words(300, 40)},
    "clock_pages": lambda draw: {"R": draw.below(64, 4000)},
    "american_psor": lambda draw: {"S": draw.floats(128)},
    "amortization": lambda draw: {"P": 100 * draw.unit(1000), "r": 0.01 * draw.unit(1000)},
    "hits": lambda draw: {"A": draw.unit(300, 300)},
    "tfidf": lambda draw: {"C": np.maximum(draw.below(6, 400, 600) - 3, 0).astype(np.float32)},
    "isolation_depths": lambda draw: {
        "X": draw.floats(2000, 8),
        "F": draw.below(9, 16, 63) - 1,
        "H": draw.floats(16, 63),
    },
    "block_lower_solve": lambda draw: {
        "L": draw.floats(40, 8, 8) * 0.1 + 2 * np.eye(8, dtype=np.float32),
        "C": draw.floats(40, 8, 8) * 0.2,
        "b": draw.floats(40, 8),
    },
    "periodic_tridiagonal": lambda draw: {"d": draw.floats(64, 200)},
    "packed_rows_dot": lambda draw: {"P": draw.floats(5050), "x": draw.floats(100)},
    "condensed_distances": lambda draw: {"X": draw.floats(120, 6)},
    "interval_unions": lambda draw: (
        lambda s: {"S": s, "E": np.minimum(4096, s + draw.below(20, 2000)).astype(np.int32)}
    )(draw.below(4096, 2000)),
    "lorenz_curve_bins": lambda draw: {"X": draw.unit(20000)},
    "yuv420": lambda draw: {"Y": draw.bytes(128, 128), "U": draw.bytes(64, 64), "V": draw.bytes(64, 64)},
    "lifting_53": lambda draw: {"X": draw.below(256, 64, 512)},
    "chamfer": lambda draw: {"M": (draw.below(40, 96, 96) == 0).astype(np.int32)},
    "label_components": lambda draw: {"M": (draw.below(10, 64, 64) < 6).astype(np.int32)},
    "lz_decode": lambda draw: {
        "D": np.where(
            np.arange(2000) > 0, np.minimum(draw.below(40, 2000) * draw.below(2, 2000), np.arange(2000)), 0
        ).astype(np.int32),
        "B": draw.below(256, 2000),
    },
    "minimum_image": lambda draw: {"P": draw.unit(300, 3)},
    "median_3x3": lambda draw: {"X": draw.floats(100, 100)},
    "rank_one_downdates": lambda draw: {"A": draw.floats(48, 48)},
    "kepler": lambda draw: {"M": 6 * draw.unit(5000), "e": 0.7 * draw.unit(5000)},
    "bicubic": lambda draw: {"A": draw.floats(64, 64)},
    "slide_2048": lambda draw: {"G": np.array([0, 2, 4, 8], np.int32)[draw.below(4, 1000, 4)]},
    "phase_unwrap": lambda draw: {"P": 6 * draw.unit(64, 4000) - 3},
    "lpc_synthesis": lambda draw: {"E": draw.floats(80, 160), "A": 0.08 * draw.floats(80, 10)},
    "amdf": lambda draw: {"X": draw.floats(40, 800)},
    "kuwahara": lambda draw: {"A": draw.unit(132, 132)},
    "zhang_suen": lambda draw: {"I": (draw.below(10, 96, 96) < 8).astype(np.int32)},
    "pixelate": lambda draw: {"A": draw.unit(200, 200, 3)},
    "seam_removal": lambda draw: {"A": draw.unit(200, 200), "S": draw.below(200, 200)},
    "block_motion": lambda draw: {"C": draw.unit(64, 64), "R": draw.unit(80, 80)},
    "integer_dct": lambda draw: {"X": draw.below(256, 1000, 4, 4)},
    "nagel": lambda draw: {
        "R": draw.below(5, 200, 500),
        "P0": np.where(draw.below(3, 500) == 0, draw.below(5, 500), -1).astype(np.int32),
    },
    "kdv": lambda draw: {"U0": np.cos(np.arange(512) * 2 * np.pi / 512).astype(np.float32)},
    "boids": lambda draw: {"P": draw.unit(300, 2), "V": draw.floats(300, 2)},
    "barrier_paths": lambda draw: {"Z": draw.floats(250, 4000)},
    "pair_zscore": lambda draw: {"A": draw.unit(2000), "B": draw.unit(2000)},
    "kmer_counts": lambda draw: {"S": draw.below(4, 20000)},
    "gc_skew": lambda draw: {"S": draw.below(4, 30000)},
    "translate_codons": lambda draw: {"S": draw.below(4, 3000, 3), "Tb": draw.below(22, 64) - 1},
    "felsenstein": lambda draw: (
        lambda r: {
            "C": np.stack([[2 * k for k in range(63)], [2 * k + 1 for k in range(63)]], 1).astype(np.int32),
            "Pm": draw.unit(127, 4, 4),
            "X": draw.below(4, 64, 200),
        }
    )(0),
    "lasso_descent": lambda draw: {"X": draw.floats(400, 40), "y": 3 * draw.floats(400)},
    "elo": lambda draw: (
        lambda a: {
            "A": a,
            "B": ((a + 1 + draw.below(98, 3000)) % 100).astype(np.int32),
            "S": draw.below(2, 3000).astype(np.float32),
        }
    )(draw.below(100, 3000)),
    "self_organizing_map": lambda draw: {"X": draw.floats(500, 8), "W0": draw.floats(40, 8)},
    "tsne_gradient": lambda draw: {"P": draw.unit(300, 300) / 9e4, "Y": draw.floats(300, 2)},
    "adaboost": lambda draw: {
        "H": (2 * draw.below(2, 50, 1000) - 1).astype(np.float32),
        "y": (2 * draw.below(2, 1000) - 1).astype(np.float32),
    },
    "hinge_sgd": lambda draw: {"X": draw.floats(1000, 20), "y": (2 * draw.below(2, 1000) - 1).astype(np.float32)},
    "top_k_rows": lambda draw: {"X": draw.floats(200, 100)},
    "isotonic": lambda draw: {"y": (np.arange(300) * 0.01 + draw.floats(300)).astype(np.float32)},
    "luhn": lambda draw: {"D": draw.below(10, 5000, 16)},
    "anagram_keys": lambda draw: {"W": draw.below(26, 500, 12)},
    "hist_match": lambda draw: {"A": draw.below(256, 128, 128), "B": draw.below(200, 128, 128)},
    "xy_sweeps": lambda draw: {"S": 6 * draw.unit(64, 64), "U": 6 * draw.unit(10, 64, 64)},
    "fem_assembly": lambda draw: (
        lambda a: {"E": np.stack([a, (a + 1) % 1100, (a + 30) % 1100], 1).astype(np.int32), "X": draw.unit(1100, 2)}
    )(draw.below(1100, 2000)),
    "fitzhugh": lambda draw: {"V0": draw.floats(100, 100)},
    "word2vec_step": lambda draw: {
        "C": draw.below(1000, 256),
        "O": draw.below(1000, 256, 6),
        "Wi": 0.1 * draw.floats(1000, 32),
        "Wo": 0.1 * draw.floats(1000, 32),
    },
    "cyk": lambda draw: {"R": draw.below(10, 30, 3), "X": draw.below(10, 24)},
    "sample_hold": lambda draw: {"X": draw.floats(32, 4096)},
    "adsr": lambda draw: {"G": (np.arange(16 * 4000).reshape(16, 4000) // 700 % 2).astype(np.int32)},
    "split_step": lambda draw: {"A0": draw.floats(256), "B0": draw.floats(256), "V": draw.unit(256)},
    "dbscan_counts": lambda draw: {"X": draw.floats(600, 3)},
    "delay_line": lambda d: {"X": d.floats(32, 8000)},
    "image_moments": lambda d: {"A": d.unit(256, 256)},
    "ransac_counts": lambda d: {"X": d.floats(2000), "Y": d.floats(2000), "L": d.floats(300, 3)},
    "scatter_within": lambda d: {"X": d.floats(3000, 12), "y": d.below(5, 3000)},
    "particle_weights": lambda d: {"P": d.floats(500, 3), "R": d.unit(24), "M": d.floats(24, 2)},
    "batched_determinants": lambda d: {"A": d.floats(800, 5, 5) + 3 * np.eye(5, dtype=np.float32)},
    "rasterize": lambda d: {"V": 64 * d.unit(60, 3, 2), "Z": d.unit(60)},
    "d2q9": _states,
    "schrodinger": lambda d: {"R": d.floats(2000), "I": d.floats(2000), "V": d.unit(2000)},
    "bond_angles": lambda d: {"X": d.floats(400, 3), "T3": d.below(400, 900, 3)},
    "pssm_scan": lambda d: {"S": d.below(4, 20000), "M": d.floats(12, 4)},
    "variogram": lambda d: {"X": d.unit(500, 2), "Z": d.floats(500)},
    "lookback_option": lambda d: {"Z": d.floats(4000, 64)},
    "absmax_groups": lambda d: {"K": d.floats(64, 1024)},
    "deformable_conv": lambda d: {"X": d.floats(16, 32, 32), "O": d.floats(9, 2, 32, 32), "W": d.floats(8, 16, 9)},
    "softmax_backward": lambda d: {"S": d.floats(8, 96, 96), "G": d.floats(8, 96, 64), "V": d.floats(8, 96, 64)},
    "transducer": lambda d: {"B": -d.unit(80, 30), "L": -(0.5 + 0.5 * d.unit(80, 30))},
    "k_core": lambda d: {"A": (d.unit(200, 200) < 0.05).astype(np.int32)},
    "first_fit": lambda d: {"W": 0.4 * d.unit(400)},
    "bignum_add": lambda d: {"A": d.below(10000, 256, 64), "B": d.below(10000, 256, 64)},
    "bignum_mul": lambda d: {"A": d.below(1000, 64, 24), "B": d.below(1000, 64, 24)},
    "brians_brain": lambda d: {"S": d.below(3, 96, 96)},
    "range_minima": lambda d: {
        "A": d.below(1000, 4096),
        "Q": np.stack([d.below(2000, 2000), 1 + d.below(1999, 2000)], 1),
    },
    "hampel": lambda d: {"X": d.floats(16, 2000)},
    "cic_decimator": lambda d: {"X": -3 + d.below(7, 16, 4096)},
    "gain_control": lambda d: {"X": d.floats(64, 2000)},
    "viterbi_k3": lambda d: {"R": d.unit(64, 200, 2)},
    "aes_round": lambda d: {
        "S": d.below(256, 2000, 4, 4),
        "box": np.random.default_rng(0).permutation(256).astype(np.int32),
        "K": d.below(256, 4, 4),
    },
    "rc4": lambda d: {"K": d.below(256, 16)},
    "trilinear": lambda d: {"V": d.floats(24, 24, 24), "P": 22.9 * d.unit(4000, 3)},
    "lax_wendroff": lambda d: {"U": d.floats(4000), "W": d.floats(4000)},
    "vorticity": lambda d: {"U": d.floats(128, 128), "V": d.floats(128, 128)},
    "markov_credit": lambda d: {"P": 0.25 * d.unit(8, 8), "D": d.unit(120), "S": d.unit(8)},
    "sage_mean": lambda d: {
        "X": d.floats(500, 32),
        "N": d.below(500, 500, 10),
        "deg": d.below(11, 500),
        "W": d.floats(64, 48),
    },
    "gabor_bank": lambda d: {"A": d.floats(64, 64)},
    "phong": lambda d: {"N": d.floats(128, 128, 3), "L": d.floats(4, 3), "I": d.unit(4)},
    "diagonal_order": lambda d: {"A": d.below(1000, 100, 80)},
    "fenwick": lambda d: {"U": d.below(1024, 500), "V": -5 + d.below(11, 500)},
    "julia": lambda d: {"Z": np.array([-0.7, 0.27], np.float32)},
    "rnn_bptt": lambda d: {
        "X": d.floats(50, 16),
        "U": d.floats(24, 16) * 0.3,
        "W": d.floats(24, 24) * 0.2,
        "G": d.floats(50, 24),
    },
    "karplus": lambda d: {"N": d.floats(16, 160)},
    "chorus": lambda d: {"X": d.floats(4, 8000), "D": 1 + d.below(200, 8000)},
    "moving_rms": lambda d: {"X": d.floats(8, 10000)},
    "schmitt": lambda d: {"X": d.floats(32, 4000)},
    "window_energy": lambda d: {"X": d.floats(20000), "W": d.floats(512)},
    "merge_sorted": lambda d: {"A": np.sort(d.below(1000, 64, 100), 1), "B": np.sort(d.below(1000, 64, 120), 1)},
    "group_totals": lambda d: {"K": d.below(100, 20000), "V": d.floats(20000)},
    "running_rank": lambda d: {"X": d.floats(1000)},
    "top_scores": lambda d: {"Q": d.floats(200, 32), "K": d.floats(500, 32)},
    "stencil_material": lambda d: {
        "T0": d.floats(130, 130),
        "mat": d.below(4, 128, 128),
        "cond": 0.2 * d.unit(4),
        "src": d.floats(128, 128),
        "T1": d.floats(130, 130),
    },
    "transform_points": lambda d: {"P": d.floats(20000, 3), "M": d.floats(4, 4)},
    "face_normals": lambda d: {"V": d.floats(2000, 3), "F": d.below(2000, 3800, 3)},
    "skinning": lambda d: {
        "V": d.floats(4000, 3),
        "B": d.below(32, 4000, 4),
        "W": d.unit(4000, 4),
        "M": d.floats(32, 3, 4),
    },
    "gauss_newton": lambda d: {"X": d.unit(5000), "Y": d.floats(5000), "p": np.array([1, 0.5, 0.1], np.float32)},
    "tri_packed_solve": lambda d: {
        "L": (
            0.01 + 0.04 * d.unit(1275) + 1.0 * np.isin(np.arange(1275), [i * (i + 1) // 2 + i for i in range(50)])
        ).astype(np.float32),
        "b": d.floats(50, 40),
    },
    "spiral": lambda d: {"A": d.below(100, 40, 40)},
    "peak_picking": lambda d: {"X": d.floats(16, 5000)},
    "bilinear_warp": lambda d: {"A": d.floats(96, 96, 3), "F": 2 * d.floats(96, 96, 2)},
    "integral_blur": lambda d: {"A": d.floats(128, 128)},
    "particle_grid": lambda d: {"X": d.unit(3000, 2), "V": d.floats(3000, 2)},
    "lookup_cdf": lambda d: {"P": d.unit(300, 64), "U": d.unit(300)},
    "dropout_residual_norm": lambda d: {
        "X": d.floats(256, 128),
        "H": d.floats(256, 128),
        "M": (d.unit(256, 128) < 0.9).astype(np.uint8),
        "g": d.floats(128),
    },
    "cross_attention_pad": lambda d: {
        "Q": d.floats(4, 20, 32),
        "K": d.floats(4, 60, 32),
        "V": d.floats(4, 60, 32),
        "n": np.array([60, 30, 5, 44], np.int32),
    },
    "conv_bn_pool": lambda d: {
        "X": d.floats(8, 34, 34),
        "W": d.floats(16, 8, 3, 3),
        "s": d.floats(16),
        "t": d.floats(16),
    },
    "einsum_chain": lambda d: {"A": d.floats(30, 40), "B": d.floats(40, 50), "C": d.floats(50, 20)},
    "fir_bank": lambda d: {"X": d.floats(4096), "H": d.floats(12, 33)},
    "stock_span": lambda d: {"P": d.floats(64, 400)},
    "bucket_ids": lambda d: {"X": d.floats(10000), "E": np.sort(d.floats(31))},
    "hash_table_probe": lambda d: {"K": d.below(100000, 400)},
    "two_layer_online": lambda d: {
        "X": d.floats(300, 16),
        "y": d.floats(300),
        "W": d.floats(8, 16) * 0.3,
        "v": d.floats(8) * 0.3,
    },
    "rotate_half_cache": lambda d: {
        "K": d.floats(8, 40, 64),
        "pos": d.below(512, 40),
        "C": d.floats(512, 32),
        "S": d.floats(512, 32),
    },
    "sudoku_conflicts": lambda d: {"G": 1 + d.below(9, 500, 9, 9)},
    "runs_lengths_bits": lambda d: {"X": d.below(2, 128, 512)},
    "polyline_simplify": lambda d: {"P": np.cumsum(0.3 * d.floats(64, 300, 2), 1).astype(np.float32)},
    "tent_map_lyapunov": lambda d: {"r": 3.0 + d.unit(400)},
    "ctc_greedy": lambda d: {"L": d.floats(32, 200, 29)},
    "soft_nms": lambda d: {"S": d.unit(80, 64), "I": d.unit(80, 64, 64) * 0.3},
    "giou": lambda d: {"A": _box(d, 300) * 0.02, "B": _box(d, 200) * 0.02},
    "chamfer_clouds": lambda d: {"A": d.floats(4, 600, 3), "B": d.floats(4, 500, 3)},
    "farthest_points": lambda d: {"P": d.floats(1000, 3)},
    "voxel_pool": lambda d: {"P": 0.999 * d.unit(5000, 3), "F": d.floats(5000, 16)},
    "positional_encoding": lambda d: {"X": d.unit(4000, 3)},
    "volume_render": lambda d: {"S": d.floats(2000, 64), "C": d.unit(2000, 64, 3), "dt": d.unit(2000, 64) * 0.1},
    "spherical_harmonics": lambda d: {"V": d.floats(6000, 3), "K": d.floats(6000, 9, 3)},
    "gaussian_splat": lambda d: {
        "M": 60.0 * d.unit(200, 2),
        "Q": np.stack([0.2 * d.unit(200), -0.01 + 0.02 * d.unit(200), 0.02 + 0.18 * d.unit(200)], 1).astype(np.float32),
        "C": d.unit(200, 3),
        "o": d.unit(200),
    },
    "lbs_chain": lambda d: {
        "R": 0.5 * d.floats(100, 24, 3, 3),
        "J": d.floats(24, 3),
        "parent": np.array([0] + [k // 2 for k in range(1, 24)], np.int32),
    },
    "quaternion_integrate": lambda d: {"W": d.floats(64, 500, 3)},
    "madgwick_bias": lambda d: {"A": d.floats(32, 1000), "Gy": d.floats(32, 1000)},
    "mfcc_deltas": lambda d: {"C": d.floats(400, 13)},
    "spectral_flux": lambda d: {"S": d.unit(500, 257)},
    "chroma": lambda d: {"S": d.floats(400, 1025), "pitch": d.below(12, 1025)},
    "harmonic_product": lambda d: {"S": d.unit(200, 1024)},
    "phase_vocoder": lambda d: {"M": d.floats(64, 129), "P": 3 * d.floats(64, 129)},
    "noise_gate_hold": lambda d: {"X": d.floats(16, 4000)},
    "edge_histogram": lambda d: {"A": d.floats(128, 128)},
    "unsharp_mask": lambda d: {"A": d.unit(200, 200, 3)},
    "white_balance": lambda d: {"A": np.random.default_rng(0).integers(0, 256, (150, 200, 3)).astype(np.uint8)},
    "bayer_bilinear": lambda d: {"R": d.floats(130, 130)},
    "seam_dp": lambda d: {"E": d.unit(120, 160)},
    "fill_holes": lambda d: {"A": np.where(d.unit(64, 96) < 0.5, 0, d.unit(64, 96)).astype(np.float32)},
    "order_book": lambda d: {"P": d.below(128, 2000), "Q": -5 + d.below(11, 2000)},
    "american_lsm": lambda d: {"S": (1 + 0.3 * d.floats(2000, 50)).astype(np.float32)},
    "cds_bootstrap": lambda d: {
        "S": 0.005 + 0.025 * d.unit(200, 10),
        "df": np.exp(-0.03 * np.arange(1, 11)).astype(np.float32),
    },
    "twap_slices": lambda d: {"V": d.unit(300, 390), "P": d.unit(300, 390)},
    "hungarian_reduce": lambda d: {"C": d.unit(40, 60, 60)},
    "auction_assign": lambda d: {"V": d.unit(32, 32)},
    "kd_counts": lambda d: {"X": d.floats(3000, 3)},
    "union_find": lambda d: {
        "A": d.below(300, 600),
        "B": np.random.default_rng(9).integers(0, 300, 600).astype(np.int32),
    },
    "topological_levels": lambda d: (lambda a, b: {"src": np.minimum(a, b), "dst": np.maximum(a, b)})(
        d.below(100, 2000), 100 + d.below(100, 2000)
    ),
    "max_flow_push": lambda d: {"C": d.unit(48, 48)},
    "edit_alignment_path": lambda d: {"A": d.below(4, 40), "B": d.below(4, 50)},
    "suffix_ranks": lambda d: {"S": d.below(4, 256)},
    "gf_matmul": lambda d: {
        "A": np.random.default_rng(1).integers(0, 256, (48, 48)).astype(np.uint8),
        "B": np.random.default_rng(2).integers(0, 256, (48, 48)).astype(np.uint8),
    },
    "siphash_rounds": lambda d: {"V": d.words(500, 4)},
    "parity_2d": lambda d: {"X": d.below(1000, 200, 16, 16)},
    "varint_lengths": lambda d: {
        "X": d.words(4000) >> np.random.default_rng(0).integers(0, 31, 4000).astype(np.uint32)
    },
    "csv_fields": lambda d: {"S": np.random.default_rng(0).choice([34, 44, 65, 66], (64, 200)).astype(np.int32)},
    "moment_matching": lambda d: {"X": d.floats(100, 64), "Y": d.floats(100, 64)},
    "capsule_routing": lambda d: {"U": d.floats(32, 10, 8)},
    "graph_attention": lambda d: {"H": d.floats(200, 32), "N": -1 + d.below(201, 200, 12), "a": d.floats(64) * 0.2},
    "retention": lambda d: {"Q": d.floats(4, 128, 32), "K": d.floats(4, 128, 32), "V": d.floats(4, 128, 32)},
    "rwkv_wkv": lambda d: {"K": d.floats(256, 64), "V": d.floats(256, 64), "w": d.unit(64), "u": d.floats(64)},
    "speculative_accept": lambda d: {
        "P": d.unit(64, 8, 100),
        "Q": d.unit(64, 8, 100),
        "tok": d.below(100, 64, 8),
        "U": d.unit(64, 8),
    },
    "top_p_mask": lambda d: {"P": (lambda x: (x / x.sum(1, keepdims=True)).astype(np.float32))(d.unit(32, 200) ** 4)},
    "rope_2d": lambda d: {"X": d.floats(14, 14, 8, 32), "f": d.unit(8)},
    "patch_merge": lambda d: {"X": d.floats(28, 28, 48), "W": d.floats(192, 96)},
    "flat_matmul": lambda d: {"A": d.floats(60000), "B": d.floats(52000)},
    "tiled_matmul_tails": lambda d: {"A": d.floats(300, 200), "B": d.floats(200, 260)},
    "flat_conv_nhwc": lambda d: {"X": d.floats(25600), "W": d.floats(3456)},
    "dot_unrolled": lambda d: {"A": d.floats(64, 4096), "B": d.floats(64, 4096)},
    "blocked_prefix": lambda d: {"X": d.floats(65536)},
    "private_histograms": lambda d: {"X": -3 + d.below(71, 16, 4096)},
    "bitonic": lambda d: {"A": d.floats(64, 256)},
    "ping_pong": lambda d: {"U": d.floats(2, 200, 200)},
    "ghost_cells": lambda d: {"U": d.floats(130, 130)},
    "line_buffer": lambda d: {"A": d.floats(200, 240), "W": d.floats(3)},
    "winograd_2d": lambda d: {"X": d.floats(32, 34, 34), "W": d.floats(16, 32, 3, 3)},
    "flat_heads": lambda d: {"Q": d.floats(2, 128, 256), "K": d.floats(2, 128, 256), "V": d.floats(2, 128, 256)},
    "one_pass_norm": lambda d: {"X": d.floats(500, 300), "g": d.floats(300), "b": d.floats(300)},
    "pointer_walk": lambda d: {"A": d.floats(120, 90)},
    "argmin_2d": lambda d: {"A": d.floats(40, 60, 70)},
    "complex_fir": lambda d: {"X": d.floats(8, 2000, 2), "H": d.floats(32, 2)},
    "matrix_power": lambda d: {"A": 0.2 * d.floats(16, 24, 24)},
    "next_hops": lambda d: {"D": d.unit(80, 80)},
    "reflect_conv": lambda d: {"A": d.floats(150, 160), "W": d.floats(5, 5)},
    "running_box": lambda d: {"A": d.floats(128, 1000)},
    "lcs_two_rows": lambda d: {"A": d.below(4, 32, 200), "B": d.below(4, 32, 180)},
    "symv_upper": lambda d: {"A": d.floats(500, 500), "x": d.floats(500)},
    "interleaved_gemm": lambda d: {"A": d.floats(64, 12, 48), "B": d.floats(64, 12, 56)},
    "flat_group_conv": lambda d: {"X": d.floats(2, 32, 26, 26), "W": d.floats(48, 8, 3, 3)},
    "ceil_pool": lambda d: {"X": d.floats(8, 16, 55, 55)},
    "batch_norm_nhwc": lambda d: {"X": d.floats(8, 24, 24, 32), "g": d.floats(32), "b": d.floats(32)},
    "ignored_index_loss": lambda d: {
        "L": d.floats(1000, 50),
        "y": np.where(d.unit(1000) < 0.1, -100, d.below(50, 1000)).astype(np.int32),
        "w": d.unit(50),
    },
    "top_k_by_masking": lambda d: {"X": d.floats(200, 100)},
    "spd_solve": lambda d: {"A": _spd_rows(d, 64, 24), "B": d.floats(64, 24)},
    "welch_psd": lambda d: {"X": d.floats(4096), "W": d.unit(128), "C": d.floats(65, 128), "S": d.floats(65, 128)},
    "online_softmax_tiles": lambda d: {"X": d.floats(300, 250)},
    "fixed_resize": lambda d: {"A": np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)},
    "sobel_nms": lambda d: {"A": d.floats(130, 140)},
    "ranking_loss": lambda d: {"S": d.floats(40, 60), "R": d.below(4, 40, 60)},
    "cosine_matrix": lambda d: {"A": d.floats(200, 96), "B": d.floats(150, 96)},
    "flat_lu": lambda d: {
        "A": (d.floats(100, 100) + 100 * np.eye(100, dtype=np.float32)).reshape(-1).astype(np.float32)
    },
    "blocked_transpose_scale": lambda d: {"A": d.floats(300, 260)},
    "im2col_gemm": lambda d: {"X": d.floats(16, 30, 30), "W": d.floats(32, 144)},
    "pixel_hsv": lambda d: {"A": d.unit(40000, 3)},
    "double_buffered_rnn": lambda d: {
        "X": d.floats(16, 60, 24),
        "W": 0.3 * d.floats(24, 32),
        "U": 0.2 * d.floats(32, 32),
    },
    "column_scans_in_place": lambda d: {"A": d.floats(400, 300)},
    "strided_views": lambda d: {"X": d.floats(64, 4800)},
    "padded_copy_conv": lambda d: {"X": d.floats(8, 30, 30), "W": d.floats(16, 8, 3, 3)},
    "tree_sum": lambda d: {"X": d.floats(100, 1024)},
    "hillis_steele": lambda d: {"X": d.floats(64, 512)},
    "outer_product_gemm": lambda d: {"A": d.floats(200, 120), "B": d.floats(120, 160)},
    "reverse_rows": lambda d: {"A": d.floats(300, 400)},
    "transpose_in_place": lambda d: {"A": d.floats(300, 300)},
    "find_substring": lambda d: {"S": d.below(3, 200, 300), "P": np.array([0, 1, 2, 1, 0], np.int32)},
    "prefix_image": lambda d: {"A": d.floats(200, 240)},
    "col_major_stats": lambda d: {"A": d.floats(500, 64)},
    "pooling_with_counts": lambda d: {"A": d.floats(16, 61, 61)},
    "clipped_bilateral": lambda d: {"A": d.floats(80, 90)},
    "flat_sobel": lambda d: {"A": d.floats(19200)},
    "flat_pixels": lambda d: {"A": d.below(256, 57600).astype(np.uint8)},
    "lower_solve_many": lambda d: {
        "L": (np.tril(d.floats(60, 60)) + 10 * np.eye(60)).astype(np.float32),
        "B": d.floats(60, 200),
    },
    "euclid_to_all": lambda d: {"P": d.floats(400, 8)},
    "nearest_two": lambda d: {"P": d.floats(300, 3)},
    "bucket_by_row": lambda d: {"R": d.below(100, 4000), "V": d.floats(4000)},
    "masked_mean_rows": lambda d: {"A": d.floats(400, 200), "M": d.floats(400, 200) > 0},
    "unrolled_saxpy_tail": lambda d: {"x": d.floats(10003), "y": d.floats(10003)},
    "heat_two_arrays": lambda d: {"U": d.floats(150, 150), "V": d.floats(150, 150)},
    "three_pass_blur": lambda d: {"A": d.floats(3, 100, 120)},
    "gathered_rows_mean": lambda d: {"E": d.floats(1000, 48), "idx": d.below(1000, 200, 20), "n": d.below(21, 200)},
    "swap_sort_pairs": lambda d: {"K": d.floats(128, 64), "V": d.below(1000, 128, 64)},
    "monte_carlo_payoff": lambda d: {"Z": d.floats(2000, 32), "S": 0.9 + 0.2 * d.unit(2000)},
    "stencil_27": lambda d: {"U": d.floats(40, 40, 40), "w": d.floats(4), "V": d.floats(40, 40, 40)},
    "blocked_attention_rows": lambda d: {"Q": d.floats(96, 32), "K": d.floats(100, 32), "V": d.floats(100, 32)},
    "full_convolution": lambda d: {"A": d.floats(300), "B": d.floats(200)},
    "newton_pairs": lambda d: {"P": d.floats(200, 3)},
    "banded_matvec": lambda d: {"A": d.floats(500, 9), "x": d.floats(500)},
    "banded_lu": lambda d: {
        "A": (
            np.where(abs(np.arange(200)[:, None] - np.arange(200)) <= 5, d.floats(200, 200), 0) + 20 * np.eye(200)
        ).astype(np.float32)
    },
    "near_pairs": lambda d: {"X": d.floats(300, 16)},
    "diagonal_sums": lambda d: {"A": d.floats(150, 170)},
    "tsp_masks": lambda d: {"C": d.unit(10, 10)},
    "triples": lambda d: {"X": d.floats(60)},
    "lagged_products": lambda d: {"X": d.floats(16, 1000)},
    "syrk_mirror": lambda d: {"A": d.floats(150, 60)},
    "naive_dft": lambda d: {
        "X": d.floats(8, 128),
        "Tc": np.cos(2 * np.pi * np.arange(128) / 128).astype(np.float32),
        "Ts": np.sin(2 * np.pi * np.arange(128) / 128).astype(np.float32),
    },
    "upsample_fir": lambda d: {"X": d.floats(32, 500), "H": d.floats(15)},
    "clipped_conv2d": lambda d: {"X": d.floats(4, 40, 40), "W": d.floats(8, 4, 5, 5)},
    "clipped_dilate": lambda d: {"A": -5 + d.below(105, 120, 130)},
    "block_maxima": lambda d: {"X": d.floats(50, 1000)},
    "ragged_tiles_copy": lambda d: {"A": d.floats(130, 200)},
    "local_mean_filter": lambda d: {"A": d.floats(150, 160)},
    "knn_density": lambda d: {"P": d.floats(250, 2)},
    "shifted_add_reverse": lambda d: {"C": d.floats(64, 129), "r": 0.1 * d.floats(64, 128)},
    "smooth_n_times": lambda d: {"A": d.floats(64, 300)},
    "causal_windows": lambda d: {"X": d.floats(200, 32), "W": d.floats(32)},
    "rotate_square": lambda d: {"A": d.floats(128, 128)},
    "correlation_volume": lambda d: {"A": d.floats(16, 40, 48), "B": d.floats(16, 40, 48)},
    "polynomial_features": lambda d: {"X": d.floats(500, 12)},
    "block_diagonal_product": lambda d: {"A": d.floats(10, 24, 24), "X": d.floats(240, 30)},
    "masked_statistics": lambda d: {"X": d.floats(100, 200), "M": d.floats(100, 200) > 0},
    "ring_fir": lambda d: {"X": d.floats(2000), "H": d.floats(24)},
    "natural_spline": lambda d: {"x": np.cumsum(d.unit(200) + 0.1).astype(np.float32), "y": d.floats(200)},
    "mesh_laplacian": lambda d: {"V": d.floats(800, 3), "N": -1 + d.below(801, 800, 8)},
    "aligned_bilinear": lambda d: {"A": d.floats(40, 50)},
    "global_and_window_attention": lambda d: {"Q": d.floats(160, 16), "K": d.floats(160, 16), "V": d.floats(160, 16)},
    "cumulative_max_2d": lambda d: {"A": d.floats(120, 140)},
    "hankel_product": lambda d: {"h": d.floats(399), "x": d.floats(200)},
    "vandermonde_fit_terms": lambda d: {"x": d.floats(300), "y": d.floats(300)},
    "four_index": lambda d: {"A": d.floats(12, 20, 14, 18), "B": d.floats(20, 18, 9)},
    "finite_volume_step": lambda d: {"u": d.floats(1000), "c": d.floats(1001)},
    "row_gaps": lambda d: {"X": d.floats(400, 64)},
    "register_tiles": lambda d: {"A": d.floats(96, 80), "B": d.floats(80, 96)},
    "sums_by_two": lambda d: {"X": d.floats(300, 256)},
    "sorted_intersections": lambda d: {"A": np.sort(d.below(2000, 300)), "B": np.sort(d.below(2000, 300))},
    "water_levels": lambda d: {"H": d.floats(60, 70)},
    "attention_pooling": lambda d: {"X": d.floats(20, 100, 32), "L": 1 + d.below(100, 20), "w": d.floats(32)},
    "dilated_pool_indices": lambda d: {"X": d.floats(8, 40, 40)},
    "exponential_smoothing_gaps": lambda d: {"X": d.floats(64, 500), "V": d.floats(64, 500) > 0},
    "column_pivots": lambda d: {"A": d.floats(80, 80)},
    "tiles_histogram": lambda d: {"A": d.below(256, 64, 64).astype(np.uint8)},
    "triangle_moments": lambda d: {"A": d.floats(90, 90)},
    "seasonal_differences": lambda d: {"X": d.floats(40, 365)},
    "cross_entropy_grad": lambda d: {"Z": d.floats(128, 50), "y": d.below(50, 128)},
    "back_substitution_down": lambda d: {
        "U": (np.triu(d.floats(160, 160)) + 20 * np.eye(160)).astype(np.float32),
        "b": d.floats(160),
    },
    "axpy_unrolled_with_tail": lambda d: {"a": np.float32(0.5), "x": d.floats(1003), "y": d.floats(1003)},
    "bfs_on_grid": lambda d: {"W": (d.unit(48, 48) < 0.2).astype(np.int32)},
    "padded_border_blur": lambda d: {"A": d.floats(100, 130)},
    "gemm_bias_relu_tiles": lambda d: {"A": d.floats(100, 70), "B": d.floats(70, 90), "bias": d.floats(90)},
    "majority_smoothing": lambda d: {"L": d.below(6, 64, 64)},
    "row_normalise_in_two": lambda d: {"A": d.floats(200, 96)},
    "moments_of_labels": lambda d: {"L": d.below(8, 60, 80)},
    "two_level_stencil": lambda d: {"u": d.floats(402), "v": d.floats(402)},
    "softmax_columns": lambda d: {"X": d.floats(80, 300)},
    "count_inversions": lambda d: {"P": d.below(10000, 300)},
    "sparse_rows_softmax": lambda d: {
        "row": np.sort(np.r_[0, d.below(1500, 99), 1500]).astype(np.int32),
        "v": d.floats(1500),
    },
    "dual_quaternion_blend": lambda d: {"W": d.unit(400, 4), "J": d.below(30, 400, 4), "Q": d.floats(30, 4)},
    "interval_sums": lambda d: {
        "X": d.floats(2000),
        "a": np.minimum(d.below(2000, 300), d.below(2000, 301)[:300]),
        "b": np.maximum(d.below(2000, 300), d.below(2000, 301)[:300]),
    },
    "dense_to_csr_values": lambda d: {"A": np.where(d.unit(60, 60) < 0.2, d.floats(60, 60), 0).astype(np.float32)},
    "blocked_cholesky_like": lambda d: {
        "A": (lambda M: (M @ M.T + 96 * np.eye(96)).astype(np.float32))(d.floats(96, 96))
    },
    "audio_resample_linear": lambda d: {"X": d.floats(4000)},
    "neighbour_vote_hex": lambda d: {"A": d.below(2, 50, 50)},
    "grouped_topk_mask": lambda d: {"S": d.floats(100, 32)},
    "chebyshev_eval": lambda d: {"c": d.floats(16), "x": d.unit(1000)},
    "pair_list": lambda d: {"P": d.unit(150, 2)},
    "iir_cascade_rows": lambda d: {"X": d.floats(32, 600), "C": (0.2 * d.unit(3, 4)).astype(np.float32)},
    "upsample_sum_skip": lambda d: {"A": d.floats(8, 16, 16), "S": d.floats(8, 32, 32)},
    "margin_mining": lambda d: {"E": d.floats(120, 24), "y": d.below(8, 120)},
    "conv_tiles": lambda d: {"X": d.floats(3, 50, 50), "W": d.floats(16, 3, 3, 3)},
    "transpose_tiles": lambda d: {"A": d.floats(130, 150)},
    "reduce_tree_blocks": lambda d: {"X": d.floats(4096)},
    "stencil_blocked_time": lambda d: {"A": d.floats(258), "B": d.floats(258)},
    "spmv_sorted_coo": lambda d: {
        "r": np.sort(d.below(200, 2000)),
        "c": d.below(200, 2000),
        "v": d.floats(2000),
        "x": d.floats(200),
    },
    "layer_norm_two_pass_tiles": lambda d: {"X": d.floats(64, 200), "g": d.floats(200), "b": d.floats(200)},
    "flat_depthwise": lambda d: {"X": d.floats(8 * 34 * 34), "W": d.floats(72)},
    "scan_three_phases": lambda d: {"X": d.floats(1024)},
    "half_matvec": lambda d: {"A": d.floats(300, 256).astype(np.float16), "x": d.floats(256).astype(np.float16)},
    "quantise_rows": lambda d: {"X": d.floats(100, 128)},
    "gather_rows_weighted": lambda d: {"E": d.floats(500, 32), "idx": d.below(500, 64, 10), "n": d.below(11, 64)},
    "symmetric_rank2k": lambda d: {"A": d.floats(90, 40), "B": d.floats(90, 40)},
    "peak_to_trough": lambda d: {"P": (d.unit(50, 400) + 1).astype(np.float32)},
    "local_maxima_list": lambda d: {"X": d.floats(1000)},
    "multi_head_flat": lambda d: {"Q": d.floats(64, 64), "K": d.floats(64, 64), "V": d.floats(64, 64)},
    "bilinear_crop": lambda d: {"A": d.floats(40, 40, 4), "box": np.sort(39.0 * d.unit(10, 4), 1)[:, [0, 1, 2, 3]]},
    "markov_steps": lambda d: {
        "P": (lambda M: M / M.sum(1, keepdims=True))(d.unit(60, 60)).astype(np.float32),
        "p": d.unit(60),
    },
    "sum_of_absolute_windows": lambda d: {"X": d.floats(900)},
    "sum_and_max_rows": lambda d: {"A": d.floats(300, 257)},
    "nchw16c_conv": lambda d: {"X": d.floats(2, 18, 18, 16), "Wt": d.floats(2, 2, 3, 3, 16, 16)},
    "periodic_diffusion": lambda d: {"U": d.floats(100, 100)},
    "neumann_sweeps": lambda d: {"U": d.floats(82, 82)},
    "softmax_materialised": lambda d: {"X": d.floats(128, 500)},
    "tiled_copy_tails": lambda d: {"A": d.floats(150, 203)},
    "untile_with_tails": lambda d: {"B": d.floats(5, 7, 32, 32)},
    "gemm_micro_kernel": lambda d: {"A": d.floats(8, 64, 6), "B": d.floats(4, 64, 16)},
    "leaky_integrators": lambda d: {"X": d.floats(64, 1000), "a": d.unit(64)},
    "first_best_pair": lambda d: {"A": d.floats(80, 90)},
    "gravity_blocks": lambda d: {"P": d.floats(1024, 3), "m": d.unit(1024)},
    "wrap_pad_conv1d": lambda d: {"X": d.floats(32, 200), "w": d.floats(7)},
    "mirror_pad_blur": lambda d: {"X": d.floats(64, 64)},
    "strided_grouped_conv": lambda d: {"X": d.floats(1, 8, 33, 33), "W": d.floats(16, 4, 3, 3), "b": d.floats(16)},
    "sorted_topk_insert": lambda d: {"X": d.floats(64, 300)},
    "ragged_rows_mean": lambda d: {"off": d.offsets(101, 3000), "X": d.floats(3000, 16)},
    "blocked_dot_products": lambda d: {"A": d.floats(16, 64, 64), "B": d.floats(16, 64, 64)},
    "counts_per_step": lambda d: {"X": d.floats(200, 500)},
    "dft_of_rows": lambda d: {"X": d.floats(32, 64)},
    "quantised_linear": lambda d: {
        "X": d.below(256, 32, 100).astype(np.uint8),
        "W": (-128 + d.below(256, 48, 100)).astype(np.int8),
        "b": -1000 + d.below(2000, 48),
        "s": (d.unit(48) * 0.01).astype(np.float32),
    },
    "attention_key_blocks": lambda d: {"Q": d.floats(50, 32), "K": d.floats(70, 32), "V": d.floats(70, 32)},
    "trellis_min_plus": lambda d: {"A": d.floats(40, 40), "B": d.floats(40, 40)},
    "reverse_time_rnn": lambda d: {"X": d.floats(60, 16), "Wx": d.floats(32, 16) * 0.2, "Wh": d.floats(32, 32) * 0.2},
    "interleave_channels": lambda d: {"L": d.floats(5000) * 0.5, "R": d.floats(5000) * 0.5},
    "thomas_rows": lambda d: {
        "a": d.unit(50, 128),
        "b": d.unit(50, 128) + 3,
        "c": d.unit(50, 128),
        "d": d.floats(50, 128),
    },
    "bucket_sums_2d": lambda d: {"X": d.unit(5000), "Yc": d.unit(5000), "V": d.floats(5000)},
    "masked_row_softmax_backward": lambda d: {"P": d.unit(64, 80), "dP": d.floats(64, 80), "n": d.below(81, 64)},
    "time_tiled_heat": lambda d: {"U": d.floats(514)},
    "lut_gamma_rgb": lambda d: {
        "I": d.below(256, 120, 160, 3).astype(np.uint8),
        "lut": d.below(256, 256).astype(np.uint8),
    },
    "two_pass_variance_cols": lambda d: {"X": d.floats(400, 60)},
    "nearest_palette": lambda d: {"I": d.unit(64, 64, 3), "C": d.unit(16, 3)},
    "lower_tri_packed_times": lambda d: {"L": d.floats(1275), "x": d.floats(50)},
    "edge_list_laplacian": lambda d: {
        "src": d.below(300, 2000),
        "dst": d.below(300, 2000),
        "w": d.unit(2000),
        "x": d.floats(300),
    },
    "moving_median5": lambda d: {"X": d.floats(2000)},
    "pooled_pyramid": lambda d: {"X": d.floats(64, 64)},
    "last_seen_distance": lambda d: {"X": d.below(256, 100, 400).astype(np.uint8)},
    "swap_halves": lambda d: {"X": d.floats(128, 256)},
    "reverse_in_place": lambda d: {"X": d.floats(3000)},
    "gray_world_balance": lambda d: {"I": d.unit(90, 120, 3)},
    "sparse_dense_diag_scale": lambda d: {
        "rp": d.offsets(201, 3000),
        "ci": d.below(200, 3000),
        "v": d.floats(3000),
        "d": d.floats(200),
    },
    "strassen_like_blocks": lambda d: {"A": d.floats(2, 2, 32, 32), "B": d.floats(2, 2, 32, 32)},
    "running_quantile_counts": lambda d: {"X": d.floats(50, 300), "q": np.sort(d.floats(9))},
    "levenshtein_full": lambda d: {"a": d.below(4, 100), "b": d.below(4, 120)},
    "depth_to_disparity": lambda d: {"D": d.unit(120, 160) * 5, "V": d.unit(120, 160) > 0.3},
    "knn_average": lambda d: {"Q": d.unit(200, 3), "P": d.unit(400, 3), "V": d.unit(400)},
    "ewma_vol": lambda d: {"R": d.floats(64, 500)},
    "rows_to_nchw8c": lambda d: {"X": d.floats(2, 30, 28, 28)},
    "nchw8c_pool": lambda d: {"X": d.floats(2, 4, 28, 28, 8)},
    "group_norm_relu": lambda d: {"X": d.floats(4, 32, 196), "g": d.floats(32), "b": d.floats(32)},
    "coo_to_dense_rows": lambda d: {
        "r": d.below(200, 3000),
        "c": d.below(256, 3000),
        "v": d.floats(3000),
        "x": d.floats(256, 16),
    },
    "trapezoid_paths": lambda d: {"f": d.floats(128, 257)},
    "dilate3d": lambda d: {"V": (d.unit(32, 32, 32) < 0.02).astype(np.uint8)},
    "quant_per_channel": lambda d: {"W": d.floats(256, 300)},
    "spring_network": lambda d: {"X": d.floats(300, 3), "e": d.below(300, 900, 2), "L": d.unit(900)},
    "gru_seq": lambda d: {
        "X": d.floats(50, 8, 32),
        "Wz": 0.2 * d.floats(64, 32),
        "Wr": 0.2 * d.floats(64, 32),
        "Wh": 0.2 * d.floats(64, 32),
    },
    "crossing_number": lambda d: {"P": d.floats(500, 2), "V": d.floats(40, 2)},
    "lcs_length": lambda d: {"a": d.below(4, 200), "b": d.below(4, 220)},
    "ssd_template": lambda d: {"I": d.floats(80, 80), "K": d.floats(12, 12)},
    "rope_rotate": lambda d: {"X": d.floats(8, 128, 64), "C": d.floats(128, 32), "S": d.floats(128, 32)},
    "histogram2d": lambda d: {"x": d.unit(5000) * 1.2 - 0.1, "y": d.unit(5000) * 1.2 - 0.1},
    "bc_upwind": lambda d: {"u": d.floats(1000), "a": d.floats(1000)},
    "lowrank_update": lambda d: {
        "A": d.floats(150, 150),
        "U": d.floats(150, 4),
        "V": d.floats(150, 4),
        "x": d.floats(150),
    },
    "median3x3": lambda d: {"I": d.floats(64, 64)},
    "pagerank_dense": lambda d: {"A": (d.unit(200, 200) < 0.03).astype(np.float32)},
    "packed_triangle_matvec": lambda d: {"P": d.floats(11325), "x": d.floats(150)},
    "label_counts_by_row": lambda d: {"L": d.below(10, 100, 300)},
    "wavelet_levels": lambda d: {"X": d.floats(32, 256)},
    "soft_dtw_step": lambda d: {"A": d.floats(60, 8), "B": d.floats(70, 8)},
    "conv1d_causal_dilated": lambda d: {"X": d.floats(16, 400), "W": d.floats(16, 16, 3)},
    "ragged_max_pool": lambda d: {"X": d.floats(40, 64, 16), "n": 1 + d.below(64, 40)},
    "moving_std": lambda d: {"X": d.floats(50, 1000)},
    "block_sums_then_scan": lambda d: {"X": d.below(9, 4096)},
    "euler_rigid": lambda d: {"Q": d.floats(100, 4), "W": d.floats(100, 3)},
    "padded_batch_matvec": _ragged_vectors,
    "contact_pairs": lambda d: {"X": d.unit(250) * 20, "Y": d.unit(250) * 20, "R": d.unit(250)},
    "bandpass_biquad": lambda d: {"X": d.floats(16, 800), "c": np.array([0.2, 0.3, 0.1, -0.5, 0.2], np.float32)},
    "nearest_upsample_add": lambda d: {"A": d.floats(16, 20, 20), "B": d.floats(16, 40, 40)},
    "max_subarray_rows": lambda d: {"X": d.floats(300, 400)},
    "csr_row_softmax": lambda d: {"rp": d.offsets(201, 2400), "v": d.floats(2400)},
    "vertex_normals": lambda d: {"V": d.floats(400, 3), "f": d.below(400, 700, 3)},
    "lj_cutoff_pbc": lambda d: {"X": d.unit(180, 3) * 8},
    "hsv_from_rgb": lambda d: {"I": d.unit(3, 100, 100)},
    "mlp_adam_step": lambda d: {
        "X": d.floats(64, 20),
        "y": d.floats(64),
        "W": d.floats(20, 32),
        "v": d.floats(32),
        "M": d.floats(20, 32),
        "S": d.unit(20, 32),
    },
    "jacobi_masked": lambda d: {
        "U": d.floats(66, 66),
        "K": (d.unit(66, 66) < 0.1).astype(np.int32),
        "B": d.floats(66, 66),
    },
    "block_diag_matmul": lambda d: {"A": d.floats(12, 16, 16), "X": d.floats(192, 40)},
    "toeplitz_solve_apply": lambda d: {"t": d.floats(399), "x": d.floats(200)},
    "strided_slices_sum": lambda d: {"A": d.floats(64, 300)},
    "double_pendulum": lambda d: {"s": d.floats(256, 4)},
    "sobel_magnitude": lambda d: {"I": d.floats(128, 128)},
    "binomial_american": lambda d: {"S0": 80 + 40 * d.unit(50)},
    "bincount_weighted_2": lambda d: {"k": d.below(64, 4000), "w": d.floats(4000)},
    "attention_alibi": lambda d: {"Q": d.floats(4, 64, 32), "K": d.floats(4, 64, 32), "V": d.floats(4, 64, 32)},
    "kalman_1d": lambda d: {"z": d.floats(200, 64)},
    "pack_bits": lambda d: {"A": -2 + d.below(5, 64, 256)},
    "ssim_means": lambda d: {"A": d.floats(64, 64), "B": d.floats(64, 64)},
    "cg_dense": lambda d: {"A": np.eye(96, dtype=np.float32) + 0.1 * np.ones((96, 96), np.float32), "b": d.floats(96)},
    "deinterleave_complex_mag": lambda d: {"Z": d.floats(40, 512)},
    "gather_padded_neighbors": lambda d: {"X": d.floats(300, 16), "n": -1 + d.below(301, 300, 8)},
    "conv_transpose_2d": lambda d: {"X": d.floats(8, 16, 16), "W": d.floats(8, 4, 3, 3)},
    "monotone_envelope": lambda d: {"X": d.floats(100, 300)},
    "topk_gate": lambda d: {"G": d.floats(256, 16)},
    "int8_gemm_zero_points": lambda d: {"A": d.bytes(64, 96), "B": d.bytes(96, 48).astype(np.int8)},
    "hessian_eigs": inputs_of_hessian_eigs,
    "chambolle_tv": inputs_of_chambolle_tv,
    "baum_welch": inputs_of_baum_welch,
    "muscl_euler": inputs_of_muscl_euler,
    "rbf_field": inputs_of_rbf_field,
    "life_3d": inputs_of_life_3d,
    "lora_linear": inputs_of_lora_linear,
    "conv_lstm": inputs_of_conv_lstm,
    "vq_lookup": inputs_of_vq_lookup,
    "dlrm_interact": inputs_of_dlrm_interact,
    "fm_scores": inputs_of_fm_scores,
    "tps_warp": inputs_of_tps_warp,
    "undistort": inputs_of_undistort,
    "sgm_path": inputs_of_sgm_path,
    "fast_corners": inputs_of_fast_corners,
    "splat_depth": inputs_of_splat_depth,
    "bezier_surface": inputs_of_bezier_surface,
    "parabolic_sar": inputs_of_parabolic_sar,
    "implied_vol": inputs_of_implied_vol,
    "sobol_points": inputs_of_sobol_points,
    "halton_2_3": inputs_of_halton_2_3,
    "dfa_run": inputs_of_dfa_run,
    "z_function": inputs_of_z_function,
    "wildcard": inputs_of_wildcard,
    "distinct_subseq": inputs_of_distinct_subseq,
    "house_robber": inputs_of_house_robber,
    "coin_ways": inputs_of_coin_ways,
    "set_zeroes": inputs_of_set_zeroes,
    "median_5x5": inputs_of_median_5x5,
    "adx": inputs_of_adx,
    "horn_schunck": inputs_of_horn_schunck,
    "clahe_tiles": inputs_of_clahe_tiles,
    "gp_predict": inputs_of_gp_predict,
    "block_thomas": inputs_of_block_thomas,
    "sym_packed_from_pairs": inputs_of_sym_packed_from_pairs,
    "log_polar": inputs_of_log_polar,
    "sauvola": inputs_of_sauvola,
    "box_blur_running": inputs_of_box_blur_running,
    "daub4_level": inputs_of_daub4_level,
    "stft_mag": inputs_of_stft_mag,
    "mann_whitney": inputs_of_mann_whitney,
    "mutual_information": inputs_of_mutual_information,
    "loess": inputs_of_loess,
    "distance_correlation": inputs_of_distance_correlation,
    "explicit_fd_put": inputs_of_explicit_fd_put,
    "max_profit_k": inputs_of_max_profit_k,
    "potts_sweep": inputs_of_potts_sweep,
    "pic_push": inputs_of_pic_push,
    "fdtd_tm_pml": inputs_of_fdtd_tm_pml,
    "grid_sample": inputs_of_grid_sample,
    "moe_dispatch": inputs_of_moe_dispatch,
    "lstm_peephole": inputs_of_lstm_peephole,
    "spatial_pyramid": inputs_of_spatial_pyramid,
    "hopfield": inputs_of_hopfield,
    "palindromic_subsequence": inputs_of_palindromic_subsequence,
    "burst_balloons": inputs_of_burst_balloons,
    "max_rectangle_sum": inputs_of_max_rectangle_sum,
    "csr_sssp": inputs_of_csr_sssp,
    "modularity": inputs_of_modularity,
    "ell_spmm": inputs_of_ell_spmm,
    "crc32_rows": inputs_of_crc32_rows,
    "word_lengths_histogram": inputs_of_word_lengths_histogram,
    "manacher_odd": inputs_of_manacher_odd,
    "minesweeper_counts": inputs_of_minesweeper_counts,
    "flood_sweeps": inputs_of_flood_sweeps,
    "tetris_clear": inputs_of_tetris_clear,
    "permutation_test": inputs_of_permutation_test,
    "theil_sen": inputs_of_theil_sen,
    "ljung_box": inputs_of_ljung_box,
}

HAND_WRITTEN: tuple[Callable[..., Any], ...] = (
    summed_area,
    window_of_positions,
    dilated_groups,
    transposed_convolution,
    tiles_with_tails,
    pairwise_forces,
    bilinear_upsampling,
    game_of_life,
    moving_average,
    nearest_centre,
    cross_entropy,
    rotary_embedding,
    causal_attention,
    tridiagonal_systems,
    group_norm_in_blocks,
    ellpack_product,
    max_pool_in_blocks,
    histogram_2d,
    recurrent_gate,
    horner,
    layer_norm_with_padding,
    product_of_blocks,
    depthwise_padded,
    softmax_of_lengths,
    zero_points,
    average_pool_in_blocks,
    heat,
    knapsack,
    covariance_of_samples,
    segment_means,
    escape_time,
    strided_convolution_in_blocks,
    running_logsumexp,
    leaky_product,
    interpolation,
    lcs,
    binomial_tree,
    pagerank_csr,
    popcount,
    erosion,
    lbm_collide,
    odd_even_sort,
    autocorrelation,
    dft,
    trmm_lower,
    conv_transpose,
    max_pool_argmax,
    wave_2d,
    embedding_bag,
    bellman_ford,
    black_scholes,
    batched_small_inverse,
    csr_spmm,
    grouped_rms_norm,
    viterbi,
    image_gradient_hist,
    median3,
    exp_moving_var,
    nn_distance_matrix,
    sliding_distance,
    instance_norm,
    jacobi_3d,
    gqa_scores,
    drawdown,
    int8_product,
    gaussian_reflect,
    first_above,
    confusion,
    kalman,
    conv_nhwc,
    red_black,
    mean_pool,
    rolling_hash,
    bilateral,
    haar,
    batched_cross,
    quat_rotate,
    histogram_equalise,
    givens_rotations,
    ssm_scan,
    matmul_tails,
    ragged_softmax,
    roi_max,
    weno_flux,
    blocked_layernorm,
    masked_prefix_mean,
    gram_schmidt,
    legendre,
    window_attention,
    paged_attention,
    int4_dequant,
    yuv_to_rgb,
    rule110,
    dtw,
    hmm_forward,
    block_sparse_product,
    diagonals_product,
    rk4_lorenz,
    toeplitz,
    segmented_scan,
    gru_masked,
    ctc_forward,
    experts_of_tokens,
    hough_transform,
    cholesky_batch,
    small_systems,
    median_of_five,
    de_casteljau,
    biquad_cascade,
    best_two,
    small_powers,
    three_nearest,
    short_edit_distances,
    small_lu,
    lstm,
    depthwise_in_blocks,
    mean_of_crops,
    kalman_position_speed,
    crc_bytes,
    sinkhorn,
    harris_corners,
    upsampled_beside_skip,
    squeeze_excite,
    qlinear_conv1d,
    attention_of_padded_heads,
    stencil_over_bricks,
    banded_substitution,
    padded_batch_mean,
    bitmask_select,
    hexagon,
    upper_packed_matvec,
    conv_relu_pool,
    beamforming,
    embedding_backward,
    token_shift_mix,
    decayed_averages,
    dilated_causal,
    smoothed_cross_entropy,
    coin_change,
    autoregressions,
    prediction_errors,
    rod_cutting,
    poly_mul,
    morph_gradient,
    block_norms,
    local_contrast,
    bsr_matvec,
    levenshtein_band,
    hamming_matrix,
    leading_zeros,
    gray_decode,
    morton_codes,
    upwind,
    mac_projection,
    red_black_3d,
    restrict_prolong,
    perona_malik,
    last_minimum,
    rank_sort,
    row_histograms,
    scatter_means,
    csc_product,
    conv1d_blocked_tails,
    deconv1d_gather,
    im2col_product,
    streaming_attention,
    local_attention,
    linear_attention,
    cross_lengths,
    int8_conv,
    q4_matvec,
    affine_gaps,
    subset_sums,
    sor_dense,
    walsh_hadamard,
    distance_transform,
    label_spread,
    nearest_resize,
    masked_correlation,
    triangle_count,
    demosaic,
    fluid_average,
    bfs_levels,
    palindromes,
    alpha_compositing,
    group_best,
    fft_stages,
    xtea,
    kernel_density,
    fir_decimate,
    csr_components,
    matrix_chain,
    compaction,
    mamba_scan,
    mttkrp,
    welford,
    goertzel,
    wave_obstacles,
    adler32,
    sliced_ell,
    non_max_suppression,
    run_lengths,
    bit_reversal,
    overlap_add,
    frame_energies,
    zero_crossings,
    integrator_comb,
    normalised_adjacency,
    coo_times_matrix,
    ell_transposed,
    edge_softmax,
    transitive_closure,
    asian_options,
    rolling_covariance,
    relative_strength,
    bond_prices,
    otsu_threshold,
    opening,
    box_from_sums,
    seam_energies,
    ordered_dither,
    chroma_halved,
    thinned_edges,
    vibrating_string,
    shallow_water,
    charge_deposit,
    rising_subsequence,
    common_substring,
    word_break,
    pattern_places,
    bitap,
    khatri_rao,
    packed_rank_one,
    products_batch_last,
    householder_panel,
    layer_norm_backward,
    conv_weight_gradient,
    max_pool_backward,
    hard_triplets,
    batch_norm_backward,
    relative_bias_scores,
    pixel_shuffle,
    fnv_rows,
    xorshift_streams,
    min_hashes,
    count_sketch,
    table_with_lerp,
    mirrored_taps,
    cylinder_diffusion,
    one_sided_gradient,
    blocked_channel_softmax,
    row_scan_in_blocks,
    requantized,
    row_products,
    savitzky_golay,
    polyphase_up,
    circular_convolution,
    pairwise_l1,
    ema_crossings,
    nbody_leapfrog,
    sph_density,
    ising_checkerboard,
    forest_fire,
    polygon_areas,
    point_in_polygon,
    z_buffer,
    ray_spheres,
    weighted_histogram,
    warp_affine,
    smith_waterman,
    best_subarrays,
    two_trades,
    burgers_minmod,
    conjugate_gradient,
    power_iteration,
    matrix_exponential,
    kronecker,
    tensor_pair,
    swiglu,
    conv3d,
    local_response_norm,
    max_unpool,
    adam_step,
    collapse_repeats,
    symmetric_lower_product,
    triangular_inverse,
    fletcher16,
    lfsr_streams,
    base64,
    zigzag_delta,
    kmeans_step,
    logistic_descent,
    tree_predict,
    lagrange,
    resample,
    dct_blocks,
    census,
    stereo,
    error_diffusion,
    gauss_seidel_line,
    crank_nicolson,
    spline_eval,
    wavelet_level,
    run_decode,
    csr_row_best,
    rank_of_merge,
    gelu_dropout,
    count_in_boxes,
    trapezoid_integral,
    longest_run,
    hash_joins,
    grid_paths,
    egg_beater,
    envelope_follower,
    hysteresis,
    inverse_permutation,
    upper_triangle_to_vector,
    block_transposes,
    mse_and_r2,
    skew_kurtosis,
    predator,
    predator_long,
    tanks,
    logistic,
    pid,
    queue_wait,
    two_servers,
    stack_machine,
    lru_hits,
    neuron,
    garch,
    garch_sim,
    insertion_sort,
    selection_ranks,
    lis_lengths,
    dijkstra_dense,
    prim_tree,
    pivoted_elimination,
    bisection,
    newton_sqrt,
    romberg_rows,
    rolling_max,
    bootstrap_means,
    counting_sort,
    leapfrog_wave,
    gray_scott,
    lid_pressure,
    upsample_nearest_conv,
    blocked_transpose_pad,
    nchwc_relu_bias,
    per_channel_quant,
    sliding_dot_max,
    word_starts,
    atoi_rows,
    bracket_depth,
    beam_scores,
    optimal_search_tree,
    rigid_transform,
    normals,
    vertex_degrees,
    hash_grid_counts,
    exclusive_max_left,
    majority_vote,
    two_sum_counts,
    string_hash_rows,
    tridiagonal_eigen_count,
    alibi_attention,
    cosine_best,
    hue,
    list_ranking,
    josephus,
    sieve,
    pascal_mod,
    catalan_mod,
    gcds,
    mod_powers,
    collatz,
    value_noise,
    sphere_march,
    marching_cases,
    catmull_rom,
    coverage,
    holt_winters,
    survival,
    kendall,
    naive_bayes,
    pair_counts,
    bm25,
    jaccard,
    vigenere,
    utf8_points,
    hex_rows,
    delta_of_delta,
    unpack_12,
    mu_law,
    comb_reverb,
    rank_filter,
    non_local_means,
    lucas_kanade,
    binary_patterns,
    disk_dilate,
    heat_insulated,
    fem_residual,
    mass_springs,
    lennard_jones,
    radial_distribution,
    lcg_pi,
    walkers,
    hmm_backward,
    damerau,
    largest_square,
    trapped_water,
    cooldown,
    knapsack_2d,
    bottleneck_paths,
    gauss_jordan,
    ldl,
    banded_cholesky,
    ntt,
    synthetic_division,
    clenshaw,
    quadrature,
    box_overlaps,
    expert_slots,
    roi_align,
    channel_shuffle,
    bidirectional,
    wavenet_gate,
    focal_dice,
    kv_append,
    jump_flood,
    yin_difference,
    mel_filterbank,
    bollinger,
    stochastic_oscillator,
    ohlc_bars,
    swap_curve,
    risk_covariance,
    heston,
    trinomial_american,
    bounce_back_stream,
    neighbour_forces,
    structure_factor,
    kuramoto,
    spiking_network,
    metapopulation,
    wireworld,
    longest_match,
    move_to_front,
    totients,
    divisor_sums,
    partition_numbers,
    stirling,
    digit_sums,
    mertens,
    closest_pair,
    segment_crossings,
    point_to_segments,
    bspline_basis,
    slab_tests,
    gaussian_pyramid,
    sharpen_bytes,
    adaptive_threshold,
    guided_filter,
    template_ssd,
    poisson_blend,
    orientation_histogram,
    infonce,
    decision_stump,
    split_gains,
    knn_vote,
    perceptron,
    rating_sgd,
    mixture_responsibilities,
    value_iteration,
    q_learning,
    bandit_ucb,
    systematic_resampling,
    sessions,
    percentile_ranks,
    bloom_filter,
    hyperloglog,
    radix_pass,
    overlap_depth,
    gate_on_statevector,
    qubit_rotations,
    euler_hll,
    semi_lagrangian,
    back_projection,
    lms_filter,
    hamming_decode,
    levinson_durbin,
    adpcm_decode,
    compressor,
    allpass_reverb,
    plucked_string,
    hessenberg,
    lanczos,
    jacobi_rotations,
    cholesky_update,
    permanent,
    strassen,
    sinks_attention,
    top_two_gate,
    masked_token_loss,
    crf_forward,
    chacha_rounds,
    inverse_bwt,
    nussinov,
    gini,
    auc,
    cox_gradient,
    cusum_alarms,
    gillespie,
    rope_constraints,
    perlin,
    ssim,
    hog_cells,
    winograd_1d,
    cyclic_reduction,
    adi_sweeps,
    fdtd_2d,
    sandpile,
    langton,
    sudoku_candidates,
    knight_walks,
    hilbert_index,
    weekdays,
    sha_schedule,
    rs_syndromes,
    ldpc_bit_flips,
    convolutional_code,
    simhash,
    clock_pages,
    american_psor,
    amortization,
    hits,
    tfidf,
    isolation_depths,
    block_lower_solve,
    periodic_tridiagonal,
    packed_rows_dot,
    condensed_distances,
    interval_unions,
    lorenz_curve_bins,
    yuv420,
    lifting_53,
    chamfer,
    label_components,
    lz_decode,
    minimum_image,
    median_3x3,
    rank_one_downdates,
    kepler,
    bicubic,
    slide_2048,
    phase_unwrap,
    lpc_synthesis,
    amdf,
    kuwahara,
    zhang_suen,
    pixelate,
    seam_removal,
    block_motion,
    integer_dct,
    nagel,
    kdv,
    boids,
    barrier_paths,
    pair_zscore,
    kmer_counts,
    gc_skew,
    translate_codons,
    felsenstein,
    lasso_descent,
    elo,
    self_organizing_map,
    tsne_gradient,
    adaboost,
    hinge_sgd,
    top_k_rows,
    isotonic,
    luhn,
    anagram_keys,
    hist_match,
    xy_sweeps,
    fem_assembly,
    fitzhugh,
    word2vec_step,
    cyk,
    sample_hold,
    adsr,
    split_step,
    dbscan_counts,
    delay_line,
    image_moments,
    ransac_counts,
    scatter_within,
    particle_weights,
    batched_determinants,
    rasterize,
    d2q9,
    schrodinger,
    bond_angles,
    pssm_scan,
    variogram,
    lookback_option,
    absmax_groups,
    deformable_conv,
    softmax_backward,
    transducer,
    k_core,
    first_fit,
    bignum_add,
    bignum_mul,
    brians_brain,
    range_minima,
    hampel,
    cic_decimator,
    gain_control,
    viterbi_k3,
    aes_round,
    rc4,
    trilinear,
    lax_wendroff,
    vorticity,
    markov_credit,
    sage_mean,
    gabor_bank,
    phong,
    diagonal_order,
    fenwick,
    julia,
    rnn_bptt,
    karplus,
    chorus,
    moving_rms,
    schmitt,
    window_energy,
    merge_sorted,
    group_totals,
    running_rank,
    top_scores,
    stencil_material,
    transform_points,
    face_normals,
    skinning,
    gauss_newton,
    tri_packed_solve,
    spiral,
    peak_picking,
    bilinear_warp,
    integral_blur,
    particle_grid,
    lookup_cdf,
    dropout_residual_norm,
    cross_attention_pad,
    conv_bn_pool,
    einsum_chain,
    fir_bank,
    stock_span,
    bucket_ids,
    hash_table_probe,
    two_layer_online,
    rotate_half_cache,
    sudoku_conflicts,
    runs_lengths_bits,
    polyline_simplify,
    tent_map_lyapunov,
    ctc_greedy,
    soft_nms,
    giou,
    chamfer_clouds,
    farthest_points,
    voxel_pool,
    positional_encoding,
    volume_render,
    spherical_harmonics,
    gaussian_splat,
    lbs_chain,
    quaternion_integrate,
    madgwick_bias,
    mfcc_deltas,
    spectral_flux,
    chroma,
    harmonic_product,
    phase_vocoder,
    noise_gate_hold,
    edge_histogram,
    unsharp_mask,
    white_balance,
    bayer_bilinear,
    seam_dp,
    fill_holes,
    order_book,
    american_lsm,
    cds_bootstrap,
    twap_slices,
    hungarian_reduce,
    auction_assign,
    kd_counts,
    union_find,
    topological_levels,
    max_flow_push,
    edit_alignment_path,
    suffix_ranks,
    gf_matmul,
    siphash_rounds,
    parity_2d,
    varint_lengths,
    csv_fields,
    moment_matching,
    capsule_routing,
    graph_attention,
    retention,
    rwkv_wkv,
    speculative_accept,
    top_p_mask,
    rope_2d,
    patch_merge,
    flat_matmul,
    tiled_matmul_tails,
    flat_conv_nhwc,
    dot_unrolled,
    blocked_prefix,
    private_histograms,
    bitonic,
    ping_pong,
    ghost_cells,
    line_buffer,
    winograd_2d,
    flat_heads,
    one_pass_norm,
    pointer_walk,
    argmin_2d,
    complex_fir,
    matrix_power,
    next_hops,
    reflect_conv,
    running_box,
    lcs_two_rows,
    symv_upper,
    interleaved_gemm,
    flat_group_conv,
    ceil_pool,
    batch_norm_nhwc,
    ignored_index_loss,
    top_k_by_masking,
    spd_solve,
    welch_psd,
    online_softmax_tiles,
    fixed_resize,
    sobel_nms,
    ranking_loss,
    cosine_matrix,
    flat_lu,
    blocked_transpose_scale,
    im2col_gemm,
    pixel_hsv,
    double_buffered_rnn,
    column_scans_in_place,
    strided_views,
    padded_copy_conv,
    tree_sum,
    hillis_steele,
    outer_product_gemm,
    reverse_rows,
    transpose_in_place,
    find_substring,
    prefix_image,
    col_major_stats,
    pooling_with_counts,
    clipped_bilateral,
    flat_sobel,
    flat_pixels,
    lower_solve_many,
    euclid_to_all,
    nearest_two,
    bucket_by_row,
    masked_mean_rows,
    unrolled_saxpy_tail,
    heat_two_arrays,
    three_pass_blur,
    gathered_rows_mean,
    swap_sort_pairs,
    monte_carlo_payoff,
    stencil_27,
    blocked_attention_rows,
    full_convolution,
    newton_pairs,
    banded_matvec,
    banded_lu,
    near_pairs,
    diagonal_sums,
    tsp_masks,
    triples,
    lagged_products,
    syrk_mirror,
    naive_dft,
    upsample_fir,
    clipped_conv2d,
    clipped_dilate,
    block_maxima,
    ragged_tiles_copy,
    local_mean_filter,
    knn_density,
    shifted_add_reverse,
    smooth_n_times,
    causal_windows,
    rotate_square,
    correlation_volume,
    polynomial_features,
    block_diagonal_product,
    masked_statistics,
    ring_fir,
    natural_spline,
    mesh_laplacian,
    aligned_bilinear,
    global_and_window_attention,
    cumulative_max_2d,
    hankel_product,
    vandermonde_fit_terms,
    four_index,
    finite_volume_step,
    row_gaps,
    register_tiles,
    sums_by_two,
    sorted_intersections,
    water_levels,
    attention_pooling,
    dilated_pool_indices,
    exponential_smoothing_gaps,
    column_pivots,
    tiles_histogram,
    triangle_moments,
    seasonal_differences,
    cross_entropy_grad,
    back_substitution_down,
    axpy_unrolled_with_tail,
    bfs_on_grid,
    padded_border_blur,
    gemm_bias_relu_tiles,
    majority_smoothing,
    row_normalise_in_two,
    moments_of_labels,
    two_level_stencil,
    softmax_columns,
    count_inversions,
    sparse_rows_softmax,
    dual_quaternion_blend,
    interval_sums,
    dense_to_csr_values,
    blocked_cholesky_like,
    audio_resample_linear,
    neighbour_vote_hex,
    grouped_topk_mask,
    chebyshev_eval,
    pair_list,
    iir_cascade_rows,
    upsample_sum_skip,
    margin_mining,
    conv_tiles,
    transpose_tiles,
    reduce_tree_blocks,
    stencil_blocked_time,
    spmv_sorted_coo,
    layer_norm_two_pass_tiles,
    flat_depthwise,
    scan_three_phases,
    half_matvec,
    quantise_rows,
    gather_rows_weighted,
    symmetric_rank2k,
    peak_to_trough,
    local_maxima_list,
    multi_head_flat,
    bilinear_crop,
    markov_steps,
    sum_of_absolute_windows,
    sum_and_max_rows,
    nchw16c_conv,
    periodic_diffusion,
    neumann_sweeps,
    softmax_materialised,
    tiled_copy_tails,
    untile_with_tails,
    gemm_micro_kernel,
    leaky_integrators,
    first_best_pair,
    gravity_blocks,
    wrap_pad_conv1d,
    mirror_pad_blur,
    strided_grouped_conv,
    sorted_topk_insert,
    ragged_rows_mean,
    blocked_dot_products,
    counts_per_step,
    dft_of_rows,
    quantised_linear,
    attention_key_blocks,
    trellis_min_plus,
    reverse_time_rnn,
    interleave_channels,
    thomas_rows,
    bucket_sums_2d,
    masked_row_softmax_backward,
    time_tiled_heat,
    lut_gamma_rgb,
    two_pass_variance_cols,
    nearest_palette,
    lower_tri_packed_times,
    edge_list_laplacian,
    moving_median5,
    pooled_pyramid,
    last_seen_distance,
    swap_halves,
    reverse_in_place,
    gray_world_balance,
    sparse_dense_diag_scale,
    strassen_like_blocks,
    running_quantile_counts,
    levenshtein_full,
    depth_to_disparity,
    knn_average,
    ewma_vol,
    rows_to_nchw8c,
    nchw8c_pool,
    group_norm_relu,
    coo_to_dense_rows,
    trapezoid_paths,
    dilate3d,
    quant_per_channel,
    spring_network,
    gru_seq,
    crossing_number,
    lcs_length,
    ssd_template,
    rope_rotate,
    histogram2d,
    bc_upwind,
    lowrank_update,
    median3x3,
    pagerank_dense,
    packed_triangle_matvec,
    label_counts_by_row,
    wavelet_levels,
    soft_dtw_step,
    conv1d_causal_dilated,
    ragged_max_pool,
    moving_std,
    block_sums_then_scan,
    euler_rigid,
    padded_batch_matvec,
    contact_pairs,
    bandpass_biquad,
    nearest_upsample_add,
    max_subarray_rows,
    csr_row_softmax,
    vertex_normals,
    lj_cutoff_pbc,
    hsv_from_rgb,
    mlp_adam_step,
    jacobi_masked,
    block_diag_matmul,
    toeplitz_solve_apply,
    strided_slices_sum,
    double_pendulum,
    sobel_magnitude,
    binomial_american,
    bincount_weighted_2,
    attention_alibi,
    kalman_1d,
    pack_bits,
    ssim_means,
    cg_dense,
    deinterleave_complex_mag,
    gather_padded_neighbors,
    conv_transpose_2d,
    monotone_envelope,
    topk_gate,
    int8_gemm_zero_points,
    hessian_eigs,
    chambolle_tv,
    baum_welch,
    muscl_euler,
    rbf_field,
    life_3d,
    lora_linear,
    conv_lstm,
    vq_lookup,
    dlrm_interact,
    fm_scores,
    tps_warp,
    undistort,
    sgm_path,
    fast_corners,
    splat_depth,
    bezier_surface,
    parabolic_sar,
    implied_vol,
    sobol_points,
    halton_2_3,
    dfa_run,
    z_function,
    wildcard,
    distinct_subseq,
    house_robber,
    coin_ways,
    set_zeroes,
    median_5x5,
    adx,
    horn_schunck,
    clahe_tiles,
    gp_predict,
    block_thomas,
    sym_packed_from_pairs,
    log_polar,
    sauvola,
    box_blur_running,
    daub4_level,
    stft_mag,
    mann_whitney,
    mutual_information,
    loess,
    distance_correlation,
    explicit_fd_put,
    max_profit_k,
    potts_sweep,
    pic_push,
    fdtd_tm_pml,
    grid_sample,
    moe_dispatch,
    lstm_peephole,
    spatial_pyramid,
    hopfield,
    palindromic_subsequence,
    burst_balloons,
    max_rectangle_sum,
    csr_sssp,
    modularity,
    ell_spmm,
    crc32_rows,
    word_lengths_histogram,
    manacher_odd,
    minesweeper_counts,
    flood_sweeps,
    tetris_clear,
    permutation_test,
    theil_sen,
    ljung_box,
)
