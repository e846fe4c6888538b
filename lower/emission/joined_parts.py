"""Parts that make up an array are joined, in place of being stored into it one after the other.

Each store to a part is a pass of its own, after one that makes what it is stored to; joined parts take one pass.
Measured on CPU, arrays of 512 x 512 in two halves, with borders, and of three columns take 0.6 to 1.0 times as long so,
one of 2048 x 2048 with borders 0.45.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import pairwise, product
from math import prod
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from ir.naming import fresh
from lower.program.build import ALL, NEW_AXIS, Arg, as_expr, assign, between, call, method, subscript, without_trailing
from lower.program.masked_stores import positions
from lower.program.nodes import (
    Assign,
    Comprehension,
    JaxExpr,
    JaxStmt,
    Lambda,
    Literal,
    Name,
    Slice,
    Subscript,
    children,
    names_bound,
    names_read,
    rewritten,
)

MOST = 16  # parts that are joined: XLA looks for the part of each element among them


class Span(Struct, frozen=True):
    """The positions of a part along one dimension of an array of `size`; a `point` has no dimension for its one."""

    start: int
    stop: int
    size: int
    point: bool = False


class Part(Struct, frozen=True):
    """What a store to a part of an array stores, with its shape and `dtype`: code, or parts that are joined along
    `axis`. If all of it is one `number`, that is said. `shape` is that of the array, if the part is one of a view."""

    spans: tuple[Span, ...]
    dtype: JaxExpr
    code: JaxExpr | None
    number: JaxExpr | None = None
    shape: tuple[JaxExpr, ...] = ()
    parts: tuple[Part, ...] = ()
    axis: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the array."""
        return all((s.start, s.stop, s.point) == (0, s.size, False) for s in self.spans)

    def written(self) -> JaxExpr:
        """The code of it."""
        if self.code is not None:
            return self.code
        numbers = {p.number for p in self.parts}
        if len(numbers) == 1 and None not in numbers:
            return _full([s for s in self.spans if not s.point], self.parts[0].number, self.dtype)
        at = sum(not s.point for s in self.spans[: self.axis])
        inner, around = _padded(self.parts)
        code = inner[0].wide(self.axis, at) if len(inner) == 1 else _side_by_side(inner, self.axis, at)
        if around is None:
            return code
        first, last = inner[0].spans[self.axis].start, inner[-1].spans[self.axis].stop
        span = self.spans[self.axis]
        pads = [(0, 0) for s in self.spans if not s.point]
        pads[at] = first - span.start, span.stop - last
        return padded(code, pads, around)

    def amid(self, number: JaxExpr) -> JaxExpr:
        """The array that holds this part, and one number around it."""
        points = tuple(NEW_AXIS if s.point else ALL for s in self.spans)
        code = subscript(self.written(), *points) if NEW_AXIS in points else self.written()
        return padded(code, [(s.start, s.size - s.stop) for s in self.spans], number)

    def wide(self, axis: int, at: int) -> JaxExpr:
        """The code with a dimension for an axis, where it is a point of it."""
        if not self.spans[axis].point:
            return self.written()
        if self.number is not None:
            return _full([s for k, s in enumerate(self.spans) if k == axis or not s.point], self.number, self.dtype)
        return subscript(self.written(), *[ALL] * at, NEW_AXIS)


def _full(spans: Sequence[Span], number: JaxExpr | None, dtype: JaxExpr) -> JaxExpr:
    assert number is not None
    return call("jnp.full", tuple(Literal(s.stop - s.start) for s in spans), number, dtype)


def padded(code: JaxExpr, pads: Sequence[tuple[int, int]], number: JaxExpr) -> JaxExpr:
    """An array with a number before and after its elements."""
    value = {} if number in (Literal(0), Literal(0.0), Literal(False)) else {"constant_values": number}
    return call("jnp.pad", code, tuple(pads), **value) if any(map(any, pads)) else code


def _padded(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], JaxExpr | None]:
    """Parts without those at the ends that are one number, and that number."""
    for number in dict.fromkeys(p.number for p in (parts[-1], parts[0]) if p.number is not None):
        others = [k for k, p in enumerate(parts) if p.number != number]
        if others:
            return parts[others[0] : others[-1] + 1], number
    return parts, None


def _side_by_side(parts: Sequence[Part], axis: int, at: int) -> JaxExpr:
    where: dict[str, Arg] = {"axis": at} if at else {}
    if all(p.number is not None and all(s.point for s in p.spans) for p in parts):
        return call("jnp.array", tuple(p.number for p in parts), parts[0].dtype)
    if all(p.spans[axis].point for p in parts):
        return call("jnp.stack", tuple(p.written() for p in parts), **where)
    return call("jnp.concatenate", tuple(p.wide(axis, at) for p in parts), **where)


