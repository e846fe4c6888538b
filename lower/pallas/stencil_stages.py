"""Stages of a stencil, or several steps of one, in one pass over memory: a Pallas kernel for TPU.

Blocks of rows (the first dimension) are read once with as many rows around them as all stages together reach; the
stages run on tiles in VMEM that shrink by what each of them reads, and only results are written. Rows that neighbours
need are computed twice (overlapped tiling). Regions are exact: a backward pass finds the rows of each version of a
buffer that are needed, so that no element that the program does not read decides a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ir.nodes import Buffer, Load, Var
from ir.traverse import free_vars, walk_expr
from lower.array.job import Job
from lower.array.values import Translator, Value, dtype_code
from lower.array.views import Axis
from lower.emission.scope import Names
from lower.pallas.programs import (
    Flat,
    TimeLoop,
    UnsuitableError,
    at_time,
    pieces,
    place,
    read,
    shape,
    uniform,
    whole_value,
)
from lower.program.build import (
    ALL,
    NEW_AXIS,
    Arg,
    as_expr,
    assign,
    between,
    call,
    code,
    definition,
    dotted,
    every,
    function,
    infix,
    statements,
    subscript,
)
from lower.program.nodes import Assign, Function, JaxExpr, JaxStmt, Lambda, Name, Starred, Tuple

Region = tuple[int, int]  # rows from `block start + low` to `block end + high`
# Of tiles in a block. A core has 16 MiB of scoped VMEM; larger tiles also take the compiler most of a minute.
TILE_BYTES = 3 << 20
STEPS = (4, 2, 1)  # time steps in one pass
MAX_STAGES = 48
_PREV, _MAIN, _NEXT = "above", "here", "below"


class Pass(Struct, frozen=True):
    """One kernel: stages in order, and what must hold before and after."""

    stages: tuple[Job, ...]
    rank: int
    results: tuple[Buffer, ...]
    needed: tuple[Region | None, ...]  # rows of the version that each stage writes; None: nobody looks at it
    inputs: Mapping[Buffer, Region]  # rows of initial versions
    wholes: tuple[Buffer, ...]  # read as a whole: no dimension of theirs is blocked


class Stages(Struct, frozen=True):
    """The kernels of a function: `first` runs `repeat` times, then `rest` once."""

    first: Pass
    repeat: int
    rest: Pass | None
    steps: int  # time steps in `first`; 0 without a time loop


def stages_of(flat: Flat) -> Stages:
    """Divide a function into passes.

    Raises:
        UnsuitableError: it is no chain of stencil stages.
    """
    loop = next((i for i in flat.items if isinstance(i, TimeLoop)), None)
    if loop is None:
        jobs = [p for item in flat.items if isinstance(item, Job) for p in pieces(item)]
        return Stages(make_pass(jobs, flat.written), 1, None, 0)
    if len(flat.items) > 1:
        raise UnsuitableError("a loop over time stands among other statements")
    state = tuple(b for b in dict.fromkeys(j.buffer for j in loop.body) if b not in flat.locals)
    steps = [[p for job in at_time(loop, loop.low + t) for p in pieces(job)] for t in range(min(loop.extent, STEPS[0]))]
    if not steps:
        raise UnsuitableError("the loop over time is empty")
    error = UnsuitableError("a time step has too many stages for one kernel")
    for count in STEPS:
        if count > loop.extent or (count < loop.extent and not uniform(loop)):
            continue
        jobs = [p for step in steps[:count] for p in step]
        if len(jobs) <= MAX_STAGES:
            try:
                first = _with_carried(flat, jobs, state)
                block_rows(first)
            except UnsuitableError as reason:
                error = reason
                continue
            left = loop.extent % count
            rest = make_pass([p for step in steps[:left] for p in step], first.results) if left else None
            return Stages(first, loop.extent // count, rest, count)
    if not uniform(loop) and loop.extent > STEPS[0]:
        raise UnsuitableError(f"the iterations of loop {loop.var.name} differ from each other")
    raise error


def _with_carried(flat: Flat, jobs: Sequence[Job], state: tuple[Buffer, ...]) -> Pass:
    """The pass of some time steps, whose results include locals that the next steps read."""
    while True:
        one = make_pass(jobs, state)
        carried = tuple(b for b in one.inputs if b in flat.locals and b not in state)
        if not carried:
            return one
        state = (*state, *carried)


def make_pass(jobs: Sequence[Job], results: Sequence[Buffer]) -> Pass:
    """Find out which rows are needed of what, from the last stage to the first."""
    if not jobs:
        raise UnsuitableError("there are no statements")
    if not results:
        raise UnsuitableError("it writes nothing that callers see")
    ranks = {len(j.indices) for j in jobs} | {len(b.shape) for b in results}
    if len(ranks) != 1 or 0 in ranks:
        raise UnsuitableError("stages store to buffers of different ranks")
    if len(jobs) > MAX_STAGES:
        raise UnsuitableError(f"{len(jobs)} stages are more than {MAX_STAGES}")
    stored = {j.buffer for j in jobs}
    needed: dict[Buffer, Region] = dict.fromkeys(results, (0, 0))  # what no stage stores to stays what it is
    regions: list[Region | None] = []
    wholes: dict[Buffer, None] = {}
    for job in reversed(jobs):
        check_store(job)
        region = needed.get(job.buffer)
        regions.append(region)
        if region is None:
            continue
        if covers(job):
            del needed[job.buffer]
        for load in read([whole_value(job), *job.guards]):
            shift = row_shift(load, job)
            if shift is None:
                wholes[load.buffer] = None
            elif len(job.indices) == 1 != len(load.indices):
                raise UnsuitableError(f"{load.buffer.name} has rows of several elements, the result has single ones")
            else:
                needed[load.buffer] = _hull(needed.get(load.buffer), (region[0] + shift, region[1] + shift))
    mixed = [b.name for b in wholes if b in stored or b in needed]
    if mixed:
        raise UnsuitableError(f"{', '.join(mixed)} is read by rows and as a whole, or read as a whole and written")
    inputs = dict(needed)
    return Pass(tuple(jobs), ranks.pop(), tuple(results), tuple(reversed(regions)), inputs, tuple(wholes))


def _hull(a: Region | None, b: Region) -> Region:
    return b if a is None else (min(a[0], b[0]), max(a[1], b[1]))


def check_store(job: Job) -> None:
    """A stage stores to `[i + c, j + d, ...]` with distinct axes, and has no other axes."""
    found = [place(i, job.axes)[0] for i in job.indices]
    if None in found or len(set(found)) != len(found) or set(found) != {a.var.name for a in job.axes}:
        raise UnsuitableError(f"the store to {job.buffer.name} is not to rows and columns of its loops")


def row_shift(load: Load, job: Job) -> int | None:
    """How many rows below the stored one a load reads; None if it reads no row of the block."""
    row, offset = place(job.indices[0], job.axes)
    order = [place(i, job.axes)[0] for i in job.indices]
    found = [place(i, job.axes) for i in load.indices]
    variables = [v for v, _ in found if v is not None]
    if len(set(variables)) != len(variables) or [v for v in order if v in variables] != variables:
        raise UnsuitableError(f"{load.buffer.name} is read in another order of dimensions than it is used in")
    if row not in variables:
        return None
    if found[0][0] != row:
        raise UnsuitableError(f"{load.buffer.name} has its rows not in its first dimension")
    return found[0][1] - offset


def covers(job: Job) -> bool:
    """Whether a stage stores to every element of its buffer."""
    return not job.guards and all(d == (0, n) for d, n in zip(domain(job), shape(job.buffer), strict=True))


def domain(job: Job) -> list[tuple[int, int]]:
    """First and one past the last place that a stage stores to, in each dimension."""
    by_name = {a.var.name: a for a in job.axes}
    result: list[tuple[int, int]] = []
    for index in job.indices:
        var, offset = place(index, job.axes)
        assert var is not None
        axis = by_name[var]
        low = axis.low.const + offset
        result.append((low, low + axis.extent.const))
    return result


# Blocks


def power(n: int) -> int:
    """The least power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


