"""Calibrated prices: what `loopsat calibrate` measured on this machine, kept in the cache and looked up here.

Owns the figures and their file, not how they are measured (`lower.tune.probes`), and which prices a user gets who names
a target (`user_target`). Needs no JAX, so that commands that only search do not wait for it.
`egraph_rules.cost.target.target_named` knows nothing of this: its tables are the same everywhere.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target, target_named
from ir.errors import LoopsatError
from lower.runtime import cache

FIGURES = (
    "load", "store", "arith", "division", "special", "slow_function", "mask", "reduction_mask", "reduction_slice",
    "kernel", "step", "scalar", "contraction", "launch", "scan",
)  # fmt: skip
CALIBRATED = ("cpu",)  # targets with probes


class CalibrationWarning(UserWarning):
    """Calibrated prices were asked for, and the table's are used."""


class Machine(Struct, frozen=True):
    """What a machine does at best.

    `bandwidth`: pairs of a working set (bytes) and what is read and written in it (bytes/s), smallest set first.
    `flops`: float32 operations of a matrix product (1/s). `call`: calling a compiled function (s). `step`: one
    iteration of a sequential loop over a scalar (s).
    """

    bandwidth: tuple[tuple[int, float], ...]
    flops: float
    call: float
    step: float

    def least_seconds(self, moved: float, flops: float) -> float:
        """The roofline: seconds that moving this many bytes or computing this many operations takes at least."""
        rate = next((r for size, r in self.bandwidth if moved <= size), self.bandwidth[-1][1])
        return max(moved / rate, flops / self.flops)


class Calibration(Struct, frozen=True):
    """Measured prices: `target` in units of one element loaded; cost 1 takes `unit` seconds; `when` is an ISO date."""

    target: Target
    unit: float
    machine: Machine
    when: str

    def seconds(self, cost: float) -> float:
        """What a program of this cost is predicted to take, the call included."""
        return self.machine.call + self.unit * cost


class Stored(Struct, frozen=True):
    """What is known of a target here: the prices to use, and the calibration they come from, if one is kept.

    `note` says why a calibration that is there was not used.
    """

    target: Target
    calibration: Calibration | None = None
    note: str = ""


def stored(name: str) -> Stored:
    """The calibration kept for a target on this machine, with these versions.

    Raises:
        LoopsatError: there is no such target.
    """
    base = target_named(name)
    found = cache.read(_file(name), cache.environment())
    if found.value is None:
        return Stored(base, note=found.note)
    try:
        calibration = _from_json(base, found.value)
        return Stored(calibration.target, calibration)
    except (KeyError, TypeError, ValueError) as error:
        return Stored(base, note=f"{_file(name)} in the cache is ignored: its figures make no sense ({error})")


def user_target(target: str | Target) -> Stored:
    """The prices by which a user's programs are lowered: those kept for the target named, or the ones given.

    Raises:
        LoopsatError: there is no such target.
    """
    return Stored(target) if isinstance(target, Target) else stored(target)


def calibrated(name: str) -> Target:
    """The prices measured on this machine for a target; where there are none, the table's, with a warning.

    Raises:
        LoopsatError: there is no such target.
    """
    found = stored(name)
    if found.calibration is not None:
        return found.target
    reason = found.note or f"nothing was measured for {name}"
    message = f"{reason}; the table's prices are used (`loopsat calibrate` measures)"
    warnings.warn(message, CalibrationWarning, stacklevel=2)
    return found.target


def price_line(target: str, calibration: Calibration | None) -> str:
    """One line on where prices come from."""
    if calibration is not None:
        return f"prices: measured on this machine on {calibration.when}"
    more = "; `loopsat calibrate` measures those of this machine" if target in CALIBRATED else ", which nobody measured"
    return f"prices: the table of {target}{more}"


def keep(calibration: Calibration) -> str:
    """Keep a calibration for later; the empty string, or a note why that failed."""
    return cache.write(_file(calibration.target.name), cache.environment(), _to_json(calibration))


def check_calibrated(name: str) -> None:
    """Refuse targets for which there are no probes.

    Raises:
        LoopsatError: it is one of those.
    """
    target_named(name)
    if name not in CALIBRATED:
        help = f"calibrate {', '.join(CALIBRATED)}; the prices of {name} are those of its table"
        raise LoopsatError("not-calibrated", f"there are no measurements for target {name}", help=help)


def _file(name: str) -> str:
    return f"calibration-{name}.json"


def _to_json(calibration: Calibration) -> dict[str, Any]:
    machine = calibration.machine
    return {
        "when": calibration.when,
        "unit": calibration.unit,
        "prices": {name: getattr(calibration.target, name) for name in FIGURES},
        "machine": {
            "bandwidth": [list(pair) for pair in machine.bandwidth],
            "flops": machine.flops,
            "call": machine.call,
            "step": machine.step,
        },
    }


def _from_json(base: Target, value: Mapping[str, Any]) -> Calibration:
    """What a file says.

    Raises:
        KeyError, TypeError, ValueError: it does not say it.
    """
    missing = [name for name in FIGURES if name not in value["prices"]]
    if missing:
        raise ValueError(f"nothing on {', '.join(missing)}")
    prices = {name: _positive(value["prices"][name]) for name in FIGURES}
    machine = value["machine"]
    bandwidth = tuple((int(size), _positive(rate)) for size, rate in machine["bandwidth"])
    if not bandwidth:
        raise ValueError("no bandwidth")
    rates = (_positive(machine[name]) for name in ("flops", "call", "step"))
    return Calibration(
        replace(base, **prices), _positive(value["unit"]), Machine(bandwidth, *rates), str(value["when"])
    )


def _positive(value: Any) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{number} is no price")
    return number
