"""Whether conditions hold: by the sets that variables are in, by a second prover, by what elements hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from egraph_rules.contexts.elements import assured, decided
from egraph_rules.contexts.facts import Facts
from egraph_rules.contexts.ranges import Ranges
from egraph_rules.contexts.values import Values
from ir.nodes import Binary, Const, Expr, Load
from ir.presburger import sets as pb
from ir.traverse import has_loads, loads, walk_expr

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts

Prover = Callable[[Expr, Iterable[tuple[Expr, bool]]], "bool | None"]

# What an element holds may hang on a condition on elements, and what those hold on another: a chain of stages, each
# of which keeps what it finds under a condition, has no end to them.
_MOST_NESTED = 2
_WIDE = 32  # bits: that narrower integers have bounds may matter


class Truths:
    """The conditions of one search."""

    def __init__(self, contexts: Contexts, values: Values, ranges: Ranges) -> None:
        self._contexts = contexts
        self._values = values
        self._ranges = ranges
        self._nested = 0  # conditions on elements that are asked about for the sake of others

    def of(self, facts: int, cond: Expr) -> bool | None:
        """Whether a condition always (True) or never (False) holds; None when neither is proven."""
        contexts = self._contexts
        f = contexts.facts(facts)
        for known, value in f.conditions:
            if known.same(cond):
                return value
        key = ("truth", contexts.place(facts), bool(f.conditions), cond)
        found = contexts.ask(key, lambda: _by_sets(f, cond), None)
        prover = contexts.prover
        if found is None and prover is not None:
            found = contexts.ask(("prover", f.assumed, cond), lambda: prover(cond, f.assumed), None)
        if found is None and has_loads(cond):
            deep = self._nested >= _MOST_NESTED

            def question() -> bool | None:
                whole = cond if deep else self._with_elements(facts, cond)
                narrow = tuple(dict.fromkeys(loads(whole))) if _bounds_itself(whole) else ()
                return _by_elements(f, whole, narrow if all(contexts.defined(facts, e) for e in narrow) else ())

            found = contexts.ask(("data", facts, cond, deep), question, None)
        if found is None:
            value = contexts.value(facts, cond)
            return bool(value.value) if isinstance(value, Const) else self._ranges.compared(facts, cond)
        return found if isinstance(found, bool) else None

    def _with_elements(self, facts: int, cond: Expr) -> Expr:
        """A condition with what elements hold put in."""
        self._nested += 1
        try:
            return self._values.put_in(facts, cond)
        finally:
            self._nested -= 1


def _by_sets(f: Facts, cond: Expr) -> bool | str | None:
    """Whether a condition follows from the sets that variables are in; "depends" where that is known to be open."""
    holds = pb.condition(cond)
    if f.domain.is_subset(holds.must):
        return True
    if f.domain.is_disjoint(holds.may):
        return False
    return "depends" if holds.exact and not f.conditions else None


def _by_elements(f: Facts, cond: Expr, defined: Sequence[Load]) -> bool | None:
    """Whether a condition follows from what is known of the elements that it reads, and the dtypes of some."""
    return True if assured(f, cond) else decided(f, cond, defined=defined)


def _bounds_itself(cond: Expr) -> bool:
    """Whether a part of a condition has bounds whatever the elements are that it reads."""
    return any(
        (isinstance(e, Load) and e.dtype.is_integer and e.dtype.bits < _WIDE)
        or (isinstance(e, Binary) and e.op in ("bitand", "floormod", "truncmod") and has_loads(e.lhs))
        for e in walk_expr(cond)
    )
