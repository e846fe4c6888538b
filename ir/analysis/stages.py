"""A stage and the nest it shall move to: where both stand, which buffers pass between them, what lies in the way.

A *stage* is the statement that holds a block and stands beside the other nest in one sequence. Owns the questions of
place; knows nothing of what a primitive does there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.effects import EffectAnalysis, Regions
from ir.nodes import Alloc, Assert, Block, Buffer, Expr, For, Load, PrimFunc, Seq, Stmt, Store, Var, seq
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.blocks import lower_statement
from ir.program.edit import ROOT, beside, block_path, loop_path, loops_around, refuse, replace_at, with_children
from ir.traverse import stmt_children, stmt_exprs, substitute_expr, walk, walk_expr


class Tally(Struct, frozen=True):
    """How often buffers are loaded and stored to."""

    loads: Counter[Buffer] = field(default_factory=lambda: Counter[Buffer]())
    stores: Counter[Buffer] = field(default_factory=lambda: Counter[Buffer]())

    def touches(self, buffer: Buffer) -> int:
        return self.loads[buffer] + self.stores[buffer]


def tally(stmt: Stmt) -> Tally:
    """Count the accesses in a statement."""
    found = Tally()
    for inner in walk(stmt):
        if isinstance(inner, Store):
            found.stores[inner.buffer] += 1
        for expr in stmt_exprs(inner):
            found.loads.update(e.buffer for e in walk_expr(expr) if isinstance(e, Load))
    return found


class Meeting(Struct, frozen=True, eq=False):
    """Two places in one sequence: `left` and `right` are the paths to them, which share all up to the sequence."""

    func: PrimFunc
    shared: tuple[Stmt, ...]
    left: tuple[Stmt, ...]  # from the child of the sequence on
    right: tuple[Stmt, ...]

    @staticmethod
    def of(func: PrimFunc, left: tuple[Stmt, ...], right: tuple[Stmt, ...]) -> Meeting | None:
        """None where the last statement that both paths share is no sequence."""
        count = 0
        for a, b in zip(left, right, strict=False):
            if a is not b:
                break
            count += 1
        if count == 0 or not isinstance(left[count - 1], Seq) or count in (len(left), len(right)):
            return None
        return Meeting(func, left[:count], left[count:], right[count:])

    @property
    def children(self) -> tuple[Stmt, ...]:
        sequence = self.shared[-1]
        assert isinstance(sequence, Seq)
        return sequence.stmts

    @property
    def positions(self) -> tuple[int, int]:
        """Where the two stand in the sequence."""
        left, right = (next(k for k, s in enumerate(self.children) if s is p[0]) for p in (self.left, self.right))
        return left, right

    @property
    def between(self) -> tuple[Stmt, ...]:
        """What stands between them."""
        first, second = sorted(self.positions)
        return self.children[first + 1 : second]

    @property
    def loops(self) -> tuple[For, ...]:
        """Loops around both."""
        return loops_around(self.shared)

    @property
    def known(self) -> isl.Set:
        """What holds where the first of the two is reached."""
        return facts_at(self.func, (*self.shared, self.children[min(self.positions)]))

    def replaced(self, left: Stmt, right: Stmt, dropped: Iterable[Buffer] = ()) -> PrimFunc:
        """The function with both replaced, and without the allocations of `dropped` around them."""
        new: Stmt = seq(*(left if s is self.left[0] else right if s is self.right[0] else s for s in self.children))
        gone = set(dropped)
        for k in reversed(range(len(self.shared) - 1)):
            parent = self.shared[k]
            if isinstance(parent, Alloc) and parent.buffer in gone:
                continue
            new = replace_at((parent, self.shared[k + 1]), new)
        return replace(self.func, body=new)


def meeting_of(func: PrimFunc, block: str, loop: str) -> tuple[Meeting, For]:
    """Where a block's stage and a loop stand.

    Raises:
        ScheduleError: they have no order.
    """
    if block == ROOT:
        refuse("whole-function", "the whole body cannot move into a loop", func.span, help="name a block")
    path, target = block_path(func, block), loop_path(func, loop)
    found = target[-1]
    assert isinstance(found, For)
    if any(s is found for s in path):
        message = f"`{block}` is inside loop {loop} already"
        refuse("already-inside", message, found.span, help="name a loop of another stage")
    if any(s is path[-1] for s in target):
        message = f"loop {loop} belongs to `{block}` itself"
        refuse("own-loop", message, found.span, help="name a loop of another stage")
    meeting = Meeting.of(func, path, target)
    if meeting is None:
        message = f"`{block}` and loop {loop} do not follow each other in one sequence"
        refuse("not-an-ancestor-of-consumer", message, found.span, help="name a loop that encloses the consumers")
    return meeting, found


def with_allocations_first(stmt: Stmt) -> Stmt:
    """`stmt` with each allocation that follows others in a sequence moved to its start; names are distinct."""
    match stmt:
        case Seq(stmts=stmts):
            allocated: list[Alloc] = []
            flat: list[Stmt] = []
            for inner in map(with_allocations_first, stmts):
                while isinstance(inner, Alloc):
                    allocated.append(inner)
                    inner = inner.body
                flat.append(inner)
            body = seq(*flat, span=stmt.span)
            for alloc in reversed(allocated):
                body = replace(alloc, body=body)
            return body
        case Alloc(body=body):
            return replace(stmt, body=with_allocations_first(body))
        case _:
            return stmt


def without_tails(path: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A path on which nothing stands after the next statement in a sequence."""
    new = [path[-1]]
    for parent, child in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        if isinstance(parent, Seq):
            new.append(seq(*beside(parent, child)[0], new[-1]))
        else:
            new.append(replace_at((parent, child), new[-1]))
    return tuple(reversed(new))


