"""Random plain Python functions: the program that is read computes what Python does."""

from __future__ import annotations

import copy
import linecache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from ir import interpret, parse, to_script, verify
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.script.plain.signature import ArgumentType, ArrayType, ScalarType
from ir.script.plain.translate import translate
from profiles import few

FLOATS = (
    "x",
    "A[i]",
    "A[0]",
    "A[-1]",
    "A[j]",
    "M[i, j]",
    "M[1, j]",
    "s",
    "t",
    "1.5",
    "2",
    "B[j]",
    "F[i]",
    "b",
    "M.T[j, 0]",
)
INTS = ("i", "j", "k", "n", "I[i]", "I[j]", "c", "2", "-3", "len(A)", "d")
NAMES = {"s": "0.0", "t": "1.0", "c": "0", "d": "2", "b": "False"}


@st.composite
def integers(draw: st.DrawFn, depth: int = 2) -> str:
    """An integer expression."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(INTS))
    a, b = draw(integers(depth - 1)), draw(integers(depth - 1))
    form = draw(st.sampled_from(["({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} // {b})", "({a} % {b})",
                                 "min({a}, {b})", "max({a}, {b})", "abs({a})", "-{a}", "int({a})", "({a} ** 2)",
                                 "({a} if {a} < {b} else {b})"]))  # fmt: skip
    return form.format(a=a, b=b)


@st.composite
def floats(draw: st.DrawFn, depth: int = 2) -> str:
    """A number, of floats or integers."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(st.sampled_from(FLOATS), integers(1)))
    a, b, c = draw(floats(depth - 1)), draw(floats(depth - 1)), draw(conditions(depth - 1))
    form = draw(st.sampled_from(["({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} / {b})", "min({a}, {b})",
                                 "max({a}, {b})", "abs({a})", "-{a}", "({a} if {c} else {b})", "float({a})",
                                 "np.float32({a})", "np.sin({a})", "half({a})", "np.minimum({a}, {b})"]))  # fmt: skip
    return form.format(a=a, b=b, c=c)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 1) -> str:
    """A condition."""
    a, b = (draw(st.one_of(integers(1), floats(0))) for _ in range(2))
    op = draw(st.sampled_from(["<", "<=", "==", "!=", ">"]))
    text = f"{a} {op} {b}"
    if depth and draw(st.booleans()):
        text = f"{text} {draw(st.sampled_from(['and', 'or']))} {draw(conditions(0))}"
    return draw(st.sampled_from([text, f"not ({text})", f"0 <= {text}", text]))


