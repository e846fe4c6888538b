"""What each device does as JAX source: a function to be run under `jax.shard_map`, with its programs above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from egraph_rules.cost.target import Target
from ir.nodes import Binary, Buffer, Expr, PrimFunc, Var
from ir.operators import neutral
from ir.traverse import results_of
from lower.analysis.freedoms import Policy
from lower.analysis.linear_forms import linear
from lower.array.values import dtype_code
from lower.distribute.collectives import FUNCTIONS, OPERATORS, REDUCTIONS
from lower.distribute.grid import Cut, Placement
from lower.distribute.spmd import Spmd
from lower.distribute.stages import NotDistributed
from lower.distribute.steps import Carry, Combine, Exchange, Repeat, Run, Step
from lower.distribute.views import Near, Turned, Window, in_words
from lower.emission.emitted import Emitted
from lower.emission.function import program_piece
from lower.emission.scope import Names
from lower.emission.source import Module, Piece


def spmd_source(spmd: Spmd, optional: Sequence[Buffer], target: Target, policy: Policy, *, keep_nan: bool) -> Emitted:
    """The source, and what callers must know of it; `optional` parameters may be left out.

    Raises:
        NotDistributed: a program of a device needs numbers that are known when it runs.
    """
    return _Source(spmd, tuple(optional), target, policy, keep_nan).emitted()


@dataclass(slots=True)
class _Source:
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
        lines = [*self._entry(), *self._steps(self.spmd.steps, "    "), self._results()]
        used = "\n".join(lines)
        coordinates = [
            f'    {self.names.of(v)} = lax.axis_index("{axis}")'
            for axis, v in self.spmd.grid.variables.items()
            if self.names.of(v) in used
        ]
        wide = any(p.wide for p in self.pieces)
        helpers = frozenset[str]().union(*(p.helpers for p in self.pieces))
        optional = frozenset(self.names.of(b) for b in self.optional)
        main = Piece(own, tuple(params.values()), optional, (), (*coordinates, *lines), helpers, wide)
        above = [line for name in self.helpers for line in [*FUNCTIONS[name].strip("\n").split("\n"), "", ""]]
        for piece in self.pieces:
            above += [f"def {piece.name}({piece.signature}):", *piece.lines, "", ""]
        module = Module(main, doc=self._doc(), title="for each device of a mesh", above=tuple(above))
        report = (*self.spmd.report, *self.report)
        return Emitted(
            func, own, module.text(), params, self.optional, frozenset(), wide, (), report, self.policy.floats, (),
            self.policy.precision, without=self.policy.without,
        )  # fmt: skip

    def _doc(self) -> tuple[str, ...]:
        """The contract: what is passed for each parameter, and how the function is run."""
        placements = self.spmd.placements
        lines = [
            '    """Return what a device has of the results; run it on all devices of a mesh by `jax.shard_map`.',
            "",
        ]
        for b in self.spmd.func.buffers:
            cuts = [() if c is None or b in self.spmd.free else c.axes for c in placements[b]]
            spec = ", ".join("None" if not a else repr(a[0] if len(a) == 1 else a) for a in cuts)
            lines.append(f"    {self.names.of(b)}: {b}, as PartitionSpec({spec})")
        return (*lines, '    """')

    def _entry(self) -> list[str]:
        """Parameters as a device has them."""
        lines: list[str] = []
        for b in self.spmd.func.buffers:
            name, placement = self.names.of(b), self.spmd.placements[b]
            self.defined.add(b.name)
            mine = name
            if b in self.spmd.free:
                for d, cut in enumerate(placement):
                    if cut is not None:
                        mine = f"{self._helper('own_block')}({mine}, {d}, {cut.axes}, {cut.block})"
            if b in self.optional:
                lines.append(f"    {name} = {self._zeros(b, placement)} if {name} is None else {mine}")
            elif mine != name:
                lines.append(f"    {name} = {mine}")
        return lines

    def _results(self) -> str:
        results: list[str] = []
        for b in results_of(self.spmd.func):
            code = self.names.of(b)
            for d, cut in enumerate(self.spmd.placements[b] if b in self.spmd.free else ()):
                if cut is not None:
                    code = f"lax.all_gather({code}, {cut.axes}, axis={d}, tiled=True)"
                    code = f"lax.slice_in_dim({code}, 0, {linear(b.shape[d]).const}, axis={d})"
            results.append(code)
        return f"    return ({', '.join(results)}{',' if len(results) == 1 else ''})"

    def _zeros(self, buffer: Buffer, placement: Placement | None = None) -> str:
        cuts = placement or (None,) * len(buffer.shape)
        sizes = [linear(e).const if c is None else c.block for e, c in zip(buffer.shape, cuts, strict=True)]
        return f"jnp.zeros({tuple(sizes)}, {dtype_code(buffer.dtype)})"

    def _helper(self, name: str) -> str:
        self.helpers[name] = None
        return name

    # Steps.

    def _steps(self, steps: Iterable[Step], indent: str) -> list[str]:
        return [indent + line for step in steps for line in self._step(step)]

    def _step(self, step: Step) -> list[str]:
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

    def _define(self, buffer: Buffer) -> list[str]:
        """Zeros for what has no value yet."""
        if buffer.name in self.defined:
            return []
        self.defined.add(buffer.name)
        return [f"{self.names.of(buffer)} = {self._zeros(buffer)}"]

    def _run(self, func: PrimFunc) -> list[str]:
        results = results_of(func)
        if not results:
            return []  # all that it stores to is its own
        piece, report = program_piece(func, self.target, self.policy, self.names.fresh(func.name))
        if piece.static:
            raise NotDistributed(f"{', '.join(piece.static)} would have to be numbers")
        self.pieces.append(piece)
        self.report += report
        arguments: list[str] = []
        lines: list[str] = []
        for param, name in zip(func.params, piece.params, strict=True):
            if isinstance(param, Buffer) and param.name not in self.defined and name in piece.optional:
                arguments.append("None")
                continue
            if isinstance(param, Buffer):
                lines += self._define(param)
            arguments.append(self.names.of(param))
        self.defined |= {b.name for b in results}
        found = ", ".join(map(self.names.of, results))
        return [*lines, f"({found},) = {piece.name}({', '.join(arguments)})"]

    def _exchange(self, step: Exchange) -> list[str]:
        lines = self._define(step.source)
        self.defined.add(step.target.name)
        code, name = self.names.of(step.source), self.names.of(step.target)
        self.report.append(f"devices exchange of {step.source.name}: {in_words(step.view, step.placement)}")
        turned = {p.instead for p in step.view if isinstance(p, Turned)}
        for d, (part, cut) in enumerate(zip(step.view, step.placement, strict=True)):
            if isinstance(part, Turned):
                code = f"{self._helper('turned')}({code}, {part.instead}, {d}, {part.axes}, {part.block})"
            elif cut is None or d in turned:
                continue
            elif isinstance(part, Window):
                first = Binary("sub", part.first, self.spmd.grid.first(cut, part.first.dtype))
                code = f"{self._helper('window')}({code}, {d}, {cut.axes}, {self._number(first)}, {part.width})"
            elif isinstance(part, Near):
                code = self._near(code, d, cut, part)
        return [*lines, f"{name} = {code}"]

    def _near(self, code: str, d: int, cut: Cut, part: Near) -> str:
        others = cut.axes[len(part.kept) :]
        if others:
            code = f"lax.all_gather({code}, {others}, axis={d}, tiled=True)"
        if part.before or part.after:
            parts = self.spmd.grid.count(part.kept)
            helper = self._helper("with_neighbours")
            code = f"{helper}({code}, {d}, {part.kept}, {parts}, {part.before}, {part.after})"
        return code

    def _combine(self, step: Combine) -> list[str]:
        partial = self.names.of(step.partial)
        if step.op == "add" and len(step.scattered) == 1 and step.scattered[0][1] == step.axes:
            ((d, axes),) = step.scattered
            whole = f"lax.psum_scatter({partial}, {axes}, scatter_dimension={d}, tiled=True)"
        else:
            whole = self._reduced(step, partial)
            for d, axes in step.scattered:
                size = linear(step.target.shape[d]).const
                whole = f"{self._helper('own_block')}({whole}, {d}, {axes}, {size})"
        target = self.names.of(step.target)
        self.report.append(f"devices combine parts of {step.target.name} by {step.op}")
        return [*self._define(step.target), f"{target} = {OPERATORS[step.op]}({target}, {whole})"]

    def _reduced(self, step: Combine, partial: str) -> str:
        if step.op in ("max", "min") and self.keep_nan and step.target.dtype.is_float:
            return f"{self._helper(f'all_{step.op}')}({partial}, {step.axes})"
        if step.op in REDUCTIONS:
            return f"{REDUCTIONS[step.op]}({partial}, {step.axes})"
        return f"functools.reduce({OPERATORS[step.op]}, list(lax.all_gather({partial}, {step.axes})))"

    def _carry(self, step: Carry) -> list[str]:
        name = self.names.of(step.values)
        self.report.append(f"devices go on with {step.values.name} from each to the next one")
        if step.factors is not None:
            helper, factors = self._helper("carried_linear"), self.names.of(step.factors)
            return [f"{name} = {helper}({name}, {factors}, {step.dim}, {step.axes})"]
        start = neutral(step.op, step.values.dtype)
        code = f"{self._helper('carried')}({name}, {step.dim}, {step.axes}, {OPERATORS[step.op]}, {_literal(start)})"
        return [f"{name} = {code}"]

    def _repeat(self, step: Repeat) -> list[str]:
        lines = [line for b in step.carried for line in self._define(b)]
        names = ", ".join(map(self.names.of, step.carried)) + ","
        body = self.names.fresh("step")
        state = self.names.fresh("state")
        before = set(self.defined)
        inner = self._steps(step.body, "    ")
        self.defined = before
        start = self._number(step.start)
        stop = self._number(Binary("add", step.start, step.extent))
        return [
            *lines,
            f"def {body}({self.names.of(step.var)}, {state}):",
            f"    ({names}) = {state}",
            *inner,
            f"    return ({names})",
            f"({names}) = lax.fori_loop({start}, {stop}, {body}, ({names}))",
        ]

    def _number(self, expr: Expr) -> str:
        """An integer expression of variables that a device knows."""
        form = linear(expr)
        terms: list[str] = []
        for term, scale in form.terms.items():
            if not isinstance(term, Var):
                raise NotDistributed(f"{expr} is not a sum of variables")
            terms.append(f"{scale} * {self.names.of(term)}" if scale != 1 else self.names.of(term))
        if form.const or not terms:
            terms.append(str(form.const))
        return " + ".join(terms)


def _literal(value: object) -> str:
    text = repr(value)
    return f"float({text!r})" if text in ("inf", "-inf", "nan") else text
