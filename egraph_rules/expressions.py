"""`simplify` and `prove`: single expressions under given conditions, by the same rules and prover as programs.

What isl leaves open, since it is not quasi-affine or takes too many steps, z3 gets. All budgets are steps, not seconds,
so that results are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from egraph_rules.context import IMPOSSIBLE, Contexts, Priority
from egraph_rules.cost import CPU
from egraph_rules.encode import Expander, Numbering
from egraph_rules.engine import scratch_folder
from egraph_rules.extract import EXTRACTED, Extractor
from egraph_rules.language import engine_with
from egraph_rules.phases import Budget
from egraph_rules.prices import Prices
from egraph_rules.registry import active_rules
from egraph_rules.rules.affine import AFFINE_RULES
from egraph_rules.rules.algebra import ALGEBRA_RULES
from egraph_rules.saturate import saturate
from egraph_rules.smt import prove as prove_by_smt
from ir import presburger as pb
from ir.analysis.effects import EffectAnalysis
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.floats import DEFAULT_FLOATS, Floats, floats_named
from ir.nodes import Const, Expr, const
from ir.traverse import walk_expr

_BUDGET = Budget(rounds=12, nodes=20_000, seconds=float("inf"), matches=5_000, proposals=300)
_SEARCHES = 6  # each starts from what the one before found
_OPERATIONS = 30_000  # of isl for one question
_STEPS = 60_000  # of z3 for one question on the way; `prove` itself takes more


def prove(cond: Expr, given: Iterable[Expr] = ()) -> bool | None:
    """Whether a boolean expression is always True or always False where all of `given` hold; None if not proven.

    Signed arithmetic is taken to stay in its range, as leaving it is a fault; a divisor that may be zero is not proven.

    Raises:
        LoopsatError: `cond` or a given one is not boolean, or the given ones contradict each other.
    """
    place = _Place.under(given)
    _require_bool(cond)
    found = place.truth(cond)
    if found is None:
        found = prove_by_smt(cond, place.given, 2 * _STEPS)
    if found is None:
        simpler = _search(cond, place, DEFAULT_FLOATS)
        if isinstance(simpler, Const):
            return bool(simpler.value)
        for form in (simpler, cond) if not simpler.same(cond) else (cond,):
            found = prove_by_smt(form, place.given)
            if found is not None:
                break
    return found


def simplify(expr: Expr, given: Iterable[Expr] = (), floats: Floats | str | Iterable[str] | None = None) -> Expr:
    """The cheapest expression found that equals `expr` where all of `given` hold; never larger than `expr`.

    The result is a fixed point: simplifying it again gives it back.

    Raises:
        LoopsatError: a given condition is not boolean, or they contradict each other.
    """
    policy = floats_named(floats)
    place = _Place.under(given)
    prices = Prices(CPU)
    best = expr
    for _ in range(_SEARCHES):
        new = _search(best, place, policy)
        if _size(new) > _size(best) or prices.expr(new) >= prices.expr(best) - 1e-9:
            break
        best = new
    return best


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the given conditions hold."""

    contexts: Contexts
    facts: int
    given: tuple[tuple[Expr, bool], ...]

    @staticmethod
    def under(given: Iterable[Expr]) -> _Place:
        """The place where conditions hold.

        Raises:
            LoopsatError: one is not boolean, or they contradict each other.
        """
        contexts = Contexts(EffectAnalysis(), lambda c, g: prove_by_smt(c, g, _STEPS), _OPERATIONS)
        facts = contexts.root(pb.always(), Priority.FACTS)
        conditions = tuple(given)
        for cond in conditions:
            _require_bool(cond)
            facts = contexts.assume(facts, cond, True)
            if facts == IMPOSSIBLE:
                message = "the given conditions contradict each other, so anything would follow"
                raise LoopsatError("contradiction", message)
        return _Place(contexts, facts, tuple((c, True) for c in conditions))

    def truth(self, cond: Expr) -> bool | None:
        return self.contexts.truth(self.facts, cond)


def _search(expr: Expr, place: _Place, floats: Floats) -> Expr:
    """The cheapest equal expression that one search finds."""
    if not isinstance(expr, Const) and not any(e.dtype.is_float for e in walk_expr(expr)):
        value = place.truth(expr) if expr.dtype is DType.BOOL else place.contexts.constant(place.facts, expr)
        if value is not None:
            return const(value, expr.dtype)
    numbering = Numbering(signed_zeros=Floats.NO_SIGNED_ZEROS not in floats)
    active = tuple(r for r in (*active_rules(), *AFFINE_RULES, *ALGEBRA_RULES) if r.floats in floats)
    expander = Expander(numbering, place.contexts, active, _BUDGET.proposals)
    number = numbering.expr(expr)
    expander.expand_expr(place.facts, expr)
    numbering.tables["want_expr"].append((place.facts, number))
    rules = tuple(r for r in active if r.in_engine)
    with engine_with(rules) as engine, engine.scratch(), scratch_folder() as folder:
        saturate(engine, expander, folder, _BUDGET)
        extractor = Extractor(engine.tables(EXTRACTED), numbering, CPU, 1)
    return extractor.expression(place.facts, number)


def _require_bool(cond: object) -> None:
    if not isinstance(cond, Expr) or cond.dtype is not DType.BOOL:
        raise LoopsatError(
            "condition", f"expected a boolean expression, found {cond!r}", help="compare expressions, as in `x < 4`"
        )


def _size(expr: Expr) -> int:
    return sum(1 for _ in walk_expr(expr))