def allocation_depth(path: Sequence[Stmt], buffer: Buffer) -> int | None:
    """How many statements of a path stand around the allocation of a buffer; None where it is a parameter."""
    return next((k for k, s in enumerate(path) if isinstance(s, Alloc) and s.buffer == buffer), None)


def name_of(stmt: Stmt) -> str:
    """What to call a statement in a message: the first block in it, or its first line."""
    block = next((s for s in walk(stmt) if isinstance(s, Block)), None)
    return f"`{block.name}`" if block is not None else f"`{to_script(stmt).splitlines()[0]}`"


def outside(stmt: Stmt, skipped: Sequence[Stmt], wanted: Callable[[Stmt], bool]) -> Iterator[Stmt]:
    """Innermost blocks, or statements without one, that hold a wanted statement outside the skipped ones."""

    def visit(inner: Stmt, block: Stmt | None) -> Iterator[Stmt]:
        if any(inner is s for s in skipped):
            return
        if wanted(inner):
            yield inner if block is None else block
        for child in stmt_children(inner):
            yield from visit(child, inner if isinstance(inner, Block) else block)

    return visit(stmt, None)


def accesses(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement itself, not one inside it, loads from a buffer or stores to it."""
    if isinstance(stmt, Store) and stmt.buffer == buffer:
        return True
    return any(isinstance(e, Load) and e.buffer == buffer for x in stmt_exprs(stmt) for e in walk_expr(x))


def concerning(stmt: Stmt, buffers: set[Buffer]) -> Stmt:
    """`stmt` without the parts of sequences that access none of the buffers."""
    match stmt:
        case Seq(stmts=stmts):
            parts = (s for s in stmts if any(accesses(t, b) for t in walk(s) for b in buffers))
            return seq(*(concerning(s, buffers) for s in parts))
        case Block(body=body):
            return replace(stmt, body=concerning(body, buffers))
        case _:
            return with_children(stmt, [concerning(s, buffers) for s in stmt_children(stmt)])


def reads_of(stmt: Stmt, buffers: set[Buffer]) -> Regions:
    """Regions that a statement may read of buffers that it does not write."""
    if not any(accesses(t, b) for t in walk(stmt) for b in buffers):
        return {}
    found = EffectAnalysis().of(lower_statement(concerning(stmt, buffers))).reads
    return {b: region for b, region in found.items() if b in buffers}


def refuse_asserts(stmt: Stmt, block: str) -> None:
    """Refuse to run a statement another number of times if it checks something."""
    found = next((s for s in walk(stmt) if isinstance(s, Assert)), None)
    if found is not None:
        message = f"`{block}` checks an assertion, which would run another number of times"
        refuse("assertion", message, found.span, help="move the assertion out of the stage")


# Order ---------------------------------------------------------------------------------------------------------------


def precedes(left: Sequence[Expr | int], right: Sequence[Expr | int]) -> isl.Set:
    """Where one point in time comes before another."""
    return pb.in_order((_time(a), _time(b)) for a, b in zip(left, right, strict=False))[0]


def _time(part: Expr | int) -> isl.PwAff:
    value = pb.number(part) if isinstance(part, int) else pb.affine(part)
    assert value is not None, "times are made of loop variables"
    return value


def primed(names: Iterable[Var], mark: str) -> dict[Var, Expr]:
    """Other names for loop variables, which no program can use."""
    return {v: Var(v.name + mark, v.dtype) for v in names}


def at(time: Sequence[Expr | int], values: dict[Var, Expr]) -> list[Expr | int]:
    """A point in time for other loop variables."""
    return [t if isinstance(t, int) else substitute_expr(t, values) for t in time]


# Independence --------------------------------------------------------------------------------------------------------


def conflict(first: Stmt, second: Stmt, known: isl.Set) -> tuple[Buffer, str] | None:
    """A buffer through which two statements depend on each other, and a witness; None where they are independent.

    Both stand where `known` holds; variables of loops around only one of them must be free in neither.
    """
    left, right = tally(first), tally(second)
    shared = [b for b in left.stores if right.touches(b)] + [b for b in right.stores if left.touches(b)]
    if not shared:
        return None
    buffers = set(shared)
    a, c = (EffectAnalysis().of(lower_statement(concerning(s, buffers))) for s in (first, second))
    for mine, theirs in ((a.may, c.may), (a.may, c.reads), (a.reads, c.may)):
        for buffer, region in mine.items():
            if buffer in theirs:
                both = region.intersect(theirs[buffer]).intersect_params(known)
                found = pb.sample(both)
                if found is not None:
                    return buffer, element(buffer, found[1])
    return None


def refuse_races(path: Sequence[Stmt], buffers: set[Buffer], known: isl.Set, block: str) -> None:
    """Refuse where iterations of a parallel loop on a path would depend on each other through some buffers."""
    for loop in loops_around(path):
        if loop.kind not in ("parallel", "vectorized"):
            continue
        name, other = loop.var.name, loop.var.name + "'"
        effects = EffectAnalysis().of(lower_statement(loop.body))
        here = pb.within_loops(known, [loop])
        apart = pb.symbol(name).ne_set(pb.symbol(other))
        for buffer, region in effects.may.items():
            if buffer not in buffers:
                continue
            there = pb.rename(region.intersect_params(here), {name: other}).intersect_params(apart)
            touched = region.union(effects.reads[buffer]) if buffer in effects.reads else region
            found = pb.sample(there.intersect(touched.intersect_params(here)))
            if found is not None:
                message = f"iterations of {loop.kind} loop {name} would depend on each other with `{block}` in it"
                at = f"{element(buffer, found[1])} is written at {name} = {found[0].get(other, 0)}"
                note = f"{at} and touched at {name} = {found[0].get(name, 0)}"
                refuse("parallel", message, loop.span, notes=[note], help="make the loop serial first")
        known = here


def element(buffer: Buffer, coordinates: Sequence[int]) -> str:
    return f"{buffer.name}[{', '.join(map(str, coordinates))}]"


def values_at(found: dict[str, int], names: Iterable[str]) -> str:
    """Values of variables in a sample, as text."""
    shown = [f"{n} = {found[n]}" for n in names if n in found]
    return ", ".join(shown)
