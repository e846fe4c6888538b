"""Comprehensions of plain Python programs: what is worked out over their items, and arrays of them.

Their names are their own. Each is written as loops, before the statement that it stands in; where an expression looks
at it under a condition, the loops stand under that condition too.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import SKIP, Assert, Binary, Buffer, Const, Expr, For, If, Store, Var, const
from ir.script.plain import hints
from ir.script.plain.arrays import Array, Elementwise, Indices, View, is_number, same, whole
from ir.script.plain.comparisons import ordered_tuples
from ir.script.plain.expressions import Evaluator
from ir.script.plain.frames import Cell, Comprehension, Value, shown
from ir.script.plain.loops.iterables import Items, Iterables
from ir.script.plain.program import Again, CellType, Key, Stands, kept_in
from ir.script.plain.promotion import Number, Weak, expr_of, interval_of
from ir.script.plain.stores import ArrayStores
from ir.script.plain.syntax.lists import Listed, depth, is_list
from ir.script.plain.tuples import (
    MAX_ITEMS,
    Record,
    check_new_item,
    check_own_rows,
    depth_of,
    items_kind,
    nested,
    of_tuple,
    stands_for_list,
)
from ir.script.plain.tuples import Items as WrittenOut
from ir.traverse import can_fault, free_vars, stmt_exprs, walk

_Place = tuple[Number, Number]  # of an item of one `for`: which one, counted from zero, and how many there are
_Body = Callable[[Sequence[_Place]], None]
_STARTS: dict[str, bool | int] = {"sum": 0, "prod": 1, "any": False, "all": True}


class Comprehensions(Struct, frozen=True):
    """Writes the loops of comprehensions in one function."""

    read: Evaluator
    arrays: ArrayStores
    iterables: Iterables
    bind: Callable[[ast.expr, Value, ast.AST], None]  # gives the names of a target their values

    # Numbers ---------------------------------------------------------------------------------------------------------

    def fold(
        self, name: str, node: Comprehension, place: ast.AST, start: Number | None = None, default: Number | None = None
    ) -> Number:
        """`sum`, `prod`, `min`, `max`, `any` or `all` of what a comprehension gives.

        `sum` begins with `start`; `default` is the least or greatest of nothing, of which there is none otherwise.
        """
        key = self.key(name, place)
        if name in ("min", "max"):
            return self._extremum(name, node, place, key, default)
        begin = _STARTS[name] if start is None else start
        kind = self.learn(key, begin, place)
        cell = self.cell(name, key, kind, place)
        with self.read.program.guarded(self.read.source.span(place)):
            self.store(cell, begin, place)
            self._over(node.generators, (), lambda _: self.store(cell, self._next(name, cell, node.elt), place))
        return self.read.read(cell)

    def _next(self, name: str, cell: Cell, node: ast.expr) -> Number:
        """What a sum or truth becomes with one more item."""
        numbers, program = self.read.numbers, self.read.program
        old = self.read.read(cell)
        if name in ("sum", "prod"):
            return numbers.binary("add" if name == "sum" else "mul", old, self.read.number(node), node)
        assert isinstance(old, Expr)
        wanted = numbers.typer.unary("not", old, node) if name == "any" else old
        guarded = self._may_fail(node)
        if guarded:  # Python looks at no more items once it knows
            program.conditions.append(wanted)
        one = self.read.condition(node)
        if guarded:
            program.conditions.pop()
        item = const(one, DType.BOOL) if isinstance(one, bool) else one
        return Binary("or" if name == "any" else "and", old, item, self.read.source.span(node))

    def _may_fail(self, node: ast.expr) -> bool:
        """Whether the statements that a condition needs can fail, so that none may run that Python would not."""
        with self.read.program.nested() as lines:  # what this writes goes nowhere
            self.read.condition(node)
        return any(isinstance(s, Assert) or any(map(can_fault, stmt_exprs(s))) for s in walk(lines.stmt()))

    def _extremum(self, name: str, node: Comprehension, place: ast.AST, key: Key, default: Number | None) -> Number:
        numbers, program = self.read.numbers, self.read.program
        kind = program.learned.cells.get(key)
        cell = self.cell(name, key, kind, place)
        some_key = self.key(f"{name}_of_some", place)
        of_some = program.learned.cells.get(some_key)  # once it has turned out that there may be nothing
        some = None if of_some is None else self.cell("some", some_key, of_some, place)

        def item(_: Sequence[_Place]) -> None:
            value = self.read.number(node.elt)
            if kind is None:
                self.learn(key, value, place)
                raise Again
            new = numbers.builtin_extremum("min" if name == "min" else "max", self.read.read(cell), value, place)
            if some is not None and numbers.exact and kind.dtype.is_float:  # what comes first is taken, also NaN
                new = numbers.select(self.read.read(some), new, value, place)
            self.store(cell, new, place)
            if some is not None:
                self.store(some, True, place)

        with program.guarded(self.read.source.span(place)):
            if kind is not None:
                self.store(cell, _worst(name, kind), place)
            if some is not None:
                self.store(some, False, place)
            runs = self._over(node.generators, (), item)
            exact = numbers.exact and kind is not None and kind.dtype.is_float
            if some is None and (not runs or default is not None or exact):
                if kind is None and default is None:
                    raise self.read.error("shape", f"{name} of nothing", place, "give it a `default=`")
                if kind is not None:
                    self.learn(some_key, True, place)
                    raise Again
            if some is not None and default is None and not runs:
                text = f"{name} of nothing: `{shown(place)}`"
                there = self.read.read(some)
                assert isinstance(there, Expr)
                program.emit(Assert(there, text, self.read.source.span(place)))
        if kind is None:
            assert default is not None
            return default
        found = self.read.read(cell)
        return found if default is None or some is None else numbers.select(self.read.read(some), found, default, place)

    def best_by(self, name: str, rank: ast.expr | None, node: Comprehension, place: ast.AST) -> Value:
        """The first item of a comprehension that is least or greatest, or of which `rank`, a function, is."""
        read, program = self.read, self.read.program
        ranked = node.elt if rank is None else ast.copy_location(ast.Call(rank, [node.elt], []), rank)
        shapes: list[int | None] = []  # how many numbers an item is; None for what its place stands for
        with program.nested():  # what this writes goes nowhere: it shows what the items are
            self._over(node.generators, (), lambda _: shapes.append(_numbers_of(read.value(node.elt))))
        count = shapes[0] if shapes and all(s == shapes[0] for s in shapes) else None
        if count is None and len(node.generators) > 1:
            hint = "find its places first, as in min(range(n), key=...)"
            raise read.error("unsupported", f"{name} of items that are no numbers", place, hint)
        kept, by, some = (_Cells(self, f"{name}_{what}", place) for what in ("item", "rank", "some"))

        def item(places: Sequence[_Place]) -> None:
            value: tuple[Number, ...] = (places[0][0],)
            if count is not None:
                value = self._parts(read.value(node.elt), place)
            order = self._parts(read.value(ranked), place)
            if any([kept.learn(value), by.learn(order), some.learn((True,))]):
                raise Again
            strict: Literal["lt", "gt"] = "lt" if name == "min" else "gt"
            better = ordered_tuples(read, strict, order, tuple(map(read.read, by.cells)), node.elt)
            none = read.numbers.typer.unary("not", read.numbers.truth(read.read(some.cells[0]), place), place)
            with program.nested() as lines:
                kept.store(value)
                by.store(order)
                some.store((True,))
            if better is not False:
                first = none if better is True else Binary("or", none, better, read.source.span(place))
                program.emit(If(first, lines.stmt(), SKIP, read.source.span(place)))

        with program.guarded(read.source.span(place)):
            for cells, start in ((kept, 0), (by, 0), (some, False)):
                cells.store([start for _ in cells.cells])
            if not self._over(node.generators, (), item):
                if not some.cells:
                    raise read.error("shape", f"{name} of nothing", place)
                there = read.numbers.truth(read.read(some.cells[0]), place)
                program.emit(Assert(there, f"{name} of nothing: `{shown(place)}`", read.source.span(place)))
        found = tuple(map(read.read, kept.cells))
        if count is None:
            return self._item_at(node, found[0], place)
        return found if count else found[0]

    def _parts(self, value: Value, place: ast.AST) -> tuple[Number, ...]:
        """A number, or those of a tuple, also of one in a list."""
        if isinstance(value, View) and (count := of_tuple(self.read, value)):
            value = tuple(self.read.row(value, k, place) for k in range(count))
        items = value if isinstance(value, tuple) else (value,)
        return tuple(self.read.as_number(v, place) for v in items)

    def _item_at(self, node: Comprehension, index: Number, place: ast.AST) -> Value:
        """The item of a comprehension over one iterable at a place of that."""
        head = node.generators[0]
        items = self.iterables.of(head.iter)
        if items.listed:
            hint = "find its place first, as in min(range(n), key=...)"
            raise self.read.error("unsupported", "data decide about an item that is no number", place, hint)
        outer = dict(self.read.frame.bindings)
        index = self.read.program.frozen("at", index, self.read.source.span(place))
        self.bind(head.target, self.iterables.step(items, index, head.iter), head.target)
        found = self.read.value(node.elt)
        self.read.frame.bindings = outer
        return found

    # Arrays ----------------------------------------------------------------------------------------------------------

    def of_list(self, node: Listed) -> Value:
        """The array that stands for a list; a tuple for one that is written out, and has other items than numbers.

        Raises:
            ParseError: its length is not known, or its items are no numbers or rows of one length.
            Again: its items are of another dtype than so far.
        """
        key, read, value = (self.read.frame.path, f"list {node.group}"), self.read, node.value
        if isinstance(value, ast.ListComp):
            return self.array(value, Stands(key, depth(value)))
        if isinstance(value, ast.List):
            items = tuple(read.items(value.elts, read.value))
            plain = depth(value) > 1 or all(map(is_number, items))
            return self.arrays.table(items, None, value, Stands(key, depth(value))) if plain else items
        lists = nested(read, value) if isinstance(value, ast.Call) else None
        called = lists is None and isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
        if called and isinstance(value, ast.Call) and not isinstance(value.args[0], ast.Name):
            item = ast.copy_location(ast.Name("item", ast.Load()), value)
            target = ast.copy_location(ast.Name("item", ast.Store()), value)
            head = ast.comprehension(target, value.args[0], [], 0)
            return self.array(ast.copy_location(ast.ListComp(item, [head]), value), Stands(key, 1))
        array = self._items(value) if lists is None else lists
        if lists is None:
            check_own_rows(read, array, value)
        if isinstance(array, tuple):
            return self.arrays.table(array, None, value, Stands(key, 1))
        source = read.program.listed.get(array.buffer) if isinstance(array, View) else None
        kind = self.arrays.learn_all(key, array, value)
        view = self.arrays.array(node.group, array.shape, kept_in(kind), value)
        read.program.listed[view.buffer] = Stands(key, source.depth if source is not None else max(depth(value), 1))
        self.arrays.store(view, array, value)
        return view

    def as_list(self, parts: Sequence[Array], node: ast.AST, depth: int = 1, kind: type | None = None) -> View:
        """A list of the items of arrays or lists, one after the other; they may be tuples, or records of a class."""
        depth = max(depth, *(depth_of(self.read, array) for array in parts))
        key, read, numbers = self.key("list", node), self.read, self.read.numbers
        kinds = [self.arrays.learn_all(key, array, node) for array in parts]
        size: Number = 0
        places: list[Number] = []
        for array in parts:
            places.append(size)
            size = numbers.binary("add", size, array.shape[0], node)
        shape = (size, *parts[0].shape[1:])
        buffer = self.arrays.allocate("items", shape, kept_in(kinds[-1]), node)
        kind = kind or items_kind(read, parts[0])
        read.program.listed[buffer] = Stands(key, depth, kind is not None, None if kind is tuple else kind)
        with read.program.guarded(read.source.span(node)):
            for first, array in zip(places, parts, strict=True):
                self.arrays.store(View(buffer, array.shape, lambda i, k=first: self._after(k, i, node)), array, node)
        return whole(buffer, shape)

    def _after(self, first: Number, place: Indices, node: ast.AST) -> Indices:
        return place if same(first, 0) else (self.read.numbers.binary("add", first, place[0], node), *place[1:])

    def _items(self, value: ast.expr) -> Array | tuple[Value, ...]:
        """The items of a list that is written out, repeated or copied."""
        read = self.read
        match value:
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                parts = [self._items(side) for side in (left, right)]
                arrays = [read.caller.table(p, None, value) if isinstance(p, tuple) else p for p in parts]
                return read.caller.as_list(arrays, value)
            case ast.BinOp(left=left, right=right):
                items, times = (left, right) if isinstance(left, ast.List) else (right, left)
                if isinstance(items, ast.List) and any(map(is_list, items.elts)):
                    hint = "make each row by itself, as in [[0] * m for _ in range(n)]"
                    raise read.error("unsupported", f"rows of `{shown(value)}` are the same list", value, hint)
                count = read.number(times)
                read.needs_value(count)
                row = self._items(items)
                row = read.caller.table(row, None, value) if isinstance(row, tuple) else row
                return self._repeated(row, count, value)
            case ast.List(elts=[item]):
                number = read.program.frozen("item", read.number(item), read.source.span(item))
                return Elementwise((1,), lambda _: number)
            case ast.List(elts=elts):
                return read.caller.table(tuple(read.items(elts, read.value)), None, value)
            case ast.Call(func=ast.Attribute(value=owner)) | ast.Call(args=[owner]) | owner:
                found = read.value(owner)
                return found if isinstance(found, tuple) else read.array(owner)

    def _repeated(self, row: Array, count: Number, node: ast.AST) -> Array:
        numbers, size = self.read.numbers, row.shape[0]

        def at(k: Number) -> Number:
            return 0 if same(size, 1) else numbers.binary("floormod", k, size, node)

        shape = (numbers.binary("max", numbers.binary("mul", size, count, node), 0, node),)
        return Elementwise(shape, lambda i: self.read.element(row, (at(i[0]),), node))

    def array(self, node: ast.ListComp, stands: Stands | None = None) -> View | WrittenOut:
        """The array that NumPy makes of a list, or one that `stands` for a list whose items are known by that key.

        A list of nothing is one that is written out.

        Raises:
            ParseError: how long the list is depends on data or on loops.
        """
        program, numbers = self.read.program, self.read.numbers
        if any(g.ifs for g in node.generators):
            hint = "make an array that is long enough, and store into it in a loop"
            raise self.read.error("shape", f"how long `{shown(node)}` is depends on data", node, hint)
        key = self.key("items", node) if stands is None else stands.key
        shapes: list[tuple[Number, ...]] = []
        items: list[Value] = []  # of which the list is made, as they are before they become rows of an array
        inner: set[Var] = set()  # variables of its loops

        def shown_by(places: Sequence[_Place]) -> None:
            inner.update(free_vars(*(expr for at, _ in places if (expr := expr_of(at)) is not None)))
            shapes.append(self._shape(node, places, key, stands, items))

        with program.nested():  # what this writes goes nowhere: it shows what the items are
            self._over(node.generators, (), shown_by)
        if not shapes and stands is not None:
            return WrittenOut()
        if not shapes or any(len(s) != len(shapes[0]) or not all(map(same, s, shapes[0])) for s in shapes):
            what = "is empty" if not shapes else "has items of different shapes"
            raise self.read.error("shape", f"`{shown(node)}` {what}", node, "make an array with np.empty(...)")
        extents = [expr for n in shapes[0] if (expr := expr_of(n)) is not None]
        if inner & free_vars(*extents):
            if stands is not None:
                program.learned.apart(self.read.frame.identity(), stands.key[1].removeprefix("list "))
            raise self.read.error("shape", f"`{shown(node)}` has items of different lengths", node, hints.SIZED)
        dtype = kept_in(program.learned.cells[key])
        buffer = self.arrays.allocate("items", shapes[0], dtype, node)
        stands = self._stands_with(stands, key, items)
        if stands is not None:
            program.listed[buffer] = stands

        sizes: list[Number] = []  # as they are known here: those of before may have names that went nowhere

        def item(places: Sequence[_Place]) -> None:
            row: list[Value] = []
            value = self._item(node.elt, stands, row)
            sizes.append(places[0][1])
            index = places[0][0]
            for k, count in places[1:]:
                index = numbers.binary("add", numbers.binary("mul", index, count, node), k, node)
            if isinstance(value, (View, Elementwise)):
                place = View(buffer, shapes[0][1:], lambda i: (index, *i))
                if stands is None or not (parts := _numbers(row[0])):
                    self.arrays.store(place, value, node)
                    return
                for k, number in enumerate(parts):
                    self.arrays.store(self.read.at_row(place, k, node), number, node)
                return
            self.arrays.learn(buffer, value, node)
            number = numbers.convert(value, dtype, node)
            program.emit(Store(buffer, (numbers.natural(index, node),), number, self.read.source.span(node)))

        with program.guarded(self.read.source.span(node)):
            self._over(node.generators, (), item)
        return whole(buffer, (sizes[0], *shapes[0][1:]) if len(node.generators) == 1 else shapes[0])

    def _stands_with(self, stands: Stands | None, key: Key, items: Sequence[Value]) -> Stands | None:
        """What an array of such items stands for: a list if one is wanted, and in any case if they are records."""
        first = items[0] if items else None
        if isinstance(first, Record):
            return replace(stands or Stands(key, 0), of_tuples=True, kind=first.kind)
        if stands is None:
            return None
        if isinstance(first, tuple) and not isinstance(first, WrittenOut):
            return replace(stands, depth=2, of_tuples=True)
        return replace(stands, depth=max(stands.depth, 0 if first is None else 1 + depth_of(self.read, first)))

    def _item(self, node: ast.expr, stands: Stands | None, items: list[Value] | None = None) -> Array | Number:
        if isinstance(node, ast.ListComp):
            value: Value = self.array(node, stands)
        else:
            repeated = isinstance(node, ast.BinOp) and is_list(node)
            value = self._items(node) if repeated else self.read.array_or(node)
        if items is not None:
            items.append(value)
        if isinstance(value, tuple):
            value = self.read.caller.table(value, None, node)
        if isinstance(value, (View, Elementwise)) and value.shape:
            nested_list = isinstance(node, ast.ListComp)
            if stands is not None and not nested_list and stands_for_list(self.read, value):
                check_new_item(self.read, value, node)
            return value
        return self.read.as_number(value, node)

    def _shape(
        self, node: ast.ListComp, places: Sequence[_Place], key: Key, stands: Stands | None, items: list[Value]
    ) -> tuple[Number, ...]:
        """The shape of the array, from one item of it; the dtype of the item is learned, and the class of a record."""
        value = self._item(node.elt, stands, items)
        inner: tuple[Number, ...] = ()
        if isinstance(value, (View, Elementwise)) and value.shape:
            inner = value.shape
            if stands is None:
                self.learn(key, self.read.element(value, tuple(0 for _ in inner)), node)
            else:
                self.arrays.learn_row(key, _numbers(items[-1]) or value, node)
        else:
            self.learn(key, self.read.as_number(value, node), node)
        total: Number = 1
        for _, count in places:
            total = self.read.numbers.binary("mul", total, count, node)
        return (total, *inner)

    def added(self, node: Comprehension, start: Number, place: ast.AST) -> Array | None:
        """The sum of arrays that a comprehension gives, item by item; None if it gives numbers."""
        arrays = (View, Elementwise)
        with self.read.program.nested():  # what this writes goes nowhere: it shows what the items are
            kinds: list[bool] = []

            def look(_: Sequence[_Place]) -> None:
                item = self.read.value(node.elt)
                kinds.append(isinstance(item, arrays) and bool(item.shape))

            self._over(node.generators, (), look)
        if not any(kinds):
            return None
        total: Value = start
        for item in self.items(node, place):
            total = self.read.operate(ast.Add(), total, item, place)
        assert isinstance(total, arrays)
        return total

    def items(self, node: Comprehension, place: ast.AST) -> tuple[Value, ...]:
        """The tuple of what a generator gives, item by item.

        Raises:
            ParseError: how many items there are is not known, or they are many.
        """
        found: list[Value] = []

        def more(generators: Sequence[ast.comprehension]) -> None:
            if not generators:
                found.append(self.read.value(node.elt))
                return
            head = generators[0]
            items = self.iterables.of(head.iter)
            if isinstance(items.count, int) and items.count <= MAX_ITEMS and len(found) <= MAX_ITEMS:
                for k in range(items.count):
                    outer = dict(self.read.frame.bindings)
                    self.bind(head.target, self.iterables.step(items, k, head.iter), head.target)
                    if all(self._decided(test) for test in head.ifs):
                        more(generators[1:])
                    self.read.frame.bindings = outer
                return
            what = f"`{shown(place)}` has more than {MAX_ITEMS} items, or a number of them that is not known"
            raise self.read.error("unsupported", what, place, "make an array of them, as in np.array([...])")

        more(node.generators)
        return tuple(found)

    def _decided(self, test: ast.expr) -> bool:
        cond = self.read.condition(test)
        if not isinstance(cond, bool):
            raise self.read.error("unsupported", "how many items a tuple has depends on data", test, "write a loop")
        return cond

    # Loops -----------------------------------------------------------------------------------------------------------

    def _over(self, generators: Sequence[ast.comprehension], places: Sequence[_Place], body: _Body) -> bool:
        """Loops over items, and what is done for each; whether there is at least one."""
        if not generators:
            body(places)
            return True
        head, rest = generators[0], generators[1:]
        items = self.iterables.of(head.iter)
        count = items.count
        if items.listed:
            assert isinstance(count, int)
            steps = [self._step(head, self.iterables.step(items, k, head.iter), rest, (*places, (k, count)), body)
                     for k in range(count)]  # fmt: skip
            return any(steps)
        if isinstance(count, int) and count <= 0:
            return False
        return self._loop(head, items, rest, places, body) and (interval_of(count)[0] or 0) > 0

    def _loop(
        self,
        head: ast.comprehension,
        items: Items,
        rest: Sequence[ast.comprehension],
        places: Sequence[_Place],
        body: _Body,
    ) -> bool:
        numbers, program, span = self.read.numbers, self.read.program, self.read.source.span(head.iter)
        dtype = max((numbers.dtype_of(v) for v in (items.first, items.count)), key=lambda d: d.bits)
        dtype = DType.INT64 if not dtype.is_signed else dtype
        with program.nested() as lines:
            begin, extent = (numbers.convert(v, dtype, head.iter) for v in (items.first, items.count))
            name = head.target.id if isinstance(head.target, ast.Name) else "i"
            loop = program.loop(name, begin, extent, span)
            index = Weak(loop.var, *items.reach)
            place = index if same(items.first, 0) else numbers.binary("sub", index, items.first, head.iter)
            runs = self._step(head, items.item(index), rest, (*places, (place, items.count)), body)
        program.emit(For(loop.var, loop.start, loop.extent, lines.stmt(), span=span))
        return runs

    def _step(
        self,
        head: ast.comprehension,
        item: Value,
        rest: Sequence[ast.comprehension],
        places: Sequence[_Place],
        body: _Body,
    ) -> bool:
        frame = self.read.frame
        outer = dict(frame.bindings)
        self.bind(head.target, item, head.target)
        runs = self._filtered(head.ifs, lambda: self._over(rest, places, body))
        frame.bindings = outer
        return runs

    def _filtered(self, tests: Sequence[ast.expr], then: Callable[[], bool]) -> bool:
        if not tests:
            return then()
        program = self.read.program
        cond = self.read.condition(tests[0])
        if isinstance(cond, bool):
            return cond and self._filtered(tests[1:], then)
        with program.nested() as lines:
            program.assume(cond)
            self._filtered(tests[1:], then)
        program.emit(If(cond, lines.stmt(), SKIP, self.read.source.span(tests[0])))
        return False

    # Cells -----------------------------------------------------------------------------------------------------------

    def key(self, name: str, place: ast.AST) -> Key:
        span = self.read.source.span(place)
        return self.read.frame.path, f"{name} at {'' if span is None else f'{span.line}:{span.column}'}"

    def learn(self, key: Key, value: Number, node: ast.AST) -> CellType:
        return self.read.program.learned.assign(key, value, self.read.numbers, node)

    def cell(self, name: str, key: Key, kind: CellType | None, node: ast.AST) -> Cell:
        program = self.read.program
        buffer = None if kind is None else program.alloc(name, (), kind.dtype, self.read.source.span(node))
        return Cell(buffer, key, program.depth)

    def store(self, cell: Cell, value: Number, node: ast.AST) -> None:
        kind = self.learn(cell.key, value, node)
        buffer: Buffer | None = cell.buffer
        if buffer is None or buffer.dtype is not kind.dtype:
            raise Again
        converted = self.read.numbers.convert(value, kind.dtype, node)
        self.read.program.emit(Store(buffer, (), converted, self.read.source.span(node)))


class _Cells(Struct):
    """Numbers that a loop keeps: one, or those of a tuple."""

    within: Comprehensions
    name: str
    place: ast.AST
    cells: list[Cell] = field(default_factory=lambda: list[Cell]())

    def __post_init__(self) -> None:
        kinds = self.within.read.program.learned.cells
        while (key := self._key(len(self.cells))) in kinds:
            self.cells.append(self.within.cell("best", key, kinds[key], self.place))

    def _key(self, k: int) -> Key:
        return self.within.key(f"{self.name}{k or ''}", self.place)

    def learn(self, values: Sequence[Number]) -> bool:
        """Note what is to be kept; whether there are no cells for it yet."""
        for k, value in enumerate(values):
            self.within.learn(self._key(k), value, self.place)
        return len(self.cells) < len(values)

    def store(self, values: Sequence[Number]) -> None:
        for cell, value in zip(self.cells, values, strict=True):
            self.within.store(cell, value, self.place)


def _numbers(value: Value) -> tuple[Value, ...]:
    """The numbers that a tuple or list is written out of, if these are all that it has."""
    return value if isinstance(value, tuple) and all(map(is_number, value)) else ()


def _numbers_of(value: Value) -> int | None:
    """How many numbers a tuple has; 0 for a number, None for others."""
    if is_number(value):
        return 0
    return len(value) if isinstance(value, tuple) and value and all(map(is_number, value)) else None


def _worst(name: str, kind: CellType) -> Number:
    """A number of this kind that no item is worse than."""
    dtype = kind.dtype
    if dtype is DType.BOOL:
        return name == "min"
    if dtype.is_float:
        return Const(math.inf if name == "min" else -math.inf, dtype)
    known = kind.high if name == "min" else kind.low
    worst = (dtype.max if name == "min" else dtype.min) if known is None else known
    return Weak(const(worst, dtype), worst, worst) if kind.weak else const(worst, dtype)
