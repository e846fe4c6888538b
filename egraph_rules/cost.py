"""What work costs on a target. Owns the tables; extraction multiplies and adds them up.

Figures are in units of one element moved through vector code; they order programs, they do not predict times. The CPU
column follows measurements on two cores (a sum over 16 MB: unmasked 0.15 ms, with the index test kept 0.56 to 1.7 ms,
because XLA materialises the selection; an elementwise kernel hides its mask). The GPU and TPU columns carry over the
same structure with the target's own sensitivities and are not calibrated against measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

from ir.errors import LoopsatError, suggest


@dataclass(frozen=True, slots=True)
class Target:
    """Prices of one target.

    `load`, `store`: an element moved. `arith`, `division`, `special`: an operation, an integer division or modulo, a
    transcendental function. `index`: factor for arithmetic inside an index, most of which becomes a slice.
    `mask`: a guard around an elementwise store, per element. `reduction_mask`: a guard around an accumulation.
    `guarded`: the part of guarded work that is paid for; vector code pays all of it. `loop`: a loop. `kernel`: a
    statement. `default_extent`: assumed where an extent is symbolic.
    """

    name: str
    load: float = 1.0
    store: float = 1.0
    arith: float = 0.25
    division: float = 1.0
    special: float = 4.0
    index: float = 0.2
    mask: float = 0.25
    reduction_mask: float = 6.0
    guarded: float = 1.0
    loop: float = 5.0
    kernel: float = 50.0
    default_extent: int = 256


CPU = Target("cpu")
GPU = Target("gpu", arith=0.05, division=0.5, special=0.3, mask=0.1, reduction_mask=0.5, kernel=2000.0)
TPU = Target("tpu", arith=0.05, division=2.0, special=0.5, mask=0.05, reduction_mask=0.1, kernel=500.0)

TARGETS = {target.name: target for target in (CPU, GPU, TPU)}

SPECIAL = frozenset(("exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "erf", "sigmoid", "pow"))
DIVISION = frozenset(("floordiv", "floormod", "truncdiv", "truncmod", "div"))


def target_named(name: str) -> Target:
    """The target called `name`.

    Raises:
        LoopsatError: there is none.
    """
    if name not in TARGETS:
        raise LoopsatError(
            "unknown-target", f"there is no target `{name}`", help=suggest(name, TARGETS) or f"use {', '.join(TARGETS)}"
        )
    return TARGETS[name]


def operator_cost(target: Target, op: str) -> float:
    """Price of one application of an operator, operands not counted."""
    if op in SPECIAL:
        return target.special
    return target.division if op in DIVISION else target.arith
