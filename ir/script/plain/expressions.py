"""Expressions of plain Python programs: from Python syntax to numbers and arrays. Nothing of the program is run."""

from __future__ import annotations

import ast
import numbers
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TypeVar

import numpy as np
from msgspec import Struct

import ir.presburger.sets as pb
from ir.arith import shortest
from ir.dtypes import DType
from ir.errors import ParseError, suggest
from ir.nodes import Binary, Cast, Const, Expr, Load, Var, const
from ir.script.expressions import BINARY, MAX_DEPTH
from ir.script.plain import hints, subscripts
from ir.script.plain.arrays import (
    Array,
    Elementwise,
    Indices,
    Selection,
    View,
    broadcast_index,
    broadcast_shape,
    is_number,
    transposed,
)
from ir.script.plain.calls import call
from ir.script.plain.comparisons import compared
from ir.script.plain.frames import Caller, Cell, Frame, Growing, Maybe, Named, Value, shown, used
from ir.script.plain.library import complexes, dictionaries, records, selected
from ir.script.plain.library import names as library
from ir.script.plain.library.arranged import copied, extents_of, flattened, one_of, size_of
from ir.script.plain.library.ordered import joined, repeated
from ir.script.plain.logic import deciding, logical
from ir.script.plain.program import Program, Stands, kept_in
from ir.script.plain.promotion import Number, Numbers, Weak
from ir.script.plain.syntax.counters import Sized
from ir.script.plain.syntax.desugared import Recorded
from ir.script.plain.syntax.filled import Natural
from ir.script.plain.syntax.lists import Listed
from ir.script.plain.tuples import MAX_ITEMS, Items, alike_list, check_no_list, of_kind, outer_table, stands_for_list
from ir.script.scope import Source
from ir.traverse import has_loads

_Found = TypeVar("_Found")
_Part = TypeVar("_Part", bound=Array)
MAX_LINKS = 60  # of a sum or product that is one expression


