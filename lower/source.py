"""JAX source from a planned program. Owns the function, its loops and the names in it; statements are elsewhere."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ir.analysis.dependence import Loop, Statement
from ir.analysis.effects import EffectAnalysis
from ir.blocks import lower_blocks
from ir.dtypes import DType
from ir.nodes import Buffer, Const, Expr, Load, PrimFunc, Var, const
from ir.script.printer import to_script
from ir.traverse import buffers_written, free_vars, shape_vars
from lower.linear import Bound, Linear, linear
from lower.normalize import Check, Program, normalize
from lower.plan import ArrayStatement, Node, Plan, SequentialLoop, plan
from lower.statement import Scope, StatementEmitter
from lower.values import (
    PRODUCT,
    SUM,
    TRUNCDIV,
    Translator,
    Value,
    dtype_code,
    literal,
)
from lower.views import Axis


@dataclass(frozen=True, slots=True)
class Emitted:
    """Source text, the name of its function, which arguments are static, and what was chosen for each statement."""

    source: str
    name: str
    static: tuple[str, ...]
    optional: tuple[str, ...]
    report: tuple[str, ...]
    checks: tuple[Check, ...]
    parameters: dict[str, str]  # parameter name to name in the source


def emit_program(func: PrimFunc, checks: bool = False) -> Emitted:
    """Lower a function to JAX source."""
    program = normalize(func, checks)
    return Function(program, plan(program)).emit()


def optional_buffers(func: PrimFunc) -> tuple[str, ...]:
    """Parameters that are written and of which nothing is read before it is written."""
    body = lower_blocks(func).body
    reads = EffectAnalysis().of(body).reads
    written = buffers_written(body)
    return tuple(b.name for b in func.buffers if b in written and (b not in reads or reads[b].is_empty()))


class Function:
    def __init__(self, program: Program, schedule: Plan) -> None:
        self.program = program
        self.plan = schedule
        func = program.func
        self.taken = {"jax", "jnp", "lax", "truncdiv", "partial", "state", "bool", "min", "max"}
        self.names: dict[object, str] = {}
        for param in func.params:
            self.names[param] = self.fresh(param.name)
        for var in shape_vars(func):
            self.names[var] = self.fresh(var.name)
        self.report: list[str] = list(program.notes)
        self.optional = optional_buffers(func)
        self.initial: set[Buffer] = set()
        self.helpers: set[str] = set()

    def fresh(self, name: str) -> str:
        clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "v"
        if keyword.iskeyword(clean) or clean[0].isdigit():
            clean += "_"
        candidate, count = clean, 1
        while candidate in self.taken:
            count += 1
            candidate = f"{clean}_{count}"
        self.taken.add(candidate)
        return candidate

    def name(self, item: Buffer | Var) -> str:
        if item not in self.names:
            self.names[item] = self.fresh(item.name)
        return self.names[item]

    # The function around the statements ------------------------------------------------------------------------------

    def emit(self) -> Emitted:
        func = self.program.func
        scope = Scope(defined=set(func.buffers))
        for check in self.program.checks:
            scope.fills[check.buffer] = Const(True, DType.BOOL)
        self.nodes(self.plan.nodes, scope)
        results = [*self.program.written, *(c.buffer for c in self.program.checks)]
        for buffer in results:
            self.settle(buffer, scope)
        static = tuple(self.names[v] for v in func.scalars if v in self.plan.static)
        outputs = ", ".join(self.name(b) for b in results) + ("," if len(results) == 1 else "")
        body = [
            *self._shapes(),
            *self._defaults(),
            *scope.lines,
            f"    return ({outputs})" if results else "    return ()",
        ]
        source = self._header(static) + "\n".join([*self._signature(static), *body]) + "\n"
        return Emitted(
            source,
            self.function_name(),
            static,
            self.optional,
            tuple(self.report),
            tuple(self.program.checks),
            {p.name: self.names[p] for p in func.params},
        )

    def function_name(self) -> str:
        name = self.program.func.name
        return f"{name}_" if keyword.iskeyword(name) or name in ("jax", "jnp", "lax", "partial", "truncdiv") else name

    def _header(self, static: tuple[str, ...]) -> str:
        imports = ["import jax", "import jax.numpy as jnp"]
        lines = [*imports, "from jax import lax"]
        if static:
            lines.insert(0, "from functools import partial\n")
        helper = f"\n{TRUNCDIV}" if "truncdiv" in self.helpers else ""
        return "\n".join(lines) + "\n" + helper + "\n\n"

    def _signature(self, static: tuple[str, ...]) -> list[str]:
        func = self.program.func
        params: list[str] = []
        default = False
        for param in func.params:
            default = default or param.name in self.optional
            params.append(self.name(param) + ("=None" if default else ""))
        jit = f"@partial(jax.jit, static_argnames={static!r})" if static else "@jax.jit"
        written = ", ".join(f"{b.name} {self._shape_text(b)}" for b in self.program.written) or "nothing"
        wide = any(b.dtype.bits == 64 for b in func.params if isinstance(b, (Buffer)))
        note = " Call it under jax.enable_x64(True): it has 64-bit arrays." if wide else ""
        return [
            jit,
            f"def {self.function_name()}({', '.join(params)}):",
            f'    """Return a tuple of {written}.{note}"""',
        ]

    def _shape_text(self, buffer: Buffer) -> str:
        return f"{buffer.dtype}[{', '.join(map(to_script, buffer.shape))}]"

    def _shapes(self) -> Iterator[str]:
        for var in shape_vars(self.program.func):
            for buffer in self.program.func.buffers:
                places = [k for k, dim in enumerate(buffer.shape) if isinstance(dim, Var) and dim == var]
                if places and buffer.name not in self.optional:
                    yield f"    {self.name(var)} = {self.name(buffer)}.shape[{places[0]}]"
                    break

    def _defaults(self) -> Iterator[str]:
        for buffer in self.program.func.buffers:
            if buffer in self.initial and buffer.name in self.optional:
                name = self.name(buffer)
                yield f"    if {name} is None:"
                yield f"        {name} = jnp.zeros({self.shape_code(buffer)}, {dtype_code(buffer.dtype)})"

    # Names of sizes --------------------------------------------------------------------------------------------------

    def shape(self, buffer: Buffer) -> list[Linear]:
        """Extents of a buffer, those of loops it was expanded over first."""
        extra = [self.plan.boxes[loop].extent for loop in self.plan.expanded.get(buffer, ())]
        return [*extra, *(linear(e, self.ranges) for e in buffer.shape)]

    def indices(self, buffer: Buffer, indices: Sequence[Expr]) -> list[Expr]:
        """Indices of an access, those of loops the buffer was expanded over first."""
        extra: list[Expr] = []
        for loop in self.plan.expanded.get(buffer, ()):
            low = self.plan.boxes[loop].low
            extra.append(loop.var if low.equals(0) else loop.var - const(low.const, loop.var.dtype))
        return [*extra, *indices]

    def ranges(self, var: Var) -> tuple[Bound, Bound]:
        for loop, box in self.plan.boxes.items():
            if loop.var == var:
                low, high = box.low, box.low + box.extent - 1
                return (low.const if low.is_const else None), (high.const if high.is_const else None)
        return (0, None) if var in shape_vars(self.program.func) else (None, None)

    def size(self, form: Linear) -> str:
        """A static size or position as Python source."""
        terms = sorted(form.terms.items(), key=lambda item: item[1] < 0)  # what is added first, then what is taken away
        parts = [(c, self.scalar_code(atom, PRODUCT + 1 if abs(c) != 1 else SUM + 1)) for atom, c in terms]
        texts = [(c, text if abs(c) == 1 else f"{abs(c)} * {text}") for c, text in parts]
        if not texts or (form.const > 0 and texts[0][0] < 0):
            texts.insert(0, (1 if form.const >= 0 else -1, str(abs(form.const))))
        elif form.const:
            texts.append((form.const, str(abs(form.const))))
        head, *rest = texts
        first = head[1] if head[0] > 0 else f"-{head[1]}"
        return first + "".join(f" {'+' if c > 0 else '-'} {text}" for c, text in rest)

    def scalar_code(self, expr: Expr, strength: int = PRODUCT) -> str:
        """A scalar expression over names in scope, for a place that binds with `strength`."""
        return Translator((), self._no_load, lambda v: self.variable(v, {})).expr(expr).at(strength)

    def _no_load(self, load: Load) -> Value:
        return Value(f"{self.name(load.buffer)}[{', '.join(self.scalar_code(i) for i in load.indices) or '()'}]")

    def shape_code(self, buffer: Buffer) -> str:
        sizes = [self.size(s) for s in self.shape(buffer)]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    def variable(self, var: Var, axes: dict[Var, Axis]) -> Value:
        if var in axes:
            return self.positions(axes[var])
        static = var in self.plan.static
        return Value(self.name(var), static=static, weak=static)

    def positions(self, axis: Axis) -> Value:
        """The values of a loop variable along its axis."""
        low, stop = self.size(axis.low), self.size(axis.low + axis.extent)
        bounds = stop if low == "0" else f"{low}, {stop}"
        dtype = "" if axis.var.dtype is DType.INT32 else f", dtype={dtype_code(axis.var.dtype)}"
        return Value(f"jnp.arange({bounds}{dtype})", (axis,))

    # Buffers ---------------------------------------------------------------------------------------------------------

    def settle(self, buffer: Buffer, scope: Scope) -> None:
        """Make sure that the name of a buffer holds its contents."""
        name = self.name(buffer)
        if buffer in scope.fills:
            fill = scope.fills.pop(buffer)
            value = literal(fill.value, fill.dtype).code
            scope.line(f"{name} = jnp.full({self.shape_code(buffer)}, {value}, {dtype_code(buffer.dtype)})")
            scope.defined.add(buffer)
        elif buffer not in scope.defined:
            scope.line(f"{name} = jnp.zeros({self.shape_code(buffer)}, {dtype_code(buffer.dtype)})")
            scope.defined.add(buffer)
        elif buffer in self.program.func.buffers and buffer not in self.initial and not self._assigned(buffer, scope):
            self.initial.add(buffer)

    def _assigned(self, buffer: Buffer, scope: Scope) -> bool:
        return any(line.strip().startswith(f"{self.name(buffer)} = ") for line in scope.lines)

    # Nodes -----------------------------------------------------------------------------------------------------------

    def nodes(self, nodes: Sequence[Node], scope: Scope) -> None:
        for node in nodes:
            if isinstance(node, ArrayStatement):
                StatementEmitter(self, node, scope).emit()
            else:
                self.loop(node, scope)

    def loop(self, node: SequentialLoop, scope: Scope) -> None:
        """A loop that stays: `fori_loop` over the buffers its body writes."""
        written = [b for b in dict.fromkeys(s.buffer for s in _statements(node)) if self._carried(b, node.loop, node)]
        used = {b for s in _statements(node) for b in s.buffers()}
        for buffer in used:
            if self._carried(buffer, node.loop, node):
                self.settle(buffer, scope)
        self.report.append(f"loop over {node.loop.var.name} stays sequential: {node.reason}")
        self.names[node.loop.var] = self.fresh(node.loop.var.name)
        var = self.names[node.loop.var]
        function = self.fresh(f"step_{node.loop.var.name}")
        names = [self.name(b) for b in written]
        inner = Scope(indent=scope.indent + "    ", defined=set(scope.defined), loops=(*scope.loops, node.loop))
        for statement in _statements(node):
            if not self._carried(statement.buffer, node.loop, node):
                inner.defined.discard(statement.buffer)
        state = names[0] if len(names) == 1 else "state"
        self.nodes(node.body, inner)
        for buffer in written:
            self.settle(buffer, inner)
        scope.line(f"def {function}({var}, {state if names else '_'}):")
        if len(names) > 1:
            scope.line(f"    {', '.join(names)} = state")
        scope.lines += inner.lines
        scope.line(f"    return {', '.join(names) if names else '()'}")
        low, high = self.bounds(node.loop, scope)
        packed = f"({', '.join(names)})" if len(names) != 1 else names[0]
        target = f"{', '.join(names)} = " if names else ""
        scope.line(f"{target}lax.fori_loop({low}, {high}, {function}, {packed})")

    def bounds(self, loop: Loop, scope: Scope) -> tuple[str, str]:
        """Start and stop of a sequential loop; the box where they depend on an axis, whose iterations differ."""
        around = {outer.var for outer in scope.loops}
        if self.inner_bounds(loop, around):
            start, extent = self.plan.boxes[loop].low, self.plan.boxes[loop].extent
        else:
            start, extent = linear(loop.start, self.ranges), linear(loop.extent, self.ranges)
        return self.size(start), self.size(start + extent)

    def inner_bounds(self, loop: Loop, known: Collection[Var]) -> bool:
        """Whether the bounds of a loop use loop variables other than `known` ones."""
        loops = {other.var for s in self.program.statements for other in s.loops}
        return bool((free_vars(loop.start) | free_vars(loop.extent)) & (loops - set(known)))

    def _carried(self, buffer: Buffer, loop: Loop, node: SequentialLoop) -> bool:
        """Whether a buffer lives across iterations of a loop: all do but locals that each iteration has for itself."""
        if buffer not in self.program.depth:
            return True
        statement = next(s for s in _statements(node) if buffer in s.buffers())
        position = next(k for k, other in enumerate(statement.loops) if other is loop)
        return self.program.depth[buffer] <= position


def _statements(node: Node) -> Iterator[Statement]:
    if isinstance(node, ArrayStatement):
        yield node.statement
    else:
        for inner in node.body:
            yield from _statements(inner)
