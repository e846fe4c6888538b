"""Loops in blocks: where the bounds of inner loops follow an outer one, they are cut at what they are in a block.

`k < i` holds for all iterations `at <= i < at + width` of a block where `k < at`: that part of a triangle is a
rectangle, and what it reads is finished before the block begins. Cutting statements there (index-set splitting) and
ordering the parts within a block anew turns a factorization step by step into products of matrices and steps on small
blocks; blocked algorithms for dense factorizations were derived so by hand (Dongarra, Du Croz, Hammarling and Duff,
1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Relation, Statement, primed_loops
from ir.nodes import Binary, Expr, Var
from ir.operators import ORDER_OPS
from ir.presburger import sets as presburger
from ir.traverse import free_vars, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, linear, number, to_expr
from lower.array.views import Axis, split_terms
from lower.nest.nodes import Box, loop_over, own_bounds

BLOCKING = Form(
    "structure.blocking",
    "for i in n: S(i)  =  for blocks of i: what earlier blocks give, then the steps of the block",
    "what a block reads of earlier ones is finished before it begins",
)

LEAST = 64  # iterations below which a loop is not cut
_ROOTS = 1.5  # times the root of the iterations is the size of a block
_EVEN = 1.5  # a size may be this factor off to divide the iterations


class Part(Struct, frozen=True):
    """A statement with the loops that are decided: `time` around it, `open` not yet.

    `inner` has the open loops that count from the block around them, with the sign of the block's first iteration in
    what stands for them in `values`.
    """

    statement: Statement
    time: tuple[Loop, ...]
    open: tuple[Loop, ...]
    values: Mapping[Var, Expr] = field(default_factory=dict[Var, Expr])
    guards: tuple[Expr, ...] = ()
    inner: Mapping[Loop, int] = field(default_factory=dict[Loop, int])

    def having(self, loop: Loop, value: Expr) -> Mapping[Var, Expr]:
        """What stands for variables once a loop's own has this value."""
        old = self.values.get(loop.var, loop.var)
        return {**self.values, loop.var: substitute_expr(old, {loop.var: value})}


class Block(Struct, frozen=True):
    """`width` iterations of a loop from `at`; `around` is the loop over blocks, if there is one."""

    at: Expr
    width: int
    around: tuple[Loop, ...] = ()


class _Piece(Struct, frozen=True):
    part: Part
    inside: tuple[Expr, ...]


def width(extent: int) -> int:
    """The size of blocks for a loop of so many iterations, if possible such that nothing is left.

    What is done once for each block grows with the number of blocks and the square of the extent, what is done for each
    step with the size of a block and the extent: they balance near the root of the extent.
    """
    wish = _ROOTS * math.sqrt(extent)
    even = [w for w in range(math.ceil(wish / _EVEN), int(wish * _EVEN) + 1) if extent % w == 0]
    return min(even, key=lambda w: abs(w - wish), default=round(wish))


def follows(statements: Iterable[Statement], step: Loop) -> bool:
    """Whether a bound of an inner loop follows that of a loop, so that cutting it may separate something."""
    return any(
        loop is not step and any(_limit(c, loop.var, step.var) for c in (*own_bounds(loop), *s.guards))
        for s in statements
        for loop in s.loops
    )


def in_blocks(
    parts: Sequence[Part],
    order: Sequence[Relation],
    chosen: Mapping[int, Loop],
    block: Block,
    boxes: dict[Loop, Box],
    position: Callable[[], int],
    uncut: bool = False,
) -> tuple[list[Part], list[Relation]] | None:
    """The parts cut for one block of the loop that each has `chosen`, and what orders the cuts; None if nothing is cut,
    unless parts may stay `uncut`.

    Within the parts the chosen loop is open again, and has the iterations of the block.
    """
    cutter = _Cutter(block, boxes, position)
    pieces = {p.statement.position: cutter.pieces(p, chosen[p.statement.position]) for p in parts}
    if not uncut and all(len(found) == 1 for found in pieces.values()):
        return None
    inside: list[Relation] = []
    sources = {s: [(p, _holds(p.inside, {})) for p in found] for s, found in pieces.items()}
    primes = {p.statement.position: primed_loops(p.statement) for p in parts}
    sinks = {s: [(p, _holds(p.inside, primes[s])) for p in found] for s, found in pieces.items()}
    for r in order:
        for a, here in sources[r.source.position]:
            pairs = r.pairs.intersect(here)
            for b, there in sinks[r.sink.position]:
                both = pairs.intersect(there)
                if not both.is_empty():
                    inside.append(Relation(a.part.statement, b.part.statement, both, r.own and a is b))
    return [piece.part for found in pieces.values() for piece in found], inside


def _holds(conditions: Iterable[Expr], names: Mapping[Var, Expr]) -> presburger.isl.Set:
    """Where affine conditions hold, with other names for variables."""
    result = presburger.always()
    for c in conditions:
        result = result.intersect(presburger.condition(substitute_expr(c, names)).may)
    return result


