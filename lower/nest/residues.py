"""Sums modulo a number: the sum of residues, which the readers take modulo the number.

`s = (s + t) % m` cannot be put into another order as it stands. What it holds is congruent to the sum of all t, so
where the sum of their residues stays within the integers, it is a sum like others, with prefixes and blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Buffer, Const, Expr, Load
from ir.traverse import map_expr, reads
from lower.analysis.freedoms import Form
from lower.analysis.updates import as_update
from lower.analysis.value_ranges import AnyNumbers, bounds
from lower.nest.normalize import Program, mapped, read_by_bounds

RESIDUES = Form(
    "structure.residues",
    "s = (s + t) % m; f(s)  =  s = s + t % m; f(s % m)   for a local s",
    "sums are congruent to the sums of residues",
)


def sum_residues(program: Program) -> None:
    """Let locals that are sums modulo a number hold the sums, where these stay within the integers."""
    for local in list(program.depth):
        writers = [s for s in program.statements if s.buffer == local]
        found = {id(s): term for s in writers if (term := _residue(s)) is not None}
        numbers = {m for _, m in found.values()}
        if len(numbers) == 1 and local not in read_by_bounds(program.statements):
            (number,) = numbers
            starts = [s.store.value for s in writers if id(s) not in found]
            if all(_is_residue(e, number) for e in starts) and _fits(local, number, writers, found, program):
                _sum_up(program, local, number, {k: t for k, (t, _) in found.items()})


def _residue(s: Statement) -> tuple[Expr, int] | None:
    """What a statement adds to an element, and the number modulo which it does."""
    own = Load(s.buffer, s.store.indices)
    match s.store.value:
        case Binary(op="floormod", lhs=Binary(op="add", lhs=a, rhs=b), rhs=Const(value=int() as number)) if number > 0:
            term = b if a.same(own) else a if b.same(own) else None
            if term is None or s.tile is not None:
                return None
            others = (term, *s.store.indices, *s.guards)
            return None if reads(s.buffer, *others) else (term, number)
        case _:
            return None


def _is_residue(e: Expr, number: int) -> bool:
    return isinstance(e, Const) and 0 <= e.value < number


def _fits(
    local: Buffer, number: int, writers: Iterable[Statement], found: dict[int, tuple[Expr, int]], program: Program
) -> bool:
    """Whether sums of as many residues as are ever added stay within the integers, as each sum of the program does."""
    most = float(number)
    for s in writers:
        if id(s) in found:
            steps = [_steps(loop) for loop in s.loops[program.depth[local] :]]
            if None in steps or not _exact(found[id(s)][0], number, local):
                return False
            most += number * prod(n for n in steps if n is not None)
    return most < float(local.dtype.max)


def _steps(loop: Loop) -> int | None:
    return loop.extent.value if isinstance(loop.extent, Const) and isinstance(loop.extent.value, int) else None


def _exact(term: Expr, number: int, local: Buffer) -> bool:
    """Whether adding a term to a residue never goes around: signed integers may not, unsigned ones do."""
    if local.dtype.is_signed:
        return True
    found = bounds(term, AnyNumbers({}))
    return found is not None and found[0] >= 0 and found[1] + number <= local.dtype.max


def _sum_up(program: Program, local: Buffer, number: int, terms: dict[int, Expr]) -> None:
    """Let a local hold the sums of terms, by their statements, and its readers take these modulo a number."""

    def residue(e: Expr) -> Expr:
        return map_expr(e, lambda x: _modulo(x, number) if isinstance(x, Load) and x.buffer == local else x)

    for k, s in enumerate(program.statements):
        if id(s) in terms:
            value = Binary("add", Load(local, s.store.indices), _within(terms[id(s)], number))
            new = replace(s, store=replace(s.store, value=value))
        elif any(load.buffer == local for load in s.reads()):
            new = mapped(s, residue)
        else:
            continue
        program.statements[k] = as_update(new, program.policy)


def _modulo(e: Expr, number: int) -> Expr:
    return Binary("floormod", e, Const(number, e.dtype))


def _within(term: Expr, number: int) -> Expr:
    """A term as a residue, which it may be already."""
    found = bounds(term, AnyNumbers({}))
    return term if found is not None and found[0] >= 0 and found[1] < number else _modulo(term, number)
