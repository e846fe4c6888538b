"""What the nodes of a program do to a state: the reference interpreter's machine.

Each node is turned once into a Python function of no arguments, which runs it in the state that the machine has then
(closure compilation, Feeley and Lapalme, "Using closures for code generation", 1987): programs run their nodes far more
often than they have any.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar, assert_never, cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from ir.analysis.conditions import arbitrary_elements
from ir.arith import ArithmeticFault, Scalar, binary_function, cast_function, rounded, unary_function
from ir.dtypes import DType
from ir.errors import InterpretError, Span
from ir.nodes import (
    Alloc,
    AnyExpr,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Call,
    CallStmt,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    WrittenStmt,
)
from ir.printing.printer import to_script
from ir.program.calls import size_arguments
from ir.sections import Section, passed
from ir.traverse import ends_early

Array = npt.NDArray[np.generic]
T = TypeVar("T")


class Undefined:
    """The value of what is undef."""

    def __repr__(self) -> str:
        return "undef"


class _UndecidedError(Exception):
    """The body of a function would have to choose by an undef value."""


UNDEF = Undefined()
Value = Scalar | Undefined
Run = Callable[[], None]
Evaluation = Callable[[], Value]


class Memory(Struct):
    """The elements of one buffer, and which of them are undef."""

    values: Array
    undef: npt.NDArray[np.bool_]


class Machine(Struct):
    """The state of a run: scalars in scope and buffers by name. Assumptions are checked only with `sanitize`.

    With `arbitrary`, an operation that has no value (a number that leaves its dtype, a division by zero) is undef and
    no fault: so run programs in which some values stand for undef, since operations on undef have no faults.
    In the body of a function, `undef` holds the parameters that are; elsewhere it is None.
    """

    sanitize: bool
    rng: np.random.Generator
    steps: int | None = None
    scalars: dict[Var, Scalar] = field(default_factory=lambda: dict[Var, Scalar]())
    memory: dict[str, Memory] = field(default_factory=lambda: dict[str, Memory]())
    undef: frozenset[Var] | None = None
    arbitrary: bool = False
    _runs: dict[int, tuple[Stmt, Run]] = field(default_factory=lambda: dict[int, tuple[Stmt, Run]]())
    _values: dict[int, tuple[Expr, Evaluation]] = field(default_factory=lambda: dict[int, tuple[Expr, Evaluation]]())
    _names: dict[Var, Var] = field(default_factory=lambda: dict[Var, Var]())

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        """The shape of a buffer here; a negative extent means no elements."""
        return tuple(max(self.integer(e, "an extent"), 0) for e in buffer.shape)

    def add_buffer(self, buffer: Buffer, initial: Array | None) -> None:
        """Bring a buffer into being, undef or as a copy of `initial`."""
        shape = self.shape(buffer)
        try:
            values = np.zeros(shape, buffer.dtype.numpy) if initial is None else np.array(initial)
            self.memory[buffer.name] = Memory(values, np.full(shape, initial is None))
        except (MemoryError, ValueError) as error:
            message = f"{buffer.name} of shape {shape} is too large to be interpreted"
            raise self.fault("too-large", message, buffer.span) from error

    def fault(self, code: str, message: str, span: Span | None) -> InterpretError:
        """An error that tells the scalars in scope."""
        state = ", ".join(f"{v.name} = {x}" for v, x in self.scalars.items())
        return InterpretError(code, message, span, notes=[f"with {state}"] if state else [])

    def reset(self, seed: int | None) -> None:
        """Forget the state, and keep what nodes were turned into."""
        self.rng = np.random.default_rng(seed)
        self.scalars.clear()
        self.memory.clear()

    def run(self, stmt: Stmt) -> None:
        """Execute a statement.

        Raises:
            InterpretError: it faults.
        """
        known = self._runs.get(id(stmt))
        if known is None:
            known = self._runs[id(stmt)] = stmt, self._run_of(stmt)
        known[1]()

    def value(self, expr: Expr) -> Value:
        """Evaluate; strict in undef except for annihilators and selection.

        Raises:
            InterpretError: an operation in it faults.
        """
        known = self._values.get(id(expr))
        if known is None:
            known = self._values[id(expr)] = expr, self._evaluation(expr)
        return known[1]()

    def integer(self, expr: Expr, what: str) -> int:
        """The value of an expression that may not be undef: an index or a bound."""
        return self._whole(self.value(expr), expr, what)

    def condition(self, expr: Expr) -> bool:
        """The value of a condition, which may not be undef."""
        return self._decided(self.value(expr), expr)

    def holds(self, cond: Expr) -> bool:
        """Whether an assumption holds; that something equals undef always does."""
        return self._decided(self._assumed(cond), cond)

    def assume(self, stmt: Assume) -> None:
        """Check an assumption if asked to; what it says to equal undef is undef from here on."""
        if self.sanitize and not self.holds(stmt.cond):
            message = f"the assumption `{to_script(stmt.cond)}` does not hold"
            raise self.fault("assumption-false", message, stmt.span)
        for element, unless in _arbitrary(stmt.cond):
            if not any(map(self._may_hold, unless)):
                self._forget(element)

    def _may_hold(self, part: Expr) -> bool:
        """Whether a disjunct is not certainly false."""
        try:
            return self.holds(part)
        except InterpretError:
            return True

    def _forget(self, load: Load) -> None:
        """Let an element, if there is one, hold anything."""
        memory = self._memory(load.buffer, load.span)
        try:
            index = tuple(self.integer(i, "an index") for i in load.indices)
        except InterpretError:
            return
        if _inside(index, memory.undef.shape):
            memory.undef[index] = True

    # Statements ------------------------------------------------------------------------------------------------------

    def _run_of(self, stmt: Stmt) -> Run:
        """What runs a statement; it is made when that happens first, since many an arm never runs."""
        code: Run | None = None

        def counted() -> None:
            nonlocal code
            if self.steps is not None:
                if self.steps == 0:
                    raise self.fault("too-many-steps", "the program takes more steps than allowed", stmt.span)
                self.steps -= 1
            if code is None:
                code = self._compiled(stmt)
            code()

        return counted

    def _compiled(self, stmt: Stmt) -> Run:
        match cast(WrittenStmt, stmt):
            case Seq(stmts=stmts):
                return self._sequence(stmts)
            case Store() as store:
                return self._store(store)
            case If(cond=cond, then=yes, other=no):
                return self._if(self._condition_of(cond), self._run_of(yes), self._run_of(no))
            case For() as loop:
                return self._loop(loop)
            case Let() as let:
                return self._let(let)
            case Alloc() as alloc:
                return self._alloc(alloc)
            case Assume() as assume:
                return lambda: self.assume(assume)
            case Assert() as claim:
                return self._assert(claim)
            case Evaluate(value=value):
                return self._evaluate(self._evaluation(value))
            case Block() as block:
                return self._block(block)
            case CallStmt() as call:
                return self._call_stmt(call)
            case other:
                assert_never(other)

    def _sequence(self, stmts: tuple[Stmt, ...]) -> Run:
        parts = [self._run_of(part) for part in stmts]

        def sequence() -> None:
            for part in parts:
                part()

        return sequence

    def _if(self, condition: Callable[[], bool], yes: Run, no: Run) -> Run:
        def branch() -> None:
            if condition():
                yes()
            else:
                no()

        return branch

    def _evaluate(self, value: Evaluation) -> Run:
        def evaluate() -> None:
            value()

        return evaluate

    def _assert(self, claim: Assert) -> Run:
        condition = self._condition_of(claim.cond)

        def check() -> None:
            if not condition():
                message = claim.message or f"`{to_script(claim.cond)}` does not hold"
                raise self.fault("assert-failed", message, claim.span)

        return check

    def _let(self, let: Let) -> Run:
        name, value, body = self._name(let.var), self._evaluation(let.value), self._run_of(let.body)

        def bind() -> None:
            self.scalars[name] = self._frozen(value(), name.dtype)
            body()
            del self.scalars[name]

        return bind

    def _alloc(self, alloc: Alloc) -> Run:
        body = self._run_of(alloc.body)

        def allocate() -> None:
            self.add_buffer(alloc.buffer, None)
            body()
            del self.memory[alloc.buffer.name]

        return allocate

    def _loop(self, loop: For) -> Run:
        name = self._name(loop.var)
        first, extent = (
            self._integer_of(loop.start, "the start of a loop"),
            self._integer_of(loop.extent, "the extent of a loop"),
        )

        ending = ends_early(loop)
        goes_on = None if ending is None else self._condition_of(ending.cond)
        step = self._run_of(loop.body if ending is None else ending.then)

        def iterate() -> None:
            start = first()
            stop = start + extent()
            if start < stop and stop - 1 > name.dtype.max:
                message = f"{name.name} reaches {stop - 1}, which leaves {name.dtype}"
                raise self.fault("overflow", message, loop.span)
            scalars = self.scalars
            for value in range(start, stop):
                scalars[name] = value
                if goes_on is not None and not goes_on():
                    break
                step()
            scalars.pop(name, None)

        return iterate

    def _store(self, store: Store) -> Run:
        place, value = self._place(store.indices), self._evaluation(store.value)

        def write() -> None:
            memory = self._memory(store.buffer, store.span)
            index = place()
            stored = value()
            if not _inside(index, memory.values.shape):
                message = f"store to {store.buffer.name}{list(index)} leaves its shape {memory.values.shape}"
                raise self.fault("store-out-of-bounds", message, store.span)
            if isinstance(stored, Undefined):
                memory.undef[index] = True
            else:
                memory.undef[index] = False
                memory.values[index] = stored

        return write

    def _block(self, block: Block) -> Run:
        axes = [(self._name(axis.var), self._integer_of(axis.value, "the value of an axis")) for axis in block.axes]
        reduced = [
            (self._name(axis.var), self._integer_of(axis.start, "the start of an axis"))
            for axis in block.axes
            if axis.kind == "reduce"
        ]
        runs, body = self._condition_of(block.predicate), self._run_of(block.body)
        init = None if block.init is None else self._run_of(block.init)

        def run() -> None:
            for name, value in axes:
                self.scalars[name] = value()
            if runs():
                if init is not None and all(self.scalars[name] == start() for name, start in reduced):
                    init()
                body()
            for name, _ in axes:
                del self.scalars[name]

        return run

    def _call_stmt(self, call: CallStmt) -> Run:
        """Bind scalars and sizes to values, and buffers to parts of the caller's memory; then run the body."""
        values = [(var, self._evaluation(value)) for var, value in size_arguments(call).items()]
        sections = [(param, self._section(section)) for param, section in passed(call)]
        machine = Machine(self.sanitize, self.rng)
        body = machine._run_of(call.callee.body)

        def run() -> None:
            machine.rng, machine.steps, machine.arbitrary = self.rng, self.steps, self.arbitrary
            machine.scalars.clear()  # what nodes were turned into keeps this dictionary
            machine.scalars.update({var: self._frozen(value(), var.dtype) for var, value in values})
            machine.memory = {param.name: part() for param, part in sections}
            try:
                machine._check_shapes(call)
                body()
            except InterpretError as error:
                where = "" if call.span is None else f" at {call.span}"
                notes = [*error.notes, f"in {call.callee.name}, called{where}"]
                raise InterpretError(error.code, error.message, error.span, notes=notes, help=error.help) from error
            self.steps = machine.steps

        return run

    def _check_shapes(self, call: CallStmt) -> None:
        for param, section in passed(call):
            wanted, found = self.shape(param), self.memory[param.name].values.shape
            if wanted != found:
                message = f"`{param.name}` of {call.callee.name}: expected shape {wanted}, found {found}"
                raise self.fault("arguments", message, section.span)

    def _section(self, section: Section) -> Callable[[], Memory]:
        """The part of memory that a section is; what is stored to it is stored to the buffer."""
        ranges = [
            (self._integer_of(a, "the start of a section"), None if n is None else self._integer_of(n, "an extent"))
            for a, n in section.ranges
        ]
        dropped = tuple(k for k, (_, n) in enumerate(section.ranges) if n is None)

        def part() -> Memory:
            memory = self._memory(section.buffer, section.span)
            bounds = [(a(), 1 if n is None else max(n(), 0)) for a, n in ranges]
            for (first, count), size in zip(bounds, memory.values.shape, strict=True):
                if count and (first < 0 or first + count > size):
                    shown = ", ".join(f"{a}:{a + n}" for a, n in bounds)
                    message = f"the section {section.buffer.name}[{shown}] leaves its shape {memory.values.shape}"
                    raise self.fault("section-out-of-bounds", message, section.span)
            box = tuple(slice(a, a + n) if n else slice(0) for a, n in bounds)
            return Memory(memory.values[(*box, ...)].squeeze(dropped), memory.undef[(*box, ...)].squeeze(dropped))

        return part

    # Expressions -----------------------------------------------------------------------------------------------------

    def _evaluation(self, expr: Expr) -> Evaluation:
        match cast(AnyExpr, expr):
            case Const(value=value, dtype=dtype):
                number = rounded(value, dtype) if isinstance(value, float) else value
                return lambda: number
            case Var() as var:
                return self._variable(var)
            case Undef():
                return lambda: UNDEF
            case Load() as load:
                return self._load(load)
            case Select(cond=c, then=a, other=b):
                return self._select(self._condition_of(c), self._evaluation(a), self._evaluation(b))
            case Binary(op=("and" | "or") as op, lhs=a, rhs=b):
                return self._logic(op, self._evaluation(a), self._evaluation(b))
            case Call() as call:
                return self._call(call)
            case Binary() as binary:
                return self._binary(binary)
            case Unary(op=op, operand=operand) as unary:
                return self._converted(unary, operand, unary_function(op, operand.dtype))
            case Cast(dtype=dtype, operand=operand) as conversion:
                return self._converted(conversion, operand, cast_function(operand.dtype, dtype))
            case other:
                assert_never(other)

    def _name(self, var: Var) -> Var:
        """The one object that stands for a variable: dictionaries find it without comparing nodes."""
        known = self._names.get(var)
        if known is None:
            known = self._names[var] = next((v for v in self.scalars if v.same(var)), var)
        return known

    def _variable(self, var: Var) -> Evaluation:
        name = self._name(var)

        def read() -> Value:
            if self.undef is not None and name in self.undef:
                return UNDEF
            try:
                return self.scalars[name]
            except KeyError:
                raise self.fault("unknown-name", f"`{var.name}` has no value here", var.span) from None

        return read

    def _integer_of(self, expr: Expr, what: str) -> Callable[[], int]:
        if isinstance(expr, Const):
            number = int(expr.value)
            return lambda: number
        code = self._evaluation(expr)
        return lambda: self._whole(code(), expr, what)

    def _whole(self, value: Value, expr: Expr, what: str) -> int:
        if isinstance(value, Undefined):
            raise self.fault("undef-index", f"{what} is undef: `{to_script(expr)}`", expr.span)
        return int(value)

    def _condition_of(self, expr: Expr) -> Callable[[], bool]:
        code = self._evaluation(expr)
        return lambda: self._decided(code(), expr)

    def _decided(self, value: Value, cond: Expr) -> bool:
        if isinstance(value, Undefined):
            if self.undef is not None:
                raise _UndecidedError
            raise self.fault("undef-condition", f"a condition is undef: `{to_script(cond)}`", cond.span)
        return bool(value)

    def _assumed(self, cond: Expr) -> Value:
        match cond:
            case Binary(op=("and" | "or") as op, lhs=a, rhs=b):
                return self._logic(op, lambda: self._assumed(a), lambda: self._assumed(b))()
            case Binary(op="eq", lhs=a, rhs=Undef()) | Binary(op="eq", lhs=Undef(), rhs=a):
                self.value(a)  # for the faults it may have
                return True
            case _:
                return self.value(cond)

    def _frozen(self, value: Value, dtype: DType) -> Scalar:
        """One arbitrary value in place of undef, often an awkward one."""
        if not isinstance(value, Undefined):
            return value
        if dtype is DType.BOOL:
            return bool(self.rng.integers(2))
        awkward = (0, 1, -1.5, 7.25, 3e4, -6e4) if dtype.is_float else (0, 1, dtype.min, dtype.max, dtype.max // 3)
        pick = int(self.rng.integers(len(awkward) + 2))
        number = awkward[pick] if pick < len(awkward) else int(self.rng.integers(100))
        return rounded(number, dtype) if dtype.is_float else int(number)

    def _memory(self, buffer: Buffer, span: Span | None) -> Memory:
        found = self.memory.get(buffer.name)
        if found is None:
            raise self.fault("unknown-name", f"the buffer `{buffer.name}` does not exist here", span)
        return found

    def _place(self, indices: tuple[Expr, ...]) -> Callable[[], tuple[int, ...]]:
        parts = [self._integer_of(index, "an index") for index in indices]
        return lambda: tuple([part() for part in parts])

    def _load(self, load: Load) -> Evaluation:
        place = self._place(load.indices)

        def read() -> Value:
            memory = self._memory(load.buffer, load.span)
            index = place()
            if not _inside(index, memory.values.shape):
                if self.sanitize:
                    message = f"load from {load.buffer.name}{list(index)} leaves its shape {memory.values.shape}"
                    raise self.fault("load-out-of-bounds", message, load.span)
                return UNDEF
            return UNDEF if memory.undef.item(index) else cast("Scalar", memory.values.item(index))

        return read

    def _select(self, condition: Callable[[], bool], then: Evaluation, other: Evaluation) -> Evaluation:
        return lambda: then() if condition() else other()

    def _call(self, call: Call) -> Evaluation:
        """Arguments first, then the body on their values; it faults with its own place and names."""
        arguments = [(p, self._evaluation(a)) for p, a in zip(call.function.params, call.args, strict=True)]
        machine = Machine(self.sanitize, self.rng)
        body = machine._evaluation(call.function.body)

        def run() -> Value:
            values = [(p, value()) for p, value in arguments]
            machine.scalars = {p: v for p, v in values if not isinstance(v, Undefined)}
            machine.undef = frozenset(p for p, v in values if isinstance(v, Undefined))
            machine.arbitrary = self.arbitrary
            try:
                return body()
            except _UndecidedError:
                return UNDEF
            except InterpretError as error:
                where = "" if call.span is None else f" at {call.span}"
                notes = [*error.notes, f"in `{to_script(call)}`, called{where}"]
                raise InterpretError(error.code, error.message, error.span, notes=notes, help=error.help) from error

        return run

    def _logic(self, op: str, first: Evaluation, second: Evaluation) -> Evaluation:
        """Three-valued `and`, `or`; the right operand is evaluated only where the left one does not decide."""
        decisive = op == "or"

        def logic() -> Value:
            left = first()
            if not isinstance(left, Undefined) and bool(left) is decisive:
                return decisive
            if isinstance(left, Undefined) and self.undef is not None:
                raise _UndecidedError
            right = second()
            if isinstance(left, Undefined) and (isinstance(right, Undefined) or bool(right) is not decisive):
                return UNDEF
            return right

        return logic

    def _binary(self, expr: Binary) -> Evaluation:
        first, second = self._evaluation(expr.lhs), self._evaluation(expr.rhs)
        function = binary_function(expr.op, expr.lhs.dtype)

        def operate() -> Value:
            a, b = first(), second()
            if isinstance(a, Undefined) or isinstance(b, Undefined):
                return self._annihilated(expr.op, a, b)
            try:
                return function(a, b)
            except ArithmeticFault as fault:
                return self._without_value(expr, fault)

        return operate

    def _converted(self, expr: Expr, operand: Expr, function: Callable[[Scalar], Scalar]) -> Evaluation:
        """An operation on one operand."""
        value = self._evaluation(operand)

        def convert() -> Value:
            a = value()
            if isinstance(a, Undefined):
                return UNDEF
            try:
                return function(a)
            except ArithmeticFault as fault:
                return self._without_value(expr, fault)

        return convert

    def _without_value(self, expr: Expr, fault: ArithmeticFault) -> Undefined:
        if self.arbitrary:
            return UNDEF
        raise self.fault(fault.kind, f"{fault} in `{to_script(expr)}`", expr.span) from fault

    def _annihilated(self, op: str, a: Value, b: Value) -> Value:
        """`a op b` where an operand is undef: zero if the other one is a factor zero."""
        known = b if isinstance(a, Undefined) else a
        return known if op == "mul" and not isinstance(known, Undefined) and known == 0 else UNDEF


@lru_cache(maxsize=1024)
def _arbitrary(cond: Expr) -> tuple[tuple[Load, tuple[Expr, ...]], ...]:
    return tuple(arbitrary_elements(cond))


def _inside(index: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    if len(index) != len(shape):
        return False
    for i, n in zip(index, shape, strict=True):  # noqa: SIM110 (asked for each access; a generator costs twice this)
        if not 0 <= i < n:
            return False
    return True
