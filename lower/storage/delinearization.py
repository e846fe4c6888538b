"""Dimensions that a program makes of one: `B[i * n + j]` of m * n elements is `B[i, j]`.

Products with open sizes are outside of Presburger arithmetic, and along one dimension nobody sees windows in two. Where
all accesses to a buffer agree on a size, and what they add to its multiples is shown to be below it, the program sees
the dimensions apart. Between it and its callers stands a reshape (Grosser et al., "Optimistic delinearization of
parametrically sized arrays", 2015). Outside of the one dimension is outside of the first of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import islpy as isl
from msgspec.structs import replace

from ir.analysis.dependence import Statement
from ir.nodes import Binary, Buffer, Expr, Var, const
from ir.presburger import sets as presburger
from ir.presburger.facts import promised
from ir.presburger.polynomials import Monomial, Polynomial, divided, monomial, summed, written
from ir.traverse import factors, free_vars, has_loads
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear
from lower.nest.normalize import Program, read_by_bounds, relocate

DELINEARIZATION = Form(
    "structure.delinearization",
    "A[n * i + j]  =  A[i, j]   where 0 <= j < n",
    "the places are the same (Grosser et al. 2015)",
)


Split = Mapping[Expr, tuple[Expr, Expr]]  # of each index in a dimension, those in the two that it becomes


def unflatten(program: Program) -> None:
    """Give buffers the dimensions that all accesses to them have; `program.flat` tells what callers give."""
    fixed = read_by_bounds(program.statements)
    known = presburger.always() if program.checks else promised(program.func)  # a check may not rest on what it checks
    for buffer in (*program.func.buffers, *program.depth):
        flat = len(buffer.shape) == 1
        found = None if buffer in fixed else _apart(buffer, program.statements, known, flat)
        while found is not None:
            new, dimension, split = found
            relocate(program, buffer, new, partial(_in_two, dimension, split))
            buffer = new
            found = _apart(buffer, program.statements, known, flat)


def _in_two(dimension: int, split: Split, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Indices with that of a dimension in two."""
    return (*indices[:dimension], *split[indices[dimension]], *indices[dimension + 1 :])


def _apart(
    buffer: Buffer, statements: Sequence[Statement], known: isl.Set, flat: bool
) -> tuple[Buffer, int, Split] | None:
    """A buffer with a dimension in two, which dimension that is, and how indices in it are split; None if none is.

    By numbers where the buffer was `flat`, or where there are windows: else a view has the two dimensions as well.
    """
    several = [d for d, n in enumerate(buffer.shape) if not isinstance(n, Var) and not has_loads(n)]
    users = [s for s in statements if buffer in s.buffers()] if several else []
    accesses = [(s, indices) for s in users for indices in s.places(buffer)]
    for d in several:
        extent = buffer.shape[d]
        for size in _sizes([(s, _polynomial(indices[d])) for s, indices in accesses], flat):
            whole, rest = divided(_polynomial(extent), size)
            split = _split(accesses, d, size, known) if whole and not rest else None
            if split is not None:
                shape = (*buffer.shape[:d], written(whole, extent), written(size, extent), *buffer.shape[d + 1 :])
                return replace(buffer, shape=shape), d, split
    return None


def _split(
    accesses: Sequence[tuple[Statement, tuple[Expr, ...]]], dimension: int, size: Polynomial, known: isl.Set
) -> Split | None:
    """How all indices in a dimension are split by a size; None if one is not, or if none goes along the inner part."""
    found: dict[Expr, tuple[Expr, Expr]] = {}
    along = False
    for s, indices in accesses:
        index = indices[dimension]
        ways = [found[index]] if index in found else _ways(index, size)
        way = next((w for w in ways if _is_rest(s, w[1], written(size, index), known)), None)
        if way is None:
            return None
        found[index] = way
        along = along or not free_vars(way[1]).isdisjoint(loop.var for loop in s.loops)
    return found if along else None


def _ways(index: Expr, size: Polynomial) -> list[tuple[Expr, Expr]]:
    """How an index may be multiples of a size and a rest; of a number that is added, each may have a part."""
    whole, rest = divided(_polynomial(index), size)
    if size.keys() == {()}:
        turns = {product: round(c / size[()]) for product, c in rest.items() if product}  # as in 101 * k, of 100
        whole = summed((*whole.items(), *turns.items()))
        rest = summed((*rest.items(), *((product, -n * size[()]) for product, n in turns.items())))
    if size.keys() != {()} or () not in rest:
        return [(written(whole, index), written(rest, index))]
    more, less = divmod(rest[()], size[()])
    terms = [item for item in rest.items() if item[0] != ()]
    return [
        (written(summed((*whole.items(), ((), m))), index), written(summed((*terms, ((), n))), index))
        for m, n in ((more, less), (more + 1, less - size[()]))
    ]


def _sizes(accesses: Sequence[tuple[Statement, Polynomial]], flat: bool) -> list[Polynomial]:
    """What loop variables are multiplied with in an index, products of few sizes first, and small numbers."""
    found: dict[Monomial, int] = {}
    numbers: set[int] = set()
    windows = flat
    for s, index in accesses:
        own = {loop.var for loop in s.loops}
        factors_of = {product: tuple(f for f in product if not free_vars(f) & own) for product in index}
        plain = [abs(index[product]) for product, rest in factors_of.items() if product and not rest]
        numbers.update(c for c in plain if c > 1)
        windows = windows or len(set(plain)) < len(plain)
        for product, rest in factors_of.items():
            if 0 < len(rest) < len(product) and not any(map(has_loads, rest)):
                found.setdefault(rest, abs(index[product]))
    sizes = [{product: c} for product, c in sorted(found.items(), key=lambda item: len(item[0]))]
    return [*sizes, *({(): n} for n in sorted(numbers) if windows)]


def _is_rest(s: Statement, rest: Expr, size: Expr, known: isl.Set) -> bool:
    """Whether what an index adds to multiples of a size is surely below it, wherever a statement runs; `known` is what
    holds of scalars."""
    inside = Binary("and", Binary("ge", rest, const(0, rest.dtype)), Binary("lt", rest, size))

    def question() -> bool:
        return s.domain.intersect_params(known).is_subset(presburger.condition(inside).must)

    return presburger.within_budget(question, False)


def _polynomial(expr: Expr) -> Polynomial:
    form = linear(expr)
    terms = {monomial(factors(a) if a.dtype.is_signed else [a]): c for a, c in form.terms.items()}
    return {**terms, (): form.const} if form.const else terms
