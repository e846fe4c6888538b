"""How the chosen program follows from the source: one program after each rewrite. Owns the descent through a search.

Each step replaces a statement by another member of its class in the same context, so that it is an equality there
whatever rule is named. Parts before the place are final already, those after it are still as they were.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.rule import Rule
from egraph_rules.contexts.context import Contexts
from egraph_rules.explain.chains import KNOWN, Link, chain
from egraph_rules.explain.decisions import evidence
from egraph_rules.search.blocks import places_inside
from egraph_rules.search.erase import count_erased, erase
from egraph_rules.search.extract import Choice, ClassId, Extractor, Place, Rebuilder, branch
from egraph_rules.search.filling import LAW, RULE
from egraph_rules.search.names import restored
from ir.dtypes import DType
from ir.nodes import SKIP, Alloc, Block, Const, Expr, For, If, Let, PrimFunc, Seq, Stmt, Store, Var, seq
from ir.page import Section
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import promised
from ir.printing.printer import to_script
from ir.shown import Shown
from ir.transform.calls.tensorize import with_calls
from ir.traverse import map_stmt, stmt_exprs, substitute_expr

if TYPE_CHECKING:
    from egraph_rules.search.numbering import Part

_KNOWN_LAW = "e  =  c   where e is always c;  e % c  =  e   where e // c is always 0"
GROUPED = "several rules"
ERASE = "erase"
KINDS: dict[type[Stmt], str] = {
    Seq: "seq", If: "if", For: "for", Let: "let", Alloc: "alloc", Block: "block", Store: "store",
}  # fmt: skip
Edges = dict[tuple[int, int, int], list[tuple["Part", str]]]
Names = dict[Var, Expr]
Wrap = Callable[[Stmt], Stmt]


class Step(Shown, Struct, frozen=True):
    """One rewrite: rule (or `several rules`, `erase`), law, place, the fact used, and the programs around it."""

    rule: str
    law: str
    place: str
    fact: str
    before: PrimFunc
    after: PrimFunc

    @property
    def decides(self) -> bool:
        """Whether it changes the program, and does not only leave out what has done its work."""
        return self.rule != ERASE

    def brief(self) -> str:
        """The rule and the place."""
        return f"Step {self.rule}: {self.place}"

    def sections(self) -> Iterator[Section]:
        """Rule, place, law and fact, and the lines that change."""
        law = [f"   law:  {self.law}"] if self.law else []
        yield Section(f"{self.rule}: {self.place}", lines=(*law, f"   fact: {self.fact}", *self.diff()))

    def diff(self) -> Iterator[str]:
        """The lines that change, in the form of `diff -u`."""
        before, after = str(self.before).splitlines(), str(self.after).splitlines()
        return difflib.unified_diff(before, after, "before", "after", lineterm="")


class Trace(Struct, frozen=True):
    """What is kept of a search, to derive its steps later: its start, and the choices with their programs.

    `unfilled` is the program whose padding was filled before the search, if it was.
    """

    body: Stmt
    part: Part
    found: list[tuple[Choice, Place, Stmt]]
    extractor: Extractor
    contexts: Contexts
    rebuilder: Rebuilder
    edges: Edges
    rules: tuple[Rule, ...]
    unfilled: Stmt | None = None


Move = tuple[str, str, str, Stmt]  # rule, place, fact, whole program after it


def legs(func: PrimFunc, wanted: Stmt, traces: list[Trace]) -> list[tuple[Trace, int]]:
    """The searches through which an erased program of `func` was found, and which of those found leads there."""
    found: list[tuple[Trace, int]] = []
    for trace in reversed(traces):
        bodies = [b if found else restored(with_calls(erase(b), promised(func)), func) for _, _, b in trace.found]
        at = next((k for k, b in enumerate(bodies) if b == wanted), None)
        if at is not None:
            found.insert(0, (trace, at))
            wanted = trace.body if trace.unfilled is None else trace.unfilled
    return found


def derive(func: PrimFunc, best: PrimFunc, traces: list[Trace]) -> list[Step]:
    """The steps from `func` to `best`, through the searches that led there."""
    if best == func:
        return []
    steps: list[Step] = []
    current, entry = func, promised(func)
    for trace, at in legs(func, best.body, traces):
        laws = {r.name: r.law for r in trace.rules} | {KNOWN: _KNOWN_LAW}
        choice, root, final = trace.found[at]
        if trace.unfilled is not None:
            start = replace(func, body=trace.body)
            steps.append(Step(RULE, LAW, func.name, "what is undef may hold anything", current, start))
            current = start
        moves = list(_Descent(trace).visit(trace.part, root, choice, {}, lambda s: s))
        if (moves[-1][3] if moves else trace.body) != final:
            moves.append((GROUPED, func.name, "equal here by the search; the order of rules is not worked out", final))
        for rule, place, fact, body in moves:
            after = replace(func, body=restored(with_calls(body, entry), func))
            if after != current:
                steps.append(Step(rule, laws.get(rule, ""), place, fact, current, after))
                current = after
    if current != best:
        assumptions, stores = count_erased(current.body)
        fact = f"{assumptions} assumptions and {stores} stores of undef have done their work"
        steps.append(Step(ERASE, "assume(c); A[i] = undef  >=  skip", func.name, fact, current, best))
    return steps


class _Descent:
    """Walks a choice and the statement it replaces, side by side."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.classes: dict[Place, ClassId] = {p: at for at, ps in trace.extractor.places.items() for p in ps}
        self.edges: Edges = defaultdict(list, trace.edges)
        self.noops: set[ClassId] = {row.inputs[0] for row in trace.extractor.tables["noop"]}
        self._repeats = trace.rebuilder.numbering.repeats

    def visit(self, part: Part, at: Place, choice: Choice, env: Names, wrap: Wrap) -> Iterator[Move]:
        """The programs after each rewrite of a part, whose final form is the choice."""
        path = self._path(part, at, choice, env)
        alone = self._alone(part, at, choice) if path is None else None
        if alone is not None:
            dropped, place, kept = alone
            yield *self._nothing(dropped, place, env), wrap(printed(kept, env))
            yield from self.visit(kept, Place(at.facts, kept.number, at.permissions), choice, env, wrap)
            return
        if path is None:
            yield (
                GROUPED,
                line(part, env),
                "equal here by the search; the order of rules is not worked out",
                wrap(self._final(choice, env)),
            )
            return
        for rule, fact, new in path:
            yield rule, line(part, env), fact, wrap(printed(new, env))
            part, at = new, Place(at.facts, new.number, at.permissions)
        if choice.kind == "instance":
            return
        if choice.kind == "twin":
            yield from self._twin(part, choice, env, wrap)
            return
        if choice.kind == "skip":
            if part.number != 0:
                yield *self._nothing(part, at, env), wrap(SKIP)
            return
        yield from self._inside(part, at, choice, env, wrap)

    def _twin(self, part: Part, choice: Choice, env: Names, wrap: Wrap) -> Iterator[Move]:
        """The steps of the nest that this one repeats, with the buffers of this one."""
        twin, rebuilder = self.trace.rebuilder.twin_of(choice), self.trace.rebuilder
        first = twin.first
        at = Place(first.facts, first.kept.number, first.permissions)
        moves = self.visit(first.kept, at, choice.parts[0], env, lambda s: wrap(rebuilder.as_twin(s, twin)))
        for rule, place, fact, whole in moves:
            yield rule, f"{line(part, env)}, as {place}", fact, whole

    def _nothing(self, part: Part, at: Place, env: Names) -> tuple[str, str, str]:
        """The rule by which a part does nothing, the part, and the fact behind it."""
        dead = self.trace.contexts.only_writes_dead(at.facts, at.permissions, part.stmt)
        fact = "what it writes is overwritten, arbitrary or unused afterwards" if dead else "no effect here"
        return "noop.dead" if dead else "noop.is_skip", line(part, env), fact

    def _alone(self, part: Part, at: Place, choice: Choice) -> tuple[Part, Place, Part] | None:
        """The part of a sequence that does nothing, where it stands, and the other one, if that is what was chosen."""
        if not isinstance(part.stmt, Seq) or len(part.parts) != 2:
            return None
        for place, dropped, kept in zip(
            places_inside(part, at, self.trace.contexts), part.parts, part.parts[::-1], strict=True
        ):
            alone = self.classes.get(Place(at.facts, kept.number, at.permissions))
            if alone == choice.origin and self.classes.get(place) in self.noops:
                return dropped, place, kept
        return None

    def _inside(self, part: Part, at: Place, choice: Choice, env: Names, wrap: Wrap) -> Iterator[Move]:
        inner = self.trace.rebuilder.scope_of(choice, env) if choice.kind in ("for", "let") else env
        done = [printed(p, inner) for p in part.parts]
        yield from self._expressions(part, at, choice, env, lambda new: wrap(self._around(new, env, inner)(done)))
        around = self._around(choice, env, inner)
        for k, (child, place) in enumerate(zip(part.parts, places_inside(part, at, self.trace.contexts), strict=True)):

            def hole(new: Stmt, k: int = k, done: tuple[Stmt, ...] = tuple(done)) -> Stmt:
                return wrap(around([*done[:k], new, *done[k + 1 :]]))

            yield from self.visit(child, place, choice.parts[k], inner, hole)
            done[k] = self._final(choice.parts[k], inner)

    def _expressions(
        self, part: Part, at: Place, choice: Choice, env: Names, build: Callable[[Choice], Stmt]
    ) -> Iterator[Move]:
        """The programs after each rewrite of an expression that a statement holds directly."""
        wanted = _exprs_of(choice)
        current = list(stmt_exprs(part.stmt)) if wanted else []
        t = self.trace
        for k, goal in enumerate(wanted):
            if current[k].same(goal):
                continue
            links = chain(current[k], goal, at.facts, t.contexts, t.rules)
            if links is None:
                fact = "its expressions are equal here by the search; the order of rules was not found again"
                links = [Link(GROUPED, fact, goal)]
            for link in links:
                current[k] = link.after
                yield link.rule, line(part, env), self._renamed(link.fact, env), build(_with_exprs(choice, current))

    def _renamed(self, fact: str, env: Names) -> str:
        """A fact in the author's names."""
        names = {v.name: to_script(e) for v, e in env.items()}
        return re.sub(r"%\d+[.\w]*", lambda m: names.get(m.group(), m.group()), fact)

    def _around(self, choice: Choice, env: Names, inner: Names) -> Callable[[list[Stmt]], Stmt]:
        """The final node of a choice, around any parts."""

        def build(parts: list[Stmt]) -> Stmt:
            match choice.kind:
                case "seq":
                    return seq(*parts)
                case "if":
                    return branch(substitute_expr(cast(Expr, choice.payload[0]), env), *parts)
                case "for" | "let" | "alloc" | "block":
                    stmts = self.trace.rebuilder.numbering.stmts
                    number = cast(int, choice.payload[1 if choice.kind in ("for", "let") else 0])
                    old = cast("For | Let | Alloc | Block", stmts[number])
                    if isinstance(old, (Alloc, Block)):
                        return replace(old, body=parts[0])
                    var = cast(Var, inner[old.var])
                    if isinstance(old, Let):
                        return Let(var, substitute_expr(cast(Expr, choice.payload[2]), env), parts[0], old.span)
                    start, extent = (substitute_expr(e, env) for e in cast("tuple[Expr, Expr]", choice.payload[2:]))
                    return replace(old, var=var, start=start, extent=extent, body=parts[0])
                case _:
                    return self._final(choice, env)

        return build

    def _final(self, choice: Choice, env: Names) -> Stmt:
        return self.trace.rebuilder.build(choice, env)

    def _path(self, part: Part, at: Place, choice: Choice, env: Names) -> list[tuple[str, str, Part]] | None:
        """The shortest chain of rules to a member of the class that the choice is made of."""
        queue: list[tuple[Part, list[tuple[str, str, Part]]]] = [(part, [])]
        seen = {part.number}
        for here, path in queue:
            place = Place(at.facts, here.number, at.permissions)
            if choice.kind == "skip" or self._matches(here, place, choice):
                return path
            for new, rule, fact in self._moves(here, place, choice, env):
                if new.number not in seen:
                    seen.add(new.number)
                    queue.append((new, [*path, (rule, fact, new)]))
        return None

    def _moves(self, part: Part, at: Place, choice: Choice, env: Names) -> Iterator[tuple[Part, str, str]]:
        for new, rule in self.edges[at.facts, part.number, at.permissions]:
            yield new, rule, self._premise(rule, at, env)
        if not isinstance(part.stmt, If):
            return
        known = self.trace.contexts.truth(at.facts, part.stmt.cond)
        for k, arm in enumerate(part.parts):
            if self.classes.get(Place(at.facts, arm.number, at.permissions)) != choice.origin:
                continue
            if known is not None:
                rule, fact = f"branch.{str(known).lower()}", f"the condition is always {str(known).lower()} here"
            elif part.parts[0].number == part.parts[1].number:
                rule, fact = "branch.identical", "both branches are the same"
            else:
                rule = "overcompute.else" if k else "overcompute.then"
                fact = self._agreement(part.stmt, k, at, env)
            yield arm, rule, fact

    def _premise(self, rule: str, at: Place, env: Names) -> str:
        """Why a rule in Python holds, and what it could rely on: the values of variables at the place."""
        reason = next(r.reason for r in self.trace.rules if r.name == rule)
        domain = self.trace.contexts.facts(at.facts).domain
        scope = {name: env.get(v, v) for name in sorted(pb.variables(domain)) for v in (Var(name, DType.INT32),)}
        known = pb.within_budget(lambda: readback.condition(domain, scope), None)
        if known is None or isinstance(known, Const):
            return reason
        return f"{reason}; known here: {to_script(known)}"

    def _agreement(self, stmt: If, kept: int, at: Place, env: Names) -> str:
        """Why an arm may run where the condition chooses the other one."""
        t = self.trace
        elsewhere = t.contexts.assume(at.facts, stmt.cond, kept == 1)
        arm = stmt.other if kept else stmt.then
        return evidence(t.contexts, elsewhere, at.permissions, arm, stmt.cond, env, holds=kept == 1)

    def _matches(self, part: Part, at: Place, choice: Choice) -> bool:
        """Whether the choice is the node of this statement, its parts being members of the same classes."""
        if choice.kind == "instance":
            return choice.payload[0] == part.number
        if choice.kind == "twin":
            return self._repeats.get((at.facts, part.number, at.permissions)) == choice.payload[0]
        return is_node(choice, part, at, self.trace.contexts, self.classes)