class _Stored(Struct, frozen=True):
    """A part that a statement stores, by the statement's number, and the names that it is made of, but for the array's
    own. `own` are the parts of the array that it is made of; None if these are not known. `before` gives names to what
    other stores of a run are made of too; `others` are statements that store it too."""

    at: int
    part: Part
    reads: frozenset[str]
    own: tuple[tuple[Span, ...], ...] | None = ()
    before: tuple[JaxStmt, ...] = ()
    others: tuple[int, ...] = ()

    def may_follow(self, run: Sequence[_Stored]) -> bool:
        """Whether it is made of nothing that stores of a run change."""
        if not run or self.own == ():
            return True
        same = self.own is not None and _of_one_array([self.part, *(s.part for s in run)])
        return same and all(_apart(own, s.part.spans) for own in self.own or () for s in run)


def joined(
    stmts: Sequence[JaxStmt],
    parts: Mapping[JaxStmt, Part],
    is_kept: Callable[[str, int, float], bool] | None = None,
) -> list[JaxStmt]:
    """Statements of which those that store the parts of an array, if nothing reads it in between, are one.

    `parts` are those that statements store; one may be all of an array, of which others then leave a rest. What several
    of them read is in memory where `is_kept` says so: the compiler works it out for each of them.
    """
    found = list(stmts)
    runs: dict[str, list[_Stored]] = {}  # for each array the last stores to it that nothing has looked at yet
    gone: set[int] = set()
    made: dict[int, Part] = {}
    named: dict[int, list[JaxStmt]] = {}  # what stands before a statement then
    taken, given = {n for stmt in stmts for n in (*names_bound(stmt), *names_read(stmt))}, set[str]()

    def make(name: str, run: Sequence[_Stored], whole: Part | None) -> bool:
        if whole is not None and _has_all_names(run, given):
            code, shape = whole.written(), run[-1].part.shape
            found[run[-1].at] = assign(name, method(code, "reshape", *shape) if shape else code)
            gone.update({n for s in run for n in (s.at, *s.others)} - {run[-1].at})
            named[run[-1].at] = [stmt for s in run for stmt in s.before]
            made[run[-1].at] = whole
            return True
        return False

    for k, stmt in enumerate(stmts):
        name, stored = _stored(k, stmt, parts)
        if stored is not None and name in runs and not stored.may_follow(runs[name]):
            runs[name], stored = _forwarded(runs[name], stored, name, taken, given)
        bound, read = names_bound(stmt), names_read(stmt) if stored is None else stored.reads
        for other, run in list(runs.items()):
            mine = stored is not None and other == name
            if other in read or (other in bound and not mine) or (stored and mine and not stored.may_follow(run)):
                make(other, run, _over([s.part for s in run]))
                del runs[other]
            else:
                runs[other] = _as_they_were(run, bound)
        if stored is None:
            continue
        before = () if stored.part.is_whole else runs.get(name, ())[-MOST:]
        run = runs[name] = [*before, stored]
        if any(make(name, run[first:], _joined([s.part for s in run[first:]])) for first in range(len(run) - 1)):
            del runs[name]
    for name, run in runs.items():
        make(name, run, _over([s.part for s in run]))
    if is_kept is not None:
        for k, whole in made.items():
            _keep_shared(found, k, whole, gone, is_kept)
    return [stmt for k, last in enumerate(found) if k not in gone for stmt in (*named.get(k, ()), last)]


def _forwarded(
    run: list[_Stored], last: _Stored, name: str, taken: set[str], given: set[str]
) -> tuple[list[_Stored], _Stored]:
    """A run, and the next store made of what that stores in place of parts of the array, if each part that it reads is
    of one that stores of the run make together, or of none; as they were where it is not.

    Names that are `given` here are none of those that are `taken`, and are from then on."""
    if last.own is None or last.part.shape or not _of_one_array([last.part, *(s.part for s in run)]):
        return run, last
    now, sizes = list(run), tuple(s.size for s in last.part.spans)
    reads, fits = set(last.reads), True

    def one(e: JaxExpr) -> JaxExpr | None:
        nonlocal now, fits
        if not (isinstance(e, Subscript) and e.value == Name(name)):
            return None
        spans = _spans(e.items, sizes)
        under = [] if spans is None else [s for s in now if not _apart(spans, s.part.spans)]
        if spans is None or not under:
            return e
        part = _as_one([s.part for s in under])
        strided = any(isinstance(i, Slice) and i.step is not None for i in e.items)
        if part is None or strided or not (_within(spans, part.spans) and _in_a_row(under, now)):
            fits = False
            return e
        joint = _joint(under, part, name, taken, given)
        now = [joint if s is under[-1] else s for s in now if s is under[-1] or s not in under]
        reads.update(joint.reads)
        assert joint.part.code is not None
        return _relative(joint.part.code, spans, joint.part.spans)

    assert last.part.code is not None
    code = rewritten(last.part.code, one)
    if not fits:
        return run, last
    part = replace(last.part, code=code)
    return now, replace(last, part=part, reads=frozenset(reads), own=_own(code, name, last.part))


