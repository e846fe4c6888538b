"""The statements and loops of one function as JAX code, in the order of the plan, with its parameters and contract."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property

from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from ir.analysis.dependence import Loop, Statement
from ir.dtypes import DType
from ir.errors import LowerError
from ir.nodes import Binary, Buffer, Expr, Load, Var
from ir.traverse import all_exprs, buffers_read, free_vars, has_loads, shape_vars, walk_expr
from lower.analysis.freedoms import HIGHEST
from lower.analysis.linear_forms import linear, number, to_expr
from lower.array.access import ZERO, Bounds
from lower.array.exact_values import ExactTranslator
from lower.array.finiteness import Finite, outside_unless
from lower.array.integer_facts import Facts
from lower.array.values import Translator, Value, dtype_code, is_steep
from lower.array.views import Axis
from lower.emission.cse_barrier import read_apart
from lower.emission.descriptions import described, listed, loop_described, parameters_described
from lower.emission.donation import Donate, donated_buffers
from lower.emission.early_ends import EarlyEnd, early_end
from lower.emission.in_place_conditional import Stepping, by_element, compiled_alone, condition_of, looped
from lower.emission.layout_barrier import pinned
from lower.emission.scope import Names, Scope
from lower.emission.source import Piece, names
from lower.emission.statement import StatementWriter, make_job
from lower.emission.store import updated
from lower.nest.asked import asked
from lower.nest.backgrounds import Backgrounds
from lower.nest.expansion import Expansion
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Node,
    Phase,
    Plan,
    Section,
    SequentialLoop,
    Versions,
    buffers_of,
    inner_statements,
    mapped_scan,
    own_bounds,
)
from lower.nest.normalize import Program
from lower.program.build import (
    Arg,
    as_expr,
    assign,
    assign_each,
    between,
    call,
    every,
    infix,
    method,
    subscript,
    with_state,
)
from lower.program.loop_functions import made_of_parts
from lower.program.nodes import (
    Assign,
    Conditional,
    Function,
    JaxExpr,
    JaxStmt,
    Literal,
    Name,
    Return,
    Starred,
    Subscript,
    Tuple,
    read_in,
)
from lower.program.passes import (
    CONSTANT_TABLES,
    DEAD_CODE,
    JOINT_PADDING,
    KEPT_SLICES,
    MASKED_STORES,
    NARROWING,
    OUTER_PADDING,
    REROLLING,
    without_copies,
)
from lower.program.registers import Handed, Step
from lower.restructure.plan import begun_anew, own_locals
from lower.restructure.statement_fusion import merged
from lower.restructure.unrolling import is_one_function, steps_described, together
from lower.storage.array_expansion import conditions_around

_MOST_STEPS = 1 << 20  # that derivatives take of a loop, also where it runs fewer: each keeps what it computed


class FunctionWriter:
    def __init__(
        self, program: Program, schedule: Plan, target: Target, facts: Facts, derivatives: bool = True
    ) -> None:
        self.derivatives = derivatives  # whether they are those of the code
        self.wide_guards = False  # whether these make it dear: operands that vary along more axes for them
        self.target = target
        self.program = program
        self.translate = ExactTranslator if program.policy.exact else Translator
        self.plan = schedule
        self.func, self.parameters = program.func, frozenset(program.func.buffers)
        self.given = self.func.with_origin(
            lambda f: replace(f, params=tuple(program.flat.get(p.name, p) for p in f.params))
        )
        self.names = Names()
        self.report: list[str] = []
        self.forward_only: list[str] = []  # loops without derivatives backward
        self.helpers: set[str] = set()
        self.instructions: dict[str, Function] = {}
        self.extents: set[Expr] = set()  # of array axes, where they are no numbers
        self.static = schedule.static
        self.pinned = pinned(schedule.nodes)
        self.backgrounds = Backgrounds(schedule.nodes)
        self.phase: Phase | None = None  # of the loop that is being written
        self.shape_variables = frozenset(shape_vars(self.func))
        self.expansion = Expansion(schedule)
        self.expanded = self.expansion.buffers
        self.locals = dict.fromkeys(self.expanded.get(b, b) for b in program.depth)
        self.readers = self._readers()
        self.only = {b for b in self.locals if self.readers.get(self._written_as(b), 0) == 1}
        self.asked = asked(program, schedule)
        self.told = facts
        self.facts = None if program.checks else facts  # a check may not rest on what it checks
        copies = program.raw if any(b.name in program.spoiled for b in self.func.buffers) else ()
        known = {*self.parameters, *program.raw}
        spoiled = program.spoiled | facts.infinite | {b.name for b in copies}
        self.finite = Finite(program.statements, known, spoiled, program.policy)

    @cached_property
    def optional(self) -> tuple[Buffer, ...]:
        """The parameters that callers may leave out."""
        return self.program.optional

    # The function.

    def piece(self, *, only_checks: bool = False) -> Piece:
        """Write the function; its results are the written buffers, then the verdicts of checks, or these alone."""
        own = self.names.fresh(self.func.name)
        for param in self.func.params:
            self.names.of(param)
        optional = self.optional
        scope = Scope(target=self.target)
        for buffer in optional:
            name = self.names.of(buffer)
            given = Conditional(infix(name, "is", None), self._zeros(buffer), self._seen(buffer))
            scope.absent[buffer] = assign(name, given)
        for check in self.program.checks:
            scope.absent[check.buffer] = assign(self.names.of(check.buffer), call("jnp.bool_", True))
        self._create_locals(scope, self.locals)
        self._nodes(self.plan.nodes, scope)
        for buffer in self.locals:
            scope.forget(buffer)
        results = [*(() if only_checks else self.program.written), *(c.buffer for c in self.program.checks)]
        for buffer in results:
            scope.current(buffer)
        scope.add(Return(Tuple(tuple(map(self._handed_back, results)))))
        body = OUTER_PADDING.run(MASKED_STORES.run(scope.body()))
        body = DEAD_CODE.run(KEPT_SLICES.run(NARROWING.run(JOINT_PADDING.run(body))))
        if self.target.name == CPU.name:
            body = DEAD_CODE.run(CONSTANT_TABLES.run(body, self.names.fresh))
        return Piece(
            own,
            tuple(self.parameter_names().values()),
            frozenset(map(self.names.of, optional)),
            tuple(self.names.of(s) for s in self.func.scalars if s in self.static),
            (*self._prologue(read_in(body)), *body),
            frozenset(self.helpers),
            self._wide(),
            tuple(self.instructions.values()),
        )

    def _seen(self, buffer: Buffer) -> JaxExpr:
        """A parameter with the dimensions that the program sees."""
        array, order = Name(self.names.of(buffer)), self.program.order.get(buffer.name)
        if buffer.name not in self.program.flat:
            return array
        return method(array if order is None else call("jnp.transpose", array, order), "reshape", *self._shape(buffer))

    def _handed_back(self, buffer: Buffer) -> JaxExpr:
        """A result with the dimensions that callers see."""
        array, flat = Name(self.names.of(buffer)), self.program.flat.get(buffer.name)
        order = self.program.order.get(buffer.name)
        if flat is None or order is None:
            return array if flat is None else method(array, "reshape", *self._shape(flat))
        seen = replace(flat, shape=tuple(flat.shape[d] for d in order))  # the program only reads it, the source stores
        back = tuple(order.index(d) for d in range(len(order)))
        return call("jnp.transpose", method(array, "reshape", *self._shape(seen)), back)

    def about_floats(self) -> list[str]:
        """What a caller's words on floats have led to."""
        policy = self.program.policy
        notes = [f"withheld by the policy on floats: {form.name}, {form.law}" for form in policy.withheld]
        products = any(form in line for line in self.report for form in ("contraction", "convolution"))
        if products and any(b.dtype is DType.FLOAT32 for b in self.func.buffers):
            notes.append(f"products of float32 arrays are taken in precision {policy.precision}")
        return notes

    def parameter_names(self) -> dict[str, str]:
        """Names in the source by those of the program."""
        return {p.name: self.names.of(p) for p in self.func.params}

    def donation(self, donate: Donate) -> tuple[str, ...]:
        """Names of the parameters that are given away."""
        buffers = donated_buffers(self.func, self.program.written, self.optional, donate)
        return tuple(map(self.names.of, buffers))

    def _wide(self) -> bool:
        """Whether 64-bit types occur."""
        typed = (*self.func.params, *self.program.depth, *all_exprs(self.func.body))
        return any(e.dtype.bits == 64 for e in typed)

    def docstring(
        self, donated: tuple[str, ...], assumptions: Sequence[str], derived: FunctionWriter, checked: bool
    ) -> tuple[str, ...]:
        """The contract of the call; derivatives are those of `derived`, which may be another function of the module."""
        optional = self.optional
        written = ", ".join(self.names.of(b) for b in self.program.written)
        how = f"in place of {', '.join(donated)}, whose arrays are gone then" if donated else "as new arrays"
        lines = [f'"""Return ({written}{"," if len(self.program.written) == 1 else ""}) {how}.', ""]
        lines += parameters_described(self.given.params, self.names.of)
        if optional:
            left_out = ", ".join(self.names.of(b) for b in optional)
            lines += ["", f"May be left out (what is never written is then zero): {left_out}."]
        lines += listed(f"Rests on what it {'checks' if checked else 'does not check'}:", assumptions)
        if derived is not self:
            lines += ["", "Its derivatives are those of the program as it was written."]
        lines += listed("It has derivatives forward only, since nothing bounds these loops:", derived.forward_only)
        if self.program.policy.precision != HIGHEST:
            lines += ["", f"Products of float32 arrays are taken in precision {self.program.policy.precision}."]
        in_place = self.donation(True)
        if in_place and not donated:
            how = f"donate_argnames={names(in_place)} of jit"
            lines += ["", f"Updated in place, if callers can spare the arrays: {how}."]
        return (*lines, '"""')

    def _prologue(self, read: Collection[str]) -> list[JaxStmt]:
        """Statements that give sizes, and scalars that are read, their values."""
        found: list[JaxStmt] = []
        for var in shape_vars(self.func):
            found.append(assign(self.names.of(var), self._size_from_arrays(var)))
        for scalar in self.func.scalars:
            name = self.names.of(scalar)
            if scalar not in self.static and name in read:
                found.append(assign(name, call("jnp.asarray", name, dtype_code(scalar.dtype))))
        for buffer in self.func.buffers:
            if buffer.name in self.program.flat and buffer not in self.optional:
                found.append(assign(self.names.of(buffer), self._seen(buffer)))
        return found

    def _size_from_arrays(self, var: Var) -> JaxExpr:
        """Solve a dimension for a shape variable."""
        optional = {b.name for b in self.optional}
        for buffer in sorted(self.given.buffers, key=lambda b: b.name in optional):
            for d, dim in enumerate(buffer.shape):
                form = linear(dim)
                c = form.terms.get(var, 0)
                if c and len(form.terms) == 1:
                    code: JaxExpr = subscript(f"{self.names.of(buffer)}.shape", d)
                    if form.const:
                        code = infix(code, "-" if form.const > 0 else "+", abs(form.const))
                    return code if c == 1 else infix(code, "//", c)
        raise LowerError(
            "unknown-size",
            f"the size {var.name} cannot be computed from the shapes of the parameters of {self.func.name}",
            self.func.span,
            help=f"make {var.name} a parameter, or a dimension of an input",
        )

    def _readers(self) -> dict[Buffer, int]:
        """How many statements read a buffer, besides those that write it."""
        readers: dict[Buffer, int] = {}
        for statement in (n.statement for n in inner_statements(self.plan.nodes)):
            exprs = (statement.store.value, *statement.store.indices, *statement.guards)
            for buffer in buffers_read(*exprs) - {statement.buffer}:
                readers[buffer] = readers.get(buffer, 0) + 1
        return readers

    def _written_as(self, buffer: Buffer) -> Buffer:
        return next((b for b, expanded in self.expanded.items() if expanded == buffer), buffer)

    def _create_locals(self, scope: Scope, buffers: Iterable[Buffer]) -> None:
        for buffer in buffers:
            scope.absent[buffer] = assign(self.names.of(buffer), self._zeros(buffer))

    def _zeros(self, buffer: Buffer) -> JaxExpr:
        return call("jnp.zeros", self._shape(buffer), dtype_code(buffer.dtype))

    def _shape(self, buffer: Buffer) -> tuple[Arg, ...]:
        sizes = map(linear, buffer.shape)
        return tuple(n.const if n.is_const else self._scalar(to_expr(n, ZERO)) for n in sizes)

    def _scalar(self, expr: Expr, scope: Scope | None = None, *, number: bool = False) -> JaxExpr:
        """An expression without array axes, as a Python `number` while tracing if it is made of such."""

        def load(node: Load) -> Value:
            assert scope is not None
            scope.current(node.buffer)
            indices = tuple(translator.expr(i).code for i in node.indices)
            array = Name(self.names.of(node.buffer))
            return Value(Subscript(array, indices) if indices else array)

        def variable(var: Var) -> Value:
            return Value(Name(self.names.of(var)), static=var in self.static, weak=True)

        translator = self.translate((), load, variable, self.helpers)
        return translator.size(expr) if number else translator.expr(expr).code

    @cached_property
    def for_values(self) -> tuple[FunctionWriter, Piece]:
        """The same with derivatives left to what this one has written, and what wrote it."""
        writer = FunctionWriter(self.program, self.plan, self.target, self.told, derivatives=False)
        return writer, writer.piece()

    # Statements and loops.

    def _nodes(self, nodes: Iterable[Node], scope: Scope) -> None:
        nodes = self._merged(nodes, scope)
        completed = self.expansion.statement
        resolved = [replace(n, statement=completed(n.statement)) if isinstance(n, ArrayStatement) else n for n in nodes]
        apart = read_apart(resolved, self.plan.boxes, self.target)
        last = {n.statement.buffer: n for n in resolved if isinstance(n, ArrayStatement)}
        for node, whole, behind in zip(nodes, resolved, apart, strict=True):
            if isinstance(node, ArrayStatement):
                assert isinstance(whole, ArrayStatement)
                self._statement(node, whole.statement, scope, behind, last[whole.statement.buffer] is not whole)
            elif isinstance(node, Versions):
                self._versions(node, scope)
            else:
                self._loop(node, scope)

    def _merged(self, nodes: Iterable[Node], scope: Scope) -> list[Node]:
        """Nodes with updates of one place, whose guards are borders, as one statement."""
        if self.phase is not None:
            return list(nodes)

        def axes(node: ArrayStatement) -> list[Axis]:
            boxes = [(loop.var, self.plan.boxes[loop]) for loop in node.axes]
            return [Axis(var, box.low, box.extent) for var, box in boxes]

        def outside(node: ArrayStatement, load: Load) -> bool:
            return outside_unless(node.statement.guards, load, axes(node), scope.around)

        def finite(node: ArrayStatement, e: Expr) -> bool:
            return self.finite.throughout(e, axes(node), scope.around)

        result, gone = merged(nodes, outside, finite, self.target, self.program.policy)
        self.report += [f"{described(statement)}: with the statement before it" for statement in gone]
        return result

    def _bounds(self, scope: Scope, node: ArrayStatement) -> Bounds:
        axes = {} if self.phase is None else self.phase.axes.get(node, {})
        cut = frozenset(loop.var for loop in axes)
        return Bounds(scope.around, self.static, self.shape_variables, cut, self.facts)

    def _statement(
        self, node: ArrayStatement, resolved: Statement, scope: Scope, behind: frozenset[Buffer], followed: bool
    ) -> None:
        """Write a node; `resolved` has expanded locals, `behind` is read apart; `followed`: others store there."""
        statement, axes = node.statement, {loop.var for loop in node.axes}
        guards: list[Expr] = []
        boxes: list[Box] = []
        for loop in statement.loops:
            box = self._box(loop, node)
            if loop.var in axes:
                assert box is not None
                boxes.append(box)
            kept = loop.var in axes and loop not in node.beyond
            if box is not None and not box.exact and (kept or self._boxed(loop, scope)):
                guards += map(self.expansion.expr, own_bounds(loop))
        if any(b.extent.is_const and b.extent.const <= 0 for b in boxes):
            self.report.append(f"{described(statement)}: never executed")
            return
        counts = tuple(map(self.expansion.expr, self.asked.get(node, ())))
        guards += [g for g in counts if len(free_vars(g)) == 1 and not has_loads(g)]  # which make an axis shorter
        counts += tuple(self.expansion.expr(b) for loop in node.beyond for b in own_bounds(loop))
        steep = self.derivatives and any(is_steep(e) and has_loads(e) for e in walk_expr(resolved.store.value))
        job = make_job(resolved, node.axes, boxes, guards, counts if steep else ())
        scan = None if node.scan is None else mapped_scan(node.scan, self.expansion.expr)
        bounds = self._bounds(scope, node)
        node = ArrayStatement(resolved, node.axes, scan)
        passed_on = statement.buffer not in self.parameters and statement.buffer in self.readers
        writer = StatementWriter(
            job, node, bounds, scope, self.names, self.finite, self.target, self.program.policy, self.only,
            behind, passed_on, followed, statement.position in self.pinned, self.facts,
            self.backgrounds if self.expanded.get(statement.buffer, statement.buffer) == statement.buffer else None,
            self.derivatives, self.readers.get(statement.buffer, 0),
        )  # fmt: skip
        writer.write()
        self.wide_guards = self.wide_guards or bool(writer.wide_guards)
        self.helpers |= writer.helpers
        self.instructions |= writer.instructions
        self.extents |= writer.extents
        over = f" over {', '.join(loop.var.name for loop in node.axes)}" if node.axes else ""
        self.report.append(f"{described(statement)}{over}: {', '.join(writer.forms)}")

    def _box(self, loop: Loop, node: ArrayStatement | None = None) -> Box | None:
        """The static bounds of a loop, or of an axis of a statement, in this phase."""
        box = self.plan.boxes.get(loop)
        if self.phase is None or box is None:
            return box
        own = self.phase.axes.get(node, {}) if node is not None else {}
        return own.get(loop) or self.phase.loops.get(loop, box)

    def _boxed(self, loop: Loop, scope: Scope) -> bool:
        """Whether a sequential loop runs over its box since its bounds depend on array axes."""
        return loop.var in scope.boxed

    def _loop(self, node: SequentialLoop, scope: Scope) -> None:
        box = self._box(node.loop)
        if box is not None and box.extent.is_const and box.extent.const <= 0:
            self.report.append(f"loop {node.loop.var.name}: never executed")
            return
        inside = [n.statement for n in inner_statements(node.body)]
        touched = {self.expanded.get(b, b) for s in inside for b in s.buffers()}
        written = {self.expanded.get(s.buffer, s.buffer) for s in inside}
        own = self._own_locals(inside, lambda loops: node.loop in loops)
        own |= set() if node.phases else self._begun_anew(node, inside)
        for buffer in sorted(touched - own, key=lambda b: b.name):
            scope.current(buffer)
        carried = sorted(written - own, key=lambda b: self.names.of(b))
        if not node.phases:
            self._steps(node, scope, own, carried)
            return
        self.report.append(f"loop {node.loop.var.name} runs in {len(node.phases)} phases, each with its own extents")
        at, bodies, known = len(scope.stmts), list[tuple[JaxStmt, ...]](), len(self.report)
        for phase in node.phases:
            self.phase = phase
            with self.names.local():
                self._phase(replace(node, body=phase.body), phase.sections, scope, own, carried)
            bodies.append(tuple(scope.stmts[at:]))
            del scope.stmts[at:]
        self.phase = None
        self.report[known:] = dict.fromkeys(self.report[known:])
        scope.stmts += REROLLING.run(bodies, [(p.low, p.stop) for p in node.phases], self.names.fresh)

    def _phase(
        self,
        node: SequentialLoop,
        sections: tuple[Section, ...],
        scope: Scope,
        own: set[Buffer],
        carried: list[Buffer],
    ) -> None:
        """A phase of a loop, on sections of the buffers that have some."""
        for s in sections:
            scope.assign(self.names.of(s.part), Subscript(Name(self.names.of(s.whole)), _slices(s)))
        parts = {s.whole: s.part for s in sections}
        self._steps(node, scope, own, [parts.get(b, b) for b in carried])
        for s in sections:
            whole = self.names.of(s.whole)
            scope.assign(whole, updated(Name(whole), _slices(s), "set", Name(self.names.of(s.part))))
            scope.written(whole)

    def _steps(self, node: SequentialLoop, scope: Scope, own: set[Buffer], carried: list[Buffer]) -> None:
        """A loop, or a phase of one."""
        loop = node.loop
        child = scope.child()
        alone = not scope.in_function and is_one_function(node, self.plan.boxes, self.target)
        child.in_function |= alone
        child.loop_vars |= {loop.var}
        child.carried = frozenset(carried)
        child.defined = {n: c for n, c in scope.defined.items() if n != self.names.of(loop.var)}
        low, high, ends = self._loop_bounds(node, scope, child)
        self.report.append(f"loop {loop.var.name} stays a loop: {node.reason}")
        where = (self.plan.boxes, self.program.depth, self.target, self.program.policy)
        several = None if self.phase else together(node, *where, ends == (low, high), bool(scope.loop_vars))
        known = ([b for b in self.program.depth if self.expanded.get(b, b) in own], self.plan.nodes, self.program)
        end = early_end(node, *known) if several is None and self.phase is None else None
        lanes = [] if end is None or end.goes_on is not None else [self.expanded.get(end.taken, end.taken)]
        self._body(node.body if end is None else end.body, own, child, lanes)
        for buffer in carried:
            scope.written(self.names.of(buffer))
        if not child.stmts or not carried:
            return
        variable, names = self.names.of(loop.var), [self.names.of(b) for b in carried]
        step = self.names.fresh(f"{variable}_step")
        registers = self._in_registers(child.body(), carried, child, variable, low)
        more = [self.names.fresh("goes_on") for _ in lanes]
        state, body = [*names, *registers.names, *more], registers.body
        if (dtype := loop.var.dtype) not in (DType.INT32, DType.INT64):  # JAX counts as wide as ends are
            body.insert(0, assign(variable, call(f"jnp.{dtype}", Name(variable))))
            if not all(isinstance(e, Literal) for e in (low, high)):
                low, high = (call(f"jnp.{max(dtype, DType.INT32, key=lambda d: d.bits)}", e) for e in (low, high))
        on = [call("jnp.any", Name(self.names.of(b))) for b in lanes]
        results = [*map(Name, names), *registers.then, *on]
        at = len(scope.stmts)
        scope.add(with_state(step, [variable], state, body, results))
        first = [*map(Name, names), *registers.first, *(call("jnp.bool_", True) for _ in more)]
        given = first[0] if len(first) == 1 else Tuple(tuple(first))
        floats = any(b.dtype.is_float for b in carried)
        if several is not None:
            self.report.append(f"loop {loop.var.name}: {steps_described(several)} are compiled as one")
        goes_on = None if end is None else self._goes_on(node, end, state, scope)
        found = looped(Stepping(low, high, ends, step, given, floats), node, several, goes_on)
        if alone and made_of_parts(scope.stmts[at:], found.call):
            self.report.append(f"loop {loop.var.name} is compiled as one function")
            found = compiled_alone(found, bool(scope.loop_vars))
        self.helpers |= found.helpers
        if not found.bounded:
            self.forward_only.append(loop_described(node))
        if len(state) > len(names):  # what was handed on is of no use afterwards
            scope.add(Assign(Tuple((*map(Name, names), Starred(Name("_")))), found.call))
        else:
            scope.add(assign_each(names, found.call))

    def _goes_on(self, node: SequentialLoop, end: EarlyEnd, state: Sequence[str], scope: Scope) -> str:
        """The name of a function that says of a state whether there is more to be done."""
        name, child = self.names.fresh(f"{self.names.of(node.loop.var)}_goes_on"), scope.child()
        cond = Name(state[-1]) if end.goes_on is None else self._scalar(self.expansion.expr(end.goes_on), child)
        scope.add(condition_of(name, state, child.stmts, cond))
        self.report.append(f"loop {node.loop.var.name} ends where nothing more is to be done")
        return name

    def _in_registers(
        self, body: Sequence[JaxStmt], carried: Sequence[Buffer], child: Scope, variable: str, low: JaxExpr
    ) -> Handed:
        """The body of a step with registers, where a target would copy the arrays that it carries."""
        if not self.target.stores_copy:
            return Handed([*body])
        numbers = frozenset(map(self.names.of, child.loop_vars))
        known = {self.names.of(b): b for b in (*self.func.buffers, *self.locals, *carried)}
        shapes = {name: tuple(map(as_expr, self._shape(b))) for name, b in known.items()}
        dtypes = {name: dtype_code(b.dtype) for name, b in known.items()}
        from_below = not (isinstance(low, Literal) and isinstance(low.value, int) and low.value >= 0)
        step = Step(variable, from_below, frozenset(map(self.names.of, carried)), numbers, shapes, dtypes)
        return without_copies(body, step, self.names.fresh)

    def _body(self, nodes: Iterable[Node], own: set[Buffer], child: Scope, read: Iterable[Buffer] = ()) -> None:
        """All lines of a nested function but its last, with locals that are its own; it reads some of them at last."""
        here = [b for b in self.locals if b in own]  # in the order of the program
        self._create_locals(child, here)
        self._nodes(nodes, child)
        for buffer in read:
            child.current(buffer)
        for buffer in here:
            child.forget(buffer)
        child.flush_all()

    def _versions(self, node: Versions, scope: Scope) -> None:
        """A choice at run time, of which only one side runs."""
        sides = [(nodes, [n.statement for n in inner_statements(nodes)]) for nodes in (node.fast, node.exact)]
        both = [s for _, inside in sides for s in inside]
        own = self._own_locals(both, lambda loops: scope.loop_vars <= {o.var for o in loops})
        touched = [{self.expanded.get(b, b) for s in inside for b in s.buffers()} for _, inside in sides]
        for buffer in sorted((touched[0] | touched[1]) - own, key=lambda b: b.name):
            scope.current(buffer)
        test = self._scalar(self.expansion.expr(node.test), scope)
        written = {self.expanded.get(s.buffer, s.buffer) for s in both}
        carried = sorted(written - own, key=lambda b: self.names.of(b))
        if not carried:
            return
        names = [self.names.of(b) for b in carried]
        self.report.append(f"two forms, chosen at run time: {node.reason}")
        functions = [self.names.fresh(n) for n in ("fast", "exact")]
        for name, (nodes, _), mine in zip(functions, sides, touched, strict=True):
            child = scope.child()
            self._body(nodes, own & mine, child)
            scope.add(with_state(name, [], names, child.body(), [*map(Name, names)]))
        for buffer in carried:
            scope.written(self.names.of(buffer))
        self.helpers |= {"with_all_given", "chosen"}
        state = names[0] if len(names) == 1 else tuple(names)
        scope.add(assign_each(names, call("chosen", test, *functions, state, *[True] * by_element(node))))

    def _loop_bounds(
        self, node: SequentialLoop, scope: Scope, child: Scope
    ) -> tuple[JaxExpr, JaxExpr, tuple[JaxExpr, JaxExpr] | None]:
        """Code of the first and one-past-last value, and what they can ever be, as numbers while tracing, if that is
        known; records what is known of the variable inside."""
        loop = node.loop
        if self.phase is not None and node.phases:
            low, stop = self.phase.low, self.phase.stop
            child.around[loop.var] = Box(number(low), number(stop - low), exact=True)
            return as_expr(low), as_expr(stop), (as_expr(low), as_expr(stop))
        box = self._box(loop)
        start, extent = self.expansion.expr(loop.start), self.expansion.expr(loop.extent)
        known = scope.loop_vars | self.static | set(self.func.scalars)
        stop = to_expr(linear(Binary("add", start, extent)), loop.var)
        ends = None
        if box is not None:
            child.around[loop.var] = box
            ends = self._scalar(to_expr(box.low, loop.var)), self._scalar(to_expr(box.low + box.extent, loop.var))
        used = free_vars(start) | free_vars(extent)
        if used <= known:
            low, high = self._scalar(start, scope), self._scalar(stop, scope)
            by_data = has_loads(start) or has_loads(extent)
            inside = [n.statement for n in inner_statements(node.body)] if by_data else []
            around = conditions_around(inside, known, self.program.depth) if by_data else []
            taken = [self._scalar(self.expansion.expr(g), scope) for g in around]
            if taken:  # where nothing is to be done they may be any numbers
                high = call("jnp.where", every(taken), high, low)
            if used <= self.static and not by_data:
                ends = self._scalar(start, number=True), self._scalar(stop, number=True)
                low, high = ends if loop.var.dtype in (DType.INT32, DType.INT64) else (low, high)
            elif box is not None and box.effects and ends is not None:  # of which what is done inside makes use
                low, high = call("jnp.maximum", low, ends[0]), call("jnp.minimum", high, ends[1])
            return low, high, ends or self._ends_by_facts(start, stop, scope)
        assert ends is not None
        child.boxed = child.boxed | {loop.var}
        return *ends, ends

    def _ends_by_facts(self, start: Expr, stop: Expr, scope: Scope) -> tuple[JaxExpr, JaxExpr] | None:
        """Numbers that bound a loop by what is assumed of the data; None if they are too far apart to be of use."""
        first, last = (self.told.limits(e, scope.around) for e in (start, stop))
        if first is None or last is None or last[1] - first[0] > _MOST_STEPS:
            return None
        return as_expr(first[0]), as_expr(last[1])

    def _own_locals(self, inside: Sequence[Statement], own_copy: Callable[[tuple[Loop, ...]], bool]) -> set[Buffer]:
        found = own_locals(self.plan, self.program.depth, inside, own_copy)
        return {self.expanded.get(buffer, buffer) for buffer in found}

    def _begun_anew(self, loop: SequentialLoop, inside: Sequence[Statement]) -> set[Buffer]:
        """Locals that only a loop knows, and that each step of it fills before it looks at them."""
        found = begun_anew(loop.body, self.plan.boxes, self.expansion.node) & self.locals.keys()
        if not found:
            return found
        positions = {s.position for s in inside}
        others = (n for n in inner_statements(self.plan.nodes) if n.statement.position not in positions)
        return found.difference(*(buffers_of(self.expansion.node(n)) for n in others))


def _slices(section: Section) -> tuple[JaxExpr, ...]:
    """Where a section is."""
    return tuple(between(low, stop) for low, stop in section.ranges)
