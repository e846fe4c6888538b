"""The names that authors gave to what statements bind, for statements that rules make of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct, field

from ir.nodes import Expr, Stmt, Store, Var
from ir.traverse import walk

_Trace = frozenset[tuple[object, tuple[Expr, ...]]]


class AuthorNames(Struct, frozen=True):
    """Names by canonical variable. Several loops of one depth have one: each keeps the name of what it works on."""

    found: dict[str, list[tuple[Stmt, str]]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(bindings: Iterable[tuple[Var, Stmt, str]]) -> AuthorNames:
        """Names of variables bound around bodies."""
        names = AuthorNames()
        for var, body, name in bindings:
            names.found[var.name].append((body, name))
        return names

    def of_binding(self, var: Var, body: Stmt) -> str:
        """What to call a variable that a rule binds; what it makes of `%0` it calls `%0.o`, `%0.i` and so on."""
        base, _, suffix = var.name.partition(".")
        known = self.found.get(base, ())
        if len({name for _, name in known}) <= 1:
            return (known[0][1] if known else base) + suffix
        stores = _stores(body)  # of a body that has none of theirs, the last loop may be an earlier form
        return max(reversed(known), key=lambda pair: len(stores & _stores(pair[0])))[1] + suffix


def _stores(body: Stmt) -> _Trace:
    """What a body stores to: enough to know it again when other statements have joined it."""
    return frozenset((s.buffer, (*s.indices, s.value)) for s in walk(body) if isinstance(s, Store))
