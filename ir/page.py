"""What is shown to people: sections of title, code and lines. Owns the look on terminals, in text, in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from rich.console import Console


class Section(Struct, frozen=True):
    """A title, a program and lines on it; each may be empty."""

    title: str = ""
    code: str = ""
    lines: tuple[str, ...] = ()


class Page:
    """Prints on a console: in colours on a terminal, plainly elsewhere."""

    def __init__(self, console: Console | None = None) -> None:
        # rich takes longer to load than small programs run, and is needed where something is printed
        from rich.console import Console

        self.console = Console(highlight=False, soft_wrap=True) if console is None else console

    def section(self, section: Section) -> None:
        """A section as a whole."""
        if section.title:
            self.title(section.title)
        if section.code:
            self.code(section.code)
        for line in section.lines:
            self.line(line)

    def title(self, text: str) -> None:
        """The head of a section."""
        if self.console.is_terminal:
            self.console.print()
            self.console.print(text, style="bold", markup=False)
        else:
            self.line(f"\n== {text}")

    def line(self, text: str) -> None:
        """A line as it stands."""
        self.console.print(text, markup=False)

    def code(self, text: str) -> None:
        """A program."""
        if self.console.is_terminal:
            from rich.syntax import Syntax

            self.console.print(Syntax(text.rstrip(), "python", background_color="default"))
        else:
            self.line(text.rstrip())


def as_text(sections: Iterable[Section]) -> str:
    """Sections as plain text, as a page prints them where nobody watches."""
    blocks: list[str] = []
    for section in sections:
        title = [f"== {section.title}"] if section.title else []
        code = [section.code.rstrip()] if section.code else []
        blocks.append("\n".join([*title, *code, *section.lines]))
    return "\n\n".join(blocks)


def as_html(sections: Iterable[Section]) -> str:
    """Sections as HTML for a notebook, which has colours of its own: ours are of code only."""
    found: list[str] = []
    for section in sections:
        if section.title:
            found.append(f"<h4>{html.escape(section.title)}</h4>")
        if section.code:
            found.append(_highlighted(section.code))
        if section.lines:
            found.append("<pre>" + html.escape("\n".join(section.lines)) + "</pre>")
    return f"<div>{''.join(found)}</div>"


def _highlighted(code: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    # plain names have the colour of the page in this style, so that it can be read on white and on black
    return highlight(code.rstrip(), PythonLexer(), HtmlFormatter(noclasses=True, nobackground=True, style="default"))
