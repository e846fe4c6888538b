"""Calls in plain Python programs: of built-in functions, of `math` and NumPy, of methods of arrays, and of helpers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from ir.dtypes import DType
from ir.errors import ParseError, suggest
from ir.nodes import Cast, Unary
from ir.script.plain import hints
from ir.script.plain.arrays import Array, Elementwise, Indices, Selection, View, transposed
from ir.script.plain.frames import Comprehension, Named, Value, shown
from ir.script.plain.functions import Function, Inner, Opened, defaults_of, named
from ir.script.plain.library import names as library
from ir.script.plain.library import selected
from ir.script.plain.library.arranged import ARRANGED, METHODS, arguments, size_of
from ir.script.plain.library.bodies import BODIES, FINITE, METHODS_OF
from ir.script.plain.library.composed import COMPOSED, composed
from ir.script.plain.promotion import Number, Weak, interval_of

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

_TOTALS = ("sum", "min", "max", "mean", "prod", "any", "all")
_SCANS = ("argmax", "argmin", "cumsum", "cumprod", "var", "std")
_METHODS = (*_TOTALS, *_SCANS, "copy", "astype", "dot", "transpose", "item", "clip")


def call(read: Evaluator, node: ast.Call, alone: bool) -> Value:
    """What a call means; a helper that is called `alone` may write into arrays."""
    if isinstance(node.func, ast.Attribute):
        owner = read.value(node.func.value)
        if isinstance(owner, (View, Elementwise)):
            return _method(read, owner, node.func.attr, node)
        if isinstance(owner, Selection):
            args = _arguments(read, node, node.func.attr, 0, 1, ("axis",))
            return _reduced(
                read,
                node.func.attr,
                owner,
                _axes(read, owner.array, _keyword(node, "axis") or next(iter(args), None)),
                node,
            )
    callee = read.value(node.func)
    if not isinstance(callee, Named):
        raise read.error("unknown-function", f"`{shown(node.func)}` is not a function", node)
    name = library.qualified(callee.value)
    if name is None:
        dtype = library.dtype_named(callee.value) if isinstance(callee.value, type) else None
        if dtype is not None:
            return _converted(read, _only(read, node, shown(node.func)), dtype, node)
        return _helper(read, callee.value, node, alone)
    if name in ("int", "float", "bool"):
        return _python_number(read, name, node)
    dtype = library.dtype_named(callee.value) if name.startswith("np.") else None
    if dtype is not None and name not in library.NAMES:
        return _converted(read, _only(read, node, name), dtype, node)
    return _library(read, name, node)


def _helper(read: Evaluator, value: object, node: ast.Call, alone: bool) -> Value:
    """A call of another plain function, which is put in place."""
    function = inspect.unwrap(value) if callable(value) else value
    if not isinstance(function, (FunctionType, Inner)):
        raise _unknown(read, shown(node.func), value, node)
    if any(k.arg is None for k in node.keywords):
        hint = "write out each argument"
        raise read.error("arguments", f"{named(function)} is called with two stars", node, hint)
    args = [*read.items(node.args, read.value)]
    by_name = {k.arg: read.value(k.value) for k in node.keywords if k.arg}
    return read.caller.call(function, args, by_name, node, alone=alone)


def put_in_place(
    read: Evaluator, name: str, args: Sequence[Value], by_name: Mapping[str, Value], node: ast.Call
) -> Value:
    """A function of NumPy that is a plain function here; what is wrong with it is said of the call."""
    if name in FINITE and read.numbers.exact:
        hint = 'leave out floats="strict", or sort and search before the call'
        raise read.error("unsupported", f"{name} is of finite numbers", node, hint)
    try:
        return read.caller.call(BODIES[name], args, by_name, node, alone=False)
    except ParseError as error:
        raise read.error(error.code, f"{name}: {error.message}", node, error.help or "") from error


def arguments_of(
    read: Evaluator,
    function: Function,
    opened: Opened,
    args: Sequence[Value],
    by_name: Mapping[str, Value],
    node: ast.Call,
) -> list[Value]:
    """A value for each parameter of a helper that is called.

    Raises:
        ParseError: there is none for one, or one too many.
    """
    params = opened.params
    found = dict(defaults_of(function, lambda value: read.known(value, node)))
    given = dict(zip(params, args, strict=False))
    wrong = any(name not in params or name in given for name in by_name)
    found |= {**given, **by_name}
    if wrong or len(args) > opened.positional or len(found) < len(params):
        got = f"{len(args)} given" + (f", and {', '.join(by_name)} by name" if by_name else "")
        message = f"{named(function)} takes {len(params)} arguments, {got}"
        hint = f"its parameters are {', '.join(params)}"
        if opened.positional < len(params):
            hint += f", of which {', '.join(params[opened.positional :])} are given by name"
        raise read.error("arguments", message, node, hint)
    return [found[p] for p in params]


def _unknown(read: Evaluator, name: str, value: object, node: ast.Call) -> Exception:
    owner, _, bare = name.rpartition(".")
    near = hints.of_attribute(owner, bare)
    if not near and library.qualified(value) is not None:
        near = "write its loops; help(loopsat.jit) names the functions that there are"
    hint = near or suggest(name, library.NAMES) or "write it as a plain Python function, which is put in place"
    return read.error("unknown-function", f"`{name}` cannot be called in a compiled function", node, hint)


def _arguments(
    read: Evaluator, node: ast.Call, name: str, least: int, most: int, keywords: Sequence[str] = ()
) -> list[ast.expr]:
    given = len(node.args)
    if not least <= given <= most or any(isinstance(a, ast.Starred) for a in node.args):
        wanted = str(least) if least == most else f"{least} to {most}"
        hint = "give them in their order, without names" if node.keywords else ""
        raise read.error("arguments", f"{name} takes {wanted} arguments here, {given} given", node, hint)
    for keyword in node.keywords:
        if keyword.arg not in keywords:
            raise read.error("arguments", f"the option `{keyword.arg}` of {name} is not supported", node)
    return node.args


def _only(read: Evaluator, node: ast.Call, name: str) -> ast.expr:
    return _arguments(read, node, name, 1, 1)[0]


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in node.keywords if k.arg == name), None)


# Numbers -----------------------------------------------------------------------------------------------------------


def _converted(read: Evaluator, node: ast.expr, dtype: DType, place: ast.AST) -> Value:
    """`np.float32(x)`."""
    return read.lifted(lambda v: read.numbers.convert(v[0], dtype, place), [read.value(node)], place)


def _python_number(read: Evaluator, name: str, node: ast.Call) -> Number:
    given = read.value(_only(read, node, name))
    if name == "float" and isinstance(given, Named) and isinstance(given.value, str):
        return _spelled(read, given.value, node)
    value = read.as_number(given, node)
    if name == "int":
        return read.numbers.integer(value, node)
    if name == "bool":
        return bool(value) if isinstance(value, (bool, int, float)) else read.numbers.truth(value, node)
    if isinstance(value, (bool, int, float)):
        return float(value)
    return Weak(read.numbers.convert(value, DType.FLOAT64, node))


def _spelled(read: Evaluator, text: str, node: ast.Call) -> Number:
    """`float("inf")`."""
    try:
        return float(text)
    except ValueError:
        raise read.error("literal-range", f"{text!r} is no number", node, 'as in float("inf")') from None


def _library(read: Evaluator, name: str, node: ast.Call) -> Value:
    numbers = read.numbers
    if name in library.FLOAT_UNARY:
        op, of_numpy = library.FLOAT_UNARY[name]
        value = read.value(_only(read, node, name))
        return read.lifted(lambda v: numbers.of_floats(op, v[0], of_numpy, node), [value], node)
    if name in library.ABSOLUTE:
        value = read.value(_only(read, node, name))
        return read.lifted(lambda v: numbers.unary("abs", v[0], node), [value], node)
    if name in library.BINARY:
        a, b = (read.value(v) for v in _arguments(read, node, name, 2, 2))
        op2 = library.BINARY[name]
        return read.lifted(lambda v: numbers.binary(op2, v[0], v[1], node), [a, b], node)
    if name in COMPOSED:
        count, _ = COMPOSED[name]
        parts = [read.value(v) for v in _arguments(read, node, name, count, count)]
        return read.lifted(lambda v: composed(name, numbers, v, node), parts, node)
    if name in BODIES:
        given = {k.arg: read.array_or(k.value) for k in node.keywords if k.arg}
        return put_in_place(read, name, [*read.items(node.args, read.array_or)], given, node)
    if name in ARRANGED:
        return ARRANGED[name][2](read, arguments(read, name, node), node)
    if name in library.MADE:
        return _made(read, name, node)
    if name in library.FILLED or name in library.FILLED_LIKE:
        return _filled(read, name, node)
    if name in library.FOLDS and node.args and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
        return _fold(read, name, node.args[0], node)
    if name in library.SUMS:
        return _reduction(read, name, node)
    match name:
        case "len":
            value = read.value(_only(read, node, name))
            if isinstance(value, tuple):
                return len(value)
            if isinstance(value, (View, Elementwise)) and value.shape:
                return value.shape[0]
            if isinstance(value, Selection):
                return selected.counted(read, value, node)
            raise read.error("not-an-array", f"`{shown(node.args[0])}` has no length", node)
        case "min" | "max":
            return _extremum(read, name, node)
        case "math.floor" | "math.ceil" | "math.trunc" | "round":
            value = read.number(_whole(read, node, name))
            if not numbers.dtype_of(value).is_float:
                return numbers.integer(value, node)
            whole = Unary(name.removeprefix("math."), numbers.natural(value, node))  # pyright: ignore[reportArgumentType]
            return Weak(Cast(DType.INT64, whole, read.source.span(node)))
        case "np.round" | "np.around":
            value = read.value(_whole(read, node, name))
            return read.lifted(lambda v: _rounded(read, v[0], node), [value], node)
        case "np.where":
            if len(node.args) == 1:
                hint = "write np.where(condition, A, B), a total such as A[condition].sum(), or a loop with `if`"
                raise read.error("unsupported", "how many places there are depends on data", node, hint)
            parts = [read.value(v) for v in _arguments(read, node, name, 3, 3)]
            return read.lifted(lambda v: numbers.select(v[0], v[1], v[2], node), parts, node)
        case "np.square":
            value = read.value(_only(read, node, name))
            return read.lifted(lambda v: numbers.binary("pow", v[0], 2, node), [value], node)
        case "np.logical_not":
            value = read.value(_only(read, node, name))
            return read.lifted(lambda v: numbers.typer.unary("not", numbers.truth(v[0], node), node), [value], node)
        case "np.ndim" | "np.shape" | "np.size":
            return _size(read, name, read.value(_only(read, node, name)), node)
        case "np.meshgrid":
            return _grids(read, node)
        case "np.copy":
            return _copied(read, read.array(_only(read, node, name)))
        case "np.array" | "np.asarray":
            return _array(read, name, node)
        case "np.transpose":
            args = _arguments(read, node, name, 1, 2, ("axes",))
            stated = args[1:] or [k.value for k in node.keywords]
            return _transposed(read, read.array(args[0]), tuple(map(read.value, stated)), node)
        case "range" | "loopsat.prange" | "enumerate" | "zip" | "reversed":
            hint = f"loop over it, as in `for i in {shown(node)}`"
            raise read.error("unsupported", f"`{shown(node)}` is no value", node, hint)
        case "loopsat.assume":
            raise read.error("unsupported", "loopsat.assume is a statement of its own", node)
        case "loopsat.bound":
            hint = "as in `while x > limit:` and below it `loopsat.bound(100)`"
            raise read.error("unsupported", "loopsat.bound stands first in the body of a `while`", node, hint)
        case _:
            callee = read.value(node.func)
            raise _unknown(read, shown(node.func), callee.value if isinstance(callee, Named) else None, node)


def _whole(read: Evaluator, node: ast.Call, name: str) -> ast.expr:
    """What is rounded, to a whole number."""
    if len(node.args) > 1 or node.keywords:
        hint = f"write {name}(x * 100) / 100 for two digits, which may differ in the last bit"
        raise read.error("unsupported", f"{name} rounds to whole numbers here, not to digits", node, hint)
    return _only(read, node, name)


def _rounded(read: Evaluator, value: Number, node: ast.Call) -> Number:
    """A number of NumPy rounded to a whole one of its dtype, halves to even."""
    numbers = read.numbers
    return numbers.of_floats("round", value, True, node) if numbers.dtype_of(value).is_float else value


def _fold(read: Evaluator, name: str, items: Comprehension, node: ast.Call) -> Number:
    """Python's functions of the items of a comprehension."""
    starts, option = {"sum": (2, "start"), "max": (1, "default"), "min": (1, "default")}.get(name, (1, ""))
    _arguments(read, node, name, 1, starts, (option,))
    given = node.args[1] if len(node.args) > 1 else _keyword(node, option)
    number = None if given is None else read.number(given)
    if name == "len":
        if isinstance(items, ast.GeneratorExp):
            raise read.error("not-an-array", f"`{shown(items)}` has no length", node, "write sum(1 for ...)")
        items = ast.copy_location(ast.ListComp(ast.Constant(1), items.generators), items)
        return read.caller.fold("sum", items, node)
    short = name.removeprefix("math.")
    if option == "default":
        return read.caller.fold(short, items, node, default=number)
    return read.caller.fold(short, items, node, start=number)


