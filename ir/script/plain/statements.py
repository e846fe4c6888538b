"""Statements of plain Python programs, of one function and of those that it calls, which are put in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType

from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import SKIP, Assert, Assume, Expr, If, Stmt, Store, Var, const
from ir.script.expressions import BINARY
from ir.script.plain import hints
from ir.script.plain.arrays import Array, Elementwise, Selection, View, same
from ir.script.plain.calls import arguments_of, call, put_in_place
from ir.script.plain.comprehensions import Comprehensions
from ir.script.plain.expressions import Evaluator
from ir.script.plain.frames import Binding, Cell, Comprehension, Frame, Growing, Maybe, Named, Value, in_both, shown
from ir.script.plain.functions import MAX_CALLS, Callers, Function, frame_of, inner_function
from ir.script.plain.functions import named as name_of
from ir.script.plain.library import names as library
from ir.script.plain.library.bodies import IN_PLACE
from ir.script.plain.library.complexes import IMAG, REAL
from ir.script.plain.library.dictionaries import dictionary_of, stored_at
from ir.script.plain.library.scans import scanned
from ir.script.plain.library.selected import alike, given_name, rows_first
from ir.script.plain.library.stored import changed_in_place, stored_to
from ir.script.plain.loops.counting import Counted
from ir.script.plain.loops.growing import (
    appended,
    check_other_name,
    granted,
    item_stored,
    list_changed,
    opened,
    popped,
    stored_before,
)
from ir.script.plain.loops.iterables import Iterables
from ir.script.plain.loops.turns import carry_in, carry_on, changed, note_copy, refused
from ir.script.plain.loops.whiles import Whiles
from ir.script.plain.loops.written import written
from ir.script.plain.program import Again, Key, Program, Recount, Stands
from ir.script.plain.promotion import Number, expr_of
from ir.script.plain.stores import ArrayStores
from ir.script.plain.syntax.counters import Appended, Changed, Popped, Same
from ir.script.plain.syntax.desugared import Recorded
from ir.script.plain.syntax.lists import Listed, copies, depth
from ir.script.plain.tuples import (
    Record,
    alike_list,
    check_alone,
    check_item,
    check_own_rows,
    taken_apart,
    traded,
)
from ir.script.scope import Source
from ir.traverse import has_loads, walk


def _changing(extent: Number) -> bool:
    """Whether later stores may change an extent."""
    expr = expr_of(extent)
    return expr is not None and has_loads(expr)


def _in_row(owner: ast.expr, parts: tuple[ast.expr, ast.expr], node: ast.expr) -> ast.expr:
    """`owner[places][rest]`, which is `owner[places, rest]` where the rest begins with truths."""
    row = ast.copy_location(ast.Subscript(owner, parts[0], ast.Load()), node)
    return ast.copy_location(ast.Subscript(row, parts[1], ast.Store()), node)


class Body(Struct, dict=True):
    """Writes the statements of one function at one of its calls."""

    frame: Frame
    program: Program
    sizes: frozenset[Var]
    callers: Callers
    born: int = 0  # how many buffers there were before the call
    level: int = 0  # the depth at which names may be given other arrays: of the function, or of the body of a loop
    carriers: dict[tuple[Key, str], View] = field(default_factory=lambda: dict[tuple[Key, str], View]())

    def __post_init__(self) -> None:
        self.read: Evaluator = Evaluator(self.frame, self.program, self)
        self.arrays: ArrayStores = ArrayStores(self.read, self.sizes)
        self.iterables: Iterables = Iterables(self.read, lambda value, node: self.settled("items", value, node))
        self.comprehensions: Comprehensions = Comprehensions(self.read, self.arrays, self.iterables, self._bind)
        self.whiles: Whiles = Whiles(self.read)

    @property
    def source(self) -> Source:
        return self.frame.source

    @property
    def home(self) -> FunctionType:
        """The function of a module that this one is, or is defined in."""
        return self.frame.function  # pyright: ignore[reportReturnType] - no method, but a field

    # Functions -------------------------------------------------------------------------------------------------------

    def run(self, body: list[ast.stmt], arguments: Mapping[str, Value]) -> Value:
        """Write the statements of a function; what it returns."""
        last = body[-1] if body and isinstance(body[-1], ast.Return) else None
        self.frame.bindings.update(arguments)
        self.frame.given = tuple(arguments.values()) if len(self.callers.functions) > 1 else ()
        self.level = self.program.depth
        self.open_cells(body, arguments)
        self.statements(body[:-1] if last is not None else body)
        if last is None or last.value is None:
            return Named(None)
        if isinstance(last.value, ast.Call):
            return self._result(last.value)
        if isinstance(last.value, ast.Tuple) and not isinstance(last.value, Recorded):
            found = self.read.items(last.value.elts, self.read.value)
            results = tuple(self.settled("result", value, last) for value in found)
            return self._or_none(results, last) if self.frame.maybe else results
        found = self.read.value(last.value)
        return self.settled("result", found, last) if isinstance(found, Record) else found

    def _or_none(self, results: tuple[Value, ...], node: ast.AST) -> Value:
        """What is returned of whether there is none, and a number."""
        absent, number = (self.read.as_number(v, node) for v in results)
        if isinstance(absent, bool):
            return Named(None) if absent else number
        return Named(Maybe(absent, number))

    def _there(self, value: Value, node: ast.AST) -> Value:
        """The number that a result must be, where it might be None."""
        if not isinstance(value, Named) or not isinstance(value.value, Maybe):
            return value
        there = self.frame.numbers.typer.unary("not", self.frame.numbers.truth(value.value.absent, node), node)
        self.program.emit(Assert(self._condition(there), "None is returned", self.source.span(node)))
        return value.value.value

    def call(
        self, function: Function, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call, *, alone: bool
    ) -> Value:
        """Put a function that is called in place."""
        callers = self.callers.within(function, self.program, self.home)
        if callers is None:
            what = f"{name_of(function)} calls itself, and data or more than {MAX_CALLS} steps decide where that ends"
            raise self.read.error("recursion", what, node, "write a loop, with a list of what is still to do")
        path = (*self.frame.path, node.lineno * 1000 + node.col_offset)
        opened = frame_of(function, path, self.frame.numbers.exact, self.program.learned.reading, self.home)
        given = arguments_of(self.read, function, opened, args, named, node)
        short = len(opened.body) == 1 and isinstance(opened.body[0], ast.Return)
        inner = Body(opened.frame, self.program, self.sizes, callers, len(self.program.sharing.born))

        def run() -> Value:
            callers.began = self.program.decisions()
            bound = dict(zip(opened.params, given, strict=True))
            if not short or not self.program.conditional:
                bound = {p: self.settled(p, v, node, copy=not short) for p, v in bound.items()}
            return inner.run(opened.body, bound)

        before = len(self.program.lines.done)
        known = set(self.program.used)
        result = self._where_looked_at(function, path, run, node) if self.program.conditional and not short else run()
        if not alone:
            self._check_pure(function, self.program.lines.done[before:], known, node)
        return result

    def of_library(self, name: str, args: Sequence[Value], node: ast.Call) -> Value:
        """What a function of NumPy or Python is that is a plain function here."""
        return put_in_place(self.read, name, args, {}, node)

    def numbers_in(self, node: ast.Call) -> Array:
        return self.iterables.numbers_in(node)

    def _where_looked_at(
        self, function: Function, path: tuple[int, ...], run: Callable[[], Value], node: ast.Call
    ) -> Value:
        """What a function gives whose statements run only under the conditions that hold where it is called."""
        key, span = (path, "result"), self.source.span(node)
        buffer = self.program.cell(name_of(function).strip("<>"), key, span)
        with self.program.guarded(span):
            value = run()
            if isinstance(value, (tuple, Named)) or getattr(value, "shape", ()):
                self.program.learned.branch(self.frame.identity())
                message = f"{name_of(function)} is called under a condition, and gives no number"
                raise self.read.error("unsupported", message, node, hints.ALONE)
            number = self.read.as_number(value, node)
            kind = self.program.learned.assign(key, number, self.frame.numbers, node)
            if buffer is None or buffer.dtype is not kind.dtype:
                raise Again
            self.program.emit(Store(buffer, (), self.frame.numbers.convert(number, kind.dtype, node), span))
        return self.read.read(Cell(buffer, key, self.program.depth))

    def define(self, node: ast.FunctionDef | ast.Lambda) -> Value:
        """A function within this one."""
        reading = self.program.learned.reading
        return Named(inner_function(node, self.source, self.home, reading, self._default, self.read.name))

    def _default(self, node: ast.expr) -> Value:
        return self.settled("default", self.read.value(node), node, copy=True)

    def _check_pure(self, function: Function, written: Sequence[Stmt], known: set[str], node: ast.AST) -> None:
        for stmt in (s for line in written for s in walk(line)):
            if isinstance(stmt, Store) and stmt.buffer.name in known:
                message = f"{name_of(function)} stores into {stmt.buffer.name}, within a larger expression"
                hint = "call it in a statement of its own"
                raise self.read.error("unsupported", message, node, hint)

    def reduce(self, name: str, array: Array, axes: tuple[int, ...] | None, node: ast.AST) -> Value:
        """A sum over an array."""
        return self.arrays.reduce(name, array, axes, node)

    def scan(self, name: str, array: Array, axis: int | None, node: ast.Call) -> Value:
        """A running total, or where the greatest element of an array is."""
        return scanned(self.arrays, name, array, axis, node)

    def table(self, rows: tuple[Value, ...], dtype: DType | None, node: ast.AST, stands: Stands | None = None) -> Array:
        """An array of numbers that are written out, which may stand for a list."""
        return self.arrays.table(rows, dtype, node, stands)

    def product(self, a: Array, b: Array, node: ast.AST) -> Value:
        """A product of arrays."""
        return self.arrays.product(a, b, node)

    def fold(
        self, name: str, node: Comprehension, place: ast.AST, start: Number | None = None, default: Number | None = None
    ) -> Number:
        """A sum, extremum or truth over what a comprehension gives."""
        return self.comprehensions.fold(name, node, place, start, default)

    def best_by(self, name: str, rank: ast.expr | None, node: Comprehension, place: ast.AST) -> Value:
        """The item of a comprehension that is first, by a function if one is given."""
        return self.comprehensions.best_by(name, rank, node, place)

    def listed(self, node: ast.ListComp | Listed, *, items: bool = False) -> Value:
        """The array that NumPy makes of a list, or that stands for it; for a comprehension it does if that is said."""
        if isinstance(node, Listed):
            return self.comprehensions.of_list(node)
        key = self.comprehensions.key("list", node)
        return self.comprehensions.array(node, Stands(key, depth(node)) if items else None)

    def copied(self, array: Array, node: ast.AST) -> Array:
        """A part of a list, which is a list of its own."""
        return self.arrays.kept("part", array, node)

    def as_list(self, parts: Sequence[Array], node: ast.AST, depth: int = 1, kind: type | None = None) -> View:
        """A list of the items of arrays, one array after the other."""
        return self.comprehensions.as_list(parts, node, depth, kind)

    def added(self, node: Comprehension, start: Number, place: ast.AST) -> Array | None:
        """The sum of arrays that a comprehension gives; None if they are numbers."""
        return self.comprehensions.added(node, start, place)

    def items(self, node: Comprehension, place: ast.AST) -> tuple[Value, ...]:
        """The tuple that Python makes of a generator."""
        return self.comprehensions.items(node, place)

    def _bind(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Give names of a comprehension their values: they are not those of the function."""
        match target:
            case ast.Name(id=name):
                self.frame.bindings[name] = self.settled(name, value, node)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, item in self._items(value, parts, node):
                    self._bind(part, item, node)
            case _:
                raise self.read.error("unsupported", f"`{shown(target)}` cannot be assigned", node)

    # Names -----------------------------------------------------------------------------------------------------------

    def open_cells(self, nodes: list[ast.stmt], arguments: Mapping[str, Value] | None = None) -> None:
        """Allocate the cells that live in a list of statements."""
        for name in self.frame.cells.get(id(nodes), ()):
            key = (self.frame.path, name)
            if key in self.program.learned.arrays:
                self.frame.bindings[name] = self.arrays.array(name, *self.program.learned.arrays[key], nodes[0])
                self.frame.arrays.add(name)
                self.frame.late |= {name}
                self.frame.assigned -= {name}
                continue
            buffer = self.program.cell(name, key, None)
            self.frame.held.pop(key, None)
            given = None if arguments is None else arguments.get(name)
            start = given if isinstance(given, Named) else None
            self.frame.bindings[name] = Cell(buffer, key, self.program.depth, start)
            if given is not None and start is None:
                self._assign_name(name, given, nodes[0])
            elif name in self.frame.results and buffer is not None:
                self.program.emit(Store(buffer, (), const(0, buffer.dtype)))

    def settled(self, name: str, value: Value, node: ast.AST, *, copy: bool = True) -> Value:
        """A value that later stores do not change; arrays that are nowhere stored are, if `copy`."""
        match value:
            case tuple():
                found = tuple(self.settled(name, v, node, copy=copy) for v in value)
                return value if all(a is b for a, b in zip(found, value, strict=True)) else alike_list(value, found)
            case Elementwise() if copy:
                kept = self.arrays.kept(name, value, node)
                for view in value.chosen:
                    note_copy(self, name, view, kept)
                return kept
            case Selection() if copy:
                found = given_name(self.read, value, lambda array: self.arrays.kept(name, array, node), name, node)
                return found if isinstance(found, Selection) else self.settled(name, found, node)
            case View() if copy and any(map(_changing, value.shape)):
                return replace(value, shape=tuple(self.program.frozen("size", n, None) for n in value.shape))
            case View() | Elementwise() | Selection() | Named():
                return value
            case _:
                return self.program.frozen(name, value, self.source.span(node))

    def _assign_name(self, name: str, value: Value, node: ast.AST) -> None:
        cell = self.frame.bindings.get(name)
        if name in self.frame.results:
            value = self._there(value, node)
        stays = name not in self.frame.arrays and not isinstance(cell, Cell)
        array = value if isinstance(value, (View, Elementwise)) and value.shape else None
        plain = array is None and not isinstance(value, (Named, tuple))
        if (
            not plain
            and isinstance(cell, Cell)
            and name not in self.frame.assigned
            and cell.depth == self.program.depth
        ):
            self.frame.arrays.add(name)  # what changes in loops then are elements
            stays = True
        stays = stays or (not plain and name in self.frame.arrays and self.program.depth == self.level)
        if stays:
            self.frame.bindings[name] = self.settled(name, value, node)
            self.frame.assigned |= self.frame.late & {name}
            return
        if array is not None and isinstance(cell, Cell) and not cell.start and self._is_first(name, cell, array, node):
            self._name_rows(name, node)
            self.program.learned.arrays[cell.key] = array.shape, self.read.dtype_of(array, node)
            raise Again
        if not isinstance(cell, Cell) or not plain:
            raise refused(self, name, cell, value, node)
        number = self.read.as_number(value, node)
        kind = self.program.learned.assign(cell.key, number, self.frame.numbers, node)
        if cell.buffer is None or cell.buffer.dtype is not kind.dtype:
            raise Again
        stored = self.frame.numbers.convert(number, kind.dtype, node)
        self.program.emit(Store(cell.buffer, (), stored, self.source.span(node)))
        self.frame.assigned |= {name}
        self.frame.stored.add(name)
        self.frame.hold(cell.key, number)

    def _name_rows(self, name: str, node: ast.AST) -> None:
        """Have the rows that a loop runs over named in its steps, where that has not been tried.

        Raises:
            Recount: the function must be read again for that.
        """
        learned, row = self.program.learned, (self.frame.identity(), name)
        loops = (loop.target for loop in self.frame.order if isinstance(loop, ast.For))
        if self.frame.enclosing is None and row not in learned.reading.rows and any(node is t for t in loops):
            learned.reading = replace(learned.reading, rows=learned.reading.rows | {row})
            raise Recount

    def _is_first(self, name: str, cell: Cell, array: View | Elementwise, node: ast.AST) -> bool:
        """Whether what branches and loops give a name first are arrays, of one size throughout a call."""
        known = cell.key in self.program.learned.cells or cell.key in self.program.learned.arrays
        return not known and name not in self.frame.stored and all(self.arrays.settled(e, node) for e in array.shape)

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Give what is assigned to its value."""
        match target:
            case ast.Name(id=name):
                self._assign_name(name, value, node)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, item in self._items(value, parts, node):
                    self.assign(part, item, node)
            case ast.Subscript(value=owner, slice=index) if (parts := rows_first(self.read, index)) is not None:
                self.assign(_in_row(owner, parts, target), value, node)
            case ast.Subscript(value=owner, slice=index):
                truths = self.arrays.truths(index)
                if truths is None:
                    part = self._view(owner, index, target)
                    check_item(self.read, part, value, target, node)
                    self.store(part, value, target)
                else:
                    self.arrays.store_where(truths, self.arrays.target(owner, target), value, target)
            case _:
                message, hint = f"`{shown(target)}` cannot be assigned", hints.of_target(target)
                raise self.read.error("unsupported", message, node, hint)

    def _items(self, value: Value, parts: Sequence[ast.expr], node: ast.AST) -> Sequence[tuple[ast.expr, Value]]:
        """What parts of a target are assigned: one item each, and to one with a star all that are left."""
        values = taken_apart(self.read, value, parts, node)
        targets = [p.value if isinstance(p, ast.Starred) else p for p in parts]
        names = [p.id if isinstance(p, ast.Name) else "item" for p in targets]
        items = [self.settled(n, v, node) for n, v in zip(names, values, strict=True)]  # before any is assigned
        if any(isinstance(v, View) and v.buffer in self.program.listed for v in items):
            rows = [self._view(t.value, t.slice, t) if isinstance(t, ast.Subscript) else None for t in targets]
            items = traded(self.read, rows, items, node)
        return [*zip(targets, items, strict=True)]

    def _view(self, owner: ast.expr, index: ast.expr, node: ast.expr) -> View:
        array = self.read.value(owner)
        if (keyed := dictionary_of(array)) is not None:
            return stored_at(self.read, keyed, index, node)
        if isinstance(owner, ast.Name) and isinstance(growing := self.frame.bindings.get(owner.id), Growing):
            stored_before(self, growing, node)
        if isinstance(array, tuple):
            item_stored(self, owner)
        part = self.read.part(array, index, node, stored=True) if isinstance(array, View) else None
        if not isinstance(part, View):
            hint = "make an array of it, as in np.array([...])" if isinstance(array, tuple) else ""
            if isinstance(owner, ast.Name) and owner.id not in self.frame.locals:
                hint = hints.OUTER
            if isinstance(owner, ast.Attribute) and owner.attr in (REAL, IMAG):
                hint = "store complex numbers, as in z[i] = complex(x, z[i].imag)"
            raise self.read.error("not-a-buffer", f"`{shown(owner)}` is not an array that can be stored to", node, hint)
        return part

    def store(self, target: View, value: Value, node: ast.AST) -> None:
        """Store an element, or all elements of a part of an array."""
        if isinstance(value, tuple) and target.shape and same(target.shape[0], len(value)):
            for k, item in enumerate([self.settled("item", v, node) for v in value]):
                self.store(self.read.at_row(target, k, node), item, node)
            return
        if target.shape:
            self.arrays.store(target, value, node)
            return
        found = self.read.as_number(value, node)
        place = self.read.place(target, ())
        self.arrays.learn(target.buffer, found, node, place[-1] if place else None)
        number = self.frame.numbers.convert(found, target.buffer.dtype, node)
        self.program.emit(Store(target.buffer, place, number, self.source.span(node)))

    # Statements ------------------------------------------------------------------------------------------------------

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Write statements, one after the other."""
        for node in nodes:
            arms = [*node.body, *node.orelse] if isinstance(node, ast.If) else []
            self.program.attempt(lambda node=node: self._statement(node), lambda arms=arms: self.statements(arms))

    def _branch(self, node: ast.If, nodes: list[ast.stmt], cond: Expr, loop: ast.For | None) -> Stmt:
        """One way of a branch, whose names end with it; those of arrays stand for what it made them.

        A branch that is all of a step of a `loop` makes them what they are in its next step.
        """
        outer, given, level = dict(self.frame.bindings), self.bound_arrays(), self.level
        with self.program.nested() as lines:
            self.program.assume(cond)
            self.level = self.program.depth
            self.open_cells(nodes)
            self.statements(nodes)
            if loop is None:
                changed(self, node, given)
            carry_on(self, loop or node)
        self.level = level
        self.frame.bindings = outer if loop is None else {**outer, **{n: self.frame.bindings[n] for n in given}}
        return lines.stmt()

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=targets, value=value):
                self._assignment(targets, value, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assignment([target], value, node)
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in BINARY:
                self._update(target, op, value, node)
            case ast.FunctionDef(name=name):
                self._assign_name(name, self.define(node), node)
            case ast.If():
                self._if(node)
            case ast.For():
                written(self, node)
            case ast.Assert(test=test, msg=message):
                cond = self.read.condition(test)
                text = self.read.said(message)
                if cond is False and self.program.depth == 0:
                    what = f": {text}" if text else ""
                    raise self.read.error("assertion-false", f"the assertion is false{what}", node)
                if cond is not True:
                    self.program.emit(Assert(self._condition(cond), text, self.source.span(node)))
            case ast.Expr(value=ast.Call() as value):
                self._call(value)
            case ast.Expr(value=Appended() | Same() | Changed() as value):
                list_changed(self, value)
            case ast.Expr(value=ast.Yield() | ast.YieldFrom() | ast.Await() as value):
                self.read.value(value)
            case _:
                first = ast.unparse(node).splitlines()[0]
                hint = hints.STATEMENTS.get(type(node), "")
                raise self.read.error("unsupported", f"`{first}` is not supported", node, hint)

    def _condition(self, cond: bool | Expr) -> Expr:
        return const(cond, DType.BOOL) if isinstance(cond, bool) else cond

    def _assignment(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        if isinstance(value, Listed) and value.grows and isinstance(targets[0], ast.Name):
            self.frame.bindings[targets[0].id] = opened(self, value)
            return
        if isinstance(value, Popped):
            found = popped(self, value)
        elif isinstance(value, Counted):
            found = self.iterables.after(value)
        else:
            found = self._result(value) if isinstance(value, ast.Call) else self._right(targets, value)
        if len(targets) > 1:
            found = self.settled("value", found, node)
        for target in targets:
            if isinstance(target, ast.Name) and copies(value):
                check_own_rows(self.read, found, node)
            if isinstance(target, ast.Name):
                check_other_name(self, found, node)
            self.assign(target, found, node)

    def _right(self, targets: list[ast.expr], value: ast.expr) -> Value:
        """The right side of an assignment, of which elements of arrays take a list too.

        Calls that are items of it are worked out one after the other, as statements of their own would be.
        """
        calls = isinstance(value, ast.Tuple) and any(isinstance(e, ast.Call) for e in value.elts)
        if isinstance(value, ast.Tuple) and calls and not any(isinstance(e, ast.Starred) for e in value.elts):
            return tuple([self.settled("item", self._item(e), e) for e in value.elts])
        stored = all(isinstance(t, ast.Subscript) for t in targets)
        return self.read.array_or(value) if stored else self.read.value(value)

    def _item(self, node: ast.expr) -> Value:
        return self._result(node) if isinstance(node, ast.Call) else self.read.value(node)

    def _update(self, target: ast.expr, op: ast.operator, value: ast.expr, node: ast.stmt) -> None:
        """`target op= value`: in place for arrays, a new value for names of numbers."""
        if isinstance(target, ast.Subscript) and (parts := rows_first(self.read, target.slice)) is not None:
            target = _in_row(target.value, parts, target)
        truths = self.arrays.truths(target.slice) if isinstance(target, ast.Subscript) else None
        if isinstance(target, ast.Subscript) and truths is not None:
            array = self.arrays.target(target.value, target)
            other = self.read.value(value)
            if isinstance(other, Selection) and alike(self.read, truths, other.truths, node):
                other = other.array
            elif isinstance(other, (View, Elementwise, Selection)):
                other = self.read.as_number(other, value)
            new = self.read.operate(op, array, other, node)
            self.arrays.check_in_place(array, new, node)
            self.arrays.store_where(truths, array, new, target)
            return
        if isinstance(target, ast.Subscript):
            place = self._view(target.value, target.slice, target)
            old: Value = place if place.shape else self.read.element(place, (), target)
            new = self.read.operate(op, old, self.read.value(value), node)
            if place.shape:
                self.arrays.check_in_place(place, new, node)
            self.store(place, new, target)
            return
        old = self.read.value(target)
        if isinstance(target, ast.Name) and isinstance(old, tuple) and not isinstance(value, ast.Tuple):
            check_alone(self.read, target.id, old, node)
        new = self.read.operate(op, old, self.read.value(value), node)
        if isinstance(old, View) and old.shape:
            self.arrays.check_in_place(old, new, node)
            self.arrays.store(old, new, node)
        else:
            self.assign(target, new, node)

    def _call(self, node: ast.Call) -> None:
        """A call that is a statement."""
        if appended(self, node):
            return
        if isinstance(node.func, ast.Attribute) and self._is_array(node.func.value):
            changed_in_place(self, node, node.func)
            return
        found = self.read.value(node.func)
        name = library.qualified(found.value) if isinstance(found, Named) else None
        if name == "loopsat.assume":
            self._assume(node)
        elif name in IN_PLACE or name in (None, "print", "loopsat.bound"):
            call(self.read, node, True)
        elif stored_to(self, node) is None:
            hint = hints.FUNCTIONS.get(str(name).rpartition(".")[2], "assign its result")
            raise self.read.error("unsupported", f"`{shown(node)}` does nothing here", node, hint)

    def _result(self, node: ast.Call) -> Value:
        """What a call gives that is all of a right side."""
        if isinstance(node.func, ast.Attribute) and not isinstance(self.read.value(node.func.value), Named):
            return call(self.read, node, True)
        return stored_to(self, node) or call(self.read, node, True)

    def _is_array(self, node: ast.expr) -> bool:
        return isinstance(self.read.value(node), (View, Elementwise, Selection))

    def _assume(self, node: ast.Call) -> None:
        if len(node.args) != 1 or node.keywords:
            raise self.read.error("arguments", "loopsat.assume takes one condition", node)
        cond = self.read.condition(node.args[0])
        if cond is False:
            raise self.read.error("assumption-false", "the assumption is false", node)
        if isinstance(cond, Expr):
            self.program.emit(Assume(cond, self.source.span(node)))
            self.program.assume(cond)
            granted(self, node.args[0])

    # Branches and loops ----------------------------------------------------------------------------------------------

    def _if(self, node: ast.If, loop: ast.For | None = None) -> None:
        """A branch, which may be all of a step of a loop."""
        cond = self.read.condition(node.test)
        if isinstance(cond, bool):
            self.open_cells(node.body if cond else node.orelse)
            self.statements(node.body if cond else node.orelse)
            if loop is not None:
                carry_on(self, loop)
            return
        entry, held = self.frame.assigned, dict(self.frame.held)
        negated = self.frame.numbers.typer.unary("not", cond, node.test)
        self.program.branches += 1
        if loop is None:
            carry_in(self, node)
        then = self._branch(node, node.body, cond, loop)
        after, self.frame.assigned = self.frame.assigned, entry
        once, self.frame.held = self.frame.held, held
        other = self._branch(node, node.orelse, negated, None) if node.orelse else SKIP
        self.program.branches -= 1
        self.frame.held = in_both(once, self.frame.held)
        self.frame.assigned = after if node.test in self.frame.first else self.frame.assigned & after
        self.program.emit(If(cond, then, other, self.source.span(node)))

    # Loops after whose steps names stand for other arrays -----------------------------------------------------------

    def bound_arrays(self) -> dict[str, Binding]:
        """The arrays that names stand for which are assigned more than once."""
        return {name: found for name, found in self.frame.bindings.items() if name in self.frame.arrays}

    def step(self, node: ast.For, item: Callable[[], Value]) -> Stmt:
        """The body of a loop for one item; names of arrays are afterwards what it made them."""
        outer, given, level = dict(self.frame.bindings), self.bound_arrays(), self.level
        with self.program.nested() as lines:
            self.level = self.program.depth
            self.frame.forget(node)
            self.open_cells(node.body)
            self.assign(node.target, item(), node.target)
            if (guard := self.guard_of(node)) is not None:
                self._if(guard, node)
            else:
                self.statements(node.body)
                carry_on(self, node)
        self.level = level
        self.frame.forget(node)
        self.frame.bindings = {**outer, **{name: self.frame.bindings[name] for name in given}}
        return lines.stmt()

    def guard_of(self, node: ast.For) -> ast.If | None:
        """The branch that all of a step is, if it does nothing in loops that were left."""
        match node.body:
            case [ast.If(orelse=[]) as guard] if guard.test in self.frame.first:
                return guard
            case _:
                return None

    def key_of(self, node: ast.For | ast.If) -> Key:
        return self.frame.path, f"{node.lineno}:{node.col_offset}:{self.frame.order.get(node, '')}"
