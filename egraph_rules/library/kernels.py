"""The kernels of the library, as text in the dialect, and which of them may occur in a program.

Each is data: a body that says what it means, a JAX text that says how it is computed, and a price. Bodies are written
as people write them, for one dtype at a time; `loopsat.testing.check_instruction` compares each with its text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import product
from types import FunctionType

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.library.sorts import SORTS
from ir.dtypes import DType
from ir.nodes import (
    MIRRORED,
    Assume,
    Binary,
    BinaryOp,
    Buffer,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Unary,
)
from ir.script.parser import parse
from ir.script.plain.signature import ArrayType
from ir.script.plain.translate import translate
from ir.traverse import buffers_written, children, loads, map_expr, map_stmt, walk

_SORTED = (DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64)

# Loops over pairs of positions, after which an array is sorted if each makes `A[low] <= A[high]`: a name, the loops,
# and the two positions.
_ORDERS = (
    ("bubble_sort", "for i in range(n):\n        for j in range(n - 1 - i):", "j", "j + 1"),
    ("bubble_sort_short", "for i in range(n - 1):\n        for j in range(n - 1 - i):", "j", "j + 1"),
    ("bubble_sort_full", "for i in range(n):\n        for j in range(n - 1):", "j", "j + 1"),
    ("insertion_in_full", "for i in range(1, n):\n        for j in range(i):", "i - j - 1", "i - j"),
    ("exchange_sort", "for i in range(n):\n        for j in range(i + 1, n):", "i", "j"),
    ("exchange_sort_short", "for i in range(n - 1):\n        for j in range(i + 1, n):", "i", "j"),
)
_TEST = "if A[{low}] > A[{high}]:"
_SWAPS = {
    "": (_TEST, "    t = A[{low}]", "    A[{low}] = A[{high}]", "    A[{high}] = t"),
    "_from_above": (_TEST, "    t = A[{high}]", "    A[{high}] = A[{low}]", "    A[{low}] = t"),
    "_at_once": (_TEST, "    t = A[{high}]", "    u = A[{low}]", "    A[{low}] = t", "    A[{high}] = u"),
    "_by_extremes": (
        "lo = T.min(A[{low}], A[{high}])", "hi = T.max(A[{low}], A[{high}])", "A[{low}] = lo", "A[{high}] = hi",
    ),
}  # fmt: skip
_SORT = """
@T.instruction(jax="{text}", cost="{each} * n * log2(n)"{floats})
def {name}(A: T.Buffer((n,), "{dtype}"), n: T.int32):
    {loops}
            {swap}
