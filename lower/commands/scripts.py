"""Running the Python scripts of users: their global names, and the rules that they register."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path

from egraph_rules.rules.registry import registered_rules
from ir.errors import LoopsatError, Span
from lower.commands.cli import read_text


def execute(path: Path) -> Mapping[str, object]:
    """Run a Python script, as `python path` would, and return its global names.

    Raises:
        LoopsatError: it cannot be read or compiled, or fails; the error names the place in the script.
    """
    text = read_text(path)
    names: dict[str, object] = {"__name__": "__main__", "__file__": str(path), "__builtins__": __builtins__}
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[0:0] = [str(path)], [str(path.resolve().parent)]
    try:
        exec(compile(text, str(path), "exec"), names)
    except LoopsatError as error:
        if error.span is None:
            error.span = _place(error, path)
        raise
    except SystemExit as stop:
        if stop.code not in (None, 0):
            message = f"the script ended with exit status {stop.code}"
            raise LoopsatError("script-failed", message, _place(stop, path)) from stop
    except Exception as error:  # whatever a user's script raises
        message = f"the script fails: {type(error).__name__}: {error}"
        help = f"run `python {path}` for Python's own account"
        raise LoopsatError("script-failed", message, _place(error, path), help=help) from error
    finally:
        sys.argv, sys.path[:] = before
    return names


def register_rules(paths: Iterable[Path]) -> None:
    """Run Python files that register rules.

    Raises:
        LoopsatError: one fails, a rule in it is refuted, or it registers none.
    """
    for path in paths:
        before = registered_rules()
        with redirect_stdout(sys.stderr):  # what the script prints is no part of the command's output
            execute(path)
        if registered_rules() == before:
            help = "call egraph_rules.register(rule) in it"
            raise LoopsatError("no-rule", f"{path} registers no rule that was not registered before", help=help)


def _place(error: BaseException, path: Path) -> Span | None:
    """Where in a script an error happened: the innermost of its lines on the stack."""
    if isinstance(error, SyntaxError) and error.filename == str(path) and error.lineno is not None:
        line, text = error.lineno, (error.text or "").rstrip("\n")
        return Span(str(path), line, max(0, (error.offset or 1) - 1), max(1, error.end_offset or 1), text)
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    if not lines or lines[-1].lineno is None:
        return None
    text = read_text(path).splitlines()[lines[-1].lineno - 1]
    return Span(str(path), lines[-1].lineno, len(text) - len(text.lstrip()), len(text.rstrip()), text)
