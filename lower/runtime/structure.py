"""How a program will run, as loops: what `loopsat.form` and `loopsat.structure` answer."""

from __future__ import annotations

from collections.abc import Iterable

from egraph_rules.cost.target import Target
from egraph_rules.explain.derivation import Step
from ir.floats import Floats, floats_named
from ir.nodes import Module, PrimFunc
from ir.program.modules import ENTRY, Written
from ir.semantics.verify import entered
from lower.restructure.pipeline import form_of, structure_steps
from lower.runtime.calibration import user_target
from lower.runtime.platforms import platform_of
from lower.runtime.switches import switched_off


def form(
    program: Written | Module,
    target: str | Target = "cpu",
    *,
    floats: Floats | str | Iterable[str] | None = None,
    without: Iterable[str] = (),
    verify: bool = True,
    entry: str = ENTRY,
) -> PrimFunc:
    """The loop program in the form in which `compile` runs a function, or `entry` of a module, on a target.

    It has the function's interface and, up to the freedoms of `floats`, its meaning. Array axes are `T.parallel` loops
    (`T.vectorized` where elements are read that the statement also stores), `T.serial` where an annotation says that
    they are reduced or what operation of a library goes along them; all other loops stay loops. Where `compile` takes a
    Pallas kernel, it is the form that this one was compared with. `without` is that of `compile`.

    Raises:
        LowerError: the target is unknown, or the function cannot be lowered.
        VerifyError: the program has no meaning.
    """
    func = entered(program, entry, verify)
    return form_of(func, _prices(target), floats_named(floats), switched_off(without).forms)


def structure(
    program: Written | Module,
    target: str | Target = "cpu",
    *,
    floats: Floats | str | Iterable[str] | None = None,
    without: Iterable[str] = (),
    verify: bool = True,
    entry: str = ENTRY,
) -> list[Step]:
    """The passes that lead to `form`, in order: each with its law, the prices that decided, and the programs around it.

    Each program is a kernel of its own, which the interpreter runs. Raises as `form` does.
    """
    func = entered(program, entry, verify)
    return structure_steps(func, _prices(target), floats_named(floats), switched_off(without).forms)


def _prices(target: str | Target) -> Target:
    return user_target(platform_of(target) if isinstance(target, str) else target).target