def _extremum(read: Evaluator, name: str, node: ast.Call) -> Value:
    """Python's `min` and `max` of numbers, or of a tuple of them."""
    parts = [read.value(a) for a in node.args]
    if len(parts) == 1 and isinstance(parts[0], tuple):
        parts = list(parts[0])
    elif len(parts) == 1 and isinstance(parts[0], (View, Elementwise)) and len(parts[0].shape) == 1:
        return read.caller.reduce(name, parts[0], None, node)
    if not parts or node.keywords:
        raise read.error("arguments", f"{name} takes numbers", node)
    found = read.as_number(parts[0], node)
    for other in parts[1:]:
        found = read.numbers.builtin_extremum(
            "min" if name == "min" else "max", found, read.as_number(other, node), node
        )
    return found


# Arrays ------------------------------------------------------------------------------------------------------------


def _dtype(read: Evaluator, node: ast.expr) -> DType:
    value = read.value(node)
    found = library.dtype_named(value.value) if isinstance(value, Named) else None
    if found is None:
        raise read.error("unknown-dtype", f"`{shown(node)}` is not a dtype", node, "as in np.float32")
    return found


def _filled(read: Evaluator, name: str, node: ast.Call) -> Array:
    """`np.zeros(shape, dtype)` and the like."""
    like = name in library.FILLED_LIKE
    full = name.startswith("np.full")
    args = _arguments(read, node, name, 1, 3 if full else 2, ("dtype", "fill_value", "shape"))
    first = read.value(args[0])
    stated = _keyword(node, "dtype") or (args[1 + full] if len(args) > 1 + full else None)
    dtype = None if stated is None else _dtype(read, stated)
    if like:
        if not isinstance(first, (View, Elementwise)):
            raise read.error("not-an-array", f"`{shown(args[0])}` is no array", args[0])
        shape = first.shape
        dtype = read.dtype_of(first, node) if dtype is None else dtype
    else:
        items = first if isinstance(first, tuple) else (first,)
        shape = tuple(read.as_number(v, args[0]) for v in items)
        for extent in shape:
            read.needs_value(extent)
    value: Number = (library.FILLED_LIKE if like else library.FILLED).get(name) or 0
    if full:
        given = _keyword(node, "fill_value") or (args[1] if len(args) > 1 else None)
        if given is None:
            raise read.error("arguments", f"{name} needs a value", node)
        value = read.number(given)
        dtype = _default(read, value) if dtype is None else dtype
    kind = DType.FLOAT64 if dtype is None else dtype
    filling = read.numbers.convert(value, kind, node)
    return Elementwise(shape, lambda _: filling, undefined="empty" in name)


