"""Declarations of parameters and buffers: annotations, shapes, dtypes."""

from __future__ import annotations

import ast

from ir.dtypes import DType, from_name
from ir.nodes import Buffer, Const, Expr
from ir.script.expressions import ExprParser, dialect_name
from ir.script.scope import Source
from ir.syntax import python_syntax

_POSITIONAL = ("shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "buffer_type")
_IGNORED = ("align", "offset_factor", "buffer_type")  # notes for code generation: they change no contents
_PYTHON_TYPES = {"int": DType.INT32, "float": DType.FLOAT32, "bool_": DType.BOOL, "boolean": DType.BOOL}


def annotation(arg: ast.arg, source: Source) -> ast.expr:
    """The type of a parameter; one in quotes is read."""
    note = arg.annotation
    if isinstance(note, ast.Constant) and isinstance(note.value, str):
        try:
            quoted = python_syntax(note.value.strip(), "eval").body
        except (SyntaxError, ValueError):
            raise source.error("annotation", f"the type of `{arg.arg}` cannot be read", arg, help=_EXAMPLE) from None
        for part in ast.walk(quoted):
            ast.copy_location(part, note)
        return quoted
    if note is None:
        raise source.error("annotation", f"parameter `{arg.arg}` has no type", arg, help=_EXAMPLE)
    return note


_EXAMPLE = 'write `A: T.Buffer((16,), "float32")`, a dtype such as `n: T.int32`, or T.handle'


def scalar_dtype(note: ast.expr) -> DType | None:
    """The dtype that an annotation such as `T.int32` names, or None."""
    name = dialect_name(note)
    return None if name is None else _PYTHON_TYPES.get(name, from_name(name))


def is_handle(note: ast.expr) -> bool:
    """Whether a parameter's buffer is to be given by `T.match_buffer`."""
    return dialect_name(note.func if isinstance(note, ast.Call) else note) == "handle"


def buffer_param(arg: ast.arg, note: ast.expr, parser: ExprParser) -> Buffer:
    """The buffer that `T.Buffer(...)` or `T.Buffer[...]` declares."""
    target = note.func if isinstance(note, ast.Call) else note.value if isinstance(note, ast.Subscript) else note
    if dialect_name(target) == "Buffer":
        if isinstance(note, ast.Call):
            return declared(arg.arg, note.args, note.keywords, parser, note)
        if isinstance(note, ast.Subscript):
            parts = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
            typed = len(parts) == 2 and _names_dtype(parts[1], parser)
            return declared(arg.arg, parts if typed else [note.slice], [], parser, note)
    raise parser.source.error("annotation", f"`{ast.unparse(note)}` is not a parameter type", arg, help=_EXAMPLE)


def _names_dtype(node: ast.expr, parser: ExprParser) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    name = dialect_name(node)
    return name is not None and (from_name(name) is not None or isinstance(parser.scope.bindings.get(name), str))


def declared(
    name: str, args: list[ast.expr], keywords: list[ast.keyword], parser: ExprParser, node: ast.expr
) -> Buffer:
    """The buffer that a call with these arguments describes.

    Raises:
        ParseError: no shape, or an option that changes where elements lie.
    """
    source = parser.source
    if len(args) > len(_POSITIONAL):
        raise source.error("arguments", f"a buffer takes at most {len(_POSITIONAL)} arguments", node)
    given = dict(zip(_POSITIONAL, args, strict=False)) | {k.arg: k.value for k in keywords if k.arg is not None}
    if "shape" not in given:
        raise source.error("arguments", "a buffer needs a shape", node, help='as in T.alloc_buffer((16,), "float32")')
    for option, value in given.items():
        trivial = isinstance(value, ast.Constant) and value.value in (None, 0, "")
        empty = isinstance(value, (ast.List, ast.Tuple)) and not value.elts
        if option not in ("shape", "dtype", "scope", *_IGNORED) and not (trivial or empty):
            hint = "buffers are compact and do not share memory; leave it out"
            raise source.error("unsupported", f"the buffer option `{option}` is not supported", value, help=hint)
    scope = given.get("scope")
    memory = scope.value if isinstance(scope, ast.Constant) else "global"
    if not isinstance(memory, str):
        raise source.error("arguments", "the scope of a buffer is a string", node)
    dtype = parser.dtype_of(given["dtype"]) if "dtype" in given else DType.FLOAT32
    return Buffer(name, _shape(given["shape"], parser), dtype, memory or "global", source.span(node))


def _shape(node: ast.expr, parser: ExprParser) -> tuple[Expr, ...]:
    named = parser.scope.bindings.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(named, tuple):
        parts = [ast.copy_location(ast.Subscript(node, ast.Constant(k), ast.Load()), node) for k in range(len(named))]
        for part in parts:
            ast.copy_location(part.slice, node)
    else:
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    shape = tuple(parser.integer(p, "an extent") for p in parts)
    for extent, part in zip(shape, parts, strict=True):
        if isinstance(extent, Const) and extent.value < 0:
            raise parser.source.error("extent", f"an extent must not be negative, found {extent.value}", part)
    return shape
