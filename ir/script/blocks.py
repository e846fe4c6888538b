"""Blocks of the dialect: their head (axes, predicate, regions, init) and body."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ir.errors import suggest
from ir.nodes import TRUE, Block, Buffer, Expr, IterKind, IterVar, Region, Stmt, Var
from ir.printing.intervals import extent_of
from ir.script.buffers import region_of
from ir.script.expressions import ExprParser, dialect_name
from ir.script.scope import Scope, View

if TYPE_CHECKING:
    from ir.script.function import FunctionParser

_DECLARATIONS = ("alloc_buffer", "sblock_alloc_buffer", "decl_buffer", "match_buffer")
BLOCKS = ("block", "sblock")
BLOCK_NOTES = ("reads", "writes", "block_attr", "sblock_attr", "where")
_AXES: dict[str, IterKind] = {
    "spatial": "spatial",
    "S": "spatial",
    "reduce": "reduce",
    "R": "reduce",
    "opaque": "opaque",
}


class _BlockParts(Struct):
    """What the head of a block states."""

    axes: list[IterVar] = field(default_factory=lambda: list[IterVar]())
    predicate: Expr = TRUE
    init: Stmt | None = None
    reads: tuple[Region, ...] | None = None
    writes: tuple[Region, ...] | None = None
    annotations: tuple[tuple[str, object], ...] = ()


class BlockParser:
    """Parses one block for the function around it."""

    def __init__(self, function: FunctionParser) -> None:
        self.function = function
        self.source = function.source

    def parse(self, node: ast.With, call: ast.Call, scope: Scope) -> Stmt:
        """`with T.block(...)` and what is in it."""
        title = call.args[0] if call.args else ast.Constant("")
        if not isinstance(title, ast.Constant) or not isinstance(title.value, str):
            raise self.source.error(
                "unsupported",
                "the name of a block is a string",
                call,
                help='blocks are written `with T.block("name"):`',
            )
        parts = _BlockParts()
        scope = scope.inner()
        rest = list(node.body)
        while rest:
            taken = self._block_head(rest[0], parts, scope)
            if taken is None:
                break
            scope = taken
            rest.pop(0)
        self._late_init(rest, parts, scope)
        body = self.function.statements(rest, scope)
        return Block(
            title.value, body, tuple(parts.axes), parts.predicate, parts.init, parts.reads, parts.writes,
            parts.annotations, self.source.span(node.items[0].context_expr),
        )  # fmt: skip

    def _late_init(self, rest: list[ast.stmt], parts: _BlockParts, scope: Scope) -> None:
        """Take out of `rest` a T.init that comes after allocations and views, which it does not use."""
        for k, node in enumerate(rest):
            match node:
                case ast.Assign(value=ast.Call() as call) if dialect_name(call.func) in _DECLARATIONS:
                    continue
                case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]) if _is_init(call):
                    self._block_head(node, parts, scope)
                    del rest[k]
                    return
                case _:
                    return

    def _block_head(self, node: ast.stmt, parts: _BlockParts, scope: Scope) -> Scope | None:
        """Read one statement of a block's head into `parts`; None where the body begins."""
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as call):
                name = dialect_name(call.func)
                if name is None or not name.startswith("axis."):
                    return self.function.declaration(node, scope)
                return self._axes(target, name.removeprefix("axis."), call, parts, scope)
            case ast.Expr(value=ast.Call() as call) if dialect_name(call.func) in BLOCK_NOTES:
                self._block_note(dialect_name(call.func) or "", call, parts, scope)
                return scope
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]) if _is_init(call):
                parts.init = self.function.statements(node.body, scope.inner())
                return scope
            case ast.Expr(value=ast.Constant(value=str())):
                return scope
            case _:
                return self.function.declaration(node, scope)

    def _block_note(self, name: str, call: ast.Call, parts: _BlockParts, scope: Scope) -> None:
        parser = ExprParser(self.source, scope)
        if name == "where":
            parts.predicate = parser.condition(self.function.only(call, "where"))
        elif name in ("reads", "writes"):
            listed = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.List) else call.args
            regions = tuple(self._region(a, parser) for a in listed)
            if name == "reads":
                parts.reads = regions
            else:
                parts.writes = regions
        else:
            parts.annotations = (*parts.annotations, *self.function.dictionary(self.function.only(call, name)).items())

    def _region(self, node: ast.expr, parser: ExprParser) -> Region:
        target = node.value if isinstance(node, ast.Subscript) else node
        buffer = parser.scope.bindings.get(target.id) if isinstance(target, ast.Name) else None
        if not isinstance(buffer, (Buffer, View)):
            raise self.source.error("not-a-buffer", f"`{ast.unparse(target)}` is not a buffer", node)
        return region_of(buffer, node, parser, self.function.interval)

    def _axes(self, target: ast.expr, kind: str, call: ast.Call, parts: _BlockParts, scope: Scope) -> Scope:
        names = [t.id for t in (target.elts if isinstance(target, ast.Tuple) else [target]) if isinstance(t, ast.Name)]
        if kind == "remap":
            return self._remap(names, call, parts, scope)
        if kind not in _AXES or len(names) != 1 or len(call.args) != 2:
            near = suggest(kind, (*_AXES, "remap"))
            raise self.source.error("unsupported", f"`{ast.unparse(call)}` is not a block axis", call, help=near)
        domain = call.args[0]
        bounds = list(domain.elts) if isinstance(domain, (ast.Tuple, ast.List)) else [ast.Constant(0), domain]
        if len(bounds) != 2:
            raise self.source.error("arguments", "the domain of an axis is an extent or (start, stop)", domain)
        values = [ast.copy_location(b, domain) if isinstance(b, ast.Constant) else b for b in bounds]
        start, stop, value = ExprParser(self.source, scope).integers([*values, call.args[1]], "an axis", call)
        extent = stop if bounds[1] is domain else extent_of(start, stop)
        return self._axis(names[0], _AXES[kind], start, extent, value, parts, scope)

    def _remap(self, names: list[str], call: ast.Call, parts: _BlockParts, scope: Scope) -> Scope:
        match call.args:
            case [ast.Constant(value=str() as kinds), ast.List(elts=listed) | ast.Tuple(elts=listed)]:
                pass
            case [ast.Constant(value=str() as kinds), ast.Name() as variables]:
                listed: list[ast.expr] = [variables]
            case _:
                raise self.source.error("arguments", 'T.axis.remap takes kinds and variables: ("SR", [i, j])', call)
        values = ExprParser(self.source, scope).spread(listed)
        if not len(kinds) == len(values) == len(names) or any(k not in _AXES for k in kinds):
            raise self.source.error(
                "arguments",
                f"T.axis.remap has {len(kinds)} kinds for {len(values)} values and {len(names)} names",
                call,
                help="one kind, S or R, for each axis",
            )
        outer = scope
        for name, kind, value in zip(names, kinds, values, strict=True):
            expr = ExprParser(self.source, outer).integer(value, "an axis")
            loop = self.function.loops.get(expr) if isinstance(expr, Var) else None
            if loop is None:
                raise self.source.error("unsupported", f"`{ast.unparse(value)}` is not a loop variable", value)
            scope = self._axis(name, _AXES[kind], *loop, expr, parts, scope)
        return scope

    def _axis(
        self, name: str, kind: IterKind, start: Expr, extent: Expr, value: Expr, parts: _BlockParts, scope: Scope
    ) -> Scope:
        var = Var(scope.fresh(name), value.dtype)
        parts.axes.append(IterVar(var, kind, start, extent, value))
        return scope.bind(name, var)


def _is_init(call: ast.Call) -> bool:
    return dialect_name(call.func) == "init"
