"""Source of steps and choices whose number the data decide, with derivatives backwards.

JAX knows no derivative backwards through a loop whose bounds are no numbers. Such loops run as they are; derivatives
take a loop over all that the bounds can ever be, whose steps between them count.

`lax.cond` copies the arrays that its branches change, into each of them and out again, and holds them twice meanwhile.
A loop of no or one step changes them where they are; derivatives take the branches.

What the functions know from around them they get as arguments, or it would be a constant to the derivative.
"""

from __future__ import annotations

from lower.nest.nodes import ArrayStatement, Versions

GIVEN = '''
def with_all_given(function, *arguments):
    """A function that takes what it knows from around it as a further argument, the last, and that."""
    traced, result = jax.make_jaxpr(function, return_shape=True)(*arguments)

    def run(*arguments):
        results = jax.core.eval_jaxpr(traced.jaxpr, arguments[-1], *jax.tree.leaves(arguments[:-1]))
        return jax.tree.unflatten(jax.tree.structure(result), results)

    return run, traced.consts
'''

BETWEEN = '''
def loop_between(low, high, ends, step, state):
    """`lax.fori_loop(low, high, step, state)` with derivatives backwards, for bounds within `ends`, two numbers."""
    bounds = [low + (high - high), high + (low - low)]  # of one dtype, weak where both are
    step, given = with_all_given(step, bounds[0], state)
    return loop_between_given(step, ends, bounds, state, given)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def loop_between_given(step, ends, bounds, state, given):
    return lax.fori_loop(*bounds, lambda i, s: step(i, s, given), state)


@loop_between_given.defjvp
def loop_between_jvp(step, ends, primals, tangents):
    def loop(bounds, state, given):
        low, high = bounds

        def within(i, s):
            i = i + (low - low)  # of the dtype of the bounds, weak where they are
            return lax.cond((low <= i) & (i < high), lambda: step(i, s, given), lambda: s)

        return lax.fori_loop(*ends, within, state)

    return jax.jvp(loop, primals, tangents)
'''

CHOSEN = '''
def chosen(test, fast, exact, state, by_element=False):
    """What `fast` makes of arrays where a test holds, else `exact`, in place: `lax.cond` would copy them."""
    (fast, of_fast), (exact, of_exact) = with_all_given(fast, state), with_all_given(exact, state)
    return chosen_of_two(fast, exact, by_element, test, state, of_fast, of_exact)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def chosen_of_two(fast, exact, by_element, test, state, of_fast, of_exact):
    if by_element:
        state = jax.tree.map(lambda new, old: jnp.where(test, new, old), fast(state, of_fast), state)
    else:
        state = lax.fori_loop(0, jnp.where(test, 1, 0), lambda _, s: fast(s, of_fast), state)
    return lax.fori_loop(0, jnp.where(test, 0, 1), lambda _, s: exact(s, of_exact), state)


@chosen_of_two.defjvp
def chosen_of_two_jvp(fast, exact, by_element, primals, tangents):
    def branches(test, state, of_fast, of_exact):
        return lax.cond(test, lambda: fast(state, of_fast), lambda: exact(state, of_exact))

    return jax.jvp(branches, primals, tangents)
'''


def by_element(node: Versions) -> bool:
    """Whether the fast form stores one value for each element, so that the choice is part of what stores it."""
    return all(isinstance(n, ArrayStatement) and n.scan is None and n.statement.update is None for n in node.fast)
