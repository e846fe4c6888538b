"""`loopsat.jit`: plain Python functions of loops over arrays, compiled for the arguments they are called with.

Owns the signature of a call, and which program answers to it. What the language is, is `ir.script.plain`'s.
"""

from __future__ import annotations

import functools
import inspect
import threading
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf
from types import FunctionType
from typing import Any, Generic, ParamSpec, Protocol, Self, overload

import jax
import numpy as np
from jax import core as jax_core
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from egraph_rules.engine.phases import Budget
from ir.dtypes import DType, array_dtype
from ir.errors import LoopsatError, LowerError, LowerTypeError, LowerValueError, OptionError, expect, suggest
from ir.floats import Floats, floats_named
from ir.later import keeping
from ir.page import Section
from ir.script.plain.library.records import is_kind
from ir.script.plain.program import NeedsRange, NeedsValue
from ir.script.plain.signature import ArgumentType, ArrayType, Form, Known, ScalarType, apart
from ir.script.plain.translate import OPEN_FROM, translate
from ir.shown import Shown
from lower.emission.donation import Donate
from lower.runtime.callable import is_array
from lower.runtime.platforms import without_damage
from lower.runtime.specialization import Options, Quick, Sizes, Specialization, built, quick_way, specialized

P = ParamSpec("P")
_OTHERWISE = np.matrix, np.ma.MaskedArray  # arrays that are none of this language
_WHOLES = (tuple, list, dict)  # that may be made of arguments
_INTEGERS = (int, np.integer)  # whose value is known at a call
_PYTHON = {bool: DType.BOOL, int: DType.INT64, float: DType.FLOAT64, complex: DType.COMPLEX128}


class _Parts(tuple[Any, ...]):
    """Arguments of which some are parts of a parameter: their names, and how parameters are made of them."""

    names: tuple[str, ...]
    forms: Mapping[str, Form]


