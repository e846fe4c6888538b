"""What is recorded with a function of the layouts of its parameters: an attribute that survives printing."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import islpy as isl
from msgspec.structs import replace

from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Buffer, Expr, PrimFunc, Var
from ir.presburger import sets as pb
from ir.presburger.geometry import apply
from ir.presburger.index_map import IndexMap
from ir.printing.printer import to_script
from ir.program.edit import refuse
from ir.script.parser import parse_expr
from ir.syntax import python_syntax
from ir.traverse import free_vars, shape_vars


def with_record(func: PrimFunc, name: str, shape: Sequence[Expr], index_map: IndexMap) -> PrimFunc:
    """`func` with a note that a parameter stores a logical shape through an index map."""
    text = f"({', '.join(map(to_script, shape))}{',' if len(shape) == 1 else ''}) -> {index_map}"
    attrs = {**dict(func.attrs), _key(name): text}
    return replace(func, attrs=tuple(attrs.items()))


def with_layout(changed: PrimFunc, before: PrimFunc, buffer: Buffer, index_map: IndexMap) -> PrimFunc:
    """`changed` with a note that a parameter of the function `before` is stored through one more map."""
    known = record_of(before, buffer.name)
    if known is None:
        return with_record(changed, buffer.name, buffer.shape, index_map)
    whole = IndexMap(known[1].params, apply(index_map, known[1].results))
    return with_record(changed, buffer.name, known[0], whole)


def record_of(func: PrimFunc, name: str) -> tuple[tuple[Expr, ...], IndexMap] | None:
    """The logical shape of a parameter and the map from its indices, if a layout transformation was recorded.

    Raises:
        ScheduleError: the attribute was changed and cannot be read.
    """
    text = dict(func.attrs).get(_key(name))
    if text is None:
        return None
    try:
        shape, _, rest = str(text).partition(" -> ")
        function = python_syntax(rest, "eval").body
        extents = python_syntax(shape, "eval").body
        if not isinstance(function, ast.Lambda) or not all(isinstance(e, ast.Tuple) for e in (extents, function.body)):
            raise ValueError("found no `shape -> lambda`")
        sizes = {v.name: v.dtype for v in (*func.scalars, *shape_vars(func))}
        params = tuple(Var(a.arg, DType.INT32) for a in function.args.args)
        results = _elements(function.body, sizes | {v.name: v.dtype for v in params})
        return _elements(extents, sizes), IndexMap(params, results)
    except (LoopsatError, SyntaxError, ValueError) as error:
        message = f"the attribute `{_key(name)}` of {func.name} is no recorded layout: {text!r}"
        refuse("layout", message, func.span, notes=[str(error)], help="remove the attribute")


def _elements(node: ast.expr, names: dict[str, DType]) -> tuple[Expr, ...]:
    assert isinstance(node, ast.Tuple)
    return tuple(parse_expr(ast.unparse(e), names) for e in node.elts)


def _key(name: str) -> str:
    return f"layout.{name}"


def check_sizes(before: PrimFunc, after: PrimFunc) -> None:
    """Refuse shapes from which a call could no longer tell a size."""
    lost = known_sizes(before) - known_sizes(after)
    for var in shape_vars(after):
        if var in lost:
            message = f"the size `{var.name}` of {after.name} could no longer be known from the arrays of a call"
            refuse("interface", message, after.span, help=f"make {var.name} a scalar parameter")


def known_sizes(func: PrimFunc) -> set[Var]:
    """Sizes that the arrays of a call tell: some extent is linear in them."""
    found: set[Var] = set()
    for extent in (e for b in func.buffers for e in b.shape):
        value = pb.affine(extent)
        if value is not None and value.n_piece() == 1 and value.get_pieces()[0][1].dim(isl.dim_type.div) == 0:
            found |= free_vars(extent)
    return found
