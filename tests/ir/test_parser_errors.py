"""What is refused: each error with its code, its place and what to do, and never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import parse, parse_expr
from ir.errors import LoopsatError, ParseError
from profiles import few

HEAD = (
    "N = 16\n@T.prim_func\n"
    "def f(A: T.Buffer((16, 4), 'float32'), B: T.Buffer(16, 'int32'), "
    "n: T.int32, x: T.float32, c: T.bool, m: T.int64):\n"
)


def refusal(text: str, file: str = "k.py") -> ParseError:
    with pytest.raises(LoopsatError) as error:
        parse(text, file)
    assert isinstance(error.value, ParseError)
    return error.value


def in_body(*lines: str) -> ParseError:
    return refusal(HEAD + "\n".join("    " + line for line in lines))


# code, the line that is at fault (the marked part between « »), lines around it, and a part of the diagnostic
BODIES = [
    # names
    ("unknown-name", ["B[0] = «nn»"], "did you mean `n`?"),
    ("unknown-name", ["«D»[0] = 1"], "not defined"),
    ("unknown-name", ["for i in T.serial(4):", "    B[i] = 0", "B[«i»] = 0"], "names bound in a nested block"),
    ("unknown-name", ["if c:", "    y = n", "B[0] = «y»"], "names bound in a nested block"),
    ("unknown-name", ["v = T.int32()", "B[0] = «v»"], "no parameter has it in its shape"),
    ("unknown-name", ["B[0] = «T.minimum»"], "did you mean `T.min`?"),
    ("rebinding", ["y = n", "for i in T.serial(4):", "    «y = y + 1»"], "bound outside this block"),
    ("rebinding", ["if c:", "    «n += 1»"], "one-element buffer"),
    ("rebinding", ["for i in T.serial(4):", "    «i = i + 1»"], "bindings do not change"),
    ("rebinding", ["«B = 3»"], "B[...] = ..."),
    ("rebinding", ["if c:", "    «B = T.alloc_buffer(4)»"], "is a buffer"),
    ("unknown-function", ["B[0] = «T.mim(n, 3)»"], "did you mean `T.min`?"),
    ("unknown-function", ["B[0] = «np.maxx(n, 3)»"], "did you mean `T.max`?"),
    ("unknown-function", ["«T.assum(n > 3)»"], "did you mean `T.assume`?"),
    ("unknown-function", ["«print(n)»"], "`print` is not a statement of the dialect"),
    ("unknown-dtype", ["B[0] = T.cast(n, «'int31'»)"], "did you mean `int"),
    ("unknown-dtype", ["L = T.alloc_buffer((4,), «'flot32'»)"], "did you mean `float32`?"),
    # ranks and places
    ("rank", ["«A[0]» = 1.0"], "A has 2 dimensions, but 1 index is given"),
    ("rank", ["B[0] = «B[n, n]»"], "one index for each dimension of B"),
    ("rank", ["B[0] = «B»"], "B[0]"),
    ("not-a-buffer", ["«n»[0] = 1"], "`n` is not a buffer"),
    ("rank", ["B[0] = «B.shape[1]»"], "1 items"),
    # dtypes
    ("dtype-mismatch", ["B[0] = «n + x»"], "add of int32 and float32"),
    ("dtype-mismatch", ["B[0] = «x»"], "expected int32, found float32"),
    ("dtype-mismatch", ["B[0] = «m»"], "expected int32, found int64"),
    ("dtype-mismatch", ["B[0] = «n + 1.5»"], "the number 1.5"),
    ("dtype-mismatch", ["B[0] = «2.5»"], "expected int32"),
    ("dtype-mismatch", ["B[0] = «n / 2»"], "write // for the floor"),
    ("dtype-mismatch", ["B[0] = «c»"], "expected int32, found bool"),
    ("dtype-mismatch", ["B[0] = «n + True»"], "boolean True"),
    ("dtype-mismatch", ["if «c + c» > c:", "    pass"], "numbers"),
    ("dtype-mismatch", ["x2 = «x % 2»"], "floormod needs integers, found float32"),
    ("dtype-mismatch", ["x2 = «x << 2»"], "integers"),
    ("dtype-mismatch", ["y = «n and c»"], "and of int32 and bool"),
    ("dtype-mismatch", ["y = «not n»"], "compare the operand"),
    ("dtype-mismatch", ["y = «T.exp(n)»"], "exp needs a float, found int32"),
    ("dtype-mismatch", ["y = «T.atan2(n, n)»"], "atan2 needs floats, found int32"),
    ("dtype-mismatch", ["y = «~x»"], "bitnot needs an integer"),
    ("dtype-mismatch", ["y = «T.popcount(x)»"], "popcount needs an integer"),
    ("dtype-mismatch", ["y = «-c»"], "neg needs a number, found bool"),
    ("dtype-mismatch", ["if «n»:", "    pass"], "as in `x != 0`"),
    ("dtype-mismatch", ["assert «x»"], "a condition must be bool"),
    ("dtype-mismatch", ["T.assume(«n»)"], "a condition must be bool"),
    ("dtype-mismatch", ["B[«x»] = 0"], "an index must be an integer, found float32"),
    ("dtype-mismatch", ["for i in T.serial(«x»):", "    pass"], "an extent must be an integer"),
    ("dtype-mismatch", ["for i in T.serial(0, «c»):", "    pass"], "bool"),
    ("dtype-mismatch", ["y = «n if c else x»"], "if_then_else of int32 and float32"),
    ("dtype-mismatch", ["y: T.int32 = «x»"], "expected int32"),
    ("dtype-mismatch", ["y = «T.infinity('int32')»"], "no infinity"),
    ("dtype-mismatch", ["y = T.float32(x) + «T.pow(n, x)»"], "pow of int32 and float32"),
    ("literal-range", ["B[0] = «3000000000»"], "-2147483648 to 2147483647"),
    ("literal-range", ["B[0] = «n + 3000000000»"], "does not fit int32"),
    ("literal-range", ["y = «T.uint8(-1)»"], "0 to 255"),
    ("literal-range", ["y = «T.float16(1000000)»"], "float16"),
    ("literal-range", ["A[0, 0] = «1e999»"], "does not fit any dtype"),
    ("literal-range", ["A[0, 0] = «" + "9" * 400 + "»"], "a number of 1329 bits"),
    ("literal-range", ["y = «" + "9" * 30 + "»"], "int64"),
    ("literal", ["y = T.float32(«'abc'»)"], "no number in quotes"),
    # undef
    ("undef-dtype", ["y = «T.undef()»"], 'T.undef("float32")'),
    ("undef-dtype", ["y = «T.undef() + T.undef()»"], "not known"),
    ("undef-misuse", ["B[«T.undef('int32')»] = 1"], "an index"),
    ("undef-misuse", ["if «n > T.undef()»:", "    pass"], "a condition"),
    ("undef-misuse", ["for i in T.serial(«n + T.undef()»):", "    pass"], "an extent"),
    ("undef-misuse", ["for i in T.serial(«T.undef()», 4):", "    pass"], "loop bound"),
    ("undef-misuse", ["T.assume(B[«T.undef()»] == 0)"], "an index"),
    # statements
    ("unsupported", ["«while n > 0:»", "    pass"], "for loop with an extent"),
    ("unsupported", ["if c:", "    «return»", "B[0] = 1"], "run to their end"),
    ("unsupported", ["for i in T.serial(4):", "    «break»"], "under an `if`"),
    ("unsupported", ["«return n»"], "buffer parameters"),
    ("unsupported", ["«def g():»", "    pass"], "cannot be nested"),
    ("unsupported", ["«y = z = n»"], "not supported in a kernel"),
    ("unsupported", ["«import os»"], "help(ir.script)"),
    ("unsupported", ["«for i in T.serial(4):»", "    pass", "else:", "    pass"], "not supported"),
    ("unsupported", ["«B[0]»"], "not supported in a kernel"),
    ("unsupported", ["for i in «n»:", "    pass"], "is not a loop range"),
    ("unsupported", ["for i in «T.seriall(4)»:", "    pass"], "did you mean `T.serial`?"),
    ("unsupported", ["for i in T.serial(0, 8, «0»):", "    pass"], "a number other than zero"),
    ("unsupported", ["for i in T.serial(8, step=«n»):", "    pass"], "a number other than zero"),
    ("arguments", ["for i in «T.serial(8, step=-1)»:", "    pass"], "counts down from a start"),
    ("unsupported", ["for «*i, *j» in T.grid(2, 3):", "    pass"], "plain names"),
    ("unsupported", ["for «i, A[0, 0]» in T.grid(2, 3):", "    pass"], "plain names"),
    ("arguments", ["for «i, j, k, *l» in T.grid(2, 3):", "    pass"], "2 extents for 4 variables"),
    ("unsupported", ["«T.bind(n)»"], "x = T.bind(...)"),
    ("unsupported", ["«with T.launch_thread('threadIdx.x', 16) as t:»", "    pass"], "T.thread_binding"),
    ("unknown-function", ["L = «T.allocate([16], 'float32', 'local')»"], "T.alloc_buffer"),
    ("unsupported", ["B[«0:4»] = 1"], "write a loop"),
    ("dtype-mismatch", ["y = T.isnan(«n»)"], "isnan needs a float, found int32"),
    ("unsupported", ["«with open('x'):»", "    pass"], "blocks are written"),
    ("unsupported", ["«with T.block([16], 'b') as [i]:»", "    pass"], "blocks are written"),
    ("unsupported", ["with «T.block(n)»:", "    pass"], "a string"),
    ("unsupported", ["«T.reads(B[0])»"], "head of a T.block"),
    ("unsupported", ["L = T.decl_buffer((4,), 'int32', data=«B.data»)"], "`data`"),
    ("rank", ["L = «T.match_buffer(B, (4,), 'int32')»"], "of shape (4), but the region has (16)"),
    ("rank", ["L = «T.match_buffer(A[0:2, 0:4], (2, 3))»"], "of shape (2, 3), but the region has (2, 4)"),
    ("dtype-mismatch", ["L = «T.match_buffer(B[0:4], (4,), 'float32')»"], "declared float32, but B holds int32"),
    ("unsupported", ["L = T.match_buffer(«B[B[0]:B[0] + 4]», (4,), 'int32')"], "may not read a buffer"),
    ("unsupported", ["L = «T.match_buffer(n, (4,))»"], "regions of buffers"),
    ("rank", ["L = T.match_buffer(B[0:4], (4,), 'int32')", "B[0] = «L[0, 0]»"], "L has 1 dimensions"),
    ("rebinding", ["L = T.match_buffer(B[0:4], (4,), 'int32')", "if c:", "    «L = 3»"], "`L` is a buffer"),
    ("unsupported", ["y = «lambda: 1»"], "not an expression"),
    ("unsupported", ["y = B[«0:4»]"], "not an expression"),
    ("unsupported", ["y = «n in B»"], "comparison"),
    ("unsupported", ["y = «'text'»"], "not an expression"),
    ("unsupported", ["«y: T.int32»"], "without a value"),
    ("unsupported", ["«assert c, f'{n}'»"], "assert"),
    ("arguments", ["y = «T.min(n)»"], "min takes 2 arguments, 1 given"),
    ("arguments", ["y = «T.min(n, b=3)»"], "by position"),
    ("arguments", ["«T.assume(c, c)»"], "takes one argument, 2 given"),
    ("arguments", ["for «i, j» in T.grid(2, 3, 4):", "    pass"], "3 extents for 2 variables"),
    ("arguments", ["for «i, j» in T.serial(2):", "    pass"], "binds one variable"),
    ("arguments", ["for i in «T.serial()»:", "    pass"], "T.serial(2, 16)"),
    ("arguments", ["for i in «T.serial(start=3)»:", "    pass"], "takes an extent"),
    ("arguments", ["for i in T.serial(4, unrolled=«True»):", "    pass"], "no option `unrolled`"),
    ("arguments", ["L = «T.alloc_buffer()»"], "needs a shape"),
    ("arguments", ["T.func_attr(«3»)"], "dictionary"),
    ("extent", ["L = T.alloc_buffer(«-4»)"], "must not be negative, found -4"),
    # blocks
    ("unsupported", ["with T.block('b'):", "    v = «T.axis.spatiall(4, n)»"], "did you mean `spatial`?"),
    ("unsupported", ["with T.block('b'):", "    v = T.axis.remap('S', [«n»])"], "not a loop variable"),
    ("arguments", ["with T.block('b'):", "    v = «T.axis.remap('SR', [n])»"], "2 kinds for 1 values"),
    ("arguments", ["with T.block('b'):", "    v = «T.axis.remap(n)»"], "kinds and variables"),
    ("arguments", ["with T.block('b'):", "    v = T.axis.spatial(«(1, 2, 3)», n)"], "(start, stop)"),
    ("rank", ["with T.block('b'):", "    T.reads(«A[0, 0, 0]»)"], "the region 3"),
    ("not-a-buffer", ["with T.block('b'):", "    T.reads(«n[0]»)"], "not a buffer"),
    ("unsupported", ["with T.block('b'):", "    T.reads(«B[::2]»)"], "has no step"),
    ("unsupported", ["with T.block('b'):", "    T.reads(B[«-2»:])"], "starts count from the front"),
    ("undef-misuse", ["with T.block('b'):", "    T.where(«n < T.undef()»)"], "a condition"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "lines", "part"), BODIES, ids=lambda v: str(v)[:60])
def test_refused_in_a_kernel(code: str, lines: list[str], part: str) -> None:
    (marked,) = (k for k, line in enumerate(lines) if "«" in line)
    line = "    " + lines[marked]
    error = in_body(*(text.replace("«", "").replace("»", "") for text in lines))
    assert error.code == code, error
    assert part in str(error)
    span = error.span
    assert span is not None and (span.file, span.line) == ("k.py", 4 + marked)
    found = span.text[span.column : span.end_column]
    # a compound statement is marked to the end of its first line
    assert found == line[line.index("«") + 1 : line.index("»")], f"marked {found!r}\n{error}"
    assert "^" in str(error)


SIGNATURES = [
    ("annotation", "A", "has no type"),
    ("annotation", "A: list", "`list` is not a parameter type"),
    ("annotation", "A: T.Buffer", "not a parameter type"),
    ("annotation", "A: T.Buffr((4,), 'int32')", "not a parameter type"),
    ("annotation", "A: 'T.Buffer((4,'", "cannot be read"),
    ("unknown-dtype", "A: T.Buffer((4,), 'int33')", "did you mean `int"),
    ("unknown-name", "A: T.Buffer((k,), 'int32')", "`k` is not defined"),
    ("extent", "A: T.Buffer((-1,), 'int32')", "must not be negative"),
    ("dtype-mismatch", "A: T.Buffer((4.5,), 'int32')", "expected int32"),
    ("unsupported", "A: T.Buffer((4,), 'int32', strides=[2])", "`strides`"),
    ("arguments", "A: T.Buffer(dtype='int32')", "needs a shape"),
    ("unmatched-handle", "a: T.handle", "A = T.match_buffer(a,"),
    ("unsupported", "n: T.int32 = 3", "`n` has a default"),
    ("unsupported", "*args: T.int32", "`args` is no plain parameter"),
]


@pytest.mark.parametrize(("code", "params", "part"), SIGNATURES)
def test_refused_in_a_signature(code: str, params: str, part: str) -> None:
    error = refusal(f"@T.prim_func\ndef f({params}):\n    pass")
    assert error.code == code and part in str(error), error
    assert error.span is not None and error.span.line == 2


def test_handles_are_matched_once() -> None:
    lines = "    A = T.match_buffer(a, (4,))\n    B = T.match_buffer(a, (4,))"
    assert refusal(f"@T.prim_func\ndef f(a: T.handle):\n{lines}").code == "unsupported"


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "\n\n", "x = 3\n", "def f(): pass\n", "# only a comment", "@other\ndef f(): pass"]
)
def test_no_kernel(text: str) -> None:
    error = refusal(text, "empty.py")
    assert error.code == "no-kernel" and "empty.py" in error.message and "@T.prim_func" in error.help


def test_a_kernel_inside_a_function_is_pointed_at() -> None:
    error = refusal("def make():\n    @T.prim_func\n    def g(n: T.int32):\n        pass\n")
    assert error.code == "no-kernel" and error.span is not None and error.span.line == 3 and "move g" in error.help


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\ndef f(:\n", 2),
        ("x = (1,\n", 1),
        ("if x:\npass", 2),
        ("x = 'abc\n", 1),
        ("x\n  y\n", 2),
        ("%PDF-1.4 \x01\x02", 1),
        ("é = )", 1),
        ("(" * 500, 1),
    ],
)
def test_not_python(text: str, line: int) -> None:
    error = refusal(text, "bad.py")
    assert error.code == "syntax" and error.span is not None and error.span.line == line
    assert f"bad.py line {line} is not Python" in error.message


def test_binary_text() -> None:
    assert refusal("\x00\x00\x00").code == "syntax"


def test_huge_files_are_refused_at_once() -> None:
    error = refusal("x = 1\n" * 1_000_000)
    assert error.code == "too-large" and "6000000" in error.message


@pytest.mark.parametrize(
    "line",
    [
        "B[0] = " + " + ".join(["n"] * 5_000),
        "B[0] = " + "-" * 5_000 + "n",
        "B[0] = " + "T.abs(" * 150 + "n" + ")" * 150,
        "B[0] = n" + ".x" * 5_000,
        "if " + " and ".join(["c"] * 5_000) + ":\n        pass",
        "\n    ".join(f"y{k} = n" for k in range(5_000)),
        "\n".join(" " * k + f"    if n > {k}:" for k in range(90)) + "\n" + " " * 100 + "pass",
        "for " + ", ".join(f"i{k}" for k in range(5_000)) + " in T.grid(" + "2, " * 5_000 + "):\n        pass",
        "if n == 0:\n        pass" + "".join(f"\n    elif n == {k}:\n        pass" for k in range(2_000)),
    ],
    ids=["sum", "minus", "calls", "attributes", "and", "lets", "ifs", "grid", "elif"],
)
def test_deep_programs_parse_or_are_refused(line: str) -> None:
    text = HEAD + "    " + line
    try:
        parse(text)
    except ParseError as error:
        assert error.code in ("too-deep", "syntax", "unsupported")


def test_a_long_sum_is_computed_in_steps_where_names_can_be_bound() -> None:
    terms = " + ".join(["n"] * 400)
    parse(HEAD + f"    B[0] = {terms}\n    y = {terms}\n    B[1] = y\n")
    error = in_body(f"B[{terms}] = 0")
    assert error.code == "too-deep" and error.span is not None and error.span.line == 4


def test_chains_nest_too() -> None:
    for chain in (" and ".join(["c"] * 300), " < ".join(["n"] * 300)):
        assert in_body(f"assert {chain}").code == "too-deep"


def test_wide_programs_are_fine() -> None:
    parse(HEAD + "    B[0] = 0\n" * 3_000 + "    T.assume(" + " and ".join(["n > 3"] * 200) + ")\n")


def test_two_kernels_of_one_name() -> None:
    error = refusal("@T.prim_func\ndef f():\n    pass\n" * 2)
    assert error.code == "duplicate-name" and error.span is not None and error.span.line == 5


def test_huge_constants_do_not_stop_parsing() -> None:
    text = "X = 2 ** 10 ** 9\nY = 1 << 10 ** 12\nZ = 1e300 * 1e300\nW = " + "1 + " * 990 + "1\nV = 1 // 0\n"
    parse(text + HEAD + "    B[0] = 0")


# Expressions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names", "code"),
    [
        ("", {}, "syntax"),
        ("x +", {"x": "int32"}, "syntax"),
        ("x = 3", {"x": "int32"}, "syntax"),
        ("x\x00", {"x": "int32"}, "syntax"),
        ("x", {"x": "int33"}, "unknown-dtype"),
        ("y", {"x": "int32"}, "unknown-name"),
        ("A[x]", {"x": "int32"}, "unknown-name"),
        ("x + y", {"x": "int32", "y": "float32"}, "dtype-mismatch"),
        ("+".join("x" * 300), {"x": "int32"}, "too-deep"),
        ("-" * 100_000 + "x", {"x": "int32"}, "too-deep"),
        ("T.undef()", {}, "undef-dtype"),
    ],
)
def test_refused_expression(text: str, names: dict[str, str], code: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_expr(text, names)
    assert error.value.code == code


@few(10)
@given(st.text())
def test_any_text_gives_a_program_or_our_error(text: str) -> None:
    for source in (text, HEAD + "    " + text, HEAD + "    B[0] = " + text):
        try:
            parse(source)
        except ParseError as error:
            assert str(error)


_TOKENS = """
n x c m A B N T. T.int32 T.min T.undef T.if_then_else T.cast T.serial T.axis.spatial T.block T.alloc_buffer if else
for in with as and or not + - * / // % ** << >> & | ^ ~ < <= == != ( ) [ ] { } , : = += 0 1 2.5 1e999 'int32' 'x' True
None lambda pass return assert is await T.evaluate T.assume . .shape .astype range
"""
TOKENS = _TOKENS.split()


@given(st.lists(st.sampled_from(TOKENS), max_size=14))
def test_any_tokens_give_a_program_or_our_error(tokens: list[str]) -> None:
    text = " ".join(tokens)
    for source in (
        f"    {text}",
        f"    B[0] = {text}",
        f"    y = {text}",
        f"    for i in {text}:\n        B[i] = {text}",
    ):
        try:
            parse(HEAD + source)
        except ParseError as error:
            assert str(error)
