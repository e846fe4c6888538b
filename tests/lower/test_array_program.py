"""Array programs: what is printed says what the nodes do, the verifier refuses what is none, NumPy interprets them."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import parse, specialize
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.floats import DEFAULT_FLOATS, Floats
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.testing.programs import program_texts
from ir.traverse import results_of
from kernel_files import PATHS, bound, load
from kernel_references import REFERENCES
from lower.analysis.freedoms import Policy
from lower.emission.function import array_program
from lower.emission.source import LIBRARY as SOURCES
from lower.program.build import as_expr, call, code, definition, from_syntax, statements
from lower.program.interpret import NoMeaningError, interpret
from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    Conditional,
    Function,
    Infix,
    JaxExpr,
    Lambda,
    List,
    Literal,
    Name,
    Parameter,
    Return,
    Slice,
    Starred,
    Subscript,
    Tuple,
    Unary,
    children,
    names_bound,
    names_read,
    substituted,
    with_children,
)
from lower.program.primitives import LIBRARY
from lower.program.print_jax import print_jax, text_of
from lower.program.verify import IllFormedError, verify
from profiles import few, some

LOWER = Path(__file__).parent.parent.parent / "lower"
# Files that read text: what a user gives, what a compiler prints, and the one that parses templates of the writers.
READERS = {"commands/cli.py", "commands/module.py", "commands/sizes.py", "tpu/compiler.py", "program/build.py"}


def test_nothing_reads_text_back() -> None:
    found: set[str] = set()
    for path in LOWER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {"ast", "re", "tokenize"} & {n.partition(".")[0] for n in names}:
                found.add(str(path.relative_to(LOWER)))
    assert found == READERS


# Nodes and text ------------------------------------------------------------------------------------------------------

_names = st.sampled_from("abcxy").map(Name)
_numbers = st.one_of(st.integers(0, 40), st.sampled_from((0.5, 1e-05, 2.0, True, None))).map(Literal)


def _larger(inner: st.SearchStrategy[JaxExpr]) -> st.SearchStrategy[JaxExpr]:
    items = st.lists(inner, min_size=0, max_size=3).map(tuple)
    signs = st.sampled_from(("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "<", "is",
                             "and", "or"))  # fmt: skip
    ends = st.one_of(st.none(), inner)
    return st.one_of(
        st.builds(Infix, signs, inner, inner),
        st.builds(Infix, signs, inner, inner),
        st.builds(Unary, st.sampled_from(("-", "~", "not")), inner),
        st.builds(Attribute, inner, st.sampled_from(("T", "shape"))),
        st.builds(Call, inner, st.one_of(items, items.map(lambda e: (*e, Starred(Name("a")))))),
        st.builds(Call, inner, items, st.tuples(st.tuples(st.just("axis"), inner))),
        st.builds(Subscript, inner, st.lists(st.one_of(inner, st.builds(Slice, ends, ends, ends)), min_size=1,
                                             max_size=2).map(tuple)),
        st.builds(Tuple, items),
        st.builds(List, items),
        st.builds(Conditional, inner, inner, inner),
        st.builds(Lambda, st.sampled_from(((), ("a",), ("a", "b"))), inner),
    )  # fmt: skip


_exprs = st.recursive(st.one_of(_names, _numbers), _larger, max_leaves=12)


def _canonical(node: JaxExpr) -> JaxExpr:
    """An expression as Python reads it: chains of one logical operator, and an index of one tuple, have two forms."""
    match node:
        case Subscript(value=value, items=(Tuple(items=items),)):
            return _canonical(Subscript(value, items))
        case Infix(sign="and" | "or" as sign, left=left, right=Infix(sign=same, left=middle, right=right)) if (
            same == sign
        ):
            return _canonical(Infix(sign, Infix(sign, left, middle), right))
        case _:
            new = with_children(node, [_canonical(e) for e in children(node)])
            assert not isinstance(new, Assign | Return | Function)
            return new if new == node else _canonical(new)


@given(_exprs)
def test_text_says_what_the_nodes_say(node: JaxExpr) -> None:
    text = text_of(node)
    tree = ast.parse(text, mode="eval").body
    assert _canonical(from_syntax(tree)) == _canonical(node), text


@pytest.mark.parametrize(
    "text",
    [
        "a + b * c - -d",
        "(a + b) * c // (d % e)",
        "a - (b - c)",
        "a * (b * c)",
        "-a**2",
        "(-a)**-b",
        "~(a & b) | c ^ d << 1",
        "(a < b) & (c == d)",
        "(a if b else c) + d",
        "a if b else c if d else e",
        "not a and (b or c)",
        "(lambda k, s: s + k)(a, *b)",
        "lambda: a",
        "(a + b).reshape(-1)[:, None, 1:2]",
        "(1).real",
        "sum(k * k for k in range(3))",
        "f((k for k in x), 1)",
        "[f(start, stop) for start, stop in ((0, 1), (1, 2))]",
        "((), (a,), (a, b), [a])",
        'x.at[k].get(mode="clip")[...]',
    ],
)
def test_text_has_just_the_parentheses_that_it_needs(text: str) -> None:
    assert text_of(code(text)) == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("f(a, b[c:], key=d)", "abcdf"),
        ("lambda a: a + b", "b"),
        ("[a + k for k in range(b)]", {"a", "b", "range"}),
        ("[a for a in a]", "a"),
        ("x.at[a].set(b)", "xab"),
    ],
)
def test_names_that_are_read(text: str, read: str | set[str]) -> None:
    assert names_read(code(text)) == {*read}


def test_names_of_statements() -> None:
    loop, function = statements("for a in (1, 2):\n    b = a + c\n    d = b\ndef f(x):\n    y = x + z\n    return y")
    assert (names_read(loop), names_bound(loop)) == ({"c"}, {"a", "b", "d"})
    assert (names_read(function), names_bound(function)) == ({"z"}, {"f"})


def test_substitution_leaves_bound_names() -> None:
    node = substituted(code("a + f(lambda a: a + b)"), {"a": Literal(1), "b": Name("c")})
    assert text_of(node) == "1 + f(lambda a: a + c)"


def test_numbers_of_different_kinds_differ() -> None:
    assert len({Literal(1), Literal(1.0), Literal(True)}) == 3
    assert call("f", 1) != call("f", True)


def test_templates_take_nodes_names_numbers_and_several_of_them() -> None:
    filled = code("f({}, *{more}, **{options})[{at}:]", "x.T", more=[1, -2.5], options={"axis": (0, 1)}, at="k")
    assert text_of(filled) == "f(x.T, 1, -2.5, axis=(0, 1))[k:]"
    made = definition("def {name}(*{params}):\n    *{body}\n    return {}", name="g", params=["a", "b"],
                      body=statements("c = a\nd = b"), **{"0": "d"})  # fmt: skip
    assert print_jax([made]) == ["def g(a, b):", "    c = a", "    d = b", "    return d", ""]


def test_layout_of_statements() -> None:
    doc = ('"""Says', "", "    what.", '"""')
    body = (Assign(Tuple((Name("a"), Starred(Name("_")))), as_expr("x")), Return(as_expr(("a",))))
    made = Function("f", (Parameter("x"), Parameter("y", Literal(None))), body, (code("partial(jax.jit)"),), doc)
    assert print_jax([made]) == [
        "@partial(jax.jit)",
        "def f(x, y=None):",
        '    """Says',
        "",
        "        what.",
        '    """',
        "    a, *_ = x",
        "    return (a,)",
        "",
    ]


