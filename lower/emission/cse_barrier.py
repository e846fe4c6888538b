"""Which operands reductions read apart from other statements.

Statements that are given one and the same term, as the deviation from a mean in `sum((x - m) ** 2)` and in
`(x - m) / s`, share it after the compiler's elimination of common subexpressions. XLA:CPU does not fuse what is shared
into a reduction: it writes the term to memory, an array as large as the operand. A reduction that has the smaller
operand from behind an `optimization_barrier` has a term of its own and works it out as it goes along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.nodes import Buffer, Expr, Load, Var
from ir.traverse import buffers_read, children, free_vars, loads, walk_expr, with_children
from lower.analysis.deciding import cheaper
from lower.analysis.linear_forms import same_range
from lower.nest.element_prices import extent, work
from lower.nest.nodes import ArrayStatement, Box, Node, inner_statements


def read_apart(nodes: Sequence[Node], boxes: Mapping[Loop, Box], target: Target) -> list[frozenset[Buffer]]:
    """For each of the nodes of one body, buffers that it reads behind a barrier."""
    found: list[frozenset[Buffer]] = []
    readers = _readers(nodes)
    for k, node in enumerate(nodes):
        own: set[Buffer] = set()
        if isinstance(node, ArrayStatement) and _reduces(node) and _pays(node, boxes, target):
            # Terms that pay read something, so others with the same term read that too.
            near = {j: other for buffer in _read(node) for j, other in readers[buffer].items()}
            for j, other in near.items():
                if j == k or (j > k and _reduces(other)):
                    continue  # of two reductions the later one stands apart
                for term in _shared(node, other, boxes):
                    small = _smallest(term, node)
                    if small is not None and not _changed(nodes, j, k) & buffers_read(term):
                        own |= {small} if _operations(term, target) < target.shared else set()
        found.append(frozenset(own))
    return found


def _readers(nodes: Sequence[Node]) -> dict[Buffer, dict[int, ArrayStatement]]:
    """The statements that read each buffer, by their places."""
    found: dict[Buffer, dict[int, ArrayStatement]] = {}
    for k, node in enumerate(nodes):
        if isinstance(node, ArrayStatement):
            for buffer in _read(node):
                found.setdefault(buffer, {})[k] = node
    return found


def _read(node: ArrayStatement) -> set[Buffer]:
    return buffers_read(*_terms(node))


def _terms(node: ArrayStatement) -> tuple[Expr, ...]:
    return node.statement.store.value, *node.statement.guards


def _changed(nodes: Sequence[Node], one: int, other: int) -> set[Buffer]:
    """Buffers that are written from one statement on to another one."""
    return {s.statement.buffer for s in inner_statements(nodes[min(one, other) : max(one, other)])}


def _reduces(node: ArrayStatement) -> bool:
    stored = free_vars(*node.statement.store.indices)
    return node.scan is None and node.statement.update is not None and any(a.var not in stored for a in node.axes)


def _pays(node: ArrayStatement, boxes: Mapping[Loop, Box], target: Target) -> bool:
    return cheaper("reads behind a barrier", target.launch, _gain(node, boxes, target))


def _gain(node: ArrayStatement, boxes: Mapping[Loop, Box], target: Target) -> float:
    """The most that can be gained: that no term is stored."""
    return operations.stored_terms(target, prod(extent(boxes.get(a), target) for a in node.axes))


def _operations(term: Expr, target: Target) -> float:
    return work(term, replace(target, load=0.0))


def _smallest(term: Expr, node: ArrayStatement) -> Buffer | None:
    """The operand that varies along the fewest axes, if any does along fewer than all."""
    axes = {a.var for a in node.axes}
    least = min(loads(term), key=lambda load: len(free_vars(load) & axes), default=None)
    return None if least is None or axes <= free_vars(least) else least.buffer


def _shared(node: ArrayStatement, other: ArrayStatement, boxes: Mapping[Loop, Box]) -> Iterator[Expr]:
    """The largest terms over all axes of a reduction that occur in another statement too."""
    theirs = [e for root in _terms(other) for e in walk_expr(root) if children(e)]
    axes = {a.var: boxes.get(a) for a in node.axes}
    others = {a.var: boxes.get(a) for a in other.axes}

    def same(term: Expr, e: Expr) -> bool:
        names: dict[Var, Var] = {}
        return _alike(term, e, names) and all(_as_long(axes, others, a, b) for a, b in names.items())

    left = [node.statement.update[1]] if node.statement.update is not None else []
    while left:
        term = left.pop()
        if isinstance(term, Load) or not axes.keys() <= free_vars(term):
            continue
        if any(same(term, e) for e in theirs):
            yield term
        else:
            left += children(term)


def _as_long(axes: Mapping[Var, Box | None], others: Mapping[Var, Box | None], a: Var, b: Var) -> bool:
    """Whether two variables are axes over one range, or the same variable of a loop around."""
    one, two = axes.get(a), others.get(b)
    if a not in axes or b not in others:
        return a not in axes and b not in others and a.same(b)
    if one is None or two is None or not (one.exact and two.exact):
        return False
    return same_range(one, two)


def _alike(one: Expr, two: Expr, names: dict[Var, Var]) -> bool:
    """Whether expressions are the same but for the names of variables, which must be told apart alike."""
    if isinstance(one, Var) and isinstance(two, Var):
        known = names.setdefault(one, two)
        return known.same(two) and sum(v.same(two) for v in names.values()) == 1
    if len(children(one)) != len(children(two)):
        return False
    if not with_children(two, children(one)).same(one):
        return False
    return all(_alike(a, b, names) for a, b in zip(children(one), children(two), strict=True))
