"""What loops of plain Python programs run over: a number of items, and the item in each step.

Ranges, arrays, `enumerate`, `zip` and `reversed` are all that, so that they nest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.nodes import Buffer, Expr, Let, seq
from ir.script.plain import hints
from ir.script.plain.arrays import Array, Elementwise, Indices, Selection, View, is_number, same
from ir.script.plain.calls import call, turned
from ir.script.plain.expressions import Evaluator
from ir.script.plain.frames import Named, Value, shown
from ir.script.plain.library import names as library
from ir.script.plain.library.arranged import size_of, unflat
from ir.script.plain.library.dictionaries import dictionary_of, keys_of
from ir.script.plain.library.ragged import ragged_of, row
from ir.script.plain.library.selected import compacted
from ir.script.plain.loops.counting import HINT, Counting, Steps
from ir.script.plain.promotion import Interval, Number, Weak, expr_of, interval_of
from ir.script.plain.tuples import MAX_ITEMS, nested
from ir.traverse import has_loads, loads, stmt_exprs, walk

_RANGES = ("range", "loopsat.prange")


class Items(Struct, frozen=True, eq=False):
    """`count` items, of which `item` gives that for a value of the loop's variable, which starts at `first`."""

    count: Number
    item: Callable[[Number], Value]
    reach: Interval  # between which numbers the variable lies
    first: Number = 0
    variable: tuple[int, ...] | None = None  # where in an item the variable itself stands
    listed: bool = False  # whether each item is of its own kind, so that all steps are written out
    ordered: bool = True  # whether it has an order that `reversed` turns around
    fixed: frozenset[Buffer] = frozenset()  # what the loop must not store to, for the number of items to stay