def row_unit(one: Pass) -> int:
    """Blocks of rows come in multiples of this: rows are lanes, sublanes or neither, by the rank."""
    narrow = any(b.dtype.bits < 32 for b in (*one.inputs, *(j.buffer for j in one.stages)))
    return {1: 1024, 2: 16 if narrow else 8}.get(one.rank, 1)


def halo(region: Region, unit: int) -> tuple[int, int]:
    """Rows above and below a block that are read with it."""
    low, high = max(-region[0], 0), max(region[1], 0)
    return (max(power(low), unit) if low else 0), (max(power(high), unit) if high else 0)


def block_rows(one: Pass) -> int:
    """Rows of a block: as many as fit, a power of two.

    Raises:
        UnsuitableError: the rows that one block needs do not fit.
    """
    unit = row_unit(one)
    buffers = {*one.inputs, *(j.buffer for j in one.stages)}
    width = max(_row_bytes(b) for b in buffers)
    halos = [halo(r, unit) for r in one.inputs.values()]
    least = max([unit, *(n for h in halos for n in h)])
    rows = power(max(max(shape(j.buffer)[0] for j in one.stages), unit))
    around = max([sum(h) for h in halos], default=0)
    while rows > least and (rows + around) * width * (len(buffers) + 2) > TILE_BYTES:
        rows //= 2
    rows = max(rows, least)
    if (rows + around) * width * (len(buffers) + 2) > TILE_BYTES:
        raise UnsuitableError(f"{rows} rows and {around} around them do not fit into VMEM")
    if around > rows:
        raise UnsuitableError(f"the stages reach {around} rows: more would be computed twice than once")
    return rows


