"""Runs two programs on the interpreter and says where one does what the other does not allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ir.dtypes import DType
from ir.errors import InterpretError
from ir.floats import Floats
from ir.nodes import Assume, Binary, Call, Cast, Expr, Let, PrimFunc, Unary
from ir.printing.printer import to_script
from ir.semantics.inputs import Inputs
from ir.semantics.interpret import bind_arguments
from ir.semantics.machine import UNDEF, Array, Evaluation, Machine, Undefined, Value
from ir.traverse import walk

REACHED = "the place is reached"  # the message of the assertion that tells so
# Reassociation moves the last bits: a few units per operation of a short reduction, of the largest value around.
TOLERANCE = {DType.FLOAT64: 1e-9, DType.FLOAT32: 1e-4, DType.FLOAT16: 2e-2, DType.BFLOAT16: 1e-1}
# An approximation may be off by 16 units in the last place of the largest value around.
APPROXIMATION = {DType.FLOAT64: 2.0**-48, DType.FLOAT32: 2.0**-19, DType.FLOAT16: 2.0**-6, DType.BFLOAT16: 2.0**-3}
_STEPS = 20_000
_SEEDS = tuple(range(3))  # of what bindings freeze
_MORE_SEEDS = tuple(range(3, 40))  # before a difference that may be chance is called one


class Outcome(Struct, frozen=True):
    """What a run did: values and undef masks of all buffer parameters, or the fault that ended it.

    `finite` says that no operation gave NaN or infinity.
    """

    results: dict[str, tuple[Array, npt.NDArray[np.bool_]]]
    fault: InterpretError | None = None
    finite: bool = True

    @property
    def broke_assumption(self) -> bool:
        return self.fault is not None and self.fault.code == "assumption-false"

    @property
    def too_long(self) -> bool:
        return self.fault is not None and self.fault.code in ("too-many-steps", "too-large", "too-deep")


class _Strict(Machine):
    """The interpreter with assumptions checked; loads may leave their buffer. It notes what is not finite.

    Without `annihilates` a float that nobody has written is no finite number, so that zero times it is arbitrary.
    """

    finite: bool = True
    annihilates: bool = True

    def _annihilated(self, op: str, a: Value, b: Value) -> Value:
        known = b if isinstance(a, Undefined) else a
        kept = self.annihilates or not isinstance(known, (float, np.floating))
        return super()._annihilated(op, a, b) if kept else UNDEF

    def _evaluation(self, expr: Expr) -> Evaluation:
        """Evaluate, and note whether an operation gives NaN or infinity."""
        evaluation = super()._evaluation(expr)
        if not isinstance(expr, (Unary, Binary, Cast, Call)):
            return evaluation

        def noted() -> Value:
            found = evaluation()
            if isinstance(found, float) and not math.isfinite(found):
                self.finite = False
            return found

        return noted

    def assume(self, stmt: Assume) -> None:
        if not self.holds(stmt.cond):
            message = f"the assumption `{to_script(stmt.cond)}` does not hold"
            raise self.fault("assumption-false", message, stmt.span)


class _Same(Struct, frozen=True, eq=False):
    """A function as a key, by identity: to hash a program takes as long as to run it."""

    func: PrimFunc

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.func is self.func

    __ne__ = object.__ne__  # what a Struct brings does not ask `__eq__`

    def __hash__(self) -> int:
        return id(self.func)


@lru_cache(maxsize=64)  # a function runs on several inputs in a row, with several seeds
def _machine_for(same: _Same) -> _Strict:
    del same
    return _Strict(False, np.random.default_rng(0))


def execute(
    func: PrimFunc,
    inputs: Inputs,
    seed: int = 0,
    floats: Floats = Floats.STRICT,
    steps: int = _STEPS,
    arbitrary: bool = False,
) -> Outcome:
    """Run a function; faults and false assumptions end it. `floats` are the freedoms of what is checked.

    With `arbitrary`, operations without a value give undef.
    """
    scalars, arrays = bind_arguments(func, (), inputs)
    machine = _machine_for(_Same(func))
    machine.reset(seed)
    machine.steps, machine.finite, machine.annihilates = steps, True, annihilates(floats)
    machine.arbitrary = arbitrary
    machine.scalars.update(scalars)
    try:
        for buffer in func.buffers:
            machine.add_buffer(buffer, arrays.get(buffer.name))
        machine.run(func.body)
    except InterpretError as fault:
        return Outcome({}, fault)
    except OverflowError as error:  # a literal that its dtype does not hold, as only a wrong rule makes it
        return Outcome({}, InterpretError("overflow", str(error)))
    results = {b.name: (machine.memory[b.name].values, machine.memory[b.name].undef) for b in func.buffers}
    return Outcome(results, finite=machine.finite)


def annihilates(floats: Floats) -> bool:
    """Whether zero times undef is zero for a rule: not where it takes values to be finite, and undef not to be."""
    return Floats.FINITE not in floats or Floats.FINITE_UNDEF in floats


def reaches(probe: PrimFunc, inputs: Inputs) -> bool:
    """Whether a run gets to the assertion that a probe holds."""
    fault = execute(probe, inputs).fault
    return fault is not None and fault.message == REACHED


class Difference(Struct, frozen=True):
    """How a rewritten program fails to equal the original: one sentence, and what both did."""

    what: str
    original: Outcome
    rewritten: Outcome


class Comparison(Struct, frozen=True):
    """What came of running both: `vacuous` if the original promises nothing on these inputs, and then `why`."""

    difference: Difference | None = None
    vacuous: bool = False
    why: str = ""


def compare(
    original: PrimFunc, rewritten: PrimFunc, inputs: Inputs, floats: Floats, *, equal: bool, steps: int = _STEPS
) -> Comparison:
    """Find what the rewritten program does on some inputs that the original does not allow.

    Where the original faults there are no obligations. Elsewhere the rewritten program must not fault, and must write
    the same where the original is not undef. With `equal` the original must not be less defined either: nothing may be
    undef, and no assumption be made, in the original alone. Without it, operations of the rewritten program that have
    no value give undef: their operands may stand for undef, operations on which have no faults. A run takes at most
    `steps` statements.
    """
    lets = any(isinstance(s, Let) for func in (original, rewritten) for s in walk(func.body))
    seeds = _SEEDS if lets else _SEEDS[:1]

    def outcomes(func: PrimFunc, seeds: Sequence[int], arbitrary: bool) -> list[Outcome]:
        return [execute(func, inputs, seed, floats, steps, arbitrary) for seed in seeds]

    found = _compare(original, rewritten, outcomes, seeds, inputs, floats, equal=equal)
    if found.difference is None or not lets:
        return found
    return _compare(original, rewritten, outcomes, (*seeds, *_MORE_SEEDS), inputs, floats, equal=equal)


def _compare(
    original: PrimFunc,
    rewritten: PrimFunc,
    outcomes: Callable[[PrimFunc, Sequence[int], bool], list[Outcome]],
    seeds: Sequence[int],
    inputs: Inputs,
    floats: Floats,
    *,
    equal: bool,
) -> Comparison:
    old = outcomes(original, seeds, False)
    broken = next((o for o in old if o.fault is not None), None)
    if broken is not None:
        if not (equal and broken.broke_assumption):
            return Comparison(vacuous=True, why="" if broken.fault is None else broken.fault.message)
        new = outcomes(rewritten, seeds, False)
        if any(o.fault is not None for o in new):
            return Comparison(vacuous=True)
        return Comparison(Difference("only the original makes an assumption that does not hold here", broken, new[0]))
    if Floats.FINITE in floats and not all(o.finite for o in old):
        # of a program that computes something else the policy says nothing
        return Comparison(vacuous=True, why="it computes what is no finite number")
    new = outcomes(rewritten, seeds, not equal)
    faulty = next((o for o in new if o.fault is not None), None)
    if faulty is not None:
        found = None if faulty.too_long else Difference("only the rewritten program faults", old[0], faulty)
        return Comparison(found, vacuous=faulty.too_long, why="" if faulty.fault is None else faulty.fault.message)
    for buffer in original.buffers:
        what = _different(buffer.name, buffer.dtype, old, new, inputs, floats, equal=equal)
        if what is not None:
            return Comparison(Difference(what, old[0], new[0]))
    return Comparison()


def _different(
    name: str,
    dtype: DType,
    old: Sequence[Outcome],
    new: Sequence[Outcome],
    inputs: Inputs,
    floats: Floats,
    *,
    equal: bool,
) -> str | None:
    """The first element of a buffer that differs."""
    values, undef, open_before = _allowed([o.results[name] for o in old])
    got, got_undef, open_after = _allowed([o.results[name] for o in new])
    worse = (got_undef | open_after) & ~(undef | open_before)
    if worse.any():
        return f"{name}{_at(worse)} is undef only in the rewritten program"
    if equal and (better := undef & ~(got_undef | open_after)).any():
        return f"{name}{_at(better)} is undef only in the original: a refinement, but no equality"
    free = undef | open_before
    same = _same_floats(dtype, values, got, inputs, floats) if dtype.is_float else values == got
    differs = ~same & ~free
    return f"{name}{_at(differs)} differs" if differs.any() else None


def _allowed(
    runs: Sequence[tuple[Array, npt.NDArray[np.bool_]]],
) -> tuple[Array, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Values, what is undef in all runs, and what else hangs on the arbitrary values that bindings froze."""
    values, undef = runs[0]
    always, varies = undef.copy(), np.zeros_like(undef)
    for other, other_undef in runs[1:]:
        always &= other_undef
        varies |= (other_undef != undef) | ((other != values) & ~((other != other) & (values != values)) & ~undef)
    return values, always, varies


def _same_floats(dtype: DType, values: Array, got: Array, inputs: Inputs, floats: Floats) -> npt.NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        want, have = values.astype(np.float64), got.astype(np.float64)
        same = (want == have) | (np.isnan(want) & np.isnan(have))
        if Floats.NO_SIGNED_ZEROS not in floats and Floats.REASSOCIATE not in floats:
            same &= np.isnan(want) | (np.signbit(want) == np.signbit(have))
        if Floats.FINITE in floats:
            same |= ~np.isfinite(want)
        off = TOLERANCE[dtype] if Floats.REASSOCIATE in floats else 0.0
        off = max(off, APPROXIMATION[dtype] if Floats.APPROXIMATE in floats else 0.0)
        if off:
            around = [want, *(np.asarray(v, np.float64) for v in inputs.values())]
            largest = max(1.0, *(float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in around))
            same |= np.abs(want - have) <= off * largest
    return same


def _at(mask: npt.NDArray[np.bool_]) -> str:
    index = np.argwhere(mask)[0].tolist() if mask.ndim else []
    return f"[{', '.join(map(str, index))}]" if index else "[()]"
