"""What the kernels of examples/polybench and examples/kernels compute, in float64 by other means than their loops.

A reference takes sizes and inputs of its kernel by name, floats as float64, and returns the written buffers in
parameter order. What a kernel leaves unwritten may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray
Arrays = tuple[Array, ...]


# Products ------------------------------------------------------------------------------------------------------------


def gemm(alpha: float, beta: float, C: Array, A: Array, B: Array) -> Arrays:
    return (alpha * A @ B + beta * C,)


def k2mm(alpha: float, beta: float, A: Array, B: Array, C: Array, D: Array) -> Arrays:
    return (alpha * np.linalg.multi_dot([A, B, C]) + beta * D,)


def k3mm(A: Array, B: Array, C: Array, D: Array) -> Arrays:
    return (np.linalg.multi_dot([A, B, C, D]),)


def gemver(
    alpha: float,
    beta: float,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> Arrays:
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * y @ A + z
    return A, w + alpha * A @ x, x


def gesummv(alpha: float, beta: float, A: Array, B: Array, x: Array) -> Arrays:
    return ((alpha * A + beta * B) @ x,)


def symm(alpha: float, beta: float, C: Array, A: Array, B: Array) -> Arrays:
    full = np.tril(A) + np.tril(A, -1).T
    return (alpha * full @ B + beta * C,)


def syrk(alpha: float, beta: float, C: Array, A: Array) -> Arrays:
    return (lower(alpha * A @ A.T + beta * C, C),)


def syr2k(alpha: float, beta: float, C: Array, A: Array, B: Array) -> Arrays:
    return (lower(alpha * (A @ B.T + B @ A.T) + beta * C, C),)


def lower(new: Array, old: Array) -> Array:
    """The lower triangle of `new`, diagonal included, and the rest of `old`."""
    return np.tril(new) + np.triu(old, 1)


def trmm(alpha: float, A: Array, B: Array) -> Arrays:
    return (alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B,)


def atax(A: Array, x: Array) -> Arrays:
    return (A.T @ A @ x,)


def bicg(A: Array, p: Array, r: Array) -> Arrays:
    return A.T @ r, A @ p


def mvt(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> Arrays:
    return x1 + A @ y1, x2 + A.T @ y2


def doitgen(A: Array, C4: Array) -> Arrays:
    return (np.einsum("rqs,sp->rqp", A, C4),)


# Solvers -------------------------------------------------------------------------------------------------------------


def cholesky(A: Array) -> Arrays:
    return (lower(np.linalg.cholesky(A), A),)


def lu(A: Array) -> Arrays:
    """L below the diagonal, U on and above: L from the ratios of leading minors, each by a determinant-free solve."""
    n = len(A)
    low, up = np.eye(n), np.zeros((n, n))
    for i in range(n):
        low[i, :i] = np.linalg.solve(up[:i, :i].T, A[i, :i])
        up[i, i:] = A[i, i:] - low[i, :i] @ up[:i, i:]
    return (up + np.tril(low, -1),)


def ludcmp(A: Array, b: Array) -> Arrays:
    (factors,) = lu(A)
    return factors, np.linalg.solve(A, b), np.linalg.solve(np.tril(factors, -1) + np.eye(len(A)), b)


def trisolv(L: Array, b: Array) -> Arrays:
    return (np.linalg.solve(np.tril(L), b),)


def durbin(r: Array) -> Arrays:
    distance = np.abs(np.subtract.outer(np.arange(len(r)), np.arange(len(r))))
    toeplitz = np.concatenate([[1.0], r])[distance]
    return (np.linalg.solve(toeplitz, -r),)


def gramschmidt(A: Array) -> Arrays:
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))
    Q, R = Q * signs, R * signs[:, None]
    return Q * np.diag(R), R, Q


# Statistics and dynamic programming ----------------------------------------------------------------------------------


def correlation(data: Array) -> Arrays:
    deviation = data.std(axis=0)
    deviation[deviation <= 0.1] = 1.0
    scaled = (data - data.mean(axis=0)) / (np.sqrt(len(data)) * deviation)
    corr = np.corrcoef(data, rowvar=False)
    return scaled, corr


def covariance(data: Array) -> Arrays:
    return data - data.mean(axis=0), np.cov(data, rowvar=False)


def floyd_warshall(path: Array) -> Arrays:
    """By doubling: the shortest paths of up to 2^k edges, from those of half as many."""
    for _ in range(len(path).bit_length()):
        path = np.minimum(path, (path[:, :, None] + path[None]).min(axis=1))
    return (path,)


def nussinov(seq: Array, table: Array) -> Arrays:
    """By length of the interval; an interval splits anywhere into two, or pairs its ends around its inside."""
    n = len(seq)
    best = table.copy()
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            splits = best[i, i:j] + best[i + 1 : j + 1, j]
            pair = int(seq[i] + seq[j] == 3) if span > 1 else 0
            best[i, j] = max(best[i, j], splits.max(), best[i + 1, j - 1] + pair)
    return (best,)


# Stencils and filters ------------------------------------------------------------------------------------------------


def deriche(alpha: float, img_in: Array) -> Arrays:
    """Each filter as the solution of a banded system."""
    e1, e2 = np.exp(-alpha), np.exp(-2 * alpha)
    k = (1 - e1) ** 2 / (1 + 2 * alpha * e1 - np.exp(2 * alpha))
    b1, b2 = 2.0**-alpha, -e2

    def along_rows(x: Array) -> Array:
        n = x.shape[1]
        one, shift, shift2 = np.eye(n), np.eye(n, k=-1), np.eye(n, k=-2)
        recursion = one - b1 * shift - b2 * shift2
        forward = np.linalg.solve(recursion, k * (one + e1 * (alpha - 1) * shift) @ x.T)
        backward = np.linalg.solve(recursion.T, k * (e1 * (alpha + 1) * shift - e2 * shift2).T @ x.T)
        return (forward + backward).T

    return (along_rows(along_rows(img_in).T).T,)


def jacobi_1d(tsteps: int, A: Array, B: Array) -> Arrays:
    A, B = A.copy(), B.copy()
    for _ in range(tsteps):
        B[1:-1] = np.convolve(A, [0.33333] * 3, "valid")
        A[1:-1] = np.convolve(B, [0.33333] * 3, "valid")
    return A, B


def jacobi_2d(tsteps: int, A: Array, B: Array) -> Arrays:
    cross = np.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]])
    return stencil(tsteps, A, B, cross)


def heat_3d(tsteps: int, A: Array, B: Array) -> Arrays:
    weights = np.zeros((3, 3, 3))
    weights[1, 1, 1] = 1 - 6 * 0.125
    for axis in range(3):
        for side in (0, 2):
            weights[tuple(side if a == axis else 1 for a in range(3))] = 0.125
    return stencil(tsteps, A, B, weights)


def stencil(tsteps: int, A: Array, B: Array, weights: Array) -> Arrays:
    """B from A and A from B, each inner element a weighted sum of its neighbourhood."""
    A, B = A.copy(), B.copy()
    inner = (slice(1, -1),) * A.ndim
    axes = list(range(A.ndim))
    for _ in range(tsteps):
        for old, new in ((A, B), (B, A)):
            windows = sliding_window_view(old, weights.shape)
            new[inner] = np.tensordot(windows, weights, ([a + A.ndim for a in axes], axes))
    return A, B


def seidel_2d(tsteps: int, A: Array) -> Arrays:
    """Each row as the solution of a system of two diagonals."""
    A = A.copy()
    n = len(A) - 2
    system = 9 * np.eye(n) - np.eye(n, k=-1)
    for _ in range(tsteps):
        for i in range(1, n + 1):
            known = sliding_window_view(A[i - 1] + A[i + 1], 3).sum(axis=1) + A[i, 1:-1] + A[i, 2:]
            known[0] += A[i, 0]
            A[i, 1:-1] = np.linalg.solve(system, known)
    return (A,)


def fdtd_2d(tsteps: int, ex: Array, ey: Array, hz: Array, fict: Array) -> Arrays:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(tsteps):
        ey[0] = fict[t]
        ey[1:] -= np.diff(hz, axis=0) / 2
        ex[:, 1:] -= np.diff(hz, axis=1) / 2
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return ex, ey, hz


def adi(tsteps: int, n: int, u: Array) -> Arrays:
    """Each half step as the solution of a system with the operator of the one axis, of the other's on the right."""
    second = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    inside = np.diag([0.0] + [1.0] * (n - 2) + [0.0])
    ends = np.eye(n) - inside
    columns = np.eye(n) - inside @ second * n * n / tsteps
    rows = np.eye(n) - inside @ second * n * n / tsteps / 2
    u = u.copy()
    for _ in range(tsteps):
        v = np.linalg.solve(columns, ends @ np.ones((n, n)) + inside @ (u + u @ second.T * n * n / tsteps / 2))
        right = (ends @ np.ones((n, n))).T + (v + second @ v * n * n / tsteps) @ inside
        u[1:-1] = np.linalg.solve(rows, right.T).T[1:-1]
    return (u,)


