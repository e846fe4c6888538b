"""How values show themselves: `print`, `repr`, notebooks, `show()`; which nodes are equal.

Nodes are below the printer that knows their text, and to register it with them would set state at import. So they ask
for it by name when they are printed, here and nowhere else: imports stay without cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any, Protocol, cast

from ir.errors import LoopsatError
from ir.page import Page, Section, as_html, as_text

_WIDTH = 100  # of a `repr`, in characters


class Shown:
    """Base of what people look at. Subclasses say in `sections` what there is to see, and in `brief` what it is."""

    __slots__ = ()

    def sections(self) -> Iterator[Section]:
        """What there is to see."""
        raise NotImplementedError

    def brief(self) -> str:
        """What it is, in one line."""
        raise NotImplementedError

    def show(self) -> None:
        """Print it, in colours on a terminal."""
        page = Page()
        for section in self.sections():
            page.section(section)

    def __str__(self) -> str:
        return as_text(self.sections())

    def __repr__(self) -> str:
        try:
            text = " ".join(self.brief().split())
        except RecursionError:  # a debugger must be able to name what cannot be walked
            text = f"{type(self).__name__}, nested too deeply to be printed"
        return f"<{text if len(text) <= _WIDTH else text[: _WIDTH - 2] + ' …'}>"

    def _repr_html_(self) -> str:
        return as_html(self.sections())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What IPython and notebooks show: all of it, where `repr` is one line."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}


class _Printer(Protocol):
    def to_script(self, item: object) -> str: ...


def script(item: object) -> str:
    """The text of a node, as one writes it; of one that is nested too deeply, that it is."""
    try:
        return cast("_Printer", import_module("ir.printing.printer")).to_script(item).rstrip("\n")
    except LoopsatError as error:
        return f"... ({error.message})"


class Node(Shown):
    """Base of what has a text in the dialect; two are equal where all but their spans is."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        read = _but_span(type(self))
        return read(self) == read(other)

    __ne__ = object.__ne__  # what a Struct brings does not ask `__eq__`

    def __hash__(self) -> int:
        return hash(_but_span(type(self))(self))

    def sections(self) -> Iterator[Section]:
        """The text, as one writes it."""
        yield Section(code=str(self))

    def __str__(self) -> str:
        return script(self)


@cache
def _but_span(kind: type[Any]) -> Callable[[object], object]:
    """What reads all fields of a kind of node but where it was written."""
    return attrgetter(*(name for name in kind.__struct_fields__ if name != "span"))


def text_order(node: Node) -> tuple[str, str]:
    """A key to sort nodes by, the same in every run: their kind, then their text."""
    return type(node).__name__, script(node)


def counted(count: int, what: str, several: str = "") -> str:
    """A number of things: `1 step`, `2 steps`."""
    return f"{count} {what if count == 1 else several or f'{what}s'}"
