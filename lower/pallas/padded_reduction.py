"""Reductions over the valid part of rows that are stored with padding, as Pallas kernels.

Blocks of whole, aligned tiles are read, padding included; which elements count is decided in registers, by their
positions. On a TPU the grid walks over the blocks of a row and adds to the result, which stays in VMEM; on a GPU, where
programs run at once, each one loops over its rows (Triton, tiles of powers of two).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Const, Expr, Load, Var, const
from ir.transform.loops.coalesce import digits_of
from ir.traverse import free_vars, map_expr, walk_expr
from lower.analysis.linear_forms import number
from lower.array.job import Job
from lower.array.reduce import neutral
from lower.array.values import Translator, Value, dtype_code, literal
from lower.array.views import Axis
from lower.emission.scope import Names
from lower.pallas.programs import Flat, UnsuitableError, is_constant, place, read, settled, shape
from lower.program.build import (
    Arg,
    as_expr,
    assign,
    call,
    code,
    definition,
    dotted,
    every,
    infix,
    method,
    subscript,
    text,
)
from lower.program.nodes import Function, JaxExpr, JaxStmt, Lambda

TILE_BYTES = 2 << 20  # of one operand in one block
GPU_TILE = 4096  # elements of a tile in the registers of one program
_SUBLANES, _LANES = 32, 128  # of the narrowest dtype: a multiple for all of them
_BYTES = 4  # of an element of the widest dtype that TPUs have
_PARTS = {"add": "jnp.sum", "sub": "jnp.sum", "min": "jnp.min", "max": "jnp.max"}
_JOINS = {"add": "{} + {}", "sub": "{} - {}", "min": "jnp.minimum({}, {})", "max": "jnp.maximum({}, {})"}


class TileAxis(Struct, frozen=True):
    """A dimension of tiles: its variable, its stored size, and the part that counts."""

    var: Var
    size: int
    low: int
    high: int
    reduced: bool

    @property
    def whole(self) -> bool:
        return (self.low, self.high) == (0, self.size)


class Reduction(Struct, frozen=True):
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
        used = {outer.var, inner.var} & free_vars(*load.indices)
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
    first, second = digits_of(joint.var, (divisor,))
    job = job.substitute(pair[0], first).substitute(pair[1], second)
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


def blocks(sizes: Sequence[int]) -> tuple[int, ...]:
    """Block sizes for TPU tiles: whole dimensions where they fit, else multiples of the tile, outer ones first."""
    units = [1] * (len(sizes) - 2) + [_SUBLANES, _LANES]
    found = list(sizes)

    def total() -> int:
        return _BYTES * math.prod(-(-n // u) * u for n, u in zip(found, units, strict=True))

    for k, unit in enumerate(units):
        while total() > TILE_BYTES and found[k] > unit:
            found[k] = max(unit, found[k] // 2 // unit * unit)
    return tuple(found)


# Source


class ReductionWriter(Struct, dict=True):
    """Writes the kernel of a reduction and the function that calls it."""

    one: Reduction
    names: Names
    interpret: bool
    gpu: bool
    truncdiv: bool = False

    def __post_init__(self) -> None:
        # dimensions of one before those of tiles, where these are fewer than two
        self.lead: int = max(0, 2 - len(self.one.axes)) if not self.gpu else 0

    def write(self) -> tuple[Function, ...]:
        """The kernel and a function `reduced` of the operands, and of the result if it starts there."""
        return self._gpu() if self.gpu else self._tpu()

    @property
    def arguments(self) -> list[str]:
        """What the function takes."""
        names = list(dict.fromkeys(self.names.of(e.buffer) for e in self.one.operands))
        return [*names, *([] if self.one.start is not None else [self.names.of(self.one.job.buffer)])]

    @property
    def _refs(self) -> list[str]:
        """What the kernel takes, but for the result."""
        return [*(f"operand_{n}" for n in range(len(self.one.operands))), *["start_ref"] * (self.one.start is None)]

    def _full(self, sizes: Sequence[int]) -> tuple[int, ...]:
        return (*(1,) * self.lead, *sizes)

    def _value(self, loads: dict[Load, JaxExpr], positions: dict[Var, JaxExpr]) -> tuple[JaxExpr, list[JaxExpr]]:
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

    def _conditions(self, guards: list[JaxExpr], positions: dict[Var, JaxExpr], sizes: Sequence[int]) -> list[JaxExpr]:
        """Which elements of a tile count; a block may hang over the end of a reduced axis."""
        found = list(guards)
        for axis, block in zip(self.one.axes, sizes, strict=True):
            if axis.reduced and axis.low > 0:
                found.append(infix(positions[axis.var], ">=", axis.low))
            if axis.reduced and (axis.high < axis.size or axis.size % block):
                found.append(infix(positions[axis.var], "<", axis.high))
        return found

    def _masked(self, value: JaxExpr, conditions: list[JaxExpr], sizes: Sequence[int]) -> list[JaxStmt]:
        """Statements that give `value` the tile of what is reduced."""
        dtype = dtype_code(self.one.dtype)
        shape = tuple(self._full(sizes))
        found = [assign("value", code("jnp.broadcast_to({}, {}).astype({})", value, shape, dtype))]
        if conditions:
            assert self.one.job.op is not None
            nothing = code("jnp.array({}, {})", neutral(self.one.job.op, self.one.dtype).code, dtype)
            found.append(assign("value", call("jnp.where", every(conditions), "value", nothing)))
        return [*found]

    def _tpu(self) -> tuple[Function, ...]:
        one = self.one
        sizes = blocks(self._full([a.size for a in one.axes]))[self.lead :]
        order = [*one.parallel, *one.reduced]
        grid = [-(-one.axes[k].size // sizes[k]) for k in order]
        loads: dict[Load, JaxExpr] = {e: code("{}[...]", f"operand_{n}") for n, e in enumerate(one.operands)}
        shape = tuple(self._full(sizes))
        positions: dict[Var, JaxExpr] = {
            a.var: code(
                "lax.broadcasted_iota(jnp.int32, {}, {}) + pl.program_id({}) * {}",
                *(shape, k + self.lead, order.index(k), sizes[k]),
            )
            for k, a in enumerate(one.axes)
        }
        value, guards = self._value(loads, positions)
        start = code("start_ref[...].astype({})", dtype_code(one.dtype))
        if one.start is not None:
            first = literal(one.start.value, one.start.dtype).code
            start = code("jnp.full(result.shape, {}, {})", first, dtype_code(one.dtype))
        reduced = tuple(k + self.lead for k in one.reduced)
        part = call(_PARTS[str(one.job.op)], "value", axis=reduced, keepdims=True)
        kernel = definition(
            """
            def reduce_kernel(*{refs}):
                @pl.when({first})
                def start():
                    result[...] = {start}
                *{masked}
                result[...] = {joined}
            """,
            refs=[*self._refs, "result"],
            first=every(code("pl.program_id({}) == 0", order.index(k)) for k in one.reduced),
            start=start,
            masked=self._masked(value, self._conditions(guards, positions, sizes), sizes),
            joined=code(_JOINS[str(one.job.op)], code("result[...]"), part),
        )
        result_block = [1 if one.axes[k].reduced else sizes[k] for k in range(len(sizes))]
        result_spec = self._spec(result_block, order, [not a.reduced for a in one.axes])
        specs = [self._operand_spec(e, sizes, order) for e in one.operands]
        specs += [result_spec] if one.start is None else []
        kinds = tuple(map(text, ["parallel"] * len(one.parallel) + ["arbitrary"] * len(one.reduced)))
        params = code("pltpu.CompilerParams(dimension_semantics={})", kinds)
        return kernel, self._call(grid, specs, result_spec, params, tuple(self._full(one.result_shape)))

    def _operand_spec(self, load: Load, sizes: Sequence[int], order: Sequence[int]) -> JaxExpr:
        used = [a.var in load.indices for a in self.one.axes]
        return self._spec([s if u else 1 for s, u in zip(sizes, used, strict=True)], order, used)

    def _spec(self, sizes: Sequence[int], order: Sequence[int], used: Sequence[bool]) -> JaxExpr:
        places: list[Arg] = [0] * self.lead
        places += [f"b{order.index(k)}" if u else 0 for k, u in enumerate(used)]
        at = Lambda(tuple(f"b{n}" for n in range(len(order))), as_expr(tuple(places)))
        return call("pl.BlockSpec", tuple(self._full(sizes)), at)

    def _call(
        self, grid: Sequence[int], specs: Sequence[JaxExpr], result: JaxExpr, params: JaxExpr, stored: tuple[int, ...]
    ) -> Function:
        """The function of whole arrays that calls the kernel, of which the result has the shape `stored`."""
        one = self.one
        given = [call("jnp.reshape", self.names.of(e.buffer), tuple(self._full(one.shapes[e]))) for e in one.operands]
        if one.start is None:
            given.append(call("jnp.reshape", self.names.of(one.job.buffer), stored))
        final = call("jnp.reshape", "result", shape(one.job.buffer))
        if one.dtype is not one.job.buffer.dtype:
            final = method(final, "astype", dtype_code(one.job.buffer.dtype))
        return definition(
            '''
            def reduced(*{arguments}):
                """The reduction, block by block."""
                result = pl.pallas_call(
                    reduce_kernel, grid={grid}, in_specs=[*{specs}], out_specs={result},
                    out_shape=jax.ShapeDtypeStruct({stored}, {dtype}), **{options},
                )(*{given})
                return {final}
            ''',
            arguments=self.arguments,
            grid=tuple(grid),
            specs=specs,
            result=result,
            stored=stored,
            dtype=dtype_code(one.dtype),
            options={"interpret": True} if self.interpret else {"compiler_params": params},
            given=given,
            final=final,
        )

    def _gpu(self) -> tuple[Function, ...]:
        """One program for a few results; it loops over the tiles of their rows."""
        one = self.one
        sizes = gpu_blocks(one)
        grid = [-(-one.axes[k].size // sizes[k]) for k in one.parallel] or [1]
        counts = [-(-one.axes[k].size // sizes[k]) for k in one.reduced]
        firsts = {k: f"first_{k}" for k in range(len(one.axes))}  # where a tile begins on each axis
        positions: dict[Var, JaxExpr] = {a.var: _iota(firsts[k], sizes, k) for k, a in enumerate(one.axes)}
        over = {k for k, a in enumerate(one.axes) if a.size % sizes[k]}  # axes of which a tile may leave the end
        loads: dict[Load, JaxExpr] = {}
        for n, load in enumerate(one.operands):
            used = [a.var in load.indices for a in one.axes]
            places = [_range(firsts[k], sizes[k]) if u else _range(0, 1) for k, u in enumerate(used)]
            extents = [s if u else 1 for s, u in zip(sizes, used, strict=True)]
            checks = [infix(_iota(firsts[k], extents, k), "<", one.axes[k].size) for k in sorted(over) if used[k]]
            mask: dict[str, Arg] = {"mask": every(checks), "other": 0} if checks else {}
            loads[load] = call("plgpu.load", subscript(f"operand_{n}.at", *places), **mask)
        value, guards = self._value(loads, positions)
        kept = tuple(sizes[k] for k in one.parallel)
        checks = [
            infix(_iota(firsts[k], kept, n), "<", one.axes[k].size) for n, k in enumerate(one.parallel) if k in over
        ]
        mask = {"mask": every(checks)} if checks else {}

        def place_of(ref: str) -> JaxExpr:
            places = [_range(firsts[k], sizes[k]) for k in one.parallel]
            return subscript(f"{ref}.at", *places) if places else dotted(ref)

        if one.start is not None:
            first = literal(one.start.value, one.start.dtype).code
            begin = call("jnp.full", kept, first, dtype_code(one.dtype))
        else:
            old = call("plgpu.load", place_of("start_ref"), **mask, **({"other": 0} if mask else {}))
            begin = method(old, "astype", dtype_code(one.dtype))
        kernel = definition(
            """
            def reduce_kernel(*{refs}):
                *{outer}
                def step(chunk, total):
                    *{inner}
                    *{masked}
                    return {joined}
                total = lax.fori_loop(0, {count}, step, {begin})
                plgpu.store({stored}, total, **{mask})
            """,
            refs=[*self._refs, "result"],
            outer=[assign(firsts[k], code("pl.program_id({}) * {}", n, sizes[k])) for n, k in enumerate(one.parallel)],
            inner=self._tile_starts(sizes, counts, firsts),
            masked=self._masked(value, self._conditions(guards, positions, sizes), sizes),
            joined=code(
                _JOINS[str(one.job.op)], dotted("total"), call(_PARTS[str(one.job.op)], "value", axis=one.reduced)
            ),
            count=math.prod(counts),
            begin=begin,
            stored=place_of("result"),
            mask=mask,
        )
        specs = [code("pl.BlockSpec()")] * (len(one.operands) + (one.start is None))
        stored = tuple(one.axes[k].size for k in one.parallel)
        params = code("plgpu.CompilerParams()")
        return kernel, self._call(grid, specs, code("pl.BlockSpec()"), params, stored)

    def _tile_starts(self, sizes: Sequence[int], counts: Sequence[int], firsts: dict[int, str]) -> list[JaxStmt]:
        """Where the tile of a step begins on reduced axes, the last one first."""
        found: list[JaxStmt] = []
        inner = 1
        for n, k in reversed(list(enumerate(self.one.reduced))):
            chunk = dotted("chunk") if inner == 1 else call("lax.div", "chunk", inner)
            chunk = chunk if n == 0 else call("lax.rem", chunk, counts[n])  # Triton does not know the sign fix of `%`
            found.append(assign(firsts[k], infix(chunk, "*", sizes[k])))
            inner *= counts[n]
        return found


def _iota(first: str, sizes: Sequence[int], dim: int) -> JaxExpr:
    """Positions along a dimension of a tile that begins at `first`."""
    return code("{} + lax.broadcasted_iota(jnp.int32, {}, {})", first, tuple(sizes), dim)


def _range(first: Arg, size: int) -> JaxExpr:
    return call("pl.ds", first, size)


def gpu_blocks(one: Reduction) -> list[int]:
    """Tiles of powers of two: as much as possible of the innermost axes."""
    found = [1] * len(one.axes)
    left = GPU_TILE
    for k in reversed(range(len(one.axes))):
        full = 1 << (one.axes[k].size - 1).bit_length()
        found[k] = min(full, left, 1024)
        left //= found[k]
    return found
