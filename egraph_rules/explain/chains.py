"""Chains of single rules from one expression to another, found again by rewriting, for explanations.

The e-graph says that two expressions are equal, not why. Rules are applied here as ordinary rewrites, best candidates
first: those most like the goal. Every step holds by its rule alone, whether or not the engine took the same way.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from msgspec import Struct

from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rule import Defined, Kinds, Number, Rule, Term, Truth, instantiate, is_number, kind_rows
from egraph_rules.contexts.context import IMPOSSIBLE, NO_PERMISSION, Contexts
from ir.arith import ArithmeticFault, fold_binary, fold_unary
from ir.dtypes import DType
from ir.nodes import Binary, Call, Cast, Const, Expr, Load, Select, Unary, Undef, const
from ir.printing.printer import to_script
from ir.traverse import children, walk_expr, with_children

KNOWN = "known value"
_KIND_NAMES = dict(kind_rows())
_EXPANSIONS = 300
_WORK = 1_000_000  # of one search, in pairs of parts: each place of an expression is rewritten, and all of it compared
_LONGEST = 12


class Link(Struct, frozen=True):
    """One rule applied: its name, what makes it applicable, and the expression after it."""

    rule: str
    fact: str
    after: Expr


def chain(start: Expr, goal: Expr, facts: int, contexts: Contexts, rules: Sequence[Rule]) -> list[Link] | None:
    """Rules that lead from one expression to another where `facts` hold; None if none were found in reasonable time."""
    return _Chains(contexts, _Rules(rules)).between(start, goal, facts, _EXPANSIONS)


class _Rules:
    """Rules by what they may match at the root of an expression."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.anywhere: list[Rule] = []
        self.at: dict[object, list[Rule]] = {}
        self.known: dict[tuple[Expr, int], tuple[tuple[str, str, Expr], ...]] = {}  # parts stay as others are rewritten
        for rule in rules:
            root = None if rule.pattern is None else _root(rule.pattern)
            (self.anywhere if root is None else self.at.setdefault(root, [])).append(rule)

    def of(self, expr: Expr) -> Iterator[Rule]:
        """The rules that may match an expression."""
        yield from self.at.get(_root(expr), ())
        yield from self.anywhere


def _root(expr: Expr) -> object:
    """What an expression and a pattern that matches it have in common; None for a variable."""
    match expr:
        case Number() | Term() | Truth():
            return None
        case Unary(op=op) | Binary(op=op):
            return type(expr), op
        case Call(function=function):
            return Call, function
        case _:
            return type(expr)


