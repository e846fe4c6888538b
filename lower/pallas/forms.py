"""Pallas kernels for what XLA does badly: padded reductions, and stencils in several stages or steps.

Two forms, found by the plan's dependences and by affine indices, never by the look of an example. `gain` says by the
bytes that are moved, or by the TPU compiler, whether a form is worth having; nothing here chooses for the caller, which
`lower.pallas.choice` does by a target's prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct

from egraph_rules.cost import operations
from egraph_rules.cost.target import GPU, TPU, Target, target_named
from ir.errors import LowerError
from ir.nodes import Buffer, PrimFunc
from lower.analysis.derivatives import has_derivatives
from lower.array.job import Job
from lower.array.values import dtype_code
from lower.emission.assumptions import assumptions_of, demanded
from lower.emission.emitted import Emitted
from lower.emission.function import piece_of
from lower.emission.scope import Names
from lower.emission.source import Module, Piece
from lower.pallas import padded_reduction, stencil_stages
from lower.pallas.padded_reduction import Reduction, ReductionWriter, reduction_of
from lower.pallas.programs import Flat, TimeLoop, UnsuitableError, flatten, read, shape, whole_value
from lower.pallas.stencil_stages import Stages, stages_of, write_stages
from lower.program.build import as_expr, assign, call, infix
from lower.program.nodes import Conditional, Function, JaxExpr, JaxStmt, Name, Return, names_read
from lower.tpu.compiler import TpuJob, compile_jobs, tpu_available, tpu_job

PALLAS_TARGETS = (TPU.name, GPU.name)


class PallasForm(Struct, frozen=True):
    """A program as Pallas source. `kind` is `reduction` or `stages`; `moved` are the bytes that its kernels move,
    `operations` what they compute on elements; `repeat` is how often the first of them runs.
    """

    func: PrimFunc
    kind: str
    source: str
    names: dict[str, str]
    optional: tuple[Buffer, ...]
    moved: int
    operations: float
    repeat: int
    report: tuple[str, ...]


def find_form(func: PrimFunc, target: str | Target = "tpu", interpret: bool = False) -> PallasForm | str:
    """The Pallas form of an optimized program for a target (tpu or gpu), or why it has none.

    `interpret` emits a kernel that runs anywhere, slowly, to be checked.

    Raises:
        LoopsatError: the target is unknown.
    """
    chosen = target if isinstance(target, Target) else target_named(target)
    if chosen.name not in PALLAS_TARGETS:
        return f"Pallas compiles for {TPU.name} and {GPU.name}, not for {chosen.name}"
    try:
        flat = flatten(func, chosen)
        try:
            return _reduction_form(flat, reduction_of(flat), chosen, interpret)
        except UnsuitableError as reason:
            if chosen.name == GPU.name:
                return f"no reduction ({reason}); stages need shifted tiles, which Triton does not have"
            try:
                return _stages_form(flat, stages_of(flat), interpret)
            except UnsuitableError as other:
                return f"no reduction: {reason}; no stages: {other}"
    except UnsuitableError as reason:
        return str(reason)


def emit_pallas(func: PrimFunc, target: str | Target = "tpu", report: list[str] | None = None) -> str | None:
    """JAX source with a Pallas kernel for an optimized program; None where it has no such form.

    Either way `report` gets lines that say what was found, or why nothing was.

    Raises:
        LoopsatError: the target is unknown.
    """
    form = find_form(func, target)
    if report is not None:
        report += [form] if isinstance(form, str) else form.report
    return None if isinstance(form, str) else form.source


def emitted(form: PallasForm) -> Emitted:
    """A form as kernels take it."""
    names = {k: v for k, v in form.names.items() if k}
    return Emitted(
        form.func,
        form.names[""],
        form.source,
        names,
        form.optional,
        frozenset(),
        False,
        (),
        form.report,
        assumptions=assumptions_of(demanded(form.func)),
    )


def _reduction_form(flat: Flat, one: Reduction, target: Target, interpret: bool) -> PallasForm:
    names, head = _names(flat)
    writer = ReductionWriter(one, names, interpret, target.name == GPU.name)
    body = writer.write()
    result = names.of(one.job.buffer)
    source = _source(flat, names, head, body, [assign(result, call("reduced", *writer.arguments))], writer.truncdiv)
    counted = " and ".join(f"{a.low} ≤ {a.var.name} < {a.high} of {a.size}" for a in one.axes if a.reduced)
    report = (f"{one.job.op} reduction over {counted}: elements that do not count are left out in registers",)
    moved, work = padded_reduction.moved_bytes(one), padded_reduction.operations(one)
    known = {"": head, **{p.name: names.of(p) for p in flat.func.params}}
    return PallasForm(flat.func, "reduction", source, known, flat.optional, moved, work, 1, report)


def _stages_form(flat: Flat, stages: Stages, interpret: bool) -> PallasForm:
    names, head = _names(flat)
    functions, calls, truncdiv = write_stages(flat, stages, names, interpret)
    # Locals that are read before they are written, or handed from one pass to the next, begin as anything.
    passes = [stages.first, *([stages.rest] if stages.rest is not None else [])]
    absent = {b for one in passes for b in (*one.inputs, *one.results) if b in flat.locals}
    created = [assign(names.of(b), _zeros(b)) for b in sorted(absent, key=lambda b: b.name)]
    source = _source(flat, names, head, functions, [*created, *calls], truncdiv)
    counted = [(stages.repeat, stages.first), *([(1, stages.rest)] if stages.rest is not None else [])]
    moved = sum(times * stencil_stages.moved_bytes(one) for times, one in counted)
    work = sum(times * stencil_stages.operations(one) for times, one in counted)
    rows = stencil_stages.block_rows(stages.first)
    what = f"{stages.steps} time steps" if stages.steps else f"{len(stages.first.stages)} stages"
    reach = ", ".join(f"{b.name} {-low}+{high}" for b, (low, high) in stages.first.inputs.items())
    report = (f"{what} in one pass over blocks of {rows} rows; rows read above and below a block: {reach or 'none'}",)
    known = {"": head, **{p.name: names.of(p) for p in flat.func.params}}
    return PallasForm(flat.func, "stages", source, known, flat.optional, moved, work, stages.repeat, report)


# What emitted modules call their own things.
_TAKEN = ("pl", "pltpu", "plgpu", "reduced", "reduce_kernel", "truncdiv", "r", "i", "state")


def _names(flat: Flat) -> tuple[Names, str]:
    names = Names(_TAKEN)
    head = names.fresh(flat.func.name)
    for param in flat.func.params:
        names.of(param)
    return names, head


def _zeros(buffer: Buffer) -> JaxExpr:
    return call("jnp.zeros", shape(buffer), dtype_code(buffer.dtype))


def _source(
    flat: Flat, names: Names, head: str, functions: Sequence[Function], body: Sequence[JaxStmt], truncdiv: bool
) -> str:
    """The whole module: functions that call kernels, and what the entry function does with them."""
    read = frozenset[str]().union(*map(names_read, functions))
    imports = ["from jax.experimental import pallas as pl"]
    imports += ["from jax.experimental.pallas import tpu as pltpu"] if "pltpu" in read else []
    imports += ["from jax.experimental.pallas import triton as plgpu"] if "plgpu" in read else []
    optional = [b for b in flat.func.buffers if b in flat.optional]
    zeros = [assign(n, Conditional(infix(n, "is", None), _zeros(b), Name(n))) for b in optional for n in [names.of(b)]]
    written = tuple(names.of(b) for b in flat.written)
    main = Piece(
        head,
        tuple(names.of(p) for p in flat.func.params),
        frozenset(map(names.of, optional)),
        (),
        (*zeros, *body, Return(as_expr(written))),
        frozenset(("truncdiv",) if truncdiv else ()),
        wide=False,
    )
    # JAX knows no derivatives of most Pallas kernels.
    derived = piece_of(flat.func.as_written) if has_derivatives(flat.func) else None
    derived = None if derived is not None and derived.wide else derived  # such a form is no kernel of 64-bit types
    rests = assumptions_of(demanded(flat.func))
    doc = [
        f'"""Return ({", ".join(written)},) as new arrays.',
        *(["", "Rests on what it does not check:"] if rests else []),
    ]
    doc += [f"    {line}" for line in rests]
    doc = [*doc, '"""'] if rests else [f'{doc[0]}"""']
    title, above = "with a Pallas kernel", tuple(functions)
    return Module(main, tuple(doc), as_written=derived, title=title, imports=tuple(imports), above=above).text()


