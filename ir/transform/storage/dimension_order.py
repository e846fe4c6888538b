"""Layout transformations of buffers, with what their padding holds.

A buffer that is written gets a stage that writes the padding; one that is only read, assumptions at function start. The
map of a parameter from its original indices is recorded with the function, as an attribute that survives printing.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.naming import fresh
from ir.nodes import Alloc, Buffer, Expr, Load, Module, PrimFunc, Stmt, Store, Var, seq
from ir.presburger import sets as pb
from ir.presburger.geometry import Geometry, apply, geometry
from ir.presburger.index_map import IndexMap
from ir.printing.printer import to_script
from ir.program.calls import calls_in
from ir.program.edit import (
    ROOT,
    block_path,
    blocks_of,
    find_buffer,
    names_in,
    path_to,
    refuse,
    replace_at,
    replace_buffer,
)
from ir.script.parser import parse_expr
from ir.syntax import python_syntax
from ir.transform.storage.padding import after_writes, assumption, filler, index_names, padding_stage
from ir.traverse import all_exprs, free_vars, results_of, shape_vars, walk


def transform_layout(
    module: Module, func: str, block: str, buffer: str, index_map: IndexMap, pad_value: object
) -> Module:
    """Store a buffer at mapped indices, with what `pad_value` says in the places that hold no element.

    A parameter changes in all functions of the module that have it by name, unless functions call each other. Each that
    writes it gets stages that write the padding, one that only reads it, assumptions. `block` tells where a local
    buffer lives; it must use the buffer.

    Raises:
        ScheduleError: the map is not affine, not injective or gives negative indices; the buffer is unknown, unused, or
            a parameter of another shape in another function; the pad value is refused (see `padding.filler`); a size
            could no longer be known from the arrays of a call.
    """
    home = module[func]
    target = find_buffer(home, buffer)
    _check_used(home, block, target)
    index_map = _told_apart(home, index_map)
    _check_names(home, target, index_map)
    shape = geometry(target.shape, index_map, name=target.name, span=target.span)
    new = replace(target, shape=shape.physical_shape)
    plan = Change(index_map, pad_value, shape)
    filler(pad_value, target, new, shape)  # refused before anything is built
    if target not in home.buffers:
        return _with(module, home, plan.local(home, target).as_form_of(home))
    connected = (home,) if any(True for f in module.funcs for _ in calls_in(f.body)) else module.funcs
    for other in connected:
        found = next((b for b in other.buffers if b.name == buffer), None)
        if found is None:
            continue
        if found.dtype is not target.dtype or found.shape != target.shape:
            message = f"{buffer} is {_kind(target)} in {home.name}, but {_kind(found)} in {other.name}"
            refuse("interface", message, found.span, help="rename one of them, or transform the functions separately")
        module = _with(module, other, other.with_origin(lambda f, old=found: plan.parameter(f, old)))
    return module


@dataclass(frozen=True)
class Change:
    """One transformation, for every function that it changes; padding that is `standing` none of them writes."""

    index_map: IndexMap
    pad_value: object
    geometry: Geometry
    standing: bool = False

    def parameter(self, func: PrimFunc, old: Buffer) -> PrimFunc:
        new = replace(old, shape=self.geometry.physical_shape)
        produced = old in results_of(func) and not self.standing
        body = self._body(func, func.body, old, new, produced=produced)
        before = record_of(func, old.name)
        logical, whole = old.shape, self.index_map
        if before is not None:
            logical, whole = before[0], IndexMap(before[1].params, apply(self.index_map, before[1].results))
        params = tuple(new if p is old else p for p in func.params)
        result = with_record(replace(func, params=params, body=body), old.name, logical, whole)
        _check_sizes(func, result)
        return result

    def local(self, func: PrimFunc, old: Buffer) -> PrimFunc:
        new = replace(old, shape=self.geometry.physical_shape)
        path = path_to(func.body, lambda s: isinstance(s, Alloc) and s.buffer == old)
        assert path is not None
        alloc = path[-1]
        assert isinstance(alloc, Alloc)
        body = self._body(func, alloc.body, old, new, produced=True)
        return replace(func, body=replace_at(path, Alloc(new, body, alloc.span)))

    def _body(self, func: PrimFunc, scope: Stmt, old: Buffer, new: Buffer, *, produced: bool) -> Stmt:
        """The statements in which a buffer lives, with what its padding holds written or assumed."""

        def moved(stmt: Stmt) -> Stmt:
            return replace_buffer(stmt, old, new, lambda indices: apply(self.index_map, indices))

        fill = filler(self.pad_value, old, new, self.geometry)
        if fill is None or not self.geometry.has_padding:
            return moved(scope)
        taken, names = names_in(func), index_names(self.index_map, self.pad_value, old.name)
        if not produced:
            return seq(assumption(new, self.geometry, fill, names, taken), moved(scope))
        return moved(after_writes(scope, old, lambda: padding_stage(new, self.geometry, fill, names, taken)))


def _with(module: Module, old: PrimFunc, new: PrimFunc) -> Module:
    return replace(module, funcs=tuple(new if f is old else f for f in module.funcs))


def _kind(buffer: Buffer) -> str:
    return f"{buffer.dtype} of shape ({', '.join(map(to_script, buffer.shape))})"


# Checks --------------------------------------------------------------------------------------------------------------


def _check_used(func: PrimFunc, block: str, buffer: Buffer) -> None:
    path = block_path(func, block)
    if _uses(path[-1], buffer):
        return
    where = func.name if block == ROOT else f"block `{block}`"
    users = [name for name, stmt in blocks_of(func).items() if _uses(stmt, buffer)]
    help = f"it is used in {', '.join(users)}" if users else f"name a buffer that {func.name} uses"
    refuse("unused-buffer", f"{where} does not use {buffer.name}", path[-1].span, help=help)


def _uses(stmt: Stmt, buffer: Buffer) -> bool:
    return any(isinstance(s, Store) and s.buffer == buffer for s in walk(stmt)) or any(
        isinstance(e, Load) and e.buffer == buffer for e in all_exprs(stmt)
    )


def _told_apart(func: PrimFunc, index_map: IndexMap) -> IndexMap:
    """A map whose indices have other names than the sizes it may mention."""
    taken = {v.name for v in (*func.scalars, *shape_vars(func))}
    params = tuple(replace(v, name=fresh(v.name, taken)) for v in index_map.params)
    return IndexMap(params, index_map(params))


def _check_names(func: PrimFunc, buffer: Buffer, index_map: IndexMap) -> None:
    sizes = {*func.scalars, *shape_vars(func)}
    for var in {v for r in index_map.results for v in free_vars(r)} - set(index_map.params) - sizes:
        message = f"the index map of {buffer.name} depends on `{var.name}`, which is no scalar of {func.name}"
        refuse("index-map", message, func.span, help="use the indices, numbers and scalar parameters")


def _check_sizes(before: PrimFunc, after: PrimFunc) -> None:
    """Refuse shapes from which a call could no longer tell a size."""
    lost = _solvable(before) - _solvable(after)
    for var in shape_vars(after):
        if var in lost:
            message = f"the size `{var.name}` of {after.name} could no longer be known from the arrays of a call"
            refuse("interface", message, after.span, help=f"make {var.name} a scalar parameter")


def _solvable(func: PrimFunc) -> set[Var]:
    """Sizes that some extent is linear in."""
    found: set[Var] = set()
    for extent in (e for b in func.buffers for e in b.shape):
        value = pb.affine(extent)
        if value is not None and value.n_piece() == 1 and value.get_pieces()[0][1].dim(isl.dim_type.div) == 0:
            found |= free_vars(extent)
    return found


# Record --------------------------------------------------------------------------------------------------------------


def with_record(func: PrimFunc, name: str, shape: Sequence[Expr], index_map: IndexMap) -> PrimFunc:
    """`func` with a note that a parameter stores a logical shape through an index map."""
    text = f"({', '.join(map(to_script, shape))}{',' if len(shape) == 1 else ''}) -> {index_map}"
    attrs = {**dict(func.attrs), _key(name): text}
    return replace(func, attrs=tuple(attrs.items()))


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
