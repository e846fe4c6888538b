"""What padding holds: values for which the search shows that loops may run over it, and the program that does.

The search is told what the padding of each buffer holds, and that what a call leaves in it does not matter. It removes
the guards that are needless then; the values taken are those for which most go. Owns nothing of devices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import isinf

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules import Floats, transforms
from egraph_rules.modules.pads import reduction_steps, wanted_in
from egraph_rules.search.erase import erase
from ir.naming import fresh
from ir.nodes import (
    SKIP,
    Alloc,
    Assume,
    Binary,
    Buffer,
    Expr,
    For,
    If,
    Load,
    PrimFunc,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.operators import neutral
from ir.printing.printer import to_script
from ir.program.edit import names_in, nest
from ir.traverse import all_exprs, buffers_written, free_vars, loads, map_stmt, stores_in, walk
from lower.runtime.padded_extents import Dim, Extended, extended

Value = bool | int | float
Values = dict[str, Value]  # by buffer
_MAX_SEARCHES = 24
# First proofs that hold for infinite and NaN inputs as well: no rule may take values to be finite.
_ANY_VALUES = Floats.REASSOCIATE | Floats.NO_SIGNED_ZEROS


class Padded(Struct, frozen=True):
    """A program over padded buffers; `values` by parameter are what callers must put in the padding."""

    func: PrimFunc
    values: Mapping[str, Value]
    report: tuple[str, ...]


class _Guard(Struct, frozen=True):
    """A branch on an extended loop; a guarded reduction costs more than any other mask."""

    loop: str
    reduces: bool


class _Attempt(Struct, frozen=True):
    """A program found for pad values, and the guards that are still in it."""

    func: PrimFunc
    values: Values
    guards: tuple[_Guard, ...]
    floats: Floats

    @property
    def rank(self) -> tuple[int, int]:
        """The lower the better."""
        return sum(g.reduces for g in self.guards), len(self.guards)


def padded(func: PrimFunc, parts: Mapping[Dim, int], unread: Iterable[str], *, keep_checks: bool = False) -> Padded:
    """`func`, whose sizes are numbers, over buffers whose dimensions are multiples of `parts`.

    `unread` names parameters that are not read before they are written. With `keep_checks` no loop runs over padding,
    and assumptions stay.
    """
    wide = extended(func, parts, loops=not keep_checks)
    if not wide.dims:
        return Padded(func, {}, ())
    zeros: Values = {b.name: 0 for b in func.buffers}
    if not wide.loops:
        return Padded(wide.func, zeros, tuple(_report(wide, None, 0)))
    search = _Search(wide, frozenset(unread))
    best = search.best()
    report = tuple(_report(wide, best, search.count))
    return Padded(replace(best.func, body=erase(best.func.body)).as_form_of(wide.func), zeros | best.values, report)


# Pad values ----------------------------------------------------------------------------------------------------------


class _Search(Struct):
    """Attempts with pad values, from one for all buffers to one for those alike."""

    wide: Extended
    unread: frozenset[str]
    count: int = 0
    tried: dict[tuple[Floats, tuple[tuple[str, Value], ...]], _Attempt] = field(
        default_factory=dict[tuple[Floats, tuple[tuple[str, Value], ...]], _Attempt]
    )

    def best(self) -> _Attempt:
        """The attempt with fewest guards, of those the one with fewest demands on values."""
        strict = self._with(_ANY_VALUES)
        if not strict.guards or self.count >= _MAX_SEARCHES:
            return strict
        finite = self._with(_ANY_VALUES | Floats.FINITE)
        return finite if finite.rank < strict.rank else strict

    def _with(self, floats: Floats) -> _Attempt:
        zeros: Values = {b.name: 0 for b in _facts_needed(self.wide)}
        proposed = {name: values for name, values in _proposed(self.wide.func).items() if name in zeros}
        best = self._attempt(zeros, floats)
        for k in range(max(map(len, proposed.values()), default=0)):
            best = self._better(
                best, zeros | {name: values[min(k, len(values) - 1)] for name, values in proposed.items()}
            )
        for (_, values), names in self._alike(proposed).items():
            for value in values:
                best = self._better(best, best.values | dict.fromkeys(names, value))
        return best

    def _alike(
        self, proposed: Mapping[str, Sequence[Value]]
    ) -> Mapping[tuple[tuple[Expr, ...], tuple[Value, ...]], list[str]]:
        """Buffers of one shape of which the same is wanted, as in the layers of a network: they hold the same."""
        found = defaultdict[tuple[tuple[Expr, ...], tuple[Value, ...]], list[str]](list)
        for buffer in _facts_needed(self.wide):
            if buffer.name in proposed:
                found[buffer.shape, tuple(proposed[buffer.name])].append(buffer.name)
        return found

    def _better(self, best: _Attempt, values: Values) -> _Attempt:
        """The better of an attempt and one with other values, if there is any use in that."""
        finite = Floats.FINITE in best.floats and any(isinf(v) for v in values.values())
        if not best.guards or values == best.values or finite or self.count >= _MAX_SEARCHES:
            return best
        new = self._attempt(values, best.floats)
        return new if new.rank < best.rank else best

    def _attempt(self, values: Values, floats: Floats) -> _Attempt:
        key = floats, tuple(values.items())
        if key not in self.tried:
            self.tried[key] = self._found(values, floats)
        return self.tried[key]

    def _found(self, values: Values, floats: Floats) -> _Attempt:
        self.count += 1
        step = transforms.remove_branching_through_overcompute(floats=floats)
        found = step(_with_facts(self.wide, self.unread, values), verify=False)
        return _Attempt(found, values, tuple(_guards(self.wide, found)), floats)


def _proposed(func: PrimFunc) -> dict[str, list[Value]]:
    """What the padding of buffers might hold: values that reductions want, and what is neutral in these."""
    found: dict[str, list[Value]] = {}
    for buffer, values in wanted_in(func).items():
        found[buffer.name] = [v.value for v in values if v.value == v.value]
    for store in stores_in(func.body):
        for op, term in reduction_steps(store):
            for load in loads(term):
                value = neutral(op, load.buffer.dtype)
                if value is not None:
                    found.setdefault(load.buffer.name, []).append(value)
    return {name: list(dict.fromkeys(values)) for name, values in found.items() if values}


def _guards(wide: Extended, found: PrimFunc) -> Iterator[_Guard]:
    """Branches on extended loops that are still there."""
    bounds = {
        name: Binary("lt", loop.var, const(wide.loops[name], loop.var.dtype)) for name, loop in _loops(wide).items()
    }
    written = {s.cond for s in walk(wide.func.body) if isinstance(s, If)} - set(bounds.values())
    for stmt in walk(found.body):
        if isinstance(stmt, If) and stmt.cond not in written:
            for var in free_vars(stmt.cond):
                if var.name in wide.loops:
                    yield _Guard(var.name, _reduces(var, stmt))


def _loops(wide: Extended) -> dict[str, For]:
    return {s.var.name: s for s in walk(wide.func.body) if isinstance(s, For) and s.var.name in wide.loops}


def _reduces(var: Var, stmt: Stmt) -> bool:
    """Whether iterations of a loop with that variable store to one place that is not their own."""
    own = {s.buffer for s in walk(stmt) if isinstance(s, Alloc)}
    return any(s.buffer not in own and all(var not in free_vars(i) for i in s.indices) for s in stores_in(stmt))


# What the search is told ---------------------------------------------------------------------------------------------


def _facts_needed(wide: Extended) -> dict[Buffer, list[int]]:
    """Buffers whose padding may matter, with the padded dimensions of it that count.

    What is only read may be told all over its padding. What the program writes is told only where a loop runs over it
    that reduces: elsewhere the loops that write it would have to keep clear of its padding.
    """
    written = {b.name for b in buffers_written(wide.func.body)}
    read = {e.buffer.name for e in all_exprs(wide.func.body) if isinstance(e, Load)}
    reduced = {name for name, loop in _loops(wide).items() if _reduces(loop.var, loop)}
    out: dict[Buffer, list[int]] = {}
    for buffer in (*wide.func.buffers, *(s.buffer for s in walk(wide.func.body) if isinstance(s, Alloc))):
        dims = [d for d in range(len(buffer.shape)) if (buffer.name, d) in wide.dims]
        if buffer.name in written:
            dims = [d for d in dims if wide.related[buffer.name, d] & reduced]
        if dims and buffer.name in read:
            out[buffer] = dims
    return out


def _with_facts(wide: Extended, unread: frozenset[str], values: Values) -> PrimFunc:
    """The program with what its padding holds, and with permission to leave anything there."""
    func, taken = wide.func, names_in(wide.func)
    inputs = {b.name for b in func.buffers} - unread
    facts: dict[str, Stmt] = {}
    for buffer, dims in _facts_needed(wide).items():
        loops, indices, inside = _grid(wide, buffer, dims, taken)
        value = const(values[buffer.name], buffer.dtype)
        if buffer.name in inputs:
            facts[buffer.name] = nest(loops, Assume(inside | Binary("eq", Load(buffer, indices), value)))
        else:
            facts[buffer.name] = nest(loops, If(inside, SKIP, Store(buffer, indices, value)))
    ends: list[Stmt] = []
    for buffer in (b for b in func.buffers if b in buffers_written(func.body)):
        dims = [d for d in range(len(buffer.shape)) if (buffer.name, d) in wide.dims]
        if dims:
            loops, indices, inside = _grid(wide, buffer, dims, taken)
            ends.append(nest(loops, If(inside, SKIP, Store(buffer, indices, Undef(buffer.dtype)))))

    def stmt(s: Stmt) -> Stmt:
        fact = facts.get(s.buffer.name) if isinstance(s, Alloc) else None
        return replace(s, body=seq(fact, s.body)) if fact is not None and isinstance(s, Alloc) else s

    before = [facts[b.name] for b in func.buffers if b.name in facts]
    return replace(func, body=seq(*before, map_stmt(func.body, on_stmt=stmt), *ends))


def _grid(
    wide: Extended, buffer: Buffer, dims: Iterable[int], taken: set[str]
) -> tuple[list[For], tuple[Expr, ...], Expr]:
    """Empty loops over all elements of a buffer, the indices, and the condition that they are not in the padding."""
    variables = [Var(fresh("p", taken), extent.dtype) for extent in buffer.shape]
    loops = [For(v, const(0, v.dtype), extent, SKIP) for v, extent in zip(variables, buffer.shape, strict=True)]
    inside = [variables[d] < wide.dims[buffer.name, d] for d in dims]
    return loops, tuple(variables), reduce(lambda a, b: a & b, inside)


# The report ----------------------------------------------------------------------------------------------------------


def _report(wide: Extended, best: _Attempt | None, searches: int) -> Iterator[str]:
    """What was padded, with what, and why that is harmless; which loops keep their guards or extents."""
    sizes = {(b.name, d): e for b in wide.func.buffers for d, e in enumerate(b.shape)}
    inputs = {b.name for b in wide.func.buffers}
    for (name, d), extent in wide.dims.items():
        if name in inputs:
            yield f"dimension {d} of {name} is padded from {extent} to {to_script(sizes[name, d])}"
    if best is not None:
        for name in (n for n in best.values if n in inputs):
            yield f"the padding of {name} holds {best.values[name]}"
        guarded = list(dict.fromkeys(g.loop for g in best.guards))
        free = [loop for loop in wide.loops if loop not in guarded]
        if free:
            given = ", for finite values of floats" if Floats.FINITE in best.floats else ""
            subject = f"loop {free[0]} runs" if len(free) == 1 else f"loops {', '.join(free)} run"
            yield f"{subject} over the padding: proven to change no result{given}"
        for name in guarded:
            yield f"loop {name} keeps a guard: no pad values (of {searches} tried) were shown to be harmless without"
    for name in sorted(wide.kept):
        yield f"loop {name} keeps its extent, and leaves the padding alone"
