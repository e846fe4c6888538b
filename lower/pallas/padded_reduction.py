"""Reductions over the valid part of rows that are stored with padding, as Pallas kernels.

Blocks of whole, aligned tiles are read, padding included; which elements count is decided in registers, by their
positions. On a TPU the grid walks over the blocks of a row and adds to the result, which stays in VMEM; on a GPU, where
programs run at once, each one loops over its rows (Triton, tiles of powers of two).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ir.dtypes import DType
from ir.nodes import Binary, Const, Expr, Load, Var, const
from ir.traverse import free_vars, map_expr, walk_expr
from lower.analysis.linear_forms import number
from lower.array.job import Job
from lower.array.reduce import neutral
from lower.array.values import Translator, Value, dtype_code, literal
from lower.array.views import Axis
from lower.emission.scope import Names
from lower.pallas.programs import Flat, UnsuitableError, is_constant, place, read, settled, shape

TILE_BYTES = 2 << 20  # of one operand in one block
GPU_TILE = 4096  # elements of a tile in the registers of one program
_SUBLANES, _LANES = 32, 128  # of the narrowest dtype: a multiple for all of them
_PARTS = {"add": "jnp.sum", "sub": "jnp.sum", "min": "jnp.min", "max": "jnp.max"}
_JOINS = {"add": "{} + {}", "sub": "{} - {}", "min": "jnp.minimum({}, {})", "max": "jnp.maximum({}, {})"}


@dataclass(frozen=True, slots=True)
class TileAxis:
    """A dimension of tiles: its variable, its stored size, and the part that counts."""

    var: Var
    size: int
    low: int
    high: int
    reduced: bool

    @property
    def whole(self) -> bool:
        return (self.low, self.high) == (0, self.size)


@dataclass(frozen=True, slots=True)
class Reduction:
    """`buffer[parallel axes] op= value` from `start` (None: from what the buffer holds). `shapes` are of operands."""

    job: Job
    axes: tuple[TileAxis, ...]
    start: Const | None
    operands: tuple[Load, ...]
    shapes: dict[Load, tuple[int, ...]]

    @property
    def parallel(self) -> tuple[int, ...]:
        return tuple(k for k, a in enumerate(self.axes) if not a.reduced)

    @property
    def reduced(self) -> tuple[int, ...]:
        return tuple(k for k, a in enumerate(self.axes) if a.reduced)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The result with a dimension of one for each reduced axis."""
        return tuple(1 if a.reduced else a.size for a in self.axes)

    @property
    def dtype(self) -> DType:
        """What is accumulated: sums of narrow floats in float32."""
        dtype = self.job.buffer.dtype
        return DType.FLOAT32 if dtype.is_float else dtype


def reduction_of(flat: Flat) -> Reduction:
    """The reduction that a function is.

    Raises:
        UnsuitableError: it is something else.
    """
    jobs = [j for j in flat.items if isinstance(j, Job)]
    if len(jobs) != len(flat.items) or not 1 <= len(jobs) <= 2 or flat.locals:
        raise UnsuitableError("it is not one reduction, with or without its initialisation")
    found = settled(jobs[-1])
    if found is None or found.op not in _PARTS or not found.reduced():
        raise UnsuitableError("its last statement is not a sum, minimum or maximum over an axis")
    if any(load.buffer == found.buffer for load in read(list(found.exprs()))):
        raise UnsuitableError("the reduction reads what it writes")
    if flat.func.scalars:
        raise UnsuitableError("it has scalar parameters")
    start = None if len(jobs) == 1 else _start(jobs[0], found)
    return _reduction(_merged(_squeezed(found)), start)


def _start(first: Job, update: Job) -> Const:
    """The constant that the result is set to everywhere before."""
    job = settled(first)
    if job is None or job.op is not None or job.guards or job.buffer != update.buffer:
        raise UnsuitableError("the statement before the reduction does not initialise it")
    if not is_constant(job.value) or not _full(job):
        raise UnsuitableError("the reduction does not start from one constant everywhere")
    assert isinstance(job.value, Const)
    return job.value


