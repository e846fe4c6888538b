"""Integer arithmetic. `//` and `%` are floor division and modulo; signed values are mathematical integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, rewrite
from egraph_rules.authoring.rule import INTEGER, SIGNED, Number, Rule, Term, defined, rule
from egraph_rules.contexts.intervals import bounds
from egraph_rules.rules.index_terms import signed_terms
from ir.naming import unused
from ir.nodes import Alloc, Binary, Buffer, Cast, Const, Expr, For, If, Let, Load, Seq, Stmt, Store, const, seq
from ir.presburger import sets as pb
from ir.program.calls import names_mentioned
from ir.program.edit import loops_around, path_to
from ir.traverse import (
    all_exprs,
    all_same,
    bound_var,
    free_vars,
    has_load,
    has_loads,
    map_expr,
    map_stmt,
    stmt_children,
    stores_in,
    substitute_expr,
    walk,
)


@rule(on=INTEGER, because="a defined value minus itself")
def sub_self(x: Term):
    return x - x, 0, defined(x)


@rule(on=SIGNED, because="x is added and taken away again")
def add_sub_same(x: Term, y: Term):
    return (x + y) - y, x, defined(y)


@rule(on=SIGNED, because="x is taken away and added again")
def sub_add_same(x: Term, y: Term):
    return (x - y) + y, x, defined(y)


@rule(on=INTEGER, because="bits that are turned over twice are as they were")
def bitxor_same(x: Term, y: Term):
    return (x ^ y) ^ y, x, defined(y)


@rule(on=SIGNED, because="constants add up")
def add_constants(x: Term, a: Number, b: Number):
    return (x + a) + b, x + (a + b)


@rule(on=SIGNED, because="subtracting a constant is adding its negative")
def sub_constant(x: Term, a: Number):
    return x - a, x + (0 - a)


@rule(on=SIGNED, because="constants multiply")
def mul_constants(x: Term, a: Number, b: Number):
    return (x * a) * b, x * (a * b)


@rule(on=SIGNED, because="distributivity")
def add_multiples(x: Term, a: Number, b: Number):
    return x * a + x * b, x * (a + b), defined(x)


@rule(on=INTEGER, because="one and one are two")
def add_self(x: Term):
    return x + x, x * 2, defined(x)


@rule(on=INTEGER, because="every value is a multiple of one")
def floormod_one(x: Term):
    return x % 1, 0, defined(x)


@rule(on=SIGNED, because="adding q*c moves the floor of the quotient by q")
def floordiv_of_multiple(x: Term, y: Term, c: Number):
    return (x * c + y) // c, x + y // c, c != 0, c != -1  # the least value // -1 leaves the dtype


@rule(on=SIGNED, because="q*c // c is q")
def floordiv_exact(x: Term, c: Number):
    return (x * c) // c, x, c != 0


@rule(on=SIGNED, because="a common factor cancels")
def floordiv_cancel(x: Term, m: Term):
    return (x * m) // m, x, m != 0


@rule(on=SIGNED, because="common factors cancel in a floor division")
def floordiv_common_factor(x: Term, a: Number, c: Number):
    return (x * a) // c, x * (a // c), c != 0, a % c == 0


@rule(on=SIGNED, because="adding q*c moves the floor of the quotient by q")
def floordiv_of_offset(x: Term, a: Number, c: Number):
    return (x + a) // c, x // c + a // c, c != 0, c != -1, a % c == 0, a != 0


@rule(on=SIGNED, because="multiples of c leave the remainder alone")
def floormod_of_multiple(x: Term, y: Term, c: Number):
    return (x * c + y) % c, y % c, defined(x), c != 0


@rule(on=SIGNED, because="a multiple of c leaves no remainder")
def floormod_exact(x: Term, a: Number, c: Number):
    return (x * a) % c, 0, defined(x), c != 0, a % c == 0


@rule(on=SIGNED, because="multiples of c leave the remainder alone")
def floormod_of_offset(x: Term, a: Number, c: Number):
    return (x + a) % c, x % c, c != 0, a % c == 0, a != 0


@rule(on=SIGNED, because="floors of quotients by positive numbers nest")
def floordiv_nested(x: Term, a: Number, b: Number):
    return (x // a) // b, x // (a * b), a > 0, b > 0


@rule(on=SIGNED, because="c divides the outer modulus, so the inner reduction is lost")
def floormod_nested(x: Term, a: Number, c: Number):
    return (x % a) % c, x % c, a > 0, c > 0, a % c == 0


@rule(on=SIGNED, because="the definition of the remainder")
def divmod_rejoins(x: Term, c: Number):
    return (x // c) * c + x % c, x, defined(x), c != 0


@rule(on=SIGNED, because="x = (x // c) * c + x % c")
def remainder_of_quotient(x: Term, c: Number):
    return x - x // c * c, x % c, c > 0, defined(x)


@rewrite(
    law="for i: A[x(i + 1)] = (A[x(i)] + e) % m  =  t = A[x(0)]; for i: t = t + e % m; A[x(i + 1)] = t % m",
    because="the remainder of a sum is that of the sum of remainders, which stays in its range",
    family="integer",
)
def remainder_of_sum(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Add up remainders, and take that of the sum where somebody looks: what is added up need not be in turn."""
    if not isinstance(stmt, For) or stmt.kind != "serial" or has_loads(stmt.start):
        return
    stores = [*stores_in(stmt.body)]
    for store in stores:
        step = _step(store)
        if step is not None and sum(s.buffer == store.buffer for s in stores) == 1 and _fits(stmt, step, here):
            new = _in_place(stmt, step, here) or _carried(stmt, step, here)
            if new is not None:
                yield new