def is_node(choice: Choice, part: Part, at: Place, contexts: Contexts, classes: Mapping[Place, ClassId]) -> bool:
    """Whether a choice is the node of a statement, its parts being members of the same classes."""
    if KINDS.get(type(part.stmt), "leaf") != choice.kind:
        return False
    match choice.kind:
        case "leaf":
            return choice.payload[0] == part.number
        case "store":
            return choice.payload[0] == cast(Store, part.stmt).buffer
        case _:
            return [classes.get(p) for p in places_inside(part, at, contexts)] == [c.origin for c in choice.parts]


def printed_names(part: Part, env: Names) -> Names:
    """The author's names inside a statement that `printed` gives."""
    if not isinstance(part.stmt, (For, Let)):
        return env
    taken = {v.name for v in env.values() if isinstance(v, Var)}
    name = part.name if part.name not in ("", *taken) else f"{part.name}_{part.stmt.var.name[1:]}"
    return {**env, part.stmt.var: Var(name, part.stmt.var.dtype)}


def _exprs_of(choice: Choice) -> list[Expr]:
    """The expressions that a choice holds directly, in the order of its statement's."""
    match choice.kind:
        case "store":
            _, indices, value = cast("tuple[object, tuple[Expr, ...], Expr]", choice.payload)
            return [*indices, value]
        case "if" | "for" | "let":
            return list(cast("tuple[Expr, ...]", choice.payload[0 if choice.kind == "if" else 2 :]))
        case _:
            return []


