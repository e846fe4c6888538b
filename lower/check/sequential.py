"""The plainest lowering: each loop a `fori_loop`, each statement one element, in the program's order.

It is what kernels are compared with where the interpreter would take too long, so it shares nothing with the lowering
proper: no plan, no views, no rewriting, only the meaning of the nodes. It takes 5 to 10 ns a step on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from msgspec import Struct

from ir.analysis.conditions import arbitrary_elements
from ir.dtypes import DType
from ir.functions import inlined
from ir.nodes import (
    SKIP,
    Alloc,
    AnyExpr,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    seq,
)
from ir.program.blocks import lower_blocks
from ir.semantics.interpret import bind_arguments
from ir.semantics.machine import Machine
from ir.traverse import buffers_written, ends_early, has_loads, map_stmt, results_of

_FEW = 1 << 10  # steps of a loop that has derivatives backward, though it may end before
Array = Any  # a JAX array or tracer
Memory = dict[Buffer, Array]
Scope = Mapping[Var, Array]

_UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": lax.neg, "not": jnp.logical_not, "bitnot": jnp.bitwise_not, "abs": jnp.abs, "exp": jnp.exp,
    "popcount": lax.population_count, "clz": lax.clz,
    "exp2": jnp.exp2, "log": jnp.log, "log2": jnp.log2, "log10": jnp.log10, "log1p": jnp.log1p, "tan": jnp.tan,
    "sinh": jnp.sinh, "cosh": jnp.cosh, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan,
    "round": jnp.round, "trunc": jnp.trunc,
    "sqrt": jnp.sqrt, "rsqrt": lambda a: 1 / jnp.sqrt(a), "tanh": jnp.tanh, "sin": jnp.sin, "cos": jnp.cos,
    "erf": jax.scipy.special.erf, "sigmoid": lambda a: 1 / (1 + jnp.exp(-a)), "floor": jnp.floor, "ceil": jnp.ceil,
}  # fmt: skip
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "floordiv": jnp.floor_divide,
    "floormod": jnp.remainder, "truncdiv": lax.div, "truncmod": lax.rem, "min": jnp.minimum, "max": jnp.maximum,
    "atan2": jnp.arctan2, "hypot": jnp.hypot,
    "pow": jnp.power, "bitand": jnp.bitwise_and, "bitor": jnp.bitwise_or, "bitxor": jnp.bitwise_xor,
    "shl": jnp.left_shift, "shr": jnp.right_shift, "eq": lax.eq, "ne": lax.ne, "lt": lax.lt, "le": lax.le,
    "gt": lax.gt, "ge": lax.ge, "and": jnp.logical_and, "or": jnp.logical_or,
}  # fmt: skip


def run_sequentially(func: PrimFunc, arguments: Mapping[str, Any], undef: float = 0.0) -> dict[str, np.ndarray]:
    """The written buffers of a program, by name, as its loops compute them one element after the other.

    `arguments` are arrays and scalars by name, sizes that no array tells among them. What is undef is `undef`, as far
    as its dtype goes: elements that two runs with different numbers disagree on are arbitrary. Asserts and assumptions
    are taken to hold, what these say to equal undef is undef, and stores at places that data give are dropped where
    they leave their buffer.
    """
    plain = lower_blocks(func)
    scalars, arrays = bind_arguments(plain, (), arguments)
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update(scalars)
    run = _Sequential(machine, undef)
    written, body = results_of(func), map_stmt(plain.body, on_stmt=_forgetting)
    with jax.enable_x64(True):  # pyright: ignore[reportCallIssue]
        memory = [jnp.asarray(arrays[b.name]) if b.name in arrays else run.filled(b) for b in plain.buffers]

        def results(given: Sequence[Array]) -> list[Array]:
            after = run.statement(body, dict(zip(plain.buffers, given, strict=True)), {}, None)
            return [after[b] for b in written]

        found = jax.jit(results)(memory)
        return {b.name: np.asarray(value) for b, value in zip(written, found, strict=True)}


class _Sequential(Struct, frozen=True):
    """Statements as functions from memory to memory; `machine` knows the scalars and sizes of the call."""

    machine: Machine
    undef: float

    def filled(self, buffer: Buffer) -> Array:
        """A buffer that nobody has written."""
        return jnp.full(self.machine.shape(buffer), self._arbitrary(buffer.dtype), buffer.dtype.numpy)

    def _arbitrary(self, dtype: DType) -> float | int | bool:
        if dtype.is_float:
            return self.undef
        return bool(self.undef) if dtype is DType.BOOL else max(dtype.min, min(int(self.undef), dtype.max))

    def statement(self, stmt: Stmt, memory: Memory, scope: Scope, under: Array | None) -> Memory:
        """Memory after a statement that runs where `under` holds (None: everywhere)."""
        match cast(AnyStmt, stmt):
            case Store() as store:
                return {**memory, store.buffer: self._stored(store, memory, scope, under)}
            case Seq(stmts=stmts):
                for part in stmts:
                    memory = self.statement(part, memory, scope, under)
                return memory
            case If(cond=cond, then=then, other=other):
                holds = self.value(cond, memory, scope)
                memory = self.statement(then, memory, scope, _both(under, holds))
                return self.statement(other, memory, scope, _both(under, jnp.logical_not(holds)))
            case For() as loop:
                return self._loop(loop, memory, scope, under)
            case Let(var=var, value=value, body=body):
                return self.statement(body, memory, {**scope, var: self.value(value, memory, scope)}, under)
            case Alloc(buffer=buffer, body=body):
                inner = self.statement(body, {**memory, buffer: self.filled(buffer)}, scope, under)
                return {b: value for b, value in inner.items() if b in memory}
            case Assume() | Assert() | Evaluate():
                return memory
            case Block():
                raise TypeError("blocks are lowered before")
            case other:
                assert_never(other)

    def _stored(self, store: Store, memory: Memory, scope: Scope, under: Array | None) -> Array:
        held = memory[store.buffer]
        place = [self.value(i, memory, scope) for i in store.indices]
        value = self.value(store.value, memory, scope)
        if any(has_loads(i) for i in store.indices):
            for index, size in zip(place, held.shape, strict=True):
                under = _both(under, (index >= 0) & (index < size))
        if 0 in held.shape:
            return held
        if not place:
            return value if under is None else jnp.where(under, value, held)

        def put(there: Array) -> Array:
            return lax.dynamic_update_slice(there, jnp.reshape(value, (1,) * held.ndim), place)

        # Not by storing what is there where it does not run: after another store, XLA copies the array for that.
        return put(held) if under is None else lax.cond(under, put, _same, held)

    def _loop(self, loop: For, memory: Memory, scope: Scope, under: Array | None) -> Memory:
        first = self.value(loop.start, memory, scope)
        count = self.value(loop.extent, memory, scope)
        if under is not None:
            count = jnp.where(under, count, jnp.zeros_like(count))
        stored = buffers_written(loop.body)
        changed = [b for b in memory if b in stored]

        def step(i: Array, held: tuple[Array, ...]) -> tuple[Array, ...]:
            inside = {**memory, **dict(zip(changed, held, strict=True))}
            var = lax.convert_element_type(first + i, loop.var.dtype.numpy)
            after = self.statement(loop.body, inside, {**scope, loop.var: var}, None)
            return tuple(after[b] for b in changed)

        ending = ends_early(loop)
        if ending is not None and not (isinstance(loop.extent, Const) and loop.extent.value <= _FEW):
            zero = jnp.zeros_like(count)

            def more(state: tuple[Array, tuple[Array, ...]]) -> Array:
                inside = {**memory, **dict(zip(changed, state[1], strict=True))}
                return (state[0] < count) & self.value(ending.cond, inside, scope)

            first_state = (zero, tuple(memory[b] for b in changed))
            _, ended = lax.while_loop(more, lambda s: (s[0] + 1, step(*s)), first_state)
            return {**memory, **dict(zip(changed, ended, strict=True))}
        found = lax.fori_loop(jnp.zeros_like(count), count, step, tuple(memory[b] for b in changed))
        return {**memory, **dict(zip(changed, found, strict=True))}

    def value(self, expr: Expr, memory: Memory, scope: Scope) -> Array:
        """The value of an expression; both arms of a choice are evaluated, which nothing can tell."""
        dtype = expr.dtype.numpy
        match cast(AnyExpr, expr):
            case Const(value=value):
                return jnp.asarray(value, dtype)
            case Var() as var:
                return scope[var] if var in scope else jnp.asarray(self.machine.scalars[var], dtype)
            case Load(buffer=buffer, indices=indices):
                held = memory[buffer]
                return _element(held, [self.value(i, memory, scope) for i in indices])
            case Unary(op=op, operand=a):
                return _UNARY[op](self.value(a, memory, scope))
            case Binary(op=op, lhs=a, rhs=b):
                return _BINARY[op](self.value(a, memory, scope), self.value(b, memory, scope))
            case Cast(operand=a):
                inner = self.value(a, memory, scope)
                return inner != 0 if expr.dtype is DType.BOOL else lax.convert_element_type(inner, dtype)
            case Select(cond=c, then=a, other=b):
                return jnp.where(*(self.value(e, memory, scope) for e in (c, a, b)))
            case Call() as call:
                return self.value(inlined(call), memory, scope)
            case Undef(dtype=kind):
                return jnp.asarray(self._arbitrary(kind), dtype)
            case other:
                assert_never(other)


def _forgetting(stmt: Stmt) -> Stmt:
    """What an assumption does: it makes arbitrary what it says to equal undef."""
    if not isinstance(stmt, Assume):
        return stmt
    found: list[Stmt] = []
    for element, unless in arbitrary_elements(stmt.cond):
        forgotten: Stmt = Store(element.buffer, element.indices, Undef(element.dtype))
        for cond in unless:
            forgotten = If(cond, SKIP, forgotten)
        found.append(forgotten)
    return seq(*found)


def _same(held: Array) -> Array:
    return held


def _both(a: Array | None, b: Array) -> Array:
    return b if a is None else jnp.logical_and(a, b)


def _element(held: Array, place: Sequence[Array]) -> Array:
    if 0 in held.shape:  # nothing is there, so no program reads it
        return jnp.zeros((), held.dtype)
    return lax.dynamic_slice(held, place, (1,) * held.ndim).reshape(()) if place else held