class _Step(Struct, frozen=True):
    """`A[f] = (A[g] + e - ...) % m`: `own` is the load of `A[g]`, `last` what it is in the sum, and `terms` are the
    others, each with whether it is added."""

    store: Store
    own: Load
    last: Expr
    terms: tuple[tuple[bool, Expr], ...]
    modulus: Expr

    def after(self, total: Expr) -> Expr:
        """A total after the step, which need not be a remainder."""
        for added, term in self.terms:
            total = Binary("add" if added else "sub", total, Binary("floormod", term, self.modulus))
        return total

    def seen(self, total: Expr) -> Expr:
        """What the program keeps where a total is kept."""
        value = Binary("floormod", total, self.modulus)
        return value if value.dtype is self.own.dtype else Cast(self.own.dtype, value)


def _step(store: Store) -> _Step | None:
    """What a store adds to an element of the same buffer, modulo something; None if it does not."""
    value = store.value.operand if isinstance(store.value, Cast) else store.value
    match value:
        case Binary(op="floormod", lhs=total, rhs=modulus) if total.dtype.is_signed and not has_loads(modulus):
            terms = [*signed_terms(total)]
        case _:
            return None
    for k, (added, last) in enumerate(terms):
        own = last.operand if isinstance(last, Cast) else last
        rest = (*terms[:k], *terms[k + 1 :])
        if isinstance(own, Load) and own.buffer == store.buffer and added and rest:
            return None if any(has_load(e, own) for _, e in rest) else _Step(store, own, last, rest, modulus)
    return None


def _fits(loop: For, step: _Step, here: Here) -> bool:
    """Whether a sum of as many remainders as the loop adds up, and what it starts from, is a number of their dtype."""
    path = path_to(loop, lambda s: s is step.store)
    if path is None or any(free_vars(step.modulus) & {*bound_var(s)} for s in walk(loop)):
        return False
    low, high = bounds(step.modulus, here.domain)
    loops = loops_around(path)
    steps = prod(max(bounds(o.extent, pb.within_loops(here.domain, loops[:k]))[1], 0) for k, o in enumerate(loops))
    largest = (steps * len(step.terms) + 1) * (high - 1)
    return low > 0 and largest <= step.modulus.dtype.max and high - 1 <= step.own.dtype.max


