"""Rules that speak of user-defined functions, and what the search knows of calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from msgspec.structs import replace

from compare import assert_refines
from egraph_rules import Term, Truth, defined, optimize, prove, rule, simplify
from egraph_rules.authoring.rule import FLOAT, SIGNED, Rule
from egraph_rules.check import check_rule
from egraph_rules.contexts.context import Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.cost.target import CPU, call_cost
from egraph_rules.engine.functions import function_number, function_numbered
from egraph_rules.rules import search_rules
from egraph_rules.rules.functions import body_of_call
from functions import with_calls
from ir import PrimFunc, interpret, parse, to_script
from ir import script as T
from ir.analysis.effects import EffectAnalysis
from ir.dtypes import DType
from ir.errors import RuleError, VerifyError
from ir.functions import functions_in
from ir.nodes import Function, If, Var
from ir.presburger import sets as pb
from ir.semantics.verify import verify
from ir.testing.programs import programs
from ir.traverse import walk
from profiles import few


@T.function(cost=0.4, jax="jax.nn.relu6({x})")
def relu6(x: T.float32) -> T.float32:
    return T.min(T.max(x, 0.0), 6.0)


@T.function
def fma(a: T.float32, b: T.float32, c: T.float32) -> T.float32:
    return a * b + c


@T.function
def fma64(a: T.float64, b: T.float64, c: T.float64) -> T.float64:
    return a * b + c


@T.function
def clamp(i: T.int32, n: T.int32) -> T.int32:
    return T.min(T.max(i, 0), n - 1)


@T.function
def choose(c: T.bool, a: T.float32, b: T.float32) -> T.float32:
    return T.if_then_else(c, a, b)


@rule(on=FLOAT, because="the definition of relu6", family="own")
def to_relu6(x: Term):
    return T.min(T.max(x, 0.0), 6.0), relu6(x)


@rule(on=FLOAT, because="what is clamped already stays", family="own")
def relu6_twice(x: Term):
    return relu6(relu6(x)), relu6(x)


@rule(on=FLOAT, because="the definition of fma", family="own")
def to_fma(a: Term, b: Term, c: Term):
    return a * b + c, fma(a, b, c)


def optimized(func: PrimFunc, *rules: Rule, **prices: float) -> str:
    best = optimize(func, target=replace(CPU, calls=tuple(prices.items())), rules=(*search_rules(), *rules)).best
    assert assert_refines(func, best, np.random.default_rng(0)) > 0
    return to_script(best.body)


def kernel(value: str, head: str = "") -> PrimFunc:
    text = f"""{head}
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        C[i] = {value}
"""
    return parse(text).funcs[0]


RELU6 = to_script(relu6)


# Rules ---------------------------------------------------------------------------------------------------------------


def test_a_rule_brings_in_a_function() -> None:
    assert to_relu6.law == "min(max(x, 0.0), 6.0) = relu6(x)"
    assert to_relu6.dtype is DType.FLOAT32
    found = optimized(kernel("T.min(6.0, T.max(A[i] * B[i], 0.0))"), to_relu6)
    assert "relu6(A[i] * B[i])" in found


def test_an_optimized_program_prints_with_its_functions() -> None:
    func = kernel("T.min(T.max(A[i], 0.0), 6.0)")
    best = optimize(func, rules=(*search_rules(), to_relu6)).best
    assert functions_in(best) == (relu6,)
    assert parse(to_script(best)).funcs[0] == best


def test_a_rule_matches_calls_and_nests_them() -> None:
    assert "relu6(A[i])" in optimized(kernel("relu6(relu6(relu6(A[i])))", RELU6), relu6_twice)
    sums = optimized(kernel("A[i] * B[i] + (B[i] * B[i] + A[i])"), to_fma, fma=0.1)
    assert sums.count("fma(") == 2
    assert "*" not in sums


def test_a_program_whose_function_is_read_from_text_is_the_rules_function() -> None:
    again = functions_in(kernel("relu6(A[i])", RELU6))[0]
    assert again is not relu6
    assert function_number(again) == function_number(relu6)
    assert function_numbered(function_number(relu6)) == relu6


def test_a_rule_is_about_the_dtype_of_its_functions_only() -> None:
    body = "    for i in T.serial(4):\n        B[i] = A[i] * A[i] + A[i]\n"
    text = 'A: T.Buffer((4,), "{0}"), B: T.Buffer((4,), "{0}")):\n' + body

    @rule(on=FLOAT, because="the definition of fma64", family="own")
    def to_fma64(a: Term, b: Term, c: Term):
        return a * b + c, fma64(a, b, c)

    assert to_fma64.dtype is DType.FLOAT64
    for dtype, name in (("float32", "fma"), ("float64", "fma64"), ("float16", "")):
        func = parse("@T.prim_func\ndef f(" + text.format(dtype)).funcs[0]
        found = optimize(func, target=replace(CPU, calls=(("fma", 0.1), ("fma64", 0.1))),
                         rules=(*search_rules(), to_fma, to_fma64)).best  # fmt: skip
        assert [f.name for f in functions_in(found)] == ([name] if name else [])


def test_a_rule_with_a_side_condition_and_a_call() -> None:
    @rule(on=SIGNED, because="an index in range is not clamped", family="own")
    def in_range(i: Term, n: Term):
        return clamp(i, n), i, defined(n), i >= 0, i < n

    text = """
