"""Rounds of rules that cannot pass a ceiling: what a round would do is counted before it is done.

Each rule that adds rows has a twin with its query that adds nothing. Matching is semi-naive, so a twin that runs
before each round finds as many new matches as its rule would, and a rule that has rested finds those of the rounds it
missed. Where all of them fit, the round takes place; else rules with few matches go first, and the others rest. Rules
that only unite what is there, or give it values, always go: they need no twins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from egraph_rules.engine.engine import Engine
from egraph_rules.engine.sexpr import SExpr, parse_sexprs, sexpr_text

ALL_RULES = "all"  # the ruleset of all rules of a program
_FREE = "free"  # the ruleset of those that add no rows
_COUNT = "count"  # the ruleset of the twins of the others
_SEEN = ("i64", "f64", "String")


class Program(Struct, frozen=True):
    """Engine text with rules that run in rounds; `growth` is how many rows one match of each adds at most, if any."""

    texts: tuple[str, ...]
    growth: Mapping[str, int]

    @staticmethod
    def of(declarations: Sequence[str], rules: Iterable[str]) -> Program:
        """A program of sorts, tables and rules outside of rounds, and of named rules and rewrites without a ruleset."""
        signature = _signature(parse_sexprs(" ".join(declarations)))
        growth: dict[str, int] = {}
        texts = [*declarations, f"(ruleset {_COUNT})", f"(ruleset {_FREE})"]
        texts += [f"(function seen_{sort} () {sort} :merge old)" for sort in _SEEN]
        for form in parse_sexprs(" ".join(rules)):
            name, query, actions = _parts(cast("list[SExpr]", form))
            rows = sum(_rows(action, signature) for action in actions)
            own, matched = _ruleset(name) if rows else _FREE, sexpr_text(query)
            rule = f'(rule {matched} {sexpr_text(actions)} :ruleset {own} :name "{name}")'
            if not rows:
                texts.append(rule)
                continue
            growth[name] = rows
            twin = " ".join(_looks(query, actions, signature))
            counted = f'(rule {matched} ({twin}) :ruleset {_COUNT} :name "{name} counted")'
            texts += [f"(ruleset {own})", rule, counted]
        texts.append(_combined(ALL_RULES, growth))
        return Program(tuple(texts), growth)


def _combined(name: str, rules: Iterable[str]) -> str:
    return f"(unstable-combined-ruleset {name} {' '.join((_FREE, *map(_ruleset, rules)))})"


def _ruleset(name: str) -> str:
    return f"only-{name}"


def _parts(form: list[SExpr]) -> tuple[str, list[SExpr], list[SExpr]]:
    """Name, query and actions of a rule or rewrite."""
    head, first, second, *rest = form
    options = {sexpr_text(key): value for key, value in zip(rest[::2], rest[1::2], strict=True)}
    name = sexpr_text(options[":name"]).strip('"')
    if head == "rewrite":
        when = cast("list[SExpr]", options.get(":when", []))
        return name, [["=", "rewritten", first], *when], [["union", "rewritten", second]]
    return name, cast("list[SExpr]", first), cast("list[SExpr]", second)


class Rounds(Struct):
    """Rounds of one search. A round leaves at most `ceiling` rows in `tables`, whatever the rules are.

    A rule with more than `matches` matches rests, which doubles what it may have (back-off as in egg, Willsey et al.,
    POPL 2021). `waiting` has the matches of those that rest; `full` says that one of them rests for want of room.
    """

    engine: Engine
    tables: tuple[str, ...]
    ceiling: int
    matches: int
    rested: Counter[str] = field(default_factory=lambda: Counter[str]())
    full: bool = False
    waiting: Counter[str] = field(default_factory=lambda: Counter[str]())
    _made: int = 0

    def run(self) -> tuple[bool, Counter[str]]:
        """A round of rules; whether they changed anything, and their matches."""
        _, counted = self.engine.saturate(f"(run {_COUNT})")
        self.waiting.update({name.removesuffix(" counted"): n for name, n in counted.items() if n})
        ready = self._ready()
        changed, found = self.engine.saturate(f"(run {self._ruleset(ready)})")
        for name in ready:
            del self.waiting[name]
        return changed, Counter(found)

    def _ready(self) -> list[str]:
        """The rules of the next round, those that add least first, as long as what they may add fits."""
        room = self.ceiling - self.engine.sizes(self.tables) if self.waiting else 0
        ready: list[str] = []
        self.full = False
        for name in sorted(self.waiting, key=lambda n: (self.waiting[n] * self.engine.growth[n], n)):
            added = self.waiting[name] * self.engine.growth[name]
            if added > room:
                self.full = True
                self.rested[name] += 1
            elif self.waiting[name] > self.matches << self.rested[name]:
                self.rested[name] += 1
            else:
                room -= added
                ready.append(name)
        return ready

    def _ruleset(self, ready: Sequence[str]) -> str:
        if not ready:
            return _FREE
        if len(ready) == len(self.waiting):
            return ALL_RULES
        self._made += 1
        name = f"some-{self._made}"
        self.engine.run(_combined(name, ready))
        return name


class _Table(Struct, frozen=True):
    columns: tuple[str, ...]
    result: str | None  # its sort; None for a relation
    is_term: bool


def _signature(forms: Iterable[SExpr]) -> dict[str, _Table]:
    """The tables that declarations make."""
    found: dict[str, _Table] = {}
    for form in forms:
        match form:
            case ["constructor", str(name), list(columns), str(result), *_]:
                found[name] = _Table(tuple(map(sexpr_text, columns)), result, True)
            case ["function", str(name), list(columns), str(result), *_]:
                found[name] = _Table(tuple(map(sexpr_text, columns)), result, False)
            case ["relation", str(name), list(columns)]:
                found[name] = _Table(tuple(map(sexpr_text, columns)), None, False)
            case ["datatype", str(result), *variants]:
                for variant in variants:
                    name, *columns = map(sexpr_text, variant)
                    found[name] = _Table(tuple(columns), result, True)
            case _:
                pass
    return found


def _rows(action: SExpr, signature: Mapping[str, _Table]) -> int:
    """How many rows of terms and relations an action adds at most; values of what is there already are none."""
    if isinstance(action, str):
        return 0
    table = signature.get(sexpr_text(action[0]))
    own = table is not None and (table.is_term or table.result is None)
    return own + sum(_rows(part, signature) for part in action[1:])


def _looks(query: SExpr, actions: SExpr, signature: Mapping[str, _Table]) -> list[str]:
    """Actions that read what `actions` read and add nothing; what nobody reads, the engine does not tell apart."""
    sorts: dict[str, str] = {}
    _find_sorts(query, signature, sorts)
    read = dict.fromkeys(_atoms(actions))
    return [
        f"(set (seen_{sorts[name]}) {name})" if sorts[name] in _SEEN else f"(union {name} {name})"
        for name in read
        if name in sorts
    ]


def _find_sorts(form: SExpr, signature: Mapping[str, _Table], sorts: dict[str, str]) -> None:
    """The sorts of variables that stand in columns of tables, or equal what a table gives."""
    if isinstance(form, str):
        return
    if form[:1] == ["="]:
        for part in form[1:]:
            table = signature.get(sexpr_text(part[0])) if isinstance(part, list) else None
            if table is not None and table.result is not None:
                sorts.update({name: table.result for name in form[1:] if isinstance(name, str) and _is_variable(name)})
    table = signature.get(sexpr_text(form[0])) if form and isinstance(form[0], str) else None
    if table is not None:
        for name, sort in zip(form[1:], table.columns, strict=True):
            if isinstance(name, str) and _is_variable(name):
                sorts[name] = sort
    for part in form:
        _find_sorts(part, signature, sorts)


def _atoms(form: SExpr) -> Iterable[str]:
    """Names in a form that are not heads."""
    if isinstance(form, str):
        yield form
        return
    for k, part in enumerate(form):
        if k > 0 or isinstance(part, list):
            yield from _atoms(part)


def _is_variable(name: str) -> bool:
    return name[0].isalpha() or name[0] == "_"
