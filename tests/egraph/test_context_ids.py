"""Places whose facts are the same share an id, but not within bindings."""

from __future__ import annotations

from typing import cast

import islpy as isl
import pytest

from egraph_rules.contexts.context import NO_PERMISSION, Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.contexts.spoiling import there
from ir import parse
from ir.analysis.effects import EffectAnalysis
from ir.nodes import For, Let, Seq, Stmt
from ir.presburger import sets as presburger
from ir.traverse import stmt_children


def body(text: str) -> Stmt:
    lines = "".join(f"    {line}\n" for line in text.strip().split("\n"))
    params = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32'
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}").funcs[0].body


@pytest.fixture
def contexts() -> Contexts:
    return Contexts(EffectAnalysis())


def root(contexts: Contexts) -> int:
    return contexts.root(presburger.always(), Priority.FACTS)


def between(contexts: Contexts, facts: int, stmt: Stmt) -> int:
    first, second = cast(Seq, stmt).stmts
    return contexts.sequence(facts, NO_PERMISSION, first, second)[0]


def test_facts_are_told_apart_by_what_they_say(contexts: Contexts) -> None:
    start = root(contexts)
    stores = body("A[n] = B[0]\nB[n] = A[0]")
    assert between(contexts, start, stores) == start  # nothing is known before, nor after
    assert between(contexts, start, body("A[0] = 1\nB[n] = A[0]")) != start
    assert contexts.root(presburger.always(), Priority.PERMISSIONS) != start


def test_loops_over_the_same_range_share_an_id(contexts: Contexts) -> None:
    start = root(contexts)
    inside = [
        contexts.loop(start, NO_PERMISSION, cast(For, body(text)))[0]
        for text in (
            "for i in range(4):\n    A[i] = n",
            "for i in range(4):\n    B[i] = n + 1",
            "for i in range(5):\n    A[i] = n",
            "for j in range(4):\n    A[j] = n",
        )
    ]
    assert inside[0] == inside[1]
    assert len(set(inside)) == 3


def test_bindings_share_an_id_where_they_bind_the_same_value(contexts: Contexts) -> None:
    start = root(contexts)
    inside = [
        contexts.let(start, cast(Let, body(text)))
        for text in (
            "with T.LetStmt(n * n) as x:\n    A[0] = x",
            "with T.LetStmt(n * n) as x:\n    B[0] = x + 1",
            "with T.LetStmt(n * n + 1) as x:\n    A[0] = x",
            "with T.LetStmt(B[0]) as x:\n    A[0] = x",
            "with T.LetStmt(B[1]) as x:\n    A[0] = x",
        )
    ]
    assert inside[0] == inside[1]
    assert len({*inside, start}) == 5


def test_within_a_binding_each_place_has_its_own_id(contexts: Contexts) -> None:
    """Facts cannot say that the variable is no longer what the buffer holds."""
    let = cast(Let, body("with T.LetStmt(B[n]) as x:\n    B[n] = 1\n    A[0] = x + B[n]"))
    inside = contexts.let(root(contexts), let)
    assert between(contexts, inside, stmt_children(let)[0]) != inside


def test_what_is_known_is_kept_where_there_are_such_elements_and_such_values() -> None:
    region = isl.Set("[i] -> { [x] : i >= 0 and (x <= -2 or 3 <= x <= 5 or (x >= 8 and i > 3) or (i < 9 and x = 6)) }")
    box, domain = isl.Set("{ [x] : 0 <= x < 8 }"), isl.Set("[i] -> { : 0 <= i < 4 }")
    found: dict[int, isl.Set] = {}
    kept = there(region, box, domain, found)
    assert kept.is_equal(region.intersect(box).intersect_params(domain))
    assert kept.n_basic_set() == 1 < region.n_basic_set()
    assert there(domain, box, domain, found) is domain  # what has few pieces stays as it is
    inner = isl.Set("[i] -> { : i = 0 }")
    assert there(kept, box, inner, found) is kept  # and what has been looked at further out
