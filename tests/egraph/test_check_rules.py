"""The checker: every built-in rule passes, every wrong one is refuted by a counterexample that holds when it is run."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from wrong_rules import WRONG, and_commutes, any_offset, stale_assumption, sub_self, undef_store_is_skip

from egraph_rules.check import check_rule, refuse
from egraph_rules.check.record import verdict_on
from egraph_rules.check.run import compare
from egraph_rules.patience import Patience
from egraph_rules.proposal import Here, rewrite
from egraph_rules.rule import FLOAT, SIGNED, Number, Rule, Term, defined, rule, statement_rule
from egraph_rules.rules import all_rules
from ir import parse
from ir.errors import RuleError
from ir.floats import Floats
from ir.nodes import Const, For, PrimFunc, Stmt
from lower.cli import main

BUILT_IN = all_rules()


@pytest.mark.parametrize("item", BUILT_IN, ids=lambda r: r.name)
def test_built_in_rules_pass(item: Rule) -> None:
    assert check_rule(item, examples=6)


def test_recorded_verdicts_are_of_the_rules_as_they_are() -> None:
    recorded = {r.name: verdict_on(r) for r in BUILT_IN}
    assert [name for name, verdict in recorded.items() if verdict is None] == [], "run `loopsat check-rules --record`"
    assert [name for name, verdict in recorded.items() if "refuted" in str(verdict)] == []
    assert [name for name, verdict in recorded.items() if "never matched" in str(verdict)] == []


@pytest.mark.fuzz
@pytest.mark.parametrize("item", BUILT_IN, ids=lambda r: r.name)
def test_built_in_rules_pass_many_examples(item: Rule) -> None:
    for seed in range(3):
        verdict = check_rule(item, examples=1000, seed=seed)
        assert verdict.ok, str(verdict)


@pytest.mark.parametrize("item", WRONG, ids=lambda r: r.name)
def test_wrong_rules_are_refuted(item: Rule) -> None:
    verdict = check_rule(item)
    assert verdict.refuted, str(verdict)
    assert not verdict
    assert not verdict.ok
    assert verdict.counterexample is not None
    assert verdict.counterexample.holds()
    assert "the original gives" in str(verdict)


# Near misses: what makes the rule right, and nothing less -------------------------------------------------------------


@rule(on=SIGNED, because="c divides a, so the floor moves by a // c", family="near")
def dividing_offset(x: Term, a: Number, c: Number):
    return (x + a) // c, x // c + a // c, c > 0, a % c == 0


@rule(on=SIGNED, because="a defined value minus itself", family="near")
def defined_sub_self(x: Term):
    return x - x, 0, defined(x)


@rule(on=SIGNED, because="m > 0 keeps the order", family="near")
def cancel_positive(x: Term, y: Term, m: Term):
    return x * m < y * m, x < y, m > 0


@rule(on=FLOAT, because="reassociation, which is declared", family="near", floats=Floats.REASSOCIATE | Floats.FINITE)
def reassociate(x: Term, y: Term, z: Term):
    return (x + y) + z, x + (y + z)


@rewrite(law="for i in n: s  =  for i in n + 0: s", because="zero is neutral", family="near")
def same_extent(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.extent, Const):
        yield For(stmt.var, stmt.start, stmt.extent + 0, stmt.body, stmt.kind)


@pytest.mark.parametrize("item", [dividing_offset, defined_sub_self, cancel_positive, reassociate, same_extent])
def test_right_rules_are_not_refuted(item: Rule) -> None:
    verdict = check_rule(item, examples=150)
    assert verdict.ok, str(verdict)


# What verdicts say ----------------------------------------------------------------------------------------------------


def test_a_rule_that_never_matches_is_not_ok() -> None:
    @rewrite(law="s  =  s", because="never applied", family="odd")
    def never(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        yield from ()

    verdict = check_rule(never, examples=3)
    assert not verdict.ok
    assert not verdict.refuted
    assert "never matched" in str(verdict)
    assert refuse(verdict).code == "rule-unchecked"


def test_a_rule_over_tables_that_never_matches_is_not_ok() -> None:
    item = statement_rule("odd.never", "s = s", "never", "(= x (At -7 k d))", "(noop x)")
    verdict = check_rule(item, examples=3)
    assert not verdict.ok
    assert verdict.matched == 0


def test_the_same_seed_gives_the_same_verdict() -> None:
    for item in (and_commutes, stale_assumption, any_offset):
        assert str(check_rule(item, examples=100, seed=3)) == str(check_rule(item, examples=100, seed=3))


def test_counterexamples_are_small_and_print_as_programs() -> None:
    found = check_rule(sub_self).counterexample
    assert found is not None
    assert found.size <= 12
    text = str(found)
    assert "@T.prim_func" in text
    assert "becomes" in text
    assert "undef only in the original" in text


def test_a_refuted_rule_is_refused_with_its_counterexample() -> None:
    error = refuse(check_rule(undef_store_is_skip))
    assert isinstance(error, RuleError)
    assert error.code == "rule-refuted"
    assert "a refinement, but no equality" in str(error)


def test_a_rule_that_fails_is_named_with_the_program() -> None:
    @rewrite(law="s  =  s", because="broken", family="odd")
    def broken(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        yield [][0]

    with pytest.raises(RuleError, match=r"odd\.broken fails: IndexError"):
        check_rule(broken, examples=5)


# Comparing programs ---------------------------------------------------------------------------------------------------


def differs(before: str, after: str, *, equal: bool = True, floats: Floats = Floats.STRICT, **inputs: object) -> str:
    """What `compare` says of two bodies over A and B of two elements; nothing where they agree."""
    dtype = "float32" if isinstance(inputs.get("A"), np.ndarray) and inputs["A"].dtype == np.float32 else "int32"
    found = compare(func(before, dtype), func(after, dtype), inputs, floats, equal=equal)  # pyright: ignore
    return "" if found.difference is None else found.difference.what


def func(body: str, dtype: str) -> PrimFunc:
    head = f'@T.prim_func\ndef f(A: T.Buffer((2,), "{dtype}"), B: T.Buffer((2,), "{dtype}"), n: T.int32):\n'
    return parse(head + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))).funcs[0]


INTS = {"A": np.array([3, 4], np.int32), "B": np.array([5, 6], np.int32), "n": 0}
FLOATS = {"A": np.array([-0.0, np.inf], np.float32), "B": np.array([1, 2], np.float32), "n": 0}


def test_undef_may_be_given_a_value_but_is_not_equal_to_one() -> None:
    assert differs("B[0] = T.undef()", "B[0] = 1", equal=False, **INTS) == ""
    assert "refinement, but no equality" in differs("B[0] = T.undef()", "B[0] = 1", **INTS)
    assert "only in the rewritten" in differs("B[0] = 1", "B[0] = T.undef()", equal=False, **INTS)


def test_a_fault_of_the_original_promises_nothing() -> None:
    assert differs("B[0] = 4 // n", "B[0] = 1", **INTS) == ""
    assert differs("B[0] = 1", "B[0] = 4 // n", **INTS) == "only the rewritten program faults"


def test_assumptions_are_part_of_an_equality() -> None:
    assert "assumption" in differs("T.assume(n > 0)\nB[0] = 1", "B[0] = 1", **INTS)
    assert differs("T.assume(n > 0)\nB[0] = 1", "B[0] = 1", equal=False, **INTS) == ""
    assert "faults" in differs("B[0] = 1", "T.assume(n > 0)\nB[0] = 1", **INTS)


def test_what_bindings_freeze_is_free() -> None:
    frozen = "B[0] = T.undef()\nx = B[0]\nB[0] = T.int32(x)"
    assert differs(frozen, "B[0] = 7", equal=False, **INTS) == ""
    assert "differs" in differs("x = A[0]\nB[0] = T.int32(x)", "B[0] = 7", equal=False, **INTS)


def test_floats_compare_by_the_freedoms_that_are_taken() -> None:
    zero = ("B[0] = A[0]", "B[0] = A[0] + 0.0")
    assert differs(*zero, **FLOATS) == "B[0] differs"
    assert differs(*zero, floats=Floats.NO_SIGNED_ZEROS, **FLOATS) == ""
    infinite = ("B[1] = A[1] - A[1]", "B[1] = 0.0")
    assert differs(*infinite, **FLOATS) == "B[1] differs"
    assert differs(*infinite, floats=Floats.FINITE, **FLOATS) == ""


# The command ----------------------------------------------------------------------------------------------------------

RULES = """
from egraph_rules.rule import SIGNED, Term, defined, rule

