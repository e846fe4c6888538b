"""Buffers that need not exist: what is read from them is known where it is read.

That a load equals the value known at its place is no rule but what contexts say of every load. An element is computed
again where that costs less than to load it, expression by expression; that a buffer goes pays only once no load of it
is left, and so is proposed for all of them together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial, reduce
from typing import cast

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite
from egraph_rules.contexts.context import IMPOSSIBLE
from egraph_rules.contexts.repeated import Repeated
from egraph_rules.cost.prices import accumulates
from egraph_rules.cost.target import CPU
from egraph_rules.cost.whole import FUSED
from egraph_rules.cost.worked_out_again import (
    PRICES,
    dearest_choice,
    hands_on,
    may_be_cheaper,
    of_open_extents,
    operations_on_values,
)
from egraph_rules.rules.affine import without_quotients
from egraph_rules.rules.statements import chained, chained_choice
from ir.analysis import contents as held
from ir.analysis.contents import reads
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Block,
    Buffer,
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
    seq,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.program.forms import with_buffers
from ir.transform.storage.contract import trimmed
from ir.transform.storage.copied_out import is_copied_out, without_copy
from ir.transform.storage.delinearize import delinearized
from ir.traverse import (
    all_exprs,
    always_evaluated,
    buffers_accessed,
    children,
    conjuncts_of,
    free_vars,
    has_choices,
    has_kind,
    has_loads,
    map_expr,
    map_stmt,
    node_count,
    stmt_children,
    stmt_exprs,
    stores_in,
    substitute_expr,
    walk,
    with_children,
)

MAX_CHOICES = 3  # of buffers that may stay or go, where guards make it a question: all combinations are searched
MAX_AGAIN = 1  # operations that many readers may do again in place of reading what was stored
MAX_PIECES = 3  # of an array that elements of one place are told by; each costs a condition wherever it is read


class _UnknownError(Exception):
    """Some element is read of which nothing is known."""

    def __init__(self, buffer: Buffer) -> None:
        super().__init__(buffer.name)
        self.buffer = buffer


@rewrite(
    law="alloc B: s  =  s with what B[i] is known to be in place of B[i], and without stores to B",
    because="a load gives what was stored there, and nothing else looks at the buffer",
    settles=lambda stmt, new, instructs: not (instructs or _chooses(new)) or _locals(stmt) > MAX_CHOICES,
)
def forwarded(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Forward what is stored in a local buffer to all that load it (store-to-load forwarding; array contraction)."""
    if not isinstance(stmt, Alloc):
        return
    users = _users(stmt, here)
    several = sum(1 for _ in _chain(stmt)) + len(users.within) > MAX_CHOICES
    new = _all_at_once(stmt, users, here) if several else None
    if new is None and users.may_go(stmt.buffer, here):
        new = _without({stmt.buffer}, stmt, here)
    in_turn = new is not None and any(hands_on(part, stmt.buffer) for part in users.parts[stmt.buffer])
    if new is not None and may_be_cheaper(new, stmt, in_turn=in_turn):
        yield new


