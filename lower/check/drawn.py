"""Whether a kernel computes what its program says: on inputs that hypothesis draws, and makes simpler where not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from msgspec import Struct

from ir.arith import Scalar
from ir.errors import DifferenceError, KindError, LoopsatError, OptionError, expect
from ir.instructions import is_instruction
from ir.nodes import PrimFunc
from ir.presburger.sets import exclusive
from ir.printing.printer import to_script
from ir.program.modules import Written
from ir.semantics.inputs import NEAR_ZERO, SPREADS, Inputs, random_inputs
from ir.testing.counterexample import shown_value
from ir.testing.draw import Search
from ir.testing.equivalence import nothing_compared
from ir.testing.inputs import inputs
from ir.traverse import free_vars
from lower.array.instances import computed
from lower.check.kernels import Array, Reference, compare, reference, written
from lower.nest.normalize import normalize
from lower.runtime.callable import Kernel
from lower.runtime.jit import JitFunction

_FAR = 3  # one in so many inputs is around 1000, of several magnitudes, and so on
_WORK = 300_000  # of the search for those that satisfy assumptions, in expressions
_PAST_TILES = (17, 33)


class _Failure(Struct, frozen=True):
    """Inputs on which a kernel is wrong, and what was found."""

    inputs: Inputs
    text: str

    @property
    def size(self) -> int:
        return sum(int(np.size(v)) + int(np.count_nonzero(v)) for v in self.inputs.values())


@exclusive
def check_kernel(
    kernel: Callable[..., Any],
    func: Written | JitFunction[Any],
    *,
    given: Inputs | None = None,
    sizes: Mapping[str, Scalar] | None = None,
    examples: int = 25,
    seed: int = 0,
) -> int:
    """Check that a kernel computes what `func` says, and return on how many inputs it was compared.

    The kernel is one of `loopsat.compile`, or any function of arrays and scalars in the order of the parameters; it
    may leave out those that `func` never reads before it writes them. It returns what `func` writes, in parameter
    order, as a tuple or, where that is one, by itself. Inputs satisfy the assumptions of `func`; what it leaves undef
    or makes NaN does not count, and floats may differ by a few times the error of the loops against float64. A kernel
    is compiled for each new size: give `sizes` where that takes long. The same seed draws the same inputs: first
    small numbers, then some of each kind of `ir.semantics.inputs.SPREADS`, such as floats around 1000. With `given`
    inputs by name, these are the only ones.

    Of a function under `loopsat.jit` it is the program of these inputs, or of its last call if there are none.

    Raises:
        DifferenceError: a result is wrong; with the smallest inputs found.
        LoopsatError: the kernel takes or returns something else, or `func` promises nothing on any inputs drawn.
    """
    __tracebackhide__ = True
    if isinstance(func, JitFunction):
        func = (func.specialization if given is None else func.specialize(**given)).func
    hint = "decorate it with @T.prim_func, or with @loopsat.jit"
    expect(func, PrimFunc, "a kernel is compared with a function", hint)
    if not callable(kernel):
        raise KindError("arguments", f"a kernel can be called, found {type(kernel).__name__}")
    taken = _taken(kernel, func)
    compared = 0
    last = ""

    def test(values: Inputs) -> _Failure | None:
        nonlocal compared, last
        try:
            expected = reference(func, values)
        except LoopsatError as fault:
            last = str(fault)
            return None
        if expected is None or not expected.finite:
            last = "it takes too many steps" if expected is None else "it computes what is no finite number"
            return None
        found = _results(
            func, expected, kernel(*(np.copy(values[n]) if np.ndim(values[n]) else values[n] for n in taken))
        )
        compared += 1
        wrong = [c for c in compare(func, expected, found, values) if not c.same]
        return _Failure(values, _told(values, expected, found, [str(c) for c in wrong])) if wrong else None

    if given is None:
        far = examples // _FAR
        failure = Search[Inputs, _Failure](None, test, strategy=inputs(func, sizes)).run(examples - far, seed)
        if failure is None:
            failure = next(filter(None, map(test, _of_all_kinds(func, sizes, seed, far))), None)
    else:
        failure = test(given)
    if failure is not None:
        name = getattr(kernel, "__name__", "the kernel")
        message = f"{name} does not compute what {func.name} says"
        raise DifferenceError("difference", message, func.span, notes=[failure.text, to_script(func)])
    if compared == 0 and given is None:
        raise nothing_compared(func, last)
    return compared


def check_instruction(func: Written, *, examples: int = 25, seed: int = 0) -> int:
    """Check that the JAX text of an instruction computes what its body says; return on how many inputs.

    Raises:
        DifferenceError: it does not; with the smallest inputs found.
        LoopsatError: the kernel is no instruction, or its text gives other results than it has.
    """
    __tracebackhide__ = True
    if not is_instruction(func):
        help = 'give it a JAX text, as in @T.instruction(jax="{C} + {A} @ {B}")'
        raise OptionError("argument", f"{func.name} is a kernel, not an instruction", func.span, help=help)
    names = [p.name for p in func.params]

    def text(*args: Array) -> tuple[Any, ...]:
        return computed(func, dict(zip(names, args, strict=True)))

    text.__name__ = f"the JAX text of {func.name}"
    given = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    text.__signature__ = inspect.Signature(given)  # pyright: ignore[reportFunctionMemberAccess]
    return check_kernel(text, func, examples=examples, seed=seed)


def _of_all_kinds(func: PrimFunc, sizes: Mapping[str, Scalar] | None, seed: int, count: int) -> Iterator[Inputs]:
    """Inputs of several magnitudes, tight, around 1000: what is drawn to become simple lies near zero.

    For every other one, open sizes are past the first tiles of 8 and 16.
    """
    kinds = [spread for spread in reversed(SPREADS.values()) if spread != NEAR_ZERO]
    given = dict(sizes or {})
    of_shapes = {v.name for buffer in func.buffers for extent in buffer.shape for v in free_vars(extent)}
    left = sorted(of_shapes - given.keys())
    for k in range(count):
        large = dict.fromkeys(left, _PAST_TILES[k // 2 % len(_PAST_TILES)]) if k % 2 else {}
        with suppress(LoopsatError):
            yield random_inputs(func, np.random.default_rng((seed, k)), given | large, kinds[k % len(kinds)], _WORK)


def _told(inputs: Inputs, expected: Reference, found: Mapping[str, Array], wrong: list[str]) -> str:
    """The smallest inputs, and what should have come of them."""
    given = [f"    {name} = {shown_value(v)}" for name, v in inputs.items()]
    right = [f"    {name} = {shown_value(e.loops, e.arbitrary)}" for name, e in expected.buffers.items()]
    got = [f"    {name} = {shown_value(v)}" for name, v in found.items()]
    return "\n".join(["; ".join(wrong), "with", *given, "the program gives", *right, "the kernel gives", *got])


def _taken(kernel: Callable[..., Any], func: PrimFunc) -> list[str]:
    """The parameters that a kernel is called with.

    Raises:
        OptionError: it takes a number of arguments that fits neither all nor those that are needed.
    """
    names = [p.name for p in func.params]
    if isinstance(kernel, Kernel):
        return names
    optional = {b.name for b in normalize(func).optional}
    needed = [n for n in names if n not in optional]
    try:
        signature = inspect.signature(kernel)
    except (TypeError, ValueError):  # what is not written in Python
        return names
    for given in (names, needed):
        try:
            signature.bind(*given)
        except TypeError:
            continue
        return given
    message = f"the kernel takes other arguments than {func.name}"
    notes = [f"{func.signature}", f"kernel{signature}"]
    raise OptionError("arguments", message, notes=notes, help=f"let it take {', '.join(names)} or {', '.join(needed)}")


def _results(func: PrimFunc, expected: Reference, returned: Any) -> dict[str, Array]:
    """What a kernel returned, by the buffers that the function writes.

    Raises:
        OptionError: it is not that many arrays of those shapes.
    """
    names = written(func)
    several = returned if isinstance(returned, (tuple, list)) else (returned,)
    if len(several) != len(names):
        message = f"the kernel returns {len(several)} results, where {func.name} writes {len(names)} buffers"
        raise OptionError("results", message, help=f"return {', '.join(names)}, in this order")
    found = dict(zip(names, map(np.asarray, several), strict=True))
    for name, array in found.items():
        shape = expected.buffers[name].loops.shape
        if array.shape != shape:
            raise OptionError("results", f"the kernel returns {name} with shape {array.shape}, and not {shape}")
    return found
