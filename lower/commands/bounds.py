"""`loopsat bounds`: run a script, and tabulate the bounds of the staged programs that it makes."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ir.bounds import Bounds, Part, Range, infer_bounds
from ir.errors import LoopsatError, suggest
from ir.nodes import Module, PrimFunc, Var
from ir.printing.printer import to_script
from ir.semantics.verify import verify
from lower.commands.cli import split_place
from lower.commands.console import console as page_console
from lower.commands.scripts import execute

_WIDE = 1000  # columns of what is no terminal: one line for each row, so that it can be searched


class _Drawing(Protocol):
    def stage_graph(self, bounds: Bounds, path: Path) -> None: ...

    def variable_graph(self, func: PrimFunc, steps: object, path: Path) -> None: ...


class _Scheduled(Protocol):
    """What a schedule offers."""

    @property
    def func(self) -> PrimFunc: ...

    @property
    def trace(self) -> Any: ...


def run(options: argparse.Namespace) -> None:
    """Do what the options ask.

    Raises:
        LoopsatError: the script fails or makes no program, or drawing is not possible.
    """
    path, name = split_place(options.script)
    programs = _pick(_programs(execute(path)), name, path)
    folder: Path | None = options.svg
    console = page_console(width=None if sys.stdout.isatty() else _WIDE)
    for title, program in programs.items():
        func = program if isinstance(program, PrimFunc) else program.func
        verify(func, allow_stray_loads=True)
        bounds = infer_bounds(func)
        _show(console, title, bounds)
        if folder is not None:
            steps = () if isinstance(program, PrimFunc) else program.trace.steps
            stages, variables = (folder / f"{title}.{what}.svg" for what in ("stages", "variables"))
            drawing = _drawing(folder)
            drawing.stage_graph(bounds, stages)
            drawing.variable_graph(func, steps, variables)
            console.print(Text(f"drawn: {stages}, {variables}\n"))


# Scripts -------------------------------------------------------------------------------------------------------------


def _programs(names: Mapping[str, object]) -> dict[str, PrimFunc | _Scheduled]:
    """Functions, modules' functions and schedules among global names; one known by two names counts once."""
    found: dict[str, PrimFunc | _Scheduled] = {}
    for name, value in names.items():
        if isinstance(value, Module):
            found |= {f"{name}.{f.name}": f for f in value.funcs}
        elif not any(value is other for other in found.values()) and (
            isinstance(value, PrimFunc) or _is_schedule(value)
        ):
            found[name] = cast("PrimFunc | _Scheduled", value)
    return found


def _is_schedule(value: object) -> bool:
    return (
        not isinstance(value, type) and hasattr(value, "trace") and isinstance(getattr(value, "func", None), PrimFunc)
    )


def _pick(programs: dict[str, PrimFunc | _Scheduled], name: str, path: Path) -> dict[str, PrimFunc | _Scheduled]:
    if not programs:
        help = (
            "keep what te.create_prim_func or Schedule gives in a global name, or decorate a function with @T.prim_func"
        )
        raise LoopsatError("no-program", f"{path} makes no program", help=help)
    if not name:
        return programs
    exact = [t for t in programs if t == name]
    chosen = exact if exact else [t for t, p in programs.items() if isinstance(p, PrimFunc) and p.name == name]
    if not chosen:
        near = suggest(name, programs)
        message = f"{path} has no program `{name}`"
        raise LoopsatError("unknown-program", message, help=near if near else f"it has {', '.join(programs)}")
    return {title: programs[title] for title in chosen}


def _drawing(folder: Path) -> _Drawing:
    try:
        module = importlib.import_module("lower.commands.drawing")
    except ModuleNotFoundError as error:
        message = f"drawing needs {error.name}, which is not installed"
        raise LoopsatError("no-drawing", message, help="pip install 'loopsat[draw]'") from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot write to {folder}: {error.strerror}"
        raise LoopsatError("unwritable", message, help="choose a folder you may write to") from error
    return cast(_Drawing, module)


# Tables --------------------------------------------------------------------------------------------------------------


def _show(console: Console, title: str, bounds: Bounds) -> None:
    console.print(Text(f"{title}: stages", style="bold"))
    console.print(_table(("stage", "attach path", "variable", "range", "extent"), stage_rows(bounds)))
    console.print(Text(f"{title}: buffers", style="bold"))
    columns = ("buffer", "consumer", "requested", "elements", "computed in vain", "allocation")
    console.print(_table(columns, buffer_rows(bounds)))


def _table(columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Table:
    table = Table(*columns)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def stage_rows(bounds: Bounds) -> Iterator[tuple[str, ...]]:
    """Stage, attach path, variable, range and extent, a line for each variable; repetitions are left blank.

    Block axes that only rename a loop variable are left out.
    """
    for stage in bounds.stages:
        head = (stage.name, _path(stage.attach_path))
        own = {loop.name for loop in stage.loops}
        axes = (a for a in stage.axes if not (isinstance(a.value, Var) and a.value.name in own))
        for variable in (*stage.loops, *axes):
            yield (*head, variable.name, *_range(variable.range))
            head = ("", "")
        if head[0]:
            yield (*head, "", "", "")


def _range(found: Range | None) -> tuple[str, str]:
    if found is None:
        return "not affine", "?"
    return f"{'' if found.exact else 'within '}{found}", to_script(found.extent)


def buffer_rows(bounds: Bounds) -> Iterator[tuple[str, ...]]:
    """Buffer, consumer, requested region, its number of elements, elements computed in vain, allocation."""
    for buffer in bounds.buffers:
        vain = "" if buffer.overcompute is None or not buffer.producers else _number(buffer.overcompute)
        tail = (vain, "parameter" if buffer.parameter else str(buffer.allocation))
        lines = [(_consumer(r.consumer, r.relative_to), _part(r.part), _number(r.part)) for r in buffer.requests]
        if len(lines) > 1:
            lines.append(("all", _part(buffer.requested), _number(buffer.requested)))
        for k, line in enumerate(lines or [("", "nothing", "0")]):
            yield (buffer.name if k == 0 else "", *line, *(tail if k == 0 else ("", "")))


def _consumer(name: str, relative_to: tuple[str, ...]) -> str:
    return f"{name} at {_path(relative_to)}" if relative_to else name


def _path(loops: tuple[str, ...]) -> str:
    return f"{{{', '.join(loops)}}}"


def _part(part: Part) -> str:
    return str(part) if part.exact else f"within {part}"


def _number(part: Part) -> str:
    about = "" if part.exact else "about "
    if part.elements is not None:
        return f"{about}{to_script(part.elements)}"
    if part.counts is None:
        return "?"
    least, most = part.counts
    return f"{about}{least} to {most}"
