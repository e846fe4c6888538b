"""The price of a program as a whole: that of the array code which lowering makes of it.

Prices of a search add up over statements, so they cannot see what becomes of a nest: a slice, a padded copy, a gather,
a product of arrays, a scatter, or a loop that stays one. This one reads it off the array code itself: the program is
lowered as it will run, JAX traces it to operations on arrays (nothing is compiled), and those are priced. So it cannot
disagree with lowering about what a nest becomes. `egraph_rules.optimize` ranks its best programs by it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import partial, reduce
from math import prod
from typing import Any

import islpy as isl
import jax
import numpy as np

from egraph_rules.cost.array_code import ArrayPrices, CallPrice
from egraph_rules.cost.target import CPU, Target, instruction_cost
from ir.errors import InterpretError, LoopsatError
from ir.floats import DEFAULT_FLOATS, Floats
from ir.instructions import instructions_in
from ir.nodes import Assume, Buffer, Const, Expr, PrimFunc, Var, const
from ir.presburger import sets as pb
from ir.program.calls import solved_for
from ir.semantics.inputs import leading_assumptions
from ir.semantics.machine import Machine
from ir.semantics.specialize import specialize
from ir.traverse import (
    free_vars,
    has_loads,
    results_of,
    shape_vars,
    sizing_scalars,
    substitute_expr,
    walk,
)
from lower.analysis.freedoms import Policy
from lower.emission.function import code_alone
from lower.nest.alike import key_of
from lower.restructure.pipeline import normal_form

SIZES = (256, 240, 252, 320, 64, 60, 16, 12, 8, 4, 1024, 1000)  # of which one is taken for symbolic sizes

MOST = 1 << 20  # that an integer parameter is taken to be


def program_price(
    func: PrimFunc,
    target: Target = CPU,
    floats: Floats = DEFAULT_FLOATS,
    sizes: Mapping[str, int] | None = None,
    without: frozenset[str] = frozenset(),
    priced: dict[Hashable, float] | None = None,
) -> float:
    """The price of one run of a program on a target, in the units of its table, launches and temporaries included.

    `sizes` are values of symbolic sizes; those that are not given are a few hundred each, as assumptions leave room.
    `without` are names and families of forms that lowering does not take. `priced` are the prices of others for the
    same sizes, by normal form: this one is added, or it is that of another one which lowering makes alike.

    Raises:
        LowerError: the program cannot be lowered.
    """
    known = usual_sizes(func) if sizes is None else sizes
    fixed = {v.name for v in (*shape_vars(func), *sizing_scalars(func))}
    given = {name: n for name, n in known.items() if name in fixed}
    bound = specialize(func, given) if given else func
    policy = Policy(floats, without=without)
    normal = normal_form(bound, target, policy)
    alike = key_of(normal.program)  # before passes change it
    if priced is not None and alike in priced:
        return priced[alike]
    module, writer = code_alone(bound, target, policy, normal)
    namespace: dict[str, Any] = {}
    exec(module.text(), namespace)  # our own text, made above
    jitted = namespace[f"_{module.main.name}" if module.wide else module.main.name]
    optional, names = {b.name for b in writer.optional}, writer.parameter_names()
    with jax.enable_x64(module.wide):  # pyright: ignore[reportCallIssue]
        arguments: dict[str, Any] = {
            names[p.name]: jax.ShapeDtypeStruct(() if isinstance(p, Var) else _shape(p), p.dtype.numpy)
            for p in bound.params
            if p.name not in optional
        }
        # numbers while JAX traces: parameters that lowering has found in the bounds of a loop, whatever stood there
        found = [s for s in bound.scalars if names[s.name] in module.static]
        arguments |= {names[s.name]: known.get(s.name, min(SIZES[0], int(s.dtype.max))) for s in found}
        closed = jitted.trace(**arguments).jaxpr
    price = ArrayPrices(target, _prices_of_calls(bound, target)).program(closed)
    if priced is not None:
        priced[alike] = price
    return price


def _prices_of_calls(func: PrimFunc, target: Target) -> dict[str, CallPrice]:
    """The prices of the instructions of a program that have one, by name, for the shape that calls give the first
    result: those of the loops around come before its own extents."""
    return {
        i.name: partial(_calls_price, i, target)
        for i in instructions_in(func)
        if instruction_cost(target, i, {}) is not None
    }


def _calls_price(instruction: PrimFunc, target: Target, shape: tuple[int, ...]) -> float:
    """The price of as many calls as there are results in an array."""
    (result, *_) = results_of(instruction)
    rank = len(result.shape)
    own = shape[len(shape) - rank :]
    sizes: dict[Var, Expr] = {}
    for extent, n in zip(result.shape, own, strict=True):
        for var in free_vars(extent) - sizes.keys():
            solved = solved_for(var, extent, const(n, var.dtype), sizes)
            if solved is not None:
                sizes[var] = solved
    known = {v.name: float(e.value) for v, e in sizes.items() if isinstance(e, Const)}
    price = instruction_cost(target, instruction, known)
    return prod(shape[: len(shape) - rank]) * (0.0 if price is None else price)


def pricing(
    source: PrimFunc, target: Target = CPU, floats: Floats = DEFAULT_FLOATS, without: frozenset[str] = frozenset()
) -> Callable[[PrimFunc], float]:
    """The price of programs that equal `source`, all for the same sizes: what `optimize` takes as `whole`.

    A program that cannot be lowered has an infinite price.
    """
    sizes = usual_sizes(source)
    priced: dict[Hashable, float] = {}

    def price(func: PrimFunc) -> float:
        try:
            return program_price(func, target, floats, sizes, without, priced)
        except LoopsatError:
            return float("inf")

    return price


@pb.exclusive
def usual_sizes(func: PrimFunc) -> dict[str, int]:
    """Values of symbolic sizes and integer parameters: the first of `SIZES`, for all, that assumptions leave.

    A parameter that is no extent of an array is as large as assumptions on it let it be: what is promised of `n` in
    `i < n` fits to the arrays, most of which would lie idle for a small one.
    """
    names = _sizes(func)
    claims = _claims(func, {*names.values()}) if names else []
    found = {var: min(SIZES[0], int(var.dtype.max)) for var in names.values()}
    for size in SIZES:
        values = {var: min(size, int(var.dtype.max)) for var in names.values()}
        values = _grown(func, claims, values)
        if _hold(claims, values):
            found = values
            break
    return {var.name: n for var, n in found.items()}


def _hold(claims: list[Expr], values: dict[Var, int]) -> bool:
    machine = Machine(True, np.random.default_rng(0))
    machine.scalars.update(values)
    with suppress(InterpretError):
        return all(machine.holds(claim) for claim in claims)
    return False


def _grown(func: PrimFunc, claims: list[Expr], values: dict[Var, int]) -> dict[Var, int]:
    """Values that fulfil some claims, in which each parameter that is no extent is as large as the others let it be."""
    extents = free_vars(*(extent for buffer in func.buffers for extent in buffer.shape))
    for var in [v for v in values if v not in extents]:
        others = {v: const(n, v.dtype) for v, n in values.items() if v != var}
        region = reduce(isl.Set.intersect, (pb.condition(substitute_expr(c, others)).must for c in claims), pb.always())
        if pb.variables(region) == {var.name}:
            _, most = pb.bounds(region)
            values = values if most is None or most > MOST else {**values, var: max(values[var], most)}
    return values


def _sizes(func: PrimFunc) -> dict[str, Var]:
    return {v.name: v for v in (*shape_vars(func), *(s for s in func.scalars if s.dtype.is_integer))}


def _claims(func: PrimFunc, sizes: set[Var]) -> list[Expr]:
    """What is assumed of sizes alone."""
    assumed = (s.cond for claim in leading_assumptions(func.body) for s in walk(claim) if isinstance(s, Assume))
    return [c for c in assumed if free_vars(c) <= sizes and not has_loads(c)]


def _shape(buffer: Buffer) -> tuple[int, ...]:
    machine = Machine(True, np.random.default_rng(0))
    return machine.shape(buffer)
