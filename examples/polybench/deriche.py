"""deriche of PolyBench/C 4.2: recursive edge detection on an image [w, h], a forward and a backward filter of second
order along each axis.

With k = (1 - e^-a)^2 / (1 + 2 a e^-a - e^2a): forward y[j] = a1 x[j] + a2 x[j - 1] + b1 y[j - 1] + b2 y[j - 2],
backward y[j] = a3 x[j + 1] + a4 x[j + 2] + b1 y[j + 1] + b2 y[j + 2], where a1 = k, a2 = k e^-a (a - 1),
a3 = k e^-a (a + 1), a4 = -k e^-2a, b1 = 2^-a, b2 = -e^-2a, and what is outside is zero; their sum
is the input along the other axis.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"w": 7, "h": 9},
    "large": {"w": 720, "h": 480},
}


def inputs(rng: np.random.Generator, w: int, h: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "alpha": np.float32(0.25),
        "img_in": rng.uniform(-1, 2, (w, h)).astype(np.float32),
    }


@T.prim_func
def deriche(
    w: T.int32, h: T.int32, alpha: T.float32, img_in: T.Buffer((w, h), "float32"), img_out: T.Buffer((w, h), "float32")
):
    y1 = T.alloc_buffer((w, h), "float32")
    y2 = T.alloc_buffer((w, h), "float32")
    x_1 = T.alloc_buffer((1,), "float32")
    x_2 = T.alloc_buffer((1,), "float32")
    y_1 = T.alloc_buffer((1,), "float32")
    y_2 = T.alloc_buffer((1,), "float32")
    k = (1.0 - T.exp(-alpha)) * (1.0 - T.exp(-alpha)) / (1.0 + 2.0 * alpha * T.exp(-alpha) - T.exp(2.0 * alpha))
    a1 = k
    a2 = k * T.exp(-alpha) * (alpha - 1.0)
    a3 = k * T.exp(-alpha) * (alpha + 1.0)
    a4 = -k * T.exp(-2.0 * alpha)
    b1 = T.pow(T.float32(2.0), -alpha)
    b2 = -T.exp(-2.0 * alpha)
    for i in T.serial(w):
        y_1[0] = 0.0
        y_2[0] = 0.0
        x_1[0] = 0.0
        for j in T.serial(h):
            y1[i, j] = a1 * img_in[i, j] + a2 * x_1[0] + b1 * y_1[0] + b2 * y_2[0]
            x_1[0] = img_in[i, j]
            y_2[0] = y_1[0]
            y_1[0] = y1[i, j]
    for i in T.serial(w):
        y_1[0] = 0.0
        y_2[0] = 0.0
        x_1[0] = 0.0
        x_2[0] = 0.0
        for s in T.serial(h):
            y2[i, h - 1 - s] = a3 * x_1[0] + a4 * x_2[0] + b1 * y_1[0] + b2 * y_2[0]
            x_2[0] = x_1[0]
            x_1[0] = img_in[i, h - 1 - s]
            y_2[0] = y_1[0]
            y_1[0] = y2[i, h - 1 - s]
    for i, j in T.grid(w, h):
        img_out[i, j] = y1[i, j] + y2[i, j]
    for j in T.serial(h):
        x_1[0] = 0.0
        y_1[0] = 0.0
        y_2[0] = 0.0
        for i in T.serial(w):
            y1[i, j] = a1 * img_out[i, j] + a2 * x_1[0] + b1 * y_1[0] + b2 * y_2[0]
            x_1[0] = img_out[i, j]
            y_2[0] = y_1[0]
            y_1[0] = y1[i, j]
    for j in T.serial(h):
        x_1[0] = 0.0
        x_2[0] = 0.0
        y_1[0] = 0.0
        y_2[0] = 0.0
        for s in T.serial(w):
            y2[w - 1 - s, j] = a3 * x_1[0] + a4 * x_2[0] + b1 * y_1[0] + b2 * y_2[0]
            x_2[0] = x_1[0]
            x_1[0] = img_out[w - 1 - s, j]
            y_2[0] = y_1[0]
            y_1[0] = y2[w - 1 - s, j]
    for i, j in T.grid(w, h):
        img_out[i, j] = y1[i, j] + y2[i, j]
