"""Calls in plain Python programs: of built-in functions, of `math` and NumPy, of methods of arrays, and of helpers."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from msgspec import Struct

from ir.dtypes import DType
from ir.errors import ParseError, suggest
from ir.nodes import Cast, Expr, Unary
from ir.script.plain import hints
from ir.script.plain.arrays import Array, Elementwise, Indices, Selection, View, is_number, viewed
from ir.script.plain.comparisons import greatest
from ir.script.plain.frames import Comprehension, Named, Value, shown
from ir.script.plain.functions import Function, Inner, Opened, defaults_of, named
from ir.script.plain.library import complexes, made, records, selected
from ir.script.plain.library import names as library
from ir.script.plain.library.arguments import ABSENT, arguments, keyword, only, values, without_usual
from ir.script.plain.library.arranged import ARRANGED, extents_of, flattened, size_of
from ir.script.plain.library.bodies import BODIES, BY_PLACE, FINITE, IN_PLACE, PUT_IN_PLACE
from ir.script.plain.library.composed import COMPOSED, composed
from ir.script.plain.library.dictionaries import called, dictionary_of
from ir.script.plain.library.elements import UPDATES_OF_PAIRS
from ir.script.plain.library.ordered import is_searched, ordered, place_of
from ir.script.plain.library.ragged import ragged_of
from ir.script.plain.library.rounding import rounded
from ir.script.plain.promotion import Number, Weak
from ir.script.plain.tuples import MAX_ITEMS, Items, items_kind, lists_in, nested, stands_for_list

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

_TOTALS = ("sum", "min", "max", "mean", "prod", "any", "all")
_SCANS = ("argmax", "argmin", "cumsum", "cumprod", "var", "std")
_METHODS = (*_TOTALS, *_SCANS, "copy", "astype", "dot", "reshape", "transpose", "flatten", "item")
TABLES = {**BODIES, **ARRANGED, **COMPOSED}
_OF_ARRAYS = tuple(n for n in dir(np.ndarray) if f"np.{n}" in TABLES)  # functions that are methods of arrays too


def call(read: Evaluator, node: ast.Call, alone: bool) -> Value:
    """What a call means; a helper that is called `alone` may write into arrays."""
    if isinstance(node.func, ast.Attribute):
        owner = read.value(node.func.value)
        if node.func.attr == "__getitem__" and len(node.args) == 1:  # `key=x.__getitem__`
            return read.subscript(owner, node.args[0], node)
        if (keyed := dictionary_of(owner)) is not None:
            return called(read, keyed, node, node.func.attr)
        if isinstance(owner, Named) and isinstance(owner.value, str):
            return _of_text(read, owner.value, node, node.func.attr)
        if (found := records.called(read, owner, node, node.func.attr, alone)) is not None:
            return found
        if node.func.attr in ("index", "count") and is_searched(read, owner):
            return place_of(read, owner, node.func.attr, node)
        if isinstance(owner, (View, Elementwise)):
            return _method(read, owner, node.func.attr, node)
        if isinstance(owner, Selection):
            args = arguments(read, node, node.func.attr, 0, 1, ("axis",))
            axes = _axes(read, owner.array, keyword(node, "axis") or next(iter(args), None))
            return _reduced(read, node.func.attr, owner, axes, node)
        if isinstance(owner, (int, Weak, Expr)) and node.func.attr in ("bit_count", "bit_length"):
            return _bits(read, owner, node.func.attr, node)
        if is_number(owner) and node.func.attr == "item":
            arguments(read, node, "item", 0, 0)
            return read.numbers.of_python(read.as_number(owner, node), node)
        if is_number(owner) and node.func.attr in ("conjugate", "conj"):
            arguments(read, node, node.func.attr, 0, 0)
            return complexes.part_named(read.numbers, "conj", read.as_number(owner, node), node)
    callee = read.value(node.func)
    if not isinstance(callee, Named):
        raise read.error("unknown-function", f"`{shown(node.func)}` is not a function", node)
    name = None if callee.value is functools.partial else library.qualified(callee.value)
    if name is None:
        dtype = library.dtype_named(callee.value) if isinstance(callee.value, type) else None
        if dtype is not None:
            return _converted(read, only(read, node, shown(node.func)), dtype, node)
        return _helper(read, callee.value, node, alone)
    if name in IN_PLACE and not alone:
        raise read.error("unsupported", f"{name} is a statement of its own", node)
    if name in ("int", "float", "bool"):
        return _python_number(read, name, node)
    dtype = library.dtype_named(callee.value) if name.startswith("np.") else None
    if dtype is not None and name not in library.NAMES:
        return _converted(read, only(read, node, name), dtype, node)
    return _library(read, name, callee.value, node)


def _of_text(read: Evaluator, text: str, node: ast.Call, name: str) -> Value:
    """A method of a text, which is known when the program is made as what it is given must be."""
    args = [v.value if isinstance(v, Named) else v for v in read.items(node.args, read.value)]
    known = all(isinstance(a, (str, int)) for a in args) and not node.keywords
    if not known or not hasattr(text, name) or name in ("format", "format_map", "encode"):
        raise read.error("unsupported", f"`{shown(node)}` is not supported", node, hints.FUNCTIONS["str"])
    try:
        found = getattr(text, name)(*args)
    except (TypeError, ValueError) as error:
        raise read.error("arguments", f"`{shown(node)}`: {error}", node) from error
    return tuple(map(Named, found)) if isinstance(found, list) else read.known(found, node)


def _helper(read: Evaluator, value: object, node: ast.Call, alone: bool) -> Value:
    """A call of another plain function, which is put in place, or of the class of a record."""
    if isinstance(value, type) and records.is_kind(value):
        return records.made(read, value, node)
    if records.is_replace(value) and len(node.args) == 1:
        named_items = {k.arg: read.value(k.value) for k in node.keywords if k.arg}
        return records.replaced(read, read.value(node.args[0]), named_items, node)
    if value is functools.partial and node.args:
        first = read.value(node.args[0])
        return Named(_with_arguments(read, _partial(read, first, node.args[0]), node, 1))
    if isinstance(value, np.vectorize):
        of_type: dict[str, Value] = {"otypes": (Named(np.dtype(value.otypes[0]).type),)} if value.otypes else {}
        value = cast(Named, put_in_place(read, "np.vectorize", [Named(value.pyfunc)], of_type, node)).value
    if not isinstance(value, functools.partial | Partial) and not isinstance(_unwrapped(value), (FunctionType, Inner)):
        raise _unknown(read, shown(node.func), value, node)
    called = _with_arguments(read, _partial(read, Named(value), node), node)
    return read.caller.call(called.function, called.args, called.by_name, node, alone=alone)


class Partial(Struct, frozen=True, eq=False):
    """A plain function with some of its arguments, as `functools.partial` makes it."""

    function: Any  # a `Function`, which as a field would be taken for a method
    args: tuple[Value, ...] = ()
    by_name: Mapping[str, Value] = {}


def _unwrapped(value: object) -> object:
    """A function in place of what wraps it."""
    return inspect.unwrap(value) if callable(value) else value


def _partial(read: Evaluator, value: Value, node: ast.expr) -> Partial:
    """A function with the arguments that it has already; also one of outside."""
    found = value.value if isinstance(value, Named) else None
    if isinstance(found, Partial):
        return found
    if isinstance(found, functools.partial):
        inner = _partial(read, Named(found.func), node)
        by_name = {name: read.known(v, node) for name, v in found.keywords.items()}
        args = [read.known(v, node) for v in found.args]
        return Partial(inner.function, (*inner.args, *args), {**inner.by_name, **by_name})
    function = _unwrapped(found)
    if library.qualified(found) is not None or not isinstance(function, (FunctionType, Inner)):
        hint = "write a function, as in lambda x: f(2, x)"
        raise read.error("arguments", f"`{shown(node)}` is no plain function", node, hint)
    return Partial(function)


def _with_arguments(read: Evaluator, called: Partial, node: ast.Call, after: int = 0) -> Partial:
    """A function with the arguments of a call too, but for those by place that come first."""
    if any(k.arg is None for k in node.keywords):
        hint = "write out each argument"
        raise read.error("arguments", f"{named(called.function)} is called with two stars", node, hint)
    args = read.items(node.args[after:], read.value)
    by_name = {k.arg: read.value(k.value) for k in node.keywords if k.arg}
    return Partial(called.function, (*called.args, *args), {**called.by_name, **by_name})


def _may_be_infinite(read: Evaluator, value: Value, node: ast.Call) -> bool:
    """Whether a value is, or has, floats that callers give."""
    if isinstance(value, tuple):
        return any(_may_be_infinite(read, item, node) for item in value)
    if isinstance(value, (View, Elementwise)):
        return read.dtype_of(value, node).is_float
    return isinstance(value, (Weak, Expr)) and read.numbers.dtype_of(value).is_float


def put_in_place(
    read: Evaluator, name: str, args: Sequence[Value], by_name: Mapping[str, Value], node: ast.Call
) -> Value:
    """A function of NumPy that is a plain function here; what is wrong with it is said of the call."""
    if (
        name in FINITE
        and read.numbers.exact
        and any(_may_be_infinite(read, a, node) for a in (*args, *by_name.values()))
    ):
        hint = 'leave out floats="strict", or sort and search before the call'
        raise read.error("unsupported", f"{name} is of finite numbers", node, hint)
    function = PUT_IN_PLACE[name]
    if name in BY_PLACE:
        args = [selected.compacted(read, a, node) if isinstance(a, Selection) else a for a in args]
    if name in UPDATES_OF_PAIRS and len(args) > 1 and isinstance(args[1], tuple) and not isinstance(args[1], Items):
        function, args = UPDATES_OF_PAIRS[name], (args[0], *args[1], *args[2:])
    try:
        return read.caller.call(function, args, by_name, node, alone=name in IN_PLACE)
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
    given = dict(zip(params[: opened.positional], args, strict=False))
    wrong = any(name not in params or name in given or name == opened.rest for name in by_name)
    found |= {**given, **by_name}
    if opened.rest:
        found[opened.rest] = tuple(args[opened.positional :])
    if wrong or (len(args) > opened.positional and not opened.rest) or len(found) < len(params):
        got = f"{len(args)} given" + (f", and {', '.join(by_name)} by name" if by_name else "")
        message = f"{named(function)} takes {len(params)} arguments, {got}"
        absent = [p for p in params if p not in found]
        hint = f"its parameters are {', '.join(params)}"
        hint += f"; {' and '.join(absent)} must be given" if absent and not wrong else ""
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


# Numbers -----------------------------------------------------------------------------------------------------------


def _converted(read: Evaluator, node: ast.expr, dtype: DType, place: ast.AST) -> Value:
    """`np.float32(x)`."""
    return read.lifted(lambda v: read.numbers.convert(v[0], dtype, place), [read.value(node)], place)


def _python_number(read: Evaluator, name: str, node: ast.Call) -> Number:
    given = read.value(only(read, node, name))
    if name == "float" and isinstance(given, Named) and isinstance(given.value, str):
        return _spelled(read, given.value, node)
    value = read.as_number(given, node)
    if name == "int":
        return read.numbers.integer(value, node)
    if name == "bool":
        return bool(value) if isinstance(value, (bool, int, float)) else read.numbers.truth(value, node)
    return float(value) if isinstance(value, (bool, int, float)) else read.numbers.python_float(value, node)


def _bits(read: Evaluator, value: Number, name: str, node: ast.Call) -> Number:
    """`k.bit_count()`, of Python integers also `k.bit_length()`."""
    arguments(read, node, name, 0, 0)
    whole = isinstance(value, int) or read.numbers.dtype_of(value).is_integer
    if not whole or (name == "bit_length" and isinstance(value, Expr)):
        hint = f"convert it, as in int({shown(node.func)[: -len(name) - 1]}).{name}()"
        raise read.error("dtype-mismatch", f"{name} is of Python integers", node, hint)
    return read.numbers.bit_count("popcount" if name == "bit_count" else "clz", value, node)


def _spelled(read: Evaluator, text: str, node: ast.Call) -> Number:
    """`float("inf")`."""
    try:
        return float(text)
    except ValueError:
        raise read.error("literal-range", f"{text!r} is no number", node, 'as in float("inf")') from None


def _library(read: Evaluator, name: str, function: object, node: ast.Call) -> Value:
    numbers = read.numbers
    if name in library.COMPLEX_ARCS and (value := _complex_of(read, name, node)) is not None:
        return put_in_place(read, f"complex.{library.COMPLEX_ARCS[name]}", [value], {}, node)
    if name == "math.log" and len(node.args) == 2:
        return put_in_place(read, "math.log.base", [read.number(a) for a in node.args], {}, node)
    if name in library.FLOAT_UNARY:
        op, of_numpy = library.FLOAT_UNARY[name]
        value = read.value(only(read, node, name))
        return read.lifted(lambda v: complexes.function_of(numbers, op, v[0], of_numpy, node), [value], node)
    if name in library.COMPLEX_UNARY:
        on = complexes.Complexes(numbers, node)
        return on.of(library.COMPLEX_UNARY[name], on.as_complex(read.number(only(read, node, name))))
    if name in library.PARTS:
        value = read.value(only(read, node, name))
        short = name.rpartition(".")[2]
        return read.lifted(lambda v: complexes.part_named(numbers, short, v[0], node), [value], node)
    if name in library.ABSOLUTE:
        value = read.value(only(read, node, name))
        return read.lifted(lambda v: complexes.size_of(numbers, v[0], node), [value], node)
    if name == "pow" and len(node.args) == 3:
        return put_in_place(read, "pow", [*read.items(node.args, read.value)], {}, node)
    if name in library.BINARY:
        a, b = (read.value(v) for v in arguments(read, node, name, 2, 2))
        op2 = library.BINARY[name]
        return read.lifted(lambda v: complexes.operated(numbers, op2, v[0], v[1], node), [a, b], node)
    if name == "sorted":
        return ordered(read, node, node)
    if name == "round" and len(node.args) + len(node.keywords) == 2:
        return rounded(read, node)
    if name in TABLES:
        return of_tables(read, name, function, node)
    if name in library.MADE:
        return made.made(read, name, function, node)
    if name in library.FILLED or name in library.FILLED_LIKE:
        return made.filled(read, name, function, node)
    if name in ("min", "max") and (items := _compared_by(read, name, node)) is not None:
        return read.caller.best_by(name, keyword(node, "key"), items, node)
    if name in library.FOLDS and node.args and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
        return _fold(read, name, node.args[0], node)
    if name in ("sum", "math.prod"):
        return _python_total(read, name, node)
    if name in library.SUMS:
        return _reduction(read, name, function, node)
    match name:
        case "len":
            value = read.value(only(read, node, name))
            if isinstance(value, tuple):
                return len(value)
            if isinstance(value, Named) and isinstance(value.value, str):
                return len(value.value)
            if (keyed := dictionary_of(value)) is not None:
                return len(keyed.items)
            if (lists := ragged_of(value)) is not None:
                return lists.count
            if isinstance(value, (View, Elementwise)) and value.shape:
                return extents_of(read, value.shape[:1], node)[0]
            if isinstance(value, Selection):
                return selected.counted(read, value, node)
            hint = hints.of_text(value.value) if isinstance(value, Named) else ""
            raise read.error("not-an-array", f"`{shown(node.args[0])}` has no length", node, hint)
        case "complex":
            given = [read.number(a) for a in arguments(read, node, name, 1, 2, ("real", "imag"))]
            return complexes.Complexes(numbers, node).of_parts(given[0], given[1] if len(given) > 1 else 0.0)
        case "ord":
            value = read.value(only(read, node, name))
            if not isinstance(value, Named) or not isinstance(value.value, str) or len(value.value) != 1:
                raise read.error("arguments", "ord takes a text of one character", node, 'write it, as in ord("a")')
            return ord(value.value)
        case "isinstance":
            return records.is_instance(read, node)
        case "tuple" | "list":
            items = only(read, node, name)
            lists = nested(read, node)
            return _items_of(read, items, node) if lists is None else lists
        case "min" | "max":
            return _extremum(read, name, node)
        case "math.floor" | "math.ceil" | "math.trunc" | "round":
            value = read.number(only(read, node, name))
            if not numbers.dtype_of(value).is_float:
                return numbers.integer(value, node)
            whole = Unary(name.removeprefix("math."), numbers.natural(value, node))  # pyright: ignore[reportArgumentType]
            return Weak(Cast(DType.INT64, whole, read.source.span(node)))
        case "np.where":
            if len(node.args) == 1:
                return read.caller.of_library("np.nonzero", [read.array(node.args[0])], node)
            return chosen_by(read, [read.value(v) for v in arguments(read, node, name, 3, 3)], node)
        case "np.square":
            value = read.value(only(read, node, name))
            return read.lifted(lambda v: complexes.operated(numbers, "pow", v[0], 2, node), [value], node)
        case "np.bitwise_count":
            value = read.value(only(read, node, name))
            return read.lifted(
                lambda v: numbers.convert(numbers.bit_count("popcount", v[0], node), DType.UINT8, node), [value], node
            )
        case "np.logical_not":
            value = read.value(only(read, node, name))
            return read.lifted(lambda v: numbers.typer.unary("not", numbers.truth(v[0], node), node), [value], node)
        case "np.invert" | "np.bitwise_not":
            value = read.value(only(read, node, name))
            return read.lifted(lambda v: numbers.unary("bitnot", v[0], node), [value], node)
        case "np.ndim" | "np.shape" | "np.size":
            return _size(read, name, read.value(only(read, node, name, function)), node)
        case "np.meshgrid":
            return made.grids(read, function, node)
        case "np.copy":
            return _copied(read, read.array(only(read, node, name, function)))
        case "np.array" | "np.asarray":
            return made.array(read, name, function, node)
        case "np.frombuffer" if isinstance(value := read.value(node.args[0]), tuple):
            _, dtype = arguments(read, node, name, 2, 2, ("dtype",), function)
            if made.dtype_at(read, dtype) not in (DType.UINT8, DType.INT8):
                raise read.error("unsupported", "np.frombuffer is of bytes here", node, "as in np.uint8")
            return read.caller.table(value, made.dtype_at(read, dtype), node)
        case "np.finfo" | "np.iinfo":
            dtype = made.dtype_at(read, only(read, node, name)).numpy.name
            return Named(np.finfo(dtype) if name == "np.finfo" else np.iinfo(dtype))
        case "range":
            return read.caller.numbers_in(node)
        case "zip" if len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            return turned(read, node.args[0].value, node)
        case "loopsat.prange" | "enumerate" | "zip" | "reversed":
            hint = f"loop over it, as in `for i in {shown(node)}`"
            raise read.error("unsupported", f"`{shown(node)}` is no value", node, hint)
        case "loopsat.assume":
            raise read.error("unsupported", "loopsat.assume is a statement of its own", node)
        case "loopsat.unsupported":
            raise read.error("unsupported", str(ast.literal_eval(node.args[0])), node)
        case "loopsat.bound":
            hint = "as in `while x > limit:` and below it `loopsat.bound(100)`"
            raise read.error("unsupported", "loopsat.bound stands first in the body of a `while`", node, hint)
        case _:
            callee = read.value(node.func)
            raise _unknown(read, shown(node.func), callee.value if isinstance(callee, Named) else None, node)


def chosen_by(read: Evaluator, parts: Sequence[Value], node: ast.AST) -> Value:
    """Elements of two arrays, as a third one says."""
    return read.lifted(lambda v: read.numbers.where(v[0], v[1], v[2], node), parts, node)


def _complex_of(read: Evaluator, name: str, node: ast.Call) -> Value | None:
    """The argument of a function, if that is complex; `cmath` takes all numbers as such."""
    value = read.value(only(read, node, name))
    if isinstance(value, (View, Elementwise)):
        return value if read.dtype_of(value, node).is_complex else None
    on, number = complexes.Complexes(read.numbers, node), read.as_number(value, node)
    return on.as_complex(number) if name.startswith("cmath.") or on.is_complex(number) else None


def of_tables(read: Evaluator, name: str, function: object, node: ast.Call, first: Sequence[Value] = ()) -> Value:
    """A function that one of the tables of the library has, of the `first` arguments and those of a call."""
    node = without_usual(node, function, names_of(name))
    if name in BODIES:
        given = {k.arg: read.array_or(k.value) for k in node.keywords if k.arg}
        return put_in_place(read, name, [*first, *read.items(node.args, read.array_or)], given, node)
    if name in ARRANGED:
        least, names, arranged = ARRANGED[name]
        return arranged(read, values(read, name, names, least, node, first), node)
    names, least, _ = COMPOSED[name]
    given = [v for v in values(read, name, names, least, node, first) if v is not ABSENT]
    return read.lifted(lambda v: composed(name, read.numbers, v, node), given, node)


def names_of(name: str) -> Sequence[str]:
    """The names of the arguments of a function that one of the tables has."""
    if name in BODIES:
        code = BODIES[name].__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return ARRANGED[name][1] if name in ARRANGED else COMPOSED[name][0]


def _items_of(read: Evaluator, items: ast.expr, node: ast.Call) -> Value:
    """`tuple(...)` of a tuple, or of as many items as are known."""
    return read.caller.items(_each_of(items), node)


def _each_of(items: ast.expr) -> Comprehension:
    """A comprehension that gives items as they are, unless it is one."""
    if isinstance(items, (ast.GeneratorExp, ast.ListComp)):
        return items
    item = ast.copy_location(ast.Name("_item", ast.Load()), items)
    return ast.copy_location(ast.GeneratorExp(item, [ast.comprehension(item, items, [], 0)]), items)


def _compared_by(read: Evaluator, name: str, node: ast.Call) -> Comprehension | None:
    """The items of `min` and `max` that are compared by a function, or that are tuples; None for numbers."""
    if keyword(node, "key") is not None:
        arguments(read, node, name, 1, len(node.args), ("key",))
        items = node.args[0] if len(node.args) == 1 else ast.copy_location(ast.Tuple([*node.args], ast.Load()), node)
        return _each_of(items)
    match node.args:
        case [ast.GeneratorExp(elt=ast.Tuple()) | ast.ListComp(elt=ast.Tuple()) as items]:
            return None if node.keywords else items
        case _:
            return None


def _fold(read: Evaluator, name: str, items: Comprehension, node: ast.Call) -> Value:
    """Python's functions of the items of a comprehension."""
    starts, option = {"sum": (2, "start"), "max": (1, "default"), "min": (1, "default")}.get(name, (1, ""))
    arguments(read, node, name, 1, starts, (option,))
    given = node.args[1] if len(node.args) > 1 else keyword(node, option)
    number = None if given is None else read.number(given)
    if name == "len":
        if isinstance(items, ast.GeneratorExp):
            raise read.error("not-an-array", f"`{shown(items)}` has no length", node, "write sum(1 for ...)")
        items = ast.copy_location(ast.ListComp(ast.Constant(1), items.generators), items)
        return read.caller.fold("sum", items, node)
    short = name.removeprefix("math.")
    if name == "sum" and (added := read.caller.added(items, number or 0, node)) is not None:
        return added
    if option == "default":
        return read.caller.fold(short, items, node, default=number)
    return read.caller.fold(short, items, node, start=number)


