"""Programs as source text of the dialect. What it prints parses back to the same program.

A kernel or module is printed with the definitions of the functions it calls; a statement or expression is not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import assert_never, cast

from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.functions import functions_in
from ir.instructions import instruction_of, is_instruction
from ir.naming import lengthened
from ir.nodes import (
    SKIP,
    TRUE,
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
from ir.printing.intervals import stop_of
from ir.program.calls import callees
from ir.sections import Section
from ir.traverse import all_exprs, bound_var, free_vars, is_const, shape_vars, walk

_INDENT = "    "
_HEADER = "from ir import script as T\n\n\n"
# Binding strength, loosest first; operators of one level associate to the left.
_INFIX: dict[str, tuple[str, int]] = {
    "or": ("or", 1), "and": ("and", 2), "eq": ("==", 4), "ne": ("!=", 4), "lt": ("<", 4), "le": ("<=", 4),
    "gt": (">", 4), "ge": (">=", 4), "bitor": ("|", 5), "bitxor": ("^", 6), "bitand": ("&", 7), "shl": ("<<", 8),
    "shr": (">>", 8), "add": ("+", 9), "sub": ("-", 9), "mul": ("*", 10), "div": ("/", 10), "floordiv": ("//", 10),
    "floormod": ("%", 10),
}  # fmt: skip
_NOT, _COMPARE, _SIGN, _ATOM = 3, 4, 11, 12
_DEFAULTS = (DType.INT32, DType.FLOAT32, DType.BOOL)

Printable = Module | PrimFunc | Function | Stmt | Section | Expr


def to_script(item: Printable, *, header: bool = False) -> str:
    """The text of a program, statement or expression; `header` adds the import that makes it a script.

    Raises:
        LoopsatError: the nesting is deeper than Python's stack.
    """
    try:
        return _script(item, header)
    except RecursionError as error:
        message = "the program is nested too deeply to be printed"
        raise LoopsatError("too-deep", message, getattr(item, "span", None)) from error


def _script(item: Printable, header: bool) -> str:
    match item:
        case Expr():
            return _Printer().expr(item)
        case Stmt():
            return "\n".join(_Printer().stmt(item, ""))
        case Section():
            return _Printer().section(item)
        case Function():
            return "\n".join(_definition(item)) + "\n"
        case PrimFunc():
            text = _functions(*callees(item), item)
        case Module(name="", funcs=funcs):
            text = _functions(*_called_first(funcs))
        case Module(name=name, funcs=funcs):
            inside = "\n\n".join("\n".join(_function(f, _INDENT)) for f in _called_first(funcs)) or f"{_INDENT}pass"
            text = "\n\n\n".join((*_definitions(*funcs), f"@T.module\nclass {name}:\n{inside}"))
    return f"{_HEADER if header else ''}{text}\n"


def _functions(*funcs: PrimFunc) -> str:
    return "\n\n\n".join((*_definitions(*funcs), *("\n".join(_function(f, "")) for f in funcs)))


def _called_first(funcs: tuple[PrimFunc, ...]) -> tuple[PrimFunc, ...]:
    """Functions in an order in which Python can run the text: each after those of them that it calls."""
    named = {f.name: f for f in funcs}
    ordered = dict.fromkeys(c.name for f in funcs for c in (*callees(f), f) if c.name in named)
    return tuple(named[name] for name in ordered)


def _definitions(*funcs: PrimFunc) -> list[str]:
    """The functions that kernels call, each once, in an order in which they can be read."""
    used = dict.fromkeys(f for func in funcs for f in functions_in(func))
    return ["\n".join(_definition(f)) for f in used]


def _definition(function: Function) -> Iterator[str]:
    options = [f"cost={function.cost!r}"] if function.cost is not None else []
    options += [f"jax={_quoted(function.jax)}"] if function.jax is not None else []
    yield f"@T.function({', '.join(options)})" if options else "@T.function"
    params = ", ".join(f"{p.name}: T.{_scalar(p.dtype)}" for p in function.params)
    yield f"def {function.name}({params}) -> T.{_scalar(function.dtype)}:"
    yield f"{_INDENT}return {_Printer().expr(function.body)}"


def _function(func: PrimFunc, indent: str) -> Iterator[str]:
    printer = _Printer()
    symbols = shape_vars(func)
    matched = [b for b in func.buffers if any(v in symbols for e in b.shape for v in free_vars(e))]
    handles = dict(zip((b.name for b in matched), _handle_names(func, matched), strict=True))
    params: list[str] = []
    for param in func.params:
        if isinstance(param, Var):
            params.append(f"{param.name}: T.{_scalar(param.dtype)}")
        elif param.name in handles:
            params.append(f"{handles[param.name]}: T.handle")
        else:
            params.append(f"{param.name}: T.Buffer({printer.layout(param)})")
    yield f"{indent}{_decorator(func)}"
    yield f"{indent}def {func.name}({', '.join(params)}):"
    inner = indent + _INDENT
    if func.docstring:
        yield from _docstring(func.docstring, inner)
    attrs = {name: value for name, value in func.attrs if name != "docstring"}
    if attrs and not is_instruction(func):
        yield f"{inner}T.func_attr({attrs!r})"
    for var in symbols:
        yield f"{inner}{var.name} = T.{_scalar(var.dtype)}()"
    for buffer in matched:
        yield f"{inner}{buffer.name} = T.match_buffer({handles[buffer.name]}, {printer.layout(buffer)})"
    yield from printer.stmt(func.body, inner)


def _docstring(text: str, indent: str) -> Iterator[str]:
    if '"""' in text or "\\" in text or text.endswith('"'):
        yield f"{indent}{text!r}"
        return
    lines = f'"""{text}"""'.splitlines() if "\n" not in text else [*f'"""{text}'.splitlines(), '"""']
    yield from (f"{indent}{line}".rstrip() for line in lines)


