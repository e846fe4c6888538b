"""Whether a kernel computes what its program says: what it is compared with, on what, how far floats may differ.

The reference is the interpreter where it is fast enough, else the plainest lowering (`lower.check.sequential`), which
shares no form with the kernel; the same program at small sizes is then compared with the interpreter besides. Floats
are judged by their error against the program in float64: that of the kernel may be a few times that of the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules import optimize
from egraph_rules.cost.target import Target
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.floats import Floats
from ir.nodes import Let, PrimFunc
from ir.semantics.inputs import SPREADS, Inputs, random_inputs
from ir.semantics.interpret import bind_arguments, interpret_with_undef
from ir.semantics.retype import in_float64
from ir.semantics.steps import estimated_steps
from ir.traverse import results_of, walk
from lower.check.sequential import run_sequentially
from lower.check.smaller import smaller
from lower.runtime.callable import Kernel
from lower.runtime.kernel import compile

INTERPRETED_STEPS = 100_000  # the interpreter runs about twice as many statements a second, and is run three times
SEQUENTIAL_STEPS = 100_000_000  # some seconds
SMALL_STEPS = 10_000
WORSE = 4.0  # how many times the error of the loops that of a kernel may be
SLACK = 16  # units in the last place of the largest element that it may differ besides
RELATIVE = {DType.FLOAT64: 1e-9, DType.FLOAT32: 2e-3, DType.FLOAT16: 5e-2, DType.BFLOAT16: 2e-1}
_SEEDS = (1, 2)  # of the arbitrary values that bindings freeze, beside the first
_OTHER = 1e20  # what is undef, in a second run
_EVEN = 1e-3  # share of integer elements that may differ where floats decide about them

Array = npt.NDArray[np.generic]
Mask = npt.NDArray[np.bool_]


class Expected(Struct, frozen=True):
    """What one buffer should hold: as the loops compute it, which elements are arbitrary, how far floats may differ.

    `error` is the largest error of the loops (in the buffer's own dtype) against float64, and `exact` what float64
    gives; None where the program has no floats, or faults in float64.
    """

    loops: Array
    arbitrary: Mask
    exact: Array | None = None
    error: float = 0.0


class Reference(Struct, frozen=True):
    """What is right, by buffer; `name` says what computed it."""

    name: str
    buffers: Mapping[str, Expected]

    @property
    def finite(self) -> bool:
        """Whether all floats that count are numbers, as the default float policy takes them to be."""
        floats = (e for e in self.buffers.values() if e.loops.dtype.kind not in "iub")
        return all(np.isfinite(e.loops[~e.arbitrary].astype(np.float64)).all() for e in floats)


class Compared(Struct, frozen=True):
    """How one written buffer compares with the reference."""

    buffer: str
    same: bool
    text: str

    def __str__(self) -> str:
        return f"{self.buffer}: {self.text}"


class Checked(Struct, frozen=True):
    """A kernel against its program: `said` is what was compared with what, in one line, then the buffers."""

    said: str
    compared: tuple[Compared, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return all(c.same for c in self.compared)


def written(func: PrimFunc) -> list[str]:
    """The buffer parameters that a function writes, in order: what its kernel returns."""
    return [b.name for b in results_of(func)]


def kernel_results(kernel: Kernel, inputs: Inputs) -> dict[str, Array]:
    """What a kernel gives for inputs, by the names of the buffers that it writes."""
    found = kernel(*(inputs[name] for name in kernel.params))
    return dict(zip(written(kernel.func), found, strict=True))


def check_optimized(
    func: PrimFunc, best: PrimFunc, kernel: Kernel, inputs: Inputs, target: Target, floats: Floats, given: bool = False
) -> Checked:
    """Compare a kernel of `best`, which should be equal to `func`, with `func`, on `inputs` and on others.

    At full size on `inputs` and, unless these are `given` by a script, on others around 1000; where that is too long to
    interpret, the program also goes through search and lowering at small sizes, on inputs of several kinds.

    Raises:
        LoopsatError: the program faults on these inputs.
    """
    sets = [("these inputs" if given else "inputs near zero", inputs)]
    if not given:
        far = SPREADS["around 1000"]
        sets += [("inputs around 1000", random_inputs(func, np.random.default_rng(1), _scalars(func, inputs), far))]
    compared: list[Compared] = []
    names: list[str] = []
    for what, values in sets:
        expected = reference(func, values)
        if expected is None:
            names.append(f"nothing at full size ({estimated_steps(func, values):,.0f} steps are too many)")
            break
        if values is not inputs and not expected.finite:
            names.append(f"not on {what}, where the program gives what is no number")
            continue
        found = kernel_results(kernel, values)
        compared += [_on(what if len(sets) > 1 else "", c) for c in compare(func, expected, found, values)]
        names.append(f"on {what}" if names and names[0].startswith(expected.name) else f"{expected.name}, on {what}")
    if estimated_steps(func, inputs) > INTERPRETED_STEPS:
        small, text = _at_small_sizes(func, inputs, target, floats)
        compared += small
        names.append(text)
    return Checked("; ".join(names), tuple(compared))


def _on(what: str, compared: Compared) -> Compared:
    return replace(compared, text=f"{compared.text}, {what}") if what else compared


def _at_small_sizes(func: PrimFunc, inputs: Inputs, target: Target, floats: Floats) -> tuple[list[Compared], str]:
    """The program at small sizes, optimized and lowered under prices that make it like the large one."""
    small = smaller(func, inputs, SMALL_STEPS)
    if small is None:
        return [], "no smaller sizes were found for the interpreter"
    prices = small.prices(target)
    best = optimize(small.func, prices, floats=floats).best
    kernel = compile(best, prices, floats=floats, pallas=False)
    compared: list[Compared] = []
    values = inputs
    for seed, (kind, spread) in enumerate(SPREADS.items()):
        values = random_inputs(small.func, np.random.default_rng(seed), spread=spread)
        expected = reference(small.func, values)
        if expected is None or not expected.finite:
            continue
        found = kernel_results(kernel, values)
        compared += [_on(f"at small sizes, {kind}", c) for c in compare(small.func, expected, found, values)]
    shapes = ", ".join(f"{b.name} {'x'.join(map(str, np.shape(values[b.name])))}" for b in small.func.buffers)
    return compared, f"the reference interpreter at small sizes ({shapes}), on {len(SPREADS)} kinds of inputs"


def _scalars(func: PrimFunc, inputs: Inputs) -> dict[str, int | float | bool]:
    """The scalars and sizes of inputs, by name."""
    scalars, _ = bind_arguments(func, (), inputs)
    return {v.name: value for v, value in scalars.items()}


# What is right --------------------------------------------------------------------------------------------------------


def reference(func: PrimFunc, inputs: Inputs) -> Reference | None:
    """The results of a program for some inputs; None where even the plainest lowering would take too long.

    Raises:
        LoopsatError: the program faults on them.
    """
    steps = estimated_steps(func, inputs)
    if steps <= INTERPRETED_STEPS:
        return _judged(func, inputs, "the reference interpreter", _interpreted)
    if steps <= SEQUENTIAL_STEPS:
        return _judged(func, inputs, f"its loops, one element after the other ({steps:,.0f} steps)", _sequential)
    return None


Results = dict[str, tuple[Array, Mask]]


def _judged(func: PrimFunc, inputs: Inputs, name: str, run: Callable[[PrimFunc, Inputs], Results]) -> Reference:
    """Results in the program's dtypes, and how far these are from float64."""
    loops = run(func, inputs)
    wide = in_float64(func)
    exact: Results = {}
    moved: Results = {}
    if any(p.dtype.is_float for p in func.params):
        try:
            exact = run(wide, _widened(func, inputs)) if wide != func else loops
            moved = run(wide, _widened(func, _nudged(func, inputs)))
        except LoopsatError:
            exact = {}  # floats that decide what is an index may fault in float64 alone
    return Reference(name, {n: _expected(*found, exact.get(n), moved.get(n)) for n, found in loops.items()})


def _expected(
    loops: Array, arbitrary: Mask, exact: tuple[Array, Mask] | None, moved: tuple[Array, Mask] | None
) -> Expected:
    if exact is None or moved is None:
        return Expected(loops, arbitrary)
    arbitrary = arbitrary | exact[1]
    if loops.dtype.kind in "iub":
        return Expected(loops, arbitrary, exact[0])
    error = max(_largest(loops, exact[0], arbitrary), _largest(moved[0], exact[0], arbitrary))
    return Expected(loops, arbitrary, exact[0], error)


def _largest(a: Array, b: Array, without: Mask) -> float:
    """The largest finite difference."""
    with np.errstate(all="ignore"):
        difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.max(difference[~without & np.isfinite(difference)], initial=0.0))


