"""Compiled kernels: calling convention, checks of arguments, export. Owns no code generation."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, cast

import jax
import numpy as np
from jax import export as jax_export

from ir.errors import InterpretError, LowerError
from ir.interpret import Machine
from ir.nodes import Buffer, Const, PrimFunc, Var
from ir.traverse import all_exprs, shape_vars
from lower.source import Emitted, emit_program

Device = Any  # jax.Device is an alias that type checkers do not see through
PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}


@dataclass(slots=True)
class Kernel:
    """A function that runs under JAX.

    Call it with arrays and scalars in parameter order or by name; it returns the written buffers in parameter order.
    Buffers in `optional` may be left out: what is then never written is zero. `source` is the JAX code, `report` what
    was chosen for each statement, `jitted` the JAX function itself.
    """

    func: PrimFunc
    source: str
    report: tuple[str, ...]
    optional: tuple[str, ...]
    jitted: Callable[..., tuple[jax.Array, ...]]
    emitted: Emitted = field(repr=False)
    device: Device = field(repr=False)
    needs_context: bool = field(repr=False)

    @property
    def params(self) -> tuple[str, ...]:
        """Parameter names, in call order."""
        return tuple(p.name for p in self.func.params)

    def __call__(self, *args: object, **named: object) -> tuple[jax.Array, ...]:
        """Run the kernel.

        Raises:
            LowerError: an argument is missing, unknown, or of the wrong shape or dtype; or a check failed.
        """
        arguments = self.arguments(args, named)
        if not self.needs_context:  # entering contexts costs more than a small kernel
            return self._checked(self.jitted(**arguments))
        with wide_types(self.func), jax.default_device(self.device):
            return self._checked(self.jitted(**arguments))

    def _checked(self, results: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        count = len(results) - len(self.emitted.checks)
        for check, held in zip(self.emitted.checks, results[count:], strict=True):
            if not bool(held):
                what = type(check.node).__name__.lower()
                raise LowerError(f"{what}-false", f"an {what} of {self.func.name} does not hold", check.node.span)
        return results[:count]

    def arguments(self, args: Sequence[object], named: dict[str, object]) -> dict[str, object]:
        """Arguments by the names that the emitted function uses, checked and converted."""
        if len(args) > len(self.func.params):
            raise LowerError("arguments", f"{self.func.name} takes {len(self.params)} arguments, {len(args)} given")
        unknown = [n for n in named if n not in self.params]
        if unknown:
            raise LowerError("arguments", f"{self.func.name} has no parameter `{unknown[0]}`")
        given = dict(zip(self.params, args, strict=False)) | named
        sizes: dict[Var, int] = {}
        out: dict[str, object] = {}
        for var in self.func.scalars:
            if given.get(var.name) is None:
                raise LowerError("arguments", f"{self.func.name} needs the scalar `{var.name}`")
            value = given[var.name]
            if var.name in self.emitted.static:
                value = int(cast(Any, value))
                sizes[var] = value
            else:
                value = np.asarray(value, var.dtype.numpy)
            out[var.name] = value
        for buffer in self.func.buffers:
            array = given.get(buffer.name)
            if array is None:
                if buffer.name not in self.optional:
                    raise LowerError(
                        "arguments", f"{self.func.name} reads `{buffer.name}`, which is missing", help="pass an array"
                    )
                continue
            out[buffer.name] = _array(buffer, array, sizes, shape_vars(self.func))
        for buffer in self.func.buffers:
            if buffer.name in out:
                _check_shape(buffer, cast(Any, out[buffer.name]).shape, sizes)
        return {self.emitted.parameters[name]: value for name, value in out.items()}

    def lower(self, *args: object, **named: object) -> Any:
        """JAX's lowering for these arguments, for inspection and compilation ahead of time."""
        with wide_types(self.func):
            return cast(Any, self.jitted).lower(**self.arguments(args, named))


def wide_types(func: PrimFunc) -> AbstractContextManager[object]:
    """64-bit types where a function needs them, without touching the caller's JAX settings."""
    return cast("AbstractContextManager[object]", jax.enable_x64(True)) if is_wide(func) else nullcontext()


def is_wide(func: PrimFunc) -> bool:
    """Whether a function uses 64-bit types."""
    dtypes = {p.dtype for p in func.params} | {e.dtype for e in all_exprs(func.body)}
    return any(d.bits == 64 for d in dtypes)


