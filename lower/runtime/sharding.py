"""Kernels on several devices: which dimension lies on which mesh axes, padding and cropping at the border of a call.

XLA's partitioner distributes the work and exchanges what neighbours need; `lower.runtime.padding` makes every sharded
dimension one that its axes divide. Owns specs, their checks, and the way of arrays to the mesh and back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from egraph_rules.cost.target import CPU, Target
from ir.errors import LowerError, suggest
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import Buffer, PrimFunc
from ir.traverse import results_of
from lower.analysis.freedoms import HIGHEST, Precision
from lower.emission.emitted import Emitted
from lower.emission.function import emit_function
from lower.runtime.padded_extents import number
from lower.runtime.padding import Padded, padded

Shardings = Mapping[str, "PartitionSpec | tuple[object, ...]"]
Spec = tuple[tuple[str, ...], ...]  # the mesh axes of each dimension


@dataclass(frozen=True)
class MeshLayout:
    """A mesh and the axes of each dimension of each buffer parameter."""

    mesh: Mesh
    specs: Mapping[str, Spec]

    def parts(self) -> dict[tuple[str, int], int]:
        """Into how many parts each sharded dimension is cut."""
        cut = {(name, d): self.count(axes) for name, spec in self.specs.items() for d, axes in enumerate(spec)}
        return {dim: count for dim, count in cut.items() if count > 1}

    def count(self, axes: tuple[str, ...]) -> int:
        """Into how many parts mesh axes cut a dimension."""
        return prod(self.mesh.shape[axis] for axis in axes)

    def sharding(self, name: str, shape: tuple[int, ...]) -> NamedSharding:
        """How an array of a parameter lies on the mesh; dimensions that their axes do not divide are not cut."""
        spec = (axes if n % self.count(axes) == 0 else () for axes, n in zip(self.specs[name], shape, strict=True))
        return NamedSharding(self.mesh, PartitionSpec(*(axes or None for axes in spec)))


def mesh_layout(func: PrimFunc, mesh: Mesh, shardings: Shardings | None, platform: str) -> MeshLayout:
    """The checked layout of a function's parameters on a mesh whose devices must be of a platform (cpu, gpu or tpu).

    Raises:
        LowerError: the mesh has other devices; a name is no buffer parameter; a spec has too many dimensions, names an
            axis that the mesh does not have or one twice, or is no spec.
    """
    if not isinstance(mesh, Mesh):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"mesh must be a jax.sharding.Mesh, found {mesh!r}"
        raise LowerError("mesh", message, help="make one with jax.make_mesh((8,), ('x',))")
    found = {"cuda": "gpu", "rocm": "gpu"}.get(p := mesh.devices.flat[0].platform, p)
    if found != platform:
        message = f"the mesh has {found} devices, but the target is {platform}"
        raise LowerError("mesh-platform", message, help=f"pass target={found!r}, or a mesh of {platform} devices")
    if mesh.is_multi_process:
        message = "the mesh has devices of other processes"
        raise LowerError("mesh", message, help="use a mesh of the devices of this process, jax.local_devices()")
    buffers = {b.name: b for b in func.buffers}
    specs: dict[str, Spec] = {}
    for name, spec in (shardings or {}).items():
        if name not in buffers:
            message = f"{func.name} has no buffer parameter `{name}` to shard"
            help = suggest(name, buffers) or f"its buffer parameters are {', '.join(buffers) or 'none'}"
            raise LowerError("sharding-parameter", message, func.span, help=help)
        specs[name] = _spec(buffers[name], spec, mesh)
    for name, buffer in buffers.items():
        specs.setdefault(name, ((),) * len(buffer.shape))
    # How arrays are cut inside the kernel is XLA's affair, whatever kind of axes the caller's programs use.
    automatic = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    return MeshLayout(automatic, specs)


def _spec(buffer: Buffer, spec: object, mesh: Mesh) -> Spec:
    if not isinstance(spec, (PartitionSpec, tuple)):
        message = f"the sharding of {buffer.name} must be a PartitionSpec or a tuple, found {spec!r}"
        raise LowerError("sharding", message, buffer.span, help="give an axis name or None for each dimension")
    entries = tuple(cast("tuple[object, ...]", spec))
    rank = len(buffer.shape)
    if len(entries) > rank or (len(entries) < rank and not isinstance(spec, PartitionSpec)):
        message = f"the sharding of {buffer.name} has {len(entries)} entries, but {buffer.name} has {rank} dimensions"
        raise LowerError("sharding-rank", message, buffer.span, help="give an axis name or None for each dimension")
    axes = tuple(_axes(buffer, entry, mesh) for entry in entries)
    used = [axis for some in axes for axis in some]
    for axis in used:
        if used.count(axis) > 1:
            message = f"the sharding of {buffer.name} uses the mesh axis `{axis}` twice"
            help = "an axis can cut one dimension only: leave it away from the others"
            raise LowerError("sharding-axis", message, buffer.span, help=help)
    return axes + ((),) * (rank - len(axes))


def _axes(buffer: Buffer, entry: object, mesh: Mesh) -> tuple[str, ...]:
    names = () if entry is None else entry if isinstance(entry, (tuple, list)) else (entry,)
    for name in cast("tuple[object, ...]", names):
        if name not in mesh.axis_names:
            message = f"the sharding of {buffer.name} names {name!r}, which is no axis of the mesh"
            help = suggest(name, mesh.axis_names) or f"its axes are {', '.join(map(str, mesh.axis_names))}"
            raise LowerError("sharding-axis", message, buffer.span, help=help)
    return tuple(cast("tuple[str, ...]", names))


# One program on the mesh ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sharded:
    """A function whose sizes are numbers, as a program over padded arrays on a mesh."""

    layout: MeshLayout
    func: PrimFunc
    padded: Padded
    emitted: Emitted
    checks: int  # how many results after the written buffers are verdicts of checks

    @property
    def report(self) -> list[str]:
        """What was padded and why that is harmless, then the form of each statement."""
        return [*self.padded.report, *self.emitted.report]

    def jit(self, function: Callable[..., Any], donated: Collection[str] = ()) -> Callable[..., Any]:
        """What JAX compiles: `function`, which the emitted source defines, with its results cut as asked for.

        `donated` names parameters whose arrays the call may take; those that the padded program only hands on stay.
        """
        cut = [self.layout.sharding(b.name, _shape(b)) for b in results_of(self.padded.func)]
        whole = NamedSharding(self.layout.mesh, PartitionSpec())
        names = [self.emitted.names[b.name] for b in results_of(self.padded.func) if b.name in donated]
        return jax.jit(function, out_shardings=(*cut, *[whole] * self.checks), donate_argnames=names)

    def place(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by parameter name, padded and put on the mesh; what may be left out may be missing."""
        out: dict[str, Any] = {}
        for param in self.padded.func.params:
            value = arguments.get(param.name)
            if isinstance(param, Buffer):
                if value is None and param not in self.emitted.optional:
                    value = np.zeros(_shape(param), param.dtype.numpy)  # not read, or the caller had to give it
                if value is not None:
                    value = self._placed(param, value)
            if value is not None:
                out[param.name] = value
        return out

    def _placed(self, buffer: Buffer, value: Any) -> Any:
        shape = _shape(buffer)
        widths = [(0, wide - n) for wide, n in zip(shape, value.shape, strict=True)]
        if any(after for _, after in widths):
            # Arrays of NumPy are padded where they are, so that each device only gets its part.
            pad = np.pad if isinstance(value, np.ndarray) else jnp.pad
            value = pad(value, widths, constant_values=self.padded.values[buffer.name])
        return jax.device_put(value, self.layout.sharding(buffer.name, shape))

    def named(self, placed: Mapping[str, Any]) -> dict[str, Any]:
        """What `place` gives, by the names that the emitted source uses."""
        return {self.emitted.names[name]: value for name, value in placed.items()}

    def results(self, found: Sequence[Any], placed: Mapping[str, Any]) -> list[Any]:
        """The written buffers in parameter order at their sizes, then the verdicts of checks."""
        changed = {b.name: array for b, array in zip(results_of(self.padded.func), found, strict=False)}
        out: list[Any] = []
        for buffer in results_of(self.func):
            array = (
                changed[buffer.name] if buffer.name in changed else placed[buffer.name]
            )  # all its stores may be gone
            shape = _shape(buffer)
            out.append(array if array.shape == shape else self._crop(buffer.name, shape)(array))
        return [*out, *found[len(changed) :]]

    def _crop(self, name: str, shape: tuple[int, ...]) -> Callable[[Any], Any]:
        return _cropping(shape, self.layout.sharding(name, shape))


