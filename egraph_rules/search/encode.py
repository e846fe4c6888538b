"""Writes the rows that let the e-graph push contexts.

`Expander` walks a numbered statement under a context and emits everything the e-graph needs to know there: the contexts
of its parts and the answers to the questions its conditions, loads and stores raise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import assert_never, cast

from msgspec import Struct, field

from egraph_rules.authoring.proposal import ExprProposal, Here, Proposal
from egraph_rules.authoring.rule import Number, Rule, Settles, instantiate
from egraph_rules.contexts.context import IMPOSSIBLE, NO_PERMISSION, Contexts, Said
from egraph_rules.contexts.facts import Priority
from egraph_rules.contexts.repeated import Repeated
from egraph_rules.contexts.values import Trail, Value
from egraph_rules.engine.engine import Cell
from egraph_rules.engine.phases import DEFAULT_BUDGET
from egraph_rules.search.names import AuthorNames
from egraph_rules.search.numbering import INT64_MAX, INT64_MIN, Numbering, Part, Tables
from ir.analysis.evaluated import may_fail
from ir.dtypes import DType
from ir.fold import folded
from ir.nodes import (
    Alloc,
    AnyExpr,
    Assert,
    Assume,
    Binary,
    BinaryOp,
    Block,
    Buffer,
    Call,
    Cast,
    Const,
    Evaluate,
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
    UnaryOp,
    Undef,
    Var,
    const,
)
from ir.transform.calls.tensorize import true_instances
from ir.traverse import (
    all_exprs,
    free_vars,
    has_choices,
    has_kind,
    has_loads,
    map_expr,
    substitute,
    substitute_expr,
    walk_expr,
)

_MOST_ASKED = 8  # choices in an arm that might be taken for the other; each would have a context under each before it
_ASK_CONSTANT = ("floordiv", "floormod", "truncdiv", "truncmod", "min", "max")


class Expander(Struct, dict=True):
    """Writes contexts and answers into `tables`, once for each (facts, statement, permissions)."""

    numbering: Numbering
    contexts: Contexts
    rules: tuple[Rule, ...] = ()
    limit: int = DEFAULT_BUDGET.proposals
    cuts: int = DEFAULT_BUDGET.cuts  # how often a rule that cuts loops may propose
    deferred: bool = False  # whether one would have, where none may
    held_back: dict[str, int] = field(default_factory=dict[str, int])  # rules that had proposed that often
    matches: Counter[str] = field(default_factory=lambda: Counter[str]())
    names: dict[tuple[int, int], str] = field(default_factory=lambda: dict[tuple[int, int], str]())
    applied: dict[tuple[int, int, int], list[tuple[Part, str]]] = field(default_factory=lambda: defaultdict(list))
    twins: bool = True  # whether what a nest becomes stands for those that repeat it
    _trail: Trail = field(default_factory=Trail)  # by which elements the expression at hand was come to
    _done: dict[tuple[int, int, int], int] = field(default_factory=lambda: dict[tuple[int, int, int], int]())
    _disputed: set[tuple[int, int, int]] = field(default_factory=lambda: set[tuple[int, int, int]]())
    _seen_exprs: set[tuple[int, int]] = field(default_factory=lambda: set[tuple[int, int]]())
    _folds: set[tuple[Cell, ...]] = field(default_factory=lambda: set[tuple[Cell, ...]]())
    _divisions: set[tuple[int, int, int]] = field(default_factory=lambda: set[tuple[int, int, int]]())
    _rule_questions: set[tuple[object, ...]] = field(default_factory=lambda: set[tuple[object, ...]]())
    _loads: dict[tuple[int, Buffer], list[Load]] = field(default_factory=lambda: defaultdict(list))  # of the program
    _parts: dict[int, Part] = field(default_factory=lambda: dict[int, Part]())

    def __post_init__(self) -> None:
        self._statement_rules: tuple[tuple[str, Proposal], ...] = tuple(
            (r.name, r.propose) for r in self.rules if r.propose is not None
        )
        self._settling: dict[str, Settles] = {r.name: r.settles for r in self.rules if r.settles is not None}
        self._speculating: frozenset[str] = frozenset(r.name for r in self.rules if r.speculates)
        # rules that cut loops
        self._cuts: frozenset[str] = frozenset(r.name for r in self.rules if r.cuts)
        # rules that join them
        self._joins: frozenset[str] = frozenset(r.name for r in self.rules if r.joins)
        # whether rules propose instances of instructions
        self._instructs: bool = any(r.instruction is not None for r in self.rules)
        # whether a rule says that what only writes dead elements does nothing
        self._drops_dead: bool = any(r.name == "noop.dead" for r in self.rules)
        self._expr_rules: tuple[tuple[str, ExprProposal], ...] = tuple(
            (r.name, r.propose_expr) for r in self.rules if r.propose_expr is not None
        )
        self._asking: dict[str, Rule] = {r.name: r for r in self.rules if r.question is not None}
        self._nests: Repeated[Part] = Repeated(self.contexts)

    @property
    def tables(self) -> Tables:
        return self.numbering.tables

    def expand_number(self, facts: int, number: int, permissions: int) -> None:
        """`expand` for a term that rewriting has created."""
        if number in self._parts and (facts, number, permissions) not in self._done:
            self.expand(facts, self._parts[number], permissions)

    def answer_division(self, facts: int, number: int, divisor: int) -> None:
        """Answer what the quotient of a division is that rewriting has created, if it is always the same."""
        key = (facts, number, divisor)
        if key in self._divisions or divisor == 0 or facts == IMPOSSIBLE:
            return
        self._divisions.add(key)
        dividend = self.numbering.exprs[number]
        quotient = Binary("floordiv", dividend, Const(divisor, dividend.dtype))
        value = self.contexts.constant(facts, quotient)
        if value is not None:
            self.tables["k_div"].append((*key, value))

    @property
    def folds(self) -> int:
        """How many operations on known values have been answered."""
        return len(self._folds)

    def answer_fold(self, table: str, cells: tuple[Cell, ...]) -> None:
        """Answer what an operation on known values gives, if it is one number wherever it is computed."""
        key = (table, *cells)
        if key in self._folds:
            return
        self._folds.add(key)
        found = self.contexts.computed(_operation(table, cells))
        if found is not None:
            self._value_row(table.removeprefix("ask_"), (*cells, found.dtype.value), found)

    def answer_rule(self, facts: int, name: str, cells: tuple[int, ...]) -> None:
        """Answer whether the side condition of a rule holds where its pattern was found."""
        key = (name, facts, *cells)
        if key in self._rule_questions or facts == IMPOSSIBLE:  # there all holds, and literals are those of all places
            return
        self._rule_questions.add(key)
        rule = self._asking[name]
        assert rule.question is not None
        terms = [self.numbering.exprs[n] for v, n in zip(rule.asked, cells, strict=False) if not isinstance(v, Number)]
        dtype = next(e.dtype for e in terms if len(terms) == 1 or e.dtype is not DType.BOOL)
        values = {
            cast(Var, v).name: Const(n, dtype) if isinstance(v, Number) else self.numbering.exprs[n]
            for v, n in zip(rule.asked, cells, strict=False)
        }
        if self.contexts.truth(facts, instantiate(rule.question, values, dtype)):
            self.tables["holds_rule"].append(key)

    def expand(self, facts: int, part: Part, permissions: int, *, question: bool = False, within: bool = False) -> None:
        """Emit rows for a statement in a context and for all that pushing reaches from it.

        Inside a question ("is this a no-op here?") no further ones are asked: a branch is a no-op if both arms are.
        A sequence `within` a longer one is seen by rules as part of the whole only.
        """
        key = (facts, part.number, permissions)
        level = 2 if question else 1 if within and isinstance(part.stmt, Seq) else 0
        if part.number == 0:  # nothing is to be said of nothing
            return
        if facts == IMPOSSIBLE or (key in self._done and self._done[key] <= level):
            self.contexts.conflicts += key in self._disputed
            return
        self._done[key] = level
        conflicts = self.contexts.conflicts
        if not question and self._is_outermost(facts, part) and self._repeats(facts, part, permissions):
            return
        self._look_into(facts, part, permissions, level)
        if self.contexts.conflicts > conflicts:
            self._disputed.add(key)
        elif not question:
            self.contexts.agree(facts, permissions, part.stmt)

    def _is_outermost(self, facts: int, part: Part) -> bool:
        outermost = self.twins and isinstance(part.stmt, For) and not self.contexts.facts(facts).scope
        return outermost and not has_kind(part.stmt, Assert)  # which names its own line

    def _repeats(self, facts: int, part: Part, permissions: int) -> bool:
        """Whether a nest is another one but for its buffers; then that one says all of it."""
        names = tuple(name for _, _, name in _bindings(part))
        twin = self._nests.twin(facts, permissions, part.stmt, names)
        if twin is None:
            self._nests.add(facts, permissions, part.stmt, names, part)
            return False
        key = facts, part.number, permissions
        there = twin.first.facts, twin.first.kept.number, twin.first.permissions
        self.numbering.repeats[key] = len(self.numbering.twins)
        self.tables["twin"].append((*key, len(self.numbering.twins), *there))
        self.numbering.twins.append(twin)
        if there in self._disputed:
            self.contexts.conflicts += 1
            self._disputed.add(key)
        else:
            self.contexts.agree(facts, permissions, part.stmt)
        return True

    def _look_into(self, facts: int, part: Part, permissions: int, level: int) -> None:
        """Emit rows for a statement; `level` says what is asked (see `expand`)."""
        key, question = (facts, part.number, permissions), level == 2
        self._parts.setdefault(part.number, part)
        if part.name:
            self.names.setdefault((facts, part.number), part.name)
        if self.contexts.only_writes_dead(facts, permissions, part.stmt):
            self.tables["only_writes_dead"].append(key)
            if self._drops_dead:
                return
        settled, others = self._propose(facts, part, permissions) if level == 0 else (False, [])
        if not settled:  # first the program as it is: what is known there must not wait for all that loops may become
            self._look_within(facts, part, permissions, question=question)
        for other in others:
            self.expand(facts, other, permissions)

    def _look_within(self, facts: int, part: Part, permissions: int, *, question: bool) -> None:
        """Emit rows for the parts of a statement."""
        match part.stmt:
            case Seq(stmts=(_, _)):
                self._expand_sequence(facts, part, permissions, question)
            case If():
                self._expand_branch(facts, part, permissions, question)
            case For() as loop:
                self._exprs(facts, loop.start, loop.extent)
                inside, dead = self.contexts.loop(facts, permissions, loop)
                self.tables["f_for"].append((*_key(facts, permissions, part), inside))
                self.tables["d_for"].append((*_key(facts, permissions, part), dead))
                self.expand(inside, part.parts[0], dead, question=question)
            case Let() as let:
                self._exprs(facts, let.value)
                inside = self.contexts.let(facts, let)
                self.tables["f_let"].append((facts, part.number, inside))
                self.expand(inside, part.parts[0], permissions, question=question)
            case Alloc() as alloc:
                inside, dead = self.contexts.alloc(facts, permissions, alloc)
                self.tables["f_alloc"].append((*_key(facts, permissions, part), inside))
                self.tables["d_alloc"].append((*_key(facts, permissions, part), dead))
                self.expand(inside, part.parts[0], dead, question=question)
            case Store() as store:
                self._expand_store(facts, part.number, store)
            case Block():
                self.expand(facts, part.parts[0], permissions, question=question)
            case Assume() | Assert() | Evaluate():
                if self.contexts.harmless(facts, part.stmt):
                    self.tables["without_effect"].append((facts, part.number))
            case _:
                pass  # skip

    def _propose(self, facts: int, part: Part, permissions: int) -> tuple[bool, list[Part]]:
        """Let rules over statements say what else the statement equals here; whether one of them settles it."""
        others: list[Part] = []
        if part.number == 0 or self.contexts.over():
            return False, others
        settled = False
        here = Here(self.contexts, facts, permissions)
        again = self.contexts.facts(facts).priority is Priority.PERMISSIONS
        said = self.contexts.proposed_at(facts, permissions, part.stmt)
        for name, propose in self._statement_rules:
            if name in self._cuts and self.deferred:  # what they say is known to be something, and is for later
                continue
            if name in self._joins and again:  # most of it has been looked at, and it comes to the next search
                continue
            for new in () if self._is_held_back(name) else self._said(said, name, propose, part.stmt, here):
                if name in self._cuts and not self.cuts:
                    self.deferred = True
                    break
                other = self.numbering.number(new, here.depth, AuthorNames.of(_bindings(part)))
                if other.number != part.number:
                    self.tables["same"].append((facts, part.number, permissions, other.number))
                    self.applied[facts, part.number, permissions].append((other, name))
                    self.matches[name] += 1
                    if name in self._speculating and isinstance(part.stmt, If) and isinstance(other.stmt, If):
                        self._take_arms(facts, part, other, permissions)
                    others.append(other)
                    settled |= other.number == 0  # nothing is better than nothing
                    settled |= name in self._settling and self._settling[name](part.stmt, other.stmt, self._instructs)
        return settled, others

    def _said(self, said: Said, name: str, propose: Proposal, stmt: Stmt, here: Here) -> Iterable[Stmt]:
        """What a rule proposes at a place; places of an earlier search with these contexts are not looked at again."""
        found = said.get(name)
        if found is None:
            conflicts = self.contexts.conflicts
            proposed = tuple(self._truly(new, here) for new in propose(stmt, here))
            said[name] = proposed, self.contexts.conflicts > conflicts
            return proposed
        self.contexts.conflicts += found[1]
        return found[0]

    def _truly(self, new: Stmt, here: Here) -> Stmt:
        """What a rule proposes; where it has looked into an instance of an instruction, that may be none any more."""
        return true_instances(new, here.domain) if self._instructs else new

    def _take_arms(self, facts: int, part: Part, other: Part, permissions: int) -> None:
        """Say that arms of a branch equal those of another one that it equals, under the same condition.

        Nothing more is asked of them there: what was asked of the first ones is the answer.
        """
        for inside, old, new in zip(self._split(facts, cast(If, part.stmt).cond), part.parts, other.parts, strict=True):
            if old.number != new.number and inside != IMPOSSIBLE:
                self.tables["same"].append((inside, old.number, permissions, new.number))
                self._done.setdefault((inside, new.number, permissions), 0)

    def _is_held_back(self, name: str) -> bool:
        """Whether a rule has made too many proposals; whether there is time is asked once a place."""
        limit = self.cuts if name in self._cuts and self.cuts else self.limit
        if self.matches[name] < limit:
            return False
        self.held_back[name] = limit
        return True

    def _expand_sequence(self, facts: int, part: Part, permissions: int, question: bool) -> None:
        first, second = part.parts
        between, dead = self.contexts.sequence(facts, permissions, first.stmt, second.stmt)
        self.tables["f_seq"].append((*_key(facts, permissions, part), between))
        self.tables["d_seq"].append((*_key(facts, permissions, part), dead))
        self.expand(facts, first, dead, question=question, within=True)
        self.expand(between, second, permissions, question=question, within=True)

    def _expand_branch(self, facts: int, part: Part, permissions: int, question: bool) -> None:
        stmt = cast(If, part.stmt)
        yes, no = part.parts
        self._exprs(facts, stmt.cond)
        arms = self._split(facts, stmt.cond)
        for inside, arm in zip(arms, (yes, no), strict=True):
            self.expand(inside, arm, permissions, question=question)
        if question or IMPOSSIBLE in arms or yes.number == no.number:
            return
        # Would the other arm do the same there, and may it run there at all?
        for inside, arm, other in zip(arms, (no, yes), (yes, no), strict=True):
            if not other.number and not self.contexts.may_do_nothing(inside, permissions, arm.stmt):
                continue
            if self.contexts.harmless(inside, arm.stmt):
                self.tables["may_run"].append((inside, arm.number))
                self.tables["want"].append((inside, arm.number, permissions))
                self.expand(inside, arm, permissions, question=True)
                for part in (yes, no) if yes.number and no.number else ():
                    self._expand_pinned(inside, part, permissions)

    def _expand_pinned(self, facts: int, part: Part, permissions: int) -> None:
        """Say what an arm is with variables that have one value here replaced by it: the other may be written so."""
        values = self._pinned(facts, all_exprs(part.stmt))
        if not values:
            return
        names = AuthorNames.of(_bindings(part))
        depth = len(self.contexts.facts(facts).scope)
        other = self.numbering.number(substitute(part.stmt, values), depth, names)
        self.tables["same"].append((facts, part.number, permissions, other.number))
        self.expand(facts, other, permissions, question=True)

    def _expand_pinned_expr(self, facts: int, arm: Expr) -> None:
        """The same for an arm of a selection."""
        values = self._pinned(facts, (arm,))
        if values:
            new = map_expr(substitute_expr(arm, values), folded)
            self.tables["same_expr"].append((facts, self.numbering.expr(arm), self.numbering.expr(new)))
            self.expand_expr(facts, new)

    def _pinned(self, facts: int, exprs: Iterable[Expr]) -> dict[Var, Expr]:
        """The variables of expressions that have one value here, and which."""
        free = free_vars(*exprs)
        known = {v: self.contexts.constant(facts, v) for v in self.contexts.facts(facts).scope if v in free}
        return {v: Const(value, v.dtype) for v, value in known.items() if value is not None}

    def _split(self, facts: int, cond: Expr) -> tuple[int, int]:
        number = self.numbering.expr(cond)
        yes, no = self.contexts.assume(facts, cond, True), self.contexts.assume(facts, cond, False)
        self.tables["f_then"].append((facts, number, yes))
        self.tables["f_else"].append((facts, number, no))
        return yes, no

    def _split_in_name(self, facts: int, cond: Expr) -> tuple[int, int]:
        """Say of what stands under a condition, which tells nothing of it, just what is said outside."""
        number = self.numbering.expr(cond)
        self.tables["f_then"].append((facts, number, facts))
        self.tables["f_else"].append((facts, number, facts))
        return facts, facts

    def _expand_store(self, facts: int, number: int, store: Store) -> None:
        self._exprs(facts, *store.indices, store.value)
        old = self.contexts.contents(facts, store.buffer, store.indices)
        if isinstance(old, Const):
            self._value_row("old", (facts, number), old)
        elif old is not None and not isinstance(old, Undef):
            self.expand_expr(facts, Load(store.buffer, store.indices))  # what the store would write back

    def _follow(self, facts: int, number: int, holder: Buffer | Var, value: Expr | None) -> None:
        """Say which other expression an element of a buffer equals, or a name."""
        if value is None or isinstance(value, (Const, Undef)):
            return
        with self._trail.through(holder) as goes_on:
            other = self.numbering.expr(value) if goes_on else number
            if other != number:
                self.tables["same_expr"].append((facts, number, other))
                self._meet(facts, other, value)
                self.expand_expr(facts, value)

    def _meet(self, facts: int, number: int, told: Expr) -> None:
        """Say that an element which another one equals is one that the program names in another way."""
        if not isinstance(told, Load):
            return
        for load in self._loads.get((facts, told.buffer), ()):
            pairs = [(i, j) for i, j in zip(told.indices, load.indices, strict=True) if not i.same(j)]
            if pairs and all(i.dtype is j.dtype and self.contexts.truth(facts, Binary("eq", i, j)) for i, j in pairs):
                self.tables["same_expr"].append((facts, number, self.numbering.expr(load)))
                return

    def _value_row(self, table: str, cells: tuple[Cell, ...], value: Const) -> None:
        if value.dtype.is_float:
            if self.numbering.is_known(float(value.value)):
                self.tables[f"{table}_flt"].append((*cells, float(value.value)))
        elif INT64_MIN <= int(value.value) <= INT64_MAX:
            self.tables[f"{table}_int"].append((*cells, int(value.value)))

    def _exprs(self, facts: int, *exprs: Expr) -> None:
        for expr in exprs:
            self.expand_expr(facts, expr)

    def expand_expr(self, facts: int, expr: Expr) -> None:
        """Answer what can be asked of an expression and of all its parts."""
        number = self.numbering.expr(expr)
        if facts == IMPOSSIBLE or (facts, number) in self._seen_exprs:
            return
        self._seen_exprs.add((facts, number))
        self._propose_expr(facts, number, expr)
        if not isinstance(expr, (Const, Undef)) and self.contexts.total(facts, expr):
            self.tables["total_"].append((facts, number))
        self._known(facts, number, expr)
        if (isinstance(expr, Call) or may_fail(expr)) and self.contexts.regular(facts, expr):
            self.tables["is_regular"].append((facts, number))
        match cast(AnyExpr, expr):
            case Load(buffer=buffer, indices=indices) as load:
                self._exprs(facts, *indices)
                if not self._trail.length:
                    self._loads[facts, buffer].append(load)
                self._follow(facts, number, buffer, self.contexts.contents(facts, buffer, indices))
                if self.contexts.is_number(facts, load):
                    self.tables["is_defined"].append((facts, number))
            case Call(args=args):
                self._exprs(facts, *args)
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                self.expand_expr(facts, a)
                self.expand_expr(self._split(facts, a)[0 if op == "and" else 1], b)
            case Binary(lhs=a, rhs=b):
                self._exprs(facts, a, b)
            case Select(cond=c, then=a, other=b):
                self._expand_select(facts, c, a, b)
            case Unary(operand=a) | Cast(operand=a):
                self.expand_expr(facts, a)
            case Var() as var:
                self._follow(facts, number, var, self.contexts.bound(facts, var))
            case Const() | Undef():
                pass
            case other:
                assert_never(other)

    def _known(self, facts: int, number: int, expr: Expr) -> None:
        """Say what value an expression has under these facts, if that is known."""
        if isinstance(expr, (Const, Undef)):
            return
        value: Value | None = None
        if expr.dtype is DType.BOOL:
            truth = self.contexts.truth(facts, expr)
            value = None if truth is None else Const(truth, DType.BOOL)
        else:
            value = self.contexts.value(facts, expr)
            if value is None and expr.dtype.is_integer and _may_have_one_value(expr):
                constant = self.contexts.constant(facts, expr)
                value = None if constant is None else Const(constant, expr.dtype)
        if isinstance(value, Const):
            self._value_row("k", (facts, number), value)

    def _propose_expr(self, facts: int, number: int, expr: Expr) -> None:
        """Let rules over expressions say what else the expression equals under these facts."""
        if not self._expr_rules or self.contexts.over():
            return
        here = Here(self.contexts, facts, NO_PERMISSION)
        for name, propose in self._expr_rules:
            for new in () if self._is_held_back(name) else propose(expr, here):
                # Where the expression always faults anything equals it, a number that its dtype does not hold as well.
                other = self.numbering.expr(new) if _is_in_range(new) else number
                if other != number:
                    self.tables["same_expr"].append((facts, number, other))
                    self.matches[name] += 1
                    self.expand_expr(facts, new)

    def _expand_select(self, facts: int, cond: Expr, then: Expr, other: Expr) -> None:
        self.expand_expr(facts, cond)
        if _compares_floats(cond) and _is_arithmetic(then) and _is_arithmetic(other):
            arms = self._split_in_name(facts, cond)
        else:
            arms = self._split(facts, cond)
        for inside, arm in zip(arms, (then, other), strict=True):
            self.expand_expr(inside, arm)
        if IMPOSSIBLE in arms:
            return
        for inside, arm in zip(arms, (other, then), strict=True):
            if _selections(arm) <= _MOST_ASKED and self.contexts.total(inside, arm):
                self.expand_expr(inside, arm)
                self.tables["may_select"].append((inside, self.numbering.expr(arm)))
                for part in (then, other):
                    self._expand_pinned_expr(inside, part)
                if has_loads(arm):  # it may be taken for both, and what is known of elements is more there
                    self.expand_expr(facts, arm)


def _compares_floats(cond: Expr) -> bool:
    """Whether a condition is a comparison of floats that are made of floats."""
    match cond:
        case Binary(lhs=a, rhs=b) if a.dtype.is_float:
            return _is_arithmetic(a) and _is_arithmetic(b)
        case _:
            return False


def _is_arithmetic(expr: Expr) -> bool:
    """Whether an expression is made of elements that are floats, and numbers, by sums and products: comparisons of
    floats say nothing of what it is, of where its elements are, or of whether it can be worked out."""
    match expr:
        case Load(indices=indices):
            return expr.dtype.is_float and not any(map(has_loads, indices))
        case Binary(op="add" | "sub" | "mul", lhs=a, rhs=b):
            return _is_arithmetic(a) and _is_arithmetic(b)
        case Unary(op="neg", operand=a):
            return _is_arithmetic(a)
        case Const():
            return expr.dtype.is_float
        case _:
            return False


def _selections(expr: Expr) -> int:
    """How many choices stand in an expression."""
    return sum(isinstance(e, Select) for e in walk_expr(expr)) if has_choices(expr) else 0


def _is_in_range(expr: Expr) -> bool:
    """Whether each integer in an expression is a value of its dtype."""
    return all(
        e.dtype.min <= e.value <= e.dtype.max for e in walk_expr(expr) if isinstance(e, Const) and e.dtype.is_integer
    )


def _may_have_one_value(expr: Expr) -> bool:
    """Whether sets are asked for the one value of an expression whose operands have several."""
    return isinstance(expr, (Call, Var)) or (isinstance(expr, Binary) and expr.op in _ASK_CONSTANT)


def _operation(table: str, cells: tuple[Cell, ...]) -> Expr:
    """The operation on numbers that a row of one of the engine's tables of questions asks for."""
    match table, cells:
        case "ask_bin_int" | "ask_bin_flt", (str(op), str(name), a, b):
            dtype = DType(name)
            return Binary(cast(BinaryOp, op), const(cast(float, a), dtype), const(cast(float, b), dtype))
        case "ask_un_int" | "ask_un_flt", (str(op), str(name), a):
            return Unary(cast(UnaryOp, op), const(cast(float, a), DType(name)))
        case "ask_cast_int", (str(name), a):  # an integer has one value, whatever dtype it is of
            return Cast(DType(name), const(cast(int, a), DType.INT64))
        case "ask_cast_flt", (str(name), a):
            return Cast(DType(name), const(cast(float, a), DType.FLOAT64))
        case _:
            raise ValueError(f"{table} asks for no operation")


def _bindings(part: Part) -> Iterator[tuple[Var, Stmt, str]]:
    """What a statement binds: variables in canonical form, what they are bound around, and the author's names."""
    if part.name and isinstance(part.stmt, (For, Let)):
        yield part.stmt.var, part.stmt.body, part.name
    for inner in part.parts:
        yield from _bindings(inner)


def _key(facts: int, permissions: int, part: Part) -> tuple[int, int, int]:
    return facts, permissions, part.number
