"""Programs as the Pallas forms see them: array statements with constant bounds, whose indices are `axis + constant`.

Derived from the plan that all emission follows; what does not fit is refused with a reason. Writes no source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, PrimFunc, Var, const
from ir.traverse import free_vars, loads, shape_vars
from lower.analysis.freedoms import Policy
from lower.analysis.linear_forms import atom, linear, to_expr
from lower.array.access import Bounds
from lower.array.calls import without_bodies
from lower.array.job import MAX_TAPS, Job, settle, unrolled
from lower.array.views import Axis
from lower.emission.statement import make_job
from lower.nest.nodes import ArrayStatement, Node, Plan, SequentialLoop, Versions
from lower.nest.normalize import moved, normalize
from lower.nest.tiles import INSTANCES
from lower.nest.undef_products import absorb_undef
from lower.restructure.plan import plan

DTYPES = (DType.FLOAT32, DType.INT32, DType.BFLOAT16)
NOWHERE = Bounds({}, frozenset(), frozenset())


class UnsuitableError(Exception):
    """Why a program has no Pallas form. Never leaves the Pallas modules."""


class TimeLoop(Struct, frozen=True):
    """Statements that run in order `extent` times, `var` counting from `low`."""

    var: Var
    low: int
    extent: int
    body: tuple[Job, ...]


class Flat(Struct, frozen=True):
    """A function as a sequence of statements and loops of statements. `optional` buffers need not be passed."""

    func: PrimFunc
    items: tuple[Job | TimeLoop, ...]
    written: tuple[Buffer, ...]
    optional: tuple[Buffer, ...]
    locals: frozenset[Buffer]


def flatten(func: PrimFunc, target: Target) -> Flat:
    """The array statements of a function in the order of its plan.

    Raises:
        UnsuitableError: sizes are symbolic, dtypes are none of a tile's, or loops depend on each other.
    """
    if shape_vars(func):
        raise UnsuitableError(f"sizes are symbolic ({', '.join(v.name for v in shape_vars(func))}): specialize them")
    program = normalize(without_bodies(func), policy=Policy(without=frozenset((INSTANCES.name,))))
    absorb_undef(program)
    schedule = plan(program, target)
    sizes = [s.name for s in func.scalars if s in schedule.static]
    if sizes:
        raise UnsuitableError(f"sizes are parameters ({', '.join(sizes)}): specialize them")
    if program.checks:
        raise UnsuitableError("checks run at the end of a kernel, which Pallas has no place for")
    arrays = _arrays(schedule)
    items = tuple(_item(node, schedule, arrays) for node in schedule.nodes)
    local = frozenset(arrays.get(b, (b, ()))[0] for b in program.depth)
    for buffer in (*func.buffers, *local):
        if buffer.dtype not in DTYPES:
            raise UnsuitableError(f"{buffer.name} is {buffer.dtype}; tiles are {', '.join(map(str, DTYPES))}")
    return Flat(func, items, program.written, program.optional, local)


def _arrays(schedule: Plan) -> dict[Buffer, tuple[Buffer, tuple[Expr, ...]]]:
    """Locals that have an axis for each loop distributed over their users: the array, and the place in it."""
    found: dict[Buffer, tuple[Buffer, tuple[Expr, ...]]] = {}
    for buffer, loops in schedule.expanded.items():
        if loops:
            boxes = [schedule.boxes[loop] for loop in loops]
            extents = tuple(to_expr(b.extent, loop.var) for b, loop in zip(boxes, loops, strict=True))
            place = tuple(to_expr(atom(loop.var) - b.low, loop.var) for b, loop in zip(boxes, loops, strict=True))
            found[buffer] = (replace(buffer, shape=(*extents, *buffer.shape)), place)
    return found


def _item(node: Node, schedule: Plan, arrays: Mapping[Buffer, tuple[Buffer, tuple[Expr, ...]]]) -> Job | TimeLoop:
    if isinstance(node, ArrayStatement):
        return _job(node, schedule, arrays)
    if isinstance(node, Versions):
        raise UnsuitableError(f"which of two forms is right depends on the data: {node.reason}")
    box = schedule.boxes.get(node.loop)
    if box is None or not box.is_known:
        raise UnsuitableError(f"loop {node.loop.var.name} has no constant bounds")
    if any(isinstance(n, SequentialLoop | Versions) for n in node.body):
        raise UnsuitableError(f"loop {node.loop.var.name} holds a loop that stays one: {node.reason}")
    body = tuple(_job(n, schedule, arrays) for n in node.body if isinstance(n, ArrayStatement))
    return TimeLoop(node.loop.var, box.low.const, box.extent.const, body)


def _job(node: ArrayStatement, schedule: Plan, arrays: Mapping[Buffer, tuple[Buffer, tuple[Expr, ...]]]) -> Job:
    if node.scan is not None:
        raise UnsuitableError(f"{node.statement.buffer.name} is a scan: each element continues the one before")
    statement = node.statement
    boxes = [schedule.boxes[loop] for loop in node.axes]
    for loop, box in zip(node.axes, boxes, strict=True):
        if not box.is_known:
            raise UnsuitableError(f"the bounds of loop {loop.var.name} are not constant")
    for old, (new, place) in arrays.items():
        statement = moved(statement, old, new, place)
    return make_job(statement, node.axes, boxes, ())


def settled(job: Job) -> Job | None:
    """The job with its axes as short as its guards allow; None if it does nothing."""
    return settle(job, NOWHERE, [])


def pieces(job: Job) -> Iterator[Job]:
    """The job without its reduction axes, one piece for each position on them.

    Raises:
        UnsuitableError: there are too many.
    """
    short = settled(job)
    if short is None:
        return
    reduced = short.reduced()
    total = 1
    for axis in reduced:
        total *= axis.extent.const
    if total > MAX_TAPS:
        raise UnsuitableError(f"the update of {job.buffer.name} reduces {total} values: more than {MAX_TAPS} taps")
    for piece in unrolled(short, reduced):
        shorter = settled(piece)
        if shorter is not None:
            yield shorter


def whole_value(job: Job) -> Expr:
    """The value that a job stores, old element included."""
    return job.value if job.op is None else Binary(job.op, Load(job.buffer, job.indices), job.value)


def shape(buffer: Buffer) -> tuple[int, ...]:
    """Constant extents."""
    return tuple(linear(d).const for d in buffer.shape)


def place(index: Expr, axes: Sequence[Axis]) -> tuple[str | None, int]:
    """An index as the name of an axis and a constant that is added to it; a constant has no axis.

    Raises:
        UnsuitableError: it is neither.
    """
    form = linear(index)
    terms = list(form.terms.items())
    if not terms:
        return None, form.const
    if len(terms) == 1 and terms[0][1] == 1:
        var = terms[0][0]
        if isinstance(var, Var) and var.name in {a.var.name for a in axes}:
            return var.name, form.const
    raise UnsuitableError("an index is not `loop variable + constant`")


def read(exprs: Sequence[Expr]) -> list[Load]:
    """Distinct loads in expressions."""
    return list(dict.fromkeys(load for e in exprs for load in loads(e)))


def at_time(loop: TimeLoop, t: int) -> Iterator[Job]:
    """The statements of one iteration."""
    for job in loop.body:
        yield job.substitute(loop.var, const(t, loop.var.dtype))


def uniform(loop: TimeLoop) -> bool:
    """Whether all iterations do the same."""
    return not any(loop.var in free_vars(e) for job in loop.body for e in job.exprs())


def is_constant(expr: Expr) -> bool:
    """Whether an expression is a literal."""
    return isinstance(expr, Const)
