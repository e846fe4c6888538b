"""Plain Python functions read as programs and run by the interpreter."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ir import interpret, verify
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.script.plain.signature import ArgumentType, ArrayType, Known, ScalarType
from ir.script.plain.translate import Made, Nested, Plain, translate


def kind(value: Any, open_ints: bool) -> ArgumentType:
    if isinstance(value, np.ndarray):
        return ArrayType(value.shape, DType(value.dtype.name))
    if isinstance(value, np.generic):
        return ScalarType(DType(value.dtype.name))
    if type(value) is float or (open_ints and type(value) is int):
        return ScalarType(DType.FLOAT64 if type(value) is float else DType.INT64, True)
    return Known(value)


def read(function: Any, args: tuple[Any, ...], open_ints: bool = False) -> Plain:
    names = function.__code__.co_varnames
    return translate(function, {n: kind(a, open_ints) for n, a in zip(names, args, strict=False)})


def run(function: Any, args: tuple[Any, ...]) -> Any:
    """What the interpreter computes for the program of a function."""
    plain = read(function, args)
    verify(plain.func)
    arguments = [a for a in copy.deepcopy(args) if not isinstance(kind(a, False), Known)]
    given = [part for a in arguments for part in ((a.real, a.imag) if np.iscomplexobj(a) else (a,))]
    outputs = [np.zeros([int(e.value) for e in b.shape], b.dtype.numpy) for b in plain.func.params[len(given) :]]  # pyright: ignore
    found = interpret(plain.func, *given, *outputs)
    returned = {part for name in plain.results for part in plain.parts.get(name, (name,))}
    order = [b.name for b in plain.func.buffers if b.name in returned]
    values = [_joined(*(found[order.index(part)] for part in plain.parts.get(name, (name,)))) for name in plain.results]
    return _returned(plain.returned, values)


def _joined(real: Any, imag: Any = None) -> Any:
    if imag is None:
        return real
    found = np.empty(real.shape, np.result_type(real, 1j))
    found.real, found.imag = real, imag
    return found


def _returned(places: Nested, values: list[Any]) -> Any:
    if isinstance(places, Made):
        return places.make(*(_returned(p, values) for p in places.parts))
    return values[places] if isinstance(places, int) else tuple(_returned(p, values) for p in places)


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert [*found] == [*wanted]
        found, wanted = tuple(found.values()), tuple(wanted.values())
    if isinstance(wanted, tuple):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
        return
    assert np.asarray(found).dtype.kind == np.asarray(wanted).dtype.kind
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


Arguments = Callable[[np.random.Generator], tuple[Any, ...]]
Programs = list[tuple[Callable[..., Any], Arguments]]


def keeper(programs: Programs) -> Callable[[Arguments], Callable[[Any], Any]]:
    """A decorator that keeps a function in a list, with what makes its arguments."""

    def program(arguments: Arguments) -> Callable[[Any], Any]:
        def keep(function: Any) -> Any:
            programs.append((function, arguments))
            return function

        return keep

    return program


def check(function: Callable[..., Any], arguments: Arguments) -> None:
    """Compare what a program computes with what Python does."""
    given = arguments(np.random.default_rng(1))
    python = copy.deepcopy(given)
    wanted = function(*python)
    if wanted is None:
        wanted = next(a for a, b in zip(python, given, strict=True) if not np.array_equal(a, b))
    assert_same(run(function, given), wanted)


def check_refused(function: Callable[..., Any], text: str) -> None:
    """A function of an array of floats is refused, at a place of it and with this text."""
    with pytest.raises(LoopsatError) as error:
        read(function, (np.linspace(0, 1, 6),))
    assert text in str(error.value) and error.value.span is not None
