"""Memory and work are bounded whatever is asked: rounds of rules, single questions, and nests of minima and maxima."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from egraph_rules import Term, optimize, prove, rule, simplify
from egraph_rules.authoring.rule import INTEGER
from egraph_rules.contexts.sampled import Open
from egraph_rules.contexts.smt import decide
from egraph_rules.contexts.values import Values
from egraph_rules.engine.engine import Engine
from egraph_rules.engine.phases import Budget
from egraph_rules.engine.rounds import Program, Rounds
from ir import parse
from ir.dtypes import DType
from ir.nodes import BinaryOp, Expr, Select, Var, binary
from ir.presburger import sets as pb
from lower.analysis.linear_forms import linear
from tests.compare import assert_refines

MEGABYTES = 500
STEPS = 3_000_000  # of isl, for one call: about a second where all of them are taken


KINDS: tuple[tuple[BinaryOp, ...], ...] = (
    ("min", "max"), ("min", "max", "add", "sub"), ("add", "sub", "mul"), ("add", "floordiv", "min", "sub"),
)  # fmt: skip


def family(n: int) -> Expr:
    """A question that depends on the values, over minima and maxima in nests of depth n."""
    x, y, z = (Var(name, DType.INT32) for name in "xyz")
    low = binary("min", x + y, 100) - z
    a = reduce(lambda nest, k: binary("min", nest, low - k), range(n - 1, -1, -1), low - n)
    b = reduce(lambda nest, k: binary("max", nest, binary("max", y, k) - z), range(n), 0 - z)
    return binary("max", a, binary("min", b, 4)) <= binary("min", b, 4)


def nests(seeds: range, leaves: int) -> Iterator[Expr]:
    """Random comparisons of nests of minima, maxima, sums, products, quotients and selections."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        ops = KINDS[seed % len(KINDS)]
        yield nest(rng, ops, leaves) <= nest(rng, ops, leaves)


def nest(rng: np.random.Generator, ops: tuple[BinaryOp, ...], leaves: int) -> Expr:
    if leaves == 1:
        var = Var("abcdefgh"[rng.integers(8)], DType.INT32)
        return var + int(rng.integers(-9, 10)) if rng.random() < 0.3 else var
    op, left = ops[rng.integers(len(ops))], int(rng.integers(1, leaves))
    if op == "floordiv":
        whole = nest(rng, ops, leaves - 1)
        return whole // int(rng.integers(2, 9)) if rng.random() < 0.5 else whole % int(rng.integers(2, 9))
    return binary(op, nest(rng, ops, left), nest(rng, ops, leaves - left))


def measured() -> dict[str, int]:
    """The most memory (MB) and the most steps of isl that a call takes. Runs in a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))  # so that a mistake here takes nothing else down
    most = 0
    calls = [*((prove, family(n)) for n in (1, 2, 3, 4, 6, 9, 12)), *((simplify, family(n)) for n in (4, 12))]
    calls += [(prove, e) for e in nests(range(1, 4, 2), 20)]
    calls += [(simplify, e) for e in nests(range(2, 3), 20)]
    for call, expr in calls:
        before = pb.steps()
        call(expr)
        most = max(most, pb.steps() - before)
    return {"megabytes": peak(), "steps": most}


def peak() -> int:
    """The most memory (MB) that this process has had; `ru_maxrss` counts what its parent had when it was started."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text())
    assert found is not None
    return int(found[1]) // 1024


def test_nests_of_minima_and_maxima_take_little_memory_and_work() -> None:
    code = "import json; from tests.egraph.test_bounded import measured; print(json.dumps(measured()))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["megabytes"] < MEGABYTES
    assert found["steps"] < STEPS


@pytest.mark.parametrize("levels", [6, 200])
@pytest.mark.parametrize("kind", ["choices", "quotients", "a sum"])
def test_expressions_with_many_nodes_are_not_looked_into(kind: str, levels: int) -> None:
    """Where parts are shared there are twice as many of them with each level."""
    x, y = Var("x", DType.INT32), Var("y", DType.INT32)
    steps: dict[str, Callable[[Expr, int], Expr]] = {
        "choices": lambda e, k: Select(x < y + k, e + 1, e - x),
        "quotients": lambda e, k: binary("max", e + x, e // (k + 2) % 7),
        "a sum": lambda e, k: e + x * k,
    }
    expr = reduce(steps[kind], range(levels), x)
    before = pb.steps()
    prove(expr <= y)
    prove(x <= y, given=[expr <= y])
    assert simplify(expr) is expr or levels == 6
    assert pb.steps() - before < STEPS


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(0, 400, 20))
def test_random_nests_take_little_work(start: int) -> None:
    for expr in nests(range(start, start + 20), 20):
        for call in (prove, simplify):
            before = pb.steps()
            call(expr)
            assert pb.steps() - before < STEPS


@pytest.mark.parametrize("n", [1, 3, 12])
def test_the_family_is_decided(n: int) -> None:
    """It depends on the values, and that is found out: the search has nothing to add."""
    assert decide(family(n), (), 120_000) is Open.DEPENDS


def test_what_z3_says_does_not_depend_on_what_it_was_asked_before() -> None:
    questions = list(nests(range(2, 20, 4), 12))  # products, which z3 finds hard
    alone = [decide(q, ()) for q in questions]
    assert [decide(q, ()) for q in reversed(questions)] == alone[::-1]


@rule(on=INTEGER, because="addition is associative", family="mine")
def grouped_right(x: Term, y: Term, z: Term):
    return (x + y) + z, x + (y + z)


