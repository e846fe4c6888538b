"""Stores of whole arrays and sums over them: the loops that plain programs leave to NumPy."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, For, Load, Store, Undef, Var, const
from ir.script.plain.arrays import (
    MOST_ITEMS,
    Array,
    Elementwise,
    Indices,
    Selection,
    View,
    broadcast_index,
    broadcast_shape,
    same,
    shown_shape,
    whole,
)
from ir.script.plain.expressions import Evaluator
from ir.script.plain.frames import Value, shown
from ir.script.plain.library.selected import alike, beside
from ir.script.plain.program import Again, CellType, Key, Stands, columns_of, kept_in
from ir.script.plain.promotion import Number, Weak, expr_of, interval_of
from ir.script.plain.tuples import check_no_list, collected, stands_for_list
from ir.traverse import all_same, free_vars, has_loads, loads, reads

_SUMS = {"sum": "add", "mean": "add", "prod": "mul", "min": "min", "max": "max", "any": "or", "all": "and"}
_STARTS = {"prod": 1, "all": True}  # of nothing; that of others is 0
_INDICES = ("i", "j", "k", "l")


def _looks_up(number: Number) -> bool:
    expr = expr_of(number)
    return expr is not None and has_loads(expr)


class ArrayStores(Struct):
    """Writes loops over arrays for one function."""

    read: Evaluator
    sizes: frozenset[Var]  # the symbolic sizes that shapes may be made of

    def over(self, shape: tuple[Number, ...], body: Callable[[Indices], None], node: ast.AST) -> None:
        """Loops over all indices of a shape."""
        self._level(shape, (), body, node)

    def _level(self, shape: tuple[Number, ...], found: Indices, body: Callable[[Indices], None], node: ast.AST) -> None:
        program, span = self.read.program, self.read.source.span(node)
        if len(found) == len(shape):
            body(found)
            return
        extent = shape[len(found)]
        count = self.read.numbers.natural(extent, node)
        with program.nested() as lines:
            name = _INDICES[len(found)] if len(found) < len(_INDICES) else "i"
            head = program.loop(name, const(0, count.dtype), count, span)
            high = interval_of(extent)[1]
            index = Weak(head.var, 0, None if high is None else max(high - 1, 0))
            self._level(shape, (*found, index), body, node)
        program.emit(For(head.var, head.start, head.extent, lines.stmt(), span=span))

    def allocate(self, name: str, shape: tuple[Number, ...], dtype: DType, node: ast.AST) -> Buffer:
        """A local array; one whose size changes as the program runs is as large as it ever gets.

        Raises:
            ParseError: it is not known how large that is.
        """
        extents: list[Expr] = []
        for extent in shape:
            expr = self.read.numbers.natural(extent, node)
            if not self.settled(extent, node):
                most = interval_of(extent)[1]
                if most is None or most > MOST_ITEMS:
                    hint = "make it as large as it ever gets, and use a part of it"
                    raise self.read.error("shape", "the size of an array depends on loops or data", node, hint)
                expr = const(max(most, 0), expr.dtype)
            if isinstance(extent, int) and extent < 0:
                raise self.read.error("shape", f"an extent must not be negative, found {extent}", node)
            extents.append(expr)
        return self.read.program.alloc(name, tuple(extents), dtype, self.read.source.span(node))

    def settled(self, extent: Number, node: ast.AST) -> bool:
        """Whether an extent is the same throughout a call."""
        expr = self.read.numbers.natural(extent, node)
        return not has_loads(expr) and free_vars(expr) <= self.sizes

    def array(self, name: str, shape: tuple[Number, ...], dtype: DType, node: ast.AST) -> View:
        """A local array of a shape, which may be less than all of its buffer."""
        buffer = self.allocate(name, shape, dtype, node)
        found = whole(buffer, shape)
        return found if all(self.settled(e, node) for e in shape) else replace(found, whole=False)

    def learn(self, buffer: Buffer, item: Number, node: ast.AST, column: Expr | None = None) -> None:
        """An item is stored into a buffer, whose dtype is that of all items if it stands for a list; if it is a list of
        rows, to a column of them.

        Raises:
            Again: it has another one by now.
        """
        stands = self.read.program.listed.get(buffer)
        if stands is None:
            return
        columns = columns_of(buffer.shape)
        if columns != (None,) and isinstance(column, Const) and isinstance(column.value, int):
            columns = (column.value,)
        kinds = [self.read.program.learned.assign(stands.key, item, self.read.numbers, node, k) for k in columns]
        if kept_in(kinds[-1]) is not buffer.dtype:
            raise Again

    def learn_all(self, key: Key, array: Array, node: ast.AST) -> CellType:
        """What is known of the items of a list that has those of an array, too: that of each column of its rows."""
        learned, numbers = self.read.program.learned, self.read.numbers
        first = tuple(0 for _ in array.shape[:-1])
        places = [(*first, k or 0)[: len(array.shape)] for k in columns_of(array.shape)]
        items = [self.read.item(array, place, node) for place in places]
        return [learned.assign(key, v, numbers, node, k) for v, k in zip(items, columns_of(array.shape), strict=True)][
            -1
        ]

    def learn_row(self, key: Key, row: tuple[Value, ...] | Array, node: ast.AST) -> CellType:
        """What is known of the items of a list that has a row more: a tuple of numbers, or an array."""
        if not isinstance(row, tuple):
            rows = Elementwise((1, *row.shape), lambda i: self.read.item(row, i[1:], node))
            return self.learn_all(key, rows, node)
        numbers = [self.read.as_number(part, node) for part in row]
        assign, columns = self.read.program.learned.assign, columns_of((1, len(row)))
        told = columns if len(columns) == len(row) else [None] * len(row)
        return [assign(key, v, self.read.numbers, node, k) for v, k in zip(numbers, told, strict=True)][-1]

    def kept(self, name: str, array: Array, node: ast.AST) -> View:
        """An array in a buffer of its own."""
        span = self.read.source.span(node)
        shape = tuple(self.read.program.frozen("size", extent, span) for extent in array.shape)
        target = self.array(name, shape, self.read.dtype_of(array, node), node)
        listed = self.read.program.listed
        if isinstance(array, View) and array.buffer in listed:
            listed[target.buffer] = listed[array.buffer]
        self.store(target, replace(array, shape=shape), node)
        return target

    def store(self, target: View, value: Value, node: ast.AST) -> None:
        """`target[...] = value`, as if all of the value were worked out first."""
        read = self.read
        if stands_for_list(read, target):
            shape = value.shape if isinstance(value, (View, Elementwise)) else ()
            if len(shape) != len(target.shape) or not all(map(same, shape, target.shape)):
                hint = "store as many items as there are, or loop over the places"
                raise read.error("shape", "items of a list become more or fewer", node, hint)
        if not isinstance(value, (View, Elementwise)):
            number = read.as_number(value, node)
            if target.buffer not in read.program.listed:  # whose items are known as what they are
                number = read.numbers.convert(number, target.buffer.dtype, node)
            kept = read.program.frozen("value", number, read.source.span(node)) if _looks_up(number) else number
            value = Elementwise((), lambda _: kept)
        self._check_shapes(target, value, node)
        if self._overlaps(target, value, node):
            value = self.kept(f"{target.buffer.name}_old", value, node)
        source = value

        def element(indices: Indices) -> None:
            place = read.place(target, indices)
            if isinstance(source, Elementwise) and source.undefined:
                written: Expr = Undef(target.buffer.dtype, read.source.span(node))
            else:
                looked_up = read.item if target.buffer in read.program.listed else read.element
                number = looked_up(source, broadcast_index(source.shape, indices), node)
                self.learn(target.buffer, number, node, place[-1] if place else None)
                written = read.numbers.convert(number, target.buffer.dtype, node)
            read.program.emit(Store(target.buffer, place, written, read.source.span(node)))

        columns = self._columns(target, source, node)
        if columns == (None,):
            self.over(target.shape, element, node)
        else:
            for column in columns:
                self.over(target.shape[:-1], lambda i, k=column: element((*i, k or 0)), node)

    def _columns(self, target: View, source: Array, node: ast.AST) -> Sequence[int | None]:
        """The columns of a list of rows that are stored to one by one, since they are not of one kind."""
        read, columns, first = self.read, columns_of(target.buffer.shape), tuple(0 for _ in target.shape[:-1])
        listed = target.buffer in read.program.listed and columns != (None,)
        if not listed or not target.shape or len(source.shape) != len(target.shape):
            return (None,)
        last = read.place(target, (*first, len(columns) - 1))[-1]
        if not same(target.shape[-1], len(columns)) or not isinstance(last, Const) or last.value != len(columns) - 1:
            return (None,)
        kinds = {read.numbers.dtype_of(read.item(source, (*first, k or 0), node)).is_float for k in columns}
        return columns if len(kinds) > 1 else (None,)

    def truths(self, index: ast.expr) -> Array | None:
        """The array of truths that an index is, if it is one."""
        read = self.read
        index = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
        if not isinstance(index, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Name)):
            return None
        value = read.value(index)
        if not isinstance(value, (View, Elementwise)) or not value.shape:
            return None
        return value if read.dtype_of(value, index) is DType.BOOL else None

    def target(self, owner: ast.expr, node: ast.expr) -> View:
        """An array that is stored to where another one says."""
        read = self.read
        array = read.value(owner)
        if not isinstance(array, View):
            raise read.error("not-a-buffer", f"`{shown(owner)}` is not an array that can be stored to", node)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            part = beside(read, array, node.slice, read.array(node.slice.elts[0]), node)
            assert isinstance(part, View)
            return part
        return array

    def store_where(self, truths: Array, target: View, value: Value, node: ast.AST) -> None:
        """`target[truths] = value`, of a number, a selection where the same is true, or all that an update makes."""
        read = self.read
        self._check_shapes(replace(target, shape=target.shape[: len(truths.shape)]), truths, node)
        if isinstance(value, Selection) and alike(read, truths, value.truths, node):
            value = value.array
        if isinstance(value, (View, Elementwise)) and not all(map(same, value.shape, target.shape)):
            hint = "write a loop with `if`"
            raise read.error("unsupported", "what is stored where an array says must be a number", node, hint)
        number = value if isinstance(value, (View, Elementwise)) else read.as_number(value, node)
        check_no_list(read, (target,), node)

        def element(indices: Indices) -> Number:
            new = read.element(number, indices, node) if isinstance(number, (View, Elementwise)) else number
            new = read.numbers.convert(new, target.buffer.dtype, node)
            return read.numbers.select(
                read.element(truths, broadcast_index(truths.shape, indices[: len(truths.shape)]), node),
                new, read.element(target, indices, node), node,
            )  # fmt: skip

        self.store(target, Elementwise(target.shape, element), node)

    def _check_shapes(self, target: View, value: Array, node: ast.AST) -> None:
        shape = broadcast_shape([target.shape, value.shape], self.read.source, node)
        if len(shape) != len(target.shape) or not all(map(same, shape, target.shape)):
            message = f"an array of shape {shown_shape(value.shape)} does not fit {shown_shape(target.shape)}"
            raise self.read.error("shape", message, node)

    def _overlaps(self, target: View, value: Array, node: ast.AST) -> bool:
        """Whether elements of the value may be stored to before they are read."""
        if isinstance(value, Elementwise) and value.undefined:
            return False
        axes = [(Var(f"_{k}", DType.INT32), self.read.numbers.natural(n, node)) for k, n in enumerate(target.shape)]
        indices = tuple(Weak(var, 0, DType.INT32.max >> 1) for var, _ in axes)
        number = self.read.element(value, broadcast_index(value.shape, indices))
        expr = self.read.numbers.natural(number, node)
        place = self.read.place(target, indices)
        own = [load for load in loads(expr) if load.buffer == target.buffer]
        if any(map(has_loads, place)):  # data says where, so that one place may be there twice
            if reads(target.buffer, *place):
                message = f"the places to be stored to are read from {target.buffer.name} itself"
                raise self.read.error("unsupported", message, node, "copy them first, as in places = A.copy()")
            return bool(own)
        return any(
            not all_same(load.indices, place) and not self.read.program.apart(load.indices, place, axes) for load in own
        )

    def check_in_place(self, target: View, value: Value, node: ast.AST) -> None:
        """NumPy updates arrays in place only where the dtype of the result is of the same kind."""
        if not isinstance(value, (View, Elementwise)):
            return
        dtype = self.read.dtype_of(value, node)
        if not np.can_cast(dtype.numpy, target.buffer.dtype.numpy, "same_kind"):
            message = f"a result of {dtype} cannot be stored in place into {target.buffer.dtype}"
            raise self.read.error("dtype-mismatch", message, node, "convert it with .astype(...)")

    # Sums ------------------------------------------------------------------------------------------------------------

    def reduce(self, name: str, array: Array, axes: tuple[int, ...] | None, node: ast.AST) -> Value:
        """`np.sum`, `mean`, `prod`, `min`, `max`, `any` or `all` of an array, or along some axes of it."""
        read, numbers = self.read, self.read.numbers
        rank = len(array.shape)
        inner = tuple(range(rank)) if axes is None else axes
        outer = tuple(k for k in range(rank) if k not in inner)
        if read.dtype_of(array, node) is DType.BOOL:
            name = {"max": "any", "min": "all"}.get(name, name)
        extremum = name in ("min", "max")
        if any(isinstance(array.shape[k], int) and array.shape[k] == 0 for k in inner) and (extremum or name == "mean"):
            raise read.error("shape", f"{name} of an empty array", node)
        dtype = _sum_dtype(name, read.dtype_of(array, node))
        if extremum and dtype.is_complex:
            raise read.error("dtype-mismatch", f"{name} of complex numbers", node, "of their sizes, as in abs(z)")
        shape = tuple(array.shape[k] for k in outer)
        total = self.array(name, shape, dtype, node).buffer
        span = read.source.span(node)

        def at(fixed: Indices, loop: Indices) -> Indices:
            found = dict(zip((*outer, *inner), (*fixed, *loop), strict=True))
            return tuple(found[k] for k in range(rank))

        def one(fixed: Indices) -> None:
            place = tuple(numbers.natural(i, node) for i in fixed)
            first = at(fixed, tuple(0 for _ in inner))
            start = read.element(array, first, node) if extremum else _STARTS.get(name, 0)
            read.program.emit(Store(total, place, numbers.convert(start, dtype, node), span))

            def add(loop: Indices) -> None:
                value = read.element(array, at(fixed, loop), node)
                value = numbers.truth(value, node) if dtype is DType.BOOL else numbers.convert(value, dtype, node)
                op = _SUMS[name]
                joined = Binary(op, Load(total, place), value, span)  # pyright: ignore[reportArgumentType]
                read.program.emit(Store(total, place, joined, span))

            self.over(tuple(array.shape[k] for k in inner), add, node)

        with read.program.guarded(span):
            self.over(shape, one, node)
        result = Elementwise(shape, lambda i: Load(total, tuple(numbers.natural(k, node) for k in i)))
        if name == "mean":
            count: Number = 1
            for k in inner:
                count = numbers.binary("mul", count, array.shape[k], node)
            whole_sum = result
            result = Elementwise(shape, lambda i: numbers.binary("div", whole_sum.element(i), count, node))
        return result if shape else result.element(())

    def total_dtype(self, dtype: DType) -> DType:
        """The dtype in which NumPy adds up elements."""
        return _sum_dtype("sum", dtype)

    def table(self, rows: tuple[Value, ...], dtype: DType | None, node: ast.AST, stands: Stands | None = None) -> View:
        """An array of numbers, or of rows of the same length, that are written out; it may stand for a list."""
        read, found = self.read, list[tuple[tuple[int, ...], Number]]()
        shape = collected(rows, (), found)
        if shape is None:
            raise read.error("shape", "the rows of an array have different lengths", node)
        common, weak = read.numbers.kept([n for _, n in found], node)
        if stands is not None:
            told = columns_of(shape) != (None,)
            kinds = [read.program.learned.assign(stands.key, n, read.numbers, node, place[-1] if told else None)
                     for place, n in found]  # fmt: skip
            common, weak = kept_in(kinds[-1]), False
        natural = DType.INT64 if weak and common.is_integer else common
        view = whole(self.allocate("table", shape, natural if dtype is None else dtype, node), shape)
        if stands is not None:
            read.program.listed[view.buffer] = stands
        with read.program.guarded(read.source.span(node)):
            for place, number in found:
                indices = tuple(const(k, DType.INT32) for k in place)
                value = read.numbers.convert(number, view.buffer.dtype, node)
                read.program.emit(Store(view.buffer, indices, value, read.source.span(node)))
        return view

    def product(self, a: Array, b: Array, node: ast.AST) -> Value:
        """`a @ b` of vectors and matrices, and of arrays of matrices."""
        read, numbers = self.read, self.read.numbers
        if not a.shape or not b.shape:
            raise read.error("shape", "products are of vectors and matrices", node, "write `*` for numbers")
        if max(len(a.shape), len(b.shape)) > 2:
            return self._products(a, b, node)
        rows, columns = a.shape[:-1], b.shape[1:]
        if not same(a.shape[-1], b.shape[0]):
            message = f"shapes {shown_shape(a.shape)} and {shown_shape(b.shape)} do not fit each other"
            raise read.error("shape", message, node)
        dtype, _ = numbers.common([read.numbers.convert(0, read.dtype_of(x, node), node) for x in (a, b)], node)
        shape = (*rows, *columns)

        def term(i: Indices, k: Number) -> Expr:
            x = read.element(a, (*i[: len(rows)], k), node)
            y = read.element(b, (k, *i[len(rows) :]), node)
            return numbers.convert(numbers.binary("mul", x, y, node), dtype, node)

        found = self.array("product", shape, dtype, node)
        total = found.buffer
        span = read.source.span(node)

        def one(fixed: Indices) -> None:
            place = tuple(numbers.natural(i, node) for i in fixed)
            read.program.emit(Store(total, place, numbers.convert(0, dtype, node), span))

            def add(loop: Indices) -> None:
                joined = Binary("add", Load(total, place), term(fixed, loop[0]), span)
                read.program.emit(Store(total, place, joined, span))

            self.over((a.shape[-1],), add, node)

        with read.program.guarded(span):
            self.over(shape, one, node)
        return found if shape else Load(total, ())

    def _products(self, a: Array, b: Array, node: ast.AST) -> Value:
        """The products of matrices along the first dimensions, which are broadcast."""
        read, numbers = self.read, self.read.numbers
        rows, columns = a.shape[-2:-1], b.shape[-1:] if len(b.shape) > 1 else ()
        if not same(a.shape[len(a.shape) - 1], b.shape[max(len(b.shape) - 2, 0)]):
            message = f"shapes {shown_shape(a.shape)} and {shown_shape(b.shape)} do not fit each other"
            raise read.error("shape", message, node)
        outer = broadcast_shape([a.shape[:-2], b.shape[:-2]], read.source, node)
        shape = (*outer, *rows, *columns, a.shape[-1])

        def product(i: Indices) -> Number:
            at, inner = i[: len(outer)], i[len(outer) :]
            one = (*broadcast_index(a.shape[:-2], at), *inner[: len(rows)], inner[-1])
            other = (*broadcast_index(b.shape[:-2], at), inner[-1], *inner[len(rows) : -1])
            return numbers.binary("mul", read.element(a, one, node), read.element(b, other, node), node)

        whole_product = Elementwise(shape, product)
        dtype = read.dtype_of(whole_product, node)
        found = self.reduce("sum", whole_product, (len(shape) - 1,), node)
        return read.lifted(lambda v: numbers.convert(v[0], dtype, node), [found], node)


def _sum_dtype(name: str, dtype: DType) -> DType:
    """The dtype in which NumPy adds up."""
    if name in ("any", "all"):
        return DType.BOOL
    if name in ("min", "max") or dtype.is_float or dtype.is_complex:
        return dtype
    if name == "mean":
        return DType.FLOAT64
    return DType.INT64 if dtype is DType.BOOL or dtype.is_signed else DType.UINT64
