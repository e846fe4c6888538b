"""Tensorize: a nest as a call of an instruction, where it does the same as that one's body.

The nest and the body are compared part by part, with the body's loops, scalars, locals and buffers as unknowns. Those
of buffers are sections: at each access, the nest's place less the body's is where the section starts, which must be the
same in all iterations. That two places are equal is proven by isl, for the values that the names around can have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import NoReturn

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

import ir.presburger.sets as pb
from ir.analysis.legality import check_order
from ir.floats import Floats
from ir.instructions import freedoms, instance, instruction_of, is_instruction, sizes_of
from ir.naming import fresh
from ir.nodes import (
    MIRRORED,
    Alloc,
    Binary,
    Block,
    Buffer,
    Call,
    CallStmt,
    Cast,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    const,
    seq,
)
from ir.presburger.facts import facts_at
from ir.presburger.polynomials import polynomial, summed, written
from ir.printing.printer import to_script
from ir.program.blocks import lower_blocks, lower_statement
from ir.program.calls import minus, of_dtype, plus, size_arguments, solved_for
from ir.program.edit import Changed, folded, loop_path, names_in, nest, refuse, times, with_body, with_children
from ir.sections import Section
from ir.transform.calls.alike import COMMUTES
from ir.traverse import (
    all_exprs,
    buffers_written,
    free_vars,
    has_loads,
    has_undef,
    loads,
    map_expr,
    substitute,
    substitute_expr,
    walk,
)

_MOST = 24  # assignments of loops that are tried


class Differs(Exception):
    """What keeps a nest from being the body of an instruction, in words."""


def tensorize(func: PrimFunc, loop: str, instruction: PrimFunc, *, reassociate: bool = True) -> Changed:
    """Compute the nest of a loop by an instruction; see `Schedule.tensorize`. It becomes a block of that name.

    Raises:
        ScheduleError: the kernel is no instruction, its JAX text takes freedoms that are not granted, or the nest is
            not shown to do what its body does.
    """
    path = loop_path(func, loop)
    given = path[-1]
    if not is_instruction(instruction):
        help = 'give it a JAX text, as in @T.instruction(jax="{C} + {A} @ {B}")'
        refuse("instruction", f"{instruction.name} is a kernel, not an instruction", instruction.span, help=help)
    if not reassociate and Floats.REASSOCIATE in freedoms(instruction):
        refuse("float-order", f"{instruction.name} may sum in another order", help="allow it: reassociate=True")
    try:
        marked = instance_of(given, instruction, facts_at(func, path))
    except Differs as reason:
        help = "the loops, stores and values of both must correspond; split, reorder or decompose_reduction first"
        refuse("instruction", f"the loop {loop} is not {instruction.name}: {reason}", given.span, help=help)
    assert isinstance(marked, Block)
    named = replace(marked, name=fresh(instruction.name, names_in(func)))
    return Changed(with_body(func, path, named), (named.name,))


def call_of(given: Stmt, instruction: PrimFunc, domain: isl.Set) -> CallStmt:
    """The call of an instruction that a statement equals where names have the values of a params set.

    Raises:
        Differs: it equals none, as far as can be proven.
    """
    stmt = lower_statement(given)
    match = _Match(domain, frozenset(buffers_written(stmt)), {*sizes_of(instruction)})
    match.stmt(lower_blocks(instruction).body, stmt)
    args = tuple(match.argument(p) for p in instruction.params)
    match.check_apart(instruction, args)
    return CallStmt(instruction, args, given.span)


def instance_of(given: Stmt, instruction: PrimFunc, domain: isl.Set) -> Stmt:
    """A statement marked as an instance of an instruction, where names have the values of a params set.

    Raises:
        Differs: it is none, as far as can be proven.
    """
    return instance(instruction, given, size_arguments(call_of(given, instruction, domain)), given.span)


def with_calls(body: Stmt, domain: isl.Set) -> Stmt:
    """A statement with calls in the place of instances of instructions, for names with the values of a params set.

    An instance that is no longer the instruction's body is the loops that it means.
    """
    return _instances(body, domain, lambda _, call: call)


def true_instances(body: Stmt, domain: isl.Set) -> Stmt:
    """A statement in which only what an instruction computes is marked as its instance, for names as in a params set.

    What has been rewritten within such a mark may be something else.
    """
    return _instances(body, domain, lambda block, _: block)


def _instances(body: Stmt, domain: isl.Set, made: Callable[[Block, CallStmt], Stmt]) -> Stmt:
    """A statement with what is `made` of instances and their calls, and loops in the place of what is none."""
    if all(instruction_of(s) is None for s in walk(body)):
        return body

    def inside(part: Stmt, where: isl.Set) -> Stmt:
        return _instances(part, where, made)

    match body:
        case Block() if (instruction := instruction_of(body)) is not None:
            try:
                return made(body, call_of(body.body, instruction, domain))
            except Differs:
                return body.body
        case Seq(stmts=stmts):
            new = [inside(s, domain) for s in stmts]
            return body if all(a is b for a, b in zip(stmts, new, strict=True)) else seq(*new, span=body.span)
        case If(cond=cond, then=then, other=other):
            yes, no = pb.condition(cond), pb.condition(Unary("not", cond))
            arms = [pb.within_budget(lambda c=c: domain.intersect(c.may), domain) for c in (yes, no)]
            return with_children(body, [inside(then, arms[0]), inside(other, arms[1])])
        case For(var=var, start=start, extent=extent):
            within = pb.within_budget(lambda: domain.intersect(pb.loop_domain(var, start, extent).may), domain)
            return with_children(body, [inside(body.body, within)])
        case Let() | Alloc() | Block():
            return with_children(body, [inside(body.body, domain)])
        case _:
            return body


class _Match(Struct):
    """What the names of an instruction's body stand for in a nest, as far as the two have been compared."""

    domain: isl.Set
    written: frozenset[Buffer]  # by the nest
    sizes: set[Var]  # those in the instruction's shapes
    inner: dict[Var, Expr] = field(default_factory=lambda: dict[Var, Expr]())  # loops of the nest at their first
    values: dict[Var, Expr] = field(default_factory=lambda: dict[Var, Expr]())  # for loops, lets and scalars
    locals: dict[Buffer, Buffer] = field(default_factory=lambda: dict[Buffer, Buffer]())
    sections: dict[str, Section] = field(default_factory=lambda: dict[str, Section]())

    def argument(self, param: Var | Buffer) -> Expr | Section:
        """What a call passes for a parameter."""
        found = self.sections.get(param.name) if isinstance(param, Buffer) else self.values.get(param)
        if found is None:
            raise Differs(f"the body does not say what `{param.name}` is")
        return found

    def check_apart(self, instruction: PrimFunc, args: tuple[Expr | Section, ...]) -> None:
        """Two parameters may not have an element in common where the instruction writes by one of them."""
        written = {b.name for b in buffers_written(instruction.body)}
        given = [(p, a) for p, a in zip(instruction.params, args, strict=True) if isinstance(a, Section)]
        for (p, a), (q, b) in combinations(given, 2):
            if a.buffer == b.buffer and not written.isdisjoint((p.name, q.name)) and not self._apart(a, b):
                raise Differs(f"`{p.name}` and `{q.name}` of {instruction.name} would both be in {a.buffer.name}")

    def _apart(self, a: Section, b: Section) -> bool:
        """Whether two sections of a buffer have no element in common, as one of its dimensions shows."""
        for (x, m), (y, n) in zip(a.ranges, b.ranges, strict=True):
            for start, extent, other in ((x, m, y), (y, n, x)):
                stop = plus(start, const(1, start.dtype) if extent is None else of_dtype(extent, start.dtype))
                if self._holds(Binary("le", stop, of_dtype(other, start.dtype))):
                    return True
        return False

    # Statements ------------------------------------------------------------------------------------------------------

    def stmt(self, a: Stmt, b: Stmt) -> None:
        """Compare a statement of the body with one of the nest."""
        match a, b:
            case (_, Let(var=var, value=value)) if not isinstance(a, Let) and var.dtype.is_integer:
                if has_loads(value):
                    self._differ(a, b)
                self.stmt(a, substitute(b.body, {var: value}))
            case (_, If(cond=cond)) if not isinstance(a, If):
                if not self._holds(cond):
                    raise Differs(f"the nest asks whether `{to_script(cond)}`, which is not always so")
                self.stmt(a, b.then)
            case Seq(stmts=left), Seq(stmts=right) if len(left) == len(right):
                for x, y in zip(left, right, strict=True):
                    self.stmt(x, y)
            case For(), For():
                self._loop(a, b)
            case If(), If():
                self.expr(a.cond, b.cond)
                self.stmt(a.then, b.then)
                self.stmt(a.other, b.other)
            case Let(), Let():
                self.expr(a.value, b.value)
                self.values[a.var] = b.var
                self.inner[b.var] = b.var
                self.stmt(a.body, b.body)
            case Alloc(buffer=x), Alloc(buffer=y) if x.dtype is y.dtype and len(x.shape) == len(y.shape):
                for m, n in zip(x.shape, y.shape, strict=True):
                    self._tell_size(m, n)
                    self._same(self._known(m), n, f"the extents of {x.name} and {y.name}")
                self.locals[x] = y
                self.stmt(a.body, b.body)
            case Store(), Store():
                self.place(a.buffer, a.indices, b.buffer, b.indices)
                self.expr(a.value, b.value)
            case _:
                self._differ(a, b)

    def _loop(self, a: For, b: For) -> None:
        self._tell_size(a.extent, b.extent)
        self._same(self._known(a.extent), b.extent, f"the extents of the loops {a.var.name} and {b.var.name}")
        start = of_dtype(self._known(a.start), b.var.dtype)
        inside = pb.loop_domain(b.var, b.start, b.extent).may
        self.values[a.var] = of_dtype(plus(b.var, minus(start, b.start)), a.var.dtype)
        self.inner[b.var] = substitute_expr(b.start, self.inner)
        around, self.domain = self.domain, self.domain.intersect(inside)
        if pb.within_budget(self.domain.is_empty, False):
            raise Differs(f"no iteration of the loop {b.var.name} runs")  # so that its body might be any
        self.stmt(a.body, b.body)
        self.domain = around

    # Expressions -----------------------------------------------------------------------------------------------------

    def expr(self, a: Expr, b: Expr) -> None:
        """Compare an expression of the body with one of the nest."""
        if a.dtype is not b.dtype:
            raise Differs(f"`{to_script(a)}` is {a.dtype}, but `{to_script(b)}` is {b.dtype}")
        match a, b:
            case Load(), Load():
                self.place(a.buffer, a.indices, b.buffer, b.indices)
            case Var(), _ if a not in self.values:
                self._scalar(a, b)
            case Var(), _ if self.values[a].same(b):
                pass
            case Const(), Const() if a.same(b):
                pass
            case (Unary(op=p, operand=x), Unary(op=q, operand=y)) if p == q:
                self.expr(x, y)
            case Cast(operand=x), Cast(operand=y):
                self.expr(x, y)
            case Select(cond=c, then=x, other=y), Select(cond=d, then=u, other=v):
                for left, right in ((c, d), (x, u), (y, v)):
                    self.expr(left, right)
            case Call(function=f, args=x), Call(function=g, args=y) if f == g:
                for left, right in zip(x, y, strict=True):
                    self.expr(left, right)
            case Binary(op=p, lhs=x, rhs=y), Binary(op=q, lhs=u, rhs=v) if p == q:
                self._operands((x, y), (u, v), commutes=p in COMMUTES)
            case Binary(op=p, lhs=x, rhs=y), Binary(op=q, lhs=u, rhs=v) if MIRRORED.get(p) == q:
                self._operands((x, y), (v, u), commutes=False)
            case _:
                if has_loads(a) or has_loads(b) or not free_vars(a) <= self.values.keys():
                    self._differ(a, b)
                self._same(self._known(a), b, "two values")

    def _operands(self, a: tuple[Expr, Expr], b: tuple[Expr, Expr], *, commutes: bool) -> None:
        """Compare pairs of operands, also in the other order where that is the same."""
        values, sections = dict(self.values), dict(self.sections)
        try:
            self.expr(a[0], b[0])
            self.expr(a[1], b[1])
        except Differs as first:
            if not commutes:
                raise
            self.values, self.sections = values, sections
            try:
                self.expr(a[0], b[1])
                self.expr(a[1], b[0])
            except Differs:
                raise first from None

    def _tell_size(self, extent: Expr, given: Expr) -> None:
        """Take what makes an extent equal to the given one for the size in it, where that is not known yet."""
        unknown = [v for v in free_vars(extent) if v in self.sizes and v not in self.values]
        if len(unknown) != 1:
            return
        size = unknown[0]
        value = solved_for(size, extent, given, self.values)
        if value is None or has_loads(value):
            return
        if not self._holds(Binary("ge", value, const(0, value.dtype))):
            raise Differs(f"the size `{size.name}` would be `{to_script(value)}`, which may be negative")
        self._scalar(size, of_dtype(folded(value), size.dtype))

    def _scalar(self, param: Var, value: Expr) -> None:
        if has_undef(value) or not self._is_steady(value):
            raise Differs(f"`{param.name}` would be `{to_script(value)}`, which changes while the nest runs")
        self.values[param] = value

    def place(self, a: Buffer, indices: tuple[Expr, ...], b: Buffer, places: tuple[Expr, ...]) -> None:
        """Compare an element of the body with one of the nest."""
        if a in self.locals:
            if self.locals[a] != b:
                raise Differs(f"`{self.locals[a].name}` stands for {a.name}, and so would `{b.name}`")
            for x, y in zip(indices, places, strict=True):
                self._same(self._index(x), y, f"places in {a.name} and {b.name}")
            return
        if a.dtype is not b.dtype:
            raise Differs(f"{a.name} holds {a.dtype}, but {b.name} {b.dtype}")
        own = tuple(map(self._index, indices))
        section = self.sections.get(a.name)
        if section is None:
            self.sections[a.name] = self._section(a, own, b, places)
        elif section.buffer != b or not self._within(section, own, places):
            text = f"{b.name}[{', '.join(map(to_script, places))}]"
            raise Differs(f"`{text}` is not in the place of the section {to_script(section)} that {a.name} is")

    def _section(self, a: Buffer, own: tuple[Expr, ...], b: Buffer, places: tuple[Expr, ...]) -> Section:
        """The section of a buffer that another one is, from one access; dimensions may be dropped."""
        dims = range(len(places))
        for kept in combinations(dims, len(own)):
            ranges: list[tuple[Expr, Expr | None]] = []
            for d, place in enumerate(places):
                first = self._first(place)
                if d in kept:
                    k = kept.index(d)
                    self._tell_size(a.shape[k], b.shape[d])
                    extent = of_dtype(self._known(a.shape[k]), place.dtype)
                    ranges.append((_difference(first, of_dtype(self._first(own[k]), place.dtype)), extent))
                else:
                    ranges.append((first, None))
            section = Section(b, tuple((folded(s), n) for s, n in ranges))
            steady = all(self._is_steady(start) for start, _ in section.ranges)
            if steady and self._within(section, own, places) and self._inside(section):
                return section
        text = f"{b.name}[{', '.join(map(to_script, places))}]"
        mine = f"{a.name}[{', '.join(map(to_script, own))}]"
        raise Differs(f"no section of {b.name} within its shape has `{mine}` where `{text}` is")

    def _is_steady(self, expr: Expr) -> bool:
        """Whether an expression has one value while the nest runs."""
        same = self.inner.keys().isdisjoint(free_vars(expr))
        return same and all(load.buffer not in self.written for load in loads(expr))

    def _within(self, section: Section, own: tuple[Expr, ...], places: tuple[Expr, ...]) -> bool:
        """Whether an access of the body to a section is the access of the nest."""
        mine = iter(own)
        wanted = [s if n is None else plus(s, of_dtype(next(mine), s.dtype)) for s, n in section.ranges]
        return all(self._equal(x, y) for x, y in zip(wanted, places, strict=True))

    def _inside(self, section: Section) -> bool:
        """Whether a section lies within its buffer: an instruction may look at all of it."""
        for (start, extent), size in zip(section.ranges, section.buffer.shape, strict=True):
            stop = plus(start, const(1, start.dtype) if extent is None else of_dtype(extent, start.dtype))
            conditions = (Binary("ge", start, const(0, start.dtype)), Binary("le", stop, of_dtype(size, start.dtype)))
            if not all(map(self._holds, conditions)):
                return False
        return True

    def _index(self, index: Expr) -> Expr:
        """An index of the body in the names of the nest; of data, it may depend on what locals hold."""
        given = map_expr(index, self._local) if has_loads(index) else index
        return self._known(given)

    def _local(self, expr: Expr) -> Expr:
        if not isinstance(expr, Load):
            return expr
        if expr.buffer not in self.locals:
            raise Differs(f"a place depends on `{to_script(expr)}`, which is data")
        return replace(expr, buffer=self.locals[expr.buffer])

    def _known(self, expr: Expr) -> Expr:
        """An expression of the body in the names of the nest."""
        unknown = sorted(v.name for v in free_vars(expr) - self.values.keys())
        if unknown:
            raise Differs(f"`{to_script(expr)}` depends on `{unknown[0]}`, which nothing before it tells")
        return folded(substitute_expr(expr, self.values))

    def _first(self, expr: Expr) -> Expr:
        """What an expression is in the first iteration of the nest's loops."""
        return folded(substitute_expr(expr, self.inner))

    # Proofs ----------------------------------------------------------------------------------------------------------

    def _same(self, a: Expr, b: Expr, what: str) -> None:
        if not self._equal(a, b):
            raise Differs(f"{what} differ: {to_script(a)} and {to_script(b)}")

    def _equal(self, a: Expr, b: Expr) -> bool:
        return a.same(b) or (a.dtype.is_integer and b.dtype.is_integer and self._holds(_equality(a, b)))

    def _holds(self, cond: Expr) -> bool:
        held: dict[Load, Var] = {}

        def named(e: Expr) -> Expr:
            """Elements as names: both sides read them at one time."""
            return held.setdefault(e, Var(f"@{len(held)}", e.dtype)) if isinstance(e, Load) else e

        plain = map_expr(cond, named)

        def question() -> bool:
            return self.domain.subtract(pb.condition(plain).must).is_empty()

        return pb.within_budget(question, False)

    def _differ(self, a: Stmt | Expr, b: Stmt | Expr) -> NoReturn:
        left, right = (_short(to_script(x)) for x in (a, b))
        raise Differs(f"the instruction has `{left}` where the nest has `{right}`")


