"""Smaller programs, sizes and values that may show the same mistake; whether they still do is asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ir.arith import Scalar
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.semantics.inputs import Inputs
from ir.testing.counterexample import Counterexample
from ir.traverse import (
    all_exprs,
    children,
    map_expr,
    map_stmt,
    stores_in,
    substitute,
    walk,
    with_buffers,
    with_children,
)

_TRIES = 400


class Retested(Struct, frozen=True):
    """What came of a rule on one program: whether it was put to a test at all, and what is wrong."""

    tested: bool
    failed: Counterexample | None = None


Retest = Callable[[PrimFunc, Inputs], Retested]


def shrink(found: Counterexample, retest: Retest) -> Counterexample:
    """The smallest counterexample reached by leaving parts of the program out, and by smaller sizes and values."""
    left = _TRIES
    smaller = True
    while smaller:
        smaller = False
        for func, inputs in _candidates(found.original, found.inputs):
            left -= 1
            if left < 0:
                return found
            new = retest(func, inputs).failed
            if new is not None and _measure(new) < _measure(found):
                found, smaller = new, True
                break
    return found


def simpler_values(found: Counterexample) -> Counterexample:
    """A counterexample of the same programs with the simplest inputs that show it."""
    smaller = True
    while smaller:
        smaller = False
        for inputs in _simpler_inputs(found.original, found.inputs):
            new = replace(found, inputs=inputs)
            again = new.again()
            if again is not None and again.what == found.difference.what:
                found, smaller = replace(new, difference=again), True
                break
    return found


# Measures ------------------------------------------------------------------------------------------------------------


def _measure(found: Counterexample) -> tuple[int, float]:
    """What there is to read, and how far the numbers are from zero."""
    numbers = [e.value for e in all_exprs(found.original.body) if isinstance(e, Const)]
    values = [v for given in found.inputs.values() for v in np.asarray(given).flat]
    return found.size, sum(map(complexity, numbers)) + sum(complexity(v) for v in values)


def complexity(value: object) -> float:
    """How far a number is from a simple one: 0, 1, 2, ... with negative ones, fractions and what is huge behind."""
    number = float(value)  # pyright: ignore[reportArgumentType]  # a number of Python's or NumPy's
    if not math.isfinite(number):
        return 2000.0
    sign = 0.25 if math.copysign(1.0, number) < 0 else 0.0
    return math.log2(1 + abs(number)) + sign + (0.0 if number == int(number) else 20.0)


def _simpler(value: Scalar, dtype: DType) -> Iterator[Scalar]:
    """Simpler numbers in place of one, the simplest first."""
    if dtype is DType.BOOL:
        if value:
            yield False
        return
    options: list[float] = [0, 1, 2]
    if math.isfinite(value):
        options += [-value, math.trunc(value), math.trunc(value / 2), value - 1 if value > 0 else value + 1]
    seen: set[float] = set()
    for option in options:
        fits = dtype.is_float or dtype.min <= option <= dtype.max
        if fits and option not in seen and complexity(option) < complexity(value):
            seen.add(option)
            yield float(option) if dtype.is_float else int(option)


# Candidates ----------------------------------------------------------------------------------------------------------


def _candidates(func: PrimFunc, inputs: Inputs) -> Iterator[tuple[PrimFunc, Inputs]]:
    for body in _smaller(func.body):
        new = tidy(replace(func, body=body))
        yield new, {p.name: inputs[p.name] for p in new.params}
    yield from _smaller_alike(func, inputs)
    yield from _smaller_buffers(func, inputs)
    for values in _simpler_inputs(func, inputs):
        yield func, values
    yield from _simpler_constants(func, inputs)


def _smaller_alike(func: PrimFunc, inputs: Inputs) -> Iterator[tuple[PrimFunc, Inputs]]:
    """Programs with an expression smaller wherever it occurs, since rules compare parts."""
    counts = Counter(e for e in all_exprs(func.body) if not isinstance(e, (Const, Undef)))
    for old in (e for e, count in counts.items() if count > 1):
        options = [
            const(0, old.dtype),
            *(p for p in children(old) if p.dtype is old.dtype and not isinstance(old, Load)),
        ]
        for new in options:
            smaller = tidy(_with(func, old, new))
            yield smaller, {p.name: inputs[p.name] for p in smaller.params}


def _simpler_inputs(func: PrimFunc, inputs: Inputs) -> Iterator[Inputs]:
    """Inputs with one thing simpler: a whole array zero, one value."""
    dtypes = {p.name: p.dtype for p in func.params}
    for name, value in inputs.items():
        array, dtype = np.asarray(value), dtypes[name]
        if isinstance(value, np.ndarray):
            if np.count_nonzero(array) > 1:
                yield {**inputs, name: np.zeros_like(array)}
            for place in np.ndindex(array.shape):
                for option in _simpler(array[place].item(), dtype):
                    simpler = array.copy()
                    simpler[place] = option
                    yield {**inputs, name: simpler}
        else:
            for option in _simpler(value, dtype):
                yield {**inputs, name: option}


def _smaller_buffers(func: PrimFunc, inputs: Inputs) -> Iterator[tuple[PrimFunc, Inputs]]:
    """One extent of the program less by one or more, in all buffers, loops and indices that have it.

    Buffers of a program have few extents, and rules compare them: they shrink together.
    """
    extents = sorted({int(e.value) for b in _buffers(func) for e in b.shape if isinstance(e, Const) and e.value > 1})
    for extent in extents:
        for less in dict.fromkeys((1, 2, extent - 1)):
            if less < extent:
                yield _resized(func, inputs, extent, less, everywhere=True)
                yield _resized(func, inputs, extent, less, everywhere=False)


def _buffers(func: PrimFunc) -> list[Buffer]:
    return [*func.buffers, *(s.buffer for s in walk(func.body) if isinstance(s, Alloc))]


def _resized(func: PrimFunc, inputs: Inputs, extent: int, less: int, *, everywhere: bool) -> tuple[PrimFunc, Inputs]:
    def size(expr: Expr) -> Expr:
        fits = isinstance(expr, Const) and expr.dtype is DType.INT32 and expr.value == extent
        return const(less, expr.dtype) if fits else expr

    def buffer(old: Buffer) -> Buffer:
        return replace(old, shape=tuple(size(e) for e in old.shape))

    new = with_buffers(func, buffer, lambda e: size(e) if everywhere else e)
    values = dict(inputs)
    for old in func.buffers:
        array = values[old.name]
        assert isinstance(array, np.ndarray)
        sizes = [int(e.value) for e in buffer(old).shape if isinstance(e, Const)]
        if len(sizes) == array.ndim:
            values[old.name] = array[tuple(slice(n) for n in sizes)]
    return new, values


def _simpler_constants(func: PrimFunc, inputs: Inputs) -> Iterator[tuple[PrimFunc, Inputs]]:
    """Programs with one constant simpler, wherever it occurs."""
    numbers = dict.fromkeys(e for e in all_exprs(func.body) if isinstance(e, Const) and e.dtype is not DType.BOOL)
    for number in numbers:
        for option in _simpler(number.value, number.dtype):
            yield _with(func, number, const(option, number.dtype)), inputs


def _with(func: PrimFunc, old: Expr, new: Expr) -> PrimFunc:
    """A function with an expression in place of another one, wherever it occurs."""
    return replace(func, body=map_stmt(func.body, lambda e: map_expr(e, lambda p: new if p.same(old) else p)))


def tidy(func: PrimFunc) -> PrimFunc:
    """A function without parameters and local buffers that it does not use."""
    used = {e.buffer.name for e in all_exprs(func.body) if isinstance(e, Load)}
    used |= {s.buffer.name for s in stores_in(func.body)}
    used |= {e.name for e in all_exprs(func.body) if isinstance(e, Var)}
    shapes = {e.name for p in func.params if isinstance(p, Buffer) for e in p.shape if isinstance(e, Var)}
    return replace(func, params=tuple(p for p in func.params if p.name in used | shapes))


def _smaller(stmt: Stmt) -> Iterator[Stmt]:
    """A statement with something left out, the largest parts first."""
    match stmt:
        case Seq(stmts=stmts):
            for k in range(len(stmts)):
                yield seq(*stmts[:k], *stmts[k + 1 :])
            for k, part in enumerate(stmts):
                for new in _smaller(part):
                    yield seq(*stmts[:k], new, *stmts[k + 1 :])
        case If(cond=cond, then=yes, other=no):
            yield from (yes, no)
            if no != SKIP:
                yield replace(stmt, other=SKIP)
            for new in _smaller(yes):
                yield replace(stmt, then=new)
            for new in _smaller(no):
                yield replace(stmt, other=new)
            for new in _smaller_expr(cond):
                yield replace(stmt, cond=new)
        case For():
            yield from _smaller_loop(stmt)
        case Let(var=var, value=value, body=body):
            yield substitute(body, {var: const(0, var.dtype)})
            for new in _smaller(body):
                yield replace(stmt, body=new)
            for new in _smaller_expr(value):
                yield replace(stmt, value=new)
        case Alloc(body=body) | Block(body=body):
            if isinstance(stmt, Block):
                yield body
            for new in _smaller(body):
                yield replace(stmt, body=new)
        case Store(indices=indices, value=value):
            yield SKIP
            for new in _smaller_expr(value):
                yield replace(stmt, value=new)
            for k, index in enumerate(indices):
                for new in _smaller_expr(index):
                    yield replace(stmt, indices=(*indices[:k], new, *indices[k + 1 :]))
        case Assume(cond=cond) | Assert(cond=cond):
            yield SKIP
            for new in _smaller_expr(cond):
                yield replace(stmt, cond=new)
        case Evaluate():
            yield SKIP
        case _:
            pass


def _smaller_loop(loop: For) -> Iterator[Stmt]:
    yield substitute(loop.body, {loop.var: loop.start})
    for new in _smaller(loop.body):
        yield replace(loop, body=new)
    for name, bound in (("start", loop.start), ("extent", loop.extent)):
        for new in _smaller_expr(bound):
            yield replace(loop, **{name: new})


def _smaller_expr(expr: Expr) -> Iterator[Expr]:
    """Parts of an expression that can stand for it, and the expression with smaller parts."""
    if isinstance(expr, (Const, Undef)):
        return
    if expr.dtype is not DType.BOOL and not isinstance(expr, Binary):
        yield const(0, expr.dtype)
    if isinstance(expr, Var):
        return
    parts = children(expr)
    yield from (part for part in parts if part.dtype is expr.dtype and not isinstance(expr, Load))
    for k, part in enumerate(parts):
        for new in _smaller_expr(part):
            yield with_children(expr, (*parts[:k], new, *parts[k + 1 :]))
