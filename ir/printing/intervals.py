"""Ranges as start and stop, which programs write, and as start and extent, which nodes hold.

Reading and printing share these two functions: `extent_of(start, stop_of(start, extent))` is `extent`.
"""

from __future__ import annotations

from ir.nodes import Binary, Const, Expr


def extent_of(start: Expr, stop: Expr) -> Expr:
    """`stop - start`, without the subtraction where the answer is plain."""
    match start, stop:
        case _, Binary(op="add", lhs=base, rhs=extent) if base.same(start):
            return extent
        case Const(value=0), _:
            return stop
        case Const(value=int() as low, dtype=dtype), Const(value=int() as high) if dtype.is_integer:
            if dtype.min <= high - low <= dtype.max:
                return Const(high - low, dtype, stop.span)
        case _:
            pass
    return Binary("sub", stop, start, stop.span)


def stop_of(start: Expr, extent: Expr) -> Expr:
    """The shortest stop from which `extent_of` gives `extent`."""
    candidates: list[Expr] = []
    match start, extent:
        case Const(value=0), _:
            candidates.append(extent)
        case Const(value=int() as low, dtype=dtype), Const(value=int() as count) if dtype.is_integer:
            if dtype.min <= low + count <= dtype.max:
                candidates.append(Const(low + count, dtype))
        case _, Binary(op="sub", lhs=stop, rhs=base) if base.same(start):
            candidates.append(stop)
        case _:
            pass
    candidates.append(Binary("add", start, extent))
    return next(stop for stop in candidates if extent_of(start, stop).same(extent))
