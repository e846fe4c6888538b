"""What commands print beyond sections: tables, figures, progress. Knows nothing of how figures come about."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from rich.console import Console as RichConsole
from rich.filesize import decimal
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ir.page import Page as PlainPage
from lower.commands.console import console
from lower.runtime.calibration import CALIBRATED, Calibration
from lower.tune.measure import Profile, Step, milliseconds

UNKNOWN = "–"


class Page(PlainPage):
    """A page with tables and figures."""

    def __init__(self, on: RichConsole | None = None) -> None:
        super().__init__(console() if on is None else on)

    def table(self, table: Table) -> None:
        """A table; where nobody watches, as wide as it needs to be."""
        if self.console.is_terminal:
            self.console.print(table, soft_wrap=False)
            return
        wide = self.console.options.update(max_width=10_000)
        width = Measurement.get(self.console, wide, table).maximum
        RichConsole(highlight=False, width=width, file=self.console.file).print(table)

    def profiles(self, profiles: Sequence[Profile], calibration: Calibration | None, target: str) -> None:
        """The figures of programs that do the same; the first is what the others are compared with."""
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for one in profiles:
            table.add_column(one.name, justify="right")
        for name, values in zip(_FIGURES, zip(*(_column(p, profiles[0]) for p in profiles), strict=True), strict=True):
            table.add_row(name, *values)
        self.table(table)
        if calibration is None and target in CALIBRATED:
            self.line("- predicted times and the limit of this machine need `loopsat calibrate`, once")


_FIGURES = (
    "cost", "predicted ms", "ms", "quartiles", "times as fast", "XLA compile ms", "temporaries", "moved", "FLOPs",
    "of the limit",
)  # fmt: skip


def _column(one: Profile, first: Profile) -> list[str]:
    time = one.time
    return [
        f"{one.cost:,.0f}",
        UNKNOWN if one.predicted is None else milliseconds(one.predicted),
        milliseconds(time.median),
        f"{milliseconds(time.low)}–{milliseconds(time.high)}",
        f"{first.time.median / max(time.median, 1e-12):.2f}",
        f"{one.compile_seconds * 1e3:.0f}",
        _bytes(one.temporaries),
        _bytes(one.bytes_moved),
        UNKNOWN if one.flops is None else f"{one.flops:,.0f}",
        UNKNOWN if one.roofline is None else f"{one.roofline:.0%}",
    ]


def _bytes(count: float | None) -> str:
    return UNKNOWN if count is None else decimal(int(count))


@contextmanager
def progress(total: int) -> Generator[Step]:
    """A progress bar on the terminal's error stream, as long as the block runs; each step is reported to the value."""
    terminal = RichConsole(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("starting", total=total)

        def step(what: str) -> None:
            bar.update(task, description=what, advance=1)
            if bar.tasks[0].finished:  # it takes longer than was expected
                bar.update(task, total=bar.tasks[0].completed + 1)

        yield step