# Signals, images, models ---------------------------------------------------------------------------------------------


def conv1d(X: Array, W: Array) -> Arrays:
    return (np.correlate(X, W, "valid"),)


def conv1d_padded(X: Array, W: Array) -> Arrays:
    return (np.correlate(np.pad(X, around(len(W))), W, "valid"),)


def around(taps: int) -> tuple[int, int]:
    """How much padding keeps the size."""
    return taps // 2, taps - 1 - taps // 2


def conv2d(X: Array, W: Array) -> Arrays:
    return (np.einsum("cyxij,ocij->oyx", sliding_window_view(X, W.shape[2:], (1, 2)), W),)


def conv2d_padded(k: int, X: Array, W: Array) -> Arrays:
    return conv2d(np.pad(X, ((0, 0), around(k), around(k))), W)


def depthwise_conv(k: int, X: Array, W: Array) -> Arrays:
    padded = np.pad(X, ((0, 0), around(k), around(k)))
    return (np.einsum("cyxij,cij->cyx", sliding_window_view(padded, (k, k), (1, 2)), W),)


def max_pool(c: int, h: int, w: int, X: Array) -> Arrays:
    return (X.reshape(c, h, 2, w, 2).max(axis=(2, 4)),)


def softmax(X: Array) -> Arrays:
    return (np.exp(X - np.logaddexp.reduce(X, axis=1, keepdims=True)),)