def _in_place(loop: For, step: _Step, here: Here) -> Stmt | None:
    """A loop that adds to one element, with a total in place of the element, which is stored after it."""
    buffer, at = step.store.buffer, step.store.indices
    within = [*walk(loop.body)]
    bound = {v for s in (loop, *within) for v in bound_var(s)}
    if not all_same(step.own.indices, at) or any(has_loads(i) or free_vars(i) & bound for i in at):
        return None
    if not all(isinstance(s, For | Seq | If | Let | Alloc | Store) for s in within) or _is_local(buffer, within):
        return None
    looked_at = [e for e in all_exprs(loop.body) if isinstance(e, Load) and e.buffer == buffer]
    if not all(e.same(step.own) for e in looked_at) or not here.in_bounds(buffer, at):
        return None
    # What was there before the loop need be no remainder. It stays if no step runs, and others may see it before one.
    if len(looked_at) > 1 or not (here.truth(loop.extent >= 1) and _runs(loop.body, step.store)):
        least = Binary("ge", step.last, const(0, step.last.dtype))
        if not (here.truth(least) and here.truth(Binary("lt", step.last, step.modulus))):
            return None
    total = _total(loop, step)

    def seen(root: Expr) -> Expr:
        return map_expr(root, lambda e: step.seen(total) if e.same(step.own) else e)

    def made(stmt: Stmt) -> Stmt:
        adds = isinstance(stmt, Store) and stmt.buffer == buffer
        return Store(total.buffer, (), step.after(total)) if adds else stmt

    summed = replace(loop, body=map_stmt(loop.body, seen, made))
    start = Store(total.buffer, (), Binary("floormod", step.last, step.modulus))
    return Alloc(total.buffer, seq(start, summed, Store(buffer, at, step.seen(total))))


def _carried(loop: For, step: _Step, here: Here) -> Stmt | None:
    """A loop that adds to the element that the iteration before has stored, with a total that iterations share."""
    store, inside = step.store, here.iteration(loop)
    parts = loop.body.stmts if isinstance(loop.body, Seq) else (loop.body,)
    if inside is None or _is_local(store.buffer, walk(loop.body)) or not any(s is store for s in parts):
        return None
    if any(has_loads(i) for i in (*step.own.indices, *store.indices)):
        return None
    following = {loop.var: Binary("add", loop.var, const(1, loop.var.dtype))}
    read = [substitute_expr(i, following) for i in step.own.indices]
    pairs = zip(read, store.indices, strict=True)
    if not all(i.dtype is j.dtype and inside.truth(Binary("eq", i, j)) for i, j in pairs):
        return None
    total = _total(loop, step)
    adding = seq(Store(total.buffer, (), step.after(total)), replace(store, value=step.seen(total)))
    body = seq(*(adding if s is store else s for s in parts))
    first = substitute_expr(step.last, {loop.var: loop.start})
    start = Store(total.buffer, (), Binary("floormod", first, step.modulus))
    return Alloc(total.buffer, seq(start, replace(loop, body=body)))


def _total(loop: For, step: _Step) -> Load:
    """The element of a new local buffer."""
    return Load(Buffer(unused("total", names_mentioned(loop)), (), step.modulus.dtype, "local"), ())


def _is_local(buffer: Buffer, stmts: Iterable[Stmt]) -> bool:
    return any(isinstance(s, Alloc) and s.buffer == buffer for s in stmts)


def _runs(stmt: Stmt, store: Store) -> bool:
    """Whether a store in a statement runs at least once."""
    match stmt:
        case Store():
            return stmt is store
        case For(extent=extent, body=body):
            return isinstance(extent, Const) and extent.value >= 1 and _runs(body, store)
        case Seq() | Let() | Alloc():
            return any(_runs(part, store) for part in stmt_children(stmt))
        case _:
            return False


SUM_RULES: tuple[Rule, ...] = (remainder_of_sum,)
INTEGER_RULES = (
    sub_self, add_sub_same, sub_add_same, bitxor_same, add_constants, sub_constant, mul_constants, add_multiples,
    add_self, floormod_one, floordiv_of_multiple, floordiv_exact, floordiv_cancel, floordiv_common_factor,
    floordiv_of_offset, floormod_of_multiple, floormod_exact, floormod_of_offset, floordiv_nested, floormod_nested,
    divmod_rejoins, remainder_of_quotient,
)  # fmt: skip
