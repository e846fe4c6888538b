"""How parameters are stored: logical and physical shape, index map, padding; conversion of arrays between the two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import islpy as isl
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ir.analysis.contents import constants
from ir.analysis.effects import EffectAnalysis, get
from ir.dtypes import DType
from ir.errors import LoopsatError, suggest
from ir.floats import Floats
from ir.functions import inlined
from ir.naming import fresh
from ir.nodes import Assume, Binary, Buffer, Call, Cast, Const, Expr, For, If, PrimFunc, Select, Seq, Unary, Var
from ir.presburger import sets as pb
from ir.presburger.geometry import Geometry, geometry
from ir.presburger.index_map import IndexMap
from ir.printing.printer import to_script
from ir.program.blocks import lower_statement
from ir.program.scopes import flat
from ir.schedule.storage import Storage
from ir.transform.storage.layout_records import record_of
from ir.transform.storage.padding import index_names
from ir.traverse import free_vars, shape_vars, walk

Array = npt.NDArray[Any]


class Layout(Struct, frozen=True, eq=False):
    """Where a buffer keeps its elements.

    `index_map` takes logical indices to physical ones; `padding` holds for the physical `indices` at which no element
    lies. `elidable` says that nothing accesses the padding and that storage order is that of the logical indices, so
    that the elements may as well lie flat in memory without padding. `pad` is the number that the function assumes of
    all padding, 0 where it assumes none.
    """

    name: str
    logical_shape: tuple[Expr, ...]
    physical_shape: tuple[Expr, ...]
    index_map: IndexMap
    indices: tuple[Var, ...]
    padding: Expr
    elidable: bool
    pad: complex | bool = 0

    def pack(self, array: npt.ArrayLike, pad: complex | bool | None = None, **sizes: int) -> Array:
        """A physical array from a logical one; places that hold no element get `pad`, by default that of the layout.

        Sizes that are no extent of the array by themselves are given by name.

        Raises:
            LoopsatError: the array has another shape, or a size is missing.
        """
        values = np.asarray(array)
        known = self._known(self.logical_shape, values.shape, sizes)
        out = np.full(_shape(self.physical_shape, known), self.pad if pad is None else pad, values.dtype)
        out[self._places(known)] = values
        return out

    def unpack(self, physical: npt.ArrayLike, **sizes: int) -> Array:
        """The logical array in a physical one. Sizes that are no extent of the array by themselves are given by name.

        Raises:
            LoopsatError: the array has another shape, or a size is missing.
        """
        values = np.asarray(physical)
        known = self._known(self.physical_shape, values.shape, sizes)
        return values[self._places(known)].reshape(_shape(self.logical_shape, known))

    def __str__(self) -> str:
        shapes = [f"({', '.join(map(to_script, s))})" for s in (self.logical_shape, self.physical_shape)]
        stored = f"{self.name}: {shapes[0]} stored as {shapes[1]} by {self.index_map}"
        return f"{stored}, padding where {to_script(self.padding)}"

    def _places(self, known: Mapping[Var, Array]) -> tuple[Array, ...]:
        shape = _shape(self.logical_shape, known)
        grid = dict(zip(self.index_map.params, np.indices(shape), strict=True))
        return tuple(np.broadcast_to(_value(r, {**known, **grid}), shape) for r in self.index_map.results)

    def _known(self, shape: tuple[Expr, ...], found: tuple[int, ...], sizes: Mapping[str, int]) -> dict[Var, Array]:
        extents = (*self.logical_shape, *self.physical_shape)
        names = {v: None for e in (*extents, *self.index_map.results) for v in free_vars(e)}
        known: dict[Var, Array] = {}
        for extent, size in zip(shape, found, strict=False):
            if isinstance(extent, Var):
                known[extent] = np.asarray(size)
        for var in names:
            if var.name in sizes:
                known[var] = np.asarray(sizes[var.name])
        missing = [v.name for v in names if v not in known and v not in self.index_map.params]
        if missing:
            message = f"the size {missing[0]} of {self.name} is not known from the array"
            raise LoopsatError("unbound-size", message, help=f"name it, as in {missing[0]}=4")
        wanted = _shape(shape, known)
        if wanted != found:
            raise LoopsatError("arguments", f"`{self.name}`: expected an array of shape {wanted}, found {found}")
        return known


@pb.exclusive
def layout_of(func: PrimFunc, name: str) -> Layout:
    """The layout of a buffer parameter; that of one never transformed is the identity.

    Raises:
        LoopsatError: there is no such buffer, or its recorded layout cannot be read.
    """
    found = next((b for b in func.buffers if b.name == name), None)
    if found is None:
        known = [b.name for b in func.buffers]
        help = suggest(name, known) or f"the buffers are {', '.join(known)}"
        raise LoopsatError("unknown-buffer", f"{func.name} has no buffer parameter `{name}`", func.span, help=help)
    record = record_of(func, name)
    if record is None:
        params = tuple(Var(f"i{k}", DType.INT32) for k in range(len(found.shape)))
        record = (found.shape, IndexMap(params, params))
    logical, index_map = record
    shape = geometry(logical, index_map, name=name, span=found.span, physical_shape=found.shape)
    taken = {v.name for v in (*func.scalars, *shape_vars(func))}
    names = [fresh(n, taken) for n in index_names(index_map, None, name)]
    indices = tuple(Var(n, e.dtype) for n, e in zip(names, found.shape, strict=True))
    flat = pb.within_budget(lambda: _flat(shape) and not _padding_used(func, found, shape), False)
    pad = pb.within_budget(lambda: _pad_assumed(func, found, shape), 0)
    return Layout(name, logical, found.shape, index_map, indices, shape.outside(indices), flat, pad)


def stored(name: str, storage: Storage) -> Layout:
    """The layout of a buffer that is kept so."""
    shape = storage.geometry
    taken: set[str] = set()
    names = [fresh(n, taken) for n in index_names(storage.index_map, None, name)]
    indices = tuple(Var(n, e.dtype) for n, e in zip(names, shape.physical_shape, strict=True))
    flat = pb.within_budget(lambda: _flat(shape) and not shape.has_padding, False)
    padding = shape.outside(indices)
    return Layout(name, storage.shape, shape.physical_shape, storage.index_map, indices, padding, flat)


def _flat(shape: Geometry) -> bool:
    """Whether an element's position in storage order is the same in both shapes, as far as that is affine."""
    logical = [Var(f"{v.name}'{k}'", v.dtype) for k, v in enumerate(shape.index_map.params)]
    positions = _position(logical, shape.logical_shape), _position(shape.index_map(logical), shape.physical_shape)
    if positions[0] is None or positions[1] is None:
        return False
    here = pb.point(logical)
    assert here is not None
    inside = here.intersect(pb.box(shape.logical_shape)).params()
    return inside.is_subset(positions[0].eq_set(positions[1]))


