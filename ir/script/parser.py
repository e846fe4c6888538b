"""Programs of the dialect: from Python source text to functions. Never executes the text.

Past and current spellings of TVMScript are read where they mean the same; the first construct that is not supported is
named with its place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from ir.dtypes import DType, from_name
from ir.errors import ParseError, suggest
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Buffer,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LoopKind,
    Module,
    PrimFunc,
    Stmt,
    Store,
    Var,
    const,
    seq,
)
from ir.script.blocks import BLOCK_NOTES, BLOCKS, BlockParser
from ir.script.expressions import CALLS, ExprParser, dialect_name
from ir.script.scope import Constant, Scope, Source

MAX_BYTES = 2_000_000  # a hand-written kernel has a few thousand; Python's own parser needs seconds beyond this

_ALLOC = ("alloc_buffer", "sblock_alloc_buffer", "decl_buffer")
_LOOPS: dict[str, LoopKind] = {
    "range": "serial", "serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unroll",
    "thread_binding": "parallel",
}  # fmt: skip
_STATEMENTS = ("assume", "evaluate", "func_attr", *BLOCK_NOTES, *_ALLOC, "match_buffer", "grid", *_LOOPS, *BLOCKS)


def parse(text: str, file: str = "<string>") -> Module:
    """All kernels in a Python text: functions under `@T.prim_func`, also inside classes under `@T.module`.

    Other Python around them is ignored, except that names bound to literals at module level can be used in kernels.

    Raises:
        ParseError: no kernel, not Python, or not the dialect.
        VerifyError: the program is inconsistent.
    """
    if len(text) > MAX_BYTES:
        raise ParseError("too-large", f"{file} has {len(text)} characters; at most {MAX_BYTES} are read")
    tree = python_tree(text, file)
    source = Source.of(text, file)
    constants = module_constants(tree)
    found: list[PrimFunc] = []
    name = ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and is_decorated(node, ("prim_func",)):
            found.append(parse_function(node, source, constants))
        elif isinstance(node, ast.ClassDef) and is_decorated(node, ("module", "ir_module")):
            name = node.name
            local = {**constants, **module_constants(node)}
            found += [
                parse_function(f, source, local)
                for f in node.body
                if isinstance(f, ast.FunctionDef) and is_decorated(f, ("prim_func",))
            ]
    if not found:
        raise ParseError(
            "no-kernel",
            f"{file} contains no kernel",
            help="mark a function with @T.prim_func (from ir import script as T)",
        )
    seen: set[str] = set()
    for func in found:
        if func.name in seen:
            raise ParseError("duplicate-name", f"two kernels are called {func.name}", func.span, help="rename one")
        seen.add(func.name)
    return Module(tuple(found), name)


def python_tree(text: str, file: str) -> ast.Module:
    """Python's syntax tree of a text, with syntax errors in our form."""
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
        lines = text.splitlines()
        place = ast.Pass(lineno=line, col_offset=column, end_lineno=line, end_col_offset=column + 1)
        span = Source.of(text, file).span(place) if line <= len(lines) else None
        raise ParseError("syntax", f"{file} line {line} is not Python: {error.msg}", span) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ParseError("syntax", f"{file} cannot be read as Python: {error or type(error).__name__}") from error


def parse_function(node: ast.FunctionDef, source: Source, constants: Mapping[str, Constant]) -> PrimFunc:
    """One kernel from its definition."""
    try:
        return FunctionParser(source, constants).parse(node)
    except RecursionError as error:
        raise source.error(
            "too-deep", f"{node.name} is nested too deeply to be read", node, help="split the expression or the loops"
        ) from error


def parse_expr(text: str, names: Mapping[str, str]) -> Expr:
    """An expression over variables whose dtypes are given by name, e.g. `{"x": "int32"}`.

    Raises:
        ParseError: the text or a dtype is not understood.
    """
    source = Source.of(text, "<expression>")
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ParseError("syntax", f"{text!r} is not an expression: {error}") from error
    scope = Scope()
    for name, dtype in names.items():
        found = from_name(dtype)
        if found is None:
            raise ParseError(
                "unknown-dtype", f"`{dtype}` is not a dtype", help=suggest(dtype, (d.value for d in DType))
            )
        scope = scope.bind(name, Var(name, found))
    try:
        return ExprParser(source, scope).any(node)
    except RecursionError as error:
        raise ParseError("too-deep", "the expression is nested too deeply to be read") from error


