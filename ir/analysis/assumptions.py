"""What is said of elements beside sets: values and conditions that an assumption fixes, and, as if it were assumed,
what elements keep that a statement stores to under conditions on data, or on products of variables.

After `if p < n[i]: A[i, p] = e` the elements where that fails are as they were, and a number that they had is theirs
still. Sets do not express such a condition, so that what the statement may store is all that it would where it held;
what it spares is told as an assumption would tell it: `p < n[i] or A[i, p] == v`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from itertools import takewhile

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis import contents as held
from ir.analysis.conditions import conjunction, disjuncts, negate
from ir.analysis.contents import Value
from ir.dtypes import DType
from ir.fold import folded
from ir.nodes import (
    COMPARE_OPS,
    FALSE,
    SKIP,
    TRUE,
    Assume,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    const,
)
from ir.presburger import sets as pb
from ir.program.calls import of_dtype
from ir.program.edit import nest
from ir.traverse import (
    buffers_written,
    conjuncts_of,
    free_vars,
    has_loads,
    has_undef,
    is_lazy,
    loads,
    map_stmt,
    stmt_children,
    walk,
)


def assumed_values(cond: Expr) -> Iterator[tuple[tuple[Buffer, Value], isl.Set]]:
    """Buffer contents that an assumption fixes: `c or A[i] == v` says A[i] is v wherever c is certainly false.

    Where c hangs on data, or is nothing that sets express, A[i] is `select(c, A[i], v)`: that is v for whoever knows c
    to be false.
    """
    match cond:
        case Binary(op="and", lhs=a, rhs=b):
            yield from held.joined(*({key: region} for part in (a, b) for key, region in assumed_values(part))).items()
        case Select(cond=c, then=a, other=b):  # of truths, it says each of two things
            yield from assumed_values(Binary("and", Binary("or", negate(c), a), Binary("or", c, b)))
        case _:
            parts = list(disjuncts(cond))
            for k, part in enumerate(parts):
                if not has_loads(part):
                    continue  # it says nothing of contents
                others = [p for n, p in enumerate(parts) if n != k]
                on_data = [p for p in others if beyond_sets(p)]
                where = _all_false(p for p in others if p not in on_data)
                for claim in conjuncts_of(part):  # `c or (p and q)` is `(c or p) and (c or q)`
                    for key, region in (*_claims(claim, on_data), *_conditions(claim, on_data)):
                        yield key, region.intersect_params(where)


def beyond_sets(*exprs: Expr) -> bool:
    """Whether integers or conditions hang on data, or are nothing else that sets of values of variables express."""
    return any(
        has_loads(e) or (not pb.condition(e).exact if e.dtype is DType.BOOL else pb.affine(e) is None) for e in exprs
    )


def unconditional(stmt: If | For) -> Stmt | None:
    """`if c: assume(p)` as `assume(not c or p)`, which says the same of contents; None where more is done.

    The condition of a loop is that its variable is within its bounds. None too where sets express the condition.
    """
    match stmt:
        case If(cond=cond, then=body, other=other) if other == SKIP and beyond_sets(cond):
            pass
        case For(body=body) if _is_beyond_sets(stmt):
            cond = conjunction(within_bounds(stmt))
        case _:
            return None
    inside = {s.var for s in walk(body) if isinstance(s, For)}
    if not all(isinstance(s, Assume | Seq | For | If) for s in walk(body)) or not inside.isdisjoint(free_vars(cond)):
        return None

    def weaker(s: Stmt) -> Stmt:
        return replace(s, cond=Binary("or", negate(cond), s.cond)) if isinstance(s, Assume) else s

    new = map_stmt(body, on_stmt=weaker)
    if isinstance(stmt, If):
        return new
    return replace(anywhere(stmt), body=new)


def within_bounds(loop: For) -> tuple[Expr, Expr]:
    """The conditions on the variable of a loop that its iterations fulfil."""
    stop = folded(Binary("add", loop.start, of_dtype(loop.extent, loop.start.dtype)))
    return Binary("ge", loop.var, loop.start), Binary("lt", loop.var, stop)


def anywhere(loop: For) -> For:
    """A loop through all places that a buffer can have, with the body of another one."""
    low, dtype = loop.var.dtype.min // 2, loop.var.dtype
    return replace(loop, start=const(int(low), dtype), extent=const(int(dtype.max), loop.extent.dtype))


def open_bounds(loop: For) -> Expr | None:
    """The condition that an iteration runs, as far as sets do not express it; None where they do."""
    if not _is_beyond_sets(loop):
        return None
    return conjunction([cond for cond in within_bounds(loop) if beyond_sets(cond)])


def _claims(cond: Expr, unless: Sequence[Expr]) -> Iterator[tuple[tuple[Buffer, Value], isl.Set]]:
    """What `A[i] == v` says of A at i, and `A[i] == B[j]` of both, unless one of some conditions holds."""
    match cond:
        case Load(dtype=DType.BOOL):
            yield from _claims(Binary("eq", cond, TRUE), unless)
        case Unary(op="not", operand=Load(dtype=DType.BOOL) as element):
            yield from _claims(Binary("eq", element, FALSE), unless)
        case Binary(op="eq", lhs=a, rhs=b):
            # of two elements of one buffer the first is told by the second, or they would tell each other for ever
            both = not (isinstance(a, Load) and isinstance(b, Load) and a.buffer == b.buffer)
            for place, value in ((a, b), (b, a)) if both else ((a, b),):
                place, value = _narrowed(place, value)
                spot = pb.point(place.indices) if isinstance(place, Load) else None
                if isinstance(place, Load) and unless:
                    value = Select(reduce(lambda p, q: Binary("or", p, q), unless), held.itself(place), value)
                known = held.stored(place.indices, value) if isinstance(place, Load) else None
                arbitrary = held.is_function(value) and has_undef(value)
                if isinstance(place, Load) and spot is not None and known is not None and not arbitrary:
                    yield (place.buffer, known), spot
        case _:
            pass


def _narrowed(place: Expr, value: Expr) -> tuple[Expr, Expr]:
    """`cast(A[i]) == v` as `A[i] == cast(v)` where the cast changes no value: what A[i] equals is one of its dtype."""
    match place:
        case Cast(dtype=wide, operand=Load(dtype=narrow) as load) if wide.is_integer and narrow.is_integer:
            if wide.min <= narrow.min and narrow.max <= wide.max:
                return load, Cast(narrow, value)
        case _:
            pass
    return place, value


def _conditions(cond: Expr, unless: Sequence[Expr]) -> Iterator[tuple[tuple[Buffer, Value], isl.Set]]:
    """A comparison, as a condition on each element that it reads; of floats one with a number.

    Unless one of some conditions on data holds: then it is `c or A[i] > v`, of use to whoever knows c to be false.
    """
    if not (isinstance(cond, Binary) and cond.op in COMPARE_OPS and cond.op != "eq") or is_lazy(cond):
        return
    bound = any(isinstance(side, Load) and isinstance(other, Const)
                for side, other in ((cond.lhs, cond.rhs), (cond.rhs, cond.lhs)))  # fmt: skip
    if not (cond.lhs.dtype.is_integer or (cond.lhs.dtype.is_float and bound)):
        return
    for load in dict.fromkeys(loads(cond)):
        spot = pb.point(load.indices)
        known = held.stored(load.indices, reduce(lambda p, q: Binary("or", q, p), unless, cond))
        if spot is not None and known is not None and held.is_condition(load.buffer, known):
            yield (load.buffer, known), spot


def _all_false(conds: Iterable[Expr]) -> isl.Set:
    result = pb.always()
    for cond in conds:
        result = result.intersect(pb.condition(cond).negated().must)
    return result


Path = tuple[For | Let | tuple[If, Expr], ...]  # what is around a store: of branches, the condition of the arm


class Spared(Struct, frozen=True):
    """Elements at `place`, for all values of the variables of `loops`, are left alone where `cond` fails."""

    loops: tuple[For, ...]
    cond: Expr
    place: Load

    def promise(self, value: Value) -> Stmt | None:
        """What holds after the statement if all elements had a value before, which nothing in it changes.

        None where the value is told in other dtypes than those of the place.
        """
        own, unless = held.itself(self.place), self.cond
        if isinstance(value, Select) and value.then.same(own):  # that is what they had unless another condition held
            before = held.at(value.cond, self.place.indices)
            if before is None:
                return None
            unless, value = Binary("or", before, self.cond), value.other
        told = held.at(value, self.place.indices)
        if told is None or self.place.buffer in held.reads(told) | held.reads(unless):
            return None
        return nest(self.loops, Assume(Binary("or", unless, Binary("eq", self.place, told))))


def spared(stmt: Stmt) -> dict[Buffer, Spared]:
    """Of the buffers that a statement stores to under conditions on data, which elements it leaves alone."""
    written = buffers_written(stmt)
    stores: dict[Buffer, list[tuple[Store, Path]]] = {}
    for store, path in _stores(stmt, ()):
        stores.setdefault(store.buffer, []).append((store, path))
    found = {buffer: _spared(places, written) for buffer, places in stores.items()}
    return {buffer: gate for buffer, gate in found.items() if gate is not None}


def _stores(stmt: Stmt, path: Path) -> Iterator[tuple[Store, Path]]:
    match stmt:
        case Store():
            yield stmt, path
        case If(cond=cond, then=then, other=other):
            yield from _stores(then, (*path, (stmt, cond)))
            if other != SKIP:
                yield from _stores(other, (*path, (stmt, negate(cond))))
        case For(body=body) | Let(body=body):
            yield from _stores(body, (*path, stmt))
        case _:
            for part in stmt_children(stmt):
                yield from _stores(part, path)


def _spared(stores: list[tuple[Store, Path]], written: Collection[Buffer]) -> Spared | None:
    """What stores to one buffer leave alone between them, by the conditions that are around all of them."""
    (first, path), *others = stores
    if any(store.indices != first.indices for store, _ in others) or any(map(has_loads, first.indices)):
        return None
    for _, other in others:
        path = tuple(a for a, _ in takewhile(lambda pair: _same(*pair), zip(path, other, strict=False)))
    bound = {p.var: p for p in path if isinstance(p, (For, Let))}
    named = {i for i in first.indices if isinstance(i, Var) and isinstance(bound.get(i), For)}
    hidden = bound.keys() - named  # of such a variable an element does not say which value it had
    if any(free_vars(i) & hidden or (i not in named and free_vars(i) & named) for i in first.indices):
        return None
    loops = [p for p in path if isinstance(p, For) and p.var in named]
    guards = [c for p in path if isinstance(p, tuple) for c in conjuncts_of(p[1])]
    guards += [c for loop in loops if _is_beyond_sets(loop) for c in within_bounds(loop)]
    if any(free_vars(e) & hidden for loop in loops for e in (loop.start, loop.extent)):
        return None
    steady = [
        g for g in guards if not (free_vars(g) & hidden or has_undef(g) or any(x.buffer in written for x in loads(g)))
    ]
    if not any(map(beyond_sets, steady)) or len(bound) != sum(isinstance(p, (For, Let)) for p in path):
        return None
    wide = tuple(anywhere(loop) if _is_beyond_sets(loop) else loop for loop in loops)
    return Spared(wide, conjunction(steady), Load(first.buffer, first.indices))


def _same(one: For | Let | tuple[If, Expr], other: For | Let | tuple[If, Expr]) -> bool:
    """Whether the same loop, binding or arm is around two stores."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return isinstance(one, tuple) and isinstance(other, tuple) and one[0] is other[0] and one[1] is other[1]
    return one is other


def _is_beyond_sets(loop: For) -> bool:
    return beyond_sets(loop.start, loop.extent)
