"""`simplify` and `prove`: single expressions under given conditions, by the same rules and prover as programs."""

from __future__ import annotations

from collections.abc import Iterable

from egraph_rules.context import IMPOSSIBLE, Contexts, Priority
from egraph_rules.cost import CPU
from egraph_rules.encode import Expander, Numbering
from egraph_rules.engine import scratch_folder
from egraph_rules.extract import EXTRACTED, Extractor
from egraph_rules.language import engine_with
from egraph_rules.phases import DEFAULT_BUDGET
from egraph_rules.rule import DEFAULT_FLOATS, Floats
from egraph_rules.rules import search_rules
from egraph_rules.rules.affine import AFFINE_RULES
from egraph_rules.saturate import saturate
from ir import presburger as pb
from ir.analysis.effects import EffectAnalysis
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Expr
from ir.traverse import walk_expr


def prove(cond: Expr, given: Iterable[Expr] = ()) -> bool | None:
    """Whether a boolean expression is always True or always False where all of `given` hold; None if not proven.

    Raises:
        LoopsatError: `cond` or a given one is not boolean, or the given ones contradict each other.
    """
    contexts, facts = _context(given)
    _require_bool(cond)
    return contexts.truth(facts, cond)


def simplify(expr: Expr, given: Iterable[Expr] = (), floats: Floats = DEFAULT_FLOATS) -> Expr:
    """The cheapest expression found that equals `expr` where all of `given` hold; never larger than `expr`.

    Raises:
        LoopsatError: a given condition is not boolean, or they contradict each other.
    """
    contexts, facts = _context(given)
    numbering = Numbering(signed_zeros=Floats.NO_SIGNED_ZEROS not in floats)
    active = tuple(r for r in (*search_rules(), *AFFINE_RULES) if r.floats in floats)
    expander = Expander(numbering, contexts, active)
    number = numbering.expr(expr)
    expander.expand_expr(facts, expr)
    numbering.tables["want_expr"].append((facts, number))
    engine = engine_with(tuple(r for r in active if r.in_engine))
    with engine.scratch(), scratch_folder() as folder:
        saturate(engine, expander, folder, DEFAULT_BUDGET)
        extractor = Extractor(engine.tables(EXTRACTED), numbering, CPU, 1)
    best = extractor.expression(facts, number)
    return best if _size(best) <= _size(expr) else expr


def _context(given: Iterable[Expr]) -> tuple[Contexts, int]:
    contexts = Contexts(EffectAnalysis())
    facts = contexts.root(pb.always(), Priority.FACTS)
    for cond in given:
        _require_bool(cond)
        facts = contexts.assume(facts, cond, True)
        if facts == IMPOSSIBLE:
            raise LoopsatError("contradiction", "the given conditions contradict each other, so anything would follow")
    return contexts, facts


def _require_bool(cond: object) -> None:
    if not isinstance(cond, Expr) or cond.dtype is not DType.BOOL:
        raise LoopsatError(
            "condition", f"expected a boolean expression, found {cond!r}", help="compare expressions, as in `x < 4`"
        )


def _size(expr: Expr) -> int:
    return sum(1 for _ in walk_expr(expr))
