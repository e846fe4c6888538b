"""Queries of the engine's rules over statements, answered again at one place, atom by atom.

Such a rule is a query against the tables of `egraph_rules.search.language`. An atom that speaks of the program's form
says whether the rule's pattern occurs at a place; one that holds an answer of the prover is a fact, and the first of
these that does not hold is what is missing there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from msgspec import Struct

from egraph_rules.authoring.rule import Rule
from egraph_rules.contexts.context import IMPOSSIBLE, Contexts
from egraph_rules.contexts.safety import doubts
from egraph_rules.engine.sexpr import SExpr, parse_sexprs
from egraph_rules.explain.asking import Wish
from egraph_rules.explain.derivation import KINDS, Trace
from egraph_rules.explain.sites import Site
from egraph_rules.explain.suggestions import differing, disagreeing
from egraph_rules.search.blocks import places_inside
from egraph_rules.search.extract import ClassId, Place
from egraph_rules.search.numbering import Part
from ir.analysis.conditions import negate
from ir.dtypes import DType
from ir.nodes import Assume, Binary, Const, Expr, If, Load, Select, Store
from ir.traverse import stmt_exprs, substitute_expr, walk_expr


class Applies(Struct, frozen=True):
    """The rule holds at a place; `result` is the statement, and its place, that it says is equal (None: skip)."""

    result: tuple[Part, Place] | None


class Lacks(Struct, frozen=True):
    """The rule's pattern is there, but one of its facts is not; any of the wishes might be it."""

    reason: str
    wishes: tuple[Wish, ...] = ()


class _ElsewhereError(Exception):
    """The pattern does not occur at the place."""


class _LacksError(Exception):
    def __init__(self, reason: str, wishes: Sequence[Wish] = ()) -> None:
        super().__init__(reason)
        self.lacks = Lacks(reason, tuple(wishes))


class Queries(Struct, dict=True):
    """Asks the rules of one search again."""

    trace: Trace

    def __post_init__(self) -> None:
        self.classes: dict[Place, ClassId] = {
            p: at for at, places in self.trace.extractor.places.items() for p in places
        }
        self.noops: set[ClassId] = {row.inputs[0] for row in self.trace.extractor.tables["noop"]}

    def ask(self, rule: Rule, site: Site) -> Applies | Lacks | None:
        """Whether a rule applies at a place, or which fact it lacks; None if its pattern is not there."""
        (form,) = parse_sexprs(rule.program)
        atoms, actions = cast("list[list[SExpr]]", form[1]), cast("list[list[SExpr]]", form[2])
        lacking: Lacks | None = None
        for start in self._starts(atoms, site):
            asked = _Asked(self, site, dict(start))
            try:
                for atom in atoms:
                    asked.atom(atom)
                return Applies(asked.result(actions))
            except _LacksError as error:
                lacking = lacking or error.lacks
            except _ElsewhereError:
                pass
        return lacking

    def _starts(self, atoms: list[list[SExpr]], site: Site) -> Iterator[dict[str, object]]:
        """What is bound before a query: for rules over expressions, each expression of the statement."""
        if not any(isinstance(a, list) and a[:1] == ["Ate"] for a in atoms[0]):
            yield {}
            return
        for top in stmt_exprs(site.part.stmt):
            for expr in walk_expr(top):
                yield {"f": site.place.facts, "e": expr}