def _extremum(read: Evaluator, name: str, node: ast.Call) -> Value:
    """Python's `min` and `max` of numbers, of a tuple of them, or of several tuples."""
    parts = [*read.items(node.args, read.value)]
    if len(parts) == 1 and isinstance(parts[0], tuple):
        parts = list(parts[0])
    elif len(parts) == 1 and isinstance(parts[0], (View, Elementwise)) and len(parts[0].shape) == 1:
        return read.caller.reduce(name, parts[0], None, node)
    elif len(parts) == 1 and (lists_in(read, parts[0]) or items_kind(read, parts[0])):
        return read.caller.best_by(name, None, _each_of(node.args[0]), node)
    if not parts or node.keywords:
        raise read.error("arguments", f"{name} takes numbers", node)
    if all(isinstance(part, tuple) for part in parts):
        return greatest(read, "gt" if name == "max" else "lt", parts, node)
    found = read.as_number(parts[0], node)
    for other in parts[1:]:
        found = read.numbers.builtin_extremum(
            "min" if name == "min" else "max", found, read.as_number(other, node), node
        )
    return found


# Arrays ------------------------------------------------------------------------------------------------------------


def _size(read: Evaluator, name: str, value: Value, node: ast.Call) -> Value:
    """`np.ndim`, `np.shape` and `np.size` of arrays, of what is written out as rows, and of numbers."""
    shape: tuple[Number, ...] = ()
    while isinstance(value, tuple):
        shape = (*shape, len(value))
        value = value[0] if value else 0
    shape = (*shape, *value.shape) if isinstance(value, (View, Elementwise)) else shape
    if name == "np.ndim":
        return len(shape)
    return extents_of(read, shape, node) if name == "np.shape" else size_of(read, shape, node)


