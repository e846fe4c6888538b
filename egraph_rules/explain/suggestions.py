"""What would have to be known for two arms of a branch to agree, as assumptions that a search can then try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from egraph_rules.explain.asking import Wish
from egraph_rules.explain.derivation import printed
from egraph_rules.explain.sites import Site
from ir.analysis.conditions import negate
from ir.dtypes import DType
from ir.nodes import SKIP, Assume, Binary, Const, Expr, For, If, Load, Seq, Stmt, Store, Unary, Undef, const
from ir.operators import combines, neutral
from ir.printing.printer import to_script
from ir.traverse import all_exprs, buffers_written, free_vars, map_stmt, stores_in, substitute_expr, walk_expr

if TYPE_CHECKING:
    from egraph_rules.search.numbering import Part

_MOST = 12  # assumptions to propose


def differing(site: Site, cond: Expr, kept: Part, other: Part, then: bool) -> tuple[str, list[Wish]]:
    """Why an arm may not run where the condition chooses the other one, and what would let it.

    `then` says that the arm is the one that runs where `cond` holds.
    """
    arm, instead = printed(kept, site.env), printed(other, site.env)
    runs = substitute_expr(cond, site.env)
    runs = runs if then else negate(runs)
    where = f"where `{to_script(cond_text(site, cond))}` {'does not hold' if then else 'holds'}"
    wishes = [*list(_claims(arm, instead, runs, where))[:_MOST], *_arbitrary(arm, instead, runs, where)]
    loads = dict.fromkeys(to_script(w) for w, _, _ in _inputs(arm, (), ()))
    effect = "nothing" if not other.number else "what the other arm does"
    unknown = f" (unknown there: {', '.join(loads)})" if loads else ""
    return f"{where}, the arm that is kept does {effect}{unknown}", wishes


def disagreeing(site: Site, cond: Expr, kept: Expr, other: Expr, then: bool) -> tuple[str, list[Wish]]:
    """The same for the operands of a selection."""
    cond, kept, other = (substitute_expr(e, site.env) for e in (cond, kept, other))
    where = f"where `{to_script(cond)}` {'does not hold' if then else 'holds'}"
    runs = cond if then else negate(cond)
    wishes: list[Wish] = []
    for load, value in ((kept, other), (other, kept)):
        if isinstance(load, Load) and isinstance(value, Const):
            claim = Assume(Binary("or", runs, Binary("eq", load, value)))
            wishes.append(Wish(f"{to_script(load)} is {to_script(value)} {where}", claim))
    return f"{where}, `{to_script(kept)}` and `{to_script(other)}` agree", wishes


def cond_text(site: Site, cond: Expr) -> Expr:
    """A condition in the author's names."""
    return substitute_expr(cond, site.env)


def _claims(arm: Stmt, instead: Stmt, runs: Expr, where: str) -> Iterator[Wish]:
    """For each element that the arm reads, the values that might make it do nothing."""
    for load, loops, guards in _inputs(arm, (), ()):
        for value in _values(arm, instead, load.dtype):
            cond: Expr = runs
            for guard in guards:
                cond = Binary("or", cond, negate(guard))
            claim: Stmt = Assume(Binary("or", cond, Binary("eq", load, value)))
            for loop in reversed(loops):
                claim = For(loop.var, loop.start, loop.extent, claim)
            yield Wish(f"{to_script(load)} is {to_script(value)} {where}", claim)


def _arbitrary(arm: Stmt, instead: Stmt, runs: Expr, where: str) -> Iterator[Wish]:
    """That nobody looks at what the arm would write, where the condition tells which elements these are."""
    stores = [*stores_in(arm)]
    told = all(free_vars(runs) <= free_vars(*s.indices) for s in stores)
    if instead == SKIP and told:
        havoc = map_stmt(arm, on_stmt=lambda s: replace(s, value=Undef(s.value.dtype)) if isinstance(s, Store) else s)
        names = ", ".join(sorted({s.buffer.name for s in stores}))
        yield Wish(f"{where}, what {names} holds does not matter", after=If(negate(runs), havoc, SKIP))


def _inputs(
    stmt: Stmt, loops: tuple[For, ...], guards: tuple[Expr, ...]
) -> Iterator[tuple[Load, tuple[For, ...], tuple[Expr, ...]]]:
    """The elements that stores read of buffers which the statement does not write, with what is around them."""
    yield from _reads(stmt, frozenset(b.name for b in buffers_written(stmt)), loops, guards)


def _reads(
    stmt: Stmt, written: frozenset[str], loops: tuple[For, ...], guards: tuple[Expr, ...]
) -> Iterator[tuple[Load, tuple[For, ...], tuple[Expr, ...]]]:
    match stmt:
        case Store(value=value):
            seen: list[Load] = []
            for load in (e for e in walk_expr(value) if isinstance(e, Load)):
                if load.buffer.name not in written and not any(load.same(other) for other in seen):
                    seen.append(load)
                    yield load, loops, guards
        case Seq(stmts=stmts):
            for part in stmts:
                yield from _reads(part, written, loops, guards)
        case For(body=body) as loop:
            yield from _reads(body, written, (*loops, loop), guards)
        case If(cond=cond, then=yes, other=no):
            yield from _reads(yes, written, loops, (*guards, cond))
            yield from _reads(no, written, loops, (*guards, negate(cond)))
        case _:
            pass


def _values(arm: Stmt, instead: Stmt, dtype: DType) -> Sequence[Const]:
    """Numbers that leave what the arm's operators combine as it is, and those that the other arm stores."""
    found: list[Const] = []
    ops = dict.fromkeys(e.op for e in all_exprs(arm) if isinstance(e, (Binary, Unary)))
    numbers = [n for n in (neutral(op, dtype) for op in ops if combines(op, dtype)) if n is not None]
    numbers.sort(key=lambda n: n in (0, 1))  # those of sums and products work in more places, and need less to be said
    if dtype is not DType.BOOL:
        numbers += [0, 1]
    stored = [s.value for s in stores_in(instead)]
    for value in (*(const(n, dtype) for n in numbers), *stored):
        if isinstance(value, Const) and value.dtype is dtype and not any(value.same(known) for known in found):
            found.append(value)
    return found
