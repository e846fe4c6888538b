"""Functions of NumPy in plain functions give what NumPy does: values, shapes and dtypes, also of nothing."""

from __future__ import annotations

import copy
import inspect
import linecache
import math
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import loopsat
from ir.errors import LoopsatError
from ir.script.plain.calls import TABLES, names_of
from ir.script.plain.library.bodies import BODIES
from plain_runs import Programs, keeper, run
from profiles import few, some

# Expressions of a matrix A, another one B of its shape and dtype, a vector v, and indices k of rows of A.
ANY = """
np.swapaxes(A, 0, -1) | np.moveaxis(A[None], 0, -1) | np.moveaxis(A, [0, 1], [1, 0]) | np.rollaxis(A, 1)
np.transpose(A, axes=(1, 0)) | A.transpose(1, 0) | A.swapaxes(0, 1) | np.permute_dims(A, (1, 0)) | A.T
np.squeeze(A[:, :1], axis=1) | np.squeeze(A[None, :, None]) | A[:1].squeeze(0) | np.expand_dims(A, axis=-1)
np.rot90(A) | np.rot90(A, k=2) | np.rot90(A, -1) | np.rot90(A[None], axes=(1, 2)) | np.flip(A, axis=(0, 1))
np.flip(A) | np.fliplr(A) | np.roll(A, 1) | np.roll(A, (1, -1), axis=(0, 1)) | np.roll(A, shift=1, axis=0)
np.tile(A, (2, 1)) | np.tile(A, 2) | np.tile(v, (2, 2)) | np.repeat(A, 2, axis=0) | np.repeat(A, repeats=2)
A.repeat(3, axis=-1) | np.broadcast_to(v, (2, len(v))) | np.vstack((A, A[:1])) | np.hstack([A, B])
np.dstack((A, B)) | np.column_stack((A[:, :1], A)) | np.stack([A, B], axis=-1) | np.concatenate([A, B], axis=1)
np.append(A, B) | np.append(A, B, axis=1) | np.append(v, v[:1]) | np.atleast_1d(v) | np.atleast_2d(v) | np.triu(A)
np.tril(A, k=-1) | np.triu(A, 1) | np.tri(3, k=1) | np.diag(v) | np.diag(A) | np.diag(v, k=1) | np.diag(v, -2)
np.diag(A, 1) | np.diagonal(A, -1) | np.trace(A) | np.trace(A, 1) | A.trace() | A.diagonal(1) | np.array_split(v, 2)
np.split(A, [1], axis=1) | np.split(A, [1, -1]) | np.array_split(A, 3, axis=1) | np.hsplit(A, [1])
np.vsplit(A, [2]) | np.take(A, [0, -1], axis=1) | np.take(A, k, axis=0) | np.take(A, 0) | A.take(k)
np.take(A, 0, axis=-1) | np.take_along_axis(A, k[:, None], axis=0) | np.select([A > B, A == B], [A, B], B)
np.select([A > 1], [A]) | np.where(A > B, A, B) | np.clip(A, 1, 2) | np.reshape(A, shape=(-1,)) | A.ravel()
np.ravel(A, order="C") | A.flatten() | np.copy(A, order="K") | A.copy() | np.full(shape=(2,), fill_value=3)
np.full((2, 1), fill_value=2.5) | np.full_like(A, fill_value=1) | np.zeros(shape=3)
np.zeros(2, dtype=np.int32, order="C") | np.ones_like(A, dtype=None) | np.linspace(0, 1, 4, endpoint=False)
np.arange(0, stop=3) | np.count_nonzero(A) | np.count_nonzero(A, axis=0) | np.logical_xor(A, B) | np.greater(A, B)
np.equal(A, B) | np.not_equal(A, 1) | np.less_equal(A, B) | np.ptp(k) | np.array_equal(A, B) | np.array_equal(A, v)
np.add.outer(k, k) | np.maximum.accumulate(A) | np.minimum.accumulate(v) | np.maximum.accumulate(A, axis=1)
np.ravel_multi_index((k, k), (5, 6)) | np.unravel_index(k, (2, 3)) | np.unravel_index(3, (2, 3))
np.digitize(v, np.array([0, 1, 3])) | np.diff(A, axis=0) | np.diff(v, n=2) | np.diff(A, 3) | np.ediff1d(A)
np.add.accumulate(A, axis=1) | np.add.reduce(A) | np.multiply.reduce(A, axis=1) | np.add.reduce(A, axis=None)
np.logical_or.reduce(A) | np.logical_and.reduce(A, axis=1) | np.sum([2, 3]) | np.max([2, 3.5])
np.searchsorted(np.array([0, 1, 3]), A) | np.bincount(k, None, minlength=9) | np.argsort(A, axis=0, kind="stable")
np.argsort(A, None, "stable")
np.nonzero(A) | np.flatnonzero(A) | np.argwhere(A) | np.unique(k) | np.isin(k, [1, 2]) | np.extract(A > B, A)
"""
NUMBERS = """
np.gradient(A) | np.gradient(v) | np.gradient(A, axis=1) | np.gradient(v, 0.5) | np.gradient(A, 0.5, 2.0)
np.cov(A) | np.cov(v, bias=True) | np.cov(A, rowvar=False, ddof=0) | np.trapezoid(v) | np.trapezoid(A, dx=0.5)
np.trapezoid(A, axis=0) | np.trapezoid(v, np.arange(len(v))) | np.kron(v, v) | np.kron(A, B) | np.outer(A, v)
np.tensordot(A, B, axes=([1], [1])) | np.tensordot(A, B, axes=[[0, 1], [0, 1]]) | np.cross(A[:, :3], B[:, :3])
np.linalg.norm(A, axis=1) | np.linalg.norm(v, ord=2) | np.linalg.norm(A, "fro", keepdims=True) | np.average(A, 0)
np.average(A, axis=1, weights=B * B + 1) | np.ptp(A, axis=0) | np.average(A, 1, v * v + 1) | np.cbrt(A) | np.sinc(A)
np.heaviside(A, B) | np.logaddexp(A, B) | np.copysign(A, B + 0.5) | np.arcsinh(A) | np.arccosh(A * A + 1)
np.arctanh(A / 1000.0) | np.round(A, 1) | np.round(A, decimals=-1) | A.round(2) | np.round(A) | np.vander(v, 3)
np.vander(v, increasing=True) | np.clip(A, a_min=-1, a_max=None) | np.clip(A, min=0, max=1) | np.clip(A, None, 2)
A.clip(max=1) | np.fmax(A, B) | np.negative(A) | np.positive(A) | np.modf(A) | np.median(A, axis=0)
np.median(A, axis=-1) | np.percentile(v, [25, 50]) | np.quantile(A, 0.25, axis=0)
np.quantile(A, (0.25, 0.75), axis=1) | np.maximum.reduce(A, axis=1) | np.minimum.reduce(A, axis=0, keepdims=True)
np.subtract.outer(v, v) | np.subtract.reduce(A) | np.multiply.accumulate(A) | np.corrcoef(A * A + v)
np.linalg.norm(A, 1) | np.linalg.norm(A, np.inf) | np.linalg.norm(v, 1) | np.linalg.norm(v, -np.inf) | np.linalg.norm(A, 3, axis=0)
np.sum(A, dtype=np.float64) | A.mean(axis=0, dtype=np.float32) | np.cumsum(v, dtype=np.float64) | A[None] @ B.T
np.stack((A, B)) @ v | np.matmul(np.stack((A, B)), np.stack((B.T, A.T))) | v @ np.stack((A.T, B.T))
np.interp(v, [-2, 0, 2], [0.0, 1.0, 5.0]) | np.convolve(v, [1, 2]) | np.median([1.0, 3.0, 2.0]) | np.searchsorted([-1, 2], v)
np.pad(A, 2, mode="reflect") | np.pad(v, (3, 8), "symmetric") | np.pad(A, ((1, 0), (0, 5)), "wrap") | np.pad(v, 9, "reflect")
np.einsum("...j,j->...", A, v) | np.einsum("...ij,...kj->...ik", A[None], B[None]) | np.einsum("...i->i...", A)
"""
WHOLE = """
np.gcd.reduce(np.abs(k) + 1) | np.bitwise_or.reduce(A) | np.bitwise_xor.reduce(A, axis=1) | np.bitwise_and(A, B)
np.bitwise_count(A) | np.invert(A) | np.left_shift(k, 1) | np.right_shift(k, 1) | np.bitwise_xor(A, B) | np.bitwise_and.reduce(A)
"""
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)