def _full(job: Job) -> bool:
    """Whether a job stores to every element, in loop order."""
    by_name = {a.var.name: a for a in job.axes}
    for index, size in zip(job.indices, shape(job.buffer), strict=True):
        var, offset = place(index, job.axes)
        if var is None and size == 1 and offset == 0:
            continue
        if var is None or offset or (by_name[var].low.const, by_name[var].extent.const) != (0, size):
            return False
    return True


def _squeezed(job: Job) -> Job:
    """The job with buffers seen without their dimensions of one element."""

    def one(e: Expr) -> Expr:
        if not isinstance(e, Load):
            return e
        kept = [k for k, n in enumerate(shape(e.buffer)) if n != 1 or not isinstance(e.indices[k], Const)]
        buffer = replace(e.buffer, shape=tuple(e.buffer.shape[k] for k in kept))
        return Load(buffer, tuple(e.indices[k] for k in kept), e.span)

    return replace(job, value=map_expr(job.value, one), guards=tuple(map_expr(g, one) for g in job.guards))


def _merged(job: Job) -> Job:
    """The job with neighbouring reduced axes that run through the same rows made one, so that tiles are not narrow."""
    changed = True
    while changed:
        changed = False
        for outer, inner in pairwise(job.reduced()):
            if _adjacent(job, outer, inner):
                job, changed = _fuse(job, outer, inner), True
                break
    return job


def _adjacent(job: Job, outer: Axis, inner: Axis) -> bool:
    """Whether each load that uses one of the axes has both as whole neighbouring dimensions."""
    for load in read([job.value, *job.guards]):
        names = [i.name if isinstance(i, Var) else None for i in load.indices]
        used = {outer.var, inner.var} & {v for i in load.indices for v in free_vars(i)}
        if not used:
            continue
        pair = [outer.var.name, inner.var.name]
        at = next((k for k in range(len(names) - 1) if names[k : k + 2] == pair), None)
        if at is None or shape(load.buffer)[at : at + 2] != (outer.extent.const, inner.extent.const):
            return False
    return outer.low.equals(0) and inner.low.equals(0)


def _fuse(job: Job, outer: Axis, inner: Axis) -> Job:
    """One axis for two; buffers are seen with the two dimensions merged."""
    width = inner.extent.const
    joint = Axis(Var(f"{outer.var.name}_{inner.var.name}", outer.var.dtype), number(0), outer.extent * width)
    divisor = const(width, outer.var.dtype)
    pair = (outer.var, inner.var)

    def view(load: Load) -> Load:
        if outer.var not in load.indices:
            return load
        at = load.indices.index(outer.var)
        full = shape(load.buffer)
        sizes = (*full[:at], full[at] * full[at + 1], *full[at + 2 :])
        buffer = replace(load.buffer, shape=tuple(const(n, DType.INT32) for n in sizes))
        return Load(buffer, (*load.indices[:at], joint.var, *load.indices[at + 2 :]), load.span)

    def viewed(e: Expr) -> Expr:
        return view(e) if isinstance(e, Load) else e

    value = map_expr(job.value, viewed)
    guards = tuple(map_expr(g, viewed) for g in job.guards)
    job = replace(job, value=value, guards=guards)
    job = job.substitute(pair[0], Binary("floordiv", joint.var, divisor))
    job = job.substitute(pair[1], Binary("floormod", joint.var, divisor))
    found = settled(replace(job, axes=(*job.axes, joint)))
    assert found is not None
    return found


