"""Whether a program becomes a Pallas kernel: the price of that form against the price of XLA's, for a target.

XLA fuses a mask into its reduction, so a reduction costs what it moves. Stages cost what the plan's estimate says: XLA
reads every operand of every stage, and in a loop a store to a part of an array takes another pass over it. The TPU
compiler's estimates for nine programs are 0.9 to 1.2 times that; where dimensions do not fill their tiles, both forms
cost more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import PrimFunc
from ir.traverse import free_vars
from lower.analysis.freedoms import NUMBERS, Form, Policy
from lower.analysis.linear_forms import linear
from lower.array.calls import without_bodies
from lower.nest.element_prices import extent
from lower.nest.nodes import ArrayStatement, Box, Node, SequentialLoop, Versions
from lower.nest.normalize import normalize
from lower.nest.tiles import INSTANCES
from lower.pallas.forms import MARGIN, PALLAS_TARGETS, PallasForm, find_form, xla_bytes
from lower.pallas.programs import flatten
from lower.restructure.estimate import estimate
from lower.restructure.plan import PLANNING, plan

PALLAS = Form(
    "instructions.pallas_kernel",
    "a masked reduction, or stages of a stencil  =  a Pallas kernel over blocks",
    "blocks are the positions, and masks hide what pads them",
    Floats.REASSOCIATE | NUMBERS,
)


def preferred(func: PrimFunc, target: Target, policy: Policy | None = None) -> tuple[PallasForm | None, str]:
    """The Pallas form of a program where that is much cheaper on a target, and why it is or is not taken.

    The reason is empty for targets that have no such forms.
    """
    policy = Policy() if policy is None else policy
    missing = next((form for form in (PALLAS, PLANNING) if not policy.takes(form)), None)
    if missing is not None:
        return None, f"no Pallas kernel: {missing.name} is switched off" if target.name in PALLAS_TARGETS else ""
    if target.name in PALLAS_TARGETS and not policy.may(PALLAS, DType.FLOAT32):
        return None, "no Pallas kernel: the policy on floats withholds freedoms that it takes"
    form = find_form(func, target)
    if isinstance(form, str):
        return None, f"no Pallas kernel: {form}" if target.name in PALLAS_TARGETS else ""
    ours, theirs = pallas_price(form, target), xla_price(form, target)
    prices = f"its price is {ours:,.0f}, that of XLA's form {theirs:,.0f}"
    if ours < MARGIN * theirs:
        return form, f"a Pallas kernel: {prices}"
    return None, f"no Pallas kernel: {prices}, and it must be below {MARGIN} of that"


def pallas_price(form: PallasForm, target: Target) -> float:
    """Elements that the form's kernels move, what they compute, and their launches."""
    return operations.kernels(target, form.repeat, form.moved, form.operations)


def xla_price(form: PallasForm, target: Target) -> float:
    """What XLA's form of the same program costs."""
    if form.kind == "reduction":
        return operations.kernels(target, 1, xla_bytes(flatten(form.func, target)))
    schedule = plan(normalize(without_bodies(form.func), policy=Policy(without=frozenset((INSTANCES.name,)))), target)
    stores = _partial_stores(schedule.nodes, schedule.boxes, target, 0.0)
    return estimate(schedule.nodes, schedule.boxes, target) + stores


def _partial_stores(nodes: Iterable[Node], boxes: Mapping[Loop, Box], target: Target, steps: float) -> float:
    """The price of passes over arrays of which only a part is stored to, in loops of so many steps; 0 for none.

    Outside of loops a barrier between stages (`lower/emission/stage_barrier.py`) leaves the array in fast memory.
    """
    total = 0.0
    for node in nodes:
        if isinstance(node, SequentialLoop):
            total += _partial_stores(node.body, boxes, target, max(steps, 1.0) * extent(boxes.get(node.loop), target))
        elif isinstance(node, Versions):
            total += _partial_stores(node.fast, boxes, target, steps)
        elif node.axes and steps:
            total += steps * target.store_slice * _passed_over(node, boxes, target)
    return total


def _passed_over(node: ArrayStatement, boxes: Mapping[Loop, Box], target: Target) -> float:
    store = node.statement.store
    used = free_vars(*store.indices)
    written = prod(extent(boxes.get(loop), target) for loop in node.axes if loop.var in used)
    whole = prod(linear(d).const for d in store.buffer.shape)
    return float(whole) if written < whole else 0.0
