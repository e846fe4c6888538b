"""Which writes reads see among statements, exactly: pairs of instances as sets of isl.

Instances carry names of their own for the loops inside a level; what holds of a chain of them, from a value back to
what it was worked out from, is one set over all their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ir.analysis.dependence import Statement, common_loops, domain
from ir.nodes import Expr, Load, Var
from ir.presburger import sets as presburger
from ir.traverse import substitute_expr


class NotAffineError(Exception):
    """Something is no quasi-affine function of loops, so nothing exact can be said."""


class At(Struct, frozen=True):
    """Instances of a statement; `names` stand for its loops."""

    statement: Statement
    names: Mapping[Var, Var]

    def __call__(self, expr: Expr) -> Expr:
        return substitute_expr(expr, self.names)

    def own(self) -> list[str]:
        return [v.name for v in self.names.values()]


class Seen(Struct, frozen=True):
    """Instances of a statement that stored what others read: a set over the names of all."""

    at: At
    pairs: presburger.isl.Set

    def readers(self) -> presburger.isl.Set:
        """Those that see something."""
        return presburger.forget(self.pairs, self.at.own())


def same_place(a: Sequence[Expr], b: Sequence[Expr]) -> presburger.isl.Set:
    """Where two places are the same.

    Raises:
        NotAffineError: an index is not affine.
    """
    result = presburger.always()
    for x, y in zip(a, b, strict=True):
        px, py = presburger.affine(x), presburger.affine(y)
        if px is None or py is None:
            raise NotAffineError
        result = result.intersect(px.eq_set(py))
    return result


def differ(names: Mapping[str, str]) -> presburger.isl.Set:
    """Where some variable is not the one it is paired with."""
    result = presburger.never()
    for a, b in names.items():
        result = result.union(presburger.symbol(a).ne_set(presburger.symbol(b)))
    return result


def adds(statement: Statement) -> bool:
    """Whether a statement adds to what a place holds; all others store new values."""
    return statement.update is not None and statement.update[0] in ("add", "sub")


def require_affine(*statements: Statement) -> None:
    """See to it that when statements run is known exactly.

    Raises:
        NotAffineError: a guard or a bound is not affine.
    """
    for s in statements:
        bounds = [presburger.loop_domain(loop.var, loop.start, loop.extent) for loop in s.loops]
        if not all(c.exact for c in (*bounds, *map(presburger.condition, s.guards))):
            raise NotAffineError


class Flow:
    """Statements that share their outer `level` loops, within one iteration of those.

    Raises:
        NotAffineError: a guard or a bound is not affine.
    """

    def __init__(self, statements: Sequence[Statement], level: int) -> None:
        require_affine(*statements)
        self.statements = statements
        self.level = level
        self._count = 0

    def at(self, statement: Statement) -> At:
        """All instances of a statement, under new names."""
        self._count += 1
        names = {o.var: Var(f"{o.var.name}@{self._count}", o.var.dtype) for o in statement.loops[self.level :]}
        return At(statement, names)

    def around(self) -> presburger.isl.Set:
        """When an iteration of the outer loops runs."""
        outer = self.statements[0].loops[: self.level]
        result = presburger.always()
        for loop in outer:
            result = result.intersect(presburger.loop_domain(loop.var, loop.start, loop.extent).must)
        return result

    def fresh(self, name: str) -> str:
        """A name that nothing has."""
        self._count += 1
        return f"{name}@{self._count}"

    def domain(self, at: At) -> presburger.isl.Set:
        """When its statement runs."""
        return domain(at.statement, at.names)

    def place(self, at: At) -> tuple[Expr, ...]:
        """Where it stores."""
        return tuple(map(at, at.statement.store.indices))

    def before(self, a: At, b: At) -> presburger.isl.Set:
        """Where instances of one run before those of another."""
        shared = a.statement.loops[self.level : common_loops(a.statement, b.statement)]
        sides = ([presburger.symbol(s.names[loop.var].name) for loop in shared] for s in (a, b))
        result, same = presburger.in_order(zip(*sides, strict=True))
        return result.union(same) if a.statement.position < b.statement.position else result

    def seen(self, reader: At, pairs: presburger.isl.Set, load: Load) -> tuple[list[Seen], list[Seen]]:
        """All stores before a read to its place: those of new values, and those that add."""
        found: tuple[list[Seen], list[Seen]] = [], []
        for s in self.statements:
            if s.buffer == load.buffer:
                stored = self.meeting(s, reader, pairs, load)
                met = stored.pairs.intersect(self.before(stored.at, reader))
                if not met.is_empty():
                    found[adds(s)].append(Seen(stored.at, met))
        return found

    def meeting(self, statement: Statement, reader: At, pairs: presburger.isl.Set, load: Load) -> Seen:
        """The instances of a statement that store to the place of a read, before it or after."""
        at = self.at(statement)
        met = pairs.intersect(same_place(self.place(at), tuple(map(reader, load.indices))))
        return Seen(at, met.intersect(self.domain(at)))

    def once(self, several: Sequence[Seen]) -> bool:
        """Whether each reader sees one instance at most."""
        for k, a in enumerate(several):
            if any(not a.pairs.intersect(b.pairs).is_empty() for b in several[k + 1 :]) or not self.single(
                a.pairs, a.at.own()
            ):
                return False
        return True

    def single(self, pairs: presburger.isl.Set, names: Iterable[str]) -> bool:
        """Whether some variables are a function of the others."""
        others = {n: self.fresh(n) for n in sorted(names)}
        return bool(pairs.intersect(presburger.rename(pairs, others)).intersect(differ(others)).is_empty())

    def final(self, reader: At, pairs: presburger.isl.Set, load: Load) -> list[Seen] | None:
        """What stored the values that a read sees, where each is that of one store and no update; None elsewhere."""
        stores, updates = self.seen(reader, pairs, load)
        if not self.once(stores) or not self.in_turn(updates, stores):
            return None
        seen = presburger.never()
        for s in stores:
            seen = seen.union(s.readers())
        return stores if pairs.is_subset(seen) else None

    def in_turn(self, first: Sequence[Seen], then: Sequence[Seen]) -> bool:
        """Whether whatever the same readers see of two kinds comes in turn."""
        return all(a.pairs.intersect(b.pairs).subtract(self.before(a.at, b.at)).is_empty() for a in first for b in then)
