"""Loops that a target compiles as one function, in place of a kernel for each operation of a step.

XLA:CPU runs what is fused to one operation as a kernel of its own, 0.05 to 0.1 us each besides its work, and has no
more for a step of a loop. It does make a function of a loop that moves less than 1 KiB in a step, and of each call
that is marked as small (`SmallWhileLoopHoistingPass`). Measured with JAX 0.10: an insertion into a list of 64 takes
0.06 us in place of 0.4, a step of a recurrence of three numbers 0.006 in place of 0.09. Such code runs on one core, and
of long vectors it makes worse code. It knows no products, sorts or stores to several places (those fail to compile),
nor communication, which arrays on several devices need. So what is within the loop is looked at while JAX traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from lower.analysis.freedoms import Form
from lower.nest.element_prices import extent
from lower.nest.nodes import ArrayStatement, Box, Node, SequentialLoop

LOOP_FUNCTIONS = Form(
    "structure.loop_function",
    "for k: s  =  f(), where f is compiled as one function and for k: s is what it does",
    "the operations are the same",
)

AS_FUNCTION = '''
PARTS_OF_FUNCTIONS = frozenset("""
    abs add and argmax argmin bitcast_convert_type broadcast_in_dim ceil clamp clz concatenate cond convert_element_type
    copy cos cummax cummin cumprod cumsum custom_jvp_call div dynamic_slice dynamic_update_slice eq exp exp2 expm1 floor
    gather ge gt integer_pow iota is_finite jit le log log1p logistic lt max min mul ne neg not or pad pjit
    population_count pow reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum rem reshape
    rev round rsqrt scan scatter scatter-add scatter_max scatter_min scatter_mul select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin slice sqrt square squeeze stop_gradient sub tanh transpose while
    xor
""".split())


def is_function(program):
    """Whether XLA:CPU can compile a program as one function: not products, sorts, stores to several places, or
    reductions that a library does."""
    for step in program.eqns:
        name, parts = step.primitive.name, jax.tree.leaves([*step.params.values()])
        sizes = [x.aval.size for x in step.invars if hasattr(x, "aval")]
        if name not in PARTS_OF_FUNCTIONS or step.params.get("name") == "in_memory":
            return False
        if name.startswith("reduce") and max(sizes) > 2048:
            return False
        if name.startswith("scatter"):
            if sizes[1] != step.invars[1].aval.shape[-1]:
                return False
        elif not all(is_function(p) for p in parts if hasattr(p, "eqns")):
            return False
    return True


def as_function(loop):
    """loop(), compiled as one function by XLA:CPU; not where it is differentiated or batched.

    Each step of another loop starts a kernel for each operation. What an array on several devices needs cannot be part
    of a function. The function must read all that it is given, or XLA:CPU (0.10) does not compile it.
    """
    program, shape = jax.make_jaxpr(loop, return_shape=True)()
    arrays, wide = program.consts, jax.config.jax_enable_x64
    if jax.device_count("cpu") > 1 or any(x.size == 0 for x in arrays) or not is_function(program.jaxpr):
        return loop()

    def steps(*arrays):
        return jaxpr_as_fun(ClosedJaxpr(program.jaxpr, arrays))()

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


def is_one_function(node: SequentialLoop, boxes: Mapping[Loop, Box], target: Target) -> bool:
    """Whether a loop is better compiled as one function on a target: all that a step does at once is short."""
    return 0 < _longest(node.body, boxes, target) <= target.function


def _longest(nodes: Iterable[Node], boxes: Mapping[Loop, Box], target: Target) -> float:
    """How many elements the longest of some statements has; infinity if one is no plain statement."""
    longest = 0.0
    for node in nodes:
        match node:
            case SequentialLoop(body=body):
                longest = max(longest, _longest(body, boxes, target))
            case ArrayStatement(scan=None, statement=s) if s.tile is None:
                longest = max(longest, prod((extent(boxes.get(o), target) for o in node.axes), start=1.0))
            case _:
                return float("inf")
    return longest