def _made(read: Evaluator, name: str, node: ast.Call) -> Array:
    """`np.arange`, `linspace`, `eye` and `identity`."""
    numbers, (least, most) = (
        read.numbers,
        {"np.arange": (1, 3), "np.linspace": (2, 3), "np.eye": (1, 2)}.get(name, (1, 1)),
    )
    args = [read.number(a) for a in _arguments(read, node, name, least, most, ("dtype", "num"))]
    stated = _keyword(node, "dtype")
    dtype = None if stated is None else _dtype(read, stated)
    if name == "np.arange":
        return _range(read, args, dtype, node)
    if name == "np.linspace":
        given = _keyword(node, "num")
        args = args if given is None else [*args[:2], read.number(given)]
        return _spaced(read, args, DType.FLOAT64 if dtype is None else dtype, node)
    for extent in args:
        read.needs_value(extent)
    kind = DType.FLOAT64 if dtype is None else dtype
    one, zero = (numbers.convert(v, kind, node) for v in (1, 0))
    shape = (args[0], args[-1])
    return Elementwise(shape, lambda i: numbers.select(numbers.binary("eq", i[0], i[1], node), one, zero, node))


def _size(read: Evaluator, name: str, value: Value, node: ast.Call) -> Value:
    """`np.ndim`, `np.shape` and `np.size` of arrays, and of numbers, which have no dimensions."""
    shape = value.shape if isinstance(value, (View, Elementwise)) else ()
    if name == "np.ndim":
        return len(shape)
    return shape if name == "np.shape" else size_of(read, shape, node)


