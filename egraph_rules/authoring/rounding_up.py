"""Nests lengthened to whole tiles: their buffers have room for that, or are copied to local ones that have.

In the iterations that are added, a step reads padding that leaves its element as it is, or writes an element that
nobody reads. Both are asked of the context, whether the padding was there or is that of a copy made here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat
from ir.analysis.conditions import conjunction
from ir.analysis.neutral import neutral_to
from ir.dtypes import DType
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Load,
    PrimFunc,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.polynomials import Polynomial, polynomial, summed, written
from ir.program.edit import nest, plus
from ir.transform.calls.tensorize import covered, perfect_nest, tails
from ir.traverse import free_vars, loads, map_expr, reads, walk

Access = tuple[Buffer, tuple[Expr, ...]]


class Longer(Struct, frozen=True):
    """A nest of whole tiles, the place where it stands, and what makes of it a statement that equals the given one."""

    loop: For
    here: Here
    around: Callable[[Stmt], Stmt]


def rounded_up(stmt: For, sizes: Mapping[Var, int], here: Here) -> Iterator[Longer]:
    """A nest of one store with the extents of loops rounded up to multiples, in the ways in which that does the same.

    What would leave its buffer is copied; if that is not enough, all is.
    """
    loops, store = perfect_nest(stmt)
    if not isinstance(store, Store) or not all(
        isinstance(o.extent, Const) and isinstance(o.start, Const) and o.extent.value > 0 for o in loops
    ):
        return
    longer = _rounded(loops, sizes)
    accesses = _accesses(store)
    inside, beyond = _place(here, loops), _place(here, longer)
    alone = [b for b, _ in accesses].count(store.buffer) == 1
    if not alone or inside is None or beyond is None or not all(inside.in_bounds(*a) for a in accesses):
        return
    leaving = [a for a in accesses if not beyond.in_bounds(*a)]
    for copied in (leaving, accesses) if leaving != accesses else (accesses,):
        found = _with_copies(stmt, store, loops, longer, copied, here)
        if found is not None:
            yield found
            return


def room_for_tiles(func: PrimFunc, instruction: PrimFunc) -> Iterator[Mapping[Buffer, tuple[int, ...]]]:
    """The extents that buffers of a function need so that a nest of it may be lengthened to tiles of an instruction."""
    for stmt in walk(func.body):
        for single in alone(stmt) if isinstance(stmt, For) else ():
            loops, store = perfect_nest(single)
            for sizes in tails(single, instruction):
                assert isinstance(store, Store)
                yield _reach(store, _rounded(loops, sizes))


def at_the_least(stmt: For, instruction: PrimFunc, undefined: Collection[str]) -> Iterator[Stmt]:
    """A nest of one statement as calls on tiles over copies of what has no room or is `undefined` there.

    That is for prices alone: whether it does the same is not asked.
    """
    loops, store = perfect_nest(stmt)
    for sizes, calls in covered(stmt, instruction):
        assert isinstance(store, Store)
        longer = _rounded(loops, sizes)
        room = _reach(store, longer)
        which = [a for a in _accesses(store) if a[0].name in undefined or _has_no_room(a[0], room.get(a[0], ()))]
        found = _copied(store, loops, longer, which, DEFAULT_FLOATS, 0)
        if found is not None:
            yield found.around(calls)


def _has_no_room(buffer: Buffer, extents: Sequence[int]) -> bool:
    return any(isinstance(n, Const) and m > n.value for m, n in zip(extents, buffer.shape, strict=False))


def _rounded(loops: Sequence[For], sizes: Mapping[Var, int]) -> list[For]:
    return [replace(o, extent=_multiple(o.extent, sizes.get(o.var, 1))) for o in loops]


def _reach(store: Store, loops: Sequence[For]) -> dict[Buffer, tuple[int, ...]]:
    """The extents of the boxes from the first elements of buffers to the last that a nest reaches."""
    found: dict[Buffer, tuple[int, ...]] = {}
    for buffer, indices in _accesses(store):
        ranges = [_range(polynomial(index), loops) for index in indices]
        ends = [r[1] + 1 for r in ranges if r is not None]
        if len(ends) == len(indices):
            found[buffer] = tuple(map(max, ends, found.get(buffer, ends)))
    return found


def alone(loop: For) -> Iterator[For]:
    """The nests of one statement each that a nest may be distributed to, whatever dependences say."""
    loops, body = perfect_nest(loop)
    for part in flat(body):
        new = nest(loops, part)
        if isinstance(new, For):
            yield new


def _multiple(extent: Expr, size: int) -> Const:
    assert isinstance(extent, Const)
    return const(-(-int(extent.value) // size) * size, extent.dtype)


def _accesses(store: Store) -> list[Access]:
    """What a store writes, and then what else it reads."""
    found: dict[Access, None] = {(store.buffer, store.indices): None}
    for load in loads(store.value):
        found.setdefault((load.buffer, load.indices))
    return list(found)


def _place(here: Here, loops: Sequence[For]) -> Here | None:
    """The place in a nest as far as variables are concerned."""
    place: Here | None = here
    for loop in loops:
        place = None if place is None else place.iteration(loop)
    return place


def _with_copies(
    stmt: For, store: Store, loops: Sequence[For], longer: Sequence[For], which: Collection[Access], here: Here
) -> Longer | None:
    """The longer nest over copies of some accesses, if its new iterations do nothing that anybody sees."""
    copied = _copied(store, loops, longer, which, here.contexts.floats, here.contexts.serial(stmt))
    if copied is None:
        return None
    place, loop = here, copied.loop
    for copy in copied.copies:
        place = place.within(Alloc(copy.local, copied.around(loop)))
    for k, part in enumerate(parts := [*copied.first, loop, *copied.last]):
        rest = seq(*parts[k + 1 :]) if k + 1 < len(parts) else None
        before, after = (place, place) if rest is None else place.between(part, rest)
        if part is loop:
            return Longer(loop, before, copied.around) if _only_adds_nothing(loop, loops, before) else None
        place = after
    return None


class _Copied(Struct, frozen=True):
    """A longer nest over copies, and the nests that copy before it and after it."""

    copies: Sequence[_Copy]
    first: Sequence[Stmt]
    loop: For
    last: Sequence[Stmt]

    def around(self, new: Stmt) -> Stmt:
        """What a statement in the place of the nest needs around it."""
        whole = seq(*self.first, new, *self.last)
        return reduce(lambda body, c: Alloc(c.local, body), reversed(self.copies), whole)


def _copied(
    store: Store, loops: Sequence[For], longer: Sequence[For], which: Collection[Access], floats: Floats, serial: int
) -> _Copied | None:
    """A longer nest over copies of some accesses, with padding that adds nothing; `serial` is for their names."""
    copies: list[_Copy] = []
    for buffer, indices in which:
        copy = _copy_of(buffer, indices, loops, longer, f"{buffer.name}.tiles.{serial}.{len(copies)}")
        if copy is None:
            return None
        copies.append(copy)
    pads = dict(neutral_to(store, floats))
    first = [c.fill(pads.get(c.buffer, Undef(c.buffer.dtype))) for c in copies if _is_read(store, c)]
    last = [c.back() for c in copies if c.buffer == store.buffer]
    loop = nest(longer, _over(store, copies))
    assert isinstance(loop, For)
    return _Copied(copies, first, loop, last)


def _is_read(store: Store, copy: _Copy) -> bool:
    """Whether a nest needs what a copy is of: all but an element that is stored to and not read, each just once."""
    if copy.buffer != store.buffer:
        return True
    return reads(store.buffer, store.value) or not copy.is_whole


def _over(store: Store, copies: Sequence[_Copy]) -> Store:
    """A store by way of copies."""
    there = {(c.buffer, c.indices): c for c in copies}

    def on_load(expr: Expr) -> Expr:
        copy = there.get((expr.buffer, expr.indices)) if isinstance(expr, Load) else None
        return expr if copy is None else Load(copy.local, copy.places)

    copy, value = there.get((store.buffer, store.indices)), map_expr(store.value, on_load)
    return replace(store, value=value) if copy is None else Store(copy.local, copy.places, value, store.span)


def _only_adds_nothing(loop: For, loops: Sequence[For], here: Here) -> bool:
    """Whether the iterations of a longer nest that are not in a shorter one change nothing that anybody looks at.

    An iteration reads of the buffer that it stores to no element but that one. So it is enough if what is added along
    each loop leaves its elements as they are, or has other elements than the shorter nest, which nobody reads after it.
    """
    longer, store = perfect_nest(loop)
    assert isinstance(store, Store)
    place = here
    for inner in longer:
        inside = place.inside(inner)
        if inside is None:
            return False
        place = inside
    for old, new in zip(loops, longer, strict=True):
        if _value(old.extent) == _value(new.extent):
            continue
        beyond = Binary("ge", new.var, const(_value(old.start) + _value(old.extent), old.var.dtype))
        added = place.under(beyond, True)
        if added is None:
            continue
        if not added.harmless(store) or not (added.adds_nothing(store) or _is_dead(store, beyond, loops, longer, here)):
            return False
    return True


def _is_dead(store: Store, added: Expr, loops: Sequence[For], longer: Sequence[For], here: Here) -> bool:
    """Whether iterations with a condition store to elements that the shorter nest does not have, nor any reader."""
    live = here.live.get(store.buffer)

    def elements(nest: Sequence[For]) -> isl.Set | None:
        spot = pb.point(store.indices)
        for loop in nest:
            spot = (
                None if spot is None else spot.intersect_params(pb.loop_domain(loop.var, loop.start, loop.extent).may)
            )
        return spot

    def apart() -> bool:
        kept, all_of_them, names = elements(loops), elements(longer), [loop.var.name for loop in loops]
        if live is None or kept is None or all_of_them is None:
            return False
        new = pb.forget(all_of_them.intersect_params(pb.condition(added).may), names)
        read = pb.forget(kept, names).union(live.intersect_params(here.domain))
        return new.is_disjoint(read)

    return pb.within_budget(apart, False)


# Copies ---------------------------------------------------------------------------------------------------------------


class _Copy(Struct, frozen=True):
    """A local buffer for the box of elements that one access of a nest reaches.

    `places` is that access to it; at `loops`, the element `origin` of the buffer lies. Of each loop, `used` are as many
    iterations as there are elements that the nest itself reaches; the others are padding.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    local: Buffer
    places: tuple[Expr, ...]
    loops: tuple[For, ...]
    origin: tuple[Expr, ...]
    used: tuple[int, ...]
    is_whole: bool  # whether the nest reaches each element of the box once

    def fill(self, pad: Expr) -> Stmt:
        """Loops that copy the elements in, and `pad` into the padding; none where that may hold anything."""
        there = tuple(loop.var for loop in self.loops)
        copied = Store(self.local, there, Load(self.buffer, self.origin))
        if isinstance(pad, Undef):
            return nest(self.filled, copied)
        ends = [(o.var, n) for o, n in zip(self.loops, self.used, strict=True) if _value(o.extent) > n]
        tests: list[Expr] = [Binary("lt", var, const(n, var.dtype)) for var, n in ends]
        padded = Store(self.local, there, pad)
        whole = conjunction(tests) if tests else None
        return nest(self.loops, copied if whole is None else If(whole, copied, padded))

    def back(self) -> Stmt:
        """Loops that copy the elements back."""
        there = tuple(loop.var for loop in self.loops)
        return nest(self.filled, Store(self.buffer, self.origin, Load(self.local, there)))

    @property
    def filled(self) -> list[For]:
        """Loops over what is no padding."""
        return [replace(o, extent=const(n, o.extent.dtype)) for o, n in zip(self.loops, self.used, strict=True)]