def _decorator(func: PrimFunc) -> str:
    if not is_instruction(func):
        return "@T.prim_func"
    return f"@T.instruction({', '.join(f'{name}={_option(value)}' for name, value in func.attrs)})"


def _option(value: object) -> str:
    return _quoted(value) if isinstance(value, str) else repr(value)


def _handle_names(func: PrimFunc, buffers: list[Buffer]) -> list[str]:
    """Parameter names for buffers that T.match_buffer gives, other than any name the function uses."""
    taken = {p.name for p in func.params} | {v.name for v in shape_vars(func)}
    taken |= {e.name for e in all_exprs(func.body) if isinstance(e, Var)} | {f.name for f in functions_in(func)}
    for stmt in walk(func.body):
        taken |= {v.name for v in bound_var(stmt)}
        if isinstance(stmt, Alloc):
            taken.add(stmt.buffer.name)
    names: list[str] = []
    for buffer in buffers:
        name = lengthened(f"{buffer.name}_handle", taken)
        taken.add(name)
        names.append(name)
    return names


def _scalar(dtype: DType) -> str:
    return "bool_" if dtype is DType.BOOL else dtype.value


class _Printer:
    # Expressions -----------------------------------------------------------------------------------------------------

    def expr(self, expr: Expr, strength: int = 0) -> str:
        """Text of an expression, in parentheses where its operator binds less than `strength`."""
        text, own = self._parts(expr)
        return f"({text})" if own < strength else text

    def _parts(self, expr: Expr) -> tuple[str, int]:
        match cast(AnyExpr, expr):
            case Const() as number:
                return self.literal(number)
            case Var(name=name):
                return name, _ATOM
            case Call(function=function, args=args):
                return f"{function.name}({', '.join(self._plain(a, 0) for a in args)})", _ATOM
            case Undef(dtype=dtype):
                return f'T.undef("{dtype}")', _ATOM
            case Load(buffer=buffer, indices=indices):
                return f"{buffer.name}[{', '.join(map(self.expr, indices)) or '()'}]", _ATOM
            case Unary(op=op, operand=a):
                return self._unary(op, a)
            case Cast(dtype=dtype, operand=a):
                return f'T.cast({self.expr(a)}, "{dtype}")', _ATOM
            case Select(cond=c, then=a, other=b):
                x, y = self._pair(a, b, 0, 0)
                return f"T.if_then_else({self.expr(c)}, {x}, {y})", _ATOM
            case Binary(op=op, lhs=a, rhs=b):
                return self._binary(op, a, b)
            case other:
                assert_never(other)

    def _unary(self, op: str, operand: Expr) -> tuple[str, int]:
        match op:
            case "not":
                inner = self._typed(operand) if isinstance(operand, Const) else self.expr(operand, _NOT)
                return f"not {inner}", _NOT
            case "neg" | "bitnot":
                sign = "-" if op == "neg" else "~"
                inner = self._typed(operand) if isinstance(operand, Const) else self.expr(operand, _SIGN)
                return f"{sign}{inner}", _SIGN
            case _:
                return f"T.{op}({self.expr(operand)})", _ATOM

    def _binary(self, op: str, a: Expr, b: Expr) -> tuple[str, int]:
        if op not in _INFIX:
            x, y = self._pair(a, b, 0, 0)
            return f"T.{op}({x}, {y})", _ATOM
        sign, strength = _INFIX[op]
        # Comparisons chain in Python, so neither operand may be a bare comparison.
        left = strength + 1 if strength == _COMPARE else strength
        tails: list[str] = []
        while (
            isinstance(a, Binary) and a.op in _INFIX and left <= _INFIX[a.op][1] == strength
        ):  # a long sum is no tower
            tails.append(f" {sign} {self._plain(b, strength + 1, beside=a)}")
            op, a, b = a.op, a.lhs, a.rhs
            sign = _INFIX[op][0]
        x, y = self._pair(a, b, left, strength + 1)
        return "".join((f"{x} {sign} {y}", *reversed(tails))), strength

    def _pair(self, a: Expr, b: Expr, left: int, right: int) -> tuple[str, str]:
        """Two operands: a literal beside a typed operand needs no dtype, two literals would be computed."""
        if isinstance(a, Const) and isinstance(b, Const):
            return self._typed(a), self._typed(b)
        return self._plain(a, left, beside=b), self._plain(b, right, beside=a)

    def _plain(self, expr: Expr, strength: int, *, beside: Expr | None = None) -> str:
        """A literal without its dtype where the place, or the operand beside it, tells it."""
        if not isinstance(expr, Const) or isinstance(beside, Undef):
            return self.expr(expr, strength)
        text, own = self._bare(expr)
        return f"({text})" if own < strength else text

    def literal(self, number: Const) -> tuple[str, int]:
        """A literal where nothing else tells its dtype."""
        return self._bare(number) if number.dtype in _DEFAULTS else (self._typed(number), _ATOM)

    def _bare(self, number: Const) -> tuple[str, int]:
        value = number.value
        if isinstance(value, float) and not math.isfinite(value):
            return self._typed(number), _ATOM
        negative = not isinstance(value, bool) and math.copysign(1.0, value) < 0
        return repr(value), _SIGN if negative else _ATOM

    def _typed(self, number: Const) -> str:
        value = number.value
        if isinstance(value, float) and not math.isfinite(value):
            return f'T.{number.dtype}("{value}")'
        return f"T.{_scalar(number.dtype)}({value!r})"

    def layout(self, buffer: Buffer) -> str:
        """Shape, dtype and scope, as `T.Buffer` takes them."""
        sizes = ", ".join(map(self.expr, buffer.shape)) + ("," if len(buffer.shape) == 1 else "")
        scope = f", scope={_quoted(buffer.scope)}" if buffer.scope != "global" else ""
        return f'({sizes}), "{buffer.dtype}"{scope}'

    # Statements ------------------------------------------------------------------------------------------------------

    def stmt(self, stmt: Stmt, indent: str) -> Iterator[str]:
        """Lines of a statement."""
        match cast(WrittenStmt, stmt):
            case Seq(stmts=()):
                yield f"{indent}pass"
            case Seq(stmts=stmts):
                for k, part in enumerate(stmts):
                    if isinstance(part, (Let, Alloc)) and k < len(stmts) - 1:
                        yield from self._scoped(part, indent)
                    else:
                        yield from self.stmt(part, indent)
            case Store(buffer=buffer, indices=indices, value=value):
                yield f"{indent}{self.expr(Load(buffer, indices))} = {self._plain(value, 0)}"
            case If():
                yield from self._branch(stmt, indent, "if")
            case For():
                yield from self._loop(stmt, indent)
            case Let(var=var, value=value, body=body):
                yield f"{indent}{var.name} = {self.expr(value)}"
                yield from self._rest(body, indent)
            case Alloc(buffer=buffer, body=body):
                yield f"{indent}{buffer.name} = {self._allocation(buffer)}"
                yield from self._rest(body, indent)
            case Assume(cond=cond):
                yield f"{indent}T.assume({self.expr(cond)})"
            case Assert(cond=cond, message=message):
                yield f"{indent}assert {self.expr(cond)}" + (f", {message!r}" if message else "")
            case Evaluate(value=value):
                yield f"{indent}T.evaluate({self.expr(value)})"
            case Block():
                yield from self._block(stmt, indent)
            case CallStmt(callee=callee, args=args):
                given = (self.section(a) if isinstance(a, Section) else self._plain(a, 0) for a in args)
                yield f"{indent}{callee.name}({', '.join(given)})"
            case other:
                assert_never(other)

    def _allocation(self, buffer: Buffer) -> str:
        return f"T.alloc_buffer({self.layout(buffer)})"

    def _scoped(self, stmt: Let | Alloc, indent: str) -> Iterator[str]:
        """A binding that ends before the statements after it."""
        match stmt:
            case Let(var=var, value=value):
                yield f"{indent}with T.LetStmt({self.expr(value)}) as {var.name}:"
            case Alloc(buffer=buffer):
                yield f"{indent}with {self._allocation(buffer)} as {buffer.name}:"
        yield from self.stmt(stmt.body, indent + _INDENT)

    def _rest(self, body: Stmt, indent: str) -> Iterator[str]:
        if body != SKIP:
            yield from self.stmt(body, indent)

    def _branch(self, stmt: Stmt, indent: str, keyword: str) -> Iterator[str]:
        assert isinstance(stmt, If)
        yield f"{indent}{keyword} {self.expr(stmt.cond)}:"
        yield from self.stmt(stmt.then, indent + _INDENT)
        if isinstance(stmt.other, If):
            yield from self._branch(stmt.other, indent, "elif")
        elif stmt.other != SKIP:
            yield f"{indent}else:"
            yield from self.stmt(stmt.other, indent + _INDENT)

    def _loop(self, stmt: Stmt, indent: str) -> Iterator[str]:
        assert isinstance(stmt, For)
        nest = [stmt]
        bound = {stmt.var}
        while _in_grid(stmt) and isinstance(inner := nest[-1].body, For) and _in_grid(inner):
            if bound & free_vars(inner.extent):
                break
            nest.append(inner)
            bound.add(inner.var)
        names = ", ".join(loop.var.name for loop in nest)
        if len(nest) > 1:
            ranges = f"T.grid({', '.join(self.expr(loop.extent) for loop in nest)})"
        else:
            notes = f", annotations={dict(stmt.annotations)!r}" if stmt.annotations else ""
            ranges = f"T.{stmt.kind}({self._interval(stmt.start, stmt.extent)}{notes})"
        yield f"{indent}for {names} in {ranges}:"
        yield from self.stmt(nest[-1].body, indent + _INDENT)

    def _interval(self, start: Expr, extent: Expr, separator: str = ", ", *, always_start: bool = False) -> str:
        """`extent`, or start and stop where the start is not zero."""
        if is_const(start, 0) and not always_start:
            return self.expr(extent)
        return f"{self.expr(start)}{separator}{self.expr(stop_of(start, extent))}"

    def _block(self, stmt: Stmt, indent: str) -> Iterator[str]:
        assert isinstance(stmt, Block)
        yield f"{indent}with T.block({_quoted(stmt.name)}):"
        inner = indent + _INDENT
        for axis in stmt.axes:
            bounds = self._interval(axis.start, axis.extent)
            bounds = bounds if isinstance(axis.start, Const) and axis.start.value == 0 else f"({bounds})"
            yield f"{inner}{axis.var.name} = T.axis.{axis.kind}({bounds}, {self.expr(axis.value)})"
        if stmt.predicate != TRUE:
            yield f"{inner}T.where({self.expr(stmt.predicate)})"
        for name, regions in (("reads", stmt.reads), ("writes", stmt.writes)):
            if regions is not None:
                yield f"{inner}T.{name}({', '.join(map(self._region, regions))})"
        if stmt.annotations and instruction_of(stmt) is None:
            yield f"{inner}T.block_attr({dict(stmt.annotations)!r})"
        if stmt.init is not None:
            yield f"{inner}with T.init():"
            yield from self.stmt(stmt.init, inner + _INDENT)
        yield from self.stmt(stmt.body, inner)

    def _region(self, region: Region) -> str:
        return f"{region.buffer.name}[{', '.join(self._slice(a, n) for a, n in region.ranges) or '()'}]"

    def section(self, section: Section) -> str:
        """Text of a section, as a call passes it."""
        name = section.buffer.name
        if section.is_whole:
            return name
        axes = (
            self.expr(start) if extent is None else self._interval(start, extent, ":", always_start=True)
            for start, extent in section.ranges
        )
        return f"{name}[{', '.join(axes)}]"

    def _slice(self, start: Expr, extent: Expr) -> str:
        if is_const(extent, 1):
            return self.expr(start)
        return self._interval(start, extent, ":", always_start=True)


def _in_grid(loop: For) -> bool:
    return loop.kind == "serial" and not loop.annotations and isinstance(loop.start, Const) and loop.start.value == 0


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # JSON's escapes are Python's, except beyond 16 bits
