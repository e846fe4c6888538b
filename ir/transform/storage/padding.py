"""What the padding of a transformed buffer holds: the value a user gave, and statements that write or assume it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NoReturn

from ir.analysis.effects import EffectAnalysis, get, read_regions
from ir.arith import rounded
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import (
    FALSE,
    SKIP,
    Alloc,
    Assume,
    Binary,
    Block,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.geometry import Geometry
from ir.presburger.index_map import IndexMap
from ir.printing.printer import to_script
from ir.program.blocks import lower_statement
from ir.program.edit import nest, refuse
from ir.traverse import buffers_written, free_vars, has_loads, map_expr, stores_in, substitute_expr

Filler = Callable[[Sequence[Expr]], Expr]  # the value at physical indices


def filler(pad_value: object, old: Buffer, new: Buffer, geometry: Geometry) -> Filler | None:
    """The function from physical indices of `new` to what its padding holds; None if nothing was asked.

    Raises:
        ScheduleError: the value has another dtype, reads another buffer, names something that is no index, or reads
            the padding itself.
    """
    if pad_value is None:
        return None
    if isinstance(pad_value, IndexMap):
        if len(pad_value.params) != len(new.shape) or len(pad_value.results) != 1:
            message = f"the pad value of {old.name} must be one value for {len(new.shape)} indices"
            refuse("pad-value", message, old.span, notes=[f"it is {pad_value}"], help="take the transformed indices")
        params, value = pad_value.params, pad_value.results[0]
    else:
        params, value = (), _literal(pad_value, old)
    value = map_expr(_converted(value, old), lambda e: _own(e, old, new))
    for var in free_vars(value) - set(params):
        message = f"the pad value of {old.name} depends on `{var.name}`, which is not one of its indices"
        refuse("pad-value", message, old.span, help="use numbers, the transformed indices and the buffer itself")

    def fill(indices: Sequence[Expr]) -> Expr:
        given = [i if i.dtype is v.dtype else Cast(v.dtype, i) for v, i in zip(params, indices, strict=False)]
        return substitute_expr(value, dict(zip(params, given, strict=True)))

    _check_reads(fill(geometry.indices) if params else value, new, geometry)
    return fill


def _literal(value: object, buffer: Buffer) -> Expr:
    if isinstance(value, Expr):
        return value
    if not isinstance(value, (int, float)):
        message = f"the pad value of {buffer.name} is {value!r}, which is no value"
        refuse("pad-value", message, buffer.span, help="give a number, T.undef(), or a function of the indices")
    if isinstance(value, bool):
        return Const(value, DType.BOOL)
    wide = DType.FLOAT64 if isinstance(value, float) else DType.INT64 if abs(value) >= 1 << 31 else DType.INT32
    return const(value, wide)


def _converted(value: Expr, buffer: Buffer) -> Expr:
    """A value in the buffer's dtype; numbers must keep their value."""
    dtype = buffer.dtype
    match value:
        case Undef():
            return Undef(dtype)
        case Const(value=number):
            if isinstance(number, float) and not dtype.is_float and number.is_integer():
                number = int(number)
            wrong = (
                isinstance(number, bool) is not (dtype is DType.BOOL)
                or (isinstance(number, float) and not dtype.is_float)
                or (dtype.is_float and not _representable(float(number), dtype))
                or (dtype.is_integer and not dtype.min <= number <= dtype.max)
            )
            return _wrong(value, buffer) if wrong else const(number, dtype)
        case _ if value.dtype is dtype:
            return value
        case _ if value.dtype.is_integer and dtype.is_integer and _fits(value.dtype, dtype):
            return Cast(dtype, value)
        case _:
            return _wrong(value, buffer)


def _representable(number: float, dtype: DType) -> bool:
    """Whether elements of a float dtype can equal a number; NaN equals nothing."""
    return not math.isnan(number) and (math.isinf(number) or not math.isinf(rounded(number, dtype)))


def _fits(narrow: DType, wide: DType) -> bool:
    return wide.min <= narrow.min and narrow.max <= wide.max


def _wrong(value: Expr, buffer: Buffer) -> NoReturn:
    message = f"`{to_script(value)}` is no {buffer.dtype}, so it cannot be the pad value of {buffer.name}"
    refuse("pad-value", message, buffer.span, help=f'convert it, as in T.cast(..., "{buffer.dtype}")')


def _own(expr: Expr, old: Buffer, new: Buffer) -> Expr:
    """A load of the transformed buffer for one of the buffer that the user named."""
    if not isinstance(expr, Load):
        return expr
    if expr.buffer.name != old.name:
        message = f"the pad value of {old.name} reads {expr.buffer.name}"
        refuse("pad-value", message, expr.span, help="only numbers, the indices and the buffer itself may be used")
    if len(expr.indices) != len(new.shape):
        message = f"the pad value of {old.name} reads it with {len(expr.indices)} indices, but it has {len(new.shape)}"
        refuse("pad-value", message, expr.span, help="index it as it is after the transformation")
    return Load(new, expr.indices, expr.span)


