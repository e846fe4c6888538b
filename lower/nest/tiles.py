"""Instances of instructions in normal form: one statement for each result, over windows in place of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import islpy as isl
from msgspec.structs import replace

import ir.presburger.sets as pb
from ir.analysis.dependence import Loop, Tile
from ir.floats import freedom_names
from ir.instructions import freedoms, instruction_of, jax_text, text_names
from ir.nodes import Block, Call, CallStmt, Expr, Function, Load, PrimFunc, Stmt, Store, Undef, Var, const
from ir.presburger.facts import promised
from ir.program.calls import of_dtype, plus, size_arguments
from ir.sections import Section
from ir.transform.calls.tensorize import Differs, call_of
from ir.traverse import free_vars, has_loads, results_of
from lower.analysis.freedoms import Form, Policy

INSTANCES = Form(
    "instructions.of_users",
    "the body of an instruction  =  its JAX text",
    "its author says so, and both have been compared on a few inputs",
)


class Naming(Protocol):
    """What gives new names to a function, under a policy."""

    @property
    def policy(self) -> Policy: ...

    @property
    def func(self) -> PrimFunc: ...

    def fresh(self, name: str) -> str:
        """A name that nothing has yet."""
        ...


def tiles(
    block: Block, body: Stmt, loops: Sequence[Loop], guards: Sequence[Expr], naming: Naming
) -> list[tuple[Store, Tile]]:
    """The stores of an instance of an instruction, whose `body` stands within loops and guards.

    Raises:
        Differs: the body is no longer that of the instruction, or the policy does not grant what its text takes.
    """
    func = instruction_of(block)
    if func is None:
        raise Differs("it is no instance of an instruction")
    if not naming.policy.takes(INSTANCES):
        raise Differs(f"{INSTANCES.name} is switched off")
    missing = freedom_names(freedoms(func) & ~naming.policy.floats)
    if missing:
        raise Differs(f"its JAX text takes {', '.join(missing)}, which the float policy does not grant")
    call = call_of(body, func, pb.within_budget(lambda: _domain(loops, guards, promised(naming.func)), pb.always()))
    taken, results = text_names(func), results_of(func)
    if len(results) > 1 and any(b.name in taken for b in results):
        raise Differs("it reads one of several buffers that it writes")
    call = replace(call, span=block.span)
    found = [_result(call, k, taken, naming.fresh) for k in range(len(results))]
    inside = {o.var for o in loops}
    for tile in (t for _, t in found):
        if any(not inside.isdisjoint(free_vars(w.extent)) or has_loads(w.extent) for w in tile.windows):
            raise Differs("its arrays have another size in each iteration of the loops around")
    return found


def _domain(loops: Sequence[Loop], guards: Sequence[Expr], found: isl.Set) -> isl.Set:
    """The values that names have within loops and guards, of those found around them."""
    found = pb.within_loops(found, loops)
    for guard in guards:
        found = found.intersect(pb.condition(guard).may)
    return found


def _result(call: CallStmt, k: int, taken: frozenset[str], fresh: Callable[[str], str]) -> tuple[Store, Tile]:
    func = call.callee
    given = {p.name: a for p, a in zip(func.params, call.args, strict=True)}
    read: dict[str, tuple[Loop, ...]] = {}
    args: list[Expr] = []
    params: list[Var] = []
    for param in func.params:
        arg = given[param.name]
        if param.name not in taken:
            continue
        params.append(Var(param.name, param.dtype))
        if isinstance(arg, Section):
            read[param.name], place = _windows(arg, fresh)
            args.append(Load(arg.buffer, place))
        else:
            args.append(arg)
    result = results_of(func)[k]
    target = given[result.name]
    assert isinstance(target, Section)
    stored, place = _windows(target, fresh)
    # what it computes stands in no expression: nothing may be concluded from the body
    function = Function(func.name, tuple(params), Undef(result.dtype), None, jax_text(func))
    store = Store(target.buffer, place, Call(function, tuple(args)), call.span)
    return store, Tile(func, k, stored, read, size_arguments(call))


def _windows(section: Section, fresh: Callable[[str], str]) -> tuple[tuple[Loop, ...], tuple[Expr, ...]]:
    """A window for each dimension of a section, and the place of an element in the buffer."""
    windows: list[Loop] = []
    place: list[Expr] = []
    for start, extent in section.ranges:
        if extent is None:
            place.append(start)
            continue
        var = Var(fresh(f"{section.buffer.name.lower()}_at"), start.dtype)
        windows.append(Loop(var, const(0, var.dtype), of_dtype(extent, var.dtype)))
        place.append(plus(start, var))
    return tuple(windows), tuple(place)
