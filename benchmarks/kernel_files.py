"""The kernels of examples/polybench and examples/kernels: program, sizes and inputs of each file, and calls by name."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ir import parse
from ir.nodes import PrimFunc

EXAMPLES = Path(__file__).parent.parent / "examples"
PATHS = {p.stem: p for folder in ("polybench", "kernels") for p in sorted((EXAMPLES / folder).glob("*.py"))}


@dataclass(frozen=True)
class KernelFile:
    """`func` has symbolic sizes; `sizes` has them for "small" and "large"; `inputs(rng, **sizes)` makes arguments."""

    func: PrimFunc
    sizes: Mapping[str, Mapping[str, int]]
    inputs: Callable[..., dict[str, np.ndarray]]


def load(name: str) -> KernelFile:
    """The kernel of this name: the program as parsed, the rest as Python runs it."""
    path = PATHS[name]
    (func,) = parse(path.read_text(), str(path)).funcs
    ran = runpy.run_path(str(path))
    return KernelFile(func, ran["SIZES"], ran["inputs"])


def bound(function: Callable[..., Any], sizes: Mapping[str, int]) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """A function with its sizes filled in (a keyword each), and the names of the arguments that it needs besides."""
    parameters = inspect.signature(function).parameters.values()
    fixed = {p.name: sizes[p.name] for p in parameters if p.name in sizes}
    needed = tuple(p.name for p in parameters if p.name not in sizes and p.default is p.empty)
    return partial(function, **fixed), needed