def _grids(read: Evaluator, node: ast.Call) -> Value:
    """`np.meshgrid`: each vector along an axis of its own; the first two are exchanged unless it is told otherwise."""
    vectors = [read.array(a) for a in _arguments(read, node, "np.meshgrid", 1, 9, ("indexing",))]
    stated = _keyword(node, "indexing")
    order = [*range(len(vectors))]
    value = Named("xy") if stated is None else read.value(stated)
    if len(order) > 1 and not (isinstance(value, Named) and value.value == "ij"):
        order[:2] = [1, 0]
    shape = tuple(vectors[k].shape[0] for k in order)

    def grid(k: int) -> Elementwise:
        return Elementwise(shape, lambda i: read.element(vectors[k], (i[order.index(k)],), node))

    return tuple(grid(k) for k in range(len(vectors)))


def _range(read: Evaluator, args: list[Number], dtype: DType | None, node: ast.Call) -> Array:
    """`np.arange` of whole numbers."""
    numbers = read.numbers
    if any(numbers.dtype_of(a).is_float for a in args):
        hint = "write np.linspace, or number * np.arange(count)"
        raise read.error("unsupported", "np.arange is of whole numbers here", node, hint)
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else 1
    if not isinstance(step, int) or step == 0:
        raise read.error("unsupported", "the step of np.arange must be a number other than zero", node)
    low, high = (start, stop) if step > 0 else (stop, start)
    count = high if isinstance(low, int) and low == 0 else numbers.binary("sub", high, low, node)
    if abs(step) > 1:
        count = numbers.binary("floordiv", numbers.binary("add", count, abs(step) - 1, node), abs(step), node)
    least = interval_of(count)[0]
    if least is None or least < 0:
        count = numbers.builtin_extremum("max", count, 0, node)
    for bound in (count, start):
        read.needs_value(bound)
    kind = DType.INT64 if dtype is None else dtype

    def element(indices: Indices) -> Number:
        value = numbers.binary("add", start, numbers.binary("mul", indices[0], step, node), node)
        return numbers.convert(value, kind, node)

    return Elementwise((count,), element)


