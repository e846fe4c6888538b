"""What buffers hold: values as functions of the place, each with the region where it is held.

A value is a constant, `Undef` for arbitrary contents, or an expression over the coordinates of the element (`$0`, `$1`,
...), over scalars, and over elements of other buffers: where `B[i, j] = T.max(A[j, i], 0)` ran, B holds
`T.max(A[$1, $0], 0)`. Such a value holds as long as nothing that it reads is written. Where a loop ends, its variable
leaves the values: the places that it wrote tell which iteration wrote them (value-based data flow, Feautrier,
"Dataflow Analysis of Array and Scalar References").

A name that a `let` binds is an element too, that of a buffer without axes (`binding`): what it was bound to is known of
it as long as nothing writes what that reads.

What is assumed of elements without saying what they are, such as `A[i] >= 0`, is known in the same way: a condition in
the place of the value (`is_condition`). That they are not arbitrary is the condition `True`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache, reduce

import islpy as isl
from msgspec.structs import replace

from ir.analysis.invariants import Side, keeps
from ir.dtypes import DType
from ir.fold import shortened
from ir.nodes import TRUE, Binary, Buffer, Const, Expr, For, If, Load, Select, Seq, Stmt, Store, Unary, Undef, Var
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.traverse import (
    factors,
    free_vars,
    has_loads,
    has_undef,
    is_const,
    loads,
    map_stmt,
    node_count,
    stores_in,
    substitute,
    substitute_expr,
    walk,
)

Regions = dict[Buffer, isl.Set]
Value = Expr
Contents = dict[tuple[Buffer, Value], isl.Set]

# Elements known to equal others, these known to equal others, ...: of two buffers each may be told by the other.
MAX_FOLLOWED = 8
MAX_NODES = 60  # of a value; a larger one is nothing that anybody would compute again
_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


def coordinate(axis: int, dtype: DType) -> Var:
    """The coordinate of an element on an axis, in the dtype of the indices that name it."""
    return Var(f"${axis}", dtype)


def binding(var: Var) -> Buffer:
    """The one element that a bound name stands for, as a buffer without axes; variables of searches begin with `%`."""
    return Buffer(f"%{var.name}", (), var.dtype)


def is_binding(buffer: Buffer) -> bool:
    """Whether this is no buffer of the program but a bound name."""
    return buffer.name.startswith("%")


def bound_name(buffer: Buffer) -> str:
    """The name of the variable that such a buffer stands for."""
    return buffer.name[1:]


def is_function(value: Value) -> bool:
    """Whether a value is neither a constant nor `Undef`, so that it depends on the place or on a state."""
    return not isinstance(value, (Const, Undef))


def is_condition(buffer: Buffer, value: Value) -> bool:
    """Whether a value is none, but a condition that holds of the elements."""
    return value.dtype is DType.BOOL and buffer.dtype is not DType.BOOL


def is_idle(buffer: Buffer, value: Value) -> bool:
    """Whether nothing is said of elements that could not be said of any: that they are arbitrary, or are not.

    It yields to whoever wants to leave something else there.
    """
    return isinstance(value, Undef) or says_defined(buffer, value)


def constants(contents: Contents) -> Iterator[tuple[Buffer, Const, isl.Set]]:
    """The elements that are known to hold a number or a truth, and which."""
    for (buffer, value), region in contents.items():
        if isinstance(value, Const) and not is_condition(buffer, value):
            yield buffer, value, region


def says_defined(buffer: Buffer, value: Value) -> bool:
    """Whether a value is none, but the condition that elements are not arbitrary; of truths it is the value `True`."""
    return buffer.dtype is not DType.BOOL and value.same(TRUE)


def stored(indices: tuple[Expr, ...], value: Expr) -> Value | None:
    """What `B[indices] = value` leaves there, over coordinates as far as indices are variables; None for no value."""
    if not is_function(value):
        return value
    return over_coordinates(value, indices) if node_count(value) <= MAX_NODES else None


def over_coordinates(expr: Expr, indices: tuple[Expr, ...]) -> Expr:
    """An expression where an element has these indices, with coordinates in place of the variables that are indices."""
    names: dict[Var, Expr] = {}
    for axis, index in enumerate(indices):
        if isinstance(index, Var):
            names.setdefault(index, coordinate(axis, index.dtype))
    return substitute_expr(expr, names)


def at(value: Value, indices: tuple[Expr, ...]) -> Expr | None:
    """A value at a place; None where the place is named in other dtypes than those it was stored by."""
    names: dict[Var, Expr] = {}
    for var in free_vars(value):
        if var.name.startswith("$"):
            index = indices[int(var.name[1:])]
            if index.dtype is not var.dtype:
                return None
            names[var] = index
    # An element known by its neighbours, these by theirs, ... would else have a name for each way to get there.
    return shortened(substitute_expr(value, names)) if names else value


def places(where: isl.Set, rank: int) -> isl.Set:
    """The region of the elements whose coordinates satisfy a params set."""
    region = isl.Set.from_params(where).add_dims(_SET, rank)
    for axis in range(rank):
        position = region.find_dim_by_name(_PARAM, f"${axis}")
        if position >= 0:
            region = region.equate(_PARAM, position, _SET, axis).project_out(_PARAM, position, 1)
    return region


def coordinates(region: isl.Set) -> isl.Set:
    """A region as a params set over coordinates; the inverse of `places`."""
    rank, first = region.dim(_SET), region.dim(_PARAM)
    region = region.move_dims(_PARAM, first, _SET, 0, rank)
    for axis in range(rank):
        region = region.set_dim_name(_PARAM, first + axis, f"${axis}")
    return region.params()


def touching(value: Value, rank: int, written: Mapping[Buffer, isl.Set]) -> isl.Set | None:
    """The elements at which a value reads something that is `written`; None if it reads none of these buffers."""
    found: isl.Set | None = None
    if written.keys().isdisjoint(reads(value)):
        return None
    for load in loads(value):
        if load.buffer in written:
            spot = pb.point(load.indices)
            hit = pb.always() if spot is None else spot.intersect(written[load.buffer]).params()
            region = places(hit, rank)
            found = region if found is None else found.union(region)
    return found


def read_by(value: Value, region: isl.Set) -> Iterator[tuple[Buffer, isl.Set]]:
    """What a value reads when it is evaluated at all elements of a region."""
    where = coordinates(region)
    names = [f"${axis}" for axis in range(region.dim(_SET))]
    for load in loads(value):
        spot = pb.point(load.indices)
        seen = pb.whole(len(load.indices)) if spot is None else pb.forget(spot.intersect_params(where), names)
        yield load.buffer, seen


def bounded(
    contents: Contents, stmt: Stmt, written: Iterable[Buffer], defined: Collection[Buffer], domain: isl.Set
) -> Contents:
    """What a statement leaves true of the buffers that it writes.

    That is a value that its stores write there themselves, and of numbers that elements held before, those that it
    moves them away from in one direction only. `written` are the buffers in question, `defined` those that hold nothing
    arbitrary, `domain` the values of variables.
    """
    kept: list[Contents] = []
    for (buffer, value), region in contents.items():
        if buffer not in written:
            continue
        if _writes(stmt, buffer, value):
            kept.append({(buffer, value): region})
        for side, number in bounds(buffer, value, region, contents, domain):
            claim = Binary(side, element(buffer), number)
            if is_condition(buffer, claim) and keeps(stmt, buffer, side, number, defined):
                kept.append({(buffer, claim): region})
    return joined(*kept)


def _writes(stmt: Stmt, buffer: Buffer, value: Value) -> bool:
    """Whether all that a statement stores to a buffer is the value that is known there, whatever the places are."""
    stores = [*stores_in(stmt)]
    if is_condition(buffer, value) or has_undef(value) or any(s.buffer in reads(value) for s in stores):
        return False
    told = [(at(value, s.indices), s.value) for s in stores if s.buffer == buffer]
    return all(known is not None and known.same(new) for known, new in told)


def unless(cond: Expr, contents: Contents, stmt: Stmt) -> Contents:
    """What is known after `if not cond: stmt`, whose contents these are: an element is what it is where `cond` holds.

    Of use to whoever knows it not to hold. Nothing where the statement writes what the condition reads.
    """
    places = {s.buffer: s.indices for s in stores_in(stmt)}
    if has_undef(cond) or any(load.buffer in places for load in loads(cond)):
        return {}
    found: Contents = {}
    for (buffer, value), region in contents.items():
        if buffer not in places or is_condition(buffer, value) or has_undef(value):
            continue
        own, when = itself(Load(buffer, places[buffer])), cond
        if isinstance(value, Select) and value.then.same(own):  # unless another condition holds as well
            when, value = Binary("or", cond, value.cond), value.other
        told = Select(when, own, value)
        if node_count(told) <= MAX_NODES:
            found[buffer, told] = region
    return found


def element(buffer: Buffer) -> Load:
    """Any element of a buffer."""
    return Load(buffer, tuple(coordinate(axis, DType.INT32) for axis in range(len(buffer.shape))))


def itself(load: Load) -> Load:
    """The element of a load, by its coordinates, whatever its indices are."""
    return Load(load.buffer, tuple(coordinate(axis, index.dtype) for axis, index in enumerate(load.indices)))


def bounds(
    buffer: Buffer, value: Value, region: isl.Set, contents: Contents, domain: isl.Set
) -> Iterator[tuple[Side, Const]]:
    """Numbers that what is known of elements says they are no less, or no greater, than."""
    match value:
        case Const() if not is_condition(buffer, value):  # that elements are defined is the condition `True`
            yield "ge", value
            yield "le", value
        case Binary(op="ge" | "le" as op, lhs=known, rhs=Const() as number) if known.same(element(buffer)):
            yield ("ge" if op == "ge" else "le"), number
        case Load(buffer=other) if other != buffer:
            claims = [(c, where) for (b, c), where in contents.items() if b == other and is_condition(b, c)]
            seen = dict(read_by(value, region.intersect_params(domain)))[other] if claims else None
            for claim, where in claims:
                if seen is not None and seen.is_subset(where):
                    yield from bounds(other, claim, where, {}, domain)
        case _:
            pass


def without(contents: Contents, written: Mapping[Buffer, isl.Set]) -> Contents:
    """What is still known once something may have been written."""
    out: Contents = {}
    for (buffer, value), region in contents.items():
        if buffer in written:
            region = region.subtract(written[buffer])
        hit = touching(value, len(buffer.shape), written) if is_function(value) else None
        out[buffer, value] = region if hit is None else region.subtract(hit)
    return out


def joined(*parts: Contents) -> Contents:
    """What any of several says; nothing of empty regions."""
    out: Contents = {}
    for part in parts:
        for key, region in part.items():
            out[key] = out[key].union(region) if key in out else region
    return {key: region for key, region in out.items() if not region.plain_is_empty()}


def closed(value: Value, region: isl.Set, var: Var, scope: Mapping[str, Var]) -> Value | None:
    """A value without a loop's variable: the iteration that wrote an element of `region`, as a function of the place.

    `scope` gives the variables by name. None where a place does not tell the iteration.
    """
    mentioned = free_vars(value)
    if all(v.name != var.name for v in mentioned):
        return value
    if any(v.dtype is not var.dtype for v in mentioned if v.name == var.name or v.name.startswith("$")):
        return None
    where = coordinates(region)
    position = where.find_dim_by_name(_PARAM, var.name)
    if position < 0:
        return None
    iterations = isl.Set.from_params(where).move_dims(_SET, 0, _PARAM, position, 1)
    if iterations.is_empty() or not isl.Map.from_range(iterations).is_single_valued():
        return None
    function = iterations.dim_min(0)
    known = {**scope, **{f"${axis}": coordinate(axis, var.dtype) for axis in range(region.dim(_SET))}}
    if any(name not in known or known[name].name != name for name in pb.variables(function.domain())):
        return None
    iteration = readback.expression(function, known, pb.forget(where, (var.name,)))
    if iteration.dtype is not var.dtype:
        return None
    found = substitute_expr(value, {var: iteration})
    return found if node_count(found) <= MAX_NODES else None


@lru_cache(maxsize=4096)  # asked of each value at each statement that follows
def reads(value: Value) -> frozenset[Buffer]:
    """The buffers that a value reads."""
    return frozenset(load.buffer for load in loads(value))


@lru_cache(maxsize=4096)
def names(value: Value) -> frozenset[Buffer]:
    """The bindings of the variables of a value."""
    return frozenset(map(binding, free_vars(value)))


def of_store(store: Store, spot: isl.Set) -> Contents:
    """What is known right after a store, of which `spot` is the place."""
    value = stored(store.indices, store.value)
    if value is None:
        return {}
    own = touching(value, len(store.indices), {store.buffer: spot}) if is_function(value) else None
    return {(store.buffer, value): spot if own is None else spot.subtract(own)}


def flattened(loop: For) -> For | None:
    """A nest that stores at `i * w + j` as one loop over these places `f`, where i is `f // w` and j is `f % w`.

    A place tells the iteration then, also where w is no number, which sets do not express. None for other nests.
    """
    inner = loop.body
    inner = (flattened(inner) or inner) if isinstance(inner, For) else inner
    if not isinstance(inner, For) or isinstance(inner.extent, Const):
        return None
    i, j, width = loop.var, inner.var, inner.extent
    same = len({e.dtype for e in (i, j, width, loop.extent)}) == 1
    open_ends = has_loads(width) or has_loads(loop.extent) or i in free_vars(width)
    if not same or open_ends or not (is_const(loop.start, 0) and is_const(inner.start, 0)):
        return None
    if not all(isinstance(s, Store | Seq | If) for s in walk(inner.body)):
        return None
    flat = Var(f"{i.name}.{j.name}", i.dtype)

    def placed(stmt: Stmt) -> Stmt:
        indices = _flat(stmt.indices, i, j, width, flat) if isinstance(stmt, Store) else None
        return replace(stmt, indices=indices) if isinstance(stmt, Store) and indices is not None else stmt

    body = map_stmt(inner.body, on_stmt=placed)
    if any(flat not in free_vars(*s.indices) for s in stores_in(body)):
        return None
    names = {i: Binary("floordiv", flat, width), j: Binary("floormod", flat, width)}
    return replace(loop, var=flat, extent=Binary("mul", loop.extent, width), body=substitute(body, names))


def _flat(indices: tuple[Expr, ...], i: Var, j: Var, width: Expr, flat: Var) -> tuple[Expr, ...] | None:
    """Indices of which one is `i * width + j` times something, with `flat` in its place; None for others."""
    moved = [k for k, index in enumerate(indices) if free_vars(index) & {i, j}]
    terms = [*_monomials(indices[moved[0]])] if len(moved) == 1 else []
    own = [[t for t in terms if v in free_vars(t)] for v in (i, j)]
    if [len(found) for found in own] != [1, 1] or own[0][0] is own[1][0]:
        return None
    outer, stride = ([f for f in factors(found[0]) if f != v] for found, v in zip(own, (i, j), strict=True))
    if free_vars(*outer, *stride) & {i, j} or Counter(outer) != Counter([*stride, *factors(width)]):
        return None
    rest = [t for t in terms if t is not own[0][0] and t is not own[1][0]]
    index = reduce(lambda a, b: Binary("add", a, b), [*rest, reduce(lambda a, b: Binary("mul", a, b), stride, flat)])
    return (*indices[: moved[0]], index, *indices[moved[0] + 1 :])


def _monomials(expr: Expr) -> Iterator[Expr]:
    """The products that an expression is the sum of, without brackets."""
    match expr:
        case Binary(op="add", lhs=a, rhs=b):
            yield from (*_monomials(a), *_monomials(b))
        case Binary(op="mul", lhs=a, rhs=b):
            yield from (x if is_const(y, 1) else Binary("mul", x, y) for x in _monomials(a) for y in _monomials(b))
        case _:
            yield expr


def of_choice(store: Store, spot: isl.Set) -> Contents:
    """The numbers that are known right after a store of one of several values, where conditions on places pick them."""
    found: Contents = {}
    for value, where in _numbers(store.value, pb.always()):
        region = spot.intersect_params(where)
        key = store.buffer, value
        found[key] = found[key].union(region) if key in found else region
    return found


def _numbers(value: Expr, where: isl.Set) -> Iterator[tuple[Const | Undef, isl.Set]]:
    """The numbers among what a choice may be, and when it is surely that."""
    if isinstance(value, (Const, Undef)):
        yield value, where
    elif isinstance(value, Select):
        yield from _numbers(value.then, where.intersect(pb.condition(value.cond).must))
        yield from _numbers(value.other, where.intersect(pb.condition(Unary("not", value.cond)).must))
