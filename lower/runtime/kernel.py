"""Compilation: from a function and a target to a callable kernel, or to source. Chooses among forms, makes none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import Mesh

from egraph_rules.cost.target import CPU, Target
from ir.errors import LowerError, expect
from ir.floats import Floats, floats_named
from ir.later import keeping, later
from ir.nodes import Module, PrimFunc
from ir.presburger.sets import exclusive
from ir.program.modules import ENTRY, Written
from ir.semantics.verify import entered
from lower.analysis.freedoms import HIGHEST, Policy, precision_named
from lower.emission.donation import Donate
from lower.runtime import kept
from lower.runtime.calibration import price_line, user_target
from lower.runtime.callable import Kernel, ShardedKernel, keep, recalled
from lower.runtime.platforms import device_of, platform_of

if TYPE_CHECKING:
    from lower.emission import function as emission
    from lower.pallas import choice, forms
    from lower.runtime import searched as search
    from lower.runtime import sharding, switches
else:  # what a kernel that was kept does without
    emission = later("lower.emission.function")
    choice = later("lower.pallas.choice")
    forms = later("lower.pallas.forms")
    search = later("lower.runtime.searched")
    sharding = later("lower.runtime.sharding")
    switches = later("lower.runtime.switches")

_ALIASES = {"gpu": ("cuda", "rocm")}  # what JAX's devices call themselves

__all__ = ["Kernel", "ShardedKernel", "compile", "emit"]


@exclusive
@keeping()
def compile(
    program: Written | Module,
    target: str | Target = "cpu",
    *,
    checks: bool = False,
    mesh: Mesh | None = None,
    shardings: sharding.Shardings | None = None,
    keep_padding: bool = False,
    donate: Donate = False,
    pallas: bool = True,
    floats: Floats | str | Iterable[str] | None = None,
    precision: str = HIGHEST,
    without: Iterable[str] = (),
    verify: bool = True,
    entry: str = ENTRY,
    free: Iterable[str] = (),
) -> Kernel:
    """Compile a function, or `entry` of a module, for a target (cpu, gpu or tpu).

    `checks` tests asserts and assumptions at each call.

    `floats` are the freedoms that forms may take, as for `optimize`: a `Floats`, names, or the default policy.
    `precision` is that of products of float32 arrays on devices that have several: highest (all digits of the type,
    which is the default), high or default, which is the fastest one. `without` are families and names of forms that
    are not taken (`loopsat rules` lists them); those of rules that only the search knows may be among them.

    Where a choice between forms is one of prices, those that `loopsat calibrate` keeps for the target named decide, if
    there are any, and the report says so; a `Target` is taken with the prices that it has.

    `donate` names buffers that the function writes, or is True for all that it reads and overwrites: results then take
    the place of these arguments, without a copy of either. A JAX array that is passed for one belongs to the call: the
    caller must not use it again (JAX refuses to), nor pass it for another parameter as well. NumPy arrays are copied.

    For tpu and gpu, a Pallas kernel is taken where its price is much lower than that of XLA's form, and the report says
    what was compared; `pallas=False` keeps XLA's form. With donated buffers, checks or a mesh it is XLA's in any case.

    With a `mesh`, the kernel runs on its devices: `shardings` gives for buffer parameters a `PartitionSpec` or a tuple
    of mesh axes (a name, several, or None for each dimension); others are replicated. Dimensions that the mesh does not
    divide are padded inside, and results are those of the unsharded kernel. With `keep_padding`, results that were
    padded stay so, cut among the devices: a `PaddedArray`, which kernels over the mesh take as it is. Meshes may have
    devices of several processes, which all make the same calls.

    `free` names parameters that callers keep in the layouts which `loopsat.optimize` chooses for them; the module is
    searched for that. The kernel takes `kernel.layout("W").pack(W)` in the place of W, packed once (constant weights).

    `verify=False` vouches for a program that `ir.verify` has not seen.

    Raises LowerError for an unknown target, for a mesh or shardings that do not fit it or the function, and for
    names in `donate` that the function does not write; VerifyError for a program that has no meaning.
    """
    expect(free, Iterable, "`free` has the names of buffers", 'as in free=("A",)')
    if freed := (free,) if isinstance(free, str) else tuple(free):
        expect(program, Module, "`free` has parameters of the entry of a module", "pass a module")
        searched = search.optimize(
            program, target, floats=floats, without=without, verify=verify, entry=entry, free=freed
        )
        program = searched.best
    func = entered(program, entry, verify)
    policy, digits, off = floats_named(floats), precision_named(precision), forms_of(without)
    platform = platform_of(target)
    device, notes = device_of(platform)
    prices = user_target(platform if isinstance(target, str) else target)
    notes += [prices.note] if prices.note else []
    notes += [price_line(platform, prices.calibration)] if prices.calibration is not None else []
    if mesh is not None:
        layout = sharding.mesh_layout(func, mesh, shardings, platform)
        kernel = ShardedKernel(func, layout, checks, prices.target, donate, policy, digits, off, keep_padding)
        kernel.report += notes
        return kernel
    if shardings:
        raise LowerError("mesh", "shardings were given without a mesh", help="pass mesh=jax.make_mesh((8,), ('x',))")
    expect(donate, Iterable if not isinstance(donate, bool) else bool, "`donate` has names of parameters", "or is True")
    names = donate if isinstance(donate, (bool, str)) else tuple(donate)
    key = None
    if kept.wanted():
        key = kept.key_of(
            "compile", func, prices, checks, names, pallas, policy.value, digits, sorted(off), str(device), notes
        )
        known = recalled(key, device)
        if known is not None:
            return known
    wanted = pallas and not (checks or names) and prices.target.name != CPU.name  # which has no Pallas compiler
    here = device.platform in (platform, *_ALIASES.get(platform, ()))
    kernel = _pallas(func, prices.target, device, notes, Policy(policy, digits, off), here) if wanted else None
    if kernel is None:
        emitted = emission.emit_function(
            func, checks, prices.target, names, floats=policy, precision=digits, without=off
        )
        kernel = Kernel(emitted, device, notes)
    if key is not None:
        keep(key, kernel)
    return kernel


def _pallas(func: PrimFunc, prices: Target, device: Any, notes: list[str], policy: Policy, here: bool) -> Kernel | None:
    """The Pallas form, where it is the cheapest and the device is `here`; adds to `notes` what was compared."""
    form, why = choice.preferred(func, prices, policy)
    elsewhere = f", but not on {device.platform}" if form is not None and not here else ""
    notes += [f"{why}{elsewhere}"] if why else []
    return Kernel(forms.emitted(form), device, notes) if form is not None and here else None


def pallas_kernel(func: PrimFunc, target: str | Target = "tpu", interpret: bool = False) -> Kernel:
    """The Pallas form as a kernel, called as those of `compile` are; `interpret` runs it on a CPU.

    Raises:
        LoopsatError: the program has no such form, or the target is unknown.
    """
    form = forms.find_form(func, target, interpret)
    if isinstance(form, str):
        raise LowerError("no-pallas-form", f"{func.name} has no Pallas form", func.span, notes=[form])
    device = jax.devices("cpu")[0] if interpret else jax.devices()[0]
    return Kernel(forms.emitted(form), device)


@exclusive
def emit(
    program: Written | Module,
    target: str | Target = "cpu",
    *,
    donate: Donate = False,
    pallas: bool = True,
    floats: Floats | str | Iterable[str] | None = None,
    precision: str = HIGHEST,
    without: Iterable[str] = (),
    verify: bool = True,
    entry: str = ENTRY,
) -> str:
    """JAX source of a function for a target's prices; it needs nothing but JAX. All else as for `compile`.

    Raises LowerError for an unknown target, and for names in `donate` that the function does not write; VerifyError
    for a program that has no meaning.
    """
    func = entered(program, entry, verify)
    prices = user_target(platform_of(target) if isinstance(target, str) else target)
    policy, digits, off = floats_named(floats), precision_named(precision), forms_of(without)
    if pallas and not donate and prices.target.name != CPU.name:
        form, _ = choice.preferred(func, prices.target, Policy(policy, digits, off))
        if form is not None:
            return form.source
    emitted = emission.emit_function(
        func, target=prices.target, donate=donate, floats=policy, precision=digits, without=off
    )
    return emitted.source


def forms_of(without: Iterable[str]) -> frozenset[str]:
    """Those of some families and names that are of forms of lowering; what the search alone knows is let pass.

    Raises:
        OptionError: there is no such family, rule or form.
    """
    return switches.switched_off(without).forms if without else frozenset()