def _difference(a: Expr, b: Expr) -> Expr:
    """What is left of the difference of two integers; of signed ones as a sum of products."""
    if not a.dtype.is_signed:
        return minus(a, b)
    less = ((product, -times) for product, times in polynomial(b).items())
    return written(summed((*polynomial(a).items(), *less)), a)


def _equality(a: Expr, b: Expr) -> Expr:
    return Binary("eq", a, of_dtype(b, a.dtype))


def _short(text: str) -> str:
    first = text.strip().split("\n")[0]
    return first if first == text.strip() else f"{first} ..."


# Tiles ---------------------------------------------------------------------------------------------------------------


def tiles_for(
    stmt: Stmt, instruction: PrimFunc, domain: isl.Set, *, reassociate: bool
) -> Iterator[tuple[list[For], Stmt]]:
    """Loops over tiles and the nest of a tile, in each way in which the strips of a nest are the body's loops.

    `domain` has the values of the names around, a params set; sums of floats may change their order if `reassociate`.
    """
    loops, target = perfect_nest(stmt)
    for pairs in _assignments(stmt, instruction):
        if not all(_whole(u, v) for u, v in pairs):
            continue
        outer, inner, back = _strips(loops, pairs, {v.name for e in all_exprs(stmt) for v in free_vars(e)})
        if not outer:
            continue
        tile = nest(inner, substitute(target, back))
        new = nest(outer, tile)
        if pb.within_budget(partial(_in_order, stmt, new, back, domain, reassociate), False):
            yield outer, tile


