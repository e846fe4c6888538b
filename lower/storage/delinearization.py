"""Dimensions that a program makes of one, by products with open sizes: `B[i * n + j]` of m * n elements is `B[i, j]`.

Such indices are outside of Presburger arithmetic. Where all accesses to a buffer agree on a size, and what they add
to its multiples is shown to be below it, the program sees the dimensions apart. Between it and its callers stands a
reshape (Grosser et al., "Optimistic delinearization of parametrically sized arrays", 2015). Outside of the one
dimension is outside of the first of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl
from msgspec.structs import replace

from ir.analysis.dependence import Statement
from ir.nodes import Binary, Buffer, Const, Expr, Var, const
from ir.presburger import sets as presburger
from ir.presburger.facts import promised
from ir.presburger.polynomials import Monomial, Polynomial, divided, monomial, written
from ir.traverse import free_vars, has_loads
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear
from lower.nest.normalize import Program, read_by_bounds, relocate

DELINEARIZATION = Form(
    "structure.delinearization",
    "A[n * i + j]  =  A[i, j]   where 0 <= j < n",
    "the places are the same (Grosser et al. 2015)",
)


def unflatten(program: Program) -> None:
    """Give buffers the dimensions that all accesses to them have; `program.flat` tells what callers give."""
    fixed = read_by_bounds(program.statements)
    known = presburger.always() if program.checks else promised(program.func)  # a check may not rest on what it checks
    for buffer in (*program.func.buffers, *program.depth):
        found = None if buffer in fixed else _apart(buffer, program.statements, known)
        while found is not None:
            if buffer in program.func.buffers:
                program.flat.setdefault(buffer.name, buffer)
            _use(program, buffer, *found)
            buffer = found[0]
            found = _apart(buffer, program.statements, known)


def _use(program: Program, old: Buffer, new: Buffer, dimension: int, size: Polynomial) -> None:
    """See a buffer with one of its dimensions in two, the inner one of a size."""

    def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        index = indices[dimension]
        whole, rest = (written(p, index) for p in divided(_polynomial(index), size))
        return (*indices[:dimension], whole, rest, *indices[dimension + 1 :])

    params = tuple(new if isinstance(p, Buffer) and p == old else p for p in program.func.params)
    program.func = replace(program.func, params=params)
    program.depth = {new if b == old else b: depth for b, depth in program.depth.items()}
    relocate(program, old, new, place)


def _apart(buffer: Buffer, statements: Sequence[Statement], known: isl.Set) -> tuple[Buffer, int, Polynomial] | None:
    """A buffer with a dimension in two, which dimension that is, and the size of the inner one; None if none is."""
    several = [d for d, n in enumerate(buffer.shape) if not isinstance(n, (Const, Var)) and not has_loads(n)]
    users = [s for s in statements if buffer in s.buffers()] if several else []
    accesses = [(s, indices) for s in users for indices in s.places(buffer)]
    for d in several:
        extent = buffer.shape[d]
        for size in _sizes(accesses, d):
            whole, rest = divided(_polynomial(extent), size)
            if whole and not rest and all(_is_rest(s, indices[d], size, known) for s, indices in accesses):
                inner = written(size, extent)
                shape = (*buffer.shape[:d], written(whole, extent), inner, *buffer.shape[d + 1 :])
                return replace(buffer, shape=shape), d, size
    return None


def _sizes(accesses: Sequence[tuple[Statement, tuple[Expr, ...]]], dimension: int) -> list[Polynomial]:
    """What loop variables are multiplied with in an index, products of few sizes first."""
    found: dict[Monomial, int] = {}
    for s, indices in accesses:
        own = {loop.var for loop in s.loops}
        for factors, c in _polynomial(indices[dimension]).items():
            rest = tuple(f for f in factors if not free_vars(f) & own)
            if 0 < len(rest) < len(factors) and not any(map(has_loads, rest)):
                found.setdefault(rest, abs(c))
    return [{factors: c} for factors, c in sorted(found.items(), key=lambda item: len(item[0]))]


def _is_rest(s: Statement, index: Expr, size: Polynomial, known: isl.Set) -> bool:
    """Whether what an index adds to multiples of a size is surely below it, wherever a statement runs; `known` is what
    holds of scalars."""
    rest = written(divided(_polynomial(index), size)[1], index)
    inside = Binary("and", Binary("ge", rest, const(0, rest.dtype)), Binary("lt", rest, written(size, rest)))

    def question() -> bool:
        return s.domain.intersect_params(known).is_subset(presburger.condition(inside).must)

    return presburger.within_budget(question, False)


def _polynomial(expr: Expr) -> Polynomial:
    form = linear(expr)
    terms = {monomial(_factors(a)): c for a, c in form.terms.items()}
    return {**terms, (): form.const} if form.const else terms


def _factors(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Binary) and expr.op == "mul" and expr.dtype.is_signed:
        yield from _factors(expr.lhs)
        yield from _factors(expr.rhs)
    else:
        yield expr
