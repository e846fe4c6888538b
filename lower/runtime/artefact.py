"""Kernels as artefacts that outlive Python: `jax.export` for several platforms, and StableHLO as text.

A function is optimized once; its sizes are numbers, or stay open as JAX's dimension variables where its source permits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
from jax import core as jax_core
from jax import export as jax_export

from egraph_rules.cost.target import CPU
from ir.analysis.effects import EffectAnalysis
from ir.errors import LoopsatError, LowerError, expect, suggest
from ir.floats import Floats, floats_named
from ir.nodes import Binary, Buffer, Const, Expr, Module, PrimFunc, Var
from ir.presburger import sets as pb
from ir.program.blocks import lower_blocks
from ir.program.modules import ENTRY, Written
from ir.semantics.specialize import specialize
from ir.semantics.verify import entered
from ir.traverse import free_vars, results_of, shape_vars
from lower.analysis.freedoms import HIGHEST, Precision, precision_named
from lower.emission.descriptions import extent_described
from lower.emission.emitted import Emitted
from lower.emission.function import emit_function
from lower.runtime.calibration import user_target
from lower.runtime.callable import Kernel
from lower.runtime.platforms import platform_of
from lower.runtime.switches import switched_off


def export(
    program: Written | Module,
    platforms: Sequence[str] = ("cpu", "cuda", "tpu"),
    *,
    sizes: Mapping[str, int | str] | None = None,
    symbolic: bool = False,
    constraints: Sequence[str] = (),
    floats: Floats | str | Iterable[str] | None = None,
    verify: bool = True,
    precision: str = HIGHEST,
    without: Iterable[str] = (),
    entry: str = ENTRY,
) -> bytes:
    """A serialized `jax.export` artefact for several platforms, which takes the arrays and scalars by name.

    Of a module, `entry` is exported.
    `sizes` gives sizes of the function their values; a string, such as `"n"` or `"4*k"`, leaves one open in terms of
    dimension variables, and `symbolic` does so for all that are not given. Dimension variables are at least 1, which is
    a rule of JAX, and satisfy `constraints`, such as `"n >= 4"`, which calls of the artefact check; the arrays that it
    is called with tell their values. Buffers that are overwritten as a whole, which is proven, are no arguments, unless
    only their shape tells an open size; where something is kept, it is that of the argument. An artefact with 64-bit
    dtypes is to be called under `jax.enable_x64()`.

    For one platform, its prices decide between forms (those of `loopsat calibrate`, if it keeps any); for several, the
    CPU's, as they all run one source.

    Raises:
        LowerError: a platform is unknown, or a size is missing, unknown, or cannot stay open; the message says which
            one must be a number.
        VerifyError: the program has no meaning; `verify=False` vouches for one that `ir.verify` has not seen.
    """
    func = entered(program, entry, verify)
    policy, digits, off = floats_named(floats), precision_named(precision), switched_off(without).forms
    return bytes(_exported(func, platforms, sizes, symbolic, constraints, policy, digits, off).serialize())


def stablehlo_text(
    program: Written | Module,
    platforms: Sequence[str] = ("cpu",),
    *,
    sizes: Mapping[str, int | str] | None = None,
    symbolic: bool = False,
    constraints: Sequence[str] = (),
    floats: Floats | str | Iterable[str] | None = None,
    precision: str = HIGHEST,
    without: Iterable[str] = (),
    verify: bool = True,
    entry: str = ENTRY,
) -> str:
    """StableHLO of a function, or of `entry` of a module, as text; sizes as for `export`, with the same errors."""
    func = entered(program, entry, verify)
    policy, digits, off = floats_named(floats), precision_named(precision), switched_off(without).forms
    return str(_exported(func, platforms, sizes, symbolic, constraints, policy, digits, off).mlir_module())


def _exported(
    func: PrimFunc,
    platforms: Sequence[str],
    sizes: Mapping[str, int | str] | None,
    symbolic: bool,
    constraints: Sequence[str],
    floats: Floats,
    precision: Precision,
    without: frozenset[str],
) -> jax_export.Exported:
    expect(platforms, Iterable, "platforms are names", 'as in ["cpu", "tpu"]')
    kinds = {platform_of(p) for p in platforms}
    # One source serves all platforms: with several it has the forms that a CPU prefers.
    prices = user_target(kinds.pop() if len(kinds) == 1 else CPU)
    emitted = emit_function(func, target=prices.target, floats=floats, precision=precision, without=without)
    kernel = Kernel(emitted, jax.devices("cpu")[0])
    needed = [*shape_vars(func), *(s for s in func.scalars if s in emitted.static)]
    given = _given(func, needed, sizes or {}, symbolic)
    opened = {name: text for name, text in given.items() if isinstance(text, str)}
    fresh = _overwritten(specialize(func, {n: size for n, size in given.items() if isinstance(size, int)}))

    def attempt(values: Mapping[str, int | str], known: Sequence[str] = constraints) -> jax_export.Exported:
        arguments = _export_arguments(emitted, needed, _dimensions(func, values, known), fresh)
        with kernel.context():
            make: Callable[..., Any] = jax_export.export(kernel.jitted, platforms=tuple(platforms))
            return make(**arguments)

    if not opened:
        return attempt(given)
    try:
        return attempt(given)
    except LoopsatError:
        raise
    except Exception as error:  # JAX has errors of many types for shapes that it cannot work with
        raise _must_be_numbers(func, given, error, attempt, constraints) from error


def _given(
    func: PrimFunc, needed: Sequence[Var], sizes: Mapping[str, int | str], symbolic: bool
) -> dict[str, int | str]:
    """What each size is to be: a number, or an expression over dimension variables."""
    names = [v.name for v in needed]
    for name in sizes:
        if name not in names:
            help = suggest(name, names) or f"its sizes are {', '.join(names) or 'none'}"
            raise LowerError("unknown-size", f"{func.name} has no size `{name}`", func.span, help=help)
    missing = [name for name in names if name not in sizes]
    if missing and not symbolic:
        raise LowerError(
            "unbound-size",
            f"exporting {func.name} needs values for {', '.join(missing)}",
            func.span,
            help=f"pass sizes={{{missing[0]!r}: ...}}, or symbolic=True to leave them open",
        )
    return {name: sizes.get(name, name) for name in names}


def _dimensions(func: PrimFunc, given: Mapping[str, int | str], constraints: Sequence[str]) -> dict[str, Any]:
    """Numbers as they are, and expressions as JAX's dimensions, all of one scope."""
    opened = {name: text for name, text in given.items() if isinstance(text, str)}
    if not opened:
        return dict(given)
    try:
        dims = jax_export.symbolic_shape(", ".join(opened.values()), constraints=constraints)
    except ValueError as error:
        texts = ", ".join(map(repr, (*opened.values(), *constraints)))
        message = f"JAX cannot take {texts} for the sizes of {func.name}: {error}"
        raise LowerError("bad-size", message, func.span) from error
    return {**given, **dict(zip(opened, dims, strict=True))}


