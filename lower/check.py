"""Whether a kernel computes what its program says: the reference, the comparison, how far floats may differ.

The reference is the interpreter where it is fast enough, else the kernel of the program as it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.inputs import Inputs
from ir.interpret import interpret_with_undef
from ir.nodes import Const, For, PrimFunc, Stmt, Store, Undef
from ir.traverse import all_exprs, results_of, stmt_children, walk
from lower.callable import Kernel

INTERPRETED_STEPS = 200_000  # the interpreter runs about as many statements a second
TOLERANCE = {DType.FLOAT64: 1e-9, DType.FLOAT32: 2e-3, DType.FLOAT16: 5e-2, DType.BFLOAT16: 2e-1}

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Reference:
    """What is right: by buffer the values and which of them are undef (None: which ones is not known).

    `name` says what computed it.
    """

    name: str
    buffers: Mapping[str, tuple[Array, npt.NDArray[np.bool_] | None]]


@dataclass(frozen=True, slots=True)
class Compared:
    """How one written buffer compares with the reference."""

    buffer: str
    same: bool
    text: str

    def __str__(self) -> str:
        return f"{self.buffer}: {self.text}"


def written(func: PrimFunc) -> list[str]:
    """The buffer parameters that a function writes, in order: what its kernel returns."""
    return [b.name for b in results_of(func)]


def reference(func: PrimFunc, inputs: Inputs, naive: Callable[[], Kernel]) -> Reference:
    """The results of a program for some inputs, by the interpreter or else by the kernel that `naive` gives.

    Raises:
        LoopsatError: the program faults on them.
    """
    steps = estimated_steps(func.body)
    if steps <= INTERPRETED_STEPS:
        results = dict(zip(written(func), _interpret(func, inputs), strict=True))
        return Reference("the reference interpreter", dict(results))
    outputs = zip(written(func), naive()(*inputs.values()), strict=True)
    arbitrary = {s.buffer.name for s in walk(func.body) if isinstance(s, Store) and _mentions_undef(s)}
    found = {n: (np.asarray(v), None if n in arbitrary else np.zeros(v.shape, np.bool_)) for n, v in outputs}
    return Reference(f"the unoptimized kernel ({steps:,.0f} steps are too many to interpret)", found)


def compare(func: PrimFunc, expected: Reference, found: Mapping[str, object], inputs: Inputs) -> list[Compared]:
    """Each written buffer against the reference; what was `found` may lack buffers that kept their contents."""
    dtypes = {b.name: b.dtype for b in func.buffers}
    return [
        _difference(name, dtypes[name], *results, np.asarray(found.get(name, inputs[name])))
        for name, results in expected.buffers.items()
    ]


def insist(compared: list[Compared]) -> None:
    """Refuse results that differ.

    Raises:
        LoopsatError: one does.
    """
    for result in compared:
        if not result.same:
            raise LoopsatError("wrong-result", f"{result}: a defect of loopsat, please report it")


def _mentions_undef(stmt: Stmt) -> bool:
    return any(isinstance(e, Undef) for e in all_exprs(stmt))


def _interpret(func: PrimFunc, inputs: Inputs) -> tuple[tuple[Array, npt.NDArray[np.bool_]], ...]:
    try:
        return interpret_with_undef(func, *inputs.values())
    except InterpretError as error:
        raise LoopsatError(
            "program-faults",
            f"{func.name} faults on these inputs, so there is nothing to compare with",
            notes=[str(error)],
            help="state what its inputs must satisfy with T.assume, or leave out the check",
        ) from error


def _difference(
    name: str, dtype: DType, values: Array, undef: npt.NDArray[np.bool_] | None, got: npt.NDArray[np.generic]
) -> Compared:
    """How two results compare where the reference is not undef."""
    if undef is None:
        return Compared(name, True, "not compared: some elements are arbitrary, and which ones is not known")
    want, have = values[~undef], got[~undef]
    if not dtype.is_float:
        same = np.array_equal(want, have)
        return Compared(name, same, "equal" if same else f"{np.count_nonzero(want != have)} elements differ")
    want, have = want.astype(np.float64), have.astype(np.float64)
    rest = ~((want == have) | (np.isnan(want) & np.isnan(have)))
    if not rest.any():
        return Compared(name, True, "equal")
    finite = np.abs(want[np.isfinite(want)])
    with np.errstate(invalid="ignore"):  # infinity less infinity is a difference too
        error = float(np.max(np.abs(want[rest] - have[rest]))) / max(float(np.max(finite, initial=0.0)), 1.0)
    if not error <= TOLERANCE[dtype]:
        return Compared(name, False, f"differs by {error:.2g} of its largest value")
    return Compared(name, True, f"equal within {error:.1e} of its largest value (float sums in another order)")


def estimated_steps(stmt: Stmt) -> float:
    """About how many statements a run executes; symbolic extents count as 20."""
    match stmt:
        case For(extent=extent, body=body):
            times = max(int(extent.value), 0) if isinstance(extent, Const) else 20
            return 1 + times * estimated_steps(body)
        case _:
            return 1 + sum(map(estimated_steps, stmt_children(stmt)))
