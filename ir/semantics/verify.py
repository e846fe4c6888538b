"""Checks at entry: names, dtypes, ranks, undef, and through `analysis.access` the bounds of every access.

Owns what makes a program well formed, for programs from any source: parsed, built in Python, or rewritten.
Changes nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import NoReturn, assert_never, cast, get_args

from msgspec import Struct

from ir.analysis.access import UnprovenAccess, check_accesses
from ir.analysis.sections import disjoint_sections, equal_integers, with_section_checks
from ir.analysis.witness import DIALECT, Words
from ir.dtypes import DType
from ir.errors import Span, VerifyError, suggest
from ir.functions import check_function
from ir.instructions import check_instruction
from ir.nodes import (
    BIT_COUNTS,
    COMPARE_OPS,
    FLOAT_UNARY_OPS,
    INTEGER_ONLY_OPS,
    LOGICAL_OPS,
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
    Function,
    If,
    Let,
    Load,
    LoopKind,
    Module,
    PrimFunc,
    Region,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    WrittenStmt,
)
from ir.operators import FLOAT_ONLY_OPS
from ir.presburger.facts import facts_at
from ir.presburger.sets import exclusive
from ir.printing.printer import to_script
from ir.program.calls import size_arguments, without_calls
from ir.program.modules import ENTRY, check_calls, entry_of
from ir.sections import Section, passed
from ir.semantics.small_sizes import check_small_sizes
from ir.shown import counted
from ir.traverse import results_of, shape_vars, substitute_expr

_LOOP_KINDS: tuple[str, ...] = get_args(LoopKind)
_INTEGERS = {d: (d.min, d.max) for d in DType if d.is_integer}
_FREEZE = "bind it first (x = T.undef(...)): a name holds one arbitrary but fixed value"


class Verified(Struct, frozen=True):
    """What verification could not settle: accesses that depend on run-time data, in program order."""

    unproven: tuple[UnprovenAccess, ...] = ()


def check_entry(func: PrimFunc, verified: bool = True, words: Words = DIALECT) -> None:
    """Verify a program that comes in, once: as it was written, of which rewrites have made what it is.

    `verified` is False where the caller vouches for it; `words` are those of the language that it was written in.

    Raises:
        VerifyError: see `verify`.
    """
    if verified and not func.as_written.verified:
        verify(func.as_written, words=words)


def entered(program: PrimFunc | Module, entry: str = ENTRY, verified: bool = True) -> PrimFunc:
    """The function that a run of a program enters, verified once, with the bodies of its callees in place of calls.

    Raises:
        VerifyError: see `verify`; or a module calls functions that it has not.
        LoopsatError: there is no such function.
    """
    func = entry_of(program, entry)
    if isinstance(program, Module):
        check_calls(program)
    check_entry(func, verified)
    inlined = without_calls(func)
    return inlined.vouched() if func.as_written.verified else inlined


@exclusive
def verify(func: PrimFunc, *, allow_stray_loads: bool = False, words: Words = DIALECT) -> Verified:
    """Check that a function has a meaning.

    Well-formedness is checked first, for the whole function, then accesses and assumptions; of each, the first problem
    in program order is raised. `allow_stray_loads` accepts loads that leave their buffer, which rewrites may introduce
    (they yield undef), and lists them as unproven. `words` are those that advice is given in.

    Raises:
        VerifyError: a name, dtype, rank, literal or use of undef is wrong, an access can leave its buffer, or an
            assumption is false wherever it is reached.
    """
    try:
        _WellFormed(func).check()
        check_instruction(func)
        checked = with_section_checks(func)
        unproven = check_accesses(checked, allow_stray_loads=allow_stray_loads, words=words)
        if not all(access.linear for access in unproven):
            check_small_sizes(checked, allow_stray_loads=allow_stray_loads, words=words)
        func.vouched()
        return Verified(unproven)
    except RecursionError as error:
        message = f"{func.name} is nested too deeply to be checked"
        raise VerifyError("too-deep", message, func.span, help="split the expression or the loops") from error


class _WellFormed:
    """One walk over a function with the names in scope."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.names: dict[str, Var | Buffer] = {}
        self.sizes: dict[str, Var] = {}
        self.functions: dict[str, Function] = {}
        self.defined: set[Function] = set()
        self.kernels: dict[str, PrimFunc] = {}
        self.place: Span | None = func.span
        self.path: list[Stmt] = []  # from the body to the statement that is looked at

    def check(self) -> None:
        for param in self.func.params:
            if param.name in self.names:
                self._fail("duplicate-name", f"two parameters are called {param.name}", param.span, "rename one")
            self.names[param.name] = param
        for size in shape_vars(self.func):
            known = self.names.get(size.name)
            if known is not None:
                message = f"{size.name} in a shape is a {size.dtype}, but it also names {_describe(known)}"
                self._fail("duplicate-name", message, size.span, "rename one")
            self.names[size.name] = size
        self.sizes = {v.name: v for v in (*self.func.scalars, *shape_vars(self.func))}
        for buffer in self.func.buffers:
            self._shape(buffer)
        self._stmt(self.func.body)

    # Names -----------------------------------------------------------------------------------------------------------

    def _fail(self, code: str, message: str, span: Span | None, help: str = "") -> NoReturn:
        raise VerifyError(code, message, self.place if span is None else span, help=help)

    @contextmanager
    def _bound(self, item: Var | Buffer) -> Generator[None]:
        if item.name in self.names:
            message = f"{item.name} is bound again, but on this path it names {_describe(self.names[item.name])}"
            self._fail("shadowed-name", message, item.span, "give the inner one another name")
        self.names[item.name] = item
        yield
        del self.names[item.name]

    def _variable(self, var: Var) -> None:
        found = self.names.get(var.name)
        if found is None:
            near = suggest(var.name, self.names)
            hint = near if near else "bind it before it is used; names bound in a nested block end with it"
            self._fail("unknown-name", f"`{var.name}` is not defined here", var.span, hint)
        if not isinstance(found, Var):
            self._fail("rank", f"{var.name} is a buffer, not a value", var.span, "load an element of it")
        if found.dtype is not var.dtype:
            message = f"{var.name} is used as {var.dtype}, but it is bound as {found.dtype}"
            self._fail("dtype-mismatch", message, var.span, f'convert it, as in T.cast({var.name}, "{var.dtype}")')

    def _buffer(self, buffer: Buffer, span: Span | None) -> None:
        found = self.names.get(buffer.name)
        if found is buffer:
            return
        if found is None:
            near = suggest(buffer.name, [n for n, v in self.names.items() if isinstance(v, Buffer)])
            hint = near if near else "make it a parameter, or allocate it with T.alloc_buffer before it is used"
            self._fail("unknown-name", f"the buffer `{buffer.name}` is not defined here", span, hint)
        if not isinstance(found, Buffer):
            self._fail("not-a-buffer", f"`{buffer.name}` is {_describe(found)}, not a buffer", span)
        if found != buffer:
            message = f"{buffer.name} is used as {_describe(buffer)}, but in scope it is {_describe(found)}"
            self._fail("buffer-mismatch", message, span, "use one Buffer object for all accesses to it")

    def _shape(self, buffer: Buffer) -> None:
        for extent in buffer.shape:
            self._integer(extent, "a shape")
            self._size(extent, buffer)
            if isinstance(extent, Const) and extent.value < 0:
                message = f"an extent of {buffer.name} is negative: {to_script(extent)}"
                self._fail("extent", message, buffer.span)

    def _size(self, extent: Expr, buffer: Buffer) -> None:
        match extent:
            case Load():
                message = f"the shape of {buffer.name} depends on the contents of {extent.buffer.name}"
                self._fail("shape", message, buffer.span, "pass the size as a scalar parameter")
            case Var(name=name) if name not in self.sizes:
                message = f"the shape of {buffer.name} depends on {name}, which is no scalar parameter"
                self._fail("shape", message, buffer.span, "write the extent in terms of scalar parameters")
            case Unary(operand=a) | Cast(operand=a):
                self._size(a, buffer)
            case Binary(lhs=a, rhs=b):
                self._size(a, buffer)
                self._size(b, buffer)
            case Call(args=args):
                for part in args:
                    self._size(part, buffer)
            case Select(cond=c, then=a, other=b):
                for part in (c, a, b):
                    self._size(part, buffer)
            case _:
                pass

    # Statements ------------------------------------------------------------------------------------------------------

    def _stmt(self, stmt: Stmt) -> None:
        outer = self.place
        self.place = outer if stmt.span is None else stmt.span
        self.path.append(stmt)
        match cast(WrittenStmt, stmt):
            case Store(buffer=buffer, indices=indices, value=value):
                self._indices(buffer, indices, stmt.span)
                self._expr(value)
                self._agree(value, buffer.dtype, f"the value stored to {buffer.name}")
            case Seq(stmts=stmts):
                for inner in stmts:
                    self._stmt(inner)
            case If(cond=cond, then=then, other=other):
                self._condition(cond)
                self._stmt(then)
                self._stmt(other)
            case For() as loop:
                self._loop(loop)
            case Let(var=var, value=value, body=body):
                self._expr(value)
                self._agree(value, var.dtype, f"the value of {var.name}")
                with self._bound(var):
                    self._stmt(body)
            case Alloc(buffer=buffer, body=body):
                self._shape(buffer)
                with self._bound(buffer):
                    self._stmt(body)
            case Assume(cond=cond):
                self._expr(cond, "an assumption", assumed=True)
                self._boolean(cond, "an assumption")
            case Assert(cond=cond):
                self._condition(cond)
            case Evaluate(value=value):
                self._expr(value)
            case Block() as block:
                self._block(block)
            case CallStmt() as call:
                self._call_stmt(call)
            case other:
                assert_never(other)
        self.path.pop()
        self.place = outer

    def _loop(self, loop: For) -> None:
        if loop.kind not in _LOOP_KINDS:
            self._fail("loop-kind", f"`{loop.kind}` is no kind of loop", loop.span, suggest(loop.kind, _LOOP_KINDS))
        self._interval(loop.var, loop.start, loop.extent)
        with self._bound(loop.var):
            self._stmt(loop.body)

    def _interval(self, var: Var, start: Expr, extent: Expr) -> None:
        if not var.dtype.is_integer:
            self._fail("dtype-mismatch", f"{var.name} must be an integer, found {var.dtype}", var.span)
        for bound, what in ((start, "the start of a range"), (extent, "an extent")):
            self._integer(bound, what)
            self._agree(bound, var.dtype, f"{what} of {var.name}")

    def _block(self, block: Block) -> None:
        with ExitStack() as scope:
            for axis in block.axes:
                self._interval(axis.var, axis.start, axis.extent)
                self._integer(axis.value, "the value of an axis")
                self._agree(axis.value, axis.var.dtype, f"the value of {axis.var.name}")
                scope.enter_context(self._bound(axis.var))
            self._condition(block.predicate)
            for region in (*(block.reads or ()), *(block.writes or ())):
                self._region(region)
            if block.init is not None:
                self._stmt(block.init)
            self._stmt(block.body)

    def _call_stmt(self, call: CallStmt) -> None:
        callee = call.callee
        check_entry(callee)
        if len(call.args) != len(callee.params):
            message = f"{callee.name} takes {len(callee.params)} arguments, {len(call.args)} given"
            self._fail("arguments", message, call.span, f"call it as {callee.signature}")
        if self.kernels.setdefault(callee.name, callee) != callee:
            message = f"two kernels are called {callee.name}"
            self._fail("duplicate-name", message, call.span, "rename one, or use one definition for both")
        for param, arg in zip(callee.params, call.args, strict=True):
            if isinstance(param, Var) == isinstance(arg, Section):
                wanted = "a value" if isinstance(param, Var) else "a buffer or a section of one"
                message = f"`{param.name}` of {callee.name} must be {wanted}"
                self._fail("arguments", message, call.span, f"call it as {callee.signature}")
            if isinstance(arg, Section):
                self._section(arg)
            else:
                self._expr(arg)
                self._agree(arg, cast(Var, param).dtype, f"argument `{param.name}` of {callee.name}")
        sizes = size_arguments(call)
        for var in shape_vars(callee):
            if var not in sizes:
                message = f"the size `{var.name}` of {callee.name} cannot be known from what this call passes"
                self._fail("unbound-size", message, call.span, f"make {var.name} a scalar parameter of {callee.name}")
        for param, section in passed(call):
            self._passed(callee, param, section, sizes)
        self._apart(call)

    def _section(self, section: Section) -> None:
        self._buffer(section.buffer, section.span)
        self._rank(section.buffer, len(section.ranges), "ranges", section.span)
        for bound in (bound for pair in section.ranges for bound in pair if bound is not None):
            self._integer(bound, "a section")

    def _passed(self, callee: PrimFunc, param: Buffer, section: Section, sizes: dict[Var, Expr]) -> None:
        """What a call passes for a buffer must have its dtype and shape."""
        if section.buffer.dtype is not param.dtype:
            message = f"`{param.name}` of {callee.name} holds {param.dtype}, but {section.buffer.name} holds "
            self._fail("dtype-mismatch", f"{message}{section.buffer.dtype}", section.span, "convert it in a loop first")
        wanted, found = tuple(substitute_expr(e, sizes) for e in param.shape), section.shape
        if len(wanted) != len(found):
            rank = counted(len(wanted), "dimension")
            message = f"`{param.name}` of {callee.name} has {rank}, but {section} has {len(found)}"
            self._fail("rank", message, section.span, "an index in place of a range drops a dimension, as in A[0, :]")
        for axis, (need, have) in enumerate(zip(wanted, found, strict=True)):
            if not equal_integers(need, have):
                needed, given = (", ".join(map(to_script, shape)) for shape in (wanted, found))
                message = f"`{param.name}` of {callee.name} has shape ({needed}), but {section} has ({given})"
                hint = f"dimension {axis} must be shown to be {to_script(need)}: pass a section of that extent"
                self._fail("shape", message, section.span, hint)

    def _apart(self, call: CallStmt) -> None:
        """Refuse two names for one element where the callee writes by one of them."""
        written, given = results_of(call.callee), [*passed(call)]
        for k, (param, section) in enumerate(given):
            for other, second in given[:k]:
                if section.buffer != second.buffer or not {param, other} & {*written}:
                    continue
                if not disjoint_sections(section, second, lambda: facts_at(self.func, tuple(self.path))):
                    writes = param if param in written else other
                    message = (
                        f"{call.callee.name} writes `{writes.name}`, and {second} for `{other.name}` and {section} for "
                        f"`{param.name}` may be the same memory"
                    )
                    hint = "pass sections that do not meet, or copy one of them into another buffer first"
                    self._fail("aliasing", message, call.span, hint)

    def _region(self, region: Region) -> None:
        self._buffer(region.buffer, None)
        self._rank(region.buffer, len(region.ranges), "ranges", None)
        for bound in (bound for pair in region.ranges for bound in pair):
            self._integer(bound, "a region")

    # Expressions -----------------------------------------------------------------------------------------------------

    def _rank(self, buffer: Buffer, given: int, what: str, span: Span | None) -> None:
        if given != len(buffer.shape):
            message = f"{buffer.name} has {len(buffer.shape)} dimensions, but {given} {what} are given"
            self._fail("rank", message, span, f"give one for each dimension of {buffer.name}")

    def _indices(self, buffer: Buffer, indices: tuple[Expr, ...], span: Span | None) -> None:
        self._buffer(buffer, span)
        self._rank(buffer, len(indices), "indices", span)
        for index in indices:
            self._integer(index, "an index")

    def _integer(self, expr: Expr, what: str) -> None:
        self._expr(expr, what)
        if not expr.dtype.is_integer:
            message = f"{what} must be an integer, found {expr.dtype}: `{to_script(expr)}`"
            self._fail("dtype-mismatch", message, expr.span, 'convert it with T.cast(..., "int32")')

    def _condition(self, expr: Expr) -> None:
        self._expr(expr, "a condition")
        self._boolean(expr, "a condition")

    def _boolean(self, expr: Expr, what: str) -> None:
        if expr.dtype is not DType.BOOL:
            message = f"{what} must be bool, found {expr.dtype}: `{to_script(expr)}`"
            self._fail("dtype-mismatch", message, expr.span, "compare it, as in `x != 0`")

    def _agree(self, expr: Expr, dtype: DType, what: str) -> None:
        if expr.dtype is not dtype:
            message = f"{what} must be {dtype}, found {expr.dtype}: `{to_script(expr)}`"
            self._fail("dtype-mismatch", message, expr.span, f'convert it with T.cast(..., "{dtype}")')

    def _expr(self, expr: Expr, undef_free: str = "", *, assumed: bool = False) -> None:
        """Check an expression; `undef_free` names the place if undef may not occur in it."""
        match cast(AnyExpr, expr):
            case Const() as literal:
                self._literal(literal)
            case Var() as var:
                self._variable(var)
            case Load(buffer=buffer, indices=indices):
                self._indices(buffer, indices, expr.span)
            case Unary(operand=a) as unary:
                self._expr(a, undef_free)
                self._unary(unary)
            case Cast(operand=a):
                self._expr(a, undef_free)
            case Binary(op=op, lhs=a, rhs=b) as node:
                # `A[i] == undef` in an assumption permits reading A[i]; only there it is no comparison of values
                permits = assumed and op == "eq" and {type(a), type(b)} == {Load, Undef}
                for operand in (a, b):
                    self._expr(operand, "" if permits else undef_free, assumed=assumed and op in LOGICAL_OPS)
                self._binary(node)
            case Select(cond=c, then=a, other=b):
                self._condition(c)
                self._expr(a, undef_free)
                self._expr(b, undef_free)
                self._agree(b, a.dtype, "the second arm of a selection")
            case Call() as call:
                for argument in call.args:
                    self._expr(argument, undef_free)
                self._call(call)
            case Undef():
                if undef_free:
                    self._fail("undef-misuse", f"T.undef() may not occur in {undef_free}", expr.span, _FREEZE)
            case other:
                assert_never(other)

    def _call(self, call: Call) -> None:
        function = call.function
        if function.name in self.names:
            message = f"{function.name} is called, but here it names {_describe(self.names[function.name])}"
            self._fail("shadowed-name", message, call.span, "rename one of them")
        if len(call.args) != len(function.params):
            plural = "argument" if len(function.params) == 1 else "arguments"
            message = f"{function.name} takes {len(function.params)} {plural}, {len(call.args)} given"
            self._fail("arguments", message, call.span, f"call it as {function.signature}")
        for argument, param in zip(call.args, function.params, strict=True):
            self._agree(argument, param.dtype, f"argument `{param.name}` of {function.name}")
        self._definition(function, call.span)

    def _definition(self, function: Function, place: Span | None) -> None:
        """Check the definition of a function, and that no other one has its name."""
        known = self.functions.setdefault(function.name, function)
        if known != function:
            message = f"two functions are called {function.name}"
            self._fail("duplicate-name", message, place, "rename one, or use one definition for both")
        if function not in self.defined:
            self.defined.add(function)
            check_function(function)
            outer, self.names = self.names, dict[str, Var | Buffer]({p.name: p for p in function.params})
            self._expr(function.body)
            self.names = outer

    def _literal(self, literal: Const) -> None:
        value, dtype = literal.value, literal.dtype
        wanted = bool if dtype is DType.BOOL else float if dtype.is_float else int
        if type(value) is not wanted:
            message = f"a literal of {dtype} must be a {wanted.__name__}, found {value!r}"
            self._fail("dtype-mismatch", message, literal.span)
        low, high = _INTEGERS.get(dtype, (value, value))
        if value < low or high < value:
            self._fail("literal-range", f"{value} does not fit {dtype}, which holds {low} to {high}", literal.span)

    def _unary(self, expr: Unary) -> None:
        dtype, op = expr.operand.dtype, expr.op
        if op == "not":
            good, wanted = dtype is DType.BOOL, "bool"
        elif op == "bitnot" or op in BIT_COUNTS:
            good, wanted = dtype.is_integer, "an integer"
        elif op in FLOAT_UNARY_OPS:
            good, wanted = dtype.is_float, "a float"
        else:
            good, wanted = dtype is not DType.BOOL, "a number"
        if not good:
            self._fail("dtype-mismatch", f"{op} needs {wanted}, found {dtype}", expr.span)

    def _binary(self, expr: Binary) -> None:
        op, dtype = expr.op, expr.lhs.dtype
        if dtype is not expr.rhs.dtype:
            message = f"{op} of {dtype} and {expr.rhs.dtype}: `{to_script(expr)}`"
            self._fail("dtype-mismatch", message, expr.span, f'convert one of them, as in T.cast(..., "{dtype}")')
        if op in LOGICAL_OPS:
            good, wanted = dtype is DType.BOOL, "bools"
        elif op in FLOAT_ONLY_OPS:
            good, wanted = dtype.is_float, "floats"
        elif op in INTEGER_ONLY_OPS:
            good, wanted = dtype.is_integer, "integers"
        else:
            good, wanted = dtype is not DType.BOOL or (op in COMPARE_OPS and op in ("eq", "ne")), "numbers"
        if not good:
            self._fail("dtype-mismatch", f"{op} needs {wanted}, found {dtype}", expr.span)


def _describe(item: Var | Buffer) -> str:
    if isinstance(item, Var):
        return f"a value of {item.dtype}"
    shape = ", ".join(map(to_script, item.shape))
    return f"a buffer of shape ({shape}{',' if len(item.shape) == 1 else ''}) and {item.dtype}"
