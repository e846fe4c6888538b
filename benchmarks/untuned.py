"""Time kernels that no form was made for against hand-written jax.numpy, and compare times with predicted prices.

    python benchmarks/untuned.py [--only NAME ...] [--seconds S] [--print]

The programs are those of `untuned_programs.py`, each with a function of jax.numpy below, as somebody who knows JAX
writes it. Both get the same arrays, their results are compared, and they take turns; the ratio is that of the least
times, above 1 where the emitted kernel is the faster one. The rank correlation (Spearman) is that of the price of the
emitted programs, by which `loopsat.optimize` decides, with their times. A whole run rewrites the table in
benchmarks/README.md, others print.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

import loopsat
from as_written import least
from ir import PrimFunc, parse
from lower.price.program import program_price
from lower.tune.measure import Call

DOCUMENT = Path(__file__).parent / "README.md"
PROGRAMS = Path(__file__).parent / "untuned_programs.py"
BEGIN, END = "<!-- untuned: begin -->", "<!-- untuned: end -->"
TOLERANCE = 2e-3  # of the largest value
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


# Hand-written forms.


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


def histogram_2d(I, J, W):  # noqa: E741
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
)


@dataclass(frozen=True)
class Row:
    """A program: ms of hand-written code and of the kernel, its price, and seconds of search, lowering and XLA."""

    name: str
    by_hand: float
    kernel: float
    price: float
    search: float
    lowering: float
    compiling: float

    @property
    def ratio(self) -> float:
        return self.by_hand / self.kernel


def measured(func: PrimFunc, hand: Callable[..., Any], seconds: float) -> Row:
    """Both forms of a program, compared and timed.

    Raises:
        AssertionError: the results differ.
    """
    inputs = {name: jnp.asarray(value) for name, value in INPUTS[func.name](Draw()).items()}
    began = time.process_time()
    best = loopsat.optimize(func, verify=False).best
    searched = time.process_time()
    kernel = loopsat.compile(best, verify=False)
    lowered = time.process_time()
    found = jax.block_until_ready(kernel(**inputs))[-1]
    compiled = time.process_time()
    by_hand = jax.jit(hand)
    want = np.asarray(jax.block_until_ready(by_hand(**inputs)), np.float64)
    scale = np.max(np.abs(want), initial=1.0)
    np.testing.assert_allclose(np.asarray(found, np.float64), want, rtol=0, atol=TOLERANCE * scale, err_msg=func.name)
    calls = [Call("by hand", lambda: by_hand(**inputs)), Call("kernel", lambda: kernel.jitted(**inputs))]
    times = least(calls, seconds)
    steps = searched - began, lowered - searched, compiled - lowered
    return Row(func.name, *times, program_price(best), *steps)


def markdown(rows: list[Row]) -> str:
    """The table of the README."""
    mean = exp(sum(log(r.ratio) for r in rows) / len(rows))
    rank = spearmanr([r.price for r in rows], [r.kernel for r in rows]).statistic
    lines = [
        (
            f"{len(rows)} programs: geometric mean {mean:.2f}, least {min(r.ratio for r in rows):.2f}; rank "
            f"correlation of price and time {rank:.2f}. Search, lowering and XLA in seconds of CPU."
        ),
        "",
        "| program | by hand, ms | kernel, ms | times as fast | search | lowering | XLA |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.name} | {r.by_hand:.3f} | {r.kernel:.3f} | {r.ratio:.2f} | {r.search:.2f} | {r.lowering:.2f} | "
        f"{r.compiling:.2f} |"
        for r in sorted(rows, key=lambda r: r.ratio)
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--print", action="store_true", dest="only_print")
    options = parser.parse_args()
    os.environ["LOOPSAT_CACHE"] = "off"  # searches are timed
    hands = {f.__name__: f for f in HAND_WRITTEN}
    rows: list[Row] = []
    for func in parse(PROGRAMS.read_text(), str(PROGRAMS)).funcs:
        if options.only and not any(word in func.name for word in options.only):
            continue
        rows.append(measured(func, hands[func.name], options.seconds))
        print(f"{rows[-1].name:32} {rows[-1].ratio:6.2f}", flush=True)
    table = markdown(rows)
    if options.only or options.only_print:
        print(table)
        return
    before, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