def _copied(read: Evaluator, array: Array) -> Elementwise:
    return Elementwise(array.shape, lambda i: read.element(array, i))


def _method(read: Evaluator, owner: Array, name: str, node: ast.Call) -> Value:
    match name:
        case "copy":
            arguments(read, node, "copy", 0, 0, (), np.copy)
            return read.caller.copied(owner, node) if stands_for_list(read, owner) else _copied(read, owner)
        case "astype":
            dtype = made.dtype_at(read, only(read, node, "astype", np.astype))
            return Elementwise(owner.shape, lambda i: read.numbers.convert(read.element(owner, i), dtype, node))
        case "dot":
            return read.caller.product(owner, read.array(only(read, node, "dot")), node)
        case "conj" | "conjugate":
            arguments(read, node, name, 0, 0)
            return read.lifted(lambda v: complexes.part_named(read.numbers, name, v[0], node), [owner], node)
        case "item":
            places = tuple(read.as_number(v, node) for v in read.items(node.args, read.value))
            sizes = [n for n in owner.shape if isinstance(n, int)]
            if not places and len(sizes) == len(owner.shape) and all(n == 1 for n in sizes):
                places = tuple(0 for _ in sizes)
            if len(places) != len(owner.shape):
                raise read.error("arguments", f"item of {len(owner.shape)} dimensions", node, "as in A.item(0, 1)")
            return read.numbers.of_python(read.element(owner, places, node), node)
        case "flatten":
            arguments(read, node, "flatten", 0, 0, (), np.ravel)
            return _copied(read, flattened(read, owner, node))
        case "reshape" | "transpose":
            arguments(read, node, name, 0, len(node.args), (), getattr(np, name))
            order = tuple(read.items(node.args, read.value))
            order = order[0] if len(order) == 1 and isinstance(order[0], tuple) else order
            return ARRANGED[f"np.{name}"][2](read, [owner, order or ABSENT], node)
        case _ if name in (*_TOTALS, *_SCANS):
            arguments(read, node, name, 0, 1, _options(name), getattr(np.ndarray, name))
            axis = keyword(node, "axis") or (node.args[0] if node.args else None)
            return _reduced(read, name, owner, _axes(read, owner, axis), node)
        case _ if name in _OF_ARRAYS:
            return of_tables(read, f"np.{name}", getattr(np, name), node, [owner])
        case _:
            near = hints.FUNCTIONS.get(name, "") or suggest(name, (*_METHODS, *_OF_ARRAYS))
            raise read.error("unknown-function", f"arrays have no method `{name}` here", node, near)