class Iterables(Struct, frozen=True):
    """Reads what a loop runs over."""

    read: Evaluator
    settled: Callable[[Value, ast.AST], Value]  # a value that later stores do not change

    def of(self, node: ast.expr) -> Items:
        """The items of an expression."""
        if isinstance(node, Counting):
            return self._counting(node)
        if isinstance(node, Steps):
            return self._numbers(0, self._bound(node.limit, "a number of steps is an integer"), 1, node)
        name = self._called(node) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and name is not None:
            if name == "zip" and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
                found = turned(self.read, node.args[0].value, node)
                assert isinstance(found, tuple)
                return Items(len(found), lambda k: found[_known(k)], (0, len(found) - 1), listed=True)
            if name != "np.ndindex" and any(isinstance(a, ast.Starred) for a in node.args):
                raise self.read.error("arguments", f"{name} is called with stars", node, "write out each argument")
            match name:
                case "enumerate":
                    return self._enumerate(node)
                case "zip":
                    return self._zip(node)
                case "np.ndindex" | "np.ndenumerate":
                    return self._places(node, name == "np.ndenumerate")
                case "reversed":
                    if len(node.args) != 1 or node.keywords:
                        raise self.read.error("arguments", "reversed takes a range or an array", node)
                    return self._reversed(node.args[0], node)
                case _:
                    return self._range(node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call) and self._called(node.value) in _RANGES:
            if ast.unparse(node.slice) == "::-1":
                return self._reversed(node.value, node)
            hint = "give the range other bounds"
            raise self.read.error("unsupported", f"`{shown(node)}` is a part of a range", node, hint)
        return self._value(node)

    def step(self, items: Items, k: Number, node: ast.AST) -> Value:
        """The item in step `k`, counted from zero."""
        return items.item(k if same(items.first, 0) else self.read.numbers.binary("add", items.first, k, node))

    def _called(self, node: ast.Call) -> str | None:
        """Which of the functions that make iterables is called, if any."""
        if isinstance(node.func, ast.Attribute):
            owner = self.read.value(node.func.value)
            if isinstance(owner, (View, Elementwise)):
                return None
        found = self.read.value(node.func)
        name = library.qualified(found.value) if isinstance(found, Named) else None
        return name if name in (*_RANGES, *library.ITERABLES) else None

    # Values ----------------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Items:
        if (array := self._listed(node)) is not None:
            return self._array(array, node)
        found = call(self.read, node, True) if isinstance(node, ast.Call) else self.read.value(node)
        if (keyed := dictionary_of(found)) is not None:
            found = keys_of(self.read, keyed, node)
        if isinstance(found, Named) and isinstance(found.value, str):
            found = tuple(Named(part) for part in found.value)
        if (lists := ragged_of(found)) is not None:
            return Items(lists.count, lambda k: row(self.read, lists, k, node), (0, lists.count - 1))
        if isinstance(found, tuple):
            if len(found) <= MAX_ITEMS:
                return Items(len(found), lambda k: found[_known(k)], (0, len(found) - 1), listed=True)
            message = f"`{shown(node)}` has {len(found)} items, which would be written out one after the other"
            raise self.read.error("unsupported", message, node, "make an array of them, as in np.array(...)")
        if isinstance(found, Selection):
            found = compacted(self.read, found, node)
        if isinstance(found, (View, Elementwise)) and found.shape:
            array = self.settled(found, node)
            assert isinstance(array, (View, Elementwise))
            return self._array(array, node)
        what = "a number" if is_number(found) or isinstance(found, (View, Elementwise)) else "neither range nor array"
        text = hints.of_text(found.value) if isinstance(found, Named) else ""
        hint = text or "loop over range(n), or over an array"
        raise self.read.error("unsupported", f"`{shown(node)}` is {what}, not a range", node, hint)

    def _listed(self, node: ast.expr) -> Array | None:
        """The array whose items a list has, as it is before the loop."""
        match node:
            case ast.Call(func=ast.Name(id="list") as function, args=[given], keywords=[]):
                if (lists := nested(self.read, node)) is not None:
                    return lists
                called, array = self.read.value(function), self.read.value(given)
                builtin = isinstance(called, Named) and called.value is list
                if builtin and isinstance(array, (View, Elementwise)) and array.shape:
                    own = self.read.caller.copied(array, node) if isinstance(array, View) else array
                    found = self.settled(own, node)
                    assert isinstance(found, (View, Elementwise))
                    return found
            case _:
                pass
        return None

    def _array(self, array: Array, node: ast.expr) -> Items:
        return Items(array.shape[0], lambda k: self.read.row(array, k, node), _steps(array.shape[0]))

    # Numbers ---------------------------------------------------------------------------------------------------------

    def _range(self, node: ast.Call) -> Items:
        if node.keywords or not 1 <= len(node.args) <= 3:
            raise self.read.error("arguments", "range takes one to three numbers", node)
        numbers = [self._bound(a) for a in node.args]
        step = numbers[2] if len(numbers) == 3 else 1
        if not (interval_of(step)[0] or 0) > 0 and not (isinstance(step, int) and step < 0):
            hint = "write `for k in range((stop - start + step - 1) // step)`, and start + k * step"
            raise self.read.error("range", "the sign of a range's step is not known", node, hint)
        start, stop = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
        return self._numbers(start, stop, step, node)

    def numbers_in(self, node: ast.Call) -> Array:
        """A range as an array."""
        items, numbers = self._range(node), self.read.numbers
        some = numbers.binary("max", items.count, 0, node)

        def element(indices: Indices) -> Number:
            found = self.step(items, indices[0], node)
            assert is_number(found)
            return found  # pyright: ignore[reportReturnType]

        return Elementwise((some,), element)

    def _bound(self, node: ast.expr, wanted: str = "a range is of integers") -> Number:
        value = self.read.number(node)
        if not self.read.numbers.dtype_of(value).is_integer:
            kind = self.read.numbers.dtype_of(value)
            hint = "convert it with int(...)"
            raise self.read.error("dtype-mismatch", f"{wanted}, found {kind}", node, hint)
        return self._fixed(value, node)

    def _fixed(self, value: Number, node: ast.expr) -> Number:
        """A Python int that is worked out once, before the first step."""
        self.read.needs_value(value)
        expr = expr_of(value)
        if expr is not None and has_loads(expr):
            value = self.read.program.frozen("bound", value, self.read.source.span(node))
        if isinstance(value, Expr):  # of a range, Python makes ints
            value = self.read.numbers.integer(value, node)
        return value

    def _numbers(self, start: Number, stop: Number, step: Number, node: ast.AST) -> Items:
        numbers = self.read.numbers
        falls = isinstance(step, int) and step < 0
        up, down = (stop, start) if falls else (start, stop)
        count: Number = numbers.binary("sub", down, up, node) if not same(up, 0) else down
        if not (isinstance(step, int) and abs(step) == 1):
            stride = -step if isinstance(step, int) and falls else step
            more = numbers.binary("sub", stride, 1, node)
            count = numbers.binary("floordiv", numbers.binary("add", count, more, node), stride, node)
        low, high = _reach(start, stop, falls)

        def within(value: Number) -> Number:
            return replace(value, low=low, high=high) if isinstance(value, Weak) else value

        if isinstance(step, int) and step == 1:
            return Items(count, within, (low, high), start, ())

        size = -step if isinstance(step, int) and falls else step

        def moved(k: Number) -> Number:
            by = k if same(size, 1) else numbers.binary("mul", k, size, node)
            return within(numbers.binary("sub" if falls else "add", start, by, node))

        return Items(count, moved, _steps(count))

    # Counters of `while` ---------------------------------------------------------------------------------------------

    def _counting(self, node: Counting) -> Items:
        start, stop, fixed = self._ends(node)
        return replace(self._numbers(start, stop, node.step, node), fixed=fixed)

    def _ends(self, node: Counting) -> tuple[Number, Number, frozenset[Buffer]]:
        """First value and bound of a counter, and what the bound is read from."""
        values = [self.read.number(node.start)]
        lines = self.read.program.lines
        done, wraps = len(lines.done), len(lines.wraps)
        values.append(self.read.number(node.stop))
        for value, part in zip(values, (node.start, node.stop), strict=True):
            kind = self.read.numbers.dtype_of(value)
            if not kind.is_integer or (part is node.start and isinstance(value, Expr)):
                message = f"`{node.text}` is not supported: `{shown(part)}` is {kind}, and no Python int"
                raise self.read.error("unsupported", message, node, HINT)
        parts = [e for e in map(expr_of, values[1:]) if e is not None]
        parts += [w.value for _, w in lines.wraps[wraps:] if isinstance(w, Let)]
        parts += [e for s in walk(seq(*lines.done[done:])) for e in stmt_exprs(s)]
        fixed = frozenset(load.buffer for part in parts for load in loads(part))
        return self._fixed(values[0], node.start), self._fixed(values[1], node.stop), fixed

    def after(self, node: Counting) -> Number:
        """What a counter is after its loop."""
        numbers = self.read.numbers
        start, stop, _ = self._ends(node)
        falls = node.step < 0
        low, high = (stop, start) if falls else (start, stop)
        if self._at_most(high, low):
            return start
        if abs(node.step) == 1 and self._at_most(low, high):
            return stop
        if abs(node.step) == 1:
            return numbers.binary("min" if falls else "max", start, stop, node)
        count = numbers.binary("max", self._numbers(start, stop, node.step, node).count, 0, node)
        return numbers.binary("add", start, numbers.binary("mul", count, node.step, node), node)

    # Iterables of iterables ------------------------------------------------------------------------------------------

    def _enumerate(self, node: ast.Call) -> Items:
        named = [k.value for k in node.keywords if k.arg == "start"]
        if not node.args or len(node.args) + len(named) > 2 or len(named) < len(node.keywords):
            raise self.read.error("arguments", "enumerate takes what it counts, and where it starts", node)
        inner = self.of(node.args[0])
        start = next((self._bound(n) for n in (*node.args[1:], *named)), 0)
        zero = same(start, 0)

        def item(k: Number) -> Value:
            place = k if zero else self.read.numbers.binary("add", start, k, node)
            return place, self.step(inner, k, node)

        variable = (0,) if zero else None
        return replace(inner, item=item, first=0, reach=_steps(inner.count), variable=variable, ordered=False)

    def _zip(self, node: ast.Call) -> Items:
        strict = any(k.arg == "strict" and self.read.condition(k.value) is not False for k in node.keywords)
        if not node.args or any(k.arg != "strict" for k in node.keywords):
            raise self.read.error("arguments", "zip takes what it runs over", node)
        parts = [self.of(a) for a in node.args]
        counts = [p.count for p in parts]
        if strict and not all(same(c, counts[0]) for c in counts):
            raise self.read.error("shape", "what zip runs over is not known to be of the same length", node)
        count = self._least(counts, node)
        listed = any(p.listed for p in parts)
        if listed and (not isinstance(count, int) or count > MAX_ITEMS):
            hint = "make an array of the items that are written out, as in np.array(...)"
            raise self.read.error("unsupported", "a tuple runs beside more items than can be written out", node, hint)
        if all(same(p.first, parts[0].first) for p in parts):
            lows, highs = zip(*(p.reach for p in parts), strict=True)
            low = max((v for v in lows if v is not None), default=None)
            reach = low, min((v for v in highs if v is not None), default=None)
            variable = next(((k, *p.variable) for k, p in enumerate(parts) if p.variable is not None), None)
            found = Items(count, lambda v: tuple(p.item(v) for p in parts), reach, parts[0].first, variable)
        else:
            found = Items(count, lambda k: tuple(self.step(p, k, node) for p in parts), _steps(count))
        return replace(found, listed=listed, ordered=False)

    def _least(self, counts: Sequence[Number], node: ast.AST) -> Number:
        found = counts[0]
        for other in counts[1:]:
            if self._at_most(found, other):
                continue
            found = other if self._at_most(other, found) else self.read.numbers.binary("min", found, other, node)
        return found

    def _places(self, node: ast.Call, with_elements: bool) -> Items:
        """`np.ndindex` and `np.ndenumerate`: the indices of all elements in the order of rows."""
        given = [*self.read.items(node.args, self.read.value)]
        array = self.settled(given[0], node) if with_elements and len(given) == 1 else None
        if node.keywords or not given or (with_elements and not isinstance(array, (View, Elementwise))):
            raise self.read.error("arguments", "np.ndindex takes a shape, np.ndenumerate an array", node)
        sizes = given[0] if len(given) == 1 and isinstance(given[0], tuple) else tuple(given)
        shape = array.shape if isinstance(array, (View, Elementwise)) else tuple(map(self._size(node), sizes))
        count = size_of(self.read, shape, node)

        def item(k: Number) -> Value:
            place = unflat(self.read, shape, k, node)
            return (place, self.read.element(array, place, node)) if isinstance(array, (View, Elementwise)) else place

        return Items(count, item, _steps(count))

    def _size(self, node: ast.Call) -> Callable[[Value], Number]:
        return lambda value: self._fixed(self.read.as_number(value, node), node)

    def _reversed(self, iterable: ast.expr, node: ast.expr) -> Items:
        inner = self.of(iterable)
        if not inner.ordered:
            message = f"`{shown(iterable)}` cannot be reversed, in Python either"
            raise self.read.error("arguments", message, node, "reverse each array, as in zip(x[::-1], y[::-1])")
        numbers = self.read.numbers
        last = numbers.binary("sub", inner.count, 1, node)
        reach = _steps(inner.count)

        def item(k: Number) -> Value:
            back = numbers.binary("sub", last, k, node)
            back = replace(back, low=reach[0], high=reach[1]) if isinstance(back, Weak) else back
            return self.step(inner, back, node)

        return replace(inner, item=item, first=0, reach=reach, variable=None)

    def _at_most(self, a: Number, b: Number) -> bool:
        return same(a, b) or self.read.program.at_most(a, b, self.read.numbers.typer)


def _known(k: Number) -> int:
    assert isinstance(k, int)
    return k


def _steps(count: Number) -> Interval:
    """Between which numbers those of the steps lie."""
    high = interval_of(count)[1]
    return 0, None if high is None else max(high - 1, 0)


def _reach(start: Number, stop: Number, falls: bool) -> Interval:
    """Between which numbers the variable of a range lies."""
    if not falls:
        high = interval_of(stop)[1]
        return interval_of(start)[0], None if high is None else high - 1
    low = interval_of(stop)[0]
    return None if low is None else low + 1, interval_of(start)[1]


def named_by(target: ast.expr, place: tuple[int, ...] | None) -> str:
    """What the variable of a loop is called: as the name that stands for it, if one does."""
    if place is None:
        return "i"
    for k in place:
        if not isinstance(target, (ast.Tuple, ast.List)) or k >= len(target.elts):
            return "i"
        target = target.elts[k]
    return target.id if isinstance(target, ast.Name) else "i"