def layer_norm(X: Array, gamma: Array, beta: Array) -> Arrays:
    return ((X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5) * gamma + beta,)


def attention(d: int, Q: Array, K: Array, V: Array) -> Arrays:
    scores = np.einsum("hnd,hmd->hnm", Q, K) / np.sqrt(d)
    return (np.exp(scores - np.logaddexp.reduce(scores, axis=2, keepdims=True)) @ V,)


def prefix_sum(X: Array) -> Arrays:
    return (np.cumsum(X),)


def histogram(bins: int, X: Array) -> Arrays:
    return (np.bincount(X, minlength=bins),)


def spmv(rows: int, cols: int, ptr: Array, col: Array, val: Array, x: Array) -> Arrays:
    dense = np.zeros((rows, cols))
    np.add.at(dense, (np.repeat(np.arange(rows), np.diff(ptr)), col), val)
    return (dense @ x,)


def embedding_gather(ids: Array, table: Array) -> Arrays:
    return (table[ids],)


def blur(X: Array) -> Arrays:
    return (sliding_window_view(X, (3, 3)).mean(axis=(2, 3)),)


def sobel(X: Array) -> Arrays:
    windows = sliding_window_view(np.pad(X, 1, "edge"), (3, 3))
    filter_ = np.outer([1, 2, 1], [-1, 0, 1])
    return (np.hypot(np.tensordot(windows, filter_, 2), np.tensordot(windows, filter_.T, 2)),)


def edit_distance(n: int, m: int, a: Array, b: Array) -> Arrays:
    column = np.arange(m + 1)
    rows = [column]
    for letter in a:  # insertions: the least so far along a row, where each column costs one
        kept = np.minimum(rows[-1][1:] + 1, rows[-1][:-1] + (b != letter))
        rows.append(np.minimum.accumulate(np.concatenate(([len(rows)], kept)) - column) + column)
    return (np.stack(rows),)


REFERENCES: dict[str, Callable[..., Arrays]] = {
    f.__name__: f
    for f in (
        *(gemm, k2mm, k3mm, gemver, gesummv, symm, syrk, syr2k, trmm, atax, bicg, mvt, doitgen),
        *(cholesky, lu, ludcmp, trisolv, durbin, gramschmidt),
        *(correlation, covariance, floyd_warshall, nussinov),
        *(deriche, jacobi_1d, jacobi_2d, heat_3d, seidel_2d, fdtd_2d, adi),
        *(conv1d, conv1d_padded, conv2d, conv2d_padded, depthwise_conv, max_pool, softmax, layer_norm, attention),
        *(prefix_sum, histogram, spmv, embedding_gather, blur, sobel, edit_distance),
    )
}
