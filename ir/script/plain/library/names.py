"""Which objects of Python, `math` and NumPy a plain program may name, and what each is in it.

Objects are looked up and compared, never called.
"""

from __future__ import annotations

import bisect
import builtins
import cmath
import functools
import heapq
import itertools
import math
import operator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from ir.dtypes import DType, array_dtype
from ir.nodes import BinaryOp, UnaryOp
from ir.script.plain.library.arranged import ARRANGED
from ir.script.plain.library.composed import COMPOSED

_ROOTS = {
    "numpy": "np",
    "jax.numpy": "np",
    "math": "math",
    "cmath": "cmath",
    "builtins": "",
    "loopsat": "loopsat",
    "numba": "loopsat",
    "numpy.linalg": "np.linalg",
    "numpy.lib": "np.lib",
    "numpy.lib.stride_tricks": "np.lib.stride_tricks",
}
_HOMES = (
    (np, "np"), (math, "math"), (cmath, "cmath"), (np.linalg, "np.linalg"), (stride_tricks, "np.lib.stride_tricks"),
    (functools, "functools"), (itertools, "itertools"), (operator, "operator"), (heapq, "heapq"), (bisect, "bisect"),
)  # fmt: skip
_LIBRARIES = ("numpy", "jax", "scipy", "numba", "random", "time")  # of which only some has a meaning here
_FLOATS = (
    "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "tanh", "sinh", "cosh", "sin", "cos", "tan",
)  # fmt: skip
_ARCS = ("asin", "acos", "atan")

FLOAT_UNARY: dict[str, tuple[UnaryOp, bool]] = {  # and whether the result is a float of NumPy
    **{f"np.{op}": (op, True) for op in (*_FLOATS, "floor", "ceil", "trunc")},
    **{f"np.arc{op[1:]}": (op, True) for op in _ARCS}, **{f"np.{op}": (op, True) for op in _ARCS},
    "np.rint": ("round", True), "np.fix": ("trunc", True),
    **{f"math.{op}": (op, False) for op in (*_FLOATS, *_ARCS, "erf")},
}  # fmt: skip
COMPLEX_UNARY: dict[str, UnaryOp] = {f"cmath.{op}": op for op in (*_FLOATS, *_ARCS) if hasattr(cmath, op)}
COMPLEX_ARCS = {  # which are plain functions of complex numbers, and what these are called
    name: arc
    for arc in ("asin", "acos", "asinh", "acosh", "atanh")
    for name in (f"np.{arc}", f"np.arc{arc[1:]}", f"cmath.{arc}")
}
PARTS = ("np.real", "np.imag", "np.conj", "np.conjugate", "np.angle", "cmath.phase")
ABSOLUTE = ("abs", "np.abs", "np.absolute")
BINARY: dict[str, BinaryOp] = {
    "np.minimum": "min", "np.maximum": "max", "np.power": "pow", "np.add": "add", "np.subtract": "sub",
    "np.multiply": "mul", "np.divide": "div", "np.true_divide": "div", "np.floor_divide": "floordiv",
    "np.mod": "floormod", "np.remainder": "floormod", "pow": "pow", "np.logical_and": "and",
    "np.logical_or": "or", "np.bitwise_and": "bitand", "np.bitwise_or": "bitor", "np.bitwise_xor": "bitxor",
    "np.left_shift": "shl", "np.right_shift": "shr", "np.greater": "gt", "np.greater_equal": "ge", "np.less": "lt",
    "np.less_equal": "le", "np.equal": "eq", "np.not_equal": "ne",
}  # fmt: skip
MADE = ("np.arange", "np.linspace", "np.eye", "np.identity")
FILLED = {"np.zeros": 0, "np.ones": 1, "np.empty": None, "np.ndarray": None, "np.full": None}
FILLED_LIKE = {"np.zeros_like": 0, "np.ones_like": 1, "np.empty_like": None, "np.full_like": None}
_PYTHON: dict[type, DType] = {int: DType.INT64, float: DType.FLOAT64, bool: DType.BOOL, complex: DType.COMPLEX128}
SUMS = (
    "sum", "np.sum", "np.mean", "np.max", "np.min", "np.amax", "np.amin", "np.prod", "np.any", "np.all", "any", "all",
    "np.dot", "np.matmul", "np.argmax", "np.argmin", "np.cumsum", "np.cumprod", "np.var", "np.std",
)  # fmt: skip
FOLDS = ("sum", "min", "max", "any", "all", "math.prod", "len")  # of comprehensions
OTHERS = (
    "len", "min", "max", "math.prod", "int", "float", "bool", "range", "round", "math.floor", "math.ceil", "math.trunc",
    "np.where", "np.copy", "np.square", "np.logical_not", "np.invert", "np.bitwise_not", "np.bitwise_count",
    "loopsat.prange", "loopsat.assume", "loopsat.bound", "loopsat.unsupported", "np.asarray", "np.array",
    "np.frombuffer", "np.ndim", "np.shape", "np.size", "np.meshgrid", "np.finfo", "np.iinfo", "tuple", "list", "ord",
    "complex", "isinstance",
)  # fmt: skip
ITERABLES = ("enumerate", "zip", "reversed", "np.ndindex", "np.ndenumerate")
NAMES = (
    *FLOAT_UNARY, *COMPLEX_UNARY, *PARTS,
    *ABSOLUTE, *BINARY, *COMPOSED, *ARRANGED, *MADE, *FILLED, *FILLED_LIKE, *SUMS, *OTHERS, *ITERABLES,
)  # fmt: skip