class Evaluator(Struct):
    """Reads expressions of one function, into one program."""

    frame: Frame
    program: Program
    caller: Caller
    depth: int = 0

    @property
    def source(self) -> Source:
        return self.frame.source

    @property
    def numbers(self) -> Numbers:
        return self.frame.numbers

    def error(self, code: str, message: str, node: ast.AST, help: str = "") -> ParseError:
        """An error at a syntax node."""
        return self.source.error(code, message, node, help=help)

    # Kinds of values -------------------------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> Number:
        """A single number."""
        return self.as_number(self.value(node), node)

    def as_number(self, value: Value, node: ast.AST) -> Number:
        """A value that must be a single number; an array without dimensions is one."""
        if isinstance(value, (View, Elementwise)) and not value.shape:
            return self.element(value, (), node)
        if is_number(value):
            return value  # pyright: ignore[reportReturnType]
        if isinstance(value, Named) and isinstance(value.value, Maybe):  # of None, whatever fails may do anything
            return value.value.value
        what = "an array" if isinstance(value, (View, Elementwise, Selection)) else "no number"
        hint = "take an element, as in A[i]" if what == "an array" else ""
        hint = hints.of_text(value.value) if isinstance(value, Named) else hint
        hint = selected.HINT if isinstance(value, Selection) else hint
        raise self.error("dtype-mismatch", f"`{shown(node)}` is {what}, where a number is needed", node, hint)

    def array(self, node: ast.expr) -> Array:
        """An array."""
        value = self.array_or(node)
        if isinstance(value, (View, Elementwise)):
            return value
        if isinstance(value, Selection):
            return selected.compacted(self, value, node)
        raise self.error("not-an-array", f"`{shown(node)}` is no array", node)

    def array_or(self, node: ast.expr) -> Value:
        """What an expression means where an array is wanted: a list of items is one."""
        return self.caller.listed(node) if isinstance(node, ast.ListComp) else self.value(node)

    def items(self, nodes: Sequence[ast.expr], read: Callable[[ast.expr], Value]) -> Iterator[Value]:
        """The items of a tuple that is written out, of which some may be tuples after a star."""
        for node in nodes:
            if not isinstance(node, ast.Starred):
                yield read(node)
                continue
            if isinstance(node.value, (ast.ListComp, ast.GeneratorExp)):
                yield from self.caller.items(node.value, node)
                continue
            inner = self.value(node.value)
            if isinstance(inner, (View, Elementwise)) and inner.shape and isinstance(inner.shape[0], int):
                inner = tuple(self.row(inner, k, node) for k in range(min(inner.shape[0], MAX_ITEMS + 1)))
            if not isinstance(inner, tuple) or len(inner) > MAX_ITEMS:
                raise self.error("unsupported", f"`{shown(node)}` is no tuple", node, "write its items out")
            yield from inner

    def said(self, node: ast.expr | None) -> str:
        """A text that a message is; what stands for values in it is written as it stands, unless it is known."""
        match node:
            case ast.JoinedStr(values=parts):
                return "".join(map(self.said, parts))
            case ast.FormattedValue(value=ast.Name() as value):
                found = self.value(value)
                known = found.value if isinstance(found, Named) else found
                return str(known) if isinstance(known, (str, int, float)) else f"{{{shown(value)}}}"
            case ast.FormattedValue(value=value):
                return f"{{{shown(value)}}}"
            case ast.Constant(value=str() as text):
                return text
            case _:
                return ""

    def condition(self, node: ast.expr) -> bool | Expr:
        """What `if` asks: a truth that is known, or a condition."""
        if isinstance(node, ast.BoolOp):
            return logical(self, node, self.condition)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return not inner if isinstance(inner, bool) else self.numbers.typer.unary("not", inner, node)
        value = self.value(node)
        if isinstance(value, Named) and isinstance(value.value, Maybe):
            there = self.numbers.typer.unary("not", self.numbers.truth(value.value.absent, node), node)
            return Binary("and", there, self.numbers.truth(value.value.value, node), self.source.span(node))
        if isinstance(value, Named):
            if value.value is None or isinstance(value.value, str):
                return bool(value.value)
        elif isinstance(value, tuple):
            return bool(value)
        else:
            if stands_for_list(self, value) and isinstance(value, View):
                value = self.numbers.binary("gt", value.shape[0], 0, node)
            found = self.as_number(value, node)
            return bool(found) if isinstance(found, (bool, int, float)) else self.numbers.truth(found, node)
        raise self.error("dtype-mismatch", f"`{shown(node)}` is no condition", node, "compare it, as in `x != 0`")

    def under(self, cond: Expr | None, holds: bool, read: Callable[[], _Found], node: ast.AST) -> _Found:
        """What is read where a condition holds, or does not; None is no condition."""
        if cond is None:
            return read()
        test = cond if holds else self.numbers.typer.unary("not", cond, node)
        self.program.conditions.append(test)
        found = read()
        self.program.conditions.pop()
        return found

    def grant(self, cond: Expr, holds: bool) -> None:
        """Take it that a condition holds, or does not, for the rest of the expression."""
        if not has_loads(cond):
            where = pb.condition(cond)
            self.program.facts.append(where.may if holds else where.negated().may)

    # Syntax ----------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """What an expression means."""
        self.deeper(1, node)
        try:
            return self._value(node)
        finally:
            self.depth -= 1

    def deeper(self, links: int, node: ast.AST) -> None:
        self.depth += links
        if self.depth > MAX_DEPTH:
            raise self.error(
                "too-deep", "the expression is nested too deeply", node, "compute it in steps, with a loop or names"
            )

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return number
            case ast.Constant(value=complex() as number):
                return complexes.literal(number)
            case ast.Constant(value=None | str() as value):
                return Named(value)
            case ast.Constant(value=bytes() as value):
                return (*value,)
            case ast.Name(id=name):
                return self.name(name, node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(value=target, slice=index):
                return self.subscript(self.value(target), index, node)
            case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                return self.caller.product(self.array(left), self.array(right), node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self._binary(op, left, right, node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, operand, node)
            case ast.BoolOp():
                return deciding(self, node)
            case ast.Compare():
                return compared(self, node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self.call(node)
            case ast.Lambda():
                return self.caller.define(node)
            case ast.JoinedStr(values=parts):
                return Named("".join(map(self._formatted, parts)))
            case Listed():
                return self.caller.listed(node)
            case Sized():
                return self.sized(node)
            case Natural(value=value):
                number = self.numbers.integer(self.number(value), node)
                return Weak(number.expr, 0, number.high) if isinstance(number, Weak) else number
            case ast.ListComp():
                return self.caller.listed(node, items=True)
            case ast.Dict():
                return dictionaries.written_out(self, node)
            case ast.List(elts=elts):
                return Items(self.items(elts, self.value))
            case ast.Tuple(elts=elts):
                return of_kind(node.kind if isinstance(node, Recorded) else None, self.items(elts, self.value))
            case _:
                raise self.error("unsupported", f"`{shown(node)}` is not supported", node, _hint(node))

    def _formatted(self, node: ast.expr) -> str:
        """A part of a text, of which all values are known."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        assert isinstance(node, ast.FormattedValue)
        value = self.value(node.value)
        known = value.value if isinstance(value, Named) else value
        spec = "" if node.format_spec is None else self._value(node.format_spec)
        plain = known is None or isinstance(known, (str, int, float))
        if not plain or node.conversion not in (-1, ord("s")):
            message = f"`{shown(node.value)}` in a text is not known when the program is made"
            raise self.error("unsupported", message, node.value, _hint(node))
        return format(known, str(spec.value) if isinstance(spec, Named) else "")

    def _unassigned(self, name: str, node: ast.AST, before: str) -> ParseError:
        near = suggest(name, (n for n in self.frame.bindings if n != name))
        hint = f"{near} Otherwise, assign {name} before {before}" if near else f"assign {name} before {before}"
        return self.error("unassigned", f"`{name}` may be read before it is assigned", node, hint)

    def name(self, name: str, node: ast.AST) -> Value:
        """What a name means here."""
        bound = self.frame.bindings.get(name)
        if isinstance(bound, Cell):
            if bound.start is not None and name not in self.frame.stored and bound.depth == self.program.depth:
                return bound.start
            if bound.buffer is None or not self.frame.has(name):
                raise self._unassigned(name, node, "the loop or branch")
            held = self.frame.held.get(bound.key)
            known = isinstance(held, (bool, int, float)) or (isinstance(held, Weak) and isinstance(held.expr, Var))
            return held if held is not None and known else self.read(bound)
        if isinstance(bound, Growing):
            return () if bound.buffer is None else used(bound, bound.buffer, bound.size)
        if bound is not None:
            if name in self.frame.late and not self.frame.has(name):
                raise self._unassigned(name, node, "the loop or branch")
            return bound
        if name in self.frame.locals:
            raise self._unassigned(name, node, "it is used")
        if self.frame.enclosing is not None:
            return self.frame.enclosing(name, node)
        try:
            return self.known(self.frame.outer(name), node)
        except KeyError:
            near = suggest(name, self.frame.bindings)
            raise self.error("unknown-name", f"`{name}` is not defined", node, near) from None

    def sized(self, node: Sized) -> View:
        """A list of which a counter says how long it is."""
        bound = self.frame.bindings.get(node.value.id)
        if not isinstance(bound, Growing) or bound.buffer is None:
            raise self._unassigned(node.value.id, node, "the loop or branch")
        return used(bound, bound.buffer, self.number(node.size))

    def read(self, cell: Cell) -> Number:
        """The value of a cell."""
        kind = self.program.learned.cells[cell.key]
        assert cell.buffer is not None
        value = Load(cell.buffer, ())
        return self.numbers.number(value, kind.weak, kind.low, kind.high)

    def known(self, value: object, node: ast.AST) -> Value:
        """A Python object that the program can name: numbers and tuples of them, and what is only looked at."""
        match value:
            case bool() | int() | float() if type(value) in (bool, int, float):
                return value
            case _ if isinstance(value, (complex, np.complexfloating)):
                found = complexes.literal(complex(value))
                dtype = library.dtype_named(type(value))
                return found if type(value) is complex or dtype is None else self.numbers.convert(found, dtype, node)
            case numbers.Number() if (dtype := library.dtype_named(type(value))) is not None:
                number = value.item()  # pyright: ignore[reportAttributeAccessIssue]
                return const(shortest(number, dtype) if dtype.is_float else number, dtype)
            case bytes():
                return (*value,)
            case _ if records.is_kind(type(value)):
                return records.record_of(self, value, node)
            case tuple() | list():
                return tuple(self.known(v, node) for v in value)
            case dict():
                return dictionaries.of_outside(self, value, node)
            case _ if not isinstance(value, type) and hasattr(value, "__array__") and hasattr(value, "shape"):
                table = outer_table(self, np.asarray(value), node)
                if table is None:
                    message = f"`{shown(node)}` is an array of outside, with more than {MAX_ITEMS} elements or none"
                    raise self.error("outer-array", message, node, "make it a parameter")
                return table
            case _:
                return Named(value)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if (item := records.item_named(self, owner, node)) is not None:
            return item
        if isinstance(owner, (View, Elementwise)):
            return self._of_array(owner, node)
        if dictionaries.dictionary_of(owner) is not None and node.attr in dictionaries.METHODS:
            return Named(owner)  # which is called
        if isinstance(owner, Selection) and node.attr in ("shape", "ndim", "dtype", "size"):
            return selected.attribute(self, owner, node)
        if isinstance(owner, Named) and isinstance(owner.value, ModuleType):
            for found in library.attribute(owner.value, node.attr):
                return self.known(found, node)
        if isinstance(owner, Named) and isinstance(owner.value, (np.ufunc, np.finfo, np.iinfo)):
            found = getattr(owner.value, node.attr, None)
            if found is not None:
                return self.known(found, node)
        if isinstance(owner, Named) and isinstance(owner.value, DType) and node.attr == "type":
            return Named(owner.value.numpy.type)
        if is_number(owner) and node.attr in (complexes.REAL, complexes.IMAG):
            return complexes.part_named(self.numbers, node.attr, self.as_number(owner, node), node)
        if isinstance(owner, Expr) and node.attr in ("dtype", "ndim", "shape", "size"):
            return {"dtype": Named(owner.dtype), "ndim": 0, "shape": (), "size": 1}[node.attr]
        hint = hints.of_attribute(shown(node.value), node.attr)
        if isinstance(owner, Named) and isinstance(owner.value, ModuleType):
            names = dir(owner.value)
            near = "" if node.attr in names else suggest(node.attr, names)
            hint = hint or near.replace("`", f"`{shown(node.value)}.", 1)
        elif isinstance(owner, Named):
            hint = hint or hints.of_object(owner.value)
        if isinstance(owner, tuple) and node.attr in ("append", "extend", "insert"):
            outer = isinstance(node.value, ast.Name) and node.value.id not in self.frame.locals
            hint = hints.OUTER if outer else hints.APPENDING
        raise self.error("unsupported", f"`{shown(node)}` is not supported", node, hint)

    def _of_array(self, array: Array, node: ast.Attribute) -> Value:
        match node.attr:
            case "shape":
                return extents_of(self, array.shape, node)
            case "ndim":
                return len(array.shape)
            case "size":
                return size_of(self, array.shape, node)
            case "dtype":
                return Named(self.dtype_of(array, node))
            case "flat":
                return flattened(self, array, node)
            case "real" | "imag" as name:
                return self.lifted(lambda v: complexes.part_named(self.numbers, name, v[0], node), [array], node)
            case "T":
                return transposed(array, range(len(array.shape))[::-1])
            case attr:
                known = ("shape", "ndim", "size", "dtype", "T", "sum", "min", "max", "mean", "copy", "astype")
                raise self.error("unsupported", f"`{shown(node)}` is not supported", node, suggest(attr, known))

    # Operators -------------------------------------------------------------------------------------------------------

    def lifted(self, function: Callable[[list[Number]], Number], values: Sequence[Value], node: ast.AST) -> Value:
        """A function of numbers on numbers, or element by element on arrays."""
        if any(isinstance(v, Selection) for v in values):
            return selected.lifted(self, function, values, node)
        arrays = [v for v in values if isinstance(v, (View, Elementwise))]
        if not arrays:
            return function([self.as_number(v, node) for v in values])
        shape = broadcast_shape([a.shape for a in arrays], self.source, node)
        fixed = [v if isinstance(v, (View, Elementwise)) else self.as_number(v, node) for v in values]

        def element(indices: Indices) -> Number:
            return function(
                [
                    self.element(v, broadcast_index(v.shape, indices), node)
                    if isinstance(v, (View, Elementwise))
                    else v
                    for v in fixed
                ]
            )

        return Elementwise(shape, element)

    def element(self, array: Array, indices: Indices, node: ast.AST | None = None) -> Number:
        """An element of an array; `node` is where it is read."""
        if isinstance(array, Elementwise):
            return array.element(indices)
        span = None if node is None else self.source.span(node)
        found = Load(array.buffer, self.place(array, indices), span)
        stands = self.program.listed.get(array.buffer)
        return found if stands is None else self._listed(found, stands, alone=not indices)

    def item(self, array: Array, indices: Indices, node: ast.AST | None = None) -> Number:
        """An element of what may be a list of rows, as the item of a row: its column may have a dtype of its own."""
        if isinstance(array, Elementwise):
            return array.element(indices)
        span = None if node is None else self.source.span(node)
        found, stands = Load(array.buffer, self.place(array, indices), span), self.program.listed.get(array.buffer)
        return found if stands is None else self._listed(found, stands, alone=True)

    def _listed(self, found: Load, stands: Stands, *, alone: bool) -> Number:
        """A number in a list; one that stands `alone` has the dtype of its column in the rows of the list."""
        last = found.indices[-1] if len(found.indices) > 1 and alone else None
        column = last.value if isinstance(last, Const) and isinstance(last.value, int) else None
        own = None if column is None or found.dtype.is_complex else self.program.learned.column(stands.key, column)
        kind = self.program.learned.cells[stands.key] if own is None else own
        value: Expr = found
        if own is not None and own.dtype is DType.BOOL and found.dtype is not DType.BOOL:
            value = Binary("ne", found, const(0, found.dtype), found.span)
        elif own is not None and found.dtype.is_float and own.dtype is not found.dtype:
            value = Cast(kept_in(own), found, found.span)
        return self.numbers.number(value, kind.weak, kind.low, kind.high)

    def dtype_of(self, array: Array, node: ast.AST) -> DType:
        """The dtype of an array's elements."""
        if isinstance(array, View):
            return array.buffer.dtype
        element = array.element(tuple(0 for _ in array.shape))
        dtype = self.numbers.dtype_of(element)
        return DType.INT64 if dtype is DType.INT32 and not isinstance(element, Expr) else dtype  # as of a list

    def _check_power(self, base: Value, exponent: Value) -> None:
        """Start again with the numbers of parameters in an exponent: they say whether a power of integers is one."""
        whole = all(isinstance(v, int) or (isinstance(v, Weak) and v.expr.dtype.is_integer) for v in (base, exponent))
        if whole and isinstance(exponent, Weak) and (exponent.low is None or exponent.low < 0):
            self.needs_value(exponent)

    def _binary(self, op: ast.operator, left: ast.expr, right: ast.expr, node: ast.expr) -> Value:
        parts: list[tuple[ast.operator, ast.expr, ast.expr]] = [(op, right, node)]
        while isinstance(left, ast.BinOp) and type(left.op) in BINARY:  # long sums lean to the left
            parts.append((left.op, left.right, left))
            left = left.left
        found = self.value(left)
        for links, (operator, operand, place) in enumerate(reversed(parts), 1):
            other = self.value(operand)
            if isinstance(operator, ast.Pow):
                self._check_power(found, other)
            found = self.operate(operator, found, other, place)
            if links % MAX_LINKS == 0 and is_number(found) and not self.program.conditional:
                found = self.program.frozen("partial", found, self.source.span(place))  # pyright: ignore[reportArgumentType]
        return found

    def operate(self, op: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
        """A binary operator on numbers or arrays; lists and texts are joined."""
        if (text := _text(op, a, b)) is not None:
            return Named(text)
        if isinstance(op, ast.Add) and (both := joined(self, a, b, node)) is not None:
            return both
        if isinstance(op, ast.Mult) and (again := repeated(self, a, b, node)) is not None:
            return again
        check_no_list(self, (a, b), node)
        if isinstance(a, tuple) and isinstance(b, tuple) and isinstance(op, ast.Add):
            return (*a, *b)
        if isinstance(a, tuple) or isinstance(b, tuple):
            times = b if isinstance(a, tuple) else a
            if isinstance(op, ast.Mult) and isinstance(times, int):
                return (a if isinstance(a, tuple) else b if isinstance(b, tuple) else ()) * times
            raise self.error("dtype-mismatch", "an operator of a list or tuple", node, hints.APPENDING)
        name = BINARY[type(op)]
        return self.lifted(lambda v: complexes.operated(self.numbers, name, v[0], v[1], node), [a, b], node)

    def _unary(self, op: ast.unaryop, operand: ast.expr, node: ast.expr) -> Value:
        if isinstance(op, ast.Not):
            found = self.condition(operand)
            return not found if isinstance(found, bool) else self.numbers.typer.unary("not", found, node)
        value = self.value(operand)
        check_no_list(self, (value,), node)
        if isinstance(op, ast.UAdd):
            return copied(self, value) if isinstance(value, View) else value
        name = "neg" if isinstance(op, ast.USub) else "bitnot"
        return self.lifted(lambda v: self.numbers.unary(name, v[0], node), [value], node)

    def _choice(self, node: ast.IfExp) -> Value:
        cond = self.condition(node.test)
        if isinstance(cond, bool):
            return self.value(node.body if cond else node.orelse)
        arms: list[Value] = []
        for branch, holds in ((node.body, True), (node.orelse, False)):
            facts = len(self.program.facts)
            self.grant(cond, holds)
            arms.append(self.under(cond, holds, lambda branch=branch: self.value(branch), node))
            del self.program.facts[facts:]
        return self._one_of(cond, arms, node)

    def _one_of(self, cond: Expr, arms: list[Value], node: ast.IfExp) -> Value:
        """One of two arrays, numbers, or tuples of such."""
        if all(isinstance(v, (View, Elementwise)) for v in arms):
            return one_of(self, cond, arms, node)
        one, two = arms
        if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
            found = Items(self._one_of(cond, [a, b], node) for a, b in zip(one, two, strict=True))
            found.arms = one, two
            return found if isinstance(one, Items) or isinstance(two, Items) else alike_list(one, tuple(found))
        a, b = (self.as_number(v, p) for v, p in zip(arms, (node.body, node.orelse), strict=True))
        return self.numbers.select(cond, a, b, node)

    # Elements --------------------------------------------------------------------------------------------------------

    def subscript(self, owner: Value, index: ast.expr, node: ast.AST) -> Value:
        """An item of a tuple, or an element or part of an array."""
        return subscripts.subscript(self, owner, index, node)

    def part(self, array: Array, index: ast.expr, node: ast.AST, *, stored: bool = False) -> Array:
        """The part of an array that a subscript names, which may be `stored` to; an element has no dimensions."""
        return subscripts.part(self, array, index, node, stored=stored)

    def row(self, array: Array, index: Number, node: ast.AST) -> Value:
        """The element or part of an array at an index of its first dimension."""
        return subscripts.row(self, array, index, node)

    def at_row(self, array: _Part, index: Number, node: ast.AST) -> _Part:
        """The part of an array at an index of its first dimension, also where that is an element."""
        return subscripts.at_row(self, array, index, node)

    def needs_value(self, value: Number) -> None:
        """Start again with the numbers of parameters in a value, where it decides about shapes and loops."""
        subscripts.needs_value(self, value)

    def place(self, view: View, indices: Indices) -> tuple[Expr, ...]:
        """The indices of the buffer for those of a view."""
        return subscripts.place(self, view, indices)

    # Calls -----------------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call, *, alone: bool = False) -> Value:
        """A call; `alone` says that nothing else is worked out in its statement."""
        return call(self, node, alone)


def _hint(node: ast.expr) -> str:
    return hints.EXPRESSIONS.get(type(node), "")


def _text(op: ast.operator, a: Value, b: Value) -> str | None:
    """What an operator makes of texts."""
    one, other = (v.value if isinstance(v, Named) else v for v in (a, b))
    if isinstance(op, ast.Add) and isinstance(one, str) and isinstance(other, str):
        return one + other
    if isinstance(op, ast.Mult) and isinstance(one, str) and type(other) is int:
        return one * other
    return other * one if isinstance(op, ast.Mult) and isinstance(other, str) and type(one) is int else None
