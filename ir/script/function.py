"""One kernel: its signature, statements and loops. Blocks are read by `blocks`, expressions by `expressions`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from msgspec import Struct

from ir.dtypes import DType, from_name
from ir.errors import ParseError, Span, suggest
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Buffer,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LoopKind,
    PrimFunc,
    Stmt,
    Store,
    Var,
    const,
    seq,
)
from ir.printing.intervals import extent_of
from ir.program.scopes import NESTED, allocated, flat, nesting
from ir.script.blocks import BLOCK_NOTES, BLOCKS, BlockParser
from ir.script.buffers import annotation, buffer_param, declared, is_handle, scalar_dtype, view_of
from ir.script.expressions import CALLS, MAX_DEPTH, ExprParser, dialect_name
from ir.script.hints import ELSEWHERE, in_place_of, suggest_name
from ir.script.kernels import Kernels, call_of
from ir.script.scope import Constant, Scope, Source, View
from ir.script.values import hashable
from ir.syntax import python_syntax
from ir.traverse import all_exprs, is_const, shape_vars

ALLOC = ("alloc_buffer", "sblock_alloc_buffer", "decl_buffer")
MAX_LINKS = 100  # of a sum or product that is one expression: half of the levels that it may be nested
_PART = "<partial>"  # what stands for the first part of a longer one: no name that an author can write
_LETS = ("LetStmt", "let", "Let")
_BINDS = ("bind", "Bind", "meta_var")  # `x = T.bind(e)` is what `x = e` is
_LOOPS: dict[str, LoopKind] = {
    "range": "serial", "serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unroll",
    "thread_binding": "parallel",
}  # fmt: skip
_LOOP_OPTIONS = ("start", "stop", "extent", "annotations", "thread", "step")
_STATEMENTS = (
    "assume",
    "evaluate",
    "bind",
    "func_attr",
    *BLOCK_NOTES,
    *ALLOC,
    "match_buffer",
    "grid",
    *_LOOPS,
    *BLOCKS,
)
Wrap = Callable[[Stmt], Stmt]


class _Allocation(Struct, frozen=True):
    """The allocation of a buffer around what follows."""

    buffer: Buffer
    span: Span | None

    def __call__(self, rest: Stmt) -> Stmt:
        return Alloc(self.buffer, rest, self.span)


class FunctionParser:
    """Parses one function definition."""

    def __init__(self, source: Source, constants: Mapping[str, Constant], kernels: Kernels) -> None:
        self.source = source
        self.kernels = kernels  # those that it can call
        self.constants = constants
        self.params: dict[str, Var | Buffer | None] = {}
        self.attrs: dict[str, object] = {}
        self.loops: dict[Var, tuple[Expr, Expr]] = {}  # start and extent of the loops parsed so far, for T.axis.remap
        self.sizes: list[Var] = []  # declared shape variables
        self.depth = 0

    # Signature -------------------------------------------------------------------------------------------------------

    def parse(self, node: ast.FunctionDef) -> PrimFunc:
        """The kernel that a definition describes."""
        args = node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults:
            raise self._wrong_parameters(node)
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                self.attrs.update({k.arg: self._literal(k.value) for k in decorator.keywords if k.arg is not None})
        scope = Scope.of(self.constants)
        notes = {arg.arg: annotation(arg, self.source) for arg in args.args}
        for arg in args.args:  # scalars first: shapes may use any of them
            self.params[arg.arg] = None
            dtype = scalar_dtype(notes[arg.arg])
            if dtype is not None:
                scope = self._add_param(arg, Var(arg.arg, dtype, self.source.span(arg)), scope)
        for arg in args.args:
            if self.params[arg.arg] is None and not is_handle(notes[arg.arg]):
                buffer = buffer_param(arg, notes[arg.arg], ExprParser(self.source, scope))
                scope = self._add_param(arg, buffer, scope)
        text = ast.get_docstring(node)
        if text and "jax" not in self.attrs:  # an instruction has options only
            self.attrs["docstring"] = text
        body = self._in_scopes(self.statements(node.body, scope, top=True), node)
        func = PrimFunc(node.name, self._matched(node), body, tuple(self.attrs.items()), self.source.span(node))
        self._check_sizes(func)
        return func

    def _wrong_parameters(self, node: ast.FunctionDef) -> ParseError:
        args = node.args
        if args.defaults:
            param = [*args.posonlyargs, *args.args][-len(args.defaults)].arg
            message = f"`{param}` has a default, and each call of a kernel gives all that it needs"
            hint = f"leave the default out, or name the number outside of the kernel, as in {param.upper()} = 3"
            return self.source.error("unsupported", message, args.defaults[0], help=hint)
        odd = args.vararg or args.kwarg or next(iter((*args.posonlyargs, *args.kwonlyargs)))
        message = f"`{odd.arg}` is no plain parameter"
        return self.source.error("unsupported", message, odd, help="give each parameter a name, without *, ** or /")

    def _add_param(self, arg: ast.arg, param: Var | Buffer, scope: Scope) -> Scope:
        self.params[arg.arg] = param
        return scope.bind(arg.arg, param)

    def _matched(self, node: ast.FunctionDef) -> tuple[Var | Buffer, ...]:
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
        return tuple(params)

    def _check_sizes(self, func: PrimFunc) -> None:
        """A declared shape variable gets its value from a shape; elsewhere it has none."""
        loose = set(self.sizes) - set(shape_vars(func))
        if not loose:
            return
        for expr in all_exprs(func.body):
            if isinstance(expr, Var) and expr in loose:
                raise ParseError(
                    "unknown-name",
                    f"`{expr.name}` has no value: it is declared, but no parameter has it in its shape",
                    expr.span,
                    help="make it a parameter, or assign it a value",
                )

    # Statements ------------------------------------------------------------------------------------------------------

    def statements(self, nodes: list[ast.stmt], scope: Scope, *, top: bool = False) -> Stmt:
        """A statement list; what follows a binding goes inside it."""
        done: list[Stmt] = []
        wrappers: list[tuple[int, Wrap]] = []
        outer = self.depth
        if top and nodes and isinstance(nodes[-1], ast.Return) and nodes[-1].value is None:
            nodes = nodes[:-1]
        self._deeper(nodes[0] if nodes else None)
        for node in nodes:
            self._gives_a_value(node)
            bound = self._binding(node, scope, top=top)
            if bound is None:
                done.append(self.statement(node, scope))
                continue
            scope, wraps = bound
            for wrap in wraps:
                if not isinstance(wrap, _Allocation):
                    self._deeper(node)
                wrappers.append((len(done), wrap))
        for start, wrap in reversed(wrappers):
            done[start:] = [wrap(seq(*done[start:]))]
        self.depth = outer
        return seq(*done)

    def _gives_a_value(self, node: ast.stmt) -> None:
        """Refuse calls of kernels where a statement needs a value."""
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or node.value is None:
            return
        for call in ast.walk(node.value):
            name = self.kernels.named(call.func) if isinstance(call, ast.Call) else None
            if name is not None and name in self.kernels:
                message = f"`{name}` is a kernel, which gives no value"
                hint = f"make the call a statement, and pass a buffer for each result: {name}(...)"
                raise self.source.error("no-value", message, call, help=hint)

    def _in_scopes(self, body: Stmt, node: ast.stmt) -> Stmt:
        """A body whose local buffers, where they are many, are local to the statements that use them."""
        local, items = flat(body)
        body = body if len(local) <= NESTED else allocated(local, items)
        self.depth += nesting(body)
        self._deeper(node)
        return body

    def _deeper(self, node: ast.stmt | None) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH and node is not None:
            message = f"statements and names are nested more than {MAX_DEPTH} levels deep"
            raise self.source.error("too-deep", message, node, help="use a loop, or a buffer in place of many names")

    def _binding(self, node: ast.stmt, scope: Scope, *, top: bool) -> tuple[Scope, list[Wrap]] | None:
        """The new scope of a statement that binds names, and what it wraps around the rest; None for others."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._bind_name(name, value, node, scope, top=top)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                return self._bind_names(names, values, node, scope)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=note, value=value) if value is not None:
                if isinstance(value, ast.Call) and dialect_name(value.func) in ALLOC:
                    return self._bind_name(name, value, node, scope, top=top)
                return self._let(name, value, node, scope, self._let_dtype(note))
            case ast.AnnAssign(target=ast.Name(id=name), value=None):
                raise self.source.error("unsupported", f"`{name}` is declared without a value", node)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                old = ast.copy_location(ast.Name(name, ast.Load()), node)
                return self._let(name, ast.copy_location(ast.BinOp(old, op, value), node), node, scope, None)
            case _:
                return None

    def _let_dtype(self, note: ast.expr) -> DType | None:
        if isinstance(note, ast.Subscript) and dialect_name(note.value) == "let":
            note = note.slice
        if dialect_name(note) == "let":
            return None
        return scalar_dtype(note) or ExprParser(self.source).dtype_of(note)

    def _bind_name(
        self, name: str, value: ast.expr, node: ast.stmt, scope: Scope, *, top: bool
    ) -> tuple[Scope, list[Wrap]]:
        if isinstance(value, ast.Call):
            callee = dialect_name(value.func)
            if callee in ALLOC:
                inner, wrap = self.alloc(name, value, node, scope)
                return inner, [wrap]
            if callee == "match_buffer":
                return self._match_buffer(name, value, scope, top=top), []
            dtype = self._shape_variable(callee, value)
            if dtype is not None:
                return self._declare(name, dtype, node, scope), []
        return self._let(name, value, node, scope, None)

    def _bind_names(
        self, targets: list[ast.expr], values: list[ast.expr], node: ast.stmt, scope: Scope
    ) -> tuple[Scope, list[Wrap]]:
        """`n, m = T.int32(), T.int32()`, or several lets whose values all see the scope before."""
        inner, wraps = scope, list[Wrap]()
        for target, value in zip(targets, values, strict=True):
            if not isinstance(target, ast.Name):
                raise self.source.error("unsupported", "only plain names can be assigned together", target)
            dtype = self._shape_variable(dialect_name(value.func), value) if isinstance(value, ast.Call) else None
            if dtype is not None:
                inner = self._declare(target.id, dtype, node, inner)
                continue
            expr = ExprParser(self.source, scope).any(self._bound(value))
            inner, wrap = self._bind_let(target.id, expr, node, inner)
            wraps.append(wrap)
        return inner, wraps

    def _shape_variable(self, callee: str | None, call: ast.Call) -> DType | None:
        """The dtype of `T.int32()` or `T.var("int32")`, which introduce a shape variable."""
        if callee == "var":
            return ExprParser(self.source).dtype_of(call.args[0]) if call.args else DType.INT32
        no_value = not call.args and all(k.arg == "is_size_var" for k in call.keywords)
        dtype = from_name(callee) if callee is not None and no_value else None
        return dtype if dtype is not None and dtype.is_integer else None

    def _declare(self, name: str, dtype: DType, node: ast.stmt, scope: Scope) -> Scope:
        self._check_rebinding(name, node, scope)
        var = Var(scope.fresh(name), dtype, self.source.span(node))
        self.sizes.append(var)
        return scope.bind(name, var)

    def _let(
        self, name: str, value: ast.expr, node: ast.stmt, scope: Scope, dtype: DType | None
    ) -> tuple[Scope, list[Wrap]]:
        value, scope, wraps = self._in_steps(self._bound(value), scope)
        parser = ExprParser(self.source, scope)
        expr = parser.any(value) if dtype is None else parser.of_dtype(value, dtype)
        inner, wrap = self._bind_let(name, expr, node, scope)
        return inner, [*wraps, wrap]

    def _bound(self, value: ast.expr) -> ast.expr:
        """What a name is bound to by `T.bind(e)`, which is `e`."""
        if isinstance(value, ast.Call) and dialect_name(value.func) in _BINDS:
            return self.only(value, dialect_name(value.func) or "bind")
        return value

    def _bind_let(self, name: str, value: Expr, node: ast.stmt, scope: Scope) -> tuple[Scope, Wrap]:
        self._check_rebinding(name, node, scope)
        span = self.source.span(node)
        var = Var(scope.fresh(name), value.dtype, span)
        return scope.bind(name, var), lambda rest: Let(var, value, rest, span)

    def _check_rebinding(self, name: str, node: ast.AST, scope: Scope, *, buffers: bool = False) -> None:
        bound = scope.bindings.get(name)
        local = name in scope.local
        if isinstance(bound, (Buffer, View)) and not (buffers and local):
            hint = f"store to an element, as in {name}[...] = ..., or use another name"
            raise self.source.error("rebinding", f"`{name}` is a buffer, and bindings do not change", node, help=hint)
        if isinstance(bound, Var) and not local:
            raise self.source.error(
                "rebinding",
                f"`{name}` is bound outside this block, and bindings do not change",
                node,
                help="use another name, or a one-element buffer for a value that changes",
            )

    def alloc(self, name: str, call: ast.Call, node: ast.stmt, scope: Scope) -> tuple[Scope, Wrap]:
        """The scope with an allocated buffer, and the allocation around what follows."""
        self._check_rebinding(name, node, scope, buffers=True)
        buffer = declared(scope.fresh(name), call.args, call.keywords, ExprParser(self.source, scope), call)
        span = self.source.span(node)
        return scope.bind(name, buffer), _Allocation(buffer, span)

    def declaration(self, node: ast.stmt, scope: Scope) -> Scope | None:
        """The scope after a statement that declares views or shape variables, which are no statements; else None."""
        values = node.value.elts if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) else None
        values = [node.value] if isinstance(node, ast.Assign) and values is None else values
        if not values or not all(isinstance(v, ast.Call) and self._declares(v) for v in values):
            return None
        found = self._binding(node, scope, top=False)
        return None if found is None or found[1] else found[0]

    def _declares(self, call: ast.Call) -> bool:
        callee = dialect_name(call.func)
        return callee == "match_buffer" or self._shape_variable(callee, call) is not None

    def _match_buffer(self, name: str, call: ast.Call, scope: Scope, *, top: bool) -> Scope:
        args = list(call.args)
        source = args[0].value if args and isinstance(args[0], ast.Subscript) else args[0] if args else None
        if isinstance(source, ast.Name) and isinstance(scope.bindings.get(source.id), (Buffer, View)):
            self._check_rebinding(name, call, scope, buffers=True)
            return scope.hide(name, view_of(args[0], args[1:], call, ExprParser(self.source, scope), self.interval))
        handle = args.pop(0) if args and isinstance(args[0], ast.Name) and args[0].id in self.params else None
        if not top or not isinstance(handle, ast.Name) or self.params[handle.id] is not None:
            raise self.source.error(
                "unsupported",
                "T.match_buffer is supported for regions of buffers, and for handle parameters, once each, at the top",
                call,
                help="name a buffer, as in T.match_buffer(A[0:16, 0:16], (16, 16))",
            )
        buffer = declared(scope.fresh(name), args, call.keywords, ExprParser(self.source, scope), call)
        self.params[handle.id] = buffer
        return scope.bind(name, buffer)

    def statement(self, node: ast.stmt, scope: Scope) -> Stmt:
        """One statement that binds nothing for those after it."""
        span = self.source.span(node)
        parser = ExprParser(self.source, scope)
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return SKIP
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return self._store(target, value, scope)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                read = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
                return self._store(target, ast.copy_location(ast.BinOp(read, op, value), node), scope)
            case ast.If(test=test, body=body, orelse=orelse):
                cond = parser.condition(test)
                return If(cond, self.statements(body, scope.inner()), self.statements(orelse, scope.inner()), span)
            case ast.For(orelse=[]):
                return self._for(node, scope)
            case ast.With():
                return self._with(node, scope)
            case ast.Assert(test=test, msg=None | ast.Constant(value=str()) as message):
                text = message.value if isinstance(message, ast.Constant) and isinstance(message.value, str) else ""
                return Assert(parser.condition(test), text, span)
            case ast.Expr(value=ast.Call() as call):
                return self._call(call, parser)
            case _:
                raise self._unsupported(node)

    def _unsupported(self, node: ast.stmt) -> ParseError:
        first = ast.unparse(node).splitlines()[0]
        hint = in_place_of(node)
        return self.source.error("unsupported", f"`{first}` is not supported in a kernel", node, help=hint)

    def _store(self, target: ast.Subscript, value: ast.expr, scope: Scope) -> Stmt:
        value, scope, wraps = self._in_steps(value, scope)
        parser = ExprParser(self.source, scope)
        buffer, indices = parser.place(target.value, target.slice, target)
        stmt: Stmt = Store(buffer, indices, parser.stored(value, buffer.dtype), self.source.span(target))
        for wrap in reversed(wraps):
            stmt = wrap(stmt)
        return stmt

    def _in_steps(self, value: ast.expr, scope: Scope) -> tuple[ast.expr, Scope, list[Wrap]]:
        """The value of a statement with names for the first parts of a long sum or product: none nests deeply."""
        spine: list[ast.BinOp] = []
        node = value
        while isinstance(node, ast.BinOp):
            spine.append(node)
            node = node.left
        wraps: list[Wrap] = []
        while len(spine) > MAX_LINKS:
            spine, first = spine[:-MAX_LINKS], spine[-MAX_LINKS]
            known = ExprParser(self.source, scope).value(first)
            if isinstance(known, Expr):
                var = Var(scope.fresh("partial"), known.dtype, self.source.span(first))
                scope, value = scope.bind(_PART, var), ast.Name(_PART, ast.Load())
                wraps.append(partial(Let, var, known, span=var.span))
            elif isinstance(known, (bool, int, float)):
                value = ast.Constant(known)
            else:
                return value, scope, wraps
            value = ast.copy_location(value, first)
            for k in range(len(spine) - 1, -1, -1):
                value = spine[k] = ast.copy_location(ast.BinOp(value, spine[k].op, spine[k].right), spine[k])
        return value, scope, wraps

    def _call(self, call: ast.Call, parser: ExprParser) -> Stmt:
        kernel = self.kernels.named(call.func)
        if kernel is not None:
            return call_of(self.kernels.callee(kernel, call.func, self.source), call, parser, self.interval)
        name = dialect_name(call.func)
        span = self.source.span(call)
        match name:
            case "assume":
                parser.in_assume = True
                return Assume(parser.condition(self.only(call, "assume")), span)
            case "evaluate":
                value = self.only(call, "evaluate")
                if isinstance(value, ast.Call) and (
                    dialect_name(value.func) == "assume" or self.kernels.named(value.func) is not None
                ):
                    return self._call(value, parser)
                return Evaluate(parser.any(value), span)
            case "func_attr":
                self.attrs.update(self.dictionary(self.only(call, "func_attr")))
                return SKIP
            case "bind" | "Bind":
                message = f"T.{name} binds no name here"
                raise self.source.error("unsupported", message, call, help="write x = T.bind(...)")
            case _ if name is not None and name in BLOCK_NOTES:
                hint = "put it first in the body of a `with T.block(...)`"
                raise self.source.error("unsupported", f"T.{name} stands at the head of a T.block", call, help=hint)
            case _ if name is not None and name in CALLS:
                return Evaluate(parser.any(call), span)
            case _:
                raise self._unknown(call, name)

    def _unknown(self, call: ast.Call, name: str | None) -> ParseError:
        """The error of a call that is neither of a kernel nor a statement of the dialect."""
        shown, known = ast.unparse(call.func), self.kernels.others
        if not (isinstance(call.func, ast.Name) and known):
            message, hint = "is not a statement of the dialect", suggest_name(name or shown, (*_STATEMENTS, *CALLS))
        else:
            message = "is no kernel of the module, nor a statement of the dialect"
            hint = suggest(shown, known) or f"the others are {', '.join(known)}"
        return self.source.error("unknown-function", f"`{shown}` {message}", call, help=hint)

    def only(self, call: ast.Call, name: str) -> ast.expr:
        """The argument of a call that takes one."""
        if len(call.args) != 1 or call.keywords:
            given = len(call.args) + len(call.keywords)
            raise self.source.error("arguments", f"T.{name} takes one argument, {given} given", call)
        return call.args[0]

    def _with(self, node: ast.With, scope: Scope) -> Stmt:
        """A block, or a binding for the body alone: `with T.LetStmt(value) as x`, `with T.alloc_buffer(...) as A`."""
        item = node.items[0]
        call = item.context_expr
        name = dialect_name(call.func) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and len(node.items) == 1:
            if name in BLOCKS and item.optional_vars is None:
                return BlockParser(self).parse(node, call, scope)
            inner, target = scope.inner(), item.optional_vars
            if name in _LETS:
                target = next((k.value for k in call.keywords if k.arg == "var"), target)
            if isinstance(target, ast.Name) and name in (*ALLOC, *_LETS):
                # The name is new: it hides one of outside, which printing tells apart.
                inner.bindings = {k: v for k, v in inner.bindings.items() if k != target.id}
                if name in ALLOC:
                    inner, wrap = self.alloc(target.id, call, node, inner)
                elif len(call.args) == 1:
                    value = ExprParser(self.source, scope).any(call.args[0])
                    inner, wrap = self._bind_let(target.id, value, node, inner)
                else:
                    raise self.source.error("arguments", f"T.{name} takes one value", call)
                return wrap(self.statements(node.body, inner))
        shown = ast.unparse(node).splitlines()[0].removesuffix(":")
        hint = ELSEWHERE.get(name or "", 'blocks are written `with T.block("name"):`, with T.axis for what they bind')
        raise self.source.error("unsupported", f"`{shown}` is not supported", node, help=hint)

    # Attributes ------------------------------------------------------------------------------------------------------

    def _literal(self, node: ast.expr) -> object:
        """An attribute's value; what is no plain literal is kept as its text."""
        try:
            value = hashable(ast.literal_eval(node))
            same = ast.literal_eval(python_syntax(repr(value), "eval")) == value
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            same, value = False, None
        return value if same else ast.unparse(node)

    def dictionary(self, node: ast.expr) -> dict[str, object]:
        """Attributes from a dictionary display."""
        if not isinstance(node, ast.Dict):
            raise self.source.error("arguments", "expected a dictionary of attributes", node, help='{"name": value}')
        return {
            str(self._literal(k)): self._literal(v)
            for k, v in zip(node.keys, node.values, strict=True)
            if k is not None
        }

    # Loops -----------------------------------------------------------------------------------------------------------

    def _for(self, node: ast.For, scope: Scope) -> Stmt:
        call = node.iter
        name = dialect_name(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or name is None or (name != "grid" and name not in _LOOPS):
            near = suggest(name, (*_LOOPS, "grid")) if name is not None else ""
            near = near if "`range`" in near else near.replace("`", "`T.", 1)
            raise self.source.error(
                "unsupported",
                f"`{ast.unparse(call)}` is not a loop range",
                call,
                help=near or "use range, T.serial, T.grid, T.parallel, T.vectorized or T.unroll",
            )
        targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        if name == "grid":
            return self._grid(targets, call, node, scope)
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if len(names) != len(targets):
            raise self.source.error("unsupported", "loop variables must be plain names", node.target)
        if len(names) != 1:
            raise self.source.error("arguments", f"{name} binds one variable, {len(names)} given", node.target)
        if name == "range":
            self._check_runs(call)
        start, extent, step, notes = self._range(call, name, ExprParser(self.source, scope))
        if step != 1:
            return self._strided(names[0], (start, extent, step), _LOOPS[name], notes, node, scope)
        return self._nest([(names[0], start, extent)], _LOOPS[name], notes, node, scope)

    def _check_runs(self, call: ast.Call) -> None:
        """Refuse numbers that leave a loop nothing below zero: it is meant to count down, or a slip."""
        try:
            first, *rest = [ast.literal_eval(a) for a in call.args[:2]]
        except (ValueError, TypeError):  # not all are numbers
            return
        down = len(call.args) == 3
        if not down and isinstance(first, int) and (rest[0] - first if rest else first) < 0:
            message = f"`{ast.unparse(call)}` is empty: its loop would never run"
            hint = "to count down from 7 to 0, write `range(7, -1, -1)`"
            raise self.source.error("empty-loop", message, call, help=hint)

    def _grid(self, targets: list[ast.expr], call: ast.Call, node: ast.For, scope: Scope) -> Stmt:
        """Nested loops; a starred name, or a single one, stands for all variables that have no name of their own."""
        parser = ExprParser(self.source, scope)
        extents = [parser.integer(a, "an extent") for a in parser.spread(call.args)]
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and len(extents) > 1:
            targets = [ast.copy_location(ast.Starred(targets[0], ast.Store()), targets[0])]
        inner = [t.value if isinstance(t, ast.Starred) else t for t in targets]
        starred = [k for k, t in enumerate(targets) if isinstance(t, ast.Starred)]
        names = [t.id for t in inner if isinstance(t, ast.Name)]
        if len(names) != len(targets) or len(starred) > 1:
            raise self.source.error(
                "unsupported", "loop variables must be plain names, one of them starred", node.target
            )
        more = len(extents) - len(names)
        if call.keywords or more < -len(starred) or (more > 0 and not starred):
            raise self.source.error(
                "arguments", f"T.grid has {len(extents)} extents for {len(names)} variables", node.target
            )
        groups: dict[str, tuple[int, int]] = {}
        for k in starred:
            groups[names[k]] = (k, k + more + 1)
            names[k : k + 1] = [f"{names[k]}_{n}" for n in range(more + 1)]
        ranges: list[tuple[str, Expr, Expr]] = [(n, const(0, e.dtype), e) for n, e in zip(names, extents, strict=True)]
        return self._nest(ranges, "serial", (), node, scope, groups)

    def _range(
        self, call: ast.Call, name: str, parser: ExprParser
    ) -> tuple[Expr, Expr, int, tuple[tuple[str, object], ...]]:
        """Start, extent, step and annotations of a loop."""
        named = {k.arg: k.value for k in call.keywords}
        args = list(call.args)
        notes: dict[str, object] = {}
        for option, value in named.items():
            if option not in _LOOP_OPTIONS:
                near = suggest(str(option), _LOOP_OPTIONS)
                raise self.source.error("arguments", f"{name} has no option `{option}`", value, help=near)
        if name == "thread_binding" and args and isinstance(args[-1], ast.Constant) and isinstance(args[-1].value, str):
            notes["thread"] = self._literal(args.pop())
        given = args.pop() if len(args) == 3 else named.get("step")
        step = 1 if given is None else self._step(given, parser)
        bounds = (
            [named[k] for k in ("start",) if k in named] + args + [named[k] for k in ("stop", "extent") if k in named]
        )
        if len(bounds) not in (1, 2) or (len(bounds) == 1 and "start" in named):
            message = f"{name} takes an extent, or start and stop, {len(bounds)} arguments given"
            raise self.source.error("arguments", message, call, help="as in T.serial(16) or T.serial(2, 16)")
        down = step < 0
        if down and len(bounds) == 1:
            raise self.source.error("arguments", f"{name} counts down from a start, which is not given", call)
        start, extent = self.interval(parser, bounds[::-1] if down else bounds, call)
        if down:
            start = parser.integers(bounds, "a loop bound", call)[0]
        if "annotations" in named:
            notes.update(self.dictionary(named["annotations"]))
        if "thread" in named:
            notes["thread"] = self._literal(named["thread"])
        return start, extent, step, tuple(notes.items())

    def _step(self, node: ast.expr, parser: ExprParser) -> int:
        """A number of which the sign says whether a loop counts up or down."""
        if isinstance(node, ast.Constant) and node.value is None:
            return 1
        value = parser.value(node)
        step = value.value if isinstance(value, Const) and value.dtype.is_integer else value
        if isinstance(step, bool) or not isinstance(step, int) or step == 0:
            hint = "loop over the number of iterations, and compute the value in the body"
            raise self.source.error("unsupported", "the step of a loop is a number other than zero", node, help=hint)
        return step

    def _strided(
        self,
        name: str,
        bounds: tuple[Expr, Expr, int],
        kind: LoopKind,
        notes: tuple[tuple[str, object], ...],
        node: ast.For,
        scope: Scope,
    ) -> Stmt:
        """A loop over the number of steps, with a name for `start + steps * step`."""
        start, extent, step = bounds
        parser, span = ExprParser(self.source, scope), self.source.span(node.target)
        dtype, size = extent.dtype, abs(step)
        by = parser.typed(size, dtype, node.iter)
        if isinstance(extent, Const):
            trips: Expr = const(-(-int(extent.value) // size), dtype)
        else:
            up = Binary("add", extent, const(size - 1, dtype)) if size > 1 else extent
            trips = Binary("floordiv", up, by, span) if size > 1 else extent
        count = Var(scope.fresh(f"{name}_step"), dtype, span)
        inner = Scope(scope.bindings, scope.taken | {count.name})
        var = Var(inner.fresh(name), dtype, span)
        first = start if step > 0 else Binary("add", Binary("sub", start, extent), const(1, dtype))
        self.loops[var] = (first, extent)
        self._deeper(node)
        self._deeper(node)
        body = self.statements(node.body, inner.bind(name, var).inner())
        self.depth -= 2
        steps = Binary("mul", count, by, span) if size > 1 else count
        from_zero = step > 0 and is_const(start, 0)
        value = steps if from_zero else Binary("add" if step > 0 else "sub", start, steps, span)
        return For(count, const(0, dtype), trips, Let(var, value, body, span), kind, notes, span)

    def interval(self, parser: ExprParser, bounds: list[ast.expr], node: ast.AST) -> tuple[Expr, Expr]:
        """Start and extent of `[extent]` or `[start, stop]`."""
        if len(bounds) == 1:
            extent = parser.integer(bounds[0], "an extent")
            return const(0, extent.dtype), extent
        start, stop = parser.integers(bounds, "a loop bound", node)
        return start, extent_of(start, stop)

    def _nest(
        self,
        ranges: list[tuple[str, Expr, Expr]],
        kind: LoopKind,
        notes: tuple[tuple[str, object], ...],
        node: ast.For,
        scope: Scope,
        groups: Mapping[str, tuple[int, int]] = MappingProxyType({}),
    ) -> Stmt:
        inner, variables = scope.inner(), list[Var]()
        for name, start, extent in ranges:
            self._deeper(node)
            var = Var(inner.fresh(name), extent.dtype, self.source.span(node.target))
            variables.append(var)
            self.loops[var] = (start, extent)
            inner = inner.bind(name, var).inner()
        for name, (first, last) in groups.items():
            inner = inner.hide(name, tuple(variables[first:last])).inner()
        stmt = self.statements(node.body, inner)
        self.depth -= len(ranges)
        span = self.source.span(node.iter)
        for var, (_, start, extent) in zip(reversed(variables), reversed(ranges), strict=True):
            stmt = For(var, start, extent, stmt, kind, notes, span)
        return stmt