def expressions(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def of_text(text: str) -> Any:
    """A function that gives an expression."""
    name = f"<{text}>"
    lines = ["def of(A, B, v, k):\n", f"    return {text}\n"]
    linecache.cache[name] = (len("".join(lines)), None, lines, name)
    scope: dict[str, Any] = {"np": np}
    exec(compile("".join(lines), name, "exec"), scope)
    return scope["of"]


def assert_alike(found: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_alike(one, other)
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype if wanted.shape else found.dtype.kind == wanted.dtype.kind
    single = wanted.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=2e-5 if single else 1e-10, atol=1e-5 if single else 1e-12)


@st.composite
def operands(draw: st.DrawFn, dtypes: tuple[Any, ...], least: int) -> tuple[Any, ...]:
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.tuples(st.integers(least, 4), st.integers(least, 4)))
    kind = np.dtype(dtype).kind
    items = st.booleans() if kind == "b" else st.integers(0, 5) if kind == "u" else st.integers(-4, 4)
    if kind == "f":
        items = st.integers(-40, 40).map(lambda n: n / 8)
    matrix = arrays(dtype, shape, elements=items)
    places = arrays(np.int64, shape[0], elements=st.integers(0, max(shape[0] - 1, 0)))
    return draw(matrix), draw(matrix), draw(arrays(dtype, shape[1], elements=items)), draw(places)