def turned(read: Evaluator, rows: ast.expr, node: ast.AST) -> Value:
    """`zip(*rows)`: the first items of rows that are known to have the same length, then the second ones, and so on."""
    value = read.value(rows)
    if isinstance(value, tuple) and value and all(isinstance(row, tuple) for row in value):
        lengths = [len(row) for row in value if isinstance(row, tuple)]
        return tuple(tuple(row[k] for row in value if isinstance(row, tuple)) for k in range(min(lengths)))
    if isinstance(value, (View, Elementwise)) and len(value.shape) > 1 and isinstance(count := value.shape[1], int):
        shape = (value.shape[0], *value.shape[2:])
        columns = (viewed(value, shape, lambda i, k=k: (i[0], k, *i[1:])) for k in range(count))
        if not stands_for_list(read, value):
            return tuple(columns)
        if isinstance(size := value.shape[0], int) and size <= MAX_ITEMS:
            return tuple(tuple(read.row(column, k, node) for k in range(size)) for column in columns)
        return tuple(Elementwise(c.shape, lambda i, c=c: read.item(c, i, node)) for c in columns)
    raise read.error("unsupported", f"`{shown(node)}` is no value", node, "give it rows whose number is known")


def _python_total(read: Evaluator, name: str, node: ast.Call) -> Value:
    """Python's `sum` or `math.prod` of numbers in a row, or of rows, from a start on."""
    total = name.removeprefix("math.")
    op, least = (ast.Add(), 0) if total == "sum" else (ast.Mult(), 1)
    arguments(read, node, name, 1, 2 if total == "sum" else 1, ("start",))
    given = keyword(node, "start") or (node.args[1] if len(node.args) > 1 else None)
    start: Value = least if given is None else read.value(given)
    items = read.array_or(node.args[0])
    if isinstance(items, tuple):
        for item in items:
            start = read.operate(op, start, item, node)
        return start
    rows = isinstance(items, (View, Elementwise)) and len(items.shape) > 1 and stands_for_list(read, items)
    if isinstance(items, (View, Elementwise)) and items.shape and not rows:
        found = _reduced(read, total, items, (0,), node)
        dtype = read.dtype_of(items, node)
        if dtype.is_integer and not stands_for_list(read, items):  # added up one after the other, in their dtype
            found = read.lifted(lambda v: read.numbers.convert(v[0], dtype, node), [found], node)
    elif isinstance(items, Selection):
        found = selected.total(read, total, items, None, node)
    else:
        raise read.error("not-an-array", f"`{shown(node.args[0])}` is no row of numbers", node)
    return found if given is None else read.operate(op, start, found, node)