@T.function(cost=9.0)
def clamp(i: T.int32, n: T.int32) -> T.int32:
    return T.min(T.max(i, 0), n - 1)

@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = A[clamp(i, 16)] + A[clamp(i + 1, 16)]
"""
    func = parse(text).funcs[0]
    own = functions_in(func)[0]

    @rule(on=SIGNED, because="an index in range is not clamped", family="own")
    def in_range_too(i: Term, n: Term):
        return own(i, n), i, i >= 0, i < n

    assert in_range.law == "clamp(i, n) = i if n defined, (i >= 0), (i < n)"
    rules = tuple(r for r in search_rules() if r.family != "functions")
    best = optimize(func, rules=(*rules, in_range_too)).best
    assert_refines(func, best, np.random.default_rng(0))
    assert "A[i] + A[clamp(i + 1, 16)]" in to_script(best.body)


def test_booleans_are_arguments_too() -> None:
    @rule(on=FLOAT, because="both ways give x", family="own")
    def choose_one(c: Truth, x: Term):
        return choose(c, x, x), x, defined(c)

    assert choose_one.law == "choose(c, x, x) = x if c defined"
    head = to_script(choose).replace('"bool"', "T.bool_")
    rules = tuple(r for r in search_rules() if r.family != "functions")
    func = kernel("choose(i > 3, A[i], A[i])", head)
    best = optimize(func, rules=(*rules, choose_one)).best
    assert "C[i] = A[i]" in to_script(best.body)


def test_malformed_rules_are_refused() -> None:
    with pytest.raises(RuleError, match="several dtypes: float32, int32"):

        @rule(on=FLOAT, because="no", family="own")
        def mixed(x: Term):
            return relu6(x) + x, x + rounded(0), clamp(1, 2) > 0

    with pytest.raises(RuleError, match="must be float32, found int32"):

        @rule(on=SIGNED, because="no", family="own")
        def wrong(x: Term):
            return x + 0, relu6(x)

    with pytest.raises(RuleError, match="not a parameter"):

        @rule(on=FLOAT, because="no", family="own")
        def no_meaning(x: Term):
            return x + 0.0, Function("g", (Var("x", DType.FLOAT32),), T.float32("y") + 1.0)(x)


@T.function
def rounded(x: T.int32) -> T.float32:
    return T.cast(x, "float32")


@pytest.mark.parametrize("name", ["i", "A", "L"])
def test_a_rules_function_may_not_meet_a_name_of_the_program(name: str) -> None:
    x = Var("x", DType.FLOAT32)
    own = Function(name, (x,), x + 1.0, cost=0.0)

    @rule(on=FLOAT, because="the definition", family="own")
    def to_own(x: Term):
        return x + 1.0, own(x)

    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    L = T.alloc_buffer((4,), "float32")
    for i in T.serial(4):
        L[i] = A[i] + 1.0
    for i in T.serial(4):
        B[i] = L[i]
"""
    with pytest.raises(RuleError, match=f"brings in {name}, but f has a variable"):
        optimize(parse(text).funcs[0], rules=(to_own,))


def test_a_rules_function_may_not_meet_another_of_its_name() -> None:
    func = kernel("relu6(A[i])", RELU6.replace("6.0)", "5.0)"))
    with pytest.raises(RuleError, match="another function of that name"):
        optimize(func, rules=(to_relu6,))


# Prices --------------------------------------------------------------------------------------------------------------


