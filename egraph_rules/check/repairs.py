"""Which side condition a wrong rule in Python lacks, found by taking away what it forgets.

A counterexample is changed in one respect, such as that a condition reads a copy of the buffer that the statement
writes. Where the rule then does right, that respect is what it has to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.check.shrink import Retest, tidy
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Stmt,
    Store,
    Undef,
    const,
)
from ir.printing.printer import to_script
from ir.semantics.inputs import Inputs
from ir.testing.counterexample import Counterexample
from ir.traverse import (
    all_exprs,
    buffers_written,
    children,
    map_expr,
    map_stmt,
    stores_in,
    walk,
    walk_expr,
    with_children,
)

_COPY = "before_"  # names of buffers that hold what another one holds at first
_AGAIN = 6  # other inputs on which the rule must do right


class _Repair(Struct, frozen=True):
    """A change to a program, and the condition under which it is none."""

    condition: str
    func: PrimFunc
    inputs: Inputs


def forgotten_condition(found: Counterexample, retest: Retest) -> str | None:
    """The condition that a counterexample shows to be missing; None if there is no name for it."""
    faults = found.difference.rewritten.fault is not None
    for repair in _unread(found) if faults else _repairs(found):
        if _right(retest, repair):
            return repair.condition
    return _without_faults(found) if faults else None


def _right(retest: Retest, repair: _Repair) -> bool:
    """Whether the rule applies to a repaired program, and does nothing wrong there."""
    tested = False
    for inputs in _others(repair.inputs):
        again = retest(repair.func, inputs)
        if again.failed is not None:
            return False
        tested |= again.tested
    return tested


def _others(inputs: Inputs) -> Iterator[Inputs]:
    """The inputs, and some with other numbers in the buffers, copies included."""
    yield inputs
    rng = np.random.default_rng(0)
    for _ in range(_AGAIN):
        yield {
            name: rng.integers(0, 4, v.shape).astype(v.dtype) if isinstance(v, np.ndarray) else v
            for name, v in inputs.items()
        }


def _without_faults(found: Counterexample) -> str | None:
    fault = found.difference.rewritten.fault
    assert fault is not None
    match fault.code:
        case "division-by-zero" | "overflow" | "store-out-of-bounds" | "shift" | "undef-index" | "undef-condition":
            return f"the replacement faults only where the statement does ({fault.message})"
        case "assumption-false" | "assert-failed":
            return f"what is assumed or asserted holds where the statement does not say so ({fault.message})"
        case _:
            return None


def _unread(found: Counterexample) -> Iterator[_Repair]:
    func, inputs = found.original, found.inputs
    written = buffers_written(func.body)
    for role, exprs in _roles(func.body).items():
        for buffer in sorted({e.buffer for e in exprs if isinstance(e, Load)} & written, key=lambda b: b.name):
            yield _apart(func, inputs, role, buffer)


def _repairs(found: Counterexample) -> Iterator[_Repair]:
    func, inputs = found.original, found.inputs
    yield from _unread(found)
    yield from _defined(func, inputs)
    yield from _runs(func, inputs)
    yield from _same_place(func, inputs)
    yield from _unassumed(func, inputs)


# What is read --------------------------------------------------------------------------------------------------------


def _roles(stmt: Stmt) -> dict[str, list[Expr]]:
    """Expressions by what they are for."""
    roles: dict[str, list[Expr]] = {"a condition": [], "a bound": [], "an index": [], "a binding": [], "a value": []}
    for inner in walk(stmt):
        match inner:
            case If(cond=cond) | Assume(cond=cond) | Assert(cond=cond):
                roles["a condition"].append(cond)
            case For(start=start, extent=extent):
                roles["a bound"] += (start, extent)
            case Store(indices=indices, value=value):
                roles["an index"] += indices
                roles["a value"].append(value)
            case Let(value=value):
                roles["a binding"].append(value)
            case _:
                pass
    for top in list(all_exprs(stmt)):
        if isinstance(top, Load):
            roles["an index"] += top.indices
        elif isinstance(top, Select):
            roles["a condition"].append(top.cond)
    return {role: [part for e in exprs for part in walk_expr(e)] for role, exprs in roles.items()}


_SAYS = {
    "a condition": "no condition reads what is written ({buffer})",
    "a bound": "the bounds of a loop do not read what it writes ({buffer})",
    "an index": "no index reads what is written ({buffer})",
    "a binding": "nothing writes what a binding reads ({buffer})",
    "a value": "no value reads what is written ({buffer})",
}


def _apart(func: PrimFunc, inputs: Inputs, role: str, buffer: Buffer) -> _Repair:
    """Expressions of one role read a copy of a buffer, in which nothing is written."""
    copy = replace(buffer, name=f"{_COPY}{buffer.name}")

    def elsewhere(expr: Expr) -> Expr:
        return replace(expr, buffer=copy) if isinstance(expr, Load) and expr.buffer == buffer else expr

    def redirected(expr: Expr, inside: bool) -> Expr:
        """An expression with the loads in parts of the role redirected."""
        if inside:
            return map_expr(expr, elsewhere)
        match expr:
            case Load(indices=indices):
                return replace(expr, indices=tuple(redirected(i, role == "an index") for i in indices))
            case Select(cond=cond, then=yes, other=no):
                arms = redirected(yes, False), redirected(no, False)
                return Select(redirected(cond, role == "a condition"), *arms)
            case _:
                return with_children(expr, tuple(redirected(e, False) for e in children(expr)))

    def one(stmt: Stmt) -> Stmt:
        match stmt:
            case If(cond=cond) | Assume(cond=cond) | Assert(cond=cond):
                return replace(stmt, cond=redirected(cond, role == "a condition"))
            case For(start=start, extent=extent):
                bound = role == "a bound"
                return replace(stmt, start=redirected(start, bound), extent=redirected(extent, bound))
            case Store(indices=indices, value=value):
                places = tuple(redirected(i, role == "an index") for i in indices)
                return replace(stmt, indices=places, value=redirected(value, role == "a value"))
            case Let(value=value):
                return replace(stmt, value=redirected(value, role == "a binding"))
            case _:
                return stmt

    body = map_stmt(func.body, on_stmt=one)
    local = not any(p is not None and isinstance(p, Buffer) and p.name == buffer.name for p in func.params)
    condition = _SAYS[role].format(buffer=buffer.name)
    if local:
        return _Repair(condition, replace(func, body=Alloc(copy, body)), inputs)
    new = tidy(replace(func, params=(copy, *func.params), body=body))
    values = {**inputs, copy.name: inputs[buffer.name]}
    return _Repair(condition, new, {p.name: values[p.name] for p in new.params})


# What is undef, does not run, is written twice, or assumed ---------------------------------------------------------


def _defined(func: PrimFunc, inputs: Inputs) -> Iterator[_Repair]:
    if any(isinstance(e, Undef) for e in all_exprs(func.body)):
        body = map_stmt(func.body, lambda e: map_expr(e, lambda p: const(0, p.dtype) if isinstance(p, Undef) else p))
        yield _Repair("what is stored or bound is defined", replace(func, body=body), inputs)
    locals_ = {s.buffer for s in walk(func.body) if isinstance(s, Alloc)}
    if locals_:
        body = map_stmt(func.body, on_stmt=lambda s: s.body if isinstance(s, Alloc) else s)
        shown = tuple(sorted(locals_, key=lambda b: b.name))
        sizes = {b.name: [int(e.value) for e in b.shape if isinstance(e, Const)] for b in shown}
        values = {b.name: np.zeros(sizes[b.name], b.dtype.numpy) for b in shown}
        condition = "no element of a local buffer is read before it is written"
        yield _Repair(condition, replace(func, params=(*shown, *func.params), body=body), {**values, **inputs})


def _runs(func: PrimFunc, inputs: Inputs) -> Iterator[_Repair]:
    for loop in (s for s in walk(func.body) if isinstance(s, For)):

        def once(stmt: Stmt, loop: For = loop) -> Stmt:
            if isinstance(stmt, For) and stmt == loop:
                return replace(stmt, extent=const(1, loop.extent.dtype))
            return stmt

        yield _Repair(
            f"the loop runs, and runs once (`{to_script(loop.extent)} == 1`)",
            replace(func, body=map_stmt(func.body, on_stmt=once)),
            inputs,
        )


def _same_place(func: PrimFunc, inputs: Inputs) -> Iterator[_Repair]:
    stores = [*stores_in(func.body)]
    for one, other in permutations(stores, 2):
        if one.buffer == other.buffer and one.indices != other.indices:
            names = [to_script(Load(s.buffer, s.indices)) for s in (one, other)]

            def moved(stmt: Stmt, one: Store = one, other: Store = other) -> Stmt:
                return replace(other, indices=one.indices) if isinstance(stmt, Store) and stmt == other else stmt

            body = map_stmt(func.body, on_stmt=moved)
            yield _Repair(f"`{names[0]}` and `{names[1]}` are one element", replace(func, body=body), inputs)


def _unassumed(func: PrimFunc, inputs: Inputs) -> Iterator[_Repair]:
    if any(isinstance(s, (Assume, Assert)) for s in walk(func.body)):
        body = map_stmt(func.body, on_stmt=lambda s: SKIP if isinstance(s, (Assume, Assert)) else s)
        yield _Repair("nothing in the statement is assumed", tidy(replace(func, body=body)), inputs)
