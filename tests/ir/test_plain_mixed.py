"""Random plain functions of arrays of several dtypes, with views that are stored to: they give what NumPy gives."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from ir.errors import LoopsatError
from plain_runs import run

DTYPES = ("float64", "float32", "int64", "int32", "int16", "uint8", "bool")
# What a new name `v` may be, of arrays a and b.
VALUES = """
a[1:] | a[::-1] | a[..., ::2] | a[0] | a.T | a[None] | a + b | a - b | a * 2 | a * 0.5 | a // 2 | a % 3 | a < b
a == b | np.sum(a) | a.sum(axis=0) | np.mean(a, axis=-1) | np.max(a, axis=0, keepdims=True) | a.argmin()
np.cumsum(a, axis=0) | np.any(a, axis=0) | np.prod(a, axis=-1) | np.median(a) | np.std(a, axis=0) | a.ravel()
a.reshape(-1, 1) | a.reshape(1, -1) | np.concatenate((a, b)) | np.stack((a, a + b)) | np.append(a, b)
np.where(a > 1, a, b) | np.where(a > 1, 0.5, a) | np.flip(a, 0) | np.roll(a, 1) | np.repeat(a, 2, axis=0)
np.pad(a, 1) | np.diff(a, axis=0) | np.sort(a, axis=0) | np.tile(a, 2) | np.maximum(a, b) | np.minimum(a, 1)
np.abs(a) | np.sign(a) | np.clip(a, 0, 2) | np.floor(a) | np.sqrt(np.abs(a)) | -a | np.outer(a, b) | a @ b
a @ b.T | np.tensordot(a, b, axes=1) | np.take(a, [0, -1], axis=0) | np.array([a.sum(), 1, 0.5])
a[a > 1].sum() | np.squeeze(a[None], 0) | np.expand_dims(a, -1) | a.astype(np.float32) | np.zeros_like(a) | a.copy() | a
np.ptp(a)
"""
# What may happen to arrays that are there.
CHANGES = """
a[0] = 1 | a[1:] += 1 | a[::-1] = a | a[..., 0] = b[..., 0] | a[:] = b | a += b | a *= 2 | a -= 1 | a[a > 1] = 0
a[-1] = a[0] | a[0], a[-1] = a[-1], a[0] | a, b = b, a
"""


def texts(table: str) -> list[str]:
    return [part.strip() for line in table.strip().splitlines() for part in line.split(" | ")]


def of_lines(names: list[str], lines: list[str], returned: list[str]) -> Any:
    text = [
        f"def of({', '.join(names)}):\n",
        *(f"    {line}\n" for line in lines),
        f"    return {', '.join(returned)}\n",
    ]
    file = f"<mixed {hash(tuple(text))}>"
    linecache.cache[file] = (len("".join(text)), None, text, file)
    scope: dict[str, Any] = {"np": np}
    exec(compile("".join(text), file, "exec"), scope)
    return scope["of"]


def arguments(rng: np.random.Generator) -> dict[str, Any]:
    rows, columns = (int(n) for n in rng.integers(1, 4, 2))
    shapes = {"p": (rows, columns), "q": (rows, columns), "r": (columns,), "s": (2, rows, columns)}
    return {n: rng.integers(0, 5, shape).astype(rng.choice(DTYPES)) for n, shape in shapes.items()}


def drawn(seed: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """A function and its arguments, if NumPy runs some of the lines that were drawn."""
    random, given = Random(seed), arguments(np.random.default_rng(seed))
    names, lines = list(given), list[str]()
    values, changes = texts(VALUES), texts(CHANGES)
    for k in range(8):
        new = random.random() < 0.7
        text = random.choice(values if new else changes)
        for letter in "ab":
            text = "".join(_named(text, letter, random.choice(names)))
        line = (f"v{k} = " if new else "") + text
        try:
            found = of_lines(list(given), [*lines, line], [*names, *([f"v{k}"] if new else []), "None"])
            state = found(**copy.deepcopy(given))[:-1]
        except Exception:
            continue
        if all(np.size(v) < 60 and np.isfinite(v).all() and np.abs(v).max(initial=0) < 100 for v in map(_wide, state)):
            lines.append(line)
            names += [f"v{k}"] if new and isinstance(state[-1], np.ndarray) else []
    if lines:
        yield of_lines(list(given), lines, names), tuple(given.values())


def _named(text: str, letter: str, name: str) -> Iterator[str]:
    """A text with a name in place of a letter that stands alone."""
    for k, char in enumerate(text):
        around = text[k - 1 : k] + text[k + 1 : k + 2]
        alone = not any(c.isalnum() or c == "_" for c in around) and text[k - 1 : k] != "."
        yield name if char == letter and alone else char


def _wide(value: Any) -> Any:
    return np.asarray(value).astype(float)


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.fuzz)])
def test_functions_of_arrays_of_several_dtypes(count: int) -> None:
    done = 0
    for function, given in (pair for seed in range(count) for pair in drawn(seed)):
        with np.errstate(all="ignore"):
            wanted = function(*copy.deepcopy(given))
        try:
            found = run(function, given)
        except LoopsatError:
            continue
        done += 1
        for have, need in zip(found, wanted, strict=True):
            assert have.shape == need.shape, function.__code__.co_filename
            np.testing.assert_allclose(_wide(have), _wide(need), rtol=1e-5, atol=1e-5)
    assert done > count // 4