def test_prices_come_from_the_target_the_function_or_its_body() -> None:
    assert call_cost(CPU, relu6) == 0.4
    assert call_cost(CPU, fma) == 2 * CPU.arith
    assert call_cost(replace(CPU, calls=(("relu6", 7.0),)), relu6) == 7.0


def test_a_dear_function_is_not_used_and_a_cheap_one_is() -> None:
    func = kernel("T.min(T.max(A[i], 0.0), 6.0)")
    assert "relu6(A[i])" in optimized(func, to_relu6)
    assert "relu6" not in optimized(func, to_relu6, relu6=50.0)
    called = kernel("relu6(A[i])", RELU6)
    assert "relu6" not in optimized(called, relu6=50.0)
    assert "relu6" in optimized(called)


# Seeing through calls ------------------------------------------------------------------------------------------------


def test_the_prover_sees_through_calls() -> None:
    i, n = T.int32("i"), T.int32("n")
    assert prove(clamp(i, n) < n, given=[n > 0]) is True
    assert prove(clamp(i, 8) == i, given=[i >= 0, i < 8]) is True
    assert prove(clamp(i, 8) == i) is None
    assert simplify(clamp(i, 8), given=[i >= 0, i < 8]).same(i)


def test_a_guard_on_a_call_is_removed() -> None:
    text = """
@T.function
def half(i: T.int32) -> T.int32:
    return i // 2

@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if half(i) < 8:
            B[i] = A[half(i)]
"""
    func = parse(text).funcs[0]
    best = optimize(func).best
    assert not any(isinstance(s, If) for s in walk(best.body))
    (found,) = interpret(best, np.arange(16, dtype=np.float32))
    np.testing.assert_array_equal(found, np.arange(16) // 2)


def total(expr: object) -> bool:
    contexts = Contexts(EffectAnalysis())
    return contexts.total(contexts.root(pb.always(), Priority.FACTS), expr)


def test_when_a_call_cannot_fault() -> None:
    i, x = T.int32("i"), T.float32("x")
    buffer = kernel("A[i]").buffers[0]
    load = buffer[0]
    quarter = Function("quarter", (Var("a", DType.INT32),), T.int32("a") // 4)
    inverse = Function("inverse", (Var("a", DType.INT32),), 4 // T.int32("a"))
    successor = Function("successor", (Var("a", DType.INT32),), T.int32("a") + 1)
    sign = Function("sign", (Var("a", DType.FLOAT32),), T.if_then_else(T.float32("a") < 0.0, -1.0, 1.0))
    assert total(relu6(x))
    assert total(quarter(i))
    assert not total(inverse(i))
    assert not total(successor(i))
    assert total(successor(T.int32(3)))
    assert not total(quarter(4 // i))
    # An undef argument makes the call undef, not a branch on undef: a selection on data may run anywhere.
    assert total(sign(load))
    assert not total(T.if_then_else(load < 0.0, -1.0, 1.0))
    assert not total(buffer[successor(i)])


@pytest.mark.parametrize("examples", [80, pytest.param(250, marks=pytest.mark.fuzz)])
def test_seeing_through_a_call_is_checked(examples: int) -> None:
    assert check_rule(body_of_call, examples=examples).ok


@pytest.mark.parametrize(
    ("call", "inside"),
    [
        ("choose(i > 3, A[i], B[i])", True),
        ("choose(A[i] > 0, A[i], B[i])", True),
        # the body would fault where what is compared is undef, as it is beyond the buffer
        ('choose(A[T.cast(B[i], "int32")] > 0, A[i], B[i])', False),
        ("choose(i > 3, A[i], sure(16 // (i + 1)))", True),
        ("choose(i > 3, A[i], sure(16 // i))", False),  # the call faults where the body would not look
    ],
)
def test_when_the_search_sees_through_a_call(call: str, inside: bool) -> None:
    head = to_script(replace(choose, cost=99.0))
    head += '@T.function\ndef sure(k: T.int32) -> T.float32:\n    return T.cast(k, "float32")\n'
    best = optimize(kernel(call, head)).best
    assert ("choose(" not in to_script(best.body)) == inside


@few(3)
@given(programs())
def test_random_programs_with_calls_are_refined(func: PrimFunc) -> None:
    called = with_calls(func, every=2)
    try:
        verify(called)  # a call of a choice reads what its arm alone may read
    except VerifyError:
        reject()
    for target in (CPU, replace(CPU, calls=tuple((f.name, 9.0) for f in functions_in(called)))):
        best = optimize(called, target=target).best
        assert_refines(called, best, np.random.default_rng(0), runs=2)