@rule(on=INTEGER, because="addition is associative", family="mine")
def grouped_left(x: Term, y: Term, z: Term):
    return x + (y + z), (x + y) + z


@rule(on=INTEGER, because="addition commutes", family="mine")
def swapped(x: Term, y: Term):
    return x + y, y + x


MULTIPLYING = (grouped_right, grouped_left, swapped)


def test_no_round_of_a_search_passes_the_node_budget() -> None:
    terms = " + ".join(f"T.uint8({k}) * A[{k}]" for k in range(1, 12))
    text = f'@T.prim_func\ndef f(A: T.Buffer((12,), "uint8")):\n    A[0] = {terms}\n'
    func = parse(text).funcs[0]
    result = optimize(func, rules=MULTIPLYING, budget=Budget(nodes=3_000, restarts=0))
    assert 500 < result.report.nodes <= 3_000
    assert result.report.stopped.startswith("node budget")
    assert "mine.grouped_" in result.report.stopped
    assert_refines(func, result.best, np.random.default_rng(0))


TERMS = "(ruleset nothing)(datatype M (N i64) (A M M))(relation named (M i64))"
LAWS = (
    '(rule ((= e (A x y))) ((union e (A y x))) :name "swapped")',
    '(rewrite (A (A x y) z) (A x (A y z)) :name "right")',
    '(rewrite (A x (A y z)) (A (A x y) z) :when ((!= x y)) :name "left")',
    '(rule ((named m k) (= m (A x y))) ((named x k)) :name "told")',
)


def engine_of(leaves: int) -> Engine:
    program = Program.of((TERMS,), LAWS)
    engine = Engine(program.texts, program.growth)
    engine.run(f"(let $root {reduce(lambda t, k: f'(A {t} (N {k}))', range(1, leaves), '(N 0)')})")
    engine.run("(named $root 1) (named $root 2)")
    return engine


def test_what_a_round_will_match_is_known_before() -> None:
    """Also what only numbers tell apart, and what is left from rounds in which a rule rested."""
    engine = engine_of(6)
    for _ in range(3):
        _, counted = engine.saturate("(run count)")
        _, found = engine.saturate("(run all)")
        assert {name.removesuffix(" counted"): n for name, n in counted.items()} == found
    assert engine.growth == {"swapped": 1, "right": 2, "left": 2, "told": 1}


@pytest.mark.parametrize("ceiling", [40, 300, 2000])
def test_rounds_stay_below_their_ceiling_and_quiet_rules_go_on(ceiling: int) -> None:
    engine = engine_of(10)
    rounds = Rounds(engine, ("A", "N", "named"), ceiling, matches=100)
    for _ in range(12):
        rounds.run()
        assert engine.sizes(("A", "N", "named")) <= ceiling
    assert rounds.full
    assert rounds.waiting
    assert set(rounds.rested) & {"left", "right"}
    assert engine.sizes(("named",)) > 2


def test_rounds_that_fit_give_what_rules_give() -> None:
    free, bounded = engine_of(5), engine_of(5)
    rounds = Rounds(bounded, ("A", "N", "named"), 10_000, matches=4)
    free.saturate("(saturate (run all))")
    while True:
        changed, _ = rounds.run()
        if not changed and not rounds.waiting:
            break
    assert rounds.rested
    for table in ("A", "named"):
        assert bounded.sizes((table,)) == free.sizes((table,))


def test_a_chain_of_choices_is_searched_in_proportion() -> None:
    def questions(length: int) -> int:
        value = " ".join(f"{k} if A[i] == {k} else" for k in range(length))
        text = f"""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
    for i in range(8):
        D[i] = {value} -1
"""
        return optimize(parse(text).funcs[0]).report.questions

    assert questions(40) < 2.5 * questions(20)


@pytest.mark.parametrize(
    ("joined", "part", "asked"),
    [(" and ", "A[{k}] > {k}", (Values, "put_in")), (" or ", "n == {k}", (pb.Condition, "negated"))],
    ids=["conjuncts of data", "disjuncts of variables"],
)
def test_long_conditions_are_looked_at_in_proportion(
    joined: str, part: str, asked: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part is asked about alone, and not again for each of the chains that begin with it."""
    calls, old = [0], getattr(*asked)

    def counted(*args: Any, **named: Any) -> Any:
        calls[0] += 1
        return old(*args, **named)

    monkeypatch.setattr(*asked, counted)

    def questions(length: int) -> int:
        calls[0] = 0
        cond = joined.join(part.format(k=k) for k in range(length))
        text = f'@T.prim_func\ndef f(A: T.Buffer((64,), "int32"), n: T.int32):\n    if {cond}:\n        A[0] = 1\n'
        optimize(parse(text).funcs[0])
        return calls[0]

    assert questions(32) < 3 * questions(16)


def test_bounds_of_nested_expressions_are_found_once_for_each_part() -> None:
    """Forms ask for bounds, and bounds for forms: twice for each level would be 2^60 times."""
    asked: list[Var] = []

    def ranges(var: Var) -> tuple[int | None, int | None]:
        asked.append(var)
        return 0, 7

    x, y = Var("x", DType.INT32), Var("y", DType.INT32)
    value: Expr = x
    for k in range(60):
        value = binary("min", binary("max", value + k, y), 100 + k) if k % 2 else value // 2 + y % (k + 2)
    linear(value, ranges)
    assert len(asked) < 2_000
