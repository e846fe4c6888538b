"""What a search does not look at, since nothing can come of it: counted in places, terms and steps, not in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import cast

import numpy as np
import pytest
from msgspec.structs import replace

import egraph_rules.contexts.smt as smt
from egraph_rules import optimize, transforms
from egraph_rules.contexts import repeated
from egraph_rules.contexts.context import NO_PERMISSION, Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.contexts.spoiling import of_use
from egraph_rules.cost.whole import ranked
from egraph_rules.engine.phases import Budget
from egraph_rules.rules.loops import needed_iterations
from egraph_rules.search.encode import Expander
from ir import PrimFunc, interpret, parse, to_script
from ir.analysis.contents import Contents
from ir.analysis.effects import EffectAnalysis, LoopSets, steady_buffers, stored_places
from ir.dtypes import DType
from ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, If, Seq, Stmt, Var, const
from ir.presburger import sets as presburger
from ir.traverse import all_exprs, walk, walk_expr
from profiles import some

PARAMS = """
A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8, 8), "int32"), i: T.int32, n: T.int32
""".strip()


def body(text: str) -> Stmt:
    lines = "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))
    return parse(f"@T.prim_func\ndef f({PARAMS}):\n{lines}").funcs[0].body


@pytest.fixture
def contexts() -> Contexts:
    return Contexts(EffectAnalysis())


def after(contexts: Contexts, text: str, priority: Priority = Priority.FACTS) -> tuple[int, Stmt]:
    """Facts before the last of some statements, and that one."""
    guard = cast(If, body("if 0 <= i and i < 8:\n    A[i] = 0")).cond
    facts = contexts.root(presburger.condition(guard).may, priority)
    first, second = cast(Seq, body(text)).stmts
    return contexts.sequence(facts, NO_PERMISSION, first, second)[0], second


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("A[0] = 1\nB[i] = B[i] + A[i]", True),  # A may hold what adds nothing
        ("C[0, 0] = 1\nB[i] = B[i] + A[i]", False),
        ("C[0, 0] = 1\nB[i] = A[i]", False),
        ("B[i] = 7\nB[i] = 7", True),
        ("A[i] = 7\nB[i] = 7", False),  # a number: of B nothing is known
        ("C[0, 0] = 1\nB[i] = B[i] + A[i] * n", True),  # n may be 0
        ("C[0, 0] = 1\nB[i] = B[i] + T.if_then_else(n > 3, A[i], 0)", True),
        ("C[0, 0] = 1\nB[i] = T.max(B[i], 0)", True),
    ],
)
def test_only_what_may_write_what_is_there_is_asked(contexts: Contexts, text: str, worth: bool) -> None:
    facts, stmt = after(contexts, text)
    assert contexts.may_do_nothing(facts, NO_PERMISSION, stmt) is worth


@pytest.mark.parametrize(("extent", "worth"), [(3, True), (8, False)])  # the reader wants L[3]
def test_what_writes_dead_elements_only_is_asked(contexts: Contexts, extent: int, worth: bool) -> None:
    root = contexts.root(presburger.always(), Priority.FACTS)
    text = f'L = T.alloc_buffer((8,), "int32")\nfor k in range({extent}):\n    L[k] = A[k]\nB[0] = L[3]'
    local = cast(Alloc, body(text))
    facts, permissions = contexts.alloc(root, NO_PERMISSION, local)
    first, second = cast(Seq, local.body).stmts
    dead = contexts.sequence(facts, permissions, first, second)[1]
    assert contexts.may_do_nothing(facts, dead, first) is worth
    assert contexts.only_writes_dead(facts, dead, first) is worth
    assert not contexts.may_do_nothing(facts, NO_PERMISSION, first)


def loop(text: str) -> For:
    return cast(For, body(text))


def test_an_accumulator_is_steady_in_loops_that_do_not_name_it() -> None:
    nest = loop("for p in range(8):\n    for k in range(8):\n        if k + p < n:\n            B[p] = B[p] + A[k]")
    (buffer,) = stored_places(nest.body)
    assert steady_buffers(cast(For, nest.body)) == {buffer}
    assert not steady_buffers(nest)
    moving = loop("for k in range(7):\n    B[i] = B[i] + B[k]")
    assert set(stored_places(moving)) == {buffer} and not steady_buffers(moving)


def test_accumulators_are_known_in_first_iterations_in_one_piece(contexts: Contexts) -> None:
    text = "B[i] = 0\nfor k in range(4):\n    if 2 <= k + i:\n        B[i] = B[i] + A[k]"
    facts, nest = after(contexts, text)
    inside, _ = contexts.loop(facts, NO_PERMISSION, cast(For, nest))
    (region,) = (r for (_, v), r in contexts.facts(inside).known.items() if v.same(const(0, v.dtype)))
    region = region.intersect_params(contexts.facts(inside).domain).coalesce()
    assert region.n_basic_set() == 1
    is_first = presburger.symbol(cast(For, nest).var.name).eq_set(presburger.number(0))
    assert not region.intersect_params(is_first).is_empty()
    assert region.intersect_params(is_first.complement()).is_empty()


def test_permissions_on_elements_that_stay_live_are_left_out() -> None:
    nest = loop("for k in range(4):\n    B[i] = B[i] + A[k]")
    (buffer,) = stored_places(nest.body)
    inside = LoopSets.of(nest).may
    assert of_use({buffer: presburger.whole(1)}, nest.body, inside) == {}
    assert set(of_use({buffer: presburger.nothing(1)}, nest.body, inside)) == {buffer}
    moving = loop("for k in range(4):\n    for p in range(4):\n        B[p] = A[k]")
    assert set(of_use({buffer: presburger.whole(1)}, moving.body, inside)) == {buffer}


def test_short_walks_are_remembered_and_long_ones_are_not() -> None:
    n = Var("n", DType.INT32)
    short, long = cast(Binary, (n + 1) * 2), cast(Expr, n)
    inner = cast(Binary, short.lhs)
    for _ in range(200):
        long = long + 1
    for expr in (short, long):
        nodes = list(walk_expr(expr))
        assert nodes[0] is expr
        assert all(a is b for a, b in zip(walk_expr(expr), nodes, strict=True))
    assert all(a is b for a, b in zip(walk_expr(short), (short, inner, n, inner.rhs, short.rhs), strict=True))
    assert len(list(walk_expr(long))) == 401
    assert hasattr(short, "nodes_below") and not hasattr(long, "nodes_below")
    nest = body("if n > 1:\n    B[i] = A[i] + 1")
    assert list(map(str, all_exprs(nest))) == list(map(str, all_exprs(nest)))
    assert list(map(str, all_exprs(nest))) == ["n > 1", "n", "1", "i", "A[i] + 1", "A[i]", "i", "1"]


LAYERS = """
@T.prim_func
def f(X: T.Buffer((2, 6, 6, 4), "float32"), W: T.Buffer((6, 6, 3, 3), "float32"), P: T.Buffer((2, 3, 3, 4), "float32")):
    C = T.alloc_buffer((2, 6, 6, 4), "float32")
    R = T.alloc_buffer((2, 6, 6, 4), "float32")
    for ko, y, x, ki in T.grid(2, 6, 6, 4):
        if 4 * ko + ki < 6:
            C[ko, y, x, ki] = 0.0
            for co, dy, dx, ci in T.grid(2, 3, 3, 4):
                if 4 * co + ci < 6 and 1 <= y + dy and y + dy < 7 and 1 <= x + dx and x + dx < 7:
                    C[ko, y, x, ki] = C[ko, y, x, ki] + X[co, y + dy - 1, x + dx - 1, ci] * W[4 * ko + ki, 4 * co + ci, dy, dx]
    for ko, y, x, ki in T.grid(2, 6, 6, 4):
        if 4 * ko + ki < 6:
            R[ko, y, x, ki] = T.max(C[ko, y, x, ki], 0.0)
    for ko, y, x, ki in T.grid(2, 3, 3, 4):
        if 4 * ko + ki < 6:
            P[ko, y, x, ki] = T.max(
                T.max(R[ko, 2 * y, 2 * x, ki], R[ko, 2 * y, 2 * x + 1, ki]),
                T.max(R[ko, 2 * y + 1, 2 * x, ki], R[ko, 2 * y + 1, 2 * x + 1, ki]))
