"""An instruction of a processor: what it computes, what it costs there, and how to recognise it.

`dot4` multiplies four pairs and adds the products to an accumulator. Without a price of its own it costs what its body
costs. A target that has the instruction lists it as cheap, one where it is emulated as dear; the same rule serves both,
and cost decides. Run this file to see the program for each.
"""

import numpy as np
from msgspec.structs import replace

from egraph_rules import Term, optimize, register, rule
from egraph_rules.authoring.rule import SIGNED
from egraph_rules.cost.target import CPU
from ir import interpret, to_script
from ir import script as T
from lower import compile

HAS_DOT4 = replace(CPU, name="has dot4", calls=(("dot4", 0.5),))
EMULATES_DOT4 = replace(CPU, name="emulates dot4", calls=(("dot4", 20.0),))


@T.function
def dot4(
    c: T.int32, a0: T.int32, b0: T.int32, a1: T.int32, b1: T.int32, a2: T.int32, b2: T.int32, a3: T.int32, b3: T.int32
) -> T.int32:
    return c + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3


@rule(on=SIGNED, because="this is what the instruction computes")
def recognise_dot4(c: Term, a0: Term, b0: Term, a1: Term, b1: Term, a2: Term, b2: Term, a3: Term, b3: Term):
    return c + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3, dot4(c, a0, b0, a1, b1, a2, b2, a3, b3)


@T.prim_func
def matvec(W: T.Buffer((8, 16), "int32"), X: T.Buffer((16,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in T.serial(8):
        Y[i] = 0
        for k in T.serial(4):
            Y[i] = (
                Y[i]
                + W[i, 4 * k] * X[4 * k]
                + W[i, 4 * k + 1] * X[4 * k + 1]
                + W[i, 4 * k + 2] * X[4 * k + 2]
                + W[i, 4 * k + 3] * X[4 * k + 3]
            )


if __name__ == "__main__":
    register(recognise_dot4)
    rng = np.random.default_rng(0)
    w, x = rng.integers(-128, 128, (8, 16), np.int32), rng.integers(-128, 128, 16, np.int32)
    for target, used in ((HAS_DOT4, True), (EMULATES_DOT4, False)):
        best = optimize(matvec, target=target).best
        print(f"{target.name}:\n{to_script(best)}")
        assert ("dot4(" in to_script(best.body)) == used
        (expected,), (found,) = interpret(matvec, w, x), compile(best)(w, x)
        np.testing.assert_array_equal(found, expected)