def _spaced(read: Evaluator, args: list[Number], dtype: DType, node: ast.Call) -> Array:
    """`np.linspace`: the last element is the end itself."""
    numbers = read.numbers
    start, stop = args[:2]
    count = args[2] if len(args) == 3 else 50
    read.needs_value(count)
    if not isinstance(count, int) or count < 0:
        raise read.error("unsupported", "the count of np.linspace must be a number from 0 up", node)
    first, last = (numbers.convert(v, DType.FLOAT64, node) for v in (start, stop))
    step = numbers.binary("div", numbers.binary("sub", last, first, node), max(count - 1, 1), node)

    def element(indices: Indices) -> Number:
        value = numbers.binary("add", numbers.binary("mul", indices[0], step, node), first, node)
        at_end = numbers.binary("eq", indices[0], count - 1, node) if count > 1 else False
        return numbers.convert(numbers.select(at_end, last, value, node), dtype, node)

    return Elementwise((count,), element)


def _default(read: Evaluator, value: Number) -> DType:
    """The dtype that NumPy gives an array of a number."""
    dtype = read.numbers.dtype_of(value)
    weak = isinstance(value, (int, Weak)) and not isinstance(value, bool)
    return DType.INT64 if weak and dtype.is_integer else dtype


def _array(read: Evaluator, name: str, node: ast.Call) -> Array:
    """`np.array` of an array, or of rows of numbers that are written out."""
    args = _arguments(read, node, name, 1, 2, ("dtype",))
    stated = _keyword(node, "dtype") or (args[1] if len(args) > 1 else None)
    dtype = None if stated is None else _dtype(read, stated)
    value = read.array_or(args[0])
    if isinstance(value, tuple):
        return read.caller.table(value, dtype, node)
    if not isinstance(value, (View, Elementwise)):
        raise read.error("not-an-array", f"`{shown(args[0])}` is neither an array nor a list", node)
    kind = read.dtype_of(value, node) if dtype is None else dtype
    if name == "np.asarray" and kind is read.dtype_of(value, node):
        return value  # what is stored to it is stored to the array itself
    return Elementwise(value.shape, lambda i: read.numbers.convert(read.element(value, i), kind, node))


