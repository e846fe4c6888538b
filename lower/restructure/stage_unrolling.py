"""Loops over a few stages, as of a Fourier transform or a sorting network, whose steps are written out one by one.

`X[k // (1 << s) * (2 << s) + k % (1 << s)]` is no linear place while s varies, so that nothing is known of what depends
on what. For each s it is one: with numbers in place of s, and digits of k in place of k, accesses are slices. It is
done for arrays that stages hand on to each other: where an array is only read, a gather does as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.arith import fold_binary
from ir.fold import chosen, fold
from ir.naming import lengthened
from ir.nodes import (
    NEGATED,
    Alloc,
    Binary,
    Const,
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
    Var,
    const,
    seq,
)
from ir.presburger import sets as presburger
from ir.presburger.polynomials import are_apart
from ir.program.blocks import lower_blocks
from ir.traverse import (
    accessed,
    all_exprs,
    all_same,
    bound_var,
    buffers_written,
    children,
    conjuncts_of,
    free_vars,
    has_loads,
    map_expr,
    map_stmt,
    substitute,
    substitute_expr,
    walk,
    walk_expr,
    with_children,
    without_names,
)
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear
from lower.analysis.value_ranges import AnyNumbers, Bounds, bounds

STAGES = Form(
    "structure.stage_unrolling",
    "for s in stages: X[.. 1 << s ..]  =  a copy of the body for each s, with digits of k for k",
    "with numbers for s, places are linear in the digits",
)

MAX_STEPS = 32  # of one loop that are written out
MAX_STORES = 300  # that are compiled one by one in place of loops over stages


def with_stages(func: PrimFunc, target: Target) -> PrimFunc:
    """The function with the steps of stages written out, where that pays on a target."""
    if not any(isinstance(e, Binary) and _fixing(e) for e in all_exprs(func.body)):
        return func
    func = lower_blocks(func, instances=True)
    func = replace(func, body=map_stmt(func.body, on_stmt=_with_numbers)).as_form_of(func)
    names = {p.name for p in func.params} | {v.name for s in walk(func.body) for v in bound_var(s)}
    return replace(func, body=_staged(func.body, {}, target, names)).as_form_of(func)


def _with_numbers(stmt: Stmt) -> Stmt:
    """A loop with numbers for its bounds where they are known."""
    if not isinstance(stmt, For):
        return stmt
    return replace(stmt, start=map_expr(stmt.start, _fold), extent=map_expr(stmt.extent, _fold))


def _staged(stmt: Stmt, values: Mapping[Var, Expr], target: Target, names: set[str], times: float = 1.0) -> Stmt:
    """A statement with stages written out, outermost first; `values` are those of names around it, which loops repeat
    so many `times`."""

    def go(s: Stmt) -> Stmt:
        return _staged(s, values, target, names, times)

    match stmt:
        case Seq(stmts=stmts):
            return seq(*map(go, stmts), span=stmt.span)
        case If(then=then, other=other):
            return replace(stmt, then=go(then), other=go(other))
        case Alloc(body=body):
            return replace(stmt, body=go(body))
        case Let(var=var, value=value, body=body):
            known = {**values, var: substitute_expr(value, values)}
            return replace(stmt, body=_staged(body, known if _plain(value) else values, target, names, times))
        case For(body=body):
            hidden = _hidden_in(stmt, values)
            if hidden:
                steps = _steps(stmt, values, target, names)
                if steps is not None and _pays(stmt, steps, hidden, target, times):
                    return steps
            return replace(stmt, body=_staged(body, values, target, names, times * _times(stmt.extent, target)))
        case _:
            return stmt


def _steps(loop: For, values: Mapping[Var, Expr], target: Target, names: set[str]) -> Stmt | None:
    """The steps of a loop one after the other; None if they are too many."""
    assert isinstance(loop.start, Const) and isinstance(loop.extent, Const)
    done: list[Stmt] = []
    for k in range(int(loop.extent.value)):
        number = const(int(loop.start.value) + k, loop.var.dtype)
        step = _folded(without_names(substitute(loop.body, {loop.var: number}), _plain))
        done.append(_in_digits(_staged(step, values, target, names), names))
        if sum(isinstance(s, Store) for d in done for s in walk(d)) > MAX_STORES:
            return None
    return seq(*done)


def _hidden_in(loop: For, values: Mapping[Var, Expr]) -> int:
    """How many places has a loop of few steps of arrays that it stores to and reads, or loops in it, of which only
    numbers for its variable make linear where they are."""
    if not (isinstance(loop.start, Const) and isinstance(loop.extent, Const) and 0 < loop.extent.value <= MAX_STEPS):
        return 0
    stored = buffers_written(loop.body)
    read = {e.buffer for e in all_exprs(loop.body) if isinstance(e, Load)}
    inner = dict(values)
    for s in walk(loop.body):
        if isinstance(s, Let) and _plain(s.value):
            inner[s.var] = substitute_expr(s.value, inner)
    places = [i for b, indices in accessed(loop.body) if b in stored & read for i in indices]
    places += [e for s in walk(loop.body) if isinstance(s, For) for e in (s.start, s.extent)]
    return sum(_hidden(substitute_expr(i, inner), loop.var) for i in places)


def _hidden(index: Expr, var: Var) -> bool:
    fixing = (v for e in walk_expr(index) if isinstance(e, Binary) for v in _fixing(e))
    return not has_loads(index) and var in set(fixing) and presburger.affine(_arithmetic(index)) is None


def _fixing(e: Binary) -> set[Var]:
    """Variables for which an operator must have numbers to be linear in the others."""
    match e.op:
        case "shl" | "shr" | "pow" | "floordiv" | "floormod":
            return free_vars(e.rhs)
        case "mul" | "bitand" | "bitor" | "bitxor" if not (isinstance(e.lhs, Const) or isinstance(e.rhs, Const)):
            return free_vars(e.lhs, e.rhs) if free_vars(e.lhs) and free_vars(e.rhs) else set()
        case _:
            return set()


def _plain(value: Expr) -> bool:
    return value.dtype.is_integer and not has_loads(value)


def _pays(loop: For, steps: Stmt, hidden: int, target: Target, times: float) -> bool:
    """Whether array statements for each stage take less than a loop over stages, both so many times.

    A stage that reads nothing of what it stores is a gather in each step; any other goes through single elements."""
    stores = sum(isinstance(s, Store) for s in walk(steps))
    elements = times * _elements(steps, target)
    if not all(map(_reads_what_others_store, _parts(loop.body))):
        arrays = operations.stages_as_arrays(target, stores, elements, inside=True, to_parts=False)
        return cheaper("stages written out", arrays, operations.stages_in_turn(target, elements))
    of_a_step = [s for s in walk(loop.body) if isinstance(s, Store)]
    to_parts = any(loop.var in free_vars(*s.indices) for s in of_a_step)
    arrays = operations.stages_as_arrays(target, stores, elements, inside=times > 1, to_parts=to_parts)
    count, gathered = times * _times(loop.extent, target), hidden / max(len(of_a_step), 1)
    gathers = operations.stages_by_gathers(target, count, len(of_a_step), elements, gathered)
    return cheaper("stages written out", arrays, gathers)


def _parts(body: Stmt) -> Sequence[Stmt]:
    """What a stage does one after the other."""
    while isinstance(body, Let | Alloc):
        body = body.body
    return body.stmts if isinstance(body, Seq) else (body,)


def _reads_what_others_store(part: Stmt) -> bool:
    """Whether a part of a stage reads no elements of what it stores to but those that it replaces, and some that have
    another place along a dimension whatever the iteration."""
    stored = [(s.buffer, s.indices) for s in walk(part) if isinstance(s, Store)]
    read = [(e.buffer, e.indices) for e in all_exprs(part) if isinstance(e, Load)]
    pairs = ((i, j) for buffer, i in stored for other, j in read if other == buffer)
    return all(all_same(i, j) or are_apart(i, j) for i, j in pairs)


def _times(extent: Expr, target: Target) -> float:
    return max(float(extent.value), 0.0) if isinstance(extent, Const) else float(target.default_extent)


def _elements(stmt: Stmt, target: Target) -> float:
    """How many elements a statement stores."""
    match stmt:
        case For(extent=extent, body=body):
            return _times(extent, target) * _elements(body, target)
        case Seq(stmts=stmts):
            return sum(_elements(s, target) for s in stmts)
        case If(then=then, other=other):
            return max(_elements(then, target), _elements(other, target))
        case Let(body=body) | Alloc(body=body):
            return _elements(body, target)
        case _:
            return float(isinstance(stmt, Store))


# Expressions.


def _folded(stmt: Stmt) -> Stmt:
    """A statement with numbers for what is known, and arithmetic for bits, in its integers."""
    return map_stmt(stmt, lambda e: map_expr(e, _fold))


def _arithmetic(expr: Expr) -> Expr:
    return map_expr(expr, _fold)


def _fold(e: Expr) -> Expr:
    """One operator of numbers worked out; bits by numbers as quotients and rests, which is what analyses know.

    Signed integers have as many ones in front as one likes, so this holds below zero too.
    """
    if not isinstance(e, Binary) or not e.lhs.dtype.is_signed or not e.lhs.dtype.is_integer:
        return e
    dtype = e.lhs.dtype
    if isinstance(e.lhs, Const) and isinstance(e.rhs, Const):
        return fold(e)
    a, b = (e.rhs, e.lhs) if e.op in _SYMMETRIC and isinstance(e.lhs, Const) else (e.lhs, e.rhs)
    if not isinstance(b, Const) or has_loads(a):
        return e  # of data, bits are what is cheap
    n = int(b.value)
    power = n > 0 and n & (n - 1) == 0
    match e.op:
        case "shl" if 0 <= n < dtype.bits - 1:
            return Binary("mul", a, const(1 << n, dtype))
        case "shr" if 0 <= n < dtype.bits - 1:
            return _fold(Binary("floordiv", a, const(1 << n, dtype)))
        case "floordiv" | "mul" if n == 1:
            return a
        case "bitand" if n >= 0 and n & (n + 1) == 0 and n < dtype.max:
            return Binary("floormod", a, const(n + 1, dtype))
        case "bitand" if power:
            return Binary("mul", _bit(a, n), const(n, dtype))
        case "bitor" if power:
            return Binary("add", a, Binary("mul", Binary("sub", const(1, dtype), _bit(a, n)), b))
        case "bitxor" if power:
            twice = Binary("mul", _bit(a, n), const(2, dtype))
            return Binary("add", a, Binary("mul", Binary("sub", const(1, dtype), twice), b))
        case _:
            return e


_SYMMETRIC = {"mul", "bitand", "bitor", "bitxor"}


def _bit(a: Expr, power: int) -> Expr:
    """The bit of a number that counts as much as a power of two."""
    shifted = a if power == 1 else Binary("floordiv", a, const(power, a.dtype))
    return Binary("floormod", shifted, const(2, a.dtype))


def _in_digits(stmt: Stmt, names: set[str]) -> Stmt:
    """A statement with loops for the digits of loop variables of which it takes quotients and rests.

    `k // 8` and `k % 8`, k < 32, are digits of k in a base where each unit divides the next and the loop's extent.
    """

    def one(s: Stmt) -> Stmt:
        if not (
            isinstance(s, For) and isinstance(s.extent, Const) and isinstance(s.start, Const) and s.start.value == 0
        ):
            return s
        size = int(s.extent.value)
        exprs = [e for e in all_exprs(s.body) if isinstance(e, Binary)]
        units = sorted({u for e in exprs for u in _units(e, s.var) if 1 < u < size})
        if not units or any(b % a for a, b in pairwise([*units, size])):
            return s
        strides = [*reversed(units), 1]
        radices = [a // b for a, b in pairwise([size, *strides])]
        digits = [Var(lengthened(f"{s.var.name}_{k}", names), s.var.dtype) for k in range(len(strides))]

        def total(low: int, high: int) -> Expr:
            """The digits with units from `low` to below `high`, in units of `low`."""
            terms = [
                d if u == low else Binary("mul", d, const(u // low, d.dtype))
                for d, u in zip(digits, strides, strict=True)
                if low <= u < high
            ]
            result = terms[0] if terms else const(0, s.var.dtype)
            for t in terms[1:]:
                result = Binary("add", result, t)
            return result

        def digit(e: Expr) -> Expr:
            if isinstance(e, Binary) and (found := _quotient_or_rest(e, s.var)) is not None:
                low, high = found
                return total(low, high or size)
            return e

        def expr(e: Expr) -> Expr:
            return substitute_expr(_top_down(e, digit), {s.var: total(1, size)})

        body = map_stmt(s.body, expr)
        ranges: dict[Var, Bounds] = {d: (0.0, radix - 1.0) for d, radix in zip(digits, radices, strict=True)}
        for d, radix in reversed([*zip(digits, radices, strict=True)]):
            body = _loop(replace(s, var=d, extent=const(radix, d.dtype), body=body), radix, ranges)
        return body

    return map_stmt(stmt, on_stmt=one)


def _loop(loop: For, radix: int, ranges: Mapping[Var, Bounds]) -> Stmt:
    """A loop over a digit, its steps if its value decides what they compute, or the only one that a condition around
    all of its body lets pass."""
    if radix == 2 and any(len(_passed(c, loop.var, radix)) == 1 for c in _choices(loop.body)):
        steps = (substitute(loop.body, {loop.var: const(k, loop.var.dtype)}) for k in range(radix))
        return seq(*(_decided(step, ranges) for step in steps))
    inside = loop.body
    while isinstance(inside, For):
        inside = inside.body
    if not isinstance(inside, If) or not (isinstance(inside.other, Seq) and not inside.other.stmts):
        return loop
    for cond in conjuncts_of(inside.cond):
        passed = _passed(cond, loop.var, radix)
        if len(passed) == 1:
            return substitute(loop.body, {loop.var: const(passed[0], loop.var.dtype)})
    return loop


def _choices(stmt: Stmt) -> Iterator[Expr]:
    """What decides which of two values a statement takes."""
    return (e.cond for e in all_exprs(stmt) if isinstance(e, Select))


def _decided(stmt: Stmt, ranges: Mapping[Var, Bounds]) -> Stmt:
    """A statement with the values that known conditions choose, and places without the ends that they do not reach."""

    def one(e: Expr) -> Expr:
        e = chosen(fold(e))
        if not (isinstance(e, Binary) and e.op in ("min", "max") and e.dtype.is_signed) or has_loads(e):
            return e
        left, right = (bounds(part, AnyNumbers(dict(ranges))) for part in (e.lhs, e.rhs))
        if left is None or right is None:
            return e
        if left[1] <= right[0]:
            return e.lhs if e.op == "min" else e.rhs
        return (e.rhs if e.op == "min" else e.lhs) if right[1] <= left[0] else e

    return map_stmt(stmt, lambda e: map_expr(e, one))


def _passed(cond: Expr, digit: Var, radix: int) -> list[int]:
    """The values of a digit for which a condition holds; all of them if it does not depend on the digit alone."""
    every = list(range(radix))
    if not isinstance(cond, Binary) or cond.op not in NEGATED or not cond.lhs.dtype.is_signed or has_loads(cond):
        return every
    if digit not in free_vars(cond):
        return every
    form = linear(cond.lhs) - linear(cond.rhs)
    if set(form.terms) != {digit}:
        return every
    rate = form.terms[digit]
    return [k for k in every if fold_binary(cond.op, form.const + rate * k, 0, cond.lhs.dtype)]


def _top_down(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """An expression with the outermost parts changed that change."""
    new = change(e)
    return new if new is not e else with_children(e, tuple(_top_down(c, change) for c in children(e)))


def _quotient_or_rest(e: Binary, var: Var) -> tuple[int, int | None] | None:
    """`a` and `b` if an expression is `var // a` without what is from `b` on; None if it is none such."""
    if e.op not in ("floordiv", "floormod") or not isinstance(e.rhs, Const) or int(e.rhs.value) <= 0:
        return None
    n = int(e.rhs.value)
    if e.lhs == var:
        return (n, None) if e.op == "floordiv" else (1, n)
    inner = _quotient_or_rest(e.lhs, var) if isinstance(e.lhs, Binary) else None
    if inner is None:
        return None
    low, high = inner
    if high is None:
        return (low * n, None) if e.op == "floordiv" else (low, low * n)
    if (high // low) % n:
        return None
    return (low * n, high) if e.op == "floordiv" else (low, low * n)


def _units(e: Binary, var: Var) -> tuple[int, ...]:
    """Between which digits of a variable a quotient or rest cuts."""
    found = _quotient_or_rest(e, var)
    return () if found is None else tuple(u for u in found if u is not None)