"""
_OPPOSITE: dict[BinaryOp, BinaryOp] = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge", "min": "max", "max": "min"}
# XLA:CPU takes 10 ns for each of n * log2(n) floats and 2.5 ns for integers, in rows of 5 to 100,000, where moving an
# element takes 0.2 ns.
_FLOATS, _INTEGERS = 50.0, 12.0


class Entry(Struct, frozen=True):
    """One way to write an instruction of the library: `written` has the same parameters, and does the same."""

    instruction: PrimFunc
    written: PrimFunc


@lru_cache(maxsize=64)
def entries_for(dtype: DType) -> tuple[Entry, ...]:
    """The library, as far as it stores elements of a dtype."""
    return tuple(_sorts(dtype))


def library() -> tuple[Entry, ...]:
    """All of the library."""
    return tuple(e for dtype in _SORTED for e in entries_for(dtype))


def occurring(stmt: Stmt) -> tuple[Entry, ...]:
    """The part of the library that may be written in a program: it has all of what that is made of."""
    moved = dict.fromkeys(_moved(stmt))
    there = frozenset(_features(stmt)) if moved else frozenset[tuple[str, DType]]()
    kinds = [dtype for dtype in moved if _may_sort(there, dtype)]
    return tuple(e for dtype in kinds for e in entries_for(dtype) if _features_of(e.written) <= there)


def _may_sort(there: Collection[tuple[str, DType]], dtype: DType) -> bool:
    """Whether a program has what each entry has for elements of a dtype.

    The library is not made for programs that have not, since to parse it takes longer than most searches.
    """
    by_branches = ("if", DType.BOOL) in there and not {("gt", dtype), ("ge", dtype)}.isdisjoint(there)
    return ("store", dtype) in there and (by_branches or {("min", dtype), ("max", dtype)} <= {*there})


def _moved(stmt: Stmt) -> Iterator[DType]:
    """The dtypes of arrays that are stored to, and of which some name holds an element: a first look."""
    stored = buffers_written(stmt)
    for part in walk(stmt):
        if isinstance(part, Let):
            yield from (load.buffer.dtype for load in loads(part.value) if load.buffer in stored and load.indices)


def _sorts(dtype: DType) -> Iterator[Entry]:
    """Sorts of an array in place, ascending and descending."""
    if dtype not in _SORTED:
        return
    floats = ', floats=("finite", "no_signed_zeros")' if dtype.is_float else ""
    how = {"each": _FLOATS if dtype.is_float else _INTEGERS, "floats": floats, "dtype": dtype}
    texts: list[str] = []
    for (name, loops, low, high), (by, swap) in product(_ORDERS, _SWAPS.items()):
        lines = ("\n" + 12 * " ").join(swap).format(low=low, high=high)
        named = f"{name}{by}_{dtype}" if texts else f"sort_{dtype}"
        texts.append(_SORT.format(text="jnp.sort({A})", name=named, loops=loops, swap=lines, **how))
    first, *others = parse("\n".join(texts)).funcs
    for written in (first, *others, *(_plain(function, first) for function in SORTS)):
        yield Entry(first, written)
        yield Entry(_descending(first), _descending(written))


def _plain(function: FunctionType, instruction: PrimFunc) -> PrimFunc:
    """A plain Python function as a way to write an instruction that has one array and its size."""
    array, size = instruction.params
    assert isinstance(array, Buffer)
    body = translate(function, {array.name: ArrayType((size.name,), array.dtype)}).func.body
    (nest,) = (s for s in (body.stmts if isinstance(body, Seq) else (body,)) if not isinstance(s, Assume))
    return replace(instruction, name=f"{function.__name__}_{array.dtype}", body=nest)


def _descending(sort: PrimFunc) -> PrimFunc:
    """A sort with all comparisons of elements the other way round."""
    attrs = tuple((k, "jnp.flip(jnp.sort({A}))" if k == "jax" else v) for k, v in sort.attrs)
    body = map_stmt(sort.body, lambda e: map_expr(e, _opposite))
    return replace(sort, name=f"{sort.name}_descending", body=body, attrs=attrs)


def _opposite(expr: Expr) -> Expr:
    return replace(expr, op=_OPPOSITE[expr.op]) if isinstance(expr, Binary) and expr.op in _OPPOSITE else expr


@lru_cache(maxsize=512)
def _features_of(kernel: PrimFunc) -> frozenset[tuple[str, DType]]:
    return frozenset(_features(kernel.body))


def _features(stmt: Stmt) -> Iterator[tuple[str, DType]]:
    """What a nest that equals another one has too: stores, operations and comparisons, each with its dtype, but for
    those in indices and bounds, which a proof may find equal however they are written."""
    for part in walk(stmt):
        match part:
            case Store(buffer=buffer, value=value):
                yield "store", buffer.dtype
                yield from _operations(value)
            case If(cond=cond):
                yield "if", DType.BOOL
                yield from _operations(cond)
            case Let(value=value):
                yield from _operations(value)
            case For(kind=kind) if kind != "serial":
                yield kind, part.var.dtype
            case _:
                pass


def _operations(value: Expr) -> Iterator[tuple[str, DType]]:
    match value:
        case Load():
            return
        case Unary(op=op, operand=operand):
            yield op, operand.dtype
        case Binary(op=op, lhs=lhs):
            yield min(op, MIRRORED.get(op, op)), lhs.dtype
        case _:
            pass
    for part in children(value):
        yield from _operations(part)
