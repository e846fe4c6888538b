"""Functions of NumPy and `math` of each element, and those that every ufunc has, as plain functions of others."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

# Elements -----------------------------------------------------------------------------------------------------------


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return _within(a, a_min if min is None else min, a_max if max is None else max)


def _within(a: Any, low: Any, high: Any) -> Any:
    return _below(a if low is None else np.maximum(a, low), high)


def _below(a: Any, high: Any) -> Any:
    return a if high is None else np.minimum(a, high)


def cbrt(x: Any) -> Any:
    return _cbrt(x, np.abs(x) ** (1 / 3))


def _cbrt(x: Any, root: Any) -> Any:
    """A root made more exact by a step of Newton's method."""
    some = np.where(root > 0, root, 1)
    exact = some - (some - np.abs(x) / some / some) / 3
    return np.where(x == 0, 0 * root, np.where(x < 0, -exact, exact))


def sinc(x: Any) -> Any:
    return _sine_ratio(np.pi * np.where(x == 0, 1e-20, x))


def _sine_ratio(y: Any) -> Any:
    return np.sin(y) / y


def logaddexp(x1: Any, x2: Any) -> Any:
    return np.maximum(x1, x2) + np.log1p(np.exp(-np.abs(x1 * 1.0 - x2)))


def heaviside(x1: Any, x2: Any) -> Any:
    return np.where(x1 < 0, 0.0, np.where(x1 > 0, 1.0, x2))


def copysign(x1: Any, x2: Any) -> Any:
    return np.where(x2 < 0, -1.0, 1.0) * np.abs(x1)


def arcsinh(x: Any) -> Any:
    return np.sign(x) * _arcsinh(np.abs(x), np.minimum(np.abs(x), 1e8))


def _arcsinh(size: Any, small: Any) -> Any:
    near = np.log1p(small + small * small / (1.0 + np.sqrt(1.0 + small * small)))
    return np.where(size > 1e8, np.log(np.maximum(size, 1.0)) + math.log(2), near)


def arccosh(x: Any) -> Any:
    return _arccosh(x, np.minimum(x, 1e8) - 1.0)


def _arccosh(x: Any, more: Any) -> Any:
    near = np.log1p(more + np.sqrt(more * (more + 2.0)))
    return np.where(x > 1e8, np.log(x) + math.log(2), near)


def arctanh(x: Any) -> Any:
    return 0.5 * np.log1p(2.0 * x / (1.0 - x))


def modf(x: Any) -> Any:
    return x - np.trunc(x * 1.0), np.trunc(x * 1.0)


def negative(x: Any) -> Any:
    return -x


def positive(x: Any) -> Any:
    return +x


def fmax(x1: Any, x2: Any) -> Any:
    return np.maximum(x1, x2)


def fmin(x1: Any, x2: Any) -> Any:
    return np.minimum(x1, x2)


def logical_xor(x1: Any, x2: Any) -> Any:
    return (x1 != 0) != (x2 != 0)


def isinf(x: Any) -> Any:
    return np.logical_and(np.logical_not(np.isnan(x)), np.abs(x) == np.inf)


def isfinite(x: Any) -> Any:
    return np.logical_and(np.logical_not(np.isnan(x)), np.abs(x) < np.inf)


def rect(r: Any, phi: Any) -> Any:
    return complex(r * math.cos(phi), r * math.sin(phi))


def polar(z: Any) -> Any:
    return abs(z), cmath.phase(z)


def gcd(x1: Any, x2: Any) -> Any:
    if np.ndim(x1) == 0 and np.ndim(x2) == 0:
        return _divisor(x1, x2)
    firsts, seconds = np.ravel(x1 + 0 * x2), np.ravel(x2 + 0 * x1)
    found = np.empty(len(firsts), firsts.dtype)
    for i in range(len(firsts)):
        found[i] = _divisor(firsts[i], seconds[i])
    return np.reshape(found, np.shape(x1 + x2))


def _divisor(a: Any, b: Any) -> Any:
    x, y = abs(a), abs(b)
    while y > 0:
        x, y = y, x % y
    return x