def _interpreted(func: PrimFunc, inputs: Inputs) -> Results:
    """Results of the interpreter. What hangs on the arbitrary values that bindings froze is arbitrary too."""
    found = _run(func, inputs, 0)
    for seed in _SEEDS if any(isinstance(s, Let) for s in walk(func.body)) else ():
        other = _run(func, inputs, seed)
        found = {n: (v, undef | _differs(v, other[n][0])) for n, (v, undef) in found.items()}
    return found


def _run(func: PrimFunc, inputs: Inputs, seed: int) -> Results:
    try:
        found = interpret_with_undef(func, *inputs.values(), max_steps=4 * INTERPRETED_STEPS, seed=seed)
    except InterpretError as error:
        raise LoopsatError(
            "program-faults",
            f"{func.name} faults on these inputs, so there is nothing to compare with",
            notes=[str(error)],
            help="state what its inputs must satisfy with T.assume, or leave out the check",
        ) from error
    return dict(zip(written(func), found, strict=True))


def _sequential(func: PrimFunc, inputs: Inputs) -> Results:
    found, other = run_sequentially(func, inputs), run_sequentially(func, inputs, _OTHER)
    return {n: (v, _differs(v, other[n])) for n, v in found.items()}


def _differs(a: Array, b: Array) -> Mask:
    return ~((a == b) | ((a != a) & (b != b)))


