"""Rules that relate parts of a program, written as small Python functions over what a part is and what it does.

    @parts("overcompute.then", because="where c holds s runs anyway, elsewhere s and t have the same effect")
    def overcompute_then(c: Expression, s: Statement, t: Statement):
        return branch(c, s, t), s, where_not(c, runs(s), same(s, t))

A `Statement` or `Expression` is a part as it is written, which may be looked at where it does not stand; an `Effect` is
what a part does in its place. The function returns a pattern, what that equals there, and side conditions, as for rules
over expressions (`egraph_rules.authoring.rule`). Owns how such rules are told to egglog, whose tables are in
`egraph_rules/search/language.py`, and how they read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from egraph_rules.authoring.rule import Rule
from ir.errors import RuleError
from ir.floats import Floats


class _Named(Struct, frozen=True):
    """A variable of a pattern."""

    name: str


class Statement(_Named, frozen=True):
    """A statement as it is written."""


class Expression(_Named, frozen=True):
    """An expression as it is written."""


class Effect(_Named, frozen=True):
    """What a statement does where it stands."""


class Integer(_Named, frozen=True):
    """An integer or truth value."""


class Real(_Named, frozen=True):
    """A floating point number."""


SKIP = Effect("skip")  # in patterns: whatever changes nothing
TRUE, FALSE = Integer("true"), Integer("false")

_VARIABLES = {kind.__name__: kind for kind in (Statement, Expression, Effect, Integer, Real)}


class Shape(Struct, frozen=True):
    """A pattern: what matches a part `x` of the program, how it reads, and the engine's names of effects in it."""

    atoms: tuple[str, ...]
    shown: str
    effects: dict[str, str] = field(default_factory=dict[str, str])


class Condition(Struct, frozen=True):
    """A side condition: what must hold, and how that reads, of what and what of it."""

    atoms: Callable[[str], str]  # under facts of a name
    about: str
    claim: str


class Where(Struct, frozen=True):
    """Conditions where an expression is true, or where it is not."""

    cond: Expression
    truth: bool
    inside: tuple[Condition, ...]


# Patterns -------------------------------------------------------------------------------------------------------------


def part(s: Statement) -> Shape:
    """Any statement."""
    return Shape((f"(= x (At f {_WRITTEN} d))",), s.name)


def branch(cond: Expression | Integer, then: Statement | Effect, other: Statement | Effect) -> Shape:
    """`if cond: then else: other`."""
    shown = f"if {cond.name}: {then.name} else: {other.name}"
    if isinstance(then, Statement) and isinstance(other, Statement):
        return Shape((_AT, f"(p_if k {cond.name} {then.name} {other.name})"), shown)
    truth = {TRUE: ("(= 1 (ival c))",), FALSE: ("(= 0 (ival c))",)}.get(cond, ()) if isinstance(cond, Integer) else ()
    return _around("(= x (If f d c y n))", shown, (then, other), ("y", "n"), truth)


def select(cond: Expression, then: Expression, other: Expression) -> Shape:
    """`select(cond, then, other)`."""
    names = ", ".join(e.name for e in (cond, then, other))
    return Shape(("(= x (Ate f e))", f"(e_sel e t {cond.name} {then.name} {other.name})"), f"select({names})")


def sequence(first: Effect, second: Effect) -> Shape:
    """`first; second`."""
    return _around("(= x (Seq f d y z))", f"{first.name}; {second.name}", (first, second), ("y", "z"))


def loop(body: Effect) -> Shape:
    """`for i in n: body`."""
    return _around("(= x (For f d k lo n y))", f"for i in n: {body.name}", (body,), ("y",))


def block(body: Effect) -> Shape:
    """A block with a name."""
    return _around("(= x (Block f d k y))", f"block: {body.name}", (body,), ("y",))


def let(body: Effect) -> Shape:
    """`let v = e: body`."""
    return _around("(= x (Let f d k e y))", f"let v = e: {body.name}", (body,), ("y",))


def alloc(body: Effect) -> Shape:
    """A buffer of its own around a body."""
    return _around("(= x (Alloc f d k y))", f"alloc A: {body.name}", (body,), ("y",))


def store(value: Expression) -> Shape:
    """`A[i] = value`."""
    return Shape((_AT, f"(p_store k b i {value.name})"), f"A[i] = {value.name}")


def store_back() -> Shape:
    """`A[i] = A[i]`."""
    return Shape(("(= x (Store f d b i v))", "(= v (Load f b i))"), "A[i] = A[i]")


def leaf() -> Shape:
    """A statement that stores nothing and has no statements in it."""
    return Shape(("(= x (Leaf f d k))",), "assume(c), assert c, evaluate(e)")


# Side conditions ------------------------------------------------------------------------------------------------------


def where(cond: Expression, *inside: Condition) -> Where:
    """Conditions that hold where an expression is true."""
    return Where(cond, True, inside)


def where_not(cond: Expression, *inside: Condition) -> Where:
    """Conditions that hold where an expression is false."""
    return Where(cond, False, inside)


def runs(what: Statement | Expression) -> Condition:
    """A part cannot fault."""
    table = "may_run" if isinstance(what, Statement) else "may_select"
    return Condition(lambda facts: f"({table} {facts} {what.name})", what.name, "cannot fault")


