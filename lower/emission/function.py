"""What becomes of a whole function: an array program, with what it takes its derivatives and its checks from.

The functions that were written last are kept, since the search prices programs by what is written of them, and the one
that it finds is compiled next.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from egraph_rules.rules.registry import registered_rules
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import PrimFunc
from ir.presburger.sets import exclusive
from lower.analysis.deciding import settled
from lower.analysis.derivatives import has_derivatives, same_derivatives
from lower.analysis.freedoms import HIGHEST, Policy, Precision
from lower.emission.assumptions import assumptions_of, demanded
from lower.emission.donation import Donate
from lower.emission.emitted import Emitted
from lower.emission.function_writer import FunctionWriter
from lower.emission.source import Module, Piece
from lower.restructure.pipeline import Nests, as_it_will_run


@exclusive
def emit_function(
    func: PrimFunc,
    checks: bool = False,
    target: Target = CPU,
    donate: Donate = False,
    floats: Floats = DEFAULT_FLOATS,
    precision: Precision = HIGHEST,
    without: frozenset[str] = frozenset(),
) -> Emitted:
    """Translate a function; `report` tells for each statement the form it took, and why loops stayed loops.

    Where the function refines another, checks are those of that one, and so are derivatives, for which it is lowered
    besides if they may be others.

    `floats` are the freedoms that forms may take, `precision` is that of products of float32 arrays, and `without` are
    names and families of forms (`lower/runtime/switches.py`) that are switched off.

    Raises:
        LowerError: `donate` names what is no written parameter.
    """
    built = _built(func, checks, target, donate, Policy(floats, precision, without))
    module, main, checked = built.module, built.main, built.checked
    optional = {b.name for b in main.optional}
    return Emitted(
        main.given,
        module.main.name,
        module.text(),
        main.parameter_names(),
        tuple(b for b in main.given.buffers if b.name in optional),
        frozenset(s for s in main.func.scalars if main.names.of(s) in module.static),
        module.wide,
        tuple(checked.program.checks) if checks else (),
        (*main.report, *main.about_floats(), *main.program.notes),
        floats,
        module.donated,
        precision,
        built.assumptions,
        frozenset(main.extents),
        tuple(built.derived.forward_only),
        without,
    )


@exclusive
def code_alone(
    func: PrimFunc, target: Target, policy: Policy, normal: Nests | None = None
) -> tuple[Module, FunctionWriter]:
    """The array program of a function without its contract and derivatives, and what knows its names.

    Its `normal` form under this policy is used up.
    """
    writer, piece = _for_values(func, *_written(func, False, target, policy, normal))
    return Module(piece, fuses_barriers=target.name == CPU.name), writer


@exclusive
def array_program(func: PrimFunc, target: Target = CPU, policy: Policy | None = None) -> Module:
    """The array program of a function, as `emit_function` prints it."""
    return _built(func, False, target, False, policy or Policy()).module


class _Built(Struct, frozen=True):
    """A function as an array program, and what was asked of it on the way."""

    module: Module
    main: FunctionWriter
    checked: FunctionWriter
    derived: FunctionWriter  # of which derivatives are
    assumptions: tuple[str, ...]


def _built(func: PrimFunc, checks: bool, target: Target, donate: Donate, policy: Policy) -> _Built:
    written = func.as_written
    refined = written is not func

    asked = demanded(func)
    main, piece = _written(asked if checks and not refined else func, checks and not refined, target, policy)
    module = Module(piece, fuses_barriers=target.name == CPU.name)
    rests = main.facts is not None and main.facts.used
    asked = written if rests else asked  # array code may read what the program does not
    checked = _lowered(asked, True, target, replace(policy, withheld={})) if checks and refined else main
    if checks and refined:
        module.checks = checked.piece(only_checks=True)
    derived = main
    if not same_derivatives(func) or (rests and has_derivatives(func)):
        derived, other = _written(written, False, target, policy)
        module.as_written = None if other == piece else other
    main, module.main = _for_values(func, main, piece)
    if module.main is not piece and module.as_written is None:
        module.as_written = piece
    module.donated = main.donation(donate)
    assumptions = assumptions_of(asked)
    module.doc = main.docstring(module.donated, assumptions, derived, checks)
    return _Built(module, main, checked, derived, assumptions)


def piece_of(func: PrimFunc) -> Piece:
    """A program as a function that a module of another form can take its derivatives from."""
    return _lowered(func, False, CPU, Policy()).piece()


def program_piece(func: PrimFunc, target: Target, policy: Policy, name: str) -> tuple[Piece, tuple[str, ...]]:
    """A program as a function of a module under a name, and the form that each of its statements took."""
    written = _lowered(func, False, target, policy)
    return replace(written.piece(), name=name), (*written.report, *written.program.notes)


def _for_values(func: PrimFunc, writer: FunctionWriter, piece: Piece) -> tuple[FunctionWriter, Piece]:
    """A function as it is written where derivatives are taken from another, if code that has them is dear for it."""
    return writer.for_values if writer.wide_guards and has_derivatives(func) else (writer, piece)


_LATEST: OrderedDict[Hashable, tuple[PrimFunc, FunctionWriter, Piece]] = OrderedDict()
_KEPT = 6  # functions: a search prices a few, and compares each of them with the one given


def _written(
    func: PrimFunc, checks: bool, target: Target, policy: Policy, normal: Nests | None = None
) -> tuple[FunctionWriter, Piece]:
    """A function as written for a target, and what wrote it; one of the latest is not written again."""
    key = (id(func), checks, target, policy.floats, policy.precision, policy.without, registered_rules())
    usual = settled()
    known = _LATEST.get(key) if usual else None
    if known is None:
        policy = replace(policy, withheld={}) if normal is None else policy
        writer = _lowered(func, checks, target, policy, normal)
        known = func, writer, writer.piece()
        if usual:
            _LATEST[key] = known  # which keeps the function, whose number no other one has meanwhile
            if len(_LATEST) > _KEPT:
                _LATEST.popitem(last=False)
    return known[1:]


def _lowered(
    func: PrimFunc, checks: bool, target: Target, policy: Policy, normal: Nests | None = None
) -> FunctionWriter:
    nests = as_it_will_run(func, target, policy, checks, normal)
    return FunctionWriter(nests.program, nests.planned, nests.target, nests.facts)