def _reduction(job: Job, start: Const | None) -> Reduction:
    """Tiles and operands of a job."""
    loads = read([job.value, *job.guards])
    ranked = sorted(loads, key=lambda e: -len(e.indices))
    order: list[Var] = []
    for load in ranked:
        for index in load.indices:
            if not isinstance(index, Var):
                raise UnsuitableError(f"an index of {load.buffer.name} is not a loop variable")
            if index not in order:
                order.append(index)
    by_var = {a.var: a for a in job.axes}
    if set(order) != set(by_var):
        raise UnsuitableError("a loop indexes nothing that is read")
    sizes: dict[Var, int] = {}
    for load in loads:
        for index, size in zip(load.indices, shape(load.buffer), strict=True):
            assert isinstance(index, Var)
            if sizes.setdefault(index, size) != size:
                raise UnsuitableError(f"{load.buffer.name} has another size along {index.name} than other operands")
        positions = [order.index(i) for i in load.indices if isinstance(i, Var)]
        if positions != sorted(set(positions)):
            raise UnsuitableError(f"{load.buffer.name} is read in another order of dimensions")
    reduced = {a.var for a in job.reduced()}
    axes = tuple(
        TileAxis(v, sizes[v], by_var[v].low.const, by_var[v].low.const + by_var[v].extent.const, v in reduced)
        for v in order
    )
    _check_result(job, axes)
    shapes = {e: tuple(a.size if a.var in e.indices else 1 for a in axes) for e in loads}
    return Reduction(job, axes, start, tuple(loads), shapes)


def _check_result(job: Job, axes: Sequence[TileAxis]) -> None:
    """The result has all parallel axes as dimensions, whole and in order."""
    found = [place(i, job.axes) for i in job.indices]
    kept = [a for a in axes if not a.reduced]
    if [v for v, _ in found if v is not None] != [a.var.name for a in kept]:
        raise UnsuitableError("the result has its dimensions in another order")
    for (var, offset), size in zip(found, shape(job.buffer), strict=True):
        axis = next((a for a in kept if a.var.name == var), None)
        if offset or (size != 1 if axis is None else not axis.whole or axis.size != size):
            raise UnsuitableError("only a part of the result is reduced to")


