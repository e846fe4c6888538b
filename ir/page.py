"""What is shown to people: sections of title, code and lines. Owns the look on terminals, in text, in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable
from textwrap import TextWrapper
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
        """Lines of prose; those that are longer than a terminal is wide go on below."""
        say(self.console, text)

    def code(self, text: str) -> None:
        """A program."""
        if self.console.is_terminal:
            from rich.syntax import Syntax

            self.console.print(Syntax(text.rstrip(), "python", background_color="default"))
        else:
            self.console.print(text.rstrip(), markup=False)


def say(console: Console, text: str, head: str = "", style: str | None = None) -> None:
    """Print prose after a head: as it stands, but on a terminal no line is longer than that is wide."""
    for line in text.split("\n"):
        bare = line.lstrip(" ")
        indent = len(head) or len(line) - len(bare) + (2 if bare.startswith("- ") else 4)
        parts = [head + line]
        if console.is_terminal or head:
            wrapper = TextWrapper(max(console.width, indent + 20), subsequent_indent=" " * indent,
                                  break_long_words=False, break_on_hyphens=False)  # fmt: skip
            parts = wrapper.wrap(head + line) or [""]
        for part in parts:
            console.print(part, markup=False, style=style)
        head = " " * len(head)


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
