"""How a buffer between functions is kept, and functions that take a parameter kept so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Buffer, Expr, PrimFunc, Stmt, Undef, Var, const
from ir.presburger import sets as pb
from ir.presburger.facts import range_of
from ir.presburger.geometry import Geometry, geometry
from ir.presburger.index_map import IndexMap
from ir.printing.printer import to_script
from ir.program.calls import minus, plus
from ir.program.edit import names_in, refuse
from ir.transform.storage.dimension_order import Change
from ir.transform.storage.padding import assumption, filler, index_names
from ir.traverse import all_same


class Storage(Struct, frozen=True, dict=True):
    """Where a buffer keeps its elements, and what the places between them hold: a number, or undef for anything.

    `extents` are those of the axes in memory where they are more than the map needs. Padding that is `standing` is
    written once, where the buffer is made: all functions find it there, and leave it.
    """

    shape: tuple[Expr, ...]
    dtype: DType
    index_map: IndexMap
    pad: Expr
    extents: tuple[Expr, ...] | None = None
    standing: bool = False

    @staticmethod
    def plain(buffer: Buffer) -> Storage:
        """As the program has it."""
        params = tuple(Var(f"i{k}", DType.INT32) for k in range(len(buffer.shape)))
        return Storage(buffer.shape, buffer.dtype, IndexMap(params, params), Undef(buffer.dtype))

    @property
    def is_plain(self) -> bool:
        """Whether this is how the program has it."""
        return self.extents is None and self.index_map.results == self.index_map.params

    @cached_property
    def geometry(self) -> Geometry:
        """The map on the shape.

        Raises:
            ScheduleError: it is not affine or not injective, or leaves the extents.
        """
        return geometry(self.shape, self.index_map, name="a buffer", physical_shape=self.extents)

    @property
    def physical_shape(self) -> tuple[Expr, ...]:
        """The extents in memory."""
        return self.shape if self.is_plain else self.geometry.physical_shape

    @property
    def has_padding(self) -> bool:
        """Whether there are places that hold no element."""
        return not self.is_plain and self.geometry.has_padding

    def padded_with(self, pad: Expr, *, standing: bool = False) -> Storage:
        """The same places with other padding."""
        return replace(self, pad=pad, standing=standing)

    def taken_as(self, param: Buffer) -> Storage:
        """The same places of a parameter for which a buffer kept so is passed, which has other names for its sizes.

        Raises:
            ScheduleError: the extents in memory are not those of the buffer and some more.
        """
        if all_same(param.shape, self.shape):
            return self
        if self.extents is None:
            return replace(self, shape=param.shape)
        pairs = list(zip(self.extents, self.shape, strict=False))
        more = [range_of(minus(e, n), pb.always()) for e, n in pairs]
        if len(self.extents) != len(self.shape) or any(low is None or low != high for low, high in more):
            message = f"{param.name} cannot be kept as {self}, whose extents do not follow from its own"
            refuse("interface", message, param.span, help="give sizes as numbers")
        extents = tuple(plus(n, const(low or 0, n.dtype)) for n, (low, _) in zip(param.shape, more, strict=True))
        return replace(self, shape=param.shape, extents=extents)

    def serves(self, wanted: Storage) -> bool:
        """Whether a buffer that is kept so may be read as one that is kept as `wanted`."""
        places = (self.index_map.results == _renamed(wanted.index_map, self.index_map.params)) and (
            self.physical_shape == wanted.physical_shape
        )
        return places and (isinstance(wanted.pad, Undef) or not self.has_padding or self.pad.same(wanted.pad))

    def __str__(self) -> str:
        if self.is_plain:
            return "as it is"
        shape = ", ".join(map(to_script, self.physical_shape))
        text = f"({shape}{',' if len(self.physical_shape) == 1 else ''}) by {self.index_map}"
        if not self.has_padding:
            return text
        verb = "keeps" if self.standing else "holds"
        return f"{text}, padding {verb} {'anything' if isinstance(self.pad, Undef) else to_script(self.pad)}"


def _renamed(index_map: IndexMap, params: Sequence[Var]) -> tuple[Expr, ...]:
    return index_map(params) if len(params) == len(index_map.params) else ()


def kept(func: PrimFunc, name: str, storage: Storage, *, padded: bool = True) -> PrimFunc:
    """`func` with a parameter kept in another way; the interface, and all callers', change.

    Where it is written, its padding is; where it is only read, or the padding is standing, what that holds is assumed.
    If it is not to be `padded`, neither is: what lies there stays.

    Raises:
        ScheduleError: the map or the pad value is refused.
    """
    if storage.is_plain:
        return func
    storage = storage.taken_as(next(b for b in func.buffers if b.name == name))
    change = Change(storage.index_map, storage.pad if padded else None, storage.geometry, storage.standing)
    return func.with_origin(lambda f: change.parameter(f, next(b for b in f.buffers if b.name == name)))


def entry_claim(buffer: Buffer, storage: Storage, func: PrimFunc) -> Stmt:
    """What callers promise of the padding of a parameter that is kept so."""
    fill = filler(storage.pad, Buffer(buffer.name, storage.shape, buffer.dtype), buffer, storage.geometry)
    names = index_names(storage.index_map, storage.pad, buffer.name)
    assert fill is not None
    return assumption(buffer, storage.geometry, fill, names, names_in(func))