def _overwritten(func: PrimFunc) -> frozenset[str]:
    """Buffers that the program as it was written stores to in all places, whatever they held: that is not read."""
    effects = EffectAnalysis().of(lower_blocks(func.as_written).body)

    def forgotten(b: Buffer) -> bool:
        kept = b in effects.reads and not effects.reads[b].is_empty()
        return not kept and pb.box(b.shape).is_subset(effects.must[b])

    written = [b for b in results_of(func) if b in effects.must]
    return frozenset(b.name for b in written if pb.within_budget(lambda b=b: forgotten(b), False))


def _export_arguments(
    emitted: Emitted, needed: Sequence[Var], values: Mapping[str, Any], fresh: Collection[str]
) -> dict[str, Any]:
    """Arguments of the jitted function as shapes and dtypes; static sizes as they are. `fresh` are not needed."""
    func = emitted.func
    bindings = {v: values[v.name] for v in needed}
    arguments: dict[str, Any] = {}
    told: set[Var] = set()
    optional = [b for b in func.buffers if b in emitted.optional and b.name in fresh]
    for buffer in (*(b for b in func.buffers if b not in optional), *optional):
        tells = {v for d in buffer.shape for v in free_vars(d) if not isinstance(values[v.name], int)}
        if buffer in optional and tells <= told:
            continue
        told |= tells
        shape = tuple(_extent(func, d, bindings) for d in buffer.shape)
        arguments[emitted.names[buffer.name]] = jax.ShapeDtypeStruct(shape, buffer.dtype.numpy)
    for var in needed:
        if not isinstance(values[var.name], int) and var not in told:
            message = f"the size {var.name} of {func.name} must be a number: no dimension of a buffer tells it"
            raise LowerError("size-must-be-number", message, func.span, help=f"pass sizes={{{var.name!r}: ...}}")
    for param in func.scalars:
        scalar = jax.ShapeDtypeStruct((), param.dtype.numpy)
        arguments[emitted.names[param.name]] = values[param.name] if param in emitted.static else scalar
    return arguments


def _extent(func: PrimFunc, expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The extent of a buffer, as a number or one of JAX's dimensions."""
    match expr:
        case Const(value=value):
            return int(value)
        case Var():
            return values[expr]
        case Binary(op=op, lhs=lhs, rhs=rhs) if op in _EXTENTS:
            return _EXTENTS[op](_extent(func, lhs, values), _extent(func, rhs, values))
        case _:
            message = f"the extent {extent_described(expr)} of a buffer of {func.name} cannot be exported"
            raise LowerError("extent", message, expr.span or func.span)


_EXTENTS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "floormod": operator.mod, "min": jax_core.min_dim, "max": jax_core.max_dim,
}  # fmt: skip
_TRIED = 16  # a size to try in place of one that is open


def _must_be_numbers(
    func: PrimFunc,
    given: Mapping[str, int | str],
    error: Exception,
    attempt: Callable[[Mapping[str, int | str], Sequence[str]], object],
    constraints: Sequence[str],
) -> LowerError:
    """Which open sizes stand in the way: each one alone with which it works as a number, or else all."""
    opened = [name for name, text in given.items() if isinstance(text, str)]
    guilty = [name for name in opened if _works(attempt, {**given, name: _TRIED}, constraints)]
    which = f"{guilty[0]}" if len(guilty) == 1 else " or ".join(guilty) or ", ".join(opened)
    noun = "size" if guilty or len(opened) == 1 else "sizes"
    large = (*constraints, *(f"{name} >= {_TRIED}" for name in opened if given[name] == name))
    enough = f"constraints=('{large[-1]}',)" if len(large) > len(constraints) and _works(attempt, given, large) else ""
    other = f"bound it below, as in {enough}" if enough else "compile once for each shape"
    reason = str(error).strip().splitlines()[0]
    return LowerError(
        "size-must-be-number",
        f"the {noun} {which} of {func.name} must be {'a number' if noun == 'size' else 'numbers'} to be exported",
        func.span,
        notes=[f"JAX cannot trace the kernel otherwise: {type(error).__name__}: {reason}"],
        help=f"pass sizes={{{(guilty or opened)[0]!r}: ...}}, or {other}",
    )


def _works(
    attempt: Callable[[Mapping[str, int | str], Sequence[str]], object],
    values: Mapping[str, int | str],
    constraints: Sequence[str],
) -> bool:
    try:
        attempt(values, constraints)
    except Exception:  # as above
        return False
    return True
