"""Every place of a program with its context, and programs with something else put there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

from egraph_rules.check.run import REACHED
from egraph_rules.context import IMPOSSIBLE, NO_PERMISSION, Contexts, Priority
from egraph_rules.encode import Numbering, Part
from egraph_rules.optimize import entry_facts
from egraph_rules.proposal import Here
from egraph_rules.rule import Rule
from ir.analysis.effects import EffectAnalysis
from ir.nodes import (
    FALSE,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    seq,
)
from ir.traverse import children, map_stmt, substitute_expr, with_children

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A program as it was read, and one in which a rule was applied at one place.

    `probe` makes the original with a failing assertion at that place.
    """

    original: PrimFunc
    rewritten: PrimFunc
    probe: Callable[[], PrimFunc]


class Prepared:
    """A program in canonical form with its contexts, which rules that are checked one after the other share."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.numbering, self.contexts = Numbering(), Contexts(EffectAnalysis())
        self.part = self.numbering.number(func.body)
        entry = entry_facts(func)
        self.roots = {priority: self.contexts.root(entry, priority) for priority in Priority}

    def applications(self, rule: Rule, priority: Priority) -> Iterator[Rewritten]:
        """The programs that a rule over statements or expressions makes of this one, a place each."""
        walker = _Walker(self.numbering, self.contexts, rule)
        for path, new in walker.proposals(self.part, self.roots[priority], NO_PERMISSION):
            changed = _with(self.part.stmt, path, new)
            if changed != self.part.stmt:
                yield Rewritten(self._func(self.part.stmt), self._func(changed), lambda path=path: self._probe(path))

    def _func(self, body: Stmt) -> PrimFunc:
        return replace(self.func, body=readable(body))

    def _probe(self, path: Path) -> PrimFunc:
        return self._func(_with(self.part.stmt, path, Assert(FALSE, REACHED)))


@dataclass(slots=True)
class _Walker:
    numbering: Numbering
    contexts: Contexts
    rule: Rule

    def proposals(self, part: Part, facts: int, permissions: int) -> Iterator[tuple[Path, Stmt]]:
        """Paths to statements, and what the rule says may stand there."""
        if facts == IMPOSSIBLE or part.number == 0:
            return
        here = Here(self.contexts, facts, permissions)
        if self.rule.propose is not None:
            for new in self.rule.propose(part.stmt, here):
                yield (), self.numbering.number(new, here.depth).stmt
        if self.rule.propose_expr is not None:
            for new in self._with_exprs(part.stmt, facts):
                yield (), new
        for k, (child, inside, dead) in enumerate(self._inside(part, facts, permissions)):
            for path, new in self.proposals(child, inside, dead):
                yield (k, *path), new

    def _inside(self, part: Part, facts: int, permissions: int) -> list[tuple[Part, int, int]]:
        contexts = self.contexts
        match part.stmt:
            case Seq(stmts=(first, second)):
                between, dead = contexts.sequence(facts, permissions, first, second)
                inner = ((facts, dead), (between, permissions))
            case If(cond=cond):
                inner = tuple((contexts.assume(facts, cond, truth), permissions) for truth in (True, False))
            case For() as loop:
                inner = (contexts.loop(facts, permissions, loop),)
            case Let() as let:
                inner = ((contexts.let(facts, let), permissions),)
            case Alloc() as alloc:
                inner = (contexts.alloc(facts, permissions, alloc),)
            case Block():
                inner = ((facts, permissions),)
            case _:
                inner = ()
        return [(child, *context) for child, context in zip(part.parts, inner, strict=True)]

    # Expressions -----------------------------------------------------------------------------------------------------

    def _with_exprs(self, stmt: Stmt, facts: int) -> Iterator[Stmt]:
        """A statement with one of the expressions that it holds itself replaced."""
        match cast(AnyStmt, stmt):
            case Store(indices=indices, value=value) as store:
                for k, index in enumerate(indices):
                    for new in self._exprs(index, facts):
                        yield replace(store, indices=(*indices[:k], new, *indices[k + 1 :]))
                for new in self._exprs(value, facts):
                    yield replace(store, value=new)
            case If() | Assume() | Assert() as holder:
                for new in self._exprs(holder.cond, facts):
                    yield replace(holder, cond=new)
            case For(start=start, extent=extent) as loop:
                for new in self._exprs(start, facts):
                    yield replace(loop, start=new)
                for new in self._exprs(extent, facts):
                    yield replace(loop, extent=new)
            case Let() | Evaluate() as holder:
                for new in self._exprs(holder.value, facts):
                    yield replace(holder, value=new)
            case _:
                pass

    def _exprs(self, expr: Expr, facts: int) -> Iterator[Expr]:
        """An expression with one of its parts replaced."""
        if facts == IMPOSSIBLE:
            return
        assert self.rule.propose_expr is not None
        yield from self.rule.propose_expr(expr, Here(self.contexts, facts, NO_PERMISSION))
        parts = children(expr)
        for k, (part, inside) in enumerate(zip(parts, self._split(expr, facts), strict=True)):
            for new in self._exprs(part, inside):
                yield with_children(expr, (*parts[:k], new, *parts[k + 1 :]))

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


def _with(stmt: Stmt, path: Path, new: Stmt) -> Stmt:
    """A statement with the one at a path replaced; paths go through canonical sequences of two parts."""
    if not path:
        return new
    match stmt:
        case Seq(stmts=stmts):
            parts = tuple(_with(s, path[1:], new) if k == path[0] else s for k, s in enumerate(stmts))
            return replace(stmt, stmts=parts)
        case If(then=yes, other=no):
            if path[0] == 0:
                return replace(stmt, then=_with(yes, path[1:], new))
            return replace(stmt, other=_with(no, path[1:], new))
        case For(body=body) | Let(body=body) | Alloc(body=body) | Block(body=body):
            return replace(stmt, body=_with(body, path[1:], new))
        case _:
            raise ValueError(f"no statement inside {type(stmt).__name__}")


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
        case Seq(stmts=stmts):
            return seq(*(_named(s, names, depth) for s in stmts))
        case If(cond=cond, then=yes, other=no):
            return If(substitute_expr(cond, names), _named(yes, names, depth), _named(no, names, depth))
        case Alloc(body=body) | Block(body=body):
            return replace(stmt, body=_named(body, names, depth))
        case _:
            return map_stmt(stmt, lambda e: substitute_expr(e, names))