# Verifier ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x):\n    y = z\n    return y", "z is read before it is bound"),
        ("def f(x):\n    y = y + x\n    return y", "y is read before it is bound"),
        ("def f(x):\n    y = jnp.where(x, x)\n    return y", "missing a required argument: 'y'"),
        ("def f(x):\n    return jnp.sum(x, axes=0)", "unexpected keyword argument 'axes'"),
        ("def f(x):\n    return lax.no_such(x)", "lax.no_such is no function"),
        ("def f(x):\n    return prefix_sums(x, 0)", "too many positional arguments"),
        ("def f(x):\n    def g(a, b):\n        return a\n    return g(x)", "g takes 2 arguments, not 1"),
        (
            "def f(x):\n    def g(k, s):\n        return s[0], s[1], k\n    return lax.fori_loop(0, 2, g, (x, x))",
            "g gives 3 of 2 arrays",
        ),
        (
            "def f(x):\n    def g(k, s):\n        return s, s\n    return lax.fori_loop(0, 2, g, x)",
            "gives 2 of 1 arrays",
        ),
        ("def f(x):\n    y = x", "does not end with a result"),
        ("def f(x):\n    return x\n    y = x", "gives a result too early"),
        ("def f(x):\n    a, b = (x, x, x)\n    return a", "2 names for 3 values"),
        ("def f(x):\n    for a, b in ((1, 2), (3,)):\n        x = x + a\n    return x", "are not 2 values each"),
    ],
)
def test_what_is_no_program_is_refused(text: str, message: str) -> None:
    with pytest.raises(IllFormedError, match=re.escape(message)):
        verify([f for f in statements(text) if isinstance(f, Function)])


