"""Plain Python functions of loops over arrays as loop programs: read from their source, never run.

The program is made for a signature. Names that change become buffers without dimensions, whose dtypes are found by
translating again until nothing new is learned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.errors import KindError, ParseError, Span
from ir.nodes import SKIP, Alloc, Assume, Binary, Buffer, Cast, Const, Expr, Load, PrimFunc, Stmt, Store, Var, const
from ir.presburger.sets import exclusive
from ir.script.plain import hints
from ir.script.plain.arrays import MOST_ITEMS, Elementwise, Selection, View, whole
from ir.script.plain.complex_parts import with_parts
from ir.script.plain.frames import Maybe, Named, Value
from ir.script.plain.functions import Callers, frame_of
from ir.script.plain.library.dictionaries import Dictionary, dictionary_of, item_of_key
from ir.script.plain.library.ragged import Ragged
from ir.script.plain.library.records import is_kind
from ir.script.plain.library.selected import compacted
from ir.script.plain.program import Again, CellType, Learned, NeedsRange, NeedsValue, Program, Recount, Stands
from ir.script.plain.promotion import Number, Weak, interval_of
from ir.script.plain.signature import ArgumentType, ArrayType, Form, Known, ScalarType
from ir.script.plain.statements import Body
from ir.script.plain.tuples import Items, Record, of_kind
from ir.traverse import (
    all_exprs,
    buffers_written,
    children,
    map_expr,
    map_stmt,
    stmt_exprs,
    stores_in,
    walk,
)

_MAX_PASSES = 1000
OPEN_FROM = 2  # sizes below that are numbers: arrays of one element are broadcast, and empty ones have no last element


class Made(Struct, frozen=True):
    """What is returned as an object with parts: `make` makes it of them, in their order."""

    make: Callable[..., Any]
    parts: tuple[Nested, ...]


Nested = int | tuple["Nested", ...] | Made  # the place of one result, or what is made of such


class Plain(Struct, frozen=True):
    """A plain Python function as a program: `results` are the buffers that it returns, `returned` how it does."""

    func: PrimFunc
    results: tuple[str, ...]
    returned: Nested
    given: tuple[str, ...]  # names of parameters that callers give
    parts: Mapping[str, tuple[str, str]]  # of parameters that are complex, which are two of the program


@exclusive
def translate(
    function: FunctionType,
    types: Mapping[str, ArgumentType],
    given: frozenset[str] = frozenset(),
    exact: bool = False,
    forms: Mapping[str, Form] | None = None,
) -> Plain:
    """The program of a function for arguments of these types, of which some are parts of parameters with a form.

    `given` names integer parameters whose value the caller could tell. `exact` keeps what Python's `min` and `max` do
    with NaN and signed zeros.

    Raises:
        ParseError: the source is not available, or not of the language.
        NeedsValue: a parameter in `given` decides about a shape or a loop: its value must be `Known`.
        NeedsRange: a parameter in `given` is a place of an array: it must be known on which side of some numbers it is.
    """
    learned = Learned()
    for _ in range(_MAX_PASSES):
        learned.passes += learned.changed
        learned.changed = False
        try:
            found = _once(function, types, given, exact, forms or {}, learned)
        except (NeedsValue, NeedsRange):
            raise
        except Recount:
            learned = Learned(reading=learned.reading)
            continue
        except Again:
            continue
        except RecursionError as error:
            message = f"{function.__name__} is nested too deeply to be read"
            raise ParseError("too-deep", message, help="split the expression or the loops") from error
        if not learned.changed:
            return found
    raise ParseError("too-large", f"the dtypes of names in {function.__name__} do not settle", help="split it")


def _once(
    function: FunctionType,
    types: Mapping[str, ArgumentType],
    given: frozenset[str],
    exact: bool,
    forms: Mapping[str, Form],
    learned: Learned,
) -> Plain:
    opened = frame_of(function, (), exact, learned.reading)
    frame, nodes, params = opened.frame, opened.body, opened.params
    if opened.rest:
        message = f"{function.__name__} takes any number of arguments"
        raise frame.source.error("unsupported", message, nodes[0], help="name each parameter, or pass a tuple")
    program = Program(learned, {})
    sizes = {n: Var(n, DType.INT32) for t in types.values() if isinstance(t, ArrayType) for n in t.shape
             if isinstance(n, str)}  # fmt: skip
    own = {name: program.fresh(name, alone=True) for name, kind in types.items() if not isinstance(kind, Known)}
    program.given |= {own[n]: n for n in given if isinstance(types[n], ScalarType)}
    for size in sizes:
        program.taken |= {size}
        program.used.add(size)
    body = Body(frame, program, frozenset(sizes.values()), Callers((function,)))
    parameters: list[Var | Buffer] = []
    arguments: dict[str, Value] = {}
    place = nodes[0]
    for name, kind in types.items():
        match kind:
            case Known(value=value):
                arguments[name] = body.read.known(value, place)
            case ScalarType(dtype=dtype, weak=weak):
                var = Var(own[name], dtype, frame.source.span(place))
                parameters.append(var)
                arguments[name] = Weak(var) if weak and dtype is not DType.BOOL else var
                program.bound(var, kind.low, kind.stop)
            case ArrayType(shape=shape, dtype=dtype):
                extents = tuple(const(n, DType.INT32) if isinstance(n, int) else sizes[n] for n in shape)
                buffer = Buffer(own[name], extents, dtype)
                parameters.append(buffer)
                known = tuple(n if isinstance(n, int) else Weak(sizes[n], OPEN_FROM, DType.INT32.max) for n in shape)
                arguments[name] = whole(buffer, known)
    for size in sizes.values():
        known = Binary("ge", size, const(OPEN_FROM, DType.INT32))
        program.emit(Assume(known))
        program.assume(known)
    given_to = {name: _formed(body, forms.get(name, name), arguments) for name in params}
    try:
        value = body.run(nodes, given_to)
    except ParseError as error:
        raise program.refused or error from None
    if program.refused is not None:
        raise program.refused
    written_params = _written(program, parameters)
    if isinstance(value, Named) and value.value is None:
        results = [b.name for b in written_params]
        returned: Nested = 0 if len(results) == 1 else tuple(range(len(results)))
        if not results:
            message = f"{function.__name__} neither returns anything nor stores into a parameter"
            raise frame.source.error("no-result", message, place, help="end it with `return`")
    else:
        results, returned = _outputs(body, value, nodes[-1])
        for buffer in written_params:
            if buffer.name not in results:
                message = f"{buffer.name} is stored to and not returned, and arguments of a call never change"
                hint = f"return {buffer.name} too, or store into {buffer.name}.copy()"
                raise ParseError("lost-result", message, _first_store(program, buffer), help=hint)
    outputs = [w.buffer for _, w in program.lines.wraps if isinstance(w, Alloc) and w.buffer.name in results]
    program.lines.wraps = [(k, w) for k, w in program.lines.wraps if not (isinstance(w, Alloc) and w.buffer in outputs)]
    params_and_outputs = (*parameters, *outputs)
    program.sharing.check()
    whole_body = _without_unread(program.with_tables(program.lines.stmt()))
    func = PrimFunc(function.__name__, params_and_outputs, whole_body, span=frame.source.span(place))
    func, parts = with_parts(func)
    return Plain(_narrowed(func), tuple(results), returned, tuple(p.name for p in parameters), parts)


def _formed(body: Body, form: str | Form, given: Mapping[str, Value]) -> Value:
    """An argument, of its parts."""
    if isinstance(form, str):
        return given[form]
    if isinstance(form.parts, str):
        array, key = given[form.parts], ((), f"list {form.parts}")
        assert isinstance(array, View)
        weak = array.buffer.dtype in (DType.INT64, DType.FLOAT64)
        columns = {k: CellType(DType(str(name)), weak) for k, name in enumerate(form.keys[1:])}
        body.program.learned.given(key, CellType(array.buffer.dtype, weak), columns)
        body.program.listed[array.buffer] = Stands(key, len(array.shape), form.keys[:1] == ("tuples",))
        return array
    if form.kind is Ragged:
        items, starts = (_formed(body, part, given) for part in form.parts)
        assert isinstance(items, View)
        assert isinstance(starts, View)
        return Named(Ragged(items, starts))
    parts = [_formed(body, part, given) for part in form.parts]
    if issubclass(form.kind, dict):
        return Named(Dictionary(dict(zip(form.keys, parts, strict=True))))
    return Items(parts) if form.kind is list else of_kind(form.kind if is_kind(form.kind) else None, parts)


def _without_unread(body: Stmt) -> Stmt:
    """A body without the cells that are given numbers only and never read: what they hold was known all the time."""
    read = {e.buffer for e in all_exprs(body) if isinstance(e, Load)}
    given = {s.buffer for s in stores_in(body) if not isinstance(s.value, Const)}
    cells = {s.buffer for s in walk(body) if isinstance(s, Alloc) and not s.buffer.shape} - read - given

    def kept(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Alloc) and stmt.buffer in cells:
            return stmt.body
        return SKIP if isinstance(stmt, Store) and stmt.buffer in cells else stmt

    return map_stmt(body, on_stmt=kept) if cells else body


def _written(program: Program, parameters: list[Var | Buffer]) -> list[Buffer]:
    stored = buffers_written(program.lines.stmt())
    return [p for p in parameters if isinstance(p, Buffer) and p in stored]


def _first_store(program: Program, buffer: Buffer) -> Span | None:
    """Where a buffer is first stored to."""
    return next((s.span for s in stores_in(program.lines.stmt()) if s.buffer == buffer), None)


def _outputs(body: Body, value: Value, node: ast.AST) -> tuple[list[str], Nested]:
    """The buffers that results are returned in, and what is made of them: a tuple, record or dictionary."""
    names: list[str] = []

    def placed(part: Value) -> Nested:
        if (keyed := dictionary_of(part)) is not None:
            keys = [*keyed.items]
            items = tuple(placed(item_of_key(body.read, keyed, key, node)) for key in keys)
            return Made(lambda *parts: dict(zip(keys, parts, strict=True)), items)
        if isinstance(part, Record):
            return Made(part.kind, tuple(map(placed, part)))
        if isinstance(part, Named) and part is not value and (part.value is None or isinstance(part.value, str)):
            return Made(lambda: part.value, ())
        if isinstance(part, tuple):
            return tuple(map(placed, part))
        part = compacted(body.read, part, node) if isinstance(part, Selection) else part
        if (cut := _cut(body, part, node)) is not None:
            array, count = cut
            names.extend((array, _output(body, count, node)))
            return Made(first_items, (len(names) - 2, len(names) - 1))
        names.append(_output(body, part, node))
        return len(names) - 1

    returned = placed(value)
    return names, returned


def first_items(array: Any, count: Any) -> Any:
    """The first items of an array, as many as a result says.

    Raises:
        KindError: that is not known while JAX traces.
    """
    try:
        known = int(count)
    except TypeError as error:  # of JAX, which traces
        message = "how long a result is depends on data, which is not known where JAX traces"
        hint = "return an array of the greatest size, and how many of its items count"
        raise KindError("traced-length", message, help=hint) from error
    return array[:known]


def _cut(body: Body, value: Value, node: ast.AST) -> tuple[str, Number] | None:
    """The result that has room for an array of which data say how long it is, and this length."""
    if not isinstance(value, (View, Elementwise)) or not value.shape or body.arrays.settled(value.shape[0], node):
        return None
    length = body.program.frozen("count", value.shape[0], body.frame.source.span(node))
    most: Number | None = interval_of(length)[1]
    if (most is None or most > MOST_ITEMS) and isinstance(value, View):  # of sizes that are open
        extents = value.buffer.shape
        most = Weak(extents[0]) if len(extents) == len(value.shape) else None
    if most is None or not all(body.arrays.settled(n, node) for n in (most, *value.shape[1:])):
        return None
    room = body.arrays.array("result", (most, *value.shape[1:]), body.read.dtype_of(value, node), node)
    shape = (length, *value.shape[1:])
    body.arrays.store(replace(room, shape=shape, whole=False), replace(value, shape=shape), node)
    return room.buffer.name, length


def _output(body: Body, value: Value, node: ast.AST) -> str:
    """The buffer that a result is returned in."""
    if isinstance(value, Named):
        message = f"{body.frame.function.__name__} returns what is neither number nor array"
        hint = "return numbers, arrays, or tuples of them"
        if isinstance(value.value, Maybe):
            message = f"{body.frame.function.__name__} returns None in some cases and a value in others"
            hint = "return a number that stands for none, such as -1 or np.nan, or a truth besides the value"
        raise body.frame.source.error("return", message, node, help=hint)
    if isinstance(value, View) and value.whole and _stands(body, value.buffer):
        return value.buffer.name
    if isinstance(value, (View, Elementwise)) and value.shape:
        if not all(body.arrays.settled(extent, node) for extent in value.shape):
            message = f"the size of what {body.frame.function.__name__} returns depends on loops or data"
            raise body.frame.source.error("return", message, node, help=hints.SIZED)
        copied = Elementwise(value.shape, lambda i: body.read.element(value, i))
        return body.arrays.kept("result", copied, node).buffer.name
    number: Number = body.read.as_number(value, node)
    dtype = body.frame.numbers.dtype_of(number)
    buffer = body.program.alloc("result", (), dtype, None)
    body.program.emit(Store(buffer, (), body.frame.numbers.convert(number, dtype, node)))
    return buffer.name


def _stands(body: Body, buffer: Buffer) -> bool:
    """Whether a buffer is a result as it is: one that is stored to, and lives as long as the function runs."""
    own = any(isinstance(w, Alloc) and w.buffer == buffer for _, w in body.program.lines.wraps)
    return own or (buffer in buffers_written(body.program.lines.stmt()))


def _narrowed(func: PrimFunc) -> PrimFunc:
    """The program with Python numbers given in the dtype that all their uses convert them to."""
    uses: dict[Var, set[DType | None]] = {}

    def visit(expr: Expr, outer: DType | None) -> None:
        if isinstance(expr, Var):
            uses.setdefault(expr, set()).add(outer)
        for part in children(expr):
            visit(part, expr.dtype if isinstance(expr, Cast) else None)

    for stmt in walk(func.body):
        for expr in stmt_exprs(stmt):
            visit(expr, None)
    new: dict[Var, Var] = {}
    for param in func.scalars:
        (dtype, *others) = uses.get(param, {None})
        if not others and dtype is not None and dtype.is_float and param.dtype.bits == 64:
            new[param] = replace(param, dtype=dtype)
    if not new:
        return func

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Cast) and isinstance(expr.operand, Var):
            return new.get(expr.operand, expr)
        return expr

    body = map_stmt(func.body, lambda e: map_expr(e, change))
    params = tuple(new.get(p, p) if isinstance(p, Var) else p for p in func.params)
    return replace(func, params=params, body=body)