@cache
def _cropping(shape: tuple[int, ...], sharding: NamedSharding) -> Callable[[Any], Any]:
    def crop(array: Any) -> Any:
        return array[tuple(slice(n) for n in shape)]

    return jax.jit(crop, out_shardings=sharding)


def sharded(
    func: PrimFunc,
    layout: MeshLayout,
    *,
    checks: bool = False,
    target: Target = CPU,
    floats: Floats = DEFAULT_FLOATS,
    precision: Precision = HIGHEST,
    without: frozenset[str] = frozenset(),
) -> Sharded:
    """A function whose sizes are numbers on a mesh; with `checks`, no loop runs over padding."""
    unread = [b.name for b in emit_function(func).optional]
    wide = padded(func, layout.parts(), unread, keep_checks=checks)
    # Devices of a CPU exchange maxima by comparing them, which loses NaN (docs/devices.md).
    on_cpu = layout.mesh.devices.flat[0].platform == "cpu"
    keep_nan = on_cpu and bool(layout.parts())
    emitted = emit_function(
        wide.func, checks, target, keep_nan=keep_nan, floats=floats, precision=precision, without=without
    )
    return Sharded(layout, func, wide, emitted, len(emitted.checks))


def _shape(buffer: Buffer) -> tuple[int, ...]:
    sizes = [number(extent) for extent in buffer.shape]
    assert all(n is not None for n in sizes), "sizes are numbers here"
    return tuple(n for n in sizes if n is not None)