def _array(buffer: Buffer, value: object, sizes: dict[Var, int], symbols: Sequence[Var]) -> object:
    array: Any = value if isinstance(value, jax.Array) else np.asarray(value)
    if array.ndim != len(buffer.shape):
        raise LowerError(
            "arguments", f"`{buffer.name}` has {len(buffer.shape)} dimensions, an array of {array.ndim} was given"
        )
    if array.dtype != buffer.dtype.numpy:
        raise LowerError(
            "arguments",
            f"`{buffer.name}` is {buffer.dtype}, an array of {array.dtype} was given",
            help=f'convert it with .astype("{buffer.dtype}")',
        )
    for extent, size in zip(buffer.shape, array.shape, strict=True):
        if isinstance(extent, Var) and extent in symbols:
            sizes.setdefault(extent, int(size))
    return array


def _check_shape(buffer: Buffer, found: tuple[int, ...], sizes: dict[Var, int]) -> None:
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update(sizes)
    try:
        expected = machine.shape(buffer)
    except (KeyError, InterpretError) as error:
        raise LowerError("arguments", f"the shape of `{buffer.name}` does not follow from the arguments") from error
    if found != expected:
        raise LowerError("arguments", f"`{buffer.name}` has shape {expected}, an array of {found} was given")


def compile(func: PrimFunc, target: str = "cpu", *, checks: bool = False) -> Kernel:
    """A callable kernel; XLA compiles it at the first call.

    With `checks`, assertions and assumptions are evaluated and a false one raises LowerError.

    Raises:
        LowerError: the target is unknown.
    """
    emitted = emit_program(func, checks)
    device, note = _device(target)
    report = (*emitted.report, note) if note else emitted.report
    needs_context = is_wide(func) or device != jax.devices()[0]
    return Kernel(func, emitted.source, report, emitted.optional, load_source(emitted), emitted, device, needs_context)


def load_source(emitted: Emitted) -> Callable[..., tuple[jax.Array, ...]]:
    """The function that emitted source defines."""
    namespace: dict[str, object] = {}
    exec(builtins.compile(emitted.source, f"<loopsat {emitted.name}>", "exec"), namespace)
    return cast("Callable[..., tuple[jax.Array, ...]]", namespace[emitted.name])


def _device(target: str) -> tuple[Device, str]:
    if target not in PLATFORMS:
        raise LowerError("unknown-target", f"there is no target `{target}`", help=f"use {', '.join(PLATFORMS)}")
    try:
        return jax.devices(PLATFORMS[target])[0], ""
    except RuntimeError:
        device = jax.devices()[0]
        return device, f"no {target} on this machine: the kernel runs on {device.platform}"


def emit(func: PrimFunc) -> str:
    """JAX source that needs JAX alone: a function with the name and parameters of `func`."""
    return emit_program(func).source


def export(func: PrimFunc, platforms: Sequence[str] = ("cpu", "cuda", "tpu")) -> bytes:
    """A serialised `jax.export` artefact for several platforms at once.

    Raises:
        LowerError: a shape depends on scalars, so that there is no one artefact.
    """
    return bytes(_exported(func, platforms).serialize())


def stablehlo_text(func: PrimFunc, platforms: Sequence[str] = ("cpu", "cuda", "tpu")) -> str:
    """The StableHLO module of a function.

    Raises:
        LowerError: a shape depends on scalars, so that there is no one module.
    """
    return str(_exported(func, platforms).mlir_module())


def _exported(func: PrimFunc, platforms: Sequence[str]) -> jax_export.Exported:
    emitted = emit_program(func)
    if emitted.static or shape_vars(func):
        names = ", ".join([*emitted.static, *(v.name for v in shape_vars(func))])
        raise LowerError(
            "symbolic-shape",
            f"{func.name} has no fixed shape: it depends on {names}",
            func.span,
            help="write the sizes into the kernel, or emit JAX source, which takes any size",
        )
    avals: dict[str, jax.ShapeDtypeStruct] = {}
    for param in func.params:
        if param.name in emitted.optional:
            continue
        shape = tuple(int(cast(Const, e).value) for e in param.shape) if isinstance(param, Buffer) else ()
        avals[emitted.parameters[param.name]] = jax.ShapeDtypeStruct(shape, param.dtype.numpy)
    with wide_types(func):
        return jax_export.export(cast(Any, load_source(emitted)), platforms=list(platforms))(**avals)
