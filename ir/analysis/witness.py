"""Errors about bounds and assumptions, each with values for which the program goes wrong. Decides nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import islpy as isl
from msgspec import Struct

import ir.presburger.sets as pb
from ir.errors import Span, VerifyError
from ir.nodes import Assume, Binary, Buffer, Cast, Const, Expr, For, Select, Var, const
from ir.printing.printer import to_script
from ir.traverse import free_vars, is_const, map_expr

_SHOWN_CONDITIONS = 6


class Fact(Struct, frozen=True, eq=False):
    """A condition that holds at a place: of a branch around it, or assumed before it."""

    cond: Expr
    branch: bool


class Words(Struct, frozen=True):
    """How advice is written in the language that the author used: a loop of some kind, an assumption, expressions."""

    loop: str  # with its kind in braces
    assume: str
    text: Callable[[Expr], str] = to_script


def _as_python(expr: Expr) -> str:
    """An expression as in a plain function: integers have no widths, and indices count from either end."""

    def plain(part: Expr) -> Expr:
        match part:
            case Cast(operand=a) if a.dtype.is_integer and part.dtype.is_integer:
                return a
            case Select(cond=Binary(op="lt", lhs=index, rhs=zero), then=Binary(op="add", lhs=same), other=other) if (
                is_const(zero, 0) and same.same(index) and other.same(index)
            ):
                return index
            case _:
                return part

    return to_script(map_expr(expr, plain))


DIALECT = Words("T.{}", "T.assume")
PLAIN = Words("range", "loopsat.assume", _as_python)


class Bindings:
    """The names in scope, outermost first, and what each stands for: a loop or a let value; scalars for themselves."""

    def __init__(self, scalars: Iterable[str], words: Words = DIALECT) -> None:
        self.scalars = tuple(scalars)
        self.words = words
        self.bound: dict[str, For | Expr] = {}

    @property
    def inner(self) -> tuple[str, ...]:
        """Names bound inside the function, outermost first."""
        return tuple(self.bound)

    def bind(self, name: str, what: For | Expr) -> None:
        self.bound[name] = what

    def release(self, name: str) -> None:
        del self.bound[name]

    def variables(self, expr: Expr, *, through_loops: bool = False) -> set[Var]:
        """Variables that an expression depends on through lets, and if asked through the ranges of loops."""
        found: set[Var] = set()
        todo = list(free_vars(expr))
        while todo:
            var = todo.pop()
            if var not in found:
                found.add(var)
                what = self.bound.get(var.name)
                if isinstance(what, Expr):
                    todo.extend(free_vars(what))
                elif what is not None and through_loops:
                    todo.extend(free_vars(what.start, what.extent))
        return found

    def around(self) -> set[str]:
        """Names that decide whether the loops around a place run at all."""
        loops = [what for what in self.bound.values() if isinstance(what, For)]
        return {v.name for loop in loops for e in (loop.start, loop.extent) for v in self.variables(e)}

    def ranges(self, variables: Iterable[Var]) -> list[str]:
        """What the program says of variables: `0 <= i < 16` for loops, `k = i + 1` for lets."""
        wanted = {v.name for v in variables}
        return [_range(name, what, self.words.text) for name, what in self.bound.items() if name in wanted]


def _range(name: str, what: For | Expr, text: Callable[[Expr], str]) -> str:
    if isinstance(what, Expr):
        return f"{name} = {text(what)}"
    return f"{text(what.start)} <= {name} < {text(_stop(what))}"


def _stop(loop: For) -> Expr:
    start, extent = loop.start, loop.extent
    if is_const(start, 0):
        return extent
    if isinstance(start, Const) and isinstance(extent, Const):
        return const(start.value + extent.value, extent.dtype)
    if isinstance(extent, Binary) and extent.op == "sub" and extent.rhs.same(start):
        return extent.lhs
    return Binary("add", start, extent)


# Witnesses -----------------------------------------------------------------------------------------------------------


def _column(region: isl.Set, name: str) -> isl.Set:
    """The values that one variable takes in a params set, as a set of rank one."""
    values = pb.line(pb.only(region, name), name)
    assert values is not None, f"the set says something of {name}"
    return values


def _least(region: isl.Set, name: str) -> int | None:
    value = _column(region, name).dim_min_val(0)
    return int(value.to_python()) if value.is_int() else None


def _greatest(region: isl.Set, name: str) -> int | None:
    value = _column(region, name).dim_max_val(0)
    return int(value.to_python()) if value.is_int() else None


def first_point(region: isl.Set, names: Bindings) -> dict[str, int]:
    """The member of a nonempty params set which a run meets first: small scalars, then the earliest iteration.

    Only variables that the set mentions get a value; others may have any.
    """
    point: dict[str, int] = {}
    for name in (*names.scalars, *names.inner):
        if name not in pb.variables(region):
            continue
        natural = region.intersect(pb.symbol(name).ge_set(pb.number(0)))
        scalar = name in names.scalars
        if scalar and not natural.is_empty():
            region = natural
        found = _greatest(region, name) if scalar and natural.is_empty() else _least(region, name)
        if found is not None:
            point[name] = found
            region = region.intersect(pb.symbol(name).eq_set(pb.number(found)))
    return point


def _value(expr: Expr, point: Mapping[str, int]) -> int | None:
    """The value of a quasi-affine expression at a point."""
    region = pb.point((expr,))
    if region is None:
        return None
    for name, value in point.items():
        region = region.intersect_params(pb.symbol(name).eq_set(pb.number(value)))
    found = pb.sample(region)
    return None if found is None else found[1][0]


def _assignment(point: Mapping[str, int], concerned: set[str]) -> str:
    """The values of those names which have to do with the matter; the others may be anything."""
    return ", ".join(f"{name} = {value}" for name, value in point.items() if name in concerned)


def _relevant(facts: Iterable[Fact], linked: set[str], names: Bindings) -> list[str]:
    """Branches around a place, and assumptions that concern the named variables, if only through one another.

    `linked` grows by the variables that these conditions mention.
    """
    concerns = [(fact, {v.name for v in names.variables(fact.cond)}) for fact in facts]
    chosen: set[int] = set()
    while near := {
        k for k, (fact, used) in enumerate(concerns) if k not in chosen and (fact.branch or not linked.isdisjoint(used))
    }:
        chosen |= near
        linked.update(*(concerns[k][1] for k in near))
    texts = [names.words.text(concerns[k][0].cond) for k in sorted(chosen)]
    return texts if len(texts) <= _SHOWN_CONDITIONS else [*texts[:_SHOWN_CONDITIONS], "and more"]


# Errors --------------------------------------------------------------------------------------------------------------


def may_leave(
    kind: str,
    buffer: Buffer,
    axis: int,
    index: Expr,
    span: Span | None,
    names: Bindings,
    known: isl.Set,
    bad: isl.Set,
    *,
    below: bool,
    above: bool,
    facts: tuple[Fact, ...],
) -> VerifyError:
    """The error for an access that leaves an axis in the nonempty params set `bad` of the states that reach it."""
    point = pb.within_budget(lambda: first_point(bad, names), dict[str, int]())
    variables = names.variables(index)
    ranges, reached = names.ranges(variables), _value(index, point) if point else None
    shape = f"({', '.join(map(names.words.text, buffer.shape))}{',' if len(buffer.shape) == 1 else ''})"
    text = f"index {axis} is {names.words.text(index)}"
    text += f" with {', '.join(ranges)}" if ranges else ""
    text += f": reaches {reached}" if reached is not None and not isinstance(index, Const) else ""
    notes = [f"{text}, but {buffer.name} has shape {shape}"]
    linked = {v.name for e in (index, buffer.shape[axis]) for v in names.variables(e, through_loops=True)}
    linked |= names.around()
    shown = _relevant(facts, linked, names)
    if example := _assignment(point, linked):
        notes.append(f"for example with {example}")
    if shown:
        notes.append(f"known here: {', '.join(shown)}")
    plain = f"guard the {kind} with a condition that keeps index {axis} in range"
    advice = pb.within_budget(
        lambda: _advice(kind, buffer, axis, index, variables, names, known, bad, below=below, above=above), plain
    )
    return VerifyError(
        f"{kind}-out-of-bounds",
        f"{kind} {'to' if kind == 'store' else 'from'} {buffer.name} may leave its shape",
        span,
        notes=notes,
        help=advice,
    )


def _advice(
    kind: str,
    buffer: Buffer,
    axis: int,
    index: Expr,
    variables: set[Var],
    names: Bindings,
    known: isl.Set,
    bad: isl.Set,
    *,
    below: bool,
    above: bool,
) -> str:
    extent = buffer.shape[axis]
    if not variables and isinstance(extent, Const):
        last = int(extent.value) - 1
        return f"axis {axis} of {buffer.name} " + (f"goes from 0 to {last}" if last >= 0 else "has no elements")
    size = extent if extent.dtype is index.dtype else Const(0, index.dtype)
    upper = Binary("lt", index, size) if size is extent else f"{names.words.text(index)} < {names.words.text(extent)}"
    checks: list[str] = []
    if below:
        checks.append(names.words.text(Binary("ge", index, const(0, index.dtype))))
    if above:
        checks.append(upper if isinstance(upper, str) else names.words.text(upper))
    advice = [f"guard the {kind} with `if {' and '.join(checks)}`"]
    advice[:0] = _other_range(variables, names, bad, below=below, above=above)
    advice += _assumption(names, known, bad)
    return ", or ".join(advice)


def _other_range(variables: set[Var], names: Bindings, bad: isl.Set, *, below: bool, above: bool) -> list[str]:
    """The loop that leaves out the failing end, where the index depends on one loop of known range alone."""
    if len(variables) != 1 or below == above:
        return []
    (var,) = variables
    loop = names.bound.get(var.name)
    if not isinstance(loop, For) or not isinstance(loop.start, Const) or not isinstance(loop.extent, Const):
        return []
    if var.name not in pb.variables(bad):
        return []
    start, stop = int(loop.start.value), int(loop.start.value + loop.extent.value)
    first, last = _least(bad, var.name), _greatest(bad, var.name)
    if last == stop - 1 and first is not None and first > start:
        bounds = str(first) if start == 0 else f"{start}, {first}"
        return [f"shorten the loop to {names.words.loop.format(loop.kind)}({bounds})"]
    if first == start and last is not None and last < stop - 1:
        return [f"start the loop later, as in {names.words.loop.format(loop.kind)}({last + 1}, {stop})"]
    return []


def _assumption(names: Bindings, known: isl.Set, bad: isl.Set) -> list[str]:
    """What could be assumed of the scalars so that nothing goes wrong."""
    failing = pb.forget(bad, names.inner)
    mentioned = [n for n in names.scalars if n in pb.variables(failing)]
    runs = pb.forget(known, names.inner)
    if not mentioned or runs.is_subset(failing):
        return []
    if len(mentioned) == 1:
        (name,) = mentioned
        value, first, last = pb.symbol(name), _least(failing, name), _greatest(failing, name)
        if first is not None and runs.intersect(value.ge_set(pb.number(first))).is_subset(failing):
            return [f"state a bound with `{names.words.assume}({name} <= {first - 1})`"]
        if last is not None and runs.intersect(value.le_set(pb.number(last))).is_subset(failing):
            return [f"state a bound with `{names.words.assume}({name} >= {last + 1})`"]
    return [f"state with {names.words.assume} what holds of {' and '.join(mentioned)}"]


def assumption_false(stmt: Assume, names: Bindings, bad: isl.Set, facts: tuple[Fact, ...]) -> VerifyError:
    """The error for an assumption that is false in the nonempty params set `bad`."""
    point = pb.within_budget(lambda: first_point(bad, names), dict[str, int]())
    variables = names.variables(stmt.cond)
    linked = {v.name for v in names.variables(stmt.cond, through_loops=True)} | names.around()
    known = [*names.ranges(variables), *_relevant(facts, linked, names)]
    example = _assignment(point, linked)
    notes = [f"it is false with {example}"] if example else []
    if known:
        notes.append(f"known here: {', '.join(known)}")
    return VerifyError(
        "assumption-false",
        f"the assumption `{names.words.text(stmt.cond)}` is false",
        stmt.span,
        notes=notes,
        help="correct it or what is known around it: where an assumption is false, a program may do anything",
    )