class _Users(Struct):
    """Who uses the locals of a program, and what that says before anything is proven, which is what takes long."""

    parts: dict[Buffer, list[Stmt]]
    within: tuple[Buffer, ...]  # locals of single parts
    loaded: Counter[Buffer]  # how often, as written
    dear: set[Buffer]  # what is stored there takes much to compute again
    bare: frozenset[Buffer]  # what has neither padding nor a choice in it
    chooses: bool  # whether there are guards, which a buffer with padding might do without

    @staticmethod
    def of(inner: Stmt) -> _Users:
        """The users among the statements of a sequence."""
        stores = [*stores_in(inner)]
        users = _Users(
            defaultdict(list),
            tuple(s.buffer for s in walk(inner) if isinstance(s, Alloc)),
            Counter(e.buffer for e in all_exprs(inner) if isinstance(e, Load)),
            {s.buffer for s in stores if operations_on_values(s.value) > MAX_AGAIN},
            _without_padding(inner, Counter(s.buffer for s in stores)),
            has_kind(inner, If) or any(isinstance(e, Select) for e in all_exprs(inner)),
        )
        for part in _pieces(inner):
            for buffer in buffers_accessed(part).union(s.buffer for s in walk(part) if isinstance(s, Alloc)):
                users.parts[buffer].append(part)
        return users

    def may_go(self, buffer: Buffer, here: Here) -> bool:
        """Whether what a buffer holds may be an expression that costs less than the buffer."""
        key = "may pay", buffer, *map(here.contexts.identity, self.parts[buffer])
        return bool(here.contexts.ask(key, lambda: self._may_pay(buffer), False)) and not self._sums_up(buffer, here)

    def _may_pay(self, buffer: Buffer) -> bool:
        """Whether the price falls if each load computes what the one store leaves; of several nothing is said."""
        parts = self.parts[buffer]
        stores = [s for part in parts for s in stores_in(part) if s.buffer == buffer]
        if not stores or any(buffer in reads(s.value) for s in stores):
            return True
        dearest = max((replace(s, value=dearest_choice(s.value)) for s in stores), key=lambda s: PRICES.expr(s.value))
        if len(stores) > 1:  # where the part of another one is read, nothing is read beyond what this one reads
            dearest = replace(dearest, value=map_expr(dearest.value, of_open_extents))

        def told(e: Expr) -> Expr:
            if not (isinstance(e, Load) and e.buffer == buffer):
                return e
            pairs = [(i, at) for i, at in zip(dearest.indices, e.indices, strict=True) if isinstance(i, Var)]
            value = map_expr(dearest.value, partial(_undone, {i for i, at in pairs if not isinstance(at, Var)}))
            return substitute_expr(value, dict(pairs))

        def computed(expr: Expr) -> Expr:
            return map_expr(expr, told)

        without = (map_stmt(part, computed, partial(_unstored, {buffer})) for part in parts)
        most = FUSED if any(hands_on(part, buffer) for part in parts) else 1.0
        return sum(map(PRICES.program, without)) < most * sum(map(PRICES.program, parts)) + CPU.kernel

    def _sums_up(self, buffer: Buffer, here: Here) -> bool:
        """Whether elements are sums over a loop, of floats: what they hold is then no expression."""
        if not buffer.dtype.is_float:
            return False
        stores = ((part, s) for part in self.parts[buffer] for s in stores_in(part))
        sums = {id(part): part for part, s in stores if s.buffer == buffer and accumulates(s)}
        return any(not here.never(partial(_summing, part, buffer, ())) for part in sums.values())


def _undone(mapped: Collection[Var], expr: Expr) -> Expr:
    """A quotient of an index that a reader gives by an index map as if that was its inverse, and undid it."""
    match expr:
        case Binary(op="floordiv" | "floormod", lhs=Var() as index) if index in mapped:
            return index
        case _:
            return expr


def _pieces(stmt: Stmt) -> Iterator[Stmt]:
    """The statements that run one after the other, those around which buffers are allocated as well."""
    match stmt:
        case Seq():
            for part in flat(stmt):
                yield from _pieces(part)
        case Alloc(body=body):
            yield from _pieces(body)
        case _:
            yield stmt


def _without_padding(stmt: Stmt, stores: Counter[Buffer], around: tuple[For, ...] = ()) -> frozenset[Buffer]:
    """Buffers all of whose elements one store fills, without a choice: they have nothing in them that a guard of a
    reader might do without."""
    match stmt:
        case For(body=body):
            return _without_padding(body, stores, (*around, stmt))
        case Seq() | Alloc() | Block():
            return frozenset[Buffer]().union(*(_without_padding(s, stores, around) for s in stmt_children(stmt)))
        case Store(buffer=buffer, indices=indices, value=value) if stores[buffer] == 1 and not has_choices(value):
            loops = {loop.var: loop for loop in around}
            whole = len(set(indices)) == len(indices) and all(
                isinstance(i, Var)
                and i in loops
                and loops[i].start.same(const(0, i.dtype))
                and loops[i].extent.same(extent)
                for i, extent in zip(indices, buffer.shape, strict=True)
            )
            return frozenset((buffer,) if whole else ())
        case _:
            return frozenset()


def _users(stmt: Alloc, here: Here) -> _Users:
    """The users of locals in what is inside of a chain of them, looked for once for all of the chain."""
    inner: Stmt = stmt
    while isinstance(inner, Alloc):
        inner = inner.body
    key = "users of locals", here.contexts.identity(inner)
    return cast(_Users, here.contexts.ask(key, lambda: _Users.of(inner), None) or _Users.of(inner))


