"""Random inputs that satisfy a function's assumptions, for checks and tests.

Assumptions and asserts that speak of the inputs are cut out of the program and made true one by one, by setting the
elements they name; then they are all checked. `ir.semantics.bulk` does the same at once for large regular loops.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import prod
from typing import Protocol, assert_never, cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ir.arith import Scalar, rounded
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError, suggest
from ir.nodes import (
    SKIP,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Block,
    Buffer,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    seq,
)
from ir.program.calls import inline_calls, without_calls
from ir.semantics.bulk import Bulk, Unsupported
from ir.semantics.interpret import bind_arguments
from ir.semantics.machine import Machine
from ir.semantics.satisfy import Satisfier
from ir.traverse import (
    accessed,
    all_exprs,
    buffers_written,
    free_vars,
    has_loads,
    shape_vars,
    stmt_children,
    stmt_exprs,
    walk_expr,
)

Inputs = dict[str, npt.NDArray[np.generic] | Scalar]


class Spread(Struct, frozen=True):
    """What kind of inputs: floats lie around `center`, in units of `scale`, over several magnitudes where `wide`.

    Where `wide`, integers are not all small: unsigned ones reach the limits of their dtype, and products of two signed
    ones fit. `tight` makes inequalities of assumptions equalities where that is possible, for about half of the
    elements.
    """

    center: float = 0.0
    scale: float = 1.0
    wide: bool = False
    tight: bool = False

    def floats(self, shape: tuple[int, ...], dtype: DType, rng: np.random.Generator) -> npt.NDArray[np.generic]:
        """Floats of that kind; those of 16 bits stay near enough to 0 that their squares are numbers."""
        values = rng.uniform(-2, 3, shape).round(3) * self.scale
        if self.wide:
            values = values * 10.0 ** rng.integers(-3, 4, shape) * rng.choice((-1.0, 1.0), shape)
        return (values + self.middle(dtype)).astype(dtype.numpy)

    def middle(self, dtype: DType) -> float:
        """What numbers of a dtype lie around."""
        return 0.0 if not dtype.is_float else self.center if dtype.bits > 16 else min(self.center, 16.0)

    def integers(self, shape: tuple[int, ...], dtype: DType, rng: np.random.Generator) -> npt.NDArray[np.generic]:
        """Integers of that kind: small ones but where `wide`, and then half of them."""
        small = rng.integers(-5 if dtype.is_signed else 0, 8, shape).astype(dtype.numpy)
        if not self.wide:
            return small
        root = 1 << (dtype.bits // 2 - 1)
        low, high = (-root, root) if dtype.is_signed else (dtype.min, dtype.max)
        large = rng.integers(low, high, shape, dtype.numpy, endpoint=True)
        last = large if dtype.is_signed else np.subtract(np.array(high, dtype.numpy), small)
        return np.where(rng.integers(2, size=shape), small, np.where(rng.integers(2, size=shape), large, last))


NEAR_ZERO = Spread()
SPREADS = {
    "near zero": NEAR_ZERO,
    "around 1000": Spread(center=1000.0),
    "of several magnitudes": Spread(wide=True),
    "with assumptions tight": Spread(tight=True),
}
_SCALAR_TRIES = 400
_FILLS = 20
_REFILLS = 5  # where all scalars are given, so that only the elements change
_ROUNDS = 4  # later assumptions may undo earlier ones, so all are gone through again
_BULK = range(3000, 1 << 26)  # iterations that are worth being taken at once, and fit in memory
WORK = 10_000_000  # expressions that are evaluated in search of inputs: about half a minute


class _Work(Struct):
    """What is left of the work that a search for inputs may take, in expressions that the interpreter evaluates."""

    left: int

    def run(self, machine: Machine, claim: Stmt) -> None:
        """Run a claim on this account, as if each statement evaluated all of its expressions.

        Raises:
            InterpretError: the claim faults, or there is no work left.
        """
        weight = 1 + sum(1 for _ in all_exprs(claim))
        machine.steps = steps = self.left // weight
        try:
            machine.run(claim)
        finally:
            self.left = 0 if machine.steps == 0 else self.left - (steps - machine.steps) * weight


class Start(Protocol):
    """What inputs hold before assumptions are made true of them."""

    def scalar(self, var: Var, *, is_size: bool, numbers: Sequence[int]) -> Scalar:
        """A value of a parameter or a size; `numbers` are the constants that assumptions name."""
        ...

    def array(self, shape: tuple[int, ...], dtype: DType, *, below: int | None) -> npt.NDArray[np.generic]:
        """What a buffer holds; integers from 0 to `below` where that is given."""
        ...


class _Random(Struct, frozen=True):
    """Small random integers, some of them near the constants of assumptions, and floats of one kind."""

    rng: np.random.Generator
    spread: Spread

    def scalar(self, var: Var, *, is_size: bool, numbers: Sequence[int]) -> Scalar:
        return _scalar(var, is_size, numbers, self.rng)

    def array(self, shape: tuple[int, ...], dtype: DType, *, below: int | None) -> npt.NDArray[np.generic]:
        return random_array(shape, dtype, self.rng, below=below, spread=self.spread)


def random_inputs(
    func: PrimFunc,
    rng: np.random.Generator,
    scalars: Mapping[str, Scalar] | None = None,
    spread: Spread = NEAR_ZERO,
    work: int = WORK,
) -> Inputs:
    """Arguments by name for all parameters of `func` that satisfy its assumptions on them.

    Scalars and sizes not given are small random integers, some of them negative or near the constants of assumptions.
    Buffers hold numbers of the kind that `spread` says (small integers, moderate floats of both signs), and valid
    indices where they are used as indices; where an assumption fixes or bounds an element (`c or A[i] == v`), it is
    met. All tries together evaluate at most about `work` expressions.

    Raises:
        LoopsatError: `scalars` names no parameter, no inputs were found with that work (the message names what
            failed last), or they do not fit into memory.
    """
    return satisfying(func, _Random(rng, spread), rng, scalars, tight=spread.tight, work=work)


def satisfying(
    func: PrimFunc,
    start: Start,
    rng: np.random.Generator,
    scalars: Mapping[str, Scalar] | None = None,
    *,
    tight: bool = False,
    tries: int = _SCALAR_TRIES,
    work: int = WORK,
) -> Inputs:
    """Arguments that satisfy a function's assumptions, near those that `start` gives, at most `tries` times.

    Raises:
        LoopsatError: as `random_inputs`.
    """
    require_memory(func)
    func = without_calls(func)
    fixed = dict(scalars or {})
    sizes = shape_vars(func)
    names = {v.name for v in (*func.scalars, *sizes)}
    for name in fixed:
        if name not in names:
            message = f"{func.name} has no scalar parameter `{name}`"
            raise LoopsatError("inputs", message, func.span, help=suggest(name, names))
    claims = leading_assumptions(func.body)
    problem = None
    fills = 0
    account = _Work(work)
    for _ in range(tries):
        try:
            values = _scalars(func, claims, fixed, rng, start, account)
            fills += 1
            return _fill(func, claims, values, rng, start, tight, account)
        except InterpretError as error:
            problem = error
        except MemoryError as error:
            raise _too_large(func, "more than there is") from error
        most = _REFILLS if names <= fixed.keys() else _FILLS
        if fills >= most or (fills == 0 and names <= fixed.keys()) or account.left == 0:
            break
    assert problem is not None
    raise LoopsatError(
        "inputs",
        f"no inputs of {func.name} were found that satisfy its assumptions: {problem.message}",
        problem.span,
        notes=problem.notes,
    ) from problem


def require_memory(func: PrimFunc) -> None:
    """Check that the buffers of a function fit into the memory of this machine, as far as their sizes are numbers.

    Raises:
        LoopsatError: they do not.
    """
    needed = 0
    for buffer in func.buffers:
        extents = [d.value for d in buffer.shape if isinstance(d, Const)]
        needed += prod(map(int, extents)) * max(buffer.dtype.bits, 8) // 8
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise _too_large(func, f"{needed / 2**30:,.0f} GiB of {there / 2**30:,.0f}")


def _too_large(func: PrimFunc, size: str) -> LoopsatError:
    message = f"the buffers of {func.name} do not fit into the memory of this machine: {size}"
    help = "run it for smaller sizes, or optimize it without running it (`loopsat optimize --no-run`)"
    return LoopsatError("too-large", message, func.span, help=help)


# What is assumed of inputs -------------------------------------------------------------------------------------------


def leading_assumptions(stmt: Stmt) -> tuple[Stmt, ...]:
    """The assumptions and asserts on buffers not yet written where they stand, each top-level one by itself.

    The loops, branches and bindings around them are kept, asserts become assumptions, everything else is left out.
    """
    claims = _claims(inline_calls(stmt), set())
    return claims.stmts if isinstance(claims, Seq) else (claims,)


def _claims(stmt: Stmt, dirty: set[Buffer]) -> Stmt:
    """The part of `stmt` that claims something of the inputs; adds what it may write to `dirty`."""
    match cast(AnyStmt, stmt):
        case Store(buffer=buffer):
            dirty.add(buffer)
            return SKIP
        case Evaluate():
            return SKIP
        case Seq(stmts=stmts):
            return seq(*[_claims(s, dirty) for s in stmts])
        case Assume(cond=cond) | Assert(cond=cond):
            return Assume(cond, stmt.span) if _known(stmt, dirty) else SKIP
        case If(cond=cond, then=yes, other=no, span=span):
            before = set(dirty)
            then, other = _claims(yes, dirty), _claims(no, before)
            dirty |= before
            return If(cond, then, other, span) if _known(stmt, dirty) and (then != SKIP or other != SKIP) else SKIP
        case For() as loop:
            dirty |= buffers_written(loop.body)
            body = _claims(loop.body, dirty)
            return For(loop.var, loop.start, loop.extent, body, span=loop.span) if _kept(stmt, body, dirty) else SKIP
        case Let(var=var, value=value, body=body, span=span):
            inner = _claims(body, dirty)
            return Let(var, value, inner, span) if _kept(stmt, inner, dirty) else SKIP
        case Alloc(buffer=buffer, body=body):
            dirty.add(buffer)
            return _claims(body, dirty)
        case Block() as block:
            dirty |= set() if block.init is None else buffers_written(block.init)
            inner = _claims(block.body, dirty)
            kept = _kept(stmt, inner, dirty)
            return Block(block.name, inner, block.axes, block.predicate, span=block.span) if kept else SKIP
        case other:
            assert_never(other)


def _known(stmt: Stmt, dirty: set[Buffer]) -> bool:
    """Whether the expressions of a statement read inputs only (undef counts only in `A[i] == undef`)."""
    exprs = [e for top in stmt_exprs(stmt) for e in walk_expr(top)]
    if any(isinstance(e, Load) and e.buffer in dirty for e in exprs):
        return False
    return isinstance(stmt, (Assume, Assert)) or not any(isinstance(e, Undef) for e in exprs)


def _kept(stmt: Stmt, inner: Stmt, dirty: set[Buffer]) -> bool:
    return inner != SKIP and _known(stmt, dirty)


# Scalars -------------------------------------------------------------------------------------------------------------


def _scalars(
    func: PrimFunc,
    claims: tuple[Stmt, ...],
    fixed: Mapping[str, Scalar],
    rng: np.random.Generator,
    start: Start,
    work: _Work,
) -> dict[Var, Scalar]:
    """Values of all scalars and sizes that satisfy the claims that read no buffer.

    Raises:
        InterpretError: a claim on them does not hold.
    """
    sizes = free_vars(*(e for b in func.buffers for e in b.shape))
    numbers = [int(e.value) for s in claims for e in all_exprs(s) if isinstance(e, Const) and not e.dtype.is_float]
    machine = Satisfier(True, rng)
    for var in (*func.scalars, *shape_vars(func)):
        if var.name in fixed:
            machine.scalars[var] = fixed[var.name]
        else:
            machine.scalars[var] = start.scalar(var, is_size=var in sizes, numbers=numbers)
            machine.free[var] = 0 if var in sizes else var.dtype.min
    _settle(machine, tuple(c for c in claims if not any(isinstance(e, Load) for e in all_exprs(c))), work)
    return dict(machine.scalars)


def _scalar(var: Var, is_size: bool, numbers: Sequence[int], rng: np.random.Generator) -> Scalar:
    if var.dtype is DType.BOOL:
        return bool(rng.integers(2))
    if var.dtype.is_float:
        return rounded(float(rng.uniform(-4, 4).__round__(2)), var.dtype)
    lowest = 0 if is_size else max(var.dtype.min, -3)
    if numbers and rng.integers(4) == 0:
        near = int(rng.choice(np.array(numbers, dtype=object))) + int(rng.integers(-1, 2))
        if lowest <= near <= var.dtype.max:
            return near
    return int(rng.integers(lowest, 11))


# Buffers -------------------------------------------------------------------------------------------------------------


def _fill(
    func: PrimFunc,
    claims: tuple[Stmt, ...],
    values: Mapping[Var, Scalar],
    rng: np.random.Generator,
    start: Start,
    tight: bool,
    work: _Work,
) -> Inputs:
    """Inputs with these scalars.

    Raises:
        InterpretError: a claim on them does not hold.
    """
    machine = Satisfier(True, rng, backward=bool(rng.integers(2)), pressing=tight)
    machine.scalars.update(values)
    bounds = _index_bounds(func)
    for buffer in func.buffers:
        shape = machine.shape(buffer)
        extents = [machine.integer(e, "an extent") for e in bounds.get(buffer.name, ())]
        below = max(min(extents), 1) if extents else None
        machine.add_buffer(buffer, start.array(shape, buffer.dtype, below=below))
    _settle(machine, claims, work)
    out: Inputs = {p.name: values[p] if isinstance(p, Var) else machine.memory[p.name].values for p in func.params}
    try:
        bind_arguments(func, (), out)
    except InterpretError:  # a size that no shape tells
        out |= {v.name: values[v] for v in shape_vars(func)}
    return out


def _settle(machine: Satisfier, claims: tuple[Stmt, ...], work: _Work) -> None:
    """Set elements until all claims hold.

    Raises:
        InterpretError: a claim still does not hold after some rounds, or there is no work left.
    """
    problem: InterpretError | None = None
    for _ in range(_ROUNDS):
        for claim in claims:
            if not _in_bulk(machine, claim, satisfy=True):
                work.run(machine, claim)
        checker = Machine(True, machine.rng, None, machine.scalars, machine.memory)
        try:
            for claim in claims:
                if not _in_bulk(checker, claim, satisfy=False):
                    work.run(checker, claim)
            return
        except InterpretError as error:
            problem = error
        machine.tight, machine.pressing, machine.backward = True, False, not machine.backward
    if problem is not None:
        raise problem


def _in_bulk(machine: Machine, claim: Stmt, *, satisfy: bool) -> bool:
    """Whether a claim holds (with `satisfy`: is made to) and that was found by the fast way, if it is worthwhile."""
    if _points(machine, claim) not in _BULK:
        return False
    memory = {name: m.values for name, m in machine.memory.items()}
    try:
        return Bulk.over(memory, machine.scalars).run(claim, satisfy=satisfy)
    except Unsupported:
        return False


def _points(machine: Machine, stmt: Stmt) -> int:
    """About how many iterations a statement has; loops whose extents vary count once."""
    match stmt:
        case For(extent=extent, body=body):
            fixed = free_vars(extent) <= machine.scalars.keys() and not has_loads(extent)
            return (max(machine.integer(extent, "an extent"), 0) if fixed else 1) * _points(machine, body)
        case _:
            return max(1, sum(_points(machine, s) for s in stmt_children(stmt)))


def random_array(
    shape: tuple[int, ...],
    dtype: DType,
    rng: np.random.Generator,
    *,
    below: int | None = None,
    spread: Spread = NEAR_ZERO,
) -> npt.NDArray[np.generic]:
    """Numbers of a kind, small or moderate ones by default; integers from 0 to `below` where that is given."""
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_float:
        return spread.floats(shape, dtype, rng)
    if below is None:
        return spread.integers(shape, dtype, rng)
    return rng.integers(0, min(below, dtype.max), shape).astype(dtype.numpy)


def _index_bounds(func: PrimFunc) -> dict[str, list[Expr]]:
    """For each buffer whose elements are indices, the extents that they index (as far as parameters tell them)."""
    found: dict[str, list[Expr]] = {}
    known = {*func.scalars, *shape_vars(func)}
    for buffer, indices in accessed(func.body):
        for index, extent in zip(indices, buffer.shape, strict=True):
            inner = index.operand if isinstance(index, Cast) else index
            if isinstance(inner, Load) and free_vars(extent) <= known:
                found.setdefault(inner.buffer.name, []).append(extent)
    return found