def _widened(func: PrimFunc, inputs: Inputs) -> Inputs:
    floats = {p.name for p in func.params if p.dtype.is_float}
    return {n: np.asarray(v, np.float64) if n in floats else v for n, v in inputs.items()}


def _nudged(func: PrimFunc, inputs: Inputs) -> Inputs:
    """Inputs whose floats are moved by up to half a unit in the last place: how far that moves results is no error."""
    rng = np.random.default_rng(0)
    out = dict(inputs)
    for p in func.params:
        if p.dtype.is_float and p.name in inputs:
            wide = np.asarray(inputs[p.name], np.float64)
            out[p.name] = wide * (1 + p.dtype.epsilon * rng.uniform(-0.5, 0.5, wide.shape))
    return out


# Comparison -----------------------------------------------------------------------------------------------------------


def compare(func: PrimFunc, expected: Reference, found: Mapping[str, object], inputs: Inputs) -> list[Compared]:
    """Each written buffer against the reference; what was `found` may lack buffers that kept their contents."""
    dtypes = {b.name: b.dtype for b in func.buffers}
    return [
        _difference(name, dtypes[name], results, np.asarray(found[name] if name in found else inputs[name]))
        for name, results in expected.buffers.items()
    ]


def insist(compared: Sequence[Compared]) -> None:
    """Refuse results that differ.

    Raises:
        LoopsatError: one does.
    """
    for result in compared:
        if not result.same:
            raise LoopsatError("wrong-result", f"{result}: a defect of loopsat, please report it")


def _difference(name: str, dtype: DType, expected: Expected, got: Array) -> Compared:
    """How a result compares where the reference is neither arbitrary nor, in a float, other than a number."""
    want, have = expected.loops[~expected.arbitrary], got[~expected.arbitrary]
    arbitrary = np.count_nonzero(expected.arbitrary)
    left_out = f", {arbitrary} arbitrary elements left out" if arbitrary else ""
    if dtype.is_float:
        return _floats_differ(name, dtype, expected, want, have, left_out)
    differ = np.count_nonzero(want != have)
    if differ and expected.exact is not None:  # which of two nearly equal floats is larger may turn out either way
        even = WORSE * np.count_nonzero(want != expected.exact[~expected.arbitrary]) + _EVEN * want.size
        if differ <= even:
            text = f"{differ} of {want.size} elements differ, which nearly even floats decide"
            return Compared(name, True, text + left_out)
    return Compared(name, not differ, (f"{differ} elements differ" if differ else "equal") + left_out)


def _floats_differ(name: str, dtype: DType, expected: Expected, want: Array, have: Array, left_out: str) -> Compared:
    want, have = want.astype(np.float64), have.astype(np.float64)
    number, nan = np.isfinite(want), np.isnan(want)
    if nan.any():
        left_out += f", {np.count_nonzero(nan)} that are NaN as written left out"
    lost = np.count_nonzero(~np.isfinite(have[number])) + np.count_nonzero((have != want)[~number & ~nan])
    if lost:
        return Compared(name, False, f"{lost} elements are NaN or infinite that should not be, or not infinite")
    if np.array_equal(want[number], have[number]):
        return Compared(name, True, f"equal{left_out}")
    largest = float(np.max(np.abs(want[number]), initial=0.0))
    if expected.exact is None:
        error, allowed = float(np.max(np.abs(want - have)[number])), RELATIVE[dtype] * max(largest, 1.0)
    else:
        exact = expected.exact[~expected.arbitrary].astype(np.float64)
        error, allowed = _largest(have, exact, ~number), WORSE * expected.error + SLACK * dtype.epsilon * largest
        if dtype is DType.FLOAT64:  # loops are as inexact as the kernel, and which error they make is not known
            allowed = max(allowed, RELATIVE[dtype] * largest)
    share, may = (x / largest if largest else x for x in (error, allowed))
    if not error <= allowed:
        text = f"differs by {share:.2g} of its largest value, where {may:.1g} is allowed{left_out}"
        return Compared(name, False, text)
    return Compared(name, True, f"equal within {share:.1e} of its largest value ({may:.0e} is allowed){left_out}")