def _summing(stmt: Stmt, buffer: Buffer, around: tuple[Var, ...]) -> isl.Set:
    """Where a store to an element runs that adds up over one of the loops around it, as a params set."""
    match stmt:
        case Store(indices=indices):
            named = free_vars(*indices)
            sums = stmt.buffer == buffer and accumulates(stmt) and not named.issuperset(around)
            return pb.always() if sums else pb.never()
        case If(cond=cond, then=then, other=other):
            yes, no = pb.condition(cond).may, pb.condition(Unary("not", cond)).may
            one, two = _summing(then, buffer, around), _summing(other, buffer, around)
            return one.intersect(yes).union(two.intersect(no))
        case For(var=var, body=body):
            domain = pb.loop_domain(var, stmt.start, stmt.extent).may
            return _summing(body, buffer, (*around, var)).intersect(domain)
        case _:
            parts = (_summing(part, buffer, around) for part in stmt_children(stmt))
            return reduce(lambda a, b: a.union(b), parts, pb.never())


def _unstored(buffers: Collection[Buffer], stmt: Stmt) -> Stmt:
    """A statement without stores to some buffers, once its parts are without them."""
    match stmt:
        case Store(buffer=buffer) if buffer in buffers:
            return SKIP
        case Alloc(buffer=buffer, body=body) if buffer in buffers:
            return body
        case Seq(stmts=stmts):
            return seq(*stmts) if SKIP in stmts else stmt
        case For(body=body) | Block(body=body) if body == SKIP:
            return SKIP
        case If(then=then, other=other) if then == SKIP and other == SKIP:
            return SKIP
        case _:
            return stmt


def _without(buffers: Collection[Buffer], stmt: Alloc, here: Here) -> Stmt | None:
    """A statement without some local buffers; None if something is read of them that is not known."""
    forwarding = _Forwarding(buffers, here)
    try:
        new = forwarding.statement(stmt, here)
    except _UnknownError:
        return None
    return None if forwarding.unknown else new


def _all_at_once(stmt: Alloc, users: _Users, here: Here) -> Stmt | None:
    """A statement without the local buffers that one reader reads, or that take little to compute again.

    One after the other would make as many programs, each with contexts of its own. Where guards make it a question, the
    last few are left for later.
    """
    local = [*_chain(stmt), *users.within]
    asked = [*local[:-MAX_CHOICES], *(b for b in local if b in users.bare)] if users.chooses else local
    buffers = {buffer for buffer in asked if users.loaded[buffer] < 2 or buffer not in users.dear}
    buffers = {b for b in buffers if users.may_go(b, here)}
    while len(buffers) > 1:
        forwarding = _Forwarding(buffers, here)
        try:
            new = forwarding.statement(stmt, here)
        except _UnknownError as unknown:
            forwarding.unknown.add(unknown.buffer)
        else:
            if not forwarding.unknown:
                return new
        buffers -= forwarding.unknown
    return None


def _chooses(stmt: Stmt) -> bool:
    """Whether a statement has guards, which a buffer with padding might do without."""
    return has_kind(stmt, If) or any(isinstance(e, Select) for e in all_exprs(stmt))


def _chain(stmt: Stmt) -> Iterator[Buffer]:
    """The locals that are allocated one right inside of the other."""
    while isinstance(stmt, Alloc):
        yield stmt.buffer
        stmt = stmt.body


def _locals(stmt: Stmt) -> int:
    return sum(1 for s in walk(stmt) if isinstance(s, Alloc))


class _Nest(Struct, frozen=True):
    """What a nest is without the buffers that are `gone`, those that are `left` in it, and those of them that were to
    go, too."""

    new: Stmt
    gone: frozenset[Buffer]
    left: frozenset[Buffer]
    unknown: frozenset[Buffer]

    def renamed(self, named: Mapping[Buffer, Buffer]) -> _Nest:
        """The same of a nest with other buffers."""
        sets = (frozenset(named.get(b, b) for b in found) for found in (self.gone, self.left, self.unknown))
        return _Nest(with_buffers(self.new, named), *sets)

    def says(self, buffers: frozenset[Buffer]) -> bool:
        """Whether it is what the nest is without some buffers."""
        return self.gone <= buffers and self.left & buffers <= self.unknown


class _Nests(Struct):
    """The nests that were looked into under some contexts."""

    repeated: Repeated[_Nest]
    done: dict[tuple[int, int, int], _Nest] = field(default_factory=lambda: dict[tuple[int, int, int], _Nest]())