def _row_bytes(buffer: Buffer) -> int:
    """Bytes of a row in tiles."""
    inner = list(shape(buffer)[1:])
    if inner:
        inner[-1] = -(-inner[-1] // 128) * 128
    if len(inner) > 1:
        inner[-2] = -(-inner[-2] // 8) * 8
    total = 1
    for n in inner:
        total *= n
    return 4 * total


def moved_bytes(one: Pass) -> int:
    """Bytes that a pass reads and writes, rows around blocks included."""
    rows = block_rows(one)
    total = 0
    for buffer, region in one.inputs.items():
        size = _size(buffer)
        total += size + size * sum(halo(region, row_unit(one))) // rows
    return total + sum(map(_size, one.wholes)) + sum(map(_size, one.results))


def operations(one: Pass) -> float:
    """Operations on elements in a pass, those computed twice included; a shifted read counts as one."""
    rows = block_rows(one)
    total = 0.0
    for job, region in zip(one.stages, one.needed, strict=True):
        if region is not None:
            nodes = sum(1 for e in (whole_value(job), *job.guards) for _ in walk_expr(e))
            elements = math.prod(b - a for a, b in domain(job))
            total += nodes * elements * (rows + region[1] - region[0]) / rows
    return total


def _size(buffer: Buffer) -> int:
    total = buffer.dtype.bits // 8
    for n in shape(buffer):
        total *= n
    return total


# Source


class PassWriter(Struct, dict=True):
    """Writes the kernel of a pass and a function that calls it."""

    one: Pass
    names: Names
    label: str
    interpret: bool
    scalars: tuple[Var, ...]
    stmts: list[JaxStmt] = field(default_factory=list[JaxStmt])
    versions: dict[Buffer, tuple[str, Region]] = field(default_factory=dict[Buffer, tuple[str, Region]])
    truncdiv: bool = False
    count: int = 0

    def __post_init__(self) -> None:
        self.rows: int = block_rows(self.one)

    @property
    def lead(self) -> bool:
        """Vectors are tiles of one row."""
        return self.one.rank == 1

    @property
    def arguments(self) -> list[Buffer]:
        """What the pass takes, in order."""
        return [*self.one.inputs, *self.one.wholes]

    def parts(self, buffer: Buffer) -> list[tuple[str, int]]:
        """The blocks that make up a tile of an input: kind and rows."""
        above, below = halo(self.one.inputs[buffer], row_unit(self.one))
        found = [(_PREV, above), (_MAIN, self.rows), (_NEXT, below)]
        return [(kind, rows) for kind, rows in found if rows]

    def write(self) -> tuple[Function, Function]:
        """The kernel and the function that calls it."""
        refs: list[str] = [f"{self.names.of(v)}_ref" for v in self.scalars]
        for buffer in self.one.inputs:
            refs += [f"{self.names.of(buffer)}_{kind}" for kind, _ in self.parts(buffer)]
        refs += [f"{self.names.of(b)}_ref" for b in self.one.wholes]
        refs += [f"{self.names.of(b)}_out" for b in self.one.results]
        self.stmts = []
        for buffer, region in self.one.inputs.items():
            self._tile(buffer, region)
        for job, region in zip(self.one.stages, self.one.needed, strict=True):
            if region is not None:
                self._stage(job, region)
        for buffer in self.one.results:
            name, (low, _) = self.versions[buffer]
            value = subscript(name, *self._rows_slice(-low, self.rows))
            self.stmts += statements("{}[...] = {}", f"{self.names.of(buffer)}_out", value)
        return function(f"{self.label}_kernel", refs, self.stmts), self._call()

    def _rows_slice(self, start: int, length: int) -> tuple[JaxExpr, ...]:
        return (*(ALL,) * self.lead, between(start, start + length))

    def _tile(self, buffer: Buffer, region: Region) -> None:
        """The rows of an input that the stages need, from the blocks that hold them."""
        low, high = region
        name = self.names.of(buffer)
        above, _ = halo(region, row_unit(self.one))
        kinds = [kind for kind, _ in self.parts(buffer)]
        whole = [code("{}[...]", f"{name}_{kind}") for kind in kinds]
        axis = 1 if self.lead else 0
        rows = whole[0] if len(whole) == 1 else call("jnp.concatenate", whole, axis=axis)
        tile = self._fresh(buffer)
        start, length = low + above, self.rows + high - low
        cut = (start, length) != (0, sum(n for _, n in self.parts(buffer)))
        self.stmts.append(assign(tile, subscript(rows, *self._rows_slice(start, length)) if cut else rows))
        self.versions[buffer] = (tile, region)

    def _fresh(self, buffer: Buffer) -> str:
        self.count += 1
        return f"{self.names.of(buffer)}_{self.count}"

    def _stage(self, job: Job, region: Region) -> None:
        """The next version of a buffer: the stage's value in its domain, the old one around it."""
        low, high = region
        dims = domain(job)
        length = self.rows + high - low
        sizes = (length, *(b - a for a, b in dims[1:]))
        tile_shape = (1, *sizes) if self.lead else sizes
        conditions = self._conditions(job, region, tile_shape)
        translator = self._translator(job, region, sizes, tile_shape)
        value = translator.expr(whole_value(job))
        conditions += [translator.expr(g).code for g in job.guards]
        self.truncdiv = self.truncdiv or "truncdiv" in translator.helpers
        name = self._fresh(job.buffer)
        tile = code("jnp.broadcast_to({}, {}).astype({})", value.code, tile_shape, dtype_code(job.buffer.dtype))
        self.stmts.append(assign(name, tile))
        if not covers(job):
            self._embed(job, region, name, conditions, dims)
        self.versions[job.buffer] = (name, region)

    def _embed(
        self, job: Job, region: Region, name: str, conditions: list[JaxExpr], dims: list[tuple[int, int]]
    ) -> None:
        """Put the old version around, and where conditions do not hold."""
        old, (old_low, _) = self.versions[job.buffer]
        rows = (region[0] - old_low, self.rows + region[1] - region[0])

        def old_at(cuts: Sequence[tuple[int, int]]) -> JaxExpr:
            return subscript(old, *self._rows_slice(*rows), *(between(a, b) for a, b in cuts))

        if conditions:
            kept = old_at(dims[1:])
            self.stmts.append(assign(name, call("jnp.where", every(conditions), name, kept)))
        full = shape(job.buffer)[1:]
        for d in reversed(range(len(full))):
            low, high = dims[1 + d]
            if (low, high) == (0, full[d]):
                continue
            # Dimensions before d are still the domain's, those after it are whole already.
            rest = [*dims[1 : 1 + d]], [(0, n) for n in full[d + 1 :]]
            before = [old_at([*rest[0], (0, low), *rest[1]])] if low else []
            after = [old_at([*rest[0], (high, full[d]), *rest[1]])] if high < full[d] else []
            self.stmts.append(assign(name, call("jnp.concatenate", [*before, name, *after], axis=1 + d)))

    def _conditions(self, job: Job, region: Region, tile_shape: tuple[int, ...]) -> list[JaxExpr]:
        """Where rows of the tile are rows of the stage's domain."""
        (low, high), size = domain(job)[0], shape(job.buffer)[0]
        row = self._position(0, region[0], tile_shape)
        return [*([infix(row, ">=", low)] if low > 0 else []), *([infix(row, "<", high)] if high < size else [])]

    def _position(self, dim: int, start: int, tile_shape: tuple[int, ...]) -> JaxExpr:
        """The place in a dimension of the stored buffer, as a tile."""
        iota = call("lax.broadcasted_iota", "jnp.int32", tile_shape, dim + (1 if self.lead else 0))
        if dim:
            return infix(iota, "+", start)
        return code("{} + (pl.program_id(0) * {} + {})", iota, self.rows, start)

    def _translator(self, job: Job, region: Region, sizes: tuple[int, ...], tile_shape: tuple[int, ...]) -> Translator:
        """Expressions of a stage over its tile; all arrays have the tile's rank."""
        places = [place(i, job.axes) for i in job.indices]
        variables = [v for v, _ in places]
        starts = [region[0], *(a for a, _ in domain(job)[1:])]
        axes: tuple[Axis, ...] = tuple(job.axes)

        def variable(var: Var) -> Value:
            if var.name in variables:
                d = variables.index(var.name)
                return Value(self._position(d, starts[d] - places[d][1], tile_shape), axes)
            return Value(subscript(f"{self.names.of(var)}_ref", 0))

        def load(node: Load) -> Value:
            return self._load(node, job, sizes, starts, axes)

        return Translator(axes, load, variable, derivatives=False)

    def _load(self, node: Load, job: Job, sizes: tuple[int, ...], starts: list[int], axes: tuple[Axis, ...]) -> Value:
        """A load as a slice of the current version of its buffer."""
        stored = [place(i, job.axes) for i in job.indices]
        variables = [v for v, _ in stored]
        found = [place(i, job.axes) for i in node.indices]
        blocked = row_shift(node, job) is not None
        name, origin = (f"{self.names.of(node.buffer)}_ref", 0)
        if blocked:
            name, (origin, _) = self.versions[node.buffer]
        if not any(v is not None for v, _ in found):
            return Value(subscript(name, *(c for _, c in found)))
        parts: list[Arg] = [ALL] if self.lead and blocked else []
        used: list[int] = []
        for k, (var, offset) in enumerate(found):
            extent = shape(node.buffer)[k]
            if var is None:
                parts.append(offset)
                continue
            d = variables.index(var)
            used.append(d)
            start = starts[d] - stored[d][1] + offset - (origin if d == 0 else 0)
            if d and not 0 <= start <= start + sizes[d] <= extent:
                raise UnsuitableError(f"a read of {node.buffer.name} leaves it where a guard does not hold")
            whole = d > 0 and (start, sizes[d]) == (0, extent)
            parts.append(ALL if whole else between(start, start + sizes[d]))
        tile = subscript(name, *parts)
        if len(used) < len(sizes):
            tile = subscript(tile, *(ALL if d in used else NEW_AXIS for d in range(len(sizes))))
        return Value(tile, axes)

    def _call(self) -> Function:
        """The function that calls the kernel on whole arrays."""
        names = [*(self.names.of(v) for v in self.scalars), *(self.names.of(b) for b in self.arguments)]
        blocks = -(-max(shape(b)[0] for b in self.one.results) // self.rows)
        in_scalars = code("pl.BlockSpec(memory_space=pltpu.SMEM)")
        specs: list[JaxExpr] = [in_scalars] * len(self.scalars)
        given: list[Arg] = [
            code("jnp.asarray({}, {}).reshape(1)", self.names.of(v), dtype_code(v.dtype)) for v in self.scalars
        ]
        for buffer in self.one.inputs:
            for kind, rows in self.parts(buffer):
                specs.append(self._spec(buffer, kind, rows))
                given.append(self._shaped(buffer))
        for buffer in self.one.wholes:
            whole = call("pl.BlockSpec", shape(buffer), Lambda(("i",), as_expr((0,) * len(shape(buffer)))))
            specs.append(in_scalars if self._read_by_elements(buffer) else whole)
            given.append(self.names.of(buffer))
        results = self.one.results
        return definition(
            '''
            def {label}(*{names}):
                """One pass over blocks of rows."""
                r = pl.pallas_call(
                    {kernel}, grid=({blocks},), in_specs=[*{specs}], out_specs=[*{outs}], out_shape=[*{shapes}],
                    **{options},
                )(*{given})
                return (*{found},)
            ''',
            label=self.label,
            names=names,
            kernel=f"{self.label}_kernel",
            blocks=blocks,
            specs=specs,
            outs=[self._spec(b, _MAIN, self.rows) for b in results],
            shapes=[call("jax.ShapeDtypeStruct", self._tile_shape(b), dtype_code(b.dtype)) for b in results],
            options={"interpret": True} if self.interpret else {},
            given=given,
            found=[call("jnp.reshape", subscript("r", n), shape(b)) for n, b in enumerate(results)],
        )

    def _read_by_elements(self, buffer: Buffer) -> bool:
        """Whether a buffer is only read at constant places: its elements are scalars."""
        return all(
            place(i, job.axes)[0] is None
            for job in self.one.stages
            for load in read([whole_value(job), *job.guards])
            if load.buffer == buffer
            for i in load.indices
        )

    def _tile_shape(self, buffer: Buffer) -> tuple[int, ...]:
        return (1, *shape(buffer)) if self.lead else shape(buffer)

    def _shaped(self, buffer: Buffer) -> JaxExpr:
        array = dotted(self.names.of(buffer))
        return call("jnp.reshape", array, self._tile_shape(buffer)) if self.lead else array

    def _spec(self, buffer: Buffer, kind: str, rows: int) -> JaxExpr:
        """Which rows of an array a block takes; rows beyond its ends are never used, so the nearest ones serve."""
        full = shape(buffer)
        last = -(-full[0] // rows) - 1
        ratio = self.rows // rows
        places = {
            _PREV: code("jnp.maximum(i * {} - 1, 0)", ratio),
            _MAIN: dotted("i"),
            _NEXT: code("(i + 1) * {}", ratio),
        }
        place_of = places[kind]
        blocks = -(-max(shape(b)[0] for b in self.one.results) // self.rows)
        greatest = {_PREV: (blocks - 1) * ratio - 1, _MAIN: blocks - 1, _NEXT: blocks * ratio}[kind]
        if greatest > last:
            place_of = call("jnp.minimum", place_of, last)
        sizes = (1, rows) if self.lead else (rows, *full[1:])
        at = (0, place_of) if self.lead else (place_of, *(0,) * len(full[1:]))
        return call("pl.BlockSpec", sizes, Lambda(("i",), as_expr(at)))


def write_stages(
    flat: Flat, stages: Stages, names: Names, interpret: bool
) -> tuple[list[Function], list[JaxStmt], bool]:
    """The kernels with what calls them, and the statements that do; whether `truncdiv` is used."""
    passes = [("steps" if stages.steps else "stages", stages.first)]
    passes += [("last_steps", stages.rest)] if stages.rest is not None else []
    functions: list[Function] = []
    truncdiv = False
    writers: list[PassWriter] = []
    for label, one in passes:
        writer = PassWriter(one, names, names.fresh(label), interpret, _scalars(flat, one))
        functions += writer.write()
        truncdiv = truncdiv or writer.truncdiv
        writers.append(writer)
    calls: list[JaxStmt] = []
    results = [names.of(b) for b in stages.first.results]
    stored = Tuple(tuple(map(Name, results)))
    for n, writer in enumerate(writers):
        given = [*(names.of(v) for v in writer.scalars), *(names.of(b) for b in writer.arguments)]
        value = call(writer.label, *given)
        if n == 0 and stages.repeat > 1:
            step = Lambda(("_", "state"), call(Lambda(tuple(results), value), Starred(Name("state"))))
            value = call("lax.fori_loop", 0, stages.repeat, step, stored)
        calls.append(Assign(stored, value))
    return functions, calls, truncdiv


def _scalars(flat: Flat, one: Pass) -> tuple[Var, ...]:
    used = {v for job in one.stages for e in (whole_value(job), *job.guards) for v in free_vars(e)}
    return tuple(v for v in flat.func.scalars if v in used)