def check(text: str, args: tuple[Any, ...], refusable: bool) -> None:
    function = of_text(text)
    with np.errstate(all="ignore"):
        try:
            wanted = function(*args)
        except Exception:
            return
        try:
            found = run(function, args)
        except LoopsatError as error:
            assert refusable and "^" in str(error), error
            return
    assert_alike(found, wanted)


@pytest.mark.parametrize("text", some(expressions(ANY), 0.15))
@few(4)
@given(operands(DTYPES, 0))
def test_elements_of_any_dtype(text: str, args: tuple[Any, ...]) -> None:
    check(text, args, 0 in args[0].shape)


@pytest.mark.parametrize("text", some(expressions(NUMBERS), 0.16))
@few(4)
@given(operands(DTYPES[:3], 3))
def test_numbers(text: str, args: tuple[Any, ...]) -> None:
    check(text, args, False)


@pytest.mark.parametrize("text", expressions(WHOLE))
@few(4)
@given(operands(DTYPES[2:5], 2))
def test_whole_numbers(text: str, args: tuple[Any, ...]) -> None:
    check(text, args, False)


# Expressions of matrices A and B of two dtypes, and of a vector v that is near the limits of the first one.
MIXED = """
np.concatenate((A, B)) | np.concatenate((A, B), axis=1) | np.stack((A, B)) | np.vstack((A, B[:1])) | np.hstack((B, A))
np.column_stack((A, B)) | np.dstack((A, B)) | np.append(A, B) | np.append(v, 0.5) | np.where(True, A, B)
np.where(A > B, A, B) | np.array([A[0, 0], 0.5, B[0, 0]]) | np.array([[A[0, 1], 2], [True, A[1, 0]]]) | np.floor(A) | np.trunc(A) | np.ceil(v) | np.fix(v) | np.sort(A, axis=None) | np.outer(v, B[0])
"""
WRAPPED = """
np.median(v[:2]) | np.interp(np.array([0.5, 1.5]), np.arange(3), v) | np.interp(B[0], np.sort(v), v) | np.gradient(v)
np.isclose(v, v[::-1], atol=60.0) | np.allclose(v, v[::-1], atol=200.0) | np.average(v, weights=v[::-1])
np.einsum("i,i->", v, v) | np.tensordot(v, v, axes=1) | np.polyval(v, 2) | sum(v) | sum(A) | np.einsum("ij,j->i", A, v)
np.sort(A[None], axis=1) | np.sort(A[:, None]) | np.concatenate((A, B), axis=None)
np.mean(v) | np.std(v) | np.cov(v) | np.linalg.norm(v) | np.sum(v) | np.dot(v, v) | v - v[::-1] | np.diff(v) | -v
"""


@pytest.mark.parametrize("text", expressions(MIXED))
@pytest.mark.parametrize("one", [np.uint8, np.bool_])
@pytest.mark.parametrize("other", [np.float64, np.int16])
def test_arrays_of_two_dtypes(text: str, one: Any, other: Any) -> None:
    A = np.array([[0, 1, 3], [2, 0, 1]]).astype(one)
    B = np.array([[1.5, -1, 2], [2, -2.5, 1]]).astype(other)
    check(text, (A, B, np.array([2, 0, 1]).astype(one), np.array([0, 1])), False)


@pytest.mark.parametrize("text", expressions(WRAPPED))
def test_what_is_unsigned_wraps_where_it_does_in_numpy(text: str) -> None:
    v = np.array([200, 100, 7], np.uint8)
    check(text, (np.stack((v, v[::-1])), np.array([[0, 150.5, 7]]), v, np.array([0, 1])), False)


def test_logarithms_of_what_is_unsigned() -> None:
    check("np.logaddexp(v, k)", (None, None, np.array([200, 3, 0], np.uint8), np.array([1, 2, 3])), False)