# Worth it?


class Gain(Struct, frozen=True):
    """A Pallas form against XLA's: bytes moved by each, or cycles where the TPU compiler was asked; and the verdict."""

    pallas: float
    xla: float
    unit: str
    worth: bool
    reason: str


# A form is taken only if it moves this much less; what it computes twice and transfers at odd sizes is not priced.
MARGIN = 0.7


def gain(func: PrimFunc, target: str | Target = "tpu", ask_compiler: bool = True) -> Gain | str:
    """Whether the Pallas form of a program is worth having, or why it has none.

    Bytes: XLA fuses a mask into its reduction, and a chain of stages into one pass, on TPU and GPU; it writes what one
    iteration of a loop leaves for the next. Pallas moves what its blocks read and write, rows around them included.
    Where the TPU compiler is installed (and `ask_compiler`), its estimate for XLA's form, bodies of loops times their
    iterations, stands against what the Pallas form moves and computes at the speed of that compiler's own elementwise
    kernels, since it does not look into Pallas calls; reshapes and copies around them it does price.

    Raises:
        LoopsatError: the target is unknown.
    """
    chosen = target if isinstance(target, Target) else target_named(target)
    form = find_form(func, chosen)
    if isinstance(form, str):
        return form
    flat = flatten(func, chosen)
    if chosen.name == TPU.name and ask_compiler and tpu_available():
        return _gain_in_cycles(form, flat)
    xla = float(xla_bytes(flat))
    return _verdict(float(form.moved), xla, "bytes")


