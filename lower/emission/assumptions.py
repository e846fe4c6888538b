"""What a program rests on: its assumptions and assertions, with the loops and conditions around them.

An assumption on elements that neither the program as written nor its optimized form looks at is of no use to anybody:
whatever a caller hands in there, other elements that satisfy it give the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import cast

from msgspec.structs import replace

from egraph_rules.search.erase import erase
from ir.analysis.conditions import disjuncts
from ir.analysis.contents import Regions
from ir.analysis.effects import EffectAnalysis, get, unite
from ir.nodes import (
    SKIP,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Unary,
    seq,
)
from ir.presburger import sets as presburger
from ir.printing.printer import to_script
from ir.program.blocks import lower_blocks
from ir.traverse import all_exprs, buffers_written, has_undef, is_const, stmt_children, walk


def assumptions_of(func: PrimFunc) -> tuple[str, ...]:
    """A line for each assumption and assertion of the program as it was written, in order."""
    return tuple(_found(lower_blocks(func.as_written).body, (), ()))


def _found(stmt: Stmt, ranges: tuple[str, ...], under: tuple[str, ...]) -> Iterator[str]:
    match cast(AnyStmt, stmt):
        case Assume(cond=cond) if has_undef(cond):
            return  # a permission, which asks nothing of the caller
        case Assume(cond=cond, span=span) | Assert(cond=cond, span=span):
            all_ = f" for all {', '.join(ranges)}" if ranges else ""
            where = f", where {' and '.join(under)}" if under else ""
            place = "" if span is None else f" ({PurePath(span.file).name}:{span.line})"
            yield f"{to_script(cond)}{all_}{where}{place}"
        case For(var=var, start=start, extent=extent, body=body):
            stop = extent if is_const(start, 0) else start + extent
            yield from _found(body, (*ranges, f"{to_script(start)} <= {var.name} < {to_script(stop)}"), under)
        case Let(var=var, value=value, body=body):
            yield from _found(body, ranges, (*under, f"{var.name} = {to_script(value)}"))
        case If(cond=cond, then=then, other=other):
            yield from _found(then, ranges, (*under, to_script(cond)))
            yield from _found(other, ranges, (*under, to_script(Unary("not", cond))))
        case _:
            for child in stmt_children(stmt):
                yield from _found(child, ranges, under)


def demanded(func: PrimFunc) -> PrimFunc:
    """The program as it was written, without assumptions on elements that no result depends on."""
    written, best = (replace(f, body=lower_blocks(f).body) for f in (func.as_written, func))
    nests = list(assumption_nests(written.body))
    steady = set(written.buffers) - buffers_written(written.body)
    claims = [(nest, claim) for nest in nests if (claim := _claim(nest)) is not None and claim[0] in steady]
    if not claims:
        return func.as_written

    def question() -> list[Stmt]:
        seen = unite(*(EffectAnalysis().of(erase(f.body)).reads for f in (written, best)))
        return [nest for nest, claim in claims if _idle(nest, claim, nests, seen)]

    idle = presburger.within_budget(question, [])
    return replace(written, body=_without(written.body, idle)) if idle else func.as_written


def assumption_nests(stmt: Stmt) -> Iterator[Stmt]:
    """The parts of a program that assume something whatever the program does, and do nothing else."""
    if isinstance(stmt, Seq | Alloc):
        for part in stmt_children(stmt):
            yield from assumption_nests(part)
    elif _only_assumes(stmt):
        yield stmt


def _only_assumes(stmt: Stmt) -> bool:
    if isinstance(stmt, For | If | Let | Seq):
        parts = [s for s in stmt_children(stmt) if s is not SKIP]
        return bool(parts) and all(map(_only_assumes, parts))
    return isinstance(stmt, Assume)


Claim = tuple[Buffer, Const]


def _claim(nest: Stmt) -> Claim | None:
    """The buffer of which a nest says only that some elements are a number, as any caller can see to."""
    conds = [s.cond for s in walk(nest) if isinstance(s, Assume)]
    told = [told for part in disjuncts(conds[0]) if (told := _told(part)) is not None] if len(conds) == 1 else []
    if len(told) != 1:
        return None
    read = [e.buffer for e in all_exprs(nest) if isinstance(e, Load)]
    return told[0] if read.count(told[0][0]) == 1 else None


def _told(cond: Expr) -> Claim | None:
    match cond:
        case Binary(op="eq", lhs=Load(buffer=buffer), rhs=Const() as value):
            return buffer, value
        case Binary(op="eq", lhs=Const() as value, rhs=Load(buffer=buffer)):
            return buffer, value
        case _:
            return None


def _idle(nest: Stmt, claim: Claim, nests: Sequence[Stmt], seen: Regions) -> bool:
    """Whether nobody looks at what a nest is about: no statement, and no assumption that says something else of it."""
    others = [EffectAnalysis().of(n).reads for n in nests if n is not nest and _claim(n) != claim]
    region = get(EffectAnalysis().of(nest).reads, claim[0])
    return region.intersect(get(unite(seen, *others), claim[0])).is_empty()


def _without(stmt: Stmt, nests: Sequence[Stmt]) -> Stmt:
    """A program without some of its `assumption_nests`."""
    if any(stmt is nest for nest in nests):
        return SKIP
    match stmt:
        case Seq(stmts=stmts):
            return seq(*(_without(s, nests) for s in stmts), span=stmt.span)
        case Alloc(body=body):
            return replace(stmt, body=_without(body, nests))
        case _:
            return stmt