VIEWS_AND_COPIES = """
np.flip(A) | np.flipud(A) | np.fliplr(A)[1:] | np.rot90(A) | A.ravel() | A[1:].ravel() | A[:, ::2].ravel() | A.T.ravel()
A[:, ::2].reshape(-1) | A[:, 1].reshape(3, 1) | A.T.reshape(4, 3) | A.T.reshape(-1) | A[:2].reshape(2, 2, 2)
A[:, :2].reshape(6) | A.reshape(12)[::2].reshape(2, 3) | np.atleast_2d(A[0]) | np.positive(A) | +A | np.tile(A, 1)
"""


@pytest.mark.parametrize("text", expressions(VIEWS_AND_COPIES))
def test_what_is_a_view_is_one(text: str) -> None:
    lines = [
        "def of(A):\n",
        f"    v = {text}\n",
        "    v -= 1\n",
        "    v[0] = 7\n",
        "    A[1] = 5\n",
        "    return v, A\n",
    ]
    name = f"<a view or not: {text}>"
    linecache.cache[name] = (len("".join(lines)), None, lines, name)
    scope: dict[str, Any] = {"np": np}
    exec(compile("".join(lines), name, "exec"), scope)
    A = np.arange(12).reshape(3, 4)
    assert_alike(run(scope["of"], (A,)), scope["of"](A.copy()))


def of_math(x: Any, n: int) -> Any:
    if (k := n + 1) < 0 and (d := x[0] * k) > 5:
        d = 0.0
    else:
        d = 1.0
    more = math.log(8, 2), math.modf(x[0] / 4), math.perm(6, 2), math.ldexp(x[1], 3), math.isclose(x[0], -1.0), d
    (a, b), rows = zip(*((1, 2.5), (3, 4.5))), np.mgrid[0:3, 1:8:2]
    return (
        *more,
        a[1] + b[0],
        rows,
        x.tolist(),
        np.fabs(x),
        np.fabs(x[0]),
        math.fabs(n),
        math.pow(n, -1),
        math.pow(2, x[1]),
        math.pow(2, 3),
    )


def test_functions_of_math_give_floats_of_whole_numbers() -> None:
    x = np.array([-1, -2])
    assert_alike(run(of_math, (x, -4)), of_math(x, -4))


def sorted_along(A: Any, axis: int) -> Any:
    by_place, by_name = A.copy(), A.copy()
    by_place.sort(0)
    by_name.sort(axis=0)
    return by_place, by_name, np.sort(A, axis)


def test_arrays_are_sorted_along_an_axis() -> None:
    A = np.random.default_rng(0).integers(0, 9, (3, 4))
    assert_alike(run(sorted_along, (A, 0)), sorted_along(A, 0))


@pytest.mark.parametrize("text", ['A.reshape(4, 3, order="A")', 'A.flatten("K")', 'A.flatten(order="A")'])
def test_orders_that_are_not_there_are_refused(text: str) -> None:
    with pytest.raises(LoopsatError):
        run(of_text(text), (np.ones((3, 4)), None, None, None))


NAMED_OTHERWISE = ("np.pad", "np.einsum", "np.concatenate", "np.stack", "np.gradient")  # NumPy's are by place only


def signature_of(name: str) -> tuple[list[str], list[str]]:
    """The arguments by place and all arguments of one of NumPy's functions, stars left out."""
    found = inspect.signature(attrgetter(name.removeprefix("np."))(np)).parameters.values()
    by_place = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return by_place, [p.name for p in found if p.kind is not p.VAR_POSITIONAL]


@pytest.mark.parametrize("name", [n for n in TABLES if n.startswith("np.") and n not in NAMED_OTHERWISE])
def test_arguments_have_the_names_and_places_that_numpy_gives_them(name: str) -> None:
    if any(isinstance(getattr(np, part, None), np.ufunc) for part in name.split(".")):
        return
    by_place, every = signature_of(name)
    if not by_place:  # stars
        return
    own = [*names_of(name)]
    assert {*own} <= {*every}
    placed = own[: BODIES[name].__code__.co_argcount] if name in BODIES else own
    assert placed == by_place[: len(placed)]


STORED: Programs = []
stores = keeper(STORED)


def M(r: np.random.Generator) -> tuple[Any, ...]:
    return r.integers(-9, 9, (4, 3)) / 4, r.integers(-9, 9, 6) / 4, np.array([2, 0, -1, 2, 1, 2])