class _Forwarding:
    """A statement without some of its local buffers; what it gives is right where none was `unknown`."""

    def __init__(self, buffers: Collection[Buffer], here: Here) -> None:
        self._nests = cast(_Nests, here.contexts.by_domain.setdefault("forwarded", _Nests(Repeated(here.contexts))))
        self.buffers = frozenset(buffers)
        self.unknown = set[Buffer]()  # those that were found to be needed on the way
        self.followed: list[Buffer] = []  # on the way to the expression at hand: elements may tell each other
        self._gone = set[Buffer]()  # those that the nest at hand did without
        self._loading: dict[int, tuple[Stmt, bool]] = {}  # by identity of statements, which live as long

    def statement(self, stmt: Stmt, here: Here) -> Stmt:
        """What a statement is without the buffers; places inside of it are made only where one is read."""
        if here.facts == IMPOSSIBLE:
            return SKIP
        if not self._loads(stmt):
            return map_stmt(stmt, on_stmt=self._unstored)
        return self._nest(stmt, here) if isinstance(stmt, For) and not here.scope else self._inside(stmt, here)

    def _nest(self, stmt: For, here: Here) -> Stmt:
        """A nest in no other loop: as the first one that it repeats, if there is one."""
        key = here.contexts.identity(stmt), here.facts, here.permissions
        known = self._nests.done.get(key)
        if known is None or not known.says(self.buffers):
            known = self._nests.done[key] = self._worked_out(stmt, here)
        self._gone |= known.gone
        self.unknown |= known.unknown & self.buffers
        self.buffers -= known.unknown
        return known.new

    def _worked_out(self, stmt: For, here: Here) -> _Nest:
        twin = self._nests.repeated.twin(here.facts, here.permissions, stmt, ())
        if twin is not None and (found := twin.first.kept.renamed(twin.buffers)).says(self.buffers):
            return found
        (around, self._gone), asked = (self._gone, set()), self.buffers
        self._keep_unsaid(stmt, here)
        new = self._inside(stmt, here) if self._reads_any(stmt) else map_stmt(stmt, on_stmt=self._unstored)
        (gone, self._gone), unknown = (frozenset(self._gone), around), asked - self.buffers
        used = {s.buffer for s in walk(new) if isinstance(s, (Store, Alloc))}
        left = used | {e.buffer for e in all_exprs(new) if isinstance(e, Load)}
        nest = _Nest(new, gone, frozenset(left), unknown)
        self._nests.repeated.add(here.facts, here.permissions, stmt, (), nest)
        return nest

    def _keep_unsaid(self, stmt: For, here: Here) -> None:
        """Keep buffers of which a nest always reads elements that hold no one value, before places inside are made."""
        written = here.effects(stmt).may
        values: dict[Buffer, list[isl.Set]] = defaultdict(list)
        for (buffer, value), region in here.known.items():
            if buffer in self.buffers and not held.is_condition(buffer, value):
                values[buffer].append(region)
        for load, domain in _always_read(stmt, here.domain):
            buffer = load.buffer
            spot = pb.point(load.indices) if buffer in self.buffers and buffer not in written else None
            if spot is not None:
                spot = here.ask(partial(spot.intersect_params, domain))
                if spot is not None and not _covered(spot, values[buffer]):
                    self._kept(load)

    def _reads_any(self, stmt: Stmt) -> bool:
        return any(isinstance(e, Load) and e.buffer in self.buffers for e in all_exprs(stmt))

    def _unstored(self, stmt: Stmt) -> Stmt:
        """A statement that reads none of the buffers, without stores to them."""
        if isinstance(stmt, (Store, Alloc)) and stmt.buffer in self.buffers:
            self._gone.add(stmt.buffer)
        return _unstored(self.buffers, stmt)

    def _inside(self, stmt: Stmt, here: Here) -> Stmt:
        match stmt:
            case Store(buffer=buffer) if buffer in self.buffers:
                self._gone.add(buffer)
                return SKIP
            case Seq(stmts=(first, second)):
                before, after = here.between(first, second)
                return seq(self.statement(first, before), self.statement(second, after))
            case Store(indices=indices, value=value):
                places = tuple(self.expr(i, here) for i in indices)
                return replace(stmt, indices=places, value=self.expr(value, here))
            case If(cond=cond, then=yes, other=no):
                arms = (here.under(cond, truth) for truth in (True, False))
                yes, no = (SKIP if at is None else self.statement(s, at) for s, at in zip((yes, no), arms, strict=True))
                return replace(stmt, cond=self.expr(cond, here), then=yes, other=no)
            case For(start=start, extent=extent, body=body) as loop:
                within = here.inside(loop)
                body = SKIP if within is None else self.statement(body, within)
                return replace(stmt, start=self.expr(start, here), extent=self.expr(extent, here), body=body)
            case Let(value=value, body=body) as let:
                within = here.inside(let)
                body = SKIP if within is None else self.statement(body, within)
                return replace(stmt, value=self.expr(value, here), body=body)
            case Alloc(buffer=buffer, body=body):
                body = self.statement(body, here.within(stmt))
                return body if buffer in self.buffers else replace(stmt, body=body)
            case Block(body=body):
                return replace(stmt, body=self.statement(body, here))
            case _:
                read = next((b for e in stmt_exprs(stmt) for b in self._reads(e)), None)
                if read is not None:
                    raise _UnknownError(read)
                return stmt

    def _loads(self, stmt: Stmt) -> bool:
        """Whether a statement reads one of the buffers."""
        if id(stmt) not in self._loading:
            own = any(self._reads(e) for e in stmt_exprs(stmt))
            self._loading[id(stmt)] = stmt, own or any(self._loads(part) for part in stmt_children(stmt))
        return self._loading[id(stmt)][1]

    def _reads(self, expr: Expr) -> frozenset[Buffer]:
        return reads(expr) & self.buffers

    def _kept(self, load: Load) -> Load:
        """A load of which nothing is known: from here on its buffer is one that stays."""
        self.unknown.add(load.buffer)
        self.buffers -= {load.buffer}
        return load

    def expr(self, expr: Expr, here: Here) -> Expr:
        if not self._reads(expr):
            return expr
        match expr:
            case Load(buffer=buffer, indices=indices) if buffer in self.buffers:
                value = here.contents(buffer, indices)
                value = _by_cases(expr, here) if value is None else value
                value = _by_conditions(expr, here) if value is None else value
                if value is None or buffer in reads(value) or buffer in self.followed:
                    return self._kept(expr)
                self._gone.add(buffer)
                self.followed.append(buffer)
                told = self._choice(value, here) if isinstance(value, Select) else self.expr(value, here)
                self.followed.pop()
                return without_quotients(told, here)  # an index map may have met its inverse
            case Select():
                return self._choice(expr, here)
            case Binary(op="and" | "or" as op, lhs=lhs, rhs=rhs):
                at = here.under(lhs, op == "and")
                return (
                    self.expr(lhs, here)
                    if at is None
                    else replace(expr, lhs=self.expr(lhs, here), rhs=self.expr(rhs, at))
                )
            case _:
                return with_children(expr, tuple(self.expr(e, here) for e in children(expr)))

    def _choice(self, expr: Select, here: Here) -> Expr:
        """A choice as far as it is open here; what is told of elements may read others of the buffers."""
        arms = [here.under(expr.cond, truth) for truth in (True, False)]
        yes, no = (
            e if at is None else self._choice(e, at) if isinstance(e, Select) else self.expr(e, at)
            for e, at in zip((expr.then, expr.other), arms, strict=True)
        )
        if arms[0] is None or arms[1] is None:
            return no if arms[0] is None else yes
        return replace(expr, cond=self.expr(_open(expr.cond, here), here), then=yes, other=no)