def _reduction(read: Evaluator, name: str, function: object, node: ast.Call) -> Value:
    if name in ("np.dot", "np.matmul"):
        a, b = arguments(read, node, name, 2, 2, (), function)
        if name == "np.dot" and max(len(read.array(v).shape) for v in (a, b)) > 2:
            raise read.error("shape", "np.dot is of vectors and matrices here", node, "write `@`, or np.tensordot")
        return read.caller.product(read.array(a), read.array(b), node)
    short = {"np.amax": "max", "np.amin": "min"}.get(name, name.removeprefix("np."))
    args = arguments(read, node, name, 1, 2, _options(short) if name.startswith("np.") else (), function)
    given = read.array_or(args[0])
    given = read.caller.table(given, None, node) if isinstance(given, tuple) and name.startswith("np.") else given
    axis = keyword(node, "axis") or (args[1] if len(args) > 1 else None)
    if isinstance(given, Selection):
        return _reduced(read, short, given, _axes(read, given.array, axis), node)
    array = given if isinstance(given, (View, Elementwise)) else read.array(args[0])
    if name in ("any", "all") and len(array.shape) != 1:
        raise read.error(
            "unsupported",
            f"Python's {name} is of one-dimensional arrays",
            node,
            f"write np.{name}(A, axis)",
        )
    return _reduced(read, short, array, _axes(read, array, axis), node)


