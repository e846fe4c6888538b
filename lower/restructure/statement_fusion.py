"""Updates of one place, one after the other, as one statement: a stencil whose terms have each its own border test.

`B[i] = A[i]`, then `if i > 0: B[i] += A[i - 1]` is `B[i] = A[i] + (A[i - 1] if i > 0 else 0)`, where padding makes the
choice. Other guards keep their statements: an update of a few elements is cheaper than a choice for all of them. So is
an update in place, a pass over what is in the caches, where reads through padding are no vector code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Statement
from ir.floats import Floats
from ir.nodes import Binary, Expr, Load, Select, Unary, const
from ir.traverse import all_same, factors, free_vars, has_loads
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import NUMBERS, Form, Policy
from lower.array.padded_reads import PaddedRead, Use, read_price, uses
from lower.nest.nodes import ArrayStatement, Node

MERGED = Form(
    "structure.statement_fusion",
    "X[i] = a; if c: X[i] += b  =  X[i] = a + where(c, b, 0)",
    "what the guard hides adds zero",
    Floats.REASSOCIATE | NUMBERS,
)

Test = Callable[[Expr], bool]


def merged(
    nodes: Iterable[Node],
    outside: Callable[[ArrayStatement, Load], bool],
    finite: Callable[[ArrayStatement, Expr], bool],
    target: Target,
    policy: Policy,
) -> tuple[list[Node], list[Statement]]:
    """The nodes with updates taken into the statement before them, and the statements that are gone.

    `outside` tells whether a load leaves its buffer wherever the guards of its statement do not hold, `finite` whether
    an expression is a number at all positions of a statement.
    """
    result: list[Node] = []
    gone: list[Statement] = []
    for node in nodes:
        last = result[-1] if result else None
        if isinstance(last, ArrayStatement) and isinstance(node, ArrayStatement) and _one_place(last, node):
            joint = _together(last, node, outside, finite, target)
            if joint is not None and policy.may(MERGED, joint.statement.buffer.dtype):
                result[-1] = joint
                gone.append(node.statement)
                continue
        result.append(node)
    return result, gone


def _one_place(first: ArrayStatement, second: ArrayStatement) -> bool:
    """Whether both statements store to the same places, each iteration to its own."""
    a, b = first.statement, second.statement
    same = first.axes == second.axes and a.loops == b.loops and a.buffer == b.buffer
    axes = {loop.var for loop in first.axes}
    own = axes and axes <= free_vars(*a.store.indices)
    plain = first.scan is None and second.scan is None
    return bool(same and own and plain and all_same(a.store.indices, b.store.indices))


def _together(
    first: ArrayStatement,
    second: ArrayStatement,
    outside: Callable[[ArrayStatement, Load], bool],
    finite: Callable[[ArrayStatement, Expr], bool],
    target: Target,
) -> ArrayStatement | None:
    a, b = first.statement, second.statement
    shared = len(a.guards)
    sums = b.update is not None and b.update[0] in ("add", "sub")
    if not sums or b.update is None or b.guards[:shared] != a.guards or (a.update and a.update[0] != "add"):
        return None
    op, term = b.update
    own = b.guards[shared:]

    def leaves(load: Load) -> bool:
        return outside(second, load)

    if own:
        hidden = not any(map(has_loads, own)) and vanishes(term, leaves, lambda e: finite(second, e))
        if not hidden or cheaper("pass of its own", target.store, _choice(second, own, leaves, target)):
            return None
    chosen = Select(conjunction(own), term, const(0, term.dtype)) if own else term
    old = a.store.value if a.update is None else a.update[1]
    value = Binary(op, old, chosen)
    if a.update is None:
        return replace(first, statement=replace(a, store=replace(a.store, value=value)))
    whole = Binary("add", Load(a.buffer, a.store.indices), value)
    return replace(first, statement=replace(a, store=replace(a.store, value=whole), update=("add", value)))


def _choice(node: ArrayStatement, guards: Sequence[Expr], leaves: Callable[[Load], bool], target: Target) -> float:
    """What it costs an element to read through padding where guards do not hold."""
    statement = node.statement
    assert statement.update is not None
    innermost = free_vars(*statement.store.indices[-1:])
    inner = any(free_vars(g) & innermost for g in guards)
    reads = [PaddedRead(inner, use) for load, use in uses(statement.update[1], Use.TERM) if leaves(load)]
    return sum(read_price(r, len(node.axes), target) for r in reads)


def vanishes(expr: Expr, outside: Callable[[Load], bool], finite: Test) -> bool:
    """Whether an expression is zero where all loads that are `outside` of their buffers find zeros."""

    def inner(e: Expr) -> bool:
        return vanishes(e, outside, finite)

    match expr:
        case Load():
            return outside(expr)
        case Unary(op="neg", operand=operand):
            return inner(operand)
        case Binary(op="add" | "sub", lhs=a, rhs=b):
            return inner(a) and inner(b)
        case Binary(op="mul"):
            zero = [inner(f) for f in factors(expr)]
            return any(zero) and all(z or finite(f) for z, f in zip(zero, factors(expr), strict=True))
        case _:
            return False