def _joint(stores: Sequence[_Stored], part: Part, name: str, taken: set[str], given: set[str]) -> _Stored:
    """Stores as one of a part of an array that they make together, which has a name."""
    code, before = part.code, tuple(stmt for s in stores for stmt in s.before)
    if not isinstance(code, Name):
        code = Name(fresh(f"{name}_part", taken, first=2))
        given.add(code.id)
        before = (*before, assign(code.id, part.written()))
    reads = frozenset(n for s in stores for n in s.reads)
    own = tuple(o for s in stores for o in s.own or ())
    others = tuple(n for s in stores for n in (s.at, *s.others))
    return _Stored(stores[-1].at, replace(part, code=code, parts=()), reads, own, before, others)


def _in_a_row(stores: Sequence[_Stored], run: Sequence[_Stored]) -> bool:
    """Whether stores of a run may come right after each other, those between them before."""
    between_them = [s for s in run[run.index(stores[0]) : run.index(stores[-1])] if s not in stores]
    return all(_commute(s, other) for s in between_them for other in stores)


def _commute(one: _Stored, other: _Stored) -> bool:
    """Whether two stores to an array may come in any order."""
    if one.own is None or other.own is None:
        return False
    touched = [(one.part.spans, s) for s in (other.part.spans, *other.own)]
    touched += [(other.part.spans, s) for s in one.own]
    return all(_apart(a, b) for a, b in touched)


def _relative(code: JaxExpr, spans: Sequence[Span], of: Sequence[Span]) -> JaxExpr:
    """Spans of an array, as a part of the part of it that lies at others."""
    items: list[Arg] = []
    for s, o in zip(spans, of, strict=True):
        low, stop = s.start - o.start, s.stop - o.start
        if o.point:
            items += [] if s.point else [NEW_AXIS]
        else:
            items.append(low if s.point else between(low or None, stop if s.stop < o.stop else None))
    kept = without_trailing([as_expr(i) for i in items])
    return subscript(code, *kept) if kept else code


def _within(spans: Sequence[Span], others: Sequence[Span]) -> bool:
    return all(o.start <= s.start and s.stop <= o.stop for s, o in zip(spans, others, strict=True))


def _has_all_names(run: Sequence[_Stored], given: Set[str]) -> bool:
    """Whether what stores of a run are made of is named by these."""
    named = {n for s in run for stmt in s.before for n in names_bound(stmt)}
    return all(names_read(s.part.code) & given <= named for s in run if s.part.code is not None)


def _keep_shared(
    found: list[JaxStmt], at: int, whole: Part, gone: Set[int], is_kept: Callable[[str, int, float], bool]
) -> None:
    """Keep in memory what the statements before make that several parts of an array read, and nobody else.

    What others read too the compiler does not work out again for each of them, as far as that is dear.
    """
    read = Counter(name for p in whole.parts if p.code is not None for name in names_read(p.code))
    elements = float(prod(s.size for d, s in enumerate(whole.spans) if d != whole.axis))
    for name, times in sorted(read.items()):
        makers = [k for k, stmt in enumerate(found[:at]) if name in names_bound(stmt)]
        stmt = found[makers[-1]] if makers else None
        if times < 2 or not isinstance(stmt, Assign) or stmt.target != Name(name):
            continue
        alone = not any(name in names_read(s) for k, s in enumerate(found) if k > makers[-1] and k not in {at, *gone})
        if alone and is_kept(name, times, elements):
            found[makers[-1]] = assign(name, call("kept", stmt.value))


def _stored(at: int, stmt: JaxStmt, parts: Mapping[JaxStmt, Part]) -> tuple[str, _Stored | None]:
    """The array that a statement stores a part to."""
    part = parts.get(stmt) if isinstance(stmt, Assign) else None
    if part is None or not isinstance(stmt, Assign) or not isinstance(stmt.target, Name) or part.code is None:
        return "", None
    name = stmt.target.id
    return name, _Stored(at, part, names_read(part.code) - {name}, _own(part.code, name, part))


def _own(code: JaxExpr, name: str, part: Part) -> tuple[tuple[Span, ...], ...] | None:
    """The parts of an array that an expression reads, seen as a part of it is; None where it reads it otherwise."""
    if name not in names_read(code):
        return ()
    sizes = tuple(s.size for s in part.spans)
    view = method(Name(name), "reshape", *sizes) if part.shape else Name(name)
    if isinstance(code, Subscript) and code.value == view:
        spans = _spans(code.items, sizes)
        return None if spans is None or any(name in names_read(i) for i in code.items) else (spans,)
    if isinstance(code, Name | Lambda | Comprehension):
        return None
    inner = [_own(cast(JaxExpr, e), name, part) for e in children(code)]
    return None if None in inner else tuple(spans for found in inner for spans in found or ())


