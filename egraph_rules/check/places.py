"""Every place of a program with its context, and programs with something else put there."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, GeneratorType
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rule import Rule
from egraph_rules.contexts.context import IMPOSSIBLE, NO_PERMISSION, Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.search.blocks import places_inside
from egraph_rules.search.extract import Place
from egraph_rules.search.numbering import Numbering, Part
from ir.analysis.effects import EffectAnalysis
from ir.nodes import (
    FALSE,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Buffer,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Stmt,
    Store,
    Var,
)
from ir.presburger.facts import entry_facts
from ir.program.edit import Path, statement_at, with_statement_at
from ir.testing.refinement import REACHED
from ir.traverse import all_exprs, children, map_stmt, rebuilt, substitute_expr, with_children


class Rewritten(Struct, frozen=True):
    """A program as it was read, and one in which a rule was applied at one place.

    `probe` makes the original with a failing assertion at that place. `way` is the line of the rule's function that
    yielded the replacement.
    """

    original: PrimFunc
    rewritten: PrimFunc
    probe: Callable[[], PrimFunc]
    way: int


class Prepared:
    """A program in canonical form with its contexts, which rules that are checked one after the other share."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        followed = {e.buffer for e in all_exprs(func.body) if isinstance(e, Load)}
        self.numbering, self.contexts = Numbering(), Contexts(EffectAnalysis(followed=followed))
        self.part = self.numbering.number(func.body)
        entry = entry_facts(func)
        self.roots = {priority: self.contexts.root(entry, priority) for priority in Priority}

    def applications(self, rule: Rule, priority: Priority, answers: Answers | None = None) -> Iterator[Rewritten]:
        """The programs that a rule over statements or expressions makes of this one, a place each.

        `answers` collects what the rule asks of its places.
        """
        walker = _Walker(self.numbering, self.contexts, rule, answers)
        for path, new, way in walker.proposals(self.part, self.roots[priority], NO_PERMISSION):
            if new != statement_at(self.part.stmt, path):
                changed = with_statement_at(self.part.stmt, path, new)
                before, after = self._func(self.part.stmt), self._func(changed)
                yield Rewritten(before, after, lambda path=path: self._probe(path), way)

    def _func(self, body: Stmt) -> PrimFunc:
        return replace(self.func, body=readable(body))

    def _probe(self, path: Path) -> PrimFunc:
        return self._func(with_statement_at(self.part.stmt, path, Assert(FALSE, REACHED)))


Answers = dict[tuple[str, int], set[bool]]  # by file and line of a question: whether the condition held, or did not


class _Asked(Here, frozen=True):
    """A place that remembers what it was asked, and whether the condition held."""

    answers: Answers

    def _said(self, holds: bool) -> bool:
        frame = inspect.currentframe()
        for _ in range(2):  # out of this function and the one that was asked
            frame = None if frame is None else frame.f_back
        if frame is not None:
            self.answers.setdefault((frame.f_code.co_filename, frame.f_lineno), set()).add(holds)
        return holds

    def truth(self, cond: Expr) -> bool | None:
        """As of any place."""
        found = self.contexts.truth(self.facts, cond)
        self._said(found is not None)
        return found

    def decided(self, expr: Expr) -> bool:
        """As of any place."""
        return self._said(self.contexts.decided(self.facts, expr))

    def in_bounds(self, buffer: Buffer, indices: tuple[Expr, ...]) -> bool:
        """As of any place."""
        return self._said(self.contexts.in_bounds(self.facts, buffer, indices))


