"""Arrays over a mesh that does not divide them: padded, in equal blocks, and known by the extents that they have.

JAX cuts dimensions into equal parts only. What a kernel over a mesh gives may stay padded for the next one; put
together again, every device would have all of it. Owns the way of arrays to a mesh and back; what padding must hold is
decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import AxisType, NamedSharding, PartitionSpec, reshard
from msgspec import Struct

from ir.errors import LowerError

Shape = tuple[int, ...]
Index = tuple[slice, ...]
Read = Callable[[Index], Any]  # the elements of some ranges of an array
Number = bool | int | float


@partial(jax.tree_util.register_dataclass, data_fields=["array"], meta_fields=["shape", "pad"])
class PaddedArray(Struct, frozen=True, eq=False):
    """An array of `shape` that is kept in a larger one, whose dimensions a mesh divides.

    `array` is the padded one, `pad` is what its padding holds (None: anything). Kernels over the same mesh take it as
    it is, also inside of `jax.jit`; anything else takes `crop()`, an array of its own shape whose padded dimensions are
    on every device, and NumPy takes its elements. To JAX it is a tree with one leaf.
    """

    array: jax.Array
    shape: Shape
    pad: Number | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    @property
    def sharding(self) -> NamedSharding:
        """How the padded array lies on the mesh."""
        return cast("NamedSharding", self.array.sharding)

    def crop(self) -> jax.Array:
        """The elements as an array of its own shape; what is padded is cut no more."""
        return cropped(self.array, self.shape, self.sharding)

    def blocks(self) -> Iterator[tuple[Index, np.ndarray]]:
        """The elements that the devices of this process have, with their place in the whole; each place once."""
        seen: set[tuple[tuple[int, int], ...]] = set()
        for shard in self.array.addressable_shards:
            bounds = [s.indices(n) for s, n in zip(shard.index, self.array.shape, strict=True)]
            ranges = tuple((low, min(high, n)) for (low, high, _), n in zip(bounds, self.shape, strict=True))
            if ranges not in seen and all(low < high for low, high in ranges):
                seen.add(ranges)
                part = np.asarray(shard.data)[tuple(slice(high - low) for low, high in ranges)]
                yield tuple(slice(low, high) for low, high in ranges), part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The elements as an array of NumPy, if this process has them all."""
        if not self.array.is_fully_addressable:
            message = "this process does not have all elements of the array"
            raise LowerError(
                "array-elsewhere", message, help="take its own with .blocks(), or .crop() in all processes"
            )
        return np.array(np.asarray(self.array)[tuple(map(slice, self.shape))], dtype=dtype)

    def __jax_array__(self) -> jax.Array:
        """What `jnp.asarray` gives."""
        return self.crop()

    def __repr__(self) -> str:
        kept = "x".join(map(str, self.array.shape))
        return f"PaddedArray(shape={self.shape}, dtype={self.dtype}, kept as {kept} by {self.sharding.spec})"


def on_mesh(value: Any, shape: Shape, sharding: NamedSharding, pad: Number) -> Any:
    """An array in a padded shape on a mesh; what it does not have holds `pad`."""
    if isinstance(value, PaddedArray):
        if value.array.shape == shape:
            array = _laid(value.array, sharding)
            return array if _same(value.pad, pad) else _filled(value.shape, sharding, pad)(array)
        value = value.crop()
    if isinstance(value, Tracer):
        return _laid(_padded(_laid(value, uncut(sharding, value.shape)), shape, pad), sharding)
    if isinstance(value, jax.Array) and value.sharding.device_set == sharding.device_set:
        if value.shape == shape:
            return jax.device_put(value, sharding)
        return _widened(shape, sharding, pad)(jax.device_put(value, uncut(sharding, value.shape)))
    if isinstance(value, jax.Array) and not value.is_fully_addressable:
        message = "an array lies on other devices than those of the mesh, some of them of other processes"
        raise LowerError("array-elsewhere", message, help="make it on the mesh of the kernel")
    host = np.asarray(value)
    return from_blocks(lambda index: host[index], host.shape, host.dtype, shape, sharding, pad)


