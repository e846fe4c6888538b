"""The errors that users see. Owns their form: what failed, where, found versus needed, what to do."""

from __future__ import annotations

import traceback
from difflib import get_close_matches
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType


class Span(Struct, frozen=True):
    """A place in a source file: 1-based lines, 0-based columns, end exclusive; `text` is the first source line."""

    file: str
    line: int
    column: int
    end_column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"


class LoopsatError(Exception):
    """Base of every error a user can cause.

    `code` is a short stable name (`store-out-of-bounds`), `message` one sentence, `span` the place or None, `notes`
    what was known, `help` what to do. `str(error)` is the full diagnostic with the source line and a caret.
    """

    def __init__(
        self, code: str, message: str, span: Span | None = None, *, notes: Iterable[str] = (), help: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.notes = tuple(notes)
        self.help = help

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}"]
        if self.span is not None:
            lines.append(f"  --> {self.span}")
            if self.span.text:
                number = str(self.span.line)
                width = max(1, min(self.span.end_column, len(self.span.text)) - self.span.column)
                lines.append(f"  {number} | {self.span.text}")
                lines.append(f"  {' ' * len(number)} | {' ' * self.span.column}{'^' * width}")
        lines += [f"note: {note}" for note in self.notes]
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What IPython and notebooks print: the lines of the user that led here, and the diagnostic.

        The frames of these packages, of what they call and of IPython itself say nothing to who wrote the kernel.
        """
        frames = list(traceback.walk_tb(self.__traceback__))
        ours = next((k for k, (frame, _) in enumerate(frames) if _package(frame) in _PACKAGES), len(frames))
        users = (pair for pair in frames[:ours] if _package(pair[0]) != "IPython")
        lines = traceback.StackSummary.extract(users).format()
        return [*(line.rstrip("\n") for line in lines), f"{type(self).__name__}: {self}"]


_PACKAGES = ("ir", "egraph_rules", "lower", "loopsat")


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


class ParseError(LoopsatError, ValueError):
    """The text is not a program of the dialect."""


class VerifyError(LoopsatError):
    """The program has no meaning: types, shapes, names, undef or bounds are wrong."""


class InterpretError(LoopsatError):
    """A fault at run time: a store out of bounds, division by zero, overflow, a failed assert or assumption."""


class InterpretTypeError(InterpretError, TypeError):
    """Arguments of a wrong number, name or type."""


class InterpretValueError(InterpretError, ValueError):
    """Arguments of a wrong shape or value."""


class KindError(LoopsatError, TypeError):
    """A value of a kind that a function does not take."""


class ScheduleError(LoopsatError):
    """A schedule step does not apply."""


class RuleError(LoopsatError):
    """A rule is malformed or refuted."""


class LowerError(LoopsatError):
    """A kernel cannot be built or called as asked."""


class LowerTypeError(LowerError, TypeError):
    """Arguments of a wrong number, name or type."""


class LowerValueError(LowerError, ValueError):
    """Arguments of a wrong shape or value."""


class DifferenceError(LoopsatError, AssertionError):
    """A check found that two programs, or a kernel and its program, do not do the same."""


class OptionError(LoopsatError, ValueError):
    """An option has a value that it cannot have."""


def expect(value: object, kinds: type | tuple[type, ...], what: str, help: str = "") -> None:
    """Refuse a value that is of none of these kinds; `what` says which value of which kind is expected.

    Raises:
        KindError: it is of another kind.
    """
    __tracebackhide__ = True  # pytest shows where it is called
    if not isinstance(value, kinds):
        raise KindError("arguments", f"{what}, found {type(value).__name__}", help=help)


def suggest(name: object, known: Iterable[str]) -> str:
    """A `did you mean` phrase for the nearest of `known`, in whatever case, or the empty string."""
    names = [str(k) for k in known]
    lower = {n.lower(): n for n in reversed(names)}
    near = get_close_matches(str(name), names, n=1)
    near = near or [lower[n] for n in get_close_matches(str(name).lower(), list(lower), n=1)]
    return f"did you mean `{near[0]}`?" if near else ""
