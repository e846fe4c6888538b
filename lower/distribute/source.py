"""What each device does as JAX code: a function to be run under `jax.shard_map`, with its programs above it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from egraph_rules.cost.target import CPU, Target
from ir.nodes import Binary, Buffer, Expr, PrimFunc, Var
from ir.operators import neutral
from ir.traverse import results_of
from lower.analysis.freedoms import Policy
from lower.analysis.linear_forms import linear
from lower.array.reduce import COMBINERS
from lower.array.values import dtype_code
from lower.distribute.collectives import FUNCTIONS, REDUCTIONS
from lower.distribute.grid import Cut, Placement
from lower.distribute.lookups import OWN
from lower.distribute.spmd import Spmd
from lower.distribute.stages import NotDistributed
from lower.distribute.steps import Carry, Combine, Exchange, Repeat, Run, Step
from lower.distribute.views import Afar, Near, Turned, Window, in_words
from lower.emission.emitted import Emitted
from lower.emission.function import program_piece
from lower.emission.scope import Names
from lower.emission.source import Module, Piece
from lower.program.build import Arg, as_expr, assign, call, function, infix, text
from lower.program.nodes import Assign, Conditional, Function, JaxExpr, JaxStmt, Name, Return, Tuple, read_in


def spmd_source(spmd: Spmd, optional: Sequence[Buffer], target: Target, policy: Policy, *, keep_nan: bool) -> Emitted:
    """The source, and what callers must know of it; `optional` parameters may be left out.

    Raises:
        NotDistributed: a program of a device needs numbers that are known when it runs.
    """
    return _Source(spmd, tuple(optional), target, policy, keep_nan).emitted()


class _Source(Struct):
    spmd: Spmd
    optional: tuple[Buffer, ...]
    target: Target
    policy: Policy
    keep_nan: bool
    names: Names = field(default_factory=Names)
    pieces: list[Piece] = field(default_factory=list[Piece])
    helpers: dict[str, None] = field(default_factory=dict[str, None])
    defined: set[str] = field(default_factory=set[str])
    report: list[str] = field(default_factory=list[str])

    def emitted(self) -> Emitted:
        func = self.spmd.func
        own = self.names.fresh(func.name)
        for helper in FUNCTIONS:
            self.names.fresh(helper)
        params = {p.name: self.names.of(p) for p in func.params}
        body = [*self._entry(), *self._steps(self.spmd.steps), self._results()]
        used = read_in(body)
        coordinates = [
            assign(self.names.of(v), call("lax.axis_index", text(axis)))
            for axis, v in self.spmd.grid.variables.items()
            if self.names.of(v) in used
        ]
        wide = any(p.wide for p in self.pieces)
        helpers = frozenset[str]().union(*(p.helpers for p in self.pieces))
        optional = frozenset(self.names.of(b) for b in self.optional)
        main = Piece(own, tuple(params.values()), optional, (), (*coordinates, *body), helpers, wide)
        above = tuple(Function(p.name, p.parameters, p.body) for p in self.pieces)
        beside = {name: FUNCTIONS[name] for name in self.helpers}
        title = "for each device of a mesh"
        module = Module(
            main, doc=self._doc(), title=title, above=above, beside=beside, fuses_barriers=self.target.name == CPU.name
        )
        report = (*self.spmd.report, *self.report)
        return Emitted(
            func, own, module.text(), params, self.optional, frozenset(), wide, (), report, self.policy.floats, (),
            self.policy.precision, without=self.policy.without,
        )  # fmt: skip

    def _doc(self) -> tuple[str, ...]:
        """The contract: what is passed for each parameter, and how the function is run."""
        placements = self.spmd.placements
        lines = ['"""Return what a device has of the results; run it on all devices of a mesh by `jax.shard_map`.', ""]
        for b in self.spmd.func.buffers:
            cuts = [() if c is None or b in self.spmd.free else c.axes for c in placements[b]]
            spec = ", ".join("None" if not a else repr(a[0] if len(a) == 1 else a) for a in cuts)
            lines.append(f"{self.names.of(b)}: {b}, as PartitionSpec({spec})")
        return (*lines, '"""')

    def _entry(self) -> list[JaxStmt]:
        """Parameters as a device has them."""
        found: list[JaxStmt] = []
        for b in self.spmd.func.buffers:
            name, placement = self.names.of(b), self.spmd.placements[b]
            self.defined.add(b.name)
            mine: JaxExpr = Name(name)
            if b in self.spmd.free:
                for d, cut in enumerate(placement):
                    if cut is not None:
                        mine = call(self._helper("own_block"), mine, d, _texts(cut.axes), cut.block)
            if b in self.optional:
                found.append(assign(name, Conditional(infix(name, "is", None), self._zeros(b, placement), mine)))
            elif mine != Name(name):
                found.append(assign(name, mine))
        return found

    def _results(self) -> JaxStmt:
        results: list[JaxExpr] = []
        for b in results_of(self.spmd.func):
            code: JaxExpr = Name(self.names.of(b))
            for d, cut in enumerate(self.spmd.placements[b] if b in self.spmd.free else ()):
                if cut is not None:
                    code = call("lax.all_gather", code, _texts(cut.axes), axis=d, tiled=True)
                    code = call("lax.slice_in_dim", code, 0, linear(b.shape[d]).const, axis=d)
            results.append(code)
        return Return(Tuple(tuple(results)))

    def _zeros(self, buffer: Buffer, placement: Placement | None = None) -> JaxExpr:
        cuts = placement or (None,) * len(buffer.shape)
        sizes = [linear(e).const if c is None else c.block for e, c in zip(buffer.shape, cuts, strict=True)]
        return call("jnp.zeros", tuple(sizes), dtype_code(buffer.dtype))

    def _helper(self, name: str) -> str:
        self.helpers[name] = None
        return name

    # Steps.

    def _steps(self, steps: Iterable[Step]) -> list[JaxStmt]:
        return [stmt for step in steps for stmt in self._step(step)]

    def _step(self, step: Step) -> list[JaxStmt]:
        match step:
            case Run():
                return self._run(step.func)
            case Exchange():
                return self._exchange(step)
            case Combine():
                return self._combine(step)
            case Carry():
                return self._carry(step)
            case Repeat():
                return self._repeat(step)

    def _define(self, buffer: Buffer) -> list[JaxStmt]:
        """Zeros for what has no value yet."""
        if buffer.name in self.defined:
            return []
        self.defined.add(buffer.name)
        return [assign(self.names.of(buffer), self._zeros(buffer))]

    def _run(self, func: PrimFunc) -> list[JaxStmt]:
        results = results_of(func)
        if not results:
            return []  # all that it stores to is its own
        piece, report = program_piece(func, self.target, self.policy, self.names.fresh(func.name))
        if piece.static:
            raise NotDistributed(f"{', '.join(piece.static)} would have to be numbers")
        self.pieces.append(piece)
        self.report += report
        arguments: list[Arg] = []
        found: list[JaxStmt] = []
        for param, name in zip(func.params, piece.params, strict=True):
            if isinstance(param, Buffer) and param.name not in self.defined and name in piece.optional:
                arguments.append(None)
                continue
            if isinstance(param, Buffer):
                found += self._define(param)
            arguments.append(self.names.of(param))
        self.defined |= {b.name for b in results}
        return [*found, Assign(self._tuple(results), call(piece.name, *arguments))]

    def _tuple(self, buffers: Iterable[Buffer]) -> JaxExpr:
        return Tuple(tuple(Name(self.names.of(b)) for b in buffers))

    def _exchange(self, step: Exchange) -> list[JaxStmt]:
        found = self._define(step.source)
        self.defined.add(step.target.name)
        code: JaxExpr = Name(self.names.of(step.source))
        self.report.append(f"devices exchange of {step.source.name}: {in_words(step.view, step.placement)}")
        turned = {p.instead for p in step.view if isinstance(p, Turned)}
        for d, (part, cut) in enumerate(zip(step.view, step.placement, strict=True)):
            if isinstance(part, Turned):
                code = call(self._helper("turned"), code, part.instead, d, _texts(part.axes), part.block)
            elif cut is None or d in turned:
                continue
            elif isinstance(part, Window):
                first = self._number(Binary("sub", part.first, self.spmd.grid.first(cut, part.first.dtype)))
                self._helper("from_owners")  # which `window` calls
                code = call(self._helper("window"), code, d, _texts(cut.axes), first, part.width)
            elif isinstance(part, Afar):
                parts, helper = self.spmd.grid.count(part.axes), self._helper("from_afar")
                code = call(helper, code, d, _texts(part.axes), parts, part.step, part.low, part.high)
            elif isinstance(part, Near):
                code = self._near(code, d, cut, part)
        return [*found, assign(self.names.of(step.target), code)]

    def _near(self, code: JaxExpr, d: int, cut: Cut, part: Near) -> JaxExpr:
        others = cut.axes[len(part.kept) :]
        if others:
            code = call("lax.all_gather", code, _texts(others), axis=d, tiled=True)
        if part.before or part.after:
            parts, helper = self.spmd.grid.count(part.kept), self._helper("with_neighbours")
            code = call(helper, code, d, _texts(part.kept), parts, part.before, part.after)
        return code

    def _combine(self, step: Combine) -> list[JaxStmt]:
        partial = Name(self.names.of(step.partial))
        if step.op == OWN:
            return self._found(step, partial)
        if step.is_scattered:
            ((d, axes),) = step.scattered
            whole = call("lax.psum_scatter", partial, _texts(axes), scatter_dimension=d, tiled=True)
        else:
            whole = self._scattered(step, self._reduced(step, partial))
        target = self.names.of(step.target)
        self.report.append(f"devices combine parts of {step.target.name} by {step.op}")
        return [*self._define(step.target), assign(target, call(COMBINERS[step.op], target, whole))]

    def _scattered(self, step: Combine, whole: JaxExpr) -> JaxExpr:
        for d, axes in step.scattered:
            whole = call(self._helper("own_block"), whole, d, _texts(axes), linear(step.target.shape[d]).const)
        return whole

    def _found(self, step: Combine, partial: JaxExpr) -> list[JaxStmt]:
        """What owners have looked up."""
        self.defined.add(step.target.name)
        self.report.append(f"devices look up {step.target.name} in what they have, and exchange that")
        code: JaxExpr = call(self._helper("from_owners"), partial, _texts(step.axes))
        if step.is_scattered:
            code = call("from_owners", partial, _texts(step.axes), step.scattered[0][0])
        else:
            code = self._scattered(step, code)
        return [assign(self.names.of(step.target), code)]

    def _reduced(self, step: Combine, partial: JaxExpr) -> JaxExpr:
        axes = _texts(step.axes)
        if step.op in ("max", "min") and step.target.dtype.is_float:
            return call(self._helper(f"all_{step.op}"), partial, axes, self.keep_nan)
        if step.op in REDUCTIONS:
            return call(REDUCTIONS[step.op], partial, axes)
        parts = call("list", call("lax.all_gather", partial, axes))
        return call("functools.reduce", COMBINERS[step.op], parts)

    def _carry(self, step: Carry) -> list[JaxStmt]:
        name, axes = self.names.of(step.values), _texts(step.axes)
        self.report.append(f"devices go on with {step.values.name} from each to the next one")
        if step.factors is not None:
            helper, factors = self._helper("carried_linear"), self.names.of(step.factors)
            return [assign(name, call(helper, name, factors, step.dim, axes))]
        start = neutral(step.op, step.values.dtype)
        assert start is not None
        code = call(self._helper("carried"), name, step.dim, axes, COMBINERS[step.op], _literal(start))
        return [assign(name, code)]

    def _repeat(self, step: Repeat) -> list[JaxStmt]:
        found = [stmt for b in step.carried for stmt in self._define(b)]
        names = self._tuple(step.carried)
        body, state = self.names.fresh("step"), self.names.fresh("state")
        before = set(self.defined)
        inner = self._steps(step.body)
        self.defined = before
        start = self._number(step.start)
        stop = self._number(Binary("add", step.start, step.extent))
        made = function(body, [self.names.of(step.var), state], [Assign(names, Name(state)), *inner, Return(names)])
        return [*found, made, Assign(names, call("lax.fori_loop", start, stop, body, names))]

    def _number(self, expr: Expr) -> JaxExpr:
        """An integer expression of variables that a device knows."""
        form = linear(expr)
        terms: list[JaxExpr] = []
        for term, scale in form.terms.items():
            if not isinstance(term, Var):
                raise NotDistributed(f"{expr} is not a sum of variables")
            name = Name(self.names.of(term))
            terms.append(infix(scale, "*", name) if scale != 1 else name)
        if form.const or not terms:
            terms.append(as_expr(form.const))
        total = terms[0]
        for term in terms[1:]:
            total = infix(total, "+", term)
        return total


def _texts(axes: Sequence[str]) -> JaxExpr:
    """Axes of the mesh by their names."""
    return Tuple(tuple(map(text, axes)))


def _literal(value: bool | int | float) -> JaxExpr:
    if isinstance(value, float) and not math.isfinite(value):
        return call("float", text(repr(value)))
    return as_expr(value)
