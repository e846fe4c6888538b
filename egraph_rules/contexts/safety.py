"""Why a statement might fault where it did not run before: the innermost doubts, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from egraph_rules.contexts.context import IMPOSSIBLE, NO_PERMISSION, Contexts
from ir.nodes import Alloc, Assert, Assume, Block, Evaluate, Expr, For, If, Let, Load, Seq, Stmt, Store

Text = Callable[[Expr], str]


def doubts(contexts: Contexts, facts: int, stmt: Stmt, text: Text) -> Iterator[str]:
    """What stands in the way of `Contexts.harmless`, outermost first; nothing if it holds."""
    if facts == IMPOSSIBLE or contexts.harmless(facts, stmt):
        return
    match stmt:
        case Store(buffer=buffer, indices=indices, value=value):
            if not contexts.in_bounds(facts, buffer, indices):
                yield f"`{text(Load(buffer, indices))}` is not known to be inside its buffer"
            yield from _evaluating(contexts, facts, (*indices, value), text)
        case Seq(stmts=(first, second)):
            yield from doubts(contexts, facts, first, text)
            yield from doubts(contexts, contexts.sequence(facts, NO_PERMISSION, first, second)[0], second, text)
        case If(cond=cond, then=yes, other=no):
            yield from _evaluating(contexts, facts, (cond,), text)
            for truth, arm in ((True, yes), (False, no)):
                yield from doubts(contexts, contexts.assume(facts, cond, truth), arm, text)
        case For(start=start, extent=extent, body=body) as loop:
            yield from _evaluating(contexts, facts, (start, extent), text)
            yield from doubts(contexts, contexts.loop(facts, NO_PERMISSION, loop)[0], body, text)
        case Let(value=value, body=body) as let:
            yield from _evaluating(contexts, facts, (value,), text)
            yield from doubts(contexts, contexts.let(facts, let), body, text)
        case Alloc(body=body) as alloc:
            yield from doubts(contexts, contexts.alloc(facts, NO_PERMISSION, alloc)[0], body, text)
        case Block(body=body):
            yield from doubts(contexts, facts, body, text)
        case Assume(cond=cond) | Assert(cond=cond):
            yield f"`{text(cond)}` is not known to hold"
        case Evaluate(value=value):
            yield from _evaluating(contexts, facts, (value,), text)
        case _:
            pass


def _evaluating(contexts: Contexts, facts: int, exprs: tuple[Expr, ...], text: Text) -> Iterator[str]:
    for expr in exprs:
        if not contexts.total(facts, expr):
            yield f"evaluating `{text(expr)}` may fault"
