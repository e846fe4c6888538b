"""Heat that spreads over a plate until it hardly changes: whole-array stores, `break`, and a derivative by JAX."""

import jax
import jax.numpy as jnp
import numpy as np

import loopsat


@loopsat.jit
def spread(plate, rate, limit):
    n, m = plate.shape
    new = plate.copy()
    steps = 0
    for _ in range(50):
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                flow = plate[i - 1, j] + plate[i + 1, j] + plate[i, j - 1] + plate[i, j + 1] - 4 * plate[i, j]
                new[i, j] = plate[i, j] + rate * flow
                change = max(change, abs(rate * flow))
        plate[:] = new
        steps += 1
        if change < limit:
            break
    return plate, steps


start = np.zeros((12, 12), "f4")
start[4:8, 4:8] = 1.0
plate, steps = spread(start, 0.2, 0.01)
expected, expected_steps = spread.__wrapped__(start.copy(), 0.2, 0.01)
assert np.allclose(plate, expected, atol=1e-5)
assert int(steps) == expected_steps
print(f"{steps} steps")


@loopsat.jit
def step(plate, rate):
    new = plate.copy()
    new[1:-1, 1:-1] += rate * (
        plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:] - 4 * plate[1:-1, 1:-1]
    )
    return new


print("d(energy)/d(rate) =", jax.grad(lambda rate: jnp.sum(step(jnp.asarray(start), rate) ** 2))(0.2))