def _spans(items: Sequence[JaxExpr], sizes: Sequence[int]) -> tuple[Span, ...] | None:
    """The positions that subscripts take of each dimension at most, where those are numbers."""
    found: list[Span] = []
    if len(items) > len(sizes):
        return None
    for item, size in zip((*items, *[ALL] * (len(sizes) - len(items))), sizes, strict=True):
        taken = positions(item)
        if taken is None:
            return None
        found.append(Span(taken[0], int(min(taken[1], size)), size, point=isinstance(item, Literal)))
    return tuple(found)


def _apart(one: Sequence[Span], other: Sequence[Span]) -> bool:
    """Whether two parts of an array have no element in common."""
    return any(a.stop <= b.start or b.stop <= a.start for a, b in zip(one, other, strict=True))


def _as_they_were(run: Sequence[_Stored], bound: Set[str]) -> list[_Stored]:
    """The stores behind the last one of what is something else from here on: all that may still be moved.

    Names that they read do not have the array's own among them: stores of a run are made of what it was before.
    """
    last = max((n for n, s in enumerate(run) if s.reads & bound), default=-1)
    return list(run[last + 1 :])


def _of_one_array(parts: Sequence[Part]) -> bool:
    """Whether parts are seen in one way: an array may be stored to through several views of it."""
    return len({(p.shape, tuple(s.size for s in p.spans)) for p in parts}) == 1


def _joined(parts: Sequence[Part]) -> Part | None:
    """Parts as the whole array; None if they are not all of it, each element once."""
    if not _of_one_array(parts):
        return None
    if sum(prod(s.stop - s.start for s in p.spans) for p in parts) != prod(s.size for s in parts[0].spans):
        return None
    whole = _as_one(parts)
    return whole if whole is not None and whole.is_whole else None


def _as_one(parts: Sequence[Part]) -> Part | None:
    """Parts as one; None if they do not fill one, each element once."""
    found = list(parts)
    while len(found) > 1:
        rank = len(found[0].spans)
        fewer = next((f for d in reversed(range(rank)) if len(f := _along(found, d)) < len(found)), None)
        if fewer is None:
            return None
        found = fewer
    return found[0]


def _over(parts: Sequence[Part]) -> Part | None:
    """Parts and, where none of them is, the number that the first one has all over; None if that is most of it."""
    if len(parts) < 3 or not parts[0].is_whole or parts[0].number is None or not _of_one_array(parts):
        return None
    base, *rest = parts
    cuts = [
        sorted({0, s.size, *(n for p in rest for n in (p.spans[d].start, p.spans[d].stop))})
        for d, s in enumerate(base.spans)
    ]
    points = [any(p.spans[d].point for p in rest) for d in range(len(base.spans))]
    if prod(len(c) - 1 for c in cuts) > MOST:
        return None
    left: list[Part] = []
    for cell in product(*map(pairwise, cuts)):
        if not any(
            all(s.start <= low and high <= s.stop for s, (low, high) in zip(p.spans, cell, strict=True)) for p in rest
        ):
            spans = tuple(
                Span(low, high, s.size, point and high - low == 1)
                for s, (low, high), point in zip(base.spans, cell, points, strict=True)
            )
            sizes = [s for s in spans if not s.point]
            left.append(replace(base, spans=spans, code=_full(sizes, base.number, base.dtype)))
    most = prod(s.size for s in base.spans) / 2
    return _joined([*rest, *left]) if sum(prod(s.stop - s.start for s in p.spans) for p in left) <= most else None


def _along(parts: Sequence[Part], axis: int) -> list[Part]:
    """Parts of which those that follow each other along an axis, and are the same along others, are one."""
    alike: dict[tuple[Span, ...], list[Part]] = {}
    for part in parts:
        alike.setdefault((*part.spans[:axis], *part.spans[axis + 1 :]), []).append(part)
    found: list[Part] = []
    for group in alike.values():
        group.sort(key=lambda p: p.spans[axis].start)
        follow = all(a.spans[axis].stop == b.spans[axis].start for a, b in pairwise(group))
        found += [_one(group, axis)] if len(group) > 1 and follow else group
    return found


def _one(group: Sequence[Part], axis: int) -> Part:
    spans = list(group[0].spans)
    spans[axis] = replace(spans[axis], stop=group[-1].spans[axis].stop, point=False)
    return Part(tuple(spans), group[0].dtype, None, parts=tuple(group), axis=axis)
