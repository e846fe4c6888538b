"""Arrays that are one in Python, and several buffers here: names that branches and loops change stand for copies.

As long as nobody stores to any of them, nobody can tell.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct, field

from ir.errors import ParseError, Span
from ir.nodes import Buffer

Loops = tuple[int, ...]  # around a statement, each with a number of its own
Change = Literal["elements", "items", "names"]  # of an array; which arrays a list has; what a name stands for


class _Event(Struct, frozen=True):
    """Something that happens to a buffer: where among all events, and within which loops."""

    at: int
    loops: Loops


class _Copy(Struct, frozen=True):
    """A name stands for `into` from then on where Python has `array`, which others may see, too, if it is `shared`.

    Results have no name. One of the two may be a list of which the other is an item: then it is called by its name.
    """

    event: _Event
    name: str
    array: Buffer
    into: Buffer
    shared: bool
    whole: Buffer | None = None  # the list, if one is an item of the other

    def said(self) -> tuple[str, str]:
        """What a store would change too, and how to make an array of its own."""
        if self.whole is not None:
            append = f"append a copy, as in {self.name}.append(x.copy())"
            return f"that is an item of `{self.name}`, and that other names may stand for too", append
        if self.name:
            copy = f"copy it where `{self.name}` is given the array, as in {self.name} = x.copy()"
            return f"that `{self.name}` may stand for, and that other names may stand for too", copy
        return (
            "that a function may return, and that other names may stand for too",
            "return a copy, as in return x.copy()",
        )


class _Stored(Struct, frozen=True):
    event: _Event
    buffer: Buffer
    span: Span | None
    items: bool  # whether only which items a list has changes
    anew: _Event | None = None  # since when it is another list than before, whenever this is stored


class Sharing(Struct):
    """What was copied for names, and what was stored, in the order of a program."""

    born: dict[Buffer, Loops] = field(default_factory=lambda: dict[Buffer, Loops]())  # with the loops around
    copies: list[_Copy] = field(default_factory=lambda: list[_Copy]())
    stores: list[_Stored] = field(default_factory=lambda: list[_Stored]())
    renewed: list[tuple[Buffer, _Event]] = field(default_factory=lambda: list[tuple[Buffer, _Event]]())
    _change: Change = "elements"
    _events: int = 0

    def copy(self, name: str, array: Buffer, into: Buffer, loops: Loops, *, shared: bool) -> None:
        self.copies.append(_Copy(self._event(loops), name, array, into, shared))

    def append(self, name: str, array: Buffer, items: Buffer, loops: Loops) -> None:
        """An array that others may see becomes an item of a list."""
        self.copies.append(_Copy(self._event(loops), name, array, items, True, items))

    def pop(self, name: str, items: Buffer, into: Buffer, loops: Loops) -> None:
        """An item of a list is taken out of it."""
        self.copies.append(_Copy(self._event(loops), name, items, into, False, items))

    @contextmanager
    def changing(self, what: Change) -> Generator[None]:
        """Stores change no elements of an array, but which ones a list has, or what a name stands for."""
        before, self._change = self._change, what
        yield
        self._change = before

    def store(self, buffer: Buffer, loops: Loops, span: Span | None) -> None:
        """Elements of a buffer change."""
        if buffer.shape and self._change != "names":
            anew = next((event for one, event in reversed(self.renewed) if one == buffer), None)
            self.stores.append(_Stored(self._event(loops), buffer, span, self._change == "items", anew))

    def renew(self, buffer: Buffer, loops: Loops) -> None:
        """A name stands for a new list, whose items are in the buffer of the one before; for the rest of statements
        that are being written, and those in them."""
        self.renewed.append((buffer, self._event(loops)))

    def _event(self, loops: Loops) -> _Event:
        self._events += 1
        return _Event(self._events, loops)

    def check(self) -> None:
        """Refuse a program in which it matters that there are several.

        Raises:
            ParseError: elements change of an array that a name and another one may stand for.
        """
        shared = self._shared()
        for store in self.stores:
            for copy in shared.get(store.buffer, ()):
                apart = (store.items and store.buffer == copy.whole) or self._renewed_since(store, copy.event)
                if not apart and self._follows(store.event, copy.event, store.buffer):
                    what, hint = copy.said()
                    raise ParseError("rebinding", f"elements change of an array {what}", store.span, help=hint)

    def _shared(self) -> dict[Buffer, list[_Copy]]:
        """Buffers that are one of several, with what has made them so."""
        found: dict[Buffer, list[_Copy]] = {}
        known: set[int] = set()
        grows = True
        while grows:
            grows = False
            for copy in self.copies:
                since = found.get(copy.array, ())
                if copy.event.at in known or not (
                    copy.shared or any(self._follows(copy.event, other.event, copy.array) for other in since)
                ):
                    continue
                grows = True
                known.add(copy.event.at)
                for buffer in (copy.array, copy.into):
                    found.setdefault(buffer, []).append(copy)
        return found

    def _renewed_since(self, store: _Stored, since: _Event) -> bool:
        """Whether a list is another one whenever a store follows an event."""
        if store.anew is None or store.anew.at < since.at < store.event.at:
            return False
        return self._common_loops(store.event, since, store.buffer) <= {*store.anew.loops}

    def _follows(self, event: _Event, since: _Event, buffer: Buffer) -> bool:
        """Whether an event may come after another one: later in the program, or in the next step of a common loop."""
        return event.at > since.at or bool(self._common_loops(event, since, buffer))

    def _common_loops(self, event: _Event, since: _Event, buffer: Buffer) -> set[int]:
        """Loops in the next step of which an event may come after another one."""
        return set(event.loops).intersection(since.loops).difference(self.born.get(buffer, ()))