class _Cutter:
    """Cuts statements for one block."""

    def __init__(self, block: Block, boxes: dict[Loop, Box], position: Callable[[], int]) -> None:
        self.block = block
        self.boxes = boxes
        self.position = position

    def pieces(self, part: Part, step: Loop) -> list[_Piece]:
        """A part cut at what the bounds of its loops are in a block of `step`.

        Sums come first: those up to the block are finished for all elements, and not cut again.
        """
        at, width = self.block.at, self.block.width
        end = to_expr(linear(at) + width, step.var)
        whole = self._inside(self._plain(part), step, number(0), number(width), 1)
        stored = free_vars(*part.statement.store.indices)
        done: list[_Piece] = []
        pieces = [_Piece(whole, (Binary("ge", step.var, at), Binary("lt", step.var, end)))]
        for loop in sorted(whole.open, key=lambda o: o.var in stored):
            todo, pieces = pieces, []
            for piece in todo:
                cut = None if loop.var == step.var else self._cut(piece.part, loop, step)
                if cut is None:
                    pieces.append(piece)
                    continue
                far, near, beyond = cut
                (pieces if loop.var in stored else done).append(_Piece(far, (*piece.inside, beyond)))
                pieces.append(_Piece(near, (*piece.inside, _opposite(beyond))))
        return [*done, *pieces]

    def _plain(self, part: Part) -> Part:
        """A part whose loops are boxes, with what else bounds them as guards."""
        guards, loops = list(part.guards), list[Loop]()
        for loop in part.open:
            box, plain = self.boxes[loop], loop
            if not box.exact:
                guards += own_bounds(loop)
                plain = loop_over(loop.var, box, self.boxes)
            loops.append(plain)
        statement = replace(part.statement, guards=(), position=self.position())
        time = (*part.time, *self.block.around)
        return replace(
            part, statement=statement, time=time, open=tuple(loops), guards=(*part.statement.guards, *guards)
        )

    def _inside(self, part: Part, loop: Loop, low: Linear, extent: Linear, sign: int) -> Part:
        """A part with a loop that counts from the block."""
        base = linear(self.block.at) * sign
        inner = Loop(loop.var, to_expr(base + low, loop.var), to_expr(extent, loop.var))
        self.boxes[inner] = Box(low, extent, exact=True)
        old = next(o for o in part.open if o.var == loop.var)
        return replace(
            part,
            statement=replace(part.statement, position=self.position()),
            open=tuple(inner if o is old else o for o in part.open),
            values=part.having(loop, to_expr(base + linear(loop.var), loop.var)),
            guards=(*part.guards, *own_bounds(old)),
            inner={**part.inner, inner: sign},
        )

    def _cut(self, part: Part, loop: Loop, step: Loop) -> tuple[Part, Part, Binary] | None:
        """The part where a bound of a loop holds for the whole block, that where it does not, and what divides them."""
        for condition in part.guards:
            found = _limit(condition, loop.var, step.var)
            if found is None:
                continue
            upper, sign, c = found  # the bound is `sign * step + c`
            last = number(self.block.width - 1)
            base = linear(self.block.at) * sign + c
            least, most = (base, base + last) if sign > 0 else (base - last, base)
            end, op = (least, "le") if upper else (most, "ge")  # loop <= bound, or bound <= loop
            beyond = Binary(op, loop.var, to_expr(end, loop.var))
            low = least - linear(self.block.at) * sign + (1 if upper else 0)
            far = replace(
                part,
                statement=replace(part.statement, position=self.position()),
                guards=(*(g for g in part.guards if g is not condition), beyond),
            )
            return far, self._inside(part, loop, low, last, sign), beyond
        return None


def _opposite(condition: Binary) -> Expr:
    return Binary("gt" if condition.op == "le" else "lt", condition.lhs, condition.rhs)


def _limit(condition: Expr, var: Var, step: Var) -> tuple[bool, int, int] | None:
    """(whether it is an upper one, s, c) of an inclusive bound `s * step + c`, s = 1 or -1, that a condition puts to a
    variable; None for conditions of another kind."""
    if not isinstance(condition, Binary) or condition.op not in ORDER_OPS:
        return None
    if not condition.lhs.dtype.is_integer:
        return None
    less = condition.op in ("lt", "le")
    form = linear(condition.lhs) - linear(condition.rhs)
    form = (form if less else form * -1) + (1 if condition.op in ("lt", "gt") else 0)  # form <= 0
    axes = [Axis(v, Linear({}), Linear({})) for v in (var, step)]
    parts = split_terms(form, axes)
    if parts is None or len(parts[0]) != 2 or not parts[1].is_const:
        return None
    of = {axis.var: c for axis, c in parts[0]}
    if abs(of[var]) != 1 or abs(of[step]) != 1:
        return None
    if of[var] > 0:  # var <= -of[step] * step - rest
        return True, -of[step], -parts[1].const
    return False, of[step], parts[1].const