def _with_exprs(choice: Choice, exprs: list[Expr]) -> Choice:
    """A choice with other expressions."""
    if choice.kind == "store":
        return replace(choice, payload=(choice.payload[0], tuple(exprs[:-1]), exprs[-1]))
    return replace(choice, payload=(*choice.payload[: 0 if choice.kind == "if" else 2], *exprs))


def printed(part: Part, env: Names) -> Stmt:
    """A canonical statement with the author's names."""
    match part.stmt:
        case Seq():
            return seq(*(printed(p, env) for p in part.parts))
        case If(cond=cond) as stmt:
            yes, no = (printed(p, env) for p in part.parts)
            return If(substitute_expr(cond, env), yes, no, stmt.span)
        case For() | Let() as stmt:
            inner = printed_names(part, env)
            var = cast(Var, inner[stmt.var])
            body = printed(part.parts[0], inner)
            if isinstance(stmt, Let):
                return Let(var, substitute_expr(stmt.value, env), body, stmt.span)
            bounds = substitute_expr(stmt.start, env), substitute_expr(stmt.extent, env)
            return replace(stmt, var=var, start=bounds[0], extent=bounds[1], body=body)
        case Alloc() | Block() as stmt:
            return replace(stmt, body=printed(part.parts[0], env))
        case stmt:
            return map_stmt(stmt, lambda e: substitute_expr(e, env))


def line(part: Part, env: Names) -> str:
    """The first line of a statement, with its source line."""
    first = (to_script(printed(part, env)).splitlines() or ["pass"])[0]
    return f"{first} ({part.stmt.span})" if part.stmt.span is not None else first
