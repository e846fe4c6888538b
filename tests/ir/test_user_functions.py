"""User-defined functions: definition, meaning, printing, errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from compare import assert_refines
from functions import with_calls
from ir import PrimFunc, interpret, parse, parse_expr, te, to_script
from ir import script as T
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError, ParseError, VerifyError
from ir.functions import always_used, deciding, functions_in, inline_calls, inlined
from ir.nodes import Call, Function, Load, Store, Undef, Var
from ir.presburger import sets as pb
from ir.schedule import Schedule
from ir.semantics.interpret import interpret_with_undef
from ir.semantics.verify import verify
from ir.testing.programs import programs
from ir.traverse import all_exprs, walk

HIGH = 6


@T.function(cost=1.0, jax="jax.nn.relu6({x})")
def relu6(x: T.float32) -> T.float32:
    """Clamp to 0..6."""
    return T.min(T.max(x, 0.0), HIGH)


@T.function
def twice(x: T.float32):
    return relu6(x) + relu6(x + 1)


@T.function
def half(i: T.int32) -> T.int32:
    return i // 2


@T.function
def ratio(a: T.int32, b: T.int32) -> T.int32:
    return a // b


@T.prim_func
def clamp(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[half(i) + 8 * (i % 2)] = twice(relu6(A[i]))


def program(
    body: str, head: str = "", buffers: str = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
) -> str:
    return f"{head}\n@T.prim_func\ndef f({buffers}):\n    for i in T.serial(4):\n        {body}\n"


DEFINITION = "@T.function\ndef g(x: T.float32) -> T.float32:\n    return T.max(x, 0.0)\n"


# Definitions ---------------------------------------------------------------------------------------------------------


def test_a_definition_keeps_what_was_written() -> None:
    assert isinstance(relu6, Function)
    assert (relu6.name, relu6.cost, relu6.jax, relu6.dtype) == ("relu6", 1.0, "jax.nn.relu6({x})", DType.FLOAT32)
    assert to_script(relu6.body) == "T.min(T.max(x, 0.0), 6.0)"
    assert twice.dtype is DType.FLOAT32
    assert twice.cost is None


def test_calls_in_python_take_numbers_and_widen() -> None:
    x, wide = T.float32("x"), T.function(_square)
    assert to_script(relu6(3)) == "relu6(3.0)"
    assert to_script(inlined(relu6(x + 1))) == "T.min(T.max(x + 1.0, 0.0), 6.0)"
    assert to_script(wide(T.int32("k"))) == '_square(T.cast(k, "int64"))'
    assert to_script(inline_calls(twice(x))) == "T.min(T.max(x, 0.0), 6.0) + T.min(T.max(x + 1.0, 0.0), 6.0)"


def _square(k: T.int64) -> T.int64:
    return k * k


def test_expressions_in_text_may_call_functions() -> None:
    expr = parse_expr("relu6(x + 1) * 2", {"x": "float32", "relu6": relu6})
    assert expr.same(relu6(T.float32("x") + 1.0) * 2.0)


def test_scheduling_keeps_calls_and_their_names() -> None:
    x = te.placeholder((8,), name="A")
    y = te.compute((8,), lambda i: relu6(x[i]), name="B")
    func = te.create_prim_func([x, te.compute((8,), lambda i: twice(y[7 - i]), name="C")])
    sch = Schedule(func)
    sch.compute_inline("B")
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 3])
    assert "twice(relu6(A[" in to_script(sch.func.body)
    assert outer.name not in ("relu6", "twice")
    assert assert_refines(func, sch.func, np.random.default_rng(0)) == 3
    assert parse(to_script(sch.func)).funcs[0] == sch.func


def test_a_new_loop_is_not_called_like_a_function() -> None:
    text = program("B[i] = i_0(A[i])", DEFINITION.replace("def g", "def i_0"))
    sch = Schedule(parse(text).funcs[0])
    sch.split(sch.get_loops()[0], [2, 2])
    verify(sch.func)
    assert parse(to_script(sch.func)).funcs[0] == sch.func


def test_inlining_puts_all_arguments_in_at_once() -> None:
    a, b = T.int32("a"), T.int32("b")
    assert to_script(inlined(ratio(b, a))) == "b // a"


def test_functions_of_a_program_come_before_their_callers() -> None:
    assert functions_in(clamp) == (half, relu6, twice)


def test_a_local_function_is_visible_to_a_local_kernel() -> None:
    @T.function
    def shifted(x: T.float32) -> T.float32:
        return x + 1.0

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            B[i] = shifted(A[i])

    (result,) = interpret(kernel, np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(result, [1, 2, 3, 4])


def test_functions_in_a_class_belong_to_it() -> None:
    inside = DEFINITION.replace("\n", "\n    ")
    kernel = '@T.prim_func\n    def f(B: T.Buffer((1,), "float32")):\n        B[0] = g(2.0)\n'
    text = f"@T.module\nclass M:\n    {inside}\n    {kernel}"
    module = parse(text)
    assert parse(to_script(module)).funcs == module.funcs


def test_another_library_may_have_a_decorator_of_that_name() -> None:
    text = f"@tf.function\ndef g(x):\n    print(x)\n    return x\n\n{program('B[i] = A[i]')}"
    assert parse(text).funcs[0].name == "f"


# Printing ------------------------------------------------------------------------------------------------------------


def test_printing_brings_the_definitions() -> None:
    text = to_script(clamp, header=True)
    assert '@T.function(cost=1.0, jax="jax.nn.relu6({x})")\ndef relu6(x: T.float32) -> T.float32:' in text
    again = parse(text).funcs[0]
    assert again == clamp
    assert to_script(again, header=True) == text


def test_a_class_is_printed_after_the_functions_it_uses() -> None:
    module = T.module(type("M", (), {"clamp": clamp}))
    assert parse(to_script(module)).funcs == (clamp,)


def test_literals_of_other_dtypes_round_trip() -> None:
    head = "@T.function\ndef g(x: T.float64, k: T.uint8, c: T.bool_) -> T.bool_:\n    return c and x > 0.1 and k < 7\n"
    text = program("C[i] = g(2.5, 3, True) or g(T.undef(), k, False)", head, 'C: T.Buffer((4,), "bool"), k: T.uint8')
    func = parse(text).funcs[0]
    assert parse(to_script(func)).funcs[0] == func


@given(programs())
def test_programs_with_calls_round_trip(func: PrimFunc) -> None:
    called = with_calls(func)
    assert parse(to_script(called)).funcs[0] == called


# Meaning -------------------------------------------------------------------------------------------------------------


def test_a_call_is_its_body() -> None:
    values = np.linspace(-3, 10, 16).astype(np.float32)
    (result,) = interpret(clamp, values)
    once = np.clip(values, 0, 6)
    expected = np.clip(once, 0, 6) + np.clip(once + 1, 0, 6)
    order = [i // 2 + 8 * (i % 2) for i in range(16)]
    np.testing.assert_array_equal(result[order], expected)


def undef_of(body: str, value: str) -> np.ndarray:
    head = f"@T.function\ndef g(a: T.float32, b: T.float32) -> T.float32:\n    return {body}\n"
    func = parse(program(f"B[i] = {value}", head)).funcs[0]
    ((_, undef),) = interpret_with_undef(func, np.zeros(4, np.float32))
    return undef


@pytest.mark.parametrize(
    ("body", "args", "undef"),
    [
        ("a + b", "T.undef(), 1.0", True),
        ("a * b + b", "T.undef(), 0.0", False),  # operators in the body treat undef as everywhere
        ("a * b + b", "T.undef(), 1.0", True),
        ("b + 1.0", "T.undef(), 1.0", False),
        ("T.if_then_else(b > 0, b, a)", "T.undef(), 1.0", False),
        ("T.if_then_else(a > 0, b, b)", "T.undef(), 1.0", True),  # to choose by undef is no fault here
        ("T.if_then_else(a > 0 and b < 0, b, b)", "T.undef(), 1.0", True),
        ("T.if_then_else(b < 0 and a > 0, b, b)", "T.undef(), 1.0", False),
        ("a - a", "T.undef(), 1.0", True),
    ],
)
def test_undef_arguments(body: str, args: str, undef: bool) -> None:
    assert undef_of(body, f"g({args})").all() == undef
    assert undef_of(body, f"g({args})").any() == undef
    # The same from data: what was never written is undef.
    text = program(f"B[i] = g({args.replace('T.undef()', 'L[i]')})", "@T.function\ndef g(a: T.float32, b: T.float32)"
                   f" -> T.float32:\n    return {body}\n")  # fmt: skip
    text = text.replace("    for i in", '    L = T.alloc_buffer((4,), "float32")\n    for i in')
    ((_, found),) = interpret_with_undef(parse(text).funcs[0], np.zeros(4, np.float32))
    assert found.all() == undef


def test_arguments_are_evaluated_even_if_the_body_does_not_use_them() -> None:
    head = "@T.function\ndef first(a: T.int32, b: T.int32) -> T.int32:\n    return a\n"
    text = program("B[i] = first(1, 4 // (i - 2))", head, 'B: T.Buffer((4,), "int32")')
    with pytest.raises(InterpretError) as caught:
        interpret(parse(text).funcs[0])
    assert caught.value.code == "division-by-zero"


def test_a_fault_names_the_body_and_the_call() -> None:
    head = "@T.function\ndef ratio(a: T.int32, b: T.int32) -> T.int32:\n    return a // b\n"
    text = program("B[i] = ratio(1, i - 2)", head, 'B: T.Buffer((4,), "int32")')
    with pytest.raises(InterpretError) as caught:
        interpret(parse(text, "k.py").funcs[0])
    error = caught.value
    assert (error.code, error.span.line, error.span.text) == ("division-by-zero", 3, "    return a // b")
    assert "with a = 1, b = 0" in error.notes
    assert any("ratio(1, i - 2)" in note and "k.py:8" in note for note in error.notes)


def test_a_body_runs_as_far_as_undef_lets_it() -> None:
    head = "@T.function\ndef g(a: T.int32, b: T.int32) -> T.int32:\n    return {}\n"
    buffers = 'B: T.Buffer((4,), "int32")'
    undivided = parse(program("B[i] = g(T.undef(), 0)", head.format("a // b"), buffers)).funcs[0]
    ((_, undef),) = interpret_with_undef(undivided)
    assert undef.all()
    divided = parse(program("B[i] = g(T.undef(), 0)", head.format("a + 1 // b"), buffers)).funcs[0]
    with pytest.raises(InterpretError, match="zero"):
        interpret(divided)


def test_what_a_body_chooses_by_and_what_it_always_uses() -> None:
    a, b, c = (Var(n, DType.INT32) for n in "abc")
    function = Function("f", (a, b, c), T.if_then_else((a > 0) & (b > 0), a, c + b) + b)
    assert deciding(function) == {a, b}
    assert always_used(function) == {a, b}
    plain = Function("f", (a, b, c), a * b)
    assert (deciding(plain), always_used(plain)) == (frozenset(), {a, b})


def test_indices_and_conditions_see_through_calls() -> None:
    i = T.int32("i")
    assert pb.affine(half(i)).is_equal(pb.affine(i // 2))
    verify(clamp)  # the store index is a call, and in bounds
    outside = parse(
        program("B[half(i) + 3] = A[i]", "@T.function\ndef half(i: T.int32) -> T.int32:\n    return i // 2\n")
    )
    with pytest.raises(VerifyError) as caught:
        verify(outside.funcs[0])
    assert caught.value.code == "store-out-of-bounds"


# Errors --------------------------------------------------------------------------------------------------------------


def definition(
    body: str = "return x", params: str = "x: T.float32", options: str = "", returns: str = " -> T.float32"
) -> str:
    return program("B[i] = A[i]", f"@T.function{options}\ndef g({params}){returns}:\n    {body}\n")


AGAIN = DEFINITION + program("B[i] = A[i]", DEFINITION.replace("0.0", "1.0"))


@pytest.mark.parametrize(
    ("text", "code", "said", "helped"),
    [
        (definition("y = x\n    return y"), "function-body", "not one expression", "`return T.max(x, 0.0)`"),
        (definition("pass"), "function-body", "not one expression", "one expression"),
        (definition("return"), "function-body", "not one expression", "one expression"),
        (definition("return g(x)"), "recursion", "g calls itself", "loop"),
        (definition("return h(x)"), "unknown-function", "`h` is not a function", "help(ir.script)"),
        (definition("return y"), "unknown-name", "`y` is not defined", "bind"),
        (definition("return x + T.undef()"), "undef-misuse", "may not occur in the body of g", "argument"),
        (definition("return A[0]", 'A: T.Buffer((4,), "float32")'), "annotation", "takes scalars", "A: T.float32"),
        (definition("return x", "x"), "annotation", "`x` has no type", "dtype"),
        (definition("return x", "x: T.float31"), "annotation", "`T.float31` is not a dtype", "x: T.float32"),
        (definition("return x", "x: T.float32 = 1.0"), "unsupported", "without defaults", "each parameter"),
        (definition("return x > 0"), "dtype-mismatch", "expected float32, found bool", "T.cast"),
        (definition("return x", returns=" -> T.what"), "annotation", "`T.what` is not a dtype", "T.float32"),
        (definition("return x % 2"), "dtype-mismatch", "floormod needs integers", ""),
        (definition(options="(cost=-1.0)"), "cost", "from 0 up, found -1.0", "price"),
        (definition(options='(cost="low")'), "cost", "must be a number, found 'low'", "cost=1.0"),
        (definition(options="(price=1.0)"), "arguments", "no option `price`", "cost and jax"),
        (definition(options="(1.0)"), "arguments", "by name", "cost=1.0"),
        (definition(options="(jax=3)"), "jax-expression", "must be a string, found 3", "{x}"),
        (definition(options='(jax="jnp.abs({y})")'), "jax-expression", "`{y}` does not name a parameter", "{x}"),
        (definition(options='(jax="jnp.abs({x:3})")'), "jax-expression", "`{x:3}`", "{x}"),
        (definition(options='(jax="jnp.abs({x)")'), "jax-expression", "expected '}'", "{x}"),
        (definition(options='(jax="jnp.abs({x}")'), "jax-expression", "is no Python expression", "{x}"),
        (definition(options='(jax="np.abs({x})")'), "jax-expression", "`np.abs` is not known", "{x}"),
        (definition(options='(jax="jax._src.run({x})")'), "jax-expression", "`jax._src.run` is not known", "{x}"),
        (definition(options='(jax="jnp.save(\'k.npy\', {x})")'), "jax-expression", "`jnp.save` is not among", "{x}"),
        (definition(options='(jax="jnp.maximal({x}, 0)")'), "jax-expression", "`maximum`", "{x}"),
        (definition(options='(jax="{x}.tofile(\'k\')")'), "jax-expression", "method `tofile`", "{x}"),
        (definition(options='(jax="({x} + 1).at[0].set(2)")'), "jax-expression", "method `set`", "{x}"),
        (definition(options='(jax="(lambda: {x})()")'), "jax-expression", "more than calls and operators", "{x}"),
        (definition(options='(jax="[{x} for _ in {x}]")'), "jax-expression", "more than calls and operators", "{x}"),
        (definition(options='(jax="{x} * 9 ** 9 ** 9")'), "jax-expression", "is a number: write it out", "{x}"),
        (definition(options='(jax="jax.debug.print({x})")'), "jax-expression", "`jax.debug.print` is not known", "{x}"),
        (definition(options='(jax="open({x})")'), "jax-expression", "`open` is not known", "{x}"),
        (program("B[i] = g(A[i], 1.0)", DEFINITION), "arguments", "1 argument by position, 2 given", "g(x: float32)"),
        (program("B[i] = g(x=A[i])", DEFINITION), "arguments", "by position, keywords given", "g(x: float32)"),
        (program("B[i] = g(i)", DEFINITION), "dtype-mismatch", "expected float32, found int32", "T.cast"),
        (program("B[i] = g", DEFINITION), "unsupported", "is a function, not a value", "call it"),
        (program("B[i] = gg(A[i])", DEFINITION), "unknown-function", "`gg` is not a function", "`g`"),
        (AGAIN, "duplicate-name", "defined again", "rename"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong_and_where(text: str, code: str, said: str, helped: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, "k.py")
    error = caught.value
    assert (error.code, said in error.message) == (code, True), error
    assert helped in error.help
    assert error.span is not None and error.span.text.strip() in text


def test_the_same_definition_twice_is_one() -> None:
    assert parse(DEFINITION + program("B[i] = g(A[i])", DEFINITION)).funcs[0].name == "f"


def test_functions_of_functions_may_not_explode() -> None:
    head = "@T.function\ndef g0(x: T.float32):\n    return x + 1.0\n"
    for k in range(40):
        head += f"@T.function\ndef g{k + 1}(x: T.float32):\n    return g{k}(x) * g{k}(x + 1.0)\n"
    with pytest.raises(ParseError) as caught:
        parse(program("B[i] = g40(A[i])", head))
    assert caught.value.code == "too-large"


@pytest.mark.parametrize(
    ("args", "said"),
    [((), "takes 1 argument, 0 given"), ((T.int32("i"),), "must be float32, found int32"), ((True,), "found True")],
)
def test_wrong_calls_in_python(args: tuple[object, ...], said: str) -> None:
    with pytest.raises(VerifyError, match=said):
        relu6(*args)


def test_what_python_builds_is_verified() -> None:
    x, k = Var("x", DType.FLOAT32), Var("k", DType.INT32)
    buffer = clamp.buffers[0]

    def code(function: Function, *args: object) -> str:
        body = Store(buffer, (Var("i", DType.INT32) * 0,), Call(function, args))
        func = PrimFunc("f", (buffer, Var("i", DType.INT32)), body)
        with pytest.raises(LoopsatError) as caught:
            verify(func)
        return caught.value.code

    one = T.float32(1.0)
    assert code(Function("g", (x,), x), one, one) == "arguments"
    assert code(Function("g", (x,), x), T.int32(1)) == "dtype-mismatch"
    assert code(Function("g", (x,), x + Var("y", DType.FLOAT32)), one) == "unknown-name"
    assert code(Function("g", (x,), Load(buffer, (T.int32(0),)) + x), one) == "function-body"
    assert code(Function("g", (x,), x + Undef(DType.FLOAT32)), one) == "undef-misuse"
    assert code(Function("g", (x, x), x), one, one) == "duplicate-name"
    assert code(Function("if", (x,), x), one) == "name"
    assert code(Function("g", (x,), x, cost=float("nan")), one) == "cost"
    assert code(Function("i", (x,), x), one) == "shadowed-name"
    assert code(Function("g", (x, k), x + k), one, T.int32(1)) == "dtype-mismatch"


def test_two_functions_of_one_name_are_refused() -> None:
    x, i = Var("x", DType.FLOAT32), Var("i", DType.INT32)
    buffer = clamp.buffers[0]
    value = Function("g", (x,), x)(1.0) + Function("g", (x,), -x)(1.0)
    with pytest.raises(VerifyError, match="two functions are called g"):
        verify(PrimFunc("f", (buffer, i), Store(buffer, (T.int32(0),), value)))


def test_equal_functions_are_equal() -> None:
    again = parse(to_script(clamp)).funcs[0]
    assert functions_in(again) == functions_in(clamp)
    assert {hash(f) for f in functions_in(again)} == {hash(f) for f in functions_in(clamp)}
    calls = [e for s in walk(again.body) if isinstance(s, Store) for e in all_exprs(s) if isinstance(e, Call)]
    assert all(isinstance(c.span.line, int) for c in calls)
    x = Var("x", DType.FLOAT32)
    assert Function("g", (x,), x) != Function("g", (x,), x, cost=1.0)
