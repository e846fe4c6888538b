"""Consoles of commands: readers that leave, terminals that lack characters, and what is said while nothing is printed.

Loads nothing else of loopsat: every command needs it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console as RichConsole
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_SPELLED = {"–": "-", "µ": "u", "×": "x", "…": "...", "—": "-", "≤": "<=", "≥": ">=", "→": "->", "“": '"', "”": '"'}


class Console(RichConsole):
    """A console whose reader may leave: what cannot be written is an error that ends the command, and no status."""

    def on_broken_pipe(self) -> None:
        """Called where the other end of the pipe is closed, as by `head`."""
        raise BrokenPipeError


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Where commands print: in colours on a terminal, plainly and with lines as long as they are elsewhere."""
    return Console(highlight=False, soft_wrap=width is None, stderr=stderr, width=width)


def spelled_out(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that a terminal does not have, as a handler of encoding errors."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_SPELLED.get(c, "?") for c in error.object[error.start : error.end]), error.end


@contextmanager
def waiting(what: str) -> Generator[None]:
    """Say on the terminal's error stream what goes on, and for how long, as long as the block runs."""
    terminal = RichConsole(stderr=True)
    columns = (SpinnerColumn("line"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        bar.add_task(what, total=None)
        yield
