"""Rules over statements as Python functions, and what they can ask of the place they are applied to.

    @rewrite(law="for i in 1: s  =  s with i = 0", because="the one iteration is the first")
    def single_iteration(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        if isinstance(stmt, For) and here.constant(stmt.extent) == 1:
            yield substitute(stmt.body, {stmt.var: stmt.start})

A rule sees a statement in its context and yields statements that equal it there. Variables have canonical names (`%0`,
`%1`, ...), sequences have two parts (`flat` gives all of them), and new bindings may have any name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar, cast

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.rule import Rule, Settles, name_of
from egraph_rules.contexts.context import IMPOSSIBLE, NO_PERMISSION, Contexts
from egraph_rules.contexts.facts import Priority
from ir.analysis.contents import Contents
from ir.analysis.effects import Effects, Regions
from ir.floats import Floats
from ir.nodes import Alloc, Buffer, Const, Expr, For, Let, Load, Seq, Stmt, Store, Var
from ir.presburger import sets as pb
from ir.traverse import all_exprs, free_vars

T = TypeVar("T")
Proposal = Callable[[Stmt, "Here"], Iterable[Stmt]]
ExprProposal = Callable[[Expr, "Here"], Iterable[Expr]]


class Here(Struct, frozen=True):
    """A place in a program: what is known before it, and what nobody looks at after it."""

    contexts: Contexts
    facts: int
    permissions: int

    @property
    def depth(self) -> int:
        """How many loops and lets are around the place."""
        return len(self.scope)

    @property
    def scope(self) -> tuple[Var, ...]:
        """Variables of the loops and lets around the place, outermost first."""
        return self.contexts.facts(self.facts).scope

    def names(self, stmt: Stmt | Load) -> dict[str, Var]:
        """By name, scalars, the variables around the place, and those that a statement or element there mentions."""
        exprs = (stmt, *stmt.buffer.shape) if isinstance(stmt, Load) else (*all_exprs(stmt),)
        return {v.name: v for v in (*self.contexts.effects.scalars, *self.scope, *free_vars(*exprs))}

    @property
    def in_loop(self) -> bool:
        """Whether there is a loop around the place."""
        return bool(self.contexts.trips(self.facts))

    @property
    def domain(self) -> isl.Set:
        """Values that variables can have, as a params set."""
        return self.contexts.facts(self.facts).domain

    @property
    def known(self) -> Contents:
        """Contents of buffers: the region that holds each known value."""
        return self.contexts.facts(self.facts).known

    def knows(self, buffer: Buffer) -> bool:
        """Whether something is known of a buffer."""
        return buffer in self.contexts.facts(self.facts).buffers

    def knows_along(self, buffer: Buffer, axis: int) -> bool:
        """Whether what is known of a buffer is another thing at other places along an axis, or may be."""
        return self.contexts.facts(self.facts).differs_along(buffer, axis)

    @property
    def live(self) -> Regions:
        """Of each buffer that may hold anything somewhere after the place, the region that may not: it is read."""
        return self.contexts.live(self.permissions)

    def truth(self, cond: Expr) -> bool | None:
        """Whether a condition always or never holds; None when neither is proven."""
        return self.contexts.truth(self.facts, cond)

    def constant(self, expr: Expr) -> int | None:
        """The one value an integer expression has, if it has only one."""
        return self.contexts.constant(self.facts, expr)

    def decided(self, expr: Expr) -> bool:
        """Whether evaluating an expression can neither fault nor give undef."""
        return self.contexts.decided(self.facts, expr)

    def fits(self, expr: Expr) -> bool:
        """Whether a signed result provably stays within its dtype's range."""
        return self.contexts.fits(self.facts, expr)

    def defined(self, expr: Expr) -> bool:
        """Whether an expression is not arbitrary, as far as evaluating it does not fault."""
        return self.contexts.defined(self.facts, expr)

    def in_bounds(self, buffer: Buffer, indices: tuple[Expr, ...]) -> bool:
        """Whether an access stays inside its buffer."""
        return self.contexts.in_bounds(self.facts, buffer, indices)

    def effects(self, stmt: Stmt) -> Effects:
        """What a statement reads, writes and establishes."""
        return self.contexts.effects.of(stmt)

    def elsewhere(self, facts: int, permissions: int) -> Here:
        """Another place of the same search."""
        return replace(self, facts=facts, permissions=permissions)

    def under(self, cond: Expr, truth: bool) -> Here | None:
        """The place where `cond` was found true (or false); None if it never is."""
        facts = self.contexts.assume(self.facts, cond, truth)
        return None if facts == IMPOSSIBLE else self.elsewhere(facts, self.permissions)

    def within_values(self, values: isl.Set) -> Here | None:
        """The place where variables have some of the values that they can have; None if they never do."""
        held = self.contexts.facts(self.facts)
        domain = self.ask(lambda: held.domain.intersect(values))
        if domain is None or domain.is_empty():
            return None
        return self.elsewhere(self.contexts.add_facts(replace(held, domain=domain)), self.permissions)

    def tells_apart(self, cond: Expr) -> bool:
        """Whether a condition is known where it was found true, and where it was found false.

        Where it is not, a rule that tells the cases apart would do so again in each, without end.
        """
        cases = [(self.contexts.assume(self.facts, cond, truth), truth) for truth in (True, False)]
        return all(facts != IMPOSSIBLE and self.contexts.truth(facts, cond) is truth for facts, truth in cases)

    def at(self, domain: isl.Set) -> Here:
        """A place of which nothing is known but the values that variables can have."""
        facts = self.contexts.root(domain, Priority.FACTS)
        return self.elsewhere(facts, NO_PERMISSION)

    def inside(self, stmt: For | Let) -> Here | None:
        """The place in the body of a loop or binding; None if it is never reached."""
        if isinstance(stmt, Let):
            return self.elsewhere(self.contexts.let(self.facts, stmt), self.permissions)
        facts, permissions = self.contexts.loop(self.facts, self.permissions, stmt)
        return None if facts == IMPOSSIBLE else self.elsewhere(facts, permissions)

    def iteration(self, loop: For) -> Here | None:
        """The place in a loop's body as far as variables are concerned; None if it is never reached."""
        facts = self.contexts.iteration(self.facts, loop)
        return None if facts == IMPOSSIBLE else self.elsewhere(facts, NO_PERMISSION)

    def between(self, first: Stmt, second: Stmt) -> tuple[Here, Here]:
        """The places of the two parts of a sequence of the program; `facts` of the second may be IMPOSSIBLE."""
        facts, permissions = self.contexts.sequence(self.facts, self.permissions, first, second)
        return self.elsewhere(self.facts, permissions), self.elsewhere(facts, self.permissions)

    def within(self, stmt: Alloc) -> Here:
        """The place in the scope of a local buffer."""
        facts, permissions = self.contexts.alloc(self.facts, self.permissions, stmt)
        return replace(self, facts=facts, permissions=permissions)

    def contents(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr | None:
        """What is known to be stored at a location: a constant, `Undef` for arbitrary contents, or an expression."""
        return self.contexts.contents(self.facts, buffer, indices)

    def with_held(self, expr: Expr) -> Expr:
        """An expression with what elements are known to hold in their place."""
        return self.contexts.with_held(self.facts, expr)

    def number(self, expr: Expr) -> Const | None:
        """The number that an expression is wherever evaluating it does not fault, if one is known."""
        found = self.contexts.value(self.facts, expr)
        return found if isinstance(found, Const) else None

    def adds_nothing(self, store: Store) -> bool:
        """Whether a step of a reduction leaves its element as it is, since what it adds is neutral."""
        return self.contexts.adds_nothing(self.facts, store)

    def harmless(self, stmt: Stmt) -> bool:
        """Whether running a statement cannot fault, so that it may run where it did not run before."""
        return self.contexts.harmless(self.facts, stmt)

    def may_do_nothing(self, stmt: Stmt) -> bool:
        """Whether it is worth to ask if a statement does nothing here; a "no" proves nothing."""
        return self.contexts.may_do_nothing(self.facts, self.permissions, stmt)

    def only_writes_dead(self, stmt: Stmt) -> bool:
        """Whether all that a statement does here is to write what may hold anything afterwards."""
        return self.contexts.only_writes_dead(self.facts, self.permissions, stmt)

    def writes_dead(self, stmt: Stmt) -> bool:
        """Whether a statement may write anything that may hold anything afterwards."""
        return self.contexts.writes_dead(self.facts, self.permissions, stmt)

    def never(self, states: Callable[[], isl.Set]) -> bool:
        """Whether none of some states, a params set, can be here."""
        found = self.ask(lambda: states().intersect(self.domain))
        return found is not None and pb.within_budget(found.is_empty, False)

    def once(self, what: Hashable, answer: Callable[[], T]) -> T:
        """What follows from the values of variables alone, worked out once for all places where these are the same."""
        key = self.contexts.place(self.facts), self.scope, what
        if key not in self.contexts.by_domain:
            self.contexts.by_domain[key] = answer()
        return cast(T, self.contexts.by_domain[key])

    def ask(self, question: Callable[[], isl.Set]) -> isl.Set | None:
        """A set computed by isl, or None when that takes too many steps."""
        return None if self.contexts.over() else pb.within_budget(question, None)


def rewrite(
    *,
    law: str,
    because: str,
    family: str = "",
    floats: Floats = Floats.STRICT,
    settles: Settles | None = None,
    speculates: bool = False,
    cuts: bool = False,
    joins: bool = False,
    rolls: bool = False,
) -> Callable[[Proposal], Rule]:
    """Make a `Rule` of a function from a statement and its place to equal statements.

    A statement that `settles` (with what the rule made of it, and whether nests may become instances of instructions,
    which some buffers are needed for) is not looked into: the other is better in any program.
    A rule that `speculates` makes arms of a branch that are of use only where their condition fails: where it holds,
    they are looked into as they were.
    One that `cuts` makes several loops of one, each with facts of its own, so that alternatives multiply: it is asked
    about the best program that the others have found. One that `joins` makes one loop of several, which is as much to
    look at as they were: where known contents have yielded to permissions it is asked in the search after, about what
    has come of that. One that `rolls` makes a loop of what was written out: each of its iterations stores, where one
    store had been, so that programs are chosen too as if sums were kept in registers. `floats` are the freedoms that it
    takes.

    Raises:
        RuleError: no reason is given.
    """

    def build(function: Proposal) -> Rule:
        name = name_of(function, family, because)
        return Rule(
            name, law, because, floats, "", propose=function,
            settles=settles, speculates=speculates, cuts=cuts, joins=joins, rolls=rolls,
        )  # fmt: skip

    return build


def rewrite_expr(
    *, law: str, because: str, family: str = "", floats: Floats = Floats.STRICT
) -> Callable[[ExprProposal], Rule]:
    """Make a `Rule` of a function from an expression and its place to equal expressions, over the same variables.

    Raises:
        RuleError: no reason is given.
    """

    def build(function: ExprProposal) -> Rule:
        name = name_of(function, family, because)
        return Rule(name, law, because, floats, "", propose_expr=function)

    return build


def flat(stmt: Stmt) -> Iterator[Stmt]:
    """The statements of a sequence of any shape, in order."""
    if isinstance(stmt, Seq):
        for part in stmt.stmts:
            yield from flat(part)
    else:
        yield stmt