def _copied(read: Evaluator, array: Array) -> Elementwise:
    return Elementwise(array.shape, lambda i: read.element(array, i))


def _transposed(read: Evaluator, array: Array, order: tuple[Value, ...], node: ast.Call) -> Array:
    """An array with its axes in another order: turned around, if none is stated."""
    first = order[0] if len(order) == 1 else None
    order = first if isinstance(first, tuple) else order
    if not order:
        return transposed(array, range(len(array.shape))[::-1])
    axes = [value % len(order) for value in order if isinstance(value, int)]
    if sorted(axes) != list(range(len(array.shape))):
        message = f"these are not the {len(array.shape)} axes of the array, each once"
        raise read.error("arguments", message, node, "as in A.transpose(1, 0, 2)")
    return transposed(array, axes)


def _method(read: Evaluator, owner: Array, name: str, node: ast.Call) -> Value:
    match name:
        case "copy":
            _arguments(read, node, "copy", 0, 0)
            return _copied(read, owner)
        case "astype":
            dtype = _dtype(read, _only(read, node, "astype"))
            return Elementwise(owner.shape, lambda i: read.numbers.convert(read.element(owner, i), dtype, node))
        case "transpose":
            return _transposed(read, owner, tuple(map(read.value, _arguments(read, node, name, 0, 9))), node)
        case "dot":
            return read.caller.product(owner, read.array(_only(read, node, "dot")), node)
        case "clip":
            parts = [owner, *map(read.value, _arguments(read, node, name, 2, 2))]
            return read.lifted(lambda v: composed("np.clip", read.numbers, v, node), parts, node)
        case "item" if not node.args and not owner.shape:
            return read.element(owner, ())
        case _ if name in (*_TOTALS, *_SCANS):
            _arguments(read, node, name, 0, 1, _options(name))
            axis = _keyword(node, "axis") or (node.args[0] if node.args else None)
            return _reduced(read, name, owner, _axes(read, owner, axis), node)
        case _ if name in METHODS_OF:
            return put_in_place(read, f"np.{name}", [owner, *map(read.value, node.args)], {}, node)
        case _ if name in METHODS:
            least, most, arranged = METHODS[name]
            return arranged(read, [owner, *map(read.value, _arguments(read, node, name, least, most))], node)
        case _:
            near = hints.FUNCTIONS.get(name, "") or suggest(name, (*_METHODS, *METHODS, *METHODS_OF))
            raise read.error("unknown-function", f"arrays have no method `{name}` here", node, near)


