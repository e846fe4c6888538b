"""The only module that touches egglog's bindings. Owns one long-lived e-graph, bulk input, runs and frozen tables.

The e-graph keeps its rules; a search happens between `push` and `pop`, so rules are translated once per process.
Rows go in through files, because a command costs egglog time quadratic in the text around it, while a table of a
thousand rows loads in a third of a millisecond.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from ir.errors import LoopsatError
from ir.later import later

if TYPE_CHECKING:
    import egglog.bindings as egglog
else:  # loading it takes as long as most searches
    egglog = later("egglog.bindings", alone=True)

Cell = int | float | str
ROOM = 2**25  # bytes that the rows of the largest searches take
_READERS = ("i64", "f64", "String")


class Row(Struct, frozen=True):
    """A row of a frozen table; e-class columns hold opaque hashable ids, other columns Python values."""

    inputs: tuple[object, ...]
    output: object


class Engine:
    """An e-graph with a fixed program of sorts, tables and rules.

    `growth` is how many rows a match of each rule that runs in rounds adds at most, if any (see `rounds`).
    """

    def __init__(self, program: Iterable[str], growth: Mapping[str, int] = MappingProxyType({})) -> None:
        """Load `program`, a series of egglog texts.

        Raises:
            LoopsatError: egglog rejects one of them.
        """
        self.growth = growth
        self._egraph = egglog.EGraph()
        self._values: dict[tuple[str, egglog.Value], object] = {}
        for text in program:
            self.run(text)

    def close(self) -> None:
        """Drop the e-graph, whoever still holds the engine."""
        self._values.clear()
        del self._egraph

    def run(self, text: str) -> list[object]:
        """Run commands given as text; keep each call to a few commands."""
        try:
            return list(self._egraph.run_program(*self._egraph.parse_program(text)))
        except egglog.EggSmolError as error:
            raise LoopsatError("engine", f"egglog rejected {text[:200]!r}: {error}") from error

    @contextmanager
    def scratch(self) -> Generator[None]:
        """Forget on exit whatever was inserted inside."""
        self.run("(push)")
        self._values.clear()
        try:
            yield
        finally:
            self.run("(pop)")

    def insert(self, tables: dict[str, list[tuple[Cell, ...]]], folder: str) -> None:
        """Append rows to relations and functions (last column is the value); clears the lists given.

        Raises:
            LoopsatError: the folder takes no more.
        """
        commands: list[str] = []
        for table, rows in tables.items():
            if rows:
                path = Path(folder) / f"{table}.tsv"
                text = "".join("\t".join(map(_cell, row)) + "\n" for row in rows)
                try:
                    path.write_text(text, encoding="utf-8")
                except OSError as error:
                    raise _no_room(folder, error) from error
                commands.append(f'(input {table} "{path}")')
                rows.clear()
        if commands:
            self.run("".join(commands))

    def saturate(self, schedule: str) -> tuple[bool, dict[str, int]]:
        """Run a schedule; returns whether it changed anything, and matches by rule name."""
        (output,) = self.run(f"(run-schedule {schedule})")
        report = output.report  # pyright: ignore[reportAttributeAccessIssue]
        return bool(report.updated), dict(sorted(report.num_matches_per_rule.items()))  # whose order is random

    def tables(self, names: Iterable[str]) -> dict[str, list[Row]]:
        """All rows of some tables, in a deterministic order, subsumed ones left out."""
        frozen = self._egraph.freeze().functions
        return {
            name: [
                Row(
                    tuple(self._read(sort, v) for sort, v in zip(frozen[name].input_sorts, row.inputs, strict=True)),
                    self._read(frozen[name].output_sort, row.output),
                )
                for row in frozen[name].rows
                if not row.subsumed
            ]
            for name in names
        }

    def sizes(self, names: Iterable[str]) -> int:
        """How many rows some tables have together."""
        (output,) = self.run("(print-size)")
        sizes = dict(output.sizes)  # pyright: ignore[reportAttributeAccessIssue]
        return sum(sizes[name] for name in names)

    def _read(self, sort: str, value: egglog.Value) -> object:
        """A Python value for primitive sorts; e-class ids stay opaque. Remembered, since reading one costs 3 µs."""
        if sort not in _READERS:
            return value
        key = (sort, value)
        found = self._values.get(key)
        if found is None:
            match sort:
                case "i64":
                    found = self._egraph.value_to_i64(value)
                case "f64":
                    found = self._egraph.value_to_f64(value)
                case _:
                    found = self._egraph.value_to_string(value)
            self._values[key] = found
        return found


K = TypeVar("K")


def kept(make: Callable[[K], Engine], number: int = 8) -> Callable[[K], AbstractContextManager[Engine]]:
    """Engines by what they are made of. The last few of the main thread are kept, since egglog takes tens of
    milliseconds to translate rules; its e-graphs may neither be used nor dropped by a thread that did not make them, so
    that others make one and drop it.
    """
    of_main = lru_cache(maxsize=number)(make)

    @contextmanager
    def engine(key: K) -> Generator[Engine]:
        if threading.current_thread() is threading.main_thread():
            yield of_main(key)
            return
        own = make(key)
        try:
            yield own
        finally:
            own.close()

    return engine


def _cell(value: Cell) -> str:
    return repr(value) if isinstance(value, float) else str(value)


@contextmanager
def scratch_folder() -> Generator[str]:
    """A folder for bulk input, in memory where the system offers it and has room.

    Raises:
        LoopsatError: there is none.
    """
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and shutil.disk_usage(shared).free > ROOM
    try:
        made = tempfile.TemporaryDirectory(prefix="loopsat-", dir=shared if roomy else None)
    except OSError as error:
        raise _no_room("a folder for temporary files", error) from error
    with made as folder:
        yield folder


def _no_room(where: str, error: OSError) -> LoopsatError:
    message = f"rows for the e-graph cannot be written to {where}: {error.strerror or error}"
    return LoopsatError("scratch", message, help="make room there, or let TMPDIR name a folder that has some")
