"""Whether two programs do the same: on inputs that hypothesis draws, and makes simpler where they do not."""

from __future__ import annotations

from collections.abc import Mapping

from ir.arith import Scalar
from ir.errors import DifferenceError, LoopsatError, OptionError, expect
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import PrimFunc
from ir.presburger.sets import exclusive
from ir.program.modules import Written
from ir.semantics.inputs import Inputs
from ir.testing.counterexample import Counterexample
from ir.testing.draw import Search
from ir.testing.inputs import inputs
from ir.testing.refinement import compare

_STEPS = 200_000  # statements of one run: larger programs are to be checked at smaller sizes


@exclusive
def check_equivalent(
    original: Written,
    other: Written,
    *,
    given: Inputs | None = None,
    sizes: Mapping[str, Scalar] | None = None,
    examples: int = 100,
    seed: int = 0,
    floats: Floats = DEFAULT_FLOATS,
    refines: bool = True,
) -> int:
    """Check that `other` does what `original` does, on the interpreter, and return on how many inputs it was compared.

    The inputs satisfy the assumptions of `original`; on those on which it faults it promises nothing. Integers must be
    equal; floats too, unless `floats` permits another order of sums. Where `original` leaves an element arbitrary
    (undef), `other` may put anything there, unless `refines` is False: then both must leave the same arbitrary.
    The same seed draws the same inputs. With `given` inputs by name, these are the only ones: for tests of properties,
    which draw them, or the programs.

    Raises:
        DifferenceError: they differ; with the smallest inputs found, and what both give.
        LoopsatError: they have other parameters, or `original` promises nothing on any inputs that were drawn.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    for program in (original, other):
        expect(program, PrimFunc, "two functions are compared", "take one of a module, as in module['main']")
    _same_interface(original, other)
    compared = 0
    last = ""

    def test(values: Inputs) -> Counterexample | None:
        nonlocal compared, last
        found = compare(original, other, values, floats, equal=not refines, steps=_STEPS)
        compared += not found.vacuous
        last = found.why or last
        if found.difference is None:
            return None
        return Counterexample(original, other, values, floats, not refines, found.difference, "is compared with")

    if given is None:
        found = Search[Inputs, Counterexample](None, test, strategy=inputs(original, sizes)).run(examples, seed)
    else:
        found = test(given)
    if found is not None:
        raise DifferenceError("difference", f"{other.name} does not do what {original.name} does", notes=[str(found)])
    if compared == 0 and given is None:
        raise nothing_compared(original, last)
    return compared


def nothing_compared(func: PrimFunc, last: str) -> LoopsatError:
    """The error for a check that could not have found anything."""
    return LoopsatError(
        "nothing-compared",
        f"{func.name} ran on no inputs that were drawn, so there was nothing to compare with",
        func.span,
        notes=[last] if last else [],
        help="state what its inputs must satisfy with T.assume, or give smaller sizes",
    )


def _same_interface(original: PrimFunc, other: PrimFunc) -> None:
    """Refuse functions that cannot be called with the same arguments.

    Raises:
        OptionError: they cannot.
    """
    if [(p.name, p.dtype) for p in original.params] != [(p.name, p.dtype) for p in other.params]:
        raise OptionError(
            "other-parameters",
            f"{other.name} does not have the parameters of {original.name}",
            notes=[original.signature, other.signature],
            help="compare functions whose parameters have the same names, dtypes and order",
        )