def _check_reads(value: Expr, new: Buffer, geometry: Geometry) -> None:
    """Refuse a value that reads what is no element of the logical buffer."""
    if not has_loads(value):
        return
    reads = get(read_regions(value, geometry.padding), new)
    strays = pb.within_budget(lambda: pb.sample(reads.subtract(geometry.places(geometry.image))), ({}, ()))
    if strays is None:
        return
    at = ", ".join(str(strays[0].get(v.name, 0)) for v in geometry.indices)
    notes = [f"{new.name}[{at}] would take {new.name}[{', '.join(map(str, strays[1]))}]"] if strays[1] else []
    message = f"the pad value of {new.name} reads places that hold no element"
    refuse("pad-value", message, new.span, notes=notes, help="read elements of the buffer before the transformation")


# Statements ----------------------------------------------------------------------------------------------------------


def index_names(index_map: IndexMap, pad_value: object, buffer: str) -> list[str]:
    """Names for physical indices: those of the user's function, or after the logical ones they come from."""
    if isinstance(pad_value, IndexMap) and len(pad_value.params) == len(index_map.results):
        return [v.name for v in pad_value.params]
    sources = [sorted(v.name for v in free_vars(r) if v in index_map.params) for r in index_map.results]
    names: list[str] = []
    for k, source in enumerate(sources):
        sharing = [n for n, other in enumerate(sources) if other == source]
        if len(source) != 1 or len(sharing) > 2:
            names.append(f"{buffer.lower()}{k}")
        elif len(sharing) == 1:
            names.append(source[0])
        else:
            names.append(source[0] + "oi"[sharing.index(k)])
    return names


def padding_stage(buffer: Buffer, geometry: Geometry, fill: Filler, names: Sequence[str], taken: set[str]) -> Stmt:
    """Loops over a transformed buffer that write its padding."""
    loops, indices = grid(buffer, names, taken)
    store = Store(buffer, indices, fill(indices))
    body = If(geometry.outside(indices), store, SKIP)
    return nest(loops, Block(fresh(f"{buffer.name}_padding", taken), body))


def assumption(buffer: Buffer, geometry: Geometry, fill: Filler, names: Sequence[str], taken: set[str]) -> Stmt:
    """Loops over a transformed buffer that state what its padding holds."""
    loops, indices = grid(buffer, names, taken)
    claim = Binary("eq", Load(buffer, indices), fill(indices))
    inside = geometry.inside(indices)
    return nest(loops, Assume(claim if inside.same(FALSE) else inside | claim))


def own_names(buffer: Buffer) -> list[str]:
    """Names for the indices of a buffer, after its own."""
    return [f"{buffer.name.lower()}{k}" for k in range(len(buffer.shape))]


def grid(buffer: Buffer, names: Sequence[str], taken: set[str]) -> tuple[list[For], tuple[Expr, ...]]:
    """Empty loops over all elements of a buffer in storage order, and the indices."""
    loops: list[For] = []
    for name, extent in zip(names, buffer.shape, strict=True):
        var = Var(fresh(name, taken), extent.dtype)
        loops.append(For(var, const(0, extent.dtype), extent, SKIP))
    return loops, tuple(loop.var for loop in loops)


def filled(buffer: Buffer, value: Expr, taken: set[str]) -> Stmt:
    """Store a value to all elements of a buffer."""
    loops, places = grid(buffer, own_names(buffer), taken)
    return nest(loops, Store(buffer, places, value))


def after_writes(scope: Stmt, buffer: Buffer, stage: Callable[[], Stmt]) -> Stmt:
    """`scope` with a stage after each statement that writes all of a buffer, and after the last that writes to it.

    Statements directly in the scope count. Accesses of a buffer before a transformation never touch its padding after
    it, so what such a stage leaves there holds for all readers after it, and at the end. Statements that only permit
    anything in elements do not count where others write.
    """
    permits = [s for s in _steps(scope) if buffer in buffers_written(s)]
    writers = [s for s in permits if _writes_values(s, buffer)] or permits
    if not writers:
        return seq(stage(), scope)
    last = writers[-1]

    def visit(stmt: Stmt) -> Stmt:
        match stmt:
            case Seq(stmts=stmts):
                return seq(*map(visit, stmts), span=stmt.span)
            case Let(body=body):
                return Let(stmt.var, stmt.value, visit(body), stmt.span)
            case Alloc(body=body):
                return Alloc(stmt.buffer, visit(body), stmt.span)
            case _ if stmt is last or (any(stmt is w for w in writers) and _writes_all(stmt, buffer)):
                return seq(stmt, stage())
            case _:
                return stmt

    return visit(scope)


def _steps(scope: Stmt) -> list[Stmt]:
    """The statements of a scope in order, bindings and allocations opened up."""
    match scope:
        case Seq(stmts=stmts):
            return [inner for s in stmts for inner in _steps(s)]
        case Let(body=body) | Alloc(body=body):
            return _steps(body)
        case _:
            return [scope]


def _writes_values(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement stores other than undef to a buffer."""
    stores = [s for s in stores_in(stmt) if s.buffer == buffer]
    return not stores or any(not isinstance(s.value, Undef) for s in stores)  # calls store too


def _writes_all(stmt: Stmt, buffer: Buffer) -> bool:
    def covered() -> bool:
        must = get(EffectAnalysis().of(lower_statement(stmt)).must, buffer)
        return pb.box(buffer.shape).is_subset(must)

    return pb.within_budget(covered, False)