class _Chains:
    """One search, in parts where both expressions have the same operator (congruence), else as a whole."""

    def __init__(self, contexts: Contexts, rules: _Rules) -> None:
        self.contexts = contexts
        self.rules = rules

    def between(self, start: Expr, goal: Expr, facts: int, expansions: int) -> list[Link] | None:
        """Rules from one expression to another, of which so many are looked at."""
        if start.same(goal):
            return []
        if facts == IMPOSSIBLE or expansions < 1:
            return None
        inside = self._inside(start, goal, facts, expansions // 2)
        return self._searched(start, goal, facts, expansions) if inside is None else inside

    def _inside(self, start: Expr, goal: Expr, facts: int, expansions: int) -> list[Link] | None:
        """Rules that make each operand that of the goal."""
        parts = list(children(start))
        alike = parts and type(start) is type(goal) and len(parts) == len(children(goal))
        if not alike or not with_children(start, children(goal)).same(goal):
            return None
        crossed = self._crossed(start, goal, facts)
        links = [] if crossed is None else [crossed]
        if crossed is not None:
            start, parts = crossed.after, [*children(crossed.after)]
        for k, wanted in enumerate(children(goal)):
            now = with_children(start, tuple(parts))
            found = self.between(parts[k], wanted, _facts_of(now, k, facts, self.contexts), expansions)
            if found is None:
                return None
            for link in found:
                parts[k] = link.after
                links.append(Link(link.rule, link.fact, with_children(start, tuple(parts))))
        return links

    def _crossed(self, start: Expr, goal: Expr, facts: int) -> Link | None:
        """The rule that exchanges two operands, if they are more like the goal's then."""
        if not isinstance(start, Binary) or not isinstance(goal, Binary):
            return None
        straight = _unlike(start.lhs, goal.lhs) + _unlike(start.rhs, goal.rhs)
        if _unlike(start.rhs, goal.lhs) + _unlike(start.lhs, goal.rhs) >= straight:
            return None
        ways = _at_root(start, facts, self.contexts, self.rules)
        swapped = (start.rhs, start.lhs)
        return next((Link(r, f, e) for r, f, e in ways if type(e) is Binary and (e.lhs, e.rhs) == swapped), None)

    def _searched(self, start: Expr, goal: Expr, facts: int, expansions: int) -> list[Link] | None:
        """Rules that lead to the goal, applied anywhere, what is most like it first."""
        wanted = set(walk_expr(goal))
        ticket = count()
        queue: list[tuple[float, int, Expr, tuple[Link, ...]]] = [(0.0, next(ticket), start, ())]
        seen, size = {start}, sum(1 for _ in walk_expr(start))
        for _ in range(min(expansions, _WORK // size**2)):
            if not queue:
                return None
            _, _, expr, path = heapq.heappop(queue)
            if expr.same(goal):
                return list(path)
            if len(path) >= _LONGEST:
                continue
            for rule, fact, after in _rewrites(expr, facts, self.contexts, self.rules):
                if after not in seen:
                    seen.add(after)
                    distance = _distance(after, wanted, goal) + 0.2 * len(path)
                    heapq.heappush(queue, (distance, next(ticket), after, (*path, Link(rule, fact, after))))
        return None


def _unlike(expr: Expr, goal: Expr) -> int:
    """How unlike the goal an expression is: its parts that the goal has not, and the goal's that it has not."""
    return len(set(walk_expr(expr)) ^ set(walk_expr(goal)))


def _distance(expr: Expr, wanted: set[Expr], goal: Expr) -> float:
    """The same with the goal's parts at hand; any way that is not there yet is farther."""
    return 0.0 if expr.same(goal) else 0.5 + len(set(walk_expr(expr)) ^ wanted)


def _rewrites(expr: Expr, facts: int, contexts: Contexts, rules: _Rules) -> Iterator[tuple[str, str, Expr]]:
    """All expressions that one rule makes of an expression, at any place in it."""
    for part, place, rebuild in _places(expr, facts, contexts, lambda e: e):
        at = part, place
        if at not in rules.known:
            rules.known[at] = tuple(w for w in _at_root(part, place, contexts, rules) if w[2].dtype is part.dtype)
        for rule, fact, new in rules.known[at]:
            yield rule, fact, rebuild(new)


def _places(
    expr: Expr, facts: int, contexts: Contexts, rebuild: Callable[[Expr], Expr]
) -> Iterator[tuple[Expr, int, Callable[[Expr], Expr]]]:
    """Every part with the facts that hold where it is evaluated, and the whole around another in its place."""
    if facts == IMPOSSIBLE:
        return
    yield expr, facts, rebuild
    parts = children(expr)
    for k, part in enumerate(parts):

        def around(new: Expr, k: int = k) -> Expr:
            return rebuild(with_children(expr, (*parts[:k], new, *parts[k + 1 :])))

        yield from _places(part, _facts_of(expr, k, facts, contexts), contexts, around)


def _facts_of(expr: Expr, k: int, facts: int, contexts: Contexts) -> int:
    """The facts that hold where the k-th operand is evaluated."""
    match expr:
        case Select(cond=c) if k > 0:
            return contexts.assume(facts, c, k == 1)
        case Binary(op="and" | "or" as op, lhs=a) if k == 1:
            return contexts.assume(facts, a, op == "and")
        case _:
            return facts


def _at_root(expr: Expr, facts: int, contexts: Contexts, rules: _Rules) -> Iterator[tuple[str, str, Expr]]:
    """What rules make of an expression as a whole."""
    value = _known(expr, facts, contexts)
    if value is not None:
        yield KNOWN, f"`{to_script(expr)}` is {to_script(value)} here", value
    if isinstance(expr, Binary) and expr.op == "floormod" and isinstance(expr.rhs, Const) and expr.rhs.value != 0:
        quotient = Binary("floordiv", expr.lhs, expr.rhs)
        if contexts.constant(facts, quotient) == 0:
            yield KNOWN, f"`{to_script(quotient)}` is 0 here, so that all is left", expr.lhs
    here = Here(contexts, facts, NO_PERMISSION)
    for rule in rules.of(expr):
        if rule.propose_expr is not None:
            for new in rule.propose_expr(expr, here):
                yield rule.name, f"`{to_script(expr)}` is `{to_script(new)}` here", new
        elif rule.pattern is not None and rule.replacement is not None:
            new = _applied(rule, expr, facts, contexts)
            if new is not None:
                yield rule.name, f"`{to_script(expr)}` is `{to_script(new)}`", new


def _known(expr: Expr, facts: int, contexts: Contexts) -> Const | None:
    """The one value that an expression has, if that is known."""
    if isinstance(expr, (Const, Undef)):
        return None
    if isinstance(expr, Load):
        found = contexts.contents(facts, expr.buffer, expr.indices)
        return found if isinstance(found, Const) else None
    value = contexts.truth(facts, expr) if expr.dtype is DType.BOOL else None
    if expr.dtype.is_integer:
        value = contexts.constant(facts, expr)
    found = contexts.value(facts, expr) if value is None else const(value, expr.dtype)
    return found if isinstance(found, Const) else None


def _applied(rule: Rule, expr: Expr, facts: int, contexts: Contexts) -> Expr | None:
    """The replacement of a rule for an expression that its pattern matches and its conditions allow."""
    assert rule.replacement is not None
    match = matched(rule, expr)
    if match is None or next(unmet(rule, *match, facts, contexts), None) is not None:
        return None
    return _folded(rule.replacement, *match)


def matched(rule: Rule, expr: Expr) -> tuple[dict[str, Expr], DType] | None:
    """What the variables of a rule's pattern stand for in an expression, and the dtype of the operands."""
    assert rule.pattern is not None
    values: dict[str, Expr] = {}
    if not _match(rule.pattern, expr, values) or not _kind_fits(rule.kinds, expr, values):
        return None
    return values, next((v.dtype for v in values.values() if v.dtype is not DType.BOOL), expr.dtype)


def unmet(
    rule: Rule, values: dict[str, Expr], dtype: DType, facts: int, contexts: Contexts
) -> Iterator[tuple[Expr | Defined, Expr]]:
    """The side conditions that are not known to hold: as the rule states them, and what they say here."""
    for cond in rule.conditions:
        here = instantiate(cond.term if isinstance(cond, Defined) else cond, values, dtype)
        if isinstance(cond, Defined):
            met = contexts.defined(facts, here)
        elif is_number(cond):
            met = bool(_fold(here))
        else:
            met = contexts.truth(facts, here) is True
        if not met:
            yield cond, here


def _match(pattern: Expr, expr: Expr, values: dict[str, Expr]) -> bool:
    """Whether an expression has the form of a pattern; binds the pattern's variables."""
    match pattern:
        case Number(name=name) | Term(name=name) | Truth(name=name):
            if isinstance(pattern, Number) and not isinstance(expr, Const):
                return False
            if isinstance(pattern, Truth) and expr.dtype is not DType.BOOL:
                return False
            return values.setdefault(name, expr).same(expr)
        case Const(value=value):
            return (
                isinstance(expr, Const)
                and expr.value == value
                and isinstance(expr.value, bool) == isinstance(value, bool)
            )
        case Unary(op=op):
            same = isinstance(expr, Unary) and expr.op == op
        case Binary(op=op):
            same = isinstance(expr, Binary) and expr.op == op
        case Call(function=function):
            same = isinstance(expr, Call) and expr.function == function
        case Select() | Cast():
            same = type(expr) is type(pattern)
        case _:
            return False
    pairs = zip(children(pattern), children(expr), strict=True) if same else ()
    return same and all(_match(p, e, values) for p, e in pairs)


def _kind_fits(kinds: Kinds, expr: Expr, values: dict[str, Expr]) -> bool:
    """Whether the dtypes are those that the rule is about."""
    dtypes = {v.dtype for v in values.values()} or {expr.dtype}
    return all(d is DType.BOOL or _KIND_NAMES[d.value] in kinds.value for d in dtypes)


def _fold(expr: Expr) -> bool | float | None:
    """The value of an expression of constants; None if computing it faults."""
    try:
        match expr:
            case Const(value=value):
                return value
            case Unary(op=op, operand=a):
                inner = _fold(a)
                return None if inner is None else fold_unary(op, inner, a.dtype)
            case Binary(op=op, lhs=a, rhs=b):
                left, right = _fold(a), _fold(b)
                return None if left is None or right is None else fold_binary(op, left, right, a.dtype)
            case _:
                return None
    except ArithmeticFault:
        return None


def _folded(replacement: Expr, values: dict[str, Expr], dtype: DType) -> Expr | None:
    """A replacement with expressions for its variables, and parts of numbers alone computed; None if one faults."""
    if is_number(replacement):
        value = _fold(instantiate(replacement, values, dtype))
        return None if value is None else const(value, replacement.dtype if replacement.dtype is DType.BOOL else dtype)
    if not children(replacement):
        return instantiate(replacement, values, dtype)
    parts = [_folded(c, values, dtype) for c in children(replacement)]
    if any(p is None for p in parts):
        return None
    return with_children(replacement, tuple(p for p in parts if p is not None))