def _value(extent: Expr) -> int:
    assert isinstance(extent, Const)
    return int(extent.value)


def _copy_of(
    buffer: Buffer, indices: tuple[Expr, ...], loops: Sequence[For], longer: Sequence[For], name: str
) -> _Copy | None:
    """A copy for an access whose indices are sums of multiples of loop variables and what does not change."""
    axes: list[tuple[For, Expr, int]] = []  # of the box: its loop, the nest's place in it, and how much is used
    origin: list[Expr] = []
    whole: set[Var] = set()
    for index in indices:
        inner, rest = _parts(polynomial(index), loops)
        if not inner:
            origin.append(index)
            continue
        now, then = _range(inner, loops), _range(inner, longer)
        if now is None or then is None or now[0] != then[0]:
            return None
        base, dtype = now[0], index.dtype
        var = Var(f"ax{len(axes)}", dtype)
        axis = For(var, const(0, dtype), const(then[1] - base + 1, dtype), SKIP)
        axes.append((axis, written(summed([*inner.items(), ((), -base)]), index), now[1] - base + 1))
        origin.append(plus(written(summed([*rest.items(), ((), base)]), index), var))
        whole |= {axes[-1][1]} if isinstance(axes[-1][1], Var) else set()
    if not axes:
        return None
    over, places, used = zip(*axes, strict=True)
    shape = tuple(const(_value(o.extent), DType.INT32) for o in over)
    local = Buffer(name, shape, buffer.dtype)
    return _Copy(buffer, indices, local, places, over, tuple(origin), used, len(whole) == len(axes))


def _parts(form: Polynomial, loops: Sequence[For]) -> tuple[Polynomial, Polynomial]:
    """The terms of a sum with variables of loops, and those without."""
    own = {loop.var for loop in loops}
    inner = {factors: n for factors, n in form.items() if any(not own.isdisjoint(free_vars(f)) for f in factors)}
    return inner, {factors: n for factors, n in form.items() if factors not in inner}


def _range(inner: Polynomial, loops: Sequence[For]) -> tuple[int, int] | None:
    """The least and greatest value of a sum of multiples of the variables of loops; None if it is something else."""
    extents = {o.var: (_value(o.start), _value(o.start) + _value(o.extent) - 1) for o in loops}
    low = high = 0
    for factors, n in inner.items():
        match factors:
            case ():
                ends = [n]
            case (Var() as var,) if var in extents:
                ends = [n * at for at in extents[var]]
            case _:
                return None
        low, high = low + min(ends), high + max(ends)
    return low, high