def is_decorated(node: ast.FunctionDef | ast.ClassDef, names: tuple[str, ...]) -> bool:
    """Whether one of the decorators, called or not, ends in one of `names`."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        dotted = dialect_name(target)
        if dotted is not None and dotted.rpartition(".")[2] in names:
            return True
    return False


def module_constants(tree: ast.Module | ast.ClassDef) -> dict[str, Constant]:
    """Names bound to literals, or to arithmetic over such names, at the top of a module or class."""
    found: dict[str, Constant] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _constant(node.value, found)
            if value is not None:
                found[node.targets[0].id] = value
    return found


def _constant(node: ast.expr, known: Mapping[str, Constant]) -> Constant | None:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.Tuple(elts=elts):
            items = [_constant(e, known) for e in elts]
            return None if any(i is None for i in items) else tuple(i for i in items if i is not None)
        case ast.BinOp() | ast.UnaryOp():
            try:
                value = ExprParser(Source.of("", ""), Scope.of(known)).value(node)
            except ParseError:
                return None
            return value if isinstance(value, (bool, int, float)) else None
        case _:
            return None


class FunctionParser:
    def __init__(self, source: Source, constants: Mapping[str, Constant]) -> None:
        self.source = source
        self.constants = constants
        self.params: dict[str, Var | Buffer | None] = {}
        self.attrs: dict[str, object] = {}
        self.loops: dict[Var, tuple[Expr, Expr]] = {}  # start and extent of the loops parsed so far, for T.axis.remap

    # Signature -------------------------------------------------------------------------------------------------------

    def parse(self, node: ast.FunctionDef) -> PrimFunc:
        args = node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults:
            raise self.source.error("unsupported", "only plain parameters without defaults are supported", node)
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                self.attrs.update({k.arg: self._literal(k.value) for k in decorator.keywords if k.arg is not None})
        scope = Scope.of(self.constants)
        for arg in args.args:  # scalars first: shapes may use any of them
            dtype = self._scalar_dtype(arg)
            if dtype is not None:
                scope = self._add_param(arg, Var(arg.arg, dtype, self.source.span(arg)), scope)
            else:
                self._reserve(arg)
        for arg in args.args:
            if self.params[arg.arg] is None and not self._is_handle(arg):
                scope = self._add_param(arg, self._buffer_param(arg, scope), scope)
        body = self.statements(node.body, scope, top=True)
        params: list[Var | Buffer] = []
        for name, param in self.params.items():
            if param is None:
                raise self.source.error(
                    "unmatched-handle",
                    f"handle `{name}` is never given a shape",
                    node,
                    help=f'add `{name.upper()} = T.match_buffer({name}, (16,), "float32")` at the top',
                )
            params.append(param)
        return PrimFunc(node.name, tuple(params), body, tuple(self.attrs.items()), self.source.span(node))

    def _reserve(self, arg: ast.arg) -> None:
        if arg.arg in self.params:
            raise self.source.error("duplicate-name", f"two parameters are called {arg.arg}", arg)
        self.params[arg.arg] = None

    def _add_param(self, arg: ast.arg, param: Var | Buffer, scope: Scope) -> Scope:
        if self.params.get(arg.arg) is not None:
            raise self.source.error("duplicate-name", f"two parameters are called {arg.arg}", arg)
        self.params[arg.arg] = param
        return scope.bind(arg.arg, param)

    def _annotation(self, arg: ast.arg) -> ast.expr:
        note = arg.annotation
        if isinstance(note, ast.Constant) and isinstance(note.value, str):
            try:
                note = ast.copy_location(ast.parse(note.value, mode="eval").body, note)
            except SyntaxError:
                note = None
        if note is None:
            raise self.source.error(
                "annotation", f"parameter `{arg.arg}` has no type", arg, help='write `A: T.Buffer((16,), "float32")`'
            )
        return note

    def _scalar_dtype(self, arg: ast.arg) -> DType | None:
        name = dialect_name(self._annotation(arg))
        if name in ("int", "float", "bool_", "boolean"):
            return {"int": DType.INT32, "float": DType.FLOAT32}.get(name, DType.BOOL)
        return from_name(name) if name is not None else None

    def _is_handle(self, arg: ast.arg) -> bool:
        note = self._annotation(arg)
        return dialect_name(note.func if isinstance(note, ast.Call) else note) == "handle"

    def _buffer_param(self, arg: ast.arg, scope: Scope) -> Buffer:
        note = self._annotation(arg)
        target = note.func if isinstance(note, ast.Call) else note.value if isinstance(note, ast.Subscript) else note
        if dialect_name(target) != "Buffer" or isinstance(note, (ast.Name, ast.Attribute)):
            shown = ast.unparse(note)
            raise self.source.error(
                "annotation",
                f"`{shown}` is not a parameter type",
                arg,
                help='use T.Buffer((16, 4), "float32"), a dtype such as T.int32, or T.handle',
            )
        if isinstance(note, ast.Call):
            return self._buffer(arg.arg, note.args, note.keywords, scope, note)
        assert isinstance(note, ast.Subscript)
        parts = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
        typed = len(parts) >= 2 and self._names_dtype(parts[1], scope)
        return self._buffer(arg.arg, parts if typed else [note.slice], [], scope, note)

    def _names_dtype(self, node: ast.expr, scope: Scope) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str)
        name = dialect_name(node)
        return isinstance(name, str) and (from_name(name) is not None or isinstance(scope.bindings.get(name), str))

    def _buffer(
        self, name: str, args: list[ast.expr], keywords: list[ast.keyword], scope: Scope, node: ast.expr
    ) -> Buffer:
        given = dict(zip(("shape", "dtype"), args, strict=False)) | {k.arg: k.value for k in keywords if k.arg}
        if "shape" not in given:
            raise self.source.error("arguments", "a buffer needs a shape", node)
        parser = ExprParser(self.source, scope)
        dtype = parser.dtype_of(given["dtype"]) if "dtype" in given else DType.FLOAT32
        where = given.get("scope")
        memory = where.value if isinstance(where, ast.Constant) and isinstance(where.value, str) else "global"
        return Buffer(name, self._shape(given["shape"], parser), dtype, memory or "global", self.source.span(node))

    def _shape(self, node: ast.expr, parser: ExprParser) -> tuple[Expr, ...]:
        if isinstance(node, ast.Name) and isinstance(parser.scope.bindings.get(node.id), tuple):
            sizes = parser.scope.bindings[node.id]
            assert isinstance(sizes, tuple)
            return tuple(parser.typed(s, DType.INT32, node) for s in sizes if isinstance(s, (int, float)))
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        shape = tuple(parser.integer(p, "an extent") for p in parts)
        for extent, part in zip(shape, parts, strict=True):
            if isinstance(extent, Const) and extent.value < 0:
                raise self.source.error("extent", f"an extent must not be negative, found {extent.value}", part)
        return shape

    # Statements ------------------------------------------------------------------------------------------------------

    def statements(self, nodes: list[ast.stmt], scope: Scope, *, top: bool = False) -> Stmt:
        """A statement list; what follows a binding goes inside it."""
        done: list[Stmt] = []
        wrappers: list[tuple[int, Callable[[Stmt], Stmt]]] = []
        for node in nodes:
            bound = self._binding(node, scope, top=top)
            if bound is None:
                done.append(self.statement(node, scope))
                continue
            scope, wrap = bound
            if wrap is not None:
                wrappers.append((len(done), wrap))
        for start, wrap in reversed(wrappers):
            done[start:] = [wrap(seq(*done[start:]))]
        return seq(*done)

    def _binding(
        self, node: ast.stmt, scope: Scope, *, top: bool
    ) -> tuple[Scope, Callable[[Stmt], Stmt] | None] | None:
        """The new scope of a statement that binds a name, and what it wraps around the rest; None for others."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._bind_name(name, value, node, scope, top=top)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=note, value=value) if value is not None:
                dtype = self._let_dtype(note)
                return self._let(name, value, node, scope, dtype)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=note, value=None):
                dtype = self._let_dtype(note)
                if dtype is not None and top:
                    return scope.bind(name, Var(scope.fresh(name), dtype, self.source.span(node))), None
                raise self.source.error("unsupported", f"`{name}` is declared without a value", node)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                old = ast.copy_location(ast.Name(name, ast.Load()), node)
                return self._let(name, ast.copy_location(ast.BinOp(old, op, value), node), node, scope, None)
            case ast.Assign(targets=[ast.Tuple()]):
                raise self.source.error("unsupported", "tuple assignment is supported for block axes only", node)
            case _:
                return None

    def _let_dtype(self, note: ast.expr) -> DType | None:
        if isinstance(note, ast.Subscript) and dialect_name(note.value) == "let":
            note = note.slice
        name = dialect_name(note)
        if name == "let":
            return None
        return ExprParser(self.source, Scope()).dtype_of(note)

    def _bind_name(
        self, name: str, value: ast.expr, node: ast.stmt, scope: Scope, *, top: bool
    ) -> tuple[Scope, Callable[[Stmt], Stmt] | None]:
        if isinstance(value, ast.Call):
            callee = dialect_name(value.func)
            if callee in _ALLOC:
                return self._alloc(name, value, node, scope)
            if callee == "match_buffer":
                return self._match_buffer(name, value, scope, top=top), None
            dtype = self._shape_variable(callee, value)
            if dtype is not None:
                return scope.bind(name, Var(scope.fresh(name), dtype, self.source.span(node))), None
        return self._let(name, value, node, scope, None)

    def _shape_variable(self, callee: str | None, call: ast.Call) -> DType | None:
        """The dtype of `T.int32()` or `T.var("int32")`, which introduce a shape variable."""
        if callee == "var":
            return ExprParser(self.source, Scope()).dtype_of(call.args[0]) if call.args else DType.INT32
        no_value = not call.args and all(k.arg == "is_size_var" for k in call.keywords)
        dtype = from_name(callee) if callee is not None and no_value else None
        return dtype if dtype is not None and dtype.is_integer else None

    def _let(
        self, name: str, value: ast.expr, node: ast.stmt, scope: Scope, dtype: DType | None
    ) -> tuple[Scope, Callable[[Stmt], Stmt]]:
        self._check_rebinding(name, node, scope)
        parser = ExprParser(self.source, scope)
        expr = parser.any(value) if dtype is None else parser.of_dtype(value, dtype)
        var = Var(scope.fresh(name), expr.dtype, self.source.span(node))
        span = self.source.span(node)
        return scope.bind(name, var), lambda rest: Let(var, expr, rest, span)

    def _check_rebinding(self, name: str, node: ast.stmt, scope: Scope) -> None:
        bound = scope.bindings.get(name)
        if isinstance(bound, Buffer) or (isinstance(bound, Var) and name not in scope.local):
            raise self.source.error(
                "rebinding",
                f"`{name}` is bound outside this block, and bindings do not change",
                node,
                help="use another name, or a one-element buffer for a value that changes",
            )

    def _alloc(self, name: str, call: ast.Call, node: ast.stmt, scope: Scope) -> tuple[Scope, Callable[[Stmt], Stmt]]:
        self._check_rebinding(name, node, scope)
        buffer = self._buffer(scope.fresh(name), call.args, call.keywords, scope, call)
        span = self.source.span(node)
        return scope.bind(name, buffer), lambda rest: Alloc(buffer, rest, span)

    def _match_buffer(self, name: str, call: ast.Call, scope: Scope, *, top: bool) -> Scope:
        args = list(call.args)
        handle = args.pop(0) if args and isinstance(args[0], ast.Name) and args[0].id in self.params else None
        if not top or handle is None or not isinstance(handle, ast.Name) or self.params[handle.id] is not None:
            raise self.source.error(
                "unsupported", "T.match_buffer is supported for handle parameters, once each, at the top", call
            )
        buffer = self._buffer(scope.fresh(name), args, call.keywords, scope, call)
        self.params[handle.id] = buffer
        return scope.bind(name, buffer)

    def statement(self, node: ast.stmt, scope: Scope) -> Stmt:
        """One statement that binds nothing for those after it."""
        span = self.source.span(node)
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return SKIP
            case ast.Return(value=None):
                return SKIP
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return self._store(target, value, scope, span)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                read = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
                return self._store(target, ast.copy_location(ast.BinOp(read, op, value), node), scope, span)
            case ast.If(test=test, body=body, orelse=orelse):
                cond = ExprParser(self.source, scope).condition(test)
                return If(cond, self.statements(body, scope.inner()), self.statements(orelse, scope.inner()), span)
            case ast.For(orelse=[]):
                return self._for(node, scope)
            case ast.With():
                return BlockParser(self).parse(node, scope)
            case ast.Assert(test=test, msg=message):
                text = message.value if isinstance(message, ast.Constant) and isinstance(message.value, str) else ""
                return Assert(ExprParser(self.source, scope).condition(test), text, span)
            case ast.Expr(value=ast.Call() as call):
                return self._call(call, scope)
            case _:
                raise self._unsupported(node)

    def _unsupported(self, node: ast.stmt) -> ParseError:
        first = ast.unparse(node).splitlines()[0]
        hints: dict[type[ast.stmt], str] = {
            ast.While: "use a for loop with an extent",
            ast.Return: "kernels write their results into buffer parameters",
            ast.FunctionDef: "kernels cannot be nested",
        }
        hint = hints.get(type(node), "see docs/language.md for what a kernel may contain")
        return self.source.error("unsupported", f"`{first}` is not supported in a kernel", node, help=hint)

    def _store(self, target: ast.Subscript, value: ast.expr, scope: Scope, span: object) -> Stmt:
        parser = ExprParser(self.source, scope)
        buffer, indices = parser.place(target.value, target.slice, target)
        return Store(buffer, indices, parser.of_dtype(value, buffer.dtype), self.source.span(target))

    def _call(self, call: ast.Call, scope: Scope) -> Stmt:
        name = dialect_name(call.func)
        span = self.source.span(call)
        parser = ExprParser(self.source, scope)
        match name:
            case "assume":
                parser.in_assume = True
                return Assume(parser.condition(self.only(call, "assume")), span)
            case "evaluate":
                return Evaluate(parser.any(self.only(call, "evaluate")), span)
            case "func_attr":
                self.attrs.update(self.dictionary(self.only(call, "func_attr")))
                return SKIP
            case _ if name is not None and name in BLOCK_NOTES:
                raise self.source.error("unsupported", f"T.{name} stands at the head of a T.block", call)
            case _ if name in CALLS:
                return Evaluate(parser.any(call), span)
            case _:
                shown = ast.unparse(call.func)
                near = suggest((name or shown).rpartition(".")[2], (*_STATEMENTS, *CALLS))
                raise self.source.error(
                    "unknown-function", f"`{shown}` is not a statement of the dialect", call, help=near
                )

    def only(self, call: ast.Call, name: str) -> ast.expr:
        if len(call.args) != 1 or call.keywords:
            raise self.source.error("arguments", f"{name} takes one argument, {len(call.args)} given", call)
        return call.args[0]

    def _literal(self, node: ast.expr) -> object:
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return ast.unparse(node)

    def dictionary(self, node: ast.expr) -> dict[str, object]:
        if not isinstance(node, ast.Dict):
            raise self.source.error("arguments", "expected a dictionary of attributes", node)
        return {
            str(self._literal(k)): self._literal(v)
            for k, v in zip(node.keys, node.values, strict=True)
            if k is not None
        }

    # Loops -----------------------------------------------------------------------------------------------------------

    def _for(self, node: ast.For, scope: Scope) -> Stmt:
        call = node.iter
        name = dialect_name(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or (name != "grid" and name not in _LOOPS):
            near = suggest(name, (*_LOOPS, "grid")) if name is not None else ""
            raise self.source.error(
                "unsupported",
                f"`{ast.unparse(call)}` is not a loop range",
                call,
                help=near or "use range, T.serial, T.grid, T.parallel, T.vectorized or T.unroll",
            )
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if len(names) != len(targets):
            raise self.source.error("unsupported", "loop variables must be plain names", node.target)
        if name == "grid":
            return self._grid(names, call, node, scope)
        if len(names) != 1:
            raise self.source.error("arguments", f"{name} binds one variable, {len(names)} given", node.target)
        assert name is not None
        start, extent = self._range(call, name, scope)
        notes = self._annotations(call)
        return self._nest([(names[0], start, extent)], _LOOPS[name], notes, node, scope)

    def _grid(self, names: list[str], call: ast.Call, node: ast.For, scope: Scope) -> Stmt:
        if len(names) != len(call.args):
            raise self.source.error(
                "arguments", f"T.grid has {len(call.args)} extents for {len(names)} variables", node.target
            )
        parser = ExprParser(self.source, scope)
        extents = [parser.integer(a, "an extent") for a in call.args]
        ranges: list[tuple[str, Expr, Expr]] = [(n, const(0, e.dtype), e) for n, e in zip(names, extents, strict=True)]
        return self._nest(ranges, "serial", (), node, scope)

    def _range(self, call: ast.Call, name: str, scope: Scope) -> tuple[Expr, Expr]:
        named = {k.arg: k.value for k in call.keywords}
        bounds = [*call.args, *(named[k] for k in ("start", "stop", "extent") if k in named)]
        if len(bounds) == 3 and isinstance(bounds[2], ast.Constant) and bounds[2].value == 1:
            bounds.pop()
        if len(bounds) not in (1, 2):
            raise self.source.error(
                "arguments", f"{name} takes an extent, or start and stop, {len(bounds)} arguments given", call
            )
        parser = ExprParser(self.source, scope)
        return self.interval(parser, bounds, call)

    def interval(self, parser: ExprParser, bounds: list[ast.expr], node: ast.AST) -> tuple[Expr, Expr]:
        """Start and extent of `[extent]` or `[start, stop]`."""
        if len(bounds) == 1:
            extent = parser.integer(bounds[0], "an extent")
            return const(0, extent.dtype), extent
        low, high = parser.value(bounds[0]), parser.value(bounds[1])
        extent = parser.typed(parser.binary("sub", high, low, node), DType.INT32, node)
        start = parser.typed(low, extent.dtype, node)
        if start.dtype is DType.INT32 and extent.dtype is DType.INT64:
            start = Cast(DType.INT64, start, start.span)
        for expr, bound in ((start, bounds[0]), (extent, bounds[-1])):
            if not expr.dtype.is_integer:
                raise self.source.error("dtype-mismatch", f"a loop bound must be an integer, found {expr.dtype}", bound)
        match extent:  # `start + n` as stop gives n back, so that printing can round-trip
            case Binary(op="sub", lhs=Binary(op="add", lhs=a, rhs=n), rhs=b) if a.same(b):
                return start, n
            case _:
                return start, extent

    def _annotations(self, call: ast.Call) -> tuple[tuple[str, object], ...]:
        notes: dict[str, object] = {}
        for keyword in call.keywords:
            if keyword.arg == "annotations":
                notes.update(self.dictionary(keyword.value))
            elif keyword.arg == "thread":
                notes["thread"] = self._literal(keyword.value)
        return tuple(notes.items())

    def _nest(
        self,
        ranges: list[tuple[str, Expr, Expr]],
        kind: LoopKind,
        notes: tuple[tuple[str, object], ...],
        node: ast.For,
        scope: Scope,
    ) -> Stmt:
        inner, variables = scope.inner(), list[Var]()
        for name, start, extent in ranges:
            var = Var(inner.fresh(name), extent.dtype, self.source.span(node.target))
            variables.append(var)
            self.loops[var] = (start, extent)
            inner = inner.bind(name, var).inner()
        stmt = self.statements(node.body, inner)
        span = self.source.span(node.iter)
        for var, (_, start, extent) in zip(reversed(variables), reversed(ranges), strict=True):
            stmt = For(var, start, extent, stmt, kind, notes, span)
        return stmt
