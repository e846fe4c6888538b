"""`simplify` and `prove`: single expressions under given conditions, by the rules and provers of programs, and by forms
that are put together (`egraph_rules.contexts.candidates`).

What isl leaves open, since it is not quasi-affine or takes too many steps, z3 gets. All budgets are steps, not seconds,
so that results are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import islice

from egraph_rules.contexts.candidates import Known, smaller
from egraph_rules.contexts.context import IMPOSSIBLE, Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.contexts.sampled import Evidence, Open, satisfying, settled
from egraph_rules.contexts.smt import Session, decide
from egraph_rules.contexts.smt import refines as refines_by_smt
from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import DIVISION, VALUES
from egraph_rules.engine.engine import scratch_folder
from egraph_rules.engine.patience import Patience
from egraph_rules.engine.phases import Budget
from egraph_rules.rules.affine import AFFINE_RULES, decided, refines
from egraph_rules.rules.algebra import ALGEBRA_RULES
from egraph_rules.rules.registry import active_rules
from egraph_rules.search.encode import Expander
from egraph_rules.search.extract import EXTRACTED, Extractor
from egraph_rules.search.language import engine_with
from egraph_rules.search.numbering import Numbering
from egraph_rules.search.saturate import saturate
from ir.analysis.effects import EffectAnalysis
from ir.dtypes import DType
from ir.errors import LoopsatError, expect
from ir.floats import DEFAULT_FLOATS, Floats, floats_named
from ir.fold import with_positive_number
from ir.nodes import Binary, Const, Expr, Select, Var, const
from ir.presburger import sets as pb
from ir.presburger.points import has_values
from ir.traverse import children, conjuncts_of, free_vars, map_expr, nesting, node_count, walk_expr

_BUDGET = Budget(rounds=12, nodes=8_000, matches=2_000, proposals=300, work=40_000)
_OWN = 8  # conditions on a variable that are asked for its range
_LEAST = 3  # nodes of an expression that may have a smaller form
_SEARCHES = 6  # each starts from what the one before found
_WHOLE = 130_000  # the work of all of them, of proofs and of looking for forms, in one call
_LEFT = 40_000  # the least that is left of it once the expression as it stands has been asked about
_UNPROVEN = 10_000  # of rules, where proofs have used up the work of a search
_FORMS = 40  # matches of the engine that take as long as putting together the forms of a node
_OPERATIONS = 30_000  # of isl for one question
_STEPS = 30_000  # of z3 for one question on the way
_EQUAL = 50_000  # for one whether a form equals a part
_ALONE = 80_000  # and for one that is asked for its own sake
_PROOF_WORK = 60_000  # of a search for a form that is easier to prove; none for what has more nodes than
_SEARCHED = 100
_NODES = 4_000  # of an expression: what has more, shared parts counted each time, is left as it is
_DEEP = 150  # expressions within each other: all that looks at them is recursive


@pb.exclusive
def prove(cond: Expr, given: Iterable[Expr] = ()) -> bool | None:
    """Whether a boolean expression is always True or always False where all of `given` hold; None if not proven.

    None too for what has thousands of nodes, or hundreds within each other; given ones of that kind say nothing.
    Signed arithmetic is taken to stay in its range, as leaving it is a fault; a divisor that may be zero is not proven.

    Raises:
        LoopsatError: `cond` or a given one is not boolean, or the given ones contradict each other.
    """
    place = _Place(given)
    _require_bool(cond)
    return None if _is_large(cond) else _proven(cond, place)


@pb.exclusive
def simplify(expr: Expr, given: Iterable[Expr] = (), floats: Floats | str | Iterable[str] | None = None) -> Expr:
    """The cheapest expression found that equals `expr` where all of `given` hold; never larger than `expr`.

    The result is a fixed point: simplifying it again gives it back. So does what has thousands of nodes. Values for
    which `expr` faults do not count: where a divisor that is dropped may be zero, the result may have a value.

    Raises:
        LoopsatError: a given condition is not boolean, or they contradict each other.
    """
    hint = "build it with operators on T.int32(...), or parse it with ir.parse_expr"
    expect(expr, Expr, "what is simplified is an expression", hint)
    policy = floats_named(floats)
    place = _Place(given, policy)
    if _is_large(expr):
        return expr
    prices = Prices(VALUES)
    best = _settled(expr, place)  # as `prove` does, whatever it takes
    place.allow(max(_WHOLE - place.patience.done(), _LEFT))
    best = _smaller(best, place, prices, place.rest())
    for _ in range(_SEARCHES):
        new = _search(best, place, policy)
        if node_count(new) > node_count(best) or prices.expr(new) >= prices.expr(best) - 1e-9:
            break
        best = _smaller(new, place, prices, place.rest())
    return map_expr(best if best is expr else _settled(best, place), with_positive_number)


def _is_large(expr: Expr) -> bool:
    """Whether an expression has too many nodes, or too many within each other, to be looked into."""
    return len(list(islice(walk_expr(expr), _NODES + 1))) > _NODES or nesting(expr) > _DEEP


def _proven(cond: Expr, place: _Place) -> bool | None:
    """Whether a condition always or never holds at a place."""
    place.open = cond  # searches need not ask again
    answer, truths = place.evidence.truth(cond)
    if answer is not Open.UNKNOWN:
        return settled(answer)
    found = place.contexts.truth_by_sets(place.facts, cond)
    if found is None:
        answer = place.by_ranges(cond)
    if found is None and answer is Open.UNKNOWN:
        answer = place.decide(cond, truths)
    if found is None and answer is Open.UNKNOWN:
        found = place.truth(cond)
    if found is None and answer is Open.UNKNOWN and node_count(cond) <= _SEARCHED:
        simpler = cond
        if any(map(_divides_by_unknown, walk_expr(cond))):  # of which formulas say little as they stand
            simpler = _smaller(cond, place, Prices(VALUES), _PROOF_WORK)
        if not isinstance(simpler, Const):
            simpler = _search(simpler, place, DEFAULT_FLOATS, _PROOF_WORK)
        if isinstance(simpler, Const):
            found = bool(simpler.value)
        elif not simpler.same(cond):  # a search may have lost a division
            answer = place.decide(simpler, truths)
            found = settled(answer)
    if found is not None:
        return found if place.divides(cond) else None
    return settled(answer)


def _divides_by_unknown(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in DIVISION and not isinstance(expr.rhs, Const)


def _may_be_undefined(expr: Expr) -> bool:
    """Whether a divisor may be zero, or a shift leave its width."""
    match expr:
        case Binary(op=op, rhs=Const(value=n)) if op in DIVISION and expr.dtype.is_integer:
            return n == 0
        case Binary(op="shl" | "shr", rhs=Const(value=n)):
            return not 0 <= n < expr.dtype.bits
        case _:
            return bool(_duties(expr))


def _duties(expr: Expr) -> tuple[Expr, ...]:
    """What must hold of the operands of an operation so that it has a value, apart from ranges."""
    match expr:
        case Binary(op=op, rhs=b) if op in DIVISION and b.dtype.is_integer:
            return (Binary("ne", b, const(0, b.dtype)),)
        case Binary(op="shl" | "shr", rhs=b):
            return Binary("ge", b, const(0, b.dtype)), Binary("lt", b, const(b.dtype.bits, b.dtype))
        case _:
            return ()


def _settled(expr: Expr, place: _Place) -> Expr:
    """A truth, where a condition is proven or refuted; other expressions as they are."""
    if expr.dtype is not DType.BOOL or isinstance(expr, (Const, Var)) or any(e.dtype.is_float for e in walk_expr(expr)):
        return expr
    answer = _proven(expr, place)
    return expr if answer is None else const(answer, DType.BOOL)


def _smaller(expr: Expr, place: _Place, prices: Prices, work: float) -> Expr:
    """An expression with smaller forms for its parts, none of them dearer."""
    if node_count(expr) < _LEAST or not has_values(expr):
        return expr
    place.begin(work)
    conditions = [c for c, _ in place.given if has_values(c)]
    drawn = place.evidence.drawn((expr, *conditions))
    if drawn is None:
        return expr

    def better(new: Expr, old: Expr) -> bool:
        return prices.expr(new) <= prices.expr(old) + 1e-9

    known = Known(
        drawn.points,
        drawn.known,
        lambda p: satisfying(p, conditions),
        better,
        place.equal,
        place.look,
        place.settled,
    )
    while not (new := smaller(expr, known)).same(expr):
        expr = new
    return expr


class _Place:
    """Where the given conditions hold. What is asked there counts as work of the search that has begun last."""

    def __init__(self, given: Iterable[Expr], floats: Floats = DEFAULT_FLOATS) -> None:
        """The place where conditions hold.

        Raises:
            LoopsatError: one is not boolean, or they contradict each other.
        """
        self.session = Session()
        self.settled = set[Expr]()  # parts without smaller forms
        self.open: Expr | None = None  # the condition that was asked about last
        self.patience = Patience(work=_BUDGET.work)
        self.left = float("inf")  # work of the searches to come
        self.contexts = Contexts(EffectAnalysis(), self._prove, _OPERATIONS, lambda: self.patience.over(), floats)
        self.facts = self.contexts.root(pb.always(), Priority.FACTS)
        expect(given, Iterable, "what is given are conditions", "as in given=[0 <= x]")
        conditions = tuple(given)
        for cond in conditions:
            _require_bool(cond)
        self.given = tuple((c, True) for c in conditions if not _is_large(c))
        parts = [part for c, _ in self.given for part in conjuncts_of(c)]
        self.evidence = Evidence([c for c, _ in self.given], lambda v: _range(v, parts))
        for cond, _ in self.given:
            self.facts = self.contexts.assume(self.facts, cond, True)
            if self.facts == IMPOSSIBLE:
                message = "the given conditions contradict each other, so anything would follow"
                raise LoopsatError("contradiction", message)

    def begin(self, work: float = _BUDGET.work, least: float = 0) -> Patience:
        """Let a search begin, with a budget of its own: so what it finds does not depend on those before.

        It is what is left of the whole, or `least` if that is more.
        """
        self.left = self.rest()
        self.patience = Patience(work=max(min(work, self.left), least))
        return self.patience

    def allow(self, work: float) -> None:
        """Set the work of all searches from here on."""
        self.left, self.patience = work, Patience(work=min(work, _BUDGET.work))

    def rest(self) -> float:
        """The work that is left of a call for the searches to come."""
        return self.left - self.patience.done()

    def look(self, nodes: int) -> bool:
        """Charge the search for forms of at most so many nodes for one part; whether that is left."""
        self.patience.matched(_FORMS * nodes)
        return not self.patience.over()

    def truth(self, cond: Expr) -> bool | None:
        return self.contexts.truth(self.facts, cond)

    def divides(self, expr: Expr) -> bool:
        """Whether no divisor is zero where it is reached, and no shift leaves its width."""
        if not any(map(_may_be_undefined, walk_expr(expr))):
            return True
        self.begin()
        return self._divides(self.facts, expr)

    def _divides(self, facts: int, expr: Expr) -> bool:
        if facts == IMPOSSIBLE:
            return True
        first, *rest = children(expr) or (expr,)
        if first is expr:
            return True
        match expr:
            case Select():
                inside = [self.contexts.assume(facts, first, truth) for truth in (True, False)]
            case Binary(op="and" | "or" as op):
                inside = [self.contexts.assume(facts, first, op == "and")]
            case _:
                inside = [facts] * len(rest)
        parts = self._divides(facts, first) and all(map(self._divides, inside, rest))
        return parts and all(self.contexts.truth(facts, duty) is True for duty in _duties(expr))

    def by_ranges(self, cond: Expr) -> bool | Open:
        """What isl says of a condition if it can say all, also that values fit their dtypes."""
        facts = self.contexts.facts(self.facts)
        if facts.conditions:
            return Open.UNKNOWN
        return pb.within_budget(lambda: decided(cond, facts.domain), Open.UNKNOWN, _OPERATIONS)

    def decide(self, cond: Expr, truths: Sequence[bool]) -> bool | Open:
        """What z3 says of a condition, whatever it was asked before."""
        steps, session = min(_ALONE, self.rest()), Session()
        if steps <= 0:
            return Open.UNKNOWN
        found = decide(cond, self.given, int(steps), truths, session)
        self.patience.proved(session.steps)
        return found

    def equal(self, old: Expr, new: Expr) -> bool | None:
        """Whether an expression has the value of another one wherever that has one, and keeps its divisions.

        None where that is open.
        """
        if self.patience.over():
            return None
        shown = self.evidence.refines(new, old)
        if shown is not None:
            return shown
        facts = self.contexts.facts(self.facts)
        found = pb.within_budget(lambda: refines(new, old, facts.domain), None, _OPERATIONS)
        if found is None or (found is False and facts.conditions):
            return self._charged(lambda: refines_by_smt(new, old, self.given, _EQUAL, self.session)) or None
        return found

    def _prove(self, cond: Expr, given: Iterable[tuple[Expr, bool]]) -> bool | None:
        assumed = list(given)
        answer, truths = self.evidence.truth(cond, assumed)
        if answer is not Open.UNKNOWN:
            return settled(answer)
        return self._charged(lambda: settled(decide(cond, assumed, _STEPS, truths, self.session)))

    def _charged(self, question: Callable[[], bool | None]) -> bool | None:
        """The answer to a question to z3, which counts as work."""
        before = self.session.steps
        found = question()
        self.patience.proved(self.session.steps - before)
        return found


def _search(expr: Expr, place: _Place, floats: Floats, work: int = _BUDGET.work) -> Expr:
    """The cheapest equal expression that one search finds."""
    patience = place.begin(work)
    numbering = Numbering(signed_zeros=Floats.NO_SIGNED_ZEROS not in floats)
    known = place.contexts.value(place.facts, expr)
    if isinstance(known, Const) and numbering.is_known(known.value):
        return known
    if not isinstance(expr, Const) and expr is not place.open and not any(e.dtype.is_float for e in walk_expr(expr)):
        value = place.truth(expr) if expr.dtype is DType.BOOL else place.contexts.constant(place.facts, expr)
        if value is not None:
            return const(value, expr.dtype)
    offered = dict.fromkeys((*active_rules(), *AFFINE_RULES, *ALGEBRA_RULES))
    active = tuple(r for r in offered if r.floats in floats)
    expander = Expander(numbering, place.contexts, active, _BUDGET.proposals)
    number = numbering.expr(expr)
    if patience.over():
        patience = place.begin(0, _UNPROVEN)
    expander.expand_expr(place.facts, expr)
    numbering.tables["want_expr"].append((place.facts, number))
    rules = tuple(r for r in active if r.in_engine)
    if patience.over():
        patience = place.begin(0, _UNPROVEN)
    with engine_with(rules) as engine, engine.scratch(), scratch_folder() as folder:
        saturate(engine, expander, folder, _BUDGET, patience)
        extractor = Extractor(engine.tables(EXTRACTED), numbering, VALUES, 1)
    return extractor.expression(place.facts, number)


def _range(var: Var, conditions: Sequence[Expr]) -> tuple[int | None, int | None]:
    """What conditions on a variable alone leave for it."""
    own = [c for c in conditions if free_vars(c) == {var}][:_OWN]

    def question() -> tuple[int | None, int | None]:
        return pb.bounds(reduce(lambda line, c: line.intersect(pb.condition(c).may), own, pb.always()))

    return pb.within_budget(question, (None, None), _OPERATIONS) if own else (None, None)


def _require_bool(cond: object) -> None:
    if not isinstance(cond, Expr) or cond.dtype is not DType.BOOL:
        raise LoopsatError(
            "condition", f"expected a boolean expression, found {cond!r}", help="compare expressions, as in `x < 4`"
        )
