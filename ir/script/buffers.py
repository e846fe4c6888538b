"""Declarations of parameters and buffers: annotations, shapes, dtypes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ir.dtypes import DType, from_name
from ir.errors import suggest
from ir.nodes import Buffer, Const, Expr, Region, Var, const
from ir.printing.intervals import extent_of
from ir.script.expressions import ExprParser, dialect_name
from ir.script.scope import Source, View
from ir.sections import Section
from ir.syntax import python_syntax
from ir.traverse import has_loads, is_const

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


_TYPES = ("Buffer", "handle", *(d.value for d in DType))
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
    near = suggest(dialect_name(target), _TYPES).replace("`", "`T.", 1)
    help = near or _EXAMPLE
    raise parser.source.error("annotation", f"`{ast.unparse(note)}` is not a parameter type", arg, help=help)


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
        empty = empty or (option == "strides" and _is_compact(value, given["shape"]))
        if option not in ("shape", "dtype", "scope", *_IGNORED) and not (trivial or empty):
            hint = "buffers are compact and do not share memory; leave it out"
            raise source.error("unsupported", f"the buffer option `{option}` is not supported", value, help=hint)
    scope = given.get("scope")
    memory = scope.value if isinstance(scope, ast.Constant) else "global"
    if not isinstance(memory, str):
        raise source.error("arguments", "the scope of a buffer is a string", node)
    dtype = parser.dtype_of(given["dtype"]) if "dtype" in given else DType.FLOAT32
    return Buffer(name, _shape(given["shape"], parser), dtype, memory or "global", source.span(node))


def _is_compact(strides: ast.expr, shape: ast.expr) -> bool:
    """Whether strides in numbers are those that a compact buffer of this shape has."""
    parts = [[e.value if isinstance(e, ast.Constant) else None for e in s.elts]
             for s in (strides, shape) if isinstance(s, (ast.Tuple, ast.List))]  # fmt: skip
    if len(parts) < 2 or len(parts[0]) != len(parts[1]):
        return False
    step = 1
    for stride, extent in zip(*map(reversed, parts), strict=True):
        if stride != step or not isinstance(extent, int):
            return False
        step *= extent
    return True


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


# Regions and views ---------------------------------------------------------------------------------------------------

Interval = Callable[[ExprParser, list[ast.expr], ast.AST], tuple[Expr, Expr]]  # start and extent of start and stop


def region_of(source: Buffer | View, node: ast.expr, parser: ExprParser, interval: Interval) -> Region:
    """The region that `A`, `A[i, 0:4]` or `A[:, j]` stands for, in the buffer that `A` names or is a view of.

    Raises:
        ParseError: an axis without an end, or another number of axes.
    """
    section = section_of(source, node, parser, interval)
    ranges = ((start, const(1, start.dtype) if extent is None else extent) for start, extent in section.ranges)
    return Region(section.buffer, tuple(ranges))


def section_of(source: Buffer | View, node: ast.expr, parser: ExprParser, interval: Interval) -> Section:
    """The same as a call passes it: an axis at one index is none of the section.

    Raises:
        ParseError: an axis without an end, or another number of axes.
    """
    ranges, span = _ranges(source.shape, node, parser, interval), parser.source.span(node)
    if isinstance(source, Buffer):
        return Section(source, tuple(ranges), span)
    starts = parser.in_view(source, tuple(start for start, _ in ranges), node)
    extents: list[Expr | None] = [None] * len(starts)
    for axis, (_, extent) in zip(source.axes, ranges, strict=True):
        extents[axis] = extent
    return Section(source.buffer, tuple(zip(starts, extents, strict=True)), span)


def _ranges(
    shape: tuple[Expr, ...], node: ast.expr, parser: ExprParser, interval: Interval
) -> list[tuple[Expr, Expr | None]]:
    """Start and extent of each axis of a region, whole where it is left out, as in NumPy; an index has no extent."""
    if not isinstance(node, ast.Subscript):
        return [(const(0, e.dtype), e) for e in shape]
    axes = _all_axes(parser.spread(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]), len(shape))
    ranges: list[tuple[Expr, Expr | None]] = []
    for axis in axes:
        if not isinstance(axis, ast.Slice):
            ranges.append((parser.integer(axis, "an index"), None))
        elif axis.step is None and axis.upper is not None:
            lower = ast.copy_location(ast.Constant(0), axis) if axis.lower is None else axis.lower
            ranges.append(interval(parser, [lower, axis.upper], axis))
        elif axis.step is None and len(ranges) < len(shape):
            ranges.append(_to_the_end(shape[len(ranges)], axis.lower, parser))
        else:
            hint = "as in A[0:4], A[4:] or A[:], or pack what lies in steps into a buffer in a loop"
            raise parser.source.error("unsupported", "a region has no step", node, help=hint)
    if len(ranges) != len(shape):
        name = ast.unparse(node.value)
        raise parser.source.error("rank", f"{name} has {len(shape)} dimensions, the region {len(ranges)}", node)
    return ranges


def _all_axes(axes: list[ast.expr], rank: int) -> list[ast.expr]:
    """The axes of a region with those that `...`, or an end before the last axis, stands for."""
    open_at = [k for k, axis in enumerate(axes) if isinstance(axis, ast.Constant) and axis.value is ...]
    at = open_at[0] if len(open_at) == 1 else len(axes)
    given = axes[:at], axes[at + 1 :]
    return [*given[0], *(ast.Slice() for _ in range(rank - len(given[0]) - len(given[1]))), *given[1]]


def _to_the_end(size: Expr, lower: ast.expr | None, parser: ExprParser) -> tuple[Expr, Expr]:
    """Start and extent of what goes from a start to the end of an axis."""
    if lower is None:
        return const(0, size.dtype), size
    start = parser.integer(lower, "a start")
    if isinstance(start, Const) and start.value < 0:
        raise parser.source.error("unsupported", "starts count from the front", lower, help="as in A[4:]")
    return start, extent_of(start, size)


def view_of(node: ast.expr, args: list[ast.expr], call: ast.Call, parser: ExprParser, interval: Interval) -> View:
    """The view that `T.match_buffer(A[i:i + 16, j], (16,))` declares; strides and offsets follow from the region.

    Raises:
        ParseError: the region reads a buffer, or has another shape or dtype than is declared.
    """
    source = parser.source
    target = node.value if isinstance(node, ast.Subscript) else node
    found = parser.scope.bindings.get(target.id) if isinstance(target, ast.Name) else None
    assert isinstance(found, (Buffer, View))
    region = region_of(found, node, parser, interval)
    if any(has_loads(part) for pair in region.ranges for part in pair):
        hint = "bind the element to a name first"
        raise source.error("unsupported", "the region of a view may not read a buffer", node, help=hint)
    kept = [k.arg for k in call.keywords if k.arg not in _OF_REGION]
    plain = [k for k in call.keywords if k.arg in kept]
    declares = declared("view", args[:2], plain, parser, call)
    if declares.dtype is not region.buffer.dtype and ("dtype" in kept or len(args) > 1):
        message = f"the view is declared {declares.dtype}, but {region.buffer.name} holds {region.buffer.dtype}"
        raise source.error("dtype-mismatch", message, call, help="views keep the dtype of their buffer")
    extents = [extent for _, extent in region.ranges]
    axes = _axes_of(extents, declares.shape)
    if axes is None:
        stated, have = (", ".join(_text(e) for e in shape) for shape in (declares.shape, extents))
        message = f"the view is declared of shape ({stated}), but the region has ({have})"
        raise source.error("rank", message, call, help="give the shape of the region; leading ones may be left out")
    return View(region.buffer, tuple(start for start, _ in region.ranges), axes, declares.shape)


_OF_REGION = ("data", "strides", "elem_offset", "scope")  # what the region already says, or where the buffer lies


def _axes_of(extents: list[Expr], shape: tuple[Expr, ...]) -> tuple[int, ...] | None:
    """The axes of a region that a shape stands for: all but leading ones of extent one; None where it has others."""
    dropped = len(extents) - len(shape)
    if dropped < 0 or not all(_is_one(e) for e in extents[:dropped]):
        return None
    same = all(_same_extent(a, b) for a, b in zip(extents[dropped:], shape, strict=True))
    return tuple(range(dropped, len(extents))) if same else None


def _is_one(extent: Expr) -> bool:
    return is_const(extent, 1)


def _same_extent(left: Expr, right: Expr) -> bool:
    if isinstance(left, Const) and isinstance(right, Const):
        return left.value == right.value
    return left.same(right)


def _text(extent: Expr) -> str:
    return str(extent.value) if isinstance(extent, Const) else extent.name if isinstance(extent, Var) else "..."