def _reduced(
    read: Evaluator, name: str, array: Array | Selection, axes: tuple[int, ...] | None, node: ast.Call
) -> Value:
    """A reduction over all axes, or over some; the axes stay with an extent of one if the call says so."""
    if isinstance(array, Selection):
        if any(k.arg != "axis" for k in node.keywords):
            raise read.error("unsupported", f"an option of {name} of a selection", node, selected.HINT)
        return selected.total(read, name, array, axes, node)
    stated = keyword(node, "dtype")
    if stated is not None:
        array = _summed_as(read, name, array, stated, node)
    rank = len(array.shape)
    own = tuple(range(rank)) if axes is None or len(axes) == rank else axes
    if name in _SCANS:
        if 1 < len(own) < rank:
            raise read.error("arguments", f"{name} is along one axis here", node, "reshape the array first")
        found = read.caller.scan(name, array, None if axes is None or len(own) != 1 else own[0], node)
    else:
        found = read.caller.reduce(name, array, own, node)
    keeps = keyword(node, "keepdims")
    if keeps is None or read.condition(keeps) is False:
        return found
    shape = tuple(1 if k in own else e for k, e in enumerate(array.shape))

    def element(indices: Indices) -> Number:
        if isinstance(found, (View, Elementwise)):
            return read.element(found, tuple(i for k, i in enumerate(indices) if k not in own), node)
        return read.as_number(found, node)

    return Elementwise(shape, element)


def _summed_as(read: Evaluator, name: str, array: Array, stated: ast.expr, node: ast.Call) -> Array:
    """An array in the dtype in which it is added up."""
    dtype = made.dtype_at(read, stated)
    if not dtype.is_float and (dtype.bits < 64 or name not in ("sum", "prod", "cumsum", "cumprod")):
        raise read.error("unsupported", f"{name} is not added up in {dtype} here", stated, "convert its result")
    return Elementwise(array.shape, lambda i: read.numbers.convert(read.element(array, i), dtype, node))


def _options(name: str) -> tuple[str, ...]:
    """What a reduction may be told by name."""
    if name in ("cumsum", "cumprod"):
        return ("axis", "dtype")
    if name in ("sum", "prod", "mean"):
        return ("axis", "keepdims", "dtype")
    return ("axis", "keepdims", "ddof", "dtype") if name in ("var", "std") else ("axis", "keepdims")


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