@stores(M)
def at_places(A, x, k):
    out = np.zeros(5)
    np.add.at(out, k, x)
    np.add.at(out, [0, 0], 1.0)
    np.maximum.at(out, k, 0.5)
    rows = np.zeros((4, 3))
    np.subtract.at(rows, k, A[0])
    return out, rows


@stores(M)
def to_places(A, x, k):
    out = np.zeros(5)
    out[k] = x  # the last of several counts
    again = out.copy()
    again[k] += x  # each place once
    rows = A.copy()
    rows[[3, 1]] = A[:2]
    rows[:, [0, 2]] *= 2.0
    rows[k[:3], [0, 1, 2]] = 7.0
    some = A.copy()
    some[k[1]][0] = 5.0
    return out, again, rows, some


@stores(M)
def given_places(A, x, k):
    y = np.zeros(6)
    np.add(x, x, y)
    z = np.multiply(y, 2.0, out=y)
    z[0] = 9.0
    np.sqrt(np.abs(x), x)
    np.fill_diagonal(A, 0)
    B = np.empty_like(A)
    np.copyto(B, A[::-1])
    np.fill_diagonal(B, (1.0, 2.0, 3.0))
    return y, z, x, A, B


@stores(M)
def starred(A, x, k):
    first, *rest = A.shape
    *most, last = x
    head, *_, end = (1, 2, 3, 4)
    row, *rows = A
    return first, rest[0], most[1] + last, head + end, row, rows[-1], len(rows)


@stores(M)
def tuples(A, x, k):
    sizes = tuple(n + 1 for n in A.shape)
    evens = tuple(n for n in range(8) if n % 2 == 0)
    zeros = np.zeros((2,) * 3) + np.finfo(x.dtype).eps + np.iinfo(np.int16).max
    return np.ones(sizes), len(evens), evens[2], zeros, list(A.shape)[1], (A > 0) * 2, (x > 0) > (x > 1)


@stores(M)
def by_kind(A, x, k):
    row, whole = kinds(A)
    vector, (first, second) = kinds(x)
    number, (_, again) = kinds(x[0])
    return row, whole, vector, first, second, number, again


def kinds(a):
    if np.ndim(a) == 0:
        return a, (a, a)
    if a.ndim == 1:
        return a, (a[0], a[1])
    return a[0], a


@pytest.mark.parametrize(("function", "arguments"), STORED, ids=[f.__name__ for f, _ in STORED])
def test_stores_and_tuples_are_those_of_python(function: Any, arguments: Any) -> None:
    given = arguments(np.random.default_rng(3))
    assert_alike(run(function, given), function(*copy.deepcopy(given)))


def not_a_number(A):
    return (
        np.nansum(A), np.nansum(A, axis=0), np.nanmax(A, axis=1), np.nanmin(A), np.nanmean(A, axis=0), np.nanprod(A),
        np.nan_to_num(A), np.nan_to_num(A, nan=2.0), np.isfinite(A), np.isinf(A),
    )  # fmt: skip


@pytest.mark.fuzz  # long, and others test most of it
def test_what_is_no_number_is_left_out_where_floats_are_strict() -> None:
    A = np.array([[1.0, np.nan, 2.5], [np.inf, -3.0, -np.inf], [0.5, 0.25, np.nan]])
    with np.errstate(all="ignore"):
        wanted = not_a_number(A)
        assert_alike(tuple(map(np.asarray, loopsat.jit(not_a_number, floats="strict")(A))), wanted)
    with pytest.raises(LoopsatError, match="strict"):
        loopsat.jit(not_a_number)(A)


def in_order(A, x):
    return np.sort(A), np.argsort(A), np.median(A), np.quantile(A, 0.25), np.searchsorted(np.sort(A), 3), np.fmin(A, x)


def test_what_is_sorted_where_floats_are_strict_is_whole_numbers() -> None:
    A = np.array([4, -1, 3, 4, 0])
    assert_alike(tuple(map(np.asarray, loopsat.jit(floats="strict")(in_order)(A, 2))), in_order(A, 2))
    for args in ((A * 0.5, 2), (A, 2.5)):
        with pytest.raises(LoopsatError, match="finite numbers"):
            loopsat.jit(floats="strict")(in_order)(*args)


def test_the_documentation_names_every_function() -> None:
    text = (Path(__file__).parents[2] / "docs" / "jit.md").read_text()
    absent = {name for name in TABLES if not re.search(rf"\b{name.rpartition('.')[2]}\b", text)}
    assert not absent - {"np.arcsinh", "np.arccosh", "np.arctanh", "math.asinh", "math.acosh", "math.atanh"}