def _open(cond: Expr, here: Here) -> Expr:
    """A condition that does not always hold, without the operands of `and` that do."""
    parts = [*conjuncts_of(cond)]
    left = [part for part in parts if here.truth(part) is not True] if len(parts) > 1 else []
    return reduce(partial(Binary, "and"), left) if left and len(left) < len(parts) else cond


def _covered(spot: isl.Set, regions: Iterable[isl.Set]) -> bool:
    """Whether regions may hold all elements of a set between them; an answer that takes too long is taken for one."""

    def answer() -> bool:
        rest = spot
        for region in regions:
            rest = rest.subtract(region)
        return rest.is_empty()

    return pb.within_budget(answer, True)


def _by_cases(load: Load, here: Here) -> Expr | None:
    """What an element holds where its place decides which of a few known values that is: a choice among them."""
    buffer, indices = load.buffer, load.indices
    known = [(v, r) for (b, v), r in here.known.items() if b == buffer and not held.is_condition(buffer, v)]
    if len(known) < 2 or any(map(has_loads, indices)):
        return None

    def cases() -> list[tuple[Expr, isl.Set]]:
        found: list[tuple[Expr, isl.Set]] = []
        rest = pb.point(indices)
        if rest is None:
            return found
        rest = rest.intersect_params(here.domain)
        for value, region in known:
            part = rest.intersect(region)
            told = None if part.is_empty() else held.at(value, indices)
            if told is not None and buffer not in reads(told):
                found.append((told, part.params().gist_params(here.domain).coalesce()))
                rest = rest.subtract(region)
        return found if rest.is_empty() and len(found) <= MAX_PIECES else []

    found = pb.within_budget(cases, [])
    about = here.names(load)
    if not found or any(not pb.variables(where) <= about.keys() for _, where in found):
        return None
    found.sort(key=lambda case: case[1].n_basic_set())  # the last one, which may be anywhere else, needs no condition
    *cases_, (value, _) = found
    for told, where in reversed(cases_):
        value = Select(readback.condition(where, about, here.domain), told, value)
    return value