def same(one: Statement | Expression, other: Statement | Expression) -> Condition:
    """Two parts do the same, or have the same value."""

    def atoms(facts: str) -> str:
        if isinstance(one, Statement):
            return f"(= (At {facts} {one.name} d) (At {facts} {other.name} d))"
        return f"(= (Ate {facts} {one.name}) (Ate {facts} {other.name}))"

    return Condition(atoms, one.name, f"equals {other.name}")


def held(value: Integer | Real) -> Condition:
    """The element that is stored to is known to hold a value."""
    if isinstance(value, Integer):
        return Condition(lambda facts: f"(= {value.name} (old_int {facts} k))", "A[i]", f"holds {value.name}")
    return Condition(lambda facts: f"(old_flt {facts} k {value.name})", "A[i]", f"holds {value.name}")


def has(what: Expression, value: Integer | Real) -> Condition:
    """An expression is known to have a value."""
    table = "ival" if isinstance(value, Integer) else "fval"
    return Condition(
        lambda facts: f"(= {value.name} ({table} (Ate {facts} {what.name})))", what.name, f"is {value.name}"
    )


def writes_what_is_dead(s: Statement) -> Condition:
    """All that the matched statement may write may hold anything afterwards."""
    return Condition(
        lambda facts: f"(only_writes_dead {facts} {_WRITTEN} d)",
        f"all that {s.name} may write",
        "may hold anything afterwards",
    )


def without_effect() -> Condition:
    """The matched statement, which is a leaf, says what is known, or evaluates what cannot fault."""
    return Condition(lambda facts: f"(without_effect {facts} k)", "it", "has no effect here")


# Rules ----------------------------------------------------------------------------------------------------------------


PartsFunction = Callable[..., tuple[object, ...]]


def parts(name: str, *, because: str) -> Callable[[PartsFunction], Rule]:
    """Make a `Rule` of a function (see the module's docstring).

    Raises:
        RuleError: the function does not return a pattern and what it equals, or gives no reason.
    """

    def build(function: PartsFunction) -> Rule:
        if not because.strip():
            raise RuleError("rule", f"rule {name} states no reason")
        variables = [_variable(name, p) for p in inspect.signature(function).parameters.values()]
        shape, result, *conditions = function(*variables)
        if not isinstance(shape, Shape) or not isinstance(result, (Statement, Expression, Effect)):
            raise RuleError("rule", f"rule {name} must return (pattern, result, *conditions)")
        checks = [c for c in conditions if isinstance(c, (Condition, Where))]
        query = " ".join((*shape.atoms, *(atom for c in checks for atom in _atoms(c))))
        law = f"{shape.shown}  =  {result.name}{_shown(checks)}"
        return Rule(name, law, because, Floats.STRICT, f'(rule ({query}) ({_action(shape, result)}) :name "{name}")')

    return build


def definition_of_skip(name: str, *, because: str) -> Rule:
    """The rule that a part which changes nothing is written as the empty statement."""
    program = f'(rule ((noop x) {_AT}) ((union x (At f 0 d))) :name "{name}")'
    return Rule(name, "s  =  skip   if s is found to change nothing", because, Floats.STRICT, program)


_WRITTEN = "k"  # the number of the statement that is matched
_AT = f"(= x (At f {_WRITTEN} d))"


def _variable(rule: str, parameter: inspect.Parameter) -> object:
    annotation = parameter.annotation  # a string under `from __future__ import annotations`
    kind = _VARIABLES.get(annotation if isinstance(annotation, str) else annotation.__name__)
    if kind is None:
        raise RuleError("rule", f"rule {rule}: {parameter.name} must be one of {', '.join(_VARIABLES)}")
    return kind(parameter.name)


def _around(
    head: str, shown: str, inside: Sequence[Statement | Effect], names: Sequence[str], more: tuple[str, ...] = ()
) -> Shape:
    """A statement with parts that are matched by what they do."""
    skips = tuple(f"(noop {n})" for s, n in zip(inside, names, strict=True) if s is SKIP)
    effects = {s.name: n for s, n in zip(inside, names, strict=True) if s is not SKIP}
    return Shape((head, *more, *skips), shown, effects)


def _atoms(condition: Condition | Where) -> tuple[str, ...]:
    if isinstance(condition, Condition):
        return (condition.atoms("f"),)
    facts, table = ("y", "f_then") if condition.truth else ("n", "f_else")
    return f"(= {facts} ({table} f {condition.cond.name}))", *(c.atoms(facts) for c in condition.inside)


def _action(shape: Shape, result: Statement | Expression | Effect) -> str:
    match result:
        case Statement(name=name):
            return f"(union x (At f {name} d))"
        case Expression(name=name):
            return f"(union x (Ate f {name}))"
        case Effect(name=name):
            return "(noop x)" if result is SKIP else f"(union x {shape.effects[name]})"


def _shown(conditions: Sequence[Condition | Where]) -> str:
    if not conditions:
        return ""
    plain = [c for c in conditions if isinstance(c, Condition)]
    claims = [_claims(plain)] if plain else []
    places = [
        f", where {c.cond.name} is {str(c.truth).lower()}, {_claims(c.inside)}"
        for c in conditions
        if isinstance(c, Where)
    ]
    return f"   if{' ' if claims else ''}{' and '.join(claims)}{''.join(places)}"


def _claims(conditions: Sequence[Condition]) -> str:
    """Conditions in words; what several say of one thing in a row names it once."""
    said: list[str] = []
    for k, c in enumerate(conditions):
        again = k > 0 and conditions[k - 1].about == c.about
        said.append(c.claim if again else f"{c.about} {c.claim}")
    return " and ".join(said)