def from_blocks(
    read: Read, extents: Shape, dtype: np.dtype[Any], shape: Shape, sharding: NamedSharding, pad: Number
) -> jax.Array:
    """A padded array on a mesh, of which `read` gives parts: those of the devices of this process, and no others."""

    def block(index: Index | None) -> np.ndarray:
        ranges = [s.indices(n) for s, n in zip(index or (), shape, strict=True)]
        inside = tuple(slice(min(low, n), min(high, n)) for (low, high, _), n in zip(ranges, extents, strict=True))
        widths = [(0, (high - low) - (s.stop - s.start)) for (low, high, _), s in zip(ranges, inside, strict=True)]
        part = np.zeros([s.stop - s.start for s in inside], dtype)
        if part.size:
            part = np.asarray(read(inside), dtype)
        return np.pad(part, widths, constant_values=cast("Any", pad)) if any(w for _, w in widths) else part

    return jax.make_array_from_callback(shape, sharding, block)


def cropped(array: Any, shape: Shape, sharding: NamedSharding) -> Any:
    """An array without its padding; dimensions that the mesh does not divide are on every device."""
    if array.shape == shape:
        return array
    return _cropping(shape, uncut(sharding, shape))(array)


def uncut(sharding: NamedSharding, shape: Sequence[int]) -> NamedSharding:
    """How an array of a shape lies on a mesh: as by a sharding, but for dimensions that are not divided."""
    spec = tuple(sharding.spec) + (None,) * (len(shape) - len(sharding.spec))
    kept = (axes if n % _count(sharding, axes) == 0 else None for axes, n in zip(spec, shape, strict=True))
    return NamedSharding(sharding.mesh, PartitionSpec(*kept))


def is_explicit(sharding: NamedSharding) -> bool:
    """Whether some axes of a mesh are part of the types of arrays."""
    return AxisType.Explicit in sharding.mesh.axis_types


def _count(sharding: NamedSharding, axes: Any) -> int:
    names = () if axes is None else axes if isinstance(axes, tuple) else (axes,)
    return int(np.prod([sharding.mesh.shape[name] for name in cast("tuple[str, ...]", names)], dtype=int))


def _laid(value: Any, sharding: NamedSharding) -> Any:
    """An array on a mesh in another way."""
    if isinstance(value, Tracer) and is_explicit(sharding):
        return reshard(value, sharding)
    return jax.device_put(value, sharding)


def _padded(value: Any, shape: Shape, pad: Number) -> Any:
    widths = [(0, wide - n) for wide, n in zip(shape, value.shape, strict=True)]
    return jnp.pad(value, widths, constant_values=cast("Any", pad)) if any(w for _, w in widths) else value


def _same(one: Number | None, other: Number) -> bool:
    return one is not None and (one == other or one is other)


@cache
def _cropping(shape: Shape, sharding: NamedSharding) -> Callable[[Any], Any]:
    def crop(array: Any) -> Any:
        whole = reshard(array, sharding) if is_explicit(sharding) else array
        return whole[tuple(slice(n) for n in shape)]

    return jax.jit(crop, out_shardings=sharding)


@cache
def _widened(shape: Shape, sharding: NamedSharding, pad: Number) -> Callable[[Any], Any]:
    def widen(array: Any) -> Any:
        wide = _padded(array, shape, pad)
        return reshard(wide, sharding) if is_explicit(sharding) else wide

    return jax.jit(widen, out_shardings=sharding)


@cache
def _filled(extents: Shape, sharding: NamedSharding, pad: Number) -> Callable[[Any], Any]:
    """What stores a number in the padding; each device does so in its own."""

    def fill(array: Any) -> Any:
        value = jnp.asarray(pad, array.dtype)
        for d, n in enumerate(extents):
            if n < array.shape[d]:
                places = jax.lax.broadcasted_iota(jnp.int32, array.shape, d, out_sharding=_typed(sharding))
                array = jnp.where(places < n, array, value)
        return array

    return jax.jit(fill, out_shardings=sharding)


def _typed(sharding: NamedSharding) -> NamedSharding | None:
    return sharding if is_explicit(sharding) else None