@st.composite
def statements(draw: st.DrawFn, depth: int, loops: int) -> list[str]:
    """Lines of a list of statements."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["store", "name", "update", "part", "if", "for", "while", "exit"]))
        if kind == "store" or (depth == 0 and kind in ("if", "for", "while")):
            target = draw(
                st.sampled_from(["B[i]", "B[j]", "B[-1]", "M[i, j]", "I[i]", "F[j]", "B[i - 1]", "A[I[i] % 4]"])
            )
            lines.append(f"{target} {draw(st.sampled_from(['=', '+=', '=']))} {draw(floats())}")
        elif kind == "name":
            name = draw(st.sampled_from(["s", "t", "c", "d", "b"]))
            value = {"b": conditions(), "c": integers(), "d": integers()}.get(name, floats())
            lines.append(f"{name} = {draw(value)}")
        elif kind == "update":
            lines.append(
                f"{draw(st.sampled_from(['s', 't']))} {draw(st.sampled_from(['+=', '-=', '*=']))} {draw(floats())}"
            )
        elif kind == "part":
            lines.append(draw(st.sampled_from([
                "M[i] = B", "M[:, j] += A", "B[1:] = B[:-1]", "B[:] = A[::-1]", "B[:2] *= 2", "M[:] = M.T", "s += B.sum()",
                "t = A @ B", "s, t, _, _ = A", "M[i] = s, t, s, 2", "B[0], B[1] = M[i, 2:]",
                "B += np.roll(A, i)", "B[i:] += np.pad(A, 1)[i : i + 4 - i]",
                "M[1:3, 0] = M[0, 1:3]", "M[i, j:] -= M[j, j:]", "A[:i] += A[i - 1]", "B[i:] = B[: 4 - i]", "M[1:] += M[:-1]", "B[:i] = 1", "s, t = t, s", "B[:] = np.where(A > B, A, s)",
            ])))  # fmt: skip
        elif kind == "exit":
            exits = ["continue", "break"] * (loops > 0) + ["return B, M, I, F, A, s, t, c"]
            lines += [f"if {draw(conditions())}:", f"    {draw(st.sampled_from(exits))}"]
        elif kind == "if":
            lines += [f"if {draw(conditions())}:", *indented(draw(statements(depth - 1, loops)))]
            if draw(st.booleans()):
                lines += ["else:", *indented(draw(statements(depth - 1, loops)))]
        elif kind == "while":
            lines += draw(whiles(depth, loops))
        else:
            var = draw(st.sampled_from(["i", "j"]))
            span = draw(st.sampled_from(["range(4)", "range(n)", "range(1, n)", "range(3, -1, -1)", "range(0, 4, 2)",
                                         "range(i, 4)", "range(I[j] % 4)", "range(len(M))", "range(n - 2, 0, -1)"]))  # fmt: skip
            lines += [f"for {var} in {span}:", *indented(draw(statements(depth - 1, loops + 1)))]
            if draw(st.booleans()):
                lines += ["else:", "    s += 1"]
    return lines


@st.composite
def whiles(draw: st.DrawFn, depth: int, loops: int) -> list[str]:
    """A `while` that ends in Python, by counters that nothing else changes."""
    p, q = f"p{loops}", f"q{loops}"
    first, last = draw(st.sampled_from(["0", "c", "i", "1"])), draw(st.sampled_from(["n", "4", "i + 2", "c % 5"]))
    body = draw(statements(depth - 1, loops + 1))
    near, far = f"{p} += 1", f"{q} -= 1"
    step = draw(
        st.sampled_from([
            [near], [far], [f"if {draw(conditions())}:", f"    {near}", "else:", f"    {far}"],
            [f"{p} = ({p} + {q}) // 2 + 1"], [near, "if b:", f"    {far}"], [f"{q} = {p} + ({q} - {p}) // 2"],
        ])
    )  # fmt: skip
    test = draw(st.sampled_from([f"{p} < {q}", f"{p} < {q} and s < 9", f"not {q} <= {p}"]))
    if draw(st.booleans()):
        test, step = f"{p} < 30", [f"{p} = 2 * {p} + 1"]
        first = draw(st.sampled_from(["0", "1"]))
    end = ["else:", "    t += 1"] if draw(st.booleans()) else []
    within = [*step, *body] if draw(st.booleans()) else [*body, *step]
    if "continue" in "".join(body):
        within = [*step, *body]
    return [f"{p} = {first}", f"{q} = {last}", f"while {test}:", *indented(within), *end]


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def functions(draw: st.DrawFn) -> str:
    """The text of a function."""
    start = ["n = len(A)", "B = A.copy()", "i = 0", "j = n - 1", *(f"{n} = {v}" for n, v in NAMES.items())]
    end = ["return B, M, I, F, A, s, t, c"]
    lines = ["def f(A, M, I, F, x, k):", *indented([*start, *draw(statements(2, 0)), *end])]
    return "\n".join(lines) + "\n"


def half(v):
    if v > 1:
        return v / 2
    return v


def either(v, w, x):
    if v[0] > x:
        return v
    w = w + x
    return w


def defined(text: str) -> Any:
    """The function of a text, whose source Python can show."""
    name = f"<random {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np, "half": half, "either": either}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


def arguments(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "A": rng.integers(-4, 5, 4) / 2, "M": rng.integers(-4, 5, (4, 4)) / 2, "I": rng.integers(0, 4, 4),
        "F": (rng.integers(-4, 5, 4) / 2).astype("f4"), "x": float(rng.integers(-3, 4)), "k": 3,
    }  # fmt: skip


def types_of(given: dict[str, Any]) -> dict[str, ArgumentType]:
    kinds: dict[str, ArgumentType] = {}
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            kinds[name] = ArrayType(value.shape, DType(value.dtype.name))
        else:
            kinds[name] = ScalarType(DType.INT64 if isinstance(value, int) else DType.FLOAT64, True)
    return kinds


def check(text: str, seed: int) -> None:
    function, inputs = defined(text), arguments(seed)
    own = copy.deepcopy(inputs)
    try:
        with np.errstate(all="raise"):
            wanted = function(**own)
    except (
        IndexError,
        ZeroDivisionError,
        UnboundLocalError,
        OverflowError,
        FloatingPointError,
        RuntimeWarning,
        ValueError,
    ):
        assume(False)
    try:
        plain = translate(function, types_of(inputs))
        verify(plain.func)
    except LoopsatError as error:
        event(f"refused: {error.code}")
        return
    event("compared")
    assert parse(to_script(plain.func)).funcs[0] == plain.func
    outputs = [np.zeros([int(e.value) for e in b.shape], b.dtype.numpy) for b in plain.func.params[len(inputs) :]]
    found = interpret(plain.func, *inputs.values(), *outputs)
    written = [b.name for b in plain.func.buffers if b.name in plain.results]
    by_name = dict(zip(written, found, strict=True))
    for name, value in zip(plain.results, wanted, strict=True):
        np.testing.assert_allclose(by_name[name], value, rtol=1e-4, atol=1e-5, err_msg=f"{name} of\n{text}")


@given(functions(), st.integers(0, 3))
@few(10)
def test_random_functions_compute_what_python_does(text: str, seed: int) -> None:
    check(text, seed)


@pytest.mark.fuzz
@given(functions(), st.integers(0, 100))
def test_many_random_functions_compute_what_python_does(text: str, seed: int) -> None:
    check(text, seed)


ARRAYS = ("A", "B", "y", "z")


@st.composite
def renamings(draw: st.DrawFn, depth: int, loop: bool) -> list[str]:
    """Statements that give names other arrays, and change elements of those."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        a, b, c = (draw(st.sampled_from(ARRAYS)) for _ in range(3))
        at = draw(st.integers(0, 3))
        inner = [f"if {b}[{at}] > x:", f"if {b}.sum() > {c}.sum():", "for _ in range(2):"]
        values = [b, b, f"{b} + {c}", f"{b}.copy()", f"M[{at}]", f"{b}[::-1]", "np.zeros(4)", f"either({b}, {c}, x)"]
        kinds = ["name", "name", "element", "swap", "update"] + ["block", "block"] * (depth < 3) + ["exit"] * loop
        kind = draw(st.sampled_from(kinds))
        if kind == "name":
            lines.append(f"{draw(st.sampled_from(ARRAYS[1:]))} = {draw(st.sampled_from(values))}")
        elif kind == "element":
            lines.append(f"{draw(st.sampled_from(ARRAYS[1:]))}[{at}] = {b}[1] / 2 + 1")
        elif kind == "swap":
            lines.append("y, z = z, y")
        elif kind == "update":
            lines.append(draw(st.sampled_from(("B += 1", "y[:] = z", "z *= 0.5"))))
        elif kind == "exit":
            lines += [inner[0], f"    {draw(st.sampled_from(('break', 'continue', 'return B, y, z')))}"]
        else:
            head = draw(st.sampled_from(inner))
            lines += [head, *indented(draw(renamings(depth + 1, loop or head is inner[2])))]
            if head is not inner[2] and draw(st.booleans()):
                lines += ["else:", *indented(draw(renamings(depth + 1, loop)))]
    return lines


@st.composite
def renaming_functions(draw: st.DrawFn) -> str:
    start = [f"{n} = {draw(st.sampled_from(('A + 1', 'A * 1', 'M[1]', 'B')))}" for n in ("y", "z")]
    lines = ["M = M.copy()", "B = A.copy()", *start, *draw(renamings(0, False)), *draw(renamings(0, False))]
    return "\n".join(["def f(A, M, I, F, x, k):", *indented([*lines, "return B, y, z"])]) + "\n"


@given(renaming_functions(), st.integers(0, 3))
@few(10)
def test_names_of_arrays_change_as_in_python(text: str, seed: int) -> None:
    check(text, seed)


@pytest.mark.fuzz
@given(renaming_functions(), st.integers(0, 100))
def test_many_names_of_arrays_change_as_in_python(text: str, seed: int) -> None:
    check(text, seed)