class _Walker(Struct):
    numbering: Numbering
    contexts: Contexts
    rule: Rule
    answers: Answers | None

    def proposals(self, part: Part, facts: int, permissions: int) -> Iterator[tuple[Path, Stmt, int]]:
        """Paths to statements, what the rule says may stand there, and the line of its function that says so."""
        if facts == IMPOSSIBLE or part.number == 0:
            return
        here = self._here(facts, permissions)
        if self.rule.propose is not None:
            for new, way in _with_lines(self.rule.propose(part.stmt, here)):
                yield (), self.numbering.number(new, here.depth).stmt, way
        if self.rule.propose_expr is not None:
            for new, way in self._with_exprs(part.stmt, facts):
                yield (), new, way
        inside = places_inside(part, Place(facts, part.number, permissions), self.contexts)
        for k, (child, at) in enumerate(zip(part.parts, inside, strict=True)):
            for path, new, way in self.proposals(child, at.facts, at.permissions):
                yield (k, *path), new, way

    def _here(self, facts: int, permissions: int) -> Here:
        if self.answers is None:
            return Here(self.contexts, facts, permissions)
        return _Asked(self.contexts, facts, permissions, self.answers)

    # Expressions -----------------------------------------------------------------------------------------------------

    def _with_exprs(self, stmt: Stmt, facts: int) -> Iterator[tuple[Stmt, int]]:
        """A statement with one of the expressions that it holds itself replaced."""
        match cast(AnyStmt, stmt):
            case Store(indices=indices, value=value) as store:
                for k, index in enumerate(indices):
                    for new, way in self._exprs(index, facts):
                        yield replace(store, indices=(*indices[:k], new, *indices[k + 1 :])), way
                for new, way in self._exprs(value, facts):
                    yield replace(store, value=new), way
            case If() | Assume() | Assert() as holder:
                for new, way in self._exprs(holder.cond, facts):
                    yield replace(holder, cond=new), way
            case For(start=start, extent=extent) as loop:
                for new, way in self._exprs(start, facts):
                    yield replace(loop, start=new), way
                for new, way in self._exprs(extent, facts):
                    yield replace(loop, extent=new), way
            case Let() | Evaluate() as holder:
                for new, way in self._exprs(holder.value, facts):
                    yield replace(holder, value=new), way
            case _:
                pass

    def _exprs(self, expr: Expr, facts: int) -> Iterator[tuple[Expr, int]]:
        """An expression with one of its parts replaced."""
        if facts == IMPOSSIBLE:
            return
        assert self.rule.propose_expr is not None
        yield from _with_lines(self.rule.propose_expr(expr, self._here(facts, NO_PERMISSION)))
        parts = children(expr)
        for k, (part, inside) in enumerate(zip(parts, self._split(expr, facts), strict=True)):
            for new, way in self._exprs(part, inside):
                yield with_children(expr, (*parts[:k], new, *parts[k + 1 :])), way

    def _split(self, expr: Expr, facts: int) -> tuple[int, ...]:
        """The facts under which the parts of an expression are evaluated."""
        assume = self.contexts.assume
        match expr:
            case Binary(op="and" | "or" as op, lhs=a):
                return facts, assume(facts, a, op == "and")
            case Select(cond=c):
                return facts, assume(facts, c, True), assume(facts, c, False)
            case _:
                return tuple(facts for _ in children(expr))


N = TypeVar("N")


def _with_lines(proposals: Iterable[N]) -> Iterator[tuple[N, int]]:
    """What a rule's function yields, with the line of the function at which it does; 0 if it is no generator."""
    for new in proposals:
        frame = proposals.gi_frame if isinstance(proposals, GeneratorType) else None
        yield new, 0 if frame is None else frame.f_lineno


def ways(rule: Rule) -> frozenset[int]:
    """The lines at which a rule's function yields: in so many ways the rule applies."""
    function = rule.propose or rule.propose_expr
    if not isinstance(function, FunctionType) or not inspect.isgeneratorfunction(function):
        return frozenset()
    found = (i.positions for i in dis.get_instructions(function) if i.opname == "YIELD_VALUE")
    return frozenset(p.lineno for p in found if p is not None and p.lineno is not None)


def readable(stmt: Stmt) -> Stmt:
    """A canonical statement with names that can be written, and flat sequences."""
    return map_stmt(_named(stmt, {}, 0))


_NAMES = "ijklmqrtuvwxyz"


def _named(stmt: Stmt, names: dict[Var, Expr], depth: int) -> Stmt:
    match stmt:
        case For(var=var) | Let(var=var):
            new = Var(_NAMES[depth] if depth < len(_NAMES) else f"i{depth}", var.dtype)
            inner = _named(stmt.body, {**names, var: new}, depth + 1)
            if isinstance(stmt, Let):
                return Let(new, substitute_expr(stmt.value, names), inner)
            start, extent = substitute_expr(stmt.start, names), substitute_expr(stmt.extent, names)
            return For(new, start, extent, inner, stmt.kind, stmt.annotations)
        case _:
            return rebuilt(stmt, lambda e: substitute_expr(e, names), lambda s: _named(s, names, depth))