def assume(condition: object) -> None:
    """State in a function under `loopsat.jit` what callers grant: where it is false, any result will do.

    Run as Python, it does nothing.
    """


def bound(steps: int) -> None:
    """State in a function under `loopsat.jit` how many steps a `while` takes at most, first of all in its body.

    Where it would go on, `checks=True` says so; otherwise, any result will do. Run as Python, it does nothing.
    """


def unsupported(message: str) -> Any:
    """Stand in a function of the library here for a case of NumPy's that there is none of: the call is refused."""


def qualified(value: object) -> str | None:
    """What the tables here call an object, as `np.exp`; None for objects of elsewhere."""
    own = {assume: "loopsat.assume", bound: "loopsat.bound", unsupported: "loopsat.unsupported"}
    if isinstance(value, FunctionType) and value in own:
        return own[value]
    name = getattr(value, "__name__", None)
    if isinstance(owner := getattr(value, "__self__", None), np.ufunc):
        return f"np.{owner.__name__}.{name}"
    if not isinstance(name, str) or (isinstance(value, (ModuleType, FunctionType)) and not _of_library(value)):
        return None
    if vars(builtins).get(name) is value:
        return name
    for module, short in _HOMES:
        if getattr(module, name, None) is value:
            return f"{short}.{name}"
    home = str(getattr(value, "__module__", ""))
    if home.partition(".")[0] == "jax":
        return f"np.linalg.{name}" if "linalg" in home else f"np.{name}"
    return "loopsat.prange" if name == "prange" and home.startswith("numba") else None


def _of_library(value: object) -> bool:
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] in ("numpy", "jax", "math", "cmath", "heapq")


def attribute(module: ModuleType, name: str) -> tuple[()] | tuple[object]:
    """An attribute of a module, if there is one; of libraries of arrays, of those whose objects have a meaning here."""
    whole = module.__name__ in _ROOTS or module.__name__.partition(".")[0] not in _LIBRARIES or module.__name__ == "jax"
    return (getattr(module, name),) if whole and hasattr(module, name) else ()


def dtype_named(value: object) -> DType | None:
    """The dtype that a value such as `np.float32`, "float32", `float` or `A.dtype` stands for."""
    if isinstance(value, (DType, str)):
        return value if isinstance(value, DType) else array_dtype(value)
    if isinstance(value, type):
        if value in _PYTHON:
            return _PYTHON[value]
        return array_dtype(np.dtype(value).name) if issubclass(value, np.generic) else _of_array_library(value)
    return array_dtype(value.name) if isinstance(value, np.dtype) else _of_array_library(value)


def _of_array_library(value: object) -> DType | None:
    """The dtype of what stands for one as `jnp.float32` does."""
    kind = getattr(value, "dtype", None)
    return array_dtype(kind.name) if isinstance(kind, np.dtype) and hasattr(value, "__name__") else None