def _reduction(read: Evaluator, name: str, node: ast.Call) -> Value:
    if name in ("np.dot", "np.matmul"):
        a, b = _arguments(read, node, name, 2, 2)
        return read.caller.product(read.array(a), read.array(b), node)
    short = {"np.amax": "max", "np.amin": "min"}.get(name, name.removeprefix("np."))
    args = _arguments(read, node, name, 1, 2, _options(short) if name.startswith("np.") else ())
    given = read.array_or(args[0])
    axis = _keyword(node, "axis") or (args[1] if len(args) > 1 else None)
    if isinstance(given, Selection):
        return _reduced(read, short, given, _axes(read, given.array, axis), node)
    array = given if isinstance(given, (View, Elementwise)) else read.array(args[0])
    if name in ("sum", "any", "all") and len(array.shape) != 1:
        raise read.error("unsupported", f"Python's {name} is of one-dimensional arrays", node, f"write np.{name}")
    return _reduced(read, short, array, _axes(read, array, axis), node)


def _reduced(
    read: Evaluator, name: str, array: Array | Selection, axes: tuple[int, ...] | None, node: ast.Call
) -> Value:
    """A reduction over all axes, or over some; the axes stay with an extent of one if the call says so."""
    if isinstance(array, Selection):
        if any(k.arg != "axis" for k in node.keywords):
            raise read.error("unsupported", f"an option of {name} of a selection", node, selected.HINT)
        return selected.total(read, name, array, axes, node)
    rank = len(array.shape)
    own = tuple(range(rank)) if axes is None or len(axes) == rank else axes
    if name in _SCANS:
        if 1 < len(own) < rank:
            raise read.error("arguments", f"{name} is along one axis here", node, "reshape the array first")
        found = read.caller.scan(name, array, None if axes is None or len(own) != 1 else own[0], node)
    else:
        found = read.caller.reduce(name, array, own, node)
    keeps = _keyword(node, "keepdims")
    if keeps is None or read.condition(keeps) is False:
        return found
    shape = tuple(1 if k in own else e for k, e in enumerate(array.shape))

    def element(indices: Indices) -> Number:
        if isinstance(found, (View, Elementwise)):
            return read.element(found, tuple(i for k, i in enumerate(indices) if k not in own), node)
        return read.as_number(found, node)

    return Elementwise(shape, element)


def _options(name: str) -> tuple[str, ...]:
    """What a reduction may be told by name."""
    if name in ("cumsum", "cumprod"):
        return ("axis",)
    return ("axis", "keepdims", "ddof") if name in ("var", "std") else ("axis", "keepdims")


def _axes(read: Evaluator, array: Array, node: ast.expr | None) -> tuple[int, ...] | None:
    """The axes that a call names, counted from the first one; None for all."""
    value = Named(None) if node is None else read.value(node)
    if node is None or (isinstance(value, Named) and value.value is None):
        return None
    rank = len(array.shape)
    found = value if isinstance(value, tuple) else (value,)
    axes = {v % rank for v in found if isinstance(v, int) and -rank <= v < rank}
    if len(axes) < len(found) or not axes:
        raise read.error("arguments", f"`{shown(node)}` is no axis of an array of {rank} dimensions", node)
    return tuple(sorted(axes))
