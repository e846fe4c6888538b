"""Functions of NumPy in plain functions give what NumPy does: values, shapes and dtypes, also of nothing."""

from __future__ import annotations

import inspect
import linecache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ir.errors import LoopsatError
from ir.script.plain.calls import TABLES
from plain_runs import run
from profiles import few

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
np.searchsorted(np.array([0, 1, 3]), A) | np.bincount(k, None, minlength=9)
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
"""
WHOLE = """
np.gcd.reduce(np.abs(k) + 1) | np.bitwise_or.reduce(A) | np.bitwise_xor.reduce(A, axis=1) | np.bitwise_and(A, B)
np.invert(A) | np.left_shift(k, 1) | np.right_shift(k, 1) | np.bitwise_xor(A, B) | np.bitwise_and.reduce(A)
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


@pytest.mark.parametrize("text", expressions(ANY))
@few(8)
@given(operands(DTYPES, 0))
def test_elements_of_any_dtype(text: str, args: tuple[Any, ...]) -> None:
    check(text, args, 0 in args[0].shape)


@pytest.mark.parametrize("text", expressions(NUMBERS))
@few(4)
@given(operands(DTYPES[:3], 3))
def test_numbers(text: str, args: tuple[Any, ...]) -> None:
    check(text, args, False)


@pytest.mark.parametrize("text", expressions(WHOLE))
@few(4)
@given(operands(DTYPES[2:5], 2))
def test_whole_numbers(text: str, args: tuple[Any, ...]) -> None:
    check(text, args, False)


def test_arguments_have_the_names_and_places_that_numpy_gives_them() -> None:
    for name, entry in TABLES.items():
        parts = name.split(".")
        if parts[0] != "np" or name == "np.gradient" or any(isinstance(getattr(np, p, None), np.ufunc) for p in parts):
            continue
        owner = np.linalg if parts[1] == "linalg" else np
        theirs = [*inspect.signature(getattr(owner, parts[-1])).parameters.values()]
        own = (
            [*inspect.signature(entry).parameters]
            if callable(entry)
            else [*next(p for p in entry if isinstance(p, tuple))]
        )
        kept = [p.name for p in theirs if p.kind is not p.VAR_POSITIONAL]
        assert name in ("np.einsum", "np.concatenate", "np.stack") or set(own) <= set(kept), (name, own, kept)
        by_place = [p.name for p in theirs if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        shared = [n for n in own if n in by_place]
        assert shared == by_place[: len(shared)] or not callable(entry) or name in ("np.corrcoef", "np.cov"), (
            name,
            own,
        )
