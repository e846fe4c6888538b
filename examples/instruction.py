"""An instruction of one's own: a nest that one operation of the machine computes.

Counting the bits that are set takes a loop over them; processors, and JAX, have an operation for it. The body of
`count_ones` says what that operation gives, its JAX text how to compute it. The optimizer then finds the nest in a
program that knows nothing of it, and calls the instruction for all words at once. Run this file to see it.
"""

import numpy as np

from egraph_rules import register
from ir import interpret, to_script
from ir import script as T
from loopsat import optimize
from lower import compile, emit


@T.instruction(jax="{count} + lax.population_count({word})", cost=1.0)
def count_ones(word: T.Buffer((), "uint32"), count: T.Buffer((), "uint32")):
    for bit in range(32):
        count[()] = count[()] + ((word[()] >> T.cast(bit, "uint32")) & 1)


@T.prim_func
def weights(words: T.Buffer((4096,), "uint32"), found: T.Buffer((4096,), "uint32")):
    for i in range(4096):
        found[i] = 0
        for bit in range(32):
            found[i] += 1 & (words[i] >> T.cast(bit, "uint32"))


if __name__ == "__main__":
    register(count_ones)
    best = optimize(weights).best
    print(to_script(best))
    print(emit(best))
    words = np.random.default_rng(0).integers(0, 2**32, 4096, dtype=np.uint32)
    (expected,), (found,) = interpret(weights, words), compile(best)(words)
    np.testing.assert_array_equal(found, expected)
