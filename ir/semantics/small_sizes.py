"""Checks of accesses with small numbers for names: a product is linear once all but one of its factors are numbers.

Finds accesses that leave their buffer where the check of the whole program cannot tell. Proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ir.analysis.access import check_accesses
from ir.analysis.witness import Words
from ir.errors import VerifyError
from ir.fold import folded
from ir.nodes import Assert, Assume, Binary, Block, Const, Expr, For, Let, PrimFunc, Stmt, Var, const
from ir.semantics.specialize import specialize
from ir.traverse import all_exprs, free_vars, map_stmt, shape_vars, substitute, walk

_EQUAL = (1, 2, 3, 4, 7)  # one size for all; an odd one and an even one of each order tell quotients apart
_UNEQUAL = (3, 5, 2, 7, 4)  # in turn, for sizes of which none is the others' bound
_MAX_PINNED = 2  # loops pinned to an iteration together: products of three variables are linear then


def check_small_sizes(func: PrimFunc, *, allow_stray_loads: bool, words: Words) -> None:
    """Check the accesses of a well-formed function where sizes, integer scalars and some loops have small numbers.

    Loops whose variables are multiplied by each other are tried at their first and last iterations.

    Raises:
        VerifyError: an access can leave its buffer at such numbers, which a note names.
    """
    for sizes in _samples(func):
        if _possible(sized := specialize(func, sizes), sizes, {}, allow_stray_loads, words):
            for iteration, pinned in _iterations(sized, _MAX_PINNED):
                _possible(pinned, sizes, iteration, allow_stray_loads, words)


def _possible(
    func: PrimFunc, sizes: Mapping[str, int], iteration: Mapping[str, int], allow_stray_loads: bool, words: Words
) -> bool:
    """Whether the program is meant for some numbers, at which its accesses are checked."""
    try:
        check_accesses(func, allow_stray_loads=allow_stray_loads, words=words)
    except VerifyError as error:
        if error.code == "assumption-false":
            return False
        at = ", ".join(f"{name} = {number}" for name, number in (*sizes.items(), *iteration.items()))
        notes = (*error.notes, f"this is at {at}") if at else error.notes
        what = "at every size" if sizes else "in every iteration"
        help = f"guard it with a condition that holds {what}, or state with {words.assume} what numbers may be"
        raise VerifyError(error.code, error.message, error.span, notes=notes, help=help) from None
    return True


def _samples(func: PrimFunc) -> Iterator[dict[str, int]]:
    names = [v.name for v in (*shape_vars(func), *(s for s in func.scalars if s.dtype.is_integer))]
    if not names:
        yield {}
        return
    yield from (dict.fromkeys(names, size) for size in _EQUAL)
    if len(names) > 1:
        turned = (_UNEQUAL[k:] + _UNEQUAL[:k] for k in range(len(_UNEQUAL)))
        yield from ({name: turn[k % len(turn)] for k, name in enumerate(names)} for turn in turned)


def _iterations(func: PrimFunc, left: int) -> Iterator[tuple[dict[str, int], PrimFunc]]:
    """The function with loops around products of their variables at one iteration each, an outer loop first."""
    loop = next(_multiplied(func), None) if left else None
    if loop is None:
        return
    start, extent = loop.start, loop.extent
    assert isinstance(start, Const) and isinstance(extent, Const)
    first = int(start.value)
    for place in dict.fromkeys((first, first + int(extent.value) - 1)):
        pinned = replace(func, body=map_stmt(func.body, on_stmt=lambda s, k=place: _pinned(s, loop, k)))
        yield {loop.var.name: place}, pinned
        yield from (({loop.var.name: place, **more}, inner) for more, inner in _iterations(pinned, left - 1))


def _multiplied(func: PrimFunc) -> Iterator[For]:
    """Loops with numbers for bounds whose variables are multiplied by, or divide, what is no number either.

    What a loop assumes holds of all its iterations, and is lost with them: such a loop is left alone.
    """
    factors = {v for e in all_exprs(func.body) for v in _factors(e)}
    for loop in walk(func.body):
        if isinstance(loop, For) and isinstance(loop.start, Const) and isinstance(loop.extent, Const):
            inside = list(walk(loop.body))
            bound = {loop.var, *(v for s in inside for v in _named_by(s, loop.var))}
            assuming = any(isinstance(s, Assume | Assert) for s in inside)
            if loop.extent.value > 0 and not bound.isdisjoint(factors) and not assuming:
                yield loop


def _named_by(stmt: Stmt, var: Var) -> Iterator[Var]:
    """Names that a statement gives to a variable as it is."""
    match stmt:
        case Let(var=name, value=value) if value == var:
            yield name
        case Block(axes=axes):
            yield from (a.var for a in axes if a.value == var)
        case _:
            pass


def _factors(expr: Expr) -> set[Var]:
    match expr:
        case Binary(op="mul", lhs=a, rhs=b):
            return free_vars(a, b) if free_vars(a) and free_vars(b) else set()
        case Binary(op="floordiv" | "floormod" | "truncdiv" | "truncmod", rhs=b):
            return free_vars(b)
        case _:
            return set()


def _pinned(stmt: Stmt, loop: For, place: int) -> Stmt:
    """A loop as one of its iterations, with the names in it that are numbers then replaced."""
    if not (isinstance(stmt, For) and stmt.var == loop.var and stmt.start == loop.start and stmt.extent == loop.extent):
        return stmt
    body = _with_numbers(stmt.body, {stmt.var: const(place, stmt.var.dtype)})
    return map_stmt(body, on_stmt=_without_names_of_numbers)


def _without_names_of_numbers(stmt: Stmt) -> Stmt:
    match stmt:
        case Let(var=var, value=Const() as value, body=body):
            return _with_numbers(body, {var: value})
        case Block(axes=axes, body=body):
            return replace(stmt, body=_with_numbers(body, {a.var: a.value for a in axes if isinstance(a.value, Const)}))
        case _:
            return stmt


def _with_numbers(stmt: Stmt, numbers: Mapping[Var, Expr]) -> Stmt:
    return map_stmt(substitute(stmt, numbers), on_expr=folded)