def tails(stmt: Stmt, instruction: PrimFunc) -> Iterator[Mapping[Var, int]]:
    """The extents of tiles, by loop, in each way in which strips of a nest could be the body's loops with a tail."""
    seen: list[Mapping[Var, int]] = []
    for pairs in _assignments(stmt, instruction):
        sizes = _tile_sizes(pairs)
        if sizes not in seen and not all(_whole(u, v) for u, v in pairs):
            seen.append(sizes)
            yield sizes


def covered(stmt: Stmt, instruction: PrimFunc) -> Iterator[tuple[Mapping[Var, int], Stmt]]:
    """What a nest would be as instances on whole tiles, however many, with the sizes of these along its loops.

    It is what that costs, not what it does.
    """
    loops, store = perfect_nest(stmt)
    for pairs in _assignments(stmt, instruction):
        sizes = _tile_sizes(pairs)
        counts = [(o, -(-int(o.extent.value) // sizes.get(o.var, 1))) for o in loops if isinstance(o.extent, Const)]
        tiles = [replace(o, extent=const(n, o.extent.dtype)) for o, n in counts]
        yield sizes, nest(tiles, instance(instruction, store, {}))


def _tile_sizes(pairs: Sequence[tuple[For, For]]) -> Mapping[Var, int]:
    return {v.var: int(u.extent.value) for u, v in pairs if isinstance(u.extent, Const)}


def distributed(stmt: Stmt, domain: isl.Set, *, reassociate: bool) -> Stmt | None:
    """A nest of loops around several statements as one nest for each, where no dependence is against it."""
    loops, body = perfect_nest(stmt)
    if not loops or not isinstance(body, Seq):
        return None
    new = seq(*(nest(loops, part) for part in body.stmts))
    return new if pb.within_budget(partial(_in_order, stmt, new, {}, domain, reassociate), False) else None


def _in_order(old: Stmt, new: Stmt, back: Mapping[Var, Expr], domain: isl.Set, reassociate: bool) -> bool:
    return check_order(old, new, back, domain, reassociate=reassociate) is None


def perfect_nest(stmt: Stmt) -> tuple[list[For], Stmt]:
    """Loops that are alone in one another, and what is in the last."""
    loops: list[For] = []
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    return loops, stmt


def _assignments(stmt: Stmt, instruction: PrimFunc) -> Iterator[list[tuple[For, For]]]:
    """The loops of the body, each with one of the nest that occurs in the same accesses."""
    loops, target = perfect_nest(stmt)
    wanted, store = perfect_nest(lower_blocks(instruction).body)
    if not isinstance(store, Store) or not isinstance(target, Store) or not wanted or len(wanted) > len(loops):
        return
    if not all(isinstance(o.extent, Const) and isinstance(o.start, Const) for o in (*loops, *wanted)):
        return
    mine = _accesses(store)
    tried = 0
    for theirs in dict.fromkeys((_accesses(target), _accesses(target, swapped=True))):
        if len(mine) != len(theirs):
            return
        for chosen in permutations(loops, len(wanted)):
            pairs = list(zip(wanted, chosen, strict=True))
            if all(_where(u.var, mine) == _where(v.var, theirs) for u, v in pairs):
                yield pairs
                tried += 1
                if tried == _MOST:
                    return


def _accesses(store: Store, *, swapped: bool = False) -> tuple[frozenset[Var], ...]:
    """The variables of the place that is stored to, and of each that is read, in order."""
    read = [load for load in loads(store.value) if not _same_place(load, store)]
    found = [frozenset(v for i in load.indices for v in free_vars(i)) for load in (reversed(read) if swapped else read)]
    return (frozenset(v for i in store.indices for v in free_vars(i)), *found)


def _same_place(load: Load, store: Store) -> bool:
    return load.same(Load(store.buffer, store.indices))


def _where(var: Var, accesses: Sequence[frozenset[Var]]) -> tuple[bool, ...]:
    return tuple(var in names for names in accesses)


def _whole(wanted: For, given: For) -> bool:
    """Whether the iterations of a loop are whole strips."""
    size, count = wanted.extent, given.extent
    if not isinstance(size, Const) or not isinstance(count, Const):
        return False
    return 0 < size.value <= count.value and count.value % size.value == 0


def _strips(
    loops: Sequence[For], pairs: Sequence[tuple[For, For]], taken: set[str]
) -> tuple[list[For], list[For], Mapping[Var, Expr]]:
    """Loops over tiles, loops in a tile, and what the loops of the nest are in terms of both; `taken` are no names."""
    outer: list[For] = []
    strips: dict[Var, For] = {}
    back: dict[Var, Expr] = {}
    for loop in loops:
        strip = next((u for u, v in pairs if v is loop), None)
        if strip is None:
            outer.append(loop)
            continue
        assert isinstance(strip.extent, Const) and isinstance(loop.extent, Const)
        size = const(int(strip.extent.value), loop.var.dtype)
        inside = replace(loop.var, name=fresh(f"{strip.var.name}i", taken))
        strips[loop.var] = For(inside, const(0, inside.dtype), size, loop.body, span=loop.span)
        count = int(loop.extent.value) // int(strip.extent.value)
        if count == 1:
            back[loop.var] = plus(loop.start, inside)
            continue
        over = replace(loop.var, name=fresh(f"{strip.var.name}o", taken))
        outer.append(For(over, const(0, over.dtype), const(count, over.dtype), loop.body, span=loop.span))
        back[loop.var] = plus(loop.start, plus(times(size, over), inside))
    return outer, [strips[v.var] for _, v in pairs], back