def _verdict(pallas: float, xla: float, unit: str) -> Gain:
    worth = pallas < MARGIN * xla
    why = "less than" if worth else "not less than"
    return Gain(pallas, xla, unit, worth, f"{pallas:,.0f} {unit}, {why} {MARGIN} of {xla:,.0f} {unit} of XLA's form")


def xla_bytes(flat: Flat) -> int:
    """Bytes that XLA's form moves at least: every step of a loop reads and writes its state, all else is fused."""
    total = 0
    for item in flat.items:
        if isinstance(item, TimeLoop):
            total += item.extent * _traffic(item.body, frozenset())
    straight = [i for i in flat.items if isinstance(i, Job)]
    return total + (_traffic(straight, flat.locals) if straight else 0)


def _traffic(jobs: Sequence[Job], local: frozenset[Buffer]) -> int:
    """Bytes of the buffers that statements write, and of those that they read before."""
    written: set[Buffer] = set()
    found: set[tuple[str, Buffer]] = set()
    for job in jobs:
        for load in read([whole_value(job), *job.guards]):
            if load.buffer not in written:
                found.add(("read", load.buffer))
        written.add(job.buffer)
        found.add(("write", job.buffer))
    return sum(prod(shape(b)) * b.dtype.bits // 8 for _, b in found if b not in local)


def _gain_in_cycles(form: PallasForm, flat: Flat) -> Gain | str:
    """Estimated cycles of XLA's form against those of the Pallas form and what stands around it."""
    ours, theirs = compile_jobs([pallas_job(form), tpu_job(form.func)])
    if isinstance(ours, LowerError):
        return f"the TPU compiler refuses the Pallas form: {' '.join(ours.notes)}"
    if isinstance(theirs, LowerError):
        return f"the TPU compiler refuses XLA's form: {' '.join(theirs.notes)}"
    # XLA keeps the loop over time, or unrolls it, which the estimate then sees.
    times = max([i.extent for i in flat.items if isinstance(i, TimeLoop)], default=1) if theirs.loops else 1
    repeated = max(1, form.repeat) if ours.loops else 1
    kernels = operations.kernel_cycles(form.repeat, form.moved, form.operations)
    pallas = ours.estimated_cycles * repeated + kernels
    return _verdict(pallas, float(theirs.estimated_cycles * times), "estimated cycles")


def pallas_job(form: PallasForm) -> TpuJob:
    """What the TPU compiler needs of a Pallas form; the estimate of its report leaves out the kernels themselves."""
    arguments: dict[str, tuple[tuple[int, ...], str]] = {}
    for param in form.func.params:
        if isinstance(param, Buffer):
            if param not in form.optional:
                arguments[form.names[param.name]] = (shape(param), str(param.dtype.numpy))
        else:
            arguments[form.names[param.name]] = ((), str(param.dtype.numpy))
    return TpuJob(form.source, form.names[""], arguments)


__all__ = [
    "MARGIN",
    "PALLAS_TARGETS",
    "Gain",
    "PallasForm",
    "emit_pallas",
    "emitted",
    "find_form",
    "gain",
    "pallas_job",
    "xla_bytes",
]
