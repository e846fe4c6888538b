"""Source of steps and choices whose number the data decide, with derivatives backwards.

JAX knows no derivative backwards through a loop whose bounds are no numbers. Such loops run as they are; derivatives
take a loop over all that the bounds can ever be, whose steps between them count.

`lax.cond` copies the arrays that its branches change, into each of them and out again, and holds them twice meanwhile.
A loop of no or one step changes them where they are; derivatives take the branches.

What the functions know from around them they get as arguments, or it would be a constant to the derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.errors import LowerError
from ir.traverse import ANY_STEPS
from lower.nest.nodes import ArrayStatement, SequentialLoop, Versions, inner_statements
from lower.program.build import assign_each, call, function
from lower.program.nodes import Function, JaxExpr, JaxStmt, Lambda, Literal, Name, Return

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

UNTIL = '''
def loop_until(goes_on, low, high, step, state):
    """`lax.fori_loop(low, high, step, state)` whose steps do nothing from where `goes_on` fails of a state."""
    return lax.while_loop(
        lambda s: (s[0] < s[1]) & goes_on(s[2]), lambda s: (s[0] + 1, s[1], step(s[0], s[2])), (low, high, state)
    )[2]
'''

BETWEEN_UNTIL = '''
def loop_between_until(goes_on, low, high, ends, step, state):
    """`loop_until` with derivatives backwards, for bounds within `ends`, two numbers."""
    bounds = [low + (high - high), high + (low - low)]  # of one dtype, weak where both are
    step, given = with_all_given(step, bounds[0], state)
    goes_on, known = with_all_given(goes_on, state)
    return loop_between_until_given(goes_on, step, ends, bounds, state, given, known)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def loop_between_until_given(goes_on, step, ends, bounds, state, given, known):
    return loop_until(lambda s: goes_on(s, known), *bounds, lambda i, s: step(i, s, given), state)


@loop_between_until_given.defjvp
def loop_between_until_jvp(goes_on, step, ends, primals, tangents):
    def loop(bounds, state, given, known):
        low, high = bounds

        def within(i, s):
            i = i + (low - low)  # of the dtype of the bounds, weak where they are
            runs = (low <= i) & (i < high) & goes_on(s, known)
            return lax.cond(runs, lambda: step(i, s, given), lambda: s)

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


class Stepping(Struct, frozen=True):
    """The bounds of a loop, what these can ever be as numbers, if that is known, a step, and its first state."""

    low: JaxExpr
    high: JaxExpr
    ends: tuple[JaxExpr, JaxExpr] | None
    step: str
    first: JaxExpr
    floats: bool  # whether derivatives go through it


class Looped(Struct, frozen=True):
    """A call that gives the last state; `bounded` if it has derivatives backward, as far as it has any."""

    call: JaxExpr
    helpers: frozenset[str]
    bounded: bool


def looped(stepping: Stepping, node: SequentialLoop, several: int | None, goes_on: str | None) -> Looped:
    """Steps, of which `several` are compiled as one, until what the function `goes_on` says of the state is false.

    Raises:
        LowerError: they may be any number, and nothing says when they end.
    """
    low, high, ends, step = stepping.low, stepping.high, stepping.ends, stepping.step
    any_number = ends == (Literal(0), Literal(ANY_STEPS))
    if several is not None:
        return Looped(call("lax.fori_loop", low, high, step, stepping.first, unroll=several), frozenset(), True)
    if goes_on is not None:
        if not stepping.floats or ends is None or any_number:
            result = call("loop_until", goes_on, low, high, step, stepping.first)
            return Looped(result, frozenset(("loop_until",)), not stepping.floats)
        result = call("loop_between_until", goes_on, low, high, ends, step, stepping.first)
        return Looped(result, frozenset(("with_all_given", "loop_until", "loop_between_until")), True)
    if any_number:
        message = f"it is not seen when {node.loop.var.name} ends, which may take any number of steps"
        hint = "begin its body with loopsat.bound(LIMIT), the steps that it takes at most"
        raise LowerError("unbounded", message, next(inner_statements(node.body)).statement.store.span, help=hint)
    if ends not in (None, (low, high)) and stepping.floats:
        result = call("loop_between", low, high, ends, step, stepping.first)
        return Looped(result, frozenset(("with_all_given", "loop_between")), True)
    result = call("lax.fori_loop", low, high, step, stepping.first)
    return Looped(result, frozenset(), ends is not None or not stepping.floats)


def compiled_alone(found: Looped, again: bool) -> Looped:
    """The same loop, compiled as one function, which another loop calls `again` and again."""
    run = Lambda((), found.call)
    compiled = call("as_function", run, again=True) if again else call("as_function", run)
    return replace(found, call=compiled, helpers=found.helpers | {"as_function"})


def condition_of(name: str, state: Sequence[str], before: Sequence[JaxStmt], cond: JaxExpr) -> Function:
    """A function that says of a state whether a loop goes on from it."""
    if len(state) == 1:
        return function(name, [state[0]], [*before, Return(cond)])
    return function(name, ["state"], [assign_each(state, Name("state")), *before, Return(cond)])
