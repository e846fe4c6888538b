"""Steps of loops that are compiled as one.

A step of a loop goes through all of its arrays; where elements do not look at each other, as in Horner's rule, steps
that are compiled as one keep each element in a register. Where a step is dear however little it does (on a GPU, whose
loops ask the host after each step), several of any loop are. A loop of short steps may be a function as a whole
(`lower.program.loop_functions`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.dtypes import DType
from ir.nodes import Buffer, Expr
from ir.traverse import free_vars
from lower.analysis.freedoms import Form, Policy
from lower.instructions.scans import goes_in_turn
from lower.nest.element_prices import extent
from lower.nest.nodes import ArrayStatement, Box, Node, Recurrence, SequentialLoop, inner_statements

FULL_UNROLLING = Form(
    "structure.full_unrolling",
    "for i in n: S(i)  =  S(0); ...; S(n - 1), compiled as one, where elements are independent",
    "the steps are the same and in the same order",
)

PARTIAL_UNROLLING = Form(
    "structure.partial_unrolling",
    "for i in n: S(i)  =  for j in n / k: S(k * j); ...; S(k * j + k - 1)",
    "the steps are the same and in the same order",
)

LOOP_FUNCTIONS = Form(
    "structure.loop_function",
    "for k: s  =  f(), where f is compiled as one function and for k: s is what it does",
    "the operations are the same",
)

FACTORS = (2, 4, 8, 16)  # of steps that are compiled as one
FEW_STEPS = 4  # of a loop inside another: whatever they do, they share what they read, and are no loop to enter
MAX_FEW = 16  # statements of few steps
MAX_STATEMENTS = 128  # that are compiled in place of those of one step
_MOST_APART = 256  # where none of them waits for another one


def together(
    loop: SequentialLoop,
    boxes: Mapping[Loop, Box],
    depth: Mapping[Buffer, int],
    target: Target,
    policy: Policy,
    known: bool,
    inside: bool,
) -> int | None:
    """How many steps of a loop are compiled as one, True for all of them, None for one.

    `depth`: of locals, within how many loops each is; `known`: where it begins and ends is known while JAX traces;
    `inside`: it is inside of another loop.
    """
    if in_one_go(loop, boxes, depth, target, inside):
        return True
    known = known and loop.loop.var.dtype is DType.INT32  # ends of others are arrays
    if loop.apart and known and policy.takes(PARTIAL_UNROLLING):
        return _of_those_apart(loop, boxes, target)
    several = factor(loop, boxes, target) if known and policy.takes(PARTIAL_UNROLLING) else 1
    return several if several > 1 else None


def _of_those_apart(loop: SequentialLoop, boxes: Mapping[Loop, Box], target: Target) -> int | None:
    """How many steps that need nothing of each other are compiled as one: the compiler has them side by side.

    Measured on CPU, sums and bests over 4 to 289 places take a half to a fifth of the time so, and no longer to compile
    than all of them written out by hand."""
    box, each = boxes.get(loop.loop), _compiled(loop.body, boxes, target)
    stored = free_vars(*(i for n in inner_statements(loop.body) for i in n.statement.store.indices))
    if box is None or not box.is_fixed or loop.loop.var in stored:
        return None  # parts of one array are stored in turn
    if box.extent.const * each <= _MOST_APART:
        return True
    return max((k for k in (*FACTORS, 32) if k * each <= _MOST_APART and k <= box.extent.const), default=None)


def steps_described(several: int) -> str:
    """How many steps are compiled as one, in words."""
    return "its steps" if several is True else f"{several} steps"


def in_one_go(
    loop: SequentialLoop,
    boxes: Mapping[Loop, Box],
    depth: Mapping[Buffer, int],
    target: Target,
    inside: bool = False,
) -> bool:
    """Whether the steps of a loop, which may be inside of another, are better compiled one after the other. `depth` is
    within how many loops each local is."""
    box = boxes.get(loop.loop)
    if box is None or not box.is_known:
        return False
    steps, body = box.extent.const, _statements(loop.body)
    if body is None or not 1 < steps <= target.written_out:
        return False
    if steps * _compiled(loop.body, boxes, target) > MAX_STATEMENTS:
        return False
    nested = [n for n in loop.body if isinstance(n, SequentialLoop)]
    if inside and not nested and steps <= FEW_STEPS and steps * len(body) <= MAX_FEW:
        return True
    if not all(in_one_go(n, boxes, depth, target) for n in nested):
        return False
    if not (target.least_launch or all(n.axes for n in body)):  # a single element is worked out anew for each of others
        return False
    places = defaultdict[Buffer, set[tuple[Expr, ...]]](set)
    for n in body:
        places[n.statement.buffer].add(n.statement.store.indices)
    few = {o for n in body for o in n.axes if extent(boxes.get(o), target) <= FEW_STEPS}  # whose terms are written out
    if not all(_own_elements(n, loop.loop, places, depth.get(n.statement.buffer, 0), few) for n in body):
        return False
    elements = max(prod(extent(boxes.get(o), target) for o in n.axes) for n in body)
    return operations.steps(target, 1, target.least_launch + operations.moved(target, elements)) > target.kernel


def factor(loop: SequentialLoop, boxes: Mapping[Loop, Box], target: Target) -> int:
    """How many steps of a loop are best compiled as one: what they save against what it takes to compile them."""
    box = boxes.get(loop.loop)
    if box is None or not box.exact or any(isinstance(n, SequentialLoop) for n in loop.body):
        return 1
    statements = list(inner_statements(loop.body))
    outer = ((n, n.statement.loops[: n.statement.loops.index(loop.loop)]) for n in statements)
    around = {o for n, loops in outer for o in loops if o not in n.axes}
    times, steps = prod(extent(boxes.get(o), target) for o in around), extent(box, target)
    worth = {
        k: operations.unrolled(target, times * steps, k, len(statements))
        for k in FACTORS
        if k <= target.unrolled and 2 * k <= steps and k * len(statements) <= MAX_STATEMENTS
    }
    best = max(worth, key=worth.__getitem__, default=1)
    return best if worth.get(best, 0.0) > 0 else 1


def _statements(nodes: Iterable[Node]) -> list[ArrayStatement] | None:
    """The statements of a body that consists of nothing else, but for loops that do."""
    found: list[ArrayStatement] = []
    for node in nodes:
        if isinstance(node, SequentialLoop):
            inner = _statements(node.body)
            if inner is None:
                return None
            found += inner
        elif isinstance(node, ArrayStatement) and node.scan is None:
            found.append(node)
        else:
            return None
    return found if any(n.axes for n in found) else None


def _compiled(nodes: Iterable[Node], boxes: Mapping[Loop, Box], target: Target) -> float:
    """How many statements are compiled for a body with all steps of its loops."""
    return sum(
        extent(boxes.get(n.loop), target) * _compiled(n.body, boxes, target) if isinstance(n, SequentialLoop) else 1
        for n in nodes
    )


def _own_elements(
    node: ArrayStatement, loop: Loop, places: Mapping[Buffer, set[tuple[Expr, ...]]], depth: int, few: set[Loop]
) -> bool:
    """Whether a statement, in all steps alike, stores one element for each position of its axes, but for those that
    have `few`, and reads of what the loop stores those at the same places. A local has a copy for each iteration of the
    loops to its depth."""
    statement = node.statement
    stored = free_vars(*statement.store.indices) | {o.var for o in statement.loops[:depth] if o in node.axes}
    if loop.var in stored or not {o.var for o in node.axes if o not in few} <= stored:
        return False
    return all(load.indices in places.get(load.buffer, (load.indices,)) for load in statement.operands())


def as_granted(target: Target, policy: Policy) -> Target:
    """The target, without what is made of loops where a policy does not allow that.

    Operations that are compiled together may be rounded once, which strict floats do not allow in functions."""
    if not policy.takes(FULL_UNROLLING):
        target = replace(target, written_out=1)
    return target if policy.takes(LOOP_FUNCTIONS) and not policy.exact else replace(target, function=0)


def is_one_function(node: SequentialLoop, boxes: Mapping[Loop, Box], target: Target) -> bool:
    """Whether a loop is better compiled as one function on a target: all that a step does at once is short."""
    return target.function > 0 and 0 < _longest(node.body, boxes, target) <= target.function


def _longest(nodes: Iterable[Node], boxes: Mapping[Loop, Box], target: Target) -> float:
    """How many elements the longest of some statements has at once; infinity if one is no plain statement."""
    longest = 0.0
    for node in nodes:
        match node:
            case SequentialLoop(body=body):
                longest = max(longest, _longest(body, boxes, target))
            case ArrayStatement(scan=Recurrence() as scan) if goes_in_turn(node, scan, boxes, target):
                at_once = [o for o in node.axes if o is not scan.loop]
                longest = max(longest, prod((extent(boxes.get(o), target) for o in at_once), start=1.0))
            case ArrayStatement(scan=None, statement=s) if s.tile is None:
                longest = max(longest, prod((extent(boxes.get(o), target) for o in node.axes), start=1.0))
            case _:
                return float("inf")
    return longest
