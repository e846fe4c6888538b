"""The checker: every built-in rule passes, every wrong one is refuted by a counterexample that holds when it is run."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from wrong_rules import (
    WRONG,
    add_sub_same,
    and_commutes,
    any_offset,
    cancel_factor,
    cancel_symbol,
    eq_self,
    min_plus,
    not_lt,
    select_swapped,
    sub_self,
    undef_store_is_skip,
)

from egraph_rules.authoring.parts import SKIP as SKIPPED
from egraph_rules.authoring.parts import loop, parts, without_effect
from egraph_rules.authoring.proposal import Here, rewrite
from egraph_rules.authoring.rule import FLOAT, SIGNED, Number, Rule, Term, defined, rule
from egraph_rules.check import check_rule, refuse
from egraph_rules.check.programs.tying import tied
from egraph_rules.check.record import verdict_on
from egraph_rules.engine.patience import Patience
from egraph_rules.rules import all_rules
from ir import parse, to_script
from ir.dtypes import DType
from ir.errors import RuleError
from ir.floats import Floats
from ir.nodes import SKIP, Binary, Const, For, If, PrimFunc, Stmt, Store, const
from ir.testing.draw import Dice
from ir.testing.refinement import compare
from lower.commands.cli import main
from profiles import some

BUILT_IN = all_rules()


@pytest.mark.parametrize("item", some(BUILT_IN, 1), ids=lambda r: r.name)
def test_built_in_rules_pass(item: Rule) -> None:
    assert not check_rule(item, examples=6).refuted


def test_recorded_verdicts_are_of_the_rules_as_they_are() -> None:
    recorded = {r.name: verdict_on(r) for r in BUILT_IN}
    assert [name for name, verdict in recorded.items() if verdict is None] == [], "run `loopsat check-rules --record`"
    assert [name for name, verdict in recorded.items() if "refuted" in str(verdict)] == []
    assert [name for name, verdict in recorded.items() if "not checked" in str(verdict)] == []


@pytest.mark.fuzz
@pytest.mark.parametrize("item", BUILT_IN, ids=lambda r: r.name)
def test_built_in_rules_pass_many_examples(item: Rule) -> None:
    verdict = check_rule(item, examples=1000, seed=1)  # recorded verdicts are of seed 0
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("item", some(WRONG, 3), ids=lambda r: r.name)
def test_wrong_rules_are_refuted(item: Rule) -> None:
    verdict = check_rule(item, smallest=False)
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


@pytest.mark.parametrize(
    "item", some([dividing_offset, defined_sub_self, cancel_positive, reassociate, same_extent], 1)
)
def test_right_rules_are_not_refuted(item: Rule) -> None:
    verdict = check_rule(item, examples=150)
    assert verdict.ok, str(verdict)


# What verdicts say ----------------------------------------------------------------------------------------------------


def test_a_rule_that_never_matches_is_not_ok() -> None:
    @rewrite(law="s  =  s", because="never applied", family="odd")
    def never(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        yield from ()

    verdict = check_rule(never, examples=3)
    assert verdict.status == "not checked"
    assert not verdict.ok
    assert not verdict.refuted
    assert "never matched" in str(verdict)
    assert refuse(verdict).code == "rule-unchecked"


def test_a_rule_over_parts_that_never_matches_is_not_ok() -> None:
    @parts("odd.never", because="a loop is no leaf")
    def never():
        return loop(SKIPPED), SKIPPED, without_effect()

    verdict = check_rule(never, examples=3)
    assert not verdict.ok
    assert verdict.matched == 0


@pytest.mark.fuzz
def test_the_same_seed_gives_the_same_verdict() -> None:
    for item in (and_commutes, any_offset):
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


# What was put to a test -----------------------------------------------------------------------------------------------


def test_conditions_that_never_hold_prove_nothing() -> None:
    @rule(on=SIGNED, because="wrong, but nothing is smaller than itself", family="odd")
    def vacuous(x: Term, y: Term):
        return x * y, x + y, x < y, y < x

    verdict = check_rule(vacuous, examples=30)
    assert verdict.status == "not checked"
    assert "its conditions never hold" in str(verdict)


def test_a_rare_condition_that_z3_knows_to_be_possible_is_no_obstacle_to_a_proof() -> None:
    @rule(on=SIGNED, because="what has the value 77 is odd", family="odd")
    def rare(x: Term):
        return x % 2, 1, Binary("eq", x, const(77, x.dtype)), defined(x)

    verdict = check_rule(rare, examples=5)
    assert verdict.proven, str(verdict)


def test_a_condition_that_never_made_a_difference_is_not_checked() -> None:
    @rule(on=FLOAT, because="a double is twice the value", family="odd")
    def idle(x: Term):
        return x + x, x * 2.0, defined(x)

    @rule(on=FLOAT, because="a double is twice the value", family="odd")
    def doubled(x: Term):
        return x + x, x * 2.0

    assert check_rule(doubled, examples=40).ok
    verdict = check_rule(idle, examples=40)
    assert verdict.status == "not checked", str(verdict)
    assert "`x defined` never made a difference" in str(verdict)


def test_a_condition_speaks_of_the_pattern() -> None:
    with pytest.raises(RuleError, match="speaks of y, which is not in its pattern"):

        @rule(on=SIGNED, because="a double is twice the value", family="odd")
        def stray(x: Term, y: Term):
            return x + x, x * 2, y < 0


def test_what_is_never_reached_is_not_tested() -> None:
    @rewrite(law="if false: s  =  if false: t", because="neither runs", family="odd")
    def unreached(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        if isinstance(stmt, Store) and here.in_loop and here.domain.is_empty():
            yield replace(stmt, value=stmt.value)

    assert check_rule(unreached, examples=30).status == "not checked"


def test_every_way_in_which_a_rule_applies_is_tested() -> None:
    @rewrite(law="if c: s else: t  =  if not c: t else: s", because="the arms exchange", family="odd")
    def half_tested(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        if isinstance(stmt, If) and stmt.other != SKIP:
            yield If(~stmt.cond, stmt.other, stmt.then)
        if isinstance(stmt, For) and stmt.var.name == "no such name":
            yield SKIP

    verdict = check_rule(half_tested, examples=30)
    assert verdict.status == "not checked"
    assert "was never put to a test" in str(verdict)


def test_what_a_rule_asks_must_make_a_difference() -> None:
    @rewrite(law="if c: s else: t  =  if not c: t else: s", because="the arms exchange", family="odd")
    def asks(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        if isinstance(stmt, If) and stmt.other != SKIP and here.decided(const(1, DType.INT32)):
            yield If(~stmt.cond, stmt.other, stmt.then)

    verdict = check_rule(asks, examples=30)
    assert verdict.status == "not checked"
    assert "never made a difference" in str(verdict)


# Counterexamples ------------------------------------------------------------------------------------------------------


@rule(on=SIGNED, because="wrong: the negative of the least value overflows", family="wrong")
def negated_difference(x: Term, y: Term):
    return x - y, -(y - x)


@rule(on=SIGNED, because="wrong: needs y other than 0", family="wrong")
def quotient_of_itself(x: Term, y: Term):
    return x * (y - y), x * (y // y - 1), defined(x), defined(y)


@pytest.mark.parametrize(
    ("item", "condition"),
    some(
        [
            (sub_self, "defined(x)"),
            pytest.param(eq_self, "defined(x)", marks=pytest.mark.fuzz),
            pytest.param(add_sub_same, "defined(y)", marks=pytest.mark.fuzz),
            (quotient_of_itself, "y != 0"),
            (cancel_symbol, "m >= 0"),
            pytest.param(any_offset, "c != 0 and (a % c) == 0", marks=pytest.mark.fuzz),
        ],
        0.45,
    ),
    ids=lambda x: x if isinstance(x, str) else x.name,
)
def test_the_missing_condition_is_named(item: Rule, condition: str) -> None:
    verdict = check_rule(item)
    assert verdict.missing == condition
    assert condition in str(refuse(verdict))


SMALL = some([not_lt, any_offset, cancel_factor, select_swapped, min_plus], 2)


@pytest.mark.parametrize("item", some(SMALL, 0.5), ids=lambda r: r.name)
def test_values_of_counterexamples_are_small(item: Rule) -> None:
    found = check_rule(item).counterexample
    assert found is not None
    assert all(np.all(np.abs(np.asarray(v, np.int64)) <= 8) for v in found.inputs.values()), str(found)


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
from egraph_rules.authoring.proposal import rewrite
from egraph_rules.authoring.rule import SIGNED, Term, defined, rule

@rule(on=SIGNED, because="zero is neutral", family="mine")
def right(x: Term):
    return 0 + x, x

@rule(on=SIGNED, because="wrong: x may be undef", family="mine")
def wrong(x: Term):
    return x - x, 0

@rewrite(law="s  =  s", because="never applied", family="mine")
def unmatched(stmt, here):
    return ()
"""


def test_the_command_checks_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules.py"
    path.write_text(RULES)
    assert main(["check-rules", str(path), "--examples", "60"]) == 1
    out = capsys.readouterr().out
    assert "mine.right: " in out
    assert "mine.wrong: refuted" in out
    assert "becomes" in out
    assert "3 rules" in out
    assert main(["check-rules", str(path), "--examples", "60", "--rule", "mine.right"]) == 0
    assert main(["check-rules", str(path), "--examples", "20", "--rule", "mine.unmatched"]) == 1
    assert "mine.unmatched: not checked" in capsys.readouterr().out


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


def test_tied_programs_use_locals_only_where_they_are() -> None:
    original = func("assert n <= 2, 'n'\nL = T.alloc_buffer((2,), 'int32')\nL[0] = A[0]\nB[0] = L[0]", "int32")
    for seed in range(300):
        program = tied(Dice(seed), original)
        assert parse(to_script(program)).funcs[0].body == program.body