def lcm(x1: Any, x2: Any) -> Any:
    return np.abs(x1 // np.maximum(gcd(x1, x2), 1) * x2)


# Of `math` ----------------------------------------------------------------------------------------------------------


def factorial(n: Any) -> Any:
    found = 1
    for k in range(2, n + 1):
        found *= k
    return found


def comb(n: Any, k: Any) -> Any:
    found = 1
    for i in range(min(k, n - k)):
        found = found * (n - i) // (i + 1)
    return found


def perm(n: Any, k: Any = None) -> Any:
    found = 1
    for i in range(n if k is None else k):
        found *= n - i
    return found


def math_modf(x: Any) -> Any:
    whole = float(math.trunc(x))
    return x - whole, whole


def ldexp(x: Any, i: Any) -> Any:
    return x * 2.0**i


def log_to_base(x: Any, base: Any) -> Any:
    return math.log(x) / math.log(base)


def math_isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def isqrt(n: Any) -> Any:
    root = int(math.sqrt(n))
    return root - int(root * root > n) + int((root + 1) * (root + 1) <= n)


def _as_python(function: Callable[..., Any]) -> Callable[..., Any]:
    def one(x: Any) -> Any:
        return float(function(float(x)))

    return one


def math_copysign(x: Any, y: Any) -> Any:
    return float(copysign(float(x), float(y)))


def dist(p: Any, q: Any) -> Any:
    return math.sqrt(sum((a - b) * (a - b) for a, b in zip(p, q, strict=True)))


# Of ufuncs ----------------------------------------------------------------------------------------------------------


def _folds(total: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(array: Any, axis: Any = 0, keepdims: Any = False) -> Any:
        return total(array, axis=axis, keepdims=keepdims)

    return reduce


def _reduces(op: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(array: Any, axis: Any = 0) -> Any:
        moved = np.moveaxis(array, axis, 0)
        found = moved[0]
        for i in range(1, len(moved)):
            found = op(found, moved[i])
        return found

    return reduce


def _sums_up(running: Callable[..., Any]) -> Callable[..., Any]:
    def accumulate(array: Any, axis: Any = 0) -> Any:
        return running(array, axis=axis)

    return accumulate


def _accumulates(op: Callable[..., Any]) -> Callable[..., Any]:
    def accumulate(array: Any, axis: Any = 0) -> Any:
        found = np.moveaxis(array, axis, 0).copy()
        for i in range(1, len(found)):
            found[i] = op(found[i - 1], found[i])
        return np.moveaxis(found, 0, axis)

    return accumulate


def _pairs(op: Callable[..., Any]) -> Callable[..., Any]:
    def outer(A: Any, B: Any) -> Any:
        return op(np.reshape(A, A.shape + (1,) * B.ndim), B)

    return outer


def _updates(op: Callable[..., Any]) -> Callable[..., Any]:
    def at(a: Any, indices: Any, b: Any) -> None:
        places = np.ravel(np.asarray(indices))
        values = np.broadcast_to(np.asarray(b), np.shape(indices) + a.shape[1:])
        values = np.reshape(values, (-1, *a.shape[1:]))
        for k in range(len(places)):
            a[places[k]] = op(a[places[k]], values[k])

    return at


def _updates_of_pairs(op: Callable[..., Any]) -> Callable[..., Any]:
    def at(a: Any, rows: Any, columns: Any, b: Any) -> None:
        places = np.ravel(np.asarray(rows) + 0 * np.asarray(columns))
        others = np.ravel(np.asarray(columns) + 0 * np.asarray(rows))
        values = np.broadcast_to(np.asarray(b), np.shape(places) + a.shape[2:])
        for k in range(len(places)):
            a[places[k], others[k]] = op(a[places[k], others[k]], values[k])

    return at


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "gcd": np.gcd,
    "lcm": np.lcm,
}  # fmt: skip
_TOTALS: dict[str, Callable[..., Any]] = {
    "add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min, "logical_and": np.all,
    "logical_or": np.any,
}  # fmt: skip
_RUNNING: dict[str, Callable[..., Any]] = {"add": np.cumsum, "multiply": np.cumprod}
_ALIKE = ("divide", "greater", "less", "equal", "hypot")  # of which all pairs are asked for too

ELEMENTS = (
    clip, cbrt, sinc, logaddexp, heaviside, copysign, arcsinh, arccosh, arctanh, modf, negative, positive, fmax, fmin,
    logical_xor, isinf, isfinite, gcd, lcm,
)  # fmt: skip


# Arcs of complex numbers, in parts that have no large terms (Kahan 1987) ----------------------------------------------


def _crossed(a: Any, b: Any) -> Any:
    """The imaginary part of the conjugate of a, times b."""
    return np.real(a) * np.imag(b) - np.imag(a) * np.real(b)


def complex_arcsin(z: Any) -> Any:
    below = np.sqrt(1 - z)
    above = np.sqrt(1 + z)
    real = np.arctan2(np.real(z), np.real(below) * np.real(above) - np.imag(below) * np.imag(above))
    return real + 1j * np.arcsinh(_crossed(below, above))


def complex_arccos(z: Any) -> Any:
    below = np.sqrt(1 - z)
    above = np.sqrt(1 + z)
    return 2 * np.arctan2(np.real(below), np.real(above)) + 1j * np.arcsinh(_crossed(above, below))


def complex_arccosh(z: Any) -> Any:
    below = np.sqrt(z - 1)
    above = np.sqrt(z + 1)
    real = np.arcsinh(np.real(below) * np.real(above) + np.imag(below) * np.imag(above))
    return real + 2j * np.arctan2(np.imag(below), np.real(above))


def complex_arcsinh(z: Any) -> Any:
    return -1j * complex_arcsin(1j * z)


def complex_arctanh(z: Any) -> Any:
    return -1j * np.arctan(1j * z)


def power_modulo(base: Any, exp: Any, mod: Any) -> Any:
    found = 1 % mod
    factor = base % mod
    left = exp
    while left > 0:
        if left % 2 == 1:
            found = found * factor % mod
        factor = factor * factor % mod
        left //= 2
    return found


def round_to_digits(x: Any, factor: Any) -> Any:
    """The multiple of a digit that is nearest: which of two, where their middle is, what the product lost decides."""
    within = abs(x * factor) < 2.0**52
    small = x if within else 0.0
    product = small * factor
    nearest = np.rint(product)
    below = np.floor(product)
    upper = np.float64(np.float32(small))  # whose product is exact
    lost = upper * factor - product + (small - upper) * factor
    at_middle = below + 1.0 if lost > 0 else (below if lost < 0 else nearest)
    found = (at_middle if abs(product - nearest) == 0.5 else nearest) / factor
    return float(found) if within else x


def round_to_multiple(x: Any, unit: Any) -> Any:
    """The nearest multiple of ten, a hundred and so on, the even one of two."""
    times = x // unit
    below = times * unit
    twice = 2 * (x - below)
    return below + unit if twice > unit or (twice == unit and times % 2 == 1) else below


_TAIL = (  # of exp(x * x) * erfc(x) / t where t = 2 / (2 + x), by powers of 2 * t - 1: least squares, to 3e-15
    -1.3170890159654396e-09, 6.799472044921581e-09, 3.292722539913598e-09, -5.249011318939763e-08,
    4.3529791977657766e-08, 1.5195400033804393e-07, -3.360676101331065e-07, 1.3052043455479282e-08,
    1.038369307223456e-06, -1.8331803853217158e-06, -5.81460721518593e-07, 8.066289395292549e-06,
    -1.0841898552206362e-05, -1.7076433702125883e-05, 7.223405155850215e-05, -1.718528071957261e-05,
    -0.0003315365859736948, 0.00041864797243540576, 0.0015453060189639907, -0.0032395925295789028,
    -0.010755330944492792, 0.01822111575330867, 0.13973604627802327, 0.3435803422069057, 0.5107913526210122,
)  # fmt: skip


def erfc(x: Any) -> Any:
    size = abs(float(x))
    t = 2.0 / (2.0 + size)
    found = _TAIL[0]
    for factor in _TAIL[1:]:
        found = found * (2.0 * t - 1.0) + factor
    short = np.float64(np.float32(min(size, 30.0)))  # whose square is exact
    found *= t * math.exp(-short * short) * math.exp((short - size) * (short + size))
    return found if x >= 0 else 2.0 - found


def list_index(items: Any, item: Any) -> Any:
    place = len(items)
    for k in range(len(items) - 1, -1, -1):
        if items[k] == item:
            place = k
    assert place < len(items), "ValueError: an item that is not in the list"
    return place


def list_count(items: Any, item: Any) -> Any:
    found = 0
    for one in items:
        if one == item:
            found += 1
    return found


OF_MATH: dict[str, Callable[..., Any]] = {
    **{f"math.{f.__name__}": f for f in (gcd, lcm, factorial, comb, perm, isqrt, dist, ldexp, erfc)},
    **{f"math.{name}": _as_python(f) for name, f in (
        ("cbrt", cbrt), ("asinh", arcsinh), ("acosh", arccosh), ("atanh", arctanh),
    )},
    "math.copysign": math_copysign, "math.modf": math_modf, "math.isclose": math_isclose,
    "cmath.rect": rect, "cmath.polar": polar,
}  # fmt: skip
OWN: dict[str, Callable[..., Any]] = {  # what calls of Python's own functions become
    "pow": power_modulo, "round.digits": round_to_digits, "round.multiple": round_to_multiple,
    "complex.asin": complex_arcsin, "complex.acos": complex_arccos, "complex.asinh": complex_arcsinh,
    "complex.acosh": complex_arccosh, "complex.atanh": complex_arctanh,
    "math.log.base": log_to_base, "list.index": list_index, "list.count": list_count,
}  # fmt: skip
OF_UFUNCS: dict[str, Callable[..., Any]] = {
    **{f"np.{name}.reduce": _reduces(op) for name, op in _UFUNCS.items() if name not in _TOTALS},
    **{f"np.{name}.reduce": _folds(total) for name, total in _TOTALS.items()},
    **{f"np.{name}.accumulate": _accumulates(op) for name, op in _UFUNCS.items() if name not in _RUNNING},
    **{f"np.{name}.accumulate": _sums_up(running) for name, running in _RUNNING.items()},
    **{f"np.{name}.outer": _pairs(op) for name, op in _UFUNCS.items()},
    **{f"np.{name}.outer": _pairs(getattr(np, name)) for name in _ALIKE},
}  # fmt: skip
UPDATES: dict[str, Callable[..., Any]] = {f"np.{name}.at": _updates(op) for name, op in _UFUNCS.items()}  # statements
UPDATES_OF_PAIRS: dict[str, Callable[..., Any]] = {f"np.{k}.at": _updates_of_pairs(op) for k, op in _UFUNCS.items()}
