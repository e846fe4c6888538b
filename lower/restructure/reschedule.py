"""Another order for statements in a dependence cycle: which loop of each goes around.

Every statement gives one of its loops to a common loop over steps, such that no dependence points backwards in it (isl
decides). What the steps do not order is ordered inside them, and loops that order nothing become axes. Updates by one
operator commute, so a factorization written row by row becomes a loop over steps around products of matrices and
vectors. This is unimodular loop permutation with distribution and fusion (Wolf and Lam, 1991), one loop at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import product

from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Relation, Statement, relations
from ir.naming import lengthened
from ir.nodes import Binary, Buffer, Var, const
from ir.presburger import sets as presburger
from ir.traverse import substitute_expr
from lower.analysis.components import components
from lower.analysis.deciding import cheaper, cheapest
from lower.analysis.freedoms import Form, Policy
from lower.analysis.linear_forms import Linear, atom, least, linear, number, tidy, to_expr
from lower.instructions.deferred_updates import DELAYED, delayed, may_delay
from lower.instructions.triangular_solve import SYSTEMS, solve
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Fresh,
    Node,
    SequentialLoop,
    Versions,
    inner_statements,
    loop_over,
    own_bounds,
)
from lower.nest.normalize import mapped
from lower.restructure.blocking import BLOCKING, LEAST, Block, Part, in_blocks, width
from lower.restructure.estimate import estimate

PERMUTATION = Form(
    "structure.permutation",
    "for i: for j: S  =  for j: for i: S, and loops around only some of the statements",
    "every dependence points forward in the new order",
)
SPLITTING_AT_STEPS = Form(
    "structure.splitting_at_steps",
    "for i, k: S  =  S where i < k; S where i == k; S where i > k",
    "the parts are all of the iterations (Griebl, Feautrier and Lengauer 2000)",
)

_OPERATIONS = 2_000_000  # isl's steps for one nest; factorizations take some ten thousand
_CHOICES = 12  # ways to give loops away that are priced


def rescheduled(
    statements: Sequence[Statement],
    level: int,
    pending: frozenset[Loop],
    boxes: dict[Loop, Box],
    taken: set[str],
    target: Target,
    policy: Policy,
    new: Fresh,
    depth: Mapping[Buffer, int],
    blocks: bool = True,
) -> tuple[Node, ...] | None:
    """The cheapest order found for statements that share the outer `level` loops; None if isl gives up.

    Steps run in `blocks` only if they may. Outer loops that are `pending` become axes. Bounds of new loops are added to
    `boxes`; `taken` are names that new loops may not have. `depth` is that of `Program`.
    """
    if any(loop not in boxes for s in statements for loop in s.loops[level:]):
        return None
    builder = _Builder(boxes, taken, pending, target, policy, new, depth, blocks and policy.takes(BLOCKING))

    def question() -> tuple[Node, ...] | None:
        order = relations(statements, level)
        if order is None:
            return None
        nodes = builder.arranged([Part(s, s.loops[:level], s.loops[level:]) for s in statements], order)
        return None if nodes is None else tuple(map(builder.tidied, nodes))

    return presburger.within_budget(question, None, _OPERATIONS)


def split_at(statements: Sequence[Statement], level: int, position: Callable[[], int]) -> list[Statement] | None:
    """Statements cut where an inner loop passes the loop at `level` (index-set splitting, Griebl et al. 2000).

    `D[i, j]` that reads row and column k in step k waits for itself only where i or j is k: its parts before, at and
    behind k need no order among their own instances. None where there is nothing to cut.
    """
    found: list[Statement] = []
    for s in statements:
        cuts = [loop.var for loop in s.loops[level + 1 :] if _passes(s, loop.var, s.loops[level].var)]
        at = s.loops[level].var
        for ops in product(("lt", "eq", "gt"), repeat=len(cuts)):
            guards = tuple(Binary(op, var, at) for op, var in zip(ops, cuts, strict=True))
            found.append(replace(s, position=position(), guards=(*s.guards, *guards)))
    return found if len(found) > len(statements) else None


def _passes(statement: Statement, inner: Var, outer: Var) -> bool:
    """Whether a statement stores along an inner loop where it reads at the value of an outer one."""
    store = statement.store
    reads = [load for load in statement.reads() if load.buffer == store.buffer]
    return any(
        linear(w).equals(linear(inner)) and linear(r).equals(linear(outer))
        for load in reads
        for w, r in zip(store.indices, load.indices, strict=True)
    )


class _Builder:
    def __init__(
        self,
        boxes: dict[Loop, Box],
        taken: set[str],
        pending: frozenset[Loop],
        target: Target,
        policy: Policy,
        new: Fresh,
        depth: Mapping[Buffer, int],
        blocking: bool,
    ) -> None:
        self.boxes = boxes
        self.taken = taken
        self.pending = pending
        self.target = target
        self.policy = policy
        self.new = new
        self.depth = depth
        self.blocking = blocking
        self.necessary: dict[Statement, Statement] = {}
        self.within: dict[tuple[int, Loop, Loop], tuple[Relation, Relation | None]] = {}  # by loops chosen

    def arranged(self, parts: Sequence[Part], order: Sequence[Relation]) -> tuple[Node, ...] | None:
        """Nodes for parts that the decided loops leave unordered but for `order`."""
        by_position = {p.statement.position: p for p in parts}
        nodes: list[Node] = []
        edges = [(r.source.position, r.sink.position) for r in order if not r.own]
        for group in components([p.statement for p in parts], edges):
            inside = {s.position for s in group}
            own = [r for r in order if r.source.position in inside and r.sink.position in inside]
            members = [by_position[s.position] for s in group]
            if all(r.own for r in own):
                nodes += [self._leaf(p) for p in members]
                continue
            found = self._cheapest(members, own)
            if found is None:
                return None
            nodes += found
        return tuple(nodes)

    def _cheapest(self, parts: Sequence[Part], order: Sequence[Relation]) -> tuple[Node, ...] | None:
        """The cheapest loop over steps around these parts, in blocks where that is cheaper."""
        blocking, self.blocking = self.blocking, False  # for the choice, what is inside is not cut
        found: list[tuple[float, tuple[Node, ...], Mapping[int, Loop]]] = []
        for k, chosen in enumerate(_choices(parts, order)):
            if k == _CHOICES:
                break
            nodes = self._around(parts, order, chosen)
            if nodes is not None:
                found.append((self._price(nodes), nodes, chosen))
        self.blocking = blocking
        if not found:
            return None
        price, best, chosen = found[cheapest("common loop", {k: f[0] for k, f in enumerate(found)})]
        if not self.blocking or any(p.inner for p in parts):  # blocks are not cut again
            return best
        form = self._in_blocks(parts, order, chosen)
        if form is not None and cheaper("steps in blocks", self._price(form), price):
            return form
        return self._around(parts, order, chosen) or best  # what is inside may be cut

    def _price(self, nodes: Sequence[Node]) -> float:
        return estimate(nodes, self.boxes, self.target)

    def _in_blocks(
        self, parts: Sequence[Part], order: Sequence[Relation], chosen: Mapping[int, Loop]
    ) -> tuple[Node, ...] | None:
        """The chosen loop in blocks, where that separates something."""
        span = self._span(parts, chosen)
        if span is None or not (span[0].is_const and span[1].is_const) or span[1].const - span[0].const < LEAST:
            return None
        start, extent = span[0].const, span[1].const - span[0].const
        dtype = next(iter(chosen.values())).var.dtype
        size = width(extent)
        count, left = divmod(extent, size)
        var = Var(self._free("block", parts), dtype)
        loop = loop_over(var, Box(number(0), number(count), exact=True), self.boxes)
        body = self._block(parts, order, chosen, Block(to_expr(atom(var) * size + start, var), size, (loop,)))
        if body is None:
            return None
        nodes: tuple[Node, ...] = (SequentialLoop(loop, body, f"its blocks of {size} iterations depend on each other"),)
        if not left:
            return nodes
        rest = self._block(parts, order, chosen, Block(const(start + count * size, dtype), left))
        return None if rest is None else (*nodes, *rest)

    def _block(
        self, parts: Sequence[Part], order: Sequence[Relation], chosen: Mapping[int, Loop], block: Block
    ) -> tuple[Node, ...] | None:
        """The iterations of one block."""
        cut = in_blocks(parts, order, chosen, block, self.boxes, self.new.position)
        if cut is None and self._may_delay([p.statement for p in parts]):
            cut = in_blocks(parts, order, chosen, block, self.boxes, self.new.position, uncut=True)
        return None if cut is None else self.arranged(*cut)

    def _may_delay(self, statements: Sequence[Statement]) -> bool:
        return not self.pending and may_delay(statements)

    def _span(self, parts: Sequence[Part], chosen: Mapping[int, Loop]) -> tuple[Linear, Linear] | None:
        """From where to where the chosen loops of all parts run; None if they count from different places."""
        if len({p.inner.get(chosen[p.statement.position], 0) for p in parts}) > 1:
            return None
        own = [self.boxes[chosen[p.statement.position]] for p in parts]
        low, stop = least([b.low for b in own]), least([(b.low + b.extent) * -1 for b in own])
        return None if low is None or stop is None else (low, stop * -1)

    def _around(
        self, parts: Sequence[Part], order: Sequence[Relation], chosen: Mapping[int, Loop]
    ) -> tuple[Node, ...] | None:
        """A loop in the place of one loop of each part, or what does the same at once."""
        span = self._span(parts, chosen)
        if span is None:
            return None
        low, stop = span
        var = self._name(parts, chosen)
        loop = loop_over(var, Box(low, stop - low, exact=True), self.boxes)
        inside: list[Part] = []
        for part in parts:
            old = chosen[part.statement.position]
            box = self.boxes[old]
            tight = box.exact and box.low.equals(low) and (box.low + box.extent).equals(stop)
            inside.append(
                replace(
                    part,
                    values=part.having(old, var),
                    time=(*part.time, loop),
                    open=tuple(o for o in part.open if o is not old),
                    guards=part.guards if tight else (*part.guards, *own_bounds(old)),
                )
            )
        rest: list[Relation] = []
        for r in order:
            left = self._in_one_step(r, chosen)
            if left is not None:
                rest.append(left)
        body = self.arranged(inside, rest)
        if body is None:
            return None
        node = SequentialLoop(loop, body, "its steps depend on each other")
        solution = solve(node, self.depth)
        if solution is not None and self.policy.may(SYSTEMS, solution.statement.buffer.dtype):
            return (solution,)
        return self._at_once(node)

    def _in_one_step(self, relation: Relation, chosen: Mapping[int, Loop]) -> Relation | None:
        """What of a dependence is left within a step of the loops chosen."""
        x, y = _times(relation, chosen)
        key = id(relation), chosen[relation.source.position], chosen[relation.sink.position]
        known = self.within.get(key)
        if known is None:
            pairs = relation.pairs.intersect(x.eq_set(y))
            known = relation, None if pairs.is_empty() else replace(relation, pairs=pairs)
            self.within[key] = known  # which keeps the relation, whose number no other one has meanwhile
        return known[1]

    def _at_once(self, node: SequentialLoop) -> tuple[Node, ...]:
        """A loop, or what does the same with its updates put off, where that is cheaper."""
        delays = self._may_delay([n.statement for n in inner_statements((node,))])
        tidied = replace(node, body=tuple(map(self.tidied, node.body)))
        form = delayed(tidied, self.boxes, self.new) if delays else None
        if form is None or not cheaper("updates put off", self._price(form), self._price((node,))):
            return (node,)
        return form if self._may_all(DELAYED, form) else (node,)

    def _may_all(self, form: Form, nodes: Iterable[Node]) -> bool:
        return all(self.policy.may(form, n.statement.buffer.dtype) for n in inner_statements(nodes))

    def tidied(self, node: Node) -> Node:
        """A node whose statements have no guards that say nothing."""
        if isinstance(node, Versions):
            return node
        if isinstance(node, SequentialLoop):
            return replace(node, body=tuple(map(self.tidied, node.body)))
        found = self.necessary.get(node.statement)
        if found is None:
            found = self.necessary[node.statement] = necessary(node.statement)
            self.necessary[found] = found
        return replace(node, statement=found)

    def _name(self, parts: Sequence[Part], chosen: Mapping[int, Loop]) -> Var:
        """A name for a loop: that of a loop in whose place it comes, if no other is called so."""
        olds = [chosen[p.statement.position] for p in parts]
        used = set(self.taken)
        for part, old in zip(parts, olds, strict=True):
            used |= {loop.var.name for loop in (*part.time, *part.open) if loop is not old}
        for old in olds:
            if old.var.name not in used:
                return old.var
        return Var(self._free("step", parts), olds[0].var.dtype)

    def _free(self, name: str, parts: Sequence[Part]) -> str:
        """A name that no loop of these parts has."""
        used = self.taken | {loop.var.name for p in parts for loop in (*p.time, *p.open, *p.statement.loops)}
        return lengthened(name, used)

    def _leaf(self, part: Part) -> ArrayStatement:
        """The statement over what is left of its loops, with their bounds as guards where they are no box."""
        statement, values = part.statement, dict(part.values)
        guards = [*statement.guards, *part.guards]
        pending = [loop for loop in part.time if loop in self.pending]
        axes: list[Loop] = []
        for loop in part.open:
            box, axis = self.boxes[loop], loop
            if not box.exact:
                guards += own_bounds(loop)
            if not box.exact or loop in part.inner:
                axis = loop_over(loop.var, box, self.boxes)
            axes.append(axis)
        moved = mapped(replace(statement, guards=tuple(guards)), partial(substitute_expr, values=values))
        if part.inner:
            moved = replace(moved, guards=tuple(map(tidy, moved.guards)))
        return ArrayStatement(replace(moved, loops=(*part.time, *axes)), (*pending, *axes))


def necessary(statement: Statement) -> Statement:
    """The statement without guards that its loops and other guards imply."""
    if not statement.guards:
        return statement
    return presburger.within_budget(lambda: _necessary(statement), statement)


def _necessary(statement: Statement) -> Statement:
    loops = replace(statement, guards=()).domain
    kept = [(guard, presburger.condition(guard)) for guard in statement.guards]
    for known in list(kept):
        others = [k for k in kept if k is not known]
        domain = reduce(presburger.isl.Set.intersect, (condition.may for _, condition in others), loops)
        if domain.is_subset(known[1].must):
            kept = others
    if len(kept) == len(statement.guards):
        return statement
    return replace(statement, guards=tuple(guard for guard, _ in kept))


def _choices(parts: Sequence[Part], order: Sequence[Relation]) -> Iterator[dict[int, Loop]]:
    """Ways to take one loop of each part such that no dependence points backwards."""
    known: dict[tuple[int, str, str], bool] = {}
    last = {p.statement.position: k for k, p in enumerate(parts)}
    decided: list[list[tuple[int, Relation]]] = [[] for _ in parts]  # by the part with which both ends are chosen
    for k, r in enumerate(order):
        decided[max(last[r.source.position], last[r.sink.position])].append((k, r))

    def choose(chosen: dict[int, Loop]) -> Generator[dict[int, Loop], None, set[int] | None]:
        """Ways to go on; where there are none, the parts whose loops leave none, so that others need not be tried."""
        if len(chosen) == len(parts):
            yield dict(chosen)
            return None
        found, leave_none = False, set[int]()
        number, position = len(chosen), parts[len(chosen)].statement.position
        for loop in parts[number].open:
            chosen[position] = loop
            backwards = next((r for k, r in decided[number] if not _forward(k, r, chosen, known)), None)
            if backwards is None:
                below = yield from choose(chosen)
                found |= below is None
            else:
                below = {backwards.source.position, backwards.sink.position}
            del chosen[position]
            if below is not None and position not in below:
                return None if found else below
            leave_none |= (below or set()) - {position}
        return None if found else leave_none

    yield from choose({})


def _forward(k: int, relation: Relation, chosen: Mapping[int, Loop], known: dict[tuple[int, str, str], bool]) -> bool:
    """Whether a dependence, number `k`, never points to an earlier step of the loops chosen."""
    key = (k, chosen[relation.source.position].var.name, chosen[relation.sink.position].var.name)
    if key not in known:
        x, y = _times(relation, chosen)
        known[key] = bool(relation.pairs.intersect(x.gt_set(y)).is_empty())
    return known[key]


def _times(relation: Relation, chosen: Mapping[int, Loop]) -> tuple[presburger.isl.PwAff, presburger.isl.PwAff]:
    """The steps of both ends of a dependence."""
    source, sink = chosen[relation.source.position].var, chosen[relation.sink.position].var
    return presburger.symbol(source.name), presburger.symbol(f"{sink.name}'")
