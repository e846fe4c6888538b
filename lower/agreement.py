"""Whether a kernel does what its program says: outputs compared with the interpreter's, or with another kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.inputs import Inputs
from ir.interpret import interpret_with_undef
from ir.nodes import Alloc, Buffer, Const, For, PrimFunc, Stmt, Undef
from ir.traverse import all_exprs, buffers_written, stmt_children, walk
from lower.kernel import Kernel

INTERPRETED_STEPS = 200_000  # the interpreter runs about as many statements a second
TOLERANCE = {DType.FLOAT64: 1e-9, DType.FLOAT32: 2e-3, DType.FLOAT16: 5e-2, DType.BFLOAT16: 2e-1}

Values = npt.NDArray[np.generic]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a program's written buffers must hold: `outputs` are values, and where these are undef, by name.

    `how` says what computed them. `certain` is false where undef elements may be among those that are not marked.
    """

    func: PrimFunc
    inputs: Inputs
    how: str
    outputs: Mapping[str, tuple[Values, Mask]]
    certain: bool

    def differences(self, func: PrimFunc, found: Sequence[object]) -> list[Difference]:
        """How the results of another program, in parameter order, differ from these."""
        got = dict(zip(written(func), found, strict=True))
        dtypes = {b.name: b.dtype for b in self.func.params if isinstance(b, Buffer)}
        return [
            _difference(name, dtypes[name], values[~undef], np.asarray(got.get(name, self.inputs[name]))[~undef])
            for name, (values, undef) in self.outputs.items()
        ]


@dataclass(frozen=True, slots=True)
class Difference:
    """How two results of one buffer compare: the largest difference as a part of the largest value."""

    name: str
    error: float
    allowed: float

    @property
    def agrees(self) -> bool:
        """Whether float freedoms explain the difference."""
        return self.error <= self.allowed

    def __str__(self) -> str:
        if self.error == 0:
            return f"{self.name}: equal"
        if not self.agrees:
            return f"{self.name}: differs by {self.error:.2g} of its largest value"
        return f"{self.name}: equal within {self.error:.1e} of its largest value (float sums in another order)"


def reference(func: PrimFunc, inputs: Inputs, kernel: Kernel) -> Reference:
    """The outputs of a program: interpreted, or where that takes too long, those of its unoptimized kernel.

    Raises:
        LoopsatError: the program faults on these inputs.
    """
    steps = estimated_steps(func.body)
    if steps <= INTERPRETED_STEPS:
        how, outputs, certain = "the reference interpreter", _interpret(func, inputs), True
    else:
        how = f"the unoptimized kernel ({steps:,.0f} steps are too many to interpret)"
        arguments = [inputs[name] for name in kernel.params]
        outputs = [(np.asarray(v), np.zeros(v.shape, np.bool_)) for v in kernel(*arguments)]
        certain = not _may_be_undef(func)
    return Reference(func, inputs, how, dict(zip(written(func), outputs, strict=True)), certain)


def written(func: PrimFunc) -> list[str]:
    """The buffers that a function writes, in parameter order."""
    buffers = buffers_written(func.body)
    return [b.name for b in func.buffers if b in buffers]


def wrong_result(difference: Difference, what: str) -> LoopsatError:
    """The error for results that no float freedom explains."""
    message = f"{difference} ({what}): a defect of loopsat, please report it"
    return LoopsatError("wrong-result", message)


def _interpret(func: PrimFunc, inputs: Inputs) -> Sequence[tuple[Values, Mask]]:
    params = [p.name for p in func.params]
    rest: dict[str, Any] = {name: value for name, value in inputs.items() if name not in params}
    try:
        return interpret_with_undef(func, *(inputs[name] for name in params), **rest)
    except InterpretError as error:
        raise LoopsatError(
            "program-faults",
            f"{func.name} faults on random inputs, so there is nothing to compare with",
            notes=[str(error)],
            help="state what its inputs must satisfy with T.assume, or pass --no-run",
        ) from error


def _may_be_undef(func: PrimFunc) -> bool:
    return any(isinstance(e, Undef) for e in all_exprs(func.body)) or any(isinstance(s, Alloc) for s in walk(func.body))


def _difference(name: str, dtype: DType, want: npt.NDArray[Any], have: npt.NDArray[Any]) -> Difference:
    if not dtype.is_float:
        return Difference(name, 0.0 if np.array_equal(want, have) else np.inf, 0.0)
    want, have = want.astype(np.float64), have.astype(np.float64)
    same = (want == have) | (np.isnan(want) & np.isnan(have))
    scale = max(float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want))), 1.0)
    with np.errstate(invalid="ignore"):
        gaps = np.nan_to_num(np.abs(want - have)[~same], nan=np.inf)
    return Difference(name, float(np.max(gaps, initial=0.0)) / scale, TOLERANCE[dtype])


def estimated_steps(stmt: Stmt) -> float:
    """About how many statements a run executes; symbolic extents count as 20."""
    match stmt:
        case For(extent=extent, body=body):
            times = max(int(extent.value), 0) if isinstance(extent, Const) else 20
            return 1 + times * estimated_steps(body)
        case _:
            return 1 + sum(map(estimated_steps, stmt_children(stmt)))