class JitFunction(Shown, Generic[P]):
    """A plain Python function with parameters `P` that is compiled when it is called; see `jit`.

    `source`, `report` and `specialization` are those of the last call. A function within a function cannot be pickled,
    as in Python; any other is pickled by its name.
    """

    __name__: str
    __wrapped__: Callable[P, Any]

    def __init__(self, function: FunctionType, options: Options, static: frozenset[str]) -> None:
        functools.update_wrapper(self, function)
        self._options = options
        self._static = static  # parameters whose value is part of the signature; grows where values decide
        self._signature = inspect.signature(function)
        self._parameters = tuple(self._signature.parameters)
        self._cuts: dict[Hashable, dict[str, list[int]]] = {}  # on which sides of these numbers places of arrays are
        self._known: dict[Hashable, Specialization] = {}
        self._last: Specialization | None = None
        self._quick: Quick | None = None  # the way past all checks for what was called last
        self._lock = threading.RLock()

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> Any:
        """Run the function; results are JAX arrays, and arguments stay as they are.

        Raises:
            LoopsatError: the function is not of the language, or an argument is of a kind that is not understood.
        """
        quick = self._quick
        if quick is not None and not named and quick.fits(arguments):
            return quick.run(arguments)
        return self._run(arguments, named)

    def _run(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Run the function for arguments that are not like those of the last call."""
        arguments = self._parted(arguments, named)
        special = self._known.get(self._key(arguments))
        if special is None:
            with keeping():
                self._specialized(arguments)
                with without_damage():  # it is compiled by the first call
                    return self._run(arguments, {})
        self._last = special
        stores = special.stores
        names = self._names(arguments)
        between = [
            (names.index(name), -inf if low is None else low, inf if stop is None else stop)
            for name, (low, stop) in (self._ranges(self._kinds(arguments), arguments) if self._cuts else {}).items()
            if low is not None or stop is not None
        ]
        self._quick = None
        quick = special.quick and special.fits(arguments)
        if quick and not isinstance(arguments, _Parts):
            between += special.limits
            self._quick = quick_way(special, arguments, lambda given: self._check_distinct(given, stores), between)
        if stores:
            self._check_distinct(arguments, stores)
        taken = special.taken(arguments)
        if quick and special.joins:
            with special.kernel.context():
                return special.joined(*taken)
        if quick:
            return special.pick(special.kernel.run_fitting(taken))
        return special.pick(special.kernel(*special.parts(taken)))

    def _check_distinct(self, arguments: Sequence[Any], stores: Sequence[int]) -> None:
        """Refuse an array that is stored to and given twice: Python would see the stores through both names."""
        names = self._names(arguments)
        for k in stores:
            stored = arguments[k]
            for other, value in enumerate(arguments):
                if value is stored and other != k and isinstance(value, np.ndarray):
                    one, two = names[k], names[other]
                    message = f"{self.__name__} stores to {one}, and {two} is the same array"
                    raise LowerValueError("arguments", message, help=f"pass a copy, as in {two}.copy()")

    def brief(self) -> str:
        """Its Python signature."""
        return f"loopsat.jit {self.__wrapped__.__qualname__}{self._signature}"

    def sections(self) -> Iterator[Section]:
        """Its Python signature, and what it was compiled to for each signature of calls."""
        yield Section(self.brief(), lines=() if self._known else ("not called yet: the first call compiles it",))
        for special in self._known.values():
            yield from special.sections()

    def __reduce__(self) -> str:
        return self.__wrapped__.__qualname__

    def __get__(self, instance: object, owner: object = None) -> Self:
        if instance is None:
            return self
        message = f"{self.__name__} is a method, and objects are no arrays"
        raise LowerTypeError("arguments", message, help="make it a function of the arrays that it needs")

    # What was made --------------------------------------------------------------------------------------------------

    @property
    def specialization(self) -> Specialization:
        """What the last call ran.

        Raises:
            LowerError: there was no call.
        """
        if self._last is None:
            message = f"{self.__name__} has not been called"
            raise LowerError("not-called", message, help="call it, or ask .specialize(...) with its arguments")
        return self._last

    @property
    def source(self) -> str:
        """The JAX source of what the last call ran."""
        return self.specialization.kernel.source

    @property
    def report(self) -> list[str]:
        """Which form each statement took in what the last call ran."""
        return self.specialization.kernel.report

    def explain(self) -> str:
        """The decisions of the search behind the last call, each with its fact, and the form of each statement."""
        special = self.specialization
        report = special.result.report
        decisions = [
            f"{d.rule}: {d.place.removesuffix(':')}{', since ' if d.fact else ''}{d.fact}" for d in report.decisions
        ]
        decisions = decisions or ["the program as it is written: no rule found anything cheaper"]
        return "\n".join([*decisions, "", *special.kernel.report])

    def specialize(self, *arguments: Any, **named: Any) -> Specialization:
        """What a call with these arguments runs; nothing is run. Raises as a call does."""
        return self._special(self._parted(arguments, named))

    def _special(self, arguments: Sequence[Any]) -> Specialization:
        found = self._known.get(self._key(arguments))
        return self._specialized(arguments) if found is None else found

    def lower(self, *arguments: Any, **named: Any) -> Any:
        """JAX's lowered form for these arguments, to compile or inspect; nothing is run."""
        arguments = self._parted(arguments, named)
        special = self._special(arguments)
        return special.kernel.lower(*special.parts(special.taken(arguments)))

    # Signatures -----------------------------------------------------------------------------------------------------

    def _bound(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            bound = self._signature.bind(*arguments, **named)
        except TypeError as error:
            message = f"{self.__name__}{self._signature}: {error}"
            raise LowerTypeError("arguments", message, help="pass arguments as to the Python function") from None
        bound.apply_defaults()
        return tuple(bound.arguments[p] for p in self._parameters)

    def _parted(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Arguments in the order of parameters; lists, dictionaries, and tuples of arrays as their parts."""
        if isinstance(arguments, _Parts):
            return arguments
        if named or len(arguments) != len(self._parameters):
            arguments = self._bound(arguments, named)
        if not any(isinstance(v, _WHOLES) or is_kind(type(v)) for v in arguments):
            return arguments
        leaves: dict[str, Any] = {}
        taken, given = set(self._parameters), zip(self._parameters, arguments, strict=True)
        found = {name: apart(name, value, leaves, taken) for name, value in given}
        forms = {name: form for name, form in found.items() if isinstance(form, Form)}
        if not forms:
            return arguments
        parts = _Parts(leaves.values())
        parts.names, parts.forms = tuple(leaves), forms
        return parts

    def _names(self, arguments: Sequence[Any]) -> tuple[str, ...]:
        """The name of each argument."""
        return arguments.names if isinstance(arguments, _Parts) else self._parameters

    def _key(self, arguments: Sequence[Any]) -> Hashable:
        """What calls that one program answers have in common."""
        kinds = self._kinds(arguments)
        ranges = self._ranges(kinds, arguments)
        return (kinds, *ranges.values()) if ranges else kinds

    def _ranges(self, kinds: Hashable, arguments: Sequence[Any]) -> dict[str, tuple[int | None, int | None]]:
        """Between which numbers arguments are that are places: the least that each may be, and the first that is too
        large; for calls of one program. What JAX holds may be any number."""
        found: dict[str, tuple[int | None, int | None]] = {}
        for name, cuts in self._cuts.get(kinds, {}).items():
            value = arguments[self._names(arguments).index(name)]
            at = bisect_right(cuts, int(value)) if isinstance(value, _INTEGERS) else None
            found[name] = (cuts[at - 1] if at else None), (cuts[at] if at is not None and at < len(cuts) else None)
        return found

    def _kinds(self, arguments: Sequence[Any]) -> Hashable:
        """The dtypes and shapes of arguments, and the values that are part of programs."""
        key: list[Hashable] = []
        if isinstance(arguments, _Parts):
            key += arguments.forms.items()
        for name, value in zip(self._names(arguments), arguments, strict=True):
            kind = type(value)
            if isinstance(value, _OTHERWISE):
                message = f"argument {name} of {self.__name__} is a {kind.__name__}, whose operators mean other things"
                plain = "filled(...)" if isinstance(value, np.ma.MaskedArray) else "A1"
                raise LowerTypeError("arguments", message, help=f"pass a plain array, as in {name}.{plain}")
            if kind is float or kind is complex:
                key.append(value if name in self._static else kind)
            elif kind is int:
                key.append((kind, value) if name in self._static else kind)
            elif is_array(value) and value.ndim:
                key.append((value.shape, value.dtype))
            elif name in self._static and _is_known(value):
                key.append((kind, value.item()))
            elif is_array(value) or isinstance(value, np.generic):
                key.append((_weak(value), value.dtype))
            else:
                key.append((kind, self._hashable(name, value)))
        if self._options.sizes == "open":
            self._open(key, arguments)
        return tuple(key)

    def _open(self, key: list[Hashable], arguments: Sequence[Any]) -> None:
        """Write which sizes are equal in place of the sizes."""
        names: dict[int, str] = {}
        for k, value in enumerate(arguments, len(key) - len(arguments)):
            if is_array(value) and value.ndim:
                key[k] = (self._shape(value.shape, names), value.dtype)

    def _shape(self, shape: Sequence[int], names: dict[int, str]) -> tuple[int | str, ...]:
        """A shape with names for sizes that are open: equal ones share a name; 0 and 1 stay numbers."""
        if self._options.sizes != "open":
            return tuple(shape)
        return tuple(n if n < OPEN_FROM else names.setdefault(n, f"size_{len(names)}") for n in shape)

    def _hashable(self, name: str, value: Any) -> Hashable:
        try:
            hash(value)
        except TypeError:
            message = f"argument {name} of {self.__name__} is a {type(value).__name__}"
            keyed = "pass its numbers, or make it a dictionary of outside, which is as it is when the program is made"
            help = keyed if isinstance(value, dict) else f"pass an array, as in np.array({name})"
            raise LowerTypeError("arguments", message, help=help) from None
        return value

    def _type(self, name: str, value: Any, sizes: dict[int, str]) -> ArgumentType:
        if isinstance(value, (np.ndarray, jax.Array, np.generic)):
            dtype = array_dtype(value.dtype.name)
            if dtype is None or not value.dtype.isnative:
                message = f"argument {name} of {self.__name__} has the dtype {value.dtype}"
                fields = ", ".join(f"{name}[{field!r}]" for field in value.dtype.names or ())
                help = f"pass its fields as arrays: {fields}" if fields else "convert it with .astype(...)"
                raise LowerTypeError("arguments", message, help=help)
            if name in self._static and _is_known(value):
                return Known(value.item())
            return ArrayType(self._shape(value.shape, sizes), dtype) if value.ndim else ScalarType(dtype, _weak(value))
        if type(value) in _PYTHON and type(value) is not bool and name not in self._static:
            return ScalarType(_PYTHON[type(value)], True)
        return Known(value)

    # Programs -------------------------------------------------------------------------------------------------------

    def _specialized(self, arguments: Sequence[Any]) -> Specialization:
        """Compile for the types of these arguments."""
        with self._lock:
            static = self._static
            while True:
                key = self._key(arguments)
                if key in self._known:
                    return self._known[key]
                try:
                    special = self._compiled(arguments)
                except NeedsValue as needed:
                    self._static |= needed.names
                    continue
                except NeedsRange as needed:
                    cuts = self._cuts.setdefault(self._kinds(arguments), {})
                    cuts[needed.name] = sorted({*cuts.get(needed.name, ()), *needed.cuts})
                    continue
                except LoopsatError:  # of no other call: its values may be what is wrong
                    self._static = static
                    raise
                self._known[key] = special
                return special

    def _compiled(self, arguments: Sequence[Any]) -> Specialization:
        sizes: dict[int, str] = {}
        names = self._names(arguments)
        given = zip(names, arguments, strict=True)
        types = {name: self._type(name, value, sizes) for name, value in given}
        for name, (low, stop) in self._ranges(self._kinds(arguments), arguments).items():
            types[name] = replace(types[name], low=low, stop=stop)
        options = self._options
        ints = frozenset(n for n, v in zip(names, arguments, strict=True) if isinstance(v, _INTEGERS))
        exact = Floats.FINITE not in options.floats or Floats.NO_SIGNED_ZEROS not in options.floats
        forms = arguments.forms if isinstance(arguments, _Parts) else {}
        plain = translate(self.__wrapped__, types, ints, exact, forms)
        target = jax.default_backend() if options.target is None else options.target
        if (plain.parts or forms) and not isinstance(options.donate, bool):
            donated = (options.donate,) if isinstance(options.donate, str) else options.donate
            leaves = (leaf for n in donated for leaf in (forms[n].leaves if n in forms else (n,)))
            options = replace(options, donate=tuple(part for n in leaves for part in plain.parts.get(n, (n,))))
        given = sum(not isinstance(t, Known) for t in types.values()) + sum(name in plain.parts for name in types)
        kernel, searched = built(plain.func, target, options, given)
        return specialized(plain, searched, kernel, types, arguments, options)


def _is_known(value: Any) -> bool:
    """Whether a value is one number of NumPy or JAX, which JAX does not trace."""
    number = isinstance(value, np.generic) or (is_array(value) and value.ndim == 0)
    return number and not isinstance(value, jax_core.Tracer)


def _weak(value: Any) -> bool:
    """Whether JAX takes a number as one of Python, whose dtype gives way."""
    return isinstance(value, jax.Array) and bool(getattr(value, "weak_type", False))


class _Decorator(Protocol):
    """What `jit` is with options: it keeps the parameters of what it decorates."""

    def __call__(self, function: Callable[P, Any], /) -> JitFunction[P]: ...


@overload
def jit(function: Callable[P, Any], /) -> JitFunction[P]: ...
@overload
def jit(
    *,
    target: str | Target | None = None,
    floats: Floats | str | Iterable[str] | None = None,
    sizes: Sizes = "fixed",
    static: str | Iterable[str] = (),
    donate: Donate = False,
    checks: bool = False,
    budget: Budget | None = None,
    without: str | Iterable[str] = (),
) -> _Decorator: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    target: str | Target | None = None,
    floats: Floats | str | Iterable[str] | None = None,
    sizes: Sizes = "fixed",
    static: str | Iterable[str] = (),
    donate: Donate = False,
    checks: bool = False,
    budget: Budget | None = None,
    without: str | Iterable[str] = (),
) -> Any:
    """Decorator: a plain Python function of loops over arrays, optimized and compiled for what it is called with.

    The function is read from its source and never run. Each signature (shapes and dtypes of arrays, dtypes of numbers)
    has a program of its own, made at its first call; `sizes="open"` makes one for all sizes, where equal sizes stay
    equal. Python integers that decide about shapes, loops or places are part of the signature with their value, as are
    truths, texts and the parameters in `static`.

    `target` is cpu, gpu or tpu (by default what JAX runs on), `floats` the freedoms that are granted, `budget` that of
    the search, as for `optimize`; `donate` and `checks` are as for `compile`. `without` names rules, forms of lowering
    and their families that are left out (`loopsat rules` lists them); an unknown one is refused at the first call.

    Arguments may be lists, dictionaries, named tuples and frozen data classes with arrays in them, and so may results.
    Results are JAX arrays: what the function returns, or where it returns nothing, the parameters that it stores to, in
    their order; one result stands by itself. Arguments never change.

    A function may have `for` over ranges, arrays and tuples, `enumerate`, `zip`, `reversed`; `while` whose steps are
    bounded by what it compares, or that begins with `loopsat.bound(limit)`; `if`, `break`, `continue`, `return`,
    `assert`, `loopsat.assume`; names of numbers and arrays; elements, parts and views of arrays, stores to them, arrays
    of indices and of truths; arithmetic of numbers and arrays, `@`; comprehensions in `sum`, `min`, `max`, `any`,
    `all`, `math.prod`, `np.array`; lists, stacks, queues and heaps, dictionaries and sets; named tuples; names that are
    `None` first; calls of plain functions; functions of `math` and NumPy that make arrays (`zeros`, `arange`, ...),
    work on elements (`exp`, `where`, ...), arrange them (`reshape`, `concatenate`, `pad`, ...) or fold them (`sum`,
    `argmax`, `cumsum`, ...).

    Raises:
        LowerError: an option is not understood, or what is decorated is no function.
        LoopsatError: at a call, the function is not of the language.
    """
    if sizes not in ("fixed", "open"):
        raise OptionError("argument", f"sizes must be fixed or open, not {sizes!r}")
    expect(budget, (Budget, type(None)), "a budget is a Budget", "as in Budget(seconds=5.0)")
    for value, name in (
        (static, "static"),
        (without, "without"),
        (donate if not isinstance(donate, bool) else (), "donate"),
    ):
        expect(value, Iterable, f"`{name}` has names")
    names = frozenset([static] if isinstance(static, str) else static)
    given = donate if isinstance(donate, (bool, str)) else tuple(donate)
    off = (without,) if isinstance(without, str) else tuple(without)
    options = Options(target, floats_named(floats), sizes, given, checks, budget, off)

    def decorate(function: Callable[P, Any]) -> JitFunction[P]:
        if not isinstance(function, FunctionType):  # a method, or an object
            raise LowerError("no-source", f"loopsat.jit decorates functions, found {type(function).__name__}")
        parameters = inspect.signature(function).parameters
        for name in sorted(names - {*parameters}):
            message = f"`{name}` cannot be static: it is no parameter of {function.__name__}"
            raise OptionError("argument", message, help=suggest(name, parameters))
        return JitFunction(function, options, names)

    return decorate if function is None else decorate(function)
