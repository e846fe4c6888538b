"""`loopsat calibrate`: measure prices and limits of this machine, and keep them for later searches."""

from __future__ import annotations

import argparse

from rich.table import Table

from egraph_rules.cost.target import target_named
from lower.commands.page import Page, progress
from lower.runtime.cache import folder
from lower.runtime.calibration import FIGURES, Calibration, check_calibrated, keep
from lower.tune.probes import Measured, calibrate, count_steps


def run(options: argparse.Namespace) -> None:
    """Measure, keep and print.

    Raises:
        LoopsatError: the target cannot be calibrated, or the machine is too busy.
    """
    check_calibrated(options.target)
    with progress(count_steps()) as step:
        measured = calibrate(options.target, step=step)
    note = keep(measured.calibration)
    page = Page()
    _prices(page, options.target, measured)
    _limits(page, measured.calibration)
    page.line(
        f"\n{note}"
        if note
        else f"\nkept in {folder()}; used by `loopsat optimize`, `explain` and `bench`, and by `compile`"
    )


def _prices(page: Page, name: str, measured: Measured) -> None:
    calibration = measured.calibration
    low, high = (f"{seconds * 1e9:.3f}" for seconds in measured.spread["unit"])
    unit = f"{calibration.unit * 1e9:.3f} ns, in parts of the measurement {low}–{high}"
    page.title(f"prices of target {name}, in elements loaded (cost 1 takes {unit})")
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for head in ("table", "measured", "in parts", ""):
        table.add_column(head, justify="right")
    before = target_named(name)
    for figure in FIGURES:
        hidden = "cannot be told from free" if figure in measured.hidden else ""
        prices = (f"{getattr(target, figure):,g}" for target in (before, calibration.target))
        low, high = measured.spread[figure]
        table.add_row(figure, *prices, f"{low:,g}–{high:,g}", hidden)
    page.table(table)


def _limits(page: Page, calibration: Calibration) -> None:
    machine = calibration.machine
    page.title("limits of this machine")
    rates = ", ".join(f"{rate / 1e9:.0f} GB/s in {size / 2**20:g} MiB" for size, rate in machine.bandwidth)
    page.line(f"- memory: {rates}")
    page.line(f"- matrix product, float32: {machine.flops / 1e9:.0f} GFLOP/s")
    page.line(f"- a call: {machine.call * 1e6:.1f} µs; a step of a sequential loop: {machine.step * 1e9:.1f} ns")
