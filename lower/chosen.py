"""Source of choices at run time between two forms of the same, made in place.

`lax.cond` copies the arrays that its branches change, into each of them and out again, and holds them twice meanwhile.
A loop of no or one step changes them where they are. JAX knows no derivative backwards through such a loop, so that
derivatives take the branches. What the functions know from around them they get as arguments, or it would be a constant
to the derivative.
"""

from __future__ import annotations

from lower.nest import ArrayStatement, Versions

CHOSEN = '''
def chosen(test, fast, exact, state, by_element=False):
    """What `fast` makes of arrays where a test holds, else `exact`, in place: `lax.cond` would copy them."""
    (fast, of_fast), (exact, of_exact) = with_all_given(fast, state), with_all_given(exact, state)
    return chosen_of_two(fast, exact, by_element, test, state, of_fast, of_exact)


def with_all_given(function, state):
    """A function that takes what it knows from around it as further arguments, and those."""
    traced, result = jax.make_jaxpr(function, return_shape=True)(state)

    def run(state, *given):
        results = jax.core.eval_jaxpr(traced.jaxpr, given, *jax.tree.leaves(state))
        return jax.tree.unflatten(jax.tree.structure(result), results)

    return run, traced.consts


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def chosen_of_two(fast, exact, by_element, test, state, of_fast, of_exact):
    if by_element:
        state = jax.tree.map(lambda new, old: jnp.where(test, new, old), fast(state, *of_fast), state)
    else:
        state = lax.fori_loop(0, jnp.where(test, 1, 0), lambda _, s: fast(s, *of_fast), state)
    return lax.fori_loop(0, jnp.where(test, 0, 1), lambda _, s: exact(s, *of_exact), state)


@chosen_of_two.defjvp
def chosen_of_two_jvp(fast, exact, by_element, primals, tangents):
    def branches(test, state, of_fast, of_exact):
        return lax.cond(test, lambda: fast(state, *of_fast), lambda: exact(state, *of_exact))

    return jax.jvp(branches, primals, tangents)
'''


def by_element(node: Versions) -> bool:
    """Whether the fast form stores one value for each element, so that the choice is part of what stores it."""
    return all(isinstance(n, ArrayStatement) and n.scan is None and n.statement.update is None for n in node.fast)
