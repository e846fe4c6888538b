"""Arrays that are one in Python, and several buffers here: names that branches and loops change stand for copies.

As long as nobody stores to any of them, nobody can tell.
"""

from __future__ import annotations

from msgspec import Struct, field

from ir.errors import ParseError, Span
from ir.nodes import Buffer

Loops = tuple[int, ...]  # around a statement, each with a number of its own


class _Event(Struct, frozen=True):
    """Something that happens to a buffer: where among all events, and within which loops."""

    at: int
    loops: Loops


class _Copy(Struct, frozen=True):
    """A name stands for `into` from then on where Python has `array`, which others may see, too, if it is `shared`.

    Results have no name.
    """

    event: _Event
    name: str
    array: Buffer
    into: Buffer
    shared: bool


class _Stored(Struct, frozen=True):
    event: _Event
    buffer: Buffer
    span: Span | None


class Sharing(Struct):
    """What was copied for names, and what was stored, in the order of a program."""

    born: dict[Buffer, Loops] = field(default_factory=lambda: dict[Buffer, Loops]())  # with the loops around
    copies: list[_Copy] = field(default_factory=lambda: list[_Copy]())
    stores: list[_Stored] = field(default_factory=lambda: list[_Stored]())
    renaming: bool = False  # whether a store is that of a name, which stands for another array from then on
    _events: int = 0

    def copy(self, name: str, array: Buffer, into: Buffer, loops: Loops, *, shared: bool) -> None:
        self.copies.append(_Copy(self._event(loops), name, array, into, shared))

    def store(self, buffer: Buffer, loops: Loops, span: Span | None) -> None:
        """Elements of a buffer change."""
        if buffer.shape and not self.renaming:
            self.stores.append(_Stored(self._event(loops), buffer, span))

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
            for name, since in shared.get(store.buffer, ()):
                if self._follows(store.event, since, store.buffer):
                    what = f"`{name}` may stand for" if name else "a function may return"
                    message = f"elements change of an array that {what}, and that other names may stand for too"
                    place = f"copy it where `{name}` is given the array, as in {name} = x.copy()"
                    hint = place if name else "return a copy, as in return x.copy()"
                    raise ParseError("rebinding", message, store.span, help=hint)

    def _shared(self) -> dict[Buffer, list[tuple[str, _Event]]]:
        """Buffers that are one of several, since when, and for which name."""
        found: dict[Buffer, list[tuple[str, _Event]]] = {}
        known: set[int] = set()
        grows = True
        while grows:
            grows = False
            for copy in self.copies:
                since = found.get(copy.array, ())
                if copy.event.at in known or not (
                    copy.shared or any(self._follows(copy.event, event, copy.array) for _, event in since)
                ):
                    continue
                grows = True
                known.add(copy.event.at)
                for buffer in (copy.array, copy.into):
                    found.setdefault(buffer, []).append((copy.name, copy.event))
        return found

    def _follows(self, event: _Event, since: _Event, buffer: Buffer) -> bool:
        """Whether an event may come after another one: later in the program, or in the next step of a common loop."""
        again = set(event.loops).intersection(since.loops).difference(self.born.get(buffer, ()))
        return event.at > since.at or bool(again)
