"""Budgets of questions to isl: what runs out is not known, what is wrong is an error, and threads do not share them."""

from __future__ import annotations

import threading

import islpy as isl
import pytest

from ir import parse_expr
from ir.dtypes import DType
from ir.nodes import Var
from ir.presburger import readback
from ir.presburger import sets as pb

NEST = parse_expr("T.min(T.max(T.min(x + y, 100) - z, y), x // 4)", dict.fromkeys("xyz", DType.INT32))


def costly() -> bool:
    """A question of some thousand steps."""
    region = pb.condition(parse_expr("x % 7 < y % 5 or x // 3 > y", dict.fromkeys("xy", DType.INT32))).must
    return bool(region.complement().coalesce().is_subset(region))


def test_what_runs_out_is_not_known() -> None:
    assert pb.within_budget(costly, None, 100) is None
    assert pb.within_budget(costly, None) is False


def test_a_misuse_of_isl_is_an_error() -> None:
    with pytest.raises(isl.Error, match="spaces don't match"):
        pb.within_budget(lambda: pb.whole(1).intersect(pb.whole(2)), None)
    assert pb.within_budget(costly, None, 100) is None  # the budget of the next is its own


def test_an_error_of_ours_is_an_error() -> None:
    def wrong() -> int:
        return int(None)  # pyright: ignore[reportArgumentType]

    with pytest.raises(TypeError, match="NoneType"):
        pb.within_budget(wrong, 0)


def test_none_in_place_of_an_error_is_no_answer() -> None:
    """isl has no text for a number once its steps are used up, and says nothing."""
    value = pb.number(7).get_pieces()[0][1].get_constant_val()

    def use_up() -> None:
        with pytest.raises(isl.Error, match="maximal number of operations"):
            costly()

    def text() -> object:
        use_up()
        return value.to_str()

    def converted() -> int:
        use_up()
        return int(value.to_python())

    assert pb.within_budget(text, "not known", 100) == "not known"
    assert pb.within_budget(converted, -1, 100) == -1


def test_wherever_a_question_ends_its_answer_is_right_or_none() -> None:
    names = {n: Var(n, DType.INT32) for n in "xyz"}

    def question() -> str:
        function = pb.affine(NEST)
        assert function is not None
        return repr(readback.expression(function, names))

    whole, found = question(), list[str | None]()
    for operations in range(1, 10_000, 300):
        found.append(pb.exclusive(pb.within_budget)(question, None, operations))
    assert set(found) == {None, whole}
    assert found == sorted(found, key=lambda answer: answer is not None)  # more steps never give less


def test_the_steps_of_questions_are_counted() -> None:
    costly()  # what it translates is remembered
    before = pb.steps()
    pb.within_budget(lambda: [costly() for _ in range(8)], None)
    some = pb.steps() - before
    pb.within_budget(lambda: [costly() for _ in range(64)], None)
    assert 0 < 4 * some <= pb.steps() - before - some <= 16 * some


def test_what_is_asked_before_makes_no_question_cheaper() -> None:
    """A question for which the steps do not suffice would come further a second time, by what is remembered."""
    ask = pb.exclusive(pb.within_budget)
    assert [ask(lambda: pb.affine(NEST), None, 3400) for _ in range(6)] == [None] * 6


def test_a_thread_does_not_spend_the_steps_of_another() -> None:
    inside, done = threading.Event(), threading.Event()

    def first() -> None:
        pb.within_budget(lambda: (inside.set(), done.wait(0.1)), None, 50)

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    answer = pb.within_budget(costly, None)
    done.set()
    thread.join()
    assert answer is False