@rule(on=SIGNED, because="zero is neutral", family="mine")
def right(x: Term):
    return 0 + x, x

@rule(on=SIGNED, because="wrong: x may be undef", family="mine")
def wrong(x: Term):
    return x - x, 0
"""


def test_the_command_checks_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules.py"
    path.write_text(RULES)
    assert main(["check-rules", str(path), "--examples", "60"]) == 1
    out = capsys.readouterr().out
    assert "mine.right: " in out
    assert "mine.wrong: refuted" in out
    assert "becomes" in out
    assert "2 rules" in out
    assert main(["check-rules", str(path), "--examples", "60", "--rule", "mine.right"]) == 0


def test_the_command_checks_built_in_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-rules", "--rule", "integer.add_zero", "--examples", "20"]) == 0
    assert "integer.add_zero" in capsys.readouterr().out
    assert main(["check-rules", "--rule", "integer.add_zer"]) == 2
    assert "did you mean `integer.add_zero`?" in capsys.readouterr().err


def test_the_command_explains_a_file_without_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    assert main(["check-rules", str(path)]) == 2
    assert "defines no rule" in capsys.readouterr().err
    path.write_text("x = 1 / 0\n")
    assert main(["check-rules", str(path)]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_ctrl_c_ends_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A search keeps what it has after Ctrl-C, but the one of a check is not what the user means."""
    whole, times = Patience.over, itertools.count()

    def over(self: Patience) -> bool:
        if next(times) == 3:
            signal.raise_signal(signal.SIGINT)
        return whole(self)

    monkeypatch.setattr(Patience, "over", over)
    assert main(["check-rules", "--rule", "integer.add_zero", "--examples", "20"]) == 130
    assert "interrupted" in capsys.readouterr().err