def _position(indices: tuple[Expr, ...] | list[Var], shape: tuple[Expr, ...]) -> isl.PwAff | None:
    position = pb.number(0)
    for index, extent in zip(indices, shape, strict=True):
        place, size = pb.affine(index), pb.affine(extent)
        if place is None or size is None or not (position.is_cst() or size.is_cst()):
            return None
        position = position.mul(size).add(place)
    return position


def _padding_used(func: PrimFunc, buffer: Buffer, shape: Geometry) -> bool:
    """Whether a function reads, writes or says anything about the padding of a buffer."""
    if not shape.has_padding:
        return False
    effects = EffectAnalysis().of(lower_statement(func.body))
    touched = get(effects.reads, buffer).union(get(effects.may, buffer))
    for (known, _), region in effects.established.items():
        touched = touched.union(region) if known == buffer else touched
    return not touched.is_disjoint(shape.places(shape.padding))


def _pad_assumed(func: PrimFunc, buffer: Buffer, shape: Geometry) -> complex | bool:
    """The number that a function assumes of all of the padding of a buffer; 0 where there is none."""
    if not shape.has_padding:
        return 0
    places = shape.places(shape.padding)
    known = EffectAnalysis(floats=Floats.NO_SIGNED_ZEROS)
    assumed = (s for s in flat(func.body)[1] if all(isinstance(part, (For, If, Seq, Assume)) for part in walk(s)))
    for stmt in assumed:
        for known_of, value, region in constants(known.of(lower_statement(stmt)).established):
            if known_of == buffer and places.is_subset(region):
                return value.value
    return 0


# Values --------------------------------------------------------------------------------------------------------------

_OPERATORS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "floordiv": np.floor_divide, "floormod": np.remainder, "truncmod": np.fmod, "and": np.logical_and,
    "or": np.logical_or, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "neg": np.negative, "abs": np.abs, "not": np.logical_not,
}  # fmt: skip


def _shape(shape: tuple[Expr, ...], known: Mapping[Var, Array]) -> tuple[int, ...]:
    return tuple(int(_value(e, known)) for e in shape)


def _value(expr: Expr, known: Mapping[Var, Array]) -> Array:
    """A quasi-affine expression on arrays of its variables."""
    match expr:
        case Const(value=value):
            return np.asarray(value)
        case Var():
            return known[expr]
        case Call() as call:
            return _value(inlined(call), known)
        case Cast(operand=a):
            return _value(a, known)
        case Unary(op=op, operand=a):
            return _OPERATORS[op](_value(a, known))
        case Select(cond=c, then=a, other=b):
            return np.where(_value(c, known), _value(a, known), _value(b, known))
        case Binary(op="truncdiv", lhs=a, rhs=b):
            x, y = _value(a, known), _value(b, known)
            return (x - np.fmod(x, y)) // y
        case Binary(op=op, lhs=a, rhs=b):
            return _OPERATORS[op](_value(a, known), _value(b, known))
        case _:
            raise TypeError(type(expr).__name__)
