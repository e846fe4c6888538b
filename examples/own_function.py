"""A function of one's own, and a rule that recognises it.

`relu6` is defined by one expression. The rule says that this expression is `relu6`; the optimizer then finds it, also
where operands are swapped, and the emitted code calls `jax.nn.relu6`. Run this file to see both.
"""

import numpy as np

from egraph_rules import Term, optimize, register, rule
from egraph_rules.authoring.rule import FLOAT
from ir import interpret, to_script
from ir import script as T
from lower import compile, emit


@T.function(cost=0.25, jax="jax.nn.relu6({x})")
def relu6(x: T.float32) -> T.float32:
    return T.min(T.max(x, 0.0), 6.0)


@rule(on=FLOAT, because="this is how relu6 is defined")
def relu6_by_definition(x: Term):
    return T.min(T.max(x, 0.0), 6.0), relu6(x)


@T.prim_func
def activation(A: T.Buffer((64,), "float32"), W: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.serial(64):
        B[i] = T.min(6.0, T.max(0.0, A[i] * W[i]))


if __name__ == "__main__":
    register(relu6_by_definition)  # a wrong rule would be refused here, with a counterexample
    best = optimize(activation).best
    print(to_script(best))
    print(emit(best))
    rng = np.random.default_rng(0)
    a, w = (4 * rng.standard_normal(64, dtype=np.float32) for _ in range(2))
    (expected,), (found,) = interpret(activation, a, w), compile(best)(a, w)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
