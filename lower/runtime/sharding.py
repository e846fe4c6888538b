"""Kernels on several devices: which dimension lies on which mesh axes, padding and cropping at the border of a call.

XLA's partitioner distributes the work and exchanges what neighbours need; `lower.runtime.padding` makes every sharded
dimension one that its axes divide. Owns specs, their checks, and the way of arrays to the mesh and back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from math import prod
from typing import Any, cast

import jax
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from ir.errors import LowerError, suggest
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import Buffer, PrimFunc
from ir.traverse import results_of
from lower.analysis.freedoms import HIGHEST, Policy, Precision
from lower.distribute.source import spmd_source
from lower.distribute.spmd import Spmd, distributed
from lower.distribute.stages import NotDistributed
from lower.emission.emitted import Emitted
from lower.emission.function import emit_function
from lower.runtime.padded_array import PaddedArray, Read, cropped, from_blocks, on_mesh, uncut
from lower.runtime.padded_extents import number
from lower.runtime.padding import Padded, padded

Shardings = Mapping[str, "PartitionSpec | tuple[object, ...]"]
Spec = tuple[tuple[str, ...], ...]  # the mesh axes of each dimension


class MeshLayout(Struct, frozen=True):
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
        axes = (a[0] if len(a) == 1 else a or None for a in self.specs[name])
        return uncut(NamedSharding(self.mesh, PartitionSpec(*axes)), shape)


def mesh_layout(func: PrimFunc, mesh: Mesh, shardings: Shardings | None, platform: str) -> MeshLayout:
    """The checked layout of a function's parameters on a mesh whose devices must be of a platform (cpu, gpu or tpu).

    Raises:
        LowerError: the mesh has other devices; a name is no buffer parameter; a spec has too many dimensions, names an
            axis that the mesh does not have or one twice, or is no spec.
    """
    if not isinstance(mesh, Mesh):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"mesh must be a jax.sharding.Mesh, found {mesh!r}"
        count = jax.device_count()
        raise LowerError(
            "mesh", message, help=f"of the {count} devices here, jax.make_mesh(({count},), ('x',)) makes one"
        )
    found = {"cuda": "gpu", "rocm": "gpu"}.get(p := mesh.devices.flat[0].platform, p)
    if found != platform:
        message = f"the mesh has {found} devices, but the target is {platform}"
        raise LowerError("mesh-platform", message, help=f"pass target={found!r}, or a mesh of {platform} devices")
    if not mesh.local_devices:
        message = "this process has none of the devices of the mesh"
        raise LowerError("mesh", message, help="make the mesh of jax.devices(), and call in all of their processes")
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
    return MeshLayout(mesh, specs)


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


class Sharded(Struct, frozen=True):
    """A function whose sizes are numbers, as a program over padded arrays on a mesh."""

    layout: MeshLayout
    func: PrimFunc
    padded: Padded
    emitted: Emitted
    spmd: Spmd | None  # what each device does; None where each does all
    checks: int  # how many results after the written buffers are verdicts of checks

    @property
    def report(self) -> list[str]:
        """What was padded and why that is harmless, then the form of each statement."""
        return [*self.padded.report, *self.emitted.report]

    def jit(self, function: Callable[..., Any], donated: Collection[str] = ()) -> Callable[..., Any]:
        """What JAX compiles: `function`, which the emitted source defines, with its results cut as asked for.

        `donated` names parameters whose arrays the call may take; those that the padded program only hands on stay.
        """
        on_devices = self._on_devices(function if self.spmd is not None else self._whole(function))
        names = [self.emitted.names[b.name] for b in results_of(self.padded.func) if b.name in donated]
        return jax.jit(on_devices, donate_argnames=names)

    def _on_devices(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that each device runs on its own parts, as one of whole arrays."""
        names = [self.emitted.names[p.name] for p in self.padded.func.params]
        buffers = {b.name: self._spec(b) for b in self.padded.func.buffers}
        specs = tuple(buffers.get(p.name, PartitionSpec()) for p in self.padded.func.params)
        results = tuple(buffers[b.name] for b in results_of(self.padded.func)) + (PartitionSpec(),) * self.checks
        mapped = jax.shard_map(function, mesh=self.layout.mesh, in_specs=specs, out_specs=results, check_vma=False)

        @wraps(function)
        def whole(*arguments: Any, **named: Any) -> Any:
            given = dict(zip(names, arguments, strict=False)) | named
            return mapped(*(given.get(name) for name in names))

        return whole

    def _whole(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of whole arrays as each device runs it: it has all of them, and keeps its parts of the results.

        XLA's partitioner is not asked: it was seen to store wrong elements.
        """
        specs = {b.name: self._spec(b) for b in self.padded.func.buffers}
        params = [(self.emitted.names[p.name], specs.get(p.name, PartitionSpec())) for p in self.padded.func.params]

        @wraps(function)
        def own(*arguments: Any) -> Any:
            given = {n: _gathered(a, spec) for (n, spec), a in zip(params, arguments, strict=True) if a is not None}
            found = function(**given)
            cut = [specs[b.name] for b in results_of(self.padded.func)]
            mine = [self._own_part(a, spec) for a, spec in zip(found, cut, strict=False)]
            return *mine, *found[len(cut) :]

        return own

    def _own_part(self, array: Any, spec: PartitionSpec) -> Any:
        for d, axes in _cuts(spec):
            size = array.shape[d] // self.layout.count(axes)
            array = lax.dynamic_slice_in_dim(array, lax.axis_index(axes) * size, size, d)
        return array

    def _spec(self, buffer: Buffer) -> PartitionSpec:
        return self.layout.sharding(buffer.name, _shape(buffer)).spec

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
        shape, name = _shape(buffer), buffer.name
        if isinstance(value, Tracer):
            lies = jax.typeof(value).sharding.mesh  # pyright: ignore
            if not lies.empty and lies.shape_tuple != self.layout.mesh.shape_tuple:
                message = f"parameter {name} of {self.func.name} lies on another mesh, {lies.shape_tuple}"
                help = "inside of a function that JAX traces, arrays stay on their mesh: move it there before"
                raise LowerError("mesh", message, help=help)
        return on_mesh(value, shape, self.layout.sharding(name, shape), self.padded.values.get(name, 0))

    def from_blocks(self, name: str, read: Read) -> Any:
        """An array for a parameter, of which `read` gives the ranges that devices of this process have."""
        old, new = (next(b for b in f.buffers if b.name == name) for f in (self.func, self.padded.func))
        shape, pad = _shape(new), self.padded.values.get(name, 0)
        array = from_blocks(read, _shape(old), new.dtype.numpy, shape, self.layout.sharding(name, shape), pad)
        return array if shape == _shape(old) else PaddedArray(array, _shape(old), pad)

    def named(self, placed: Mapping[str, Any]) -> dict[str, Any]:
        """What `place` gives, by the names that the emitted source uses."""
        return {self.emitted.names[name]: value for name, value in placed.items()}

    def results(self, found: Sequence[Any], placed: Mapping[str, Any], *, padded: bool = False) -> list[Any]:
        """The written buffers in parameter order at their sizes, or `padded`, then the verdicts of checks."""
        changed = {b.name: array for b, array in zip(results_of(self.padded.func), found, strict=False)}
        out: list[Any] = []
        for buffer in results_of(self.func):
            own, shape = buffer.name in changed, _shape(buffer)
            array = changed[buffer.name] if own else placed[buffer.name]  # all its stores may be gone
            if padded and array.shape != shape:
                out.append(PaddedArray(array, shape, None if own else self.padded.values.get(buffer.name, 0)))
            else:
                out.append(cropped(array, shape, self.layout.sharding(buffer.name, array.shape)))
        return [*out, *found[len(changed) :]]


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
    # Devices of a CPU exchange maxima by comparing them, which loses NaN.
    on_cpu = layout.mesh.devices.flat[0].platform == "cpu"
    policy = Policy(floats, precision, without)
    spmd, found = None, None
    why: list[str] = []
    if layout.parts() and checks:
        why.append("each device has all arrays, and does all work: checks look at them whole")
    elif layout.parts():
        try:
            spmd = distributed(wide.func, dict(layout.mesh.shape), layout.specs, target, policy)
            optional = [b for b in wide.func.buffers if b.name in unread]
            found = spmd_source(spmd, optional, target, policy, keep_nan=on_cpu)
        except NotDistributed as reason:
            spmd = None
            why.append(f"each device has all arrays, and does all work: {reason}")
    if found is None:
        found = emit_function(wide.func, checks, target, floats=floats, precision=precision, without=without)
    emitted = replace(found, report=(*why, *found.report))
    return Sharded(layout, func, wide, emitted, spmd, len(emitted.checks))


def _cuts(spec: PartitionSpec) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The dimensions that a spec cuts, and by which axes."""
    for d, entry in enumerate(spec):
        if entry is not None:
            yield d, entry if isinstance(entry, tuple) else (entry,)


def _gathered(array: Any, spec: PartitionSpec) -> Any:
    """All of an array, of which a device has a part."""
    for d, axes in _cuts(spec):
        array = lax.all_gather(array, axes, axis=d, tiled=True)
    return array


def _shape(buffer: Buffer) -> tuple[int, ...]:
    sizes = [number(extent) for extent in buffer.shape]
    assert all(n is not None for n in sizes), "sizes are numbers here"
    return tuple(n for n in sizes if n is not None)