def moved_bytes(one: Reduction) -> int:
    """Bytes that the kernel reads and writes."""
    operands = sum(math.prod(one.shapes[e]) * e.buffer.dtype.bits // 8 for e in one.operands)
    return operands + math.prod(one.result_shape) * one.dtype.bits // 8 * (1 if one.start is not None else 2)


def operations(one: Reduction) -> float:
    """Operations on elements: the value, its conditions and the reduction."""
    nodes = sum(1 for e in (one.job.value, *one.job.guards) for _ in walk_expr(e))
    return float((nodes + 4) * math.prod(a.size for a in one.axes))


def blocks(sizes: Sequence[int], bytes_each: int = 4) -> tuple[int, ...]:
    """Block sizes for TPU tiles: whole dimensions where they fit, else multiples of the tile, outer ones first."""
    units = [1] * (len(sizes) - 2) + [_SUBLANES, _LANES]
    found = list(sizes)

    def total() -> int:
        return bytes_each * math.prod(-(-n // u) * u for n, u in zip(found, units, strict=True))

    for k, unit in enumerate(units):
        while total() > TILE_BYTES and found[k] > unit:
            found[k] = max(unit, found[k] // 2 // unit * unit)
    return tuple(found)


# Source


@dataclass(slots=True)
class ReductionWriter:
    """Writes the kernel of a reduction and the function that calls it."""

    one: Reduction
    names: Names
    interpret: bool
    gpu: bool
    lead: int = field(init=False)  # dimensions of one before those of tiles, where these are fewer than two
    truncdiv: bool = False

    def __post_init__(self) -> None:
        self.lead = max(0, 2 - len(self.one.axes)) if not self.gpu else 0

    def write(self) -> list[str]:
        """Source of the kernel and of a function `reduced` of the operands, and of the result if it starts there."""
        return self._gpu() if self.gpu else self._tpu()

    @property
    def arguments(self) -> list[str]:
        """What the function takes."""
        names = list(dict.fromkeys(self.names.of(e.buffer) for e in self.one.operands))
        return [*names, *([] if self.one.start is not None else [self.names.of(self.one.job.buffer)])]

    def _full(self, sizes: Sequence[int]) -> tuple[int, ...]:
        return (*(1,) * self.lead, *sizes)

    def _value(self, loads: dict[Load, str], positions: dict[Var, str]) -> tuple[str, list[str]]:
        """The value that is reduced and the conditions under which it counts, as tiles."""
        axes = tuple(self.one.job.axes)

        def load(node: Load) -> Value:
            return Value(loads[node], axes)

        def variable(var: Var) -> Value:
            return Value(positions[var], axes)

        translator = Translator(axes, load, variable, derivatives=False)
        value = translator.expr(self.one.job.value).code
        guards = [translator.expr(g).code for g in self.one.job.guards]
        self.truncdiv = "truncdiv" in translator.helpers
        return value, guards

    def _conditions(self, guards: list[str], positions: dict[Var, str], sizes: Sequence[int]) -> list[str]:
        """Which elements of a tile count; a block may hang over the end of a reduced axis."""
        found = list(guards)
        for axis, block in zip(self.one.axes, sizes, strict=True):
            if axis.reduced and axis.low > 0:
                found.append(f"{positions[axis.var]} >= {axis.low}")
            if axis.reduced and (axis.high < axis.size or axis.size % block):
                found.append(f"{positions[axis.var]} < {axis.high}")
        return found

    def _masked(self, value: str, conditions: list[str], sizes: Sequence[int]) -> list[str]:
        dtype = dtype_code(self.one.dtype)
        lines = [f"value = jnp.broadcast_to({value}, {tuple(self._full(sizes))}).astype({dtype})"]
        if conditions:
            held = " & ".join(f"({c})" for c in conditions)
            assert self.one.job.op is not None
            nothing = neutral(self.one.job.op, self.one.dtype).code
            lines.append(f"value = jnp.where({held}, value, jnp.array({nothing}, {dtype}))")
        return lines

    def _start_code(self, like: str) -> str:
        if self.one.start is None:
            return f"start_ref[...].astype({dtype_code(self.one.dtype)})"
        code = literal(self.one.start.value, self.one.start.dtype).code
        return f"jnp.full({like}.shape, {code}, {dtype_code(self.one.dtype)})"

    def _tpu(self) -> list[str]:
        one = self.one
        sizes = blocks(self._full([a.size for a in one.axes]))[self.lead :]
        order = [*one.parallel, *one.reduced]
        grid = [-(-one.axes[k].size // sizes[k]) for k in order]
        loads = {e: f"operand_{n}[...]" for n, e in enumerate(one.operands)}
        positions = {
            a.var: f"(lax.broadcasted_iota(jnp.int32, {tuple(self._full(sizes))}, {k + self.lead})"
            f" + pl.program_id({order.index(k)}) * {sizes[k]})"
            for k, a in enumerate(one.axes)
        }
        value, guards = self._value(loads, positions)
        first = " & ".join(f"(pl.program_id({order.index(k)}) == 0)" for k in one.reduced)
        reduced = tuple(k + self.lead for k in one.reduced)
        part = f"{_PARTS[str(one.job.op)]}(value, axis={reduced}, keepdims=True)"
        refs = [*(f"operand_{n}" for n in range(len(one.operands))), *(["start_ref"] if one.start is None else [])]
        lines = [
            f"def reduce_kernel({', '.join([*refs, 'result'])}):",
            f"    @pl.when({first})",
            "    def start():",
            f"        result[...] = {self._start_code('result')}",
            "",
            *(f"    {line}" for line in self._masked(value, self._conditions(guards, positions, sizes), sizes)),
            f"    result[...] = {_JOINS[str(one.job.op)].format('result[...]', part)}",
        ]
        result_block = [1 if one.axes[k].reduced else sizes[k] for k in range(len(sizes))]
        result_spec = self._spec(result_block, order, [not a.reduced for a in one.axes])
        specs = [self._operand_spec(e, sizes, order) for e in one.operands]
        specs += [result_spec] if one.start is None else []
        kinds = ["parallel"] * len(one.parallel) + ["arbitrary"] * len(one.reduced)
        options = ["interpret=True"] if self.interpret else [
            f"compiler_params=pltpu.CompilerParams(dimension_semantics={tuple(kinds)})"
        ]  # fmt: skip
        return [*lines, "", "", *self._call(grid, specs, result_spec, options)]

    def _operand_spec(self, load: Load, sizes: Sequence[int], order: Sequence[int]) -> str:
        whole = self.one.shapes[load]
        used = [a.var in load.indices for a in self.one.axes]
        return self._spec([s if u else 1 for s, u in zip(sizes, used, strict=True)], order, used) if whole else ""

    def _spec(self, block: Sequence[int], order: Sequence[int], used: Sequence[bool]) -> str:
        ids = ", ".join(f"b{n}" for n in range(len(order)))
        places = [f"b{order.index(k)}" if u else "0" for k, u in enumerate(used)]
        return f"pl.BlockSpec({tuple(self._full(block))}, lambda {ids}: ({', '.join([*('0' * self.lead), *places])},))"

    def _call(self, grid: Sequence[int], specs: Sequence[str], result: str, options: Sequence[str]) -> list[str]:
        one = self.one
        given = [f"jnp.reshape({self.names.of(e.buffer)}, {tuple(self._full(one.shapes[e]))})" for e in one.operands]
        result_shape = tuple(self._full(one.result_shape))
        if one.start is None:
            given.append(f"jnp.reshape({self.names.of(one.job.buffer)}, {result_shape})")
        final = f".astype({dtype_code(one.job.buffer.dtype)})" if one.dtype is not one.job.buffer.dtype else ""
        return [
            f"def reduced({', '.join(self.arguments)}):",
            '    """The reduction, block by block."""',
            "    result = pl.pallas_call(",
            "        reduce_kernel,",
            f"        grid={tuple(grid)},",
            "        in_specs=[",
            *(f"            {spec}," for spec in specs),
            "        ],",
            f"        out_specs={result},",
            f"        out_shape=jax.ShapeDtypeStruct({result_shape}, {dtype_code(one.dtype)}),",
            *(f"        {option}," for option in options),
            f"    )({', '.join(given)})",
            f"    return jnp.reshape(result, {shape(one.job.buffer)}){final}",
        ]

    def _gpu(self) -> list[str]:
        """One program for a few results; it loops over the tiles of their rows."""
        one = self.one
        sizes = gpu_blocks(one)
        grid = [-(-one.axes[k].size // sizes[k]) for k in one.parallel] or [1]
        counts = [-(-one.axes[k].size // sizes[k]) for k in one.reduced]
        lines, firsts = self._gpu_firsts(sizes, counts)
        positions = {
            a.var: f"({firsts[k]} + lax.broadcasted_iota(jnp.int32, {tuple(sizes)}, {k}))"
            for k, a in enumerate(one.axes)
        }
        inside = {k: f"({positions[a.var]} < {a.size})" for k, a in enumerate(one.axes) if a.size % sizes[k]}
        loads: dict[Load, str] = {}
        for n, load in enumerate(one.operands):
            index = ", ".join(
                f"pl.ds({firsts[k]}, {sizes[k]})" if a.var in load.indices else "pl.ds(0, 1)"
                for k, a in enumerate(one.axes)
            )
            extents = tuple(s if a.var in load.indices else 1 for s, a in zip(sizes, one.axes, strict=True))
            checks = [
                f"({firsts[k]} + lax.broadcasted_iota(jnp.int32, {extents}, {k}) < {a.size})"
                for k, a in enumerate(one.axes)
                if k in inside and a.var in load.indices
            ]
            mask = f", mask={' & '.join(checks)}, other=0" if checks else ""
            loads[load] = f"plgpu.load(operand_{n}.at[{index}]{mask})"
        value, guards = self._value(loads, positions)
        kept = tuple(sizes[k] for k in one.parallel)
        part = f"{_PARTS[str(one.job.op)]}(value, axis={one.reduced})"
        where = ", ".join(f"pl.ds({firsts[k]}, {sizes[k]})" for k in one.parallel)
        mask = " & ".join(
            f"({firsts[k]} + lax.broadcasted_iota(jnp.int32, {kept}, {n}) < {one.axes[k].size})"
            for n, k in enumerate(one.parallel)
            if k in inside
        )
        mask = f", mask={mask}" if mask else ""
        place_of = f"result.at[{where}]" if where else "result"
        other = f"{mask}, other=0" if mask else ""
        begin = f"plgpu.load({place_of.replace('result', 'start_ref', 1)}{other}).astype({dtype_code(one.dtype)})"
        if one.start is not None:
            code = literal(one.start.value, one.start.dtype).code
            begin = f"jnp.full({kept}, {code}, {dtype_code(one.dtype)})"
        refs = [*(f"operand_{n}" for n in range(len(one.operands))), *(["start_ref"] if one.start is None else [])]
        kernel = [
            f"def reduce_kernel({', '.join([*refs, 'result'])}):",
            *(f"    {line}" for line in lines if not line.startswith("step:")),
            "    def step(chunk, total):",
            *(f"        {line[5:]}" for line in lines if line.startswith("step:")),
            *(f"        {line}" for line in self._masked(value, self._conditions(guards, positions, sizes), sizes)),
            f"        return {_JOINS[str(one.job.op)].format('total', part)}",
            "",
            f"    total = lax.fori_loop(0, {math.prod(counts)}, step, {begin})",
            f"    plgpu.store({place_of}, total{mask})",
        ]
        specs = ["pl.BlockSpec()"] * (len(one.operands) + (one.start is None))
        return [*kernel, "", "", *self._gpu_call(grid, specs)]

    def _gpu_firsts(self, sizes: Sequence[int], counts: Sequence[int]) -> tuple[list[str], dict[int, str]]:
        """Lines that compute where a tile begins on each axis; those in the loop are marked."""
        one = self.one
        lines: list[str] = []
        firsts: dict[int, str] = {}
        for n, k in enumerate(one.parallel):
            lines.append(f"first_{k} = pl.program_id({n}) * {sizes[k]}")
            firsts[k] = f"first_{k}"
        inner = 1
        for n, k in reversed(list(enumerate(one.reduced))):
            chunk = "chunk" if inner == 1 else f"chunk // {inner}"
            chunk = chunk if n == 0 else f"({chunk}) % {counts[n]}"
            lines.append(f"step:first_{k} = ({chunk}) * {sizes[k]}")
            firsts[k] = f"first_{k}"
            inner *= counts[n]
        return lines, firsts

    def _gpu_call(self, grid: Sequence[int], specs: Sequence[str]) -> list[str]:
        kept = tuple(self.one.axes[k].size for k in self.one.parallel)
        lines = self._call(grid, specs, "pl.BlockSpec()", ["interpret=True"] if self.interpret else [
            "compiler_params=plgpu.CompilerParams()",
        ])  # fmt: skip
        keepdims = str(tuple(self._full(self.one.result_shape)))
        return [line.replace(f"ShapeDtypeStruct({keepdims}", f"ShapeDtypeStruct({kept}").replace(
            f"jnp.reshape({self.names.of(self.one.job.buffer)}, {keepdims})",
            f"jnp.reshape({self.names.of(self.one.job.buffer)}, {kept})",
        ) for line in lines]  # fmt: skip


def gpu_blocks(one: Reduction) -> list[int]:
    """Tiles of powers of two: as much as possible of the innermost axes."""
    found = [1] * len(one.axes)
    left = GPU_TILE
    for k in reversed(range(len(one.axes))):
        full = 1 << (one.axes[k].size - 1).bit_length()
        found[k] = min(full, left, 1024)
        left //= found[k]
    return found