def test_parameters_of_one_name_are_refused() -> None:
    with pytest.raises(IllFormedError, match="two parameters of one name"):
        verify([Function("f", (Parameter("x"),) * 2, (Return(Name("x")),))])


# Interpreter ---------------------------------------------------------------------------------------------------------


def result(text: str, **arguments: object) -> object:
    program = [f for f in statements(text) if isinstance(f, Function)]
    verify(program)
    return interpret(program, program[-1].name, **arguments)


_ROW = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[jnp.asarray(7, jnp.int32)]", 3),
        ("x[jnp.asarray(-1, jnp.int32)]", 3),
        ('x.at[x - 2].get(mode="clip", wrap_negative_indices=False)', [0, 0, 0, 1]),
        ('x.at[x + 2].set(9, mode="drop")', [0, 1, 9, 9]),
        ("x.at[jnp.zeros((4,), jnp.int32)].add(x)", [6, 1, 2, 3]),
        ("x.at[1:3].multiply(5)", [0, 5, 10, 3]),
        ("x.reshape(2, 2).at[:, x[1]].set(7)", [[0, 7], [2, 7]]),
        ("lax.dynamic_slice(x, (3,), (2,))", [2, 3]),
        ("lax.dynamic_update_slice(x, x[:2], (3,))", [0, 1, 0, 1]),
        ("lax.fori_loop(0, 3, lambda i, s: s + x[i], 0)", 3),
        ("sum(x[k] * k for k in range(1, 4))", 14),
        ("jnp.max(x.reshape(2, 2), axis=0)", [2, 3]),
        ('jnp.einsum("i,i->", x, x, preferred_element_type=jnp.int32)', 14),
        ("windows(jnp.add, x, 2, 0, stride=2)", [1, 5]),
        ("truncdiv(x - 3, 2)", [-1, -1, 0, 0]),
        ("reduce_ranges(jnp.add, x, jnp.asarray(1, jnp.int32), x + 2, 0)", [1, 3, 6, 6]),
        ("first_best(jnp.max, jnp.minimum(x, 2))", 2),
        ("last_best(jnp.max, jnp.minimum(x, 2))", 3),
        ("places_of_largest(jnp.minimum(x, 2), 3)", [2, 3, 1]),
        ("places_in_passes(jnp.minimum(x, 2), 3)", [2, 3, 1]),
        ("last_first(places_in_passes, jnp.minimum(x, 2), 3)", [3, 2, 1]),
        ('integer_einsum(4, "i,i->", x, x)', 14),
    ],
)
def test_what_expressions_mean(text: str, expected: object) -> None:
    found = result(f"def f(x):\n    return {text}", x=_ROW)
    assert np.asarray(found).tolist() == expected


def test_functions_see_what_is_around_them_where_they_stand() -> None:
    text = """
def f(x):
    y = x + 1

    def g(a, b):
        y = a + b
        return y

    for n in (1, 2):
        y = g(y, n) + y
    a, *rest = (y, x, n)
    return a, rest[1]
"""
    assert result(text, x=1) == (12, 2)


