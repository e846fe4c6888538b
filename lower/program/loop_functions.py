"""Loops that a target compiles as one function, in place of a kernel for each operation of a step.

XLA:CPU runs what is fused to one operation as a kernel of its own, 0.05 to 0.1 us each besides its work, and has no
more for a step of a loop. It does make a function of a loop that moves less than 1 KiB in a step, and of each call
that is marked as small (`SmallWhileLoopHoistingPass`). Measured with JAX 0.10: an insertion into a list of 64 takes
0.06 us in place of 0.4, a step of a recurrence of three numbers 0.006 in place of 0.09. Such code runs on one core, and
of long vectors it makes worse code. It knows no products, sorts or stores to several places (those fail to compile),
nor communication, which arrays on several devices need. So what is within the loop is looked at while JAX traces.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lower.program.nodes import Attribute, Call, Function, Infix, JaxExpr, JaxNode, JaxStmt, Name, path_of, walk
from lower.program.primitives import BUILTINS, JAX

AS_FUNCTION = '''
def is_function(program):
    """Whether no step of a program stores to several places, or reduces so much that a library does it."""
    for step in program.eqns:
        name, sizes = step.primitive.name, [x.aval.size for x in step.invars]
        if name.startswith("reduce") and max(sizes) > 2048:
            return False
        if name.startswith("scatter") and sizes[1] != step.invars[1].aval.shape[-1]:
            return False
        parts = [getattr(p, "jaxpr", p) for p in jax.tree.leaves([*step.params.values()])]
        if not all(is_function(p) for p in parts if hasattr(p, "eqns")):
            return False
    return True


def as_function(loop, again=False):
    """loop(), compiled as one function by XLA:CPU; not where it is differentiated or batched.

    Each step of another loop starts a kernel for each operation. What an array on several devices needs cannot be part
    of a function. The function must read all that it is given, or XLA:CPU (0.10) does not compile it. For that it
    copies what it changes, which is as long as many steps for large arrays, if a loop calls it again and again.
    """
    program, shape = jax.make_jaxpr(loop, return_shape=True)()
    arrays, body, wide = program.consts, program.jaxpr, jax.config.jax_enable_x64
    if jax.device_count("cpu") > 1 or any(x.size == 0 for x in arrays) or not is_function(body):
        return loop()
    if again and any(x.size > 4096 for x in program.out_avals):
        return loop()

    def steps(*arrays):
        return jax.core.eval_jaxpr(body, arrays)

    @jax.jit
    def with_all_read(*arrays):
        with set_xla_metadata(inlineable="true", xla_cpu_small_call="false"):
            return steps(*arrays), [x[(0,) * x.ndim] for x in arrays]

    @custom_vmap
    def function(*arrays):
        arrays = lax.optimization_barrier(arrays)
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
            results = with_all_read(*arrays)
        return lax.optimization_barrier(results)[0]

    @function.def_vmap
    def batched(size, batched, *arrays):
        with jax.enable_x64(wide):
            results = jax.vmap(steps, [0 if b else None for b in batched])(*arrays)
        return results, [True] * len(results)

    @jax.custom_jvp
    def differentiable(*arrays):
        return function(*arrays)

    @differentiable.defjvp
    def derivative(primals, tangents):
        with jax.enable_x64(wide):
            return jax.jvp(steps, primals, tangents)

    return jax.tree.unflatten(jax.tree.structure(shape), differentiable(*arrays))
'''


# What a function may consist of; other helpers of programs are loops, products or sorts.
_NO_PARTS = frozenset(
    ("jnp.einsum", "lax.linalg.triangular_solve", "lax.conv_general_dilated", "lax.optimization_barrier")
)
_HELPERS = frozenset(
    ("truncdiv", "as_number", "first_best", "first_true", "last_best", "loop_until", "with_all_given", "in_turn")
)
_METHODS = frozenset(("set", "add", "multiply", "min", "max", "get", "astype", "reshape"))


def made_of_parts(steps: Sequence[JaxStmt], loop: JaxExpr) -> bool:
    """Whether a loop, with the functions that are its steps, calls nothing but what a function may consist of."""
    nodes = [n for s in (*steps, loop) for n in walk(s)]
    own = {n.name for n in nodes if isinstance(n, Function)}
    return all(_is_part(n, own) for n in nodes)


def _is_part(node: JaxNode, own: Collection[str]) -> bool:
    match node:
        case Infix(sign="@"):
            return False
        case Call(function=Name(id=name)):
            return name in own or name in _HELPERS or name in BUILTINS
        case Call(function=Attribute(attr=attr) as function):
            path = path_of(function)
            module = path is not None and path.split(".")[0] in ("jnp", "lax", "jax")
            return path in JAX and path not in _NO_PARTS if module else attr in _METHODS
        case Call():
            return False
        case _:
            return True
