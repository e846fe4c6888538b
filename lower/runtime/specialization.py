"""A plain function compiled for one signature: its program, kernel, and how calls of that signature run.

The search and the kernel are made here, or recalled from disk. Which signature a call has is `jit.py`'s.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import jax
import numpy as np
from jax import core as jax_core
from jax import lax
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from egraph_rules.engine.phases import Budget
from ir.analysis.witness import PLAIN
from ir.dtypes import DType
from ir.floats import Floats
from ir.later import later
from ir.nodes import Buffer, PrimFunc, Var, const, seq
from ir.page import Section
from ir.script.plain.signature import ArgumentType, Known
from ir.script.plain.translate import Made, Nested, Plain, first_items
from ir.semantics.verify import check_entry
from ir.shown import Shown
from lower.emission.donation import Donate
from lower.runtime import kept
from lower.runtime.calibration import user_target
from lower.runtime.callable import Kernel, is_array, keep, recalled
from lower.runtime.platforms import device_of, keep_compiled, platform_of

if TYPE_CHECKING:
    from egraph_rules.optimization import Result
    from ir.program import edit as editing
    from ir.transform.storage import padding
    from lower.runtime import kernel as kernels
    from lower.runtime import searched as search
else:  # what a kernel that was kept does without
    editing = later("ir.program.edit")
    padding = later("ir.transform.storage.padding")
    search = later("lower.runtime.searched")
    kernels = later("lower.runtime.kernel")


Sizes = Literal["fixed", "open"]


class Specialization(Shown, Struct, frozen=True, dict=True):
    """A function compiled for one signature: the program as read, what the search made of it, and the kernel."""

    func: PrimFunc
    kernel: Kernel
    places: tuple[int, ...] | None  # of the arguments that the kernel takes, unless it takes all
    pick: Callable[[Sequence[Any]], Any]  # what the Python function would return, of the kernel's results
    stores: tuple[int, ...]  # places of the arguments that the function stores to
    quick: bool  # whether arguments of this signature need neither checks nor conversion
    searched: Callable[[], Result]
    complexes: frozenset[int] = frozenset()  # which of the arguments that the kernel takes are complex
    joins: bool = False  # whether any of the arguments or results is
    limits: tuple[tuple[int, int, int], ...] = ()  # places of Python integers, with the least and the first too large

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Whether integers among the arguments of a call are numbers of the dtypes of their parameters."""
        return all(low <= arguments[k] < stop for k, low, stop in self.limits)

    def taken(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """Those of the arguments of a call that are given to the kernel."""
        return arguments if self.places is None else [arguments[k] for k in self.places]

    def parts(self, taken: Sequence[Any]) -> Sequence[Any]:
        """What the kernel takes for arguments: of complex ones, both parts."""
        if not self.complexes:
            return taken
        pairs = [(v.real, v.imag) if k in self.complexes else (v,) for k, v in enumerate(taken)]
        return [part for pair in pairs for part in pair]

    @cached_property
    def result(self) -> Result:
        """What the search found; of a kernel that was kept on disk, once it is asked for."""
        return self.searched()

    @cached_property
    def joined(self) -> Callable[..., Any]:
        """What JAX compiles for arguments and results of which some are complex: the kernel between their parts."""

        def run(*taken: Any) -> Any:
            return self.pick(self.kernel.run_fitting(self.parts(taken)))

        return jax.jit(run)

    def brief(self) -> str:
        """The signature and the cost of its program."""
        cost = f"cost {self.result.variants[0][1]:,.0f}, was {self.result.cost_before:,.0f}"
        return f"Specialization {self.func.signature}: {cost}"

    def sections(self) -> Iterator[Section]:
        """The program as read, what the search made of it, and the kernel."""
        yield from self.result.sections()
        yield self.kernel.made


class Options(Struct, frozen=True):
    target: str | Target | None
    floats: Floats
    sizes: Sizes
    donate: Donate
    checks: bool
    budget: Budget | None
    without: tuple[str, ...] = ()


class Quick(Struct, frozen=True):
    """What runs for arguments like those of a call which has shown that they need no conversion.

    To compare arguments with those of the call before costs less than to look up what answers to them.
    """

    kinds: list[type]
    numpy: list[tuple[int, tuple[int, ...], Any]]  # places with shape and dtype
    jax: list[tuple[int, Any]]  # places with the abstract value
    known: list[tuple[int, Any]]  # places whose value is part of the program
    between: list[tuple[int, float, float]]  # places of integers, with the least and the first that is too large
    run: Callable[[Sequence[Any]], Any]

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Whether arguments are of the same kinds."""
        if [*map(type, arguments)] != self.kinds:
            return False
        for k, shape, dtype in self.numpy:
            value = arguments[k]
            if value.shape != shape or value.dtype != dtype:
                return False
        for k, aval in self.jax:
            if arguments[k].aval != aval:
                return False
        if self.between and not all(low <= arguments[k] < stop for k, low, stop in self.between):
            return False
        return all(arguments[k] == value for k, value in self.known) if self.known else True


def _as_they_are(results: Any) -> Any:
    return results


def quick_way(
    special: Specialization,
    arguments: Sequence[Any],
    check: Callable[[Sequence[Any]], None],
    between: list[tuple[int, float, float]],
) -> Quick | None:
    """The quick way to run a specialization; None where calls need more than a look at types."""
    kernel = special.kernel
    if not special.quick or not kernel.simple:
        return None
    jitted, wide, pick = kernel.jitted, kernel.emitted.wide, special.pick
    if special.joins:
        jitted, pick = special.joined, _as_they_are
    config, context = jax.config, jax.enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    spare: list[Any] = []  # contexts that no call is in, since making one takes as long as entering it
    places = range(len(arguments)) if special.places is None else special.places
    taken = operator.itemgetter(*places) if len(places) > 1 else None
    some = special.places is not None
    checked = bool(special.stores) and any(type(arguments[k]) is np.ndarray for k in special.stores)

    def run(arguments: Sequence[Any]) -> Any:
        if checked:
            check(arguments)
        if some:
            arguments = taken(arguments) if taken is not None else [arguments[k] for k in places]
        if config.jax_enable_x64 == wide:  # pyright: ignore[reportAttributeAccessIssue]
            results = jitted(*arguments)
        else:
            entered = spare.pop() if spare else context(wide)
            with entered:
                results = jitted(*arguments)
            spare.append(entered)
        return pick(results)

    given = [(k, arguments[k]) for k in places]
    numpy = [(k, value.shape, value.dtype) for k, value in given if type(value) is np.ndarray]
    traced = [(k, value.aval) for k, value in given if isinstance(value, jax.Array)]
    known = [(k, value) for k, value in enumerate(arguments) if k not in places]
    return Quick([*map(type, arguments)], numpy, traced, known, between, run)


def built(func: PrimFunc, target: str | Target, options: Options, given: int) -> tuple[Kernel, Callable[[], Result]]:
    """The kernel of a program, and what the search found: kept on disk, or made here and then kept.

    As many parameters as are `given` come from callers; the others are what the function makes itself.

    Raises:
        LoopsatError: the program has no meaning, or the target is unknown.
        KeyboardInterrupt: there was a Ctrl-C while it was searched.
    """
    platform = platform_of(target)
    device, _ = device_of(platform)
    keep_compiled()

    def found() -> Result:
        return search.optimize(
            func, target, budget=options.budget, floats=options.floats, without=options.without
        )  # fmt: skip

    key = None
    if kept.repeatable(options.budget) and kept.wanted():
        prices = user_target(platform if isinstance(target, str) else target).target
        key = kept.key_of(
            "jit", func, prices, options.floats.value, options.donate, options.checks, options.budget, str(device),
            sorted(options.without),
        )  # fmt: skip
        known = recalled(key, device)
        if known is not None:
            func.vouched()  # else it had not been kept
            return known, found
    check_entry(func, words=PLAIN)
    result = found()
    if result.report.interrupted:  # who calls a function means the call
        raise KeyboardInterrupt

    def compiled(best: PrimFunc) -> Kernel:
        return kernels.compile(
            best, target, checks=options.checks, donate=options.donate, floats=options.floats, without=options.without
        )

    kernel = compiled(result.best)
    own = [p for p in result.best.params[given:] if isinstance(p, Buffer) and p.name not in kernel.optional]
    if own:  # read before anything is stored to it, as an array of `np.empty`: whatever it holds will do
        taken = editing.names_in(result.best)
        fill = [padding.filled(b, const(0, b.dtype), taken) for b in own]
        kernel = compiled(replace(result.best, body=seq(*fill, result.best.body)))
    if key is not None:
        keep(key, kernel)
    return kernel, lambda: result


def specialized(
    plain: Plain,
    searched: Callable[[], Result],
    kernel: Kernel,
    types: Mapping[str, ArgumentType],
    arguments: Sequence[Any],
    options: Options,
) -> Specialization:
    places = tuple(k for k, kind in enumerate(types.values()) if not isinstance(kind, Known))
    at = kernel.results.index
    pick = _picking(plain.returned, [[*map(at, plain.parts.get(name, (name,)))] for name in plain.results])
    params = {p.name: p for p in plain.func.params}
    complexes = frozenset(k for k, name in enumerate(plain.given) if name in plain.parts)
    values = [arguments[k] for k in places]
    given = [params.get(name) for name in plain.given]  # a complex one is given in parts
    plain_values = all(k in complexes or _is_plain(v, given[k]) for k, v in enumerate(values))
    quick = plain_values and options.sizes == "fixed" and not options.checks and not kernel.donated
    own = None if len(places) == len(types) else places
    stored = ((k, name) for k, name in zip(places, plain.given, strict=True) if name in plain.results)
    stores = tuple(k for k, _ in stored) if len(places) > 1 else ()
    numbers = [(k, p) for k, p, v in zip(places, given, values, strict=True) if type(v) is int and p is not None]
    limits = tuple((k, *_limits(p.dtype)) for k, p in numbers)
    return Specialization(plain.func, kernel, own, pick, stores, quick, searched, complexes, bool(plain.parts), limits)


def _limits(dtype: DType) -> tuple[int, int]:
    """The least Python integer that a scalar may be given as, and the first that is too large."""
    kind = DType.INT32 if dtype.is_float else dtype  # JAX may take it for one of 32 bits on its way to a float
    return kind.min, kind.max + 1


def _picking(returned: Nested, places: Sequence[Sequence[int]]) -> Callable[[Sequence[Any]], Any]:
    """What takes results from their `places` and puts them together, complex ones of two."""
    if isinstance(returned, int):
        parts = operator.itemgetter(*places[returned])
        return parts if len(places[returned]) == 1 else lambda results: lax.complex(*parts(results))
    if isinstance(returned, Made):
        parts = [_picking(r, places) for r in returned.parts]
        make = _first_items if returned.make is first_items else returned.make
        return lambda results: make(*(part(results) for part in parts))
    if len(returned) > 1 and all(isinstance(r, int) and len(places[r]) == 1 for r in returned):
        return operator.itemgetter(*(places[r][0] for r in returned if isinstance(r, int)))
    parts = [_picking(r, places) for r in returned]
    return lambda results: tuple([part(results) for part in parts])


def _first_items(array: Any, count: Any) -> Any:
    """The first items of an array; JAX would compile a program for each number of them, so that CPUs look at memory."""
    known = isinstance(array, jax.Array) and not any(isinstance(x, jax_core.Tracer) for x in (array, count))
    if not known or any(device.platform != "cpu" for device in array.devices()) or len(array.devices()) > 1:
        return first_items(array, count)
    with jax.enable_x64(True):
        return jax.device_put(np.asarray(array)[: int(count)], array.device if array.committed else None)


def _is_plain(value: Any, param: Buffer | Var | None) -> bool:
    """Whether a kernel takes an argument as it is, and others of its type (and of its shape) that fit its dtype too."""
    if param is None:
        return False
    if isinstance(value, np.generic):
        return value.dtype == param.dtype.numpy
    if type(value) is int:
        return param.dtype is not DType.BOOL
    return type(value) is float or (is_array(value) and value.ndim > 0)