def test_what_has_no_meaning_in_numpy_says_so() -> None:
    with pytest.raises(NoMeaningError, match=r"pl\.pallas_call"):
        result("def f(x):\n    return pl.pallas_call(x)", x=_ROW)


def test_primitives_of_the_library_take_what_its_sources_take() -> None:
    inner = {"with_all_given", "differences"}  # which functions of the library alone call
    assert SOURCES.keys() - inner == LIBRARY.keys()
    for name in LIBRARY:
        functions = {f.name: f for f in ast.parse(SOURCES[name]).body if isinstance(f, ast.FunctionDef)}
        own = [a.arg for a in functions[name].args.args]
        taken = list(inspect.signature(LIBRARY[name]).parameters)
        if taken:  # the others are handed on, and not called
            assert own[: len(taken)] == [t for t in taken if t not in ("options", "starts", "operands")], name


TOLERANCE = {DType.FLOAT32: 2e-5, DType.FLOAT64: 1e-11, DType.INT32: 0.0}  # of the largest value


@pytest.mark.parametrize("name", some(PATHS, 4))
def test_array_programs_of_the_kernels_say_what_the_references_say(name: str) -> None:
    file = load(name)
    sizes = file.sizes["small"]
    func = specialize(file.func, sizes)
    inputs = file.inputs(np.random.default_rng(7), **sizes)
    module = array_program(func)
    verify(module.functions())
    given = {p.name for p in func.params}
    found = interpret(module.functions(), module.main.name, **{k: v for k, v in inputs.items() if k in given})
    reference, arguments = bound(REFERENCES[name], sizes)
    exact = {k: v.astype(float) if v.dtype.kind == "f" else v for k, v in inputs.items()}
    wanted = reference(**{k: exact[k] for k in arguments})
    for buffer, want, have in zip(results_of(func), wanted, found, strict=True):
        assert have.dtype == buffer.dtype.numpy
        scale = max(1e-30, float(np.abs(want).max()))
        assert np.abs(np.asarray(have, float) - want).max() <= TOLERANCE[buffer.dtype] * scale, buffer.name


def test_a_users_expression_is_nodes_in_the_program() -> None:
    text = """
@T.function(jax="jnp.where({x} > 0, {x}, 0.1 * {x})")
def leaky(x: T.float32) -> T.float32:
    return x if x > 0 else 0.1 * x

@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = leaky(A[i] - 2.0)
"""
    module = array_program(parse(text).funcs[0])
    verify(module.functions())
    found = interpret(module.functions(), "f", A=np.arange(4, dtype=np.float32))
    np.testing.assert_allclose(found[0], [-0.2, -0.1, 0.0, 1.0], rtol=1e-6)
    assert "0.1 * (A - 2.0)" in "\n".join(print_jax(module.functions()))


@pytest.mark.parametrize("floats", [Floats.STRICT, DEFAULT_FLOATS], ids=("strict", "default"))
@few(10)
@given(text=program_texts(), seed=st.integers(0, 2**16))
def test_array_programs_of_random_programs_say_what_the_interpreter_says(floats: Floats, text: str, seed: int) -> None:
    (func,) = parse(text).funcs
    try:
        inputs = random_inputs(func, np.random.default_rng(seed))
        expected = interpret_with_undef(func, **inputs)
    except LoopsatError:  # it faults, or nothing satisfies what it assumes
        return
    module = array_program(func, policy=Policy(floats))
    verify(module.functions())
    found = interpret(module.functions(), module.main.name, **inputs)
    exact = floats is Floats.STRICT
    if not exact and not all(np.isfinite(values[~undef].astype(float)).all() for values, undef in expected):
        return
    for buffer, (values, undef), got in zip(results_of(func), expected, found, strict=True):
        rtol = 0.0 if exact else float(TOLERANCE.get(buffer.dtype, 0.0)) * 10
        np.testing.assert_allclose(
            got[~undef], values[~undef], rtol=rtol, atol=rtol, err_msg=f"{text}\n{module.text()}"
        )
