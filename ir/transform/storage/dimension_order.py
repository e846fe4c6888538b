"""Layout transformations of buffers, with what their padding holds.

A buffer that is written gets a stage that writes the padding; one that is only read, assumptions at function start. The
map of a parameter from its original indices is recorded with the function, as an attribute that survives printing.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Alloc, Buffer, Load, Module, PrimFunc, Stmt, seq
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
from ir.sections import passed
from ir.transform.storage.layout_across_calls import across_calls, is_passed
from ir.transform.storage.layout_records import check_sizes, with_layout
from ir.transform.storage.padding import after_writes, assumption, filler, index_names, padding_stage
from ir.traverse import all_exprs, free_vars, results_of, shape_vars, stores_in


def transform_layout(
    module: Module, func: str, block: str, buffer: str, index_map: IndexMap, pad_value: object
) -> Module:
    """Store a buffer at mapped indices, with what `pad_value` says in the places that hold no element.

    A buffer that calls pass changes in callers and callees (`layout_across_calls`). Where functions do not call each
    other, a parameter changes in all that have it by name: each that writes it gets stages that write the padding, one
    that only reads it, assumptions. `block` tells where a local buffer lives; it must use the buffer.

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
    if is_passed(module, home, target):
        return across_calls(module, home, target, index_map, pad_value)
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


class Change(Struct, frozen=True):
    """One transformation, for every function that it changes; padding that is `standing` none of them writes."""

    index_map: IndexMap
    pad_value: object
    geometry: Geometry
    standing: bool = False

    def parameter(self, func: PrimFunc, old: Buffer) -> PrimFunc:
        new = replace(old, shape=self.geometry.physical_shape)
        produced = old in results_of(func) and not self.standing
        body = self._body(func, func.body, old, new, produced=produced)
        params = tuple(new if p is old else p for p in func.params)
        result = with_layout(replace(func, params=params, body=body), func, old, self.index_map)
        check_sizes(func, result)
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
    given = (section.buffer for call in calls_in(stmt) for _, section in passed(call))
    stored = (s.buffer for s in stores_in(stmt))
    return buffer in (*given, *stored) or any(isinstance(e, Load) and e.buffer == buffer for e in all_exprs(stmt))


def _told_apart(func: PrimFunc, index_map: IndexMap) -> IndexMap:
    """A map whose indices have other names than the sizes it may mention."""
    taken = {v.name for v in (*func.scalars, *shape_vars(func))}
    params = tuple(replace(v, name=fresh(v.name, taken)) for v in index_map.params)
    return IndexMap(params, index_map(params))


def _check_names(func: PrimFunc, buffer: Buffer, index_map: IndexMap) -> None:
    sizes = {*func.scalars, *shape_vars(func)}
    for var in free_vars(*index_map.results) - set(index_map.params) - sizes:
        message = f"the index map of {buffer.name} depends on `{var.name}`, which is no scalar of {func.name}"
        refuse("index-map", message, func.span, help="use the indices, numbers and scalar parameters")