def _by_conditions(load: Load, here: Here) -> Expr | None:
    """What an element holds where conditions on data decide which of a few known values that is: a choice among them.

    Of each value it is known unless some condition holds; there is a choice where not all of these can hold.
    """
    own, spot = held.itself(load), None if any(map(has_loads, load.indices)) else pb.point(load.indices)
    place = None if spot is None else here.ask(partial(spot.intersect_params, here.domain))
    told: list[Select] = []
    for (buffer, value), region in here.known.items():
        if buffer == load.buffer and isinstance(value, Select) and value.then.same(own):
            known = held.at(value, load.indices) if place is not None and place.is_subset(region) else None
            if isinstance(known, Select) and buffer not in reads(known.cond) | reads(known.other):
                told.append(known)
    told.sort(key=lambda choice: node_count(choice.cond))
    at: Here | None = here
    for k, choice in enumerate(told[:MAX_PIECES]):
        at = at.under(choice.cond, True)
        if at is None:
            return reduce(lambda rest, c: Select(c.cond, rest, c.other), reversed(told[:k]), choice.other)
    return None


def _always_read(stmt: Stmt, domain: isl.Set) -> Iterator[tuple[Load, isl.Set]]:
    """Loads of a nest that no condition is around, with the values that variables have there."""
    match stmt:
        case For(var=var, start=start, extent=extent, body=body):
            inside = pb.loop_domain(var, start, extent)
            if inside.exact:
                yield from _always_read(body, domain.intersect(inside.must))
        case Store(indices=indices, value=value):
            for load in (e for whole in (*indices, value) for e in always_evaluated(whole) if isinstance(e, Load)):
                yield load, domain
        case Seq() | Alloc():
            for part in stmt_children(stmt):
                yield from _always_read(part, domain)
        case _:
            pass


@rewrite(
    law="alloc B of n elements: s  =  alloc C of m < n: s with C[i - k] for B[i], and without the stores to the others",
    because="no other element is read (bounds inference, Ragan-Kelley et al. 2013)",
    settles=lambda _stmt, _new, instructs: not instructs,
    cuts=True,
)
def used_extents(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Let a local be as large as what is read of it, such as one that was padded for a reader without padding."""
    if not isinstance(stmt, Alloc):
        return
    new = pb.within_budget(lambda: trimmed(stmt, here.domain), None)
    if new is not None:
        yield new


@rewrite(
    law="alloc C: s; Y[i + 1] = C[i] for all i  =  s with Y[i + 1] for C[i]   where s stores these, and minds no Y",
    because="nobody looks at Y before the copy, nor at C after it",
)
def copied_out(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Compute a local where it is copied to in the end, as far as anybody reads it."""
    if not isinstance(stmt, Alloc) or not is_copied_out(stmt):
        return
    small = pb.within_budget(lambda: trimmed(stmt, here.domain), None)
    whole = small if isinstance(small, Alloc) else stmt
    new = pb.within_budget(lambda: without_copy(whole, here.effects, here.domain), None)
    if new is not None:
        yield new


@rewrite(
    law="alloc B: s  =  alloc C: s with C[i, j] for B[i * (i + 1) // 2 + j]   where no two pairs i, j are one place",
    because="elements of a local are named by places that are told apart in the same way (Maslov, PLDI 1992)",
    settles=lambda _stmt, _new, instructs: not instructs,
)
def rows_apart(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Give a local an axis for the rows that follow one another in it, of which sets cannot say where they begin."""
    del here
    new = delinearized(stmt) if isinstance(stmt, Alloc) else None
    if new is not None:
        yield new


CONTENTS_RULES = (forwarded, used_extents, copied_out, rows_apart, chained, chained_choice)