"""  # noqa: E501


def test_a_blocked_layer_with_tails_is_searched_to_its_end() -> None:
    report = optimize(parse(LAYERS).funcs[0]).report
    assert report.stopped.startswith("saturated")
    assert report.work < 2_500_000


def network(layers: int) -> PrimFunc:
    """Convolutions, each of which reads a padded copy of what the one before has computed."""
    lines = [f"P{k} = T.alloc_buffer((6, 6), 'float32')" for k in range(layers)]
    lines += [f"C{k} = T.alloc_buffer((4, 4), 'float32')" for k in range(layers - 1)]
    for k in range(layers):
        source, to = "X" if k == 0 else f"C{k - 1}", "Y" if k == layers - 1 else f"C{k}"
        lines += [
            "for y, x in T.grid(6, 6):",
            "    if 1 <= y and y < 5 and 1 <= x and x < 5:",
            f"        P{k}[y, x] = {source}[y - 1, x - 1]",
            "    else:",
            f"        P{k}[y, x] = 0.0",
            "for y, x in T.grid(4, 4):",
            f"    {to}[y, x] = 0.0",
            "    for dy, dx in T.grid(3, 3):",
            f"        {to}[y, x] = {to}[y, x] + P{k}[y + dy, x + dx] * W[dy, dx]",
        ]
    text = "".join(f"    {line}\n" for line in lines)
    params = "X: T.Buffer((4, 4), 'float32'), W: T.Buffer((3, 3), 'float32'), Y: T.Buffer((4, 4), 'float32')"
    return parse(f"@T.prim_func\ndef f({params}):\n{text}").funcs[0]


def test_stages_that_stay_are_not_looked_into_for_each_that_might_go() -> None:
    report = optimize(network(8)).report
    assert report.stopped.startswith("saturated")
    assert report.work < 450_000


def filled_first(stages: int) -> PrimFunc:
    """Guarded stages over locals, the padding of which is filled before: each fill may go, or a guard."""
    lines: list[str] = []
    for k in range(stages):
        lines += [
            f"H{k} = T.alloc_buffer((8,), 'int32')",
            "for p in range(8):",
            "    if p >= 5:",
            f"        H{k}[p] = 0",
        ]
    for k in range(stages):
        source = "A" if k == 0 else f"H{k - 1}"
        lines += ["for i in range(8):", "    if i < 5:", f"        H{k}[i] = {source}[i] * {source}[7 - i]"]
    text = "".join(f"    {line}\n" for line in lines)
    last = f"    for i in range(8):\n        if i < 5:\n            B[0] += H{stages - 1}[i]\n"
    params = "A: T.Buffer((8,), 'int32'), B: T.Buffer((1,), 'int32')"
    return parse(f"@T.prim_func\ndef f({params}):\n{text}{last}").funcs[0]


def test_stages_that_may_go_do_not_double_the_contexts_of_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    sequence, made = Contexts._sequence, Counter[int]()  # pyright: ignore[reportPrivateUsage]
    stages = 0

    def counted(self: Contexts, facts: int, permissions: int, first: Stmt, second: Stmt) -> tuple[int, int]:
        made[stages] += 1
        return sequence(self, facts, permissions, first, second)

    monkeypatch.setattr(Contexts, "_sequence", counted)
    for stages in (3, 9):
        transforms.remove_branching_through_overcompute()(filled_first(stages))
    assert made[9] <= 4 * made[3]


def test_nests_are_compared_once_for_all_ways_to_drop_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    told = repeated.told_of
    looked = Counter[str]()

    def counted(known: Contents, buffers: Collection[Buffer]) -> Contents:
        looked["nests"] += 1
        return told(known, buffers)

    monkeypatch.setattr(repeated, "told_of", counted)
    stages = 16
    lines = [f"t{k} = T.alloc_buffer((1024,), 'float32')" for k in range(stages - 1)]
    for k in range(stages):
        value = ("{} * 2.0", "T.max({}, 0.0)", "{} + 1.0")[k % 3].format(f"t{k - 1}[i]" if k else "A[i]")
        lines += ["for i in range(1024):", f"    {f't{k}' if k < stages - 1 else 'B'}[i] = {value}"]
    text = "".join(f"    {line}\n" for line in lines)
    optimize(parse(f"@T.prim_func\ndef f(A: T.Buffer((1024,), 'float32'), B: T.Buffer((1024,), 'float32')):\n{text}"))
    assert looked["nests"] < 130


GUARDS = """
@T.prim_func
def f(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(100):
{guards}
"""


def test_nested_guards_take_work_in_proportion() -> None:
    def work(depth: int) -> int:
        lines = [f"{'    ' * (k + 2)}if i < {100 - k}:" for k in range(depth)]
        lines.append(f"{'    ' * (depth + 2)}B[i] = A[i]")
        result = optimize(parse(GUARDS.format(guards="\n".join(lines))).funcs[0])
        assert not any(isinstance(s, If) for s in walk(result.best.body))
        return result.report.work

    assert work(24) < 6 * work(8)  # three times the guards


def guarded(levels: int) -> str:
    """A store under conditions on as many scalars, which leave it in bounds each by itself."""
    scalars = "".join(f", n{k}: T.int32" for k in range(levels))
    lines = [f"{'    ' * (k + 2)}if i + {k} < n{k}:" for k in range(levels)]
    head = f'@T.prim_func\ndef f(A: T.Buffer((64,), "float32"){scalars}):\n    for i in range(64):'
    return "\n".join([head, *lines, f"{'    ' * (levels + 2)}A[i] = 0.0"])


def rows(count: int) -> str:
    """A nest for each row of an array."""
    nests = "".join(f"    for i in range(64):\n        B[{k}, i] = A[i] * {k}.5\n" for k in range(count))
    return f'@T.prim_func\ndef f(A: T.Buffer((64,), "float32"), B: T.Buffer(({count}, 64), "float32")):\n{nests}'


@pytest.mark.parametrize("made", [rows, guarded])
def test_what_cannot_meet_or_leave_its_buffer_is_asked_about_once(made: Callable[[int], str]) -> None:
    few, many = (optimize(parse(made(count)).funcs[0]).report.questions for count in (8, 16))
    assert many < 2.5 * few  # four times as many, were each asked about with each


def test_programs_that_differ_by_a_loop_are_priced_as_a_whole_once() -> None:
    texts = [f"@T.prim_func\ndef f(A: T.Buffer((1,), 'int32')):\n    A[0] = {k}\n" for k in range(5)]
    funcs = [parse(text).funcs[0] for text in texts]
    bodies = [f.body for f in funcs]
    asked: list[Stmt] = []

    def whole(priced: PrimFunc) -> float:
        asked.append(priced.body)
        return 1000.0 - 100 * bodies.index(priced.body)

    costs = [100.0, 105.0, 105.0, 120.0]
    found = list(zip(costs, bodies, strict=False))
    ranking = ranked(found, [], [], (200.0, bodies[4]), lambda b: replace(funcs[0], body=b), whole)
    assert asked == [bodies[0], bodies[3], bodies[4]]
    assert ranking.programs[0][1] == bodies[4]


def test_of_programs_with_the_fewest_stores_the_cheapest_is_priced_as_a_whole_too() -> None:
    texts = [f"@T.prim_func\ndef f(A: T.Buffer((1,), 'int32')):\n    A[0] = {k}\n" for k in range(3)]
    texts.append("@T.prim_func\ndef f(A: T.Buffer((1,), 'int32')):\n    A[0] = 3\n    A[0] = 4\n")
    funcs = [parse(text).funcs[0] for text in texts]
    bodies = [f.body for f in funcs]
    compact = [(150.0, bodies[3]), (160.0, bodies[1]), (190.0, bodies[2])]
    ranking = ranked(
        [(100.0, bodies[3])],
        compact,
        [],
        (200.0, bodies[0]),
        lambda b: replace(funcs[0], body=b),
        lambda priced: 10.0 if priced.body == bodies[1] else 1000.0,
    )
    assert ranking.programs[0][1] == bodies[1]
    assert [cost for _, cost in ranking.prices] == [160.0, 100.0, 200.0]
    assert "ranks lower" in ranking.overruled


@pytest.mark.parametrize(("cost", "best"), [(150.0, "all"), (250.0, "guarded")])
def test_where_a_guard_is_best_a_program_without_one_is_priced_as_a_whole_too(cost: float, best: str) -> None:
    """Windows, of which each reads the diagonals of a band, are many; one of them may be all that is priced."""
    bodies = {name: parse(f"""
@T.prim_func
def f(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i, j in T.grid(8, {extent}):
        {store}
""").funcs[0] for name, extent, store in (
        ("guarded", 8, "if j <= i:\n            B[i] = B[i] + A[i, j]"),
        ("all", 8, "B[i] = B[i] + A[i, j]"),
        ("window", 4, "B[i] = B[i] + A[i, (i + j) % 8]"),
    )}  # fmt: skip
    whole = {bodies["guarded"].body: 10.0, bodies["all"].body: 10.0, bodies["window"].body: 100.0}
    ranking = ranked(
        [(100.0, bodies["window"].body)], [], [], (200.0, bodies["guarded"].body),
        lambda body: replace(bodies["all"], body=body), lambda func: whole[func.body],
        bare=[(cost, bodies["all"].body)],
    )  # fmt: skip
    assert ranking.programs[0][1] == bodies[best].body


def test_programs_that_store_twice_in_a_row_are_not_priced_beside_one_that_does_not() -> None:
    texts = [f"@T.prim_func\ndef f(A: T.Buffer((1,), 'int32')):\n{stores}" for stores in (
        "    A[0] = 3\n", "    A[0] = 2\n    A[0] = A[0] + 1\n", "    A[0] = 4\n"
    )]  # fmt: skip
    funcs = [parse(text).funcs[0] for text in texts]
    once, twice, given = (f.body for f in funcs)
    asked: list[Stmt] = []

    def whole(priced: PrimFunc) -> float:
        asked.append(priced.body)
        return 10.0

    ranking = ranked([(50.0, once), (90.0, twice)], [], [], (200.0, given), lambda b: replace(funcs[0], body=b), whole)
    assert asked == [once, given]
    assert ranking.programs[0][1] == once
    assert any(body == twice for _, body in ranking.programs)


@pytest.mark.parametrize(("read", "written"), [("B[y]", 0), ("B[y - 1]", 1)])
def test_turns_are_written_out_where_iterations_need_each_other(read: str, written: int) -> None:
    """A sum of its own in each iteration is no step of a recurrence, whatever it looks up by its turn."""
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer((64,), "float32"), W: T.Buffer((4, 4), "float32"), B: T.Buffer((64,), "float32")):
    for y in range(1, 61):
        B[y] = 0.0
        for a in range(4):
            B[y] = {read} + W[y % 4, a] * A[y + a]
""").funcs[0]
    assert min(optimize(func).report.matches["loops.by_period"], 1) == written


def nest(levels: int) -> PrimFunc:
    """Loops with a guard at each level."""
    shape = f"({'4, ' * levels})"
    lines = ["@T.prim_func", f'def f(A: T.Buffer({shape}, "float32"), B: T.Buffer({shape}, "float32")):']
    for k in range(levels):
        lines += [f"{' ' * 4 * (2 * k + 1)}for i{k} in range(4):", f"{' ' * 4 * (2 * k + 2)}if i{k} < 3:"]
    place = ", ".join(f"i{k}" for k in range(levels))
    return parse("\n".join([*lines, f"{' ' * 4 * (2 * levels + 1)}B[{place}] = A[{place}] + 1.0"])).funcs[0]


def test_nests_with_a_guard_at_each_level_do_not_double_the_work_per_level() -> None:
    few, many = (optimize(nest(levels)) for levels in (4, 8))
    assert [s.extent for s in walk(many.best.body) if isinstance(s, For)] == [const(3, DType.INT32)] * 8
    assert not any(isinstance(s, If) for s in walk(many.best.body))
    assert many.report.questions < 3 * few.report.questions  # 16 times as many, were each shortened or not by itself


def test_each_stage_more_of_a_chain_takes_as_much_work() -> None:
    def chain(stages: int) -> PrimFunc:
        params = ", ".join(f'A{k}: T.Buffer((16,), "float32")' for k in range(stages + 1))
        lines = [f"    for i in range(16):\n        A{k + 1}[i] = A{k}[i] + {k}.0" for k in range(stages)]
        return parse("\n".join(["@T.prim_func", f"def f({params}):", *lines])).funcs[0]

    asked = [optimize(chain(stages)).report.questions for stages in (12, 24, 36)]
    assert asked[2] - asked[1] <= asked[1] - asked[0]


RECURRENCES = {
    "by choice": """
        if a[i] == b[j]:
            D[i + 1, j + 1] = D[i, j] + 1
        else:
            D[i + 1, j + 1] = T.max(D[i, j + 1], D[i + 1, j])""",
    "by minimum": """
        D[i + 1, j + 1] = a[i] + T.min(T.min(D[i, j + 1], D[i + 1, j]), D[i, j])""",
}


@pytest.mark.parametrize("step", some(RECURRENCES.values(), 0.5), ids=RECURRENCES)
def test_elements_that_are_known_by_their_neighbours_are_not_followed_on_every_way(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    text = f"""
@T.prim_func
def table(a: T.Buffer((5,), "int32"), b: T.Buffer((4,), "int32"), last: T.Buffer((), "int32")):
    D = T.alloc_buffer((6, 5), "int32")
    for i, j in T.grid(6, 5):
        D[i, j] = 0
    for i, j in T.grid(5, 4):{step}
    last[()] = D[5, 4]
"""
    seen = Counter[str]()
    look = Expander.expand_expr

    def counted(self: Expander, facts: int, expr: Expr) -> None:
        seen["expressions"] += 1
        look(self, facts, expr)

    monkeypatch.setattr(Expander, "expand_expr", counted)
    optimize(parse(text))
    assert 100 < seen["expressions"] < 2000  # tens of thousands, were each way to an element another element


def test_choices_of_elements_that_choices_have_made_are_not_looked_into_in_all_their_cases() -> None:
    text = """
@T.prim_func
def squares(M: T.Buffer((20, 20), "int32"), S: T.Buffer((20, 20), "int32")):
    for i, j in T.grid(20, 20):
        S[i, j] = T.if_then_else(M[i, j] == 1, T.if_then_else(i == 0 or j == 0, 1, {}), 0)
"""
    step = "T.min(S[i - 1, j], T.min(S[i, j - 1], S[i - 1, j - 1])) + 1"
    assert optimize(parse(text.format(step))["squares"]).report.questions < 2200  # twice as many, were they


def test_sums_over_elements_that_nothing_is_known_of_are_not_followed_for_a_value() -> None:
    text = """
@T.prim_func
def blur(A: T.Buffer((64, 64), "float32"), O: T.Buffer((64, 64), "float32")):
    S = T.alloc_buffer((65, 65), "float32")
    for y in range(65):
        S[y, 0] = 0.0
    for x in range(65):
        S[0, x] = 0.0
    for y, x in T.grid(64, 64):
        S[y + 1, x + 1] = A[y, x] + S[y, x + 1] + S[y + 1, x] - S[y, x]
    for y, x in T.grid(64, 64):
        O[y, x] = S[T.min(y + 5, 64), T.min(x + 5, 64)] - S[T.max(y - 4, 0), T.max(x - 4, 0)]
"""
    assert optimize(parse(text)["blur"]).report.questions < 1600  # 1,836, were they


def test_conditions_on_products_that_some_values_refute_are_not_put_to_a_prover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = """
@T.prim_func
def shifted(A: T.Buffer((64, 3), "float32"), B: T.Buffer((64,), "float32")):
    for s in range(6):
        for i, u in T.grid(64, 3):
            if i + (u - 1) * (T.int32(32) >> s) >= 0 and i + (u - 1) * (T.int32(32) >> s) < 64:
                B[i] = B[i] + A[i + (u - 1) * (T.int32(32) >> s), u]

@T.prim_func
def whole(A: T.Buffer((64, n), "float32"), n: T.int32):
    for i, j in T.grid(64, n):
        if i * n + j < 64 * n:
            A[i, j] = 0.0
"""
    asked: list[Expr] = []
    plain = smt.decide
    monkeypatch.setattr(smt, "decide", lambda cond, *rest, **how: (asked.append(cond), plain(cond, *rest, **how))[1])
    optimize(parse(text)["shifted"])
    assert not asked
    assert "if" not in to_script(optimize(parse(text)["whole"]).best)
    assert asked


def test_places_that_data_give_are_not_told_apart_by_cases() -> None:
    text = """
@T.prim_func
def votes(X: T.Buffer((40,), "float32"), H: T.Buffer((9,), "float32")):
    for k in range(9):
        H[k] = 0.0
    for i in range(40):
        H[{place}] = H[{place}] + X[i]
"""
    place = "T.if_then_else(X[i] > 0.0, T.min(T.max(T.cast(T.floor(X[i]), 'int32'), 0), 8), 4)"
    assert optimize(parse(text.format(place=place))["votes"]).report.nodes < 70  # twice as many, were they


def test_large_programs_have_a_budget_in_proportion() -> None:
    assert Budget().in_proportion(400) == Budget()
    large = Budget(nodes=50, work=70).in_proportion(2001)
    assert (large.nodes, large.work, large.rounds) == (250, 350, Budget().rounds)


@pytest.mark.parametrize("place", ["T.if_then_else(i < 1, 5, i - 1)", "5 - i"])
def test_an_element_is_itself_unless_a_condition_on_data_holds(place: str) -> None:
    text = f"""
@T.prim_func
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32"), J: T.Buffer((3,), "int32")):
    for i in range(6):
        T.assume(J[i % 3] == 0 or A[{place}] == 1)
    for i in range(1, 6):
        if A[i] == 0:
            B[i] = T.min(B[i], T.Select(A[i // 2] == 1, A[i - 1], T.max(B[i], A[5 - i])))
"""
    assert optimize(parse(text)["f"]).report.questions < 300  # 1,400, were it what stands where its place leads to


def test_elements_that_tell_each_other_do_so_once() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in range(8):
        T.assume(B[i] == 1 or A[i] == 1)
        T.assume(B[(i + 1) % 8] == 1 or A[i] == 1)
    for i in range(2, 5):
        if A[i] == 0:
            Y[i] = 3
"""
    assert "if A[i] == 0" in to_script(optimize(parse(text)["f"]).best)


def _guarded_sums(count: int, *, merged: bool = False) -> PrimFunc:
    """Loops, or one, that add to an array, each time under a condition that no iteration changes."""
    scalars = "".join(f", c{k}: T.int32" for k in range(count))
    lines = [f"        if c{k} > {k}:\n            A[i] = A[i] + B[i] * {k + 2}.0\n" for k in range(count)]
    loop = "    for i in range(64):\n"
    body = loop + "".join(lines) if merged else "".join(loop + line for line in lines)
    return parse(
        f"""@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"){scalars}):
{body}"""
    ).funcs[0]


def test_many_conditions_that_no_iteration_changes_do_not_double_the_loops() -> None:
    few, many = (optimize(_guarded_sums(count)).report for count in (3, 12))
    assert few.matches["hoist.branch_condition"] > 0
    assert many.matches["hoist.branch_condition"] == 0
    assert many.stopped.startswith("saturated")


def test_whoever_asks_for_it_hoists_however_many_conditions() -> None:
    assert isinstance(transforms.hoist_expression()(_guarded_sums(4, merged=True)).body, If)


@pytest.mark.parametrize(
    ("body", "read", "trips"),
    [
        ("for j in range(i + 1, 40):\n            if A[i] > A[j]:\n                swap", "A[0]", 1),
        ("for j in range(i + 1, 40):\n            if A[i] > A[j]:\n                swap", "A[19]", 20),
        ("for j in range(40):\n            if j > i:\n                A[j] = (A[j] - A[i] * 3) % 7", "A[9] + A[4]", 9),
        ("for j in range(40):\n            A[j] = (A[j] + A[(j + 1) % 40]) % 7", "A[0]", 39),
    ],
)
def test_iterations_that_are_read_by_later_ones_alone_go_together(body: str, read: str, trips: int) -> None:
    swap = "t = A[j]\n                A[j] = A[i]\n                A[i] = t"
    func = parse(f"""
@T.prim_func
def f(X: T.Buffer((40,), "int32"), Y: T.Buffer((1,), "int32")):
    A = T.alloc_buffer((40,), "int32")
    for i in range(40):
        A[i] = X[i] % 7
    for i in range(39):
        {body.replace("swap", swap)}
    Y[0] = {read}
""").funcs[0]
    result = optimize(func, rules=[needed_iterations])
    assert result.report.matches["loops.needed_iterations"] < 10
    loops = [s for s in walk(result.best.body) if isinstance(s, For) and isinstance(s.body, (For, Seq))]
    assert [s.extent.value for s in loops if isinstance(s.extent, Const)][-1] == trips
    x = np.random.default_rng(0).integers(-50, 50, 40).astype(np.int32)
    assert interpret(result.best, x)[0] == interpret(func, x)[0]


@pytest.mark.parametrize(("padded", "looked"), [("j >= 6", 0), ("i >= 6", 1)])
def test_places_are_told_apart_along_axes_where_contents_differ(padded: str, looked: int) -> None:
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32"), s: T.int32):
    T.assume(0 <= s and s < 8)
    for i, j in T.grid(8, 8):
        T.assume(not ({padded}) or A[i, j] == 0)
    for i, j in T.grid(8, 8):
        B[i, j] = A[(i + s) % 8, j] + 1
""").funcs[0]
    result = optimize(func)
    assert min(result.report.matches["padding.index_by_cases"], 1) == looked
    a = np.arange(64, dtype=np.int32).reshape(8, 8) + 1
    (a[:, 6:] if looked == 0 else a[6:])[...] = 0
    np.testing.assert_array_equal(interpret(result.best, a, s=3)[0], interpret(func, a, s=3)[0])


UNUSED = "\n".join(f"    n{k} = A[{k % 8}]" for k in range(10))
TOTALS = "\n".join(
    f"    S{k} = T.alloc_buffer((), 'float32')\n    S{k}[()] = 0.0\n    for i in range(8):\n"
    f"        S{k}[()] += A[i] * A[i]\n    B[{k}] = S{k}[()] * {k + 2}.0" for k in range(7)
)  # fmt: skip


@pytest.mark.parametrize(("text", "rule"), [(UNUSED, "let.unused"), (TOTALS, "contents.total_known_of_floats")])
def test_what_is_never_better_left_makes_no_program_of_each_choice(text: str, rule: str) -> None:
    program = (
        f'@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n{text}\n    B[7] = A[0]'
    )
    result = optimize(parse(program).funcs[0])
    assert 0 < result.report.matches[rule] <= 40  # 10 or 6 in each search, not two to the power of that
