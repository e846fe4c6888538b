"""Why a rule did not contribute: each kind of answer, and that what is advised makes the rule apply."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import programs as texts
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from egraph_rules import Floats, Number, Result, Rule, Term, defined, optimize, rewrite, rule
from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rule import SIGNED, Defined
from egraph_rules.cost.prices import Prices
from egraph_rules.explain.why_not import cheapest_using
from egraph_rules.rules import FAMILIES, search_rules
from ir import PrimFunc, parse, to_script
from ir.errors import RuleError
from ir.nodes import Const, If, Operand, Stmt, Store
from ir.testing.programs import programs
from ir.traverse import children, walk
from lower.commands.cli import main

UNGUARDED = texts.ROW_SUM.replace(
    """    for i, jo, ji in T.grid(16, 4, 4):
        T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 0.0)
""",
    "",
)
DOUBLED = """
@T.prim_func
def double(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 2.0 * A[io, ii]
"""
WINDOW = """
@T.prim_func
def window(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = 0.0
        if i < 14:
            for f in T.serial(3):
                B[i] = B[i] + A[i] * F[f]
"""
SELECTED = """
@T.prim_func
def selected(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = T.if_then_else(i < 14, A[i], 0.0)
"""
QUOTIENT = """
@T.prim_func
def quotient(n: T.int32, A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        B[i] = (i * n) // n
"""
ONE = """
@T.prim_func
def one(i: T.int32, n: T.int32, A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    T.assume(i >= 0 and i < 16)
    B[i] = A[i] + n
"""
HOISTED = """
@T.prim_func
def hoisted(x: T.int32, A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 1.0
        if x > 3:
            B[i] = A[i] * 2.0
"""
DIVIDED = """""
@T.prim_func
def divided(n: T.int32, x: T.int32, B: T.Buffer((16,), "int32")):
    if x > 3:
        B[0] = 100 // n
"""

Parts = tuple[Operand | Defined, ...]


def func_of(text: str) -> PrimFunc:
    return parse(text).funcs[0]


def answer(text: str, name: str, rules: tuple[Rule, ...] | None = None) -> str:
    return optimize(func_of(text), rules=rules).why_not(name)


def advised(answer: str, text: str, line: str) -> Result:
    """The search from a program with the claim that an answer advises before a line, or after it."""
    side = "before" if "; add before it, if that is so, " in answer else "after"
    claim = answer.split(f"; add {side} it, if that is so, ")[1].splitlines()[0]
    lines = text.splitlines()
    at = next(k for k, code in enumerate(lines) if code.strip() == line)
    indent = len(lines[at]) - len(lines[at].lstrip())
    if side == "after":
        at += 1
        while at < len(lines) and len(lines[at]) - len(lines[at].lstrip()) > indent:
            at += 1
    parts = claim.split(": ")
    new = [" " * (indent + 4 * k) + part + (":" if k + 1 < len(parts) else "") for k, part in enumerate(parts)]
    return optimize(func_of("\n".join((*lines[:at], *new, *lines[at:]))))


def branches(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(func.body))


# Missing facts -------------------------------------------------------------------------------------------------------


def test_a_guard_stays_since_nothing_is_known_of_padding() -> None:
    found = answer(UNGUARDED, "overcompute.then")
    assert found.endswith(
        "if 4 * jo + ji < 14: (<string>:7:13) would need: A[i, jo, ji] is 0.0 where `4 * jo + ji < 14` does not hold "
        "(unknown); add before it, if that is so, T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 0.0)"
    )
    assert branches(optimize(func_of(UNGUARDED)).best) == 1
    assert branches(advised(found, UNGUARDED, "if 4 * jo + ji < 14:").best) == 0


def test_the_neutral_number_is_that_of_the_operation() -> None:
    product = UNGUARDED.replace("B[i] + A", "B[i] * A").replace("B[i] = 0.0", "B[i] = 1.0")
    assert "T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 1.0)" in answer(product, "overcompute.then")
    largest = UNGUARDED.replace("B[i] + A[i, jo, ji]", "T.max(B[i], A[i, jo, ji])")
    assert 'A[i, jo, ji] is T.float32("-inf") where' in answer(largest, "overcompute.then")


def test_a_result_whose_padding_does_not_matter() -> None:
    found = answer(DOUBLED, "overcompute.then")
    assert "where `4 * io + ii < 14` does not hold, what B holds does not matter (unknown); add after it" in found
    assert found.endswith('if 4 * io + ii >= 14: B[io, ii] = T.undef("float32")')
    assert branches(advised(found, DOUBLED, "if 4 * io + ii < 14:").best) == 0


def test_what_is_read_in_inner_loops() -> None:
    found = answer(WINDOW, "overcompute.then")
    assert "; add before it, if that is so, for f in T.serial(3): T.assume(i < 14 or A[i] == 0.0)" in found
    assert branches(advised(found, WINDOW, "if i < 14:").best) == 0


def test_selections() -> None:
    found = answer(SELECTED, "overcompute.select_then")
    assert found.endswith("add before it, if that is so, T.assume(i < 14 or A[i] == 0.0)")
    best = advised(found, SELECTED, "B[i] = T.if_then_else(i < 14, A[i], 0.0)").best
    assert "if_then_else" not in to_script(best)


def test_a_side_condition_of_a_law() -> None:
    found = answer(QUOTIENT, "integer.floordiv_cancel")
    assert "`i * n // n` is of its form, but it would need: n != 0 (unknown)" in found
    assert found.endswith("; add before it, if that is so, T.assume(n != 0)")
    assert "// n" not in to_script(advised(found, QUOTIENT, "B[i] = (i * n) // n").best)


def test_an_arm_that_may_fault() -> None:
    found = answer(DIVIDED, "overcompute.then")
    assert "running the other arm there is harmless: evaluating `100 // n` may fault" in found
    assert "add" not in found


def test_conditions_that_no_assumption_meets() -> None:
    @rule(on=SIGNED, because="wrong on purpose", family="mine")
    def large(x: Term, c: Number) -> Parts:
        return x + c, c + x, c > 100

    @rule(on=SIGNED, because="a value equals itself", family="mine")
    def known(x: Term, c: Number) -> Parts:
        return x + c, c + x, defined(x)

    text = QUOTIENT.replace("(i * n) // n", "A[i] + 7").replace(
        "    for i", "    for i in range(16):\n        T.assume(i < 8 or A[i] == T.undef())\n    for i", 1
    )
    found = answer(text, "mine", (*search_rules(), large, known))
    assert "its numbers do not satisfy (c > 100)" in found
    assert "`A[i]` may be undef, since it reads a buffer" in found


def asking(question: str) -> Rule:
    """A rule in Python that proposes something where a question is answered as it hopes."""

    def holds(stmt: Store, here: Here) -> object:
        match question:
            case "truth":
                return here.truth(stmt.indices[0] < 8)
            case "constant":
                return here.constant(stmt.indices[0]) is not None
            case "decided":
                return here.decided(stmt.value)
            case "in_bounds":
                return here.in_bounds(stmt.buffer, (stmt.indices[0] + 1,))
            case "known":
                return any(buffer.name == "A" for buffer, _ in here.known)
            case "live":
                return stmt.buffer in here.live
            case _:
                inside = here.under(stmt.indices[0] < 12, True)
                return inside is not None and inside.truth(stmt.indices[0] < 10)

    @rewrite(law="A[i] = v  =  A[i] = v + 0", because="adding zero changes nothing", family="mine")
    def padded(stmt: Stmt, here: Here) -> Iterator[Stmt]:
        if isinstance(stmt, Store) and not isinstance(children(stmt.value)[1], Const) and holds(stmt, here):
            yield replace(stmt, value=stmt.value + 0)

    return padded


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("truth", "would need: `i < 8` (unknown); add before it, if that is so, T.assume(i < 8)"),
        ("constant", "`i` is not known to have one value"),
        ("decided", "evaluating `A[i] + n` may fault, or give undef"),
        ("in_bounds", "`B[i + 1]` is not known to be inside its buffer"),
        ("known", "nothing is known of the contents of A"),
        ("live", "what it writes to B may be read afterwards"),
        ("under", "`i < 10` (unknown); add before it, if that is so, T.assume(i < 10)"),
    ],
)
def test_questions_of_a_rule_in_python(question: str, text: str) -> None:
    found = answer(ONE, "mine.padded", (asking(question),))
    assert "B[i] = A[i] + n (<string>:5:5)" in found
    assert text in found


# Other answers -------------------------------------------------------------------------------------------------------


def test_a_part_of_the_best_program() -> None:
    result = optimize(func_of(texts.ROW_SUM))
    assert result.why_not("overcompute.then") == (
        "overcompute.then is part of the best program:\n  if 4 * jo + ji < 14: (<string>:9:13); "
        "where `4 * jo + ji < 14` does not hold, A[i, jo, ji] is 0.0"
    )


def test_a_match_that_costs_more() -> None:
    result = optimize(func_of(HOISTED))
    one = next(r for r in search_rules() if r.name == "hoist.branch_condition")
    using = cheapest_using(one, result.report.traces, Prices(result.settings.target))
    assert using is not None
    more = using - result.variants[0][1]
    assert more > 1
    found = result.why_not(one.name)
    assert f"the cheapest one that uses the rule {using:,.0f}, {more:,.0f} more" in found


@pytest.mark.parametrize("text", [texts.ROW_SUM, texts.CONV_PRODUCER])
def test_the_cheapest_program_with_a_rule_is_the_best_where_the_rule_is_part_of_it(text: str) -> None:
    result = optimize(func_of(text))
    prices = Prices(result.settings.target)
    used = {step.rule for step in result.derivation()}
    tried = [r for r in search_rules() if r.name in used and r.family == "overcompute"]
    assert tried
    for one in tried:
        assert cheapest_using(one, result.report.traces, prices) == pytest.approx(result.variants[0][1])


def test_rules_that_are_not_in_the_search() -> None:
    func = func_of(texts.ROW_SUM)
    strict = optimize(func, floats=Floats.STRICT)
    assert "it needs the float freedom finite (no value is infinite or NaN, padding included)" in strict.why_not(
        "floating.sub_self"
    )
    product = func_of(texts.ROW_SUM.replace("+ A[i, jo, ji]", "+ A[i, jo, ji] * 0.0"))
    found = optimize(product, floats=Floats.STRICT).why_not("floating.mul_zero")
    assert "or say with T.assume what `A[i, jo, ji]` is where that is known, as in padding" in found
    result = optimize(func, without=["noop"])
    assert result.why_not("noop.dead") == "noop.dead is not in this search: the family noop is left out by `without`"
    assert "it serves directed steps" in result.why_not("guard.dead_region")
    assert "other rules were given with `rules`" in optimize(func, rules=search_rules()[:3]).why_not("noop.dead")


def test_a_pattern_that_never_occurs() -> None:
    result = optimize(func_of(texts.ROW_SUM))
    assert result.why_not("let.inline_index").startswith(
        "let.inline_index is of no use: no part of row_sum gives occasion"
    )
    assert result.why_not("overcompute.select_then") == (
        "overcompute.select_then is of no use: nothing in row_sum is of the form needed"
    )


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    result = optimize(func_of(texts.ROW_SUM))
    for name, near in (("overcompte.then", "overcompute.then"), ("flaoting", "floating")):
        with pytest.raises(RuleError) as refused:
            result.why_not(name)
        assert refused.value.help == f"did you mean `{near}`?"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "row_sum.py"
    path.write_text(f"from ir import script as T\n\n{UNGUARDED}")
    assert main(["explain", str(path), "--why-not", "overcompute"]) == 0
    out = capsys.readouterr().out
    assert "add before it, if that is so, T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 0.0)" in out
    assert "1. " not in out
    assert main(["explain", str(path), "--why-not", "overcompte"]) == 2
    assert "did you mean `overcompute`?" in capsys.readouterr().err


@pytest.mark.parametrize("text", [DOUBLED, HOISTED], ids=["doubled", "hoisted"])
def test_every_family_has_an_answer(text: str) -> None:
    every_family_answers(func_of(text))


@pytest.mark.fuzz
@settings(max_examples=20)
@given(programs())
def test_every_family_has_an_answer_for_every_program(func: PrimFunc) -> None:
    every_family_answers(func)


def every_family_answers(func: PrimFunc) -> None:
    result = optimize(func)
    for family in FAMILIES:
        assert family in result.why_not(family)
