"""How many steps a `while` takes that states no bound: by trying its condition, or from what its body does."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from msgspec import Struct

from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Cast, Const, Expr, Stmt, Var
from ir.script.expressions import BINARY
from ir.script.plain.expressions import Evaluator
from ir.script.plain.frames import Cell
from ir.script.plain.loops.counting import Ending
from ir.script.plain.loops.iterables import Items
from ir.script.plain.loops.marking import counts_alone, without_increments
from ir.script.plain.loops.measures import Measure, measure
from ir.script.plain.program import Again, Key
from ir.script.plain.promotion import Number, Weak, expr_of, interval_of
from ir.script.plain.syntax.cells import names_of
from ir.traverse import ANY_STEPS, map_expr

_MAX_TRIED = 20_000  # steps of a counter for each of which a condition is looked at
_MAX_STEPS = 2**20  # of a bound that is a number


class Whiles(Struct, frozen=True):
    """Finds bounds for the `while` loops of one function."""

    read: Evaluator

    def decided(self, ending: Ending) -> bool:
        """Whether the condition of a loop is known before its first step."""
        names = names_of(ending.test)
        cells = [c for name in names if isinstance(c := self.read.frame.bindings.get(name), Cell)]
        if not all(self._known(cell) for cell in cells):
            return False
        return isinstance(self.read.condition(ending.test), bool)

    def left(self, ending: Ending) -> bool | None:
        """Whether a loop was left, where that is known."""
        found = [self._flag(name) for name in ending.flags]
        return True if True in found else None if None in found else False

    def _known(self, cell: Cell) -> bool:
        return isinstance(self.read.frame.held.get(cell.key), (bool, int, float))

    def _flag(self, name: str) -> bool | None:
        cell = self.read.frame.bindings[name]
        held = self.read.frame.held.get(cell.key) if isinstance(cell, Cell) else cell
        return held if isinstance(held, bool) else None

    def items(self) -> Items:
        """The steps of a loop before it is known how many they are."""
        steps = Var(self.read.program.fresh("steps"), DType.INT32)
        return Items(Weak(steps, 0), lambda k: k, (0, None), variable=())

    def entry(self) -> dict[Key, Number]:
        """What is known of cells before a loop."""
        return dict(self.read.frame.held)

    def steps(
        self, ending: Ending, body: Stmt, entry: Mapping[Key, Number], marked: Callable[[], Mapping[Buffer, int]]
    ) -> Number:
        """How many steps a loop takes at most whose body has been written.

        `marked` are counters of lists that go up so often at most, in all steps together.
        """
        tried = self._tried(ending, entry)
        if tried is not None:
            return tried
        cells = {c.buffer: c for c in self.read.frame.bindings.values() if isinstance(c, Cell) and c.buffer is not None}
        flags = frozenset(b for b, c in cells.items() if c.key[1] in ending.flags)

        def starts(buffer: Buffer) -> int | None:
            cell = cells.get(buffer)
            held = None if cell is None else entry.get(cell.key)
            for low in (1, 0):
                if held is not None and self.read.program.at_most(low, held, self.read.numbers.typer):
                    return low
            return None if buffer.dtype.is_signed else 0

        found = measure(body, flags, starts, self.read.program.facts)
        counts = [c for one in found if (c := self._count(one, cells, entry, ending)) is not None]
        count = min((c for c in counts if isinstance(c, int)), default=next(iter(counts), None))
        if count is None or (isinstance(count, int) and count > _MAX_STEPS):
            if self.read.program.learned.changed:  # cells are narrower here than they will be
                raise Again
            for counter, items in marked().items():
                # A step that appends nothing takes an item, of which there are so many at first, and `items` more. No
                # more than these append anything, whatever else they do.
                if not counts_alone(body, counter):
                    continue
                for one in measure(without_increments(body, counter), flags, starts, self.read.program.facts):
                    count = self._count(one, cells, entry, ending) if _is_of(one, counter) else None
                    if count is not None:
                        return self.read.numbers.binary("add", count, 2 * items, ending)
            for cell in cells.values():  # with the numbers of the call it may be decided step by step
                if cell.key in entry:
                    self.read.needs_value(entry[cell.key])
            self._needs_values(ending, entry)
            return ANY_STEPS
        return count

    def _needs_values(self, ending: Ending, entry: Mapping[Key, Number]) -> None:
        """Start again with the numbers that a condition has beside cells, if these are known before the loop."""
        bound = {name: self.read.frame.bindings.get(name) for name in names_of(ending.test)}
        held = [entry.get(c.key) for c in bound.values() if isinstance(c, Cell)]
        if held and all(isinstance(h, (bool, int, float)) for h in held):
            for value in bound.values():
                if isinstance(value, Weak):
                    self.read.needs_value(value)

    def _tried(self, ending: Ending, entry: Mapping[Key, Number]) -> int | None:
        """The number of steps of a counter, where a condition about it and numbers is the only end of a loop."""
        if ending.counter is None:
            return None
        name, by = ending.counter
        frame = self.read.frame
        cell = frame.bindings.get(name)
        start = entry.get(cell.key) if isinstance(cell, Cell) else None
        if not isinstance(cell, Cell) or type(start) is not int:
            return None
        after, frame.held = frame.held, dict(entry)
        changing = names_of(ending.test) - {name}
        others = [c for n in changing if isinstance(c := frame.bindings.get(n), Cell)]
        found = None
        if all(c.key in after and after[c.key] is entry.get(c.key) for c in others):
            for k in range(_MAX_TRIED):
                frame.held[cell.key] = start + k * by
                if (goes_on := self.read.condition(ending.test)) is not True:
                    found = k if goes_on is False else None
                    break
        frame.held = after
        return found

    def _count(
        self, found: Measure, cells: Mapping[Buffer, Cell], entry: Mapping[Key, Number], node: ast.expr
    ) -> Number | None:
        """The bound that a measure gives, worked out from what cells hold before the loop."""
        given: dict[Var, Number] = {}
        for var, buffer in found.cells.items():
            if buffer in cells:
                cell = cells[buffer]
                given[var] = entry[cell.key] if cell.key in entry else self.read.read(cell)
        numbers = self.read.numbers
        value = self._value(found.value, given, node)
        if found.kind != "falls":
            low, high = interval_of(value)
            known = found.kind == "halves" or (low is not None and low >= 0)
            bits = high.bit_length() if high is not None and known else numbers.dtype_of(value).bits
            return found.rounds * bits + found.more
        count = numbers.binary("add", value, found.more, node) if found.more else value
        if isinstance(count, int):
            return max(count, 0)
        return self.read.program.frozen("limit", count, self.read.source.span(node))

    def _value(self, expr: Expr, given: Mapping[Var, Number], node: ast.expr) -> Number:
        match expr:
            case Const(value=int() as value):
                return int(value)
            case Var() as var:
                return given.get(var, Weak(var))
            case Cast(operand=operand) if expr.dtype.is_integer and operand.dtype.is_integer:
                return self._value(operand, given, node)
            case Binary(op=op, lhs=a, rhs=b) if op in BINARY.values():
                return self.read.numbers.binary(op, self._value(a, given, node), self._value(b, given, node), node)
            case _:
                held = {var: e for var, number in given.items() if (e := expr_of(number)) is not None}
                return Weak(map_expr(expr, lambda e: held.get(e, e) if isinstance(e, Var) else e))


def _is_of(found: Measure, cell: Buffer) -> bool:
    """Whether a measure is what a cell holds."""
    value = found.value
    while isinstance(value, Cast):
        value = value.operand
    return found.kind == "falls" and isinstance(value, Var) and found.cells.get(value) == cell
