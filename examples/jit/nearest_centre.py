"""Labels of points by their nearest centre: loops with a helper function, two results, and the program behind them."""

import numpy as np

import loopsat


def squared_distance(x, y):
    total = 0.0
    for d in range(len(x)):
        total += (x[d] - y[d]) ** 2
    return total


@loopsat.jit
def nearest(points, centres):
    labels = np.zeros(len(points), np.int32)
    best = np.full(len(points), np.inf, points.dtype)
    for i in range(len(points)):
        for c in range(len(centres)):
            d = squared_distance(points[i], centres[c])
            if d < best[i]:
                best[i] = d
                labels[i] = c
    return labels, best


rng = np.random.default_rng(0)
points, centres = rng.random((200, 3)).astype("f4"), rng.random((8, 3)).astype("f4")
labels, best = nearest(points, centres)
expected, _ = nearest.__wrapped__(points, centres)  # the plain function, run by Python
assert np.array_equal(labels, expected)
print(nearest.source)
print(nearest.explain())