class _Asked(Struct):
    """One query at one place, with what its variables stand for."""

    queries: Queries
    site: Site
    bound: dict[str, object]

    def atom(self, atom: list[SExpr]) -> None:
        """Take an atom for true.

        Raises:
            _ElsewhereError: it is about the program's form and does not fit.
            _LacksError: it is a fact that does not hold here.
        """
        head = cast(str, atom[0])
        if head == "=":
            self._equation(atom[1], atom[2])
            return
        handler = _ATOMS.get(head)
        if handler is None:
            raise _LacksError(f"`({head} ...)` does not hold")
        handler(self, [cast(str, cell) for cell in atom[1:]])

    def result(self, actions: list[list[SExpr]]) -> tuple[Part, Place] | None:
        """What a rule says that the statement equals; None for nothing."""
        for action in actions:
            if action[0] == "union":
                new = action[2]
                if isinstance(new, str):
                    return cast("tuple[Part, Place]", self.bound[new])
                if new[0] == "At" and isinstance(self.bound.get(cast(str, new[2])), Part):
                    part = self._part(cast(str, new[2]))
                    return part, Place(self._facts("f"), part.number, self.site.place.permissions)
        return None

    # Values of variables ----------------------------------------------------------------------------------------------

    def _part(self, name: str) -> Part:
        return cast("Part", self.bound[name])

    def _facts(self, name: str) -> int:
        return cast(int, self.bound[name])

    def _bind(self, name: str, value: object) -> None:
        known = self.bound.setdefault(name, value)
        if isinstance(known, Part) and isinstance(value, Part):
            known, value = known.number, value.number
        if not isinstance(value, Expr) and known != value:
            raise _ElsewhereError

    def _class(self, facts: int, part: Part) -> ClassId:
        place = Place(facts, part.number, self.site.place.permissions)
        return self.queries.classes.get(place, ("no class", place))

    # Equations --------------------------------------------------------------------------------------------------------

    def _equation(self, left: SExpr, right: SExpr) -> None:
        if isinstance(left, list):
            self._same(left, cast("list[SExpr]", right))
            return
        node = cast("list[SExpr]", right)
        head = cast(str, node[0])
        match head:
            case "At" | "Ate":
                self._bind("f", self.site.place.facts)
                if head == "At":
                    self._bind("d", self.site.place.permissions)
                    self._bind(cast(str, node[2]), self.site.part)
            case "f_then" | "f_else":
                cond = cast(Expr, self.bound[cast(str, node[2])])
                self._bind(left, self._contexts.assume(self._facts("f"), cond, head == "f_then"))
            case "ival" | "fval":
                self._value(left, node[1])
            case "old_int":
                if cast(Store, self.site.part.stmt).value.dtype.is_float:
                    raise _ElsewhereError
                self._old(left)
            case "Load":
                self._stored_back()
            case _:
                self._node(head, [cast(str, cell) for cell in node[1:]])

    @property
    def _contexts(self) -> Contexts:
        return self.queries.trace.contexts

    def _node(self, kind: str, cells: list[str]) -> None:
        """A node of the statement itself, with the places of its parts."""
        part, place = self.site.part, self.site.place
        if KINDS.get(type(part.stmt), "leaf") != kind.lower():
            raise _ElsewhereError
        values: list[object] = [place.facts, place.permissions]
        if kind in ("For", "Let", "Alloc", "Block", "Leaf"):
            values.append(part)
        if kind in ("If", "For", "Let"):  # extents of an allocation have no column
            values += stmt_exprs(part.stmt)
        values += zip(part.parts, places_inside(part, place, self._contexts), strict=True)
        for name, value in zip(cells, values, strict=False):
            self._bind(name, value)

    def _value(self, wanted: str, of: SExpr) -> None:
        """That an expression has a value: the one that is wanted, or any."""
        name = cast(str, of if isinstance(of, str) else of[2])
        if name == "e" and isinstance(self.site.part.stmt, Store):
            self.bound.setdefault("e", self.site.part.stmt.value)
        expr = cast(Expr, self.bound[name])
        if expr.dtype is not DType.BOOL:
            if not isinstance(expr, Const):
                raise _LacksError(f"`{self.site.text(expr)}` is not known to be a constant")
            return
        truth = self._contexts.truth(self.site.place.facts, expr)
        if truth is bool(int(wanted)):
            return
        text, state = self.site.text(expr), "always true" if wanted == "1" else "always false"
        reason = f"`{text}` is {state}"
        if truth is not None:
            raise _LacksError(f"{reason}: it is always {str(truth).lower()}")
        claim = expr if wanted == "1" else negate(expr)
        raise _LacksError(reason, [Wish(reason, Assume(substitute_expr(claim, self.site.env)))])

    def _old(self, name: str) -> None:
        store = cast(Store, self.site.part.stmt)
        old = self._contexts.contents(self.site.place.facts, store.buffer, store.indices)
        value = store.value
        if not isinstance(value, Const):
            raise _ElsewhereError
        if isinstance(old, Const) and old.same(value):
            return
        target = Load(store.buffer, store.indices)
        reason = f"`{self.site.text(target)}` is {self.site.text(value)} before the store"
        claim = Binary("eq", target, value)
        raise _LacksError(reason, [Wish(reason, Assume(substitute_expr(claim, self.site.env)))])

    def _stored_back(self) -> None:
        store = cast(Store, self.site.part.stmt)
        if not (isinstance(store.value, Load) and store.value.buffer == store.buffer):
            raise _ElsewhereError
        if store.value.indices != store.indices:
            place = self.site.text(Load(store.buffer, store.indices))
            raise _LacksError(f"`{self.site.text(store.value)}` and `{place}` are one element")

    def _same(self, left: list[SExpr], right: list[SExpr]) -> None:
        """That two statements, or two expressions, are equal under some facts."""
        facts = self._facts(cast(str, left[1]))
        if facts == IMPOSSIBLE:
            return
        a, b = self.bound[cast(str, left[2])], self.bound[cast(str, right[2])]
        if isinstance(a, Expr) and isinstance(b, Expr):
            if not a.same(b) and not self._same_class(facts, a, b):
                raise _LacksError(*disagreeing(self.site, cast(Expr, self.bound["c"]), a, b, left[1] == "n"))
            return
        kept, other = cast("Part", a), cast("Part", b)
        if self._class(facts, kept) == self._class(facts, other):
            return
        stmt = cast(If, self.site.part.stmt)
        raise _LacksError(*differing(self.site, stmt.cond, kept, other, kept is self.site.part.parts[0]))

    def _same_class(self, facts: int, a: Expr, b: Expr) -> bool:
        numbers = {e: n for n, e in enumerate(self.queries.trace.rebuilder.numbering.exprs)}
        rows = {row.inputs: row.output for row in self.queries.trace.extractor.tables["Ate"]}
        found = [rows.get((facts, numbers.get(e))) for e in (a, b)]
        return found[0] is not None and found[0] == found[1]

    # Relations --------------------------------------------------------------------------------------------------------

    def may_run(self, cells: list[str]) -> None:
        facts, part = self._facts(cells[0]), self._part(cells[1])
        if facts != IMPOSSIBLE and not self._contexts.harmless(facts, part.stmt):
            first = next(doubts(self._contexts, facts, part.stmt, self.site.text), "it may fault there")
            raise _LacksError(f"running the other arm there is harmless: {first}")

    def may_select(self, cells: list[str]) -> None:
        facts, expr = self._facts(cells[0]), cast(Expr, self.bound[cells[1]])
        if facts != IMPOSSIBLE and not self._contexts.total(facts, expr):
            raise _LacksError(f"evaluating `{self.site.text(expr)}` there cannot fault")

    def only_writes_dead(self, cells: list[str]) -> None:
        place, stmt = self.site.place, self.site.part.stmt
        written = sorted(b.name for b in self._contexts.effects.of(stmt).may)
        if not written:
            raise _ElsewhereError
        if not self._contexts.only_writes_dead(place.facts, place.permissions, stmt):
            raise _LacksError(f"what it writes to {', '.join(written)} is overwritten or arbitrary before it is read")

    def without_effect(self, cells: list[str]) -> None:
        stmt = self.site.part.stmt
        if not self._contexts.harmless(self.site.place.facts, stmt):
            first = next(doubts(self._contexts, self.site.place.facts, stmt, self.site.text), "it cannot fault")
            raise _LacksError(first)

    def noop(self, cells: list[str]) -> None:
        if cells[0] == "x":
            at = self.queries.classes.get(self.site.place)
            if at not in self.queries.noops:
                raise _LacksError("it changes nothing")
            return
        _, place = cast("tuple[Part, Place]", self.bound[cells[0]])
        if place.facts != IMPOSSIBLE and self.queries.classes.get(place) not in self.queries.noops:
            raise _LacksError("what stands in it does nothing")

    def p_if(self, cells: list[str]) -> None:
        stmt = self.site.part.stmt
        if not isinstance(stmt, If):
            raise _ElsewhereError
        for name, value in zip(cells[1:], (stmt.cond, *self.site.part.parts), strict=True):
            self._bind(name, value)

    def p_store(self, cells: list[str]) -> None:
        if not isinstance(self.site.part.stmt, Store):
            raise _ElsewhereError
        self._bind(cells[3], self.site.part.stmt.value)

    def old_flt(self, cells: list[str]) -> None:
        if not cast(Store, self.site.part.stmt).value.dtype.is_float:
            raise _ElsewhereError
        self._old(cells[2])

    def e_sel(self, cells: list[str]) -> None:
        expr = self.bound["e"]
        if not isinstance(expr, Select):
            raise _ElsewhereError
        for name, value in zip(cells[2:], (expr.cond, expr.then, expr.other), strict=True):
            self._bind(name, value)


_ATOMS: dict[str, Callable[[_Asked, list[str]], None]] = {
    name: getattr(_Asked, name)
    for name in (
        "may_run", "may_select", "only_writes_dead", "without_effect", "noop", "p_if", "p_store", "old_flt", "e_sel",
    )
}  # fmt: skip
